// What every page uses: elements, colours, words, fetching, taking away, saying aloud.
/** What the files of the page share. */
const A = { pages: {}, leave: [] };
(function () {
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
  function filled(node, attributes, children) {
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
        .filter((one) => one !== null && one !== undefined && one !== false)
        .map((one) => (one instanceof Node ? one : String(one))),
    );
    return node;
  }
  A.el = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);
  A.svg = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);
  A.at = (id) => document.getElementById(id);
  A.put = (id, ...children) => {
    const node = A.at(id);
    if (node) node.replaceChildren(...children.flat(2).filter(Boolean));
    return node;
  };

  // Words and numbers.
  A.percent = (p, fine) => {
    const value = 100 * p;
    if (value > 0 && value < 0.5 && !fine) return "<1%";
    return (
      (fine || value < 9.95
        ? value.toFixed(fine && value < 9.95 ? 1 : value < 9.95 ? 1 : fine ? 1 : 0)
        : value.toFixed(0)) + "%"
    );
  };
  A.signed = (points, digits) => {
    const text = Math.abs(points).toFixed(digits === undefined ? 1 : digits);
    return Number(text) === 0 ? text : (points < 0 ? "−" : "+") + text;
  };
  A.words = (name) => String(name).replace(/_/g, " ").replace("batsman", "batter");
  A.count = (n, noun) => n + " " + noun + (n === 1 ? "" : "s");
  A.short = (name) => {
    const parts = String(name).split(" ");
    return parts.length > 1 ? parts[parts.length - 1] : name;
  };
  A.clip = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
  A.overs = (legal, perOver) => Math.floor(legal / (perOver || 6)) + "." + (legal % (perOver || 6));

  // Bytes as the server packed them.
  A.bytes = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  A.floats = (text) => new Float32Array(A.bytes(text).buffer);

  // Colours, by name from the style sheet; one table of 256 for heat maps.
  let ramp = null;
  A.colour = (name) =>
    getComputedStyle(document.documentElement)
      .getPropertyValue("--" + name)
      .trim();
  A.ramp = () => {
    if (ramp) return ramp;
    const stops = A.colour("ramp")
      .split(/\s+/)
      .map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
    ramp = new Uint8ClampedArray(256 * 3);
    for (let step = 0; step < 256; step++) {
      const place = (step / 255) * (stops.length - 1),
        low = Math.min(Math.floor(place), stops.length - 2);
      for (let part = 0; part < 3; part++)
        ramp[step * 3 + part] = stops[low][part] + (stops[low + 1][part] - stops[low][part]) * (place - low);
    }
    return ramp;
  };
  A.shade = (share) => {
    const at = Math.round(255 * Math.min(1, Math.max(0, share))) * 3,
      table = A.ramp();
    return "rgb(" + table[at] + "," + table[at + 1] + "," + table[at + 2] + ")";
  };

  // Theme: the system's, unless somebody chose.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  A.theme = () => localStorage.getItem("attnlens-theme") || "system";
  A.isDark = () => (A.theme() === "system" ? dark.matches : A.theme() === "dark");
  A.useTheme = () => {
    document.documentElement.dataset.theme = A.isDark() ? "dark" : "light";
    ramp = null;
    const button = A.at("theme-button");
    if (button) {
      button.textContent = { system: "◐", light: "☀", dark: "☾" }[A.theme()];
      button.title = "Theme: " + A.theme();
      button.setAttribute("aria-label", "Theme: " + A.theme() + ". Change");
    }
    const inner = document.querySelector("iframe.recording");
    if (inner && inner.contentDocument)
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

  // Fetching: what is known is not asked for again; the oldest is forgotten.
  const known = new Map();
  A.known = (url) => known.get(url);
  const asking = (url, how) =>
    fetch(url, how).catch((error) => {
      throw error.name === "AbortError" ? error : new Error("the server does not answer");
    });
  A.get = async (url, signal) => {
    if (known.has(url)) return known.get(url);
    const response = await asking(url, { signal });
    const value = await response.json().catch(() => ({ error: "the server's answer cannot be read" }));
    if (!response.ok) throw new Error(value.error || "the server said " + response.status);
    known.set(url, value);
    if (known.size > 160) known.delete(known.keys().next().value);
    return value;
  };
  A.post = async (url, body, type) => {
    const response = await asking(url, {
      method: "POST",
      body,
      headers: { "X-Attnlens": "1", "Content-Type": type || "application/json" },
    });
    const value = await response.json().catch(() => ({ error: "the server said " + response.status }));
    if (!response.ok) throw new Error(value.error || "the server said " + response.status);
    return value;
  };

  // What is asked of a match: of which model, and of which state of a match that is still being played.
  const versions = new Map();
  A.asked = (key, model) =>
    "?model=" + encodeURIComponent(model) + (versions.get(key) ? "&v=" + versions.get(key) : "");
  A.atVersion = (key, version) => {
    const newer = (versions.get(key) || 0) < version;
    if (newer) versions.set(key, version);
    return newer;
  };

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

  // Taking away.
  A.saveBlob = (blob, name) => {
    const link = A.el("a", { href: URL.createObjectURL(blob), download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 4000);
  };
  const STYLES = [
    "fill",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "opacity",
    "fill-opacity",
    "font-family",
    "font-size",
    "font-weight",
    "text-anchor",
    "dominant-baseline",
  ];
  A.standalone = (svg) => {
    const copy = svg.cloneNode(true);
    const from = [svg, ...svg.querySelectorAll("*")],
      to = [copy, ...copy.querySelectorAll("*")];
    from.forEach((node, at) => {
      const style = getComputedStyle(node);
      for (const name of STYLES) {
        const value = style.getPropertyValue(name);
        if (value) to[at].style.setProperty(name, value);
      }
    });
    copy.setAttribute("xmlns", SVG);
    const box = svg.viewBox.baseVal;
    copy.setAttribute("width", box.width);
    copy.setAttribute("height", box.height);
    copy.prepend(A.svg("rect", { width: box.width, height: box.height, fill: A.colour("panel") }));
    return new XMLSerializer().serializeToString(copy);
  };
  A.saveSVG = (svg, name) =>
    A.saveBlob(new Blob([A.standalone(svg)], { type: "image/svg+xml" }), name + ".svg");
  A.savePNG = async (svg, name) => {
    const box = svg.viewBox.baseVal,
      image = new Image();
    const url = URL.createObjectURL(new Blob([A.standalone(svg)], { type: "image/svg+xml" }));
    await new Promise((done, failed) => {
      image.onload = done;
      image.onerror = failed;
      image.src = url;
    });
    const canvas = A.el("canvas", { width: 2 * box.width, height: 2 * box.height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(url);
    canvas.toBlob((blob) => A.saveBlob(blob, name + ".png"));
  };
  A.saveText = (text, name, type) => A.saveBlob(new Blob([text], { type: type || "text/plain" }), name);
  A.csv = (rows) =>
    rows
      .map((row) =>
        row
          .map((cell) => {
            let text = String(cell === null || cell === undefined ? "" : cell);
            if (typeof cell === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text; // no formula for a spreadsheet
            return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
          })
          .join(","),
      )
      .join("\n") + "\n";
  A.copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      A.toast("copied");
    } catch (error) {
      A.toast("the browser does not let this page copy");
    }
  };
  // A menu of things to take away, in a panel's head.
  A.menu = (name, items) => {
    const place = A.at(name + "-tools");
    if (!place) return;
    const list = A.el(
      "div",
      { class: "menu-list" },
      items.map(([text, action]) =>
        typeof action === "string"
          ? A.el(
              "a",
              {
                href: action,
                download: "",
                onclick: () => {
                  menu.open = false;
                },
              },
              text,
            )
          : A.el(
              "button",
              {
                type: "button",
                onclick: () => {
                  menu.open = false;
                  action();
                },
              },
              text,
            ),
      ),
    );
    const menu = A.el(
      "details",
      { class: "menu" },
      A.el("summary", { "aria-label": "Take away: " + name }, "↓"),
      list,
    );
    menu.addEventListener("focusout", (event) => {
      if (!menu.contains(event.relatedTarget)) menu.open = false;
    });
    menu.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        menu.open = false;
        menu.firstChild.focus();
      }
    });
    place.replaceChildren(menu);
  };
  // A figure and its files: the drawing, its numbers.
  A.figureMenu = (name, svg, rows, more) =>
    A.menu(name, [
      ["PNG", () => A.savePNG(svg(), A.stem() + "-" + name)],
      ["SVG", () => A.saveSVG(svg(), A.stem() + "-" + name)],
      ["CSV", () => A.saveText(A.csv(rows()), A.stem() + "-" + name + ".csv", "text/csv")],
      ...(more || []),
    ]);
  A.stem = () => "attnlens";
  A.table = (heads, rows, caption) =>
    A.el(
      "table",
      null,
      caption && A.el("caption", null, caption),
      A.el(
        "thead",
        null,
        A.el(
          "tr",
          null,
          heads.map((head) => A.el("th", { scope: "col" }, head)),
        ),
      ),
      A.el(
        "tbody",
        null,
        rows.map((row) =>
          A.el(
            "tr",
            null,
            row.map((cell, at) =>
              at
                ? A.el(
                    "td",
                    {
                      class:
                        typeof cell === "number" || /^[−+<]?[\d.]+%?$/.test(String(cell)) ? "number" : null,
                    },
                    cell,
                  )
                : A.el("th", { scope: "row" }, cell),
            ),
          ),
        ),
      ),
    );
  // A table beside a figure, made when it is opened.
  A.tableBeside = (title, make) => {
    const box = A.el("details", { class: "table-beside" }, A.el("summary", null, title));
    box.fill = () => {
      if (box.open)
        box.replaceChildren(
          box.firstChild,
          A.el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, make()),
        );
    };
    box.addEventListener("toggle", box.fill);
    return box;
  };
  // Widths are asked for once: asking between changes would lay the whole page out each time.
  const widths = new Map();
  A.forgetWidths = () => widths.clear();
  A.width = (id, least) => {
    if (!widths.has(id)) widths.set(id, Math.max(least || 260, Math.floor(A.at(id).clientWidth)));
    return widths.get(id);
  };
})();
