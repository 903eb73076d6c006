"""Who was winning, ball by ball: as columns of text, and as shapes for HTML, SVG and PNG."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from attnlens.cricket.match.next_ball import ALL_OUT
from attnlens.cricket.pages.parts import occasion, shown_story
from attnlens.errors import InputError
from attnlens.render.numbers import percent
from attnlens.render.page import render_part
from attnlens.render.safe import visible

if TYPE_CHECKING:
    from pathlib import Path

    from attnlens.cricket.story.types import MatchStory, Moment, Side, WinPoint

LEFT, ABOVE, BELOW, RADIUS = 40, 14, 42, 10
"""Units left of a curve for its scale, above it, and below it for overs; and of a number's dot."""

OVERS: Final = 5
"""An over of so many is marked below the curve."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A line or an area through points, a dot (with a radius), or a text at a point.

    Attributes:
        style: what it is, by which it is coloured: `COLOURS`, or the page's style sheet.
        text: of a ``ball``, which is an area, what is told where it is pointed at.
        anchor: ``start``, ``middle`` or ``end`` of a text is at its point.
    """

    style: str
    points: tuple[tuple[float, float], ...]
    text: str = ""
    size: float = 12
    anchor: str = "start"
    radius: float = 0


def score_of(side: Side) -> str:
    """``Lions 186/6``, ``Herons 133 all out``."""
    lost = " all out" if side.wickets == ALL_OUT else f"/{side.wickets}"
    return f"{side.batting_team} {side.runs}{lost}"


def sides_of(story: MatchStory) -> str:
    """Who was to play, where not both sides have batted."""
    return "" if len(story.match.innings) > 1 else " v ".join(story.match.teams)


def innings_of(story: MatchStory) -> list[tuple[str, list[WinPoint]]]:
    """The innings of which it is told who was winning: side and score, and the balls."""
    scores = {side.innings: score_of(side) for side in story.match.innings}
    groups = groupby(story.win_probability, key=lambda ball: ball.innings)
    return [(scores[number], list(balls)) for number, balls in groups]


