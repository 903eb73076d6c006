"""The graph of a forward pass, and the definitions of all operations in numpy and LaTeX.

An operation that is not supported is *opaque*: the equation shows the name of the torch function.
Equations with an opaque operation cannot be recomputed with numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.files import Floats

_LEAVES: Final = frozenset({"input", "parameter", "constant", "number"})
"""The kinds of expressions that have no parts."""

Options = Mapping[str, Any]
"""The keyword arguments of `Operation.numpy`."""

NO_OPTIONS: Final[Options] = MappingProxyType({})

Axes = tuple[str | None, ...]
"""The name of each axis of a value, such as ``("batch", "token", None)``."""


@dataclass(eq=False, slots=True)
class Expression:
    """A leaf or an operation of the graph.

    Attributes:
        kind: one of `_LEAVES`, one of `OPERATIONS`, or ``opaque``.
        parts, options: the operands and the settings of the operation.
        shape, axes: the shape and axis names of the value.
        heads: the number of heads along the axis ``"head"``; 0 if there is no such axis.
        symbol: the LaTeX symbol of a leaf, without dollar signs.
        name: the path of a parameter, or the description of a constant.
        value: a copy of the tensor if the expression is a leaf or opaque; otherwise None.
        number: the expression's position in the order of computation.
        step: the step that this expression defines, or None.
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
    step: Step | None = field(default=None, repr=False)

    @property
    def is_leaf(self) -> bool:
        return self.kind in _LEAVES


@dataclass(eq=False, slots=True)
class Step:
    """A named intermediate result, with a copy of its value.

    Attributes:
        symbol: the model's LaTeX symbol, without dollar signs.
        path: the path of the module that named the result; ``""`` for the model itself.
        as_input: whether the step is described as an input, without an equation.
        label: a text that distinguishes equal symbols; ``""`` for a unique symbol.
    """

    symbol: str
    description: str
    path: str
    expression: Expression
    value: Tensor
    as_input: bool = False
    label: str = ""


def within(expression: Expression, *, through_steps: bool = False) -> Iterator[Expression]:
    """Yield an expression and its direct and indirect operands.

    Named operands are left out, unless ``through_steps`` is true. In that case, only the operands
    of results that are described as inputs are left out.
    """
    visited: set[int] = set()
    waiting = [expression]
    while waiting:
        current = waiting.pop()
        if id(current) in visited:
            continue
        visited.add(id(current))
        yield current
        if not through_steps:
            waiting.extend(part for part in current.parts if part.step is None)
        elif current.step is None or not current.step.as_input:
            waiting.extend(current.parts)


def broadcast_axes(parts: tuple[Expression, ...], shape: tuple[int, ...]) -> Axes:
    """Return the axis names of the result of an element-wise operation on ``parts``."""
    axes: list[str | None] = [None] * len(shape)
    for part in parts:
        for back in range(1, len(part.axes) + 1):
            # An axis of size 1 that is broadcast to another size loses its meaning.
            if axes[-back] is None and part.shape[-back] == shape[-back]:
                axes[-back] = part.axes[-back]
    return tuple(axes)


def number(value: float | int | bool) -> Expression:
    return Expression("number", options={"value": value}, value=torch.tensor(value))


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Yield every tensor in nested mappings, lists, tuples and dataclasses, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for item in fields(value):
            yield from tensors_in(getattr(value, item.name))


def memory_of(tensor: Tensor) -> int | None:
    """Return the address of a tensor's storage, or None if the address is unknown."""
    try:
        return tensor.untyped_storage().data_ptr() or None
    except (NotImplementedError, RuntimeError):
        return None  # for example a sparse tensor


