"""A spot check: do the numbers and names of a text stand in a JSON or CSV, in the row it names?

The data is read as rows: each has labels (the short strings of an object, and those of the objects
around it) and numbers. A number of a text must stand in a row that no name near it contradicts, or
follow from such rows by a difference, a sum, a ratio or a rounding. No grammar is used.
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
"""From the one that decides about a statement to the one that all its parts must have."""

_MAX_VALUES: Final = 300_000
_MAX_LABELS, _MAX_ROWS, _MAX_FACTS = 12, 60, 40
"""Labels that an object hands down; rows, and numbers of a row, that are combined."""

MAX_LABEL_CHARACTERS, MAX_STATEMENT_CHARACTERS = 60, 1000

_WORD: Final = re.compile(r"[^\W\d_]+\d*|\d+(?:\.\d+)*")
_ENDING: Final = re.compile(r"(?<=\w{3})(?:ies|ing|ed|es|ly|[sey])$|(?<=\w{4})ers?$")
_NUMBER: Final = re.compile(
    r"(?<![\w.,:/£$€=–])(?P<sign>-)?[£$€]?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?![-–:/]?\d|[a-zA-Z]|,\d)(?:[ -](?P<scale>thousand|million|billion)\b)?"
    r"(?P<share> ?%| ?per ?cent\b)?(?P<cents> (?:cents|pence)\b)?"
    r"(?P<times> times\b(?! a | this))?"
)
_SCALES: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
_UNITS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SPELLED: Final = re.compile(
    rf"(?i)(?<!\ba )(?<!\bthe )(?<![a-z] for )(?<!took )(?<!got )(?<!hit )\b(?:(?P<ten>{'|'.join(_TENS)})(?:-(?P<one>{'|'.join(_UNITS[1:10])}))?"
    rf"|(?P<unit>{'|'.join(_UNITS[2:])}))\b(?!!)"
)
_HEDGE: Final = re.compile(r"\b(about|around|roughly|nearly|almost|some|over|under|than) \W?$", re.I)
_LIMIT: Final = re.compile(r"\b((more|less|fewer) than|below|above|(?<!just )(under|over)|beyond) \W?$", re.I)
_COMPARED: Final = re.compile(r"^\W*(?:\w+ ){0,2}?(?:\w+er|more|less|behind|ahead)\b|\bby \W?$")
_NOT_OF_THE_DATA: Final = re.compile(
    r"\b(if|might|could|would be|last (year|week|month)|ago)\b", re.I
)
_RISE: Final = re.compile(
    r"\b(up|adds?|added|puts?|rais\w+|rises?|rose|climb\w*|gain\w*|increas\w+|lift\w*|grew|higher"
    r"|boost\w*|jump\w*|likelier|more likely|above|leads?)\b", re.I
)
_FALL: Final = re.compile(
    r"\b(down|tak(?:es?|ing)|off|away|lower\w*|falls?|fell|drop\w*|decreas\w+|reduc\w+|cuts?|slip\w*"
    r"|dip\w*|less likely|loses?|lost|costs?|shrank|below|trails?)\b", re.I
)
_PAIR: Final = re.compile(
    r"(\d+(?:\.\d+)?) ?%?,? (to|from|against|rather than|instead of|compared with|where|when) (?:[a-z]+ )*?(\d+(?:\.\d+)?)%?"
)
_SENTENCE: Final = re.compile(r"(?<![A-Z])[.!?][\"')\]’”]*\s+(?=[\"'(\[“]?[^\Wa-z])|;\s+|\s\|\s")
_MARKS: Final = re.compile(
    r"\*\*|__|[*`]|^\s*(?:>|[-+•]\s|\d+[.)]\s)\s*|^\||\|$|\]\([^)]*\)|\[(?=\w)"
)
_CLAUSE: Final = re.compile(r"[;:()–—]|,(?!\d)|\b(?:and|but|while|whereas|where|though|against)\b")
_CAPITALS: Final = re.compile(r"(?<![\w°'])[^\W\d_a-z][\w'’-]*(?: [^\W\d_a-z][\w'’-]*)*")
_STOP_WORDS: Final = frozenset("""
a an the of is was are were be been has had have at in on for to with from by as it its and or but
than that this these those which who so not no if their they he she his her all each both more less
under up down into out only just after before none
""".split())
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
        """The statements that the data contradicts or does not hold."""
        flags = ("not borne out", "not in the data")
        return [row for row in self.statements if row.answer in flags]

    def to_dict(self) -> Json:
        """What `attnlens check --json` prints."""
        rows = [asdict(statement) for statement in self.statements]
        return {"coverage": {"read": self.read, "of": len(rows)}, "statements": rows}


class Fact(NamedTuple):
    """A number of the data: its field (the words of its key), its row and where it stands."""

    value: float
    field: frozenset[str]
    row: int
    pointer: str


Phrases = Mapping[str, str]
Label = tuple[str, str]
"""A column, and a text in it."""


@lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
    letters = unicodedata.normalize("NFKD", word.casefold())
    return _ENDING.sub("", "".join(sign for sign in letters if not unicodedata.combining(sign)))


@lru_cache(maxsize=1 << 14)
def _stems(text: str) -> tuple[str, ...]:
    """The words of a key, a label or a text, as they are compared."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", visible(text))
    return tuple(map(_stem, _WORD.findall(parted)))


