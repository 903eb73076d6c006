"""Find attention in a model by following the model's operators.

`Follower` is a torch dispatch mode, which examines the result of every operator. The arguments of
fused kernels contain the queries and keys. Torch's fused encoder layers are run operator by
operator. Other attention is recognised as a product of weights and values.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attnlens.errors import AttnlensError, RecordingError
from attnlens.recording.axes import broadcasts
from attnlens.recording.block import Block, FoundCall, thread_state
from attnlens.recording.calls import (
    FUSED,
    LAYERS,
    WITH_WEIGHTS,
    AttentionCall,
    Pending,
    Product,
    flat,
    fused_call,
    key_side,
    keys_of,
    padded_arguments,
    pending_of,
)
from attnlens.recording.rules import RULES, OperatorCall, axes_after
from attnlens.recording.tracking import (
    Axes,
    Dimension,
    Pair,
    Plan,
    TracedAxis,
    Tracker,
    broadcast,
    by_position,
    has_memory,
    plain,
    size_of,
)

_FACTORS: Final = {
    **dict.fromkeys(("mm", "bmm", "mv", "dot"), 0),
    **dict.fromkeys(("addmm", "addmv", "baddbmm", "_addmm_activation"), 1),
}
"""Maps matrix products to the argument position of the first matrix."""

_SOFTMAXES: Final = frozenset((
    "_softmax", "softmax", "_safe_softmax", "_log_softmax", "log_softmax",
))  # fmt: skip
_CHOICES: Final = frozenset((
    "sigmoid", "relu", "clamp", "clamp_min", "threshold", "softplus", "hardtanh",
    "eq", "ge", "gt", "le", "lt",
))  # fmt: skip
"""The element-wise operators that can turn scores into weights."""
_EXPONENTIALS: Final = frozenset(("exp", "exp2"))
_NATIVE: Final = torch.ops.aten._native_multi_head_attention.default
_COMPOSITE: Final = torch._C.DispatchKey.CompositeImplicitAutograd


class Follower(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Follow a model's operators and report every attention call to a block.

    The results of the operators stay the same to the last bit.
    """

    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise torch imports its compiler, which takes over a second

    def __init__(self, block: Block) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tracker = Tracker(block.model)
        self.block = block
        self.plan = Plan()
        self._findings = 0
        self._used: set[tuple[Pair, tuple[Any, ...]]] = set()
        self._is_inside = False
        self._fused_site: tuple[str, nn.Module] | None = None

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        del types
        kwargs = kwargs or {}
        if self._is_inside and func is not _NATIVE:
            return func(*args, **kwargs)
        if torch._C._current_graph_task_id() != -1:
            return func(*args, **kwargs)  # a backward pass, which may also recompute activations
        name = _name_of(func)
        if name in LAYERS and not thread_state.is_quiet:
            return self._opened(func, name, args, kwargs)
        is_below = torch.is_inference_mode_enabled() or self._fused_site is not None
        has_nested = any(isinstance(part, Tensor) and part.is_nested for part in args)
        if is_below and _is_composite(func) and not has_nested:
            with self:
                return func._op_dk(_COMPOSITE, *args, **kwargs)
        if name == "flex_attention" and not thread_state.is_quiet:
            self.block.refuse_flex(self._site())
        output = func(*args, **kwargs)
        unknown, is_planned = self.tracker.unknown, not thread_state.is_quiet
        if is_planned and self.plan.knows(func, args, kwargs, output, self.tracker):
            return output
        before = self._findings
        try:
            if name in FUSED:
                self._findings += 1
                self._fused(func, args, kwargs, output)
            else:
                self._look(name, args, kwargs, output)
        except AttnlensError:
            raise
        except Exception as error:  # continue: the block raises an error when it ends
            self._findings += 1
            self.block.lose(self._site(), name, error)
        if is_planned:
            self.plan.add(func, args, kwargs, output, self.tracker, self._findings > before)
        if self.tracker.unknown > unknown or getattr(func, "namespace", "") != "aten":
            self.block.note_foreign(self._site())
        return output

    def begin(self, arguments: Any) -> None:
        """Prepare for a call of the model with the inputs ``arguments``."""
        self._used.clear()
        self.plan = Plan.of(self.block.model, bool(self.block.named))
        if torch._C._functorch.peek_interpreter_stack() is not None:
            return
        for part in tree_leaves(arguments):
            if isinstance(part, Tensor):
                self.tracker.of(part)

    def pair_of(self, weights: Tensor) -> Pair:
        """Return the pair of a probe's weights. Create a pair if necessary."""
        axes = self.tracker.of(weights)
        if axes.weights_of is None:
            axes = _softmax_axes(axes, weights.dim() - 1, weights.shape[-1])
            self.tracker.put(weights, axes)
        pair = axes.weights_of
        assert pair is not None
        pair.normalised |= {0, 1}
        return pair

    def _site(self) -> tuple[str, nn.Module] | None:
        return self._fused_site or self.block.sites.running(sys._getframe(1))

    # Fused operators

    def _opened(self, func: Any, name: str, args: tuple[Any, ...], kwargs: Any) -> Any:
        """Run a fused encoder operator and follow the operators inside."""
        source = args[0]
        keys = keys_of(source)
        if name == "_native_multi_head_attention":
            return self._native(func, keys, args, kwargs)
        output = self._reentered(func, keys, args, None)
        if not source.is_nested:
            self.tracker.put(output, self.tracker.of(source).plain())
        return output

    def _native(self, func: Any, keys: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        """Run torch's fused self-attention, which can return its weights."""
        arguments = {argument.name: argument.default_value for argument in func._schema.arguments}
        arguments |= dict(zip(arguments, args, strict=False)) | kwargs
        query, site = arguments["query"], self._site()
        if site is None:
            return func(*args, **kwargs)
        # An encoder layer runs its own ``self_attn`` without calling that module.
        name = self.block.sites.names.get(id(getattr(site[1], "self_attn", None)), site[0])
        site = name, site[1]
        if query.is_nested:
            output = func(*args, **kwargs)
            findings: list[FoundCall] = []
            with thread_state.having(held=findings):
                padded, hidden = padded_arguments(arguments)
                self._reentered(func, keys_of(padded["query"]), padded.values(), site)
            for finding in findings:
                call = finding.to_call()
                weights, output_of_heads = (
                    part if part is None else part.masked_fill(hidden[:, None, :, None], 0.0)
                    for part in (call.weights, call.output)
                )
                call = replace(call, weights=weights, output=output_of_heads)
                replace(finding, call=call).report()
            return output
        if self.block.follows or query.device.type != "cpu":
            return self._reentered(func, keys, arguments.values(), site)
        if not self.block.asks(name):
            return func(*args, **kwargs)
        output, weights = func(*(arguments | WITH_WEIGHTS).values())
        own = not (arguments["need_weights"] and not arguments["average_attn_weights"])
        self.block.tell(name, AttentionCall(weights=weights, own=own))
        if not arguments["need_weights"]:
            return output, None
        heads = weights.shape[1]
        return output, weights.sum(1) / heads if arguments["average_attn_weights"] else weights

    def _reentered(
        self, func: Any, keys: Any, args: Iterable[Any], site: tuple[str, nn.Module] | None
    ) -> Any:
        """Run an operator and follow the inner operators; only `_NATIVE` if ``site`` is None."""
        before = self._is_inside, self._fused_site
        self._is_inside, self._fused_site = site is None, site
        try:
            with self:
                return func.redispatch(keys, *args)
        finally:
            self._is_inside, self._fused_site = before

    def _fused(self, func: Any, args: tuple[Any, ...], kwargs: Any, output: Any) -> None:
        queries, values = self.tracker.of(args[0]), self.tracker.of(args[2])
        if has_memory(args[0]):
            axes = (*plain(queries.dimensions[:-1]), *plain(values.dimensions[-1:]))
            self.tracker.put(output[0], Axes(axes))
        site = None if thread_state.is_quiet else self._site()
        if site is None:
            return
        if not has_memory(args[0]):
            raise RecordingError(
                f"{site[0]}: nested tensors cannot be recorded; pad the input instead"
            )
        heads, rows, width = queries.dimensions[-3:]
        are_heads = rows and all(
            axis.plain.feature and any(axis.splits_with(part) for part in (*heads, *width))
            for axis in rows
        )
        call = fused_call(func, args, kwargs, output, bool(are_heads))
        FoundCall(self.block, site[0], call).report()

    # One operator

    def _look(self, name: str, args: tuple[Any, ...], kwargs: Any, output: Any) -> None:
        """Store the axes of an operator's results, and report attention."""
        if isinstance(output, tuple | list):
            for part in output:
                if isinstance(part, Tensor) and has_memory(part):
                    self.tracker.put(part, self._axes_of_part(name, args, kwargs, part))
        elif isinstance(output, Tensor) and has_memory(output):
            axes = self._axes(name.rstrip("_"), args, kwargs, output)
            if name[-1] == "_" or "out" in kwargs:
                self.tracker.written(output, axes)
            else:
                self.tracker.put(output, axes)

    def _axes_of_part(self, name: str, args: Any, kwargs: Any, part: Tensor) -> Axes:
        """Return the axes of one of several results."""
        first = args[0] if args and isinstance(args[0], Tensor) else None
        if name == "_transform_bias_rescale_qkv":
            # The result is (batch, head, position, width).
            sizes = enumerate(part.shape)
            return Axes(tuple((TracedAxis(size, feature=dim in (1, 3)),) for dim, size in sizes))
        if first is None or not has_memory(first):
            return Axes.new(part.shape, constant=first is None)
        if name == "unbind":
            return axes_after(RULES[name], OperatorCall(self.tracker, args, kwargs, part))
        source = self.tracker.of(first)
        if name == "native_dropout":
            for pair in source.pairs:
                pair.dropped = True
        if part.dim() != first.dim():
            return Axes.new(part.shape, constant=source.constant)
        return source.with_dimensions(by_position(source.dimensions, part.shape))

    def _axes(self, name: str, args: tuple[Any, ...], kwargs: Any, output: Tensor) -> Axes:
        if (first := _FACTORS.get(name)) is not None:
            return self._product(args[first], args[first + 1], output)
        if name in _SOFTMAXES:
            return self._softmax(name, args, kwargs, output)
        rule = RULES.get(name)
        if rule is None:
            return self._element_wise(name, args, kwargs, output)
        axes = axes_after(rule, OperatorCall(self.tracker, args, kwargs, output))
        if name == "lift_fresh" and self._site() is None:
            return Axes.new(output.shape)
        if name == "sum":
            return self._summed(args[0], axes, output)
        if name == "scatter":
            self._expect(axes, output)
        return axes

    def _softmax(self, name: str, args: tuple[Any, ...], kwargs: Any, output: Tensor) -> Axes:
        axes = self.tracker.of(args[0])
        if not output.dim():
            return axes
        dim = (args[1] if len(args) > 1 else kwargs["dim"]) % output.dim()
        pair = axes.weights_of
        if pair is None:
            axes = _softmax_axes(axes, dim, output.shape[dim])
        else:
            pair.normalised |= {axis.side for axis in axes.dimensions[dim] if axis.pair is pair}
            self._expect(axes, output)
        return replace(axes, exponential=False, log_sum="log" in name)

    def _element_wise(self, name: str, args: tuple[Any, ...], kwargs: Any, output: Tensor) -> Axes:
        arguments = (*args, *(part for name, part in kwargs.items() if name != "out"))
        tensors = [part for part in arguments if isinstance(part, Tensor) and has_memory(part)]
        if not tensors:
            # A tensor created outside the model's modules is an input, not a constant.
            is_constant = self._site() is not None
            return Axes.new(output.shape, feature=is_constant, constant=is_constant)
        if name == "copy":
            tensors = tensors[1:] or tensors
        operands = [self.tracker.of(tensor) for tensor in tensors]
        is_float = output.is_floating_point()
        if is_float and len(operands) > 1:
            # Masks and indices only select from the other operands, so they count as constants.
            operands = [
                axes if tensor.is_floating_point() else replace(axes.plain(), constant=True)
                for axes, tensor in zip(operands, tensors, strict=True)
            ]
        shapes = [tensor.shape for tensor in tensors]
        if len(operands) == 1 and shapes[0] == output.shape:
            axes = operands[0]
        elif all(broadcasts(own, output.shape) for own in shapes):
            axes = broadcast(list(zip(operands, shapes, strict=True)), output.shape, is_float)
        else:
            source = next((operand for operand in operands if not operand.constant), operands[0])
            axes = Axes.new(output.shape, constant=all(operand.constant for operand in operands))
            if len(source.dimensions) == output.dim():
                axes = Axes.of(by_position(source.dimensions, output.shape), constant=axes.constant)
        return self._normalised(name, axes, operands, tensors, output)

    def _normalised(
        self,
        name: str,
        axes: Axes,
        operands: Sequence[Axes],
        tensors: Sequence[Tensor],
        output: Tensor,
    ) -> Axes:
        """Return the axes of an element-wise result. Detect exponentials and normalised scores."""
        first = operands[0]
        if name == "bernoulli":
            return replace(axes, random=True)
        if name in _EXPONENTIALS:
            return replace(axes, exponential=not first.log_sum, log_sum=False)
        if name == "log":
            return replace(axes, exponential=False, log_sum=first.exponential)
        if name == "div" and not first.exponential:
            axes = replace(axes, exponential=False)
        pair = axes.weights_of
        if name in _CHOICES and pair is not None and pair.origin != "element-wise":
            pair.chosen = True
            self._expect(axes, output)
        if name == "eq" and len(operands) == 2 and pair is None:
            return _chosen_by_number(axes, operands, output)
        if len(operands) != 2 or name not in ("div", "mul", "sub"):
            return axes
        second = operands[1]
        if name == "mul" and second.random and pair is not None:
            pair.dropped = True
        if name == "mul" and (pending := pending_of(operands, tensors, output)) is not None:
            return replace(axes, pending=pending)
        if name == "sub" and not second.log_sum:
            return axes
        if pair is None:
            is_share = name == "div" and first.exponential and not first.constant
            return _shares(first, *tensors) if is_share else axes
        partial = second if first.weights_of is pair else first
        sides = partial.sides(pair)
        is_share = partial.total or partial.log_sum
        if name == "div" and pair.origin == "softmax" and partial.total and sides == {1}:
            return _shares(first, *tensors)  # a second normalisation over another dimension
        if partial.weights_of is pair or not sides or not is_share:
            return axes
        pair.normalised |= {0, 1} - sides
        self._expect(axes, output)
        return replace(axes, exponential=False, log_sum=name == "sub", total=False)

    def _expect(self, axes: Axes, output: Tensor) -> None:
        """Tell the block to expect a product of these weights with values."""
        pair = axes.weights_of
        if pair is None:
            return
        self._findings += 1
        if pair.used or thread_state.is_quiet:
            return
        positions = {
            axis.side
            for axis in flat(axes.dimensions)
            if axis.pair is pair and not axis.plain.feature
        }
        if len(positions) < 2:
            return
        site = self._site()
        if site is not None:
            self.block.expect(pair, site[0], tuple(output.shape))

    # Products

    def _product(self, a: Tensor, b: Tensor, output: Tensor) -> Axes:
        """Return the axes of a matrix product, and report attention."""
        left, right = self.tracker.of(a), self.tracker.of(b)
        left_free = left.dimensions[-2:-1]
        right_free = right.dimensions[-1:] if b.dim() > 1 else ()
        keys = left.dimensions[-1], right.dimensions[-2 if b.dim() > 1 else -1]
        lead = _lead_of(left, right)
        result = (*lead, *left_free, *right_free)
        constant = left.constant and right.constant
        sides = key_side(left, keys[0]), key_side(right, keys[1])
        is_layer = (left.constant or right.constant) and not (
            a.dim() == 3 and (constant or len(a) > 1)
        )
        exponential = left.exponential or right.exponential
        passed_on = Axes.of(result, constant=constant, exponential=exponential)
        is_weighted = any(side is not None and side[0].normalised for side in sides)
        if is_layer and not is_weighted:
            return passed_on
        are_made = sides[0] and sides[1] and sides[0][0].is_made and sides[1][0].is_made
        if are_made:
            # Both factors are weights, not weights and values.
            pair = Pair((size_of(flat(left_free)), size_of(flat(right_free))), "product")
            pair.chosen = True
            for side in sides:
                assert side is not None
                side[0].used = True
            return _paired(lead, left_free, right_free, pair)
        operands, free = (left, right), (left_free, right_free)
        for own, other in ((0, 1), (1, 0)):
            if (side := sides[own]) is None:
                continue
            lead = _lead_of(operands[own], operands[other])
            tensors = (a, b, output) if own == 0 else (_turned(b), _turned(a), _turned(output))
            product = Product(
                *side, *tensors, lead, free[own], keys[own], free[other], keys[other],
                operands[own].exponential, operands[other].constant and not operands[own].constant,
            )  # fmt: skip
            if self._attention(product):
                return Axes.of(plain((*lead, *left_free, *right_free)))
        if is_layer:
            return passed_on
        if not (left_free and right_free):
            return Axes.of(plain(result))
        of_features = all(axis.plain.feature for axis in keys[0])
        is_mixture = left.weights_of is not None and left.weights_of.origin == "softmax"
        site = self._site() if is_mixture and of_features else None
        if site is not None and not thread_state.is_quiet:
            # Weights from a softmax over one tensor multiply features, as in a mixture of experts.
            self._findings += 1
            self.block.doubt(site[0], tuple(a.shape), False)
        origin = "product" if left.constant == right.constant else "learnt"
        pair = Pair((size_of(flat(left_free)), size_of(flat(right_free))), origin)
        return _paired(lead, left_free, right_free, pair, constant)

    def _summed(self, source: Tensor, axes: Axes, output: Tensor) -> Axes:
        """Return the axes of a sum, and report attention."""
        before = self.tracker.of(source)
        pending: Pending | None = before.pending
        if pending is None:
            return axes
        gone = before.sides(pending.pair) - axes.sides(pending.pair)
        if len(gone) != 1 or source.shape != pending.shape:
            return axes
        product = pending.summed(before, gone.pop(), output)
        return axes.plain() if product and self._attention(product) else axes

    def _attention(self, product: Product) -> bool:
        """Return whether a product is attention, and report attention."""
        self._findings += 1
        site, layout = self._site(), product.layout
        is_named = site is not None and self.block.is_named(*site)
        is_named = is_named or product.pair in self.block.claimed
        verdict = product.is_attention(layout, is_named)
        if site is None:
            return bool(verdict)
        if not thread_state.is_quiet and (verdict is None or product.is_open):
            is_open = product.is_open and product.pair.origin == "product"
            self.block.doubt(site[0], tuple(product.weights.shape), is_open)
        if not verdict:
            return product.is_open and product.pair.origin == "product"
        if not thread_state.is_quiet:
            weights = product.weights
            memory = (weights.untyped_storage()._cdata, weights.storage_offset(), weights.numel())
            is_again = (product.pair, memory) in self._used
            self._used.add((product.pair, memory))
            product.pair.used = True
            FoundCall(self.block, site[0], None, product, is_again).report()
        return True


@contextmanager
def following(block: Block) -> Iterator[None]:
    """Follow the model's operators inside this ``with`` block."""
    with ExitStack() as stack:
        if not block.needs_follower():
            yield
            return
        # Compiled modules and flex attention would run code that was traced without the follower.
        if sys.modules.keys() & {"torch._dynamo", "torch.nn.attention.flex_attention"}:
            stack.enter_context(_compiled_runs_uncompiled())
        # Clear autocast's copies of parameters, which would not be recognised as parameters.
        torch.clear_autocast_cache()
        follower = block.follower = Follower(block)
        # Break the reference cycle of block and follower, which would keep weights in memory.
        stack.callback(setattr, block, "follower", None)
        followers = [*thread_state.followers, follower]
        stack.enter_context(thread_state.having(followers=followers))
        stack.enter_context(follower)
        yield


_stance_lock: Final = threading.Lock()
_stances: Final[list[Any]] = []
"""One item for each open block. The first item restores the setting of torch's compiler."""


@contextmanager
def _compiled_runs_uncompiled() -> Iterator[None]:
    """Make compiled modules run uncompiled while a block is open in any thread."""
    with _stance_lock:
        _stances.append(None if _stances else torch.compiler.set_stance("force_eager"))
    try:
        yield
    finally:
        with _stance_lock:
            if (stance := _stances.pop()) is not None:
                stance.__exit__(None, None, None)


def _chosen_by_number(axes: Axes, operands: Sequence[Axes], output: Tensor) -> Axes:
    """Return the axes of ``eq``. A comparison of top-k indices with all indices gives weights."""
    pairs = [pair for operand in operands for pair in operand.pairs]
    if len({*pairs}) != 1:
        return axes
    pair = pairs[0]
    missing = {0, 1} - axes.sides(pair)
    side = next(iter(missing))
    dims = [
        dim
        for dim, size in enumerate(output.shape)
        if size == pair.sizes[side] and not any(axis.pair for axis in axes.dimensions[dim])
    ]
    if len(missing) != 1 or not dims:
        return axes
    pair.chosen = True
    return axes.as_sides(pair, {dims[-1]: side})


def _softmax_axes(axes: Axes, dim: int, size: int) -> Axes:
    """Return the axes after a softmax over one dimension."""
    pair = Pair((1, size), "softmax", {1})
    return Axes(plain(axes.dimensions)).as_sides(pair, {dim: 1})


def _shares(axes: Axes, exponentials: Tensor, total: Tensor) -> Axes:
    """Return the axes of exponentials divided by their sum."""
    shape, other = exponentials.shape, total.shape
    summed = [
        dim
        for dim in range(-len(shape), 0)
        if shape[dim] > 1 and (len(other) < -dim or other[dim] == 1)
    ]
    if len(summed) != 1:
        return replace(axes, exponential=False)
    return _softmax_axes(axes, summed[0], shape[summed[0]])


def _lead_of(axes: Axes, other: Axes) -> tuple[Dimension, ...]:
    """The factor with more known axes determines the leading dimensions."""
    own, rest = axes.dimensions[:-2], other.dimensions[:-2]
    if len(own) == len(rest) and any(axis.copied for axis in flat(own)):
        return tuple(
            theirs if mine and all(axis.copied for axis in mine) else mine
            for mine, theirs in zip(own, rest, strict=True)
        )
    is_finer = len(flat(own)) == 1 < len(flat(rest)) and not own[0][0].pair
    return rest if is_finer or (axes.constant and rest) else own


def _paired(
    lead: Sequence[Dimension],
    left: Sequence[Dimension],
    right: Sequence[Dimension],
    pair: Pair,
    constant: bool = False,
) -> Axes:
    sides = dict(enumerate([0] * len(left) + [1] * len(right), len(lead)))
    return Axes((*plain(lead), *left, *right), constant).as_sides(pair, sides)


def _turned(tensor: Tensor) -> Tensor:
    return tensor.mT if tensor.dim() > 1 else tensor


@lru_cache(maxsize=4096)
def _name_of(func: Any) -> str:
    packet = getattr(func, "_overloadpacket", None)
    return str(func.name() if packet is None else packet.__name__)


@lru_cache(maxsize=4096)
def _is_composite(func: Any) -> bool:
    """Whether an operator only calls other operators."""
    has_kernel = getattr(func, "has_kernel_for_dispatch_key", None)
    return has_kernel is not None and bool(has_kernel(_COMPOSITE))
