"""Named, labelled dimensions, and positions along them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from torch import Tensor

from attnlens.errors import AttnlensError, RecordingError

SINK_LABEL: Final = "<sink>"
"""What a key is called that is no token: a learnt place to put weight that no token gets."""

Positions = int | Sequence[int] | slice | None

_GIVE: Final = "give a position (0, 1, ... or -1 for the last), a list of them, or a slice"


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension: what it counts, and what each position is called if that is known.

    ``Axis("key", ("46.5", "46.6", "47.1"))``
    """

    name: str
    labels: tuple[str, ...] | None = None


def positions(
    name: str, given: Any, error: type[AttnlensError] = RecordingError
) -> tuple[int, ...] | slice:
    """Positions as they may be given, one or many; else an error of the type given."""
    if isinstance(given, Tensor | np.ndarray):
        given = given.tolist()
    parts: Iterable[Any] = given if isinstance(given, Iterable) else (given,)
    if isinstance(given, slice):
        parts = [part for part in (given.start, given.stop, given.step) if part is not None]
    many = [] if isinstance(given, str | bytes) else list(parts)
    if not all(map(_is_number, many)) or not (many or isinstance(given, slice)):
        raise error(f"{name}={given!r}; {_GIVE}")
    return given if isinstance(given, slice) else tuple(map(operator.index, many))


def places(
    given: tuple[int, ...] | slice,
    size: int,
    what: str,
    error: type[AttnlensError] = RecordingError,
    remedy: str = "",
) -> list[int]:
    """Positions counted from 0 along an axis of some size, at least one.

    ``what`` they are of, such as ``"encoder: head"``, and a ``remedy`` are for the error, which is
    of the type given: a position that is not there, or none at all.
    """
    there = f"there are {size} (0 to {size - 1}, or -1 for the last){remedy}"
    if isinstance(given, slice):
        chosen = list(range(size))[given] if given.step != 0 else []
        if not chosen:
            raise error(f"{what}: {given!r} chooses none; {there}")
        return chosen
    for index in given:
        if not -size <= index < size:
            raise error(f"{what} {index} is out of range; {there}")
    return [position % size for position in given]


def _is_number(value: object) -> bool:
    try:
        operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return not isinstance(value, bool | np.bool_)
