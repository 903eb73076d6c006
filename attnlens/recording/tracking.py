"""Which axis is which: the axes of tensors, followed through the operators of a model.

Every dimension of a tensor is a list of axes. A reshape splits and joins them, a product of
matrices passes on those of its two operands. Attention weights are what has one axis from queries
and one from keys, whatever was done to them: masks, softmax, top-k, a mixture of heads. The two
axes are marked when queries and keys are multiplied (or added, or compared), and the marks last
until a product with values uses them up.

Rules go by the name of an operator of ``torch.ops.aten``. An operator without a rule passes axes
on by position where the number of dimensions stays the same, and makes new axes otherwise.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import torch
from torch import Tensor, nn


class Pair:
    """Two groups of positions that a product, a sum or a difference put beside each other.

    Attributes:
        sizes: positions of both sides.
        origin: ``"product"`` of matrices, ``"element-wise"``, or ``"softmax"`` of one tensor alone.
        normalised: the sides over which its entries were made to sum to 1, or to be kept or not.
        used: where weights of it stood that were multiplied with values.
    """

    __slots__ = ("normalised", "origin", "sizes", "used")

    def __init__(self, sizes: tuple[int, int], origin: str) -> None:
        self.sizes = sizes
        self.origin = origin
        self.normalised: set[int] = set()
        self.used: set[Any] = set()


class Axis:
    """One axis, shared by all tensors that have it.

    Attributes:
        feature: whether it counts features, experts or heads (it stems from a parameter), and not
            positions of the input.
        whole: the axis that it is a part of, after a reshape split it.
        pair: the pair it is a side of, and which ``side``, 0 or 1.
        origin: the same axis before it became a side of a pair.
        copied: whether all its positions hold the same, as ``expand`` makes them.
    """

    __slots__ = ("copied", "feature", "origin", "pair", "side", "size", "whole")

    def __init__(
        self,
        size: int,
        feature: bool = False,
        whole: Axis | None = None,
        pair: Pair | None = None,
        side: int = 0,
        origin: Axis | None = None,
        copied: bool = False,
    ) -> None:
        self.copied = copied
        self.size = size
        self.feature = feature
        self.whole = whole
        self.pair = pair
        self.side = side
        self.origin = origin

    def resized(self, size: int) -> Axis:
        """The same axis with another number of positions, as slices and concatenation give."""
        if size == self.size:
            return self
        return self._made(size, self.whole)

    def parts(self, outer: int) -> tuple[Axis, Axis]:
        """The two axes that a reshape splits it into."""
        return self._made(outer, self), self._made(self.size // outer, self)

    def as_side(self, pair: Pair, side: int) -> Axis:
        return Axis(self.size, self.feature, self.whole, pair, side, self.plain)

    def _made(self, size: int, whole: Axis | None) -> Axis:
        made = Axis(size, self.feature, whole and whole.plain, copied=self.copied)
        return made if self.pair is None else made.as_side(self.pair, self.side)

    @property
    def plain(self) -> Axis:
        """The axis outside any pair."""
        return self.origin or self

    def splits_with(self, other: Axis) -> bool:
        """Whether a reshape made both of one axis, as it makes heads and their features."""
        return self.whole is not None and self.whole is other.whole


Dimension = tuple[Axis, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Axes:
    """The axes of one tensor.

    Attributes:
        dimensions: of each dimension its axes, outer first.
        constant: whether it depends on parameters and buffers alone.
        exponential: whether exponentials of logits were not yet divided by their sum.
        log_sum: whether it is a logarithm of sums of exponentials.
        pairs: the pairs of which it has a side.
        pending: weights and values that were multiplied element by element and not summed yet.
    """

    dimensions: tuple[Dimension, ...]
    constant: bool = False
    exponential: bool = False
    log_sum: bool = False
    pairs: tuple[Pair, ...] = ()
    pending: Any = None

    @classmethod
    def of(cls, dimensions: Iterable[Dimension], **flags: Any) -> Axes:
        dimensions = tuple(dimensions)
        pairs = {axis.pair: None for dimension in dimensions for axis in dimension if axis.pair}
        return cls(dimensions, pairs=tuple(pairs), **flags)

    @classmethod
    def new(cls, shape: Sequence[int], feature: bool = False, **flags: Any) -> Axes:
        return cls(tuple((Axis(size, feature),) for size in shape), **flags)

    def with_dimensions(self, dimensions: Iterable[Dimension]) -> Axes:
        flags = {"constant": self.constant, "exponential": self.exponential}
        return Axes.of(dimensions, log_sum=self.log_sum, pending=self.pending, **flags)

    @property
    def weights_of(self) -> Pair | None:
        """The pair whose two sides it has; a side of one position may be missing."""
        for pair in reversed(self.pairs):
            sides = self.sides(pair)
            if all(side in sides or pair.sizes[side] == 1 for side in (0, 1)):
                return pair
        return None

    def sides(self, pair: Pair) -> set[int]:
        """The sides of a pair that it has."""
        return {
            axis.side for dimension in self.dimensions for axis in dimension if axis.pair is pair
        }

    def plain(self) -> Axes:
        """The same outside any pair."""
        if not self.pairs:
            return self
        return Axes(plain(self.dimensions), self.constant)


def plain(dimensions: Iterable[Dimension]) -> tuple[Dimension, ...]:
    return tuple(tuple(axis.plain for axis in dimension) for dimension in dimensions)


def size_of(axes: Iterable[Axis]) -> int:
    return math.prod(axis.size for axis in axes)


def reshaped(dimensions: Sequence[Dimension], shape: Sequence[int]) -> tuple[Dimension, ...]:
    """Dimensions after a reshape: axes are split and joined as rows of a C array are.

    An axis of one position goes to the next dimension of size 1, or joins its neighbour.
    """
    left = [axis for dimension in dimensions for axis in dimension][::-1]
    if size_of(left) != math.prod(shape) or not math.prod(shape):
        return Axes.new(shape).dimensions
    result: list[Dimension] = []
    for size in shape:
        taken: list[Axis] = []
        product = 1
        if size == 1:
            if left and left[-1].size == 1:
                taken.append(left.pop())
            result.append(tuple(taken))
            continue
        while product < size and left:
            axis = left.pop()
            needed = size // product
            if axis.size <= needed and needed % axis.size == 0:
                taken.append(axis)
                product *= axis.size
            elif axis.size % needed == 0:
                outer, inner = axis.parts(needed)
                taken.append(outer)
                left.append(inner)
                product *= needed
            else:
                return Axes.new(shape).dimensions
        result.append(tuple(taken))
    if left and result:
        result[-1] = (*result[-1], *reversed(left))
    return tuple(result)


def by_position(dimensions: Sequence[Dimension], shape: Sequence[int]) -> tuple[Dimension, ...]:
    """Dimensions of a tensor with as many, of which some may have another size."""
    return tuple(
        dimension
        if size_of(dimension) == size
        else (max(dimension, key=lambda axis: axis.size).resized(size),)
        if dimension
        else (Axis(size),)
        for dimension, size in zip(dimensions, shape, strict=True)
    )


@dataclass(slots=True)
class _Storage:
    """What is known of the tensors that share one block of memory, by their layout."""

    reference: weakref.ref[Any]
    constant: bool = False
    layouts: dict[tuple[Any, ...], Axes] = field(default_factory=dict)


class Tracker:
    """The axes of every tensor of a run.

    Tensors go by their memory and layout, not by their identity: torch makes another object of a
    view than its operator returned. Nothing is kept of memory that was freed.
    """

    def __init__(self, model: nn.Module) -> None:
        self._storages: dict[int, _Storage] = {}
        self._constants = {
            tensor.untyped_storage()._cdata
            for tensor in (*model.parameters(), *model.buffers())
            if has_memory(tensor)
        }

    def of(self, tensor: Tensor) -> Axes:
        """The axes of a tensor; those of one never seen are new."""
        storage = self._storage(tensor)
        if storage is None:
            return Axes.new(() if tensor.is_nested else tensor.shape)
        layout = _layout(tensor)
        found = storage.layouts.get(layout)
        if found is None:
            constant = storage.constant
            if storage.layouts:
                constant = all(axes.constant for axes in storage.layouts.values())
            is_parameter = constant and tensor.is_floating_point()
            found = Axes.new(tensor.shape, feature=is_parameter, constant=constant)
            storage.layouts[layout] = found
        return found

    def put(self, tensor: Tensor, axes: Axes) -> None:
        storage = self._storage(tensor)
        if storage is not None:
            storage.layouts[_layout(tensor)] = axes

    def written(self, tensor: Tensor, axes: Axes) -> None:
        """Take down that an operator changed a tensor in place, and so all that share its memory."""
        storage = self._storage(tensor)
        if storage is None:
            return
        layout = _layout(tensor)
        for other, before in list(storage.layouts.items()):
            if other == layout or axes.constant:
                continue
            if len(before.dimensions) == len(axes.dimensions) and not before.pairs:
                storage.layouts[other] = axes.with_dimensions(by_position(axes.dimensions, other[1]))
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
            reference = weakref.ref(memory, lambda _: self._storages.pop(key, None))
            storage = self._storages[key] = _Storage(reference, key in self._constants)
        return storage


def has_memory(tensor: Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_nested


def _layout(tensor: Tensor) -> tuple[Any, ...]:
    return tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype


# Rules: each gives the axes of an operator's results.

Rule = Callable[["Tracker", tuple[Any, ...], dict[str, Any], Any], Axes]
"""Of the tracker, the operator's arguments, and its result."""


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any], place: int, name: str) -> Any:
    return args[place] if len(args) > place else kwargs.get(name)


