"""Facts: the numbers and labels of any JSON or CSV, each with the words that say what it is.

A number is named by its *field* (the words of its key or column) and its *row* (the labels that
stand beside it and above it, and the keys on the way to it). ``{"outcome": "6", "probability": 0.1}``
under ``prediction`` has the field *probability* and the row *prediction, outcome, 6*.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from attnlens.errors import InputError
from attnlens.show.safe import visible

MOST_VALUES: Final = 300_000
LONGEST_LABEL: Final = 60
"""Signs; a longer text names nothing, unless it is a claim that has a verdict."""

WORD: Final = re.compile(r"[^\W\d_]+\d*[^\W\d_]*|\d+(?:\.\d+)*")
HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
ENDINGS: Final = re.compile(r"(?<=\w{3})(?:ies|ing|ed|es|ly|[sey])$|(?<=\w{4})ers?$")
FIGURE: Final = re.compile(r"[£$€]?([-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?) ?(%?)")
IN_PERCENT, IN_POINTS = frozenset({"percent", "percentag", "pct"}), frozenset({"point", "pp"})
NO_SHARES = frozenset({"nat", "bit", "p", "q", "ratio", "effect"})
"""Words of fields whose fractions are no shares."""

FRACTION, PERCENT, POINTS, PLAIN = range(4)
"""Kinds of numbers: of 0 to 1, of 0 to 100, a difference of those, any other."""


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A word as it is compared: small letters without accents and without a common ending."""
    bare = unicodedata.normalize("NFKD", word.casefold())
    return ENDINGS.sub("", "".join(sign for sign in bare if not unicodedata.combining(sign)))


def naming(text: str) -> frozenset[str]:
    """The words of a key or a label, and the whole of it, marked as such."""
    return stems(text) | {whole(text)}


def whole(label: str) -> str:
    """A label as a word that no other label has."""
    return f"={label}"


@lru_cache(maxsize=1 << 16)
def stems(text: str) -> frozenset[str]:
    """The words of a key or a label, compared as `stem` has it."""
    parted = HUMP.sub(" ", visible(text)).replace("_", " ")
    return frozenset(stem(part) for part in WORD.findall(parted))


@dataclass(frozen=True, slots=True)
class Fact:
    """A number: its value and kind, where it stands, the words of its row and of its field.

    One that is not ``firm`` (a count of rows, a number in a label) bears a text out, but
    contradicts none.
    """

    value: float
    kind: int
    pointer: str
    row: frozenset[str]
    field: frozenset[str]
    firm: bool = True


@dataclass(frozen=True, slots=True)
class Place:
    """An object of the data: its labels and those above it by key, and the words of all of them."""

    labels: Mapping[str, str]
    words: frozenset[str]
    pointer: str


@dataclass(slots=True)
class Facts:
    """All of them.

    Attributes:
        numbers: in the order of the data.
        places: the objects that hold labels.
        labels: every label, with the keys under which it stands.
        words: every word of a label or a key.
    """

    numbers: list[Fact] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    labels: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    words: set[str] = field(default_factory=set)


def facts_of(
    data: object, unread: frozenset[str] = frozenset(), soft: frozenset[str] = frozenset()
) -> Facts:
    """What plain data holds.

    Args:
        data: objects, lists, strings and numbers, as of JSON.
        unread: keys that nothing is looked for under.
        soft: keys whose numbers bear a text out, but contradict none.

    Raises:
        InputError: it holds no fact, or more than `MOST_VALUES` values.
    """
    if isinstance(data, Sequence) and data and all(isinstance(row, list | tuple) for row in data):
        data = _rows([list(row) for row in data])
    walk = _Walk(unread, soft)
    try:
        walk.through(data, "", Place({}, frozenset(), ""))
    except RecursionError:
        raise InputError("is nested too deeply", remedy="give the part that is told of") from None
    if not walk.facts.numbers and not walk.facts.labels:
        raise InputError("holds no facts", remedy="give a JSON object, a list of rows, or a CSV")
    return walk.facts


def data_of(text: str) -> object:
    """The plain data of a JSON or CSV text.

    Raises:
        InputError: it is neither, holds too many values, or is a table without a header.
    """
    if sum(map(text.count, ",;\t")) > 4 * MOST_VALUES:
        raise _too_many()
    if not text.lstrip().startswith(("{", "[")):
        return _table(text)
    try:
        return json.loads(text)
    except RecursionError:
        raise InputError("is nested too deeply", remedy="give the part that is told of") from None
    except json.JSONDecodeError as error:
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise InputError(
                f"is not JSON ({error.msg})", line=error.lineno, remedy="give JSON or CSV"
            ) from None


def _too_many() -> InputError:
    problem = f"holds more than {MOST_VALUES:,} values"
    return InputError(problem, remedy="give the part that the text is about")


def _table(text: str) -> list[dict[str, object]]:
    first = text.strip().partition("\n")[0]
    sign = max(",;\t|", key=first.count)
    if sign not in first:
        raise InputError("is neither JSON nor CSV", remedy="give facts with names, as JSON or CSV")
    try:
        lines = csv.reader(io.StringIO(text.strip()), delimiter=sign)
        return _rows([[_cell(text) for text in line] for line in lines if line])
    except csv.Error as error:
        raise InputError(f"is not CSV ({error})", remedy="give JSON or CSV") from None


