"""How attention is spread: entropy, the strongest keys, what groups of keys are paid.

Every function takes attention as a record, a recording of only one, a torch tensor (such as one
layer's of a Hugging Face model's ``attentions``) or a numpy array whose last axis is the keys,
shares that sum to 1 along it or are all 0, and gives numpy in double precision. Of a lazy record
a few queries are worked out at a time. A row that pays nothing has no focus: its figures are
NaN, not 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.arrays import Flags, Floats, Integers
from attnlens.errors import InputError
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.recording import Recording
from attnlens.words import choices

AttentionValues = Tensor | NDArray[np.generic] | AttentionRecord
"""A record, a tensor of any kind and device, or an array."""

Numbers = AttentionValues | Recording
"""What the functions take; a recording stands for its only record."""

_BLOCK_CELLS: Final = 1 << 22
"""Weights of a lazy record that are formed at a time."""


def attention_of(values: Any) -> AttentionValues:
    """The only record of a recording; anything else as it is, lists as arrays.

    Raises:
        InputError: a recording of none or of several records, or something that holds no numbers.
    """
    if isinstance(values, Recording):
        records = values.records()
        if len(records) == 1:
            return records[0]
        if not records:
            raise InputError("nothing was recorded", remedy="call the model inside the block")
        first = records[0].site
        raise InputError(
            f"a recording of {len(records)} records, and one is asked for",
            remedy=f"choose it, such as recording.calls({first!r})[0] of {choices(first, values)}",
        )
    if isinstance(values, Tensor | np.ndarray | AttentionRecord):
        return values
    if isinstance(values, Sequence):
        with suppress(TypeError, ValueError):
            return np.asarray(values, np.float64)
    message = f"{type(values).__name__} is no attention"
    raise InputError(message, remedy="give a record, a tensor or an array")


def weights_of(values: Numbers) -> Tensor | NDArray[np.generic]:
    """The weights of a record; anything else is given back as it is.

    Raises:
        InputError: as `attention_of`, or the record holds only the strongest keys, so no row of
            it is whole.
    """
    values = attention_of(values)
    if not isinstance(values, AttentionRecord):
        return values
    if values.keys is not None:
        raise InputError(
            f"{values.site}: only the {values.keys.shape[-1]} strongest keys were kept",
            remedy="record with top_k=None or lazy=True; or see entropy_bounds, and the record's "
            "own weights and keys",
        )
    return values.weights


def query_blocks(values: Numbers) -> Iterator[tuple[slice, Floats]]:
    """Which queries, and their weights ``(..., query, key)``: a few at a time of a lazy record."""
    values = attention_of(values)
    lazy = values.lazy if isinstance(values, AttentionRecord) else None
    if lazy is None:
        yield slice(None), as_floats(values)
        return
    batch, heads, queries, keys = lazy.shape
    step = max(1, _BLOCK_CELLS // max(1, batch * heads * keys))
    for start in range(0, queries, step):
        rows = range(start, min(start + step, queries))
        yield slice(rows.start, rows.stop), as_floats(lazy.weights(list(rows)))


def as_floats(values: Numbers) -> Floats:
    """The same numbers as a numpy array in double precision; no gradient is kept."""
    values = weights_of(values)
    if isinstance(values, Tensor):
        array: Floats = values.detach().to("cpu", torch.float64).numpy()
        return array
    return np.asarray(values, dtype=np.float64)


def as_flags(values: Numbers) -> Flags:
    """The same flags as a numpy array."""
    values = weights_of(values)
    if isinstance(values, Tensor):
        values = values.detach().cpu().numpy()
    return np.asarray(values, dtype=np.bool_)


def entropy(weights: Numbers) -> Floats:
    """Shannon entropy over keys, ``(..., key) -> (...)``.

    In nats: 0 where one key is paid everything, ``log n`` where ``n`` keys are paid alike.
    """
    parts = []
    for _, shares in query_blocks(weights):
        nats = np.maximum(nats_of(shares).sum(-1), 0.0)
        parts.append(np.where(shares.sum(-1) > 0, nats, np.nan))
    return joined(parts)


def nats_of(shares: Floats) -> Floats:
    """``-p log p`` of every share, whose sum along the keys is the entropy; 0 of 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        nats: Floats = -np.where(shares > 0, shares * np.log(shares), 0.0)
    return nats


