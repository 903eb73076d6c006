// The page of a corpus: its report's figures as tables that are sorted and narrowed. The address holds
// what is chosen.
(function () {
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
      A.put("corpus-about", A.trouble(error.message));
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
    A.corpus.calibration(data);
    narrowed();
    document.body.dataset.ready = "yes";
  };

  const phases = () => data.fusion.map((row) => row.phase);
  const headName = (scale, head) => `${scale} head ${/\d+/.exec(head)}`;
  const heads = () => [...new Set(data.attention.map((row) => `${row.scale} ${row.head}`))];
  const few = (count, least, what) =>
    count ? ` ${A.count(count, what)} with fewer than ${least} left out.` : "";
  const many = (n) => n.toLocaleString("en");
  const fraction = (digits) => (value) => (value < 0 ? "−" : "") + Math.abs(value).toFixed(digits);
  const none = (words) => A.p("empty", words);

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
      A.p(
        "lead",
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
        ? A.ul(
            "cautions",
            cautions.map((one) => A.li(null, one)),
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
        A.p(
          "quiet small",
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
    A.corpus.sources(data);
    A.corpus.attention(data, chosen);
    A.corpus.claims(data, chosen);
    A.corpus.surprises(data, chosen, page);
    A.corpus.players(data);
  }
  const inPhase = (row) => !chosen.phase || row.phase === chosen.phase;
  const named = (row) => row.name.toLowerCase().includes(chosen.player.trim().toLowerCase());

  function fit() {
    const f = data.figures,
      nats = (one) => A.between(one.value, one.low, one.high, fraction(4)),
      line = (term, ...told) => A.div(null, A.el("dt", null, term), A.el("dd", null, told));
    A.put(
      "fit-shown",
      A.el(
        "dl",
        { class: "figures wide" },
        line("Surprised by what happened", nats(f.log_loss), A.small(null, " nats a ball")),
        line(
          "Expected to be, by its own probabilities",
          nats(f.expected_log_loss),
          A.small(null, " nats a ball"),
        ),
        line(
          "What it held likeliest came",
          A.between(f.accuracy.value, f.accuracy.low, f.accuracy.high, (value) => A.percent(value, true)),
        ),
      ),
    );
  }

  A.corpus = {
    phases,
    heads,
    inPhase,
    named,
    headName,
    few,
    many,
    fraction,
    none,
    /** Whether the same corpus is still shown. */
    here: (one) => one === page,
  };
})();
