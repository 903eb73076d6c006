// How likely an outcome was said to be, and how often it came.
(function () {
  const { many, none } = A.corpus;
  const FEWEST = 50; // an outcome that came less often has no diagram
  A.corpus.calibration = (data) => {
    const shown = data.calibration.filter((one) => one.happened >= FEWEST && one.bins.length > 1),
      rows = data.calibration.flatMap((one) => one.bins.map((bin) => ({ outcome: one.outcome, ...bin })));
    const columns = [
      {
        name: "outcome",
        of: (row) => row.outcome,
        by: (row) => A.outcomes.indexOf(row.outcome),
        show: (row) => A.outcomeNames[row.outcome],
      },
      {
        name: "said",
        number: true,
        of: (row) => row.predicted,
        show: (row) => A.percent(row.predicted, true),
      },
      {
        name: "came",
        number: true,
        of: (row) => row.observed,
        show: (row) => A.between(row.observed, row.low, row.high, (value) => A.percent(value, true)),
      },
      { name: "balls", number: true, of: (row) => row.balls, show: (row) => many(row.balls) },
    ];
    A.put(
      "calibration-shown",
      shown.length
        ? A.div(
            "multiples",
            shown.map((one) =>
              A.el(
                "figure",
                null,
                A.el(
                  "figcaption",
                  null,
                  A.b(null, A.outcomeNames[one.outcome]),
                  A.small(null, ` ${many(one.happened)} times`),
                ),
                diagram(one),
              ),
            ),
          )
        : none(
            "Too few balls: an outcome is drawn from " +
              FEWEST +
              " times and two bins of " +
              data.least.bin +
              " balls on.",
          ),
      shown.length
        ? A.tableBeside("The same as a table", () => A.sortable("Said and came, by outcome", columns, rows))
        : null,
    );
    A.menu("calibration", [
      [
        "CSV",
        () =>
          A.saveText(
            A.csv([
              ["outcome", "predicted", "observed", "low", "high", "balls"],
              ...rows.map((row) => [row.outcome, row.predicted, row.observed, row.low, row.high, row.balls]),
            ]),
            `${A.stem()}-calibration.csv`,
            "text/csv",
          ),
      ],
    ]);
  };
  function diagram(one) {
    const SIDE = 150,
      LEFT = 30,
      top = Math.max(...one.bins.map((bin) => Math.max(bin.predicted, bin.high))),
      step = 10 ** Math.floor(Math.log10(top));
    const most = Math.min(
      1,
      [1, 2, 4, 5, 6, 8, 10].map((times) => times * step).find((end) => end >= top),
    );
    const x = (value) => LEFT + (value / most) * SIDE,
      y = (value) => 6 + SIDE - (value / most) * SIDE;
    const tick = (at) => (at ? A.percent(at, most < 0.1) : "0");
    const told = one.bins
      .map((bin) => `said ${A.percent(bin.predicted, true)}, came ${A.percent(bin.observed, true)}`)
      .join("; ");
    return A.svg(
      "svg",
      {
        class: "calibrated",
        viewBox: `0 0 ${LEFT + SIDE + 14} ${SIDE + 26}`,
        role: "img",
        "aria-label": `${A.outcomeNames[one.outcome]}: ${told}`,
      },
      A.svg("rect", { class: "frame", x: LEFT, y: 6, width: SIDE, height: SIDE }),
      A.svg("line", { class: "even", x1: x(0), y1: y(0), x2: x(most), y2: y(most) }),
      [0, most / 2, most].flatMap((at) => [
        A.svg("text", { class: "axis", x: LEFT - 3, y: y(at) + 3, "text-anchor": "end" }, tick(at)),
        A.svg("text", { class: "axis", x: x(at), y: SIDE + 20, "text-anchor": "middle" }, tick(at)),
      ]),
      one.bins.flatMap((bin) => [
        A.svg("line", {
          class: "whisker",
          x1: x(bin.predicted),
          x2: x(bin.predicted),
          y1: y(bin.low),
          y2: y(bin.high),
        }),
        A.svg("circle", { cx: x(bin.predicted), cy: y(bin.observed), r: 2.8 }),
      ]),
    );
  }
})();
