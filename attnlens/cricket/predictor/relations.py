"""How a past ball stands to the current one, as numbers that heads can have biases for.

Every relation is computed over *visible* balls only: a ball is next to a wicket only if
the wicket is visible, a boundary is in a cluster only if its neighbours are. So hiding a
ball also hides what it would have told about the balls around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import torch
from torch import Tensor

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
)
"""The order of the relation axis everywhere."""

RECENCY: Final = RELATIONS.index("recency")
BITS: Final = 32
"""Seats of an over that are told apart at once."""

CLUSTER_REACH: Final = 3
"""A boundary is in a cluster when another lies within this many balls."""


Batch: TypeAlias = dict[str, Any]
"""What the predictor takes, or a part of it: tensors and `Balls` by name, nested."""


@dataclass(frozen=True, slots=True, eq=False)
class Balls:
    """Who and what a run of balls is, as integers and flags, each ``(batch, ball)``.

    Attributes:
        index: position in the innings; consecutive balls differ by 1.
        over, ball_in_over: the over from 0, the delivery within it from 1.
        batter, non_striker, bowler: numbers that are equal for the same player.
        wicket, boundary, dot: what happened (for past balls only).
        last_in_over: whether it is the last delivery of its over so far as told by
            the next delivery's over (for past balls only).
    """

    index: Tensor
    over: Tensor
    ball_in_over: Tensor
    batter: Tensor
    non_striker: Tensor
    bowler: Tensor
    wicket: Tensor | None = None
    boundary: Tensor | None = None
    dot: Tensor | None = None
    last_in_over: Tensor | None = None


def mapped(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """The same structure of dicts, tuples and `Balls` with every tensor changed."""
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
    """The same structure with only ``rows`` of the second axis of every tensor."""
    return mapped(value, lambda tensor: tensor[:, rows])


def neighbours(flags: Tensor, reach: int) -> Tensor:
    """Whether a flag is set within ``reach`` places, itself not counted.

    ``flags`` is ``(..., ball)`` boolean with consecutive balls beside each other.
    """
    near = torch.zeros_like(flags)
    for step in range(1, reach + 1):
        near[..., step:] |= flags[..., :-step]
        near[..., :-step] |= flags[..., step:]
    return near


def relate(query: Balls, key: Balls, visible: Tensor) -> Tensor:
    """The relations of every visible past ball to every query ball.

    Args:
        query: current balls ``(batch, query)``.
        key: past balls ``(batch, key)`` in the order of the innings.
        visible: boolean ``(batch, query, key)``.

    Returns:
        ``(batch, query, key, len(RELATIONS))`` floats: recency is minus the distance in
        deliveries, the others are 0 or 1; all 0 where the key is not visible.
    """
    if key.wicket is None or key.boundary is None or key.last_in_over is None:
        raise ValueError("key balls need the flags wicket, boundary and last_in_over")

    def same(name: str) -> Tensor:
        return getattr(query, name)[:, :, None] == getattr(key, name)[:, None, :]  # type: ignore[no-any-return]  # tensors compare to tensors

    same_bowler, same_batsman = same("bowler"), same("batter")
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
        boundary & neighbours(boundary, CLUSTER_REACH),
        boundary,
        same_bowler & same_batsman & visible,
    )
    # A relation's table lies in one piece, though the relation is the last axis: what is done
    # to all cells of it, and the sum over relations, then read memory in order.
    table = torch.empty(
        len(visible), len(columns), *visible.shape[1:], dtype=torch.float32, device=visible.device
    )
    for number, column in enumerate(columns):
        table[:, number] = column
    return table.movedim(1, -1)


def relate_overs(table: Tensor, visible: Tensor, membership: Tensor, query_over: Tensor) -> Tensor:
    """The relations of every earlier over to every query ball.

    An over's relation is the share of its visible balls that have it; recency is minus
    the distance in overs.

    Args:
        table: `relate`'s result, ``(batch, query, key, relation)``.
        visible: ``(batch, query, key)``.
        membership: which over each past ball is in, one-hot ``(batch, key, over)``.
        query_over: the over of each query, ``(batch, query)``.

    Returns:
        ``(batch, query, over, relation)``.
    """
    counted = (table.movedim(-1, 1) @ membership[:, None]).movedim(1, -1)
    balls = torch.einsum("bqk,bko->bqo", visible.to(table.dtype), membership)
    shares = counted / balls.clamp(min=1)[..., None]
    overs = torch.arange(membership.shape[-1], device=table.device)
    distance = (overs - query_over[..., None]).to(table.dtype) * (balls > 0)
    return torch.cat([distance[..., None], shares[..., 1:]], -1)


def sights(balls: Balls, visible: Tensor, overs: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The distinct sights of overs: most masks leave most overs as they are.

    A seat is a delivery's place in its over. A key that belongs to no over (padding) has none.

    Args:
        balls: who the past balls are ``(batch, key)``.
        visible: ``(batch, query, key)``.
        overs: how many overs, from over 0.

    Returns:
        of every sight its row of the batch ``(sight,)``, the key on each seat
        ``(sight, seat)`` and whether it is seen, same shape; and the sight of each over
        ``(batch * query * over,)``.
    """
    batch, queries, keys = visible.shape
    device = visible.device
    slots = int(balls.ball_in_over.max())
    seat = balls.ball_in_over - 1
    home = torch.where((balls.over < overs) & (balls.over >= 0), balls.over, overs)
    # A key that belongs to no over sits in the spare over, which is cut off.
    flat = torch.zeros(batch, overs + 1, slots, dtype=torch.long, device=device)
    row = torch.arange(batch, device=device)[:, None].expand(batch, keys)
    key_number = torch.arange(keys, device=device).expand(batch, keys)
    flat[row, home, seat] = key_number
    present = torch.zeros(batch, queries, overs + 1, slots, dtype=torch.bool, device=device)
    every = torch.arange(queries, device=device)
    present[row[:, None], every[None, :, None], home[:, None], seat[:, None]] = visible
    flat, present = flat[:, :overs], present[:, :, :overs]
    where = torch.arange(batch, device=device)[:, None, None] * overs
    where = (where + torch.arange(overs, device=device)).expand(present.shape[:3])
    present = present.flatten(0, 2)
    codes = back = where = where.flatten()
    for start in range(0, slots, BITS):
        # A number for the seats, as many at a time as fit one beside the sights so far.
        bits = present[:, start : start + BITS].long()
        code = (bits << torch.arange(bits.shape[1], device=device)).sum(-1)
        codes, back = torch.unique((back << BITS) + code, return_inverse=True)
    example = torch.empty_like(codes)
    example[back] = torch.arange(len(back), device=device)
    place = where[example]
    return place // overs, flat[place // overs, place % overs], present[example], back
