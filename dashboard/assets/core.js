// Functions shared by all scripts: elements, number formats, requests, announcements and tooltips.
/** @typedef {string | number | boolean | null | undefined | ((event: any) => void)} Value */
/** @typedef {Record<string, Value>} Attributes */
/** @typedef {Node | string | number | null | undefined | false} Child */
const SVG = "http://www.w3.org/2000/svg";

// ---- Elements. Children that are text are never parsed as HTML, because names are user input.
/** @template {Element} Kind @param {Kind} node @param {Attributes} attributes
 * @param {(Child | Child[])[]} children */
function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat())
    if (child !== null && child !== undefined && child !== false)
      node.append(child instanceof Node ? child : String(child));
  return node;
}
/** @template {keyof HTMLElementTagNameMap} Tag @param {Tag} tag @param {Attributes} [attributes]
 * @param {(Child | Child[])[]} children @returns {HTMLElementTagNameMap[Tag]} */
export const el = (tag, attributes, ...children) =>
  filled(document.createElement(tag), attributes ?? {}, children);
/** @template {keyof SVGElementTagNameMap} Tag @param {Tag} tag @param {Attributes} [attributes]
 * @param {(Child | Child[])[]} children @returns {SVGElementTagNameMap[Tag]} */
export const svg = (tag, attributes, ...children) =>
  filled(document.createElementNS(SVG, tag), attributes ?? {}, children);
/** @param {string} id @returns {HTMLElement} */
export function at(id) {
  const node = document.getElementById(id);
  if (!node) throw new Error(`the page has no ${id}`);
  return node;
}
/** @param {string} selector @param {ParentNode} [within] */
export const all = (selector, within = document) =>
  /** @type {HTMLElement[]} */ ([...within.querySelectorAll(selector)]);
/** Creates a button that calls `onclick`. @param {Child} text @param {(event: any) => void} onclick
 * @param {Attributes} [more] */
export const button = (text, onclick, more) => el("button", { type: "button", onclick, ...more }, text);
/** @param {string} text @param {Child[]} more */
export const trouble = (text, ...more) => el("p", { class: "trouble", role: "alert" }, text, more);
/** Returns a function that calls `action` after `wait` milliseconds without another call.
 * @param {() => void} action @param {number} wait */
export function debounced(action, wait) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = window.setTimeout(action, wait);
  };
}
/** Whether an event belongs to a form field, so that the page ignores the key. @param {Event} event */
export const isTyping = (event) =>
  /^(INPUT|SELECT|TEXTAREA)$/.test(/** @type {Element} */ (event.target).tagName);

/** Makes all buttons of a box one tab stop; the arrow keys up and down move between the buttons.
 * @param {HTMLElement} box */
export function oneStop(box) {
  const buttons = () => /** @type {HTMLElement[]} */ ([...box.querySelectorAll("button:not([hidden])")]);
  const enter = (/** @type {Element | null | undefined} */ chosen) => {
    for (const button of buttons()) button.tabIndex = button === chosen ? 0 : -1;
  };
  const settle = () => enter(buttons().find((button) => button.tabIndex === 0) ?? buttons()[0]);
  new MutationObserver(settle).observe(box, { childList: true, subtree: true, attributeFilter: ["hidden"] });
  box.addEventListener("focusin", (event) => enter(/** @type {Element} */ (event.target).closest("button")));
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = buttons();
    all[all.indexOf(/** @type {HTMLElement} */ (document.activeElement)) + step]?.focus();
  });
}

// ---- Numbers.
/** @param {number} share @param {boolean} [fine] */
export function percent(share, fine) {
  const value = 100 * share;
  if (value > 0 && value < 0.5 && !fine) return "<1%";
  return `${value.toFixed(fine || value < 9.95 ? 1 : 0)}%`;
}
/** @param {number} points */
export function signed(points) {
  const text = Math.abs(points).toFixed(1);
  return Number(text) === 0 ? text : (points < 0 ? "−" : "+") + text;
}
/** @param {string} text */
export const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
/** @param {string} text */
export const floats = (text) => new Float32Array(bytes(text).buffer);

