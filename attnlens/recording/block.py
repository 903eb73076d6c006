"""The base class for the ``with`` blocks of `record` and `intervene`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from attnlens.errors import AttnlensError, RecordingError
from attnlens.recording.calls import AttentionCall, Product
from attnlens.recording.probe import AttentionProbe
from attnlens.recording.sites import Sites, SoftmaxAdapter
from attnlens.recording.tracking import Pair

UNCOMPILED: Final = (
    "compiled code ran uncompiled in the block, so its outputs may differ "
    "slightly from the compiled outputs because of rounding"
)

_LOOKED_FOR: Final = (
    "attnlens.AttentionProbe, F.scaled_dot_product_attention, torch's encoder layers, and products "
    "of attention weights and values"
)

_ENDINGS: Final = ("attention", "attn", "attend", "retention")
_WITHOUT_WEIGHTS: Final = ("linear", "lightning", "delta", "mamba", "ssm")
"""Words in the names of modules that compute no attention weights over positions."""
_MAX_NAMES: Final = 6


@dataclass(frozen=True, slots=True)
class FoundCall:
    """An attention call, and the block that records or changes the call.

    If ``call`` is None, ``product`` creates the call. ``is_again`` means that an earlier call used
    the same weights.
    """

    block: Block
    site: str
    call: AttentionCall | None = None
    product: Product | None = None
    is_again: bool = False

    def to_call(self, is_whole: bool = True) -> AttentionCall:
        """Return the attention call, with values and outputs if ``is_whole`` is true."""
        if self.call is not None:
            return self.call
        assert self.product is not None
        return self.product.call(is_whole)

    def report(self) -> None:
        """Report the call to the block, or to ``held`` if this thread collects calls."""
        source = self.to_call() if self.product is None else self.product.weights
        if source.device.type == "meta":
            raise RecordingError(
                f"{self.site}: tensors on the meta device have no values; run the model on "
                "another device"
            )
        if thread_state.held is not None:
            thread_state.held.append(self)
        elif self.block.asks(self.site, self.is_again):
            pair = None if self.product is None else self.product.pair
            self.block.tell(self.site, self.to_call(self.block.follows), pair, self.is_again)


class _ThreadState(threading.local):
    """The state of one thread.

    Attributes:
        followers: the followers of the open blocks, outermost block first.
        is_quiet: whether attention calls are ignored.
        held: collects attention calls; None: calls are reported at once.
    """

    followers: Sequence[Any] = ()
    is_quiet = False
    held: list[FoundCall] | None = None

    @contextmanager
    def having(self, **values: Any) -> Iterator[None]:
        """Set attributes inside a ``with`` block."""
        before = {name: getattr(self, name) for name in values}
        vars(self).update(values)
        try:
            yield
        finally:
            vars(self).update(before)


thread_state: Final = _ThreadState()


class Block:
    """Observe a model's attention in one thread while a ``with`` block runs.

    Args:
        is_wanted: selects sites by name.

    Attributes:
        probes: maps each site of a probe to the probe module.
        follows: whether the values and outputs of the heads are needed.
        follower: the `Follower` of this block while the block runs.
        named: the sites that match a `SoftmaxAdapter`.
        claimed: maps each `Pair` of a probe to the probe's site and call number.
        known: the sites of probes and of modules whose class name suggests attention.
        seen: maps each site, selected or not, to the number of calls.
        missed: maps each site to the reason why possible attention was not recorded.
        refused: maps each site to the reason why attention cannot be recorded or changed.
    """

    error: type[AttnlensError] = RecordingError
    leave_out = ""
    """The option that excludes a site, for error messages."""

    def __init__(self, model: nn.Module, is_wanted: Callable[[str], bool]) -> None:
        self.model = model
        self.sites = Sites(model)
        self.probes: dict[str, AttentionProbe] = {}
        self.follows = False
        self.follower: Any = None
        self.seen: dict[str, int] = {}
        self.missed: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.handles: list[RemovableHandle] = []
        self.is_wanted = is_wanted
        self._numbers: dict[str, int] = {}
        self.named: set[str] = set()
        self._passed_over: set[str] = set()
        self.claimed: dict[Pair, tuple[str, int]] = {}
        self._expected: dict[Pair, tuple[str, tuple[int, ...]]] = {}
        self._ran: set[str] = set()
        self._elsewhere: set[str] = set()
        self._foreign: set[str] = set()
        self._thread = threading.get_ident()
        self._attentions: dict[str, nn.Module] = {}
        for site, module in self.sites.modules.items():
            if isinstance(module, AttentionProbe):
                self.probes[site.removesuffix(".probe")] = module
            elif _is_attention(type(module).__name__):
                self._attentions[site] = module
        self.known = [*self.probes, *self._attentions]

    def begin(self, adapters: Sequence[SoftmaxAdapter], error: type[AttnlensError]) -> None:
        """Register the hooks of the block. Raise ``error`` if an adapter matches no module."""
        for adapter in adapters:
            self.named |= {*adapter.names(self.sites, error)}
        for site, probe in self.probes.items():
            if self.is_wanted(site):
                self.watch_probe(site, probe)
        self.handles += [
            module.register_forward_hook(self._count)
            for module in self._attentions.values()
            if not type(module).__module__.startswith("torch.nn.")
            and not isinstance(module, torch.jit.ScriptModule)
        ]
        if self.needs_follower() and not self.sites.compiled:  # compiled models warn about hooks
            self.handles += [
                nn.modules.module.register_module_forward_pre_hook(self._enter),
                nn.modules.module.register_module_forward_hook(self._leave, always_call=True),
            ]

    def needs_follower(self) -> bool:
        """Whether values, outputs or attention outside probes must be observed."""
        kinds = {type(module) for module in self.sites.modules.values()}
        return self.follows or not all(map(_has_only_probes, kinds))

    def end(self) -> None:
        for handle in self.handles:
            handle.remove()
        self.handles.clear()

    # Methods that a `Follower` calls

    def asks(self, site: str, is_again: bool = False) -> bool:
        """Return whether this site is selected. A new call is counted in ``seen``."""
        if not is_again:
            self.seen[site] = self.seen.get(site, 0) + 1
        return self._is_reported(site)

    def tell(
        self, site: str, call: AttentionCall, pair: Pair | None = None, is_again: bool = False
    ) -> None:
        """Handle one attention call. ``is_again``: an earlier call used the same weights."""
        raise NotImplementedError

    def is_named(self, site: str, module: nn.Module) -> bool:
        """Whether an adapter or a name marks the module as attention."""
        own = "".join([part for part in site.split(".") if not part.isdigit()][-1:])
        return site in self.named or _is_attention(own, type(module).__name__)

    def expect(self, pair: Pair, site: str, shape: tuple[int, ...]) -> None:
        """Remember weights. If they are never used, `doubts` reports them."""
        self._expected[pair] = site, shape

    def doubt(self, site: str, shape: tuple[int, ...], is_open: bool) -> None:
        """Remember possible attention. ``is_open``: the weights are unnormalised exponentials."""
        if is_open:
            self.refused[site] = (
                f"exponentials of shape {shape} were multiplied with values before they "
                "were divided by their sum; divide by the sum first, as softmax does"
            )
            return
        self.missed.setdefault(
            site,
            f"weights of shape {shape} were multiplied with another tensor and may be "
            f"attention weights; if they are, give adapters=SoftmaxAdapter({site!r})",
        )

    def refuse_flex(self, site: tuple[str, nn.Module] | None) -> None:
        if site is not None and self.is_wanted(site[0]):
            raise self.error(
                f"{site[0]}: the attention of flex_attention cannot be recorded; use "
                "F.scaled_dot_product_attention in the block (for Hugging Face models, "
                "attn_implementation='sdpa')"
            )

    def lose(self, site: tuple[str, nn.Module] | None, operator: str, error: Exception) -> None:
        """Remember an operator that could not be followed."""
        name = self.sites.root if site is None else site[0]
        reason = f"{type(error).__name__}: {error}"
        self.refused[name] = (
            f"its operator {operator} could not be followed ({reason}); please report this"
        )

    def note_foreign(self, site: tuple[str, nn.Module] | None) -> None:
        """Remember a module with a custom operator or a tensor of unknown origin."""
        if site is not None:
            self._foreign.add(site[0])

    def number(self, site: str) -> int:
        number = self._numbers.get(site, 0)
        self._numbers[site] = number + 1
        return number

    # Probes and other hooks

    def watch_probe(self, site: str, probe: AttentionProbe) -> None:
        """Register a hook on a probe."""
        raise NotImplementedError

    def claim(self, weights: Tensor, site: str, number: int) -> None:
        """Remember weights that a probe reported, to report the weights only once."""
        if self.follower is not None:
            self.claimed[self.follower.pair_of(weights)] = site, number

    def in_block_thread(self, site: str) -> bool:
        """Whether this is the thread of the block. In another thread, the site is stored."""
        if threading.get_ident() == self._thread:
            return True
        self._elsewhere.add(site)
        return False

    def _enter(self, module: nn.Module, arguments: Any) -> None:
        name = self.sites.names.get(id(module))
        if name is None:
            return
        if threading.get_ident() != self._thread:
            self._elsewhere.add(name)
        elif module is self.model and self.follower is not None:
            self.follower.begin(arguments)

    def _leave(self, module: nn.Module, *_: Any) -> None:
        is_here = threading.get_ident() == self._thread
        if is_here and module is self.model and self.follower is not None:
            self.follower.plan.end()

    def _count(self, module: nn.Module, *_: Any) -> None:
        site = self.sites.names.get(id(module), "")
        if site and self.in_block_thread(site):
            self._ran.add(site)

    def _is_passed_over(self, site: str) -> bool:
        return any(_is_inside(site, outer) for outer in self._passed_over)

    def _is_reported(self, site: str) -> bool:
        return self.is_wanted(site) and not self._is_passed_over(site)

    # Reports of attention that was not seen

    def unseen(self) -> dict[str, str]:
        """Return a dict from sites to the reasons why attention was not observed."""
        unseen = {
            site: self._why_unseen(site)
            for site in self._unseen_attentions()
            if type(self._attentions[site]).__module__.startswith("transformers.")
            or any(_is_inside(foreign, site) for foreign in self._foreign)
        }
        other_thread = (
            "attention ran outside the thread of the block; open the block in the "
            "thread that calls the model"
        )
        unseen |= {site: reason for site, reason in self.refused.items() if self._is_reported(site)}
        elsewhere = [] if self.sites.root in self._elsewhere and self.seen else self._elsewhere
        return unseen | {
            site: other_thread
            for site in sorted(elsewhere)
            if self.is_wanted(site) and not self._is_seen(site)
        }

    def doubts(self) -> dict[str, str]:
        """Return a dict from sites to the reasons why attention may be missing."""
        unused = {
            site: f"weights of shape {shape} were computed from queries and keys, but no "
            "product of these weights with values was seen; multiply with "
            "torch.matmul, bmm, einsum or @, or with * and then sum"
            for pair, (site, shape) in self._expected.items()
            if not pair.used and pair not in self.claimed
        }
        unseen = {site: self._why_unseen(site) for site in self._unseen_attentions()}
        return {
            site: reason
            for site, reason in (unseen | unused | self.missed).items()
            if self._is_reported(site)
        }

    def none_ran(self) -> str:
        """Return the error message for a block in which no attention ran."""
        return (
            f"no attention of {type(self.model).__name__} ran in the block; attnlens "
            f"looked for {_LOOKED_FOR}; call the model inside the block and in the same "
            "thread; if its attention is computed in another way, pass the weights "
            "through an AttentionProbe"
        )

    def _unseen_attentions(self) -> list[str]:
        return [
            site
            for site in self._attentions
            if site in self._ran and self.is_wanted(site) and not self._is_seen(site)
        ]

    def _is_seen(self, site: str) -> bool:
        """Whether attention was seen in the module, a submodule or an enclosing module."""
        if site == self.sites.root and (self.seen or self._passed_over):
            return True
        return self._is_passed_over(site) or any(
            _is_inside(other, site) or _is_inside(site, other)
            for other in (*self.seen, *self._passed_over)
        )

    def _why_unseen(self, site: str) -> str:
        used = getattr(getattr(self._attentions[site], "config", None), "_attn_implementation", "")
        way = "" if used in (None, "", "sdpa", "eager") else f" by {used!r}"
        remedy = "load the model with attn_implementation='sdpa' or 'eager', or " if way else ""
        return (
            f"attention of {type(self.model).__name__} ran, but the product of its "
            "weights and values was not seen "
            f"(computed{way or ' in numpy, in another process or by its own kernel'}?); "
            f"if the attention has weights, {remedy}pass the weights through an "
            f"AttentionProbe; if not, leave the module out with {self.leave_out}="
        )


def _is_inside(site: str, outer: str) -> bool:
    return site == outer or site.startswith(f"{outer}.")


def _is_attention(*names: str) -> bool:
    lower = [name.lower() for name in names]
    return not any(word in name for name in lower for word in _WITHOUT_WEIGHTS) and any(
        "attention" in name or name.endswith(_ENDINGS) for name in lower
    )


def _has_only_probes(kind: type[nn.Module]) -> bool:
    """Whether such modules compute attention only through probes."""
    name = kind.__module__
    if name.startswith("torch.nn.modules."):
        return name not in ("torch.nn.modules.activation", "torch.nn.modules.transformer") or (
            "Attention" not in kind.__name__ and "Transformer" not in kind.__name__
        )
    return name.startswith("attnlens.")


def reasons_of(unseen: dict[str, str]) -> str:
    """List the sites of each reason in one text."""
    by_reason: dict[str, list[str]] = {}
    for site, reason in unseen.items():
        by_reason.setdefault(reason, []).append(site)
    return "; ".join(f"{some_of(sites)}: {reason}" for reason, sites in by_reason.items())


def some_of(sites: Iterable[str]) -> str:
    """List the first few names, and the number of further names."""
    names = list(sites)
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
