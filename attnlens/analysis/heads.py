"""What attention heads look at, and whether it matters, for any PyTorch model.

Weights and relations come in as numbers; interventions are hooks that the ``with`` block
takes off again. Nothing here knows what a row, a key or a relation stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlens.arrays import Flags, Floats


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
    """What attention spread evenly over the visible keys would pay, ``(row, relation)``."""
    even = past_shares(visible[:, None].astype(float))
    return relation_shares(even, held)[:, 0]


def shares_by_distance(
    shares: Floats, held: Floats, visible: Flags, distance: NDArray[np.int64]
) -> Floats:
    """What each relation would be paid if the head knew nothing but distance.

    Every key is given the head's mean share at that key's distance, and the row is made to
    sum to 1. A relation that is paid more than this is paid for more than being near.

    Args:
        shares: ``(row, head, key)``.
        held: ``(row, key, relation)``.
        visible: ``(row, key)``.
        distance: of each key, from 1; anything where it is not visible, ``(row, key)``.

    Returns:
        ``(row, head, relation)``.
    """
    heads = shares.shape[1]
    counted = visible & (np.isnan(shares).sum((1, 2)) == 0)[:, None]
    far = int(distance[counted].max(initial=0)) + 1
    seen = np.bincount(distance[counted], minlength=far).clip(1)
    expected = np.zeros_like(shares)
    for head in range(heads):
        paid = np.bincount(distance[counted], shares[:, head][counted], minlength=far)
        profile = paid / seen
        expected[:, head] = np.where(visible, profile[np.where(visible, distance, 0) % far], 0.0)
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

    With the module that joins the heads, the columns of one head and that head's mean
    output this is mean ablation.
    """

    def change(_: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        given = inputs[0].clone()
        given[..., columns] = value
        return (given, *inputs[1:])

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
            the keys beyond its last, such as the query itself, stay.

    A query left without any key attends to nothing: its weights are all zero.
    """

    def change(_: nn.Module, __: tuple[Any, ...], weights: Tensor) -> Tensor:
        kept = torch.ones_like(weights[:, head])
        kept[..., : share.shape[-1]] -= share
        left = weights[:, head] * kept
        total = left.sum(-1, keepdim=True)
        changed = weights.clone()
        changed[:, head] = torch.where(total > 0, left / total.clamp(min=1e-30), 0.0)
        return changed

    handle = probe.register_forward_hook(change)
    try:
        yield
    finally:
        handle.remove()
