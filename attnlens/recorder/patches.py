"""Where torch computes attention, and what stands there while anyone listens.

Some functions of torch are replaced, under the names others call them by, by objects that pass
every call on unless a listener of the calling thread wants it. They are put there when the first
listener of the process comes and taken away when the last one goes.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import MethodType
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlens.recorder.fused import encoder_layer, multi_head
from attnlens.recorder.holders import Holders
from attnlens.recorder.interception import (
    Listener,
    Meant,
    TorchCall,
    WatchingMode,
    everywhere,
    fused_path_asked,
    here,
    note_elsewhere,
)
from attnlens.recorder.products import product
from attnlens.recorder.torch_calls import flex, scaled_dot_product
from attnlens.recorder.written import exponential, softmax


class StandIn:
    """Takes the place of a function of torch.

    It equals the function it stands for, so code that compares functions or looks them up (a
    tensor subclass's ``__torch_function__``, say) finds what it looks for.

    Attributes:
        meant: does the call, and tells listeners of it.
    """

    __slots__ = ("__name__", "__weakref__", "__wrapped__", "meant")

    def __init__(self, original: Callable[..., Any], meant: Meant) -> None:
        self.__wrapped__ = original
        self.__name__ = getattr(original, "__name__", type(original).__name__)
        self.meant = meant

    def __call__(self, *args: Any, **named: Any) -> Any:
        if here.listeners:
            if not here.busy:
                return self.meant(TorchCall(self.__wrapped__, sys._getframe(1), args, named))
        elif everywhere and self.meant in (scaled_dot_product, encoder_layer, multi_head, flex):
            note_elsewhere(sys._getframe(1))
        return self.__wrapped__(*args, **named)

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


def _places() -> list[tuple[Any, str, StandIn]]:
    sdpa = StandIn(F.scaled_dot_product_attention, scaled_dot_product)
    places: list[tuple[Any, str, StandIn]] = [
        (F, "scaled_dot_product_attention", sdpa),
        (torch._C._nn, "scaled_dot_product_attention", sdpa),
    ]
    for owner, name, meant in (
        (F, "softmax", softmax),
        (torch.overrides, "has_torch_function", fused_path_asked),
        (torch, "_transformer_encoder_layer_fwd", encoder_layer),
        (torch, "_native_multi_head_attention", multi_head),
    ):
        original = getattr(owner, name, None)
        if original is not None:
            places.append((owner, name, StandIn(original, meant)))
    return places


_PLACES: Final = _places()
_BY_HAND: Final[list[tuple[Any, str, StandIn]]] = [
    (torch, "softmax", StandIn(torch.softmax, softmax)),
    (torch.special, "softmax", StandIn(torch.special.softmax, softmax)),
    (Tensor, "softmax", StandIn(Tensor.softmax, softmax)),
    (torch, "exp", StandIn(torch.exp, exponential)),
    (Tensor, "exp", StandIn(Tensor.exp, exponential)),
]
"""Where attention written by hand forms weights. A change of the class Tensor makes Python forget
what it knows of tensors' methods, so these stand only where a module may be such attention."""
_PRODUCTS: Final[list[tuple[Any, str, StandIn]]] = [
    (owner, name, StandIn(getattr(owner, name), product))
    for owner, names in ((torch, "matmul bmm einsum"), (Tensor, "matmul bmm __matmul__"))
    for name in names.split()
]
"""Where weights and values are multiplied; these stand only where someone follows that."""
SDPA: Final = _PLACES[0][2]
_NAMED: Final = {id(one.__wrapped__): one for _, _, one in (_PLACES[2], *_BY_HAND, *_PRODUCTS)}
_FLEX: Final = "torch.nn.attention.flex_attention"

_holders: Final = Holders(SDPA.__wrapped__)


def _held(kinds: set[type[nn.Module]], products: bool) -> Iterator[tuple[Any, str, StandIn]]:
    """Where the files that define modules hold these functions by a name of their own."""
    for name in {kind.__module__ for kind in kinds}:
        file = sys.modules.get(name)
        if file is None or name.partition(".")[0] == "torch":
            continue
        for own, value in list(vars(file).items()):
            stand_in = _NAMED.get(id(value))
            if stand_in is not None and (products or stand_in.meant is not product):
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
            wanted = [*_BY_HAND, *_held(kinds, listener.follows)] if by_hand else []
            for owner, name, stand_in in wanted + _PRODUCTS * listener.follows:
                if (id(owner), name) not in self._done:
                    self._put(owner, name, stand_in)
            library = sys.modules.get(_FLEX)
            original = getattr(library, "flex_attention_hop", None)
            if original is not None and not isinstance(original, StandIn):
                self._put(library, "flex_attention_hop", StandIn(original, flex))
            for namespace, name in _holders.by_name():
                if (id(namespace), name) not in self._done:
                    self._put(namespace, name, SDPA)
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

    def _put(self, owner: Any, name: str, stand_in: StandIn) -> None:
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


def _unnamed(function: Any) -> Meant | None:
    """What does a call that no name leads to, of the function kept in an object."""
    return SDPA.meant if function is SDPA.__wrapped__ else None


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
            for listeners in (here.listeners, everywhere):
                listeners.append(listener)
                stack.callback(listeners.remove, listener)
            yield
    finally:
        _patches.go()
