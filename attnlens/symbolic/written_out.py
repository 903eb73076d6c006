"""Attention that torch computes in one call, written out in the steps it has.

What is written out is computed again, step by step, and taken only where it gives the output
that the call gave.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from torch import Tensor


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
        raise NotWrittenOut
    content = query @ key.transpose(-2, -1)
    width = query.shape[-1]
    content = content / math.sqrt(width) if scale is None else content * scale
    hidden = None
    if is_causal:
        queries, keys = query.shape[-2], key.shape[-2]
        hidden = torch.ones(queries, keys, dtype=torch.bool, device=query.device).triu(1)
    elif attn_mask is not None and attn_mask.dtype == torch.bool:
        hidden = ~attn_mask
    elif attn_mask is not None:
        content = content + attn_mask
    logits = say("S", content, "logits")
    if hidden is not None:
        logits = logits.masked_fill(hidden, -math.inf)
    weights = logits.softmax(-1)
    if hidden is not None:
        weights = weights.masked_fill(hidden, 0.0)
    weights = say("A", weights, "attention")
    return weights @ value, weights


def multi_head_attention(
    say: Say,
    part: Part,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor]:
    """``F.multi_head_attention_forward``: the output and the weights of every head."""
    del embed_dim_to_check, dropout_p, training, is_causal, need_weights, average_attn_weights
    kept = (bias_k, bias_v, static_k, static_v)
    if any(one is not None for one in kept) or add_zero_attn:
        raise NotWrittenOut
    if query.dim() == 3:
        query, key, value = (one.transpose(0, 1) for one in (query, key, value))
    weights: list[Tensor | None] = [q_proj_weight, k_proj_weight, v_proj_weight]
    if not use_separate_proj_weight:
        weights = _thirds(part, in_proj_weight, "W")
    biases = _thirds(part, in_proj_bias, "b")
    told = []
    for letter, words, x, weight, bias in zip(
        "QKV", ("queries", "keys", "values"), (query, key, value), weights, biases, strict=True
    ):
        assert weight is not None
        projected = torch.nn.functional.linear(x, weight, bias)
        heads = projected.reshape(*projected.shape[:-1], num_heads, -1)
        told.append(say(letter, heads.transpose(-2, -3), words))
    q, k, v = told
    content = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if attn_mask is not None and attn_mask.dim() == 3:
        attn_mask = attn_mask.reshape(-1, num_heads, *attn_mask.shape[1:])
    hidden = None
    for mask in (attn_mask, None if key_padding_mask is None else key_padding_mask[:, None, None]):
        if mask is None:
            continue
        if mask.dtype == torch.bool:
            hidden = mask if hidden is None else hidden | mask
        else:
            content = content + mask
    logits = say("S", content, "logits")
    if hidden is not None:
        logits = logits.masked_fill(hidden, -math.inf)
    shares = say("A", logits.softmax(-1), "attention")
    mixed = (shares @ v).transpose(-2, -3).flatten(-2)
    output = torch.nn.functional.linear(mixed, out_proj_weight, out_proj_bias)
    return (output.transpose(0, 1) if output.dim() == 3 else output), shares


def _thirds(part: Part, packed: Tensor | None, symbol: str) -> list[Tensor | None]:
    """What is for queries, keys and values in a parameter that holds all three."""
    if packed is None:
        return [None, None, None]
    return [
        part(packed, rows, place, f"{symbol}_{letter}")
        for place, (rows, letter) in enumerate(zip(packed.chunk(3), "QKV", strict=True))
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
