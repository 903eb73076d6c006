"""Relations between past balls and the current ball, and attention with relation biases.

Hidden balls have no effect on the relations of other balls. With learnt biases ``B``, the logits
are ``logits[h, i, j] = q_i · (k_j + p_{i-j}) / √d_k + Σ_r B[h, r] · relation_r(i, j)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import torch
from torch import Tensor, nn

from attnlens.recording.probe import AttentionProbe, step
from attnlens.reference.attention import hidden_softmax, join_heads, split_heads

RELATIONS: Final[tuple[str, ...]] = (
    "recency",
    "same_bowler",
    "same_batsman",
    "same_over",
    "over_boundary",
    "wicket_adjacent",
    "boundary_cluster",
    "boundary",
    "same_matchup",
    "same_stand",
)
"""The names of the relations, in the order of every relation axis."""

RECENCY: Final = RELATIONS.index("recency")

MIN_WEIGHT: Final = 1e-9
"""The minimum weight of the null key, which keeps the logarithm finite."""

_CLUSTER_REACH: Final = 3
"""The largest distance between neighbours in a cluster of boundaries, in balls."""


Batch: TypeAlias = dict[str, Any]
"""The predictor's input, or a part of it: a nested dict of tensors and `Balls`."""


@dataclass(frozen=True, slots=True, eq=False)
class Balls:
    """A sequence of balls. Every field has the shape ``(batch, ball)``.

    ``ball_in_over`` counts from 1. Players are numbered. Only past balls need the last three
    fields. ``last_in_over`` is true if the next delivery belongs to another over.
    """

    index: Tensor
    over: Tensor
    ball_in_over: Tensor
    batter: Tensor
    non_striker: Tensor
    bowler: Tensor
    wicket: Tensor | None = None
    boundary: Tensor | None = None
    last_in_over: Tensor | None = None


