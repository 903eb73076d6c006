"""What cricket adds to `attnlens.errors`, both of them an `InputError`.

::

    InputError
    ├── MatchFileError     a match file: what is wrong and on which line
    └── BallNotFoundError  a ball, innings or label the match does not have
"""

from __future__ import annotations

from attnlens.errors import InputError


class MatchFileError(InputError):
    """A file that is not a match attnlens can read."""


class BallNotFoundError(InputError):
    """A ball, an innings or a label that the match does not have."""
