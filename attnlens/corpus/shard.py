"""One part of a corpus, from its matches to the bytes of its files: the same wherever it runs.

A `PartWorker` is made once in each process, or Ray actor; a `PartWork` goes in and a `PartDone`
comes out, both small. Nothing is written here.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import torch

from attnlens.corpus.evidence_rows import sampled, tested_rows
from attnlens.corpus.measures import InningsMeasures, measure
from attnlens.corpus.plan import Entry, Part, Skipped, skipped_by
from attnlens.corpus.rows import Side, ball_rows, head_rows, match_row, sides_of
from attnlens.corpus.schema import TABLES, TESTED, Columns, parquet_of
from attnlens.cricket.ratings import Ratings
from attnlens.cricket.readers import MatchShelf
from attnlens.cricket.trained import TrainedPredictor, load_predictor
from attnlens.cricket.window import one_thread
from attnlens.errors import InputError, MatchFileError


@dataclass(frozen=True, slots=True)
class Task:
    """What every part of a corpus is worked out with.

    Attributes:
        model: a checkpoint, or the name of a shipped one.
        sha256: of the checkpoint: other weights are refused.
        tested: whether balls are sampled for evidence.
        seed: of that sample.
        device: ``cpu`` or ``cuda``.
    """

    model: str | None
    sha256: str
    tested: bool = False
    seed: int = 5
    device: str = "cpu"

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that each part writes."""
        return tuple(name for name in TABLES if self.tested or name not in TESTED)


@dataclass(frozen=True, slots=True)
class PartWork:
    """A part to work out.

    Attributes:
        ratings: by match id, the ratings of the day before it; for a match that is not in it,
            the checkpoint's own.
    """

    part: Part
    ratings: Mapping[str, Ratings] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartDone:
    """A part worked out.

    Attributes:
        name, digest: of the part.
        tables: the bytes of each table's file.
        matches, balls, tested: how many it holds.
        skipped: its matches that could not be read.
    """

    name: str
    year: int
    digest: str
    tables: dict[str, bytes]
    matches: int
    balls: int
    tested: int
    skipped: tuple[Skipped, ...]


def check_device(device: str) -> None:
    """Whether this machine has a device.

    Raises:
        InputError: it has none.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: torch finds no GPU here", remedy="use --device cpu")


class PartWorker:
    """Works out parts, one after the other, on one thread.

    Args:
        predictor: the task's, where it is at hand.

    Raises:
        InputError: the checkpoint is another than the task's, or there is no such device.
    """

    def __init__(self, task: Task, predictor: TrainedPredictor | None = None) -> None:
        check_device(task.device)
        self.task = task
        self.predictor = load_predictor(task.model) if predictor is None else predictor
        if self.predictor.sha256 != task.sha256:
            raise InputError(
                "is another checkpoint than the corpus was begun with",
                path=task.model or self.predictor.name,
                remedy="give that one to every machine",
            )
        self.device = torch.device(task.device)
        # Evidence is many small passes, which a GPU has no use for: the predictor stays.
        model = self.predictor.model
        self._model = copy.deepcopy(model).to(self.device) if self.device.type == "cuda" else model
        self._shelf = MatchShelf()

    @one_thread()
    def __call__(self, work: PartWork) -> PartDone:
        """The part's tables."""
        skipped: list[Skipped] = []
        rows: dict[str, list[Columns]] = {name: [] for name in self.task.tables}
        sides = []
        for entry in work.part.entries:
            try:
                match = self._shelf.match(entry.file, entry.match_id if entry.several else None)
            except MatchFileError as error:
                skipped.append(skipped_by(error))
                continue
            predictor = self.predictor
            if match.match_id in work.ratings:
                predictor = replace(predictor, ratings=work.ratings[match.match_id])
            told = list(sides_of(match, predictor))
            rows["matches"].append(match_row(match, entry.file, entry.sha256, predictor))
            sides += [(side, entry) for side in told]
        read = [side for side, _ in sides]
        for side, found in zip(read, self._measured(read), strict=True):
            rows["balls"].append(ball_rows(side, found))
            rows["heads"].append(head_rows(side, found))
        tested = self._tested(sides, rows) if self.task.tested else 0
        return PartDone(
            work.part.name,
            work.part.year,
            work.part.digest,
            {name: parquet_of(name, columns) for name, columns in rows.items()},
            len(rows["matches"]),
            sum(len(side.arrays) for side in read),
            tested,
            tuple(skipped),
        )

    def close(self) -> None:
        """Close the files that are open."""
        self._shelf.close()

    def _measured(self, sides: Sequence[Side]) -> list[InningsMeasures]:
        return measure(self._model, [side.arrays for side in sides], self.device)

    def _tested(self, sides: Sequence[tuple[Side, Entry]], rows: dict[str, list[Columns]]) -> int:
        """Add the sampled balls' rows; how many balls they were."""
        balls = 0
        for _, group in groupby(sides, key=lambda one: one[0].match.match_id):
            of_match = list(group)
            told = [side for side, _ in of_match]
            for side, index in sampled(told, of_match[0][1].tested, self.task.seed):
                for name, columns in zip(TESTED, tested_rows(side, index), strict=True):
                    rows[name].append(columns)
                balls += 1
        return balls
