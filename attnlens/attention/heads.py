"""How strongly attention heads follow relations between queries and keys.

A relation is a boolean array ``(query, key)``. A high score does not prove that the model uses the
relation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.attention.focus import Numbers, as_floats, attention_of
from attnlens.errors import InputError
from attnlens.files import Flags, Floats, Integers
from attnlens.recording.attention_record import AttentionRecord


def past_shares(weights: Floats) -> Floats:
    """Normalise weights to sum to 1 over keys, ``(row, head, key)``. A row of zeros becomes NaN."""
    total = weights.sum(-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.where(total > 0, weights / total, np.nan)


def built_in(bias: Floats, content: Floats, visible: Flags) -> Floats:
    """Return the share of the logits' variance that comes from biases, ``(..., key) -> (...)``.

    Hidden keys are ignored. The result is NaN with fewer than two visible keys or with equal
    logits.
    """
    enough = visible.sum(-1) >= 2
    counted = visible | ~enough[..., None]
    with np.errstate(invalid="ignore", divide="ignore"):
        built, learnt = (part.var(-1, where=counted) for part in (bias, content))
        return np.where(enough & (built + learnt > 0), built / (built + learnt), np.nan)


def relation_shares(shares: Floats, held: Floats) -> Floats:
    """Return each head's share of attention on each relation's keys, ``(row, head, relation)``.

    Args:
        shares: the normalised weights from `past_shares`, ``(row, head, key)``.
        held: how strongly each relation holds for each key, from 0 to 1, ``(row, key, relation)``.
    """
    result: Floats = np.einsum("rhk,rkn->rhn", shares, held)
    return result


def uniform_shares(held: Floats, visible: Flags) -> Floats:
    """Compute `relation_shares` for uniform attention to visible keys, ``(row, relation)``."""
    even = past_shares(visible[:, None].astype(float))
    return relation_shares(even, held)[:, 0]


def shares_by_distance(shares: Floats, held: Floats, visible: Flags, distance: Integers) -> Floats:
    """Compute `relation_shares` as if attention depended only on the distance to the key.

    The weight of each key is replaced by the head's mean weight over all keys at the same distance.

    Args:
        shares, held: as in `relation_shares`.
        visible: which keys are visible, ``(row, key)``.
        distance: the distance of each key, at least 1, ``(row, key)``; ignored at hidden keys.

    Returns:
        ``(row, head, relation)``.
    """
    heads = shares.shape[1]
    counted = visible & (np.isnan(shares).sum((1, 2)) == 0)[:, None]
    bins = int(distance[counted].max(initial=0)) + 1
    counts = np.bincount(distance[counted], minlength=bins).clip(1)
    expected = np.zeros_like(shares)
    for head in range(heads):
        paid = np.bincount(distance[counted], shares[:, head][counted], minlength=bins)
        profile = paid / counts
        expected[:, head] = np.where(visible, profile[np.where(visible, distance, 0) % bins], 0.0)
    return relation_shares(past_shares(expected), held)


def departure(share: Floats, uniform: Floats) -> Floats:
    """Return the divergence between a share and the share under uniform attention, in nats.

    The result is ``share·log(share/uniform) + (1 - share)·log((1 - share)/(1 - uniform))``.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(share > 0, share * np.log(share / uniform), 0.0)
        rest = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - uniform)), 0.0)
    result: Floats = inside + rest
    return result


