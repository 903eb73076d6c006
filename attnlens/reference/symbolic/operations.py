"""Every operation: what it is to numpy, on paper, in words, and by which names torch has it.

No operation here calls torch, so an equation is worked out again, from the values it is written
with. Where the result is not what the model computed, the equation says something else than the
code does: that is the test of every equation. An operation that is missing is *opaque*: it is
written by torch's name, and an equation that holds one cannot be worked out again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from attnlens.arrays import Flags, Floats
from attnlens.reference.symbolic.graph import Expression, Named, within

Array = NDArray[Any]

ANY, SUM, PRODUCT, POWER, ATOM = range(5)
"""How strongly a formula holds together."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Attributes:
        numpy: its value from the values of its parts, and its options by name; if it has one.
        text: how it is written, with a ``{}`` for each part, or the name before its parts; its
            kind unless given. Nothing is written of one whose text is ``{}``.
        needs, holds: how strongly each part must hold together to stand there without
            parentheses, and how strongly the whole does.
        latex, meaning: where it is more than the text with its signs replaced; what is said of it.
        torch: names of torch's functions with the same parts in the same order; ``swapped``:
            with the two parts the other way round.
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


def hidden_softmax(logits: Floats, hidden: Flags) -> Floats:
    return np.where(hidden, 0.0, softmax(np.where(hidden, -np.inf, logits), -1))


def where(mask: Flags, yes: Array | float, no: Array) -> Array:
    return np.where(mask, yes, no)


def gelu(x: Floats) -> Floats:
    return np.asarray(0.5 * x * (1 + _erf(x / math.sqrt(2))))


