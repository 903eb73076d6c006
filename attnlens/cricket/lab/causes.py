"""What earlier balls and the scoreboard do to the next ball of a simulated match.

| cause | a unit of it |
|---|---|
| settled | `SETTLED_BALLS` balls this batter has faced, fewer in proportion; at most one unit |
| batter_hit | each four or six, at most `MOST_HITS`, among this batter's last `WINDOW` balls |
| bowler_hit | the same among the last `WINDOW` deliveries of this bowler |
| bowler_wide | each wide, at most `MOST_WIDES`, among the same deliveries |
| dots | each ball, at most `MOST_DOTS`, of the run of dots that leads up to this ball |
| wicket_fallen | a wicket among the last `WINDOW` deliveries of the innings |
| free_hit | the ball after a no-ball, on which only a run out is possible |
| chase | each `CHASE_STEP` runs an over of required rate above `CHASE_RATE`, in `CHASE_RANGE` |
| out_of_reach | the same above `OUT_OF_REACH_RATE`, at most `MOST_OUT_OF_REACH`: sides give up |
| wickets_down | each wicket lost in the innings so far |
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Final

from attnlens.cricket.lab.league import (
    BASE,
    DIRECTIONS,
    SECOND_INNINGS,
    STRENGTHS,
    UNIT_MEANS,
    Row,
)
from attnlens.cricket.match.match import Delivery, Player
from attnlens.cricket.match.outcomes import OUTCOME_INDEX

OVERS: Final = 20
BALLS_PER_OVER: Final = 6

PAST_BALLS: Final = (
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

CAUSES: Final = PAST_BALLS + SCOREBOARD

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

_DIRECTIONS: Final = {
    cause: tuple((OUTCOME_INDEX[name], size) for name, size in DIRECTIONS[cause].items())
    for cause in CAUSES
}


class Past:
    """The deliveries of an innings so far, as the causes see them.

    In a chase there is a ``target`` of runs to win; ``balls`` are the legal ones the side has in
    all.
    """

    def __init__(self, target: int | None, balls: int = OVERS * BALLS_PER_OVER) -> None:
        self._target = target
        self._balls = balls
        self._faced: dict[Player, int] = {}
        self._batters: dict[Player, deque[Delivery]] = {}
        self._bowlers: dict[Player, deque[Delivery]] = {}
        self._recent: deque[Delivery] = deque(maxlen=WINDOW)
        self._dots = 0
        self._free_hit = False
        self._score = 0
        self._legal = 0
        self._wickets = 0

    def add(self, ball: Delivery) -> None:
        """Take in the next delivery."""
        wide = "wides" in ball.extras
        if not wide:
            self._faced[ball.batter] = self._faced.get(ball.batter, 0) + 1
            self._batters.setdefault(ball.batter, deque(maxlen=WINDOW)).append(ball)
        self._bowlers.setdefault(ball.bowler, deque(maxlen=WINDOW)).append(ball)
        self._recent.append(ball)
        self._dots = self._dots + 1 if ball.outcome == "0" else 0
        if "noballs" in ball.extras:
            self._free_hit = True
        elif not wide:
            # A wide does not use the free hit up.
            self._free_hit = False
        self._score += ball.runs_total
        self._legal += ball.is_legal
        self._wickets += sum(wicket.counts for wicket in ball.wickets)

    def units(self, batter: Player, bowler: Player) -> dict[str, float]:
        """How much of each cause bears on the next ball; 0 where a cause is absent."""
        spell = self._bowlers.get(bowler, ())
        wides = sum("wides" in ball.extras for ball in spell)
        chase, out_of_reach = self._pressure()
        return {
            "settled": min(self._faced.get(batter, 0) / SETTLED_BALLS, 1.0),
            "batter_hit": _hits(self._batters.get(batter, ())),
            "bowler_hit": _hits(spell),
            "bowler_wide": float(min(wides, MOST_WIDES)),
            "dots": float(min(self._dots, MOST_DOTS)),
            "wicket_fallen": float(
                any(wicket.counts for ball in self._recent for wicket in ball.wickets)
            ),
            "free_hit": float(self._free_hit),
            "chase": chase,
            "out_of_reach": out_of_reach,
            "wickets_down": float(self._wickets),
        }

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


def _hits(balls: deque[Delivery] | tuple[()]) -> float:
    return float(min(sum(ball.boundary for ball in balls), MOST_HITS))


class OutcomeProbabilities:
    """Outcome probabilities for the balls of one innings.

    Where ``past_counts`` is false, only the scoreboard of `CAUSES` has an effect. ``background`` is
    what ground, day and innings add to the log-odds, one per outcome.
    """

    def __init__(self, past_counts: bool, background: Row, chasing: bool) -> None:
        self._strengths = {
            cause: STRENGTHS[cause] if past_counts or cause in SCOREBOARD else 0.0
            for cause in CAUSES
        }
        self._overs = []
        for over, row in enumerate(BASE):
            logits = [
                base + (second if chasing else 0.0) + here
                for base, second, here in zip(row, SECOND_INNINGS, background, strict=True)
            ]
            for cause, strength in self._strengths.items():
                if chasing or cause not in CHASING:
                    _add(logits, cause, -strength * UNIT_MEANS[cause][over])
            self._overs.append(logits)

    def of(
        self, over: int, batter: Row, bowler: Row, units: Mapping[str, float]
    ) -> tuple[float, ...]:
        """Return the probabilities of `OUTCOMES`, from the `Past.units` of the causes."""
        logits = [sum(terms) for terms in zip(self._overs[over], batter, bowler, strict=True)]
        for cause, strength in self._strengths.items():
            if units[cause] and strength:
                _add(logits, cause, strength * units[cause])
        shares = [math.exp(logit) for logit in logits]
        total = sum(shares)
        return tuple(share / total for share in shares)


def _add(logits: list[float], cause: str, amount: float) -> None:
    for position, size in _DIRECTIONS[cause]:
        logits[position] += amount * size
