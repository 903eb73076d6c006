"""Attention whose weights a model forms itself, by a softmax.

That is ``nn.MultiheadAttention`` asked for weights, eager attention of Hugging Face models, and
modules that a `SoftmaxAdapter` names. Any other softmax over the last of four dimensions, or of
three where what it gives is multiplied with a matrix, is taken down as missed: it is likely to be
attention that nobody spoke for.
"""

from __future__ import annotations

import dis
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from attnlens.errors import AttnlensError
from attnlens.recorder.adapters import SoftmaxAdapter
from attnlens.recorder.interception import (
    AttentionCall,
    Listener,
    Meant,
    TorchCall,
    WatchingMode,
    attend,
    listening,
    untold,
)
from attnlens.recorder.sites import local_of

_MULTI_HEAD_CODE: Final = F.multi_head_attention_forward.__code__

_PRODUCTS: Final = frozenset({"matmul", "bmm", "baddbmm", "einsum"})

SINK: Final = (
    "the last key is no token but the model's sink: what it holds, the model takes from no token"
)


def softmax(call: TorchCall) -> Any:
    """A softmax, whichever way it was called, where its result is attention."""
    frame = call.frame
    if frame is None:
        return call.run()
    notes: tuple[str, ...] = ()
    if frame.f_code is _MULTI_HEAD_CODE:
        told = listening(frame)
        if not told:
            return call.run()
        dropout = float(local_of(frame, "dropout_p") or 0.0)
        with untold():
            weights = call.run()
        heads = int(local_of(frame, "num_heads"))
    else:
        shape = _over_keys(call)
        if shape is None:
            return call.run()
        told = listening(frame, lambda *place: _is_attention(shape, frame, *place))
        with untold():
            weights = call.run()
        if not told:
            return weights
        listener, site = told[0]
        module = listener.sites.modules[site]
        dropout = _dropout_of(module)
        if isinstance(getattr(module, "sinks", None), Tensor) and _beyond_keys(frame, shape[-1]):
            notes = (SINK,)
        heads = shape[-3] if len(shape) > 3 else 1
    whole = weights.shape
    return attend(
        told,
        AttentionCall(
            kind="softmax",
            weights=weights.reshape(-1, heads, *whole[-2:]),
            dropout=dropout,
            notes=notes,
        ),
        lambda call: weights if call is None or call.weights is None else call.weights.view(whole),
    )


def _beyond_keys(frame: FrameType, columns: int) -> bool:
    """Whether code takes a softmax over more columns than its keys; of unknown keys: yes."""
    key = local_of(frame, "key")
    return not isinstance(key, Tensor) or key.shape[-2] < columns


def _over_keys(call: TorchCall) -> torch.Size | None:
    """The shape of what a softmax is over, if it is laid out as weights may be."""
    logits = call.args[0] if call.args else call.named.get("input")
    if not isinstance(logits, Tensor) or "out" in call.named:
        return None
    dimensions = logits.dim()
    axis = call.args[1] if len(call.args) > 1 else call.named.get("dim")
    if dimensions < 3 or axis not in (-1, dimensions - 1):
        return None
    return logits.shape


def _is_attention(
    shape: torch.Size, frame: FrameType, listener: Listener, site: str, module: nn.Module
) -> bool:
    """Whether a softmax in a module is over keys; takes down those that may be, and are missed."""
    if listener.spoken_for:
        return True
    known = site in listener.softmaxes
    if known and len(shape) == 4 and _counts_heads(module, shape[1]):
        return True
    if known or len(shape) > 3 or _is_multiplied(frame, module):
        listener.missed[site] = tuple(shape)
    return False


def _is_multiplied(frame: FrameType | None, module: nn.Module) -> bool:
    """Whether code multiplies matrices after a softmax, or more than once in all.

    Attention does, queries by keys and weights by values; a router of experts and shares of
    classes do not. Looked at is the code from where softmax is called to the module's own.
    """
    while frame is not None:
        products = _products(frame.f_code)
        if len(products) > 1 or any(place > frame.f_lasti for place in products):
            return True
        names = frame.f_code.co_varnames
        if names and local_of(frame, names[0]) is module:
            return False
        frame = frame.f_back
    return False


@lru_cache(maxsize=1024)
def _products(code: CodeType) -> tuple[int, ...]:
    """Where code names a product of matrices."""
    return tuple(
        one.offset
        for one in dis.get_instructions(code)
        if one.argval in _PRODUCTS or (one.opname == "BINARY_OP" and one.argrepr == "@")
    )


def _counts_heads(module: nn.Module, size: int) -> bool:
    """Whether a dimension is as long as a module has heads, if it tells."""
    for name in ("num_heads", "num_attention_heads", "n_heads", "n_head", "num_key_value_heads"):
        for holder in (module, getattr(module, "config", None)):
            told = getattr(holder, name, None)
            if isinstance(told, int):
                return size == told
    return True


def _dropout_of(module: nn.Module) -> float:
    """The dropout a hand-written attention module is likely to apply to its weights."""
    if not module.training:
        return 0.0
    for name in ("attention_dropout", "dropout_p", "dropout", "attn_dropout", "dropout_prob"):
        value = getattr(module, name, None)
        value = getattr(value, "p", value)
        if isinstance(value, float) and value > 0:
            return value
    return 0.0


_SOFTMAXES: Final = frozenset(
    {
        torch.softmax,
        F.softmax,
        Tensor.softmax,
        torch.special.softmax,
        torch._softmax,
        torch.ops.aten.softmax.int,
        torch.ops.aten._softmax.default,
    }
)


def _of_softmax(function: Any) -> Meant | None:
    return softmax if function in _SOFTMAXES else None


def watch_softmaxes(
    listener: Listener, adapters: Sequence[SoftmaxAdapter], error: type[AttnlensError]
) -> list[RemovableHandle]:
    """Hooks that make softmaxes attention while a module runs that an adapter names.

    Raises:
        AttnlensError: of the type given, an adapter that names no module.
    """
    found: dict[str, nn.Module] = {}
    for adapter in adapters:
        found |= adapter.modules(listener.sites, error)
    owner = threading.get_ident()
    modes: list[ExitStack] = []

    def before(*_: Any) -> None:
        if threading.get_ident() != owner:
            return
        modes.append(ExitStack())
        if not listener.spoken_for:  # one mode is enough for a site inside another
            modes[-1].enter_context(WatchingMode(_of_softmax))
        listener.spoken_for += 1

    def after(*_: Any) -> None:
        if threading.get_ident() == owner and modes:
            listener.spoken_for -= 1
            modes.pop().close()

    handles = []
    for module in found.values():
        handles.append(module.register_forward_pre_hook(before))
        handles.append(module.register_forward_hook(after, always_call=True))
    return handles
