"""The graph of a forward pass: what each tensor is, as leaves and operations on them.

An expression knows the shape of its value and what each axis of it is, as far as that follows
from the input. It does not keep the value; leaves and named results do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, Final

import torch
from torch import Tensor

LEAVES: Final = frozenset({"input", "parameter", "constant", "number"})
"""Kinds of expressions that have no parts."""

Options = Mapping[str, Any]
"""What fixes an operation besides its parts, by name, as `Operation.numpy` takes it."""

NONE: Final[Options] = MappingProxyType({})

Axes = tuple[str | None, ...]
"""What each axis of a value is, such as ``("batch", "token", None)``."""


@dataclass(eq=False, slots=True)
class Expression:
    """A leaf or an operation.

    Attributes:
        kind: one of `LEAVES`, or an operation of `attnlens.reference.symbolic.operations`.
        parts, options: what the operation is applied to, and whatever else fixes it.
        shape, axes: of the value.
        heads: how many heads stand side by side along the axis ``"head"``; 0: no such axis.
        symbol: of a leaf, LaTeX without the dollars.
        name: of a parameter, its path; of a constant, what it is in words.
        value: of a leaf and of what is opaque, a copy; of the others nothing.
        number: counts expressions in the order in which they were computed.
        named: the step that has this as its right-hand side, once it has one.
    """

    kind: str
    parts: tuple[Expression, ...] = ()
    options: Options = field(default_factory=dict)
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
    """An intermediate result that has a name, and a copy of its value.

    Attributes:
        symbol: as the model gives it, LaTeX without the dollars.
        path: of the module in which it was named; ``""`` for the model itself.
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


def within(expression: Expression, *, whole: bool = False) -> Iterator[Expression]:
    """The expression and everything it is made of, up to leaves and named results.

    The ``whole`` of it goes on to what named results were computed from, unless they are given.
    """
    seen: set[int] = set()
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if not whole:
            waiting.extend(part for part in one.parts if part.named is None)
        elif one.named is None or not one.named.given:
            waiting.extend(one.parts)


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


def number(value: float | int | bool) -> Expression:
    """A plain number."""
    return Expression("number", options={"value": value}, value=torch.tensor(value))


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Every tensor in nested mappings, lists and dataclasses, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from tensors_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tensors_in(one)
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            yield from tensors_in(getattr(value, one.name))


def memory_of(tensor: Tensor) -> int | None:
    """Where its numbers lie, the same for views of one another; ``None`` where it has none."""
    try:
        return tensor.untyped_storage().data_ptr() or None
    except (NotImplementedError, RuntimeError):
        return None  # such as sparse ones


class Graph:
    """Expressions by tensor, while a pass runs.

    Attributes:
        named: the results that were named, in order.
    """

    def __init__(self) -> None:
        self.named: list[Named] = []
        self._of: dict[int, Expression] = {}
        # A tensor that is gone could lend its identity to another.
        self._alive: list[Tensor] = []
        self._count = 0

    def knows(self, value: Any) -> bool:
        return id(value) in self._of

    def put(self, tensor: Tensor, expression: Expression) -> Expression:
        """From now on the tensor is that expression."""
        self._count += 1
        expression.number = self._count
        return self.put_again(tensor, expression)

    def put_again(self, tensor: Tensor, expression: Expression) -> Expression:
        """Another tensor that is the same to the reader."""
        self._of[id(tensor)] = expression
        self._alive.append(tensor)
        return expression

    def written_into(self, tensor: Tensor) -> None:
        """The tensor was changed in place, and so was whatever shares its numbers."""
        made, memory = self.of(tensor), memory_of(tensor)
        others = {id(one): one for one in self._alive if one is not tensor}
        for one in others.values():
            if memory is not None and memory_of(one) == memory and self.of(one) is not made:
                before = self.of(one)
                self.operation(one, "opaque", (before, made), {"name": "filled"}, before.axes)

    def leaf(
        self,
        tensor: Tensor,
        kind: str,
        symbol: str = "",
        name: str = "",
        axes: Axes | None = None,
    ) -> Expression:
        """A tensor that comes from outside the pass, or does not depend on what does."""
        made = Expression(kind, symbol=symbol, name=name, value=kept(tensor))
        made.shape = tuple(tensor.shape)
        made.axes = (None,) * tensor.dim() if axes is None else axes
        return self.put(tensor, made)

    def of(self, value: Any) -> Expression:
        """The expression of a tensor or a number; an unknown tensor is a constant."""
        if isinstance(value, Tensor):
            known = self._of.get(id(value))
            return self.leaf(value, "constant") if known is None else known
        return number(value)

    def operation(
        self,
        tensor: Tensor,
        kind: str,
        parts: tuple[Expression, ...],
        options: Options = NONE,
        axes: Axes | None = None,
        heads: int | None = None,
    ) -> Expression:
        """The tensor is the result of an operation."""
        shape = tuple(tensor.shape)
        if all(part.kind in ("constant", "number") for part in parts):
            return self.leaf(tensor, "constant", axes=axes)
        if axes is None:
            axes = broadcast_axes(parts, shape)
        if heads is None:
            heads = max(part.heads for part in parts)
        heads = heads if "head" in axes else 0
        made = Expression(kind, parts, options, shape, axes, heads)
        made.value = kept(tensor) if kind == "opaque" else None
        return self.put(tensor, made)

    def name(self, symbol: str, value: Tensor, description: str, path: str, given: bool) -> Named:
        """The tensor's expression is the right-hand side of an equation."""
        expression = self.of(value)
        if expression.is_leaf or expression.named is not None:
            # A second name for the same thing is an equation of its own.
            again = replace(expression, kind="same", parts=(expression,), options=NONE, value=None)
            expression = self.put(value, again)
        made = Named(symbol, description, path, expression, kept(value), given)
        expression.named = made
        self.named.append(made)
        return made

    def forget_names(self, count: int) -> None:
        """Take back all names but the first ``count``."""
        for named in self.named[count:]:
            named.expression.named = None
        del self.named[count:]


Arguments = tuple[Any, ...]
"""What a function of torch was given by place."""

ByName = Options
"""What it was given by name."""

NUMPY_WORDS: Final = {"dim": "axis", "keepdim": "keepdims", "other": "x2"}
"""Torch takes the names that numpy has for arguments as well."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call of torch whose result is to become an expression."""

    graph: Graph
    function: Callable[..., Any]
    result: Tensor
    args: Arguments
    named: ByName

    @property
    def x(self) -> Expression:
        """What the first argument is."""
        return self.graph.of(self.args[0])

    def argument(self, index: int, name: str, default: Any = None) -> Any:
        """An argument by its place or its name."""
        if len(self.args) > index:
            return self.args[index]
        return self.named.get(name, self.named.get(NUMPY_WORDS.get(name, name), default))

    def of(self, index: int, name: str) -> Expression:
        """What an argument is."""
        return self.graph.of(self.argument(index, name))

    def axis(self, index: int, default: int = 0) -> int:
        """The argument that names an axis of the result, counted from the front."""
        axis: int = self.argument(index, "dim", default)
        return axis % max(self.result.dim(), 1)

    def made(
        self,
        kind: str,
        *parts: Expression,
        axes: Axes | None = None,
        heads: int | None = None,
        **options: Any,
    ) -> Expression:
        """The result is an operation on these parts."""
        return self.graph.operation(self.result, kind, parts, options, axes, heads)


Translator = Callable[[Call], Expression | None]
"""Makes the expression of a call's result; ``None`` where it has no translation."""
