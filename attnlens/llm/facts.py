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
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from attnlens.errors import InputError
from attnlens.llm.english import stem
from attnlens.render.safe import visible

MOST_VALUES: Final = 300_000
LONGEST_LABEL, LONGEST_CLAIM = 60, 1000
"""Signs; a longer text names nothing. A claim is what has a verdict."""

WORD: Final = re.compile(r"[^\W\d_]+\d*[^\W\d_]*|\d+(?:\.\d+)*")
FIGURE: Final = re.compile(r"[£$€]?([-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)")
SHARE: Final = re.compile(r"([-+]?\d+(?:\.\d+)?) ?%")
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


class Row(NamedTuple):
    """An object of the data: its labels and those above it, by key, and all words that name it."""

    labels: Mapping[str, str]
    words: frozenset[str]
    pointer: str


class Fact(NamedTuple):
    """The size of a number, in per cent if a ``share``; ``points`` are differences of such."""

    value: float
    unit: str
    field: frozenset[str]
    pointer: str
    row: Row
    below: bool = False


class Facts:
    """What plain data holds: numbers, rows, every word, and the rows of each label by its key.

    Args:
        data: objects, lists, strings and numbers, as of JSON.
        unread: keys that nothing is looked for under.

    Raises:
        InputError: it holds no fact, or more than `MOST_VALUES` values.
    """

    def __init__(self, data: object, unread: frozenset[str] = frozenset()) -> None:
        self.numbers: list[Fact] = []
        self.rows: list[Row] = []
        self.words: set[str] = set()
        self.labels: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        self._unread, self._values = unread, 0
        self._named: frozenset[str] = frozenset()
        if isinstance(data, Mapping | list):
            self._add(data, "", "", Row({}, frozenset(), ""))
        if not self.numbers and not self.labels:
            remedy = "give a JSON object, a list of rows, or a CSV"
            raise InputError("holds no facts", remedy=remedy)

    def _add(self, value: Any, key: str, pointer: str, row: Row) -> None:
        self._values += 1
        if self._values > MOST_VALUES:
            raise _too_many()
        if isinstance(value, bool):
            return
        if isinstance(value, str) and (percent := SHARE.fullmatch(value)):
            value = float(percent[1]) / 100
        if isinstance(value, Mapping):
            read = {str(name): one for name, one in value.items() if name not in self._unread}
            row = self._row(read, key, pointer, row)
            for name, one in read.items():
                step = name.replace("~", "~0").replace("/", "~1")
                self._add(one, name, f"{pointer}/{step}", row)
        elif isinstance(value, list | tuple):
            outer, self._named = self._named, _firsts(value)
            for at, one in enumerate(value):
                # Of bare numbers nobody can say what each is.
                self._add(one, "" if isinstance(one, int | float) else key, f"{pointer}/{at}", row)
            self._named = outer
        elif isinstance(value, str):
            self.words |= stems(value[:LONGEST_CLAIM]) | stems(key)
            if len(value) <= LONGEST_LABEL:
                self.labels[visible(value)][key]  # of a list, maybe: no row
        elif key and isinstance(value, int | float) and abs(value) < 1e300:
            field = stems(key)
            self.words |= field
            share = isinstance(value, float) and abs(value) <= 1 and not field & NO_SHARES
            unit = "points" if field & POINTS else "share" if share or field & PERCENT else ""
            size = abs(float(value)) * (100 if unit == "share" and not field & PERCENT else 1)
            self.numbers.append(Fact(size, unit, field | {whole(key)}, pointer, row, value < 0))

    def _row(self, value: Mapping[str, object], key: str, pointer: str, above: Row) -> Row:
        """An object, named by its short texts, its claim, or what it begins with (a year, say)."""
        longest = LONGEST_CLAIM if "verdict" in value else LONGEST_LABEL
        own = {
            name: visible(str(one))
            for at, (name, one) in enumerate(value.items())
            if (isinstance(one, str) and 0 < len(one) <= longest)
            or (at == 0 and isinstance(one, int) and abs(one) < 1e300)
        }
        # A label under a key that stands above, too, begins a table of its own.
        labels = own if own.keys() & above.labels.keys() else {**above.labels, **own}
        for name, label in labels.items():
            self.labels[label][name].add(len(self.rows))
        # What a row of this table is called names that row, and no row that speaks of it.
        first = next(iter(value.values()), None)
        texts = [key, *(one for one in own.values() if one == first or one not in self._named)]
        words = above.words.union(map(whole, texts), *map(stems, texts))
        self.rows.append(Row(labels, words, pointer))
        return self.rows[-1]


def _firsts(rows: Sequence[object]) -> frozenset[str]:
    """What the rows of a table begin with, where these are texts and all differ."""
    firsts = [next(iter(one.values()), None) for one in rows if isinstance(one, Mapping)]
    texts = {one for one in firsts if isinstance(one, str)}
    return frozenset(map(visible, texts)) if len(texts) == len(firsts) == len(rows) else frozenset()


def data_of(given: Any) -> Any:
    """Plain data as it is; that of a JSON or CSV text; a list of lists as rows under a header.

    Raises:
        InputError: a text is neither, holds too many values, or is a table without a header.
    """
    data = _read(given) if isinstance(given, str) else given
    if not (isinstance(data, list) and data and all(isinstance(row, list) for row in data)):
        return data
    header, *rest = data
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
    return (float if "." in text else int)(match[1].replace(",", "")) if match else text


def _too_many() -> InputError:
    problem = f"holds more than {MOST_VALUES:,} values"
    return InputError(problem, remedy="give the part that the text is about")
