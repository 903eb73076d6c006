"""The errors of the cricket package. Each error is a subclass of `attnlens.errors.InputError`.

::

    InputError
    ├── MatchFileError            the file contains no match that attnlens can read
    │   └── ImpossibleMatchError  the match was read, but cannot have been played
    └── BallNotFoundError         the match does not have this ball, innings or label
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.match.match import Doubt


class MatchFileError(InputError):
    """The file does not contain a match that attnlens can read."""


class ImpossibleMatchError(MatchFileError):
    """The match cannot have been played as described. ``doubt`` describes the impossible event."""

    def __init__(
        self, doubt: Doubt, *, path: str | PathLike[str] | None = None, line: int | None = None
    ) -> None:
        remedy = "correct the file, or fetch it again"
        super().__init__(
            f"{doubt}, which cannot happen in a match", path=path, line=line, remedy=remedy
        )
        self.doubt = doubt

    def at(self, line: int | None) -> ImpossibleMatchError:
        """Return a copy of this error that also contains a line number."""
        return ImpossibleMatchError(self.doubt, path=self.path, line=line)


class BallNotFoundError(InputError):
    """The match does not have this ball, innings or label."""
