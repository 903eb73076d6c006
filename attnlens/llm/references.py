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
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any, Final

from attnlens.errors import InputError
from attnlens.files import Json
from attnlens.show.safe import visible

MOST_TEXT: Final = 1 << 20
REFERENCE: Final = re.compile(r"\{+\s*([\w.-]+)\s*\}+")
HOLE: Final = "□"
"""What stands where a reference stood while the rest of a sentence is read."""

WORD: Final = re.compile(r"\w[\w'’.-]*\w|\w")
START: Final = re.compile(rf"(?:^|[.!?:;(—–-]\s|[\"“‘(])[^\w{HOLE}]*$")
"""What ends where a word with a capital need not be a name."""

LITTLE: Final = frozenset(
    "a an and as at but by for from i if in it new no of on or so the to with".split()  # noqa: SIM905
)
NUMBERS: Final = frozenset(
    """
    zero nil one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty
    ninety hundred hundreds thousand thousands million century dozen dozens half halves halved
    third thirds quarter quarters twice thrice double doubled doubles triple tripled triples
    couple second fourth fifth sixth seventh eighth ninth tenth
    """.split()  # noqa: SIM905
)
NO_NUMBER: Final = re.compile(
    r"\b(?:no|this|that|each|every|which|another|any|some|the) one\b(?! \w+s?\b)"
    r"|\b(?:no|every|any|some)[ -]?one\b|\b(?:an?|the)(?: [\w-]+){1,2} ones?(?= *(?:[,.;:!?—–]|$))"
    r"|\bone (?:of|another|that|which|thing|to|for|is|was|has|can|could|would|may|might|must|should"
    r"|\w+ing)\b|\bsecond (?:look|thought)|\bon the one hand",
    re.IGNORECASE,
)
"""Where one of these words is no number."""

VERDICT: Final = re.compile(
    r"\b(?:(?:un)?support(?:ed|s)?|contradict\w*|confirm\w*|disprove\w*|prove[sn]?|proved|proof"
    r"|refute\w*|verif\w+|b(?:ears?|ore|orne)(?: \w+)? out|holds? (?:up|true|good)|unproven"
    r"|significan\w+|established|better than (?:by )?chance|can(?:no|')t be told|evidence|by luck"
    r"|(?:is|are|was|were) (?:true|false|real|shown)|(?:pass|fail)(?:e[sd]|s)? (?:the|this|its) test"
    r"|no (?:accident|doubt|coincidence)|real effect)\b",
    re.IGNORECASE,
)
CAUSE: Final = re.compile(
    r"\b(?:because|due to|thanks to|owing to|driven|thus|hence|therefore|consequently|so that"
    r"|as a (?:result|consequence)|results? (?:in|from)|the result of|caus(?:e[sd]?|ing)|reasons?"
    r"|why|expla(?:ins?|ined|nation)|leads? to|led to|leading to|stems? from|comes? from"
    r"|on account of|on the (?:back|strength) of|account(?:s|ed)? for|responsible|triggered"
    r"|sparked|fuel+ed|prompted|means that|which (?:makes?|made)|matter(?:s|ed)?|on the basis of|rests? on|(?:is|was) down to)\b"
    r"|, so\b|(?<=□ )makes?\b|(?:^|, )(?:given\b|since (?=□ (?:is|was|has)))",
    re.IGNORECASE,
)
PUSH: Final = re.compile(
    r"\b(?:lift|boost|push|drag|pull|drive|shape|inform|influence|affect|fuel|help|hurt|raise)"
    r"(?:e?s|e?d|ing)?\b",
    re.IGNORECASE,
)
"""Verbs of causes: a claim that is supported may have them, and points of a sum, too."""

