"""Exact Shapley values, which split a prediction among a few groups of items."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from attnlens.errors import InputError
from attnlens.files import Flags, Floats

_MAX_GROUPS: Final = 10


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """The exact Shapley values of groups of items.

    Attributes:
        groups: the names of all groups.
        table: each group's contribution, ``(group, outcome)``; 0 for a group without items. The
            contributions sum to ``full - baseline``.
        played: the groups with at least one item.
        values: the probabilities for each subset of ``played``, ``(subset, outcome)``, in the order
            of `subsets`.
    """

    groups: tuple[str, ...]
    table: Floats
    played: tuple[str, ...]
    values: Floats

    @property
    def full(self) -> Floats:
        """The probabilities with all groups visible, ``(outcome,)``."""
        last: Floats = self.values[-1]
        return last

    @property
    def baseline(self) -> Floats:
        """The probabilities with all groups hidden, ``(outcome,)``."""
        first: Floats = self.values[0]
        return first

    @property
    def masks(self) -> int:
        """The number of evaluated subsets."""
        return len(self.values)

    def beyond(self, group: str) -> tuple[Floats, Floats]:
        """Return the probabilities with only one group, and the contributions of the other groups.

        The shapes are ``(outcome,)`` and ``(group, outcome)``. The contributions sum to ``full``
        minus the first array. The row of ``group`` is 0.
        """
        position = self.played.index(group)
        with_group = (np.arange(self.masks) >> position) & 1 == 1
        values = self.values[with_group]
        parts = np.zeros_like(self.table)
        other_groups = [name for name in self.played if name != group]
        if other_groups:
            parts[[self.groups.index(name) for name in other_groups]] = shapley_values(values)
        return values[0], parts


def contributions(
    predict: Callable[[Flags], Floats],
    groups: Mapping[str, Sequence[int]],
    items: Sequence[int],
) -> Contributions:
    """Split a prediction among groups of items.

    Args:
        predict: a function from masks ``(mask, item)`` to probabilities ``(mask, outcome)``. A mask
            is true where an item is visible.
        groups: the items of each group.
        items: the items, in the order of the masks' columns.

    Raises:
        InputError: an item is not in exactly one group, a group contains an unknown item, or more
            than 10 groups contain items.

    Reference:
        Shapley 1953, "A Value for n-Person Games".
    """
    columns = {item: number for number, item in enumerate(items)}
    grouped = [item for members in groups.values() for item in members]
    faults = {
        "is not an item of the model": set(grouped) - set(columns),
        "is listed twice in the groups": {
            item for item, times in Counter(grouped).items() if times > 1
        },
        "is in no group": set(columns) - set(grouped),
    }
    for fault, culprits in faults.items():
        if culprits:
            raise InputError(
                f"item {min(culprits)} {fault}", remedy="put every item into exactly one group"
            )
    played = [name for name in groups if len(groups[name])]
    if len(played) > _MAX_GROUPS:
        raise InputError(
            f"{len(played)} groups have too many subsets to test all of them",
            remedy=f"give at most {_MAX_GROUPS} groups",
        )
    flags = subsets(len(played))
    masks = np.zeros((len(flags), len(items)), bool)
    for number, name in enumerate(played):
        masks[:, [columns[item] for item in groups[name]]] = flags[:, [number]]
    values = predict(masks)
    table = np.zeros((len(groups), values.shape[1]))
    if played:
        table[[list(groups).index(name) for name in played]] = shapley_values(values)
    return Contributions(tuple(groups), table, tuple(played), values)


def subsets(groups: int) -> Flags:
    """Return every subset as a row of flags, ``(2**groups, groups)``.

    Column ``i`` contains bit ``i`` of the row number; bit 0 is the lowest bit.
    """
    numbers = np.arange(2**groups)[:, None]
    flags: Flags = (numbers >> np.arange(groups)) & 1 == 1
    return flags


def shapley_values(values: Floats) -> Floats:
    """Return the contributions of groups, ``(n, ...)``; the sum is ``values[-1] - values[0]``.

    Args:
        values: the value of every subset, ``(2**n, ...)``, in the order of `subsets`.
    """
    count = len(values)
    groups = count.bit_length() - 1
    if count != 2**groups:
        raise ValueError(
            f"{count} values were given, but the number of values must be a power of 2"
        )
    sizes = np.array([number.bit_count() for number in range(count)])
    weights = np.array([1 / (groups * math.comb(groups - 1, size)) for size in range(groups)])
    numbers = np.arange(count)
    shares = []
    for group in range(groups):
        without = numbers[(numbers >> group) & 1 == 0]
        gain = values[without | (1 << group)] - values[without]
        shares.append(np.tensordot(weights[sizes[without]], gain, axes=(0, 0)))
    result: Floats = np.stack(shares)
    return result
