"""The errors that attnlens raises on purpose, and functions that format counts and lists."""

from __future__ import annotations

import os
from collections.abc import Iterable
from os import PathLike

_MAX_CHOICES = 12
"""The largest number of names that a message lists."""


class AttnlensError(Exception):
    """The base class of all errors that attnlens raises on purpose. The text is one line."""

    def __init__(self, text: str) -> None:
        super().__init__(" ".join(text.split()))


class InputError(AttnlensError):
    """An input is invalid.

    The text is ``FILE:LINE: what is wrong; what to do``, without the parts that are unknown.
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
        """Return the error text with only the name of the file, without its folder."""
        folder = os.path.dirname(self.path or "")
        return str(self).replace(f"{folder}{os.sep}", "") if folder else str(self)


class CheckpointError(InputError):
    """Model weights are missing, damaged or of the wrong type."""


class EndpointError(InputError):
    """A service cannot be reached, refuses a request, or returns an invalid answer.

    If the service refused the request, ``status`` is the HTTP status.
    """

    status: int | None = None


class RecordingError(AttnlensError):
    """A recording cannot be made or used as requested."""


class UnknownNameError(RecordingError, KeyError):
    """A name does not exist. The error text lists the existing names."""

    __str__ = Exception.__str__  # a KeyError would show the text in quotes


class NothingRecordedError(RecordingError):
    """No attention was recorded. The model may or may not have run."""


class IncompleteRecordingError(RecordingError):
    """Some attention was not recorded, or the number of records is unexpected."""


class InterventionError(AttnlensError):
    """An intervention cannot be made as requested, or has no effect."""


def count(number: int, singular: str, plural: str | None = None) -> str:
    """Format a number and its noun, such as ``1,200 sites``. Irregular nouns need ``plural``."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def choices(name: object, available: Iterable[str]) -> str:
    """Format the available names as a list for a message. Names similar to ``name`` come first."""
    from difflib import get_close_matches

    names = list(dict.fromkeys(available))
    similar = get_close_matches(str(name), names)
    ordered = [*similar, *(name for name in names if name not in similar)]
    more = f" and {len(ordered) - _MAX_CHOICES} more" if len(ordered) > _MAX_CHOICES else ""
    return ", ".join(map(repr, ordered[:_MAX_CHOICES])) + more
