"""One table for every page of a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from attnlens.render.canvas import Line, Page, Span, fit, pad_line, width_of

Cell = str | Span | Line
"""Text, text with its style, or several such side by side."""

_MIN_TEXT_COLUMNS = 14
"""Columns that a column of words keeps when it is cut."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        head: what stands above it.
        right: whether cells stand to the right, as figures do.
        style: of cells that bring none.
        max_width: columns of the terminal; longer cells are cut.
        min_width: columns of the terminal.
        spare: left out where the page is too narrow, the largest number first; 0 stays.
        shrinks: its cells are cut where the page is too narrow.
        gap: columns between it and the one before.
    """

    head: str = ""
    right: bool = True
    style: str = ""
    max_width: int | None = None
    min_width: int = 0
    spare: int = 0
    shrinks: bool = False
    gap: int = 2


Words = partial(Column, right=False)
"""A column of words, to the left."""


def add_table(
    page: Page,
    columns: Sequence[Column],
    rows: Iterable[Sequence[Cell]],
    *,
    indent: int = 2,
    styles: Sequence[str] = (),
    below: Callable[[int], None] = lambda _: None,
) -> None:
    """Rows under their heads; they pass the page's edge rather than lose what stands in them.

    Args:
        indent: columns before the first.
        styles: of whole rows, for cells and columns that bring none.
        below: adds to the page what stands below each row, by its number.
    """
    lines = [[_line(cell) for cell in row] for row in rows]
    if not lines:
        return
    visible = list(range(len(columns)))
    widths = _widths(columns, lines)
    while _total(columns, widths, visible, indent) - _slack(columns, widths, visible) > page.width:
        spare = max(visible, key=lambda at: columns[at].spare)
        if not columns[spare].spare:
            break
        visible.remove(spare)
    _shrink(columns, widths, visible, _total(columns, widths, visible, indent) - page.width)

    def add(row: Sequence[Line], style: str) -> None:
        cells = (_cell(columns[at], row[at], widths[at], style) for at in visible)
        spans = [span for cell in cells for span in cell]
        page.lines.append([(" " * indent, ""), *spans[1:]])  # no gap before the first

    if any(column.head for column in columns):
        add([_line((column.head, "quiet")) for column in columns], "")
    for number, row in enumerate(lines):
        add(row, styles[number] if number < len(styles) else "")
        below(number)


def _line(cell: Cell) -> Line:
    if isinstance(cell, str):
        return [(cell, "")]
    return [cell] if isinstance(cell, tuple) else cell


def _widths(columns: Sequence[Column], lines: Sequence[Sequence[Line]]) -> list[int]:
    widths = []
    for at, column in enumerate(columns):
        longest = max(len(column.head), *(width_of(row[at]) for row in lines))
        widths.append(max(column.min_width, min(longest, column.max_width or longest)))
    return widths


def _total(
    columns: Sequence[Column], widths: Sequence[int], visible: Sequence[int], indent: int
) -> int:
    gaps = sum(columns[at].gap for at in visible[1:])
    return indent + sum(widths[at] for at in visible) + gaps


def _slack(columns: Sequence[Column], widths: Sequence[int], visible: Sequence[int]) -> int:
    return sum(max(0, widths[at] - _MIN_TEXT_COLUMNS) for at in visible if columns[at].shrinks)


def _shrink(
    columns: Sequence[Column], widths: list[int], visible: Sequence[int], excess: int
) -> None:
    for _ in range(excess):
        able = [at for at in visible if columns[at].shrinks and widths[at] > _MIN_TEXT_COLUMNS]
        if able:
            widths[max(able, key=lambda at: widths[at])] -= 1


def _cell(column: Column, cell: Line, width: int, row_style: str) -> Line:
    styled = [(text, style or column.style or row_style) for text, style in cell]
    fitted = fit(styled, width)
    gap = (" " * column.gap, "")
    if column.right:
        return [gap, (" " * (width - width_of(fitted)), ""), *fitted]
    return [gap, *pad_line(fitted, width)]
