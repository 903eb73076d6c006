"""What earlier balls do to the next one in a simulated match, and which balls those are.

The generator, the fit to real matches and `planted_balls` share one definition,
so that what is said of a match is what was done when it was drawn.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from attnlens.cricket.match.match import Delivery, Match, Player
from attnlens.cricket.match.naming import innings_numbered
from attnlens.cricket.simulator.rates import STRENGTHS

OVERS: Final = 20
BALLS_PER_OVER: Final = 6

PLANTED: Final = (
    "settled",
    "batter_hit",
    "bowler_hit",
    "bowler_wide",
    "dots",
    "wicket_fallen",
    "free_hit",
)
"""Causes that are particular earlier balls."""

CHASING: Final = ("chase", "out_of_reach")
"""Causes that only a side with a target knows."""

SCOREBOARD: Final = (*CHASING, "wickets_down")
"""Causes that are the state of the innings, whichever balls brought it about."""

CAUSES: Final = PLANTED + SCOREBOARD

SETTLED_BALLS: Final = 20
WINDOW: Final = 6
MOST_HITS: Final = 3
MOST_WIDES: Final = 2
MOST_DOTS: Final = 6
CHASE_RATE: Final = 8.0
CHASE_STEP: Final = 4.0
CHASE_RANGE: Final = (-1.0, 1.5)
OUT_OF_REACH_RATE: Final = 14.0
MOST_OUT_OF_REACH: Final = 3.0


@dataclass(frozen=True)
class Coefficients:
    """How strongly earlier balls change the next one; 0 switches a cause off.

    A strength is the change in log-odds, for one unit of the cause, of the outcome
    that the cause moves most; `attnlens.cricket.simulator.rates.DIRECTIONS` has the
    others in proportion. The defaults are those of real T20 internationals.

    Attributes:
        settled: this batter has faced balls; a unit is `SETTLED_BALLS` of them, and
            fewer count in proportion.
        batter_hit: each four or six, at most `MOST_HITS`, among the last `WINDOW`
            balls that this batter faced.
        bowler_hit: each four or six, at most `MOST_HITS`, among the last `WINDOW`
            deliveries of this bowler.
        bowler_wide: each wide, at most `MOST_WIDES`, among the same deliveries.
        dots: each dot ball, at most `MOST_DOTS`, in the run of them that leads up
            to this ball.
        wicket_fallen: a wicket among the last `WINDOW` deliveries of the innings.
        free_hit: the ball after a no-ball. While it is not 0 the law on free hits
            holds: only a run out is possible.
        chase: each `CHASE_STEP` runs an over by which the required rate is above
            `CHASE_RATE`, within `CHASE_RANGE`.
        out_of_reach: each `CHASE_STEP` by which it is above `OUT_OF_REACH_RATE`, at
            most `MOST_OUT_OF_REACH`: sides give up.
        wickets_down: each wicket lost in the innings so far.
    """

    settled: float = STRENGTHS["settled"]
    batter_hit: float = STRENGTHS["batter_hit"]
    bowler_hit: float = STRENGTHS["bowler_hit"]
    bowler_wide: float = STRENGTHS["bowler_wide"]
    dots: float = STRENGTHS["dots"]
    wicket_fallen: float = STRENGTHS["wicket_fallen"]
    free_hit: float = STRENGTHS["free_hit"]
    chase: float = STRENGTHS["chase"]
    out_of_reach: float = STRENGTHS["out_of_reach"]
    wickets_down: float = STRENGTHS["wickets_down"]

    def times(self, strength: float) -> Coefficients:
        """The same with every cause of `PLANTED` as many times as strong."""
        return dataclasses.replace(
            self, **{cause: strength * getattr(self, cause) for cause in PLANTED}
        )

    def by_cause(self) -> dict[str, float]:
        """The strengths by the causes' names."""
        return {cause: getattr(self, cause) for cause in CAUSES}


@dataclass(frozen=True)
class Situation:
    """What of the past bears on the next ball.

    Attributes:
        units: how much of each cause there is, 0 where it is absent.
        balls: the earlier balls that are the cause, by position in the innings;
            the causes of `PLANTED` only.
    """

    units: Mapping[str, float]
    balls: Mapping[str, tuple[int, ...]]


