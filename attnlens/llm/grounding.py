"""Is what a text says in the facts? Numbers, names, labels, verdicts and causes, each in its place.

No grammar is used. A number is compared with the facts that its sentence names best: the words
around it weigh more the rarer they are among the facts and the nearer they stand. What cannot be
told either way is *not read*.
"""

from __future__ import annotations

import math
import re
import time
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
from attnlens.llm.facts import LARGEST, WORD, Fact, Facts, stem, stems, whole
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
LONGEST: Final = 1000
"""Signs of a statement."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a field of knowledge says otherwise than its data does.

    Attributes:
        same: words of a text, and what the facts call the same (``six``: ``6``).
        items: a pattern of words before a label that is no number: ``row 7.1``.
        roles: ways to say who does what, with keys in braces: ``{teacher} of {pupil}``.
        forms: patterns of numbers, and the fields of their groups.
        unread: keys that nothing is looked for under.
    """

    same: Mapping[str, str] = field(default_factory=dict)
    items: str = "(?!)"
    roles: tuple[str, ...] = ()
    forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
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


def check_text(
    facts: Facts, text: str, vocabulary: Vocabulary, seconds: float = math.inf
) -> Checked:
    """Which statements of a plain or Markdown text, in English, the facts bear out.

    Args:
        seconds: after so long, what is left is not read.
    """
    until = time.monotonic() + seconds
    said = [visible(one).replace("’", "'") for one in english.statements(text)]
    reader = _Reader(facts, " ".join(said), vocabulary)
    statements = []
    before: list[_Said] = []
    for one in said:
        if len(one) > LONGEST:
            statements.append(Statement(one, "not read", "too long for one statement"))
        elif not english.is_english(one):
            statements.append(Statement(one, "not read", "another language"))
        elif time.monotonic() > until:
            statements.append(Statement(one, "not read", "there was no more time"))
        else:
            sentence = _Sentence(one, reader, before)
            statements.append(sentence.answered())
            before = sentence.said
    return Checked(tuple(statements))


@dataclass(frozen=True, slots=True)
class _Said:
    """A word of a text, or a label with all of its words and the keys that it stands under."""

    start: int
    end: int
    words: frozenset[str]
    labels: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()


