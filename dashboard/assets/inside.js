// Inside the ball: four layers, each conditioned on the one above, seventeen nodes.
(function () {
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
