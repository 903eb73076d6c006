"""From calls of torch to expressions. What is missing here is written by torch's own name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from torch import Tensor

from attnlens.symbolic import shapes
from attnlens.symbolic.graph import Call, Expression, Graph, Translator
from attnlens.symbolic.operations import OPERATIONS


def _plain(kind: str, swapped: bool = False) -> Translator:
    """An operation on what torch was given, one or two of it."""

    def make(call: Call) -> Expression | None:
        if call.named.get("rounding_mode") is not None:
            return None
        if len(OPERATIONS[kind].needs) == 1:
            return call.made(kind, call.x)
        first, second = call.x, call.of(1, "other")
        if swapped:
            first, second = second, first
        return call.made(kind, first, times(call.graph, call.named.get("alpha", 1), second))

    return make


def times(graph: Graph, factor: float, one: Expression) -> Expression:
    """Something so many times, as in torch's ``alpha`` and ``beta``."""
    if factor == 1:
        return one
    if one.kind == "number":
        return graph.of(factor * one.options["value"])
    return Expression("multiply", (graph.of(factor), one), shape=one.shape, axes=one.axes)


def _cumsum(call: Call) -> Expression:
    return call.made("cumsum", call.x, axes=call.x.axes, axis=call.axis(1))


def _matmul(call: Call) -> Expression:
    return _product(call, call.x, call.of(1, "other"))


def _product(call: Call, first: Expression, second: Expression) -> Expression:
    axes = shapes.of_product(first, second, call.result.dim())
    return call.made("matmul", first, second, axes=axes)


def _linear(call: Call) -> Expression:
    x, weight = call.x, call.of(1, "weight")
    bias = call.argument(2, "bias")
    axes = (*x.axes[:-1], weight.axes[0])
    made = call.made("matmul", x, _transposed(weight), axes=axes)
    return made if bias is None else call.made("add", made, call.graph.of(bias), axes=axes)


def _transposed(matrix: Expression) -> Expression:
    """The last two axes swapped."""
    shape, axes = matrix.shape, matrix.axes
    return Expression(
        "transpose",
        (matrix,),
        shape=(*shape[:-2], shape[-1], shape[-2]),
        axes=(*axes[:-2], axes[-1], axes[-2]),
        heads=matrix.heads,
        number=matrix.number,
    )


def _product_added(call: Call) -> Expression:
    """``addmm`` and ``baddbmm``: a matrix product, and something added to it."""
    letters = ("mat1", "mat2") if call.result.dim() == 2 else ("batch1", "batch2")
    bias, first, second = call.x, call.of(1, letters[0]), call.of(2, letters[1])
    made = times(call.graph, call.named.get("alpha", 1), _product(call, first, second))
    return call.made("add", times(call.graph, call.named.get("beta", 1), bias), made)


def _norm(kind: str, usual: float, *places: tuple[int, str]) -> Translator:
    """A norm over the last axes: the usual ``eps``, and where its scale and shift are given."""

    def make(call: Call) -> Expression:
        x, size = call.x, call.argument(1, "normalized_shape")
        given = [call.argument(at, name) for at, name in places]
        scale, shift = (None if one is None else call.graph.of(one) for one in (*given, None)[:2])
        eps = call.argument(2 + len(places), "eps")
        # Parameters belong to the norm; what was computed stands after it.
        inside = [one for one in (scale, shift) if one is not None]
        if any(one.kind != "parameter" for one in inside):
            inside = []
        made = call.made(
            kind,
            x,
            *inside,
            axes=x.axes,
            last=len(tuple(size)),
            eps=usual if eps is None else eps,
            weight=scale in inside,
            bias=shift in inside,
        )
        for operation, one in (("multiply", scale), ("add", shift)):
            if one is not None and one not in inside:
                made = call.made(operation, made, one, axes=made.axes)
        return made

    return make


def _softmax(kind: str) -> Translator:
    def make(call: Call) -> Expression | None:
        if call.argument(1, "dim") is None:
            return None
        return call.made(kind, call.x, axis=call.axis(1) - call.result.dim())

    return make


def _gelu(call: Call) -> Expression:
    exact = call.named.get("approximate", "none") == "none"
    return call.made("gelu" if exact else "gelu_tanh", call.x)


def _softplus(call: Call) -> Expression | None:
    plain = len(call.args) == 1 and not call.named
    return call.made("softplus", call.x) if plain else None


def _masked(call: Call) -> Expression:
    x, mask = call.x, call.of(1, "mask")
    value = float(call.argument(2, "value"))
    below = x.parts[0] if x.kind == "softmax" and x.options["axis"] == -1 else None
    if (
        value == 0
        and below is not None
        and below.kind == "masked"
        and below.parts[1] is mask
        and below.options["value"] == -math.inf
    ):
        return call.made("hidden_softmax", below.parts[0], mask, axes=x.axes)
    return call.made("masked", x, mask, axes=x.axes, value=value)


