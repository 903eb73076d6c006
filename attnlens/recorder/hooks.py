"""Hooks on modules of a model that is not ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Hook:
    """A hook whose copies do nothing.

    A model that is copied or pickled in a block takes its hooks along; they must neither tell the
    block of another model's calls nor stand in the way.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return Nothing, ()


class Nothing:
    """A hook that does nothing."""

    def __call__(self, *args: Any) -> None:
        pass
