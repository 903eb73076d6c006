"""How much each head matters, from one backward pass: a screening before ablation.

A gate of 1 on a head's output leaves the model as it is; the loss's slope in that gate is
``Σ z · dLoss/dz`` over the head's output ``z``.

Reference:
    Michel et al. 2019, "Are Sixteen Heads Really Better than One?", section 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.analysis.focus import as_floats
from attnlens.arrays import Floats
from attnlens.errors import InputError, NothingRecordedError


def gradient_importance(
    loss: Callable[[], Tensor],
    joins: Mapping[str, tuple[nn.Module, int]],
    *,
    normalised: bool = True,
) -> dict[str, Floats]:
    """How much every head matters to a loss, by its slope in the head's gate.

    The model runs once, forward and back; parameters' ``grad`` and the mode of the model stay
    as they were. Examples of a batch are told apart as long as no one's loss depends on
    another's input, so ``loss`` should be a *sum* over examples (a mean scales every head
    alike). The slope is local: a head whose gate is flat at 1 may still matter when removed.

    Args:
        loss: runs the model and gives a scalar.
        joins: by name, the module that joins the heads (the output projection) and how many
            heads there are; its input is ``(batch, query, head · depth)``.
        normalised: divided by the layer's Euclidean length, as in the paper, so that layers can
            be set side by side; a layer without any slope stays 0.

    Returns:
        by name, ``(head,)``. Several calls of one module add up before their size is taken.

    Raises:
        InputError: nothing to watch, or a tensor that does not split into heads.
        NothingRecordedError: a module did not run, or the loss does not depend on it.
    """
    if not joins:
        raise InputError("no module to watch", remedy="give joins")
    seen: dict[str, list[Tensor]] = {name: [] for name in joins}

    handles = [
        module.register_forward_pre_hook(_watching(seen[name]))
        for name, (module, _) in joins.items()
    ]
    try:
        with torch.enable_grad():
            value = loss()
    finally:
        for handle in handles:
            handle.remove()
    if value.numel() != 1:
        raise InputError(f"the loss has shape {tuple(value.shape)}", remedy="give its sum")
    if silent := [name for name, tensors in seen.items() if not tensors]:
        raise NothingRecordedError(f"{silent[0]!r} did not run while the loss was worked out")
    sizes = {}
    for name, tensors in seen.items():
        heads = joins[name][1]
        slopes = [
            _slopes(_by_head(name, tensor, heads), _by_head(name, gradient, heads))
            for tensor, gradient in zip(tensors, _gradients(value, tensors, name), strict=True)
        ]
        if len({one.shape for one in slopes}) > 1:
            raise InputError(f"{name!r} ran on batches of different sizes")
        size: Floats = np.abs(np.sum(slopes, axis=0)).mean(0)
        length = float(np.linalg.norm(size))
        sizes[name] = size / length if normalised and length > 0 else size
    return sizes


def _watching(into: list[Tensor]) -> Callable[..., tuple[Any, ...]]:
    """A hook that puts what a module is given into a list."""

    def hook(_: nn.Module, values: tuple[Any, ...]) -> tuple[Any, ...]:
        value = values[0]
        if not value.requires_grad:  # nothing before it asked for a gradient
            value = value.detach().requires_grad_()
        into.append(value)
        return (value, *values[1:])

    return hook


def _gradients(value: Tensor, tensors: list[Tensor], name: str) -> list[Tensor]:
    found: tuple[Tensor | None, ...] = (None,)
    if value.requires_grad:
        found = torch.autograd.grad(value, tensors, allow_unused=True, retain_graph=True)
    gradients = [gradient for gradient in found if gradient is not None]
    if len(gradients) < len(tensors):
        raise NothingRecordedError(f"the loss does not depend on {name!r}")
    return gradients


def _slopes(values: Tensor, gradients: Tensor) -> Floats:
    """The loss's slope in each head's gate, for each example, signed: ``(batch, head)``."""
    product = as_floats(values) * as_floats(gradients)
    slopes: Floats = product.reshape(*product.shape[:2], -1).sum(-1)
    return slopes


def _by_head(name: str, value: Tensor, heads: int) -> Tensor:
    """``(batch, head, query, depth)``."""
    if value.dim() < 2 or heads < 1 or value.shape[-1] % heads:
        raise InputError(f"{name!r}: input of shape {tuple(value.shape)} is not {heads} heads")
    split = value.reshape(value.shape[0], -1, heads, value.shape[-1] // heads)
    return split.transpose(1, 2)
