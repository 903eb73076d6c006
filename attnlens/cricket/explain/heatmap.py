"""The heat map of one scale: which past balls each head looked at, in the fixed format.

Plain numbers in, plain data out; no tensor, no model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from attnlens.cricket.explain.attention_types import (
    AggregateAttention,
    AnyHead,
    AnyLongHead,
    BatsmanHead,
    BowlerHead,
    Head,
    HeatMap,
    LongBatsmanHead,
    LongBowlerHead,
    LongHead,
    LongHeatMap,
    RelationShare,
)
from attnlens.cricket.predictor.heads import (
    QUESTIONS,
    SCALE_QUESTIONS,
    SHARES,
    UNNAMED,
    UNSPECIALISED,
    PastBall,
    Scale,
    head_key,
)
from attnlens.render.numbers import rounded

LISTED: Final = 4
"""At most this many balls are listed per head."""

NATS_DIGITS: Final = 9
"""Decimals of effects, in nats."""

RELATION_HEADS: Final = ("same_bowler", "same_batsman")
"""What heads start as that list the ball they looked at most, and balls of their own player."""


@dataclass(frozen=True, slots=True)
class ScaleAttention:
    """What one scale paid attention to, of past ``balls``, oldest first.

    Attributes:
        rows: one per head: the weight of each ball; ``own``: its weight on the current ball itself.
        patterns: what each head started as, ``None`` for a free head.
        earned: the name each head has earned, or ``unspecialised``.
        bias_shares: how much of each head's preference among balls is built-in bias.
        over_weights: for the long scale, per head the weight of each over.
    """

    scale: Scale
    current: int
    balls: Sequence[PastBall]
    rows: Sequence[Sequence[float]]
    own: Sequence[float]
    patterns: Sequence[str | None]
    earned: Sequence[str]
    bias_shares: Sequence[float | None]
    over_weights: Sequence[Mapping[int, float]] | None = None


def ranked(balls: Sequence[PastBall], row: Sequence[float]) -> list[int]:
    """Positions by weight, the later ball first where two weigh the same; none of weight 0."""
    order = sorted(range(len(balls)), key=lambda place: (-row[place], -balls[place].index))
    return [place for place in order if rounded(row[place]) > 0]


def aggregate(attention: ScaleAttention) -> AggregateAttention:
    """The mean over heads, renormalised over past balls, each ball under the first that fits."""
    parts = dict.fromkeys(AggregateAttention.model_fields, 0.0)
    for place, ball in enumerate(attention.balls):
        fitting = (name for name in RELATION_HEADS if name in ball.relations)
        part: str = next(fitting, "boundaries" if ball.boundary else "other")
        part = "last_over" if "same_over" in ball.relations else part
        parts[part] += sum(row[place] for row in attention.rows)
    total = sum(parts.values()) or 1.0
    return AggregateAttention(**{name: rounded(part / total) for name, part in parts.items()})


def shares(attention: ScaleAttention) -> tuple[RelationShare, ...]:
    """Each relation's share of past attention beside what uniform attention would give."""
    total = sum(sum(row) for row in attention.rows)
    table = []
    for relation in SHARES:
        places = [p for p, ball in enumerate(attention.balls) if relation in ball.relations]
        uniform = len(places) / len(attention.balls) if attention.balls else 0.0
        paid = sum(row[place] for row in attention.rows for place in places)
        share = paid / total if total else 0.0
        table.append(
            RelationShare(
                relation=relation,
                share=rounded(min(share, 1.0)),
                uniform=rounded(uniform),
                ratio=rounded(share / uniform) if uniform and total else None,
            )
        )
    return tuple(table)


