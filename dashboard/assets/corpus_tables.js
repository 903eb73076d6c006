// What a corpus's predictions are made of, where attention goes, and when claims hold.
(function () {
  const { phases, heads, inPhase, headName, few, many, none } = A.corpus;
  const RELATIONS = {
    same_over: "this over",
    same_bowler: "same bowler",
    same_batsman: "same batter",
    same_matchup: "same pair",
    boundary: "boundaries",
    wicket_adjacent: "near wickets",
    boundary_cluster: "boundary clusters",
    over_boundary: "ends of overs",
  };
  const SOURCES = { within_ball: "the ball itself" };
  const startedAs = (head) =>
    head.endsWith("_free") ? "It started free." : `It started as ${A.words(head.replace(/^head_\d+_/, ""))}.`;
  A.corpus.sources = (data) => {
    const names = Object.keys(data.fusion[0].weights),
      rows = data.fusion.filter(inPhase),
      order = phases();
    const bar = (row) => {
      let start = 0;
      return A.svg(
        "svg",
        { class: "span-bar stacked", viewBox: "0 0 240 14", width: 240, height: 14, "aria-hidden": "true" },
        names.map((name, at) => {
          const x = start,
            width = 240 * row.weights[name];
          start += width;
          return A.svg("rect", { class: `gate g${at}`, x, y: 1, width: Math.max(0, width - 1), height: 12 });
        }),
      );
    };
    const columns = [
      { name: "phase", of: (row) => row.phase, by: (row) => order.indexOf(row.phase) },
      { name: "bar", show: bar },
      ...names.map((name) => ({
        name: SOURCES[name] || name,
        number: true,
        of: (row) => row.weights[name],
        show: (row) => A.percent(row.weights[name]),
      })),
      { name: "balls", number: true, of: (row) => row.balls, show: (row) => many(row.balls) },
    ];
    A.put(
      "sources-shown",
      A.sortable("Mean fusion weights by phase", columns, rows),
      A.p(
        "legend",
        names.map((name, at) => A.span(null, A.el("i", { class: `gate g${at}` }), SOURCES[name] || name)),
      ),
    );
    A.menu("sources", [
      ["CSV", () => A.saveText(A.csv(A.rowsOf(columns, rows)), `${A.stem()}-sources.csv`, "text/csv")],
    ]);
  };

  A.corpus.attention = (data, chosen) => {
    const rows = data.attention.filter(
        (row) => inPhase(row) && (!chosen.head || `${row.scale} ${row.head}` === chosen.head),
      ),
      order = phases(),
      all = heads();
    const of = (row, relation) => row.relations.find((one) => one.relation === relation),
      relations = data.attention.length ? data.attention[0].relations.map((one) => one.relation) : [];
    const place = (row) => all.indexOf(`${row.scale} ${row.head}`) * 9 + order.indexOf(row.phase);
    const columns = [
      {
        name: "head",
        of: (row) => `${row.scale} ${row.head}`,
        by: place,
        tip: (row) => startedAs(row.head),
        show: (row) => [
          headName(row.scale, row.head),
          row.earned && row.earned !== "unspecialised"
            ? [" ", A.el("span", { class: "chip good", title: "a name it has earned" }, A.words(row.earned))]
            : null,
        ],
      },
      { name: "phase", of: (row) => row.phase, by: (row) => order.indexOf(row.phase) },
      ...relations.map((relation) => ({
        name: RELATIONS[relation] || A.words(relation),
        number: true,
        of: (row) => of(row, relation).ratio,
        show: (row) => {
          const ratio = of(row, relation).ratio;
          return ratio === null ? null : ratio.toFixed(1);
        },
        tip: (row) => {
          const one = of(row, relation);
          return one.ratio === null
            ? "nothing to look at"
            : `${A.percent(one.share, true)} of past attention, uniform ${A.percent(one.uniform, true)}`;
        },
        style: (row) => {
          const ratio = of(row, relation).ratio;
          if (ratio === null) return null;
          const strength = Math.round(50 * Math.min(1, Math.abs(Math.log2(Math.max(ratio, 1 / 16))) / 2.5));
          return (
            "background: color-mix(in srgb, var(--" +
            (ratio >= 1 ? "up" : "down") +
            ") " +
            strength +
            "%, var(--panel))"
          );
        },
      })),
      {
        name: "on itself",
        number: true,
        title: "weight on the ball itself",
        of: (row) => row.own,
        show: (row) => (row.own === null ? null : A.percent(row.own)),
      },
      { name: "balls", number: true, of: (row) => row.balls, show: (row) => many(row.balls) },
    ];
    const table = A.sortable("Times uniform attention, by head and phase", columns, rows, "head");
    table.querySelector("table").classList.add("cells");
    A.put("attention-shown", rows.length ? table : none("No head has looked at anything here."));
    A.menu("attention", [
      [
        "CSV",
        () =>
          A.saveText(
            A.csv([
              [
                "scale",
                "head",
                "name earned",
                "phase",
                "balls",
                "own",
                ...relations.flatMap((one) => [`${one}_share`, `${one}_uniform`, `${one}_ratio`]),
              ],
              ...rows.map((row) => [
                row.scale,
                row.head,
                row.earned,
                row.phase,
                row.balls,
                row.own,
                ...relations.flatMap((one) => {
                  const found = of(row, one);
                  return [found.share, found.uniform, found.ratio];
                }),
              ]),
            ]),
            `${A.stem()}-attention.csv`,
            "text/csv",
          ),
      ],
    ]);
  };

  A.corpus.claims = (data, chosen) => {
    const told = data.claims;
    if (!told) {
      A.put(
        "claims-shown",
        none(
          "Nothing was tested. `attnlens corpus explain SRC --out DIR --evidence N` tests the claims of " +
            "N balls.",
        ),
      );
      A.at("claims-tools").replaceChildren();
      return;
    }
    const columns = (words, show) => [
      { name: words, of: (row) => show(row.name) },
      { name: "interval", show: (row) => A.spanBar(row.share, row.low, row.high, 0, 1) },
      {
        name: "supported",
        number: true,
        of: (row) => row.share,
        ends: (row) => [row.low, row.high],
        show: (row) => A.between(row.share, row.low, row.high, A.percent),
      },
      {
        name: "contradicted",
        number: true,
        of: (row) => row.contradicted / row.claims,
        show: (row) => A.percent(row.contradicted / row.claims),
      },
      { name: "claims", number: true, of: (row) => row.claims, show: (row) => many(row.claims) },
    ];
    const parts = [
      ["kind", "kind of claim", A.words, () => true],
      ["phase", "phase", (name) => name, (row) => !chosen.phase || row.name === chosen.phase],
      [
        "head",
        "head",
        (name) => headName(...name.split(" ")),
        (row) => !chosen.head || row.name === chosen.head,
      ],
    ].map(([key, words, show, keep]) => {
      const rows = told[key].filter(keep),
        left = few(told[`${key}_too_few`], data.least.claims, "group").replace("group", words.split(" ")[0]);
      const caption =
        "By " +
        words +
        (key === "head" ? " (what it looked at, hidden from that head alone)" : "") +
        "." +
        left;
      return {
        rows,
        columns: columns(words, show),
        node: rows.length
          ? A.sortable(caption, columns(words, show), rows, key === "phase" ? null : "supported")
          : none(`${caption} Nothing to show${told[key].length ? " of what is chosen." : "."}`),
      };
    });
    A.put(
      "claims-shown",
      A.p(
        "lead",
        many(told.tested) +
          " claims on " +
          A.count(told.balls, "ball") +
          " drawn over all matches: the balls hidden, beside other sets of as many. Supported: they do " +
          "more than chance would have it. Intervals are Wilson's and take claims as independent, which " +
          "those of one ball are not quite.",
      ),
      A.div("columns auto wide", A.div(null, parts[0].node, parts[1].node), A.div(null, parts[2].node)),
    );
    A.menu("claims", [
      [
        "CSV",
        () =>
          A.saveText(
            A.csv([
              ["by", "name", "supported", "low", "high", "contradicted", "claims"],
              ...["kind", "phase", "head"].flatMap((key) =>
                told[key].map((row) => [
                  key,
                  row.name,
                  row.share,
                  row.low,
                  row.high,
                  row.contradicted / row.claims,
                  row.claims,
                ]),
              ),
            ]),
            `${A.stem()}-claims.csv`,
            "text/csv",
          ),
      ],
    ]);
  };
})();
