"""What earlier balls do to the next one in a simulated match, and which balls those are.

The generator and `planted_balls` share one definition, so that what is said of
a match is what was done when it was drawn.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from attnlens.cricket.match import Delivery, Match, Player
from attnlens.cricket.naming import innings_numbered
from attnlens.cricket.readers.csv2_writer import write_rows

OVERS: Final = 20
BALLS_PER_OVER: Final = 6

_CHASE_RANGE = (-1.0, 2.0)


@dataclass(frozen=True)
class Coefficients:
    """How much earlier balls change the next one, in log-odds; 0 plants nothing.

    Attributes:
        settled: on a batter with ``settled_balls`` faced (fewer count in
            proportion): more fours and sixes, fewer wickets.
        bowler_hit: for each boundary, at most ``bowler_hit_most``, among the
            bowler's last ``bowler_hit_window`` deliveries: more boundaries and wides.
        wicket_fallen: for a wicket among the last ``wicket_window`` deliveries of
            the innings: more dots, fewer boundaries.
        free_hit: on the ball after a no-ball: more sixes, few wickets (three
            times this in log-odds).
        chase: for each ``chase_step`` runs an over by which the required rate is
            above ``chase_rate``: more sixes and wickets, fewer dots.
    """

    settled: float = 0.5
    settled_balls: int = 20
    bowler_hit: float = 0.35
    bowler_hit_most: int = 3
    bowler_hit_window: int = 6
    wicket_fallen: float = 0.7
    wicket_window: int = 6
    free_hit: float = 0.9
    chase: float = 0.5
    chase_rate: float = 8.0
    chase_step: float = 4.0


@dataclass(frozen=True)
class Situation:
    """What of the past bears on the next ball, by coefficient.

    Attributes:
        amounts: how much, in log-odds, 0 where the cause is absent.
        balls: the earlier balls that are the cause, by position in the innings.
    """

    amounts: Mapping[str, float]
    balls: Mapping[str, tuple[int, ...]]


def situation_of(
    past: Sequence[Delivery],
    batter: Player,
    bowler: Player,
    target: int | None,
    size: Coefficients,
) -> Situation:
    """The causes that bear on the ball after ``past``; ``target`` is that of a chase."""
    faced = [ball.index for ball in past if ball.batter == batter and "wides" not in ball.extras]
    spell = [ball for ball in past if ball.bowler == bowler][-size.bowler_hit_window :]
    hit = [ball.index for ball in spell if ball.boundary][-size.bowler_hit_most :]
    recent = past[-size.wicket_window :] if size.wicket_window else ()
    fallen = [ball.index for ball in recent if any(wicket.counts for wicket in ball.wickets)]
    free_hit = _free_hit(past)
    settled = min(len(faced) / max(size.settled_balls, 1), 1.0)
    return Situation(
        amounts={
            "settled": size.settled * settled,
            "bowler_hit": size.bowler_hit * len(hit),
            "wicket_fallen": size.wicket_fallen if fallen else 0.0,
            "free_hit": size.free_hit if free_hit else 0.0,
            "chase": size.chase * _chase_pressure(past, target, size),
        },
        balls={
            "settled": tuple(faced),
            "bowler_hit": tuple(hit),
            "wicket_fallen": tuple(fallen),
            "free_hit": free_hit,
        },
    )


def _free_hit(past: Sequence[Delivery]) -> tuple[int, ...]:
    for ball in reversed(past):
        if "noballs" in ball.extras:
            return (ball.index,)
        # A wide does not use the free hit up.
        if "wides" not in ball.extras:
            return ()
    return ()


def _chase_pressure(past: Sequence[Delivery], target: int | None, size: Coefficients) -> float:
    if target is None:
        return 0.0
    score = past[-1].score_before + past[-1].runs_total if past else 0
    bowled = past[-1].legal_balls_before + past[-1].is_legal if past else 0
    balls_left = max(OVERS * BALLS_PER_OVER - bowled, 1)
    required = BALLS_PER_OVER * (target - score) / balls_left
    low, high = _CHASE_RANGE
    return min(max((required - size.chase_rate) / size.chase_step, low), high)


def planted_balls(
    match: Match, innings: int, index: int, coefficients: Coefficients | None = None
) -> dict[str, tuple[int, ...]]:
    """The earlier balls on which one simulated ball depends, by coefficient.

    Chase pressure depends on the scoreboard and is not among them; nor is a
    coefficient of 0.

    Args:
        match: from `simulate_match` with the same ``coefficients``.
        index: the ball's position in the innings, from 1.

    Raises:
        BallNotFoundError: the match has no such innings.
        IndexError: the innings has no such ball.
    """
    size = coefficients or Coefficients()
    chosen = innings_numbered(match, innings)
    if not 1 <= index <= len(chosen.deliveries):
        raise IndexError(f"innings {innings} has {len(chosen.deliveries)} deliveries, not {index}")
    ball = chosen.deliveries[index - 1]
    past = chosen.deliveries[: index - 1]
    situation = situation_of(past, ball.batter, ball.bowler, chosen.target, size)
    return {
        name: balls for name, balls in situation.balls.items() if balls and situation.amounts[name]
    }


def write_planted(
    match: Match, path: str | os.PathLike[str], coefficients: Coefficients | None = None
) -> None:
    """Write what each ball depends on to ``<stem>_planted.csv`` beside the match at ``path``.

    One row per ball, cause and earlier ball: ``match_id, innings, index, cause,
    past_ball``. ``read_matches`` passes such files over.

    Raises:
        InputError: the file cannot be written.
    """
    rows = [("match_id", "innings", "index", "cause", "past_ball")]
    for innings in match.innings:
        for ball in innings.deliveries:
            causes = planted_balls(match, innings.number, ball.index, coefficients)
            rows += [
                (match.match_id, str(innings.number), str(ball.index), cause, str(past))
                for cause, balls in causes.items()
                for past in balls
            ]
    target = Path(path)
    write_rows(target.with_name(f"{target.stem}_planted.csv"), rows)
