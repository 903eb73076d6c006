"""Attention of modules that compute it in their own way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from torch import Tensor, nn

from attnlens.errors import RecordingError
from attnlens.recorder.choice import matches
from attnlens.recorder.sites import ByName


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

    def names(self, site: str) -> bool:
        """Whether a module is one of them."""
        return any(matches(site, pattern) for pattern in self.sites)


Given = Adapter | SoftmaxAdapter | Callable[..., Tensor | None]


class _OfFunction:
    """A function as an adapter of every module; it returns None where there is no attention."""

    def __init__(self, function: Callable[..., Tensor | None]) -> None:
        self.records = function

    def matches(self, module: nn.Module) -> bool:
        del module
        return True


def adapters_of(given: Given | Sequence[Given] | None) -> list[Adapter | SoftmaxAdapter]:
    """Adapters from what a caller gave: objects, functions, one or many.

    Raises:
        RecordingError: something that is neither.
    """
    if given is None:
        return []
    listed = isinstance(given, Sequence) and not isinstance(given, str)
    many: Sequence[Any] = given if listed else [given]  # type: ignore[assignment]
    found: list[Adapter | SoftmaxAdapter] = []
    for one in many:
        if isinstance(one, SoftmaxAdapter | Adapter) and not isinstance(one, type):
            found.append(one)
        elif callable(one) and not isinstance(one, type):
            found.append(_OfFunction(one))
        else:
            raise RecordingError(
                f"adapters={one!r}; give an object with matches(module) and "
                "records(module, args, kwargs, output), a function of the latter four, "
                "or SoftmaxAdapter(sites)"
            )
    return found


def of_function(adapter: object) -> bool:
    """Whether an adapter came of a function, which speaks for no module until it answers."""
    return isinstance(adapter, _OfFunction)
