"""The training loop for all models. An interrupted training run can be resumed."""

from __future__ import annotations

import copy
import datetime
import math
import os
import pickle
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor, distributed, nn

from attnlens.cricket.readers import Report, silent
from attnlens.errors import CheckpointError, InputError
from attnlens.files import Floats32, written_beside

_CPU: Final = torch.device("cpu")

_LONGEST_WAIT: Final = datetime.timedelta(hours=12)
"""The longest wait for the first process, which fits the teacher and names the heads."""


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes of a training run.

    Attributes:
        rank: the index of this process, counted from 0; only process 0 writes files.
        count: the number of all processes.
        device: the device of this process.
    """

    rank: int = 0
    count: int = 1
    device: torch.device = _CPU

    @property
    def first(self) -> bool:
        return self.rank == 0

    def share(self, rows: list[int]) -> list[int]:
        """Return this process's part of a batch, which may be empty."""
        return rows[self.rank :: self.count]

    def add_up(self, values: Tensor) -> Tensor:
        """Sum a tensor over all processes, in place."""
        if self.count > 1:
            distributed.all_reduce(values)
        return values

    def add_gradients(self, model: nn.Module) -> None:
        """Replace every gradient by its sum over all processes."""
        if self.count == 1:
            return
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        # If no process has a gradient for a parameter, its gradient must stay None. With a gradient
        # of 0, weight decay would change the parameter.
        had = torch.tensor(
            [float(parameter.grad is not None) for parameter in parameters], device=self.device
        )
        gradients = [
            (torch.zeros_like(parameter) if parameter.grad is None else parameter.grad).flatten()
            for parameter in parameters
        ]
        # All gradients are sent together, because each exchange has a fixed cost.
        sizes = [len(parameters), *(parameter.numel() for parameter in parameters)]
        users, *sums = torch.split(self.add_up(torch.cat([had, *gradients])), sizes)
        for parameter, count, total in zip(parameters, users.tolist(), sums, strict=True):
            if count:
                parameter.grad = total.view_as(parameter)

    def from_first(self, make: Callable[[], Floats32]) -> Floats32:
        """Call ``make`` in the first process only, and return the result in every process.

        Raises:
            InputError: ``make`` failed in the first process.
        """
        if self.count == 1:
            return make()
        made: list[Floats32 | None] = [None]
        try:
            if self.first:
                made = [make()]
        finally:
            # The other processes wait for this call, so it is made even after a failure.
            distributed.broadcast_object_list(made, 0, device=self.device)
        if made[0] is None:
            raise InputError("the first process failed", remedy="see its error message")
        return made[0]

    def close(self) -> None:
        """Wait for the other processes, and end the connection to them."""
        if self.count > 1:
            distributed.barrier()
            distributed.destroy_process_group()


_ONE_PROCESS: Final = Processes()


