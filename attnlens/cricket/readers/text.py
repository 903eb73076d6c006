"""Decode the text of match files, and check JSON values, CSV fields and dates.

Matches are parsed with `json`, which is faster than a parser that records line numbers. If a value
is wrong, the match is parsed again to find the line.
"""

from __future__ import annotations

import datetime
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from json.decoder import JSONArray, JSONObject  # type: ignore[attr-defined]  # not in typeshed
from json.scanner import py_make_scanner  # type: ignore[attr-defined]  # not in typeshed
from typing import Any

from attnlens.cricket.errors import MatchFileError
from attnlens.files import Json

EXTRA_KINDS = ("wides", "noballs", "byes", "legbyes", "penalty")

MAX_OVER = 999
"""The largest accepted number of an over. The longest known innings ended in the 336th over."""

MAX_RUNS_A_BALL = 99
"""A delivery with more runs off the bat, or with more extras, is refused."""

WrongHere = Callable[[str], MatchFileError]
"""A function that creates an error with the number of the current line."""

_MAX_QUOTED_CHARACTERS = 40
_QUOTED_TYPES = {type(None): "missing", dict: "an object", list: "a list"}
_BINARY_KINDS = (
    (b"PK\x03\x04", "a zip or a spreadsheet"),
    (b"PAR1", "a Parquet table"),
    (b"%PDF", "a PDF"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)
_NUMBERS = re.compile(r"([0-9]{1,4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,4})")
_LABEL = re.compile(r"([0-9]{1,5})\.[0-9]{1,3}")  # a label with more digits is damaged
_OVERS_AND_BALLS = re.compile(r"([0-9]{1,4})(?:\.([0-9]{1,2}))?")
_MONTH_NAMED = re.compile(r"([A-Za-z]{3,9})\.? ?([0-9]{1,2}), ?([0-9]{4})")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FIRST_YEAR = 1700
_CENTURY_TURN = 70


def decode_text(data: bytes, display: str) -> str:
    """Decode a file as UTF-8, with or without a byte order mark."""
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
    for magic, kind in _BINARY_KINDS:
        if data.startswith(magic):
            return kind
    return "a binary file" if b"\0" in data[:4096] else None


def quoted(value: object) -> str:
    """Format a value as a short printable text for a message."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**12 else "a huge number"
    if isinstance(value, str):
        is_long = len(value) > _MAX_QUOTED_CHARACTERS
        return repr(value[: _MAX_QUOTED_CHARACTERS - 1] + "…" if is_long else value)
    return _QUOTED_TYPES.get(type(value)) or str(value).lower()


def lines(text: str) -> io.StringIO:
    """Split a text at line feeds only, unlike ``str.splitlines``. Keep the line ends."""
    return io.StringIO(text, newline="\n")


def looks_like(data: bytes, display: str) -> str:
    """Describe what a file seems to contain instead of a match."""
    kind = binary_kind(data)
    if kind is not None:
        return f"looks like {kind}"
    first = decode_text(data, display).lstrip().partition("\n")[0].strip()
    if first.startswith("version,"):
        return "looks like the _info.csv file that belongs to a match"
    return f"looks like text that begins with {quoted(first)}"


def runs_in(text: str, column: str, wrong: WrongHere) -> int:
    digits = text.strip()
    if not digits:
        return 0
    runs = whole_number(digits)
    if runs is None:
        raise wrong(f"{column} is {quoted(text)}, not a number of runs")
    if runs > MAX_RUNS_A_BALL:
        raise wrong(f"{column} is {runs}, more than is possible on one ball")
    return runs


def whole_number(digits: str, longest: int = 4) -> int | None:
    """Convert digits to a number; ``None`` if the text has other characters or is too long."""
    fits = digits.isascii() and digits.isdigit() and len(digits) <= longest
    return int(digits) if fits else None


def over_of(label: str, column: str, wrong: WrongHere) -> int:
    match = _LABEL.fullmatch(label)
    if match is not None and int(match[1]) <= MAX_OVER:
        return int(match[1])
    raise wrong(f"{column} is {quoted(label)}, not an over and a ball such as 7.4")


def number_in(text: str, column: str, minimum: int, maximum: int, wrong: WrongHere) -> int:
    number = whole_number(text.strip())
    if number is None or not minimum <= number <= maximum:
        raise wrong(f"{column} is {quoted(text)}, not a number from {minimum} to {maximum}")
    return number


def balls_in(overs: str, balls_per_over: int) -> int | None:
    """Convert overs such as 8.1 to a number of balls; ``None`` if the text is invalid."""
    match = _OVERS_AND_BALLS.fullmatch(overs)
    return None if match is None else int(match[1]) * balls_per_over + int(match[2] or 0)


def date_from(text: str, *, day_first: bool = True) -> datetime.date | None:
    """Parse a date such as ``2023-10-05``, ``05-10-2023``, ``07/04/18`` or ``Mar 22, 2025``.

    Return ``None`` if the text is not a date, or if the year is before 1700.

    Args:
        day_first: whether the day comes before the month in dates that end with the year.
    """
    numbers = _NUMBERS.fullmatch(text.strip())
    month_match = _MONTH_NAMED.fullmatch(text.strip())
    try:
        if month_match is not None:
            month = _MONTHS.index(month_match[1][:3].lower()) + 1
            year, day = int(month_match[3]), int(month_match[2])
        elif numbers is None:
            return None
        elif len(numbers[1]) > 2:
            year, month, day = map(int, numbers.groups())
        else:
            day, month, year = map(int, numbers.groups())
            day, month = (day, month) if day_first else (month, day)
            if len(numbers[3]) == 2:
                year += 2000 if year < _CENTURY_TURN else 1900
        date = datetime.date(year, month, day)
    except ValueError:
        return None
    return date if date.year >= _FIRST_YEAR else None


def is_rewritten(text: str) -> bool:
    """Return whether a date ends with the year, which shows that a spreadsheet rewrote the date."""
    match = _NUMBERS.fullmatch(text.strip())
    return match is not None and len(match[1]) <= 2


def day_comes_first(texts: Iterable[str]) -> bool | None:
    """Return whether the day comes before the month; ``None`` if every date is ambiguous."""
    for match in filter(None, (_NUMBERS.fullmatch(text.strip()) for text in texts)):
        if len(match[1]) <= 2 and max(int(match[1]), int(match[2])) > 12:
            return int(match[1]) > 12
    return None


JsonPath = tuple[str | int, ...]
"""The keys and positions that lead from the root of a document to a value."""


class JsonValueError(Exception):
    """An error about the value at a path of the document."""

    def __init__(self, problem: str, path: JsonPath) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path


@dataclass(frozen=True, slots=True)
class JsonObject:
    """A JSON object and its path in the document, with methods that check the types of values."""

    value: Json
    path: JsonPath = ()

    def wrong(self, problem: str, *steps: str | int) -> JsonValueError:
        """Create an error about the value at the object's path followed by ``steps``."""
        return JsonValueError(problem, (*self.path, *steps))

    def _typed(self, key: str, kind: type, noun: str) -> Any:
        value = self.value.get(key, kind())
        if not isinstance(value, kind):
            raise self.wrong(f"is {quoted(value)}, not {noun}", key)
        return value

    def inner(self, key: str) -> JsonObject:
        """Return the object at a key, or an empty object if the key is missing."""
        return JsonObject(self._typed(key, dict, "an object"), (*self.path, key))

    def members(self, key: str) -> list[Any]:
        """Return the list at a key, or an empty list if the key is missing."""
        members: list[Any] = self._typed(key, list, "a list")
        return members

    def objects(self, key: str) -> list[JsonObject]:
        """Return the objects in the list at a key."""
        path, members = (*self.path, key), self.members(key)
        objects = [JsonObject(value, (*path, position)) for position, value in enumerate(members)]
        for member in objects:
            if not isinstance(member.value, dict):
                raise member.wrong(f"is {quoted(member.value)}, not an object")
        return objects

    def text(self, key: str) -> str | None:
        """Return the text at a key, or ``None`` if the text is missing, null or empty."""
        return None if self.value.get(key) is None else self._typed(key, str, "text") or None

    def texts(self, key: str, each: str = "a name") -> list[str]:
        """Return the texts in the list at a key. ``each`` describes a valid text in messages."""
        members = self.members(key)
        for position, text in enumerate(members):
            if not isinstance(text, str) or not text.strip():
                raise self.wrong(f"is {quoted(text)}, not {each}", key, position)
        return members

    def number(self, key: str) -> int | None:
        """Return the non-negative whole number at a key, or ``None`` if the key is missing."""
        value = self.value.get(key)
        if value is not None and (type(value) is not int or not 0 <= value < 10**6):
            raise self.wrong(f"is {quoted(value)}, not a whole number from 0", key)
        return value


_PART_NOUNS = {"innings": "innings", "overs": "over", "deliveries": "delivery"}


def place_in_words(document: Json, path: JsonPath) -> str:
    """Describe a path of a match, such as ``innings 2, over 14, delivery 3: runs.batter``.

    An over keeps its number in the file. The name of a field is followed by a space.
    """
    words: list[str] = []
    node: Any = document
    rest = list(path)
    while len(rest) > 1 and rest[0] in _PART_NOUNS:
        noun, position = _PART_NOUNS[str(rest[0])], int(rest[1])
        node = node[rest[0]][position]
        number = node.get(noun) if isinstance(node, dict) else None
        words.append(f"{noun} {number if type(number) is int else position + 1}")
        rest = rest[2:]
    location, field = ", ".join(words), ".".join(map(str, rest))
    return f"{location}{': ' if location else ''}{field}{' ' if field else ''}"


class DoubledKey(Exception):
    """A JSON object has the same key twice. ``line`` is the line of the second occurrence."""

    def __init__(self, key: str, line: int | None = None) -> None:
        self.key = key
        self.line = line


def unique_keys(pairs: list[tuple[str, Any]]) -> Json:
    """Build a dictionary from pairs, as an ``object_pairs_hook`` of ``json.loads``.

    Raises:
        DoubledKey: a key occurs twice. The error has no line.
    """
    value = dict(pairs)
    if len(value) != len(pairs):
        raise DoubledKey(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return value


class _LocatingDecoder(json.JSONDecoder):
    """A decoder that decodes each value to a pair: the value's start position and its content."""

    def __init__(self, text: str) -> None:
        super().__init__(parse_float=str, object_pairs_hook=self._unique)
        self._text = text
        self.parse_array = lambda start, _: JSONArray(start, self._scan)
        self.parse_object = lambda start, strict, _, *rest: JSONObject(
            start, strict, self._scan, *rest
        )
        self.scan_once = py_make_scanner(self)

    def _scan(self, text: str, index: int) -> tuple[tuple[int, Any], int]:
        value, end = self.scan_once(text, index)
        return (index, value), end

    def _unique(self, pairs: list[tuple[str, tuple[int, Any]]]) -> Json:
        value: Json = {}
        for key, (index, member) in pairs:
            if key in value:
                raise DoubledKey(key, self.line(index))
            value[key] = index, member
        return value

    def line(self, index: int) -> int:
        return self._text.count("\n", 0, index) + 1


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """Return the line (from 1) on which a value begins; ``None`` if the nesting is too deep.

    Args:
        text: a valid JSON text, in which an object may have a key twice.
        path: such as ``("innings", 0, "overs")``. The last existing value on the path is used.

    Raises:
        DoubledKey: an object has a key twice; the error states the line.
    """
    decoder = _LocatingDecoder(text)
    try:
        index, value = decoder._scan(text, len(text) - len(text.lstrip()))[0]
    except RecursionError:
        return None
    with suppress(LookupError, TypeError):
        for step in path:
            index, value = value[step]
    return decoder.line(index)
