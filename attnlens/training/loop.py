"""The course of a training run: epochs of steps, whatever the model and the loss are."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import torch
from torch import Tensor, nn

from attnlens.errors import InputError
from attnlens.training.processes import ALONE, Processes
from attnlens.training.running import Pace, Running

M = TypeVar("M", bound=nn.Module)
Loss = Callable[[], Tensor]
"""Runs the model on a part of a batch; the loss is summed over what it counts."""


@dataclass(frozen=True, slots=True)
class Steps:
    """What a run does in an epoch.

    Attributes:
        count: steps of an epoch.
        batches: by the epoch's number from 0, for each step how much the loss of all processes
            is summed over, and this process's part of it (``None``: nothing).
        measure: the validation loss of a model; ``None`` without validation.
        unit: what the loss is counted over.
    """

    count: int
    batches: Callable[[int], Iterable[tuple[int, Loss | None]]]
    measure: Callable[[nn.Module], float] | None
    unit: str = "balls"


def follow(
    run: Running[M],
    recipe: Pace,
    steps: Steps,
    *,
    state: Path | None = None,
    mark: str = "",
    asked: Mapping[str, str] = MappingProxyType({}),
    report: Callable[[str], None] | None = None,
    among: Processes = ALONE,
) -> None:
    """Run the epochs that are left.

    With validation the epoch with the lowest validation loss is kept, and the run stops when
    `Pace.patience` epochs brought none lower; without it the last one is kept. With ``state``
    the run is written there after every epoch.

    Args:
        mark, asked: see `Running.go_on`.

    Raises:
        InputError: the loss became infinite or no number.
    """
    history = run.history
    for epoch in range(len(history), recipe.epochs):
        if steps.measure and len(history) - _best_epoch(history) >= recipe.patience:
            if report:
                report(f"no better for {recipe.patience} epochs: stopped")
            break
        started = time.perf_counter()
        trained = _epoch(run, recipe, steps, epoch, report, among)
        averaged = copy.deepcopy(run.model)
        run.average.copy_to(averaged)
        measured = steps.measure(averaged) if steps.measure else trained
        if not (math.isfinite(trained) and math.isfinite(measured)):
            raise InputError(
                f"the loss of epoch {epoch + 1} is not finite: the run has diverged",
                remedy="lower --set learning_rate",
            )
        if measured < run.best or not steps.measure:
            run.best = measured
            run.kept.load_state_dict(averaged.state_dict())
        run.seconds += time.perf_counter() - started
        history.append({"epoch": epoch + 1, "train": trained})
        if steps.measure:
            history[-1]["validation"] = measured
        if report:
            name = "validation" if steps.measure else "training"
            report(f"epoch {epoch + 1}: {name} log-loss {measured:.5f}  ({run.seconds:.0f} s)")
        if state is not None and among.first:
            run.save(state, recipe, mark, asked)
    run.kept.cpu().eval()


def _epoch(
    run: Running[M],
    recipe: Pace,
    steps: Steps,
    epoch: int,
    report: Callable[[str], None] | None,
    among: Processes,
) -> float:
    """Take every step of one epoch; the mean loss of what was trained on."""
    torch.manual_seed((recipe.seed * 1000 + epoch) * 1000 + among.rank)
    started, total = time.perf_counter(), recipe.epochs * steps.count
    model = run.model
    model.train()
    running = torch.zeros((), dtype=torch.float64, device=among.device)
    seen = 0
    for number, (count, loss_of) in enumerate(steps.batches(epoch)):
        seen += count
        run.optimiser.zero_grad()
        if loss_of is not None:
            loss = loss_of() / count
            torch.autograd.backward(loss)
            running += loss.detach() * count
        among.add_gradients(model)
        nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        run.optimiser.step()
        run.schedule.step()
        run.average.update(model)
        if report and number % 50 == 49:
            spent = time.perf_counter() - started
            left = spent / (number + 1) * (total - epoch * steps.count - number - 1)
            report(
                f"epoch {epoch + 1}/{recipe.epochs}  step {number + 1}/{steps.count}  "
                f"loss {float(running) * among.count / seen:.4f}  "
                f"{seen / spent:,.0f} {steps.unit}/s  {left / 60:.0f} min left"
            )
    return float(among.add_up(running)) / seen


def _best_epoch(history: Sequence[Mapping[str, float]]) -> int:
    """How many epochs it took to the best one."""
    losses = [epoch["validation"] for epoch in history]
    return losses.index(min(losses)) + 1 if losses else 0