class Graph:
    """The expressions of all tensors in a forward pass, with the named results in order."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._of: dict[int, Expression] = {}
        # Keep every tensor alive, because a new tensor could reuse the id of a deleted one.
        self._alive: list[Tensor] = []
        self._count = 0

    def knows(self, value: Any) -> bool:
        return id(value) in self._of

    def put(self, tensor: Tensor, expression: Expression) -> Expression:
        """Register a numbered new expression for a tensor."""
        self._count += 1
        expression.number = self._count
        return self.put_again(tensor, expression)

    def put_again(self, tensor: Tensor, expression: Expression) -> Expression:
        """Register an existing expression for another tensor."""
        self._of[id(tensor)] = expression
        self._alive.append(tensor)
        return expression

    def written_into(self, tensor: Tensor) -> None:
        """Record an in-place change of a tensor and its aliases."""
        made, memory = self.of(tensor), memory_of(tensor)
        aliases = {id(alias): alias for alias in self._alive if alias is not tensor}
        for alias in aliases.values():
            if memory is not None and memory_of(alias) == memory and self.of(alias) is not made:
                before = self.of(alias)
                self.operation(alias, "opaque", (before, made), {"name": "filled"}, before.axes)

    def leaf(
        self,
        tensor: Tensor,
        kind: str,
        symbol: str = "",
        name: str = "",
        axes: Axes | None = None,
    ) -> Expression:
        """Register a tensor as a leaf: an input, a parameter or a constant."""
        made = Expression(kind, symbol=symbol, name=name, value=tensor.detach().clone())
        made.shape = tuple(tensor.shape)
        made.axes = (None,) * tensor.dim() if axes is None else axes
        return self.put(tensor, made)

    def of(self, value: Any) -> Expression:
        if isinstance(value, Tensor):
            expression = self._of.get(id(value))
            return self.leaf(value, "constant") if expression is None else expression
        return number(value)

    def operation(
        self,
        tensor: Tensor,
        kind: str,
        parts: tuple[Expression, ...],
        options: Options = NO_OPTIONS,
        axes: Axes | None = None,
        heads: int | None = None,
    ) -> Expression:
        shape = tuple(tensor.shape)
        if all(part.kind in ("constant", "number") for part in parts):
            return self.leaf(tensor, "constant", axes=axes)
        if axes is None:
            axes = broadcast_axes(parts, shape)
        if heads is None:
            heads = max(part.heads for part in parts)
        heads = heads if "head" in axes else 0
        made = Expression(kind, parts, options, shape, axes, heads)
        made.value = tensor.detach().clone() if kind == "opaque" else None
        return self.put(tensor, made)

    def name(self, symbol: str, value: Tensor, description: str, path: str, as_input: bool) -> Step:
        """Add a step whose right-hand side is the tensor's expression."""
        expression = self.of(value)
        if expression.is_leaf or expression.step is not None:
            # A leaf, or a result that has a name, gets a separate equation for the new name.
            duplicate = replace(
                expression, kind="same", parts=(expression,), options=NO_OPTIONS, value=None
            )
            expression = self.put(value, duplicate)
        made = Step(symbol, description, path, expression, value.detach().clone(), as_input)
        expression.step = made
        self.steps.append(made)
        return made

    def forget_names(self, count: int) -> None:
        """Remove all steps except the first ``count`` steps."""
        for step in self.steps[count:]:
            step.expression.step = None
        del self.steps[count:]


_NUMPY_WORDS: Final = {"dim": "axis", "keepdim": "keepdims", "other": "x2"}
"""Torch argument names and the numpy names that torch also accepts."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call of a torch function whose result becomes an expression."""

    graph: Graph
    function: Callable[..., Any]
    result: Tensor
    args: tuple[Any, ...]
    kwargs: Options

    @property
    def x(self) -> Expression:
        """The expression of the first argument."""
        return self.graph.of(self.args[0])

    def argument(self, index: int, name: str, default: Any = None) -> Any:
        """Return an argument by its position or its name."""
        if len(self.args) > index:
            return self.args[index]
        return self.kwargs.get(name, self.kwargs.get(_NUMPY_WORDS.get(name, name), default))

    def of(self, index: int, name: str) -> Expression:
        return self.graph.of(self.argument(index, name))

    def axis(self, index: int, default: int = 0) -> int:
        """Return the axis argument as a non-negative index."""
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
        """Register the result of the call as an operation on ``parts``."""
        return self.graph.operation(self.result, kind, parts, options, axes, heads)


Translator = Callable[[Call], Expression | None]
"""A function that returns the expression of a call, or None for an unsupported call."""


Array = NDArray[Any]

