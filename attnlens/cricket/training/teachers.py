"""Teachers: what a stronger model says of the training balls, for the predictor to learn from.

The predictor learns from probabilities beside outcomes (Hinton, Vinyals and Dean 2015,
"Distilling the Knowledge in a Neural Network", https://arxiv.org/abs/1503.02531). A ball's
outcome is one draw; what a teacher says of it has far less noise.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from attnlens._version import VERSION
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.model.batch import training_batch
from attnlens.cricket.model.predictor import FullModel
from attnlens.cricket.model.tensors import InningsArrays
from attnlens.cricket.model.trained import load_predictor
from attnlens.cricket.study.held_out import EncodedInnings
from attnlens.cricket.training.baselines import ROUNDS, BaselineError, TreeSettings, out_of_fold
from attnlens.cricket.training.course import fingerprint
from attnlens.cricket.training.features import FADING, SHRINKAGE, feature_table
from attnlens.cricket.training.fit import Probabilities
from attnlens.cricket.training.processes import ALONE, Processes
from attnlens.errors import CheckpointError, InputError
from attnlens.files import check_writable, written_beside

Report = Callable[[str], None]

TREES: Final = "boosted_trees"

TEACHER: Final = TreeSettings(learning_rate=0.08, leaves=15, columns=0.4, fewest_balls=200)
"""Smaller trees than the baseline's: as good on validation, and grown in half the time."""


FOLDS: Final = 3
"""Parts of the matches; each is asked about by trees that were fitted on the others."""


def check_teachers(names: Sequence[str], keep: Path | None = None) -> dict[str, str]:
    """Whether `teach` could ask these teachers: said before the work, not after it.

    Args:
        keep: see `teach`.

    Returns:
        who they are, for `attnlens.cricket.training.course.check_state`.

    Raises:
        InputError: LightGBM is missing, or ``keep`` cannot be written.
        CheckpointError: a checkpoint, or what was kept, cannot be read.
    """
    if names and keep is not None:
        check_writable(keep)
        if keep.exists():
            _kept(keep)
    return {"teachers": repr([_teacher(name) for name in names])}


def _teacher(name: str) -> tuple[str, ...]:
    """Which teacher it is, and of which version."""
    if name != TREES:
        return ("checkpoint", load_predictor(name).sha256)
    if find_spec("lightgbm") is None:
        raise InputError(
            f"--teacher {name}: lightgbm is not installed", remedy="pip install 'attnlens[dev]'"
        )
    return (TREES, repr((TEACHER, ROUNDS, FOLDS)), version("lightgbm"))


def question_of(
    names: Sequence[str],
    innings: Sequence[EncodedInnings],
    *,
    seed: int,
) -> str:
    """A fingerprint of all that an answer of `teach` depends on; the arguments are its own.

    It holds the teachers and their versions, the seed, the features' names, which innings they
    are, and every ball of their matches. What is computed from these is left out: its last
    digits change with the number of threads.
    """
    columns = feature_table(innings[:1]).names if TREES in names else ()
    matches = {one.match_id: one.match.content for one in innings}
    return fingerprint(
        (VERSION, seed, [_teacher(name) for name in names], columns, SHRINKAGE, FADING),
        [(one.match_id, one.innings) for one in innings],
        *matches.values(),
    )


def teach(
    names: Sequence[str],
    innings: Sequence[EncodedInnings],
    *,
    seed: int,
    threads: int = 1,
    keep: Path | None = None,
    report: Report = lambda _: None,
    among: Processes = ALONE,
) -> list[Probabilities]:
    """The mean of what the teachers say of each innings to learn from, ``(ball, 11)`` each.

    Args:
        names: ``boosted_trees`` (trees on every running total, asked only about matches that
            they were not fitted on: three folds) or the path of a checkpoint trained on the
            same matches.
        innings: those for training, in order of date.
        keep: a file to keep the answer in, and to take it from when it is there and answers
            the same question (`question_of`).
        among: the processes of the run: the first one asks, and tells the others.

    Raises:
        InputError: LightGBM is missing, or the matches are too few to fit trees on.
        CheckpointError: a checkpoint, or what was kept, cannot be read.
    """
    counts = [len(one.arrays) for one in innings]

    def answer() -> Probabilities:
        question = question_of(names, innings, seed=seed)
        mark = np.frombuffer(bytes.fromhex(question), np.uint8)
        if keep is not None and keep.exists():
            known, kept = _kept(keep)
            if np.array_equal(known, mark) and kept.shape == (sum(counts), len(OUTCOMES)):
                return kept
            report(f"{keep} answers another question (matches, settings or versions): asking anew")
        said = _answers(names, innings, seed, threads, report)
        if keep is not None:
            with written_beside(keep) as part, part.open("wb") as file:
                np.savez(file, mark=mark, said=said)
        return said

    return np.split(among.from_first(answer), np.cumsum(counts)[:-1])


def _answers(
    names: Sequence[str],
    innings: Sequence[EncodedInnings],
    seed: int,
    threads: int,
    report: Report,
) -> Probabilities:
    """The teachers' mean for every ball to learn from, ``(ball, 11)``."""
    said = np.zeros((sum(len(one.arrays) for one in innings), len(OUTCOMES)))
    for name in names:
        report(f"asking the teacher {name}")
        if name != TREES:
            said += asked(load_predictor(name).model, [one.arrays for one in innings])
            continue
        try:
            said += out_of_fold(
                feature_table(innings),
                rounds=ROUNDS,
                folds=FOLDS,
                settings=replace(TEACHER, threads=threads),
                seed=seed,
                report=report,
            )
        except BaselineError as error:
            remedy = "pip install 'attnlens[dev]'" if "installed" in str(error) else None
            raise InputError(f"--teacher {name}: {error}", remedy=remedy) from None
    return (said / len(names)).astype(np.float32)


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


def _kept(keep: Path) -> tuple[Any, Probabilities]:
    """The mark and the probabilities of a file that `teach` wrote."""
    try:
        with keep.open("rb") as file, np.load(file) as kept:
            return kept["mark"], kept["said"].astype(np.float32)
    except (AttributeError, EOFError, KeyError, OSError, TypeError, ValueError, zipfile.BadZipFile):
        raise CheckpointError("is not what a teacher said", path=keep, remedy="remove it") from None
