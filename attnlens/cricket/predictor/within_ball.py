"""Attention inside one ball: named nodes in layers, read from the top down.

Each layer asks its nodes one question, put by the layers above it; the answer is a
softmax-weighted mean of the nodes. The ball's vector is the softmax-weighted sum of its
layers. Both sets of weights depend on the ball and are part of the explanation.

Seven of the nodes are slots: each reads the past balls of one kind by attention.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import torch
from torch import Tensor, nn

from attnlens.cricket.predictor.relation_attention import RelationAttention
from attnlens.cricket.predictor.relations import Balls
from attnlens.recording.probe import AttentionProbe, step
from attnlens.reference.attention import hidden_softmax, unflattened

SLOTS: Final[dict[str, str]] = {
    "batsman_state": "this batter's balls",
    "bowler_state": "this bowler's balls",
    "partnership": "this stand's balls",
    "batting_momentum": "the last 12 balls",
    "bowling_momentum": "this bowler's balls among the last 24",
    "pressure_index": "the last 24 balls",
    "dot_ball_pressure": "dot balls among the last 12",
}
"""Nodes that read past balls, and which ones they may read."""


Answer = tuple[Tensor, Tensor]
"""A layer's answer ``(..., hidden_dim)`` and the weights of its nodes ``(..., node)``."""


