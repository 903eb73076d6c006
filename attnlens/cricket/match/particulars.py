"""Which match it was, and whose innings."""

from __future__ import annotations

from dataclasses import dataclass

from attnlens.cricket.match.match import Innings, Match


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchParticulars:
    """The match, as the file tells it."""

    match_id: str
    match_type: str | None
    gender: str | None
    dates: list[str]
    venue: str | None
    teams: list[str]
    batting_team: str
    bowling_team: str


def match_particulars(match: Match, innings: Innings) -> MatchParticulars:
    """Which match it was, and whose innings."""
    return MatchParticulars(
        match_id=match.match_id,
        match_type=match.match_type,
        gender=match.gender,
        dates=[day.isoformat() for day in match.dates],
        venue=match.venue,
        teams=list(match.teams),
        batting_team=innings.batting_team,
        bowling_team=innings.bowling_team,
    )
