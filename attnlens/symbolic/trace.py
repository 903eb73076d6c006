"""`trace`: every number of a forward pass, named as in the equations, and each equation checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from attnlens.symbolic.description import Book, name_of, shown_shape
from attnlens.symbolic.evaluate import difference
from attnlens.symbolic.expressions import Axes, Expression
from attnlens.symbolic.symbols import Symbol
from attnlens.symbolic.tracing import Pass, run


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A named value of the pass.

    Attributes:
        symbol: as in the equations; with the index i where heads stand side by side.
        equation: how it was computed, as text; ``""`` of an input.
        latex: the same as LaTeX.
        shape: of one head, without the batch.
        axes: what the axes of ``values`` are: ``head``, ``token`` and so on, ``""`` unknown.
        values: the numbers, without the batch; with the heads first where there are several.
        difference: the largest difference between what the equation gives, worked out again
            by numpy, and what the model computed; ``None`` where that cannot be done.
    """

    symbol: str
    description: str
    equation: str
    latex: str
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    values: Tensor
    difference: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data; what is not finite is a text, such as ``"-inf"``."""
        return {
            "symbol": self.symbol,
            "shape": list(self.shape),
            "axes": list(self.axes),
            "values": _plain(self.values.tolist()),
            "description": self.description,
            "equation": self.equation,
            "latex": self.latex,
            "difference": self.difference,
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trace:
    """A forward pass, number by number.

    Attributes:
        name: of the model.
        about: a line on the input.
        labels: axis to its labels, such as ``{"token": ("3", "1", "4")}``.
        inputs: what came in.
        steps: the named results, in the order in which they were computed.
        output: what the module returned.
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
            KeyError: there is none.
        """
        for one in (*self.steps, *self.inputs):
            if one.symbol == symbol:
                return one.values
        raise KeyError(symbol)

    @property
    def difference(self) -> float | None:
        """The largest difference of all equations that were worked out again."""
        told = [one.difference for one in self.steps if one.difference is not None]
        return max(told, default=None)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Symbols of the steps whose equations cannot be worked out again."""
        return tuple(one.symbol for one in self.steps if one.difference is None)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON data."""
        return {
            "name": self.name,
            "about": self.about,
            "labels": {axis: list(labels) for axis, labels in self.labels.items()},
            "inputs": [one.to_dict() for one in self.inputs],
            "steps": [one.to_dict() for one in self.steps],
            "retraced": {
                "equations": len(self.steps) - len(self.unchecked),
                "largest_difference": self.difference,
                "not_retraced": list(self.unchecked),
            },
        }

    def __str__(self) -> str:
        from attnlens.render.trace import render_trace

        return render_trace(self.to_dict())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from attnlens.notebook import trace_html

        return trace_html(self.to_dict())


def trace(
    module: nn.Module,
    *inputs: Any,
    name: str | None = None,
    names: Sequence[str] = (),
    axes: Mapping[str, Axes] | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    batched: bool = False,
    about: str = "",
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

    Raises:
        RecordingError: no tensor comes in, or nothing that comes out depends on it.
    """
    told = run(module, inputs, names=names, axes=axes, batched=batched)
    return trace_of(told, name=name, labels=labels, about=about)


def trace_of(
    told: Pass,
    *,
    name: str | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    about: str = "",
) -> Trace:
    """The trace of a pass."""
    book = Book(told)
    incoming = []
    for leaf in told.inputs.values():
        assert leaf.value is not None
        symbol = Symbol(leaf.symbol).text()
        incoming.append(_value(leaf, leaf.value, symbol, "input", ("", ""), told, None))
    steps = []
    for one in told.named:
        equation = None if one.given else book.equation(one)
        symbol = book.text.name(one.expression)
        written = ("", "") if equation is None else (equation.text, equation.latex)
        gap = difference(one)
        steps.append(_value(one.expression, one.value, symbol, one.description, written, told, gap))
    return Trace(
        name=name_of(told.module, name),
        about=about,
        labels={axis: tuple(map(str, given)) for axis, given in (labels or {}).items()},
        inputs=tuple(incoming),
        steps=tuple(steps),
        output=told.output,
    )


def _value(
    one: Expression,
    values: Tensor,
    symbol: str,
    description: str,
    written: tuple[str, str],
    told: Pass,
    gap: float | None,
) -> Value:
    axes = list(one.axes)
    for axis in ("batch", "head"):
        # A batch of one and a single head say nothing.
        if (
            axis in axes
            and values.shape[axes.index(axis)] == 1
            and (told.batched or axis == "head")
        ):
            values = values.squeeze(axes.index(axis))
            axes.remove(axis)
    if "head" in axes:
        values = values.movedim(axes.index("head"), 0)
        axes.remove("head")
        axes.insert(0, "head")
    return Value(
        symbol=symbol,
        description=description,
        equation=written[0],
        latex=written[1],
        shape=shown_shape(one, told.batched),
        axes=tuple(axis or "" for axis in axes),
        values=values,
        difference=gap,
    )


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
