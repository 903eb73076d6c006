"""Cricsheet CSV2 ("Ashwin"), 22 and 27 columns. Every word of that format stands here.

Source: https://www.cricsheet.org/format/csv_ashwin/ (2.3.0). What is not in the
rows comes from the ``_info.csv`` beside the file, where there is one.
"""

from __future__ import annotations

import csv
import datetime
from collections.abc import Iterator

from attnlens.cricket.match import Match, Wicket
from attnlens.cricket.readers.assembly import MatchDraft
from attnlens.cricket.readers.csv2_info import Csv2Info, read_info
from attnlens.cricket.readers.deliveries import (
    EXTRA_KINDS,
    LAST_OVER,
    MOST_DELIVERIES,
    MOST_INNINGS,
    MOST_RUNS,
    InningsDraft,
    People,
)
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.text import decoded, lines, shown
from attnlens.errors import MatchFileError

_REQUIRED = (
    "innings",
    "ball",
    "batting_team",
    "bowling_team",
    "striker",
    "non_striker",
    "bowler",
    "runs_off_bat",
    "extras",
    *EXTRA_KINDS,
)
_TELLING = frozenset({"innings", "ball", "runs_off_bat"})
_FIELDERS = ("fielder_1", "fielder_2", "fielder_3")


def recognises(file: MatchFile) -> bool:
    """Whether the first line is a CSV2 header."""
    head = file.data.lstrip(b"\xef\xbb\xbf\r\n ").partition(b"\n")[0]
    return set(_TELLING) <= {
        name.strip().strip('"') for name in head.decode("utf-8", "replace").split(",")
    }


def matches(file: MatchFile) -> Iterator[Match]:
    """The matches of a CSV2 table, as long as the rows of each stand together.

    Raises:
        MatchFileError: with the line that is wrong.
    """
    beside = file.sibling(f"{file.stem}_info.csv")
    info = None if beside is None else read_info(*beside)
    rows = _Rows(file)
    current: _MatchRows | None = None
    finished: set[str] = set()
    try:
        for row in rows:
            match_id = row.get("match_id", "").strip() or file.stem
            if current is None or current.draft.match_id != match_id:
                if current is not None:
                    finished.add(current.draft.match_id)
                    yield current.finished()
                if match_id in finished:
                    raise rows.wrong(f"rows of match {shown(match_id)} come back after another's")
                current = _MatchRows(match_id, row, rows, info)
            current.add(row)
    except csv.Error as error:
        raise rows.wrong(f"this line is not CSV: {error}") from None
    if current is None:
        raise MatchFileError("has a header and no deliveries", path=file.display)
    yield current.finished()


class _Rows:
    """Rows by column name, each as long as the header, and the line they end on."""

    def __init__(self, file: MatchFile) -> None:
        self.display = file.display
        self._reader = csv.reader(lines(decoded(file.data, file.display)), strict=True)

    def wrong(self, problem: str, remedy: str | None = None) -> MatchFileError:
        return MatchFileError(problem, path=self.display, line=self._reader.line_num, remedy=remedy)

    def __iter__(self) -> Iterator[dict[str, str]]:
        header = self._header()
        for fields in self._reader:
            if not fields:
                continue
            if len(fields) < len(header):
                raise self.wrong(
                    f"this row has {len(fields)} of {len(header)} fields",
                    "the file may be cut short; get it again",
                )
            if len(fields) > len(header):
                raise self.wrong(f"this row has {len(fields)} fields, the header {len(header)}")
            yield dict(zip(header, fields, strict=True))

    def _header(self) -> list[str]:
        header = [name.strip() for name in next((row for row in self._reader if row), [])]
        missing = [name for name in _REQUIRED if name not in header]
        if missing:
            raise self.wrong(f"columns are missing: {', '.join(missing)}")
        twice = {name for name in header if name and header.count(name) > 1}
        if twice:
            raise self.wrong(f"a column comes twice: {', '.join(sorted(twice))}")
        return header


