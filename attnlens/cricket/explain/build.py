"""Parts of an explanation from plain numbers, in percentage points, rounded here, once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from attnlens.cricket.explain.heatmap import NATS_DIGITS
from attnlens.cricket.explain.types import (
    BallContribution,
    Calibration,
    Contribution,
    OutcomePoints,
    OutcomeProbability,
    PastBall,
    Prediction,
    Tally,
    TopChange,
)
from attnlens.cricket.match.outcomes import OUTCOME_INDEX, OUTCOMES, Outcome
from attnlens.cricket.model import heads
from attnlens.show.numbers import rounded

BEFORE_THE_MATCH: Final = ("venue and teams", "striker's record", "bowler's record")
"""The groups of contributions that were known before the first ball of the match."""


def outcome_points(points: Sequence[float]) -> tuple[OutcomePoints, ...]:
    """Changes in percentage points ``(11,)``, one entry per outcome."""
    return tuple(
        OutcomePoints(outcome=outcome, points=rounded(value))
        for outcome, value in zip(OUTCOMES, points, strict=True)
    )


def prediction(
    full: Sequence[float],
    baseline: Sequence[float],
    actual: Outcome | None,
    explained: Outcome | None = None,
    calibration: Calibration | None = None,
) -> Prediction:
    """What is expected, beside the baseline, and how surprising what happened was.

    Args:
        full, baseline: probabilities of the outcomes ``(11,)``.
        calibration: how often calls like these came true.
    """
    bits = None if actual is None else rounded(-math.log2(full[OUTCOME_INDEX[actual]]))
    return Prediction(
        outcomes=tuple(
            OutcomeProbability(outcome=outcome, probability=rounded(now), baseline=rounded(base))
            for outcome, now, base in zip(OUTCOMES, full, baseline, strict=True)
        ),
        top=max(OUTCOMES, key=lambda outcome: full[OUTCOME_INDEX[outcome]]),
        explained=explained,
        actual=actual,
        surprise_bits=bits,
        calibration=calibration,
    )


def contributions(
    groups: Sequence[str],
    parts: Sequence[Sequence[float]],
    balls: Mapping[str, Sequence[tuple[int, Sequence[float]]]],
) -> tuple[Contribution, ...]:
    """Each group's part, in percentage points.

    Args:
        parts: of each group the part of each outcome's probability ``(group, 11)``.
        balls: group to its balls that do most, each with the points that it adds ``(11,)``.
    """
    return tuple(
        Contribution(
            group=group,
            points=outcome_points([100 * value for value in row]),
            when="before the match" if group in BEFORE_THE_MATCH else "in the match",
            balls=tuple(
                BallContribution(index=index, points=outcome_points(points))
                for index, points in balls.get(group, ())
            ),
        )
        for group, row in zip(groups, parts, strict=True)
    )


def top_change(
    before: Sequence[float], after: Sequence[float], explained: Outcome | None = None
) -> TopChange:
    """The outcome that is explained, else that which moves most when something is hidden.

    Args:
        before, after: probabilities of the outcomes ``(11,)``.
    """
    moves = [now - then for then, now in zip(before, after, strict=True)]
    place = max(range(len(moves)), key=lambda at: abs(moves[at]))
    if explained is not None:
        place = OUTCOME_INDEX[explained]
    return TopChange(
        outcome=OUTCOMES[place],
        points=rounded(100 * moves[place]),
        before=rounded(before[place]),
        after=rounded(after[place]),
    )


def past_ball(
    ball: heads.PastBall,
    attention: float,
    effect: float | None = None,
    changes: tuple[OutcomePoints, ...] = (),
) -> PastBall:
    """One row of the history table.

    Args:
        attention: over all paths.
        effect: of hiding it alone, nats; ``None`` where it was not measured.
        changes: what that does to each outcome.
    """
    return PastBall(
        index=ball.index,
        label=ball.label,
        over=ball.over,
        batter=ball.batter,
        bowler=ball.bowler,
        outcome=ball.outcome,
        runs=ball.runs,
        runs_batter=ball.runs_batter,
        boundary=ball.boundary,
        wicket=ball.wicket,
        attention=rounded(attention),
        effect_nats=None if effect is None else rounded(effect, NATS_DIGITS),
        changes=changes,
    )


def tally(balls: Sequence[heads.PastBall], over: int) -> Tally | None:
    """What came of some past balls, counted; ``None`` where there is none.

    Args:
        over: the current one.
    """
    if not balls:
        return None
    bowlers, batters = {ball.bowler for ball in balls}, {ball.batter for ball in balls}
    return Tally(
        balls=len(balls),
        runs=sum(ball.runs for ball in balls),
        dots=sum(ball.runs == 0 and not ball.wicket for ball in balls),
        boundaries=sum(ball.boundary for ball in balls),
        wickets=sum(ball.wicket for ball in balls),
        bowler=bowlers.pop() if len(bowlers) == 1 else None,
        batter=batters.pop() if len(batters) == 1 else None,
        this_over=all(ball.over == over for ball in balls),
    )
