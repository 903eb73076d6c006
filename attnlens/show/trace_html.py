"""A traced forward pass as one HTML page of small heat maps.

Blue is above nothing, orange below, the stronger the further; wherever there is room the number
itself stands in its cell, and every cell says it in words, so that nothing is told by colour alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from attnlens.show.heat_map import Cell, Column, HeatMap, Row
from attnlens.show.page import render_page
from attnlens.show.trace import Number, Table, number, retraced_words, shape_of, tables
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.symbolic.trace import Trace, Value

WIDE, NARROW, HEIGHT = 52.0, 14.0, 20.0
"""Sizes of a cell that shows its number and of one that does not, in pixels."""

NUMBERS_UP_TO: Final = 12
"""Of more columns the cells are narrow, and hold no number."""

MOST_ROWS, MOST_COLUMNS, MOST_MAPS = 16, 48, 8


@dataclass(frozen=True, slots=True)
class Step:
    """One value of the pass as the page shows it: its maps, each under its caption."""

    symbol: str
    heading: str
    shape: str
    description: str
    maps: list[tuple[str, HeatMap]]
    more: int


def render_trace_html(trace: Trace) -> str:
    """The page, without a final line break."""
    values = [*trace.inputs, *trace.steps]
    return render_page(
        "trace.html",
        title=f"{trace.name}, step by step",
        styles=("trace.css",),
        about=trace.about,
        retraced=retraced_words(trace),
        steps=[_step(trace, value, place) for place, value in enumerate(values)],
    )


def _step(trace: Trace, value: Value, place: int) -> Step:
    blocks = list(tables(trace, value))
    most = max(
        (abs(_finite(one)) for block in blocks for row in block.rows for one in row),
        default=0.0,
    )
    maps = [
        (_caption(block), _heat_map(block, most, f"step-{place}-{at}", value))
        for at, block in enumerate(blocks[:MOST_MAPS])
    ]
    return Step(
        symbol=value.symbol,
        heading=value.equation or value.symbol,
        shape=shape_of(value),
        description=value.description,
        maps=maps,
        more=len(blocks) - len(maps),
    )


def _finite(value: Number) -> float:
    """A number; nothing for one that is not finite."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def _caption(block: Table) -> str:
    """What a table is of, and how much of it is not drawn."""
    rows, columns = len(block.rows), len(block.rows[0]) if block.rows else 0
    left_out = [
        count(size - most, noun)
        for size, most, noun in ((rows, MOST_ROWS, "row"), (columns, MOST_COLUMNS, "column"))
        if size > most
    ]
    more = f"{' and '.join(left_out)} more" if left_out else ""
    return ", ".join(filter(None, (block.title, more)))


def _heat_map(block: Table, most: float, anchor: str, value: Value) -> HeatMap:
    """One table, its numbers beside the largest of the same value."""
    columns = len(block.rows[0]) if block.rows else 0
    printed = columns <= NUMBERS_UP_TO
    labels = block.column_labels or [""] * columns
    rows = []
    for place, row in enumerate(block.rows[:MOST_ROWS]):
        label = block.row_labels[place] if block.row_labels else ""
        cells = []
        for at, one in enumerate(row[:MOST_COLUMNS]):
            shown = number(one)
            where = f"{label or f'row {place + 1}'}, {labels[at] or f'column {at + 1}'}"
            cells.append(
                Cell.either(_finite(one), most, f"{where}: {shown}", shown if printed else "")
            )
        rows.append(Row(label, cells))
    what = ", ".join(filter(None, (value.symbol, value.description, block.title)))
    return HeatMap(
        anchor=anchor,
        title=what,
        told=f"{count(len(block.rows), 'row')}, {count(columns, 'column')}",
        columns=[Column(label if printed else "") for label in labels[:MOST_COLUMNS]],
        rows=rows,
        width=WIDE if printed else NARROW,
        height=HEIGHT,
        upright=False,
    )
