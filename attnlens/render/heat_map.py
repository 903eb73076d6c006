"""The positions and shades of a heat map's cells, for the templates of all pages.

The shade of a cell is the square root of its value divided by the darkest value, so that small
weights stay visible. Maps drawn together share one darkest weight, which the legend shows. Every
cell also has a description in words, so that no information depends on colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEVELS: Final = 20
"""The number of shades; the style of all pages has a colour for each."""

_LETTER: Final = 6.3
_NAME_LETTER: Final = 7.4
"""The width of a letter in the label of a column and of a row, in pixels of the drawing."""

_GAP: Final = 4.0
"""The space between groups of columns."""

_MAX_LABEL_LETTERS: Final = 24


def level(value: float, largest: float) -> int:
    """The shade of a weight, 0 to `LEVELS`."""
    return round(LEVELS * math.sqrt(min(max(value / largest, 0.0), 1.0))) if largest > 0 else 0


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: the class of its colour, and its description.

    ``strength`` (0 to 1) is used with a colour that has no shades of its own.
    """

    colour: str
    words: str
    framed: bool = False
    strength: float | None = None

    @classmethod
    def shaded(cls, value: float, largest: float, words: str, *, framed: bool = False) -> Cell:
        """Return the cell of a weight relative to the darkest."""
        return cls(f"s{level(value, largest)}", words, framed=framed)

    @classmethod
    def either(cls, value: float, largest: float, words: str) -> Cell:
        """Return the cell of a positive or negative number."""
        if not value or not largest:
            return cls("none", words)
        way = "over" if value > 0 else "under"
        return cls(way, words, strength=0.75 * min(abs(value) / largest, 1.0))


@dataclass(frozen=True, slots=True)
class HeatMapColumn:
    """The heading of a column: its label, and a mark with its own class.

    ``first`` is true for the first column of a group, which has a gap before it and keeps its label
    if only a few columns are labelled.
    """

    label: str = ""
    mark: str = ""
    kind: str = "mark"
    first: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    label: str
    cells: Sequence[Cell]


@dataclass(frozen=True, slots=True)
class HeatMapDrawing:
    """Rows of cells under labelled columns.

    Attributes:
        anchor: a name that is unique among the heat maps of the page.
        title: the heading of the map.
        description: a description for screen readers.
        width, height: the size of a cell.
        marks: the label of the row of marks; empty for no such row.
        sparse: whether only the first column of each group has a label.
    """

    anchor: str
    title: str
    description: str
    columns: Sequence[HeatMapColumn]
    rows: Sequence[Row]
    width: float = 19.0
    height: float = 19.0
    marks: str = ""
    sparse: bool = False

    @property
    def side(self) -> float:
        """The space for the labels of rows."""
        labels = [self.marks, *(row.label for row in self.rows)]
        longest = max((min(len(label), _MAX_LABEL_LETTERS) for label in labels), default=0)
        return 12 + _NAME_LETTER * longest

    @property
    def labels_end(self) -> float:
        """The space for the labels of columns."""
        longest = max(
            (min(len(column.label), _MAX_LABEL_LETTERS) for column in self.columns), default=0
        )
        if not longest:
            return 2.0
        return 10 + _LETTER * longest

    @property
    def top(self) -> float:
        """The top of the first row of cells."""
        return self.labels_end + (self.height if self.marks else 0)

    @property
    def places(self) -> list[float]:
        """The left edge of each column."""
        gaps = 0
        places = []
        for at, column in enumerate(self.columns):
            gaps += column.first and at > 0
            places.append(self.side + self.width * at + _GAP * gaps)
        return places

    @property
    def size(self) -> tuple[float, float]:
        """The width and height of the drawing."""
        end = self.places[-1] + self.width if self.columns else self.side
        return end + 2, self.top + self.height * len(self.rows) + 2


def short(label: str) -> str:
    """Shorten a label to the available space."""
    return label if len(label) <= _MAX_LABEL_LETTERS else f"{label[: _MAX_LABEL_LETTERS - 1]}…"
