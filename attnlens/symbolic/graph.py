"""The graph of a forward pass: which expression each tensor is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from torch import Tensor

from attnlens.symbolic.expressions import (
    NONE,
    Axes,
    Expression,
    Named,
    broadcast_axes,
    kept,
    most_heads,
    number,
)


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
        self._of[id(tensor)] = expression
        self._alive.append(tensor)
        return expression

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
        return self.put(
            tensor,
            Expression(
                kind,
                shape=tuple(tensor.shape),
                axes=(None,) * tensor.dim() if axes is None else axes,
                symbol=symbol,
                name=name,
                value=kept(tensor),
            ),
        )

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
        options: Mapping[str, Any] = NONE,
        axes: Axes | None = None,
        heads: int | None = None,
    ) -> Expression:
        """The tensor is the result of an operation."""
        shape = tuple(tensor.shape)
        if all(part.kind in ("constant", "number") for part in parts):
            return self.leaf(tensor, "constant", axes=axes)
        made = Expression(
            kind,
            parts,
            options,
            shape,
            broadcast_axes(parts, shape) if axes is None else axes,
            most_heads(parts) if heads is None else heads,
        )
        if "head" not in made.axes:
            made.heads = 0
        return self.put(tensor, made)

    def name(self, symbol: str, value: Tensor, description: str, path: str, given: bool) -> Named:
        """The tensor's expression is the right-hand side of an equation."""
        expression = self.of(value)
        if expression.is_leaf or expression.named is not None:
            # A second name for the same thing is an equation of its own.
            expression = self.put(
                value,
                Expression(
                    "same",
                    (expression,),
                    NONE,
                    expression.shape,
                    expression.axes,
                    expression.heads,
                ),
            )
        made = Named(symbol, description, path, expression, kept(value), given)
        expression.named = made
        self.named.append(made)
        return made

    def forget_names(self, count: int) -> None:
        """Take back all names but the first ``count``."""
        for named in self.named[count:]:
            named.expression.named = None
        del self.named[count:]


Translator = Callable[[Graph, Tensor, tuple[Any, ...], Mapping[str, Any]], Expression | None]
"""Makes the expression of a call's result; ``None`` where it has no translation."""
