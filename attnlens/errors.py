"""Everything attnlens raises on purpose, and the words that its messages count and list with.

A domain adds its own errors under `InputError`, in a file of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from os import PathLike

_MAX_CHOICES = 12
"""Names that a message lists."""


class AttnlensError(Exception):
    """The root of every error raised by attnlens on purpose; its text is one line."""

    def __init__(self, text: str) -> None:
        super().__init__(" ".join(text.split()))


class InputError(AttnlensError):
    """Bad input: what is wrong, where, and what to do about it.

    Its text is one line, ``FILE:LINE: what is wrong; what to do``, with the
    parts that are not known left out.
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
        """Its text with the file's name alone: who reads it may be on another machine."""
        folder = os.path.dirname(self.path or "")
        return str(self).replace(f"{folder}{os.sep}", "") if folder else str(self)


class CheckpointError(InputError):
    """Model weights that are missing, damaged or of another kind."""


class EndpointError(InputError):
    """A service that cannot be asked, refuses, or answers what is no answer.

    ``status`` is that of HTTP where it refuses.
    """

    status: int | None = None


class RecordingError(AttnlensError):
    """A recording that cannot be made or used as asked."""


class UnknownNameError(RecordingError, KeyError):
    """A name that is not there; its text has those that are."""

    __str__ = Exception.__str__  # a KeyError shows the text in quotes


class NothingRecordedError(RecordingError):
    """The model ran (or did not) and no attention was seen."""


class IncompleteRecordingError(RecordingError):
    """Attention ran that was not seen, or fewer or more records came than were expected."""


class InterventionError(AttnlensError):
    """An intervention that cannot be made as asked, or that touched nothing."""


def count(number: int, singular: str, plural: str | None = None) -> str:
    """``1 site``, ``1,200 sites``; ``plural`` where the plural is not ``singular`` and an s."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def choices(name: object, available: Iterable[str]) -> str:
    """The available names, those similar to ``name`` first: ``'head', 'key' and 4 more``."""
    from difflib import get_close_matches

    names = list(dict.fromkeys(available))
    similar = get_close_matches(str(name), names)
    ordered = [*similar, *(name for name in names if name not in similar)]
    more = f" and {len(ordered) - _MAX_CHOICES} more" if len(ordered) > _MAX_CHOICES else ""
    return ", ".join(map(repr, ordered[:_MAX_CHOICES])) + more
