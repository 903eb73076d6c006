"""What every operation means, in numpy: so that an equation can be worked out again.

Nothing here calls torch. An operation that is missing here is *opaque*: it is written by its
name, and an equation that holds one cannot be worked out again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]

_erf: Final = np.vectorize(math.erf, otypes=[np.float64])


def softmax(logits: Array, axis: int) -> Array:
    if not logits.shape[axis]:
        return logits
    highest = logits.max(axis, keepdims=True)
    raised = np.exp(logits - np.where(np.isfinite(highest), highest, 0))
    with np.errstate(invalid="ignore"):
        result: Array = raised / raised.sum(axis, keepdims=True)
    return result


def gelu(x: Array, approximate: str) -> Array:
    if approximate == "tanh":
        inner = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    else:
        inner = _erf(x / math.sqrt(2))
    result: Array = 0.5 * x * (1 + inner)
    return result


def norm(x: Array, *scale: Array, axes: int, eps: float, weight: bool, bias: bool) -> Array:
    last = tuple(range(x.ndim - axes, x.ndim))
    result = (x - x.mean(last, keepdims=True)) / np.sqrt(x.var(last, keepdims=True) + eps)
    rest = list(scale)
    if weight:
        result = result * rest.pop(0)
    whole: Array = result + rest.pop(0) if bias else result
    return whole


def rms_norm(x: Array, *scale: Array, axes: int, eps: float) -> Array:
    last = tuple(range(x.ndim - axes, x.ndim))
    result: Array = x / np.sqrt((x**2).mean(last, keepdims=True) + eps)
    return result * scale[0] if scale else result


def hidden_softmax(logits: Array, hidden: Array) -> Array:
    weights = softmax(np.where(hidden, -np.inf, logits), -1)
    return np.where(hidden, 0.0, weights)


def masked(x: Array, mask: Array, value: float) -> Array:
    return np.where(mask, value, x)


def where(mask: Array, yes: Array, no: Array) -> Array:
    return np.where(mask, yes, no)


def split(x: Array, heads: int) -> Array:
    # Not -1: where there are no tokens there is no telling.
    return np.swapaxes(x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads), -2, -3)


def join(x: Array) -> Array:
    swapped = np.swapaxes(x, -2, -3)
    return swapped.reshape(*swapped.shape[:-2], swapped.shape[-2] * swapped.shape[-1])


def item(x: Array, *places: Array, index: tuple[Any, ...]) -> Array:
    """``x[index]``, in which a text stands for the next of ``places``."""
    rest = list(places)
    chosen = (rest.pop(0) if isinstance(one, str) else one for one in index)
    whole = tuple(
        one.astype(np.int64) if isinstance(one, np.ndarray) and one.dtype.kind == "f" else one
        for one in chosen
    )
    result: Array = x[whole]
    return result


def argmax(x: Array, axis: int | None, keepdim: bool) -> Array:
    result: Array = np.argmax(x, axis, keepdims=keepdim)
    return result


def _reduced(function: Callable[..., Any]) -> Callable[..., Array]:
    def run(x: Array, axis: tuple[int, ...] | None, keepdim: bool) -> Array:
        result: Array = function(x, axis=axis, keepdims=keepdim)
        return result

    return run


def _positive(x: Array) -> Array:
    return np.where(x > 0, x, 0.0)


def sigmoid(x: Array) -> Array:
    result: Array = 1 / (1 + np.exp(-x))
    return result


FUNCTIONS: Final[Mapping[str, Callable[[Array], Array]]] = {
    "relu": _positive,
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
    "softplus": lambda x: np.log1p(np.exp(x)),
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
    "expand": lambda x, shape: np.broadcast_to(x, shape),
    "insert": lambda x, axis: np.expand_dims(x, axis),
    "drop": lambda x, axis: np.squeeze(x, axis),
    "reshape": lambda x, shape: np.reshape(x, shape),
    "permute": lambda x, order: np.transpose(x, order),
    "unflatten": lambda x, shape: np.reshape(x, shape),
    "split": split,
    "join": join,
    "rows": lambda table, places: table[places.astype(np.int64)],
    "item": item,
    "softmax": softmax,
    "log_softmax": lambda x, axis: np.log(softmax(x, axis)),
    "hidden_softmax": hidden_softmax,
    "masked": masked,
    "where": where,
    "gelu": gelu,
    "norm": norm,
    "rms_norm": rms_norm,
    "clamp": lambda x, least, most: np.clip(x, least, most),
    "sum": _reduced(np.sum),
    "mean": _reduced(np.mean),
    "highest": _reduced(np.max),
    "lowest": _reduced(np.min),
    "any": _reduced(np.any),
    "all": _reduced(np.all),
    "argmax": argmax,
    "concat": lambda *x, axis: np.concatenate(x, axis),
    "stack": lambda *x, axis: np.stack(x, axis),
    "einsum": lambda *x, spec: np.einsum(spec, *x),
    "gather": lambda x, places, axis: np.take_along_axis(x, places.astype(np.int64), axis),
}
"""Operation to its meaning; options are given by name."""
