"""Attention computed without the recorder, and small modules that call torch for it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlens.errors import InterventionError


class Calls(nn.Module):
    """Hands its arguments to ``F.scaled_dot_product_attention``."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, *args: Any, **named: Any) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, *args, **named)


def reference(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> NDArray[np.float64]:
    """softmax(QKᵀ) in float64 with numpy, one head at a time; a row without a key is 0."""
    queries, keys = (part.detach().double().numpy() for part in (q, k))
    batch, heads, rows, width = queries.shape
    group = heads // keys.shape[1]
    logits = np.empty((batch, heads, rows, keys.shape[2]))
    for head in range(heads):
        logits[:, head] = queries[:, head] @ keys[:, head // group].transpose(0, 2, 1)
    logits *= 1 / math.sqrt(width) if scale is None else scale
    if mask is not None and mask.dtype == torch.bool:
        logits = np.where(np.broadcast_to(mask.numpy(), logits.shape), logits, -np.inf)
    elif mask is not None:
        logits = logits + mask.double().numpy()
    if causal:
        logits = np.where(np.tri(*logits.shape[-2:], dtype=bool), logits, -np.inf)
    top = logits.max(-1, keepdims=True)
    parts = np.exp(logits - np.where(np.isfinite(top), top, 0))
    total = parts.sum(-1, keepdims=True)
    return np.divide(parts, total, out=np.zeros_like(parts), where=total > 0)


def without(weights: NDArray[np.float64], hidden: NDArray[np.bool_]) -> NDArray[np.float64]:
    """By hand: weights with cells at 0, and what is left of each such row made to sum to 1."""
    left = np.where(hidden, 0.0, weights)
    total = left.sum(-1, keepdims=True)
    whole = np.divide(left, total, out=np.zeros_like(left), where=total > 0)
    return np.where(np.broadcast_to(hidden, weights.shape).any(-1, keepdims=True), whole, weights)


def told(text: str) -> Any:
    """A block that ends with this text of an intervention that could not be."""
    return pytest.raises(InterventionError, match=re.escape(text))


def tensors(*shape: int, seed: int = 0, many: int = 1) -> list[Tensor]:
    """Normal numbers, the same each time."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator) for _ in range(many)]


def seen_keys(*shape: int, seed: int = 3) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) > 0.4


def added(*shape: int) -> Tensor:
    (bias,) = tensors(*shape, seed=4)
    return bias * 2


def causal_bias(queries: int, keys: int) -> Tensor:
    return torch.full((queries, keys), -math.inf).triu(1)


SIZES = B, H, L, S, D = 2, 3, 5, 7, 11
MASKS: dict[str, Tensor | None] = {
    "none": None,
    "seen (L, S)": seen_keys(L, S),
    "seen (B, 1, 1, S), padding": seen_keys(B, 1, 1, S),
    "seen (B, H, L, S)": seen_keys(B, H, L, S),
    "seen (H, L, S)": seen_keys(H, L, S),
    "a row sees nothing": seen_keys(L, S) & (torch.arange(L) != 2).unsqueeze(1),
    "nothing is seen": torch.zeros(L, S, dtype=torch.bool),
    "added (L, S)": added(L, S),
    "added (1, H, L, S)": added(1, H, L, S),
    "added (B, 1, 1, S)": added(B, 1, 1, S),
    "added -inf": causal_bias(L, S),
    "added lowest number": causal_bias(L, S).clamp_min(torch.finfo(torch.float32).min),
    "added both": causal_bias(L, S) + added(1, H, L, S),
}


def module(name: str, forward: Callable[..., Any], **parts: Any) -> nn.Module:
    """A module of a class of this name: its parts, and its forward, which gets the module first."""
    made: nn.Module = type(name, (nn.Module,), {"forward": forward})()
    for part, value in parts.items():
        setattr(made, part, value)
    return made


def encoder(layers: int = 2, width: int = 12, heads: int = 2, **options: Any) -> nn.Module:
    """A small encoder of torch's own."""
    torch.manual_seed(5)
    layer = nn.TransformerEncoderLayer(width, heads, 20, batch_first=True, **options)
    nested = not options.get("norm_first")  # of which torch would warn
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=nested).eval()