class _Reader:
    """The facts, as far as a text can be about them."""

    def __init__(self, facts: Facts, text: str, vocabulary: Vocabulary) -> None:
        self.facts, self.vocabulary = facts, vocabulary
        self.value = np.array([fact.value for fact in facts.numbers])
        self.unit = np.array([fact.unit for fact in facts.numbers], "U6")
        self.same = {**english.COMMON, **vocabulary.same}
        self.words = stems(text)
        self._labels = self._labels_in()
        self.names = _any_of(self._labels, 0)
        self.phrases = _any_of(set(self.same) - set(self._labels), re.IGNORECASE)
        fields = (name for names in vocabulary.forms.values() for name in names)
        known = self.words.union(map(stem, (*self.same.values(), english.IMPLIED)))
        known = known.union(map(whole, (*facts.labels, *fields)))
        self.row = _postings(known, [fact.row for fact in facts.numbers])
        self.field = _postings(known, [fact.field for fact in facts.numbers])
        self.places: dict[tuple[str, str], set[int]] = defaultdict(set)
        for index, place in enumerate(facts.places):
            for key, label in place.labels.items():
                self.places[label, key].add(index)
        self.together = {frozenset(place.labels) for place in facts.places}
        self.keyed = {word for keys in self.together for key in keys for word in stems(key)}
        self.claims = [place for place in facts.places if "verdict" in place.labels]
        self.roles = [re.compile(form) for form in self._role_forms()] if self._labels else []

    def _labels_in(self) -> dict[str, set[str]]:
        """The labels that a text can be about, by how they are written there."""
        written: dict[str, set[str]] = defaultdict(set)
        for label in self.facts.labels:
            shown, last = label.replace("’", "'"), label.rpartition(" ")[2]
            told = stems(shown) and stems(shown) <= self.words
            if told and (len(shown) > 3 or "." in shown):
                written[shown].add(label)
                written[shown[0].upper() + shown[1:]].add(label)
            if last != label and len(last) > 3 and last[0].isupper() and stem(last) in self.words:
                written[last].add(label)
        for phrase, target in self.vocabulary.same.items():
            if target in self.facts.labels:
                written[phrase].add(target)
                written[phrase.capitalize()].add(target)
        return written

    def _keys(self, labels: Iterable[str]) -> frozenset[str]:
        return frozenset(key for label in labels for key in self.facts.labels[label])

    def _role_forms(self) -> Iterator[str]:
        """Ways to say who does what, with the names that a text holds in place of the keys."""
        names = {one: self._keys(its) for one, its in self._labels.items() if one[0].isupper()}
        name = _choice(names)
        for form in self.vocabulary.roles:
            yield re.sub(r"{(\w+)}", lambda key: rf"(?P<{key[1]}>{name})(?!\w)", form)
        for key in {key for keys in self.together for key in keys}:
            if key.isidentifier() and stems(key) <= self.words:
                said = key.replace("_", " ")
                yield rf"(?:[Tt]he|'s|[Ii]ts) {said},? (?P<{key}>{name})(?!\w)"

    def label(self, match: re.Match[str]) -> _Said:
        """A label that a text names."""
        labels = frozenset(self._labels[match.group()])
        words = frozenset(word for one in labels if len(one) > 2 for word in stems(one))
        return _Said(*match.span(), words.union(map(whole, labels)), labels, self._keys(labels))

    def at(self, labels: Iterable[str], keys: Iterable[str]) -> set[int]:
        """The places of labels under keys."""
        return {at for one in labels for key in keys for at in self.places.get((one, key), ())}

    def weight(self, word: str) -> float:
        """The rarer among the facts, the more."""
        count = len(self.row.get(word, ())) + len(self.field.get(word, ()))
        return float(np.log1p(len(self.value) / count)) if count else 0.0

    def named(self, near: Mapping[str, float], unit: str | None) -> tuple[Array, Array]:
        """How well words, by their closeness, name each fact that fits a unit, and its row."""
        row, column = np.zeros(len(self.value)), np.zeros(len(self.value))
        implied = {} if unit != "share" else {stem(english.IMPLIED): 0.3}
        for word, closeness in (implied | dict(near)).items():
            row[self.row.get(word, [])] += closeness * self.weight(word)
            column[self.field.get(word, [])] += closeness * self.weight(word)
        fits = self.unit == unit
        return np.where(fits if fits.any() else self.unit != "points", row + column, 0), row


