// What the map of one head holds at a ball, and how a cell is said.
(function () {
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

  /** Square roots are drawn, so that small weights show. */
  A.paintMap = (canvas, map, rows, most) => {
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
})();
