// Tables that are sorted by their heads, and bars that stand in them.
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
  // A column: name, of (a row's value, to take away), by (to sort by; else the value), show (what the cell
  // holds; else the value), number.
  A.sortable = (caption, columns, rows, first) => {
    let by = first ? columns.findIndex((one) => one.name === first) : -1,
      down = by >= 0 && !!columns[by].number;
    const body = A.el("tbody");
    const heads = columns.map((column, at) =>
      A.el(
        "th",
        { scope: "col", class: column.number ? "number" : null },
        column.of
          ? A.el(
              "button",
              {
                type: "button",
                class: "sort",
                title: column.title,
                onclick: () => {
                  down = by === at ? !down : !!column.number;
                  by = at;
                  fill();
                  A.say(`Sorted by ${column.name}${down ? ", largest first" : ", smallest first"}`);
                },
              },
              column.name,
            )
          : A.span("unseen", column.name),
      ),
    );
    function fill() {
      const value = by < 0 ? null : columns[by].by || columns[by].of;
      const sorted =
        by < 0
          ? rows
          : [...rows].sort((one, two) => {
              const a = value(one),
                b = value(two);
              // What is not known stands last.
              if (a === null || b === null) return Number(a === null) - Number(b === null);
              return (
                (down ? -1 : 1) *
                (typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b)
              );
            });
      heads.forEach((head, at) => {
        if (at === by) head.setAttribute("aria-sort", down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      body.replaceChildren(
        ...sorted.map((row) =>
          A.el(
            "tr",
            null,
            columns.map((column, at) => {
              const held = column.show ? column.show(row) : column.of(row);
              return A.el(
                at ? "td" : "th",
                {
                  scope: at ? null : "row",
                  class: column.number ? "number" : null,
                  style: column.style ? column.style(row) : null,
                  title: column.tip ? column.tip(row) : null,
                },
                held === null || held === undefined ? "–" : held,
              );
            }),
          ),
        ),
      );
    }
    fill();
    return A.el(
      "div",
      { class: "scroll wide", tabindex: 0, role: "region", "aria-label": caption },
      A.el(
        "table",
        { class: "sorted" },
        A.el("caption", null, caption),
        A.el("thead", null, A.el("tr", null, heads)),
        body,
      ),
    );
  };
  // The same as rows of a file: figures in full, an interval's ends in columns of their own.
  A.rowsOf = (columns, rows) => {
    const kept = columns.filter((one) => one.of);
    return [
      kept.flatMap((one) => [one.name, ...(one.ends ? [`${one.name}_low`, `${one.name}_high`] : [])]),
      ...rows.map((row) => kept.flatMap((one) => [one.of(row), ...(one.ends ? one.ends(row) : [])])),
    ];
  };

  // A figure between least and most with its interval; the mark is where nothing would be special. The
  // figures stand beside it.
  const WIDE = 96;
  A.spanBar = (value, low, high, least, most, mark) => {
    const x = (one) => ((Math.min(Math.max(one, least), most) - least) / (most - least)) * (WIDE - 4) + 2;
    return A.svg(
      "svg",
      { class: "span-bar", viewBox: `0 0 ${WIDE} 14`, width: WIDE, height: 14, "aria-hidden": "true" },
      A.svg("rect", { class: "base", x: 0, y: 6, width: WIDE, height: 2 }),
      mark === undefined ? null : A.svg("line", { class: "even", x1: x(mark), x2: x(mark), y1: 0, y2: 14 }),
      low === null
        ? null
        : A.svg("rect", { class: "reach", x: x(low), y: 4, width: Math.max(1, x(high) - x(low)), height: 6 }),
      A.svg("line", { class: "tick", x1: x(value), x2: x(value), y1: 1, y2: 13 }),
    );
  };
  A.between = (value, low, high, text) => [
    A.b(null, text(value)),
    low === null || low === undefined ? null : A.small(null, ` (${text(low)} to ${text(high)})`),
  ];
})();
