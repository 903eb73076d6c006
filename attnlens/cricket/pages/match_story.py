"""The story of a match: for a terminal on one screen, as Markdown, as HTML, and as a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from attnlens.cricket.pages.parts import VERDICTS, fit_to_show, model_line, occasion
from attnlens.cricket.pages.story import REMARKS
from attnlens.cricket.pages.win_curve import Frame, columns_of, curve, runs_of
from attnlens.cricket.words.facts import outcome_words
from attnlens.show.canvas import SHADES, Page, Span, cut, pad, terminal_page, tone, width_of
from attnlens.show.numbers import fine_percent, rounded_all
from attnlens.show.page import render_page, render_plain
from attnlens.show.prompt_template import MOST_TOKENS, Prompt, fenced, new_nonce, render
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.cricket.story.types import MatchStory, Moment, Side, Tally
    from attnlens.files import Json

SCREEN: Final = 40
"""Lines of a terminal that the story fits on."""

CURVE: Final = (860, 300)
"""Width and height of the curve on a page."""

FEWEST: Final = 5
"""Turning points, or surprises where there are none, that stay on a screen."""

MARGIN: Final = 5
ROWS: Final = 4
"""Columns left of the chart of who is winning, and its rows."""

BESIDE: Final = 2
"""Surprises beside turning points on a screen."""

LISTED: Final = 3
"""Players and overs that are furthest from what was expected, on a screen."""

USUALLY: Final = "Usually: at such a scoreboard, whoever plays."
EXPECTED: Final = (
    "Expected: the sum of what the model said of these balls, each before it was bowled."
)


def shown_story(story: MatchStory) -> MatchStory:
    """A story whose every text can be shown: nothing hidden in it, no name too long."""
    match, expected = story.match, story.expected
    names = {match.match_id, match.venue or "", match.city or "", match.event or "", *match.teams}
    names |= {side.batting_team for side in match.innings}
    names |= {row.name for row in (*expected.batters, *expected.bowlers)}
    # Whoever was out without facing a ball stands in a sentence alone.
    return fit_to_show(story, names)


# ---- a terminal


def render_match_story(story: MatchStory, *, width: int, color: bool) -> str:
    """The story on one screen: of many turning points the smallest are left out."""
    shown = shown_story(story)
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
        turned = _largest(story.turning_points, most)
        fewer = f" ({most} of {len(story.turning_points)})" * (most < len(story.turning_points))
        heading = f"Where it turned{fewer}, in points of the chance of {story.team}"
        page.paragraph(heading, "heading", indent=0)
        for number, moment in turned:
            _turning_point(page, number, moment)
    if story.surprises:
        page.paragraph("Most surprising", "heading", indent=0)
        for moment in story.surprises[: BESIDE if story.turning_points else most]:
            _surprise(page, moment)
        _expected(page, story)
        page.paragraph(f"{tested_words(story)} {USUALLY}", "quiet", indent=0)
    for text in remarks:
        page.flag(text)


def _where(story: MatchStory) -> list[str]:
    """What, where, when; and the scores, where no chart tells them."""
    parts = [part for part in occasion(story.match) if part]
    if not story.win_probability:
        parts += [f"{side.batting_team} {score_of(side)}" for side in story.match.innings]
    parts = parts or [" v ".join(story.match.teams) or story.match.match_id]
    return [f"{part} ·" for part in parts[:-1]] + parts[-1:]


def score_of(side: Side) -> str:
    """``186/6 (20.0)``."""
    return f"{runs_of(side)} ({side.overs})"


def notes_of(story: MatchStory) -> tuple[list[str], list[str]]:
    """What to know before reading, and after; not what the file says of itself."""
    notes = [note for note in story.notes if note.flag != "file"]
    first = [note.text for note in notes if note.flag not in REMARKS]
    return first, [note.text for note in notes if note.flag in REMARKS]


def _chart(page: Page, story: MatchStory) -> None:
    """The chance to win as filled columns, the turning points' numbers above them."""
    sides = columns_of(story, page.width - MARGIN)
    page.paragraph(f"{story.team} to win, %", "heading", indent=0)
    marks = " ".join("".join(column.mark or " " for column in side) for _, side in sides)
    page.add((" " * MARGIN + marks, "title"))
    for row in range(ROWS, 0, -1):
        line: list[Span] = [(f"{100 * row // ROWS:>{MARGIN - 1}} ", "quiet")]
        for at, (_, side) in enumerate(sides):
            line += [("│", "quiet")] if at else []
            line.append(("".join(_filled(column.chance, row) for column in side), "bar"))
        page.add(*line)
    feet = " ".join(pad(words, len(side)) for words, side in sides)
    page.add((" " * MARGIN + feet, "quiet"))


def _filled(chance: float, row: int) -> str:
    """How much of a row from the bottom a column fills."""
    eighths = round((chance * ROWS - (row - 1)) * len(SHADES))
    return " " if eighths <= 0 else SHADES[min(eighths, len(SHADES)) - 1]


def _largest(moments: Sequence[Moment], most: int) -> list[tuple[int, Moment]]:
    """The moments that swung most, with their numbers, in order."""
    ranked = sorted(enumerate(moments, 1), key=lambda one: -abs(one[1].swing or 0))[:most]
    return sorted(ranked, key=lambda one: one[0])


