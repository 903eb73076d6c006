"""Render the full terminal page of one ball, for ``attnlens explain --full``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attnlens.cricket.explain.types import Evidence, Explanation, HeadAttention
from attnlens.cricket.match.match import OUTCOME_NAMES
from attnlens.cricket.pages.ball_page import (
    MIN_COLOURED_POINTS,
    USUAL_WORDS,
    AttentionRow,
    BallLabels,
    add_outcome_bars,
    add_reasons,
    add_strip,
    map_of,
    reason_lines,
    reasons_for,
)
from attnlens.cricket.pages.parts import (
    CAVEAT,
    by_carries,
    head_name,
    of,
    reason_of,
    share_of,
    sight,
    verdict_of,
    win_line,
)
from attnlens.cricket.words.facts import OUTCOME_WORDS
from attnlens.cricket.words.narrative import aim
from attnlens.cricket.words.summary import before_after
from attnlens.errors import count
from attnlens.render.canvas import Line, Page, Span, display_width, pad, terminal_page, width_of
from attnlens.render.numbers import percent_seen
from attnlens.render.text_terminal import VERDICTS

_NAME_COLUMNS = 16
_KNOWLEDGE_NAMES: Final[Mapping[str, str]] = {
    "the scoreboard": "scoreboard",
    "the chase": "chase",
    "striker's record": "batter",
    "bowler's record": "bowler",
    "venue and teams": "ground, teams",
}
_HOW_HEADS: Final = (
    "Share of the effect: the past balls are hidden from one head at a time, and each effect is "
    "divided by the sum over all heads. Brackets contain a relation, such as same bowler: in tests "
    "on many other balls, hiding the balls with this relation from the head mattered."
)

_MAX_CLAIM_BALLS: Final = 6


@terminal_page(max_width=100)
def render_full_page(page: Page, explanation: Explanation, *, scale: str = "medium") -> None:
    """Render the full page of one ball.

    Args:
        scale: the scale whose heads are shown in full.

    Raises:
        InputError: ``scale`` is not the name of a scale.
    """
    inner, labels = map_of(explanation, scale), BallLabels(explanation)
    prediction = explanation.prediction
    page.parts(explanation.ball.echo, 0)
    bars = [(entry.outcome, entry.usual, entry.probability) for entry in prediction.outcomes]
    chosen, actual = prediction.subject, prediction.actual
    meaning = "the outcome that this page explains"
    headings = "usual", "now"
    add_outcome_bars(page, bars, headings, chosen=chosen, meaning=meaning, actual=actual)
    _add_what_happened(page, explanation)
    page.blank()
    reasons = reasons_for(explanation, labels, MIN_COLOURED_POINTS)
    records = reason_lines(explanation, labels, MIN_COLOURED_POINTS)
    add_reasons(page, reasons, OUTCOME_NAMES[prediction.subject].short, records)
    page.blank()
    if explanation.win_probability is not None:
        page.paragraph(win_line(explanation))
        page.blank()
    _add_claims(page, explanation, labels)
    _add_heads(page, explanation, scale, labels)
    heads = by_carries(inner)
    rows = [AttentionRow(f"head {key.split('_')[1]}", head.row) for key, head in heads]
    add_strip(page, inner, rows, labels)
    _add_close(page, explanation)


def _add_what_happened(page: Page, explanation: Explanation) -> None:
    prediction = explanation.prediction
    if prediction.actual is None:
        return
    prob = percent_seen(of(prediction.outcomes, prediction.actual).probability)
    text = f"it was {OUTCOME_WORDS[prediction.actual]}; the model had given it {prob}"
    if prediction.surprise_bits is not None:
        text += f" ({prediction.surprise_bits:.1f} bits of surprise)"
    page.paragraph(text, "title", indent=4, lead="  ●")


def _add_claims(page: Page, explanation: Explanation, labels: BallLabels) -> None:
    claims = [entry for entry in explanation.evidence if entry.removed_from == "model"]
    of_balls = [entry for entry in claims if entry.removed]
    if of_balls:
        direction = aim(explanation)
        outcome = OUTCOME_NAMES[explanation.prediction.subject].short
        mattered = f"{direction} P({outcome})" if direction else "matter"
        page.paragraph(f"Which past balls {mattered}? Hidden from the whole model", "heading")
    for claim in of_balls:
        # The balls are listed below the claim, so its text does not repeat them.
        start, _, rest = claim.claim.partition(" (ball")
        _add_title(page, start + rest.partition(")")[2], "", claim)
        balls = [labels.label(index) for index in claim.removed[-_MAX_CLAIM_BALLS:]]
        more = len(claim.removed) - len(balls)
        page.flow([*([[(f"{more} more, then", "quiet")]] * (more > 0)), *balls], indent=4, gap=3)
        _add_remark(page, "" if claim.reference else _unusual(claim))
    # A claim without q was not compared with control sets, so it is left out.
    tested = [entry for entry in claims if entry.kind in _KNOWLEDGE_NAMES and entry.q is not None]
    if tested:
        page.paragraph("Other inputs, hidden from the whole model", "heading")
    for claim in tested:
        # The name already says what the claim is about, so only the text in brackets is added.
        words = claim.claim.partition("(")[2].rstrip(")") or claim.claim
        _add_title(page, _KNOWLEDGE_NAMES[claim.kind], words, claim)
        _add_remark(page, _unusual(claim))
    if claims:
        page.blank()


def _add_heads(page: Page, explanation: Explanation, scale: str, labels: BallLabels) -> None:
    inner = map_of(explanation, scale)
    balls = count(len(inner.balls), "past ball")
    page.paragraph(f"What each head looked at ({scale} scale, {balls})", "heading")
    if not inner.balls:
        scope = "in an earlier over" if scale == "long" else "before this one"
        page.paragraph(f"nothing: no ball of this innings was bowled {scope}", "quiet", indent=4)
    else:
        page.paragraph(_HOW_HEADS, "quiet", indent=4)
    claims = {claim.head: claim for claim in explanation.evidence if claim.scale == scale}
    for key, head in by_carries(inner) if inner.balls else ():
        claim = claims.get(key)
        tested = claim if claim is not None and claim.verdict is not None else None
        words = sight(head) or _question(head, labels)
        carries = None if head.carries is None else f"{percent_seen(head.carries)} of the effect"
        _add_title(page, head_name(key, head), words, claim, carries)
        _add_balls(page, head, labels, all_balls=tested is not None)
        if tested is not None:
            remark = f"hidden from this head alone: {share_of(tested)}"
            _add_remark(page, "; ".join(filter(None, (remark, _unusual(tested)))))
    page.blank()


def _question(head: HeadAttention, labels: BallLabels) -> str:
    if head.earned == "same_bowler":
        return f"how did {labels.bowler}'s earlier balls go?"
    if head.earned == "same_batsman":
        return f"how is {labels.batter} going?"
    return f"{head.question}?" if head.question else ""


def _add_title(
    page: Page, name: str, words: str, claim: Evidence | None, carries: str | None = None
) -> None:
    indent = min(max(_NAME_COLUMNS, 3 + display_width(name)), page.width - 2)
    title: Span = (pad(f"  {name}", indent), "name")
    page.flow([[(word, "")] for word in words.split()], indent=indent, gap=1, lead=[title])
    parts: list[Line] = [] if carries is None else [[(carries, "")]]
    if claim is not None and claim.verdict is not None:
        parts.append([(f"hidden: {before_after(claim)}", "")])
        inconclusive = claim.reference or claim.verdict == "cannot be told"
        if claim.q is not None and not inconclusive:
            parts.append([(f"q {claim.q:.2f}" if claim.q >= 0.005 else "q <.01", "quiet")])
    sign, verdict, style = verdict_of(claim) if claim else VERDICTS[None]
    page.flow([*parts, [(f"{sign} {verdict}", style)]], indent=4, gap=3)


_MATTERS: Final = {
    "happened": "the outcomes of these balls matter, not only the players",
    "played": "the players of these balls matter, not the outcomes",
}


def _unusual(claim: Evidence) -> str:
    parts = list(filter(None, [reason_of(claim)]))
    if claim.about is not None:
        parts.append(_MATTERS[claim.about])
    if claim.verdict == "supported" and claim.opposing:
        parts.append(f"{claim.opposing} of {len(claim.removed)} have the opposite effect")
    return "; ".join(parts)


def _add_remark(page: Page, remark: str) -> None:
    if remark:
        page.paragraph(remark, "quiet", indent=4)


def _add_balls(page: Page, head: HeadAttention, labels: BallLabels, *, all_balls: bool) -> None:
    balls = [
        labels.label(index, weight)
        for index, weight in zip(head.top_any, head.top_any_weights, strict=True)
    ] or [[("no ball", "quiet")]]
    while not all_balls and balls[1:] and sum(width_of(b) + 3 for b in balls) + 1 > page.width:
        balls.pop()
    page.flow(balls, indent=4, gap=3)


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
        lead=[("  Weights in the prediction  ", "heading")],
    )
    page.blank()
    for flag in explanation.flags:
        page.flag(flag.text)
    page.blank()
    direction = aim(explanation)
    outcome = OUTCOME_NAMES[explanation.prediction.subject].short
    explained = "" if direction is None else f" Claims say that balls {direction} P({outcome})."
    page.paragraph(f"{CAVEAT}{explained} {USUAL_WORDS}", "quiet")