class _MatchRows:
    """One match's rows on their way to a match."""

    def __init__(
        self, match_id: str, row: dict[str, str], rows: _Rows, info: Csv2Info | None
    ) -> None:
        self._rows = rows
        notes: list[str] = []
        if info is not None and info.match_id not in (None, match_id):
            notes.append(f"the _info.csv beside it is of match {info.match_id}: not used")
            info = None
        elif info is None:
            notes.append("there is no _info.csv beside it: result, toss and ids are not known")
        self._info = info
        self._people = People({} if info is None else info.registry)
        self.draft = MatchDraft(
            match_id=match_id,
            source=rows.display,
            dates=self._dates(row),
            season=row.get("season", "").strip() or None,
            venue=row.get("venue", "").strip() or None,
            notes=notes,
            method_known=info is not None,
            penalties_known=False,
        )
        if info is not None:
            info.fill(self.draft)
        if "wides" in row and "fielder_1" not in row:
            notes.append("fielders are not in this version of the format")
        self._teams: dict[str, None] = {}

    def _dates(self, row: dict[str, str]) -> tuple[datetime.date, ...]:
        text = row.get("start_date", "").strip()
        if not text:
            return ()
        try:
            return (datetime.date.fromisoformat(text.replace("/", "-")),)
        except ValueError:
            raise self._rows.wrong(f"start_date is {shown(text)}, not YYYY-MM-DD") from None

    def add(self, row: dict[str, str]) -> None:
        """Append the delivery of one row."""
        innings = self._innings(row)
        if len(innings.deliveries) == MOST_DELIVERIES:
            raise self._rows.wrong(
                f"innings {innings.number} is longer than {MOST_DELIVERIES} balls"
            )
        label = row["ball"].strip()
        over = self._over(label, "ball")
        actual = row.get("actual_delivery", "").strip() or None
        if actual is not None:
            self._over(actual, "actual_delivery")
        extras = {kind: runs for kind in EXTRA_KINDS if (runs := self._runs(row, kind))}
        total_extras = self._runs(row, "extras")
        if sum(extras.values()) != total_extras:
            raise self._rows.wrong(
                f"extras is {total_extras}, but wides, noballs, byes, legbyes and penalty "
                f"add up to {sum(extras.values())}"
            )
        innings.add(
            over,
            self._people[self._text(row, "striker")],
            self._people[self._text(row, "non_striker")],
            self._people[self._text(row, "bowler")],
            self._runs(row, "runs_off_bat"),
            total_extras,
            extras,
            self._wickets(row),
            label,
            actual,
            row.get("non_boundary", "").strip().lower() == "true",
        )

    def _innings(self, row: dict[str, str]) -> InningsDraft:
        text = row["innings"].strip()
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
        if not 1 <= number <= MOST_INNINGS:
            raise self._rows.wrong(
                f"innings is {shown(text)}, not a number from 1 to {MOST_INNINGS}"
            )
        current = self.draft.innings[-1] if self.draft.innings else None
        batting = self._text(row, "batting_team")
        bowling = self._text(row, "bowling_team")
        if current is not None and current.number == number:
            if current.batting_team != batting or current.bowling_team != bowling:
                raise self._rows.wrong(
                    f"{batting} bats against {bowling} inside the innings of {current.batting_team}"
                )
            return current
        if current is not None and number < current.number:
            raise self._rows.wrong(f"innings {number} comes after innings {current.number}")
        self._teams.update({batting: None, bowling: None})
        innings = InningsDraft(number=number, batting_team=batting, bowling_team=bowling)
        self.draft.innings.append(innings)
        return innings

    def _text(self, row: dict[str, str], column: str) -> str:
        text = row[column]
        if not text.strip():
            raise self._rows.wrong(f"{column} is blank")
        return text

    def _runs(self, row: dict[str, str], column: str) -> int:
        text = row[column]
        # In this format a blank is a zero.
        if text in ("", "0"):
            return 0
        digits = text.strip()
        if not digits:
            return 0
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 4:
            raise self._rows.wrong(f"{column} is {shown(text)}, not a number of runs")
        runs = int(digits)
        if runs > MOST_RUNS:
            raise self._rows.wrong(f"{column} is {runs}, more than a ball can bring")
        return runs

    def _over(self, label: str, column: str) -> int:
        over, dot, ball = label.partition(".")
        if dot and (over + ball).isascii() and over.isdigit() and ball.isdigit():
            number = int(over[:5])
            if number <= LAST_OVER and len(ball) <= 2:
                return number
        raise self._rows.wrong(f"{column} is {shown(label)}, not over and ball such as 7.4")

    def _wickets(self, row: dict[str, str]) -> tuple[Wicket, ...]:
        fallen: tuple[Wicket, ...] = ()
        for kind_column, player_column in (
            ("wicket_type", "player_dismissed"),
            ("other_wicket_type", "other_player_dismissed"),
        ):
            kind = row.get(kind_column, "").strip()
            player = row.get(player_column, "")
            if not kind:
                if player.strip():
                    raise self._rows.wrong(f"{player_column} is set, and {kind_column} is blank")
                continue
            if not player.strip():
                raise self._rows.wrong(f"{kind_column} is {shown(kind)}, and no one is out")
            fielders = (
                tuple(name for column in _FIELDERS if (name := row.get(column, "")))
                if kind_column == "wicket_type"
                else ()
            )
            fallen += (Wicket(kind, self._people[player], fielders),)
        return fallen

    def finished(self) -> Match:
        """The match of the rows added."""
        draft = self.draft
        if not draft.teams:
            draft.teams = tuple(self._teams)
        if self._info is not None:
            self._info.mark(draft.innings, draft.balls_per_over or 6)
        if self._people.unregistered:
            names = ", ".join(self._people.unregistered[:5])
            draft.notes.append(f"no registry id for {names}: known by name")
        return draft.finished()
