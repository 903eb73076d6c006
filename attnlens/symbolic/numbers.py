"""What every operation means, in numpy: so that an equation can be worked out again.

No operation here calls torch. One that is missing here is *opaque*: it is written by its name,
and an equation that holds one cannot be worked out again. Where the result of an equation is not
what the model computed, the equation says something else than the code does. That is the test of
every equation that `attnlens.symbolic` derives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.arrays import Flags, Floats
from attnlens.symbolic.graph import Expression, Named

Array = NDArray[Any]

_erf: Final = np.vectorize(math.erf, otypes=[np.float64])


def softmax(logits: Floats, axis: int) -> Floats:
    if not logits.shape[axis]:
        return logits
    highest = logits.max(axis, keepdims=True)
    raised = np.exp(logits - np.where(np.isfinite(highest), highest, 0))
    with np.errstate(invalid="ignore"):
        return np.asarray(raised / raised.sum(axis, keepdims=True))


def gelu(x: Floats, approximate: str) -> Floats:
    if approximate == "tanh":
        inner = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    else:
        inner = _erf(x / math.sqrt(2))
    return np.asarray(0.5 * x * (1 + inner))


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


def hidden_softmax(logits: Floats, hidden: Flags) -> Floats:
    weights = softmax(np.where(hidden, -np.inf, logits), -1)
    return np.where(hidden, 0.0, weights)


def where(mask: Flags, yes: Array | float, no: Array) -> Array:
    return np.where(mask, yes, no)


def split(x: Array, into: int) -> Array:
    # Not -1: where there are no tokens there is no telling.
    return np.swapaxes(x.reshape(*x.shape[:-1], into, x.shape[-1] // into), -2, -3)


def join(x: Array) -> Array:
    swapped = np.swapaxes(x, -2, -3)
    return swapped.reshape(*swapped.shape[:-2], swapped.shape[-2] * swapped.shape[-1])


def item(x: Array, *places: Array, index: tuple[Any, ...]) -> Array:
    """``x[index]``, in which a text stands for the next of ``places``."""
    rest = [one.astype(np.int64) if one.dtype.kind == "f" else one for one in places]
    return np.asarray(x[tuple(rest.pop(0) if isinstance(one, str) else one for one in index)])


def _reduced(function: Callable[..., Array]) -> Callable[..., Array]:
    def run(x: Array, axis: tuple[int, ...] | int | None, keepdim: bool) -> Array:
        return function(x, axis=axis, keepdims=keepdim)

    return run


def sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


FUNCTIONS: Final[Mapping[str, Callable[[Array], Array]]] = {
    "relu": lambda x: np.where(x > 0, x, 0.0),
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "abs": np.abs,
    "sin": np.sin,
    "cos": np.cos,
    "erf": _erf,
    "softplus": partial(np.logaddexp, 0),
}
"""Functions of every element."""

COMPARISONS: Final[Mapping[str, Callable[[Array, Array], Array]]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "and": np.logical_and,
    "or": np.logical_or,
}

LAYOUT: Final = frozenset({"same", "expand", "insert", "drop", "reshape", "permute", "as_number"})
"""Operations that move numbers about and are not written: mathematics does without them."""

OPERATIONS: Final[Mapping[str, Callable[..., Array]]] = {
    **FUNCTIONS,
    **COMPARISONS,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.true_divide,
    "power": np.power,
    "negative": np.negative,
    "not": np.logical_not,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "matmul": np.matmul,
    "transpose": lambda x: np.swapaxes(x, -1, -2),
    "same": lambda x: x,
    "as_number": lambda x: x.astype(np.float64),
    "expand": np.broadcast_to,
    "insert": np.expand_dims,
    "drop": np.squeeze,
    "reshape": np.reshape,
    "permute": lambda x, order: np.transpose(x, order),
    "unflatten": np.reshape,
    "split": split,
    "join": join,
    "rows": lambda table, places: table[places.astype(np.int64)],
    "item": item,
    "softmax": softmax,
    "log_softmax": lambda x, axis: np.log(softmax(x, axis)),
    "hidden_softmax": hidden_softmax,
    "masked": lambda x, mask, value: where(mask, value, x),
    "where": where,
    "gelu": gelu,
    "norm": partial(norm, centred=True),
    "rms_norm": partial(norm, centred=False),
    "clamp": lambda x, least, most: np.clip(x, least, most),
    "sum": _reduced(np.sum),
    "mean": _reduced(np.mean),
    "highest": _reduced(np.max),
    "lowest": _reduced(np.min),
    "any": _reduced(np.any),
    "all": _reduced(np.all),
    "argmax": _reduced(np.argmax),
    "concat": lambda *x, axis: np.concatenate(x, axis),
    "stack": lambda *x, axis: np.stack(x, axis),
    "einsum": lambda *x, spec: np.einsum(spec, *x),
    "cumsum": np.cumsum,
    "repeat": lambda x, times: np.tile(x, times),
    "repeat_interleave": lambda x, times, axis: np.repeat(x, times, axis),
    "gather": lambda x, places, axis: np.take_along_axis(x, places.astype(np.int64), axis),
}
"""Operation to its meaning; options are given by name."""


class Unknown(Exception):
    """An operation that is written by torch's name only."""


def as_array(value: Tensor) -> Array:
    """Numbers in double precision; whole numbers and booleans stay what they are."""
    if value.is_floating_point():
        value = value.double()
    elif value.is_complex():
        value = value.to(torch.complex128)
    array: Array = value.numpy(force=True)
    return array


def evaluated(expression: Expression) -> Array:
    """The value of a right-hand side.

    Raises:
        Unknown: an operation of it has no meaning here.
    """
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


def _applied(one: Expression, parts: list[Array]) -> Array:
    operation = OPERATIONS.get(one.kind)
    if operation is None:
        raise Unknown
    with np.errstate(all="ignore"):
        return np.asarray(operation(*parts, **one.options))


def difference(named: Named) -> float | None:
    """The largest difference between what an equation gives and what the model computed.

    ``None`` where the equation cannot be worked out: it is given, or holds an opaque operation.
    """
    if named.given:
        return None
    try:
        again = evaluated(named.expression)
    except Unknown:
        return None
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
