"""What attention a model has, what of it was seen, and what to say of the rest."""

from __future__ import annotations

import threading
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from attnlens.errors import IncompleteRecordingError, NothingRecordedError
from attnlens.recorder.choice import matches
from attnlens.recorder.interception import Listener
from attnlens.recorder.sites import Hook, Sites
from attnlens.recording.probe import AttentionProbe
from attnlens.words import count

LOOKED_FOR: Final = (
    "attnlens.recording.probe.AttentionProbe, nn.MultiheadAttention and nn.Transformer layers, "
    "F.scaled_dot_product_attention, flex_attention, attention of Hugging Face models"
)

_SHOWN: Final = 6


@dataclass(slots=True)
class Known:
    """Modules of a model that are attention by their type.

    Attributes:
        probes: sites of probes (the module that holds one), and the probes.
        paths: where each probe is itself, by its site.
        torch: sites of ``nn.MultiheadAttention``.
        eager: sites of Hugging Face attention, which may form weights by a softmax.
        opaque: sites of modules that may compute attention where no one sees it: TorchScript,
            and code that calls torch's operators, as that of exported modules does.
        ran: how often those ran that are counted: eager and opaque ones.
    """

    probes: dict[str, AttentionProbe] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    torch: dict[str, nn.Module] = field(default_factory=dict)
    eager: dict[str, nn.Module] = field(default_factory=dict)
    opaque: dict[str, nn.Module] = field(default_factory=dict)
    ran: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, sites: Sites) -> Known:
        """The attention modules of a model."""
        known = cls()
        inside_script = ""
        told = {kind for kind in sites.kinds if _may_be_attention(kind)}
        for site, module in sites.modules.items():
            if type(module) not in told:
                continue
            if isinstance(module, AttentionProbe):
                known.probes[site.removesuffix(".probe")] = module
                known.paths[site.removesuffix(".probe")] = site
            elif isinstance(module, nn.MultiheadAttention):
                known.torch[site] = module
            elif isinstance(module, torch.jit.ScriptModule) or _calls_operators(type(module)):
                if not (inside_script and site.startswith(inside_script)):
                    known.opaque[site] = module
                    inside_script = f"{site}."
            elif not _is_shell(module):
                known.eager[site] = module
        return known

    @property
    def sites(self) -> list[str]:
        """All of them but opaque ones, of which nothing is known before they run."""
        return [*self.probes, *self.torch, *self.eager]

    def count_runs(self, listener: Listener) -> list[RemovableHandle]:
        """Hooks that count runs where not every run need be seen; those in other threads apart."""
        owner = threading.get_ident()
        counted = {id(module): site for site, module in (self.eager | self.opaque).items()}

        def hook(module: nn.Module, *_: Any) -> None:
            site = counted.get(id(module))
            if site is not None and threading.get_ident() == owner:
                self.ran[site] = self.ran.get(site, 0) + 1
            elif site is not None:
                listener.elsewhere.add(site)

        if self.opaque:
            # Scripts take no hooks of their own.
            return [nn.modules.module.register_module_forward_hook(hook)]
        return [module.register_forward_hook(Hook(hook)) for module in self.eager.values()]


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
    return "aten" in names and any("scaled_dot_product" in name for name in names)


def _is_shell(module: nn.Module) -> bool:
    """Whether the attention is in a module inside this one."""
    inner = list(module.modules())[1:]
    return any(type(child).__name__.endswith("Attention") for child in inner)


def judge(
    listener: Listener,
    known: Known,
    recorded: dict[str, int],
    model: nn.Module,
    patterns: Sequence[str],
    filtered: bool,
    expected: int | None,
) -> str | None:
    """Whether everything that should have been recorded was.

    Args:
        recorded: how many records each site has.
        patterns: of ``include``; ``filtered``: whether there was an ``include`` at all.
        expected: how many records the caller expects in all.

    Returns:
        a note on attention modules that did not run, if there are any.

    Raises:
        NothingRecordedError: no record at all.
        IncompleteRecordingError: attention ran that was not seen, a pattern matched nothing
            that ran, or there are not as many records as expected.
    """
    wanted = [site for site in known.sites if listener.is_wanted(site)]
    unseen = unseen_sites(listener, known, recorded, model, "include")
    idle = [site for site in wanted if site not in recorded and site not in unseen]
    if not recorded:
        raise NothingRecordedError(_nothing(listener, known, model, unseen, wanted, filtered))
    if unseen:
        raise IncompleteRecordingError(
            f"{count(len(unseen), 'site')} ran and "
            f"{'was' if len(unseen) == 1 else 'were'} not recorded: {reasons_of(unseen)}"
        )
    for pattern in patterns:
        if not any(matches(site, pattern) for site in recorded):
            raise IncompleteRecordingError(
                f"include: nothing that ran is called {pattern!r}; recorded: {some_of(recorded)}"
                + (f"; known but not run: {some_of(idle)}" if idle else "")
            )
    total = sum(recorded.values())
    if expected is not None and total != expected:
        counts = [f"{site} {count}" for site, count in recorded.items()]
        raise IncompleteRecordingError(
            f"{expected} records expected, {total} made: {some_of(counts)}"
            + (f"; not run: {some_of(idle)}" if idle else "")
        )
    if idle:
        return f"did not run in the block, so nothing was recorded: {some_of(idle)}"
    return None


