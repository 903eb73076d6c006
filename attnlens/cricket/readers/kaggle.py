"""The Kaggle tables of IPL deliveries: what their three layouts have in common.

`attnlens.cricket.readers.kaggle_layouts` has what each calls its columns, and its traps.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Facts, Match, Player, Wicket
from attnlens.cricket.readers.assembly import MatchDraft
from attnlens.cricket.readers.deliveries import MOST_DELIVERIES, MOST_INNINGS, InningsDraft, People
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.kaggle_results import NOTHING, Result, results_beside
from attnlens.cricket.readers.tables import (
    Part,
    Refused,
    Table,
    header_of,
    matches_in,
    parts_in,
)
from attnlens.cricket.readers.text import date_from, innings_number, shown

MOST_IN_AN_OVER: Final = 40
"""Balls."""

_BALLS_PER_OVER = 6
_OVERS = 20
_MAIN_INNINGS = 2

Row = dict[str, str]
"""A row's fields by column, without blanks around them."""


class KaggleRows(ABC):
    """The rows of one match, kept until the last is there, since some traps show only then.

    Attributes:
        telling: the columns by which a table is known to have this layout.
        result_columns: those of the table of results that belongs to it.
        innings_column, striker: what the layout calls these two.
        labels_count_legal: whether a wide shares its label with the next ball.
    """

    columns: ClassVar[tuple[str, ...]]
    telling: ClassVar[frozenset[str]]
    result_columns: ClassVar[frozenset[str]]
    id_column: ClassVar[str] = "match_id"
    innings_column: ClassVar[str] = "inning"
    striker: ClassVar[str]
    labels_count_legal: ClassVar[bool] = False

    def __init__(self, table: Table, match_id: str, result: Result | None) -> None:
        self._table = table
        self._pick = table.picker(self.columns)
        self._rows: list[tuple[int, Row]] = []
        self._line = 0
        self._innings_as_written = 0
        self.match_id = match_id
        self.result = result
        self.people = People({})
        self.draft = MatchDraft(
            match_id=match_id,
            source=table.display,
            match_type="T20",
            gender="male",
            overs=_OVERS,
            balls_per_over=_BALLS_PER_OVER,
            event=Facts(name="Indian Premier League"),
            penalties_known=False,
            method_known=result is not None,
        )
        self.note(
            "the columns are those of the IPL tables on Kaggle: a men's match of 20 overs; "
            "players are known by name"
        )

    def add(self, row: list[str]) -> None:
        """Keep a row."""
        if len(self._rows) == MOST_DELIVERIES:
            raise self._table.wrong(f"match {self.match_id} has more than {MOST_DELIVERIES} balls")
        fields = zip(self.columns, self._pick(row), strict=True)
        self._rows.append((self._table.line, {key: value.strip() for key, value in fields}))

    def wrong(self, problem: str) -> MatchFileError:
        """An error about the row being turned into a delivery."""
        return MatchFileError(problem, path=self._table.display, line=self._line or None)

    def note(self, text: str) -> None:
        """Tell of something that was odd or repaired."""
        self.draft.notes.append(text)

    def rows(self) -> Iterator[Row]:
        """The rows, each named in errors while it is looked at."""
        for line, row in self._rows:
            self._line = line
            yield row

    def finished(self) -> Match:
        """The match of the rows kept."""
        self.look_through()
        for row in self.rows():
            self._build(row)
        self._line = 0
        self._take_result()
        self.compare()
        return self.draft.finished()

    def look_through(self) -> None:
        """Look at all rows before any becomes a delivery."""
        return

    def compare(self) -> None:
        """Compare the innings with what else is known."""
        return

    @abstractmethod
    def place(self, row: Row, innings: int) -> tuple[int, str]:
        """The over from 0, and the ball's label."""

    @abstractmethod
    def runs(self, row: Row) -> tuple[int, dict[str, int]]:
        """Runs off the bat, and extras by kind."""

    def partner(self, row: Row) -> Player:
        """Who stands at the other end."""
        return self.person(row, "non_striker")

    def fallen(self, row: Row) -> tuple[Wicket, ...]:
        """The wicket that fell, if one did."""
        return self.wicket(row["dismissal_kind"], row["player_dismissed"], row["fielder"])

    def _build(self, row: Row) -> None:
        """Make a delivery of a row."""
        innings = self._innings(row)
        over, label = self.place(row, innings.number)
        bat, extras = self.runs(row)
        innings.add(
            over,
            self.person(row, self.striker),
            self.partner(row),
            self.person(row, "bowler"),
            bat,
            sum(extras.values()),
            extras,
            self.fallen(row),
            label,
        )

    def _innings(self, row: Row) -> InningsDraft:
        """The innings that a row belongs to, begun where it is new.

        Super overs are numbered on from the innings before, whatever the file says.
        """
        number = innings_number(
            row[self.innings_column], MOST_INNINGS, self.wrong, self.innings_column
        )
        batting, bowling = row["batting_team"], row["bowling_team"]
        if not batting or not bowling:
            raise self.wrong("a team is blank")
        before = self.draft.innings[-1] if self.draft.innings else None
        if before is not None and number == self._innings_as_written:
            before.check_teams(batting, bowling, self.wrong)
            return before
        if number < self._innings_as_written:
            raise self.wrong(f"innings {number} comes after innings {self._innings_as_written}")
        self._innings_as_written = number
        own = number
        if before is not None and number > _MAIN_INNINGS:
            own = max(before.number, _MAIN_INNINGS) + 1
            if own != number:
                self.note(f"innings {own} is numbered {number} in the file")
        innings = InningsDraft(
            number=own,
            batting_team=batting,
            bowling_team=bowling,
            super_over=own > _MAIN_INNINGS,
            labels_count_legal=self.labels_count_legal,
        )
        self.draft.innings.append(innings)
        return innings

    def person(self, row: Row, column: str) -> Player:
        """The player whom a column names."""
        if not row[column]:
            raise self.wrong(f"{column} is blank")
        return self.people[row[column]]

    def wicket(self, kind: str, out: str, fielder: str) -> tuple[Wicket, ...]:
        """The wicket that these fields tell of, if they do."""
        if kind in NOTHING:
            if out not in NOTHING:
                raise self.wrong(f"{shown(out)} is out, and the kind of wicket is blank")
            return ()
        if out in NOTHING:
            raise self.wrong(f"a wicket is {shown(kind)}, and no one is out")
        fielders = tuple(
            name for part in fielder.split(",") if (name := part.strip()) not in NOTHING
        )
        return (Wicket(kind, self.people[out], fielders),)

    def _take_result(self) -> None:
        """Put what the table of results says into the draft, where it is of this match."""
        draft, result = self.draft, self.result
        teams = tuple(
            dict.fromkeys(
                team
                for innings in draft.innings
                for team in (innings.batting_team, innings.bowling_team)
            )
        )
        if result is not None and not result.is_of(teams):
            self.note(
                f"{' v '.join(result.teams)} is the match {self.match_id} in the table of "
                "results beside it: not used"
            )
            self.result = result = None
            draft.method_known = False
        if result is None:
            self.note("there is no result beside it: result and toss are not known")
            draft.teams = teams
            return
        result = result.spelt_as(teams)
        draft.teams = result.teams
        draft.dates = () if result.date is None else (result.date,)
        draft.season = result.season or draft.season
        draft.city = result.city
        draft.venue = result.venue or draft.venue
        draft.event, draft.toss, draft.outcome = result.event, result.toss, result.outcome
        for innings in draft.innings:
            if innings.number == _MAIN_INNINGS:
                innings.target = result.target
                innings.target_balls = result.target_balls


