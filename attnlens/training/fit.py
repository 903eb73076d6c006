"""Training the predictor: one pass per innings, every ball of it a query at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.cricket.batch import moved, training_batch
from attnlens.cricket.outcomes import OUTCOMES
from attnlens.cricket.tensors import InningsArrays
from attnlens.models.predictor import KNOWLEDGE, FullModel, Sizes
from attnlens.training.loop import Loss, Steps, follow
from attnlens.training.processes import ALONE, Processes
from attnlens.training.running import Probabilities, Running, mark_of


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to train. Every number that shapes a run is here.

    Attributes:
        innings: innings per step.
        warm_up: steps of rising learning rate, then a cosine down to ``final``.
        average: decay of the moving average of the weights that is kept.
        hide_some, hide_all, hide_player, hide_block: share of innings in which a random
            share of past balls, all of them, one player's, or a run of them is hidden.
        forget: share of balls whose query loses a random half of its knowledge groups.
        forget_past: share of past balls that lose a player's record.
        patience: epochs without a better validation log-loss before the run stops.
        teacher: weight of a teacher's probabilities in the loss, where there is a teacher;
            the rest is what happened (Hinton, Vinyals and Dean 2015, "Distilling the
            Knowledge in a Neural Network", temperature 1).
    """

    epochs: int = 8
    innings: int = 16
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    warm_up: int = 100
    final: float = 0.02
    clip: float = 1.0
    average: float = 0.995
    hide_some: float = 0.1
    hide_all: float = 0.04
    hide_player: float = 0.05
    hide_block: float = 0.05
    forget: float = 0.1
    forget_past: float = 0.04
    patience: int = 3
    teacher: float = 0.7
    seed: int = 5


def length_batches(
    innings: Sequence[InningsArrays], size: int, generator: np.random.Generator
) -> list[list[int]]:
    """Batches of innings of similar length, in random order."""
    noisy = [len(one) + 4 * generator.random() for one in innings]
    order = np.argsort(noisy)
    batches = [order[start : start + size].tolist() for start in range(0, len(order), size)]
    generator.shuffle(batches)
    return batches


def hide_and_forget(batch: dict[str, Any], recipe: Recipe, generator: np.random.Generator) -> None:
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


def log_loss(
    model: FullModel,
    innings: Sequence[InningsArrays],
    size: int = 32,
    *,
    among: Processes = ALONE,
) -> float:
    """Mean negative log-probability of what happened, in nats per ball."""
    model.eval()
    sums = torch.zeros(2, dtype=torch.float64, device=among.device)
    order = sorted(range(len(innings)), key=lambda number: len(innings[number]))
    with torch.no_grad():
        for start in range(0, len(order), size):
            rows = among.share(order[start : start + size])
            if rows:
                batch, outcome = moved(training_batch([innings[n] for n in rows]), among.device)
                sums[0] += loss_of(model, batch, outcome)
                sums[1] += (outcome >= 0).sum()
    total, count = among.add_up(sums).tolist()
    return float(total / max(count, 1))


def loss_of(
    model: FullModel,
    batch: dict[str, Any],
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


def taught_by(teacher: Sequence[Probabilities], rows: Sequence[int], length: int) -> Tensor:
    """What the teacher says of some innings, ``(innings, length, outcome)``."""
    told = torch.zeros(len(rows), length, teacher[0].shape[-1])
    for place, row in enumerate(rows):
        told[place, : len(teacher[row])] = torch.from_numpy(teacher[row])
    return told


@dataclass
class Fitted:
    """The result of a run.

    Attributes:
        history: per epoch its number, ``epoch``, and the log-losses ``train`` and, where there
            is validation, ``validation``, in nats per ball.
        seconds: of training, all starts of the run together.
    """

    model: FullModel
    history: list[dict[str, float]]
    seconds: float


def fit(
    sizes: Sizes,
    prior: np.ndarray[Any, np.dtype[np.float32]],
    train: Sequence[InningsArrays],
    validation: Sequence[InningsArrays],
    recipe: Recipe,
    *,
    teacher: Sequence[Probabilities] | None = None,
    state: Path | None = None,
    asked: Mapping[str, str] = MappingProxyType({}),
    report: Callable[[str], None] | None = None,
    among: Processes = ALONE,
) -> Fitted:
    """Train a predictor.

    With ``validation`` the epoch with the lowest validation log-loss is kept, and the run
    stops when `Recipe.patience` epochs brought none lower; without it the last one is kept.
    With ``state`` the run is written there after every epoch and goes on from there when
    started again; the same seed gives the same result either way.

    Args:
        teacher: per innings of ``train`` a teacher's probabilities ``(ball, outcome)``.
        asked: kept in ``state``; see `attnlens.training.running.check_state`.
        among: the processes of the run; each gives its innings' gradients.

    Raises:
        CheckpointError: ``state`` is no run of this recipe, these sizes, innings and teacher.
        InputError: the loss became infinite or no number.
    """
    torch.manual_seed(recipe.seed)
    model = FullModel(sizes, torch.from_numpy(prior)).to(among.device)
    per_epoch = -(-len(train) // recipe.innings)
    run = Running.new(model, recipe, recipe.epochs * per_epoch)
    mark = mark_of(sizes, train, validation, teacher)
    if state is not None and state.exists():
        run.go_on(state, recipe, asked, mark)

    def loss_on(rows: list[int], generator: np.random.Generator) -> Tensor:
        batch, outcome = training_batch([train[row] for row in rows])
        hide_and_forget(batch, recipe, generator)
        taught = None if teacher is None else taught_by(teacher, rows, outcome.shape[1])
        batch, outcome, taught = moved((batch, outcome, taught), among.device)
        return loss_of(model, batch, outcome, taught, recipe.teacher)

    def batches(epoch: int) -> Iterator[tuple[int, Loss | None]]:
        generator = np.random.default_rng([recipe.seed, epoch])
        order = length_batches(train, recipe.innings, generator)
        if among.count > 1:
            generator = np.random.default_rng([recipe.seed, epoch, among.rank])
        for rows in order:
            mine = among.share(rows)
            balls = sum(len(train[row]) for row in rows)
            yield balls, partial(loss_on, mine, generator) if mine else None

    def measure(averaged: nn.Module) -> float:
        assert isinstance(averaged, FullModel)
        return log_loss(averaged, validation, among=among)

    follow(
        run,
        recipe,
        Steps(per_epoch, batches, measure if validation else None),
        state=state,
        mark=mark,
        asked=asked,
        report=report,
        among=among,
    )
    return Fitted(run.kept, run.history, run.seconds)


def cricket_sizes(hidden_dim: int = 60, **others: Any) -> Sizes:
    """The predictor's sizes for the ball graph of `attnlens.cricket.tensors`.

    Args:
        others: fields of `Sizes` that differ from its defaults.
    """
    from attnlens.cricket.tensors import NODES, PAST_NODES, PAST_OUTCOME_SIZE, SCOREBOARD_NODES

    return Sizes(
        graph=NODES,
        past_nodes=PAST_NODES,
        outcomes=len(OUTCOMES),
        happened=PAST_OUTCOME_SIZE,
        scoreboard=SCOREBOARD_NODES,
        hidden_dim=hidden_dim,
        **others,
    )
