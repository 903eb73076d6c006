"""Witnesses of a match's particulars: the file, the kind of match, the dates, who took part."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from typing import Any, Final

from attnlens.cricket.match.competition import MENS_COMPETITIONS
from attnlens.cricket.match.match import AGREES, DERIVED
from attnlens.cricket.match.scan import (
    Answer,
    Case,
    Verdict,
    Witnesses,
    compared,
    contradiction,
    joined,
)
from attnlens.errors import count

_TWENTY_OVER_TYPES = frozenset({"T20", "IT20"})
_ONE_DAY_TYPES = frozenset({"ODI", "ODM"})
_TYPES = _TWENTY_OVER_TYPES | _ONE_DAY_TYPES | {"Test", "MDM"}
_NUMBERED_TYPES = frozenset({"T20", "ODI", "Test"})
"""Types whose internationals Cricsheet numbers; IT20 are those without the status."""

_MAX_DAYS = {True: 3, False: 12}
"""From the first to the last day, by whether overs are limited."""

_FIRST_DAYS: Final = {
    "T20": datetime.date(2003, 6, 13),
    "IT20": datetime.date(2003, 6, 13),
    "ODI": datetime.date(1971, 1, 5),
}
"""When the first match of a type was played."""

_SEASON = re.compile(r"([0-9]{4})(?:/([0-9]{2,4}))?")
_SEASON_MONTHS = {False: range(1, 13), True: range(7, 20)}
"""Months from the January of a season's first year, by whether it spans two years; Cricsheet's end
before August."""

_MIN_OVERS = 3
"""Fewer overs do not show how many balls an over has."""

_SQUAD_SIZES = range(10, 15)
_IDS = re.compile(r"[0-9a-f]{8}(?: [0-9a-f]{8})*")
_OF_MEN = re.compile(r"\bMen\b")

WITNESSES: Final = Witnesses()


@WITNESSES.of(
    "", "venue", "city", "event.match_number", "event.group", "event.stage", "event.sub_name"
)
def _never(_case: Case, _value: Any, _part: str) -> Answer:
    return False


# The file.


@WITNESSES.of("file", "meta.data_version")
def _data_version(case: Case, value: Any, _part: str) -> Answer:
    stated = case.stated
    version = tuple(map(int, value.split(".")[:2]))
    if stated.actual_delivery_since is None or not any(i.deliveries for i in case.match.innings):
        return False
    if stated.has_actual_delivery and version < stated.actual_delivery_since:
        return f"the file states version {value} and has actual_delivery"
    if stated.exact and not stated.has_actual_delivery and version == stated.actual_delivery_since:
        return f"the file states version {value} and lacks actual_delivery"
    if stated.exact and version < (1, 1) and "uncontested" in case.match.toss:
        return f"the file states version {value} and has toss.uncontested of version 1.1"
    return True


@WITNESSES.of("dates", "meta.created")
def _created(case: Case, value: Any, _part: str) -> Answer:
    created, last = datetime.date.fromisoformat(value), max(case.match.dates, default=None)
    if last is not None and created < last - datetime.timedelta(days=1):
        return f"the file was made on {created}, before the match of {last}"
    if created > _tomorrow():
        return f"the file was made on {created}, which has not come"
    return False


@WITNESSES.of("file", "match_id")
def _match_id(case: Case, value: Any, _part: str) -> Answer:
    return compared(value, case.match.match_id, f"the info is of match {value}", AGREES)


@WITNESSES.of("missing", "missing")
def _missing(case: Case, value: Any, _part: str) -> Answer:
    info = case.stated.info
    reviews = any(key == "review" for scan in case.scans for _, key, _ in scan.claims)
    present = {
        "player_of_match": info.get("player_of_match"),
        "umpires": case.umpires,
        "reviews": reviews,
    }
    fields = [name for name in value if isinstance(name, str) and name in present]
    wrong = [name for name in fields if present[name]]
    return f"the file lists {joined(wrong)} as missing and has them" if wrong else bool(fields)


# The kind of match.


@WITNESSES.of("type", "match_type")
def _match_type(case: Case, value: Any, _part: str) -> Answer:
    if value not in _TYPES:
        return f"{value} is no type of match in Cricsheet's format"
    info, team_type = case.stated.info, case.match.team_type
    if "match_type_number" in info and value not in _NUMBERED_TYPES:
        return f"the type is {value}, whose matches have no match_type_number"
    if team_type == "club" and value in ("IT20", "ODI", "Test"):
        return f"the type is {value}, an international, and the teams are clubs"
    if team_type == "international" and value == "MDM":
        return "the type is MDM, and the teams are internationals: that is a Test"
    has_number = team_type == "international" and value in _NUMBERED_TYPES
    if has_number and case.stated.names_fielders and "match_type_number" not in info:
        return f"an international {value} has a match_type_number, and the file none"
    return bool(team_type or "overs" in info)


@WITNESSES.of("type", "match_type_number")
def _type_number(case: Case, value: Any, _part: str) -> Answer:
    if type(value) is not int or value < 1:
        return f"match_type_number is {value}, not a number from 1"
    if case.match.team_type == "club":
        return f"match_type_number is {value}, and matches of clubs have none"
    return False


@WITNESSES.of("type", "team_type")
def _team_type(case: Case, value: Any, _part: str) -> Answer:
    if value not in ("international", "club"):
        return f"team_type is {value}, not international or club"
    event = str(case.match.event.get("name", ""))
    derived = "club" if event in MENS_COMPETITIONS else None
    if " tour of " in event:
        derived = "international"
    if derived and derived != value:
        return contradiction(f"the teams are of type {value}, and the event is {event}", derived)
    stated = case.match.match_type in ("IT20", "ODI", "Test")
    confirmed = derived or stated or "match_type_number" in case.stated.info
    return bool(confirmed)


@WITNESSES.of("type", "gender")
def _gender(case: Case, value: Any, _part: str) -> Answer:
    if value not in ("male", "female"):
        return f"gender is {value}, not male or female"
    event = str(case.match.event.get("name", ""))
    derived = "female" if "women" in event.lower() else None
    men = event in MENS_COMPETITIONS or event.startswith("ICC ") or " tour of " in event
    if derived is None and (men or _OF_MEN.search(event)):
        derived = "male"
    if derived is None:
        return False
    return compared(value, derived, f"gender is {value}, and the event is {event}", AGREES)


@WITNESSES.of("overs", "overs")
def _overs(case: Case, value: Any, _part: str) -> Answer:
    match_type = case.match.match_type
    if match_type in ("Test", "MDM"):
        return f"the file states {value} overs a side, and a {match_type} has no limit"
    if match_type in _TWENTY_OVER_TYPES and value != 20:
        # A known slip in Cricsheet's files, which readers correct with a note.
        slip = value == 50
        problem = f"the file states {value} overs a side, and a {match_type} has 20"
        return contradiction("" if slip else problem, 20)
    if match_type in _ONE_DAY_TYPES and not 20 < value <= 60:
        return contradiction(f"the file states {value} overs a side, and a {match_type} has 50", 50)
    longest = max((len(scan.overs) for scan in case.main), default=0)
    if longest == value and any(not scan.cut_short for scan in case.main):
        return Verdict(DERIVED, longest)
    target = case.stated.innings.get(2, {}).get("target", {})
    return str(target.get("overs")) == str(value)


@WITNESSES.of("overs", "balls_per_over")
def _balls_per_over(case: Case, value: Any, _part: str) -> Answer:
    lengths = [over.legal for scan in case.scans for over in scan.overs[:-1]]
    if len(lengths) < _MIN_OVERS:
        return False
    usual = max(set(lengths), key=lengths.count)
    return compared(value, usual, f"an over has {value} balls in the file, and most have {usual}")


# When.


def _tomorrow() -> datetime.date:
    return datetime.date.today() + datetime.timedelta(days=1)  # somewhere it is tomorrow


@WITNESSES.of("dates", "dates")
def _dates(case: Case, _value: Any, _part: str) -> Answer:
    match, dates = case.match, case.match.dates
    if not dates:
        return False
    first, last = dates[0], dates[-1]
    if list(dates) != sorted(set(dates)):
        return "the dates are not in order, or one comes twice"
    if (last - first).days > _MAX_DAYS[case.limited]:
        return f"it lasts from {first} to {last}"
    if last > _tomorrow():
        return f"its date is {last}, which has not come"
    first_ever = _FIRST_DAYS.get(match.match_type or "", first)
    if first < first_ever:
        return f"its date is {first}, and the first {match.match_type} was on {first_ever}"
    return bool(match.season)


@WITNESSES.of("dates", "season")
def _season(case: Case, _value: Any, _part: str) -> Answer:
    match = case.match
    season = _SEASON.fullmatch(match.season or "")
    if season is None:
        return f"its season is {match.season}, not a year or two"
    year, second = int(season[1]), season[2]
    if second is not None and int(second) % 100 != (year + 1) % 100:
        return f"its season is {match.season}, which is not one year and the next"
    if not match.dates:
        return False
    first = match.dates[0]
    month = 12 * (first.year - year) + first.month
    if month not in _SEASON_MONTHS[second is not None] and case.limited:
        return f"its date is {first}, and its season {match.season}"
    return True


@WITNESSES.of("event", "event.name")
def _event(case: Case, value: Any, _part: str) -> Answer:
    if not isinstance(value, str) or " tour of " not in value:
        return False
    if any(team.removesuffix(" Women") in value for team in case.match.teams):
        return True
    return f"the event is {value}, and {' and '.join(case.match.teams)} played"


# Who.


@WITNESSES.of("teams", "teams")
def _teams(case: Case, value: Any, _part: str) -> Answer:
    if len(set(value)) != 2 or len(value) != 2:
        return f"its teams are {', '.join(value)}"
    squads = case.stated.info.get("players", {})
    batting = {innings.batting_team for innings in case.match.innings}
    if strangers := (set(squads) | batting) - set(value):
        return f"its teams are {', '.join(value)}, and {joined(strangers)} is in the file"
    return bool(squads or len(batting) == 2)


@WITNESSES.of("squad", "players.*")
def _squad(case: Case, value: Any, team: str) -> Answer:
    names = list(value)
    if case.match.teams and team not in case.match.teams:
        return f"{team} has a squad and did not play"
    if len(set(names)) != len(names):
        twice = {name for name in names if names.count(name) > 1}
        return f"{joined(twice)} is twice in the squad of {team}"
    if len(names) not in _SQUAD_SIZES:
        return f"the squad of {team} has {count(len(names), 'player')}"
    for side, squad in case.squads.items():
        both = squad.intersection(names) - case.both_sides if side != team else ()
        if both:
            return f"{joined(both)} is in both squads"
    return bool(case.players_of.get(team))


@WITNESSES.of("officials", "officials.*")
def _officials(case: Case, value: Any, role: str) -> Answer:
    names = list(value)
    if playing := case.everybody.intersection(names):
        return f"{joined(playing)} is an official and plays"
    twice = [name for name in names if case.officials.count(name) > 1]
    if twice:
        return f"{joined(set(twice))} has two duties as an official"
    if role == "umpires" and len(names) > 3:
        return f"there are {len(names)} umpires"
    registry = case.stated.registry
    if not registry:
        return False
    if strangers := set(names) - registry.keys():
        return f"{joined(strangers)} is an official and not in the registry"
    return True


@WITNESSES.of("registry", "registry.people")
def _registry(case: Case, value: Any, _part: str) -> Answer:
    if not value:
        return False
    if not _IDS.fullmatch(" ".join(value.values())):
        wrong = [name for name, identity in value.items() if not _IDS.fullmatch(identity)]
        return f"the id of {joined(wrong)} is not eight hexadecimal digits"
    if len(set(value.values())) < len(value):
        shared = Counter(value.values()).most_common(1)[0][0]
        names = [name for name, identity in value.items() if identity == shared]
        return f"{joined(names)} have one id in the registry"
    strangers = case.everybody.difference(value)
    if not case.squads:
        return False
    strangers = strangers.difference(case.respelt) if strangers else strangers
    if strangers:
        return f"{joined(strangers)} takes part and is not in the registry"
    idle = set(value).difference(case.everybody, case.officials)
    # Somebody of a match that goes on may still field.
    if idle and case.stated.names_fielders and case.has_two_sides and case.outcome:
        return f"{joined(idle)} is in the registry and nowhere else in the file"
    return True


@WITNESSES.of("squad", "player_of_match")
def _player_of_match(case: Case, value: Any, _part: str) -> Answer:
    if not case.squads:
        return False
    if strangers := set(value) - case.everybody:
        return f"{joined(strangers)} is player of the match and in neither squad"
    if case.outcome.get("result") == "no result":
        return f"{joined(value)} is player of a match without a result"
    return len(value) <= 2 or f"{len(value)} are player of the match"


@WITNESSES.of("squad", "supersubs.*")
def _supersubs(case: Case, value: Any, team: str) -> Answer:
    if team not in case.match.teams:
        return f"{team} has a supersub and did not play"
    if not case.squads:
        return False
    if value not in case.squads.get(team, ()):
        return f"{value} is the supersub of {team} and not in its squad"
    return True


@WITNESSES.of("result", "bowl_out")
def _bowl_out_balls(case: Case, value: Any, _part: str) -> Answer:
    if "bowl_out" not in case.outcome:
        return "the file has a bowl-out, and its result names no winner of one"
    hits = Counter(attempt["outcome"] == "hit" for attempt in value)
    return bool(hits)


# The toss.


@WITNESSES.of("toss", "toss.winner", "toss.decision")
def _toss(case: Case, value: Any, _part: str) -> Answer:
    match, toss = case.match, case.match.toss
    winner, decision = toss.get("winner"), toss.get("decision")
    if value == decision and decision not in ("bat", "field"):
        return f"the toss was decided to {decision}, not to bat or to field"
    if winner is not None and match.teams and winner not in match.teams:
        return f"{winner} won the toss and did not play"
    if case.stated.names_fielders and (winner is None or decision is None):
        return "the toss has a winner or a decision, and not both"
    if not match.innings or winner not in match.teams or decision is None:
        return False
    bats = match.innings[0].batting_team
    if decision == ("field" if bats == winner else "bat"):
        return f"{winner} won the toss and chose to {decision}, and {bats} bats first"
    return True


@WITNESSES.of("toss", "toss.uncontested")
def _uncontested(_case: Case, value: Any, _part: str) -> Answer:
    return False if value is True else f"toss.uncontested is {value}, not true"
