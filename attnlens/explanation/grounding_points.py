"""Percentage points in a text: of groups of inputs, of hiding, and against the baseline."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from attnlens.explanation.attention_types import OUTCOMES
from attnlens.explanation.grounding_clause import Reading, groups_in
from attnlens.explanation.grounding_facts import BOUNDARY, Facts, Known
from attnlens.explanation.grounding_units import Number

_PARTS: Final = re.compile(
    r"[,;] (?:and|but|with|while|whereas|although|though|yet|against)\b|;|\b(?:while|whereas|but)\b"
    r"|,? and (?=(?:through|by|it|that|from|on account|because|thanks)\b)|, (?=(?:through|by"
    r"|from)\b)",
    re.IGNORECASE,
)
_ONTO: Final = re.compile(
    r"(?: of (?:them|those|it))? ?(?:to|on|onto|on to|off|from|for|of|in|away from|out of)"
    r"(?: an?| the)?(?: (?:chances?|probability|likelihood|prospects?) of)?(?: an?| the)? ?",
    re.IGNORECASE,
)
_GAP: Final = re.compile(
    r"\b(?:gap|difference|margin|distance|lead|leads|between|separat\w+|apart|behind|ahead of"
    r"|clear of"
    r"|adrift|advantage)\b",
    re.IGNORECASE,
)


def points_of(facts: Facts, number: Number, reading: Reading) -> list[Known]:
    outcome = _points_outcome(number, reading)
    between = _between(facts, reading)
    if between:
        return between
    groups = _groups_near(facts, number, reading)
    wanted = [outcome] if outcome else [facts.moved, facts.data["prediction"]["top"]]
    known: list[Known] = []
    if groups and not reading.hiding:
        return [facts.points(at, one) for at in groups for one in wanted]
    if reading.hiding or reading.pinned:
        for claim in reading.claims:
            own = [outcome] if outcome else [claim.data["top_change"]["outcome"]]
            for one in own:
                at = OUTCOMES.index("4" if one == BOUNDARY else one)
                known.append(Known(claim.change(one), f"{claim.pointer}/changes/{at}/points"))
        known += _ball_points(facts, reading, wanted)
        if known:
            return known
    for one in wanted:
        base, now = facts.chance(one, "baseline"), facts.chance(one)
        known.append(Known(100 * (now.value - base.value), now.pointer))
    if not reading.looked:
        count = len(facts.data["contributions"])
        known += [facts.points(at, one) for at in range(count) for one in wanted]
    return known


def _between(facts: Facts, reading: Reading) -> list[Known]:
    """How far two outcomes are apart, where a clause says that this is what its points are."""
    told = list(dict.fromkeys(one.outcome for one in reading.outcomes))
    if len(told) != 2 or reading.groups or reading.hiding or not _GAP.search(reading.text):
        return []
    first, second = (facts.chance(one) for one in told)
    base = facts.chance(told[0], "baseline")
    return [
        Known(100 * (first.value - second.value), first.pointer),
        Known(100 * (first.value - base.value), first.pointer),
    ]


def _points_outcome(number: Number, reading: Reading) -> str | None:
    for one in reading.outcomes:
        gap = reading.text[number.end : one.start] if one.start >= number.end else None
        if gap is not None and _ONTO.fullmatch(gap):
            return one.outcome
    before = [one for one in reading.outcomes if one.end <= number.start]
    if before:
        return before[-1].outcome
    return reading.outcomes[0].outcome if reading.outcomes else reading.outcome


def groups_beside(facts: Facts, text: str, place: int) -> list[int]:
    """Of several groups in a clause, those in the same part of it as a place."""
    if len(groups_in(text, facts)) < 2:
        return []
    start = max((one.end() for one in _PARTS.finditer(text) if one.end() <= place), default=0)
    end = min((one.start() for one in _PARTS.finditer(text) if one.start() >= place), default=None)
    return groups_in(text[start:end], facts)


def _groups_near(facts: Facts, number: Number, reading: Reading) -> Sequence[int]:
    if len(reading.groups) < 2:
        return reading.groups
    beside = groups_beside(facts, reading.text, number.start)
    if len(beside) == 1:
        return beside
    # Of several groups that one goes with a number that stands right before it.
    parts = re.split(r"[;,)]| and ", reading.text[: number.start])
    for part in reversed(parts):
        near = groups_in(part, facts)
        if near:
            return near
    return reading.groups


def _ball_points(facts: Facts, reading: Reading, wanted: Sequence[str]) -> Iterator[Known]:
    places = set(reading.places)
    if not reading.named or len(places) != 1:
        return
    place = next(iter(places))
    for at, entry in enumerate(facts.history[place]["changes"]):
        if entry["outcome"] in wanted:
            yield Known(entry["points"], f"/history/{place}/changes/{at}/points")
    index = facts.history[place]["index"]
    for rank, group in enumerate(facts.data["contributions"]):
        for row, ball in enumerate(group["balls"]):
            for at, entry in enumerate(ball["points"]):
                if ball["index"] == index and entry["outcome"] in wanted:
                    pointer = f"/contributions/{rank}/balls/{row}/points/{at}/points"
                    yield Known(entry["points"], pointer)
