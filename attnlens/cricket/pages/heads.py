"""The middle of the page: the balls each head looked at, what hiding them does, and the strip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal

from attnlens.cricket.pages.parts import (
    SCALE_NAMES,
    VERDICTS,
    head_name,
    of,
    share_of,
    short_names,
    sign_of,
    verdict_of,
)
from attnlens.cricket.words.narrative import aim
from attnlens.evidence.verdict import CHANCE
from attnlens.render.canvas import (
    Line,
    Page,
    Span,
    add_row,
    display_width,
    legend,
    pad,
    pad_line,
    shade,
    tone,
    width_of,
)
from attnlens.render.numbers import percent_seen
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.cricket.explain.types import (
        Evidence,
        Explanation,
        Head,
        HeatMap,
        LongHeatMap,
        PastBall,
    )

_WIDE: Final = 100
"""Columns from which effect, chance and verdict stand beside the head's name."""

NAME, EFFECT, Q, VERDICT = 16, 16, 5, 24
_KNOWN: Final[Mapping[str, str]] = {
    "the scoreboard": "scoreboard",
    "the chase": "chase",
    "striker's record": "striker",
    "bowler's record": "bowler",
    "venue and teams": "ground, sides",
}
"""Short names of what was known beside past balls, by the kind of the claim."""

_STRIP_HEADER: Final = 3
"""Lines of the strip above its rows: legend, overs, outcomes."""

_EFFECT_POINTS: Final = 0.2
"""Points of the page's outcome from which the effect of hiding one ball has a sign."""

_MOST_BALLS: Final = 6
"""Balls that a claim of no head lists."""

Who = Literal["both", "nobody"]


class Balls:
    """The past balls by index, with names short enough for a line."""

    def __init__(self, explanation: Explanation) -> None:
        ball = explanation.ball
        names = [ball.batter, ball.bowler, ball.non_striker]
        names += [name for past in explanation.history for name in (past.batter, past.bowler)]
        self.names = short_names(names)
        self.by_index = {past.index: past for past in explanation.history}
        self.bowler, self.batter = self.names[ball.bowler], self.names[ball.batter]

    def shown(self, index: int, weight: float | None, who: Who = "both") -> Line:
        """``7.1 Zampa→Rahul 4 (22%)``, with or without the names."""
        share: Line = [] if weight is None else [(f" ({percent_seen(weight)})", "quiet")]
        ball = self.by_index.get(index)
        if ball is None:
            return [(f"delivery {index}", ""), *share]
        players = f"{self.names[ball.bowler]}→{self.names[ball.batter]} " * (who == "both")
        return [(f"{ball.label} {players}", ""), (ball.outcome, style_of(ball) or "name"), *share]


def style_of(ball: PastBall) -> str:
    """The style of what stands out: a wicket, a boundary."""
    return "alarm" if ball.wicket else "strong" if ball.boundary else ""


def effect_of(claim: Evidence) -> str:
    """``P(4) 17 → 14%``, with a decimal where whole percent would look alike."""
    outcome, change = claim.top_change.outcome, claim.top_change
    start, end = f"{100 * change.before:.0f}", f"{100 * change.after:.0f}"
    if start == end:
        start, end = f"{100 * change.before:.1f}", f"{100 * change.after:.1f}"
    change_text = f"{start}% same" if start == end else f"{start} → {end}%"
    tight = change_text.replace(" → ", "→")
    forms = f"P({outcome}) {change_text}", f"P({outcome}) {tight}", f"{outcome} {tight}"
    return next(form for form in forms if len(form) < EFFECT)


def chance_of(claim: Evidence) -> str:
    """The q of a claim, where it was tested."""
    untold = claim.reference or claim.verdict == "cannot be told"
    return "" if claim.q is None or untold else f"{claim.q:.2f}" if claim.q >= 0.005 else "<.01"


def sign_and_words(claim: Evidence | None) -> Span:
    """A verdict's sign and its words."""
    sign, words, style = verdict_of(claim) if claim else VERDICTS[None]
    return f"{sign} {words}", style


def question(head: Head, balls: Balls) -> str:
    """What a head asks by the name it has earned, with the names of those who play."""
    if head.earned == "same_bowler":
        return f"how did {balls.bowler}'s earlier balls go?"
    if head.earned == "same_batsman":
        return f"how is {balls.batter} going?"
    return f"{head.question}?" if head.question else ""


