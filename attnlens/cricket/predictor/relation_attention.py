"""Attention whose logits know how a past ball stands to the current one.

    logits[h, i, j] = q_i · (k_j + p_{i-j}) / √d_k + Σ_r B[h, r] · relation_r(i, j)

with ``B`` the head-by-relation table of biases. Queries are the current balls, keys are
the balls before them, and every query may also look at itself: the option "nothing in the
past matters".
"""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor, nn

from attnlens.cricket.predictor.relations import RELATIONS
from attnlens.recording.probe import AttentionProbe, step
from attnlens.reference.attention import hidden_softmax, join_heads, split_heads

STARTING_PATTERNS: Final[tuple[str, ...]] = ("recency", "same_bowler", "same_batsman")
"""What heads 0, 1 and 2 start as; further heads start free."""


RECENCY_START: Final = 0.1
SAME_PLAYER_START: Final = 2.0


def starting_table(heads: int) -> Tensor:
    """The bias table ``(heads, relations)`` that training starts from."""
    table = torch.zeros(heads, len(RELATIONS))
    for head, pattern in enumerate(STARTING_PATTERNS[:heads]):
        start = RECENCY_START if pattern == "recency" else SAME_PLAYER_START
        table[head, RELATIONS.index(pattern)] = start
    return table


