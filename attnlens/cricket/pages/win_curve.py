"""Who was winning, ball by ball: as columns of text, and as shapes for HTML, SVG and PNG."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal

from attnlens.cricket.match.next_ball import ALL_OUT
from attnlens.cricket.pages.parts import occasion
from attnlens.errors import InputError
from attnlens.show.numbers import percent
from attnlens.show.page import render_part
from attnlens.show.safe import visible

if TYPE_CHECKING:
    from pathlib import Path

    from attnlens.cricket.story.types import MatchStory, Moment, Side, WinPoint

Style = Literal["area", "line", "grid", "half", "mark", "number", "small", "words", "strong"]

LEFT, TOP, BELOW = 40, 14, 42
"""Units left of the curve for its scale, above it, and below it for overs and sides."""

OVERS: Final = 5
"""An over of so many is marked below the curve."""

RADIUS: Final = 10


@dataclass(frozen=True, slots=True)
class Column:
    """A column of text: the chance to win after its last ball, and a turning point's number."""

    chance: float
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """A line or an area through points, a dot (with a radius), or a text at a point."""

    style: Style
    points: tuple[tuple[float, float], ...]
    text: str = ""
    size: float = 12
    anchor: Literal["start", "middle", "end"] = "start"
    radius: float = 0


def runs_of(side: Side) -> str:
    """``186/6``, ``133 all out``."""
    lost = " all out" if side.wickets == ALL_OUT else f"/{side.wickets}"
    return f"{side.runs}{lost}"


def innings_of(story: MatchStory) -> list[tuple[str, list[WinPoint]]]:
    """The innings of which it is told who was winning: side and score, and the balls."""
    sides = {side.innings: side for side in story.match.innings}
    return [
        (f"{sides[number].batting_team} {runs_of(sides[number])}", list(balls))
        for number, balls in groupby(story.win_probability, key=lambda ball: ball.innings)
    ]


def columns_of(story: MatchStory, room: int) -> list[tuple[str, list[Column]]]:
    """Each innings as columns of text, by how many balls it has, with a column between them."""
    sides = innings_of(story)
    balls = len(story.win_probability)
    each = max(1.0, balls / (room - 2 * len(sides)))  # rounded up; and a line between them
    numbers = {(one.innings, one.index): str(at) for at, one in enumerate(story.turning_points, 1)}
    told = []
    for words, points in sides:
        columns: list[Column] = []
        waiting: list[str] = []
        for column in range(math.ceil(len(points) / each - 1e-9)):
            part = points[round(column * each) : round((column + 1) * each)] or points[-1:]
            waiting += [
                numbers.pop(at) for ball in part if (at := (ball.innings, ball.index)) in numbers
            ]
            columns.append(Column(part[-1].after, waiting.pop(0) if waiting else ""))
        told.append((words, columns))
    return told


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a curve stands: its left end, its floor, how tall it is, and how wide a ball."""

    left: float
    floor: float
    tall: float
    step: float

    @classmethod
    def of(cls, story: MatchStory, width: float, height: float, left: float, top: float) -> Frame:
        """The frame of a drawing of that size, whose corner is at ``left`` and ``top``."""
        floor = top + height - BELOW
        step = (width - LEFT - RADIUS) / max(len(story.win_probability), 1)
        return cls(left + LEFT, floor, floor - top - TOP, step)

    def at(self, ball: float, chance: float) -> tuple[float, float]:
        """The point of a chance after so many balls."""
        return round(self.left + ball * self.step, 1), round(self.floor - chance * self.tall, 1)


def curve(
    story: MatchStory, width: float, height: float, *, left: float = 0, top: float = 0
) -> list[Shape]:
    """The chance to win as shapes; none where it is not told.

    Args:
        left, top: where the drawing begins.
    """
    sides, balls = innings_of(story), len(story.win_probability)
    if not sides:
        return []
    frame, place = Frame.of(story, width, height, left, top), 0
    shapes, line = [], []
    for quarter in range(5):
        ends = frame.at(0, quarter / 4), frame.at(balls, quarter / 4)
        shapes.append(Shape("half" if quarter == 2 else "grid", ends))
        scale = (frame.left - 8, ends[0][1] + 4)
        shapes.append(Shape("small", (scale,), percent(quarter / 4), anchor="end"))
    for words, points in sides:
        line.append(frame.at(place, points[0].before))
        line += [frame.at(place + number, ball.after) for number, ball in enumerate(points, 1)]
        shapes += _overs(points, frame, place)
        if place:
            shapes.append(Shape("half", (frame.at(place, 0), frame.at(place, 1))))
        middle = frame.at(place + len(points) / 2, 0)[0]
        shapes.append(Shape("words", ((middle, frame.floor + 34),), words, 13, "middle"))
        place += len(points)
    area = (frame.at(0, 0), *line, frame.at(balls, 0))
    return [Shape("area", area), *shapes, Shape("line", tuple(line)), *_marks(story, frame)]


def _overs(balls: Sequence[WinPoint], frame: Frame, place: int) -> Iterator[Shape]:
    """The overs below the curve, as the file labels them."""
    last = ""
    for number, ball in enumerate(balls, place):
        over = ball.label.partition(".")[0]
        if over != last and over.isdigit() and not int(over) % OVERS:
            below = (frame.at(number, 0)[0], frame.floor + 16)
            yield Shape("small", (below,), over, anchor="middle")
        last = over


def _marks(story: MatchStory, frame: Frame) -> Iterator[Shape]:
    """The turning points' numbers on the curve."""
    places = {(one.innings, one.index): n for n, one in enumerate(story.win_probability, 1)}
    for number, moment in enumerate(story.turning_points, 1):
        place = places[moment.innings, moment.index]
        x, y = frame.at(place, story.win_probability[place - 1].after)
        yield Shape("mark", ((x, y),), radius=RADIUS)
        yield Shape("number", ((x, y + 4),), str(number), 12, "middle")


