"""Translate calls of torch functions into operations of the graph.

Fused attention calls are written out step by step, and the results are compared.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from attnlens.reference.attention import hidden_softmax, join_heads, split_heads
from attnlens.reference.symbolic.expressions import (
    OPERATIONS,
    Axes,
    Call,
    Expression,
    Graph,
    Translator,
    broadcast_axes,
    number,
)


def product_axes(first: Expression, second: Expression, shape: tuple[int, ...]) -> Axes:
    """Return the axis names of a matrix product with the given shape."""
    leads = (replace(part, axes=part.axes[:-2], shape=part.shape[:-2]) for part in (first, second))
    ends = (*first.axes[-2:-1], *(second.axes[-1:] if len(second.axes) > 1 else ()))
    return (*broadcast_axes(tuple(leads), shape[: len(shape) - len(ends)]), *ends)


def same(call: Call) -> Expression | None:
    first = call.x
    if call.result is call.args[0]:
        return first
    before, after = call.args[0].dtype, call.result.dtype
    if after == torch.bool != before:
        return call.made("ne", first, number(0))
    if before.is_floating_point and not (after.is_floating_point or after.is_complex):
        return None  # the conversion truncates the numbers
    if before == torch.bool != after or (after.is_floating_point and not before.is_floating_point):
        return call.made("as_number", first)
    return call.graph.put_again(call.result, first)


def _places(shape: tuple[int, ...]) -> Tensor:
    """Return a tensor of element positions, with a different stride for each axis.

    The strides identify the axes of a view, including axes of size 1.
    """
    count = math.prod(shape)
    strides = torch.empty(shape, device="meta").stride()
    distinct_strides = [
        2 * count + at if size == 1 else stride
        for at, (size, stride) in enumerate(zip(shape, strides, strict=True))
    ]
    return torch.arange(count).as_strided(shape, distinct_strides)


def _alike(first: Tensor, second: Tensor) -> bool:
    return first.shape == second.shape and first.stride() == second.stride()


def _axes_of(x: Expression, before: Tensor, after: Tensor) -> Axes:
    """Return the axis names of a view, by size and stride."""
    left = dict(enumerate(zip(before.shape, before.stride(), strict=True)))
    axes: list[str | None] = []
    # Start with the last axis: a new axis of size 1 may have the stride of the axis after it.
    for axis in reversed([*zip(after.shape, after.stride(), strict=True)]):
        at = next((at for at, other in left.items() if other == axis), None)
        axes.append(None if at is None else x.axes[at])
        left.pop(at, None) if at is not None else None
    return tuple(reversed(axes))


def _moved(call: Call) -> Expression | None:
    """Translate a call that returns a view, by repeating the call on a tensor of positions."""
    x, before = call.x, _places(call.x.shape)
    after = call.function(before, *call.args[1:], **call.kwargs)
    if _alike(after, before):
        return same(call)
    axes = _axes_of(x, before, after)
    if len(x.shape) >= 2 and _alike(after, before.mT):
        return call.made("transpose", x, axes=axes)
    if _is_parted(x) and _alike(after, before.transpose(-2, -3)):
        (inner,) = x.parts
        width = inner.axes[-1] if x.shape[-2] == 1 else None  # a single head has the full width
        axes = (*inner.axes[:-2], "head", inner.axes[-2], width)
        return call.made("split", inner, axes=axes, heads=x.shape[-2], into=x.shape[-2])
    return call.made("moved", x, axes=axes, places=after.numpy())


def _copied(call: Call) -> Expression | None:
    if any(isinstance(arg, Tensor) for arg in (*call.args[1:], *call.kwargs.values())):
        return None  # the new positions of the numbers may depend on the input
    places = call.function(
        torch.arange(math.prod(call.x.shape)).view(call.x.shape), *call.args[1:], **call.kwargs
    )
    axes = _matching(call.x, tuple(call.result.shape))
    return call.made("moved", call.x, axes=axes, places=places.numpy())


def _is_parted(x: Expression) -> bool:
    return x.kind == "reshape" and x.shape[:-2] == x.parts[0].shape[:-1] and len(x.shape) > 2


def _reshape(call: Call) -> Expression | None:
    x, shape = call.x, tuple(call.result.shape)
    if shape == x.shape:
        return same(call)
    if shape == (*x.shape[:-2], math.prod(x.shape[-2:])) and _heads_brought_back(x):
        (inner,) = x.parts
        axes = (*inner.axes[:-3], inner.axes[-2], None)
        return call.made("join", inner, axes=axes, heads=0)
    return call.made("reshape", x, axes=_matching(x, shape), shape=shape)


def _heads_brought_back(x: Expression) -> bool:
    """Return whether the head axis was moved behind the token axis."""
    if x.kind != "moved" or len(x.shape) < 3 or not x.parts[0].heads:
        return False
    (inner,) = x.parts
    swapped = _places(inner.shape).transpose(-2, -3).numpy()
    return inner.axes[-3] == "head" and np.array_equal(x.options["places"], swapped)


def _matching(x: Expression, shape: tuple[int, ...]) -> Axes:
    """Return axis names for a new shape; unchanged axes at both ends keep their names."""
    axes: list[str | None] = [None] * len(shape)
    both = min(len(shape), len(x.shape))
    for places in (range(both), range(-1, -both - 1, -1)):
        for at in places:
            if shape[at] != x.shape[at]:
                break
            axes[at] = x.axes[at]
    return tuple(axes)


def _item(call: Call) -> Expression | None:
    x, raw_index = call.x, call.args[1]
    index = raw_index if isinstance(raw_index, tuple) else (raw_index,)
    only = index[0] if len(index) == 1 else None
    if isinstance(only, Tensor) and only.dtype.is_signed and not only.is_floating_point():
        places = call.graph.of(only)
        return call.made("rows", x, places, axes=(*places.axes, *x.axes[1:]))
    parts = [call.graph.of(entry) for entry in index if isinstance(entry, Tensor)]
    axes: Axes = (None,) * call.result.dim()
    if not any(isinstance(entry, Tensor | list) for entry in index):
        before = _places(x.shape)
        after = before[raw_index]
        if _alike(before, after):
            return same(call)
        axes = _axes_of(x, before, after)
    written = tuple("part" if isinstance(entry, Tensor) else entry for entry in index)
    return call.made("item", x, *parts, axes=axes, index=written)


def _index_select(call: Call) -> Expression | None:
    lead = (slice(None),) * (call.argument(1, "dim") % len(call.x.shape))
    return _item(replace(call, args=(call.args[0], (*lead, call.argument(2, "index")))))


def _copy(call: Call) -> Expression | None:
    source = call.argument(1, "src")
    same_size = source.shape == call.result.shape
    return same(replace(call, args=(source,))) if same_size else None


_PARTING: Final = {"chunk": 2, "split": 2, "split_with_sizes": 2, "tensor_split": 2, "unbind": 1}
"""The index of the axis argument of each function that splits a tensor."""


def parted(call: Call, name: str, pieces: tuple[Any, ...]) -> bool:
    """Translate the results of a function that splits a tensor, or return False."""
    axis_index = _PARTING.get(name)
    if axis_index is None:
        return False
    count = len(call.x.shape)
    axis = call.argument(axis_index, "dim", 0) % count
    lead = (...,) if 0 < axis == count - 1 else (slice(None),) * axis
    start = 0
    for piece in pieces:
        end = start + (1 if name == "unbind" else piece.shape[axis])
        part = start if name == "unbind" else slice(start, end)
        _item(replace(call, result=piece, args=(call.args[0], (*lead, part))))
        start = end
    return True


_LAYOUT_CALLS: Final[tuple[tuple[Translator, str], ...]] = (
    (
        same,
        "dropout contiguous to float double clone detach alias type_as data alpha_dropout "
        "feature_dropout type half bfloat16 int long bool",
    ),
    (_reshape, "reshape view flatten unflatten view_as reshape_as"),
    (_moved, "transpose swapaxes t T mT movedim permute expand expand_as unsqueeze squeeze"),
    (_copied, "repeat repeat_interleave tile flip roll"),
    (_item, "getitem"),
    (_index_select, "index_select"),
    (_copy, "copy"),
)


def _plain(kind: str, swapped: bool = False) -> Translator:

    def make(call: Call) -> Expression | None:
        if call.kwargs.get("rounding_mode") is not None:
            return None
        if len(OPERATIONS[kind].needs) == 1:
            return call.made(kind, call.x)
        first, second = call.x, call.of(1, "other")
        if swapped:
            first, second = second, first
        return call.made(kind, first, times(call.graph, call.kwargs.get("alpha", 1), second))

    return make


def times(graph: Graph, factor: float, expression: Expression) -> Expression:
    """Multiply an expression by a factor."""
    if factor == 1:
        return expression
    if expression.kind == "number":
        return graph.of(factor * expression.options["value"])
    return Expression(
        "multiply", (graph.of(factor), expression), shape=expression.shape, axes=expression.axes
    )


def _product(call: Call, first: Expression, second: Expression) -> Expression:
    axes = product_axes(first, second, tuple(call.result.shape))
    return call.made("matmul", first, second, axes=axes)


def _linear(call: Call) -> Expression:
    x, weight = call.x, call.of(1, "weight")
    bias = call.argument(2, "bias")
    axes = (*x.axes[:-1], weight.axes[0])
    made = call.made("matmul", x, _transposed(weight), axes=axes)
    return made if bias is None else call.made("add", made, call.graph.of(bias), axes=axes)


def _transposed(matrix: Expression) -> Expression:
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
    letters = ("mat1", "mat2") if call.result.dim() == 2 else ("batch1", "batch2")
    bias, first, second = call.x, call.of(1, letters[0]), call.of(2, letters[1])
    made = times(call.graph, call.kwargs.get("alpha", 1), _product(call, first, second))
    return call.made("add", times(call.graph, call.kwargs.get("beta", 1), bias), made)


def _norm(kind: str, default_eps: float, *names: str) -> Translator:
    """``names`` are the names of arguments 2 (scale) and 3 (shift)."""

    def make(call: Call) -> Expression:
        x, size = call.x, call.argument(1, "normalized_shape")
        args = [call.argument(2 + at, name) for at, name in enumerate(names)]
        scale, shift = (None if part is None else call.graph.of(part) for part in (*args, None)[:2])
        eps = call.argument(2 + len(names), "eps")
        # Parameters are part of the norm; a computed scale or shift is written after the norm.
        affine = [part for part in (scale, shift) if part is not None]
        inside = affine if all(part.kind == "parameter" for part in affine) else []
        options: dict[str, Any] = {
            "last": len(tuple(size)),
            "eps": default_eps if eps is None else eps,
            "weight": scale in inside,
            "bias": shift in inside,
        }
        made = call.made(kind, x, *inside, axes=x.axes, **options)
        for operation, part in (("multiply", scale), ("add", shift)):
            if part is not None and not inside:
                made = call.made(operation, made, part, axes=made.axes)
        return made

    return make


def _softmax(kind: str) -> Translator:
    def make(call: Call) -> Expression | None:
        if call.argument(1, "dim") is None:
            return None
        return call.made(kind, call.x, axis=call.axis(1) - call.result.dim())

    return make


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
    if len(call.args) + len(call.kwargs) != 3:
        return None
    return call.made("where", call.x, call.of(1, "input"), call.of(2, "other"))


def _clamp(call: Call) -> Expression | None:
    low, high = call.argument(1, "min"), call.argument(2, "max")
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        return None
    return call.made("clamp", call.x, low=low, high=high)


def _rows(call: Call) -> Expression:
    # The arguments of F.embedding are the indices and the table.
    places, table = call.x, call.of(1, "weight")
    return call.made("rows", table, places, axes=(*places.axes, *table.axes[1:]))


def _einsum(call: Call) -> Expression | None:
    spec, *operands = call.args
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = list(operands[0])
    if not isinstance(spec, str):
        return None
    parts = tuple(map(call.graph.of, operands))
    axes = _einsum_axes(spec, parts, call.result.dim())
    return call.made("einsum", *parts, axes=axes, spec=spec)


def _einsum_axes(spec: str, parts: tuple[Expression, ...], dimensions: int) -> Axes:
    if "." in spec:
        return (None,) * dimensions
    inputs, _, output = spec.replace(" ", "").partition("->")
    meaning: dict[str, str | None] = {}
    for letters, part in zip(inputs.split(","), parts, strict=True):
        for letter, axis in zip(letters, part.axes, strict=True):
            meaning[letter] = meaning.get(letter) or axis
    axes = tuple(meaning.get(letter) for letter in output)
    return axes if len(axes) == dimensions else (None,) * dimensions


def _reduction(kind: str) -> Translator:
    def make(call: Call) -> Expression | None:
        x, axis = call.x, call.argument(1, "dim", call.kwargs.get("other"))
        keepdim = bool(call.argument(2, "keepdim", False))
        if isinstance(axis, Tensor):
            return call.made(_OF_TWO[kind], x, call.graph.of(axis))
        over = (axis,) if isinstance(axis, int) else axis
        places = None if over is None else tuple(dim % len(x.shape) for dim in over)
        only = places[0] if places and kind == "argmax" else places
        gone = range(len(x.shape)) if places is None else places
        axes = tuple(
            None if at in gone else axis
            for at, axis in enumerate(x.axes)
            if keepdim or at not in gone
        )
        return call.made(kind, x, axes=axes, axis=only, keepdim=keepdim)

    return make


def _concat(call: Call) -> Expression | None:
    """Translate a concatenation without empty tensors, such as an unused cache."""
    # torch.cat accepts an empty 1-D tensor together with tensors of any shape.
    held = [arg for arg in call.args[0] if arg.numel()] or [
        arg for arg in call.args[0] if arg.dim() == call.result.dim()
    ]
    if len(held) == 1:
        return same(replace(call, args=(held[0],)))
    return _joined("concat", call, held)


def _joined(kind: str, call: Call, values: Sequence[Tensor]) -> Expression:
    parts = tuple(map(call.graph.of, values))
    axis = call.axis(1)
    after = axis if kind == "stack" else axis + 1
    axes = (*parts[0].axes[:axis], None, *parts[0].axes[after:])
    return call.made(kind, *parts, axes=axes, axis=axis - call.result.dim())


def _new(call: Call) -> Expression:
    like = call.x
    axes = like.axes if like.shape == tuple(call.result.shape) else None
    return call.graph.leaf(call.result, "constant", axes=axes)


_REDUCTIONS: Final = {name: name for name in ("sum", "mean", "any", "all", "argmax")} | {
    "amax": "highest",
    "amin": "lowest",
    "max": "highest",
    "min": "lowest",
}

_OF_TWO: Final = {"highest": "maximum", "lowest": "minimum"}


FUNCTIONS: Final[Mapping[str, Translator]] = {
    **{f"new_{kind}": _new for kind in ("zeros", "ones", "full", "empty", "tensor")},
    **{f"{kind}_like": _new for kind in ("zeros", "ones", "full", "empty")},
    **{
        name: _plain(kind)
        for kind, operation in OPERATIONS.items()
        for name in operation.torch.split()
    },
    **{
        name: _plain(kind, True)
        for kind, operation in OPERATIONS.items()
        for name in operation.swapped.split()
    },
    **{name: _reduction(kind) for name, kind in _REDUCTIONS.items()},
    "square": lambda call: call.made("power", call.x, call.graph.of(2)),
    "cumsum": lambda call: call.made("cumsum", call.x, axes=call.x.axes, axis=call.axis(1)),
    **dict.fromkeys(
        ("matmul", "mm", "bmm"), lambda call: _product(call, call.x, call.of(1, "other"))
    ),
    "linear": _linear,
    **dict.fromkeys(("addmm", "baddbmm"), _product_added),
    "layer_norm": _norm("norm", 1e-5, "weight", "bias"),
    # The default eps of torch is the machine epsilon of the data type, here float32.
    "rms_norm": _norm("rms_norm", 2.0**-23, "weight"),
    "softmax": _softmax("softmax"),
    "log_softmax": _softmax("log_softmax"),
    "gelu": lambda call: call.made(
        "gelu" if call.kwargs.get("approximate", "none") == "none" else "gelu_tanh", call.x
    ),
    "softplus": lambda call: (
        None if call.args[1:] or call.kwargs else call.made("softplus", call.x)
    ),
    "masked_fill": _masked,
    "where": _where,
    **dict.fromkeys(("clamp", "clip"), _clamp),
    "embedding": _rows,
    "einsum": _einsum,
    **dict.fromkeys(("cat", "concat"), _concat),
    "stack": lambda call: _joined("stack", call, call.args[0]),
    "gather": lambda call: call.made(
        "gather", call.x, call.of(2, "index"), axes=call.of(2, "index").axes, axis=call.axis(1)
    ),
    **{name: call for call, names in _LAYOUT_CALLS for name in names.split()},
}
"""The translators of torch functions and methods. No name starts or ends with an underscore."""


_SIGNATURE: Final = inspect.signature(F.multi_head_attention_forward)


NameStep = Callable[[str, Tensor, str], Tensor]
"""A function ``say(symbol, value, description)`` that names a step and returns its value."""

NamePart = Callable[[Tensor, Tensor, int, str], Tensor]
"""A function ``part(packed, rows, index, symbol)`` that gives a symbol to rows of a parameter."""

WrittenOut = Callable[..., tuple[Tensor, Tensor] | None]


def sdpa(
    say: NameStep,
    part: NamePart,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Tensor, Tensor]:
    """Compute the results of ``F.scaled_dot_product_attention`` step by step."""
    del part, dropout_p
    if enable_gqa:
        key, value = (_for_every_head(tensor, query.shape[-3]) for tensor in (key, value))
    if is_causal:
        queries, keys = query.shape[-2], key.shape[-2]
        attn_mask = torch.ones(queries, keys, dtype=torch.bool, device=query.device).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = ~attn_mask
    return _attention(say, query, key, value, scale, () if attn_mask is None else (attn_mask,))


def _attention(
    say: NameStep,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float | None,
    masks: Iterable[Tensor],
) -> tuple[Tensor, Tensor]:
    """Boolean masks are true for hidden keys; other masks are added to the logits."""
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
    *lead, count, length, width = shared.shape
    groups = shared.unsqueeze(-3).expand(*lead, count, heads // count, length, width)
    return groups.reshape(*lead, heads, length, width)


def multi_head_attention(
    say: NameStep, part: NamePart, *args: Any, **kwargs: Any
) -> tuple[Tensor, Tensor] | None:
    """Compute the results of ``F.multi_head_attention_forward`` step by step.

    The weights are not averaged over heads. The result is None for unsupported options.
    """
    bound = _SIGNATURE.bind(*args, **kwargs)
    bound.apply_defaults()
    arguments = bound.arguments
    extra_keys = [arguments[name] for name in ("bias_k", "bias_v", "static_k", "static_v")]
    if any(tensor is not None for tensor in extra_keys) or arguments["add_zero_attn"]:
        return None  # calls with these options are not written out
    sources = [arguments[name] for name in ("query", "key", "value")]
    if sources[0].dim() == 3:
        sources = [source.transpose(0, 1) for source in sources]
    weights = [arguments[f"{letter}_proj_weight"] for letter in "qkv"]
    if not arguments["use_separate_proj_weight"]:
        weights = _thirds(part, arguments["in_proj_weight"], "W")
    biases = _thirds(part, arguments["in_proj_bias"], "b")
    heads = arguments["num_heads"]
    q, k, v = (
        say(letter, split_heads(F.linear(x, weight, bias), heads), words)
        for letter, words, x, weight, bias in zip(
            "QKV", ("queries", "keys", "values"), sources, weights, biases, strict=True
        )
    )
    masks = []
    if (mask := arguments["attn_mask"]) is not None:
        masks.append(mask.reshape(-1, heads, *mask.shape[1:]) if mask.dim() == 3 else mask)
    if (padding := arguments["key_padding_mask"]) is not None:
        masks.append(padding[:, None, None])
    attended, shares = _attention(say, q, k, v, None, masks)
    output = F.linear(
        join_heads(attended), arguments["out_proj_weight"], arguments["out_proj_bias"]
    )
    return (output.transpose(0, 1) if output.dim() == 3 else output), shares


def _thirds(part: NamePart, packed: Tensor | None, symbol: str) -> list[Tensor | None]:
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
    """Return whether the result of the steps is close to the result of the call."""
    return computed.shape == output.shape and torch.allclose(
        computed, output, rtol=1e-4, atol=1e-5, equal_nan=True
    )
