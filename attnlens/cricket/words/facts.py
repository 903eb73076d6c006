"""Facts: a value of an explanation, as it is written in a sentence, with its place in the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized
from typing import Any, Final, Generic, TypeVar

from attnlens.cricket.explain.types import Document, Explanation, Fact, Sentence
from attnlens.cricket.match.outcomes import OUTCOME_NAMES
from attnlens.render.numbers import percent

OUTCOME_WORDS: Final = {outcome: names.words for outcome, names in OUTCOME_NAMES.items()}

_UNFAIR: Final = 0.3
"""The part of a difference that whole percents may add or take away."""

_SMALL: Final = 0.005
"""Chances below this are compared with two decimals."""


def fine_percent(value: float) -> str:
    return percent(value, 1)


def finest_percent(value: float) -> str:
    return percent(value, 2)


def tenths(value: float) -> str:
    return f"{value:.1f}"


def size(value: float) -> str:
    """Of points how many, whichever way: the words around say which."""
    return tenths(abs(value))


def significant(value: float) -> str:
    return f"{value:.2g}"


def small_q(value: float) -> str:
    """A q with two digits; of a very small one that it is."""
    return "below 0.001" if value < 0.001 else significant(value)


def counted(value: Sized) -> str:
    return str(len(value))


def spaced(value: str) -> str:
    return value.replace("_", " ")


def head_number(key: str) -> str:
    return key.split("_")[1]


def outcome_words(value: str) -> str:
    return OUTCOME_WORDS[value]


def outcome_start(value: str) -> str:
    """An outcome's words at the start of a sentence."""
    words = OUTCOME_WORDS[value]
    return words[:1].upper() + words[1:]


def names_in(explanation: Explanation) -> set[str]:
    """The people, sides and places of an explanation, as its file has named them."""
    ball, match = explanation.ball, explanation.match
    names = {ball.batter, ball.non_striker, ball.bowler, *match.teams}
    names |= {name for past in explanation.history for name in (past.batter, past.bowler)}
    sides = (match.batting_team, match.bowling_team, match.venue, match.city, match.event)
    return names | set(filter(None, sides))


_VERDICTS: Final = ("supported", "not better than chance", "cannot be told", "contradicted", None)


def claims_in_order(explanation: Explanation) -> list[int]:
    """The places of claims: by verdict, of one verdict those about the whole model first, then by
    how far they move their outcome; what is for comparison after them all.
    """

    def rank(at: int) -> tuple[bool, int, bool, float]:
        claim = explanation.evidence[at]
        order, of_head = _VERDICTS.index(claim.verdict), claim.removed_from == "head"
        return claim.reference, order, of_head, -abs(claim.top_change.points)

    return sorted(range(len(explanation.evidence)), key=rank)


Part = str | Fact
AnyDocument = TypeVar("AnyDocument", bound=Document)


def resolve(data: Any, pointer: str) -> Any:
    """The value at a JSON pointer, in a document or in plain data.

    Raises:
        LookupError: nothing is there.
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


class Source(Generic[AnyDocument]):
    """A document whose values are quoted by JSON pointer."""

    def __init__(self, document: AnyDocument) -> None:
        self.document = document

    def quote(self, pointer: str, form: Callable[[Any], str] = str) -> Fact:
        """The value at a pointer, as a form writes it."""
        return Fact(text=form(resolve(self.document, pointer)), pointer=pointer)

    def change(self, before: str, after: str) -> tuple[Fact, Fact]:
        """Two probabilities, with as few decimals as tell their difference fairly."""
        first, second = resolve(self.document, before), resolve(self.document, after)
        difference = round(second, 2) - round(first, 2)
        fair = abs(difference - (second - first)) <= _UNFAIR * abs(second - first)
        forms: list[Callable[[float], str]] = [percent] if fair and first != second else []
        forms.append(finest_percent if max(first, second) < _SMALL else fine_percent)
        pairs = [(self.quote(before, form), self.quote(after, form)) for form in forms]
        differ = (pair for pair in pairs if pair[0].text != pair[1].text)
        return next(differ, pairs[-1])

    def visible(self, pointer: str) -> Fact:
        """A probability that does not print as 0% unless it is next to nothing."""
        value = resolve(self.document, pointer)
        form = percent if value >= 0.0095 else fine_percent if value >= 0.00095 else finest_percent
        return self.quote(pointer, form)


def plain(parts: Iterable[Part]) -> str:
    """Words and facts as text."""
    return "".join(part if isinstance(part, str) else part.text for part in parts)


def sentence(parts: Iterable[Part]) -> Sentence:
    """Words and facts as a sentence; it begins with a capital where it begins with our words."""
    nonempty = [part for part in parts if part]
    text = plain(nonempty)
    if isinstance(nonempty[0], str):
        text = text[:1].upper() + text[1:]
    return Sentence(text=text, facts=tuple(part for part in nonempty if isinstance(part, Fact)))
