"""A spot check: do the numbers and names of a text stand in a JSON or CSV, where the text says?

A number is compared with the facts that the words around it name. It contradicts the data only if
these words identify one fact and that fact has another value. No grammar is used: directions,
comparisons, causes and verdicts are not read.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import time
import unicodedata
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from attnlens.errors import InputError
from attnlens.files import Json
from attnlens.render.safe import visible

Answer = Literal["not borne out", "not in the data", "not read", "borne out"]
"""From the one that decides about a statement to the one that all its parts must have."""

_MAX_VALUES: Final = 300_000
MAX_LABEL_CHARACTERS, MAX_STATEMENT_CHARACTERS = 60, 1000
_BEST_SHARE, _RIVAL_SHARE = 0.9, 0.6
"""A number is borne out by a fact with this share of the best score; it contradicts the best fact
only if no fact with its value has this share."""

_WORD: Final = re.compile(r"[^\W\d_]+\d*[^\W\d_]*|\d+(?:\.\d+)*")
_ENDING: Final = re.compile(r"(?<=\w{3})(?:ies|ing|ed|es|ly|[sey])$|(?<=\w{4})ers?$")
_NUMBER: Final = re.compile(
    r"(?<![\w.,:/£$€=-])[£$€]?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![-–:/]?\d|[a-zA-Z])"
    r"(?: (?P<scale>thousand|million|billion)\b)?"
    r"(?P<share> ?%| ?per ?cent\b)?"
)
_SCALES: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
_HEDGE: Final = re.compile(
    r"\b(about|around|roughly|nearly|almost|some|over|under|than) \W?$", re.I
)
_OTHER_FACT: Final = re.compile(
    r"\b(if|might|could|would|without|last (year|week|month)|ago|total|average|every|each|between"
    r"|more than|less than|fewer than|\w+er than)\b",
    re.I,
)
"""Words of a number that the data need not hold: of another time, on a condition, a difference."""

_COUNTS: Final = "two three four five six seven eight nine ten eleven twelve"
_SENTENCE: Final = re.compile(r"(?<![A-Z])[.!?][\"')\]’”]*\s+(?=[\"'(\[“]?[^\Wa-z])|;\s+|\s\|\s")
_MARKS: Final = re.compile(
    r"\*\*|__|[*`]|^\s*(?:>|[-+•]\s|\d+[.)]\s)\s*|^\||\|$|\]\([^)]*\)|\[(?=\w)"
)
_CLAUSE: Final = re.compile(r"[;:()–—]|,(?!\d)|\b(?:and|but|while|whereas|where|though|against)\b")
_CAPITALS: Final = re.compile(r"(?<![\w°'])[^\W\d_a-z][\w'’-]*(?: [^\W\d_a-z][\w'’-]*)*")
_STOP_WORDS: Final = """
a an the of is was are were be been has had have at in on for to with from by as it its and or but
than that this these those which who so not no if their they he she his her all each both more less
under up down into out only just after before
"""
_CELL: Final = re.compile(r"[£$€]?([-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)")
_PERCENT_WORDS: Final = frozenset({"percent", "percentag", "pct"})
_NO_SHARE_WORDS: Final = frozenset({"nat", "bit", "p", "q", "ratio"})


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a text, or a part of one, with what the data says of it.

    Attributes:
        what: the numbers and names that decided the answer.
        nearest: what the data holds instead of a number that is not borne out.
        pointer: where it does (JSON pointer, RFC 6901).
    """

    text: str
    answer: Answer
    what: str
    nearest: str | None = None
    pointer: str | None = None


@dataclass(frozen=True, slots=True)
class SpotCheck:
    """The statements of a text, in its order."""

    statements: tuple[Statement, ...]

    @property
    def read(self) -> int:
        """How many statements have an answer other than ``not read``."""
        return sum(statement.answer != "not read" for statement in self.statements)

    @property
    def faults(self) -> list[Statement]:
        """The statements that the data contradicts."""
        return [row for row in self.statements if row.answer == "not borne out"]

    def to_dict(self) -> Json:
        """What `attnlens check --json` prints."""
        rows = [asdict(statement) for statement in self.statements]
        return {"coverage": {"read": self.read, "of": len(rows)}, "statements": rows}


