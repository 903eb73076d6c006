// What Dash calls: which page an address means, and drawing a page once it is there.
(function () {
  const LISTED = 12; // with more matches than these, some are looked for
  const state = { key: null, drawn: null };
  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    attnlens_dash: {
      page_key: (path) => {
        const parts = String(path || "/")
          .split("/")
          .filter(Boolean)
          .map((part) => {
            try {
              return decodeURIComponent(part);
            } catch (e) {
              return part;
            }
          });
        const key =
          ["match", "recording"].includes(parts[0]) && parts.length > 1
            ? parts[0] + "/" + parts[1]
            : parts.join("/");
        mark(parts[0] || "");
        if (key === state.key) {
          if (A.moved) A.moved();
          return window.dash_clientside.no_update;
        }
        state.key = key;
        return key;
      },
      draw: (data) => {
        if (!data) return window.dash_clientside.no_update;
        A.leave.splice(0).forEach((done) => done());
        A.redraw = A.moved = null;
        A.forgetWidths();
        A.at("page").classList.remove("failed", "stale");
        document.body.dataset.page = data.page;
        wire();
        const title = document.querySelector("main h1");
        document.title = (title ? title.textContent + " | " : "") + "attnlens";
        const draw = A.pages[data.page];
        if (draw) Promise.resolve(draw(data)).catch((error) => fail(error));
        if (state.drawn !== null) {
          A.at("page").focus({ preventScroll: true });
          window.scrollTo(0, 0);
        }
        state.drawn = data.page;
        return data.page;
      },
    },
  });
  function mark(first) {
    const here = first === "match" ? "" : first === "recording" ? "recordings" : first;
    document.querySelectorAll(".top nav a").forEach((link) => {
      if (new URL(link.href).pathname === "/" + here) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
  }
  function fail(error) {
    A.at("page").prepend(
      A.el("p", { class: "trouble", role: "alert" }, "Something went wrong: " + error.message),
    );
  }
  A.fail = fail;

  let wired = false;
  function wire() {
    A.useTheme();
    mark(location.pathname.split("/")[1] || "");
    document.querySelectorAll("[data-drop]").forEach(drop);
    if (wired) return;
    wired = true;
    A.at("theme-button").addEventListener("click", A.nextTheme);
    A.at("keys-button").addEventListener("click", help);
    document.addEventListener("keydown", (event) => {
      if (event.key === "?" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) help();
    });
  }
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
    ["← → in a model", "the step before, the next; Space plays"],
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

  // Bringing a file, by button or by dropping.
  function drop(zone) {
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
      said.textContent = "Reading " + file.name + " …";
      button.disabled = true;
      try {
        if (file.size > 32e6)
          throw new Error(
            "the file is larger than 32 MB: name it in the terminal, attnlens dashboard " + file.name,
          );
        const kind = zone.dataset.drop;
        const found = await A.post(
          "/upload/" + kind + "?name=" + encodeURIComponent(file.name),
          file,
          "application/octet-stream",
        );
        go(
          kind === "match"
            ? remember("brought", found.key, found.about.title, matchAddress(found.key, found.about))
            : remember(
                "recordings",
                found.key,
                found.about.name,
                "/recording/" + encodeURIComponent(found.key),
              ),
        );
      } catch (error) {
        said.className = "drop-said bad";
        said.textContent = error.message;
      }
      button.disabled = false;
      input.value = "";
    }
  }
  function matchAddress(key, about) {
    const first = about.innings.find((one) => one.balls) || { number: 1 };
    return "/match/" + encodeURIComponent(key) + "/innings/" + first.number + "/ball/1";
  }
  A.matchAddress = matchAddress;
  // As a link of Dash goes to another page: the address is there before that page looks at it.
  function go(path) {
    history.pushState({}, "", path);
    window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
    window.scrollTo(0, 0);
  }
  A.go = go;
  // What somebody brought stays known to that browser alone.
  const listed = (name) => {
    try {
      return JSON.parse(localStorage.getItem("attnlens-" + name)) || [];
    } catch (error) {
      return [];
    }
  };
  function remember(name, key, title, path) {
    const list = [{ key, title, path }, ...listed(name).filter((one) => one.key !== key)];
    localStorage.setItem("attnlens-" + name, JSON.stringify(list.slice(0, 20)));
    return path;
  }
  A.brought = () => listed("brought");
  A.broughtRecordings = () => listed("recordings");
  A.pages.home = () => {
    A.put(
      "brought",
      A.brought().map((one) =>
        A.el(
          "li",
          null,
          A.el(
            "a",
            {
              class: "card",
              href: one.path,
              onclick: (event) => {
                event.preventDefault();
                go(one.path);
              },
            },
            A.el("span", { class: "quiet" }, "You brought"),
            A.el("b", null, one.title),
          ),
        ),
      ),
    );
    const cards = [...document.querySelectorAll("#matches .card")];
    if (cards.length > LISTED)
      A.put(
        "find",
        A.el(
          "form",
          { class: "form", role: "search", onsubmit: (event) => event.preventDefault() },
          A.el(
            "label",
            null,
            "Find among " + cards.length + " matches",
            A.el("input", {
              type: "search",
              id: "find-text",
              size: 34,
              placeholder: "a team, a ground, a year",
              oninput: (event) => {
                const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean),
                  fits = (card) => words.every((word) => card.textContent.toLowerCase().includes(word));
                cards.forEach((card) => {
                  card.parentNode.hidden = !fits(card);
                });
                A.say("Shown: " + cards.filter(fits).length);
              },
            }),
          ),
        ),
      );
  };
  A.pages.recording = () => document.querySelector("iframe.recording").addEventListener("load", A.useTheme);
  A.pages.measured = A.pages.lost = () => {};
})();
