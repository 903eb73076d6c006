"""A function mode that watches, and does not make torch take another path."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from attnlens.recorder.interception import Meant, TorchCall, here
from attnlens.recorder.sites import ByName


class WatchingMode(TorchFunctionMode):
    """A mode that computes everything as it would have been.

    Torch's encoder layers and multi-head attention leave their fused path, and encoders their
    nested tensors, when any mode is on: padded positions of an output would then hold other
    numbers. They ask ``torch.overrides.has_torch_function``, where `fused_path_asked` stands.

    It takes itself off the stack, and not what happens to be uppermost: blocks may end in another
    order than they began. On the stack of another thread it is not found, and stays there.

    Args:
        meant_by: what does a call of a function that is to be seen; None for any other function.
    """

    def __init__(self, meant_by: Callable[[Any], Meant | None]) -> None:
        super().__init__()
        self._meant_by = meant_by

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: ByName | None = None,
    ) -> Any:
        del types
        named = kwargs or {}
        if here.listeners and not here.busy:
            meant = self._meant_by(func)
            if meant is not None:
                return meant(TorchCall(func, sys._getframe(1), args, named))
        return func(*args, **named)

    def __exit__(self, *_: Any) -> None:
        lifted: list[Any] = []
        for _one in torch.overrides._get_current_function_mode_stack():  # type: ignore[no-untyped-call]
            lifted.append(torch.overrides._pop_mode())  # type: ignore[no-untyped-call]
            if lifted[-1] is self:
                lifted.pop()
                break
        for mode in reversed(lifted):
            torch.overrides._push_mode(mode)  # type: ignore[no-untyped-call]


def fused_path_asked(call: TorchCall) -> Any:
    """``torch.overrides.has_torch_function``, as if no mode of ours were on."""
    lifted = []
    try:
        while isinstance(torch.overrides._get_current_function_mode(), WatchingMode):  # type: ignore[no-untyped-call]
            lifted.append(torch.overrides._pop_mode())  # type: ignore[no-untyped-call]
        return call.run()
    finally:
        for mode in reversed(lifted):
            torch.overrides._push_mode(mode)  # type: ignore[no-untyped-call]
