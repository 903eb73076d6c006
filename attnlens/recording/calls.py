"""Attention calls: calls of fused kernels, and products of attention weights and values."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn

from attnlens.recording.lazy import LazyAttention
from attnlens.recording.sites import local_of
from attnlens.recording.tracking import Axes, Dimension, Pair, TracedAxis, size_of


@dataclass(frozen=True, slots=True, eq=False)
class AttentionCall:
    """The inputs and outputs of one attention call. ``source`` or ``weights`` is given, or both.

    The tensors belong to the model. Detach a tensor before you keep it, and do not change it in
    place.

    Attributes:
        source: the queries and keys of a fused kernel, in the kernel's precision.
        weights: the weights, shape ``(batch, head, query, key)``.
        v: the values, if known, shape ``(batch, key head, key, width)``.
        output: the output of each head, if known, shape ``(batch, head, query, width)``.
        dropout: the probability that the kernel drops a weight after softmax.
        own: whether ``weights`` can be kept without a copy.
        notes: remarks about the call.
        site: the module that made the call, as in ``named_modules()``.
        number: the index of the call among the module's calls, counted from 0.
    """

    source: LazyAttention | None = None
    weights: Tensor | None = None
    v: Tensor | None = None
    output: Tensor | None = None
    dropout: float = 0.0
    own: bool = False
    notes: tuple[str, ...] = ()
    site: str = ""
    number: int = 0

    @property
    def queries(self) -> LazyAttention:
        """``source``, which must be given."""
        assert self.source is not None
        return self.source

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape ``(batch, head, query, key)`` of the weights."""
        return self.queries.shape if self.weights is None else tuple(self.weights.shape)

    @property
    def device(self) -> torch.device:
        return (self.queries.q if self.weights is None else self.weights).device


class Layout(NamedTuple):
    """The axes of a product, grouped into batch, head, query, key and width."""

    batch: Dimension
    head: Dimension
    query: Dimension
    key: Dimension
    width: Dimension


def arranged(
    tensor: Tensor, dimensions: Sequence[Dimension], groups: Sequence[Dimension]
) -> Tensor:
    """Return the tensor with one dimension per group, expanded along missing axes."""
    flat = [axis for dimension in dimensions for axis in dimension]
    target_axes = [axis for group in groups for axis in group]
    shared = [axis for axis in target_axes if axis in flat]
    loose = [index for index, axis in enumerate(flat) if axis not in shared]
    order = [flat.index(axis) for axis in shared] + loose
    result = tensor.reshape([axis.size for axis in flat]).permute(order)
    result = result.reshape([axis.size for axis in shared])
    for index, axis in enumerate(target_axes):
        if axis not in shared:
            result = result.unsqueeze(index)
    return result.expand([axis.size for axis in target_axes]).reshape(
        [size_of(group) for group in groups]
    )


FUSED: Final = frozenset(
    f"_scaled_dot_product_{name}"
    for name in (
        "flash_attention_for_cpu",
        "flash_attention",
        "efficient_attention",
        "cudnn_attention",
        "fused_attention_overrideable",
        "attention_math_for_mps",
    )
)
"""The fused operators, which do not return the attention weights."""


