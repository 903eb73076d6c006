"""Calls that move numbers about, and what becomes of the axes in a call.

A view that parts the last axis into heads, or brings heads together, is seen as that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from torch import Tensor

from attnlens.symbolic.expressions import Axes, Expression, broadcast_axes
from attnlens.symbolic.graph import Graph, Translator

Arguments = tuple[Any, ...]
Named = Mapping[str, Any]


def of_product(first: Expression, second: Expression, dimensions: int) -> Axes | None:
    """The axes of a matrix product."""
    if len(first.shape) < 2 or len(second.shape) < 2:
        if len(first.shape) >= 2:
            return first.axes[:-1]
        return None if len(second.shape) < 2 else (*second.axes[:-2], second.axes[-1])
    lead: list[str | None] = [None] * (dimensions - 2)
    for part in (first, second):
        for back in range(1, len(part.axes) - 1):
            axis, size = part.axes[-2 - back], part.shape[-2 - back]
            # What is stretched from a size of 1 no longer means what it did.
            if lead[-back] is None and (size != 1 or axis in ("batch", "head")):
                lead[-back] = axis
    return (*lead, first.axes[-2], second.axes[-1])


def of_einsum(spec: str, parts: tuple[Expression, ...], dimensions: int) -> Axes:
    """The axes by the letters of the call."""
    inputs, _, output = spec.replace(" ", "").partition("->")
    meaning: dict[str, str | None] = {}
    for letters, part in zip(inputs.split(","), parts, strict=True):
        for letter, axis in zip(letters, part.axes, strict=True):
            meaning[letter] = meaning.get(letter) or axis
    known = tuple(meaning.get(letter) for letter in output)
    return known if len(known) == dimensions else (None,) * dimensions


def of_reduction(x: Expression, over: tuple[int, ...] | None, keepdim: bool) -> Axes:
    """The axes that are left."""
    gone = set(range(len(x.shape))) if over is None else {one % len(x.shape) for one in over}
    if keepdim:
        return tuple(None if at in gone else axis for at, axis in enumerate(x.axes))
    return tuple(axis for at, axis in enumerate(x.axes) if at not in gone)


def of_join(parts: tuple[Expression, ...], axis: int, *, stacked: bool) -> Axes:
    """The axes of several values put side by side."""
    axes = list(broadcast_axes(parts[:1], parts[0].shape))
    if stacked:
        axes.insert(axis, None)
    else:
        axes[axis] = None
    return tuple(axes)


def _same(graph: Graph, result: Tensor, args: Arguments, _: Named) -> Expression:
    first = graph.of(args[0])
    if result is args[0]:
        return first
    if result.is_floating_point() and not args[0].is_floating_point():
        return graph.operation(result, "as_number", (first,))
    # Another tensor with the same numbers is the same thing to the reader.
    return graph.put_again(result, first)


def _transpose(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression:
    count = result.dim()
    first = args[1] if len(args) > 1 else named.get("dim0", named.get("axis0"))
    second = args[2] if len(args) > 2 else named.get("dim1", named.get("axis1"))
    order = list(range(count))
    order[first], order[second] = order[second], order[first]
    return permuted(graph, result, graph.of(args[0]), tuple(order))


def _permute(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression:
    given = named.get("dims", args[1:])
    order = given[0] if given and isinstance(given[0], list | tuple) else given
    count = result.dim()
    return permuted(graph, result, graph.of(args[0]), tuple(one % count for one in order))


def _moved(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression | None:
    source, goal = named.get("source", args[1:2]), named.get("destination", args[2:3])
    pairs = [one[0] if isinstance(one, tuple) else one for one in (source, goal)]
    if not all(isinstance(one, int) for one in pairs):
        return None
    order = list(range(result.dim()))
    moved = order.pop(pairs[0])
    order.insert(pairs[1] % result.dim(), moved)
    return permuted(graph, result, graph.of(args[0]), tuple(order))


def _turned(graph: Graph, result: Tensor, args: Arguments, _: Named) -> Expression:
    """``x.T`` and ``x.mT``."""
    count = result.dim()
    order = (*range(count - 2), count - 1, count - 2)
    return permuted(graph, result, graph.of(args[0]), order)


def permuted(graph: Graph, result: Tensor, x: Expression, order: tuple[int, ...]) -> Expression:
    """The axes in another order."""
    count = len(order)
    axes = tuple(x.axes[one] for one in order)
    last = (*range(count - 2), count - 1, count - 2)
    heads_forward = (*range(count - 3), count - 2, count - 3, count - 1)
    if count >= 3 and order == heads_forward and x.kind == "unflatten":
        (inner,) = x.parts
        heads = x.shape[-2]
        axes = (*inner.axes[:-2], "head", inner.axes[-2], None)
        return graph.operation(result, "split", (inner,), {"heads": heads}, axes, heads)
    if order == last and count >= 2:
        return graph.operation(result, "transpose", (x,), axes=axes)
    return graph.operation(result, "permute", (x,), {"order": order}, axes=axes)


def _reshape(graph: Graph, result: Tensor, args: Arguments, _: Named) -> Expression:
    x, shape = graph.of(args[0]), tuple(result.shape)
    if shape == x.shape:
        return _same(graph, result, args, {})
    if len(shape) == len(x.shape) + 1 and shape[:-2] == x.shape[:-1]:
        axes = (*x.axes[:-1], None, None)
        return graph.operation(result, "unflatten", (x,), {"shape": shape}, axes)
    swapped = x.kind == "permute" and x.options["order"] == (
        *range(len(x.shape) - 3),
        len(x.shape) - 2,
        len(x.shape) - 3,
        len(x.shape) - 1,
    )
    if swapped and x.parts[0].heads and shape == (*x.shape[:-2], x.shape[-2] * x.shape[-1]):
        (inner,) = x.parts
        if inner.axes[-3] == "head":
            axes = (*inner.axes[:-3], inner.axes[-2], None)
            return graph.operation(result, "join", (inner,), axes=axes, heads=0)
    return graph.operation(result, "reshape", (x,), {"shape": shape}, _matching(x, shape))


def _matching(x: Expression, shape: tuple[int, ...]) -> Axes:
    """Axes that keep their place and size from the front or from the back."""
    axes: list[str | None] = [None] * len(shape)
    for at in range(min(len(shape), len(x.shape))):
        if shape[at] != x.shape[at]:
            break
        axes[at] = x.axes[at]
    for back in range(1, min(len(shape), len(x.shape)) + 1):
        if shape[-back] != x.shape[-back]:
            break
        axes[-back] = x.axes[-back]
    return tuple(axes)


def _expand(graph: Graph, result: Tensor, args: Arguments, _: Named) -> Expression:
    x, shape = graph.of(args[0]), tuple(result.shape)
    if shape == x.shape:
        return _same(graph, result, args, {})
    return graph.operation(result, "expand", (x,), {"shape": shape})


def _unsqueeze(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression:
    x = graph.of(args[0])
    axis = (args[1] if len(args) > 1 else named["dim"]) % result.dim()
    axes = (*x.axes[:axis], None, *x.axes[axis:])
    return graph.operation(result, "insert", (x,), {"axis": axis}, axes)


def _squeeze(graph: Graph, result: Tensor, args: Arguments, named: Named) -> Expression | None:
    x = graph.of(args[0])
    axis = args[1] if len(args) > 1 else named.get("dim")
    if not isinstance(axis, int):
        return None
    if result.dim() == len(x.shape):
        return _same(graph, result, args, {})
    axis %= len(x.shape)
    axes = (*x.axes[:axis], *x.axes[axis + 1 :])
    return graph.operation(result, "drop", (x,), {"axis": axis}, axes)


def _item(graph: Graph, result: Tensor, args: Arguments, _: Named) -> Expression | None:
    x = graph.of(args[0])
    index = args[1] if isinstance(args[1], tuple) else (args[1],)
    only = index[0] if len(index) == 1 else None
    if isinstance(only, Tensor) and only.dtype.is_signed and not only.is_floating_point():
        places = graph.of(only)
        whole = (*places.axes, *x.axes[1:])
        return graph.operation(result, "rows", (x, places), axes=whole)
    if any(isinstance(one, list) for one in index):
        return None
    parts, written, tensors = [x], [], 0
    for one in index:
        if isinstance(one, Tensor):
            parts.append(graph.of(one))
            tensors += 1
        written.append("part" if isinstance(one, Tensor) else one)
    axes = (None,) * result.dim() if tensors else of_index(x, tuple(written))
    if not tensors and axes == x.axes and tuple(result.shape) == x.shape:
        return _same(graph, result, args, {})
    return graph.operation(result, "item", tuple(parts), {"index": tuple(written)}, axes)


def parted(graph: Graph, name: str, result: tuple[Any, ...], args: Arguments, named: Named) -> bool:
    """``chunk``, ``split`` and ``unbind``: each piece is a part of the whole; false for others."""
    place = {"chunk": 2, "split": 2, "split_with_sizes": 2, "tensor_split": 2, "unbind": 1}.get(
        name
    )
    if place is None:
        return False
    whole = args[0] if args else named["tensor" if "tensor" in named else "input"]
    x = graph.of(whole)
    axis = (args[place] if len(args) > place else named.get("dim", 0)) % len(x.shape)
    last = axis == len(x.shape) - 1
    lead = (...,) if last and axis else (slice(None),) * axis
    start = 0
    for piece in result:
        if name == "unbind":
            index: tuple[Any, ...] = (*lead, start)
            start += 1
        else:
            index = (*lead, slice(start, start + piece.shape[axis]))
            start += piece.shape[axis]
        _item(graph, piece, (whole, index), {})
    return True


def of_index(x: Expression, index: tuple[Any, ...]) -> Axes:
    """The axes after plain indexing."""
    used = sum(one is not None and one is not ... for one in index)
    axes: list[str | None] = []
    at = 0
    for one in index:
        if one is None:
            axes.append(None)
        elif one is ...:
            skipped = len(x.shape) - used
            axes.extend(x.axes[at : at + skipped])
            at += skipped
        else:
            if isinstance(one, slice):
                axes.append(x.axes[at] if one == slice(None) else None)
            at += 1
    return (*axes, *x.axes[at:])


FUNCTIONS: Final[Mapping[str, Translator]] = {
    **dict.fromkeys(
        (
            *("dropout", "contiguous", "to", "float", "double", "clone", "detach", "alias"),
            *("type_as", "data", "alpha_dropout", "feature_dropout"),
        ),
        _same,
    ),
    "transpose": _transpose,
    "swapaxes": _transpose,
    "movedim": _moved,
    "t": _turned,
    "T": _turned,
    "mT": _turned,
    "permute": _permute,
    **dict.fromkeys(("reshape", "view", "flatten", "unflatten"), _reshape),
    "expand": _expand,
    "expand_as": _expand,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "getitem": _item,
}
