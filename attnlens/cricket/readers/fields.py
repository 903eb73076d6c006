"""Fields of a table that are the same in every format: runs, overs and innings as text."""

from __future__ import annotations

from collections.abc import Callable

from attnlens.cricket.readers.deliveries import LAST_OVER, LONGEST_BALL, MOST_RUNS
from attnlens.cricket.readers.text import shown
from attnlens.errors import MatchFileError

WrongHere = Callable[[str], MatchFileError]
"""Makes the error that names the line being read."""


def runs_in(text: str, column: str, wrong: WrongHere) -> int:
    """A number of runs; a blank is a zero.

    Raises:
        MatchFileError: it is no number, or more than a ball can bring.
    """
    digits = text.strip()
    if not digits:
        return 0
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 4:
        raise wrong(f"{column} is {shown(text)}, not a number of runs")
    runs = int(digits)
    if runs > MOST_RUNS:
        raise wrong(f"{column} is {runs}, more than a ball can bring")
    return runs


def over_of(label: str, column: str, wrong: WrongHere) -> int:
    """The over of a label such as ``7.4``.

    Raises:
        MatchFileError: it is no label.
    """
    over, dot, ball = label.partition(".")
    if dot and over.isdigit() and ball.isdigit() and label.isascii() and len(ball) <= LONGEST_BALL:
        number = int(over[:5])
        if number <= LAST_OVER:
            return number
    raise wrong(f"{column} is {shown(label)}, not over and ball such as 7.4")


def innings_number(text: str, most: int, wrong: WrongHere, column: str = "innings") -> int:
    """The number of an innings, from 1.

    Raises:
        MatchFileError: it is no such number.
    """
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
    if not 1 <= number <= most:
        raise wrong(f"{column} is {shown(text)}, not a number from 1 to {most}")
    return number


def whole_number(text: str, column: str, most: int, wrong: WrongHere) -> int:
    """A whole number from 0.

    Raises:
        MatchFileError: it is none, or more than ``most``.
    """
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) < 7) or int(digits) > most:
        raise wrong(f"{column} is {shown(text)}, not a whole number up to {most}")
    return int(digits)
