"""What a ball's explanation opens with: who, what stands out, why, what was tested, what came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from attnlens.cricket.pages.heads import Balls, add_attention
from attnlens.cricket.pages.outcomes import NAMES
from attnlens.cricket.pages.parts import beside, group_words, moves
from attnlens.cricket.words.facts import Source
from attnlens.cricket.words.story import headline, supported, tested, then, winning, without
from attnlens.render.canvas import FULL, LOST, Line, Page, pad, terminal_page, tone
from attnlens.render.numbers import percent_seen, signed_points
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import (
        BallFacts,
        Explanation,
        OutcomeProbability,
        Sentence,
    )

PAGE_LINES, STRIP_LINES = 30, 8
"""Lines of the page at 80 columns, and of its strip of attention, at most."""

REMARKS: Final = frozenset(
    {"in_training", "ratings_from_later", "short_history", "no_history", "evidence_skipped"}
)
"""Cautions that stand last; the others tell of cricket that the model does not know."""

SHOWN: Final = 0.03
"""The chance from which an outcome is shown, though the story is about another."""

MARKS: Final = ((2.0, "▲▲"), (1.25, "▲"), (0.8, ""), (0.5, "▼"), (0.0, "▼▼"))
"""Signs from so many times as likely as usual."""

WORTH: Final = 0.3
"""Points from which a group has a line of its own."""

REASONS, FINDINGS = 4, 2
"""Lines of what moves the outcome, and of supported claims, at most."""

STAND: Final = 30
"""Runs of a partnership that is told."""

GROUP, BAR = 46, 24
"""Columns of a group's name, and of the longest bar."""

BESIDE: Final = {
    "usual": "Usual: what this scoreboard brings in such cricket, whoever plays.",
    "baseline": "Baseline: what the model expects where it knows nothing of the ball.",
}
"""What the chances are told beside."""


@dataclass(frozen=True, slots=True)
class Story:
    """The first screen of an explanation, part by part.

    Attributes:
        who: bowler and batter, which ball, the score.
        standing: what is special, figures, phase, the last balls, the place in the innings.
        cautions, remarks: what to know before reading, and after.
        headline: what stands out.
        chances: outcomes with their chance and a sign where it is not as usual; whether the
            story is about it.
        outcome: what that one is called.
        reference: what `beside` tells.
        reasons: groups and the points that they move it by.
        findings: supported claims; else `untold` says that there is none.
        came: what happened, and who is winning.
    """

    who: list[str]
    standing: list[str]
    cautions: list[str]
    remarks: list[str]
    headline: Sentence
    chances: list[tuple[str, str, bool]]
    outcome: str
    reference: str
    reasons: list[tuple[str, float]]
    findings: list[Sentence]
    untold: Sentence
    came: list[Sentence]


def story_of(explanation: Explanation) -> Story:
    """The story of an explanation whose names are fit to be shown."""
    source, names, outcome = Source(explanation), Balls(explanation), explanation.prediction.about
    last = [flag.text for flag in explanation.flags if flag.flag in REMARKS]
    ends = then(source), winning(source)
    return Story(
        who=_who(explanation),
        standing=[*_standing(explanation.ball, names), _place(explanation.ball)],
        cautions=[flag.text for flag in explanation.flags if flag.flag not in REMARKS],
        remarks=last,
        headline=headline(source),
        chances=_chances(explanation, outcome),
        outcome=NAMES[outcome].split()[-1],
        reference=beside(explanation)[0],
        reasons=_reasons(explanation, outcome, names),
        findings=[without(source, at) for at in supported(explanation)[:FINDINGS]],
        untold=tested(source),
        came=[one for one in ends if one is not None],
    )


@terminal_page(most=100)
def render_story(page: Page, shown: Explanation) -> None:
    """The story of one ball on one screen."""
    story, balls, closing = story_of(shown), Balls(shown), Page(page.width)
    page.flow(dotted(story.who, "title"), indent=0, gap=1)
    page.flow(dotted(story.standing, "quiet"), indent=0, gap=1)
    for text in story.cautions:
        page.flag(text)
    page.blank()
    page.paragraph(story.headline.text, "title", indent=0)
    page.flow([_chance(*one) for one in story.chances], indent=3, gap=2)
    _add_reasons(page, story)
    for finding in story.findings:
        closing.paragraph(f"{finding.text} ✓", "supported", indent=0)
    if not story.findings:
        closing.paragraph(story.untold.text, "quiet", indent=0)
    if story.came:
        closing.paragraph(" ".join(one.text for one in story.came), indent=0)
    closing.blank()
    for text in story.remarks:
        closing.flag(text)
    closing.paragraph(f"{BESIDE[story.reference]} --full: every claim and head.", "quiet", indent=0)
    room = PAGE_LINES - len(page.lines) - len(closing.lines) - 1
    add_attention(page, shown, balls, min(room, STRIP_LINES))
    page.lines += closing.lines


