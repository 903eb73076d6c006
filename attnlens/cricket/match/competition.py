"""The competition of a match, its kind of T20 cricket, and how many balls a side may face.

A league has the same name in every season, and each international series has a name of its own. So
all internationals of men, or of women, are one competition.
"""

from __future__ import annotations

from typing import Final

from attnlens.cricket.match.match import Innings, Match

INTERNATIONALS: Final = "internationals"
BALLS_PER_OVER_OF_THE_HUNDRED: Final = 5
ALL_OUT: Final = 10
BOWLERS_SHARE: Final = 5
"""One bowler bowls at most a fifth of an innings."""

MENS_COMPETITIONS: Final = frozenset({
    "Bangladesh Premier League", "Big Bash League", "Caribbean Premier League",
    "CSA T20 Challenge", "Indian Premier League", "International League T20",
    "Lanka Premier League", "Major League Cricket", "Mzansi Super League", "NatWest T20 Blast",
    "Nepal Premier League", "Pakistan Super League", "Ram Slam T20 Challenge", "SA20",
    "Syed Mushtaq Ali Trophy", "Vitality Blast",
})  # fmt: skip
"""Leagues of men's clubs, by names that no league of women has."""

KIND_SIZE: Final = 3
"""Flags of `kind_of_cricket`."""


def competition_of(match: Match) -> str:
    """The key of the competition's level; empty where the file has no event."""
    event = event_of(match)
    if match.team_type != "international" and " tour of " not in event:
        return event
    return f"{INTERNATIONALS} (women)" if match.gender == "female" else INTERNATIONALS


def event_of(match: Match) -> str:
    """The tournament or series as the file names it, men's and women's apart; empty without one."""
    name = str(match.event.get("name", "")).strip()
    return f"{name} (women)" if name and match.gender == "female" else name


def team_key(match: Match, team: str) -> str:
    """The side's name; women's sides apart, since India is two teams."""
    return f"{team} (women)" if match.gender == "female" else team


def venue_key(match: Match) -> str:
    """The ground's name up to the first comma, as files disagree on what follows it."""
    return (match.venue or "").split(",")[0].strip()


def era_of(match: Match) -> str:
    """The key of the level of the day: men's cricket and women's apart."""
    return match.gender or "male"


def kind_of_cricket(match: Match) -> tuple[float, float, float]:
    """Whether women play, whether clubs do, and whether an over has five balls: 0 or 1 each."""
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
"""The kinds of cricket by the number of `table_of`."""

TABLES: Final = len(KINDS)
"""Each kind has a table of its own of what happens in each over."""


def table_of(match: Match) -> int:
    """The number of the match's kind in `KINDS`."""
    women, club, _ = kind_of_cricket(match)
    return int(2 * women + club)


OVERS_BY_TYPE: Final[dict[str, int]] = {"T20": 20, "IT20": 20, "ODI": 50, "ODM": 50}
"""Overs a side, by type of match."""

_SUPER_OVER_BALLS: Final = 6


def powerplay_share(balls_per_over: int) -> float:
    """The part of a twenty-over innings in which fielders must be close: a quarter in The Hundred.

    Playing conditions of T20 Internationals (ICC), clause 28; of The Hundred (ECB), clause 28.
    """
    return 0.25 if balls_per_over == BALLS_PER_OVER_OF_THE_HUNDRED else 0.3


def quota_of(match: Match, innings: Innings) -> int | None:
    """Legal balls the side may face; ``None`` where the game has no limit."""
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
    """The legal balls of a first innings that was shortened before it began.

    The sign is a shorter chase whose target is one run more than the total, or a shorter powerplay.
    """
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
"""The phases of an innings, as `phase_of` numbers them."""


def phase_of(legal_balls: int, quota: int | None) -> int:
    """The phase of a ball for ratings and encoders: 0, 1 or 2.

    They are the first 36, the next 54 and the last 30 balls of 120, or the same shares of another
    quota. Without a quota every ball is in the middle one. Pages use the file's powerplays
    (`attnlens.cricket.match.ledger.phase_before`).
    """
    if not quota:
        return 1
    share = legal_balls / quota
    return 0 if share < 0.3 else 1 if share < 0.75 else 2
