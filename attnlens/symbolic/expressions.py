"""What a forward pass computed, as mathematics: leaves, and operations on them.

An expression knows the shape of its value and what each axis of it is, as far as that follows
from the input. It does not keep the value; leaves and named results do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import torch
from torch import Tensor

LEAVES: Final = frozenset({"input", "parameter", "constant", "number"})
"""Kinds of expressions that have no parts."""

NONE: Final[Mapping[str, Any]] = MappingProxyType({})
"""No options."""

Axes = tuple[str | None, ...]
"""What each axis of a value is, such as ``("batch", "token", None)``."""


@dataclass(eq=False, slots=True)
class Expression:
    """A leaf or an operation.

    Attributes:
        kind: one of `LEAVES`, or an operation of `attnlens.symbolic.numbers`.
        parts: what the operation is applied to.
        options: whatever else fixes the operation, such as an axis.
        shape: of the value.
        axes: what the value's axes are.
        heads: how many heads stand side by side along the axis ``"head"``; 0: no such axis.
        symbol: of a leaf, LaTeX without the dollars.
        name: of a parameter, its path; of a constant, what it is in words.
        value: of a leaf, a copy; of the others nothing.
        number: counts expressions in the order in which they were computed.
        named: the step that has this as its right-hand side, once it has one.
    """

    kind: str
    parts: tuple[Expression, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    shape: tuple[int, ...] = ()
    axes: Axes = ()
    heads: int = 0
    symbol: str = ""
    name: str = ""
    value: Tensor | None = None
    number: int = 0
    named: Named | None = field(default=None, repr=False)

    @property
    def is_leaf(self) -> bool:
        return self.kind in LEAVES


@dataclass(eq=False, slots=True)
class Named:
    """An intermediate result that has a name.

    Attributes:
        symbol: as the model gives it, LaTeX without the dollars.
        description: a few words.
        path: of the module in which it was named; ``""`` for the model itself.
        expression: what it was computed from.
        value: a copy.
        given: whether it is described rather than derived.
        label: tells it apart from others of the same symbol; ``""`` where there are none.
    """

    symbol: str
    description: str
    path: str
    expression: Expression
    value: Tensor
    given: bool = False
    label: str = ""


def within(expression: Expression) -> Iterator[Expression]:
    """The expression and everything it is made of, up to leaves and named results."""
    seen: set[int] = set()
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting.extend(part for part in one.parts if part.named is None)


def references(expression: Expression) -> Iterator[Expression]:
    """The leaves and named results that the expression is written with."""
    seen: set[int] = set()
    for one in within(expression):
        if one.is_leaf and one.named is None:
            yield one
        for part in one.parts:
            if part.named is not None and id(part) not in seen:
                seen.add(id(part))
                yield part


def kept(value: Tensor) -> Tensor:
    """A copy that no later change of the tensor reaches."""
    return value.detach().clone()


def broadcast_axes(parts: tuple[Expression, ...], shape: tuple[int, ...]) -> Axes:
    """The axes of what several values give element by element."""
    axes: list[str | None] = [None] * len(shape)
    for part in parts:
        for back in range(1, len(part.axes) + 1):
            # A size of 1 is stretched, and no longer means what it did.
            if axes[-back] is None and part.shape[-back] == shape[-back]:
                axes[-back] = part.axes[-back]
    return tuple(axes)


def most_heads(parts: tuple[Expression, ...]) -> int:
    return max((part.heads for part in parts), default=0)


def number(value: float | int | bool) -> Expression:
    """A plain number."""
    return Expression("number", options={"value": value}, value=torch.tensor(value))
