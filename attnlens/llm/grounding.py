"""Is what a text says in the facts? Numbers, names, labels, verdicts and causes, each in its place.

No grammar is used. A number is compared with the facts that its sentence names best: the words
around it weigh more the rarer they are among the facts and the nearer they stand. Three answers:
*borne out*, *not borne out*, and *not read* for what cannot be told either way.
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
from attnlens.llm.facts import FRACTION, PERCENT, POINTS, WORD, Fact, Facts, stem, stems, whole
from attnlens.show.safe import visible

Array = NDArray[Any]
Answer = Literal["borne out", "not borne out", "not read"]

RIVAL: Final = 0.72
"""A number is in the wrong place where its fact is named less than this part of the best one."""

FURTHER: Final = 0.6
"""What a word weighs beyond a comma or a conjunction; once more for each."""

HALF: Final = 30
"""Signs between a number and a word at which the word weighs half."""

BEFORE: Final = 0.5
"""What the words of the sentence before weigh, where a pronoun points back."""

ABOUT, FAR = 0.1, 0.25
"""A hedged number fits within the first part of itself, and contradicts beyond the second."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a field says otherwise than its facts do.

    Attributes:
        same: words of a text, and the word of the facts for the same (``six``: ``6``).
        items: words before the label of an item, and the keys of such labels.
        roles: ways to say who does what, with keys in braces: ``{bowler} to {batter}``.
        forms: patterns of numbers, and the fields of their groups.
        unread: keys that nothing is looked for under.
        soft: keys whose numbers bear a text out, but contradict none.
    """

    same: Mapping[str, str] = field(default_factory=dict)
    items: Mapping[str, frozenset[str]] = field(default_factory=dict)
    roles: tuple[str, ...] = ()
    forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()
    soft: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence or clause of a text, and whether the facts bear it out.

    Attributes:
        text: as it stands in the text.
        answer: ``borne out``, ``not borne out`` or ``not read``.
        what: what was found, what is wrong, or why it was not read.
        nearest: what the facts hold in place of what is wrong.
        pointer: where in the facts that, or what was found, stands (RFC 6901).
        judged_by: the language model whose answer this is; ``None`` where none was asked.
    """

    text: str
    answer: Answer
    what: str
    nearest: str | None = None
    pointer: str | None = None
    judged_by: str | None = None

    def to_dict(self) -> Json:
        """Plain data; ``judged_by`` only where a model was asked."""
        data = asdict(self)
        return data if self.judged_by else {k: v for k, v in data.items() if k != "judged_by"}


@dataclass(frozen=True, slots=True)
class Checked:
    """The statements of a text, in its order."""

    statements: tuple[Statement, ...]

    @property
    def read(self) -> int:
        """How many could be told either way."""
        return sum(one.answer != "not read" for one in self.statements)

    @property
    def faults(self) -> tuple[Statement, ...]:
        """Those that are not borne out."""
        return tuple(one for one in self.statements if one.answer == "not borne out")

    def to_dict(self) -> Json:
        """``coverage`` and ``statements``, as `attnlens check --json` prints them."""
        coverage = {"read": self.read, "of": len(self.statements)}
        return {"coverage": coverage, "statements": [one.to_dict() for one in self.statements]}


def check_text(facts: Facts, text: str, vocabulary: Vocabulary) -> Checked:
    """Which statements of a text the facts bear out.

    Args:
        text: plain text or Markdown, in English; of other languages nothing is read.
    """
    said = [visible(one).replace("’", "'") for one in english.sentences(text)]
    reader = _Reader(facts, " ".join(said), vocabulary)
    statements = []
    before: list[_Word] = []
    for one in said:
        read = _Sentence(one, reader, before)
        statements.append(read.answered())
        before = read.words
    return Checked(tuple(statements))


@dataclass(frozen=True, slots=True)
class _Finding:
    answer: Answer
    what: str
    nearest: str | None = None
    pointer: str | None = None


