"""Attention whose weights a model forms itself, by a softmax.

That is ``nn.MultiheadAttention`` asked for weights, eager attention of Hugging Face models,
modules that a `SoftmaxAdapter` names, and softmaxes of four dimensions in modules that are called
attention. Whatever else may be attention that nobody spoke for is taken down as missed: other
softmaxes, and exponentials divided by their sum, where the code multiplies matrices.
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
from attnlens.recording.interception import (
    AttentionCall,
    Handler,
    Listener,
    Missed,
    TorchCall,
    WatchingMode,
    attend,
    listening,
    untold,
)
from attnlens.recording.sites import SoftmaxAdapter, local_of

_MULTI_HEAD_CODE: Final = F.multi_head_attention_forward.__code__

_PRODUCTS: Final = frozenset({"matmul", "bmm", "baddbmm", "einsum"})
_QUOTIENTS: Final = frozenset({"/", "/=", "div", "div_", "true_divide"})

_NAMES: Final = ("attention", "attn", "attend")

SINK: Final = (
    "the last key is no token but the model's sink: what it holds, the model takes from no token"
)


_TAKEN_FOR: Final = (
    "a softmax of four dimensions in a module named like attention: taken for weights (batch, "
    "head, query, key)"
)


def softmax(call: TorchCall) -> Any:
    """A softmax, whichever way it was called, where its result is attention."""
    frame = call.frame
    if frame is None:
        return call.run()
    notes: tuple[str, ...] = ()
    if frame.f_code is _MULTI_HEAD_CODE:
        listeners = listening(frame)
        if not listeners:
            return call.run()
        axis, dropout = -1, float(local_of(frame, "dropout_p") or 0.0)
        with untold():
            weights = call.run()
        heads = int(local_of(frame, "num_heads"))
    else:
        shape, axis = _laid_out(call)
        if len(shape) < 2:
            return call.run()
        listeners = listening(
            frame, lambda *site_and_module: _is_attention(shape, axis, frame, *site_and_module)
        )
        with untold():
            weights = call.run()
        if not listeners:
            return weights
        listener, site = listeners[0]
        module = listener.sites.modules[site]
        dropout = _dropout_of(module)
        if isinstance(getattr(module, "sinks", None), Tensor) and _beyond_keys(frame, shape[-1]):
            notes = (SINK,)
        if not listener.spoken_for and site not in listener.softmaxes:
            notes = (*notes, _TAKEN_FOR)
        heads = shape[-3] if len(shape) > 3 else 1
    keys_last = weights.movedim(axis, -1)

    def compute(changed: AttentionCall | None) -> Any:
        if changed is None or changed.weights is None:
            return weights
        new = changed.weights.view(keys_last.shape).movedim(-1, axis)
        return weights.copy_(new) if "out" in call.kwargs else new

    return attend(
        listeners,
        AttentionCall(
            kind="softmax",
            weights=keys_last.reshape(-1, heads, *keys_last.shape[-2:]),
            dropout=dropout,
            notes=notes,
        ),
        compute,
    )


def exponential(call: TorchCall) -> Any:
    """``exp``; taken down as missed where its results are shares that are multiplied with."""
    frame, result = call.frame, call.run()
    if frame is not None and not result.is_nested and _shares_out(frame.f_code):

        def accepts(listener: Listener, site: str, module: nn.Module) -> bool:
            if sum(_products_around(frame, module)) > 1:
                shape = tuple(result.shape)
                description = f"exponentials of shape {shape}, made to sum to 1"
                listener.miss(site, Missed(description, sure=False, adapts=False))
            return False

        listening(frame, accepts)
    return result


def _beyond_keys(frame: FrameType, columns: int) -> bool:
    """Whether code takes a softmax over more columns than its keys; of unknown keys: yes."""
    key = local_of(frame, "key")
    return not isinstance(key, Tensor) or key.shape[-2] < columns


def _laid_out(call: TorchCall) -> tuple[tuple[int, ...], int]:
    """The shape of what a softmax is over, and its axis; an empty shape: not to be told."""
    logits = call.args[0] if call.args else call.kwargs.get("input")
    axis = call.args[1] if len(call.args) > 1 else call.kwargs.get("dim")
    if not isinstance(logits, Tensor) or logits.is_nested or not isinstance(axis, int):
        return (), 0
    return tuple(logits.shape), axis % max(1, logits.dim())


def _is_attention(
    shape: tuple[int, ...],
    axis: int,
    frame: FrameType,
    listener: Listener,
    site: str,
    module: nn.Module,
) -> bool:
    """Whether a softmax in a module is over keys; takes down those that may be, and are missed."""
    size, last = len(shape), axis == len(shape) - 1
    adapts = size > 2 and axis >= size - 2
    if listener.spoken_for and adapts:
        return True
    is_known = site in listener.softmaxes
    called = not is_known and _is_called_attention(site, module)
    if (is_known or called) and _is_gate(module) and not any(_products_around(frame, module)):
        is_known = called = False
    is_reported = is_known or (called and not listener.is_told_otherwise(site))
    if is_reported and size == 4 and last and _counts_heads(module, shape[1]):
        return True
    if size == 2 and (is_known or called):
        return False  # a gate beside its attention
    before, after = _products_around(frame, module)
    multiplied = after > 0 or before > 1
    full = last and size > 2
    if multiplied or (full and (is_known or called or size > 3)):
        description = f"a softmax of shape {shape}" + ("" if last else f" over axis {axis}")
        sure = full and (is_known or called or multiplied or before > 0)
        listener.miss(site, Missed(description, sure, adapts))
    return False


def _is_gate(module: nn.Module) -> bool:
    """Whether a module makes shares by one layer and multiplies with them: no queries, no keys."""
    return sum(next(child.parameters(), None) is not None for child in module.children()) == 1


def _is_called_attention(site: str, module: nn.Module) -> bool:
    """Whether a module is attention by the name of its type, or by its own."""
    kind = type(module).__name__.lower()
    own = [part for part in site.lower().split(".") if not part.isdigit()][-1:]
    return "attention" in kind or kind.endswith(_NAMES) or "".join(own).endswith(_NAMES)


def _products_around(frame: FrameType | None, module: nn.Module) -> tuple[int, int]:
    """How many products of matrices code names before a softmax, and after it.

    Attention has both, queries by keys and weights by values; a router of experts and shares of
    classes have not. Looked at is the code from where softmax is called to the module's own.
    """
    before = after = 0
    while frame is not None:
        places = _products(frame.f_code)
        after += (later := sum(index > frame.f_lasti for index in places))
        before += len(places) - later
        names = frame.f_code.co_varnames
        if names and local_of(frame, names[0]) is module:
            break
        frame = frame.f_back
    return before, after


@lru_cache(maxsize=1024)
def _shares_out(code: CodeType) -> bool:
    """Whether code that takes exponentials makes them sum to 1."""
    if "log_softmax" in code.co_names:
        return True
    instructions = dis.get_instructions(code)
    divides = any(
        instruction.argval in _QUOTIENTS or instruction.argrepr in _QUOTIENTS
        for instruction in instructions
    )
    return divides and "sum" in code.co_names


@lru_cache(maxsize=1024)
def _products(code: CodeType) -> tuple[int, ...]:
    """Where code names a product of matrices."""
    return tuple(
        instruction.offset
        for instruction in dis.get_instructions(code)
        if instruction.argval in _PRODUCTS
        or (instruction.opname == "BINARY_OP" and instruction.argrepr == "@")
    )


def _counts_heads(module: nn.Module, size: int) -> bool:
    """Whether a dimension is as long as a module has heads, if it tells."""
    for name in ("num_heads", "num_attention_heads", "n_heads", "n_head", "num_key_value_heads"):
        for holder in (module, getattr(module, "config", None)):
            value = getattr(holder, name, None)
            if isinstance(value, int):
                return size == value
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


def _of_softmax(function: Any) -> Handler | None:
    return softmax if function in _SOFTMAXES else None


def watch_softmaxes(
    listener: Listener, adapters: Sequence[SoftmaxAdapter], error: type[AttnlensError]
) -> list[RemovableHandle]:
    """Hooks that make softmaxes attention while a module runs that an adapter names."""
    modules: dict[str, nn.Module] = {}
    for adapter in adapters:
        modules |= adapter.modules(listener.sites, error)
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
    for module in modules.values():
        handles.append(module.register_forward_pre_hook(before))
        handles.append(module.register_forward_hook(after, always_call=True))
    return handles
