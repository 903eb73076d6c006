// All heads as square maps, sorted by their share of the effect of hiding the past balls.
import { at, button, el, percent, tip } from "./core.js";
import { blues, cellUnder, clamp, moved, paintMap, pixels, shade } from "./heat_maps.js";

/** @typedef {import("./innings.js").Innings} Innings */
/** @typedef {import("./innings.js").Head} Head */
/** @typedef {ReturnType<Innings["map"]>} HeadMap */
const DARKEST = 0.5; // the attention weight with the darkest shade, the same in all maps
const STRONGEST = 8;

/** @param {HTMLCanvasElement} canvas @param {HeadMap} map @param {Uint32Array} palette */
function draw(canvas, map, palette) {
  paintMap(canvas, {
    rows: map.rows.length,
    columns: map.columns.length,
    palette: () => palette,
    shade: (row, column) => {
      const weight = map.weight(row, column);
      return weight < 0 ? -1 : shade(weight, DARKEST);
    },
  });
}
const canvasOf = () => el("canvas", { "aria-hidden": "true" });

export class Heads {
  /** @param {Innings} innings @param {(head: number | null) => void} choose */
  constructor(innings, choose) {
    this.innings = innings;
    this.choose = choose;
    this.ball = 0;
    /** @type {number | null} */
    this.chosen = null;
    this.cell = { row: 0, column: 0 };
    this.cards = innings.heads.map((head, number) => this.card(head, number));
    this.large = canvasOf();
    this.figure = el(
      "div",
      {
        id: "head-map",
        tabindex: 0,
        role: "application",
        "aria-label": "Heat map of the head. Arrow keys choose the cell to read out.",
      },
      this.large,
      el("i", { class: "cell" }),
    );
    this.figure.addEventListener("click", (event) => this.read(...this.under(event)));
    this.figure.addEventListener("keydown", (event) => {
      const step = moved(event);
      if (step) this.read(this.cell.row + step[0], this.cell.column + step[1]);
    });
    tip(this.large, (event) => this.words(this.map, ...this.under(event)));
    this.palette = pixels(blues());
    at("maps").replaceChildren(...this.cards.map(({ node }) => node));
  }
  /** Reads the colours again, because the theme has changed. */
  restyle() {
    this.palette = pixels(blues());
  }
  /** @param {Head} head @param {number} number */
  card(head, number) {
    const [canvas, share, lights] = [canvasOf(), el("b"), el("span", { class: "lights" })];
    const name = el("span", { class: "name" }, head.name, share);
    const node = button(null, () => this.choose(number), {
      class: "head",
      "data-head": head.id,
      title: head.about,
    });
    node.append(
      el("span", { class: "stage" }, canvas, lights),
      name,
      el("span", { class: "quiet" }, head.earned),
    );
    const card = { head, node, canvas, share, lights, map: this.innings.map(head, 0) };
    tip(canvas, (event) =>
      this.words(card.map, ...cellUnder(event, canvas, card.map.rows.length, card.map.columns.length)),
    );
    return card;
  }
  get map() {
    return this.cards[this.chosen ?? 0].map;
  }
  /** @param {MouseEvent} event @returns {[number, number]} */
  under(event) {
    return cellUnder(event, this.large, this.map.rows.length, this.map.columns.length);
  }
  /** Shows another ball. @param {number} ball @param {number | null} [chosen] the enlarged head */
  move(ball, chosen = this.chosen) {
    this.ball = ball;
    this.cards.forEach((card, number) => {
      card.map = this.innings.map(card.head, ball);
      const carried = this.innings.carries(number, ball);
      card.share.textContent = percent(carried);
      card.node.style.order = String(-Math.round(1e4 * carried));
    });
    this.enlarge(chosen);
  }
  /** Shows one head enlarged, or all heads if `number` is null. @param {number | null} number */
  enlarge(number) {
    const before = this.chosen;
    this.chosen = number;
    at("maps").hidden = number !== null;
    at("head").hidden = number === null;
    if (number === null) {
      for (const card of this.cards) draw(card.canvas, card.map, this.palette);
      if (before !== null) this.cards[before].node.focus({ preventScroll: true });
      return;
    }
    const { head, map } = this.cards[number];
    const row = map.rows.length - 1;
    draw(this.large, map, this.palette);
    const strongest = map.columns
      .map((_, column) => ({ column, weight: map.weight(row, column) }))
      .filter(({ weight, column }) => weight > 0 && column < map.columns.length - 1)
      .sort((one, other) => other.weight - one.weight)
      .slice(0, STRONGEST)
      .map(({ column, weight }) => el("li", {}, el("b", {}, percent(weight, true)), ` ${map.name(column)}`));
    const own = map.weight(row, map.columns.length - 1);
    const elsewhere = head.scale === "whole" ? "on no ball" : "on the ball itself";
    const past = `${percent(1 - own)} of its attention is on past balls, ${percent(own)} ${elsewhere}. `;
    const carries = percent(this.innings.carries(number, this.ball));
    const carried = `Its share of the effect of past balls is ${carries}.`;
    at("head").replaceChildren(
      el(
        "div",
        { class: "head-text" },
        el("h3", {}, head.name, el("small", {}, ` ${head.earned}`)),
        button("×", () => this.choose(null), { class: "close", "aria-label": "Close the enlarged head" }),
        el("p", {}, past, carried),
        el("p", { class: "quiet" }, head.about),
        strongest.length
          ? el("ol", { class: "strongest" }, strongest)
          : el("p", {}, "There is no past ball to look at."),
      ),
      el("div", {}, this.figure, el("p", { id: "cell", class: "quiet", role: "status" }, "")),
    );
    if (before !== number) this.cell = { row, column: Math.max(0, row - 1) };
    this.mark();
  }
  /** @param {HeadMap} map @param {number} row @param {number} column */
  words(map, row, column) {
    const weight = map.weight(row, column);
    const key =
      column === map.columns.length - 1 && row === map.rows.length - 1 ? "itself" : map.name(column);
    const share = weight < 0 ? "not seen" : percent(weight, true);
    return `ball ${this.innings.balls[map.rows[row]].label} looks at ${key}: ${share}`;
  }
  /** Marks a cell of the enlarged map, and shows its weight as text.
   * @param {number} row @param {number} column */
  read(row, column) {
    this.cell = { row, column };
    this.mark();
    at("cell").textContent = this.words(this.map, this.cell.row, this.cell.column);
  }
  mark() {
    const [rows, columns] = [this.map.rows.length, this.map.columns.length];
    this.cell = { row: clamp(this.cell.row, 0, rows - 1), column: clamp(this.cell.column, 0, columns - 1) };
    const mark = /** @type {HTMLElement} */ (this.figure.lastElementChild);
    const [wide, high] = [100 / columns, 100 / rows];
    const corner = `left:${this.cell.column * wide}%;top:${this.cell.row * high}%`;
    mark.style.cssText = `${corner};width:${wide}%;height:${high}%`;
  }
  /** Marks the columns of some balls, in all maps or in the map of one head.
   * @param {number[]} indices from 1 @param {string | null} only the key of a head; null for all heads
   * @param {string | null} scale */
  light(indices, only, scale) {
    for (const { head, map, lights } of this.cards) {
      const isMeant = !only || (head.key === only && head.scale === scale);
      const balls = new Set(
        head.scale === "long"
          ? indices.map((index) => this.innings.balls[index - 1]?.over)
          : indices.map((i) => i - 1),
      );
      const wide = 100 / map.columns.length;
      lights.replaceChildren(
        ...map.columns.flatMap((key, column) =>
          isMeant && balls.has(key) ? el("i", { style: `left:${column * wide}%;width:${wide}%` }) : [],
        ),
      );
    }
  }
}
