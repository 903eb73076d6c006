"""The Kaggle tables of IPL deliveries: what their three layouts have in common."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import chain
from typing import ClassVar

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Facts, Match
from attnlens.cricket.readers.assembly import MatchDraft
from attnlens.cricket.readers.ball_rows import BallRows
from attnlens.cricket.readers.deliveries import MOST_DELIVERIES, MOST_INNINGS
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.kaggle_results import (
    NOTHING,
    Result,
    results_beside,
)
from attnlens.cricket.readers.tables import Table
from attnlens.cricket.readers.text import (
    EXTRA_KINDS,
    date_from,
    number_in,
)

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
        innings_column, striker_column: what the layout calls these two.
        labels_count_legal: whether a wide shares its label with the next ball.
        every: the rows.
    """

    columns: ClassVar[tuple[str, ...]]
    telling: ClassVar[frozenset[str]]
    result_columns: ClassVar[frozenset[str]]
    id_column: ClassVar[str] = "match_id"
    innings_column: ClassVar[str] = "inning"
    striker_column: ClassVar[str] = "striker"
    labels_count_legal: ClassVar[bool] = False

    def __init__(self, table: Table, match_id: str, result: Result | None) -> None:
        self._table = table
        self._pick = table.picker(self.columns)
        self._lines: list[int] = []
        self._line = 0
        self._innings_as_written = self._innings = 0
        self.every: list[Row] = []
        self.result = result
        self.draft = MatchDraft(
            match_id,
            table.display,
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
        if len(self.every) == MOST_DELIVERIES:
            match_id = self.draft.match_id
            raise self._table.wrong(f"match {match_id} has more than {MOST_DELIVERIES} balls")
        fields = zip(self.columns, self._pick(row), strict=True)
        self.every.append({key: value.strip() for key, value in fields})
        self._lines.append(self._table.line)

    def wrong(self, problem: str) -> MatchFileError:
        """An error about the row being turned into a delivery."""
        return MatchFileError(problem, path=self._table.display, line=self._line or None)

    def note(self, text: str) -> None:
        """Tell of something that was odd or repaired."""
        self.draft.notes.append(text)

    def told(self) -> Iterator[Row]:
        """The rows; what is wrong while one is at hand is said with its line."""
        for line, row in zip(self._lines, self.every, strict=True):
            self._line = line
            yield row
        self._line = 0

    def finished(self) -> Match:
        """The match of the rows kept."""
        self.look_through()
        rows = BallRows(self.draft, list, self.wrong, labels_count_legal=self.labels_count_legal)
        for row in self.told():
            rows.add(self._as_csv2(row))
        for innings in self.draft.innings:
            innings.super_over = innings.number > _MAIN_INNINGS
        self._take_result()
        self.compare()
        return rows.finished()

    def look_through(self) -> None:
        """Look at all rows before any becomes a delivery."""
        return

    def compare(self) -> None:
        """Compare the innings with what else is known."""
        return

    @abstractmethod
    def label(self, row: Row, innings: int) -> str:
        """The ball's label, its over from 0."""

    @abstractmethod
    def runs(self, row: Row) -> tuple[int, dict[str, int]]:
        """Runs off the bat, and extras by kind."""

    def partner(self, row: Row) -> str:
        """Who stands at the other end."""
        return row["non_striker"]

    def kind_of_wicket(self, row: Row) -> str:
        """How somebody was out."""
        return row["dismissal_kind"]

    def _as_csv2(self, row: Row) -> list[str]:
        """A row's fields in the order that CSV2 has."""
        innings = self._numbered(row)
        label = self.label(row, innings)
        bat, extras = self.runs(row)
        kind, out, *fielders = (
            "" if text.strip() in NOTHING else text.strip()
            for text in (
                self.kind_of_wicket(row),
                row["player_dismissed"],
                *row["fielder"].split(","),
            )
        )
        return [
            *(str(innings), label, row["batting_team"], row["bowling_team"]),
            *(row[self.striker_column], self.partner(row), row["bowler"]),
            *(str(bat), str(sum(extras.values()))),
            *(str(extras.get(extra) or "") for extra in EXTRA_KINDS),
            *("", "", kind, out, "", ""),
            *fielders,
        ]

    def _numbered(self, row: Row) -> int:
        """The number of a row's innings.

        Super overs are numbered on from the innings before, whatever the file says.
        """
        column = self.innings_column
        written = number_in(row[column], column, 1, MOST_INNINGS, self.wrong)
        if written < self._innings_as_written:
            raise self.wrong(f"innings {written} comes after innings {self._innings_as_written}")
        if written > self._innings_as_written:
            number = written
            if self._innings and written > _MAIN_INNINGS:
                number = max(self._innings, _MAIN_INNINGS) + 1
            if number != written:
                self.note(f"innings {number} is numbered {written} in the file")
            self._innings, self._innings_as_written = number, written
        return self._innings

    def _take_result(self) -> None:
        """Put what the table of results says into the draft, where it is of this match."""
        draft, result = self.draft, self.result
        sides = ((innings.batting_team, innings.bowling_team) for innings in draft.innings)
        teams = tuple(dict.fromkeys(chain.from_iterable(sides)))
        if result is not None and not result.is_of(teams):
            self.note(
                f"{' v '.join(result.teams)} is the match {draft.match_id} in the table of "
                "results beside it: not used"
            )
            self.result = result = None
            draft.method_known = False
        if result is None:
            self.note("there is no result beside it: result and toss are not known")
            return
        result = result.spelt_as(teams)
        draft.teams = result.teams
        for name, fact in result.facts.items():
            setattr(draft, name, fact or getattr(draft, name))
        for innings in draft.innings:
            if innings.number == _MAIN_INNINGS:
                innings.target = result.target
                innings.target_balls = result.target_balls


class KaggleReader:
    """A table of one layout, and the table of results beside it."""

    def __init__(self, layout: type[KaggleRows], file: MatchFile) -> None:
        self._layout = layout
        self._results = results_beside(file, layout.result_columns)

    def begin(self, table: Table, match_id: str, row: list[str]) -> KaggleRows:  # noqa: ARG002  # for other formats
        """A builder for the match of that id."""
        return self._layout(table, match_id, self._results.get(match_id))

    def date_of(self, table: Table, match_id: str, row: list[str]) -> datetime.date | None:
        """The date in the match's first row, or in the table of results."""
        if "date" in self._layout.columns:
            return date_from(row[table.position("date")])
        dates = self._results[match_id].facts["dates"] if match_id in self._results else ()
        return dates[0] if dates else None
