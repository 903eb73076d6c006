"""Products that may be of weights and values, and what is done with those that are."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

import torch
from torch import Tensor, nn

from attnlens.errors import RecordingError
from attnlens.recording.calls import AttentionCall, Layout
from attnlens.recording.sites import Sites
from attnlens.recording.tracking import Axes, Dimension, Pair, TracedAxis, size_of

_DROPPED: Final = "weights are those after dropout, which multiplied the values"


class Watcher(Protocol):
    """What a follower asks and tells of: see `attnlens.recording.block.Block`."""

    model: nn.Module
    sites: Sites
    follows: bool

    @property
    def has_adapters(self) -> bool: ...
    def asks(self, site: str, is_again: bool = False) -> bool: ...
    def tell(
        self, site: str, call: AttentionCall, pair: Pair | None = None, is_again: bool = False
    ) -> None: ...
    def is_named(self, site: str, module: nn.Module) -> bool: ...
    def has_claimed(self, pair: Pair) -> bool: ...
    def expect(self, pair: Pair, site: str, shape: tuple[int, ...]) -> None: ...
    def doubt(self, site: str, shape: tuple[int, ...], is_open: bool) -> None: ...
    def refuse_flex(self, site: tuple[str, nn.Module] | None) -> None: ...
    def lose(self, site: tuple[str, nn.Module] | None, operator: str, error: Exception) -> None: ...
    def note_foreign(self, site: tuple[str, nn.Module] | None) -> None: ...


@dataclass(frozen=True, slots=True)
class Product:
    """A product that may be one of weights and values.

    Dimensions come in the order of ``weights``: shared with the values, free, and the key.

    Attributes:
        pair, side: what the weights are made of, and the side that is summed over.
        weights: ``(*shared, *free, key)``.
        values: ``(*shared, key, *width)``.
        output: ``(*shared, *free, *width)``.
        value_key: the axes that the values have where the weights have ``key``.
        is_open: whether the weights are exponentials that nothing made sum to 1.
        is_learnt: whether the values do not depend on the input, unlike the weights.
    """

    pair: Pair
    side: int
    weights: Tensor
    values: Tensor
    output: Tensor
    shared: tuple[Dimension, ...]
    free: tuple[Dimension, ...]
    key: Dimension
    width: tuple[Dimension, ...]
    value_key: Dimension
    is_open: bool
    is_learnt: bool = False

    @property
    def layout(self) -> Layout:
        return Layout.of(
            self.pair, self.side, flat(self.shared), flat(self.free), self.key, flat(self.width)
        )

    def call(self, is_whole: bool = True) -> AttentionCall:
        """The call, with values and outputs if it is to be whole."""
        layout = self.layout
        weights = layout.weights(self.weights, (*self.shared, *self.free, self.key))
        notes = (_DROPPED,) if self.pair.dropped else ()
        if not is_whole:
            return AttentionCall("product", weights=weights, notes=notes)
        values = layout.values(self.values, (*self.shared, self.key, *self.width))
        outputs = layout.outputs(self.output, (*self.shared, *self.free, *self.width))
        return AttentionCall("product", weights=weights, v=values, output=outputs, notes=notes)

    def is_attention(self, layout: Layout, is_named: bool) -> bool | None:
        """Whether it is one of weights and values; None: it cannot be told.

        Args:
            is_named: whether its module is called attention, or an adapter names it.
        """
        if self.is_open or not self.width:
            return False
        if self.is_learnt and any(axis in flat(self.shared) for axis in layout.query):
            return False  # learnt values of pairs of positions, as of relative positions
        is_normalised = self.side in self.pair.normalised
        over_features = all(axis.plain.feature for axis in self.key)
        of_features = any(axis.plain.feature for axis in self.value_key)
        if self.pair.origin == "softmax":
            if of_features:  # a learnt memory; experts, codes, layers
                return (is_named and self.is_learnt) or None
            free = [axis for axis in flat(self.free) if axis.size > 1]
            of_positions = all(not axis.plain.feature for axis in free)
            is_sure = of_positions and (bool(free) or not over_features)
            is_learnt = bool(free) and all(axis.plain.feature for axis in (*free, *self.key))
            is_sure = is_sure or (is_learnt and self.weights.dim() > 2)  # by heads, else a layer
            return is_named or is_sure or None
        # Learnt positions are batched, as heads are; else it is a layer.
        is_layer = not is_normalised or self.weights.dim() < 3
        of_inputs = self.pair.origin == "product" and not self.is_learnt
        if over_features and is_layer and not of_inputs:
            return False
        if is_normalised and (over_features or not of_features):
            return True
        if self.pair.chosen and not over_features and not of_features:
            return True
        if self.pair.normalised and not over_features:
            return is_named or None
        positions = not over_features and not all(axis.plain.feature for axis in layout.query)
        if not positions or self.pair.origin == "learnt":
            return False
        return is_named or (None if self.pair.origin == "product" else False)


@dataclass(frozen=True, slots=True)
class FoundCall:
    """One attention call, and the block to be told of it.

    ``call`` is None of a product that nobody changed: `Product.call` makes it, of views.
    """

    block: Watcher
    site: str
    call: AttentionCall | None = None
    product: Product | None = None
    is_again: bool = False

    def whole(self) -> AttentionCall:
        """The call with values and outputs."""
        if self.call is not None:
            return self.call
        assert self.product is not None
        return self.product.call()

    def report(self) -> None:
        """Tell the block, or hold it back."""
        weights = self.call.q if self.product is None and self.call else None
        weights = self.product.weights if self.product is not None else weights
        if weights is not None and weights.is_meta:
            raise RecordingError(
                f"{self.site}: tensors on the device meta have no values; run the model on another"
            )
        if thread_state.held is not None:
            thread_state.held.append(self)
        elif self.block.asks(self.site, self.is_again):
            pair, call = None if self.product is None else self.product.pair, self.call
            if call is None:
                assert self.product is not None
                call = self.product.call(self.block.follows)
            self.block.tell(self.site, call, pair, self.is_again)


class _ThreadState(threading.local):
    def __init__(self) -> None:
        self.followers: list[Any] = []
        self.is_quiet = False
        self.held: list[FoundCall] | None = None


thread_state = _ThreadState()
"""The followers of this thread; whether what they find is told to nobody for now, or held back."""


@contextmanager
def quiet() -> Iterator[None]:
    """A block whose attention is told to nobody."""
    before, thread_state.is_quiet = thread_state.is_quiet, True
    try:
        yield
    finally:
        thread_state.is_quiet = before


@contextmanager
def held() -> Iterator[list[FoundCall]]:
    """A block whose attention is held back, until whoever may change it has."""
    before, thread_state.held = thread_state.held, []
    try:
        yield thread_state.held
    finally:
        thread_state.held = before


@dataclass(frozen=True, slots=True)
class Pending:
    """Weights and values multiplied element by element; a sum over keys makes it a product."""

    pair: Pair
    weights: Tensor
    values: Tensor
    shape: torch.Size
    width: tuple[int, ...]
    is_open: bool
    value_axes: Axes

    def summed(self, axes: Axes, side: int, output: Tensor) -> Product | None:
        """The product that a sum over one side of the pair makes of it."""
        sizes, dimensions = self.shape, axes.dimensions
        keys = [
            dim
            for dim, dimension in enumerate(dimensions)
            if any(axis.pair is self.pair and axis.side == side for axis in dimension)
        ]
        if len(keys) != 1 or key_side(axes, dimensions[keys[0]]) is None:
            return None
        lacks = len(sizes) - self.values.dim()
        rest = [dim for dim in range(len(sizes)) if dim not in (*keys, *self.width)]
        free = [
            dim
            for dim in rest
            if dim < lacks or (self.values.shape[dim - lacks] == 1 and sizes[dim] > 1)
        ]
        shared = [dim for dim in rest if dim not in free]
        weights = self.weights.expand(sizes).permute(*shared, *free, *keys, *self.width)
        values = self.values.expand(sizes).permute(*free, *shared, *keys, *self.width)
        for _ in self.width:
            weights = weights[..., 0]
        for _ in free:
            values = values[0]
        kept = [dim for dim in range(len(sizes)) if dim not in keys]
        output = output.reshape([sizes[dim] for dim in kept])
        output = output.permute([kept.index(dim) for dim in (*shared, *free, *self.width)])
        value_key = self.value_axes.dimensions[keys[0] - lacks] if keys[0] >= lacks else ()
        chosen = [tuple(dimensions[p] for p in dims) for dims in (shared, free, self.width)]
        return Product(
            self.pair, side, weights, values, output, chosen[0], chosen[1], dimensions[keys[0]],
            chosen[2], value_key, self.is_open,
        )  # fmt: skip


def pending_of(
    operands: Sequence[Axes], tensors: Sequence[Tensor], output: Tensor
) -> Pending | None:
    """Weights times values, element by element, if that is what two factors are."""
    for first, other in ((0, 1), (1, 0)):
        axes, values = operands[first], operands[other]
        pair = axes.weights_of
        if pair is None or values.constant or values.weights_of is pair:
            continue
        w, v = tensors[first], tensors[other]
        lacks, v_lacks = output.dim() - w.dim(), output.dim() - v.dim()
        width = tuple(
            dim
            for dim, size in enumerate(output.shape)
            if dim >= v_lacks
            and v.shape[dim - v_lacks] == size
            and (
                dim < lacks
                or (w.shape[dim - lacks] == 1 and size > 1)
                or all(axis.copied for axis in axes.dimensions[dim - lacks] or (TracedAxis(1),))
            )
        )
        if width and (pair.normalised or pair.origin == "product"):
            return Pending(pair, w, v, output.shape, width, axes.exponential, values)
    return None


def key_side(axes: Axes, key: Dimension) -> tuple[Pair, int] | None:
    """The pair that a tensor is weights of, and the side that one dimension is."""
    pair = axes.weights_of
    if pair is None:
        return None
    own = [axis for axis in key if axis.pair is pair]
    sides = [axis.side for axis in own]
    if own and all(axis.plain.feature for axis in own):
        # Heads that share keys stand among the queries; a sum over them is none over keys.
        rest = (axis for dimension in axes.dimensions for axis in dimension if axis not in own)
        if any(axis.pair is pair and axis.side in sides and axis.size > 1 for axis in rest):
            return None
    if not sides:
        alone = [side for side in (1, 0) if pair.sizes[side] == 1] if size_of(key) == 1 else []
        return (pair, alone[0]) if alone else None
    if len({*sides}) > 1 and min(pair.sizes) > 1:
        return None  # queries and keys in one
    return pair, max(sides, key=lambda side: pair.sizes[side])


def flat(dimensions: Sequence[Dimension]) -> Dimension:
    return tuple(axis for dimension in dimensions for axis in dimension)
