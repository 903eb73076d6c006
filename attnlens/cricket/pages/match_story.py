"""Render the story of a match as a terminal page, Markdown, HTML, a picture or a prompt."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from attnlens.cricket.explain.story_types import (
    InningsScore,
    MatchStory,
    Moment,
    MovedBy,
    PlayerAdded,
    Tally,
    WinPoint,
)
from attnlens.cricket.match.competition import ALL_OUT
from attnlens.cricket.pages.ball_page import USUAL_WORDS, dotted
from attnlens.cricket.pages.parts import REMARKS, model_line, occasion, shown_story
from attnlens.errors import InputError, count
from attnlens.files import Json
from attnlens.render.canvas import SHADES, Line, Page, cut, pad, terminal_page, tone, width_of
from attnlens.render.numbers import fine_percent, percent, rounded_all, signed_points
from attnlens.render.page import render_page, render_part, render_plain
from attnlens.render.prompt_template import MAX_PROMPT_TOKENS, Prompt, fence, new_nonce, render
from attnlens.render.safe import visible
from attnlens.render.text_terminal import VERDICTS

LEFT, ABOVE, BELOW, RADIUS = 40, 14, 42, 10
"""The margins of a curve, and the radius of a dot."""

_OVERS_BETWEEN_MARKS: Final = 5


@dataclass(frozen=True, slots=True)
class Shape:
    """A line, an area, a dot or a text in a drawing.

    Attributes:
        style: the style of the colour: a key of `_COLOURS`, or a class in the page's style sheet.
        text: the text to draw; for the styles ``ball`` and ``mark``, the text of a tooltip.
        anchor: the part of the text at the point: ``start``, ``middle`` or ``end``.
        link: the address that opens when a reader selects a ball or a turning point.
    """

    style: str
    points: tuple[tuple[float, float], ...]
    text: str = ""
    size: float = 12
    anchor: str = "start"
    radius: float = 0
    link: str = ""


Address = Callable[[int, int], str]
"""Maps an innings and an index to the address of the delivery's page."""


def score_of(side: InningsScore) -> str:
    """Return the score of a side, such as ``Lions 186/6`` or ``Herons 133 all out``."""
    lost = " all out" if side.wickets == ALL_OUT else f"/{side.wickets}"
    return f"{side.batting_team} {side.runs}{lost}"


def sides_of(story: MatchStory) -> str:
    """Return the team names, or an empty text if the story has two or more innings."""
    return "" if len(story.match.innings) > 1 else " v ".join(story.match.teams)


def innings_of(story: MatchStory) -> list[tuple[str, list[WinPoint]]]:
    """Return the score and the balls of each innings that has win probabilities."""
    scores = {side.innings: score_of(side) for side in story.match.innings}
    groups = groupby(story.win_probability, key=lambda ball: ball.innings)
    return [(scores[number], list(balls)) for number, balls in groups]


