"""What earlier balls do to the next one in a simulated match, and which balls those are.

The generator, the fit to real matches and the truth that is written share one definition,
so that what is said of a match is what was done when it was drawn.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from attnlens.cricket.match.outcomes import OUTCOME_INDEX, OUTCOMES

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

_DIRECTIONS: Final = {
    cause: tuple((OUTCOME_INDEX[name], size) for name, size in DIRECTIONS[cause].items())
    for cause in CAUSES
}


@dataclass(frozen=True)
class Situation:
    """What of the past bears on the next ball.

    ``units`` is how much of each cause there is, 0 where it is absent; ``balls`` the earlier balls
    that are the cause, by position in the innings, of `PLANTED` only.
    """

    units: Mapping[str, float]
    balls: Mapping[str, tuple[int, ...]]


class Past:
    """The deliveries of an innings so far, as the causes see them.

    In a chase there is a ``target`` of runs to win; ``balls`` are the legal ones the side has in
    all.
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


@dataclass(frozen=True)
class TrueBall:
    """What one simulated ball was drawn from: the probabilities of `OUTCOMES`, and their causes.

    Attributes:
        log_odds: of each cause that bears on the ball, what it adds to the log-odds
            of the outcome that it moves most.
        nats: of the same causes, KL divergence from the probabilities without the
            cause to these: how much it mattered.
        balls: of those among `PLANTED`, the earlier balls, by position in the innings.
    """

    innings: int
    index: int
    probabilities: tuple[float, ...]
    log_odds: Mapping[str, float]
    nats: Mapping[str, float]
    balls: Mapping[str, tuple[int, ...]]


class Chances:
    """Outcome probabilities for the balls of one innings.

    The causes of `PLANTED` are ``strength`` times as strong as in real matches; ``background`` is
    what ground, day and innings add to the log-odds, one per outcome.
    """

    def __init__(self, strength: float, background: Row, chasing: bool) -> None:
        self._strengths = {
            cause: STRENGTHS[cause] * (strength if cause in PLANTED else 1.0) for cause in CAUSES
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
        self, over: int, batter: Row, bowler: Row, situation: Situation
    ) -> tuple[tuple[float, ...], dict[str, float]]:
        """The probabilities, and what each cause that is there adds in log-odds."""
        logits = [sum(terms) for terms in zip(self._overs[over], batter, bowler, strict=True)]
        amounts = {
            cause: strength * units
            for cause, strength in self._strengths.items()
            if (units := situation.units[cause]) and strength
        }
        for cause, amount in amounts.items():
            _add(logits, cause, amount)
        shares = [math.exp(logit) for logit in logits]
        total = sum(shares)
        return tuple(share / total for share in shares), amounts


def true_ball(
    innings: int,
    index: int,
    probabilities: tuple[float, ...],
    amounts: Mapping[str, float],
    situation: Situation,
) -> TrueBall:
    """The truth of one ball, from what `Chances.of` gave."""
    return TrueBall(
        innings=innings,
        index=index,
        probabilities=probabilities,
        log_odds=amounts,
        nats={cause: _nats(probabilities, cause, amount) for cause, amount in amounts.items()},
        balls={cause: situation.balls[cause] for cause in amounts if cause in PLANTED},
    )


def _add(logits: list[float], cause: str, amount: float) -> None:
    for position, size in _DIRECTIONS[cause]:
        logits[position] += amount * size


def _nats(probabilities: Sequence[float], cause: str, amount: float) -> float:
    """KL(with ‖ without), where without has ``amount`` less along the cause's direction."""
    added = [0.0] * len(OUTCOMES)
    _add(added, cause, amount)
    pairs = tuple(zip(probabilities, added, strict=True))
    without = sum(share * math.exp(-extra) for share, extra in pairs)
    # Rounding may leave a trace below 0.
    return max(sum(share * extra for share, extra in pairs) + math.log(without), 0.0)
