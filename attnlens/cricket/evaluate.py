"""How well a predictor's probabilities fit matches it has not seen, beside baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from attnlens.analysis.scores import (
    Bin,
    Bootstrap,
    Interval,
    brier_scores,
    calibration_error,
    equal_bins,
    filled_bins,
    group_numbers,
    hits,
    log_losses,
    reliability,
)
from attnlens.cricket.batch import training_batch
from attnlens.cricket.held_out import EncodedInnings, HeldOut
from attnlens.cricket.kinds import kinds_unlike, like_training
from attnlens.cricket.outcomes import OUTCOME_INDEX, OUTCOMES
from attnlens.cricket.ratings import phase_of, quota_of
from attnlens.cricket.window import one_thread

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Report = Callable[[str], None]

DIGITS: Final = 6
AT_ONCE: Final = 16
"""Innings in one pass of the network."""

PHASES: Final[tuple[str, ...]] = ("powerplay", "middle", "death")
WATCHED: Final[tuple[str, ...]] = ("4", "6", "W")
"""Outcomes whose own calibration is told: those that turn a match."""

WATCHED_BINS: Final = 10


@dataclass(frozen=True, slots=True, eq=False)
class JudgedBalls:
    """Every judged ball: what the model said, what happened, and where it belongs.

    Attributes:
        innings: match, number in it, and balls of each judged innings, in order.
        chances: the model's probabilities ``(balls, 11)``.
        actual: class number of what happened ``(balls,)``.
        match: number of the match ``(balls,)``.
        phase: 0 powerplay, 1 middle, 2 death ``(balls,)``.
        number: of the innings in its match ``(balls,)``.
        met: whether the ratings had seen the ``striker`` and the ``bowler`` ``(balls,)``.
    """

    innings: tuple[tuple[str, int, int], ...]
    chances: Floats
    actual: Integers
    match: Integers
    phase: Integers
    number: Integers
    met: dict[str, Flags]

    def __len__(self) -> int:
        return len(self.actual)


def judge(held: HeldOut, report: Report = lambda _: None) -> JudgedBalls:
    """Ask the predictor about every ball of the matches, with the ratings of their dates."""
    waiting: list[EncodedInnings] = []
    parts: list[dict[str, NDArray[Any]]] = []
    order: list[tuple[str, int, int]] = []
    model = held.predictor.model

    def ask() -> None:
        with one_thread(), torch.no_grad():
            batch, _ = training_batch([one.arrays for one in waiting])
            told = model(batch).double().softmax(-1).numpy()
        for one, chances in zip(waiting, told, strict=True):
            balls = one.side.deliveries
            quota = quota_of(one.match, one.side)
            order.append((one.match_id, one.innings, len(balls)))
            parts.append(
                {
                    "chances": chances[: len(balls)],
                    "actual": one.arrays.outcome,
                    "number": np.full(len(balls), one.innings),
                    "phase": np.array([phase_of(b.legal_balls_before, quota) for b in balls]),
                    "striker": one.arrays.met["striker"],
                    "bowler": one.arrays.met["bowler"],
                }
            )
        waiting.clear()

    for one in held.innings(report):
        waiting.append(one)
        if len(waiting) == AT_ONCE:
            ask()
    if waiting:
        ask()
    flat = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    ids = [match_id for match_id, _, count in order for _ in range(count)]
    return JudgedBalls(
        tuple(order),
        flat["chances"],
        flat["actual"],
        group_numbers(ids),
        flat["phase"],
        flat["number"],
        {name: flat[name] for name in ("striker", "bowler")},
    )


def evaluation(
    held: HeldOut,
    balls: JudgedBalls,
    baselines: Mapping[str, Floats],
    *,
    left_out: Mapping[str, str] | None = None,
    fitted_on: int = 0,
    draws: int = 1000,
    seed: int = 5,
) -> dict[str, Any]:
    """The figures as plain data, rounded to six decimals.

    Args:
        baselines: the probabilities of each, ``(balls, 11)``, for the same balls.
        left_out: baselines that could not be fitted, and why.
        fitted_on: how many matches the baselines were fitted on.
        draws: resamples of the intervals.
    """
    bootstrap = Bootstrap(balls.match, draws=draws, seed=seed)
    losses = log_losses(balls.chances, balls.actual)
    first, last = held.dates
    predictor = held.predictor
    outside = kinds_unlike(held.matches, predictor)
    unlike = {m.match_id for m in held.matches if not like_training(m, predictor)}
    told: dict[str, Any] = {
        "balls": len(balls),
        "matches": int(balls.match.max()) + 1,
        "dates": {"first": first, "last": last},
        "checkpoint": held.checkpoint,
        "in_sample": held.in_sample,
        "outside_training": {
            "matches": len(unlike),
            "balls": sum(count for match_id, _, count in balls.innings if match_id in unlike),
            "kinds": outside,
        },
        "notes": list(held.notes),
        "model": figures(balls.chances, balls.actual, bootstrap),
        "baselines": {
            name: figures(chances, balls.actual, bootstrap) for name, chances in baselines.items()
        },
        "left_out": dict(left_out or {}),
        "baselines_fitted_on": {"matches": fitted_on},
        "paired_difference": {},
        "by": _breakdowns(balls, losses, bootstrap),
        "reliability": _reliability(balls, bootstrap),
        "bootstrap": {"draws": draws, "seed": seed, "resampled": "matches"},
    }
    for name, chances in baselines.items():
        gap = losses - log_losses(chances, balls.actual)
        told["paired_difference"][name] = {
            "log_loss": gap.mean(),
            "log_loss_ci": bootstrap.interval(gap),
        }
    rounded: dict[str, Any] = _rounded(told)
    return rounded


def figures(chances: Floats, actual: Integers, bootstrap: Bootstrap) -> dict[str, Any]:
    """Log-loss with its interval, Brier, expected calibration error and accuracy."""
    losses = log_losses(chances, actual)
    return {
        "log_loss": losses.mean(),
        "log_loss_ci": bootstrap.interval(losses),
        "brier": brier_scores(chances, actual).mean(),
        "ece": calibration_error(chances, actual),
        "accuracy": hits(chances, actual).mean(),
    }


def _breakdowns(balls: JudgedBalls, losses: Floats, bootstrap: Bootstrap) -> dict[str, Any]:
    striker, bowler = balls.met["striker"], balls.met["bowler"]
    groups: dict[str, dict[str, Flags]] = {
        "phase": {name: balls.phase == number for number, name in enumerate(PHASES)},
        "innings": {str(number): balls.number == number for number in np.unique(balls.number)},
        "players": {
            "both known": striker & bowler,
            "unseen striker": ~striker,
            "unseen bowler": ~bowler,
        },
    }
    told: dict[str, Any] = {
        kind: {
            name: {
                **_part(rows, losses, bootstrap),
                "outcomes": [
                    {
                        "outcome": outcome,
                        "predicted": balls.chances[rows, number].mean(),
                        "observed": (balls.actual[rows] == number).mean(),
                    }
                    for number, outcome in enumerate(OUTCOMES)
                ],
            }
            for name, rows in parts.items()
            if rows.any()
        }
        for kind, parts in groups.items()
    }
    told["outcome"] = {
        outcome: {
            **_part(balls.actual == number, losses, bootstrap),
            "predicted": balls.chances[:, number].mean(),
            "observed": (balls.actual == number).mean(),
            "observed_ci": bootstrap.interval((balls.actual == number).astype(np.float64)),
        }
        for number, outcome in enumerate(OUTCOMES)
    }
    return told


def _part(rows: Flags, losses: Floats, bootstrap: Bootstrap) -> dict[str, Any]:
    interval: Interval | None = bootstrap.interval(losses, rows)
    mean = losses[rows].mean() if rows.any() else None
    return {"balls": int(rows.sum()), "log_loss": mean, "log_loss_ci": interval}


def _reliability(balls: JudgedBalls, bootstrap: Bootstrap) -> dict[str, list[dict[str, Any]]]:
    """Of the likeliest outcome in equally wide bins; of others in equally filled ones."""
    confidence = balls.chances.max(1)
    right = hits(balls.chances, balls.actual)
    told = {"likeliest": reliability(confidence, right, equal_bins(confidence), bootstrap)}
    for outcome in WATCHED:
        number = OUTCOME_INDEX[outcome]
        chance = balls.chances[:, number]
        place = filled_bins(chance, WATCHED_BINS)
        told[outcome] = reliability(chance, balls.actual == number, place, bootstrap)
    return {name: [_bin(one) for one in bins] for name, bins in told.items()}


def _bin(one: Bin) -> dict[str, Any]:
    return {
        "predicted": one.predicted,
        "observed": one.observed,
        "balls": one.rows,
        "observed_ci": one.interval,
    }


def _rounded(value: Any) -> Any:
    """Plain data, rounded once, at the boundary."""
    if isinstance(value, dict):
        return {key: _rounded(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(member) for member in value]
    if isinstance(value, float | np.floating):
        return round(float(value), DIGITS)
    return value


def aligned(balls: JudgedBalls, innings: Sequence[tuple[str, int, int]], chances: Floats) -> Floats:
    """Probabilities in the order of the judged balls.

    Args:
        innings: match, number and balls of each innings, in the order of ``chances``.
    """
    starts: dict[tuple[str, int], int] = {}
    at = 0
    for match_id, number, count in innings:
        starts[match_id, number] = at
        at += count
    rows = [
        np.arange(starts[match_id, number], starts[match_id, number] + count)
        for match_id, number, count in balls.innings
    ]
    result: Floats = chances[np.concatenate(rows)]
    return result
