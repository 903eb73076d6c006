"""The value of states, fitted on how matches ended."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Final

import numpy as np

from attnlens.cricket.lab.held_out import sides
from attnlens.cricket.match.match import OUTCOME_INDEX, Innings, Match
from attnlens.cricket.match.results import RESULT
from attnlens.cricket.predictor.day_tables import summary_of
from attnlens.cricket.predictor.form import Form
from attnlens.cricket.predictor.ratings import by_date
from attnlens.cricket.predictor.tensors import BaseModel
from attnlens.cricket.predictor.trained import TrainedPredictor, distinct_matches
from attnlens.cricket.predictor.win import (
    N_BRINGING,
    N_QUANTILES,
    N_RISING,
    Contest,
    States,
    WinModel,
    chase_features,
    contest_of,
    remaining_features,
    states_before,
    variance_features,
    won,
)
from attnlens.cricket.readers import Report, silent
from attnlens.errors import InputError
from attnlens.files import Flags, Floats, Floats32

_HALF_LIFE: Final = 6 * 365.25
"""Days after which a match counts half in the value of states."""

_RIDGE: Final = 20.0
_NEWTON_STEPS: Final = 15
_SWEEPS: Final = 3000
_TOLERANCE: Final = 1e-5
_ROWS_AT_ONCE: Final = 200_000
_REWEIGHTINGS: Final = 3


WinRows = dict[str, Floats]
"""States before every ball of decided matches, columns ``(rows,)`` by name; nothing of none.

