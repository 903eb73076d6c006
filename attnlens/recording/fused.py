"""Torch's fused encoder operators, opened so that their attention is seen."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, Final

import torch
from torch import Tensor, nn

from attnlens.recording.sites import local_of

LAYERS: Final = frozenset(("_transformer_encoder_layer_fwd", "_native_multi_head_attention"))
_ENCODER_CODE: Final = nn.TransformerEncoder.forward.__code__


WITH_WEIGHTS: Final = {"need_weights": True, "average_attn_weights": False}


def keys_of(tensor: Tensor) -> Any:
    """The kernels of a tensor's own kind."""
    name = f"{'NestedTensor' if tensor.is_nested else ''}{tensor.device.type.upper()}"
    return torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, name))


def padded_arguments(arguments: dict[str, Any]) -> tuple[dict[str, Any], Tensor]:
    """Arguments with a nested input padded, and which of its positions are padding.

    It is padded to the length it had before torch cut it to the longest sequence, so that a mask
    of 6 positions gives maps of 6 by 6.
    """
    nested = arguments["query"]
    sequences = nested.unbind()
    lengths = torch.tensor([len(sequence) for sequence in sequences], device=nested.device)
    longest = max(int(lengths.max()), _unpadded_length(sys._getframe(1)))
    shape = len(sequences), longest, sequences[0].shape[-1]
    padded = nested.to_padded_tensor(0.0, shape)
    hidden = torch.arange(longest, device=nested.device) >= lengths.unsqueeze(1)
    names = ("query", "key", "value")
    return arguments | dict.fromkeys(names, padded) | {"mask": hidden, "mask_type": 1}, hidden


def _unpadded_length(frame: FrameType | None) -> int:
    while frame is not None:
        if frame.f_code is _ENCODER_CODE:
            return int(local_of(frame, "src").shape[1])
        frame = frame.f_back
    return 0
