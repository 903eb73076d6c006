"""Torch's fused encoder kernels, written out, so that the attention inside can be seen.

``nn.TransformerEncoderLayer`` and ``nn.MultiheadAttention``, without gradients and in eval,
hand a whole layer to one operator. Where it is only watched, the operators inside that one are
called, weights asked for, and the output stays what it was to the last bit (`_watched`); queries
and keys alone are projected beside it. Where attention is changed, or sequences are nested, the
same is computed step by step: outputs then agree within rounding (1e-6), and a note says so.
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

from attnlens.recorder.interception import (
    AttentionCall,
    Told,
    TorchCall,
    attend,
    listening,
    untold,
)
from attnlens.recorder.sites import local_of
from attnlens.recorder.torch_calls import computed

LEFT: Final = (
    "torch's fused encoder kernel was left for single steps: outputs agree within rounding (1e-6)"
)

_ENCODER_CODE: Final = nn.TransformerEncoder.forward.__code__

_NATIVE: Final = getattr(torch, "_native_multi_head_attention", None)
"""As it is without us: this module is loaded before anything stands in for it."""


def encoder_layer(call: TorchCall) -> Any:
    """``torch._transformer_encoder_layer_fwd``: one whole encoder layer."""
    told = listening(call.frame, part="self_attn")
    if not told:
        return call.run()
    layer = _Layer(*call.args, **call.named)
    wanted = _wanted(told, layer.src, layer.num_heads)
    if wanted == "weights" and _forms_weights(layer.src):
        return layer.with_weights(told)
    if wanted == "queries":
        output: Tensor = call.run()
        layer.tell_queries(told)
        return output
    return layer.in_steps(told, call.frame)


def _wanted(told: Told, src: Tensor, heads: int) -> str:
    """What suits all who are told (see `Handler.prefers`), or "steps"."""
    if src.is_nested or any(listener.handler.changes for listener, _ in told):
        return "steps"
    batch, length = src.shape[:2]
    preferred = {listener.handler.prefers((batch, heads, length, length)) for listener, _ in told}
    return preferred.pop() if len(preferred) == 1 else "steps"


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

    def native(self, operator: Callable[..., Any], x: Tensor) -> tuple[Tensor, Tensor]:
        """Output and whole weights by ``torch._native_multi_head_attention``."""
        attended, weights = operator(
            x,
            x,
            x,
            self.embed_dim,
            self.num_heads,
            self.qkv_weight,
            self.qkv_bias,
            self.proj_weight,
            self.proj_bias,
            self.mask,
            True,
            False,
            self.mask_type,
        )
        return attended, weights

    def tell_weights(self, told: Told, weights: Tensor, own: bool) -> None:
        """Tell of a call whose weights the operator gave."""
        seen = _seen(self.mask, self.mask_type)
        call = AttentionCall(kind="encoder", weights=weights, mask=seen, own=own)
        attend(told, call, lambda _: weights, lambda replaced: replaced)

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, ``(batch, head, place, d)`` each."""
        joined = F.linear(x, self.qkv_weight, self.qkv_bias)
        batch, length, width = joined.shape
        shape = (batch, length, 3, self.num_heads, width // (3 * self.num_heads))
        q, k, v = joined.view(shape).permute(2, 0, 3, 1, 4)
        return q, k, v

    def projected(self, output: Tensor) -> Tensor:
        """The heads' outputs ``(batch, head, place, d)`` joined."""
        return F.linear(output.transpose(1, 2).flatten(2), self.proj_weight, self.proj_bias)


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

    def with_weights(self, told: Told) -> Tensor:
        """The layer by the operators that the fused one is made of, in its order."""
        assert _NATIVE is not None
        attended, weights = self.native(
            _NATIVE, self._first(self.src) if self.norm_first else self.src
        )
        self.tell_weights(told, weights, len(told) == 1)
        x = attended.add_(self.src)
        if self.norm_first:
            return self._feed_forward(self._second(x)).add_(x)
        x = self._first(x)
        return self._second(self._feed_forward(x).add_(x))

    def tell_queries(self, told: Told) -> None:
        """Tell what weights can be worked out from: queries and keys, projected once more."""
        x = self._first(self.src) if self.norm_first else self.src
        both = 2 * self.embed_dim
        joined = torch._C._nn.linear(x, self.qkv_weight[:both], self.qkv_bias[:both])
        batch, length = x.shape[:2]
        width = self.embed_dim // self.num_heads
        q, k = joined.view(batch, length, 2, self.num_heads, width).permute(2, 0, 3, 1, 4)
        call = AttentionCall(
            kind="encoder",
            q=q,
            k=k,
            mask=_seen(self.mask, self.mask_type),
            scale=1 / math.sqrt(width),
            own=len(told) == 1,
        )
        attend(told, call, lambda _: q, lambda replaced: replaced)

    def in_steps(self, told: Told, frame: FrameType | None) -> Tensor:
        """The layer, its attention by whatever somebody told makes of it."""
        x, seen, real = _dense(self.src, self.mask, self.mask_type, frame)
        if self.norm_first:
            x = x + self._attention(told, self._first(x), seen)
            x = x + self._feed_forward(self._second(x))
        else:
            x = self._first(x + self._attention(told, x, seen))
            x = self._second(x + self._feed_forward(x))
        return x if real is None else torch._nested_tensor_from_mask(x, real, mask_check=False)

    def _attention(self, told: Told, x: Tensor, seen: Tensor | None) -> Tensor:
        return self.projected(_attend(told, *self.heads(x), seen))

    def _first(self, x: Tensor) -> Tensor:
        return torch.layer_norm(
            x, (self.embed_dim,), self.norm_weight_1, self.norm_bias_1, self.eps
        )

    def _second(self, x: Tensor) -> Tensor:
        return torch.layer_norm(
            x, (self.embed_dim,), self.norm_weight_2, self.norm_bias_2, self.eps
        )

    def _feed_forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = torch._addmm_activation(
            self.ffn_bias_1,
            x.flatten(0, -2),
            self.ffn_weight_1.t(),
            use_gelu=self.use_gelu,
        )
        hidden = hidden.view(*x.shape[:-1], -1)
        return torch._C._nn.linear(hidden, self.ffn_weight_2, self.ffn_bias_2)


def _forms_weights(x: Tensor) -> bool:
    """Whether the operators work with whole weights in float32, and would give them away."""
    return _NATIVE is not None and x.device.type == "cpu" and x.dtype is torch.float32


def multi_head(call: TorchCall) -> Any:
    """``torch._native_multi_head_attention``: self-attention with its projections."""
    told = listening(call.frame)
    if not told:
        return call.run()
    layer = _MultiHead(*call.args, **call.named)
    if _wanted(told, layer.query, layer.num_heads) == "weights" and _forms_weights(layer.query):
        return layer.with_weights(told, call.original)
    return layer.in_steps(told)


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
        self, told: Told, original: Callable[..., Any]
    ) -> tuple[Tensor, Tensor | None]:
        """The operator itself, asked for its weights."""
        output, weights = self.native(original, self.query)
        given = self.need_weights and not self.average_attn_weights
        self.tell_weights(told, weights, len(told) == 1 and not given)
        if not self.need_weights:
            return output, None
        return output, weights if given else weights.sum(1) / self.num_heads

    def in_steps(self, told: Told) -> tuple[Tensor, Tensor | None]:
        """The same, its attention by whatever somebody told makes of it."""
        x, seen, real = _dense(self.query, self.mask, self.mask_type, None)
        q, k, v = self.heads(x)
        weights: Tensor | None = None
        if self.need_weights:
            with untold():
                weights = _weights(q, k, seen)
            weights = attend(
                told,
                AttentionCall(kind="softmax", weights=weights, notes=(LEFT,)),
                lambda call: weights if call is None else call.weights,
                lambda replaced: replaced,
            )
            output = torch.matmul(weights, v)
            if self.average_attn_weights:
                weights = weights.mean(1)
        else:
            output = _attend(told, q, k, v, seen)
        out = self.projected(output)
        if real is not None:
            out = torch._nested_tensor_from_mask(out, real, mask_check=False)
        return out, weights


