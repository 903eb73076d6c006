// The innings ball by ball: runs, attention of the chosen ball, and the effect of each past ball.
import { el, percent, signed, svg, tip } from "./core.js";
import { clamp } from "./heat_maps.js";

/** @typedef {import("./innings.js").Innings} Innings */
/** @typedef {import("./innings.js").Ball} Ball */
const NARROW = 640; // pixels: a narrower timeline does not show the names of its tracks
const [LEFT, RIGHT, HEIGHT] = [92, 12, 222];
const RUNS = { top: 12, height: 62 }; // pixels
const ATTENTION = { top: 88, height: 50 };
const EFFECT = { middle: 172, height: 26 };
const MAX_RUNS = 6;
const LABEL = 26; // minimum distance between two labels of overs, in pixels

export class Timeline {
  /** @param {HTMLElement} box @param {Innings} innings
   * @param {(ball: number, isDragged: boolean) => void} choose called with a ball, from 0 */
  constructor(box, innings, choose) {
    const width = Math.max(280, Math.floor(box.clientWidth));
    this.innings = innings;
    this.left = width < NARROW ? 2 : LEFT;
    this.step = (width - this.left - RIGHT) / innings.count;
    this.root = svg("svg", {
      viewBox: `0 0 ${width} ${HEIGHT}`,
      role: "img",
      "aria-label": "The innings: runs, attention, and the effect of each past ball",
    });
    this.bar = Math.max(1, Math.min(this.step * 0.8, 12));
    const bar = this.bar;
    const row = (/** @type {string} */ kind, /** @type {number} */ y) =>
      innings.balls.map((_, at) =>
        svg("rect", { x: this.x(at) - bar / 2, width: bar, y, height: 0, class: kind }),
      );
    this.attention = row("attention", ATTENTION.top + ATTENTION.height);
    this.effects = row("", EFFECT.middle);
    this.lit = svg("g", { class: "lit" });
    this.cursor = svg("rect", { y: 2, height: HEIGHT - 20, width: Math.max(this.step, 4), class: "cursor" });
    this.later = svg("rect", { y: 2, height: RUNS.top + RUNS.height, class: "later" });
    const track = width - RIGHT;
    const rule = (/** @type {number} */ y) =>
      svg("line", { x1: this.left, x2: track, y1: y, y2: y, class: "rule" });
    this.subject = svg("tspan", { x: this.left - 10, dy: 15 });
    this.root.append(
      ...this.overs(),
      this.lit,
      this.cursor,
      rule(ATTENTION.top + ATTENTION.height),
      rule(EFFECT.middle),
      ...innings.balls.map((ball, at) => this.run(ball, at)),
      this.later,
      ...this.attention,
      ...this.effects,
      ...(width < NARROW ? [] : this.names()),
    );
    this.slider = el(
      "div",
      {
        class: "slider",
        tabindex: 0,
        role: "slider",
        "aria-label": "Ball",
        "aria-valuemin": 1,
        "aria-valuemax": innings.count,
      },
      this.root,
    );
    this.drag(choose);
    tip(this.slider, (event) => this.words(this.under(event)));
    box.replaceChildren(this.slider);
    this.ball = 0;
    /** @type {number[]} */
    this.points = [];
  }
  /** Returns the middle of a ball's column, in pixels. @param {number} at */
  x(at) {
    return this.left + (at + 0.5) * this.step;
  }
  /** @param {Ball} ball @param {number} at */
  run(ball, at) {
    const height = Math.max(3, (RUNS.height * Math.min(ball.runs, MAX_RUNS)) / MAX_RUNS);
    const foot = RUNS.top + RUNS.height;
    const shape = { x: this.x(at) - this.bar / 2, y: foot - height, width: this.bar, height };
    const bar = svg("rect", { ...shape, class: `run ${kindOf(ball)}` });
    if (ball.outcome !== "W") return bar;
    const mark = { cx: this.x(at), cy: RUNS.top + 5, r: clamp(this.step * 0.7, 3, 7), class: "out" };
    const stem = { x1: this.x(at), x2: this.x(at), y1: RUNS.top + 5, y2: foot, class: "stem" };
    return svg("g", {}, bar, svg("line", stem), svg("circle", mark));
  }
  overs() {
    const { balls, count } = this.innings;
    const first = balls.flatMap((ball, at) => (at && balls[at - 1].over === ball.over ? [] : at));
    const every = Math.ceil(LABEL / ((count * this.step) / Math.max(1, first.length)));
    return first.flatMap((at, number) => {
      const x = this.left + at * this.step;
      const name = { x: x + 3, y: HEIGHT - 4, class: "quiet" };
      const line = svg("line", { x1: x, x2: x, y1: 4, y2: HEIGHT - 18, class: "over" });
      return number % every ? [line] : [line, svg("text", name, balls[at].label.split(".")[0])];
    });
  }
  names() {
    const name = (/** @type {number} */ y, /** @type {any[]} */ ...words) =>
      svg("text", { x: this.left - 10, y, "text-anchor": "end" }, ...words);
    return [
      name(RUNS.top + 40, "runs"),
      name(ATTENTION.top + 34, "attention"),
      name(EFFECT.middle - 4, "effect on", this.subject),
      name(HEIGHT - 4, "over"),
    ];
  }
  /** Shows another ball. @param {number} ball */
  move(ball) {
    const { innings } = this;
    this.ball = ball;
    this.points = [];
    this.cursor.setAttribute("x", String(this.x(ball) - Math.max(this.step, 4) / 2));
    const later = this.x(ball) + this.step / 2;
    this.later.setAttribute("x", String(later));
    this.later.setAttribute("width", String((innings.count - ball - 1) * this.step));
    const shares = innings.balls.map((_, past) => innings.attention(ball, past));
    const most = Math.max(...shares, 1e-9);
    this.attention.forEach((bar, past) => {
      const height = (ATTENTION.height * shares[past]) / most;
      bar.setAttribute("height", String(height));
      bar.setAttribute("y", String(ATTENTION.top + ATTENTION.height - height));
    });
    for (const bar of this.effects) bar.setAttribute("height", "0");
    this.slider.setAttribute("aria-valuenow", String(ball + 1));
    this.slider.setAttribute("aria-valuetext", innings.balls[ball].text);
  }
  /** Draws the effect of each past ball on the explained outcome, in points.
   * @param {string} outcome
   * @param {{ index: number, effect_points: number | null }[]} past */
  addEffects(outcome, past) {
    this.subject.textContent = outcome;
    this.points = this.innings.balls.map(() => 0);
    for (const { index, effect_points } of past) this.points[index - 1] = effect_points ?? 0;
    const most = Math.max(...this.points.map(Math.abs), 1e-9);
    this.effects.forEach((bar, at) => {
      const height = (EFFECT.height * Math.abs(this.points[at])) / most;
      bar.setAttribute("class", this.points[at] > 0 ? "raises" : "lowers");
      bar.setAttribute("height", String(height));
      bar.setAttribute("y", String(EFFECT.middle - (this.points[at] > 0 ? height : 0)));
    });
  }
  /** @param {number[]} indices balls, from 1 */
  light(indices) {
    const box = (/** @type {number} */ index) =>
      svg("rect", { x: this.x(index - 1) - this.step / 2, y: 4, width: this.step, height: HEIGHT - 22 });
    this.lit.replaceChildren(...indices.filter((index) => index <= this.innings.count).map(box));
  }
  /** @param {number} at */
  words(at) {
    const share = this.innings.attention(this.ball, at);
    if (at >= this.ball) return this.innings.balls[at].text;
    const effect = this.points.length ? `, ${signed(this.points[at])} points` : "";
    return `${this.innings.balls[at].text}: ${percent(share)} of attention${effect}`;
  }
  /** @param {PointerEvent} event */
  under(event) {
    const box = this.root.getBoundingClientRect();
    const x = (event.clientX - box.left) * (this.root.viewBox.baseVal.width / box.width);
    return clamp(Math.floor((x - this.left) / this.step), 0, this.innings.count - 1);
  }
  /** @param {(ball: number, isDragged: boolean) => void} choose */
  drag(choose) {
    let isDragged = false;
    this.slider.addEventListener("pointerdown", (event) => {
      isDragged = true;
      this.slider.setPointerCapture(event.pointerId);
      choose(this.under(event), false);
    });
    this.slider.addEventListener("pointermove", (event) => {
      if (isDragged) choose(this.under(event), true);
    });
    for (const name of ["pointerup", "pointercancel"])
      this.slider.addEventListener(name, () => {
        isDragged = false;
      });
  }
}
/** @param {Ball} ball */
function kindOf(ball) {
  if (ball.outcome === "W") return "wicket";
  if (["wd", "nb", "bye"].includes(ball.outcome)) return "extra";
  return ball.boundary ? (ball.runs >= 6 ? "six" : "four") : "";
}
