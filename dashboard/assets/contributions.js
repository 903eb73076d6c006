// What moves the chance of the chosen outcome, in percentage points that sum to the difference.
(function () {
  /**
   * @param {any} explanation
   * @param {string} outcome
   */
  A.contributions = (explanation, outcome) => {
    const { contributions, prediction } = explanation;
    const fromUsual = contributions.every((one) => one.from_usual.length);
    const pointsOf = (one) => (fromUsual ? one.from_usual : one.points);
    const rows = contributions
      .map((one) => ({ name: one.group, points: pointsOf(one).find((p) => p.outcome === outcome).points }))
      .sort((one, two) => Math.abs(two.points) - Math.abs(one.points));
    const chance = prediction.outcomes.find((one) => one.outcome === outcome);
    const from = fromUsual
      ? `usual ${A.percent(chance.usual)}`
      : `${A.percent(chance.baseline)}, knowing nothing,`;
    const words = ` P(${A.outcomeNames[outcome]}) from ${from} to ${A.percent(chance.probability)}`;
    A.at("contributions-title").replaceChildren("Why", A.small(null, words));
    const said = rows.map((one) => `${one.name} ${A.signed(one.points)}`).join(", ");
    const svg = A.signedBars(
      "contributions-plot",
      rows,
      `Percentage points that each adds or takes away: ${said}`,
      innerWidth >= 768,
    );
    A.at("contributions-plot").append(
      A.p("legend", "Percentage points; they sum to the difference exactly (Shapley values)."),
    );
    A.figureMenu(
      "contributions",
      () => svg,
      () => [
        ["group", ...A.outcomes],
        ...contributions.map((one) => [one.group, ...pointsOf(one).map((p) => p.points)]),
      ],
    );
    return svg;
  };
})();
