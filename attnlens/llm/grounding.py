"""Is what a text says in the facts? Numbers, names, labels, verdicts and causes, each in its place.

No grammar is used. A number is compared with the facts that its sentence names best: the words
around it weigh more the rarer they are among the facts and the nearer they stand. What cannot be
told either way is *not read*.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import asdict, dataclass
from itertools import chain, pairwise
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnlens.files import Json
from attnlens.llm import english
from attnlens.llm.english import phrases, stem
from attnlens.llm.facts import WORD, Facts, stems, whole
from attnlens.show.safe import visible

Answer = Literal["borne out", "not borne out", "not read"]
Found = tuple[Answer, str, str | None, str | None]
"""An answer, and what a statement has beside it."""

RIGHT, RIVAL, ROW = 0.9, 0.72, 0.3
"""A number is borne out where a fact that has it is named so well, beside the best one; it is in
the wrong place where none is named even so well. Of the row alone, so well is enough."""

HALF, FURTHER = 30, 0.6
"""A word weighs half so many signs away, less by a factor for each comma or conjunction between."""

NEAR, ABOUT = 16, 0.15
"""Signs around a number that tell how it is meant; a hedged one fits within this part of itself."""

IMPLIED: Final = stem("probability")
"""The field that a per cent sign stands for where no other is named."""

LONGEST: Final = 1000
"""Signs of a statement."""

NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class Vocabulary(NamedTuple):
    """What a field of knowledge says otherwise than its data does.

    Words and what the facts call the same (``six``: ``6``); what is said of a label under a key, by
    the key (``teacher``: ``teaches``); patterns of numbers, whose groups are fields; unread keys.
    """

    same: Mapping[str, str] = NONE
    roles: Mapping[str, str] = NONE
    forms: tuple[str, ...] = ()
    unread: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence or clause of a text, and whether the facts bear it out.

    ``what`` was found, is wrong, or was not read; ``nearest`` is what the facts hold in place of
    what is wrong, ``pointer`` where they do (RFC 6901), ``judged_by`` the language model that
    answered in our place.
    """

    text: str
    answer: Answer
    what: str
    nearest: str | None = None
    pointer: str | None = None
    judged_by: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """The statements of a text, in its order."""

    statements: tuple[Statement, ...]

    @property
    def read(self) -> int:
        """How many could be told either way."""
        return sum(one.answer != "not read" for one in self.statements)

    @property
    def faults(self) -> list[Statement]:
        """Those that are not borne out."""
        return [one for one in self.statements if one.answer == "not borne out"]

    def to_dict(self) -> Json:
        """What `attnlens check --json` prints; ``judged_by`` only where a model was asked."""
        told = [
            {key: value for key, value in asdict(one).items() if value or key != "judged_by"}
            for one in self.statements
        ]
        return {"coverage": {"read": self.read, "of": len(told)}, "statements": told}


def check_text(facts: Facts, text: str, vocabulary: Vocabulary) -> Checked:
    """Which statements of a plain or Markdown text, in English, the facts bear out."""
    said = [visible(one).replace("’", "'") for one in english.statements(text)]
    reader = _Reader(facts, " ".join(said), vocabulary)
    statements = []
    for one in said:
        if len(one) > LONGEST or not english.is_read(one, facts.words):
            statements.append(Statement(one, "not read", "too long, or in another language"))
        else:
            statements.append(_Sentence(one, reader).answered())
    return Checked(tuple(statements))


class _Said(NamedTuple):
    """A word of a text, or a label with its words, and its rows by the key that it has there."""

    start: int
    end: int
    words: Set[str]
    rows: Mapping[str, Set[int]] = NONE


