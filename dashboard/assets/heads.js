// Every head of a scale as a small map; one of them large, with its figures and a table.
(function () {
  const VIEWS = { full: "weights", content_only: "content only" };
  const TOLD = { full: "share of its attention", content_only: "share by query times key alone" };
  A.viewNames = VIEWS;
  let cards = [],
    open = null;

  // A head is called by its number and the name it has earned; what it started as is only a footnote.
  A.headName = (head, number) => "head " + number + (head.earned ? " (" + A.words(head.earned) + ")" : "");
  const started = (head) =>
    (head.started_as ? "It started as " + A.words(head.started_as) : "It started free") +
    (head.earned ? "." : " and has earned no name.");

  // What one head's map shows at a ball: rows asked about, columns looked at, and the cells.
  A.headMap = (innings, scale, head, view, at) => {
    const keys = innings.keys(scale, at),
      long = scale === "long";
    const columns = [...keys, null];
    let rows;
    if (long) {
      rows = [];
      for (let over = 1; over <= innings.balls[at].over; over++) {
        let last = -1;
        for (let place = 0; place <= at; place++) if (innings.balls[place].over === over) last = place;
        if (last >= 0) rows.push(last);
      }
      if (!rows.includes(at)) rows.push(at);
    } else rows = [...keys, at];
    const wide = columns.length,
      cells = new Float32Array(rows.length * wide).fill(NaN);
    const one = innings.attention[scale],
      full = view === "full",
      data = one.views[view],
      places = one.places;
    let most = 0,
      rowMost = 0;
    for (let r = 0; r < rows.length; r++) {
      const query = rows[r],
        line = head * innings.count + query,
        unit = data.most[line] / 255;
      const last = long ? innings.balls[query].over : query;
      for (let c = 0; c < wide; c++) {
        const key = columns[c];
        let value = NaN;
        if (key === null) {
          if (full && (query === at || long)) value = one.own[line];
        } else if (key < last) {
          const slot = long ? key : query - key - 1;
          if (slot < places) value = data.cells[line * places + slot] * unit;
        } else if (key === last && !long && full) value = one.own[line];
        cells[r * wide + c] = value;
        if (key === null || key >= last) continue;
        if (value > most) most = value;
        if (query === at && value > rowMost) rowMost = value;
      }
    }
    return { rows, columns, cells, most, rowMost, at, scale, long };
  };
  A.keyName = (innings, map, key, full) => {
    if (key === null) return "this ball itself";
    if (map.long) return "over " + (key + 1);
    return full ? innings.describe(key) : innings.balls[key].label;
  };

  function paint(canvas, map, rows, most) {
    const wide = map.columns.length,
      tall = rows.length;
    canvas.width = wide;
    canvas.height = tall;
    const context = canvas.getContext("2d"),
      image = context.createImageData(wide, tall),
      table = A.ramp(),
      data = image.data;
    rows.forEach((r, line) => {
      for (let c = 0; c < wide; c++) {
        const value = map.cells[r * wide + c],
          to = (line * wide + c) * 4;
        if (!(value >= 0)) continue; // nothing there: the panel shows through
        const step = Math.round(255 * Math.sqrt(Math.min(1, most ? value / most : 0))) * 3;
        data[to] = table[step];
        data[to + 1] = table[step + 1];
        data[to + 2] = table[step + 2];
        data[to + 3] = 255;
      }
    });
    context.putImageData(image, 0, 0);
  }

  A.heads = {
    controls(state, innings, change) {
      const gates = () => innings.gatesOf(state.ball - 1);
      const scales = A.el(
        "div",
        { class: "tabs", role: "group", "aria-label": "Scale" },
        innings.scales.map((one) =>
          A.el(
            "button",
            {
              type: "button",
              "data-scale": one.scale,
              title: one.question,
              onclick: () => change({ scale: one.scale, head: null }),
            },
            one.scale,
            A.el("small", null, ""),
          ),
        ),
      );
      const views = A.el(
        "div",
        { class: "tabs small", role: "group", "aria-label": "View" },
        Object.entries(VIEWS).map(([name, text]) =>
          A.el(
            "button",
            { type: "button", "data-view": name, title: TOLD[name], onclick: () => change({ view: name }) },
            text,
          ),
        ),
      );
      A.put("heads-controls", scales, views, A.el("p", { class: "lead", id: "heads-lead" }));
      this.gates = gates;
    },
    // All cards anew: another scale or innings.
    build(state, innings, change) {
      const scale = innings.scale(state.scale);
      cards = scale.heads.map((head, number) => {
        const map = A.el("canvas", { class: "matrix", "aria-hidden": "true" }),
          strip = A.el("canvas", { class: "strip", "aria-hidden": "true" });
        const lit = A.el("div", { class: "lights", "aria-hidden": "true" }),
          foot = A.el("small", { class: "foot" });
        const button = A.el(
          "button",
          {
            type: "button",
            class: "head",
            "aria-pressed": "false",
            onclick: () => change({ head: state.head === number ? null : number }),
          },
          A.el(
            "span",
            { class: "head-title", title: started(head) },
            A.el("b", null, "head " + number),
            head.earned ? A.el("small", { class: "chip good" }, A.words(head.earned)) : null,
          ),
          A.el("span", { class: "stage" }, map, strip, lit),
          foot,
        );
        button.addEventListener("pointermove", (event) => hover(event, number));
        return { head, number, map, strip, lit, foot, button };
      });
      this.state = state;
      this.innings = innings;
      A.at("heads-maps").replaceChildren(...cards.map((one) => one.button));
      A.at("heads-maps").dataset.many = String(cards.length);
      A.menu("heads", [
        ["PNG", () => A.savePNG(drawing(), A.stem() + "-heads-" + state.scale)],
        ["SVG", () => A.saveSVG(drawing(), A.stem() + "-heads-" + state.scale)],
        [
          "CSV",
          () => A.saveText(A.csv(tableRows()), A.stem() + "-heads-" + state.scale + ".csv", "text/csv"),
        ],
      ]);
      this.draw(state);
    },
    draw(state) {
      const innings = this.innings,
        at = state.ball - 1,
        scale = innings.scale(state.scale),
        gates = innings.gatesOf(at);
      document.querySelectorAll("#heads-controls [data-scale]").forEach((button) => {
        button.setAttribute("aria-pressed", String(button.dataset.scale === state.scale));
        button.querySelector("small").textContent =
          " " + A.percent(gates[innings.told.fused.indexOf(button.dataset.scale)]);
      });
      document
        .querySelectorAll("#heads-controls [data-view]")
        .forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.view === state.view)));
      const window = scale.unit === "overs" ? "earlier overs" : "the last " + scale.window + " balls";
      A.at("heads-lead").textContent =
        "The " +
        state.scale +
        " scale: " +
        scale.question +
        " (" +
        window +
        "). Rows are balls that were asked about, the oldest above; columns what they looked at; " +
        "the row of this ball stands out below. Shown: " +
        TOLD[state.view] +
        ".";
      for (const card of cards) {
        const map = (card.shown = A.headMap(innings, state.scale, card.number, state.view, at));
        const last = map.rows.length - 1;
        card.map.hidden = last < 1;
        if (!card.map.hidden) paint(card.map, map, [...map.rows.keys()], map.most);
        paint(card.strip, map, [last], map.rowMost);
        const own = state.view === "full" ? innings.own(state.scale, card.number, at) : null;
        card.foot.textContent =
          !map.columns.length || map.columns.length < 2
            ? "no past to look at"
            : (own !== null ? A.percent(1 - own) + " on the past · " : "") +
              "most on " +
              most(map) +
              ", " +
              A.percent(map.rowMost);
        card.button.setAttribute("aria-pressed", String(state.head === card.number));
        card.button.setAttribute(
          "aria-label",
          A.headName(card.head, card.number) + ". " + card.foot.textContent + ". Enlarge",
        );
      }
      this.light(state);
      this.one(state);
    },
    light(state) {
      // What was hidden from one head alone lights up in that head alone.
      const told = A.explanationNow(),
        claim = told && state.claim !== null ? told.evidence[state.claim] : null;
      for (const card of cards) {
        if (!state.lit.size && !card.lit.firstChild) continue;
        const wide = card.shown.columns.length,
          innings = this.innings;
        const columns = card.shown.columns
          .map((key, c) => [key, c])
          .filter(
            ([key]) =>
              key !== null &&
              (!claim || !claim.head || (claim.scale === state.scale && claim.head === card.head.key)) &&
              (card.shown.long
                ? [...state.lit].some(
                    (index) => innings.balls[index - 1] && innings.balls[index - 1].over === key,
                  )
                : state.lit.has(key + 1)),
          );
        card.lit.replaceChildren(
          ...columns.map(([, c]) =>
            A.el("i", { style: "left:" + (100 * c) / wide + "%;width:" + 100 / wide + "%" }),
          ),
        );
      }
    },
    one(state) {
      const box = A.at("head-one"),
        figure = A.at("head-figure");
      if (state.head === null || !cards[state.head]) {
        box.hidden = figure.hidden = true;
        open = null;
        return;
      }
      box.hidden = figure.hidden = false;
      open = { state, innings: this.innings, card: cards[state.head] };
      tell();
      clearTimeout(this.later);
      // The large figure follows when the ball rests: the small maps are there at once.
      this.later = setTimeout(() => enlarge(), 90);
    },
    explained() {
      if (open) tell();
    },
  };

  // The ball, or over, that a head looks at most.
  function most(map) {
    const at = (map.rows.length - 1) * map.columns.length;
    return A.keyName(
      A.heads.innings,
      map,
      map.columns.find((key, c) => key !== null && map.cells[at + c] === Math.fround(map.rowMost)),
    );
  }
  function hover(event, number) {
    const card = cards[number],
      map = card.shown,
      target = event.target;
    if (target !== card.map && target !== card.strip) return;
    const box = target.getBoundingClientRect(),
      wide = map.columns.length;
    const column = Math.max(
      0,
      Math.min(wide - 1, Math.floor(((event.clientX - box.left) / box.width) * wide)),
    );
    const row =
      target === card.strip
        ? map.rows.length - 1
        : Math.max(
            0,
            Math.min(
              map.rows.length - 1,
              Math.floor(((event.clientY - box.top) / box.height) * map.rows.length),
            ),
          );
    card.button.title = cellText(A.heads.innings, map, row, column, A.heads.state.view);
  }
  function cellText(innings, map, row, column, view) {
    const value = map.cells[row * map.columns.length + column];
    const told = !(value >= 0) ? "not seen" : A.percent(value, true);
    return (
      "asked about " +
      innings.balls[map.rows[row]].label +
      ", looked at " +
      A.keyName(innings, map, map.columns[column], true) +
      ": " +
      told
    );
  }

  // The figures of the enlarged head.
  function tell() {
    const { state, innings, card } = open,
      at = state.ball - 1,
      map = card.shown,
      head = card.head;
    const explanation = A.explanationNow && A.explanationNow();
    const inner = explanation && explanation.across_balls[state.scale].attention_by_head[head.key];
    const strongest = map.columns
      .map((key, c) => [key, map.cells[(map.rows.length - 1) * map.columns.length + c]])
      .filter(([key, value]) => key !== null && value > 0)
      .sort((one, two) => two[1] - one[1])
      .slice(0, 6);
    const effectOf = (key) => {
      const row = !map.long && explanation && explanation.history.find((one) => one.index === key + 1);
      return row && row.effect_nats !== null ? row.effect_nats.toExponential(1) : "";
    };
    const figures = [
      ["on the past", A.percent(1 - innings.own(state.scale, card.number, at))],
      ["on the ball itself", A.percent(innings.own(state.scale, card.number, at))],
      inner && inner.bias_share !== null ? ["built in", A.percent(inner.bias_share)] : null,
    ].filter(Boolean);
    const value = (v) => A.percent(v, true);
    A.put(
      "head-one",
      A.el(
        "div",
        { class: "one-head" },
        A.el(
          "div",
          null,
          A.el(
            "h3",
            null,
            "Head " + card.number + " of " + state.scale + (head.earned ? ": " + A.words(head.earned) : ""),
          ),
          head.question ? A.el("p", { class: "quiet" }, "Asks: " + head.question + "?") : null,
          A.el("p", { class: "quiet small" }, started(head)),
          A.el(
            "dl",
            { class: "figures" },
            figures.map(([name, text]) => A.el("div", null, A.el("dt", null, name), A.el("dd", null, text))),
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
                  state.view === "full" ? "weight" : VIEWS[state.view],
                  "hidden from the whole model, nats",
                ],
            strongest.map(([key, weight]) =>
              map.long
                ? ["over " + (key + 1), value(weight)]
                : [
                    innings.balls[key].label,
                    innings.balls[key].bowler + " → " + innings.balls[key].batter,
                    A.outcomeNames[innings.balls[key].outcome],
                    value(weight),
                    effectOf(key),
                  ],
            ),
            "What it looks at most",
          )
        : A.el("p", { class: "empty" }, "It has no past to look at yet."),
      A.el("p", { id: "cell", class: "readout", "aria-live": "polite" }, ""),
      tableBeside(innings, map, state),
    );
  }
  function tableBeside(innings, map, state) {
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
        "Columns: asked about; the last is this ball (" + innings.balls[map.rows[last]].label + ")",
      );
    });
    box.id = "head-table";
    box.open = Boolean(tableBeside.open);
    box.addEventListener("toggle", () => {
      tableBeside.open = box.open;
    });
    box.fill();
    return box;
  }

  // The large figure is Plotly's; it is loaded once and then only given numbers.
  const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  let base = null,
    cell = null;
  function enlarge() {
    if (!open) return;
    const dash = window.dash_clientside;
    if (!A.at("head-graph")) {
      dash.set_props("head-wanted", { data: "1" });
      let tries = 0;
      const wait = setInterval(() => {
        const plot = document.querySelector("#head-graph .js-plotly-plot");
        if (plot && plot.data && plot.layout) {
          clearInterval(wait);
          ready(plot);
          enlarge();
        } else if (++tries > 1200 || !open) clearInterval(wait);
      }, 50);
      return;
    }
    const plot = document.querySelector("#head-graph .js-plotly-plot");
    if (!plot || !base) return;
    const { state, innings, card } = open,
      map = card.shown,
      wide = map.columns.length;
    if (!cell || cell.row >= map.rows.length || cell.column >= wide || cell.ball !== state.ball)
      cell = { row: map.rows.length - 1, column: Math.max(0, wide - 2), ball: state.ball };
    const z = map.rows.map((_, r) =>
      Array.from(map.cells.subarray(r * wide, (r + 1) * wide), (v) => (v >= 0 ? Math.sqrt(v) : null)),
    );
    const text = map.rows.map((_, r) =>
      map.columns.map((_, c) => escaped(cellText(innings, map, r, c, state.view))),
    );
    const name = (key) => (key === null ? "itself" : map.long ? String(key + 1) : innings.balls[key].label);
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
            ticktext: ticks.map((one) => (100 * one).toFixed(one < 0.1 ? 1 : 0) + "%"),
            title: { text: VIEWS[state.view], side: "right" },
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
      plot = document.querySelector("#head-graph .js-plotly-plot");
    cell = {
      row: Math.max(0, Math.min(map.rows.length - 1, row)),
      column: Math.max(0, Math.min(map.columns.length - 1, column)),
      ball: open.state.ball,
    };
    if (aloud) A.at("cell").textContent = cellText(open.innings, map, cell.row, cell.column, open.state.view);
    if (window.Plotly && plot) window.Plotly.relayout(plot, { "shapes[1]": marker() });
  }
  A.leaveHead = () => {
    base = null;
    cell = null;
    open = null;
  };

  // The small maps as one drawing, and as a table, to take away.
  function drawing() {
    const side = 170,
      gap = 16,
      many = Math.min(cards.length, 3),
      lines = Math.ceil(cards.length / many);
    const svg = A.svg("svg", {
      viewBox: "0 0 " + (many * (side + gap) + gap) + " " + (lines * (side + 76) + gap),
    });
    svg.setAttribute("class", "aside");
    cards.forEach((card, number) => {
      const x = gap + (number % many) * (side + gap),
        y = gap + Math.floor(number / many) * (side + 76),
        map = card.shown;
      svg.append(
        A.svg(
          "text",
          { x, y: y + 10, fill: A.colour("text"), "font-size": 12, "font-weight": 700 },
          A.headName(card.head, card.number),
        ),
      );
      const wide = side / map.columns.length,
        rows = map.rows.length,
        tall = rows > 1 ? side / rows : 24;
      map.rows.forEach((_, r) =>
        map.columns.forEach((_, c) => {
          const value = map.cells[r * map.columns.length + c];
          if (value >= 0)
            svg.append(
              A.svg("rect", {
                x: x + c * wide,
                y: y + 32 + r * tall,
                width: wide,
                height: tall,
                fill: A.shade(Math.sqrt(map.most ? value / map.most : 0)),
              }),
            );
        }),
      );
      svg.append(
        A.svg(
          "text",
          { x, y: y + side + 48, fill: A.colour("quiet"), "font-size": 10 },
          card.foot.textContent,
        ),
      );
    });
    document.body.append(svg);
    setTimeout(() => svg.remove(), 3000);
    return svg;
  }
  function tableRows() {
    const innings = A.heads.innings,
      rows = [["head", "earned", "asked_about", "looked_at", VIEWS[A.heads.state.view]]];
    for (const card of cards)
      card.shown.rows.forEach((row, r) =>
        card.shown.columns.forEach((key, c) => {
          const value = card.shown.cells[r * card.shown.columns.length + c];
          if (value >= 0)
            rows.push([
              card.number,
              card.head.earned,
              innings.balls[row].label,
              A.keyName(innings, card.shown, key),
              value.toFixed(6),
            ]);
        }),
      );
    return rows;
  }
})();
