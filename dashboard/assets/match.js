// The match page: the address is the state; a change of ball draws from what is on the page.
(function () {
  const SCALES = ["micro", "short", "medium", "long"];
  let state, page, innings, told, explanation, playing, waiting, asking;

  A.pages.match = async (data) => {
    page = data;
    explanation = null;
    state = { lit: new Set(), claim: null, ...fromAddress() };
    A.redraw = () => {
      A.forgetWidths();
      if (innings && innings.count) drawAll();
    };
    A.moved = fromBack;
    const onKeys = (event) => keys(event),
      onBack = () => fromBack(),
      onSize = debounce(() => A.redraw && A.redraw(), 120);
    document.addEventListener("keydown", onKeys);
    window.addEventListener("popstate", onBack);
    window.addEventListener("resize", onSize);
    A.leave.push(() => {
      document.removeEventListener("keydown", onKeys);
      window.removeEventListener("popstate", onBack);
      window.removeEventListener("resize", onSize);
      stop();
      clearTimeout(waiting);
      if (asking) asking.abort();
      A.leaveHead();
      innings = page = null;
    });
    A.put("score", A.el("p", { class: "loading" }, "the model is looking at every ball"));
    if (page.live) {
      A.atVersion(page.key, page.version);
      follow();
    }
    await open();
  };

  // A match that is being played: what is new comes by itself; who looks at the last ball goes on to the next.
  const EVERY = 1000;
  function follow() {
    let silent = 0;
    const look = async () => {
      const here = page;
      const live = await fetch("/live/" + encodeURIComponent(page.key) + ".json", { cache: "no-store" })
        .then((said) => (said.ok ? said.json() : null))
        .catch(() => null);
      if (here !== page) return;
      silent = live ? 0 : silent + 1;
      if (live) standing(live.trouble, live.as_of);
      else if (silent >= 3) standing("the server does not answer", page.asOf);
      const last = live && live.about.innings.filter((one) => one.balls).slice(-1)[0];
      if (!last || !innings || !A.atVersion(page.key, live.version)) return;
      const played = page.about.innings.filter((one) => one.balls),
        atEnd = state.ball === innings.count && played.slice(-1)[0].number === state.number;
      const balls = (all) => all.reduce((sum, one) => sum + one.balls, 0),
        more = balls(live.about.innings) > balls(played);
      page.about = live.about;
      if (atEnd || !live.about.innings.some((one) => one.number === state.number && one.balls))
        Object.assign(state, { number: last.number, ball: last.balls, lit: new Set(), claim: null });
      await open();
      if (page)
        A.toast(
          !more
            ? "balls that were there before have been changed"
            : atEnd
              ? innings.describe(innings.count - 1)
              : "a new ball has come: " + last.batting + " " + last.total + "/" + last.wickets,
        );
    };
    const timer = setInterval(look, EVERY);
    A.leave.push(() => clearInterval(timer));
    look();
  }
  // One line: when what is shown was good, and what is wrong since.
  function standing(trouble, asOf) {
    const node = A.at("live"),
      when = asOf
        ? new Date(1000 * asOf).toLocaleTimeString([], {
            hour: "2-digit",
            minute: "2-digit",
            second: "2-digit",
            hour12: false,
          })
        : null;
    page.asOf = asOf;
    const words = trouble
      ? "Shown as it stood at " +
        (when || "the beginning") +
        ": " +
        trouble +
        "; taken up again when that is mended"
      : "Followed; last changed at " + when;
    if (node.textContent === words) return;
    node.className = trouble ? "trouble" : "quiet";
    node.textContent = words;
  }

  function fromAddress() {
    const [, , , number, , ball] = location.pathname.split("/").filter(Boolean);
    const asked = new URLSearchParams(location.search),
      first = page.about.innings.find((one) => one.balls).number;
    const model = asked.get("model");
    return {
      number: Number(number) || first,
      ball: Math.trunc(Number(ball)) || 1,
      scale: SCALES.includes(asked.get("scale")) ? asked.get("scale") : "medium",
      view: A.viewNames[asked.get("view")] ? asked.get("view") : "full",
      head: asked.has("head") && /^\d+$/.test(asked.get("head")) ? Number(asked.get("head")) : null,
      outcome: A.outcomes.includes(asked.get("outcome")) ? asked.get("outcome") : null,
      model: page.models.includes(model) ? model : page.models[0],
    };
  }
  function address() {
    const asked = new URLSearchParams();
    if (state.scale !== "medium") asked.set("scale", state.scale);
    if (state.view !== "full") asked.set("view", state.view);
    if (state.head !== null) asked.set("head", state.head);
    if (state.outcome) asked.set("outcome", state.outcome);
    if (state.model !== page.models[0]) asked.set("model", state.model);
    const query = asked.toString();
    return (
      "/match/" +
      encodeURIComponent(page.key) +
      "/innings/" +
      state.number +
      "/ball/" +
      state.ball +
      (query ? "?" + query : "")
    );
  }
  let pushed = 0;
  function remember(how) {
    const next = address();
    if (next === location.pathname + location.search) return;
    const soon = Date.now() - pushed < 350;
    history[how === "replace" || (soon && how !== "always") ? "replaceState" : "pushState"](
      history.state,
      "",
      next,
    );
    if (how !== "replace") pushed = Date.now();
  }
  async function fromBack() {
    if (!innings || !location.pathname.startsWith("/match/" + encodeURIComponent(page.key) + "/")) return;
    const next = fromAddress(),
      other = next.number !== state.number || next.model !== state.model;
    Object.assign(state, next, { lit: new Set(), claim: null });
    if (other) await open();
    else {
      clamp();
      drawAll();
    }
  }
  // An address may name what is not there.
  function clamp() {
    state.ball = Math.max(1, Math.min(innings.count, state.ball));
    if (state.head !== null && state.head >= innings.scale(state.scale).heads.length) state.head = null;
  }

  async function open() {
    const wanted = state.number + state.model,
      here = page;
    try {
      if (!page.about.innings.some((one) => one.number === state.number && one.balls))
        throw new Error("There is no innings " + state.number + " with a ball in this match.");
      const found = await A.innings(page.key, state.number, state.model);
      if (here !== page || wanted !== state.number + state.model) return;
      innings = found;
      A.at("page").classList.remove("failed");
      clamp();
      remember("replace");
      A.stem = () => "attnlens-" + page.key + "-" + state.number + "-" + state.ball;
      controls();
      drawAll();
      document.body.dataset.ready = "yes";
      performance.mark("attnlens-drawn");
    } catch (error) {
      if (here !== page) return;
      A.at("page").classList.add("failed");
      A.put(
        "score",
        A.el(
          "p",
          { class: "trouble", role: "alert" },
          error.message,
          " ",
          A.el(
            "a",
            {
              href:
                "/match/" +
                encodeURIComponent(page.key) +
                "/innings/" +
                page.about.innings.find((one) => one.balls).number +
                "/ball/1",
            },
            "To the first ball",
          ),
        ),
      );
    }
  }

  function controls() {
    const many = page.about.innings.filter((one) => one.balls);
    told = {};
    told.play = A.el(
      "button",
      { type: "button", class: "play", id: "play", "aria-pressed": "false", onclick: toggle },
      "▶ Play",
    );
    told.label = A.el("input", {
      type: "text",
      id: "go-to",
      size: 6,
      "aria-label": "Go to a ball: 47, or 7.2",
      placeholder: "47 or 7.2",
    });
    const step = (by, text, label) =>
      A.el(
        "button",
        { type: "button", "aria-label": label, onclick: () => choose(state.ball - 1 + by) },
        text,
      );
    A.put(
      "timeline-controls",
      many.length > 1
        ? A.el(
            "div",
            { class: "tabs", role: "group", "aria-label": "Innings" },
            many.map((one) =>
              A.el(
                "button",
                {
                  type: "button",
                  "aria-pressed": String(one.number === state.number),
                  onclick: () => otherInnings(one.number),
                },
                one.super_over ? "super over, " : null,
                A.el("bdi", null, one.batting),
                A.el("small", null, " " + one.total + "/" + one.wickets),
              ),
            ),
          )
        : null,
      A.el(
        "div",
        { class: "group" },
        step(-1, "◀", "the ball before"),
        told.play,
        step(1, "▶", "the next ball"),
      ),
      A.el(
        "form",
        {
          class: "group",
          onsubmit: (event) => {
            event.preventDefault();
            goTo(told.label.value);
          },
        },
        told.label,
        A.el("button", { type: "submit" }, "Go"),
      ),
      page.models.length > 1
        ? A.el(
            "label",
            { class: "group" },
            "Model",
            A.el(
              "select",
              {
                id: "model",
                onchange: (event) => {
                  Object.assign(state, { model: event.target.value, lit: new Set(), claim: null });
                  explanation = null;
                  remember();
                  open();
                },
              },
              page.models.map((one) =>
                A.el("option", { value: one, selected: one === state.model }, one.split(/[\\/]/).pop()),
              ),
            ),
          )
        : null,
    );
    A.heads.controls(state, innings, change);
    A.whatIf.build(state, innings);
  }
  function otherInnings(number) {
    if (number === state.number) return;
    Object.assign(state, { number, ball: 1, lit: new Set(), claim: null });
    explanation = null;
    stop();
    remember("always");
    open();
  }
  function goTo(text) {
    const wanted = text.trim();
    const found = innings.balls.filter((ball) => ball.label === wanted);
    const at = /^\d+$/.test(wanted) ? Number(wanted) - 1 : found.length === 1 ? found[0].index - 1 : -1;
    if (at < 0 || at >= innings.count) {
      A.toast(
        found.length > 1
          ? wanted + " is the label of " + found.length + " balls: name one by its number"
          : "there is no ball " + (wanted || "without a name") + "; 1 to " + innings.count,
      );
      return;
    }
    choose(at);
  }

  // A change of ball, drawn at once; the tests of its explanation follow.
  function choose(at, how) {
    const ball = Math.max(1, Math.min(innings.count, at + 1));
    if (ball === state.ball) return;
    performance.mark("attnlens-change");
    state.ball = ball;
    state.lit = new Set();
    state.claim = null;
    drawBall();
    remember(how || "push");
    performance.mark("attnlens-changed");
    performance.measure("attnlens-ball", "attnlens-change", "attnlens-changed");
  }
  A.choose = choose;
  function change(what) {
    const scale = what.scale && what.scale !== state.scale;
    Object.assign(state, what);
    if (scale) A.heads.build(state, innings, change);
    else A.heads.draw(state);
    remember();
    if (what.scale) A.say("Scale " + state.scale);
  }
  A.changeHead = (head) => {
    const was = state.head;
    change({ head });
    if (head === null && was !== null) {
      const cards = document.querySelectorAll(".head");
      if (cards[was]) cards[was].focus();
    }
  };

  function drawAll() {
    A.timeline.draw(state, innings, choose);
    A.heads.build(state, innings, change);
    menus();
    drawBall(true);
  }
  function drawBall(all) {
    if (!all) {
      A.timeline.move(state);
      A.heads.draw(state);
    }
    score();
    outcomes();
    A.say(innings.describe(state.ball - 1));
    explanation = null;
    clearTimeout(waiting);
    if (all) rest();
    else {
      // What was said of another ball pales at once; it is replaced when this ball is drawn.
      A.at("page").classList.add("stale");
      waiting = setTimeout(rest, 30);
    }
  }
  function rest() {
    if (!innings) return;
    A.at("page").classList.remove("stale");
    gates();
    A.whatIf.move(state);
    explanation = A.known(explainAddress(state.ball)) || null;
    explained();
    clearTimeout(waiting);
    waiting = setTimeout(explanation ? ahead : ask, explanation ? 300 : 110);
  }
  const explainAddress = (ball) =>
    "/data/" +
    encodeURIComponent(page.key) +
    "/" +
    state.number +
    "/" +
    ball +
    "/explanation.json" +
    A.asked(page.key, state.model);
  A.explanationNow = () => explanation;
  async function ask() {
    const ball = state.ball,
      url = explainAddress(ball);
    if (asking) asking.abort();
    asking = new AbortController();
    try {
      const found = await A.get(url, asking.signal);
      if (!innings || url !== explainAddress(state.ball)) return;
      explanation = found;
      explained();
      ahead();
    } catch (error) {
      if (error.name === "AbortError" || !innings || ball !== state.ball) return;
      A.put(
        "narrative-text",
        A.el(
          "p",
          { class: "trouble", role: "alert" },
          error.message,
          " ",
          A.el("button", { type: "button", onclick: ask }, "Ask again"),
        ),
      );
    }
  }
  // The neighbours' explanations, before they are wanted.
  function ahead() {
    for (const ball of [state.ball + 1, state.ball - 1]) {
      if (ball < 1 || ball > innings.count || A.known(explainAddress(ball))) continue;
      const url = explainAddress(ball);
      fetch(url + "&ahead=1").catch(() => {});
    }
  }

  function explained() {
    const outcome = chosen();
    if (!explanation) {
      A.put(
        "contributions-plot",
        A.el("p", { class: "loading" }, "taking things away, to see what each does"),
      );
      A.put("narrative-text", A.el("p", { class: "loading" }, "testing every claim against others like it"));
      A.put("evidence-list", A.el("p", { class: "loading" }, "hiding balls"));
      for (const name of ["contributions", "narrative", "evidence"]) A.at(name + "-tools").replaceChildren();
      return;
    }
    contributions(outcome);
    A.narrative(explanation, light);
    A.evidence(explanation, state, light);
    const files = "/files/" + encodeURIComponent(page.key) + "/" + state.number + "/" + state.ball + "/",
      model = A.asked(page.key, state.model);
    A.menu("narrative", [
      ["Copy the words", () => A.copy(explanation.narrative.map((one) => one.text).join("\n"))],
      [
        "Copy the prompt for a language model",
        async () => {
          const said = await fetch(files + "prompt.txt" + model);
          A.copy(await said.text());
        },
      ],
      ["Prompt (.txt)", files + "prompt.txt" + model],
      ["Everything (.json)", files + "explanation.json" + model],
      ["Past balls (.csv)", files + "balls.csv" + model],
      ["As in the terminal (.txt)", files + "explanation.txt" + model],
      ...(page.texts.includes("report.html") ? [["Report (.html)", files + "report.html" + model]] : []),
    ]);
    A.menu("evidence", [
      [
        "CSV",
        () =>
          A.saveText(
            A.csv([
              [
                "claim",
                "kind",
                "reference",
                "verdict",
                "reason",
                "removed_from",
                "removed",
                "share",
                "outcome",
                "effect_nats",
                "single_effects",
                "top_outcome",
                "before",
                "after",
                "control_p5_nats",
                "control_p25_nats",
                "control_median_nats",
                "control_p75_nats",
                "control_p95_nats",
                "controls",
                "p",
                "q",
              ],
              ...explanation.evidence.map((one) => [
                one.claim,
                one.kind,
                one.reference,
                one.verdict,
                one.reason,
                one.removed_from,
                one.removed.join(" "),
                one.share,
                one.outcome,
                one.effect_nats,
                one.single_effects.join(" "),
                one.top_change.outcome,
                one.top_change.before,
                one.top_change.after,
                ...(one.control_quantiles_nats || Array(5).fill(null)),
                one.controls,
                one.p,
                one.q,
              ]),
            ]),
            A.stem() + "-evidence.csv",
            "text/csv",
          ),
      ],
      [
        "JSON",
        () =>
          A.saveText(
            JSON.stringify(explanation.evidence, null, 2),
            A.stem() + "-evidence.json",
            "application/json",
          ),
      ],
    ]);
    A.heads.explained();
  }
  function light(claim) {
    const same = state.claim === claim;
    state.claim = same ? null : claim;
    state.lit = new Set(same ? [] : explanation.evidence[claim].removed);
    A.markClaims(state.claim);
    A.timeline.light(state);
    A.heads.light(state);
    const balls = [...state.lit].sort((one, two) => one - two).map((index) => innings.balls[index - 1].label);
    A.say(
      same
        ? "No ball is lit"
        : "Lit: balls " +
            balls.join(", ") +
            (explanation.evidence[claim].head ? ", in the head they were hidden from" : ""),
    );
  }

  const chosen = () =>
    state.outcome ||
    A.outcomes[
      innings.probabilitiesOf(state.ball - 1).indexOf(Math.max(...innings.probabilitiesOf(state.ball - 1)))
    ];
  function outcomes() {
    const at = state.ball - 1,
      now = Array.from(innings.probabilitiesOf(at)),
      base = Array.from(innings.baselineOf(at));
    figures.outcomes = A.outcomeBars.draw("outcomes-plot", {
      now,
      base,
      actual: innings.balls[at].outcome || null,
      chosen: chosen(),
      label: "Chance of each outcome",
      than: "with nothing known",
      nowName: "expected",
      baseName: "with nothing known",
      choose: (outcome) => {
        state.outcome = state.outcome === outcome ? null : outcome;
        outcomes();
        if (explanation) contributions(chosen());
        remember("replace");
      },
    });
  }
  // What can be taken away is worked out when it is.
  const figures = {};
  function menus() {
    const at = () => state.ball - 1;
    A.figureMenu(
      "outcomes",
      () => figures.outcomes,
      () => [
        ["outcome", "probability", "baseline"],
        ...A.outcomes.map((one, place) => [
          one,
          innings.probabilitiesOf(at())[place].toFixed(6),
          innings.baselineOf(at())[place].toFixed(6),
        ]),
      ],
    );
    A.figureMenu(
      "gates",
      () => figures.gates,
      () => [
        ["source", "weight"],
        ...innings.told.fused.map((name, place) => [name, innings.gatesOf(at())[place].toFixed(6)]),
      ],
    );
    A.figureMenu(
      "inside",
      () => figures.inside,
      () => [
        ["layer", "node", "weight"],
        ...innings.nodes.map((node, place) => [
          node.layer,
          node.node,
          innings.nodesOf(at())[place].toFixed(6),
        ]),
      ],
    );
  }
  function contributions(outcome) {
    const rows = explanation.contributions
      .map((one) => ({ name: one.group, points: one.points.find((p) => p.outcome === outcome).points }))
      .sort((one, two) => Math.abs(two.points) - Math.abs(one.points));
    const place = A.outcomes.indexOf(outcome),
      at = state.ball - 1;
    A.at("contributions-title").textContent =
      "What moves P(" +
      A.outcomeNames[outcome] +
      ") from " +
      A.percent(innings.baselineOf(at)[place]) +
      " to " +
      A.percent(innings.probabilitiesOf(at)[place]);
    const svg = A.signedBars(
      "contributions-plot",
      rows,
      "Percentage points that each group adds or takes away: " +
        rows.map((one) => one.name + " " + A.signed(one.points)).join(", "),
    );
    A.at("contributions-plot").append(
      A.el(
        "p",
        { class: "legend" },
        "Percentage points; they sum to the difference exactly (Shapley values).",
      ),
    );
    A.figureMenu(
      "contributions",
      () => svg,
      () => [
        ["group", ...A.outcomes],
        ...explanation.contributions.map((one) => [one.group, ...one.points.map((p) => p.points)]),
      ],
    );
  }
  function gates() {
    const at = state.ball - 1;
    figures.gates = A.gateBars(
      "gates-plot",
      [{ values: Array.from(innings.gatesOf(at)) }],
      innings.told.fused,
    );
    figures.inside = A.inside("inside-plot", innings, at);
  }

  // The score as on television, as it stood before the ball.
  function score() {
    const at = state.ball - 1,
      ball = innings.balls[at],
      side = innings.told.innings,
      f = ball.figures;
    const left = side.quota === null ? null : Math.max(0, side.quota - ball.legal),
      need = side.target === null ? null : Math.max(0, side.target - ball.score);
    const rate = ball.legal ? (6 * ball.score) / ball.legal : null,
      over = innings.balls.filter((one) => one.over === ball.over && one.index <= ball.index);
    A.put(
      "score",
      A.el(
        "div",
        { class: "team" },
        A.el("span", { class: "side" }, side.batting),
        A.el("span", { class: "runs" }, ball.score + "/" + ball.wickets),
        A.el("span", { class: "overs" }, A.overs(ball.legal), A.el("small", null, " overs")),
      ),
      A.el(
        "div",
        { class: "batters" },
        A.el(
          "span",
          { class: "on" },
          A.el("b", null, ball.batter),
          A.el("span", { class: "figure" }, f[0], A.el("small", null, " (" + f[1] + ")")),
        ),
        A.el(
          "span",
          null,
          A.el("span", { class: "name" }, ball.non_striker),
          A.el("span", { class: "figure" }, f[2], A.el("small", null, " (" + f[3] + ")")),
        ),
      ),
      A.el(
        "div",
        { class: "bowler" },
        A.el(
          "span",
          null,
          A.el("b", null, ball.bowler),
          A.el(
            "span",
            { class: "figure" },
            f[6] + "-" + f[5],
            A.el("small", null, " (" + A.overs(f[4]) + ")"),
          ),
        ),
        A.el(
          "span",
          {
            class: "this-over",
            "aria-label": "this over: " + over.map((one) => A.outcomeNames[one.outcome]).join(", "),
          },
          over.map((one) =>
            A.el(
              "i",
              {
                class: "ball o-" + A.ballKind(one) + (one === ball ? " now" : ""),
                title: innings.describe(one.index - 1),
              },
              one === ball ? "?" : A.marks[one.outcome] || one.outcome,
            ),
          ),
        ),
      ),
      A.el(
        "div",
        { class: "rates" },
        need !== null
          ? [
              A.el("span", null, A.el("b", null, need), " to win" + (left !== null ? " from " + left : "")),
              left
                ? A.el("span", { class: "quiet" }, "needs " + ((6 * need) / left).toFixed(2) + " an over")
                : null,
            ]
          : [
              rate !== null ? A.el("span", null, A.el("b", null, rate.toFixed(2)), " an over") : null,
              left !== null ? A.el("span", { class: "quiet" }, left + " balls left") : null,
            ],
      ),
      A.el(
        "div",
        { class: "which" },
        A.el("span", null, "Ball ", A.el("b", null, ball.label)),
        A.el(
          "span",
          { class: "quiet" },
          "delivery " + ball.index + " of " + innings.count + (ball.free_hit ? ", free hit" : ""),
        ),
      ),
    );
    document.title = ball.label + " " + ball.bowler + " to " + ball.batter + " | attnlens";
  }

  function toggle() {
    if (playing) stop();
    else play();
  }
  function play() {
    told.play.textContent = "❚❚ Stop";
    told.play.setAttribute("aria-pressed", "true");
    playing = setInterval(() => {
      if (state.ball >= innings.count) stop();
      else choose(state.ball, "replace");
    }, 650);
  }
  function stop() {
    clearInterval(playing);
    playing = null;
    if (told && told.play) {
      told.play.textContent = "▶ Play";
      told.play.setAttribute("aria-pressed", "false");
    }
  }
  function keys(event) {
    if (
      !innings ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) ||
      document.querySelector("dialog[open]")
    )
      return;
    const at = state.ball - 1,
      far = event.shiftKey ? 6 : 1;
    const moves = {
      ArrowLeft: at - far,
      ArrowRight: at + far,
      Home: 0,
      End: innings.count - 1,
      PageUp: at - 12,
      PageDown: at + 12,
    };
    const numbers = page.about.innings.filter((one) => one.balls).map((one) => one.number),
      here = numbers.indexOf(state.number);
    if (event.key in moves) {
      event.preventDefault();
      choose(moves[event.key]);
    } else if (event.key === " " && !/^(BUTTON|SUMMARY|A)$/.test(event.target.tagName)) {
      event.preventDefault();
      toggle();
    } else if (/^[1-4]$/.test(event.key)) change({ scale: SCALES[event.key - 1], head: null });
    else if (event.key === "v") {
      const names = Object.keys(A.viewNames);
      change({ view: names[(names.indexOf(state.view) + 1) % names.length] });
      A.say("View: " + A.viewNames[state.view]);
    } else if (event.key === "h") {
      const many = innings.scale(state.scale).heads.length;
      change({ head: state.head === null ? 0 : (state.head + 1) % many });
    } else if (event.key === "Escape" && state.head !== null) A.changeHead(null);
    else if (event.key === "[" && here > 0) otherInnings(numbers[here - 1]);
    else if (event.key === "]" && here < numbers.length - 1) otherInnings(numbers[here + 1]);
  }
  function debounce(action, wait) {
    let timer = 0;
    return () => {
      clearTimeout(timer);
      timer = setTimeout(action, wait);
    };
  }
})();
