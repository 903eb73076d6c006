// The sentences of a ball, and its claims with their tests.
(function () {
  // ---- The story of a ball in words: what is unlike usual, why, what was tested, what happened.
  const KINDS = {
    supported: ["good", "✓"],
    "not better than chance": ["even", "–"],
    contradicted: ["bad", "✗"],
    "cannot be told": ["none", "?"],
    "for comparison": ["none", "="],
  };
  A.badge = (verdict, reason) => {
    const [kind, mark] = KINDS[verdict] || ["none", "○"];
    return A.el(
      "span",
      { class: `badge ${kind}`, title: reason || "" },
      A.el("span", { "aria-hidden": "true" }, mark),
      verdict || "picture only",
    );
  };
  /** What to know before trusting a page, above everything else. */
  A.cautions = (sentences) =>
    A.put(
      "cautions",
      sentences.map((one) => A.li(null, one)),
    );

  const about = (sentence, pattern) => sentence.facts.some((fact) => pattern.test(fact.pointer));
  /** A sentence with its facts set off, its verdict as a badge, and the claim that it tells. */
  function written(sentence, light) {
    const parts = [];
    let rest = sentence.text;
    let claim = null;
    for (const fact of sentence.facts) {
      const found = /^\/evidence\/(\d+)\//.exec(fact.pointer);
      if (found && claim === null) claim = Number(found[1]);
      const at = rest.indexOf(fact.text);
      if (at < 0) continue;
      parts.push(
        rest.slice(0, at),
        fact.pointer.endsWith("/verdict") ? A.badge(fact.text) : A.b(null, fact.text),
      );
      rest = rest.slice(at + fact.text.length);
    }
    parts.push(rest);
    if (claim !== null) {
      const more = { class: "light", "data-claim": claim, "aria-pressed": "false" };
      parts.push(
        " ",
        A.button("show its balls", () => light(claim), more),
      );
    }
    return parts;
  }

  A.narrative = {
    /** What can be said before anything is tested. */
    waiting(innings, at, outcome) {
      const place = A.outcomes.indexOf(outcome);
      const [now, usual] = [innings.probabilitiesOf(at)[place], innings.usualOf(at)[place]];
      const told = `${A.outcomeNames[outcome]}: ${A.percent(now)} here, usually ${A.percent(usual)}.`;
      const queue = A.span("queue");
      A.put(
        "narrative-text",
        A.p("headline", told[0].toUpperCase() + told.slice(1)),
        A.p("loading", "testing every claim against others like it", queue),
      );
    },
    draw(explanation, light, drawer) {
      const told = explanation.narrative.filter((one) => !one.facts.length || about(one, /^(?!\/flags\/)/));
      const headline = told.find((one) => about(one, /\/usual$|story_times/));
      // How the match stands is told by the score above.
      const scene = (one) =>
        one.facts.length && one.facts.every((fact) => /^\/(ball|match)\//.test(fact.pointer));
      const rest = told.filter((one) => one !== headline && !scene(one));
      A.put(
        "narrative-text",
        headline ? A.p("headline", written(headline, light)) : null,
        rest.map((one) => A.p("sentence", written(one, light))),
        win(explanation.win_probability),
        A.claims.button(explanation, drawer),
      );
    },
    menu(explanation, file, texts) {
      A.menu("narrative", [
        ["Copy the words", () => A.copy(explanation.narrative.map((one) => one.text).join("\n"))],
        [
          "Copy the prompt for a language model",
          async () => A.copy(await (await fetch(file("prompt.txt"))).text()),
        ],
        ["Prompt (.txt)", file("prompt.txt")],
        ["Everything (.json)", file("explanation.json")],
        ["Past balls (.csv)", file("balls.csv")],
        ["As in the terminal (.txt)", file("explanation.txt")],
        ...(texts.includes("report.html") ? [["Report (.html)", file("report.html")]] : []),
      ]);
    },
  };
  function win(chances) {
    if (!chances) return null;
    const after = chances.happened === null ? "" : ` → ${A.percent(chances.happened)}`;
    const figures = A.b(null, A.percent(chances.before) + after);
    return A.p("sentence", A.b(null, chances.team), " to win: ", figures);
  }

  // ---- The claims of an explanation with their tests, in a drawer; each lights its balls up.
  const ORDER = { supported: 0, contradicted: 1, "not better than chance": 2, "cannot be told": 3 };
  const GUESS = "what any reader would guess, put to the same test";
  const PARTS = [
    {
      title: "These balls mattered to the prediction",
      how: "Hidden from the whole model; no head is named.",
      of: (claim) => claim.removed_from === "model" && claim.removed.length,
    },
    {
      title: "This head's look mattered",
      how:
        "What it looked at most, hidden from that head alone. " +
        "Its share: that effect over the one of hiding the same balls from the whole model.",
      of: (claim) => claim.removed_from === "head",
    },
    {
      title: "What else was known mattered",
      how: "Taken away, or replaced by another's: no ball is hidden.",
      of: (claim) => claim.removed_from === "model" && !claim.removed.length,
    },
  ];
  const judged = (claim) => ORDER[claim.verdict] < 3;
  const rank = (claim) => ORDER[claim.verdict] ?? 4;
  const figure = (p) => (p < 0.001 ? p.toExponential(0) : p.toFixed(p < 0.1 ? 3 : 2));
  const beside = (claim) =>
    `does more than ${Math.floor(1000 * (1 - claim.p)) / 10}% of ${claim.controls} ${claim.control}`;

  A.claims = {
    /** Opens the drawer, and says how many hold. */
    button(explanation, drawer) {
      const own = explanation.evidence.filter((claim) => judged(claim) && !claim.reference);
      const held = own.filter((claim) => claim.verdict === "supported").length;
      const text = own.length ? `Claims: ${held} of ${own.length} hold ▸` : "Claims: none can be told ▸";
      const open = A.at("evidence").classList.contains("open");
      const more = { id: "claims-button", "aria-controls": "evidence", "aria-expanded": String(open) };
      return A.button(text, () => drawer(!A.at("evidence").classList.contains("open")), more);
    },
    draw(explanation, state, light, close) {
      const claims = explanation.evidence.map((claim, number) => ({ claim, number }));
      A.put(
        "evidence-list",
        PARTS.map((kind) => part(kind, claims, state, light)),
        A.p(
          "legend",
          A.span(
            null,
            A.el("i", { class: "swatch effect" }),
            "how many of the sets it is compared with do less;",
          ),
          A.span(
            null,
            A.el("i", { class: "stroke tick" }),
            "95%: short of it nothing is supported; beyond it q, at most 0.05, decides",
          ),
        ),
      );
      A.menu("evidence", [
        ["CSV", () => A.saveText(A.csv(table(explanation)), `${A.stem()}-evidence.csv`, "text/csv")],
        ["JSON", () => A.saveJSON(explanation.evidence, `${A.stem()}-evidence.json`)],
      ]);
      A.at("evidence-tools").append(
        A.button("×", close, { class: "close", "aria-label": "Close the claims" }),
      );
    },
    mark: (number) =>
      A.all("[data-claim]").forEach((button) => {
        button.setAttribute("aria-pressed", String(Number(button.dataset.claim) === number));
      }),
  };

  function part({ title, how, of }, claims, state, light) {
    const all = claims
      .filter(({ claim }) => of(claim))
      .sort((one, two) => rank(one.claim) - rank(two.claim) || two.claim.effect_nats - one.claim.effect_nats);
    if (!all.length) return null;
    const guess = all.filter(({ claim }) => claim.reference);
    const own = all.filter(({ claim }) => !claim.reference);
    const told = own.filter(({ claim }) => judged(claim));
    const untold = own.slice(told.length);
    const held = told.filter(({ claim }) => claim.verdict === "supported").length;
    const list = (rows) =>
      A.ul(
        "claims",
        rows.map((one) => row(one, state, light)),
      );
    const more = `${untold.length} more: cannot be told, or a picture only`;
    return [
      A.h3(
        null,
        title,
        A.small(null, told.length ? ` ${held} of ${told.length} supported` : " none could be told"),
      ),
      A.p("quiet small", how),
      list([...told, ...guess]),
      untold.length ? A.el("details", { class: "more" }, A.el("summary", null, more), list(untold)) : null,
    ];
  }
  function row({ claim, number }, state, light) {
    const tested = judged(claim) && claim.p !== null;
    const guess = claim.reference;
    const change = claim.top_change;
    const said = [
      guess ? `${GUESS}: ${claim.verdict || "a picture only"}` : null,
      claim.reason,
      ...(tested ? [beside(claim), `p ${figure(claim.p)}`, `q ${figure(claim.q)}`] : []),
      `effect ${claim.effect_nats.toExponential(1)} nats` +
        (claim.outcome ? ` on P(${A.outcomeNames[claim.outcome]})` : ""),
    ];
    const points = `${A.percent(change.before, true)} → ${A.percent(change.after, true)}`;
    const about = {
      type: "button",
      class: `claim${guess ? " reference" : ""}`,
      "data-claim": number,
      "aria-pressed": String(state.claim === number),
      disabled: !claim.removed.length,
      onclick: () => light(number),
    };
    return A.li(
      null,
      A.el(
        "button",
        about,
        A.span(
          "claim-head",
          guess ? A.badge("for comparison", GUESS) : A.badge(claim.verdict, claim.reason),
          A.span("change", `P(${A.outcomeNames[change.outcome]}) ${points}`),
        ),
        A.span("claim-text", claim.claim),
        claim.share === null
          ? null
          : A.span(null, "This head's share of the effect: ", A.b(null, A.percent(claim.share))),
        tested ? strip(claim) : null,
        A.span("quiet small", said.filter(Boolean).join(" · ")),
      ),
    );
  }
  // How much of chance a claim does better than: what the test says.
  const strip = (claim) =>
    A.svg(
      "svg",
      {
        viewBox: "0 0 300 10",
        class: "strip-test",
        role: "img",
        "aria-label": beside(claim),
        preserveAspectRatio: "none",
      },
      A.svg("rect", { x: 0, y: 3, width: 300, height: 5, rx: 2, class: "track" }),
      A.svg("rect", { x: 0, y: 3, width: 300 * (1 - claim.p), height: 5, rx: 2, class: "effect" }),
      A.svg("rect", { x: 284, y: 0, width: 2, height: 10, class: "middle" }),
    );

  const PLAIN = ["claim", "kind", "reference", "verdict", "reason", "removed_from"];
  const CONTROLS = ["p5", "p25", "median", "p75", "p95"].map((name) => `control_${name}_nats`);
  const CHANGED = ["top_outcome", "before", "after", ...CONTROLS, "controls", "p", "q"];
  function table(explanation) {
    const rows = explanation.evidence.map((one) => [
      ...PLAIN.map((name) => one[name]),
      one.removed.join(" "),
      one.share,
      one.outcome,
      one.effect_nats,
      one.single_effects.join(" "),
      one.top_change.outcome,
      one.top_change.before,
      one.top_change.after,
      ...(one.control_quantiles_nats || CONTROLS.map(() => null)),
      one.controls,
      one.p,
      one.q,
    ]);
    return [[...PLAIN, "removed", "share", "outcome", "effect_nats", "single_effects", ...CHANGED], ...rows];
  }
})();
