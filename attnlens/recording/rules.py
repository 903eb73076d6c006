"""Functions that compute the axes of an operator's result from the axes of the arguments.

`RULES` maps operators of ``torch.ops.aten`` to these functions. Matrix products and softmax are
handled in `attnlens.recording.follower`. All other operators are treated as element-wise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from torch import Tensor

from attnlens.recording.tracking import (
    Axes,
    Dimension,
    TracedAxis,
    Tracker,
    by_position,
    chosen,
    plain,
    reshaped,
    size_of,
)


@dataclass(slots=True)
class OperatorCall:
    """A call of an operator: its arguments and its result."""

    tracker: Tracker
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: Tensor

    @property
    def axes(self) -> Axes:
        """The axes of the first argument."""
        return self.tracker.of(self.args[0])

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.output.shape)

    def argument(self, dim: int, name: str) -> Any:
        return self.args[dim] if len(self.args) > dim else self.kwargs.get(name)


def _same(operation: OperatorCall) -> Axes:
    return operation.axes


def _reshaped(operation: OperatorCall) -> Axes:
    axes = operation.axes
    return axes.with_dimensions(reshaped(axes.dimensions, operation.output.shape))


def _permuted(operation: OperatorCall) -> Axes:
    axes = operation.axes
    return axes.with_dimensions(axes.dimensions[index] for index in operation.args[1])


def _transposed(operation: OperatorCall) -> Axes:
    axes = operation.axes
    first, second = operation.args[1:3] if len(operation.args) > 2 else (-1, -2)
    dimensions = list(axes.dimensions)
    if len(dimensions) > 1:
        dimensions[first], dimensions[second] = dimensions[second], dimensions[first]
    return axes.with_dimensions(dimensions)


def _expanded(operation: OperatorCall) -> Axes:
    axes, shape = operation.axes, operation.shape
    before = ((),) * (len(shape) - len(axes.dimensions)) + axes.dimensions
    return axes.with_dimensions(
        dimension if size_of(dimension) == size else (*dimension, TracedAxis(size, copied=True))
        for dimension, size in zip(before, shape, strict=True)
    )


def _unsqueezed(operation: OperatorCall) -> Axes:
    dimensions = operation.axes.dimensions
    dim = operation.args[1] % operation.output.dim()
    return operation.axes.with_dimensions((*dimensions[:dim], (), *dimensions[dim:]))


def _squeezed(operation: OperatorCall) -> Axes:
    """Merge an axis of size 1 into a neighbouring axis, so that no side of a pair is lost."""
    axes, source = operation.axes, operation.args[0]
    dims = _places(operation.argument(1, "dim"), source.dim())
    dimensions: list[Dimension] = []
    loose: Dimension = ()
    for dim, dimension in enumerate(axes.dimensions):
        if dim in dims and source.shape[dim] == 1:
            loose += dimension
        else:
            dimensions.append((*loose, *dimension))
            loose = ()
    if loose and dimensions:
        dimensions[-1] = (*dimensions[-1], *loose)
    return axes.with_dimensions(dimensions)


def _selected(operation: OperatorCall) -> Axes:
    dimensions = operation.axes.dimensions
    dim = (operation.argument(1, "dim") or 0) % len(dimensions)
    return operation.axes.with_dimensions((*dimensions[:dim], *dimensions[dim + 1 :]))


def _stacked(operation: OperatorCall) -> Axes:
    axes = chosen([operation.tracker.of(tensor) for tensor in operation.args[0]])
    dim = (operation.argument(1, "dim") or 0) % operation.output.dim()
    new = TracedAxis(operation.output.shape[dim], feature=True)
    return axes.with_dimensions((*axes.dimensions[:dim], (new,), *axes.dimensions[dim:]))


def _concatenated(operation: OperatorCall) -> Axes:
    parts = [operation.tracker.of(tensor) for tensor in operation.args[0]]
    fitting = [axes for axes in parts if len(axes.dimensions) == operation.output.dim()]
    dim = (operation.argument(1, "dim") or 0) % operation.output.dim()
    axes = chosen(fitting)
    dimensions = list(by_position(axes.dimensions, operation.shape))
    joined = dimensions[dim]
    if len(joined) == 1 and joined[0].feature and not joined[0].pair:
        # If learnt positions are concatenated with input positions, all count as positions.
        feature = all(axis.feature for part in fitting for axis in part.dimensions[dim])
        dimensions[dim] = (TracedAxis(joined[0].size, feature),)
    return axes.with_dimensions(dimensions)


def _reduced(operation: OperatorCall) -> Axes:
    axes, source, shape = operation.axes, operation.args[0], operation.shape
    if len(shape) == source.dim():
        remaining: Iterable[Dimension] = (
            dimension if size == new else ()
            for dimension, size, new in zip(axes.dimensions, source.shape, shape, strict=True)
        )
    else:
        gone = _places(operation.argument(1, "dim"), source.dim()) if shape else source.shape
        remaining = (part for dim, part in enumerate(axes.dimensions) if dim not in gone)
    return replace(axes.with_dimensions(remaining if shape else ()), pending=None)


def _places(dims: Any, size: int) -> set[int]:
    """Return the dimensions as non-negative numbers. None means all dimensions."""
    if dims is None:
        return set(range(size))
    many = dims if isinstance(dims, list | tuple) else [dims]
    return {dim % max(1, size) for dim in many} or set(range(size))


def _embedded(operation: OperatorCall) -> Axes:
    """Rows of an embedding table are constant if the row numbers are constant."""
    numbers = operation.tracker.of(operation.args[1])
    width = TracedAxis(operation.output.shape[-1], feature=True)
    return Axes.of((*plain(numbers.dimensions), (width,)), constant=numbers.constant)


def _indexed(operation: OperatorCall) -> Axes:
    """Selected entries are constant if both the source and the indices are constant."""
    axes, of = operation.axes, operation.tracker.of
    indices = operation.argument(1, "indices")
    tensors = indices if isinstance(indices, list | tuple) else operation.args[2:3]
    numbers = [of(part) for part in tensors if isinstance(part, Tensor)]
    constant = axes.constant and all(part.constant for part in numbers)
    if len(axes.dimensions) != operation.output.dim():
        return Axes.new(operation.shape, constant=constant)
    dimensions = by_position(axes.dimensions, operation.shape)
    return replace(axes.with_dimensions(dimensions), constant=constant)


def _scattered(operation: OperatorCall) -> Axes:
    """Mark the pair of the written values as ``chosen``, because keys may have been selected."""
    axes, shape = operation.axes, operation.shape
    dim = operation.args[1] % max(1, len(shape))
    tensors = [part for part in operation.args[2:4] if isinstance(part, Tensor)]
    source = chosen([axes, *map(operation.tracker.of, tensors)])
    if source is axes or len(source.dimensions) != len(shape):
        return axes
    dimensions = list(by_position(source.dimensions, shape))
    for pair in source.pairs[-1:]:
        pair.chosen = True
        if not any(axis.pair is pair for axis in dimensions[dim]):
            side = 0 if source.sides(pair) == {1} else 1
            dimensions[dim] = (TracedAxis(shape[dim]).as_side(pair, side),)
    return source.with_dimensions(dimensions)


def _made_like(operation: OperatorCall) -> Axes:
    axes = operation.axes
    if len(axes.dimensions) != operation.output.dim():
        return Axes.new(operation.shape, feature=True, constant=True)
    return Axes(plain(by_position(axes.dimensions, operation.shape)), constant=True)


def _convolved(operation: OperatorCall) -> Axes:
    axes, kernel = operation.axes, operation.args[1]
    if any(size > 1 for size in kernel.shape[2:]):
        # A kernel of size 1 only mixes channels, such as heads. In that case, pairs are kept.
        axes = axes.plain()
    dimensions = list(by_position(axes.dimensions, operation.shape))
    channels = 1 - kernel.dim()
    dimensions[channels] = (TracedAxis(operation.shape[channels], feature=True),)
    return Axes.of(dimensions, constant=axes.constant)


Rule = Callable[[OperatorCall], Axes]

RULES: Final[dict[str, Rule]] = {
    name: rule
    for names, rule in (
        ("detach alias clone _to_copy contiguous", _same),
        ("view _unsafe_view reshape _reshape_alias unflatten flatten view_as", _reshaped),
        ("permute", _permuted),
        ("transpose t mT", _transposed),
        ("expand", _expanded),
        ("unsqueeze", _unsqueezed),
        ("squeeze", _squeezed),
        ("select unbind", _selected),
        ("stack", _stacked),
        ("cat", _concatenated),
        ("sum", lambda operation: replace(_reduced(operation), total=True)),
        ("mean amax amin prod max min any all argmax argmin std var median norm", _reduced),
        ("linalg_vector_norm", _reduced),
        ("logsumexp", lambda operation: replace(_reduced(operation), log_sum=True)),
        ("embedding", _embedded),
        ("gather index_select index take_along_dim", _indexed),
        ("scatter scatter_add", _scattered),
        ("zeros_like ones_like empty_like full_like rand_like randn_like", _made_like),
        ("new_zeros new_ones new_empty new_full lift_fresh", _made_like),
        ("convolution", _convolved),
    )
    for name in names.split()
}


def axes_after(rule: Rule, operation: OperatorCall) -> Axes:
    """Compute the axes with a rule. If the rule fails, all axes are new."""
    try:
        axes = rule(operation)
    except (AttributeError, IndexError, TypeError, ValueError):
        return Axes.new(operation.shape)
    if len(axes.dimensions) != operation.output.dim():
        return Axes.new(operation.shape, constant=axes.constant)
    return axes
