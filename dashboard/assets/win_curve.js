// Who was winning, ball by ball, through all innings; numbers stand where it turned.
(function () {
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
