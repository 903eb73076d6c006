"""Read Cricsheet JSON 1.x, and convert the info rows of Cricsheet's CSV to the same structure.

Source: https://cricsheet.org/format/json/ (1.1.0). Version 1.2.0 adds ``actual_delivery``.
"""

from __future__ import annotations

import csv
import datetime
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, NoReturn

from attnlens.cricket.errors import ImpossibleMatchError, MatchFileError
from attnlens.cricket.match.match import Facts, Match, Powerplay, Wicket
from attnlens.cricket.match.scan import Stated, changes_of
from attnlens.cricket.readers.assembly import (
    MAX_BALLS_AN_INNINGS,
    MAX_INNINGS,
    InningsDraft,
    MatchDraft,
    People,
)
from attnlens.cricket.readers.files import DocumentFormat, MatchFile
from attnlens.cricket.readers.text import (
    EXTRA_KINDS,
    MAX_OVER,
    MAX_RUNS_A_BALL,
    DoubledKey,
    JsonObject,
    JsonPath,
    JsonValueError,
    balls_in,
    date_from,
    decode_text,
    line_of,
    lines,
    place_in_words,
    quoted,
    unique_keys,
    whole_number,
)
from attnlens.files import Json

INFO_PATHS: Final[dict[str, tuple[str, ...]]] = {
    "balls_per_over": ("balls_per_over",),
    "team_type": ("team_type",),
    "gender": ("gender",),
    "season": ("season",),
    "event": ("event", "name"),
    "match_id": ("match_id",),
    "match_type": ("match_type",),
    "overs": ("overs",),
    "match_number": ("event", "match_number"),
    "venue": ("venue",),
    "city": ("city",),
    "toss_winner": ("toss", "winner"),
    "toss_decision": ("toss", "decision"),
    "toss_uncontested": ("toss", "uncontested"),
    "winner": ("outcome", "winner"),
    "outcome": ("outcome", "result"),
    "eliminator": ("outcome", "eliminator"),
    "bowl_out": ("outcome", "bowl_out"),
    "method": ("outcome", "method"),
    "winner_innings": ("outcome", "by", "innings"),
    "winner_runs": ("outcome", "by", "runs"),
    "winner_wickets": ("outcome", "by", "wickets"),
    # Files from before version 1.6 use this key.
    "competition": ("event", "name"),
}
"""The JSON path of each key in the CSV info rows, in Cricsheet's order of the info rows."""

_OFFICIALS = {
    "umpire": "umpires", "tv_umpire": "tv_umpires", "reserve_umpire": "reserve_umpires",
    "match_referee": "match_referees",
}  # fmt: skip
"""Maps each key of an official in the CSV info rows to the corresponding JSON key."""

_NUMBERS = frozenset({"overs", "balls_per_over", "winner_runs", "winner_wickets", "winner_innings"})
_OF_AN_INNINGS = ("super_over", "declared", "target_runs", "target_overs")
_SAYS_INNINGS_FROM = {1: (1, 8), 2: (2, 3)}
"""The versions of the original CSV and of CSV2 that introduced super overs and declarations."""

OtherRow = Callable[[list[str], int], None]
"""Receives a row that is neither a version row nor an info row, and the row's line number."""


