"""Slots of a passage in other words: a surname, an idiom, a rounded or spelt-out figure.

A template asks for them with a dot: ``{bowler.last}``, ``{moved.idiom}``, ``{top_now.near}``.
"""

from __future__ import annotations

from attnlens.explanation.facts import OUTCOME_WORDS

ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")

PLAIN = {
    **{"0": "dot ball", "1": "single", "2": "two", "3": "three", "4": "four", "5": "five"},
    **{"6": "six", "W": "wicket", "wd": "wide", "nb": "no-ball", "bye": "byes or leg byes"},
}
IDIOMS = {
    **{"0": "a dot", "1": "a single", "2": "a two", "3": "a three", "4": "a boundary four"},
    **{"5": "a five", "6": "a maximum", "W": "a dismissal", "wd": "a wide", "nb": "a no-ball"},
    "bye": "byes or leg byes",
}
WENT = {
    **{"0": "was a dot", "1": "saw a single taken", "2": "brought two", "3": "brought three"},
    **{"4": "went for four", "5": "brought five", "6": "went all the way for a maximum"},
    **{"W": "brought a dismissal", "wd": "was called wide", "nb": "was called a no-ball"},
    "bye": "brought byes or leg byes",
}
CODES = {words: code for code, words in OUTCOME_WORDS.items()}


class Phrase(str):
    """Words that may begin a sentence: ``cap``."""

    __slots__ = ()

    @property
    def cap(self) -> Phrase:
        return Phrase(self[0].upper() + self[1:])


class Name(str):
    """A player's name; ``last`` is the surname."""

    __slots__ = ()

    @property
    def last(self) -> str:
        return self.split()[-1]


class Outcome(Phrase):
    """An outcome: without its article, as commentators say it, and what the ball did."""

    __slots__ = ()

    @property
    def code(self) -> str:
        return CODES[self[0].lower() + self[1:]]

    @property
    def plain(self) -> Phrase:
        return Phrase(PLAIN[self.code])

    @property
    def idiom(self) -> Phrase:
        return Phrase(IDIOMS[self.code])

    @property
    def went(self) -> Phrase:
        return Phrase(WENT[self.code])


class Figure(Phrase):
    """A percentage: ``37 per cent``, ``thirty-seven per cent``, ``just over 35%``."""

    __slots__ = ()

    @property
    def value(self) -> float:
        return float(self.rstrip("%"))

    @property
    def cent(self) -> Phrase:
        return Phrase(f"{self.rstrip('%')} per cent")

    @property
    def words(self) -> Phrase:
        if self.value != int(self.value) or self.value >= 100:
            return self.cent
        tens, ones = divmod(int(self.value), 10)
        if tens < 2:
            return Phrase(f"{ONES[int(self.value)]} per cent")
        return Phrase(f"{TENS[tens]}{'-' + ONES[ones] if ones else ''} per cent")

    @property
    def near(self) -> Phrase:
        """The next round figure, and on which side of it this one is."""
        step = 5 if self.value >= 10 else 1
        whole = step * round(self.value / step)
        if whole == 0 or (step == 1 and abs(self.value - whole) > 0.35):
            return Phrase(f"roughly {self}")
        sides = ("just under", "roughly", "just over")
        if whole // step % 2:
            sides = ("a shade under", "about", "a touch above")
        return Phrase(f"{sides[1 + (self.value > whole) - (self.value < whole)]} {whole}%")

    def far(self, other: str) -> bool:
        """Whether no rounding makes this the other figure."""
        gap = abs(self.value - Figure(other).value)
        return gap > (3 if self.value >= 10 else 0.7)


class Count(Phrase):
    """How many, in digits or words, with what is counted in the singular or plural."""

    __slots__ = ()

    def _of(self, thing: str, things: str) -> Phrase:
        number = "no" if self == "zero" else str(self)
        return Phrase(f"{number} {thing if self in ('1', 'one') else things}")

    @property
    def runs(self) -> Phrase:
        return self._of("run", "runs")

    @property
    def balls(self) -> Phrase:
        return self._of("ball", "balls")

    @property
    def boundaries(self) -> Phrase:
        return self._of("boundary", "boundaries")

    @property
    def wickets(self) -> Phrase:
        return self._of("wicket", "wickets")


NAMES = ("bowler", "batter", "event_bowler", "event_batter")
OUTCOMES = ("moved", "top", "hit", "actual", "event", "Event", "thing", "first", "second", "third")
COUNTS = ("runs", "left", "some", "many", "down", "number")


def in_words(name: str, text: str) -> str:
    """A slot's text, with its other words."""
    if name in NAMES:
        return Name(text)
    if name in OUTCOMES:
        return Outcome(text)
    if name in COUNTS:
        return Count(text)
    return Figure(text) if text.endswith("%") else Phrase(text)
