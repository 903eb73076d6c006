"""Which balls of each over can be seen, so that each distinct sight of an over is read once."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from attnlens.models.relations import Balls

BITS: Final = 32
"""Seats of an over that are told apart at once."""


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