def add_claims(page: Page, explanation: Explanation, balls: Balls) -> None:
    """The claims that no head makes: of past balls, and of what was known beside them."""
    claims = [entry for entry in explanation.evidence if entry.removed_from == "model"]
    of_balls = [entry for entry in claims if entry.removed]
    if of_balls:
        direction = aim(explanation)
        mattered = f"{direction} P({explanation.prediction.about})" if direction else "mattered"
        _add_heading(page, f"which balls {mattered} (hidden from the whole model)")
    for claim in of_balls:
        # The balls that the claim has in brackets stand below.
        start, _, rest = claim.claim.partition(" (ball")
        _add_title(page, start + rest.partition(")")[2], "", claim)
        items = [balls.shown(index, None) for index in claim.removed[-_MOST_BALLS:]]
        more = len(claim.removed) - len(items)
        page.flow([*([[(f"{more} more, then", "quiet")]] * (more > 0)), *items], indent=4, gap=3)
        _add_remarks(page, None if claim.reference else _unusual(claim))
    # What could not be compared with anything is not told.
    tested = [entry for entry in claims if entry.kind in _KNOWN and entry.q is not None]
    if tested:
        page.paragraph("what it knew beside them", "heading")
    for claim in tested:
        # The name says what it is: the words are what the claim adds in brackets, if it does.
        words = claim.claim.partition("(")[2].rstrip(")") or claim.claim
        _add_title(page, _KNOWN[claim.kind], words, claim)
        _add_remarks(page, _unusual(claim))
    if claims:
        page.blank()


def add_heads(page: Page, explanation: Explanation, scale: str, balls: Balls) -> None:
    """One block per head of the scale."""
    inner: HeatMap | LongHeatMap = getattr(explanation.across_balls, scale)
    heading = f"what heads looked at ({scale} scale, {count(len(inner.balls), 'past ball')})"
    if not inner.balls:
        page.paragraph(heading, "heading")
        scope = "in an earlier over" if scale == "long" else "before this one"
        page.paragraph(f"nothing: no ball of this innings was bowled {scope}", "quiet", indent=4)
        page.blank()
        return
    _add_heading(page, heading)
    claims = {one.head: one for one in explanation.evidence if one.scale == scale}
    for key, head in inner.attention_by_head.items():
        claim = claims.get(key)
        _add_title(page, head_name(key, head), question(head, balls), claim)
        tested = claim is not None and claim.verdict is not None
        _add_balls(page, head, balls, whole=tested)
        if claim is not None and tested:
            remark = f"hidden from this head alone: {share_of(claim)}"
            _add_remarks(page, "; ".join(filter(None, (remark, _unusual(claim)))))
    page.blank()


def _add_heading(page: Page, heading: str) -> None:
    if page.width < _WIDE:
        page.paragraph(heading, "heading")
        return
    page.add(
        *pad_line([(f"  {heading}", "heading")], page.width - EFFECT - Q - VERDICT),
        (f"{'hiding them':<{EFFECT}}{'q':<{Q}}verdict", "quiet"),
    )


def _add_title(page: Page, name: str, asks: str, claim: Evidence | None) -> None:
    """A claim's name and words with its test; of a picture the name alone."""
    side_columns = EFFECT + Q + VERDICT if page.width >= _WIDE else 0
    side = min(max(NAME, 3 + display_width(name)), page.width - side_columns - 2)
    title: Span = (pad(f"  {name}", side), "name")
    tested = claim is not None and claim.verdict is not None
    effect, chance = (effect_of(claim), chance_of(claim)) if claim and tested else ("", "")
    verdict = sign_and_words(claim)
    if page.width >= _WIDE:
        room = page.width - side - EFFECT - Q - VERDICT - 1
        words = pad(asks if display_width(asks) <= room else "", room)
        figures: Line = [(pad(effect, EFFECT, ""), ""), (pad(chance, Q, ""), "quiet")]
        page.add(title, (f"{words} ", ""), *figures, verdict)
        return
    page.flow([[(word, "")] for word in asks.split()], indent=side, gap=1, lead=[title])
    pieces: list[Line] = [[(f"hidden: {effect}", "")]] if effect else []
    pieces += [[(f"q {chance}", "quiet")]] if chance else []
    page.flow([*pieces, [verdict]], indent=4, gap=3)


