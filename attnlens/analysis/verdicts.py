"""From effects to verdicts: is what a head points at more than chance?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from attnlens.analysis.controls import FEWEST

Floats = NDArray[np.float64]
Verdict = Literal["supported", "not better than chance", "contradicted"]

Q_LEVEL: Final = 0.05
ENOUGH_POINTS: Final = 0.5
ENOUGH_NATS: Final = 0.0005
LOW_PERCENTILE: Final = 5.0

TOO_SMALL: Final = "too small to matter"
CHANCE: Final = "controls do as much"
TOO_FEW: Final = "too few other balls to compare with"


def divergence(full: Floats, ablated: Floats) -> Floats:
    """``KL(full ‖ ablated)`` in nats along the last axis, both probabilities.

    Never negative: what rounding takes below zero is zero.
    """
    nats: Floats = (full * (np.log(full) - np.log(ablated))).sum(-1)
    return np.maximum(nats, 0.0)


def p_value(effect: float, controls: Floats) -> float:
    """``(1 + #{control ≥ effect}) / (R + 1)``, one-sided."""
    return float((1 + int((controls >= effect).sum())) / (len(controls) + 1))


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """q-values: the false discovery rate at which each would be declared.

    Reference:
        Benjamini & Hochberg 1995, "Controlling the False Discovery Rate".
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    ranked = p[order] * len(p) / (np.arange(len(p)) + 1)
    smallest_above = np.minimum.accumulate(ranked[::-1])[::-1]
    q = np.empty_like(p)
    q[order] = np.minimum(smallest_above, 1.0)
    return [float(value) for value in q]


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict and why; no verdict where there was too little to compare with."""

    verdict: Verdict | None
    reason: str | None


def comparable(sets: int) -> bool:
    """Whether there are enough distinct control sets for a claim at all."""
    return sets >= FEWEST


def judge(effect: float, points: Floats, controls: Floats, q: float) -> Judged:
    """The verdict on one claim.

    Args:
        effect: nats.
        points: change of each outcome, percentage points.
        controls: the controls' effects, nats.
        q: the claim's q-value among all claims on its ball.
    """
    matters = effect >= ENOUGH_NATS or float(np.abs(points).max()) >= ENOUGH_POINTS
    if q <= Q_LEVEL:
        return Judged("supported", None) if matters else Judged("not better than chance", TOO_SMALL)
    if effect < float(np.percentile(controls, LOW_PERCENTILE)):
        return Judged("contradicted", "other balls do more")
    return Judged("not better than chance", CHANCE)