def gelu_tanh(x: Floats) -> Floats:
    return np.asarray(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def norm(
    x: Floats, *scale: Floats, last: int, eps: float, weight: bool, bias: bool, centred: bool
) -> Floats:
    """Over the ``last`` axes; ``scale`` holds what it is multiplied by and what is added."""
    over = tuple(range(x.ndim - last, x.ndim))
    if centred:
        x = x - x.mean(over, keepdims=True)
    result: Floats = x / np.sqrt((x**2).mean(over, keepdims=True) + eps)
    rest = list(scale)
    if weight:
        result = result * rest.pop(0)
    return result + rest.pop(0) if bias else result


def split(x: Array, into: int) -> Array:
    # Not -1: where there are no tokens there is no telling.
    return np.swapaxes(x.reshape(*x.shape[:-1], into, x.shape[-1] // into), -2, -3)


def join(x: Array) -> Array:
    swapped = np.swapaxes(x, -2, -3)
    return swapped.reshape(*swapped.shape[:-2], swapped.shape[-2] * swapped.shape[-1])


def item(x: Array, *places: Array, index: tuple[Any, ...]) -> Array:
    """``x[index]``, in which a text stands for the next of ``places``."""
    rest = [
        position.astype(np.int64) if position.dtype.kind == "f" else position for position in places
    ]
    return np.asarray(x[tuple(rest.pop(0) if isinstance(one, str) else one for one in index)])


def sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


def _reduced(function: Callable[..., Array], text: str = "", meaning: str = "") -> Operation:
    """What leaves axes out."""

    def run(x: Array, axis: tuple[int, ...] | int | None, keepdim: bool) -> Array:
        return function(x, axis=axis, keepdims=keepdim)

    return Operation(run, text, meaning=meaning)


def _taken(x: Array, places: Array) -> Array:
    """The numbers that are at these places, counted through all axes."""
    return x.reshape(-1)[places]


_TWO: Final = (ANY, ANY)
DIVISIONS: Final = "div divide truediv true_divide itruediv"

OPERATIONS: Final[Mapping[str, Operation]] = {
    **{
        kind: Operation(
            function, f"{{}} {sign} {{}}", needs, needs[0], torch=torch, swapped=swapped
        )
        for kind, function, sign, needs, torch, swapped in (
            ("add", np.add, "+", (SUM, PRODUCT), "add iadd radd", ""),
            ("subtract", np.subtract, "−", (SUM, PRODUCT), "sub subtract isub", "rsub"),
            ("multiply", np.multiply, "⊙", (PRODUCT, PRODUCT), "mul multiply imul", "rmul"),
            ("divide", np.true_divide, "/", (PRODUCT, POWER), DIVISIONS, "rdiv rtruediv"),
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
    # (A V) W_O: what is worked out first stands in parentheses.
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
        hidden_softmax,
        "softmax({}; {} hidden)",
        _TWO,
        latex="\\operatorname{{softmax}}\\left({};\\ {} \\text{{ hidden}}\\right)",
        meaning="softmax(S; M hidden): over the entries of a row that M does not hide; "
        "hidden ones are 0, and so is a row that is hidden whole",
    ),
    "relu": Operation(
        lambda x: np.where(x > 0, x, 0.0), "ReLU", torch="relu", meaning="ReLU(v) = max(v, 0)"
    ),
    "silu": Operation(lambda x: x * sigmoid(x), "SiLU", torch="silu", meaning="SiLU(v) = v σ(v)"),
    "sigmoid": Operation(sigmoid, "σ", torch="sigmoid", meaning="σ(v) = 1 / (1 + exp(−v))"),
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
    "clamp": Operation(lambda x, least, most: np.clip(x, least, most)),
    "norm": Operation(partial(norm, centred=True), "LN"),
    "rms_norm": Operation(partial(norm, centred=False), "RMSNorm"),
    "masked": Operation(
        lambda x, mask, value: where(mask, value, x),
        "[{0}; {2} where {1}]",
        _TWO,
        latex="\\left[{0};\\ {2} \\text{{ where }} {1}\\right]",
        meaning="[v; c where M]: v, with c where M is true",
    ),
    "where": Operation(
        where,
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
    "argmax": _reduced(np.argmax, meaning="argmax: the place of the largest entry of each row"),
    "cumsum": Operation(np.cumsum, meaning="cumsum: each entry and all before it, added up"),
    "concat": Operation(lambda *x, axis: np.concatenate(x, axis), meaning="concat: side by side"),
    "stack": Operation(
        lambda *x, axis: np.stack(x, axis), meaning="stack: one below the other, along a new axis"
    ),
    "gelu": Operation(gelu, "GELU", meaning="GELU(v) = v Φ(v), Φ the normal distribution function"),
    "gelu_tanh": Operation(
        gelu_tanh,
        "GELU_tanh",
        meaning="GELU_tanh(v) = v (1 + tanh(√(2/π) (v + 0.044715 v³))) / 2",
    ),
    "rows": Operation(lambda table, places: table[places.astype(np.int64)], "{}[{}]", (ATOM, ANY)),
    "item": Operation(item),
    "gather": Operation(
        lambda x, places, axis: np.take_along_axis(x, places.astype(np.int64), axis)
    ),
    "split": Operation(split),
    "join": Operation(join),
    # What follows only moves numbers about, and is not written.
    "same": Operation(lambda x: x),
    "as_number": Operation(lambda x: x.astype(np.float64)),
    "moved": Operation(_taken),
    "reshape": Operation(np.reshape),
}
"""By kind. What is said of them stands in this order."""

LAYOUT: Final = frozenset({"same", "as_number", "moved", "reshape"})
"""Operations that are not written: mathematics does without them."""

ALONG: Final = frozenset(
    {"softmax", "log_softmax", "argmax", "sum", "mean", "highest", "lowest", "any", "all", "cumsum"}
)
"""Operations along an axis."""


def as_array(value: Tensor) -> Array:
    """Numbers in double precision; whole numbers and booleans stay what they are."""
    if value.is_floating_point():
        value = value.double()
    array: Array = value.numpy(force=True)
    return array


def evaluated(expression: Expression) -> Array:
    """The value of a right-hand side; of what is opaque, what the model computed."""
    known: dict[int, Array] = {}
    waiting = [expression]
    while waiting:
        one = waiting[-1]
        if id(one) in known:
            waiting.pop()
            continue
        value = one.value if one.named is None or one is expression else one.named.value
        missing = [part for part in one.parts if id(part) not in known]
        if value is not None:
            known[id(one)] = as_array(value)
        elif missing:
            waiting.extend(missing)
        else:
            known[id(one)] = _applied(one, [known[id(part)] for part in one.parts])
    return known[id(expression)]


def _applied(expression: Expression, parts: list[Array]) -> Array:
    function = OPERATIONS[expression.kind].numpy
    assert function is not None
    with np.errstate(all="ignore"):
        return np.asarray(function(*parts, **expression.options))


def difference(named: Named) -> float | None:
    """The largest difference between what an equation gives and what the model computed.

    ``None`` where the equation cannot be worked out: it is given, or holds an opaque operation.
    """
    if named.given or any(one.kind == "opaque" for one in within(named.expression)):
        return None
    again = evaluated(named.expression)
    computed = as_array(named.value)
    if again.shape != computed.shape:
        return float("inf")
    if again.dtype == bool or computed.dtype == bool:
        return float((again.astype(bool) != computed.astype(bool)).max(initial=0))
    with np.errstate(invalid="ignore"):
        gap = np.atleast_1d(np.abs(again - computed))
    same = (again == computed) | (np.isnan(again) & np.isnan(computed))
    gap[np.atleast_1d(same)] = 0.0  # also where both are infinite
    return float(np.nan_to_num(gap, nan=np.inf).max(initial=0.0))