def fused_call(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any, are_heads: bool
) -> AttentionCall:
    """Return the attention call of an operator in `FUSED`.

    Some models pass heads with shared keys as queries of one head. With ``are_heads``, each of
    these queries becomes a head, and the queries have shape ``(batch, head * query, 1, d)``.
    """
    names = [argument.name for argument in func._schema.arguments]
    arguments = dict(zip(names, args, strict=False)) | kwargs
    q, k, outputs = arguments["query"], arguments["key"], output[0]
    scale = arguments.get("scale")
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    mask = arguments.get("attn_mask", arguments.get("attn_bias"))
    lse = output[1] if func._overloadpacket.__name__.endswith("for_cpu") else None
    if lse is not None and mask is not None and q.shape[2] and not q.is_meta:
        # If a huge negative mask hides every key of a row, rounding makes lse useless.
        lse = None if bool((lse < torch.finfo(lse.dtype).min / 2).any()) else lse
    if are_heads:
        q, outputs = (part.flatten(1, 2).unsqueeze(2) for part in (q, outputs))
        lse = None if lse is None else lse.flatten(1, 2).unsqueeze(2)
        if mask is not None and mask.dim() == 4 and mask.shape[1] > 1:
            mask = mask.flatten(1, 2).unsqueeze(2)
    source = LazyAttention(q, k, scale, mask, bool(arguments.get("is_causal", False)), lse)
    dropout = float(arguments.get("dropout_p", 0.0))
    return AttentionCall(source, v=arguments["value"], output=outputs, dropout=dropout)


LAYERS: Final = frozenset(("_transformer_encoder_layer_fwd", "_native_multi_head_attention"))
_ENCODER_CODE: Final = nn.TransformerEncoder.forward.__code__


WITH_WEIGHTS: Final = {"need_weights": True, "average_attn_weights": False}


def keys_of(tensor: Tensor) -> Any:
    name = f"{'NestedTensor' if tensor.is_nested else ''}{tensor.device.type.upper()}"
    return torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, name))


def padded_arguments(arguments: dict[str, Any]) -> tuple[dict[str, Any], Tensor]:
    """Return the arguments with padded tensors, and a mask that is true at padded positions.

    The padded length is the length of the encoder's input. Every sequence may be shorter.
    """
    nested = arguments["query"]
    sequences = nested.unbind()
    lengths = torch.tensor([len(sequence) for sequence in sequences], device=nested.device)
    longest = max(int(lengths.max()), _unpadded_length(sys._getframe(1)))
    shape = len(sequences), longest, sequences[0].shape[-1]
    padded = nested.to_padded_tensor(0.0, shape)
    hidden = torch.arange(longest, device=nested.device) >= lengths.unsqueeze(1)
    names = ("query", "key", "value")
    return arguments | dict.fromkeys(names, padded) | {"mask": hidden, "mask_type": 1}, hidden


def _unpadded_length(frame: FrameType | None) -> int:
    while frame is not None:
        if frame.f_code is _ENCODER_CODE:
            return int(local_of(frame, "src").shape[1])
        frame = frame.f_back
    return 0


_DROPPED: Final = (
    "the weights were recorded after dropout, because the model applies dropout itself"
)


