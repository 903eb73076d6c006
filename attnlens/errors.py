"""All errors that attnlens raises on purpose, and helpers to count and list things in messages.

A domain defines its own subclasses of `InputError` in a separate file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from os import PathLike

_MAX_CHOICES = 12
"""The largest number of names listed in a message."""


class AttnlensError(Exception):
    """The base class of all errors that attnlens raises on purpose; the text is one line."""

    def __init__(self, text: str) -> None:
        super().__init__(" ".join(text.split()))


class InputError(AttnlensError):
    """Bad input: what is wrong, where, and what to do about it.

    Its text is one line, ``FILE:LINE: what is wrong; what to do``, without the parts that are
    unknown.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str | PathLike[str] | None = None,
        line: int | None = None,
        remedy: str | None = None,
    ) -> None:
        self.problem = problem
        self.path = None if path is None else str(path)
        self.line = line
        self.remedy = remedy
        location = "" if path is None else f"{path}:" if line is None else f"{path}:{line}:"
        text = f"{location} {problem}" if location else problem
        if remedy:
            text = f"{text}; {remedy}"
        super().__init__(text)

    def without_folder(self) -> str:
        """Return the text without the file's folder, because readers may be on another machine."""
        folder = os.path.dirname(self.path or "")
        return str(self).replace(f"{folder}{os.sep}", "") if folder else str(self)


class CheckpointError(InputError):
    """Model weights are missing, damaged or of the wrong type."""


class EndpointError(InputError):
    """A service cannot be reached, refuses a request, or returns an invalid answer.

    ``status`` is the HTTP status of a refusal.
    """

    status: int | None = None


class RecordingError(AttnlensError):
    """A recording cannot be made or used as requested."""


class UnknownNameError(RecordingError, KeyError):
    """A name does not exist; the text lists the existing names."""

    __str__ = Exception.__str__  # a KeyError would show the text in quotes


class NothingRecordedError(RecordingError):
    """No attention was seen, whether or not the model ran."""


class IncompleteRecordingError(RecordingError):
    """Attention ran that was not seen, or the number of records differs from the expected one."""


class InterventionError(AttnlensError):
    """An intervention cannot be made as requested, or changed nothing."""


def count(number: int, singular: str, plural: str | None = None) -> str:
    """``1 site``, ``1,200 sites``; give ``plural`` if it is not ``singular`` plus an s."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def choices(name: object, available: Iterable[str]) -> str:
    """The available names, those similar to ``name`` first: ``'head', 'key' and 4 more``."""
    from difflib import get_close_matches

    names = list(dict.fromkeys(available))
    similar = get_close_matches(str(name), names)
    ordered = [*similar, *(name for name in names if name not in similar)]
    more = f" and {len(ordered) - _MAX_CHOICES} more" if len(ordered) > _MAX_CHOICES else ""
    return ", ".join(map(repr, ordered[:_MAX_CHOICES])) + more
