"""From the arrays of overs to the tensors the encoder-decoder takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from attnlens.cricket.over_features import OverArrays
from attnlens.models.cricket import END, PAD, START, OverSizes

Place = tuple[OverArrays, int]
"""An innings' arrays and the row of an over in them."""


@dataclass(frozen=True, slots=True, eq=False)
class OverBatch:
    """Some overs.

    Attributes:
        history: past balls, the last one last ``(overs, balls, features)``; as many as the over
            with the longest past has.
        padded: true for what is no ball ``(overs, balls)``.
        context: ``(overs, context)``.
        given: tokens before each place, ``<start>`` first ``(overs, places)``.
        wanted: the token of each place, ``<end>`` after the last, then padding
            ``(overs, places)``; an over longer than the model's length is cut.
    """

    history: Tensor
    padded: Tensor
    context: Tensor
    given: Tensor
    wanted: Tensor

    def __len__(self) -> int:
        return len(self.context)


def over_batch(places: Sequence[Place], sizes: OverSizes) -> OverBatch:
    """Tensors of some overs."""
    pasts = [arrays.history(row, sizes.history) for arrays, row in places]
    balls = max(map(len, pasts))
    history = np.zeros((len(places), balls, sizes.features), np.float32)
    padded = np.ones((len(places), balls), bool)
    for number, past in enumerate(pasts):
        if len(past):
            history[number, balls - len(past) :] = past
            padded[number, balls - len(past) :] = False
    told = [[*arrays.tokens[row], END][: sizes.length] for arrays, row in places]
    longest = max(map(len, told))
    wanted = torch.tensor([one + [PAD] * (longest - len(one)) for one in told])
    first = torch.full((len(places), 1), START)
    context = np.stack([arrays.context[row] for arrays, row in places])
    return OverBatch(
        torch.from_numpy(history),
        torch.from_numpy(padded),
        torch.from_numpy(context),
        torch.cat([first, wanted[:, :-1]], 1),
        wanted,
    )
