// Of each of two balls: where it looks, over all paths, and what was tested of one outcome.
(function () {
  const MOST = 8;

  /** The balls that a ball looks at most, with their shares as bars. */
  A.looks = (id, innings, at) => {
    const places = Array.from({ length: Math.min(at, innings.places) }, (_, number) => number + 1);
    const rows = places
      .map((distance) => ({ place: at - distance, share: innings.looked(at, distance) }))
      .sort((one, two) => two.share - one.share)
      .slice(0, MOST);
    const top = rows.length ? rows[0].share : 1;
    const row = ({ place, share }) =>
      A.li(
        null,
        A.span("name", innings.describe(place)),
        A.el(
          "span",
          { class: "tally", "aria-hidden": "true" },
          A.el("i", { class: "done", style: `width:${(100 * share) / top}%` }),
        ),
        A.b(null, A.percent(share)),
      );
    A.put(
      id,
      rows.length ? A.ul("tallies looks", rows.map(row)) : A.p("empty", "It has no past to look at yet."),
    );
    A.menu(id.replace("-list", ""), [
      [
        "CSV",
        () =>
          A.saveText(
            A.csv([
              ["delivery", "label", "attention"],
              ...rows.map(({ place, share }) => [place + 1, innings.balls[place].label, share.toFixed(6)]),
            ]),
            `${A.stem()}-${id}.csv`,
            "text/csv",
          ),
      ],
    ]);
  };

  /** What was tested of a ball and an outcome: verdict by verdict. */
  A.testedOf = async (id, { key, number, ball, model }, outcome, signal) => {
    A.put(id, A.loading("hiding balls"));
    const path = `/data/${encodeURIComponent(key)}/${number}/${ball}/explanation.json`;
    try {
      const told = await A.get(`${path}${A.asked(key, model)}&outcome=${outcome}`, signal);
      if (signal.aborted) return;
      const claims = told.evidence
        .filter((one) => one.verdict !== null)
        .sort((one, two) => A.claims.rank(one) - A.claims.rank(two));
      const held = claims.filter((one) => one.verdict === "supported" && !one.reference).length;
      const said = `Of ${A.count(claims.length, "claim")} about ${A.outcomeNames[outcome]}, ${held} hold.`;
      A.put(id, A.p("quiet", said), A.ul("brief", claims.map(A.claims.brief)));
    } catch (error) {
      if (!signal.aborted) A.put(id, A.trouble(error.message));
    }
  };
})();
