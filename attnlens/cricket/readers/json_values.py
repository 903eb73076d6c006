"""Values of a parsed JSON document, each checked for its type where it is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attnlens.cricket.readers.text import shown

Path = tuple[str | int, ...]


class Wrong(Exception):
    """What is wrong with the value at a path of the document."""

    def __init__(self, problem: str, path: Path) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path


def mapping_at(parent: dict[str, Any], key: str, path: Path) -> dict[str, Any]:
    """The object at a key, empty where there is none."""
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise Wrong(f"is {shown(value)}, not an object", (*path, key))
    return value


def list_at(parent: dict[str, Any], key: str, path: Path) -> list[Any]:
    """The list at a key, empty where there is none."""
    value = parent.get(key, [])
    if not isinstance(value, list):
        raise Wrong(f"is {shown(value)}, not a list", (*path, key))
    return value


def text_at(parent: dict[str, Any], key: str, path: Path) -> str | None:
    """The text at a key; ``None`` where there is none or it is empty."""
    value = parent.get(key)
    if value is not None and not isinstance(value, str):
        raise Wrong(f"is {shown(value)}, not text", (*path, key))
    return value or None


def texts_at(parent: dict[str, Any], keys: Sequence[str], path: Path) -> dict[str, Any]:
    """The texts at those of the keys that have one."""
    values = {key: text_at(parent, key, path) for key in keys}
    return {key: value for key, value in values.items() if value is not None}


def number_at(parent: dict[str, Any], key: str, path: Path) -> int | None:
    """The whole number from 0 at a key, ``None`` where there is none."""
    value = parent.get(key)
    if value is not None and (type(value) is not int or not 0 <= value < 10**6):
        raise Wrong(f"is {shown(value)}, not a whole number from 0", (*path, key))
    return value


def positive_at(parent: dict[str, Any], key: str, path: Path) -> int | None:
    """The whole number from 1 at a key, ``None`` where there is none."""
    value = number_at(parent, key, path)
    if value == 0:
        raise Wrong("is 0", (*path, key))
    return value


def place_in_words(document: dict[str, Any], path: Path, nouns: Mapping[str, str]) -> str:
    """Where a path leads, in words: ``innings 2, over 14, delivery 3: runs.batter ``.

    Args:
        nouns: what a member of each list is called; a member that has its noun
            as a whole-number key is known by that number, not by its position.
    """
    words: list[str] = []
    rest: list[str] = []
    position = 0
    node: Any = document
    while position < len(path):
        step = path[position]
        following = path[position + 1] if position + 1 < len(path) else None
        if step in nouns and isinstance(following, int) and not rest:
            node = node[step][following]
            number: Any = following + 1
            noun = nouns[str(step)]
            if isinstance(node, dict) and type(node.get(noun)) is int:
                number = node[noun]
            words.append(f"{noun} {number}")
            position += 2
            continue
        rest.append(str(step))
        position += 1
    place = ", ".join(words)
    field = ".".join(rest)
    if place and field:
        return f"{place}: {field} "
    return f"{place}: " if place else f"{field} " if field else ""