def _unusual(claim: Evidence) -> str | None:
    return None if claim.reason == CHANCE else claim.reason


def _add_remarks(page: Page, *remarks: str | None) -> None:
    for remark in filter(None, remarks):
        page.paragraph(remark, "quiet", indent=4)


def _add_balls(page: Page, head: Head, balls: Balls, *, whole: bool) -> None:
    """The balls that a head looked at most: the ``whole`` list, or as many as fit on a line."""
    if not head.top_any:
        page.paragraph("no ball", "quiet", indent=4)
        return
    items = [
        balls.shown(index, weight)
        for index, weight in zip(head.top_any, head.top_any_weights, strict=True)
    ]
    while (
        not whole and len(items) > 1 and sum(width_of(item) + 3 for item in items) + 1 > page.width
    ):
        items.pop()
    page.flow(items, indent=4, gap=3)


@dataclass(frozen=True, slots=True)
class AttentionRow:
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
    rows = [head.row for head in inner.attention_by_head.values()]
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    ranked = sorted(
        inner.attention_by_head.items(),
        key=lambda item: (item[1].earned is None, -max(item[1].row)),
    )
    return [
        AttentionRow("all heads", mean),
        *(
            AttentionRow(
                head.earned.replace("_", " ") if head.earned else f"head {key.split('_')[1]}",
                head.row,
            )
            for key, head in ranked[:heads]
        ),
    ]


def add_strip(page: Page, explanation: Explanation, scale: str, balls: Balls) -> None:
    """A row of shades per head over the balls of the window, overs apart."""
    inner: HeatMap | LongHeatMap = getattr(explanation.across_balls, scale)
    _add_rows(page, inner, head_rows(inner), balls)


def add_attention(page: Page, explanation: Explanation, balls: Balls, room: int) -> None:
    """The strip of the medium scale in at most ``room`` lines: all heads, and single ones."""
    inner = explanation.across_balls.medium
    if not inner.balls:
        page.paragraph("Attention: no ball of this innings came before this one.", "quiet", 0)
        return
    rows = leading_rows(inner, max(0, room - _STRIP_HEADER - 2))
    outcome = explanation.prediction.about
    effects = single_effects(explanation)
    _add_rows(page, inner, rows, balls, effects=effects, outcome=outcome)


def single_effects(explanation: Explanation) -> dict[int, float]:
    """What each past ball adds to the page's outcome, in points: hiding it takes that away."""
    outcome = explanation.prediction.about
    return {
        past.index: -of(past.changes, outcome).points
        for past in explanation.history
        if past.changes
    }


def _add_rows(
    page: Page,
    inner: HeatMap | LongHeatMap,
    rows: Sequence[AttentionRow],
    balls: Balls,
    *,
    effects: Mapping[int, float] | None = None,
    outcome: str = "",
) -> None:
    window = [balls.by_index[index] for index in inner.balls if index in balls.by_index]
    if not window or len(window) < len(inner.balls):
        return
    cell, drawn_balls = _fitting(window, page.width - NAME)
    groups = [list(group) for _, group in groupby(drawn_balls, key=lambda ball: ball.over)]
    darkest = max(weight for row in rows for weight in row.weights)
    title = (
        "ball by ball" if drawn_balls == window else f"the last {len(drawn_balls)}, ball by ball"
    )
    signs = "· dot, 4 6 boundary, W wicket"
    if effects:
        signs = f"▲ raises P({outcome}), ▼ lowers it"
    page.flow(
        [
            [(f"{legend(darkest)} of a head's attention", "quiet")],
            [(signs, "quiet")],
        ],
        indent=4,
        gap=3,
        lead=[(f"  {title}   ", "heading")],
    )
    overs = [[(_over(group, cell, balls), "quiet")] for group in groups]
    add_row(page, ("  over", ""), NAME, overs)
    marks = [[span for ball in group for span in _mark(ball, cell)] for group in groups]
    add_row(page, ("  outcome", ""), NAME, marks)
    for row in rows:
        weights = dict(zip(inner.balls, row.weights, strict=True))
        cells = [
            [shade(weights[ball.index], darkest, cell=cell) for ball in group] for group in groups
        ]
        add_row(page, (f"  {row.label}", ""), NAME, cells)
    if effects:
        signed = [[_effect_sign(effects.get(ball.index, 0.0), cell) for ball in g] for g in groups]
        add_row(page, ("  effect", ""), NAME, signed)
    page.blank()


