"""What Python and Jupyter show of an object, drawn by a module that its type does not know.

A type that is shown so asks `drawn`; which module draws it is listed where the package begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

_DRAWN_BY: dict[str, str] = {}


def drawn_by(modules: Mapping[str, str]) -> None:
    """Names the module that draws each type.

    Args:
        modules: by the name of the type; its ``FORMS`` holds, by that name, a function for each
            form.
    """
    _DRAWN_BY.update(modules)


def drawn(value: object, form: str) -> str:
    """One form of an object: a ``line``, a page of ``text``, or ``html``."""
    return str(made(value, form))


def made(value: object, form: str) -> object:
    """What a module makes of an object that does not know the module."""
    kind = next(one.__name__ for one in type(value).__mro__ if one.__name__ in _DRAWN_BY)
    make: Callable[[object], object] = import_module(_DRAWN_BY[kind]).FORMS[kind][form]
    return make(value)
