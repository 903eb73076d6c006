"""Modules of a model that is not ours: which of them is running, and hooks on them.

What runs is found in the frames of the interpreter, so no module is touched.
"""

from __future__ import annotations

import fnmatch
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any, TypeAlias

import torch.nn.functional as F
from torch import nn

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
    ``torch.compile`` puts around a module is left out of names.

    A site is looked up in the frames that lead to a call: the innermost function whose first
    argument is a module of this model. A hook on every module would tell as much, at a cost on
    every call, and would switch off the fused kernels of torch's encoder layers.

    Attributes:
        root: the name of the model itself.
        names: by the id of a module.
        modules: by name.
        kinds: the types of its modules.
        compiled: whether any of them is compiled.
    """

    def __init__(self, model: nn.Module) -> None:
        self.names: dict[int, str] = {}
        self.modules: dict[str, nn.Module] = {}
        self.kinds: set[type[nn.Module]] = set()
        self.compiled = False
        self.root = type(getattr(model, _COMPILED, model)).__name__
        for path, module in _named_modules(model):
            name = plain_name(path) or self.root
            self.names[id(module)] = name
            # Of a compiled module and its wrapper, which share a name, the module stands.
            self.modules[name] = module
            self.kinds.add(type(module))
            if module._compiled_call_impl is not None or path.endswith(_COMPILED):
                self.compiled = True

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
    seen: set[int] = set()
    left: list[tuple[str, nn.Module]] = [("", model)]
    while left:
        path, module = left.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
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
    """Whether a model is one.

    Raises:
        AttnlensError: of the type given: it is something else.
    """
    if not isinstance(model, nn.Module):
        is_class = isinstance(model, type)
        told = f"the class {model.__name__}" if is_class else type(model).__name__
        remedy = f"{model.__name__}(...)" if is_class else "a model"
        raise error(f"{asker} needs a torch.nn.Module, not {told}; give {remedy}")


def plain_name(path: str) -> str:
    """A module's path without the wrappers of ``torch.compile``."""
    if _COMPILED not in path:
        return path
    return ".".join(part for part in path.split(".") if part != _COMPILED)


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
    option: str, given: Which, error: type[AttnlensError] = RecordingError
) -> tuple[tuple[str, ...], Callable[[str], bool]]:
    """Patterns over site names (as in a shell: ``*``, ``?``), and whether a site is meant.

    Raises:
        AttnlensError: of the type given: neither patterns nor a function.
    """
    if callable(given) and not isinstance(given, nn.Module):
        return (), given
    many = (given,) if isinstance(given, str) else given
    patterns = tuple(many) if isinstance(many, Iterable) else ()
    if not patterns or not all(isinstance(pattern, str) for pattern in patterns):
        raise error(
            f"{option}={reprlib.repr(given)}; give names, patterns such as 'encoder.*', or a "
            "function of a name"
        )
    return patterns, lambda site: any(matches(site, pattern) for pattern in patterns)


def matches(site: str, pattern: str) -> bool:
    """Whether a pattern names a site."""
    return site == pattern or fnmatch.fnmatchcase(site, pattern)
