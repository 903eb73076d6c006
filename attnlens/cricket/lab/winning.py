"""Fit the win model to the results of matches, and evaluate the model on other matches."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attnlens.cricket.lab.baselines import NO_TRAINING, last_weights_day, match_ids, why_not
from attnlens.cricket.lab.evaluation import DRAWS, SEED, add_calibration, reliability
from attnlens.cricket.lab.figures import Estimate, Figure, add_figures, add_title
from attnlens.cricket.lab.held_out import HeldOut, last_day, sides
from attnlens.cricket.match.competition import KINDS, competition_of, table_of
from attnlens.cricket.match.match import OUTCOME_INDEX, Innings, Match
from attnlens.cricket.match.witnesses import RESULT
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
    innings_values,
    is_revised,
    remaining_features,
    states_before,
    variance_features,
    won,
)
from attnlens.cricket.readers import Report, silent
from attnlens.errors import InputError, count
from attnlens.evidence.scores import SMALLEST, Bootstrap, calibration_gap, equal_bins, log_odds
from attnlens.files import Flags, Floats, Floats32, Json
from attnlens.render.canvas import Page, Words, terminal_page

_HALF_LIFE: Final = 6 * 365.25
"""The half-life of a match's weight in the fit, in days."""

_RIDGE: Final = 20.0
_NEWTON_STEPS: Final = 15
_SWEEPS: Final = 3000
_TOLERANCE: Final = 1e-5
_ROWS_AT_ONCE: Final = 200_000
_REWEIGHTINGS: Final = 3


WinRows = dict[str, Floats]
"""Named columns, with shape ``(rows,)``. Each row is the state of a match before one ball. Only
matches with a winner or a tie are included. These are the columns:

- ``chase``: 1 if the side bats second, 0 otherwise.
- ``score``, ``left``, ``wickets``: the runs so far, the legal balls left and the wickets in hand.
- ``quota``: the largest number of legal balls in the innings.
- ``target``: the runs that the side needs to win; 0 in a first innings.
- ``total``: the final total of the innings.
- ``level``, ``batting``, ``bowling``: as in `attnlens.cricket.predictor.form.PreMatch`.
- ``won``: 1 if the batting side won, 0 if it lost, 0.5 for a tie.
- ``day``: the day of the match, as a proleptic Gregorian ordinal.
- ``match``: the index of the match, counted from 0.
"""


def dated_contests(
    matches: Iterable[Match], base: BaseModel
) -> Iterator[tuple[Match, Innings, Contest]]:
    """For every innings with win probabilities, yield the match, the innings and the contest.

    The contest contains the form of the teams before the day of the match.
    """
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
    """Return the states before every ball of the matches that have a winner or a tie."""
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
    """Fit the win model, or return ``None`` if first innings or chases are missing."""
    second = rows["chase"] > 0 if rows else np.zeros(0, bool)
    if second.all() or not second.any():
        return None
    weights = 0.5 ** ((rows["day"].max() - rows["day"]) / _HALF_LIFE)

    def columns(chosen: Flags, *names: str) -> list[Floats]:
        return [rows[name][chosen] for name in names]

    report(f"fitting win probabilities in chases on {second.sum()} balls")
    target, score = columns(second, "target", "score")
    state = columns(second, "left", "wickets", "quota", "target", "level", "batting", "bowling")
    features = _in_parts(chase_features, [target - score, score, *state])
    chase = _fit_logistic(features, rows["won"][second], weights[second], N_RISING)

    report(f"fitting the remaining runs of first innings on {(~second).sum()} balls")
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
    """Return the predictor with a win model that was fitted on the matches up to a day.

    Raises:
        InputError: the matches with a winner or a tie lack first innings or chases.
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
            f"no match up to {until} was won by runs or wickets",
            remedy="give more matches or a later day",
        )
    return replace(predictor, win=win, card=predictor.card | {"win_until": until.isoformat()})


def _in_parts(make: Callable[..., Floats], columns: Sequence[Floats]) -> Floats32:
    starts = range(0, len(columns[0]), _ROWS_AT_ONCE)
    parts = [make(*(column[at : at + _ROWS_AT_ONCE] for column in columns)) for at in starts]
    return np.concatenate([part.astype(np.float32) for part in parts])


def _fit_logistic(features: Floats32, won: Floats, counts: Floats, n_rising: int) -> Floats:
    """Fit a logistic model, whose first ``n_rising`` weights are at least 0."""
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
    """Minimise ``w @ hessian @ w / 2 - linear @ w`` by coordinate descent and return the weights.

    The first ``n_positive`` weights are at least 0.
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


