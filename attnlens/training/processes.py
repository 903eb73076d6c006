"""The processes of one training run: one alone, or several that ``torchrun`` started.

Every process holds the same weights. Each works on its share of a batch's innings; the
gradients of all are added before anyone takes a step, so the run is the same optimisation
whatever the number of processes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, distributed, nn

from attnlens.errors import InputError
from attnlens.models.relations import Balls

CPU: Final = torch.device("cpu")


@dataclass(frozen=True, slots=True)
class Processes:
    """Who of how many this process is, and where it computes.

    Attributes:
        rank: from 0; the first one writes files and reports.
        count: how many there are.
        device: of this process.
    """

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
        told = [
            torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            for parameter in parameters
        ]
        # Beside the gradients, who has one at all: what nobody uses is not to decay either.
        used = told[0].new_tensor([float(parameter.grad is not None) for parameter in parameters])
        flat = self.add_up(torch.cat([used, *(gradient.flatten() for gradient in told)]))
        start = len(parameters)
        for parameter, users in zip(parameters, flat[:start].tolist(), strict=True):
            size = parameter.numel()
            gradient = flat[start : start + size].view_as(parameter).clone()
            parameter.grad = gradient if users else None
            start += size

    def close(self) -> None:
        """Wait for the others and part."""
        if self.count > 1:
            distributed.barrier()
            distributed.destroy_process_group()


def processes(device: str = "cpu") -> Processes:
    """The processes of this run, from the environment that ``torchrun`` sets.

    Args:
        device: ``cpu``, ``cuda`` (each process its own GPU), or ``auto``: a GPU where there
            is one.

    Raises:
        InputError: ``cuda`` where there is none, or processes that cannot find each other.
    """
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: torch finds no GPU here", remedy="use --device cpu")
    rank, count = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    place = torch.device(device)
    if device == "cuda":
        place = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(place)
    if count > 1:
        try:
            distributed.init_process_group("nccl" if device == "cuda" else "gloo")
        except (RuntimeError, ValueError) as error:
            raise InputError(
                f"{count} processes cannot find each other ({error})", remedy="start with torchrun"
            ) from None
    return Processes(rank, count, place)


def moved(value: Any, device: torch.device) -> Any:
    """The same structure with every tensor on ``device``."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, tuple):
        return tuple(moved(member, device) for member in value)
    if isinstance(value, Mapping):
        return {name: moved(member, device) for name, member in value.items()}
    if isinstance(value, Balls):
        return Balls(**{name: moved(getattr(value, name), device) for name in Balls.__slots__})
    return value
