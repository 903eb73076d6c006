"""What a statement says of the numbers that are borne out: directions, ratios, ranks, units.

A number may be right and the word beside it wrong: "rises from 9% to 7%", "twice the usual 4%",
"the lowest of all". What can be told is; of the rest the statement is *not read*.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, Literal

from attnlens.llm import english
from attnlens.llm.english import phrases, stem
from attnlens.llm.facts import Fact, Facts

Answer = Literal["not borne out", "not read", "borne out"]
Found = tuple[Answer, str, str | None, str | None]
"""An answer, and what a statement has beside it."""

Number = tuple[Any, Fact]
Told = list[tuple[re.Match[str], Fact]]
"""Numbers that are borne out, each with the fact that it tells."""
RATIOS: Final = {
    **dict(zip(english.words("times"), range(2, 13), strict=True)),
    **{"twice": 2, "double": 2, "half": 1 / 2, "a third": 1 / 3, "a quarter": 1 / 4},
}
"""Words of a ratio; those before "times" first."""

CLOSE = 0.05
"""Points that read the same."""

FAR = 0.3
"""A ratio in words is within this part of that of two numbers."""

RATIO: Final = re.compile(
    r"\b(?<!and a )(?:(\w+)(?: times|fold)|"
    r"(?:twice|double|half|a third|a quarter)(?!(?: \w+){1,3} again))\b",
    re.IGNORECASE,
)
WAYS: Final = (
    *(("above", 1), ("below", -1), ("rise", 1), ("fall", -1), ("plus", 1), ("minus", -1)),
)
DENIAL: Final = re.compile(r"\b(?:never|no longer)\b|\w+n't\b|\bnot (?!\d|better)", re.IGNORECASE)
TIMES: Final = {"before": {"before"}, "after": {"after", "happened"}}
"""Words of a direction; keys of what was before a change, and of what came."""


def compared(text: str, told: Told, facts: Facts) -> Iterator[Found]:
    """Directions and ratios of numbers that are borne out; of none, they are not read."""
    moves = [pair for pair in pairwise(told) if _way(text, *pair)]
    for one, other in moves:
        first, second = (one, other)[:: _way(text, one, other)]
        if _is(first, "after") or _is(second, "before"):
            yield "not borne out", f'"{one[0].group()}"', None, one[1].pointer
    for number, fact in told:
        when = re.match(r"[^\d,;]{0,20}?\b(before|after)(?:hand|wards)?\b", text[number.end() :])
        when = when or re.search(
            r"\b(before|after)\b[^\d,;]{0,60}$", text[: number.start()], re.IGNORECASE
        )
        if when and _is((number, fact), "after" if when[1].lower() == "before" else "before"):
            yield "not borne out", f'"{number.group().strip()}"', None, fact.pointer
    if told and (denial := DENIAL.search(text)) and not any(english.verdicts(text)):
        yield "not read", f'"{denial.group()}": a denial', None, None
    for kind, way in WAYS:
        for phrase in phrases(kind).finditer(text):
            what, turns = f'"{phrase.group()}"', _turns(text, phrase, kind, told, moves, facts)
            denied = english.is_denied(text, phrase.start())
            if turns is not None and (len(turns) != 1 or denied):
                yield "not read", f"{what}: not told of which figures", None, None
            elif turns is not None and turns != {way} and phrases("aside").search(text):
                yield "not read", f"{what}: on a condition", None, None
            elif turns is not None and turns != {way}:
                yield "not borne out", what, None, told[0][1].pointer
    for word in RATIO.finditer(text):
        ratio = RATIOS.get((word[1] or word.group()).lower())
        same = len(told) == 2 and told[0][1].unit == told[1][1].unit and told[1][1].value
        if ratio is None or not same:
            yield "not read", f'"{word.group()}": not told of which figures', None, None
        elif abs(told[0][1].value / told[1][1].value / ratio - 1) > FAR:
            yield "not borne out", f'"{word.group()}"', None, told[0][1].pointer


def _turns(
    text: str, phrase: re.Match[str], kind: str, told: Told, moves: list[Any], facts: Facts
) -> set[int] | None:
    """Which ways the numbers go that a word of a direction is said of; none where of none."""
    if kind not in ("above", "below"):
        if moves:
            return {_way(text, *pair) * _rise(*pair) for pair in moves}
        number = english.NUMBER.search(text, phrase.end())
        after = [one for one in told if number and one[0].start() == number.start()]
        if after and after[0][1].unit == "points":
            size = after[0][1].value
            return {
                -1 if one.below else 1
                for one in facts.numbers
                if one.unit == "points" and abs(one.value - size) < CLOSE
            }
        if after and _is(after[0], "after"):
            at = {one.pointer: one for one in facts.numbers}
            before = at.get(re.sub("after$", "before", after[0][1].pointer))
            return set() if before is None else {_rise((None, before), after[0])}
        if not phrase.group().lower().endswith("from"):
            return set() if any(fact.unit for _, fact in told) else None
    sides = [one for one in told if one[0].start() < phrase.start()][-1:]
    later = [one for one in told if one[0].start() > phrase.start()]
    pair = [*sides, *later][:2]
    if (
        len(pair) == 2
        and pair[0][1].unit == pair[1][1].unit
        and not english.NUMBER.search(text[pair[0][0].end() : pair[1][0].start()])
    ):
        return {-_rise(*pair)}
    hedge = phrases("hedge").match(text, phrase.start())
    return None if hedge and re.match(r" (?:[£$€])?\d", text[hedge.end() :]) else set()


def ranked(text: str, count: int, told: Told, facts: Facts) -> Iterator[Found]:
    """Superlatives of a statement's one number, of ``count``: the first of its field, or last."""
    for word in phrases("superlative").finditer(text):
        way = bool(phrases("highest").fullmatch(word.group())) - bool(
            phrases("lowest").fullmatch(word.group())
        )
        if not way or not len(told) == count == 1:
            yield "not read", f'"{word.group()}": not told of what', None, None
            continue
        fact = told[0][1]
        most = max(way * one.value for one in facts.numbers if one.field == fact.field)
        if way * fact.value < most:
            yield "not borne out", f'"{word.group()}"', f"{way * most:.6g}", fact.pointer


