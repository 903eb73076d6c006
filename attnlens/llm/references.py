"""Sentences with ``{id}`` references, filled in from data; a sentence that says more is dropped.

What can be checked is told by references alone: numbers, names, verdicts. What stands around them
may hold none of these, no cause that no supported claim carries, and no direction that the
references contradict. Parts of ids between dots mean the same whatever the data is about:

``p.THING``, ``p.THING.usual``: how likely a thing is, and what is usual; a sentence that names the
thing must refer to it. ``NAME.before``, ``NAME.after``: a figure and what becomes of it.
``NAME.points``: a change with its sign. ``NAME.verdict``: what a test says of NAME. Where it prints
``supported``, a sentence about NAME may tell a cause; else it must tell the verdict, whatever its
words, so that none of them can make a cause of what is none.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, Final

from attnlens.errors import InputError
from attnlens.files import Json
from attnlens.llm import english
from attnlens.llm.places import HOLE, REFERENCE, Places, misplaced
from attnlens.render.safe import visible

MOST_TEXT: Final = 1 << 26
FROM_TO: Final = re.compile(rf"from (?:about )?{REFERENCE.pattern},? to {REFERENCE.pattern}")


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence as it was written and as it reads; dropped, with an empty text, for its faults."""

    written: str
    text: str
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rendered:
    """Sentences in the order in which they were written."""

    sentences: tuple[Told, ...]

    @property
    def text(self) -> str:
        """What is left, as one paragraph."""
        return " ".join(told.text for told in self.sentences if told.text)

    @property
    def dropped(self) -> tuple[Told, ...]:
        """What is not in the text, each with its faults."""
        return tuple(told for told in self.sentences if told.faults)

    def to_dict(self) -> Json:
        """``text``, and ``dropped`` with ``written`` and ``faults`` of each."""
        dropped = [{"written": one.written, "faults": list(one.faults)} for one in self.dropped]
        return {"text": self.text, "dropped": dropped}

    def __str__(self) -> str:
        return self.text


