"""The page of one ball: who, what stands out, where attention went, what was tested, what came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from attnlens.cricket.match.ledger import counts_balls
from attnlens.cricket.match.outcomes import OUTCOME_NAMES
from attnlens.cricket.pages.attention_strip import BallLabels, add_attention, most_balls
from attnlens.cricket.pages.parts import (
    REMARKS,
    came_true,
    cautions_of,
    contributions_to,
    group_words,
)
from attnlens.cricket.predictor.scales import SCALE_NAMES
from attnlens.cricket.words.facts import sentence, text_of
from attnlens.cricket.words.narrative import (
    MARKED_RATIOS,
    claim_subject,
    dismissal,
    group_note,
    headline,
    hidden_sets,
    outcome_index,
    per_over,
    projected,
    result_of,
    winning,
)
from attnlens.cricket.words.summary import summary_of
from attnlens.errors import InputError, count
from attnlens.files import render_json
from attnlens.render.canvas import (
    FULL,
    LOST,
    Line,
    Page,
    bar,
    cut,
    display_width,
    pad,
    terminal_page,
    tone,
)
from attnlens.render.numbers import percent_seen, signed_points
from attnlens.render.safe import clean

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import (
        BallFacts,
        Explanation,
        OutcomeProbability,
        Sentence,
    )


_NAMES: Final = {outcome: names.label for outcome, names in OUTCOME_NAMES.items()}

_MIN_BAR_PROB: Final = 0.03
"""An outcome has a bar, or is listed, from this probability."""

MIN_COLOURED_POINTS: Final = 0.05
"""Points from which a change has a colour."""

_OUTCOME_COLUMNS: Final = 11

_PAGE_LINES, _PAGE_COLUMNS = 28, 78
_SIZES: Final = ((3, 8, 4), (3, 7, 4), (2, 7, 4), (2, 6, 4), (1, 6, 4), (1, 5, 4), (1, 5, 2))
"""Lines of so wide a page; hidden sets, lines of the strip, and reasons: the first that fit."""

_EFFECTS: Final = {
    "supported": ("✓", "larger", "supported"),
    "not better than chance": ("–", "no larger", "quiet"),
    "cannot be told": ("?", "unclear", "quiet"),
    "contradicted": ("✗", "opposite", "contradicted"),
    None: ("○", "not tested", "quiet"),
}
"""How the effect of hiding a set compares with that of others: sign, words, style."""

_HIDDEN_COLUMNS: Final = ("balls", "change", "control_range")
_MAX_HIDDEN_SETS, _VERDICT_COLUMNS, _MIN_NAME_COLUMNS = 3, 11, 12

_MARKS: Final = tuple(zip((*MARKED_RATIOS, 0.0), ("▲▲", "▲", "", "▼", "▼▼"), strict=True))
"""Signs from so many times as likely as usual."""

_MIN_REASON_POINTS: Final = 0.3
"""Points from which a group of contributions has a line of its own."""

_MAX_REASONS: Final = 4

_MIN_PARTNERSHIP_RUNS: Final = 30
"""Runs from which a partnership is told."""

_MIN_BAR_COLUMNS, _BAR_COLUMNS = 12, 24
"""Columns of the longest bar."""

USUAL_WORDS: Final = "Usual: at such a scoreboard in this competition."


def add_outcome_bars(
    page: Page,
    rows: Sequence[tuple[str, float, float]],
    headings: tuple[str, str],
    *,
    chosen: str,
    actual: str | None = None,
) -> None:
    """Bars of the outcomes that count, the others in one line.

    Args:
        rows: outcome, the probability that it is compared with, and its probability.
        headings: what these two probabilities are called.
        chosen, actual: the outcome that the page is about, and the one that happened.
    """
    room = max(0, page.width - _OUTCOME_COLUMNS - 26)
    with_bars = [row for row in rows if row[0] in (chosen, actual) or max(row[1:]) >= _MIN_BAR_PROB]
    largest = max(max(row[1:]) for row in with_bars)
    page.add(
        (pad("  expected", _OUTCOME_COLUMNS + room, ""), "heading"),
        (f"{headings[0]:>8}{headings[1]:>8}{'points':>8}", "quiet"),
    )
    for outcome, base, prob in with_bars:
        style, points = "title" if outcome == chosen else "", 100 * (prob - base)
        page.add(
            (pad(f"  {_NAMES[outcome]}", _OUTCOME_COLUMNS, ""), style),
            *bar(prob / largest, base / largest, room),
            (f"{percent_seen(base):>8}", "quiet"),
            (f"{percent_seen(prob):>8}", style),
            (f"{signed_points(points, '−'):>8}", tone(points, MIN_COLOURED_POINTS)),
            (" ●" if outcome == actual else " ◂" if style else "", "title"),
        )
    rest: list[Line] = [
        [(f"{_NAMES[row[0]]} {percent_seen(row[2])}", "quiet")]
        for row in rows
        if row not in with_bars
    ]
    if rest:
        page.flow(rest, indent=_OUTCOME_COLUMNS, gap=3, lead=[("  the rest", "quiet")])


@dataclass(frozen=True, slots=True)
class HiddenSet:
    """What hiding a set of past balls does to the page's outcome, beside sets of as many balls.

    Attributes:
        balls: what the set is called.
        change: the outcome's probability before and after, such as ``8.1 → 6.7%``.
        control_range: the same after other sets, median and range; empty where there are none.
        sign, words: the verdict.
        style: the style of its line.
        claim: its number among the explanation's claims; a heading has none.
    """

    balls: str
    change: str
    control_range: str
    sign: str
    words: str
    style: str
    claim: int | None = None


@dataclass(frozen=True, slots=True)
class BallPage:
    """The first screen of an explanation, part by part.

    Attributes:
        players: bowler and batter, which ball, the score.
        standing: what is special, figures, phase, the position in the innings.
        cautions, remarks: what to know before reading, and after.
        headline: what stands out.
        chances: outcomes with their probability and a sign where it is not as usual; whether the
            page is about it.
        outcome: what that one is called.
        most: the balls with most attention, and the one with the largest effect.
        hidden: what hiding sets of past balls does.
        reasons: groups and the points that they move it by.
        excluded: groups that are no reason, since such points do not come true.
        came: what happened, and who is winning.
    """

    players: list[str]
    standing: list[str]
    cautions: list[str]
    remarks: list[str]
    headline: Sentence
    chances: list[tuple[str, str, bool]]
    outcome: str
    most: list[str]
    hidden: list[HiddenSet]
    reasons: list[tuple[str, float]]
    excluded: list[str]
    came: list[Sentence]


def ball_page_of(explanation: Explanation, *, max_hidden_sets: int = _MAX_HIDDEN_SETS) -> BallPage:
    """The page of an explanation whose names are fit to be shown."""
    labels, outcome = BallLabels(explanation), explanation.prediction.subject
    ends = came_line(explanation, labels.names), projected(explanation), winning(explanation)
    return BallPage(
        players=_players(explanation),
        standing=[*_standing(explanation.ball, labels), _position(explanation.ball)],
        cautions=cautions_of(explanation),
        remarks=[flag.text for flag in explanation.flags if flag.flag in REMARKS],
        headline=headline(explanation),
        chances=_chances(explanation, outcome),
        outcome=_NAMES[outcome].split()[-1],
        most=most_balls(explanation),
        hidden=_hidden(explanation, labels, max_hidden_sets),
        reasons=reasons_for(explanation, labels, _MIN_REASON_POINTS, _MAX_REASONS),
        excluded=reason_lines(explanation, labels, _MIN_REASON_POINTS),
        came=[sentence for sentence in ends if sentence is not None],
    )


@terminal_page(max_width=100)
def render_ball(page: Page, explanation: Explanation) -> None:
    """The page of one ball, on one screen."""
    ball_page, labels = ball_page_of(explanation), BallLabels(explanation)
    page.flow(dotted(ball_page.players, "title"), indent=0, gap=1)
    page.flow(dotted(ball_page.standing, "quiet"), indent=0, gap=1)
    for text in ball_page.cautions:
        page.flag(text)
    page.blank()
    page.paragraph(ball_page.headline.text, "title", indent=0)
    page.flow([_chance(*entry) for entry in ball_page.chances], indent=3, gap=2)
    page.blank()
    above = list(page.lines)
    for rows, room, n_reasons in _SIZES if page.width >= _PAGE_COLUMNS else _SIZES[:-1]:
        page.lines[:] = above
        add_attention(page, explanation, labels, room)
        if ball_page.most:
            most: list[Line] = [[(text, "")] for text in ball_page.most]
            page.flow(most, indent=18, gap=3, lead=[("  most attention", "quiet")])
        add_hidden(page, ball_page.hidden[:rows], ball_page.outcome)
        reasons = reasons_for(explanation, labels, _MIN_REASON_POINTS, n_reasons)
        add_reasons(page, reasons, ball_page.outcome, ball_page.excluded)
        page.paragraph(" ".join(entry.text for entry in ball_page.came), indent=0)
        for text in ball_page.remarks:
            page.flag(text)
        page.paragraph(f"{USUAL_WORDS} --full: every claim and head.", "quiet", indent=0)
        if len(page.lines) <= _PAGE_LINES:
            return


def came_line(explanation: Explanation, names: Mapping[str, str]) -> Sentence | None:
    """``Came: a wicket (4%), Jones was caught by Smith off Khan.``"""
    prediction, dismissed = explanation.prediction, dismissal(explanation)
    if prediction.actual is None:
        return None
    index = outcome_index(prediction, prediction.actual)
    brought = f"[/prediction/actual outcome] ([/prediction/outcomes/{index}/probability visible])"
    text = f"Came: {brought}{f', {dismissed}' if dismissed else ''}{result_of(explanation)}."
    return sentence(explanation, text, names)


def _hidden(explanation: Explanation, labels: BallLabels, limit: int) -> list[HiddenSet]:
    """A row for each of the first hidden sets."""
    rows = []
    for index in hidden_sets(explanation)[:limit]:
        claim = explanation.evidence[index]
        sign, words, style = _EFFECTS[claim.verdict]
        balls = text_of(explanation, claim_subject(explanation, index), labels.names)
        before, after = 100 * claim.top_change.before, 100 * claim.top_change.after
        change, controls = f"{before:.1f} → {after:.1f}%", claim.controls
        compared = ""
        if controls is not None:
            median, low, high = (100 * p for p in (controls.median, controls.low, controls.high))
            compared = f"{median:.1f}% ({low:.1f} to {high:.1f})"
        rows.append(HiddenSet(balls, change, compared, sign, words, style, index))
    return rows


def add_hidden(page: Page, hidden: Sequence[HiddenSet], outcome: str) -> None:
    """A row for each hidden set of past balls, beside what other sets of as many do."""
    if not hidden:
        return
    heads = HiddenSet("Hiding", f"P({outcome})", "any as many, as old", "", "effect", "heading")
    rows = [heads, *hidden]
    sizes = [max(display_width(getattr(row, name)) for row in rows) for name in _HIDDEN_COLUMNS]
    fixed = sizes[1] + sizes[2] + _VERDICT_COLUMNS + 9
    name_columns = min(sizes[0], max(page.width - fixed, _MIN_NAME_COLUMNS))
    for row in rows:
        style, indent = ("heading", "") if row is heads else ("", "   ")
        page.add(
            (pad(cut(f"{indent}{row.balls}", name_columns + 3), name_columns + 5), style),
            (pad(row.change, sizes[1] + 2), style),
            (pad(row.control_range, sizes[2] + 2), style or "quiet"),
            (f"{row.sign} {row.words}".strip(), row.style),
        )


def _players(explanation: Explanation) -> list[str]:
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


def _standing(ball: BallFacts, labels: BallLabels) -> list[str]:
    standing = ball.standing
    special = {
        "free hit": ball.free_hit,
        "super over": ball.super_over,
        "hat-trick ball": standing.hat_trick,
        "first ball faced": not standing.batter_balls,
    }
    parts = [words for words, holds in special.items() if holds]
    parts += [f"{labels.batter} {standing.batter_runs} ({standing.batter_balls})"]
    hundred = counts_balls(ball.balls_per_over) and standing.bowler_balls is not None
    spell = count(standing.bowler_balls or 0, "ball") if hundred else standing.bowler_overs
    figures = f"{standing.bowler_wickets}-{standing.bowler_runs} ({spell})"
    parts += [f"{labels.bowler} {figures}"]
    if standing.partnership_runs >= _MIN_PARTNERSHIP_RUNS:
        parts += [f"stand {standing.partnership_runs} ({standing.partnership_balls})"]
    if ball.required_rate is not None:
        parts += [f"{ball.required_rate:.1f} {per_over(ball)} needed"]
    parts += [standing.phase] if standing.phase else []
    return parts


def _chances(explanation: Explanation, outcome: str) -> list[tuple[str, str, bool]]:
    always = (outcome, explanation.prediction.actual)
    return [
        (
            f"{_NAMES[entry.outcome].split()[-1]} {percent_seen(entry.probability)}",
            _mark(entry),
            entry.outcome == outcome,
        )
        for entry in explanation.prediction.outcomes
        if entry.outcome in always or entry.probability >= _MIN_BAR_PROB
    ]


def _mark(entry: OutcomeProbability) -> str:
    times = entry.probability / entry.usual if entry.usual else 1.0
    return next(sign for threshold, sign in _MARKS if times >= threshold)


def _chance(words: str, mark: str, chosen: bool) -> Line:
    line: Line = [(words.upper(), "title")] if chosen else [(words, "")]
    return [*line, (f" {mark}", "quiet")] if mark else line


def reasons_for(
    explanation: Explanation, labels: BallLabels, min_points: float, max_rows: int | None = None
) -> list[tuple[str, float]]:
    """The groups that move the page's outcome most and their points, the others summed.

    A group whose points do not come as said is no reason: it is among the others.
    """
    rows = contributions_to(explanation, explanation.prediction.subject)
    holding = {group.group for group in explanation.contributions if group.holds}
    noticeable = [row for row in rows if row[0] in holding and abs(row[2]) >= min_points]
    noticeable = noticeable[:max_rows]
    rest = sum(row[2] for row in rows if row not in noticeable)
    reasons = [
        (_with_record(explanation, group, labels.names), points) for group, _, points in noticeable
    ]
    return [*reasons, ("all else", rest)] if noticeable and abs(rest) >= min_points else reasons


def _with_record(explanation: Explanation, group: str, names: Mapping[str, str]) -> str:
    """``Patel's record (8.9% of 812 balls to 2025-10-31)``; other groups as they are."""
    words = group_words(explanation, group, names)
    note = group_note(explanation, group)
    return words if note is None else f"{words} ({note.partition(' on ')[2]})"