class Facts:
    """The rows of plain data: labels and numbers.

    Args:
        unread: keys below which nothing is read.

    Raises:
        InputError: the data holds no fact, or more than `_MAX_VALUES` values.
    """

    def __init__(self, data: object, unread: frozenset[str] = frozenset()) -> None:
        self.facts: list[Fact] = []
        self.rows: list[dict[str, str]] = []
        self.numbers: defaultdict[int, list[int]] = defaultdict(list)
        self.holders: defaultdict[Label, list[int]] = defaultdict(list)
        self.names: defaultdict[str, set[Label]] = defaultdict(set)
        self.words: set[str] = set()
        self._unread, self._n_values = unread, 0
        if isinstance(data, Mapping | list):
            self._read(data, "", "", self.add_row({}))
        if not self.words:
            remedy = "give a JSON object, a list of rows, or a CSV"
            raise InputError("holds no facts", remedy=remedy)

    def add_row(self, labels: Mapping[str, str]) -> int:
        """Add a row with labels by column; return its number."""
        for label in labels.items():
            self.holders[label].append(len(self.rows))
            for word in _stems(label[1]):
                self.names[word].add(label)
                self.words.add(word)
        self.rows.append(dict(labels))
        return len(self.rows) - 1

    def add_fact(self, row: int, value: float, words: Iterable[str], pointer: str) -> None:
        """Add a number to a row, under the words of its key."""
        self.numbers[row].append(len(self.facts))
        self.facts.append(Fact(float(value), frozenset(words), row, pointer))

    def _read(self, value: Any, key: str, pointer: str, row: int | None) -> None:
        self._n_values += 1
        if self._n_values > _MAX_VALUES:
            raise _too_many()
        if isinstance(value, str) and (percent := re.fullmatch(r"([-+]?\d+(?:\.\d+)?) ?%", value)):
            value = float(percent[1]) / 100
        if isinstance(value, Mapping):
            items = {str(name): item for name, item in value.items()}
            own = {k: str(v) for at, (k, v) in enumerate(items.items()) if _is_label(v, at)}
            above = {f"{pointer.rpartition('/')[0]}/": key} if key else {}
            if row is not None:
                labels = {**self.rows[row], **above, **own}
                row = self.add_row(dict(islice(reversed(labels.items()), _MAX_LABELS)))
            for name, item in items.items():
                step = name.replace("~", "~0").replace("/", "~1")
                inside = None if name in self._unread else row
                self._read(item, name, f"{pointer}/{step}", inside)
        elif isinstance(value, list | tuple):
            for position, item in enumerate(value):
                self._read(item, key, f"{pointer}/{position}", row)
        elif isinstance(value, str):
            self.words.update(_stems(value[:MAX_STATEMENT_CHARACTERS]), _stems(key))
        elif row is not None and _is_number(value) and key:
            self.words.update(_stems(key))
            self.add_fact(row, value, _stems(key), pointer)


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
    facts: Facts,
    text: str,
    phrases: Phrases | None = None,
    *,
    seconds: float = math.inf,
) -> SpotCheck:
    """What the data says of the numbers and names of a plain or Markdown text.

    Args:
        rewrites: patterns, and what is read in their place (``3-1``: ``scored 3, conceded 1``); a
            label of the data stands between equals signs (``=6=``).
        seconds: after so long, the rest of the text is not read.
    """
    until, checker = time.monotonic() + seconds, _Checker(facts, phrases or {})
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


