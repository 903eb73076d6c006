"""How much the attention of each path says of what hiding a ball does.

The paths from a past ball to the prediction are the scales and the slots. A gate says how much of
a path reaches the prediction, not how much the balls on it change: some paths carry much that is
the same whatever happened. So a sum over paths counts each by a number, one for all balls, under
which the sum orders the past balls most as hiding each of them alone does.

The numbers are fitted on balls that the weights were not trained on, where there are any, and are
no part of the forecast. How well the sum agrees on other matches is measured by
``attnlens faithfulness``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
import torch
from torch import Tensor

from attnlens.analysis.faithfulness import ranks, removed_alone
from attnlens.arrays import Floats
from attnlens.cricket.explain.ablation import under_masks
from attnlens.cricket.explain.reading import paths_of
from attnlens.cricket.model.batch import window_batch
from attnlens.cricket.model.heads import RECENT
from attnlens.cricket.model.predictor import PATHS, FullModel
from attnlens.cricket.model.tensors import Encoded
from attnlens.cricket.model.window import one_thread
from attnlens.cricket.study.sampling import sample

STEPS: Final = 300
LEARNING_RATE: Final = 0.05
LEAST: Final = 1e-5
"""Attention below this is as good as none."""


@one_thread()
def fit_path_counts(
    model: FullModel, innings: Sequence[Encoded], *, balls: int, seed: int
) -> Tensor:
    """The numbers of a model, by the last balls before each of a sample, ``(path,)``.

    Their mean is 1; all are 1 where no innings is long enough.
    """
    each: list[Floats] = []
    effects: list[Floats] = []
    for place, position in sample(innings, balls, seed):
        batch = window_batch(innings[place].arrays, position)
        with torch.no_grad():
            paths = paths_of(model, batch, model.predict(batch))
        alone = removed_alone(partial(under_masks, model, batch), position)
        each.append(paths.attention_each()[:, -RECENT:])
        effects.append(ranks(alone.effects[-RECENT:]))
    if not each:
        return torch.ones(len(PATHS))
    ways, wanted = torch.from_numpy(np.stack(each)), _unit(torch.from_numpy(np.stack(effects)))
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
