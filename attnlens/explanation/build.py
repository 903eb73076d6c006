"""Assembling an explanation from plain numbers. Everything is rounded here, once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from attnlens.explanation.heatmap import PastBall, rounded

SCHEMA_VERSION: Final = "1.0"
NATS_DIGITS: Final = 9
BEFORE_THE_MATCH: Final = ("venue and teams", "striker's record", "bowler's record")
"""The groups of contributions that were known before the first ball of the match."""


def outcome_points(outcomes: Sequence[str], points: Sequence[float]) -> list[dict[str, Any]]:
    """Changes in percentage points, one entry per outcome."""
    return [
        {"outcome": outcome, "points": rounded(float(value))}
        for outcome, value in zip(outcomes, points, strict=True)
    ]


def prediction(
    outcomes: Sequence[str],
    full: Sequence[float],
    baseline: Sequence[float],
    actual: str | None,
    explained: str | None = None,
    calibration: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """What is expected, beside the baseline, and how surprising what happened was.

    Args:
        calibration: how often calls like these came true.
    """
    chances = dict(zip(outcomes, full, strict=True))
    return {
        "outcomes": [
            {
                "outcome": outcome,
                "probability": rounded(float(now)),
                "baseline": rounded(float(base)),
            }
            for outcome, now, base in zip(outcomes, full, baseline, strict=True)
        ],
        "top": max(outcomes, key=lambda outcome: chances[outcome]),
        "explained": explained,
        "actual": actual,
        "surprise_bits": None if actual is None else rounded(-math.log2(chances[actual])),
        "calibration": calibration,
    }


def contributions(
    outcomes: Sequence[str],
    groups: Sequence[str],
    parts: Sequence[Sequence[float]],
    balls: Mapping[str, Sequence[tuple[int, Sequence[float]]]],
) -> list[dict[str, Any]]:
    """Each group's part, in percentage points; ``parts`` are probabilities.

    Args:
        balls: group to its balls that do most, each with the points that it adds.
    """
    return [
        {
            "group": group,
            "points": outcome_points(outcomes, [100 * float(v) for v in row]),
            "when": "before the match" if group in BEFORE_THE_MATCH else "in the match",
            "balls": [
                {"index": index, "points": outcome_points(outcomes, points)}
                for index, points in balls.get(group, ())
            ],
        }
        for group, row in zip(groups, parts, strict=True)
    ]


def top_change(
    outcomes: Sequence[str],
    before: Sequence[float],
    after: Sequence[float],
    explained: str | None = None,
) -> dict[str, Any]:
    """The outcome that is explained, else that which moves most when something is hidden."""
    moves = [float(b) - float(a) for a, b in zip(before, after, strict=True)]
    most = max(range(len(moves)), key=lambda place: abs(moves[place]))
    if explained is not None:
        most = list(outcomes).index(explained)
    return {
        "outcome": outcomes[most],
        "points": rounded(100 * moves[most]),
        "before": rounded(float(before[most])),
        "after": rounded(float(after[most])),
    }


def past_ball(
    ball: PastBall,
    attention: float,
    effect: float | None,
    changes: list[dict[str, Any]],
) -> dict[str, Any]:
    """One row of the history table."""
    return {
        "index": ball.index,
        "label": ball.label,
        "over": ball.over,
        "batter": ball.batter,
        "bowler": ball.bowler,
        "outcome": ball.outcome,
        "runs": ball.runs,
        "runs_batter": ball.runs_batter,
        "boundary": ball.boundary,
        "wicket": ball.wicket,
        "attention": rounded(attention),
        "effect_nats": None if effect is None else rounded(effect, NATS_DIGITS),
        "changes": changes,
    }


def tally(balls: Sequence[Mapping[str, Any]], over: int) -> dict[str, Any] | None:
    """What came of some past balls, counted; ``None`` where there is none.

    Args:
        balls: rows as of `past_ball`.
        over: the current one.
    """
    if not balls:
        return None

    def shared(key: str) -> str | None:
        names = {ball[key] for ball in balls}
        return names.pop() if len(names) == 1 else None

    return {
        "balls": len(balls),
        "runs": sum(ball["runs"] for ball in balls),
        "dots": sum(ball["runs"] == 0 and not ball["wicket"] for ball in balls),
        "boundaries": sum(ball["boundary"] for ball in balls),
        "wickets": sum(ball["wicket"] for ball in balls),
        "bowler": shared("bowler"),
        "batter": shared("batter"),
        "this_over": all(ball["over"] == over for ball in balls),
    }


def mentioned(across_balls: Mapping[str, Any], others: Iterable[int]) -> set[int]:
    """Every ball that a heat map names, and these others."""
    found = set(others)
    for heat_map in across_balls.values():
        for head in heat_map["attention_by_head"].values():
            found.update(head["top_balls"], head["top_any"])
    return found
