"""One attention call: what it is computed from, and how its tensors are laid out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch import Tensor

from attnlens.recording.tracking import Dimension, Pair, TracedAxis, size_of


@dataclass(frozen=True, slots=True, eq=False)
class AttentionCall:
    """What one call computes attention from.

    Tensors are the model's own, gradients and all: detach what is kept, change nothing in place.

    Attributes:
        kind: ``"sdpa"`` for a fused kernel, of which queries and keys are known, or ``"product"``
            where the weights that are multiplied with values are.
        q: queries, ``(batch, head, query, d)``, in the precision the kernel gets them in.
        k: keys, ``(batch, key head, key, d)``.
        v: values, ``(batch, key head, key, width)``, where known.
        mask: boolean (true: seen) or float (added), broadcastable to the weights.
        causal: whether query i sees keys 0 to i only.
        scale: what query times key is multiplied by.
        dropout: probability that the kernel drops a weight after softmax.
        gqa: whether heads may share keys.
        weights: of kind ``"product"``, ``(batch, head, query, key)``.
        lse: log-sum-exp of each row, ``(batch, head, query)``, where the kernel tells it.
        output: what each head gives, ``(batch, head, query, width)``, where known.
        own: whether ``weights`` were made for the block, which may keep them.
        notes: what must be known of how the call was seen.
        site: the module that made the call, as in ``named_modules()``.
        number: 0, 1, ... of the calls of that module in this block.
    """

    kind: str
    q: Tensor | None = None
    k: Tensor | None = None
    v: Tensor | None = None
    mask: Tensor | None = None
    causal: bool = False
    scale: float = 1.0
    dropout: float = 0.0
    gqa: bool = False
    weights: Tensor | None = None
    lse: Tensor | None = None
    output: Tensor | None = None
    own: bool = False
    notes: tuple[str, ...] = ()
    site: str = ""
    number: int = 0

    def with_changes(self, **changes: Any) -> AttentionCall:
        return replace(self, **changes)

    def with_queries_as_heads(self) -> AttentionCall:
        """The same call where the heads that share keys were laid out as queries of one head."""
        assert self.q is not None
        mask = self.mask
        if mask is not None and mask.dim() == 4 and mask.shape[1] > 1:
            mask = mask.flatten(1, 2).unsqueeze(2)
        return replace(
            self,
            q=self.q.flatten(1, 2).unsqueeze(2),
            mask=mask,
            gqa=True,
            lse=None if self.lse is None else self.lse.flatten(1, 2).unsqueeze(2),
            output=None if self.output is None else self.output.flatten(1, 2).unsqueeze(2),
        )


@dataclass(frozen=True, slots=True)
class Layout:
    """Which axes of a product's operands are batch, head, query, key and width."""

    batch: Dimension
    head: Dimension
    query: Dimension
    key: Dimension
    width: Dimension

    @classmethod
    def of(
        cls, pair: Pair, side: int, shared: Dimension, free: Dimension, key: Dimension,
        width: Dimension,
    ) -> Layout:  # fmt: skip
        """The layout of weights of a pair, whose axes are ``shared`` with values, or ``free``.

        Heads count features, or were split from the axis that the values' width was split from.
        Queries are the other side of the pair; without one, positions that values do not have.
        """
        axes_but_key = (*shared, *free)
        is_head = {
            id(axis): axis.plain.feature or any(axis.splits_with(part) for part in width)
            for axis in axes_but_key
        }
        query = [axis for axis in axes_but_key if axis.pair is pair and axis.side != side]
        if not query:  # with learnt values, which have no batch, it stands among the queries
            query = list(free if shared else free[1:] or free)
        if pair.origin != "softmax" and size_of(query) == 1 and key:
            sample = [axis for axis in shared if not (is_head[id(axis)] or axis.copied)]
            sample = [axis for axis in sample if not axis.splits_with(key[0])]
            # Each query has keys of its own.
            query = sample[-1:] if len(sample) > 1 else query
        positions = [axis for axis in query if not is_head[id(axis)]]
        query = positions or query[-1:]
        left = [axis for axis in axes_but_key if not _is_among(axis, query)]
        head = [axis for axis in left if is_head[id(axis)]]
        if not head:
            # Queries, keys and values that were given in four dimensions.
            sample = [axis for axis in left if not any(axis.splits_with(part) for part in query)]
            if len(sample) > 1 and len(left) == len(sample):
                head = sample[-1:]
        batch = tuple(axis for axis in left if not _is_among(axis, head))
        return cls(batch, tuple(head), tuple(query), key, width)

    def weights(self, tensor: Tensor, dimensions: Sequence[Dimension]) -> Tensor:
        """A tensor as ``(batch, head, query, key)``."""
        return arranged(tensor, dimensions, (self.batch, self.head, self.query, self.key))

    def values(self, tensor: Tensor, dimensions: Sequence[Dimension]) -> Tensor | None:
        """A tensor as ``(batch, head, key, width)``; None where each query has its own values."""
        flat = [axis for dimension in dimensions for axis in dimension]
        if any(_is_among(axis, flat) and axis.size > 1 for axis in self.query):
            return None
        return arranged(tensor, dimensions, (self.batch, self.head, self.key, self.width))

    def outputs(self, tensor: Tensor, dimensions: Sequence[Dimension]) -> Tensor:
        """A tensor as ``(batch, head, query, width)``."""
        return arranged(tensor, dimensions, (self.batch, self.head, self.query, self.width))


