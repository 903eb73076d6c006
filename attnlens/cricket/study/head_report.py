"""What heads do, as plain data: the document of ``attnlens heads --json``.

Every figure that has an interval has it beside it under the same name with ``_ci``: 95%,
whole matches resampled. What could not be measured is null.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from attnlens.analysis.heads import Estimates
from attnlens.arrays import Floats
from attnlens.cricket.explain.reading import SITES, SLOT_SITE
from attnlens.cricket.model.heads import (
    QUESTIONS,
    SCALE_QUESTIONS,
    SCALES,
    UNNAMED,
    UNSPECIALISED,
    head_key,
)
from attnlens.cricket.model.predictor import FUSED, FullModel
from attnlens.cricket.model.relation_attention import (
    STARTING_PATTERNS,
    RelationAttention,
    starting_table,
)
from attnlens.cricket.model.relations import RELATIONS
from attnlens.cricket.model.within_ball import SLOTS
from attnlens.cricket.study.figures import Figure, told
from attnlens.cricket.study.head_looks import NEAR
from attnlens.cricket.study.heads import HeadStudy, Hiding, Importance, Named, name_heads
from attnlens.show.numbers import rounded


@dataclass(frozen=True, slots=True)
class Bias:
    """The learnt bias of a head for a relation, and what it was at the start."""

    relation: str
    value: float
    start: float


@dataclass(frozen=True, slots=True)
class Paid:
    """A share of past attention, and how many times what even attention would pay."""

    share: Figure
    lift: Figure


@dataclass(frozen=True, slots=True)
class ByDistance:
    """What a head's profile over distance alone would pay, and the head over that."""

    share: float | None
    lift: Figure


@dataclass(frozen=True, slots=True)
class RelationRow:
    """What a head pays to the balls of a relation; see `attnlens.cricket.study.heads.Focus`."""

    relation: str
    uniform: float | None
    share: Figure
    lift: Figure
    bias_only: Paid
    content_only: Paid
    by_distance: ByDistance
    departure_nats: float | None
    hiding: Hiding | None


@dataclass(frozen=True, slots=True)
class Looking:
    """What a head or a slot looks at, and what it is worth.

    Attributes:
        bias_share: how much of the preference among balls is built in.
        self_attention: weight on the current ball itself, or on nothing.
    """

    biases: list[Bias]
    bias_share: Figure
    self_attention: Figure
    relations: list[RelationRow]
    importance: Importance


@dataclass(frozen=True, slots=True)
class Head(Looking):
    """One head of a scale, the pattern it started with and the name it has earned."""

    head: str
    number: int
    pattern: str
    earned: str
    question: str


@dataclass(frozen=True, slots=True)
class Slot(Looking):
    """One slot inside the ball, what it reads and how many balls it sees on average."""

    slot: str
    reads: str
    visible: float | None


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
class Source:
    """One of the vectors that the prediction is mixed from."""

    source: str
    weight: Figure
    importance: Importance


@dataclass(frozen=True, slots=True)
class HeadReport:
    """Every head, slot and fusion gate of a predictor; empty lists where no ball was sampled."""

    balls: int
    matches: int
    relations: list[str]
    nearest: dict[str, int]
    scales: list[Scale]
    slots: list[Slot]
    fusion: list[Source]


def head_report(study: HeadStudy, *, report: Callable[[str], None] = lambda _: None) -> HeadReport:
    """Every head, slot and fusion gate of a study's predictor."""
    names = name_heads(study, report=report)
    sampled = bool(len(study.sample))
    scales = _scales(study, names, report) if sampled else []
    report("importance of slots and gates")
    return HeadReport(
        balls=len(study.sample),
        matches=len(set(study.sample.matches)),
        relations=list(RELATIONS),
        nearest=dict(NEAR),
        scales=scales,
        slots=_ranked(_slots(study)) if sampled else [],
        fusion=_ranked(_fusion(study)) if sampled else [],
    )


R = TypeVar("R", Head, Slot, Source)


