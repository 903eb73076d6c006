"""The errors of the cricket package. All of them are subclasses of `attnlens.errors.InputError`.

::

    InputError
    ├── MatchFileError            a file is not a match that attnlens can read
    │   └── ImpossibleMatchError  a readable match cannot have been played
    └── BallNotFoundError         the match does not have this ball, innings or label
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.match.match import Doubt


class MatchFileError(InputError):
    """A file is not a match that attnlens can read."""


class ImpossibleMatchError(MatchFileError):
    """The match cannot have been played as the file describes it.

    ``doubt`` says what is impossible, and where.
    """

    def __init__(
        self, doubt: Doubt, *, path: str | PathLike[str] | None = None, line: int | None = None
    ) -> None:
        remedy = "correct the file, or fetch it again"
        super().__init__(
            f"{doubt}, which cannot happen in a match", path=path, line=line, remedy=remedy
        )
        self.doubt = doubt

    def at(self, line: int | None) -> ImpossibleMatchError:
        """Return the same error with a line number."""
        return ImpossibleMatchError(self.doubt, path=self.path, line=line)


class BallNotFoundError(InputError):
    """The match does not have this ball, innings or label."""
