// The data of one innings: every ball, its probabilities and the attention weights of all heads.
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
const WIDEST = 120; // the maximum number of rows of a map, which then shows the last rows

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
    /** @type {string[]} the HTML of the score bar before each ball */
    this.scores = document.scores;
    /** @type {string[]} the explained outcome of each ball */
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
  /** Returns the probability of each outcome. @param {"probabilities" | "usual"} name
   * @param {number} ball from 0 */
  chances(name, ball) {
    return this[name].subarray(ball * OUTCOMES.length, (ball + 1) * OUTCOMES.length);
  }
  /** Returns the head's share, 0 to 1, of the total effect of hiding the past balls. @param {number} head
   * @param {number} ball */
  carries(head, ball) {
    return this.carried[head * this.count + ball];
  }
  /** Returns the attention of a ball to an earlier ball, over all heads. @param {number} ball
   * @param {number} past */
  attention(ball, past) {
    const { cells, most, places } = this.total;
    const distance = ball - past;
    return distance > 0 && distance <= places ? (cells[ball * places + distance - 1] * most[ball]) / 255 : 0;
  }
  /** Returns the map of a head up to a ball: the rows are balls, the columns are balls or overs.
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
      // Each row is the last ball of an over; the last row is the chosen ball.
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
  /** Returns the number that the match file gives to an over. @param {number} over */
  overName(over) {
    return this.balls.find((ball) => ball.over === over)?.label.split(".")[0] ?? String(over);
  }
}
