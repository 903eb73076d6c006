// The gates: one bar cut in five.
(function () {
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
})();
