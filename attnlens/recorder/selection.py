"""The largest weights of every row, exactly, without a matrix of all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from attnlens.recording.lazy import LazyAttention, shares

_BUFFER_CELLS = 1 << 21
"""How many logits are worked out at a time, at most: 8 MiB in float32, about what a cache holds."""

_MOST_ROWS = 64
"""Queries of a causal call at a time: of more, many keys are worked out that none of them sees."""

_FEW_COLUMNS = 128
"""So many columns are chosen among directly; of more, groups are chosen first."""

_LEAST_ROWS = 8
"""Fewer queries at a time make the product of queries and keys slow."""


def top_of(source: LazyAttention, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """The k largest weights of every row of a call.

    Queries are taken a few at a time, so memory grows with the number of keys and not with
    queries times keys.

    Returns:
        weights ``(batch, head, query, k)``, largest first, in float32 (float64 if the queries
        are); their keys, likewise, int32; what the other keys hold, ``(batch, head, query)``.
        A row whose keys are all hidden has weights and residual 0.
    """
    batch, heads, queries, _ = source.shape
    source = source.exact
    weights = source.q.new_empty(batch, heads, queries, k)
    keys = torch.empty(batch, heads, queries, k, dtype=torch.int32, device=weights.device)
    residual = source.q.new_empty(batch, heads, queries)
    for first, last in _batches(source):
        part = source.batches(first, last)
        for start, end, logits in chunks(part):
            place = (slice(first, last), slice(None), slice(start, end))
            lse = None if part.lse is None else part.lse[:, :, start:end]
            if lse is None:
                shares(logits, source.mask is not None)
            weights[place], keys[place], residual[place] = _top_of_rows(logits, k, lse)
    return weights, keys, residual


def top_of_weights(weights: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """The same of weights that are there already, ``(..., key)``."""
    lead, every = weights.shape[:-1], weights.shape[-1]
    values, keys = largest(weights.reshape(-1, every), k)
    residual = (weights.sum(-1) - values.view(*lead, k).sum(-1)).clamp_min_(0)
    return values.view(*lead, k), keys.view(*lead, k).to(torch.int32), residual


def chunks(source: LazyAttention) -> Iterator[tuple[int, int, Tensor]]:
    """The logits of some queries after the other: ``(first query, end, logits)``.

    One buffer is used for all of them. Of a causal call only keys that some query of the chunk
    sees are worked out, so the logits may be narrower than the keys.
    """
    batch, heads, queries, keys = source.shape
    size = max(_LEAST_ROWS, _BUFFER_CELLS // max(1, batch * heads * keys))
    size = min(size, _MOST_ROWS) if source.causal else size
    buffer = source.q.new_empty(batch * heads * min(size, queries) * keys)
    for start in range(0, queries, size):
        end = min(start + size, queries)
        seen = min(keys, end) if source.causal else keys
        shape = (batch, heads, end - start, seen)
        out = buffer[: math.prod(shape)].view(shape)
        yield start, end, source.logits(slice(start, end), seen, out)


def _batches(source: LazyAttention) -> list[tuple[int, int]]:
    """Parts of the batch small enough for a few queries of each to fill the buffer."""
    batch, heads, _, keys = source.shape
    size = max(1, _BUFFER_CELLS // max(1, heads * keys * _LEAST_ROWS))
    return [(first, min(first + size, batch)) for first in range(0, batch, size)]


def _top_of_rows(rows: Tensor, k: int, lse: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Of weights, or of logits where their log-sum-exp is given."""
    lead, seen = rows.shape[:-1], rows.shape[-1]
    kept = min(k, seen)
    values, keys = largest(rows.view(-1, seen), kept)
    values = values.view(*lead, kept)
    if lse is not None:
        hidden = values == -math.inf
        values = values.sub_(lse.unsqueeze(-1)).exp_().masked_fill_(hidden, 0.0)
    keys = keys.view(*lead, kept)
    total = values.sum(-1)
    residual = torch.where(total > 0, 1 - total, total).clamp_min_(0)
    if kept < k:
        # Later keys are hidden: they fill the row up with weight 0.
        later = torch.arange(seen, seen + k - kept, device=keys.device).expand(*lead, -1)
        keys = torch.cat([keys, later], -1)
        values = torch.cat([values, values.new_zeros(*lead, k - kept)], -1)
    return values, keys, residual


def largest(rows: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest of every row and where they stand, largest first: like ``torch.topk``.

    Which of several equal values are taken is not promised.
    """
    places = _largest_places(rows, k)
    values, order = torch.sort(rows.gather(1, places), dim=1, descending=True)
    return values, places.gather(1, order)


def _largest_places(rows: Tensor, k: int) -> Tensor:
    """Columns of the k largest values of every row, in no order.

    Every column belongs to a group, and each of the k largest values to a group whose maximum
    is at least as large: so the k groups of largest maxima hold k largest values. Maxima of
    groups are cheap; choosing among all columns is not.
    """
    count, columns = rows.shape
    few = max(_FEW_COLUMNS, 4 * k)
    if columns <= few:
        return _partitioned(rows, k)
    size = -(-columns // few)
    groups = columns // size
    # Group g holds columns g, g + groups, g + 2 * groups, ...
    grouped = rows.as_strided((count, size, groups), (rows.stride(0), groups, 1))
    best = _largest_places(grouped.amax(1), k)
    steps = torch.arange(0, groups * size, groups, device=rows.device)
    candidates = (best.unsqueeze(1) + steps.view(1, size, 1)).view(count, size * k)
    if columns > groups * size:
        left = torch.arange(groups * size, columns, device=rows.device).expand(count, -1)
        candidates = torch.cat([candidates, left], 1)
    return candidates.gather(1, _largest_places(rows.gather(1, candidates), k))


def _partitioned(rows: Tensor, k: int) -> Tensor:
    columns = rows.shape[1]
    if k >= columns:
        return torch.arange(columns, device=rows.device).expand(rows.shape[0], -1)
    if rows.device.type != "cpu":
        return torch.topk(rows, k, -1, sorted=False).indices
    # On short rows numpy's is two to four times as fast as torch.topk.
    places = np.argpartition(rows.numpy(), columns - k, -1)[:, columns - k :]
    return torch.from_numpy(np.ascontiguousarray(places))
