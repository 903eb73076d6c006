"""The story of a match: for a terminal on one screen, as Markdown, as HTML, and as a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from attnlens.cricket.pages.parts import VERDICTS, model_line, occasion
from attnlens.cricket.pages.story import REMARKS
from attnlens.cricket.pages.win_curve import columns_of, curve
from attnlens.cricket.words.facts import outcome_words
from attnlens.show.canvas import SHADES, Page, Span, cut, pad, terminal_page, tone
from attnlens.show.numbers import percent_seen
from attnlens.show.page import render_page, render_plain
from attnlens.show.prompt_template import MOST_TOKENS, Prompt, fenced, new_nonce, render
from attnlens.show.safe import each_text, visible_all, visible_name
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.cricket.story.types import MatchStory, Moment, Tally
    from attnlens.files import Json

SCREEN: Final = 40
"""Lines of a terminal that the story fits on."""

FEWEST: Final = 5
"""Turning points, or surprises where there are none, that stay on a screen."""

MARGIN: Final = 5
ROWS: Final = 4
"""Columns left of the chart of who is winning, and its rows."""

BESIDE: Final = 2
"""Surprises beside turning points on a screen."""

LISTED: Final = 3
"""Players and overs that are furthest from what was expected, on a screen."""

USUALLY: Final = "Usually: what such a scoreboard brings in such cricket, whoever plays."
EXPECTED: Final = "Expected: the sum of what the model said of these balls, each before it was bowled."


def presentable(story: MatchStory) -> MatchStory:
    """A story whose every text can be shown: nothing hidden in it, no name too long."""
    players = {one.batter for one in story.turning_points + story.surprises}
    players |= {one.bowler for one in story.turning_points + story.surprises}
    players |= {row.name for row in (*story.expected.batters, *story.expected.bowlers)}
    names = players | {*story.match.teams, story.match.venue or "", story.match.event or ""}
    changed = sorted((name for name in names if name.strip()), key=len, reverse=True)

    def fit(text: str) -> str:
        for name in changed:
            text = text.replace(name, visible_name(name))
        return text

    shown: MatchStory = visible_all(each_text(story, fit))
    return shown


# ---- a terminal


def render_match_story(story: MatchStory, *, width: int, color: bool) -> str:
    """The story on one screen: of many turning points the smallest are left out."""
    shown = presentable(story)
    for most in range(len(shown.turning_points or shown.surprises), FEWEST - 1, -1):
        text = _screen(shown, width=width, color=color, most=most)
        if text.count("\n") < SCREEN:
            return text
    return _screen(shown, width=width, color=color, most=FEWEST)


@terminal_page(least=60)
def _screen(page: Page, story: MatchStory, *, most: int) -> None:
    page.paragraph(story.result, "title", indent=0)
    page.flow([[(part, "quiet")] for part in _where(story)], indent=0, gap=1)
    cautions, remarks = notes_of(story)
    for text in cautions:
        page.flag(text)
    page.blank()
    if story.win_probability:
        _chart(page, story)
        page.blank()
    if story.turning_points:
        heading = f"Where it turned, in points of {story.team}'s chance to win"
        _moments(page, heading, story, _largest(story.turning_points, most))
        _moments(page, "Most surprising", story, story.surprises[:BESIDE])
    elif story.surprises:
        _moments(page, "Most surprising", story, story.surprises[:most])
    if story.turning_points or story.surprises:
        page.paragraph(tested_words(story), "quiet")
        _expected(page, story)
    for text in remarks:
        page.flag(text)


def _where(story: MatchStory) -> list[str]:
    """What, where, when; and the scores, where no chart tells them."""
    parts = [part for part in occasion(story.match) if part]
    if not story.win_probability:
        parts += [f"{side.batting_team} {score_of(side)}" for side in story.match.innings]
    parts = parts or [" v ".join(story.match.teams) or story.match.match_id]
    return [f"{part} ·" for part in parts[:-1]] + parts[-1:]


def score_of(side: Any) -> str:
    """``186/6 (20.0)``."""
    return f"{side.runs}/{side.wickets} ({side.overs})"


def notes_of(story: MatchStory) -> tuple[list[str], list[str]]:
    """What to know before reading, and after; not what the file says of itself."""
    notes = [note for note in story.notes if note.flag != "file"]
    first = [note.text for note in notes if note.flag not in REMARKS]
    return first, [note.text for note in notes if note.flag in REMARKS]


def _chart(page: Page, story: MatchStory) -> None:
    """The chance to win as filled columns, the turning points' numbers above them."""
    sides = columns_of(story, page.width - MARGIN)
    page.paragraph(f"{story.team} to win, %", "heading", indent=0)
    marks = "│".join("".join(column.mark or " " for column in side) for _, side in sides)
    page.add((" " * MARGIN + marks.replace("│", " "), "title"))
    for row in range(ROWS, 0, -1):
        line: list[Span] = [(f"{100 * row // ROWS:>{MARGIN - 1}} ", "quiet")]
        for at, (_, side) in enumerate(sides):
            line += [("│", "quiet")] if at else []
            line.append(("".join(_filled(column.chance, row) for column in side), "bar"))
        page.add(*line)
    feet = [pad(words, len(side)) for words, side in sides]
    page.add((" " * MARGIN + " ".join(feet), "quiet"))


