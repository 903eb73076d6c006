"""Training the predictor: one pass per innings, every ball of it a query at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.model.batch import moved, stacked, training_batch
from attnlens.cricket.model.predictor import KNOWLEDGE, FullModel, Sizes
from attnlens.cricket.model.relations import Batch
from attnlens.cricket.model.tensors import (
    NODES,
    PAST_NODES,
    PAST_OUTCOME_SIZE,
    SCOREBOARD_NODES,
    InningsArrays,
)
from attnlens.cricket.training.course import Course, Fitted, Lessons, Pace, follow

Probabilities = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Recipe(Pace):
    """How to train the predictor. Every number that shapes a run is here.

    Attributes:
        innings: innings per step.
        hide_some, hide_all, hide_player, hide_block: share of innings in which a random
            share of past balls, all of them, one player's, or a run of them is hidden.
        forget: share of balls whose query loses a random half of its knowledge groups.
        forget_past: share of past balls that lose a player's record.
        teacher: weight of a teacher's probabilities in the loss, where there is a teacher;
            the rest is what happened (Hinton, Vinyals and Dean 2015, "Distilling the
            Knowledge in a Neural Network", temperature 1).
    """

    innings: int = 16
    hide_some: float = 0.1
    hide_all: float = 0.04
    hide_player: float = 0.05
    hide_block: float = 0.05
    forget: float = 0.1
    forget_past: float = 0.04
    teacher: float = 0.7


def hide_and_forget(batch: Batch, recipe: Recipe, generator: np.random.Generator) -> None:
    """Take past balls and knowledge away at random, so that the model knows the lack of them."""
    sequence = batch["sequence"]
    who = sequence["balls"]
    rows, length = who.index.shape
    kept = np.ones((rows, length), bool)
    bounds = np.cumsum([recipe.hide_some, recipe.hide_all, recipe.hide_player, recipe.hide_block])
    for row in range(rows):
        lot = generator.random()
        if lot < bounds[0]:
            kept[row] = generator.random(length) >= generator.random()
        elif lot < bounds[1]:
            kept[row] = False
        elif lot < bounds[2]:
            players = (who.batter if generator.random() < 0.5 else who.bowler)[row].numpy()
            kept[row] = players != players[generator.integers(length)]
        elif lot < bounds[3]:
            first = generator.integers(length)
            kept[row, first : first + int(generator.integers(4, 40))] = False
    hidden = torch.from_numpy(kept)
    sequence["visible"] = sequence["visible"] & hidden[:, None, :]
    sequence["shared"] = sequence["shared"] & hidden

    loses = generator.random((rows, length)) < recipe.forget
    batch["graph_data"]["known"] = {
        group: torch.from_numpy(~(loses & (generator.random((rows, length)) < 0.5)))
        for group in KNOWLEDGE
    }
    for name in ("striker_known", "bowler_known"):
        sequence["past"][name] = torch.from_numpy(
            generator.random((rows, length)) >= recipe.forget_past
        )


def loss_of(
    model: FullModel,
    batch: Batch,
    outcome: Tensor,
    taught: Tensor | None = None,
    weight: float = 0.0,
) -> Tensor:
    """Cross-entropy, summed over the balls that are not padding.

    Args:
        outcome: ``(innings, ball)``, -1 for padding.
        taught: a teacher's probabilities ``(innings, ball, outcome)``, zero for padding.
        weight: the teacher's part of the loss; the rest is what happened.
    """
    logits = model(batch)
    loss: Tensor = nn.functional.cross_entropy(
        logits.flatten(0, 1), outcome.flatten(), ignore_index=-1, reduction="sum"
    )
    if taught is None:
        return loss
    soft: Tensor = (taught * logits.log_softmax(-1)).sum()
    return (1 - weight) * loss - weight * soft


TaughtInnings = tuple[InningsArrays, Probabilities | None]
"""An innings, and where there is a teacher what it says of every ball ``(ball, outcome)``."""


class InningsLessons(Lessons[FullModel, TaughtInnings]):
    """Innings for the predictor to learn from."""

    unit, noise, checked_at_once = "balls", 4, 32

    def __init__(
        self, train: Sequence[TaughtInnings], check: Sequence[TaughtInnings], recipe: Recipe
    ) -> None:
        super().__init__(train, check, recipe.innings)
        self.recipe = recipe

    def length(self, row: TaughtInnings) -> int:
        return len(row[0])

    def loss(
        self,
        model: FullModel,
        rows: Sequence[TaughtInnings],
        device: torch.device,
        generator: np.random.Generator | None = None,
    ) -> Tensor:
        batch, outcome = training_batch([one for one, _ in rows])
        if generator is not None:
            hide_and_forget(batch, self.recipe, generator)
        said = [probabilities for _, probabilities in rows if probabilities is not None]
        taught = stacked(said, outcome.shape[1]) if said else None
        batch, outcome, taught = moved((batch, outcome, taught), device)
        return loss_of(model, batch, outcome, taught, self.recipe.teacher)


def log_loss(model: FullModel, innings: Sequence[InningsArrays]) -> float:
    """Mean negative log-probability of what happened, in nats per ball."""
    return InningsLessons([], [(one, None) for one in innings], Recipe()).measure(model)


def fit(
    sizes: Sizes,
    prior: NDArray[np.float32],
    train: Sequence[InningsArrays],
    validation: Sequence[InningsArrays],
    recipe: Recipe,
    *,
    teacher: Sequence[Probabilities] | None = None,
    course: Course | None = None,
) -> Fitted[FullModel]:
    """Train a predictor as `attnlens.cricket.training.course.follow` says.

    Args:
        prior: log-shares of the outcomes, from which the weights start ``(outcome,)``.
        teacher: per innings of ``train`` a teacher's probabilities ``(ball, outcome)``.

    Raises:
        CheckpointError: the course's state is no run of this recipe and mark.
        InputError: the loss became infinite or no number.
    """
    learn = [(one, None if teacher is None else teacher[row]) for row, one in enumerate(train)]
    lessons = InningsLessons(learn, [(one, None) for one in validation], recipe)
    start = torch.from_numpy(prior)
    return follow(lambda: FullModel(sizes, start), lessons, recipe, course or Course())


def cricket_sizes(hidden_dim: int = 60, **others: Any) -> Sizes:
    """The predictor's sizes for the ball graph of `attnlens.cricket.model.tensors`.

    Args:
        others: fields of `Sizes` that differ from its defaults.
    """
    return Sizes(
        graph=NODES,
        past_nodes=PAST_NODES,
        outcomes=len(OUTCOMES),
        happened=PAST_OUTCOME_SIZE,
        scoreboard=SCOREBOARD_NODES,
        hidden_dim=hidden_dim,
        **others,
    )
