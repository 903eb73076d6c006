"""Modules of a model that is not ours: which is running, and adapters for those of their own kind.

What runs is found in the frames of the interpreter, so no module is touched.
"""

from __future__ import annotations

import fnmatch
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any, Protocol, TypeAlias, runtime_checkable

import torch.nn.functional as F
from torch import Tensor, nn

from attnlens.errors import AttnlensError, RecordingError

ByName: TypeAlias = dict[str, Any]
"""What a module or a function of torch was given by name: values of any kind."""

Which = str | Sequence[str] | Callable[[str], bool]
"""Sites: names, patterns over them, or a function of a name."""

# Their first argument is never a module; their locals are large tensors better left alone.
_PASSED_OVER: set[CodeType] = {F.multi_head_attention_forward.__code__}

_PARTS = (nn.Softmax, nn.Dropout)

_COMPILED = "_orig_mod"


class Sites:
    """The names of a model's modules, as in ``named_modules()``.

    The root, whose name there is empty, goes by the name of its class; the wrapper that
    ``torch.compile`` puts around a module is left out of names. ``names`` go by the id of a module.

    A site is looked up in the frames that lead to a call: the innermost function whose first
    argument is a module of this model. A hook on every module would tell as much, at a cost on
    every call, and would switch off the fused kernels of torch's encoder layers.
    """

    def __init__(self, model: nn.Module) -> None:
        self.names: dict[int, str] = {}
        self.modules: dict[str, nn.Module] = {}
        self.kinds: set[type[nn.Module]] = set()
        self.compiled = False
        self.root = type(getattr(model, _COMPILED, model)).__name__
        for path, module in _named_modules(model):
            name = path
            if _COMPILED in path:
                name = ".".join(part for part in path.split(".") if part != _COMPILED)
            name = name or self.root
            self.names[id(module)] = name
            # Of a compiled module and its wrapper, which share a name, the module stands.
            self.modules[name] = module
            self.kinds.add(type(module))
            if module._compiled_call_impl is not None or path.endswith(_COMPILED):
                self.compiled = True

    def part(self, site: tuple[str, nn.Module], attribute: str) -> str:
        """The name of an attribute of a module that stands for it; without one, the module's."""
        return self.names.get(id(getattr(site[1], attribute, None)), site[0])

    def running(self, frame: FrameType | None) -> tuple[str, nn.Module] | None:
        """The innermost module of this model that is running, or None if none is.

        A softmax or dropout that is a module of its own is part of the one that calls it.
        """
        while frame is not None:
            code = frame.f_code
            if code.co_argcount and code not in _PASSED_OVER:
                first = local_of(frame, code.co_varnames[0])
                if isinstance(first, nn.Module) and not isinstance(first, _PARTS):
                    name = self.names.get(id(first))
                    if name is not None:
                        return name, first
            frame = frame.f_back
        return None


def _named_modules(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """As ``model.named_modules()``, in a third of the time: it runs at the start of every block."""
    if type(model).named_modules is not nn.Module.named_modules:
        yield from model.named_modules()
        return
    visited: set[int] = set()
    left: list[tuple[str, nn.Module]] = [("", model)]
    while left:
        path, module = left.pop()
        if id(module) in visited:
            continue
        visited.add(id(module))
        yield path, module
        inner = module._modules
        if inner:
            start = f"{path}." if path else ""
            left += [
                (start + name, child)
                for name, child in reversed(inner.items())
                if child is not None
            ]


def module_given(model: Any, asker: str, error: type[AttnlensError] = RecordingError) -> None:
    """Whether a model is one; else an error of the type given."""
    if not isinstance(model, nn.Module):
        is_class = isinstance(model, type)
        received = f"the class {model.__name__}" if is_class else type(model).__name__
        remedy = f"{model.__name__}(...)" if is_class else "a model"
        raise error(f"{asker} needs a torch.nn.Module, not {received}; give {remedy}")


def local_of(frame: FrameType, name: str) -> Any:
    """One local variable of a running function; None if it has none of that name."""
    local = frame.f_locals
    value = local.get(name)
    if type(local) is dict and local is not frame.f_globals:
        # Before Python 3.13 this is a copy that the frame keeps: it would hold every tensor
        # the function deletes until the function returns.
        local.clear()
    return value


def sites_meant(
    option: str, which: Which, error: type[AttnlensError] = RecordingError
) -> tuple[tuple[str, ...], Callable[[str], bool]]:
    """Patterns over site names (as in a shell: ``*``, ``?``), and whether a site is meant.

    An error of the type given where there are neither patterns nor a function.
    """
    if callable(which) and not isinstance(which, nn.Module):
        return (), which
    many = (which,) if isinstance(which, str) else which
    patterns = tuple(many) if isinstance(many, Iterable) else ()
    if not patterns or not all(isinstance(pattern, str) for pattern in patterns):
        raise error(
            f"{option}={reprlib.repr(which)}; give names, patterns such as 'encoder.*', or a "
            "function of a name"
        )
    return patterns, lambda site: any(matches(site, pattern) for pattern in patterns)


def matches(site: str, pattern: str) -> bool:
    return site == pattern or fnmatch.fnmatchcase(site, pattern)


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

    The first adapter in the list that matches a module is used for it; nothing else is recorded
    there.
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
    """Declares that modules are attention, for weights that a record's note calls doubtful.

    ::

        with record(model, adapters=[SoftmaxAdapter("blocks.*.pooling")]) as recording:
            model(x)

    Attention is found by its product: weights of queries and keys that multiply values. Weights
    that were only normalised, such as a router's shares or a learnt pooling, are doubtful; in the
    modules named here they are recorded. `attnlens.intervene` takes such adapters too.

    Args:
        sites: names of modules, as in ``named_modules()``, or patterns (``*``, ``?``).
    """

    def __init__(self, sites: str | Sequence[str]) -> None:
        self.sites = (sites,) if isinstance(sites, str) else tuple(sites)

    def modules(self, sites: Sites, error: type[AttnlensError]) -> dict[str, nn.Module]:
        """The modules meant, by site; an error of the type given where there are none."""
        by_site = {
            site: module
            for site, module in sites.modules.items()
            if any(matches(site, pattern) for pattern in self.sites)
        }
        if not by_site:
            raise error(f"SoftmaxAdapter({', '.join(self.sites)}) {no_module(sites)}")
        return by_site


AnyAdapter = Adapter | SoftmaxAdapter


def adapters_of(value: Any, kind: Any, error: type[AttnlensError], remedy: str) -> list[Any]:
    """Adapters from what a caller gave: none, one or many; else an error of the type given."""
    many = [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
    for adapter in many:
        if not isinstance(adapter, kind) or isinstance(adapter, type):
            raise error(f"adapters={adapter!r}; {remedy}")
    return many


def no_module(sites: Sites) -> str:
    return f"matches no module; modules: {', '.join(list(sites.modules)[:8])}, ..."
