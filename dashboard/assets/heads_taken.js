// The small maps of the heads to take away: one drawing, or a table.
(function () {
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
                fill: A.shade(Math.sqrt(A.heads.top ? value / A.heads.top : 0)),
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
