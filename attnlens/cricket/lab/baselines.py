"""What a predictor is compared with: class shares, a logistic regression, boosted trees.

Each is fitted on the balls a predictor was trained on and asked about later ones. The
regression and the trees get everything that the predictor knows, and every running total.
`compare` asks them for `attnlens lab evaluate`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from attnlens.arrays import Floats32
from attnlens.cricket.lab.baseline_features import Doubles, FeatureTable, feature_table
from attnlens.cricket.lab.evaluation import BaselineForecasts, EvaluatedBalls, aligned
from attnlens.cricket.lab.fit import rate_and_encode
from attnlens.cricket.lab.held_out import EncodedInnings, HeldOut, last_day, sides
from attnlens.cricket.lab.post_training import WinRows, win_rows
from attnlens.cricket.lab.training_loop import TrainingLoop
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.predictor.kinds import like_training
from attnlens.cricket.predictor.ratings import Ratings
from attnlens.cricket.readers.history import Report, silent
from attnlens.errors import AttnlensError, InputError
from attnlens.files import written_beside

_MOST_ROWS: Final = 600_000
"""So many balls the logistic regression is fitted on."""

_BASELINES: Final[tuple[str, ...]] = ("prior", "logistic", "boosted_trees")
"""The baselines, weakest first."""

_ROUNDS: Final = 220
"""Rounds of boosting where nothing is held back to stop at."""

_MOST_ROUNDS: Final = 300
_PATIENCE: Final = 25


class BaselineError(AttnlensError):
    """A baseline that cannot be fitted here, and why."""


class Baseline(Protocol):
    """A baseline that has been fitted."""

    def probabilities(self, table: FeatureTable) -> Doubles:
        """``(balls, 11)``, rows that sum to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassShares:
    """How often each outcome came, whatever the ball: ``shares`` ``(11,)``."""

    shares: Doubles

    @classmethod
    def fit(cls, table: FeatureTable) -> ClassShares:
        counts = np.bincount(table.outcome, minlength=len(OUTCOMES)) + 1.0
        return cls(counts / counts.sum())

    def probabilities(self, table: FeatureTable) -> Doubles:
        return np.tile(self.shares, (len(table), 1))


