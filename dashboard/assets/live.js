// A match in progress: the page loads new balls automatically and shows the forecast of the next ball.
import { at, el, get, percent } from "./core.js";
import { OUTCOME_NAMES, OUTCOMES } from "./innings.js";

/** @typedef {{ number: number, balls: number, batting: string }} Side */
/** @typedef {import("./ball.js").Page} Page */
const POLL_PAUSE = 1000; // milliseconds
const SILENT = 3; // number of failed polls after which the page says that the server does not answer
const SHOWN = ["0", "1", "2", "4", "6", "W"];

/** Polls for new balls until the user leaves the page. @param {Page} page @param {AbortSignal} leave
 * @param {(isGrown: boolean) => void} onChange */
export function follow(page, leave, onChange) {
  const balls = (/** @type {Page["summary"]} */ match) =>
    match.innings.reduce((sum, side) => sum + side.balls, 0);
  let silent = 0;
  const look = async () => {
    const options = { cache: /** @type {const} */ ("no-store"), signal: leave };
    const live = await fetch(`/live/${encodeURIComponent(page.key)}.json`, options)
      .then((answer) => (answer.ok ? answer.json() : null))
      .catch(() => null);
    if (leave.aborted) return;
    silent = live ? 0 : silent + 1;
    if (live) page.asOf = live.as_of;
    if (live || silent >= SILENT) showState(page, live ? live.trouble : "the server does not answer");
    // The version differs but need not be larger: a restarted server counts from the beginning.
    if (!live || live.version === page.version || !balls(live.summary)) return;
    const isGrown = balls(live.summary) > balls(page.summary);
    Object.assign(page, { version: live.version, summary: live.summary });
    onChange(isGrown);
  };
  const timer = setInterval(look, POLL_PAUSE);
  leave.addEventListener("abort", () => clearInterval(timer));
  look();
}
/** Shows when the data was last updated, and what has gone wrong since then.
 * @param {Page} page @param {string | null} wrong */
function showState(page, wrong) {
  const when = page.asOf ? new Date(1000 * page.asOf).toLocaleTimeString([], { hour12: false }) : "the start";
  const words = wrong
    ? `Not updated since ${when}: ${wrong}; updates resume when this is resolved`
    : `Live; last change at ${when}`;
  if (at("live").textContent === words) return;
  at("live").className = wrong ? "trouble" : "quiet";
  at("live").textContent = words;
}
/** Shows the forecast probability of the last outcome, and the forecast of the next ball. @param {Page} page
 * @param {import("./innings.js").Innings} innings @param {string} query */
export async function showNext(page, innings, query) {
  const last = innings.balls[innings.count - 1];
  const chance = innings.chances("probabilities", innings.count - 1)[OUTCOMES.indexOf(last.outcome)];
  at("next").replaceChildren(el("b", {}, "Last "), `${last.text}: its probability was ${percent(chance)}. `);
  const next = await get(`/data/${encodeURIComponent(page.key)}/next.json${query}`);
  /** @type {{ outcome: string, probability: number }[]} */
  const rows = (next.outcomes ?? []).filter((/** @type {any} */ row) => SHOWN.includes(row.outcome));
  const name = (/** @type {string} */ outcome) => OUTCOME_NAMES[OUTCOMES.indexOf(outcome)];
  const chances = rows.map((row) => `${name(row.outcome)} ${percent(row.probability)}`).join(" · ");
  const who = next.waiting ?? `${next.bowler} to ${next.batter}: ${chances}`;
  document.getElementById("next")?.append(el("b", {}, `Next ${next.label ?? ""} `), who);
}