def processes(device: str = "cpu") -> Processes:
    """Return the processes of this run, which ``torchrun`` describes in environment variables.

    If ``device`` is ``cuda``, each process uses its own GPU.

    Raises:
        InputError: ``cuda`` is not available, or the processes cannot connect to each other.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError(
            "--device cuda: torch finds no GPU on this machine", remedy="use --device cpu"
        )
    rank, count = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    chosen = torch.device(device)
    if device == "cuda":
        chosen = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(chosen)
    if count > 1:
        way = "nccl" if device == "cuda" else "gloo"
        try:
            distributed.init_process_group(way, timeout=_LONGEST_WAIT)
        except (RuntimeError, ValueError) as error:
            raise InputError(
                f"{count} processes cannot connect to each other ({error})",
                remedy="start with torchrun",
            ) from None
    return Processes(rank, count, chosen)


M = TypeVar("M", bound=nn.Module)
T = TypeVar("T")
ParameterGroup: TypeAlias = dict[str, list[nn.Parameter] | float]
Epoch = dict[str, float]
"""The number of the epoch, from 1, and the mean losses ``train`` and ``validation`` (if any)."""

_DAMAGE: Final = (
    *(pickle.UnpicklingError, EOFError, OSError, RuntimeError),
    *(AttributeError, LookupError, TypeError, ValueError),
)
"""The errors that torch raises for a file that is damaged, or is not a saved state."""

_PARTS: Final = ("model", "best_model", "optimiser", "schedule")


@dataclass(frozen=True, slots=True)
class Schedule:
    """The hyperparameters that all models have.

    Attributes:
        warm_up: the number of steps in which the learning rate rises, before a cosine decay.
        final: the learning rate of the last step, as a share of ``learning_rate``.
        clip: the largest norm of the gradient.
        average: the decay of the moving average of the weights.
        patience: the run stops after this number of epochs without a lower validation loss.
    """

    epochs: int = 8
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    warm_up: int = 100
    final: float = 0.02
    clip: float = 1.0
    average: float = 0.995
    patience: int = 3
    seed: int = 5


@dataclass(frozen=True, slots=True)
class TrainingLoop:
    """The state file, the progress reports and the processes of a run.

    Attributes:
        state: the path of the saved state, or ``None`` if no state is saved.
        mark: a hash of the run's matches, sizes and teacher.
        report: called with progress messages.
        among: the processes of the run.
    """

    state: Path | None = None
    mark: str = ""
    report: Report = silent
    among: Processes = _ONE_PROCESS


class TrainingSet(ABC, Generic[M, T]):
    """The data of a training run, and the loss of a batch.

    The data are rows, such as innings. The loss is averaged over the units of the rows, such as
    balls.

    Attributes:
        train: the rows for training.
        check: the rows for validation; empty if there is no validation.
        at_once: the number of rows in a training step.
        checked_at_once: the number of rows in a forward pass of the validation.
        noise: the largest random number added to a row's length before sorting.
        unit: the name of the units.
    """

    unit: ClassVar[str]
    noise: ClassVar[int]
    checked_at_once: ClassVar[int]

    def __init__(self, train: Sequence[T], check: Sequence[T], at_once: int) -> None:
        self.train, self.check, self.at_once = train, check, at_once

    @abstractmethod
    def length(self, row: T) -> int:
        """Return the length of a row. Rows with similar lengths are put in the same batch."""

    def weight(self, row: T) -> int:
        """Return the number of units in a row."""
        return self.length(row)

    @abstractmethod
    def loss(
        self,
        model: M,
        rows: Sequence[T],
        device: torch.device,
        generator: np.random.Generator | None = None,
    ) -> Tensor:
        """Return the loss of a batch, summed over its units.

        In training, inputs are hidden at random, using ``generator``. In validation, ``generator``
        is ``None`` and no inputs are hidden.
        """

    def batches(self, generator: np.random.Generator) -> list[list[int]]:
        """Return batches, in random order, of the indices of rows with similar lengths."""
        lengths = np.array([self.length(row) for row in self.train])
        order = np.argsort(lengths + self.noise * generator.random(len(lengths)))
        starts = range(0, len(order), self.at_once)
        batches = [order[start : start + self.at_once].tolist() for start in starts]
        generator.shuffle(batches)
        return batches

    def measure(self, model: M, among: Processes = _ONE_PROCESS) -> float:
        """Return the mean loss of the validation rows, in nats per unit."""
        model.eval()
        sums = torch.zeros(2, dtype=torch.float64, device=among.device)
        order = sorted(range(len(self.check)), key=lambda row: self.length(self.check[row]))
        with torch.no_grad():
            for start in range(0, len(order), self.checked_at_once):
                mine = among.share(order[start : start + self.checked_at_once])
                rows = [self.check[row] for row in mine]
                if rows:
                    sums[0] += self.loss(model, rows, among.device)
                    sums[1] += sum(map(self.weight, rows))
        total, count = among.add_up(sums).tolist()
        return float(total / max(count, 1))


@dataclass(frozen=True, slots=True, eq=False)
class TrainedModel(Generic[M]):
    """A trained model, and its losses in each epoch, in nats per unit."""

    model: M
    history: list[Epoch]


def decay_groups(model: nn.Module, weight_decay: float) -> list[ParameterGroup]:
    """Divide the parameters of a model into two groups: with and without weight decay.

    Matrices have weight decay. Vectors, norms, bias tables and embeddings have no weight decay.
    """
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


class WeightAverage:
    """A moving average of a model's weights. The average is corrected for its start at zero."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.steps = 0
        self.sums = [torch.zeros_like(p) for p in model.parameters()]

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.steps += 1
        for total, parameter in zip(self.sums, model.parameters(), strict=True):
            total.lerp_(parameter, 1 - self.decay)

    @torch.no_grad()
    def copy_to(self, model: nn.Module) -> None:
        correction = 1 - self.decay**self.steps
        for total, parameter in zip(self.sums, model.parameters(), strict=True):
            parameter.copy_(total / correction)