_IPL: Final = "Indian Premier League"
_SLOPE_DRAWS: Final = 200
_SLOPE_STEPS: Final = 15
_MIN_CHASES: Final = 20


MatchRows = dict[str, NDArray[Any]]
"""Named columns with shape ``(matches,)``. Each row is an evaluated match. These are the columns:

- ``kind``: the kind of match.
- ``jump``: the change of the win probability from the end of the first innings to the start of the
  chase. NaN if the target was revised, or if an innings has no win probability.
- ``moves``: the absolute change of the win probability from the end of a ball to the start of the
  next ball, summed over both innings.
"""


def kind_of(match: Match) -> str:
    """Return the kind of a match, as the name of a table row."""
    if competition_of(match) == _IPL:
        return "IPL"
    names = {0: KINDS[0], 1: "other leagues"}
    return names.get(table_of(match), "women's")


def evaluate_states(held: HeldOut, report: Report = silent) -> tuple[WinRows, MatchRows]:
    """Compute the win probability before every ball, from the teams' form before the match.

    Returns:
        The states before every ball, and the matches. Only evaluated matches that have a winner or
        a tie are included. The states have all columns of `WinRows`, and two further columns.
        ``probability`` is the win probability of the batting side. ``in_range`` is 1 if the
        projected range contained the first innings' total, 0 if not, and NaN in a chase.

    Raises:
        InputError: the checkpoint has no win model, or no evaluated match has a winner or a tie.
    """
    win = held.predictor.win
    if win is None:
        raise InputError("the checkpoint has no win probabilities", remedy="train it again")
    contests: list[tuple[Match, Innings, Contest]] = []
    forecasts: list[Floats] = []
    matches: list[tuple[str, float, float]] = []
    for match, ratings in held.ratings(report):
        innings = [(side, innings_values(win, ratings.form, match, side)) for side in sides(match)]
        valued = [(side, values) for side, values in innings if values is not None]
        if not valued or won(match, match.innings[0].batting_team) is None:
            continue
        for side, values in valued:
            contests.append((match, side, values.contest))
            projected = win.projected(values.contest, values.states)
            inside = (projected.low <= side.total) & (side.total <= projected.high)
            in_range = np.where(values.contest.chase, np.nan, inside)
            forecasts.append(np.stack([values.before, in_range]))
        ends = [values for _, values in valued]
        comparable = len(ends) == 2 and not is_revised(match)
        jump = 1 - ends[0].actual[-1] - ends[1].before[0] if comparable else np.nan
        moves = sum(np.abs(each.before[1:] - each.actual[:-1]).sum() for each in ends)
        matches.append((kind_of(match), jump, moves))
    rows = win_rows(contests)
    if not rows:
        raise InputError(
            "no evaluated match was decided on the field, so win probabilities cannot be scored"
        )
    columns = zip(("kind", "jump", "moves"), map(np.array, zip(*matches, strict=True)), strict=True)
    probabilities, in_range = np.concatenate(forecasts, axis=1)
    return rows | {"probability": probabilities, "in_range": in_range}, dict(columns)


