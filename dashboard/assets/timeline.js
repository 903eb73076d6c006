// The innings as a line of balls: runs, what was expected, surprise, and where this ball looks.
(function () {
  const LEFT = 74,
    RIGHT = 64,
    WIDEST = 48;
  let plot = null;

  A.timeline = {
    draw(state, innings, choose) {
      const place = A.at("timeline-plot"),
        width = A.width("timeline-plot", 300),
        narrow = width < 620;
      const left = narrow ? 8 : LEFT,
        right = narrow ? 8 : RIGHT,
        count = innings.count;
      const step = Math.min(WIDEST, (width - left - right) / count),
        x = (at) => left + at * step;
      const tracks = { runs: [16, 70], lines: [98, 62], surprise: [172, 34], looked: [216, 12] };
      const height = 250;
      const svg = A.svg("svg", {
        viewBox: "0 0 " + width + " " + height,
        width,
        height,
        class: "timeline",
        role: "img",
        "aria-label": "The innings ball by ball: runs, chances, surprise",
      });
      const most = 7,
        unit = tracks.runs[1] / most;
      if (!narrow)
        for (const [name, [top, tall]] of Object.entries(tracks))
          svg.append(
            A.svg(
              "text",
              { x: left - 8, y: top + tall / 2 + 4, class: "axis", "text-anchor": "end" },
              { runs: "runs", lines: "chance", surprise: "surprise", looked: "looks at" }[name],
            ),
          );
      let over = -1,
        shade = false;
      innings.balls.forEach((ball, at) => {
        if (ball.over === over) return;
        over = ball.over;
        let size = 0;
        while (at + size < count && innings.balls[at + size].over === over) size++;
        shade = !shade;
        svg.append(
          A.svg("rect", {
            x: x(at),
            y: 8,
            width: size * step,
            height: height - 28,
            class: shade ? "over" : "over odd",
          }),
        );
        const fits = narrow ? (over + 1) % 5 === 0 : size * step >= (String(over + 1).length + 1) * 7;
        if (fits)
          svg.append(
            A.svg(
              "text",
              { x: x(at) + (size * step) / 2, y: height - 6, class: "axis", "text-anchor": "middle" },
              over + 1,
            ),
          );
      });
      const bar = Math.max(1, Math.min(step * 0.78, 12));
      innings.balls.forEach((ball, at) => {
        const runs = Math.min(ball.runs, most),
          tall = runs ? runs * unit : 2,
          middle = x(at) + step / 2;
        svg.append(
          A.svg("rect", {
            x: middle - bar / 2,
            y: tracks.runs[0] + tracks.runs[1] - tall,
            width: bar,
            height: tall,
            rx: 1,
            class: "run o-" + kind(ball),
          }),
        );
        if (ball.outcome === "W")
          svg.append(
            A.svg("line", {
              x1: middle,
              x2: middle,
              y1: tracks.runs[0] + 22,
              y2: tracks.runs[0] + tracks.runs[1],
              class: "out-stem",
            }),
            A.svg("circle", {
              cx: middle,
              cy: tracks.runs[0] + 14,
              r: Math.max(4, Math.min(7.5, step * 0.85)),
              class: "out",
            }),
            step > 4.5
              ? A.svg(
                  "text",
                  { x: middle, y: tracks.runs[0] + 17.5, class: "out-mark", "text-anchor": "middle" },
                  "W",
                )
              : "",
          );
        const bits = Math.min(innings.surprise[at], 7) / 7;
        svg.append(
          A.svg("rect", {
            x: middle - bar / 2,
            y: tracks.surprise[0] + tracks.surprise[1] * (1 - bits),
            width: bar,
            height: Math.max(0.5, tracks.surprise[1] * bits),
            class: "surprise",
          }),
        );
      });
      const top = Math.max(
        0.2,
        ...innings.balls.map((_, at) => Math.max(innings.boundary(at), innings.wicket(at))),
      );
      const y = (p) => tracks.lines[0] + tracks.lines[1] * (1 - p / top);
      const path = (value) =>
        innings.balls
          .map((_, at) => (at ? "L" : "M") + (x(at) + step / 2).toFixed(1) + " " + y(value(at)).toFixed(1))
          .join("");
      svg.append(
        A.svg("line", { x1: left, x2: width - right, y1: y(0), y2: y(0), class: "rule" }),
        A.svg("path", { d: path((at) => innings.boundary(at)), class: "line boundary" }),
        A.svg("path", { d: path((at) => innings.wicket(at)), class: "line wicket" }),
      );
      if (!narrow)
        svg.append(
          A.svg("text", { x: left + 4, y: tracks.lines[0] + 2, class: "axis" }, Math.round(100 * top) + "%"),
        );
      const lit = A.svg("g", { class: "lit" }),
        looked = A.svg("g", { class: "looked" }),
        cursor = A.svg("g", { class: "cursor" });
      const column = cursor.appendChild(
        A.svg("rect", { y: 4, width: Math.max(step, 3), height: height - 22, rx: 2 }),
      );
      const dots = ["boundary", "wicket"].map((name) =>
        cursor.appendChild(A.svg("circle", { r: 4, class: "dot " + name })),
      );
      const words = ["boundary", "wicket", "surprise"].map((name) =>
        cursor.appendChild(A.svg("text", { class: "now " + name })),
      );
      svg.append(looked, lit, cursor);
      const slider = A.el(
        "div",
        {
          class: "slider",
          tabindex: 0,
          role: "slider",
          "aria-label": "Ball",
          "aria-valuemin": 1,
          "aria-valuemax": count,
        },
        svg,
      );
      plot = {
        innings,
        x,
        y,
        step,
        width,
        right,
        narrow,
        tracks,
        lit,
        looked,
        column,
        dots,
        words,
        slider,
        cells: [],
      };
      for (let distance = 0; distance < innings.places; distance++)
        plot.cells.push(
          looked.appendChild(
            A.svg("rect", { y: tracks.looked[0], width: Math.max(step, 1), height: tracks.looked[1] }),
          ),
        );
      const at = (event) => {
        const box = svg.getBoundingClientRect();
        return Math.max(
          0,
          Math.min(count - 1, Math.floor(((event.clientX - box.left) * (width / box.width) - left) / step)),
        );
      };
      let dragging = false;
      slider.addEventListener("pointerdown", (event) => {
        dragging = true;
        slider.setPointerCapture(event.pointerId);
        choose(at(event), "push");
      });
      slider.addEventListener("pointermove", (event) => {
        if (dragging) choose(at(event), "replace");
        else slider.title = innings.describe(at(event));
      });
      for (const name of ["pointerup", "pointercancel"])
        slider.addEventListener(name, () => {
          dragging = false;
        });
      place.replaceChildren(slider, legend());
      this.move(state);
      const rows = () => [
        [
          "ball",
          "label",
          "bowler",
          "batter",
          "outcome",
          "runs",
          "score_before",
          "wickets_before",
          "surprise_bits",
          ...A.outcomes.map((one) => "p_" + one),
        ],
        ...innings.balls.map((ball, place) => [
          ball.index,
          ball.label,
          ball.bowler,
          ball.batter,
          ball.outcome,
          ball.runs,
          ball.score,
          ball.wickets,
          innings.surprise[place].toFixed(3),
          ...Array.from(innings.probabilitiesOf(place), (p) => p.toFixed(6)),
        ]),
      ];
      A.figureMenu("timeline", () => svg, rows);
    },
    move(state) {
      const { innings, x, y, step, tracks, column, dots, words, slider, cells } = plot,
        at = state.ball - 1;
      column.setAttribute("x", x(at) - (Math.max(step, 3) - step) / 2);
      const values = [innings.boundary(at), innings.wicket(at)];
      dots.forEach((dot, number) => {
        dot.setAttribute("cx", x(at) + step / 2);
        dot.setAttribute("cy", y(values[number]));
      });
      const beside = plot.width - plot.right + 6;
      const told = [
        A.percent(values[0]) + " 4/6",
        A.percent(values[1]) + " W",
        innings.surprise[at].toFixed(1) + " bits",
      ];
      const heights = [tracks.lines[0] + 14, tracks.lines[0] + 46, tracks.surprise[0] + 22];
      words.forEach((word, number) => {
        word.textContent = plot.narrow ? "" : told[number];
        word.setAttribute("x", beside);
        word.setAttribute("y", heights[number]);
      });
      let most = 0;
      for (let distance = 1; distance <= innings.places; distance++)
        most = Math.max(most, innings.looked(at, distance));
      cells.forEach((cell, number) => {
        const place = at - number - 1,
          share = place < 0 || !most ? 0 : innings.looked(at, number + 1) / most;
        cell.setAttribute("x", x(Math.max(place, 0)));
        cell.setAttribute("fill", place < 0 ? "none" : A.shade(Math.sqrt(share)));
      });
      slider.setAttribute("aria-valuenow", state.ball);
      slider.setAttribute("aria-valuetext", innings.describe(at));
      this.light(state);
    },
    light(state) {
      const { lit, x, step, innings } = plot;
      lit.replaceChildren(
        ...[...state.lit]
          .filter((index) => index <= innings.count)
          .map((index) =>
            A.svg("rect", { x: x(index - 1), y: 6, width: Math.max(step, 2), height: 224, rx: 1.5 }),
          ),
      );
    },
  };
  function kind(ball) {
    if (ball.outcome === "W") return "w";
    if (["wd", "nb", "bye"].includes(ball.outcome)) return "x";
    return ball.boundary ? (ball.runs >= 6 ? "6" : "4") : ball.runs ? "1" : "0";
  }
  A.ballKind = kind;
  function legend() {
    const items = [
      ["swatch o-1", "runs"],
      ["swatch o-4", "four"],
      ["swatch o-6", "six"],
      ["swatch o-x", "extras"],
      ["swatch out", "wicket"],
      ["stroke boundary", "chance of a boundary"],
      ["stroke wicket", "of a wicket"],
      ["swatch surprise", "surprise, bits"],
      ["ramp", "where this ball looks"],
    ];
    return A.el(
      "p",
      { class: "legend" },
      items.map(([name, text]) =>
        A.el("span", null, A.el("i", { class: name, "aria-hidden": "true" }), text),
      ),
    );
  }
})();
