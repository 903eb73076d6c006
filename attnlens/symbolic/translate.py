"""From calls of torch to expressions. What is missing here is written by torch's own name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from torch import Tensor

from attnlens.symbolic import shapes
from attnlens.symbolic.expressions import Expression
from attnlens.symbolic.graph import Graph, Translator

Arguments = tuple[Any, ...]
Named = Mapping[str, Any]


def argument(args: Arguments, named: Named, place: int, name: str, default: Any = None) -> Any:
    """An argument by its place or its name."""
    return args[place] if len(args) > place else named.get(name, default)


def _binary(kind: str, swapped: bool = False) -> Translator:
    def make(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression | None:
        other = argument(args, named, 1, "other")
        if named.get("rounding_mode") is not None:
            return None
        pair = (
            [graph.of(other), graph.of(args[0])]
            if swapped
            else [graph.of(args[0]), graph.of(other)]
        )
        times, last = named.get("alpha", 1), pair[1]
        if times != 1 and last.kind == "number":
            pair[1] = graph.of(times * last.options["value"])
        elif times != 1:
            pair[1] = Expression(
                "multiply", (graph.of(times), last), shape=last.shape, axes=last.axes
            )
        return graph.operation(result, kind, (pair[0], pair[1]))

    return make


def _each(kind: str) -> Translator:
    def make(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression:
        first = argument(args, named, 0, "input")
        return graph.operation(result, kind, (graph.of(first),))

    return make


def _matmul(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression:
    first, second = graph.of(args[0]), graph.of(argument(args, named, 1, "other"))
    return product(graph, result, first, second)


def product(graph: Graph, result: Tensor, first: Expression, second: Expression) -> Expression:
    """A matrix product."""
    return graph.operation(
        result, "matmul", (first, second), axes=shapes.of_product(first, second, result.dim())
    )


def _linear(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression:
    x, weight = graph.of(args[0]), graph.of(argument(args, named, 1, "weight"))
    bias = argument(args, named, 2, "bias")
    turned = transposed(weight)
    axes = (*x.axes[:-1], weight.axes[0])
    made = graph.operation(result, "matmul", (x, turned), axes=axes)
    if bias is None:
        return made
    return graph.operation(result, "add", (made, graph.of(bias)), axes=axes)


def transposed(matrix: Expression) -> Expression:
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


def _addmm(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression | None:
    if named.get("beta", 1) != 1 or named.get("alpha", 1) != 1:
        return None
    bias, first, second = (graph.of(value) for value in args[:3])
    made = product(graph, result, first, second)
    return graph.operation(result, "add", (made, bias))


def _norm(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression:
    shape = argument(args, named, 1, "normalized_shape")
    weight, bias = argument(args, named, 2, "weight"), argument(args, named, 3, "bias")
    x = graph.of(args[0])
    parts = (x, *(graph.of(one) for one in (weight, bias) if one is not None))
    options = {
        "axes": len(tuple(shape)),
        "eps": argument(args, named, 4, "eps", 1e-5),
        "weight": weight is not None,
        "bias": bias is not None,
    }
    return graph.operation(result, "norm", parts, options, axes=x.axes)


def _rms_norm(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression:
    shape, weight = argument(args, named, 1, "normalized_shape"), argument(args, named, 2, "weight")
    eps = argument(args, named, 3, "eps")
    x = graph.of(args[0])
    parts = (x,) if weight is None else (x, graph.of(weight))
    # Torch takes the precision of the numbers where no eps is given.
    eps = 2.0**-23 if eps is None else eps
    return graph.operation(
        result, "rms_norm", parts, {"axes": len(tuple(shape)), "eps": eps}, axes=x.axes
    )


def _softmax(kind: str) -> Translator:
    def make(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression | None:
        axis = argument(args, named, 1, "dim")
        if axis is None:
            return None
        axis %= max(result.dim(), 1)
        return graph.operation(result, kind, (graph.of(args[0]),), {"axis": axis - result.dim()})

    return make


def _gelu(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression:
    options = {"approximate": named.get("approximate", "none")}
    return graph.operation(result, "gelu", (graph.of(args[0]),), options)


def _masked(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression:
    x, mask = graph.of(args[0]), graph.of(argument(args, named, 1, "mask"))
    value = argument(args, named, 2, "value")
    value = float(value) if not isinstance(value, Tensor) else float(value.item())
    below = x.parts[0] if x.kind == "softmax" and x.options["axis"] == -1 else None
    if (
        value == 0
        and below is not None
        and below.kind == "masked"
        and below.parts[1] is mask
        and below.options["value"] == -math.inf
    ):
        return graph.operation(result, "hidden_softmax", (below.parts[0], mask), axes=x.axes)
    return graph.operation(result, "masked", (x, mask), {"value": value}, axes=x.axes)


def _where(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression | None:
    if len(args) + len(named) != 3:
        return None
    chosen = (args[0], argument(args, named, 1, "input"), argument(args, named, 2, "other"))
    return graph.operation(result, "where", tuple(graph.of(value) for value in chosen))


def _clamp(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression | None:
    least, most = argument(args, named, 1, "min"), argument(args, named, 2, "max")
    if isinstance(least, Tensor) or isinstance(most, Tensor):
        return None
    return graph.operation(result, "clamp", (graph.of(args[0]),), {"least": least, "most": most})


def _rows(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression:
    # F.embedding(places, table)
    places, table = graph.of(args[0]), graph.of(argument(args, named, 1, "weight"))
    axes = (*places.axes, *table.axes[1:])
    return graph.operation(result, "rows", (table, places), axes=axes)


def _einsum(graph: Graph, result: Tensor, args: Arguments, _: Named) -> Expression | None:
    spec, *operands = args
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = list(operands[0])
    if not isinstance(spec, str) or "." in spec:
        return None
    parts = tuple(graph.of(one) for one in operands)
    return graph.operation(
        result, "einsum", parts, {"spec": spec}, axes=shapes.of_einsum(spec, parts, result.dim())
    )


def _reduction(kind: str) -> Translator:
    def make(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression | None:
        x = graph.of(args[0])
        axis = argument(args, named, 1, "dim")
        keepdim = bool(argument(args, named, 2, "keepdim", False))
        if isinstance(axis, Tensor):
            return None  # the largest of two tensors
        if kind == "argmax":
            options = {"axis": None if axis is None else axis % len(x.shape), "keepdim": keepdim}
            over = None if axis is None else (axis,)
        else:
            over = None if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
            places = None if over is None else tuple(one % len(x.shape) for one in over)
            options = {"axis": places, "keepdim": keepdim}
        return graph.operation(
            result, kind, (x,), options, axes=shapes.of_reduction(x, over, keepdim)
        )

    return make


def _joined(kind: str) -> Translator:
    def make(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression:
        parts = tuple(graph.of(one) for one in argument(args, named, 0, "tensors"))
        axis = argument(args, named, 1, "dim", 0) % result.dim()
        axes = shapes.of_join(parts, axis, stacked=kind == "stack")
        return graph.operation(result, kind, parts, {"axis": axis - result.dim()}, axes=axes)

    return make


def _gather(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression:
    axis, places = argument(args, named, 1, "dim"), argument(args, named, 2, "index")
    parts = (graph.of(args[0]), graph.of(places))
    axes = parts[1].axes
    return graph.operation(result, "gather", parts, {"axis": axis % result.dim()}, axes=axes)


def _new(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression:
    """Zeros and the like: only their shape comes from the input."""
    del named
    like = graph.of(args[0])
    return graph.leaf(
        result, "constant", axes=like.axes if like.shape == tuple(result.shape) else None
    )


FUNCTIONS: Final[Mapping[str, Translator]] = {
    **{f"new_{kind}": _new for kind in ("zeros", "ones", "full", "empty", "tensor")},
    **{f"{kind}_like": _new for kind in ("zeros", "ones", "full", "empty")},
    **{
        name: _binary(kind)
        for name, kind in {
            "add": "add",
            "iadd": "add",
            "radd": "add",
            "sub": "subtract",
            "subtract": "subtract",
            "isub": "subtract",
            "mul": "multiply",
            "multiply": "multiply",
            "imul": "multiply",
            "div": "divide",
            "divide": "divide",
            "truediv": "divide",
            "true_divide": "divide",
            "itruediv": "divide",
            "pow": "power",
            "minimum": "minimum",
            "maximum": "maximum",
            **{name: name for name in ("eq", "ne", "lt", "le", "gt", "ge", "and", "or")},
            "bitwise_and": "and",
            "bitwise_or": "or",
            "logical_and": "and",
            "logical_or": "or",
        }.items()
    },
    **{
        name: _binary(kind, swapped=True)
        for name, kind in {
            "rsub": "subtract",
            "rdiv": "divide",
            "rtruediv": "divide",
            "rpow": "power",
            "rmul": "multiply",
        }.items()
    },
    **{
        name: _each(name)
        for name in (
            *("relu", "tanh", "sigmoid", "silu", "exp", "log", "log1p", "sqrt", "rsqrt"),
            *("abs", "sin", "cos"),
        )
    },
    "neg": _each("negative"),
    "negative": _each("negative"),
    "invert": _each("not"),
    "logical_not": _each("not"),
    "matmul": _matmul,
    "mm": _matmul,
    "bmm": _matmul,
    "linear": _linear,
    "addmm": _addmm,
    "layer_norm": _norm,
    "rms_norm": _rms_norm,
    "softmax": _softmax("softmax"),
    "log_softmax": _softmax("log_softmax"),
    "gelu": _gelu,
    "masked_fill": _masked,
    "where": _where,
    "clamp": _clamp,
    "clip": _clamp,
    "embedding": _rows,
    "einsum": _einsum,
    "sum": _reduction("sum"),
    "mean": _reduction("mean"),
    "amax": _reduction("highest"),
    "amin": _reduction("lowest"),
    "any": _reduction("any"),
    "all": _reduction("all"),
    "argmax": _reduction("argmax"),
    "cat": _joined("concat"),
    "concat": _joined("concat"),
    "stack": _joined("stack"),
    "gather": _gather,
    **shapes.FUNCTIONS,
}
"""Name of a function or method of torch, without underscores, to what it means."""
