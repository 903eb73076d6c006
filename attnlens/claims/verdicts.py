"""From effects to verdicts: is what a head points at more than chance?

A claim is *supported* where hiding its items does more than hiding others like them (q at
most `Q_LEVEL`), where it matters, where it goes the way its sentence says, and where a second
way of taking the items away agrees. It is *contradicted* where other items do more, or where
hiding its items matters, is more than chance, and goes against its sentence. All else is *not
better than chance*.

The others are random sets: what taking away *any* such items would have done.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from attnlens.arrays import Floats

Verdict = Literal["supported", "not better than chance", "contradicted"]

CONTROLS: Final = 999
FEWEST: Final = 40
"""With fewer distinct sets than this a share of them says nothing."""

STRATA: Final[tuple[int, ...]] = (3, 6, 12, 24)
"""Upper ends of the distance strata 1-3, 4-6, 7-12, 13-24; 25 and more is the last."""

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


@dataclass(frozen=True, slots=True)
class Pool:
    """What a control set is drawn from, and how.

    Two claims with equal pools share their controls.

    Attributes:
        window: the positions to draw from, in order.
        take: how many, one number per stratum of `strata`; a single number where
            distance does not matter.
        strata: the positions of ``window`` by stratum, in the order of ``take``.
    """

    window: tuple[int, ...]
    take: tuple[int, ...]
    strata: tuple[tuple[int, ...], ...]

    @property
    def sets(self) -> int:
        """How many distinct sets there are."""
        return math.prod(
            math.comb(len(stratum), count)
            for stratum, count in zip(self.strata, self.take, strict=True)
        )


def stratum(distance: int) -> int:
    """The distance stratum of an item ``distance`` places back (1 is the last)."""
    return sum(distance > end for end in STRATA)


def pool_for(
    removed: Sequence[int], window: Sequence[int], distances: Mapping[int, int] | None = None
) -> Pool:
    """The pool of sets that are like ``removed``.

    Args:
        removed: the positions a claim is about, all in ``window``.
        window: the positions that could have been chosen.
        distances: position to distance; given, the sets also match its strata.
    """
    ordered = tuple(window)
    if distances is None:
        return Pool(ordered, (len(removed),), (ordered,))
    count = len(STRATA) + 1
    strata = tuple(
        tuple(place for place in ordered if stratum(distances[place]) == number)
        for number in range(count)
    )
    take = tuple(
        sum(stratum(distances[place]) == number for place in removed) for number in range(count)
    )
    return Pool(ordered, take, strata)


def draw(
    pool: Pool, generator: np.random.Generator, controls: int = CONTROLS
) -> list[tuple[int, ...]]:
    """Control sets: ``controls`` drawn at random, or all of them where there are no more."""
    if pool.sets <= controls:
        choices = (
            itertools.combinations(stratum, count)
            for stratum, count in zip(pool.strata, pool.take, strict=True)
        )
        return [
            tuple(sorted(itertools.chain.from_iterable(parts)))
            for parts in itertools.product(*choices)
        ]
    picks = []
    for stratum, count in zip(pool.strata, pool.take, strict=True):
        if count:
            # The first few of a random order of each stratum, a row per set.
            order = generator.random((controls, len(stratum))).argsort(1)[:, :count]
            picks.append(np.asarray(stratum)[order])
    rows = np.sort(np.concatenate(picks, axis=1), axis=1)
    return [tuple(row) for row in rows.tolist()]