def _same(tracker: Tracker, args: Any, kwargs: Any, output: Tensor) -> Axes:
    axes = tracker.of(args[0])
    return axes if len(axes.dimensions) == output.dim() else Axes.new(output.shape)


def _reshaped(tracker: Tracker, args: Any, kwargs: Any, output: Tensor) -> Axes:
    axes = tracker.of(args[0])
    return axes.with_dimensions(reshaped(axes.dimensions, output.shape))


def _permuted(tracker: Tracker, args: Any, kwargs: Any, output: Tensor) -> Axes:
    axes = tracker.of(args[0])
    return axes.with_dimensions(axes.dimensions[index] for index in args[1])


def _transposed(tracker: Tracker, args: Any, kwargs: Any, output: Tensor) -> Axes:
    axes = tracker.of(args[0])
    first, second = args[1:3] if len(args) > 2 else (-1, -2)
    dimensions = list(axes.dimensions)
    if len(dimensions) > 1:
        dimensions[first], dimensions[second] = dimensions[second], dimensions[first]
    return axes.with_dimensions(dimensions)


def _expanded(tracker: Tracker, args: Any, kwargs: Any, output: Tensor) -> Axes:
    axes = tracker.of(args[0])
    missing = output.dim() - len(axes.dimensions)
    before = ((),) * missing + axes.dimensions
    dimensions = [
        dimension if size_of(dimension) == size else (*dimension, Axis(size, copied=True))
        for dimension, size in zip(before, output.shape, strict=True)
    ]
    return axes.with_dimensions(dimensions)


