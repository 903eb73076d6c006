"""How well the value of states tells who wins, on matches it has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from attnlens.cricket.lab.baselines import state_models
from attnlens.cricket.lab.evaluation import (
    DRAWS,
    SEED,
    Close,
    add_calibration,
    add_title,
    reliability,
)
from attnlens.cricket.lab.figures import Estimate
from attnlens.cricket.lab.held_out import HeldOut, last_day, sides
from attnlens.cricket.lab.win_fit import WinRows, win_rows
from attnlens.cricket.match.competition import KINDS, competition_of, table_of
from attnlens.cricket.match.match import Innings, Match
from attnlens.cricket.predictor.win import Contest, innings_values, is_revised, won
from attnlens.cricket.readers import Report, silent
from attnlens.errors import InputError, count
from attnlens.evidence.scores import SMALLEST, Bootstrap, calibration_gap, equal_bins, log_odds
from attnlens.files import Flags, Floats, Json
from attnlens.render.canvas import Cell, Page, Words, add_table, terminal_page
from attnlens.render.numbers import interval

_IPL: Final = "Indian Premier League"
_SLOPE_DRAWS: Final = 200
_NEWTON_STEPS: Final = 15
_MIN_CHASES: Final = 20
"""Fewer matches have no slope."""


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedStates:
    """The state before every ball of the evaluated matches that somebody won.

    Attributes:
        rows: the states, and who won; see `attnlens.cricket.lab.win_fit.WinRows`.
        probabilities: that the batting side wins, before the ball ``(balls,)``.
        in_range: whether a first innings' total was in its projected range ``(balls,)``; NaN in a
            chase.
        kinds: the kind of each match ``(matches,)``.
        jumps: by how much the value moved between the innings, ``(matches,)``; NaN where the
            target was revised or the chase has no value.
        moves: by how much it moved between balls within innings, ``(matches,)``.
        left_out: matches that nobody won, or that rain decided.
    """

    rows: WinRows
    probabilities: Floats
    in_range: Floats
    kinds: tuple[str, ...]
    jumps: Floats
    moves: Floats
    left_out: int


def kind_of(match: Match) -> str:
    """The row of the table in which a match counts."""
    if competition_of(match) == _IPL:
        return "IPL"
    names = {0: KINDS[0], 1: "other leagues"}
    return names.get(table_of(match), "women's")


def evaluate_states(held: HeldOut, report: Report = silent) -> EvaluatedStates:
    """Ask the model who is winning before every ball, with the form of each match's date.

    Raises:
        InputError: the checkpoint knows no value of states, or no evaluated match has a winner.
    """
    win = held.predictor.win
    if win is None:
        raise InputError("this checkpoint has no value of states", remedy="train it again")
    contests: list[tuple[Match, Innings, Contest]] = []
    probabilities: list[Floats] = []
    in_range: list[Floats] = []
    kinds: list[str] = []
    jumps: list[float] = []
    moves: list[float] = []
    for match, ratings in held.ratings(report):
        innings = [(side, innings_values(win, ratings.form, match, side)) for side in sides(match)]
        valued = [(side, values) for side, values in innings if values is not None]
        if not valued or won(match, match.innings[0].batting_team) is None:
            continue
        for side, values in valued:
            contests.append((match, side, values.contest))
            probabilities.append(values.before)
            projected = win.projected(values.contest, values.states)
            inside = (projected.low <= side.total) & (side.total <= projected.high)
            in_range.append(np.where(values.contest.chase, np.nan, inside))
        kinds.append(kind_of(match))
        ends = [values for _, values in valued]
        whole = len(ends) == 2 and not is_revised(match)
        jumps.append(1 - ends[0].actual[-1] - ends[1].before[0] if whole else np.nan)
        moves.append(sum(np.abs(each.before[1:] - each.actual[:-1]).sum() for each in ends))
    rows = win_rows(contests)
    if not rows:
        raise InputError("no evaluated match has a winner that its state decided")
    left_out = len(held.matches) - len(kinds)
    return EvaluatedStates(
        rows,
        np.concatenate(probabilities),
        np.concatenate(in_range),
        tuple(kinds),
        np.array(jumps),
        np.array(moves),
        left_out,
    )


def win_evaluation(
    held: HeldOut, states: EvaluatedStates, baselines: Sequence[str], report: Report = silent
) -> Json:
    """The document of ``attnlens lab evaluate --win``.

    ``kinds`` has a row for each kind of match and one for all. Brier of the batting side's
    probability; expected calibration error; ``differences``: the model's Brier less that of a
    model of the state alone; ``coverage``: share of first innings' totals in the projected range,
    by ball. At the end of first innings, for the side that batted: ``slope`` of who won on the
    log-odds, and ``excess``: mean probability minus share of wins. ``jump``: mean absolute move
    between the innings; ``moves``: between balls, summed over an innings.

    Args:
        baselines: of ``logistic`` and ``boosted_trees``.
    """
    others, left_out = state_models(held, states.rows, baselines, report)
    match = states.rows["match"].astype(np.int64)
    groups = {"all": np.ones(len(states.kinds), bool)}
    for kind in dict.fromkeys(states.kinds):
        groups[kind] = np.array([each == kind for each in states.kinds])
    label = states.rows["won"]
    return {
        "balls": len(label),
        "matches": len(states.kinds),
        "left_out": states.left_out,
        "dates": dict(zip(("first", "last"), held.dates, strict=True)),
        "checkpoint": held.checkpoint,
        "notes": (
            *held.notes,
            *_fitted_note(held),
            *(f"left out {name}: {reason}" for name, reason in left_out.items()),
        ),
        "kinds": {kind: _figures(states, chosen, others) for kind, chosen in groups.items()},
        "reliability": reliability(
            states.probabilities,
            label,
            equal_bins(states.probabilities, 10),
            Bootstrap(match, draws=DRAWS, seed=SEED),
        ),
    }


def _fitted_note(held: HeldOut) -> tuple[str, ...]:
    """That the value of states was fitted on some of the matches."""
    until = held.predictor.date("win_until")
    days = [day for match in held.matches if (day := last_day(match)) is not None]
    inside = sum(until is not None and day <= until for day in days)
    return (f"the value of states was fitted on {inside} of the matches",) if inside else ()


def _figures(states: EvaluatedStates, chosen: Flags, others: Mapping[str, Floats]) -> Json:
    """The figures of some matches ``(matches,)``."""
    every = states.rows["match"].astype(np.int64)
    balls = chosen[every]
    match = np.unique(every[balls], return_inverse=True)[1].astype(np.int64)
    bootstrap = Bootstrap(match, draws=DRAWS, seed=SEED)
    probs, label = states.probabilities[balls], states.rows["won"][balls]
    chase = states.rows["chase"][balls] > 0
    squares = (probs - label) ** 2
    starts = chase & np.append(True, (np.diff(match) != 0) | ~chase[:-1])
    defended, came = 1 - probs[starts], 1 - label[starts]
    return {
        "matches": int(chosen.sum()),
        "balls": len(label),
        "brier": Estimate.resampled(squares, bootstrap),
        "first_innings": Estimate.resampled(squares, bootstrap, ~chase),
        "chases": Estimate.resampled(squares, bootstrap, chase),
        "ece": calibration_gap(probs, label, equal_bins(probs)),
        "differences": {
            name: Estimate.resampled(squares - (other[balls] - label) ** 2, bootstrap)
            for name, other in others.items()
        },
        "slope": _slope(defended, came),
        "excess": Estimate.resampled(
            defended - came, Bootstrap(np.arange(len(came)), draws=DRAWS, seed=SEED)
        ),
        "coverage": Estimate.resampled(states.in_range[balls][~chase], Bootstrap(match[~chase])),
        "jump": _mean(np.abs(states.jumps[chosen])),
        "moves": _mean(states.moves[chosen] / 2),
    }


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _slope(probs: Floats, came: Floats) -> Estimate:
    """Of who won on the log-odds of it, with an interval over matches."""
    if len(came) < _MIN_CHASES:
        return Estimate(None, None)
    odds = log_odds(probs.clip(SMALLEST, 1 - SMALLEST)[:, None], [0])
    generator = np.random.default_rng(SEED)
    draws = generator.integers(len(came), size=(_SLOPE_DRAWS, len(came)))
    slopes = [_logistic_slope(odds[rows], came[rows]) for rows in (np.arange(len(came)), *draws)]
    low, high = np.quantile(slopes[1:], [0.025, 0.975])
    return Estimate(slopes[0], (float(low), float(high)))


def _logistic_slope(odds: Floats, came: Floats) -> float:
    """By Newton's method."""
    columns, weights = np.stack([np.ones_like(odds), odds], 1), np.zeros(2)
    for _ in range(_NEWTON_STEPS):
        values = 1 / (1 + np.exp(-columns @ weights))
        hessian = (columns.T * (values * (1 - values))) @ columns + 1e-6 * np.eye(2)
        weights = weights + np.linalg.solve(hessian, columns.T @ (came - values))
    return float(weights[1])


