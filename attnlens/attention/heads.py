"""How far attention heads follow relations between queries and keys.

A relation is a table of flags ``(query, key)``. A score describes where attention goes; it does not
prove that the model uses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.attention.focus import Numbers, as_flags, as_floats, attention_of
from attnlens.errors import InputError
from attnlens.files import Flags, Floats, Integers
from attnlens.recording.attention_record import AttentionRecord


def past_shares(weights: Floats) -> Floats:
    """Weights that sum to 1 over keys, ``(row, head, key)``; NaN where a row pays nothing."""
    total = weights.sum(-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.where(total > 0, weights / total, np.nan)


def built_in(bias: Floats, content: Floats, visible: Flags) -> Floats:
    """The biases' part of the variance of the logits over visible keys, ``(..., key) -> (...)``.

    NaN where fewer than two keys are visible, or nothing varies.
    """
    enough = visible.sum(-1) >= 2
    counted = visible | ~enough[..., None]
    with np.errstate(invalid="ignore", divide="ignore"):
        built, learnt = (part.var(-1, where=counted) for part in (bias, content))
        return np.where(enough & (built + learnt > 0), built / (built + learnt), np.nan)


def relation_shares(shares: Floats, held: Floats) -> Floats:
    """How much of each head's attention goes to the keys of each relation.

    Args:
        shares: `past_shares`, ``(row, head, key)``.
        held: how far each key has each relation, 0 to 1, ``(row, key, relation)``.

    Returns:
        ``(row, head, relation)``.
    """
    result: Floats = np.einsum("rhk,rkn->rhn", shares, held)
    return result


def uniform_shares(held: Floats, visible: Flags) -> Floats:
    """`relation_shares` of attention spread evenly over visible keys, ``(row, relation)``."""
    even = past_shares(visible[:, None].astype(float))
    return relation_shares(even, held)[:, 0]


def shares_by_distance(shares: Floats, held: Floats, visible: Flags, distance: Integers) -> Floats:
    """`relation_shares` if each key had the head's mean share at its distance.

    Args:
        shares: ``(row, head, key)``.
        held: ``(row, key, relation)``.
        visible: ``(row, key)``.
        distance: of each key, from 1; anything where it is not visible, ``(row, key)``.

    Returns:
        ``(row, head, relation)``; a larger real share is not explained by distance.
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
    """How far a split in two departs from the even one: the divergence in nats.

    ``share·log(share/uniform) + (1 - share)·log((1 - share)/(1 - uniform))``: the part of a
    head's divergence from uniform attention that knowing the relation alone accounts for.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(share > 0, share * np.log(share / uniform), 0.0)
        rest = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - uniform)), 0.0)
    result: Floats = inside + rest
    return result


@contextmanager
def columns_replaced(module: nn.Module, columns: slice, value: Tensor) -> Iterator[None]:
    """While the block runs, ``module`` is given ``value`` in some columns of its input.

    This is mean ablation with the heads' output projection, a head's columns and mean output.
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
    """While the block runs, one head does without some keys; the rest are renormalised.

    Args:
        probe: the module that the weights ``(batch, head, query, key)`` pass through.
        head: the head.
        share: how much of each key's weight is taken away, 0 to 1, ``(batch, query, key)``;
            keys beyond its last stay. Without any key left a query's weights are all zero.
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
    """The key ``back`` positions before the query, ``(query, key)``; 1 is the previous token."""
    return np.eye(length, k=-back, dtype=np.bool_)


def first_token(length: int) -> Flags:
    """The first key, for every query but the first itself, ``(query, key)``."""
    flags = np.zeros((length, length), np.bool_)
    flags[1:, :1] = True
    return flags


def duplicate_token(tokens: Sequence[object]) -> Flags:
    """Earlier keys that hold the query's token, ``(query, key)``."""
    numbers: dict[object, int] = {}
    # The elements of a tensor are tensors, which are equal only to themselves in a dict.
    plain = (token.item() if hasattr(token, "item") else token for token in tokens)
    codes = np.array([numbers.setdefault(token, len(numbers)) for token in plain], np.int64)
    return np.tril(codes[:, None] == codes, -1)


def induction(tokens: Sequence[object]) -> Flags:
    """Keys that follow an earlier one with the query's token, ``(query, key)``.

    Where the sequence reads ``A B ... A``, the last ``A`` stands so to ``B``.

    Reference:
        Olsson et al. 2022, "In-context Learning and Induction Heads".
    """
    flags = np.zeros((len(tokens), len(tokens)), np.bool_)
    flags[:, 1:] = duplicate_token(tokens)[:, :-1]
    return flags


@dataclass(frozen=True, slots=True, eq=False)
class RelationScores:
    """How much attention goes to the keys of a relation, ``(..., head)``.

    Means over the queries that have such a key; NaN where none has.

    Attributes:
        share: of the attention, 0 to 1.
        even: the same if attention were spread evenly over the visible keys.
        queries: how many queries were counted.
    """

    share: Floats
    even: Floats
    queries: Integers

    @property
    def lift(self) -> Floats:
        """``share / even``: 1 is no preference."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.share / self.even


def relation_scores(weights: Numbers, relation: Numbers) -> RelationScores:
    """How far each head follows a relation.

    A query can see the keys that any head or sequence pays there.

    Args:
        weights: ``(..., query, key)``, usually ``(batch, head, query, key)``. Of a record that
            kept some queries only, the rows of these are taken from flags for all queries.
        relation: flags that broadcast to ``weights``, such as ``(query, key)`` or, where every
            sequence has its own, ``(batch, 1, query, key)``.

    Raises:
        InputError: shapes that do not broadcast.
    """
    weights = attention_of(weights)
    shares = as_floats(weights)
    rows = weights.rows if isinstance(weights, AttentionRecord) else None
    visible = (shares > 0).any(tuple(range(shares.ndim - 2)), keepdims=True)
    flags = _of_rows(as_flags(relation), rows)
    try:
        held = np.broadcast_to(flags, shares.shape) & visible
    except ValueError as error:
        raise InputError(
            f"relation has shape {flags.shape}, which does not fit weights {shares.shape}"
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
