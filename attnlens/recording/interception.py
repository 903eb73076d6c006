"""One attention call, and the seam where something watches it or takes its place.

Everything that computes attention in a model comes through `attend`, whoever called it:
``F.scaled_dot_product_attention``, torch's fused encoder layers, a softmax in hand-written
attention. `intercepting` puts a `Listener` on that way for one model, one
thread and one block::

    class Halve(Listener):
        changes = True
        def attention(self, call):
            return call.with_changes(scale=call.scale / 2)

    with intercepting(Halve(model)):
        model(x)

`attnlens.recording.patches` brings the calls here; nothing else knows how they are found.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attnlens.errors import InterventionError, RecordingError
from attnlens.recording.sites import ByName, Sites


@dataclass(slots=True)
class TorchCall:
    """A call of a function of torch that something else stands for; no frame where no Python made
    it.
    """

    original: Callable[..., Any]
    frame: FrameType | None
    args: tuple[Any, ...]
    kwargs: ByName

    def run(self) -> Any:
        return self.original(*self.args, **self.kwargs)


Handler = Callable[[TorchCall], Any]
"""Does a call of a function of torch, and tells listeners of it."""

_AWAITED = 8
"""So many calls are remembered whose weights were not multiplied: they may be large."""

SiteListeners = list[tuple["Listener", str]]
"""Who is to be told of a call, and its site in their model."""


@dataclass(frozen=True, slots=True, eq=False)
class AttentionCall:
    """What one call computes attention from.

    Tensors are the model's own, gradients and all: detach what is kept, change nothing in place.

    Attributes:
        kind: what made it: ``"sdpa"``, ``"encoder"`` (torch's fused kernels), or
            ``"softmax"`` where the model forms the weights itself.
        q: queries, ``(batch, head, query, d)``, in the precision the kernel gets them in;
            None where only weights are known.
        k: keys, ``(batch, key head, key, d)``.
        v: values, ``(batch, key head, key, d of values)``.
        mask: boolean (true: seen) or float (added), broadcastable to the weights.
        causal: whether query i sees keys 0 to i only.
        scale: what query times key is multiplied by.
        dropout: probability that the model drops a weight after softmax.
        gqa: whether heads may share keys.
        weights: of kind ``"softmax"`` what the model computed, ``(batch, head, query, key)``;
            of kind ``"encoder"`` what the kernel formed, where it was asked for it; else None, or
            what a listener puts in the place of softmax.
        lse: log-sum-exp of each row, ``(batch, head, query)``, where the kernel told it.
        output: what each head gave, ``(batch, head, query, width)``, where `Listener.outcome` is
            told.
        own: whether ``q`` and ``k`` were made for the listener, which may keep them.
        notes: what must be known of how the call was seen.
        site: the module that made the call, as in ``named_modules()``.
        number: 0, 1, ... of the calls of that module in this block.
    """

    kind: str
    q: Tensor | None = None
    k: Tensor | None = None
    v: Tensor | None = None
    mask: Tensor | None = None
    causal: bool = False
    scale: float = 1.0
    dropout: float = 0.0
    gqa: bool = False
    weights: Tensor | None = None
    lse: Tensor | None = None
    output: Tensor | None = None
    own: bool = False
    notes: tuple[str, ...] = ()
    site: str = ""
    number: int = 0

    def with_changes(self, **changes: Any) -> AttentionCall:
        return replace(self, **changes)


@dataclass(slots=True)
class Missed:
    """What may be attention, and came through no way that is known; `description` names it.

    ``sure``: it is quite likely attention; ``adapts``: a `SoftmaxAdapter` makes it known.
    """

    description: str
    sure: bool
    adapts: bool
    calls: int = 1


class Listener:
    """Hears of a model's attention calls, and may take their place.

    Args:
        wanted: which sites; None: all of them.

    Attributes:
        changes: whether `attention` may return another call. Those who change come before those
            who only watch, so a recording shows what the model used.
        wants_lse: whether log-sum-exps are of use, where the kernel gives them for nothing.
        follows: whether it is told of values and of what heads give, by `outcome`.
        awaited: calls whose weights the model formed itself and has not multiplied yet, and the
            last one that it has.
        followed: site and number of those whose product with values was seen.
        unfollowed: sites of which none was seen.
        seen: how many calls each site made, wanted or not.
        elsewhere: sites that ran in another thread.
        passed_over: sites that something else takes care of.
        softmaxes: sites where a softmax is attention, told by the module.
        spoken_for: how many modules are running whose softmaxes an adapter calls attention.
        missed: what may be attention at each site, and nothing told to be weights ``(batch,
            head, query, key)``.
    """

    changes = False
    wants_lse = False
    follows = False

    def __init__(self, model: nn.Module, is_wanted: Callable[[str], bool] | None = None) -> None:
        self.sites = Sites(model)
        self.seen: dict[str, int] = {}
        self.awaited: list[AttentionCall] = []
        self.followed: set[tuple[str, int]] = set()
        self.unfollowed: set[str] = set()
        self.elsewhere: set[str] = set()
        self.softmaxes: dict[str, nn.Module] = {}
        self.passed_over: set[str] = set()
        self.spoken_for = 0
        self.missed: dict[str, Missed] = {}
        self._wanted = is_wanted
        self._numbers: dict[str, int] = {}

    def prefers_weights(self, shape: tuple[int, ...]) -> bool:
        """Whether whole weights are of more use than queries and keys, where both are to be had.

        ``shape`` is of the weights, ``(batch, head, query, key)``.
        """
        del shape
        return True

    def attention(self, call: AttentionCall) -> AttentionCall | None:
        """Called once for every call, before the model goes on; None leaves it as it is.

        Another call (see `AttentionCall.with_changes`) is computed instead.
        """
        raise NotImplementedError

    def awaits(self, call: AttentionCall) -> None:
        """Follow what weights are multiplied with."""
        self.awaited = [*self.awaited[-_AWAITED:], call]
        self.unfollowed.add(call.site)

    def follow(self, call: AttentionCall) -> None:
        """Take down that the weights of a call were multiplied."""
        self.unfollowed.discard(call.site)
        self.followed.add((call.site, call.number))
        self.awaited = [
            awaited_call
            for awaited_call in self.awaited
            if awaited_call is call or (awaited_call.site, awaited_call.number) not in self.followed
        ]

    def outcome(self, call: AttentionCall) -> AttentionCall | None:
        """Called with ``v`` and ``output``, once for every product of weights and values.

        None leaves it; the model goes on with the ``output`` of a call.
        """
        raise NotImplementedError

    def wants(self, site: str, counted: bool = True) -> bool:
        """Whether it is told of a site's calls; counts the call."""
        if counted:
            self.seen[site] = self.seen.get(site, 0) + 1
        return site not in self.passed_over and self.is_wanted(site)

    def miss(self, site: str, missed: Missed) -> None:
        """Take down what may be attention; of several at a site, what is surest is told."""
        before = self.missed.get(site)
        if before is not None:
            missed.calls += before.calls
            if before.sure:
                missed.description, missed.sure, missed.adapts = (
                    before.description,
                    True,
                    before.adapts,
                )
        self.missed[site] = missed

    def is_told_otherwise(self, site: str) -> bool:
        """Whether something in a module, or around it, may tell of its softmaxes."""
        return any(
            site == passed_site or site.startswith(f"{passed_site}.")
            for passed_site in self.passed_over
        )

    def is_wanted(self, site: str) -> bool:
        return self._wanted is None or self._wanted(site)

    def number(self, site: str) -> int:
        number = self._numbers.get(site, 0)
        self._numbers[site] = number + 1
        return number


class _ThreadState(threading.local):
    def __init__(self) -> None:
        self.listeners: list[Listener] = []
        self.busy = False


thread_state = _ThreadState()
"""The listeners of this thread, outermost first; ``busy`` while a call is being worked on."""


@contextmanager
def untold() -> Iterator[None]:
    """A block whose calls are told to nobody, because someone tells of them otherwise."""
    before, thread_state.busy = thread_state.busy, True
    try:
        yield
    finally:
        thread_state.busy = before


everywhere: list[Listener] = []
"""The listeners of all threads."""


def note_elsewhere(frame: FrameType) -> None:
    """Take down that a module ran in a thread without a listener."""
    for listener in everywhere.copy():
        running = listener.sites.running(frame)
        if running is not None:
            listener.elsewhere.add(running[0])


def listening(
    frame: FrameType | None,
    accepts: Callable[[Listener, str, nn.Module], bool] | None = None,
    part: str = "",
    counted: bool = True,
) -> SiteListeners:
    """Who is to be told of a call made from a frame.

    Args:
        accepts: whether it is an attention call at all, to a listener; None: it is.
        part: the attribute of the running module that would have made the call, had its work
            not been taken over.
        counted: whether this is the call itself, or only asked beforehand.
    """
    if torch._C._current_graph_task_id() != -1:
        return []  # A checkpointed module computes again, for gradients, what was seen before.
    site_listeners = []
    for listener in thread_state.listeners:
        running = listener.sites.running(frame)
        if running is None or (accepts and not accepts(listener, *running)):
            continue
        site, module = running
        if part:
            site = listener.sites.names.get(id(getattr(module, part, None)), site)
        if listener.wants(site, counted):
            site_listeners.append((listener, site))
    return site_listeners


def attend(
    listeners: SiteListeners,
    call: AttentionCall,
    compute: Callable[[AttentionCall | None], Any],
    with_lse: Callable[[], tuple[Tensor, Tensor | None] | None] | None = None,
) -> Any:
    """Tell listeners of one call and compute it.

    Args:
        listeners: from `listening`.
        call: the call, without site and number.
        compute: the model's own way, given None; given a call, that call's output; in either
            case as the model gets it.
        with_lse: output and log-sum-exp by the kernel the model's own way would take, if any;
            None for the latter where it is of no use.

    Raises:
        RecordingError: the call came from inside a transform such as ``torch.vmap``; where it
            was to be changed, an InterventionError.
    """
    if torch._C._functorch.peek_interpreter_stack() is not None:
        changing = any(listener.changes for listener, _ in listeners)
        raise (InterventionError if changing else RecordingError)(
            f"{listeners[0][1]}: attention inside a torch.func transform (vmap, grad) cannot be "
            f"{'changed' if changing else 'recorded'}; run the model without it in the block"
        )
    thread_state.busy = True
    try:
        changed: AttentionCall | None = None
        # Changes first, whichever block was entered first.
        ordered = listeners
        if len(listeners) > 1:
            ordered = sorted(listeners, key=lambda pair: not pair[0].changes)
        output: Any = None
        numbers: list[int] = []
        for listener, site in ordered:
            if with_lse and changed is None and listener.wants_lse:
                both = with_lse()
                if both is not None:
                    output, lse = both
                    call = replace(call, lse=lse)
                with_lse = None
            numbers.append(listener.number(site))
            answer = listener.attention(replace(call, site=site, number=numbers[-1]))
            if answer is not None:
                call = changed = answer
        output = compute(changed) if output is None else output
        for (listener, site), number in zip(ordered, numbers, strict=True):
            if not listener.follows:
                continue
            call = replace(call, site=site, number=number)
            if call.kind == "softmax":
                listener.awaits(call)
                continue
            reference = call.weights if call.q is None else call.q
            assert reference is not None
            call = replace(call, output=output.reshape(*reference.shape[:3], output.shape[-1]))
            if (answer := listener.outcome(call)) is not None:
                call = answer
                assert call.output is not None
                output = call.output.to(output.dtype).reshape(output.shape)
        return output
    finally:
        thread_state.busy = False


class WatchingMode(TorchFunctionMode):
    """A mode that computes everything as it would have been.

    Torch's encoder layers and multi-head attention leave their fused path, and encoders their
    nested tensors, when any mode is on: padded positions of an output would then hold other
    numbers. They ask ``torch.overrides.has_torch_function``, where `fused_path_asked` stands.

    ``meant_by`` gives what does a call of a function that is to be seen; None for any other
    function.
    """

    def __init__(self, meant_by: Callable[[Any], Handler | None]) -> None:
        super().__init__()
        self._meant_by = meant_by

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: ByName | None = None,
    ) -> Any:
        del types
        named_args = kwargs or {}
        if thread_state.listeners and not thread_state.busy:
            handler = self._meant_by(func)
            if handler is not None:
                return handler(TorchCall(func, sys._getframe(1), args, named_args))
        return func(*args, **named_args)


def fused_path_asked(call: TorchCall) -> Any:
    """``torch.overrides.has_torch_function``, as if no mode of ours were on."""
    lifted = []
    try:
        while isinstance(torch.overrides._get_current_function_mode(), WatchingMode):  # type: ignore[no-untyped-call]
            lifted.append(torch.overrides._pop_mode())  # type: ignore[no-untyped-call]
        return call.run()
    finally:
        for mode in reversed(lifted):
            torch.overrides._push_mode(mode)  # type: ignore[no-untyped-call]
