"""The story of a match: for a terminal on one screen, as Markdown, as HTML, and as a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from attnlens.cricket.pages.parts import VERDICTS, model_line, occasion, shown_story
from attnlens.cricket.pages.story import REMARKS, dotted
from attnlens.cricket.pages.win_curve import (
    columns_of,
    curve,
    largest,
    points_of,
    score_of,
    sides_of,
)
from attnlens.render.canvas import SHADES, Line, Page, cut, pad, terminal_page, tone, width_of
from attnlens.render.numbers import fine_percent, rounded_all
from attnlens.render.page import render_page, render_plain
from attnlens.render.prompt_template import MOST_TOKENS, Prompt, fenced, new_nonce, render
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.cricket.story.types import MatchStory, Moment, Tally
    from attnlens.files import Json

SCREEN: Final = 40
"""Lines of a terminal that the story fits on."""

FEWEST: Final = 5
"""Turning points, or surprises where there are none, that stay on a screen."""

MARGIN, ROWS = 5, 4
"""Columns left of the chart of who was winning, and its rows."""

BESIDE: Final = 2
"""Surprises beside turning points on a screen."""

FURTHEST: Final = 3
"""Players and overs that are told on a screen."""

CURVE: Final = (860, 300)
"""Width and height of the curve on a page."""

MOST_ROWS: Final = 8
"""Of each table of a prompt."""

SIGNS: Final = {**VERDICTS, None: (" ", "not tested", "untold")}
"""As `VERDICTS`: of a moment it is no picture where nothing was tested."""

USUALLY: Final = "Usually: at such a scoreboard, whoever plays."


# ---- a terminal


def render_match_story(story: MatchStory, *, width: int, color: bool) -> str:
    """The story on one screen: of many turning points the smallest are left out."""
    text, shown = "", shown_story(story)
    for most in range(max(len(shown.turning_points or shown.surprises), FEWEST), FEWEST - 1, -1):
        text = _screen(shown, width=width, color=color, most=most)
        if text.count("\n") < SCREEN:
            break
    return text


@terminal_page(least=60)
def _screen(page: Page, story: MatchStory, *, most: int) -> None:
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
        turned = largest(story.turning_points, most)
        fewer = f" ({most} of {len(story.turning_points)})" * (most < len(story.turning_points))
        heading = f"Where it turned{fewer}, in points of the chance of {story.team}"
        page.paragraph(heading, "heading", indent=0)
        for number, moment in turned:
            points = points_of(moment).partition(" ")[0]
            swing = f"{points:>4}", tone(moment.swing or 0, 0)
            _moment(page, [(f"{number} {moment.innings}:{moment.label:<5}", ""), swing], moment)
    if story.surprises:
        page.paragraph("Most surprising", "heading", indent=0)
        for moment in story.surprises[: BESIDE if story.turning_points else most]:
            chance = fine_percent(moment.probability)
            lead: Line = [(f"  {moment.innings}:{moment.label:<5}{chance:>5}", "")]
            if story.turning_points:
                page.add(*lead, *_verdict(moment), (moment.event, ""))
            else:
                _moment(page, lead, moment)
        _expected(page, story)
        page.paragraph(f"{tested_words(story)} {USUALLY}", "quiet", indent=0)
    for text in remarks:
        page.flag(text)


def notes_of(story: MatchStory) -> tuple[list[str], list[str]]:
    """What to know before reading, and after; not what the file says of itself."""
    notes = [note for note in story.notes if note.flag != "file"]
    first = [note.text for note in notes if note.flag not in REMARKS]
    return first, [note.text for note in notes if note.flag in REMARKS]


def chart(page: Page, story: MatchStory) -> None:
    """The chance to win as filled columns, the turning points' numbers above them."""
    sides = list(columns_of(story, page.width - MARGIN))
    page.paragraph(f"{story.team} to win, %", "heading", indent=0)
    page.add((" " * MARGIN + " ".join("".join(marks) for _, _, marks in sides), "title"))
    for row in range(ROWS, 0, -1):
        filled = ("".join(_filled(chance, row) for chance in side) for _, side, _ in sides)
        page.add((f"{100 * row // ROWS:>{MARGIN - 1}} ", "quiet"), ("│".join(filled), "bar"))
    feet = " ".join(pad(words, len(side)) for words, side, _ in sides)
    page.add((" " * MARGIN + feet, "quiet"))


def _filled(chance: float, row: int) -> str:
    """How much of a row from the bottom a column fills."""
    eighths = round((chance * ROWS - (row - 1)) * len(SHADES))
    return " " if eighths <= 0 else SHADES[min(eighths, len(SHADES)) - 1]


def _verdict(moment: Moment) -> Line:
    sign, _, style = SIGNS[moment.verdict]
    return [(" ", ""), (f"{sign} ", style)]


def _moment(page: Page, lead: Line, moment: Moment) -> None:
    """On two lines, and another where a claim holds."""
    lead = [*lead, *_verdict(moment)]
    indent = width_of(lead)
    words = cut(moment.sentence, 2 * (page.width - indent) - 8).split()
    page.flow([[(word, "")] for word in words], indent=indent, gap=1, lead=lead)
    if moment.finding:
        page.paragraph(moment.finding, "supported", indent=indent)


