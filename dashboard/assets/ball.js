// The page of a ball. The URL contains its state; another ball is drawn from data already loaded.
import {
  all,
  at,
  button,
  cached,
  debounced,
  el,
  fresh,
  get,
  isTyping,
  oneStop,
  percent,
  post,
  say,
  signed,
  toast,
  trouble,
} from "./core.js";
import { Heads } from "./heads.js";
import { clamp } from "./heat_maps.js";
import { innings as innings_of, OUTCOME_NAMES, OUTCOMES } from "./innings.js";
import { follow, showNext } from "./live.js";
import { Timeline } from "./timeline.js";

const [BALL_PAUSE, TEST_DELAY, AHEAD_DELAY, QUEUE_DELAY] = [650, 110, 300, 900]; // milliseconds
const QUICK = 350; // milliseconds: steps closer in time share one entry of the browser history
const WHAT_IF = ["bowler", "batter", "target", "was"];
const SMALL = 0.03; // less probable outcomes are hidden, except the explained and the actual outcome
/** @typedef {{ number: number, ball: number, outcome: string | null, head: string | null,
 *   claim: number | null, model: string, whatIf: Record<string, string> | null }} State */
/** @typedef {{ key: string, models: string[], live: boolean, version: string, asOf?: number | null,
 *   summary: { innings: import("./live.js").Side[] } }} Page */

/** @param {Page} page @param {AbortSignal} leave */
export async function ballPage(page, leave) {
  const view = new View(page, leave);
  await view.open();
  if (page.live) follow(page, leave, (isGrown) => view.grown(isGrown));
}

class View {
  /** @param {Page} page @param {AbortSignal} leave */
  constructor(page, leave) {
    this.page = page;
    this.leave = leave;
    /** @type {any} the explanation of this ball, as data and as HTML */
    this.answer = null;
    this.request = new AbortController();
    this.later = this.playing = this.pushed = 0;
    this.isShown = false;
    /** @type {string | null} the label of a ball in the URL */
    this.label = null;
    /** @type {import("./innings.js").Innings | undefined} */
    this.innings = undefined;
    /** @type {Heads | undefined} */
    this.heads = undefined;
    /** @type {Timeline | undefined} */
    this.timeline = undefined;
    this.state = this.fromAddress();
    const on = { signal: leave };
    document.addEventListener("keydown", (event) => this.key(event), on);
    document.addEventListener("click", (event) => this.click(event), on);
    // Dash fires a custom event for its links and for the player search.
    for (const name of ["popstate", "_dashprivate_pushstate"])
      window.addEventListener(name, () => this.back(), on);
    window.addEventListener(
      "resize",
      debounced(() => leave.aborted || this.redraw(), 120),
      on,
    );
    document.addEventListener("themechange", () => this.redraw(), on);
    at("what-if").addEventListener("submit", (event) => this.ask(event), on);
    at("go-to").addEventListener("submit", (event) => this.goTo(event), on);
    const model = /** @type {HTMLSelectElement | null} */ (document.getElementById("model"));
    model?.addEventListener("change", () => this.other({ model: model.value }), on);
    leave.addEventListener("abort", () => {
      clearTimeout(this.later);
      clearInterval(this.playing);
      this.request.abort();
    });
  }
  // ---- The URL contains the state.
  /** @returns {State} */
  fromAddress() {
    const [, , , number, , ball] = location.pathname.split("/").filter(Boolean);
    const query = new URLSearchParams(location.search);
    const choice = (/** @type {string} */ name, /** @type {string[]} */ values) => {
      const value = query.get(name);
      return value !== null && values.includes(value) ? value : null;
    };
    const asked = WHAT_IF.filter((name) => query.get(name)).map((name) => [name, query.get(name) ?? ""]);
    this.label = /^\d+$/.test(ball) ? null : decodeURIComponent(ball ?? "");
    return {
      number: Number(number) || this.sides()[0].number,
      ball: Number(ball) || 1,
      outcome: choice("outcome", OUTCOMES),
      head: query.get("head"),
      claim: /^\d+$/.test(query.get("claim") ?? "") ? Number(query.get("claim")) : null,
      model: choice("model", this.page.models) ?? this.page.models[0],
      whatIf: asked.length ? Object.fromEntries(asked) : null,
    };
  }
  address() {
    const { number, ball, outcome, head, claim, model, whatIf } = this.state;
    const query = new URLSearchParams(whatIf ?? {});
    for (const [name, value] of Object.entries({ outcome, head, claim }))
      if (value !== null) query.set(name, String(value));
    if (model !== this.page.models[0]) query.set("model", model);
    const text = query.size ? `?${query}` : "";
    return `/match/${encodeURIComponent(this.page.key)}/innings/${number}/ball/${ball}${text}`;
  }
  /** @param {"push" | "replace" | "quick"} how */
  remember(how) {
    const next = this.address();
    if (next === location.pathname + location.search) return;
    const isPushed = how === "push" || (how === "quick" && Date.now() - this.pushed > QUICK);
    history[isPushed ? "pushState" : "replaceState"](history.state, "", next);
    if (isPushed) this.pushed = Date.now();
  }
  back() {
    if (!location.pathname.startsWith(`/match/${encodeURIComponent(this.page.key)}/innings/`)) return;
    const next = this.fromAddress();
    if (next.number !== this.state.number || next.model !== this.state.model)
      return this.other(next, "replace");
    Object.assign(this.state, next);
    this.settle();
    this.draw();
  }
  sides() {
    return this.page.summary.innings.filter((side) => side.balls);
  }
  query() {
    const version = this.page.version ? `&v=${this.page.version}` : "";
    return `?model=${encodeURIComponent(this.state.model)}${version}`;
  }
  /** Returns the URL of a ball's data, without its first part, such as `/data`. @param {number} ball
   * @param {string} name */
  data(ball, name) {
    const { number, outcome } = this.state;
    const about = outcome ? `&outcome=${outcome}` : "";
    return `/${encodeURIComponent(this.page.key)}/${number}/${ball}/${name}${this.query()}${about}`;
  }

