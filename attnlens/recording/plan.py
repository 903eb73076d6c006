"""What the operators of a model's last call made of axes, to be known at once in the next."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn

from attnlens.recording.tracking import Axes, Tracker, has_memory

_MOST_STEPS: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Step:
    """One operator: its arguments that are no tensors, and its result.

    ``axes`` is None where it has to be looked at again: it told of attention, changed a tensor in
    dim or gave several.
    """

    func: Any
    rest: tuple[Any, ...] | None
    shape: torch.Size | None
    axes: Axes | None


class Plan:
    """The operators of one call of a model, in their order.

    While the next call runs the same operators with results of the same shapes, their axes are
    those of the last. With the first that differs the plan ends, and a new one is made next time.
    """

    def __init__(self) -> None:
        self._steps: list[_Step] = []
        self._place = 0
        self._is_kept = False
        self._is_written = False

    @classmethod
    def of(cls, model: nn.Module, has_adapters: bool) -> Plan:
        """The plan of a model's last call in this thread; a new one, to be written, without."""
        if has_adapters:  # which change what counts as attention
            return cls()
        plan = _plans.by_model.get(model)
        if plan is None or not plan._steps:
            plan = _plans.by_model[model] = cls()
            plan._is_written = True
            return plan
        plan._place, plan._is_kept, plan._is_written = 0, True, False
        return plan

    def end(self) -> None:
        """The model's call is over."""
        self._is_kept = self._is_written = False

    def knows(
        self, func: Any, args: tuple[Any, ...], kwargs: Any, output: Any, tracker: Tracker
    ) -> bool:
        """Whether it knows the result's axes, which the tracker then has."""
        if not self._is_kept:
            return False
        step = self._steps[self._place] if self._place < len(self._steps) else None
        self._place += 1
        if step is None or step.func is not func or step.shape != _shape_of(output):
            self._is_kept = False
            self._steps = []
            return False
        if step.axes is None or kwargs or step.rest != _rest_of(args):
            return False
        tracker.put(output, step.axes)
        return True

    def add(
        self,
        func: Any,
        args: tuple[Any, ...],
        kwargs: Any,
        output: Any,
        tracker: Tracker,
        is_found: bool,
    ) -> None:
        """Take down an operator, while a plan is made."""
        if not self._is_written:
            return
        if len(self._steps) >= _MOST_STEPS:
            self._is_written, self._steps = False, []
            return
        shape, rest, axes = _shape_of(output), _rest_of(args), None
        is_in_place = func._schema.is_mutable if hasattr(func, "_schema") else True
        if is_in_place and shape is not None and tracker.of(output).pairs:
            is_product = any(part in func.__name__ for part in ("mm", "mv"))
            if is_product or "out" in kwargs:  # it would mark axes anew, and what follows not
                self._is_written, self._steps = False, []
                return
        if not (is_found or kwargs or is_in_place or rest is None) and shape is not None:
            axes = tracker.of(output)
            axes = axes if axes.pending is None else None
        self._steps.append(_Step(func, rest, shape, axes))


class _Plans(threading.local):
    def __init__(self) -> None:
        self.by_model: weakref.WeakKeyDictionary[nn.Module, Plan] = weakref.WeakKeyDictionary()


_plans: Final = _Plans()


def _shape_of(output: Any) -> torch.Size | None:
    return output.shape if isinstance(output, Tensor) and has_memory(output) else None


def _rest_of(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Arguments that are no tensors; None where some hold tensors."""
    rest = tuple(part for part in args if not isinstance(part, Tensor))
    for part in rest:
        if isinstance(part, list | tuple) and any(isinstance(part, Tensor) for part in part):
            return None
    return rest