def facts_of(info: JsonObject) -> dict[str, Any]:
    """Return the values of the `MatchDraft` fields that the info object states."""
    dates = []
    for position, text in enumerate(info.members("dates")):
        try:
            dates.append(datetime.date.fromisoformat(text))
        except (TypeError, ValueError):
            problem = f"is {quoted(text)}, not a date (YYYY-MM-DD)"
            raise info.wrong(problem, "dates", position) from None
    squads, people = info.inner("players"), info.inner("registry").inner("people")
    for name, identity in people.value.items():
        if not isinstance(identity, str):
            raise people.wrong(f"is {quoted(identity)}, not an id", name)
    season = info.value.get("season")
    event, toss, outcome = map(info.inner, ("event", "toss", "outcome"))
    by = outcome.inner("by")
    results = ("winner", "result", "eliminator", "bowl_out", "method")
    margin = {unit: by.number(unit) for unit in ("innings", "runs", "wickets")}
    return {
        **{key: info.text(key) for key in ("match_type", "gender", "team_type", "venue", "city")},
        "dates": tuple(dates),
        # The season is an integer in some files and text in others.
        "season": str(season) if type(season) is int else info.text("season"),
        # The number and the group are integers in some files and text in others.
        "event": Facts.not_none(
            **{
                key: event.value[key] if type(event.value.get(key)) is int else event.text(key)
                for key in ("name", "match_number", "group", "stage", "sub_name")
            }
        ),
        "teams": tuple(info.texts("teams", "a team's name")),
        "toss": Facts.not_none(
            winner=toss.text("winner"),
            decision=toss.text("decision"),
            uncontested=True if toss.value.get("uncontested") is True else None,
        ),
        "outcome": Facts.not_none(
            **{key: outcome.text(key) for key in results}, by=Facts.not_none(**margin) or None
        ),
        "overs": info.number("overs") or None,
        "balls_per_over": info.number("balls_per_over") or None,
        "players": {team: squads.texts(team) for team in squads.value},
        "people": People(people.value),
    }


class InfoRows:
    """The checked info rows, structured as in Cricsheet's JSON.

    Attributes:
        innings: the facts about each innings, by number.
        second: the fields for which two rows give different values, as in `Stated.second`.
        version: the version of the file, or an empty tuple.
    """

    def __init__(self, display: str) -> None:
        self.info: Json = {}
        self.innings: dict[int, Json] = {}
        self.second: dict[str, tuple[str, Any]] = {}
        self.version: tuple[int, ...] = ()
        self._wrong = partial(MatchFileError, path=display)

    @property
    def match_id(self) -> str | None:
        value: str | None = self.info.get("match_id")
        return value

    def add(self, key: str, values: Sequence[str], line: int) -> None:
        """Add one row; a row with an unknown key is ignored."""
        value = values[0].strip()
        rest = values[1] if len(values) > 1 else ""
        if key == "registry":
            if len(values) != 3:
                problem = "a registry row must have the form info,registry,people,NAME,ID"
                raise self._wrong(problem, line=line)
            people = self.info.setdefault("registry", {"people": {}})["people"]
            self._set(people, rest, values[2].strip(), "registry.people")
        elif key == "team":
            if not value:
                raise self._wrong("a team has no name", line=line)
            self.info.setdefault("teams", []).append(values[0])
        elif key == "date":
            date = date_from(value)
            if date is None:
                raise self._wrong(f"date is {quoted(value)}, not YYYY/MM/DD", line=line)
            self.info.setdefault("dates", []).append(date.isoformat())
        elif key in ("player", "players") and rest.strip():
            self.info.setdefault("players", {}).setdefault(values[0], []).append(rest)
        elif key in _OF_AN_INNINGS:
            number = whole_number(value, 3)
            if number is None:
                raise self._wrong(f"innings {quoted(value)} of {key} is not a number", line=line)
            if key.startswith("target") and balls_in(rest.strip(), 6) is None:
                raise self._wrong(f"{key} is {quoted(rest.strip())}, not a number", line=line)
            self._put_innings(key, number, rest.strip())
        elif key == "player_of_match" and value:
            self.info.setdefault(key, []).append(value)
        elif key in _OFFICIALS and value:
            self.info.setdefault("officials", {}).setdefault(_OFFICIALS[key], []).append(value)
        elif key == "match_type_number" and value:
            number = whole_number(value, 6)
            self._set(self.info, key, value if number is None else number, key)
        elif key in INFO_PATHS:
            self._put(key, value, line)

    def _put(self, key: str, value: str, line: int) -> None:
        *folders, name = INFO_PATHS[key]
        node = self.info
        for folder in folders:
            node = node.setdefault(folder, {})
        number = whole_number(value, 6) if key in _NUMBERS or key == "match_number" else None
        if key in _NUMBERS and number is None:
            raise self._wrong(f"{key} is {quoted(value)}, not a whole number", line=line)
        if key == "toss_uncontested":
            node[name] = value.lower() in ("true", "yes", "1")
        elif value:
            self._set(node, name, value if number is None else number, ".".join(INFO_PATHS[key]))

    def _put_innings(self, key: str, number: int, text: str) -> None:
        facts = self.innings.setdefault(number, {})
        if key.startswith("target"):
            name = key.removeprefix("target_")
            value = int(text.partition(".")[0]) if name == "runs" else text
            self._set(
                facts.setdefault("target", {}), name, value, f"innings.{number}.target.{name}"
            )
        else:
            facts[key] = True

    def _set(self, node: Json, name: str, value: object, field: str) -> None:
        """Set a value. If another value is already set, record the new value in ``second``."""
        if node.setdefault(name, value) != value:
            self.second[field] = ("another row of the info", value)

    def mark(self, innings: Sequence[InningsDraft], balls_per_over: int) -> None:
        """Set the target of each innings. Mark declared innings and super overs."""
        version = self.version or (0,)
        says_innings = version >= _SAYS_INNINGS_FROM.get(version[0], (sys.maxsize,))
        for draft in innings:
            facts = self.innings.get(draft.number, {})
            target = facts.get("target", {})
            if says_innings:
                draft.super_over = "super_over" in facts
                draft.declared = "declared" in facts
            draft.target = target.get("runs", draft.target)
            if "overs" in target:
                draft.target_balls = balls_in(target["overs"], balls_per_over)


