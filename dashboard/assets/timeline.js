// The innings ball by ball, and the score above it.
(function () {
  // ---- The innings as a line of balls: runs, what was expected, surprise, and where this ball looks.
  const LEFT = 66;
  const RIGHT = 64;
  const NARROW = 620; // pixels without room for names beside the tracks
  const MAX_STEP = 48; // pixels of a ball
  const MAX_BAR = 7; // runs, and bits, that are drawn in full
  const TRACKS = { runs: [12, 48], chance: [66, 42], surprise: [114, 20], "looks at": [140, 10] };
  const HEIGHT = 168;
  const LABEL_STEPS = [1, 2, 5, 10, 20, 50]; // overs from one label to the next
  const LABEL = 26; // pixels that a label needs
  /** @type {any} */
  let plot = null;

  A.timeline = {
    draw(state, innings, choose) {
      const width = A.width("timeline-plot", 300);
      const narrow = width < NARROW;
      const left = narrow ? 8 : LEFT;
      const right = narrow ? 8 : RIGHT;
      const step = Math.min(MAX_STEP, (width - left - right) / innings.count);
      plot = { innings, narrow, width, left, right, step, x: (at) => left + at * step };
      const svg = A.svg("svg", {
        viewBox: `0 0 ${width} ${HEIGHT}`,
        width,
        height: HEIGHT,
        class: "timeline",
        role: "img",
        "aria-label": "The innings ball by ball: runs, chances, surprise",
      });
      svg.append(...overs(), ...(narrow ? [] : names()), ...innings.balls.flatMap(bars), ...lines());
      cursor(svg);
      plot.slider = slider(svg, choose);
      A.at("timeline-plot").replaceChildren(plot.slider, legend());
      this.move(state);
    },
    move(state) {
      const { innings, x, y, step, column, dots, words, slider, cells } = plot;
      const at = state.ball - 1;
      column.setAttribute("x", x(at) - (Math.max(step, 3) - step) / 2);
      const values = [innings.boundary(at), innings.wicket(at)];
      dots.forEach((dot, number) => {
        dot.setAttribute("cx", x(at) + step / 2);
        dot.setAttribute("cy", y(values[number]));
      });
      const figures = [
        `${A.percent(values[0])} 4/6`,
        `${A.percent(values[1])} W`,
        `${innings.surprise[at].toFixed(1)} bits`,
      ];
      words.forEach((word, number) => {
        word.textContent = plot.narrow ? "" : figures[number];
      });
      let largest = 0;
      for (let distance = 1; distance <= innings.places; distance++)
        largest = Math.max(largest, innings.lookedAt(at, distance));
      cells.forEach((cell, number) => {
        const ball = at - number - 1;
        const share = ball < 0 || !largest ? 0 : innings.lookedAt(at, number + 1) / largest;
        cell.setAttribute("x", x(Math.max(ball, 0)));
        cell.setAttribute("fill", ball < 0 ? "none" : A.shade(share));
      });
      slider.setAttribute("aria-valuenow", state.ball);
      slider.setAttribute("aria-valuetext", innings.describe(at));
      this.light(state);
    },
    light(state) {
      const { lit, x, step, innings } = plot;
      const box = (index) =>
        A.svg("rect", { x: x(index - 1), y: 4, width: Math.max(step, 2), height: HEIGHT - 22, rx: 1.5 });
      lit.replaceChildren(...[...state.lit].filter((index) => index <= innings.count).map(box));
    },
  };

  // Overs as the file numbers them, as many labels as there is room for.
  function overs() {
    const { innings, step, x } = plot;
    const starts = innings.balls.map((ball, at) =>
      at && innings.balls[at - 1].over === ball.over ? -1 : at,
    );
    const firsts = starts.filter((at) => at >= 0);
    const wide = (innings.count * step) / firsts.length;
    const every = LABEL_STEPS.find((overs) => overs * wide >= LABEL) || 50;
    return firsts.flatMap((at, number) => {
      const size = ((firsts[number + 1] ?? innings.count) - at) * step;
      const box = {
        x: x(at),
        y: 4,
        width: size,
        height: HEIGHT - 20,
        class: number % 2 ? "over odd" : "over",
      };
      const name = innings.balls[at].label.split(".")[0];
      const label = { x: x(at) + size / 2, y: HEIGHT - 4, class: "axis", "text-anchor": "middle" };
      return [A.svg("rect", box), ...(number % every ? [] : [A.svg("text", label, name)])];
    });
  }
  const names = () => [
    ...Object.entries(TRACKS).map(([name, [top, tall]]) =>
      A.svg("text", { x: LEFT - 8, y: top + tall / 2 + 4, class: "axis", "text-anchor": "end" }, name),
    ),
    A.svg("text", { x: LEFT - 8, y: HEIGHT - 4, class: "axis", "text-anchor": "end" }, "over"),
  ];
  function bars(ball, at) {
    const { innings, step, x } = plot;
    const wide = Math.max(1, Math.min(step * 0.78, 12));
    const middle = x(at) + step / 2;
    const bar = (name, share, kind) => {
      const [top, tall] = TRACKS[name];
      const height = Math.max(name === "runs" ? 2 : 0.5, tall * share);
      return A.svg("rect", {
        x: middle - wide / 2,
        y: top + tall - height,
        width: wide,
        height,
        rx: 1,
        class: kind,
      });
    };
    const [top, tall] = TRACKS.runs;
    const shapes = [
      bar("runs", Math.min(ball.runs, MAX_BAR) / MAX_BAR, `run o-${A.ballKind(ball)}`),
      bar("surprise", Math.min(innings.surprise[at], MAX_BAR) / MAX_BAR, "surprise"),
    ];
    if (ball.outcome !== "W") return shapes;
    const stem = { x1: middle, x2: middle, y1: top + 12, y2: top + tall, class: "out-stem" };
    const mark = { cx: middle, cy: top + 8, r: Math.max(3.5, Math.min(7, step * 0.85)), class: "out" };
    shapes.push(A.svg("line", stem), A.svg("circle", mark));
    const letter = { x: middle, y: top + 11.5, class: "out-mark", "text-anchor": "middle" };
    return step > 4.5 ? [...shapes, A.svg("text", letter, "W")] : shapes;
  }
  function lines() {
    const { innings, step, x, width, left, right } = plot;
    const [from, tall] = TRACKS.chance;
    const chances = innings.balls.map((_, at) => Math.max(innings.boundary(at), innings.wicket(at)));
    const top = Math.max(0.2, ...chances);
    const y = (p) => from + tall * (1 - p / top);
    plot.y = y;
    const point = (at, p) => `${at ? "L" : "M"}${(x(at) + step / 2).toFixed(1)} ${y(p).toFixed(1)}`;
    const path = (value) => innings.balls.map((_, at) => point(at, value(at))).join("");
    const limit = A.svg("text", { x: left + 4, y: from + 6, class: "axis" }, `${Math.round(100 * top)}%`);
    return [
      A.svg("line", { x1: left, x2: width - right, y1: y(0), y2: y(0), class: "rule" }),
      A.svg("path", { d: path((at) => innings.boundary(at)), class: "line boundary" }),
      A.svg("path", { d: path((at) => innings.wicket(at)), class: "line wicket" }),
      ...(plot.narrow ? [] : [limit]),
    ];
  }
  // What moves when another ball is chosen, and what a claim lights.
  function cursor(svg) {
    const { innings, step, width, right } = plot;
    const group = (name) => svg.appendChild(A.svg("g", { class: name }));
    const attention = group("looked");
    plot.lit = group("lit");
    const marks = group("cursor");
    plot.column = marks.appendChild(
      A.svg("rect", { y: 2, width: Math.max(step, 3), height: HEIGHT - 18, rx: 2 }),
    );
    plot.dots = ["boundary", "wicket"].map((name) =>
      marks.appendChild(A.svg("circle", { r: 3.5, class: `dot ${name}` })),
    );
    const heights = {
      boundary: TRACKS.chance[0] + 12,
      wicket: TRACKS.chance[0] + 36,
      surprise: TRACKS.surprise[0] + 15,
    };
    plot.words = Object.entries(heights).map(([name, y]) =>
      marks.appendChild(A.svg("text", { x: width - right + 6, y, class: `now ${name}` })),
    );
    const [y, height] = TRACKS["looks at"];
    plot.cells = Array.from({ length: innings.places }, () =>
      attention.appendChild(A.svg("rect", { y, width: Math.max(step, 1), height })),
    );
  }
  function slider(svg, choose) {
    const { innings, width, left, step } = plot;
    const attributes = {
      tabindex: 0,
      role: "slider",
      "aria-label": "Ball",
      "aria-valuemin": 1,
      "aria-valuemax": innings.count,
    };
    const node = A.el("div", { class: "slider", ...attributes }, svg);
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      const ball = Math.floor(((event.clientX - box.left) * (width / box.width) - left) / step);
      return Math.max(0, Math.min(innings.count - 1, ball));
    };
    let dragging = false;
    node.addEventListener("pointerdown", (event) => {
      dragging = true;
      node.setPointerCapture(event.pointerId);
      choose(at(event), "push");
    });
    node.addEventListener("pointermove", (event) => dragging && choose(at(event), "replace"));
    for (const name of ["pointerup", "pointercancel"])
      node.addEventListener(name, () => {
        dragging = false;
      });
    A.tip(node, (event) => innings.describe(at(event)));
    return node;
  }
  A.ballKind = (ball) => {
    if (ball.outcome === "W") return "w";
    if (["wd", "nb", "bye"].includes(ball.outcome)) return "x";
    return ball.boundary ? (ball.runs >= 6 ? "6" : "4") : ball.runs ? "1" : "0";
  };
  const LEGEND = {
    "swatch o-1": "runs",
    "swatch o-4": "four",
    "swatch o-6": "six",
    "swatch o-x": "extras",
    "swatch out": "wicket",
    "stroke boundary": "chance of a boundary",
    "stroke wicket": "of a wicket",
    "swatch surprise": "surprise, bits",
    ramp: "where this ball looks",
  };
  const legend = () =>
    A.p(
      "legend",
      Object.entries(LEGEND).map(([name, text]) =>
        A.span(null, A.el("i", { class: name, "aria-hidden": "true" }), text),
      ),
    );

  // ---- The score as on television, as it stood before the ball.
  const figure = (text, more) => A.span("figure", text, A.small(null, ` (${more})`));

  A.score = (innings, at) => {
    const ball = innings.balls[at];
    const side = innings.document.innings;
    const [runs, faced, otherRuns, otherFaced, wickets, conceded] = ball.figures;
    const won = innings.win?.before[at];
    A.put(
      "score",
      A.div(
        "team",
        A.span("side", side.batting),
        A.span("runs", `${ball.score}/${ball.wickets}`),
        A.span("overs", ball.bowled.split(" ")[0], A.small(null, ` ${ball.bowled.split(" ")[1]}`)),
      ),
      A.div(
        "batters",
        A.span("on", A.b(null, ball.batter), figure(runs, faced)),
        A.span(null, A.span("name", ball.non_striker), figure(otherRuns, otherFaced)),
      ),
      A.div(
        "bowler",
        A.span(null, A.b(null, ball.bowler), figure(`${wickets}-${conceded}`, ball.spell)),
        thisOver(innings, ball),
      ),
      A.div("rates", A.span(null, ball.rates), Number.isFinite(won) ? chance(side.batting, won) : null),
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

  function thisOver(innings, ball) {
    const over = innings.balls.filter((other) => other.over === ball.over && other.index <= ball.index);
    const words = over.map(({ outcome }) => A.outcomeNames[outcome]).join(", ");
    const mark = (other) => {
      const kind = `ball o-${A.ballKind(other)}${other === ball ? " now" : ""}`;
      const sign = other === ball ? "?" : A.marks[other.outcome] || other.outcome;
      return A.el("i", { class: kind, title: innings.describe(other.index - 1) }, sign);
    };
    return A.el("span", { class: "this-over", "aria-label": `this over: ${words}` }, over.map(mark));
  }
})();
