"""What the Kaggle tables of IPL deliveries have in common: a match from its rows."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator

from attnlens.cricket.match import Facts, Match, Player, Wicket
from attnlens.cricket.readers.assembly import MatchDraft
from attnlens.cricket.readers.deliveries import MOST_DELIVERIES, MOST_INNINGS, InningsDraft, People
from attnlens.cricket.readers.fields import innings_number, runs_in
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.kaggle_matches import NOTHING, Result, results_beside
from attnlens.cricket.readers.tables import MatchBuilder, Part, Refused, Table, matches_in, parts_in
from attnlens.cricket.readers.text import shown
from attnlens.errors import MatchFileError

_BALLS_PER_OVER = 6
_OVERS = 20
_MAIN_INNINGS = 2

MOST_IN_AN_OVER = 40
"""Balls."""


class KaggleRows(ABC):
    """The rows of one match, kept until the last is there, since some traps show only then.

    A layout says what its columns are called and how a row becomes a delivery.
    """

    columns: tuple[str, ...]
    labels_count_legal = False

    def __init__(self, table: Table, match_id: str, result: Result | None) -> None:
        self._table = table
        self._pick = table.picker(self.columns)
        self._rows: list[tuple[int, dict[str, str]]] = []
        self._line = 0
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
        self.draft.notes.append(
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

    def rows(self) -> Iterator[dict[str, str]]:
        """The rows, each named in errors while it is looked at."""
        for line, row in self._rows:
            self._line = line
            yield row

    def finished(self) -> Match:
        """The match of the rows kept."""
        self.before_building()
        for row in self.rows():
            self.build(row)
        self._line = 0
        self._take_result()
        self.after_building()
        return self.draft.finished()

    @abstractmethod
    def before_building(self) -> None:
        """Look at all rows before any becomes a delivery."""

    @abstractmethod
    def build(self, row: dict[str, str]) -> None:
        """Make a delivery of a row."""

    @abstractmethod
    def after_building(self) -> None:
        """Compare the innings with what else is known."""

    def innings(self, text: str, batting: str, bowling: str, column: str) -> InningsDraft:
        """The innings that a row belongs to, begun where it is new.

        Super overs are numbered on from the innings before, whatever the file says.
        """
        number = innings_number(text, MOST_INNINGS, self.wrong, column)
        if not batting or not bowling:
            raise self.wrong("a team is blank")
        every = self.draft.innings
        written = getattr(self, "_written", 0)
        if every and number == written:
            if (every[-1].batting_team, every[-1].bowling_team) != (batting, bowling):
                raise self.wrong(
                    f"{batting} bats against {bowling} inside the innings of "
                    f"{every[-1].batting_team}"
                )
            return every[-1]
        if number < written:
            raise self.wrong(f"innings {number} comes after innings {written}")
        self._written = number
        own = number
        if number > _MAIN_INNINGS and every:
            own = max(every[-1].number, _MAIN_INNINGS) + 1
            if own != number:
                self.draft.notes.append(f"innings {own} is numbered {number} in the file")
        innings = InningsDraft(
            number=own,
            batting_team=batting,
            bowling_team=bowling,
            super_over=own > _MAIN_INNINGS,
            labels_count_legal=self.labels_count_legal,
        )
        every.append(innings)
        return innings

    def person(self, row: dict[str, str], column: str) -> Player:
        """The player whom a column names."""
        if not row[column]:
            raise self.wrong(f"{column} is blank")
        return self.people[row[column]]

    def runs(self, row: dict[str, str]) -> tuple[int, int]:
        """Runs in the batter's column and extras, which must add up to the total."""
        bat, extra, total = (
            runs_in(row[column], column, self.wrong)
            for column in ("batsman_runs", "extra_runs", "total_runs")
        )
        if bat + extra != total:
            raise self.wrong(f"{bat} and {extra} runs do not add up to total_runs, {total}")
        return bat, extra

    def wicket(self, kind: str, out: str, fielder: str) -> tuple[Wicket, ...]:
        """The wicket that fell, if one did."""
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
        draft, result = self.draft, self.result
        teams = tuple(
            dict.fromkeys(
                team
                for innings in draft.innings
                for team in (innings.batting_team, innings.bowling_team)
            )
        )
        if result is not None and not result.is_of(teams):
            draft.notes.append(
                f"{' v '.join(result.teams)} is the match {self.match_id} in the table of "
                "results beside it: not used"
            )
            self.result = result = None
            draft.method_known = False
        if result is None:
            draft.notes.append("there is no result beside it: result and toss are not known")
            draft.teams = teams
            return
        # The deliveries' spelling of a team stands where the two differ.
        spelling = {team.lower().removesuffix("s"): team for team in teams}

        def spelt(team: str) -> str:
            return spelling.get(team.lower().removesuffix("s"), team)

        draft.teams = tuple(spelt(team) for team in result.teams)
        draft.dates = () if result.date is None else (result.date,)
        draft.season = result.season or draft.season
        draft.city = result.city
        draft.venue = result.venue or draft.venue
        draft.event = result.event
        draft.toss = Facts(
            {key: spelt(value) if key == "winner" else value for key, value in result.toss.items()}
        )
        draft.outcome = Facts(
            {
                key: spelt(value) if key in ("winner", "eliminator") else value
                for key, value in result.outcome.items()
            }
        )
        for innings in draft.innings:
            if innings.number == _MAIN_INNINGS:
                innings.target = result.target
                innings.target_balls = result.target_balls


Builder = Callable[[Table, str, Result | None], MatchBuilder]


def kaggle_matches_of(
    file: MatchFile,
    builder: Builder,
    id_column: str,
    required: Iterable[str],
    results_columns: frozenset[str],
    part: Part | None,
    refused: Refused | None,
) -> Generator[Match, None, None]:
    """The matches of a Kaggle table, with the table of results beside it.

    Raises:
        MatchFileError: with the line that is wrong.
    """
    results = results_beside(file, results_columns)
    table = Table(file, required, part)
    yield from matches_in(
        table,
        id_column,
        lambda match_id, _: builder(table, match_id, results.get(match_id)),
        wanted=part.match_id if part is not None else file.wanted,
        at_offset=part is not None and part.offset is not None,
        refused=refused,
    )


def kaggle_parts_of(
    file: MatchFile, id_column: str, results_columns: frozenset[str]
) -> Iterator[Part]:
    """The matches of a Kaggle table with the dates from the table of results beside it."""
    results = results_beside(file, results_columns)

    def date_of(_table: Table, _row: list[str], match_id: str) -> datetime.date | None:
        return results[match_id].date if match_id in results else None

    return parts_in(file, id_column, date_of)
