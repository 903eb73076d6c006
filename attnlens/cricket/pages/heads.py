"""The middle of the page: the balls each head looked at, what hiding them does, and the strip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal

from attnlens.cricket.model.heads import UNNAMED, UNSPECIALISED
from attnlens.cricket.pages.parts import (
    SCALE_NAMES,
    VERDICTS,
    earned,
    head_name,
    of,
    short_names,
    sign_of,
)
from attnlens.show.canvas import (
    Line,
    Page,
    Span,
    add_row,
    display_width,
    legend,
    pad,
    pad_line,
    shade,
    width_of,
)
from attnlens.show.numbers import percent_seen
from attnlens.words import count

if TYPE_CHECKING:
    from attnlens.cricket.explain.attention_types import Head, HeatMap, LongHeatMap
    from attnlens.cricket.explain.types import Evidence, Explanation, PastBall

WIDE: Final = 100
"""Columns from which effect, chance and verdict stand beside the head's name."""

NAME, EFFECT, CHANCE, VERDICT = 15, 16, 5, 24
KNOWN: Final[Mapping[str, str]] = {
    "the scoreboard": "scoreboard",
    "the chase": "chase",
    "striker's record": "striker",
    "bowler's record": "bowler",
    "venue and teams": "ground, sides",
}
"""Short names of what was known beside past balls, by the kind of the claim."""

MOST_BALLS: Final = 6
"""Balls that a claim of no head lists."""

USUAL: Final = ("controls do as much", "too few other balls to compare with")
"""Reasons that the verdict's own words and the legend already give."""

Who = Literal["both", "bowler", "batter", "nobody"]


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
        """``7.1 Zampa→Rahul 4 (22%)``; with fewer names where the others are known."""
        share: Line = [] if weight is None else [(f" ({percent_seen(weight)})", "quiet")]
        ball = self.by_index.get(index)
        if ball is None:
            return [(f"delivery {index}", ""), *share]
        bowler, batter = self.names[ball.bowler], self.names[ball.batter]
        players = {
            "both": f"{bowler}→{batter} ",
            "bowler": f"{bowler} ",
            "batter": f"{batter} ",
            "nobody": "",
        }[who]
        return [(f"{ball.label} {players}", ""), (ball.outcome, style_of(ball) or "name"), *share]


def style_of(ball: PastBall) -> str:
    """The style of what stands out: a wicket, a boundary."""
    return "alarm" if ball.wicket else "strong" if ball.boundary else ""


class Tests:
    """What effect, chance and verdict of a claim look like, for the outcome asked about."""

    def __init__(self, explanation: Explanation, outcome: str) -> None:
        """``outcome`` is empty where each claim is told by the one it moves most."""
        self.outcome = outcome
        self.now: dict[str, float] = {
            one.outcome: one.probability for one in explanation.prediction.outcomes
        }

    def effect(self, claim: Evidence) -> str:
        """``P(4) 17 → 14%``, with a decimal where whole percent would look alike."""
        outcome: str = claim.top_change.outcome
        before, after = claim.top_change.before, claim.top_change.after
        if self.outcome not in ("", outcome):
            outcome = self.outcome
            before, points = self.now[outcome], of(claim.changes, outcome).points
            after = min(1.0, max(0.0, before + points / 100))
        one, two = f"{100 * before:.0f}", f"{100 * after:.0f}"
        if one == two:
            one, two = f"{100 * before:.1f}", f"{100 * after:.1f}"
        if one == two:
            return f"P({outcome}) {one}%, same"
        airy = f"P({outcome}) {one} → {two}%"
        return airy if len(airy) < EFFECT else f"P({outcome}) {one}→{two}%"

    def chance(self, claim: Evidence) -> str:
        """The q of a claim, where it was tested."""
        return "" if claim.q is None else f"{claim.q:.2f}" if claim.q >= 0.005 else "<.01"

    def verdict(self, claim: Evidence | None) -> Span:
        """Its sign and its words."""
        verdict = claim.verdict if claim else None
        sign, words, style = VERDICTS[verdict]
        return f"{sign} {words}", style if verdict else "quiet"