def win_evaluation(held: HeldOut, baselines: Sequence[str], report: Report = silent) -> Json:
    """Return the JSON result of ``attnlens lab evaluate --win``.

    ``kinds`` has a row for each kind of match, and one for all matches. A row has these figures:

    - ``brier``, ``ece``: the Brier score and the expected calibration error of the batting side's
      win probability.
    - ``first_innings``, ``chases``: the Brier score in first innings, and in chases.
    - ``differences``: the model's Brier score minus the Brier score of each baseline from
      `state_models`.
    - ``coverage``: the share of first-innings balls at which the projected range contains the final
      total.
    - ``jump``: the mean absolute change of the win probability between the innings.
    - ``moves``: the absolute change of the win probability from the end of a ball to the start of
      the next ball, summed over an innings. The sums are averaged over all innings.
    - ``slope``: the slope of a logistic regression of results on predicted log-odds. Results and
      predictions are for the side that batted first, at the start of the chase.
    - ``excess``: for the side that batted first, the mean win probability at the start of the chase
      minus the share of wins.

    Args:
        baselines: the names of the baselines: ``logistic``, ``boosted_trees``, or both.

    Raises:
        InputError: as in `evaluate_states`.
    """
    rows, matches = evaluate_states(held, report)
    baseline_probs, left_out = state_models(held, rows, baselines, report)
    kinds, probabilities = matches["kind"], rows["probability"]
    groups = {kind: kinds == kind for kind in dict.fromkeys(kinds.tolist())}
    return {
        "balls": len(probabilities),
        "matches": len(kinds),
        "left_out": len(held.matches) - len(kinds),
        "dates": dict(zip(("first", "last"), held.dates, strict=True)),
        "checkpoint": held.checkpoint,
        "notes": (
            *held.notes,
            *_fitted_note(held),
            *(f"left out {name}: {reason}" for name, reason in left_out.items()),
        ),
        "kinds": {
            kind: _figures(rows, matches, chosen, baseline_probs)
            for kind, chosen in ({"all": np.ones(len(kinds), bool)} | groups).items()
        },
        "reliability": reliability(
            probabilities,
            rows["won"],
            equal_bins(probabilities, 10),
            Bootstrap(rows["match"].astype(np.int64), draws=DRAWS, seed=SEED),
        ),
    }


def state_models(
    held: HeldOut, test: WinRows, names: Sequence[str], report: Report = silent
) -> tuple[dict[str, Floats], dict[str, str]]:
    """Return win probabilities for ``test`` from baselines that use only the state of the match.

    The baselines are fitted on the predictor's training matches, separately for first innings and
    chases.

    Args:
        names: the names of the baselines: ``logistic``, ``boosted_trees``, or both.

    Returns:
        Two dicts: the probabilities by each fitted baseline, and the reason for each failed fit.
    """
    train_ids = match_ids(held, None, last_weights_day(held))
    reason = why_not(held, train_ids)
    if reason is not None:
        return {}, dict.fromkeys(names, reason)
    report("fitting the baselines on states of matches")
    training = [match for match in held.available.values() if match.match_id in train_ids]
    train = win_rows(dated_contests(training, held.predictor.base))
    if not train:
        return {}, dict.fromkeys(names, NO_TRAINING)
    decided = train["won"] != 0.5
    columns, test_columns = _state_columns(train), _state_columns(test)
    probabilities: dict[str, Floats] = {}
    left_out: dict[str, str] = {}
    for name in names:
        try:
            model = _state_model(name)
        except ImportError as error:
            left_out[name] = f"{error.name} is not installed"
            continue
        probabilities[name] = np.full(len(test["won"]), 0.5)
        for chase in (0.0, 1.0):
            fitted, predicted = decided & (train["chase"] == chase), test["chase"] == chase
            if len(np.unique(train["won"][fitted])) == 2 and predicted.any():
                model.fit(columns[fitted], train["won"][fitted])
                probs = model.predict_proba(test_columns[predicted])[:, 1]
                probabilities[name][predicted] = probs
    return probabilities, left_out


def _state_model(name: str) -> Any:
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=200,
        num_leaves=15,
        min_child_samples=2000,
        learning_rate=0.05,
        random_state=5,
        deterministic=True,
        n_jobs=1,
        verbose=-1,
    )


def _state_columns(rows: WinRows) -> Floats:
    needed = np.where(rows["chase"] > 0, np.maximum(rows["target"] - rows["score"], 0), 0)
    required = np.minimum(needed / np.maximum(rows["left"], 1), 6)
    rate = rows["score"] / np.maximum(rows["quota"] - rows["left"], 6)
    columns = [rows[name] for name in ("score", "left", "wickets", "quota")]
    return np.stack([*columns, needed, required, rate], 1)


def _fitted_note(held: HeldOut) -> tuple[str, ...]:
    until = held.predictor.date("win_until")
    days = [day for match in held.matches if (day := last_day(match)) is not None]
    inside = sum(until is not None and day <= until for day in days)
    return (
        (f"{inside} of the matches were also used to fit the win probabilities",) if inside else ()
    )


