"""A traced forward pass as tables of numbers for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from attnlens.render.canvas import cut, display_width, pad
from attnlens.render.heat_map import Cell, Column, HeatMap, Row
from attnlens.render.models import shape
from attnlens.render.page import render_page
from attnlens.render.safe import clean, clean_all
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.reference.symbolic.equations import Trace, Value

_MOST_ROWS: Final = 12
"""Of a longer table the first and the last rows are shown."""

_MOST_BLOCKS: Final = 8
"""Of more tables of one value only so many are shown."""

_MAX_CELLS: Final = 16
"""Rows, and columns, of a table in HTML; the rest is in the JSON."""

Number = float | int | bool | str
"""A value; one that is not finite is a text, such as ``-inf``."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values under a heading; labels are empty where they are unknown."""

    title: str
    rows: list[list[Number]]
    row_labels: list[str]
    column_labels: list[str]


def render_trace(trace: Trace, *, width: int = 100) -> str:
    """Every value under its equation.

    Args:
        width: of the page; what is wider is cut, and says so.
    """
    lines = [" ".join(filter(None, (trace.name, trace.about))), ""]
    for value in (*trace.inputs, *trace.steps):
        lines += [*_value_lines(trace, value, width), ""]
    lines.append(retraced_words(trace))
    return "\n".join(clean(line).rstrip() for line in lines)


def render_trace_html(trace: Trace) -> str:
    """Every value under its equation as a page of HTML, each table a heat map with its numbers."""
    steps = []
    for index, value in enumerate((*trace.inputs, *trace.steps)):
        blocks = clean_all(list(tables(trace, value)))
        maps = [
            _heat_map(block, f"value-{index}-{number}")
            for number, block in enumerate(blocks[:_MOST_BLOCKS])
        ]
        cut_off = len(blocks) > _MOST_BLOCKS or max(value.shape, default=0) > _MAX_CELLS
        steps.append(
            {
                "title": clean(value.text or value.symbol),
                "about": clean(f"{shape(value.shape)} {value.description}".rstrip()),
                "maps": maps,
                "more": f"Larger than is shown: {shape(value.shape)}; see --json." * cut_off,
            }
        )
    return render_page(
        "model.html",
        title=clean(trace.name),
        lines=[clean(trace.about)] if trace.about else [],
        tables=[],
        steps=steps,
        closing=clean(retraced_words(trace)),
    )


def _heat_map(table: Table, anchor: str) -> HeatMap:
    rows = [row[:_MAX_CELLS] for row in table.rows[:_MAX_CELLS]]
    numbers = [0.0 if isinstance(value, str) else float(value) for row in rows for value in row]
    largest = max(map(abs, numbers), default=0.0)
    letters = max((display_width(number(value)) for row in rows for value in row), default=1)
    columns = len(rows[0]) if rows else 0
    labels = table.column_labels[:_MAX_CELLS] or [""] * columns
    return HeatMap(
        anchor=anchor,
        title=table.title,
        description=f"{count(len(table.rows), 'row')}, {count(columns, 'column')}",
        columns=[Column(label) for label in labels],
        rows=[
            Row(
                table.row_labels[index] if table.row_labels else "",
                [_cell(value, largest) for value in row],
            )
            for index, row in enumerate(rows)
        ],
        width=10 + 7.0 * letters,
    )


def _cell(value: Number, largest: float) -> Cell:
    signed = 0.0 if isinstance(value, str) else float(value)
    return Cell.either(signed, largest, number(value), number(value))


def retraced_words(trace: Trace) -> str:
    """What working the equations out again has shown."""
    left = trace.unchecked
    checked, every = len(trace.steps) - len(left), len(trace.steps)
    words = "No equation could be worked out again."
    if checked:
        which = "The equation was" if checked == 1 else f"All {checked} equations were"
        if left:
            which = f"{checked} of {every} equations were"
        words = (
            f"{which} worked out again by numpy from the values shown: "
            f"largest difference {trace.difference:.1e}."
        )
    return f"{words} Described, not written as equations: {', '.join(left)}." if left else words


def _value_lines(trace: Trace, value: Value, width: int) -> Iterator[str]:
    heading = value.text or value.symbol
    yield cut(f"{heading}   {shape(value.shape)}   {value.description}".rstrip(), width)
    blocks = list(tables(trace, value))
    for block in blocks[:_MOST_BLOCKS]:
        if block.title:
            yield f"  {block.title}"
        yield from _table_lines(block, width)
    if len(blocks) > _MOST_BLOCKS:
        yield f"  … and {count(len(blocks) - _MOST_BLOCKS, 'table')} more; see --json"


def tables(trace: Trace, value: Value) -> Iterator[Table]:
    """A value as tables: one, or one for every place along the axes before the last two."""
    values, axes = value.plain(), value.axes
    for _ in range(len(axes), 2):
        values, axes = [values], ("", *axes)
    yield from _blocks(axes, values, trace.labels, "")


def _blocks(
    axes: Sequence[str],
    values: list[list[Number]],
    labels: Mapping[str, Sequence[str]],
    title: str,
) -> Iterator[Table]:
    names = _labels(axes[0], len(values), labels)
    if len(axes) == 2:
        across = len(values[0]) if values else 0
        yield Table(title, values, names, _labels(axes[1], across, labels))
        return
    for index, inner in enumerate(values):
        own = f"{axes[0] or 'part'} {names[index] if names else index + 1}"
        nested: list[list[Number]] = inner  # type: ignore[assignment]  # lists within lists
        yield from _blocks(axes[1:], nested, labels, f"{title}, {own}" if title else own)


def _labels(axis: str, size: int, labels: Mapping[str, Sequence[str]]) -> list[str]:
    axis_labels = list(labels.get(axis, ()))
    return axis_labels if len(axis_labels) == size else []


def number(value: Number) -> str:
    """A value as it stands in a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | str):
        return str(value).replace("-", "−")
    text = f"{value:.3f}" if abs(value) < 1000 else f"{value:.3g}"
    # Minus nothing is nothing.
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def _table_lines(block: Table, width: int) -> Iterator[str]:
    """Rows under the labels of their columns, cut in the middle and at the right."""
    rows = block.rows
    indices: list[int | None] = list(range(len(rows)))
    if len(rows) > _MOST_ROWS:
        indices = [*range(_MOST_ROWS - 4), None, *range(len(rows) - 3, len(rows))]
    cells = {at: [number(value) for value in rows[at]] for at in indices if at is not None}
    across = len(rows[0]) if rows else 0
    wide = max((display_width(cell) for row in cells.values() for cell in row), default=1)
    wide = max([wide, *(min(display_width(label), 12) for label in block.column_labels)])
    side = max((min(display_width(label), 24) for label in block.row_labels), default=0)
    columns, more = across, ""
    if across > (width - 4 - side) // (wide + 2):
        columns = max(1, (width - 4 - side - len(f"  … {across} more")) // (wide + 2))
        more = f"  … {across - columns} more"
    if block.column_labels:
        heads = "  ".join(_right(label, wide) for label in block.column_labels[:columns])
        yield f"    {' ' * side}  {heads}"
    for at in indices:
        if at is None:
            yield f"    {pad('…', side, '…')}  … {len(rows) - _MOST_ROWS + 1} rows more"
            continue
        label = pad(block.row_labels[at], side) if block.row_labels else ""
        line = "  ".join(_right(cell, wide) for cell in cells[at][:columns])
        yield f"    {label}  {line}{more}"


def _right(text: str, width: int) -> str:
    text = cut(text, width)
    return " " * (width - display_width(text)) + text
