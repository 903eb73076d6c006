"""How a number is hedged: "just under 80%", "a touch above 45%", "some 20% or so"."""

from __future__ import annotations

import re
from typing import Final

from attnlens.explanation.grounding_units import PERCENT, POINTS, Number

_BIT: Final = (
    r"(?:just|a (?:shade|touch|little|fraction|whisker|tad|hair|smidgen|smidge|sliver|tick|bit"
    r"|trifle|notch|fraction of a point)|slightly|fractionally|marginally|barely|only just"
    r"|narrowly|somewhat|a little bit)"
)
_UNDER: Final = re.compile(
    rf"\b(?:{_BIT} (?:under|below|less than|lower than|short of|shy of|south of|beneath|fewer than)"
    r"|(?:just|a (?:shade|touch|little|fraction)) inside|not quite|shy of|close on) ?(?:the )?$",
    re.IGNORECASE,
)
_OVER: Final = re.compile(
    rf"\b{_BIT} (?:over|above|more than|higher than|north of|beyond|upwards of|past|in excess of"
    r"|better than|on the (?:upper|high) side of) ?(?:the )?$",
    re.IGNORECASE,
)
_MORE: Final = re.compile(
    r"(?:\b(?:more than|at least|over|upwards of|in excess of|no less than|no fewer than|better"
    r" than|fully|a good|comfortably over|well over|north of)|>|≥) ?$",
    re.IGNORECASE,
)
_LESS: Final = re.compile(
    r"(?:\b(?:less than|under|below|at most|no more than|fewer than|up to|well under)|<|≤) ?$",
    re.IGNORECASE,
)
_ROUGH: Final = re.compile(
    r"(?:\b(?:about|around|roughly|nearly|almost|some|close to|approximately|approaching|circa"
    r"|something like|near(?:er|est)?|in the (?:region|neighbourhood|vicinity|area|order) of|of the"
    r" order of|or so|the best part of|more or less|give or take|as near as makes no difference"
    r"|in or around|practically|virtually|getting on for|nearly|ca\.?|c\.)|~|≈) ?(?:an? |the )?$",
    re.IGNORECASE,
)
_ROUGH_AFTER: Final = re.compile(
    r"^(?:ish\b| or so\b| or thereabouts| give or take| or near enough|,? roughly\b|,? more or less"
    r"|,? approximately|,? near enough)",
    re.IGNORECASE,
)
_WIDE: Final = 5.5
_NEAR: Final = 3.0


def fits(number: Number, value: float, before: str, after: str, *, signed: bool = False) -> bool:
    """Whether a true value is what a number with its hedge says.

    Args:
        before: the words before the number; ``after``, those after it.
        signed: whether the sign of the number counts.
    """
    exact = number.fits(value, signed=signed)
    told, true = number.value, value
    if signed and number.sign:
        told, true = (-told if number.sign == "-" else told), value
    else:
        told, true = abs(told), abs(true)
    rounds = number.decimals == 0 and number.value % 5 == 0 and number.unit == PERCENT
    near = _NEAR if rounds else 1.0 if number.unit in (PERCENT, POINTS) else 0.1
    if _UNDER.search(before):
        return told - near - 0.5 <= true <= told + 0.15 or (exact and not rounds)
    if _OVER.search(before):
        return told - 0.15 <= true <= told + near + 0.5 or (exact and not rounds)
    if exact:
        return True
    if _MORE.search(before):
        return told <= true <= told + _WIDE
    if _LESS.search(before):
        return number.unit == PERCENT and true < told
    if _ROUGH.search(before) or _ROUGH_AFTER.match(after):
        return rounds and abs(told - true) <= 2.5
    return False
