"""The modules of the observed model: their names, the running module, and adapters."""

from __future__ import annotations

import fnmatch
import reprlib
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FrameType
from typing import Any, Protocol, TypeAlias, runtime_checkable

import torch.nn.functional as F
from torch import Tensor, nn

from attnlens.errors import AttnlensError, RecordingError

ByName: TypeAlias = dict[str, Any]
"""The keyword arguments of a module or a torch function."""

Which = str | Sequence[str] | Callable[[str], bool]
"""A choice of sites: names, patterns of names, or a function of a name."""

# Skip these functions: their first argument is never a module, and reading their local variables
# would keep large tensors alive.
_PASSED_OVER: set[CodeType] = {F.multi_head_attention_forward.__code__}

_PARTS = (nn.Softmax, nn.Dropout)

_COMPILED = "_orig_mod"


class Sites:
    """The names of a model's modules, as in ``named_modules()``.

    The root module is named after its class. Names do not include the wrapper of ``torch.compile``.
    ``names`` maps the id of a module to its name.

    The running module is found in the interpreter's stack frames. Hooks on every module would slow
    down every call and disable the fused kernels of torch's encoder layers.
    """

    def __init__(self, model: nn.Module) -> None:
        self.names: dict[int, str] = {}
        self.modules: dict[str, nn.Module] = {}
        self.compiled = False
        self.root = type(getattr(model, _COMPILED, model)).__name__
        for path, module in model.named_modules():
            name = path
            if _COMPILED in path:
                name = ".".join(part for part in path.split(".") if part != _COMPILED)
            name = name or self.root
            self.names[id(module)] = name
            # A compiled module and its wrapper share a name. The module comes later and is kept.
            self.modules[name] = module
            if module._compiled_call_impl is not None or path.endswith(_COMPILED):
                self.compiled = True

    def running(self, frame: FrameType | None) -> tuple[str, nn.Module] | None:
        """Return the innermost running module and its name; None if no module is running.

        A softmax or dropout module counts as part of the calling module.
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


def module_given(model: Any, asker: str, error: type[AttnlensError] = RecordingError) -> None:
    """Raise ``error`` unless ``model`` is a torch module."""
    if not isinstance(model, nn.Module):
        is_class = isinstance(model, type)
        received = f"the class {model.__name__}" if is_class else type(model).__name__
        remedy = f"{model.__name__}(...)" if is_class else "a model"
        raise error(f"{asker} needs a torch.nn.Module, but got {received}; give {remedy}")


def local_of(frame: FrameType, name: str) -> Any:
    """Return a local variable of a running function; None if it does not exist."""
    local = frame.f_locals
    value = local.get(name)
    if type(local) is dict and local is not frame.f_globals:
        # Before Python 3.13, this is a copy that the frame stores. The copy would keep deleted
        # tensors alive until the function returns.
        local.clear()
    return value


def sites_meant(
    option: str, which: Which | None, error: type[AttnlensError] = RecordingError
) -> tuple[tuple[str, ...] | None, Callable[[str], bool]]:
    """Return the patterns in ``which``, and a function that tests whether a site is selected.

    For a function, the patterns are empty. For None, the patterns are None and every site is
    selected. For an invalid value, ``error`` is raised.
    """
    if which is None:
        return None, lambda _: True
    if callable(which) and not isinstance(which, nn.Module):
        return (), which
    many = (which,) if isinstance(which, str) else which
    patterns = tuple(many) if isinstance(many, Iterable) else ()
    if not patterns or not all(isinstance(pattern, str) for pattern in patterns):
        raise error(
            f"{option}={reprlib.repr(which)} names no sites; give names, patterns such "
            "as 'encoder.*', or a function that receives a name"
        )
    return patterns, lambda site: any(matches(site, pattern) for pattern in patterns)


def matches(site: str, pattern: str) -> bool:
    return site == pattern or fnmatch.fnmatchcase(site, pattern)


@runtime_checkable
class Adapter(Protocol):
    """An adapter finds the attention weights of one kind of module.

    ::

        class Mine:
            def matches(self, module):
                return isinstance(module, MyAttention)
            def records(self, module, args, kwargs, output):
                return output[1]

        with record(model, adapters=[Mine()]) as recording:
            model(x)

    If several adapters match a module, the first adapter is used. Other attention inside a matched
    module is not recorded.
    """

    def matches(self, module: nn.Module) -> bool:
        """Whether this adapter applies to a module."""
        ...

    def records(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: ByName, output: Any
    ) -> Tensor | None:
        """Return the attention weights of one completed call of a module.

        Returns:
            a tensor ``(batch, head, query, key)`` or ``(batch, query, key)``; None: no attention.
        """
        ...


class SoftmaxAdapter:
    """An adapter for modules that should be treated as attention.

    ::

        with record(model, adapters=[SoftmaxAdapter("blocks.*.pooling")]) as recording:
            model(x)

    Attention with queries, keys and values needs no adapter. Other normalised weights, such as a
    learnt pooling, are recorded if the module's name suggests attention or an adapter names the
    module. For unrecorded weights, a note names the module. `attnlens.intervene` accepts these
    adapters too.

    Args:
        sites: names of modules, as in ``named_modules()``, or patterns (``*``, ``?``).
    """

    def __init__(self, sites: str | Sequence[str]) -> None:
        self.sites = (sites,) if isinstance(sites, str) else tuple(sites)

    def names(self, sites: Sites, error: type[AttnlensError]) -> list[str]:
        """Return the names of the matching modules. If no module matches, raise ``error``."""
        names = [
            site for site in sites.modules if any(matches(site, pattern) for pattern in self.sites)
        ]
        if not names:
            raise error(f"SoftmaxAdapter({', '.join(self.sites)}) {no_module(sites)}")
        return names


AnyAdapter = Adapter | SoftmaxAdapter


def adapters_of(value: Any, kind: Any, error: type[AttnlensError], remedy: str) -> list[Any]:
    """Return the adapters as a list. ``value`` is None, one adapter or a list of adapters.

    Unless all adapters are instances of ``kind``, ``error`` is raised with ``remedy``.
    """
    many = [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
    for adapter in many:
        if not isinstance(adapter, kind) or isinstance(adapter, type):
            raise error(f"adapters={adapter!r} is not an adapter; {remedy}")
    return many


def no_module(sites: Sites) -> str:
    return f"matches no module; the modules are {', '.join(list(sites.modules)[:8])}, ..."
