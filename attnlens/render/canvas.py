"""Build styled lines and tables for terminals, with or without colour.

Lines are cut to the width of the page; only tables may be wider. Text from files must first pass
through `attnlens.render.safe.clean`.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any, Final

from attnlens.render.numbers import percent_seen
from attnlens.render.safe import clean_all

Span = tuple[str, str]
"""A text and the name of its style; ``""`` for no style."""

Line = list[Span]

# 256-colour codes. Blue and orange differ for readers with any common form of colour blindness.
_STYLES: Mapping[str, str] = {
    "title": "1",
    "heading": "1;38;5;74",
    "name": "1",
    "quiet": "38;5;245",
    "bar": "38;5;67",
    "more": "1;38;5;39",
    "less": "38;5;208",
    "strong": "1;4;38;5;39",
    "alarm": "1;38;5;208",
    "supported": "1;38;5;39",
    "chance": "38;5;245",
    "contradicted": "1;38;5;208",
    "untold": "38;5;245",
    "picture": "38;5;245",
    "reference": "38;5;245",
    "flag": "38;5;178",
    "shade1": "38;5;243",
    "shade2": "38;5;24",
    "shade3": "38;5;31",
    "shade4": "38;5;74",
    "shade5": "38;5;116",
    "shade6": "38;5;186",
    "shade7": "38;5;221",
    "shade8": "38;5;226",
}


_EIGHTHS: Final = "▏▎▍▌▋▊▉"
SHADES: Final = "▁▂▃▄▅▆▇█"
"""The shading characters, from the smallest to the largest weight."""

FULL: Final = SHADES[-1]
LOST: Final = "░"


def display_width(text: str) -> int:
    """Return the width of a text in terminal columns; a wide character takes two."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def width_of(line: Iterable[Span]) -> int:
    return sum(display_width(text) for text, _ in line)


def cut(text: str, width: int, ellipsis: str = "…") -> str:
    """Shorten a text that is too wide, and add an ellipsis."""
    if display_width(text) <= width:
        return text
    room, letters = width - display_width(ellipsis), ""
    if room < 0:
        return ellipsis[: max(width, 0)]
    for character in text:
        room -= _columns(character)
        if room < 0:
            break
        letters += character
    return letters.rstrip() + ellipsis


def pad(text: str, width: int, ellipsis: str = "…") -> str:
    text = cut(text, width, ellipsis)
    return text + " " * (width - display_width(text))


def pad_line(line: Line, width: int) -> Line:
    return [*line, (" " * max(0, width - width_of(line)), "")]


def fit(line: Line, width: int) -> Line:
    """Shorten a line that is too wide."""
    if width_of(line) <= width:
        return line
    spans: Line = []
    for text, style in line:
        room = width - width_of(spans)
        if display_width(text) > room - (0 if text.isspace() else 1):
            return [*spans, (cut(text + " " * width, room), style)]
        spans.append((text, style))
    return spans


