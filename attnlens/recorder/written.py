"""Attention whose weights a model forms itself, by a softmax.

That is ``nn.MultiheadAttention`` asked for weights, eager attention of Hugging Face models, and
modules that a `SoftmaxAdapter` names. Any other softmax over the last of four dimensions is taken
down as missed: it is likely to be attention that nobody spoke for.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import FrameType
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from attnlens.errors import AttnlensError
from attnlens.recorder.adapters import SoftmaxAdapter
from attnlens.recorder.hooks import Hook
from attnlens.recorder.interception import Listener, attend, here, listening, untold
from attnlens.recorder.modes import WatchingMode
from attnlens.recorder.sites import local_of

_MULTI_HEAD_CODE: Final = F.multi_head_attention_forward.__code__

Original = Callable[..., Any]

SINK: Final = (
    "the last key is no token but the model's sink: what it holds, the model takes from no token"
)


def softmax(
    original: Original, frame: FrameType | None, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """A softmax, whichever way it was called, where its result is attention."""
    if frame is None:
        return original(*args, **named)
    notes: tuple[str, ...] = ()
    if frame.f_code is _MULTI_HEAD_CODE:
        told = listening(frame)
        if not told:
            return original(*args, **named)
        dropout = float(local_of(frame, "dropout_p") or 0.0)
        with untold():
            weights = original(*args, **named)
        lead = (-1, int(local_of(frame, "num_heads")))
    else:
        shape = _over_keys(args, named)
        if shape is None:
            return original(*args, **named)
        told = listening(frame, lambda *place: _is_attention(shape, *place))
        with untold():
            weights = original(*args, **named)
        if not told:
            return weights
        listener, site = told[0]
        module = listener.sites.modules[site]
        dropout = _dropout_of(module)
        if isinstance(getattr(module, "sinks", None), Tensor):
            notes = (SINK,)
        lead = (-1, shape[-3] if len(shape) > 3 else 1)
    whole = weights.shape
    parts = {
        "kind": "softmax",
        "weights": weights.reshape(*lead, *whole[-2:]),
        "dropout": dropout,
        "notes": notes,
    }
    return attend(
        told,
        parts,
        lambda call: weights if call is None or call.weights is None else call.weights.view(whole),
        lambda output: output.reshape(whole),
    )


def noted(frame: FrameType, args: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Whether a softmax is attention to a listener of another thread."""
    if frame.f_code is _MULTI_HEAD_CODE:
        return True
    return here.adapted_elsewhere > 0 and _over_keys(args, named) is not None


def _over_keys(args: tuple[Any, ...], named: dict[str, Any]) -> torch.Size | None:
    """The shape of what a softmax is over, if it is laid out as weights may be."""
    logits = args[0] if args else named.get("input")
    if not isinstance(logits, Tensor) or "out" in named:
        return None
    dimensions = logits.dim()
    if dimensions < 3 or _axis(args, named) not in (-1, dimensions - 1):
        return None
    return logits.shape


def _axis(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return args[1] if len(args) > 1 else named.get("dim")


def _is_attention(shape: torch.Size, listener: Listener, site: str, module: nn.Module) -> bool:
    """Whether a softmax in a module is over keys; takes down those that may be, and are missed."""
    if listener.spoken_for:
        return True
    if site in listener.softmaxes:
        fits = len(shape) == 4 and _counts_heads(module, shape[1])
        if not fits:
            listener.odd[site] = tuple(shape)
        return fits
    missed = listener.missed if len(shape) > 3 else listener.doubtful
    missed[site] = missed.get(site, 0) + 1
    return False


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


class _SeeingSoftmax(WatchingMode):
    """Sees every softmax while it is on, also where no name leads to it."""

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        del types
        named = kwargs or {}
        if func in _SOFTMAXES and here.listeners and not here.busy:
            return softmax(func, sys._getframe(1), args, named)
        return func(*args, **named)


def watch_softmaxes(
    listener: Listener, adapters: Sequence[SoftmaxAdapter], error: type[AttnlensError]
) -> list[RemovableHandle]:
    """Hooks that make softmaxes attention while a module runs that an adapter names.

    Raises:
        AttnlensError: of the type given, an adapter that names no module.
    """
    found: dict[str, nn.Module] = {}
    for adapter in adapters:
        named = {
            site: module for site, module in listener.sites.modules.items() if adapter.names(site)
        }
        if not named:
            names = ", ".join(list(listener.sites.modules)[:8])
            raise error(
                f"SoftmaxAdapter({', '.join(adapter.sites)}) matches no module; "
                f"modules: {names}, ..."
            )
        found |= named
    owner = threading.get_ident()
    modes: list[ExitStack] = []

    def before(*_: Any) -> None:
        if threading.get_ident() != owner:
            here.adapted_elsewhere += 1
            return
        modes.append(ExitStack())
        if not listener.spoken_for:  # one mode is enough for a site inside another
            modes[-1].enter_context(_SeeingSoftmax())
        listener.spoken_for += 1

    def after(*_: Any) -> None:
        if threading.get_ident() != owner:
            here.adapted_elsewhere = max(0, here.adapted_elsewhere - 1)
        elif modes:
            listener.spoken_for -= 1
            modes.pop().close()

    handles = []
    for module in found.values():
        handles.append(module.register_forward_pre_hook(Hook(before)))
        handles.append(module.register_forward_hook(Hook(after), always_call=True))
    return handles