class References:
    """What sentences may refer to, and what they may not say without it.

    Attributes:
        texts: what each id prints.
    """

    def __init__(
        self,
        texts: Mapping[str, str],
        names: Iterable[str] = (),
        terms: Iterable[str] = (),
        places: Places | None = None,
    ) -> None:
        """
        Args:
            names: what no sentence may write itself; texts that read like names come too.
            terms: phrases that may be written only where a text holds them.
            places: what the field knows of where its ids may stand.
        """
        self.texts = dict(texts)
        self._places = places or Places()
        named = [*names, *filter(_is_name, texts.values())]
        self._names = {word for name in named for word in _words(name)} - set(
            english.words("little")
        )
        said, ids = " ".join(texts.values()).casefold(), " ".join(texts).casefold()
        self._terms = [term for term in terms if term not in said]
        self._known = _words(f"{said} {ids}")
        self._nouns = "|".join(sorted({re.escape(word.rstrip("s")) for word in _words(ids)}))
        things = {name.split(".")[1] for name in texts if name.startswith("p.")} - set(texts)
        self._things = {
            thing: re.compile(rf"\b{thing.replace('_', '[ -]')}(?:e?s)?\b", re.IGNORECASE)
            for thing in sorted(things)
        }

    def render(self, sentences: object) -> Rendered:
        """Sentences filled in, or dropped with the reasons.

        Args:
            sentences: a list of texts, a mapping with such a list ``sentences``, or JSON of either.

        Raises:
            InputError: they are something else.
        """
        given: Any = parsed(sentences, "the sentences")
        if isinstance(given, Mapping):
            given = given.get("sentences")
        if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
            raise InputError(
                "the sentences are neither a list of texts nor a mapping with such a list",
                remedy='give ["..."] or {"sentences": ["..."]}',
            )
        return Rendered(tuple(self.told(one) for one in given))

    def told(self, sentence: str) -> Told:
        """One sentence filled in, or dropped with the reasons."""
        sentence = visible(sentence)
        faults = tuple(dict.fromkeys(self._faults(sentence)))
        return Told(sentence, "" if faults else self._filled(sentence), faults)

    def _filled(self, sentence: str) -> str:
        text = ""
        for at, piece in enumerate(REFERENCE.split(sentence)):
            text = _joined(text, self.texts[piece] if at % 2 else piece)
        text = text[:1].upper() + text[1:]
        return text if text.rstrip("\"')”’").endswith((".", "!", "?", "…")) else f"{text}."

    def _faults(self, sentence: str) -> Iterator[str]:
        names = REFERENCE.findall(sentence)
        for name in names:
            if name not in self.texts:
                nearest = get_close_matches(name, self.texts, 1)
                near = f"; nearest: {{{nearest[0]}}}" if nearest else ""
                yield f"{{{name}}} refers to nothing{near}"
        if not self.texts.keys() >= set(names):
            return
        if not names:
            yield "it refers to nothing, so nothing bears it out"
        rest, ids = REFERENCE.sub(HOLE, sentence), names
        if "times" in names:  # it is that of one thing
            ids = [*names, *(name for name in self.texts if name.endswith(".times"))]
        if "{" in rest or "}" in rest:
            yield "a brace is left over"
        if re.search(rf"\w{HOLE}|{HOLE}\w", rest):
            yield "a reference is part of a word"
        yield from self._things_in(sentence, rest, ids)
        yield from self._numbers_in(rest)
        yield from self._names_in(rest)
        for term in self._terms:
            if re.search(rf"\b{re.escape(term)}", rest, re.IGNORECASE):
                yield f'"{term}" is not in the data'
        for phrase, _ in english.verdicts(rest):
            yield f'"{phrase.group()}" is a verdict; only {{ID.verdict}} tells one'
        yield from self._causes_in(rest, ids)
        yield from self._directions_in(sentence, rest, ids)
        yield from self._parts_in(sentence)
        yield from misplaced(sentence, self._places)
        if not english.is_read(rest, self._known):
            yield "few of its words are common English ones: it is not read"

    def _things_in(self, sentence: str, rest: str, ids: list[str]) -> Iterator[str]:
        """Things told without their chance, or beside that of another thing."""
        # How many times as likely is a number, and no thing of that name.
        shown = {one: HOLE if one.endswith("times") else self.texts[one] for one in ids}
        whole = REFERENCE.sub(lambda match: shown[match[1]], sentence)
        chances = dict.fromkeys(one.split(".")[1] for one in ids if one.startswith("p."))
        parts = {part for one in ids for part in re.split(r"[._]", one)}
        places = {}
        for thing, pattern in self._things.items():
            if match := pattern.search(whole):
                places[thing] = match.start()
            told = pattern.search(rest) and not any(map(pattern.search, shown.values()))
            if told and thing not in chances and f"{thing}s" not in parts:
                yield f'"{thing}" is told without {{p.{thing}}}'
        known = self._places.story if not set(ids).intersection(self._places.came) else ""
        for thing in chances if self._places.story else ():
            if thing in self._things and thing not in places and thing != known:
                yield f"{{p.{thing}}} is told without its {thing}"
        told_of = [thing for thing in chances if thing in self._things]
        if places and told_of != sorted(places.keys() & set(told_of), key=lambda one: places[one]):
            yield "the chances do not stand in the order of the things that they are of"

    def _numbers_in(self, rest: str) -> Iterator[str]:
        for pattern in self._things.values():  # those not carried are told already
            rest = re.sub(
                rf"{pattern.pattern}(?! (?:{english.phrases('counted').pattern}))",
                "",
                rest,
                flags=re.IGNORECASE,
            )
        numbers = [match.group() for match in english.phrases("one", self._nouns).finditer(rest)]
        for word in re.findall(r"[^\W_]+", rest):
            small = word.casefold().removesuffix("s")
            forms = {word.casefold(), small, re.sub("ie$", "y", small.removesuffix("th"))}
            if any(sign.isnumeric() for sign in word) or not forms.isdisjoint(
                english.words("numbers")
            ):
                numbers.append(word)
        for number in numbers:
            yield f'"{number}" is a number that no reference carries'

    def _names_in(self, rest: str) -> Iterator[str]:
        """Words with a capital where no sentence begins, and the data's names in any letters."""
        small = self._names.intersection(re.findall(r"[^\W\d_]+", rest))
        strange = [word for word in sorted(small) if not english.is_common(word)]
        for run, words, begins in english.names(rest):
            verb = rf"[^\W\d_]+ (?:out |off |away )?{HOLE}"
            begun = begins and (
                english.phrases("participle").match(rest, run.start())
                or re.match(verb, rest[run.start() :])
            )
            for word in words:
                known = english.is_common(word) or word.casefold() in self._known
                fine = begun or (begins and known) or word.casefold() in english.words("little")
                if not fine or not self._names.isdisjoint(_words(word)):
                    strange.append(word)
                begun = begins = False
        for word in strange:
            if not any(pattern.fullmatch(word) for pattern in self._things.values()):
                yield f'"{word}" is a name, or reads like one, that no reference carries'

    def _causes_in(self, rest: str, ids: list[str]) -> Iterator[str]:
        """Causes without a supported claim, and claims that are not, without their verdict."""
        verdicts = {f"{name.partition('.')[0]}.verdict" for name in ids} & self.texts.keys()
        failed = sorted(name for name in verdicts if self.texts[name] != "supported")
        for name in failed:
            if name not in ids:
                yield f"what is not supported needs its {{{name}}} in the same sentence"
        if verdicts and not failed:
            return
        summed = not verdicts and any(name.endswith(".points") for name in ids)
        moved = summed or "win.after" in ids or english.phrases("hidden").search(rest)
        for kind in ("cause", "hint") if moved else ("cause", "hint", "push"):
            for phrase in english.phrases(kind).finditer(rest):
                yield f'"{phrase.group()}" tells a cause, and no supported claim is referred to'

    def _directions_in(self, sentence: str, rest: str, ids: list[str]) -> Iterator[str]:
        """Words of a direction where no two figures of the sentence go that way."""
        heads = {name.rpartition(".")[0] for name in ids}
        moved = FROM_TO.findall(sentence) or [(f"{one}.before", f"{one}.after") for one in heads]
        turns = self._ways(moved)
        apart = turns | self._ways([(f"{one}.usual", one) for one in {*ids, *heads}])
        turns |= self._ways([("", name) for name in ids if name.endswith(".points")])
        turns = turns or (apart if any(one.endswith(".usual") for one in ids) else set())
        usual = [name for name in ids if name.endswith(".usual")]
        against = self._ways([(one, one.removesuffix(".usual")) for one in usual])
        kinds = (
            *(("above", 1, apart), ("below", -1, apart), ("rise", 1, turns), ("fall", -1, turns)),
            *(("above_usual", 1, against), ("below_usual", -1, against)),
        )
        for kind, way, ways in kinds:
            for phrase in english.phrases(kind).finditer(rest) if ways else ():
                denied = english.is_denied(rest, phrase.start())
                if (ways == {way}) if denied else (way not in ways):
                    yield f'"{phrase.group()}" goes against the figures'

    def _parts_in(self, sentence: str) -> Iterator[str]:
        """Words of a direction beside points, those after or else before them, of another sign."""
        signs = [
            (one.start(), int(math.copysign(1, _figure(self.texts[one[1]]) or 0)))
            for one in REFERENCE.finditer(sentence)
            if one[1].endswith(".points")
        ]
        plain = REFERENCE.sub(lambda match: HOLE * len(match.group()), sentence)
        words = sorted(
            (match.start(), way, match.group())
            for kind, way in (("rise", 1), ("plus", 1), ("fall", -1), ("minus", -1))
            for match in english.phrases(kind).finditer(plain)
        )
        for (at, way, word), (end, _, _) in pairwise([*words, (len(sentence), 0, "")]):
            of = [sign for place, sign in signs if at < place < end]
            later = [place for place, _ in signs if at < place < end]
            for first, second in pairwise(later):
                if HOLE in plain[sentence.index("}", first) + 1 : second]:
                    of = of[: later.index(second)]  # another thing's
                    break
            of = of or [sign for place, sign in signs if place < at][-1:]
            if of and not english.is_denied(plain, at) and set(of) != {way}:
                yield f'"{word}" goes against the points'

    def _ways(self, pairs: Iterable[tuple[str, str]]) -> set[int]:
        """1 where the second figure of ids is above the first, -1 below, 0 as large; no id is 0."""
        told = [
            [_figure(self.texts.get(one, "" if one else "0")) for one in pair] for pair in pairs
        ]
        return {(b > a) - (b < a) for a, b in told if a is not None and b is not None}