@dataclass(frozen=True, slots=True)
class Product:
    """A product of two tensors, which may be attention weights and values.

    Attributes:
        pair: the `Pair` of the weights.
        side: the summed side of the pair, 0 or 1.
        weights: shape ``(*shared, *free, key)``.
        values: shape ``(*shared, key, *width)``.
        output: shape ``(*shared, *free, *width)``.
        value_key: the key axes of the values.
        is_open: whether the weights are unnormalised exponentials.
        is_learnt: whether the values are constant but the weights are not.
    """

    pair: Pair
    side: int
    weights: Tensor
    values: Tensor
    output: Tensor
    shared: tuple[Dimension, ...]
    free: tuple[Dimension, ...]
    key: Dimension
    width: tuple[Dimension, ...]
    value_key: Dimension
    is_open: bool
    is_learnt: bool = False

    @property
    def layout(self) -> Layout:
        """The axes of the product in groups."""
        pair, key, width = self.pair, self.key, flat(self.width)
        shared, free = flat(self.shared), flat(self.free)
        axes_but_key = (*shared, *free)
        is_head = {
            id(axis): axis.plain.feature or any(axis.splits_with(part) for part in width)
            for axis in axes_but_key
        }
        query = [axis for axis in axes_but_key if axis.pair is pair and axis.side != self.side]
        if not query:  # learnt values have no batch axis, so the first free axis is the batch
            query = list(free if shared else free[1:] or free)
        if pair.origin != "softmax" and size_of(query) == 1 and key:
            sample = [axis for axis in shared if not (is_head[id(axis)] or axis.copied)]
            sample = [axis for axis in sample if not axis.splits_with(key[0])]
            # Each query has its own keys, so the query axis is a shared axis.
            query = sample[-1:] if len(sample) > 1 else query
        positions = [axis for axis in query if not is_head[id(axis)]]
        query = positions or query[-1:]
        left = [axis for axis in axes_but_key if axis not in query]
        head = [axis for axis in left if is_head[id(axis)]]
        if not head:
            # The model's inputs already had a head axis, so no reshape split it.
            sample = [axis for axis in left if not any(axis.splits_with(part) for part in query)]
            if len(sample) > 1 and len(left) == len(sample):
                head = sample[-1:]
        batch = tuple(axis for axis in left if axis not in head)
        return Layout(batch, tuple(head), tuple(query), key, width)

    def call(self, is_whole: bool = True) -> AttentionCall:
        """Return the product as an attention call, with values and outputs if ``is_whole`` is true.

        Values that differ between the queries are left out.
        """
        batch, head, query, key, width = self.layout
        dimensions = (*self.shared, *self.free, self.key)
        weights = arranged(self.weights, dimensions, (batch, head, query, key))
        notes = (_DROPPED,) if self.pair.dropped else ()
        if not is_whole:
            return AttentionCall(weights=weights, notes=notes)
        dimensions = (*self.shared, self.key, *self.width)
        values = None
        if not any(axis in flat(dimensions) and axis.size > 1 for axis in query):
            values = arranged(self.values, dimensions, (batch, head, key, width))
        dimensions = (*self.shared, *self.free, *self.width)
        outputs = arranged(self.output, dimensions, (batch, head, query, width))
        return AttentionCall(None, weights, values, outputs, notes=notes)

    def is_attention(self, layout: Layout, is_named: bool) -> bool | None:
        """Whether the product is attention; None: unclear.

        Args:
            layout: the axes of the product.
            is_named: whether a name or an adapter marks the module as attention.
        """
        if self.is_open or not self.width:
            return False
        if self.is_learnt and any(axis in flat(self.shared) for axis in layout.query):
            return False  # learnt values for pairs of positions, such as relative positions
        is_normalised = self.side in self.pair.normalised
        over_features = all(axis.plain.feature for axis in self.key)
        of_features = any(axis.plain.feature for axis in self.value_key)
        if self.pair.origin == "softmax":
            if of_features:  # weights over features: a learnt memory, experts, codes or layers
                return (is_named and self.is_learnt) or None
            free = [axis for axis in flat(self.free) if axis.size > 1]
            of_positions = all(not axis.plain.feature for axis in free)
            is_sure = of_positions and (bool(free) or not over_features)
            is_learnt = bool(free) and all(axis.plain.feature for axis in (*free, *self.key))
            # With two dimensions or fewer, it may be a linear layer.
            is_sure = is_sure or (is_learnt and self.weights.dim() > 2)
            return is_named or is_sure or None
        # Attention over learnt positions is normalised and has a batch or head axis. Otherwise,
        # the product is a linear layer.
        is_layer = not is_normalised or self.weights.dim() < 3
        of_inputs = self.pair.origin == "product" and not self.is_learnt
        if over_features and is_layer and not of_inputs:
            return False
        if is_normalised and (over_features or not of_features):
            return True
        if self.pair.chosen and not over_features and not of_features:
            return True
        if self.pair.normalised and not over_features:
            return is_named or None
        positions = not over_features and not all(axis.plain.feature for axis in layout.query)
        if not positions or self.pair.origin == "learnt":
            return False
        return is_named or (None if self.pair.origin == "product" else False)