  // ---- Opening an innings.
  async open() {
    const { number, model } = this.state;
    try {
      if (!this.sides().some((side) => side.number === number))
        throw new Error(`No ball was bowled in innings ${number} of this match.`);
      const loaded = await innings_of(this.page.key, number, this.query());
      if (this.leave.aborted || number !== this.state.number || model !== this.state.model) return;
      this.innings = loaded;
    } catch (error) {
      at("page").classList.add("failed");
      const first = `/match/${encodeURIComponent(this.page.key)}/innings/${this.sides()[0].number}/ball/1`;
      const link = el("a", { href: first }, "To the first ball");
      at("score").replaceChildren(trouble(/** @type {Error} */ (error).message, " ", link));
      return;
    }
    at("page").classList.remove("failed");
    const choice = /** @type {HTMLSelectElement | null} */ (document.getElementById("model"));
    if (choice) choice.value = model;
    this.settle();
    this.remember("replace");
    for (const link of all("[data-innings]"))
      link.setAttribute("aria-pressed", String(link.dataset.innings === String(number)));
    this.heads = new Heads(this.innings, (head) => this.choose({ head: this.headName(head) }));
    this.outcomes();
    this.redraw();
    for (const id of ["outcomes", "hidden"]) oneStop(at(id));
    if (this.page.live) showNext(this.page, this.innings, `${this.query()}`);
    document.body.dataset.ready = "yes";
    performance.mark("attnlens-drawn");
    if (this.state.head) at("head").firstElementChild?.scrollIntoView({ block: "nearest" });
  }
  /** Corrects the state, because the URL may name a missing ball or head, or a ball by its label. */
  settle() {
    const { state, innings } = this;
    if (!innings) return;
    if (this.label !== null) {
      state.ball = this.named(this.label) ?? state.ball;
      this.label = null;
    }
    state.ball = clamp(Math.trunc(state.ball), 1, innings.count);
    if (state.head && !innings.heads.some(({ id }) => id === state.head)) state.head = null;
  }
  /** Opens another innings or model. @param {Partial<State>} next @param {"push" | "replace"} [how] */
  other(next, how = "push") {
    Object.assign(this.state, { ball: 1, claim: null, whatIf: null }, next);
    this.stop();
    this.remember(how);
    return this.open();
  }
  /** @param {number | null} head */
  headName(head) {
    return head === null || !this.innings ? null : this.innings.heads[head].id;
  }
  headNumber() {
    const number = this.innings?.heads.findIndex(({ id }) => id === this.state.head) ?? -1;
    return number < 0 ? null : number;
  }
  /** Updates the page after a new ball or a correction. @param {boolean} isGrown */
  async grown(isGrown) {
    const last = this.sides().slice(-1)[0];
    const wasLast = this.innings && this.state.ball === this.innings.count;
    if (wasLast && isGrown) Object.assign(this.state, { number: last.number, ball: last.balls, claim: null });
    await this.open();
    const text =
      this.innings && wasLast ? this.innings.balls[this.innings.count - 1].text : "a new ball was bowled";
    toast(isGrown ? text : "balls that were shown before have changed in the file");
  }

