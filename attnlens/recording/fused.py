"""Torch's fused encoder kernels, with the attention inside them seen.

``nn.TransformerEncoderLayer`` and ``nn.MultiheadAttention``, without gradients and in eval,
hand a whole layer to one operator. Where it is only watched, the output stays what it was to the
last bit: the operators inside that one are called and asked for weights, or queries and keys are
projected beside it. Where attention is changed, the modules' own code that is not fused computes
the layer: outputs then agree within rounding (1e-6), but for rows whose keys the model itself
hides throughout, which the fused operator makes NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlens.errors import InterventionError
from attnlens.recording.interception import (
    AttentionCall,
    SiteListeners,
    TorchCall,
    attend,
    listening,
    thread_state,
)
from attnlens.recording.sites import local_of
from attnlens.recording.torch_calls import computed

_ENCODER_CODE: Final = nn.TransformerEncoder.forward.__code__

_NATIVE: Final = torch._native_multi_head_attention
"""As it is without us: this module is loaded before anything stands in for it."""


def encoder_layer(call: TorchCall) -> Any:
    """``torch._transformer_encoder_layer_fwd``: one whole encoder layer."""
    layer = _Layer(*call.args, **call.kwargs)
    if call.frame is not None and _is_changed(call.frame, "self_attn"):
        return layer.in_steps(call.frame)
    listeners = listening(call.frame, part="self_attn")
    if not listeners:
        return call.run()
    if _wants_weights(listeners, layer.src, layer.num_heads):
        return layer.with_weights(listeners)
    output: Tensor = call.run()
    x, real = _padded(layer.src, call.frame)
    layer.tell_queries(listeners, layer.first(x) if layer.norm_first else x, real)
    return output


def multi_head(call: TorchCall) -> Any:
    """``torch._native_multi_head_attention``: self-attention with its projections."""
    attention = _MultiHead(*call.args, **call.kwargs)
    if call.frame is not None and _is_changed(call.frame):
        return attention.in_steps()
    listeners = listening(call.frame)
    if not listeners:
        return call.run()
    if _wants_weights(listeners, attention.query, attention.num_heads):
        return attention.with_weights(listeners, call.original)
    output = call.run()
    attention.tell_queries(listeners, *_padded(attention.query, call.frame))
    return output


def _is_changed(frame: FrameType, part: str = "") -> bool:
    """Whether anyone who changes attention is to be told of a call."""
    if not any(listener.changes for listener in thread_state.listeners):
        return False
    listeners = listening(frame, part=part, counted=False)
    return any(listener.changes for listener, _ in listeners)


def _wants_weights(listeners: SiteListeners, src: Tensor, heads: int) -> bool:
    """Whether the operators form weights, in float32, and all who are told prefer them."""
    if src.is_nested or src.device.type != "cpu" or src.dtype != torch.float32:
        return False
    shape = (src.shape[0], heads, src.shape[1], src.shape[1])
    return all(listener.prefers_weights(shape) for listener, _ in listeners)


class _Projected:
    """What both kernels have: self-attention with its projections."""

    embed_dim: int
    num_heads: int
    qkv_weight: Tensor
    qkv_bias: Tensor
    proj_weight: Tensor
    proj_bias: Tensor
    mask: Tensor | None
    mask_type: int | None
    __slots__ = ()

    def native(
        self, operator: Callable[..., Any], x: Tensor, listeners: SiteListeners
    ) -> tuple[Tensor, Tensor]:
        """Output and whole weights by ``torch._native_multi_head_attention``, which are told."""
        back = (self.proj_weight, self.proj_bias)
        attended, weights = operator(
            x, x, x, *self._into(), *back, self.mask, True, False, self.mask_type
        )
        self._tell(
            listeners, AttentionCall(kind="encoder", weights=weights, mask=self._visible()), x
        )
        return attended, weights

    def tell_queries(self, listeners: SiteListeners, x: Tensor, real: Tensor | None) -> None:
        """Tell what weights can be worked out from: queries and keys, projected once more.

        ``real`` says which positions of each sequence are, ``(batch, position)``; None: all.
        """
        both = 2 * self.embed_dim
        joined = torch._C._nn.linear(x, self.qkv_weight[:both], self.qkv_bias[:both])
        width = self.embed_dim // self.num_heads
        shape = (*x.shape[:2], 2, self.num_heads, width)
        q, k = joined.view(shape).permute(2, 0, 3, 1, 4)
        mask = self._visible()
        if real is not None:
            mask = (real.unsqueeze(2) & real.unsqueeze(1)).unsqueeze(1)
        call = AttentionCall(
            kind="encoder", q=q, k=k, mask=mask, scale=1 / math.sqrt(width), own=len(listeners) == 1
        )
        self._tell(listeners, call, x)

    def _tell(self, listeners: SiteListeners, call: AttentionCall, x: Tensor) -> None:
        """Tell a call; where someone follows values, these are projected, and mixed, once more."""
        if not any(listener.follows for listener, _ in listeners):
            attend(listeners, call, lambda _: None)
            return
        both = 2 * self.embed_dim
        joined = torch._C._nn.linear(x, self.qkv_weight[both:], self.qkv_bias[both:])
        v = joined.view(*x.shape[:2], self.num_heads, -1).transpose(1, 2)
        call = call.with_changes(v=v)
        attend(listeners, call, lambda _: computed(F.scaled_dot_product_attention, call))

    def _into(self) -> tuple[int, int, Tensor, Tensor]:
        """Sizes, and what makes queries, keys and values, in the order torch takes them."""
        return self.embed_dim, self.num_heads, self.qkv_weight, self.qkv_bias

    def _visible(self) -> Tensor | None:
        """Which keys are seen; the fused kernel hides those whose mask is not 0."""
        if self.mask is None:
            return None
        mask = ~self.mask.to(torch.bool)
        return mask[:, None, None, :] if self.mask_type == 1 else mask


@dataclass(slots=True)
class _Layer(_Projected):
    """The arguments of ``torch._transformer_encoder_layer_fwd``, by the names they have there."""

    src: Tensor
    embed_dim: int
    num_heads: int
    qkv_weight: Tensor
    qkv_bias: Tensor
    proj_weight: Tensor
    proj_bias: Tensor
    use_gelu: bool
    norm_first: bool
    eps: float
    norm_weight_1: Tensor
    norm_bias_1: Tensor
    norm_weight_2: Tensor
    norm_bias_2: Tensor
    ffn_weight_1: Tensor
    ffn_bias_1: Tensor
    ffn_weight_2: Tensor
    ffn_bias_2: Tensor
    mask: Tensor | None = None
    mask_type: int | None = None

    def with_weights(self, listeners: SiteListeners) -> Tensor:
        """The layer by the operators that the fused one is made of, in its order."""
        x = self.first(self.src) if self.norm_first else self.src
        x = self.native(_NATIVE, x, listeners)[0].add_(self.src)
        if self.norm_first:
            return self._feed_forward(self._second(x)).add_(x)
        x = self.first(x)
        return self._second(self._feed_forward(x).add_(x))

    def in_steps(self, frame: FrameType) -> Tensor:
        """The layer, whose ``forward`` has the frame, by its own code that is not fused."""
        layer, mask = local_of(frame, "self"), local_of(frame, "src_mask")
        x, real = _padded(self.src, frame)
        hidden = local_of(frame, "src_key_padding_mask") if real is None else ~real
        if layer.norm_first:
            x = x + layer._sa_block(layer.norm1(x), mask, hidden)
            x = x + layer._ff_block(layer.norm2(x))
        else:
            x = layer.norm1(x + layer._sa_block(x, mask, hidden))
            x = layer.norm2(x + layer._ff_block(x))
        return x if real is None else torch._nested_tensor_from_mask(x, real, mask_check=False)

    def first(self, x: Tensor) -> Tensor:
        """The norm before attention, or after it."""
        norm = (self.norm_weight_1, self.norm_bias_1, self.eps)
        return torch.layer_norm(x, (self.embed_dim,), *norm)

    def _second(self, x: Tensor) -> Tensor:
        norm = (self.norm_weight_2, self.norm_bias_2, self.eps)
        return torch.layer_norm(x, (self.embed_dim,), *norm)

    def _feed_forward(self, x: Tensor) -> Tensor:
        flat, weight = x.flatten(0, -2), self.ffn_weight_1.t()
        hidden = torch._addmm_activation(self.ffn_bias_1, flat, weight, use_gelu=self.use_gelu)
        hidden = hidden.view(*x.shape[:-1], -1)
        return torch._C._nn.linear(hidden, self.ffn_weight_2, self.ffn_bias_2)


@dataclass(slots=True)
class _MultiHead(_Projected):
    """The arguments of ``torch._native_multi_head_attention``, by the names they have there.

    The key and the value are the same tensor as the query.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    embed_dim: int
    num_heads: int
    qkv_weight: Tensor
    qkv_bias: Tensor
    proj_weight: Tensor
    proj_bias: Tensor
    mask: Tensor | None = None
    need_weights: bool = True
    average_attn_weights: bool = True
    mask_type: int | None = None

    def with_weights(
        self, listeners: SiteListeners, original: Callable[..., Any]
    ) -> tuple[Tensor, Tensor | None]:
        """The operator itself, asked for its weights."""
        output, weights = self.native(original, self.query, listeners)
        if not self.need_weights:
            return output, None
        return output, weights.sum(1) / self.num_heads if self.average_attn_weights else weights

    def in_steps(self) -> tuple[Tensor, Tensor | None]:
        """The same by the function that is not fused, whose attention is told by itself."""
        if self.query.is_nested:
            raise InterventionError(
                "attention over nested tensors cannot be changed; pad the input"
            )
        x, mask = self.query.transpose(0, 1), self._visible()
        hidden = None if mask is None else ~mask
        if hidden is not None and hidden.dim() == 4:
            hidden = hidden.expand(len(self.query), self.num_heads, len(x), -1).flatten(0, 1)
        plain = (None, None, False, 0.0)  # no bias of keys or values, no zeros, no dropout
        output, weights = F.multi_head_attention_forward(
            *(x, x, x, *self._into(), *plain, self.proj_weight, self.proj_bias),
            training=False,
            attn_mask=hidden,
            need_weights=self.need_weights,
            average_attn_weights=self.average_attn_weights,
        )
        return output.transpose(0, 1), weights


def _padded(src: Tensor, frame: FrameType | None) -> tuple[Tensor, Tensor | None]:
    """The input as one tensor, and, if it was nested, which positions are real.

    A nested input is padded to the length it had before torch cut it to the longest sequence,
    so that a mask of 6 positions gives maps of 6 by 6.
    """
    if not src.is_nested:
        return src, None
    lengths = torch.tensor([len(sequence) for sequence in src.unbind()], device=src.device)
    longest = int(lengths.max())
    while frame is not None:
        if frame.f_code is _ENCODER_CODE:
            longest = max(longest, int(local_of(frame, "src").shape[1]))
            break
        frame = frame.f_back
    width = src.unbind()[0].shape[-1]
    padded = src.to_padded_tensor(0.0, (len(lengths), longest, width))
    return padded, torch.arange(longest, device=src.device) < lengths.unsqueeze(1)
