// Runs the script of a recording's page as a browser would, in just enough of a browser to hear
// what it writes. Usage: node view_page.js PAGE.html; prints what the page then says as JSON.
"use strict";
const text = require("fs").readFileSync(process.argv[2], "utf8");
const stored = /<script type="application\/json" id="data">([^]*?)<\/script>/.exec(text)[1];
const script = /<\/script>\n<script>([^]*?)<\/script>/.exec(text)[1];

class Node_ {
  constructor(name) {
    Object.assign(this, { name, nodes: [], attributes: {}, style: {}, dataset: {}, listeners: {}, hidden: false, own: "" });
  }
  set textContent(value) { this.nodes = []; this.own = String(value); }
  get textContent() { return this.own + this.nodes.map((one) => one.textContent).join(""); }
  get children() { return this.nodes; }
  get childNodes() { return this.nodes; }
  get firstChild() {
    const label = this;
    return this.own ? { set textContent(value) { label.own = value; } } : this.nodes[0];
  }
  setAttribute(key, value) { this.attributes[key] = String(value); if (key === "value") this.value = value; }
  appendChild(node) { this.nodes.push(node); return node; }
  append(...nodes) { this.nodes.push(...nodes); }
  replaceChildren(...nodes) { this.own = ""; this.nodes = nodes; }
  addEventListener(kind, action) { this.listeners[kind] = action; }
  focus() { document.focused = this; }
  getBoundingClientRect() { return { left: 10, top: 20 }; }
  getContext() {
    const node = this;
    return {
      createImageData: (width, height) => ({ data: new Uint8ClampedArray(width * height * 4) }),
      putImageData: (image) => { node.pixels = image.data; },
    };
  }
  find(test) { return [...(test(this) ? [this] : []), ...this.nodes.flatMap((one) => one.find(test))]; }
}
const byId = { data: new Node_("script"), view: new Node_("main"), trouble: new Node_("p"), sites: new Node_("table") };
byId.data.textContent = stored;
for (const [, at] of text.matchAll(/data-record="(\d+)"/g)) {
  const cell = byId.sites.appendChild(new Node_("td"));
  cell.dataset.record = at;
  cell.textContent = "site " + at;
}
globalThis.document = {
  getElementById: (id) => byId[id],
  createElement: (name) => new Node_(name),
  documentElement: {},
  querySelectorAll: (which) => byId.sites.find((one) => (which.endsWith("button") ? one.name === "button" : one.name === "td")),
};
globalThis.window = globalThis;
globalThis.getComputedStyle = () => ({ getPropertyValue: (name) => ({ "--ramp0": " #ffffff", "--ramp4": "#08306b" })[name] || "#7fb5da" });

const one = (test) => byId.view.find(test)[0];
const said = () => ({
  title: one((node) => node.name === "h2").textContent,
  notes: byId.view.find((node) => node.attributes.class === "note").map((node) => node.textContent),
  readout: one((node) => node.attributes.class === "readout").textContent,
  heads: byId.view.find((node) => node.name === "button" && "aria-pressed" in node.attributes).map((node) => node.textContent),
  rows: byId.view.find((node) => node.name === "tbody")[0].children.map((line) => line.children.map((cell) => cell.textContent)),
  row: one((node) => node.attributes.class === "row").textContent,
  bars: byId.view.find((node) => node.name === "li").map((line) => line.children.slice(0, 2).map((part) => part.textContent)),
  canvas: (({ width, height, pixels }) => ({ width, height, first: Array.from(pixels.slice(0, 8)) }))(
    one((node) => node.name === "canvas" && node.attributes.role === "application")),
});
(async () => {
  new Function(script)();
  await globalThis.attnlensReady;
  if (byId.trouble.textContent) throw new Error(byId.trouble.textContent);
  const pages = [];
  for (const button of document.querySelectorAll("#sites button")) {
    await button.listeners.click();
    pages.push(said());
  }
  await document.querySelectorAll("#sites button")[0].listeners.click();
  const canvas = one((node) => node.name === "canvas" && node.attributes.role === "application");
  const keys = [];
  for (const key of ["End", "ArrowDown", "ArrowDown", "ArrowLeft", "PageUp", "Home", "ArrowLeft"]) {
    canvas.listeners.keydown({ key, preventDefault() {} });
    keys.push(said().readout);
  }
  canvas.listeners.pointerdown({ clientX: 10 + 26 * 3 + 5, clientY: 20 + 26 * 4 + 5 });
  const pressed = said().readout;
  const heads = byId.view.find((node) => node.name === "button" && "aria-pressed" in node.attributes);
  await heads[heads.length - 1].listeners.click();
  await new Promise((done) => setTimeout(done, 50));
  const markup = byId.view.find((node) => ["script", "b", "img"].includes(node.name)).length;
  console.log(JSON.stringify({ pages, keys, pressed, lastHead: said(), markup, focused: document.focused.textContent }));
})().catch((error) => { console.error(error); process.exit(1); });
