"""Torch's ways to compute attention, each brought to the seam of `interception`.

A function here stands for one of torch's: it gets the original, the frame that called, and the
arguments, and returns what the original would have.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlens.errors import RecordingError
from attnlens.recorder.interception import AttentionCall, Listener, attend, listening
from attnlens.recorder.sites import local_of

_FLASH: Final = 1
"""What ``torch._fused_sdp_choice`` answers for the flash kernels."""

Original = Callable[..., Any]


def scaled_dot_product(
    original: Original, frame: FrameType | None, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """``F.scaled_dot_product_attention``."""
    told = listening(frame)
    if not told:
        return original(*args, **named)
    packed = frame is not None and _heads_stand_as_queries(frame)
    return _sdpa(told, lambda: original(*args, **named), original, None, packed, *args, **named)


def _heads_stand_as_queries(frame: FrameType) -> bool:
    """Whether heads that share keys were laid out as queries of one head.

    Hugging Face's attention does so for a single query, as each step of a generation has.
    """
    return frame.f_code.co_name == "sdpa_attention_forward" and local_of(frame, "q_length") == 1


def _sdpa(
    told: list[tuple[Listener, str]],
    run: Callable[[], Any],
    again: Original,
    others: Callable[[Tensor], Any] | None,
    packed: bool,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """One call with the arguments of ``F.scaled_dot_product_attention``.

    Args:
        run: the call as the model made it.
        again: computes a changed call.
        others: what the model gets besides the output, put round it; None: the output alone.
        packed: whether what stands as queries are heads of one query.
    """
    notes: tuple[str, ...] = ()
    mask, causal, gqa = attn_mask, is_causal, enable_gqa
    q, k, v = query, key, value
    if q.is_meta:
        raise RecordingError(
            f"{told[0][1]}: tensors on the device meta have no values; run the model on another"
        )
    if _is_causal_bias(mask):
        bias: Any = mask
        lower_right = bias.variant.name == "LOWER_RIGHT"
        if lower_right and bias.seq_len_q != bias.seq_len_kv:
            mask = bias._materialize(q.device)
        else:
            mask, causal = None, True
    if q.is_nested or k.is_nested:
        q, k, v, mask = _padded(q, k, v, mask)
        notes = (PADDED,)
    autocast = torch.is_autocast_enabled(q.device.type)
    if autocast:
        # The kernel gets what autocast makes of its arguments, after this call.
        dtype = torch.get_autocast_dtype(q.device.type)
        q, k, v = (_cast(tensor, dtype) for tensor in (q, k, v))
        mask = mask if mask is None or mask.dtype == torch.bool else _cast(mask, dtype)
    lead, places = q.shape[:-2], q.shape[-2]
    packed = packed and places > 1 and q.shape[1] == k.shape[1]
    if packed:
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
    parts = {
        "kind": "sdpa",
        "q": q,
        "k": k,
        "v": v,
        "mask": mask,
        "causal": causal,
        "scale": 1 / math.sqrt(q.shape[-1]) if scale is None else scale,
        "dropout": dropout_p,
        "gqa": gqa,
        "lse": None,
        "notes": notes,
    }

    def restore(output: Tensor) -> Any:
        output = output.reshape(*lead, places, output.shape[-1])
        return output if others is None else others(output)

    def compute(call: AttentionCall | None) -> Any:
        return run() if call is None else restore(computed(again, call))

    def with_lse() -> tuple[Tensor, Tensor] | None:
        if autocast or gqa or notes or others or attn_mask is not mask:
            return None
        return _flash(query, key, value, mask, dropout_p, is_causal, scale)

    return attend(told, parts, compute, restore, with_lse)


PADDED: Final = "nested tensors were recorded padded; rows and keys past a sequence's end are 0"


UNCOMPILED: Final = (
    "compiled code ran uncompiled in the block: outputs agree within rounding with those outside"
)


def computed(original: Original, call: AttentionCall) -> Tensor:
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
    """A call's output from the weights that a handler gave it."""
    assert call.weights is not None
    assert call.v is not None
    weights, v = call.weights, call.v
    with torch.autocast(v.device.type, enabled=False):
        if v.shape[1] != weights.shape[1]:
            v = v.repeat_interleave(weights.shape[1] // v.shape[1], 1)
        if call.dropout:
            weights = F.dropout(weights, call.dropout)
        return torch.matmul(weights, v.to(weights.dtype)).to(v.dtype)


def _flash(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout: float,
    causal: bool,
    scale: float | None,
) -> tuple[Tensor, Tensor] | None:
    """Output and log-sum-exp by the kernel that torch would choose, if it tells the latter.

    The output is that of ``F.scaled_dot_product_attention`` to the last bit: the same kernel.
    """
    plain = query.dim() == 4 and query.device.type == "cpu" and not dropout
    if not plain or query.dtype not in (torch.float32, torch.float64):
        return None
    if any(type(tensor) is not Tensor for tensor in (query, key, value)):
        return None
    if mask is not None and (mask.dtype != query.dtype or mask.requires_grad):
        return None
    try:
        choice = torch._fused_sdp_choice(query, key, value, mask, dropout, causal, scale=scale)
        kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        if choice != _FLASH:
            return None
        output, lse = kernel(query, key, value, dropout, causal, attn_mask=mask, scale=scale)
    except (AttributeError, RuntimeError, TypeError):
        return None  # Another release of torch: its private names promise nothing.
    return (output, lse) if lse.shape == query.shape[:3] else None


def _is_causal_bias(mask: Any) -> bool:
    """Whether a mask is torch's ``CausalBias``.

    Importing that class brings torch's compiler with it, a second and more; where nobody has,
    no mask can be one.
    """
    module = sys.modules.get("torch.nn.attention.bias")
    return module is not None and isinstance(mask, module.CausalBias)


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


def _padded(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Nested ``(batch, head, some positions, d)`` as one tensor, and what of it is real."""
    if mask is not None:
        return q, k, v, mask  # Torch refuses it with a message of its own.
    rows = [len(one) for one in q.transpose(1, 2).unbind()]
    columns = [len(one) for one in k.transpose(1, 2).unbind()]
    real = _real(rows, q).unsqueeze(-1) & _real(columns, k).unsqueeze(-2)
    q, k, v = (
        torch.nn.utils.rnn.pad_sequence(list(one.transpose(1, 2).unbind()), batch_first=True)
        for one in (q, k, v)
    )
    return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), real.unsqueeze(1)


def _real(lengths: list[int], like: Tensor) -> Tensor:
    longest = torch.arange(max(lengths), device=like.device)
    return longest < torch.tensor(lengths, device=like.device).unsqueeze(1)


def flex(
    original: Original, frame: FrameType | None, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """The operator that ``flex_attention`` ends in, however it was imported."""
    told = listening(frame)
    if not told:
        return original(*args, **named)
    names = ("query", "key", "value", "score_mod", "block_mask", "scale")
    given = dict(zip(names, args, strict=False)) | named
    score_mod, block_mask = given["score_mod"], given["block_mask"]
    mask_mod = block_mask[-1]
    parts = {
        "kind": "flex",
        "q": given["query"],
        "k": given["key"],
        "v": given["value"],
        "scale": given["scale"],
        "gqa": given["query"].shape[1] != given["key"].shape[1],
        "modify": lambda logits, batch, queries: _modified(
            logits, batch, queries, score_mod, mask_mod
        ),
        "notes": (UNCOMPILED,),
    }

    def compute(call: AttentionCall | None) -> Any:
        if call is None:
            return original(*args, **named)
        if call.weights is not None:
            return restore(weighted(call))
        changed = (call.q, call.k, call.v, score_mod, block_mask, call.scale)
        return original(*changed, *args[len(changed) :], **named)

    def restore(output: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        _, lse, largest = original(*args, **named)
        return output, lse, largest

    return attend(told, parts, compute, restore)


def _modified(logits: Tensor, batch: int, queries: Tensor, score_mod: Any, mask_mod: Any) -> Tensor:
    """Logits after flex attention's two functions: score, then mask."""
    rows, heads, _, keys = logits.shape
    places = (
        torch.arange(batch, batch + rows, device=logits.device),
        torch.arange(heads, device=logits.device),
        queries,
        torch.arange(keys, device=logits.device),
    )

    def over_all(function: Callable[..., Tensor], scored: bool) -> Callable[..., Tensor]:
        lead = (0,) if scored else ()
        for axes in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None)):
            function = torch.vmap(function, in_dims=(*lead, *axes))
        return torch.vmap(function, in_dims=(*lead, 0, None, None, None))

    scores = over_all(score_mod, True)(logits, *places)
    seen = over_all(mask_mod, False)(*places)
    return scores.to(logits.dtype).masked_fill(~seen, -math.inf)


