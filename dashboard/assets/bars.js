// Bars: expected outcomes, the gates, and the layers inside the ball.
(function () {
  const width = (share) => `width:${(100 * share).toFixed(2)}%`;
  const swatch = (kind, text) => A.span(null, A.el("i", { class: kind, "aria-hidden": "true" }), text);
  const row = (name, share, kind, ...marks) => [
    A.span("name", name),
    A.el(
      "span",
      { class: "track", "aria-hidden": "true" },
      A.el("i", { class: kind, style: width(share) }),
      marks,
    ),
  ];

  /**
   * Outcomes as bars, each beside a mark: what is usual, or what was before.
   * @param {string} id the element that they fill
   * @param {{ now: number[], before: number[], names: [string, string], chosen: string, actual?: string,
   *   choose?: (outcome: string) => void }} shown
   */
  A.outcomeBars = (id, { now, before, names, chosen, actual, choose }) => {
    const top = Math.max(...now, ...before, 0.1);
    const rows = A.outcomes.map((outcome, at) => {
      const ends = [now[at], before[at]].map((share) => (100 * share) / top);
      const tick = A.el("i", { class: "tick", style: `left:${ends[1]}%` });
      const happened = outcome === actual;
      const parts = [
        row(
          A.outcomeNames[outcome],
          now[at] / top,
          "now",
          tick,
          happened && A.el("i", { class: "happened", style: `left:${Math.max(...ends)}%` }),
        ),
        A.span("value", A.percent(now[at])),
        A.span(`diff ${now[at] < before[at] ? "down" : "up"}`, A.signed(100 * (now[at] - before[at]))),
      ];
      const kind = `row${outcome === chosen ? " chosen" : ""}`;
      if (!choose) return A.div(kind, parts);
      const onclick = () => {
        choose(outcome);
        A.all(`#${id} .row`)[at].focus();
      };
      const state = { class: kind, "aria-pressed": String(outcome === chosen) };
      const more = `${names[1]} ${A.percent(before[at], true)}${happened ? "; this happened" : ""}`;
      return A.button(parts, onclick, { ...state, "aria-description": more });
    });
    const legend = [swatch("swatch now", names[0]), swatch("stroke tick", names[1])];
    A.put(
      id,
      A.div("bars", rows),
      A.p("legend", legend, actual && swatch("swatch happened", "what happened")),
    );
  };

  // ---- The gates: one bar cut in five.
  const sourceName = (name) => (name === "within_ball" ? "the ball itself" : A.words(name));
  A.gateBars = (innings, at) => {
    const shares = innings.gatesOf(at);
    const texts = innings.document.fused.map((name, i) => `${sourceName(name)} ${A.percent(shares[i])}`);
    const part = (text, i) =>
      A.el(
        "span",
        { class: `gate g${i}`, style: `flex:${shares[i]} 0 0`, title: text },
        A.percent(shares[i]),
      );
    const bar = A.el("div", { class: "gates", role: "img", "aria-label": texts.join(", ") }, texts.map(part));
    const names = innings.document.fused.map((name, i) => swatch(`swatch gate g${i}`, sourceName(name)));
    A.put("gates-plot", bar, A.p("legend", names));
  };

  // ---- Inside the ball: three layers, each conditioned on the one above.
  const LAYERS = {
    global: "the occasion",
    match_state: "the state of the game",
    actor: "who plays",
  };
  A.inside = (innings, at) => {
    const { graph } = innings.document;
    const [layers, nodes] = [innings.layersOf(at), innings.nodesOf(at)];
    let node = 0;
    const line = (name) => {
      const weight = nodes[node++];
      const parts = row(A.words(name), weight, "now");
      return A.el("li", { class: "row" }, parts, A.span("value", A.percent(weight)));
    };
    const layer = ([name, names], number) =>
      A.li(
        null,
        A.h3(null, LAYERS[name] || A.words(name), A.small(null, ` ${A.percent(layers[number])}`)),
        A.ul("bars", names.map(line)),
      );
    const how = "each layer is conditioned on the one before";
    const legend = [swatch("swatch now", "known before the ball"), how];
    A.put(
      "inside-plot",
      A.el("ol", { class: "layers" }, Object.entries(graph).map(layer)),
      A.p("legend", legend),
    );
  };
})();
