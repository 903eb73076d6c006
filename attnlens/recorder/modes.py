"""Function modes that watch, and do not make torch take another path."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class WatchingMode(TorchFunctionMode):
    """A mode that computes everything as it would have been.

    Torch's encoder layers and multi-head attention leave their fused path, and encoders their
    nested tensors, when any mode is on: padded positions of an output would then hold other
    numbers. They ask ``torch.overrides.has_torch_function``, where `fused_path_asked` stands.

    It takes itself off the stack, and not what happens to be uppermost: blocks may end in another
    order than they began. On the stack of another thread it is not found, and stays there.
    """

    def __exit__(self, *_: Any) -> None:
        lifted: list[Any] = []
        for _one in torch.overrides._get_current_function_mode_stack():  # type: ignore[no-untyped-call]
            lifted.append(torch.overrides._pop_mode())  # type: ignore[no-untyped-call]
            if lifted[-1] is self:
                lifted.pop()
                break
        for mode in reversed(lifted):
            torch.overrides._push_mode(mode)  # type: ignore[no-untyped-call]


def fused_path_asked(
    original: Callable[..., Any],
    frame: FrameType | None,
    args: tuple[Any, ...],
    named: dict[str, Any],
) -> Any:
    """``torch.overrides.has_torch_function``, as if no mode of ours were on."""
    del frame
    lifted = []
    try:
        while isinstance(torch.overrides._get_current_function_mode(), WatchingMode):  # type: ignore[no-untyped-call]
            lifted.append(torch.overrides._pop_mode())  # type: ignore[no-untyped-call]
        return original(*args, **named)
    finally:
        for mode in reversed(lifted):
            torch.overrides._push_mode(mode)  # type: ignore[no-untyped-call]
