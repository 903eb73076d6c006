"""Render the page of one ball: players, prediction, attention, tests and result."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

from attnlens.cricket.explain.types import (
    BallFacts,
    Evidence,
    Explanation,
    HeadAttention,
    HeatMap,
    LongHeatMap,
    OutcomeProbability,
    PastBall,
    Sentence,
)
from attnlens.cricket.explain.what_if_types import WhatIf
from attnlens.cricket.match.ledger import counts_balls
from attnlens.cricket.match.match import OUTCOME_NAMES
from attnlens.cricket.pages.parts import (
    came_true,
    cautions_of,
    contributions_to,
    group_words,
    short_names,
    sign_of,
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
    Span,
    add_row,
    bar,
    cut,
    display_width,
    legend,
    pad,
    shade,
    terminal_page,
    tone,
)
from attnlens.render.numbers import percent_seen, signed_points
from attnlens.render.safe import clean
from attnlens.render.text_terminal import VERDICTS

_NAMES: Final = {outcome: names.label for outcome, names in OUTCOME_NAMES.items()}

_MIN_BAR_PROB: Final = 0.03

MIN_COLOURED_POINTS: Final = 0.05
_OUTCOME_COLUMNS: Final = 11
_PAGE_LINES, _PAGE_COLUMNS = 28, 78
_SIZES: Final = (
    (3, 8, 4), (3, 7, 4), (2, 7, 4), (2, 6, 4), (1, 6, 4), (1, 6, 3), (1, 5, 4), (1, 5, 2),
)  # fmt: skip
"""Maximum numbers of hidden sets, attention lines and reasons. The first fitting entry is used."""

_BORDERLINE: Final = "borderline"
BORDERLINE_WORDS: Final = "borderline: outside the 95% range, but not significant after correction"
_HIDDEN_COLUMNS: Final = ("balls", "change", "control_range")
_MAX_HIDDEN_SETS, _VERDICT_COLUMNS, _MIN_NAME_COLUMNS = 3, 12, 12

_MARKS: Final = tuple(zip((*MARKED_RATIOS, 0.0), ("↑↑", "↑", "", "↓", "↓↓"), strict=True))
"""For each mark, the smallest ratio to the usual probability."""

_MARK_WORDS: Final = {"↑": "above it", "↓": "below it", "↑↑": "twice it", "↓↓": "half of it"}

_MIN_REASON_POINTS, _MAX_REASONS = 0.3, 4

_MIN_PARTNERSHIP_RUNS: Final = 30
_MIN_BAR_COLUMNS, _BAR_COLUMNS = 12, 24

USUAL_WORDS: Final = "Usual: at a similar scoreboard in this competition."

_OUTCOME_SIGNS: Final = "· dot, W wicket, w wide, n no-ball, b bye"
_HEAD_WORDS: Final = "Head rows: name, and share of the past balls' effect."

_NAME_COLUMNS = 16
_HEADER_LINES: Final = 3
_MIN_WIDE_BALLS: Final = 24
"""Each cell has two columns if at least this many balls, or all balls, then fit on a line."""

_MAX_ATTENDED: Final = 2
_MIN_EFFECT_POINTS: Final = 0.2
"""Smaller effects, in percentage points, are shown as ``·`` instead of ▲ or ▼."""


class BallLabels:
    """Labels of past balls, with short names of the players."""

    def __init__(self, explanation: Explanation) -> None:
        ball = explanation.ball
        names = [ball.batter, ball.bowler, ball.non_striker]
        names += [name for past in explanation.past_balls for name in (past.batter, past.bowler)]
        self.names = short_names(names)
        self.by_index = {past.index: past for past in explanation.past_balls}
        self.bowler, self.batter = self.names[ball.bowler], self.names[ball.batter]

    def label(self, index: int, weight: float | None = None) -> Line:
        """Return a ball's label, such as ``7.1 Zampa→Rahul 4 (22%)``."""
        share: Line = [] if weight is None else [(f" ({percent_seen(weight)})", "quiet")]
        ball = self.by_index.get(index)
        if ball is None:
            return [(f"delivery {index}", ""), *share]
        players = f"{self.names[ball.bowler]}→{self.names[ball.batter]}"
        return [(f"{ball.label} {players} ", ""), (ball.outcome, _style(ball) or "name"), *share]