ABOVE: Final = re.compile(
    r"\b(?:likelier|more (?:likely|probable|often|than)|higher|above|greater|bigger)\b", re.I
)
BELOW: Final = re.compile(
    r"\b(?:unlikelier|less (?:likely|probable|often|than)|lower|below|smaller|rarer)\b", re.I
)
RISE: Final = re.compile(
    r"\b(?:r[io]s(?:es?|en|ing)|climb(?:s|ed|ing)?|jump(?:s|ed|ing)?|increas(?:es?|ed|ing)"
    r"|gr(?:ows?|ew)|gain(?:s|ed)?|up (?:from|to|by)|lift(?:s|ed|ing)?|raises?|boosts?"
    r"|adds?)\b", re.I
)  # fmt: skip
FALL: Final = re.compile(
    r"\b(?:f[ae]ll(?:s|en|ing)?|drop(?:s|ped|ping)?|s[ia]nks?|declin(?:es?|ed|ing)"
    r"|decreas(?:es?|ed|ing)|shr[ia]nks?|slip(?:s|ped)?|dip(?:s|ped)?|down (?:from|to|by)"
    r"|takes? (?:away|off)|took|pull(?:s|ed)?|drag(?:s|ged)?|lowers|lowered|reduc(?:es?|ed)|cuts?|costs?|loses?)\b", re.I
)  # fmt: skip
NEGATED: Final = re.compile(r"(?:\b(?:not|no|never|hardly|nor|neither)|n't)(?: \w+)?\s*$", re.I)
FROM_TO: Final = re.compile(r"from (?:about )?\{+\s*([\w.-]+)\s*\}+,? to \{+\s*([\w.-]+)\s*\}+")

