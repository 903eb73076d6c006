"""From effects to verdicts: is what a head points at more than chance?

A claim is *supported* where hiding its items does more than hiding others like them (q at
most `Q_LEVEL`), where it matters, where it goes the way its sentence says, and where a second
way of taking the items away agrees. It is *contradicted* where other items do more, or where
hiding its items matters, is more than chance, and goes against its sentence. All else is *not
better than chance*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from attnlens.arrays import Floats
from attnlens.claims.controls import FEWEST

Verdict = Literal["supported", "not better than chance", "contradicted"]

Q_LEVEL: Final = 0.05
ENOUGH_POINTS: Final = 0.5
ENOUGH_NATS: Final = 0.0005
LOW_PERCENTILE: Final = 5.0
LEAST_LIFT: Final = 1.25
"""A head looks at items where it gives them this many times the weight of even attention."""

TOO_SMALL: Final = "too small to matter"
ITEMS: Final = "items"
"""What is hidden, where it has no better name."""

CHANCE: Final = "controls do as much"
EVEN: Final = "the head looks at them hardly more than at others"
DISAGREE: Final = "operators disagree"
OPPOSITE: Final = "hiding them raises what they are said to raise"


def too_few(items: str) -> str:
    """Why a claim has no verdict: there are not enough other ``items``, which are named so."""
    return f"too few other {items} to compare with"


def others_do_more(items: str) -> str:
    """Why a claim is contradicted: hiding other ``items`` does more."""
    return f"other {items} do more"


def about_one(probabilities: Floats, outcome: int) -> Floats:
    """Probabilities ``(..., outcome)`` as those of one outcome and of any other, ``(..., 2)``."""
    one = probabilities[..., outcome]
    return np.stack([one, 1 - one], -1)


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


def judge(
    effect: float,
    points: Floats,
    controls: Floats,
    q: float,
    *,
    against: bool = False,
    items: str = ITEMS,
) -> Judged:
    """The verdict on one claim, as far as hiding its items tells.

    Args:
        effect: nats.
        points: change of each outcome the claim is about, percentage points.
        controls: the controls' effects, nats.
        q: the claim's q-value among all claims on its input.
        against: whether the change goes against what the claim's sentence says.
        items: what items are called, for the reason.
    """
    matters = effect >= ENOUGH_NATS or float(np.abs(points).max()) >= ENOUGH_POINTS
    if q <= Q_LEVEL:
        if not matters:
            return Judged("not better than chance", TOO_SMALL)
        return Judged("contradicted", OPPOSITE) if against else Judged("supported", None)
    if effect < float(np.percentile(controls, LOW_PERCENTILE)):
        return Judged("contradicted", others_do_more(items))
    return Judged("not better than chance", CHANCE)


def agreed(judged: Judged, replaced: Floats, controls: Floats) -> Judged:
    """The verdict after the second operator: each item replaced by one like it.

    A supported claim stands where replacing its items does more, on average over draws, than
    replacing the items of its control sets does on average. Any other verdict stays.

    Args:
        replaced: nats of each draw for the claim's items ``(draw,)``.
        controls: nats of one draw for each control set ``(set,)``.
    """
    if judged.verdict != "supported" or replaced.mean() > controls.mean():
        return judged
    return Judged("not better than chance", DISAGREE)