def _unsqueezed(tracker: Tracker, args: Any, kwargs: Any, output: Tensor) -> Axes:
    axes = tracker.of(args[0])
    place = args[1] % output.dim()
    return axes.with_dimensions((*axes.dimensions[:place], (), *axes.dimensions[place:]))


def _squeezed(tracker: Tracker, args: Any, kwargs: Any, output: Tensor) -> Axes:
    """Axes of one position stay with a neighbour, so that a side of a pair is not lost."""
    source = args[0]
    axes = tracker.of(source)
    chosen = range(source.dim())
    if len(args) > 1:
        many = args[1] if isinstance(args[1], list | tuple) else [args[1]]
        chosen = [place % max(1, source.dim()) for place in many]  # type: ignore[assignment]
    dimensions: list[Dimension] = []
    loose: Dimension = ()
    for place, dimension in enumerate(axes.dimensions):
        if place in chosen and source.shape[place] == 1:
            loose += dimension
        else:
            dimensions.append((*loose, *dimension))
            loose = ()
    if loose and dimensions:
        dimensions[-1] = (*dimensions[-1], *loose)
    return axes.with_dimensions(dimensions)


def _selected(tracker: Tracker, args: Any, kwargs: Any, output: Tensor) -> Axes:
    axes = tracker.of(args[0])
    place = args[1] % (output.dim() + 1)
    return axes.with_dimensions((*axes.dimensions[:place], *axes.dimensions[place + 1 :]))


def _unbound(tracker: Tracker, args: Any, kwargs: Any, output: Tensor) -> Axes:
    place = _argument(args, kwargs, 1, "dim") or 0
    return _selected(tracker, (args[0], place), kwargs, output)


def _stacked(tracker: Tracker, args: Any, kwargs: Any, output: Tensor) -> Axes:
    axes = _chosen([tracker.of(tensor) for tensor in args[0]])
    place = (_argument(args, kwargs, 1, "dim") or 0) % output.dim()
    new = Axis(output.shape[place], feature=True)
    return axes.with_dimensions((*axes.dimensions[:place], (new,), *axes.dimensions[place:]))