class _Sentence:
    """One statement, and what is found in it."""

    def __init__(self, text: str, reader: _Reader, before: list[_Said]) -> None:
        self.text, self.reader, self.before = text, reader, before
        self.clauses = [match.start() for match in english.CLAUSE.finditer(text)]
        self.labels = [reader.label(match) for match in reader.names.finditer(text)]
        taken = [(one.start, one.end) for one in self.labels]
        numbers = english.NUMBER.finditer(text)
        self.numbers = [match for match in numbers if not _within(match.span(), taken)]
        taken += [match.span() for match in self.numbers if not self._item(match)]
        self.said = list(self.labels)
        for match in [*reader.phrases.finditer(text), *WORD.finditer(text)]:
            word = match.group().lower()
            if word not in english.STOP and not _within(match.span(), taken):
                taken.append(match.span())
                word = stem(reader.same.get(word, word))
                self.said.append(_Said(*match.span(), frozenset([word])))

    def answered(self) -> Statement:
        """The answer, with what is wrong, else what was not read, else what was found."""
        parts = [*self._numbers(), *self._roles(), *self._pairs(), *self._verdicts()]
        parts += self._names(bool(parts or self.labels))
        for answer in ("not borne out", "not read", "borne out"):
            told = [one for one in parts if one.answer == answer]
            if told:
                what = "; ".join(dict.fromkeys(one.what for one in told))
                return Statement(self.text, told[0].answer, what, told[0].nearest, told[0].pointer)
        return self._told("not read", "nothing in it can be checked")

    def _told(self, answer: Answer, what: str, *place: str | None) -> Statement:
        return Statement(self.text, answer, what, *place)

    def _near(self, start: int, end: int) -> tuple[dict[str, float], dict[str, float]]:
        """How near the words of the clause of a place stand to it, and all words."""
        before = self.before if english.PRONOUN.search(self.text) and not self.labels else []
        clause: dict[str, float] = {}
        every = {word: BEFORE for one in before for word in one.words}
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
        comma = ",?" if "." in match.group() else ""
        words = rf"\b({self.reader.vocabulary.items})s?{comma} $"
        bare = match["digits"] == match.group()
        return re.search(words, self.text[: match.start()], re.IGNORECASE) if bare else None

    def _numbers(self) -> Iterator[Statement]:
        forms = {
            match.start(group): name
            for form, names in self.reader.vocabulary.forms.items()
            for match in re.finditer(form, self.text)
            for group, name in enumerate(names, start=1)
        }
        for match in self.numbers:
            said, item = match.group().strip(), self._item(match)
            if item is None and len(self.reader.value):
                yield self._number(match, forms.get(match.start()))
            elif item is None:
                yield self._told("not read", f'number "{said}": the facts hold none')
            elif "." in said and said not in self.reader.facts.labels:
                yield self._told("not borne out", f'"{item[1]} {said}" is not there')

    def _number(self, match: re.Match[str], form: str | None) -> Statement:
        reader, unit, said = self.reader, match.lastgroup, match.group().strip()
        shown = np.where((reader.unit == "share") & (unit == "share"), 100, 1) * reader.value
        value, near = _value(match)
        hedged = english.HEDGE.search(self.text[: match.start()])
        if hedged:
            near = max(near, ABOUT * value)
        right = np.abs(shown - value) <= near
        clause, every = self._near(*match.span())
        for words in [{whole(form): 1.0}] if form else [clause, every]:
            named, row = reader.named(words, unit)
            best, top = int(np.argmax(np.where(right, named, -1))), int(np.argmax(named))
            told = form or row[best] or words is every
            if right[best] and told and 0 < named[top] <= named[best] * 1.001:
                return self._told("borne out", said, None, reader.facts.numbers[best].pointer)
        fact = reader.facts.numbers[top]
        told = form or (row[top] and _tells(fact, clause or every, unit))
        rivalled = named[best] * right[best] >= RIVAL * named[top]
        if not (form or self._tidy()):
            beside, _ = reader.named(dict.fromkeys(every, 1.0), unit)
            rivalled |= np.max(beside[right], initial=0) >= RIVAL * beside.max()
        exact = form or unit != "digits" or hedged or "." in said or fact.value.is_integer()
        if not told or not exact or rivalled or self._worked_out(match):
            return self._told("not read", f'number "{said}": not told what it is of')
        nearest = f"{shown[top]:.6g}{match['share'] or match['points'] or ''}"
        return self._told("not borne out", f'number "{said}"', nearest, fact.pointer)

    def _worked_out(self, match: re.Match[str]) -> bool:
        """Whether a number may be denied, a difference, a mean, or of another day."""
        return bool(
            (match.lastgroup != "points" and english.WORKED_OUT.search(self.text[: match.start()]))
            or english.COMPARED.match(self.text, match.end())
            or english.ASIDE.search(self.text)
        )

    def _tidy(self) -> bool:
        """Whether every clause with a label has a number, too: then each number is of its own."""
        clauses = {bisect(self.clauses, match.start()) for match in self.numbers}
        return all(bisect(self.clauses, one.start) in clauses for one in self.labels)

    # -- names

    def _names(self, about: bool) -> Iterator[Statement]:
        """Names that are not in the facts, in a statement that is about them."""
        known = self.reader.facts.words | english.NAMELESS
        taken = [(one.start, one.end) for one in self.labels]
        for match in english.CAPITALS.finditer(self.text):
            name = match.group().removesuffix("'s")
            words = WORD.findall(name)
            begins = re.search(r"(?:^|[.:\"“(] ?)$", self.text[: match.start()])
            strange = not all({stem(word), word.lower()} & known for word in words)
            if strange and not _within(match.span(), taken) and not (begins and len(words) == 1):
                sure = about and len(words) > 1
                yield self._told("not borne out" if sure else "not read", f'name "{name}"')

    def _roles(self) -> Iterator[Statement]:
        """Who does what: the name is one that stands under such a key."""
        for form in self.reader.roles:
            for match in form.finditer(self.text):
                here = [
                    self.reader.at(one.labels, (k for k in one.keys if stems(key) <= stems(k)))
                    for key in match.groupdict()
                    for one in self.labels
                    if one.start == match.start(key)
                ]
                if here:
                    yield self._together(match.group(), set.intersection(*here))

    def _pairs(self) -> Iterator[Statement]:
        """Two labels that are said of each other stand in one row."""
        reader = self.reader
        for one, other in pairwise(self.labels):
            words = WORD.findall(self.text[one.end : other.start].removeprefix("'s").lower())
            links = all(
                word in english.LINKS or stem(word) in reader.keyed or word[0].isdigit()
                for word in words
            )
            columns = any(
                {k, its} <= keys for k in one.keys for its in other.keys for keys in reader.together
            )
            if links and columns and not one.keys & other.keys:
                both = reader.at(one.labels, one.keys) & reader.at(other.labels, other.keys)
                yield self._together(self.text[one.start : other.end], both)

    def _together(self, said: str, places: set[int]) -> Statement:
        if not places:
            return self._told("not borne out", f'"{said}"')
        pointer = self.reader.facts.places[min(places)].pointer
        return self._told("borne out", f'"{said}"', None, pointer)

    # -- verdicts

    def _verdicts(self) -> Iterator[Statement]:
        """A verdict or a cause is that of the claim that the statement names best."""
        if not self.reader.claims:
            if english.CAUSE.search(self.text):
                yield self._told("not read", "a cause: the facts hold no tested claim")
            return
        taken: list[tuple[int, int]] = []
        for words, allowed in english.VERDICTS:
            for match in words.finditer(self.text):
                if not _within(match.span(), taken):
                    taken.append(match.span())
                    yield self._verdict(match, allowed)

    def _verdict(self, match: re.Match[str], allowed: set[str]) -> Statement:
        said = self._near(*match.span())[1].keys()
        ranked = [
            (sum(map(self.reader.weight, said & one.words)), one) for one in self.reader.claims
        ]
        most, top = max(ranked, key=lambda pair: pair[0])
        right = max((score for score, one in ranked if one.labels["verdict"] in allowed), default=0)
        what = f'"{match.group()}"'
        if most and right >= 0.999 * most:
            return self._told("borne out", what)
        if right < RIVAL * most:
            return self._told("not borne out", what, top.labels["verdict"], top.pointer)
        return self._told("not read", f"{what}: not told of which claim")


