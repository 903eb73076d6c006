// Who surprises the model, and the most surprising balls of a corpus.
(function () {
  const { phases, named, many, fraction, none } = A.corpus;
  // Two tables of players beside each other; the report lists the ends of each list.
  function listed(name, groups, columns, lead) {
    const nodes = groups.map(([caption, found, role]) => {
      const rows = found.filter(named);
      return A.div(
        null,
        rows.length
          ? A.sortable(caption, columns(role, rows), rows, columns(role, rows)[2].name)
          : none(caption + (found.length ? ": nobody of that name in this list." : ": nobody to show.")),
      );
    });
    A.put(`${name}-shown`, lead ? A.p("lead", lead) : null, A.div("columns auto wide", nodes));
    A.menu(name, [
      [
        "CSV",
        () =>
          A.saveText(
            A.csv(
              groups.flatMap(([caption, found, role], at) => {
                const rows = A.rowsOf(columns(role, found), found);
                return [
                  ["list", ...rows[0].map((one) => (one === role ? "name" : one))],
                  ...rows.slice(1).map((row) => [caption.split(" (")[0], ...row]),
                ].slice(at ? 1 : 0);
              }),
            ),
            `${A.stem()}-${name}.csv`,
            "text/csv",
          ),
      ],
    ]);
  }
  const among = (found) =>
    ` (${A.count(found.players, "player")} compared; ${many(found.too_few)} with too few balls)`;

  A.corpus.players = (data) => {
    const told = data.surprises,
      all = ["batters", "bowlers"].flatMap((role) => [...told[role].most, ...told[role].least]);
    const ends = all
        .flatMap((row) => [row.excess_bits.value, row.excess_bits.low, row.excess_bits.high])
        .filter((one) => one !== null),
      far = Math.max(0.1, ...ends.map(Math.abs));
    const columns = (role) => [
      { name: role, of: (row) => row.name, show: (row) => A.el("bdi", null, row.name) },
      {
        name: "interval",
        show: (row) =>
          A.spanBar(row.excess_bits.value, row.excess_bits.low, row.excess_bits.high, -far, far, 0),
      },
      {
        name: "beyond expected",
        number: true,
        of: (row) => row.excess_bits.value,
        ends: (row) => [row.excess_bits.low, row.excess_bits.high],
        show: (row) =>
          A.between(row.excess_bits.value, row.excess_bits.low, row.excess_bits.high, fraction(3)),
      },
      {
        name: "mean bits",
        number: true,
        of: (row) => row.surprise_bits,
        show: (row) => row.surprise_bits.toFixed(3),
      },
      { name: "balls", number: true, of: (row) => row.balls, show: (row) => many(row.balls) },
      { name: "matches", number: true, of: (row) => row.matches },
    ];
    listed(
      "players",
      ["batters", "bowlers"].map((role) => [
        `${role === "batters" ? "Batters" : "Bowlers"} who surprise most and least${among(told[role])}`,
        [...told[role].most, ...told[role].least],
        role.slice(0, -1),
      ]),
      columns,
      "Beyond expected: mean surprise less what the model's own probabilities expected, in bits a ball, so " +
        "that a hitter whose sixes were foreseen does not count; 0 is the mark. Players with " +
        data.least.balls +
        " balls in " +
        data.least.matches +
        " matches; among many, the ends of such a list are partly chance.",
    );
  };

  // A ball is a link where the match that is open under that name has that ball by that side.
  function place(page, row) {
    const found = page.open.find(
      (one) =>
        one.about.match_id === row.match_id &&
        (!row.date || !one.about.date || one.about.date === row.date) &&
        one.about.innings.some(
          (side) =>
            side.number === row.innings && side.batting === row.batting_team && side.balls >= row.index,
        ),
    );
    return found ? `/match/${encodeURIComponent(found.key)}/innings/${row.innings}/ball/${row.index}` : null;
  }
  const ballColumns = (page) => [
    {
      name: "ball",
      of: (row) => `${row.bowler} to ${row.batter}`,
      show: (row) => {
        const words = [A.el("bdi", null, row.bowler), " to ", A.el("bdi", null, row.batter)],
          to = place(page, row);
        return to
          ? A.el(
              "a",
              {
                href: to,
                onclick: (event) => {
                  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
                  event.preventDefault();
                  A.go(to);
                },
              },
              words,
            )
          : words;
      },
    },
    {
      name: "happened",
      of: (row) => row.actual,
      by: (row) => A.outcomes.indexOf(row.actual),
      show: (row) => A.outcomeNames[row.actual],
    },
    {
      name: "bits",
      number: true,
      title: "surprise: 10 bits is one chance in a thousand",
      of: (row) => row.surprise_bits,
      show: (row) => row.surprise_bits.toFixed(1),
    },
    {
      name: "chance",
      number: true,
      title: "what it was given",
      of: (row) => 2 ** -row.surprise_bits,
      show: (row) => {
        const p = 100 * 2 ** -row.surprise_bits;
        return p < 0.1 ? `${p.toPrecision(1)}%` : `${p.toFixed(1)}%`;
      },
    },
    {
      name: "expected",
      of: (row) => row.top,
      by: (row) => A.outcomes.indexOf(row.top),
      show: (row) => A.outcomeNames[row.top],
    },
    { name: "phase", of: (row) => row.phase, by: (row) => phases().indexOf(row.phase) },
    {
      name: "score before",
      of: (row) => row.score,
      show: (row) => [
        A.el("bdi", null, row.batting_team),
        ` ${row.score}/${row.wickets} v `,
        A.el("bdi", null, row.bowling_team),
      ],
    },
    { name: "date", of: (row) => row.date },
    {
      name: "match and ball",
      of: (row) => `${row.match_id} ${row.innings}:${row.index}`,
      show: (row) => A.el("code", null, `${row.match_id} ${row.innings}:${row.index}`),
    },
  ];
  const PLACE = ["match_id", "innings", "index", "label", "date", "competition"];
  const PEOPLE = ["batting_team", "bowling_team", "batter", "bowler"];
  const FILED = [...PLACE, ...PEOPLE, "phase", "actual", "top", "surprise_bits", "score", "wickets"];
  let wanted = 0;
  A.corpus.surprises = async (data, chosen, page) => {
    wanted += 1;
    const turn = wanted,
      { phase, outcome } = chosen,
      player = chosen.player.trim();
    let rows = data.surprises.balls,
      words = "The two most surprising of each outcome";
    if (phase || outcome || player) {
      try {
        const asked = new URLSearchParams({ phase, outcome, player });
        const found = await A.get(`/data/corpus/balls.json?${asked}&of=${data.corpus.finished}`);
        if (turn !== wanted || !A.corpus.here(page)) return;
        rows = found.balls;
        const which = [outcome && A.outcomeNames[outcome], phase, player && `by or to “${player}”`]
          .filter(Boolean)
          .join(", ");
        words =
          (found.found > rows.length
            ? `The ${rows.length} most surprising of ${many(found.found)} balls: `
            : `${A.count(found.found, "ball")}: `) + which;
      } catch (error) {
        if (turn !== wanted || !A.corpus.here(page)) return;
        A.put("surprises-shown", A.trouble(error.message));
        return;
      }
      A.say(words);
    }
    A.put(
      "surprises-shown",
      rows.length ? A.sortable(words, ballColumns(page), rows, "bits") : none(`${words}: there is none.`),
    );
    A.menu("surprises", [
      [
        "CSV",
        () =>
          A.saveText(
            A.csv([FILED, ...rows.map((row) => FILED.map((name) => row[name]))]),
            `${A.stem()}-surprises.csv`,
            "text/csv",
          ),
      ],
    ]);
  };
})();
