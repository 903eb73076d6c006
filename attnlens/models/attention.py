"""Scaled dot-product attention as pure functions, with every edge case decided."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def hidden_softmax(logits: Tensor, hidden: Tensor | None = None) -> Tensor:
    """Softmax over the last axis in which hidden entries get exactly 0.

    Args:
        logits: ``(..., query, key)``.
        hidden: boolean, broadcastable to ``logits``; true where the key is hidden.

    Returns:
        ``(..., query, key)``; each row sums to 1, or is all 0 when every key is hidden
        (softmax alone would give NaN there).
    """
    if hidden is None:
        return logits.softmax(-1)
    weights = logits.masked_fill(hidden, -math.inf).softmax(-1)
    return weights.masked_fill(hidden, 0.0)


def attention_weights(
    query: Tensor,
    key: Tensor,
    hidden: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """``softmax(query · keyᵀ · scale + bias)`` over the keys that are not hidden.

    Args:
        query: ``(..., query, d_k)``.
        key: ``(..., key, d_k)``.
        hidden: boolean, broadcastable to ``(..., query, key)``; true hides the key.
        bias: added to the logits, broadcastable likewise.
        scale: ``1/√d_k`` unless given.

    Returns:
        ``(..., query, key)``. Each row sums to 1, or is all zero when every key is hidden.

    Reference:
        Vaswani et al. 2017, "Attention Is All You Need", equation 1.
    """
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    logits = torch.matmul(query, key.transpose(-1, -2)) * factor
    return hidden_softmax(logits if bias is None else logits + bias, hidden)


def unflattened(vectors: Tensor, dim: int, sizes: tuple[int, ...]) -> Tensor:
    """``Tensor.unflatten`` with types."""
    result: Tensor = torch.unflatten(vectors, dim, sizes)
    return result


def split_heads(vectors: Tensor, heads: int) -> Tensor:
    """``(..., length, heads * d) -> (..., heads, length, d)``."""
    return unflattened(vectors, -1, (heads, -1)).transpose(-2, -3)


def join_heads(vectors: Tensor) -> Tensor:
    """``(..., heads, length, d) -> (..., length, heads * d)``."""
    return vectors.transpose(-2, -3).flatten(-2)