def _turning_point(page: Page, number: int, moment: Moment) -> None:
    """On two lines, and a third where a claim holds: where, how much, its verdict's sign, what."""
    points = f"{round(100 * (moment.swing or 0)):+4d}".replace("-", "−")
    sign, _, style = VERDICTS[moment.verdict]
    lead: list[Span] = [(f"{number} ", "title"), (f"{moment.innings}:{moment.label:<5}", "")]
    lead += [(points, tone(moment.swing or 0, 0.005)), (f" {sign}", style)]
    indent = width_of(lead) + 1
    words = cut(moment.sentence, 2 * (page.width - indent) - 8).split()
    page.flow([[(word, "")] for word in words], indent=indent, gap=1, lead=lead)
    if moment.finding:
        page.paragraph(moment.finding, "supported", indent=indent)


def _surprise(page: Page, moment: Moment) -> None:
    """On one line: where, how likely, its verdict's sign, what."""
    sign, _, style = VERDICTS[moment.verdict]
    chance = fine_percent(moment.probability)
    page.add(
        (f"  {moment.innings}:{moment.label:<5}{chance:>5}", ""),
        (f" {sign} ", style),
        (moment.event, ""),
    )


def tested_words(story: MatchStory) -> str:
    """How much was tested, and how much of it held."""
    tested = story.tested
    if not tested.claims:
        return "Nothing was tested: what happened is told, and no reason for it."
    claims = f"Of {count(tested.claims, 'claim')} tested on {count(tested.balls, 'ball')}"
    untold = "no difference that can be told"
    if not tested.held:
        return f"{claims} none held (–: {untold})."
    over_match = len(story.claims) or "none"
    return (
        f"{claims}, {tested.held} held for {'its' if tested.held == 1 else 'their'} ball (✓), "
        f"{over_match} over the whole match (–: {untold})."
    )


def furthest(rows: Sequence[Tally], most: int) -> list[Tally]:
    """Those whose runs are furthest from what was expected."""
    return sorted(rows, key=lambda row: -abs(row.runs - row.expected_runs))[:most]


def _expected(page: Page, story: MatchStory) -> None:
    """A line each of batters, bowlers and overs."""
    page.paragraph("Runs, and (what was expected)", "heading", indent=0)
    expected = story.expected
    named = {"batters": expected.batters, "bowlers": expected.bowlers, "overs": expected.overs}
    for kind, rows in named.items():
        figures = []
        for row in furthest(rows, LISTED):
            name = f"{row.innings}:{row.name.split()[1]}" if kind == "overs" else row.name
            bowler = kind == "bowlers"
            wickets = (f"{row.wickets}-", f"{row.expected_wickets:.1f}-") if bowler else ("", "")
            figures.append(f"{name} {wickets[0]}{row.runs} ({wickets[1]}{row.expected_runs:.0f})")
        page.add((f"  {kind:<8} ", "quiet"), (" · ".join(figures), ""))


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
    shown = shown_story(story)
    return render_page(
        "cricket/match_story.html",
        title=shown.result,
        styles=("cricket/match_story.css",),
        curve=curve(shown, *CURVE),
        frame=Frame.of(shown, *CURVE, 0, 0),
        **_context(shown),
    )


def render_story_markdown(story: MatchStory) -> str:
    """GitHub's Markdown, CommonMark with tables, without a final line break."""
    return render_plain("cricket/match_story.md", **_context(shown_story(story)))


# ---- a prompt

MOMENT: Final = ("outcome", "probability", "usual", "swing", "sentence", "verdict", "finding")
TALLY: Final = ("innings", "name", "runs", "expected_runs", "wickets", "expected_wickets")


def story_tables(story: MatchStory, most: int = 8) -> Json:
    """A story as small tables with three decimals, at most so many rows each."""
    shown = shown_story(story)
    ends = [shown.win_probability[0].before, shown.win_probability[-1].after] if story.team else []

    def rows(items: Sequence[Any], names: Sequence[str]) -> list[Json]:
        return [{name: getattr(one, name) for name in names} for one in items[:most]]

    def moments(items: Sequence[Moment]) -> list[Json]:
        balls = [{"ball": f"{one.innings}:{one.label}"} for one in items]
        return [ball | row for ball, row in zip(balls, rows(items, MOMENT), strict=False)]

    turning = [moment for _, moment in _largest(shown.turning_points, most)]
    data: Json = rounded_all(
        {
            "match": shown.match.model_dump(exclude_none=True, exclude={"match_id"}),
            "result": shown.result,
            "chance_to_win": {"team": shown.team, "first_and_last": ends},
            "turning_points": moments(turning),
            "surprises": moments(shown.surprises),
            "claims": [claim.model_dump() for claim in shown.claims[:most]],
            "expected": {
                "batters": rows(furthest(shown.expected.batters, most), TALLY),
                "bowlers": rows(furthest(shown.expected.bowlers, most), TALLY),
                "overs": rows(furthest(shown.expected.overs, most), TALLY),
            },
            "notes": [note.text for note in shown.notes[:most]],
        },
        3,
    )
    return data


def story_prompt(story: MatchStory) -> Prompt:
    """The prompt for a story, of `MOST_TOKENS` at most: the rows that matter least have no room."""
    nonce = new_nonce()

    def prompt(most: int) -> Prompt:
        context = {**fenced(story_tables(story, most), nonce), "tested": bool(story.tested.claims)}
        return render("cricket/match_story.j2", context)

    fitting = (asked for most in range(8, 0, -1) if (asked := prompt(most)).tokens <= MOST_TOKENS)
    return next(fitting, prompt(0))