class _Reader:
    """The facts, as far as a text can be about them."""

    def __init__(self, facts: Facts, text: str, vocabulary: Vocabulary) -> None:
        self.facts, self.vocabulary = facts, vocabulary
        self.value = np.array([fact.value for fact in facts.numbers])
        self.unit = np.array([fact.unit for fact in facts.numbers], "U6")
        self.row, self.field = (defaultdict[str, list[int]](list) for _ in range(2))
        for index, fact in enumerate(facts.numbers):
            for words, lists in ((fact.row.words, self.row), (fact.field, self.field)):
                for word in words:
                    lists[word].append(index)
        self.together = {frozenset(row.labels) for row in facts.rows}
        self.keys = {word for keys in self.together for key in keys for word in {key, *stems(key)}}
        self.claims = [row for row in facts.rows if "verdict" in row.labels]
        self.same = {**dict.fromkeys(english.words("probability"), IMPLIED), **vocabulary.same}
        self.labels = self._labels_in(stems(text))
        self.tokens = re.compile(
            rf"(?<![\w.])(?<!'s )(?P<label>{_choice(self.labels)})(?!\w|\.\d| ?%)"
            rf"|{english.NUMBER.pattern}|(?i:{_choice(self.same)})(?!\w)|{WORD.pattern}"
        )

    def _labels_in(self, said: Set[str]) -> dict[str, set[str]]:
        """The labels that a text can be about, by how they are written there."""
        written: dict[str, set[str]] = defaultdict(set)
        for label in self.facts.labels:
            for form in {label, label.rpartition(" ")[2]}:
                long = len(form) > 3 or "." in form
                if long and (form == label or form[0].isupper()) and set() < stems(form) <= said:
                    written[form.replace("’", "'")].add(label)
        for phrase, target in self.vocabulary.same.items():
            if target in self.facts.labels:
                written[phrase].add(target)
        for phrase in list(written):
            written[phrase[0].upper() + phrase[1:]] |= written[phrase]
        return written

    def said(self, token: re.Match[str]) -> _Said:
        """A token that is no number."""
        if not token["label"]:
            word = self.same.get(token.group().lower(), token.group().lower())
            return _Said(*token.span(), set() if word in english.words("stop") else {stem(word)})
        labels, rows = self.labels[token.group()], defaultdict[str, set[int]](set)
        words = {word for one in labels if len(one) > 2 for word in stems(one)}
        for key, its in chain.from_iterable(self.facts.labels[one].items() for one in labels):
            rows[key] |= its
        return _Said(*token.span(), words.union(map(whole, labels)), rows)

    def weight(self, word: str) -> float:
        """The rarer among the facts, the more."""
        count = len(self.row.get(word, ())) + len(self.field.get(word, ()))
        return float(np.log1p(len(self.value) / count)) if count else 0.0

    def named(self, near: Mapping[str, float], unit: str | None) -> tuple[NDArray[Any], ...]:
        """How well words, by their closeness, name each fact that fits a unit, and its row."""
        row, field = np.zeros(len(self.value)), np.zeros(len(self.value))
        if unit == "share":
            near = {IMPLIED: 0.3, **near}
        for word, closeness in near.items():
            field[self.field.get(word, [])] += closeness * self.weight(word)
            if word != IMPLIED:
                row[self.row.get(word, [])] += closeness * self.weight(word)
        fits = self.unit == unit
        return np.where(fits if fits.any() else self.unit != "points", row + field, 0), row


