// Downloads of drawings and tables, and tables on the page.
(function () {
  // ---- Taking away: a drawing, its numbers, a menu of both in a panel's head.
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
    copy.setAttribute("xmlns", svg.namespaceURI);
    const box = svg.viewBox.baseVal;
    copy.setAttribute("width", box.width);
    copy.setAttribute("height", box.height);
    copy.prepend(A.svg("rect", { width: box.width, height: box.height, fill: A.colour("panel") }));
    return new XMLSerializer().serializeToString(copy);
  };
  A.saveSVG = (svg, name) =>
    A.saveBlob(new Blob([A.standalone(svg)], { type: "image/svg+xml" }), `${name}.svg`);
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
    canvas.toBlob((blob) => A.saveBlob(blob, `${name}.png`));
  };
  A.saveText = (text, name, type) => A.saveBlob(new Blob([text], { type: type || "text/plain" }), name);
  A.saveJSON = (value, name) => A.saveText(JSON.stringify(value, null, 2), name, "application/json");
  A.csv = (rows) =>
    `${rows
      .map((row) =>
        row
          .map((cell) => {
            let text = String(cell === null || cell === undefined ? "" : cell);
            // No formula for a spreadsheet.
            if (typeof cell === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
            return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
          })
          .join(","),
      )
      .join("\n")}\n`;
  A.copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      A.toast("copied");
    } catch (_error) {
      A.toast("the browser does not let this page copy");
    }
  };
  // A menu of things to take away, in a panel's head.
  A.menu = (name, items) => {
    const place = A.at(`${name}-tools`);
    if (!place) return;
    const list = A.div(
      "menu-list",
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
      A.el("summary", { "aria-label": `Take away: ${name}` }, "↓"),
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
      ["PNG", () => A.savePNG(svg(), `${A.stem()}-${name}`)],
      ["SVG", () => A.saveSVG(svg(), `${A.stem()}-${name}`)],
      ["CSV", () => A.saveText(A.csv(rows()), `${A.stem()}-${name}.csv`, "text/csv")],
      ...(more || []),
    ]);
  A.stem = () => "attnlens";

  // ---- Tables, and those that stand folded below a figure.
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
})();