  // ---- Drawing a ball: first the data already loaded, then the tested explanation.
  redraw() {
    if (!this.innings || !this.heads) return;
    this.timeline = new Timeline(at("timeline-plot"), this.innings, (ball, isDragged) =>
      this.choose({ ball: ball + 1 }, isDragged ? "replace" : "quick"),
    );
    this.heads.restyle();
    this.draw();
  }
  draw() {
    const { innings, state, heads, timeline } = this;
    if (!innings || !heads || !timeline) return;
    const ball = state.ball - 1;
    at("score").innerHTML = innings.scores[ball];
    timeline.move(ball);
    heads.move(ball, this.headNumber());
    this.chances();
    say(innings.balls[ball].text);
    document.title = `${innings.balls[ball].text.split(",")[0]} | attnlens`;
    this.answer = cached(`/data${this.data(state.ball, "explanation.json")}`) ?? null;
    clearTimeout(this.later);
    this.request.abort();
    at("page").classList.toggle("stale", !this.answer);
    if (!state.whatIf) at("what-if-answer").replaceChildren();
    document.body.dataset.tested = this.answer ? "yes" : "no";
    if (this.answer) this.later = window.setTimeout(() => this.explained(), 30);
    else this.later = window.setTimeout(() => this.explain(), TEST_DELAY);
    this.light([]);
  }
  async explain() {
    const url = this.data(this.state.ball, "explanation.json");
    this.request = new AbortController();
    const { signal } = this.request;
    const queue = setTimeout(() => this.queue(signal), QUEUE_DELAY);
    try {
      const answer = await get(`/data${url}`, signal);
      if (signal.aborted) return;
      this.answer = answer;
      this.explained();
    } catch (error) {
      if (signal.aborted) return;
      const again = button("Ask again", () => this.explain());
      at("narrative").replaceChildren(trouble(/** @type {Error} */ (error).message, " ", again));
      at("page").classList.remove("stale");
    } finally {
      clearTimeout(queue);
    }
  }
  /** Announces how many requests are answered before this one. @param {AbortSignal} signal */
  async queue(signal) {
    const place = await fresh(`/data${this.data(this.state.ball, "place.json")}`, { signal }).catch(
      () => null,
    );
    if (signal.aborted || !place?.before) return;
    say(`${place.before} requests are answered before this one`);
    setTimeout(() => signal.aborted || this.queue(signal), QUEUE_DELAY);
  }
  explained() {
    const { answer, state, timeline, innings } = this;
    if (!answer || !timeline || !innings) return;
    const template = el("template");
    template.innerHTML = answer.html;
    for (const part of all("[data-part]", template.content))
      at(part.dataset.part ?? "").replaceChildren(...part.childNodes);
    const { prediction, past_balls, evidence } = answer.explanation;
    timeline.addEffects(OUTCOME_NAMES[OUTCOMES.indexOf(prediction.subject)], past_balls);
    for (const link of all("[data-file]"))
      link.setAttribute("href", `/files${this.data(state.ball, link.dataset.file ?? "")}`);
    at("page").classList.remove("stale");
    document.body.dataset.tested = "yes";
    if (state.claim !== null && !evidence[state.claim]?.removed.length) state.claim = null;
    this.light(state.claim === null ? [] : evidence[state.claim].removed);
    this.show();
    if (state.whatIf) this.refill(state.whatIf);
    this.later = window.setTimeout(() => this.ahead(), AHEAD_DELAY);
  }
  /** Scrolls once to the claim that the URL names. */
  show() {
    if (this.state.claim === null || this.isShown) return;
    const row = all(`[data-claim="${this.state.claim}"]`)[0];
    const folded = row?.closest("details");
    if (folded) folded.open = true;
    row?.scrollIntoView({ block: "nearest" });
    this.isShown = true;
  }
  /** Requests the explanations of the previous and the next ball in advance. */
  ahead() {
    for (const ball of [this.state.ball + 1, this.state.ball - 1]) {
      const url = `/data${this.data(ball, "explanation.json")}`;
      if (ball < 1 || !this.innings || ball > this.innings.count || cached(url)) continue;
      fetch(`${url}&ahead=1`, { signal: this.request.signal }).catch(() => {});
    }
  }
  /** @param {number[]} balls */
  light(balls) {
    const claim = this.answer?.explanation.evidence[this.state.claim ?? -1];
    this.timeline?.light(balls);
    this.heads?.light(balls, claim?.removed_from === "head" ? claim.head : null, claim?.scale ?? null);
    for (const row of all("[data-claim]"))
      row.setAttribute("aria-pressed", String(row.dataset.claim === String(this.state.claim)));
  }

