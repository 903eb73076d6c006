"""A block's listener that knows what attention its model has, and what of it was not seen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from attnlens.errors import AttnlensError
from attnlens.recording.edits import AXES
from attnlens.recording.interception import AttentionCall, Listener
from attnlens.recording.probe import AttentionProbe
from attnlens.recording.sites import SoftmaxAdapter
from attnlens.recording.written import watch_softmaxes

_LOOKED_FOR: Final = (
    "attnlens.AttentionProbe, nn.MultiheadAttention and nn.Transformer layers, "
    "F.scaled_dot_product_attention, attention of Hugging Face models"
)

_MAX_NAMES: Final = 6


class Block(Listener):
    """The listener of one block, its hooks, and the modules that are attention by their type.

    Attributes:
        probes: by site, which is the module that holds one.
        eager: sites of Hugging Face attention, which may form weights by a softmax.
        opaque: sites of modules that may compute attention where no one sees it: TorchScript,
            and code that calls torch's operators, as that of exported modules does.
        known: all sites but opaque ones, of which nothing is known before they run.
    """

    leave_out = ""
    """The option by which a site is left aside."""
    by_hand = "pass them through an AttentionProbe"
    """What helps where no softmax and no function of torch forms the weights."""

    def __init__(self, model: nn.Module, is_wanted: Callable[[str], bool] | None = None) -> None:
        super().__init__(model, is_wanted)
        self.model = model
        self.probes: dict[str, AttentionProbe] = {}
        self.eager: dict[str, nn.Module] = {}
        self.opaque: dict[str, nn.Module] = {}
        self.handles: list[RemovableHandle] = []
        self._paths: dict[str, str] = {}
        self._ran: set[str] = set()
        self._thread = threading.get_ident()
        inside = ""
        attention_types = {kind for kind in self.sites.kinds if _may_be_attention(kind)}
        for site, module in self.sites.modules.items():
            if type(module) not in attention_types:
                continue
            if isinstance(module, AttentionProbe):
                self.probes[site.removesuffix(".probe")] = module
                self._paths[site.removesuffix(".probe")] = site
            elif isinstance(module, nn.MultiheadAttention):
                self.softmaxes[site] = module
            elif isinstance(module, torch.jit.ScriptModule) or _calls_operators(type(module)):
                if not (inside and site.startswith(inside)):
                    self.opaque[site] = module
                    inside = f"{site}."
            elif not _is_shell(module):
                self.eager[site] = module
        self.known = [*self.probes, *self.softmaxes, *self.eager]
        self.softmaxes |= self.eager

    def begin(self, adapters: Sequence[SoftmaxAdapter], error: type[AttnlensError]) -> None:
        """Set the hooks; an error of the type given where an adapter names no module."""
        for site, probe in self.probes.items():
            if self.is_wanted(site):
                self.watch_probe(site, probe)
        self.handles += watch_softmaxes(self, adapters, error)
        if self.opaque:
            # Scripts take no hooks of their own.
            handle = nn.modules.module.register_module_forward_hook(self._count)
            self.handles.append(handle)
        else:
            self.handles += [
                module.register_forward_hook(self._count) for module in self.eager.values()
            ]

    def end(self) -> None:
        for handle in self.handles:
            handle.remove()
        self.handles.clear()

    def watch_probe(self, site: str, probe: AttentionProbe) -> None:
        """Set a hook on a probe."""
        raise NotImplementedError

    def await_values(self, site: str, probe: AttentionProbe, weights: Tensor, number: int) -> None:
        """Follow what weights that passed a probe are multiplied with."""
        if self.follows and tuple(probe.axes) == AXES and self.is_wanted(site):
            self.awaits(AttentionCall("softmax", weights=weights, site=site, number=number))

    def is_told_otherwise(self, site: str) -> bool:
        around = self._probes_of(site.rpartition(".")[0] or self.sites.root)
        return bool(around or self._probes_in(site)) or super().is_told_otherwise(site)

    def in_block_thread(self, site: str) -> bool:
        """Whether a module runs in the block's thread; takes down those that do not."""
        if threading.get_ident() == self._thread:
            return True
        self.elsewhere.add(site)
        return False

    def _count(self, module: nn.Module, *_: Any) -> None:
        """Takes down that a module ran of which not every run need be seen."""
        site = self.sites.names.get(id(module), "")
        if (site in self.eager or site in self.opaque) and self.in_block_thread(site):
            self._ran.add(site)

    def unseen(self, seen_sites: Container[str]) -> dict[str, str]:
        """Sites that ran and came through no way that is known, or in another thread, and why."""
        unseen = {
            site: self._why_unseen(site)
            for site in (*self.eager, *self.opaque)
            if site in self._ran
            and not any(
                seen_site == site or seen_site.startswith(f"{site}.") for seen_site in self.seen
            )
            and site not in seen_sites
            and self.is_wanted(site)
            and _has_attention(self.opaque.get(site))
        }
        unseen |= self.missing(sure=True)
        other_thread = (
            "ran in another thread; a block is for the thread it is in: open it where the model"
        )
        elsewhere = filter(self.is_wanted, sorted(self.elsewhere))
        return unseen | {
            site: f"{other_thread} is called" for site in elsewhere if site not in seen_sites
        }

    def missing(self, sure: bool) -> dict[str, str]:
        """Sites where something that may be attention came through no way that is known, and why.

        They are those where it quite likely (``sure``) is, or the others.
        """
        missed = {
            site: entry
            for site, entry in self.missed.items()
            if entry.sure == sure and self.is_wanted(site) and not self._spoken_for(site)
        }
        adapter = _adapter_of(site for site, entry in missed.items() if entry.adapts)
        by_adapter = f"give adapters={adapter} to have it as it is, or "
        return {
            site: f"{entry.description}, which nothing says is attention laid out "
            f"(batch, head, query, key); if it is attention, {by_adapter * entry.adapts}"
            "pass the weights through an AttentionProbe; if not, leave it out with "
            f"{self.leave_out}="
            for site, entry in missed.items()
        }

    def none_ran(self) -> str:
        """What to say where no attention of the model ran."""
        return (
            f"no attention of {type(self.model).__name__} ran in the block; looked for: "
            f"{_LOOKED_FOR}; call the model in the block, in its thread; for attention written by "
            "hand pass its weights through an AttentionProbe, or give "
            "adapters=[SoftmaxAdapter(site)]"
        )

    def _spoken_for(self, site: str) -> bool:
        """Whether what ran in a module and may be attention is told of by other means.

        These are an adapter of the module or of one around it, and probes that the module holds,
        or the one around it, that were called as often.
        """
        if super().is_told_otherwise(site):
            return True
        if self._are_probed([site], self._probes_in(site)):
            return True
        around = site.rpartition(".")[0] or self.sites.root
        family = [
            missed_site
            for missed_site in self.missed
            if (missed_site.rpartition(".")[0] or around) == around
        ]
        return self._are_probed({around, *family} & self.missed.keys(), self._probes_of(around))

    def _are_probed(self, sites: Iterable[str], probes: Iterable[str]) -> bool:
        """Whether probes were called as often as something was missed."""
        calls = sum(self.seen.get(probe, 0) for probe in probes)
        return calls >= sum(self.missed[site].calls for site in sites)

    def _probes_in(self, site: str) -> set[str]:
        inside = {probe for probe, path in self._paths.items() if path.startswith(f"{site}.")}
        return inside | self._probes_of(site)

    def _probes_of(self, site: str) -> set[str]:
        return {probe for probe, path in self._paths.items() if self._holder(path) == site}

    def _holder(self, path: str) -> str:
        """The module that a probe belongs to; lists and dictionaries of modules are passed over."""
        while path := path.rpartition(".")[0]:
            if not isinstance(self.sites.modules.get(path), nn.ModuleList | nn.ModuleDict):
                return path
        return self.sites.root

    def _why_unseen(self, site: str) -> str:
        if site in self.opaque:
            return (
                "is TorchScript, exported or calls torch's operators, whose inside no one sees; "
                "record the module it was made from, or call F.scaled_dot_product_attention"
            )
        used = getattr(getattr(self.eager[site], "config", None), "_attn_implementation", None)
        if used in (None, "eager"):
            return (
                f"attention of {type(self.model).__name__} that forms no weights by a softmax; if "
                f"it forms any, {self.by_hand}; if not, leave it out with {self.leave_out}="
            )
        return (
            f"attention of {type(self.model).__name__} computed by a kernel that cannot be seen"
            f" ({used!r}); load it with attn_implementation='sdpa' or 'eager', or {self.by_hand}"
        )