@dataclass(frozen=True, slots=True, eq=False)
class Logistic:
    """Multinomial logistic regression on all columns, fitted on at most `_MOST_ROWS` balls.

    They are taken evenly from all, and scales are theirs: 2.2 million balls took 17 GB. Values are
    cut at five deviations.
    """

    offset: Doubles
    scale: Doubles
    model: Any

    @classmethod
    def fit(cls, table: FeatureTable) -> Logistic:
        import warnings

        try:
            from sklearn.linear_model import LogisticRegression
        except ImportError:
            raise BaselineError("scikit-learn is not installed") from None
        _several_outcomes(table)
        table = table.rows(np.arange(0, len(table), 1 + (len(table) - 1) // _MOST_ROWS))
        values = _spread(table)
        offset, scale = values.mean(0, dtype=np.float64), values.std(0, dtype=np.float64)
        scale[scale < 1e-6] = 1
        made = cls(offset, scale, LogisticRegression(C=0.02, solver="lbfgs", max_iter=60, tol=1e-3))
        with warnings.catch_warnings():
            # Sixty steps are enough for a baseline, and it says when it wants more.
            warnings.simplefilter("ignore")
            made.model.fit(made._scaled(values), table.outcome)
        return made

    def _scaled(self, values: Floats32) -> Floats32:
        scaled: Floats32 = values - self.offset.astype(np.float32)
        scaled /= self.scale.astype(np.float32)
        scaled.clip(-5, 5, out=scaled)
        return scaled

    def probabilities(self, table: FeatureTable) -> Doubles:
        # An outcome never seen in training gets next to nothing.
        told = np.full((len(table), len(OUTCOMES)), 1e-6)
        told[:, self.model.classes_] = self.model.predict_proba(self._scaled(_spread(table)))
        result: Doubles = told / told.sum(1, keepdims=True)
        return result


def _spread(table: FeatureTable) -> Floats32:
    """The columns with class numbers as flags, and over and wickets as flags besides."""
    categories = {
        "outcome 1 before": (-1, len(OUTCOMES)),
        "outcome 2 before": (-1, len(OUTCOMES)),
        "striker last": (-1, len(OUTCOMES)),
        "bowler last": (-1, len(OUTCOMES)),
        "wickets": (0, 10),
        "ball in over": (1, 8),
    }
    named = {"outcome 3 before", "striker last but one", *categories} - {"wickets", "ball in over"}
    plain = [index for index, name in enumerate(table.names) if name not in named]
    parts = [table.values[:, plain]]
    for name, (low, high) in categories.items():
        values = table.column(name)
        flags = np.clip(values, low, high)[:, None] == np.arange(low, high + 1)
        parts.append(flags.astype(np.float32))
    share = np.clip((table.column("share of the innings") * 20).astype(np.int64), 0, 19)
    parts.append((share[:, None] == np.arange(20)).astype(np.float32))
    return np.concatenate(parts, axis=1)


Growth: TypeAlias = Mapping[str, float]
"""Parameters of LightGBM, by its names for them."""

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
"""How the trees grow, the baseline's and the teacher's, chosen on the validation matches: larger
trees are no better there, and take twice the time."""

_REPEATABLE: Final = {
    "objective": "multiclass",
    "num_class": len(OUTCOMES),
    "deterministic": True,
    "force_col_wise": True,
    "verbose": -1,
}


@dataclass(frozen=True, slots=True, eq=False)
class BoostedTrees:
    """Gradient-boosted trees on all columns: LightGBM's model, and how many rounds count."""

    model: Any
    rounds: int

    @classmethod
    def fit(
        cls,
        table: FeatureTable,
        check: FeatureTable | None = None,
        *,
        rounds: int | None = None,
        growth: Growth = GROWTH,
        seed: int = 5,
    ) -> BoostedTrees:
        """Fit on ``table``, and stop where ``check``, later balls, is predicted best, or after
        ``rounds``.

        A `BaselineError` where LightGBM is not installed.
        """
        try:
            import lightgbm
        except (ImportError, OSError):  # a library it needs from the system may be missing
            raise BaselineError("lightgbm is not installed") from None
        _several_outcomes(table)
        parameters = {**_REPEATABLE, **growth, "seed": seed}
        data = lightgbm.Dataset(table.values, table.outcome, params=parameters)

        callbacks: list[Any] = []
        watched = []
        if check is not None and rounds is None:
            watched = [lightgbm.Dataset(check.values, check.outcome, reference=data)]
            callbacks.append(lightgbm.early_stopping(_PATIENCE, verbose=False))
        most = rounds or (_MOST_ROUNDS if watched else _ROUNDS)
        model = lightgbm.train(parameters, data, most, watched, callbacks=callbacks)
        return cls(model, model.best_iteration if watched else most)

    def probabilities(self, table: FeatureTable) -> Doubles:
        told = self.model.predict(table.values, num_iteration=self.rounds)
        result: Doubles = told / told.sum(1, keepdims=True)
        return result


def _several_outcomes(table: FeatureTable) -> None:
    if len(np.unique(table.outcome)) < 2:
        raise BaselineError("the training matches hold fewer than two different outcomes")


TREES: Final = "boosted_trees"
"""The teacher: what boosted trees say of the training balls, for the predictor to learn from.

The predictor learns from probabilities beside outcomes (Hinton, Vinyals and Dean 2015,
"Distilling the Knowledge in a Neural Network", https://arxiv.org/abs/1503.02531). A ball's
outcome is one draw; what a teacher says of it has far less noise.
"""

_FOLDS: Final = 2
"""Parts of the matches; each is asked about by trees that were fitted on the others."""


def teach(
    innings: Sequence[EncodedInnings], *, seed: int, threads: int, loop: TrainingLoop
) -> list[Floats32]:
    """What trees on every running total say of each innings to learn from, ``(ball, 11)`` each.

    They are asked only about matches that they were not fitted on. Of the course's processes the
    first one asks, and tells the others. The answers are kept beside its state, so that a run that
    goes on need not ask again.

    Raises:
        InputError: the matches are too few to fit trees on.
    """

    counts = [len(one.arrays) for one in innings]
    kept = loop.sibling_path(f"taught-{seed}.npy")

    def answer() -> Floats32:
        if kept is not None and kept.exists():
            said: Floats32 = np.load(kept)
            if said.shape == (sum(counts), len(OUTCOMES)):
                loop.report(f"the teacher {TREES} was asked before: {kept}")
                return said
        loop.report(f"asking the teacher {TREES}")
        growth = {**GROWTH, "num_threads": threads}
        try:
            said = out_of_fold(feature_table(innings), growth, seed)
        except BaselineError as error:
            raise InputError(f"--teacher {TREES}: {error}") from None
        if kept is not None:
            with written_beside(kept) as part, part.open("wb") as file:
                np.save(file, said)
        return said

    return np.split(loop.among.from_first(answer), np.cumsum(counts)[:-1])


def out_of_fold(table: FeatureTable, growth: Growth, seed: int) -> Floats32:
    """What trees say of balls whose match they were not fitted on, ``(balls, 11)``."""
    matches = np.unique(table.match)
    if len(matches) < 2:
        raise BaselineError("there are fewer than two training matches")
    fold_of = np.random.default_rng(seed).permutation(len(matches)) % _FOLDS
    fold = fold_of[np.searchsorted(matches, table.match)]
    said = np.empty((len(table), len(OUTCOMES)), np.float32)
    for held in (fold == number for number in np.unique(fold)):
        learnt = table.rows(~held)
        trees = BoostedTrees.fit(learnt, growth=growth, seed=seed)
        del learnt
        said[held] = trees.probabilities(table.rows(held))
    return said


_NO_TRAINING = (
    "none of the matches given was played in the dates the model was trained on; give them as "
    "SRC or with --history"
)
_UNDATED = "a match judged on has no date, so what came before it is not known"


def compare(
    held: HeldOut, balls: EvaluatedBalls, names: Sequence[str], *, report: Report = silent
) -> BaselineForecasts:
    """Fit baselines of these names on the matches the model was trained on, and ask them.

    Training ends on the checkpoint's ``weights_until``; matches from there to its ``trained_until``
    say when to stop boosting. Ratings are made date by date from all matches given. Without
    training matches, or dates, there is only the checkpoint's own prior.
    """
    if not names:
        return BaselineForecasts({}, {}, fitted_on=0)
    until, weights_until = held.predictor.date("trained_until"), _learnt_until(held)
    learnt = _ids(held, None, weights_until)
    undated = not all(match.dates for match in held.matches)
    if undated or not learnt:
        chances: dict[str, Doubles] = {}
        if "prior" in names:
            shares = np.exp(held.predictor.base.everything.astype(np.float64))
            chances["prior"] = np.tile(shares / shares.sum(), (len(balls), 1))
        reason = _UNDATED if undated else _NO_TRAINING
        left = {name: reason for name in names if name != "prior"}
        return BaselineForecasts(chances, left, fitted_on=0)

    checked = _ids(held, weights_until, until)
    innings = _innings(held, report)
    report("adding up what happened before every ball")
    table = feature_table(innings)
    judged = {match.match_id for match in held.matches}
    ids = np.repeat([one.match_id for one in innings], [len(one.arrays) for one in innings])
    train, check, asked = (table.rows(np.isin(ids, [*some])) for some in (learnt, checked, judged))
    order = [
        (one.match_id, one.innings, len(one.arrays)) for one in innings if one.match_id in judged
    ]
    fits: dict[str, Callable[[FeatureTable], Baseline]] = {
        "prior": ClassShares.fit,
        "logistic": Logistic.fit,
        "boosted_trees": partial(BoostedTrees.fit, check=check if len(check) else None),
    }
    chances, left = {}, {}
    for name in names:
        report(f"fitting {name.replace('_', ' ')} on {len(train)} balls")
        try:
            fitted = fits[name](train)
        except BaselineError as error:
            left[name] = str(error)
            continue
        chances[name] = aligned(balls, order, fitted.probabilities(asked))
    return BaselineForecasts(chances, left, fitted_on=len(learnt))


def logistic_value(held: HeldOut, report: Report = silent) -> tuple[Doubles | None, str | None]:
    """What a logistic model of the state says of who wins the judged matches; or why it cannot.

    It is fitted on the matches that the model was trained on, first innings and chases apart, on
    the same states and strengths, with the rates that follow from them. Its chances are in the
    order of `attnlens.cricket.lab.win_evaluation.evaluate_states`.
    """
    learnt = _ids(held, None, _learnt_until(held))
    if not learnt or not all(match.dates for match in held.matches):
        return None, _NO_TRAINING if not learnt else _UNDATED
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        return None, "scikit-learn is not installed"
    every = {(one.match_id, one.innings): one for one in _innings(held, report)}
    train = win_rows([one for (match_id, _), one in every.items() if match_id in learnt])
    asked = win_rows([every[m.match_id, side.number] for m in held.matches for side in sides(m)])
    chances = np.zeros(len(asked))
    for second in (0.0, 1.0):
        known, open_ = (train.chase == second) & (train.won != 0.5), asked.chase == second
        if not known.any() or not open_.any():
            continue
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
        model.fit(_of_states(train.rows(known)), train.won[known])
        chances[open_] = model.predict_proba(_of_states(asked.rows(open_)))[:, 1]
    return chances, None


def _of_states(rows: WinRows) -> Doubles:
    """The columns of a logistic model of states, ``(rows, columns)``."""
    left = np.maximum(rows.left, 1)
    told = [rows.score, rows.left, rows.wickets, rows.needed, np.minimum(rows.needed / left, 6)]
    told += [rows.score / np.maximum(rows.bowled, 6), rows.runs, rows.wicket_rate]
    return np.stack([*told, rows.runs_other, rows.wickets_other], 1)


def _learnt_until(held: HeldOut) -> datetime.date | None:
    """The last day whose matches the weights have learnt from."""
    return held.predictor.date("weights_until") or held.predictor.date("trained_until")


def _ids(held: HeldOut, after: datetime.date | None, until: datetime.date | None) -> set[str]:
    """Matches like those of the training that ended after one day and until another."""
    return {
        match.match_id
        for match in held.given.values()
        if (day := last_day(match)) is not None
        and until is not None
        and (after is None or after < day)
        and day <= until
        and like_training(match, held.predictor)
    }


def _innings(held: HeldOut, report: Report) -> list[EncodedInnings]:
    """Every innings up to the last one judged, with ratings made date by date."""
    last = max(day for match in held.matches if (day := last_day(match)) is not None)
    matches = [m for m in held.given.values() if (day := last_day(m)) is not None and day <= last]
    return rate_and_encode(matches, held.predictor.base, Ratings(), report=report)