class LayerAttention(nn.Module):
    """One layer of the ball graph: a question from above, an answer from the nodes.

    Args:
        hidden_dim: width of node vectors and of the answer.
        nodes: names of the layer's nodes, in order.
    """

    def __init__(self, hidden_dim: int, nodes: tuple[str, ...], dropout: float) -> None:
        super().__init__()
        self.nodes = nodes
        self.question = nn.Parameter(torch.randn(hidden_dim) * hidden_dim**-0.5)
        self.from_above = nn.Linear(hidden_dim, hidden_dim, bias=False)
        self.to_key = nn.Linear(hidden_dim, hidden_dim, bias=False)
        self.to_value = nn.Linear(hidden_dim, hidden_dim, bias=False)
        self.norm = nn.LayerNorm(hidden_dim)
        self.feed = nn.Sequential(
            nn.Linear(hidden_dim, 2 * hidden_dim),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(2 * hidden_dim, hidden_dim),
        )
        self.probe = AttentionProbe(("batch", "query", "node"))

    def forward(self, nodes: Tensor, above: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """``nodes (..., node, hidden_dim)``, ``above (..., hidden_dim)``, ``hidden (node,)``.

        Returns the answer ``(..., hidden_dim)`` and the weights ``(..., node)``.
        """
        nodes = step("X", nodes, "the layer's nodes")
        query = step("q", self.question + self.from_above(above), "what the layer is asked")
        # (W n) · q = n · (Wᵀ q): one product per ball instead of one per node.
        asked = query @ self.to_key.weight
        # A sum of products: matrices of a few rows each are slow to multiply, and slower back.
        logits = (nodes * asked[..., None, :]).sum(-1) * query.shape[-1] ** -0.5
        weights = step("a", self.probe(hidden_softmax(logits, hidden)), "attention to nodes")
        mixed = self.to_value((weights[..., None] * nodes).sum(-2)) + above
        mixed = step("z", mixed, "nodes, mixed by attention")
        return step("c", mixed + self.feed(self.norm(mixed)), "the layer's answer"), weights


class WithinBallEncoder(nn.Module):
    """The ball graph.

    Args:
        graph: layer to node to number of features; a node with none is given as a vector
            (an attention slot over past balls).
        hidden_dim: width of every vector.
        dropout: in training.
    """

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
            {name: nn.Linear(size, hidden_dim) for name, size in sizes.items() if size}
        )
        self.names = nn.ParameterDict(
            {name: nn.Parameter(torch.randn(hidden_dim) * 0.1) for name in sizes}
        )
        self.unknown = nn.ParameterDict(
            {name: nn.Parameter(torch.zeros(hidden_dim)) for name, size in sizes.items() if size}
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

    def node(self, name: str, features: Tensor, known: Tensor | None = None) -> Tensor:
        """A node's vector ``(..., hidden_dim)`` from its features ``(..., size)``.

        Where ``known`` ``(...)`` is false the learnt vector for "unknown" stands in.
        """
        value: Tensor = self.features[name](features)
        if known is not None:
            value = torch.where(known[..., None], value, self.unknown[name])
        return value

    def read(
        self,
        nodes: Mapping[str, Tensor],
        layers: tuple[str, ...] | None = None,
        begun: Mapping[str, Answer] | None = None,
    ) -> dict[str, Answer]:
        """Every layer's answer, from the top down; a layer that has no given node gives none.

        Args:
            nodes: vectors ``(..., hidden_dim)`` by node; missing nodes are hidden.
            layers: the layers to read, all unless given.
            begun: the answers of the uppermost layers, where they have been read.
        """
        empty = torch.zeros_like(next(iter(nodes.values())))
        above = empty
        answers = dict(begun or {})
        for layer, names in self.graph.items():
            given = [name in nodes for name in names]
            if layer not in answers and any(given) and (layers is None or layer in layers):
                stacked = torch.stack([nodes.get(name, empty) for name in names], -2)
                named = torch.stack([self.names[name] for name in names])
                hidden = ~torch.tensor(given, device=empty.device)
                answers[layer] = self.layers[layer](self.node_norm(stacked) + named, above, hidden)
            above = answers[layer][0] if layer in answers else above
        return answers

    def forward(self, answers: Mapping[str, Answer]) -> tuple[Tensor, dict[str, Tensor]]:
        """The ball's vector, from `read`'s answers.

        Returns:
            ``(..., hidden_dim)`` and the weights: ``layers (..., layer)`` and one entry
            ``(..., node)`` per layer. A layer without an answer has weight 0.
        """
        shape = next(iter(answers.values()))[0]
        told, weights = [], {}
        for layer, names in self.graph.items():
            answer = answers.get(layer)
            told.append(torch.zeros_like(shape) if answer is None else self.layer_norm(answer[0]))
            none = shape.new_zeros(*shape.shape[:-1], len(names))
            weights[layer] = none if answer is None else answer[1]
        table = torch.stack(told, -2)
        absent = ~torch.tensor([layer in answers for layer in self.graph], device=shape.device)
        table = step("T", table, "the layers' answers")
        shares = self.layer_probe(hidden_softmax(self.layer_score(table)[..., 0], absent))
        shares = step("a_{layers}", shares, "attention to layers")
        weights["layers"] = shares
        return (shares[..., None] * table).sum(-2), weights


class PastSlots(nn.Module):
    """Attention slots: one head per slot, each over the past balls of its relation."""

    def __init__(self, hidden_dim: int, slot_dim: int, null: float | None = None) -> None:
        super().__init__()
        self.attention = RelationAttention(
            hidden_dim, len(SLOTS), own=False, head_dim=slot_dim, project=False, null=null
        )
        nn.init.zeros_(self.attention.bias)
        self.to_node = nn.ModuleDict({name: nn.Linear(slot_dim + 1, hidden_dim) for name in SLOTS})

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        now: Balls,
        past: Balls,
        visible: Tensor,
        relations: Tensor,
    ) -> tuple[dict[str, Tensor], Tensor, Tensor, Tensor]:
        """Node vectors by slot, weights and counts.

        Returns:
            vectors ``(batch, query, hidden_dim)`` by slot name, weights
            ``(batch, slot, query, key)``, numbers of balls seen ``(batch, slot, query)`` and
            what was read ``(batch, query, slot * slot_dim)``.
        """
        seen = slot_masks(now, past, visible)
        seen = step("seen", seen, "which past balls each slot may read", given=True)
        mixed, weights = self.attention(query, key, relations, ~seen)
        weights = weights[..., : key.shape[1]]
        count = seen.sum(-1).to(mixed.dtype)
        mixed = step("z", mixed, "past balls, mixed by attention")
        values = unflattened(mixed, -1, (len(SLOTS), -1))
        nodes = {
            name: step(
                f"n_{{{name}}}",
                self.to_node[name](
                    torch.cat([values[..., slot, :], torch.log1p(count[:, slot, :, None])], -1)
                ),
                "a node that reads past balls",
            )
            for slot, name in enumerate(SLOTS)
        }
        return nodes, weights, count, mixed


def slot_masks(now: Balls, past: Balls, visible: Tensor) -> Tensor:
    """Which visible past balls each slot may read, ``(batch, slot, query, key)``."""
    if past.dot is None:
        raise ValueError("past balls need the flag dot")
    distance = now.index[:, :, None] - past.index[:, None, :]
    batter = now.batter[:, :, None] == past.batter[:, None, :]
    bowler = now.bowler[:, :, None] == past.bowler[:, None, :]
    crossed = (now.batter[:, :, None] == past.non_striker[:, None, :]) & (
        now.non_striker[:, :, None] == past.batter[:, None, :]
    )
    stand = crossed | (batter & (now.non_striker[:, :, None] == past.non_striker[:, None, :]))
    recent, longer = distance <= 12, distance <= 24
    kinds = {
        "batsman_state": batter,
        "bowler_state": bowler,
        "partnership": stand,
        "batting_momentum": recent,
        "bowling_momentum": bowler & longer,
        "pressure_index": longer,
        "dot_ball_pressure": past.dot[:, None, :] & recent,
    }
    return torch.stack([kinds[name] for name in SLOTS], 1) & visible[:, None]