def parsed(given: object, what: str) -> object:
    """What JSON holds; anything but text as it is.

    Raises:
        InputError: the text is no JSON, or too long.
    """
    if not isinstance(given, str | bytes):
        return given
    if len(given) > MOST_TEXT:
        raise InputError(f"{what}: more than {MOST_TEXT:,} characters", remedy="give less")
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        raise InputError(f"{what} are not JSON", remedy="give a list or an object") from None


def _is_name(text: str) -> bool:
    """Whether a text reads like a name: a few words, the first and the last with a capital."""
    words = text.split()
    return 0 < len(words) < 6 and all(one[0] != one[0].lower() for one in (words[0], words[-1]))


def _words(text: str) -> set[str]:
    """The words of a text in small letters, of two signs at least, cut at hyphens and points."""
    return {part for part in re.split(r"[\W_]+", text.casefold()) if len(part) > 1}


def _joined(text: str, piece: str) -> str:
    """Two pieces, without a word or a percent sign that both have at the seam."""
    last = re.search(r"(\w+)\s+$", text)
    if last is not None and piece.casefold().startswith(f"{last[1].casefold()} "):
        return text[: last.start()] + piece
    first = re.match(r"\s*(\w+|%)", piece)
    if first is None or not re.search(rf"(?:(?<!\w)|(?=%)){first[1]}$", text):
        return text + piece
    return text + piece[first.end() :]


def _figure(text: str) -> float | None:
    """The first number of a text."""
    match = re.search(r"([-−]?)\+?(\d+(?:\.\d+)?)", text.replace(",", ""))
    return None if match is None else float(f"{'-' * bool(match[1])}{match[2]}")