def _rows(lines: list[list[Any]]) -> list[dict[str, object]]:
    """Lines under a header as objects."""
    header, *rest = lines
    if not all(isinstance(name, str) and name.strip() for name in header) or any(
        FIGURE.fullmatch(name.strip()) for name in header
    ):
        raise InputError(
            "has no header: its first line does not name every column",
            line=1,
            remedy="add a line with the columns' names",
        )
    return [dict(zip(header, line, strict=False)) for line in rest]


def _cell(text: str) -> object:
    number = number_in(text)
    if number is None or number[1] == PERCENT:
        return text.strip() or None
    return number[0] if "." in text else int(number[0])


def number_in(text: str) -> tuple[float, int | None] | None:
    """The number that a label is, and its kind where the label tells it; None where it is none."""
    match = FIGURE.fullmatch(text.strip())
    if match is None:
        return None
    value = float(match[1].replace(",", "").replace("−", "-"))
    return value, PERCENT if match[2] else None


class _Walk:
    """From the root to every value."""

    def __init__(self, unread: frozenset[str], soft: frozenset[str]) -> None:
        self.facts = Facts()
        self._unread, self._soft = unread, {whole(key) for key in soft}
        self._values = 0

    def through(self, value: object, key: str, place: Place) -> None:
        """Add what is under a value.

        Args:
            key: of the object that holds it; a list hands its own on.
            place: where it stands.
        """
        self._values += 1
        if self._values > MOST_VALUES:
            raise _too_many()
        if isinstance(value, Mapping):
            self._object(value, key, place)
        elif isinstance(value, list | tuple):
            self._count(len(value), key, place)
            for index, member in enumerate(value):
                self.through(member, key, self._below(place, index, {}))
        else:
            self._leaf(value, key, place)

    def _leaf(self, value: object, key: str, place: Place) -> None:
        if isinstance(value, str):
            self._label(value, key, place)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            self._number(float(value), key, place, is_whole=isinstance(value, int))

    def _object(self, value: Mapping[Any, object], key: str, place: Place) -> None:
        read = {str(name): one for name, one in value.items() if str(name) not in self._unread}
        own = {
            name: one
            for name, one in read.items()
            if isinstance(one, str) and ("verdict" in read or 0 < len(one) <= LONGEST_LABEL)
        }
        first = next(iter(read), None)
        if first is not None and isinstance(one := read[first], int | str) and first not in own:
            own[first] = str(one)  # what a row begins with is its name, a year say
        # A label under a key that stands above, too, begins a table of its own.
        labels = own if own.keys() & place.labels.keys() else {**place.labels, **own}
        words = place.words | naming(key) | frozenset().union(*map(naming, own.values()))
        here = Place(labels, words, place.pointer)
        if own:
            self.facts.places.append(here)
        beside = _parallel(read)
        for name, member in read.items():
            below = Place(labels, words, f"{place.pointer}/{_escaped(name)}")
            rows = beside.get(len(member)) if isinstance(member, list | tuple) else None
            if rows and not any(isinstance(one, Mapping | list) for one in member):  # type: ignore[union-attr]
                self._count(len(member), name, below)  # type: ignore[arg-type]
                for index, one in enumerate(member):  # type: ignore[arg-type]
                    self.through(one, name, self._below(below, index, rows[index]))
            else:
                self.through(member, name, below)

    def _below(self, place: Place, index: int, beside: Mapping[str, str]) -> Place:
        pointer = f"{place.pointer}/{index}"
        if not beside:
            return Place(place.labels, place.words, pointer)
        words = place.words.union(*map(naming, beside.values()))
        return Place({**place.labels, **beside}, words, pointer)

    def _label(self, text: str, key: str, place: Place) -> None:
        number, words = number_in(text), stems(text)
        self.facts.words |= words | stems(key)
        if number is not None and number[1] == PERCENT:
            self._number(number[0], key, place, number[1], is_whole=False)
        elif len(text) <= LONGEST_LABEL:
            self.facts.labels[visible(text)].add(key)
            for digits in re.findall(r"(?<![\d.])\d{1,9}(?![\d.])", text):
                self.facts.numbers.append(
                    Fact(float(digits), PLAIN, place.pointer, place.words | words, stems(key), False)
                )

    def _number(
        self, value: float, key: str, place: Place, kind: int | None = None, *, is_whole: bool
    ) -> None:
        if not math.isfinite(value):
            return
        named = stems(key)
        self.facts.words |= named
        if kind is None:
            share = not is_whole and abs(value) <= 1 and not named & NO_SHARES
            kind = FRACTION if share else PLAIN
            kind = PERCENT if named & IN_PERCENT else POINTS if named & IN_POINTS else kind
        self.facts.numbers.append(Fact(
                value,
                kind,
                place.pointer,
                place.words,
                named | {whole(key)},
                self._soft.isdisjoint(place.words),
            ))

    def _count(self, count: int, key: str, place: Place) -> None:
        named = stems(key) or frozenset({"row"})
        self.facts.numbers.append(
            Fact(float(count), PLAIN, place.pointer, place.words, named, False)
        )


def _parallel(value: Mapping[str, object]) -> dict[int, list[dict[str, str]]]:
    """Lists of one length in an object are columns: by length, the labels of each row."""
    rows: dict[int, list[dict[str, str]]] = {}
    for name, member in value.items():
        if isinstance(member, list | tuple) and len(member) > 1 and isinstance(member[0], str):
            table = rows.setdefault(len(member), [{} for _ in member])
            for row, one in zip(table, member, strict=True):
                row[name] = str(one)
    return rows


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