def read_info(file: MatchFile, other: OtherRow | None = None) -> InfoRows:
    """Read the info rows of an ``_info.csv`` or of a match file.

    Every other row is passed to ``other``, or is an error if ``other`` is None.
    """

    def wrong(problem: str, remedy: str | None = None) -> MatchFileError:
        return file.wrong(problem, remedy, reader.line_num)

    info = InfoRows(file.display)
    reader = csv.reader(lines(decode_text(file.data, file.display)), strict=True)
    try:
        for row in filter(None, reader):
            kind = row[0].strip()
            if kind == "version":
                numbers = [whole_number(part) for part in (*row, "")[1].strip().split(".")]
                if None not in numbers:
                    info.version = tuple(number for number in numbers if number is not None)
            elif kind == "info":
                if len(row) < 3:
                    remedy = "the file may be cut short; fetch it again"
                    raise wrong("an info row must have a key and a value", remedy)
                info.add(row[1].strip(), row[2:], reader.line_num)
            elif other is not None:
                other(row, reader.line_num)
            else:
                raise wrong(f"the row begins with {quoted(kind)}, not version or info")
    except csv.Error as error:
        raise wrong(f"this line is not CSV: {error}") from None
    return info


_NEWEST_MINOR = 2
_ACTUAL_DELIVERY_SINCE = (1, 2)
"""The version of the format that introduced ``actual_delivery``."""

_EXTRA_KINDS = frozenset(EXTRA_KINDS)
_KEYS_OF_A_MATCH = ("meta", "info", "innings")
_MIN_BYTES_PER_VALUE = 8
_MIN_CHECKED_CHARACTERS = 2**18
_MAX_NOTES = 40


def match_of(file: MatchFile) -> Match:
    text = decode_text(file.data, file.display)
    file.check_selected(file.stem)
    document: Json = {}
    try:
        document = _parse(text, file)
        return _match(document, file)
    except DoubledKey as error:
        raise _key_twice(file, text, error) from None
    except RecursionError:
        raise file.wrong("contains JSON with many more nested levels than a match has") from None
    except JsonValueError as wrong:
        location = place_in_words(document, wrong.path)
        line = line_of(text, wrong.path) if wrong.path else None
        raise file.wrong(f"{location}{wrong.problem}", line=line) from None
    except ImpossibleMatchError as error:
        raise error.at(line_of(text, _path_of(document, error.doubt.position))) from None


def _key_twice(file: MatchFile, text: str, error: DoubledKey) -> MatchFileError:
    try:
        line_of(text, ())
    except DoubledKey as located:
        error = located
    return file.wrong(f"an object has the key {quoted(error.key)} twice", line=error.line)


