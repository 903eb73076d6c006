"""Attention kept as queries and keys, from which any row can be worked out later."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attnlens.errors import RecordingError


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

    def row(self, query: int, head: int | None = None) -> Tensor:
        """The weights of one query: ``(batch, head, key)``, or ``(batch, key)`` of one head.

        Raises:
            RecordingError: no such query or head.
        """
        chosen = self.weights([query])[:, :, 0]
        if head is None:
            return chosen
        heads = self.q.shape[1]
        if not -heads <= head < heads:
            raise RecordingError(f"no head {head}; there are {heads} (0 to {heads - 1})")
        return chosen[:, head]

    def weights(self, rows: Sequence[int] | None = None) -> Tensor:
        """The weights of the chosen queries (all of them if None).

        Returns:
            ``(batch, head, query, key)`` in float32, or float64 if the queries are. Each row
            sums to 1, or is all 0 when every key is hidden.

        Raises:
            RecordingError: a query that is not there.
        """
        with torch.no_grad(), torch.autocast(self.q.device.type, enabled=False):
            logits = self.logits(rows)
            weights = torch.softmax(logits, -1)
            if self.mask is not None:
                # A row without any seen key has no finite logit, and softmax makes NaN of it.
                weights.masked_fill_((logits == -math.inf).all(-1, keepdim=True), 0.0)
            return weights

    def logits(self, rows: Sequence[int] | None = None) -> Tensor:
        """Query times key, scaled, mask added: ``(batch, head, query, key)``; hidden is -inf."""
        batch, heads, queries, keys = self.shape
        chosen = chosen_rows(rows, queries)
        kept = self.q if chosen is None else self.q[:, :, chosen]
        exact = torch.float64 if self.q.dtype == torch.float64 else torch.float32
        k = self.k.to(exact)
        # Query heads that share a key head stand side by side, so no key is copied.
        grouped = kept.to(exact).reshape(batch, k.shape[1], -1, kept.shape[-1])
        logits = torch.matmul(grouped, k.transpose(-1, -2)).mul_(self.scale)
        logits = logits.reshape(batch, heads, kept.shape[2], keys)
        if self.mask is not None:
            mask = self.mask
            if chosen is not None and mask.dim() > 1 and mask.shape[-2] > 1:
                mask = mask[..., chosen, :]
            if mask.dtype == torch.bool:
                logits.masked_fill_(~mask, -math.inf)
            else:
                logits.add_(mask)
        if self.causal:
            places = torch.arange(queries, device=logits.device)
            places = places if chosen is None else places[chosen]
            later = torch.arange(keys, device=logits.device) > places[:, None]
            logits.masked_fill_(later, -math.inf)
        return logits


def chosen_rows(rows: Sequence[int] | None, queries: int, site: str = "") -> list[int] | None:
    """Rows as counted from 0; -1 is the last query.

    Raises:
        RecordingError: a row that is not there.
    """
    if rows is None:
        return None
    place = f"{site}: " if site else ""
    for row in rows:
        if not -queries <= row < queries:
            raise RecordingError(
                f"{place}row {row} is out of range; there are {queries} queries "
                f"(0 to {queries - 1}, or -1 for the last)"
            )
    return [row % queries for row in rows]