class Past:
    """The deliveries of an innings so far, as the causes see them.

    Args:
        target: runs to win, in a chase.
        balls: legal balls that the side has in all.
    """

    def __init__(self, target: int | None, balls: int = OVERS * BALLS_PER_OVER) -> None:
        self._target = target
        self._balls = balls
        self._faced: dict[Player, list[int]] = {}
        self._batters: dict[Player, deque[Delivery]] = {}
        self._bowlers: dict[Player, deque[Delivery]] = {}
        self._recent: deque[Delivery] = deque(maxlen=WINDOW)
        self._dots: deque[int] = deque(maxlen=MOST_DOTS)
        self._free_hit: tuple[int, ...] = ()
        self._score = 0
        self._legal = 0
        self._wickets = 0

    def add(self, ball: Delivery) -> None:
        """Take in the next delivery."""
        wide = "wides" in ball.extras
        if not wide:
            self._faced.setdefault(ball.batter, []).append(ball.index)
            self._batters.setdefault(ball.batter, deque(maxlen=WINDOW)).append(ball)
        self._bowlers.setdefault(ball.bowler, deque(maxlen=WINDOW)).append(ball)
        self._recent.append(ball)
        if ball.outcome == "0":
            self._dots.append(ball.index)
        else:
            self._dots.clear()
        if "noballs" in ball.extras:
            self._free_hit = (ball.index,)
        elif not wide:
            # A wide does not use the free hit up.
            self._free_hit = ()
        self._score += ball.runs_total
        self._legal += ball.is_legal
        self._wickets += sum(wicket.counts for wicket in ball.wickets)

    def situation(self, batter: Player, bowler: Player) -> Situation:
        """The causes that bear on the next ball."""
        faced = self._faced.get(batter, ())
        spell = self._bowlers.get(bowler, ())
        balls = {
            "settled": tuple(faced),
            "batter_hit": _hits(self._batters.get(batter, ())),
            "bowler_hit": _hits(spell),
            "bowler_wide": tuple(b.index for b in spell if "wides" in b.extras)[-MOST_WIDES:],
            "dots": tuple(self._dots),
            "wicket_fallen": tuple(
                b.index for b in self._recent if any(wicket.counts for wicket in b.wickets)
            ),
            "free_hit": self._free_hit,
        }
        units = {cause: float(len(past)) for cause, past in balls.items()}
        units["settled"] = min(len(faced) / SETTLED_BALLS, 1.0)
        units["wicket_fallen"] = float(bool(balls["wicket_fallen"]))
        units["chase"], units["out_of_reach"] = self._pressure()
        units["wickets_down"] = float(self._wickets)
        return Situation(units, balls)

    def _pressure(self) -> tuple[float, float]:
        if self._target is None:
            return 0.0, 0.0
        balls_left = max(self._balls - self._legal, 1)
        required = BALLS_PER_OVER * (self._target - self._score) / balls_left
        low, high = CHASE_RANGE
        beyond = max((required - OUT_OF_REACH_RATE) / CHASE_STEP, 0.0)
        return (
            min(max((required - CHASE_RATE) / CHASE_STEP, low), high),
            min(beyond, MOST_OUT_OF_REACH),
        )


def _hits(balls: deque[Delivery] | tuple[()]) -> tuple[int, ...]:
    return tuple(ball.index for ball in balls if ball.boundary)[-MOST_HITS:]


def planted_balls(
    match: Match, innings: int, index: int, coefficients: Coefficients | None = None
) -> dict[str, tuple[int, ...]]:
    """The earlier balls on which one simulated ball depends, by cause.

    The scoreboard's causes name no balls and are not among them; nor is a cause
    whose strength is 0.

    Args:
        match: from `simulate_match` with the same ``coefficients``.
        index: the ball's position in the innings, from 1.

    Raises:
        BallNotFoundError: the match has no such innings.
        IndexError: the innings has no such ball.
    """
    strengths = (coefficients or Coefficients()).by_cause()
    chosen = innings_numbered(match, innings)
    if not 1 <= index <= len(chosen.deliveries):
        raise IndexError(f"innings {innings} has {len(chosen.deliveries)} deliveries, not {index}")
    past = Past(chosen.target, BALLS_PER_OVER * (1 if chosen.super_over else OVERS))
    for ball in chosen.deliveries[: index - 1]:
        past.add(ball)
    asked = chosen.deliveries[index - 1]
    situation = past.situation(asked.batter, asked.bowler)
    return {cause: balls for cause, balls in situation.balls.items() if balls and strengths[cause]}
