"""What little English `grounding` knows: common words, and what stands around a number."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP: Final = _words(
    "a an the of is was are were be been has had have at in on for to with from by as it its and or"
    " but than that this these those which who whose there then so not no nor if their they he she"
    " his her we our you your i s t where when while what how will would can could may might must"
    " do does did only just all each both any some other most more less under up down into out"
    " against"
)
FOREIGN: Final = _words(
    "der die das und ist nicht ein eine einer bei von auf den dem le la les est des une du que qui"
    " el los las es por del y un il che di per e o os um uma não het een van de op met och att som"
    " är på av"
)
"""What other languages say as often; a text of theirs is not read."""

LINKS: Final = _words("is was the a an in on at of by for has had run brought")
"""Words that stand between two labels where one is said of the other."""

NAMELESS: Final = STOP | _words(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june"
    " july august september october november december i ai english p q"
)
"""Words with a capital that name nothing."""

COMMON: Final = {
    "chance": "probability", "likely": "probability", "likelihood": "probability",
    "odds": "probability", "winning": "win", "wins": "win", "usually": "usual", "metres": "m",
    "m3/s": "m3s", "cubic metres a second": "m3s", "cubic metres per second": "m3s",
}  # fmt: skip
"""Words of a text, and what facts call the same."""

IMPLIED: Final = "probability"
"""The field that a per cent sign stands for where no other is named."""

LEFT_OUT: Final = ("share", "percent", "percentage", "rate", "points", "total", "number")
"""Words of fields that a text may leave out."""

LARGE: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9}


def any_case(pattern: str) -> re.Pattern[str]:
    """A pattern for small and large letters."""
    return re.compile(pattern, re.IGNORECASE)


NUMBER: Final = any_case(
    r"(?<![\w.,:])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?: (?P<large>thousand|million|billion)\b)?"
    r"(?:(?P<share> ?%| ?per ?cent\b)|(?P<points>[ -](?:percentage[ -])?points?\b| ?pp\b))?"
)
HEDGE: Final = any_case(
    r"(?:\b(?:about|around|roughly|approximately|nearly|almost|some|close to|up to|more than|over"
    r"|above|at least|less than|fewer than|under|below|at most)|[~≈]) ?[£$€]?$"
)
"""What makes the number after it no exact one."""

WORKED_OUT: Final = any_case(
    r"(?:\b(?:by|up|down|rose|fell|grew|another|further|one in|from [\d.,]+%? to|not|never"
    r"|than|figure|table|section|page|chapter|step|part|top|no\.)(?: (?:about|just|only))? ?|#)"
    r"[£$€]?$"
)
"""What stands before a number that is worked out from others, is denied, or counts nothing."""

COMPARED: Final = any_case(
    r"(?: [^\W\d][\w³/]*)? (?:more|less|fewer|higher|lower|above|below|better|worse|longer|shorter"
    r"|further|later|earlier|after|before|ahead|behind|apiece|each|times)\b|[^\W\d]| ?[-–:]\d"
)
"""What follows a number that is worked out from others, is an ordinal, a time, or of a range."""

ASIDE: Final = any_case(
    r"\b(?:averages?|mean|median|total|combined|together|sum|difference|gap|yesterday|tomorrow"
    r"|(?:last|next) (?:year|month|week|season|night|time)|previous(?:ly)?|forecast|limit|record"
    r"|ago|half|twice|double|overall|if|could|might|between|used to|had been"
    r"|without|hid(?:e|ing|den))\b"
)
"""Words beside which a number may be of what the facts do not hold."""

PRONOUN: Final = any_case(r"\b(?:its?|their|they|he|she|his|her|there|this|that)\b")
CLAUSE: Final = any_case(
    r"[;:()–—]|,(?!\d)|\b(?:and|but|while|whereas|where|though|than|against|to)\b"
)
SENTENCE: Final = re.compile(r"(?<![A-Z])[.!?][\"')\]’”]*\s+(?=[\"'(\[“]?[^\Wa-z])|;\s+|\s\|\s")
MARKS: Final = re.compile(
    r"\*\*|__|[*`]|^\s*(?:>|[-+•]\s|\d+[.)]\s)\s*|^\||\|$|\]\([^)]*\)|\[(?=\w)"
)
CAPITALS: Final = re.compile(r"(?<!\w)[^\W\d_a-z][\w'’-]*(?: [^\W\d_a-z][\w'’-]*)*")
CAUSE: Final = any_case(r"\b(?:because|due to|owing to|thanks to|caused by|the reason)\b")
VERDICTS: Final = (
    (any_case(r"\b(?:cannot|can't|can not) be told\b"), {"cannot be told"}),
    (any_case(r"\b(?:no|not) better than (?:by )?chance\b"), {"not better than chance"}),
    (
        any_case(r"\b(?:unsupported|not (?:been )?(?:supported|borne out|confirmed))\b"),
        {"not better than chance", "contradicted", "cannot be told"},
    ),
    (any_case(r"\bcontradict(?:ed|s)\b"), {"contradicted"}),
    (any_case(r"\b(?:supported|supports|borne out|confirmed|proven?|proves)\b"), {"supported"}),
    (CAUSE, {"supported"}),
)
"""Words of a verdict or a cause, and the verdicts that a claim may have for them."""


def is_english(text: str) -> bool:
    """Whether nothing in a sentence says that it is in another language."""
    letters = [sign for sign in text if sign.isalpha()]
    if sum(sign < "\u0250" for sign in letters) < len(letters) * 0.7:
        return False
    words = re.findall(r"[^\W\d_]+", text.lower())
    return sum(word in FOREIGN for word in words) <= sum(word in STOP for word in words)


def statements(text: str) -> list[str]:
    """The statements of plain text or Markdown: sentences, and their parts between semicolons."""
    cut = []
    for line in text.splitlines():
        if not re.match(r"\s*(?:#|\|?[-:| ]+$|```)", line):
            shown = MARKS.sub("", line)
            ends = [0, *(match.end() for match in SENTENCE.finditer(shown)), len(shown)]
            cut += [shown[start:end].strip(" |") for start, end in pairwise(ends)]
    return [one for one in cut if re.search(r"[^\W\d_]{2}", one)]
