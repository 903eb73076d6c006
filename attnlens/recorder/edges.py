"""Which cells of attention weights are meant: keys, queries, heads, sequences of the batch."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

import torch
from torch import Tensor

from attnlens.errors import InterventionError
from attnlens.recording.axes import Positions, places, positions

AXES: Final = ("batch", "head", "query", "key")

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
        batch: which sequences of the batch.

    Raises:
        InterventionError: a field that holds no positions.
    """

    key: Positions = None
    query: Positions = None
    head: Positions = None
    batch: Positions = None

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            if given is not None:
                kept = positions(field.name, given, InterventionError)
                object.__setattr__(self, field.name, kept)

    def cells(self, shape: tuple[int, ...], site: str, device: Any = None) -> Tensor:
        """The cells of weights of a shape.

        Args:
            shape: ``(batch, head, query, key)``.

        Returns:
            boolean, broadcastable to ``shape``; true where a cell is chosen.

        Raises:
            InterventionError: a position that is not there.
        """
        chosen = torch.ones(1, 1, 1, 1, dtype=torch.bool)
        for place, name in enumerate(AXES):
            given = getattr(self, name)
            if given is None:
                continue
            flags = torch.zeros(shape[place], dtype=torch.bool)
            told = f"{site}: {name}"
            flags[places(given, shape[place], told, InterventionError, _OTHERS)] = True
            chosen = chosen & flags.view([-1 if axis == place else 1 for axis in range(4)])
        return chosen.to(device)


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
    four = value
    while four.dim() < 4:
        four = four.unsqueeze(min(1, four.dim() - 1))
    if any(size not in (1, whole) for size, whole in zip(four.shape, shape, strict=True)):
        told = {1: "key", 2: "batch, key", 3: "batch, query, key", 4: ", ".join(AXES)}[value.dim()]
        raise InterventionError(
            f"{site}: {name}= has shape {tuple(value.shape)}, read as ({told}); the weights are "
            f"(batch, head, query, key) = {tuple(shape)}; name the sites meant with sites="
        )
    return four


TENSORS: Final = "tensors are (key), (batch, key), (batch, query, key) or (batch, head, query, key)"