def tested_words(story: MatchStory) -> str:
    """How much was tested, and how much of it holds."""
    tested, untold = story.tested, "no difference that can be told"
    if not tested.claims:
        return "Nothing was tested: what happened is told, and no reason for it."
    claims = f"Of {count(tested.claims, 'claim')} tested on {count(tested.balls, 'ball')}"
    ball = "its ball" if tested.supported == 1 else "their balls"
    held = f", {tested.supported} held for {ball} (✓), {len(story.claims)} over the whole match"
    return f"{claims}{held if tested.supported else ' none held'} (–: {untold})."


def furthest(rows: Iterable[Tally], most: int) -> list[Tally]:
    """Those whose runs are furthest from what was expected."""
    return sorted(rows, key=lambda row: -abs(row.runs - row.expected_runs))[:most]


def expected_of(story: MatchStory, most: int) -> list[tuple[str, list[Tally]]]:
    """Batters, bowlers and overs, those furthest from what was expected; none without rows."""
    expected = story.expected
    kinds = ("batters", expected.batters), ("bowlers", expected.bowlers), ("overs", expected.overs)
    return [(kind, furthest(rows, most)) for kind, rows in kinds if rows]


def _expected(page: Page, story: MatchStory) -> None:
    """A line each of batters, bowlers and overs."""
    kinds = expected_of(story, FURTHEST)
    if kinds:
        page.paragraph("Runs, and (what was expected)", "heading", indent=0)
    for kind, rows in kinds:
        figures = []
        for row in rows:
            name = row.name.replace("over ", f"{row.innings}:") if kind == "overs" else row.name
            came, said = f"{row.runs}", f"{row.expected_runs:.0f}"
            if kind == "bowlers":
                came, said = f"{row.wickets}-{came}", f"{row.expected_wickets:.1f}-{said}"
            figures.append(f"{name} {came} ({said})")
        page.add((f"  {kind:<8} ", "quiet"), (" · ".join(figures), ""))


# ---- documents


def _context(story: MatchStory) -> dict[str, Any]:
    """What the templates of a story are given."""
    cautions, remarks = notes_of(story)
    file_notes = [note.text for note in story.notes if note.flag == "file"]
    return {
        "s": story,
        "cautions": cautions,
        "remarks": [*remarks, *file_notes],
        "where": " · ".join(filter(None, (sides_of(story), *occasion(story.match)))),
        "score_of": score_of,
        "signs": SIGNS,
        "tested": f"{tested_words(story)} {USUALLY}" if story.surprises else "",
        "expected": expected_of(story, FEWEST),
        "model_line": model_line(story.model),
    }


def render_story_html(story: MatchStory) -> str:
    """The page, one self-contained file, without a final line break."""
    shown = shown_story(story)
    context = {"title": shown.result, "curve": curve(shown, *CURVE), **_context(shown)}
    styles = ("cricket/match_story.css",)
    return render_page("cricket/match_story.html", styles=styles, **context)


def render_story_markdown(story: MatchStory) -> str:
    """GitHub's Markdown, CommonMark with tables, without a final line break."""
    return render_plain("cricket/match_story.md", **_context(shown_story(story)))


def story_tables(story: MatchStory, fits: Callable[[Json], bool]) -> Json:
    """A story as small tables with three decimals, each with as many rows as fit."""
    cuts = (_tables(shown_story(story), most) for most in range(MOST_ROWS, -1, -1))
    tables = next(cuts)
    while not fits(tables) and (shorter := next(cuts, None)) is not None:
        tables = shorter
    return tables


def _tables(story: MatchStory, most: int) -> Json:
    def rows(items: Sequence[Any]) -> list[Json]:
        left_out = {"index", "event", "outcome", "surprise_bits"}
        return [one.model_dump(exclude=left_out, exclude_none=True) for one in items[:most]]

    ends = [story.win_probability[0].before, story.win_probability[-1].after] if story.team else []
    told: Json = rounded_all(
        {
            "match": story.match.model_dump(exclude_none=True, exclude={"match_id"}),
            "result": story.result,
            "chance_to_win": {"team": story.team, "first_and_last": ends},
            "turning_points": rows([one for _, one in largest(story.turning_points, most)]),
            "surprises": rows(story.surprises),
            "claims": rows(story.claims),
            "expected": {kind: rows(tallies) for kind, tallies in expected_of(story, most)},
            "notes": [note.text for note in story.notes[:most]],
        },
        3,
    )
    return told


def story_prompt(story: MatchStory) -> Prompt:
    """The prompt for a story, of `MOST_TOKENS` at most."""
    nonce, tested = new_nonce(), bool(story.tested.claims)

    def prompt(tables: Json) -> Prompt:
        return render("cricket/match_story.j2", {**fenced(tables, nonce), "tested": tested})

    return prompt(story_tables(story, lambda tables: prompt(tables).tokens <= MOST_TOKENS))
