"""Check whether the numbers and names of a text occur in JSON or CSV data.

Each JSON object or CSV line is a row of numbers and labels. The labels are short strings in the
object or in an object that contains it. The answer ``borne out`` means that a row contains the
number, and that nearby names agree with the row's labels. Rounded values, differences, sums and
ratios of numbers in such rows are also borne out. The grammar of the text is not analysed.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import time
import unicodedata
from bisect import bisect_left, bisect_right
from calendar import month_name
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from itertools import islice, pairwise, product
from typing import Any, Final, Literal, NamedTuple, get_args

from attnlens.errors import InputError
from attnlens.files import Json
from attnlens.render.safe import visible

Answer = Literal["not borne out", "not in the data", "not read", "borne out"]
"""The answers by priority. If parts of a statement differ, the first answer in this list wins."""

Label = tuple[str, str]
Phrases = Mapping[str, "str | Label"]

Finding = tuple[Answer, str, str | None, str | None]
"""An answer, the checked words, a conflicting value in the data, and the value's JSON pointer."""

_MAX_VALUES: Final = 300_000
_MAX_ROWS, _MAX_LABELS, _MAX_FACTS = 60, 12, 40
"""`_MAX_ROWS` limits the labels of a name and the rows of a clause. The others limit one row."""

_MAX_PAIRS, _MAX_EQUAL, _MAX_NUMBERS, _MAX_NAME_WORDS = 5000, 500, 60, 6
"""Limits on pairs of numbers, equal facts, numbers in a statement and words in a name."""
MAX_LABEL_CHARACTERS, MAX_STATEMENT_CHARACTERS = 60, 1000

