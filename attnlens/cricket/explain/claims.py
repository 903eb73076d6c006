"""What an explanation of a ball claims: by its heads, of kinds of balls, of what is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from attnlens.claims import claims
from attnlens.cricket.explain.heatmap import LISTED, RELATION_HEADS, ScaleAttention, ranked
from attnlens.cricket.explain.types import ClaimKind
from attnlens.cricket.match.outcomes import OUTCOME_INDEX
from attnlens.cricket.model.heads import RECENT, UNSPECIALISED, PastBall, Scale, head_key
from attnlens.cricket.model.window import BallWindow

BOUNDARY: Final = (OUTCOME_INDEX["4"], OUTCOME_INDEX["6"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(claims.Claim):
    """Something the explanation says, and the balls to hide to test it.

    ``removed`` and ``window`` are indices of balls in the innings, both empty for a claim
    about what was known.
    """

    kind: ClaimKind
    scale: Scale | None = None
    head: str | None = None


def names_of(balls: Sequence[PastBall]) -> str:
    """``ball 7.1`` or ``balls 6.2, 7.1``, oldest first."""
    labels = [ball.label for ball in sorted(balls, key=lambda ball: ball.index)]
    return f"ball{'s' * (len(labels) > 1)} {', '.join(labels)}"


def head_words(number: int, pattern: str | None, earned: str) -> str:
    """What to call a head: the name it has earned, else what it started as."""
    name = earned.replace("_", "-")
    if pattern is None:
        told = "" if earned == UNSPECIALISED else f" that earned the name {name}"
        return f"free head {number}{told}"
    start = pattern.replace("_", "-")
    if earned == pattern:
        return f"the {start} head"
    now = "" if earned == UNSPECIALISED else f", now {name}"
    return f"head {number} (started as {start}{now})"


def claims_of(window: BallWindow, scales: Mapping[str, ScaleAttention]) -> list[Claim]:
    """What is said of past balls: one claim per head that lists a ball, and two more.

    The heads of every scale, then this over's balls, then the last boundaries, which are
    said to raise the chance of another.
    """
    found = []
    for scale, attention in scales.items():
        inside = tuple(ball.index for ball in attention.balls)
        for number, pattern in enumerate(attention.patterns):
            order = ranked(attention.balls, attention.rows[number])
            related = pattern in RELATION_HEADS
            if related:
                order = [p for p in order if pattern in attention.balls[p].relations]
            listed = [attention.balls[place] for place in order[:LISTED]]
            if not listed:
                continue
            looked_at, keys = names_of(listed), len(attention.balls)
            named = len(listed)
            if scale == "long":
                # The head saw one summary of the over: its balls cannot be told apart.
                over = listed[0].over
                listed = [ball for ball in attention.balls if ball.over == over]
                looked_at = f"over {over} most ({names_of(listed)})"
                keys, named = len({ball.over for ball in attention.balls}), 1
            whose = head_words(number, pattern, attention.earned[number])
            if related:
                player = (
                    window.delivery.bowler if pattern == "same_bowler" else window.delivery.batter
                )
                whose = f"{whose}, {player.name}"
            weights = dict(
                zip((b.index for b in attention.balls), attention.rows[number], strict=True)
            )
            share = sum(weights[ball.index] for ball in listed) / sum(weights.values())
            found.append(
                Claim(
                    text=f"on the {scale} scale, {whose} looked at {looked_at}",
                    kind="head",
                    removed=tuple(ball.index for ball in listed),
                    window=inside,
                    matched=related,
                    lift=share * keys / named,
                    scale=attention.scale,
                    head=head_key(number, pattern),
                )
            )
    return [*found, *_of_kinds(window)]


def _of_kinds(window: BallWindow) -> list[Claim]:
    """Claims about balls that no head listed: this over's, and boundaries."""
    recent = window.past[-RECENT:]
    inside = tuple(ball.index for ball in recent)
    found = []
    this_over = [ball for ball in recent if "same_over" in ball.relations]
    if this_over:
        found.append(
            Claim(
                text=f"this over so far ({names_of(this_over)})",
                kind="this over",
                removed=tuple(ball.index for ball in this_over),
                window=inside,
            )
        )
    boundaries = [ball for ball in recent if ball.boundary][-LISTED:]
    if boundaries:
        one = len(boundaries) == 1
        found.append(
            Claim(
                text=f"the last {'boundary' if one else 'boundaries'} ({names_of(boundaries)}) "
                f"{'raises' if one else 'raise'} the chance of another",
                kind="boundaries",
                removed=tuple(ball.index for ball in boundaries),
                window=inside,
                matched=True,
                raises=BOUNDARY,
            )
        )
    return found
