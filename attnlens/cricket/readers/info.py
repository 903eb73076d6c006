"""What a match's info says: teams, dates, toss, result and people.

It is an object in Cricsheet JSON, and rows of ``info,key,value[,value]`` in the ``_info.csv``
beside a CSV2 match and in the original CSV. Rows are put where JSON has what they say, and from
there on there is one way.
"""

from __future__ import annotations

import csv
import datetime
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Facts
from attnlens.cricket.readers.assembly import InningsDraft, People
from attnlens.cricket.readers.text import (
    JsonObject,
    balls_in,
    date_from,
    decode_text,
    lines,
    quoted,
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
    # Files from before 1.6 say so.
    "competition": ("event", "name"),
}
"""Where JSON has what a row says, by the row's key, in the order in which rows are written."""

_OFFICIALS = {
    "umpire": "umpires", "tv_umpire": "tv_umpires", "reserve_umpire": "reserve_umpires",
    "match_referee": "match_referees",
}  # fmt: skip
"""Where JSON has an official, by the row's key."""

_NUMBERS = frozenset({"overs", "balls_per_over", "winner_runs", "winner_wickets", "winner_innings"})
_OF_AN_INNINGS = ("super_over", "declared", "target_runs", "target_overs")
_SAYS_INNINGS_FROM = {1: (1, 8), 2: (2, 3)}
"""The version, of the original CSV and of CSV2, that began to name super overs and declarations."""

OtherRow = Callable[[list[str], int], None]
"""Receives a row that is neither version nor info, and its line."""


def facts_of(info: JsonObject) -> dict[str, Any]:
    """What is known of a match without its innings, by the names of a draft's fields."""
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
    toss, outcome = info.inner("toss"), info.inner("outcome")
    by = outcome.inner("by")
    results = ("winner", "result", "eliminator", "bowl_out", "method")
    margin = {unit: by.number(unit) for unit in ("innings", "runs", "wickets")}
    return {
        **{key: info.text(key) for key in ("match_type", "gender", "team_type", "venue", "city")},
        "dates": tuple(dates),
        # A bare year in some files, and text in others.
        "season": str(season) if type(season) is int else info.text("season"),
        "event": _event_of(info.inner("event")),
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


def _event_of(event: JsonObject) -> Facts:
    """The competition; match_number and group are numbers in some files and text in others."""
    return Facts.not_none(
        **{
            key: event.value[key] if type(event.value.get(key)) is int else event.text(key)
            for key in ("name", "match_number", "group", "stage", "sub_name")
        }
    )


class InfoRows:
    """What info rows say, checked.

    Attributes:
        info: as JSON has it.
        innings: likewise, by number.
        second: fields that a second row states otherwise, as `Stated` has them.
        version: of the file, empty where it does not say.
    """

    def __init__(self, display: str) -> None:
        self.info: Json = {}
        self.innings: dict[int, Json] = {}
        self.second: dict[str, tuple[str, Any]] = {}
        self.version: tuple[int, ...] = ()
        self._display = display

    @property
    def match_id(self) -> str | None:
        value: str | None = self.info.get("match_id")
        return value

    @property
    def registry(self) -> Json:
        people: Json = self.info.get("registry", {}).get("people", {})
        return people

    def add(self, key: str, values: Sequence[str], line: int) -> None:
        """Take in one row; keys not known are let pass."""
        value = values[0].strip()
        rest = values[1] if len(values) > 1 else ""
        if key == "registry":
            if len(values) != 3:
                raise self._wrong("a registry row is info,registry,people,NAME,ID", line)
            people = self.info.setdefault("registry", {"people": {}})["people"]
            self._set(people, rest, values[2].strip(), "registry.people")
        elif key == "team":
            if not value:
                raise self._wrong("a team has no name", line)
            self.info.setdefault("teams", []).append(values[0])
        elif key == "date":
            date = date_from(value)
            if date is None:
                raise self._wrong(f"date is {quoted(value)}, not YYYY/MM/DD", line)
            self.info.setdefault("dates", []).append(date.isoformat())
        elif key in ("player", "players") and rest.strip():
            self.info.setdefault("players", {}).setdefault(values[0], []).append(rest)
        elif key in _OF_AN_INNINGS:
            number = whole_number(value, 3)
            if number is None:
                raise self._wrong(f"{key} is of innings {quoted(value)}, not a number", line)
            if key.startswith("target") and balls_in(rest.strip(), 6) is None:
                raise self._wrong(f"{key} is {quoted(rest.strip())}, not a number", line)
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
        """Take in a row of one value; of several such rows the first counts."""
        *folders, name = INFO_PATHS[key]
        node = self.info
        for folder in folders:
            node = node.setdefault(folder, {})
        number = whole_number(value, 6) if key in _NUMBERS or key == "match_number" else None
        if key in _NUMBERS and number is None:
            raise self._wrong(f"{key} is {quoted(value)}, not a whole number", line)
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
        """Set a value; one that is there stays, and another is a second statement of the field."""
        if node.setdefault(name, value) != value:
            self.second[field] = ("another row of the info", value)

    def _wrong(self, problem: str, line: int) -> MatchFileError:
        return MatchFileError(problem, path=self._display, line=line)

    def mark(self, innings: Sequence[InningsDraft], balls_per_over: int) -> None:
        """Tell each innings its target, and whether it was declared or a super over."""
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


def read_info(display: str, data: bytes, other: OtherRow | None = None) -> InfoRows:
    """Read an ``_info.csv``, or the info rows of a file that has more.

    Args:
        other: receives the rows of other kinds, which are refused without it.
    """

    def wrong(problem: str, remedy: str | None = None) -> MatchFileError:
        return MatchFileError(problem, path=display, line=reader.line_num, remedy=remedy)

    info = InfoRows(display)
    reader = csv.reader(lines(decode_text(data, display)), strict=True)
    try:
        for row in filter(None, reader):
            kind = row[0].strip()
            if kind == "version":
                numbers = [whole_number(part) for part in (*row, "")[1].strip().split(".")]
                if None not in numbers:
                    info.version = tuple(number for number in numbers if number is not None)
            elif kind == "info":
                if len(row) < 3:
                    remedy = "the file may be cut short; get it again"
                    raise wrong("an info row has a key and a value", remedy)
                info.add(row[1].strip(), row[2:], reader.line_num)
            elif other is not None:
                other(row, reader.line_num)
            else:
                raise wrong(f"the row begins with {quoted(kind)}, not version or info")
    except csv.Error as error:
        raise wrong(f"this line is not CSV: {error}") from None
    return info
