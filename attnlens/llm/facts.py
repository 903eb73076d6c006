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
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from attnlens.errors import InputError
from attnlens.show.safe import visible

MOST_VALUES: Final = 300_000
LARGEST: Final = 1e300
LONGEST_LABEL, LONGEST_CLAIM = 60, 1000
"""Signs; a longer text names nothing. A claim is what has a verdict."""

WORD: Final = re.compile(r"[^\W\d_]+\d*[^\W\d_]*|\d+(?:\.\d+)*")
FIGURE: Final = re.compile(r"[£$€]?([-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?) ?(%?)")
ENDING: Final = re.compile(r"(?<=\w{3})(?:ies|ing|ed|es|ly|[sey])$|(?<=\w{4})ers?$")
PERCENT, POINTS = frozenset({"percent", "percentag", "pct"}), frozenset({"point", "pp"})
NO_SHARES: Final = frozenset({"nat", "bit", "p", "q", "ratio"})
"""Words of fields: of 100; differences of such; fractions that are no shares."""


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A word as it is compared: small letters without accents and without a common ending."""
    bare = unicodedata.normalize("NFKD", word.casefold())
    return ENDING.sub("", "".join(sign for sign in bare if not unicodedata.combining(sign)))


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


@dataclass(slots=True)
class Facts:
    """All of them: numbers, objects with labels, the keys of each label, and every word."""

    numbers: list[Fact] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    labels: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    words: set[str] = field(default_factory=set)
    values: int = 0


def facts_of(data: object, unread: frozenset[str] = frozenset()) -> Facts:
    """What plain data holds.

    Args:
        data: objects, lists, strings and numbers, as of JSON; a list of lists is a table.
        unread: keys that nothing is looked for under.

    Raises:
        InputError: it holds no fact, or more than `MOST_VALUES` values.
    """
    facts = Facts()
    if isinstance(data, list) and data and all(isinstance(row, list) for row in data):
        data = _objects(data)
    _add(data, "", Place({}, frozenset(), ""), facts, unread)
    if not isinstance(data, Mapping | list) or not (facts.numbers or facts.labels):
        raise InputError("holds no facts", remedy="give a JSON object, a list of rows, or a CSV")
    return facts


def data_of(text: str) -> Any:
    """The plain data of a JSON or CSV text.

    Raises:
        InputError: it is neither, holds too many values, or is a table without a header.
    """
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
        cells = [[_cell(one.strip()) for one in line] for line in lines if line]
    except (ValueError, csv.Error) as error:
        remedy = "give facts with names, as JSON or CSV"
        raise InputError(f"is neither JSON nor CSV ({error})", remedy=remedy) from None
    return _objects(cells)


def _cell(text: str) -> object:
    match = FIGURE.fullmatch(text)
    if match is None or match[2]:
        return text
    return (float if "." in match[1] else int)(match[1].replace(",", ""))


def _objects(lines: list[list[Any]]) -> list[dict[str, object]]:
    """The lines under a header."""
    header, *rest = lines
    if not all(isinstance(name, str) and stems(name) for name in header):
        problem = "has no header: its first line does not name every column"
        raise InputError(problem, remedy="add a line with the columns' names")
    return [dict(zip(header, line, strict=False)) for line in rest]


def _too_many() -> InputError:
    problem = f"holds more than {MOST_VALUES:,} values"
    return InputError(problem, remedy="give the part that the text is about")


def _add(value: object, key: str, place: Place, facts: Facts, unread: frozenset[str]) -> None:
    facts.values += 1
    if facts.values > MOST_VALUES:
        raise _too_many()
    if isinstance(value, Mapping):
        read = {str(name): one for name, one in value.items() if str(name) not in unread}
        here = _place(read, key, place)
        facts.places.append(here)
        for name, one in read.items():
            below = f"{place.pointer}/{name.replace('~', '~0').replace('/', '~1')}"
            _add(one, name, Place(here.labels, here.words, below), facts, unread)
    elif isinstance(value, list | tuple):
        for index, one in enumerate(value):
            below = f"{place.pointer}/{index}"
            _add(one, key, Place(place.labels, place.words, below), facts, unread)
    elif isinstance(value, str) and (match := FIGURE.fullmatch(value)) and match[2]:
        _add(float(match[1].replace(",", "")) / 100, key, place, facts, unread)
    elif isinstance(value, str):
        facts.words |= stems(value[:LONGEST_CLAIM]) | stems(key)
        if len(value) <= LONGEST_LABEL:
            facts.labels[visible(value)].add(key)
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST:
        named = stems(key)
        facts.words |= named
        share = isinstance(value, float) and abs(value) <= 1 and not named & NO_SHARES
        unit = "points" if named & POINTS else "share" if share or named & PERCENT else ""
        size, words = abs(value / 100 if named & PERCENT else value), named | {whole(key)}
        facts.numbers.append(Fact(float(size), unit, place.pointer, place.words, words))


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
    words = above.words.union(map(whole, texts), *map(stems, texts))
    return Place(labels, words, above.pointer)
