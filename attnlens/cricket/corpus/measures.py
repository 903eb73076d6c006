"""Where every ball of some innings looked: one pass of the model, read as a few figures per head.

The figures of one ball are those of its explanation (`attnlens.cricket.explain.heatmap`): shares of
past attention by relation, beside what uniform attention would give. Nothing is tested here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.cricket.model.batch import training_batch
from attnlens.cricket.model.heads import SCALES, SHARES
from attnlens.cricket.model.predictor import FullModel
from attnlens.cricket.model.relations import RELATIONS, Balls, relate, relate_overs
from attnlens.cricket.model.tensors import InningsArrays

Figures = NDArray[Any]

SHARED: Final = tuple(RELATIONS.index(name) for name in SHARES)
"""Where the relations whose shares are told stand among all."""

CELLS: Final = 8 * 140**2
"""Pairs of balls in one pass: eight innings of twenty overs, or one long one."""


@dataclass(frozen=True, slots=True, eq=False)
class ScaleMeasures:
    """One scale over the balls of one innings; NaN, or -1, where a ball had nothing to look at.

    Attributes:
        shares: of past attention by relation of `SHARES` ``(ball, head, 8)``.
        uniform: what uniform attention would give ``(ball, 8)``.
        mean: the shares of all heads together ``(ball, 8)``.
        own: each head's weight on the ball itself ``(ball, head)``.
        entropy: of each head's past attention, nats ``(ball, head)``.
        visible: past balls, or earlier overs, that the scale could see ``(ball,)``.
        strongest: place of the past ball with the most weight, from 0; for the long scale the
            over ``(ball, head)``.
        most: that weight ``(ball, head)``.
    """

    shares: Figures
    uniform: Figures
    mean: Figures
    own: Figures
    entropy: Figures
    visible: Figures
    strongest: Figures
    most: Figures


@dataclass(frozen=True, slots=True, eq=False)
class InningsMeasures:
    """One innings.

    Attributes:
        chances: of the outcomes ``(ball, 11)``.
        gates: fusion weights ``(ball, 5)``.
    """

    chances: Figures
    gates: Figures
    scales: dict[str, ScaleMeasures]


def measure(model: FullModel, innings: Sequence[InningsArrays]) -> list[InningsMeasures]:
    """Ask the model about every ball of every innings, several innings in a pass.

    Which innings share a pass follows from their lengths and order alone, so that the same
    innings give the same bits on processors of one kind, whoever works on them.
    """
    by_place: dict[int, InningsMeasures] = {}
    for places in _passes([len(arrays) for arrays in innings]):
        by_place |= zip(places, _pass(model, [innings[at] for at in places]), strict=True)
    return [by_place[place] for place in range(len(innings))]


def _passes(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Innings of like length together, as many as fit in `CELLS`."""
    waiting: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: (-lengths[place], place)):
        if waiting and (len(waiting) + 1) * lengths[waiting[0]] ** 2 > CELLS:
            yield waiting
            waiting = []
        waiting.append(place)
    if waiting:
        yield waiting


def _pass(model: FullModel, innings: Sequence[InningsArrays]) -> Iterator[InningsMeasures]:
    batch = training_batch(innings)[0]
    sequence = batch["sequence"]
    with torch.no_grad():
        prediction = model.predict(batch)
        chances = prediction.logits.double().softmax(-1).numpy()
        gates = prediction.gates.numpy()
        now, visible = sequence["now"], sequence["visible"]
        table = relate(now, sequence["balls"], visible)
        scales = {
            scale: _scale(scale, prediction.scales[scale], now, visible, table) for scale in SCALES
        }
    for row, arrays in enumerate(innings):
        balls = len(arrays)
        of_innings = {
            scale: ScaleMeasures(**{name: value[row, :balls] for name, value in figures.items()})
            for scale, figures in scales.items()
        }
        yield InningsMeasures(chances[row, :balls], gates[row, :balls], of_innings)


def _scale(
    scale: str, weights: Tensor, now: Balls, visible: Tensor, table: Tensor
) -> dict[str, Figures]:
    """`ScaleMeasures` of a batch, by name.

    Args:
        weights: ``(batch, head, query, key + 1)``, the query itself last.
        table: every relation ``(batch, query, key, relation)``.
    """
    past, own = weights[..., :-1], weights[..., -1]
    if scale == "long":
        overs = past.shape[-1]
        seen = visible & (now.over[:, None, :] < now.over[:, :, None])
        membership = (now.over[..., None] == torch.arange(overs)).to(past.dtype)
        keys = (torch.einsum("bqk,bko->bqo", seen.to(past.dtype), membership) > 0).sum(-1)
        uniform = _even(table, seen)
        table = relate_overs(table, seen, membership, now.over)
    else:
        distance = now.index[:, :, None] - now.index[:, None, :]
        seen = visible & (distance < SCALES[scale])
        keys = seen.sum(-1)
        uniform = _even(table, seen)
    held = table.movedim(-1, 1)[:, SHARED]
    shares = past / past.sum(-1, keepdim=True)  # NaN where there is nothing to look at
    together = past.sum(1)
    most, strongest = own.new_zeros(own.shape), torch.full_like(own, -1, dtype=torch.int64)
    if past.shape[-1]:
        # Of equal weights the later ball's counts.
        most, place = past.flip(-1).max(-1)
        strongest = torch.where(most > 0, past.shape[-1] - 1 - place, -1)
    figures = {
        "shares": torch.einsum("bhqk,bnqk->bqhn", shares, held),
        "uniform": uniform,
        "mean": torch.einsum("bqk,bnqk->bqn", together / together.sum(-1, keepdim=True), held),
        "own": own.transpose(1, 2),
        "entropy": torch.special.entr(shares).sum(-1).transpose(1, 2),
        "visible": keys,
        "strongest": strongest.transpose(1, 2),
        "most": most.transpose(1, 2),
    }
    return {name: value.numpy() for name, value in figures.items()}


def _even(table: Tensor, seen: Tensor) -> Tensor:
    """What uniform attention over the balls seen would pay each relation."""
    even = seen.to(table.dtype)
    held = table.movedim(-1, 1)[:, SHARED]
    return torch.einsum("bqk,bnqk->bqn", even / even.sum(-1, keepdim=True), held)