def _way(text: str, one: Number, other: Number) -> int:
    """1 where a change is told from one number to the other, -1 from the other, else 0."""
    before, between = text[: one[0].start()], text[one[0].end() : other[0].start()]
    if re.search(r"\bfrom (?:\w+ ){0,2}$", before):
        return bool(re.fullmatch(r",?(?: up| down| back)* to (?:\w+ ){0,2}", between))
    to = re.search(r"\bto (?:\w+ )?$", before)
    return -bool(to and re.fullmatch(r",?(?: up| down)? from (?:\w+ )?", between))


def _is(one: Number, time: str) -> bool:
    return not TIMES[time].isdisjoint(one[1].pointer.split("/"))


def _rise(one: Number, other: Number) -> int:
    first, second = one[1].value, other[1].value
    return (second > first) - (second < first)


def unit_of(number: re.Match[str], fact: Fact) -> Iterator[Found]:
    """A unit after a number is that of its field, where it has one."""
    unit = re.match(r" ?([a-zA-Zµ]+(?:/[a-z]+)?)\b", number.string[number.end() :])
    forms = [one.split("=") for one in english.words("units")]
    units = {form: {stem(other.replace("/", "")) for other in one} for one in forms for form in one}
    if unit is None or unit[1] not in units:
        return
    own = fact.field & set().union(*units.values())
    if not units[unit[1]] & fact.field:
        answer: Answer = "not borne out" if own else "not read"
        yield answer, f'"{number.group().strip()} {unit[1]}"', ", ".join(own) or None, fact.pointer


def in_words(text: str, same: Mapping[str, str]) -> Iterator[Found]:
    """Numbers in words that are no things' names are not read; ratios are read elsewhere."""
    for word in re.finditer(r"[^\W\d_]+(?:-[^\W\d_]+)*", text):
        parts = word.group().lower().split("-")
        if re.match(" times", text[word.end() :]) or text[: word.start()].endswith(" a "):
            continue
        counted = phrases("counted").match(text, word.end() + 1)
        large = parts[0] in english.LARGE and re.search(r"\d $", text[: word.start()])
        number = not {*parts, parts[0].removesuffix("s")}.isdisjoint(english.words("numbers"))
        whole = (
            len(parts) == 1 and not counted and (parts[0] in same or RATIOS.get(parts[0], 3) <= 2)
        )
        if number and not whole and not large:
            yield "not read", f'"{word.group()}": a number in words', None, None
