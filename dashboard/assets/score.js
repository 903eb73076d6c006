// The score as on television, as it stood before the ball.
(function () {
  const figure = (text, more) => A.span("figure", text, A.small(null, ` (${more})`));

  A.score = (innings, at) => {
    const ball = innings.balls[at];
    const side = innings.told.innings;
    const [runs, faced, otherRuns, otherFaced, bowled, conceded, wickets] = ball.figures;
    const won = innings.win?.before[at];
    A.put(
      "score",
      A.div(
        "team",
        A.span("side", side.batting),
        A.span("runs", `${ball.score}/${ball.wickets}`),
        A.span("overs", A.overs(ball.legal), A.small(null, " overs")),
      ),
      A.div(
        "batters",
        A.span("on", A.b(null, ball.batter), figure(runs, faced)),
        A.span(null, A.span("name", ball.non_striker), figure(otherRuns, otherFaced)),
      ),
      A.div(
        "bowler",
        A.span(null, A.b(null, ball.bowler), figure(`${wickets}-${conceded}`, A.overs(bowled))),
        thisOver(innings, ball),
      ),
      A.div("rates", rates(side, ball), Number.isFinite(won) ? chance(side.batting, won) : null),
      A.div(
        "which",
        A.span(null, "Ball ", A.b(null, ball.label)),
        A.span("quiet", `${ball.index} of ${innings.count}${ball.free_hit ? ", free hit" : ""}`),
      ),
    );
    document.title = `${ball.label} ${ball.bowler} to ${ball.batter} | attnlens`;
  };
  const chance = (team, won) =>
    A.el(
      "span",
      { class: "quiet", title: `${team} to win` },
      "to win ",
      A.el("b", { id: "win-now" }, A.percent(won)),
    );

  function rates(side, ball) {
    const left = side.quota === null ? null : Math.max(0, side.quota - ball.legal);
    if (side.target !== null) {
      const need = Math.max(0, side.target - ball.score);
      const each = left ? `, ${((6 * need) / left).toFixed(1)} an over` : "";
      return A.span(null, A.b(null, need), ` needed${left === null ? "" : ` from ${left}`}${each}`);
    }
    const rate = ball.legal ? `${((6 * ball.score) / ball.legal).toFixed(1)} an over` : "";
    return A.span(null, A.b(null, rate), left === null ? "" : `${rate && ", "}${left} balls left`);
  }
  function thisOver(innings, ball) {
    const over = innings.balls.filter((one) => one.over === ball.over && one.index <= ball.index);
    const said = over.map((one) => A.outcomeNames[one.outcome]).join(", ");
    const mark = (one) => (one === ball ? "?" : A.marks[one.outcome] || one.outcome);
    const shown = (one) => {
      const kind = `ball o-${A.ballKind(one)}${one === ball ? " now" : ""}`;
      return A.el("i", { class: kind, title: innings.describe(one.index - 1) }, mark(one));
    };
    return A.el("span", { class: "this-over", "aria-label": `this over: ${said}` }, over.map(shown));
  }
})();
