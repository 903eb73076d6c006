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
from attnlens.recorder.interception import Listener, attend, here, listening, untold
from attnlens.recorder.modes import WatchingMode
from attnlens.recorder.sites import local_of

_MULTI_HEAD_CODE: Final = F.multi_head_attention_forward.__code__

Original = Callable[..., Any]


def softmax(
    original: Original, frame: FrameType | None, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """A softmax, whichever way it was called, where its result is attention."""
    if frame is None:
        return original(*args, **named)
    if frame.f_code is _MULTI_HEAD_CODE:
        told = listening(frame)
        if not told:
            return original(*args, **named)
        dropout = float(local_of(frame, "dropout_p") or 0.0)
        with untold():
            weights = original(*args, **named)
        lead = (-1, int(local_of(frame, "num_heads")))
    else:
        logits = args[0] if args else named.get("input")
        if not isinstance(logits, Tensor) or "out" in named:
            return original(*args, **named)
        dimensions = logits.dim()
        if dimensions < 3 or _axis(args, named) not in (-1, dimensions - 1):
            return original(*args, **named)
        shape = logits.shape
        told = listening(
            frame, lambda listener, site, module: _is_attention(listener, site, module, shape)
        )
        with untold():
            weights = original(*args, **named)
        if not told:
            return weights
        dropout = _dropout_of(told[0])
        lead = (-1, shape[-3] if dimensions > 3 else 1)
    whole = weights.shape
    parts = {
        "kind": "softmax",
        "weights": weights.reshape(*lead, *whole[-2:]),
        "dropout": dropout,
        "notes": (),
    }
    return attend(
        told,
        parts,
        lambda call: weights if call is None or call.weights is None else call.weights.view(whole),
        lambda output: output.reshape(whole),
    )


def _axis(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return args[1] if len(args) > 1 else named.get("dim")


def _is_attention(listener: Listener, site: str, module: nn.Module, shape: torch.Size) -> bool:
    """Whether a softmax in a module is over keys; takes down those that may be, and are missed."""
    if listener.spoken_for:
        return True
    if site in listener.softmaxes:
        return len(shape) == 4 and _counts_heads(module, shape[1])
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


def _dropout_of(told: tuple[Listener, str]) -> float:
    """The dropout a hand-written attention module is likely to apply to its weights."""
    module = told[0].sites.modules[told[1]]
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
    found: dict[int, nn.Module] = {}
    for adapter in adapters:
        named = {
            id(module): module
            for site, module in listener.sites.modules.items()
            if adapter.names(site)
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
        if threading.get_ident() == owner:
            modes.append(ExitStack())
            if not listener.spoken_for:  # one mode is enough for a site inside another
                modes[-1].enter_context(_SeeingSoftmax())
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
