"""Teachers: what a stronger model says of the training balls, for the predictor to learn from.

The predictor learns from probabilities beside outcomes (Hinton, Vinyals and Dean 2015,
"Distilling the Knowledge in a Neural Network", https://arxiv.org/abs/1503.02531). A ball's
outcome is one draw; what a teacher says of it has far less noise.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from attnlens.cricket.batch import training_batch
from attnlens.cricket.match import Match
from attnlens.cricket.outcomes import OUTCOMES
from attnlens.cricket.tensors import InningsArrays
from attnlens.cricket.trained import load_predictor
from attnlens.errors import CheckpointError, InputError
from attnlens.files import written_beside
from attnlens.models.predictor import FullModel
from attnlens.training.baselines import ROUNDS, BaselineError, TreeSettings, out_of_fold
from attnlens.training.dataset import TrainingInnings
from attnlens.training.form import feature_table

Probabilities = np.ndarray[Any, np.dtype[np.float32]]
Report = Callable[[str], None]

TREES: Final = "boosted_trees"

TEACHER: Final = TreeSettings(learning_rate=0.08, leaves=15, columns=0.4, fewest_balls=200)
"""Smaller trees than the baseline's: as good on validation, and grown in half the time."""


def check_teachers(names: Sequence[str]) -> None:
    """Whether `teach` could ask these teachers: said before the work, not after it.

    Raises:
        InputError: LightGBM is missing.
        CheckpointError: a checkpoint cannot be read.
    """
    for name in names:
        if name != TREES:
            load_predictor(name)
        elif find_spec("lightgbm") is None:
            raise InputError(
                f"--teacher {name}: lightgbm is not installed", remedy="pip install 'attnlens[dev]'"
            )


def teach(
    names: Sequence[str],
    matches: Sequence[Match],
    innings: Sequence[TrainingInnings],
    learns: Callable[[TrainingInnings], bool],
    *,
    seed: int,
    threads: int = 1,
    keep: Path | None = None,
    writes: bool = True,
    report: Report = lambda _: None,
) -> list[Probabilities]:
    """The mean of what the teachers say of each innings to learn from, ``(ball, 11)`` each.

    Args:
        names: ``boosted_trees`` (trees on every running total, asked only about matches that
            they were not fitted on: three folds) or the path of a checkpoint trained on the
            same matches.
        matches: those the innings are of.
        innings: all of them, in order of date.
        learns: which ones are for training.
        keep: a file to keep the answer in, and to take it from when it is there and was made
            for the same names, seed and matches.
        writes: whether this process writes ``keep``.

    Raises:
        InputError: LightGBM is missing, or the matches are too few to fit trees on.
        CheckpointError: a checkpoint, or what was kept, cannot be read.
    """
    chosen = [one for one in innings if learns(one)]
    counts = [len(one.arrays) for one in chosen]
    about = hashlib.sha256(repr((names, seed, [one.match_id for one in chosen])).encode())
    mark = np.frombuffer(about.digest(), np.uint8)
    if keep is not None and keep.exists():
        known, kept = _kept(keep)
        if np.array_equal(known, mark) and kept.shape == (sum(counts), len(OUTCOMES)):
            return _split(kept, counts)
    said = np.zeros((sum(counts), 0))
    for name in names:
        report(f"asking the teacher {name}")
        if name == TREES:
            table = feature_table(matches, innings)
            rows = np.repeat([learns(one) for one in innings], [len(o.arrays) for o in innings])
            try:
                answer = out_of_fold(
                    table.rows(rows),
                    rounds=ROUNDS,
                    settings=replace(TEACHER, threads=threads),
                    seed=seed,
                    report=report,
                )
            except BaselineError as error:
                remedy = "pip install 'attnlens[dev]'" if "installed" in str(error) else None
                raise InputError(f"--teacher {name}: {error}", remedy=remedy) from None
        else:
            told = asked(load_predictor(name).model, [one.arrays for one in chosen])
            answer = told.astype(np.float64)
        said = answer if not said.size else said + answer
    mean = (said / len(names)).astype(np.float32)
    if keep is not None and writes:
        with written_beside(keep) as part, part.open("wb") as file:
            np.savez(file, mark=mark, said=mean)
    return _split(mean, counts)


def asked(model: FullModel, innings: Sequence[InningsArrays], size: int = 16) -> Probabilities:
    """What a model says of every ball of some innings, one after the other, ``(ball, 11)``."""
    model.eval()
    order = sorted(range(len(innings)), key=lambda number: len(innings[number]))
    answers: list[Probabilities] = [np.zeros((0, 0), np.float32)] * len(innings)
    with torch.no_grad():
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            batch, _ = training_batch([innings[row] for row in rows])
            told = model(batch).softmax(-1).numpy()
            for place, row in enumerate(rows):
                answers[row] = told[place, : len(innings[row])]
    return np.concatenate(answers)


def _kept(keep: Path) -> tuple[Any, Any]:
    """The mark and the probabilities of a file that `teach` wrote."""
    try:
        with keep.open("rb") as file, np.load(file) as kept:
            return kept["mark"], kept["said"]
    except (AttributeError, EOFError, KeyError, OSError, TypeError, ValueError, zipfile.BadZipFile):
        raise CheckpointError("is not what a teacher said", path=keep, remedy="remove it") from None


def _split(said: Probabilities, counts: Sequence[int]) -> list[Probabilities]:
    return np.split(said, np.cumsum(counts)[:-1])
