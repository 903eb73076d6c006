"""Memory for weights: that of recordings nobody holds any more, where there is some.

A system hands out new memory a page at a time, which takes about as long as working out what is
written there. So what a dropped recording leaves is kept for the next one, up to `MOST_BYTES`.
"""

from __future__ import annotations

import math
import weakref
from typing import Final

import torch
from torch import Tensor

MOST_BYTES: Final = 192 << 20
"""Kept: whole weights of 12 layers of 12 heads and 512 tokens, in float32, are 144 MiB."""

_idle: Final[dict[int, list[Tensor]]] = {}
"""By size in bytes. Taking from a list and adding to it need no lock."""


def empty(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """A tensor that holds anything; its memory comes back once nobody holds it."""
    size = math.prod(shape) * dtype.itemsize
    if device.type != "cpu" or not 0 < size <= MOST_BYTES:
        return torch.empty(shape, dtype=dtype, device=device)
    try:
        memory = _idle[size].pop()
    except (KeyError, IndexError):
        memory = torch.empty(size, dtype=torch.uint8)
    # The storage of the tensor that is given away holds this array, and nobody else does.
    lent = memory.numpy()
    weakref.finalize(lent, _take_back, memory).atexit = False
    return torch.from_numpy(lent).view(dtype).view(shape)


def zeros(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """A tensor of zeros, likewise."""
    if math.prod(shape) * dtype.itemsize > MOST_BYTES:
        return torch.zeros(shape, dtype=dtype, device=device)  # a page at a time, when written to
    return empty(shape, dtype, device).zero_()


def _take_back(memory: Tensor) -> None:
    idle = sum(size * len(some) for size, some in [*_idle.items()])
    if idle + memory.nbytes > MOST_BYTES:
        _idle.clear()
    _idle.setdefault(memory.nbytes, []).append(memory)