// ---- Messages for screen readers, short messages at the bottom of the page, and tooltips.
/** @param {string} text */
export const say = (text) => {
  at("say").textContent = text;
};
const TOAST = 2400; // milliseconds
let fading = 0;
/** @param {string} text @param {boolean} [stays] whether the text stays until the next */
export function toast(text, stays) {
  const node = at("toast");
  if (node.textContent !== text) say(text);
  node.textContent = text;
  node.className = text ? "shown" : "";
  clearTimeout(fading);
  if (!stays) fading = window.setTimeout(() => node.classList.remove("shown"), TOAST);
}
document.addEventListener(
  "pointerdown",
  () => document.getElementById("pointed")?.classList.remove("shown"),
  true,
);
/** Adds a tooltip to an element; `words` returns its text, or null for no tooltip. @param {Element} node
 * @param {(event: PointerEvent) => string | null} words */
export function tip(node, words) {
  const hide = () => at("pointed").classList.remove("shown");
  // A lifted finger also leaves the node; its tooltip stays until the next touch.
  node.addEventListener("pointerleave", (event) => {
    if (/** @type {PointerEvent} */ (event).pointerType !== "touch") hide();
  });
  for (const name of ["pointermove", "pointerdown"])
    node.addEventListener(name, (event) => {
      const pointer = /** @type {PointerEvent} */ (event);
      const [text, box] = [words(pointer), at("pointed")];
      if (!text) return hide();
      box.textContent = text;
      box.classList.add("shown");
      const half = Math.ceil(box.offsetWidth / 2) + 6;
      box.style.left = `${Math.max(half, Math.min(innerWidth - half, pointer.clientX))}px`;
      const above = pointer.clientY - box.offsetHeight - 14;
      box.style.top = `${above < 0 ? pointer.clientY + 24 : above}px`;
    });
}

// ---- Requests: answers are cached, and a request is repeated until the server answers.
const MAX_KEPT = 160;
const PAUSES = [400, 800, 1500, 3000]; // milliseconds between two attempts; the last pause is repeated
const AWAY = "the server does not answer; trying again";
const BUSY = "the server is busy; trying again";
let waiting = 0;
/** @type {Map<string, any>} */
const kept = new Map();
/** @param {string} url */
export const cached = (url) => kept.get(url);

/** @param {AbortSignal | null | undefined} signal @param {number} ms */
const pause = (signal, ms) =>
  new Promise((done, failed) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      failed(signal.reason);
    });
  });
/** Repeats a request until the server is available, and returns the response. @param {string} url
 * @param {RequestInit} options */
async function answer(url, options) {
  let waits = false;
  try {
    for (let attempt = 0; ; attempt++) {
      let reason = BUSY;
      try {
        const response = await fetch(url, options);
        if (![502, 503, 504].includes(response.status)) return response;
      } catch (error) {
        if (options.signal?.aborted) throw error;
        reason = AWAY;
      }
      if (!waits) waiting++;
      waits = true;
      toast(reason, true);
      await pause(options.signal, PAUSES[Math.min(attempt, PAUSES.length - 1)]);
    }
  } finally {
    if (waits && --waiting === 0 && [AWAY, BUSY].includes(at("toast").textContent)) toast("");
  }
}
/** Requests JSON, by default without a cache. @param {string} url @param {RequestInit} [options] */
export async function fresh(url, options = {}) {
  const response = await answer(url, { cache: "no-store", ...options });
  // The body may be cut off, or its request aborted, after the status has arrived.
  const value = await response.json().catch(() => null);
  if (!response.ok) throw new Error(value?.error || `the server answered with status ${response.status}`);
  if (value === null) throw new Error("the server's answer was cut off");
  return value;
}
/** Requests JSON, and keeps it for the next call with the same URL.
 * @param {string} url @param {AbortSignal} [signal] */
export async function get(url, signal) {
  if (kept.has(url)) return kept.get(url);
  const value = await fresh(url, { signal, cache: "default" });
  kept.set(url, value);
  if (kept.size > MAX_KEPT) kept.delete(/** @type {string} */ (kept.keys().next().value));
  return value;
}
/** @param {string} url @param {BodyInit} body @param {string} type */
export const post = (url, body, type) =>
  fresh(url, { method: "POST", body, headers: { "X-Attnlens": "1", "Content-Type": type } });
