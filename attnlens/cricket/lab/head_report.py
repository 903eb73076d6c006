"""What heads do, as plain data: the document of ``attnlens lab heads --json``.

Every figure that has an interval has it beside it under the same name with ``_ci``: 95%,
whole matches resampled. What could not be measured is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from attnlens.cricket.explain.reading import SITES, SLOT_SITE
from attnlens.cricket.lab.figures import Figure, told
from attnlens.cricket.lab.head_looks import NEAR
from attnlens.cricket.lab.heads import HeadStudy, Importance, Named, RelationRow, name_heads
from attnlens.cricket.lab.held_out import Checkpoint, HeldOut
from attnlens.cricket.lab.sampling import BEFORE
from attnlens.cricket.predictor.heads import (
    QUESTIONS,
    SCALE_QUESTIONS,
    SCALES,
    UNNAMED,
    UNSPECIALISED,
    head_key,
)
from attnlens.cricket.predictor.predictor import FUSED
from attnlens.cricket.predictor.relations import (
    RELATIONS,
    STARTING_PATTERNS,
    RelationAttention,
    starting_table,
)
from attnlens.cricket.predictor.temporal import SLOTS
from attnlens.cricket.predictor.window import one_thread
from attnlens.cricket.readers.history import Report, silent
from attnlens.errors import InputError
from attnlens.render.numbers import rounded


@dataclass(frozen=True, slots=True)
class Bias:
    """The learnt bias of a head for a relation, and what it was at the start."""

    relation: str
    value: float
    start: float


@dataclass(frozen=True, slots=True)
class Head:
    """One head of a scale.

    Attributes:
        pattern: what it started with.
        earned: the name it has earned.
        bias_share: how much of the preference among balls is built in.
        self_attention: weight on the current ball itself.
    """

    head: str
    number: int
    pattern: str
    earned: str
    question: str
    biases: list[Bias]
    bias_share: Figure
    self_attention: Figure
    relations: list[RelationRow]
    importance: Importance


@dataclass(frozen=True, slots=True)
class Slot:
    """One slot inside the ball, and what it reads."""

    slot: str
    reads: str
    importance: Importance


@dataclass(frozen=True, slots=True)
class Scale:
    """The heads of a scale, and its weight in the prediction's mix."""

    scale: str
    question: str
    window: int
    unit: str
    weight: float | None
    heads: list[Head]


@dataclass(frozen=True, slots=True)
class HeadReport:
    """The document of ``attnlens lab heads``: every head and slot of a predictor."""

    model: Checkpoint
    dates: tuple[str | None, str | None]
    notes: tuple[str, ...]
    seed: int
    balls: int
    matches: int
    relations: list[str]
    nearest: dict[str, int]
    scales: list[Scale]
    slots: list[Slot]


@one_thread()
def head_report(held: HeldOut, *, balls: int, seed: int = 5, report: Report = silent) -> HeadReport:
    """Every head and slot, measured on a sample of balls.

    Raises:
        InputError: no ball has 36 before it.
    """
    study = HeadStudy(held.predictor.model, list(held.innings(report)), balls=balls, seed=seed)
    if not len(study.sample):
        raise InputError(f"no ball has {BEFORE} before it", remedy="give longer innings")
    names = name_heads(study, report=report)
    scales = _scales(study, names, report)
    report("importance of slots")
    slots = [
        Slot(slot, reads, study.importance(SLOT_SITE, number, len(SLOTS)))
        for number, (slot, reads) in enumerate(SLOTS.items())
    ]
    return HeadReport(
        model=held.checkpoint,
        dates=held.dates,
        notes=held.notes,
        seed=seed,
        balls=len(study.sample),
        matches=len(set(study.sample.matches)),
        relations=list(RELATIONS),
        nearest=dict(NEAR),
        scales=scales,
        slots=_ranked(slots),
    )


R = TypeVar("R", Head, Slot)


def _ranked(rows: Sequence[R]) -> list[R]:
    """The rows with their ranks: 1 for the one whose ablation moves the prediction most."""
    nats = [row.importance.nats.value or 0.0 for row in rows]
    order = sorted(range(len(rows)), key=lambda place: -nats[place])
    return [
        replace(row, importance=replace(row.importance, rank=order.index(place) + 1))
        for place, row in enumerate(rows)
    ]


def _scales(study: HeadStudy, names: dict[str, list[Named]], report: Report) -> list[Scale]:
    heads: list[Head] = []
    for scale in SITES:
        report(f"importance of heads: {scale}")
        heads += [_head(study, scale, number, names[scale]) for number in range(len(names[scale]))]
    ranked = iter(_ranked(heads))
    return [
        Scale(
            scale=scale,
            question=SCALE_QUESTIONS[scale],
            window=SCALES[scale],
            unit="overs" if scale == "long" else "balls",
            weight=told(study.passed.gates[:, FUSED.index(scale)].mean()),
            heads=[next(ranked) for _ in names[scale]],
        )
        for scale in SITES
    ]


def _head(study: HeadStudy, scale: str, number: int, names: Sequence[Named]) -> Head:
    named, looks = names[number], study.passed.looks[scale]
    pattern = STARTING_PATTERNS[number] if number < len(STARTING_PATTERNS) else None
    asked = pattern or UNNAMED if named.earned == UNSPECIALISED else named.earned
    attention = study.model.get_submodule(SITES[scale])
    assert isinstance(attention, RelationAttention)
    learnt = attention.bias[number].detach().double().tolist()
    start = starting_table(len(names))[number].tolist()
    return Head(
        head=head_key(number, pattern),
        number=number,
        pattern=pattern or UNNAMED,
        earned=named.earned,
        question=QUESTIONS[asked],
        biases=[
            Bias(relation, rounded(value), rounded(first))
            for relation, value, first in zip(RELATIONS, learnt, start, strict=True)
        ],
        bias_share=Figure.of(study.bootstrap.mean(looks.bias_share[:, number])),
        self_attention=Figure.of(study.bootstrap.mean(looks.own[:, number])),
        relations=[
            replace(row, hiding=named.tests.get(column))
            for column, row in enumerate(study.rows[scale][number])
        ],
        importance=study.importance(SITES[scale], number, len(names)),
    )
