"""Cricsheet's original CSV 1.x: rows of ``version``, ``info`` and ``ball``.

Every word of that format stands here. Source:
https://cricsheet.org/format/csv_original/ (1.8.0). A ball row has 16 fields, from
1.8.0 on 21; it has room for one wicket.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Generator, Iterator, Sequence

from attnlens.cricket.match import Match, Wicket
from attnlens.cricket.readers.assembly import MatchDraft
from attnlens.cricket.readers.csv2_info import Csv2Info, read_info
from attnlens.cricket.readers.deliveries import (
    EXTRA_KINDS,
    MOST_DELIVERIES,
    MOST_INNINGS,
    InningsDraft,
    People,
)
from attnlens.cricket.readers.fields import innings_number, over_of, runs_in
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.spreadsheet import date_from
from attnlens.cricket.readers.tables import Part, Refused
from attnlens.cricket.readers.text import shown
from attnlens.errors import MatchFileError

_FIELDS_OF_A_BALL = 16
_FIELDS_FROM_1_8 = 21
_VERSION = re.compile(rb'\s*(?:\xef\xbb\xbf)?"?version"?,')
_BALL_ROW = re.compile(rb'^"?ball"?,', re.MULTILINE)
_INFO_DATE = re.compile(rb'^"?info"?,"?date"?,"?([^"\r\n]{1,20})', re.MULTILINE)


def recognises(file: MatchFile) -> bool:
    """Whether it begins with a version row and has a ball row."""
    head = file.head
    return _VERSION.match(head) is not None and (
        _BALL_ROW.search(head) is not None or _BALL_ROW.search(file.data) is not None
    )


def parts(file: MatchFile) -> Iterator[Part]:
    """The one match of the file, and its first day."""
    found = _INFO_DATE.search(file.head)
    text = "" if found is None else found[1].decode("utf-8", "replace")
    date: datetime.date | None = date_from(text)
    yield Part(file.stem, date)


def matches(
    file: MatchFile,
    part: Part | None = None,  # noqa: ARG001  # every format is asked alike
    refused: Refused | None = None,  # noqa: ARG001  # one match: its error is the file's
) -> Generator[Match, None, None]:
    """The one match of the file.

    Raises:
        MatchFileError: with the line that is wrong.
    """
    rows: list[tuple[int, list[str]]] = []
    info = read_info(
        file.display, file.data, lambda row, line: _keep(rows, row, line, file.display)
    )
    if info.version is None or info.version[0] != 1:
        written = ".".join(map(str, info.version or ())) or "missing"
        raise MatchFileError(
            f"the version is {written}; attnlens reads the original CSV 1.x", path=file.display
        )
    match_id = info.match_id or file.stem
    if file.wanted is not None and file.wanted != match_id:
        raise MatchFileError(
            f"has no match {shown(file.wanted)}", path=file.display, remedy=f"it has {match_id}"
        )
    yield _Balls(file.display, match_id, info).match(rows)


def _keep(rows: list[tuple[int, list[str]]], row: list[str], line: int, display: str) -> None:
    kind = row[0].strip()
    if kind == "penalty_runs":
        # The page that names this row does not say what stands in it.
        raise MatchFileError(
            "penalty runs are in a row whose fields are not documented, and a total without "
            "them would be wrong",
            path=display,
            line=line,
            remedy="give this match as JSON",
        )
    if kind != "ball":
        raise MatchFileError(
            f"the row begins with {shown(kind)}, not version, info or ball", path=display, line=line
        )
    if len(row) not in (_FIELDS_OF_A_BALL, _FIELDS_FROM_1_8):
        raise MatchFileError(
            f"a ball row of {len(row)} fields, not {_FIELDS_OF_A_BALL} or {_FIELDS_FROM_1_8}",
            path=display,
            line=line,
            remedy="the file may be cut short; get it again",
        )
    if len(rows) == MOST_DELIVERIES * 4:
        raise MatchFileError("has more balls than a match", path=display, line=line)
    rows.append((line, row))


class _Balls:
    """The ball rows of one match on their way to a match."""

    def __init__(self, display: str, match_id: str, info: Csv2Info) -> None:
        self._display = display
        self._info = info
        self._line = 0
        self._people = People(info.registry)
        self.draft = MatchDraft(match_id=match_id, source=display, penalties_known=False)
        info.fill(self.draft)

    def _wrong(self, problem: str) -> MatchFileError:
        return MatchFileError(problem, path=self._display, line=self._line)

    def match(self, rows: Sequence[tuple[int, list[str]]]) -> Match:
        """The match of these rows."""
        draft = self.draft
        for self._line, row in rows:
            self._add(row)
        self._info.mark(draft.innings, draft.balls_per_over or 6)
        draft.notes.append("a ball of this format has room for one wicket only")
        if rows and len(rows[0][1]) == _FIELDS_OF_A_BALL:
            draft.notes.append("fielders are not in this version of the format")
        if not self._info.registry:
            draft.notes.append("the file has no registry of people: players are known by name")
        if self._people.unregistered:
            names = ", ".join(self._people.unregistered[:5])
            draft.notes.append(f"no registry id for {names}: known by name")
        return draft.finished()

    def _add(self, row: list[str]) -> None:
        (
            _, number, label, batting, striker, non_striker, bowler, bat, extra,
            *by_kind, kind, out,
        ) = row[:_FIELDS_OF_A_BALL]  # fmt: skip
        actual, non_boundary, *fielders = row[_FIELDS_OF_A_BALL:] or ("", "")
        innings = self._innings(innings_number(number.strip(), MOST_INNINGS, self._wrong), batting)
        if len(innings.deliveries) == MOST_DELIVERIES:
            raise self._wrong(f"innings {innings.number} is longer than {MOST_DELIVERIES} balls")
        over = over_of(label.strip(), "ball", self._wrong)
        if actual.strip():
            over_of(actual.strip(), "actual_delivery", self._wrong)
        extras = {
            name: runs
            for name, text in zip(EXTRA_KINDS, by_kind, strict=True)
            if (runs := runs_in(text, name, self._wrong))
        }
        total = runs_in(extra, "extras", self._wrong)
        if sum(extras.values()) != total:
            raise self._wrong(
                f"extras is {total}, but wides, noballs, byes, legbyes and penalty "
                f"add up to {sum(extras.values())}"
            )
        named = {"striker": striker, "non_striker": non_striker, "bowler": bowler}
        for column, name in named.items():
            if not name.strip():
                raise self._wrong(f"{column} is blank")
        if bool(kind.strip()) != bool(out.strip()):
            raise self._wrong("of wicket_type and player_dismissed one is blank")
        people = self._people
        innings.add(
            over,
            people[striker],
            people[non_striker],
            people[bowler],
            runs_in(bat, "runs_off_bat", self._wrong),
            total,
            extras,
            (Wicket(kind.strip(), people[out], tuple(name for name in fielders if name)),)
            if kind.strip()
            else (),
            label.strip(),
            actual.strip() or None,
            non_boundary.strip().lower() == "true",
        )

    def _innings(self, number: int, batting: str) -> InningsDraft:
        innings = self.draft.innings
        if innings and innings[-1].number == number:
            whose = innings[-1].batting_team
            if whose != batting:
                raise self._wrong(f"{batting} bats inside the innings of {whose}")
            return innings[-1]
        if innings and number < innings[-1].number:
            raise self._wrong(f"innings {number} comes after innings {innings[-1].number}")
        teams = self.draft.teams
        if batting not in teams:
            known = ", ".join(teams) or "none named"
            raise self._wrong(f"batting_team is {shown(batting)}; the teams are: {known}")
        bowling = next((team for team in teams if team != batting), "")
        innings.append(InningsDraft(number=number, batting_team=batting, bowling_team=bowling))
        return innings[-1]
