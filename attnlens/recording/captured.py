"""Queries and keys that a serving engine captured, as a recording.

A safetensors file holds, for every site, ``SITE.q`` and ``SITE.k``, and where there are any
``SITE.mask`` (boolean: true is seen; or added to the logits) and ``SITE.scale`` (one number).
Queries and keys are ``(batch, head, position, d)``, or ``(position, head, d)`` as vLLM lays out a
request. Its metadata may hold ``causal`` (``true`` or ``false``; by default true where there is no
mask and as many queries as keys) and ``scale`` for all sites; without one it is ``1 / sqrt(d)``.
"""

from __future__ import annotations

import math
import os
from typing import Any

import torch
from torch import Tensor

from attnlens.errors import InputError
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.capture import AXES
from attnlens.recording.lazy import LazyAttention
from attnlens.recording.recording import Recording
from attnlens.recording.save import reading

_GIVE = "give SITE.q and SITE.k, (batch, head, position, d) or (position, head, d)"


def recording_of_captured(path: str | os.PathLike[str]) -> Recording:
    """The recording of a file of captured queries and keys; its records are lazy.

    Raises:
        InputError: the file is missing or no safetensors file, or its tensors do not fit.
    """
    from safetensors import safe_open

    with reading(path), safe_open(path, "pt") as file:
        metadata = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    sites = [name.removesuffix(".q") for name in tensors if name.endswith(".q")]
    expected = {f"{site}.{part}" for site in sites for part in ("q", "k", "mask", "scale")}
    if loose := sorted(tensors.keys() - expected):
        raise InputError(f"tensor {loose[0]!r} belongs to no site", path=path, remedy=_GIVE)
    if not sites:
        raise InputError("it holds no queries", path=path, remedy=_GIVE)
    return Recording([_record(site, tensors, metadata, path) for site in sites])


def _record(
    site: str, tensors: dict[str, Tensor], metadata: dict[str, str], path: Any
) -> AttentionRecord:
    def refuse(problem: str, remedy: str = _GIVE) -> InputError:
        return InputError(f"{site}: {problem}", path=path, remedy=remedy)

    if f"{site}.k" not in tensors:
        raise refuse("queries without keys")
    q, k = (_of_four(tensors[f"{site}.{part}"]) for part in ("q", "k"))
    fits = q.dim() == k.dim() == 4 and q.is_floating_point() and k.is_floating_point()
    if not fits or (q.shape[0], q.shape[3]) != (k.shape[0], k.shape[3]) or q.shape[1] % k.shape[1]:
        raise refuse(f"queries {tuple(q.shape)} and keys {tuple(k.shape)} do not fit")
    if not (q.isfinite().all() and k.isfinite().all()):
        raise refuse("queries or keys hold NaN or infinity", "capture them again")
    mask = tensors.get(f"{site}.mask")
    shape = (*q.shape[:3], k.shape[2])
    if mask is not None:
        sizes = zip(reversed(mask.shape), reversed(shape), strict=False)
        is_kind = mask.dtype == torch.bool or mask.is_floating_point()
        if not is_kind or mask.dim() > 4 or any(size not in (1, full) for size, full in sizes):
            raise refuse(f"the mask {tuple(mask.shape)} does not fit weights {shape}")
    try:
        told = tensors[f"{site}.scale"].item() if f"{site}.scale" in tensors else metadata["scale"]
        scale = float(told)
    except KeyError:
        scale = 1 / math.sqrt(q.shape[3])
    except (RuntimeError, TypeError, ValueError):
        scale = math.nan
    if not math.isfinite(scale):
        raise refuse("the scale is no number", "give one, or leave it out for 1 / sqrt(d)")
    causal = metadata.get("causal", str(mask is None and shape[2] == shape[3])).lower()
    if causal not in ("true", "false"):
        raise refuse(f"causal is {causal!r}", "say true or false")
    lazy = LazyAttention(q, k, scale, mask, causal == "true")
    notes = (_CAPTURED,)
    return AttentionRecord.of_lazy(site, 0, lazy, AXES, notes)


_CAPTURED = "worked out from captured queries and keys: what was done to the weights is not known"


def _of_four(tensor: Tensor) -> Tensor:
    """``(batch, head, position, d)`` of ``(position, head, d)``."""
    return tensor.transpose(0, 1).unsqueeze(0) if tensor.dim() == 3 else tensor
