"""Training the encoder-decoder of overs: every over of every innings, given the balls before it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlens.cricket.match.match import Innings, Match
from attnlens.cricket.model.batch import moved
from attnlens.cricket.model.ratings import Ratings
from attnlens.cricket.overs.encoder_decoder import PAD, OverModel, OverSizes
from attnlens.cricket.overs.features import OverArrays, Place, over_batch
from attnlens.cricket.overs.tokens import TOKEN_INDEX, TOKENS, token_of
from attnlens.cricket.overs.trained import MOST_RUNS
from attnlens.cricket.study.held_out import sides
from attnlens.cricket.training.course import Lessons, Pace
from attnlens.cricket.training.dataset import rated

SMALL: Mapping[str, int] = MappingProxyType(
    {"d": 64, "heads": 4, "d_k": 16, "ff": 256, "length": 14}
)
"""What the bundled model's sizes are where they differ from the reference configuration."""


@dataclass(frozen=True, slots=True)
class OverRecipe(Pace):
    """How to train the encoder-decoder. Every number that shapes a run is here.

    Attributes:
        overs: overs per step.
        smoothing: share of each token's weight that is spread over all tokens.
        hide_some, hide_all: share of overs of which a random share of past balls, or all of
            them, are hidden, so that the model knows the lack of them.
    """

    warm_up: int = 200
    average: float = 0.998
    overs: int = 64
    smoothing: float = 0.0
    hide_some: float = 0.1
    hide_all: float = 0.04


class OverLessons(Lessons[OverModel, Place]):
    """Overs to learn from, each as its innings' arrays and its row there."""

    unit, noise, checked_at_once = "tokens", 8, 256

    def __init__(
        self, train: Sequence[Place], check: Sequence[Place], sizes: OverSizes, recipe: OverRecipe
    ) -> None:
        super().__init__(train, check, recipe.overs)
        self.sizes, self.recipe = sizes, recipe

    def length(self, row: Place) -> int:
        """Balls before the over that the model is told of."""
        arrays, number = row
        return min(int(arrays.start[number]), self.sizes.history)

    def weight(self, row: Place) -> int:
        """Tokens, ``<end>`` included."""
        arrays, number = row
        return min(len(arrays.tokens[number]) + 1, self.sizes.length)

    def loss(
        self,
        model: OverModel,
        rows: Sequence[Place],
        device: torch.device,
        generator: np.random.Generator | None = None,
    ) -> Tensor:
        batch = over_batch(rows, self.sizes)
        hidden, smoothing = batch.padded, 0.0
        if generator is not None:
            hidden = hidden_at_random(hidden, self.recipe, generator)
            smoothing = self.recipe.smoothing
        parts = (batch.history, hidden, batch.context, batch.given, batch.wanted)
        history, hidden, context, given, wanted = moved(parts, device)
        return nn.functional.cross_entropy(
            model(history, hidden, context, given).flatten(0, 1),
            wanted.flatten(),
            ignore_index=PAD,
            reduction="sum",
            label_smoothing=smoothing,
        )


def lessons_of(
    matches: Sequence[Match],
    encode: Callable[[Match, Innings], OverArrays],
    ratings: Ratings,
    train_until: datetime.date,
    sizes: OverSizes,
    recipe: OverRecipe,
) -> OverLessons:
    """Every over of the matches, each with the ratings of the day before its match."""
    train: list[Place] = []
    check: list[Place] = []
    for _, _, day, arrays in rated(matches, ratings, encode):
        part = train if day <= train_until else check
        part += [(arrays, row) for row in range(len(arrays))]
    return OverLessons(train, check, sizes, recipe)


def token_runs(matches: Sequence[Match]) -> NDArray[np.float64]:
    """How often the delivery of each token brought 0, 1, ... runs, ``(24, 9)``; rows sum to 1.

    A token that never came brings nothing.
    """
    counts = np.zeros((len(TOKENS), MOST_RUNS + 1))
    for match in matches:
        for side in sides(match):
            for ball in side.deliveries:
                counts[TOKEN_INDEX[token_of(ball)], min(ball.runs_total, MOST_RUNS)] += 1
    counts[counts.sum(1) == 0, 0] = 1
    shares: NDArray[np.float64] = counts / counts.sum(1, keepdims=True)
    return shares


def hidden_at_random(padded: Tensor, recipe: OverRecipe, generator: np.random.Generator) -> Tensor:
    """``padded``, and of some overs a random share of past balls, or all of them, hidden too."""
    rows, balls = padded.shape
    lot = generator.random(rows)
    share = np.where(lot < recipe.hide_some, generator.random(rows), 0.0)
    share[(lot >= recipe.hide_some) & (lot < recipe.hide_some + recipe.hide_all)] = 1.0
    return padded | torch.from_numpy(generator.random((rows, balls)) < share[:, None])