def mapped(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """Apply ``change`` to every tensor in nested dicts, tuples and `Balls`."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, Mapping):
        return {name: mapped(member, change) for name, member in value.items()}
    if isinstance(value, tuple):
        return tuple(mapped(member, change) for member in value)
    if isinstance(value, Balls):
        members = {name: getattr(value, name) for name in Balls.__slots__}
        return Balls(**{name: mapped(member, change) for name, member in members.items()})
    return value


def take(value: Any, rows: slice | list[int]) -> Any:
    """Select ``rows`` on the second axis of every tensor in a nested structure."""
    return mapped(value, lambda tensor: tensor[:, rows])


def neighbours(flags: Tensor, reach: int) -> Tensor:
    """Return whether a neighbour within ``reach`` balls is flagged, shape ``(..., ball)``."""
    result = torch.zeros_like(flags)
    for distance in range(1, reach + 1):
        result[..., distance:] |= flags[..., :-distance]
        result[..., :-distance] |= flags[..., distance:]
    return result


def relate(query: Balls, key: Balls, visible: Tensor) -> Tensor:
    """Return the relations of each key to each query, shape ``(batch, query, key, relation)``.

    Recency is the negative distance in deliveries. Other relations are 0 or 1. All relations are 0
    where the mask ``visible``, shape ``(batch, query, key)``, is false.
    """
    if key.wicket is None or key.boundary is None or key.last_in_over is None:
        raise ValueError("the key balls need the fields wicket, boundary and last_in_over")

    def same(name: str) -> Tensor:
        return getattr(query, name)[:, :, None] == getattr(key, name)[:, None, :]  # type: ignore[no-any-return]  # tensors compare to tensors

    same_bowler, same_batsman = same("bowler"), same("batter")
    crossed = query.batter[:, :, None] == key.non_striker[:, None, :]
    crossed = crossed & (query.non_striker[:, :, None] == key.batter[:, None, :])
    same_stand = crossed | (same_batsman & same("non_striker"))
    wicket = visible & key.wicket[:, None, :]
    boundary = visible & key.boundary[:, None, :]
    edge = ((key.ball_in_over == 1) | key.last_in_over)[:, None, :]
    columns = (
        (key.index[:, None, :] - query.index[:, :, None]) * visible,
        same_bowler & visible,
        same_batsman & visible,
        same("over") & visible,
        edge & visible,
        (wicket | neighbours(wicket, 1)) & visible,
        boundary & neighbours(boundary, _CLUSTER_REACH),
        boundary,
        same_bowler & same_batsman & visible,
        same_stand & visible,
    )
    # Each relation's table is contiguous in memory, so later operations read memory in order.
    table = torch.empty(
        len(visible), len(columns), *visible.shape[1:], dtype=torch.float32, device=visible.device
    )
    for number, column in enumerate(columns):
        table[:, number] = column
    return table.movedim(1, -1)


def relate_overs(table: Tensor, visible: Tensor, membership: Tensor, query_over: Tensor) -> Tensor:
    """Return the relations of each over to each query, shape ``(batch, query, over, relation)``.

    Recency is the negative distance in overs. Other relations are shares of the over's visible
    balls.

    Args:
        table: the result of `relate`.
        membership: the over of each past ball, one-hot, shape ``(batch, key, over)``.
        query_over: the over of each query, shape ``(batch, query)``.
    """
    counted = (table.movedim(-1, 1) @ membership[:, None]).movedim(1, -1)
    balls = torch.einsum("bqk,bko->bqo", visible.to(table.dtype), membership)
    shares = counted / balls.clamp(min=1)[..., None]
    overs = torch.arange(membership.shape[-1], device=table.device)
    distance = (overs - query_over[..., None]).to(table.dtype) * (balls > 0)
    return torch.cat([distance[..., None], shares[..., 1:]], -1)


def visible_overs(
    balls: Balls, visible: Tensor, overs: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Find the distinct sets of visible balls in an over, across all queries.

    Returns:
        Four tensors. The first three describe each set: the row in the batch, shape ``(set,)``, the
        key in each slot, and whether the key is visible, both with shape ``(set, slot)``. A slot is
        a delivery's position in the over. The last tensor is the set number of each over and query,
        shape ``(batch * query * over,)``.
    """
    batch, queries, keys = visible.shape
    device = visible.device
    slots = int(balls.ball_in_over.max())
    slot = balls.ball_in_over - 1
    over_index = torch.where((balls.over < overs) & (balls.over >= 0), balls.over, overs)
    # Keys that belong to no over are collected in an extra over, which is then removed.
    flat = torch.zeros(batch, overs + 1, slots, dtype=torch.long, device=device)
    row = torch.arange(batch, device=device)[:, None].expand(batch, keys)
    key_number = torch.arange(keys, device=device).expand(batch, keys)
    flat[row, over_index, slot] = key_number
    present = torch.zeros(batch, queries, overs + 1, slots, dtype=torch.bool, device=device)
    every = torch.arange(queries, device=device)
    present[row[:, None], every[None, :, None], over_index[:, None], slot[:, None]] = visible
    flat, present = flat[:, :overs], present[:, :, :overs]
    where = torch.arange(batch, device=device)[:, None, None] * overs
    where = (where + torch.arange(overs, device=device)).expand(present.shape[:3])
    present = present.flatten(0, 2)
    codes = back = where = where.flatten()
    for bits in torch.split(present, 32, 1):  # 32 slots and the set number fit into 64 bits
        code = (bits.long() << torch.arange(bits.shape[1], device=device)).sum(-1)
        codes, back = torch.unique((back << 32) + code, return_inverse=True)
    example = torch.empty_like(codes)
    example[back] = torch.arange(len(back), device=device)
    flat_over = where[example]
    return flat_over // overs, flat[flat_over // overs, flat_over % overs], present[example], back


STARTING_PATTERNS: Final[tuple[str, ...]] = ("recency", "same_bowler", "same_batsman")
"""The relations that heads 0, 1 and 2 favour when training starts. Other biases start at zero."""

WINDOWS: Final[dict[str, int]] = {"last_12": 12, "last_24": 24}
"""The restrictions by distance, each with the largest visible distance in balls."""


def starting_table(heads: int) -> Tensor:
    """Return the initial biases, shape ``(heads, relations)``."""
    table = torch.zeros(heads, len(RELATIONS))
    for head, pattern in enumerate(STARTING_PATTERNS[:heads]):
        table[head, RELATIONS.index(pattern)] = 0.1 if pattern == "recency" else 2.0
    return table


def restriction(relations: Tensor, name: str | None) -> Tensor:
    """Return a mask of the keys that a restricted head may see, shape ``(batch, query, key)``.

    Args:
        relations: the result of `relate`, shape ``(batch, query, key, relation)``.
        name: a relation, a name in `WINDOWS`, or ``None`` for no restriction.
    """
    if name is None:
        return torch.ones_like(relations[..., 0], dtype=torch.bool)
    if name in WINDOWS:
        return relations[..., RECENCY] >= -WINDOWS[name]
    return relations[..., RELATIONS.index(name)] > 0


class RelationAttention(nn.Module):
    """Multi-head attention with a learnable bias for each head and relation.

    Args:
        hidden_dim: the width of queries, keys and output.
        reach: the number of distances that have a position vector.
        own: whether a query may attend to itself; the query is then an additional last key.
        head_dim: the width of each head; by default ``max(1, hidden_dim // num_heads)``.
        null: the initial logit of the *null key*, an additional last key with a learnable logit.
            Heads with a null key are called counting heads. They have no values. Their output is
            the negative logarithm of the null key's weight. If the logits of n balls are 0, this
            weight is ``1 / (1 + n e^-null)``. Hiding a ball of weight w changes the output by
            ``log(1 - w)``.
        only: each head's restriction: a relation, a name in `WINDOWS`, or ``None``. Heads without
            an entry are not restricted.
    """

    def __init__(
        self,
        hidden_dim: int,
        num_heads: int,
        *,
        reach: int = 0,
        own: bool = True,
        head_dim: int | None = None,
        null: float | None = None,
        only: Sequence[str | None] = (),
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.own = own and null is None
        self.only = (*only, *[None] * num_heads)[:num_heads]
        self.head_dim = head_dim or max(1, hidden_dim // num_heads)
        width = num_heads * self.head_dim
        self.to_query = nn.Linear(hidden_dim, width, bias=False)
        self.to_key = nn.Linear(hidden_dim, width, bias=False)
        self.to_value = nn.Linear(hidden_dim, width, bias=False) if null is None else None
        self.to_output = nn.Linear(width if null is None else num_heads, hidden_dim, bias=False)
        self.bias = nn.Parameter(starting_table(num_heads))
        self.position = nn.Parameter(torch.zeros(num_heads, reach, self.head_dim))
        self.null = None if null is None else nn.Parameter(torch.full((num_heads,), null))
        if null is not None:
            nn.init.zeros_(self.bias)
        self.probe = AttentionProbe()

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        relations: Tensor,
        hidden: Tensor,
        distance: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the output and the attention weights.

        Args:
            query: shape ``(batch, query, hidden_dim)``.
            key: the past balls, shape ``(batch, key, hidden_dim)``.
            relations: shape ``(batch, query, key, relation)``.
            hidden: true for hidden keys; broadcastable to ``(batch, head, query, key)``.
            distance: the distance to each key, shape ``(batch, query, key)``. The previous ball has
                distance 1.

        Returns:
            The output, shape ``(batch, query, hidden_dim)``, and the weights, shape
            ``(batch, head, query, key)``. The weights include the additional last key, if there is
            one.
        """
        heads = self.num_heads
        q = step("Q", split_heads(self.to_query(query), heads), "queries")
        k = step("K", split_heads(self.to_key(key), heads), "keys")
        v = None
        if self.to_value is not None:
            v = step("V", split_heads(self.to_value(key), heads), "values")
        q = q * q.shape[-1] ** -0.5
        content = q @ k.transpose(-1, -2)
        if distance is not None and self.position.shape[1]:
            by_distance = torch.einsum("bhqd,hpd->bhqp", q, self.position)
            position = (distance - 1).clamp(0, self.position.shape[1] - 1)[:, None]
            content = content + by_distance.gather(-1, position.expand(-1, heads, -1, -1))
        # This is content + relations @ bias.T, computed in one pass over memory.
        table = self.bias.expand(len(relations), -1, -1)
        columns = relations.movedim(-1, 1).flatten(2)
        logits = torch.baddbmm(content.flatten(2), table, columns).view(content.shape)
        bias = torch.bmm(table, columns).view(content.shape) if self.probe.watched else logits
        logits = step("S", logits, "logits")
        if any(self.only):
            out = [~restriction(relations, name) for name in self.only]
            hidden = hidden | torch.stack(out, 1)
        last = self._last_key(q, query)
        if last is None:
            weights = hidden_softmax(logits, hidden)
            weights = self.probe(weights, content, bias)
        else:
            # The last key is never hidden, so every row has at least one visible key.
            weights = torch.cat([logits.masked_fill_(hidden, -math.inf), last], -1).softmax(-1)
            if self.probe.watched:
                nothing = torch.zeros_like(last)
                built_in = self.null is not None
                weights = self.probe(
                    weights,
                    torch.cat([content, nothing if built_in else last], -1),
                    torch.cat([bias, last if built_in else nothing], -1),
                )
        weights = step("A", weights, "attention weights, with an extra last key")
        if v is None or self.to_value is None:
            return self.to_output(join_heads(counted(weights))), weights
        attended = weights[..., : v.shape[-2]] @ v
        if self.own:
            attended = attended + weights[..., -1:] * self._own(self.to_value, query)
        return self.to_output(join_heads(attended)), weights

    def _last_key(self, q: Tensor, query: Tensor) -> Tensor | None:
        """The last key's logits, shape ``(batch, head, query, 1)``."""
        if self.null is not None:
            return self.null[:, None, None].expand(*q.shape[:-1], 1)
        if not self.own:
            return None
        own = (q * self._own(self.to_key, query)).sum(-1, keepdim=True)
        return step("s", own, "logits of the query's own key")

    def _own(self, project: nn.Linear, query: Tensor) -> Tensor:
        return split_heads(project(query), self.num_heads)


def counted(weights: Tensor) -> Tensor:
    """Return the output of counting heads, shape ``(..., 1)``. The last key is the null key."""
    return -weights[..., -1:].clamp(min=MIN_WEIGHT).log()


def feed_forward(hidden_dim: int, dropout: float) -> nn.Sequential:
    """Return a feed-forward network of two layers, with ``2 * hidden_dim`` hidden units."""
    first, second = nn.Linear(hidden_dim, 2 * hidden_dim), nn.Linear(2 * hidden_dim, hidden_dim)
    return nn.Sequential(first, nn.GELU(), nn.Dropout(dropout), second)


class RelationBlock(nn.Module):
    """An attention layer and a feed-forward network, both pre-norm and with residual connections.

    A block with ``null`` has only the attention layer, without a residual connection.
    """

    def __init__(
        self,
        hidden_dim: int,
        num_heads: int,
        *,
        dropout: float = 0.0,
        **attention: Any,
    ) -> None:
        super().__init__()
        self.query_norm = nn.LayerNorm(hidden_dim)
        self.attention = RelationAttention(hidden_dim, num_heads, **attention)
        self.counts = self.attention.null is not None
        if not self.counts:
            self.feed_norm = nn.LayerNorm(hidden_dim)
            self.feed = feed_forward(hidden_dim, dropout)
            self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        relations: Tensor,
        hidden: Tensor,
        distance: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Apply the block. See `RelationAttention.forward`."""
        attended, weights = self.attention(
            self.query_norm(query), self.query_norm(key), relations, hidden, distance
        )
        if self.counts:
            return attended, weights
        value = step("h_1", query + self.dropout(attended), "after attention")
        fed = value + self.dropout(self.feed(self.feed_norm(value)))
        return step("h_2", fed, "after the feed-forward network"), weights
