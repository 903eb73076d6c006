"""Where a reference may stand: beside whose name, in which order, and not under a "not".

A figure is true of one thing and at one time. A sentence that puts it beside another name, swaps
two figures, or denies a verdict prints what is true in a place that makes it false. What is read is
the order of references and the few words between them; `english.toml` holds the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from attnlens.llm import english

HOLE: Final = "□"
"""What stands where a reference stood while the rest of a sentence is read."""

REFERENCE: Final = re.compile(r"\{+\s*([\w.-]+)\s*\}+")
NUMBERED: Final = re.compile(r"([a-z]+)(\d+)\.(\w+)")
OBJECT: Final = re.compile(r"\b(?:from|to|off|of|against|join\w*|beside|by) $")
"""What stands before a name that a sentence need not be about."""

IDIOM: Final = (
    r"\bas likely as\b[^:;,]*|\bas (?:such|like)\b[^{:;,]*|"
    r"\b(?:than|as|what is)(?: (?!the|its|a)\w+)? (?:usual|ordinary|normal)(?:ly)?\b"
)
"""What is usual by name, and not by its figure."""

MARK: Final = re.compile(r"[,;:()–—]")
COST: Final = {",": 5, "(": 5, ")": 5, ";": 20, ":": 20, "–": 5, "—": 5}
"""How many words a mark counts for where it is asked which of two figures a word belongs to."""


@dataclass(frozen=True)
class Places:
    """What a field knows of its ids.

    Attributes:
        kinds: of ids that name somebody, the kind: only one of the same kind can be meant.
        owners: of other ids, whose they are, any of several: the nearest mention before, or else
            the first one after in the same clause, must be one of these.
        wrong: patterns of a sentence as it was written, ``{id}`` in it; each with what is wrong.
        needs: of ids, a pattern of words of which one must stand near.
        subjects: parts of numbered ids (``c1.what``) that name what the other parts are said of.
        named: letters of numbered ids of which two are not told without a subject.
        story: the thing that ``p.THING`` may be told of without its name, and
        came: ids beside which it may not.
    """

    kinds: Mapping[str, str] = field(default_factory=dict)
    owners: Mapping[str, Sequence[str]] = field(default_factory=dict)
    wrong: Sequence[tuple[re.Pattern[str], str]] = ()
    needs: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    subjects: Sequence[str] = ("what",)
    named: str = "c"
    story: str | None = None
    came: Sequence[str] = ()


@dataclass(frozen=True)
class _Mention:
    name: str
    at: int
    end: int


def misplaced(sentence: str, places: Places) -> Iterator[str]:
    """What is wrong with where the references of a sentence stand, as clauses."""
    told = [_Mention(one[1], *one.span()) for one in REFERENCE.finditer(sentence)]
    dotted = [one.name for one in told if one.name.endswith((".before", ".after", ".verdict"))]
    for name in sorted({one for one in dotted if dotted.count(one) > 1}):
        yield f"{{{name}}} stands twice"
    yield from _denied(sentence, told)
    yield from _of_another(told, places)
    yield from _in_order(sentence, told)
    yield from _usual(sentence, told)
    yield from _owned(sentence, told, places)
    for pattern, fault in places.wrong:
        if pattern.search(sentence):
            yield fault
    for one in told:
        needed = places.needs.get(one.name)
        if needed is not None and not needed.search(_near(sentence, one)):
            yield f"nothing near {{{one.name}}} says what it is"


def _near(sentence: str, one: _Mention, words: int = 8) -> str:
    """The words around a reference."""
    before, after = sentence[: one.at].split(), sentence[one.end :].split()
    return " ".join([*before[-words:], HOLE, *after[:words]])


def _denied(sentence: str, told: list[_Mention]) -> Iterator[str]:
    for one in told:
        before = REFERENCE.sub(HOLE, sentence[: one.at])
        part = MARK.split(before)[-1]
        if one.name.endswith(".verdict") or one.name.startswith("note"):
            after = REFERENCE.sub(HOLE, sentence[one.end :])
            if english.phrases("denial").search(part) or english.phrases("denial_after").match(
                after.lstrip(" ,;:–—")
            ):
                yield f"{{{one.name}}} is denied"
        elif not one.name.endswith((".usual", ".before", ".after")) and re.search(
            r"(?:\bnot|\bnever|n't)(?: \w+)? *$", part, re.IGNORECASE
        ):
            yield f"{{{one.name}}} is denied"


def _of_another(told: list[_Mention], places: Places) -> Iterator[str]:
    """Parts of numbered ids beside another than their own: c2.verdict after c1.what."""
    for letter in sorted({match[1] for one in told if (match := NUMBERED.fullmatch(one.name))}):
        own = [match for one in told if (match := NUMBERED.fullmatch(one.name))]
        family = [(int(one[2]), one[3] in places.subjects) for one in own if one[1] == letter]
        runs = [
            (subject, list(dict.fromkeys(number for number, _ in run)))
            for subject, run in groupby(family, key=lambda one: one[1])
        ]
        alone = len(runs) == 1 and not runs[0][0]
        if alone and len(runs[0][1]) > 1 and letter in places.named:
            yield f"{{{letter}{runs[0][1][1]}}} is told without what it is of"
        subjects: list[int] = []
        for at, (subject, numbers) in enumerate(runs):
            if subject:
                subjects = numbers
                continue
            of = subjects or (runs[at + 1][1] if at + 1 < len(runs) else numbers)
            if numbers not in (of, of[-1:]):
                yield f"{{{letter}{numbers[-1]}}} stands beside {{{letter}{of[-1]}}}"


def _in_order(sentence: str, told: list[_Mention]) -> Iterator[str]:
    """What was before told as what came after."""
    places = {one.name: one for one in told}
    hidden = english.phrases("hidden").search(sentence) is not None
    for name, one in places.items():
        stem, _, part = name.rpartition(".")
        after = sentence[one.end :]
        if (part == "after" and re.match(r" before\b", after)) or (
            part == "before" and re.match(r" after(?:wards)?\b", after)
        ):
            yield f"{{{name}}} is not of that time"
        other = places.get(f"{stem}.after")
        if part != "before" or other is None:
            continue
        first, second = sorted((one, other), key=lambda at: at.at)
        between = sentence[first.end : second.at]
        if english.phrases("instead").search(between):
            backwards = hidden
        else:
            backwards = english.phrases("backwards").search(between) is not None
        if first.name.endswith("before") == backwards:
            yield f"{{{one.name}}} and {{{other.name}}} stand the wrong way round"


def _usual(sentence: str, told: list[_Mention]) -> Iterator[str]:
    """What is usual told as what is expected now, or the other way round."""
    plain = re.sub(
        rf"{REFERENCE.pattern}|{IDIOM}",
        lambda match: HOLE * len(match.group()),
        sentence,
        flags=re.IGNORECASE,
    )
    words = list(english.phrases("usual").finditer(plain))
    places = {one.name: one for one in told}
    pairs = [(one, f"{one}.usual") for one in places if f"{one}.usual" in places]
    chances = {one for one in places if re.fullmatch(r"p\.\w+(?:\.usual)?", one)}
    if len(pairs) == 1 and len(chances) == 2:
        now, usual = (places[one] for one in pairs[0])
        near = min(
            ((min(_apart(plain, word, one) for one in (now, usual)), word) for word in words),
            key=lambda one: one[0],
            default=None,
        )
        if near is None:
            if usual.at < now.at and not english.phrases("now").search(sentence):
                yield f"{{{usual.name}}} stands where {{{now.name}}} should"
        elif _apart(plain, near[1], now) <= _apart(plain, near[1], usual):
            yield f"{{{now.name}}} stands where {{{usual.name}}} should"
        return
    if not pairs and len({one.removesuffix(".usual") for one in chances}) == 1:
        (name,) = chances
        if name.endswith(".usual") and not words:
            yield f"{{{name}}} is told without a word of what is usual"
        elif not name.endswith(".usual"):
            for word in words:
                between = plain[word.end() : places[name].at]
                if re.fullmatch(r"(?: \w+){0,3} ", between):
                    yield f"{{{name}}} is not what is usual"


def _apart(sentence: str, word: re.Match[str], one: _Mention) -> int:
    """How many words, marks counted as several, lie between a word and a reference."""
    between = (
        sentence[word.end() : one.at] if word.start() < one.at else sentence[one.end : word.start()]
    )
    return len(between.split()) + sum(COST.get(sign, 0) for sign in between)


def _owned(sentence: str, told: list[_Mention], places: Places) -> Iterator[str]:
    """What is one's told of another of the same kind."""
    named = [one for one in told if one.name in places.kinds]
    for one in told:
        owners = places.owners.get(one.name)
        if owners is None:
            continue
        kind = places.kinds[owners[0]]
        same = [other for other in named if places.kinds[other.name] == kind]
        nearest = [other for other in same if other.at < one.at][-1:]
        if nearest and OBJECT.search(sentence[: nearest[0].at]):
            nearest = [other for other in same if other.at < one.at][-2:]
        if not nearest and same and not MARK.search(sentence[one.end : same[0].at]):
            nearest = same[:1]
        if nearest and not {other.name for other in nearest} & {*owners}:
            yield f"{{{one.name}}} is not that of {{{nearest[-1].name}}}"
