"""Training the predictor: one pass per innings, every ball of it a query at once."""

from __future__ import annotations

import math
import os
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.cricket.batch import training_batch
from attnlens.cricket.outcomes import OUTCOMES
from attnlens.cricket.tensors import InningsArrays
from attnlens.errors import CheckpointError
from attnlens.models.predictor import KNOWLEDGE, FullModel, Sizes


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
    hide_some: float = 0.2
    hide_all: float = 0.05
    hide_player: float = 0.07
    hide_block: float = 0.07
    forget: float = 0.12
    forget_past: float = 0.04
    patience: int = 3
    teacher: float = 0.5
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


def decay_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Matrices decay; vectors, norms, bias tables and embeddings do not."""
    decayed: list[nn.Parameter] = []
    free: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        matrix = parameter.dim() >= 2 and not name.endswith((".bias", ".position"))
        embedding = ".over." in name or ".ball_in_over." in name
        (decayed if matrix and not embedding else free).append(parameter)
    return [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": free, "weight_decay": 0.0},
    ]


class Average:
    """A moving average of a model's weights, with the start's bias taken out."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.steps = 0
        self.sums = [torch.zeros_like(p) for p in model.parameters()]

    def update(self, model: nn.Module) -> None:
        self.steps += 1
        with torch.no_grad():
            for total, parameter in zip(self.sums, model.parameters(), strict=True):
                total.lerp_(parameter, 1 - self.decay)

    def copy_to(self, model: nn.Module) -> None:
        correction = 1 - self.decay**self.steps
        with torch.no_grad():
            for total, parameter in zip(self.sums, model.parameters(), strict=True):
                parameter.copy_(total / correction)


def log_loss(model: FullModel, innings: Sequence[InningsArrays], size: int = 32) -> float:
    """Mean negative log-probability of what happened, in nats per ball."""
    model.eval()
    total, count = 0.0, 0
    order = sorted(range(len(innings)), key=lambda number: len(innings[number]))
    with torch.no_grad():
        for start in range(0, len(order), size):
            batch, outcome = training_batch([innings[n] for n in order[start : start + size]])
            total += float(loss_of(model, batch, outcome, "sum"))
            count += int((outcome >= 0).sum())
    return total / max(count, 1)


def loss_of(model: FullModel, batch: dict[str, Any], outcome: Tensor, how: str) -> Tensor:
    """Cross-entropy over the balls that are not padding."""
    logits = model(batch)
    return nn.functional.cross_entropy(
        logits.flatten(0, 1), outcome.flatten(), ignore_index=-1, reduction=how
    )


@dataclass
class Fitted:
    """The result of a run."""

    model: FullModel
    history: list[dict[str, float]]
    seconds: float


def begun(state: Path, model: FullModel, recipe: Recipe) -> dict[str, Any]:
    """What an earlier run wrote, its weights already in ``model``.

    Raises:
        CheckpointError: the file is not a run's state, or the run had other settings.
    """
    try:
        saved: dict[str, Any] = torch.load(state, weights_only=True)
        settings, weights = saved["recipe"], saved["model"]
    except (pickle.UnpicklingError, EOFError, RuntimeError, KeyError, TypeError, ValueError):
        raise CheckpointError(
            "is not the state of a training run", path=state, remedy="remove it"
        ) from None
    other = CheckpointError(
        "a run with other settings was begun here", path=state, remedy="remove it"
    )
    if settings != asdict(recipe):
        raise other
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        # Another width: torch lists every tensor that does not fit.
        raise other from None
    return saved


