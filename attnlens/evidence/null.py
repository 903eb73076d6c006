"""The null distribution of a claim: other sets of as many items, and the sums of their effects.

If the claim's items were drawn as the control sets are, every rank of its sum would be equally
likely, so p is exact. Matched control sets have as many items of each kind, such as a distance.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from attnlens.files import Floats, Integers

N_DRAWS: Final = 3999
"""Sets drawn at random, where there are too many to enumerate."""

MAX_ENUMERATED_SETS: Final = 2000
"""Up to this many sets are all compared with."""

_STRATA_ENDS: Final[tuple[int, ...]] = (3, 6, 12, 24)
"""Upper ends of the distance strata 1-3, 4-6, 7-12, 13-24; 25 and more is the last."""

_TIE: Final = 1e-9
"""Sums that differ by less than this share of the largest are equal."""


def stratum(distance: int) -> int:
    """The distance stratum of an item ``distance`` positions back (1 is the last item)."""
    return sum(distance > end for end in _STRATA_ENDS)


@dataclass(frozen=True, slots=True)
class Pool:
    """The items of a window by stratum (a kind of item), and how many a set takes of each."""

    take: tuple[int, ...]
    strata: tuple[tuple[int, ...], ...]

    @property
    def n_sets(self) -> int:
        """How many distinct sets there are, the claim's own among them."""
        return math.prod(math.comb(len(stratum), count) for stratum, count in self._parts())

    def seed(self, seed: int) -> tuple[int, int]:
        """Seed of the draws: ``seed``, and a hash of the pool's integers.

        It depends on no name and no integer's type, so that a renaming changes no p-value.
        """
        sizes = [len(stratum) for stratum in self.strata]
        items = itertools.chain.from_iterable(self.strata)
        numbers = np.array([len(sizes), *sizes, *self.take, *items], "<i8")
        return int(seed), zlib.crc32(numbers.tobytes())

    def _parts(self) -> list[tuple[tuple[int, ...], int]]:
        return list(zip(self.strata, self.take, strict=True))

    def best_set(self, statistics: Mapping[int, float]) -> tuple[int, ...]:
        """The set of the pool with the largest sum."""
        return tuple(
            item
            for stratum, count in self._parts()
            for item in sorted(stratum, key=statistics.__getitem__, reverse=True)[:count]
        )

    def sample(self, generator: np.random.Generator, sets: int) -> list[tuple[int, ...]]:
        """Sets drawn at random, one after the other."""
        picks = [
            np.asarray(stratum)[_samples(len(stratum), count, sets, generator)]
            for stratum, count in self._parts()
            if count
        ]
        if not picks:
            return [()] * sets
        return [tuple(row) for row in np.sort(np.concatenate(picks, axis=1), axis=1).tolist()]

    def null(
        self, statistics: Mapping[int, float], generator: np.random.Generator
    ) -> NullDistribution:
        """The sums of all sets, or of `N_DRAWS` drawn ones."""
        values = [np.array([statistics[item] for item in stratum]) for stratum in self.strata]
        if self.n_sets <= MAX_ENUMERATED_SETS:
            sums = np.zeros(1)
            for row, count in zip(values, self.take, strict=True):
                parts = [math.fsum(part) for part in itertools.combinations(row.tolist(), count)]
                sums = np.add.outer(sums, parts).ravel()
            return NullDistribution(sums, exhaustive=True)
        sums = np.zeros(N_DRAWS)
        for row, count in zip(values, self.take, strict=True):
            if count:
                sums += row[_samples(len(row), count, N_DRAWS, generator)].sum(1)
        return NullDistribution(sums, exhaustive=False)


def _samples(size: int, count: int, sets: int, generator: np.random.Generator) -> Integers:
    """``count`` distinct indices below ``size``, drawn ``sets`` times, ``(sets, count)``."""
    return generator.permuted(np.tile(np.arange(size), (sets, 1)), axis=1)[:, :count]


@dataclass(frozen=True, eq=False)
class NullDistribution:
    """The values ``(set,)`` of drawn control sets, or of all sets, the claim's own included."""

    values: Floats
    exhaustive: bool

    @cached_property
    def _slack(self) -> float:
        return _TIE * float(np.abs(self.values).max(initial=0.0))

    def p_high(self, statistic: float) -> float:
        """One-sided p: the share of sets with a statistic at least as large.

        Exact where all sets were enumerated; else ``(1 + #{value >= statistic}) / (draws + 1)``.

        Reference:
            Phipson & Smyth 2010, "Permutation P-values Should Never Be Zero".
        """
        return self._p(int((self.values >= statistic - self._slack).sum()))

    def p_low(self, statistic: float) -> float:
        """One-sided p: the share of sets with a statistic at least as small."""
        return self._p(int((self.values <= statistic + self._slack).sum()))

    def _p(self, count: int) -> float:
        sets = len(self.values)
        return max(count, 1) / sets if self.exhaustive else (count + 1) / (sets + 1)


@dataclass(frozen=True, eq=False)
class ReferenceDistribution:
    """The distribution of a standardised effect among items of other inputs.

    ``values (level,)`` are its quantiles at ``levels (level,)``, both rising.
    """

    values: Floats
    levels: Floats

    def p_high(self, statistic: float) -> float:
        """The share of such items with an effect at least as large, at least that of the tail."""
        below = np.interp(statistic, self.values, self.levels)
        return float(np.clip(1 - below, 1 - self.levels[-1], 1.0))

    def p_low(self, statistic: float) -> float:
        """The share of such items with an effect at least as small."""
        return self.mirrored().p_high(-statistic)

    def mirrored(self) -> ReferenceDistribution:
        """That of the effect with its sign changed."""
        return ReferenceDistribution(-self.values[::-1], 1 - self.levels[::-1])

    def rarity(self, statistic: float) -> float:
        """The share of such items whose effect, of either sign, is at least as large."""
        size = abs(statistic)
        return min(1.0, self.p_high(size) + self.p_low(-size))


def pool_for(
    removed: Sequence[int], window: Sequence[int], kinds: Mapping[int, int] | None = None
) -> Pool:
    """The pool of sets that are like ``removed``, with as many items of each kind if given."""
    if kinds is None:
        return Pool((len(removed),), (tuple(window),))
    numbers = sorted({kinds[item] for item in window})
    return Pool(
        tuple(sum(kinds[item] == number for item in removed) for number in numbers),
        tuple(tuple(item for item in window if kinds[item] == number) for number in numbers),
    )
