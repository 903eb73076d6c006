// The page of a ball: its state, its address, keys and controls.
(function () {
  // ---- Ways through a match: innings, steps, playing, keys.
  const PACE = 650; // milliseconds a ball when it is played
  let playing = null;

  /** The story, and each innings that has a ball. */
  A.inningsTabs = (page, number, other) => {
    const sides = page.about.innings.filter((one) => one.balls);
    const words = (one) => [
      one.super_over ? "super over, " : null,
      A.el("bdi", null, one.batting),
      A.small(null, ` ${one.total}/${one.wickets}`),
    ];
    const tab = (one) =>
      A.el(
        "button",
        { type: "button", "aria-pressed": String(one.number === number), onclick: () => other(one.number) },
        words(one),
      );
    const story = A.link(`/match/${encodeURIComponent(page.key)}`, { class: "button" }, "◂ Story");
    return [story, A.el("div", { class: "tabs", role: "group", "aria-label": "Innings" }, sides.map(tab))];
  };

  /** One ball on or back, playing, and a ball by its name. */
  A.steps = (at, choose, goTo) => {
    const step = (by, text, label) => A.button(text, () => choose(at() + by), { "aria-label": label });
    const play = A.button("▶ Play", A.play.toggle, { class: "play", id: "play", "aria-pressed": "false" });
    A.play.next = () => choose(at() + 1, "replace");
    const label = A.el("input", {
      type: "text",
      id: "go-to",
      size: 6,
      "aria-label": "Go to a ball: 47, or 7.2",
      placeholder: "47 or 7.2",
    });
    const onsubmit = (event) => {
      event.preventDefault();
      goTo(label.value);
    };
    return [
      A.div("group", step(-1, "◀", "the ball before"), play, step(1, "▶", "the next ball")),
      A.el("form", { class: "group", onsubmit }, label, A.el("button", { type: "submit" }, "Go")),
    ];
  };

  A.play = {
    next: () => {},
    toggle: () => (playing ? A.play.stop() : start()),
    stop: () => {
      clearInterval(playing);
      playing = null;
      shown("▶ Play", "false");
    },
  };
  function start() {
    shown("❚❚ Stop", "true");
    playing = setInterval(() => {
      const before = location.pathname;
      A.play.next();
      if (location.pathname === before) A.play.stop();
    }, PACE);
  }
  function shown(text, pressed) {
    const button = A.at("play");
    if (!button) return;
    button.textContent = text;
    button.setAttribute("aria-pressed", pressed);
  }

  A.ballKeys = (event, here) => {
    const held = event.ctrlKey || event.metaKey || event.altKey;
    if (!here || held || A.typing(event) || document.querySelector("dialog[open]")) return;
    const { state, innings, page, choose, change } = here;
    const at = state.ball - 1;
    const far = event.shiftKey ? 6 : 1;
    const moves = {
      ArrowLeft: at - far,
      ArrowRight: at + far,
      Home: 0,
      End: innings.count - 1,
      PageUp: at - 12,
      PageDown: at + 12,
    };
    const sides = page.about.innings.filter((one) => one.balls).map((one) => one.number);
    const side = sides.indexOf(state.number) + ({ "[": -1, "]": 1 }[event.key] || 0);
    if (event.key in moves) {
      event.preventDefault();
      choose(moves[event.key]);
    } else if (event.key === " " && !/^(BUTTON|SUMMARY|A)$/.test(event.target.tagName)) {
      event.preventDefault();
      A.play.toggle();
    } else if (/^[1-4]$/.test(event.key)) change({ scale: here.scales[event.key - 1], head: null });
    else if (event.key === "v") {
      const names = Object.keys(A.viewNames);
      change({ view: names[(names.indexOf(state.view) + 1) % names.length] });
      A.say(`View: ${A.viewNames[state.view]}`);
    } else if (event.key === "h") {
      const many = innings.scale(state.scale).heads.length;
      change({ head: state.head === null ? 0 : (state.head + 1) % many });
    } else if (event.key === "c") here.drawer(!A.at("evidence").classList.contains("open"));
    else if (event.key === "Escape" && A.at("evidence").classList.contains("open")) here.drawer(false);
    else if (event.key === "Escape" && state.head !== null) A.changeHead(null);
    else if ("[]".includes(event.key) && sides[side]) here.otherInnings(sides[side]);
  };

  // ---- The page of a ball: the address is the state; a change of ball draws from what is on the page.
  const SCALES = ["micro", "short", "medium", "long"];
  const REST = 110; // milliseconds on a ball before its tests are asked for
  const NARROW = 768; // pixels of a window that is held in a hand
  const SLOW = 900; // after which a place in the queue is told
  let state = null;
  let page = null;
  let innings = null;
  let explanation = null;
  let waiting = 0;
  let asking = null;

  A.pages.ball = async (data) => {
    page = data;
    explanation = null;
    state = { lit: new Set(), ...fromAddress() };
    A.redraw = () => {
      A.forgetWidths();
      if (innings?.count) drawAll();
    };
    A.moved = fromBack;
    A.on(document, "keydown", (event) => A.ballKeys(event, keysOf()));
    A.on(window, "popstate", fromBack);
    A.on(
      window,
      "resize",
      A.debounce(() => A.redraw?.(), 120),
    );
    A.leave.push(() => {
      A.play.stop();
      clearTimeout(waiting);
      asking?.abort();
      A.leaveHead();
      innings = page = null;
    });
    A.put("score", A.loading("the model is looking at every ball"));
    if (page.live) {
      A.atVersion(page.key, page.version);
      A.follow(page, came);
    }
    await open();
  };
  // Who looks at the last ball goes on to the next.
  async function came(more, last, before) {
    if (!innings) return;
    const atEnd = state.ball === innings.count && state.number === before;
    if (atEnd || !page.about.innings.some((one) => one.number === state.number && one.balls))
      toBall({ number: last.number, ball: last.balls });
    await open();
    if (!page) return;
    const said = `a new ball has come: ${last.batting} ${last.total}/${last.wickets}`;
    const changed = "balls that were there before have been changed";
    A.toast(!more ? changed : atEnd ? innings.describe(innings.count - 1) : said);
  }
  const toBall = (place) => Object.assign(state, place, { lit: new Set(), claim: null });

  function fromAddress() {
    const [, , , number, , ball] = location.pathname.split("/").filter(Boolean);
    const asked = new URLSearchParams(location.search);
    const one = (name, known, otherwise) => (known.includes(asked.get(name)) ? asked.get(name) : otherwise);
    const count = (name) => (/^\d+$/.test(asked.get(name) || "") ? Number(asked.get(name)) : null);
    return {
      number: Number(number) || page.about.innings.find((side) => side.balls).number,
      ball: Math.trunc(Number(ball)) || 1,
      scale: one("scale", SCALES, "medium"),
      view: one("view", Object.keys(A.viewNames), "full"),
      each: asked.get("each") === "1",
      head: count("head"),
      outcome: one("outcome", A.outcomes, null),
      model: one("model", page.models, page.models[0]),
      claim: count("claim"),
      whatIf: A.whatIf.fromAddress(asked),
    };
  }
  function address() {
    const asked = new URLSearchParams();
    if (state.scale !== "medium") asked.set("scale", state.scale);
    if (state.view !== "full") asked.set("view", state.view);
    if (state.each) asked.set("each", "1");
    if (state.head !== null) asked.set("head", state.head);
    if (state.outcome) asked.set("outcome", state.outcome);
    if (state.model !== page.models[0]) asked.set("model", state.model);
    if (state.claim !== null) asked.set("claim", state.claim);
    for (const [name, value] of Object.entries(state.whatIf || {})) asked.set(name, value);
    const query = asked.toString();
    return A.ballPath(page.key, state.number, state.ball) + (query ? `?${query}` : "");
  }
  let pushed = 0;
  function remember(how) {
    const next = address();
    if (next === location.pathname + location.search) return;
    const soon = Date.now() - pushed < 350; // quick steps are one step of the browser's history
    const replaces = how === "replace" || (soon && how !== "always");
    history[replaces ? "replaceState" : "pushState"](history.state, "", next);
    if (how !== "replace") pushed = Date.now();
  }
  async function fromBack() {
    if (!innings || !location.pathname.startsWith(`/match/${encodeURIComponent(page.key)}/innings/`)) return;
    const next = fromAddress();
    const other = next.number !== state.number || next.model !== state.model;
    Object.assign(state, next, { lit: new Set() });
    if (other) await open();
    else {
      clamp();
      drawAll();
    }
  }
  // An address may name what is not there.
  function clamp() {
    state.ball = Math.max(1, Math.min(innings.count, state.ball));
    if (state.head !== null && state.head >= innings.scale(state.scale).heads.length) state.head = null;
  }

  async function open() {
    const wanted = state.number + state.model;
    const here = page;
    try {
      if (!page.about.innings.some((one) => one.number === state.number && one.balls))
        throw new Error(`There is no innings ${state.number} with a ball in this match.`);
      const found = await A.innings(page.key, state.number, state.model);
      if (here !== page || wanted !== state.number + state.model) return;
      innings = found;
      A.at("page").classList.remove("failed");
      clamp();
      remember("replace");
      A.stem = () => `attnlens-${page.key}-${state.number}-${state.ball}`;
      controls();
      drawAll();
      if (page.live) A.showNext(page, innings, state.model);
      document.body.dataset.ready = "yes";
      performance.mark("attnlens-drawn");
    } catch (error) {
      if (here !== page) return;
      A.at("page").classList.add("failed");
      const first = page.about.innings.find((one) => one.balls).number;
      A.put(
        "score",
        A.trouble(error.message, " ", A.link(A.ballPath(page.key, first, 1), null, "To the first ball")),
      );
    }
  }

  function controls() {
    A.put(
      "timeline-controls",
      A.inningsTabs(page, state.number, otherInnings),
      A.steps(() => state.ball - 1, choose, goTo),
      page.models.length > 1 ? modelChoice() : null,
    );
    A.heads.controls(state, innings, change);
    A.whatIf.build(state, innings, (asked) => {
      state.whatIf = asked;
      remember("replace");
    });
  }
  function modelChoice() {
    const option = (name) =>
      A.el("option", { value: name, selected: name === state.model }, name.split(/[\\/]/).pop());
    const onchange = (event) => {
      toBall({ model: event.target.value });
      remember();
      open();
    };
    return A.el(
      "label",
      { class: "group" },
      "Model",
      A.el("select", { id: "model", onchange }, page.models.map(option)),
    );
  }
  function otherInnings(number) {
    if (number === state.number) return;
    toBall({ number, ball: 1 });
    A.play.stop();
    remember("always");
    open();
  }
  function goTo(text) {
    const wanted = text.trim();
    const found = innings.balls.filter((ball) => ball.label === wanted);
    const at = /^\d+$/.test(wanted) ? Number(wanted) - 1 : found.length === 1 ? found[0].index - 1 : -1;
    if (at >= 0 && at < innings.count) choose(at);
    else if (found.length > 1)
      A.toast(`${wanted} is the label of ${found.length} balls: name one by its number`);
    else A.toast(`there is no ball ${wanted || "without a name"}; 1 to ${innings.count}`);
  }

  // A change of ball, drawn at once; the tests of its explanation follow.
  function choose(at, how) {
    const ball = Math.max(1, Math.min(innings.count, at + 1));
    if (ball === state.ball) return;
    performance.mark("attnlens-change");
    toBall({ ball, whatIf: null });
    drawBall();
    remember(how || "push");
    performance.mark("attnlens-changed");
    performance.measure("attnlens-ball", "attnlens-change", "attnlens-changed");
  }
  A.choose = choose;
  function change(what) {
    const scale = what.scale && what.scale !== state.scale;
    const opens = state.head === null && Number.isInteger(what.head);
    Object.assign(state, what);
    if (scale) A.heads.build(state, innings, change);
    else A.heads.draw(state);
    remember();
    if (opens) A.at("enlarged").scrollIntoView({ block: "start" });
    if (what.scale) A.say(`Scale ${state.scale}`);
  }
  A.changeHead = (head) => {
    const was = state.head;
    change({ head });
    if (head === null && was !== null) A.all(".head")[was]?.focus();
  };

  function drawAll() {
    A.timeline.draw(state, innings, choose);
    A.heads.build(state, innings, change);
    menus();
    drawBall(true);
  }
  function drawBall(all) {
    if (!all) {
      A.timeline.move(state);
      A.heads.draw(state);
    }
    A.cautions(innings.told.cautions[state.ball - 1]);
    A.score(innings, state.ball - 1);
    outcomes();
    A.say(innings.describe(state.ball - 1));
    explanation = null;
    clearTimeout(waiting);
    if (all) rest();
    else {
      // What was said of another ball pales at once; it is replaced when this ball is drawn.
      A.at("page").classList.add("stale");
      waiting = setTimeout(rest, 30);
    }
  }
  function rest() {
    if (!innings) return;
    A.at("page").classList.remove("stale");
    figures.gates = A.gateBars("gates-plot", [...innings.gatesOf(state.ball - 1)], innings.told.fused);
    figures.inside = A.inside("inside-plot", innings, state.ball - 1);
    A.whatIf.move(state);
    explanation = A.known(explainAddress(state.ball)) || null;
    explained();
    clearTimeout(waiting);
    waiting = setTimeout(explanation ? ahead : ask, explanation ? 300 : REST);
  }

  const ballData = (ball, name) =>
    `/data/${encodeURIComponent(page.key)}/${state.number}/${ball}/${name}${A.asked(page.key, state.model)}` +
    (state.outcome ? `&outcome=${state.outcome}` : "");
  const explainAddress = (ball) => ballData(ball, "explanation.json");
  A.explanationNow = () => explanation;
  async function ask() {
    const url = explainAddress(state.ball);
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    const queue = setTimeout(() => place(signal), SLOW);
    try {
      const found = await A.get(url, signal);
      if (!innings || url !== explainAddress(state.ball)) return;
      explanation = found;
      explained();
      ahead();
    } catch (error) {
      if (signal.aborted || !innings) return;
      A.put("narrative-text", A.trouble(error.message, " ", A.button("Ask again", ask)));
    } finally {
      clearTimeout(queue);
    }
  }
  // How many questions are answered before this one.
  async function place(signal) {
    const { before } = await A.fresh(ballData(state.ball, "place.json"), signal).catch(() => ({ before: 0 }));
    if (signal.aborted || !innings || explanation) return;
    const node = A.at("narrative-text").querySelector(".queue");
    if (node) node.textContent = before > 0 ? `; ${A.count(before, "question")} before it` : "";
    setTimeout(() => !signal.aborted && innings && !explanation && place(signal), SLOW);
  }
  // The neighbours' explanations, before they are wanted.
  function ahead() {
    for (const ball of [state.ball + 1, state.ball - 1]) {
      const url = explainAddress(ball);
      if (ball < 1 || ball > innings.count || A.known(url)) continue;
      fetch(`${url}&ahead=1`, { signal: asking?.signal }).catch(() => {});
    }
  }

  const chosen = () => state.outcome || innings.told.story[state.ball - 1];
  A.outcomeNow = chosen;
  function explained() {
    const outcome = chosen();
    A.at("page").classList.toggle("untested", !explanation);
    if (!explanation) {
      A.put("contributions-plot", A.loading("taking things away, to see what each does"));
      A.narrative.waiting(innings, state.ball - 1, outcome);
      A.put("evidence-list", A.loading("hiding balls"));
      for (const name of ["contributions", "narrative", "evidence"]) A.at(`${name}-tools`).replaceChildren();
      A.heads.explained(null);
      return;
    }
    figures.contributions = A.contributions(explanation, outcome);
    A.narrative.draw(explanation, light, drawer);
    A.claims.draw(explanation, state, light, () => drawer(false));
    const files = `/files/${encodeURIComponent(page.key)}/${state.number}/${state.ball}/`;
    const asked = explainAddress(state.ball).split("explanation.json")[1];
    A.narrative.menu(explanation, (name) => `${files}${name}${asked}`, page.texts);
    A.heads.explained(explanation);
    if (state.claim === null) return;
    if (explanation.evidence[state.claim]?.removed.length) {
      drawer(true);
      lightUp();
    } else state.claim = null;
  }
  // The claims lie over the story, so that the innings and the heads stay in sight.
  function drawer(open) {
    const box = A.at("evidence");
    if (box.classList.contains("open") === open) return;
    box.classList.toggle("open", open);
    A.at("claims-button")?.setAttribute("aria-expanded", String(open));
    if (open) box.querySelector("button")?.focus({ preventScroll: true });
    else if (state.claim !== null) light(state.claim);
    if (!open) A.at("claims-button")?.focus();
  }
  function light(claim) {
    state.claim = state.claim === claim ? null : claim;
    if (state.claim !== null) drawer(true);
    lightUp();
    remember("replace");
    // Where the drawer covers the lower half, the balls that it lights are brought above it.
    if (innerWidth < NARROW) A.at("timeline").scrollIntoView({ block: "start" });
    if (state.claim === null) A.say("No ball is lit");
    else {
      const balls = [...state.lit]
        .sort((one, two) => one - two)
        .map((index) => innings.balls[index - 1].label);
      const where = explanation.evidence[claim].head ? ", in the head they were hidden from" : "";
      A.say(`Lit: balls ${balls.join(", ")}${where}`);
    }
  }
  function lightUp() {
    state.lit = new Set(state.claim === null ? [] : explanation.evidence[state.claim].removed);
    A.claims.mark(state.claim);
    A.timeline.light(state);
    A.heads.light(state);
  }

  // An outcome that is chosen is what words, reasons, claims, heads and what-if are about.
  function pick(outcome) {
    toBall({ outcome: state.outcome === outcome ? null : outcome });
    remember("replace");
    lightUp();
    outcomes();
    A.whatIf.about(chosen());
    rest();
  }
  const figures = {};
  function outcomes() {
    const at = state.ball - 1;
    figures.outcomes = A.outcomeBars.draw("outcomes-plot", {
      now: [...innings.probabilitiesOf(at)],
      base: [...innings.usualOf(at)],
      actual: innings.balls[at].outcome || null,
      chosen: chosen(),
      label: "Chance of each outcome",
      than: "usual",
      nowName: "expected",
      baseName: "usual at this scoreboard",
      row: innerWidth < NARROW ? 31 : 19,
      choose: pick,
    });
  }
  // What can be taken away is worked out when it is.
  function menus() {
    const at = () => state.ball - 1;
    const fixed = (numbers, place) => numbers[place].toFixed(6);
    A.figureMenu(
      "outcomes",
      () => figures.outcomes,
      () => [
        ["outcome", "probability", "usual", "baseline"],
        ...A.outcomes.map((one, place) => [
          one,
          ...["probabilities", "usual", "baseline"].map((name) => fixed(innings[`${name}Of`](at()), place)),
        ]),
      ],
    );
    A.figureMenu(
      "gates",
      () => figures.gates,
      () => [
        ["source", "weight"],
        ...innings.told.fused.map((name, place) => [name, fixed(innings.gatesOf(at()), place)]),
      ],
    );
    A.figureMenu(
      "inside",
      () => figures.inside,
      () => [
        ["layer", "node", "weight"],
        ...innings.nodes.map((node, place) => [node.layer, node.node, fixed(innings.nodesOf(at()), place)]),
      ],
    );
  }

  // What the keys of this page may do.
  function keysOf() {
    return innings && { state, innings, page, choose, change, otherInnings, drawer, scales: SCALES };
  }
})();
