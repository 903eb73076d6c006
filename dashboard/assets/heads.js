// The heads of a scale as maps of one colour scale; a chosen one is enlarged below.
(function () {
  A.viewNames = { full: "weights", content_only: "content only" };
  const VIEW_WORDS = { full: "share of its attention", content_only: "share by query times key alone" };

  // A head is called by its number and the name it has earned; what it started as is only a footnote.
  const startOf = (head) =>
    (head.started_as ? `It started as ${A.words(head.started_as)}` : "It started free") +
    (head.earned ? "." : " and has earned no name.");

  // What one head's map shows at a ball: rows are queries, columns keys (null: the ball itself).
  function headMap(innings, scale, head, view, at) {
    const keys = innings.keys(scale, at);
    const long = scale === "long";
    const columns = [...keys, null];
    const packed = innings.attention[scale];
    const data = packed.views[view];
    const full = view === "full";
    const overOf = (ball) => innings.balls[ball].over;
    // On the long scale a row is the last ball of an over.
    const endsOver = (ball) => overOf(ball) > 0 && overOf(ball) !== innings.balls[ball + 1]?.over;
    const earlier = long ? [...Array(at).keys()].filter(endsOver) : keys;
    const rows = [...earlier, at];
    const valueAt = (query, key, line) => {
      const last = long ? overOf(query) : query;
      if (key === null) return full && (query === at || long) ? packed.own[line] : NaN;
      if (key > last || (key === last && long)) return NaN;
      if (key === last) return full ? packed.own[line] : NaN;
      const slot = long ? key : query - key - 1;
      if (slot >= packed.places) return NaN;
      return (data.cells[line * packed.places + slot] * data.most[line]) / 255;
    };
    const cells = new Float32Array(rows.length * columns.length);
    let [top, rowTop, mostKey] = [0, 0, null]; // largest weights on the past: of all rows, and of this ball's
    rows.forEach((query, row) => {
      const line = head * innings.count + query;
      const last = long ? overOf(query) : query;
      columns.forEach((key, column) => {
        const value = valueAt(query, key, line);
        cells[row * columns.length + column] = value;
        if (key === null || key >= last || !(value > 0)) return;
        top = Math.max(top, value);
        if (query === at && value > rowTop) [rowTop, mostKey] = [value, key];
      });
    });
    return { rows, columns, cells, top, rowTop, mostKey, long, innings };
  }
  const lastRow = (map) => map.rows.length - 1;
  const columnName = (map, key) =>
    key === null ? "itself" : map.long ? map.innings.overName(key) : map.innings.balls[key].label;
  const keyName = (map, key) =>
    map.long ? `over ${map.innings.overName(key)}` : map.innings.balls[key].label;
  /** The cell of a map in words. */
  function cellText(map, row, column) {
    const value = map.cells[row * map.columns.length + column];
    const key = map.columns[column];
    const name = key === null ? "this ball itself" : map.long ? keyName(map, key) : map.innings.describe(key);
    const weight = value >= 0 ? A.percent(value, true) : "not seen";
    return `asked about ${map.innings.balls[map.rows[row]].label}, looked at ${name}: ${weight}`;
  }
  function paint(canvas, map, rows, top) {
    const count = map.columns.length;
    A.paintCells(canvas, rows.length, count, (line, column) => {
      const value = map.cells[rows[line] * count + column];
      return value >= 0 ? A.heatColour(top ? value / top : 0) : null;
    });
  }
  const canvasOf = (kind) => A.el("canvas", { class: kind, "aria-hidden": "true" });

  // ---- Every head of a scale as a small map.
  /** @type {any[]} */
  let cards = [];
  let change = (_update) => {};
  /** @type {any} */
  let state = null;
  /** @type {any} */
  let innings = null;
  let top = 0;

  A.heads = {
    controls(ball, side, changed) {
      change = changed;
      const tab = ({ scale, question }) => {
        const onclick = () => change({ scale, head: null });
        return A.button([scale, A.small(null, "")], onclick, { "data-scale": scale, title: question });
      };
      const group = { class: "tabs small", role: "group", "aria-label": "Scale" };
      A.put("heads-controls", A.el("div", group, side.scales.map(tab)));
      buildLegend(ball);
    },
    // All cards again: another scale or innings.
    build(ball, side, changed) {
      change = changed;
      innings = side;
      cards = innings.scale(ball.scale).heads.map(makeCard);
      A.put(
        "heads-maps",
        cards.map((card) => card.button),
      );
      this.draw(ball);
    },
    draw(ball) {
      state = ball;
      const at = state.ball - 1;
      const gates = innings.gatesOf(at);
      A.all("#heads-controls [data-scale]").forEach((button) => {
        const { scale } = button.dataset;
        button.setAttribute("aria-pressed", String(scale === state.scale));
        button.lastChild.textContent = ` ${A.percent(gates[innings.document.fused.indexOf(scale)])}`;
      });
      for (const card of cards) card.map = headMap(innings, state.scale, card.number, state.view, at);
      top = Math.max(...cards.map(({ map }) => Math.max(map.top, map.rowTop)));
      cards.forEach(drawCard);
      drawLegend();
      this.light(state);
      A.at("enlarged").hidden = !cards[state.head];
      if (cards[state.head]) drawLarge();
    },
    // What was hidden from one head alone lights up in that head alone.
    light(ball) {
      const claim = ball.claim === null ? null : A.explanation()?.evidence[ball.claim];
      for (const { head, map, lights } of cards) {
        const own = !claim?.head || (claim.scale === ball.scale && claim.head === head.key);
        const lit = (key) =>
          map.long
            ? [...ball.lit].some((index) => innings.balls[index - 1]?.over === key)
            : ball.lit.has(key + 1);
        const width = 100 / map.columns.length;
        const mark = (key, column) =>
          own && key !== null && lit(key)
            ? A.el("i", { style: `left:${column * width}%;width:${width}%` })
            : null;
        lights.replaceChildren(...(ball.lit.size ? map.columns.map(mark).filter(Boolean) : []));
      }
    },
    // What was tested of each head, of the outcome that is chosen.
    explained(explanation) {
      for (const card of cards) {
        const number = (explanation?.evidence || []).findIndex(
          (claim) =>
            claim.scale === state.scale && claim.head === card.head.key && claim.removed_from === "head",
        );
        const claim = explanation?.evidence[number];
        // Of a head through which little of the effect goes, nothing is said but its picture.
        card.tested.replaceChildren(
          ...(claim?.verdict ? [A.explained.badge(number, A.percent(claim.share))] : []),
        );
        card.tested.title = claim?.verdict
          ? `${claim.verdict}: ${claim.claim}; ${A.percent(claim.share)} of the effect goes through it`
          : "";
      }
      if (cards[state.head]) describeLarge();
    },
  };

  function makeCard(head, number) {
    const [matrix, strip] = [canvasOf("matrix"), canvasOf("strip")];
    const [lights, across, down] = ["lights", "axis-across", "axis-down"].map((kind) =>
      A.el("span", { class: kind, "aria-hidden": "true" }),
    );
    const [foot, tested] = [A.small("foot"), A.span("tested")];
    const onclick = () => change({ head: state.head === number ? null : number });
    const earned = head.earned ? A.small("chip good", A.words(head.earned)) : null;
    const content = [
      A.el("span", { class: "head-title", title: startOf(head) }, A.b(null, `head ${number}`), earned),
      A.span("stage", down, matrix, strip, lights),
      across,
      A.span("foot-line", foot, tested),
      A.span("unseen", "; enlarge"),
    ];
    const button = A.button(content, onclick, { class: "head", "aria-pressed": "false" });
    const card = { head, number, matrix, strip, lights, foot, tested, across, down, button, map: null };
    for (const canvas of [matrix, strip]) {
      A.tip(canvas, (event) => {
        const [row, column] = A.cellUnder(event, canvas, card.map.rows.length, card.map.columns.length);
        return cellText(card.map, canvas === strip ? lastRow(card.map) : row, column);
      });
      // A finger that reads a cell does not enlarge the head.
      canvas.addEventListener("click", (event) => {
        if (/** @type {PointerEvent} */ (event).pointerType === "touch") event.stopPropagation();
      });
    }
    return card;
  }
  function drawCard({ map, matrix, strip, across, down, foot, button, number }) {
    const last = lastRow(map);
    matrix.hidden = last < 1;
    if (last > 0) paint(matrix, map, [...map.rows.keys()], state.each ? map.top : top);
    paint(strip, map, [last], state.each ? map.rowTop : top);
    const ends = (labels) => [labels[0], labels.length > 1 ? labels[labels.length - 1] : ""];
    const past = map.columns.slice(0, -1).map((key) => columnName(map, key));
    const rows = last > 0 ? map.rows.map((row) => innings.balls[row].label) : [];
    across.replaceChildren(...ends(past).map((label) => A.span(null, label)));
    down.replaceChildren(...ends(rows).map((label) => A.span(null, label)));
    foot.textContent = !past.length
      ? "no past to look at"
      : map.rowTop < 5e-4
        ? "nothing on the past"
        : `most on ${keyName(map, map.mostKey)}, ${A.percent(map.rowTop)}`;
    button.setAttribute("aria-pressed", String(state.head === number));
  }

  // Colours are by square roots: half of them are for the lowest quarter.
  /** @type {any} */
  let legend = null;
  function buildLegend(ball) {
    const toggle = (id, text, checked, update) => {
      const onchange = (event) => change(update(event.target.checked));
      const box = A.el("input", { type: "checkbox", id, checked, onchange });
      return A.el("label", { class: "switch" }, box, text);
    };
    const each = toggle("each", "scale each head", ball.each, (on) => ({ each: on }));
    const view = (on) => ({ view: on ? "content_only" : "full" });
    const content = toggle("content-only", "content only", false, view);
    content.title = `Shows the ${VIEW_WORDS.content_only}`;
    legend = { stops: A.span("stops"), unit: A.small(), how: A.p(), content: content.firstChild };
    A.put(
      "heads-legend",
      A.span("ramp-legend", A.el("i", { class: "ramp" }), legend.stops),
      legend.unit,
      each,
      content,
      A.el("details", { class: "how" }, A.el("summary", null, "how to read"), legend.how),
    );
  }
  function drawLegend() {
    const scale = innings.scale(state.scale);
    const reach = scale.unit === "overs" ? "earlier overs" : `the last ${scale.window} balls`;
    legend.how.textContent =
      `The ${state.scale} scale: ${scale.question} (${reach}). Rows are queries, the oldest above; ` +
      "columns are what they looked at; this ball's row stands out below. " +
      `Shown: ${VIEW_WORDS[state.view]}. Half the colours are for the lowest quarter.`;
    const stops = state.each ? [] : [0, 0.25, 1].map((share) => A.span(null, A.percent(share * top)));
    legend.stops.replaceChildren(...stops);
    legend.unit.textContent = state.each ? "of each head's own largest" : "of a head's attention";
    legend.content.checked = state.view !== "full";
  }

  function table(caption, names, rows) {
    const head = names.map((name) => A.el("th", { scope: "col" }, name));
    const row = ([first, ...cells]) =>
      A.el(
        "tr",
        null,
        A.el("th", { scope: "row" }, first),
        cells.map((cell) => A.el("td", null, cell)),
      );
    return A.el(
      "table",
      null,
      A.el("caption", null, caption),
      A.el("thead", null, A.el("tr", null, head)),
      A.el("tbody", null, rows.map(row)),
    );
  }

  // ---- The chosen head: its figures, the balls it looks at most, and its map with every label.
  const MAX_STRONGEST = 6;
  const LABEL_WIDTH = 13; // pixels
  let cell = { row: 0, column: 0, ball: 0 };
  function drawLarge() {
    const { map } = cards[state.head];
    const [rows, columns] = [map.rows.length, map.columns.length];
    if (cell.row >= rows || cell.column >= columns || cell.ball !== state.ball)
      cell = { row: rows - 1, column: Math.max(0, columns - 2), ball: state.ball };
    describeLarge();
    const canvas = canvasOf("matrix");
    paint(canvas, map, [...map.rows.keys()], Math.max(map.top, map.rowTop));
    const step = Math.ceil((LABEL_WIDTH * columns) / A.width("page", 300));
    const across = map.columns.map((key, column) =>
      A.span(null, column % step && key !== null ? "" : columnName(map, key)),
    );
    const down = map.rows.map((row) => A.span(null, innings.balls[row].label));
    const stage = A.span("stage", A.span("axis-down", down), canvas, A.el("i", { class: "marked-cell" }));
    const how = `Rows: balls asked about. Columns: ${map.long ? "overs" : "balls"} looked at.`;
    A.put("head-figure", stage, A.span("axis-across", across), A.small(null, how));
    canvas.addEventListener("click", (event) => markCell(...A.cellUnder(event, canvas, rows, columns), true));
    A.at("head-figure").onkeydown = (event) => {
      const step = A.arrow(event);
      if (step) markCell(cell.row + step[0], cell.column + step[1], true);
    };
    markCell(cell.row, cell.column, false);
  }
  function markCell(row, column, aloud) {
    const { map } = cards[state.head];
    const within = (value, count) => Math.max(0, Math.min(count - 1, value));
    const [height, width] = [100 / map.rows.length, 100 / map.columns.length];
    cell = {
      row: within(row, map.rows.length),
      column: within(column, map.columns.length),
      ball: state.ball,
    };
    /** @type {HTMLElement} */
    const mark = document.querySelector("#head-figure .marked-cell");
    const size = `width:${width}%;height:${height}%`;
    mark.style.cssText = `left:${cell.column * width}%;top:${cell.row * height}%;${size}`;
    if (aloud) A.at("cell").textContent = cellText(map, cell.row, cell.column);
  }
  function describeLarge() {
    const { map, head, number } = cards[state.head];
    const explanation = A.explanation();
    const bias = explanation?.across_balls[state.scale].attention_by_head[head.key]?.bias_share ?? null;
    const own = innings.own(state.scale, number, state.ball - 1);
    const figures = { "on the past": 1 - own, "on the ball itself": own, "built in": bias };
    const effectOf = (key) => {
      const past = explanation?.past_balls.find((ball) => ball.index === key + 1);
      const points = past?.effect_points ?? undefined;
      return points === undefined ? "" : A.signed(points, 2);
    };
    const strongest = map.columns
      .map((key, column) => ({ key, weight: map.cells[lastRow(map) * map.columns.length + column] }))
      .filter(({ key, weight }) => key !== null && weight > 0)
      .sort((a, b) => b.weight - a.weight)
      .slice(0, MAX_STRONGEST)
      .map(({ key, weight }) => {
        const share = A.percent(weight, true);
        if (map.long) return [keyName(map, key), share];
        const { label, bowler, batter, outcome } = innings.balls[key];
        return [label, `${bowler} → ${batter}`, A.outcomeNames[outcome], share, effectOf(key)];
      });
    const weight = state.view === "full" ? "weight" : A.viewNames[state.view];
    const subject = explanation?.prediction.subject;
    const effect = subject ? `adds, points of P(${A.outcomeNames[subject]})` : "";
    const names = map.long ? ["over", weight] : ["ball", "bowler → batter", "outcome", weight, effect];
    const figure = ([name, share]) =>
      share === null ? null : A.div(null, A.el("dt", null, name), A.el("dd", null, A.percent(share)));
    const close = { class: "close", "aria-label": "Close the enlarged head" };
    const name = `Head ${number} of ${state.scale}${head.earned ? `: ${A.words(head.earned)}` : ""}`;
    A.put(
      "head-one",
      A.div(
        "one-head",
        A.div(
          null,
          A.h3(null, name),
          head.question ? A.p("quiet", `Asks: ${head.question}?`) : null,
          A.p("quiet small", startOf(head)),
          A.el("dl", { class: "figures" }, Object.entries(figures).map(figure)),
        ),
        A.button("×", () => A.changeHead(null), close),
      ),
      strongest.length
        ? table("What it looks at most", names, strongest)
        : A.p("empty", "It has no past to look at yet."),
      A.el("p", { id: "cell", class: "readout", "aria-live": "polite" }, ""),
    );
  }
})();
