"""Which of several outcomes each of several figures is of: "47% and 19% respectively"."""

from __future__ import annotations

import re
from typing import Final

from attnlens.explanation.grounding_text import outcomes_in

_PERCENT: Final = r"\d+(?:\.\d+)? ?(?:%|per ?cent)?"
_LIST: Final = re.compile(
    rf"(?P<list>{_PERCENT}(?:(?:,| and|, and| or| to| against| versus) {_PERCENT})+),? \(?"
    r"(?P<word>respectively|in that order|in turn|in order)\b",
    re.IGNORECASE,
)
_WORD_FIRST: Final = re.compile(
    rf"(?:respectively|in that order|in turn)[ ,:(-]*(?:on|at|worth|given|rated)? ?"
    rf"(?P<list>{_PERCENT}(?:(?:,| and|, and) {_PERCENT})+)",
    re.IGNORECASE,
)


def in_turn(before: str, number: str, sentence: str) -> str | None:
    """The outcome that a number of a list belongs to, by its place; ``None`` in no such list.

    Args:
        before: the clause up to the number.
        number: the clause from the number on.
        sentence: the sentence, in which the outcomes were named in the same order.
    """
    for pattern in (_LIST, _WORD_FIRST):
        for match in pattern.finditer(sentence):
            start = sentence.find(before + number)
            # An aside between dashes stands in the sentence as it is; what is around it does not.
            place = start + len(before) - match.start("list") if start >= 0 else -1
            if not 0 <= place < len(match["list"]):
                continue
            size = len(re.findall(_PERCENT, match["list"]))
            rank = len(re.findall(_PERCENT, match["list"][:place]))
            named = [one.outcome for one in outcomes_in(sentence[: match.start()])]
            if len(named) >= size:
                return named[-size:][rank]
    return None
