// The values of a step: numbers in a table, or a picture where there are many.
(function () {
  const NUMBERED = 12; // columns of numbers
  const TALLEST = 24; // rows of them
  const WIDEST = 128; // cells of a picture
  const DEEPEST = 0.54; // how much colour stands under a number, so that it can be read
  let labelled = {}; // the labels of each axis

  const depth = (value) => (Array.isArray(value) ? 1 + (value.length ? depth(value[0]) : 0) : 0);
  // Maps of rows and columns: one for each place of the axes before.
  function maps(one) {
    const labels = one.axes.map((name) => labelled[name]),
      dims = depth(one.values);
    if (dims === 0) return [{ name: "", rows: [[one.values]], across: null, down: null }];
    if (dims === 1) return [{ name: "", rows: [one.values], across: labels[0], down: null }];
    const found = [];
    (function walk(value, place, names) {
      if (dims - place === 2)
        found.push({ name: names.join(", "), rows: value, down: labels[place], across: labels[place + 1] });
      else
        value.forEach((part, number) =>
          walk(part, place + 1, [
            ...names,
            `${one.axes[place] || "part"} ${(labels[place] || [])[number] || number}`,
          ]),
        );
    })(one.values, 0, []);
    return found;
  }
  function rows(one) {
    return maps(one).flatMap((map) => [
      [map.name, ...(map.across || map.rows[0].map((_, c) => c))],
      ...map.rows.map((row, r) => [(map.down || [])[r] || r, ...row]),
    ]);
  }
  // A step as one drawing, to be taken away: its equation, its maps, and numbers where there is room.
  function figure(one) {
    const all = maps(one).slice(0, 8),
      most = largest(all),
      gap = 26,
      top = 30,
      left = 84;
    const cell = (map) =>
      map.rows[0].length <= NUMBERED ? [58, 20] : [Math.max(4, 700 / map.rows[0].length), 10];
    const wide = Math.max(320, ...all.map((map) => left + map.rows[0].length * cell(map)[0] + 10)),
      tall = top + all.reduce((sum, map) => sum + gap + map.rows.length * cell(map)[1] + 16, 0);
    const svg = A.svg(
      "svg",
      { viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall },
      A.svg("rect", { width: wide, height: tall, fill: A.colour("panel") }),
      A.svg(
        "text",
        { x: 10, y: 20, fill: A.colour("text"), "font-size": 14, "font-weight": 600 },
        one.equation || one.symbol,
      ),
    );
    let y = top;
    for (const map of all) {
      const [width, height] = cell(map),
        word = (text, x, at, anchor) =>
          A.svg(
            "text",
            { x, y: at, fill: A.colour("quiet"), "font-size": 10, "text-anchor": anchor || "start" },
            A.clip(String(text), 14),
          );
      y += gap;
      if (map.name) svg.append(word(map.name, 10, y - 8));
      if (width >= 40 && map.across)
        map.rows[0].forEach((_, c) =>
          svg.append(word(map.across[c] ?? "", left + (c + 0.5) * width, y - 6, "middle")),
        );
      map.rows.forEach((row, r) => {
        if (height >= 10 && map.rows.length > 1)
          svg.append(word((map.down || [])[r] ?? r, left - 6, y + r * height + height * 0.7, "end"));
        row.forEach((value, c) => {
          const number = numeric(value) || 0,
            share = Math.min(1, Math.abs(number) / most);
          svg.append(
            A.svg("rect", {
              x: left + c * width,
              y: y + r * height,
              width,
              height,
              fill: A.colour(number < 0 ? "down" : "up"),
              "fill-opacity": (DEEPEST * share).toFixed(3),
            }),
          );
          if (width >= 40)
            svg.append(
              A.svg(
                "text",
                {
                  x: left + (c + 1) * width - 5,
                  y: y + r * height + 14,
                  fill: A.colour("text"),
                  "font-size": 10,
                  "text-anchor": "end",
                },
                said(value),
              ),
            );
        });
      });
      y += map.rows.length * height + 16;
    }
    return svg;
  }
  const largest = (all) =>
    Math.max(1e-12, ...all.flatMap((map) => map.rows.flat()).map((value) => Math.abs(numeric(value) ?? 0)));
  const numeric = (value) =>
    typeof value === "number" ? value : typeof value === "boolean" ? Number(value) : null;
  function drawn(one, large) {
    const all = maps(one),
      most = largest(all);
    const shown = all.slice(0, large ? 8 : 2);
    return A.el(
      "div",
      { class: large ? "values" : "values small" },
      shown.map((map) =>
        A.div(
          null,
          map.name ? A.p("quiet", map.name) : null,
          map.rows[0].length <= (large ? NUMBERED : 6) && map.rows.length <= (large ? TALLEST : 8)
            ? table(map, most, one)
            : picture(map, most, one, large),
        ),
      ),
      all.length > shown.length
        ? A.p("quiet", `and ${all.length - shown.length} more; the files have all`)
        : null,
    );
  }
  const said = (value) =>
    (typeof value !== "number"
      ? String(value)
      : Number.isInteger(value)
        ? String(value)
        : Math.abs(value) >= 100
          ? value.toFixed(1)
          : value.toFixed(3)
    ).replace("-", "−");
  function colour(value, most) {
    const number = numeric(value);
    if (number === null || !number) return null;
    return (
      "background:color-mix(in srgb, var(--" +
      (number < 0 ? "down" : "up") +
      ") " +
      Math.round(100 * DEEPEST * Math.min(1, Math.abs(number) / most)) +
      "%, transparent)"
    );
  }
  function table(map, most, one) {
    const of = map.name ? `${one.symbol}, ${map.name}` : one.symbol;
    return A.el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": `Numbers of ${of}` },
      grid(map, most),
    );
  }
  function grid(map, most) {
    return A.el(
      "table",
      { class: "numbers" },
      map.across
        ? A.el(
            "thead",
            null,
            A.el(
              "tr",
              null,
              map.down || map.rows.length > 1 ? A.el("td", null) : null,
              map.across.slice(0, map.rows[0].length).map((name) => A.el("th", { scope: "col" }, name)),
            ),
          )
        : null,
      A.el(
        "tbody",
        null,
        map.rows.map((row, r) =>
          A.el(
            "tr",
            null,
            map.down || map.rows.length > 1 ? A.el("th", { scope: "row" }, (map.down || [])[r] ?? r) : null,
            row.map((value) => A.el("td", { class: "number", style: colour(value, most) }, said(value))),
          ),
        ),
      ),
    );
  }
  function picture(map, most, one, large) {
    const tall = map.rows.length,
      wide = map.rows[0].length,
      canvas = A.el("canvas", {
        class: "pixels",
        role: "img",
        "aria-label": `${one.symbol}, ${tall} by ${wide}${map.name ? `, ${map.name}` : ""}`,
      });
    canvas.width = wide;
    canvas.height = tall;
    const context = canvas.getContext("2d"),
      image = context.createImageData(wide, tall);
    const ends = ["panel", "up", "down"].map((name) =>
      [1, 3, 5].map((place) => parseInt(A.colour(name).slice(place, place + 2), 16)),
    );
    map.rows.forEach((row, r) =>
      row.forEach((value, c) => {
        const number = numeric(value) || 0,
          share = Math.min(1, Math.abs(number) / most),
          to = (r * wide + c) * 4,
          end = ends[number < 0 ? 2 : 1];
        for (let part = 0; part < 3; part++)
          image.data[to + part] = ends[0][part] + (end[part] - ends[0][part]) * share;
        image.data[to + 3] = 255;
      }),
    );
    context.putImageData(image, 0, 0);
    const cell = large ? Math.max(5, Math.min(18, 720 / Math.min(WIDEST, wide))) : 4;
    const read = A.p("quiet small", `${tall} by ${wide}, largest ${said(most)}`);
    canvas.style.cssText =
      "width:min(100%, " +
      Math.round(wide * cell) +
      "px);height:" +
      Math.round(Math.min(460, Math.max(8, tall * cell))) +
      "px";
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect(),
        r = Math.min(tall - 1, Math.floor(((event.clientY - box.top) / box.height) * tall)),
        c = Math.min(wide - 1, Math.floor(((event.clientX - box.left) / box.width) * wide));
      if (r >= 0 && c >= 0)
        read.textContent =
          ((map.down || [])[r] ?? `row ${r}`) +
          ", " +
          ((map.across || [])[c] ?? `column ${c}`) +
          ": " +
          said(map.rows[r][c]);
    });
    return [canvas, read, large ? A.tableBeside("The same as a table", () => grid(map, most)) : null];
  }

  A.stepValues = {
    /** Of which trace they are. */
    of(trace) {
      labelled = trace.labels;
    },
    rows,
    figure,
    drawn,
  };
})();
