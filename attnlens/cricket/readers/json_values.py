"""Values of a parsed JSON document, each checked for its type where it is taken, and the place
of one that is wrong: in words, and the line of the text.

Parsing with positions costs several times plain parsing, so matches are parsed plainly, and
the text is walked a second time only for the error message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attnlens.cricket.readers.text import shown
from attnlens.files import Json

Path = tuple[str | int, ...]
"""Keys and positions from the root of a document."""

_BETWEEN = re.compile(r"[ \t\n\r,:]*")
_KEY_OR_BRACE = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}]', re.DOTALL)
_DECODER = json.JSONDecoder(parse_float=str)


class Wrong(Exception):
    """What is wrong with the value at a path of the document."""

    def __init__(self, problem: str, path: Path) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path


@dataclass(frozen=True, slots=True)
class Node:
    """An object of a document, and its place there; its values, checked.

    Raises:
        Wrong: a value is of another type than it is taken for.
    """

    value: Json
    path: Path = ()

    def wrong(self, problem: str, *steps: str | int) -> Wrong:
        """An error about what lies those steps further in."""
        return Wrong(problem, (*self.path, *steps))

    def inner(self, key: str) -> Node:
        """The object at a key, empty where there is none."""
        value = self.value.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(f"is {shown(value)}, not an object", key)
        return Node(value, (*self.path, key))

    def members(self, key: str) -> list[Any]:
        """The list at a key, empty where there is none."""
        value = self.value.get(key, [])
        if not isinstance(value, list):
            raise self.wrong(f"is {shown(value)}, not a list", key)
        return value

    def objects(self, key: str) -> list[Node]:
        """The objects in the list at a key."""
        found = self.members(key)
        for position, value in enumerate(found):
            if not isinstance(value, dict):
                raise self.wrong(f"is {shown(value)}, not an object", key, position)
        return [Node(value, (*self.path, key, position)) for position, value in enumerate(found)]

    def text(self, key: str) -> str | None:
        """The text at a key; ``None`` where there is none or it is empty."""
        value = self.value.get(key)
        if value is not None and not isinstance(value, str):
            raise self.wrong(f"is {shown(value)}, not text", key)
        return value or None

    def texts(self, key: str, each: str = "a name") -> list[str]:
        """The texts in the list at a key; ``each`` is what one should be, for the message."""
        found = self.members(key)
        for position, text in enumerate(found):
            if not isinstance(text, str) or not text.strip():
                raise self.wrong(f"is {shown(text)}, not {each}", key, position)
        return found

    def number(self, key: str) -> int | None:
        """The whole number from 0 at a key, ``None`` where there is none."""
        value = self.value.get(key)
        if value is not None and (type(value) is not int or not 0 <= value < 10**6):
            raise self.wrong(f"is {shown(value)}, not a whole number from 0", key)
        return value


def place_in_words(document: Json, path: Path, nouns: Mapping[str | int, str]) -> str:
    """Where a path leads, in words: ``innings 2, over 14, delivery 3: runs.batter ``.

    Args:
        nouns: what a member of each list is called; a member that has its noun
            as a whole-number key is known by that number, not by its position.
    """
    words: list[str] = []
    node: Any = document
    rest = list(path)
    while len(rest) > 1 and rest[0] in nouns:
        noun, position = nouns[rest[0]], int(rest[1])
        node = node[rest[0]][position]
        number = node.get(noun) if isinstance(node, dict) else None
        words.append(f"{noun} {number if type(number) is int else position + 1}")
        rest = rest[2:]
    place, field = ", ".join(words), ".".join(map(str, rest))
    return f"{place}{': ' if place else ''}{field}{' ' if field else ''}"


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """The line, from 1, where the value at ``path`` begins.

    Args:
        text: a JSON text that has been parsed without error.
        path: keys and positions from the root, such as ``("innings", 0, "overs")``.
            Where the path ends early, the last value found is meant.
    """
    position = _next(text, 0)
    for step in path:
        found = _member(text, position, step)
        if found is None:
            break
        position = found
    return text.count("\n", 0, position) + 1


def keys_in(values: list[Any]) -> int:
    """How many keys the objects in these values have, at any depth."""
    count, waiting = 0, values
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            count += len(value)
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return count


def doubled_key(text: str) -> tuple[str, int] | None:
    """A key that an object has twice, and the line of the second; the first such in the text.

    Args:
        text: a JSON text that has been parsed without error.
    """
    objects: list[set[str]] = []
    for token in _KEY_OR_BRACE.finditer(text):
        if token[0] == "{":
            objects.append(set())
        elif token[0] == "}":
            objects.pop()
        elif token[2] is not None:
            key = json.loads(token[1])
            if key in objects[-1]:
                return key, text.count("\n", 0, token.start()) + 1
            objects[-1].add(key)
    return None


def _next(text: str, position: int) -> int:
    """Where the next key, value or closing bracket stands from a position on."""
    match = _BETWEEN.match(text, position)
    return position if match is None else match.end()


def _member(text: str, position: int, step: str | int) -> int | None:
    """Where the value begins to which a step leads from the value at a position."""
    opening = text[position]
    if opening not in "{[" or (opening == "{") != isinstance(step, str):
        return None
    found, index = None, 0
    position = _next(text, position + 1)
    while text[position] not in "}]":
        key: str | int = index
        if opening == "{":
            key, end = _DECODER.raw_decode(text, position)
            position = _next(text, end)
        index += 1
        # Of a key given twice, the last one counts, as it does to the parser.
        if key == step:
            found = position
        position = _next(text, _DECODER.raw_decode(text, position)[1])
    return found