``chase``: whether the side bats second; ``score``, ``left``, ``wickets``: the state; ``quota`` and
``target``: what is played for; ``total``: what the innings came to; ``level``, ``batting``,
``bowling``: `attnlens.cricket.predictor.form.PreMatch`; ``won``: by the batting side, a half for a
tie; ``day``: of the match, as an ordinal; ``match``: its number.
"""


def dated_contests(
    matches: Iterable[Match], base: BaseModel
) -> Iterator[tuple[Match, Innings, Contest]]:
    """Every innings whose states have a value, with the form of the days before its match."""
    form = Form()
    for day, played in by_date(matches):
        summaries = []
        for match in played:
            lessons = []
            for side in sides(match):
                contest = contest_of(match, side, form)
                if contest is not None:
                    yield match, side, contest
                outcomes = np.array([OUTCOME_INDEX[ball.outcome] for ball in side.deliveries])
                lessons.append((side, base.of_innings(match, side), outcomes))
            summaries.append(summary_of(match, lessons))
        form.learn_day(day, summaries)


def win_rows(contests: Iterable[tuple[Match, Innings, Contest]]) -> WinRows:
    """The rows of innings of matches that somebody won or that were tied; others are left out."""
    parts: list[WinRows] = []
    numbers: dict[str, int] = {}
    for match, side, contest in contests:
        label = won(match, side.batting_team)
        if label is None:
            continue
        states = states_before(side, contest.quota)
        same = {
            "chase": contest.chase,
            "quota": contest.quota,
            "target": contest.target,
            "total": side.total,
            **asdict(contest.form),
            "won": label,
            "day": 0 if match.date is None else match.date.toordinal(),
            "match": numbers.setdefault(match.match_id, len(numbers)),
        }
        columns = {name: np.full(len(states.score), float(value)) for name, value in same.items()}
        parts.append(columns | {name: getattr(states, name) for name in States.__slots__})
    names = parts[0] if parts else ()
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def fit_win(
    rows: WinRows, last_over: Floats | None = None, *, report: Report = silent
) -> WinModel | None:
    """The value of states, fitted on all rows; ``None`` without first innings or chases."""
    second = rows["chase"] > 0 if rows else np.zeros(0, bool)
    if second.all() or not second.any():
        return None
    weights = 0.5 ** ((rows["day"].max() - rows["day"]) / _HALF_LIFE)

    def columns(chosen: Flags, *names: str) -> list[Floats]:
        return [rows[name][chosen] for name in names]

    report(f"value of states: {second.sum()} balls of chases")
    target, score = columns(second, "target", "score")
    state = columns(second, "left", "wickets", "quota", "target", "level", "batting", "bowling")
    features = _in_parts(chase_features, [target - score, score, *state])
    chase = _fit_logistic(features, rows["won"][second], weights[second], N_RISING)

    report(f"value of states: {(~second).sum()} balls of first innings")
    state = columns(~second, "score", "left", "wickets", "quota", "level", "batting")
    features = _in_parts(remaining_features, state).astype(float)
    spreads = variance_features(*columns(~second, "left", "wickets", "level", "batting"))
    more = rows["total"][~second] - rows["score"][~second]
    variance = np.maximum(rows["left"][~second], 1)
    for _ in range(_REWEIGHTINGS):
        counts = weights[~second] / variance
        ridge = 1e-3 * counts.mean() * np.eye(features.shape[1])
        gram = (features.T * counts) @ features + ridge
        start = np.linalg.solve(gram, features.T @ (counts * more)).clip(0)
        remaining = _minimise(gram, features.T @ (counts * more), start, N_BRINGING)
        misfit = more - np.maximum(features @ remaining, 0)
        counts = weights[~second] / variance**2
        spread = _minimise(
            (spreads.T * counts) @ spreads,
            spreads.T @ (counts * misfit**2),
            np.full(spreads.shape[1], 0.1),
            spreads.shape[1],
        )
        variance = np.maximum(spreads @ spread, 1)
    residuals = misfit / np.sqrt(variance)
    order = np.argsort(residuals)
    shares = np.cumsum(weights[~second][order]) / weights[~second].sum()
    levels = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    return WinModel(
        chase, remaining, spread, np.interp(levels, shares, residuals[order]), last_over
    )


def refit_win(
    predictor: TrainedPredictor,
    matches: Iterable[Match],
    until: datetime.date,
    report: Report = silent,
) -> TrainedPredictor:
    """The predictor with its value of states fitted again, on the matches up to a day.

    Raises:
        InputError: they hold no first innings or no chase of a match that somebody won.
    """
    fitted = [
        match
        for match in distinct_matches(matches)
        if match.dates
        and max(match.dates) <= until
        and not any(doubt.kind == RESULT for doubt in match.doubts)
    ]
    win = fit_win(
        win_rows(dated_contests(fitted, predictor.base)), predictor.base.last_over, report=report
    )
    if win is None:
        raise InputError(
            f"no match until {until} was won by play", remedy="give more matches or a later day"
        )
    return replace(predictor, win=win, card=predictor.card | {"win_until": until.isoformat()})


def _in_parts(make: Callable[..., Floats], columns: Sequence[Floats]) -> Floats32:
    """Features of many rows in single precision."""
    starts = range(0, len(columns[0]), _ROWS_AT_ONCE)
    parts = [make(*(column[at : at + _ROWS_AT_ONCE] for column in columns)) for at in starts]
    return np.concatenate([part.astype(np.float32) for part in parts])


def _fit_logistic(features: Floats32, won: Floats, counts: Floats, n_rising: int) -> Floats:
    """Weights of a logistic model, the first ``n_rising`` not negative.

    Newton's method on features of one scale with a ridge; each step is a quadratic programme.
    """
    scale = features.std(0)
    scale[scale == 0] = 1
    features = features / scale
    weights = np.zeros(features.shape[1])
    ridge = _RIDGE * np.eye(len(weights))
    for _ in range(_NEWTON_STEPS):
        values = 1 / (1 + np.exp(-(features @ weights.astype(np.float32)).astype(float)))
        curvature = np.maximum(counts * values * (1 - values), 1e-9).astype(np.float32)
        hessian = ((features.T * curvature) @ features).astype(float) + ridge
        gradient = features.T @ (counts * (won - values)).astype(np.float32)
        newer = _minimise(
            hessian, hessian @ weights + gradient - ridge @ weights, weights, n_rising
        )
        step = np.abs(newer - weights).max()
        weights = newer
        if step < _TOLERANCE:
            break
    fitted: Floats = weights / scale
    return fitted


def _minimise(hessian: Floats, linear: Floats, start: Floats, n_positive: int) -> Floats:
    """The weights that minimise ``w @ hessian @ w / 2 - linear @ w``, coordinate by coordinate.

    The first ``n_positive`` are not negative.
    """
    weights = start.copy()
    for _ in range(_SWEEPS):
        before = weights.copy()
        for at in range(len(weights)):
            value = weights[at] + (linear[at] - hessian[at] @ weights) / hessian[at, at]
            weights[at] = max(value, 0) if at < n_positive else value
        if np.abs(weights - before).max() < _TOLERANCE:
            break
    return weights
