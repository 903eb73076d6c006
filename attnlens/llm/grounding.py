"""Is what a text says in the facts? Numbers, names, labels, verdicts and causes, each in its place.

No grammar is used. A number is compared with the facts that its sentence names best: the words
around it weigh more the rarer they are among the facts and the nearer they stand. What cannot be
told either way is *not read*.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from attnlens.files import Json
from attnlens.llm import english
from attnlens.llm.english import phrases, stem
from attnlens.llm.facts import WORD, Fact, Facts, stems, whole
from attnlens.show.safe import visible

Array = NDArray[Any]
Answer = Literal["borne out", "not borne out", "not read"]

RIVAL: Final = 0.72
"""A number is in the wrong place where its fact is named less than this part of the best one."""

HALF, FURTHER, BEFORE = 30, 0.6, 0.5
"""A word weighs half so many signs away, less by a factor for each comma or conjunction between,
and so much in the sentence before, where a pronoun points back to it."""

ABOUT: Final = 0.15
"""A hedged number fits within this part of itself."""

IMPLIED: Final = stem("probability")
"""The field that a per cent sign stands for where no other is named."""

LONGEST: Final = 1000
"""Signs of a statement."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a field of knowledge says otherwise than its data does.

    Attributes:
        same: words of a text, and what the facts call the same (``six``: ``6``).
        items: a pattern of words before a label that is no number: ``row 7.1``.
        roles: what is said of a label under a key, by the key: ``{"teacher": "teaches|of"}``.
        forms: patterns of numbers, whose groups are fields.
        unread: keys that nothing is looked for under.
    """

    same: Mapping[str, str] = field(default_factory=dict)
    items: str = "(?!)"
    roles: Mapping[str, str] = field(default_factory=dict)
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
    before, statements = [], []
    for one in said:
        if len(one) > LONGEST or not english.is_read(one, facts.words):
            statements.append(Statement(one, "not read", "too long, or in another language"))
            continue
        sentence = _Sentence(one, reader, before)
        statements.append(sentence.answered())
        before = sentence.said
    return Checked(tuple(statements))


@dataclass(frozen=True, slots=True)
class _Said:
    """A word of a text, or a label with all of its words, and the places where it stands."""

    start: int
    end: int
    words: frozenset[str]
    places: Mapping[str, set[int]] = field(default_factory=dict)
    """By the key that it stands under there."""


class _Reader:
    """The facts, as far as a text can be about them."""

    def __init__(self, facts: Facts, text: str, vocabulary: Vocabulary) -> None:
        self.facts, self.vocabulary = facts, vocabulary
        self.value = np.array([fact.value for fact in facts.numbers])
        self.unit = np.array([fact.unit for fact in facts.numbers], "U6")
        self.same = {**english.lexicon()["same"], **vocabulary.same}
        self.places: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for index, place in enumerate(facts.places):
            for key, label in place.labels.items():
                self.places[label][key].add(index)
        self.together = {frozenset(place.labels) for place in facts.places}
        self.keys = {key for keys in self.together for key in keys}
        self.keyed = {word for key in self.keys for word in stems(key)}
        self.claims = [place for place in facts.places if "verdict" in place.labels]
        self._labels = self._labels_in(stems(text))
        self.names = _any_of(self._labels, 0)
        self.phrases = _any_of(set(self.same) - set(self._labels), re.IGNORECASE)
        self.row, self.field = (defaultdict[str, list[int]](list) for _ in range(2))
        for index, fact in enumerate(facts.numbers):
            for word in fact.row:
                self.row[word].append(index)
            for word in fact.field:
                self.field[word].append(index)

    def _labels_in(self, said: frozenset[str]) -> dict[str, set[str]]:
        """The labels that a text can be about, by how they are written there."""
        written: dict[str, set[str]] = defaultdict(set)
        for label in self.facts.labels:
            shown, last = label.replace("’", "'"), label.rpartition(" ")[2]
            if (len(shown) > 3 or "." in shown) and stems(shown) and stems(shown) <= said:
                written[shown].add(label)
            if last != label and len(last) > 3 and last[0].isupper() and stem(last) in said:
                written[last].add(label)
        for phrase, target in self.vocabulary.same.items():
            if target in self.facts.labels:
                written[phrase].add(target)
        for phrase in list(written):
            written[phrase[0].upper() + phrase[1:]] |= written[phrase]
        return written

    def label(self, match: re.Match[str]) -> _Said:
        """A label that a text names."""
        labels = self._labels[match.group()]
        words = {word for one in labels if len(one) > 2 for word in stems(one)}
        places: dict[str, set[int]] = defaultdict(set)
        for one in labels:
            for key, its in self.places[one].items():
                places[key] |= its
        return _Said(*match.span(), words.union(map(whole, labels)), places)

    def weight(self, word: str) -> float:
        """The rarer among the facts, the more."""
        count = len(self.row.get(word, ())) + len(self.field.get(word, ()))
        return float(np.log1p(len(self.value) / count)) if count else 0.0

    def named(self, near: Mapping[str, float], unit: str | None) -> tuple[Array, Array]:
        """How well words, by their closeness, name each fact that fits a unit, and its row."""
        row, column = np.zeros(len(self.value)), np.zeros(len(self.value))
        for word, closeness in near.items():
            row[self.row.get(word, [])] += closeness * self.weight(word)
            column[self.field.get(word, [])] += closeness * self.weight(word)
        if unit == "share":
            column[self.field.get(IMPLIED, [])] += 0.3 * self.weight(IMPLIED)
        fits = self.unit == unit
        return np.where(fits if fits.any() else self.unit != "points", row + column, 0), row


class _Sentence:
    """One statement, and what is found in it."""

    def __init__(self, text: str, reader: _Reader, before: list[_Said]) -> None:
        self.text, self.reader = text, reader
        self.clauses = [match.start() for match in english.CLAUSE.finditer(text)]
        self.labels = [reader.label(match) for match in reader.names.finditer(text)]
        taken = [(one.start, one.end) for one in self.labels]
        numbers = english.NUMBER.finditer(text)
        self.numbers = [match for match in numbers if not _within(match.span(), taken)]
        taken += [match.span() for match in self.numbers if not self._item(match)]
        spoken = {bisect(self.clauses, match.start()) for match in self.numbers}
        if not all(bisect(self.clauses, one.start) in spoken for one in self.labels):
            self.clauses = []  # a clause with a label and no number: each may be of any
        self.said = list(self.labels)
        for match in [*reader.phrases.finditer(text), *WORD.finditer(text)]:
            word = match.group().lower()
            if word not in english.words("stop") and not _within(match.span(), taken):
                taken.append(match.span())
                word = stem(reader.same.get(word, word))
                self.said.append(_Said(*match.span(), frozenset([word])))
        back = phrases("pronoun").search(text) and not self.labels
        self.before = {word: BEFORE for one in before if back for word in one.words}

    def answered(self) -> Statement:
        """The answer, with what is wrong, else what was not read, else what was found."""
        parts = [*self._numbers(), *self._roles(), *self._pairs(), *self._verdicts()]
        parts += self._names(bool(parts or self.labels))
        for answer in ("not borne out", "not read", "borne out"):
            if told := [one for one in parts if one.answer == answer]:
                what = "; ".join(dict.fromkeys(one.what for one in told))
                return Statement(self.text, told[0].answer, what, told[0].nearest, told[0].pointer)
        return self._told("not read", "nothing in it can be checked")

    def _told(self, answer: Answer, what: str, *place: str | None) -> Statement:
        return Statement(self.text, answer, what, *place)

    def _near(self, start: int, end: int) -> tuple[dict[str, float], dict[str, float]]:
        """How near the words of the clause of a place stand to it, and all words."""
        clause: dict[str, float] = {}
        every = dict(self.before)
        here = bisect(self.clauses, start)
        for one in sorted(self.said, key=lambda one: -abs(one.start - start)):
            if not start <= one.start < end:
                away = abs(bisect(self.clauses, one.start) - here)
                near = FURTHER**away / (1 + abs(one.start - start) / HALF)
                every |= dict.fromkeys(one.words, near)
                clause |= {} if away else dict.fromkeys(one.words, near)
        return clause, every

    # -- numbers

    def _item(self, match: re.Match[str]) -> re.Match[str] | None:
        """The word before a number that is the label of an item: "row" of "row 7.1"."""
        words = rf"\b({self.reader.vocabulary.items})s?,? $"
        bare = match["digits"] == match.group() and "." in match.group()
        return re.search(words, self.text[: match.start()], re.IGNORECASE) if bare else None

    def _numbers(self) -> Iterator[Statement]:
        forms = {
            match.start(name): name
            for form in self.reader.vocabulary.forms
            for match in re.finditer(form, self.text)
            for name in match.groupdict()
        }
        for match in self.numbers:
            said, item = match.group().strip(), self._item(match)
            if item is not None:
                yield self._told("not borne out", f'"{item[1]} {said}" is not there')
            elif len(self.reader.value):
                yield self._number(match, forms.get(match.start()))
            else:
                yield self._told("not read", f'number "{said}": the facts hold none')

    def _number(self, match: re.Match[str], form: str | None) -> Statement:
        reader, unit, said = self.reader, match.lastgroup, match.group().strip()
        shown = np.where((reader.unit == "share") & (unit == "share"), 100, 1) * reader.value
        value, near = english.value(match)
        before, after = self.text[: match.start()], self.text[match.end() :]
        hedged = english.ends(before, "hedge")
        right = np.abs(shown - value) <= (max(near, ABOUT * value) if hedged else near)
        clause, every = self._near(*match.span())
        for words in [{whole(form): 1.0}] if form else [clause, every]:
            named, row = reader.named(words, unit)
            best, top = int(np.argmax(np.where(right, named, -1))), int(np.argmax(named))
            told = form or row[best] or words is every
            if right[best] and told and 0 < named[top] <= named[best] * 1.001:
                return self._told("borne out", said, None, reader.facts.numbers[best].pointer)
        fact = reader.facts.numbers[top]
        told = form or (row[top] and _tells(fact, clause or every, unit))
        told = told and not (not _named(fact, every) and self._beside(fact, right))
        rivalled = named[best] * right[best] >= RIVAL * named[top]
        exact = form or unit != "digits" or hedged or "." in said or fact.value.is_integer()
        worked_out = (
            (unit != "points" and english.ends(before, "apart"))
            or english.COMPARED.match(after)
            or phrases("aside").search(self.text)
        )
        if not told or not exact or rivalled or worked_out:
            return self._told("not read", f'number "{said}": not told what it is of')
        nearest = f"{shown[top]:.6g}{match['share'] or match['points'] or ''}"
        return self._told("not borne out", f'number "{said}"', nearest, fact.pointer)

    def _beside(self, fact: Fact, right: Array) -> bool:
        """Whether a right number stands in the row of a fact."""
        row = fact.pointer.rpartition("/")[0]
        facts = self.reader.facts.numbers
        return any(facts[at].pointer.rpartition("/")[0] == row for at in np.flatnonzero(right))

    # -- names

    def _names(self, about: bool) -> Iterator[Statement]:
        """Names that are not in the facts, in a statement that is about them."""
        known = self.reader.facts.words | english.words("stop") | english.words("dates")
        taken = [(one.start, one.end) for one in self.labels]
        for run, _, begins in english.names(self.text):
            words = WORD.findall(run.group().removesuffix("'s"))
            strange = not all({stem(word), word.lower()} & known for word in words)
            if strange and not _within(run.span(), taken) and not (begins and len(words) == 1):
                sure = about and len(words) > 1
                yield self._told("not borne out" if sure else "not read", f'name "{run.group()}"')

    def _roles(self) -> Iterator[Statement]:
        """Who does what: the name is one that stands under such a key."""
        for one in self.labels:
            before, after = self.text[: one.start], self.text[one.end :]
            keys = [k for k, said in self.reader.vocabulary.roles.items() if re.match(f" (?:{said})\\b", after)]
            keys += [k for k in self.reader.keys if re.search(rf"\b{re.escape(k)},? $", before) and k not in english.words("stop")]
            for key in keys:
                found = {place for k, its in one.places.items() if stems(key) <= stems(k) for place in its}
                yield self._together(self.text[one.start : one.end], found)

    def _pairs(self) -> Iterator[Statement]:
        """Two labels that are said of each other stand in one row."""
        for one, other in pairwise(self.labels):
            words = WORD.findall(self.text[one.end : other.start].removeprefix("'s").lower())
            links = all(
                word in english.words("links") or stem(word) in self.reader.keyed or word[0].isdigit()
                for word in words
            )
            columns = any(
                {key, its} <= keys
                for key in one.places for its in other.places for keys in self.reader.together
            )
            if links and columns and not one.places.keys() & other.places.keys():
                both = set().union(*one.places.values()) & set().union(*other.places.values())
                yield self._together(self.text[one.start : other.end], both)

    def _together(self, said: str, places: set[int]) -> Statement:
        if not places:
            return self._told("not borne out", f'"{said}"')
        pointer = self.reader.facts.places[min(places)].pointer
        return self._told("borne out", f'"{said}"', None, pointer)

    # -- verdicts

    def _verdicts(self) -> Iterator[Statement]:
        """A verdict or a cause is that of the claim that the statement names best."""
        causes = [(match, "supported") for match in phrases("cause").finditer(self.text)]
        told = [*english.verdicts(self.text)] or causes
        for match, kind in told:
            if self.reader.claims:
                yield self._verdict(match, kind)
            elif phrases("cause").match(match.group()):
                yield self._told("not read", "a cause: the facts hold no tested claim")

    def _verdict(self, match: re.Match[str], kind: str) -> Statement:
        said, what = self._near(*match.span())[1].keys(), f'"{match.group()}"'
        ranked = [
            (sum(map(self.reader.weight, said & one.words)), one) for one in self.reader.claims
        ]
        most, top = max(ranked, key=lambda pair: pair[0])
        fits = (score for score, one in ranked
                if (one.labels["verdict"] != "supported" if kind == "unsupported" else one.labels["verdict"] == kind))
        right = max(fits, default=0)
        if most and right >= 0.999 * most:
            return self._told("borne out", what)
        if right < RIVAL * most:
            return self._told("not borne out", what, top.labels["verdict"], top.pointer)
        return self._told("not read", f"{what}: not told of which claim")


def _any_of(texts: Iterable[str], flags: int) -> re.Pattern[str]:
    choice = "|".join(map(re.escape, sorted(texts, key=len, reverse=True))) or r"(?!)"
    return re.compile(rf"(?<![\w.])(?<!'s )(?:{choice})(?!\w|\.\d| ?%)", flags)


def _within(span: tuple[int, int], spans: list[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in spans)


def _named(fact, words):
    return any(word in words for word in fact.field if word[0] != "=")


def _tells(fact: Fact, words: Mapping[str, float], unit: str | None) -> bool:
    """Whether a text names the field of a fact: by its unit, or by all that it is called."""
    if unit == "share" and IMPLIED in fact.field | fact.row:
        return True
    words_of = {word for word in fact.field if word[0] != "="}
    called = words_of.difference(map(stem, english.words("left_out"))) or words_of
    units = {word for word in called if not set("aeiou") & set(word)}
    told = called - units <= words.keys() and called != units
    return unit == fact.unit == "points" or told or not units.isdisjoint(words)
