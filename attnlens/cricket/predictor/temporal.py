"""The predictor's two encoders: one for the current ball, and one for past balls.

The first encoder reads nodes in layers, from the top down. The nodes contain the facts that are
known before the ball. The second encoder reads past balls at five scales. The heads of four scales
have built-in biases. Each head of the scale ``whole`` has one restriction on the past balls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import torch
from torch import Tensor, nn

from attnlens.cricket.predictor.relations import (
    RECENCY,
    RELATIONS,
    STARTING_PATTERNS,
    Balls,
    RelationAttention,
    RelationBlock,
    feed_forward,
    relate_overs,
    visible_overs,
)
from attnlens.cricket.predictor.scales import SCALES, WINDOWED
from attnlens.recording.probe import AttentionProbe, step
from attnlens.reference.attention import hidden_softmax, unflattened


class LayerAttention(nn.Module):
    """One layer of the ball graph. The layer above attends to the nodes of this layer."""

    def __init__(self, hidden_dim: int, nodes: tuple[str, ...], dropout: float) -> None:
        super().__init__()
        self.nodes = nodes
        self.question = nn.Parameter(torch.randn(hidden_dim) * hidden_dim**-0.5)
        self.from_above = nn.Linear(hidden_dim, hidden_dim, bias=False)
        self.to_key = nn.Linear(hidden_dim, hidden_dim, bias=False)
        self.to_value = nn.Linear(hidden_dim, hidden_dim, bias=False)
        self.norm = nn.LayerNorm(hidden_dim)
        self.feed = feed_forward(hidden_dim, dropout)
        self.probe = AttentionProbe(("batch", "query", "node"))

    def forward(self, nodes: Tensor, above: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return the layer's output and the attention weights of the nodes.

        Args:
            nodes: shape ``(..., node, hidden_dim)``.
            above: the output of the layer above, shape ``(..., hidden_dim)``.
            hidden: whether each node is hidden, shape ``(node,)``.
        """
        nodes = step("X", nodes, "the layer's nodes")
        query = step("q", self.question + self.from_above(above), "the query of the layer")
        # (W n) · q = n · (Wᵀ q) needs one product with W per ball instead of one per node.
        scores = query @ self.to_key.weight
        # A sum of elementwise products is faster here than matrix products with few rows.
        logits = (nodes * scores[..., None, :]).sum(-1) * query.shape[-1] ** -0.5
        weights = step("a", self.probe(hidden_softmax(logits, hidden)), "attention to nodes")
        answer = self.to_value((weights[..., None] * nodes).sum(-2)) + above
        answer = step("z", answer, "nodes, mixed by attention")
        return step("c", answer + self.feed(self.norm(answer)), "the layer's answer"), weights


