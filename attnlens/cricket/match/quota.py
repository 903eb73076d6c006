"""How many balls a side may face, and which part of an innings a ball is in."""

from __future__ import annotations

from typing import Final

from attnlens.cricket.match.match import Innings, Match

LIMITED: Final[dict[str, int]] = {"T20": 20, "IT20": 20, "ODI": 50, "ODM": 50}
"""Overs a side, by type of match."""

SUPER_OVER_BALLS: Final = 6


def quota_of(match: Match, innings: Innings) -> int | None:
    """Legal balls the side may face; ``None`` where the game has no limit."""
    if innings.super_over:
        return SUPER_OVER_BALLS
    if innings.target_balls:
        return innings.target_balls
    overs = match.overs or LIMITED.get(match.match_type or "", 0)
    if not overs and match.match_type is None and len(match.innings) <= 2:
        longest = max((ball.over for side in match.innings for ball in side.deliveries), default=0)
        overs = 20 if longest < 20 else 50 if longest < 50 else 0
    return overs * match.balls_per_over or None


def phase_of(legal_balls: int, quota: int | None) -> int:
    """0 powerplay, 1 middle, 2 death: thirty, sixty and thirty balls of 120.

    In a shortened or a longer innings the phases keep their proportions; without a
    quota every ball is a middle one.
    """
    if not quota:
        return 1
    share = legal_balls / quota
    return 0 if share < 0.3 else 1 if share < 0.75 else 2
