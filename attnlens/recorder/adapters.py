"""Attention of modules that compute it in their own way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from torch import Tensor, nn

from attnlens.errors import AttnlensError
from attnlens.recorder.sites import ByName, Sites, matches


@runtime_checkable
class Adapter(Protocol):
    """Finds the weights of modules of one kind.

    ::

        class Mine:
            def matches(self, module):
                return isinstance(module, MyAttention)
            def records(self, module, args, kwargs, output):
                return output[1]

        with record(model, adapters=[Mine()]) as recording:
            model(x)

    The first adapter in the list that matches a module speaks for it, and other ways to see
    attention are left aside there.
    """

    def matches(self, module: nn.Module) -> bool:
        """Whether this adapter speaks for a module."""
        ...

    def records(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: ByName, output: Any
    ) -> Tensor | None:
        """The weights of one call of a module, after it ran.

        Returns:
            ``(batch, head, query, key)``, or None if that call was no attention.
        """
        ...


class SoftmaxAdapter:
    """Records what softmax gives inside modules of hand-written attention.

    ::

        with record(model, adapters=[SoftmaxAdapter("blocks.*.attention")]) as recording:
            model(x)

    Every softmax over the last axis of a tensor of four dimensions counts (three: one head; more:
    the first ones are taken for the batch), whichever way it is called: ``torch.softmax``,
    ``F.softmax``, ``x.softmax``, ``nn.Softmax``. `attnlens.intervene` takes such adapters too.

    Args:
        sites: names of modules, as in ``named_modules()``, or patterns (``*``, ``?``).
    """

    def __init__(self, sites: str | Sequence[str]) -> None:
        self.sites = (sites,) if isinstance(sites, str) else tuple(sites)

    def modules(self, sites: Sites, error: type[AttnlensError]) -> dict[str, nn.Module]:
        """The modules meant, by site.

        Raises:
            AttnlensError: of the type given: there are none.
        """
        named = {
            site: module
            for site, module in sites.modules.items()
            if any(matches(site, pattern) for pattern in self.sites)
        }
        if not named:
            raise error(f"SoftmaxAdapter({', '.join(self.sites)}) {no_module(sites)}")
        return named


Given = Adapter | SoftmaxAdapter


def adapters_of(given: Any, kind: Any, error: type[AttnlensError], remedy: str) -> list[Any]:
    """Adapters from what a caller gave: none, one or many.

    Raises:
        AttnlensError: of the type given: something that is not of the kind.
    """
    many = [] if given is None else list(given) if isinstance(given, list | tuple) else [given]
    for one in many:
        if not isinstance(one, kind) or isinstance(one, type):
            raise error(f"adapters={one!r}; {remedy}")
    return many


def no_module(sites: Sites) -> str:
    """What to say of an adapter that is for no module of a model."""
    return f"matches no module; modules: {', '.join(list(sites.modules)[:8])}, ..."
