"""Numbers and their nouns."""

from __future__ import annotations


def count(number: int, one: str, many: str | None = None) -> str:
    """``1 site``, ``1,200 sites``; ``many`` where the plural is not ``one`` and an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
