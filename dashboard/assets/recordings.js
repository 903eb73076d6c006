// Two recordings side by side, and what differs.
(function () {
  // ---- The cells of two recordings, unpacked, and how far apart they are.
  A.sideNames = { a: "A", b: "B", d: "B less A" };
  // What is shared is in its place again; the page of a recording unpacks its maps in the same way.
  function named(data) {
    const maps = heatMaps(data, {});
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

  // A difference goes to one colour where B has more, to the other where A has.
  function paint(canvas, map, name, wide, tall) {
    const [panel, up, down] = ["panel", "up", "down"].map((colour) => rgbOf(A.colour(colour)));
    const towards = (end, share) => panel.map((part, which) => part + (end[which] - part) * share);
    A.paintCells(canvas, tall, wide, (row, column) => {
      const value = map[name][row * wide + column];
      if (name !== "d") return A.heatColour(value / (map.top || 1));
      return towards(value < 0 ? down : up, Math.sqrt(Math.min(1, Math.abs(value) / (map.most || 1))));
    });
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

  // ---- Two recordings side by side, and what differs: heat maps of one site and head, cell by cell.
  const LISTED = 6;
  let _told, sides, shared, chosen;

  A.pages.recordings = () => A.put("brought-recordings", A.broughtCards(A.broughtRecordings()));

  A.pages["compare-recordings"] = async (data) => {
    _told = data;
    const known = [...data.recordings, ...A.broughtRecordings()];
    if (known.length < 1) {
      A.at("page").classList.add("failed");
      A.put(
        "recording-sides",
        A.p("empty", "No recording is open. ", A.el("a", { href: "/recordings" }, "Open two"), "."),
      );
      return;
    }
    A.stem = () => "attnlens-recordings";
    A.redraw = () => {
      if (shared?.length) draw();
    };
    const back = () => {
      if (location.pathname === "/recordings/compare") show(known);
    };
    window.addEventListener("popstate", back);
    A.leave.push(() => window.removeEventListener("popstate", back));
    await show(known);
    document.body.dataset.ready = "yes";
  };
  async function show(known) {
    const asked = new URLSearchParams(location.search);
    sides = ["a", "b"].map((side, number) => ({
      side,
      key: asked.get(side) || (known[number] || known[0]).key,
    }));
    chosen = {
      record: asked.get("site"),
      call: Number(asked.get("call")) || 0,
      map: Math.max(0, Math.trunc(Number(asked.get("map")))) || 0,
      row: 0,
      column: 0,
    };
    A.put(
      "recording-sides",
      A.div(
        "form",
        sides.map((one) =>
          A.el(
            "label",
            null,
            A.sideNames[one.side],
            A.el(
              "select",
              {
                id: `recording-${one.side}`,
                onchange: (event) => {
                  one.key = event.target.value;
                  load().then(remember);
                },
              },
              (known.some((other) => other.key === one.key)
                ? known
                : [...known, { key: one.key, title: one.key }]
              ).map((other) =>
                A.el("option", { value: other.key, selected: other.key === one.key }, other.title),
              ),
            ),
          ),
        ),
      ),
      A.el("p", { id: "recording-said", class: "lead", role: "status" }),
    );
    await load();
  }
  function remember() {
    const record = shared.length ? shared[chosen.at] : null;
    const next =
      "/recordings/compare?" +
      new URLSearchParams({
        a: sides[0].key,
        b: sides[1].key,
        ...(record ? { site: record.a.site, call: record.a.call, map: chosen.map } : {}),
      });
    if (next !== location.pathname + location.search) history.pushState(history.state, "", next);
  }
  const said = (text) => A.put("recording-said", text);
  async function load() {
    said("Reading both …");
    shared = [];
    try {
      const both = await Promise.all(sides.map((one) => A.get(`/maps/${encodeURIComponent(one.key)}.json`)));
      const [a, b] = both.map(A.recordingCells.named);
      const beside = a.map((one) => ({
        a: one,
        b: b.find((other) => other.site === one.site && other.call === one.call),
      }));
      const reasons = beside
        .filter((one) => !one.b || !alike(one))
        .map(
          (one) =>
            (one.a.site || "(the model itself)") +
            (one.b ? `: ${sizes(one.a)} and ${sizes(one.b)}` : " is only in A"),
        )
        .concat(
          b
            .filter((one) => !a.some((other) => other.site === one.site && other.call === one.call))
            .map((one) => `${one.site || "(the model itself)"} is only in B`),
        );
      shared = beside.filter((one) => one.b && alike(one));
      for (const one of shared) {
        one.maps = await Promise.all(
          one.a.maps
            .slice(0, one.b.maps.length)
            .map(async (_, at) =>
              A.recordingCells.measured(
                await A.recordingCells.cellsOf(one.a, at),
                await A.recordingCells.cellsOf(one.b, at),
                one,
              ),
            ),
        );
      }
      chosen.at = shared.findIndex((one) => one.a.site === chosen.record && one.a.call === chosen.call);
      if (chosen.at < 0 && shared.length) {
        // nothing asked for: what differs most
        const first = ranked()[0];
        Object.assign(chosen, { at: first.at, map: first.number });
      }
      said(
        shared.length
          ? "What both recorded with the same sizes is compared, position by position."
          : "Nothing can be compared: no site was recorded with the same sizes in both.",
      );
      A.put(
        "recording-apart",
        reasons.length
          ? A.el(
              "details",
              null,
              A.el("summary", null, `${A.count(reasons.length, "site")} left out`),
              A.ul(
                null,
                reasons.slice(0, 50).map((one) => A.li(null, one)),
              ),
            )
          : null,
      );
    } catch (error) {
      A.put("recording-said", A.el("span", { class: "trouble", role: "alert" }, error.message));
    }
    if (shared.length) draw();
    else
      for (const name of ["overview", "both"]) {
        A.put(
          name === "both" ? "maps-both" : "overview-list",
          A.p(
            "empty",
            "Nothing to show: choose two recordings of the same model, with inputs of one length.",
          ),
        );
        A.at(`${name}-tools`).replaceChildren();
      }
  }
  const sizes = (record) => `${record.queries.length} by ${record.keys.length}`;
  const alike = ({ a, b }) =>
    a.rows.length === b.rows.length &&
    a.columns.length === b.columns.length &&
    a.queries.length === b.queries.length &&
    a.keys.length === b.keys.length;
  const nameOf = (record, calls) =>
    (record.site || "(the model itself)") + (calls > 1 ? `, call ${record.call}` : "");
  const leadOf = (record, at) => {
    const names = record.axes.slice(0, -2);
    return names.map((axis, place) => `${axis.name} ${record.maps[at].lead[place]}`).join(", ") || "the map";
  };

  const ranked = () =>
    shared
      .flatMap((one, at) => one.maps.map((map, number) => ({ one, at, number, map })))
      .sort((x, y) => y.map.mean - x.map.mean);

  function draw() {
    const all = ranked();
    const most = Math.max(...all.map((one) => one.map.mean), 1e-9),
      record = shared[chosen.at],
      calls = record.a.calls;
    chosen.map = Math.min(chosen.map, record.maps.length - 1);
    const row = (one) =>
      A.li(
        null,
        A.el(
          "button",
          {
            type: "button",
            class: "apart",
            "aria-pressed": String(one.at === chosen.at && one.number === chosen.map),
            onclick: () => {
              Object.assign(chosen, { at: one.at, map: one.number, row: 0, column: 0 });
              draw();
              remember();
            },
          },
          A.span(
            null,
            A.b(null, nameOf(one.one.a, one.one.a.calls)),
            " ",
            A.span("quiet", leadOf(one.one.a, one.number)),
          ),
          A.el(
            "span",
            { class: "track", "aria-hidden": "true" },
            A.el("i", { style: `width:${(100 * one.map.mean) / most}%` }),
          ),
          A.span("value", one.map.mean.toFixed(3)),
        ),
      );
    A.put(
      "overview-list",
      A.el("ol", { class: "aparts" }, all.slice(0, 40).map(row)),
      all.length > 40 ? A.p("quiet", `and ${all.length - 40} that differ less; the CSV has all`) : null,
    );
    A.menu("overview", [
      [
        "CSV",
        () =>
          A.saveText(
            A.csv([
              ["site", "call", "map", "mean_difference"],
              ...all.map((one) => [
                one.one.a.site,
                one.one.a.call,
                leadOf(one.one.a, one.number),
                one.map.mean.toFixed(6),
              ]),
            ]),
            `${A.stem()}-overview.csv`,
            "text/csv",
          ),
      ],
    ]);
    maps(record, record.maps[chosen.map], calls);
  }
  function maps(record, map, calls) {
    const wide = record.a.columns.length,
      tall = record.a.rows.length,
      notes = [];
    const apart = ["rows", "columns"].some((name) =>
      record.a[name].some((label, at) => label !== record.b[name][at]),
    );
    if (apart) notes.push("The two have other labels: positions are compared, named as in A.");
    if (record.a.block[0] * record.a.block[1] > 1)
      notes.push(
        "Each cell is the largest weight of " +
          record.a.block[0] +
          " by " +
          record.a.block[1] +
          ": differences are of those.",
      );
    const { part, least } = record.a.heat.within;
    if (part > 1e-4 || record.b.heat.within.part > 1e-4)
      notes.push(
        "Weights of recordings this large are told to within " +
          Number(least.toPrecision(1)) +
          " and " +
          (100 * part).toFixed(1) +
          " % of themselves; smaller differences say nothing.",
      );
    for (const side of ["a", "b"])
      for (const note of record[side].notes) notes.push(`${A.sideNames[side]}: ${note}`);
    const pictures = ["a", "b", "d"].map((name) => {
      const canvas = A.el("canvas", {
        class: "pixels",
        tabindex: name === "d" ? 0 : null,
        role: "img",
        "aria-label":
          A.sideNames[name] +
          ": " +
          nameOf(record.a, calls) +
          ", " +
          leadOf(record.a, chosen.map) +
          (name === "d" ? ". Arrow keys move the cell that is read out" : ""),
        "data-map": name,
      });
      A.recordingCells.paint(canvas, map, name, wide, tall);
      canvas.addEventListener("pointermove", (event) => at(...A.cellUnder(event, canvas, tall, wide)));
      canvas.addEventListener("keydown", (event) => {
        const step = A.arrow(event);
        if (step) at(chosen.row + step[0], chosen.column + step[1]);
      });
      return A.el(
        "figure",
        null,
        A.el(
          "figcaption",
          null,
          A.b(null, A.sideNames[name]),
          A.span(
            "quiet",
            name === "d"
              ? `at most ${map.most.toFixed(4)}`
              : `both on one scale, darkest ${map.top.toFixed(4)}`,
          ),
        ),
        A.el(
          "div",
          { class: "stage", style: `aspect-ratio:${wide}/${tall}` },
          canvas,
          A.el("i", { class: "here", "aria-hidden": "true" }),
        ),
      );
    });
    const table = A.tableBeside("As a table: every row, and where it changed most", () =>
      A.table(
        ["row", "differs by", "changed most"],
        record.a.rows.map((label, r) => [
          label || String(r),
          Number.isNaN(map.rows[r]) ? "pays nothing" : map.rows[r].toFixed(3),
          changes(record, map, r),
        ]),
      ),
    );
    A.put(
      "maps-both",
      A.h3(null, `${nameOf(record.a, calls)}, ${leadOf(record.a, chosen.map)}`),
      notes.map((note) => A.p("quiet", note)),
      A.div("columns maps-three", pictures),
      A.p(
        "quiet",
        `${axis(record.a, -2)} down, ${axis(record.a, -1)} across. In the difference `,
        A.b("more", "blue"),
        " is where B pays more, ",
        A.b("less", "orange"),
        " where A does.",
      ),
      A.el(
        "p",
        { class: "readout", id: "recording-cell", role: "status", "aria-live": "polite" },
        "Point at a cell, or move with the arrow keys.",
      ),
      table,
    );
    A.menu("both", [
      ["PNG", () => A.savePNG(A.recordingCells.drawing(map, wide, tall), A.stem())],
      ["SVG", () => A.saveSVG(A.recordingCells.drawing(map, wide, tall), A.stem())],
      [
        "CSV",
        () =>
          A.saveText(
            A.csv([
              ["row", "column", "a", "b", "difference"],
              ...record.a.rows.flatMap((label, r) =>
                record.a.columns.map((name, c) => [
                  label,
                  name,
                  ...["a", "b", "d"].map((which) => map[which][r * wide + c].toFixed(6)),
                ]),
              ),
            ]),
            `${A.stem()}.csv`,
            "text/csv",
          ),
      ],
    ]);
    function at(r, c) {
      chosen.row = Math.max(0, Math.min(tall - 1, r));
      chosen.column = Math.max(0, Math.min(wide - 1, c));
      const cell = chosen.row * wide + chosen.column;
      A.put(
        "recording-cell",
        record.a.rows[chosen.row] +
          " → " +
          record.a.columns[chosen.column] +
          ": A " +
          map.a[cell].toFixed(4) +
          ", B " +
          map.b[cell].toFixed(4) +
          ", " +
          A.signed(map.d[cell], 4),
      );
      A.all("#maps-both .here").forEach((mark) => {
        mark.style.cssText =
          "left:" +
          (100 * chosen.column) / wide +
          "%;top:" +
          (100 * chosen.row) / tall +
          "%;width:" +
          100 / wide +
          "%;height:" +
          100 / tall +
          "%";
      });
    }
  }
  const axis = (record, at) => {
    const found = record.axes.at(at);
    return found ? found.name : "row";
  };
  function changes(record, map, r) {
    const wide = record.a.columns.length,
      places = Array.from({ length: wide }, (_, c) => c).sort(
        (x, y) => Math.abs(map.d[r * wide + y]) - Math.abs(map.d[r * wide + x]),
      );
    return (
      places
        .slice(0, LISTED)
        .filter((c) => Math.abs(map.d[r * wide + c]) >= 0.0005)
        .map((c) => `${record.a.columns[c]} ${A.signed(map.d[r * wide + c], 3)}`)
        .join(", ") || "hardly at all"
    );
  }
})();