_WORD: Final = re.compile(r"[^\W\d_]+\d*|\d+(?:\.\d+)*")
_ENDING: Final = re.compile(r"(?<=\w{3})(?:ies|ing|ed|es|ly|[sey])$|(?<=\w{4})ers?$")
_NUMBER: Final = re.compile(
    r"(?<![\w.,:/£$€=–-])[£$€]?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?![-–:/]?\d|[a-zA-Z]|,\d)(?:[ -](?P<scale>thousand|million|billion)\b)?"
    r"(?P<share> ?%| ?per ?cent\b)?(?P<cents> (?:cents|pence)\b)?(?P<times> times\b(?! a\b))?"
)
_SCALES: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
_SPELLED_WORDS: Final = "two three four five six seven eight nine ten eleven twelve thirteen"
_SPELLED: Final = _SPELLED_WORDS.split()
_SPELLED_NUMBER: Final = re.compile(
    r"(?i)(?<!\ba )(?<!\bthe )(?<![a-z] for )(?<!took )(?<!got )(?<!hit )"
    rf"\b(?:{'|'.join(_SPELLED)})\b(?!!)"
)
_HEDGE: Final = re.compile(r"\b(about|around|roughly|nearly|almost|some|over|under|than) \W?$")
_LIMIT: Final = re.compile(r"\b((more|less|fewer) than|below|above|(?<!just )(under|over)) \W?$")
_COMPARED: Final = re.compile(r"^\W*(\w+ ){0,2}?(\w+er|more|less|behind|ahead)\b|\bby \W?$")
_EACH: Final = re.compile(r"\b(per|apiece|each|average|mean|every)\b")
_TOTAL: Final = re.compile(r"\b(total|together|between|both|sum|combined|all)\b")
_RISE: Final = re.compile(
    r"(?i)\b(up|add\w*|puts?|rais\w+|rises?|rose|climb\w*|gain\w*|increas\w+|lift\w*|grew|higher"
    r"|boost\w*|jump\w*|likelier|more likely|above)\b"
)
_FALL: Final = re.compile(
    r"(?i)\b(down|off|away|lower\w*|falls?|fell|drop\w*|decreas\w+|reduc\w+|cuts?"
    r"|slip\w*|dip\w*|less likely|loses?|lost|costs?|shrank|below)\b"
)
_PAIR: Final = re.compile(
    r"(\d+(?:\.\d+)?)( ?%)?,? (to|from|against|rather than|instead of|compared with|where|when) "
    r"(?:[a-z]+ )*?(\d+(?:\.\d+)?)"
)
_SENTENCE: Final = re.compile(r"(?<![A-Z])[.!?][\"')\]’”]*\s+(?=[\"'(\[“]?[^\Wa-z])|;\s+|\s\|\s")
_MARKS: Final = re.compile(
    r"\*\*|__|[*`]|^\s*(?:>|[-+•]\s|\d+[.)]\s)\s*|^\||\|$|\]\([^)]*\)|\[(?=\w)"
)
_CLAUSE: Final = re.compile(r"[;:()–—]|,(?!\d)|\b(?:and|but|while|whereas|where|though|against)\b")
_CAPITALS: Final = re.compile(r"(?<![\w°'])[^\W\d_a-z][\w'’-]*(?: [^\W\d_a-z][\w'’-]*)*")
_MONTHS: Final = frozenset(month_name)
_MIN_STEM_LETTERS: Final = 5
_STOP_LIST: Final = """
a an the of is was are were be been has had have at in on for to with from by as it its and or but
than that this these those which who so not no none if their they he she his her all each both more
less under up down into out only just after before
"""
_STOP_WORDS: Final = frozenset(_STOP_LIST.split())
_CELL: Final = re.compile(r"[£$€]?([-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)")
_PERCENT_WORDS: Final = frozenset({"percent", "percentag", "pct"})


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence or part of a sentence, with an answer and the words that decided the answer.

    ``nearest`` is the value that the statement contradicts. ``pointer`` is the JSON pointer (RFC
    6901) of the value that was compared.
    """

    text: str
    answer: Answer
    what: str
    nearest: str | None = None
    pointer: str | None = None


@dataclass(frozen=True, slots=True)
class SpotCheck:
    """The statements of a text in order."""

    statements: tuple[Statement, ...]

    @property
    def read(self) -> int:
        """The number of statements with an answer other than ``not read``."""
        return sum(statement.answer != "not read" for statement in self.statements)

    @property
    def faults(self) -> list[Statement]:
        """The statements that the data contradicts or does not contain."""
        flags = get_args(Answer)[:2]
        return [statement for statement in self.statements if statement.answer in flags]

    def to_dict(self) -> Json:
        """Return the document printed by `attnlens check --json`."""
        rows = [asdict(statement) for statement in self.statements]
        return {"coverage": {"read": self.read, "of": len(rows)}, "statements": rows}


class NumericFact(NamedTuple):
    """A number in the data, with the words of its key, the index of its row and a JSON pointer."""

    value: float
    field: frozenset[str]
    row: int
    pointer: str


@lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
    letters = unicodedata.normalize("NFKD", word.casefold())
    return _ENDING.sub("", "".join(sign for sign in letters if not unicodedata.combining(sign)))


@lru_cache(maxsize=1 << 14)
def stems(text: str) -> tuple[str, ...]:
    """Return the stems of the words in a text. Words with equal stems count as equal."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", visible(text))
    return tuple(map(_stem, _WORD.findall(parted)))


