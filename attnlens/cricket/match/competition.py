"""Which competition a match belongs to, and what kind of T20 cricket it is.

Files name an event: a league by its name in every season, an international series by a name of
its own, of which nothing was ever seen before. So all internationals of men, or of women, are
one competition.
"""

from __future__ import annotations

from typing import Final

from attnlens.cricket.match.match import Match

INTERNATIONALS: Final = "internationals"
FIVE: Final = 5
"""Balls in an over of The Hundred."""

KIND_SIZE: Final = 3
"""Flags of `kind_of_cricket`."""


def competition_of(match: Match) -> str:
    """What the competition's level is kept under; empty where the file does not tell."""
    name = str(match.event.get("name", "")).strip()
    if match.team_type == "international" or " tour of " in name:
        name = INTERNATIONALS
    return f"{name} (women)" if name and match.gender == "female" else name


def era_of(match: Match) -> str:
    """What the level of the day is kept under: men's cricket and women's apart."""
    return match.gender or "male"


def kind_of_cricket(match: Match) -> tuple[float, float, float]:
    """Whether women play, whether clubs do, and whether an over has five balls: 0 or 1 each."""
    club = not competition_of(match).startswith(INTERNATIONALS)
    return float(match.gender == "female"), float(club), float(match.balls_per_over == FIVE)


KINDS: Final = (
    "men's internationals",
    "men's leagues",
    "women's internationals",
    "women's leagues",
)
"""The kinds of cricket by the number of `table_of`."""

TABLES: Final = len(KINDS)
"""Each kind has a table of its own of what happens in each over."""


def table_of(match: Match) -> int:
    """The number of the match's kind in `KINDS`."""
    women, club, _ = kind_of_cricket(match)
    return int(2 * women + club)
