"""Lines and tables of styled text that keep their width, for a terminal that may have no colour.

Every line passes `fit`, so that none is too wide; names have passed `attnlens.render.safe.clean`.
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
"""Text and the name of its style (``""`` for none)."""

Line = list[Span]

# 256-colour codes; blue against orange stays apart in every common colour blindness.
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
"""From next to nothing to the most."""

FULL: Final = SHADES[-1]
LOST: Final = "░"


def display_width(text: str) -> int:
    """Columns the text takes: two for wide characters, none for combining marks."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def width_of(line: Iterable[Span]) -> int:
    return sum(display_width(text) for text, _ in line)


def cut(text: str, width: int, ellipsis: str = "…") -> str:
    """The text, or as much as leaves room for the ellipsis."""
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
    """The line, cut where it would pass the width."""
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
    """Lines no wider than ``width``, put together from top to bottom."""

    width: int
    lines: list[Line] = field(default_factory=list)

    def add(self, *spans: Span) -> None:
        self.lines.append(fit(list(spans), self.width))

    def blank(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append([])

    def flag(self, text: str) -> None:
        """Something to keep in mind, after a sign."""
        self.paragraph(text, "flag", indent=4, lead="  !")

    def paragraph(self, text: str, style: str = "", indent: int = 2, lead: str = "") -> None:
        """Words, wrapped; ``lead`` stands before the first line, in the indent."""
        words: list[Line] = [[(word, style)] for word in text.split()]
        self.flow(words, indent=indent, gap=1, lead=[(lead, style)] if lead else None)

    def parts(self, text: str, indent: int = 0) -> None:
        """Parts between bars, each kept whole where the width allows, and a blank line."""
        *parts, last = text.split(" | ")
        items: list[Line] = [[(f"{part} |", "title")] for part in parts]
        self.flow([*items, [(last, "title")]], indent=indent, gap=1)
        self.blank()

    def flow(
        self, items: Sequence[Line], *, indent: int, gap: int, lead: Line | None = None
    ) -> None:
        """Items side by side, as many on a line as fit; one too wide is broken into words."""
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
        """The page as one string without a final line break."""
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
"""A page of a document, given its ``width`` and whether it has ``color``.

No line is wider than the width, but for tables that need more; without colour no escape is written.
"""


def terminal_page(
    *, min_width: int = 40, max_width: int = 100
) -> Callable[[Callable[..., None]], Renderer]:
    """Makes a function that fills a page one that gives its text.

    The function is given an empty page and the document with its names fit to be shown.

    Args:
        min_width, max_width: of the page in columns, whatever the terminal's width.
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
    """A bar to ``share``: the baseline in one tone, the gain or loss in another.

    Args:
        share, base: parts of the room, 0 to 1.
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
    """The style of a change: more, less, or below the threshold."""
    return "more" if points >= threshold else "less" if points <= -threshold else "quiet"


# ---- a heat map: a sign per weight, shades by the square root of its part of the darkest

_LEVELS = 8


def level(weight: float, darkest: float) -> int:
    """The shade of a weight relative to the darkest: 0 to 7."""
    return (
        min(_LEVELS - 1, int(_LEVELS * math.sqrt(max(weight, 0) / darkest))) if darkest > 0 else 0
    )


def shade(weight: float, darkest: float, *, cell: int = 1) -> Span:
    """A weight as signs of one shade."""
    step = level(weight, darkest)
    return SHADES[step] * cell, f"shade{step + 1}"


def add_row(page: Page, name: Span, side: int, groups: Iterable[Sequence[Span]]) -> None:
    """A row of a heat map: its name, and its cells in groups with a line between.

    Args:
        side: columns of the name.
    """
    line: Line = [(pad(name[0], side), name[1])]
    for at, group in enumerate(groups):
        line += [*([("│", "quiet")] if at else []), *group]
    page.add(*line)


def legend(darkest: float, digits: int = 0) -> str:
    """What the darkest shade and the middle one stand for: ``█ 36%, ▅ 9%``."""
    middle = SHADES[level(1, 4)]
    return f"{FULL} {percent_seen(darkest, digits)}, {middle} {percent_seen(darkest / 4, digits)}"


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

    def excess() -> int:
        """The columns of the visible cells and their gaps beyond the page's width."""
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
