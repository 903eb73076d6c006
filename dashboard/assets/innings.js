// One innings as the server sent it, with every ball's numbers at hand.
import { bytes, floats, get } from "./core.js";

export const OUTCOMES = ["0", "1", "2", "3", "4", "5", "6", "W", "wd", "nb", "bye"];
export const OUTCOME_NAMES = [
  "dot ball",
  "single",
  "two runs",
  "three runs",
  "four",
  "five runs",
  "six",
  "wicket",
  "wide",
  "no-ball",
  "byes or leg byes",
];
/** @typedef {{ index: number, label: string, over: number, outcome: string, runs: number,
 *   boundary: boolean, text: string }} Ball */
/** @typedef {{ scale: string, number: number, id: string, name: string, key: string,
 *   earned: string, about: string }} Head */
/** @typedef {{ places: number, cells: Uint8Array, most: Float32Array, own: Float32Array }} Weights */
const WIDEST = 120; // rows of a map: of a longer past the last ones

/** @param {string} key @param {number} number @param {string} query */
export async function innings(key, number, query) {
  const url = `/data/${encodeURIComponent(key)}/${number}/balls.json${query}`;
  return new Innings(await get(url), number);
}

export class Innings {
  /** @param {any} document @param {number} number */
  constructor(document, number) {
    this.number = number;
    /** @type {Ball[]} */
    this.balls = document.balls;
    this.count = this.balls.length;
    /** @type {string[]} what the score bar shows of each ball, as HTML */
    this.scores = document.scores;
    /** @type {string[]} the outcome that each ball's page is about */
    this.subjects = document.subjects;
    /** @type {Head[]} */
    this.heads = document.heads;
    this.carried = floats(document.carries);
    this.probabilities = floats(document.probabilities);
    this.usual = floats(document.usual);
    const total = { cells: bytes(document.total.cells), most: floats(document.total.most) };
    this.total = { ...total, places: total.cells.length / this.count };
    /** @type {Record<string, Weights>} */
    this.weights = {};
    for (const [scale, packed] of Object.entries(document.attention))
      this.weights[scale] = {
        places: packed.places,
        cells: bytes(packed.cells),
        most: floats(packed.most),
        own: floats(packed.own),
      };
  }
  /** Of the outcomes. @param {"probabilities" | "usual"} name @param {number} ball from 0 */
  chances(name, ball) {
    return this[name].subarray(ball * OUTCOMES.length, (ball + 1) * OUTCOMES.length);
  }
  /** The part of what the past does to a ball that goes through a head. @param {number} head
   * @param {number} ball */
  carries(head, ball) {
    return this.carried[head * this.count + ball];
  }
  /** Attention over all heads that a ball pays an earlier one. @param {number} ball
   * @param {number} past */
  attention(ball, past) {
    const { cells, most, places } = this.total;
    const distance = ball - past;
    return distance > 0 && distance <= places ? (cells[ball * places + distance - 1] * most[ball]) / 255 : 0;
  }
  /** What a head's map shows at a ball: its rows are balls; its columns balls, or overs.
   * @param {Head} head @param {number} ball */
  map(head, ball) {
    const { places, cells, most, own } = this.weights[head.scale];
    const over = (/** @type {number} */ at) => this.balls[at].over;
    const byOver = head.scale === "long";
    const start = Math.max(0, ball - Math.min(places, WIDEST - 1));
    /** @type {number[]} */
    let rows = Array.from({ length: ball - start + 1 }, (_, row) => start + row);
    let columns = rows;
    if (byOver) {
      // A row is the last ball of an over.
      rows = [...Array(ball).keys()].filter((at) => over(at) !== over(at + 1)).concat(ball);
      columns = Array.from({ length: over(ball) + 1 }, (_, column) => column);
    }
    const weight = (/** @type {number} */ row, /** @type {number} */ column) => {
      const [query, key] = [rows[row], columns[column]];
      const line = head.number * this.count + query;
      const last = byOver ? over(query) : query;
      if (key > last) return -1;
      if (key === last) return own[line];
      const place = byOver ? key : query - key - 1;
      return place < places ? (cells[line * places + place] * most[line]) / 255 : -1;
    };
    const name = (/** @type {number} */ column) =>
      byOver ? `over ${this.overName(columns[column])}` : this.balls[columns[column]].text;
    return { rows, columns, weight, name };
  }
  /** An over as the file numbers it. @param {number} over */
  overName(over) {
    return this.balls.find((ball) => ball.over === over)?.label.split(".")[0] ?? String(over);
  }
}
