"""Named tensor axes, and the selection of positions on an axis."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from torch import Tensor

from attnlens.errors import AttnlensError, RecordingError

Positions = int | Sequence[int] | slice | None

_GIVE: Final = "give a position (0, 1, ... or -1 for the last), a list of positions, or a slice"


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of a tensor: its name and, optionally, a label for each position."""

    name: str
    labels: tuple[str, ...] | None = None


def positions(
    name: str, value: Any, error: type[AttnlensError] = RecordingError
) -> tuple[int, ...] | slice:
    """Return a selection of positions as a tuple of integers or as a slice.

    ``value`` is an integer, a sequence or array of integers, or a slice. For any other value and
    for an empty sequence, ``error`` is raised.
    """
    if isinstance(value, Tensor | np.ndarray):
        value = value.tolist()
    parts: Iterable[Any] = value if isinstance(value, Iterable) else (value,)
    if isinstance(value, slice):
        parts = [part for part in (value.start, value.stop, value.step) if part is not None]
    many = [] if isinstance(value, str | bytes) else list(parts)
    if not all(map(_is_number, many)) or not (many or isinstance(value, slice)):
        raise error(f"{name}={value!r}; {_GIVE}")
    return value if isinstance(value, slice) else tuple(map(operator.index, many))


def places(
    choice: tuple[int, ...] | slice,
    size: int,
    subject: str,
    error: type[AttnlensError] = RecordingError,
    remedy: str = "",
) -> list[int]:
    """Return the selected positions, counted from 0.

    ``choice`` is a result of `positions`, and ``size`` is the number of positions. If a position is
    out of range or a slice selects nothing, ``error`` is raised. The message starts with
    ``subject`` and ends with ``remedy``.
    """
    valid_range = f"there are {size} entries (0 to {size - 1}, or -1 for the last){remedy}"
    if isinstance(choice, slice):
        chosen = list(range(size))[choice] if choice.step != 0 else []
        if not chosen:
            raise error(f"{subject}: {choice!r} selects no entry; {valid_range}")
        return chosen
    for index in choice:
        if not -size <= index < size:
            raise error(f"{subject} {index} is out of range; {valid_range}")
    return [position % size for position in choice]


def broadcasts(own: Sequence[int], shape: Sequence[int]) -> bool:
    """Return whether the shape ``own`` can be broadcast to ``shape``."""
    ends = zip(reversed(own), reversed(shape), strict=False)
    return len(own) <= len(shape) and all(size in (1, full_size) for size, full_size in ends)


def _is_number(value: object) -> bool:
    try:
        operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return not isinstance(value, bool | np.bool_)