def fit(
    sizes: Sizes,
    prior: np.ndarray[Any, np.dtype[np.float32]],
    train: Sequence[InningsArrays],
    validation: Sequence[InningsArrays],
    recipe: Recipe,
    *,
    state: Path | None = None,
    report: Callable[[str], None] | None = None,
) -> Fitted:
    """Train a predictor.

    With ``validation`` the epoch with the lowest validation log-loss is kept; without it
    the last one is. With ``state`` the run is written there after every epoch and goes on
    from there when started again; the same seed gives the same result either way.

    Raises:
        CheckpointError: ``state`` is no run of this recipe and these sizes.
    """
    torch.manual_seed(recipe.seed)
    model = FullModel(sizes, torch.from_numpy(prior))
    optimiser = torch.optim.AdamW(
        decay_groups(model, recipe.weight_decay), lr=recipe.learning_rate, betas=(0.9, 0.98)
    )
    per_epoch = -(-len(train) // recipe.innings)
    steps = recipe.epochs * per_epoch

    def rate(step: int) -> float:
        if step < recipe.warm_up:
            return (step + 1) / recipe.warm_up
        done = (step - recipe.warm_up) / max(1, steps - recipe.warm_up)
        return recipe.final + (1 - recipe.final) * (1 + math.cos(math.pi * min(done, 1.0))) / 2

    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, rate)
    average = Average(model, recipe.average)
    kept = FullModel(sizes, torch.from_numpy(prior))
    best = math.inf
    history: list[dict[str, float]] = []
    seconds = 0.0
    first = 0
    if state is not None and state.exists():
        saved = begun(state, model, recipe)
        kept.load_state_dict(saved["kept"])
        optimiser.load_state_dict(saved["optimiser"])
        schedule.load_state_dict(saved["schedule"])
        average.sums, average.steps = saved["average"], saved["steps"]
        best, history, seconds = saved["best"], saved["history"], saved["seconds"]
        first = saved["epoch"]

    for epoch in range(first, recipe.epochs):
        started = time.perf_counter()
        generator = np.random.default_rng([recipe.seed, epoch])
        torch.manual_seed(recipe.seed * 1000 + epoch)
        model.train()
        running, seen = 0.0, 0
        batches = length_batches(train, recipe.innings, generator)
        for number, rows in enumerate(batches):
            batch, outcome = training_batch([train[row] for row in rows])
            hide_and_forget(batch, recipe, generator)
            loss = loss_of(model, batch, outcome, "mean")
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
            optimiser.step()
            schedule.step()
            average.update(model)
            balls = int((outcome >= 0).sum())
            running, seen = running + loss.item() * balls, seen + balls
            if report and number % 50 == 49:
                report(
                    f"epoch {epoch + 1}/{recipe.epochs}  step {number + 1}/{per_epoch}  "
                    f"loss {running / seen:.4f}  {time.perf_counter() - started:.0f} s"
                )
        averaged = FullModel(sizes, torch.from_numpy(prior))
        averaged.load_state_dict(model.state_dict())
        average.copy_to(averaged)
        measured = log_loss(averaged, validation) if validation else running / seen
        if measured < best or not validation:
            best = measured
            kept.load_state_dict(averaged.state_dict())
        seconds += time.perf_counter() - started
        history.append({"epoch": epoch + 1, "train": running / seen, "validation": measured})
        if report:
            name = "validation" if validation else "training"
            report(f"epoch {epoch + 1}: {name} log-loss {measured:.5f}  ({seconds:.0f} s)")
        if state is not None:
            part = state.with_name(state.name + ".part")
            torch.save(
                {
                    "recipe": asdict(recipe),
                    "model": model.state_dict(),
                    "kept": kept.state_dict(),
                    "optimiser": optimiser.state_dict(),
                    "schedule": schedule.state_dict(),
                    "average": average.sums,
                    "steps": average.steps,
                    "best": best,
                    "history": history,
                    "seconds": seconds,
                    "epoch": epoch + 1,
                },
                part,
            )
            os.replace(part, state)
    kept.eval()
    return Fitted(kept, history, seconds)


def cricket_sizes(hidden_dim: int = 60, dropout: float = 0.2) -> Sizes:
    """The predictor's sizes for the ball graph of `attnlens.cricket.tensors`."""
    from attnlens.cricket.tensors import NODES, PAST_NODES, PAST_OUTCOME_SIZE, SCOREBOARD_NODES

    return Sizes(
        graph=NODES,
        past_nodes=PAST_NODES,
        outcomes=len(OUTCOMES),
        happened=PAST_OUTCOME_SIZE,
        scoreboard=SCOREBOARD_NODES,
        hidden_dim=hidden_dim,
        dropout=dropout,
    )