LEAST_ENGLISH: Final = 0.5
"""Of the words of a sentence, how many must be common ones for it to be read at all."""


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
        self, texts: Mapping[str, str], names: Iterable[str] = (), terms: Iterable[str] = ()
    ) -> None:
        """
        Args:
            names: what no sentence may write itself; those that are texts with capitals come too.
            terms: phrases that may be written only where a text holds them.
        """
        self.texts = dict(texts)
        told = [text for text in self.texts.values() if _is_name(text)]
        self._names = {part for name in (*told, *names) for part in _parts(name)} - LITTLE
        said = " ".join(self.texts.values()).casefold()
        self._terms = [term for term in terms if term not in said]
        ids = " ".join(self.texts).casefold()
        self._known = {part for part in _parts(f"{said} {ids}")}

    @cached_property
    def _things(self) -> dict[str, re.Pattern[str]]:
        """What ``p.THING`` tells the chance of, as it stands in a sentence."""
        things = {part[2:].partition(".")[0] for part in self.texts if part.startswith("p.")}
        return {
            thing: re.compile(rf"\b{thing.replace('_', '[ -]')}(?:e?s)?\b", re.IGNORECASE)
            for thing in sorted(things)
            if thing not in self.texts
        }

    def full(self, name: str) -> str:
        """The id that a reference is short for: the only longer one of its text that ends so."""
        longer = [one for one in self.texts if one.endswith(f".{name}")]
        same = [one for one in longer if self.texts[one] == self.texts.get(name)]
        return same[0] if len(same) == 1 else name

    def render(self, sentences: object) -> Rendered:
        """Sentences filled in, or dropped with the reasons.

        Args:
            sentences: a list of texts, a mapping with such a list ``sentences``, or JSON of either.

        Raises:
            InputError: they are something else.
        """
        return Rendered(tuple(self.told(one) for one in written_sentences(sentences)))

    def told(self, sentence: str) -> Told:
        """One sentence filled in, or dropped with the reasons."""
        sentence = visible(sentence)
        faults = tuple(dict.fromkeys(self._faults(sentence)))
        return Told(sentence, "" if faults else self._filled(sentence), faults)

    def _filled(self, sentence: str) -> str:
        text = ""
        pieces = REFERENCE.split(sentence)
        for at, piece in enumerate(pieces):
            shown = self.texts[piece] if at % 2 else piece
            text = _joined(text, shown)
        text = text[:1].upper() + text[1:]
        return text if text.rstrip("\"')”’").endswith((".", "!", "?", "…")) else f"{text}."

    def _faults(self, sentence: str) -> Iterator[str]:
        names = REFERENCE.findall(sentence)
        unknown = [name for name in names if name not in self.texts]
        for name in unknown:
            near = get_close_matches(name, self.texts, 1)
            hint = f"; nearest: {{{near[0]}}}" if near else ""
            yield f"{{{name}}} refers to nothing{hint}"
        if unknown:
            return
        rest = REFERENCE.sub(HOLE, sentence)
        if not names:
            yield "it refers to nothing, so nothing bears it out"
        if "{" in rest or "}" in rest:
            yield "a brace is left over"
        ids = [self.full(name) for name in names]
        yield from self._things_in(sentence, ids)
        yield from self._numbers_in(rest)
        yield from self._names_in(rest)
        for term in self._terms:
            if re.search(rf"\b{re.escape(term)}", rest, re.IGNORECASE):
                yield f'"{term}" is not in the data'
        for match in VERDICT.finditer(rest):
            yield f'"{match.group()}" is a verdict; only {{ID.verdict}} tells one'
        yield from self._causes_in(rest, ids)
        yield from self._directions_in(sentence, ids)
        words = [word.casefold() for word in WORD.findall(rest)]
        read = sum(word in self._known or _is_common(word) for word in words)
        if len(words) > 3 and read < LEAST_ENGLISH * len(words):
            yield "few of its words are common English ones: it is not read"

    def _things_in(self, sentence: str, ids: list[str]) -> Iterator[str]:
        """Things told without their chance, or beside that of another thing."""
        texts = " ".join(self.texts[name] for name in ids if not name.endswith(".times"))
        parts = {part for name in ids for part in re.split(r"[._]", name)}
        chances = [name.split(".")[1] for name in ids if name.startswith("p.")]
        rest = REFERENCE.sub(HOLE, sentence)
        for thing, pattern in self._things.items():
            match = pattern.search(rest)
            carried = thing in chances or f"{thing}s" in parts or pattern.search(texts)
            if match is not None and not carried:
                yield f'"{match.group()}" is told without {{p.{thing}}}'
        shown = REFERENCE.sub(lambda match: self._named(match[1]), sentence)
        found = {thing: pattern.search(shown) for thing, pattern in self._things.items()}
        places = {thing: match.start() for thing, match in found.items() if match is not None}
        told = [thing for thing in dict.fromkeys(chances) if thing in self._things]
        if places and told != sorted(filter(places.__contains__, told), key=lambda one: places[one]):
            yield "the chances do not stand in the order of the things that they are of"

    def _named(self, name: str) -> str:
        """What a reference prints where it may name a thing; how many times is no thing."""
        return HOLE if self.full(name).endswith(".times") else self.texts[name]

    def _numbers_in(self, rest: str) -> Iterator[str]:
        left = NO_NUMBER.sub("", rest)
        for pattern in self._things.values():  # those not carried are told already
            left = pattern.sub("", left)
        for match in re.finditer(r"[^\W_]+", left):
            word = match.group().casefold()
            stem = re.sub("ie$", "y", re.sub("th$", "", word))
            if any(sign.isnumeric() for sign in word) or not NUMBERS.isdisjoint((word, stem)):
                yield f'"{match.group()}" is a number that no reference carries'

    def _names_in(self, rest: str) -> Iterator[str]:
        for match in WORD.finditer(rest):
            word = re.sub(r"['’]s?$", "", match.group())
            small, capital = word.casefold(), word[0] != word[0].lower()
            if any(pattern.fullmatch(word) for pattern in self._things.values()):
                continue
            common = _is_common(small)
            named = bool(self._names.intersection(_parts(small)))
            start = START.search(rest[: match.start()]) is not None
            if capital and start:
                strange = named or not (common or small in self._known)
            else:
                strange = (capital and small not in LITTLE) or (named and not common)
            if strange and not any(sign.isnumeric() for sign in word):
                yield f'"{word}" is a name, or reads like one, that no reference carries'

    def _causes_in(self, rest: str, ids: list[str]) -> Iterator[str]:
        heads = {name.partition(".")[0] for name in ids}
        verdicts = {one: told for one in heads if (told := self.texts.get(f"{one}.verdict"))}
        open_ones = sorted(one for one, told in verdicts.items() if told != "supported")
        for one in open_ones:
            if f"{one}.verdict" not in ids:
                yield f"{one} is not supported: give {{{one}.verdict}} in the same sentence"
        if verdicts and not open_ones:
            return
        summed = any(name.endswith(".points") for name in ids)
        for pattern in (CAUSE,) if summed and not verdicts else (CAUSE, PUSH):
            for match in pattern.finditer(rest):
                asked = match.group().startswith("matter") and "hether" in rest[: match.start()]
                if not asked:
                    yield f'"{match.group()}" tells a cause, and no supported claim is referred to'

    def _directions_in(self, sentence: str, ids: list[str]) -> Iterator[str]:
        """Words of a direction where no two figures of the sentence go that way."""
        told = FROM_TO.findall(sentence)
        moved = [*told] or [
            (f"{name}.before", f"{name}.after") for name in {one.rpartition(".")[0] for one in ids}
        ]
        things = {".".join(name.split(".")[:2]) for name in ids if name.startswith("p.")}
        apart = [(f"{name}.usual", name) for name in things]
        turns = {sign for pair in moved if (sign := self._turn(*pair)) is not None}
        signs = {_sign(_figure(self.texts[one])) for one in ids if one.endswith(".points")} - {None}
        rest = REFERENCE.sub(HOLE, sentence)
        far = {sign for pair in apart if (sign := self._turn(*pair)) is not None}
        for up, patterns, seen in (
            (1, RISE, turns | signs), (-1, FALL, turns | signs),
            (1, ABOVE, turns | far), (-1, BELOW, turns | far),
        ):  # fmt: skip
            for match in patterns.finditer(rest) if seen else ():
                negated = NEGATED.search(rest[: match.start()]) is not None
                if (seen == {up}) if negated else (up not in seen):
                    yield f'"{match.group()}" goes against the figures'

    def _turn(self, first: str, second: str) -> int | None:
        """1 where the second figure is above the first, -1 below, 0 as large."""
        one, other = (_figure(self.texts.get(name, "")) for name in (first, second))
        return None if one is None or other is None else _sign(other - one)


