// What an explanation says in words, with verdicts; each claim lights its balls up.
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
      { class: "badge " + kind, title: reason || "" },
      A.el("span", { "aria-hidden": "true" }, mark),
      verdict || "picture only",
    );
  };

  A.narrative = (explanation, light) => {
    const sentences = explanation.narrative
      .filter((one) => !one.facts.length || one.facts.some((fact) => !fact.pointer.startsWith("/flags/")))
      .map((sentence) => {
        const parts = [];
        let rest = sentence.text,
          claim = null;
        for (const fact of sentence.facts) {
          const found = /^\/evidence\/(\d+)\//.exec(fact.pointer);
          if (found && claim === null) claim = Number(found[1]);
          const at = rest.indexOf(fact.text);
          if (at < 0) continue;
          parts.push(
            rest.slice(0, at),
            fact.pointer.endsWith("/verdict") ? A.badge(fact.text) : A.el("b", null, fact.text),
          );
          rest = rest.slice(at + fact.text.length);
        }
        parts.push(rest);
        const balls = claim !== null ? explanation.evidence[claim].removed : [];
        return A.el(
          "p",
          { class: "sentence" },
          parts,
          balls.length
            ? [
                " ",
                A.el(
                  "button",
                  {
                    type: "button",
                    class: "light",
                    "data-claim": claim,
                    "aria-pressed": "false",
                    onclick: () => light(claim),
                  },
                  "show its balls",
                ),
              ]
            : null,
        );
      });
    A.put(
      "narrative-text",
      sentences,
      explanation.flags.length
        ? A.el(
            "details",
            { class: "flags" },
            A.el("summary", null, A.count(explanation.flags.length, "caution")),
            A.el(
              "ul",
              null,
              explanation.flags.map((flag) => A.el("li", null, flag.text)),
            ),
          )
        : null,
    );
  };

  const ORDER = { supported: 0, contradicted: 1, "not better than chance": 2, "cannot be told": 3 };
  const judged = (claim) => ORDER[claim.verdict] < 3;
  const GUESS = "what any reader would guess, put to the same test";
  const PARTS = [
    [
      "These balls mattered to the prediction",
      "Hidden from the whole model; no head is named.",
      (claim) => claim.removed_from === "model" && claim.removed.length,
    ],
    [
      "This head's look mattered",
      "What it looked at most, hidden from that head alone. Its share: that effect over the one of hiding the same balls from the whole model.",
      (claim) => claim.removed_from === "head",
    ],
    [
      "What else was known mattered",
      "Taken away, or replaced by another's: no ball is hidden.",
      (claim) => claim.removed_from === "model" && !claim.removed.length,
    ],
  ];
  A.evidence = (explanation, state, light) => {
    const claims = explanation.evidence.map((claim, number) => ({ claim, number }));
    const row = ({ claim, number }) => {
      const tested = judged(claim) && claim.p !== null,
        guess = claim.reference,
        change = claim.top_change;
      return A.el(
        "li",
        null,
        A.el(
          "button",
          {
            type: "button",
            class: "claim" + (guess ? " reference" : ""),
            "data-claim": number,
            "aria-pressed": String(state.claim === number),
            disabled: !claim.removed.length,
            onclick: () => light(number),
          },
          A.el(
            "span",
            { class: "claim-head" },
            guess ? A.badge("for comparison", GUESS) : A.badge(claim.verdict, claim.reason),
            A.el(
              "span",
              { class: "change" },
              "P(" +
                A.outcomeNames[change.outcome] +
                ") " +
                A.percent(change.before, true) +
                " → " +
                A.percent(change.after, true),
            ),
          ),
          A.el("span", { class: "claim-text" }, claim.claim),
          claim.share !== null
            ? A.el("span", null, "This head's share of the effect: ", A.el("b", null, A.percent(claim.share)))
            : null,
          tested ? strip(claim) : null,
          A.el(
            "span",
            { class: "quiet small" },
            [
              guess ? GUESS + ": " + (claim.verdict || "a picture only") : null,
              claim.reason,
              ...(tested ? [beside(claim), "p " + figure(claim.p), "q " + figure(claim.q)] : []),
              "effect " +
                claim.effect_nats.toExponential(1) +
                " nats" +
                (claim.outcome ? " on P(" + A.outcomeNames[claim.outcome] + ")" : ""),
            ]
              .filter(Boolean)
              .join(" · "),
          ),
        ),
      );
    };
    const list = (rows) => A.el("ul", { class: "claims" }, rows.map(row)),
      rank = (claim) => ORDER[claim.verdict] ?? 4;
    A.put(
      "evidence-list",
      PARTS.map(([title, how, of]) => {
        const all = claims
          .filter(({ claim }) => of(claim))
          .sort(
            (one, two) => rank(one.claim) - rank(two.claim) || two.claim.effect_nats - one.claim.effect_nats,
          );
        const guess = all.filter(({ claim }) => claim.reference),
          own = all.filter(({ claim }) => !claim.reference),
          told = own.filter(({ claim }) => judged(claim)),
          untold = own.slice(told.length);
        const supported = told.filter(({ claim }) => claim.verdict === "supported").length;
        return all.length
          ? [
              A.el(
                "h3",
                null,
                title,
                A.el(
                  "small",
                  null,
                  told.length ? " " + supported + " of " + told.length + " supported" : " none could be told",
                ),
              ),
              A.el("p", { class: "quiet small" }, how),
              list([...told, ...guess]),
              untold.length
                ? A.el(
                    "details",
                    { class: "more" },
                    A.el("summary", null, untold.length + " more: cannot be told, or a picture only"),
                    list(untold),
                  )
                : null,
            ]
          : null;
      }),
      A.el(
        "p",
        { class: "legend" },
        A.el(
          "span",
          null,
          A.el("i", { class: "swatch effect", "aria-hidden": "true" }),
          "how many of the sets it is compared with do less;",
        ),
        A.el(
          "span",
          null,
          A.el("i", { class: "stroke tick", "aria-hidden": "true" }),
          "95%: short of it nothing is supported; beyond it q, at most 0.05, decides",
        ),
      ),
    );
  };
  const figure = (p) => (p < 0.001 ? p.toExponential(0) : p.toFixed(p < 0.1 ? 3 : 2));
  const beside = (claim) =>
    "does more than " +
    Math.floor(1000 * (1 - claim.p)) / 10 +
    "% of " +
    claim.controls +
    " " +
    claim.control;
  // How much of chance a claim does better than: what the test says, where plain nats would not allow for where balls stand.
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
  A.markClaims = (claim) =>
    document
      .querySelectorAll("[data-claim]")
      .forEach((button) =>
        button.setAttribute("aria-pressed", String(Number(button.dataset.claim) === claim)),
      );
})();
