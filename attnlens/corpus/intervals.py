"""Intervals of 95% for shares and means of many balls, where balls of one match depend."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

Z: Final = 1.959963984540054
"""The 97.5% point of the normal distribution."""

Floats = NDArray[np.float64]


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """Wilson's score interval of a share (Wilson 1927); 0 to 1 where nothing was tried.

    It takes the trials as independent.
    """
    if not trials:
        return 0.0, 1.0
    share, width = hits / trials, Z * Z / trials
    middle = (share + width / 2) / (1 + width)
    half = Z / (1 + width) * math.sqrt(share * (1 - share) / trials + width / (4 * trials))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def ratio_interval(above: Floats, below: Floats) -> tuple[float, float, float]:
    """``Σ above / Σ below`` and its interval, groups such as matches being independent.

    The linearised variance of a ratio (Cochran 1977, 6.5); with counts for ``below`` it is the
    mean's, clustered. NaN ends where there are fewer than two groups.

    Args:
        above, below: sums of each group ``(group,)``.
    """
    groups, total = len(above), float(below.sum())
    value = float(above.sum()) / total
    if groups < 2:
        return value, math.nan, math.nan
    away = above - value * below
    half = Z * math.sqrt(groups / (groups - 1) * float((away**2).sum())) / total
    return value, value - half, value + half
