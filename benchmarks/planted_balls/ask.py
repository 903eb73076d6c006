"""The questions of PlantedBalls, in a form that needs nothing else of attnlens.

::

    from ask import questions

    for question in questions():
        question.example, question.past       # its id, and how many past balls there are
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
    """One ball that a model is asked about: which of the past balls matter?

    Attributes:
        example: its id.
        one: its innings.
        past: how many past balls there are; they are numbered from 1, oldest first.
        predictor: the model, and what it knows.
    """

    example: str
    one: RuledInnings
    past: int
    predictor: TrainedPredictor

    @property
    def model(self) -> torch.nn.Module:
        """The model; its forward takes `batch` and gives logits ``(1, 1, outcome)``."""
        return self.predictor.model

    @cached_property
    def batch(self) -> Batch:
        """The model's input: one row, one query, `past` keys."""
        return window_batch(self.one.arrays, self.past)

    def predict(self, masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Chances of the 11 outcomes with past balls hidden, ``(mask, outcome)``.

        Args:
            masks: ``(mask, past)``, true where a past ball is shown.
        """
        return under_masks(self.predictor.model, self.batch, masks)

    @cached_property
    def vectors(self) -> Tensor:
        """What the model reads of the past balls, and all it reads of them, ``(past, width)``."""
        with torch.no_grad():
            return self.predictor.model.past(self.batch["sequence"])[0]

    def logits(self, vectors: Tensor) -> Tensor:
        """Logits with these ``(row, past, width)`` in place of `vectors`: ``(row, outcome)``."""
        wide = mapped(self.batch, lambda value: value.expand(len(vectors), *value.shape[1:]))
        return self.predictor.model.predict(wide, key=vectors).logits[:, 0]


def questions(each: int | None = None) -> Iterator[Question]:
    """Every question, or the first few of each model."""
    for name in PLANS:
        for example, one, past in examples(name)[:each]:
            yield Question(example, one, past, frozen(name))
