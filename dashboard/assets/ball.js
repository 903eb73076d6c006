// The page of a ball: its state, its address, keys and controls.
(function () {
  // ---- Ways through a match: innings, steps, playing, keys.
  const BALL_PAUSE = 650; // milliseconds a ball when it is played
  let playing = null;

  const played = (page) => page.summary.innings.filter((innings) => innings.balls);
  /** The story, and each innings that has a ball. */
  A.inningsTabs = (page, number, other) => {
    const tab = (side) => {
      const state = { "aria-pressed": String(side.number === number) };
      return A.button(A.inningsName(side), () => other(side.number), state);
    };
    const href = `/match/${encodeURIComponent(page.key)}`;
    return [
      A.el("a", { href, class: "button" }, "◂ Story"),
      A.el("div", { class: "tabs", role: "group", "aria-label": "Innings" }, played(page).map(tab)),
    ];
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
      labelPlay("▶ Play", "false");
    },
  };
  function start() {
    labelPlay("❚❚ Stop", "true");
    playing = setInterval(() => {
      const before = location.pathname;
      A.play.next();
      if (location.pathname === before) A.play.stop();
    }, BALL_PAUSE);
  }
  function labelPlay(text, pressed) {
    const button = A.at("play");
    if (!button) return;
    button.textContent = text;
    button.setAttribute("aria-pressed", pressed);
  }

  A.ballKeys = (event, view) => {
    const modified = event.ctrlKey || event.metaKey || event.altKey;
    if (!view || modified || A.typing(event) || document.querySelector("dialog[open]")) return;
    const { state, innings, page, choose, change } = view;
    const at = state.ball - 1;
    const step = event.shiftKey ? 6 : 1;
    const moves = {
      ArrowLeft: at - step,
      ArrowRight: at + step,
      Home: 0,
      End: innings.count - 1,
      PageUp: at - 12,
      PageDown: at + 12,
    };
    const sides = played(page).map((innings) => innings.number);
    const side = sides.indexOf(state.number) + ({ "[": -1, "]": 1 }[event.key] || 0);
    if (event.key in moves) {
      event.preventDefault();
      choose(moves[event.key]);
    } else if (event.key === " " && !/^(BUTTON|SUMMARY|A)$/.test(event.target.tagName)) {
      event.preventDefault();
      A.play.toggle();
    } else if (/^[1-4]$/.test(event.key)) change({ scale: view.scales[event.key - 1], head: null });
    else if (event.key === "v") {
      const names = Object.keys(A.viewNames);
      change({ view: names[(names.indexOf(state.view) + 1) % names.length] });
      A.say(`View: ${A.viewNames[state.view]}`);
    } else if (event.key === "h") {
      const count = innings.scale(state.scale).heads.length;
      change({ head: state.head === null ? 0 : (state.head + 1) % count });
    } else if (event.key === "c") view.drawer(!A.at("evidence").classList.contains("open"));
    else if (event.key === "Escape" && A.at("evidence").classList.contains("open")) view.drawer(false);
    else if (event.key === "Escape" && state.head !== null) A.changeHead(null);
    else if ("[]".includes(event.key) && sides[side]) view.otherInnings(sides[side]);
  };

  // ---- The page of a ball: the address is the state; a change of ball draws from what is on the page.
  const SCALES = ["micro", "short", "medium", "long"];
  const TEST_DELAY = 110; // milliseconds on a ball before its tests are asked for
  const PHONE_WIDTH = 768; // pixels of a window below which the claims cover the lower half
  const QUEUE_DELAY = 900; // milliseconds after which the place in the queue is shown
  let state = null;
  let page = null;
  let innings = null;
  let answer = null; // the explanation of this ball, and its parts as HTML
  let waiting = 0;
  let request = null;

  A.pages.ball = async (data) => {
    page = data;
    answer = null;
    state = { lit: new Set(), ...fromAddress() };
    A.redraw = () => {
      A.forgetWidths();
      if (innings?.count) drawAll();
    };
    A.moved = fromBack;
    A.on(document, "keydown", (event) => A.ballKeys(event, keysOf()));
    A.on(A.at("page"), "click", chooseClaim);
    A.at("evidence-tools").replaceChildren(
      A.button("×", () => drawer(false), { class: "close", "aria-label": "Close the claims" }),
    );
    A.on(window, "popstate", fromBack);
    A.on(
      window,
      "resize",
      A.debounce(() => A.redraw?.(), 120),
    );
    A.leave.push(() => {
      A.play.stop();
      clearTimeout(waiting);
      request?.abort();
      innings = page = null;
    });
    A.put("score", A.loading("the model is looking at every ball"));
    if (page.live) {
      A.atVersion(page.key, page.version);
      A.follow(page, onNewBall);
    }
    await open();
  };
  // Who looks at the last ball goes on to the next.
  async function onNewBall(grown, last, before) {
    if (!innings) return;
    const atEnd = state.ball === innings.count && state.number === before;
    if (atEnd || !page.summary.innings.some((innings) => innings.number === state.number && innings.balls))
      toBall({ number: last.number, ball: last.balls });
    await open();
    if (!page) return;
    const added = `a new ball has come: ${last.batting} ${last.total}/${last.wickets}`;
    const changed = "balls that were there before have been changed";
    A.toast(!grown ? changed : atEnd ? innings.describe(innings.count - 1) : added);
  }
  const toBall = (target) => Object.assign(state, target, { lit: new Set(), claim: null });

  function fromAddress() {
    const [, , , number, , ball] = location.pathname.split("/").filter(Boolean);
    const query = new URLSearchParams(location.search);
    const choice = (name, values, otherwise) =>
      values.includes(query.get(name)) ? query.get(name) : otherwise;
    const count = (name) => (/^\d+$/.test(query.get(name) || "") ? Number(query.get(name)) : null);
    return {
      number: Number(number) || played(page)[0].number,
      ball: Math.trunc(Number(ball)) || 1,
      scale: choice("scale", SCALES, "medium"),
      view: choice("view", Object.keys(A.viewNames), "full"),
      each: query.get("each") === "1",
      head: count("head"),
      outcome: choice("outcome", A.outcomes, null),
      model: choice("model", page.models, page.models[0]),
      claim: count("claim"),
      whatIf: A.whatIf.fromAddress(query),
    };
  }
  function address() {
    const query = new URLSearchParams();
    if (state.scale !== "medium") query.set("scale", state.scale);
    if (state.view !== "full") query.set("view", state.view);
    if (state.each) query.set("each", "1");
    if (state.head !== null) query.set("head", state.head);
    if (state.outcome) query.set("outcome", state.outcome);
    if (state.model !== page.models[0]) query.set("model", state.model);
    if (state.claim !== null) query.set("claim", state.claim);
    for (const [name, value] of Object.entries(state.whatIf || {})) query.set(name, value);
    const text = query.toString();
    return A.ballPath(page.key, state.number, state.ball) + (text ? `?${text}` : "");
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
    const requested = state.number + state.model;
    const current = page;
    try {
      if (!page.summary.innings.some((innings) => innings.number === state.number && innings.balls))
        throw new Error(`There is no innings ${state.number} with a ball in this match.`);
      const loaded = await A.innings(page.key, state.number, state.model);
      if (current !== page || requested !== state.number + state.model) return;
      innings = loaded;
      A.at("page").classList.remove("failed");
      clamp();
      remember("replace");
      controls();
      drawAll();
      if (page.live) A.showNext(page, innings, state.model);
      document.body.dataset.ready = "yes";
      performance.mark("attnlens-drawn");
    } catch (error) {
      if (current !== page) return;
      A.at("page").classList.add("failed");
      const first = played(page)[0].number;
      A.put(
        "score",
        A.trouble(
          error.message,
          " ",
          A.el("a", { href: A.ballPath(page.key, first, 1) }, "To the first ball"),
        ),
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
    A.whatIf.build(state, innings, (query) => {
      state.whatIf = query;
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
    const name = text.trim();
    const balls = innings.balls.filter((ball) => ball.label === name);
    const at = /^\d+$/.test(name) ? Number(name) - 1 : balls.length === 1 ? balls[0].index - 1 : -1;
    if (at >= 0 && at < innings.count) choose(at);
    else if (balls.length > 1)
      A.toast(`${name} is the label of ${balls.length} balls: name one by its number`);
    else A.toast(`there is no ball ${name || "without a name"}; 1 to ${innings.count}`);
  }

  // A change of ball, drawn at once; the tests of its explanation follow.
  function choose(at, how) {
    const ball = Math.max(1, Math.min(innings.count, at + 1));
    if (ball === state.ball) return;
    toBall({ ball, whatIf: null });
    drawBall();
    remember(how || "push");
  }
  function change(update) {
    const scale = update.scale && update.scale !== state.scale;
    const opens = state.head === null && Number.isInteger(update.head);
    Object.assign(state, update);
    if (scale) A.heads.build(state, innings, change);
    else A.heads.draw(state);
    remember();
    if (opens) A.at("enlarged").scrollIntoView({ block: "start" });
    if (update.scale) A.say(`Scale ${state.scale}`);
  }
  A.changeHead = (head) => {
    const previous = state.head;
    change({ head });
    if (head === null && previous !== null) A.all(".head")[previous]?.focus();
  };

  function drawAll() {
    A.timeline.draw(state, innings, choose);
    A.heads.build(state, innings, change);
    drawBall(true);
  }
  function drawBall(all) {
    if (!all) {
      A.timeline.move(state);
      A.heads.draw(state);
    }
    A.cautions(innings.document.cautions[state.ball - 1]);
    A.score(innings, state.ball - 1);
    outcomes();
    A.say(innings.describe(state.ball - 1));
    answer = null;
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
    A.gateBars(innings, state.ball - 1);
    A.inside(innings, state.ball - 1);
    A.whatIf.move(state);
    answer = A.cached(explainAddress(state.ball)) || null;
    explained();
    clearTimeout(waiting);
    waiting = setTimeout(answer ? ahead : ask, answer ? 300 : TEST_DELAY);
  }

  const ballData = (ball, name) =>
    `/data/${encodeURIComponent(page.key)}/${state.number}/${ball}/${name}${A.query(page.key, state.model)}` +
    (state.outcome ? `&outcome=${state.outcome}` : "");
  const explainAddress = (ball) => ballData(ball, "explanation.json");
  A.explanation = () => answer?.explanation;
  async function ask() {
    const url = explainAddress(state.ball);
    request?.abort();
    request = new AbortController();
    const { signal } = request;
    const queue = setTimeout(() => showQueue(signal), QUEUE_DELAY);
    try {
      const loaded = await A.get(url, signal);
      if (!innings || url !== explainAddress(state.ball)) return;
      answer = loaded;
      explained();
      ahead();
    } catch (error) {
      if (signal.aborted || !innings) return;
      A.put("narrative-text", A.trouble(error.message, " ", A.button("Ask again", ask)));
    } finally {
      clearTimeout(queue);
    }
  }
  // How many requests are answered before this one.
  async function showQueue(signal) {
    const { before } = await A.fresh(ballData(state.ball, "place.json"), signal).catch(() => ({ before: 0 }));
    if (signal.aborted || !innings || answer) return;
    const node = A.at("narrative-text").querySelector(".queue");
    if (node) node.textContent = before > 0 ? `; ${A.count(before, "request")} before it` : "";
    setTimeout(() => !signal.aborted && innings && !answer && showQueue(signal), QUEUE_DELAY);
  }
  // The neighbours' explanations, before they are wanted.
  function ahead() {
    for (const ball of [state.ball + 1, state.ball - 1]) {
      const url = explainAddress(ball);
      if (ball < 1 || ball > innings.count || A.cached(url)) continue;
      fetch(`${url}&ahead=1`, { signal: request?.signal }).catch(() => {});
    }
  }

  const chosen = () => state.outcome || innings.document.story[state.ball - 1];
  A.chosenOutcome = chosen;
  function explained() {
    A.at("page").classList.toggle("untested", !answer);
    A.at("narrative-tools").replaceChildren();
    if (answer) {
      A.explained.draw(answer.html);
      const files = `/files/${encodeURIComponent(page.key)}/${state.number}/${state.ball}/`;
      const query = explainAddress(state.ball).split("explanation.json")[1];
      const menu = Object.entries(page.files).map(([name, text]) => [text, files + name + query]);
      A.explained.menu(menu, `${files}prompt.txt${query}`);
    } else A.explained.wait(innings, state.ball - 1, chosen());
    A.heads.explained(answer?.explanation);
    if (!answer || state.claim === null) return;
    if (answer.explanation.evidence[state.claim]?.removed.length) {
      drawer(true);
      lightUp();
    } else state.claim = null;
  }
  function chooseClaim(event) {
    const button = event.target.closest("[data-claim]");
    if (button) light(Number(button.dataset.claim));
    else if (event.target.closest("#claims-button")) drawer(!A.at("evidence").classList.contains("open"));
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
    if (innerWidth < PHONE_WIDTH) A.at("timeline").scrollIntoView({ block: "start" });
    if (state.claim === null) A.say("No ball is lit");
    else {
      const balls = [...state.lit].sort((a, b) => a - b).map((index) => innings.balls[index - 1].label);
      const where = answer.explanation.evidence[claim].head ? ", in the head they were hidden from" : "";
      A.say(`Lit: balls ${balls.join(", ")}${where}`);
    }
  }
  function lightUp() {
    state.lit = new Set(state.claim === null ? [] : answer.explanation.evidence[state.claim].removed);
    A.explained.mark(state.claim);
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
  function outcomes() {
    const at = state.ball - 1;
    A.outcomeBars("outcomes-plot", {
      now: [...innings.probabilitiesOf(at)],
      before: [...innings.usualOf(at)],
      names: ["expected", "usual at this scoreboard"],
      actual: innings.balls[at].outcome || null,
      chosen: chosen(),
      choose: pick,
    });
  }

  // What the keys of this page may do.
  function keysOf() {
    return innings && { state, innings, page, choose, change, otherInnings, drawer, scales: SCALES };
  }
})();
