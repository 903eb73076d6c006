"""Heads and scales by name, what each looks at, and the balls before one as they see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from attnlens.cricket.match.outcomes import Outcome

Scale = Literal["micro", "short", "medium", "long"]
SCALE_NAMES: Final[tuple[Scale, ...]] = get_args(Scale)

SCALES: Final[dict[str, int]] = {"micro": 6, "short": 12, "medium": 36, "long": 20}
"""Scale to window: deliveries, the current one included; for ``long``, earlier overs."""

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
    *("same_over", "same_bowler", "same_batsman", "same_matchup"),
    *("boundary", "wicket_adjacent", "boundary_cluster", "over_boundary"),
)
"""Relations whose share of attention is compared with uniform attention's."""


@dataclass(frozen=True, slots=True)
class WindowBall:
    """A ball before the current one, and which of `SHARES` it has to that."""

    index: int
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


def head_words(number: int, earned: str | None) -> str:
    """``head 2 (same batsman)``, or ``head 2`` where it has earned no name."""
    if earned is None or earned == UNSPECIALISED:
        return f"head {number}"
    return f"head {number} ({earned.replace('_', ' ')})"
