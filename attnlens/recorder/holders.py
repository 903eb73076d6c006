"""Who else holds torch's attention function, so that replacing its names would not reach them."""

from __future__ import annotations

import gc
import sys
import threading
from types import FrameType, ModuleType
from typing import Any

import torch

_TABLE = 20
"""Longer lists and sets of functions are tables that torch looks functions up in."""


class Holders:
    """Finds references to a function: names in modules, which can be replaced, and others.

    Searching costs tens of milliseconds, so it is done again only when the number of
    references has changed, which costs nothing to ask.

    Attributes:
        replaced: names where something else stands at the moment.
    """

    __slots__ = ("_count", "_function", "_hidden", "_lock", "_names", "replaced")

    def __init__(self, function: Any) -> None:
        self._function = function
        self._count = -1
        self._names: list[tuple[ModuleType, str]] = []
        self._hidden = False
        self._lock = threading.Lock()
        self.replaced: list[tuple[ModuleType, str]] = []

    def by_name(self) -> list[tuple[ModuleType, str]]:
        """Modules outside torch that hold the function, and under which name."""
        self._search()
        return self._names

    def hidden(self) -> bool:
        """Whether it is held where no name leads to, as in a closure or an attribute."""
        self._search()
        return self._hidden

    def _search(self) -> None:
        with self._lock:
            if sys.getrefcount(self._function) + len(self.replaced) == self._count:
                return
            names = self.replaced.copy()
            # What was frozen is told of by nobody: whoever else holds it is assumed to.
            hidden = bool(gc.get_freeze_count())
            for holder in gc.get_referrers(self._function):
                if isinstance(holder, dict):
                    module = _module_of(holder)
                    keys = [key for key, value in holder.items() if value is self._function]
                    if module is None:
                        # As a key, it is looked up and not called.
                        hidden = hidden or bool(keys)
                    elif module.__name__.partition(".")[0] != "torch":
                        names += [(module, key) for key in keys]
                elif not _is_table(holder):
                    hidden = True
            self._names, self._hidden = names, hidden
            self._count = sys.getrefcount(self._function) + len(self.replaced)


def _module_of(namespace: dict[str, object]) -> ModuleType | None:
    name = namespace.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    return module if module is not None and vars(module) is namespace else None


def _is_table(holder: Any) -> bool:
    """Whether a holder only names the function, and nobody calls it from there."""
    if isinstance(holder, set | frozenset | Holders | torch.fx.Node):
        return True
    if type(holder).__name__ == "StandIn":
        return True
    if isinstance(holder, FrameType):
        # Ours, kept by an exception that someone caught.
        return str(holder.f_globals.get("__name__")).startswith("attnlens.recorder.")
    if isinstance(holder, tuple):
        return len(holder) == 2 and any(isinstance(part, str) for part in holder)
    return isinstance(holder, list) and len(holder) >= _TABLE
