"""Numbers with their units, as they stand in a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from attnlens.explanation.grounding_facts import Known

NUMERAL: Final = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
PERCENT, POINTS, NATS, BITS, ODDS, TIMES = "%", " points", " nats", " bits", "", " times"
_UNITS: Final = (
    (POINTS, r"(?:percentage[- ]|per cent )?points?\b|\bpp\b|pp\b|%-points?\b"),
    (PERCENT, r"%|per ?cent\b"),
    (NATS, r"nats?\b"),
    (BITS, r"bits?\b"),
    (TIMES, r"(?:times|x)\b(?! out of)"),
)
_UNIT: Final = "|".join(f"(?P<u{at}>{pattern})" for at, (_, pattern) in enumerate(_UNITS))
_SIGNED: Final = re.compile(
    rf"(?<![\w.,])(?P<sign>[+-])?(?P<number>{NUMERAL})[ -]?(?:{_UNIT})", re.IGNORECASE
)
_BARE: Final = re.compile(
    r"(?<![\w.,%-])(?P<sign>[+-])(?P<number>\d+\.\d+)(?![\d%])(?=[),;:]|\.?$|\.? )"
)
_PAIR: Final = re.compile(
    rf"(?<![\w.,])(?P<first>{NUMERAL})(?:[ -]?%)?(?:,? (?:up |down )?to | ?-> ?| - "
    rf"|-)(?P<second>{NUMERAL})[ -]?(?P<unit>%|per ?cent\b)"
    rf"|(?<![\w.,])(?P<first2>{NUMERAL}) (?:to|and|or) (?P<second2>{NUMERAL})[ -]?"
    rf"(?P<unit2>points|nats|bits)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number with its unit, as it stands in a clause."""

    text: str
    value: float
    decimals: int
    unit: str
    sign: str
    start: int
    end: int

    def fits(self, known: float, *, signed: bool = False) -> bool:
        """Whether a true value rounds to it; prompts hold three decimals, so once more may be."""
        half = 0.5 * 10.0**-self.decimals
        slack = 0.05 if self.unit == PERCENT and self.decimals == 0 else 0.0
        if self.unit == POINTS and self.decimals < 3:
            slack = 0.0005
        value = self.value
        if self.sign == "-" and signed:
            value = -value
        if not (signed and self.sign):
            known, value = abs(known), abs(value)
        return abs(known - value) <= half + slack + 1e-9


def numbers_in(text: str) -> list[Number]:
    """Numbers with units, those of a pair that share one too, in order."""
    found: dict[int, Number] = {}
    for match in _PAIR.finditer(text):
        for first, second, unit in (("first", "second", "unit"), ("first2", "second2", "unit2")):
            if match[first] is None:
                continue
            shared = (
                PERCENT
                if match[unit].lower().startswith(("%", "per"))
                else f" {match[unit].lower()}"
            )
            for name in (first, second):
                start, end = match.span(name)
                found[start] = number_of(match[name], shared, "", start, end)
    for match in _BARE.finditer(text):
        # "(+1.4)": a sign before a number without a unit is that of points.
        start, end = match.start("number"), match.end()
        found[start] = number_of(match["number"], POINTS, match["sign"], start, end)
    for match in _SIGNED.finditer(text):
        at = next(at for at in range(len(_UNITS)) if match[f"u{at}"])
        start, end = match.start("number"), match.end()
        found[start] = number_of(match["number"], _UNITS[at][0], match["sign"] or "", start, end)
    return [found[start] for start in sorted(found)]


def number_of(text: str, unit: str, sign: str, start: int, end: int) -> Number:
    plain = text.replace(",", "")
    decimals = len(plain.partition(".")[2])
    return Number(text, float(plain), decimals, unit, sign, start, end)


def written(known: Known, number: Number) -> str:
    """A true value in the unit, and with the decimals, of a number that is not it."""
    if known.text:
        return known.text
    sign = "+" if number.sign else ""
    scaled = known.value * (100 if number.unit == PERCENT else 1)
    return f"{scaled:{sign}.{number.decimals}f}{number.unit}"