def _ranked(rows: Sequence[R]) -> list[R]:
    """The rows with their ranks: 1 for the one whose ablation moves the prediction most."""
    nats = [row.importance.nats.value or 0.0 for row in rows]
    order = sorted(range(len(rows)), key=lambda place: -nats[place])
    return [
        replace(row, importance=replace(row.importance, rank=order.index(place) + 1))
        for place, row in enumerate(rows)
    ]


def _scales(
    study: HeadStudy, names: dict[str, list[Named]], report: Callable[[str], None]
) -> list[Scale]:
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
    named = names[number]
    pattern = STARTING_PATTERNS[number] if number < len(STARTING_PATTERNS) else None
    asked = pattern or UNNAMED if named.earned == UNSPECIALISED else named.earned
    start = starting_table(len(names))[number].tolist()
    looking = _looking(study, scale, SITES[scale], number, len(names), start, named)
    return Head(
        *looking,
        head=head_key(number, pattern),
        number=number,
        pattern=pattern or UNNAMED,
        earned=named.earned,
        question=QUESTIONS[asked],
    )


def _slots(study: HeadStudy) -> list[Slot]:
    start = [0.0] * len(RELATIONS)
    return [
        Slot(
            *_looking(study, f"slots.{slot}", SLOT_SITE, number, len(SLOTS), start),
            slot=slot,
            reads=reads,
            visible=told(study.passed.looks[f"slots.{slot}"].visible.sum(-1).mean()),
        )
        for number, (slot, reads) in enumerate(SLOTS.items())
    ]


def _looking(
    study: HeadStudy,
    name: str,
    site: str,
    number: int,
    count: int,
    start: Sequence[float],
    named: Named | None = None,
) -> tuple[list[Bias], Figure, Figure, list[RelationRow], Importance]:
    """The fields of `Looking`, in order.

    Args:
        name: of its looks; those of a slot are its own, those of a scale all heads'.
        number, count: which of how many heads of the site.
        start: its biases before training.
    """
    looks = study.passed.looks[name]
    place = number if looks.own.shape[1] > 1 else 0
    learnt = bias_table(study.model, site)[number].tolist()
    tests = {} if named is None else named.tests
    return (
        [
            Bias(relation, rounded(value), rounded(first))
            for relation, value, first in zip(RELATIONS, learnt, start, strict=True)
        ],
        Figure.of(study.bootstrap.mean(looks.bias_share[:, place])),
        Figure.of(study.bootstrap.mean(looks.own[:, place])),
        [_relation(study, name, place, column, tests.get(column))
         for column in range(len(RELATIONS))],
        study.importance(site, number, count),
    )  # fmt: skip


def bias_table(model: FullModel, site: str) -> Floats:
    """The learnt biases of an attention module, ``(head, relation)``."""
    attention = model.get_submodule(site)
    assert isinstance(attention, RelationAttention)
    table: Floats = attention.bias.detach().double().numpy()
    return table


def _relation(
    study: HeadStudy, name: str, head: int, column: int, test: Hiding | None
) -> RelationRow:
    focus, at = study.focus[name], (head, column)

    def paid(share: Estimates, lift: Estimates) -> Paid:
        return Paid(Figure.of(share, at), Figure.of(lift, at))

    return RelationRow(
        relation=RELATIONS[column],
        uniform=told(focus.uniform[at]),
        share=Figure.of(focus.full, at),
        lift=Figure.of(focus.lift, at),
        bias_only=paid(focus.bias_only, focus.bias_lift),
        content_only=paid(focus.content_only, focus.content_lift),
        by_distance=ByDistance(told(focus.by_distance[at]), Figure.of(focus.beyond, at)),
        departure_nats=told(focus.departure[at]),
        hiding=test,
    )


def _fusion(study: HeadStudy) -> list[Source]:
    weights = study.bootstrap.mean(study.passed.gates)
    return [
        Source(source, Figure.of(weights, (number,)), study.source_importance(source))
        for number, source in enumerate(FUSED)
    ]
