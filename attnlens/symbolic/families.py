"""Equations that say the same of several things alike, told once.

The 20 nodes of a graph or the layers of a stack have equations that differ in a name only, and
perhaps in numbers. Three or more of those become one, whose description lists the names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

FEWEST: Final = 3
"""Fewer alike are told one by one."""

NUMBER: Final = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")


@dataclass(frozen=True, slots=True)
class Member:
    """An equation, and the word in it that may stand for others.

    Attributes:
        symbol, latex, text, description: see `attnlens.symbolic.Equation`.
        shape: sizes; ``None`` where members of a family differ.
        key: the name by which it differs from its like; ``""`` where there is none.
    """

    symbol: str
    latex: str
    text: str
    shape: tuple[int | None, ...]
    description: str
    key: str


def families(members: Sequence[Member]) -> list[Member]:
    """The same with families of three and more told once, where the first of each stands."""
    groups: dict[tuple[str, ...], list[Member]] = {}
    for member in members:
        groups.setdefault(_template(member), []).append(member)
    told: list[Member] = []
    done: set[tuple[str, ...]] = set()
    for member in members:
        template = _template(member)
        group = groups[template]
        if not member.key or len(group) < FEWEST or len({one.key for one in group}) < len(group):
            told.append(member)
        elif template not in done:
            done.add(template)
            told.append(_one(group))
    return told


def _template(member: Member) -> tuple[str, ...]:
    """What members of a family have in common."""
    if not member.key:
        return (member.text,)
    return (
        NUMBER.sub("#", _with_sign(member.text, member.key)),
        str(len(member.shape)),
        _with_sign(member.description, member.key),
    )


def _with_sign(text: str, key: str) -> str:
    """The key as ``s``, wherever it is a word of its own."""
    if key.isdigit():
        # A number is a name only where a label stands; the one before it is a layer's input.
        for number, sign in ((int(key), "s"), (int(key) - 1, "s−1")):
            label = rf"(\((?:\\mathrm{{)?|(?:LN|RMSNorm)_(?:{{\\mathrm{{)?){number}(?=[.()}}])"
            text = re.sub(label, rf"\g<1>{sign}", text)
        return re.sub(rf"(?<=\.){key}(?=\.)", "s", text)
    return re.sub(rf"(?<![A-Za-z0-9]){re.escape(key)}(?![A-Za-z0-9_])", "s", text)


def _one(group: Sequence[Member]) -> Member:
    first = group[0]
    keys = [one.key for one in group]
    text = _merged([_with_sign(one.text, one.key) for one in group])
    latex = _merged([_latex_with_sign(one.latex, one.key) for one in group])
    sizes = zip(*(one.shape for one in group), strict=True)
    words = _with_sign(first.description, first.key)
    return replace(
        first,
        symbol=_with_sign(first.symbol, first.key),
        text=text,
        latex=latex,
        shape=tuple(column[0] if len(set(column)) == 1 else None for column in sizes),
        description=f"{words}; s: {', '.join(keys)}".removeprefix("; "),
        key="",
    )


def _latex_with_sign(latex: str, key: str) -> str:
    return _with_sign(latex, key.replace("_", "\\_")).replace("s−1", "s-1")


def _merged(texts: Sequence[str]) -> str:
    """One text, in which numbers that differ stand as ``⟨30, 20, 10⟩``."""
    pieces = [re.split(f"({NUMBER.pattern})", text) for text in texts]
    if len({len(piece) for piece in pieces}) > 1:
        return texts[0]
    merged = []
    for column in zip(*pieces, strict=True):
        distinct = list(dict.fromkeys(column))
        if len(distinct) == 1:
            merged.append(distinct[0])
        else:
            merged.append(f"⟨{', '.join(column)}⟩")
    return "".join(merged)
