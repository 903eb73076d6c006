"""Attribution across all layers: attention rollout, and effects estimated from gradients."""

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
    """Compute attention rollout: how much attention flows from each input to the last layer.

    Args:
        layers: the self-attention weights of each layer, ``(..., head, query, key)``, starting with
            the first layer. The layers can be records, tensors, arrays, the ``attentions`` of a
            Hugging Face model, or a recording of one stack of layers.
        rows: the queries of the last layer to include, in the format of `attnlens.record`; by
            default, all queries.

    Returns:
        the rollout, ``(..., row, key)``. Each row sums to 1.

    Raises:
        InputError: no layer is given, a layer is not square, the layers differ in size, the
            recording has several stacks, or a row does not exist.

    Reference:
        Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3.
    """
    layers = _stack(layers)
    shape = tuple(layers[-1].shape)
    for number, layer in enumerate(layers):
        if len(layer.shape) < 3 or layer.shape[-1] != layer.shape[-2]:
            raise InputError(
                f"layer {number} has shape {tuple(layer.shape)}, but rollout needs "
                "self-attention of shape (..., head, query, key), with as many queries as "
                "keys"
            )
        if (*layer.shape[:-3], layer.shape[-1]) != (*shape[:-3], shape[-1]):
            raise InputError(
                f"layer {number} has shape {tuple(layer.shape)}, but the last layer has "
                f"shape {shape}"
            )
    selection = slice(None) if rows is None else positions("rows", rows, InputError)
    places = places_of(selection, shape[-1], "row", InputError)
    flow: Floats = np.zeros((*shape[:-3], len(places), shape[-1]))
    flow[..., np.arange(len(places)), places] = 1.0
    for values in reversed(layers):
        layer = weights_of(values)
        heads = [layer[..., head, :, :] for head in range(layer.shape[-3])]
        paid = sum(as_floats(head).sum(-1) for head in heads) / len(heads)
        scaled = flow / (1.0 + paid)[..., None, :]
        # Convert only one head at a time to double precision, to save memory.
        flow = scaled + sum(scaled @ as_floats(head) for head in heads) / len(heads)
    return flow


def _stack(layers: Sequence[Numbers] | Recording) -> list[AttentionValues]:
    if isinstance(layers, Recording):
        stacks = {re.sub(r"\d+", "*", site) for site in layers}
        if len(stacks) > 1 or any(len(layers.calls(site)) > 1 for site in layers):
            raise InputError(
                "this recording has several stacks of layers, or a layer that ran more than "
                f"once: {choices('', layers)}",
                remedy="give a list of records, first layer first",
            )
        layers = layers.records()
    if not isinstance(layers, list | tuple) or not layers:
        raise InputError(
            "no layer was given"
            if isinstance(layers, list | tuple)
            else f"rollout cannot use an object of type {type(layers).__name__}",
            remedy="give a list of records or weights, first layer first",
        )
    return [attention_of(layer) for layer in layers]


def kl_jacobian(logits: Tensor, items: Tensor) -> Floats:
    """Compute the KL-matched Jacobian: a gradient estimate of each item's effect, in nats.

    The estimate ``½ Σ_o p_o (∂ log p_o / ∂x_i · x_i)²`` is the second-order approximation of ``KL(p
    ‖ p with x_i set to zero)``.

    Args:
        logits: the logits of the classes, ``(class,)``, computed from ``items``.
        items: a tensor ``(item, width)`` or ``(1, item, width)`` that requires a gradient.

    Returns:
        the non-negative estimates, ``(item,)``. The autograd graph of ``logits`` is kept.

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
