"""What little English `grounding` knows: stop words, numbers with what stands beside them, causes."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

STOP: Final = frozenset(
    "a an the of is was are were be been has had have at in on for to with from by as it its and or"
    " but than that this these those which who whose there then so not no nor if their they he she"
    " his her we our you your i s t where when while what how will would can could may might must"
    " do does did only just all each both any some other most more less under up down into out"
    " against about around roughly nearly".split()
)
FOREIGN: Final = frozenset(
    "der die das und ist nicht ein eine einer bei von auf den dem le la les est des une du que qui el"
    " los las es por del y un il che di per e o os um uma não het een van de op met och att som"
    " är på av une".split()
)
"""What other languages say as often; a text of theirs is not read."""

LINKS: Final = frozenset(
    "is was the a an in on at of by for has had run runs led leads brought".split()
)
"""Words that stand between two labels where one is said of the other."""

NAMELESS: Final = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june"
    " july august september october november december i ai english p q".split()
)
"""Words with a capital that name nothing."""

COMMON: Final = {
    "chance": "probability", "likely": "probability", "likelihood": "probability",
    "odds": "probability", "per cent": "percent", "m3/s": "m3s", "cubic metres a second": "m3s",
    "cubic metres per second": "m3s", "cubic metres": "m3", "metres": "m",
    "winning": "win", "wins": "win", "usually": "usual",
}  # fmt: skip
"""Words of a text, and what facts call the same."""

PRONOUN: Final = re.compile(r"\b(?:its?|their|they|he|she|his|her|there|this|that)\b", re.IGNORECASE)
IMPLIED: Final = "probability"
"""The field that a per cent sign stands for where no other is named."""

UNITS: Final = frozenset({"share", "percent", "percentage", "rate", "points", "total", "number"})
"""Words of fields that a text may leave out."""

COUNTS: Final = tuple(
    "zero one two three four five six seven eight nine ten eleven twelve".split()
)
LARGE: Final = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
NUMBER: Final = re.compile(
    r"(?<![\w.,])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?: (?P<large>thousand|million|billion)\b)?"
    r"(?:(?P<share> ?%| ?per ?cent\b)|(?P<points>[ -](?:percentage[ -])?points?\b| ?pp\b))?"
    rf"|(?<![\w-])(?P<word>{'|'.join(COUNTS)})\b(?! ?%)",
    re.IGNORECASE,
)
BESIDE: Final = {
    "about": r"\b(?:about|around|roughly|approximately|nearly|almost|some|near|close to|just under"
    r"|just over|up to)|[~≈]",
    "above": r"\b(?:more than|over|above|at least)",
    "below": r"\b(?:less than|fewer than|under|below|at most)",
    "derived": r"\b(?:by|up|down|rose|fell|grew|dropped|another|further|gap of|total of|sum of"
    r"|difference of|average of|mean of|factor of|one in)",
}
HEDGE: Final = re.compile(
    "(?:" + "|".join(f"(?P<{name}>{words})" for name, words in BESIDE.items()) + ")"
    r"(?: (?:an?|the|just|only|some|about))? ?[£$€]?$",
    re.IGNORECASE,
)
"""What makes the number after it no exact one."""

COMPARED: Final = re.compile(
    r"(?: [^\W\d][\w³/]*)? (?:more|less|fewer|higher|lower|above|below|better|worse|longer|shorter"
    r"|further|ahead|behind|apiece|each|times)\b|[^\W\d]| ?[-–]\d",
    re.IGNORECASE,
)
"""What follows a number that is worked out from others, is an ordinal, or one end of a range."""

ASIDE: Final = re.compile(
    r"\b(?:averages?|mean|median|total|combined|altogether|together|sum|difference|gap|yesterday"
    r"|tomorrow|last (?:year|month|week|season|night|time)|next (?:year|month|week|season|time)"
    r"|previous(?:ly)?|formerly|forecast|target|limit|threshold|capacity|record|ago|if|could|might"
    r"|between|used to|had been)\b",
    re.IGNORECASE,
)
"""Words beside which a number may be of what the facts do not hold."""

NUMBERED: Final = re.compile(
    r"(?:\b(?:figure|table|section|page|chapter|step|part|top|no\.|not|never|n't|than) |#)$",
    re.IGNORECASE,
)
"""What stands before a number that counts nothing, or that is denied."""

DATE: Final = re.compile(
    r"\b\d{1,2}(?:st|nd|rd|th)? (?:of )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w*"
    r"(?:,? \d{4})?|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w* \d{1,2}(?:,? \d{4})?\b"
    r"|\b\d{4}-\d\d-\d\d\b|\b\d{1,2}:\d\d\b"
)
CLAUSE: Final = re.compile(
    r"[;:()–—]|,(?!\d)|\b(?:and|but|while|whereas|where|though|than|against|to)\b"
)
SENTENCE: Final = re.compile(
    r"(?<![A-Z])[.!?][\"')\]’”]*\s+(?=[\"'(\[“]?[^\Wa-z])|;\s+|\s\|\s"
)
MARKS: Final = re.compile(r"\*\*|__|[*`]|^\s*(?:>|[-+•]\s|\d+[.)]\s)\s*|^\||\|$|\]\([^)]*\)|\[(?=\w)")
CAPITALS: Final = re.compile(r"(?<!\w)[^\W\d_a-z][\w'’-]*(?: [^\W\d_a-z][\w'’-]*)*")
CAUSE: Final = r"\b(?:because|due to|owing to|thanks to|caused by|the reason)\b"
VERDICTS: Final = (
    (r"\b(?:cannot|can't|can not) be told\b", "cannot be told"),
    (r"\b(?:no|not) better than (?:by )?chance\b", "not better than chance"),
    (
        r"\b(?:unsupported|not (?:been )?(?:supported|borne out|confirmed))\b",
        "not better than chance|contradicted|cannot be told",
    ),
    (r"\bcontradict(?:ed|s)\b", "contradicted"),
    (CAUSE, "supported"),
    (r"\b(?:supported|supports|borne out|confirmed|proven?|proves)\b", "supported"),
)
"""Words of a verdict, and the verdicts one claim may have for them."""



def is_english(text: str) -> bool:
    """Whether nothing in a sentence says that it is in another language."""
    letters = [sign for sign in text if sign.isalpha()]
    if sum(sign < "\u0250" for sign in letters) < len(letters) * 0.7:
        return False
    words = re.findall(r"[^\W\d_]+", text.lower())
    return sum(word in FOREIGN for word in words) <= sum(word in STOP for word in words)


def sentences(text: str) -> list[str]:
    """The statements of plain text or Markdown: sentences, and their parts between semicolons."""
    cut = []
    for line in text.splitlines():
        if not re.match(r"\s*(?:#|\|?[-:| ]+$|```)", line):
            shown = MARKS.sub("", line)
            ends = [0, *(match.end() for match in SENTENCE.finditer(shown)), len(shown)]
            cut += [shown[start:end].strip(" |") for start, end in pairwise(ends)]
    return [" ".join(one.split()) for one in cut if re.search(r"[^\W\d_]{2}", one)]