  // ---- Outcomes: one bar each. Words, effects and tests are about the chosen outcome.
  outcomes() {
    at("outcomes").replaceChildren(
      ...OUTCOMES.map((outcome, number) =>
        el(
          "button",
          {
            type: "button",
            class: "row",
            "data-outcome": outcome,
            onclick: () =>
              this.choose({ outcome: this.state.outcome === outcome ? null : outcome }, "replace"),
          },
          el("span", { class: "name" }, OUTCOME_NAMES[number]),
          el("span", { class: "track" }, el("i", { class: "now" }), el("i", { class: "tick" })),
          el("b", {}),
          el("span", { class: "points" }),
        ),
      ),
    );
  }
  chances() {
    const { innings, state } = this;
    if (!innings) return;
    const ball = state.ball - 1;
    const [now, usual] = [innings.chances("probabilities", ball), innings.chances("usual", ball)];
    const came = innings.balls[ball].outcome;
    const about = state.outcome ?? innings.subjects[ball];
    const most = Math.max(...now, ...usual);
    all("#outcomes .row").forEach((row, at) => {
      const isBig = Math.max(now[at], usual[at]) >= SMALL || OUTCOMES[at] === about || OUTCOMES[at] === came;
      row.hidden = !isBig;
      row.setAttribute("aria-pressed", String(OUTCOMES[at] === about));
      const [, track, value, points] = [...row.children];
      const [bar, tick] = /** @type {HTMLElement[]} */ ([...track.children]);
      bar.style.width = `${(100 * now[at]) / most}%`;
      tick.style.left = `${(100 * usual[at]) / most}%`;
      value.textContent = percent(now[at]);
      const mark = OUTCOMES[at] === came ? " ●" : "";
      points.textContent = `${signed(100 * (now[at] - usual[at]))}${mark}`;
    });
  }