class DataRows:
    """The rows of plain data. Each row has numbers and, for some columns, a label.

    Args:
        unread: keys whose values are searched for words, but not for rows and numbers.

    Raises:
        InputError: the data contains no fact, or more than 300,000 values.
    """

    earlier_first = False
    """Whether the numbers of each row are in chronological order."""

    def __init__(self, data: object, unread: frozenset[str] = frozenset()) -> None:
        self.rows: list[dict[str, str]] = []
        self.facts: list[list[NumericFact]] = []
        self.holders: defaultdict[Label, list[int]] = defaultdict(list)
        self.names: defaultdict[str, set[Label]] = defaultdict(set)
        self.by_words: defaultdict[tuple[str, ...], set[Label]] = defaultdict(set)
        self.words: set[str] = set()
        self.count = len(data) if isinstance(data, list) else None
        self._unread, self._n_values = unread, 0
        if isinstance(data, Mapping | list):
            self._read(data, "", "", self.add_row({}))
        if not self.words:
            remedy = "give a JSON object, a list of rows, or a CSV"
            raise InputError("contains no facts to compare with", remedy=remedy)

    def add_row(self, labels: Mapping[str, str]) -> int:
        """Add a row with one label per column, and return the number of the row."""
        for label in labels.items():
            self.holders[label].append(len(self.rows))
            words = stems(label[1])
            self.words.update(words)
            self.by_words[words].add(label)
            for word in words:
                self.names[word].add(label)
        self.rows.append(dict(labels))
        self.facts.append([])
        return len(self.rows) - 1

    def add_fact(self, row: int, value: float, key: str, pointer: str) -> None:
        """Add a number to a row."""
        self.words.update(stems(key))
        self.facts[row].append(NumericFact(float(value), frozenset(stems(key)), row, pointer))

    def _read(self, value: Any, key: str, pointer: str, row: int | None) -> None:
        self._n_values += 1
        if self._n_values > _MAX_VALUES:
            raise _too_many()
        if isinstance(value, str) and (percent := re.fullmatch(r"([-+]?\d+(?:\.\d+)?) ?%", value)):
            value = float(percent[1]) / 100
        if isinstance(value, Mapping):
            items = {str(name): item for name, item in value.items()}
            if row is not None:
                own = {
                    name: str(v) for at, (name, v) in enumerate(items.items()) if _is_label(v, at)
                }
                above = {pointer.rpartition("/")[0] + "/": key} if key else {}
                labels = {**self.rows[row], **above, **own}
                row = self.add_row(dict(islice(reversed(labels.items()), _MAX_LABELS)))
            for name, item in items.items():
                step = name.replace("~", "~0").replace("/", "~1")
                below = None if name in self._unread else row
                self._read(item, name, f"{pointer}/{step}", below)
        elif isinstance(value, list | tuple):
            for position, item in enumerate(value):
                self._read(item, key, f"{pointer}/{position}", row)
        elif isinstance(value, str):
            self.words.update(stems(value[:MAX_STATEMENT_CHARACTERS]), stems(key))
        elif row is not None and _is_number(value) and key:
            self.add_fact(row, value, key, pointer)

    def holds(self, name: str) -> bool:
        """Return whether the data contains the words of a name. *Cambodian* matches *Cambodia*."""
        words = stems(name)
        start = words[0][:-1] if len(words) == 1 and len(words[0]) > _MIN_STEM_LETTERS else None
        return self.words.issuperset(words) or (start is not None and start in self.words)

    @cached_property
    def by_size(self) -> list[tuple[float, bool, NumericFact]]:
        """The numbers by absolute value. The flag True marks the percentages of numbers up to 1."""
        return sorted(_entries(fact for row in self.facts for fact in row), key=_size)

    @cached_property
    def totals(self) -> dict[frozenset[str], float]:
        """The sum of each field over all rows."""
        return _sums(fact for row in self.facts for fact in row)


def _entries(facts: Iterable[NumericFact]) -> Iterator[tuple[float, bool, NumericFact]]:
    for fact in facts:
        yield abs(fact.value), False, fact
        if abs(fact.value) <= 1:
            yield 100 * abs(fact.value), True, fact


def _sums(facts: Iterable[NumericFact]) -> dict[frozenset[str], float]:
    sums: defaultdict[frozenset[str], float] = defaultdict(float)
    for fact in facts:
        sums[fact.field] += fact.value
    return sums


def _size(entry: tuple[float, bool, NumericFact]) -> float:
    return entry[0]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _is_label(value: object, position: int) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= MAX_LABEL_CHARACTERS
    return position == 0 and isinstance(value, int) and _is_number(value)


def read_data(source: Any) -> Any:
    """Return plain data. Parse a text as JSON or CSV, and read a list of lists as a table.

    Raises:
        InputError: a text is not JSON or CSV or has too many values, or a table has no header.
    """
    data = _parsed(source) if isinstance(source, str) else source
    if not (isinstance(data, list) and data and all(isinstance(row, list) for row in data)):
        return data
    header, *rows = data
    if not all(isinstance(name, str) and stems(name) for name in header):
        problem = "has no header; the first line must name every column"
        raise InputError(problem, remedy="add a first line with the names of the columns")
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
            raise ValueError("the text has only one column")
        lines = csv.reader(io.StringIO(text.strip()), delimiter=delimiter)
        return [[_cell(cell.strip()) for cell in line] for line in lines if line]
    except (ValueError, csv.Error) as error:
        remedy = "give named facts, as JSON or CSV"
        raise InputError(f"is neither JSON nor CSV ({error})", remedy=remedy) from None


