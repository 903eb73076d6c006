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
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from itertools import chain, zip_longest
from types import MappingProxyType
from typing import Any, Final, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from attnlens.files import Json
from attnlens.llm import english
from attnlens.llm.comparisons import Answer, Found, Told, compared, in_words, ranked, unit_of
from attnlens.llm.english import phrases, stem
from attnlens.llm.facts import WORD, Facts, Row, stems, whole
from attnlens.render.safe import visible

RIGHT, RIVAL, ROW = 0.9, 0.6, 0.5
"""A number is borne out where a fact that has it is named so well, beside the best one; it is in
the wrong place where none is named even so well. Of the row alone, so well is enough."""

HALF, FURTHER = 30, 0.6
"""A word weighs half so many signs away, less by a factor for each comma or conjunction between."""

KEY = 3.0
"""So much weighs a field's key right before a number."""

NEAR, ABOUT = 16, 0.15
"""Signs around a number that tell how it is meant; a hedged one fits within this part of itself."""

IMPLIED: Final = stem("probability")
"""The field that a per cent sign stands for where no other is named."""

LONGEST: Final = 1000
"""Signs of a statement."""

LEFT_OUT: Final = frozenset(map(stem, english.words("left_out")))
Same = Mapping[str, str]
Near = tuple[dict[str, float], dict[str, float]]
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Owned(NamedTuple):
    """Whose facts are: labels of one kind, of which only one can be meant.

    Attributes:
        kinds: of a label, its kind and the key that it has now.
        of: the beginning of a pointer, and the labels of which what stands under it may be.
    """

    kinds: Mapping[str, tuple[str, str]] = NOTHING
    of: Mapping[str, tuple[str, ...]] = NOTHING


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence or clause of a text, and whether the facts bear it out.

    ``what`` was found, is wrong, or was not read; ``nearest`` is what the facts hold in place of
    what is wrong, ``pointer`` where they do (RFC 6901).
    """

    text: str
    answer: Answer
    what: str
    nearest: str | None = None
    pointer: str | None = None


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
        """What `attnlens check --json` prints."""
        told = [asdict(one) for one in self.statements]
        return {"coverage": {"read": self.read, "of": len(told)}, "statements": told}


def check_text(
    facts: Facts,
    text: str,
    same: Same = NOTHING,
    plain: Same = NOTHING,
    owned: Owned | None = None,
    *,
    seconds: float = math.inf,
) -> Checked:
    """Which statements of a plain or Markdown text, in English, the facts bear out.

    Args:
        same: words, and what the facts call them (``six``: ``6``).
        plain: patterns, and what is read in their place (``3:1``: ``scored 3, conceded 1``).
        owned: whose facts are, where a row has several of a kind.
        seconds: after so long, what is left is not read.
    """
    until = time.monotonic() + seconds
    said = [visible(one).replace("’", "'") for one in english.statements(text)]
    read = [english.in_digits(one[:LONGEST], same) for one in said]
    for pattern, words in plain.items():
        read = [re.sub(pattern, words, one) for one in read]
    reader = _Reader(facts, stems(" ".join(read)), same, owned or Owned())
    late = "there was no more time"
    return Checked(
        tuple(
            Statement(one, "not read", late)
            if time.monotonic() > until
            else reader.answered(one, words)
            for one, words in zip(said, read, strict=True)
        )
    )


class _Word(NamedTuple):
    """A word of a text, or a label with its words, and its rows by the key that it has there."""

    start: int
    end: int
    words: Set[str]
    rows: Mapping[str, Set[int]] = NOTHING


class _Reader:
    """The facts, as far as a text of such words can be about them."""

    def __init__(self, facts: Facts, said: Set[str], same: Same, owned: Owned) -> None:
        self.facts, self.owned = facts, owned
        self.value = np.array([fact.value for fact in facts.numbers])
        self.unit = np.array([fact.unit for fact in facts.numbers], "U6")
        self.row, self.field = (defaultdict[str, list[int]](list) for _ in range(2))
        for index, fact in enumerate(facts.numbers):
            for words, lists in ((fact.row.words, self.row), (fact.field, self.field)):
                for word in words:
                    lists[word].append(index)
        self.at = {fact.pointer: fact for fact in facts.numbers}
        self.together = {frozenset(row.labels) for row in facts.rows}
        self.keys = {word for keys in self.together for key in keys for word in {key, *stems(key)}}
        self.claims = [row for row in facts.rows if "verdict" in row.labels]
        self.same = {**dict.fromkeys(english.words("probability"), IMPLIED), **same}
        self.labels = self._written(said, same)
        self.tokens = re.compile(
            rf"(?<![\w.])(?<!'s )(?P<label>{_choice(self.labels)})"
            r"(?!\w|\.\d| ?%|(?<=\.\d) (?:an?|for|points)\b)"
            rf"|{english.NUMBER.pattern}|(?i:{_choice(self.same)})(?!\w)"
            rf"|[a-z]+(?:_[a-z]+)+|{WORD.pattern}"
        )

    def _written(self, said: Set[str], same: Same) -> dict[str, set[str]]:
        """The labels that a text can be about, by how they are written there."""
        labels: dict[str, set[str]] = defaultdict(set)
        for label in self.facts.labels:
            for form in {label, label.rpartition(" ")[2]}:
                long = len(form) > 3 or "." in form or (len(form) > 2 and label in self.owned.kinds)
                if long and (form == label or form[0].isupper()) and set() < stems(form) <= said:
                    labels[form.replace("’", "'")].add(label)
        for form, label in same.items():
            if label in self.facts.labels:
                labels[form].add(label)
        for form in list(labels):
            labels[form[0].upper() + form[1:]] |= labels[form]
        return labels

    def answered(self, statement: str, text: str) -> Statement:
        """A statement with its answer: what is wrong, else was not read, else was found."""
        if len(statement) > LONGEST or not english.is_read(statement, self.facts.words):
            return Statement(statement, "not read", "too long, or in another language")
        numbers, words = list[re.Match[str]](), list[_Word]()
        for token in self.tokens.finditer(text):
            if token["digits"]:
                numbers.append(token)
            else:
                words.append(self._word(token))
        labels = [word for word in words if word.rows]
        told, found = self._numbers(numbers, words, english.clauses(text), statement)
        verdicts = [*self._verdicts(text, words)]
        claims = {one[3] for one in verdicts if one[0] == "borne out"}
        rows = [fact.row for _, fact in told if self._one_of_a_kind(fact.row)]
        rows += [row for row in self.facts.rows if row.pointer in claims]
        found += [
            *verdicts,
            *self._labels(text, labels),
            *self._names(text, labels),
            *compared(text, told, self.facts),
            *ranked(text, len(numbers), told, self.facts),
            *self._placed(text, labels, told, {word for row in rows for word in row.words}),
            *in_words(text, self.same),
        ]
        found = found or [("not read", "nothing in it can be checked", None, None)]
        first = min(found, key=lambda one: get_args(Answer).index(one[0]))
        what = "; ".join(dict.fromkeys(one[1] for one in found if one[0] == first[0]))
        return Statement(statement, first[0], what, *first[2:])

    def _word(self, token: re.Match[str]) -> _Word:
        """A token that is no number."""
        if not token["label"]:
            word = self.same.get(token.group().lower(), token.group().lower())
            return _Word(*token.span(), set() if word in english.words("stop") else {stem(word)})
        labels, rows = self.labels[token.group()], defaultdict[str, set[int]](set)
        words = {word for one in labels if len(one) > 2 for word in stems(one)}
        for key, its in chain.from_iterable(self.facts.labels[one].items() for one in labels):
            rows[key] |= its
        return _Word(*token.span(), words.union(map(whole, labels)), rows)

    def _weight(self, word: str) -> float:
        """The rarer among the facts, the more."""
        count = len(self.row.get(word, ())) + len(self.field.get(word, ()))
        return float(np.log1p(len(self.value) / count)) if count else 0.0

    def _named(self, near: Mapping[str, float], unit: str | None) -> tuple[NDArray[Any], ...]:
        """How well words, by their closeness, name each fact that fits a unit, and its row."""
        row, field = np.zeros(len(self.value)), np.zeros(len(self.value))
        implied = {IMPLIED: 0.3} if unit == "share" else {}
        for word, closeness in {**implied, **near}.items():
            field[self.field.get(word, [])] += closeness * self._weight(word)
            if word != IMPLIED:
                row[self.row.get(word, [])] += closeness * self._weight(word)
        fits = self.unit == unit
        return np.where(fits if fits.any() else self.unit != "points", row + field, 0), row

    def _numbers(
        self,
        numbers: Iterable[re.Match[str]],
        words: list[_Word],
        clauses: list[int],
        statement: str,
    ) -> tuple[Told, list[Found]]:
        """Numbers that are borne out, and what is said of all; of those in words, only that."""
        read = [(one, self._number(one, _near(one, words, clauses))) for one in numbers]
        told = [(one, self.at[said[3] or ""]) for one, said in read if said[0] == "borne out"]
        right = {fact.pointer for _, fact in told}
        found: list[Found] = []
        for number, one in read:
            in_words = re.search(rf"(?<![\d.]){number['digits']}(?![\d.]\d)", statement) is None
            if one[0] == "not borne out" and (one[3] in right or in_words):
                one = ("not read", f"{one[1]}: not told what it is of", None, None)
            found.append(one)
        found += [one for number, fact in told for one in unit_of(number, fact)]
        return told, found

    def _number(self, number: re.Match[str], near: Near) -> Found:
        """A number of what the words around it name, those of its clause, else all."""
        unit, facts = number.lastgroup, self.facts.numbers
        said, (value, off) = f'"{number.group().strip()}"', english.value(number)
        around = [
            re.split("[,;:(]", number.string[: number.start()])[-1][-NEAR:],
            re.split("[,;:(]", number.string[number.end() :])[0][:NEAR],
        ]
        hedged = phrases("hedge").search(around[0])
        shown = self.value / np.where((self.unit == "share") & (unit != "share"), 100, 1)
        right = np.abs(shown - value) <= (max(off, ABOUT * value) if hedged else off)
        if phrases("at_least").search(around[0]):
            right &= shown >= 0.999 * value
        elif phrases("at_most").search(around[0]):
            right &= shown <= 1.001 * value
        # Of facts that are named as well, a hedged number is that of the nearest.
        away = 1e-6 * np.abs(shown - value) / (1 + value) if hedged else 0
        for words in near:
            named, row = self._named(words, unit)
            if not named.any():
                continue
            best, top = int(np.argmax(np.where(right, named - away, -1))), int(np.argmax(named))
            told = row[best] >= ROW * row[top] and (row[best] or words is near[-1])
            if right[best] and told and named[best] >= RIGHT * named[top]:
                return "borne out", said, None, facts[best].pointer
        if not named.any():
            return "not read", f"number {said}: not told what it is of", None, None
        fact = facts[top]
        beside = any(facts[at].row is fact.row for at in np.flatnonzero(right))
        called = fact.field - LEFT_OUT or fact.field
        field = unit == fact.unit == "points" or not called.isdisjoint(words)
        implied = unit == "share" and IMPLIED in fact.field | fact.row.words and not beside
        if (
            row[top]
            and (field or implied)
            and not (right & (named >= RIVAL * named[top]) & (row >= ROW * row[top])).any()
            and (unit != "digits" or hedged or ("." in said) != fact.value.is_integer())
            and not phrases("aside").search(number.string)
            and not any(map(phrases("gap" if unit == "points" else "apart").search, around))
        ):
            nearest = f"{shown[top]:.6g}{number['share'] or number['points'] or ''}"
            return "not borne out", f"number {said}", nearest, fact.pointer
        return "not read", f"number {said}: not told what it is of", None, None

    def _labels(self, text: str, labels: list[_Word]) -> Iterator[Found]:
        """A label stands under the key before it, and in one row with one that it is said of."""
        links, roles = {*self.keys, *english.words("links")}, self.keys - {*english.words("stop")}
        for one, other in zip_longest(labels, labels[1:]):
            named = roles if text[one.start].isupper() else set()
            for key in named.intersection(re.findall(r"(\w+),? $", text[: one.start])):
                rows = (its for name, its in one.rows.items() if stems(key) <= stems(name))
                yield self._together(text[one.start : one.end], set().union(*rows))
            if other is None or not one.rows.keys().isdisjoint(other.rows):
                continue
            between = text[one.end : other.start]
            words = WORD.findall(between.removeprefix("'s").lower())
            pairs = [{key, its} for key in one.rows for its in other.rows]
            known = any(pair <= keys for pair in pairs for keys in self.together)
            known = known and not between.startswith(", the ")
            if known and all({word, stem(word)} & links or word[0].isdigit() for word in words):
                both = set().union(*one.rows.values()) & set().union(*other.rows.values())
                yield self._together(text[one.start : other.end], both)

    def _together(self, said: str, rows: Set[int]) -> Found:
        if not rows:
            return "not borne out", f'"{said}"', None, None
        return "borne out", f'"{said}"', None, self.facts.rows[min(rows)].pointer

    def _names(self, text: str, labels: list[_Word]) -> Iterator[Found]:
        """Names that are not in the facts; one with a part that is can only be another's."""
        for run, words, begins in english.names(text):
            known = (stems(one) <= self.facts.words or english.is_common(one) for one in words)
            if not all(known) and not (begins and len(words) == 1):
                sure = any(run.start() <= one.start < run.end() for one in labels)
                yield "not borne out" if sure else "not read", f'name "{run.group()}"', None, None

    def _verdicts(self, text: str, words: list[_Word]) -> Iterator[Found]:
        """A verdict, else a cause, is that of the claim that the statement names best."""
        causes = [(match, {"supported"}) for match in phrases("cause").finditer(text)]
        if causes and not self.claims:
            yield "not read", "a cause: the facts hold no tested claim", None, None
        for match, fitting in [*english.verdicts(text)] or causes:
            said, what = _near(match, words)[1].keys(), f'"{match.group()}"'
            score = [sum(map(self._weight, said & one.words)) for one in self.claims]
            most = max(score, default=0)
            if not most:
                continue
            top, pairs = self.claims[score.index(most)], zip(score, self.claims, strict=True)
            fits = max((n for n, one in pairs if one.labels["verdict"] in fitting), default=0)
            if fits >= 0.999 * most:
                yield "borne out", what, None, None
            elif fits < RIVAL * most:
                yield "not borne out", what, top.labels["verdict"], top.pointer
            else:
                yield "not read", f"{what}: not told of which claim", None, None

    def _one_of_a_kind(self, row: Row) -> bool:
        """Whether a row names no two of whom only one can be meant."""
        return len(self.owned.kinds.keys() & set(row.labels.values())) < 2

    def _placed(
        self, text: str, labels: list[_Word], told: Told, rows: Set[str]
    ) -> Iterator[Found]:
        """A number stands beside whose it is; somebody beside nothing of his is not read."""
        kinds, mine = self.owned.kinds, [self.labels[text[one.start : one.end]] for one in labels]
        sure = {at for at, one in enumerate(labels) if one.words & rows}
        for number, fact in told:
            for owners in {its for at, its in self.owned.of.items() if fact.pointer.startswith(at)}:
                kin = [
                    at for at, its in enumerate(mine) if kinds[owners[0]][0] in _kinds(its, kinds)
                ]
                beside = [at for at in kin if text[: labels[at].start].endswith("against ")]
                own = [at for at in kin if at not in beside]
                nearest = [at for at in own if labels[at].start < number.start()][-1:] or own[:1]
                if nearest and not mine[nearest[0]].isdisjoint(owners):
                    sure |= {nearest[0], *(at for at in beside if mine[at].isdisjoint(owners))}
                elif len(own) == len(owners) == 1:
                    yield "not borne out", f'"{number.group().strip()}"', owners[0], fact.pointer
        for at, its in enumerate(mine):
            said = text[labels[at].start : labels[at].end]
            role = re.search(r"(\w+),? $", text[: labels[at].start])
            named = {kinds[one][1] for one in its if one in kinds}
            strange = bool(named) if kinds else said[0].isupper() and bool(told)
            if strange and at not in sure and not (role and role[1] in named):
                yield "not read", f'"{said}": not told what is said of it', None, None


def _kinds(labels: Iterable[str], kinds: Mapping[str, tuple[str, str]]) -> set[str]:
    return {kinds[one][0] for one in labels if one in kinds}


def _near(place: re.Match[str], words: Iterable[_Word], clauses: Sequence[int] = ()) -> Near:
    """How near the words of the clause of a place stand to it, and all words."""
    own, every, start = dict[str, float](), dict[str, float](), place.start()
    for one in sorted(words, key=lambda one: -abs(one.start - start)):
        if not start <= one.start < place.end():
            away = abs(bisect(clauses, one.start) - bisect(clauses, start))
            near = FURTHER**away / (1 + abs(one.start - start) / HALF)
            every |= dict.fromkeys(one.words, near)
            own |= {} if away else dict.fromkeys(one.words, near)
    for key in re.findall(r"(\w+) $", place.string[:start]):
        own[whole(key)] = every[whole(key)] = KEY
    return own, every


def _choice(texts: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(texts, key=len, reverse=True))) or r"(?!)"
