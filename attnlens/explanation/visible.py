"""Names as they are shown to a language model, or looked for in what it wrote.

A name comes from a file and can hold anything: marks that turn the direction of writing, signs
that cannot be seen, a whole page. What is shown has only what can be seen, on one line, and no
more of it than a name needs.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, Final

LONGEST: Final = 60
"""Characters of a name that are shown; the longest of 4,000 real players' names has 33."""

_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_SPACES: Final = frozenset({"Zs", "Zl", "Zp"})
# Letters and marks without a shape: joiners, fillers, variation selectors, the blank of Braille.
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | frozenset(
    chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
)


def visible(text: str, longest: int | None = None) -> str:
    """The text without what cannot be seen or obeyed, on one line, cut with an ellipsis.

    Args:
        longest: characters kept; all of them without.
    """
    kept = []
    for character in text:
        category = unicodedata.category(character)
        if category in _SPACES or character in "\t\n\r\v\f\x85":
            kept.append(" ")
        elif category not in _UNSEEN and character not in _BLANK:
            kept.append(character)
    shown = " ".join("".join(kept).split())
    if longest is None or len(shown) <= longest:
        return shown
    return shown[: max(longest - 1, 0)].rstrip() + "…"


def visible_name(text: str) -> str:
    """A name as it is shown; ``?`` where nothing of it can be seen."""
    return visible(text, LONGEST) or "?"


def visible_all(value: Any, longest: int | None = None) -> Any:
    """`visible` on every string of plain data; keys stay as they are."""
    if isinstance(value, str):
        return visible(value, longest)
    if isinstance(value, Mapping):
        return {key: visible_all(member, longest) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [visible_all(member, longest) for member in value]
    return value