def _style(ball: PastBall) -> str:
    return "alarm" if ball.wicket else "strong" if ball.boundary else ""


class AttentionRow(NamedTuple):
    """A row of the attention strip: a label, and each past ball's share of the attention."""

    label: str
    weights: Sequence[float]


def leading_rows(explanation: Explanation, heads: int) -> list[AttentionRow]:
    """Return the rows of the attention strip: all heads together, and then single heads.

    The heads with the largest effects come first. The row of a head shows how this head divides its
    attention among past balls. Heads of the long scale are left out, because their keys are overs.
    """
    balls = explanation.across_balls.medium.balls
    attention = {past.index: past.attention for past in explanation.past_balls}
    rows = [AttentionRow("all heads", [attention[ball] for ball in balls])]
    ranked = sorted(
        (
            (-(head.carries or 0.0), head_label(scale, key, head), head, inner.balls)
            for scale, inner in explanation.across_balls.scales().items()
            for key, head in inner.attention_by_head.items()
            if scale != "long" and head.past_attention > 0
        ),
        key=lambda row: row[0],
    )
    for _, label, head, head_balls in ranked[:heads]:
        weights = dict(zip(head_balls, head.row, strict=True))
        shares = [weights.get(ball, 0.0) / head.past_attention for ball in balls]
        rows.append(AttentionRow(label, shares))
    return rows


_SEES: Final[Mapping[str, str]] = {
    "same_batsman": "batter",
    "same_bowler": "bowler",
    "same_matchup": "pair",
    "same_stand": "stand",
    "over_boundary": "over change",
    "wicket_adjacent": "wickets",
    "boundary": "boundaries",
}
"""Short names of relations, for heads of the scale ``whole``."""


def head_label(scale: str, key: str, head: HeadAttention) -> str:
    """Return the head's name and its share of the effect, such as ``batter 46%``."""
    name = f"{scale} {key.split('_')[1]}"
    if scale == "whole" and head.started_as is not None:
        name = _SEES.get(head.started_as, head.started_as.replace("_", " "))
    return name if head.carries is None else f"{name} {percent_seen(head.carries)}"


def add_attention(page: Page, explanation: Explanation, labels: BallLabels, room: int) -> str:
    """Add the attention strip of the medium scale, in at most ``room`` lines.

    Returns:
        A sentence that explains the labels of single heads, or an empty text.
    """
    inner = explanation.across_balls.medium
    if not inner.balls:
        page.paragraph("Attention: no ball of this innings came before this one.", "quiet", 0)
        return ""
    rows = leading_rows(explanation, max(0, room - _HEADER_LINES - 2))
    outcome, effects = OUTCOME_NAMES[explanation.prediction.subject], single_effects(explanation)
    add_strip(page, inner, rows, labels, effects=effects, outcome=outcome.short)
    return _HEAD_WORDS if rows[1:] else ""


def _attended_balls(explanation: Explanation) -> list[str]:
    """Return texts such as ``7.3 six: 56%, +1.6 points`` (attention and effect)."""
    past = explanation.past_balls
    attended = sorted(past, key=lambda ball: (-ball.attention, -ball.index))[:_MAX_ATTENDED]
    rows = [_ball_figures(ball, " points" if ball is attended[0] else "") for ball in attended]
    strongest = max(past, key=lambda ball: abs(ball.effect_points or 0.0), default=None)
    if strongest and strongest.effect_points and strongest not in attended:
        rows.append(f"largest effect {_ball_figures(strongest, '')}")
    return rows