def columns_of(story: MatchStory, room: int) -> Iterator[tuple[str, list[float], list[str]]]:
    """Each innings in columns of text: its name, the chance to win, turning points' numbers."""
    sides, balls = innings_of(story), len(story.win_probability)
    for words, points in sides:
        share = max(1, (room - len(sides)) * len(points) // balls)
        width = min(max(len(points), len(words)), share)
        ends = (max(1, (at + 1) * len(points) // width) for at in range(width))
        chances = [points[end - 1].after for end in ends]
        turns = [
            (number, (one.index - 1) * width // len(points))
            for number, one in enumerate(story.turning_points, 1)
            if one.innings == points[0].innings
        ]
        marks, last = [" "] * width, -1
        for later, (number, place) in zip(range(len(turns), 0, -1), turns, strict=True):
            last = max(0, min(max(place, last + 1), width - later))  # side by side, in order
            marks[last] = str(number)
        yield words, chances, marks


def curve(
    story: MatchStory, width: float, height: float, left: float = 0, top: float = 0
) -> list[Shape]:
    """The chance to win as shapes; none where it is not told.

    Args:
        left, top: where the drawing begins.
    """
    balls = len(story.win_probability)
    start, floor = left + LEFT, top + height - BELOW
    step, tall = (width - LEFT - RADIUS) / max(balls, 1), floor - top - ABOVE

    def at(ball: float, chance: float) -> tuple[float, float]:
        return round(start + ball * step, 1), round(floor - chance * tall, 1)

    back, line, place = [], [], 0
    for quarter in range(5):
        back.append(Shape("grid", (at(0, quarter / 4), at(balls, quarter / 4))))
        scale = (start - 8, at(0, quarter / 4)[1] + 4)
        back.append(Shape("small", (scale,), percent(quarter / 4), anchor="end"))
    for words, points in innings_of(story):
        line += [at(place, points[0].before)]
        line += [at(place + number, ball.after) for number, ball in enumerate(points, 1)]
        back.append(Shape("grid", (at(place, 0), at(place, 1))))
        middle = at(place + len(points) / 2, 0)[0]
        back.append(Shape("words", ((middle, floor + 34),), words, 13, "middle"))
        for over, number in _overs(points):
            below = (at(place + number, 0)[0], floor + 16)
            back.append(Shape("small", (below,), over, anchor="middle"))
        place += len(points)
    numbers = {(one.innings, one.index): n for n, one in enumerate(story.turning_points, 1)}
    front: list[Shape] = []
    dots: list[tuple[float, float]] = []
    for place, ball in enumerate(story.win_probability):
        strip = at(place, 0), at(place, 1), at(place + 1, 1), at(place + 1, 0)
        moved = f"{percent(ball.before, 1)} → {percent(ball.after, 1)}"
        front.append(Shape("ball", strip, f"{ball.innings}:{ball.label}: {moved}"))
        if (ball.innings, ball.index) in numbers:
            x, y = at(place + 1, ball.after)
            # Two that stand close are one below the other.
            while any(abs(x - left) < 2 * RADIUS > abs(y - above) for left, above in dots):
                y += RADIUS
            dots.append((x, y))
            front += numbered(numbers[ball.innings, ball.index], x, y)
    area = Shape("area", (at(0, 0), *line, at(balls, 0)))
    return [area, *back, Shape("line", tuple(line)), *front] if balls else []


def numbered(number: int, x: float, y: float) -> list[Shape]:
    """A number in a dot."""
    dot = Shape("mark", ((x, y),), radius=RADIUS)
    return [dot, Shape("number", ((x, y + 4),), str(number), 12, "middle")]


def _overs(balls: list[WinPoint]) -> Iterator[tuple[str, int]]:
    """Every fifth over as the file labels it, and where it begins."""
    for over, part in groupby(range(len(balls)), lambda at: balls[at].label.partition(".")[0]):
        if over.isdigit() and not int(over) % OVERS:
            yield over, next(part)


# ---- a card

WIDTH, HEIGHT, EDGE = 1200, 630, 48
"""Of the card, as pages that show links have it."""

TOLD: Final = 3
"""Turning points on a card."""

COLOURS: Final = {
    "area": "#d9e6f2", "line": "#0b5394", "grid": "#d5dce2", "mark": "#16202a",
    "number": "#ffffff", "small": "#55626f", "words": "#16202a", "strong": "#16202a",
}  # fmt: skip


def card(story: MatchStory) -> list[Shape]:
    """The story as a picture to post: the result, who was winning, where it turned most."""
    story, inside = shown_story(story), WIDTH - 2 * EDGE
    scores = [score_of(side) for side in story.match.innings if not side.super_over]
    heads = (
        ("strong", 76, min(46.0, inside / (0.68 * len(story.result))), story.result),
        ("words", 114, 22, " · ".join(filter(None, (sides_of(story), *scores)))),
        ("small", 144, 18, " · ".join(filter(None, occasion(story.match)))),
        ("strong", 186, 18, f"{story.team} to win, ball by ball" if story.team else ""),
        ("small", HEIGHT - 18, 15, f"attnlens, by what its model {story.model.name} expected"),
    )
    shapes = [
        Shape(style, ((EDGE, y),), _lines(text, size, inside)[0], size)
        for style, y, size, text in heads
        if text
    ]
    shapes += [one for one in curve(story, inside, 250, EDGE, 190) if one.style != "ball"]
    top = 478 if story.team else 200
    for number, moment in largest(story.turning_points or story.surprises, TOLD):
        shapes += numbered(number, EDGE + RADIUS, top - 6)
        for row, words in enumerate(_lines(moment.sentence, 18, inside - 160)[:2]):
            shapes.append(Shape("words", ((EDGE + 40, top + 22 * row),), words, 18))
        if moment.swing is not None:
            end = (WIDTH - EDGE, top)
            shapes.append(Shape("strong", (end,), points_of(moment), 18, "end"))
        top += 46
    return shapes


def points_of(moment: Moment) -> str:
    """``+34 points``, of the chance to win."""
    return f"{round(100 * (moment.swing or 0)):+d} points".replace("-", "−")


def largest(moments: tuple[Moment, ...], most: int) -> list[tuple[int, Moment]]:
    """The moments that swung most, with their numbers, in order."""
    ranked = sorted(enumerate(moments, 1), key=lambda one: -abs(one[1].swing or 0))[:most]
    return sorted(ranked, key=lambda one: one[0])


def _lines(text: str, size: float, room: float) -> list[str]:
    """A text in lines, by the mean width of letters."""
    return textwrap.wrap(visible(text), int(room / (0.53 * size))) or [""]


def render_card(story: MatchStory) -> str:
    """The card as SVG that needs nothing else."""
    size = {"width": WIDTH, "height": HEIGHT}
    shown = {"shapes": card(story), "colours": COLOURS, "title": story.result}
    return render_part("cricket/story_card.svg", **shown, **size)


def save_card(story: MatchStory, path: Path) -> None:
    """The card as PNG.

    Raises:
        InputError: matplotlib, which draws it, is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        remedy = "run: pip install matplotlib, or name a file that ends in .svg"
        raise InputError("a PNG needs matplotlib, which is not installed", remedy=remedy) from None
    figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    axes.set_axis_off()
    sides = {"start": "left", "middle": "center", "end": "right"}
    for order, shape in enumerate(card(story)):
        look: dict[str, Any] = {"color": COLOURS[shape.style], "zorder": order}
        across, down = zip(*shape.points, strict=True)
        if shape.radius:
            axes.plot(across, down, "o", ms=1.44 * shape.radius, **look)
        elif shape.text:
            words = f"\u200e{shape.text}"  # left to right, whatever its first name is
            look |= {"weight": "bold" if shape.style in ("strong", "number") else "normal"}
            look |= {"size": 0.72 * shape.size, "ha": sides[shape.anchor], "parse_math": False}
            axes.text(across[0], down[0], words, **look)
        elif shape.style == "area":
            axes.fill(across, down, **look)
        else:
            axes.plot(across, down, lw=2.2 if shape.style == "line" else 0.8, **look)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # signs that the font lacks
        figure.savefig(path, format="png")
