"""Follow the axes of tensors through the operators of a model.

Every dimension of a tensor has a list of axes, because a reshape splits and joins axes.

Attention weights have one axis from the queries and one axis from the keys. The two axes are marked
as a `Pair` when queries and keys are multiplied, added or compared. The marks remain until a
product with values sums over the keys.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import torch
from torch import Tensor, nn


@dataclass(slots=True, eq=False)
class Pair:
    """Two groups of positions that an operator combined, such as queries and keys.

    Attributes:
        sizes: the number of positions on each side.
        origin: ``"product"`` (a product of matrices), ``"learnt"`` (a product with a parameter),
            ``"element-wise"``, or ``"softmax"`` (a softmax of a single tensor).
        normalised: the sides over which the entries were normalised to sum to 1.
        chosen: whether the entries became weights without normalisation, such as through a sigmoid.
        dropped: whether dropout was applied to the entries.
        used: whether the weights of the pair were multiplied with values.
    """

    sizes: tuple[int, int]
    origin: str
    normalised: set[int] = field(default_factory=set)
    chosen: bool = False
    dropped: bool = False
    used: bool = False

    @property
    def is_made(self) -> bool:
        """Whether the entries of the pair became weights, by normalisation or selection."""
        return bool(self.normalised) or self.chosen


@dataclass(slots=True, eq=False)
class TracedAxis:
    """An axis, which several tensors may share.

    Attributes:
        feature: whether the axis runs over features, experts or heads, not over the input.
        parent: the axis from which a reshape split this axis.
        pair: the pair of the axis; ``side`` is the side of the pair, 0 or 1.
        origin: the same axis without a pair.
        copied: whether all positions have the same values, as after ``expand``.
    """

    size: int
    feature: bool = False
    parent: TracedAxis | None = None
    pair: Pair | None = None
    side: int = 0
    origin: TracedAxis | None = None
    copied: bool = False

    def resized(self, size: int) -> TracedAxis:
        """Return a copy of the axis with another size."""
        if size == self.size:
            return self
        return self._made(size, self.parent)

    def parts(self, outer: int) -> tuple[TracedAxis, TracedAxis]:
        """Split the axis into an outer axis of size ``outer`` and an inner axis."""
        return self._made(outer, self), self._made(self.size // outer, self)

    def as_side(self, pair: Pair, side: int) -> TracedAxis:
        return TracedAxis(self.size, self.feature, self.parent, pair, side, self.plain)

    def _made(self, size: int, parent: TracedAxis | None) -> TracedAxis:
        made = TracedAxis(size, self.feature, parent and parent.plain, copied=self.copied)
        return made if self.pair is None else made.as_side(self.pair, self.side)

    @property
    def plain(self) -> TracedAxis:
        """The same axis without a pair."""
        return self.origin or self

    def splits_with(self, other: TracedAxis) -> bool:
        """Whether a reshape split one axis into this axis and ``other``."""
        return self.parent is not None and self.parent is other.parent


Dimension = tuple[TracedAxis, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Axes:
    """The axes of one tensor.

    Attributes:
        dimensions: the axes of each dimension, outermost axis first.
        constant: whether the tensor depends only on parameters and buffers.
        exponential: whether the tensor contains unnormalised exponentials of logits.
        log_sum: whether the tensor contains logarithms of weights or of sums of exponentials.
        total: whether the tensor contains sums, such as the denominators of a softmax.
        random: whether the tensor was drawn at random, such as a dropout mask.
        pairs: the pairs with at least one side in the tensor.
        pending: a product of weights and values before the sum over keys, if any.
    """

    dimensions: tuple[Dimension, ...]
    constant: bool = False
    exponential: bool = False
    log_sum: bool = False
    total: bool = False
    random: bool = False
    pairs: tuple[Pair, ...] = ()
    pending: Any = None

    @classmethod
    def of(cls, dimensions: Iterable[Dimension], **flags: Any) -> Axes:
        dimensions = tuple(dimensions)
        pairs = {axis.pair: None for dimension in dimensions for axis in dimension if axis.pair}
        return cls(dimensions, pairs=tuple(pairs), **flags)

    @classmethod
    def new(cls, shape: Sequence[int], feature: bool = False, **flags: Any) -> Axes:
        return cls(tuple((TracedAxis(size, feature),) for size in shape), **flags)

    def with_dimensions(self, dimensions: Iterable[Dimension]) -> Axes:
        flags = {"constant": self.constant, "exponential": self.exponential}
        flags |= {"log_sum": self.log_sum, "total": self.total}
        return Axes.of(dimensions, pending=self.pending, **flags)

    def as_sides(self, pair: Pair, sides: Mapping[int, int]) -> Axes:
        """Mark sides of ``pair``. ``sides`` maps each dimension to side 0 or 1."""
        dimensions = list(self.dimensions)
        for dim, side in sides.items():
            axes = dimensions[dim] or (TracedAxis(1),)
            dimensions[dim] = tuple(axis.as_side(pair, side) for axis in axes)
        return self.with_dimensions(dimensions)

    @property
    def weights_of(self) -> Pair | None:
        """The last pair that has both sides in the tensor. A side of size 1 may be missing."""
        for pair in reversed(self.pairs):
            sides = self.sides(pair)
            if all(side in sides or pair.sizes[side] == 1 for side in (0, 1)):
                return pair
        return None

    def sides(self, pair: Pair) -> set[int]:
        """Return the sides of ``pair`` (0 or 1) that the tensor has."""
        return {
            axis.side for dimension in self.dimensions for axis in dimension if axis.pair is pair
        }

    def plain(self) -> Axes:
        """Return the same axes without pairs."""
        if not self.pairs:
            return self
        return Axes(plain(self.dimensions), self.constant)


def plain(dimensions: Iterable[Dimension]) -> tuple[Dimension, ...]:
    return tuple(tuple(axis.plain for axis in dimension) for dimension in dimensions)


def size_of(axes: Iterable[TracedAxis]) -> int:
    return math.prod(axis.size for axis in axes)


def reshaped(dimensions: Sequence[Dimension], shape: Sequence[int]) -> tuple[Dimension, ...]:
    """Return the dimensions after a reshape in C order.

    An axis of size 1 moves to the next dimension of size 1, or joins a neighbouring axis.
    """
    left = [axis for dimension in dimensions for axis in dimension][::-1]
    if size_of(left) != math.prod(shape) or not math.prod(shape):
        return Axes.new(shape).dimensions
    result: list[Dimension] = []
    for size in shape:
        parts: list[TracedAxis] = []
        product = 1
        if size == 1:
            if left and left[-1].size == 1:
                parts.append(left.pop())
            result.append(tuple(parts))
            continue
        while product < size and left:
            axis = left.pop()
            needed = size // product
            if axis.size <= needed and needed % axis.size == 0:
                parts.append(axis)
                product *= axis.size
            elif axis.size % needed == 0:
                outer, inner = axis.parts(needed)
                parts.append(outer)
                left.append(inner)
                product *= needed
            else:
                return Axes.new(shape).dimensions
        result.append(tuple(parts))
    if left and result:
        result[-1] = (*result[-1], *reversed(left))
    return tuple(result)


def by_position(dimensions: Sequence[Dimension], shape: Sequence[int]) -> tuple[Dimension, ...]:
    """Return the dimensions after an operator that kept the number of dimensions."""
    return tuple(
        dimension
        if size_of(dimension) == size
        else (max(dimension, key=lambda axis: axis.size).resized(size),)
        if dimension
        else (TracedAxis(size),)
        for dimension, size in zip(dimensions, shape, strict=True)
    )


@dataclass(slots=True)
class _Storage:
    """The axes of tensors that share memory. ``layouts`` maps memory layouts to axes."""

    reference: weakref.ref[Any]
    constant: bool = False
    layouts: dict[tuple[Any, ...], Axes] = field(default_factory=dict)


class Tracker:
    """Stores the axes of every tensor of a run.

    Memory and layout identify a tensor, because torch may create several objects for one view.

    Attributes:
        unknown: the number of floating-point tensors that no followed operator created.
    """

    def __init__(self, model: nn.Module) -> None:
        self.unknown = 0
        self._storages: dict[int, _Storage] = {}
        self._model = model
        self._constants: set[int] | None = None

    def of(self, tensor: Tensor) -> Axes:
        """Return the axes of a tensor. A tensor that was not seen before gets new axes."""
        storage = self._storage(tensor)
        if storage is None:
            return Axes.new(() if tensor.is_nested else tensor.shape)
        layout = _layout(tensor)
        axes = storage.layouts.get(layout)
        if axes is None:
            constant = storage.constant
            if storage.layouts:
                constant = all(axes.constant for axes in storage.layouts.values())
            if not storage.layouts and not constant:
                self.unknown += tensor.is_floating_point()
            is_parameter = constant and tensor.is_floating_point()
            axes = Axes.new(tensor.shape, feature=is_parameter, constant=constant)
            storage.layouts[layout] = axes
        return axes

    def put(self, tensor: Tensor, axes: Axes) -> None:
        storage = self._storage(tensor)
        if storage is not None:
            storage.layouts[_layout(tensor)] = axes

    def written(self, tensor: Tensor, axes: Axes) -> None:
        """Store the axes of a tensor that was changed in place, and of its views."""
        storage = self._storage(tensor)
        if storage is None:
            return
        layout = _layout(tensor)
        for other, before in list(storage.layouts.items()):
            if other == layout or axes.constant:
                continue
            if len(before.dimensions) == len(axes.dimensions) and not before.pairs:
                storage.layouts[other] = axes.with_dimensions(
                    by_position(axes.dimensions, other[1])
                )
            elif before.constant:
                storage.layouts[other] = replace(before, constant=False)
        storage.layouts[layout] = axes

    def _storage(self, tensor: Tensor) -> _Storage | None:
        if not has_memory(tensor):
            return None
        memory = tensor.untyped_storage()
        key = memory._cdata
        storage = self._storages.get(key)
        if storage is None:
            if self._constants is None:
                self._constants = {
                    tensor.untyped_storage()._cdata
                    for tensor in (*self._model.parameters(), *self._model.buffers())
                    if has_memory(tensor)
                }
            reference = weakref.ref(memory, lambda _: self._storages.pop(key, None))
            storage = self._storages[key] = _Storage(reference, key in self._constants)
        return storage


def has_memory(tensor: Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_nested


def _layout(tensor: Tensor) -> tuple[Any, ...]:
    return tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype


def chosen(parts: Sequence[Axes]) -> Axes:
    """Return the axes that `_information` ranks highest."""
    return max(parts, key=_information)


def _information(axes: Axes) -> tuple[int, bool, bool]:
    """Rank weights above inputs, and inputs above constants."""
    pair = axes.weights_of
    return 0 if pair is None else 1 + pair.is_made, bool(axes.pairs), not axes.constant


def broadcast(
    operands: Sequence[tuple[Axes, Sequence[int]]],
    shape: Sequence[int],
    may_pair: bool = True,
) -> Axes:
    """Return the axes of an element-wise result.

    If two tensors are broadcast along different dimensions, the dimensions become a `Pair`.
    """
    ordered = sorted(operands, key=lambda operand: _information(operand[0]), reverse=True)
    pairs = [axes.weights_of for axes, _ in ordered]
    for merged in pairs[1:]:
        if merged is not None and merged is not pairs[0]:
            merged.used = True  # the result keeps only the pair of the first operand
    dimensions: list[Dimension] = []
    for dim, size in enumerate(shape, -len(shape)):
        candidates = (
            axes.dimensions[dim]
            for axes, own in ordered
            if -dim <= min(len(own), len(axes.dimensions)) and own[dim] == size
        )
        best = next(filter(None, candidates), ())
        dimensions.append(best if size_of(best) == size else (TracedAxis(size),))
    result = Axes.of(
        dimensions,
        constant=all(axes.constant for axes, _ in operands),
        exponential=ordered[0][0].exponential,
        total=any(axes.total for axes, _ in operands),
    )
    if (
        not may_pair
        or len(operands) != 2
        or any(axes.constant or axes.pairs for axes, _ in operands)
    ):
        return result
    sides: dict[int, int] = {}
    for dim in range(-len(shape), 0):
        first, second = (own[dim] if len(own) >= -dim else 1 for _, own in operands)
        if first != second:
            sides[dim] = int(second > first)
    if len({*sides.values()}) < 2:
        return result
    sizes = [math.prod(shape[dim] for dim in sides if sides[dim] == side) for side in (0, 1)]
    return result.as_sides(Pair((sizes[0], sizes[1]), "element-wise"), sides)


_MOST_STEPS: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Step:
    """One operator of a plan. ``axes`` is None if every call must examine the operator."""

    func: Any
    rest: tuple[Any, ...] | None
    shape: torch.Size | None
    axes: Axes | None


class Plan:
    """The operators of one call of a model, in order, with the axes of the results.

    The next call reuses the axes until an operator or a shape differs. The plan is then discarded.
    """

    def __init__(self) -> None:
        self._steps: list[_Step] = []
        self._place = 0
        self._is_kept = False
        self._is_written = False

    @classmethod
    def of(cls, model: nn.Module, has_adapters: bool) -> Plan:
        """Return the plan of the model's last call in this thread, or a new plan to fill."""
        if has_adapters:  # adapters change which modules count as attention
            return cls()
        plans: weakref.WeakKeyDictionary[nn.Module, Plan]
        plans = vars(_plans).setdefault("by_model", weakref.WeakKeyDictionary())
        plan = plans.get(model)
        if plan is None or not plan._steps:
            plan = plans[model] = cls()
            plan._is_written = True
            return plan
        plan._place, plan._is_kept, plan._is_written = 0, True, False
        return plan

    def end(self) -> None:
        """Stop using or filling the plan, because the model has returned."""
        self._is_kept = self._is_written = False

    def knows(
        self, func: Any, args: tuple[Any, ...], kwargs: Any, output: Any, tracker: Tracker
    ) -> bool:
        """Return whether the result's axes are known. Known axes are stored in ``tracker``."""
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
        """Store an operator while a plan is being created."""
        if not self._is_written:
            return
        if len(self._steps) >= _MOST_STEPS:
            self._is_written, self._steps = False, []
            return
        shape, rest, axes = _shape_of(output), _rest_of(args), None
        is_in_place = func._schema.is_mutable if hasattr(func, "_schema") else True
        if is_in_place and shape is not None and tracker.of(output).pairs:
            is_product = any(part in func.__name__ for part in ("mm", "mv"))
            # A stored step would not mark the axes in later calls, so discard the plan.
            if is_product or "out" in kwargs:
                self._is_written, self._steps = False, []
                return
        if not (is_found or kwargs or is_in_place or rest is None) and shape is not None:
            axes = tracker.of(output)
            axes = axes if axes.pending is None else None
        self._steps.append(_Step(func, rest, shape, axes))


_plans: Final = threading.local()
"""``_plans.by_model`` maps each model to the model's plan in the current thread."""


def _shape_of(output: Any) -> torch.Size | None:
    return output.shape if isinstance(output, Tensor) and has_memory(output) else None


def _rest_of(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the arguments that are not tensors; None if an argument is a list of tensors."""
    rest = tuple(part for part in args if not isinstance(part, Tensor))
    for part in rest:
        if isinstance(part, list | tuple) and any(isinstance(part, Tensor) for part in part):
            return None
    return rest