def _filled(chance: float, row: int) -> str:
    """How much of a row from the bottom a column fills."""
    eighths = round((chance * ROWS - (row - 1)) * len(SHADES))
    return " " if eighths <= 0 else SHADES[min(eighths, len(SHADES)) - 1]


def _largest(moments: Sequence[Moment], most: int) -> list[tuple[int, Moment]]:
    """The moments that swung most, with their numbers, in order."""
    ranked = sorted(enumerate(moments, 1), key=lambda one: -abs(one[1].swing or 0))[:most]
    return sorted(ranked, key=lambda one: one[0])


def _moments(
    page: Page,
    heading: str,
    story: MatchStory,
    moments: Sequence[tuple[int, Moment]] | Sequence[Moment],
) -> None:
    """A moment on two lines at most: where, how much, what, and its verdict's sign."""
    page.paragraph(heading, "heading", indent=0)
    for one in moments:
        number, moment = one if isinstance(one, tuple) else (None, one)
        points = None if number is None else round(100 * (moment.swing or 0))
        lead: list[Span] = [] if number is None else [(f"{number} ", "title")]
        lead.append((f"{moment.innings}:{moment.label:<5}", "name" if number is None else ""))
        if points is not None:
            lead.append((f"{points:+4d} ".replace("-", "−"), tone(points, 1)))
        room = 2 * (page.width - 14) - 4
        sign = VERDICTS[moment.verdict][0] if story.tested.claims else ""
        words = cut(f"{moment.sentence} {moment.finding or ''}".strip(), room)
        page.flow(
            [[(word, "")] for word in [*words.split(), sign]], indent=13, gap=1, lead=lead
        )


def tested_words(story: MatchStory) -> str:
    """What was tested, and how much of it held."""
    tested = story.tested
    if not tested.claims:
        return "Nothing was tested: what happened is told, and no reason for it."
    claims = f"{count(tested.claims, 'claim')} on {count(tested.balls, 'ball')}"
    return (
        f"Why were these as likely as they were? Of {claims}, {tested.held} held for "
        f"{'its' if tested.held == 1 else 'their'} own ball (✓), {len(story.claims)} over the "
        "whole match; –: nothing tested made a difference that can be told."
    )


def furthest(rows: Sequence[Tally], most: int) -> list[Tally]:
    """Those whose runs are furthest from what was expected."""
    return sorted(rows, key=lambda row: -abs(row.runs - row.expected_runs))[:most]


def _expected(page: Page, story: MatchStory) -> None:
    page.paragraph("Runs, and what was expected", "heading", indent=0)
    expected = story.expected
    for kind, rows in (
        ("batters", expected.batters),
        ("bowlers", expected.bowlers),
        ("overs", expected.overs),
    ):
        items = []
        for row in furthest(rows, LISTED):
            name = f"{row.innings}:{row.name.split()[1]}" if kind == "overs" else row.name
            figures = f"{row.wickets}-{row.runs}" if kind == "bowlers" else str(row.runs)
            usual = f"{row.expected_wickets:.1f}-" if kind == "bowlers" else ""
            items.append([(f"{name} {figures} ({usual}{row.expected_runs:.0f})", "")])
        page.flow(items, indent=10, gap=3, lead=[(f"  {kind}", "quiet")])


# ---- documents


def _context(story: MatchStory) -> dict[str, Any]:
    """What the templates of a story are given."""
    cautions, remarks = notes_of(story)
    return {
        "s": story,
        "cautions": cautions,
        "remarks": remarks,
        "file_notes": [note.text for note in story.notes if note.flag == "file"],
        "where": [part for part in occasion(story.match) if part],
        "scores": [(side, score_of(side)) for side in story.match.innings],
        "signs": {name: (sign, words, kind) for name, (sign, words, kind) in VERDICTS.items()},
        "tested": tested_words(story),
        "furthest": furthest,
        "outcome_words": outcome_words,
        "model_line": model_line(story.model),
        "usually": USUALLY,
        "expected_words": EXPECTED,
    }


def render_story_html(story: MatchStory) -> str:
    """The page, one self-contained file, without a final line break."""
    shown = presentable(story)
    return render_page(
        "cricket/match_story.html",
        title=shown.result,
        styles=("cricket/match_story.css",),
        curve=curve(shown, 860, 300),
        **_context(shown),
    )


def render_story_markdown(story: MatchStory) -> str:
    """GitHub's Markdown, CommonMark with tables, without a final line break."""
    return render_plain("cricket/match_story.md", **_context(presentable(story)))


# ---- a prompt


def story_tables(story: MatchStory, most: int) -> Json:
    """A story as small tables with three decimals, at most so many rows each."""
    ...
