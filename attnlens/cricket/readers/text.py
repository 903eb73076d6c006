"""Text of match files: decoding, fields, dates as spreadsheets write them, and values that
are shown inside messages."""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Callable, Iterable

from attnlens.cricket.errors import MatchFileError

EXTRA_KINDS = ("wides", "noballs", "byes", "legbyes", "penalty")

LAST_OVER = 999
"""The highest over label accepted; the longest innings on record ended in its 336th over."""

LONGEST_BALL = 3
"""Digits of a ball's number in its over: more are a decimal fraction, or damage."""

MOST_RUNS = 99
"""The most runs accepted on one delivery, by the bat or in extras."""

WrongHere = Callable[[str], MatchFileError]
"""Makes the error that names the line being read."""

_LONGEST_SHOWN = 40
_BINARY_KINDS = (
    (b"PK\x03\x04", "a zip or a spreadsheet"),
    (b"PAR1", "a Parquet table"),
    (b"%PDF", "a PDF"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)
_NUMBERS = re.compile(r"([0-9]{1,4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,4})")
_OVERS_AND_BALLS = re.compile(r"([0-9]{1,4})(?:\.([0-9]{1,2}))?")
_MONTH_NAMED = re.compile(r"([A-Za-z]{3,9})\.? ?([0-9]{1,2}), ?([0-9]{4})")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FIRST_YEAR = 1700
_CENTURY_TURN = 70


def decoded(data: bytes, display: str) -> str:
    """The text of a file in UTF-8, with or without a byte order mark.

    Raises:
        MatchFileError: the file is empty or not UTF-8, with the line.
    """
    if not data.strip():
        raise MatchFileError("the file is empty", path=display)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        kind = binary_kind(data)
        if kind is not None:
            raise MatchFileError(f"looks like {kind}, not a match file", path=display) from None
        raise MatchFileError(
            f"not UTF-8 text (byte 0x{data[error.start]:02x})",
            path=display,
            line=data.count(b"\n", 0, error.start) + 1,
            remedy="save it as UTF-8",
        ) from None


def binary_kind(data: bytes) -> str | None:
    """What a file that is not text seems to be, in words."""
    for magic, kind in _BINARY_KINDS:
        if data.startswith(magic):
            return kind
    return "a binary file" if b"\0" in data[:4096] else None


def shown(value: object) -> str:
    """A foreign value inside a message: short, printable, on one line."""
    if value is None:
        return "missing"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**12 else "a huge number"
    text = str(value)
    return repr(text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…")


def lines(text: str) -> io.StringIO:
    """The lines of a text with their ends, split at line feeds only.

    ``str.splitlines`` would also split at characters that may stand in a name.
    """
    return io.StringIO(text, newline="\n")


def looks_like(data: bytes, display: str) -> str:
    """What a file that is no match seems to be, in words.

    Raises:
        MatchFileError: it is empty or not text.
    """
    kind = binary_kind(data)
    if kind is not None:
        return f"looks like {kind}"
    first = decoded(data, display).lstrip().partition("\n")[0].strip()
    if first.startswith("version,"):
        return "looks like the _info.csv that stands beside a match"
    return f"looks like text that begins with {shown(first)}"


def runs_in(text: str, column: str, wrong: WrongHere) -> int:
    """A number of runs; a blank is a zero.

    Raises:
        MatchFileError: it is no number, or more than a ball can bring.
    """
    digits = text.strip()
    if not digits:
        return 0
    runs = whole(digits)
    if runs is None:
        raise wrong(f"{column} is {shown(text)}, not a number of runs")
    if runs > MOST_RUNS:
        raise wrong(f"{column} is {runs}, more than a ball can bring")
    return runs


def whole(digits: str, longest: int = 4) -> int | None:
    """The whole number from 0 that these digits write, ``None`` where it is none or too long."""
    fits = digits.isascii() and digits.isdigit() and len(digits) <= longest
    return int(digits) if fits else None


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


def number_in(text: str, column: str, least: int, most: int, wrong: WrongHere) -> int:
    """A whole number between two others.

    Raises:
        MatchFileError: it is none, or not between them.
    """
    number = whole(text.strip())
    if number is None or not least <= number <= most:
        raise wrong(f"{column} is {shown(text)}, not a number from {least} to {most}")
    return number


def balls_in(overs: str, balls_per_over: int) -> int | None:
    """Balls for overs and balls: 8.1 is 49 balls, not 48.6; ``None`` where it is no such number."""
    match = _OVERS_AND_BALLS.fullmatch(overs)
    return None if match is None else int(match[1]) * balls_per_over + int(match[2] or 0)


def date_from(text: str, *, day_first: bool = True) -> datetime.date | None:
    """The date of ``2023-10-05``, ``05-10-2023``, ``07/04/18`` or ``Mar 22, 2025``.

    Args:
        day_first: whether the day comes before the month where the year is last.

    Returns:
        ``None`` where it is no date.
    """
    numbers = _NUMBERS.fullmatch(text.strip())
    named = _MONTH_NAMED.fullmatch(text.strip())
    try:
        if named is not None:
            month = _MONTHS.index(named[1][:3].lower()) + 1
            return datetime.date(int(named[3]), month, int(named[2]))
        if numbers is None:
            return None
        if len(numbers[1]) > 2:
            return datetime.date(int(numbers[1]), int(numbers[2]), int(numbers[3]))
        year = int(numbers[3])
        if len(numbers[3]) == 2:
            year += 2000 if year < _CENTURY_TURN else 1900
        first, second = int(numbers[1]), int(numbers[2])
        day, month = (first, second) if day_first else (second, first)
        date = datetime.date(year, month, day)
    except ValueError:
        return None
    return date if date.year >= _FIRST_YEAR else None


def is_rewritten(text: str) -> bool:
    """Whether a date has its year last, as spreadsheets write it and Cricsheet does not."""
    match = _NUMBERS.fullmatch(text.strip())
    return match is not None and len(match[1]) <= 2


def day_comes_first(texts: Iterable[str]) -> bool | None:
    """Whether the day comes before the month in these dates; ``None`` where all could be both."""
    for match in filter(None, (_NUMBERS.fullmatch(text.strip()) for text in texts)):
        if len(match[1]) <= 2 and max(int(match[1]), int(match[2])) > 12:
            return int(match[1]) > 12
    return None