def written_sentences(sentences: object) -> list[str]:
    """The texts of a list, of a mapping's list ``sentences``, or of JSON of either.

    Raises:
        InputError: it is something else.
    """
    given: Any = sentences
    if isinstance(given, str | bytes):
        given = parsed(given, "the sentences", 'give {"sentences": ["..."]}')
    if isinstance(given, Mapping):
        given = given.get("sentences")
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise InputError(
            "the sentences are neither a list of texts nor a mapping with such a list",
            remedy='give ["..."] or {"sentences": ["..."]}',
        )
    return list(given)


def parsed(text: str | bytes, what: str, remedy: str, most: int = MOST_TEXT) -> object:
    """JSON.

    Raises:
        InputError: it is none, or longer than ``most``.
    """
    if len(text) > most:
        raise InputError(f"{what}: more than {most:,} characters", remedy=remedy)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{what} are not JSON", remedy=remedy) from None


@lru_cache(maxsize=1)
def _ordinary() -> frozenset[str]:
    text = files("attnlens.llm").joinpath("ordinary_words.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


@lru_cache(maxsize=4096)
def _is_common(word: str) -> bool:
    """Whether a word in small letters, or what it is a form of, is a common one."""
    stems = [word]
    for ending in ("s", "es", "ed", "d", "ing", "ly", "er", "r", "est", "n't", "'t", "'s", "'ve"):
        if word.endswith(ending):
            stem = word[: -len(ending)]
            stems += [stem, f"{stem}e", re.sub(r"(.)\1$", r"\1", stem), re.sub("i$", "y", stem)]
    parts = [part for part in word.split("-") if part]
    return not _ordinary().isdisjoint(stems) or (len(parts) > 1 and all(map(_is_common, parts)))


def _is_name(text: str) -> bool:
    """Whether a text reads like a name: a few words, the first and the last with a capital."""
    words = text.split()
    return 0 < len(words) < 6 and all(one[0] != one[0].lower() for one in (words[0], words[-1]))


def _parts(text: str) -> set[str]:
    """The words of a text in small letters, of two signs at least, cut at hyphens and points."""
    return {part for part in re.split(r"[^\w]+|_", text.casefold()) if len(part) > 1}


def _joined(text: str, piece: str) -> str:
    """Two pieces, without a word or a percent sign that both have at the seam."""
    last = re.search(r"(\w+)(\s+)$", text)
    if last is not None and piece.casefold().startswith(f"{last[1].casefold()} "):
        return text[: last.start()] + piece
    first = re.match(r"\s+(\w+)\b|%| ?per ?cent\b", piece)
    if first is not None:
        twice = text.endswith("%") if first[1] is None else text.endswith(f" {first[1]}")
        return text + piece[first.end() :] if twice else text + piece
    return text + piece


def _figure(text: str) -> float | None:
    match = re.search(r"([-+−]?)(\d+(?:\.\d+)?)", text.replace(",", ""))
    return None if match is None else float(match[2]) * (-1 if match[1] in ("-", "−") else 1)


def _sign(value: float | None) -> int | None:
    return None if value is None else (value > 0) - (value < 0)
