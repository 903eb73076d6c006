// The gates: one bar cut in five.
(function () {
  A.gateBars = (id, sets, names) => {
    const width = A.width(id, 250),
      row = sets[0].name ? 50 : 30,
      height = sets.length * row;
    const svg = A.svg("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      class: "gates",
      role: "img",
      "aria-label": sets
        .map(
          (set) =>
            (set.name ? `${set.name}: ` : "") +
            names.map((name, at) => `${A.words(name)} ${A.percent(set.values[at])}`).join(", "),
        )
        .join("; "),
    });
    sets.forEach((set, number) => {
      let x = 0;
      const y = number * row + (set.name ? 16 : 0);
      if (set.name) svg.append(A.svg("text", { x: 0, y: y - 4, class: "axis" }, set.name));
      names.forEach((name, at) => {
        const wide = set.values[at] * width,
          text = `${name === "within_ball" ? "the ball itself" : name} ${A.percent(set.values[at])}`;
        svg.append(
          A.svg(
            "rect",
            { x, y, width: Math.max(0, wide - 2), height: 26, rx: 3, class: `gate g${at}` },
            A.svg("title", null, text),
          ),
        );
        if (wide > text.length * 7.4)
          svg.append(
            A.svg(
              "text",
              { x: x + wide / 2 - 1, y: y + 17, "text-anchor": "middle", class: `on g${at}` },
              text,
            ),
          );
        else if (wide > 30)
          svg.append(
            A.svg(
              "text",
              { x: x + wide / 2 - 1, y: y + 17, "text-anchor": "middle", class: `on g${at}` },
              A.percent(set.values[at]),
            ),
          );
        x += wide;
      });
    });
    A.at(id).replaceChildren(
      svg,
      A.p(
        "legend",
        names.map((name, at) =>
          A.span(
            null,
            A.el("i", { class: `swatch gate g${at}`, "aria-hidden": "true" }),
            name === "within_ball" ? "the ball itself" : name,
          ),
        ),
      ),
    );
    return svg;
  };
})();
