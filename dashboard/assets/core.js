// What every script uses: elements, words, fetching, the theme, and words at the pointer.
/** What the files of the page share. */
const A = { pages: {}, leave: [] };
(function () {
  // ---- What every picture uses: elements, words, saying aloud, widths.
  const SVG = "http://www.w3.org/2000/svg";
  A.outcomes = ["0", "1", "2", "3", "4", "5", "6", "W", "wd", "nb", "bye"];
  A.outcomeNames = {
    0: "dot",
    1: "one",
    2: "two",
    3: "three",
    4: "four",
    5: "five",
    6: "six",
    W: "wicket",
    wd: "wide",
    nb: "no-ball",
    bye: "byes",
  };
  A.marks = { 0: "·", wd: "wd", nb: "nb", bye: "b" };

  // Elements. Text is never taken as HTML: names are input.
  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (name === "class") node.setAttribute("class", value);
      else if (name === "style") node.style.cssText = value;
      else node.setAttribute(name, value === true ? "" : String(value));
    }
    node.append(
      ...children
        .flat(3)
        .filter((child) => child !== null && child !== undefined && child !== false)
        .map((child) => (child instanceof Node ? child : String(child))),
    );
    return node;
  }
  A.el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  A.svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
  const tagged =
    (tag) =>
    (kind, ...children) =>
      A.el(tag, kind ? { class: kind } : null, ...children);
  A.div = tagged("div");
  A.span = tagged("span");
  A.p = tagged("p");
  A.b = tagged("b");
  A.small = tagged("small");
  A.li = tagged("li");
  A.ul = tagged("ul");
  A.h3 = tagged("h3");
  /** A button that does something; `more` are its other attributes. */
  A.button = (text, onclick, more) => A.el("button", { type: "button", onclick, ...more }, text);
  A.loading = (text) => A.p("loading", text);
  A.trouble = (text, ...more) => A.el("p", { class: "trouble", role: "alert" }, text, ...more);
  /** Listens as long as the page is shown. */
  A.on = (target, name, action) => {
    target.addEventListener(name, action);
    A.leave.push(() => target.removeEventListener(name, action));
  };
  A.at = (id) => document.getElementById(id);
  /** @type {(selector: string) => HTMLElement[]} */
  A.all = (selector) => [...document.querySelectorAll(selector)].map((node) => /** @type {any} */ (node));
  A.put = (id, ...children) => {
    const node = A.at(id);
    if (node) node.replaceChildren(...children.flat(2).filter(Boolean));
    return node;
  };

  // Words and numbers.
  A.percent = (p, fine) => {
    const value = 100 * p;
    if (value > 0 && value < 0.5 && !fine) return "<1%";
    return `${value.toFixed(fine || value < 9.95 ? 1 : 0)}%`;
  };
  A.signed = (points, digits) => {
    const text = Math.abs(points).toFixed(digits === undefined ? 1 : digits);
    return Number(text) === 0 ? text : (points < 0 ? "−" : "+") + text;
  };
  A.words = (name) => String(name).replace(/_/g, " ").replace("batsman", "batter");
  A.count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
  A.short = (name) => {
    const parts = String(name).split(" ");
    return parts.length > 1 ? parts[parts.length - 1] : name;
  };
  /** "Herons 133/9", as a tab or a link names an innings. */
  A.inningsName = (innings) => [
    innings.super_over ? "super over, " : null,
    A.el("bdi", null, innings.batting),
    A.small(null, ` ${innings.total}/${innings.wickets}`),
  ];
  A.ballPath = (key, innings, ball) => `/match/${encodeURIComponent(key)}/innings/${innings}/ball/${ball}`;
  /** Acts once there has been no call for so many milliseconds. */
  A.debounce = (action, wait) => {
    let timer = 0;
    return () => {
      clearTimeout(timer);
      timer = setTimeout(action, wait);
    };
  };

  // Bytes as the server packed them.
  A.bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  A.floats = (text) => new Float32Array(A.bytes(text).buffer);

  // Saying aloud, and in a corner.
  A.say = (text) => {
    const node = A.at("say");
    if (node) node.textContent = text;
  };
  let fading = 0;
  A.toast = (text) => {
    const node = A.at("toast");
    node.textContent = text;
    node.className = "shown";
    A.say(text);
    clearTimeout(fading);
    fading = setTimeout(() => {
      node.className = "";
    }, 2400);
  };

  // Widths are cached: reading one between changes would lay the whole page out each time.
  const widths = new Map();
  A.forgetWidths = () => widths.clear();
  A.width = (id, minimum) => {
    if (!widths.has(id)) widths.set(id, Math.max(minimum, Math.floor(A.at(id).clientWidth)));
    return widths.get(id);
  };

  // ---- Fetching: answers are cached, and a server that is away is waited for.
  const MAX_CACHED_ANSWERS = 160;
  const PAUSES = [400, 800, 1500, 3000]; // milliseconds between two tries, the last for good
  const AWAY = "the server does not answer; it is asked again";
  let unanswered = 0; // requests that wait for a server which is away
  const cache = new Map();
  A.cached = (url) => cache.get(url);

  const pause = (signal, ms) =>
    new Promise((done, failed) => {
      const timer = setTimeout(done, ms);
      signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        failed(signal.reason);
      });
    });
  /**
   * An answer, requested until the server is there and has time.
   * @param {string} url
   * @param {RequestInit} options
   */
  async function request(url, options) {
    let waits = false;
    try {
      for (let attempt = 0; ; attempt++) {
        try {
          const response = await fetch(url, options);
          if (![502, 503, 504].includes(response.status)) return response;
        } catch (error) {
          if (options.signal?.aborted) throw error;
          if (!waits) unanswered++;
          waits = true;
          A.away(AWAY);
        }
        await pause(options.signal, PAUSES[Math.min(attempt, PAUSES.length - 1)]);
      }
    } finally {
      // Answered or aborted: the line goes with the last request that waits.
      if (waits && --unanswered === 0 && A.at("toast")?.textContent === AWAY) A.away(null);
    }
  }
  // One line on every page while the server is away.
  A.away = (text) => {
    const node = A.at("toast");
    if (text && node.textContent !== text) A.say(text);
    node.textContent = text || "";
    node.className = text ? "shown" : "";
  };

  async function jsonOf(response) {
    const value = await response.json().catch(() => ({ error: `the server said ${response.status}` }));
    if (!response.ok) throw new Error(value.error || `the server said ${response.status}`);
    return value;
  }
  /**
   * Plain data.
   * @param {string} url
   * @param {AbortSignal} [signal] given up with it
   */
  A.get = async (url, signal) => {
    if (cache.has(url)) return cache.get(url);
    const value = await jsonOf(await request(url, { signal }));
    cache.set(url, value);
    if (cache.size > MAX_CACHED_ANSWERS) cache.delete(cache.keys().next().value);
    return value;
  };
  /** The same, without the cache. */
  A.fresh = async (url, signal) => jsonOf(await request(url, { signal, cache: "no-store" }));
  A.post = async (url, body, type) => {
    const headers = { "X-Attnlens": "1", "Content-Type": type || "application/json" };
    return jsonOf(await request(url, { method: "POST", body, headers }));
  };

  // Each request names the model, and the state of a match that is still being played.
  const versions = new Map();
  A.query = (key, model) =>
    `?model=${encodeURIComponent(model)}${versions.get(key) ? `&v=${versions.get(key)}` : ""}`;
  A.atVersion = (key, version) => {
    const newer = (versions.get(key) || 0) < version;
    if (newer) versions.set(key, version);
    return newer;
  };

  // ---- Colours by name from the style sheet, and the theme.
  A.colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  // Theme: the system's, unless somebody chose.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  A.theme = () => localStorage.getItem("attnlens-theme") || "system";
  A.isDark = () => (A.theme() === "system" ? dark.matches : A.theme() === "dark");
  A.useTheme = () => {
    document.documentElement.dataset.theme = A.isDark() ? "dark" : "light";
    A.forgetRamp?.();
    const button = A.at("theme-button");
    if (button) {
      button.textContent = { system: "◐", light: "☀", dark: "☾" }[A.theme()];
      button.title = `Theme: ${A.theme()}`;
      button.setAttribute("aria-label", `Theme: ${A.theme()}. Change`);
    }
    /** @type {HTMLIFrameElement} */
    const inner = document.querySelector("iframe.recording");
    if (inner?.contentDocument)
      inner.contentDocument.documentElement.dataset.theme = document.documentElement.dataset.theme;
    if (A.redraw) A.redraw();
  };
  dark.addEventListener("change", () => A.useTheme());
  A.useTheme();
  A.nextTheme = () => {
    const next = { system: "light", light: "dark", dark: "system" }[A.theme()];
    localStorage.setItem("attnlens-theme", next);
    A.useTheme();
  };

  // ---- What is under the pointer, or the finger, in words.
  const TOUCH_TIP = 3000; // milliseconds after a finger was lifted
  let box = null;
  let hiding = 0;

  const hide = () => box?.classList.remove("shown");
  function show(text, x, y) {
    if (!box) {
      box = A.el("div", { id: "pointed", "aria-hidden": "true" });
      document.body.append(box);
    }
    box.textContent = text;
    box.classList.add("shown");
    const half = box.offsetWidth / 2 + 6;
    box.style.left = `${Math.max(half, Math.min(innerWidth - half, x))}px`;
    box.style.top = `${y < box.offsetHeight + 24 ? y + 24 : y - box.offsetHeight - 14}px`;
  }
  /**
   * Shows words at the pointer.
   * @param {Element} node
   * @param {(event: PointerEvent) => string | null} words
   */
  A.tip = (node, words) => {
    const point = (event) => {
      clearTimeout(hiding);
      const text = words(event);
      if (text) show(text, event.clientX, event.clientY);
      else hide();
      if (event.pointerType === "touch") hiding = setTimeout(hide, TOUCH_TIP);
    };
    node.addEventListener("pointermove", point);
    node.addEventListener("pointerdown", point);
    node.addEventListener("pointerleave", (event) => {
      if (/** @type {PointerEvent} */ (event).pointerType !== "touch") hide();
    });
  };
  document.addEventListener("scroll", hide, { passive: true, capture: true });
})();
