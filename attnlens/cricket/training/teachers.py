"""The teacher: what boosted trees say of the training balls, for the predictor to learn from.

The predictor learns from probabilities beside outcomes (Hinton, Vinyals and Dean 2015,
"Distilling the Knowledge in a Neural Network", https://arxiv.org/abs/1503.02531). A ball's
outcome is one draw; what a teacher says of it has far less noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Final

import numpy as np

from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.study.held_out import EncodedInnings
from attnlens.cricket.training.baselines import (
    GROWTH,
    ROUNDS,
    BaselineError,
    BoostedTrees,
    Growth,
)
from attnlens.cricket.training.course import Course
from attnlens.cricket.training.features import FeatureTable, feature_table
from attnlens.cricket.training.fit import Probabilities
from attnlens.errors import InputError

Report = Callable[[str], None]

TREES: Final = "boosted_trees"

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
) -> list[Probabilities]:
    """What trees on every running total say of each innings to learn from, ``(ball, 11)`` each.

    They are asked only about matches that they were not fitted on.

    Args:
        innings: those for training, in order of date.
        course: of its processes the first one asks, and tells the others.

    Raises:
        InputError: the matches are too few to fit trees on.
    """

    def answer() -> Probabilities:
        course.report(f"asking the teacher {TREES}")
        growth = {**TEACHER, "num_threads": threads}
        try:
            return out_of_fold(feature_table(innings), growth, seed, course.report)
        except BaselineError as error:
            raise InputError(f"--teacher {TREES}: {error}") from None

    counts = [len(one.arrays) for one in innings]
    return np.split(course.among.from_first(answer), np.cumsum(counts)[:-1])


def out_of_fold(table: FeatureTable, growth: Growth, seed: int, report: Report) -> Probabilities:
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
