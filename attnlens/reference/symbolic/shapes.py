"""Calls that move numbers about, and what becomes of the axes in a call.

Such a call is made again with the places of the numbers in place of the numbers. A view that parts
the last axis into heads, or brings heads together, is seen as that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from attnlens.reference.symbolic.graph import Axes, Call, Expression, Translator, number


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
    if "." in spec:
        return (None,) * dimensions
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


def _places(shape: tuple[int, ...]) -> Tensor:
    """The place of each number of such a tensor; an axis of one has a stride of its own, too."""
    count = math.prod(shape)
    strides = torch.empty(shape, device="meta").stride()
    told = [
        2 * count + at if size == 1 else stride
        for at, (size, stride) in enumerate(zip(shape, strides, strict=True))
    ]
    return torch.arange(count).as_strided(shape, told)


def _alike(one: Tensor, other: Tensor) -> bool:
    """Whether the axes of two views of places are the same."""
    return one.shape == other.shape and one.stride() == other.stride()


def _axes_of(x: Expression, before: Tensor, after: Tensor) -> Axes:
    """The axes of a view, by their strides among the places; parts of an axis are none."""
    left = dict(enumerate(zip(before.shape, before.stride(), strict=True)))
    axes: list[str | None] = []
    # A new axis of one may have the stride of the one behind it.
    for axis in reversed([*zip(after.shape, after.stride(), strict=True)]):
        at = next((at for at, other in left.items() if other == axis), None)
        axes.append(None if at is None else x.axes[at])
        left.pop(at, None) if at is not None else None
    return tuple(reversed(axes))


def _moved(call: Call) -> Expression | None:
    """A view: the places of the numbers, moved likewise, tell which."""
    x, before = call.x, _places(call.x.shape)
    after = call.function(before, *call.args[1:], **call.named)
    if _alike(after, before):
        return same(call)
    axes = _axes_of(x, before, after)
    if len(x.shape) >= 2 and _alike(after, before.mT):
        return call.made("transpose", x, axes=axes)
    if _is_parted(x) and _alike(after, before.transpose(-2, -3)):
        (inner,) = x.parts
        width = inner.axes[-1] if x.shape[-2] == 1 else None  # one head has all of it
        axes = (*inner.axes[:-2], "head", inner.axes[-2], width)
        return call.made("split", inner, axes=axes, heads=x.shape[-2], into=x.shape[-2])
    return call.made("moved", x, axes=axes, places=after.numpy())


def _copied(call: Call) -> Expression | None:
    """Numbers in another order, or several times."""
    if any(isinstance(arg, Tensor) for arg in (*call.args[1:], *call.named.values())):
        return None  # the input may say which
    places = call.function(
        torch.arange(math.prod(call.x.shape)).view(call.x.shape), *call.args[1:], **call.named
    )
    axes = _matching(call.x, tuple(call.result.shape))
    return call.made("moved", call.x, axes=axes, places=places.numpy())


def _is_parted(x: Expression) -> bool:
    """Whether its last axis was parted in two."""
    return x.kind == "reshape" and x.shape[:-2] == x.parts[0].shape[:-1] and len(x.shape) > 2


def _reshape(call: Call) -> Expression | None:
    x, shape = call.x, tuple(call.result.shape)
    if shape == x.shape:
        return same(call)
    if shape == (*x.shape[:-2], math.prod(x.shape[-2:])) and _heads_brought_back(x):
        (inner,) = x.parts
        axes = (*inner.axes[:-3], inner.axes[-2], None)
        return call.made("join", inner, axes=axes, heads=0)
    return call.made("reshape", x, axes=_matching(x, shape), shape=shape)


def _heads_brought_back(x: Expression) -> bool:
    """Whether heads were put behind the tokens, so that they lie beside one another."""
    if x.kind != "moved" or len(x.shape) < 3 or not x.parts[0].heads:
        return False
    (inner,) = x.parts
    swapped = _places(inner.shape).transpose(-2, -3).numpy()
    return inner.axes[-3] == "head" and np.array_equal(x.options["places"], swapped)


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


def _item(call: Call) -> Expression | None:
    x, given = call.x, call.args[1]
    index = given if isinstance(given, tuple) else (given,)
    only = index[0] if len(index) == 1 else None
    if isinstance(only, Tensor) and only.dtype.is_signed and not only.is_floating_point():
        places = call.graph.of(only)
        return call.made("rows", x, places, axes=(*places.axes, *x.axes[1:]))
    parts = [call.graph.of(one) for one in index if isinstance(one, Tensor)]
    axes: Axes = (None,) * call.result.dim()
    if not any(isinstance(one, Tensor | list) for one in index):
        before = _places(x.shape)
        after = before[given]
        if _alike(before, after):
            return same(call)
        axes = _axes_of(x, before, after)
    written = tuple("part" if isinstance(one, Tensor) else one for one in index)
    return call.made("item", x, *parts, axes=axes, index=written)


def _index_select(call: Call) -> Expression | None:
    lead = (slice(None),) * (call.argument(1, "dim") % len(call.x.shape))
    return _item(replace(call, args=(call.args[0], (*lead, call.argument(2, "index")))))


def _copy(call: Call) -> Expression | None:
    """What stands in a tensor after another was copied into it."""
    source = call.argument(1, "src")
    same_size = source.shape == call.result.shape
    return same(replace(call, args=(source,))) if same_size else None


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


SAME: Final = (
    "dropout contiguous to float double clone detach alias type_as data alpha_dropout "
    "feature_dropout type half bfloat16 int long bool"
)
RESHAPING: Final = "reshape view flatten unflatten view_as reshape_as"

MOVING: Final = "transpose swapaxes t T mT movedim permute expand expand_as unsqueeze squeeze"

COPYING: Final = "repeat repeat_interleave tile flip roll"

FUNCTIONS: Final[Mapping[str, Translator]] = {
    **dict.fromkeys(SAME.split(), same),
    **dict.fromkeys(RESHAPING.split(), _reshape),
    **dict.fromkeys(MOVING.split(), _moved),
    **dict.fromkeys(COPYING.split(), _copied),
    "getitem": _item,
    "index_select": _index_select,
    "copy": _copy,
}
"""Name of a function or method of torch to what it does with the numbers' places."""
