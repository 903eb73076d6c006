"""What chance would have named: other sets of as many items, and the sums of their effects.

A set's *sum* is that of the effects of its items, each hidden alone. Effects of single items are
worked out once, so that sums of thousands of other sets cost next to nothing, and p is exact: if
the items named had been drawn as the other sets are, all of them would be equally likely to come
out on top.

The others are drawn from the same window. Where something plainer could explain what was named (how
far back the items lie, who said them), they have as many items of each such kind.
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

from attnlens.arrays import Floats, Integers

DRAWS: Final = 3999
"""Sets drawn at random, where there are more than can be listed."""

LISTABLE: Final = 2000
"""Where there are no more sets than this, all of them are compared with."""

STRATA: Final[tuple[int, ...]] = (3, 6, 12, 24)
"""Upper ends of the distance strata 1-3, 4-6, 7-12, 13-24; 25 and more is the last."""

TIE: Final = 1e-9
"""Sums are equal that differ by less than this share of the largest: the order of adding."""


def stratum(distance: int) -> int:
    """The distance stratum of an item ``distance`` places back (1 is the last)."""
    return sum(distance > end for end in STRATA)


@dataclass(frozen=True, slots=True)
class Pool:
    """What the sets to compare with are drawn from, and how.

    Attributes:
        take: how many items, one number per stratum, which is a kind of item.
        strata: the items of the window by stratum, in the order of ``take``.
    """

    take: tuple[int, ...]
    strata: tuple[tuple[int, ...], ...]

    @property
    def sets(self) -> int:
        """How many distinct sets there are, the one named among them."""
        return math.prod(math.comb(len(stratum), count) for stratum, count in self._parts())

    def seed(self, seed: int) -> tuple[int, int]:
        """Seed of the draws from this pool: ``seed``, and a hash of the pool's integers alone.

        No name of a class, an attribute or a head enters it, nor an integer's type, so that a
        renaming changes no p-value.
        """
        sizes = [len(stratum) for stratum in self.strata]
        items = itertools.chain.from_iterable(self.strata)
        numbers = np.array([len(sizes), *sizes, *self.take, *items], "<i8")
        return int(seed), zlib.crc32(numbers.tobytes())

    def _parts(self) -> list[tuple[tuple[int, ...], int]]:
        return list(zip(self.strata, self.take, strict=True))

    def best(self, effects: Mapping[int, float]) -> tuple[int, ...]:
        """The set of the pool with the largest sum."""
        return tuple(
            item
            for stratum, count in self._parts()
            for item in sorted(stratum, key=effects.__getitem__, reverse=True)[:count]
        )

    def drawn(self, generator: np.random.Generator, sets: int) -> list[tuple[int, ...]]:
        """Sets drawn at random, one after the other."""
        picks = [
            np.asarray(stratum)[chosen(len(stratum), count, sets, generator)]
            for stratum, count in self._parts()
            if count
        ]
        if not picks:
            return [()] * sets
        return [tuple(row) for row in np.sort(np.concatenate(picks, axis=1), axis=1).tolist()]

    def sums(self, effects: Mapping[int, float], generator: np.random.Generator) -> Sums:
        """The sums of all sets, or of `DRAWS` drawn ones."""
        values = [np.array([effects[item] for item in stratum]) for stratum in self.strata]
        if self.sets <= LISTABLE:
            sums = np.zeros(1)
            for row, count in zip(values, self.take, strict=True):
                some = [math.fsum(one) for one in itertools.combinations(row.tolist(), count)]
                sums = np.add.outer(sums, some).ravel()
            return Sums(sums, listed=True)
        sums = np.zeros(DRAWS)
        for row, count in zip(values, self.take, strict=True):
            if count:
                sums += row[chosen(len(row), count, DRAWS, generator)].sum(1)
        return Sums(sums, listed=False)


def chosen(size: int, count: int, sets: int, generator: np.random.Generator) -> Integers:
    """``count`` different places of ``size``, drawn ``sets`` times, ``(sets, count)``."""
    return generator.permuted(np.tile(np.arange(size), (sets, 1)), axis=1)[:, :count]


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums of the sets that chance would have named.

    Attributes:
        values: ``(set,)``.
        listed: whether they are all sets there are, the one named among them; else drawn ones.
    """

    values: Floats
    listed: bool

    @cached_property
    def _slack(self) -> float:
        return TIE * float(np.abs(self.values).max(initial=0.0))

    def above(self, value: float) -> float:
        """p of a set with this sum: how often chance names one with as large a sum.

        Exact where the sets are listed; else ``(1 + #{sum >= value}) / (draws + 1)``.

        Reference:
            Phipson & Smyth 2010, "Permutation P-values Should Never Be Zero".
        """
        return self._share(int((self.values >= value - self._slack).sum()))

    def below(self, value: float) -> float:
        """How often chance names a set with as small a sum."""
        return self._share(int((self.values <= value + self._slack).sum()))

    def _share(self, count: int) -> float:
        sets = len(self.values)
        return max(count, 1) / sets if self.listed else (count + 1) / (sets + 1)


def pool_for(
    named: Sequence[int], window: Sequence[int], kinds: Mapping[int, int] | None = None
) -> Pool:
    """The pool of sets that are like ``named``.

    Args:
        named: the items a claim is about, all in ``window``.
        window: the items that could have been named.
        kinds: item to its kind; given, the sets have as many items of each kind.
    """
    if kinds is None:
        return Pool((len(named),), (tuple(window),))
    numbers = sorted({kinds[item] for item in window})
    return Pool(
        tuple(sum(kinds[item] == number for item in named) for number in numbers),
        tuple(tuple(item for item in window if kinds[item] == number) for number in numbers),
    )