def _postings(known: frozenset[str], sets: list[frozenset[str]]) -> dict[str, Array]:
    """In which of the sets each known word is."""
    lists: dict[str, list[int]] = defaultdict(list)
    for index, words in enumerate(sets):
        for word in words & known:
            lists[word].append(index)
    return {word: np.array(indices) for word, indices in lists.items()}


def _choice(texts: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(texts, key=len, reverse=True))) or r"(?!)"


def _any_of(texts: Iterable[str], flags: int) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.])(?<!'s )(?:{_choice(texts)})(?!\w|\.\d| ?%)", flags)


def _within(span: tuple[int, int], spans: list[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in spans)


def _tells(fact: Fact, words: Mapping[str, float], unit: str | None) -> bool:
    """Whether a text names the field of a fact: by its unit, or by all that it is called."""
    if unit == "share" and stem(english.IMPLIED) in fact.field | fact.row:
        return True
    words_of = {word for word in fact.field if word[0] != "="}
    called = words_of.difference(map(stem, english.LEFT_OUT)) or words_of
    units = {word for word in called if not set("aeiou") & set(word)}
    told = called - units <= words.keys() and called != units
    return unit == fact.unit == "points" or told or not units.isdisjoint(words)


def _value(match: re.Match[str]) -> tuple[float, float]:
    """A number of a text, and half of its last digit that counts."""
    digits = match["digits"].replace(",", "")
    scale = english.LARGE.get((match["large"] or "").lower(), 1.0)
    zeros = len(digits) - len(digits.rstrip("0")) if digits.endswith("000") else 0
    last = 10.0 ** min(-len(digits.partition(".")[2]) or zeros, 300)
    return min(float(digits) * scale, LARGEST), 0.505 * last * scale
