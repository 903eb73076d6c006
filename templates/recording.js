"use strict";
// The page is complete without this script; with it, any site, batch and head can be looked at.
(function () {
  const STRONGEST = 8, FULL_SCALE = 65535, WIDEST = 640, LARGEST_CELL = 26, NAMED = 64;
  const data = JSON.parse(document.getElementById("data").textContent);
  const state = { record: 0, batch: 0, head: 0, row: 0, column: 0, root: true };
  const unpacked = new Map();

  function made(name, text, attributes) {
    const node = document.createElement(name);
    if (text !== undefined && text !== null) node.textContent = text; // never as HTML: names are input
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    return node;
  }
  function number(value, digits) { return value.toFixed(digits === undefined ? 4 : digits); }

  async function inflated(text) {
    const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).arrayBuffer();
  }
  // Cells, entropies and strongest keys of one map, as the writer laid them out.
  async function mapOf(recordNumber, mapNumber) {
    const name = recordNumber + "/" + mapNumber;
    if (!unpacked.has(name)) {
      const record = data.records[recordNumber], told = record.maps[mapNumber];
      const rows = record.rows.length, columns = record.columns.length;
      const buffer = await inflated(told.packed);
      let at = 0;
      const take = (kind, count) => {
        const part = new kind(buffer, at, count);
        at += Math.ceil((count * kind.BYTES_PER_ELEMENT) / 4) * 4;
        return part;
      };
      unpacked.set(name, {
        rows, columns, top: told.top, lead: told.lead,
        cells: take(Uint16Array, rows * columns),
        low: take(Float32Array, rows), high: take(Float32Array, rows),
        places: take(Int32Array, rows * STRONGEST * 2), paid: take(Float32Array, rows * STRONGEST),
      });
    }
    return unpacked.get(name);
  }

  // The five colours of every heat map, from nothing to the darkest.
  function ends() {
    const style = getComputedStyle(document.documentElement);
    return [0, 1, 2, 3, 4].map((step) => style.getPropertyValue("--ramp" + step).trim());
  }
  function ramp() {
    const stops = ends().map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
    const table = new Uint8ClampedArray(256 * 3);
    for (let step = 0; step < 256; step++) {
      const place = (step / 255) * (stops.length - 1), low = Math.min(Math.floor(place), stops.length - 2);
      for (let part = 0; part < 3; part++)
        table[step * 3 + part] = stops[low][part] + (stops[low + 1][part] - stops[low][part]) * (place - low);
    }
    return table;
  }
  function draw(canvas, map) {
    canvas.width = map.columns;
    canvas.height = map.rows;
    const context = canvas.getContext("2d"), image = context.createImageData(map.columns, map.rows);
    const colours = ramp(), part = data.top > 0 ? map.top / data.top : 0; // one scale for all heads
    for (let at = 0; at < map.cells.length; at++) {
      const share = (map.cells[at] / FULL_SCALE) * part;
      const step = Math.round(255 * (state.root ? Math.sqrt(share) : share));
      for (let one = 0; one < 3; one++) image.data[at * 4 + one] = colours[step * 3 + one];
      image.data[at * 4 + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }

  function record() { return data.records[state.record]; }
  function heads() {
    const axes = record().axes, leads = axes.length - 2;
    return leads > 0 ? axes[leads - 1].size : 1;
  }
  function leadName(at) { const axes = record().axes; return axes.length - 2 > at && at >= 0 ? axes[at].name : ""; }
  function rowAxis() { const axes = record().axes; return axes.length > 1 ? axes[axes.length - 2].name : "row"; }
  function keyAxis() { const axes = record().axes; return axes[axes.length - 1].name; }
  function quoted(name) { return "“" + name + "”"; }

  function entropyText(map, row) {
    const low = map.low[row], high = map.high[row];
    if (Number.isNaN(low)) return "pays nothing";
    if (high - low < 0.001) return number(low, 3) + " nats, as " + number(Math.exp(low), 1) + " keys paid alike";
    return number(low, 3) + " to " + number(high, 3) + " nats";
  }
  function strongest(map, row) {
    const found = [];
    for (let at = row * STRONGEST; at < (row + 1) * STRONGEST; at++)
      if (map.places[at * 2 + 1] >= 0)
        found.push({ query: map.places[at * 2], key: map.places[at * 2 + 1], weight: map.paid[at] });
    return found;
  }
  function keyText(one) {
    const key = record().keys[one.key];
    return record().block[0] > 1 ? key + " (from " + record().queries[one.query] + ")" : key;
  }

  const page = {};
  function build() {
    const main = document.getElementById("view");
    main.replaceChildren();
    page.title = main.appendChild(made("h2", "", { tabindex: "-1" }));
    page.notes = main.appendChild(made("div"));
    const controls = main.appendChild(made("div", null, { class: "controls" }));
    page.batch = choice(controls, "batch", (value) => { state.batch = value; show(); });
    page.head = choice(controls, "head", (value) => { state.head = value; show(); });
    page.colour = choice(controls, "colour", (value) => { state.root = value === 0; show(); });
    page.colour.replaceChildren(
      made("option", "brings out small weights (square root)", { value: "0" }),
      made("option", "in proportion to the weight", { value: "1" }));
    page.heads = main.appendChild(made("div", null, { class: "heads", role: "group" }));
    const shown = main.appendChild(made("div", null, { class: "shown" }));
    const figure = shown.appendChild(made("figure"));
    const frame = figure.appendChild(made("div", null, { class: "frame" }));
    const grid = frame.appendChild(made("div", null, { class: "map" }));
    page.columnNames = grid.appendChild(made("div", null, { class: "names columns", "aria-hidden": "true" }));
    page.rowNames = grid.appendChild(made("div", null, { class: "names rows", "aria-hidden": "true" }));
    const cells = grid.appendChild(made("div", null, { class: "cells" }));
    page.canvas = cells.appendChild(made("canvas", null, { tabindex: "0", role: "application" }));
    page.cursor = cells.appendChild(made("div", null, { class: "cursor" }));
    page.readout = figure.appendChild(made("p", "", { class: "readout", role: "status", "aria-live": "polite" }));
    page.legend = figure.appendChild(made("figcaption", null, { class: "legend" }));
    page.row = shown.appendChild(made("section", null, { class: "row" }));
    page.table = main.appendChild(made("div", null, { class: "scroll tall", tabindex: "0", role: "region" }));
    page.canvas.addEventListener("keydown", onKey);
    page.canvas.addEventListener("pointermove", (event) => onPointer(event, false));
    page.canvas.addEventListener("pointerdown", (event) => onPointer(event, true));
    page.canvas.addEventListener("pointerleave", () => point(state.row, state.column));
  }
  function choice(parent, name, chosen) {
    const label = parent.appendChild(made("label", name + " "));
    const select = label.appendChild(made("select"));
    select.addEventListener("change", () => chosen(Number(select.value)));
    select.label = label;
    return select;
  }
  function options(select, name, names, value) {
    select.label.firstChild.textContent = name + " ";
    select.label.hidden = names.length < 2;
    select.setAttribute("aria-label", name);
    select.replaceChildren(...names.map((one, at) => made("option", one, { value: String(at) })));
    select.value = String(value);
  }

  let turn = 0; // only what was asked for last is drawn
  async function show() {
    const mine = ++turn, told = record(), width = heads();
    const batches = Math.max(1, Math.ceil(told.maps.length / width));
    state.batch = Math.min(state.batch, batches - 1);
    state.head = Math.min(state.head, width - 1);
    const first = state.batch * width, leads = told.axes.length - 2;
    const maps = await Promise.all(told.maps.slice(first, first + width).map((_, at) => mapOf(state.record, first + at)));
    if (mine !== turn) return;
    const map = maps[state.head];
    page.map = map;
    state.row = Math.min(state.row, map.rows - 1);
    state.column = Math.min(state.column, map.columns - 1);
    page.title.textContent = (told.site || "(the model itself)") + (told.calls > 1 ? ", call " + told.call : "");
    page.notes.replaceChildren(...told.notes.map((note) => made("p", note, { class: "note" })));
    const batchNames = Array.from({ length: batches }, (_, at) => told.maps[at * width].lead.slice(0, -1).join(" / "));
    options(page.batch, told.axes.slice(0, Math.max(0, leads - 1)).map((axis) => axis.name).join(" / "), batchNames, state.batch);
    options(page.head, leadName(leads - 1), maps.map((one) => one.lead[one.lead.length - 1] || ""), state.head);
    page.colour.value = state.root ? "0" : "1";
    page.heads.hidden = maps.length < 2;
    page.heads.setAttribute("aria-label", "every " + leadName(leads - 1));
    page.heads.replaceChildren(...(maps.length < 2 ? [] : maps).map((one, at) => {
      const button = made("button", null, { type: "button", "aria-pressed": String(at === state.head) });
      const small = button.appendChild(made("canvas", null, { "aria-hidden": "true" }));
      draw(small, one);
      if (Math.max(one.rows, one.columns) > NAMED) small.style.imageRendering = "auto"; // made smaller, not larger
      button.appendChild(made("span", leadName(leads - 1) + " " + one.lead[one.lead.length - 1]));
      button.addEventListener("click", async () => {
        state.head = at;
        await show();
        page.heads.children[at].focus();
      });
      return button;
    }));
    draw(page.canvas, map);
    page.cell = Math.max(1, Math.min(LARGEST_CELL, Math.floor(WIDEST / Math.max(map.rows, map.columns))));
    page.canvas.style.width = map.columns * page.cell + "px";
    page.canvas.style.height = map.rows * page.cell + "px";
    names(page.rowNames, told.rows, "height", map.rows);
    names(page.columnNames, told.columns, "width", map.columns);
    page.canvas.setAttribute("aria-label", "Heat map, " + map.rows + " by " + map.columns + ": " + rowAxis() +
      " by " + keyAxis() + ". Arrow keys move the cell that is read out.");
    const scale = made("i");
    scale.style.background = "linear-gradient(90deg," + ends().join(",") + ")";
    page.legend.replaceChildren(made("span", "0"), scale, made("span", number(data.top)),
      made("span", "on every map of this page; here at most " + number(map.top) + "; " + rowAxis() +
        " down, " + keyAxis() + " across"));
    for (const button of document.querySelectorAll("#sites button"))
      button.setAttribute("aria-current", String(Number(button.dataset.record) === state.record));
    table(map);
    point(state.row, state.column);
  }
  function names(parent, labels, side, count) {
    const room = count <= NAMED && page.cell >= 10;
    parent.replaceChildren(...(room ? labels : []).map((label) => {
      const span = made("span", label, { title: label });
      span.style[side] = span.style.lineHeight = page.cell + "px";
      return span;
    }));
  }
  function table(map) {
    const whole = made("table"), head = whole.appendChild(made("thead")).appendChild(made("tr"));
    page.table.setAttribute("aria-label", "Every " + rowAxis());
    head.append(made("th", rowAxis()), made("th", "entropy"), made("th", "strongest " + keyAxis() + "s"));
    const body = whole.appendChild(made("tbody"));
    for (let row = 0; row < map.rows; row++) {
      const line = body.appendChild(made("tr"));
      const button = made("button", record().rows[row] || "0", { type: "button" });
      button.addEventListener("click", () => point(row, (strongest(map, row)[0] || { key: 0 }).key / record().block[1] | 0));
      line.appendChild(made("td")).appendChild(button);
      line.appendChild(made("td", entropyText(map, row)));
      line.appendChild(made("td", strongest(map, row).slice(0, 4).map((one) => quoted(keyText(one)) + " " + number(one.weight, 3)).join(", ")));
    }
    page.lines = Array.from(body.children);
    page.table.replaceChildren(whole);
  }

  function readout(row, column) {
    const map = page.map, weight = (map.cells[row * map.columns + column] / FULL_SCALE) * map.top;
    const most = record().block[0] * record().block[1] > 1 ? "up to " : "";
    return rowAxis() + " " + quoted(record().rows[row]) + " → " + keyAxis() + " " +
      quoted(record().columns[column]) + ": " + most + number(weight);
  }
  function point(row, column) {
    const map = page.map;
    state.row = row;
    state.column = column;
    page.readout.textContent = readout(row, column);
    const place = page.cursor.style;
    place.left = column * page.cell + "px";
    place.top = row * page.cell + "px";
    place.width = place.height = page.cell + "px";
    for (const [parent, at] of [[page.rowNames, row], [page.columnNames, column]])
      Array.from(parent.children).forEach((one, number) => { one.className = number === at ? "here" : ""; });
    page.lines.forEach((line, at) => line.setAttribute("aria-selected", String(at === row)));
    const found = strongest(map, row), most = found.length ? found[0].weight : 1;
    const list = made("ol", null, { class: "bars" });
    for (const one of found) {
      const line = list.appendChild(made("li"));
      line.append(made("span", number(one.weight), { class: "weight" }), made("span", keyText(one), { class: "key" }));
      const bar = line.appendChild(made("span", null, { class: "bar" }));
      bar.style.width = Math.max(1, (100 * one.weight) / most) + "%";
    }
    page.row.replaceChildren(made("h3", rowAxis() + " " + quoted(record().rows[row])),
      made("p", "entropy " + entropyText(map, row), { class: "quiet" }), list);
  }
  function onPointer(event, keep) {
    const box = page.canvas.getBoundingClientRect(), map = page.map;
    const column = Math.min(map.columns - 1, Math.max(0, Math.floor((event.clientX - box.left) / page.cell)));
    const row = Math.min(map.rows - 1, Math.max(0, Math.floor((event.clientY - box.top) / page.cell)));
    if (keep) point(row, column);
    else page.readout.textContent = readout(row, column);
    page.canvas.title = readout(row, column);
  }
  function onKey(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -Infinity], End: [0, Infinity] };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    point(Math.min(page.map.rows - 1, Math.max(0, state.row + move[0])),
      Math.min(page.map.columns - 1, Math.max(0, state.column + move[1])));
  }

  async function start() {
    if (!data.records.length) return;
    if (typeof DecompressionStream === "undefined") throw new Error("it cannot unpack what is stored");
    const still = Array.from(document.getElementById("view").childNodes);
    build();
    try {
      await show();
    } catch (error) {
      document.getElementById("view").replaceChildren(...still);
      throw error;
    }
    Array.from(document.querySelectorAll("#sites [data-record]")).forEach((cell) => {
      const button = made("button", cell.textContent, { type: "button" });
      button.dataset.record = cell.dataset.record;
      button.setAttribute("aria-current", String(Number(cell.dataset.record) === state.record));
      button.addEventListener("click", async () => {
        state.record = Number(cell.dataset.record);
        await show();
        page.title.focus();
      });
      cell.replaceChildren(button);
    });
    if (typeof matchMedia === "function")
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show());
    if (typeof MutationObserver === "function")
      new MutationObserver(() => show()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }
  window.attnlensReady = start().catch((error) => {
    const note = document.getElementById("trouble");
    note.textContent = "This browser shows the first heat map only: " + error.message + ".";
    note.hidden = false;
  });
})();
