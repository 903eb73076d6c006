"""A prediction shared out over a handful of groups of items: exact Shapley values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from attnlens.arrays import Flags, Floats
from attnlens.errors import InputError

_GROUPS: Final = 10
"""Every subset of the groups is asked about: 1,024 of them for ten."""


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """Exact Shapley values.

    Attributes:
        groups: their names.
        table: each group's part ``(group, outcome)``, in probability; the parts sum to
            ``full - baseline``. A group without an item is not played: its part is zero.
        played: the groups that have an item.
        values: what is said with every subset of those, in the order of `subsets`,
            ``(subset, outcome)``.
    """

    groups: tuple[str, ...]
    table: Floats
    played: tuple[str, ...]
    values: Floats

    @property
    def full(self) -> Floats:
        """With every group, ``(outcome,)``."""
        last: Floats = self.values[-1]
        return last

    @property
    def baseline(self) -> Floats:
        """With none, ``(outcome,)``."""
        first: Floats = self.values[0]
        return first

    @property
    def masks(self) -> int:
        """How many subsets were asked about."""
        return len(self.values)

    def beyond(self, group: str) -> tuple[Floats, Floats]:
        """What is said with one group alone, and the others' parts of what they add to it.

        Returns:
            ``(outcome,)``, and ``(group, outcome)`` with zeros for the group itself; they sum
            to ``full``.
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
    """Each group's part of the prediction with everything minus that with nothing.

    Args:
        predict: masks ``(mask, item)``, true where kept, to probabilities ``(mask, outcome)``.
        groups: name to items.
        items: the items, in the order of the masks' columns.

    Raises:
        InputError: an item in two groups or in none, a group's item that does not exist, or
            more than `_GROUPS` groups.

    Reference:
        Shapley 1953, "A Value for n-Person Games".
    """
    columns = check_groups(groups, items)
    played = [name for name in groups if len(groups[name])]
    flags = subsets(len(played))
    masks = np.zeros((len(flags), len(items)), bool)
    for number, name in enumerate(played):
        masks[:, [columns[item] for item in groups[name]]] = flags[:, [number]]
    values = predict(masks)
    table = np.zeros((len(groups), values.shape[1]))
    if played:
        table[[list(groups).index(name) for name in played]] = shapley_values(values)
    return Contributions(tuple(groups), table, tuple(played), values)


def check_groups(groups: Mapping[str, Sequence[int]], items: Sequence[int]) -> dict[int, int]:
    """Each item's column.

    Raises:
        InputError: see `contributions`.
    """
    columns = {item: number for number, item in enumerate(items)}
    grouped = [item for members in groups.values() for item in members]
    wrongs = {
        "does not exist": set(grouped) - set(columns),
        "is in groups twice": {item for item, times in Counter(grouped).items() if times > 1},
        "is in no group": set(columns) - set(grouped),
    }
    for problem, wrong in wrongs.items():
        if wrong:
            raise InputError(f"item {min(wrong)} {problem}", remedy="put every item in one group")
    played = sum(bool(len(members)) for members in groups.values())
    if played > _GROUPS:
        raise InputError(
            f"{played} groups are too many to ask about every subset",
            remedy=f"make at most {_GROUPS}",
        )
    return columns


def subsets(groups: int) -> Flags:
    """Every subset of ``groups`` as a row of flags, ``(2**groups, groups)``.

    Row ``n`` holds the binary digits of ``n``, lowest first: row 0 is the empty set, the
    last row all of them.
    """
    numbers = np.arange(2**groups)[:, None]
    flags: Flags = (numbers >> np.arange(groups)) & 1 == 1
    return flags


def shapley_values(values: Floats) -> Floats:
    """Each group's part of ``values[all] - values[none]``.

    Args:
        values: the worth of every subset in the order of `subsets`, ``(2**n, ...)``.

    Returns:
        ``(n, ...)``; the sum over groups is exactly the difference, up to rounding.

    Reference:
        Shapley 1953, "A Value for n-Person Games".
    """
    count = len(values)
    groups = count.bit_length() - 1
    if count != 2**groups:
        raise ValueError(f"{count} values are not one for each subset")
    sizes = np.array([number.bit_count() for number in range(count)])
    numbers = np.arange(count)
    shares = []
    for group in range(groups):
        without = numbers[(numbers >> group) & 1 == 0]
        weight = np.array(
            [
                math.factorial(size) * math.factorial(groups - size - 1) / math.factorial(groups)
                for size in sizes[without]
            ]
        )
        gain = values[without | (1 << group)] - values[without]
        shares.append(np.tensordot(weight, gain, axes=(0, 0)))
    result: Floats = np.stack(shares)
    return result