class RelationAttention(nn.Module):
    """Multi-head attention with a learnable head-by-relation table of biases.

    Args:
        hidden_dim: width of queries, keys and output.
        num_heads: heads; each has ``max(1, hidden_dim // num_heads)`` columns.
        reach: how many distances have a position vector of their own (0: none).
        own: whether a query may look at itself, as the last key.
        head_dim: columns per head, where the default does not suit.
        project: whether the heads' outputs are mixed into ``hidden_dim``.
        null: where given, each head may also look at nothing: a last key with this logit
            (learnable) and a value of zero. A head that looks evenly at n balls then gives
            them n / (n + e^null) of its attention: the shrinkage of an empirical-Bayes mean.
        strict: whether heads 1 and 2 see only the keys that their pattern names: those of
            the same bowler, those of the same batsman.
    """

    def __init__(
        self,
        hidden_dim: int,
        num_heads: int,
        *,
        reach: int = 0,
        own: bool = True,
        head_dim: int | None = None,
        project: bool = True,
        null: float | None = None,
        strict: bool = False,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.own = own
        self.strict = strict
        width = num_heads * (head_dim or max(1, hidden_dim // num_heads))
        self.to_query = nn.Linear(hidden_dim, width, bias=False)
        self.to_key = nn.Linear(hidden_dim, width, bias=False)
        self.to_value = nn.Linear(hidden_dim, width, bias=False)
        self.to_output = nn.Linear(width, hidden_dim, bias=False) if project else nn.Identity()
        self.bias = nn.Parameter(starting_table(num_heads))
        self.position = nn.Parameter(torch.zeros(num_heads, reach, width // num_heads))
        self.null = None if null is None else nn.Parameter(torch.full((num_heads,), null))
        self.probe = AttentionProbe()

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        relations: Tensor,
        hidden: Tensor,
        distance: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Attend.

        Args:
            query: ``(batch, query, hidden_dim)``.
            key: ``(batch, key, hidden_dim)``, the past only.
            relations: ``(batch, query, key, relation)``.
            hidden: boolean, broadcastable to ``(batch, head, query, key)``.
            distance: how far back each key lies, from 1, ``(batch, query, key)``;
                needed where there are position vectors.

        Returns:
            the output ``(batch, query, hidden_dim)`` and the weights
            ``(batch, head, query, key)``, with one more key at the end, the query
            itself, where ``own`` is set.
        """
        heads = self.num_heads
        q, k, v = (
            split_heads(project(source), heads)
            for project, source in (
                (self.to_query, query),
                (self.to_key, key),
                (self.to_value, key),
            )
        )
        q, k, v = step("Q", q, "queries"), step("K", k, "keys"), step("V", v, "values")
        q = q * q.shape[-1] ** -0.5
        content = q @ k.transpose(-1, -2)
        if distance is not None and self.position.shape[1]:
            by_distance = torch.einsum("bhqd,hpd->bhqp", q, self.position)
            place = (distance - 1).clamp(0, self.position.shape[1] - 1)[:, None]
            content = content + by_distance.gather(-1, place.expand(-1, heads, -1, -1))
        # The same as content + relations @ bias.T, with the heads in front as they are needed, in
        # one pass over memory: there are as many logits as pairs of balls.
        table = self.bias.expand(len(relations), -1, -1)
        columns = relations.movedim(-1, 1).flatten(2)
        logits = torch.baddbmm(content.flatten(2), table, columns).view(content.shape)
        bias = torch.bmm(table, columns).view(content.shape) if self.probe.watched else logits
        logits = step("S", logits, "logits")
        if self.strict:
            hidden = hidden | self._out_of_pattern(relations)
        rest = self._rest(q, query)
        if rest is None:
            weights = hidden_softmax(logits, hidden)
            weights = self.probe(weights, content, bias)
            weights = step("A", weights, "attention")
            mixed = weights @ v
            return self.to_output(join_heads(mixed)), weights
        # The last key is never hidden, so no row is without a key.
        last, own_value = rest
        weights = torch.cat([logits.masked_fill_(hidden, -math.inf), last], -1).softmax(-1)
        if self.probe.watched:
            nothing = torch.zeros_like(last)
            built_in = self.null is not None
            weights = self.probe(
                weights,
                torch.cat([content, nothing if built_in else last], -1),
                torch.cat([bias, last if built_in else nothing], -1),
            )
        weights = step("A", weights, "attention, the last key being no past ball")
        mixed = weights[..., :-1] @ v
        if own_value is not None:
            mixed = mixed + weights[..., -1:] * own_value
        return self.to_output(join_heads(mixed)), weights

    def _out_of_pattern(self, relations: Tensor) -> Tensor:
        """Keys that are not of a head's pattern, ``(batch, head, query, key)``; of others none."""
        named = STARTING_PATTERNS[1 : self.num_heads]
        own = [relations[..., RELATIONS.index(pattern)] <= 0 for pattern in named]
        none = torch.zeros_like(relations[..., 0], dtype=torch.bool)
        return torch.stack([none, *own, *[none] * (self.num_heads - 1 - len(own))], 1)

    def _rest(self, q: Tensor, query: Tensor) -> tuple[Tensor, Tensor | None] | None:
        """Logit ``(batch, head, query, 1)`` and value of the key that is no past ball."""
        if self.own:
            own_key = split_heads(self.to_key(query), self.num_heads)
            own_value = split_heads(self.to_value(query), self.num_heads)
            own = (q * own_key).sum(-1, keepdim=True)
            return step("s", own, "logits of the ball itself"), own_value
        if self.null is not None:
            return self.null[:, None, None].expand(*q.shape[:-1], 1), None
        return None


class RelationBlock(nn.Module):
    """Attention, then a feed-forward layer, each added to what came in (pre-norm)."""

    def __init__(
        self,
        hidden_dim: int,
        num_heads: int,
        *,
        reach: int = 0,
        dropout: float = 0.0,
        strict: bool = False,
    ) -> None:
        super().__init__()
        self.query_norm = nn.LayerNorm(hidden_dim)
        self.attention = RelationAttention(hidden_dim, num_heads, reach=reach, strict=strict)
        self.feed_norm = nn.LayerNorm(hidden_dim)
        self.feed = nn.Sequential(
            nn.Linear(hidden_dim, 2 * hidden_dim),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(2 * hidden_dim, hidden_dim),
        )
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        relations: Tensor,
        hidden: Tensor,
        distance: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """As `RelationAttention`; ``query`` and ``key`` are normalised here."""
        mixed, weights = self.attention(
            self.query_norm(query), self.query_norm(key), relations, hidden, distance
        )
        value = step("h_1", query + self.dropout(mixed), "after attention")
        fed = value + self.dropout(self.feed(self.feed_norm(value)))
        return step("h_2", fed, "after the feed-forward network"), weights
