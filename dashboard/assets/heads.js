// The heads of a scale as small maps, and one head large.
(function () {
  // ---- What the map of one head holds at a ball, and how a cell is said.
  A.viewNames = { full: "weights", content_only: "content only" };
  A.viewTold = { full: "share of its attention", content_only: "share by query times key alone" };

  // A head is called by its number and the name it has earned; what it started as is only a footnote.
  A.headName = (head, number) => `head ${number}${head.earned ? ` (${A.words(head.earned)})` : ""}`;
  A.headStarted = (head) =>
    (head.started_as ? `It started as ${A.words(head.started_as)}` : "It started free") +
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
    if (map.long) return `over ${innings.overName(key)}`;
    return full ? innings.describe(key) : innings.balls[key].label;
  };

  /** Draws some rows of a map; `most` is the weight of the darkest colour. */
  A.paintMap = (canvas, map, rows, most) => {
    const columns = map.columns.length;
    A.paintCells(canvas, rows.length, columns, (line, column) => {
      const value = map.cells[rows[line] * columns + column];
      return value >= 0 ? A.heatColour(most ? value / most : 0) : null;
    });
  };
  A.cellText = (innings, map, row, column) => {
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
  };

  // ---- Every head of a scale as a small map, all of one colour scale; a legend and axes tell how to read.
  /** @type {any[]} */
  let cards = [];
  let change = (_what) => {};

  A.heads = {
    /** @type {any} */
    state: null,
    /** @type {any} */
    innings: null,
    top: 0,
    controls(state, innings, changed) {
      change = changed;
      const tab = (one) => {
        const onclick = () => change({ scale: one.scale, head: null });
        const about = { type: "button", "data-scale": one.scale, title: one.question, onclick };
        return A.el("button", about, one.scale, A.small(null, ""));
      };
      const group = { class: "tabs small", role: "group", "aria-label": "Scale" };
      A.put("heads-controls", A.el("div", group, innings.scales.map(tab)));
      buildLegend(state);
    },
    // All cards anew: another scale or innings.
    build(state, innings, changed) {
      change = changed;
      Object.assign(this, { state, innings });
      cards = innings.scale(state.scale).heads.map(made);
      const maps = A.at("heads-maps");
      maps.replaceChildren(...cards.map((one) => one.button));
      maps.dataset.many = String(cards.length);
      A.headsMenu(() => cards);
      this.draw(state);
    },
    draw(state) {
      const { innings } = this;
      const at = state.ball - 1;
      A.all("#heads-controls [data-scale]").forEach((button) => {
        button.setAttribute("aria-pressed", String(button.dataset.scale === state.scale));
      });
      const gates = innings.gatesOf(at);
      document.querySelectorAll("#heads-controls [data-scale] small").forEach((node) => {
        const scale = node.parentElement.dataset.scale;
        node.textContent = ` ${A.percent(gates[innings.told.fused.indexOf(scale)])}`;
      });
      for (const card of cards) card.shown = A.headMap(innings, state.scale, card.number, state.view, at);
      this.top = Math.max(...cards.map((one) => Math.max(one.shown.most, one.shown.rowMost)));
      for (const card of cards) paint(card, state, innings);
      tellLegend(state, innings);
      this.light(state);
      A.showHead(state, innings, cards[state.head]);
    },
    // What was hidden from one head alone lights up in that head alone.
    light(state) {
      const told = A.explanationNow();
      const claim = told && state.claim !== null ? told.evidence[state.claim] : null;
      for (const card of cards) {
        if (!state.lit.size && !card.lit.firstChild) continue;
        const own = !claim?.head || (claim.scale === state.scale && claim.head === card.head.key);
        const wide = 100 / card.shown.columns.length;
        const mark = (c) => A.el("i", { style: `left:${c * wide}%;width:${wide}%` });
        const columns = card.shown.columns.map((key, c) =>
          own && isLit(state, card.shown, key) ? mark(c) : null,
        );
        card.lit.replaceChildren(...columns.filter(Boolean));
      }
    },
    // What was tested of each head, of the outcome that is chosen.
    explained(explanation) {
      for (const card of cards) {
        const claim = explanation?.evidence.find(
          (one) =>
            one.scale === this.state.scale && one.head === card.head.key && one.removed_from === "head",
        );
        // Of a head through which little of the effect goes, nothing is said but its picture.
        card.tested.replaceChildren(...(claim?.verdict ? [shareOf(claim)] : []));
      }
      A.tellHead();
    },
  };

  function shareOf(claim) {
    const node = A.badge(claim.verdict);
    node.title = `${claim.verdict}: ${claim.claim}; ${A.percent(claim.share)} of the effect goes through it`;
    node.lastChild.textContent = A.percent(claim.share);
    return node;
  }
  function made(head, number) {
    const map = A.el("canvas", { class: "matrix", "aria-hidden": "true" });
    const strip = A.el("canvas", { class: "strip", "aria-hidden": "true" });
    const lit = A.el("span", { class: "lights", "aria-hidden": "true" });
    const across = A.el("span", { class: "axis-across", "aria-hidden": "true" });
    const down = A.el("span", { class: "axis-down", "aria-hidden": "true" });
    const foot = A.small("foot");
    const tested = A.span("tested");
    const onclick = () => change({ head: A.heads.state.head === number ? null : number });
    const earned = head.earned ? A.small("chip good", A.words(head.earned)) : null;
    const button = A.el(
      "button",
      { type: "button", class: "head", "aria-pressed": "false", onclick },
      A.el("span", { class: "head-title", title: A.headStarted(head) }, A.b(null, `head ${number}`), earned),
      A.span("stage", down, map, strip, lit),
      across,
      A.span("foot-line", foot, tested),
      A.span("unseen", "; enlarge"),
    );
    const card = { head, number, map, strip, lit, foot, tested, across, down, button, shown: null };
    for (const canvas of [map, strip]) {
      A.tip(canvas, (event) => underPointer(card, canvas, event));
      // A finger that reads a cell does not enlarge the head.
      canvas.addEventListener("click", (event) => {
        if (/** @type {PointerEvent} */ (event).pointerType === "touch") event.stopPropagation();
      });
    }
    return card;
  }
  function paint(card, state, innings) {
    const map = card.shown;
    const last = map.rows.length - 1;
    const top = (own) => (state.each ? own : A.heads.top);
    card.map.hidden = last < 1;
    if (last > 0) A.paintMap(card.map, map, [...map.rows.keys()], top(map.most));
    A.paintMap(card.strip, map, [last], top(map.rowMost));
    const named = (key) => (map.long ? innings.overName(key) : innings.balls[key].label);
    const past = map.columns.slice(0, -1);
    const ends = past.length ? [named(past[0]), named(past[past.length - 1])] : ["", ""];
    card.across.replaceChildren(A.span(null, ends[0]), A.span(null, past.length > 1 ? ends[1] : ""));
    const rows = last > 0 ? [map.rows[0], map.rows[last]].map((row) => innings.balls[row].label) : ["", ""];
    card.down.replaceChildren(...rows.map((label) => A.span(null, label)));
    const own = state.view === "full" ? innings.own(state.scale, card.number, state.ball - 1) : null;
    card.foot.textContent = !past.length
      ? "no past to look at"
      : map.rowMost < 5e-4
        ? "nothing on the past"
        : `most on ${mostOf(map)}, ${A.percent(map.rowMost)}`;
    card.foot.title = own === null ? "" : `${A.percent(1 - own)} of its attention is on the past`;
    card.button.setAttribute("aria-pressed", String(state.head === card.number));
  }
  // The ball, or over, that a head looks at most.
  function mostOf(map) {
    const at = (map.rows.length - 1) * map.columns.length;
    const key = map.columns.find((one, c) => one !== null && map.cells[at + c] === Math.fround(map.rowMost));
    return A.keyName(A.heads.innings, map, key);
  }
  function isLit(state, map, key) {
    if (key === null) return false;
    if (!map.long) return state.lit.has(key + 1);
    return [...state.lit].some((index) => A.heads.innings.balls[index - 1]?.over === key);
  }
  function underPointer(card, canvas, event) {
    const map = card.shown;
    const [row, column] = A.cellUnder(event, canvas, map.rows.length, map.columns.length);
    return A.cellText(A.heads.innings, map, canvas === card.strip ? map.rows.length - 1 : row, column);
  }

  // Square roots are drawn: half the colours are for the lowest quarter.
  /** @type {any} */
  let legend = null;
  function buildLegend(state) {
    const toggle = (id, text, checked, change) => {
      const onchange = (event) => change(event.target.checked);
      return A.el(
        "label",
        { class: "switch" },
        A.el("input", { type: "checkbox", id, checked, onchange }),
        text,
      );
    };
    const each = toggle("each", "scale each head", state.each, (on) => change({ each: on }));
    const content = toggle("content-only", "content only", false, (on) =>
      change({ view: on ? "content_only" : "full" }),
    );
    content.title = `Shows the ${A.viewTold.content_only}`;
    legend = { stops: A.span("stops"), unit: A.small(), how: A.el("p", { id: "heads-lead" }), content };
    A.put(
      "heads-legend",
      A.span("ramp-legend", A.el("i", { class: "ramp" }), legend.stops),
      legend.unit,
      each,
      content,
      A.el("details", { class: "how" }, A.el("summary", null, "how to read"), legend.how),
    );
  }
  function tellLegend(state, innings) {
    const scale = innings.scale(state.scale);
    const reach = scale.unit === "overs" ? "earlier overs" : `the last ${scale.window} balls`;
    legend.how.textContent =
      `The ${state.scale} scale: ${scale.question} (${reach}). Rows are balls that were asked about, ` +
      "the oldest above; columns what they looked at; this ball's row stands out below. " +
      `Shown: ${A.viewTold[state.view]}. Half the colours are for the lowest quarter.`;
    const stops = [0, 0.25, 1].map((share) => (state.each ? "" : A.percent(share * A.heads.top)));
    legend.stops.replaceChildren(...stops.map((text) => A.span(null, text)));
    legend.unit.textContent = state.each ? "of each head's own largest" : "of a head's attention";
    legend.content.firstChild.checked = state.view !== "full";
  }

  // ---- The small maps of the heads to take away: one drawing, or a table.
  /** @param {() => any[]} cards the heads as they are shown */
  A.headsMenu = (cards) => {
    const name = () => `${A.stem()}-heads-${A.heads.state.scale}`;
    A.menu("heads", [
      ["PNG", () => A.savePNG(drawing(cards()), name())],
      ["SVG", () => A.saveSVG(drawing(cards()), name())],
      ["CSV", () => A.saveText(A.csv(tableRows(cards())), `${name()}.csv`, "text/csv")],
    ]);
  };

  // The small maps as one drawing, and as a table, to take away.
  function drawing(cards) {
    const side = 170,
      gap = 16,
      many = Math.min(cards.length, 3),
      lines = Math.ceil(cards.length / many);
    const svg = A.svg("svg", { viewBox: `0 0 ${many * (side + gap) + gap} ${lines * (side + 76) + gap}` });
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
                fill: A.shade(A.heads.top ? value / A.heads.top : 0),
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
  function tableRows(cards) {
    const innings = A.heads.innings,
      rows = [["head", "earned", "asked_about", "looked_at", A.viewNames[A.heads.state.view]]];
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
