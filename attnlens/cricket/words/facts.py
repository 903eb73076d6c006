"""Write sentences from templates, in which JSON pointers stand for numbers and names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from attnlens.cricket.explain.json_document import JsonDocument
from attnlens.cricket.explain.types import Explanation, Fact, Sentence
from attnlens.cricket.match.match import OUTCOME_NAMES
from attnlens.render.numbers import percent, signed_points

OUTCOME_WORDS: Final = {outcome: names.words for outcome, names in OUTCOME_NAMES.items()}
AnyDocument = TypeVar("AnyDocument", bound=JsonDocument)

_MAX_ROUNDING_SHARE: Final = 0.3
"""Probabilities get decimals if rounding changes their difference by a larger fraction."""

_MAX_TWO_DECIMALS: Final = 0.005
"""Smaller probabilities that need decimals get two decimals."""


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _visible_percent(value: float) -> str:
    return percent(value, 0 if value >= 0.0095 else 1 if value >= 0.00095 else 2)


VERDICT_WORDS: Final[Mapping[str, str]] = {
    "supported": "more than comparable balls do",
    "not better than chance": "no more than comparable balls do",
    "cannot be told": "but the result is unclear",
    "contradicted": "the opposite of what is claimed",
}
"""The end of a sentence such as "Hiding ball 7.1 lowers the probability, ..."."""


def surname(name: str) -> str:
    """Return a surname with its lower-case prefix, such as ``de Villiers``."""
    words = name.split() or ["?"]
    start = len(words) - 1
    while start > 1 and words[start - 1].islower():
        start -= 1
    return " ".join(words[start:])


FORMS: Final[Mapping[str, Callable[[Any], str]]] = {
    "": str,
    "capital": capitalized,
    "count": lambda value: str(len(value)),
    "outcome": OUTCOME_WORDS.__getitem__,
    "Outcome": lambda value: capitalized(OUTCOME_WORDS[value]),
    "percent": percent,
    "percent1": lambda value: percent(value, 1),
    "percent2": lambda value: percent(value, 2),
    "visible": _visible_percent,
    "signed": signed_points,
    "size": lambda value: f"{abs(value):.1f}",
    "whole": lambda value: f"{value:.0f}",
    "thousands": lambda value: f"{value:,}",
    "tenths": lambda value: f"{value:.1f}",
    "significant": lambda value: f"{value:.2g}",
    "surname": surname,
    "Surname": lambda value: capitalized(surname(value)),
    "verdict": VERDICT_WORDS.__getitem__,
    "record_verdict": lambda value: VERDICT_WORDS[value].replace(" balls ", " records "),
    "q": lambda value: "below 0.001" if value < 0.001 else f"{value:.2g}",
    "claim": lambda value: value.replace("it attended to", "the model attended to"),
}
"""Functions that format a value. In a template, a key can follow the pointer."""

QUOTE: Final = re.compile(r"\[(/[^\s\]]+) ?(\w*)\]")
"""A quote in a template: a JSON pointer and an optional key of `FORMS`, in brackets."""


def text_of(
    document: JsonDocument, template: str, names: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Replace each quote in a template by the value at the pointer.

    An example of a template is ``[/ball/score] at [/ball/run_rate tenths] an over``.

    Args:
        names: replacements for quoted texts, such as short names.
    """

    def text(quote: re.Match[str]) -> str:
        value = FORMS[quote[2]](resolve(document, quote[1]))
        return names.get(value, value)

    return QUOTE.sub(text, template)


def sentence(
    document: JsonDocument, template: str, names: Mapping[str, str] = MappingProxyType({})
) -> Sentence:
    """Build a sentence from a template. For ``names``, see `text_of`.

    The sentence is capitalized, unless the template begins with a quote.
    """
    text = text_of(document, template, names)
    facts = (
        Fact(text=text_of(document, quote[0], names), pointer=quote[1])
        for quote in QUOTE.finditer(template)
    )
    return Sentence(
        text=text if template.startswith("[") else capitalized(text), facts=tuple(facts)
    )


def quote_change(document: JsonDocument, before: str, after: str) -> tuple[str, str]:
    """Return quotes of two probabilities, with enough decimals to show the difference."""
    first, second = resolve(document, before), resolve(document, after)
    difference = round(second, 2) - round(first, 2)
    fair = abs(difference - (second - first)) <= _MAX_ROUNDING_SHARE * abs(second - first)
    forms = ["percent"] if fair and first != second else []
    forms.append("percent2" if max(first, second) < _MAX_TWO_DECIMALS else "percent1")
    form = next((name for name in forms if FORMS[name](first) != FORMS[name](second)), forms[-1])
    return f"[{before} {form}]", f"[{after} {form}]"


def resolve(data: Any, pointer: str) -> Any:
    """Return the value at a JSON pointer in a document or in plain data.

    Raises:
        LookupError: there is no value at the pointer.
    """
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(data, list | tuple):
            data = data[int(step)]
        elif isinstance(data, Mapping):
            data = data[step]
        else:
            data = getattr(data, "__dict__", {})[step]
    return data


def names_in(explanation: Explanation) -> set[str]:
    """Return the names of people, teams and places in an explanation, as in the match file."""
    ball, match = explanation.ball, explanation.match
    names = {ball.batter, ball.non_striker, ball.bowler, *match.teams}
    names |= {name for past in explanation.past_balls for name in (past.batter, past.bowler)}
    names |= set(ball.happened.fielders if ball.happened else ())
    sides = (match.batting_team, match.bowling_team, match.venue, match.city, match.event)
    return names | set(filter(None, sides))


_VERDICTS: Final = ("supported", "not better than chance", "cannot be told", "contradicted", None)


def claims_in_order(explanation: Explanation) -> list[int]:
    """Return the indices of the claims in display order.

    Claims that are shown only for comparison are last. The others are sorted by verdict (supported
    first), scope (the whole model first), and size of the change.
    """

    def rank(index: int) -> tuple[bool, int, bool, float]:
        claim = explanation.evidence[index]
        order, of_head = _VERDICTS.index(claim.verdict), claim.removed_from == "head"
        return claim.reference, order, of_head, -abs(claim.top_change.points)

    return sorted(range(len(explanation.evidence)), key=rank)
