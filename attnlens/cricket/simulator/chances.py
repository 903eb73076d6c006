"""The probabilities a simulated ball is drawn from, and how much each cause changed them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from attnlens.cricket.match.outcomes import OUTCOME_INDEX, OUTCOMES
from attnlens.cricket.simulator.causes import CAUSES, CHASING, PLANTED, Coefficients, Situation
from attnlens.cricket.simulator.rates import BASE, DIRECTIONS, SECOND_INNINGS, UNIT_MEANS, Row

_DIRECTIONS: Final = {
    cause: tuple((OUTCOME_INDEX[name], size) for name, size in DIRECTIONS[cause].items())
    for cause in CAUSES
}


@dataclass(frozen=True)
class TrueBall:
    """What one simulated ball was drawn from.

    Attributes:
        innings, index: which ball.
        probabilities: in the order of `OUTCOMES`; they sum to 1.
        log_odds: of each cause that bears on the ball, what it adds to the log-odds
            of the outcome that it moves most.
        nats: of the same causes, KL divergence from the probabilities without the
            cause to these, in nats: how much it mattered.
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

    Args:
        background: log-odds that ground, day and innings add, one per outcome.
        chasing: whether there is a target.
    """

    def __init__(self, coefficients: Coefficients, background: Row, chasing: bool) -> None:
        self._strengths = coefficients.by_cause()
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
