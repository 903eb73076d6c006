"""Where a match stands as a ball is bowled: figures, partnership, the balls just before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from attnlens.cricket.match.match import Delivery, Innings
from attnlens.cricket.match.scorecard import Batting, Bowling

LATEST: Final = 6
"""How many of the balls before are told."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The scorebook before a delivery.

    Attributes:
        batting, bowling: the lines of who faces and who bowls.
        partnership_runs, partnership_balls: since the last wicket; extras count as runs, and
            every delivery as a ball.
        over_runs: the runs of this over so far.
        latest: the last balls, oldest first, as `ball_sign` writes them.
        hat_trick: whether a wicket would be the bowler's third with three balls running.
    """

    batting: Batting
    bowling: Bowling
    partnership_runs: int
    partnership_balls: int
    over_runs: int
    latest: tuple[str, ...]
    hat_trick: bool


def standing_before(innings: Innings, ball: Delivery) -> Standing:
    """Where the innings stands before one of its deliveries."""
    before = innings.deliveries[: ball.index - 1]
    batting = Batting(ball.batter, 0)
    bowling = Bowling(ball.bowler, balls_per_over=innings.balls_per_over)
    runs = balls = over = 0
    for past in before:
        if past.batter.key == ball.batter.key:
            batting.add(past)
        if past.bowler.key == ball.bowler.key:
            bowling.add(past)
        runs, balls = runs + past.runs_total, balls + 1
        if any(wicket.counts for wicket in past.wickets):
            runs = balls = 0
        over += past.runs_total * (past.over == ball.over)
    own = [past for past in before if past.bowler.key == ball.bowler.key][-2:]
    return Standing(
        batting,
        bowling,
        runs,
        balls,
        over,
        tuple(ball_sign(past) for past in before[-LATEST:]),
        len(own) == 2 and all(past.bowlers_wickets for past in own),
    )


def ball_sign(ball: Delivery) -> str:
    """A past ball as a scorebook has it: ``4``, ``0``, ``W``, ``1W``, ``wd``, ``nb4``, ``2lb``."""
    runs = ball.runs_total
    if any(wicket.counts for wicket in ball.wickets):
        return "W" if not runs else f"{runs}W"
    if "wides" in ball.extras:
        return "wd" if runs == 1 else f"{runs}wd"
    if "noballs" in ball.extras:
        return "nb" if runs == 1 else f"nb{runs - 1}"
    if "legbyes" in ball.extras:
        return f"{runs}lb"
    if "byes" in ball.extras:
        return f"{runs}b"
    return str(runs)