ANY, SUM, PRODUCT, POWER, ATOM = range(5)
"""The precedence levels of formulas, from the lowest to the highest."""


@dataclass(frozen=True, slots=True)
class Operation:
    """The definition of one kind of operation.

    Attributes:
        numpy: a function that computes the value from the parts' values and the options.
        text: a format string with a ``{}`` for each part, or the name of a function. By default,
            the kind is the name of the function.
        needs: the lowest precedence of each part without parentheses.
        holds: the precedence of the formula.
        latex: the format string in LaTeX; by default, ``text`` with LaTeX signs.
        meaning: the line of the notation that explains the operation.
        torch: the names of torch functions that take the parts in this order.
        swapped: the names of torch functions that take two parts in the opposite order.
    """

    numpy: Callable[..., Array] | None
    text: str = ""
    needs: tuple[int, ...] = (ANY,)
    holds: int = ATOM
    latex: str = ""
    meaning: str = ""
    torch: str = ""
    swapped: str = ""


_erf: Final = np.vectorize(math.erf, otypes=[np.float64])


def softmax(logits: Floats, axis: int) -> Floats:
    if not logits.shape[axis]:
        return logits
    highest = logits.max(axis, keepdims=True)
    raised = np.exp(logits - np.where(np.isfinite(highest), highest, 0))
    with np.errstate(invalid="ignore"):
        return np.asarray(raised / raised.sum(axis, keepdims=True))


def norm(
    x: Floats, *scale: Floats, last: int, eps: float, weight: bool, bias: bool, centred: bool
) -> Floats:
    """Normalise over ``last`` trailing axes. ``scale`` contains the optional factor and shift."""
    over = tuple(range(x.ndim - last, x.ndim))
    if centred:
        x = x - x.mean(over, keepdims=True)
    result: Floats = x / np.sqrt((x**2).mean(over, keepdims=True) + eps)
    rest = list(scale)
    if weight:
        result = result * rest.pop(0)
    return result + rest.pop(0) if bias else result


def item(x: Array, *places: Array, index: tuple[Any, ...]) -> Array:
    """Return ``x[index]``; the next array in ``places`` replaces each string in ``index``."""
    rest = [
        position.astype(np.int64) if position.dtype.kind == "f" else position for position in places
    ]
    return np.asarray(x[tuple(rest.pop(0) if isinstance(entry, str) else entry for entry in index)])


def _reduced(function: Callable[..., Array], text: str = "", meaning: str = "") -> Operation:
    return Operation(
        lambda x, axis, keepdim: function(x, axis=axis, keepdims=keepdim), text, meaning=meaning
    )


_TWO: Final = (ANY, ANY)
_DIVISIONS: Final = "div divide truediv true_divide itruediv"