def reason_lines(explanation: Explanation, labels: BallLabels, min_points: float) -> list[str]:
    """What stands below the reasons: groups whose points do not come true."""
    holding = {group.group for group in explanation.contributions if group.holds}
    return [
        f"{group_words(explanation, group, labels.names)}: {signed_points(points, '−')}, among all "
        f"else{came_true(explanation, group)}"
        for group, _, points in contributions_to(explanation, explanation.prediction.subject)
        if group not in holding and abs(points) >= min_points
    ]


def add_reasons(
    page: Page, reasons: Sequence[tuple[str, float]], outcome: str, records: Sequence[str]
) -> None:
    """Bars of what moves an outcome, and the records among them; nothing where nothing does."""
    if not reasons:
        return
    page.paragraph(f"Why, in points of P({outcome}) from usual", "heading", 0)
    largest = max(abs(points) for _, points in reasons)
    # A narrow page keeps the figures and shortens names and bars.
    longest = max(display_width(words) for words, _ in reasons) + 4
    name_columns = max(_MIN_NAME_COLUMNS, min(longest, page.width - 7 - _MIN_BAR_COLUMNS))
    bar_columns = max(0, min(_BAR_COLUMNS, page.width - 7 - name_columns))
    for words, points in reasons:
        size = int(abs(points) / largest * bar_columns + 0.5)
        style, sign = tone(points, _MIN_REASON_POINTS), FULL if points > 0 else LOST
        page.add(
            (pad(f"   {words}", name_columns), ""),
            (f"{signed_points(points, '−'):>6} ", style),
            (sign * size, style),
        )
    for text in records:
        page.paragraph(text, "quiet", indent=3)


def render_summary(explanation: Explanation) -> str:
    """Where attention went, and what hiding those balls does, on one line."""
    return clean(explanation.summary or summary_of(explanation))


def render_heatmap(explanation: Explanation, scale: str = "medium") -> str:
    """One scale's heat map as a JSON document.

    Raises:
        InputError: a scale that does not exist.
    """
    check_scale(scale)
    inner = getattr(explanation.across_balls, scale)
    return render_json({"temporal_attention": inner.model_dump(mode="json")})


def check_scale(scale: str) -> None:
    """Raises `InputError` where there is no such scale."""
    if scale not in SCALE_NAMES:
        raise InputError(f"no scale {scale!r}", remedy=f"choose one of {' '.join(SCALE_NAMES)}")
