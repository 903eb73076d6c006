"""The heat map of one scale: which past balls each head looked at, in the fixed format.

Plain numbers in, plain data out; no tensor, no model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

LISTED: Final = 4
"""At most this many balls are listed per head."""

UNNAMED: Final = "learned"
"""The pattern of a head that started without one."""

UNSPECIALISED: Final = "unspecialised"
"""What a head is called that has earned no name."""

QUESTIONS: Final[dict[str, str]] = {
    "recency": "where is the momentum now",
    "same_bowler": "how did this bowler's earlier balls go",
    "same_batsman": "how is this batter going",
    "over_boundary": "what happens when overs change",
    "wicket_adjacent": "what led to and followed wickets",
    "boundary_cluster": "where did boundaries come in clusters",
    "same_over": "what happened earlier in this over",
    "boundary": "which balls went for four or six",
    "same_matchup": "how have this batter and this bowler fared together",
    UNNAMED: "free to learn its own",
}
"""The question that each relation answers, and that of a head without one."""

SCALE_QUESTIONS: Final[dict[str, str]] = {
    "micro": "the current over",
    "short": "recent momentum",
    "medium": "longer patterns and bowling changes",
    "long": "the shape of the innings",
}

SHARES: Final[tuple[str, ...]] = (
    "same_over",
    "same_bowler",
    "same_batsman",
    "same_matchup",
    "boundary",
    "wicket_adjacent",
    "boundary_cluster",
    "over_boundary",
)
"""Relations whose share of attention is compared with uniform attention's."""


@dataclass(frozen=True, slots=True)
class PastBall:
    """A ball before the current one.

    ``relations`` says which of `SHARES` it has to the current ball.
    """

    index: int
    label: str
    over: int
    batter: str
    bowler: str
    outcome: str
    runs: int
    runs_batter: int
    boundary: bool
    relations: frozenset[str]

    @property
    def wicket(self) -> bool:
        return self.outcome == "W"


@dataclass(frozen=True, slots=True)
class ScaleAttention:
    """What one scale paid attention to.

    Attributes:
        balls: the past balls the scale could see, oldest first.
        rows: one row per head: the weight of each ball, parallel to ``balls``.
        own: each head's weight on the current ball itself.
        patterns: what each head started as, ``None`` for a free head.
        earned: the name each head has earned, or ``unspecialised``.
        bias_shares: how much of each head's preference among balls is built-in bias.
        over_weights: for the long scale, per head the weight of each over.
    """

    scale: str
    current: int
    balls: Sequence[PastBall]
    rows: Sequence[Sequence[float]]
    own: Sequence[float]
    patterns: Sequence[str | None]
    earned: Sequence[str]
    bias_shares: Sequence[float | None]
    over_weights: Sequence[Mapping[int, float]] | None = None


def rounded(value: float, digits: int = 6) -> float:
    """Rounded once, at the boundary, and never minus zero."""
    return round(value, digits) + 0.0


def head_key(number: int, pattern: str | None) -> str:
    """``head_0_recency``, ``head_3_free``."""
    return f"head_{number}_{pattern or 'free'}"


def ranked(balls: Sequence[PastBall], row: Sequence[float]) -> list[int]:
    """Positions by weight, the later ball first where two weigh the same; none of weight 0."""
    order = sorted(range(len(balls)), key=lambda place: (-row[place], -balls[place].index))
    return [place for place in order if rounded(row[place]) > 0]


def aggregate(attention: ScaleAttention) -> dict[str, float]:
    """The mean over heads, renormalised over past balls, each ball under the first that fits."""
    fits: tuple[tuple[str, Callable[[PastBall], bool]], ...] = (
        ("last_over", lambda ball: "same_over" in ball.relations),
        ("same_bowler", lambda ball: "same_bowler" in ball.relations),
        ("same_batsman", lambda ball: "same_batsman" in ball.relations),
        ("boundaries", lambda ball: ball.boundary),
        ("other", lambda _: True),
    )
    parts = dict.fromkeys((name for name, _ in fits), 0.0)
    for place, ball in enumerate(attention.balls):
        name = next(name for name, test in fits if test(ball))
        parts[name] += sum(row[place] for row in attention.rows)
    total = sum(parts.values())
    return {name: rounded(part / total) if total else 0.0 for name, part in parts.items()}