@dataclass(slots=True)
class Page:
    """A page of styled lines."""

    width: int
    lines: list[Line] = field(default_factory=list)

    def add(self, *spans: Span) -> None:
        self.lines.append(fit(list(spans), self.width))

    def blank(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append([])

    def flag(self, text: str) -> None:
        """Add a caution with a warning sign."""
        self.paragraph(text, "flag", indent=4, lead="  !")

    def paragraph(self, text: str, style: str = "", indent: int = 2, lead: str = "") -> None:
        """Add wrapped text, with ``lead`` in the indentation of the first line."""
        words: list[Line] = [[(word, style)] for word in text.split()]
        self.flow(words, indent=indent, gap=1, lead=[(lead, style)] if lead else None)

    def parts(self, text: str, indent: int = 0) -> None:
        """Add the parts between ``|`` signs side by side, followed by a blank line."""
        *parts, last = text.split(" | ")
        items: list[Line] = [[(f"{part} |", "title")] for part in parts]
        self.flow([*items, [(last, "title")]], indent=indent, gap=1)
        self.blank()

    def flow(
        self, items: Sequence[Line], *, indent: int, gap: int, lead: Line | None = None
    ) -> None:
        """Add items side by side, on as many lines as needed."""
        line: Line = pad_line(list(lead or []), indent)
        fresh, room = True, self.width - indent
        for item in items:
            between = 0 if fresh else gap
            for piece in [item] if width_of(item) <= room else _words(item):
                used, need = width_of(line), width_of(piece)
                if used > indent and used + between + need > self.width:
                    self.add(*line)
                    line, between = [(" " * indent, "")], 0
                line = [*line, (" " * between, ""), *piece]
                fresh, between = False, 1
        self.add(*line)

    def text(self, *, color: bool) -> str:
        """Return the page as one string without a final line break."""
        return "\n".join(_written(line, color) for line in self.lines).rstrip("\n")


def _words(item: Line) -> list[Line]:
    return [[(word, style)] for text, style in item for word in text.split()]


def _written(line: Line, color: bool) -> str:
    while line and not line[-1][0].strip():
        line = line[:-1]
    if not line:
        return ""
    line = [*line[:-1], (line[-1][0].rstrip(), line[-1][1])]
    return "".join(
        f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if color and style and text.strip() else text
        for text, style in line
    )


Renderer = Callable[..., str]
"""A function that renders a document, with the keyword arguments ``width`` and ``color``. Only
tables may be wider than ``width``. Without colour, the text has no escape sequences."""


def terminal_page(
    *, min_width: int = 40, max_width: int = 100
) -> Callable[[Callable[..., None]], Renderer]:
    """Return a decorator that turns a page-filling function into a `Renderer`.

    The function receives an empty page and the document, made safe by `clean_all`.

    Args:
        min_width, max_width: the limits of the page's width in columns, for any terminal.
    """

    def decorate(fill: Callable[..., None]) -> Renderer:
        @wraps(fill)
        def render(document: Any, /, *, width: int, color: bool, **options: Any) -> str:
            page = Page(max(min_width, min(width, max_width)))
            fill(page, clean_all(document), **options)
            return page.text(color=color)

        return render

    return decorate


def bar(share: float, base: float, room: int) -> Line:
    """Draw a bar of length ``share``, with the difference from ``base`` in another colour.

    Args:
        share, base: lengths as fractions of the full width, from 0 to 1.
        room: the full width in columns.
    """
    full_cells, rest = divmod(int(share * room * 8 + 0.5), 8)
    tip = _EIGHTHS[rest - 1] if rest else ""
    base_cells = min(full_cells, int(base * room + 0.5))
    line: Line = [(FULL * base_cells, "bar")]
    gained = FULL * (full_cells - base_cells) + tip
    if gained:
        line.append((gained, "more" if share > base else "bar"))
    lost = int(base * room + 0.5) - width_of(line)
    if lost > 0:
        line.append((LOST * lost, "less"))
    return pad_line(line, room)


def tone(points: float, threshold: float) -> str:
    """Return the style of an increase, of a decrease, or of a change below the threshold."""
    return "more" if points >= threshold else "less" if points <= -threshold else "quiet"


# ---- heat maps: the shade of a weight is the square root of weight / darkest weight

_LEVELS = 8


def level(weight: float, darkest: float) -> int:
    """Return the shade of a weight, from 0 to 7. The weight ``darkest`` has shade 7."""
    return (
        min(_LEVELS - 1, int(_LEVELS * math.sqrt(max(weight, 0) / darkest))) if darkest > 0 else 0
    )


def shade(weight: float, darkest: float, *, cell: int = 1) -> Span:
    """Draw a weight as ``cell`` shading characters. Larger weights are darker."""
    step = level(weight, darkest)
    return SHADES[step] * cell, f"shade{step + 1}"


def add_row(page: Page, name: Span, side: int, groups: Iterable[Sequence[Span]]) -> None:
    """Add a name and groups of cells to a heat map; ``side`` is the name's width in columns."""
    line: Line = [(pad(name[0], side), name[1])]
    for at, group in enumerate(groups):
        line += [*([("│", "quiet")] if at else []), *group]
    page.add(*line)


def legend(darkest: float, digits: int = 0) -> str:
    """Return a legend of the darkest shade and a middle shade, such as ``█ 36%, ▅ 9%``."""
    middle = SHADES[level(1, 4)]
    return f"{FULL} {percent_seen(darkest, digits)}, {middle} {percent_seen(darkest / 4, digits)}"


Cell = str | Span | Line
"""A plain text, a styled text, or several styled texts side by side."""

_MIN_TEXT_COLUMNS = 14
"""The smallest width to which `add_table` cuts a column."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        head: the column's heading.
        right: whether cells are right-aligned.
        style: the style of cells without their own style.
        max_width: the largest width in terminal columns; longer cells are cut.
        min_width: the smallest width in terminal columns.
        spare: columns with a larger number are left out earlier on narrow pages; 0 for never.
        shrinks: whether cells are cut on narrow pages.
        gap: the space before the column in terminal columns.
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
"""A left-aligned column."""


def add_table(
    page: Page,
    columns: Sequence[Column],
    rows: Iterable[Sequence[Cell]],
    *,
    indent: int = 2,
    styles: Sequence[str] = (),
    below: Callable[[int], None] = lambda _: None,
) -> None:
    """Add a table with headings.

    On narrow pages, columns with `Column.spare` are left out and columns with `Column.shrinks` are
    cut. The table may still be wider than the page.

    Args:
        indent: the space before the first column.
        styles: the style of each row. The style of a cell or column takes priority.
        below: a function that receives the number of a row and adds lines below the row.
    """
    lines = [[_line(cell) for cell in row] for row in rows]
    if not lines:
        return
    visible = list(range(len(columns)))
    widths = _widths(columns, lines)

    def excess() -> int:
        gaps = sum(columns[at].gap for at in visible[1:])
        return indent + sum(widths[at] for at in visible) + gaps - page.width

    def slack() -> int:
        able = (widths[at] for at in visible if columns[at].shrinks)
        return sum(max(0, width - _MIN_TEXT_COLUMNS) for width in able)

    while excess() > slack():
        spare = max(visible, key=lambda at: columns[at].spare)
        if not columns[spare].spare:
            break
        visible.remove(spare)
    for _ in range(excess()):
        able = [at for at in visible if columns[at].shrinks and widths[at] > _MIN_TEXT_COLUMNS]
        if able:
            widths[max(able, key=lambda at: widths[at])] -= 1

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


def _cell(column: Column, cell: Line, width: int, row_style: str) -> Line:
    styled = [(text, style or column.style or row_style) for text, style in cell]
    fitted = fit(styled, width)
    gap = (" " * column.gap, "")
    if column.right:
        return [gap, (" " * (width - width_of(fitted)), ""), *fitted]
    return [gap, *pad_line(fitted, width)]