# ---- a card

WIDTH, HEIGHT, EDGE = 1200, 630, 48
"""Of the card, as pages that show links have it."""

POINTS: Final = 3
"""Turning points that are told on a card."""

COLOURS: Final = {
    "area": "#d9e6f2", "line": "#0b5394", "grid": "#e3e8ed", "half": "#9aa7b4", "mark": "#16202a",
    "number": "#ffffff", "small": "#55626f", "words": "#16202a", "strong": "#16202a",
}  # fmt: skip
"""Of the card; a page has its own."""


def card(story: MatchStory) -> list[Shape]:
    """The story as a card to post: the result, who was winning, where it turned most."""
    inside = WIDTH - 2 * EDGE
    size = min(46.0, inside / (0.56 * max(len(story.result), 1)))
    score = " · ".join(f"{side.batting_team} {runs_of(side)}" for side in story.match.innings)
    where = " · ".join(part for part in occasion(story.match) if part)
    shapes = [
        Shape("strong", ((EDGE, 76),), story.result, size),
        Shape("words", ((EDGE, 114),), _cut(score, 22), 22),
        Shape("small", ((EDGE, 144),), _cut(where, 18), 18),
    ]
    if story.win_probability:
        heading = f"{story.team} to win, ball by ball"
        shapes.append(Shape("strong", ((EDGE, 186),), _cut(heading, 18), 18))
        shapes += curve(story, inside, 250, left=EDGE, top=190)
    top = 478.0 if story.win_probability else 200.0
    for number, moment in _told_on_card(story):
        if moment.swing is not None:
            points = f"{round(100 * moment.swing):+d} points".replace("-", "−")
            shapes.append(Shape("strong", ((WIDTH - EDGE, top),), points, 18, "end"))
        for at, words in enumerate(_lines(moment.sentence, 18, inside - 160)[:2]):
            shapes.append(Shape("words", ((EDGE + 40, top + 22 * at),), words, 18))
        shapes.append(Shape("mark", ((EDGE + 12, top - 6),), radius=12))
        shapes.append(Shape("number", ((EDGE + 12, top - 2),), str(number), 13, "middle"))
        top += 46
    foot = f"attnlens · what the model {story.model.name} expected, ball by ball"
    return [*shapes, Shape("small", ((EDGE, HEIGHT - 18),), foot, 15)]


def _told_on_card(story: MatchStory) -> list[tuple[int, Moment]]:
    """The turning points that swung most, in order; else the most surprising balls."""
    if not story.turning_points:
        return list(enumerate(story.surprises, 1))[: 2 * POINTS]
    ranked = sorted(enumerate(story.turning_points, 1), key=lambda one: -abs(one[1].swing or 0))
    return sorted(ranked[:POINTS], key=lambda one: one[0])


def _lines(text: str, size: float, room: float) -> list[str]:
    """A text in lines, by the mean width of letters."""
    return textwrap.wrap(visible(text), int(room / (0.53 * size)))


def _cut(text: str, size: float) -> str:
    return visible(text, int((WIDTH - 2 * EDGE) / (0.53 * size)))


def render_card(story: MatchStory) -> str:
    """The card as SVG that needs nothing else."""
    return render_part(
        "cricket/story_card.svg",
        shapes=card(story),
        colours=COLOURS,
        width=WIDTH,
        height=HEIGHT,
        title=story.result,
    )


def save_card(story: MatchStory, path: Path) -> None:
    """The card as PNG.

    Raises:
        InputError: matplotlib, which draws it, is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise InputError(
            "a PNG needs matplotlib, which is not installed",
            remedy="run: pip install matplotlib, or name a file that ends in .svg",
        ) from None
    figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    axes.set_axis_off()
    for order, shape in enumerate(card(story)):
        colour, (across, down) = COLOURS[shape.style], zip(*shape.points, strict=True)
        if shape.radius:
            axes.plot(across, down, "o", color=colour, ms=1.44 * shape.radius, zorder=order)
        elif shape.text:
            axes.text(
                across[0], down[0], shape.text, color=colour, size=0.72 * shape.size, zorder=order,
                weight="bold" if shape.style in ("strong", "number") else "normal",
                ha={"start": "left", "middle": "center", "end": "right"}[shape.anchor],
                va="baseline", parse_math=False,
            )  # fmt: skip
        elif shape.style == "area":
            axes.fill(across, down, color=colour, zorder=order)
        else:
            wide = 2.2 if shape.style == "line" else 0.8
            axes.plot(across, down, color=colour, lw=wide, zorder=order)
    figure.savefig(path, format="png")
