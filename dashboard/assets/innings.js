// One innings as the server told it, with every ball's numbers at hand.
(function () {
  const kept = new Map();

  A.innings = async (key, number, model, signal) => {
    const url = `/data/${encodeURIComponent(key)}/${number}/balls.json${A.asked(key, model)}`;
    if (kept.has(url)) return kept.get(url);
    const first = early.get(url);
    early.delete(url);
    const told = await (first || A.get(url, signal));
    const innings = new Innings(key, told, number, model);
    kept.set(url, innings);
    if (kept.size > 6) kept.delete(kept.keys().next().value);
    return innings;
  };

  // A match's balls are asked for while the page is still being made.
  const early = new Map();
  (function () {
    const parts = location.pathname.split("/").filter(Boolean),
      meta = document.head.querySelector("meta[name=attnlens-model]")?.getAttribute("content");
    if (parts[0] !== "match" || parts.length < 4 || !meta || !/^\d+$/.test(parts[3])) return;
    const model = new URLSearchParams(location.search).get("model") || meta;
    const url = `/data/${parts[1]}/${parts[3]}/balls.json?model=${encodeURIComponent(model)}`;
    const asked = A.get(url);
    asked.catch(() => {}); // whoever asks again is told what was wrong
    early.set(url, asked);
  })();

  class Innings {
    /** @type {(at: number) => Float32Array} */
    probabilitiesOf;
    constructor(key, told, number, model) {
      this.told = told;
      this.key = key;
      this.number = number;
      this.model = model;
      this.balls = told.balls;
      this.count = told.balls.length;
      this.scales = told.scales;
      this.nodes = Object.entries(told.graph).flatMap(([layer, nodes]) =>
        nodes.map((node) => ({ layer, node })),
      );
      if (!this.count) return;
      for (const name of ["probabilities", "baseline", "usual", "gates", "layers", "nodes"])
        this[`${name}Of`] = rows(A.floats(told[name]), this.count);
      this.total = { cells: A.bytes(told.total.cells), most: A.floats(told.total.most) };
      this.places = this.total.cells.length / this.count;
      this.win = told.win && { before: A.floats(told.win.before), happened: A.floats(told.win.happened) };
      this.attention = {};
      for (const [scale, one] of Object.entries(told.attention)) {
        const views = {};
        for (const [name, view] of Object.entries(one.views))
          views[name] = { cells: A.bytes(view.cells), most: A.floats(view.most) };
        this.attention[scale] = { places: one.places, own: A.floats(one.own), views };
      }
      this.surprise = this.balls.map((ball, at) => {
        const place = A.outcomes.indexOf(ball.outcome);
        return place < 0 ? 0 : -Math.log2(Math.max(this.probabilitiesOf(at)[place], 1e-9));
      });
    }
    // An over as the file numbers it: 7 of the label 7.4.
    overName(over) {
      const ball = this.balls.find((one) => one.over === over);
      return ball ? ball.label.split(".")[0] : String(over);
    }
    scale(name) {
      return this.scales.find((one) => one.scale === name);
    }
    // Share of what ball `at` paid in a view: `place` is a distance from 1, or an over.
    weight(scale, view, head, at, place) {
      const one = this.attention[scale],
        data = one.views[view];
      const slot = scale === "long" ? place : place - 1;
      if (slot < 0 || slot >= one.places) return 0;
      const row = head * this.count + at;
      return (data.cells[row * one.places + slot] / 255) * data.most[row];
    }
    own(scale, head, at) {
      return this.attention[scale].own[head * this.count + at];
    }
    looked(at, distance) {
      if (distance < 1 || distance > this.places) return 0;
      return (this.total.cells[at * this.places + distance - 1] / 255) * this.total.most[at];
    }
    // The keys that a scale offers ball `at`: positions of balls, or overs; oldest first.
    keys(scale, at) {
      const told = [];
      if (scale === "long") {
        const now = this.balls[at].over;
        for (let over = 0; over < now && over < this.attention.long.places; over++) told.push(over);
        return told;
      }
      for (let place = Math.max(0, at - this.attention[scale].places); place < at; place++) told.push(place);
      return told;
    }
    boundary(at) {
      const p = this.probabilitiesOf(at);
      return p[4] + p[6];
    }
    wicket(at) {
      return this.probabilitiesOf(at)[7];
    }
    describe(at) {
      const ball = this.balls[at];
      return (
        ball.label +
        " " +
        ball.bowler +
        " to " +
        ball.batter +
        ", " +
        (ball.wicket || A.outcomeNames[ball.outcome] || "not yet bowled")
      );
    }
  }
  function rows(array, count) {
    const width = array.length / count;
    return (at) => array.subarray(at * width, (at + 1) * width);
  }
})();