@contextmanager
def columns_replaced(module: nn.Module, columns: slice, value: Tensor) -> Iterator[None]:
    """Replace some columns of a module's input with ``value`` inside the ``with`` block.

    For mean ablation of a head, give the output projection, the head's columns and the head's mean
    output.
    """

    def change(_: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        changed = inputs[0].clone()
        changed[..., columns] = value
        return (changed, *inputs[1:])

    handle = module.register_forward_pre_hook(change)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def keys_hidden(probe: nn.Module, head: int, share: Tensor) -> Iterator[None]:
    """Hide keys from one head inside the ``with`` block, and renormalise the other weights.

    Args:
        probe: the module that returns the weights, ``(batch, head, query, key)``.
        share: the fraction of each key's weight to remove, from 0 to 1, ``(batch, query, key)``.
            Keys after the last column are kept. If a query keeps no key, its weights are 0.
    """

    def change(_: nn.Module, __: tuple[Any, ...], weights: Tensor) -> Tensor:
        keep_share = torch.ones_like(weights[:, head])
        keep_share[..., : share.shape[-1]] -= share
        left = weights[:, head] * keep_share
        total = left.sum(-1, keepdim=True)
        changed = weights.clone()
        changed[:, head] = torch.where(total > 0, left / total.clamp(min=1e-30), 0.0)
        return changed

    handle = probe.register_forward_hook(change)
    try:
        yield
    finally:
        handle.remove()


def earlier_token(length: int, back: int = 1) -> Flags:
    """Return a mask ``(query, key)`` that is True ``back`` positions before the query."""
    return np.eye(length, k=-back, dtype=np.bool_)


def first_token(length: int) -> Flags:
    """Return a mask ``(query, key)`` that is True at the first key, except in the first row."""
    flags = np.zeros((length, length), np.bool_)
    flags[1:, :1] = True
    return flags


def duplicate_token(tokens: Sequence[object]) -> Flags:
    """Return a mask ``(query, key)`` that is True at earlier keys with the same token."""
    numbers: dict[object, int] = {}
    # Tensors are hashed by identity, so two equal elements would be different keys of a dict.
    plain = (token.item() if hasattr(token, "item") else token for token in tokens)
    codes = np.array([numbers.setdefault(token, len(numbers)) for token in plain], np.int64)
    return np.tril(codes[:, None] == codes, -1)


def induction(tokens: Sequence[object]) -> Flags:
    """Return a mask ``(query, key)``, True at the key after each earlier copy of the query's token.

    In ``A B C A``, the mask is True for the last ``A`` as query and ``B`` as key.

    Reference:
        Olsson et al. 2022, "In-context Learning and Induction Heads".
    """
    flags = np.zeros((len(tokens), len(tokens)), np.bool_)
    flags[:, 1:] = duplicate_token(tokens)[:, :-1]
    return flags


@dataclass(frozen=True, slots=True, eq=False)
class RelationScores:
    """The share of attention that goes to the keys of a relation, ``(..., head)``.

    The scores are means over queries that see a key of the relation, or NaN without such queries.

    Attributes:
        share: the share of attention, 0 to 1.
        even: the share under uniform attention to the visible keys.
        queries: the number of queries in the mean.
    """

    share: Floats
    even: Floats
    queries: Integers

    @property
    def lift(self) -> Floats:
        """The ratio ``share / even``; 1 means no preference for the relation."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.share / self.even


def relation_scores(weights: Numbers, relation: Numbers) -> RelationScores:
    """Measure how strongly each head follows a relation.

    A query sees a key if any head in any sequence attends from the query to the key.

    Args:
        weights: ``(..., query, key)``, usually ``(batch, head, query, key)``.
        relation: a boolean array that can be broadcast to ``weights``, such as ``(query, key)``.
            For one relation per sequence, the shape is ``(batch, 1, query, key)``. The array may
            have rows for all queries, even if a record contains only some queries.

    Raises:
        InputError: ``relation`` cannot be broadcast to ``weights``.
    """
    weights = attention_of(weights)
    shares = as_floats(weights)
    rows = weights.rows if isinstance(weights, AttentionRecord) else None
    visible = (shares > 0).any(tuple(range(shares.ndim - 2)), keepdims=True)
    flags = _of_rows(as_floats(relation).astype(np.bool_), rows)
    try:
        held = np.broadcast_to(flags, shares.shape) & visible
    except ValueError as error:
        raise InputError(
            f"relation has shape {flags.shape}, which cannot be broadcast to the "
            f"weights' shape {shares.shape}"
        ) from error
    paid = shares.sum(-1) > 0
    counted = held.any(-1) & paid
    number = counted.sum(-1)
    to_them = np.where(counted, np.where(held, shares, 0.0).sum(-1), 0.0).sum(-1)
    evenly = np.where(counted, held.sum(-1) / np.maximum(visible.sum(-1), 1), 0.0).sum(-1)
    some = np.maximum(number, 1)
    none = number == 0
    share, even = (np.where(none, np.nan, total / some) for total in (to_them, evenly))
    return RelationScores(share, even, np.asarray(number, np.int64))


def _of_rows(flags: Flags, rows: tuple[int, ...] | None) -> Flags:
    if rows is None or flags.ndim < 2 or not max(rows, default=0) < flags.shape[-2] > len(rows):
        return flags
    return flags[..., list(rows), :]