def unseen_sites(
    listener: Listener, known: Known, seen: Container[str], model: nn.Module, leave_out: str
) -> dict[str, str]:
    """Sites that ran and came through no way that is known, or in another thread, and why.

    Args:
        leave_out: the option by which a site is left aside.
    """
    unseen = {
        site: _why_unseen(site, known, model)
        for site in (*known.eager, *known.opaque)
        if known.ran.get(site)
        and not _seen_within(site, listener)
        and site not in seen
        and listener.is_wanted(site)
        and _has_attention(known, site)
    }
    missed = {
        site: shape
        for site, shape in listener.missed.items()
        if listener.is_wanted(site) and not _spoken_for(site, listener, known)
    }
    unseen |= {
        site: f"a softmax of shape {shape}, which nothing says is attention laid out (batch, head, "
        f"query, key); if it is attention, give adapters={_adapter_of(missed)} to have it as it "
        "is, or pass the weights through an AttentionProbe; if not, leave it out with "
        f"{leave_out}="
        for site, shape in missed.items()
    }
    told = "ran in another thread; a block is for the thread it is in: open it where the model is "
    elsewhere = filter(listener.is_wanted, sorted(listener.elsewhere))
    return unseen | {site: f"{told}called" for site in elsewhere if site not in seen}


def doubtful(listener: Listener) -> str:
    """What to say of softmaxes that may have been attention of one head; may be empty."""
    sites = sorted(filter(listener.is_wanted, listener.doubtful))
    if not sites:
        return ""
    return (
        f"; a softmax over the last of three dimensions ran in {some_of(sites)}: if it is "
        f"attention, give adapters={_adapter_of(sites)}"
    )


def _adapter_of(sites: Iterable[str]) -> str:
    """The adapter of these sites; of very many, by patterns that hold for every layer."""
    shown = list(sites)
    if len(shown) > _SHOWN:
        patterns = (".".join("*" if p.isdigit() else p for p in s.split(".")) for s in shown)
        shown = list(dict.fromkeys(patterns))
    told = repr(shown[0]) if len(shown) == 1 else repr(shown)
    return f"SoftmaxAdapter({told})"


def _spoken_for(site: str, listener: Listener, known: Known) -> bool:
    """Whether a softmax that ran in a module is told of by other means.

    These are an adapter of the module or of one around it, and probes that the module, or the
    one around it, holds.
    """
    adapted = listener.adapted | listener.passed_over
    if any(site == one or site.startswith(f"{one}.") for one in adapted):
        return True
    around = {site, site.rpartition(".")[0] or listener.sites.root}
    return any(
        _holder(path, listener) in around or path.startswith(f"{site}.")
        for probe, path in known.paths.items()
        if probe in listener.seen
    )


def _holder(path: str, listener: Listener) -> str:
    """The module that a probe belongs to; lists and dictionaries of modules are passed over."""
    while True:
        path = path.rpartition(".")[0]
        holder = listener.sites.modules.get(path)
        if not path:
            return listener.sites.root
        if not isinstance(holder, nn.ModuleList | nn.ModuleDict):
            return path


def _nothing(
    listener: Listener,
    known: Known,
    model: nn.Module,
    unseen: dict[str, str],
    wanted: list[str],
    filtered: bool,
) -> str:
    name = type(model).__name__
    if unseen:
        return f"nothing was recorded of {name}: {reasons_of(unseen)}"
    if filtered and (listener.seen or known.sites) and not wanted:
        ran = [*listener.seen] or known.sites
        return f"include matched no attention of {name}; it has: {some_of(ran)}"
    if wanted:
        return (
            f"none of the {len(wanted)} attention modules ran; call the model inside the block, "
            f"in its thread ({some_of(wanted)})"
        )
    return no_attention(model, listener)


def no_attention(model: nn.Module, listener: Listener) -> str:
    """What to say where no attention of a model ran."""
    return (
        f"no attention of {type(model).__name__} ran in the block; looked for: {LOOKED_FOR}; call "
        "the model in the block, in its thread; for attention written by hand pass its weights "
        f"through an AttentionProbe, or give adapters=[SoftmaxAdapter(site)]{doubtful(listener)}"
    )


def _seen_within(site: str, listener: Listener) -> bool:
    return any(one == site or one.startswith(f"{site}.") for one in listener.seen)


def _has_attention(known: Known, site: str) -> bool:
    """Of a script, whether its code computes attention; of others it is known."""
    script = known.opaque.get(site)
    if not isinstance(script, torch.jit.ScriptModule):
        return True
    code = str(getattr(script, "inlined_graph", ""))
    return "aten::scaled_dot_product_attention" in code or "aten::softmax" in code


def _why_unseen(site: str, known: Known, model: nn.Module) -> str:
    if site in known.opaque:
        return (
            "is TorchScript, exported or calls torch's operators, whose inside no one sees; record "
            "the module it was made from, or call F.scaled_dot_product_attention"
        )
    used = getattr(getattr(known.eager[site], "config", None), "_attn_implementation", None)
    told = f" ({used!r})" if used else ""
    return (
        f"attention of {type(model).__name__} computed by a kernel that cannot be seen{told}; "
        "load it with attn_implementation='sdpa' or 'eager', or give an adapter"
    )


def reasons_of(unseen: dict[str, str]) -> str:
    """Sites by reason, the reason told once."""
    by_reason: dict[str, list[str]] = {}
    for site, reason in unseen.items():
        by_reason.setdefault(reason, []).append(site)
    return "; ".join(f"{some_of(sites)}: {reason}" for reason, sites in by_reason.items())


def some_of(sites: Iterable[str]) -> str:
    """The first few names, and how many more there are."""
    names = list(sites)
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
