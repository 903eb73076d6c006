"""`trace`: every number of a forward pass, named as in the equations, and each equation checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor, nn

from attnlens.errors import UnknownNameError
from attnlens.files import Json
from attnlens.reference.symbolic.description import Book, Equation
from attnlens.reference.symbolic.graph import Axes, Expression
from attnlens.reference.symbolic.operations import difference
from attnlens.reference.symbolic.tracing import run
from attnlens.render.trace import render_trace
from attnlens.words import choices


@dataclass(frozen=True, slots=True, eq=False)
class Value(Equation):
    """A named value of the pass, with the equation it was computed by; an input has none.

    Attributes:
        axes: what the axes of ``values`` are: ``head``, ``token`` and so on, ``""`` unknown.
        values: the numbers, without the batch; with the heads first where there are several.
        difference: the largest difference between what the equation gives, worked out again
            by numpy, and what the model computed; ``None`` where that cannot be done.
    """

    axes: tuple[str, ...]
    values: Tensor
    difference: float | None

    def plain(self) -> Any:
        """The numbers as lists within lists; what is not finite or complex is a text."""
        return _plain(self.values.tolist())

    def to_dict(self) -> Json:
        """As plain JSON data; not finite or complex numbers are texts: ``"-inf"``, ``"1-2i"``."""
        return {
            "symbol": self.symbol,
            "shape": list(self.shape),
            "axes": list(self.axes),
            "values": self.plain(),
            "description": self.description,
            "equation": self.text,
            "latex": self.latex,
            "difference": self.difference,
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trace:
    """A forward pass, number by number.

    Attributes:
        name, about: of the model, and a line on the input.
        labels: axis to its labels, such as ``{"token": ("3", "1", "4")}``.
        steps: the named results, in the order in which they were computed.
    """

    name: str
    about: str
    labels: dict[str, tuple[str, ...]]
    inputs: tuple[Value, ...]
    steps: tuple[Value, ...]
    output: Any

    def __getitem__(self, symbol: str) -> Tensor:
        """The values of a step or an input by its symbol.

        Raises:
            UnknownNameError: there is none.
        """
        values = {one.symbol: one.values for one in (*self.inputs, *reversed(self.steps))}
        if symbol not in values:
            raise UnknownNameError(f"no step {symbol!r}; there are {choices(symbol, values)}")
        return values[symbol]

    @property
    def difference(self) -> float | None:
        """The largest difference of all equations that were worked out again."""
        told = [step.difference for step in self.steps if step.difference is not None]
        return max(told, default=None)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Symbols of the steps whose equations cannot be worked out again."""
        return tuple(step.symbol for step in self.steps if step.difference is None)

    def to_dict(self) -> Json:
        """As plain JSON data."""
        return {
            "name": self.name,
            "about": self.about,
            "labels": {axis: list(labels) for axis, labels in self.labels.items()},
            "inputs": [one.to_dict() for one in self.inputs],
            "steps": [step.to_dict() for step in self.steps],
            "retraced": {
                "equations": len(self.steps) - len(self.unchecked),
                "largest_difference": self.difference,
                "not_retraced": list(self.unchecked),
            },
        }

    def __str__(self) -> str:
        return render_trace(self)

    __repr__ = __str__


def trace(
    module: nn.Module,
    *inputs: Any,
    name: str | None = None,
    names: Sequence[str] = (),
    axes: Mapping[str, Axes] | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    batched: bool = False,
    about: str = "",
    **by_name: Any,
) -> Trace:
    """Every intermediate result of a forward pass, named as in `describe`'s equations.

    ::

        print(attnlens.trace(model, torch.randn(3, 8)))

    Each equation is worked out again by numpy, from the values it is written with, and compared
    with what the model computed.

    Args:
        inputs: what the module is called with.
        name: as for `describe`.
        names: as for `describe`.
        axes: as for `describe`.
        batched: as for `describe`.
        labels: axis to its labels, where they are known.
        about: a line on the input.
        by_name: as for `describe`.

    Raises:
        RecordingError: no module, no tensor comes in, or nothing that comes out depends on it.
    """
    book = Book(run(module, inputs, by_name, names=names, axes=axes, batched=batched))
    return Trace(
        name=type(module).__name__ if name is None else name,
        about=about,
        labels={axis: tuple(map(str, given)) for axis, given in (labels or {}).items()},
        inputs=tuple(_value(book, leaf) for leaf in book.told.inputs.values()),
        steps=tuple(_value(book, one.expression) for one in book.told.named),
        output=book.told.output,
    )


def _value(book: Book, expression: Expression) -> Value:
    values = expression.value if expression.named is None else expression.named.value
    assert values is not None
    told, places = book.equation(expression), book.places(expression)
    silent = [at for at in range(values.dim()) if at not in places]
    with_heads = {"axes": tuple(expression.axes[at] or "" for at in places)}
    return Value(
        **asdict(told) | with_heads,
        values=values.permute((*silent, *places)).reshape([expression.shape[at] for at in places]),
        difference=None if expression.named is None else difference(expression.named),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    told = isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value))
    return str(value) if told else value
