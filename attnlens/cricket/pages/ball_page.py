"""What a ball's explanation opens with: who, what stands out, why, what was tested, what came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from attnlens.cricket.match.outcomes import OUTCOME_NAMES
from attnlens.cricket.pages.heads import (
    Balls,
    add_attention,
    add_claims,
    add_heads,
    add_other_scales,
    add_strip,
)
from attnlens.cricket.pages.parts import (
    CAVEAT,
    SCALE_NAMES,
    beside,
    group_words,
    moves,
    of,
    short_names,
    win_line,
)
from attnlens.cricket.words.facts import OUTCOME_WORDS
from attnlens.cricket.words.narrative import (
    aim,
    headline,
    supported,
    tested,
    then,
    winning,
    without,
)
from attnlens.cricket.words.summary import summary_of
from attnlens.errors import InputError
from attnlens.files import render_json
from attnlens.render.canvas import FULL, LOST, Line, Page, bar, pad, pad_line, terminal_page, tone
from attnlens.render.numbers import percent_seen, signed_points
from attnlens.render.safe import clean
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import (
        BallFacts,
        Explanation,
        OutcomeProbability,
        Sentence,
    )


NAMES: Final = {outcome: names.label for outcome, names in OUTCOME_NAMES.items()}

WORTH_A_BAR: Final = 0.03
FELT: Final = 0.05
"""Points from which a move has a colour."""

LABEL: Final = 11
"""Columns of an outcome's name."""

_GROUP_COLUMNS, _POINTS_COLUMNS, _BAR_COLUMNS = 34, 7, 12
"""Columns of a group's name, of its points and of its bar."""

_SIDE_BY_SIDE_COLUMNS: Final = 92
"""Columns from which the contributions stand beside the bars."""


def add_prediction(page: Page, explanation: Explanation, outcome: str) -> None:
    """Bars for the outcomes that count, the others in one line, and what moves the chosen one."""
    two = page.width >= _SIDE_BY_SIDE_COLUMNS and bool(explanation.contributions)
    left = 46 if two else page.width
    entries, (_, usual) = explanation.prediction.outcomes, beside(explanation)
    always = (outcome, explanation.prediction.actual)
    with_bars = [
        entry
        for entry in entries
        if entry.outcome in always or max(entry.probability, usual[entry.outcome]) >= WORTH_A_BAR
    ]
    bars = _bars(explanation, with_bars, outcome, left)
    room = page.width - left - 3 if two else page.width
    moved = _contributions(explanation, outcome, room, len(bars))
    if two:
        for row in range(max(len(bars), len(moved))):
            line = pad_line(bars[row] if row < len(bars) else [], left + 3)
            page.add(*line, *(moved[row] if row < len(moved) else []))
    else:
        for line in bars:
            page.add(*line)
    add_the_rest(
        page, {entry.outcome: entry.probability for entry in entries if entry not in with_bars}
    )
    _add_what_happened(page, explanation)
    if moved and not two:
        page.blank()
        for line in moved:
            page.add(*line)
    page.blank()


def add_the_rest(page: Page, chances: Mapping[str, float]) -> None:
    """A line of outcomes that have no bar, and their probabilities; nothing of none."""
    if chances:
        page.flow(
            [
                [(f"{NAMES[name]} {percent_seen(chance)}", "quiet")]
                for name, chance in chances.items()
            ],
            indent=LABEL,
            gap=3,
            lead=[("  the rest", "quiet")],
        )


def _bars(
    explanation: Explanation,
    shown: list[OutcomeProbability],
    outcome: str,
    width: int,
) -> list[Line]:
    room = max(6, width - LABEL - 23)
    name, usual = beside(explanation)
    largest = max(max(entry.probability, usual[entry.outcome]) for entry in shown) or 1.0
    lines: list[Line] = [
        [
            (pad("  expected", LABEL + room, ""), "heading"),
            (f"{'now':>6}{name.removesuffix('line'):>7}{'diff':>8}", "quiet"),
        ]
    ]
    for entry in shown:
        base = usual[entry.outcome]
        difference = 100 * (entry.probability - base)
        style = "title" if entry.outcome == outcome else ""
        sign = "●" if entry.outcome == explanation.prediction.actual else ""
        sign = sign or ("◂" if style else "")
        lines.append(
            [
                (pad(f"  {NAMES[entry.outcome]}", LABEL, ""), style),
                *bar(entry.probability / largest, base / largest, room),
                (f"{percent_seen(entry.probability):>6}", style),
                (f"{percent_seen(base):>7}", "quiet"),
                (f"{signed_points(difference, '−'):>8}", tone(difference, FELT)),
                (f" {sign}" if sign else "", "title"),
            ]
        )
    return lines