def _where(call: Call) -> Expression | None:
    if len(call.args) + len(call.named) != 3:
        return None
    return call.made("where", call.x, call.of(1, "input"), call.of(2, "other"))


def _clamp(call: Call) -> Expression | None:
    least, most = call.argument(1, "min"), call.argument(2, "max")
    if isinstance(least, Tensor) or isinstance(most, Tensor):
        return None
    return call.made("clamp", call.x, least=least, most=most)


def _rows(call: Call) -> Expression:
    # F.embedding(places, table)
    places, table = call.x, call.of(1, "weight")
    return call.made("rows", table, places, axes=(*places.axes, *table.axes[1:]))


def _einsum(call: Call) -> Expression | None:
    spec, *operands = call.args
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = list(operands[0])
    if not isinstance(spec, str):
        return None
    parts = tuple(map(call.graph.of, operands))
    axes = shapes.of_einsum(spec, parts, call.result.dim())
    return call.made("einsum", *parts, axes=axes, spec=spec)


def _reduction(kind: str) -> Translator:
    def make(call: Call) -> Expression | None:
        x, axis = call.x, call.argument(1, "dim", call.named.get("other"))
        keepdim = bool(call.argument(2, "keepdim", False))
        if isinstance(axis, Tensor):
            return call.made(OF_TWO[kind], x, call.graph.of(axis))
        over = (axis,) if isinstance(axis, int) else axis
        places = None if over is None else tuple(one % len(x.shape) for one in over)
        only = places[0] if places and kind == "argmax" else places
        axes = shapes.of_reduction(x, places, keepdim)
        return call.made(kind, x, axes=axes, axis=only, keepdim=keepdim)

    return make


def _concat(call: Call) -> Expression | None:
    """Values side by side; what is empty, such as a cache before its first use, adds nothing."""
    # Torch takes an empty tensor of one axis beside any others.
    held = [one for one in call.args[0] if one.numel()] or [
        one for one in call.args[0] if one.dim() == call.result.dim()
    ]
    if len(held) == 1:
        return shapes.same(replace(call, args=(held[0],)))
    return _joined("concat", call, held)


def _stack(call: Call) -> Expression:
    return _joined("stack", call, call.args[0])


def _joined(kind: str, call: Call, values: Sequence[Tensor]) -> Expression:
    parts = tuple(map(call.graph.of, values))
    axis = call.axis(1)
    axes = shapes.of_join(parts, axis, stacked=kind == "stack")
    return call.made(kind, *parts, axes=axes, axis=axis - call.result.dim())


def _gather(call: Call) -> Expression:
    x, places = call.x, call.of(2, "index")
    return call.made("gather", x, places, axes=places.axes, axis=call.axis(1))


def _new(call: Call) -> Expression:
    """Zeros and the like: only their shape comes from the input."""
    like = call.x
    axes = like.axes if like.shape == tuple(call.result.shape) else None
    return call.graph.leaf(call.result, "constant", axes=axes)


REDUCTIONS: Final = {name: name for name in ("sum", "mean", "any", "all", "argmax")} | {
    "amax": "highest",
    "amin": "lowest",
    "max": "highest",
    "min": "lowest",
}
"""Torch's names of what leaves an axis out, to operations."""

OF_TWO: Final = {"highest": "maximum", "lowest": "minimum"}
"""What torch calls by the same name where two tensors are given."""


FUNCTIONS: Final[Mapping[str, Translator]] = {
    **{f"new_{kind}": _new for kind in ("zeros", "ones", "full", "empty", "tensor")},
    **{f"{kind}_like": _new for kind in ("zeros", "ones", "full", "empty")},
    **{name: _plain(kind) for kind, one in OPERATIONS.items() for name in one.torch.split()},
    **{
        name: _plain(kind, True) for kind, one in OPERATIONS.items() for name in one.swapped.split()
    },
    **{name: _reduction(kind) for name, kind in REDUCTIONS.items()},
    "square": lambda call: call.made("power", call.x, call.graph.of(2)),
    "cumsum": _cumsum,
    **dict.fromkeys(("matmul", "mm", "bmm"), _matmul),
    "linear": _linear,
    **dict.fromkeys(("addmm", "baddbmm"), _product_added),
    "layer_norm": _norm("norm", 1e-5, (2, "weight"), (3, "bias")),
    # Torch takes the precision of the numbers where no eps is given.
    "rms_norm": _norm("rms_norm", 2.0**-23, (2, "weight")),
    "softmax": _softmax("softmax"),
    "log_softmax": _softmax("log_softmax"),
    "gelu": _gelu,
    "softplus": _softplus,
    "masked_fill": _masked,
    "where": _where,
    **dict.fromkeys(("clamp", "clip"), _clamp),
    "embedding": _rows,
    "einsum": _einsum,
    **dict.fromkeys(("cat", "concat"), _concat),
    "stack": _stack,
    "gather": _gather,
    **shapes.FUNCTIONS,
}
"""Name of a function or method of torch, without underscores, to what it means."""
