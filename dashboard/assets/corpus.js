// The page of a corpus: its report's figures as tables that are sorted and narrowed. The address holds
// what is chosen.
(function () {
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
  const FEWEST = 50; // an outcome that came less often has no diagram
  let data, page, chosen;

  A.pages.corpus = async (told) => {
    page = told;
    data = null;
    A.stem = () => "attnlens-corpus";
    A.redraw = () => {};
    const here = page;
    A.leave.push(() => {
      page = data = null;
      clearTimeout(typing);
    });
    try {
      const found = await fetch("/data/corpus/figures.json", { cache: "no-store" }).catch(() => {
        throw new Error("the server does not answer");
      });
      const figures = await found.json().catch(() => ({ error: `the server said ${found.status}` }));
      if (here !== page) return;
      if (!found.ok) throw new Error(figures.error);
      data = figures;
    } catch (error) {
      if (here !== page) return;
      A.at("page").classList.add("failed");
      document.querySelector(".places").remove();
      A.put("corpus-about", A.el("p", { class: "trouble", role: "alert" }, error.message));
      return;
    }
    const asked = new URLSearchParams(location.search),
      text = (name) => (asked.get(name) || "").slice(0, 80);
    chosen = {
      phase: phases().includes(text("phase")) ? text("phase") : "",
      head: heads().includes(text("head")) ? text("head") : "",
      outcome: A.outcomes.includes(text("outcome")) ? text("outcome") : "",
      player: text("player"),
    };
    about();
    filters();
    fit();
    calibration();
    narrowed();
    document.body.dataset.ready = "yes";
  };

  const phases = () => data.fusion.map((row) => row.phase);
  const headName = (scale, head) => `${scale} head ${/\d+/.exec(head)}`;
  const startedAs = (head) =>
    head.endsWith("_free") ? "It started free." : `It started as ${A.words(head.replace(/^head_\d+_/, ""))}.`;
  const heads = () => [...new Set(data.attention.map((row) => `${row.scale} ${row.head}`))];
  const few = (count, least, what) =>
    count ? ` ${A.count(count, what)} with fewer than ${least} left out.` : "";
  const many = (n) => n.toLocaleString("en");
  const fraction = (digits) => (value) => (value < 0 ? "−" : "") + Math.abs(value).toFixed(digits);
  const none = (words) => A.el("p", { class: "empty" }, words);

  function about() {
    const f = data.figures,
      c = data.corpus,
      title =
        "Corpus: " +
        many(f.balls) +
        " balls of " +
        (f.matches === 1 ? "1 match" : `${many(f.matches)} matches`);
    A.put("corpus-title", title);
    document.title = `${title} | attnlens`;
    const when = f.first === null ? "" : f.first === f.last ? f.first : `${f.first} to ${f.last}`;
    const cautions = [
      f.in_training
        ? many(f.in_training) +
          " of " +
          (f.matches === 1 ? "1 match was, or may have" : `${many(f.matches)} matches were, or may have`) +
          " been, in the model's training: it looks better there than it is."
        : null,
      c.history
        ? null
        : "Ratings of players and grounds are the checkpoint's own, not those of each match's date: " +
          "of earlier matches they know too much.",
      f.matches === 1 ? "Means over one match have no intervals: those are over matches." : null,
      c.finished < c.parts
        ? "Only " +
          c.finished +
          " of " +
          c.parts +
          " parts are finished: the figures are of those; open this page again for more."
        : null,
      c.skipped ? `${A.count(c.skipped, "file")} could not be read and left out.` : null,
      page.open.length ? null : "No match is open: surprising balls are links where theirs is.",
    ].filter(Boolean);
    const link = (name, words) => A.el("a", { href: `/files/corpus/${name}`, download: "" }, words);
    A.put(
      "corpus-about",
      A.el(
        "p",
        { class: "lead" },
        [f.competitions ? A.count(f.competitions, "competition") : null, when].filter(Boolean).join(", "),
        "; model ",
        c.model.name.split(/[\\/]/).pop(),
        ` (${c.model.sha256.slice(0, 12)}). Intervals are of 95%. To take away: `,
        link("report.html", "a page that prints"),
        ", ",
        link("report.json", "all figures"),
        ".",
      ),
      cautions.length
        ? A.el(
            "ul",
            { class: "cautions" },
            cautions.map((one) => A.el("li", null, one)),
          )
        : null,
    );
  }

  // What is chosen narrows every part that knows of it, and stands in the address.
  let typing = 0;
  function filters() {
    const pick = (name, words, values, show) =>
      A.el(
        "label",
        null,
        words,
        A.el(
          "select",
          {
            id: `corpus-${name}`,
            onchange: (event) => {
              chosen[name] = event.target.value;
              changed();
            },
          },
          A.el("option", { value: "" }, "all"),
          values.map((one) => A.el("option", { value: one, selected: one === chosen[name] }, show(one))),
        ),
      );
    A.put(
      "corpus-filters",
      A.el(
        "form",
        {
          class: "form",
          role: "search",
          "aria-label": "Narrow",
          onsubmit: (event) => event.preventDefault(),
        },
        pick("phase", "Phase", phases(), (one) => one),
        pick("head", "Head", heads(), (one) => headName(...one.split(" "))),
        pick("outcome", "Outcome", A.outcomes, (one) => A.outcomeNames[one]),
        A.el(
          "label",
          null,
          "Player",
          A.el("input", {
            type: "search",
            id: "corpus-player",
            size: 18,
            maxlength: 80,
            value: chosen.player,
            placeholder: "part of a name",
            oninput: (event) => {
              chosen.player = event.target.value;
              clearTimeout(typing);
              typing = setTimeout(changed, 250);
            },
          }),
        ),
        A.el(
          "button",
          {
            type: "button",
            id: "corpus-all",
            onclick: () => {
              Object.assign(chosen, { phase: "", head: "", outcome: "", player: "" });
              filters();
              changed();
              A.at("corpus-phase").focus();
            },
          },
          "Show all",
        ),
        A.el(
          "p",
          { class: "quiet small" },
          "Phase and head narrow sources, attention and claims; phase, outcome and player the surprising " +
            "balls, of all there are; player the lists of players.",
        ),
      ),
    );
  }
  function changed() {
    if (!data) return;
    const asked = new URLSearchParams(Object.entries(chosen).filter(([, value]) => value)).toString();
    history.replaceState(history.state, "", `/corpus${asked ? `?${asked}` : ""}${location.hash}`);
    narrowed();
  }
  function narrowed() {
    sources();
    attention();
    claims();
    surprises();
    players();
  }
  const inPhase = (row) => !chosen.phase || row.phase === chosen.phase;
  const named = (row) => row.name.toLowerCase().includes(chosen.player.trim().toLowerCase());

  function fit() {
    const f = data.figures,
      nats = (one) => A.between(one.value, one.low, one.high, fraction(4)),
      line = (term, ...told) => A.el("div", null, A.el("dt", null, term), A.el("dd", null, told));
    A.put(
      "fit-shown",
      A.el(
        "dl",
        { class: "figures wide" },
        line("Surprised by what happened", nats(f.log_loss), A.el("small", null, " nats a ball")),
        line(
          "Expected to be, by its own probabilities",
          nats(f.expected_log_loss),
          A.el("small", null, " nats a ball"),
        ),
        line(
          "What it held likeliest came",
          A.between(f.accuracy.value, f.accuracy.low, f.accuracy.high, (value) => A.percent(value, true)),
        ),
      ),
    );
  }

  function sources() {
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
      A.el(
        "p",
        { class: "legend" },
        names.map((name, at) =>
          A.el("span", null, A.el("i", { class: `gate g${at}` }), SOURCES[name] || name),
        ),
      ),
    );
    A.menu("sources", [
      ["CSV", () => A.saveText(A.csv(A.rowsOf(columns, rows)), `${A.stem()}-sources.csv`, "text/csv")],
    ]);
  }

  function attention() {
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
  }

  function claims() {
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
      A.el(
        "p",
        { class: "lead" },
        many(told.tested) +
          " claims on " +
          A.count(told.balls, "ball") +
          " drawn over all matches: the balls hidden, beside other sets of as many. Supported: they do " +
          "more than chance would have it. Intervals are Wilson's and take claims as independent, which those " +
          "of one ball are not quite.",
      ),
      A.el(
        "div",
        { class: "columns auto wide" },
        A.el("div", null, parts[0].node, parts[1].node),
        A.el("div", null, parts[2].node),
      ),
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
  }

  // Two tables of players beside each other; the report lists the ends of each list.
  function listed(name, groups, columns, lead) {
    const nodes = groups.map(([caption, found, role]) => {
      const rows = found.filter(named);
      return A.el(
        "div",
        null,
        rows.length
          ? A.sortable(caption, columns(role, rows), rows, columns(role, rows)[2].name)
          : none(caption + (found.length ? ": nobody of that name in this list." : ": nobody to show.")),
      );
    });
    A.put(
      `${name}-shown`,
      lead ? A.el("p", { class: "lead" }, lead) : null,
      A.el("div", { class: "columns auto wide" }, nodes),
    );
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

  function players() {
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
  }

  function calibration() {
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
        ? A.el(
            "div",
            { class: "multiples" },
            shown.map((one) =>
              A.el(
                "figure",
                null,
                A.el(
                  "figcaption",
                  null,
                  A.el("b", null, A.outcomeNames[one.outcome]),
                  A.el("small", null, ` ${many(one.happened)} times`),
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
  }
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

  // A ball is a link where the match that is open under that name has that ball by that side.
  function place(row) {
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
  const ballColumns = () => [
    {
      name: "ball",
      of: (row) => `${row.bowler} to ${row.batter}`,
      show: (row) => {
        const words = [A.el("bdi", null, row.bowler), " to ", A.el("bdi", null, row.batter)],
          to = place(row);
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
  let wanted = 0;
  async function surprises() {
    wanted += 1;
    const turn = wanted,
      here = page,
      { phase, outcome } = chosen,
      player = chosen.player.trim();
    let rows = data.surprises.balls,
      words = "The two most surprising of each outcome";
    if (phase || outcome || player) {
      try {
        const asked = new URLSearchParams({ phase, outcome, player });
        const found = await A.get(`/data/corpus/balls.json?${asked}&of=${data.corpus.finished}`);
        if (turn !== wanted || here !== page) return;
        rows = found.balls;
        const which = [outcome && A.outcomeNames[outcome], phase, player && `by or to “${player}”`]
          .filter(Boolean)
          .join(", ");
        words =
          (found.found > rows.length
            ? `The ${rows.length} most surprising of ${many(found.found)} balls: `
            : `${A.count(found.found, "ball")}: `) + which;
      } catch (error) {
        if (turn !== wanted || here !== page) return;
        A.put("surprises-shown", A.el("p", { class: "trouble", role: "alert" }, error.message));
        return;
      }
      A.say(words);
    }
    A.put(
      "surprises-shown",
      rows.length ? A.sortable(words, ballColumns(), rows, "bits") : none(`${words}: there is none.`),
    );
    A.menu("surprises", [
      [
        "CSV",
        () =>
          A.saveText(
            A.csv([
              [
                "match_id",
                "innings",
                "index",
                "label",
                "date",
                "competition",
                "batting_team",
                "bowling_team",
                "batter",
                "bowler",
                "phase",
                "actual",
                "top",
                "surprise_bits",
                "score",
                "wickets",
              ],
              ...rows.map((row) => [
                row.match_id,
                row.innings,
                row.index,
                row.label,
                row.date,
                row.competition,
                row.batting_team,
                row.bowling_team,
                row.batter,
                row.bowler,
                row.phase,
                row.actual,
                row.top,
                row.surprise_bits,
                row.score,
                row.wickets,
              ]),
            ]),
            `${A.stem()}-surprises.csv`,
            "text/csv",
          ),
      ],
    ]);
  }
})();