def _figures(
    rows: WinRows, matches: MatchRows, chosen: Flags, baseline_probs: Mapping[str, Floats]
) -> Json:
    balls = chosen[rows["match"].astype(np.int64)]
    own = {name: column[balls] for name, column in rows.items()}
    match = np.unique(own["match"], return_inverse=True)[1].astype(np.int64)
    bootstrap = Bootstrap(match, draws=DRAWS, seed=SEED)
    probs, label, chase = own["probability"], own["won"], own["chase"] > 0
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
            for name, other in baseline_probs.items()
        },
        "slope": _slope(defended, came),
        "excess": Estimate.resampled(
            defended - came, Bootstrap(np.arange(len(came)), draws=DRAWS, seed=SEED)
        ),
        "coverage": Estimate.resampled(own["in_range"][~chase], Bootstrap(match[~chase])),
        "jump": _mean(np.abs(matches["jump"][chosen])),
        "moves": _mean(matches["moves"][chosen] / 2),
    }


def _mean(values: Floats) -> float | None:
    finite = values[~np.isnan(values)]
    return float(finite.mean()) if len(finite) else None


def _slope(probs: Floats, came: Floats) -> Estimate:
    if len(came) < _MIN_CHASES:
        return Estimate(None, None)
    odds = log_odds(probs.clip(SMALLEST, 1 - SMALLEST)[:, None], [0])
    generator = np.random.default_rng(SEED)
    draws = generator.integers(len(came), size=(_SLOPE_DRAWS, len(came)))
    slopes = [_logistic_slope(odds[rows], came[rows]) for rows in (np.arange(len(came)), *draws)]
    low, high = np.quantile(slopes[1:], [0.025, 0.975])
    return Estimate(slopes[0], (float(low), float(high)))


def _logistic_slope(odds: Floats, came: Floats) -> float:
    columns, weights = np.stack([np.ones_like(odds), odds], 1), np.zeros(2)
    for _ in range(_SLOPE_STEPS):
        values = 1 / (1 + np.exp(-columns @ weights))
        hessian = (columns.T * (values * (1 - values))) @ columns + 1e-6 * np.eye(2)
        weights = weights + np.linalg.solve(hessian, columns.T @ (came - values))
    return float(weights[1])


_BRIER: Final = (
    Figure("matches", "matches", ","),
    Figure("Brier", "brier", ".4f", ci=True),
    Figure("ECE", "ece", ".3f"),
)
_FIRST_INNINGS: Final = (
    Figure("slope", "slope", ".2f", ci=True),
    Figure("predicted minus won", "excess", "+.1p", ci=True),
    Figure("in 80% range", "coverage", ".1%"),
    Figure("jump", "jump", ".4p"),
    Figure("moves", "moves", ".4p"),
)


@terminal_page(min_width=64)
def render_winning(page: Page, document: Json) -> None:
    """Write the result of `win_evaluation` to a terminal page."""
    title = "win probabilities of {name}, before {balls} of {matches}, {first} to {last}"
    left = count(document["left_out"], "match", "matches")
    lines = [f"{left} left out: no winner, or decided by rain"] if document["left_out"] else []
    add_title(page, document, title, *lines)
    rows = [((kind, "name"), part) for kind, part in document["kinds"].items()]
    gaps = [
        Figure(f"minus {name.replace('_', ' ')}", f"differences.{name}", "+.4f", ci=True)
        for name in document["kinds"]["all"]["differences"]
    ]
    first = Words(min_width=10)
    add_figures(page, rows, [*_BRIER, *gaps], first=first)
    heading = "the side that batted first, at the end of its innings"
    add_figures(page, rows, _FIRST_INNINGS, heading=heading, first=first)
    add_calibration(page, "calibration", document["reliability"])
    page.paragraph(
        "Slope: the slope of results on predicted log-odds; 1 means calibrated. Predicted minus "
        "won: the mean win probability minus the share of wins, in points. In 80% range: how "
        "often the projected range contains the final total. Jump: the absolute change of the win "
        "probability between the innings. Moves: the absolute changes of the win probability "
        "between balls, summed over an innings. Brackets show 95% intervals over resampled "
        "matches.",
        "quiet",
        indent=0,
    )
