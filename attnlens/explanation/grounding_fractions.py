"""Chances told as so many in so many: "one in six", "twice in ten", "every fourth ball"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from attnlens.explanation.grounding_text import COUNT, ORDINAL_WORDS, whole

_NOUN: Final = (
    r"(?:times?|balls?|chances?|shots?|deliver(?:y|ies)|occasions?|goes|tries|attempts?|cases?"
    r"|such balls?|such deliveries)"
)
_TIMES: Final = {
    "once": 1,
    "twice": 2,
    "thrice": 3,
    "a hundred": 100,
    "a dozen": 12,
    "half a dozen": 6,
}
_SOME: Final = rf"(?:{COUNT}|once|twice|thrice)"
_MANY: Final = rf"(?:{COUNT}|a hundred|half a dozen|a dozen)"
FRACTION: Final = re.compile(
    rf"\b(?P<some>{_SOME})(?: {_NOUN})?[ -](?:in|out of|(?:time )?(?:in|out of|from) every|per)"
    rf"(?: every)?[ -](?P<many>{_MANY})\b(?! (?:balls were|overs?|innings|attended|runs|of the"
    rf"|wickets|points|percent|per cent)|%|\.\d|/)",
    re.IGNORECASE,
)
_REPEATED: Final = re.compile(
    rf"\b(?:bowled|repeated|played(?: out)?|faced|replayed|run|happened|sent down|delivered|tried"
    rf"|rerun|re-run)(?: again)? (?P<many>{_MANY}) times\b[^.;]{{0,60}}?\b(?<!a"
    rf" )(?P<some>{_SOME})\b"
    rf"(?: of (?:them|those|these))?(?! times| runs?| balls?)"
    rf"|\b(?:of|out of|in|from|for) (?:every|each) (?P<many2>{_MANY}) {_NOUN}[^.;]{{0,60}}?"
    rf"\b(?<!a )(?P<some2>{_SOME})\b(?! runs?)"
    rf"|\b(?P<some3>{_SOME})(?: {_NOUN})? (?:for|of) every (?P<many3>{_MANY})\b",
    re.IGNORECASE,
)
_EVERY: Final = re.compile(
    rf"\b(?:every|one|each)(?: single)? (?P<nth>{'|'.join(ORDINAL_WORDS)}|\d{{1,2}}(?:st|nd|rd|th))"
    rf" (?:ball|delivery|time|one|go|attempt)\b",
    re.IGNORECASE,
)
_AGAINST: Final = re.compile(
    rf"\b(?P<lost>{COUNT})(?:-to-| to |-|/)(?P<won>one|1)\b(?: (?P<side>against|on|shot|chance"
    rf"|outsider))?",
    re.IGNORECASE,
)
_LESS: Final = re.compile(
    r"\b(?:less|fewer|rarer|lower|worse) than(?: an?)? ?$|\b(?:under|not even|not quite"
    r"|barely) (?:an? )?$",
    re.IGNORECASE,
)
_MORE: Final = re.compile(
    r"\b(?:more|better|higher) than(?: an?)? ?$|\b(?:over|at least|upwards of|above) (?:an? )?$",
    re.IGNORECASE,
)
HEDGE: Final = re.compile(rf"(?:{_LESS.pattern}|{_MORE.pattern})", re.IGNORECASE)
_PARTS: Final = {
    "half": 2, "third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8,
    "ninth": 9, "tenth": 10,
}  # fmt: skip
# "A quarter of such balls", "a one-third chance": not "half of these balls", which were bowled.
_PART: Final = re.compile(
    rf"\b(?:(?P<some>an?|one|two"
    rf"|three)[ -])?(?P<part>(?:{'|'.join(_PARTS)})s?)"
    r"(?:[ -](?:chance|probability|likelihood|shot)\b| (?:of )?the time\b| of (?:(?:all )?such"
    r"|(?:these|those"
    r"|the)"
    r" (?:balls|deliveries) (?:would|should|ought))\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Fraction:
    """So many in so many, and where in a text."""

    some: int
    many: int
    start: int
    end: int
    text: str
    part: bool = False

    def fits(self, value: float, before: str = "") -> bool:
        """Whether a probability is nearer to it than to those beside, or as hedged."""
        share = self.some / self.many
        if _LESS.search(before):
            return 0.5 * share <= value <= 1.02 * share
        if _MORE.search(before):
            return 0.98 * share <= value <= 2 * share
        if self.part:
            return abs(value - self.some / self.many) <= 0.12 * self.some / self.many + 0.005
        near = max(0.6 if self.some == 1 else 1.0, 0.06 * self.many)
        low = self.some / (self.many + near)
        high = self.some / max(self.many - near, 0.5)
        return low <= value <= high


def fractions_in(text: str) -> Iterator[Fraction]:
    """Every chance that is told as so many in so many, in words or digits."""
    taken: list[tuple[int, int]] = []
    for match in FRACTION.finditer(text):
        taken.append(match.span())
        yield _of(match, match["some"], match["many"])
    for match in _REPEATED.finditer(text):
        if any(match.start() < end and start < match.end() for start, end in taken):
            continue
        some = match["some"] or match["some2"] or match["some3"]
        yield _of(match, some, match["many"] or match["many2"] or match["many3"])
    for match in _EVERY.finditer(text):
        word = match["nth"].lower()
        many = ORDINAL_WORDS.get(word) or int(re.sub(r"\D", "", word))
        yield Fraction(1, many, *match.span(), match.group())
    for match in _PART.finditer(text):
        many = _PARTS[match["part"].lower().rstrip("s")]
        some = 3 if match["some"] and match["some"].lower() == "three" else 1
        some = 2 if match["some"] and match["some"].lower() == "two" else some
        yield Fraction(some, many, *match.span(), match.group(), part=True)
    for match in _AGAINST.finditer(text):
        if match["side"] is not None and match["side"].lower() != "on":
            yield Fraction(1, whole(match["lost"]) + 1, *match.span(), match.group())


def _of(match: re.Match[str], some: str, many: str) -> Fraction:
    return Fraction(_counted(some), _counted(many), *match.span(), match.group().strip())


def _counted(text: str) -> int:
    return _TIMES.get(text.lower()) or whole(text)