class Figure(NamedTuple):
    """A number of the data: its field (key or column), and the words that name its row."""

    value: float
    unit: str
    field: frozenset[str]
    row: frozenset[str]
    pointer: str


@lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
    letters = unicodedata.normalize("NFKD", word.casefold())
    return _ENDING.sub("", "".join(sign for sign in letters if not unicodedata.combining(sign)))


@lru_cache(maxsize=1 << 14)
def _stems(text: str) -> frozenset[str]:
    """The words of a key, a label or a text, as they are compared."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", visible(text))
    return frozenset(map(_stem, _WORD.findall(parted)))


class FigureIndex:
    """The numbers and words of plain data.

    Args:
        unread: keys below which nothing is read.

    Raises:
        InputError: the data holds no fact, or more than `_MAX_VALUES` values.
    """

    def __init__(self, data: object, unread: frozenset[str] = frozenset()) -> None:
        self.numbers: list[Figure] = []
        self.words: set[str] = set()
        self._unread, self._n_values = unread, 0
        if isinstance(data, Mapping | list):
            self._add(data, "", "", frozenset())
        if not self.words:
            raise InputError(
                "holds no facts", remedy="give a JSON object, a list of rows, or a CSV"
            )

    def _add(self, value: Any, key: str, pointer: str, row: frozenset[str]) -> None:
        self._n_values += 1
        if self._n_values > _MAX_VALUES:
            raise _too_many()
        if isinstance(value, str) and (percent := re.fullmatch(r"([-+]?\d+(?:\.\d+)?) ?%", value)):
            value = float(percent[1]) / 100
        if isinstance(value, Mapping):
            items = {str(name): item for name, item in value.items() if name not in self._unread}
            labels = [str(item) for at, item in enumerate(items.values()) if _is_label(item, at)]
            row = row.union(_stems(key), *map(_stems, labels))
            for name, item in items.items():
                step = name.replace("~", "~0").replace("/", "~1")
                self._add(item, name, f"{pointer}/{step}", row)
        elif isinstance(value, list | tuple):
            for position, item in enumerate(value):
                self._add(item, key, f"{pointer}/{position}", row)
        elif isinstance(value, str):
            self.words |= _stems(value[:MAX_STATEMENT_CHARACTERS]) | _stems(key)
        elif _is_number(value) and key:
            field = _stems(key)
            self.words |= field | row
            share = isinstance(value, float) and abs(value) <= 1 and not field & _NO_SHARE_WORDS
            percent_field = field & _PERCENT_WORDS
            unit = "share" if share or percent_field else ""
            size = abs(float(value)) * (100 if unit == "share" and not percent_field else 1)
            self.numbers.append(Figure(size, unit, field, row, pointer))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _is_label(value: object, position: int) -> bool:
    """Whether a value names its object: a short string, or a first number, such as a year."""
    if isinstance(value, str):
        return 0 < len(value) <= MAX_LABEL_CHARACTERS
    return position == 0 and isinstance(value, int) and _is_number(value)


def read_data(source: Any) -> Any:
    """Plain data as it is, that of JSON or CSV text, or a list of lists as rows under a header.

    Raises:
        InputError: a text is neither, holds too many values, or is a table without a header.
    """
    data = _parsed(source) if isinstance(source, str) else source
    if not (isinstance(data, list) and data and all(isinstance(row, list) for row in data)):
        return data
    header, *rows = data
    if not all(isinstance(name, str) and _stems(name) for name in header):
        problem = "has no header: its first line does not name every column"
        raise InputError(problem, remedy="add a line with the columns' names")
    return [dict(zip(header, row, strict=False)) for row in rows]


def _parsed(text: str) -> Any:
    if sum(map(text.count, ",;\t")) > 4 * _MAX_VALUES:
        raise _too_many()
    first = text.strip().partition("\n")[0]
    delimiter = max(",;\t|", key=first.count)
    try:
        if first.startswith(("{", "[")):
            return json.loads(text)
        if delimiter not in first:
            raise ValueError("one column without a name")
        lines = csv.reader(io.StringIO(text.strip()), delimiter=delimiter)
        return [[_cell(cell.strip()) for cell in line] for line in lines if line]
    except (ValueError, csv.Error) as error:
        remedy = "give facts with names, as JSON or CSV"
        raise InputError(f"is neither JSON nor CSV ({error})", remedy=remedy) from None


def _cell(text: str) -> object:
    match = _CELL.fullmatch(text)
    return (float if "." in text else int)(match[1].replace(",", "")) if match else text


def _too_many() -> InputError:
    problem = f"holds more than {_MAX_VALUES:,} values"
    return InputError(problem, remedy="give the part that the text is about")


def check_text(
    facts: FigureIndex,
    text: str,
    rewrites: Mapping[str, str] | None = None,
    *,
    seconds: float = math.inf,
) -> SpotCheck:
    """What the data says of the numbers and names of a plain or Markdown text.

    Args:
        rewrites: patterns, and what is read in their place (``3-1``: ``scored 3, conceded 1``); a
            label of the data stands between equals signs (``=6=``).
        seconds: after so long, the rest of the text is not read.
    """
    until, checker = time.monotonic() + seconds, _Checker(facts, rewrites or {})
    return SpotCheck(
        tuple(
            checker.check(visible(statement).replace("’", "'"))
            if time.monotonic() <= until
            else Statement(visible(statement), "not read", "there was no more time")
            for statement in _statements(text)
        )
    )


def _statements(text: str) -> Iterator[str]:
    """Sentences and the parts of sentences between semicolons."""
    for line in text.splitlines():
        if re.match(r"\s*(?:#|\|?[-:| ]+$|```)", line):
            continue
        plain = _MARKS.sub("", line)
        ends = [0, *(match.end() for match in _SENTENCE.finditer(plain)), len(plain)]
        parts = (plain[start:end].strip(" |") for start, end in pairwise(ends))
        yield from (part for part in parts if re.search(r"[^\W\d]{2}", part))


Finding = tuple[Answer, str, str | None, str | None]


class _Checker:
    def __init__(self, facts: FigureIndex, rewrites: Mapping[str, str]) -> None:
        self.facts, self.rewrites = facts, rewrites
        self.stop_words = frozenset(_STOP_WORDS.split())
        self.values = np.array([fact.value for fact in facts.numbers])
        self.units = np.array([fact.unit for fact in facts.numbers], "U6")
        self.by_row, self.by_field = (defaultdict[str, list[int]](list) for _ in range(2))
        for index, fact in enumerate(facts.numbers):
            for words, lists in ((fact.row, self.by_row), (fact.field, self.by_field)):
                for word in words:
                    lists[word].append(index)

    def check(self, statement: str) -> Statement:
        """A statement with its answer."""
        if len(statement) > MAX_STATEMENT_CHARACTERS:
            return Statement(statement, "not read", "too long")
        counts = _COUNTS.split()
        text = re.sub(
            rf"(?i)(?<!\ba )\b(?:{'|'.join(counts)})\b(?! times)",
            lambda word: str(counts.index(word[0].lower()) + 2),
            statement,
        )
        for pattern, words in self.rewrites.items():
            text = re.sub(pattern, words, text)
        findings = [*self._numbers(text, statement), *self._names(statement)]
        if not findings:
            return Statement(statement, "not read", "no number and no name that can be checked")
        first = min(findings, key=lambda finding: get_args(Answer).index(finding[0]))
        message = "; ".join(dict.fromkeys(row[1] for row in findings if row[0] == first[0]))
        return Statement(statement, first[0], message, *first[2:])

    def _numbers(self, text: str, statement: str) -> Iterator[Finding]:
        """What the data says of each number; of one in words only where it is borne out."""
        numbers = [number for number in _NUMBER.finditer(text) if not self._is_label(number)]
        words, breaks = self._words(text), [match.start() for match in _CLAUSE.finditer(text)]
        findings = [
            self._number(number, _weights(number.start("digits"), words, breaks))
            for number in numbers
        ]
        right = {pointer for answer, *_, pointer in findings if answer == "borne out"}
        for number, finding in zip(numbers, findings, strict=True):
            written = re.search(rf"(?<![\d.]){number['digits']}(?![\d.]\d)", statement)
            if finding[0] == "not borne out" and finding[3] in right:
                yield "not read", f"{finding[1]}: another number is that fact's", None, None
            elif written or finding[0] == "borne out":
                yield finding

    def _is_label(self, number: re.Match[str]) -> bool:
        """Whether a number names something: a year, a label such as ``7.2``, the end of a name."""
        digits, before = number.group(), number.string[: number.start()]
        labels = len(digits) == 4 or "." in digits or re.search(r"[A-Z]\w+ $", before)
        return bool(labels) and digits in self.facts.words

    def _words(self, text: str) -> list[tuple[int, str]]:
        """The words that may name facts, with their positions; of figures only years."""
        return [
            (word.start(), _stem(word[1] or word.group()))
            for word in re.finditer(rf"=([^=]+)=|{_WORD.pattern}", text)
            if word.group().lower() not in self.stop_words
            and not (word.group()[0].isdigit() and len(word.group()) != 4)
        ]

    def _scores(self, weights: Mapping[str, float], unit: str) -> tuple[NDArray[Any], ...]:
        """How well words name each fact of a unit: in all, by its row, by its field."""
        row, field = np.zeros(len(self.values)), np.zeros(len(self.values))
        for word, closeness in weights.items():
            count = len(self.by_row.get(word, ())) + len(self.by_field.get(word, ()))
            if count:
                weight = closeness * math.log1p(len(self.values) / count)
                row[self.by_row.get(word, [])] += weight
                field[self.by_field.get(word, [])] += weight
        return np.where(self.units == unit, row + field, 0), row, field

    def _number(self, number: re.Match[str], weights: Mapping[str, float]) -> Finding:
        label, unit = f'number "{number.group().strip()}"', "share" if number["share"] else ""
        value, tolerance = _value(number)
        hedged = _HEDGE.search(number.string[: number.start()])
        tolerance = max(tolerance, 0.15 * value) if hedged else tolerance
        if not len(self.values):
            return "not in the data", label, None, None
        sizes = self.values / np.where((self.units == "share") & (unit != "share"), 100, 1)
        right = np.abs(sizes - value) <= tolerance
        scores, row, field = self._scores(weights, unit)
        best, top = int(np.argmax(np.where(right, scores, -1))), int(np.argmax(scores))
        if right[best] and scores[best] > 0 and scores[best] >= _BEST_SHARE * scores[top]:
            return "borne out", label, None, self.facts.numbers[best].pointer
        fact = self.facts.numbers[top]
        identified = field[top] > 0 and (row[top] > 0 or not fact.row)
        alike = sizes[scores >= _BEST_SHARE * scores[top]]
        rivals = right & (scores >= _RIVAL_SHARE * scores[top]) & (row >= 0.5 * row[top])
        rival = np.ptp(alike) > 0 or rivals.any()
        if identified and not rival and not _OTHER_FACT.search(number.string):
            nearest = f"{sizes[top]:.6g}{(number['share'] or '')}"
            return "not borne out", label, nearest, fact.pointer
        if not right.any():
            return "not in the data", label, None, None
        return "not read", f"{label}: the words around it name no single fact", None, None

    def _names(self, text: str) -> Iterator[Finding]:
        """Runs of capitalised words of which the data lacks one; no word that begins a sentence."""
        for run in _CAPITALS.finditer(text):
            words = [re.sub(r"['’]s?$", "", word) for word in run.group().split()]
            if run.start() == 0 or text[: run.start()].rstrip()[-1:] in tuple(".!?:(\"“'"):
                words = words[1:]
            strange = (word for word in words if not word.isupper())
            if any(not _stems(word) <= self.facts.words for word in strange):
                yield "not in the data", f'name "{" ".join(words)}"', None, None


def _weights(
    start: int, words: Iterable[tuple[int, str]], breaks: Sequence[int]
) -> dict[str, float]:
    """The words around a number: half at 30 characters, 0.6 for each clause that lies between."""
    weights: dict[str, float] = {}
    for position, stem in words:
        if position != start:
            n_breaks = abs(bisect(breaks, position) - bisect(breaks, start))
            weight = 0.6**n_breaks / (1 + abs(position - start) / 30)
            weights[stem] = max(weights.get(stem, 0.0), weight)
    return weights


def _value(number: re.Match[str]) -> tuple[float, float]:
    """The value of a number, and half of its last written digit."""
    digits = number["digits"].replace(",", "")
    scale = _SCALES.get(number["scale"] or "", 1.0)
    last = 10.0 ** -len(digits.partition(".")[2])
    return min(float(digits) * scale, 1e300), 0.505 * last * scale
