"""Witnesses of a match's particulars: the file, the kind of match, the dates, who took part."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from typing import Any, Final

from attnlens.cricket.match.competition import MENS_COMPETITIONS
from attnlens.cricket.match.match import AGREES, DERIVED
from attnlens.cricket.match.scan import (
    NOTHING,
    Case,
    Verdict,
    Witnesses,
    compared,
    contradiction,
    listed,
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
    "unwitnessed", "",
    *("venue", "city", "event.match_number", "event.group", "event.stage", "event.sub_name"),
)  # fmt: skip
def _never(_case: Case, _value: Any, _part: str) -> Verdict:
    return NOTHING


# The file.


@WITNESSES.of("file", "the fields that a version has", "meta.data_version")
def _data_version(case: Case, value: Any, _part: str) -> Verdict:
    stated = case.stated
    version = tuple(map(int, value.split(".")[:2]))
    if stated.numbered_from is None or not any(i.deliveries for i in case.match.innings):
        return NOTHING
    if stated.numbered and version < stated.numbered_from:
        return contradiction(f"the file states version {value} and has actual_delivery")
    if stated.exact and not stated.numbered and version == stated.numbered_from:
        return contradiction(f"the file states version {value} and lacks actual_delivery")
    if stated.exact and version < (1, 1) and "uncontested" in case.match.toss:
        return contradiction(
            f"the file states version {value} and has toss.uncontested of version 1.1"
        )
    return Verdict(AGREES)


@WITNESSES.of("dates", "a file is made after its match", "meta.created")
def _created(case: Case, value: Any, _part: str) -> Verdict:
    created, last = datetime.date.fromisoformat(value), max(case.match.dates, default=None)
    if last is not None and created < last - datetime.timedelta(days=1):
        return contradiction(f"the file was made on {created}, before the match of {last}")
    if created > _tomorrow():
        return contradiction(f"the file was made on {created}, which has not come")
    return NOTHING


@WITNESSES.of("file", "the id of the table's rows", "match_id")
def _match_id(case: Case, value: Any, _part: str) -> Verdict:
    return compared(value, case.match.match_id, f"the info is of match {value}", AGREES)


@WITNESSES.of("missing", "a field that is missing is not there", "missing")
def _missing(case: Case, value: Any, _part: str) -> Verdict:
    info = case.stated.info
    reviews = any(key == "review" for scan in case.scans for _, key, _ in scan.claims)
    present = {
        "player_of_match": info.get("player_of_match"),
        "umpires": case.umpires,
        "reviews": reviews,
    }
    wrong = [name for name in value if isinstance(name, str) and present.get(name)]
    if wrong:
        return contradiction(f"the file lists {listed(wrong)} as missing and has them")
    known = [name for name in value if isinstance(name, str) and name in present]
    return Verdict(AGREES) if known else NOTHING


# The kind of match.


@WITNESSES.of("type", "team_type, match_type_number and overs", "match_type")
def _match_type(case: Case, value: Any, _part: str) -> Verdict:
    if value not in _TYPES:
        return contradiction(f"{value} is no type of match in Cricsheet's format")
    info, team_type = case.stated.info, case.match.team_type
    if "match_type_number" in info and value not in _NUMBERED_TYPES:
        return contradiction(f"the type is {value}, whose matches have no match_type_number")
    if team_type == "club" and value in ("IT20", "ODI", "Test"):
        return contradiction(f"the type is {value}, an international, and the teams are clubs")
    if team_type == "international" and value == "MDM":
        return contradiction("the type is MDM, and the teams are internationals: that is a Test")
    numbered = team_type == "international" and value in _NUMBERED_TYPES
    if numbered and case.stated.names_fielders and "match_type_number" not in info:
        return contradiction(f"an international {value} has a match_type_number, and the file none")
    return Verdict(AGREES) if team_type or "overs" in info else NOTHING


@WITNESSES.of("type", "the teams and the type", "match_type_number")
def _type_number(case: Case, value: Any, _part: str) -> Verdict:
    if type(value) is not int or value < 1:
        return contradiction(f"match_type_number is {value}, not a number from 1")
    if case.match.team_type == "club":
        return contradiction(f"match_type_number is {value}, and matches of clubs have none")
    return NOTHING


@WITNESSES.of("type", "match_type and the event", "team_type")
def _team_type(case: Case, value: Any, _part: str) -> Verdict:
    if value not in ("international", "club"):
        return contradiction(f"team_type is {value}, not international or club")
    event = str(case.match.event.get("name", ""))
    derived = "club" if event in MENS_COMPETITIONS else None
    if " tour of " in event:
        derived = "international"
    if derived and derived != value:
        return contradiction(f"the teams are of type {value}, and the event is {event}", derived)
    stated = case.match.match_type in ("IT20", "ODI", "Test")
    confirmed = derived or stated or "match_type_number" in case.stated.info
    return Verdict(AGREES) if confirmed else NOTHING


@WITNESSES.of("type", "the name of the event", "gender")
def _gender(case: Case, value: Any, _part: str) -> Verdict:
    if value not in ("male", "female"):
        return contradiction(f"gender is {value}, not male or female")
    event = str(case.match.event.get("name", ""))
    derived = "female" if "women" in event.lower() else None
    men = event in MENS_COMPETITIONS or event.startswith("ICC ") or " tour of " in event
    if derived is None and (men or _OF_MEN.search(event)):
        derived = "male"
    if derived is None:
        return NOTHING
    return compared(value, derived, f"gender is {value}, and the event is {event}", AGREES)


@WITNESSES.of("overs", "the longest innings, and the type", "overs")
def _overs(case: Case, value: Any, _part: str) -> Verdict:
    match_type = case.match.match_type
    if match_type in ("Test", "MDM"):
        return contradiction(
            f"the file states {value} overs a side, and a {match_type} has no limit"
        )
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
    return Verdict(AGREES) if str(target.get("overs")) == str(value) else NOTHING


@WITNESSES.of("overs", "the legal balls of most overs", "balls_per_over")
def _balls_per_over(case: Case, value: Any, _part: str) -> Verdict:
    lengths = [over.legal for scan in case.scans for over in scan.overs[:-1]]
    if len(lengths) < _MIN_OVERS:
        return NOTHING
    usual = max(set(lengths), key=lengths.count)
    return compared(value, usual, f"an over has {value} balls in the file, and most have {usual}")


# When.


def _tomorrow() -> datetime.date:
    return datetime.date.today() + datetime.timedelta(days=1)  # somewhere it is tomorrow


@WITNESSES.of("dates", "the season", "dates")
def _dates(case: Case, _value: Any, _part: str) -> Verdict:
    match, dates = case.match, case.match.dates
    if not dates:
        return NOTHING
    first, last = dates[0], dates[-1]
    if list(dates) != sorted(set(dates)):
        return contradiction("the dates are not in order, or one comes twice")
    if (last - first).days > _MAX_DAYS[case.limited]:
        return contradiction(f"it lasts from {first} to {last}")
    if last > _tomorrow():
        return contradiction(f"its date is {last}, which has not come")
    first_ever = _FIRST_DAYS.get(match.match_type or "", first)
    if first < first_ever:
        return contradiction(
            f"its date is {first}, and the first {match.match_type} was on {first_ever}"
        )
    return Verdict(AGREES) if match.season else NOTHING


@WITNESSES.of("dates", "the dates", "season")
def _season(case: Case, _value: Any, _part: str) -> Verdict:
    match = case.match
    season = _SEASON.fullmatch(match.season or "")
    if season is None:
        return contradiction(f"its season is {match.season}, not a year or two")
    year, second = int(season[1]), season[2]
    if second is not None and int(second) % 100 != (year + 1) % 100:
        return contradiction(f"its season is {match.season}, which is not one year and the next")
    if not match.dates:
        return NOTHING
    first = match.dates[0]
    month = 12 * (first.year - year) + first.month
    if month not in _SEASON_MONTHS[second is not None] and case.limited:
        return contradiction(f"its date is {first}, and its season {match.season}")
    return Verdict(AGREES)


@WITNESSES.of("event", "the teams of a tour", "event.name")
def _event(case: Case, value: Any, _part: str) -> Verdict:
    if not isinstance(value, str) or " tour of " not in value:
        return NOTHING
    if any(team.removesuffix(" Women") in value for team in case.match.teams):
        return Verdict(AGREES)
    return contradiction(f"the event is {value}, and {' and '.join(case.match.teams)} played")


# Who.


@WITNESSES.of("teams", "the squads and the innings", "teams")
def _teams(case: Case, value: Any, _part: str) -> Verdict:
    if len(set(value)) != 2 or len(value) != 2:
        return contradiction(f"its teams are {', '.join(value)}")
    squads = case.stated.info.get("players", {})
    batting = {innings.batting_team for innings in case.match.innings}
    strangers = (set(squads) | batting) - set(value)
    if strangers:
        return contradiction(
            f"its teams are {', '.join(value)}, and {listed(strangers)} is in the file"
        )
    return Verdict(AGREES) if squads or len(batting) == 2 else NOTHING


@WITNESSES.of("squad", "the players on the balls", "players.*")
def _squad(case: Case, value: Any, team: str) -> Verdict:
    names = list(value)
    if case.match.teams and team not in case.match.teams:
        return contradiction(f"{team} has a squad and did not play")
    if len(set(names)) != len(names):
        twice = {name for name in names if names.count(name) > 1}
        return contradiction(f"{listed(twice)} is twice in the squad of {team}")
    if len(names) not in _SQUAD_SIZES:
        return contradiction(f"the squad of {team} has {count(len(names), 'player')}")
    for side, squad in case.squads.items():
        both = squad.intersection(names) - case.both_sides if side != team else ()
        if both:
            return contradiction(f"{listed(both)} is in both squads")
    return Verdict(AGREES) if case.seen_of.get(team) else NOTHING


@WITNESSES.of("officials", "they do not play, and the registry has them", "officials.*")
def _officials(case: Case, value: Any, role: str) -> Verdict:
    if case.sound_officials:
        return Verdict(AGREES) if case.stated.registry else NOTHING
    names = list(value)
    playing = case.everybody.intersection(names)
    if playing:
        return contradiction(f"{listed(playing)} is an official and plays")
    twice = [name for name in names if case.officials.count(name) > 1]
    if twice:
        return contradiction(f"{listed(set(twice))} has two duties as an official")
    if role == "umpires" and len(names) > 3:
        return contradiction(f"there are {len(names)} umpires")
    registry = case.stated.registry
    if not registry:
        return NOTHING
    strangers = set(names) - registry.keys()
    if strangers:
        return contradiction(f"{listed(strangers)} is an official and not in the registry")
    return Verdict(AGREES)


@WITNESSES.of("registry", "the squads, the officials and the balls", "registry.people")
def _registry(case: Case, value: Any, _part: str) -> Verdict:
    if not value:
        return NOTHING
    if not _IDS.fullmatch(" ".join(value.values())):
        wrong = [name for name, identity in value.items() if not _IDS.fullmatch(identity)]
        return contradiction(f"the id of {listed(wrong)} is not eight hexadecimal digits")
    if len(set(value.values())) < len(value):
        shared = Counter(value.values()).most_common(1)[0][0]
        names = [name for name, identity in value.items() if identity == shared]
        return contradiction(f"{listed(names)} have one id in the registry")
    strangers = case.everybody.difference(value)
    if not case.squads:
        return NOTHING
    strangers = strangers.difference(case.respelt) if strangers else strangers
    if strangers:
        return contradiction(f"{listed(strangers)} takes part and is not in the registry")
    idle = set(value).difference(case.everybody, case.officials)
    # Somebody of a match that goes on may still field.
    if idle and case.stated.names_fielders and case.has_two_sides and case.outcome:
        return contradiction(f"{listed(idle)} is in the registry and nowhere else in the file")
    return Verdict(AGREES)


@WITNESSES.of("squad", "the squads", "player_of_match")
def _player_of_match(case: Case, value: Any, _part: str) -> Verdict:
    if not case.squads:
        return NOTHING
    strangers = set(value) - case.everybody
    if strangers:
        return contradiction(f"{listed(strangers)} is player of the match and in neither squad")
    if case.outcome.get("result") == "no result":
        return contradiction(f"{listed(value)} is player of a match without a result")
    return (
        Verdict(AGREES)
        if len(value) <= 2
        else contradiction(f"{len(value)} are player of the match")
    )


@WITNESSES.of("squad", "the squads", "supersubs.*")
def _supersubs(case: Case, value: Any, team: str) -> Verdict:
    if team not in case.match.teams:
        return contradiction(f"{team} has a supersub and did not play")
    if not case.squads:
        return NOTHING
    if value not in case.squads.get(team, ()):
        return contradiction(f"{value} is the supersub of {team} and not in its squad")
    return Verdict(AGREES)


@WITNESSES.of("result", "the result", "bowl_out")
def _bowl_out_balls(case: Case, value: Any, _part: str) -> Verdict:
    if "bowl_out" not in case.outcome:
        return contradiction("the file has a bowl-out, and its result names no winner of one")
    hits = Counter(attempt["outcome"] == "hit" for attempt in value)
    return Verdict(AGREES) if hits else NOTHING


# The toss.


@WITNESSES.of("toss", "the teams, and who bats first", "toss.winner", "toss.decision")
def _toss(case: Case, value: Any, _part: str) -> Verdict:
    match, toss = case.match, case.match.toss
    winner, decision = toss.get("winner"), toss.get("decision")
    if value == decision and decision not in ("bat", "field"):
        return contradiction(f"the toss was decided to {decision}, not to bat or to field")
    if winner is not None and match.teams and winner not in match.teams:
        return contradiction(f"{winner} won the toss and did not play")
    if case.stated.names_fielders and (winner is None or decision is None):
        return contradiction("the toss has a winner or a decision, and not both")
    if not match.innings or winner not in match.teams or decision is None:
        return NOTHING
    bats = match.innings[0].batting_team
    if decision == ("field" if bats == winner else "bat"):
        return contradiction(
            f"{winner} won the toss and chose to {decision}, and {bats} bats first"
        )
    return Verdict(AGREES)


@WITNESSES.of("toss", "there is no decision without a toss", "toss.uncontested")
def _uncontested(_case: Case, value: Any, _part: str) -> Verdict:
    return NOTHING if value is True else contradiction(f"toss.uncontested is {value}, not true")