@dataclass(frozen=True, slots=True)
class _Mention:
    """A label of the facts in a text, and the keys that it stands under."""

    start: int
    end: int
    labels: frozenset[str]
    keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a text, its place, and of a label's word the keys of that label."""

    where: int
    word: str
    keys: frozenset[str] = frozenset()

    def rivals(self, others: list[_Word]) -> bool:
        """Whether another label of the same kind is among others."""
        return any(self.keys & one.keys and one.where != self.where for one in others)


class _Reader:
    """The facts, as far as a text can be about them."""

    def __init__(self, facts: Facts, text: str, vocabulary: Vocabulary) -> None:
        self.facts, self.vocabulary = facts, vocabulary
        self.value = np.array([abs(fact.value) for fact in facts.numbers])
        self.kind = np.array([fact.kind for fact in facts.numbers])
        self.firm = np.array([fact.firm for fact in facts.numbers], bool)
        self.same = {**english.COMMON, **vocabulary.same}
        words = stems(text)
        known = {*words, *map(whole, facts.labels), *map(stem, (*self.same.values(), english.IMPLIED))}
        for fields in vocabulary.forms.values():
            known |= set(map(stem, fields))
        self.row = _postings(known, [fact.row for fact in facts.numbers])
        self.field = _postings(known, [fact.field for fact in facts.numbers])
        self._written = self._labels_in(words)
        self.names = _any_of(self._written, case=True)
        self.phrases = _any_of([one for one in self.same if one not in self._written])
        self.places: dict[tuple[str, str], set[int]] = defaultdict(set)
        told = frozenset().union(*self._written.values())
        for index, place in enumerate(facts.places):
            for key, label in place.labels.items():
                if label in told:
                    self.places[label, key].add(index)
        self.together = {frozenset(place.labels) for place in facts.places}
        self.keyed = {word for keys in self.together for key in keys for word in stems(key)}
        self.keyed = self.keyed.union(*(fact.field for fact in facts.numbers))
        self.items = {
            word: {label for label, its in facts.labels.items() if keys & its}
            for word, keys in vocabulary.items.items()
        }
        self.claims = [place for place in facts.places if "verdict" in place.labels]
        self.roles = [re.compile(form) for form in self._role_forms()]

    def _labels_in(self, words: frozenset[str]) -> dict[str, set[str]]:
        """The labels that a text can be about, by how they are written there."""
        written: dict[str, set[str]] = defaultdict(set)
        for label in self.facts.labels:
            shown, last = label.replace("’", "'"), label.rpartition(" ")[2]
            if stems(shown) and stems(shown) <= words and shown.lower() not in english.STOP:
                if len(shown) > 3 or "." in shown:
                    written[shown].add(label)
                    written[shown[0].upper() + shown[1:]].add(label)
            if last != label and len(last) > 3 and last[0].isupper() and stem(last) in words:
                written[last].add(label)
        for phrase, target in self.vocabulary.same.items():
            if target in self.facts.labels:
                written[phrase].add(target)
                written[phrase.capitalize()].add(target)
        return written

    def _role_forms(self) -> Iterator[str]:
        """Ways to say who does what, with the names that a text holds in place of the keys."""
        own = {key for form in self.vocabulary.roles for key in re.findall(r"{(\w+)}", form)}
        names = [one for one, labels in self._written.items() if one[0].isupper()]
        persons = [one for one in names if self._keys(self._written[one]) & own]
        for form in self.vocabulary.roles:
            if persons:
                yield form.format_map({key: _group(key, persons) for key in own})
        for key in {key for one in names for key in self._keys(self._written[one])}:
            if key.isidentifier() and names:
                said = re.escape(key.replace("_", " "))
                yield rf"\b{said} {_group(key, names)}"
                yield rf"\b(?:[Tt]he|'s|[Ii]ts) {said}, {_group(key, names)},"

    def _keys(self, labels: set[str]) -> set[str]:
        return {key for label in labels for key in self.facts.labels[label]}

    def mention(self, match: re.Match[str]) -> _Mention:
        """The label that a text names."""
        labels = self._written[match.group()]
        return _Mention(*match.span(), frozenset(labels), frozenset(self._keys(labels)))

    def is_name(self, label: str) -> bool:
        """Whether a label cannot be an ordinary word of a sentence."""
        return not label.islower() or label in self.vocabulary.same.values()

    def at(self, labels: Iterable[str], keys: Iterable[str]) -> set[int]:
        """The places of labels under keys."""
        return {at for one in labels for key in keys for at in self.places.get((one, key), ())}

    def weight(self, word: str) -> float:
        """The rarer among the facts, the more."""
        count = len(self.row.get(word, ())) + len(self.field.get(word, ()))
        return float(np.log1p(len(self.value) / count)) if count else 0.0

    def fits(self, unit: str) -> Array:
        """The facts that a number with a unit can be."""
        shares = (self.kind == FRACTION) | (self.kind == PERCENT)
        if unit == "share" and shares.any():
            return shares
        points = self.kind == POINTS
        return points if unit == "points" and points.any() else ~points

    def named(self, near: Mapping[str, float], *, share: bool) -> tuple[Array, Array]:
        """How much of each fact's row and of its field is named by words and their closeness."""
        row, column = np.zeros(len(self.value)), np.zeros(len(self.value))
        for word, closeness in near.items():
            weight = closeness * self.weight(word)
            row[self.row.get(word, [])] += weight
            column[self.field.get(word, [])] += weight
        if share and (word := stem(english.IMPLIED)) not in near:
            for places in (self.field, self.row):
                column[places.get(word, [])] += 0.3 * self.weight(word)
        return row, column