def joined(parts: list[Floats], axis: int = -1) -> Floats:
    """What was worked out block by block; one block may have no axis to join along."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=axis)


def entropy_bounds(numbers: Numbers, residual: Numbers, keys: int) -> tuple[Floats, Floats]:
    """The least and the greatest entropy that rows known only by their strongest keys can have.

    No key that was left out is paid more than the weakest that was kept. So the entropy is
    greatest where the rest is spread evenly, and least where as few keys as can be hold it.

    Args:
        kept: the weights of the strongest keys, ``(..., k)``.
        residual: what the others are paid together, ``(...)``.
        keys: how many keys there are in all.

    Returns:
        nats, both ``(...)``.

    Raises:
        InputError: fewer keys than weights.
    """
    shares, rest = as_floats(numbers), np.maximum(as_floats(residual), 0.0)
    left = keys - shares.shape[-1]
    if left < 0:
        raise InputError(f"{shares.shape[-1]} weights were kept of {keys} keys")

    kept_nats = nats_of(shares).sum(-1)
    weakest = shares.min(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        full = np.floor(np.where(weakest > 0, rest / weakest, 0.0))
    over = np.maximum(rest - full * weakest, 0.0)
    low = kept_nats + full * nats_of(weakest) + nats_of(over)
    high = kept_nats + left * nats_of(rest / left) if left else kept_nats
    high = np.maximum(high, low)  # rounding of the residual can put them a hair apart
    nothing = shares.sum(-1) + rest <= 0
    return np.where(nothing, np.nan, low), np.where(nothing, np.nan, high)


@dataclass(frozen=True, slots=True, eq=False)
class Strongest:
    """The keys that are paid most, from the most to the least; ties by position.

    Attributes:
        positions: of the keys, ``(..., count)``.
        weights: theirs, ``(..., count)``.
        labels: the label of each position, where a record has them, ``(..., count)`` of str.
    """

    positions: Integers
    weights: Floats
    labels: NDArray[np.object_] | None


def strongest_keys(weights: Numbers, count: int) -> Strongest:
    """The ``count`` keys of every row that are paid most, all of them where there are fewer.

    Args:
        weights: ``(..., key)``.

    Raises:
        InputError: no count from 1.
    """
    if not isinstance(count, int | np.integer) or count < 1:
        raise InputError(f"the {count!r} strongest keys are none", remedy="ask for 1 or more")
    weights = attention_of(weights)
    labels = weights.axes[-1].labels if isinstance(weights, AttentionRecord) else None
    orders, paid = [], []
    for _, shares in query_blocks(weights):
        order = np.argsort(-shares, axis=-1, kind="stable")[..., :count].astype(np.int64)
        orders.append(order)
        paid.append(np.take_along_axis(shares, order, axis=-1))
    order = orders[0] if len(orders) == 1 else np.concatenate(orders, axis=-2)
    names = None
    if labels is not None:
        table = np.empty(len(labels), dtype=np.object_)
        table[:] = list(labels)
        names = table[order]
    return Strongest(order, joined(paid, -2), names)


def group_shares(
    weights: Numbers, groups: Sequence[str | None] | Mapping[str, str | None]
) -> dict[str, Floats]:
    """How much of the attention goes to the keys of each group.

    Args:
        weights: ``(..., key)``.
        groups: the group of each key, such as the kind of token; ``None`` for no group. Of a
            record with labels, a mapping from labels to groups will do; labels it lacks are in
            no group.

    Returns:
        by group, in the order in which they first stand among the keys, ``(...)``.

    Raises:
        InputError: not one group per key, or groups by label of keys without labels.
    """
    weights = attention_of(weights)
    if isinstance(groups, Mapping):
        labels = weights.axes[-1].labels if isinstance(weights, AttentionRecord) else None
        if labels is None:
            raise InputError("keys without labels have no groups", remedy="give one per key")
        groups = [groups.get(label) for label in labels]
    if len(groups) != weights.shape[-1]:
        raise InputError(f"{len(groups)} groups for {weights.shape[-1]} keys")
    names = dict.fromkeys(name for name in groups if name is not None)
    member = np.array([[group == name for name in names] for group in groups], dtype=np.float64)
    member = member.reshape(len(groups), len(names))
    shares = joined([paid @ member for _, paid in query_blocks(weights)], -2)
    return {name: shares[..., number] for number, name in enumerate(names)}
