"""Torch's ways to compute attention, each brought to the seam of `interception`.

A function here stands for one of torch's: it gets the call, and returns what the original would
have.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlens.errors import InterventionError, RecordingError
from attnlens.recording.interception import AttentionCall, TorchCall, attend, listening
from attnlens.recording.sites import local_of

_FLASH: Final = 1
"""What ``torch._fused_sdp_choice`` answers for the flash kernels."""


@dataclass(slots=True)
class _SdpaArguments:
    """The arguments of ``F.scaled_dot_product_attention``, by the names they have there."""

    query: Tensor
    key: Tensor
    value: Tensor
    attn_mask: Tensor | None = None
    dropout_p: float = 0.0
    is_causal: bool = False
    scale: float | None = None
    enable_gqa: bool = False


def _heads_stand_as_queries(frame: FrameType | None) -> bool:
    """Whether heads that share keys were laid out as queries of one head.

    Hugging Face's attention does so for a single query, as each step of a generation has.
    """
    hugging_face = frame is not None and frame.f_code.co_name == "sdpa_attention_forward"
    return hugging_face and frame is not None and local_of(frame, "q_length") == 1


def scaled_dot_product(made: TorchCall) -> Any:
    listeners = listening(made.frame)
    if not listeners:
        return made.run()
    arguments = _SdpaArguments(*made.args, **made.kwargs)
    mask, causal, gqa = arguments.attn_mask, arguments.is_causal, arguments.enable_gqa
    q, k, v = arguments.query, arguments.key, arguments.value
    if q.is_meta:
        raise RecordingError(
            f"{listeners[0][1]}: tensors on the device meta have no values; run the model on "
            "another"
        )
    if _is_causal_bias(mask):
        mask, causal = _of_causal_bias(mask, q.device)
    if q.is_nested or k.is_nested:
        raise RecordingError(f"{listeners[0][1]}: nested tensors cannot be recorded; pad the input")
    autocast = torch.is_autocast_enabled(q.device.type)
    if autocast:
        # The kernel gets what autocast makes of its arguments, after this call.
        dtype = torch.get_autocast_dtype(q.device.type)
        q, k, v = (_cast(tensor, dtype) for tensor in (q, k, v))
        mask = mask if mask is None or mask.dtype == torch.bool else _cast(mask, dtype)
    lead, places = q.shape[:-2], q.shape[-2]
    if _heads_stand_as_queries(made.frame) and places > 1 and q.shape[1] == k.shape[1]:
        lead = k.shape[:-2]
        gqa, q = True, q.expand(*lead, -1, -1).flatten(1, 2).unsqueeze(2)
        if mask is not None and mask.dim() == 4 and mask.shape[1] > 1:
            mask = mask.flatten(1, 2).unsqueeze(2)
    elif not (q.dim() == k.dim() == v.dim() == 4) or (not gqa and k.shape[:-2] != lead):
        lead = lead if gqa else (q[..., :1, :1] + k[..., :1, :1]).shape[:-2]
        mask = _mask_of_four(mask, lead, q.shape[-2], k.shape[-2])
        q, k, v = (
            _of_four(tensor if gqa else tensor.expand(*lead, *tensor.shape[-2:]))
            for tensor in (q, k, v)
        )
    call = AttentionCall(
        kind="sdpa",
        q=q,
        k=k,
        v=v,
        mask=mask,
        causal=causal,
        scale=1 / math.sqrt(q.shape[-1]) if arguments.scale is None else arguments.scale,
        dropout=arguments.dropout_p,
        gqa=gqa,
    )

    def restore(output: Tensor) -> Tensor:
        return output.reshape(*lead, places, output.shape[-1])

    def compute(changed: AttentionCall | None) -> Any:
        return made.run() if changed is None else restore(computed(made.original, changed))

    def with_lse() -> tuple[Tensor, Tensor | None] | None:
        if autocast or gqa or arguments.attn_mask is not mask:
            return None
        return _flash(arguments)

    return attend(listeners, call, compute, with_lse)


UNCOMPILED: Final = (
    "compiled code ran uncompiled in the block: outputs agree within rounding with those outside"
)


def computed(original: Callable[..., Any], call: AttentionCall) -> Tensor:
    """A call's output by torch's own kernel, which takes masks of two dimensions or more."""
    if call.weights is not None:
        return weighted(call)
    mask = call.mask
    output: Tensor = original(
        call.q,
        call.k,
        call.v,
        attn_mask=mask if mask is None or mask.dim() > 1 else mask.unsqueeze(0),
        dropout_p=call.dropout,
        is_causal=call.causal,
        scale=call.scale,
        enable_gqa=call.gqa,
    )
    return output


def weighted(call: AttentionCall) -> Tensor:
    """A call's output from the weights that a listener gave it."""
    assert call.weights is not None
    assert call.v is not None
    weights, v = call.weights, call.v
    with torch.autocast(v.device.type, enabled=False):
        if v.shape[1] != weights.shape[1]:
            v = v.repeat_interleave(weights.shape[1] // v.shape[1], 1)
        if call.dropout:
            weights = F.dropout(weights, call.dropout)
        return torch.matmul(weights, v.to(weights.dtype)).to(v.dtype)


def _flash(arguments: _SdpaArguments) -> tuple[Tensor, Tensor | None] | None:
    """Output and log-sum-exp by the kernel that torch would choose, if it tells the latter.

    The output is that of ``F.scaled_dot_product_attention`` to the last bit: the same kernel.
    """
    query, mask = arguments.query, arguments.attn_mask
    tensors = query, arguments.key, arguments.value
    plain = query.dim() == 4 and query.device.type == "cpu" and not arguments.dropout_p
    if not plain or query.dtype not in (torch.float32, torch.float64):
        return None
    if any(type(tensor) is not Tensor for tensor in tensors):
        return None
    if mask is not None and (mask.dtype != query.dtype or mask.requires_grad):
        return None
    drop, causal, scale = arguments.dropout_p, arguments.is_causal, arguments.scale
    try:
        kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        if torch._fused_sdp_choice(*tensors, mask, drop, causal, scale=scale) != _FLASH:
            return None
        output, lse = kernel(*tensors, drop, causal, attn_mask=mask, scale=scale)
    except (AttributeError, RuntimeError, TypeError):
        return None  # Another release of torch: its private names promise nothing.
    if lse.shape != query.shape[:3]:
        return None
    # Of a row whose keys are all next to hidden, it is too large a number to tell them apart.
    lost = mask is not None and bool((lse < torch.finfo(lse.dtype).min / 2).any())
    return output, None if lost else lse


def _is_causal_bias(mask: Any) -> bool:
    """Whether a mask is torch's ``CausalBias``.

    Importing that class brings torch's compiler with it, a second and more; where nobody has,
    no mask can be one.
    """
    module = sys.modules.get("torch.nn.attention.bias")
    return module is not None and isinstance(mask, module.CausalBias)


def _of_causal_bias(bias: Any, device: torch.device) -> tuple[Tensor | None, bool]:
    """A ``CausalBias`` as a mask, and whether the call is causal instead."""
    if bias.variant.name == "LOWER_RIGHT" and bias.seq_len_q != bias.seq_len_kv:
        return bias._materialize(device), False
    return None, True


def _cast(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    wide = tensor.is_floating_point() and tensor.dtype != torch.float64
    return tensor.to(dtype) if wide else tensor


def _of_four(tensor: Tensor) -> Tensor:
    """``(batch, head, position, d)``, whatever stands before the last two dimensions."""
    if tensor.dim() > 4:
        return tensor.flatten(0, tensor.dim() - 4)
    while tensor.dim() < 4:
        tensor = tensor.unsqueeze(-3)
    return tensor


def _mask_of_four(
    mask: Tensor | None, lead: torch.Size | tuple[int, ...], queries: int, keys: int
) -> Tensor | None:
    if mask is None or (mask.dim() <= 2):
        return mask
    if len(lead) == 2:
        return mask
    return _of_four(mask.expand(*lead, queries, keys))


def flex(made: TorchCall) -> Any:
    """The operator that ``flex_attention`` ends in, which is refused where anyone listens."""
    listeners = listening(made.frame)
    if not listeners:
        return made.run()
    raise (InterventionError if listeners[0][0].changes else RecordingError)(
        f"{listeners[0][1]}: flex_attention cannot be seen; attend by "
        "F.scaled_dot_product_attention (attn_implementation='sdpa' of Hugging Face models) "
        "in the block"
    )
