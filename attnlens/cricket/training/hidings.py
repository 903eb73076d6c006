"""What hiding each past ball does to a trained model: what its attention counts, what is usual.

The paths from a past ball to the prediction are the scales and the slots. A gate says how much of
a path reaches the prediction, not how much the balls on it change: some paths carry much that is
the same whatever happened. So a sum over paths counts each by a number, one for all balls, under
which the sum orders the past balls most as hiding each of them alone does (`path_counts`).

And hiding a ball says something of the ball only beside what hiding a ball in its place does
usually (`usual_effects`).

Both are found on balls that the weights were not trained on, where there are any, and are no part
of the forecast. How well attention agrees on other matches, ``attnlens faithfulness`` measures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import torch
from torch import Tensor

from attnlens.analysis.faithfulness import ranks, removed_alone
from attnlens.arrays import Floats, Integers
from attnlens.cricket.explain.ablation import under_masks
from attnlens.cricket.explain.reading import paths_of
from attnlens.cricket.model.batch import window_batch
from attnlens.cricket.model.heads import RECENT
from attnlens.cricket.model.predictor import PATHS, FullModel
from attnlens.cricket.model.tensors import Encoded
from attnlens.cricket.model.usual import DISTANCES, PLACES, places
from attnlens.cricket.model.window import one_thread
from attnlens.cricket.study.sampling import sample

STEPS: Final = 300
LEARNING_RATE: Final = 0.05
LEAST: Final = 1e-5
"""Attention below this is as good as none."""

SHRINKAGE: Final = 30.0
"""Balls at a distance, whoever played them, that each place's mean is mixed with."""


@dataclass(frozen=True, slots=True, eq=False)
class Hidings:
    """The last balls before each of a sample.

    Attributes:
        ways: each path's attention to them ``(ball, path, past)``.
        effects: nats that hiding each alone costs ``(ball, past)``.
        places: where each stands ``(ball, past)``.
    """

    ways: Floats
    effects: Floats
    places: Integers


@one_thread()
def hidings(
    model: FullModel, innings: Sequence[Encoded], *, balls: int, seed: int
) -> Hidings | None:
    """Hide every past ball of a sample, one at a time; ``None`` where no innings is long enough."""
    ways: list[Floats] = []
    effects: list[Floats] = []
    where: list[Integers] = []
    for number, position in sample(innings, balls, seed):
        arrays = innings[number].arrays
        batch = window_batch(arrays, position)
        with torch.no_grad():
            paths = paths_of(model, batch, model.predict(batch))
        alone = removed_alone(partial(under_masks, model, batch), position)
        ways.append(paths.attention_each()[:, -RECENT:])
        effects.append(alone.effects[-RECENT:])
        past = slice(position - RECENT, position)
        where.append(
            places(
                np.arange(RECENT, 0, -1),
                arrays.batter[past] == arrays.batter[position],
                arrays.bowler[past] == arrays.bowler[position],
            )
        )
    if not ways:
        return None
    return Hidings(np.stack(ways), np.stack(effects), np.stack(where))


def path_counts(hidden: Hidings | None) -> Tensor:
    """How much each path's attention counts ``(path,)``: their mean is 1; all are 1 for none."""
    if hidden is None:
        return torch.ones(len(PATHS))
    ways = torch.from_numpy(hidden.ways)
    wanted = _unit(torch.from_numpy(np.stack([ranks(row) for row in hidden.effects])))
    logs = torch.zeros(len(PATHS), dtype=torch.double, requires_grad=True)
    optimiser = torch.optim.Adam([logs], lr=LEARNING_RATE)
    for _ in range(STEPS):
        scores = torch.log(torch.einsum("p,bpk->bk", logs.exp(), ways) + LEAST)
        agreement = (_unit(scores) * wanted).sum(-1).mean()
        optimiser.zero_grad()
        torch.autograd.backward(-agreement)
        optimiser.step()
    counts = logs.detach().exp()
    return (counts / counts.mean()).float()


def _unit(rows: Tensor) -> Tensor:
    """Rows about their mean, of length 1."""
    about = rows - rows.mean(-1, keepdim=True)
    unit: Tensor = about / about.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    return unit


def usual_effects(hidden: Hidings | None) -> Tensor:
    """The mean effect by place, nats ``(place,)``; all are 1 for none.

    Places with few balls lean to the mean of their distance.
    """
    if hidden is None:
        return torch.ones(PLACES)
    where, effects = hidden.places.ravel(), hidden.effects.ravel()
    count = np.bincount(where, minlength=PLACES).reshape(len(DISTANCES), -1)
    total = np.bincount(where, effects, minlength=PLACES).reshape(count.shape)
    by_distance = total.sum(1, keepdims=True) / np.maximum(count.sum(1, keepdims=True), 1)
    by_distance[count.sum(1) == 0] = effects.mean()
    means = (total + SHRINKAGE * by_distance) / (count + SHRINKAGE)
    return torch.from_numpy(means.ravel()).float()
