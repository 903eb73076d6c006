"""Numbers and their nouns, and names to choose from."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_SHOWN = 12
"""Choices that an error lists."""


def count(number: int, one: str, many: str | None = None) -> str:
    """``1 site``, ``1,200 sites``; ``many`` where the plural is not ``one`` and an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def choices(given: object, known: Iterable[str]) -> str:
    """The names there are, those like the given one first: ``'head', 'key' and 4 more``."""
    names = list(dict.fromkeys(known))
    near = get_close_matches(str(given), names)
    ordered = [*near, *(name for name in names if name not in near)]
    more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return ", ".join(map(repr, ordered[:_SHOWN])) + more
