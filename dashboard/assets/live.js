// A match that is being played: what is new comes by itself, with the forecast of the ball to come.
(function () {
  const POLL_PAUSE = 1000; // milliseconds
  const played = (match) => match.innings.filter((innings) => innings.balls);
  const balls = (match) => match.innings.reduce((sum, innings) => sum + innings.balls, 0);

  /**
   * Looks for new balls until the page is left.
   * @param {any} page its data from the server
   * @param {(grown: boolean, last: any, before: number) => void} onNewBall called when a ball has come, or
   *   one was corrected, with the innings in play now and the number of the one before
   */
  A.follow = (page, onNewBall) => {
    let silent = 0;
    let left = false;
    const look = async () => {
      const path = `/live/${encodeURIComponent(page.key)}.json`;
      const live = await fetch(path, { cache: "no-store" })
        .then((response) => (response.ok ? response.json() : null))
        .catch(() => null);
      if (left) return;
      silent = live ? 0 : silent + 1;
      if (live) showState(page, live.trouble, live.as_of);
      else if (silent >= 3) showState(page, "the server does not answer", page.asOf);
      if (!live || !played(live.summary).length || !A.atVersion(page.key, live.version)) return;
      const grown = balls(live.summary) > balls(page.summary);
      const before = played(page.summary).slice(-1)[0].number;
      page.summary = live.summary;
      onNewBall(grown, played(live.summary).slice(-1)[0], before);
    };
    const timer = setInterval(look, POLL_PAUSE);
    A.leave.push(() => {
      left = true;
      clearInterval(timer);
    });
    look();
  };
  // One line: when what is shown was good, and what is wrong since.
  function showState(page, trouble, asOf) {
    const node = A.at("live");
    /** @type {Intl.DateTimeFormatOptions} */
    const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false };
    const when = asOf ? new Date(1000 * asOf).toLocaleTimeString([], clock) : "the beginning";
    page.asOf = asOf;
    const words = trouble
      ? `Shown as it stood at ${when}: ${trouble}; taken up again when that is mended`
      : `Followed; last changed at ${when}`;
    if (node.textContent === words) return;
    node.className = trouble ? "trouble" : "quiet";
    node.textContent = words;
  }

  const SHOWN = ["0", "1", "2", "4", "6", "W"];
  /** How the last ball fared against its forecast, and the forecast of the next. */
  A.showNext = async (page, innings, model) => {
    const at = innings.count - 1;
    const last = innings.balls[at];
    const probability = innings.probabilitiesOf(at)[A.outcomes.indexOf(last.outcome)];
    const result = `had ${A.percent(probability)}, ${innings.surprise[at].toFixed(1)} bits. `;
    A.put("next", A.b(null, "Last "), `${innings.describe(at)}: `, result);
    const path = `/data/${encodeURIComponent(page.key)}/next.json${A.query(page.key, model)}`;
    const next = await A.get(path);
    if (!A.at("next")) return;
    if (next.waiting) {
      A.at("next").append(A.b(null, "Next "), next.waiting);
      return;
    }
    const chances = next.outcomes.filter((row) => SHOWN.includes(row.outcome));
    A.at("next").append(
      A.b(null, `Next ${next.label} `),
      `${next.bowler} to ${next.batter}: `,
      chances.map((row) => `${A.outcomeNames[row.outcome]} ${A.percent(row.probability)}`).join(" · "),
    );
  };
})();
