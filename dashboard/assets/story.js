// The page of a match: its story and the curve of who was winning.
(function () {
  // ---- The match as a story: who won, when it turned, who did more than was expected, where to go on.
  const LEAST = 6; // players that are listed before "all of them"
  let story = null;
  let page = null;
  let whole = false; // whether its claims have been tested
  const place = (one) => `${A.nth(one.innings)} ${one.label}`;
  const path = (one) => A.ballPath(page.key, one.innings, one.index) + model();
  const model = () => {
    const asked = new URLSearchParams(location.search).get("model");
    return page.models.includes(asked) && asked !== page.models[0]
      ? `?model=${encodeURIComponent(asked)}`
      : "";
  };

  A.pages.story = async (data) => {
    page = data;
    story = null;
    A.redraw = () => {
      A.forgetWidths();
      if (story) draw();
    };
    const stop = new AbortController();
    A.leave.push(() => {
      stop.abort();
      page = story = null;
    });
    A.on(
      window,
      "resize",
      A.debounce(() => A.redraw?.(), 120),
    );
    A.stem = () => `attnlens-${data.key}`;
    links();
    for (const name of ["win-plot", "turning-list", "surprises-list", "expected-shown"])
      A.put(name, A.loading("the model is reading the match"));
    const asked = new URLSearchParams(location.search).get("model");
    const named = page.models.includes(asked) ? asked : page.models[0];
    const path = `/data/${encodeURIComponent(data.key)}/story.json${A.asked(data.key, named)}`;
    try {
      // Who was winning is there at once; what was tested follows.
      for (const part of ["&untested=1", ""]) {
        const found = await A.get(path + part, stop.signal);
        if (page !== data) return;
        story = found;
        whole = !part;
        draw();
        document.body.dataset.ready = "yes";
      }
    } catch (error) {
      if (page !== data) return;
      for (const name of ["expected", "surprises", "turning"]) A.at(name).hidden = true;
      A.put("win-plot", A.trouble(error.message));
    }
    document.body.dataset.ready = "yes";
  };

  // The innings, each with its score: from there on it is ball by ball.
  function links() {
    const one = (side) => {
      const text = [
        side.super_over ? "super over, " : null,
        A.el("bdi", null, side.batting),
        ` ${side.total}/${side.wickets}`,
      ];
      const more = [A.small(null, ` (${side.overs}) `), A.span("go", "ball by ball ▸")];
      if (!side.balls) return A.span("chip", text);
      return A.link(A.ballPath(page.key, side.number, 1) + model(), { class: "button" }, text, more);
    };
    A.put("innings-links", page.about.innings.map(one));
  }

  function draw() {
    A.cautions(story.notes.map((note) => note.text));
    const shown = { story, innings: page.about.innings, path, place };
    A.at("win").hidden = !story.win_probability.length;
    const svg = story.win_probability.length && A.winCurve("win-plot", shown);
    if (svg)
      A.figureMenu(
        "win",
        () => svg,
        () => [
          ["innings", "delivery", "label", "before", "after"],
          ...story.win_probability.map((one) => [one.innings, one.index, one.label, one.before, one.after]),
        ],
      );
    turning();
    surprises();
    expected();
  }

  // A name that is written from right to left moves nothing that stands beside it.
  function happened(one) {
    const names = [...story.expected.batters, ...story.expected.bowlers].map((row) => row.name);
    const longest = [...new Set(names)].sort((a, b) => b.length - a.length);
    const any = longest.map((name) => name.replace(/[^\p{L}\s]/gu, "\\$&")).join("|");
    if (!any) return one.sentence;
    const parts = one.sentence.split(new RegExp(`(${any})`));
    return parts.map((part, at) => (at % 2 ? A.el("bdi", null, part) : part));
  }
  function turning() {
    A.at("turning").hidden = !story.turning_points.length;
    const row = (one, number) => {
      const points = 100 * one.swing;
      return A.li(
        null,
        A.link(
          path(one),
          { class: "turn" },
          A.span("numbered", number + 1),
          A.span(null, A.b(null, place(one), " "), happened(one), verdict(one)),
          A.b(points < 0 ? "down" : "up", A.signed(points, Math.abs(points) < 9.95 ? 1 : 0)),
        ),
      );
    };
    A.put(
      "turning-list",
      A.p(
        "quiet small",
        `Points of ${story.team || "the side batting first"}'s chance to win. Choose one to see why.`,
      ),
      A.el("ol", { class: "turns" }, story.turning_points.map(row)),
    );
  }
  function verdict(one) {
    if (!whole) return A.small(null, " being tested …");
    if (one.verdict === null) return [" ", A.span("badge none", "not tested by a claim")];
    const badge = A.badge(one.verdict, "of past balls and records as reasons for that chance");
    return [one.finding ? ` ${one.finding} ` : A.small(null, " Reasons tested: "), badge];
  }
  function surprises() {
    A.at("surprises").hidden = !story.surprises.length;
    const row = (one) =>
      A.li(
        null,
        A.link(
          path(one),
          { class: "surprise" },
          A.b(null, place(one)),
          " ",
          A.span(null, happened(one)),
          A.small(null, `${one.surprise_bits.toFixed(1)} bits`),
        ),
      );
    const { tested } = story;
    const held = tested?.claims
      ? `Of ${tested.claims} claims that were tested, ${tested.supported} hold.`
      : null;
    A.put("surprises-list", A.ul("surprising", story.surprises.map(row)), held && A.p("quiet small", held));
  }

  const KINDS = { batters: "Batters", bowlers: "Bowlers", overs: "Overs" };
  let kind = "batters";
  function expected() {
    A.at("expected").hidden = !Object.values(story.expected).some((rows) => rows.length);
    const tab = ([name, text]) =>
      A.el(
        "button",
        {
          type: "button",
          "aria-pressed": String(name === kind),
          onclick: () => {
            kind = name;
            expected();
          },
        },
        text,
      );
    const rows = [...(story.expected[kind] || [])];
    if (kind !== "overs") rows.sort((one, two) => two.deliveries - one.deliveries);
    const most = Math.max(1, ...rows.flatMap((one) => [one.runs, one.expected_runs]));
    const list = (some) =>
      A.ul(
        "tallies",
        some.map((one) => tally(one, most)),
      );
    const more = rows.length - LEAST;
    A.put(
      "expected-shown",
      A.el(
        "div",
        { class: "tabs small", role: "group", "aria-label": "Against expectation" },
        Object.entries(KINDS).map(tab),
      ),
      list(rows.slice(0, LEAST)),
      more > 0 ? A.el("details", null, A.el("summary", null, `${more} more`), list(rows.slice(LEAST))) : null,
      A.p(
        "legend",
        A.span(null, A.el("i", { class: "swatch now" }), "runs"),
        A.span(null, A.el("i", { class: "stroke tick" }), "expected"),
      ),
    );
  }
  function tally(one, most) {
    const share = (value) => `${((100 * value) / most).toFixed(1)}%`;
    const name = kind === "overs" ? `${A.nth(one.innings)}, ${one.name}` : one.name;
    const wickets = one.wickets ? `, ${one.wickets} w. of ${one.expected_wickets.toFixed(1)}` : "";
    return A.li(
      null,
      A.span("name", name),
      A.el(
        "span",
        { class: "tally", "aria-hidden": "true" },
        A.el("i", { class: "done", style: `width:${share(one.runs)}` }),
        A.el("i", { class: "due", style: `left:${share(one.expected_runs)}` }),
      ),
      A.span(null, A.b(null, one.runs), A.small(null, ` of ${one.expected_runs.toFixed(0)}${wickets}`)),
    );
  }

  // ---- Who was winning, ball by ball, through all innings; numbers stand where it turned.
  const HEIGHT = 300;
  const LEFT = 34;
  const RIGHT = 12;
  const TOP = 18;
  const BOTTOM = 42;
  const RADIUS = 10;

  /**
   * @param {string} id where it is drawn
   * @param {{ story: any, innings: any[], path: (one: any) => string, place: (one: any) => string }} shown
   */
  A.winCurve = (id, { story, innings, path, place }) => {
    const points = story.win_probability;
    const width = A.width(id, 300);
    const x = (at) => LEFT + ((at + 1) / points.length) * (width - LEFT - RIGHT);
    const y = (p) => TOP + (1 - p) * (HEIGHT - TOP - BOTTOM);
    const svg = A.svg("svg", {
      viewBox: `0 0 ${width} ${HEIGHT}`,
      width,
      height: HEIGHT,
      class: "win",
      role: "group",
      "aria-label": `The chance of ${story.team} to win, ball by ball`,
    });
    svg.append(...ground(points, innings, width, x, y));
    for (const share of [0, 0.25, 0.5, 0.75, 1])
      svg.append(
        A.svg("line", {
          x1: LEFT,
          x2: width - RIGHT,
          y1: y(share),
          y2: y(share),
          class: share === 0.5 ? "even" : "rule",
        }),
        A.svg("text", { x: LEFT - 6, y: y(share) + 4, class: "axis", "text-anchor": "end" }, 100 * share),
      );
    const line = points.map((one, at) => `L${x(at).toFixed(1)} ${y(one.after).toFixed(1)}`).join("");
    const start = `M${LEFT} ${y(points[0].before).toFixed(1)}`;
    svg.append(
      A.svg("path", { d: `${start}${line}L${width - RIGHT} ${y(0.5)}L${LEFT} ${y(0.5)}Z`, class: "area" }),
      A.svg("path", { d: start + line, class: "line" }),
      A.svg(
        "text",
        { x: width - RIGHT, y: TOP - 6, class: "axis", "text-anchor": "end" },
        `\u2068${A.clip(story.team, 30)}\u2069 to win, %`,
      ),
    );
    const here = svg.appendChild(A.svg("circle", { r: 4, class: "here", visibility: "hidden" }));
    pointed(svg, here, points, { x, y, width, path, place });
    svg.append(...turns(story, points, { x, y, path, place }));
    const how = "Numbers: the largest swings. Point at the line for a ball, choose it to open it.";
    A.put(id, svg, A.p("quiet small", how));
    return svg;
  };

  // Each innings with its side, and overs as the file numbers them.
  function ground(points, innings, _width, x, y) {
    const drawn = [];
    innings.forEach((side, number) => {
      const own = points.map((one, at) => [one, at]).filter(([one]) => one.innings === side.number);
      if (!own.length) return;
      const first = x(own[0][1] - 1);
      const last = x(own[own.length - 1][1]);
      if (number % 2 === 0)
        drawn.push(
          A.svg("rect", { x: first, y: y(1), width: last - first, height: y(0) - y(1), class: "over" }),
        );
      const text = `\u2068${side.batting}\u2069 ${side.total}/${side.wickets}`;
      const middle = { x: (first + last) / 2, y: HEIGHT - 8, class: "axis", "text-anchor": "middle" };
      drawn.push(A.svg("text", middle, A.clip(text, Math.max(6, Math.floor((last - first) / 7)))));
      const starts = own.filter(([one], at) => at && overOf(one) !== overOf(own[at - 1][0]));
      const every = starts.length > 40 ? 20 : 5;
      for (const [one, at] of starts.filter(([one]) => overOf(one) % every === 0))
        drawn.push(
          A.svg("text", { x: x(at - 1), y: y(0) + 16, class: "axis", "text-anchor": "middle" }, overOf(one)),
        );
    });
    return drawn;
  }
  const overOf = (one) => Number(one.label.split(".")[0]);

  function turns(story, points, { x, y, path, place }) {
    const taken = [];
    return story.turning_points.map((one, number) => {
      const at = points.findIndex((other) => other.innings === one.innings && other.index === one.index);
      const cx = x(at);
      let cy = Math.max(TOP + RADIUS, y(points[at].after));
      // Two that stand close are one below the other.
      while (taken.some(([px, py]) => Math.abs(px - cx) < 2 * RADIUS && Math.abs(py - cy) < 2 * RADIUS))
        cy += RADIUS;
      taken.push([cx, cy]);
      const label = `${number + 1}: ${place(one)}, ${A.signed(100 * one.swing)} points`;
      const onclick = (event) => {
        event.preventDefault();
        A.go(path(one));
      };
      return A.svg(
        "a",
        { href: path(one), "aria-label": label, onclick },
        A.svg("circle", { cx, cy, r: RADIUS, class: "turn" }),
        A.svg("text", { x: cx, y: cy + 4, class: "turn-number", "text-anchor": "middle" }, number + 1),
        A.svg("title", null, label),
      );
    });
  }
  function pointed(svg, here, points, { x, y, width, path, place }) {
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      const share = ((event.clientX - box.left) * (width / box.width) - LEFT) / (width - LEFT - RIGHT);
      return Math.max(0, Math.min(points.length - 1, Math.floor(share * points.length)));
    };
    A.tip(svg, (event) => {
      const one = points[at(event)];
      here.setAttribute("visibility", "visible");
      here.setAttribute("cx", x(at(event)));
      here.setAttribute("cy", y(one.after));
      return `${place(one)}: ${A.percent(one.before)} → ${A.percent(one.after)}`;
    });
    svg.addEventListener("pointerleave", () => here.setAttribute("visibility", "hidden"));
    svg.addEventListener("click", (event) => {
      // A finger reads; the numbers and the list open.
      if (event.pointerType !== "touch" && !event.target.closest("a")) A.go(path(points[at(event)]));
    });
  }
})();
