// The story of a ball in words: what is unlike usual, why, what was tested, what happened.
(function () {
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
})();