OPERATIONS: Final[Mapping[str, Operation]] = {
    **{
        kind: Operation(
            function, f"{{}} {sign} {{}}", needs, needs[0], torch=torch, swapped=swapped
        )
        for kind, function, sign, needs, torch, swapped in (
            ("add", np.add, "+", (SUM, PRODUCT), "add iadd radd", ""),
            ("subtract", np.subtract, "−", (SUM, PRODUCT), "sub subtract isub", "rsub"),
            ("multiply", np.multiply, "⊙", (PRODUCT, PRODUCT), "mul multiply imul", "rmul"),
            ("divide", np.true_divide, "/", (PRODUCT, POWER), _DIVISIONS, "rdiv rtruediv"),
        )
    },
    **{
        kind: Operation(function, f"{{}} {sign} {{}}", (PRODUCT, PRODUCT), SUM, torch=names)
        for kind, function, sign, names in (
            ("eq", np.equal, "=", "eq"),
            ("ne", np.not_equal, "≠", "ne"),
            ("lt", np.less, "<", "lt"),
            ("le", np.less_equal, "≤", "le"),
            ("gt", np.greater, ">", "gt"),
            ("ge", np.greater_equal, "≥", "ge"),
            ("and", np.logical_and, "∧", "and bitwise_and logical_and"),
            ("or", np.logical_or, "∨", "or bitwise_or logical_or"),
        )
    },
    "power": Operation(
        np.power, "{}^{}", (ATOM, ANY), POWER, "{}^{{{}}}", torch="pow", swapped="rpow"
    ),
    "negative": Operation(np.negative, "−{}", (POWER,), PRODUCT, torch="neg negative"),
    "not": Operation(np.logical_not, "¬{}", (ATOM,), POWER, torch="invert logical_not"),
    "minimum": Operation(np.minimum, needs=_TWO, torch="minimum"),
    "maximum": Operation(np.maximum, needs=_TWO, torch="maximum"),
    # A product inside a product gets parentheses, as in (A V) W_O, to show the order.
    "matmul": Operation(np.matmul, "{} {}", (POWER, POWER), PRODUCT),
    "einsum": Operation(lambda *x, spec: np.einsum(spec, *x)),
    "transpose": Operation(
        lambda x: np.swapaxes(x, -1, -2),
        "{}ᵀ",
        (ATOM,),
        POWER,
        "{{{}}}^\\top",
        "Mᵀ: M with its last two axes swapped",
    ),
    "softmax": Operation(softmax, meaning="softmax: exp(v) / sum of exp(v), over each row"),
    "log_softmax": Operation(lambda x, axis: np.log(softmax(x, axis)), "log softmax"),
    "hidden_softmax": Operation(
        lambda logits, hidden: np.where(
            hidden, 0.0, softmax(np.where(hidden, -np.inf, logits), -1)
        ),
        "softmax({}; {} hidden)",
        _TWO,
        latex="\\operatorname{{softmax}}\\left({};\\ {} \\text{{ hidden}}\\right)",
        meaning="softmax(S; M hidden): over the entries of each row that M does not hide; "
        "hidden entries are 0, and a completely hidden row is all 0",
    ),
    "relu": Operation(
        lambda x: np.where(x > 0, x, 0.0), "ReLU", torch="relu", meaning="ReLU(v) = max(v, 0)"
    ),
    "silu": Operation(
        lambda x: x / (1 + np.exp(-x)), "SiLU", torch="silu", meaning="SiLU(v) = v σ(v)"
    ),
    "sigmoid": Operation(
        lambda x: 1 / (1 + np.exp(-x)), "σ", torch="sigmoid", meaning="σ(v) = 1 / (1 + exp(−v))"
    ),
    **{
        kind: Operation(function, torch=kind)
        for kind, function in (
            ("tanh", np.tanh),
            ("exp", np.exp),
            ("expm1", np.expm1),
            ("log", np.log),
            ("log1p", np.log1p),
            ("sqrt", np.sqrt),
            ("rsqrt", lambda x: 1 / np.sqrt(x)),
            ("abs", np.abs),
            ("sin", np.sin),
            ("cos", np.cos),
            ("erf", _erf),
        )
    },
    "softplus": Operation(lambda x: np.logaddexp(x, 0), meaning="softplus(v) = log(1 + exp(v))"),
    "clamp": Operation(lambda x, low, high: np.clip(x, low, high)),
    "norm": Operation(partial(norm, centred=True), "LN"),
    "rms_norm": Operation(partial(norm, centred=False), "RMSNorm"),
    "masked": Operation(
        lambda x, mask, value: np.asarray(np.where(mask, value, x)),
        "[{0}; {2} where {1}]",
        _TWO,
        latex="\\left[{0};\\ {2} \\text{{ where }} {1}\\right]",
        meaning="[v; c where M]: v, with c where M is true",
    ),
    "where": Operation(
        lambda mask, yes, no: np.asarray(np.where(mask, yes, no)),
        "[{1} where {0} else {2}]",
        (ANY, ANY, ANY),
        latex="\\left[{1} \\text{{ where }} {0} \\text{{ else }} {2}\\right]",
        meaning="[a where M else b]: a where M is true, b elsewhere",
    ),
    "sum": _reduced(np.sum),
    "mean": _reduced(np.mean),
    "highest": _reduced(np.max, "max"),
    "lowest": _reduced(np.min, "min"),
    "any": _reduced(np.any),
    "all": _reduced(np.all),
    "argmax": _reduced(np.argmax, meaning="argmax: the index of the largest entry of each row"),
    "cumsum": Operation(np.cumsum, meaning="cumsum: each entry plus all entries before it"),
    "concat": Operation(lambda *x, axis: np.concatenate(x, axis), meaning="concat: side by side"),
    "stack": Operation(
        lambda *x, axis: np.stack(x, axis), meaning="stack: the arrays are joined along a new axis"
    ),
    "gelu": Operation(
        lambda x: 0.5 * x * (1 + _erf(x / math.sqrt(2))),
        "GELU",
        meaning="GELU(v) = v Φ(v), where Φ is the normal distribution function",
    ),
    "gelu_tanh": Operation(
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        "GELU_tanh",
        meaning="GELU_tanh(v) = v (1 + tanh(√(2/π) (v + 0.044715 v³))) / 2",
    ),
    "rows": Operation(lambda table, places: table[places.astype(np.int64)], "{}[{}]", (ATOM, ANY)),
    "item": Operation(item),
    "gather": Operation(
        lambda x, places, axis: np.take_along_axis(x, places.astype(np.int64), axis)
    ),
    "split": Operation(
        # Not -1: reshape cannot infer the size of an axis of an empty array.
        lambda x, into: np.swapaxes(x.reshape(*x.shape[:-1], into, x.shape[-1] // into), -2, -3)
    ),
    "join": Operation(
        lambda x: np.swapaxes(x, -2, -3).reshape(
            *x.shape[:-3], x.shape[-2], x.shape[-3] * x.shape[-1]
        )
    ),
    # The operations below only rearrange or convert numbers, and equations do not show them.
    "same": Operation(lambda x: x),
    "as_number": Operation(lambda x: x.astype(np.float64)),
    "moved": Operation(lambda x, places: x.reshape(-1)[places]),
    "reshape": Operation(np.reshape),
}
"""The operations by kind. The notation explains operations in this order."""

LAYOUT: Final = frozenset({"same", "as_number", "moved", "reshape"})
"""Operations that equations do not show."""

ALONG: Final = frozenset(
    {"softmax", "log_softmax", "argmax", "sum", "mean", "highest", "lowest", "any", "all", "cumsum"}
)
"""Operations that work along an axis."""


def as_array(value: Tensor) -> Array:
    """Return a tensor as an array; floating-point numbers are converted to double precision."""
    if value.is_floating_point():
        value = value.double()
    array: Array = value.numpy(force=True)
    return array


def evaluate(expression: Expression) -> Array:
    """Recompute a right-hand side with numpy.

    The values of named results and opaque operations come from the model.
    """
    values: dict[int, Array] = {}
    waiting = [expression]
    while waiting:
        current = waiting[-1]
        if id(current) in values:
            waiting.pop()
            continue
        value = (
            current.value if current.step is None or current is expression else current.step.value
        )
        if value is not None:
            values[id(current)] = as_array(value)
        elif missing := [part for part in current.parts if id(part) not in values]:
            waiting.extend(missing)
        else:
            function = OPERATIONS[current.kind].numpy
            assert function is not None
            parts = (values[id(part)] for part in current.parts)
            with np.errstate(all="ignore"):
                values[id(current)] = np.asarray(function(*parts, **current.options))
    return values[id(expression)]


def difference(step: Step) -> float | None:
    """Return the largest difference between the model's value and the recomputed value.

    The result is None without an equation, and for an equation with an opaque operation.
    """
    if step.as_input or any(part.kind == "opaque" for part in within(step.expression)):
        return None
    recomputed = evaluate(step.expression)
    computed = as_array(step.value)
    if recomputed.shape != computed.shape:
        return float("inf")
    if recomputed.dtype == bool or computed.dtype == bool:
        return float((recomputed.astype(bool) != computed.astype(bool)).max(initial=0))
    with np.errstate(invalid="ignore"):
        gap = np.atleast_1d(np.abs(recomputed - computed))
    same = (recomputed == computed) | (np.isnan(recomputed) & np.isnan(computed))
    gap[np.atleast_1d(same)] = 0.0  # the difference of two equal infinities is NaN
    return float(np.nan_to_num(gap, nan=np.inf).max(initial=0.0))