_OPERATORS: Final = frozenset(
    {
        "aten::scaled_dot_product_attention",
        "aten::_scaled_dot_product_attention_math",
        "aten::_scaled_dot_product_cudnn_attention",
        "aten::_scaled_dot_product_efficient_attention",
        "aten::_scaled_dot_product_flash_attention",
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        "aten::_scaled_dot_product_fused_attention_overrideable",
    }
)


def attention_operator(function: Any) -> Any:
    """The overload of an operator that computes attention; None of anything else."""
    if isinstance(function, torch._ops.OpOverloadPacket):
        if function._qualified_op_name not in _OPERATORS:
            return None
        return function.default
    if isinstance(function, torch._ops.OpOverload) and function._schema.name in _OPERATORS:
        return function
    return None


def by_operator(
    operator: Any,
    original: Original,
    frame: FrameType | None,
    args: tuple[Any, ...],
    named: dict[str, Any],
) -> Any:
    """``torch.ops.aten.scaled_dot_product_attention`` and the kernels behind it."""
    told = listening(frame)
    if not told:
        return original(*args, **named)
    names = [argument.name for argument in operator._schema.arguments]
    given = dict(zip(names, args, strict=False)) | named

    def others(output: Tensor) -> Any:
        if len(operator._schema.returns) == 1:
            return output
        return (output, *original(*args, **named)[1:])

    return _sdpa(
        told,
        lambda: original(*args, **named),
        F.scaled_dot_product_attention,
        others,
        False,
        given["query"],
        given["key"],
        given["value"],
        given.get("attn_mask", given.get("attn_bias")),
        given.get("dropout_p", 0.0),
        given.get("is_causal", False),
        given.get("scale"),
        given.get("enable_gqa", False),
    )
