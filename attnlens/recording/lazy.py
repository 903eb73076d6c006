"""Attention stored as queries and keys, from which weights are computed on request."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from attnlens.recording.axes import places


@dataclass(frozen=True, slots=True, eq=False)
class LazyAttention:
    """The queries and keys of one attention call, from which weights are computed on request.

    Attributes:
        q: the queries, shape ``(batch, head, query, d)``.
        k: the keys, shape ``(batch, key head, key, d)``. All key heads serve equally many heads.
        scale: the factor applied to query times key.
        mask: a boolean mask (true at visible keys) or a float mask (added to the logits),
            broadcastable to ``(batch, head, query, key)``.
        causal: whether query i sees only keys 0 to i.
        lse: the log-sum-exp of every row of logits, if known, shape ``(batch, head, query)``.
    """

    q: Tensor
    k: Tensor
    scale: float
    mask: Tensor | None = None
    causal: bool = False
    lse: Tensor | None = None

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The shape ``(batch, head, query, key)`` of the weights."""
        batch, heads, queries, _ = self.q.shape
        return batch, heads, queries, self.k.shape[2]

    @property
    def exact(self) -> LazyAttention:
        """The same call in float64 if the queries are float64, otherwise in float32."""
        dtype = torch.float64 if self.q.dtype == torch.float64 else torch.float32
        if self.q.dtype == self.k.dtype == dtype:
            return self
        return replace(self, q=self.q.to(dtype), k=self.k.to(dtype))

    def shuffled(self, generator: torch.Generator) -> LazyAttention:
        """Return a placebo in which only the features of the keys are shuffled."""
        order = torch.randperm(self.k.shape[-1], generator=generator).to(self.k.device)
        return replace(self, k=self.k[..., order], lse=None)

    def weights(self, rows: Sequence[int] | slice | None = None) -> Tensor:
        """Compute the weights of the queries in ``rows``; None means all queries.

        Returns:
            ``(batch, head, query, key)`` in float32, or float64 if the queries are float64. Each
            row sums to 1, or is all 0 if every key is hidden.

        Raises:
            RecordingError: a query does not exist.
        """
        with torch.no_grad(), without_autocast(self.q.device.type):
            return shares(self.logits(rows), self.mask is not None)

    def logits(
        self,
        rows: Sequence[int] | slice | None = None,
        keys: int | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """Compute the logits ``(batch, head, query, key)``: scaled query times key, plus mask.

        The logit of a hidden key is -inf.

        Args:
            rows: the queries to compute; None: all queries.
            keys: the number of keys to compute, counted from the first key; None: all keys.
            out: a contiguous buffer with the shape of the result.
        """
        batch, heads, queries, every = self.shape
        chosen: slice | list[int] = rows if isinstance(rows, slice) else slice(None)
        if rows is not None and not isinstance(rows, slice):
            chosen = places(tuple(rows), queries, "row")
            neighbours = slice(chosen[0], chosen[0] + len(chosen)) if chosen else slice(0)
            if chosen == list(range(queries))[neighbours]:
                chosen = neighbours  # a slice avoids a copy
        exact = self.exact
        q, k = exact.q[:, :, chosen], exact.k[:, :, :keys]
        count = every if keys is None else keys
        # Query heads that share a key head are adjacent, so no key is copied.
        n_heads, groups = q.shape[2], k.shape[1]
        shared = heads // groups * n_heads
        q = q.reshape(batch * groups, shared, q.shape[-1])
        k = k.reshape(batch * groups, count, k.shape[-1]).transpose(1, 2)
        if out is None:
            out = q.new_empty(batch, heads, n_heads, count)
        product = out.view(batch * groups, shared, count)
        torch.baddbmm(product, q, k, beta=0, alpha=self.scale, out=product)
        if self.mask is not None:
            mask = self.mask
            if mask.dim() > 1 and mask.shape[-2] > 1:
                mask = mask[..., chosen, :]
            if mask.shape[-1] > 1:
                mask = mask[..., :keys]
            if mask.dtype == torch.bool:
                out.masked_fill_(~mask, -math.inf)
            else:
                out.add_(mask)
        if self.causal and n_heads:
            row = torch.arange(queries)[chosen]
            # Every chosen query sees all keys up to the position of the earliest chosen query.
            first = min(count, int(row.min()) + 1)
            later = torch.arange(first, count) > row[:, None]
            out[..., first:].masked_fill_(later.to(out.device), -math.inf)
        return out

    def content(self, rows: Sequence[int] | None = None) -> Tensor:
        """Compute scaled query times key without mask or bias, ``(batch, head, query, key)``."""
        with torch.no_grad(), without_autocast(self.q.device.type):
            return replace(self, mask=None, causal=False).logits(rows)

    def batches(self, first: int, end: int) -> LazyAttention:
        """Return the same attention for the sequences ``first`` to ``end - 1`` of the batch."""
        mask = self.mask
        if mask is not None and mask.dim() == 4 and mask.shape[0] > 1:
            mask = mask[first:end]
        lse = None if self.lse is None else self.lse[first:end]
        return replace(self, q=self.q[first:end], k=self.k[first:end], mask=mask, lse=lse)


def without_autocast(device: str) -> AbstractContextManager[object]:
    """Return a context manager that switches autocast off."""
    # Entering autocast takes longer than computing a row, so enter it only if autocast is on.
    if torch.is_autocast_enabled(device):
        return torch.autocast(device, enabled=False)
    return nullcontext()


def shares(logits: Tensor, may_hide: bool) -> Tensor:
    """Apply softmax over the last axis in place.

    Set ``may_hide`` if a whole row can be -inf. Such a row becomes 0, not NaN.
    """
    hidden = logits.amax(-1, keepdim=True) == -math.inf if may_hide else None
    weights = torch.softmax(logits, -1, out=logits)
    if hidden is not None and bool(hidden.any()):
        weights.masked_fill_(hidden, 0.0)
    return weights


_BUFFER_CELLS = 1 << 21
"""The maximum number of logits computed at a time. In float32, 8 MiB of logits fit in a cache."""

_MOST_ROWS = 64
"""In a causal call, computing more queries at a time would waste time on hidden keys."""

_FEW_COLUMNS = 128
"""In longer rows, the search for the largest values starts with groups of columns."""

_LEAST_ROWS = 8
"""The minimum number of queries computed at a time. Smaller matrix products are slow."""


def top_of(source: LazyAttention, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the k largest weights of every row without storing the whole matrix.

    Returns:
        the weights in decreasing order, shape ``(batch, head, query, k)``, the positions of the
        keys (int32, same shape), and the sum of the other weights, shape ``(batch, head, query)``.
        Weights and sums are float32, or float64 if the queries are float64. If all keys of a row
        are hidden, the weights and the sum are 0.
    """
    batch, heads, queries, _ = source.shape
    source = source.exact
    weights = source.q.new_empty(batch, heads, queries, k)
    keys = torch.empty(batch, heads, queries, k, dtype=torch.int32, device=weights.device)
    residual = source.q.new_empty(batch, heads, queries)
    for first, last in _batches(source):
        part = source.batches(first, last)
        for start, end, logits in chunks(part):
            block = (slice(first, last), slice(None), slice(start, end))
            lse = None if part.lse is None else part.lse[:, :, start:end]
            if lse is None:
                shares(logits, source.mask is not None)
            weights[block], keys[block], residual[block] = _top_of_rows(logits, k, lse)
    return weights, keys, residual


def top_of_weights(weights: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the k largest of the given weights in the same form as `top_of`."""
    lead, every = weights.shape[:-1], weights.shape[-1]
    values, keys = largest(weights.reshape(-1, every), k)
    residual = (weights.sum(-1) - values.view(*lead, k).sum(-1)).clamp_min_(0)
    return values.view(*lead, k), keys.view(*lead, k).to(torch.int32), residual


def chunks(source: LazyAttention) -> Iterator[tuple[int, int, Tensor]]:
    """Yield ``(first query, end, logits)`` for successive groups of queries.

    Each group overwrites the logits of the previous group. In a causal call, the logits have no
    columns for keys after the group.
    """
    batch, heads, queries, keys = source.shape
    size = max(_LEAST_ROWS, _BUFFER_CELLS // max(1, batch * heads * keys))
    size = min(size, _MOST_ROWS) if source.causal else size
    buffer = source.q.new_empty(batch * heads * min(size, queries) * keys)
    for start in range(0, queries, size):
        end = min(start + size, queries)
        n_visible = min(keys, end) if source.causal else keys
        shape = (batch, heads, end - start, n_visible)
        out = buffer[: math.prod(shape)].view(shape)
        yield start, end, source.logits(slice(start, end), n_visible, out)


def _batches(source: LazyAttention) -> list[tuple[int, int]]:
    """Split the batch, if necessary, so that `_LEAST_ROWS` queries fit in the buffer."""
    batch, heads, _, keys = source.shape
    size = max(1, _BUFFER_CELLS // max(1, heads * keys * _LEAST_ROWS))
    return [(first, min(first + size, batch)) for first in range(0, batch, size)]


def _top_of_rows(rows: Tensor, k: int, lse: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """``rows`` contains logits if ``lse`` is given, otherwise weights."""
    lead, n_visible = rows.shape[:-1], rows.shape[-1]
    n_kept = min(k, n_visible)
    values, keys = largest(rows.view(-1, n_visible), n_kept)
    values = values.view(*lead, n_kept)
    if lse is not None:
        hidden = values == -math.inf
        values = values.sub_(lse.unsqueeze(-1)).exp_().masked_fill_(hidden, 0.0)
    keys = keys.view(*lead, n_kept)
    total = values.sum(-1)
    residual = torch.where(total > 0, 1 - total, total).clamp_min_(0)
    if n_kept < k:
        # There are fewer than k visible keys: pad the row with hidden keys of weight 0.
        later = torch.arange(n_visible, n_visible + k - n_kept, device=keys.device).expand(
            *lead, -1
        )
        keys = torch.cat([keys, later], -1)
        values = torch.cat([values, values.new_zeros(*lead, k - n_kept)], -1)
    return values, keys, residual


def largest(rows: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k largest values of every row in decreasing order, and their columns.

    This function is faster than ``torch.topk``. Among equal values, the choice is arbitrary.
    """
    places = _largest_places(rows, k)
    values, order = torch.sort(rows.gather(1, places), dim=1, descending=True)
    return values, places.gather(1, order)


def _largest_places(rows: Tensor, k: int) -> Tensor:
    """Return the columns of the k largest values of every row, unsorted.

    The k groups with the largest maxima contain the k largest values of all groups.
    """
    count, columns = rows.shape
    few = max(_FEW_COLUMNS, 4 * k)
    if columns <= few:
        return _partitioned(rows, k)
    size = -(-columns // few)
    groups = columns // size
    # Group g contains columns g, g + groups, g + 2 * groups, ...
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
    # On short rows, numpy's argpartition is two to four times as fast as torch.topk.
    places = np.argpartition(rows.numpy(), columns - k, -1)[:, columns - k :]
    return torch.from_numpy(np.ascontiguousarray(places))
