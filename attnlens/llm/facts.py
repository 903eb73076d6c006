"""Facts: the numbers and labels of any JSON or CSV, each with the words that say what it is.

A number is named by its *field*, the words of its key or column, and by its *row*: the labels
beside and above it, and the keys on the way to it. ``{"outcome": "6", "probability": 0.1}`` under
``prediction`` has the field *probability* and the row *prediction, outcome, 6*.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from attnlens.errors import InputError
from attnlens.llm.english import stem
from attnlens.show.safe import visible

MOST_VALUES: Final = 300_000
LARGEST: Final = 1e300
LONGEST_LABEL, LONGEST_CLAIM = 60, 1000
"""Signs; a longer text names nothing. A claim is what has a verdict."""

WORD: Final = re.compile(r"[^\W\d_]+\d*[^\W\d_]*|\d+(?:\.\d+)*")
FIGURE: Final = re.compile(r"[£$€]?([-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?) ?(%?)")
PERCENT, POINTS = frozenset({"percent", "percentag", "pct"}), frozenset({"point", "pp"})
NO_SHARES: Final = frozenset({"nat", "bit", "p", "q", "ratio"})
"""Stems of fields: of 100; differences of such; fractions that are no shares."""


@lru_cache(maxsize=1 << 12)
def stems(text: str) -> frozenset[str]:
    """The words of a key, a label or a text, as `stem` has them."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", visible(text))
    return frozenset(map(stem, WORD.findall(parted)))


def whole(label: str) -> str:
    """A label as a word of its own."""
    return f"={label}"


@dataclass(frozen=True, slots=True)
class Fact:
    """A number, what it is (``share``, ``points`` or nothing), where it stands, and its words."""

    value: float
    unit: str
    pointer: str
    row: frozenset[str]
    field: frozenset[str]


@dataclass(frozen=True, slots=True)
class Place:
    """An object of the data: its labels and those above it, by key, and the words of its row."""

    labels: Mapping[str, str]
    words: frozenset[str]
    pointer: str


class Facts:
    """What plain data holds.

    Attributes:
        numbers, places: all of them; places are objects with labels.
        labels: the keys that each label stands under.
        words: every word, as `stem` has it.
    """

    def __init__(self, data: object, unread: frozenset[str] = frozenset()) -> None:
        """
        Args:
            data: objects, lists, strings and numbers, as of JSON.
            unread: keys that nothing is looked for under.

        Raises:
            InputError: it holds no fact, or more than `MOST_VALUES` values.
        """
        self.numbers: list[Fact] = []
        self.places: list[Place] = []
        self.labels: dict[str, set[str]] = defaultdict(set)
        self.words: set[str] = set()
        self._unread, self._values = unread, 0
        self._add(data, "", Place({}, frozenset(), ""))
        if not isinstance(data, Mapping | list) or not (self.numbers or self.labels):
            remedy = "give a JSON object, a list of rows, or a CSV"
            raise InputError("holds no facts", remedy=remedy)

    def _add(self, value: object, key: str, place: Place) -> None:
        self._values += 1
        if self._values > MOST_VALUES:
            raise _too_many()
        pairs: Any = ()
        percent = FIGURE.fullmatch(value) if isinstance(value, str) else None
        if isinstance(value, Mapping):
            read = {str(name): one for name, one in value.items() if str(name) not in self._unread}
            place, pairs = _place(read, key, place), read.items()
            self.places.append(place)
        elif isinstance(value, list | tuple):
            pairs = ((str(at), one) for at, one in enumerate(value))
        elif percent and percent[2]:
            self._add(float(percent[1].replace(",", "")) / 100, key, place)
        elif isinstance(value, str):
            self.words |= stems(value[:LONGEST_CLAIM]) | stems(key)
            if len(value) <= LONGEST_LABEL:
                self.labels[visible(value)].add(key)
        elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST:
            self._add_number(value, key, place)
        for name, one in pairs:
            pointer = f"{place.pointer}/{name.replace('~', '~0').replace('/', '~1')}"
            below = Place(place.labels, place.words, pointer)
            self._add(one, name if isinstance(value, Mapping) else key, below)

    def _add_number(self, value: float, key: str, place: Place) -> None:
        named = stems(key)
        self.words |= named
        share = isinstance(value, float) and abs(value) <= 1 and not named & NO_SHARES
        unit = "points" if named & POINTS else "share" if share or named & PERCENT else ""
        size = abs(value / 100 if named & PERCENT else value)
        fact = Fact(float(size), unit, place.pointer, place.words, named | {whole(key)})
        self.numbers.append(fact)


def _place(value: Mapping[str, object], key: str, above: Place) -> Place:
    """An object, named by its short texts, its claim, or what it begins with (a year, say)."""
    longest = LONGEST_CLAIM if "verdict" in value else LONGEST_LABEL
    own = {
        name: visible(str(one))
        for at, (name, one) in enumerate(value.items())
        if (isinstance(one, str) and 0 < len(one) <= longest)
        or (at == 0 and isinstance(one, int) and abs(one) < LARGEST)
    }
    # A label under a key that stands above, too, begins a table of its own.
    labels = own if own.keys() & above.labels.keys() else {**above.labels, **own}
    texts = [key, *own.values()]
    return Place(labels, above.words.union(map(whole, texts), *map(stems, texts)), above.pointer)


def data_of(given: object) -> Any:
    """Plain data as it is; that of a JSON or CSV text; a list of lists as rows under a header.

    Raises:
        InputError: a text is neither, holds too many values, or is a table without a header.
    """
    if isinstance(given, str):
        given = _read(given)
    if not (isinstance(given, list) and given and all(isinstance(row, list) for row in given)):
        return given
    header, *rest = given
    if not all(isinstance(name, str) and stems(name) for name in header):
        problem = "has no header: its first line does not name every column"
        raise InputError(problem, remedy="add a line with the columns' names")
    return [dict(zip(header, line, strict=False)) for line in rest]


def _read(text: str) -> Any:
    if sum(map(text.count, ",;\t")) > 4 * MOST_VALUES:
        raise _too_many()
    first = text.strip().partition("\n")[0]
    sign = max(",;\t|", key=first.count)
    try:
        if first.startswith(("{", "[")):
            return json.loads(text)
        if sign not in first:
            raise ValueError("one column without a name")
        lines = csv.reader(io.StringIO(text.strip()), delimiter=sign)
        return [[_cell(one.strip()) for one in line] for line in lines if line]
    except (ValueError, csv.Error) as error:
        remedy = "give facts with names, as JSON or CSV"
        raise InputError(f"is neither JSON nor CSV ({error})", remedy=remedy) from None


def _cell(text: str) -> object:
    match = FIGURE.fullmatch(text)
    if match is None or match[2]:
        return text
    return (float if "." in match[1] else int)(match[1].replace(",", ""))


def _too_many() -> InputError:
    problem = f"holds more than {MOST_VALUES:,} values"
    return InputError(problem, remedy="give the part that the text is about")