def _contributions(explanation: Explanation, outcome: str, width: int, rows: int) -> list[Line]:
    """Groups by size, as many as there are rows; the rest are summed in the last."""
    names = short_names((explanation.ball.bowler, explanation.ball.batter))
    groups = [
        (group_words(explanation, group, names), points)
        for group, _, points in moves(explanation, outcome)
    ]
    if not groups:
        return []
    entry, base = of(explanation.prediction.outcomes, outcome), beside(explanation)[1][outcome]
    heading = f"what moves P({outcome})"
    full_title = f"{heading} from {percent_seen(base)} to {percent_seen(entry.probability)}"
    noticeable = [group for group in groups if abs(group[1]) >= FELT]
    listing = noticeable if len(noticeable) <= rows - 1 else noticeable[: max(1, rows - 2)]
    rest = groups[len(listing) :]
    if len(listing) < len(noticeable) or not listing:
        noun = "other group" if len(rest) == 1 else "other groups"
        listing = [*listing, (f"{len(rest)} {noun}", sum(points for _, points in rest))]
    label = min(_GROUP_COLUMNS, width - _POINTS_COLUMNS)
    title = full_title if len(full_title) <= width - _POINTS_COLUMNS - 3 else heading
    lines: list[Line] = [
        [
            (pad(f"  {title}", label), "heading"),
            (f"{'points':>{_POINTS_COLUMNS}}", "quiet"),
        ]
    ]
    largest = max((abs(points) for _, points in noticeable), default=1.0)
    room = max(0, min(_BAR_COLUMNS, width - _GROUP_COLUMNS - _POINTS_COLUMNS - 1))
    for group, points in listing:
        size = min(room, int(abs(points) / largest * room + 0.5))
        style, sign = tone(points, FELT), "█" if points > 0 else "░"
        lines.append(
            [
                (pad(f"  {group}", label), ""),
                (f"{signed_points(points, '−'):>{_POINTS_COLUMNS}}", style),
                (f" {sign * size}" if size else "", style),
            ]
        )
    return lines


def _add_what_happened(page: Page, explanation: Explanation) -> None:
    prediction = explanation.prediction
    if prediction.actual is None:
        return
    chance = percent_seen(of(prediction.outcomes, prediction.actual).probability)
    text = f"it was {OUTCOME_WORDS[prediction.actual]}, to which the model had given {chance}"
    if prediction.surprise_bits is not None:
        text += f" ({prediction.surprise_bits:.1f} bits of surprise)"
    page.paragraph(text, "title", indent=4, lead="  ●")


PAGE_LINES, STRIP_LINES = 30, 8
"""Lines of the page at 80 columns, and of its strip of attention, at most."""

REMARKS: Final = frozenset(
    {"in_training", "ratings_from_later", "short_history", "no_history", "evidence_skipped"}
)
"""Cautions that stand last; the others tell of cricket that the model does not know."""

_SHOWN: Final = 0.03
"""The chance from which an outcome is shown, though the story is about another."""

_MARKS: Final = ((2.0, "▲▲"), (1.25, "▲"), (0.8, ""), (0.5, "▼"), (0.0, "▼▼"))
"""Signs from so many times as likely as usual."""

_WORTH: Final = 0.3
"""Points from which a group has a line of its own."""

REASONS, FINDINGS = 4, 2
"""Lines of what moves the outcome, and of supported claims, at most."""

_STAND: Final = 30
"""Runs of a partnership that is told."""

