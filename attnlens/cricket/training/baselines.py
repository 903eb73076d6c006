"""What a predictor is compared with: class shares, a table, a regression, boosted trees.

Each is fitted on the balls a predictor was trained on and asked about later ones. The
regression and the trees get everything that the predictor knows, and every running total.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from attnlens.arrays import Floats32, Integers
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.study.held_out import EncodedInnings
from attnlens.cricket.training.ball_table import Doubles
from attnlens.cricket.training.course import Course
from attnlens.cricket.training.features import FeatureTable, feature_table
from attnlens.errors import AttnlensError, InputError

Report = Callable[[str], None]

BASELINES: Final[tuple[str, ...]] = ("prior", "state_table", "logistic", "boosted_trees")
"""The baselines, weakest first."""

TABLE_SMOOTHING: Final = 200.0
"""Balls of the coarser cell's shares that every cell of the table is mixed with."""

ROUNDS: Final = 140
"""Rounds of boosting where nothing is held back to stop at."""

MOST_ROUNDS: Final = 600
PATIENCE: Final = 25


class BaselineError(AttnlensError):
    """A baseline that cannot be fitted here, and why."""


class Fitted(Protocol):
    """A baseline that has been fitted."""

    def probabilities(self, table: FeatureTable) -> Doubles:
        """``(balls, 11)``, rows that sum to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """The same class shares for every ball."""

    shares: Doubles

    @classmethod
    def fit(cls, table: FeatureTable) -> Prior:
        counts = np.bincount(table.outcome, minlength=len(OUTCOMES)) + 1.0
        return cls(counts / counts.sum())

    def probabilities(self, table: FeatureTable) -> Doubles:
        return np.tile(self.shares, (len(table), 1))


@dataclass(frozen=True, slots=True, eq=False)
class StateTable:
    """Class shares by the state of the innings, each cell mixed with the coarser one.

    From coarse to fine: the innings; its phase; wickets fallen, in five steps; the over; the
    balls the striker has faced, in four.

    Attributes:
        shares: of all balls ``(11,)``.
        levels: per level, the cells' numbers in order and their shares ``(cells, 11)``.
    """

    shares: Doubles
    levels: tuple[tuple[Integers, Doubles], ...]

    @classmethod
    def fit(cls, table: FeatureTable) -> StateTable:
        everything = Prior.fit(table).shares
        coarser = np.tile(everything, (len(table), 1))
        levels = []
        happened = np.zeros((len(table), len(OUTCOMES)))
        happened[np.arange(len(table)), table.outcome] = 1
        for cell in _cells(table):
            cells, first, place = np.unique(cell, return_index=True, return_inverse=True)
            counts = np.zeros((len(cells), len(OUTCOMES)))
            np.add.at(counts, place, happened)
            mixed = counts + TABLE_SMOOTHING * coarser[first]
            shares = mixed / mixed.sum(1, keepdims=True)
            levels.append((cells, shares))
            coarser = shares[place]
        return cls(everything, tuple(levels))

    def probabilities(self, table: FeatureTable) -> Doubles:
        found = np.tile(self.shares, (len(table), 1))
        for cell, (cells, shares) in zip(_cells(table), self.levels, strict=True):
            place = np.minimum(np.searchsorted(cells, cell), len(cells) - 1)
            known = cells[place] == cell
            found[known] = shares[place[known]]
        return found


def _cells(table: FeatureTable) -> list[Integers]:
    """The number of each ball's cell, per level from coarse to fine."""

    def bucket(name: str, *ends: float) -> Integers:
        return np.digitize(table.column(name), ends).astype(np.int64)

    second = table.column("second innings").astype(np.int64)
    phase = second * 3 + bucket("share of the innings", 0.3, 0.75)
    wickets = phase * 5 + bucket("wickets", 1, 3, 5, 7)
    over = wickets * 20 + bucket("share of the innings", *(np.arange(1, 20) / 20 - 1e-6))
    striker = over * 4 + bucket("striker balls", 2, 8, 20)
    return [second, phase, wickets, over, striker]


