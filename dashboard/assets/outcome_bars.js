// Outcomes as bars, each beside a mark: what is usual, or what was before.
(function () {
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
})();