class Mention(NamedTuple):
    """A name in a statement, with the labels that it may stand for."""

    start: int
    text: str
    labels: frozenset[Label]


class _Checker:
    def __init__(self, facts: Facts, phrases: Phrases) -> None:
        self.facts, self.phrases = facts, phrases
        sizes = [(abs(fact.value), at, False) for at, fact in enumerate(facts.facts)]
        shares = [
            (100 * size, at, True)
            for size, at, _ in sizes
            if size <= 1 and not facts.facts[at].field & _NO_SHARE_WORDS
        ]
        self.sizes = sorted(sizes + shares)
        self.fields = defaultdict[str, set[frozenset[str]]](set)
        for field in {fact.field for fact in facts.facts}:
            for word in field:
                self.fields[word].add(field)

    def check(self, statement: str) -> Statement:
        """A statement with its answer."""
        if len(statement) > MAX_STATEMENT_CHARACTERS:
            return Statement(statement, "not read", "too long")
        text = re.sub(r"(?<=\d) and a half", ".5", _SPELLED.sub(_in_digits, statement))
        text = re.sub(r"\b(?:one|1)[- ]in[- ](?:a )?(\d+|\w+)", _one_in, text)
        text = re.sub(r"\b[Tt]wice\b", "2 times", text)
        for pattern, words in self.phrases.items():
            if not words.startswith("="):
                text = re.sub(pattern, words, text)
        breaks = [0, *(match.start() for match in _CLAUSE.finditer(text)), len(text)]
        clauses = list(pairwise(breaks))
        mentions = sorted(self._mentions(text))
        findings = [*self._strange(statement), *self._apart(clauses, mentions), *self._turned(statement, clauses, mentions)]
        for number in _NUMBER.finditer(text):
            written = re.search(rf"(?<![\d.,]){re.escape(number['digits'])}(?![\d.,]\d)", statement)
            finding = self._number(number, clauses, mentions, bool(written))
            if finding:
                findings.append(finding)
        if not findings:
            return Statement(statement, "not read", "no number and no name that can be checked")
        first = min(findings, key=lambda finding: get_args(Answer).index(finding[0]))
        message = "; ".join(dict.fromkeys(row[1] for row in findings if row[0] == first[0]))
        return Statement(statement, first[0], message, *first[2:])

    def _mentions(self, text: str) -> Iterator[Mention]:
        """The names of a text that are labels of the data, or parts of labels."""
        for pattern, words in self.phrases.items():
            if words.startswith("="):
                column, _, label = words[1:].partition("=")
                for match in re.finditer(pattern, text):
                    yield Mention(match.start(), match[0], frozenset({(column, label)}))
        tokens = [(m.start(), m.end(), _stem(m.group())) for m in _WORD.finditer(text)]
        at = 0
        while at < len(tokens):
            start, end, stem = tokens[at]
            at += 1
            if not text[start].isupper() or stem in _STOP_WORDS:
                continue
            labels, stems = self.facts.names.get(stem, set()), [stem]
            while labels and at < len(tokens):
                more = {one for one in labels if _holds(_stems(one[1]), [*stems, tokens[at][2]])}
                if not more:
                    break
                labels, end = more, tokens[at][1]
                stems.append(tokens[at][2])
                at += 1
            exact = {one for one in labels if list(_stems(one[1])) == stems}
            if chosen := exact or labels:
                yield Mention(start, text[start:end], frozenset(islice(chosen, 20)))

    def _near(self, at: int, clauses: list[tuple[int, int]], mentions: list[Mention]) -> list[Mention]:
        """The mentions of the clause at a position, and of other columns the nearest before, or after."""
        inside = next(((a, b) for a, b in clauses if a <= at < b), clauses[-1])
        order = sorted(
            mentions,
            key=lambda one: 0 if inside[0] <= one.start < inside[1]
            else inside[0] - one.start if one.start < inside[0] else 10_000 + one.start,
        )
        chosen: list[Mention] = []
        columns: set[str] = set()
        for one in order:
            here = inside[0] <= one.start < inside[1]
            own = {column for column, _ in one.labels}
            if here or not own & columns:
                chosen.append(one)
            columns |= own
        return chosen

    def _fits(self, row: int, mentions: list[Mention]) -> bool:
        """Whether no mention contradicts a row: its label there is mentioned, too."""
        labels = self.facts.rows[row]
        held = {column for one in mentions for column, text in one.labels if labels.get(column) == text}
        return all(
            any(labels.get(column) == text or column in held for column, text in one.labels)
            or all(column not in labels for column, _ in one.labels)
            for one in mentions
        )

    def _rows(self, mentions: list[Mention]) -> list[int]:
        rows = {
            row
            for one in mentions
            for label in one.labels
            for row in islice(self.facts.holders[label], _MAX_ROWS)
        }
        return sorted(row for row in rows if self._fits(row, mentions))[:_MAX_ROWS]

    def _matches(self, value: float, tolerance: float, share: bool) -> Iterator[Fact]:
        low = bisect_left(self.sizes, (value - tolerance,))
        high = bisect_right(self.sizes, (value + tolerance, math.inf))
        for _, at, percent in self.sizes[low:min(high, low + 2000)]:
            fact = self.facts.facts[at]
            if share or not percent:
                yield fact

    def _number(self, number, clauses, mentions, written) -> Finding | None:
        text, start = number.string, number.start("digits")
        label = f'number "{number.group().strip()}"'
        if self._is_label(number, mentions):
            return None
        value, tolerance = _value(number)
        if _HEDGE.search(text[: number.start()]):
            tolerance = max(tolerance, 0.1 * value)
        near = self._near(start, clauses, mentions)
        rows = self._rows(near)
        beside = self._beside(number, clauses)
        low, high = next((one for one in clauses if one[0] <= start < one[1]), clauses[-1])
        clause = _content(text[low:high])
        here = any(low <= one.start < high for one in near)
        touched = set(rows)
        pool = [self.facts.facts[at] for row in rows for at in self.facts.numbers[row][:_MAX_FACTS]]
        named = [fact for fact in pool if fact.field & beside]
        right = [] if number["times"] else [
            fact for fact in self._matches(number, value, tolerance) if self._fits(fact.row, near)
            and (fact.row in touched or fact.field & clause or not here)
            and (fact.field & beside or not named)
        ]
        if right:
            return "borne out", label, None, right[0].pointer
        if self._follows(number, value, tolerance, rows):
            return "borne out", label, None, None
        if not (written or named) or number["times"] and not rows:
            return None
        if _NOT_OF_THE_DATA.search(text) or _LIMIT.search(text[: number.start()]):
            return "not read", label, None, None
        named = named or [fact for fact in pool if fact.field & clause]
        if named:
            best = max(named, key=lambda fact: len(fact.field & clause))
            percent = number["share"] and abs(best.value) <= 1
            nearest = f"{abs(best.value) * (100 if percent else 1):.6g}{number['share'] or ''}"
            return "not borne out", label, nearest, best.pointer
        return "not in the data", label, None, None

    def _beside(self, number, clauses) -> set[str]:
        """The words that follow a number, or else stand before it, up to the next number."""
        low, high = next((c for c in clauses if c[0] <= number.start("digits") < c[1]), clauses[-1])
        earlier = re.split(r"\d\S*|/", number.string[low : number.start()])
        taken = 2 if len(earlier) > 1 and number.string[: number.start()].count("/") == 0 else 0
        before = " ".join(earlier[-1].split()[taken:])
        after = re.split(r"[\d/]", number.string[number.end() : high])[0]
        return _content(" ".join(before.split()[-2:])) | _content(" ".join(after.split()[:2]))

    def _matches(self, number, value, tolerance) -> Iterator[Fact]:
        """The facts of a value, as it is written or in the unit of the text."""
        share = bool(number["share"] or re.search(r"%|per ?cent|points", number.string))
        factors = {1.0, 1 / _SCALES.get(number["scale"], 1.0), 0.01 if number["cents"] else 1.0}
        for factor in factors:
            low = bisect_left(self.sizes, ((value - tolerance) * factor,))
            high = bisect_right(self.sizes, ((value + tolerance) * factor, math.inf))
            for _, at, percent in self.sizes[low : min(high, low + 2000)]:
                fact = self.facts.facts[at]
                whole = number["share"] and (fact.value.is_integer() or "point" in fact.field)
                if share if percent else not whole or fact.field & _PERCENT_WORDS:
                    yield fact

    def _follows(self, number, value, tolerance, rows) -> bool:
        """Whether numbers of the named rows give a value: a difference, a sum, a ratio."""
        text, words = number.string, _content(number.string)
        if number["times"]:
            tolerance = max(tolerance, 0.15 * value)
        by_field = defaultdict(list)
        pairs = []
        each = re.search(r"\b(per|apiece|each|average|mean|every)\b", text)
        for row in rows:
            own = [self.facts.facts[at] for at in self.facts.numbers[row][:_MAX_FACTS]]
            for fact in own:
                by_field[fact.field].append(fact.value)
            pairs += [
                (a.value, b.value) for a, b in product(own, own)
                if a is not b and (a.field & b.field or each or a.field & words and b.field & words)
            ]
        if re.search(r"\b(total|together|between|both|sum|combined|all)\b", text):
            if any(abs(sum(values) - value) <= tolerance for values in by_field.values()):
                return True
        compared = _COMPARED.search(text[number.end() :]) or _COMPARED.search(text[: number.start()])
        for field, values in by_field.items():
            others = values
            if compared:
                others = [one.value for one in self.facts.facts[:5000] if one.field == field]
            if len(values) < 9:
                pairs += product(values, others)
        if number["times"] or each:
            return any(b and abs(abs(a / b) - value) <= tolerance for a, b in pairs)
        share = 100 if re.search(r"points|%", text) and not number["share"] else 1
        return any(abs(abs(a - b) * k - value) <= tolerance for a, b in pairs for k in (1, share))

    def _is_label(self, number: re.Match[str], mentions: list[Mention]) -> bool:
        """Whether a number names something: a year, a label such as ``7.2``, a part of a name."""
        digits, start = number.group(), number.start()
        inside = any(one.start <= start < one.start + len(one.text) for one in mentions)
        listed = re.search(r"(?i)\bballs? (?:[\d.]+(?:, | and |, and )|before, )*$", number.string[:start])
        return bool(inside or listed or len(digits) == 4 and digits in self.facts.words)

    def _apart(self, clauses, mentions) -> Iterator[Finding]:
        """Two names of a clause, of columns that rows hold together, that no row holds together."""
        for low, high in clauses:
            inside = [one for one in mentions if low <= one.start < high]
            if len(inside) == 1 and inside[0].text.islower():
                inside += [one for one in self._near(low, clauses, mentions) if one.start < low]
            rows = [{row for label in one.labels for row in self.facts.holders[label]} for one in inside]
            columns = [{column for column, _ in one.labels} for one in inside]
            for i, one in enumerate(inside):
                others = [j for j in range(len(inside)) if not columns[i] & columns[j]]
                known = [j for j in others if any(
                    columns[j] & self.facts.rows[row].keys() for row in rows[i])
                    and not any(columns[k] & columns[i] and rows[k] & rows[j] for k in range(len(inside)) if k != i)]
                if low <= one.start and (not rows[i] or known and all(not rows[i] & rows[j] for j in known)):
                    yield "not in the data", f'name "{one.text}"', None, None

    def _turned(self, text, clauses, mentions) -> Iterator[Finding]:
        """Two numbers that stand the other way round: a rise that falls, from after to before."""
        up, down = bool(_RISE.search(text)), bool(_FALL.search(text))
        pairs = list(_PAIR.finditer(text))
        if len(pairs) != 1 or pairs[0][2] == "from" and "%" not in pairs[0][0]:
            return
        pair = pairs[0]
        first, last = float(pair[1]), float(pair[3])
        to = pair[2] == "to"
        if up != down and first != last and pair[2] != "from" and (first < last) != (up == to):
            yield "not borne out", f'order of "{pair[0]}"', None, None
        elif up != down or not to:
            rows = self._rows(self._near(pair.start(), clauses, mentions))
            orders = set()
            for row in rows:
                own = [self.facts.facts[at] for at in self.facts.numbers[row][:_MAX_FACTS]]
                for (i, a), (j, b) in product(enumerate(own), enumerate(own)):
                    if i != j and a.field & b.field and _is_near(a.value, pair[1]) and _is_near(b.value, pair[3]):
                        orders.add((i < j) == to)
            if orders == {False}:
                yield "not borne out", f'order of "{pair[0]}"', None, None

    def _strange(self, text: str) -> Iterator[Finding]:
        """Runs of capitalised words of which the data lacks one; no word that begins a sentence."""
        for run in _CAPITALS.finditer(text):
            words = [re.sub(r"['’]s?$", "", word) for word in run.group().split()]
            if run.start() == 0 or text[: run.start()].rstrip()[-1:] in tuple(".!?:(\"“'"):
                words = words[1:]
            strange = (word for word in words if not word.isupper())
            if any(not self.facts.words.issuperset(_stems(word)) for word in strange):
                yield "not in the data", f'name "{" ".join(words)}"', None, None


