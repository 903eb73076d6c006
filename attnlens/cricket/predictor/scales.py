"""The scales of attention to past balls, and names for attention heads and relations."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, get_args

from attnlens.cricket.match.match import Outcome

Scale = Literal["micro", "short", "medium", "long", "whole"]
SCALE_NAMES: Final[tuple[Scale, ...]] = get_args(Scale)

SCALES: Final[dict[str, int]] = {
    "micro": 6,
    "short": 12,
    "medium": 36,
    "long": 20,
    "whole": 10_000,
}
"""Each scale's window in deliveries, including the current delivery.

The window of ``long`` is in overs, but the model reads all earlier overs.
"""

WINDOWED: Final = SCALE_NAMES[:4]
"""The scales other than ``whole``."""

RECENT: Final = SCALES["medium"] - 1
"""The number of past balls that count as recent."""

SHORT_HISTORY: Final = 12
"""A ball with fewer past balls has a short history."""

UNNAMED: Final = "learned"
"""The pattern name for heads without a built-in pattern."""

UNSPECIALISED: Final = "unspecialised"
"""The name for heads whose measured behaviour matches no relation."""

QUESTIONS: Final[dict[str, str]] = {
    "recency": "where is the momentum now",
    "same_bowler": "how did this bowler's earlier balls go",
    "same_batsman": "how is this batter going",
    "over_boundary": "what happens when overs change",
    "wicket_adjacent": "what led to and followed wickets",
    "boundary_cluster": "where did boundaries come in clusters",
    "same_over": "how has this over gone",
    "boundary": "which balls went for four or six",
    "same_matchup": "how has this batter done against this bowler",
    "same_stand": "how has this stand gone",
    "last_12": "how have the last 12 balls gone",
    "last_24": "how have the last 24 balls gone",
    UNNAMED: "free to learn its own pattern",
}
"""The question that a head answers, for each relation. The last entry is for other heads."""

RELATION_BALLS: Final[dict[str, str]] = {
    "same_bowler": "this bowler's balls",
    "same_batsman": "this batter's balls",
    "same_matchup": "this bowler's balls to this batter",
    "same_stand": "balls of this stand",
    "last_12": "the last 12 balls",
    "last_24": "the last 24 balls",
    "over_boundary": "the first and last balls of overs",
    "wicket_adjacent": "wickets and the balls next to them",
    "boundary": "fours and sixes",
}
"""For each restriction, a phrase that describes the visible balls."""

SCALE_QUESTIONS: Final[dict[str, str]] = {
    "micro": "the current over",
    "short": "recent momentum",
    "medium": "longer patterns and bowling changes",
    "long": "the shape of the innings",
    "whole": "the whole innings, one relation for each head",
}

SHARES: Final[tuple[str, ...]] = (
    *("same_over", "same_bowler", "same_batsman", "same_matchup"),
    *("boundary", "wicket_adjacent", "boundary_cluster", "over_boundary", "same_stand"),
)
"""The relations for which attention is compared with uniform attention."""


class WindowBall(NamedTuple):
    """A past ball, and its relations to the current ball (only names in `SHARES`)."""

    index: int  # type: ignore[assignment]  # tuple.index is not needed here
    label: str
    over: int
    batter: str
    bowler: str
    outcome: Outcome
    runs: int
    runs_batter: int
    boundary: bool
    relations: frozenset[str]

    @property
    def wicket(self) -> bool:
        return self.outcome == "W"


def head_key(number: int, pattern: str | None) -> str:
    """Return a key such as ``head_0_recency`` or ``head_3_free``."""
    return f"head_{number}_{pattern or 'free'}"


def head_name(scale: str, number: int) -> str:
    """Return a unique name such as ``whole 0``."""
    return f"{scale} {number}"


def head_id(scale: str, number: int) -> str:
    """Return a unique name for URLs, such as ``whole-0``."""
    return f"{scale}-{number}"


_RELATION_WORDS: Final = {"same_batsman": "same batter", "over_boundary": "over change"}


def relation_words(name: str) -> str:
    """Return a relation's name in words, such as ``same batter``."""
    return _RELATION_WORDS.get(name, name.replace("_", " "))


def head_words(number: int, earned: str | None) -> str:
    """Return ``head 2 (same batter)``, or ``head 2`` if no relation describes the head."""
    if earned is None or earned == UNSPECIALISED:
        return f"head {number}"
    return f"head {number} ({relation_words(earned)})"
