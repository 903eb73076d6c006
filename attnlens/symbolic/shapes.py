"""Calls that move numbers about, and what becomes of the axes in a call.

A view that parts the last axis into heads, or brings heads together, is seen as that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import torch
from torch import Tensor

from attnlens.symbolic.graph import Axes, Call, Expression, Translator, number


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
    gone = range(len(x.shape)) if over is None else over
    if keepdim:
        return tuple(None if at in gone else axis for at, axis in enumerate(x.axes))
    return tuple(axis for at, axis in enumerate(x.axes) if at not in gone)


def of_join(parts: tuple[Expression, ...], axis: int, *, stacked: bool) -> Axes:
    """The axes of several values put side by side."""
    axes = parts[0].axes
    return (*axes[:axis], None, *axes[axis if stacked else axis + 1 :])


def same(call: Call) -> Expression | None:
    """The same numbers, perhaps of another type."""
    first = call.x
    if call.result is call.args[0]:
        return first
    before, after = call.args[0].dtype, call.result.dtype
    if after == torch.bool != before:
        return call.made("ne", first, number(0))
    if before.is_floating_point and not (after.is_floating_point or after.is_complex):
        return None  # what stands after the point is cut off
    if before == torch.bool != after or (after.is_floating_point and not before.is_floating_point):
        return call.made("as_number", first)
    # Another tensor with the same numbers is the same thing to the reader.
    return call.graph.put_again(call.result, first)


def _swapped(count: int, first: int, second: int) -> tuple[int, ...]:
    """The places of so many axes, two of them swapped."""
    order = list(range(count))
    order[first], order[second] = order[second], order[first]
    return tuple(order)


def _transpose(call: Call) -> Expression:
    first, second = call.argument(1, "dim0"), call.argument(2, "dim1")
    return _permuted(call, _swapped(call.result.dim(), first, second))


def _turned(call: Call) -> Expression:
    """``x.T`` and ``x.mT``."""
    return _permuted(call, _swapped(call.result.dim(), -1, -2))


def _permute(call: Call) -> Expression:
    given = call.named.get("dims", call.args[1:])
    order = given[0] if given and isinstance(given[0], list | tuple) else given
    return _permuted(call, tuple(one % call.result.dim() for one in order))


def _moved(call: Call) -> Expression | None:
    source, goal = call.argument(1, "source"), call.argument(2, "destination")
    if not (isinstance(source, int) and isinstance(goal, int)):
        return None
    order = list(range(call.result.dim()))
    moved = order.pop(source)
    order.insert(goal % call.result.dim(), moved)
    return _permuted(call, tuple(order))


def _permuted(call: Call, order: tuple[int, ...]) -> Expression:
    """The axes in another order."""
    x, count = call.x, len(order)
    if count >= 3 and order == _swapped(count, -2, -3) and x.kind == "unflatten":
        (inner,) = x.parts
        heads = x.shape[-2]
        axes = (*inner.axes[:-2], "head", inner.axes[-2], None)
        return call.made("split", inner, axes=axes, heads=heads, into=heads)
    axes = tuple(x.axes[one] for one in order)
    if count >= 2 and order == _swapped(count, -1, -2):
        return call.made("transpose", x, axes=axes)
    return call.made("permute", x, axes=axes, order=order)


def _reshape(call: Call) -> Expression | None:
    x, shape = call.x, tuple(call.result.shape)
    if shape == x.shape:
        return same(call)
    if len(shape) == len(x.shape) + 1 and shape[:-2] == x.shape[:-1]:
        return call.made("unflatten", x, axes=(*x.axes[:-1], None, None), shape=shape)
    if shape == (*x.shape[:-2], math.prod(x.shape[-2:])) and _heads_brought_back(x):
        (inner,) = x.parts
        axes = (*inner.axes[:-3], inner.axes[-2], None)
        return call.made("join", inner, axes=axes, heads=0)
    return call.made("reshape", x, axes=_matching(x, shape), shape=shape)


def _heads_brought_back(x: Expression) -> bool:
    """Whether heads were put behind the tokens, so that they lie beside one another."""
    if x.kind != "permute" or len(x.shape) < 3:
        return False
    (inner,) = x.parts
    swapped = x.options["order"] == _swapped(len(x.shape), -2, -3)
    return swapped and inner.heads > 0 and inner.axes[-3] == "head"


def _matching(x: Expression, shape: tuple[int, ...]) -> Axes:
    """Axes that keep their place and size from the front or from the back."""
    axes: list[str | None] = [None] * len(shape)
    both = min(len(shape), len(x.shape))
    for places in (range(both), range(-1, -both - 1, -1)):
        for at in places:
            if shape[at] != x.shape[at]:
                break
            axes[at] = x.axes[at]
    return tuple(axes)


def _expand(call: Call) -> Expression | None:
    x, shape = call.x, tuple(call.result.shape)
    return same(call) if shape == x.shape else call.made("expand", x, shape=shape)


def _unsqueeze(call: Call) -> Expression:
    x, axis = call.x, call.axis(1)
    return call.made("insert", x, axes=(*x.axes[:axis], None, *x.axes[axis:]), axis=axis)


def _squeeze(call: Call) -> Expression | None:
    x, axis = call.x, call.argument(1, "dim")
    if not isinstance(axis, int):
        return None
    if call.result.dim() == len(x.shape):
        return same(call)
    axis %= len(x.shape)
    return call.made("drop", x, axes=(*x.axes[:axis], *x.axes[axis + 1 :]), axis=axis)


def _item(call: Call) -> Expression | None:
    x, given = call.x, call.args[1]
    index = given if isinstance(given, tuple) else (given,)
    only = index[0] if len(index) == 1 else None
    if isinstance(only, Tensor) and only.dtype.is_signed and not only.is_floating_point():
        places = call.graph.of(only)
        return call.made("rows", x, places, axes=(*places.axes, *x.axes[1:]))
    parts = [call.graph.of(one) for one in index if isinstance(one, Tensor)]
    written = tuple("part" if isinstance(one, Tensor) else one for one in index)
    chosen = any(isinstance(one, Tensor | list) for one in index)
    axes = (None,) * call.result.dim() if chosen else of_index(x, written)
    if not chosen and axes == x.axes and tuple(call.result.shape) == x.shape:
        return same(call)
    return call.made("item", x, *parts, axes=axes, index=written)


PARTING: Final = {"chunk": 2, "split": 2, "split_with_sizes": 2, "tensor_split": 2, "unbind": 1}
"""What parts a tensor along an axis, and the place of that axis among the arguments."""


def parted(call: Call, name: str, pieces: tuple[Any, ...]) -> bool:
    """``chunk``, ``split`` and ``unbind``: each piece is a part of the whole; false for others."""
    place = PARTING.get(name)
    if place is None:
        return False
    count = len(call.x.shape)
    axis = call.argument(place, "dim", 0) % count
    lead = (...,) if 0 < axis == count - 1 else (slice(None),) * axis
    start = 0
    for piece in pieces:
        end = start + (1 if name == "unbind" else piece.shape[axis])
        part = start if name == "unbind" else slice(start, end)
        _item(replace(call, result=piece, args=(call.args[0], (*lead, part))))
        start = end
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


def _repeated(call: Call) -> Expression | None:
    """Each entry several times, one after another."""
    x, times = call.x, call.argument(1, "repeats")
    if call.argument(2, "dim") is None or not isinstance(times, int):
        return None
    axis = call.axis(2)
    axes = (*x.axes[:axis], None, *x.axes[axis + 1 :])
    axis -= call.result.dim()
    return call.made("repeat_interleave", x, axes=axes, times=times, axis=axis)


def _tiled(call: Call) -> Expression:
    """The whole several times, side by side."""
    times = call.args[1] if isinstance(call.args[1], list | tuple) else call.args[1:]
    # An axis that is repeated no longer means what it did.
    return call.made("repeat", call.x, times=tuple(times))


SAME: Final = (
    "dropout contiguous to float double clone detach alias type_as data alpha_dropout "
    "feature_dropout type half bfloat16 int long bool"
)
RESHAPING: Final = "reshape view flatten unflatten view_as reshape_as"

FUNCTIONS: Final[Mapping[str, Translator]] = {
    **dict.fromkeys(SAME.split(), same),
    **dict.fromkeys(RESHAPING.split(), _reshape),
    **dict.fromkeys(("transpose", "swapaxes"), _transpose),
    **dict.fromkeys(("t", "T", "mT"), _turned),
    **dict.fromkeys(("expand", "expand_as"), _expand),
    "movedim": _moved,
    "permute": _permute,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "getitem": _item,
    "repeat": _tiled,
    "repeat_interleave": _repeated,
}
"""Name of a function or method of torch to what it does with the numbers' places."""
