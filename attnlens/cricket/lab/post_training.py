"""What is fitted after the network and beside it: two corrections of attention.

A gate says how much of a path reaches the prediction, not how much the balls on it change. So a
sum over paths counts each by a number under which the sum orders the past balls most as hiding each
of them alone does (`path_counts`). And hiding a ball says something of the ball only beside what
hiding a ball in its place does usually (`usual_effects`). Both are no part of the forecast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import torch
from torch import Tensor

from attnlens.cricket.explain.ablation import under_masks
from attnlens.cricket.explain.reading import paths_of
from attnlens.cricket.lab.sampling import sample
from attnlens.cricket.predictor.predictor import DISTANCES, PATHS, PLACES, FullModel, places
from attnlens.cricket.predictor.scales import RECENT
from attnlens.cricket.predictor.tensors import Encoded
from attnlens.cricket.predictor.window import one_thread, window_batch
from attnlens.evidence.faithfulness import ranks, remove_each
from attnlens.files import Floats, Integers

_COUNT_STEPS: Final = 300
_COUNT_RATE: Final = 0.05
_MIN_ATTENTION: Final = 1e-5
"""Attention below this is as good as none."""

_SHRINKAGE: Final = 30.0
"""Balls at a distance, whoever played them, that each place's mean is mixed with."""


@dataclass(frozen=True, slots=True, eq=False)
class HidingEffects:
    """The last balls before each of a sample ``(ball, past)``.

    ``ways`` is each path's attention to them ``(ball, path, past)``, ``effects`` the nats that
    hiding each alone costs, ``places`` where each stands.
    """

    ways: Floats
    effects: Floats
    places: Integers


@one_thread()
def hiding_effects(
    model: FullModel, innings: Sequence[Encoded], *, balls: int, seed: int
) -> HidingEffects | None:
    """Hide every past ball of a sample, one at a time; ``None`` where no innings is long enough."""
    ways: list[Floats] = []
    effects: list[Floats] = []
    where: list[Integers] = []
    for number, position in sample(innings, balls, seed):
        arrays = innings[number].arrays
        batch = window_batch(arrays, position)
        with torch.no_grad():
            paths = paths_of(model, batch, model.predict(batch))
        removed = remove_each(partial(under_masks, model, batch), position)
        ways.append(paths.attention_each()[:, -RECENT:])
        effects.append(removed.effects[-RECENT:])
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
    return HidingEffects(np.stack(ways), np.stack(effects), np.stack(where))


def store_hiding_effects(
    model: FullModel, innings: Sequence[Encoded], *, balls: int, seed: int
) -> None:
    """Put what hiding the balls before a sample of ``balls`` shows into the model's buffers."""
    hidden = hiding_effects(model, innings, balls=balls, seed=seed)
    model.path_counts.copy_(path_counts(hidden))
    model.usual_effects.copy_(usual_effects(hidden))


def path_counts(hidden: HidingEffects | None) -> Tensor:
    """How much each path's attention counts ``(path,)``: their mean is 1; all are 1 for none."""
    if hidden is None:
        return torch.ones(len(PATHS))
    ways = torch.from_numpy(hidden.ways)
    target = _unit(torch.from_numpy(np.stack([ranks(row) for row in hidden.effects])))
    logs = torch.zeros(len(PATHS), dtype=torch.double, requires_grad=True)
    optimiser = torch.optim.Adam([logs], lr=_COUNT_RATE)
    for _ in range(_COUNT_STEPS):
        scores = torch.log(torch.einsum("p,bpk->bk", logs.exp(), ways) + _MIN_ATTENTION)
        agreement = (_unit(scores) * target).sum(-1).mean()
        optimiser.zero_grad()
        torch.autograd.backward(-agreement)
        optimiser.step()
    counts = logs.detach().exp()
    return (counts / counts.mean()).float()


def _unit(rows: Tensor) -> Tensor:
    """Rows about their mean, of length 1."""
    centred = rows - rows.mean(-1, keepdim=True)
    return torch.nn.functional.normalize(centred, dim=-1)


def usual_effects(hidden: HidingEffects | None) -> Tensor:
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
    means = (total + _SHRINKAGE * by_distance) / (count + _SHRINKAGE)
    return torch.from_numpy(means.ravel()).float()
