"""Attention that torch computes in one call, written out in the steps it has.

What is written out is computed again, step by step, and taken only where it gives the output
that the call gave.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlens.models.attention import hidden_softmax, join_heads, split_heads

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


def multi_head_attention(say: Say, part: Part, *args: Any, **named: Any) -> tuple[Tensor, Tensor]:
    """``F.multi_head_attention_forward``: the output and the weights of every head."""
    given = SIGNATURE.bind(*args, **named)
    given.apply_defaults()
    told = given.arguments
    kept = [told[name] for name in ("bias_k", "bias_v", "static_k", "static_v")]
    if any(one is not None for one in kept) or told["add_zero_attn"]:
        raise NotWrittenOut
    sources = [told[name] for name in ("query", "key", "value")]
    if sources[0].dim() == 3:
        sources = [one.transpose(0, 1) for one in sources]
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
