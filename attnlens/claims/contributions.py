"""A prediction shared out over groups of items, exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from attnlens.analysis.shapley import shapley_values, subsets
from attnlens.arrays import Floats
from attnlens.errors import InputError

GROUPS: Final = 10
"""Every subset of the groups is asked about: 1,024 of them for ten."""


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """Exact Shapley values.

    Attributes:
        full: probabilities with every group ``(outcome,)``.
        baseline: with none ``(outcome,)``.
        groups: their names.
        table: each group's part ``(group, outcome)``, in probability; the parts sum to
            ``full - baseline``. A group without an item is not played: its part is zero.
        masks: how many subsets were asked about.
    """

    full: Floats
    baseline: Floats
    groups: tuple[str, ...]
    table: Floats
    masks: int


def contributions(
    predict: Callable[[NDArray[np.bool_]], Floats],
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
            more than `GROUPS` groups.

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
    return Contributions(values[-1], values[0], tuple(groups), table, len(masks))


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
    for what, wrong in wrongs.items():
        if wrong:
            raise InputError(f"item {min(wrong)} {what}", remedy="put every item in one group")
    played = sum(bool(len(members)) for members in groups.values())
    if played > GROUPS:
        raise InputError(
            f"{played} groups are too many to ask about every subset",
            remedy=f"make at most {GROUPS}",
        )
    return columns