@dataclass(frozen=True, slots=True, eq=False)
class Logistic:
    """Multinomial logistic regression on all columns; scales are those of the training.

    Attributes:
        offset, scale: per column; values are cut at five deviations.
        model: scikit-learn's.
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
        told = self.model.predict_proba(self._scaled(_spread(table)))
        return _every_outcome(told, self.model.classes_)


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
    plain = [place for place, name in enumerate(table.names) if name not in named]
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
    "learning_rate": 0.06,
    "num_leaves": 23,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.6,
    "bagging_freq": 1,
    "min_data_in_leaf": 300,
    "lambda_l2": 10.0,
    "max_bin": 63,
    "num_threads": 1,
}
"""How the trees grow, chosen on the validation matches."""

REPEATABLE: Final = {
    "objective": "multiclass",
    "num_class": len(OUTCOMES),
    "deterministic": True,
    "force_col_wise": True,
    "verbose": -1,
}


@dataclass(frozen=True, slots=True, eq=False)
class BoostedTrees:
    """Gradient-boosted trees on all columns.

    Attributes:
        model: LightGBM's.
        rounds: how many rounds of boosting it keeps.
    """

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
        report: Report = lambda _: None,
    ) -> BoostedTrees:
        """Fit on ``table``, and stop where ``check`` is predicted best.

        Args:
            check: later balls; ``None`` boosts for ``rounds``.

        Raises:
            BaselineError: LightGBM is not installed.
        """
        try:
            import lightgbm
        except (ImportError, OSError):  # a library it needs from the system may be missing
            raise BaselineError("lightgbm is not installed") from None
        _several_outcomes(table)
        parameters = {**REPEATABLE, **growth, "seed": seed}
        data = lightgbm.Dataset(table.values, table.outcome, params=parameters)

        def tell(state: Any) -> None:
            if (state.iteration + 1) % 5 == 0:
                report(f"boosted trees: round {state.iteration + 1}")

        callbacks: list[Any] = [tell]
        watched = []
        if check is not None and rounds is None:
            watched = [lightgbm.Dataset(check.values, check.outcome, reference=data)]
            callbacks.append(lightgbm.early_stopping(PATIENCE, verbose=False))
        most = rounds or (MOST_ROUNDS if watched else ROUNDS)
        model = lightgbm.train(parameters, data, most, watched, callbacks=callbacks)
        return cls(model, model.best_iteration if watched else most)

    def probabilities(self, table: FeatureTable) -> Doubles:
        told = self.model.predict(table.values, num_iteration=self.rounds, num_threads=1)
        result: Doubles = told / told.sum(1, keepdims=True)
        return result


def _several_outcomes(table: FeatureTable) -> None:
    if len(np.unique(table.outcome)) < 2:
        raise BaselineError("the training matches hold fewer than two different outcomes")


def _every_outcome(told: Doubles, classes: Integers) -> Doubles:
    """Probabilities for all outcomes; one never seen in training gets next to nothing."""
    result = np.full((len(told), len(OUTCOMES)), 1e-6)
    result[:, classes] = told
    total: Doubles = result / result.sum(1, keepdims=True)
    return total


TREES: Final = "boosted_trees"
"""The teacher: what boosted trees say of the training balls, for the predictor to learn from.

The predictor learns from probabilities beside outcomes (Hinton, Vinyals and Dean 2015,
"Distilling the Knowledge in a Neural Network", https://arxiv.org/abs/1503.02531). A ball's
outcome is one draw; what a teacher says of it has far less noise.
"""

TEACHER: Final[Growth] = {
    **GROWTH,
    "learning_rate": 0.08,
    "num_leaves": 15,
    "feature_fraction": 0.4,
    "min_data_in_leaf": 200,
}
"""Smaller trees than the baseline's: as good on validation, and grown in half the time."""

FOLDS: Final = 3
"""Parts of the matches; each is asked about by trees that were fitted on the others."""


def check_teacher() -> None:
    """Whether `teach` could ask the trees: said before the work, not after it.

    Raises:
        InputError: LightGBM is missing.
    """
    if find_spec("lightgbm") is None:
        raise InputError(
            f"--teacher {TREES}: lightgbm is not installed", remedy="pip install 'attnlens[dev]'"
        )


def teach(
    innings: Sequence[EncodedInnings], *, seed: int, threads: int, course: Course
) -> list[Floats32]:
    """What trees on every running total say of each innings to learn from, ``(ball, 11)`` each.

    They are asked only about matches that they were not fitted on.

    Args:
        innings: those for training, in order of date.
        course: of its processes the first one asks, and tells the others.

    Raises:
        InputError: the matches are too few to fit trees on.
    """

    def answer() -> Floats32:
        course.report(f"asking the teacher {TREES}")
        growth = {**TEACHER, "num_threads": threads}
        try:
            return out_of_fold(feature_table(innings), growth, seed, course.report)
        except BaselineError as error:
            raise InputError(f"--teacher {TREES}: {error}") from None

    counts = [len(one.arrays) for one in innings]
    return np.split(course.among.from_first(answer), np.cumsum(counts)[:-1])


def out_of_fold(table: FeatureTable, growth: Growth, seed: int, report: Report) -> Floats32:
    """What trees say of balls whose match they were not fitted on, ``(balls, 11)``."""
    matches = np.unique(table.match)
    if len(matches) < 2:
        raise BaselineError("there are fewer than two training matches")
    fold_of = np.random.default_rng(seed).permutation(len(matches)) % FOLDS
    fold = fold_of[np.searchsorted(matches, table.match)]
    said = np.empty((len(table), len(OUTCOMES)), np.float32)
    for held in (fold == number for number in np.unique(fold)):
        trees = BoostedTrees.fit(
            table.rows(~held), rounds=ROUNDS, growth=growth, seed=seed, report=report
        )
        said[held] = trees.probabilities(table.rows(held))
    return said
