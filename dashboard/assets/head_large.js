// One head large: its figures, the balls it looks at most, and its map with axes.
(function () {
  let open = null;

  /** Shows a card's head large, or none. */
  A.showHead = (state, innings, card) => {
    A.at("enlarged").hidden = !card;
    open = card ? { state, innings, card } : null;
    if (!open) return;
    tell();
    enlarge();
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

  // The large map: an image of its cells, with labels, a frame around this ball's row, and a mark.
  const ROW = 15, // pixels
    LEFT = 58,
    BOTTOM = 62;
  let cell = null;
  function enlarge() {
    const { state, innings, card } = open,
      map = card.shown,
      rows = map.rows.length,
      columns = map.columns.length,
      tall = rows < 3 ? 30 : ROW,
      height = rows * tall;
    if (!cell || cell.row >= rows || cell.column >= columns || cell.ball !== state.ball)
      cell = { row: rows - 1, column: Math.max(0, columns - 2), ball: state.ball };
    const width = Math.max(A.width("head-figure", 320), 300),
      wide = (width - LEFT - 8) / columns,
      most = Math.max(map.most, map.rowMost);
    const canvas = document.createElement("canvas");
    A.paintMap(canvas, map, [...map.rows.keys()], most);
    const word = (x, y, anchor, text, more) =>
      A.svg("text", { x, y, class: "axis", "text-anchor": anchor, ...more }, text);
    const name = (key) =>
      key === null ? "itself" : map.long ? innings.overName(key) : innings.balls[key].label;
    const every = Math.ceil(13 / wide);
    const across = map.columns.flatMap((key, column) => {
      if (key !== null && column % every) return [];
      const x = LEFT + (column + 0.5) * wide + 4;
      return [word(0, 0, "end", name(key), { transform: `translate(${x} ${height + 8}) rotate(-90)` })];
    });
    const down = map.rows.map((row, line) =>
      word(LEFT - 6, (line + 0.5) * tall + 4, "end", innings.balls[row].label),
    );
    const image = A.svg("image", {
      x: LEFT,
      y: 0,
      width: columns * wide,
      height,
      preserveAspectRatio: "none",
      href: canvas.toDataURL(),
    });
    const frame = { x: LEFT, y: height - tall, width: columns * wide, height: tall, class: "own-row" };
    const mark = A.svg("rect", { width: wide, height: tall, class: "marked-cell" });
    const svg = A.svg(
      "svg",
      { viewBox: `0 0 ${width} ${height + BOTTOM}`, width, height: height + BOTTOM, class: "large-map" },
      [image, down, across, A.svg("rect", frame), mark],
      word(
        LEFT + (columns * wide) / 2,
        height + BOTTOM - 4,
        "middle",
        map.long ? "over looked at" : "ball looked at",
      ),
      word(0, 0, "middle", "asked about", { transform: `translate(11 ${height / 2}) rotate(-90)` }),
    );
    const stops = [0, 0.25, 1].map((share) => A.span(null, A.percent(share * most)));
    A.put(
      "head-figure",
      svg,
      A.span("ramp-legend", A.el("i", { class: "ramp" }), A.span("stops", stops)),
      A.small(null, ` ${A.viewNames[state.view]}`),
    );
    image.addEventListener("click", (event) => move(...A.cellUnder(event, image, rows, columns), true));
    wire();
    move(cell.row, cell.column, false);
  }
  function wire() {
    const box = A.at("head-figure");
    if (box.dataset.wired) return;
    box.dataset.wired = "1";
    box.tabIndex = 0;
    box.setAttribute("role", "application");
    box.setAttribute(
      "aria-label",
      "Heat map of the head. Arrow keys move the cell that is read out; the same is in the table above.",
    );
    box.addEventListener("keydown", (event) => {
      const step = open && A.arrow(event);
      if (step) move(cell.row + step[0], cell.column + step[1], true);
    });
  }
  function move(row, column, aloud) {
    const map = open.card.shown,
      within = (value, count) => Math.max(0, Math.min(count - 1, value)),
      mark = document.querySelector("#head-figure .marked-cell");
    cell = {
      row: within(row, map.rows.length),
      column: within(column, map.columns.length),
      ball: open.state.ball,
    };
    mark.setAttribute("x", String(LEFT + cell.column * Number(mark.getAttribute("width"))));
    mark.setAttribute("y", String(cell.row * Number(mark.getAttribute("height"))));
    if (aloud) A.at("cell").textContent = A.cellText(open.innings, map, cell.row, cell.column);
  }
  A.leaveHead = () => {
    cell = null;
    open = null;
  };
})();
