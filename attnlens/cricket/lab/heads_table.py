"""What heads do, for a terminal: per scale a table of heads, then slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from attnlens.cricket.lab.faithfulness_table import add_opening
from attnlens.cricket.predictor.heads import UNNAMED, UNSPECIALISED
from attnlens.render.canvas import Line, Page, terminal_page
from attnlens.render.numbers import interval, number, percent
from attnlens.render.table import Cell, Column, Words, add_table

if TYPE_CHECKING:
    from attnlens.cricket.lab.head_report import Bias, Head, HeadReport, Scale, Slot
    from attnlens.cricket.lab.heads import Importance

FAVOURED: Final = 1.25
"""A relation is listed where the lift's lower end is at least this."""

LEAST_BIAS: Final = 0.05
MOST_BIASES: Final = 4
"""Biases that are told on a page: all that began as something, and the largest others."""

MEASURES: Final = (
    Column("moves", min_width=6),
    Column("matters"),
    Column("KL", min_width=6),
    Column("rank", min_width=5),
)
HEADS: Final = (
    Words("head", min_width=7),
    Words("earned the name", min_width=16),
    Words("started as", min_width=13, style="quiet"),
    Column("bias"),
    Column("self"),
    *MEASURES,
)
LEGEND: Final = (
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
def render_heads(page: Page, shown: HeadReport) -> None:
    """The document of ``attnlens lab heads``."""
    add_opening(page, shown, f"what the heads of {shown.model.name} do, over")
    for scale in shown.scales:
        _scale(page, scale)
    _slots(page, shown.slots)
    for line in LEGEND:
        page.paragraph(line, "quiet")


def _words(name: str) -> str:
    return name.replace("_", " ")


def _percent(value: float | None, digits: int = 0) -> str:
    return "" if value is None else percent(value, digits)


def _measures(importance: Importance) -> list[Cell]:
    """Cells under `MEASURES`; KL in thousandths of a nat."""
    nats = importance.nats.value
    return [
        number(importance.points.value),
        _percent(importance.matters.value),
        number(None if nats is None else 1000 * nats),
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

    add_table(page, HEADS, rows, below=below)
    page.blank()


def _looks_at(page: Page, head: Head) -> None:
    """The relations a head favours, the most telling first, with what hiding them did."""
    favoured = [
        row for row in head.relations if row.lift.ci is not None and row.lift.ci[0] >= FAVOURED
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
    told = [row for row in biases if row.start or abs(row.value) >= LEAST_BIAS]
    told.sort(key=lambda row: (-abs(row.start), -abs(row.value)))
    words = [
        f"{_words(row.relation)} {row.value:+.2f}"
        + (f" (began {row.start:+.2f})" if row.start else "")
        for row in told[:MOST_BIASES]
    ]
    page.paragraph(f"learnt biases: {', '.join(words) or 'none'}", "quiet", indent=6)


def _slots(page: Page, slots: Sequence[Slot]) -> None:
    page.paragraph("slots inside the ball, each over its own past balls", "heading", indent=0)
    rows = [[_words(slot.slot), *_measures(slot.importance)] for slot in slots]

    def below(row: int) -> None:
        page.paragraph(f"reads {slots[row].reads}", "quiet", indent=6)

    add_table(page, [Words("slot", min_width=17), *MEASURES], rows, below=below)
    page.blank()