@terminal_page(min_width=64)
def render_winning(page: Page, document: Json) -> None:
    """The document of `win_evaluation`."""
    add_title(page, document, "who wins, by {name}, before {balls} of {matches}, {first} to {last}")
    if document["left_out"]:
        left = count(document["left_out"], "match", "matches")
        page.paragraph(f"{left} without a winner, or decided by rain, left out", "quiet", indent=0)
    for note in document["notes"]:
        page.flag(note)
    kinds = document["kinds"]
    names = {name: name.replace("_", " ") for name in kinds["all"]["differences"]}
    rows: list[list[Cell]] = [
        [(kind, "name"), f"{part['matches']:,}", *part["brier"].cells(4), f"{part['ece']:.3f}"]
        + [cell for name in names for cell in part["differences"][name].cells(4, sign="+")]
        for kind, part in kinds.items()
    ]
    heads = ["matches", "Brier", "", "ECE"]
    heads += [head for name in names.values() for head in (f"minus {name}", "")]
    page.blank()
    add_table(page, [Words(min_width=10), *map(Close, heads)], rows)
    page.blank()
    page.paragraph("at the end of first innings, the side that batted", "heading", indent=0)
    rows = [
        [(kind, "name"), *part["slope"].cells(2), *_points(part["excess"]), *_others(part)]
        for kind, part in kinds.items()
    ]
    heads = ["slope", "", "said minus came", "", "in 80% range", "jump", "moves"]
    add_table(page, [Words(min_width=10), *map(Close, heads)], rows)
    page.blank()
    add_calibration(page, "calibration", document["reliability"])
    page.paragraph(
        "Points are of 100. Jump: between the innings; moves: between balls, an innings. Brackets "
        "hold 95% of resamples of whole matches.",
        "quiet",
        indent=0,
    )


def _points(estimate: Estimate) -> tuple[str, str]:
    if estimate.value is None:
        return "", ""
    return f"{100 * estimate.value:+.1f}", interval(estimate.ci, 1, scale=100, sign="+")


def _others(part: Json) -> tuple[str, ...]:
    coverage = part["coverage"].value
    gaps = part["jump"], part["moves"]
    return (
        "" if coverage is None else f"{coverage:.1%}",
        *("" if gap is None else f"{100 * gap:.4f}" for gap in gaps),
    )
