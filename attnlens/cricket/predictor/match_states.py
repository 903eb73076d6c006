"""States of a match in numbers: before each ball, and after each outcome it may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from attnlens.arrays import Floats
from attnlens.cricket.match.match import Innings, Match
from attnlens.cricket.match.next_ball import ALL_OUT
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.match.quota import quota_of

RUNS: Final = np.array([0, 1, 2, 3, 4, 5, 6, 0, 1, 1, 1], float)
"""Runs that each outcome brings, by `OUTCOMES`; extras as they mostly are."""

LEGAL: Final = np.array([outcome not in ("wd", "nb") for outcome in OUTCOMES])
FALLEN: Final = np.array([outcome == "W" for outcome in OUTCOMES], float)

LONGEST: Final = 120
"""Legal balls of the longest innings whose states have a value: twenty overs."""


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """States of an innings, arrays of one shape.

    Attributes:
        score: runs so far.
        left: legal balls left.
        wickets: wickets in hand.
    """

    score: Floats
    left: Floats
    wickets: Floats

    def after(self) -> States:
        """After each outcome: one axis more at the end, of `OUTCOMES`."""
        return States(
            self.score[..., None] + RUNS,
            np.maximum(self.left[..., None] - LEGAL, 0),
            np.maximum(self.wickets[..., None] - FALLEN, 0),
        )


@dataclass(frozen=True, slots=True)
class Contest:
    """What an innings is played for.

    Attributes:
        chase: whether the side bats second.
        target: runs it needs to win; in a first innings 0.
        quota: legal balls of the innings.
    """

    chase: bool
    target: float
    quota: float


def contest_of(match: Match, innings: Innings) -> Contest | None:
    """What an innings is played for; ``None`` where the rules do not tell who wins how.

    That is in unlimited cricket, in innings of more than `LONGEST` balls (no such value was ever
    fitted or judged), in a super over, and in a chase whose target the file lacks or has from
    later.
    """
    quota = quota_of(match, innings)
    if not quota or quota > LONGEST or innings.super_over or innings.number > 2:
        return None
    if innings.number == 1:
        return Contest(chase=False, target=0.0, quota=float(quota))
    if innings.target is None or innings.set_later:
        return None
    return Contest(chase=True, target=float(innings.target), quota=float(quota))


def states_before(innings: Innings, quota: float) -> States:
    """The state before every delivery, arrays ``(deliveries,)``."""
    balls = innings.deliveries
    return States(
        np.array([ball.score_before for ball in balls], float),
        np.array([max(quota - ball.legal_balls_before, 1) for ball in balls], float),
        np.array([max(ALL_OUT - ball.wickets_before, 1) for ball in balls], float),
    )


def states_then(innings: Innings, quota: float) -> States:
    """The state that every delivery left, arrays ``(deliveries,)``."""
    balls = innings.deliveries
    fallen = [sum(wicket.counts for wicket in ball.wickets) for ball in balls]
    lost = [ball.wickets_before + more for ball, more in zip(balls, fallen, strict=True)]
    return States(
        np.array([ball.score_before + ball.runs_total for ball in balls], float),
        np.array(
            [max(quota - ball.legal_balls_before - ball.is_legal, 0) for ball in balls], float
        ),
        np.array([max(ALL_OUT - wickets, 0) for wickets in lost], float),
    )


def won(match: Match, team: str) -> float | None:
    """1 where the side won, 0 where it lost, a half after a tie; ``None`` where neither is told.

    A match that rain decided is left out: its winner was not the one of the state.
    """
    outcome = match.outcome
    if outcome.get("method"):
        return None
    if outcome.get("result") == "tie":
        return 0.5
    winner = outcome.get("winner")
    return None if winner is None else float(winner == team)
