"""One heat map for every page: where its cells stand and how dark they are; templates draw it.

Shades go by the square root of a cell's part of the darkest, so that small weights can be seen.
What is drawn together shares one darkest weight, which the legend tells. Every cell says in words
what it shows, so that nothing is told by colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEVELS: Final = 20
"""Shades from nothing to the darkest; the style of all pages has a colour for each."""

_LETTER: Final = 6.3
_NAME_LETTER: Final = 7.4
"""Width of a letter of a column's label, and of a row's, in units of the drawing: pixels."""

_GAP: Final = 4.0
"""Room between groups of columns."""

_MAX_LABEL_LETTERS: Final = 24


def level(value: float, largest: float) -> int:
    """The shade of a weight, 0 to `LEVELS`."""
    return round(LEVELS * math.sqrt(min(max(value / largest, 0.0), 1.0))) if largest > 0 else 0


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: the class of its colour, and what it says.

    ``strength`` (0 to 1) goes with a colour that has no shades of its own.
    """

    colour: str
    words: str
    framed: bool = False
    strength: float | None = None

    @classmethod
    def shaded(cls, value: float, largest: float, words: str, *, framed: bool = False) -> Cell:
        """A weight beside the darkest."""
        return cls(f"s{level(value, largest)}", words, framed=framed)

    @classmethod
    def either(cls, value: float, largest: float, words: str) -> Cell:
        """A number above or below nothing."""
        if not value or not largest:
            return cls("none", words)
        way = "over" if value > 0 else "under"
        return cls(way, words, strength=0.75 * min(abs(value) / largest, 1.0))


@dataclass(frozen=True, slots=True)
class HeatMapColumn:
    """What stands above a column: its label, and a mark with a class of its own.

    ``first`` of a group: it stands a little apart, and keeps its label where few have one.
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
        anchor: a name that no other heat map of the page has.
        title: what it is.
        description: what it shows, for screen readers.
        width, height: of a cell.
        marks: what to call the row of marks; without, none is drawn.
        sparse: only the first of each group has a label.
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
        """Room for the labels of rows."""
        labels = [self.marks, *(row.label for row in self.rows)]
        longest = max((min(len(label), _MAX_LABEL_LETTERS) for label in labels), default=0)
        return 12 + _NAME_LETTER * longest

    @property
    def labels_end(self) -> float:
        """Room for the labels of columns."""
        longest = max(
            (min(len(column.label), _MAX_LABEL_LETTERS) for column in self.columns), default=0
        )
        if not longest:
            return 2.0
        return 10 + _LETTER * longest

    @property
    def top(self) -> float:
        """Where the first row of cells begins."""
        return self.labels_end + (self.height if self.marks else 0)

    @property
    def places(self) -> list[float]:
        """Where each column begins."""
        gaps = 0
        places = []
        for at, column in enumerate(self.columns):
            gaps += column.first and at > 0
            places.append(self.side + self.width * at + _GAP * gaps)
        return places

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the drawing."""
        end = self.places[-1] + self.width if self.columns else self.side
        return end + 2, self.top + self.height * len(self.rows) + 2


def short(label: str) -> str:
    """A label no longer than there is room for."""
    return label if len(label) <= _MAX_LABEL_LETTERS else f"{label[: _MAX_LABEL_LETTERS - 1]}…"
