// Signed bars, one for each group: what adds and what takes away.
(function () {
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
})();
