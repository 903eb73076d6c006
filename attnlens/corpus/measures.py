"""Where every ball of some innings looked: one pass of the model, read as a few figures per head.

The figures of one ball are those of its explanation (`attnlens.explanation.heatmap`): shares of
past attention by relation, beside what uniform attention would give. Nothing is tested here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.cricket.batch import moved, training_batch
from attnlens.cricket.tensors import InningsArrays
from attnlens.explanation.heatmap import SHARES
from attnlens.models.predictor import FullModel
from attnlens.models.relations import RELATIONS, relate, relate_overs
from attnlens.models.temporal import SCALES

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

SHARED: Final = tuple(RELATIONS.index(name) for name in SHARES)
"""Where the relations whose shares are told stand among all."""

CELLS: Final = 8 * 140**2
"""Pairs of balls in one pass: eight innings of twenty overs, or one long one."""


BY_BALL: Final = ("uniform", "mean", "visible")
"""Figures that the heads of a scale share."""


@dataclass(frozen=True, slots=True, eq=False)
class ScaleMeasures:
    """One scale over the balls of one innings; NaN, or -1, where a ball had nothing to look at.

    Attributes:
        shares: of past attention by relation of `SHARES` ``(head, ball, 8)``.
        uniform: what uniform attention would give ``(ball, 8)``.
        mean: the shares of all heads together ``(ball, 8)``.
        own: each head's weight on the ball itself ``(head, ball)``.
        entropy: of each head's past attention, nats ``(head, ball)``.
        visible: past balls, or earlier overs, that the scale could see ``(ball,)``.
        strongest: place of the past ball with the most weight, from 0; for the long scale the
            over ``(head, ball)``.
        most: that weight ``(head, ball)``.
    """

    shares: Floats
    uniform: Floats
    mean: Floats
    own: Floats
    entropy: Floats
    visible: Integers
    strongest: Integers
    most: Floats


@dataclass(frozen=True, slots=True, eq=False)
class InningsMeasures:
    """One innings.

    Attributes:
        chances: of the outcomes ``(ball, 11)``.
        gates: fusion weights ``(ball, 5)``.
    """

    chances: Doubles
    gates: Floats
    scales: dict[str, ScaleMeasures]


def measure(
    model: FullModel, innings: Sequence[InningsArrays], device: torch.device
) -> list[InningsMeasures]:
    """Ask the model about every ball of every innings, several innings in a pass.

    Which innings share a pass follows from their lengths and order alone, so that the same
    innings always give the same bits.
    """
    found: dict[int, InningsMeasures] = {}
    for places in _passes([len(one) for one in innings]):
        found |= zip(places, _pass(model, [innings[at] for at in places], device), strict=True)
    return [found[place] for place in range(len(innings))]


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


def _pass(
    model: FullModel, innings: Sequence[InningsArrays], device: torch.device
) -> list[InningsMeasures]:
    batch: dict[str, Any] = moved(training_batch(innings)[0], device)
    sequence = batch["sequence"]
    with torch.no_grad():
        prediction = model.predict(batch)
        chances = prediction.logits.double().softmax(-1).cpu().numpy()
        gates = prediction.gates.cpu().numpy()
        now, visible = sequence["now"], sequence["visible"]
        table = relate(now, sequence["balls"], visible)
        held = table.movedim(-1, 1)[:, SHARED]
        scales = {
            scale: _scale(scale, prediction.scales[scale], now, visible, table, held)
            for scale in SCALES
        }
    told = []
    for row, one in enumerate(innings):
        balls = len(one)
        told.append(
            InningsMeasures(
                chances[row, :balls],
                gates[row, :balls],
                {
                    scale: ScaleMeasures(
                        **{
                            name: value[row, :balls] if name in BY_BALL else value[row, :, :balls]
                            for name, value in parts.items()
                        }
                    )
                    for scale, parts in scales.items()
                },
            )
        )
    return told


def _scale(
    scale: str, weights: Tensor, now: Any, visible: Tensor, table: Tensor, held: Tensor
) -> dict[str, NDArray[Any]]:
    """`ScaleMeasures` of a batch, by name.

    Args:
        weights: ``(batch, head, query, key + 1)``, the query itself last.
        table: every relation ``(batch, query, key, relation)``.
        held: those of `SHARES` ``(batch, relation, query, key)``.
    """
    past, own = weights[..., :-1], weights[..., -1]
    if scale == "long":
        overs = past.shape[-1]
        seen = visible & (now.over[:, None, :] < now.over[:, :, None])
        membership = (now.over[..., None] == torch.arange(overs, device=past.device)).to(past.dtype)
        balls_of = torch.einsum("bqk,bko->bqo", seen.to(past.dtype), membership)
        uniform = _even(held, seen)
        held = relate_overs(table, seen, membership, now.over).movedim(-1, 1)[:, SHARED]
        keys = (balls_of > 0).sum(-1)
    else:
        distance = now.index[:, :, None] - now.index[:, None, :]
        seen = visible & (distance < SCALES[scale])
        uniform = _even(held, seen)
        keys = seen.sum(-1)
    total = past.sum(-1, keepdim=True)
    shares = past / total  # NaN where there is nothing to look at
    of_relation = torch.einsum("bhqk,bnqk->bhqn", shares, held)
    together = past.sum(1)
    mean = torch.einsum("bqk,bnqk->bqn", together / together.sum(-1, keepdim=True), held)
    # Of equal weights the later ball's counts.
    backwards, last = past.flip(-1), past.shape[-1] - 1
    most, place = backwards.max(-1) if last >= 0 else (own.new_zeros(own.shape), None)
    strongest = (
        torch.full_like(own, -1, dtype=torch.int64)
        if place is None
        else torch.where(most > 0, last - place, -1)
    )
    entropy = torch.special.entr(shares).sum(-1)
    told = {
        "shares": of_relation,
        "uniform": uniform,
        "mean": mean,
        "own": own,
        "entropy": entropy,
        "visible": keys,
        "strongest": strongest,
        "most": most,
    }
    return {name: value.cpu().numpy() for name, value in told.items()}


def _even(held: Tensor, seen: Tensor) -> Tensor:
    """What uniform attention over the balls seen would pay each relation."""
    even = seen.to(held.dtype)
    return torch.einsum("bqk,bnqk->bqn", even / even.sum(-1, keepdim=True), held)
