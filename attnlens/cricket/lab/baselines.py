"""Baselines for the predictor: outcome shares, a logistic regression, and boosted trees.

Each baseline is fitted on the predictor's training balls and evaluated on later balls. The
regression and the trees get running totals, such as a batter's runs, and the last three outcomes.
"""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

import numpy as np

from attnlens.cricket.lab.baseline_features import Doubles, FeatureTable, feature_table
from attnlens.cricket.lab.evaluation import BaselineForecasts, EvaluatedBalls
from attnlens.cricket.lab.fit import rate_and_encode
from attnlens.cricket.lab.held_out import EncodedInnings, HeldOut, last_day
from attnlens.cricket.lab.training_loop import TrainingLoop
from attnlens.cricket.match.match import OUTCOMES
from attnlens.cricket.predictor.kinds import differences
from attnlens.cricket.predictor.ratings import Ratings
from attnlens.cricket.readers import Report, silent
from attnlens.errors import AttnlensError, InputError
from attnlens.files import Floats32, written_beside

_MAX_LOGISTIC_ROWS: Final = 600_000

_ROUNDS: Final = 220

_MAX_ROUNDS: Final = 300
_PATIENCE: Final = 25


class BaselineError(AttnlensError):
    """Raised if a baseline cannot be fitted. The message has the reason."""


Predict: TypeAlias = Callable[[FeatureTable], Doubles]
"""A fitted baseline: a function that returns outcome probabilities with shape ``(balls, 11)``."""


def fit_prior(table: FeatureTable) -> Predict:
    """Fit a baseline that gives every ball the same forecast: the overall share of each outcome."""
    counts = np.bincount(table.outcome, minlength=len(OUTCOMES)) + 1.0
    return lambda balls: np.tile(counts / counts.sum(), (len(balls), 1))


