// Any recording at a glance, one head large, and its text coloured under the pointer.
import { blues, cellUnder, clamp, moved, paint, paintCells, paintMap, pixels, place, ramp, shade } from "./heat_maps.js";
// The heat maps of a recording: what is stored of them, on what scale they are, how they are drawn.
// A map is an object: rows, columns, levels of its cells column by column, its largest weight `top`,
// the largest outside sinks `rest`, which columns are sinks, bounds of the entropy of each row.
// `choice` says how: `each` head on a scale of its own, sinks set `apart`.
function heatMaps(data, choice) {
  const SHADES = 255, ENTROPY_STEPS = 4096, UNTOLD = 65535;
  const fine = data.levels > SHADES, Cells = fine ? Uint16Array : Uint8Array;

  const bend = (part) => data.bend * (Math.pow(1 + 1 / data.bend, part) - 1);
  const weightOf = (map, cell) => map.top * bend(cell / data.levels);
  const weightAt = (map, row, column) => weightOf(map, map.cells[column * map.rows + row]);

  async function inflated(text) {
    const letters = atob(text), bytes = new Uint8Array(letters.length);
    for (let place = 0; place < letters.length; place++) bytes[place] = letters.charCodeAt(place);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).arrayBuffer();
  }
  // Every map of a record, whose cells have so many rows and columns.
  async function unpacked(record, rows, columns) {
    if (!record.drawn) {
      const buffer = await inflated(record.packed);
      let at = 0;
      const take = (Kind, count) => {
        const part = new Kind(buffer, at, count);
        at += Math.ceil((count * Kind.BYTES_PER_ELEMENT) / 2) * 2;
        return part;
      };
      record.drawn = record.maps.map(({ top, rest, sinks }) => ({
        rows, columns, top, rest,
        sinks: Uint8Array.from({ length: columns }, (_, column) => sinks.includes(column)),
        cells: take(Cells, rows * columns), low: take(Uint16Array, rows), high: take(Uint16Array, rows),
      }));
    }
    return record.drawn;
  }
  // Bounds of a row's entropy in nats; null where it pays nothing.
  const entropy = (map, row) => (map.low[row] === UNTOLD ? null
    : [map.low[row] / ENTROPY_STEPS, map.high[row] / ENTROPY_STEPS]);

  // The weight of the darkest shade.
  const whole = { top: 0, rest: 0 };
  for (const told of data.records.flatMap((one) => one.maps)) {
    whole.top = Math.max(whole.top, told.top);
    whole.rest = Math.max(whole.rest, told.rest);
  }
  // How far a weight may be from the one that was recorded: a part of itself, and of the largest.
  const halfStep = Math.log(1 + 1 / data.bend) / data.levels / 2;
  const zeros = Math.max(0, Math.floor(-Math.log10(whole.top || 1))); // after the point of the largest
  const within = { digits: (fine ? 4 : 3) + zeros, part: halfStep, least: halfStep * data.bend };
  const anySink = data.records.some((one) => one.maps.some((told) => told.sinks.length));
  const darkest = (map) => {
    const from = choice.each ? map : whole;
    return (choice.apart && from.rest) || from.top || 1;
  };
  const darkestSink = (map) => (choice.each ? map.top : whole.top) || 1;
  const isSink = (map, column) => choice.apart && map.sinks[column] === 1;
  // Colours: the ramp of every page, and one of its own for sinks.
  let colours, greys, inks, dull;
  function readColours() {
    [colours, greys] = [blues(), ramp("ramp0", "sink")];
    [inks, dull] = [pixels(colours), pixels(greys)];
  }
  function colourAt(map, row, column) {
    const weight = weightAt(map, row, column);
    return isSink(map, column) ? greys[shade(weight, darkestSink(map))] : colours[shade(weight, darkest(map))];
  }
  // A map's cells as `paintCells` takes them.
  function shades(map) {
    const shift = fine ? 8 : 0, steps = (data.levels >> shift) + 1, { rows, columns, cells } = map;
    const table = (most) => Uint8Array.from({ length: steps }, (_, cell) => shade(weightOf(map, cell << shift), most));
    const [usual, aside] = [table(darkest(map)), table(darkestSink(map))];
    const sinks = Array.from({ length: columns }, (_, column) => isSink(map, column));
    return { rows, columns, palette: (column) => (sinks[column] ? dull : inks),
      shade: (row, column) => (sinks[column] ? aside : usual)[cells[column * rows + row] >> shift] };
  }
  return { unpacked, weightAt, entropy, within, whole, anySink, darkest, darkestSink, isSink,
    length: place, readColours, colourAt, shades };
}
(function () {
  const STRONGEST = 8, TABLE_KEYS = 4, SMALLEST = 22, LARGEST = 96, GAP = 2, NARROW = 640;
  const LETTER_WIDTH = 6.5, LETTER_HEIGHT = 11, NAMES_ROOM = 92, WIDEST_MAP = 480, LARGEST_CELL = 26;
  const TICKS = [0, 0.05, 0.25, 0.6, 1];
  const at = (id) => document.getElementById(id);
  const data = JSON.parse(at("data").textContent);
  const state = { record: null, call: 0, batch: 0, head: 0, row: null, column: 0,
    each: false, apart: true };
  const heat = heatMaps(data, state);
  // The map that is large, where its cells stand, the maps at a glance, and lines of the table.
  let map, layout, grid, lines = [];

  function made(name, text, attributes) {
    const node = document.createElement(name);
    if (text !== undefined && text !== null) node.textContent = text; // never as HTML: names are input
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    return node;
  }
  function put(node, pixels) {
    for (const [side, value] of Object.entries(pixels)) node.style[side] = value + "px";
  }
  const list = (count, make) => Array.from({ length: count }, (_, number) => make(number));
  const number = (value, digits) => value.toFixed(digits === undefined ? heat.within.digits : digits);
  const rounded = (value) => String(Number(value.toPrecision(3)));
  const windowWidth = () => document.documentElement.clientWidth;
  const record = () => data.records[state.record];
  const axisName = (from) => (record().axes.at(from) || { name: "row" }).name;
  const rowAxis = () => axisName(-2), keyAxis = () => axisName(-1);
  const siteName = (one) =>
    (one.site || "(the model itself)") + (one.calls > 1 ? ", call " + one.call : "");
  const headCount = (one) => (one.axes.length > 2 ? one.axes.at(-3).size : 1);
  const batchCount = (one) => one.maps.length / headCount(one);
  const firstMap = (one) => Math.min(state.batch, batchCount(one) - 1) * headCount(one);
  const headLabel = (one, head) => one.maps[firstMap(one) + head].lead.at(-1) || "";
  function told(one, head) {
    const layer = /^\d/.test(one.layer) ? "layer " + one.layer : one.layer;
    const named = one.axes.length > 2 ? one.axes.at(-3).name + " " + headLabel(one, head) : "";
    const words = [layer, named].filter(Boolean).join(", ") || siteName(one);
    return layer || named ? words[0].toUpperCase() + words.slice(1) : words;
  }
  // The maps of every head, of the batch that is shown.
  async function unpacked(one) {
    const maps = await heat.unpacked(one, one.rowNames.length, one.columnNames.length);
    return maps.slice(firstMap(one), firstMap(one) + headCount(one));
  }

  for (const one of data.records) {
    one.queries = data.names[one.queries];
    one.keys = data.names[one.keys];
    one.rowNames = blocks(one.queries, one.block[0]);
    one.columnNames = blocks(one.keys, one.block[1]);
    one.isSelf = isOneText(one);
  }
  // What blocks of queries or keys are called.
  function blocks(names, size) {
    if (size === 1) return names;
    return list(Math.ceil(names.length / size), (block) => {
      const part = names.slice(block * size, (block + 1) * size);
      return part.length > 1 ? part[0] + " … " + part.at(-1) : part[0];
    });
  }
  // Whether queries and keys are the same text, so that it is shown once.
  function isOneText(one) {
    const names = one.axes.slice(-2).map((axis) => axis.name).join();
    if (!one.labelled || names !== "query,key" || one.block[0] !== one.block[1]) return false;
    if (!one.rows) return one.queries === one.keys;
    return one.block[0] === 1 && one.rows.every((key, row) => one.queries[row] === one.keys[key]);
  }
  const columnOf = (row) => (record().rows ? record().rows[row] : row);
  const rowOf = (column) => (record().rows ? record().rows.indexOf(column) : column);

  // ---- Layers by heads ----

  // Group by group: of modules side by side those of one call, of a module that is alone every call.
  function inGrid() {
    const groups = new Map();
    for (const one of data.records) groups.set(one.group, [...(groups.get(one.group) || []), one]);
    return [...groups.values()].flatMap((group) =>
      group.filter((one) => one.call === state.call || group.every((other) => other.site === one.site)));
  }
  // How large each map is and where it stands; groups of layers have a line of their own.
  function laidOut() {
    const records = inGrid(), heads = Math.max(...records.map(headCount));
    const side = 8 + LETTER_WIDTH * Math.max(...records.map((one) => one.layer.length));
    const narrow = windowWidth() < NARROW, wide = narrow ? windowWidth() - 44 - side : 400;
    const tall = narrow ? 420 : Math.max(420, window.innerHeight - 330);
    const cell = Math.floor(clamp(Math.min(wide / heads, tall / records.length) - GAP, SMALLEST, LARGEST));
    let y = 18;
    const rows = records.map((one, row) => {
      const heading = !row || one.group !== records[row - 1].group;
      const start = y + (heading ? 20 : 0);
      y = start + cell + GAP;
      return { one, y: start, heading };
    });
    return { rows, cell, side, heads, pitch: cell + GAP, width: heads * (cell + GAP), height: y };
  }
  async function drawGrid() {
    grid = laidOut();
    const { rows, cell, side, pitch } = grid, scale = window.devicePixelRatio > 1 ? 2 : 1;
    const maps = await Promise.all(rows.map(({ one }) => unpacked(one)));
    const stride = grid.width * scale;
    paint(at("all"), stride, grid.height * scale, (all) => {
      const size = cell * scale;
      rows.forEach(({ y }, row) => maps[row].forEach((one, head) => {
        const box = { left: head * pitch * scale, top: y * scale, width: size, height: size };
        paintCells(all, stride, box, heat.shades(one));
      }));
    });
    put(at("all"), { left: side, width: grid.width, height: grid.height });
    put(at("grid"), { width: side + grid.width + 2, height: grid.height + 2 });
    at("grid").querySelectorAll("span").forEach((one) => one.remove());
    const label = (text, kind, left, top) => {
      const span = made("span", text, { class: kind, "aria-hidden": "true" });
      put(at("grid").appendChild(span), { left, top });
    };
    for (const { one, y, heading } of rows) {
      if (heading) label(one.group || "(the model itself)", "group", 0, y);
      label(one.layer, "row", side, y + cell / 2);
    }
    const most = rows.find(({ one }) => headCount(one) === grid.heads).one;
    list(most.axes.length > 2 ? grid.heads : 0, (head) => {
      const name = headLabel(most, head);
      label(name.length > 3 ? String(head) : name, "column", side + head * pitch + cell / 2, 16);
    });
  }
  const gridRow = () => grid.rows.findIndex(({ one }) => one === record());
  function markGrid(follow) {
    const row = grid.rows[gridRow()], mark = at("grid").querySelector(".cursor"), frame = at("grid-frame");
    mark.hidden = !row;
    if (!row) return;
    put(mark, { left: grid.side + state.head * grid.pitch, top: row.y, width: grid.cell, height: grid.cell });
    if (!follow) return;
    const lowest = row.y + grid.pitch + 4 - frame.clientHeight;
    frame.scrollTop = clamp(frame.scrollTop, lowest, Math.max(lowest, row.y - 40));
  }
  function inGridAt(event) {
    const box = at("all").getBoundingClientRect(), y = event.clientY - box.top;
    const row = grid.rows.find((one) => y >= one.y && y < one.y + grid.pitch);
    const head = Math.floor((event.clientX - box.left) / grid.pitch);
    return row && head >= 0 && head < headCount(row.one) ? { one: row.one, head } : null;
  }
  function onGridKey(event) {
    const move = moved(event);
    if (!move) return;
    const row = clamp(gridRow() + move[0], 0, grid.rows.length - 1);
    choose(grid.rows[row].one, state.head + move[1]);
  }

  // ---- The legend ----

  function legend() {
    const most = heat.darkest(map), outside = state.apart && heat.anySink ? " outside sinks" : "";
    const name = (part) => String(Number((part * most).toPrecision(2)));
    const long = TICKS.some((part) => name(part).length > 5);
    at("ticks").replaceChildren(...TICKS.filter((_, number) => !long || number % 2 === 0).map((part) => {
      const tick = made("span", name(part));
      tick.style.left = 100 * heat.length(part * most, most) + "%";
      return tick;
    }));
    const here = rounded((state.apart && map.rest) || map.top);
    const own = "Each head on its own scale: the strongest colour is its largest weight";
    const all = "All heads on one scale: the strongest colour is the largest weight";
    at("scale").textContent = !heat.whole.top ? "Nothing is paid anywhere."
      : state.each ? own + outside + ", here " + here + "."
        : all + outside + ", " + rounded(most) + "; in this head " + here + ".";
    at("sinks").hidden = at("apart-label").hidden = !heat.anySink;
    at("sinks").firstChild.hidden = !state.apart;
    const sink = data.sink.replace("$", keyAxis);
    at("sinks").lastChild.textContent = state.apart
      ? "0 to " + rounded(heat.darkestSink(map)) + ", paid to a sink: " + sink + "."
      : "Sinks have the colours of all. A sink is " + sink + ".";
    const { least, part, digits } = heat.within;
    const error = (least * heat.whole.top + 0.5 * Math.pow(10, -digits)) * 1.05;
    at("within").textContent = "Weights are told to within " + Number(error.toPrecision(1))
      + (part > 1e-4 ? " + " + (100 * part).toFixed(1) + " % of the weight" : "") + ".";
  }

  // ---- The running text ----

  // Tokens as they are read; what stands before each is a space, or nothing.
  function pieces(names) {
    const spaced = names.some((name) => /^[Ġ▁ ]/.test(name));
    const joined = !spaced && names.some((name) => /^##\p{L}/u.test(name)); // parts of words, as of BERT
    return names.map((name) => {
      const glued = joined ? name.startsWith("##") : spaced && !/^[Ġ▁ ]/.test(name);
      const text = (joined ? name.replace(/^##(?=.)/, "") : name).replace(/^[Ġ▁ ]+/, "");
      return { before: glued ? "" : " ", text: text.replace(/[Ġ▁]/g, " ").replace(/[Ċ\n]/g, "↵") || "␣" };
    });
  }
  const readable = (name) => pieces([name])[0].text;
  const quoted = (name) => "“" + readable(name) + "”";
  // The row and the column of a token; of one whose query was not kept the row stays.
  function ofToken(kind, token) {
    if (kind === "row") return [token, state.column];
    if (kind === "column") return [state.row, token];
    return [rowOf(token) < 0 ? state.row : rowOf(token), token];
  }
  function textOf(kind, names) {
    const axis = kind === "row" ? rowAxis() : keyAxis();
    const line = made("p", null, { class: "text", role: "listbox", tabindex: "0", dir: "auto" });
    line.dataset.kind = kind;
    line.setAttribute("aria-label", kind === "both" ? "The text" : "Each " + axis);
    if (kind !== "both") line.append(made("b", axis));
    pieces(names).forEach(({ before, text }, token) => {
      const about = { role: "option", "data-token": token, title: names[token], id: kind + "-" + token };
      line.append(before, made("span", text, about));
    });
    const pointed = (event, act) => {
      const token = event.target.dataset.token;
      if (token !== undefined) act(...ofToken(kind, Number(token)));
    };
    line.addEventListener("pointermove", (event) => {
      if (event.pointerType === "mouse") pointed(event, look);
    });
    line.addEventListener("pointerleave", () => look(state.row, state.column));
    line.addEventListener("click", (event) => pointed(event, pin));
    line.addEventListener("keydown", (event) => {
      const move = moved(event), from = kind === "row" ? state.row : state.column;
      if (move) pin(...ofToken(kind, clamp(from + move[0] + move[1], 0, names.length - 1)));
    });
    return line;
  }
  let written; // what the text was written of
  function writeTexts() {
    const one = record(), same = written && written.isSelf === one.isSelf
      && written.queries === one.queries && written.keys === one.keys;
    written = one;
    if (same) return;
    const kinds = one.isSelf ? ["both"] : one.axes.length > 1 ? ["row", "column"] : ["column"];
    at("texts").replaceChildren(...kinds.map((kind) =>
      textOf(kind, kind === "row" ? one.rowNames : one.columnNames)));
  }
  // Letters that can be read on a ground: those of more contrast, by its luminance.
  function ink(colour) {
    const [r, g, b] = colour.map((part) => Math.pow(part / 255, 2.2));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19 ? "#16202a" : "#ffffff";
  }
  // The ground of a key is what the row pays it; the line under a query what that pays the column.
  function colourTexts(row, column) {
    const most = heat.isSink(map, column) ? heat.darkestSink(map) : heat.darkest(map);
    for (const line of at("texts").children) {
      const kind = line.dataset.kind;
      const hereAt = kind === "row" ? row : kind === "column" ? column : columnOf(row);
      for (const token of line.querySelectorAll("span")) {
        const key = Number(token.dataset.token), from = kind === "both" ? rowOf(key) : key;
        if (kind !== "row") {
          const colour = heat.colourAt(map, row, key);
          token.style.background = "rgb(" + colour.join(" ") + ")";
          token.style.color = ink(colour);
        }
        const paid = kind === "column" || from < 0 ? 0 : heat.weightAt(map, from, column);
        token.style.boxShadow = "inset 0 -" + (5 * heat.length(paid, most)).toFixed(1) + "px var(--back)";
        token.classList.toggle("here", key === hereAt);
        token.classList.toggle("sink", kind !== "row" && map.sinks[key] === 1);
        token.setAttribute("aria-selected", String(key === hereAt));
      }
      line.setAttribute("aria-activedescendant", kind + "-" + hereAt);
    }
  }

  // ---- One head ----

  // Weights and where they are, the largest first.
  function ordered(count, weight) {
    const found = list(count, (number) => [weight(number), number]).filter(([value]) => value > 0);
    return found.sort((one, other) => other[0] - one[0] || one[1] - other[1]);
  }
  const inRow = (row) => ordered(map.columns, (column) => heat.weightAt(map, row, column));
  const inColumn = (column) => ordered(map.rows, (row) => heat.weightAt(map, row, column));
  function entropyText(row) {
    const [low, high] = heat.entropy(map, row) || [];
    if (low === undefined) return "pays nothing";
    if (high - low >= 0.001) return "entropy " + number(low, 3) + " to " + number(high, 3) + " nats";
    return "entropy " + number(low, 3) + " nats, as " + number(Math.exp(low), 1) + " keys paid alike";
  }
  function bars(title, quiet, found, names, back) {
    const box = made("section"), lines = made("ol", null, { class: "bars" });
    for (const [weight, where] of found.slice(0, STRONGEST)) {
      const line = lines.appendChild(made("li")), sink = !back && map.sinks[where] === 1;
      line.append(made("span", number(weight), { class: "weight" }));
      const bar = line.appendChild(made("span", null, { class: "bar" }));
      bar.classList.toggle("back", back);
      bar.classList.toggle("sink", sink);
      bar.style.width = Math.max(1, (100 * weight) / found[0][0]) + "%";
      const name = readable(names[where]) + (sink ? " (sink)" : "");
      line.append(made("span", name, { class: "key", title: names[where] }));
    }
    box.append(made("h3", title), made("p", quiet, { class: "quiet" }), lines);
    return box;
  }
  function readout(row, column) {
    const most = record().block[0] * record().block[1] > 1 ? "up to " : "";
    return rowAxis() + " " + quoted(record().rowNames[row]) + " → " + keyAxis() + " "
      + quoted(record().columnNames[column]) + (map.sinks[column] ? " (sink)" : "") + ": "
      + most + number(heat.weightAt(map, row, column));
  }
  // Shows a row and a column, until the pointer leaves.
  function look(row, column) {
    const { rowNames, columnNames } = record(), cell = layout.cell;
    at("readout").textContent = readout(row, column);
    const cursor = at("map").querySelector(".cursor");
    put(cursor, { left: column * cell, top: row * cell, width: cell, height: cell });
    axes(row, column);
    colourTexts(row, column);
    const from = rowNames[row] ? quoted(rowNames[row]) + " looks at" : "What is looked at";
    at("lists").replaceChildren(bars(from, entropyText(row), inRow(row), columnNames, false),
      bars(quoted(columnNames[column]) + " is looked at by", "what each " + rowAxis() + " pays it",
        inColumn(column), rowNames, true));
    lines.forEach((line, number) => line.setAttribute("aria-selected", String(number === row)));
  }
  // Stays at a row and a column.
  function pin(row, column) {
    Object.assign(state, { row, column });
    look(row, column);
  }
  // Names on both axes: as many as there is room for, and always the one that is looked at.
  function axes(row, column) {
    const every = Math.ceil(LETTER_HEIGHT / layout.cell);
    const write = (parent, names, here, put_) => {
      const near = (number) => number !== here && Math.abs(number - here) * layout.cell < LETTER_HEIGHT;
      parent.replaceChildren();
      names.forEach((name, number) => {
        if ((number % every && number !== here) || near(number)) return;
        const span = parent.appendChild(made("span", readable(name), { title: name }));
        span.classList.toggle("here", number === here);
        put_(span, (number + 0.5) * layout.cell, number);
      });
    };
    write(at("map").querySelector(".rows"), record().rowNames, row, (span, from) =>
      put(span, { top: layout.top + from, width: layout.side }));
    write(at("map").querySelector(".columns"), record().columnNames, column, (span, from, number) => {
      put(span, { left: layout.side + from, height: layout.top });
      span.classList.toggle("sink", map.sinks[number] === 1);
    });
  }
  function drawMap() {
    const one = record(), most = windowWidth() < NARROW ? 64 : NAMES_ROOM;
    const room = (names) => {
      const longest = Math.max(...names.map((name) => readable(name).length));
      return Math.min(most, 12 + LETTER_WIDTH * longest);
    };
    const side = room(one.rowNames), top = room(one.columnNames);
    const wide = clamp(windowWidth() - 40 - side, 200, WIDEST_MAP);
    const cell = clamp(Math.floor(wide / Math.max(map.columns, map.rows)), 1, LARGEST_CELL);
    layout = { side, top, cell };
    paintMap(at("one"), heat.shades(map));
    const width = map.columns * cell, height = map.rows * cell;
    put(at("one"), { width, height });
    put(at("one").parentNode, { left: side, top });
    put(at("map"), { width: side + width + 2, height: top + height + 2 });
    at("one").setAttribute("aria-label", "Heat map, " + map.rows + " by " + map.columns + ": " + rowAxis() +
      " by " + keyAxis() + ". Arrow keys move the cell that is read out.");
    at("caption").textContent = rowAxis() + " down, " + keyAxis() + " across";
  }
  const cellAt = (event) => cellUnder(event, at("one"), map.rows, map.columns);
  function onMapKey(event) {
    const move = moved(event), within = (value, count) => clamp(value, 0, count - 1);
    if (move) pin(within(state.row + move[0], map.rows), within(state.column + move[1], map.columns));
  }
  function table() {
    lines = [];
    if (!at("rows").open) return;
    const whole = made("table"), head = whole.appendChild(made("thead")).appendChild(made("tr"));
    head.append(...[rowAxis(), "entropy", "strongest " + keyAxis() + "s"].map((name) => made("th", name)));
    const body = whole.appendChild(made("tbody"));
    lines = list(map.rows, (row) => {
      const found = inRow(row), line = body.appendChild(made("tr"));
      const button = made("button", readable(record().rowNames[row] || "0"), { type: "button" });
      button.addEventListener("click", () => pin(row, found.length ? found[0][1] : 0));
      line.appendChild(made("td")).append(button);
      const keys = found.slice(0, TABLE_KEYS).map(([weight, column]) =>
        quoted(record().columnNames[column]) + " " + number(weight));
      line.append(made("td", entropyText(row)), made("td", keys.join(", ")));
      return line;
    });
    at("rows").lastElementChild.replaceChildren(whole);
  }

  // ---- The page ----

  function options(name, label, names, value) {
    const select = at(name);
    select.previousElementSibling.textContent = label;
    select.replaceChildren(...names.map((one, number) => made("option", one, { value: String(number) })));
    select.value = String(value);
    select.parentNode.hidden = names.length < 2;
  }
  function controls() {
    const one = record(), leads = one.axes.slice(0, -2).map((axis) => axis.name), heads = headCount(one);
    const several = inGrid().length < data.records.length;
    const last = Math.max(...data.records.map((other) => other.call));
    options("call", "call", list(several ? last + 1 : 1, String), state.call);
    options("batch", leads.slice(0, -1).join(" / "),
      list(batchCount(one), (batch) => one.maps[batch * heads].lead.slice(0, -1).join(" / ")), state.batch);
    const layers = data.records.map((other) => [other.layer, siteName(other)].filter(Boolean).join(" · "));
    options("record", "layer", layers, state.record);
    options("head", leads.at(-1) || "", list(heads, (head) => headLabel(one, head)), state.head);
  }
  async function show() {
    const one = record();
    state.head = clamp(state.head, 0, headCount(one) - 1);
    state.batch = Math.min(state.batch, batchCount(one) - 1);
    const maps = await unpacked(one);
    if (one !== record()) return; // another was asked for meanwhile
    map = maps[state.head];
    if (state.row === null || state.row >= map.rows || state.column >= map.columns) {
      state.row = map.rows - 1;
      state.column = one.isSelf ? columnOf(state.row) : map.columns - 1;
    }
    at("title").textContent = at("pointed").textContent = told(one, state.head);
    at("site").textContent = siteName(one);
    at("notes").replaceChildren(...one.notes.map((note) => made("p", note, { class: "note" })));
    controls();
    writeTexts();
    drawMap();
    legend();
    table();
    markGrid(true);
    look(state.row, state.column);
  }
  async function redraw() {
    heat.readColours();
    await drawGrid();
    await show();
  }
  function choose(one, head) {
    const inside = inGrid().includes(one);
    state.record = data.records.indexOf(one);
    state.head = head;
    if (!inside) state.call = one.call;
    return inside ? show() : redraw();
  }
  function wire() {
    const on = (id, kind, act) => at(id).addEventListener(kind, act);
    const pointed = (event) => inGridAt(event) || { one: record(), head: state.head };
    const say = ({ one, head }) => { at("pointed").textContent = told(one, head); };
    on("all", "pointermove", (event) => say(pointed(event)));
    on("all", "pointerleave", () => say({ one: record(), head: state.head }));
    on("all", "click", (event) => choose(pointed(event).one, pointed(event).head));
    on("all", "keydown", onGridKey);
    on("one", "pointermove", (event) => { if (event.pointerType === "mouse") look(...cellAt(event)); });
    on("one", "pointerleave", () => look(state.row, state.column));
    on("one", "click", (event) => pin(...cellAt(event)));
    on("one", "keydown", onMapKey);
    for (const name of ["each", "apart"])
      on(name, "change", () => { state[name] = at(name).checked; redraw(); });
    on("call", "change", () => {
      state.call = Number(at("call").value);
      choose(inGrid().find((one) => one.site === record().site) || inGrid()[0], state.head).then(redraw);
    });
    on("batch", "change", () => { state.batch = Number(at("batch").value); redraw(); });
    on("record", "change", () => choose(data.records[Number(at("record").value)], state.head));
    on("head", "change", () => choose(record(), Number(at("head").value)));
    on("rows", "toggle", () => { table(); look(state.row, state.column); });
    for (const cell of document.querySelectorAll("#sites [data-record]")) {
      const one = data.records[Number(cell.dataset.record)];
      const button = made("button", cell.textContent, { type: "button" });
      button.addEventListener("click", () => choose(one, state.head).then(() => at("title").focus()));
      cell.replaceChildren(button);
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    let width = windowWidth();
    window.addEventListener("resize", () => {
      if (windowWidth() !== width) redraw();
      width = windowWidth();
    });
  }
  async function start() {
    if (!data.records.length) return;
    if (typeof DecompressionStream === "undefined") throw new Error("this browser cannot unpack them");
    Object.assign(state, { record: 0, call: data.records[0].call });
    at("view").hidden = false;
    try {
      await redraw();
    } catch (error) {
      at("view").hidden = true;
      throw error;
    }
    at("still").hidden = true;
    wire();
  }
  window.attnlensReady = start().catch((error) => {
    at("trouble").textContent = "The heat maps cannot be shown: " + error.message + ".";
    at("trouble").hidden = false;
  });
})();
