"""The questions of PlantedBalls, for methods that do not use other parts of attnlens.

::

    from ask import questions

    for question in questions():
        question.example, question.past       # the id, and the number of past balls
        question.predict(masks)               # (mask, past) bool -> (mask, outcome)
        question.vectors, question.logits     # for gradients
        question.model, question.batch        # for attention: a torch module and its input
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from make import PLANS, examples, frozen
from numpy.typing import NDArray
from torch import Tensor

from attnlens.cricket.explain.ablation import under_masks
from attnlens.cricket.lab.planted_truth import RuledInnings
from attnlens.cricket.predictor.relations import Batch, mapped
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import window_batch


@dataclass(frozen=True, eq=False)
class Question:
    """The question of which past balls matter for the model's prediction of one ball.

    Attributes:
        example: the id of the question.
        one: the innings.
        past: the number of past balls, which are numbered from 1, oldest first.
        predictor: the model with its ratings.
    """

    example: str
    one: RuledInnings
    past: int
    predictor: TrainedPredictor

    @property
    def model(self) -> torch.nn.Module:
        """The model, which returns logits ``(1, 1, outcome)`` for the input `batch`."""
        return self.predictor.model

    @cached_property
    def batch(self) -> Batch:
        """The model's input. It has one row, one query and `past` keys."""
        return window_batch(self.one.arrays, self.past)

    def predict(self, masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the outcome probabilities if some past balls are hidden ``(mask, outcome)``.

        Args:
            masks: masks ``(mask, past)`` that are true for the visible past balls.
        """
        return under_masks(self.predictor.model, self.batch, masks)

    @cached_property
    def vectors(self) -> Tensor:
        """The vectors ``(past, width)`` through which alone the past reaches the model."""
        with torch.no_grad():
            return self.predictor.model.past(self.batch["sequence"])[0]

    def logits(self, vectors: Tensor) -> Tensor:
        """Return logits ``(row, outcome)`` for other past vectors ``(row, past, width)``."""
        wide = mapped(self.batch, lambda value: value.expand(len(vectors), *value.shape[1:]))
        return self.predictor.model.predict(wide, key=vectors).logits[:, 0]


def questions(each: int | None = None) -> Iterator[Question]:
    """Yield every question, or only the first ``each`` questions of each model."""
    for name in PLANS:
        for example, one, past in examples(name)[:each]:
            yield Question(example, one, past, frozen(name))
