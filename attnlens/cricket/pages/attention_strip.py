"""The strip of attention: shades of heads over the past balls, and what each ball does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from attnlens.cricket.pages.parts import of, short_names, sign_of
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
from attnlens.render.numbers import percent_seen

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import Explanation, HeatMap, LongHeatMap, PastBall

_NAME_COLUMNS = 16
_HEADER_LINES: Final = 3
"""Lines of the strip above its rows: legend, overs, outcomes."""

_MIN_EFFECT_POINTS: Final = 0.2
"""Points of the page's outcome from which the effect of hiding one ball has a sign."""


class BallLabels:
    """The past balls by index, with names short enough for a line."""

    def __init__(self, explanation: Explanation) -> None:
        ball = explanation.ball
        names = [ball.batter, ball.bowler, ball.non_striker]
        names += [name for past in explanation.history for name in (past.batter, past.bowler)]
        self.names = short_names(names)
        self.by_index = {past.index: past for past in explanation.history}
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
    """One row per head, in the order of the heads."""
    return [
        AttentionRow(f"head {key.split('_')[1]}", head.row)
        for key, head in inner.attention_by_head.items()
    ]


def leading_rows(inner: HeatMap | LongHeatMap, heads: int) -> list[AttentionRow]:
    """The mean over all heads, then so many heads: the named ones, then the most concentrated."""
    rows = head_rows(inner)
    mean = [sum(column) / len(rows) for column in zip(*(row.weights for row in rows), strict=True)]
    earned = [head.earned for head in inner.attention_by_head.values()]
    ranked = sorted(
        zip(rows, earned, strict=True), key=lambda row: (row[1] is None, -max(row[0].weights))
    )
    labelled = [
        row if name is None else row._replace(label=name.replace("_", " "))
        for row, name in ranked[:heads]
    ]
    return [AttentionRow("all heads", mean), *labelled]


def add_attention(page: Page, explanation: Explanation, labels: BallLabels, room: int) -> None:
    """The strip of the medium scale in at most ``room`` lines: all heads, and single ones."""
    inner = explanation.across_balls.medium
    if not inner.balls:
        page.paragraph("Attention: no ball of this innings came before this one.", "quiet", 0)
        return
    rows = leading_rows(inner, max(0, room - _HEADER_LINES - 2))
    outcome, effects = explanation.prediction.subject, single_effects(explanation)
    add_strip(page, inner, rows, labels, effects=effects, outcome=outcome)


def single_effects(explanation: Explanation) -> dict[int, float]:
    """What each past ball adds to the page's outcome, in points: hiding it takes that away."""
    outcome = explanation.prediction.subject
    return {
        past.index: -of(past.changes, outcome).points
        for past in explanation.history
        if past.changes
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
    title = "ball by ball" if visible == window else f"the last {len(visible)}, ball by ball"
    signs = f"▲ raises P({outcome}), ▼ lowers it" if effects else "· dot, 4 6 boundary, W wicket"
    page.flow(
        [[(f"{legend(darkest)} of a head's attention", "quiet")], [(signs, "quiet")]],
        indent=4,
        gap=3,
        lead=[(f"  {title}   ", "heading")],
    )
    titles = [[(_over_title(balls, cell, labels), "quiet")] for balls in overs]
    add_row(page, ("  over", ""), _NAME_COLUMNS, titles)
    marks = [[(pad(_sign(ball), cell), _style(ball)) for ball in balls] for balls in overs]
    add_row(page, ("  outcome", ""), _NAME_COLUMNS, marks)
    for row in rows:
        weights = dict(zip(inner.balls, row.weights, strict=True))
        cells = [
            [shade(weights[ball.index], darkest, cell=cell) for ball in balls] for balls in overs
        ]
        add_row(page, (f"  {row.label}", ""), _NAME_COLUMNS, cells)
    if effects:
        signed = [[_effect(effects.get(ball.index, 0.0), cell) for ball in b] for b in overs]
        add_row(page, ("  effect", ""), _NAME_COLUMNS, signed)
    page.blank()


def _effect(points: float, cell: int) -> Span:
    """Whether a ball raises the page's outcome: the points that hiding it takes away."""
    sign = "·" if abs(points) < _MIN_EFFECT_POINTS else "▲" if points > 0 else "▼"
    return pad(sign, cell), tone(points, _MIN_EFFECT_POINTS)


def _fitting(window: list[PastBall], room: int) -> tuple[int, list[PastBall]]:
    """How wide a ball is drawn, 2 or 1, and the last balls that fit."""

    def columns(cell: int, balls: Sequence[PastBall]) -> int:
        return cell * len(balls) + len({ball.over for ball in balls}) - 1

    cell, first = 2 if columns(2, window) <= room else 1, 0
    while columns(cell, window[first:]) > room:
        first += 1
    return cell, window[first:]


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