def fit_logistic(table: FeatureTable) -> Predict:
    """Fit a multinomial logistic regression on all features.

    At most `_MAX_LOGISTIC_ROWS` balls, taken at even intervals, are used. Fitting on 2.2 million
    balls took 17 GB of memory.

    Raises:
        BaselineError: scikit-learn is not installed, or all balls have the same outcome.
    """
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise BaselineError("scikit-learn is not installed") from None
    _check_outcomes(table)
    table = table.rows(np.arange(0, len(table), 1 + (len(table) - 1) // _MAX_LOGISTIC_ROWS))
    values = _spread(table)
    mean, scale = values.mean(0, dtype=np.float64), values.std(0, dtype=np.float64)
    scale[scale < 1e-6] = 1

    def scaled(values: Floats32) -> Floats32:
        values = (values - mean.astype(np.float32)) / scale.astype(np.float32)
        return values.clip(-5, 5)

    model = LogisticRegression(C=0.02, solver="lbfgs", max_iter=60, tol=1e-3)
    with warnings.catch_warnings():
        # Sixty steps are enough for a baseline, so the convergence warning is ignored.
        warnings.simplefilter("ignore")
        model.fit(scaled(values), table.outcome)

    def predict(balls: FeatureTable) -> Doubles:
        # An outcome that does not occur in training gets a tiny probability.
        rows = np.full((len(balls), len(OUTCOMES)), 1e-6)
        rows[:, model.classes_] = model.predict_proba(scaled(_spread(balls)))
        return np.asarray(rows / rows.sum(1, keepdims=True))

    return predict


def _spread(table: FeatureTable) -> Floats32:
    """Return the features of the logistic regression, with one-hot flags for class numbers."""
    categories = {
        "outcome 1 before": (-1, len(OUTCOMES)),
        "outcome 2 before": (-1, len(OUTCOMES)),
        "striker last": (-1, len(OUTCOMES)),
        "bowler last": (-1, len(OUTCOMES)),
        "wickets": (0, 10),
        "ball in over": (1, 8),
    }
    flagged = {"outcome 3 before", "striker last but one", *categories} - {
        "wickets",
        "ball in over",
    }
    plain = [index for index, name in enumerate(table.names) if name not in flagged]
    parts = [table.values[:, plain]]
    for name, (low, high) in categories.items():
        values = table.column(name)
        flags = np.clip(values, low, high)[:, None] == np.arange(low, high + 1)
        parts.append(flags.astype(np.float32))
    share = np.clip((table.column("share of the innings") * 20).astype(np.int64), 0, 19)
    parts.append((share[:, None] == np.arange(20)).astype(np.float32))
    return np.concatenate(parts, axis=1)


Growth: TypeAlias = Mapping[str, float]
"""LightGBM parameters, with the names that LightGBM uses."""

GROWTH: Final[Growth] = {
    "learning_rate": 0.08,
    "num_leaves": 15,
    "feature_fraction": 0.4,
    "bagging_fraction": 0.6,
    "bagging_freq": 1,
    "min_data_in_leaf": 200,
    "lambda_l2": 10.0,
    "max_bin": 63,
}
"""The parameters of the boosted trees. Larger trees are no better on the validation matches, and
take twice as long to fit."""

_REPEATABLE: Final = {
    "objective": "multiclass",
    "num_class": len(OUTCOMES),
    "deterministic": True,
    "force_col_wise": True,
    "verbose": -1,
}


def fit_trees(
    table: FeatureTable,
    check: FeatureTable | None = None,
    *,
    rounds: int | None = None,
    growth: Growth = GROWTH,
    seed: int = 5,
) -> Predict:
    """Fit gradient-boosted trees (LightGBM) on all features.

    Args:
        check: validation balls. The number of rounds with the lowest validation loss is used.
        rounds: the number of rounds without validation balls; by default, `_ROUNDS`.

    Raises:
        BaselineError: LightGBM is not installed, or all balls have the same outcome.
    """
    try:
        import lightgbm
    except (ImportError, OSError):  # OSError: a system library is missing
        raise BaselineError("lightgbm is not installed") from None
    _check_outcomes(table)
    parameters = {**_REPEATABLE, **growth, "seed": seed}
    data = lightgbm.Dataset(table.values, table.outcome, params=parameters)
    if check is None:
        rounds = rounds or _ROUNDS
        model = lightgbm.train(parameters, data, rounds)
    else:
        validation = lightgbm.Dataset(check.values, check.outcome, reference=data)
        stop = lightgbm.early_stopping(_PATIENCE, verbose=False)
        model = lightgbm.train(parameters, data, _MAX_ROUNDS, [validation], callbacks=[stop])
        rounds = model.best_iteration

    def predict(balls: FeatureTable) -> Doubles:
        rows = np.asarray(model.predict(balls.values, num_iteration=rounds))
        return np.asarray(rows / rows.sum(1, keepdims=True))

    return predict


def _check_outcomes(table: FeatureTable) -> None:
    if len(np.unique(table.outcome)) < 2:
        raise BaselineError("the training matches contain fewer than two different outcomes")


TREES: Final = "boosted_trees"
"""The name of the teacher (Hinton, Vinyals and Dean 2015, "Distilling the Knowledge in a Neural
Network", https://arxiv.org/abs/1503.02531)."""

_FOLDS: Final = 2


def teach(
    innings: Sequence[EncodedInnings], *, seed: int, threads: int, loop: TrainingLoop
) -> list[Floats32]:
    """For each innings, return the teacher's probabilities, with shape ``(ball, 11)``.

    The trees that forecast a match were fitted on other matches. The probabilities are saved next
    to the state of the run, for resumed runs.

    Raises:
        InputError: LightGBM is not installed, or there are too few matches for fitting the trees.
    """
    counts = [len(encoded.arrays) for encoded in innings]
    path = None
    if loop.state is not None:
        path = loop.state.with_name(f"{loop.state.name}.{loop.mark[:12]}.taught-{seed}.npy")

    def answer() -> Floats32:
        if path is not None and path.exists():
            stored: Floats32 = np.load(path)
            if stored.shape == (sum(counts), len(OUTCOMES)):
                loop.report(f"the teacher {TREES} is cached: {path}")
                return stored
        loop.report(f"fitting the teacher {TREES}")
        growth = {**GROWTH, "num_threads": threads}
        try:
            probabilities = out_of_fold(feature_table(innings), growth, seed)
        except BaselineError as error:
            raise InputError(f"--teacher {TREES}: {error}") from None
        if path is not None:
            with written_beside(path) as part, part.open("wb") as file:
                np.save(file, probabilities)
        return probabilities

    return np.split(loop.among.from_first(answer), np.cumsum(counts)[:-1])


def out_of_fold(table: FeatureTable, growth: Growth, seed: int) -> Floats32:
    """Return outcome probabilities from boosted trees, with shape ``(balls, 11)``.

    The trees that forecast a match were fitted on other matches.
    """
    matches = np.unique(table.match)
    if len(matches) < 2:
        raise BaselineError("there are fewer than two matches to train on")
    fold_of = np.random.default_rng(seed).permutation(len(matches)) % _FOLDS
    fold = fold_of[np.searchsorted(matches, table.match)]
    probabilities = np.empty((len(table), len(OUTCOMES)), np.float32)
    for rows in (fold == number for number in np.unique(fold)):
        trees = fit_trees(table.rows(~rows), growth=growth, seed=seed)
        probabilities[rows] = trees(table.rows(rows))
    return probabilities


NO_TRAINING = (
    "none of the given matches is from the model's training dates; give such "
    "matches as SRC or with --history"
)
_UNDATED = "an evaluated match has no date, so the matches before it are unknown"


def compare(
    held: HeldOut, balls: EvaluatedBalls, names: Sequence[str], *, report: Report = silent
) -> BaselineForecasts:
    """Fit the given baselines on the model's training matches, and forecast the held-out matches.

    The training matches end no later than the checkpoint's date ``weights_until``. Later matches,
    up to the date ``trained_until``, are used for early stopping. The ratings for a day are
    computed from all given matches of earlier days. If training matches or match dates are missing,
    the outcome shares in the checkpoint are the only baseline.
    """
    if not names:
        return BaselineForecasts({}, {}, fitted_on=0)
    until, weights_until = held.predictor.date("trained_until"), last_weights_day(held)
    train_ids = match_ids(held, None, weights_until)
    probabilities: dict[str, Doubles] = {}
    reason = why_not(held, train_ids)
    if reason is not None:
        if "prior" in names:
            shares = np.exp(held.predictor.base.everything.astype(np.float64))
            probabilities["prior"] = np.tile(shares / shares.sum(), (len(balls), 1))
        left_out = {name: reason for name in names if name != "prior"}
        return BaselineForecasts(probabilities, left_out, fitted_on=0)

    check_ids = match_ids(held, weights_until, until)
    last = held.dates[1] or ""
    matches = [
        match
        for match in held.available.values()
        if (day := last_day(match)) is not None and day.isoformat() <= last
    ]
    innings = rate_and_encode(matches, held.predictor.base, Ratings(), report=report)
    report("computing the running totals before every ball")
    table = feature_table(innings)
    ids = np.repeat(
        [encoded.match_id for encoded in innings], [len(side.arrays) for side in innings]
    )
    train, check = (table.rows(np.isin(ids, [*chosen])) for chosen in (train_ids, check_ids))
    ends = np.cumsum([len(encoded.arrays) for encoded in innings])
    rows_of = {
        (encoded.match_id, encoded.innings): np.arange(end - len(encoded.arrays), end)
        for encoded, end in zip(innings, ends, strict=True)
    }
    tested = [rows_of[encoded.match_id, encoded.innings] for encoded in balls.innings]
    test = table.rows(np.concatenate(tested))
    fits: dict[str, Callable[[FeatureTable], Predict]] = {
        "prior": fit_prior,
        "logistic": fit_logistic,
        "boosted_trees": partial(fit_trees, check=check if len(check) else None),
    }
    left_out = {}
    for name in names:
        report(f"fitting {name.replace('_', ' ')} on {len(train)} balls")
        try:
            baseline = fits[name](train)
        except BaselineError as error:
            left_out[name] = str(error)
            continue
        probabilities[name] = baseline(test)
    return BaselineForecasts(probabilities, left_out, fitted_on=len(train_ids))


def why_not(held: HeldOut, train_ids: set[str]) -> str | None:
    """Return the reason why the baselines cannot be fitted, or ``None`` if they can be fitted."""
    if not all(match.dates for match in held.matches):
        return _UNDATED
    return None if train_ids else NO_TRAINING


def last_weights_day(held: HeldOut) -> datetime.date | None:
    """Return the last day of the matches on which the weights were trained."""
    return held.predictor.date("weights_until") or held.predictor.date("trained_until")


def match_ids(held: HeldOut, after: datetime.date | None, until: datetime.date | None) -> set[str]:
    """Return the ids of the matches that ended later than ``after`` and no later than ``until``.

    A match is left out if the training matches include no match of the same kind.
    """
    return {
        match.match_id
        for match in held.available.values()
        if (day := last_day(match)) is not None
        and until is not None
        and (after is None or after < day)
        and day <= until
        and not differences(match, held.predictor)
    }
