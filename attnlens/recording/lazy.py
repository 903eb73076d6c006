"""Attention kept as queries and keys, from which any row can be worked out later."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attnlens.recording.axes import places


@dataclass(frozen=True, slots=True, eq=False)
class LazyAttention:
    """What one attention call was given; its weights are worked out when asked for.

    A row costs one pass over the keys, a whole matrix is never formed unless asked for.

    Attributes:
        q: queries, ``(batch, head, query, d)``.
        k: keys, ``(batch, key head, key, d)``; ``head`` is a multiple of ``key head``.
        scale: what query times key is multiplied by.
        mask: boolean (true: the key is seen) or float (added to the logits), broadcastable
            to ``(batch, head, query, key)``.
        causal: whether query i sees keys 0 to i only.
        lse: log-sum-exp of every row of logits, ``(batch, head, query)``, where the kernel told
            it; one cell is then ``exp(q · k · scale + mask - lse)``.
    """

    q: Tensor
    k: Tensor
    scale: float
    mask: Tensor | None = None
    causal: bool = False
    lse: Tensor | None = None

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """``(batch, head, query, key)`` of the weights."""
        batch, heads, queries, _ = self.q.shape
        return batch, heads, queries, self.k.shape[2]

    @property
    def exact(self) -> LazyAttention:
        """The same in the precision weights are worked out in: float32, float64 if given so."""
        dtype = torch.float64 if self.q.dtype == torch.float64 else torch.float32
        if self.q.dtype == self.k.dtype == dtype:
            return self
        return replace(self, q=self.q.to(dtype), k=self.k.to(dtype))

    def shuffled(self, generator: torch.Generator) -> LazyAttention:
        """The same with the keys' features in another order than the queries': a placebo."""
        order = torch.randperm(self.k.shape[-1], generator=generator).to(self.k.device)
        return replace(self, k=self.k[..., order], lse=None)

    def weights(self, rows: Sequence[int] | slice | None = None) -> Tensor:
        """The weights of the chosen queries (all of them if None).

        Returns:
            ``(batch, head, query, key)`` in float32, or float64 if the queries are. Each row
            sums to 1, or is all 0 when every key is hidden.

        Raises:
            RecordingError: a query that is not there.
        """
        with torch.no_grad(), without_autocast(self.q.device.type):
            return shares(self.logits(rows), self.mask is not None)

    def logits(
        self,
        rows: Sequence[int] | slice | None = None,
        keys: int | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """Query times key, scaled, mask added; hidden is -inf.

        Args:
            rows: the queries to work out; a slice of them is not copied first.
            keys: only the first so many keys.
            out: a buffer to write to, contiguous, of the shape returned.

        Returns:
            ``(batch, head, query, key)``.
        """
        batch, heads, queries, every = self.shape
        chosen: slice | list[int] | None = rows if isinstance(rows, slice) else None
        if rows is not None and not isinstance(rows, slice):
            chosen = _as_slice(places(tuple(rows), queries, "row"))
        exact = self.exact
        q = exact.q if chosen is None else exact.q[:, :, chosen]
        count = every if keys is None else keys
        k = exact.k if keys is None else exact.k[:, :, :keys]
        # Query heads that share a key head stand side by side, so no key is copied.
        asked, groups = q.shape[2], k.shape[1]
        shared = heads // groups * asked
        q = q.reshape(batch * groups, shared, q.shape[-1])
        k = k.reshape(batch * groups, count, k.shape[-1]).transpose(1, 2)
        if out is None:
            out = q.new_empty(batch, heads, asked, count)
        product = out.view(batch * groups, shared, count)
        torch.baddbmm(product, q, k, beta=0, alpha=self.scale, out=product)
        if self.mask is not None:
            mask = self.mask
            if chosen is not None and mask.dim() > 1 and mask.shape[-2] > 1:
                mask = mask[..., chosen, :]
            if keys is not None and mask.shape[-1] > 1:
                mask = mask[..., :keys]
            if mask.dtype == torch.bool:
                out.masked_fill_(~mask, -math.inf)
            else:
                out.add_(mask)
        if self.causal and asked:
            row = torch.arange(queries)
            row = row if chosen is None else row[chosen]
            # Keys up to the first of these queries are seen by all of them.
            first = min(count, int(row.min()) + 1)
            later = torch.arange(first, count) > row[:, None]
            out[..., first:].masked_fill_(later.to(out.device), -math.inf)
        return out

    def content(self, rows: Sequence[int] | None = None) -> Tensor:
        """Query times key, scaled, nothing added or hidden: ``(batch, head, query, key)``."""
        with torch.no_grad(), without_autocast(self.q.device.type):
            return replace(self, mask=None, causal=False).logits(rows)

    def batches(self, first: int, end: int) -> LazyAttention:
        """The same for some of the batch."""
        mask = self.mask
        if mask is not None and mask.dim() == 4 and mask.shape[0] > 1:
            mask = mask[first:end]
        lse = None if self.lse is None else self.lse[first:end]
        return replace(self, q=self.q[first:end], k=self.k[first:end], mask=mask, lse=lse)


def without_autocast(device: str) -> AbstractContextManager[object]:
    """A block in which tensors keep their precision."""
    # Entering autocast takes longer than a row of attention: only where it is on.
    if torch.is_autocast_enabled(device):
        return torch.autocast(device, enabled=False)
    return nullcontext()


def _as_slice(rows: list[int]) -> list[int] | slice:
    """Neighbouring rows as a slice, which copies nothing."""
    if rows and rows == list(range(rows[0], rows[0] + len(rows))):
        return slice(rows[0], rows[0] + len(rows))
    return rows


def shares(logits: Tensor, may_hide: bool) -> Tensor:
    """Softmax over the last axis, in place; a row without a finite logit becomes all 0.

    Args:
        may_hide: whether such rows can be; softmax makes NaN of them.
    """
    hidden = logits.amax(-1, keepdim=True) == -math.inf if may_hide else None
    weights = torch.softmax(logits, -1, out=logits)
    if hidden is not None and bool(hidden.any()):
        weights.masked_fill_(hidden, 0.0)
    return weights
