// A match that is being played: what is new comes by itself, with the forecast of the ball to come.
(function () {
  const EVERY = 1000;
  const played = (about) => about.innings.filter((one) => one.balls);
  const balls = (about) => about.innings.reduce((sum, one) => sum + one.balls, 0);

  /**
   * Looks for new balls until the page is left.
   * @param {any} page what the server handed to it
   * @param {(more: boolean, last: any, before: number) => void} came a ball has come, or one was corrected:
   *   the innings in play now, and the number of the one before
   */
  A.follow = (page, came) => {
    let silent = 0;
    let left = false;
    const look = async () => {
      const path = `/live/${encodeURIComponent(page.key)}.json`;
      const live = await fetch(path, { cache: "no-store" })
        .then((said) => (said.ok ? said.json() : null))
        .catch(() => null);
      if (left) return;
      silent = live ? 0 : silent + 1;
      if (live) standing(page, live.trouble, live.as_of);
      else if (silent >= 3) standing(page, "the server does not answer", page.asOf);
      if (!live || !played(live.about).length || !A.atVersion(page.key, live.version)) return;
      const more = balls(live.about) > balls(page.about);
      const before = played(page.about).slice(-1)[0].number;
      page.about = live.about;
      came(more, played(live.about).slice(-1)[0], before);
    };
    const timer = setInterval(look, EVERY);
    A.leave.push(() => {
      left = true;
      clearInterval(timer);
    });
    look();
  };
  // One line: when what is shown was good, and what is wrong since.
  function standing(page, trouble, asOf) {
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

  const TOLD = ["0", "1", "2", "4", "6", "W"];
  /** How the last ball fared against its forecast, and the forecast of the next. */
  A.showNext = async (page, innings, model) => {
    const at = innings.count - 1;
    const last = innings.balls[at];
    const given = innings.probabilitiesOf(at)[A.outcomes.indexOf(last.outcome)];
    const fared = `had ${A.percent(given)}, ${innings.surprise[at].toFixed(1)} bits. `;
    A.put("next", A.b(null, "Last "), `${innings.describe(at)}: `, fared);
    const path = `/data/${encodeURIComponent(page.key)}/next.json${A.asked(page.key, model)}`;
    const next = await A.get(path);
    if (!A.at("next")) return;
    if (next.waiting) {
      A.at("next").append(A.b(null, "Next "), next.waiting);
      return;
    }
    const chances = next.outcomes.filter((one) => TOLD.includes(one.outcome));
    A.at("next").append(
      A.b(null, `Next ${next.label} `),
      `${next.bowler} to ${next.batter}: `,
      chances.map((one) => `${A.outcomeNames[one.outcome]} ${A.percent(one.probability)}`).join(" · "),
    );
  };
})();