def _concatenated(tracker: Tracker, args: Any, kwargs: Any, output: Tensor) -> Axes:
    parts = [tracker.of(tensor) for tensor in args[0]]
    fitting = [axes for axes in parts if len(axes.dimensions) == output.dim()]
    if not fitting:
        return Axes.new(output.shape)
    place = (_argument(args, kwargs, 1, "dim") or 0) % output.dim()
    axes = _chosen(fitting)
    dimensions = list(by_position(axes.dimensions, output.shape))
    joined = dimensions[place]
    if len(joined) == 1 and joined[0].feature and not joined[0].pair:
        # Learnt positions beside those of the input are positions.
        feature = all(a.feature for part in fitting for a in part.dimensions[place])
        dimensions[place] = (Axis(joined[0].size, feature),)
    return axes.with_dimensions(dimensions)


def _reduced(tracker: Tracker, args: Any, kwargs: Any, output: Any) -> Axes:
    source = args[0]
    axes = tracker.of(source)
    if output.dim() == source.dim():
        kept: Iterable[Dimension] = (
            dimension if size == output.shape[place] else ()
            for place, (dimension, size) in enumerate(
                zip(axes.dimensions, source.shape, strict=True)
            )
        )
        return replace(axes.with_dimensions(kept), pending=None)
    gone = _argument(args, kwargs, 1, "dim")
    gone = range(source.dim()) if gone is None else gone
    many = gone if isinstance(gone, list | tuple | range) else [gone]
    places = {place % max(1, source.dim()) for place in many} or set(range(source.dim()))
    kept = (
        dimension for place, dimension in enumerate(axes.dimensions) if place not in places
    )
    return replace(axes.with_dimensions(kept), pending=None)


def _log_sum(tracker: Tracker, args: Any, kwargs: Any, output: Any) -> Axes:
    return replace(_reduced(tracker, args, kwargs, output), log_sum=True)


def _embedded(tracker: Tracker, args: Any, kwargs: Any, output: Tensor) -> Axes:
    """Rows of a table of parameters: depend on the input where the numbers of the rows do."""
    numbers = tracker.of(args[1])
    return Axes.of(
        (*plain(numbers.dimensions), (Axis(output.shape[-1], feature=True),)),
        constant=numbers.constant,
    )


def _taken(tracker: Tracker, args: Any, kwargs: Any, output: Tensor) -> Axes:
    """Entries of a tensor that another one names: where they come from says what they are."""
    axes = tracker.of(args[0])
    if len(axes.dimensions) == output.dim():
        named = args[2] if len(args) > 2 and isinstance(args[2], Tensor) else None
        constant = axes.constant and (named is None or tracker.of(named).constant)
        return replace(
            axes.with_dimensions(by_position(axes.dimensions, output.shape)), constant=constant
        )
    chosen = args[1] if len(args) > 1 and isinstance(args[1], list | tuple) else []
    named = [index for index in chosen if isinstance(index, Tensor)]
    constant = axes.constant and all(tracker.of(index).constant for index in named)
    return Axes.new(output.shape, constant=constant)


def _scattered(tracker: Tracker, args: Any, kwargs: Any, output: Tensor) -> Axes:
    """Values put at places that indices name, as a choice of the best keys is marked."""
    axes = tracker.of(args[0])
    place, index = args[1] % max(1, output.dim()), args[2]
    parts = [tracker.of(value) for value in args[2:4] if isinstance(value, Tensor)]
    source = _chosen([axes, *parts])
    if source is axes or len(source.dimensions) != output.dim():
        return axes
    del index
    dimensions = list(by_position(source.dimensions, output.shape))
    pair = source.pairs[-1] if source.pairs else None
    if pair is not None and not any(axis.pair is pair for axis in dimensions[place]):
        others = {
            axis.side
            for at, dimension in enumerate(dimensions)
            if at != place
            for axis in dimension
            if axis.pair is pair
        }
        side = 0 if others == {1} else 1
        origin = axes.dimensions[place][-1].plain if axes.dimensions[place] else None
        dimensions[place] = (
            Axis(output.shape[place], pair=pair, side=side, origin=origin),
        )
    for one in source.pairs:
        one.normalised |= {0, 1}
    return source.with_dimensions(dimensions)


def _made_like(tracker: Tracker, args: Any, kwargs: Any, output: Tensor) -> Axes:
    axes = tracker.of(args[0])
    if len(axes.dimensions) != output.dim():
        return Axes.new(output.shape, feature=True, constant=True)
    return Axes(plain(by_position(axes.dimensions, output.shape)), constant=True)


