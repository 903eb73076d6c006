"""The competition and the category of a match, and the number of balls that a side may face.

Each league is one competition. All men's internationals form one competition, and all women's
internationals form another.
"""

from __future__ import annotations

from typing import Final

from attnlens.cricket.match.match import Innings, Match

INTERNATIONALS: Final = "internationals"
BALLS_PER_OVER_OF_THE_HUNDRED: Final = 5
ALL_OUT: Final = 10
BOWLERS_SHARE: Final = 5
"""A bowler may bowl at most one fifth of an innings."""

MENS_COMPETITIONS: Final = frozenset({
    "Bangladesh Premier League", "Big Bash League", "Caribbean Premier League",
    "CSA T20 Challenge", "Indian Premier League", "International League T20",
    "Lanka Premier League", "Major League Cricket", "Mzansi Super League", "NatWest T20 Blast",
    "Nepal Premier League", "Pakistan Super League", "Ram Slam T20 Challenge", "SA20",
    "Syed Mushtaq Ali Trophy", "Vitality Blast",
})  # fmt: skip
"""Men's club leagues. No women's league has one of these names."""

KIND_SIZE: Final = 3
"""The number of flags that `kind_of_cricket` returns."""


def competition_of(match: Match) -> str:
    """Return the key of the match's competition, or an empty string if it is unknown."""
    event = event_of(match)
    if match.team_type != "international" and " tour of " not in event:
        return event
    return f"{INTERNATIONALS} (women)" if match.gender == "female" else INTERNATIONALS


def event_of(match: Match) -> str:
    """Return the event's name, or an empty string. A women's event gets the suffix " (women)"."""
    name = str(match.event.get("name", "")).strip()
    return f"{name} (women)" if name and match.gender == "female" else name


def team_key(match: Match, team: str) -> str:
    """Return the team's name, with " (women)" added for women's cricket."""
    return f"{team} (women)" if match.gender == "female" else team


def venue_key(match: Match) -> str:
    """Return the ground's name up to the first comma. Later parts differ between files."""
    return (match.venue or "").split(",")[0].strip()


def era_of(match: Match) -> str:
    """Return the match's gender, or ``male`` if the file states no gender."""
    return match.gender or "male"


def kind_of_cricket(match: Match) -> tuple[float, float, float]:
    """Return three flags, each 0 or 1: women play, clubs play, an over has five balls."""
    club = not competition_of(match).startswith(INTERNATIONALS)
    return (
        float(match.gender == "female"),
        float(club),
        float(match.balls_per_over == BALLS_PER_OVER_OF_THE_HUNDRED),
    )


KINDS: Final = (
    "men's internationals",
    "men's leagues",
    "women's internationals",
    "women's leagues",
)
"""The categories of matches. `table_of` returns the index of a category."""

TABLES: Final = len(KINDS)
"""The number of outcome tables. Each category of matches has one table."""


def table_of(match: Match) -> int:
    """Return the index of the match's category in `KINDS`."""
    women, club, _ = kind_of_cricket(match)
    return int(2 * women + club)


TWENTY_OVER_TYPES: Final = frozenset({"T20", "IT20"})
ONE_DAY_TYPES: Final = frozenset({"ODI", "ODM"})
UNLIMITED_TYPES: Final = frozenset({"Test", "MDM"})
OVERS_BY_TYPE: Final = dict.fromkeys(TWENTY_OVER_TYPES, 20) | dict.fromkeys(ONE_DAY_TYPES, 50)
"""Maps each type of match to the number of overs for each side."""

_SUPER_OVER_BALLS: Final = 6


def powerplay_share(balls_per_over: int) -> float:
    """Return the powerplay's share of an innings: 0.25 in The Hundred, otherwise 0.3.

    Reference: clause 28 of the playing conditions of T20Is (ICC) and of The Hundred (ECB).
    """
    return 0.25 if balls_per_over == BALLS_PER_OVER_OF_THE_HUNDRED else 0.3


def quota_of(match: Match, innings: Innings) -> int | None:
    """Return the number of legal balls the side may face, or ``None`` if there is no limit."""
    if innings.super_over:
        return _SUPER_OVER_BALLS
    if innings.target_balls:
        return innings.target_balls
    overs = match.overs or OVERS_BY_TYPE.get(match.match_type or "", 0)
    if not overs and match.match_type is None and len(match.innings) <= 2:
        longest = max((ball.over for side in match.innings for ball in side.deliveries), default=0)
        overs = 20 if longest < 20 else 50 if longest < 50 else 0
    quota = overs * match.balls_per_over
    return (_shortened(match, innings, quota) or quota) or None


def _shortened(match: Match, innings: Innings, quota: int) -> int | None:
    """Return the legal balls of a first innings shortened before play, otherwise ``None``."""
    chase = next((side for side in match.innings if side.number == 2), None)
    length = quota if chase is None else chase.target_balls or quota
    if innings.number != 1 or chase is None or length >= quota or not innings.deliveries:
        return None
    balls, plays = innings.deliveries, innings.powerplays
    if chase.target != innings.total + 1:
        restricted = sum(ball.is_legal and any(ball in play for play in plays) for ball in balls)
        ended_early = any(balls[-1] in play for play in plays)
        usual = round(powerplay_share(match.balls_per_over) * quota)
        if not plays or ended_early or restricted >= usual - 1:
            return None
    return max(length, (balls[-1].over + 1) * innings.balls_per_over)


PHASES: Final = ("powerplay", "middle", "death")
"""The phases of an innings. `phase_of` returns the index of a phase."""


def phase_of(legal_balls: int, quota: int | None) -> int:
    """Return the phase of a ball for ratings and encoders: 0, 1 or 2.

    The first 30% of the innings is phase 0, and the last 25% is phase 2. If the number of balls is
    unlimited, every ball is in phase 1. `attnlens.cricket.match.ledger.phase_before` also uses the
    powerplays in the file.
    """
    if not quota:
        return 1
    share = legal_balls / quota
    return 0 if share < 0.3 else 1 if share < 0.75 else 2
