// One innings as the server sent it, with every ball's numbers at hand.
(function () {
  const MAX_CACHED_INNINGS = 6;
  const cache = new Map();

  A.innings = async (key, number, model, signal) => {
    const url = `/data/${encodeURIComponent(key)}/${number}/balls.json${A.query(key, model)}`;
    if (cache.has(url)) return cache.get(url);
    const first = early.get(url);
    early.delete(url);
    const document = await (first || A.get(url, signal));
    const innings = new Innings(key, document, number, model);
    cache.set(url, innings);
    if (cache.size > MAX_CACHED_INNINGS) cache.delete(cache.keys().next().value);
    return innings;
  };

  // A match's balls are requested while the page is still being made.
  const early = new Map();
  (function () {
    const parts = location.pathname.split("/").filter(Boolean),
      meta = document.head.querySelector("meta[name=attnlens-model]")?.getAttribute("content");
    if (parts[0] !== "match" || parts.length < 4 || !meta || !/^\d+$/.test(parts[3])) return;
    const model = new URLSearchParams(location.search).get("model") || meta;
    const url = `/data/${parts[1]}/${parts[3]}/balls.json?model=${encodeURIComponent(model)}`;
    const request = A.get(url);
    request.catch(() => {}); // the page's own request shows what was wrong
    early.set(url, request);
  })();

  class Innings {
    /** @type {(at: number) => Float32Array} */
    probabilitiesOf;
    constructor(key, document, number, model) {
      this.document = document;
      this.key = key;
      this.number = number;
      this.model = model;
      this.balls = document.balls;
      this.count = document.balls.length;
      this.scales = document.scales;
      if (!this.count) return;
      for (const name of ["probabilities", "baseline", "usual", "gates", "layers", "nodes"])
        this[`${name}Of`] = rows(A.floats(document[name]), this.count);
      this.total = { cells: A.bytes(document.total.cells), most: A.floats(document.total.most) };
      this.places = this.total.cells.length / this.count;
      this.win = document.win && {
        before: A.floats(document.win.before),
        happened: A.floats(document.win.happened),
      };
      this.attention = {};
      for (const [scale, packed] of Object.entries(document.attention)) {
        const views = {};
        for (const [name, view] of Object.entries(packed.views))
          views[name] = { cells: A.bytes(view.cells), most: A.floats(view.most) };
        this.attention[scale] = { places: packed.places, own: A.floats(packed.own), views };
      }
      this.surprise = this.balls.map((ball, at) => {
        const column = A.outcomes.indexOf(ball.outcome);
        return column < 0 ? 0 : -Math.log2(Math.max(this.probabilitiesOf(at)[column], 1e-9));
      });
    }
    // An over as the file numbers it: 7 of the label 7.4.
    overName(over) {
      const ball = this.balls.find((other) => other.over === over);
      return ball ? ball.label.split(".")[0] : String(over);
    }
    scale(name) {
      return this.scales.find(({ scale }) => scale === name);
    }
    own(scale, head, at) {
      return this.attention[scale].own[head * this.count + at];
    }
    lookedAt(at, distance) {
      if (distance < 1 || distance > this.places) return 0;
      return (this.total.cells[at * this.places + distance - 1] / 255) * this.total.most[at];
    }
    // The keys that a scale offers ball `at`: positions of balls, or overs; oldest first.
    keys(scale, at) {
      const keys = [];
      if (scale === "long") {
        const now = this.balls[at].over;
        for (let over = 0; over < now && over < this.attention.long.places; over++) keys.push(over);
        return keys;
      }
      for (let place = Math.max(0, at - this.attention[scale].places); place < at; place++) keys.push(place);
      return keys;
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
