// What Dash calls, the menu, finding a player or a match, and uploads.
(function () {
  // ---- What Dash calls: which page an address means, and drawing a page once it is there.
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

  // ---- A player or a match found by a part of the name, from any page.
  const WAIT = 180;
  let asking = null;

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
      oninput: A.debounce(() => find(input, list), WAIT),
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
      const item = document.activeElement?.parentElement;
      event.stopPropagation();
      if (event.key === "Escape") {
        list.hidden = true;
        input.focus();
      } else if (next) {
        event.preventDefault();
        (item?.[next]?.firstElementChild || input).focus();
      }
    });
    const place = A.at("find");
    place.addEventListener("focusout", (event) => {
      if (!place.contains(event.relatedTarget)) list.hidden = true;
    });
    place.replaceChildren(input, list);
  };

  async function find(input, list) {
    asking?.abort();
    asking = new AbortController();
    const text = input.value.trim();
    if (!text) {
      list.hidden = true;
      return;
    }
    const [kind, key] = location.pathname.split("/").filter(Boolean);
    const here = kind === "match" ? `&match=${key}` : "";
    const path = `/find.json?text=${encodeURIComponent(text)}${here}`;
    const rows = await A.fresh(path, asking.signal).catch(() => null);
    if (!rows) return;
    const item = (row) => {
      const chosen = () => {
        list.hidden = true;
        input.value = "";
        A.go(row.href);
      };
      const onclick = (event) => {
        event.preventDefault();
        chosen();
      };
      return A.li(
        null,
        A.el("a", { href: row.href, onclick }, A.b(null, row.text), " ", A.small(null, row.more)),
      );
    };
    list.replaceChildren(
      ...(rows.length ? rows.map(item) : [A.li("empty", "nobody, and no match, of that name")]),
    );
    list.hidden = false;
    A.say(A.count(rows.length, "result"));
  }

  // ---- Bringing a file, by button or by dropping, and what somebody brought before.
  A.drop = (zone) => {
    if (zone.dataset.wired) return;
    zone.dataset.wired = "1";
    const said = zone.querySelector(".drop-said"),
      button = zone.querySelector("button");
    const input = A.el("input", { type: "file", hidden: true, "aria-hidden": "true", tabindex: -1 });
    zone.append(input);
    button.addEventListener("click", () => input.click());
    input.addEventListener("change", () => input.files[0] && bring(input.files[0]));
    zone.addEventListener("dragover", (event) => {
      event.preventDefault();
      zone.classList.add("over");
    });
    zone.addEventListener("dragleave", () => zone.classList.remove("over"));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      if (event.dataTransfer.files[0]) bring(event.dataTransfer.files[0]);
    });
    async function bring(file) {
      said.className = "drop-said";
      said.textContent = `Reading ${file.name} …`;
      button.disabled = true;
      try {
        if (file.size > 32e6)
          throw new Error(
            `the file is larger than 32 MB: name it in the terminal, attnlens dashboard ${file.name}`,
          );
        const kind = zone.dataset.drop;
        const found = await A.post(
          `/upload/${kind}?name=${encodeURIComponent(file.name)}`,
          file,
          "application/octet-stream",
        );
        const path = (kind === "match" ? "/match/" : "/recording/") + encodeURIComponent(found.key);
        const name = kind === "match" ? "brought" : "recordings";
        remember(name, found.key, found.about.title || found.about.name, path);
        A.go(path);
      } catch (error) {
        said.className = "drop-said bad";
        said.textContent = error.message;
      }
      button.disabled = false;
      input.value = "";
    }
  };
  // What somebody brought stays known to that browser alone.
  const listed = (name) => {
    try {
      return JSON.parse(localStorage.getItem(`attnlens-${name}`)) || [];
    } catch {
      return [];
    }
  };
  function remember(name, key, title, path) {
    const list = [{ key, title, path }, ...listed(name).filter((one) => one.key !== key)];
    localStorage.setItem(`attnlens-${name}`, JSON.stringify(list.slice(0, 20)));
  }
  A.broughtRecordings = () => listed("recordings");
  A.broughtCards = (list) =>
    list.map((one) =>
      A.li(null, A.link(one.path, { class: "card" }, A.span("quiet", "You brought"), A.b(null, one.title))),
    );
  A.pages.home = () => A.put("brought", A.broughtCards(listed("brought")));
  A.pages.recording = () => document.querySelector("iframe.recording").addEventListener("load", A.useTheme);
  A.pages.measured = A.pages.lost = () => {};
})();