@dataclass(frozen=True)
class Layout:
    """A layout as a format: `recognises`, `matches` and `parts`, as every format has them."""

    rows: type[KaggleRows]

    def recognises(self, file: MatchFile) -> bool:
        """Whether the header has the columns that only this layout has."""
        return self.rows.telling <= set(header_of(file))

    def matches(
        self, file: MatchFile, part: Part | None = None, refused: Refused | None = None
    ) -> Generator[Match, None, None]:
        """The matches of the table, with the table of results beside it.

        Raises:
            MatchFileError: with the line that is wrong.
        """
        results = results_beside(file, self.rows.result_columns)
        table = Table(file, self.rows.columns, part)

        def begin(match_id: str, _: Sequence[str]) -> KaggleRows:
            return self.rows(table, match_id, results.get(match_id))

        yield from matches_in(table, self.rows.id_column, begin, file.wanted, part, refused)

    def parts(self, file: MatchFile) -> Iterator[Part]:
        """The matches of the table, with the dates in it or in the table of results."""
        in_the_rows = "date" in self.rows.columns
        results = {} if in_the_rows else results_beside(file, self.rows.result_columns)

        def date_of(table: Table, row: list[str], match_id: str) -> datetime.date | None:
            if in_the_rows:
                return date_from(row[table.position("date")])
            return results[match_id].date if match_id in results else None

        return parts_in(file, self.rows.id_column, date_of)