def _cell(text: str) -> object:
    match = _CELL.fullmatch(text)
    return (float if "." in text else int)(match[1].replace(",", "")) if match else text


def _too_many() -> InputError:
    problem = f"contains more than {_MAX_VALUES:,} values"
    return InputError(problem, remedy="give only the data that the text is about")


def check_text(
    facts: DataRows, text: str, phrases: Phrases | None = None, *, seconds: float = math.inf
) -> SpotCheck:
    """Check the numbers and names of a plain or Markdown text against the data.

    Args:
        phrases: maps each pattern to replacement words, or to the label for the matched text.
        seconds: the time limit, after which statements get the answer ``not read``.
    """
    until = time.monotonic() + seconds
    return SpotCheck(
        tuple(
            Statement(visible(sentence), "not read", "the time limit was reached")
            if time.monotonic() > until
            else Statement(visible(sentence), "not read", "the statement is too long")
            if len(sentence) > MAX_STATEMENT_CHARACTERS
            else _Reading(facts, visible(sentence).replace("’", "'"), phrases or {}).statement()
            for sentence in _statements(text)
        )
    )


def _statements(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if re.match(r"\s*(?:#|\|?[-:| ]+$|```)", line):
            continue
        plain = _MARKS.sub("", line)
        ends = [0, *(match.end() for match in _SENTENCE.finditer(plain)), len(plain)]
        parts = (plain[start:end].strip(" |") for start, end in pairwise(ends))
        yield from (part for part in parts if re.search(r"[^\W\d]{2}", part))


class Mention(NamedTuple):
    """A name in a statement, with the labels to which the name may refer."""

    start: int
    text: str
    labels: frozenset[Label]
    columns: frozenset[str]


class _Reading:
    def __init__(self, facts: DataRows, statement: str, phrases: Phrases) -> None:
        self.facts, self.written = facts, statement
        text = _SPELLED_NUMBER.sub(lambda word: str(_SPELLED.index(word[0].lower()) + 2), statement)
        text = re.sub(r"(?<=\d) and a half", ".5", text)
        for pattern, words in phrases.items():
            text = re.sub(pattern, words, text) if isinstance(words, str) else text
        self.text = text[: 2 * MAX_STATEMENT_CHARACTERS]
        breaks = [0, *(match.start() for match in _CLAUSE.finditer(text)), len(text) + 1]
        self.clauses = list(pairwise(breaks))
        self._scopes: dict[int, tuple[list[Mention], list[NumericFact]]] = {}
        labelled, phrased = list(self._label_mentions()), list(self._phrase_mentions(phrases))
        self.mentions = sorted([*labelled, *phrased], key=lambda mention: mention.start)
        self.plain = self.text
        for mention in phrased:
            blank = " " * len(mention.text)
            self.plain = (
                self.plain[: mention.start] + blank + self.plain[mention.start + len(blank) :]
            )

    def statement(self) -> Statement:
        matches = islice(_NUMBER.finditer(self.text), _MAX_NUMBERS)
        numbers = [self._number(number) for number in matches]
        findings = [
            *self._strangers(),
            *self._strange_pairs(),
            *self._turned(),
            *filter(None, numbers),
        ]
        if not findings:
            problem = "the statement has no number or name that can be compared"
            return Statement(self.written, "not read", problem)
        first = min(findings, key=lambda finding: get_args(Answer).index(finding[0]))
        subjects = dict.fromkeys(row[1] for row in findings if row[0] == first[0])
        return Statement(self.written, first[0], "; ".join(subjects), *first[2:])

    def _phrase_mentions(self, phrases: Phrases) -> Iterator[Mention]:
        for pattern, label in phrases.items():
            if isinstance(label, str):
                continue
            for match in re.finditer(pattern, self.text):
                yield Mention(match.start(), match[0], frozenset({label}), frozenset({label[0]}))

    def _label_mentions(self) -> Iterator[Mention]:
        """Yield the capitalised labels in the text. Each label is as long as possible."""
        tokens = [(word.start(), word.end(), _stem(word[0])) for word in _WORD.finditer(self.text)]
        at = 0
        while at < len(tokens):
            start, end, stem = tokens[at]
            run = tuple(token[2] for token in tokens[at : at + _MAX_NAME_WORDS])
            at += 1
            if not self.text[start].isupper() or stem in _STOP_WORDS:
                continue
            lengths = (n for n in range(len(run), 0, -1) if run[:n] in self.facts.by_words)
            length = next(lengths, 0)
            labels = (
                self.facts.by_words[run[:length]] if length else self.facts.names.get(stem, set())
            )
            for _, further, word in tokens[at : at + length - 1] if length else tokens[at:]:
                if not length and not (labels & self.facts.names.get(word, set())):
                    break
                labels = labels & self.facts.names[word]
                end, at = further, at + 1
            if labels and len(labels) <= _MAX_ROWS:
                columns = frozenset(column for column, _ in labels)
                yield Mention(start, self.text[start:end], frozenset(labels), columns)

    def _clause(self, at: int) -> tuple[int, int]:
        return next(clause for clause in self.clauses if clause[0] <= at < clause[1])

    def _nearby_mentions(self, at: int) -> list[Mention]:
        """Return the names in a clause. For each other column, add the nearest name."""
        low, high = self._clause(at)
        nearby = [mention for mention in self.mentions if low <= mention.start < high]
        before = [mention for mention in reversed(self.mentions) if mention.start < low]
        after = [mention for mention in self.mentions if mention.start >= high]
        without_number = [
            mention
            for mention in after
            if not any(map(str.isdigit, self.text[slice(*self._clause(mention.start))]))
        ]
        for mention in before + without_number:
            if not any(mention.columns & other.columns for other in nearby):
                nearby.append(mention)
        return nearby

    def _fits(self, row: int, nearby: list[Mention]) -> bool:
        labels = self.facts.rows[row]
        held = {
            column
            for mention in nearby
            for column, text in mention.labels
            if labels.get(column) == text
        }
        return all(
            mention.columns & held or not mention.columns & labels.keys() for mention in nearby
        )

    def _rows(self, mention: Mention) -> set[int]:
        held = [self.facts.holders.get(label, ()) for label in sorted(mention.labels)]
        rows = {row for rows in held if len(rows) <= 20 * _MAX_ROWS for row in rows}
        return rows if len(rows) <= 20 * _MAX_ROWS else set()

    def _scope(self, low: int) -> tuple[list[Mention], list[NumericFact]]:
        if low not in self._scopes:
            nearby = self._nearby_mentions(low)
            rows = sorted(
                {
                    row
                    for mention in nearby
                    for row in self._rows(mention)
                    if self._fits(row, nearby)
                }
            )
            facts = (
                fact for row in rows[:_MAX_ROWS] for fact in self.facts.facts[row][:_MAX_FACTS]
            )
            self._scopes[low] = nearby, list(facts)
        return self._scopes[low]

    def _number(self, number: re.Match[str]) -> Finding | None:
        """Check a number. A number in words is checked only next to words of a fact."""
        subject, start = f'number "{number[0].strip()}"', number.start("digits")
        before, (low, high) = self.text[: number.start()], self._clause(start)
        inside = any(
            mention.start <= start < mention.start + len(mention.text) for mention in self.mentions
        )
        label_list = re.search(r"(?i)\bballs? (?:[\d.]+(?:, | and |, and )|before, )*$", before)
        if inside or label_list or (len(number[0]) == 4 and number[0] in self.facts.words):
            return None
        value, tolerance = _value(number, bool(_HEDGE.search(before)))
        nearby, pool = self._scope(low)
        clause, adjacent = _content(self.plain[low:high]), self._adjacent_words(number, low, high)
        adjacent |= {word for word in clause if re.fullmatch(r"\d{4}", word)}
        matching = [fact for fact in pool if fact.field & adjacent]
        own = any(low <= mention.start < high for mention in nearby)
        for fact in () if number["times"] else self._equal(number, value, tolerance, pool):
            labels = self.facts.rows[fact.row].items()
            touched = (
                any(mention.labels & labels for mention in nearby) or fact.field & clause or not own
            )
            if touched and (fact.field & adjacent or not matching) and self._fits(fact.row, nearby):
                return "borne out", subject, None, fact.pointer
        if self._follows(number, value, tolerance, pool):
            return "borne out", subject, None, None
        if value == self.facts.count and not number["share"]:
            return "not read", f"{subject}: the number may be a count of items", None, None
        written = re.search(rf"(?<![\d.,]){re.escape(number['digits'])}(?![\d.,]\d)", self.written)
        if not (written or matching) or (number["times"] and not pool):
            return None
        if _LIMIT.search(before):
            return "not read", subject, None, None
        if not (matching := matching or [fact for fact in pool if fact.field & clause]):
            return "not in the data", subject, None, None
        best = max(matching, key=lambda fact: len(fact.field & clause))
        percent = 100 if number["share"] and abs(best.value) <= 1 else 1
        nearest = f"{abs(best.value) * percent:.6g}{number['share'] or ''}"
        return "not borne out", subject, nearest, best.pointer

    def _adjacent_words(self, number: re.Match[str], low: int, high: int) -> set[str]:
        parts = re.split(r"\d\S*|/", self.plain[low : number.start()])
        skipped = 2 if len(parts) > 1 and "/" not in self.text[: number.start()] else 0
        after = re.split(r"[\d/]", self.plain[number.end() : high])[0].split()[:2]
        return _content(" ".join([*parts[-1].split()[skipped:][-2:], *after]))

    def _equal(
        self, number: re.Match[str], value: float, tolerance: float, pool: list[NumericFact]
    ) -> Iterator[NumericFact]:
        """Yield the facts that are equal to the value, also after a conversion of the unit."""
        share = re.search(r"%|per ?cent|points", self.text)
        scale = _SCALES.get(number["scale"], 1.0)
        for factor in {1.0, 1 / scale, 0.01 if number["cents"] else 1.0}:
            low = bisect_left(self.facts.by_size, (value - tolerance) * factor, key=_size)
            high = bisect_right(self.facts.by_size, (value + tolerance) * factor, key=_size)
            entries: Iterable[tuple[float, bool, NumericFact]] = self.facts.by_size[low:high][
                :_MAX_EQUAL
            ]
            if high - low > _MAX_EQUAL and pool:
                close = tolerance * factor
                entries = (
                    entry for entry in _entries(pool) if abs(entry[0] - value * factor) <= close
                )
            for _, percent, fact in entries:
                count = fact.value.is_integer() or "point" in fact.field
                plain = not (number["share"] and count) or fact.field & _PERCENT_WORDS
                if share if percent else plain:
                    yield fact

    def _follows(
        self, number: re.Match[str], value: float, tolerance: float, pool: list[NumericFact]
    ) -> bool:
        """Return whether the value is a difference, sum or ratio of numbers in the named rows."""
        each, words = _EACH.search(self.text), _content(self.text)
        by_field: defaultdict[frozenset[str], list[float]] = defaultdict(list)
        for fact in pool:
            by_field[fact.field].append(fact.value)
        pairs = [
            (a.value, b.value)
            for row in dict.fromkeys(fact.row for fact in pool)
            for a, b in product(self.facts.facts[row][:_MAX_FACTS], repeat=2)
            if a is not b and (a.field & b.field or each or (a.field & words and b.field & words))
        ]
        for values in by_field.values():
            pairs += product(values, values) if len(values) < 9 else ()
        before, after = self.text[: number.start()], self.text[number.end() :]
        if _COMPARED.search(after) or _COMPARED.search(before):
            everything = (fact for row in self.facts.facts[:200] for fact in row[:_MAX_FACTS])
            pairs += [
                (a, fact.value) for fact in everything for a in by_field.get(fact.field, ())[:8]
            ]
        del pairs[_MAX_PAIRS:]
        if _TOTAL.search(self.text):
            mentioned = {row for mention in self.mentions for row in self._rows(mention)}
            sums = _sums(fact for row in mentioned for fact in self.facts.facts[row])
            pairs += [(total, 0.0) for total in {*sums.values(), *self.facts.totals.values()}]
        if number["times"] or each:
            tolerance = max(tolerance, 0.15 * value) if number["times"] else tolerance
            return any(b and abs(abs(a / b) - value) <= tolerance for a, b in pairs)
        grows = number["share"] and re.search(r"\bby \W?(\w+ )?$", before)
        if grows and any(b and abs(100 * abs(a / b - 1) - value) <= tolerance for a, b in pairs):
            return True
        share = 100 if re.search(r"points|%", self.text) and not number["share"] else 1
        return any(abs(abs(a - b) * k - value) <= tolerance for a, b in pairs for k in {1, share})

    def _turned(self) -> Iterator[Finding]:
        """Find two numbers in the wrong order, such as 5 and 3 in "rose from 5 to 3"."""
        pairs = list(_PAIR.finditer(self.written))
        if len(pairs) != 1 or (pairs[0][3] == "from" and not pairs[0][2]):
            return
        pair, to = pairs[0], pairs[0][3] == "to"
        rise, fall = bool(_RISE.search(self.written)), bool(_FALL.search(self.written))
        orders = set()
        clear = rise != fall and pair[1] != pair[4] and pair[3] != "from"
        if clear and (float(pair[1]) < float(pair[4])) != (rise == to):
            yield "not borne out", f'order of "{pair[0]}"', None, None
        _, pool = self._scope(self._clause(min(pair.start(), len(self.text)))[0])
        ordered = self.facts.earlier_first and (rise != fall or not to)
        for row in {fact.row for fact in pool} if ordered else ():
            facts = list(enumerate(self.facts.facts[row][:_MAX_FACTS]))
            for (i, a), (j, b) in product(facts, facts):
                if a.field & b.field and _is_near(a, pair[1]) and _is_near(b, pair[4]) and i != j:
                    orders.add((i < j) == to)
        if False in orders and True not in orders:
            yield "not borne out", f'order of "{pair[0]}"', None, None

    def _strange_pairs(self) -> Iterator[Finding]:
        """Find names that never occur in the same row as the other names in the clause."""
        for low, high in self.clauses:
            inside = [mention for mention in self.mentions if low <= mention.start < high]
            if len(inside) == 1 and inside[0].text.islower():
                inside += [mention for mention in self._nearby_mentions(low) if mention.start < low]
            rows = [self._rows(mention) for mention in inside]
            for i, mention in enumerate(inside):
                alike = [
                    k
                    for k, other in enumerate(inside)
                    if k != i and other.columns & mention.columns
                ]
                related = [
                    j
                    for j, other in enumerate(inside)
                    if not mention.columns & other.columns
                    and any(other.columns & self.facts.rows[row].keys() for row in rows[i])
                    and not any(rows[k] & rows[j] for k in alike)
                ]
                many = any(not rows[j] for j in range(len(inside)))
                apart = related and not many and not any(rows[i] & rows[j] for j in related)
                if mention.start >= low and (
                    apart or not any(label in self.facts.holders for label in mention.labels)
                ):
                    yield "not in the data", f'name "{mention.text.strip()}"', None, None

    def _strangers(self) -> Iterator[Finding]:
        """Find capitalised words that are not in the data, except at the start of a sentence."""
        for run in _CAPITALS.finditer(self.written):
            words = [re.sub(r"['’]s?$", "", word) for word in run[0].split()]
            if run.start() == 0 or self.written[: run.start()].rstrip()[-1:] in tuple(".!?:(\"“'"):
                words = words[1:]
            strange = (word for word in words if not word.isupper() and word not in _MONTHS)
            if any(not self.facts.holds(word) for word in strange):
                yield "not in the data", f'name "{" ".join(words)}"', None, None


def _content(text: str) -> set[str]:
    return {_stem(word) for word in _WORD.findall(text) if word.lower() not in _STOP_WORDS}


def _is_near(fact: NumericFact, digits: str) -> bool:
    half = 0.505 * 10.0 ** -len(digits.partition(".")[2])
    return any(abs(abs(fact.value) * k - float(digits)) <= half for k in (1, 100))


def _value(number: re.Match[str], hedged: bool) -> tuple[float, float]:
    """Return a value and a tolerance: half a unit of the last digit, or 10% after "about"."""
    digits = number["digits"].replace(",", "")
    scale = _SCALES.get(number["scale"] or "", 1.0)
    value = min(float(digits) * scale, 1e300)
    half = 0.505 * 10.0 ** -len(digits.partition(".")[2]) * scale
    return value, max(half, 0.1 * value) if hedged else half
