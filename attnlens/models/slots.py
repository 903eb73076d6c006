"""Attention inside the ball: seven nodes that each read the past balls of one kind."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn

from attnlens.models.attention import unflattened
from attnlens.models.relation_attention import RelationAttention
from attnlens.models.relations import Balls
from attnlens.probe import step

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