def question(head: Head, balls: Balls) -> str:
    """What a head asks, with the names of those who play."""
    if head.pattern == "same_bowler":
        return f"how did {balls.bowler}'s earlier balls go?"
    if head.pattern == "same_batsman":
        return f"how is {balls.batter} going?"
    if head.pattern != UNNAMED and head.question:
        return head.question.rstrip("?") + "?"
    if head.earned == UNSPECIALISED:
        return "free to look anywhere"
    return f"free; looks at: {head.earned.replace('_', ' ')}"


def add_heads(page: Page, explanation: Explanation, outcome: str, scale: str, balls: Balls) -> None:
    """One block per head of the scale, then the claims that belong to no head."""
    inner: HeatMap | LongHeatMap = getattr(explanation.across_balls, scale)
    tests = Tests(explanation, outcome)
    heading = f"what it looked at ({scale} scale, {count(len(inner.balls), 'past ball')})"
    if not inner.balls:
        page.paragraph(heading, "heading")
        place = "in an earlier over" if scale == "long" else "before this one"
        page.paragraph(f"nothing: no ball of this innings was bowled {place}", "quiet", indent=4)
        page.blank()
        return
    _add_heading(page, heading)
    for key, head in inner.attention_by_head.items():
        claims = [one for one in explanation.evidence if (one.head, one.scale) == (key, scale)]
        _add_head(page, head_name(key, head), head, claims, balls, tests)
    for claim in explanation.evidence:
        if claim.head is None and claim.kind not in KNOWN and claim.scale in (scale, None):
            _add_title(page, claim.kind, "", claim, tests)
            shown = [balls.shown(index, None) for index in claim.removed[:MOST_BALLS]]
            more = len(claim.removed) - len(shown)
            page.flow([*shown, *([[(f"and {more} more", "quiet")]] * (more > 0))], indent=4, gap=3)
            _add_remarks(page, _unusual(claim))
    _add_known(page, explanation, tests)
    page.blank()


def _add_heading(page: Page, heading: str) -> None:
    if page.width < WIDE:
        page.paragraph(heading, "heading")
        return
    page.add(
        *pad_line([(f"  {heading}", "heading")], page.width - EFFECT - CHANCE - VERDICT),
        (f"{'hiding them':<{EFFECT}}{'q':<{CHANCE}}verdict", "quiet"),
    )


def _add_head(
    page: Page, name: str, head: Head, claims: Sequence[Evidence], balls: Balls, tests: Tests
) -> None:
    """A head's question, its claims with their tests, the balls it lists, and remarks."""
    asks = question(head, balls)
    share = f"{percent_seen(sum(head.weights))} of its attention" if head.top_balls else ""
    _add_title(page, name, asks, claims[0] if claims else None, tests)
    # A second test that found nothing is a remark, one that found something a row.
    remarks = []
    for claim in claims[1:]:
        if claim.removed_from == "head" and claim.verdict != "supported":
            if claim.verdict is not None:
                remarks.append(f"hidden from this head alone: {claim.reason or claim.verdict}")
            continue
        whose = "whole model" if claim.removed_from == "model" else "head"
        _add_title(page, "", f"hidden from the {whose}", claim, tests)
    _add_balls(page, head, claims[:1], balls, share)
    _add_remarks(page, *remarks)


def _add_known(page: Page, explanation: Explanation, tests: Tests) -> None:
    """What was known beside past balls, where it could be compared with anything."""
    claims = [one for one in explanation.evidence if one.kind in KNOWN and one.verdict]
    if not claims:
        return
    page.paragraph("what it knew beside them", "heading")
    for claim in claims:
        # The name says what it is: the words are what the claim adds in brackets, if it does.
        words = claim.claim.partition("(")[2].rstrip(")") or claim.claim
        _add_title(page, KNOWN[claim.kind], words, claim, tests)
        _add_remarks(page, _unusual(claim))


