"""Read an uploaded match in a separate process, which sends the match back as JSON."""

from __future__ import annotations

import datetime
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from attnlens.child import Bounds, Report, in_child
from attnlens.cricket.match.match import (
    Delivery,
    Doubt,
    Facts,
    Innings,
    Match,
    Player,
    Powerplay,
    StatedField,
    Wicket,
)
from attnlens.files import size_of

_CLASSES: Final = {
    kind.__name__: kind
    for kind in (Delivery, Doubt, Innings, Match, Player, Powerplay, StatedField, Wicket)
}
_BOUNDS: Final = Bounds(
    memory=256 << 20,
    cpu_seconds=30,
    silent_seconds=60,
    remedy="upload the file of one match",
    answer=4 << 20,
)
_MEMORY_PER_BYTE: Final = 10
"""The bytes of memory allowed for each byte of the file. No reader needs more memory."""


def read_uploaded(path: str) -> Match:
    """Read a match with `attnlens.cricket.readers.read_match` in a separate process, and return it.

    Raises:
        MatchFileError: `read_match` raised this error.
        InputError: reading exceeds a limit: 30 seconds of processor time, 256 MB plus ten times the
            file's size in memory, or 4 MB for the match as JSON (a T20 match has 0.1 MB).
    """
    bounds = replace(_BOUNDS, memory=_BOUNDS.memory + _MEMORY_PER_BYTE * size_of(path))
    match = of_plain(in_child(f"{__name__}:plain_match", {"path": path}, bounds, path=path))
    assert isinstance(match, Match)
    return match


def plain_match(path: str, report: Report) -> Any:
    """Read a match as JSON values. This function runs in the child process."""
    from attnlens.cricket.readers import read_match

    del report
    return to_plain(read_match(path))


def to_plain(value: Any) -> Any:
    """Convert a match, or any value inside a match, to JSON values.

    A tuple becomes a list. Other containers and dates become an object with the class name as key.
    """
    kind = type(value).__name__
    if _CLASSES.get(kind) is type(value):
        names = [f.name for f in fields(value)] if is_dataclass(value) else value._fields
        return {kind: [to_plain(getattr(value, name)) for name in names]}
    if isinstance(value, Facts | dict):
        return {kind: [[key, to_plain(value[key])] for key in value]}
    if isinstance(value, tuple | list):
        parts = list(map(to_plain, value))
        return parts if isinstance(value, tuple) else {kind: parts}
    return {kind: value.isoformat()} if isinstance(value, datetime.date) else value


def of_plain(data: Any) -> Any:
    """Rebuild the value that `to_plain` converted."""
    if isinstance(data, list):
        return tuple(map(of_plain, data))
    if not isinstance(data, dict):
        return data
    ((kind, content),) = data.items()
    if kind == "list":
        return list(map(of_plain, content))
    if kind == "date":
        return datetime.date.fromisoformat(content)
    if kind in ("Facts", "dict"):
        items = {key: of_plain(value) for key, value in content}
        return Facts(items) if kind == "Facts" else items
    return _CLASSES[kind](*map(of_plain, content))
