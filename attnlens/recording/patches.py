"""Where torch computes attention, and what stands there while anyone listens.

Some functions of torch are replaced, under the names others call them by, by objects that pass
every call on unless a listener of the calling thread wants it. They are put there when the first
listener of the process comes and taken away when the last one goes. `Holders` tells who else holds
torch's attention function, so that replacing its names would not reach them.

After a softmax that is attention, or a probe, a model that forms its weights itself multiplies them
with values. Where someone follows that, products of matrices (``matmul``, ``bmm``, ``@``,
``einsum``) lead to `product`, and the one whose first factor is those weights tells the values and
what heads give.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import FrameType, MethodType, ModuleType
from typing import Any, Final, TypeGuard

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlens.recording.fused import encoder_layer, multi_head
from attnlens.recording.interception import (
    AttentionCall,
    Handler,
    Listener,
    TorchCall,
    WatchingMode,
    everywhere,
    fused_path_asked,
    note_elsewhere,
    thread_state,
    untold,
)
from attnlens.recording.torch_calls import flex, scaled_dot_product
from attnlens.recording.written import exponential, softmax

_TABLE = 20
"""Longer lists and sets of functions are tables that torch looks functions up in."""


class Holders:
    """Finds references to a function: names in modules, which can be replaced, and others.

    Searching costs tens of milliseconds, so it is done again only when the number of references has
    changed, which costs nothing to ask. ``replaced`` are names where something else stands now.
    """

    __slots__ = ("_count", "_function", "_hidden", "_lock", "_names", "replaced")

    def __init__(self, function: Any) -> None:
        self._function = function
        self._count = -1
        self._names: list[tuple[ModuleType, str]] = []
        self._hidden = False
        self._lock = threading.Lock()
        self.replaced: list[tuple[ModuleType, str]] = []

    def by_name(self) -> list[tuple[ModuleType, str]]:
        """Modules outside torch that hold the function, and under which name."""
        self._search()
        return self._names

    def hidden(self) -> bool:
        """Whether it is held where no name leads to, as in a closure or an attribute."""
        self._search()
        return self._hidden

    def _search(self) -> None:
        with self._lock:
            if sys.getrefcount(self._function) + len(self.replaced) == self._count:
                return
            names = self.replaced.copy()
            # What was frozen is told of by nobody: whoever else holds it is assumed to.
            hidden = bool(gc.get_freeze_count())
            for holder in gc.get_referrers(self._function):
                if isinstance(holder, dict):
                    module = _module_of(holder)
                    keys = [key for key, value in holder.items() if value is self._function]
                    if module is None:
                        # As a key, it is looked up and not called.
                        hidden = hidden or bool(keys)
                    elif module.__name__.partition(".")[0] != "torch":
                        names += [(module, key) for key in keys]
                elif not _is_table(holder):
                    hidden = True
            self._names, self._hidden = names, hidden
            self._count = sys.getrefcount(self._function) + len(self.replaced)


def _module_of(namespace: dict[str, object]) -> ModuleType | None:
    name = namespace.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    return module if module is not None and vars(module) is namespace else None


def _is_table(holder: Any) -> bool:
    """Whether a holder only names the function, and nobody calls it from there."""
    if isinstance(holder, set | frozenset | Holders | FunctionPatch | torch.fx.Node):
        return True
    if isinstance(holder, FrameType):
        # Ours, kept by an exception that someone caught.
        return str(holder.f_globals.get("__name__")).startswith("attnlens.recording.")
    if isinstance(holder, tuple):
        return len(holder) == 2 and any(isinstance(part, str) for part in holder)
    return isinstance(holder, list) and len(holder) >= _TABLE


_CLOSE: Final = 1e-2
"""Weights cast to half precision differ by less."""


@dataclass(frozen=True, slots=True)
class _Product:
    """A product of ``(..., query, key)``, which may be weights, and ``(..., key, width)``.

    ``order`` is in which dimensions of the result are ``(..., query, width)``.
    """

    left: Tensor
    right: Tensor
    order: list[int]


def product(made: TorchCall) -> Any:
    """A product of matrices; of weights and values it is told to those who follow them."""
    following = [
        listener for listener in thread_state.listeners if listener.follows and listener.awaited
    ]
    is_recomputed = torch._C._current_graph_task_id() != -1  # for gradients
    transformed = torch._C._functorch.peek_interpreter_stack() is not None
    if not following or is_recomputed or transformed or "out" in made.kwargs:
        return made.run()
    with untold():
        output = made.run()
        following.sort(key=lambda listener: not listener.changes)
        for factors in _products(made):
            pairs = [(listener, _awaited(listener, factors.left)) for listener in following]
            awaiting = [(listener, call) for listener, call in pairs if call is not None]
            if awaiting:
                return _report_product(awaiting, factors, output)
    return output


def _report_product(
    awaiting: list[tuple[Listener, AttentionCall]], factors: _Product, output: Tensor
) -> Tensor:
    """Tell of a product; what the model goes on with."""
    ordered_output = output.permute(factors.order)
    changed: AttentionCall | None = None
    for listener, awaited in awaiting:
        call = awaited
        assert call.weights is not None
        four = (*call.weights.shape[:2], -1)
        weights, v, heads = (
            part.reshape(*four, part.shape[-1])
            for part in (factors.left, factors.right, ordered_output)
        )
        # These weights are what dropout left.
        call = call.with_changes(weights=weights, v=v, output=heads, dropout=0.0)
        if changed is not None:
            call = call.with_changes(v=changed.v, output=changed.output, notes=changed.notes)
        answer = listener.outcome(call)
        listener.follow(awaited)
        changed = changed if answer is None else answer
    if changed is None or changed.output is None:
        return output
    undo = [factors.order.index(index) for index in range(len(factors.order))]
    return changed.output.to(output.dtype).reshape(ordered_output.shape).permute(undo)


def _awaited(listener: Listener, left: Tensor) -> AttentionCall | None:
    """The call whose weights a factor is; the last one of several."""
    # Under training some are dropped, which the model need not tell.
    loose = listener.sites.modules[listener.sites.root].training
    for call in reversed(listener.awaited):
        assert call.weights is not None
        weights = call.weights
        lead, (queries, keys) = weights.shape[:2].numel(), weights.shape[2:]
        # A sink, the last key, has no value.
        fits = left.shape[-2] == queries and keys - left.shape[-1] in (0, 1)
        if not fits or left.shape[:-2].numel() != lead:
            continue
        with_values = weights[..., : left.shape[-1]]
        factor = left.detach().reshape(with_values.shape).to(with_values)
        if (
            loose
            or call.dropout
            or torch.allclose(factor, with_values, atol=_CLOSE, equal_nan=True)
        ):
            return call
    return None


def _products(made: TorchCall) -> list[_Product]:
    """What a call multiplies, each way it can be read; none where that cannot be told."""
    first, *rest = made.args
    if isinstance(first, str):
        is_list = len(rest) == 1 and isinstance(rest[0], list | tuple)
        factors = list(rest[0] if is_list else rest)
        written, _, result = first.replace(" ", "").partition("->")
        letters = written.split(",")
        plain = len(factors) == 2 and all(_is_plain(factor) for factor in factors)
        if len(letters) != 2 or not plain or "." in first or not result:
            return []
        both = list(zip(letters, factors, strict=True))
        readings = [_einsum(*operand, *other, result) for operand, other in (both, both[::-1])]
        return [operand for operand in readings if operand is not None]
    right = rest[0] if rest else made.kwargs.get("other", made.kwargs.get("mat2"))
    if not _is_plain(first) or not _is_plain(right) or right.dim() > first.dim():
        return []
    right = right.expand(*first.shape[:-2], *right.shape[-2:])
    return [_Product(first, right, list(range(first.dim())))]


def _is_plain(factor: Any) -> TypeGuard[Tensor]:
    """Whether a factor is a tensor of two dimensions or more, neither sparse nor nested."""
    is_dense = (
        isinstance(factor, Tensor) and factor.layout == torch.strided and not factor.is_nested
    )
    return is_dense and factor.dim() > 1


def _einsum(of: str, left: Tensor, of_right: str, right: Tensor, result: str) -> _Product | None:
    """Two factors of an ``einsum``, if the first can be weights: ``ij,jd->id``, and heads."""
    lead, (query, key) = of[:-2], list(of[-2:].rjust(2))
    new = [letter for letter in result if letter not in of]
    width = new[0] if len(new) == 1 else ""
    summed = key not in result and {*lead, query} <= {*result}
    if not width or not summed or not {key, width} <= {*of_right} <= {*lead, key, width}:
        return None
    right = right.permute(
        [of_right.index(axis) for axis in (*lead, key, width) if axis in of_right]
    )
    for index, letter in enumerate(lead):
        if letter not in of_right:
            right = right.unsqueeze(index)
    order = [result.index(letter) for letter in (*lead, query, width)]
    return _Product(left, right.expand(*left.shape[:-2], *right.shape[-2:]), order)


class FunctionPatch:
    """Takes the place of a function of torch: ``handler`` does the call, and tells listeners of it.

    It equals the function it stands for, so code that compares functions or looks them up (a tensor
    subclass's ``__torch_function__``, say) finds what it looks for.
    """

    __slots__ = ("__name__", "__weakref__", "__wrapped__", "handler")

    def __init__(self, original: Callable[..., Any], handler: Handler) -> None:
        self.__wrapped__ = original
        self.__name__ = getattr(original, "__name__", type(original).__name__)
        self.handler = handler

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if thread_state.listeners:
            if not thread_state.busy:
                return self.handler(TorchCall(self.__wrapped__, sys._getframe(1), args, kwargs))
        elif everywhere and self.handler in (scaled_dot_product, encoder_layer, multi_head, flex):
            note_elsewhere(sys._getframe(1))
        return self.__wrapped__(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.__wrapped__

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __deepcopy__(self, _: Any) -> Any:
        return self.__wrapped__  # a copy made in the block outlives it


def _places() -> list[tuple[Any, str, FunctionPatch]]:
    sdpa = FunctionPatch(F.scaled_dot_product_attention, scaled_dot_product)
    places: list[tuple[Any, str, FunctionPatch]] = [
        (F, "scaled_dot_product_attention", sdpa),
        (torch._C._nn, "scaled_dot_product_attention", sdpa),
    ]
    for owner, name, handler in (
        (F, "softmax", softmax),
        (torch.overrides, "has_torch_function", fused_path_asked),
        (torch, "_transformer_encoder_layer_fwd", encoder_layer),
        (torch, "_native_multi_head_attention", multi_head),
    ):
        original = getattr(owner, name, None)
        if original is not None:
            places.append((owner, name, FunctionPatch(original, handler)))
    return places


_PLACES: Final = _places()
_BY_HAND: Final[list[tuple[Any, str, FunctionPatch]]] = [
    (torch, "softmax", FunctionPatch(torch.softmax, softmax)),
    (torch.special, "softmax", FunctionPatch(torch.special.softmax, softmax)),
    (Tensor, "softmax", FunctionPatch(Tensor.softmax, softmax)),
    (torch, "exp", FunctionPatch(torch.exp, exponential)),
    (Tensor, "exp", FunctionPatch(Tensor.exp, exponential)),
]
"""Where attention written by hand forms weights. A change of the class Tensor makes Python forget
what it knows of tensors' methods, so these stand only where a module may be such attention."""
_PRODUCTS: Final[list[tuple[Any, str, FunctionPatch]]] = [
    (owner, name, FunctionPatch(getattr(owner, name), product))
    for owner, names in ((torch, "matmul bmm einsum"), (Tensor, "matmul bmm __matmul__"))
    for name in names.split()
]
"""Where weights and values are multiplied; these stand only where someone follows that."""
_SDPA: Final = _PLACES[0][2]
_PATCH_BY_FUNCTION: Final = {
    id(patch.__wrapped__): patch for _, _, patch in (_PLACES[2], *_BY_HAND, *_PRODUCTS)
}
_FLEX: Final = "torch.nn.attention.flex_attention"

_holders: Final = Holders(_SDPA.__wrapped__)


def _held(kinds: set[type[nn.Module]], products: bool) -> Iterator[tuple[Any, str, FunctionPatch]]:
    """Where the files that define modules hold these functions by a name of their own."""
    for name in {kind.__module__ for kind in kinds}:
        file = sys.modules.get(name)
        if file is None or name.partition(".")[0] == "torch":
            continue
        for own, value in list(vars(file).items()):
            stand_in = _PATCH_BY_FUNCTION.get(id(value))
            if stand_in is not None and (products or stand_in.handler is not product):
                yield file, own, stand_in


class _Patches:
    """Counts who listens; puts the stand-ins in place and takes them away again."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._count = 0
        self._undo: list[Callable[[], None]] = []
        self._done: set[tuple[int, str]] = set()

    def come(self, listener: Listener) -> None:
        kinds = listener.sites.kinds
        by_hand = any(not kind.__module__.startswith("torch.nn.") for kind in kinds)
        with self._lock:
            if not self._count:
                for owner, name, stand_in in _PLACES:
                    self._put(owner, name, stand_in)
                # A compiled module would run code that was traced without us.
                if "torch._dynamo" in sys.modules or _FLEX in sys.modules:
                    stance = torch.compiler.set_stance("force_eager")
                    self._undo.append(lambda: stance.__exit__(None, None, None))
            needed = [*_BY_HAND, *_held(kinds, listener.follows)] if by_hand else []
            for owner, name, stand_in in needed + _PRODUCTS * listener.follows:
                if (id(owner), name) not in self._done:
                    self._put(owner, name, stand_in)
            library = sys.modules.get(_FLEX)
            original = getattr(library, "flex_attention_hop", None)
            if original is not None and not isinstance(original, FunctionPatch):
                self._put(library, "flex_attention_hop", FunctionPatch(original, flex))
            for namespace, name in _holders.by_name():
                if (id(namespace), name) not in self._done:
                    self._put(namespace, name, _SDPA)
                    _holders.replaced.append((namespace, name))
            self._count += 1

    def go(self) -> None:
        with self._lock:
            self._count -= 1
            if not self._count:
                for undo in reversed(self._undo):
                    undo()
                self._undo.clear()
                self._done.clear()
                _holders.replaced.clear()

    def _put(self, owner: Any, name: str, stand_in: FunctionPatch) -> None:
        inherited = name not in vars(owner)
        setattr(owner, name, stand_in)
        self._done.add((id(owner), name))

        def undo() -> None:
            # What someone else put there in the meantime is theirs.
            if getattr(owner, name, None) is not stand_in:
                return
            if inherited:
                delattr(owner, name)
            else:
                setattr(owner, name, stand_in.__wrapped__)

        self._undo.append(undo)


_patches: Final = _Patches()


def _unnamed(function: Any) -> Handler | None:
    """What does a call that no name leads to, of the function kept in an object."""
    return _SDPA.handler if function is _SDPA.__wrapped__ else None


@contextmanager
def intercepting(listener: Listener) -> Iterator[None]:
    """Tell a listener of its model's attention calls, in this thread, while the block runs.

    Everything of torch that computes attention leads to the listeners then.
    """
    _patches.come(listener)
    try:
        with ExitStack() as stack:
            # A mode costs a Python call per torch function: only where names do not do.
            if _holders.hidden():
                stack.enter_context(WatchingMode(_unnamed))
            # From the list of the thread that came in: generators may end elsewhere.
            for listeners in (thread_state.listeners, everywhere):
                listeners.append(listener)
                stack.callback(listeners.remove, listener)
            yield
    finally:
        _patches.go()
