"""The null distribution of a claim: the summed effects of other sets of the same size.

If the claim's items were drawn in the same way as the control sets, every rank of its sum would be
equally likely, so p is exact.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from attnlens.files import Floats, Integers

N_DRAWS: Final = 3999
"""The number of random sets to draw if there are too many sets to enumerate."""

MAX_ENUMERATED_SETS: Final = 2000
_TIE: Final = 1e-9
"""Sums count as equal if they differ by less than this fraction of the largest sum."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The sets of ``size`` items that can be drawn from a window."""

    window: tuple[int, ...]
    size: int

    @property
    def n_sets(self) -> int:
        """The number of distinct sets, including the claim's own."""
        return math.comb(len(self.window), self.size)

    def seed(self, seed: int) -> tuple[int, int]:
        """The seed of the draws: ``seed``, and a hash of the pool's integers.

        It depends on no name and no integer type, so that renaming items changes no p-value.
        """
        numbers = np.array([1, len(self.window), self.size, *self.window], "<i8")
        return int(seed), zlib.crc32(numbers.tobytes())

    def best_set(self, statistics: Mapping[int, float]) -> tuple[int, ...]:
        """The set of the pool with the largest sum."""
        ranked = sorted(self.window, key=statistics.__getitem__, reverse=True)
        return tuple(ranked[: self.size])

    def sample(self, generator: np.random.Generator, sets: int) -> list[tuple[int, ...]]:
        """Draw sets at random, one by one."""
        rows = np.asarray(self.window)[self._draws(generator, sets)]
        return [tuple(row) for row in np.sort(rows, axis=1).tolist()]

    def null(
        self, statistics: Mapping[int, float], generator: np.random.Generator
    ) -> NullDistribution:
        """The sums of all sets, or of `N_DRAWS` random sets."""
        values = np.array([statistics[item] for item in self.window])
        if self.n_sets <= MAX_ENUMERATED_SETS:
            sums = [math.fsum(row) for row in itertools.combinations(values.tolist(), self.size)]
            return NullDistribution(np.array(sums), exhaustive=True)
        return NullDistribution(values[self._draws(generator, N_DRAWS)].sum(1), exhaustive=False)

    def _draws(self, generator: np.random.Generator, sets: int) -> Integers:
        """Draw distinct positions in the window for each set, ``(sets, size)``."""
        every = np.tile(np.arange(len(self.window)), (sets, 1))
        return generator.permuted(every, axis=1)[:, : self.size]


@dataclass(frozen=True, eq=False)
class NullDistribution:
    """The statistics ``(set,)`` of random control sets, or of all sets including the claim's
    own.
    """

    values: Floats
    exhaustive: bool

    @cached_property
    def _slack(self) -> float:
        return _TIE * float(np.abs(self.values).max(initial=0.0))

    def p_high(self, statistic: float) -> float:
        """One-sided p: the share of sets with a statistic at least as large.

        p is exact if all sets were enumerated; else it is ``(1 + #{value >= statistic}) / (draws +
        1)``.

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

    ``values (level,)`` are the quantiles at ``levels (level,)``; both increase.
    """

    values: Floats
    levels: Floats

    def p_high(self, statistic: float) -> float:
        """The share of reference items with an effect at least as large; at least the smallest
        tail level.
        """
        below = np.interp(statistic, self.values, self.levels)
        return float(np.clip(1 - below, 1 - self.levels[-1], 1.0))

    def p_low(self, statistic: float) -> float:
        """The share of reference items with an effect at least as small."""
        return self.mirrored().p_high(-statistic)

    def mirrored(self) -> ReferenceDistribution:
        """Return the distribution of the effect with its sign reversed."""
        return ReferenceDistribution(-self.values[::-1], 1 - self.levels[::-1])

    def rarity(self, statistic: float) -> float:
        """The share of reference items whose effect, in either direction, is at least as large."""
        size = abs(statistic)
        return min(1.0, self.p_high(size) + self.p_low(-size))
