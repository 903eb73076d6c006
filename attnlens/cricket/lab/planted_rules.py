"""Strong, exactly known dependencies on particular past balls: the planted rules.

A league played by rules has nothing else: players, grounds and days are alike, so the true effect
of every past ball on every later one can be worked out. It is the yardstick for methods that claim
to find such balls. The first ball that a rule counts adds its whole strength to the log-odds of
the outcomes it moves, and each further one half as much as the one before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Final

from attnlens.cricket.match.match import OUTCOME_INDEX, Delivery, Player

_RECENT_BALLS: Final = 6

Past = Sequence[Delivery]
Counted = Callable[[Past, Player, Player], tuple[int, ...]]


def _is_hit(ball: Delivery) -> bool:
    return ball.boundary


def _is_dot(ball: Delivery) -> bool:
    return ball.outcome == "0"


def _is_wicket(ball: Delivery) -> bool:
    return ball.outcome == "W"


def _hits(past: Past, batter: Player, bowler: Player) -> tuple[int, ...]:
    met = (ball for ball in past if (ball.batter, ball.bowler) == (batter, bowler))
    return tuple(ball.index for ball in met if _is_hit(ball))


def _two_dots(past: Past, _: Player, bowler: Player) -> tuple[int, ...]:
    last = [ball for ball in past if ball.bowler == bowler][-2:]
    return tuple(ball.index for ball in last) if len(last) == 2 and all(map(_is_dot, last)) else ()


def _recent_wickets(past: Past, _: Player, __: Player) -> tuple[int, ...]:
    return tuple(ball.index for ball in past[-_RECENT_BALLS:] if _is_wicket(ball))


@dataclass(frozen=True)
class PlantedRule:
    """One way in which past balls change the next.

    Attributes:
        event: what must have happened on a ball for it to be counted; there are as a rule
            other such balls, which it does not count.
        counted: the past balls it counts, by position in the innings, for past, batter and
            bowler; ``together``: only all together, as one.
        moves, strength: the outcomes whose log-odds it changes, and by how much, for one ball.
        ordinary: the units there commonly are; counting from them keeps totals ordinary.
    """

    name: str
    text: str
    event: Callable[[Delivery], bool]
    counted: Counted
    together: bool
    moves: tuple[str, ...]
    strength: float
    ordinary: float

    def units(self, balls: Collection[int], hidden: Set[int]) -> float:
        """How much of the rule there is, from the balls it counts less the hidden ones."""
        n_visible = sum(ball not in hidden for ball in balls)
        if self.together:
            return float(bool(balls) and n_visible == len(balls))
        return 2.0 * (1.0 - 0.5**n_visible)


RULES: Final[tuple[PlantedRule, ...]] = (
    PlantedRule(
        "has_hit",
        "each four or six that this batter has hit off this bowler makes another likelier",
        _is_hit,
        _hits,
        together=False,
        moves=("4", "6"),
        strength=1.2,
        ordinary=0.5,
    ),
    PlantedRule(
        "two_dots",
        "this bowler's last two deliveries were both dots: a wicket is likelier",
        _is_dot,
        _two_dots,
        together=True,
        moves=("W",),
        strength=1.8,
        ordinary=0.1,
    ),
    PlantedRule(
        "wicket",
        f"each wicket among the last {_RECENT_BALLS} deliveries makes a four or six less likely",
        _is_wicket,
        _recent_wickets,
        together=False,
        moves=("4", "6"),
        strength=-1.5,
        ordinary=0.25,
    ),
)
"""The planted rules, in the order of a table."""


@dataclass(frozen=True)
class RuledBall:
    """What the rules did to one simulated ball.

    ``balls`` are the past balls that each rule counts, by position in the innings; rules that count
    none are left out. ``without_rules`` are outcome probabilities if there were no rules.
    """

    innings: int
    index: int
    without_rules: tuple[float, ...]
    balls: Mapping[str, tuple[int, ...]]
    rules: tuple[PlantedRule, ...] = RULES

    @property
    def planted(self) -> frozenset[int]:
        """Every past ball that this ball truly depends on."""
        return frozenset(ball for balls in self.balls.values() for ball in balls)

    def probabilities(self, hidden: Set[int] = frozenset()) -> tuple[float, ...]:
        """The true probabilities, as if what happened on the hidden balls had not.

        A hidden ball keeps its place: it still stands among the last deliveries.
        """
        shares = list(self.without_rules)
        for rule in self.rules:
            units = rule.units(self.balls.get(rule.name, ()), hidden) - rule.ordinary
            factor = math.exp(rule.strength * units)
            for name in rule.moves:
                shares[OUTCOME_INDEX[name]] *= factor
        total = sum(shares)
        return tuple(share / total for share in shares)

    def effect(self, hidden: Set[int]) -> float:
        """``KL(true ‖ true without the hidden balls)``, nats; 0 exactly where none is planted."""
        if not hidden & self.planted:
            return 0.0
        pairs = zip(self.probabilities(), self.probabilities(hidden), strict=True)
        return max(sum(p * math.log(p / q) for p, q in pairs), 0.0)

    def effects(self) -> dict[int, float]:
        """The effect of each planted ball alone, by its position; every other ball's is 0."""
        return {ball: self.effect(frozenset((ball,))) for ball in sorted(self.planted)}


def rules_times(strength: float) -> tuple[PlantedRule, ...]:
    """`RULES`, each as many times as strong."""
    return tuple(replace(rule, strength=strength * rule.strength) for rule in RULES)


def ruled_ball(
    innings: int,
    past: Past,
    batter: Player,
    bowler: Player,
    without_rules: tuple[float, ...],
    rules: tuple[PlantedRule, ...] = RULES,
) -> RuledBall:
    """The next ball after ``past`` by the rules, which change the probabilities that are given."""
    counted = {rule.name: rule.counted(past, batter, bowler) for rule in rules}
    return RuledBall(
        innings,
        len(past) + 1,
        without_rules,
        {name: balls for name, balls in counted.items() if balls},
        rules,
    )
