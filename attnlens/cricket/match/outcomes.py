"""The eleven things that can happen on a ball, and the rule that decides which did."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, get_args

Outcome = Literal["0", "1", "2", "3", "4", "5", "6", "W", "wd", "nb", "bye"]

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
"""The classes the models predict, in the order of every probability vector."""

OUTCOME_INDEX: Final[dict[str, int]] = {name: position for position, name in enumerate(OUTCOMES)}


class OutcomeNames(NamedTuple):
    """What an outcome is called: in a sentence, in an id, beside a figure, and otherwise."""

    words: str
    thing: str
    label: str
    synonyms: tuple[str, ...] = ()

    @property
    def noun(self) -> str:
        """``words`` without the article: ``dot ball``."""
        return self.words.removeprefix("a ")


OUTCOME_NAMES: Final[dict[str, OutcomeNames]] = {
    "0": OutcomeNames("a dot ball", "dot", "0 dot", ("dot", "dots", "dot balls")),
    "1": OutcomeNames("a single", "single", "1", ("singles",)),
    "2": OutcomeNames("two runs", "two", "2"),
    "3": OutcomeNames("three runs", "three", "3"),
    "4": OutcomeNames("a four", "four", "4 four", ("fours",)),
    "5": OutcomeNames("five runs", "five", "5"),
    "6": OutcomeNames("a six", "six", "6 six", ("sixes",)),
    "W": OutcomeNames("a wicket", "wicket", "W wicket"),
    "wd": OutcomeNames("a wide", "wide", "wide", ("wides",)),
    "nb": OutcomeNames("a no-ball", "no_ball", "no-ball", ("no-balls",)),
    "bye": OutcomeNames("byes or leg byes", "bye", "byes", ("byes", "leg byes")),
}

OUTCOME_BY_NAME: Final[dict[str, str]] = {
    form: code for code, names in OUTCOME_NAMES.items() for form in (names.noun, *names.synonyms)
}
"""Outcomes by what a text calls them, beside their codes."""

UNCOUNTED_WICKETS: Final[frozenset[str]] = frozenset({"retired hurt", "retired not out"})
"""Ways to leave the field that are not a wicket (Laws of Cricket, 25.4)."""

NOT_THE_BOWLERS: Final[frozenset[str]] = UNCOUNTED_WICKETS | {
    "run out",
    "retired out",
    "obstructing the field",
    "handled the ball",
    "hit the ball twice",
    "timed out",
}
"""Dismissals that are not credited to the bowler."""

DISMISSALS: Final[frozenset[str]] = NOT_THE_BOWLERS | {
    "bowled",
    "caught",
    "caught and bowled",
    "hit wicket",
    "lbw",
    "stumped",
}
"""Every way to leave the field, as Cricsheet calls it."""


BOWLERS_SHARE_OF_WICKETS: Final = 0.92
"""Wickets of T20 cricket that are credited to the bowler; a forecast of a wicket has the others."""


def classify(
    *, runs_batter: int, wides: int, noballs: int, byes: int, legbyes: int, counted_wicket: bool
) -> str:
    """The outcome class of one delivery.

    A counted wicket comes first; else a wide; else a no-ball; else runs off the
    bat (7 or more count as 6); else ``bye`` when byes or leg byes ran; else ``0``.
    """
    if counted_wicket:
        return "W"
    if wides:
        return "wd"
    if noballs:
        return "nb"
    if runs_batter:
        return str(min(runs_batter, 6))
    if byes or legbyes:
        return "bye"
    return "0"


def parse_outcome(name: str) -> str:
    """An outcome's code by what it is called: ``six`` is ``6``; any other name stays."""
    small = name.strip().lower()
    things = {names.thing: code for code, names in OUTCOME_NAMES.items()}
    return (
        name if name in OUTCOME_INDEX else ({"w": "W"} | things | OUTCOME_BY_NAME).get(small, name)
    )
