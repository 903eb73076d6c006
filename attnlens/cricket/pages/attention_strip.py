"""The strip of attention: shades of heads over the past balls, and what each ball does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from attnlens.cricket.match.outcomes import OUTCOME_NAMES
from attnlens.cricket.pages.parts import by_carries, short_names, sign_of
from attnlens.render.canvas import (
    Line,
    Page,
    Span,
    add_row,
    display_width,
    legend,
    pad,
    shade,
    tone,
)
from attnlens.render.numbers import percent_seen, signed_points

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import (
        Explanation,
        HeadAttention,
        HeatMap,
        LongHeatMap,
        PastBall,
    )

_NAME_COLUMNS = 16
_SHORT: Final = {name: names.thing.replace("_", "-") for name, names in OUTCOME_NAMES.items()}
_HEADER_LINES: Final = 3
"""Lines of the strip above its rows: legend, overs, outcomes."""

_MIN_WIDE_BALLS: Final = 24
"""Past balls that must fit if each takes two columns; else each takes one."""

_MAX_ATTENDED: Final = 2
"""Balls with most attention whose figures stand below the strip."""

_MIN_EFFECT_POINTS: Final = 0.2
"""Points of the page's outcome from which the effect of hiding one ball has a sign."""


class BallLabels:
    """The past balls by index, with names short enough for a line."""

    def __init__(self, explanation: Explanation) -> None:
        ball = explanation.ball
        names = [ball.batter, ball.bowler, ball.non_striker]
        names += [name for past in explanation.past_balls for name in (past.batter, past.bowler)]
        self.names = short_names(names)
        self.by_index = {past.index: past for past in explanation.past_balls}
        self.bowler, self.batter = self.names[ball.bowler], self.names[ball.batter]

    def label(self, index: int, weight: float | None = None) -> Line:
        """``7.1 Zampa→Rahul 4 (22%)``."""
        share: Line = [] if weight is None else [(f" ({percent_seen(weight)})", "quiet")]
        ball = self.by_index.get(index)
        if ball is None:
            return [(f"delivery {index}", ""), *share]
        players = f"{self.names[ball.bowler]}→{self.names[ball.batter]}"
        return [(f"{ball.label} {players} ", ""), (ball.outcome, _style(ball) or "name"), *share]


def _style(ball: PastBall) -> str:
    return "alarm" if ball.wicket else "strong" if ball.boundary else ""


class AttentionRow(NamedTuple):
    """A row of the strip: its label, and a share of attention for each past ball, ``(ball,)``."""

    label: str
    weights: Sequence[float]


def head_rows(inner: HeatMap | LongHeatMap) -> list[AttentionRow]:
    """One row per head, first those that carry most of the past for this ball."""
    return [AttentionRow(f"head {key.split('_')[1]}", head.row) for key, head in by_carries(inner)]


def leading_rows(explanation: Explanation, heads: int) -> list[AttentionRow]:
    """Attention over all heads to the balls of the medium scale, then the heads that carry most.

    Each head by its share of past attention, its label with what it carries of this ball; those of
    the long scale, whose keys are overs, are left out.
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
    for _, label, head, seen in ranked[:heads]:
        weights = dict(zip(seen, head.row, strict=True))
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
"""What a head of the scale ``whole`` sees, in a word or two; else its own name."""


def head_label(scale: str, key: str, head: HeadAttention) -> str:
    """``batter 46%``, ``medium 3 12%``: a head's name and what it carries of this ball."""
    name = f"{scale} {key.split('_')[1]}"
    if scale == "whole" and head.started_as is not None:
        name = _SEES.get(head.started_as, head.started_as.replace("_", " "))
    return name if head.carries is None else f"{name} {percent_seen(head.carries)}"


def add_attention(page: Page, explanation: Explanation, labels: BallLabels, room: int) -> None:
    """The strip of the medium scale in at most ``room`` lines: all heads, and single ones."""
    inner = explanation.across_balls.medium
    if not inner.balls:
        page.paragraph("Attention: no ball of this innings came before this one.", "quiet", 0)
        return
    rows = leading_rows(explanation, max(0, room - _HEADER_LINES - 2))
    outcome, effects = explanation.prediction.subject, single_effects(explanation)
    add_strip(page, inner, rows, labels, effects=effects, outcome=outcome)


def most_balls(explanation: Explanation) -> list[str]:
    """The past balls with most attention and the one with the largest effect, with both figures.

    ``7.3 six 56%, +1.6 points``: its share of attention over all heads, and the points of the
    page's outcome that it adds.
    """
    past = explanation.past_balls
    attended = sorted(past, key=lambda ball: (-ball.attention, -ball.index))[:_MAX_ATTENDED]
    rows = [_ball_figures(ball, " points" if ball is attended[0] else "") for ball in attended]
    strongest = max(past, key=lambda ball: abs(ball.effect_points or 0.0), default=None)
    if strongest and strongest.effect_points and strongest not in attended:
        rows.append(f"most effect {_ball_figures(strongest, '')}")
    return rows


def _ball_figures(ball: PastBall, unit: str) -> str:
    share = f"{ball.label} {_SHORT[ball.outcome]} {percent_seen(ball.attention)}"
    effect = ball.effect_points
    return share if effect is None else f"{share}, {signed_points(effect, '−')}{unit}"


def single_effects(explanation: Explanation) -> dict[int, float]:
    """What each past ball adds to the page's outcome, in points: hiding it takes that away."""
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
    """A row of shades for each of ``rows`` over the balls of the window, overs apart."""
    window = [labels.by_index[index] for index in inner.balls if index in labels.by_index]
    if not window or len(window) < len(inner.balls):
        return
    cell, visible = _fitting(window, page.width - _NAME_COLUMNS)
    overs = [list(balls) for _, balls in groupby(visible, key=lambda ball: ball.over)]
    darkest = max(weight for row in rows for weight in row.weights)
    balls = "ball by ball" if visible == window else f"last {len(visible)} balls"
    title, share = ("Attention, ", "") if outcome else ("  ", " of attention")
    signs = f"▲ raises P({outcome}), ▼ lowers it" if effects else "· dot, 4 6 boundary, W wicket"
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
        cells = [[_shaded(weights[ball.index], darkest, cell) for ball in balls] for balls in overs]
        add_row(page, (f"  {row.label}", ""), _NAME_COLUMNS, cells)
    if effects:
        signed = [[_effect(effects.get(ball.index, 0.0), cell) for ball in b] for b in overs]
        add_row(page, ("  effect", ""), _NAME_COLUMNS, signed)


def _shaded(weight: float, darkest: float, cell: int) -> Span:
    """One sign for a weight, under what came of its ball."""
    sign, style = shade(weight, darkest)
    return pad(sign, cell), style


def _effect(points: float, cell: int) -> Span:
    """Whether a ball raises the page's outcome: the points that hiding it takes away."""
    sign = "·" if abs(points) < _MIN_EFFECT_POINTS else "▲" if points > 0 else "▼"
    return pad(sign, cell), tone(points, _MIN_EFFECT_POINTS)


def _fitting(window: list[PastBall], room: int) -> tuple[int, list[PastBall]]:
    """How wide a ball is drawn, 2 or 1, and the last balls that fit."""

    def fits(cell: int, balls: Sequence[PastBall]) -> bool:
        return cell * len(balls) + len({ball.over for ball in balls}) - 1 <= room

    for cell, fewest in ((2, min(len(window), _MIN_WIDE_BALLS)), (1, 0)):
        for first in range(len(window) - fewest + 1):
            if fits(cell, window[first:]):
                return cell, window[first:]
    return 1, window[-1:]


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