def note_on(balls: Sequence[PastBall]) -> str | None:
    """What all listed balls have in common, if there are at least two and they do."""
    if len(balls) < 2:
        return None
    traits: tuple[tuple[str, Callable[[PastBall], bool]], ...] = (
        ("all were boundaries", lambda ball: ball.boundary),
        ("all were dot balls", lambda ball: ball.runs == 0 and not ball.wicket),
        ("all in this over", lambda ball: "same_over" in ball.relations),
        ("each a wicket or next to one", lambda ball: "wicket_adjacent" in ball.relations),
    )
    return next((text for text, holds in traits if all(map(holds, balls))), None)


def heat_map(
    attention: ScaleAttention,
    *,
    bowler: str,
    batter: str,
    effects: Mapping[int, float] | None = None,
) -> HeatMap | LongHeatMap:
    """The inner heat map of what the heads of one scale looked at.

    ``bowler`` and ``batter`` are of the current ball. ``effects`` are nats that hiding a ball alone
    does, by its index; ``None`` where they were not measured.
    """
    balls = attention.balls
    kind = LongHeatMap if attention.over_weights is not None else HeatMap
    return kind.model_validate(
        {
            "scale": attention.scale,
            "current_ball": attention.current,
            "sequence_range": (balls[0].index if balls else attention.current, attention.current),
            "question": SCALE_QUESTIONS[attention.scale],
            "attention_by_head": {
                head_key(number, pattern): _head(attention, number, bowler, batter, effects)
                for number, pattern in enumerate(attention.patterns)
            },
            "aggregate_attention": aggregate(attention),
            "shares": shares(attention),
            "balls": [ball.index for ball in balls],
            "ball_labels": [ball.label for ball in balls],
            "ball_outcomes": [ball.outcome for ball in balls],
        }
    )


def _head(
    attention: ScaleAttention,
    number: int,
    bowler: str,
    batter: str,
    effects: Mapping[int, float] | None,
) -> AnyHead | AnyLongHead:
    """One head of a scale; of a type that has a key for its player, or for its overs."""
    pattern, row, balls = attention.patterns[number], attention.rows[number], attention.balls
    order = ranked(balls, row)
    related = [
        place
        for place in order
        if place == order[0] or pattern not in RELATION_HEADS or pattern in balls[place].relations
    ]
    top = [balls[place] for place in related[:LISTED]]
    earned = attention.earned[number]
    bias = attention.bias_shares[number]
    fields = {
        "pattern": pattern or UNNAMED,
        "question": QUESTIONS.get(earned),
        "top_balls": [ball.index for ball in top],
        "weights": [rounded(row[place]) for place in related[:LISTED]],
        "outcomes": [ball.outcome for ball in top],
        "labels": [ball.label for ball in top],
        "effects": [
            None if effects is None else rounded(effects[ball.index], NATS_DIGITS) for ball in top
        ],
        "top_any": [balls[place].index for place in order[:LISTED]],
        "top_any_weights": [rounded(row[place]) for place in order[:LISTED]],
        "self_attention": rounded(attention.own[number]),
        "past_attention": rounded(min(sum(row), 1.0)),
        "row": [rounded(weight) for weight in row],
        "earned": None if earned == UNSPECIALISED else earned,
        "started_as": pattern,
        "note": note_on(top),
        "bias_share": None if bias is None else rounded(bias),
    }
    if attention.over_weights is not None:
        overs = sorted(
            attention.over_weights[number].items(), key=lambda item: (-item[1], -item[0])
        )
        best = [(over, rounded(weight)) for over, weight in overs[:LISTED] if rounded(weight) > 0]
        fields |= {
            "top_overs": [over for over, _ in best],
            "top_over_weights": [weight for _, weight in best],
        }
    long = attention.over_weights is not None
    if pattern == "same_bowler":
        bowlers = LongBowlerHead if long else BowlerHead
        return bowlers.model_validate(fields | {"bowler": bowler})
    if pattern == "same_batsman":
        batters = LongBatsmanHead if long else BatsmanHead
        return batters.model_validate(fields | {"batsman": batter})
    return (LongHead if long else Head).model_validate(fields)
