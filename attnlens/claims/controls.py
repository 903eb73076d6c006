"""Random sets to compare with: what taking away *any* such items would have done."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

CONTROLS: Final = 999
FEWEST: Final = 40
"""With fewer distinct sets than this a share of them says nothing."""

STRATA: Final[tuple[int, ...]] = (3, 6, 12, 24)
"""Upper ends of the distance strata 1-3, 4-6, 7-12, 13-24; 25 and more is the last."""


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
    def matched(self) -> bool:
        """Whether the sets have the claim's distances."""
        return len(self.take) > 1

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
