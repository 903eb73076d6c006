// Two balls, two innings or two models side by side, and what differs.
(function () {
  const SIDES = ["a", "b"];
  let data, sides;
  let outcome = null;
  let testing = null;

  A.pages.compare = async (told) => {
    data = told;
    const known = [
      ...told.matches.map((one) => ({
        key: one.key,
        title: dated(one.about),
        innings: one.about.innings,
        last: one.about.innings.filter((innings) => innings.balls && !innings.super_over).slice(-1)[0],
      })),
      ...A.brought().map((one) => ({ key: one.key, title: `${one.title} (brought)` })),
    ];
    if (!known.length) {
      A.put("compare-a", A.p("empty", "No match is open."));
      A.at("compare-b").hidden = true;
      A.at("page").classList.add("failed");
      return;
    }
    A.redraw = () => {
      if (sides.every((one) => one.innings)) drawBoth();
    };
    A.on(window, "popstate", () => location.pathname === "/compare" && show(known));
    A.on(window, "resize", () => {
      A.forgetWidths();
      A.redraw();
    });
    A.leave.push(() => testing?.abort());
    A.stem = () => "attnlens-compare";
    await show(known);
    document.body.dataset.ready = "yes";
  };
  async function show(known) {
    const asked = new URLSearchParams(location.search);
    outcome = A.outcomes.find((one) => one === asked.get("outcome")) || null;
    sides = SIDES.map((side, number) => ({ side, ...read(asked.get(side), known, number) }));
    sides.forEach((one) => form(one, known));
    await Promise.all(sides.map(load));
    drawBoth();
  }
  const dated = (about) => about.title + (about.date ? `, ${about.date}` : "");
  function read(text, known, number) {
    const [key, innings, ball, model] = String(text || "").split("/");
    const found = known.find((one) => one.key === key) || (key ? { key } : known[0]);
    return {
      key: found.key,
      known: found.innings || [],
      number: Number(innings) || (number && found.last ? found.last.number : 1),
      ball: Math.trunc(Number(ball)) || 36,
      model: data.models.includes(model) ? model : data.models[0],
    };
  }
  const place = (one) =>
    `${encodeURIComponent(one.key)}/${one.number}/${one.ball}/${encodeURIComponent(one.model)}`;
  function remember() {
    const asked = sides.map((one) => `${one.side}=${place(one)}`).join("&");
    const next = `/compare?${asked}${outcome ? `&outcome=${outcome}` : ""}`;
    if (next !== location.pathname + location.search) history.pushState(history.state, "", next);
  }
  function form(one, known) {
    const select = (label, options, value, chosen) =>
      A.el(
        "label",
        null,
        label,
        A.el(
          "select",
          { onchange: (event) => changed(one, chosen(event.target.value)) },
          options.map(([name, text]) =>
            A.el("option", { value: name, selected: String(name) === String(value) }, text),
          ),
        ),
      );
    one.numbers = A.el("label", null, "Innings");
    one.balls = A.el("input", {
      type: "number",
      min: 1,
      value: one.ball,
      "aria-label": `Ball of ${one.side.toUpperCase()}`,
      onchange: (event) => changed(one, { ball: Math.trunc(Number(event.target.value)) || 1 }),
    });
    A.put(
      `compare-${one.side}`,
      A.div(
        "panel-head",
        A.el("h2", null, one.side.toUpperCase()),
        A.el("div", { class: "panel-tools", id: `bars-${one.side}-tools` }),
      ),
      A.div(
        "form",
        select(
          "Match",
          (known.some((match) => match.key === one.key)
            ? known
            : [...known, { key: one.key, title: one.key }]
          ).map((match) => [match.key, match.title]),
          one.key,
          (value) => {
            const match = known.find((other) => other.key === value);
            return { key: value, number: 1, known: match?.innings || [] };
          },
        ),
        one.numbers,
        A.el("label", null, "Ball", one.balls),
        select(
          "Model",
          data.models.map((name) => [name, name.split(/[\\/]/).pop()]),
          one.model,
          (value) => ({ model: value }),
        ),
      ),
      A.el("p", { class: "echo long", id: `echo-${one.side}` }),
      A.el("div", { class: "plot", id: `bars-${one.side}` }),
    );
  }
  async function changed(one, what) {
    Object.assign(one, what);
    await load(one);
    drawBoth();
    remember();
  }
  async function load(one) {
    const wanted = [one.key, one.number, one.model].join();
    try {
      const found = await A.innings(one.key, one.number, one.model);
      if (wanted !== [one.key, one.number, one.model].join()) return;
      one.innings = found;
      one.ball = Math.max(1, Math.min(one.innings.count, one.ball));
      one.balls.value = one.ball;
      one.balls.max = one.innings.count;
      numbers(one, found.told.match.innings);
    } catch (error) {
      one.innings = null;
      numbers(one, one.known, "choose");
      A.put(`echo-${one.side}`);
      A.put(`bars-${one.side}`, A.trouble(error.message));
    }
  }
  function numbers(one, all, none) {
    one.numbers.replaceChildren(
      "Innings",
      A.el(
        "select",
        { onchange: (event) => event.target.value && changed(one, { number: Number(event.target.value) }) },
        none && A.el("option", { value: "" }, none),
        all
          .filter((innings) => innings.balls)
          .map((innings) =>
            A.el(
              "option",
              { value: innings.number, selected: innings.number === one.number },
              `${innings.number}: ${innings.batting}${innings.super_over ? ", super over" : ""}`,
            ),
          ),
      ),
    );
  }
  // The outcome that both are tested for: the one that is chosen, or what A's story is about.
  const about = () => outcome || sides[0].innings.told.story[sides[0].ball - 1];
  function pick(one) {
    outcome = outcome === one ? null : one;
    drawBoth();
    remember();
  }
  function tested() {
    testing?.abort();
    testing = new AbortController();
    for (const one of sides) A.testedOf(`claims-${one.side}-list`, one, about(), testing.signal);
  }
  function drawBoth() {
    const whole = sides.every((one) => one.innings?.count);
    A.at("page").classList.toggle("failed", !whole);
    if (!whole) return;
    const values = sides.map((one) => Array.from(one.innings.probabilitiesOf(one.ball - 1)));
    sides.forEach((one, number) => {
      const at = one.ball - 1,
        ball = one.innings.balls[at];
      const model = one.model === data.models[0] ? "" : `?model=${encodeURIComponent(one.model)}`;
      A.put(
        `echo-${one.side}`,
        A.link(
          A.ballPath(one.key, one.number, one.ball) + model,
          null,
          `${ball.label} ${ball.bowler} to ${ball.batter}`,
        ),
        ` at ${ball.score}/${ball.wickets} for ${one.innings.told.innings.batting}`,
      );
      A.outcomeBars.draw(`bars-${one.side}`, {
        now: values[number],
        base: values[1 - number],
        label: `Chance of each outcome in ${one.side.toUpperCase()}`,
        than: "in the other",
        nowName: one.side.toUpperCase(),
        baseName: SIDES[1 - number].toUpperCase(),
        actual: ball.outcome,
        chosen: about(),
        choose: pick,
      });
      A.looks(`looks-${one.side}-list`, one.innings, at);
      A.figureMenu(
        `bars-${one.side}`,
        () => A.at(`bars-${one.side}`).querySelector("svg"),
        () => [
          ["outcome", "probability"],
          ...A.outcomes.map((outcome, place) => [outcome, values[number][place].toFixed(6)]),
        ],
      );
    });
    tested();
    const rows = A.outcomes.map((outcome, at) => ({
      name: A.outcomeNames[outcome],
      points: 100 * (values[1][at] - values[0][at]),
    }));
    const one = A.signedBars("difference-plot", rows, "Percentage points by which B differs from A");
    A.at("difference-plot").append(A.p("legend", "Percentage points: B less A."));
    A.figureMenu(
      "difference",
      () => one,
      () => [
        ["outcome", "a", "b", "points"],
        ...A.outcomes.map((outcome, at) => [
          outcome,
          values[0][at].toFixed(6),
          values[1][at].toFixed(6),
          rows[at].points.toFixed(4),
        ]),
      ],
    );
    const fused = sides[0].innings.told.fused;
    const two = A.gateBars(
      "gates-both-plot",
      sides.map((side) => ({
        name: side.side.toUpperCase(),
        values: Array.from(side.innings.gatesOf(side.ball - 1)),
      })),
      fused,
    );
    A.figureMenu(
      "gates-both",
      () => two,
      () => [
        ["source", "a", "b"],
        ...fused.map((name, at) => [
          name,
          ...sides.map((side) => side.innings.gatesOf(side.ball - 1)[at].toFixed(6)),
        ]),
      ],
    );
    lines();
    A.say(`Compared: ${sides.map((side) => side.innings.describe(side.ball - 1)).join(" and ")}`);
  }
  function lines() {
    const width = A.width("lines-plot", 260),
      height = 170,
      left = 34,
      bottom = 20,
      long = width - left - 8;
    const most = Math.max(...sides.map((one) => one.innings.count)),
      x = (at) => left + (at / Math.max(1, most - 1)) * long;
    const top = Math.max(
        0.2,
        ...sides.flatMap((one) => one.innings.balls.map((_, at) => one.innings.boundary(at))),
      ),
      y = (p) => 8 + (height - bottom - 8) * (1 - p / top);
    const svg = A.svg("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": "The chance of a boundary through both innings",
    });
    for (let step = 0; step <= 2; step++)
      svg.append(
        A.svg("line", {
          x1: left,
          x2: width - 8,
          y1: y((top * step) / 2),
          y2: y((top * step) / 2),
          class: "rule",
        }),
        A.svg(
          "text",
          { x: left - 6, y: y((top * step) / 2) + 4, class: "axis", "text-anchor": "end" },
          `${Math.round((100 * top * step) / 2)}%`,
        ),
      );
    for (let ball = 20; ball < most; ball += 20)
      svg.append(
        A.svg("text", { x: x(ball - 1), y: height - 4, class: "axis", "text-anchor": "middle" }, ball),
      );
    sides.forEach((one) =>
      svg.append(
        A.svg("path", {
          class: `line side-${one.side}`,
          d: one.innings.balls
            .map(
              (_, at) => `${(at ? "L" : "M") + x(at).toFixed(1)} ${y(one.innings.boundary(at)).toFixed(1)}`,
            )
            .join(""),
        }),
        A.svg("circle", {
          cx: x(one.ball - 1),
          cy: y(one.innings.boundary(one.ball - 1)),
          r: 5,
          class: `dot side-${one.side}`,
        }),
      ),
    );
    A.put(
      "lines-plot",
      svg,
      A.p(
        "legend",
        A.span(null, "The chance of a boundary, by delivery:"),
        sides.map((one) =>
          A.span(
            null,
            A.el("i", { class: `stroke side-${one.side}` }),
            `${one.side.toUpperCase()}, ${one.innings.told.innings.batting}`,
          ),
        ),
      ),
    );
    A.figureMenu(
      "lines",
      () => svg,
      () => [
        ["delivery", "a", "b"],
        ...Array.from({ length: most }, (_, at) => [
          at + 1,
          ...sides.map((one) => (at < one.innings.count ? one.innings.boundary(at).toFixed(6) : "")),
        ]),
      ],
    );
  }
})();
