"""The teacher: what boosted trees say of the training balls, for the predictor to learn from.

The predictor learns from probabilities beside outcomes (Hinton, Vinyals and Dean 2015,
"Distilling the Knowledge in a Neural Network", https://arxiv.org/abs/1503.02531). A ball's
outcome is one draw; what a teacher says of it has far less noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Final

import numpy as np

from attnlens.cricket.study.held_out import EncodedInnings
from attnlens.cricket.training.baselines import ROUNDS, BaselineError, TreeSettings, out_of_fold
from attnlens.cricket.training.features import feature_table
from attnlens.cricket.training.fit import Probabilities
from attnlens.cricket.training.processes import Processes
from attnlens.errors import InputError

Report = Callable[[str], None]

TREES: Final = "boosted_trees"

TEACHER: Final = TreeSettings(learning_rate=0.08, leaves=15, columns=0.4, fewest_balls=200)
"""Smaller trees than the baseline's: as good on validation, and grown in half the time."""


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
    innings: Sequence[EncodedInnings],
    *,
    seed: int,
    threads: int,
    report: Report,
    among: Processes,
) -> list[Probabilities]:
    """What trees on every running total say of each innings to learn from, ``(ball, 11)`` each.

    They are asked only about matches that they were not fitted on: three folds.

    Args:
        innings: those for training, in order of date.
        among: the processes of the run: the first one asks, and tells the others.

    Raises:
        InputError: the matches are too few to fit trees on.
    """

    def answer() -> Probabilities:
        report(f"asking the teacher {TREES}")
        try:
            return out_of_fold(
                feature_table(innings),
                rounds=ROUNDS,
                settings=replace(TEACHER, threads=threads),
                seed=seed,
                report=report,
            ).astype(np.float32)
        except BaselineError as error:
            raise InputError(f"--teacher {TREES}: {error}") from None

    counts = [len(one.arrays) for one in innings]
    return np.split(among.from_first(answer), np.cumsum(counts)[:-1])
