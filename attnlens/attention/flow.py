"""Attention followed through layers, and weighed by what is carried.

Summaries of where information can flow, not proof of what caused the output: pair them with
an intervention before making a claim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from attnlens.arrays import Floats
from attnlens.attention.focus import AttentionValues, Numbers, as_floats, attention_of, weights_of
from attnlens.errors import InputError
from attnlens.recording.axes import Positions, positions
from attnlens.recording.axes import places as places_of
from attnlens.recording.recording import Recording
from attnlens.words import choices


def rollout(layers: Sequence[Numbers] | Recording, rows: Positions = None) -> Floats:
    """Attention from the last layer to the inputs, following residual paths.

    Each layer is the mean of its heads plus the identity for the residual, rows made to sum
    to 1, and the layers are multiplied, last to first. Only the rows asked for are followed,
    vector times matrix, so one row costs ``layers · query · key``, and no product of two
    whole matrices is ever formed.

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
    """The layers, first to last."""
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


def value_norms(weights: Numbers, values: Numbers, output: Numbers | None = None) -> Floats:
    """Norm-based attention: how long the vector is that a key sends to a query.

    ``‖α v W‖`` in place of ``α``: a key that is paid much and says nothing counts little.

    Args:
        weights: ``(..., head, query, key)``; a few queries will do.
        values: what each key says to each head, ``(..., head, key, depth)``.
        output: how heads are joined, as ``torch.nn.Linear`` keeps it,
            ``(model, head · depth)``; without it the values' own lengths count.
    Returns:
        ``(..., head, query, key)``.

    Raises:
        InputError: shapes that do not fit.

    Reference:
        Kobayashi et al. 2020, "Attention is Not Only a Weight", section 3.
    """
    shares, value_vectors = as_floats(weights), as_floats(values)
    if value_vectors.shape[:-1] != (*shares.shape[:-2], shares.shape[-1]):
        raise InputError(
            f"values have shape {value_vectors.shape}; "
            f"weights {shares.shape} need (..., head, key, depth) with the same heads and keys"
        )
    if output is None:
        plain: Floats = shares * np.linalg.norm(value_vectors, axis=-1)[..., None, :]
        return plain
    joins = as_floats(output)
    heads, depth = value_vectors.shape[-3], value_vectors.shape[-1]
    if joins.ndim != 2 or joins.shape[1] != heads * depth:
        raise InputError(
            f"output has shape {joins.shape}; {heads} heads of depth {depth} need "
            f"(model, {heads * depth})"
        )
    by_head = joins.reshape(len(joins), heads, depth)
    # The inner products of what heads send about one key are all that lengths need:
    # (head, head) numbers a key, and never a vector for each pair of query and key.
    gram = np.einsum("mhd,mhe->hde", by_head, by_head)
    squares = np.einsum(
        "...hkd,hde,...hke->...hk", value_vectors, gram, value_vectors, optimize=True
    )
    lengths: Floats = shares * np.sqrt(np.maximum(squares, 0.0))[..., None, :]
    return lengths