@dataclass
class RunState(Generic[M]):
    """The state of a run between two epochs.

    Attributes:
        model: the model after the last training step.
        average: the moving average of the weights.
        best_model: the model with the best averaged weights so far.
        best: the loss of ``best_model``, in nats per unit.
        seconds: the training time so far, including the time before the run was resumed.
    """

    model: M
    best_model: M
    optimiser: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.LRScheduler
    average: WeightAverage
    best: float = math.inf
    history: list[Epoch] = field(default_factory=list)
    seconds: float = 0.0

    @classmethod
    def new(cls, model: M, recipe: Schedule, steps: int) -> RunState[M]:
        """Return the state of a run before its first step. The run will have ``steps`` steps."""
        optimiser = torch.optim.AdamW(
            decay_groups(model, recipe.weight_decay), lr=recipe.learning_rate, betas=(0.9, 0.98)
        )

        def rate(step: int) -> float:
            if step < recipe.warm_up:
                return (step + 1) / recipe.warm_up
            done = (step - recipe.warm_up) / max(1, steps - recipe.warm_up)
            return recipe.final + (1 - recipe.final) * (1 + math.cos(math.pi * min(done, 1.0))) / 2

        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, rate)
        average = WeightAverage(model, recipe.average)
        return cls(model, copy.deepcopy(model), optimiser, schedule, average)

    @property
    def since_better(self) -> int:
        """The number of epochs since the epoch with the lowest validation loss."""
        losses = [epoch["validation"] for epoch in self.history]
        return len(losses) - 1 - losses.index(min(losses)) if losses else 0

    def save(self, path: Path, recipe: Schedule, mark: str) -> None:
        """Write the state of the run to a file, which is replaced atomically."""
        # Python opens the file, because torch does not report why a path cannot be written.
        with written_beside(path, lasting=True) as part, part.open("wb") as file:
            torch.save(
                {
                    "run": {**asdict(recipe), "mark": mark},
                    **{name: getattr(self, name).state_dict() for name in _PARTS},
                    "average": self.average.sums,
                    "steps": self.average.steps,
                    "best": self.best,
                    "history": self.history,
                    "seconds": self.seconds,
                },
                file,
            )

    def go_on(self, path: Path, recipe: Schedule, mark: str) -> None:
        """Load the saved state of a run. `saved_run` documents the errors."""
        saved = saved_run(path, recipe, mark)
        try:
            for name in _PARTS:
                getattr(self, name).load_state_dict(saved[name])
            for total, value in zip(self.average.sums, saved["average"], strict=True):
                total.copy_(value)
            self.average.steps = int(saved["steps"])
            self.best, self.seconds = float(saved["best"]), float(saved["seconds"])
            self.history = [dict(row) for row in saved["history"]]
        except _DAMAGE:
            raise no_state(path) from None


def saved_run(path: Path, recipe: Schedule, mark: str) -> dict[str, Any]:
    """Read the saved state of a run.

    Raises:
        CheckpointError: the file is not the state of a run with these hyperparameters and this
            mark.
    """
    try:
        saved = dict(torch.load(path, map_location="cpu", weights_only=True))
        if saved["run"] == {**asdict(recipe), "mark": mark}:
            return saved
    except _DAMAGE:
        raise no_state(path) from None
    raise CheckpointError(
        "contains a training run with other settings, matches, sizes or teacher",
        path=path,
        remedy="remove the file, or name another file",
    )