_REASON_COLUMNS, _REASON_BAR_COLUMNS = 46, 24
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
    names, outcome = Balls(explanation), explanation.prediction.about
    last = [flag.text for flag in explanation.flags if flag.flag in REMARKS]
    ends = then(explanation), winning(explanation)
    return Story(
        who=_who_plays(explanation),
        standing=[*_standing(explanation.ball, names), _position(explanation.ball)],
        cautions=[flag.text for flag in explanation.flags if flag.flag not in REMARKS],
        remarks=last,
        headline=headline(explanation),
        chances=_chances(explanation, outcome),
        outcome=NAMES[outcome].split()[-1],
        reference=beside(explanation)[0],
        reasons=_reasons(explanation, outcome, names),
        findings=[without(explanation, index) for index in supported(explanation)[:FINDINGS]],
        untold=tested(explanation),
        came=[sentence for sentence in ends if sentence is not None],
    )


@terminal_page(max_width=100)
def render_story(page: Page, explanation: Explanation) -> None:
    """The story of one ball on one screen."""
    story, balls, closing = story_of(explanation), Balls(explanation), Page(page.width)
    page.flow(dotted(story.who, "title"), indent=0, gap=1)
    page.flow(dotted(story.standing, "quiet"), indent=0, gap=1)
    for text in story.cautions:
        page.flag(text)
    page.blank()
    page.paragraph(story.headline.text, "title", indent=0)
    page.flow([_chance(*entry) for entry in story.chances], indent=3, gap=2)
    _add_reasons(page, story)
    for finding in story.findings:
        closing.paragraph(f"{finding.text} ✓", "supported", indent=0)
    if not story.findings:
        closing.paragraph(story.untold.text, "quiet", indent=0)
    if story.came:
        closing.paragraph(" ".join(entry.text for entry in story.came), indent=0)
    closing.blank()
    for text in story.remarks:
        closing.flag(text)
    closing.paragraph(f"{BESIDE[story.reference]} --full: every claim and head.", "quiet", indent=0)
    room = PAGE_LINES - len(page.lines) - len(closing.lines) - 1
    add_attention(page, explanation, balls, min(room, STRIP_LINES))
    page.lines += closing.lines


def _who_plays(explanation: Explanation) -> list[str]:
    ball, match = explanation.ball, explanation.match
    position = "next ball" if ball.label is None else f"ball {ball.label}"
    score = f"{match.batting_team} {ball.score}/{ball.wickets}"
    if ball.runs_required is not None and ball.balls_left is not None:
        score += f", {ball.runs_required} to win from {count(ball.balls_left, 'ball')}"
    else:
        score += f" v {match.bowling_team}"
    return [f"{ball.bowler} to {ball.batter}", position, score]


def _position(ball: BallFacts) -> str:
    """Its place in the innings, also by legal balls, as every answer names it."""
    position, _, legal, *_ = ball.echo.split(" | ")
    return f"{position}, {legal}"


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
    parts = [words for words, holds in special.items() if holds]
    parts += [f"{names.batter} {standing.batter_runs} ({standing.batter_balls})"]
    figures = f"{standing.bowler_wickets}-{standing.bowler_runs} ({standing.bowler_overs})"
    parts += [f"{names.bowler} {figures}"]
    if standing.partnership_runs >= _STAND:
        parts += [f"stand {standing.partnership_runs} ({standing.partnership_balls})"]
    if ball.required_rate is not None:
        parts += [f"{ball.required_rate:.1f} an over needed"]
    parts += [standing.phase] if standing.phase else []
    return [*parts, *([f"last six: {' '.join(standing.latest)}"] if standing.latest else [])]


def _chances(explanation: Explanation, outcome: str) -> list[tuple[str, str, bool]]:
    """The outcomes that count, with signs of those that are not as usual."""
    always = (outcome, explanation.prediction.actual)
    return [
        (
            f"{NAMES[entry.outcome].split()[-1]} {percent_seen(entry.probability)}",
            _mark(entry),
            entry.outcome == outcome,
        )
        for entry in explanation.prediction.outcomes
        if entry.outcome in always or entry.probability >= _SHOWN
    ]


