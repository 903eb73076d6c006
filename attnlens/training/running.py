"""A training run between two epochs, kept in a file so that it can go on after a stop.

A file that cannot be gone on from is refused before the work: `check_state` looks at what is
known at the start, and again once the matches are known; `fit` looks at all of it.
"""

from __future__ import annotations

import copy
import hashlib
import math
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import nn

from attnlens.cricket.tensors import InningsArrays
from attnlens.errors import CheckpointError
from attnlens.files import written_beside
from attnlens.models.predictor import Sizes

Probabilities = np.ndarray[Any, np.dtype[np.float32]]

M = TypeVar("M", bound=nn.Module)


class Pace(Protocol):
    """What every recipe says of a run's course; see `attnlens.training.fit.Recipe`."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def epochs(self) -> int: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def weight_decay(self) -> float: ...
    @property
    def warm_up(self) -> int: ...
    @property
    def final(self) -> float: ...
    @property
    def clip(self) -> float: ...
    @property
    def average(self) -> float: ...
    @property
    def patience(self) -> int: ...
    @property
    def seed(self) -> int: ...


DAMAGE: Final = (
    pickle.UnpicklingError,
    EOFError,
    OSError,
    RuntimeError,
    AttributeError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
)
"""What torch raises on bytes that are no state of ours."""


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


@dataclass
class Running(Generic[M]):
    """A run between two epochs.

    Attributes:
        model: as the last step left it; ``kept``: the best so far, averaged.
        best: log-loss of ``kept``, in nats per ball.
        history: see `attnlens.training.fit.Fitted`.
        seconds: of training so far, all starts together.
    """

    model: M
    kept: M
    optimiser: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.LRScheduler
    average: Average
    best: float = math.inf
    history: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0

    @classmethod
    def new(cls, model: M, recipe: Pace, steps: int) -> Running[M]:
        """Before the first of ``steps`` steps."""
        optimiser = torch.optim.AdamW(
            decay_groups(model, recipe.weight_decay), lr=recipe.learning_rate, betas=(0.9, 0.98)
        )

        def rate(step: int) -> float:
            if step < recipe.warm_up:
                return (step + 1) / recipe.warm_up
            done = (step - recipe.warm_up) / max(1, steps - recipe.warm_up)
            return recipe.final + (1 - recipe.final) * (1 + math.cos(math.pi * min(done, 1.0))) / 2

        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, rate)
        average = Average(model, recipe.average)
        return cls(model, copy.deepcopy(model), optimiser, schedule, average)

    def save(self, path: Path, recipe: Pace, mark: str, asked: Mapping[str, str]) -> None:
        """Write the run, whole or not at all; the arguments are those of `go_on`."""
        with written_beside(path) as part:
            torch.save(
                {
                    "recipe": asdict(recipe),
                    "asked": dict(asked),
                    "mark": mark,
                    "model": self.model.state_dict(),
                    "kept": self.kept.state_dict(),
                    "optimiser": self.optimiser.state_dict(),
                    "schedule": self.schedule.state_dict(),
                    "average": self.average.sums,
                    "steps": self.average.steps,
                    "best": self.best,
                    "history": self.history,
                    "seconds": self.seconds,
                },
                part,
            )

    def go_on(
        self, path: Path, recipe: Pace, asked: Mapping[str, str], mark: str | None = None
    ) -> None:
        """Go on from what an earlier run wrote.

        Args:
            asked: what is known of this run's material, each part by name.
            mark: `mark_of` this run, once all of it is known.

        Raises:
            CheckpointError: the file is not a run's state, or the run had other settings or
                other material.
        """
        no_state = CheckpointError(
            "is not the state of a training run", path=path, remedy="remove it"
        )
        other = CheckpointError(
            "a run with other settings was begun here", path=path, remedy="remove it"
        )
        try:
            saved: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
            settings, weights = saved["recipe"], saved["model"]
        except DAMAGE:
            raise no_state from None
        if settings != asdict(recipe):
            raise other
        try:
            self.model.load_state_dict(weights)
        except DAMAGE:
            # Another width: torch lists every tensor that does not fit.
            raise other from None
        known = saved.get("asked", {})
        same = mark is None or saved.get("mark", mark) == mark
        if not same or any(known.get(name, value) != value for name, value in asked.items()):
            raise CheckpointError(
                "a run with other matches, sizes or teachers was begun here",
                path=path,
                remedy="remove it, or name another file",
            )
        try:
            self.kept.load_state_dict(saved["kept"])
            self.optimiser.load_state_dict(saved["optimiser"])
            self.schedule.load_state_dict(saved["schedule"])
            for total, value in zip(self.average.sums, saved["average"], strict=True):
                total.copy_(value)
            self.average.steps = int(saved["steps"])
            self.best, self.seconds = float(saved["best"]), float(saved["seconds"])
            self.history = [dict(row) for row in saved["history"]]
        except DAMAGE:
            raise no_state from None


def check_state(path: Path, model: nn.Module, recipe: Pace, asked: Mapping[str, str]) -> None:
    """Whether a run could begin, or go on, with its state in ``path``.

    Args:
        model: one such as the run trains; its weights may be taken from there.
        asked: what is known so far of the run's material, each part by name.

    Raises:
        CheckpointError: there is a file, and it is no state of such a run.
    """
    if path.exists():
        Running.new(model, recipe, steps=1).go_on(path, recipe, asked)


def mark_of(
    sizes: Sizes,
    train: Sequence[InningsArrays],
    validation: Sequence[InningsArrays],
    teacher: Sequence[Probabilities] | None,
) -> str:
    """What tells one run's material from another's: sizes, what happened, what was taught."""
    mark = hashlib.sha256(repr(sizes).encode())
    for part in (train, validation):
        mark.update(repr([len(one) for one in part]).encode())
        for one in part:
            mark.update(one.outcome.tobytes())
    for told in teacher or ():
        mark.update(told.tobytes())
    return mark.hexdigest()
