// Bars: expected outcomes, reasons, gates, and the layers inside the ball.
(function () {
  // ---- Outcomes as bars, each beside a mark: what is usual, or what was before.
  A.outcomeBars = {
    // `shown`: [{name, values, class}] of which the second is the tick (baseline, or before).
    draw(id, told) {
      const width = A.width(id, 250),
        row = told.row || 31,
        left = 62,
        right = 96,
        height = 11 * row + 8;
      const most = Math.max(...told.now, ...told.base, 0.1),
        long = width - left - right;
      const svg = A.svg("svg", {
        viewBox: `0 0 ${width} ${height}`,
        width,
        height,
        class: "bars",
        role: "group",
        "aria-label": told.label,
      });
      A.outcomes.forEach((outcome, at) => {
        const now = told.now[at],
          base = told.base[at],
          y = at * row + 4,
          middle = y + row / 2;
        const chosen = outcome === told.chosen,
          happened = outcome === told.actual;
        const line = A.svg("g", {
          class: `row${chosen ? " chosen" : ""}`,
          tabindex: told.choose ? 0 : null,
          role: told.choose ? "button" : null,
          "aria-pressed": told.choose ? String(chosen) : null,
          "aria-description": `${told.than} ${A.percent(base, true)}${happened ? "; this happened" : ""}`,
        });
        line.append(
          A.svg("rect", { x: 0, y: y + 1, width, height: row - 2, rx: 4, class: "back" }),
          A.svg("text", { x: 8, y: middle + 4, class: "name" }, `${A.outcomeNames[outcome]} `),
          A.svg("rect", {
            x: left,
            y: y + 6,
            width: Math.max(1, (now / most) * long),
            height: row - 12,
            rx: 2,
            class: "bar now",
          }),
          A.svg("line", {
            x1: left + (base / most) * long,
            x2: left + (base / most) * long,
            y1: y + 3,
            y2: y + row - 3,
            class: "tick",
          }),
          A.svg(
            "text",
            { x: width - 52, y: middle + 4, "text-anchor": "end", class: "value" },
            `${A.percent(now)} `,
          ),
          A.svg(
            "text",
            {
              x: width - 8,
              y: middle + 4,
              "text-anchor": "end",
              class: `diff ${now < base ? "down" : "up"}`,
            },
            A.signed(100 * (now - base)),
          ),
        );
        if (happened)
          line.append(
            A.svg("circle", { cx: left + (now / most) * long + 9, cy: middle, r: 4, class: "happened" }),
          );
        if (told.choose) {
          line.addEventListener("click", () => told.choose(outcome));
          line.addEventListener("keydown", (event) => {
            if (event.key === "Enter" || event.key === " ") {
              event.preventDefault();
              event.stopPropagation();
              told.choose(outcome);
              A.at(id).querySelectorAll("[tabindex]")[at].focus();
            }
          });
        }
        svg.append(line);
      });
      A.put(
        id,
        svg,
        A.p(
          "legend",
          A.span(null, A.el("i", { class: "swatch now", "aria-hidden": "true" }), told.nowName),
          A.span(null, A.el("i", { class: "stroke tick", "aria-hidden": "true" }), told.baseName),
          told.actual &&
            A.span(null, A.el("i", { class: "swatch happened", "aria-hidden": "true" }), "what happened"),
        ),
      );
      return svg;
    },
  };

  // ---- Signed bars, one for each group: what adds and what takes away.
  A.signedBars = (id, rows, label, compact = false) => {
    const width = A.width(id, 250),
      row = compact ? 20 : 25,
      height = rows.length * row + 8;
    const most = Math.max(0.5, ...rows.map((one) => Math.abs(one.points)));
    const left = Math.min(190, width * 0.5),
      long = width - left - 56,
      zero = left + long / 2;
    const svg = A.svg("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      class: "bars signed",
      role: "img",
      "aria-label": label,
    });
    svg.append(A.svg("line", { x1: zero, x2: zero, y1: 2, y2: height - 4, class: "rule" }));
    rows.forEach((one, at) => {
      const y = at * row + 4,
        size = Math.max(0.75, (Math.abs(one.points) / most) * (long / 2)),
        up = one.points >= 0;
      svg.append(
        A.svg(
          "text",
          { x: 0, y: y + row / 2 + 4, class: "name" },
          A.clip(one.name, Math.floor(left / 6)),
          A.svg("title", null, one.name),
        ),
        A.svg("rect", {
          x: up ? zero : zero - size,
          y: y + 5,
          width: size,
          height: row - 10,
          rx: 2,
          class: `bar ${up ? "up" : "down"}`,
        }),
        A.svg(
          "text",
          { x: width - 4, y: y + row / 2 + 4, "text-anchor": "end", class: `diff ${up ? "up" : "down"}` },
          A.signed(one.points),
        ),
      );
    });
    A.at(id).replaceChildren(svg);
    return svg;
  };

  // ---- What moves the chance of the chosen outcome, in percentage points that sum to the difference.
  /**
   * @param {any} explanation
   * @param {string} outcome
   */
  A.contributions = (explanation, outcome) => {
    const { contributions, prediction } = explanation;
    const fromUsual = contributions.every((one) => one.from_usual.length);
    const pointsOf = (one) => (fromUsual ? one.from_usual : one.points);
    const rows = contributions
      .map((one) => ({ name: one.group, points: pointsOf(one).find((p) => p.outcome === outcome).points }))
      .sort((one, two) => Math.abs(two.points) - Math.abs(one.points));
    const chance = prediction.outcomes.find((one) => one.outcome === outcome);
    const from = fromUsual
      ? `usual ${A.percent(chance.usual)}`
      : `${A.percent(chance.baseline)}, knowing nothing,`;
    const words = ` P(${A.outcomeNames[outcome]}) from ${from} to ${A.percent(chance.probability)}`;
    A.at("contributions-title").replaceChildren("Why", A.small(null, words));
    const said = rows.map((one) => `${one.name} ${A.signed(one.points)}`).join(", ");
    const svg = A.signedBars(
      "contributions-plot",
      rows,
      `Percentage points that each adds or takes away: ${said}`,
      innerWidth >= 768,
    );
    A.at("contributions-plot").append(
      A.p("legend", "Percentage points; they sum to the difference exactly (Shapley values)."),
    );
    A.figureMenu(
      "contributions",
      () => svg,
      () => [
        ["group", ...A.outcomes],
        ...contributions.map((one) => [one.group, ...pointsOf(one).map((p) => p.points)]),
      ],
    );
    return svg;
  };

  // ---- The gates: one bar cut in five.
  A.gateBars = (id, values, names) => {
    const width = A.width(id, 250),
      called = (name) => (name === "within_ball" ? "the ball itself" : name);
    const svg = A.svg("svg", {
      viewBox: `0 0 ${width} 30`,
      width,
      height: 30,
      class: "gates",
      role: "img",
      "aria-label": names.map((name, at) => `${A.words(name)} ${A.percent(values[at])}`).join(", "),
    });
    let x = 0;
    names.forEach((name, at) => {
      const wide = values[at] * width,
        share = A.percent(values[at]),
        text = `${called(name)} ${share}`,
        label = wide > text.length * 7.4 ? text : wide > 30 ? share : null;
      svg.append(
        A.svg(
          "rect",
          { x, y: 0, width: Math.max(0, wide - 2), height: 26, rx: 3, class: `gate g${at}` },
          A.svg("title", null, text),
        ),
      );
      if (label)
        svg.append(
          A.svg("text", { x: x + wide / 2 - 1, y: 17, "text-anchor": "middle", class: `on g${at}` }, label),
        );
      x += wide;
    });
    A.at(id).replaceChildren(
      svg,
      A.p(
        "legend",
        names.map((name, at) =>
          A.span(null, A.el("i", { class: `swatch gate g${at}`, "aria-hidden": "true" }), called(name)),
        ),
      ),
    );
    return svg;
  };

  // ---- Inside the ball: four layers, each conditioned on the one above, seventeen nodes.
  const LAYERS = {
    global: "the occasion",
    match_state: "the state of the game",
    actor: "who plays",
    dynamics: "how it has gone",
  };
  A.inside = (id, innings, at) => {
    const width = A.width(id, 250),
      layers = Object.entries(innings.told.graph),
      shares = innings.layersOf(at),
      nodes = innings.nodesOf(at);
    const wide = width >= 560,
      columns = wide ? 2 : 1,
      gap = 22,
      card = (width - 2 - gap * (columns - 1)) / columns,
      line = 22;
    const rows = wide
      ? [
          [0, 1],
          [2, 3],
        ]
      : [[0], [1], [2], [3]];
    const tall = (number) => 34 + layers[number][1].length * line + 8;
    const heights = rows.map((row) => Math.max(...row.map(tall)));
    const height = heights.reduce((sum, one) => sum + one + gap, -gap) + 4;
    const svg = A.svg("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      class: "inside",
      role: "img",
      "aria-label":
        "Four layers inside the ball: " +
        layers.map(([layer], number) => `${LAYERS[layer]} ${A.percent(shares[number])}`).join(", "),
    });
    svg.append(
      A.svg(
        "defs",
        null,
        A.svg(
          "marker",
          {
            id: "tip",
            viewBox: "0 0 8 8",
            refX: 7,
            refY: 4,
            markerWidth: 8,
            markerHeight: 8,
            orient: "auto",
          },
          A.svg("path", { d: "M0 0L8 4L0 8z", class: "tip" }),
        ),
      ),
    );
    let node = 0,
      y = 2;
    const boxes = [];
    rows.forEach((row, number) => {
      row.forEach((layer, place) => {
        boxes[layer] = { x: place * (card + gap), y, tall: heights[number] };
      });
      y += heights[number] + gap;
    });
    layers.forEach(([layer, names], number) => {
      const box = boxes[number],
        right = box.x + card;
      svg.append(
        A.svg("rect", { x: box.x + 0.5, y: box.y, width: card - 1, height: box.tall, rx: 8, class: "box" }),
        A.svg("rect", {
          x: box.x + 0.5,
          y: box.y,
          width: Math.max(2, (card - 1) * shares[number]),
          height: 4,
          rx: 2,
          class: "share",
        }),
        A.svg("text", { x: box.x + 10, y: box.y + 22, class: "title" }, LAYERS[layer] || A.words(layer)),
        A.svg(
          "text",
          { x: right - 10, y: box.y + 22, class: "title", "text-anchor": "end" },
          A.percent(shares[number]),
        ),
      );
      names.forEach((name, place) => {
        const weight = nodes[node + place],
          top = box.y + 34 + place * line,
          start = box.x + 150,
          long = right - start - 52;
        svg.append(
          A.svg(
            "text",
            { x: box.x + 10, y: top + 14, class: `name${innings.told.slots[name] ? " slot" : ""}` },
            A.words(name),
            A.svg(
              "title",
              null,
              innings.told.slots[name] ? `reads ${innings.told.slots[name]}` : "told before the ball",
            ),
          ),
          A.svg("rect", { x: start, y: top + 5, width: long, height: 9, rx: 2, class: "track" }),
          A.svg("rect", {
            x: start,
            y: top + 5,
            width: Math.max(1, long * weight),
            height: 9,
            rx: 2,
            class: `bar${innings.told.slots[name] ? " slot" : ""}`,
          }),
          A.svg(
            "text",
            { x: right - 10, y: top + 14, class: "value", "text-anchor": "end" },
            A.percent(weight),
          ),
        );
      });
      node += names.length;
      if (number) {
        const from = boxes[number - 1],
          across = from.y === box.y;
        const [x1, y1, x2, y2] = across
          ? [from.x + card, from.y + 18, box.x - 1, box.y + 18]
          : wide
            ? [from.x + 24, from.y + from.tall, box.x + card - 24, box.y - 2]
            : [box.x + 24, from.y + from.tall, box.x + 24, box.y - 2];
        svg.append(A.svg("line", { x1, y1, x2, y2, class: "flow", "marker-end": "url(#tip)" }));
      }
    });
    A.at(id).replaceChildren(
      svg,
      A.p(
        "legend",
        A.span(null, A.el("i", { class: "swatch slot", "aria-hidden": "true" }), "reads past balls"),
        A.span(null, A.el("i", { class: "swatch now", "aria-hidden": "true" }), "told before the ball"),
        A.span(null, "each layer is conditioned on the one before"),
      ),
    );
    return svg;
  };
})();
