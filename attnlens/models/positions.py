"""Where in a sequence a token stands, as waves of many lengths."""

from __future__ import annotations

import torch
from torch import Tensor

BASE = 10_000.0


def sinusoids(length: int, width: int, n: float = BASE) -> Tensor:
    """``P[k, 2i] = sin(k / n^(2i/d))`` and ``P[k, 2i+1] = cos(k / n^(2i/d))``, ``0 <= i < d/2``.

    Args:
        length: places ``k``, from 0.
        width: ``d``; an odd one ends on a sine.
        n: the base; the longest wave is ``2π n^((d-2)/d)`` places long.

    Returns:
        ``(length, width)``, in the default precision, rounded once from double.

    Raises:
        ValueError: ``length`` is negative or ``width`` is not positive.

    Reference:
        Vaswani et al. 2017, "Attention Is All You Need", section 3.5.
    """
    if length < 0 or width < 1:
        raise ValueError(f"{length} places of width {width} cannot be")
    places = torch.arange(length, dtype=torch.float64)[:, None]
    even = torch.arange(0, width, 2, dtype=torch.float64)
    angles = places / n ** (even / width)
    waves = torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)
    return waves[:, :width].to(torch.get_default_dtype())
