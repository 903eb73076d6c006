// The cells of two recordings, unpacked, and how far apart they are.
(function () {
  A.sideNames = { a: "A", b: "B", d: "B less A" };
  // What is shared is in its place again; the page of a recording unpacks its maps in the same way.
  function named(data) {
    const maps = window.heatMaps(data, {});
    const blocks = (names, size) =>
      names.flatMap((name, at) =>
        at % size
          ? []
          : [
              size > 1 && at + 1 < names.length
                ? `${name} … ${names[Math.min(at + size, names.length) - 1]}`
                : name,
            ],
      );
    return data.records.map((record) => {
      const queries = data.names[record.queries],
        keys = data.names[record.keys];
      return {
        ...record,
        heat: maps,
        queries,
        keys,
        rows: blocks(queries, record.block[0]),
        columns: blocks(keys, record.block[1]),
      };
    });
  }
  async function cellsOf(record, at) {
    const tall = record.rows.length,
      wide = record.columns.length,
      map = (await record.heat.unpacked(record, tall, wide))[at];
    return Float32Array.from({ length: tall * wide }, (_, cell) =>
      record.heat.weightAt(map, Math.floor(cell / wide), cell % wide),
    );
  }
  // How far apart each row is: half the sum of differences, the total variation distance of two rows.
  function measured(a, b, { a: record }) {
    const wide = record.columns.length,
      d = a.map((one, at) => b[at] - one),
      rows = [];
    for (let row = 0; row < record.rows.length; row++) {
      let sum = 0,
        paid = [0, 0];
      for (let at = row * wide; at < (row + 1) * wide; at++) {
        sum += Math.abs(d[at]);
        paid[0] += a[at];
        paid[1] += b[at];
      }
      rows.push(paid[0] > 0 && paid[1] > 0 ? sum / 2 : NaN);
    }
    const kept = rows.filter((one) => !Number.isNaN(one));
    return {
      a,
      b,
      d,
      rows,
      mean: kept.length ? kept.reduce((sum, one) => sum + one, 0) / kept.length : 0,
      top: a.reduce((most, one, at) => Math.max(most, one, b[at]), 0),
      most: d.reduce((most, one) => Math.max(most, Math.abs(one)), 0),
    };
  }

  // Square roots, as everywhere; a difference goes to one colour where B has more, to the other where A has.
  function paint(canvas, map, name, wide, tall) {
    canvas.width = wide;
    canvas.height = tall;
    const context = canvas.getContext("2d"),
      image = context.createImageData(wide, tall),
      table = A.ramp();
    const ends = ["panel", "up", "down"].map((colour) =>
      [1, 3, 5].map((at) => parseInt(A.colour(colour).slice(at, at + 2), 16)),
    );
    map[name].forEach((value, cell) => {
      const share = Math.sqrt(Math.min(1, Math.abs(value) / ((name === "d" ? map.most : map.top) || 1)));
      for (let part = 0; part < 3; part++) {
        image.data[cell * 4 + part] =
          name === "d"
            ? ends[0][part] + (ends[value < 0 ? 2 : 1][part] - ends[0][part]) * share
            : table[Math.round(255 * share) * 3 + part];
      }
      image.data[cell * 4 + 3] = 255;
    });
    context.putImageData(image, 0, 0);
  }
  // The three maps as one drawing, to be taken away.
  function drawing(map, wide, tall) {
    const side = 260,
      svg = A.svg("svg", {
        viewBox: `0 0 ${3 * side + 40} ${Math.ceil((side * tall) / wide) + 24}`,
        width: 3 * side + 40,
        height: Math.ceil((side * tall) / wide) + 24,
      });
    ["a", "b", "d"].forEach((name, at) => {
      const canvas = document.createElement("canvas");
      paint(canvas, map, name, wide, tall);
      const whole = document.createElement("canvas"),
        scale = Math.max(1, Math.floor((2 * side) / wide));
      whole.width = wide * scale;
      whole.height = tall * scale;
      const context = whole.getContext("2d");
      context.imageSmoothingEnabled = false;
      context.drawImage(canvas, 0, 0, whole.width, whole.height);
      svg.append(
        A.svg("text", { x: at * (side + 20), y: 14, class: "axis" }, A.sideNames[name]),
        A.svg("image", {
          x: at * (side + 20),
          y: 22,
          width: side,
          height: (side * tall) / wide,
          href: whole.toDataURL(),
        }),
      );
    });
    svg.setAttribute("class", "aside");
    document.body.append(svg); // where its letters have their colours
    setTimeout(() => svg.remove(), 3000);
    return svg;
  }

  A.recordingCells = { named, cellsOf, measured, paint, drawing };
})();
