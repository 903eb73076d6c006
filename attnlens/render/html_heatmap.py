"""The heat map of one scale as inline SVG: a row per head, a column per past ball.

One hue, darker for more; every cell says in words what it shows, and the balls a head lists are
marked by a frame, so that nothing is told by colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from attnlens.explanation.facts import OUTCOME_WORDS
from attnlens.render import parts
from attnlens.render.html_text import share, text

NAME: Final = 104
"""Width of the heads' names; lengths are in units of the drawing, 1 to the pixel at full size."""

CELL, ROW, GAP = 19.0, 19.0, 4.0
NARROW: Final = 9.0
"""Width of a ball where there are many."""

WIDE_AT_MOST: Final = 40
LABEL: Final = 34.0
"""Height of the balls' labels, which stand upright."""


def heat_map_svg(scale: str, inner: Mapping[str, Any], players: Mapping[int, str]) -> str:
    """The drawing.

    Args:
        inner: the scale's heat map, with a ball at least.
        players: who bowled to whom, by the index of the ball, where it is known.
    """
    labels, outcomes = inner["ball_labels"], inner["ball_outcomes"]
    count = len(labels)
    cell = CELL if count <= WIDE_AT_MOST else NARROW
    places, groups = _places(labels, cell)
    heads = inner["attention_by_head"]
    top = LABEL + ROW
    width = places[-1] + cell + 2
    height = top + ROW * len(heads) + 4
    most = max(weight for head in heads.values() for weight in head["row"])
    drawn = [
        f'<svg class="heat" viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}" '
        f'height="{_n(height)}" role="img" aria-labelledby="{scale}-title {scale}-told">',
        f'<title id="{scale}-title">{scale.capitalize()} scale: attention of each head over '
        f"{_balls(count)}</title>",
        f'<desc id="{scale}-told">{_told(inner)}</desc>',
    ]
    for at, label in enumerate(labels):
        first = at in groups
        if cell == NARROW and not first:
            continue
        x = places[at] + cell / 2 + 3.5
        style = ' class="first"' if first else ""
        drawn.append(
            f'<text{style} transform="translate({_n(x)} {_n(LABEL - 4)}) rotate(-90)">'
            f"{text(label)}</text>"
        )
    drawn.append(f'<text class="name" x="{NAME - 8}" y="{_n(LABEL + 13)}">outcome</text>')
    for at, outcome in enumerate(outcomes):
        mark = "wicket" if outcome == "W" else "boundary" if outcome in ("4", "6") else "mark"
        drawn.append(
            f'<text class="{mark}" x="{_n(places[at] + cell / 2)}" y="{_n(LABEL + 13)}">'
            f"{parts.sign_of(outcome)}</text>"
        )
    for number, (key, head) in enumerate(heads.items()):
        y = top + ROW * number
        name = parts.head_name(key, head)
        drawn.append(f'<text class="name" x="{NAME - 8}" y="{_n(y + 13)}">{text(name)}</text>')
        listed = set(head["top_balls"])
        for at, weight in enumerate(head["row"]):
            index = inner["balls"][at]
            framed = ' class="listed"' if index in listed and cell == CELL else ""
            who = f" ({players[index]})" if index in players else ""
            shade = math.sqrt(weight / most) if most else 0.0
            drawn.append(
                f'<rect{framed} x="{_n(places[at] + 0.75)}" y="{_n(y + 0.75)}" '
                f'width="{_n(cell - 1.5)}" height="{_n(ROW - 1.5)}" '
                f'fill-opacity="{shade:.2f}"><title>{text(name)}, ball {text(labels[at])}'
                f"{text(who)}, {OUTCOME_WORDS[outcomes[at]]}: {share(weight, 1)} of its "
                "attention</title></rect>"
            )
    return "\n".join([*drawn, "</svg>"])


def legend_svg(most: float) -> str:
    """The shades from nothing to the most, in words too."""
    steps = "".join(
        f'<rect x="{14 * step}" y="1" width="13" height="12" '
        f'fill-opacity="{math.sqrt(step / 8):.2f}"/>'
        for step in range(9)
    )
    return (
        f'<span class="legend">0% <svg class="heat" viewBox="0 0 126 14" width="126" height="14" '
        f'aria-hidden="true">{steps}</svg> {share(most, 1)} of a head\'s attention</span>'
    )


def _places(labels: Sequence[str], cell: float) -> tuple[list[float], set[int]]:
    """Where each ball's column begins, overs a little apart, and the first ball of each over."""
    places: list[float] = []
    firsts: set[int] = set()
    at = float(NAME)
    for _, group in groupby(labels, key=lambda label: label.rpartition(".")[0]):
        firsts.add(len(places))
        for _ in group:
            places.append(at)
            at += cell
        at += GAP
    return places, firsts


def _told(inner: Mapping[str, Any]) -> str:
    """What the drawing shows, for those who do not see it."""
    told = []
    for key, head in inner["attention_by_head"].items():
        best = ", ".join(
            f"{text(label)} ({share(weight)})"
            for label, weight in zip(head["labels"], head["weights"], strict=True)
        )
        told.append(f"{text(parts.head_name(key, head))}: {best or 'no ball'}")
    return "Most by head. " + "; ".join(told) + "."


def _balls(count: int) -> str:
    return "1 past ball" if count == 1 else f"{count} past balls"


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
