// The page of a recording: small maps of all heads, one large map, and its text coloured by weight.
import { blues, cellUnder, clamp, moved, paint, paintCells, paintMap } from "./heat_maps.js";
// Each import must be on one line, because Python removes these lines when it builds the page.

import { pixels, place, ramp, shade } from "./heat_maps.js";

/** @typedef {{ top: number, rest: number, sinks: number[], lead: string[] }} Told a map without its cells */
/** A record as stored in the page; `queries` and `keys` are indices into `names`.
 * @typedef {{ site: string, call: number, calls: number, group: string, layer: string, labelled: boolean,
 *   axes: { name: string, size: number }[], block: [number, number], rows: number[] | null,
 *   notes: string[], maps: Told[], packed: string, queries: number, keys: number }} Stored */
/** A map: `cells` are quantised weights, column by column. `top` is the largest weight, and `rest` the
 * largest weight outside sinks. `low` and `high` are the bounds of the entropy of each row.
 * @typedef {{ rows: number, columns: number, top: number, rest: number, sinks: boolean[],
 *   cells: Uint8Array | Uint16Array, low: Uint16Array, high: Uint16Array }} HeatMap */
/** @typedef {ReturnType<typeof read>} Recorded */
/** @typedef {[number, number]} Pair */
/** @typedef {"both" | "row" | "column"} Kind of a text line: queries and keys, only queries, only keys */
const [STRONGEST, TABLE_KEYS, SMALLEST, LARGEST, GAP, NARROW] = [8, 4, 22, 96, 2, 640];
const [LETTER_WIDTH, LETTER_HEIGHT, NAMES_ROOM, WIDEST_MAP, LARGEST_CELL] = [6.5, 11, 92, 480, 26];
const [SHADES, ENTROPY_STEPS, UNTOLD, ITSELF] = [255, 4096, 65535, "(the model itself)"];

/** @param {string} id */
const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
/** @param {string} id */
const canvas = (id) => /** @type {HTMLCanvasElement} */ (at(id));
/** @param {string} selector */
const first = (selector) => /** @type {HTMLElement} */ (document.querySelector(selector));
/** Creates an element. Text is never parsed as HTML, because names are user input.
 * @template {keyof HTMLElementTagNameMap} Tag @param {Tag} tag
 * @param {Record<string, string | number>} attributes @param {(Node | string)[]} children */
function made(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  node.append(...children);
  return node;
}
/** @param {HTMLElement} node @param {Record<string, number>} sides in pixels */
function put(node, sides) {
  for (const [side, value] of Object.entries(sides)) node.style.setProperty(side, `${value}px`);
}
/** @template Made @param {number} count @param {(number: number) => Made} make */
const list = (count, make) => Array.from({ length: count }, (_, number) => make(number));
const windowWidth = () => document.documentElement.clientWidth;