def _ball_figures(ball: PastBall, unit: str) -> str:
    outcome = OUTCOME_NAMES[ball.outcome].short
    share = f"{ball.label} {outcome}: {percent_seen(ball.attention)}"
    effect = ball.effect_points
    return share if effect is None else f"{share}, {signed_points(effect, '−')}{unit}"


def single_effects(explanation: Explanation) -> dict[int, float]:
    """Return the percentage points that each past ball adds, by the index of the ball."""
    return {
        past.index: past.effect_points
        for past in explanation.past_balls
        if past.effect_points is not None
    }


def add_strip(
    page: Page,
    inner: HeatMap | LongHeatMap,
    rows: Sequence[AttentionRow],
    labels: BallLabels,
    *,
    effects: Mapping[int, float] | None = None,
    outcome: str = "",
) -> None:
    """Add the attention strip. Each row is a line of shaded cells, with gaps between overs.

    Args:
        inner: the heat map, with one cell for each ball.
        effects: the points that each ball adds, by the index of the ball.
        outcome: the explained outcome, for the heading.
    """
    window = [labels.by_index[index] for index in inner.balls if index in labels.by_index]
    if not window or len(window) < len(inner.balls):
        return
    cell, visible = _fitting(window, page.width - _NAME_COLUMNS)
    overs = [list(balls) for _, balls in groupby(visible, key=lambda ball: ball.over)]
    darkest = max(weight for row in rows for weight in row.weights)
    balls = "ball by ball" if visible == window else f"last {len(visible)} balls"
    title, share = ("Attention, ", "") if outcome else ("  ", " of attention")
    signs = f"▲ raises P({outcome}), ▼ lowers it" if effects else _OUTCOME_SIGNS
    page.flow(
        [[(f"{legend(darkest)}{share}", "quiet")], [(signs, "quiet")]],
        indent=4,
        gap=3,
        lead=[(f"{title}{balls}   ", "heading")],
    )
    titles = [[(_over_title(balls, cell, labels), "quiet")] for balls in overs]
    add_row(page, ("  over", ""), _NAME_COLUMNS, titles)
    marks = [[(pad(_sign(ball), cell), _style(ball)) for ball in balls] for balls in overs]
    add_row(page, ("  outcome", ""), _NAME_COLUMNS, marks)
    for row in rows:
        weights = dict(zip(inner.balls, row.weights, strict=True))
        cells = [
            [_padded(shade(weights[ball.index], darkest), cell) for ball in balls]
            for balls in overs
        ]
        add_row(page, (f"  {row.label}", ""), _NAME_COLUMNS, cells)
    if effects:
        signed = [[_effect(effects.get(ball.index, 0.0), cell) for ball in b] for b in overs]
        add_row(page, ("  effect", ""), _NAME_COLUMNS, signed)


def _padded(span: Span, cell: int) -> Span:
    return pad(span[0], cell), span[1]


def _effect(points: float, cell: int) -> Span:
    sign = "·" if abs(points) < _MIN_EFFECT_POINTS else "▲" if points > 0 else "▼"
    return pad(sign, cell), tone(points, _MIN_EFFECT_POINTS)


def _fitting(window: list[PastBall], room: int) -> tuple[int, list[PastBall]]:
    options = (
        (cell, window[first:])
        for cell, min_balls in ((2, min(len(window), _MIN_WIDE_BALLS)), (1, 0))
        for first in range(len(window) - min_balls + 1)
    )
    return next(
        (cell, balls)
        for cell, balls in options
        if cell * len(balls) + len({ball.over for ball in balls}) <= room + 1
    )


def _over_title(over: Sequence[PastBall], cell: int, labels: BallLabels) -> str:
    width, number = cell * len(over), str(over[0].over)
    title = f"{number} {labels.names[over[0].bowler]}"
    if display_width(title) <= width or width >= 10:
        return pad(title, width)
    return pad(number, width, "")


