"""Numbers in words, and numbers whose unit was said before, as digits with their unit.

"Forty-seven per cent" is read as "47 per cent"; "gains 8.0 points and loses 1.9" as if the second
had its points too. What was rewritten can be shown as it was written.
"""

from __future__ import annotations

import re
from typing import Final

from attnlens.explanation.grounding_text import NUMBER_WORDS

_ONES: Final = tuple(NUMBER_WORDS)[:20]
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES: Final = {
    **{word: value for value, word in enumerate(_ONES)},
    **{word: 10 * value for value, word in enumerate(_TENS, start=2)},
    "nought": 0,
    "fourty": 40,
}
_DIGIT: Final = rf"(?:{'|'.join(_ONES[:10])}|nought)"
_TEN: Final = rf"(?:{'|'.join(_TENS)}|fourty)"
_SMALL: Final = (
    rf"(?:{_TEN}(?:[- ](?:{'|'.join(_ONES[1:10])}))?|{'|'.join(reversed(_ONES))}|nought)"
)
_UNIT: Final = (
    r"(?:percentage[ -]points?|per ?cent(?:age[ -]points?)?|%|points?|bits?|nats?"
    r"|(?:runs )?(?:an|per) over)(?!\w)"
)
_SPELT: Final = re.compile(
    rf"\b(?P<number>{_SMALL})(?: point (?P<decimals>{_DIGIT}(?: {_DIGIT})?)"
    rf"|(?P<half> and a half))?(?P<gap>[ -])(?P<unit>{_UNIT})",
    re.IGNORECASE,
)
_SHARED: Final = re.compile(
    rf"(?:(?<=from )|(?<=between ))(?P<number>{_SMALL})(?P<link> (?:to|and|or|up to|down to) )"
    rf"(?=\d+(?:\.\d+)? ?{_UNIT})",
    re.IGNORECASE,
)
_COMPOUND: Final = re.compile(
    rf"\b(?:(?:{'|'.join(_TENS)})[- ](?:{'|'.join(_ONES[1:10])})"
    rf"|(?:{'|'.join(_TENS[1:])})(?= (?:for|off|from|balls?|deliver\w+|runs?|without)\b))\b",
    re.IGNORECASE,
)
_EACH: Final = re.compile(r"\b(?:respectively|in that order|in turn)\b", re.IGNORECASE)
_LISTED: Final = re.compile(
    r"(?<![\d.])(\d+(?:\.\d+)?)(,? and (?:\d+(?:\.\d+)?) ?(?:%|per ?cent))", re.IGNORECASE
)
# "A probability of 0.51"; a label has one digit after its point.
_CHANCE: Final = re.compile(r"\b(?:probabilit|chance|likelihood|odds)", re.IGNORECASE)
_DECIMAL: Final = re.compile(
    r"(?P<said>\b(?:of|is|at|to|from|was|be|by|than|against|versus|as|=|:) )"
    r"(?P<number>0\.(?P<digits>\d{2,3}))(?![\d%]|\.\d| ?(?:per|points?|nats?|bits?))",
    re.IGNORECASE,
)
_HALF: Final = re.compile(r"\bhalf an? (?P<unit>per ?cent|percentage[ -]point|point)\b", re.I)
_POINTS: Final = re.compile(r"\d (?:percentage )?points?\b|\dpp\b", re.IGNORECASE)
_BARE: Final = re.compile(
    r"(?P<verb>\b(?:los(?:es?|ing)|gain(?:s|ed|ing)?|lost|adds?|added|adding|subtracts?|subtracted"
    r"|tak(?:es?|ing)|took|costs?|cost|giv(?:es?|ing)|gave|lifts?|cuts?|trims?|sheds?|put(?:s"
    r"|ting)?"
    r"|contribut\w+|accounts? for|accounting for|responsible for|behind|worth|(?:raised|lifted"
    r"|lowered|cut"
    r"|trimmed|reduced|boosted|rais\w+|lower\w+|reduc\w+|boost\w*|push\w*|pull\w*|drag\w*|nudg\w*"
    r"|mov\w+)(?: it| that| them)?(?: up| down| back)? by"
    r"|(?:up|down|back) by|(?:a further|another|an extra|by only|by just|only|just)) )"
    r"(?P<number>\d{1,2}\.\d{1,2})(?![\d%]|\.\d| ?(?:%|per|points?|bits?|nats?|times|pp\b|(?:and|or"
    r"|to) \d|overs?|runs?)|, \d)",
    re.IGNORECASE,
)


def in_digits(text: str) -> tuple[str, dict[str, str]]:
    """A sentence with its numbers as digits, and how each was written."""
    written: dict[str, str] = {}

    def put(new: str, old: str) -> str:
        written[new] = old
        return new

    def spelt(match: re.Match[str]) -> str:
        number = str(_value(match["number"]))
        if match["decimals"]:
            number += "." + "".join(
                str(_VALUES[word.lower()]) for word in match["decimals"].split()
            )
        elif match["half"]:
            number += ".5"
        return put(f"{number}{match['gap']}{match['unit']}", match.group())

    def half(match: re.Match[str]) -> str:
        return put(f"0.5 {match['unit']}", match.group())

    def shared(match: re.Match[str]) -> str:
        return f"{_value(match['number'])}{match['link']}"

    def decimal(match: re.Match[str]) -> str:
        digits = match["digits"]
        told = f"{int(digits[:2])}.{digits[2:]}%" if digits[2:] else f"{int(digits)}%"
        return match["said"] + put(told, match["number"])

    def bare(match: re.Match[str]) -> str:
        return match["verb"] + put(f"{match['number']} points", match["number"])

    text = _SHARED.sub(shared, _HALF.sub(half, _SPELT.sub(spelt, text)))
    text = _COMPOUND.sub(lambda match: put(str(_value(match.group())), match.group()), text)
    if _EACH.search(text):
        text = _LISTED.sub(r"\1%\2", text)
    if _CHANCE.search(text):
        text = _DECIMAL.sub(decimal, text)
    first = _POINTS.search(text)
    if first is not None:
        head, rest = text[: first.end()], text[first.end() :]
        text = head + _BARE.sub(bare, rest)
    return text, written


def _value(words: str) -> int:
    return sum(_VALUES[word] for word in re.split(r"[ -]", words.lower()))