def shares(attention: ScaleAttention) -> list[dict[str, Any]]:
    """Each relation's share of past attention beside what uniform attention would give."""
    total = sum(sum(row) for row in attention.rows)
    table = []
    for relation in SHARES:
        places = [p for p, ball in enumerate(attention.balls) if relation in ball.relations]
        uniform = len(places) / len(attention.balls) if attention.balls else 0.0
        paid = sum(row[place] for row in attention.rows for place in places)
        share = paid / total if total else 0.0
        table.append(
            {
                "relation": relation,
                "share": rounded(min(share, 1.0)),
                "uniform": rounded(uniform),
                "ratio": rounded(share / uniform) if uniform and total else None,
            }
        )
    return table


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
) -> dict[str, Any]:
    """The inner heat map of one scale.

    Args:
        attention: what the scale's heads looked at.
        bowler, batter: of the current ball.
        effects: ball index to what hiding that ball alone does, nats; ``None`` where it
            was not measured.
    """
    balls = attention.balls
    first = balls[0].index if balls else attention.current
    heads = {
        head_key(number, pattern): _head(attention, number, pattern, bowler, batter, effects)
        for number, pattern in enumerate(attention.patterns)
    }
    return {
        "scale": attention.scale,
        "current_ball": attention.current,
        "sequence_range": [first, attention.current],
        "question": SCALE_QUESTIONS[attention.scale],
        "attention_by_head": heads,
        "aggregate_attention": aggregate(attention),
        "shares": shares(attention),
        "balls": [ball.index for ball in balls],
        "ball_labels": [ball.label for ball in balls],
        "ball_outcomes": [ball.outcome for ball in balls],
    }


def _head(
    attention: ScaleAttention,
    number: int,
    pattern: str | None,
    bowler: str,
    batter: str,
    effects: Mapping[int, float] | None,
) -> dict[str, Any]:
    balls, row = attention.balls, attention.rows[number]
    order = ranked(balls, row)
    within = order
    named: dict[str, str] = {}
    if pattern in ("same_bowler", "same_batsman"):
        within = [place for place in order if pattern in balls[place].relations]
        named = {"bowler": bowler} if pattern == "same_bowler" else {"batsman": batter}
    top = [balls[place] for place in within[:LISTED]]
    kind = pattern or UNNAMED
    head: dict[str, Any] = {
        "pattern": kind,
        "question": QUESTIONS[kind],
        **named,
        "top_balls": [ball.index for ball in top],
        "weights": [rounded(row[place]) for place in within[:LISTED]],
        "outcomes": [ball.outcome for ball in top],
        "labels": [ball.label for ball in top],
        "effects": [None if effects is None else rounded(effects[ball.index], 9) for ball in top],
    }
    if attention.over_weights is not None:
        overs = sorted(
            attention.over_weights[number].items(), key=lambda item: (-item[1], -item[0])
        )
        best = [(over, rounded(weight)) for over, weight in overs[:LISTED] if rounded(weight) > 0]
        head["top_overs"] = [over for over, _ in best]
        head["top_over_weights"] = [weight for _, weight in best]
    bias = attention.bias_shares[number]
    head |= {
        "top_any": [balls[place].index for place in order[:LISTED]],
        "top_any_weights": [rounded(row[place]) for place in order[:LISTED]],
        "self_attention": rounded(attention.own[number]),
        "past_attention": rounded(min(sum(row), 1.0)),
        "row": [rounded(weight) for weight in row],
        "earned": attention.earned[number],
        "note": note_on(top),
        "bias_share": None if bias is None else rounded(bias),
    }
    return head
