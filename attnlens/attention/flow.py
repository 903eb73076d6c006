"""Attribution along the layers: attention rollout, and gradients of the whole prediction."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from attnlens.attention.focus import AttentionValues, Numbers, as_floats, attention_of, weights_of
from attnlens.errors import InputError, choices
from attnlens.files import Floats
from attnlens.recording.axes import Positions, positions
from attnlens.recording.axes import places as places_of
from attnlens.recording.recording import Recording


def rollout(layers: Sequence[Numbers] | Recording, rows: Positions = None) -> Floats:
    """Attention from the last layer to the inputs, following residual paths.

    Each layer is the mean of its heads plus the identity for the residual, rows made to sum
    to 1, and the layers are multiplied, last to first. Only the selected rows are multiplied, so
    one row costs ``layers · query · key``.

    Args:
        layers: self-attention, first layer first, each ``(..., head, query, key)``, square:
            records, tensors, arrays, or a Hugging Face model's ``attentions``; or a recording
            of one stack of layers.
        rows: queries of the last layer, as for `attnlens.record`; all where not given.

    Returns:
        ``(..., row, key)``; rows sum to 1.

    Raises:
        InputError: no layer, layers that are not square or differ, a recording of several
            stacks, or a row there is not.

    Reference:
        Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3.
    """
    layers = _stack(layers)
    shape = tuple(layers[-1].shape)
    for number, layer in enumerate(layers):
        if len(layer.shape) < 3 or layer.shape[-1] != layer.shape[-2]:
            raise InputError(
                f"layer {number} has shape {tuple(layer.shape)}; "
                "rollout needs self-attention (..., head, query, key) with all its queries"
            )
        if (*layer.shape[:-3], layer.shape[-1]) != (*shape[:-3], shape[-1]):
            raise InputError(f"layer {number} has shape {tuple(layer.shape)}, the last {shape}")
    selection = slice(None) if rows is None else positions("rows", rows, InputError)
    places = places_of(selection, shape[-1], "row", InputError)
    flow: Floats = np.zeros((*shape[:-3], len(places), shape[-1]))
    flow[..., np.arange(len(places)), places] = 1.0
    for values in reversed(layers):
        layer = weights_of(values)
        heads = [layer[..., head, :, :] for head in range(layer.shape[-3])]
        paid = sum(as_floats(head).sum(-1) for head in heads) / len(heads)
        scaled = flow / (1.0 + paid)[..., None, :]
        # One head in double precision at a time; their mean is never put together.
        flow = scaled + sum(scaled @ as_floats(head) for head in heads) / len(heads)
    return flow


def _stack(layers: Sequence[Numbers] | Recording) -> list[AttentionValues]:
    if isinstance(layers, Recording):
        stacks = {re.sub(r"\d+", "*", site) for site in layers}
        if len(stacks) > 1 or any(len(layers.calls(site)) > 1 for site in layers):
            raise InputError(
                f"this recording is no one stack of layers, each run once: {choices('', layers)}",
                remedy="give a list of records, first layer first",
            )
        layers = layers.records()
    if not isinstance(layers, list | tuple) or not layers:
        problem = "no layers" if isinstance(layers, list | tuple) else type(layers).__name__
        raise InputError(
            f"{problem} to roll out", remedy="give a list of attention, first layer first"
        )
    return [attention_of(layer) for layer in layers]


def kl_jacobian(logits: Tensor, items: Tensor) -> Floats:
    """How far the whole prediction moves as each item fades: the KL-matched Jacobian, in nats.

    ``½ Σ_o p_o (∂ log p_o / ∂x_i · x_i)²``: gradient times input of every class at once,
    measured by Fisher's metric. It is ``KL(p ‖ p with x_i at nothing)`` to second order.

    Args:
        logits: of the classes ``(class,)``, worked out from ``items``.
        items: ``(item, width)``, or with a batch of one before; needs a gradient.

    Returns:
        ``(item,)``, never negative; the graph of ``logits`` is kept.

    Reference:
        Kullback 1959, "Information Theory and Statistics", section 2.6, for the expansion;
        Shrikumar et al. 2016 (arXiv 1605.01713) for gradient times input.
    """
    logs = logits.log_softmax(-1)
    moves = [
        (torch.autograd.grad(log, items, retain_graph=True)[0] * items).sum(-1).flatten()
        for log in logs
    ]
    chances = logs.detach().double().exp()
    scores: Floats = (chances @ torch.stack(moves).detach().double() ** 2 / 2).numpy()
    return scores