// ---- The recorded data
/** @type {{ levels: number, bend: number, sink: string, names: string[][], records: Stored[] }} */
const data = JSON.parse(at("data").textContent);
/** @param {Stored} stored */
function read(stored) {
  const { axes, block, rows, labelled } = stored;
  const [queries, keys] = [data.names[stored.queries], data.names[stored.keys]];
  const [rowNames, columnNames] = [blocks(queries, block[0]), blocks(keys, block[1])];
  // If the queries and the keys are the same text, the text is shown only once.
  const names = axes.slice(-2).map((axis) => axis.name);
  const kept = block[0] === 1 && rows?.every((key, row) => queries[row] === keys[key]);
  const isOne = names.join() === "query,key" && block[0] === block[1] && (rows ? kept : queries === keys);
  const isSelf = labelled && Boolean(isOne);
  const lead = axes.at(-3);
  /** @type {Promise<HeatMap[]> | undefined} */
  let drawn;
  const unpacked = () => (drawn ??= inflated(stored, rowNames.length, columnNames.length));
  return { ...stored, queries, keys, rowNames, columnNames, isSelf, lead, heads: lead?.size ?? 1, unpacked };
}
/** Returns the names of blocks of queries or keys. @param {string[]} names @param {number} size */
function blocks(names, size) {
  if (size === 1) return names;
  return list(Math.ceil(names.length / size), (block) => {
    const part = names.slice(block * size, (block + 1) * size);
    return part.length > 1 ? `${part[0]} … ${part.at(-1)}` : part[0];
  });
}
/** @param {Stored} stored @param {number} rows @param {number} columns */
async function inflated({ packed, maps }, rows, columns) {
  const letters = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([letters]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const [count, Cells] = [rows * columns, fine ? Uint16Array : Uint8Array];
  const bounds = 2 * Math.ceil((count * Cells.BYTES_PER_ELEMENT) / 2); // offset of the entropy bounds
  return maps.map(({ top, rest, sinks }, number) => {
    const start = number * (bounds + 4 * rows);
    const cells = new Cells(buffer, start, count);
    const [low, high] = [0, 2 * rows].map((after) => new Uint16Array(buffer, start + bounds + after, rows));
    const isSink = list(columns, (column) => sinks.includes(column));
    return { rows, columns, top, rest, sinks: isSink, cells, low, high };
  });
}
const fine = data.levels > SHADES;
const records = data.records.map(read);
const state = { record: 0, call: 0, batch: 0, head: 0, row: -1, column: 0, each: false, apart: true };
/** The enlarged map. @type {HeatMap} */
let map;
const record = () => records[state.record];
const rowAxis = () => record().axes.at(-2)?.name ?? "row";
const keyAxis = () => record().axes.at(-1)?.name ?? "row";
/** @param {Recorded} one */
const siteName = (one) => (one.site || ITSELF) + (one.calls > 1 ? `, call ${one.call}` : "");
/** @param {Recorded} one */
const batchCount = (one) => one.maps.length / one.heads;
/** @param {Recorded} one */
const firstMap = (one) => Math.min(state.batch, batchCount(one) - 1) * one.heads;
/** @param {Recorded} one @param {number} head */
const headLabel = (one, head) => one.maps[firstMap(one) + head].lead.at(-1) ?? "";
/** @param {Recorded} one @param {number} head */
function told(one, head) {
  const layer = /^\d/.test(one.layer) ? `layer ${one.layer}` : one.layer;
  const words = [layer, one.lead && `${one.lead.name} ${headLabel(one, head)}`].filter(Boolean).join(", ");
  return words ? words[0].toUpperCase() + words.slice(1) : siteName(one);
}
/** Returns the maps of all heads for the chosen batch item. @param {Recorded} one */
const unpacked = async (one) => (await one.unpacked()).slice(firstMap(one), firstMap(one) + one.heads);
/** @param {number} row */
const columnOf = (row) => record().rows?.[row] ?? row;
/** @param {number} column */
const rowOf = (column) => record().rows?.indexOf(column) ?? column;

// ---- Weights and colours. `each`: a separate scale for every head. `apart`: a separate scale for sinks.
/** @param {HeatMap} one @param {number} cell */
const weightOf = (one, cell) => one.top * (data.bend * ((1 + 1 / data.bend) ** (cell / data.levels) - 1));
/** @param {number} row @param {number} column */
const weightAt = (row, column) => weightOf(map, map.cells[column * map.rows + row]);
const all = records.flatMap((one) => one.maps);
const whole = all.reduce(
  (most, one) => ({ top: Math.max(most.top, one.top), rest: Math.max(most.rest, one.rest) }),
  { top: 0, rest: 0 },
);
const anySink = all.some((one) => one.sinks.length);
// The rounding error of a weight is at most `halfStep` times (the weight plus `bend` times the largest).
const halfStep = Math.log(1 + 1 / data.bend) / data.levels / 2;
const zeros = Math.max(0, Math.floor(-Math.log10(whole.top || 1))); // after the point of the largest weight
const digits = (fine ? 4 : 3) + zeros;
/** Returns the weight that has the darkest shade. @param {HeatMap} one @param {boolean} [sink] */
function darkest(one, sink) {
  const from = state.each ? one : whole;
  return (state.apart && !sink && from.rest) || from.top || 1;
}
/** @param {HeatMap} one @param {number} column */
const isSink = (one, column) => state.apart && one.sinks[column];
let [colours, greys, inks, dull] = [blues(), blues(), pixels([]), pixels([])];
function readColours() {
  [colours, greys] = [blues(), ramp("ramp0", "sink")]; // the colours of all pages, and the colours of sinks
  [inks, dull] = [pixels(colours), pixels(greys)];
}
/** Returns the cells of a map with their shades.
 * @param {HeatMap} one @returns {import("./heat_maps.js").Shades} */
function shades(one) {
  const shift = fine ? 8 : 0;
  const table = (/** @type {number} */ most) =>
    list((data.levels >> shift) + 1, (cell) => shade(weightOf(one, cell << shift), most));
  const [usual, aside] = [table(darkest(one)), table(darkest(one, true))];
  const sinks = list(one.columns, (column) => isSink(one, column));
  return {
    rows: one.rows,
    columns: one.columns,
    palette: (column) => (sinks[column] ? dull : inks),
    shade: (row, column) => (sinks[column] ? aside : usual)[one.cells[column * one.rows + row] >> shift],
  };
}

// ---- The grid of layers and heads
/** Returns the records in the grid: for a group of modules those of the chosen call, for a single
 * module those of all calls. */
function inGrid() {
  return [...new Set(records.map((one) => one.group))].flatMap((name) => {
    const group = records.filter((one) => one.group === name);
    return group.filter((one) => one.call === state.call || group.every((other) => other.site === one.site));
  });
}
/** @type {ReturnType<typeof laidOut>} */
let grid;
/** Returns the size and position of each map. Each group of layers starts with a heading. */
function laidOut() {
  const shown = inGrid();
  const heads = Math.max(...shown.map((one) => one.heads));
  const side = 8 + LETTER_WIDTH * Math.max(...shown.map((one) => one.layer.length));
  const narrow = windowWidth() < NARROW;
  const wide = narrow ? windowWidth() - 44 - side : 400;
  const tall = narrow ? 420 : Math.max(420, window.innerHeight - 330);
  const cell = Math.floor(clamp(Math.min(wide / heads, tall / shown.length) - GAP, SMALLEST, LARGEST));
  let height = 18;
  const rows = shown.map((one, row) => {
    const heading = one.group !== shown[row - 1]?.group;
    const y = height + (heading ? 20 : 0);
    height = y + cell + GAP;
    return { one, y, heading };
  });
  return { rows, cell, side, heads, pitch: cell + GAP, width: heads * (cell + GAP), height };
}
async function drawGrid() {
  grid = laidOut();
  const { rows, cell, side, pitch, width, height } = grid;
  const scale = window.devicePixelRatio > 1 ? 2 : 1;
  const maps = await Promise.all(rows.map(({ one }) => unpacked(one)));
  paint(canvas("all"), width * scale, height * scale, (into) => {
    const size = { width: cell * scale, height: cell * scale };
    for (const [row, { y }] of rows.entries())
      for (const [head, one] of maps[row].entries())
        paintCells(into, width * scale, { left: head * pitch * scale, top: y * scale, ...size }, shades(one));
  });
  put(at("all"), { left: side, width, height });
  put(at("grid"), { width: side + width + 2, height: height + 2 });
  for (const label of at("grid").querySelectorAll("span")) label.remove();
  /** @param {string} text @param {string} kind @param {number} left @param {number} top */
  const label = (text, kind, left, top) =>
    put(at("grid").appendChild(made("span", { class: kind, "aria-hidden": "true" }, text)), { left, top });
  for (const { one, y, heading } of rows) {
    if (heading) label(one.group || ITSELF, "group", 0, y);
    label(one.layer, "row", side, y + cell / 2);
  }
  const most = rows.find(({ one }) => one.lead && one.heads === grid.heads)?.one;
  for (let head = 0; most && head < grid.heads; head++) {
    const name = headLabel(most, head);
    label(name.length > 3 ? String(head) : name, "column", side + head * pitch + cell / 2, 16);
  }
}
const gridRow = () => grid.rows.findIndex(({ one }) => one === record());
function markGrid() {
  const [row, mark, frame] = [grid.rows[gridRow()], first("#grid .cursor"), at("grid-frame")];
  mark.hidden = !row;
  if (!row) return;
  put(mark, { left: grid.side + state.head * grid.pitch, top: row.y, width: grid.cell, height: grid.cell });
  const lowest = row.y + grid.pitch + 4 - frame.clientHeight;
  frame.scrollTop = clamp(frame.scrollTop, lowest, Math.max(lowest, row.y - 40));
}
/** Returns the head under the pointer, or the chosen head if there is none. @param {MouseEvent} event */
function inGridAt(event) {
  const box = at("all").getBoundingClientRect();
  const y = event.clientY - box.top;
  const row = grid.rows.find((one) => y >= one.y && y < one.y + grid.pitch);
  const head = Math.floor((event.clientX - box.left) / grid.pitch);
  if (row && head >= 0 && head < row.one.heads) return { one: row.one, head };
  return { one: record(), head: state.head };
}
/** @param {KeyboardEvent} event */
function onGridKey(event) {
  const move = moved(event);
  if (move) choose(grid.rows[clamp(gridRow() + move[0], 0, grid.rows.length - 1)].one, state.head + move[1]);
}

// ---- The legend
function legend() {
  const most = darkest(map);
  const outside = state.apart && anySink ? " outside sinks" : "";
  /** @param {number} value @param {number} places */
  const rounded = (value, places) => String(Number(value.toPrecision(places)));
  let ticks = [0, 0.05, 0.25, 0.6, 1].map((part) => part * most);
  if (ticks.some((tick) => rounded(tick, 2).length > 5))
    ticks = ticks.filter((_, number) => number % 2 === 0);
  at("ticks").replaceChildren(
    ...ticks.map((tick) => {
      const node = made("span", {}, rounded(tick, 2));
      node.style.left = `${100 * place(tick, most)}%`;
      return node;
    }),
  );
  const here = rounded((state.apart && map.rest) || map.top, 3);
  const own = `Each head on its own scale: the strongest colour is its largest weight${outside}`;
  const shared = `All heads on one scale: the strongest colour is the largest weight${outside}`;
  const scale = state.each
    ? `${own}, here ${here}.`
    : `${shared}, ${rounded(most, 3)}; in this head ${here}.`;
  at("scale").textContent = whole.top ? scale : "All weights are 0.";
  at("sinks").hidden = at("apart-label").hidden = !anySink;
  first("#sinks i").hidden = !state.apart;
  const sink = data.sink.replace("$", keyAxis);
  first("#sinks span").textContent = state.apart
    ? `0 to ${rounded(darkest(map, true), 3)}: weights of sinks. A sink is ${sink}.`
    : `Sinks have the same colours as other keys. A sink is ${sink}.`;
  const error = (halfStep * data.bend * whole.top + 0.5 * 10 ** -digits) * 1.05;
  const part = halfStep > 1e-4 ? ` + ${(100 * halfStep).toFixed(1)} % of the weight` : "";
  at("within").textContent = `Weights are rounded to within ${rounded(error, 1)}${part}.`;
}

// ---- The text, with coloured tokens
/** Returns the readable text of each token, and the space before it, if any. @param {string[]} names */
function pieces(names) {
  const spaced = names.some((name) => /^[Ġ▁ ]/.test(name));
  const joined = !spaced && names.some((name) => /^##\p{L}/u.test(name)); // parts of words, as in BERT
  return names.map((name) => {
    const glued = joined ? name.startsWith("##") : spaced && !/^[Ġ▁ ]/.test(name);
    const text = (joined ? name.replace(/^##(?=.)/, "") : name).replace(/^[Ġ▁ ]+/, "");
    return { before: glued ? "" : " ", text: text.replace(/[Ġ▁]/g, " ").replace(/[Ċ\n]/g, "↵") || "␣" };
  });
}
/** @param {string} name */
const readable = (name) => pieces([name])[0].text;
/** @param {string} name */
const quoted = (name) => `“${readable(name)}”`;
/** Returns the row and the column of a token. If its query was not recorded, the row stays the same.
 * @param {Kind} kind @param {number} token @returns {Pair} */
function ofToken(kind, token) {
  if (kind === "row") return [token, state.column];
  if (kind === "column") return [state.row, token];
  return [rowOf(token) < 0 ? state.row : rowOf(token), token];
}
/** @param {Kind} kind @param {string[]} names */
function textOf(kind, names) {
  const axis = kind === "row" ? rowAxis() : keyAxis();
  const label = kind === "both" ? "The text" : `Each ${axis}`;
  const about = { class: "text", role: "listbox", tabindex: 0, dir: "auto", "data-kind": kind };
  const line = made("p", { ...about, "aria-label": label });
  if (kind !== "both") line.append(made("b", {}, axis));
  for (const [token, { before, text }] of pieces(names).entries()) {
    const one = { role: "option", "data-token": token, title: names[token], id: `${kind}-${token}` };
    line.append(before, made("span", one, text));
  }
  const pointed = (/** @type {Event} */ event, /** @type {typeof look} */ act) => {
    const { token } = /** @type {HTMLElement} */ (event.target).dataset;
    if (token !== undefined) act(...ofToken(kind, Number(token)));
  };
  line.addEventListener("pointermove", (event) => event.pointerType === "mouse" && pointed(event, look));
  line.addEventListener("pointerleave", lookBack);
  line.addEventListener("click", (event) => pointed(event, pin));
  line.addEventListener("keydown", (event) => {
    const move = moved(event);
    const from = kind === "row" ? state.row : state.column;
    if (move) pin(...ofToken(kind, clamp(from + move[0] + move[1], 0, names.length - 1)));
  });
  return line;
}
/** The record whose text is shown. @type {Recorded | undefined} */
let written;
function writeTexts() {
  const [one, before] = [record(), written];
  written = one;
  if (before?.isSelf === one.isSelf && before.queries === one.queries && before.keys === one.keys) return;
  /** @type {Kind[]} */
  const kinds = one.isSelf ? ["both"] : one.axes.length > 1 ? ["row", "column"] : ["column"];
  at("texts").replaceChildren(
    ...kinds.map((kind) => textOf(kind, kind === "row" ? one.rowNames : one.columnNames)),
  );
}
/** Returns the text colour, dark or white, that has more contrast on a background.
 * @param {number[]} colour */
function ink(colour) {
  const [r, g, b] = colour.map((part) => (part / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19 ? "#16202a" : "#ffffff";
}
/** Colours the tokens. The background of a key shows the weight of this row for the key. The line under
 * a query shows the weight of the query for this column.
 * @param {number} row @param {number} column */
function colourTexts(row, column) {
  const most = darkest(map, isSink(map, column));
  for (const line of /** @type {Iterable<HTMLElement>} */ (at("texts").children)) {
    const kind = line.dataset.kind;
    const hereAt = kind === "row" ? row : kind === "column" ? column : columnOf(row);
    for (const token of line.querySelectorAll("span")) {
      const key = Number(token.dataset.token);
      const from = kind === "both" ? rowOf(key) : key;
      if (kind !== "row") {
        const sink = isSink(map, key);
        const colour = (sink ? greys : colours)[shade(weightAt(row, key), darkest(map, sink))];
        Object.assign(token.style, { background: `rgb(${colour.join(" ")})`, color: ink(colour) });
      }
      const paid = kind === "column" || from < 0 ? 0 : weightAt(from, column);
      token.style.boxShadow = `inset 0 -${(5 * place(paid, most)).toFixed(1)}px var(--back)`;
      token.classList.toggle("here", key === hereAt);
      token.classList.toggle("sink", kind !== "row" && map.sinks[key]);
      token.setAttribute("aria-selected", String(key === hereAt));
    }
    line.setAttribute("aria-activedescendant", `${kind}-${hereAt}`);
  }
}

// ---- The enlarged head
let layout = { side: 0, top: 0, cell: 1 };
/** @type {HTMLElement[]} */
let lines = [];
/** Returns the positive weights with their indices, the largest first. @param {number} count
 * @param {(number: number) => number} weight @returns {Pair[]} */
function ordered(count, weight) {
  const found = list(count, (number) => /** @type {Pair} */ ([weight(number), number]));
  return found.filter(([value]) => value > 0).sort((one, other) => other[0] - one[0] || one[1] - other[1]);
}
/** @param {number} row */
const inRow = (row) => ordered(map.columns, (column) => weightAt(row, column));
/** @param {number} row */
function entropyText(row) {
  if (map.low[row] === UNTOLD) return "no attention";
  const [low, high] = [map.low[row] / ENTROPY_STEPS, map.high[row] / ENTROPY_STEPS]; // nats
  if (high - low >= 0.001) return `entropy ${low.toFixed(3)} to ${high.toFixed(3)} nats`;
  return `entropy ${low.toFixed(3)} nats, like uniform attention to ${Math.exp(low).toFixed(1)} keys`;
}
/** @param {string} title @param {string} quiet @param {Pair[]} found @param {string[]} names
 * @param {boolean} back */
function bars(title, quiet, found, names, back) {
  const rows = found.slice(0, STRONGEST).map(([weight, where]) => {
    const sink = !back && map.sinks[where];
    const bar = made("span", { class: `bar${back ? " back" : ""}${sink ? " sink" : ""}` });
    bar.style.width = `${Math.max(1, (100 * weight) / found[0][0])}%`;
    const key = made("span", { class: "key", title: names[where] }, readable(names[where]));
    if (sink) key.append(" (sink)");
    return made("li", {}, made("span", { class: "weight" }, weight.toFixed(digits)), bar, key);
  });
  const [heading, told] = [made("h3", {}, title), made("p", { class: "quiet" }, quiet)];
  return made("section", {}, heading, told, made("ol", { class: "bars" }, ...rows));
}
/** Shows the details of a cell until the pointer leaves. @param {number} row @param {number} column */
function look(row, column) {
  const { rowNames, columnNames, block } = record();
  const [cell, key] = [layout.cell, quoted(columnNames[column])];
  const paid = (block[0] * block[1] > 1 ? "up to " : "") + weightAt(row, column).toFixed(digits);
  const where = `${rowAxis()} ${quoted(rowNames[row])} → ${keyAxis()} ${key}`;
  at("readout").textContent = `${where}${map.sinks[column] ? " (sink)" : ""}: ${paid}`;
  put(first("#map .cursor"), { left: column * cell, top: row * cell, width: cell, height: cell });
  axes(row, column);
  colourTexts(row, column);
  const from = rowNames[row] ? `${quoted(rowNames[row])} looks at` : "What is looked at";
  const inColumn = ordered(map.rows, (number) => weightAt(number, column));
  at("lists").replaceChildren(
    bars(from, entropyText(row), inRow(row), columnNames, false),
    bars(`${key} is looked at by`, `weight from each ${rowAxis()}`, inColumn, rowNames, true),
  );
  for (const [number, line] of lines.entries()) line.setAttribute("aria-selected", String(number === row));
}
const lookBack = () => look(state.row, state.column);
/** Selects a cell. @param {number} row @param {number} column */
function pin(row, column) {
  Object.assign(state, { row, column });
  lookBack();
}
/** Writes the names on both axes that fit, and always the names of the shown row and column.
 * @param {number} row @param {number} column */
function axes(row, column) {
  const { cell, side, top } = layout;
  const every = Math.ceil(LETTER_HEIGHT / cell);
  /** @param {boolean} down @param {string[]} names @param {number} here */
  const write = (down, names, here) =>
    first(down ? "#map .rows" : "#map .columns").replaceChildren(
      ...names.flatMap((name, number) => {
        const near = Math.abs(number - here) * cell < LETTER_HEIGHT;
        if (number !== here && (number % every || near)) return [];
        const span = made("span", { title: name }, readable(name));
        span.classList.toggle("here", number === here);
        const from = (number + 0.5) * cell;
        put(span, down ? { top: top + from, width: side } : { left: side + from, height: top });
        span.classList.toggle("sink", !down && map.sinks[number]);
        return [span];
      }),
    );
  write(true, record().rowNames, row);
  write(false, record().columnNames, column);
}
function drawMap() {
  const one = record();
  const most = windowWidth() < NARROW ? 64 : NAMES_ROOM;
  const [side, top] = [one.rowNames, one.columnNames].map((names) =>
    Math.min(most, 12 + LETTER_WIDTH * Math.max(...names.map((name) => readable(name).length))),
  );
  const wide = clamp(windowWidth() - 40 - side, 200, WIDEST_MAP);
  const cell = clamp(Math.floor(wide / Math.max(map.columns, map.rows)), 1, LARGEST_CELL);
  layout = { side, top, cell };
  paintMap(canvas("one"), shades(map));
  const [width, height] = [map.columns * cell, map.rows * cell];
  put(at("one"), { width, height });
  put(first("#map .cells"), { left: side, top });
  put(at("map"), { width: side + width + 2, height: top + height + 2 });
  const what = `Heat map, ${map.rows} by ${map.columns}: ${rowAxis()} by ${keyAxis()}.`;
  at("one").setAttribute("aria-label", `${what} Arrow keys choose the cell whose weight is shown.`);
  at("caption").textContent = `rows: ${rowAxis()}, columns: ${keyAxis()}`;
}
/** @param {MouseEvent} event */
const cellAt = (event) => cellUnder(event, at("one"), map.rows, map.columns);
/** @param {KeyboardEvent} event */
function onMapKey(event) {
  const move = moved(event);
  if (!move) return;
  pin(clamp(state.row + move[0], 0, map.rows - 1), clamp(state.column + move[1], 0, map.columns - 1));
}
function table() {
  lines = [];
  if (!(/** @type {HTMLDetailsElement} */ (at("rows")).open)) return;
  const heads = [rowAxis(), "entropy", `strongest ${keyAxis()}s`].map((name) => made("th", {}, name));
  lines = list(map.rows, (row) => {
    const found = inRow(row);
    const button = made("button", { type: "button" }, readable(record().rowNames[row] || "0"));
    button.addEventListener("click", () => pin(row, found[0]?.[1] ?? 0));
    const keys = found
      .slice(0, TABLE_KEYS)
      .map(([weight, column]) => `${quoted(record().columnNames[column])} ${weight.toFixed(digits)}`);
    return made("tr", {}, ...[button, entropyText(row), keys.join(", ")].map((one) => made("td", {}, one)));
  });
  const head = made("thead", {}, made("tr", {}, ...heads));
  first("#rows .scroll").replaceChildren(made("table", {}, head, made("tbody", {}, ...lines)));
}

// ---- The page
/** @param {string} id @param {string} label @param {string[]} names @param {number} value */
function options(id, label, names, value) {
  const select = /** @type {HTMLSelectElement} */ (at(id));
  select.replaceChildren(...names.map((one, number) => made("option", { value: number }, one)));
  select.value = String(value);
  const around = /** @type {HTMLElement} */ (select.parentElement);
  around.hidden = names.length < 2;
  around.children[0].textContent = label;
}
function controls() {
  const one = record();
  const leads = one.axes.slice(0, -2).map((axis) => axis.name);
  const several = inGrid().length < records.length;
  const calls = several ? 1 + Math.max(...records.map((other) => other.call)) : 1;
  options("call", "call", list(calls, String), state.call);
  const batches = list(batchCount(one), (batch) => one.maps[batch * one.heads].lead.slice(0, -1).join(" / "));
  options("batch", leads.slice(0, -1).join(" / "), batches, state.batch);
  const layers = records.map((other) => [other.layer, siteName(other)].filter(Boolean).join(" · "));
  options("record", "layer", layers, state.record);
  const heads = list(one.heads, (head) => headLabel(one, head));
  options("head", one.lead?.name ?? "", heads, state.head);
}
async function show() {
  const one = record();
  state.head = clamp(state.head, 0, one.heads - 1);
  state.batch = Math.min(state.batch, batchCount(one) - 1);
  const maps = await unpacked(one);
  if (one !== record()) return; // another record was chosen in the meantime
  map = maps[state.head];
  if (state.row < 0 || state.row >= map.rows || state.column >= map.columns) {
    state.row = map.rows - 1;
    state.column = one.isSelf ? columnOf(state.row) : map.columns - 1;
  }
  at("title").textContent = at("pointed").textContent = told(one, state.head);
  at("site").textContent = siteName(one);
  at("notes").replaceChildren(...one.notes.map((note) => made("p", { class: "note" }, note)));
  controls();
  writeTexts();
  drawMap();
  legend();
  table();
  markGrid();
  lookBack();
}
async function redraw() {
  readColours();
  await drawGrid();
  await show();
}
/** @param {Recorded} one @param {number} head */
function choose(one, head) {
  const inside = inGrid().includes(one);
  Object.assign(state, { record: records.indexOf(one), head }, inside ? {} : { call: one.call });
  return inside ? show() : redraw();
}
function wire() {
  /** @param {string} id @param {string} kind @param {(event: any) => unknown} act */
  const on = (id, kind, act) => at(id).addEventListener(kind, act);
  /** @param {string} id @param {(value: number) => unknown} act */
  const chosen = (id, act) => on(id, "change", (event) => act(Number(event.target.value)));
  const say = (/** @type {{ one: Recorded, head: number }} */ { one, head }) => {
    at("pointed").textContent = told(one, head);
  };
  on("all", "pointermove", (event) => say(inGridAt(event)));
  on("all", "pointerleave", () => say({ one: record(), head: state.head }));
  on("all", "click", (event) => choose(inGridAt(event).one, inGridAt(event).head));
  on("all", "keydown", onGridKey);
  on("one", "pointermove", (event) => event.pointerType === "mouse" && look(...cellAt(event)));
  on("one", "pointerleave", lookBack);
  on("one", "click", (event) => pin(...cellAt(event)));
  on("one", "keydown", onMapKey);
  for (const name of ["each", "apart"])
    on(name, "change", (event) => {
      Object.assign(state, { [name]: event.target.checked });
      redraw();
    });
  chosen("call", (call) => {
    state.call = call;
    const shown = inGrid();
    choose(shown.find((one) => one.site === record().site) ?? shown[0], state.head).then(redraw);
  });
  chosen("batch", (batch) => {
    state.batch = batch;
    redraw();
  });
  chosen("record", (number) => choose(records[number], state.head));
  chosen("head", (head) => choose(record(), head));
  on("rows", "toggle", () => {
    table();
    lookBack();
  });
  for (const cell of document.querySelectorAll("#sites [data-record]")) {
    const one = records[Number(cell.getAttribute("data-record"))];
    const button = made("button", { type: "button" }, cell.textContent);
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
  if (!records.length) return;
  if (typeof DecompressionStream === "undefined") throw new Error("this browser cannot decompress them");
  state.call = records[0].call;
  at("view").hidden = false; // before drawing, because a hidden element has no size
  try {
    await redraw();
  } catch (error) {
    at("view").hidden = true;
    throw error;
  }
  at("still").hidden = true;
  wire();
}
const ready = start().catch((error) => {
  at("trouble").textContent = `The heat maps cannot be shown: ${error.message}.`;
  at("trouble").hidden = false;
});
Object.assign(window, { attnlensReady: ready });