@dataclass(frozen=True, slots=True)
class Pending:
    """The element-wise product of weights and values, before the sum over keys."""

    pair: Pair
    weights: Tensor
    values: Tensor
    shape: torch.Size
    width: tuple[int, ...]
    is_open: bool
    value_axes: Axes

    def summed(self, axes: Axes, side: int, output: Tensor) -> Product | None:
        """Return the product after a sum over one side; None unless one dimension has all keys."""
        sizes, dimensions = self.shape, axes.dimensions
        keys = [
            dim
            for dim, dimension in enumerate(dimensions)
            if any(axis.pair is self.pair and axis.side == side for axis in dimension)
        ]
        if len(keys) != 1 or key_side(axes, dimensions[keys[0]]) is None:
            return None
        lacks = len(sizes) - self.values.dim()
        rest = [dim for dim in range(len(sizes)) if dim not in (*keys, *self.width)]
        free = [
            dim
            for dim in rest
            if dim < lacks or (self.values.shape[dim - lacks] == 1 and sizes[dim] > 1)
        ]
        shared = [dim for dim in rest if dim not in free]
        weights = self.weights.expand(sizes).permute(*shared, *free, *keys, *self.width)
        values = self.values.expand(sizes).permute(*free, *shared, *keys, *self.width)
        for _ in self.width:
            weights = weights[..., 0]
        for _ in free:
            values = values[0]
        remaining = [dim for dim in range(len(sizes)) if dim not in keys]
        output = output.reshape([sizes[dim] for dim in remaining])
        output = output.permute([remaining.index(dim) for dim in (*shared, *free, *self.width)])
        value_key = self.value_axes.dimensions[keys[0] - lacks] if keys[0] >= lacks else ()
        chosen = [tuple(dimensions[p] for p in dims) for dims in (shared, free, self.width)]
        return Product(
            self.pair, side, weights, values, output, chosen[0], chosen[1], dimensions[keys[0]],
            chosen[2], value_key, self.is_open,
        )  # fmt: skip


def pending_of(
    operands: Sequence[Axes], tensors: Sequence[Tensor], output: Tensor
) -> Pending | None:
    """Return an element-wise product that may be weights times values, or None."""
    for first, other in ((0, 1), (1, 0)):
        axes, values = operands[first], operands[other]
        pair = axes.weights_of
        if pair is None or values.constant or values.weights_of is pair:
            continue
        w, v = tensors[first], tensors[other]
        lacks, v_lacks = output.dim() - w.dim(), output.dim() - v.dim()
        width = tuple(
            dim
            for dim, size in enumerate(output.shape)
            if dim >= v_lacks
            and v.shape[dim - v_lacks] == size
            and (
                dim < lacks
                or (w.shape[dim - lacks] == 1 and size > 1)
                or all(axis.copied for axis in axes.dimensions[dim - lacks] or (TracedAxis(1),))
            )
        )
        if width and (pair.normalised or pair.origin == "product"):
            return Pending(pair, w, v, output.shape, width, axes.exponential, values)
    return None


def key_side(axes: Axes, key: Dimension) -> tuple[Pair, int] | None:
    """Return the pair of the weights and the side of ``key``; None if either is unknown."""
    pair = axes.weights_of
    if pair is None:
        return None
    own = [axis for axis in key if axis.pair is pair]
    sides = [axis.side for axis in own]
    if own and all(axis.plain.feature for axis in own):
        # Heads that share keys appear among the queries, but a sum over heads is not over keys.
        rest = (axis for dimension in axes.dimensions for axis in dimension if axis not in own)
        if any(axis.pair is pair and axis.side in sides and axis.size > 1 for axis in rest):
            return None
    if not sides:
        single = [side for side in (1, 0) if pair.sizes[side] == 1] if size_of(key) == 1 else []
        return (pair, single[0]) if single else None
    if len({*sides}) > 1 and min(pair.sizes) > 1:
        return None  # queries and keys are merged in one dimension
    return pair, max(sides, key=lambda side: pair.sizes[side])


def flat(dimensions: Sequence[Dimension]) -> Dimension:
    return tuple(axis for dimension in dimensions for axis in dimension)
