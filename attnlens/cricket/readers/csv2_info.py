"""Rows of ``info,key,value[,value]``: the ``_info.csv`` beside a Cricsheet CSV2 match, and
the info rows of the original CSV."""

from __future__ import annotations

import csv
import datetime
import re
import sys
from collections.abc import Callable, Sequence

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Facts
from attnlens.cricket.readers.assembly import MatchDraft
from attnlens.cricket.readers.deliveries import InningsDraft
from attnlens.cricket.readers.text import date_from, decoded, lines, shown

_OVERS_AND_BALLS = re.compile(r"([0-9]{1,4})(?:\.([0-9]{1,2}))?")
_SAYS_INNINGS_FROM = {1: (1, 8), 2: (2, 3)}
"""The version, of the original CSV and of CSV2, that began to name super overs and declarations."""

OUTCOME_KEYS = (
    ("winner", "winner"),
    ("outcome", "result"),
    ("eliminator", "eliminator"),
    ("bowl_out", "bowl_out"),
    ("method", "method"),
)
"""Keys of the file, and those of a match's outcome."""

OtherRow = Callable[[list[str], int], None]
"""Receives a row that is neither version nor info, and its line."""


class Csv2Info:
    """What an ``_info.csv`` says, checked."""

    def __init__(self, display: str) -> None:
        self.display = display
        self.version: tuple[int, ...] | None = None
        self.registry: dict[str, str] = {}
        self._single: dict[str, str] = {}
        self._teams: list[str] = []
        self._dates: list[datetime.date] = []
        self._by_innings: dict[str, dict[int, str]] = {
            key: {} for key in ("super_over", "declared", "target_runs", "target_overs")
        }
        self._numbers: dict[str, int] = {}
        self._players: dict[str, list[str]] = {}

    @property
    def match_id(self) -> str | None:
        return self._single.get("match_id")

    def add(self, key: str, values: Sequence[str], line: int) -> None:
        """Take in one row; keys not known are let pass."""
        value = values[0].strip() if values else ""
        if key == "registry":
            if len(values) != 3:
                raise self._wrong("a registry row is info,registry,people,NAME,ID", line)
            self.registry[values[1]] = values[2].strip()
        elif key == "team":
            if not value:
                raise self._wrong("a team has no name", line)
            self._teams.append(values[0])
        elif key == "date":
            self._dates.append(self._date(value, line))
        elif key in ("player", "players") and len(values) > 1:
            self._players.setdefault(values[0], []).append(values[1])
        elif key in self._by_innings:
            if not (value.isascii() and value.isdigit() and len(value) < 4):
                raise self._wrong(f"{key} is of innings {shown(value)}, not a number", line)
            rest = values[1].strip() if len(values) > 1 else ""
            if key.startswith("target") and _OVERS_AND_BALLS.fullmatch(rest) is None:
                raise self._wrong(f"{key} is {shown(rest)}, not a number", line)
            self._by_innings[key][int(value)] = rest
        elif key in _NUMBERS:
            if not (value.isascii() and value.isdigit() and 0 < len(value) < 7):
                raise self._wrong(f"{key} is {shown(value)}, not a whole number", line)
            self._numbers[key] = int(value)
        elif value:
            self._single.setdefault(key, value)

    def _date(self, text: str, line: int) -> datetime.date:
        date = date_from(text)
        if date is None:
            raise self._wrong(f"date is {shown(text)}, not YYYY/MM/DD", line)
        return date

    def _wrong(self, problem: str, line: int) -> MatchFileError:
        return MatchFileError(problem, path=self.display, line=line)

    def fill(self, draft: MatchDraft) -> None:
        """Put what is known of the match into its draft."""
        draft.match_type = self._single.get("match_type")
        draft.gender = self._single.get("gender")
        draft.dates = tuple(self._dates) or draft.dates
        draft.season = self._single.get("season", draft.season)
        draft.venue = self._single.get("venue", draft.venue)
        draft.city = self._single.get("city")
        draft.teams = tuple(self._teams)
        draft.overs = self._numbers.get("overs") or None
        draft.balls_per_over = self._numbers.get("balls_per_over") or None
        draft.event = self._event()
        draft.toss = self._toss()
        draft.outcome = self._outcome()
        draft.players = self._players

    def _event(self) -> Facts:
        number = self._single.get("match_number", "")
        is_number = number.isascii() and number.isdigit() and len(number) < 7
        # Files from before 1.6 say competition.
        name = self._single.get("event", self._single.get("competition"))
        return Facts.known(name=name, match_number=int(number) if is_number else number or None)

    def _toss(self) -> Facts:
        uncontested = self._single.get("toss_uncontested", "").lower() in ("true", "yes", "1")
        return Facts.known(
            winner=self._single.get("toss_winner"),
            decision=self._single.get("toss_decision"),
            uncontested=uncontested or None,
        )

    def _outcome(self) -> Facts:
        said = {name: self._single.get(key) for key, name in OUTCOME_KEYS}
        margin = {
            key: self._numbers[f"winner_{key}"]
            for key in ("innings", "runs", "wickets")
            if f"winner_{key}" in self._numbers
        }
        return Facts.known(**said, by=margin or None)

    def mark(self, innings: Sequence[InningsDraft], balls_per_over: int) -> None:
        """Tell each innings its target, and whether it was declared or a super over."""
        version = self.version or (0,)
        says_innings = version >= _SAYS_INNINGS_FROM.get(version[0], (sys.maxsize,))
        for draft in innings:
            number = draft.number
            if says_innings:
                draft.super_over = number in self._by_innings["super_over"]
                draft.declared = number in self._by_innings["declared"]
            runs = self._by_innings["target_runs"].get(number)
            if runs is not None:
                draft.target = int(runs.partition(".")[0])
            overs = self._by_innings["target_overs"].get(number)
            if overs is not None:
                # Overs and balls: 8.1 is 49 balls.
                whole, _, balls = overs.partition(".")
                draft.target_balls = int(whole) * balls_per_over + int(balls or 0)


_NUMBERS = frozenset({"overs", "balls_per_over", "winner_runs", "winner_wickets", "winner_innings"})


def read_info(display: str, data: bytes, other: OtherRow | None = None) -> Csv2Info:
    """Read an ``_info.csv``, or the info rows of a file that has more.

    Args:
        other: receives the rows of other kinds, which are refused without it.

    Raises:
        MatchFileError: with the line that is wrong.
    """

    def wrong(problem: str, remedy: str | None = None) -> MatchFileError:
        return MatchFileError(problem, path=display, line=reader.line_num, remedy=remedy)

    info = Csv2Info(display)
    reader = csv.reader(lines(decoded(data, display)), strict=True)
    try:
        for row in reader:
            if not row:
                continue
            kind = row[0].strip()
            if kind == "version":
                numbers = (row[1] if len(row) > 1 else "").strip().split(".")
                if all(part.isascii() and part.isdigit() and len(part) < 5 for part in numbers):
                    info.version = tuple(int(part) for part in numbers)
            elif kind == "info":
                if len(row) < 3:
                    remedy = "the file may be cut short; get it again"
                    raise wrong("an info row has a key and a value", remedy)
                info.add(row[1].strip(), row[2:], reader.line_num)
            elif other is not None:
                other(row, reader.line_num)
            else:
                raise wrong(f"the row begins with {shown(kind)}, not version or info")
    except csv.Error as error:
        raise wrong(f"this line is not CSV: {error}") from None
    return info
