"""The processes of one training run: one alone, or several that ``torchrun`` started.

Every process holds the same weights. Each works on its share of a batch's innings; the
gradients of all are added before anyone takes a step, so the run is the same optimisation
whatever the number of processes.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, distributed, nn

from attnlens.arrays import Floats32
from attnlens.errors import InputError

CPU: Final = torch.device("cpu")

LONGEST_WAIT: Final = datetime.timedelta(hours=12)
"""The others wait while the first process fits a teacher or names the heads."""


@dataclass(frozen=True, slots=True)
class Processes:
    """Who of how many this process is (the first one writes and reports), and where it computes."""

    rank: int = 0
    count: int = 1
    device: torch.device = CPU

    @property
    def first(self) -> bool:
        return self.rank == 0

    def share(self, rows: list[int]) -> list[int]:
        """This process's part of a batch; it may be empty."""
        return rows[self.rank :: self.count]

    def add_up(self, values: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        if self.count > 1:
            distributed.all_reduce(values)
        return values

    def add_gradients(self, model: nn.Module) -> None:
        """Replace every gradient by its sum over all processes."""
        if self.count == 1:
            return
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        # Who has a gradient at all: what nobody uses is not to decay either.
        had = torch.tensor([float(one.grad is not None) for one in parameters], device=self.device)
        gradients = [
            (torch.zeros_like(one) if one.grad is None else one.grad).flatten()
            for one in parameters
        ]
        # All in one piece: every exchange between processes has a price of its own.
        sizes = [len(parameters), *(one.numel() for one in parameters)]
        users, *sums = torch.split(self.add_up(torch.cat([had, *gradients])), sizes)
        for parameter, count, total in zip(parameters, users.tolist(), sums, strict=True):
            if count:
                parameter.grad = total.view_as(parameter)

    def from_first(self, make: Callable[[], Floats32]) -> Floats32:
        """The array that the first process makes, in every process; an InputError where it could
        not.
        """
        if self.count == 1:
            return make()
        made: list[Floats32 | None] = [None]
        try:
            if self.first:
                made = [make()]
        finally:
            # Also where the first one gave up: the others would wait for ever.
            distributed.broadcast_object_list(made, 0, device=self.device)
        if made[0] is None:
            raise InputError("the first process gave up", remedy="see what it said")
        return made[0]

    def close(self) -> None:
        """Wait for the others and part."""
        if self.count > 1:
            distributed.barrier()
            distributed.destroy_process_group()


ALONE: Final = Processes()


def processes(device: str = "cpu") -> Processes:
    """The processes of this run, from the environment that ``torchrun`` sets.

    On ``cuda`` each has its own GPU.

    Raises:
        InputError: ``cuda`` where there is none, or processes that cannot find each other.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: torch finds no GPU here", remedy="use --device cpu")
    rank, count = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    place = torch.device(device)
    if device == "cuda":
        place = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(place)
    if count > 1:
        way = "nccl" if device == "cuda" else "gloo"
        try:
            distributed.init_process_group(way, timeout=LONGEST_WAIT)
        except (RuntimeError, ValueError) as error:
            raise InputError(
                f"{count} processes cannot find each other ({error})", remedy="start with torchrun"
            ) from None
    return Processes(rank, count, place)
