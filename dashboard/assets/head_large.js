// One head large: its figures, the balls it looks at most, and its map with axes.
(function () {
  let open = null;
  let later = 0;

  /** Shows a card's head large, or none. */
  A.showHead = (state, innings, card) => {
    A.at("enlarged").hidden = !card;
    open = card ? { state, innings, card } : null;
    clearTimeout(later);
    if (!open) return;
    tell();
    // The large figure follows when the ball rests: the small maps are there at once.
    later = setTimeout(enlarge, 90);
  };
  A.tellHead = () => open && tell();

  // The figures of the enlarged head.
  function tell() {
    const { state, innings, card } = open,
      at = state.ball - 1,
      map = card.shown,
      head = card.head;
    const explanation = A.explanationNow?.();
    const inner = explanation?.across_balls[state.scale].attention_by_head[head.key];
    const strongest = map.columns
      .map((key, c) => [key, map.cells[(map.rows.length - 1) * map.columns.length + c]])
      .filter(([key, value]) => key !== null && value > 0)
      .sort((one, two) => two[1] - one[1])
      .slice(0, 6);
    // Of the outcome that the page is about.
    const outcome = A.outcomeNow();
    const effectOf = (key) => {
      const past = map.long ? null : explanation?.history.find((one) => one.index === key + 1);
      const change = past?.changes.find((one) => one.outcome === outcome);
      return change ? A.signed(change.points, 2) : "";
    };
    const figures = [
      ["on the past", A.percent(1 - innings.own(state.scale, card.number, at))],
      ["on the ball itself", A.percent(innings.own(state.scale, card.number, at))],
      inner && inner.bias_share !== null ? ["built in", A.percent(inner.bias_share)] : null,
    ].filter(Boolean);
    const value = (v) => A.percent(v, true);
    A.put(
      "head-one",
      A.div(
        "one-head",
        A.div(
          null,
          A.h3(
            null,
            `Head ${card.number} of ${state.scale}${head.earned ? `: ${A.words(head.earned)}` : ""}`,
          ),
          head.question ? A.p("quiet", `Asks: ${head.question}?`) : null,
          A.p("quiet small", A.headStarted(head)),
          A.el(
            "dl",
            { class: "figures" },
            figures.map(([name, text]) => A.div(null, A.el("dt", null, name), A.el("dd", null, text))),
          ),
        ),
        A.el(
          "button",
          {
            type: "button",
            class: "close",
            "aria-label": "Close the enlarged head",
            onclick: () => A.changeHead(null),
          },
          "×",
        ),
      ),
      strongest.length
        ? A.table(
            map.long
              ? ["over", "weight"]
              : [
                  "ball",
                  "bowler → batter",
                  "outcome",
                  state.view === "full" ? "weight" : A.viewNames[state.view],
                  `without it, points of P(${A.outcomeNames[outcome]})`,
                ],
            strongest.map(([key, weight]) =>
              map.long
                ? [A.keyName(innings, map, key), value(weight)]
                : [
                    innings.balls[key].label,
                    `${innings.balls[key].bowler} → ${innings.balls[key].batter}`,
                    A.outcomeNames[innings.balls[key].outcome],
                    value(weight),
                    effectOf(key),
                  ],
            ),
            "What it looks at most",
          )
        : A.p("empty", "It has no past to look at yet."),
      A.el("p", { id: "cell", class: "readout", "aria-live": "polite" }, ""),
      tableBeside(innings, map),
    );
  }
  let asTable = false; // whether the table was opened
  function tableBeside(innings, map) {
    const box = A.tableBeside("The same as a table", () => {
      const last = map.rows.length - 1;
      return A.table(
        ["looked at", ...map.rows.map((row) => innings.balls[row].label)].map(String),
        map.columns.map((key, c) => [
          A.keyName(innings, map, key),
          ...map.rows.map((_, r) => {
            const v = map.cells[r * map.columns.length + c];
            return v >= 0 ? v.toFixed(3) : "";
          }),
        ]),
        `Columns: asked about; the last is this ball (${innings.balls[map.rows[last]].label})`,
      );
    });
    box.id = "head-table";
    box.open = asTable;
    box.addEventListener("toggle", () => {
      asTable = box.open;
    });
    box.fill();
    return box;
  }

  // The large figure is Plotly's; it is loaded once and then only given numbers.
  const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const plotly = () => /** @type {any} */ (document.querySelector("#head-graph .js-plotly-plot"));
  let base = null,
    cell = null;
  function enlarge() {
    if (!open) return;
    const dash = window.dash_clientside;
    if (!A.at("head-graph")) {
      dash.set_props("head-wanted", { data: "1" });
      let tries = 0;
      const wait = setInterval(() => {
        const plot = plotly();
        if (plot?.data && plot.layout) {
          clearInterval(wait);
          ready(plot);
          enlarge();
        } else if (++tries > 1200 || !open) clearInterval(wait);
      }, 50);
      return;
    }
    const plot = plotly();
    if (!plot || !base) return;
    const { state, innings, card } = open,
      map = card.shown,
      wide = map.columns.length;
    if (!cell || cell.row >= map.rows.length || cell.column >= wide || cell.ball !== state.ball)
      cell = { row: map.rows.length - 1, column: Math.max(0, wide - 2), ball: state.ball };
    const z = map.rows.map((_, r) =>
      Array.from(map.cells.subarray(r * wide, (r + 1) * wide), (v) => (v >= 0 ? Math.sqrt(v) : null)),
    );
    const text = map.rows.map((_, r) => map.columns.map((_, c) => escaped(A.cellText(innings, map, r, c))));
    const name = (key) =>
      key === null ? "itself" : map.long ? innings.overName(key) : innings.balls[key].label;
    const ink = A.colour("text"),
      line = A.colour("accent"),
      top = Math.max(map.most, map.rowMost) || 1;
    // Square roots are drawn, so that small weights show; the bar beside tells the weights.
    const ticks = [0, 0.04, 0.16, 0.36, 0.64, 1].map((share) => share * top);
    const figure = {
      data: [
        {
          ...base.data[0],
          z,
          text,
          zmax: Math.sqrt(top),
          colorscale: A.colour("ramp")
            .split(/\s+/)
            .map((hex, at, all) => [at / (all.length - 1), hex]),
          colorbar: {
            ...base.data[0].colorbar,
            tickvals: ticks.map(Math.sqrt),
            ticktext: ticks.map((one) => `${(100 * one).toFixed(one < 0.1 ? 1 : 0)}%`),
            title: { text: A.viewNames[state.view], side: "right" },
          },
        },
      ],
      layout: {
        ...base.layout,
        font: { color: ink, family: "inherit", size: 11 },
        height: map.rows.length < 3 ? 190 : Math.min(560, 150 + map.rows.length * 14),
        uirevision: state.scale + state.head + state.view,
        xaxis: {
          ...base.layout.xaxis,
          tickvals: map.columns.map((_, c) => c),
          ticktext: map.columns.map(name),
          range: [-0.5, wide - 0.5],
          title: { text: map.long ? "over looked at" : "ball looked at" },
        },
        yaxis: {
          ...base.layout.yaxis,
          tickvals: map.rows.map((_, r) => r),
          ticktext: map.rows.map((row) => innings.balls[row].label),
          title: { text: "asked about" },
        },
        shapes: [
          {
            type: "rect",
            x0: -0.5,
            x1: wide - 0.5,
            y0: map.rows.length - 1.5,
            y1: map.rows.length - 0.5,
            line: { color: line, width: 2 },
          },
          marker(),
        ],
      },
    };
    dash.set_props("head-graph", { figure });
  }
  function marker() {
    return {
      type: "rect",
      x0: cell.column - 0.5,
      x1: cell.column + 0.5,
      y0: cell.row - 0.5,
      y1: cell.row + 0.5,
      line: { color: A.colour("focus"), width: 3 },
    };
  }
  function ready(plot) {
    base = { data: plot.data.map((one) => ({ ...one })), layout: JSON.parse(JSON.stringify(plot.layout)) };
    const box = A.at("head-figure");
    box.tabIndex = 0;
    box.setAttribute("role", "application");
    box.setAttribute(
      "aria-label",
      "Heat map of the head. Arrow keys move the cell that is read out; the same is in the table above.",
    );
    plot.on("plotly_click", (event) => {
      const point = event.points[0];
      if (point) move(point.y, point.x, true);
    });
    if (box.dataset.wired) return;
    box.dataset.wired = "1";
    box.addEventListener("keydown", (event) => {
      const way = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!way || !open) return;
      event.preventDefault();
      event.stopPropagation();
      move(cell.row + way[0], cell.column + way[1], true);
    });
  }
  function move(row, column, aloud) {
    const map = open.card.shown,
      plot = plotly();
    cell = {
      row: Math.max(0, Math.min(map.rows.length - 1, row)),
      column: Math.max(0, Math.min(map.columns.length - 1, column)),
      ball: open.state.ball,
    };
    if (aloud) A.at("cell").textContent = A.cellText(open.innings, map, cell.row, cell.column);
    if (window.Plotly && plot) window.Plotly.relayout(plot, { "shapes[1]": marker() });
  }
  A.leaveHead = () => {
    base = null;
    cell = null;
    open = null;
  };
})();