def columns_of(story: MatchStory, room: int) -> Iterator[tuple[str, list[float], list[str]]]:
    """Yield each innings as columns of text: a name, win probabilities and marks.

    A mark is the number of a turning point, or a space.

    Args:
        room: the number of columns for all innings together.
    """
    sides, balls = innings_of(story), len(story.win_probability)
    for words, points in sides:
        share = max(1, (room - len(sides)) * len(points) // balls)
        width = min(max(len(points), len(words)), share)
        ends = (max(1, (at + 1) * len(points) // width) for at in range(width))
        chances = [points[end - 1].after for end in ends]
        turns = [
            (number, (turning_point.index - 1) * width // len(points))
            for number, turning_point in enumerate(story.turning_points, 1)
            if turning_point.innings == points[0].innings
        ]
        marks, last = [" "] * width, -1
        for later, (number, column) in zip(range(len(turns), 0, -1), turns, strict=True):
            last = max(0, min(max(column, last + 1), width - later))  # in order, no overlap
            marks[last] = str(number)
        yield words, chances, marks


def curve(
    story: MatchStory,
    width: float,
    height: float,
    left: float = 0,
    top: float = 0,
    address: Address | None = None,
) -> list[Shape]:
    """Return the shapes of the win probability curve; none if the probability is unknown.

    Args:
        left, top: the position of the drawing's upper left corner.
    """
    balls = len(story.win_probability)
    start, floor = left + LEFT, top + height - BELOW
    step, tall = (width - LEFT - RADIUS) / max(balls, 1), floor - top - ABOVE

    def at(ball: float, chance: float) -> tuple[float, float]:
        return round(start + ball * step, 1), round(floor - chance * tall, 1)

    back, line, position = [], [], 0
    for quarter in range(5):
        back.append(Shape("grid", (at(0, quarter / 4), at(balls, quarter / 4))))
        scale = (start - 8, at(0, quarter / 4)[1] + 4)
        back.append(Shape("small", (scale,), percent(quarter / 4), anchor="end"))
    for words, points in innings_of(story):
        line += [at(position, points[0].before)]
        line += [at(position + number, ball.after) for number, ball in enumerate(points, 1)]
        back.append(Shape("grid", (at(position, 0), at(position, 1))))
        middle = at(position + len(points) / 2, 0)[0]
        back.append(Shape("words", ((middle, floor + 34),), words, 13, "middle"))
        for over, number in _overs(points):
            below = (at(position + number, 0)[0], floor + 16)
            back.append(Shape("small", (below,), over, anchor="middle"))
        position += len(points)
    numbers = {
        (moment.innings, moment.index): n for n, moment in enumerate(story.turning_points, 1)
    }
    strips: list[Shape] = []
    marks: list[Shape] = []
    dots: list[tuple[float, float]] = []
    for position, ball in enumerate(story.win_probability):
        strip = at(position, 0), at(position, 1), at(position + 1, 1), at(position + 1, 0)
        moved = f"{percent(ball.before, 1)} → {percent(ball.after, 1)}"
        link = "" if address is None else address(ball.innings, ball.index)
        strips.append(Shape("ball", strip, f"{ball.innings}:{ball.label}: {moved}", link=link))
        if (ball.innings, ball.index) in numbers:
            x, y = at(position + 1, ball.after)
            # Move a dot down if it would cover an earlier dot.
            while any(abs(x - left) < 2 * RADIUS > abs(y - above) for left, above in dots):
                y += RADIUS
            dots.append((x, y))
            marks += numbered_dot(numbers[ball.innings, ball.index], x, y, link)
    area = Shape("area", (at(0, 0), *line, at(balls, 0)))
    return [area, *back, Shape("line", tuple(line)), *strips, *marks] if balls else []


def numbered_dot(number: int, x: float, y: float, link: str = "") -> list[Shape]:
    dot = Shape("mark", ((x, y),), f"turning point {number}", radius=RADIUS, link=link)
    return [dot, Shape("number", ((x, y + 4),), str(number), 12, "middle")]


def _overs(balls: list[WinPoint]) -> Iterator[tuple[str, int]]:
    for over, part in groupby(range(len(balls)), lambda at: balls[at].label.partition(".")[0]):
        if over.isdigit() and not int(over) % _OVERS_BETWEEN_MARKS:
            yield over, next(part)


# ---- a card

WIDTH, HEIGHT, EDGE = 1200, 630, 48
"""The size of the card (the size of a link preview), and the card's margin."""

_MAX_CARD_MOMENTS: Final = 3
_COLOURS: Final = {
    "area": "#d9e6f2", "line": "#0b5394", "grid": "#d5dce2", "mark": "#16202a",
    "number": "#ffffff", "small": "#55626f", "words": "#16202a", "strong": "#16202a",
}  # fmt: skip


def card(story: MatchStory) -> list[Shape]:
    """Return the shapes of the story's picture: result, curve and largest turning points."""
    story, inside = shown_story(story), WIDTH - 2 * EDGE
    scores = [score_of(side) for side in story.match.innings if not side.super_over]
    heads = (
        ("strong", 76, min(46.0, inside / (0.68 * len(story.result))), story.result),
        ("words", 114, 22, " · ".join(filter(None, (sides_of(story), *scores)))),
        ("small", 144, 18, " · ".join(filter(None, occasion(story.match)))),
        ("strong", 186, 18, f"{story.team} to win, ball by ball" if story.team else ""),
        ("small", HEIGHT - 18, 15, f"attnlens: probabilities from the model {story.model.name}"),
    )
    shapes = [
        Shape(style, ((EDGE, y),), _lines(text, size, inside)[0], size)
        for style, y, size, text in heads
        if text
    ]
    shapes += [shape for shape in curve(story, inside, 250, EDGE, 190) if shape.style != "ball"]
    top = 478 if story.team else 200
    for number, moment in largest(story.turning_points or story.surprises, _MAX_CARD_MOMENTS):
        shapes += numbered_dot(number, EDGE + RADIUS, top - 6)
        for row, words in enumerate(_lines(moment.sentence, 18, inside - 160)[:2]):
            shapes.append(Shape("words", ((EDGE + 40, top + 22 * row),), words, 18))
        if moment.swing is not None:
            end = (WIDTH - EDGE, top)
            shapes.append(Shape("strong", (end,), points_of(moment), 18, "end"))
        top += 46
    return shapes


def points_of(moment: Moment) -> str:
    """Return the change of the win probability as text, such as ``+34 points``."""
    return f"{round(100 * (moment.swing or 0)):+d} points".replace("-", "−")


def largest(moments: tuple[Moment, ...], max_moments: int) -> list[tuple[int, Moment]]:
    """Return the moments with the largest swings and their numbers, in the original order."""
    ranked = sorted(enumerate(moments, 1), key=lambda entry: -abs(entry[1].swing or 0))
    return sorted(ranked[:max_moments], key=itemgetter(0))


def _lines(text: str, size: float, room: float) -> list[str]:
    return textwrap.wrap(visible(text), int(room / (0.53 * size))) or [""]


def render_card(story: MatchStory) -> str:
    """Render the story's card as a self-contained SVG."""
    size = {"width": WIDTH, "height": HEIGHT}
    context = {"shapes": card(story), "colours": _COLOURS, "title": story.result}
    return render_part("cricket/story_card.svg", **context, **size)


def save_card(story: MatchStory, path: Path) -> None:
    """Save the story's card as a PNG.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        remedy = "run: pip install matplotlib; or give a file name that ends in .svg"
        raise InputError("a PNG needs matplotlib, which is not installed", remedy=remedy) from None
    figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    axes.set_axis_off()
    sides = {"start": "left", "middle": "center", "end": "right"}
    for order, shape in enumerate(card(story)):
        look: dict[str, Any] = {"color": _COLOURS[shape.style], "zorder": order}
        across, down = zip(*shape.points, strict=True)
        if shape.radius:
            axes.plot(across, down, "o", ms=1.44 * shape.radius, **look)
        elif shape.text:
            words = f"\u200e{shape.text}"  # the text runs left to right, even if a name is Arabic
            look |= {"weight": "bold" if shape.style in ("strong", "number") else "normal"}
            look |= {"size": 0.72 * shape.size, "ha": sides[shape.anchor], "parse_math": False}
            axes.text(across[0], down[0], words, **look)
        elif shape.style == "area":
            axes.fill(across, down, **look)
        else:
            axes.plot(across, down, lw=2.2 if shape.style == "line" else 0.8, **look)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # characters that the font lacks
        figure.savefig(path, format="png")


SCREEN_LINES: Final = 40
_MIN_MOMENTS: Final = 4
"""A story with fewer moments is not shortened."""

MARGIN, ROWS = 5, 4
"""The left margin and the number of rows of the win probability chart."""

_MAX_SURPRISES: Final = 2
_MIN_LISTED_POINTS, _MAX_LISTED_GROUPS = 0.3, 2

_MAX_PLAYERS: Final = 3
_CURVE_SIZE: Final = (860, 300)
_MAX_PROMPT_ROWS: Final = 8
_SIGNS: Final = {
    **VERDICTS,
    "supported": ("✓", "explained", "supported"),
    "not better than chance": ("–", "not shown", "chance"),
    None: (" ", "not tested", "untold"),
}
"""The sign, the words and the style for each verdict."""

_MARK_WORDS: Final = (
    "Do earlier balls or players' records explain a probability? ✓ yes, – not shown, ? unclear."
)

_GROUP_WORDS: Final = {
    "striker's record": "batter's record",
    "unknown striker": "batter new to the model",
    "unknown bowler": "bowler new to the model",
    "venue and teams": "ground and teams",
}
"""Names of groups that differ from the names in JSON."""


# ---- a terminal


def render_match_story(story: MatchStory, *, width: int, color: bool) -> str:
    """Render the story for one screen.

    If the story is too long, the moments with the smallest swings are left out. If the story with
    the fewest moments is still too long, the groups of inputs below all moments are left out, too.
    """
    text, story = "", shown_story(story)
    moments = max(len(story.turning_points or story.surprises), _MIN_MOMENTS)
    rows = range(moments, _MIN_MOMENTS - 1, -1)
    for reasons, max_moments in product((True, False), rows):
        text = _screen(story, width=width, color=color, max_moments=max_moments, reasons=reasons)
        if text.count("\n") < SCREEN_LINES:
            break
    return text


@terminal_page(min_width=60)
def _screen(page: Page, story: MatchStory, *, max_moments: int, reasons: bool) -> None:
    page.paragraph(story.result, "title", indent=0)
    where = [*filter(None, (sides_of(story), *occasion(story.match)))]
    where += [] if story.team else [score_of(side) for side in story.match.innings]
    page.flow(dotted(where or [story.match.match_id], "quiet"), indent=0, gap=1)
    cautions, remarks = notes_of(story)
    for text in cautions:
        page.flag(text)
    page.blank()
    if story.team:
        chart(page, story)
        page.blank()
    if story.turning_points:
        turned = largest(story.turning_points, max_moments)
        count_words = f" ({max_moments} of {len(story.turning_points)})"
        fewer = count_words * (max_moments < len(story.turning_points))
        heading = f"Where it turned{fewer}: innings:ball, change of this probability in points"
        page.paragraph(heading, "heading", indent=0)
        for number, moment in turned:
            points = points_of(moment).partition(" ")[0]
            swing = f"{points:>4}", tone(moment.swing or 0, 0)
            lead: Line = [(f"{number} {moment.innings}:{moment.label:<5}", ""), swing]
            _moment(page, lead, moment, reasons=reasons)
    if story.surprises:
        heading = "Most surprising: innings:ball, probability of what happened"
        page.paragraph(heading, "heading", indent=0)
        for moment in story.surprises[: _MAX_SURPRISES if story.turning_points else max_moments]:
            chance = fine_percent(moment.probability)
            lead = [(f"  {moment.innings}:{moment.label:<5}{chance:>5}", "")]
            if story.turning_points:
                page.add(*lead, *_verdict(moment), (moment.event, ""))
            else:
                _moment(page, lead, moment, reasons=reasons)
        _expected(page, story)
        page.paragraph(closing_words(story), "quiet", indent=0)
    for text in remarks:
        page.flag(text)


def notes_of(story: MatchStory) -> tuple[list[str], list[str]]:
    """Return the notes before and after the story, except for notes about the match file."""
    notes = [note for note in story.notes if note.flag != "file"]
    first = [note.text for note in notes if note.flag not in REMARKS]
    return first, [note.text for note in notes if note.flag in REMARKS]


def chart(page: Page, story: MatchStory) -> None:
    """Draw the win probability as filled columns, with numbers above the turning points."""
    sides = list(columns_of(story, page.width - MARGIN))
    before = percent(story.win_probability[0].before)
    page.paragraph(f"{story.team} to win, %; before the match {before}", "heading", indent=0)
    page.add((" " * MARGIN + " ".join("".join(marks) for _, _, marks in sides), "title"))
    for row in range(ROWS, 0, -1):
        filled = ("".join(_filled(chance, row) for chance in side) for _, side, _ in sides)
        page.add((f"{100 * row // ROWS:>{MARGIN - 1}} ", "quiet"), ("│".join(filled), "bar"))
    feet = " ".join(pad(words, len(side)) for words, side, _ in sides)
    page.add((" " * MARGIN + feet, "quiet"))


def _filled(chance: float, row: int) -> str:
    eighths = round((chance * ROWS - (row - 1)) * len(SHADES))
    return " " if eighths <= 0 else SHADES[min(eighths, len(SHADES)) - 1]


def sign_of(moment: Moment) -> tuple[str, str, str]:
    """Return the mark, the words and the style of a moment's verdict.

    A supported claim with too small an effect gets the mark "not shown".
    """
    too_small = moment.verdict == "supported" and moment.finding is None
    return _SIGNS["not better than chance" if too_small else moment.verdict]


def _verdict(moment: Moment) -> Line:
    sign, _, style = sign_of(moment)
    return [(" ", ""), (f"{sign} ", style)]


def _moment(page: Page, lead: Line, moment: Moment, *, reasons: bool) -> None:
    lead = [*lead, *_verdict(moment)]
    indent = width_of(lead)
    # A long event is cut, so that the probability stays whole.
    odds = moment.sentence.removeprefix(moment.event)
    words = (cut(moment.event, 2 * (page.width - indent) - 8 - len(odds)) + odds).split()
    page.flow([[(word, "")] for word in words], indent=indent, gap=1, lead=lead)
    if moment.finding:
        page.paragraph(moment.finding, "supported", indent=indent)
    if reasons and (moved := moved_words(moment)):
        for text in (moved, *moved_records(moment)):
            page.paragraph(text, "quiet", indent=indent)


def moved_words(moment: Moment) -> str:
    """Return text such as ``expected change −0.7; relative to usual: batter's record −0.8``."""
    group_points = ", ".join(
        f"{_group(part)} {signed_points(part.points, '−')}" for part in _listed_groups(moment)
    )
    if moment.expected is None or not group_points:
        return ""
    expected = signed_points(moment.expected, "−")
    return f"expected change {expected}; relative to usual: {group_points}"


def _group(part: MovedBy) -> str:
    return _GROUP_WORDS.get(part.group, part.group)


def moved_records(moment: Moment) -> list[str]:
    """Return lines such as ``batter's record: a six on 8.9% of 812 balls to 2025-10-31``."""
    return [f"{_group(part)}: {part.record}" for part in _listed_groups(moment) if part.record]


def _listed_groups(moment: Moment) -> list[MovedBy]:
    groups = [part for part in moment.moved_by if abs(part.points) >= _MIN_LISTED_POINTS]
    return groups[:_MAX_LISTED_GROUPS]


def closing_words(story: MatchStory) -> str:
    """Return the meaning of the marks, or a note that nothing was tested."""
    if not story.tested.claims:
        return f"Nothing was tested. The story says what happened, not why. {USUAL_WORDS}"
    return f"{_MARK_WORDS} {USUAL_WORDS}"


def tested_words(story: MatchStory) -> str:
    """Return the numbers of tested and supported claims as text."""
    tested = story.tested
    if not tested.claims:
        return ""
    claims = f"{count(tested.claims, 'claim')} about {count(tested.balls, 'ball')}"
    corrected = f"after correction for the whole match: {len(story.claims)}"
    return f"Tested: {claims}. Supported: {tested.supported}; {corrected}."


def expected_of(story: MatchStory, max_rows: int) -> list[tuple[str, list[Tally]]]:
    """Return the batters, bowlers and overs whose runs differ most from the expected runs."""
    return [
        (kind, sorted(rows, key=lambda row: -abs(row.runs - row.expected_runs))[:max_rows])
        for kind, rows in story.expected
        if rows
    ]


def added_of(story: MatchStory, max_rows: int) -> list[PlayerAdded]:
    """Return the players who added the most win probability, and the player who added the least."""
    players = story.players
    return list(players) if len(players) <= 2 * max_rows else [*players[:max_rows], *players[-1:]]


def _expected(page: Page, story: MatchStory) -> None:
    if added := added_of(story, _MAX_PLAYERS):
        lead: Line = [("Win probability added for own side, in points: ", "heading")]
        figures = [f"{row.name} {row.added:+.0f}".replace("-", "−") for row in added]
        page.flow(dotted(figures, ""), indent=2, gap=1, lead=lead)
    kinds = expected_of(story, _MAX_PLAYERS)
    if kinds:
        heading = "Runs (expected runs); for bowlers wickets-runs, for overs innings:over"
        page.paragraph(heading, "heading", indent=0)
    for kind, rows in kinds:
        figures = []
        for row in rows:
            name = row.name.replace("over ", f"{row.innings}:") if kind == "overs" else row.name
            came, expected = f"{row.runs}", f"{row.expected_runs:.0f}"
            if kind == "bowlers":
                came, expected = f"{row.wickets}-{came}", f"{row.expected_wickets:.1f}-{expected}"
            figures.append(f"{name} {came} ({expected})")
        page.add((f"  {kind:<8} ", "quiet"), (" · ".join(figures), ""))


# ---- documents


def _context(story: MatchStory) -> dict[str, Any]:
    cautions, remarks = notes_of(story)
    file_notes = [note.text for note in story.notes if note.flag == "file"]
    return {
        "s": story,
        "cautions": cautions,
        "remarks": [*remarks, *file_notes],
        "where": " · ".join(filter(None, (sides_of(story), *occasion(story.match)))),
        "score_of": score_of,
        "sign_of": sign_of,
        "moved_words": moved_words,
        "moved_records": moved_records,
        "tested": tested_words(story) if story.surprises else "",
        "closing": closing_words(story) if story.surprises else "",
        "expected": expected_of(story, _MIN_MOMENTS),
        "added": added_of(story, _MIN_MOMENTS),
        "model_line": model_line(story.model),
    }


def render_story_html(story: MatchStory) -> str:
    """Render the story as a self-contained HTML page, without a final line break."""
    story = shown_story(story)
    context = {"title": story.result, "curve": curve(story, *_CURVE_SIZE), **_context(story)}
    styles = ("cricket/match_story.css",)
    return render_page("cricket/match_story.html", styles=styles, **context)


def render_story_parts(story: MatchStory, address: Address) -> str:
    """Render the body of the story's page for use in another page. Each moment is a link."""
    story = shown_story(story)
    context = {"curve": curve(story, *_CURVE_SIZE, address=address), "address": address}
    return render_part("cricket/story_parts.html", **_context(story), **context)


def render_story_markdown(story: MatchStory) -> str:
    """Render the story as Markdown (CommonMark with tables), without a final line break."""
    return render_plain("cricket/match_story.md", **_context(shown_story(story)))


def story_tables(story: MatchStory, fits: Callable[[Json], bool]) -> Json:
    """Return a story as tables, with numbers of three decimals.

    The maximum number of rows of a table is the largest number for which ``fits`` is true.
    """
    cuts = (_tables(shown_story(story), max_rows) for max_rows in range(_MAX_PROMPT_ROWS, -1, -1))
    tables = next(cuts)
    while not fits(tables) and (shorter := next(cuts, None)) is not None:
        tables = shorter
    return tables


def _tables(story: MatchStory, max_rows: int) -> Json:
    def rows(items: Sequence[Any]) -> list[Json]:
        left_out = {"index", "event", "outcome", "surprise_bits"}
        return [item.model_dump(exclude=left_out, exclude_none=True) for item in items[:max_rows]]

    ends = [story.win_probability[0].before, story.win_probability[-1].after] if story.team else []
    turns = [moment for _, moment in largest(story.turning_points, max_rows)]
    tables: Json = rounded_all(
        {
            "match": story.match.model_dump(exclude_none=True, exclude={"match_id"}),
            "result": story.result,
            "chance_to_win": {"team": story.team, "first_and_last": ends},
            "turning_points": rows(turns),
            "surprises": rows(story.surprises),
            "claims": rows(story.claims),
            "win_probability_added": rows(story.players),
            "expected": {kind: rows(tallies) for kind, tallies in expected_of(story, max_rows)},
            "notes": [note.text for note in story.notes[:max_rows]],
        },
        3,
    )
    return tables


def story_prompt(story: MatchStory) -> Prompt:
    """Return the prompt for a story, with at most `MAX_PROMPT_TOKENS` tokens."""
    nonce, tested = new_nonce(), bool(story.tested.claims)

    def prompt(tables: Json) -> Prompt:
        return render("cricket/match_story.j2", {**fence(tables, nonce), "tested": tested})

    return prompt(story_tables(story, lambda tables: prompt(tables).tokens <= MAX_PROMPT_TOKENS))
