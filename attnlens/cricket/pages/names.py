"""Surnames that still tell the players of one innings apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from attnlens.show.canvas import cut

LONGEST = 16
"""Columns a name may take among others on a line."""


def surname(name: str) -> str:
    """The last word with the small words before it: ``AB de Villiers`` is ``de Villiers``."""
    words = name.split() or ["?"]
    start = len(words) - 1
    while start > 1 and words[start - 1].islower():
        start -= 1
    return " ".join(words[start:])


def short_names(names: Iterable[str], ellipsis: str) -> dict[str, str]:
    """Each name's shortest form that no other name shares.

    The surname; else the first letter and the surname; else the whole name.
    """
    forms = {
        name: tuple(cut(form, LONGEST, ellipsis) for form in (surname(name), _initialled(name)))
        for name in set(names)
    }
    chosen = dict.fromkeys(forms, "")
    for rank in range(2):
        count = Counter(form[rank] for form in forms.values())
        for name, form in forms.items():
            if not chosen[name] and count[form[rank]] == 1:
                chosen[name] = form[rank]
    count = Counter(chosen.values())
    return {name: form if form and count[form] == 1 else name for name, form in chosen.items()}


def _initialled(name: str) -> str:
    return name if len(name.split()) < 2 else f"{name.split()[0][:1]} {surname(name)}"