def _effect_sign(points: float, cell: int) -> Span:
    """Whether a ball raises the page's outcome: the points that hiding it takes away."""
    sign = "·" if abs(points) < _EFFECT_POINTS else "▲" if points > 0 else "▼"
    return pad(sign, cell), tone(points, _EFFECT_POINTS)


def _fitting(window: list[PastBall], room: int) -> tuple[int, list[PastBall]]:
    """How wide a ball is drawn, 2 or 1, and the last balls that fit."""
    cell = 2 if 2 * len(window) + _bars_between(window) <= room else 1
    first = 0
    while cell * (len(window) - first) + _bars_between(window[first:]) > room:
        first += 1
    return cell, window[first:]


def _bars_between(window: Sequence[PastBall]) -> int:
    return len({ball.over for ball in window}) - 1


def _over(group: Sequence[PastBall], cell: int, balls: Balls) -> str:
    """The over's number and its bowler, as far as the over is wide."""
    width, number = cell * len(group), str(group[0].over)
    title = f"{number} {balls.names[group[0].bowler]}"
    if display_width(title) <= width or width >= 10:
        return pad(title, width)
    return pad(number, width, "")


def _mark(ball: PastBall, cell: int) -> Line:
    sign = "·" if ball.outcome == "0" else sign_of(ball.outcome)
    if ball.boundary and not ball.wicket:
        sign = str(ball.runs_batter)
    return [(sign, style_of(ball)), (" " * (cell - 1), "")]


def add_other_scales(page: Page, explanation: Explanation, scale: str, balls: Balls) -> None:
    """One line for each other scale: what it is for, its weight, its top balls."""
    page.add(("  the other scales, and their share of the prediction", "heading"))
    for name in SCALE_NAMES:
        if name == scale:
            continue
        weight = percent_seen(getattr(explanation.fusion_weights, name))
        line: Line = [(pad(f"  {name}", 9, ""), "name"), (f"{weight:>4}   ", "")]
        if name == "long":
            tops = _top_overs(explanation.across_balls.long)
        else:
            tops = _top_balls(getattr(explanation.across_balls, name), balls)
        gap: Line = []
        for top in tops or [[("nothing to look at yet", "quiet")]]:
            if gap and width_of(line) + 3 + width_of(top) > page.width:
                break
            line, gap = [*line, *gap, *top], [("   ", "")]
        page.add(*line)
    for claim in explanation.evidence:
        if claim.scale not in (scale, None) and claim.verdict == "supported":
            verdict, style = sign_and_words(claim)
            effect = f"hidden from that head alone: {effect_of(claim)}, {share_of(claim)}"
            page.paragraph(f"{verdict}: {claim.claim}; {effect}", style, indent=4)
    page.blank()


def _ranked(mean: Mapping[int, float]) -> list[int]:
    """The four of the largest weight; of equals the later first."""
    return sorted(mean, key=lambda index: (-mean[index], -index))[:4]


def _top_balls(inner: HeatMap, balls: Balls) -> list[Line]:
    """Balls by the mean over heads."""
    rows = [head.row for head in inner.attention_by_head.values()]
    sums = (sum(column) / len(rows) for column in zip(*rows, strict=True))
    mean = dict(zip(inner.balls, sums, strict=False))
    return [balls.shown(index, mean[index], "nobody") for index in _ranked(mean)]


def _top_overs(inner: LongHeatMap) -> list[Line]:
    """Earlier overs by the mean over heads of what the heads list."""
    heads = list(inner.attention_by_head.values())
    mean: dict[int, float] = {}
    for head in heads:
        for over, weight in zip(head.top_overs, head.top_over_weights, strict=True):
            mean[over] = mean.get(over, 0.0) + weight / len(heads)
    return [
        [(f"over {over} ", ""), (f"({percent_seen(mean[over])})", "quiet")]
        for over in _ranked(mean)
    ]