def _sign(ball: PastBall) -> str:
    if ball.boundary and not ball.wicket:
        return str(ball.runs_batter)
    return sign_of(ball.outcome)


def add_outcome_bars(
    page: Page,
    rows: Sequence[tuple[str, float, float]],
    headings: tuple[str, str],
    *,
    chosen: str,
    meaning: str,
    actual: str | None = None,
) -> None:
    """Add a bar for each likely outcome, and one line with the other outcomes.

    Args:
        rows: for each outcome, the name, a probability for comparison, and the probability.
        headings: the column headings of the two probabilities.
        chosen: the outcome to mark with ◂.
        meaning: the text that explains the mark ◂.
        actual: the outcome to mark with ●.
    """
    room = max(0, page.width - _OUTCOME_COLUMNS - 26)
    with_bars = [row for row in rows if row[0] in (chosen, actual) or max(row[1:]) >= _MIN_BAR_PROB]
    largest = max(max(row[1:]) for row in with_bars)
    signs = f"{FULL} {headings[1]}, {LOST} up to {headings[0]}"
    page.add(
        (pad("  expected", _OUTCOME_COLUMNS, ""), "heading"),
        (pad(signs, room, ""), "quiet"),
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
    if chosen != actual:
        page.paragraph(meaning, "quiet", indent=4, lead="  ◂")


@dataclass(frozen=True, slots=True)
class HiddenSet:
    """The effect on the explained outcome when a set of past balls is hidden.

    Attributes:
        balls: the name of the set.
        change: the probability before and after hiding, such as ``8.1 → 6.7%``.
        control_range: the median and the range for hidden sets of the same size, or empty.
        sign, words, style: the verdict as a sign and as words, and the words' style.
        claim: the index of the claim; ``None`` for the row of headings.
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
    """The parts of the first screen of an explanation.

    Attributes:
        players: the bowler, the batter, the ball and the score.
        standing: special circumstances, the players' figures, and the position in the innings.
        cautions, remarks: the notes at the top, and the notes at the end.
        headline: a comparison of the explained outcome's probability with the usual one.
        chances: each listed outcome as text, its sign, and whether it is explained.
        usual_words: the meaning of "usual" and of the signs.
        outcome: the name of the explained outcome.
        attended: the balls with the most attention, and the ball with the largest effect.
        hidden: the effects of hiding sets of past balls.
        reasons: the groups of inputs that are shown as reasons, with their points.
        excluded: lines about miscalibrated groups, which are not shown as reasons.
        came: sentences about the result of the ball and the win probability.
    """

    players: list[str]
    standing: list[str]
    cautions: list[str]
    remarks: list[str]
    headline: Sentence
    chances: list[tuple[str, str, bool]]
    usual_words: str
    outcome: str
    attended: list[str]
    hidden: list[HiddenSet]
    reasons: list[tuple[str, float]]
    excluded: list[str]
    came: list[Sentence]


def ball_page_of(explanation: Explanation, *, max_hidden_sets: int = _MAX_HIDDEN_SETS) -> BallPage:
    """Return the parts of the page.

    Args:
        explanation: the result of `presentable`.
    """
    labels, outcome = BallLabels(explanation), explanation.prediction.subject
    cautions, remarks = cautions_of(explanation)
    ends = came_line(explanation, labels.names), projected(explanation), winning(explanation)
    chances = _listed_outcomes(explanation, outcome)
    return BallPage(
        players=_players(explanation),
        standing=[*_standing(explanation.ball, labels), _position(explanation.ball)],
        cautions=cautions,
        remarks=remarks,
        headline=headline(explanation),
        chances=chances,
        usual_words=_usual_words({sign for _, sign, _ in chances}),
        outcome=OUTCOME_NAMES[outcome].short,
        attended=_attended_balls(explanation),
        hidden=_hidden(explanation, labels, max_hidden_sets),
        reasons=reasons_for(explanation, labels, _MIN_REASON_POINTS, _MAX_REASONS),
        excluded=reason_lines(explanation, labels, _MIN_REASON_POINTS),
        came=[sentence for sentence in ends if sentence is not None],
    )


@terminal_page(max_width=100)
def render_ball(page: Page, explanation: Explanation) -> None:
    """Render the page of one ball, shortened to one screen."""
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
        head_words = add_attention(page, explanation, labels, room)
        if ball_page.attended:
            attended: list[Line] = [[(text, "")] for text in ball_page.attended]
            page.flow(attended, indent=18, gap=3, lead=[("  most attention", "quiet")])
        add_hidden(page, ball_page.hidden[:rows], ball_page.outcome)
        reasons = reasons_for(explanation, labels, _MIN_REASON_POINTS, n_reasons)
        add_reasons(page, reasons, ball_page.outcome, ball_page.excluded)
        page.paragraph(" ".join(entry.text for entry in ball_page.came), indent=0)
        borderline = any(row.words == _BORDERLINE for row in ball_page.hidden[:rows])
        for text in [BORDERLINE_WORDS] * borderline + ball_page.remarks:
            page.flag(text)
        closing = filter(None, (ball_page.usual_words, head_words, "--full: all tests."))
        page.paragraph(" ".join(closing), "quiet", indent=0)
        if len(page.lines) <= _PAGE_LINES:
            return


def came_line(explanation: Explanation, names: Mapping[str, str]) -> Sentence | None:
    """Return a sentence about the result, or ``None`` if the ball has not been bowled."""
    prediction, dismissed = explanation.prediction, dismissal(explanation)
    if prediction.actual is None:
        return None
    index = outcome_index(prediction, prediction.actual)
    brought = f"[/prediction/actual outcome] ([/prediction/outcomes/{index}/probability visible])"
    text = f"It was {brought}{f': {dismissed}' if dismissed else ''}{result_of(explanation)}."
    return sentence(explanation, text, names)


def is_borderline(claim: Evidence) -> bool:
    """Return whether an effect is outside the control sets' 95% range, but not significant."""
    if claim.controls is None or claim.verdict != "not better than chance":
        return False
    return not claim.controls.low <= claim.top_change.after <= claim.controls.high


def _hidden(explanation: Explanation, labels: BallLabels, limit: int) -> list[HiddenSet]:
    rows = []
    for index in hidden_sets(explanation)[:limit]:
        claim = explanation.evidence[index]
        sign, words, style = VERDICTS[claim.verdict]
        if is_borderline(claim):
            words = _BORDERLINE
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
    """Add a line for each hidden set, with a comparison to sets of the same size."""
    if not hidden:
        return
    heads = HiddenSet("Hiding", f"P({outcome})", "hiding others (95%)", "", "effect", "heading")
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


def _listed_outcomes(explanation: Explanation, outcome: str) -> list[tuple[str, str, bool]]:
    always = (outcome, explanation.prediction.actual)
    return [
        (
            f"{_NAMES[entry.outcome].split()[-1]} {percent_seen(entry.probability)}",
            next(sign for threshold, sign in _MARKS if _times_usual(entry) >= threshold),
            entry.outcome == outcome,
        )
        for entry in explanation.prediction.outcomes
        if entry.outcome in always or entry.probability >= _MIN_BAR_PROB
    ]


def _usual_words(signs: Collection[str]) -> str:
    meanings = [f"{sign} {words}" for sign, words in _MARK_WORDS.items() if sign in signs]
    return f"{USUAL_WORDS[:-1]}{'; ' * bool(meanings)}{', '.join(meanings)}."


def _times_usual(entry: OutcomeProbability) -> float:
    return entry.probability / entry.usual if entry.usual else 1.0


def _chance(words: str, mark: str, chosen: bool) -> Line:
    line: Line = [(words.upper(), "title")] if chosen else [(words, "")]
    return [*line, (f" {mark}", "quiet")] if mark else line


def reasons_for(
    explanation: Explanation, labels: BallLabels, min_points: float, max_rows: int | None = None
) -> list[tuple[str, float]]:
    """Return the groups that change the explained outcome most, with their points.

    The points of small and miscalibrated groups are added up as "all else".
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
    """Return text such as ``Patel's record (8.9% of 812 balls to 2025-10-31)``."""
    words = group_words(explanation, group, names)
    note = group_note(explanation, group)
    return words if note is None else f"{words} ({note.partition(' on ')[2]})"


def reason_lines(explanation: Explanation, labels: BallLabels, min_points: float) -> list[str]:
    """Return a line for each miscalibrated group, which is not shown as a reason."""
    holding = {group.group for group in explanation.contributions if group.holds}
    return [
        f"{group_words(explanation, group, labels.names)}: {signed_points(points, '−')}, included "
        f"in all else{came_true(explanation, group)}"
        for group, _, points in contributions_to(explanation, explanation.prediction.subject)
        if group not in holding and abs(points) >= min_points
    ]


def add_reasons(
    page: Page, reasons: Sequence[tuple[str, float]], outcome: str, records: Sequence[str]
) -> None:
    """Add bars for the reasons, and then ``records`` as lines. Without reasons, add nothing."""
    if not reasons:
        return
    page.paragraph(f"Why P({outcome}) differs from usual (points)", "heading", 0)
    largest = max(abs(points) for _, points in reasons)
    # On a narrow page, names and bars are shortened. Figures are never cut.
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
    """Return one line about the most attended balls and the effect of hiding these balls."""
    return clean(explanation.summary or summary_of(explanation))


def render_heatmap(explanation: Explanation, scale: str = "medium") -> str:
    """Render the heat map of one scale as a JSON document.

    Raises:
        InputError: ``scale`` is not the name of a scale.
    """
    inner = map_of(explanation, scale)
    return render_json({"temporal_attention": inner.model_dump(mode="json")})


def map_of(explanation: Explanation, scale: str) -> HeatMap | LongHeatMap:
    """Return the heat map of a scale.

    Raises:
        InputError: ``scale`` is not the name of a scale.
    """
    if scale not in SCALE_NAMES:
        raise InputError(
            f"there is no scale {scale!r}", remedy=f"choose one of {' '.join(SCALE_NAMES)}"
        )
    inner: HeatMap | LongHeatMap = getattr(explanation.across_balls, scale)
    return inner


@terminal_page()
def render_what_if(page: Page, what_if: WhatIf) -> None:
    """Render the answer to a what-if question."""
    page.parts(what_if.before.echo)
    lead = "  what if"
    for change in what_if.changes:
        words = f"(so {change.text})" if change.follows else change.text
        page.paragraph(words, "heading", indent=_OUTCOME_COLUMNS, lead=lead)
        lead = ""
    original, changed = _score_line(what_if.before), _score_line(what_if.after)
    if original != changed:
        page.paragraph(f"{original} → {changed}", indent=_OUTCOME_COLUMNS, lead="  then")
    page.blank()
    rows = [(row.outcome, row.before, row.after) for row in what_if.outcomes]
    chosen = what_if.top_change.outcome
    add_outcome_bars(page, rows, ("before", "after"), chosen=chosen, meaning="the largest change")
    page.blank()
    for line in what_if.narrative:
        page.paragraph(line.text)
    page.blank()
    for flag in what_if.flags:
        page.flag(flag.text)


def _score_line(state: BallFacts) -> str:
    """Return text such as ``54/2 after 45 legal balls, 80 needed off 75``."""
    bowled = (state.legal_number or 1) - 1
    text = f"{state.score}/{state.wickets} after {count(bowled, 'legal ball')}"
    if state.runs_required is not None and state.balls_left is not None:
        text += f", {state.runs_required} needed off {state.balls_left}"
    return text
