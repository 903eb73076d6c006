"""One heat map for every page of a terminal, and for text in a block: a sign per weight.

As on pages of HTML, shades go by the square root of a weight's part of the darkest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from attnlens.show.canvas import Glyphs, Line, Page, Span, pad
from attnlens.show.numbers import percent_seen

LEVELS = 8


def level(weight: float, most: float) -> int:
    """The shade of a weight beside the darkest: 0 to 7."""
    return min(LEVELS - 1, int(LEVELS * math.sqrt(max(weight, 0) / most))) if most > 0 else 0


def shade(weight: float, most: float, glyphs: Glyphs, *, cell: int = 1) -> Span:
    """A weight as signs of one shade."""
    step = level(weight, most)
    return glyphs.shades[step] * cell, f"shade{step + 1}"


def add_row(page: Page, name: Span, side: int, groups: Iterable[Sequence[Span]]) -> None:
    """A row of a heat map: its name, and its cells in groups with a line between.

    Args:
        side: columns of the name.
    """
    line: Line = [(pad(name[0], side, page.glyphs.ellipsis), name[1])]
    for at, group in enumerate(groups):
        line += [*([(page.glyphs.separator, "quiet")] if at else []), *group]
    page.add(*line)


def legend(most: float, glyphs: Glyphs, digits: int = 0) -> str:
    """What the darkest shade and the middle one stand for: ``█ 36%, ▅ 9%``."""
    middle = glyphs.shades[level(1, 4)]
    return f"{glyphs.full} {percent_seen(most, digits)}, {middle} {percent_seen(most / 4, digits)}"
