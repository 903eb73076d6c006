"""Heads and scales by name, what each looks at, and the balls before one as they see them."""

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
"""Scale to window: deliveries, the current one included; for ``long``, earlier overs."""

WINDOWED: Final = SCALE_NAMES[:4]
"""The scales of a window of balls or overs."""

RECENT: Final = SCALES["medium"] - 1
"""How many balls before the current one count as recent."""

SHORT_HISTORY: Final = 12
"""Fewer balls before the current one are few."""

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
    "same_over": "how has this over gone",
    "boundary": "which balls went for four or six",
    "same_matchup": "how have this batter and this bowler fared together",
    "same_stand": "how has this stand gone",
    "last_12": "how have the last 12 balls gone",
    "last_24": "how have the last 24 balls gone",
    UNNAMED: "free to learn its own",
}
"""The question that each relation answers, and that of a head without one."""

RELATION_BALLS: Final[dict[str, str]] = {
    "same_bowler": "this bowler's balls",
    "same_batsman": "this batter's balls",
    "same_matchup": "balls of this batter and this bowler",
    "same_stand": "balls of this stand",
    "last_12": "the last 12 balls",
    "last_24": "the last 24 balls",
    "over_boundary": "the first and last balls of overs",
    "wicket_adjacent": "wickets and the balls beside them",
    "boundary": "fours and sixes",
}
"""What a head that is restricted to a relation, or to the last balls, may look at."""

SCALE_QUESTIONS: Final[dict[str, str]] = {
    "micro": "the current over",
    "short": "recent momentum",
    "medium": "longer patterns and bowling changes",
    "long": "the shape of the innings",
    "whole": "one relation a head, over the whole innings",
}

SHARES: Final[tuple[str, ...]] = (
    *("same_over", "same_bowler", "same_batsman", "same_matchup"),
    *("boundary", "wicket_adjacent", "boundary_cluster", "over_boundary", "same_stand"),
)
"""Relations whose share of attention is compared with uniform attention's."""


class WindowBall(NamedTuple):
    """A ball before the current one, and which of `SHARES` it has to that."""

    index: int  # type: ignore[assignment]  # the tuple's own index is of no use here
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
    """``head_0_recency``, ``head_3_free``."""
    return f"head_{number}_{pattern or 'free'}"


def head_name(scale: str, number: int) -> str:
    """``whole 0``, a head among those of every scale."""
    return f"{scale} {number}"


def head_id(scale: str, number: int) -> str:
    """``whole-0``: `head_name` in an address."""
    return f"{scale}-{number}"


def relation_words(name: str) -> str:
    """``same batsman``."""
    return name.replace("_", " ")


def head_words(number: int, earned: str | None) -> str:
    """``head 2 (same batsman)``, or ``head 2`` where it has earned no name."""
    if earned is None or earned == UNSPECIALISED:
        return f"head {number}"
    return f"head {number} ({relation_words(earned)})"