def _content(text: str) -> set[str]:
    return {_stem(word) for word in _WORD.findall(text) if word.lower() not in _STOP_WORDS}


def _holds(words: tuple[str, ...], part: list[str]) -> bool:
    return any(list(words[at : at + len(part)]) == part for at in range(len(words)))


def _is_near(value: float, digits: str) -> bool:
    half = 0.505 * 10.0 ** -len(digits.partition(".")[2])
    return any(abs(abs(value) * k - float(digits)) <= half for k in (1, 100))


def _one_in(match: re.Match[str]) -> str:
    words = "two three four five six seven eight nine ten".split()
    many = float(match[1]) if match[1].isdigit() else words.index(match[1]) + 2 if match[1] in words else 0
    return f"about {100 / many:.2g}%" if many else match[0]


def _in_digits(match: re.Match[str]) -> str:
    if match["unit"]:
        return str(_UNITS.index(match["unit"].lower()))
    one = _UNITS.index(match["one"].lower()) if match["one"] else 0
    return str(10 * _TENS.index(match["ten"].lower()) + 20 + one)


def _value(number: re.Match[str]) -> tuple[float, float]:
    """The value of a number, and half of its last written digit."""
    digits = number["digits"].replace(",", "")
    scale = _SCALES.get(number["scale"] or "", 1.0)
    last = 10.0 ** -len(digits.partition(".")[2])
    return min(float(digits) * scale, 1e300), 0.505 * last * scale
