// What if somebody else had bowled, or a past ball had gone otherwise: before and after.
(function () {
  const MAX_PAST_BALLS = 36; // that may have gone otherwise
  const FIELDS = ["bowler", "batter", "target"];
  let state = null;
  let innings = null;
  /** @type {any} */
  let form = null;
  let changes = []; // [delivery, its other outcome]
  let answered = null; // a ball, and its answer once it is there
  let remember = (_query) => {};

  A.whatIf = {
    /** What an address asks, to be asked again: bowler, batter, target, was=46:6,40:W. */
    fromAddress(query) {
      const names = [...FIELDS, "was"].filter((name) => query.get(name));
      return names.length ? Object.fromEntries(names.map((name) => [name, query.get(name)])) : null;
    },
    build(ball, side, changed) {
      state = ball;
      innings = side;
      remember = changed;
      changes = [];
      answered = null;
      const { target, bowlers, batters } = innings.document.innings;
      const option = (outcome) => A.el("option", { value: outcome }, A.outcomeNames[outcome]);
      form = {
        bowler: person("bowler"),
        batter: person("batter"),
        target: A.el("input", { type: "number", min: 1, max: 999, step: 1, placeholder: target ?? "" }),
        ball: A.el("select", { id: "what-if-ball", "aria-label": "past ball" }),
        outcome: A.el(
          "select",
          { id: "what-if-outcome", "aria-label": "its outcome" },
          A.outcomes.map(option),
        ),
        chips: A.ul("chips"),
      };
      const onsubmit = (event) => {
        event.preventDefault();
        ask();
      };
      const label = (text, ...fields) => A.el("label", null, text, fields);
      const past = [form.ball, " was ", form.outcome, " ", A.button("Add", add), form.chips];
      A.put(
        "what-if-form",
        A.el(
          "form",
          { class: "form", onsubmit },
          label("Bowler", form.bowler, names("bowler", bowlers)),
          label("Batter", form.batter, names("batter", batters)),
          target === null ? null : label("Target", form.target),
          A.el("fieldset", null, A.el("legend", null, "Past balls"), past),
          A.el("button", { type: "submit", class: "primary" }, "Ask"),
        ),
      );
    },
    move(ball) {
      state = ball;
      const at = state.ball - 1;
      const chosen = form.ball.value;
      const text = (ball) =>
        `${ball.label} ${A.short(ball.bowler)} to ${A.short(ball.batter)}: ${A.outcomeNames[ball.outcome]}`;
      const balls = innings.balls.slice(Math.max(0, at - MAX_PAST_BALLS), at).reverse();
      form.ball.replaceChildren(...balls.map((ball) => A.el("option", { value: ball.index }, text(ball))));
      form.ball.parentNode.hidden = !balls.length;
      if (balls.some((ball) => String(ball.index) === chosen)) form.ball.value = chosen;
      if (answered?.ball === state.ball) return;
      answered = null;
      A.put("what-if-answer");
      if (state.whatIf) refill();
    },
    /** Another outcome is what the page is about. */
    about: (outcome) => answered?.answer && show(answered.answer, outcome),
  };
  const names = (label, players) =>
    A.el(
      "datalist",
      { id: `what-if-${label}s` },
      players.map((name) => A.el("option", { value: name })),
    );
  const person = (label) =>
    A.el("input", {
      id: `what-if-${label}`,
      list: `what-if-${label}s`,
      maxlength: 80,
      placeholder: "as it was",
    });

  // The form as an address has it, and its answer.
  function refill() {
    for (const name of FIELDS) form[name].value = state.whatIf[name] || "";
    changes = (state.whatIf.was || "")
      .split(",")
      .map((change) => change.split(":"))
      .filter(([ball, outcome]) => innings.balls[Number(ball) - 1] && A.outcomes.includes(outcome));
    chips();
    ask();
  }
  function add() {
    if (!form.ball.value) return;
    changes = [
      ...changes.filter(([ball]) => ball !== form.ball.value),
      [form.ball.value, form.outcome.value],
    ];
    chips();
  }
  function chips() {
    const chip = ([ball, outcome], number) => {
      const remove = () => {
        changes.splice(number, 1);
        chips();
      };
      const text = `${innings.balls[Number(ball) - 1].label} was ${A.outcomeNames[outcome]} `;
      return A.li(null, text, A.button("×", remove, { "aria-label": "take it out" }));
    };
    form.chips.replaceChildren(...changes.map(chip));
  }
  async function ask() {
    const { ball } = state;
    const side = innings;
    const question = Object.fromEntries(FIELDS.map((name) => [name, form[name].value.trim() || null]));
    const was = changes.map((change) => change.join(":")).join(",");
    const query = Object.entries({ ...question, was }).filter(([, value]) => value);
    remember(query.length ? Object.fromEntries(query) : null);
    answered = { ball, answer: null };
    A.put("what-if-answer", A.loading("asking"));
    try {
      const path = `${encodeURIComponent(innings.key)}/${innings.number}/${ball}`;
      const url = `/ask/${path}/what-if${A.query(innings.key, innings.model)}`;
      const answer = await A.post(url, JSON.stringify({ ...question, balls: Object.fromEntries(changes) }));
      if (state.ball !== ball || side !== innings) return;
      answered = { ball, answer };
      show(answer, A.chosenOutcome());
    } catch (error) {
      if (state.ball === ball) A.put("what-if-answer", A.trouble(error.message));
    }
  }
  function show(answer, outcome) {
    const { before, after } = answer.outcomes.find((row) => row.outcome === outcome);
    const moves = `${A.percent(before, true)} → ${A.percent(after, true)}`;
    A.put(
      "what-if-answer",
      A.p("headline", `P(${A.outcomeNames[outcome]}) ${moves}`),
      A.ul(
        "changes",
        answer.changes.map((change) => A.li(null, change.text + (change.follows ? " (it follows)" : ""))),
      ),
      answer.narrative.map((sentence) => A.p("sentence", sentence.text)),
      A.ul(
        "cautions",
        answer.flags.map((flag) => A.li(null, flag.text)),
      ),
      A.el("div", { id: "what-if-plot", class: "plot" }),
    );
    A.outcomeBars("what-if-plot", {
      now: answer.outcomes.map((row) => row.after),
      before: answer.outcomes.map((row) => row.before),
      names: ["after", "before"],
      chosen: outcome,
    });
    A.say(`Answered: the chance of ${A.outcomeNames[outcome]} goes ${moves}`);
  }
})();
