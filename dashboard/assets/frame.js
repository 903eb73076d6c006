// What Dash calls, the menu, finding a player or a match, and uploads.
(function () {
  // ---- What Dash calls: which page an address means, and drawing a page once it is there.
  const PAGE_TIMEOUT = 4000; // milliseconds after which a page that did not come is requested again
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
        setTimeout(() => requestAgain(key), PAGE_TIMEOUT);
        return key;
      },
      draw: (data) => {
        if (!data) return window.dash_clientside.no_update;
        A.leave.splice(0).forEach((end) => {
          end();
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
  // The server was away when another page was requested.
  async function requestAgain(key) {
    if (state.key !== key || state.shown === key) return;
    await A.fresh("/health").catch(() => null);
    if (state.key !== key || state.shown === key) return;
    window.dash_clientside.set_props("page-key", { data: key });
    setTimeout(() => requestAgain(key), PAGE_TIMEOUT);
  }
  /** As a link of Dash goes to another page: the address is there before that page looks at it. */
  A.go = (path) => {
    history.pushState({}, "", path);
    window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
    window.scrollTo(0, 0);
  };
  // Links to other pages of the dashboard: nothing is loaded again.
  document.addEventListener("click", (event) => {
    const link = /** @type {Element} */ (event.target).closest("a[href^='/']");
    if (!link || link.hasAttribute("download") || event.defaultPrevented) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    A.go(link.getAttribute("href"));
  });
  function mark() {
    const first = location.pathname.split("/")[1] || "";
    const current = first === "match" ? "" : first === "recording" ? "recordings" : first;
    A.all(".top nav a").forEach((link) => {
      if (link.getAttribute("href") === `/${current}`) link.setAttribute("aria-current", "page");
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
    A.at("keys-close").addEventListener("click", help);
    document.addEventListener("keydown", (event) => {
      if (event.key === "?" && !A.typing(event)) help();
    });
  }
  /** Whether a key is for a field, not for the page. */
  A.typing = (event) => /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);

  function help() {
    /** @type {HTMLDialogElement} */
    const box = document.querySelector("dialog.keys");
    if (box.open) box.close();
    else box.showModal();
  }

  // ---- A player or a match found by a part of the name, from any page.
  const TYPING_PAUSE = 180; // milliseconds
  let request = null;

  A.finder = () => {
    if (A.at("find-text")) return;
    const list = A.el("ul", { id: "found", class: "menu-list", hidden: true });
    const input = A.el("input", {
      type: "search",
      id: "find-text",
      placeholder: "find a player, a match",
      "aria-label": "Find a player or a match",
      autocomplete: "off",
      maxlength: 80,
      oninput: A.debounce(() => find(input, list), TYPING_PAUSE),
      onkeydown: (event) => {
        const links = [...list.querySelectorAll("a")];
        if (event.key === "Escape") list.hidden = true;
        else if (event.key === "Enter" && links[0]) links[0].click();
        else if (event.key === "ArrowDown" && links[0]) links[0].focus();
        else return;
        event.preventDefault();
      },
    });
    list.addEventListener("keydown", (event) => {
      const next = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
      const row = document.activeElement?.parentElement;
      event.stopPropagation();
      if (event.key === "Escape") {
        list.hidden = true;
        input.focus();
      } else if (next) {
        event.preventDefault();
        (row?.[next]?.firstElementChild || input).focus();
      }
    });
    const box = A.at("find");
    box.addEventListener("focusout", (event) => {
      if (!box.contains(event.relatedTarget)) list.hidden = true;
    });
    box.replaceChildren(input, list);
  };

  async function find(input, list) {
    request?.abort();
    request = new AbortController();
    const text = input.value.trim();
    if (!text) {
      list.hidden = true;
      return;
    }
    const [kind, key] = location.pathname.split("/").filter(Boolean);
    const match = kind === "match" ? `&match=${key}` : "";
    const path = `/find.json?text=${encodeURIComponent(text)}${match}`;
    const rows = await A.fresh(path, request.signal).catch(() => null);
    if (!rows) return;
    const hit = (row) => {
      const onclick = () => {
        list.hidden = true;
        input.value = "";
      };
      const link = A.el("a", { href: row.href, onclick }, A.b(null, row.text), " ", A.small(null, row.more));
      return A.li(null, link);
    };
    list.replaceChildren(
      ...(rows.length ? rows.map(hit) : [A.li("empty", "nobody, and no match, of that name")]),
    );
    list.hidden = false;
    A.say(A.count(rows.length, "result"));
  }

  // ---- Uploading a file, by button or by dropping, and what was uploaded before.
  A.drop = (zone) => {
    if (zone.dataset.wired) return;
    zone.dataset.wired = "1";
    const message = zone.querySelector(".drop-message"),
      button = zone.querySelector("button");
    const input = A.el("input", { type: "file", hidden: true, "aria-hidden": "true", tabindex: -1 });
    zone.append(input);
    button.addEventListener("click", () => input.click());
    input.addEventListener("change", () => input.files[0] && upload(input.files[0]));
    zone.addEventListener("dragover", (event) => {
      event.preventDefault();
      zone.classList.add("over");
    });
    zone.addEventListener("dragleave", () => zone.classList.remove("over"));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      if (event.dataTransfer.files[0]) upload(event.dataTransfer.files[0]);
    });
    async function upload(file) {
      message.className = "drop-message";
      message.textContent = `Reading ${file.name} …`;
      button.disabled = true;
      try {
        if (file.size > 32e6)
          throw new Error(
            `the file is larger than 32 MB: name it in the terminal, attnlens dashboard ${file.name}`,
          );
        const kind = zone.dataset.drop;
        const opened = await A.post(
          `/upload/${kind}?name=${encodeURIComponent(file.name)}`,
          file,
          "application/octet-stream",
        );
        const path = (kind === "match" ? "/match/" : "/recording/") + encodeURIComponent(opened.key);
        const list = kind === "match" ? "brought" : "recordings";
        remember(list, opened.key, opened.summary.title || opened.summary.name, path);
        A.go(path);
      } catch (error) {
        message.className = "drop-message bad";
        message.textContent = error.message;
      }
      button.disabled = false;
      input.value = "";
    }
  };
  // That browser alone remembers what was uploaded with it.
  const uploads = (name) => {
    try {
      return JSON.parse(localStorage.getItem(`attnlens-${name}`)) || [];
    } catch {
      return [];
    }
  };
  function remember(name, key, title, path) {
    const list = [{ key, title, path }, ...uploads(name).filter((item) => item.key !== key)];
    localStorage.setItem(`attnlens-${name}`, JSON.stringify(list.slice(0, 20)));
  }
  const cards = (list) =>
    list.map(({ path, title }) =>
      A.li(null, A.el("a", { href: path, class: "card" }, A.span("quiet", "You brought"), A.b(null, title))),
    );
  A.pages.recordings = () => A.put("brought-recordings", cards(uploads("recordings")));
  A.pages.home = () => A.put("brought", cards(uploads("brought")));
  A.pages.recording = () => document.querySelector("iframe.recording").addEventListener("load", A.useTheme);
  A.pages.measured = A.pages.lost = () => {};
})();