def _add_title(page: Page, name: str, asks: str, claim: Evidence | None, tests: Tests) -> None:
    title: Span = (pad(f"  {name}", NAME), "name")
    effect, chance = (tests.effect(claim), tests.chance(claim)) if claim else ("", "")
    verdict = tests.verdict(claim)
    if page.width >= WIDE:
        words = pad(asks, page.width - NAME - EFFECT - CHANCE - VERDICT - 1)
        figures: Line = [(pad(effect, EFFECT, ""), ""), (pad(chance, CHANCE, ""), "quiet")]
        page.add(title, (f"{words} ", ""), *figures, verdict)
        return
    page.flow([[(word, "")] for word in asks.split()], indent=NAME, gap=1, lead=[title])
    pieces: list[Line] = [[(f"hidden: {effect}", "")]] if effect else []
    pieces += [[(f"q {chance}", "quiet")]] if chance else []
    page.flow([*pieces, [verdict]], indent=4, gap=3)


def _became(head: Head) -> str | None:
    """What a head does on many balls, where that is not what it started as."""
    if head.pattern == UNNAMED or not earned(head):
        return None
    return f"named for its start; on many balls it looks at: {earned(head)}"


def _unusual(claim: Evidence) -> str | None:
    return None if claim.reason in USUAL else claim.reason


def _add_remarks(page: Page, *remarks: str | None) -> None:
    for remark in filter(None, remarks):
        page.paragraph(remark, "quiet", indent=4)


def _add_balls(
    page: Page, head: Head, claims: Sequence[Evidence], balls: Balls, share: str
) -> None:
    """The balls a head lists; of a head that nothing is claimed of, one line."""
    if not head.top_balls:
        page.paragraph("no such ball yet", "quiet", indent=4)
        return
    known: Mapping[str, Who] = {"same_bowler": "batter", "same_batsman": "bowler"}
    who = known.get(head.pattern, "both")
    items = [
        balls.shown(index, weight, who)
        for index, weight in zip(head.top_balls, head.weights, strict=True)
    ]
    if not claims:
        while len(items) > 1 and sum(width_of(item) + 3 for item in items) + 1 > page.width:
            items.pop()
        page.flow(items, indent=4, gap=3)
        return
    if share:
        items.append([(f"= {share}", "quiet")])
    page.flow(items, indent=4, gap=3)
    where = "hidden from this head only" if claims[0].removed_from == "head" else None
    _add_remarks(page, _became(head), head.note, where, *map(_unusual, claims))


def add_strip(page: Page, explanation: Explanation, scale: str, balls: Balls) -> None:
    """A row of shades per head over the balls of the window, overs apart."""
    inner: HeatMap | LongHeatMap = getattr(explanation.across_balls, scale)
    window = [balls.by_index[index] for index in inner.balls if index in balls.by_index]
    if not window or len(window) < len(inner.balls):
        return
    cell, shown = _fitting(window, page.width - NAME)
    groups = [list(group) for _, group in groupby(shown, key=lambda ball: ball.over)]
    heads = inner.attention_by_head
    most = max(weight for head in heads.values() for weight in head.row)
    title = "ball by ball" if shown == window else f"the last {len(shown)}, ball by ball"
    page.flow(
        [
            [(f"{legend(most)} of a head's attention", "quiet")],
            [("· dot, 4 6 boundary, W wicket", "quiet")],
        ],
        indent=4,
        gap=3,
        lead=[(f"  {title}   ", "heading")],
    )
    overs = [[(_over(group, cell, balls), "quiet")] for group in groups]
    add_row(page, ("  over", ""), NAME, overs)
    marks = [[span for ball in group for span in _mark(ball, cell)] for group in groups]
    add_row(page, ("  outcome", ""), NAME, marks)
    for key, head in heads.items():
        weights = dict(zip(inner.balls, head.row, strict=True))
        row = [[shade(weights[ball.index], most, cell=cell) for ball in group] for group in groups]
        add_row(page, (f"  {head_name(key, head)}", ""), NAME, row)
    page.blank()


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
    named = f"{number} {balls.names[group[0].bowler]}"
    if display_width(named) <= width or width >= 10:
        return pad(named, width)
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
    tests = Tests(explanation, "")
    for claim in explanation.evidence:
        if claim.scale not in (scale, None) and claim.verdict == "supported":
            verdict, style = tests.verdict(claim)
            told = f"hiding them: {tests.effect(claim)}, q {tests.chance(claim)}"
            page.paragraph(f"{verdict}: {claim.claim}; {told}", style, indent=4)
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
