"""What cricket adds to `attnlens.errors`, each an `InputError`.

::

    InputError
    ├── MatchFileError     a match file: what is wrong and on which line
    │   └── ImpossibleMatchError  a readable match that nobody can have played
    └── BallNotFoundError  a ball, innings or label the match does not have
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from attnlens.errors import InputError

if TYPE_CHECKING:
    from attnlens.cricket.match.match import Doubt


class MatchFileError(InputError):
    """A file that is not a match attnlens can read."""


class ImpossibleMatchError(MatchFileError):
    """A match that cannot have been played as the file has it; ``doubt`` says why and where."""

    def __init__(
        self, doubt: Doubt, *, path: str | PathLike[str] | None = None, line: int | None = None
    ) -> None:
        remedy = "correct the file, or get it again"
        super().__init__(f"{doubt}, which cannot be", path=path, line=line, remedy=remedy)
        self.doubt = doubt

    def at(self, line: int | None) -> ImpossibleMatchError:
        """The same with its line."""
        return ImpossibleMatchError(self.doubt, path=self.path, line=line)


class BallNotFoundError(InputError):
    """A ball, an innings or a label that the match does not have."""
