"""What Cricsheet JSON says of a match in ``info``, and of an innings beside its deliveries.

Every function takes that object and raises `Wrong` with the place of a value that is
not what the format says.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from attnlens.cricket.match.match import Facts
from attnlens.cricket.readers.assembly import MatchDraft
from attnlens.cricket.readers.deliveries import People
from attnlens.cricket.readers.json_values import (
    Path,
    Wrong,
    list_at,
    mapping_at,
    number_at,
    positive_at,
    text_at,
    texts_at,
)
from attnlens.cricket.readers.text import shown
from attnlens.files import Json

_MOST_TOLD = 40


def draft_of(info: Json, match_id: str, source: str, notes: list[str]) -> MatchDraft:
    """What is known of a match without its innings; a note for what should be there and is not.

    Args:
        info: the object of that name.
        notes: become the draft's.
    """
    registry = _registry_of(info)
    if not registry:
        notes.append("the file has no registry of people: players are known by name")
    draft = MatchDraft(
        match_id=match_id,
        source=source,
        match_type=text_at(info, "match_type", ("info",)),
        gender=text_at(info, "gender", ("info",)),
        dates=_dates_of(info),
        season=_season_of(info),
        event=_event_of(info),
        venue=text_at(info, "venue", ("info",)),
        city=text_at(info, "city", ("info",)),
        teams=_teams_of(info),
        toss=_toss_of(info),
        outcome=_outcome_of(info),
        overs=positive_at(info, "overs", ("info",)),
        balls_per_over=positive_at(info, "balls_per_over", ("info",)),
        notes=notes,
        players=_players_of(info),
        people=People(registry),
    )
    for missing in ("match_type", "dates", "teams"):
        if not getattr(draft, missing):
            notes.append(f"info.{missing} is missing")
    return draft


def _dates_of(info: Json) -> tuple[datetime.date, ...]:
    """The days it was played on."""
    dates = []
    for position, text in enumerate(list_at(info, "dates", ("info",))):
        try:
            dates.append(datetime.date.fromisoformat(text))
        except (TypeError, ValueError):
            raise Wrong(
                f"is {shown(text)}, not a date (YYYY-MM-DD)", ("info", "dates", position)
            ) from None
    return tuple(dates)


def _season_of(info: Json) -> str | None:
    """The season, text or a bare year in the file."""
    season = info.get("season")
    if type(season) is int:
        return str(season)
    return text_at(info, "season", ("info",))


def _teams_of(info: Json) -> tuple[str, ...]:
    """The two sides."""
    teams = list_at(info, "teams", ("info",))
    for position, team in enumerate(teams):
        if not isinstance(team, str) or not team.strip():
            raise Wrong(f"is {shown(team)}, not a team's name", ("info", "teams", position))
    return tuple(teams)


def _players_of(info: Json) -> dict[str, list[str]]:
    """The squads, team to names."""
    path = ("info", "players")
    squads = mapping_at(info, "players", ("info",))
    for team in squads:
        for position, name in enumerate(list_at(squads, team, path)):
            if not isinstance(name, str):
                raise Wrong(f"is {shown(name)}, not a name", (*path, team, position))
    return squads


def _registry_of(info: Json) -> dict[str, str]:
    """Registry ids by the file's names for people."""
    people = mapping_at(mapping_at(info, "registry", ("info",)), "people", ("info", "registry"))
    for name, identity in people.items():
        if not isinstance(identity, str):
            raise Wrong(f"is {shown(identity)}, not an id", ("info", "registry", "people", name))
    return people


def _event_of(info: Json) -> Facts:
    """The competition, as far as it is told."""
    event = mapping_at(info, "event", ("info",))
    facts = {}
    for key in ("name", "match_number", "group", "stage", "sub_name"):
        # match_number and group are numbers in some files and text in others.
        number = type(event.get(key)) is int
        facts[key] = event[key] if number else text_at(event, key, ("info", "event"))
    return Facts.known(**facts)


def _toss_of(info: Json) -> Facts:
    """Who won the toss and chose what."""
    toss = mapping_at(info, "toss", ("info",))
    facts = texts_at(toss, ("winner", "decision"), ("info", "toss"))
    return Facts.known(**facts, uncontested=True if toss.get("uncontested") is True else None)


def _outcome_of(info: Json) -> Facts:
    """The stated result."""
    outcome = mapping_at(info, "outcome", ("info",))
    path = ("info", "outcome")
    facts = texts_at(outcome, ("winner", "result", "eliminator", "bowl_out", "method"), path)
    by = mapping_at(outcome, "by", path)
    margin = {key: number_at(by, key, (*path, "by")) for key in ("innings", "runs", "wickets")}
    return Facts.known(**facts, by=Facts.known(**margin) or None)


def innings_notes(innings: Json, number: int, path: Path) -> Iterator[str]:
    """Who was absent hurt, and whether the innings was declared or forfeited."""
    if innings.get("forfeited") is True:
        yield f"innings {number} was forfeited"
    if innings.get("declared") is True:
        yield f"innings {number} was declared"
    for position, name in enumerate(list_at(innings, "absent_hurt", path)[:_MOST_TOLD]):
        if not isinstance(name, str):
            raise Wrong(f"is {shown(name)}, not a name", (*path, "absent_hurt", position))
        yield f"innings {number}: {name} was absent hurt"


def miscounted_overs(innings: Json, path: Path) -> frozenset[int]:
    """The overs, as labelled, in which the file says that the umpires miscounted."""
    overs = mapping_at(innings, "miscounted_overs", path)
    return frozenset(
        int(over) for over in overs if over.isascii() and over.isdigit() and len(over) < 5
    )


def replacement_notes(replacements: object, number: int, label: str) -> Iterator[str]:
    """Who came in for whom before the delivery that carries this; nothing of what is not clear."""
    if not isinstance(replacements, dict):
        return
    for kind in ("match", "role"):
        changes = replacements.get(kind)
        for change in changes[:_MOST_TOLD] if isinstance(changes, list) else ():
            if not isinstance(change, dict):
                continue
            incoming, outgoing = change.get("in"), change.get("out")
            reason = change.get("reason")
            if not isinstance(incoming, str):
                continue
            does = "came in"
            if kind == "role":
                role = change.get("role")
                does = f"became {role}" if isinstance(role, str) else "changed role"
            instead = f" for {outgoing}" if isinstance(outgoing, str) else ""
            why = f" ({reason.replace('_', ' ')})" if isinstance(reason, str) else ""
            yield f"innings {number}, before ball {label}: {incoming} {does}{instead}{why}"