def _may_be_attention(kind: type[nn.Module]) -> bool:
    """Whether modules of a type are attention that is known, or opaque.

    Attention of Hugging Face models is known by the names of its types, so that nothing of
    that library is imported.
    """
    ours = (AttentionProbe, nn.MultiheadAttention, torch.jit.ScriptModule)
    if issubclass(kind, ours) or _calls_operators(kind):
        return True
    return kind.__module__.startswith("transformers.") and kind.__name__.endswith("Attention")


def _calls_operators(kind: type[nn.Module]) -> bool:
    """Whether the code of a type calls attention as an operator, ``torch.ops.aten...``."""
    code = getattr(getattr(kind, "forward", None), "__code__", None)
    names = getattr(code, "co_names", ())
    return "aten" in names and any("scaled_dot" in name or "softmax" in name for name in names)


def _is_shell(module: nn.Module) -> bool:
    """Whether the attention is in a module inside this one."""
    inner = list(module.modules())[1:]
    return any(type(child).__name__.endswith("Attention") for child in inner)


def _has_attention(script: nn.Module | None) -> bool:
    """Of a script, whether its code computes attention; of others it is known."""
    if not isinstance(script, torch.jit.ScriptModule):
        return True
    code = str(getattr(script, "inlined_graph", ""))
    return "aten::scaled_dot_product_attention" in code or "aten::softmax" in code


def _adapter_of(sites: Iterable[str]) -> str:
    """The adapter of these sites; of very many, by patterns that hold for every layer."""
    names = list(sites)
    if len(names) > _MAX_NAMES:
        patterns = (".".join("*" if p.isdigit() else p for p in s.split(".")) for s in names)
        names = list(dict.fromkeys(patterns))
    argument = repr(names[0]) if len(names) == 1 else repr(names)
    return f"SoftmaxAdapter({argument})"


def reasons_of(unseen: dict[str, str]) -> str:
    """Sites by reason, the reason told once."""
    by_reason: dict[str, list[str]] = {}
    for site, reason in unseen.items():
        by_reason.setdefault(reason, []).append(site)
    return "; ".join(f"{some_of(sites)}: {reason}" for reason, sites in by_reason.items())


def some_of(sites: Iterable[str]) -> str:
    """The first few names, and how many more there are."""
    names = list(sites)
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
