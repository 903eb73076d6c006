"""Which cells of attention weights are meant: keys, queries, heads, rows of the batch, calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import torch
from torch import Tensor

from attnlens.errors import InterventionError
from attnlens.recording.axes import Positions, places, positions

AXES: Final = ("batch", "head", "query", "key")

_FIELDS: Final = ("row", "head", "query", "key")
"""What `Edges` calls positions on each axis."""

_MANY: Final = 1 << 62

_OTHERS: Final = "; choose others, or name the sites meant with sites="


@dataclass(frozen=True)
class Edges:
    """Edges from queries to keys: every cell that all of its fields choose.

    ::

        Edges(head=1, query=-1, key=[3, 4])   # head 1, from the last query to keys 3 and 4

    A field is a position (-1 is the last), several of them, a slice, or None: all.

    Attributes:
        key: looked at.
        query: looking.
        head: of the model's heads, those of the queries where heads share keys.
        row: of the batch.
        call: 0, 1, ... of the calls of a site in the block.

    Raises:
        InterventionError: a field that holds no positions.
    """

    key: Positions = None
    query: Positions = None
    head: Positions = None
    row: Positions = None
    call: Positions = None

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            if given is not None:
                kept = positions(field.name, given, InterventionError)
                object.__setattr__(self, field.name, kept)
        if any(place < 0 for place in _ends(self.call)):
            raise InterventionError(
                f"call={_told(self.call)}; calls are counted from 0, and how many come is not known"
            )

    def of_call(self, number: int) -> bool:
        """Whether a site's call of this number is meant."""
        if self.call is None:
            return True
        if isinstance(self.call, slice):
            return number in range(*self.call.indices(_MANY))
        assert isinstance(self.call, tuple)
        return number in self.call

    def cells(
        self, shape: tuple[int, ...], site: str, axes: Sequence[str] = AXES, device: Any = None
    ) -> Tensor:
        """The cells of weights of a shape.

        Args:
            shape: ``(batch, head, query, key)``.
            axes: those that the site has; the others are one position long.

        Returns:
            boolean, broadcastable to ``shape``; true where a cell is chosen.

        Raises:
            InterventionError: a position that is not there.
        """
        chosen = torch.ones(1, 1, 1, 1, dtype=torch.bool)
        for place, name in enumerate(_FIELDS):
            given = getattr(self, name)
            if given is None:
                continue
            if AXES[place] not in axes and name != "key":
                raise InterventionError(
                    f"{site}: {name}={_told(given)}, and its weights have no such axis "
                    f"({', '.join(axes)})"
                )
            flags = torch.zeros(shape[place], dtype=torch.bool)
            told = f"{site}: {'batch row' if name == 'row' else name}"
            flags[places(given, shape[place], told, InterventionError, _OTHERS)] = True
            chosen = chosen & flags.view([-1 if axis == place else 1 for axis in range(4)])
        return chosen.to(device)

    def __repr__(self) -> str:
        told = ", ".join(
            f"{field.name}={_told(getattr(self, field.name))}"
            for field in fields(self)
            if getattr(self, field.name) is not None
        )
        return f"Edges({told})"


def grid(value: Tensor, shape: tuple[int, ...], name: str, site: str) -> Tensor:
    """A tensor of one number per cell, laid over weights.

    Args:
        value: ``(key,)``, ``(batch, key)``, ``(batch, query, key)`` or
            ``(batch, head, query, key)``; 1 stands for every position of an axis.
        shape: of the weights, ``(batch, head, query, key)``.

    Returns:
        the same with four dimensions.

    Raises:
        InterventionError: sizes that are not those of the weights.
    """
    lifts: dict[int, tuple[Any, ...]] = {
        1: (None, None, None),
        2: (slice(None), None, None),
        3: (slice(None), None),
        4: (),
    }
    if value.dim() not in lifts:
        raise InterventionError(f"{name}= has shape {tuple(value.shape)}; {TENSORS}")
    four = value[lifts[value.dim()]]
    if any(size not in (1, whole) for size, whole in zip(four.shape, shape, strict=True)):
        told = {1: "key", 2: "batch, key", 3: "batch, query, key", 4: ", ".join(AXES)}[value.dim()]
        raise InterventionError(
            f"{site}: {name}= has shape {tuple(value.shape)}, read as ({told}); the weights are "
            f"(batch, head, query, key) = {tuple(shape)}; name the sites meant with sites="
        )
    return four


TENSORS: Final = "tensors are (key), (batch, key), (batch, query, key) or (batch, head, query, key)"


def _told(given: Any) -> str:
    if isinstance(given, slice):
        return repr(given)
    return str(given[0]) if len(given) == 1 else str(list(given))


def _ends(given: Any) -> tuple[int, ...]:
    if isinstance(given, slice):
        return tuple(part for part in (given.start, given.stop, given.step) if part is not None)
    return given or ()