class WithinBallEncoder(nn.Module):
    """An encoder of one ball. ``graph`` has the number of features of each node of each layer."""

    def __init__(
        self,
        graph: Mapping[str, Mapping[str, int]],
        hidden_dim: int,
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.graph = {layer: tuple(nodes) for layer, nodes in graph.items()}
        sizes = {name: size for nodes in graph.values() for name, size in nodes.items()}
        self.features = nn.ModuleDict(
            {name: nn.Linear(size, hidden_dim) for name, size in sizes.items()}
        )
        self.names = nn.ParameterDict(
            {name: nn.Parameter(torch.randn(hidden_dim) * 0.1) for name in sizes}
        )
        self.unknown = nn.ParameterDict(
            {name: nn.Parameter(torch.zeros(hidden_dim)) for name in sizes}
        )
        self.node_norm = nn.LayerNorm(hidden_dim)
        self.layers = nn.ModuleDict(
            {
                layer: LayerAttention(hidden_dim, nodes, dropout)
                for layer, nodes in self.graph.items()
            }
        )
        self.layer_norm = nn.LayerNorm(hidden_dim)
        self.layer_score = nn.Linear(hidden_dim, 1)
        self.layer_probe = AttentionProbe(("batch", "query", "layer"))

    def node(self, name: str, features: Tensor, is_known: Tensor | None = None) -> Tensor:
        """Return a node's vector, shape ``(..., hidden_dim)``.

        The shape of ``features`` is ``(..., size)``. Where ``is_known`` is false, the result is the
        learnt vector for "unknown".
        """
        value: Tensor = self.features[name](features)
        if is_known is not None:
            value = torch.where(is_known[..., None], value, self.unknown[name])
        return value

    def forward(self, nodes: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the ball's vector, shape ``(..., hidden_dim)``, and the attention weights.

        The weights of a layer's nodes have the shape ``(..., node)``. The entry ``layers`` has the
        layers' weights, shape ``(..., layer)``. A layer without any of ``nodes`` has weight 0.
        """
        empty = torch.zeros_like(next(iter(nodes.values())))
        above, rows, weights, absent = empty, [], {}, []
        for layer, names in self.graph.items():
            present = [name in nodes for name in names]
            absent.append(not any(present))
            if absent[-1]:
                rows.append(empty)
                weights[layer] = empty.new_zeros(*empty.shape[:-1], len(names))
                continue
            stacked = torch.stack([nodes.get(name, empty) for name in names], -2)
            node_names = torch.stack([self.names[name] for name in names])
            hidden = ~torch.tensor(present, device=empty.device)
            above, weights[layer] = self.layers[layer](
                self.node_norm(stacked) + node_names, above, hidden
            )
            rows.append(self.layer_norm(above))
        table = step("T", torch.stack(rows, -2), "the layers' answers")
        scores = self.layer_score(table)[..., 0]
        is_absent = torch.tensor(absent, device=empty.device)
        shares = self.layer_probe(hidden_softmax(scores, is_absent))
        shares = step("a_{layers}", shares, "attention to layers")
        weights["layers"] = shares
        return (shares[..., None] * table).sum(-2), weights


HEADS: Final[dict[str, int]] = {"micro": 2, "short": 3, "medium": 6, "long": 2, "whole": 18}
_COUNTED: Final = (
    *("same_batsman", "same_bowler", "same_matchup", "same_stand", "last_12", "last_24"),
    *("over_boundary", "wicket_adjacent", "boundary"),
)
WHOLE_RELATIONS: Final = tuple(relation for relation in _COUNTED for _ in range(2))
"""The restriction of each head of the scale ``whole``. Two heads share each restriction."""

_WHOLE_HEAD_DIM: Final = 8
_NULL: Final = 1.5
"""The initial logit of the null key."""

_MAX_OVERS: Final = 50
_MAX_BALL_IN_OVER: Final = 20


class TemporalEncoder(nn.Module):
    """An encoder of a window of balls. The last ball of the window is the query.

    Args:
        ball_dim: the size of a ball vector.
        hidden_dim: the width of the encoder.
        num_heads: the number of heads. See `STARTING_PATTERNS` for the first three heads.
        num_layers: the number of layers. After the first layer, keys are mixtures of past balls.
        max_seq_len: the number of deliveries in the window, including the current delivery.
        attention: further arguments of `RelationAttention`.
    """

    def __init__(
        self,
        ball_dim: int,
        hidden_dim: int,
        num_heads: int = 6,
        num_layers: int = 2,
        max_seq_len: int = 36,
        *,
        dropout: float = 0.0,
        **attention: Any,
    ) -> None:
        super().__init__()
        self.max_seq_len = max_seq_len
        self.to_hidden = nn.Linear(ball_dim, hidden_dim)
        self.over = nn.Embedding(_MAX_OVERS + 1, hidden_dim)
        self.ball_in_over = nn.Embedding(_MAX_BALL_IN_OVER + 1, hidden_dim)
        nn.init.normal_(self.over.weight, std=0.02)
        nn.init.normal_(self.ball_in_over.weight, std=0.02)
        self.layers = nn.ModuleList(
            RelationBlock(
                hidden_dim, num_heads, dropout=dropout, **{"reach": max_seq_len, **attention}
            )
            for _ in range(num_layers)
        )

    def embed(
        self, vectors: Tensor, overs: Tensor, balls_in_over: Tensor, is_known: Tensor | None = None
    ) -> Tensor:
        """Project ball vectors to the encoder's width, and add embeddings of over and ball.

        Where ``is_known`` is false, nothing is added. Numbers that are too large get the last
        embedding.
        """
        over = overs.clamp(0, self.over.num_embeddings - 1)
        ball = balls_in_over.clamp(0, self.ball_in_over.num_embeddings - 1)
        position = self.over(over) + self.ball_in_over(ball)
        if is_known is not None:
            position = position * is_known[..., None]
        result: Tensor = self.to_hidden(vectors) + position
        return result

    def read(
        self, query: Tensor, key: Tensor, relations: Tensor, hidden: Tensor, distance: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Apply the encoder's only `RelationBlock`.

        Raises:
            ValueError: the encoder has more than one layer.
        """
        if len(self.layers) != 1:
            raise ValueError("read() requires an encoder with exactly one layer")
        result: tuple[Tensor, Tensor] = self.layers[0](query, key, relations, hidden, distance)
        return result

    def forward(
        self,
        ball_sequence: Tensor,
        positions: Tensor,
        overs: Tensor,
        balls_in_over: Tensor,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Return the vector of the last ball, shape ``(batch, hidden_dim)``.

        Args:
            ball_sequence: shape ``(batch, ball, ball_dim)``. The last ball is the current ball.
            positions: each ball's position in the window, shape ``(batch, ball)`` or ``(ball,)``.
            overs: each ball's over, counted from 0; the same shape as ``positions``.
            balls_in_over: each ball's position in its over, counted from 0 or 1; the same shape.
            mask: true for hidden balls such as padding, shape ``(batch, ball)``.
        """
        return self.last(ball_sequence, positions, overs, balls_in_over, mask)[0]

    def last(
        self,
        ball_sequence: Tensor,
        positions: Tensor,
        overs: Tensor,
        balls_in_over: Tensor,
        mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the result of `forward`, and the last ball's attention weights.

        The weights have the shape ``(batch, head, ball)``. The last key is the last ball itself.
        """
        positions, overs, balls_in_over = (
            torch.as_tensor(numbers, device=ball_sequence.device)
            .long()
            .expand(ball_sequence.shape[:2])
            for numbers in (positions, overs, balls_in_over)
        )
        length = ball_sequence.shape[1]
        distance = positions[:, :, None] - positions[:, None, :]
        hidden = causal(length, ball_sequence.device)
        # Every query uses the window of the last ball. If each query had its own window, several
        # layers would pass information about older balls to the last ball.
        hidden = hidden | (distance[:, -1:] >= self.max_seq_len)
        if mask is not None:
            hidden = hidden | mask.bool()[:, None, :]
        relations = ball_sequence.new_zeros(*distance.shape, len(RELATIONS))
        relations[..., RECENCY] = -distance.to(relations.dtype)
        relations[..., RELATIONS.index("same_over")] = (overs[:, :, None] == overs[:, None, :]).to(
            relations.dtype
        )
        relations = relations * ~hidden[..., None]
        vectors, weights = self.embed(ball_sequence, overs, balls_in_over), relations
        for layer in self.layers:
            vectors, weights = layer(vectors, vectors, relations, hidden[:, None], distance)
        # The last ball's weight on itself belongs to the extra key, not to the past balls.
        own = weights[:, :, -1]
        return vectors[:, -1], torch.cat([own[..., : length - 1], own[..., length:]], -1)


def causal(length: int, device: torch.device | None = None) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool, device=device).triu()


class SpecializedTemporalAttention(nn.Module):
    """Causal self-attention in which heads 0, 1 and 2 start with one learnable bias each.

    Head 0 lowers the logits by ``0.1`` times the distance. Head 1 adds ``2.0`` to the logits of the
    same bowler's balls. Head 2 adds ``2.0`` to the logits of the same batsman's balls.
    """

    def __init__(self, hidden_dim: int, num_heads: int = 6) -> None:
        super().__init__()
        self.attention = RelationAttention(hidden_dim, num_heads, own=False)

    def forward(
        self, x: Tensor, same_bowler_mask: Tensor, same_batsman_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the output and the attention weights. No ball attends to a later ball.

        Args:
            x: the balls, oldest first, shape ``(batch, ball, hidden_dim)``.
            same_bowler_mask: true or 1 if the same bowler bowled both balls, shape
                ``(batch, query, key)`` or ``(query, key)``.
            same_batsman_mask: true or 1 if the same batsman faced both balls, same shape.

        Returns:
            The output, shape ``(batch, ball, hidden_dim)``, and the weights, shape
            ``(batch, head, ball, ball)``.
        """
        batch, length, _ = x.shape
        # There is no extra last key, because each ball is already among its own keys.
        hidden = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        positions = torch.arange(length, device=x.device)
        relations = x.new_zeros(batch, length, length, len(RELATIONS))
        relations[..., RECENCY] = (positions[None, :] - positions[:, None]).to(x.dtype)
        for name, mask in (
            ("same_bowler", same_bowler_mask),
            ("same_batsman", same_batsman_mask),
        ):
            relations[..., RELATIONS.index(name)] = mask.to(x.dtype)
        output: Tensor
        output, weights = self.attention(x, x, relations, hidden)
        return output, weights


class MultiScaleTemporalEncoder(nn.Module):
    """The encoder of past balls at five scales: three windows of balls, overs, and the innings.

    Args:
        ball_dim: the size of a ball vector.
        hidden_dim: the width of every scale and of the result.
        heads: the number of heads of each scale that is used; by default, the windowed scales.
        num_layers: the number of layers of the scales ``micro``, ``short`` and ``medium``.
        strict: whether heads 1 and 2 of the windowed scales are restricted. Head 1 then sees only
            balls of the same bowler, and head 2 sees only balls of the same batsman.
    """

    def __init__(
        self,
        ball_dim: int,
        hidden_dim: int,
        *,
        heads: dict[str, int] | None = None,
        num_layers: int = 1,
        dropout: float = 0.0,
        strict: bool = False,
    ) -> None:
        super().__init__()
        heads = heads or {scale: HEADS[scale] for scale in WINDOWED}
        self.hidden_dim = hidden_dim
        patterns = (None, *STARTING_PATTERNS[1:]) if strict else ()

        def encoder(scale: str) -> TemporalEncoder:
            attention: dict[str, Any] = {"only": patterns}
            if scale == "whole":
                attention = {
                    "only": WHOLE_RELATIONS,
                    "null": _NULL,
                    "head_dim": _WHOLE_HEAD_DIM,
                    "reach": 0,
                }
            return TemporalEncoder(
                ball_dim,
                hidden_dim,
                heads[scale],
                num_layers if scale in ("micro", "short", "medium") else 1,
                _MAX_OVERS + 1 if scale == "long" else SCALES[scale],
                dropout=dropout,
                **attention,
            )

        self.scales = nn.ModuleDict({scale: encoder(scale) for scale in SCALES if scale in heads})
        self.summarise = nn.GRU(hidden_dim, hidden_dim, batch_first=True)
        self.gate = nn.Linear(hidden_dim, len(self.scales))
        self.output_norms = nn.ModuleDict(
            {scale: nn.LayerNorm(hidden_dim) for scale in self.scales if scale != "whole"}
        )

    def encoder(self, scale: str) -> TemporalEncoder:
        module = self.scales[scale]
        assert isinstance(module, TemporalEncoder)
        return module

    def over_summaries(self, vectors: Tensor, balls: Balls, visible: Tensor, overs: int) -> Tensor:
        """Summarise each over with a GRU, shape ``(batch, query, over, hidden_dim)``.

        The summary is the last state. Hidden balls are skipped. Without visible balls, the state is
        zero.

        Args:
            vectors: the vectors of past balls, shape ``(batch, key, ball_dim)``.
            visible: shape ``(batch, query, key)``.
            overs: the number of overs to summarise, starting with over 0.
        """
        batch, queries, keys = visible.shape
        if not keys:
            return vectors.new_zeros(batch, queries, overs, self.hidden_dim)
        long = self.encoder("long")
        placed = long.embed(vectors, balls.over, balls.ball_in_over)
        row, keys_of, present, back = visible_overs(balls, visible, overs)
        state = self._run(placed[row[:, None], keys_of], present)
        return unflattened(state[back], 0, (batch, queries, overs))

    def _run(self, balls: Tensor, visible: Tensor) -> Tensor:
        # Visible balls move to the front. With n visible balls, the state after n steps is used.
        order = (~visible).to(torch.int8).argsort(dim=1, stable=True)
        states, _ = self.summarise(balls.gather(1, order[..., None].expand(balls.shape)))
        count = visible.sum(1)
        last = (count - 1).clamp(min=0)[:, None, None].expand(-1, 1, states.shape[-1])
        result: Tensor = states.gather(1, last)[:, 0] * (count > 0)[:, None]
        return result

    def read(
        self,
        query: Tensor,
        key: Tensor,
        current: Balls,
        past: Balls,
        visible: Tensor,
        relations: Tensor,
        *,
        overs: int,
        shared: Tensor | None = None,
        in_windows: Tensor | None = None,
        place_known: Tensor | None = None,
        summaries: Tensor | None = None,
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Return a vector and attention weights for every scale and every query.

        Args:
            query: the vectors of the current balls, shape ``(batch, query, ball_dim)``.
            key: the vectors of the past balls, shape ``(batch, key, ball_dim)``.
            relations: the result of `relate`.
            overs: the number of overs to summarise.
            shared: a mask with shape ``(batch, key)``. Every query must see exactly the earlier
                keys in this mask. The queries then share the over summaries.
            in_windows: a mask with shape ``(batch,)``. Where the mask is false, only the scale
                ``whole`` sees past balls.
            place_known: a mask with shape ``(batch, query)``. Where the mask is false, the query's
                position is hidden.
            summaries: summaries of overs to reuse, shape ``(batch, over, hidden_dim)``; computed if
                missing.

        Returns:
            For each scale, the vectors, shape ``(batch, query, hidden_dim)``, and the weights,
            shape ``(batch, head, query, key)``. The keys of ``long`` are overs. The keys of other
            scales are past balls, starting with the first ball in the window of any query. In the
            scale ``whole``, the last key is the null key. In other scales, the last key is the
            query.
        """
        distance = current.index[:, :, None] - past.index[:, None, :]
        distance = step("d", distance, "distance to each past ball")
        everywhere = visible
        if in_windows is not None:
            visible = visible & in_windows[:, None, None]
        vectors, weights = {}, {}
        for scale in self.scales:
            encoder, window = self.encoder(scale), SCALES[scale]
            asking = encoder.embed(query, current.over, current.ball_in_over, place_known)
            asking = step(f"x_{{{scale}}}", asking, "the ball plus its position")
            if scale == "long":
                vector, weight = self._read_overs(
                    asking, key, current, past, visible, relations, overs, shared, summaries
                )
            else:
                # Keys before the windows of all queries are left out.
                in_window = (distance > 0) & (distance < window)
                reached = in_window.flatten(0, 1).any(0).nonzero()[:, 0]
                first = int(reached[0]) if len(reached) else visible.shape[-1]
                scale_visible = everywhere if scale == "whole" else visible
                hidden = ~scale_visible | (distance >= window)
                placed = encoder.embed(
                    key[:, first:], past.over[:, first:], past.ball_in_over[:, first:]
                )
                placed = step(f"X_{{{scale}}}", placed, "past balls plus their positions")
                vector, weight = encoder.read(
                    asking,
                    placed,
                    relations[:, :, first:],
                    hidden[:, None, :, first:],
                    distance[:, :, first:],
                )
            if scale != "whole":
                vector = self.output_norms[scale](vector)
            vectors[scale] = step(f"v_{{{scale}}}", vector, "the output of this scale")
            weights[scale] = weight
        return vectors, weights

    def _read_overs(
        self,
        asking: Tensor,
        key: Tensor,
        current: Balls,
        past: Balls,
        visible: Tensor,
        relations: Tensor,
        overs: int,
        shared: Tensor | None,
        summaries: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        long = self.encoder("long")
        membership = (past.over[..., None] == torch.arange(overs, device=key.device)).to(key.dtype)
        earlier = visible & (past.over[:, None, :] < current.over[:, :, None])
        table = relate_overs(relations, earlier, membership, current.over)
        table = step("R_{over}", table, "relations of each over to the ball", as_input=True)
        has_balls = torch.einsum("bqk,bko->bqo", earlier.to(key.dtype), membership) > 0
        hidden = step("unseen", ~has_balls, "overs without a visible ball", as_input=True)[:, None]
        gap = current.over[..., None] - torch.arange(overs, device=key.device)
        if summaries is None and shared is not None:
            summaries = self.over_summaries(key, past, shared[:, None], overs)[:, 0]
        if summaries is not None:
            return long.read(asking, summaries, table, hidden, gap)
        # Each query has its own summaries and therefore becomes a row of the batch.
        each = self.over_summaries(key, past, earlier, overs)
        each = step("X_{long}", each, "each over, summarised by a GRU", as_input=True)
        shape = each.shape[:2]
        vector, weight = long.read(
            asking.flatten(0, 1)[:, None],
            each.flatten(0, 1),
            table.flatten(0, 1)[:, None],
            hidden.transpose(1, 2).flatten(0, 1)[:, None],
            gap.flatten(0, 1)[:, None],
        )
        vector = unflattened(vector, 0, shape)[:, :, 0]
        return vector, unflattened(weight, 0, shape)[:, :, :, 0].transpose(1, 2)

    def forward(
        self, full_sequence: Tensor, current_over_start: int | Tensor, over_summaries: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the temporal vector of the last ball of a sequence.

        Args:
            full_sequence: shape ``(batch, ball, ball_dim)``. The last ball is the current ball.
            current_over_start: the index of the current over's first ball, as one number or with
                shape ``(batch,)``. Earlier balls are treated as overs of six balls.
            over_summaries: the earlier overs, oldest first, shape ``(batch, over, hidden_dim)`` or
                ``(batch, over, ball_dim)``. The over axis may be empty.

        Returns:
            The vector, shape ``(batch, hidden_dim)``, and each scale's attention weights, shape
            ``(batch, head, key)``. The keys are the balls or overs of the window, oldest first. The
            last key is the query.
        """
        batch, length, _ = full_sequence.shape
        device = full_sequence.device
        start = torch.as_tensor(current_over_start, device=device).long().expand(batch)[:, None]
        position = torch.arange(length, device=device).expand(batch, length)
        overs_back = torch.div(start - position + 5, 6, rounding_mode="floor").clamp(min=0)
        over = (over_summaries.shape[1] - overs_back).clamp(min=0)
        ball = torch.where(position >= start, position - start, (position - start) % 6) + 1
        vectors, weights = {}, {}
        for scale in self.scales:
            encoder, window = self.encoder(scale), SCALES[scale]
            if scale == "long":
                asking = encoder.embed(full_sequence[:, -1:], over[:, -1:], ball[:, -1:])
                summaries = over_summaries
                if summaries.shape[-1] != self.hidden_dim:
                    summaries = encoder.to_hidden(summaries)
                count = summaries.shape[1]
                gap = torch.arange(count, 0, -1, device=device).expand(batch, 1, count)
                table = full_sequence.new_zeros(batch, 1, count, len(RELATIONS))
                table[..., RECENCY] = -gap.to(table.dtype)
                hidden = torch.zeros(batch, 1, 1, count, dtype=torch.bool, device=device)
                vector, weight = encoder.read(asking, summaries, table, hidden, gap)
                vector, weight = vector[:, 0], weight[:, :, 0]
            else:
                tail = slice(max(0, length - window), length)
                vector, weight = encoder.last(
                    full_sequence[:, tail], position[:, tail], over[:, tail], ball[:, tail]
                )
            vectors[scale] = self.output_norms[scale](vector)
            weights[scale] = weight
        stacked = torch.stack([*vectors.values()], 1)
        shares = self.gate(vectors["medium"]).softmax(-1)
        return (shares[..., None] * stacked).sum(1), weights
