"""The eleven things that can happen on a ball, and the rule that decides which did."""

from __future__ import annotations

from typing import Final, Literal, get_args

Outcome = Literal["0", "1", "2", "3", "4", "5", "6", "W", "wd", "nb", "bye"]

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
"""The classes the models predict, in the order of every probability vector."""

OUTCOME_INDEX: Final[dict[str, int]] = {name: position for position, name in enumerate(OUTCOMES)}

CALLED: Final[dict[str, Outcome]] = {
    **{"dot": "0", "single": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6"},
    **{"wicket": "W", "w": "W", "wide": "wd", "no-ball": "nb", "byes": "bye", "leg byes": "bye"},
}
"""What outcomes are called, beside their codes."""

UNCOUNTED_WICKETS: Final[frozenset[str]] = frozenset({"retired hurt", "retired not out"})
"""Ways to leave the field that are not a wicket (Laws of Cricket, 25.4)."""

NOT_THE_BOWLERS: Final[frozenset[str]] = UNCOUNTED_WICKETS | {
    "run out",
    "retired out",
    "obstructing the field",
    "handled the ball",
    "hit the ball twice",
    "timed out",
}
"""Dismissals that are not credited to the bowler."""


def classify(
    *, runs_batter: int, wides: int, noballs: int, byes: int, legbyes: int, counted_wicket: bool
) -> str:
    """The outcome class of one delivery.

    A counted wicket comes first; else a wide; else a no-ball; else runs off the
    bat (7 or more count as 6); else ``bye`` when byes or leg byes ran; else ``0``.
    """
    if counted_wicket:
        return "W"
    if wides:
        return "wd"
    if noballs:
        return "nb"
    if runs_batter:
        return str(min(runs_batter, 6))
    if byes or legbyes:
        return "bye"
    return "0"


def outcome_called(name: str) -> str:
    """An outcome's code by what it is called: ``six`` is ``6``; any other name stays."""
    return name if name in OUTCOME_INDEX else CALLED.get(name.strip().lower(), name)