class _Sentence:
    """One statement, and what is found in it."""

    def __init__(self, text: str, reader: _Reader, before: list[_Word]) -> None:
        self.text, self.reader, self.before = text, reader, before
        self.clauses = [match.start() for match in english.CLAUSE.finditer(text)]
        self.dates = [match.span() for match in english.DATE.finditer(text)]
        self.mentions = [
            reader.mention(match)
            for match in reader.names.finditer(text)
        ]
        taken = [*self.dates, *((one.start, one.end) for one in self.mentions)]
        numbers = english.NUMBER.finditer(text)
        self.numbers = [match for match in numbers if not _within(match.span(), taken)]
        self.words = list(self._words())

    def _words(self) -> Iterator[_Word]:
        for one in self.mentions:
            for label in one.labels:
                for word in (whole(label), *(stems(label) if len(label) > 2 else ())):
                    yield _Word(one.start, word, one.keys)
        spans = [(one.start, one.end) for one in self.mentions]
        for match in self.reader.phrases.finditer(self.text):
            spans.append(match.span())
            yield _Word(match.start(), stem(self.reader.same[match.group().lower()]))
        spans += [match.span() for match in self.numbers if not self._item(match)]
        for match in WORD.finditer(self.text):
            if match.group().lower() not in english.STOP and not _within(match.span(), spans):
                yield _Word(match.start(), stem(match.group()))

    def answered(self) -> Statement:
        """The answer, with what is wrong, else what was not read, else what was found."""
        if not english.is_english(self.text):
            return Statement(self.text, "not read", "another language")
        findings = [*self._numbers(), *self._roles(), *self._pairs(), *self._verdicts()]
        findings += self._names(bool(findings or self.mentions))
        for answer in ("not borne out", "not read", "borne out"):
            of_it = [one for one in findings if one.answer == answer]
            if of_it:
                what = "; ".join(dict.fromkeys(one.what for one in of_it))
                return Statement(self.text, answer, what, of_it[0].nearest, of_it[0].pointer)
        return Statement(self.text, "not read", "nothing in it can be checked")

    def _near(self, start: int, end: int) -> Iterator[dict[str, float]]:
        """The words of a statement, and how near each stands to a place in it, in three ways.

        Those of the clause; all, of labels of one kind (two stations, say) those of the nearest
        clause; all, wherever they stand.
        """
        place = bisect(self.clauses, start)
        away = {one: abs(bisect(self.clauses, one.where) - place) for one in self.words}
        words = [one for one in self.words if not start <= one.where < end]
        nearest = [
            one
            for one in words
            if all(away[one] <= away[other] for other in words if one.rivals([other]))
        ]
        before = {}
        if english.PRONOUN.search(self.text):
            before = {one.word: BEFORE for one in self.before if not one.rivals(self.words)}
        near = {one: 1 / (1 + abs(one.where - start) / HALF) for one in words}
        yield _most((one.word, near[one]) for one in words if not away[one])
        yield before | _most((one.word, near[one] * FURTHER ** away[one]) for one in nearest)
        yield before | {one.word: 1.0 for one in words}

    # -- numbers

    def _item(self, match: re.Match[str]) -> re.Match[str] | None:
        """The word before a number that is the label of an item: "ball" of "ball 7.1"."""
        words = "|".join(map(re.escape, self.reader.items))
        if match["digits"] != match.group() or not words:
            return None
        comma = ",?" if "." in match.group() else ""
        return re.search(rf"\b({words})s?{comma} $", self.text[: match.start()], re.IGNORECASE)

    def _numbers(self) -> Iterator[_Finding]:
        vocabulary, labels = self.reader.vocabulary, self.reader.facts.labels
        forms = {
            match.start(group): name
            for form, names in vocabulary.forms.items()
            for match in re.finditer(form, self.text)
            for group, name in enumerate(names, start=1)
        }
        for match in self.numbers:
            item = self._item(match)
            if english.NUMBERED.search(self.text, 0, match.start()):
                yield _Finding("not read", f'number "{match.group().strip()}"')
            elif item is None:
                yield from self._number(match, forms.get(match.start()))
            elif "." in match.group() and match.group() not in labels:
                yield _Finding("not borne out", f'"{item[1]} {match.group()}" is not there')
        if self.dates:
            yield _Finding("not read", "a date")

    def _number(self, match: re.Match[str], form: str | None) -> Iterator[_Finding]:
        reader, unit = self.reader, match.lastgroup
        after = {one.word for one in self.words if one.where == match.end() + 1}
        if unit == "word" and not (form or after & reader.field.keys()):
            return
        value, rounding = _value(match)
        fits = reader.fits(unit or "")
        shown = np.where((reader.kind == FRACTION) & (unit == "share"), 100, 1) * reader.value
        hedge = english.HEDGE.search(self.text, max(match.start() - 40, 0), match.start())
        kind = hedge.lastgroup if hedge else None
        right, wrong = _compared(shown, value, rounding, kind)
        said = match.group().strip()
        sure = not (
            (kind == "derived" and unit != "points")
            or english.COMPARED.match(self.text, match.end())
            or any(not stems(one) <= reader.facts.words for one in english.ASIDE.findall(self.text))
        )
        ways = list(self._near(*match.span())) if form is None else [{stem(form): 1.0}]
        ranked = []
        for near in ways:
            row, column = reader.named(near, share=unit == "share")
            named = np.where(fits, row + column, 0)
            best, top = (int(np.argmax(np.where(of, named, -1))) for of in (right, reader.firm))
            ranked.append((best, top, named[best] if right[best] else 0, named[top], row))
        for place, (best, _, rival, most, row) in enumerate(ranked[:2]):
            if rival and rival >= 0.999 * most and (place or row[best] or form):
                yield _Finding("borne out", said, pointer=reader.facts.numbers[best].pointer)
                return
        _, top, rival, most, row = ranked[len(ranked) // 2]
        fact = reader.facts.numbers[top]
        sure &= bool(most and (row[top] or form)) and _tells(fact, ways[0] or ways[-1], unit)
        sure &= bool(form or unit or not after or after & fact.field)
        sure &= wrong[top] and rival < RIVAL * most
        if not self._tidy():
            sure &= ranked[-1][2] < RIVAL * ranked[-1][3]
        if sure:
            shown_as = f"{shown[top]:.6g}{match['share'] or match['points'] or ''}"
            yield _Finding("not borne out", f'number "{said}"', shown_as, fact.pointer)
        elif unit != "word":
            yield _Finding("not read", f'number "{said}": not told what it is of')

    def _tidy(self) -> bool:
        """Whether every clause with a label has a number, too: then each number is of its own."""
        clauses = {bisect(self.clauses, match.start()) for match in self.numbers}
        return all(bisect(self.clauses, one.start) in clauses for one in self.mentions)

    # -- names

    def _names(self, about: bool) -> Iterator[_Finding]:
        """Names that are not in the facts, in a statement that is about them."""
        known = self.reader.facts.words | english.NAMELESS | english.STOP
        spans = [*self.dates, *((one.start, one.end) for one in self.mentions)]
        for match in english.CAPITALS.finditer(self.text):
            words = [word.group() for word in WORD.finditer(match.group().removesuffix("'s"))]
            begins = re.search(r"(?:^|[.:\"“(] ?)$", self.text[: match.start()])
            strange = [word for word in words if not {stem(word), word.lower()} & known]
            if strange and not _within(match.span(), spans) and not (begins and len(words) == 1):
                if begins and strange == words[:1] and words[0].lower() in english.STOP:
                    continue
                sure = about and len(words) > 1 and not match.group().isupper()
                name = match.group().removesuffix("'s")
                yield _Finding("not borne out" if sure else "not read", f'name "{name}"')

    def _roles(self) -> Iterator[_Finding]:
        """Who does what: the name is one that stands under such a key."""
        reader = self.reader
        for form in reader.roles:
            for match in form.finditer(self.text):
                here = [
                    reader.at(one.labels, [its for its in one.keys if stems(key) <= stems(its)])
                    for key in match.groupdict()
                    for one in self.mentions
                    if one.start == match.start(key)
                ]
                if here:
                    yield self._together(match.group(), set.intersection(*here))

    def _together(self, said: str, places: set[int]) -> _Finding:
        if not places:
            return _Finding("not borne out", f'"{said}"')
        return _Finding("borne out", f'"{said}"', pointer=self.reader.facts.places[min(places)].pointer)

    def _pairs(self) -> Iterator[_Finding]:
        """Two labels that are said of each other stand in one row."""
        reader = self.reader
        for one, other in pairwise(self.mentions):
            between = self.text[one.end : other.start].removeprefix("'s")
            words = [word.group() for word in WORD.finditer(between)]
            telling = [word for word in words if word.lower() not in english.LINKS]
            said = {word.lower() for word in words} - {"the", "a", "an"}
            if len(words) > 7 or ("," in between and not said) or one.keys & other.keys:
                continue
            if not all(stem(word) in reader.keyed or word[0].isdigit() for word in telling):
                continue
            if any({key, its} <= keys for key in one.keys for its in other.keys for keys in reader.together):
                both = reader.at(one.labels, one.keys) & reader.at(other.labels, other.keys)
                said = self.text[one.start : other.end]
                if both or all(reader.is_name(label) for label in one.labels | other.labels):
                    yield self._together(said, both)

    # -- verdicts

    def _verdicts(self) -> Iterator[_Finding]:
        """A verdict or a cause is that of the claim that the statement names best."""
        if not self.reader.claims:
            if re.search(english.CAUSE, self.text, re.IGNORECASE):
                yield _Finding("not read", "a cause: the facts hold no tested claim")
            return
        said = [
            (match, verdict)
            for words, verdict in english.VERDICTS
            for match in re.finditer(words, self.text, re.IGNORECASE)
        ]
        taken: list[tuple[int, int]] = []
        for match, verdict in said:
            if not _within(match.span(), taken):
                taken.append(match.span())
                yield self._verdict(match, verdict.split("|"))

    def _verdict(self, match: re.Match[str], allowed: list[str]) -> _Finding:
        *_, near = self._near(*match.span())
        scores = [
            sum(near[word] * self.reader.weight(word) for word in near.keys() & claim.words)
            / len(claim.words) ** 0.5
            for claim in self.reader.claims
        ]
        most, top = max(zip(scores, self.reader.claims, strict=True), key=lambda pair: pair[0])
        has = [claim.labels["verdict"] in allowed for claim in self.reader.claims]
        best = max((score for score, one in zip(scores, has, strict=True) if one), default=-1.0)
        what = f'"{match.group()}"'
        if most and best >= 0.999 * most:
            return _Finding("borne out", what)
        if len(near.keys() & top.words) > 1 and best < RIVAL * most:
            return _Finding("not borne out", what, top.labels["verdict"], top.pointer)
        return _Finding("not read", f"{what}: not told of which claim")


def _postings(known: set[str], sets: list[frozenset[str]]) -> dict[str, list[int]]:
    """In which of the sets each known word is."""
    lists: dict[str, list[int]] = defaultdict(list)
    for index, words in enumerate(sets):
        for word in words & known:
            lists[word].append(index)
    return lists


def _any_of(texts: Iterable[str], *, case: bool = False) -> re.Pattern[str]:
    """Finds any of some texts, the longest first."""
    ordered = sorted(filter(None, texts), key=len, reverse=True)
    choice = "|".join(map(re.escape, ordered)) or r"(?!)"
    return re.compile(rf"(?<![\w.])(?<!'s )(?:{choice})(?!\w|\.\d| ?%)", 0 if case else re.IGNORECASE)


def _group(key: str, names: Iterable[str]) -> str:
    ordered = sorted(map(re.escape, names), key=len, reverse=True)
    return rf"(?P<{key}>{'|'.join(ordered)})(?!\w)"


def _most(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Of each word the greatest closeness."""
    most: dict[str, float] = {}
    for word, closeness in pairs:
        most[word] = max(most.get(word, 0.0), closeness)
    return most


def _within(span: tuple[int, int], spans: list[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in spans)


def _tells(fact: Fact, words: Mapping[str, float], unit: str | None) -> bool:
    """Whether a text names the field of a fact: by its unit, or all that it is called."""
    if unit == "share" and stem(english.IMPLIED) in fact.field | fact.row:
        return True
    called = {word for word in fact.field if word[0] != "="} - set(map(stem, english.UNITS))
    short = {word for word in called if not set("aeiou") & set(word)}
    if not called:
        return bool(unit)
    return not short.isdisjoint(words) or (called - short <= words.keys() and called != short)


def _value(match: re.Match[str]) -> tuple[float, float]:
    """A number of a text, and half of its last digit that counts."""
    if match["word"]:
        return float(english.COUNTS.index(match["word"].lower())), 1e-6
    digits = match["digits"].replace(",", "")
    scale = english.LARGE.get((match["large"] or "").lower(), 1.0)
    decimals = len(digits.partition(".")[2])
    zeros = len(digits) - len(digits.rstrip("0")) if not decimals and len(digits) > 3 else 0
    step = 10.0 ** (zeros - decimals) if zeros != 1 else 1.0
    return float(digits) * scale, 0.505 * step * scale


def _compared(shown: Array, value: float, rounding: float, hedge: str | None) -> tuple[Array, Array]:
    """Which facts a number fits, and which it contradicts."""
    if hedge == "above":
        return (shown >= value - rounding) & (shown <= 2 * value), shown < value - rounding
    if hedge == "below":
        return (shown <= value + rounding) & (shown >= value / 2), shown > value + rounding
    away = np.abs(shown - value)
    if hedge == "about":
        return away <= max(rounding, ABOUT * value), away > max(rounding, FAR * value)
    return away <= rounding, away > rounding