def _path_of(document: Json, position: int | None) -> JsonPath:
    """Return the path of a ball. If there is no such ball, return the path of all innings."""
    left = position or 1
    for number, innings in enumerate(document["innings"]):
        for over_position, over in enumerate(innings.get("overs", ())):
            deliveries = over.get("deliveries", ())
            if left <= len(deliveries):
                return ("innings", number, "overs", over_position, "deliveries", left - 1)
            left -= len(deliveries)
    return ("innings",)


def _parse(text: str, file: MatchFile) -> Json:
    if (
        len(text) > _MIN_CHECKED_CHARACTERS
        and sum(map(text.count, "{[,")) > len(text) // _MIN_BYTES_PER_VALUE
    ):
        # A file of empty lists and objects would need many times its size in memory.
        raise file.wrong("consists mostly of brackets and commas, so it is not a match")
    try:
        document = json.loads(
            text,
            parse_float=str,
            parse_constant=_refuse_constant,
            object_pairs_hook=unique_keys,
        )
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()):
            cut = "the file may be cut short; fetch it again"
            raise file.wrong("the JSON ends too early", cut, line=error.lineno) from None
        problem = f"this is not valid JSON: {error.msg}"
        raise file.wrong(problem, "fetch the file again", line=error.lineno) from None
    except ValueError as error:
        raise file.wrong(f"this is not valid JSON: {error}") from None
    if not isinstance(document, dict):
        raise file.wrong("contains a JSON list, not a Cricsheet match", "give one match per file")
    if not any(key in document for key in _KEYS_OF_A_MATCH):
        keys = ", ".join(quoted(key) for key in list(document)[:5]) or "no keys"
        raise file.wrong(
            f"contains JSON, but not a cricket match: it has {keys} instead of meta, info and "
            "innings"
        )
    if "\\" in text:
        try:
            json.dumps(document, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise file.wrong("contains a \\u escape for only half of a character") from None
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _match(document: Json, file: MatchFile) -> Match:
    root = JsonObject(document)
    meta, info = root.inner("meta"), root.inner("info")
    notes = _version_notes(meta)
    facts = facts_of(info)
    for key in ("overs", "balls_per_over"):
        if info.number(key) == 0:
            raise info.wrong("is 0", key)
    if not info.inner("registry").inner("people").value:
        notes.append("the file has no registry of people, so players are identified by name")
    missing = [key for key in ("match_type", "dates", "teams") if not facts[key]]
    notes += [f"info.{key} is missing" for key in missing]
    since = _ACTUAL_DELIVERY_SINCE
    stated = Stated(meta.value, info.value, exact=True, actual_delivery_since=since)
    draft = MatchDraft(file.stem, file.display, notes=notes, stated=stated, **facts)
    if "innings" not in document:
        raise root.wrong("innings are missing; this may be only a part of a match")
    every_innings = root.objects("innings")
    if len(every_innings) > MAX_INNINGS:
        raise root.wrong(f"has {len(every_innings)} entries, more than a match can have", "innings")
    for number, innings in enumerate(every_innings, 1):
        draft.innings.append(_innings(innings, number, draft))
    return draft.build()


def _version_notes(meta: JsonObject) -> list[str]:
    version = meta.text("data_version")
    if version is None:
        return ["the file does not give its data version; it was read as version 1.x"]
    major, minor, *_ = (*version.split("."), "")
    if major != "1":
        raise meta.wrong(f"is {quoted(version)}; attnlens reads Cricsheet JSON 1.x", "data_version")
    if (whole_number(minor, 6) or 0) > _NEWEST_MINOR:
        return [
            f"data version {version} is unknown; the file was read as version 1.{_NEWEST_MINOR}"
        ]
    return []


def _innings(innings: JsonObject, number: int, match: MatchDraft) -> InningsDraft:
    teams = match.teams
    team = innings.text("team")
    if team is None or (teams and team not in teams):
        names = ", ".join(teams) or "none named"
        raise innings.wrong(f"is {quoted(team)}; the teams are: {names}", "team")
    penalties, target = innings.inner("penalty_runs"), innings.inner("target")
    miscounted = innings.inner("miscounted_overs")
    draft = InningsDraft(
        number=number,
        batting_team=team,
        bowling_team=next((other for other in teams if other != team), ""),
        penalty_before=penalties.number("pre") or 0,
        penalty_after=penalties.number("post") or 0,
        super_over=innings.value.get("super_over") is True,
        target=target.number("runs"),
        target_balls=_target_balls(target, match.balls_per_over or 6),
        declared=innings.value.get("declared") is True,
        miscounted={
            over_number: whole_number(str(miscounted.inner(over).value.get("balls"))) or 0
            for over in miscounted.value
            if (over_number := whole_number(over)) is not None
        },
        powerplays=tuple(map(_powerplay, innings.objects("powerplays"))),
    )
    match.notes += [
        f"innings {number}: according to the file, the umpires miscounted over {over}"
        for over in sorted(draft.miscounted)[:_MAX_NOTES]
    ]
    match.notes += [
        f"innings {number} was {key}"
        for key in ("forfeited", "declared")
        if innings.value.get(key) is True
    ]
    absent = innings.texts("absent_hurt")[:_MAX_NOTES]
    match.notes += [f"innings {number}: {name} was absent hurt" for name in absent]
    match.stated.innings[number] = {
        key: value for key, value in innings.value.items() if key != "overs"
    }
    for over in innings.objects("overs"):
        _add_over(draft, over, match)
    return draft


def _powerplay(powerplay: JsonObject) -> Powerplay:
    ends = []
    for key in ("from", "to"):
        label = str(powerplay.value.get(key))
        over, _, ball = label.partition(".")
        numbers = whole_number(over, 4), whole_number(ball or "0", 3)
        if None in numbers:
            raise powerplay.wrong(f"is {quoted(label)}, not a ball such as 5.6", key)
        ends.append((numbers[0] or 0, numbers[1] or 0))
    return Powerplay(ends[0], ends[1], powerplay.text("type") or "mandatory")


def _target_balls(target: JsonObject, balls_per_over: int) -> int | None:
    """Return ``target.overs`` as a number of balls; 8.1 means eight overs and one ball."""
    overs = target.value.get("overs")
    if overs is None:
        return None
    text = str(overs) if type(overs) is int or isinstance(overs, str) else ""
    balls = balls_in(text, balls_per_over)
    if balls is None:
        raise target.wrong(f"is {quoted(overs)}, not overs such as 20 or 8.1", "overs")
    return balls


def _add_over(draft: InningsDraft, over: JsonObject, match: MatchDraft) -> None:
    number = over.value.get("over")
    if type(number) is not int or not 0 <= number <= MAX_OVER:
        raise over.wrong(f"is {quoted(number)}, not the number of an over, from 0", "over")
    deliveries = over.members("deliveries")
    if len(draft.deliveries) + len(deliveries) > MAX_BALLS_AN_INNINGS:
        raise over.wrong(f"make the innings longer than {MAX_BALLS_AN_INNINGS} balls", "deliveries")
    people, add = match.people, draft.add
    # Most of the reading time is spent in this loop. The loop therefore only detects that a value
    # is wrong. `_diagnose` then finds out which value it is.
    for position, delivery in enumerate(deliveries):
        try:
            runs = delivery["runs"]
            batter, extra = runs["batter"], runs["extras"]
            if (
                type(batter) is not int
                or type(extra) is not int
                or not 0 <= batter <= MAX_RUNS_A_BALL
                or not 0 <= extra <= MAX_RUNS_A_BALL
                or batter + extra != runs["total"]
            ):
                raise ValueError
            striker = people[delivery["batter"]]
            non_striker = people[delivery["non_striker"]]
            bowler = people[delivery["bowler"]]
            extras = delivery.get("extras")
            if (extra or extras is not None) and (
                sum(extras.values()) != extra
                or not extras.keys() <= _EXTRA_KINDS
                or any(type(runs) is not int or runs < 0 for runs in extras.values())
            ):
                raise ValueError
            actual = delivery.get("actual_delivery")
            if actual is not None and balls_in(actual, 0) is None:
                raise ValueError
            fallen = _wickets(delivery["wickets"], people, draft) if "wickets" in delivery else ()
        except (KeyError, TypeError, ValueError, AttributeError):
            _diagnose(delivery, over, position)
        add(
            number,
            striker,
            non_striker,
            bowler,
            batter,
            extra,
            extras,
            fallen,
            None,
            actual,
            runs.get("non_boundary") is True,
        )
        if actual is not None:
            match.stated.has_actual_delivery = True
        for key, claims in draft.claims.items():
            if key in delivery:
                claims.append((draft.deliveries[-1], delivery[key]))
        if "replacements" in delivery:
            location = f"innings {draft.number}, before ball {draft.deliveries[-1].label}"
            match.notes += _replacements(delivery["replacements"], location)


def _replacements(replacements: object, location: str) -> Iterator[str]:
    """Yield a sentence for each player who came in or changed role before a delivery."""
    for kind, texts in islice(changes_of(replacements), _MAX_NOTES):
        became = f"became {texts['role']}" if "role" in texts else "changed role"
        does = "came in" if kind == "match" else became
        instead = f" for {texts['out']}" if "out" in texts else ""
        why = f" ({texts['reason'].replace('_', ' ')})" if "reason" in texts else ""
        yield f"{location}: {texts['in']} {does}{instead}{why}"


def _wickets(wickets: Sequence[Json], people: People, draft: InningsDraft) -> tuple[Wicket, ...]:
    if not isinstance(wickets, list):
        raise TypeError
    fallen = []
    for wicket in wickets:
        kind = wicket["kind"]
        fielders = wicket.get("fielders", [])
        if not isinstance(kind, str) or not kind or not isinstance(fielders, list):
            raise TypeError
        # A fielder may have no name, because the name of a substitute may be unknown.
        names = [fielder["name"] for fielder in fielders if "name" in fielder]
        if not all(isinstance(name, str) for name in names):
            raise TypeError
        if len(names) < len(fielders):
            draft.unnamed.add(len(draft.deliveries) + 1)
        draft.substitutes.update(
            fielder["name"]
            for fielder in fielders
            if "name" in fielder and fielder.get("substitute") is True
        )
        fallen.append(Wicket(kind, people[wicket["player_out"]], tuple(names)))
    return tuple(fallen)


def _diagnose(delivery: Any, over: JsonObject, position: int) -> NoReturn:
    ball = JsonObject(delivery, (*over.path, "deliveries", position))
    if not isinstance(delivery, dict):
        raise ball.wrong(f"is {quoted(delivery)}, not an object")
    for key in ("batter", "non_striker", "bowler"):
        name = delivery.get(key)
        if not isinstance(name, str) or not name.strip():
            raise ball.wrong(f"is {quoted(name)}, not a player's name", key)
    runs, extras = ball.inner("runs"), ball.inner("extras")
    for part, key, maximum in (
        (runs, "batter", MAX_RUNS_A_BALL),
        (runs, "extras", MAX_RUNS_A_BALL),
        (runs, "total", 2 * MAX_RUNS_A_BALL),
        *((extras, kind, MAX_RUNS_A_BALL) for kind in extras.value),
    ):
        value = part.value.get(key)
        if type(value) is not int or not 0 <= value <= maximum:
            raise part.wrong(f"is {quoted(value)}, not a number of runs", key)
        if part is extras and key not in EXTRA_KINDS:
            kinds = ", ".join(EXTRA_KINDS)
            raise part.wrong(f"is not a kind of extra; known kinds: {kinds}", key)
    batter, extra, total = (runs.value[key] for key in ("batter", "extras", "total"))
    if batter + extra != total:
        raise runs.wrong(f"do not add up: {batter} + {extra} is not {total}")
    if sum(extras.value.values()) != extra:
        raise extras.wrong(f"do not add up to runs.extras, {extra}")
    actual = ball.text("actual_delivery")
    if actual is not None and balls_in(actual, 0) is None:
        raise ball.wrong(f"is {quoted(actual)}, not a ball such as 7.4", "actual_delivery")
    raise ball.wrong("are not a list of objects with kind, player_out and fielders", "wickets")


# Every JSON file is accepted here, so that the error can say why the file is not a match.
FORMAT = DocumentFormat(lambda file: file.is_json, match_of)