def _attend(told: Told, q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None) -> Tensor:
    seen_call = AttentionCall(
        kind="encoder",
        q=q,
        k=k,
        v=v,
        mask=seen,
        scale=1 / math.sqrt(q.shape[-1]),
        loose=True,
        notes=(LEFT,),
    )

    def compute(call: AttentionCall | None) -> Tensor:
        if call is None:
            output = F.scaled_dot_product_attention(q, k, v, seen)
        else:
            output = computed(F.scaled_dot_product_attention, call)
        if seen is not None:
            # Where the model's own mask hides every key the fused kernel gives NaN.
            output = output.masked_fill(~seen.any(-1, keepdim=True), math.nan)
        return output

    output: Tensor = attend(told, seen_call, compute, lambda replaced: replaced)
    return output


def _dense(
    src: Tensor, mask: Tensor | None, mask_type: int | None, frame: FrameType | None
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The input as one tensor, what is seen of the keys, and, if it was nested, what is real.

    A nested input is padded to the length it had before torch cut it to the longest sequence,
    so that a mask of 6 positions gives maps of 6 by 6.
    """
    if not src.is_nested:
        return src, _seen(mask, mask_type), None
    lengths = torch.tensor([len(one) for one in src.unbind()], device=src.device)
    longest = int(lengths.max())
    while frame is not None:
        if frame.f_code is _ENCODER_CODE:
            longest = max(longest, int(local_of(frame, "src").shape[1]))
            break
        frame = frame.f_back
    width = src.unbind()[0].shape[-1]
    padded = src.to_padded_tensor(0.0, (len(lengths), longest, width))
    real = torch.arange(longest, device=src.device) < lengths.unsqueeze(1)
    return padded, (real.unsqueeze(2) & real.unsqueeze(1)).unsqueeze(1), real


def _seen(mask: Tensor | None, mask_type: int | None) -> Tensor | None:
    """Which keys are seen; the fused kernel hides those whose mask is not 0."""
    if mask is None:
        return None
    seen = ~mask.to(torch.bool)
    if mask_type == 1:
        return seen[:, None, None, :]
    return seen


def _weights(q: Tensor, k: Tensor, seen: Tensor | None) -> Tensor:
    logits = torch.matmul(q * (1 / math.sqrt(q.shape[-1])), k.transpose(-1, -2))
    if seen is not None:
        logits = logits.masked_fill(~seen, -math.inf)
    return torch.softmax(logits, -1)