class _Sentence:
    """One statement, and what is found in it."""

    def __init__(self, text: str, reader: _Reader) -> None:
        self.text, self.reader = text, reader
        tokens = list(reader.tokens.finditer(text))
        self.numbers = [token for token in tokens if token["digits"]]
        self.said = [reader.said(token) for token in tokens if not token["digits"]]
        self.labels = [one for one in self.said if one.rows]
        self.clauses = [match.start() for match in english.CLAUSE.finditer(text)]
        # Where a clause has a label and no number, a number is not only of its own clause.
        spoken = {bisect(self.clauses, number.start()) for number in self.numbers}
        if not all(bisect(self.clauses, one.start) in spoken for one in self.labels):
            self.clauses = []

    def answered(self) -> Statement:
        """The answer, with what is wrong, else what was not read, else what was found."""
        parts = [*self._numbers(), *self._roles(), *self._pairs(), *self._verdicts()]
        parts += self._names(bool(parts or self.labels))
        parts = parts or [("not read", "nothing in it can be checked", None, None)]
        first = min(parts, key=lambda one: ("not borne out", "not read", "borne out").index(one[0]))
        what = "; ".join(dict.fromkeys(one[1] for one in parts if one[0] == first[0]))
        return Statement(self.text, first[0], what, *first[2:])

    def _near(self, match: re.Match[str]) -> dict[str, float]:
        """How near the other words stand to a place."""
        start, words = match.start(), dict[str, float]()
        here = bisect(self.clauses, start)
        for one in sorted(self.said, key=lambda one: -abs(one.start - start)):
            if not start <= one.start < match.end():
                between = FURTHER ** abs(bisect(self.clauses, one.start) - here)
                words |= dict.fromkeys(one.words, between / (1 + abs(one.start - start) / HALF))
        return words

    def _numbers(self) -> Iterator[Found]:
        found = chain(*(re.finditer(form, self.text) for form in self.reader.vocabulary.forms))
        fields = {match.start(name): name for match in found for name in match.groupdict()}
        told = [self._number(match, fields.get(match.start())) for match in self.numbers]
        right = {one[3] for one in told if one[0] == "borne out"}
        for one in told:  # what another number has told is not what this one is of
            free = one[0] != "not borne out" or one[3] not in right
            yield one if free else ("not read", f"{one[1]}: not told what it is of", None, None)

    def _number(self, number: re.Match[str], form: str | None) -> Found:
        """A number told of a field (``form``), or of what the words around it name."""
        reader, unit, facts = self.reader, number.lastgroup, self.reader.facts.numbers
        said, (value, near) = f'"{number.group().strip()}"', english.value(number)
        around = [
            re.split("[,;:(]", self.text[: number.start()])[-1][-NEAR:],
            re.split("[,;:(]", self.text[number.end() :])[0][:NEAR],
        ]
        hedged = phrases("hedge").search(around[0])
        shown = np.where((reader.unit == "share") & (unit == "share"), 100, 1) * reader.value
        right = np.abs(shown - value) <= (max(near, ABOUT * value) if hedged else near)
        words = {whole(form): 1.0} if form else self._near(number)
        named, row = reader.named(words, unit)
        if not named.any():
            return "not read", f"number {said}: not told what it is of", None, None
        best, top = int(np.argmax(np.where(right, named, -1))), int(np.argmax(named))
        if right[best] and named[best] >= RIGHT * named[top] and row[best] >= ROW * row[top]:
            return "borne out", said, None, facts[best].pointer
        fact = facts[top]
        beside = any(facts[at].row is fact.row for at in np.flatnonzero(right))
        field = unit == fact.unit == "points" or not fact.field.isdisjoint(words)
        implied = unit == "share" and IMPLIED in fact.field | fact.row.words and not beside
        if (
            (form or (row[top] and (field or implied)))
            and not (right & (named >= RIVAL * named[top]) & (row >= ROW * row[top])).any()
            and not phrases("aside").search(self.text)
            and (unit == "points" or not any(map(phrases("apart").search, around)))
        ):
            nearest = f"{shown[top]:.6g}{number['share'] or number['points'] or ''}"
            return "not borne out", f"number {said}", nearest, fact.pointer
        return "not read", f"number {said}: not told what it is of", None, None

    def _names(self, about: bool) -> Iterator[Found]:
        """Names that are not in the facts, in a statement that is about them."""
        known = self.reader.facts.words
        for run, words, begins in english.names(self.text):
            strange = not all(stems(word) <= known or english.is_common(word) for word in words)
            if strange and not (begins and len(words) == 1):
                sure = about and len(words) > 1
                yield "not borne out" if sure else "not read", f'name "{run.group()}"', None, None

    def _roles(self) -> Iterator[Found]:
        """Who does what: a label stands under the key that is told beside it."""
        for one in self.labels:
            roles, after = self.reader.vocabulary.roles.items(), self.text[one.end :]
            told = [key for key, said in roles if re.match(rf" (?:{said})\b", after)]
            told += re.findall(r"(\w{3,}),? $", self.text[: one.start])
            for role in self.reader.keys.intersection(told):
                rows = (its for key, its in one.rows.items() if stems(role) <= stems(key))
                yield self._together(one.start, one.end, set().union(*rows))

    def _pairs(self) -> Iterator[Found]:
        """Two labels that are said of each other stand in one row."""
        links = self.reader.keys.union(english.words("links"))
        for one, other in pairwise(self.labels):
            words = WORD.findall(self.text[one.end : other.start].removeprefix("'s").lower())
            linked = all({word, stem(word)} & links or word[0].isdigit() for word in words)
            pairs = [{key, its} for key in one.rows for its in other.rows]
            known = any(pair <= keys for pair in pairs for keys in self.reader.together)
            if linked and known and one.rows.keys().isdisjoint(other.rows):
                both = set().union(*one.rows.values()) & set().union(*other.rows.values())
                yield self._together(one.start, other.end, both)

    def _together(self, start: int, end: int, rows: Set[int]) -> Found:
        said = f'"{self.text[start:end]}"'
        if not rows:
            return "not borne out", said, None, None
        return "borne out", said, None, self.reader.facts.rows[min(rows)].pointer

    def _verdicts(self) -> Iterator[Found]:
        """A verdict, else a cause, is that of the claim that the statement names best."""
        causes = [(match, {"supported"}) for match in phrases("cause").finditer(self.text)]
        if causes and not self.reader.claims:
            yield "not read", "a cause: the facts hold no tested claim", None, None
        for match, fitting in [*english.verdicts(self.text)] or causes:
            said, what = self._near(match).keys(), f'"{match.group()}"'
            score = [sum(map(self.reader.weight, said & one.words)) for one in self.reader.claims]
            most = max(score, default=0)
            if not most:
                continue
            top = self.reader.claims[score.index(most)]
            pairs = zip(score, self.reader.claims, strict=True)
            fits = max((n for n, one in pairs if one.labels["verdict"] in fitting), default=0)
            if fits >= 0.999 * most:
                yield "borne out", what, None, None
            elif fits < RIVAL * most:
                yield "not borne out", what, top.labels["verdict"], top.pointer
            else:
                yield "not read", f"{what}: not told of which claim", None, None


def _choice(texts: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(texts, key=len, reverse=True))) or r"(?!)"
