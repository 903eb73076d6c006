"""Comparisons in a text: is what is said to be above another figure, or the baseline, above it?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from attnlens.explanation.grounding_clause import Reading
from attnlens.explanation.grounding_facts import Facts, Unsupported
from attnlens.explanation.grounding_units import PERCENT, Number, numbers_in

_MORE: Final = (
    r"above|over|higher than|more than|greater than|larger than|bigger than|better than|ahead of"
    r"|north of|clear of|in excess of|beyond|up on|exceed(?:s|ed|ing)?|tops|topping|beats|beating"
    r"|outstrip(?:s|ping)?|surpass(?:es|ing)|outdo(?:es|ing)|on top of|dwarf(?:s|ing)|eclips(?:es"
    r"|ing)"
    r"|to the good of|overshoot(?:s|ing)?|likelier than|more likely than|more probable than"
    r"|edg(?:es|ing) out|pips|shades"
)
_LESS: Final = (
    r"below|under|beneath|lower than|less than|smaller than|worse than|short of|shy of|south of"
    r"|behind|down on|trail(?:s|ing)|lag(?:s|ging)(?: behind)?|undershoot(?:s|ing)?|fewer than"
    r"|underneath|adrift of|less likely than|less probable than"
)
_COMPARED: Final = re.compile(rf"\b(?:(?P<more>{_MORE})|(?P<less>{_LESS}))\b", re.IGNORECASE)
_NOT: Final = re.compile(
    r"\b(?:not|never|n't|no|neither|nor|hardly|cannot|nothing|barely|whether|if)(?: \w+){0,2} ?$",
    re.IGNORECASE,
)
# A hedge ("just under 45%", "at more than 40%") compares with nothing.
_STANDS: Final = re.compile(
    r"(?:\b(?:sits?|sat|sitting|stands?|stood|standing|l(?:ies|ay|ying)|comes? (?:in|out)|coming in"
    r"|ranks?|rates?|well|far|comfortably|clearly|markedly|considerably|much|way|runs?|running"
    r"|lands?"
    r"|points?|pp|places|remains|finishes|ends up)(?: (?:well|far|clearly|just|comfortably|slightly"
    r"|a (?:little|touch|shade|fraction|bit)))?|[,)%]) ?$",
    re.IGNORECASE,
)
_ARTICLE: Final = re.compile(
    r"^ (?:the|its|that|an?|their|what|this)\b[^.;,%]{0,48}?$", re.IGNORECASE
)
_USUAL: Final = re.compile(
    r"^(?: [\w'-]+){0,6}? (?:typical|ordinary|average|usual|normal|norm|baseline|par|default|most"
    r"|(?:ball|delivery) (?:with no|without|about which nothing)|unknown (?:ball|delivery)"
    r"|anonymous"
    r"|generic|standard|blank)\b",
    re.IGNORECASE,
)
_LIKELIER: Final = re.compile(
    r"\b(?:(?P<more>likelier|more (?:likely|probable|expected|inclined|prone|apt))"
    r"|(?P<less>less (?:likely|probable|expected|inclined|prone|apt)))\b",
    re.IGNORECASE,
)
_OTHER: Final = re.compile(
    r" (?:(?:that|the (?:chance|probability)) (?:of|for) )?(?:an?|the)? ?", re.IGNORECASE
)
_RANKS: Final = re.compile(
    r"^(?:s|'s)?,?(?: [\d.]+ ?(?:%|per ?cent),?| \([^)]*\))?(?: [a-z]+){0,4}?"
    r" (?:(?:is|are|was|were|ranks?|rates?|sits?|stands?|comes?|being|looks?|seems?|rated|has"
    r"|have)\b[^;%]*"
    r"|\w+ than|outranks|beats|tops|trails|exceeds)$",
    re.IGNORECASE,
)
_OPPOSED: Final = re.compile(
    r"^,? ?(?:as (?:opposed|against) to|as against|against|versus|vs\.?|compared (?:with|to)|rather"
    r" than|instead of|not|where|up from|down from|from|in place of|to)\b[^.;%\d]{0,32}$",
    re.IGNORECASE,
)


def check_compared(reading: Reading, facts: Facts, plain: str) -> Iterator[Unsupported]:
    """Words that compare, against the figures beside them and the baseline."""
    text = reading.text
    percents = [number for number in numbers_in(text) if number.unit == PERCENT]
    for match in _COMPARED.finditer(text):
        if _NOT.search(text[: match.start()]):
            continue
        up = match["more"] is not None
        before = [one for one in percents if one.end <= match.start()]
        after = [one for one in percents if one.start >= match.end()]
        if before and after and _is_comparison(text, match, after[0]):
            if _differ(before[-1], after[0], up):
                yield _wrong(plain, match.group(), up)
        elif not (reading.hiding or reading.groups) and _USUAL.match(text[match.end() :]):
            yield from _usual(reading, facts, plain, match, up)
    yield from _of_two(reading, facts, plain)
    told = list(_LIKELIER.finditer(text))
    outcomes = {one.outcome for one in reading.outcomes}
    if len(told) == 1 and len(percents) == 2 and len(outcomes) < 2:
        first, second = percents
        between = text[first.end : second.start]
        if told[0].end() > first.start or _NOT.search(text[: told[0].start()]):
            return
        up = told[0]["more"] is not None
        if _OPPOSED.match(between) and _differ(first, second, up):
            yield _wrong(plain, told[0].group(), up)


def _of_two(reading: Reading, facts: Facts, plain: str) -> Iterator[Unsupported]:
    """ "A dot ball is likelier than a single": two outcomes, one above the other."""
    text = reading.text
    if reading.hiding or reading.groups:
        return
    for match in _COMPARED.finditer(text):
        before = [one for one in reading.outcomes if one.end <= match.start()]
        after = [one for one in reading.outcomes if one.start >= match.end()]
        if not (before and after) or _NOT.search(text[: match.start()]):
            continue
        beside = _OTHER.fullmatch(text[match.end() : after[0].start])
        if not beside or not _RANKS.search(text[before[-1].end : match.end()]):
            continue
        first, second = (facts.chance(one.outcome) for one in (before[-1], after[0]))
        gap = first.value - second.value
        if abs(gap) >= 0.005 and (gap > 0) != (match["more"] is not None):
            told = f"{100 * gap:+.1f} points"
            yield _wrong(plain, match.group(), match["more"] is not None, told, first.pointer)


def _is_comparison(text: str, match: re.Match[str], second: Number) -> bool:
    """Whether a word compares what was said before with the number after it."""
    between = text[match.end() : second.start]
    between = re.sub(r", ?$", "", between)
    if re.search(r"[.;,]", between) or len(between) > 52:
        return False
    if between.strip() == "":
        return bool(_STANDS.search(text[: match.start()]))
    return bool(_ARTICLE.match(between.rstrip()))


def _differ(first: Number, second: Number, up: bool) -> bool:
    """Whether two numbers do not stand as is said; those that print alike stand either way."""
    return first.value != second.value and (first.value > second.value) != up


def _usual(
    reading: Reading, facts: Facts, plain: str, match: re.Match[str], up: bool
) -> Iterator[Unsupported]:
    before = [one for one in reading.outcomes if one.end <= match.start()]
    outcome = before[-1].outcome if before else reading.outcome
    if reading.outcomes and not before:
        outcome = reading.outcomes[0].outcome
    if outcome is None:
        return
    now, base = facts.chance(outcome), facts.chance(outcome, "baseline")
    change = now.value - base.value
    if abs(change) >= 5e-4 and (change > 0) != up:
        yield _wrong(plain, match.group(), up, f"{100 * change:+.1f} points", now.pointer)


def _wrong(
    plain: str, said: str, up: bool, nearest: str | None = None, pointer: str | None = None
) -> Unsupported:
    problem = f"is the wrong way: it is {'less' if up else 'more'}"
    return Unsupported(plain, said, "direction", problem, nearest, pointer)
