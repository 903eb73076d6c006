"""From calls of torch to expressions. What is missing here is written by torch's own name.

Attention that torch computes in one call is written out in the steps it has (`WRITTEN_OUT`): it is
computed again, step by step, and taken only where that gives the output that the call gave.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlens.reference.attention import hidden_softmax, join_heads, split_heads
from attnlens.reference.symbolic import shapes
from attnlens.reference.symbolic.graph import Call, Expression, Graph, Translator
from attnlens.reference.symbolic.operations import OPERATIONS


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


def times(graph: Graph, factor: float, expression: Expression) -> Expression:
    """Something so many times, as in torch's ``alpha`` and ``beta``."""
    if factor == 1:
        return expression
    if expression.kind == "number":
        return graph.of(factor * expression.options["value"])
    return Expression(
        "multiply", (graph.of(factor), expression), shape=expression.shape, axes=expression.axes
    )


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
    held = [arg for arg in call.args[0] if arg.numel()] or [
        arg for arg in call.args[0] if arg.dim() == call.result.dim()
    ]
    if len(held) == 1:
        return shapes.same(replace(call, args=(held[0],)))
    return _joined("concat", call, held)


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
    **{
        name: _plain(kind)
        for kind, operation in OPERATIONS.items()
        for name in operation.torch.split()
    },
    **{
        name: _plain(kind, True) for kind, one in OPERATIONS.items() for name in one.swapped.split()
    },
    **{name: _reduction(kind) for name, kind in REDUCTIONS.items()},
    "square": lambda call: call.made("power", call.x, call.graph.of(2)),
    "cumsum": lambda call: call.made("cumsum", call.x, axes=call.x.axes, axis=call.axis(1)),
    **dict.fromkeys(
        ("matmul", "mm", "bmm"), lambda call: _product(call, call.x, call.of(1, "other"))
    ),
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
    "stack": lambda call: _joined("stack", call, call.args[0]),
    "gather": _gather,
    **shapes.FUNCTIONS,
}
"""Name of a function or method of torch, without underscores, to what it means."""


SIGNATURE: Final = inspect.signature(F.multi_head_attention_forward)


class NotWrittenOut(Exception):
    """A call with options of which no steps are written here; it is then told as one step."""


Say = Callable[[str, Tensor, str], Tensor]
"""Names a step, and returns its value."""

Part = Callable[[Tensor, Tensor, int, str], Tensor]
"""``part(tensor, rows, number, symbol)``: rows of a parameter, as a parameter of its own."""

WrittenOut = Callable[..., tuple[Tensor, Tensor]]


def sdpa(
    say: Say,
    part: Part,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Tensor, Tensor]:
    """``F.scaled_dot_product_attention``: the output and the weights."""
    del part, dropout_p
    if enable_gqa:
        key, value = (_for_every_head(one, query.shape[-3]) for one in (key, value))
    if is_causal:
        queries, keys = query.shape[-2], key.shape[-2]
        attn_mask = torch.ones(queries, keys, dtype=torch.bool, device=query.device).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = ~attn_mask
    return _attention(say, query, key, value, scale, () if attn_mask is None else (attn_mask,))


def _attention(
    say: Say,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float | None,
    masks: Iterable[Tensor],
) -> tuple[Tensor, Tensor]:
    """The output and the weights; a mask hides where it is true, or is added to the logits."""
    content = query @ key.transpose(-2, -1)
    content = content / math.sqrt(query.shape[-1]) if scale is None else content * scale
    hidden = None
    for mask in masks:
        if mask.dtype == torch.bool:
            hidden = mask if hidden is None else hidden | mask
        else:
            content = content + mask
    logits = say("S", content, "logits")
    weights = say("A", hidden_softmax(logits, hidden), "attention")
    return weights @ value, weights


def _for_every_head(shared: Tensor, heads: int) -> Tensor:
    """Keys or values that several heads in a row share, once for each of the heads."""
    *lead, count, length, width = shared.shape
    groups = shared.unsqueeze(-3).expand(*lead, count, heads // count, length, width)
    return groups.reshape(*lead, heads, length, width)


def multi_head_attention(say: Say, part: Part, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """``F.multi_head_attention_forward``: the output and the weights of every head."""
    given = SIGNATURE.bind(*args, **kwargs)
    given.apply_defaults()
    told = given.arguments
    kept = [told[name] for name in ("bias_k", "bias_v", "static_k", "static_v")]
    if any(one is not None for one in kept) or told["add_zero_attn"]:
        raise NotWrittenOut
    sources = [told[name] for name in ("query", "key", "value")]
    if sources[0].dim() == 3:
        sources = [source.transpose(0, 1) for source in sources]
    weights = [told[f"{letter}_proj_weight"] for letter in "qkv"]
    if not told["use_separate_proj_weight"]:
        weights = _thirds(part, told["in_proj_weight"], "W")
    biases = _thirds(part, told["in_proj_bias"], "b")
    heads = told["num_heads"]
    q, k, v = (
        say(letter, split_heads(F.linear(x, weight, bias), heads), words)
        for letter, words, x, weight, bias in zip(
            "QKV", ("queries", "keys", "values"), sources, weights, biases, strict=True
        )
    )
    masks = _masks(told["attn_mask"], told["key_padding_mask"], heads)
    mixed, shares = _attention(say, q, k, v, None, masks)
    output = F.linear(join_heads(mixed), told["out_proj_weight"], told["out_proj_bias"])
    return (output.transpose(0, 1) if output.dim() == 3 else output), shares


def _masks(mask: Tensor | None, padding: Tensor | None, heads: int) -> Iterator[Tensor]:
    """The masks that there are, each to be broadcast to ``(batch, head, query, key)``."""
    if mask is not None:
        yield mask.reshape(-1, heads, *mask.shape[1:]) if mask.dim() == 3 else mask
    if padding is not None:
        yield padding[:, None, None]


def _thirds(part: Part, packed: Tensor | None, symbol: str) -> list[Tensor | None]:
    """What is for queries, keys and values in a parameter that holds all three."""
    if packed is None:
        return [None, None, None]
    return [
        part(packed, rows, index, f"{symbol}_{letter}")
        for index, (rows, letter) in enumerate(zip(packed.chunk(3), "QKV", strict=True))
    ]


WRITTEN_OUT: Final[Mapping[str, WrittenOut]] = {
    "scaled_dot_product_attention": sdpa,
    "multi_head_attention_forward": multi_head_attention,
}


def agrees(computed: Tensor, output: Any) -> bool:
    """Whether the steps gave what the call gave."""
    return computed.shape == output.shape and torch.allclose(
        computed, output, rtol=1e-4, atol=1e-5, equal_nan=True
    )
