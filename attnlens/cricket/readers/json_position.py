"""The line on which a value stands in a JSON text, found only when it is wrong.

Parsing with positions costs several times plain parsing, so matches are parsed
plainly, and the text is walked a second time only for the error message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder(parse_float=str)


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
