// What if somebody else had bowled, or a past ball had gone otherwise: before and after.
(function () {
  const PAST = 36; // balls that may have gone otherwise
  let state = null;
  let innings = null;
  /** @type {any} */
  let form = null;
  let past = []; // [delivery, its other outcome]
  let shown = null; // which ball has been answered, and what
  let remember = (_asked) => {};

  A.whatIf = {
    /** What an address asks, to be asked again: bowler, batter, target, was=46:6,40:W. */
    fromAddress(asked) {
      const named = ["bowler", "batter", "target", "was"].filter((name) => asked.get(name));
      return named.length ? Object.fromEntries(named.map((name) => [name, asked.get(name)])) : null;
    },
    build(now, side, changed) {
      state = now;
      innings = side;
      remember = changed;
      past = [];
      shown = null;
      const told = innings.told.innings;
      form = {
        bowler: person(told.bowlers, "bowler"),
        batter: person(told.batters, "batter"),
        target: A.el("input", {
          type: "number",
          min: 1,
          max: 999,
          step: 1,
          id: "what-if-target",
          placeholder: told.target ?? "",
        }),
        ball: A.el("select", { id: "what-if-ball", "aria-label": "past ball" }),
        outcome: A.el(
          "select",
          { id: "what-if-outcome", "aria-label": "its outcome" },
          A.outcomes.map(outcomeOption),
        ),
        chips: A.ul("chips"),
      };
      const onsubmit = (event) => {
        event.preventDefault();
        ask();
      };
      const label = (text, ...fields) => A.el("label", null, text, fields);
      A.put(
        "what-if-form",
        A.el(
          "form",
          { class: "form", onsubmit },
          label("Bowler", form.bowler.select, form.bowler.other),
          label("Batter", form.batter.select, form.batter.other),
          told.target === null ? null : label("Target", form.target),
          A.el("fieldset", null, A.el("legend", null, "Past balls"), [
            form.ball,
            " was ",
            form.outcome,
            " ",
            A.button("Add", add),
            form.chips,
          ]),
          A.el("button", { type: "submit", class: "primary" }, "Ask"),
        ),
      );
    },
    move(now) {
      state = now;
      const at = state.ball - 1;
      const chosen = form.ball.value;
      const said = (ball) =>
        `${ball.label} ${A.short(ball.bowler)} to ${A.short(ball.batter)}: ${A.outcomeNames[ball.outcome]}`;
      const balls = innings.balls.slice(Math.max(0, at - PAST), at).reverse();
      form.ball.replaceChildren(...balls.map((ball) => A.el("option", { value: ball.index }, said(ball))));
      form.ball.parentNode.hidden = !balls.length;
      if (balls.some((ball) => String(ball.index) === chosen)) form.ball.value = chosen;
      if (shown?.ball !== state.ball) {
        shown = null;
        A.put("what-if-answer");
        A.at("what-if-tools").replaceChildren();
        if (state.whatIf) refill();
      }
    },
    /** Another outcome is what the page is about. */
    about: (outcome) => shown?.answer && show(shown.answer, outcome),
  };
  const outcomeOption = (one) => A.el("option", { value: one }, A.outcomeNames[one]);
  function person(names, label) {
    const option = (name) => A.el("option", { value: name }, name);
    const select = A.el(
      "select",
      { id: `what-if-${label}` },
      A.el("option", { value: "" }, "as it was"),
      names.map(option),
      A.el("option", { value: "*" }, "somebody else …"),
    );
    const about = {
      type: "text",
      hidden: true,
      maxlength: 80,
      placeholder: "name",
      "aria-label": `another ${label}`,
    };
    const other = A.el("input", about);
    select.addEventListener("change", () => {
      other.hidden = select.value !== "*";
      if (!other.hidden) other.focus();
    });
    const fill = (name) => {
      select.value = !name || names.includes(name) ? name || "" : "*";
      other.hidden = select.value !== "*";
      other.value = other.hidden ? "" : name;
    };
    return { select, other, fill, value: () => (select.value === "*" ? other.value.trim() : select.value) };
  }
  // The form as an address has it, and its answer.
  function refill() {
    const { bowler, batter, target, was } = state.whatIf;
    form.bowler.fill(bowler);
    form.batter.fill(batter);
    form.target.value = target || "";
    past = (was || "").split(",").flatMap((one) => {
      const [ball, outcome] = one.split(":");
      return innings.balls[Number(ball) - 1] && A.outcomes.includes(outcome) ? [[ball, outcome]] : [];
    });
    chips();
    ask();
  }
  function add() {
    if (!form.ball.value) return;
    past = [...past.filter(([ball]) => ball !== form.ball.value), [form.ball.value, form.outcome.value]];
    chips();
  }
  function chips() {
    const chip = ([ball, outcome], number) => {
      const out = () => {
        past.splice(number, 1);
        chips();
      };
      const text = `${innings.balls[Number(ball) - 1].label} was ${A.outcomeNames[outcome]} `;
      return A.li(null, text, A.button("×", out, { "aria-label": "take it out" }));
    };
    form.chips.replaceChildren(...past.map(chip));
  }
  async function ask() {
    const ball = state.ball;
    const here = innings;
    const asked = {
      bowler: form.bowler.value(),
      batter: form.batter.value(),
      target: form.target.value || null,
    };
    const body = { ...asked, balls: Object.fromEntries(past) };
    const was = past.map((one) => one.join(":")).join(",");
    const named = Object.entries({ ...asked, was }).filter(([, value]) => value);
    remember(named.length ? Object.fromEntries(named) : null);
    shown = { ball, answer: null };
    A.put("what-if-answer", A.loading("asking"));
    try {
      const place = `${encodeURIComponent(innings.key)}/${innings.number}/${ball}`;
      const url = `/ask/${place}/what-if${A.asked(innings.key, innings.model)}`;
      const answer = await A.post(url, JSON.stringify(body));
      if (state.ball !== ball || here !== innings) return;
      shown = { ball, answer };
      show(answer, A.outcomeNow());
    } catch (error) {
      if (state.ball === ball) A.put("what-if-answer", A.trouble(error.message));
    }
  }
  function show(answer, outcome) {
    const about = answer.outcomes.find((one) => one.outcome === outcome);
    const moves = `${A.percent(about.before, true)} → ${A.percent(about.after, true)}`;
    const flags = answer.flags.map((one) => A.li(null, one.text));
    A.put(
      "what-if-answer",
      A.p("headline", `P(${A.outcomeNames[outcome]}) ${moves}`),
      A.ul(
        "changes",
        answer.changes.map((one) => A.li(null, one.text + (one.follows ? " (it follows)" : ""))),
      ),
      answer.narrative.map((one) => A.p("sentence", one.text)),
      A.ul("cautions", flags),
      A.el("div", { id: "what-if-plot", class: "plot" }),
    );
    const svg = A.outcomeBars.draw("what-if-plot", {
      now: answer.outcomes.map((one) => one.after),
      base: answer.outcomes.map((one) => one.before),
      label: "Before and after",
      than: "before",
      nowName: "after",
      baseName: "before",
      actual: null,
      chosen: outcome,
    });
    A.figureMenu(
      "what-if",
      () => svg,
      () => [
        ["outcome", "before", "after", "points"],
        ...answer.outcomes.map((one) => [one.outcome, one.before, one.after, one.points]),
      ],
      [["JSON", () => A.saveJSON(answer, `${A.stem()}-what-if.json`)]],
    );
    A.say(`Answered: the chance of ${A.outcomeNames[outcome]} goes ${moves}`);
  }
})();
