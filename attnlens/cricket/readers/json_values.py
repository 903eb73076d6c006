"""Values of a parsed JSON document, each checked for its type where it is taken, and the place
of one that is wrong: in words, and the line of the text.

Parsing with positions costs several times plain parsing, so matches are parsed plainly, and
the text is walked a second time only for the error message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from attnlens.cricket.readers.text import shown
from attnlens.files import Json

Path = tuple[str | int, ...]
"""Keys and positions from the root of a document."""

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder(parse_float=str)


class Wrong(Exception):
    """What is wrong with the value at a path of the document."""

    def __init__(self, problem: str, path: Path) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path


def mapping_at(parent: Json, key: str, path: Path) -> Json:
    """The object at a key, empty where there is none."""
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise Wrong(f"is {shown(value)}, not an object", (*path, key))
    return value


def list_at(parent: Json, key: str, path: Path) -> list[Any]:
    """The list at a key, empty where there is none."""
    value = parent.get(key, [])
    if not isinstance(value, list):
        raise Wrong(f"is {shown(value)}, not a list", (*path, key))
    return value


def text_at(parent: Json, key: str, path: Path) -> str | None:
    """The text at a key; ``None`` where there is none or it is empty."""
    value = parent.get(key)
    if value is not None and not isinstance(value, str):
        raise Wrong(f"is {shown(value)}, not text", (*path, key))
    return value or None


def texts_at(parent: Json, keys: Sequence[str], path: Path) -> dict[str, str | None]:
    """The texts at the keys, as `text_at` has them."""
    return {key: text_at(parent, key, path) for key in keys}


def number_at(parent: Json, key: str, path: Path) -> int | None:
    """The whole number from 0 at a key, ``None`` where there is none."""
    value = parent.get(key)
    if value is not None and (type(value) is not int or not 0 <= value < 10**6):
        raise Wrong(f"is {shown(value)}, not a whole number from 0", (*path, key))
    return value


def positive_at(parent: Json, key: str, path: Path) -> int | None:
    """The whole number from 1 at a key, ``None`` where there is none."""
    value = number_at(parent, key, path)
    if value == 0:
        raise Wrong("is 0", (*path, key))
    return value


def place_in_words(document: Json, path: Path, nouns: Mapping[str, str]) -> str:
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


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """The line, from 1, where the value at ``path`` begins.

    Args:
        text: a JSON text that has been parsed without error.
        path: keys and positions from the root, such as ``("innings", 0, "overs")``.
            Where the path ends early, the last value found is meant.
    """
    position = _skip(text, 0)
    for step in path:
        found = _member(text, position, step)
        if found is None:
            break
        position = found
    return text.count("\n", 0, position) + 1


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return position if match is None else match.end()


def _member(text: str, position: int, step: str | int) -> int | None:
    opening = text[position : position + 1]
    if opening not in ("{", "[") or (opening == "{") != isinstance(step, str):
        return None
    found = None
    index = 0
    position = _skip(text, position + 1)
    while text[position : position + 1] not in ("}", "]", ""):
        if opening == "{":
            key, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        else:
            key = index
            index += 1
        # Of a key given twice, the last one counts, as it does to the parser.
        if key == step:
            found = position
            if opening == "[":
                return found
        _, position = _DECODER.raw_decode(text, position)
        position = _skip(text, position)
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
    return found
