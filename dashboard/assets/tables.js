// Tables, and those that stand folded below a figure.
(function () {
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
