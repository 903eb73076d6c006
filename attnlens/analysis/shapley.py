"""Exact Shapley values over a handful of groups."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from attnlens.arrays import Floats


def subsets(groups: int) -> NDArray[np.bool_]:
    """Every subset of ``groups`` as a row of flags, ``(2**groups, groups)``.

    Row ``n`` holds the binary digits of ``n``, lowest first: row 0 is the empty set, the
    last row all of them.
    """
    numbers = np.arange(2**groups)[:, None]
    flags: NDArray[np.bool_] = (numbers >> np.arange(groups)) & 1 == 1
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