def arranged(
    tensor: Tensor, dimensions: Sequence[Dimension], groups: Sequence[Dimension]
) -> Tensor:
    """A tensor with one dimension per group of axes; it is expanded along axes that it lacks."""
    flat = [axis for dimension in dimensions for axis in dimension]
    wanted = [axis for group in groups for axis in group]
    there = [axis for axis in wanted if _is_among(axis, flat)]
    loose = [index for index, axis in enumerate(flat) if not _is_among(axis, there)]
    order = [_place(axis, flat) for axis in there] + loose
    result = tensor.reshape([axis.size for axis in flat]).permute(order)
    result = result.reshape([axis.size for axis in there])
    for place, axis in enumerate(wanted):
        if not _is_among(axis, there):
            result = result.unsqueeze(place)
    return result.expand([axis.size for axis in wanted]).reshape(
        [size_of(group) for group in groups]
    )


def _is_among(axis: TracedAxis, many: Iterable[TracedAxis]) -> bool:
    return any(axis is other for other in many)


def _place(axis: TracedAxis, many: Sequence[TracedAxis]) -> int:
    return next(index for index, other in enumerate(many) if axis is other)


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
"""Operators that compute attention and form no weights that can be seen."""


def fused_call(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
) -> AttentionCall:
    """The call of one of `FUSED`, from its arguments."""
    names = [argument.name for argument in func._schema.arguments]
    arguments = dict(zip(names, args, strict=False)) | kwargs
    q, k = arguments["query"], arguments["key"]
    scale = arguments.get("scale")
    mask = arguments.get("attn_mask", arguments.get("attn_bias"))
    lse = output[1] if func._overloadpacket.__name__.endswith("for_cpu") else None
    if lse is not None and (
        lse.shape != q.shape[:3] or lse.dtype not in (torch.float32, torch.float64)
    ):
        lse = None
    if lse is not None and mask is not None and q.shape[2] and not q.is_meta:
        # Of a row whose keys are all next to hidden, it is too large a number to tell them apart.
        lse = None if bool((lse < torch.finfo(lse.dtype).min / 2).any()) else lse
    return AttentionCall(
        kind="sdpa",
        q=q,
        k=k,
        v=arguments["value"],
        mask=mask,
        causal=bool(arguments.get("is_causal", False)),
        scale=1 / math.sqrt(q.shape[-1]) if scale is None else scale,
        dropout=float(arguments.get("dropout_p", 0.0)),
        gqa=q.shape[1] != k.shape[1],
        lse=lse,
        output=output[0],
    )