  // ---- User input.
  /** @param {Partial<State>} next @param {"push" | "replace" | "quick"} [how] */
  choose(next, how = "quick") {
    const before = { ...this.state };
    if (next.ball) next.ball = clamp(next.ball, 1, this.innings?.count ?? 1);
    Object.assign(this.state, next);
    if (this.state.ball !== before.ball) Object.assign(this.state, { claim: null, whatIf: null });
    if (this.address() === location.pathname + location.search) return;
    if (next.head !== undefined) {
      this.heads?.enlarge(this.headNumber());
      if (next.head) at("heads").scrollIntoView({ block: "nearest" });
    } else if (next.claim !== undefined) {
      this.light(next.claim === null ? [] : this.answer.explanation.evidence[next.claim].removed);
    } else this.draw();
    this.remember(how);
  }
  /** @param {MouseEvent} event */
  click(event) {
    const node = /** @type {Element} */ (event.target);
    const claim = /** @type {HTMLElement | null} */ (node.closest("[data-claim]"))?.dataset.claim;
    const side = /** @type {HTMLElement | null} */ (node.closest("[data-innings]"))?.dataset.innings;
    const step = /** @type {HTMLElement | null} */ (node.closest("[data-step]"))?.dataset.step;
    if (claim) this.choose({ claim: this.state.claim === Number(claim) ? null : Number(claim) }, "replace");
    if (side && Number(side) !== this.state.number) this.other({ number: Number(side) });
    if (step === "play") this.play();
    else if (step) this.choose({ ball: this.state.ball + Number(step) });
    if (node.closest("#copy-prompt")) this.copy();
  }
  async copy() {
    try {
      const prompt = fetch(`/files${this.data(this.state.ball, "prompt.txt")}`).then((answer) =>
        answer.text(),
      );
      await navigator.clipboard.writeText(await prompt);
      toast("copied");
    } catch {
      toast("the browser does not allow this page to copy text");
    }
  }
  play() {
    if (this.playing) return this.stop();
    at("play").setAttribute("aria-pressed", "true");
    this.playing = window.setInterval(() => {
      if (this.state.ball === this.innings?.count) this.stop();
      else this.choose({ ball: this.state.ball + 1 }, "replace");
    }, BALL_PAUSE);
  }
  stop() {
    clearInterval(this.playing);
    this.playing = 0;
    at("play").setAttribute("aria-pressed", "false");
  }
  /** @param {Event} event */
  goTo(event) {
    event.preventDefault();
    const name =
      new FormData(/** @type {HTMLFormElement} */ (event.target)).get("ball")?.toString().trim() ?? "";
    const ball = this.named(name);
    if (ball) this.choose({ ball });
  }
  /** Returns the number of the ball with this number or label. Shows a message unless exactly one matches.
   * @param {string} name */
  named(name) {
    const balls = this.innings?.balls ?? [];
    const found = balls.filter((ball) => ball.label === name || String(ball.index) === name);
    if (found.length === 1) return found[0].index;
    if (found.length) toast(`${name} is the label of ${found.length} balls; enter a ball number instead`);
    else toast(`there is no ball ${name || "without a name"}; enter 1 to ${balls.length}`);
    return undefined;
  }
  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event) || !this.innings) return;
    if (document.querySelector("dialog[open]")) return;
    const { ball, number, head } = this.state;
    const step = event.shiftKey ? 6 : 1;
    /** @type {Record<string, number>} */
    const moves = { ArrowLeft: ball - step, ArrowRight: ball + step, Home: 1, End: this.innings.count };
    const isButton = /^(BUTTON|SUMMARY|A)$/.test(/** @type {Element} */ (event.target).tagName);
    if (event.key in moves) {
      event.preventDefault();
      this.choose({ ball: moves[event.key] });
    } else if (event.key === " " && !isButton) {
      event.preventDefault();
      this.play();
    } else if (event.key === "[" || event.key === "]") {
      const sides = this.sides().map((side) => side.number);
      const next = sides[sides.indexOf(number) + (event.key === "[" ? -1 : 1)];
      if (next) this.other({ number: next });
    } else if (event.key === "Escape" && head) this.choose({ head: null });
    else if (event.key === "h") {
      const order = this.innings.heads.map(({ id }, at) => ({
        id,
        carries: this.innings?.carries(at, ball - 1) ?? 0,
      }));
      order.sort((one, other) => other.carries - one.carries);
      this.choose({ head: order[(order.findIndex(({ id }) => id === head) + 1) % order.length].id });
    } else if (event.key === "c") {
      const claims = /** @type {HTMLDetailsElement} */ (at("claims"));
      claims.open = !claims.open;
      if (claims.open) claims.scrollIntoView();
    }
  }

  // ---- What if: the URL contains the question of the form; the answer is HTML from the server.
  /** @param {Record<string, string>} asked */
  refill(asked) {
    const form = /** @type {HTMLFormElement} */ (at("what-if-form"));
    const [ball, outcome] = (asked.was ?? "").split(":");
    for (const [name, value] of Object.entries({ ...asked, ball, outcome })) {
      const field = /** @type {HTMLInputElement | null} */ (form.elements.namedItem(name));
      if (field && value) field.value = value;
    }
    form.requestSubmit();
  }
  /** @param {SubmitEvent} event */
  async ask(event) {
    event.preventDefault();
    const form = Object.fromEntries(new FormData(/** @type {HTMLFormElement} */ (event.target)));
    const { ball, outcome, ...others } = /** @type {Record<string, string>} */ (form);
    const asked = { ...others, was: ball ? `${ball}:${outcome}` : "" };
    const given = Object.entries(asked).filter(([, value]) => value.trim());
    this.state.whatIf = given.length ? Object.fromEntries(given) : null;
    this.remember("replace");
    const body = JSON.stringify({ ...others, balls: ball ? { [ball]: outcome } : {} });
    const shown = at("what-if-answer");
    const address = () => `/ask${this.data(this.state.ball, "what-if")}`;
    const url = address();
    shown.replaceChildren(el("p", { class: "loading" }, "computing the answer"));
    try {
      const answer = await post(url, body, "application/json");
      if (url === address()) shown.innerHTML = answer.html;
    } catch (error) {
      if (url === address()) shown.replaceChildren(trouble(/** @type {Error} */ (error).message));
    }
  }
}