def _mark(entry: OutcomeProbability) -> str:
    """Whether an outcome is likelier or less likely than usual."""
    if not entry.usual:
        return ""
    times = entry.probability / entry.usual
    return next(sign for threshold, sign in _MARKS if times >= threshold)


def _chance(told: str, mark: str, chosen: bool) -> Line:
    line: Line = [(told.upper(), "title")] if chosen else [(told, "")]
    return [*line, (f" {mark}", "quiet")] if mark else line


def _reasons(explanation: Explanation, outcome: str, names: Balls) -> list[tuple[str, float]]:
    """The groups that move the outcome most, the others summed."""
    rows = [(group, points) for group, _, points in moves(explanation, outcome)]
    noticeable = [row for row in rows if abs(row[1]) >= _WORTH][:REASONS]
    rest = sum(points for _, points in rows[len(noticeable) :])
    reasons = [
        (group_words(explanation, group, names.names), points) for group, points in noticeable
    ]
    return [*reasons, ("all else", rest)] if noticeable and abs(rest) >= _WORTH else reasons


def _add_reasons(page: Page, story: Story) -> None:
    if not story.reasons:
        return
    heading = f"Why, in points of P({story.outcome}) from {story.reference}"
    page.paragraph(heading, "heading", 0)
    largest = max(abs(points) for _, points in story.reasons)
    for words, points in story.reasons:
        size = int(abs(points) / largest * _REASON_BAR_COLUMNS + 0.5)
        style, sign = tone(points, _WORTH), FULL if points > 0 else LOST
        line: Line = [
            (pad(f"   {words}", _REASON_COLUMNS), ""),
            (f"{signed_points(points, '−'):>6} ", style),
        ]
        page.add(*line, (sign * size, style))


_WIDEST: Final = 128
"""Columns past which lines only get harder to read."""


@terminal_page(max_width=_WIDEST)
def render_terminal(page: Page, explanation: Explanation, *, scale: str = "medium") -> None:
    """Everything about one ball.

    Args:
        scale: the scale whose heads are shown in full.

    Raises:
        InputError: a scale that does not exist.
    """
    _check_scale(scale)
    balls = Balls(explanation)
    page.parts(explanation.ball.echo, 0)
    add_prediction(page, explanation, explanation.prediction.about)
    if explanation.win_probability is not None:
        page.paragraph(win_line(explanation))
        page.blank()
    add_claims(page, explanation, balls)
    add_heads(page, explanation, scale, balls)
    add_strip(page, explanation, scale, balls)
    add_other_scales(page, explanation, scale, balls)
    _add_close(page, explanation)


def _add_close(page: Page, explanation: Explanation) -> None:
    page.flow(
        [
            [
                (f"{'the ball itself' if name == 'within_ball' else name} ", ""),
                (percent_seen(weight), "name"),
            ]
            for name, weight in explanation.fusion_weights
        ],
        indent=4,
        gap=3,
        lead=[("  what reached the prediction  ", "heading")],
    )
    page.blank()
    for flag in explanation.flags:
        page.flag(flag.text)
    page.blank()
    direction = aim(explanation)
    what_is_said = f"that balls {direction} P({explanation.prediction.about})"
    explanation_of_claims = (
        "" if direction is None else f" A claim says {what_is_said}; effects are on that alone."
    )
    reference = BESIDE[beside(explanation)[0]]
    page.paragraph(
        f"{CAVEAT} Small q: chance seldom does as much. {reference}{explanation_of_claims}", "quiet"
    )


def render_summary(explanation: Explanation) -> str:
    """Where attention went, and what hiding those balls does, on one line."""
    return clean(explanation.summary or summary_of(explanation))


def render_heatmap(explanation: Explanation, scale: str = "medium") -> str:
    """One scale's heat map as a JSON document.

    Raises:
        InputError: a scale that does not exist.
    """
    _check_scale(scale)
    inner = getattr(explanation.across_balls, scale)
    return render_json({"temporal_attention": inner.model_dump(mode="json")})


def _check_scale(scale: str) -> None:
    """Raises `InputError` where there is no such scale."""
    if scale not in SCALE_NAMES:
        raise InputError(f"no scale {scale!r}", remedy=f"choose one of {' '.join(SCALE_NAMES)}")