def _who(explanation: Explanation) -> list[str]:
    ball, match = explanation.ball, explanation.match
    place = "next ball" if ball.label is None else f"ball {ball.label}"
    score = f"{match.batting_team} {ball.score}/{ball.wickets}"
    if ball.runs_required is not None and ball.balls_left is not None:
        score += f", {ball.runs_required} to win from {count(ball.balls_left, 'ball')}"
    else:
        score += f" v {match.bowling_team}"
    return [f"{ball.bowler} to {ball.batter}", place, score]


def _place(ball: BallFacts) -> str:
    """Its place in the innings, also by legal balls, as every answer names it."""
    place, _, legal, *_ = ball.echo.split(" | ")
    return f"{place}, {legal}"


def dotted(parts: list[str], style: str) -> list[Line]:
    return [[(f"{part} ·", style)] for part in parts[:-1]] + [[(parts[-1], style)]]


def _standing(ball: BallFacts, names: Balls) -> list[str]:
    """What is special first, then the figures, the phase and the last six balls."""
    standing = ball.standing
    if standing is None:
        return []
    special = {
        "free hit": ball.free_hit,
        "super over": ball.super_over,
        "hat-trick ball": standing.hat_trick,
        "first ball faced": not standing.batter_balls,
    }
    told = [words for words, holds in special.items() if holds]
    told += [f"{names.batter} {standing.batter_runs} ({standing.batter_balls})"]
    figures = f"{standing.bowler_wickets}-{standing.bowler_runs} ({standing.bowler_overs})"
    told += [f"{names.bowler} {figures}"]
    if standing.partnership_runs >= STAND:
        told += [f"stand {standing.partnership_runs} ({standing.partnership_balls})"]
    if ball.required_rate is not None:
        told += [f"{ball.required_rate:.1f} an over needed"]
    told += [standing.phase] if standing.phase else []
    return [*told, *([f"last six: {' '.join(standing.latest)}"] if standing.latest else [])]


def _chances(explanation: Explanation, outcome: str) -> list[tuple[str, str, bool]]:
    """The outcomes that count, with signs of those that are not as usual."""
    named = (outcome, explanation.prediction.actual)
    return [
        (
            f"{NAMES[entry.outcome].split()[-1]} {percent_seen(entry.probability)}",
            _mark(entry),
            entry.outcome == outcome,
        )
        for entry in explanation.prediction.outcomes
        if entry.outcome in named or entry.probability >= SHOWN
    ]


def _mark(entry: OutcomeProbability) -> str:
    """Whether an outcome is likelier or less likely than usual."""
    if not entry.usual:
        return ""
    times = entry.probability / entry.usual
    return next(sign for least, sign in MARKS if times >= least)


def _chance(told: str, mark: str, chosen: bool) -> Line:
    line: Line = [(told.upper(), "title")] if chosen else [(told, "")]
    return [*line, (f" {mark}", "quiet")] if mark else line


def _reasons(explanation: Explanation, outcome: str, names: Balls) -> list[tuple[str, float]]:
    """The groups that move the outcome most, the others summed."""
    rows = [(group, points) for group, _, points in moves(explanation, outcome)]
    felt = [row for row in rows if abs(row[1]) >= WORTH][:REASONS]
    rest = sum(points for _, points in rows[len(felt) :])
    told = [(group_words(explanation, group, names.names), points) for group, points in felt]
    return [*told, ("all else", rest)] if felt and abs(rest) >= WORTH else told


def _add_reasons(page: Page, story: Story) -> None:
    if not story.reasons:
        return
    heading = f"Why, in points of P({story.outcome}) from {story.reference}"
    page.paragraph(heading, "heading", 0)
    most = max(abs(points) for _, points in story.reasons)
    for words, points in story.reasons:
        size = int(abs(points) / most * BAR + 0.5)
        style, sign = tone(points, WORTH), FULL if points > 0 else LOST
        line: Line = [(pad(f"   {words}", GROUP), ""), (f"{signed_points(points, '−'):>6} ", style)]
        page.add(*line, (sign * size, style))
