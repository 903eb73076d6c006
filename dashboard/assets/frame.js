// What Dash calls: which page an address means, and drawing a page once it is there.
(function () {
  const PATIENCE = 4000; // milliseconds after which a page that did not come is asked for again
  const state = { key: null, shown: null };
  const unquoted = (part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  };
  // One page for all balls of a match, and one for its story; `page_key` of the app has the same.
  const keyOf = (path) => {
    const [kind, ...rest] = String(path || "/")
      .split("/")
      .filter(Boolean)
      .map(unquoted);
    if (kind === "match" && rest.length) return `${rest.length > 1 ? "ball" : "story"}/${rest[0]}`;
    return [kind, ...(kind === "recording" ? rest.slice(0, 1) : rest)].join("/");
  };
  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    attnlens_dash: {
      page_key: (path) => {
        const key = keyOf(path);
        mark();
        if (key === state.key) {
          if (A.moved) A.moved();
          return window.dash_clientside.no_update;
        }
        state.key = key;
        setTimeout(() => awaited(key), PATIENCE);
        return key;
      },
      draw: (data) => {
        if (!data) return window.dash_clientside.no_update;
        A.leave.splice(0).forEach((done) => {
          done();
        });
        A.redraw = A.moved = null;
        A.forgetWidths();
        A.at("page").classList.remove("failed", "stale");
        document.body.dataset.page = data.page;
        wire();
        const title = document.querySelector("main h1");
        document.title = `${title ? `${title.textContent} | ` : ""}attnlens`;
        const draw = A.pages[data.page];
        if (draw) Promise.resolve(draw(data)).catch(fail);
        if (state.shown !== null) {
          A.at("page").focus({ preventScroll: true });
          window.scrollTo(0, 0);
        }
        state.shown = state.key;
        return data.page;
      },
    },
  });
  // A server that was away when another page was asked of it.
  async function awaited(key) {
    if (state.key !== key || state.shown === key) return;
    await A.fresh("/health").catch(() => null);
    if (state.key !== key || state.shown === key) return;
    window.dash_clientside.set_props("page-key", { data: key });
    setTimeout(() => awaited(key), PATIENCE);
  }
  /** As a link of Dash goes to another page: the address is there before that page looks at it. */
  A.go = (path) => {
    history.pushState({}, "", path);
    window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
    window.scrollTo(0, 0);
  };
  function mark() {
    const first = location.pathname.split("/")[1] || "";
    const here = first === "match" ? "" : first === "recording" ? "recordings" : first;
    A.all(".top nav a").forEach((link) => {
      if (link.getAttribute("href") === `/${here}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
  }
  function fail(error) {
    A.at("page").prepend(A.trouble(`Something went wrong: ${error.message}`));
  }

  let wired = false;
  function wire() {
    A.useTheme();
    mark();
    A.finder();
    document.querySelectorAll("[data-drop]").forEach(A.drop);
    if (wired) return;
    wired = true;
    A.at("theme-button").addEventListener("click", A.nextTheme);
    A.at("keys-button").addEventListener("click", help);
    document.addEventListener("keydown", (event) => {
      if (event.key === "?" && !A.typing(event)) help();
    });
  }
  /** Whether a key is for a field, not for the page. */
  A.typing = (event) => /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);

  const KEYS = [
    ["← →", "the ball before, the next"],
    ["⇧ ← →", "six balls"],
    ["Home End", "first and last ball"],
    ["Space", "play and stop"],
    ["[ ]", "the innings before, the next"],
    ["1 … 4", "scale: micro, short, medium, long"],
    ["v", "another view of the heads"],
    ["h", "enlarge the next head; Esc closes it"],
    ["Arrows in a heat map", "move the cell that is read out"],
    ["?", "this list"],
  ];
  function help() {
    const old = document.querySelector("dialog.keys");
    if (old) {
      old.remove();
      return;
    }
    const close = A.el("button", { type: "button", onclick: () => box.close() }, "Close");
    const box = A.el(
      "dialog",
      { class: "keys", "aria-label": "Keyboard" },
      A.el("h2", null, "Keyboard"),
      A.el(
        "dl",
        null,
        KEYS.map(([keys, what]) => [A.el("dt", null, A.el("kbd", null, keys)), A.el("dd", null, what)]),
      ),
      close,
    );
    box.addEventListener("close", () => {
      box.remove();
      A.at("keys-button").focus();
    });
    document.body.append(box);
    box.showModal();
    close.focus();
  }
})();
