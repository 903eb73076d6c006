"""What Cricsheet JSON says of a match in ``info``, each value checked.

Every function takes that object and raises `Wrong` with the place of a value that is
not what the format says.
"""

from __future__ import annotations

import datetime
from typing import Any

from attnlens.cricket.match import Facts
from attnlens.cricket.readers.json_values import (
    Wrong,
    list_at,
    mapping_at,
    number_at,
    text_at,
    texts_at,
)
from attnlens.cricket.readers.text import shown


def dates_of(info: dict[str, Any]) -> tuple[datetime.date, ...]:
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


def season_of(info: dict[str, Any]) -> str | None:
    """The season, text or a bare year in the file."""
    season = info.get("season")
    if type(season) is int:
        return str(season)
    return text_at(info, "season", ("info",))


def teams_of(info: dict[str, Any]) -> tuple[str, ...]:
    """The two sides."""
    teams = list_at(info, "teams", ("info",))
    for position, team in enumerate(teams):
        if not isinstance(team, str) or not team.strip():
            raise Wrong(f"is {shown(team)}, not a team's name", ("info", "teams", position))
    return tuple(teams)


def players_of(info: dict[str, Any]) -> dict[str, list[str]]:
    """The squads, team to names."""
    path = ("info", "players")
    squads = mapping_at(info, "players", ("info",))
    for team in squads:
        for position, name in enumerate(list_at(squads, team, path)):
            if not isinstance(name, str):
                raise Wrong(f"is {shown(name)}, not a name", (*path, team, position))
    return squads


def registry_of(info: dict[str, Any], notes: list[str]) -> dict[str, str]:
    """Registry ids by the file's names for people; a note where there are none."""
    people = mapping_at(mapping_at(info, "registry", ("info",)), "people", ("info", "registry"))
    for name, identity in people.items():
        if not isinstance(identity, str):
            raise Wrong(f"is {shown(identity)}, not an id", ("info", "registry", "people", name))
    if not people:
        notes.append("the file has no registry of people: players are known by name")
    return people


def event_of(info: dict[str, Any]) -> Facts:
    """The competition, as far as it is told."""
    event = mapping_at(info, "event", ("info",))
    path = ("info", "event")
    facts: dict[str, Any] = {}
    for key in ("name", "match_number", "group", "stage", "sub_name"):
        value = event.get(key)
        if value is not None:
            # match_number and group are numbers in some files and text in others.
            facts[key] = value if type(value) is int else text_at(event, key, path)
    return Facts(facts)


def toss_of(info: dict[str, Any]) -> Facts:
    """Who won the toss and chose what."""
    toss = mapping_at(info, "toss", ("info",))
    facts = texts_at(toss, ("winner", "decision"), ("info", "toss"))
    if toss.get("uncontested") is True:
        facts["uncontested"] = True
    return Facts(facts)


def outcome_of(info: dict[str, Any]) -> Facts:
    """The stated result."""
    outcome = mapping_at(info, "outcome", ("info",))
    path = ("info", "outcome")
    facts = texts_at(outcome, ("winner", "result", "eliminator", "bowl_out", "method"), path)
    by = mapping_at(outcome, "by", path)
    margin = {
        key: value
        for key in ("innings", "runs", "wickets")
        if (value := number_at(by, key, (*path, "by"))) is not None
    }
    if margin:
        facts["by"] = margin
    return Facts(facts)