def _convolved(tracker: Tracker, args: Any, kwargs: Any, output: Tensor) -> Axes:
    axes = tracker.of(args[0])
    if len(axes.dimensions) != output.dim():
        return Axes.new(output.shape)
    dimensions = list(by_position(axes.plain().dimensions, output.shape))
    dimensions[-args[1].dim() + 1] = (Axis(output.shape[-args[1].dim() + 1], feature=True),)
    return Axes.of(dimensions, constant=axes.constant)


def _chosen(parts: Sequence[Axes]) -> Axes:
    """Of operands laid out alike, whose axes the result has: weights', else the input's."""
    return max(
        parts, key=lambda axes: (axes.weights_of is not None, bool(axes.pairs), not axes.constant)
    )


def broadcast(
    operands: Sequence[tuple[Axes, Sequence[int]]], shape: Sequence[int], may_pair: bool = True
) -> Axes:
    """Axes of an element-wise result: of each dimension those of an operand that has all of it.

    Where each of two tensors has a dimension that the other lacks, they become a `Pair`.
    """
    order = sorted(
        range(len(operands)),
        key=lambda index: (
            operands[index][0].weights_of is None,
            not operands[index][0].pairs,
            operands[index][0].constant,
            index,
        ),
    )
    dimensions: list[Dimension] = []
    owners: list[int] = []
    for place in range(-len(shape), 0):
        best: Dimension = ()
        owner = -1
        for index in order:
            axes, own_shape = operands[index]
            if len(own_shape) < -place or own_shape[place] != shape[place]:
                continue
            if len(axes.dimensions) < -place:
                continue
            candidate = axes.dimensions[place]
            if owner < 0 or (not best and candidate):
                best, owner = candidate, index
        dimensions.append(best if size_of(best) == shape[place] else (Axis(shape[place]),))
        owners.append(owner)
    constant = all(axes.constant for axes, _ in operands)
    if may_pair and len(operands) == 2 and not any(axes.constant or axes.pairs for axes, _ in operands):
        alone: tuple[list[int], list[int]] = ([], [])
        for place in range(-len(shape), 0):
            sizes = [own[place] if len(own) >= -place else 1 for _, own in operands]
            if sizes[0] != sizes[1]:
                alone[sizes[1] > sizes[0]].append(place)
        if alone[0] and alone[1]:
            sizes = [math.prod(shape[place] for place in places) for places in alone]
            pair = Pair((sizes[0], sizes[1]), "element-wise")
            for side, places in enumerate(alone):
                for place in places:
                    dimensions[place] = tuple(
                        axis.as_side(pair, side) for axis in dimensions[place]
                    )
    exponential = any(axes.exponential for axes, _ in operands)
    return Axes.of(dimensions, constant=constant, exponential=exponential)


_SAME: Final = "detach alias clone _to_copy contiguous"
_RESHAPED: Final = "view _unsafe_view reshape _reshape_alias unflatten flatten view_as"
_REDUCED: Final = (
    "sum mean amax amin prod max min any all argmax argmin std var var_mean median nansum norm "
    "linalg_vector_norm"
)
_LIKE: Final = (
    "zeros_like ones_like empty_like full_like rand_like randn_like new_zeros new_ones new_empty "
    "new_full lift_fresh"
)
_BY_POSITION: Final = "gather index_select index take_along_dim"
_SCATTERED: Final = "scatter scatter_ scatter_add scatter_add_"

RULES: Final[dict[str, Rule]] = (
    dict.fromkeys(_SAME.split(), _same)
    | dict.fromkeys(_RESHAPED.split(), _reshaped)
    | dict.fromkeys(_REDUCED.split(), _reduced)
    | dict.fromkeys(_LIKE.split(), _made_like)
    | dict.fromkeys(_BY_POSITION.split(), _taken)
    | dict.fromkeys(_SCATTERED.split(), _scattered)
    | {
        "permute": _permuted,
        "transpose": _transposed,
        "transpose_": _transposed,
        "t": _transposed,
        "mT": _transposed,
        "expand": _expanded,
        "unsqueeze": _unsqueezed,
        "squeeze": _squeezed,
        "select": _selected,
        "unbind": _unbound,
        "stack": _stacked,
        "cat": _concatenated,
        "logsumexp": _log_sum,
        "embedding": _embedded,
        "convolution": _convolved,
    }
)