def no_state(path: Path) -> CheckpointError:
    """Return the error for a file that is not the state of a run."""
    return CheckpointError(
        "is not the saved state of a training run",
        path=path,
        remedy="remove the file, or name another file",
    )


def run_training(
    make: Callable[[], M], training_set: TrainingSet[M, T], recipe: Schedule, loop: TrainingLoop
) -> TrainedModel[M]:
    """Train a model.

    ``make`` returns a model with new weights. The weights of the epoch with the lowest validation
    loss are kept. Without validation rows, the weights of the last epoch are kept.

    The state is saved to the loop's state file after every epoch. If the file exists, the run is
    resumed. A resumed run gives the same weights as an uninterrupted run with the same seed,
    machine and number of threads.

    Raises:
        CheckpointError: as in `saved_run`.
        InputError: the loss became infinite or NaN.
    """
    state, report, among = loop.state, loop.report, loop.among
    torch.manual_seed(recipe.seed)
    model = make().to(among.device)
    steps = -(-len(training_set.train) // training_set.at_once)
    run = RunState.new(model, recipe, recipe.epochs * steps)
    if state is not None and state.exists():
        run.go_on(state, recipe, loop.mark)
    for epoch in range(len(run.history), recipe.epochs):
        if training_set.check and run.since_better >= recipe.patience:
            report(
                f"stopped, because the validation loss did not improve for {recipe.patience} epochs"
            )
            break
        started = time.perf_counter()
        trained = _epoch(run, training_set, recipe, loop, epoch)
        averaged = copy.deepcopy(run.model)
        run.average.copy_to(averaged)
        measured = training_set.measure(averaged, among) if training_set.check else trained
        if not (math.isfinite(trained) and math.isfinite(measured)):
            raise InputError(
                f"the loss of epoch {epoch + 1} is not finite: the run has diverged",
                remedy="lower --set learning_rate",
            )
        if measured < run.best or not training_set.check:
            run.best = measured
            run.best_model.load_state_dict(averaged.state_dict())
        run.seconds += time.perf_counter() - started
        entry: Epoch = {"epoch": epoch + 1, "train": trained}
        run.history.append({**entry, "validation": measured} if training_set.check else entry)
        name = "validation" if training_set.check else "training"
        report(f"epoch {epoch + 1}: {name} log-loss {measured:.5f}  ({run.seconds:.0f} s)")
        if state is not None and among.first:
            run.save(state, recipe, loop.mark)
    return TrainedModel(run.best_model.cpu().eval(), run.history)


def _epoch(
    run: RunState[M],
    training_set: TrainingSet[M, T],
    recipe: Schedule,
    loop: TrainingLoop,
    epoch: int,
) -> float:
    among, steps = loop.among, -(-len(training_set.train) // training_set.at_once)
    torch.manual_seed((recipe.seed * 1000 + epoch) * 1000 + among.rank)
    started, total = time.perf_counter(), recipe.epochs * steps
    model = run.model
    model.train()
    running = torch.zeros((), dtype=torch.float64, device=among.device)
    generator = np.random.default_rng([recipe.seed, epoch])
    order = training_set.batches(generator)
    if among.count > 1:
        generator = np.random.default_rng([recipe.seed, epoch, among.rank])
    units = 0
    for number, batch in enumerate(order):
        rows = [training_set.train[row] for row in among.share(batch)]
        count = sum(training_set.weight(training_set.train[row]) for row in batch)
        units += count
        run.optimiser.zero_grad()
        if rows:
            loss = training_set.loss(model, rows, among.device, generator) / count
            torch.autograd.backward(loss)
            running += loss.detach() * count
        among.add_gradients(model)
        nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        run.optimiser.step()
        run.schedule.step()
        run.average.update(model)
        if number % 50 == 49:
            seconds = time.perf_counter() - started
            left = seconds / (number + 1) * (total - epoch * steps - number - 1)
            loop.report(
                f"epoch {epoch + 1}/{recipe.epochs}  step {number + 1}/{steps}  "
                f"loss {float(running) * among.count / units:.4f}  "
                f"{units / seconds:,.0f} {training_set.unit}/s  {left / 60:.0f} min left"
            )
    return float(among.add_up(running)) / units
