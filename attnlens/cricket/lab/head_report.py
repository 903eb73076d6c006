"""What heads do, as plain data: the document of ``attnlens lab heads --json``.

Every figure that has an interval has it beside it under the same name with ``_ci``: 95%,
whole matches resampled. What could not be measured is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

from attnlens.cricket.explain.reading import SITES, SLOT_SITE
from attnlens.cricket.lab.attention_faithfulness import add_opening
from attnlens.cricket.lab.figures import Figure, told
from attnlens.cricket.lab.head_study import (
    NEAR,
    HeadName,
    HeadStudy,
    Importance,
    RelationRow,
    name_heads,
)
from attnlens.cricket.lab.held_out import CheckpointDates, HeldOut
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
from attnlens.render.canvas import Line, Page, terminal_page
from attnlens.render.numbers import interval, percent, rounded
from attnlens.render.numbers import number as figure_text
from attnlens.render.table import Cell, Column, Words, add_table


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

    model: CheckpointDates
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
    order = sorted(range(len(rows)), key=lambda position: -nats[position])
    return [
        replace(row, importance=replace(row.importance, rank=order.index(index) + 1))
        for index, row in enumerate(rows)
    ]


def _scales(study: HeadStudy, names: dict[str, list[HeadName]], report: Report) -> list[Scale]:
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


def _head(study: HeadStudy, scale: str, number: int, names: Sequence[HeadName]) -> Head:
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


if TYPE_CHECKING:
    from attnlens.cricket.lab.head_report import Bias, Head, HeadReport, Scale, Slot
    from attnlens.cricket.lab.head_study import Importance

_FAVOURED: Final = 1.25
"""A relation is listed where the lift's lower end is at least this."""

_LEAST_BIAS: Final = 0.05
_MOST_BIASES: Final = 4
"""Biases that are told on a page: all that began as something, and the largest others."""

_MEASURES: Final = (
    Column("moves", min_width=6),
    Column("matters"),
    Column("KL", min_width=6),
    Column("rank", min_width=5),
)
_HEADS: Final = (
    Words("head", min_width=7),
    Words("earned the name", min_width=16),
    Words("started as", min_width=13, style="quiet"),
    Column("bias"),
    Column("self"),
    *_MEASURES,
)
_LEGEND: Final = (
    "bias: how much of a head's preference among balls is its learnt bias and not content",
    "self: weight on the current ball itself, the option that nothing in the past matters",
    "x1.50 [1.40, 1.60]: gets 1.5 times what even attention would give; 95% interval, "
    "whole matches resampled",
    "hidden: on how many balls it matters to hide those balls from this head alone; 'no': on "
    "too few, or no more than hiding other balls",
    "moves, matters, KL, rank: with what it says replaced by its average: the largest change "
    "of an outcome in points, on how many balls it matters, thousandths of a nat, the place "
    "among its like",
    "it matters where an outcome moves by half a point or the prediction by 0.0005 nats",
)


@terminal_page(max_width=110)
def render_heads(page: Page, report: HeadReport) -> None:
    """The document of ``attnlens lab heads``."""
    add_opening(page, report, f"what the heads of {report.model.name} do, over")
    for scale in report.scales:
        _scale(page, scale)
    _slots(page, report.slots)
    for line in _LEGEND:
        page.paragraph(line, "quiet")


def _words(name: str) -> str:
    return name.replace("_", " ")


def _percent(value: float | None, digits: int = 0) -> str:
    return "" if value is None else percent(value, digits)


def _measures(importance: Importance) -> list[Cell]:
    """Cells under `_MEASURES`; KL in thousandths of a nat."""
    nats = importance.nats.value
    return [
        figure_text(importance.points.value),
        _percent(importance.matters.value),
        figure_text(None if nats is None else 1000 * nats),
        str(importance.rank),
    ]


def _scale(page: Page, scale: Scale) -> None:
    page.paragraph(
        f"{scale.scale}: {scale.question}; the last {scale.window} {scale.unit}"
        f", {_percent(scale.weight)} of the prediction's mix",
        "heading",
        indent=0,
    )
    rows: list[list[Cell]] = []
    for head in scale.heads:
        start = "free" if head.pattern == UNNAMED else _words(head.pattern)
        style = "quiet" if head.earned == UNSPECIALISED else "supported"
        rows.append(
            [
                f"head {head.number}",
                (_words(head.earned), style),
                start,
                _percent(head.bias_share.value),
                _percent(head.self_attention.value),
                *_measures(head.importance),
            ]
        )

    def below(number: int) -> None:
        head = scale.heads[number]
        _looks_at(page, head)
        _biases(page, head.biases)

    add_table(page, _HEADS, rows, below=below)
    page.blank()


def _looks_at(page: Page, head: Head) -> None:
    """The relations a head favours, the most telling first, with what hiding them did."""
    favoured = [
        row for row in head.relations if row.lift.ci is not None and row.lift.ci[0] >= _FAVOURED
    ]
    if not favoured:
        page.paragraph("favours no relation", "quiet", indent=6)
        return
    items: list[Line] = []
    for row in sorted(favoured, key=lambda row: -(row.departure_nats or 0.0)):
        text = f"{_words(row.relation)} x{row.lift.value:.2f} {interval(row.lift.ci, 2)}"
        test = row.hiding
        if test is not None:
            text += f" hidden: {_percent(test.matters.value)}{'' if test.supports else ' no'}"
        elif not row.beyond_distance:
            text += " (only as near as it is)"
        mark = ";" if len(items) < len(favoured) - 1 else ""
        items.append([(text + mark, "name" if row.relation == head.earned else "quiet")])
    page.flow(items, indent=6, gap=1)


def _biases(page: Page, biases: Sequence[Bias]) -> None:
    told = [row for row in biases if row.start or abs(row.value) >= _LEAST_BIAS]
    told.sort(key=lambda row: (-abs(row.start), -abs(row.value)))
    words = [
        f"{_words(row.relation)} {row.value:+.2f}"
        + (f" (began {row.start:+.2f})" if row.start else "")
        for row in told[:_MOST_BIASES]
    ]
    page.paragraph(f"learnt biases: {', '.join(words) or 'none'}", "quiet", indent=6)


def _slots(page: Page, slots: Sequence[Slot]) -> None:
    page.paragraph("slots inside the ball, each over its own past balls", "heading", indent=0)
    rows = [[_words(slot.slot), *_measures(slot.importance)] for slot in slots]

    def below(row: int) -> None:
        page.paragraph(f"reads {slots[row].reads}", "quiet", indent=6)

    add_table(page, [Words("slot", min_width=17), *_MEASURES], rows, below=below)
    page.blank()
