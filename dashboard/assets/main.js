// Start-up: the theme, keyboard help, uploads, links, and the script of the current page.

import { ballPage } from "./ball.js";
import { all, at, el, fresh, get, isTyping, post, trouble } from "./core.js";

const MAX_UPLOAD = 32e6; // bytes
/** @typedef {{ page: string, key: string, models: string[] }} Shown */

// ---- The theme: the system's theme, unless the user chose another.
const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = () => localStorage.getItem("attnlens-theme") ?? "system";
function useTheme() {
  const chosen = theme() === "system" ? (dark.matches ? "dark" : "light") : theme();
  document.documentElement.dataset.theme = chosen;
  for (const button of all("#theme-button")) button.setAttribute("aria-label", `Theme: ${theme()}. Change`);
  for (const frame of all("iframe")) {
    const inner = /** @type {HTMLIFrameElement} */ (frame).contentDocument;
    if (inner) inner.documentElement.dataset.theme = chosen;
  }
  document.dispatchEvent(new Event("themechange"));
}
function nextTheme() {
  /** @type {Record<string, string>} */
  const after = { system: "light", light: "dark", dark: "system" };
  localStorage.setItem("attnlens-theme", after[theme()]);
  useTheme();
}
dark.addEventListener("change", useTheme);
useTheme();

// ---- The current page: its script runs until Dash shows another page.
let leave = new AbortController();
/** @type {Element | null} */
let content = null;
let signature = "";
function look() {
  const found = document.getElementById("content");
  const told = found?.dataset.shown ?? "";
  if (!found || (found === content && told === signature)) return;
  const isFirst = content === null;
  [content, signature] = [found, told];
  leave.abort();
  leave = new AbortController();
  const { signal } = leave; // kept here, because `leave` is replaced when another page is shown
  document.body.dataset.ready = document.body.dataset.tested = "no";
  /** @type {Shown} */
  const shown = JSON.parse(told);
  document.body.dataset.page = shown.page;
  document.title = `${document.querySelector("main h1")?.textContent ?? ""} | attnlens`;
  useTheme();
  const first = location.pathname.split("/")[1];
  for (const link of all(".top nav a")) {
    const own = link.getAttribute("href")?.slice(1) ?? "";
    const isHere = own === (first === "match" ? "" : first === "recording" ? "recordings" : first);
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  for (const frame of all("iframe")) frame.addEventListener("load", useTheme);
  for (const zone of all("[data-drop]")) uploads(zone);
  if (!isFirst) at("page").focus({ preventScroll: true });
  /** @type {Record<string, (page: any, signal: AbortSignal) => Promise<void>>} */
  const scripts = { ball: ballPage, story: storyPage, heads: headsPage };
  Promise.resolve(scripts[shown.page]?.(shown, signal))
    .then(() => scripts[shown.page] === ballPage || signal.aborted || finished())
    .catch((error) => signal.aborted || at("page").prepend(trouble(`Something went wrong: ${error.message}`)))
    .finally(() => signal.aborted || isFirst || window.scrollTo(0, history.state?.y || window.scrollY));
}
new MutationObserver(look).observe(document.body, {
  childList: true,
  subtree: true,
  attributes: true,
  attributeFilter: ["data-shown"],
});

/** Shows the story of a match: first without tests, then with tested reasons. @param {Shown} page
 * @param {AbortSignal} signal */
async function storyPage(page, signal) {
  const model = new URLSearchParams(location.search).get("model") ?? page.models[0];
  const path = `/data/${encodeURIComponent(page.key)}/story.json?model=${encodeURIComponent(model)}`;
  for (const part of ["&untested=1", ""]) {
    const story = await get(path + part, signal);
    if (signal.aborted) return;
    at("story").innerHTML = story.html;
    at("story-status").replaceChildren(
      part ? el("p", { class: "loading" }, "the reasons are being tested") : "",
    );
    document.body.dataset.ready = "yes";
    if (history.state?.y) window.scrollTo(0, history.state.y);
  }
}
/** Shows all heads across matches, or one head. @param {{ head: string }} page @param {AbortSignal} signal */
async function headsPage({ head }, signal) {
  const page = await get(`/heads.json?head=${encodeURIComponent(head)}`, signal);
  if (signal.aborted) return;
  at("story").innerHTML = page.html;
  document.title = `${document.querySelector("main h1")?.textContent ?? "Heads"} | attnlens`;
}
/** Marks the page as complete. */
function finished() {
  document.body.dataset.ready = document.body.dataset.tested = "yes";
}

// ---- Links: Dash shows the linked page, and the back button restores the scroll position.
document.addEventListener(
  "click",
  (event) => {
    const link = /** @type {Element} */ (event.target).closest("a[href^='/']");
    const isOurs = !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.button;
    if (!link || !isOurs || link.hasAttribute("download")) return;
    history.replaceState({ ...history.state, y: window.scrollY }, "");
    if (link.closest("#story, #score")) {
      event.preventDefault();
      go(link.getAttribute("href") ?? "/");
    }
  },
  true,
);
/** @param {string} path */
function go(path) {
  history.pushState({}, "", path);
  window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
}

// ---- Uploads, with the button or by dropping a file.
/** @param {HTMLElement} zone */
function uploads(zone) {
  if (zone.dataset.wired) return;
  zone.dataset.wired = "yes";
  const [message, label] = [zone.querySelector("p"), zone.querySelector("label")];
  if (!message || !label) return;
  const input = el("input", { type: "file" });
  label.append(input);
  const upload = async (/** @type {File | undefined} */ file) => {
    if (!file) return;
    message.className = "loading";
    message.textContent = `Reading ${file.name}`;
    try {
      const larger = `larger than 32 MB; open the file in the terminal: attnlens dashboard ${file.name}`;
      if (file.size > MAX_UPLOAD) throw new Error(larger);
      const name = encodeURIComponent(file.name);
      const opened = await post(
        `/upload/${zone.dataset.drop}?name=${name}`,
        file,
        "application/octet-stream",
      );
      go(opened.path);
    } catch (error) {
      message.className = "trouble";
      message.textContent = /** @type {Error} */ (error).message;
    }
    input.value = "";
  };
  input.addEventListener("change", () => upload(input.files?.[0]));
  zone.addEventListener("dragover", (event) => event.preventDefault());
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    upload(event.dataTransfer?.files[0]);
  });
}

// ---- Buttons and keys of all pages.
document.addEventListener("click", (event) => {
  const node = /** @type {Element} */ (event.target);
  if (node.closest("#theme-button")) nextTheme();
  if (node.closest("#keys-button, #keys-close")) help();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "?" && !isTyping(event)) help();
});
function help() {
  const dialog = /** @type {HTMLDialogElement} */ (at("keys"));
  if (dialog.open) dialog.close();
  else dialog.showModal();
}
// Open all collapsed sections before printing, because closed ones would be missing on paper.
window.addEventListener("beforeprint", () => {
  for (const folded of all("details")) /** @type {HTMLDetailsElement} */ (folded).open = true;
});
/** The server was unavailable when Dash requested a page: wait for the server, then reload. */
window.addEventListener("unhandledrejection", async () => {
  if (document.getElementById("content")) return;
  await fresh("/health").catch(() => null);
  location.reload();
});
look();
