"""Numbers and their nouns, and names to choose from."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_MAX_CHOICES = 12
"""Choices that an error lists."""


def count(number: int, singular: str, plural: str | None = None) -> str:
    """``1 site``, ``1,200 sites``; ``plural`` where the plural is not ``singular`` and an s."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def choices(name: object, available: Iterable[str]) -> str:
    """The names there are, those like the given one first: ``'head', 'key' and 4 more``."""
    names = list(dict.fromkeys(available))
    similar = get_close_matches(str(name), names)
    ordered = [*similar, *(name for name in names if name not in similar)]
    more = f" and {len(ordered) - _MAX_CHOICES} more" if len(ordered) > _MAX_CHOICES else ""
    return ", ".join(map(repr, ordered[:_MAX_CHOICES])) + more
