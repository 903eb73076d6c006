"""Measure how well predicted probabilities fit outcomes, with confidence intervals.

The expected calibration error uses the most likely outcomes and bins of equal width (Guo et al.
2017). Intervals are computed by resampling whole groups of rows, such as matches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from attnlens.files import Flags, Floats, Integers

Interval = tuple[float, float]

SMALLEST: Final = 1e-12
"""The minimum distance of probabilities from 0 and 1 in logarithms."""

_BINS: Final = 15
_LUCK_DRAWS: Final = 200
_Z: Final = 1.959963984540054


def log_losses(chances: Floats, actual: Integers) -> Floats:
    """Return the log-loss of each row, ``(rows, outcomes), (rows,) -> (rows,)``."""
    losses: Floats = -np.log(np.maximum(chances[np.arange(len(actual)), actual], SMALLEST))
    return losses


def divergence(full: Floats, ablated: Floats) -> Floats:
    """Return ``KL(full ‖ ablated)`` along the last axis, in nats; at most about 708."""
    smallest = np.finfo(float).tiny
    logs = np.log(np.where(full > 0, full, 1)) - np.log(np.where(ablated > 0, ablated, smallest))
    nats: Floats = (np.maximum(full, 0) * logs).sum(-1)
    return np.maximum(nats, 0.0)


def log_odds(chances: Floats, outcomes: Sequence[int]) -> Floats:
    """Return the log-odds that one of ``outcomes`` happens, ``(..., outcome) -> (...)``."""
    chance = chances[..., list(outcomes)].sum(-1).clip(SMALLEST, 1 - SMALLEST)
    odds: Floats = np.log(chance) - np.log1p(-chance)
    return odds


def brier_scores(chances: Floats, actual: Integers) -> Floats:
    """Return the Brier score of each row, from 0 to 2."""
    away = chances.astype(np.float64)
    away[np.arange(len(actual)), actual] -= 1
    scores: Floats = (away**2).sum(1)
    return scores


def hits(chances: Floats, actual: Integers) -> Floats:
    """Return 1 for rows whose most likely outcome happened, and 0 for other rows."""
    correct: Floats = (chances.argmax(1) == actual).astype(np.float64)
    return correct


def equal_bins(values: Floats, bins: int = _BINS) -> Integers:
    """Return the bin of each probability, from 0 to ``bins - 1``. All bins have the same width."""
    return np.minimum((values * bins).astype(np.int64), bins - 1)


def filled_bins(values: Floats, bins: int = _BINS) -> Integers:
    """Return the bin of each value. At most ``bins`` bins contain similar numbers of values.

    Equal values are in the same bin.
    """
    cuts = np.unique(np.quantile(values, np.arange(1, bins) / bins))
    return np.searchsorted(cuts, values, side="right").astype(np.int64)


def calibration_error(chances: Floats, actual: Integers, bins: int = _BINS) -> float:
    """Return the expected calibration error of the most likely outcome."""
    confidence = chances.max(1)
    return calibration_gap(confidence, hits(chances, actual), equal_bins(confidence, bins))


def calibration_error_by_luck(chances: Floats) -> float:
    """Return the 95th percentile of `calibration_error` for perfectly calibrated probabilities."""
    confidence = chances.max(1)
    row_bins, generator = equal_bins(confidence), np.random.default_rng(5)
    lots = (generator.random(len(confidence)) < confidence for _ in range(_LUCK_DRAWS))
    return float(np.quantile([calibration_gap(confidence, lot, row_bins) for lot in lots], 0.95))


def calibration_gap(confidence: Floats, right: Floats | Flags, integers: Integers) -> float:
    """Return the mean absolute gap between confidence and accuracy over all bins.

    The mean is weighted by the number of rows in each bin.

    Args:
        integers: the bin of each row, as returned by `equal_bins`.
    """
    distance = np.bincount(integers, right - confidence)
    return float(np.abs(distance).sum() / len(confidence))


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Estimates and the ends of their intervals, in arrays of the same shape; NaN without data."""

    value: Floats
    low: Floats
    high: Floats


class Bootstrap:
    """Means and ratios over rows, with intervals from resampling whole groups of rows.

    Args:
        group: the group number of each row, starting from 0, ``(rows,)``.
        draws: the number of resamples. All estimates use the same resamples.
    """

    def __init__(self, group: Integers, *, draws: int = 1000, seed: int = 5) -> None:
        self._group = group
        self._count = int(group.max()) + 1 if len(group) else 0
        generator = np.random.default_rng(seed)
        times = np.zeros((draws, self._count), np.float64)
        for row in times:
            row += np.bincount(
                generator.integers(self._count, size=self._count), minlength=self._count
            )
        self._times = times

    def interval(self, values: Floats, rows: NDArray[np.bool_] | None = None) -> Interval | None:
        """Return the 95% interval of a mean over ``rows``; ``None`` for fewer than two groups."""
        some = np.ones(len(values), bool) if rows is None else rows
        if len(np.unique(self._group[some])) < 2 or not len(self._times):
            return None
        estimates = self.mean(np.where(some, values, np.nan))
        return float(estimates.low), float(estimates.high)

    def mean(self, values: Floats) -> Estimates:
        """Return the mean over rows, ``(row, ...) -> (...)``. NaN values are left out."""
        return self.ratio(values, np.ones_like(values, float))

    def ratio(self, above: Floats, below: Floats) -> Estimates:
        """Return ``Σ above / Σ below``, summed over rows, ``(row, ...) -> (...)``.

        If either value is NaN, both values are left out.
        """
        counted = ~(np.isnan(above) | np.isnan(below))
        sums = np.zeros((2, self._count, *above.shape[1:]))
        for total, part in zip(sums, (above, below), strict=True):
            np.add.at(total, self._group, np.where(counted, part, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            value = sums[0].sum(0) / sums[1].sum(0)
            many = np.tensordot(self._times, sums[0], 1) / np.tensordot(self._times, sums[1], 1)
        # If few rows are selected, a resample may contain none of them.
        many = np.where(np.isfinite(many), many, np.nan)
        ends = np.full((2, *value.shape), np.nan)
        some = np.isfinite(many).any(0)
        if some.any():
            ends[:, some] = np.nanquantile(many[:, some], [0.025, 0.975], axis=0)
        return Estimates(np.where(np.isfinite(value), value, np.nan), ends[0], ends[1])


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a success rate, or ``(0, 1)`` for 0 trials.

    Reference:
        Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference".
    """
    if not trials:
        return 0.0, 1.0
    share, width = hits / trials, _Z * _Z / trials
    middle = (share + width / 2) / (1 + width)
    half = _Z / (1 + width) * math.sqrt(share * (1 - share) / trials + width / (4 * trials))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def group_numbers(names: Sequence[str]) -> Integers:
    """Number the names from 0. Equal names get the same number."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
