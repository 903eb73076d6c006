"""Cricsheet CSV2 ("Ashwin"), 22 and 27 columns, and what spreadsheets made of it.

Every word of that format stands here. Source:
https://www.cricsheet.org/format/csv_ashwin/ (2.3.0). What is not in the rows comes
from the ``_info.csv`` beside the file, where there is one.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Match, Wicket
from attnlens.cricket.readers.assembly import MatchDraft
from attnlens.cricket.readers.csv2_info import Csv2Info, read_info
from attnlens.cricket.readers.deliveries import MOST_DELIVERIES, MOST_INNINGS, InningsDraft, People
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.tables import Part, Refused, Table, header_of, matches_in, parts_in
from attnlens.cricket.readers.text import (
    EXTRA_KINDS,
    WrongHere,
    date_from,
    day_comes_first,
    innings_number,
    is_rewritten,
    over_of,
    runs_in,
    shown,
)

_REQUIRED = (
    "innings", "ball", "batting_team", "bowling_team", "striker", "non_striker", "bowler",
    "runs_off_bat", "extras", *EXTRA_KINDS,
)  # fmt: skip
_FIELDERS = ("fielder_1", "fielder_2", "fielder_3")
_OF_A_BALL = (
    *_REQUIRED, "actual_delivery", "non_boundary", "wicket_type", "player_dismissed",
    "other_wicket_type", "other_player_dismissed", *_FIELDERS,
)  # fmt: skip
_TELLING = frozenset({"innings", "ball", "runs_off_bat"})
_BLANK = ("", "0")


def recognises(file: MatchFile) -> bool:
    """Whether the first line is a CSV2 header."""
    return set(header_of(file)) >= _TELLING


def matches(
    file: MatchFile, part: Part | None = None, refused: Refused | None = None
) -> Generator[Match, None, None]:
    """The matches of a CSV2 table, as long as the rows of each stand together.

    Raises:
        MatchFileError: with the line that is wrong.
    """
    reader = _Reader(file, part)
    yield from matches_in(reader.table, "match_id", reader.begin, file.wanted, part, refused)


def parts(file: MatchFile) -> Iterator[Part]:
    """Where each match of a CSV2 table begins, and the date in its first row."""
    day_first = _day_first(file)

    def date_of(table: Table, row: list[str], _: str) -> datetime.date | None:
        return date_from(row[table.position("start_date")], day_first=day_first is not False)

    return parts_in(file, "match_id", date_of)


def _day_first(file: MatchFile) -> bool | None:
    """Whether dates have the day first; every row is asked where the first cannot tell."""
    with closing(Table(file, _REQUIRED)) as table:
        position = table.position("start_date")
        dates = (row[position] for row in table.rows() if isinstance(row, list))
        first = next(dates, "")
        if not is_rewritten(first):
            return True
        return day_comes_first((first, *dict.fromkeys(dates)))


class _Reader:
    """A table, what is beside it, and where its columns are."""

    def __init__(self, file: MatchFile, part: Part | None) -> None:
        self._file = file
        beside = file.sibling(f"{file.stem}_info.csv")
        self._info = None if beside is None else read_info(*beside)
        self.table = table = Table(file, _REQUIRED, part)
        self._of_a_ball = table.picker(_OF_A_BALL)
        self._of_a_match = table.picker(("start_date", "season", "venue"))
        self._asked: tuple[bool | None] | None = None

    def begin(self, match_id: str, row: list[str]) -> BallRows:
        """A builder for the match that begins in this row."""
        notes: list[str] = []
        info = self._info_of(match_id, notes)
        start_date, season, venue = self._of_a_match(row)
        draft = MatchDraft(
            match_id=match_id,
            source=self.table.display,
            dates=self._dates(start_date.strip(), notes),
            season=season.strip() or None,
            venue=venue.strip() or None,
            notes=notes,
            method_known=info is not None,
            penalties_known=False,
        )
        if _FIELDERS[0] not in self.table.header:
            notes.append("fielders are not in this version of the format")
        return BallRows(draft, info, self._of_a_ball, self.table.wrong)

    def _info_of(self, match_id: str, notes: list[str]) -> Csv2Info | None:
        """What is known of a match beside its rows, from the table's own file or the match's."""
        info = self._info
        if info is not None and info.match_id not in (None, match_id):
            notes.append(f"the _info.csv beside it is of match {info.match_id}: not used")
            return None
        if info is not None:
            return info
        # The id comes from the file, and must not lead to another folder.
        plain = not {"/", "\\"} & set(match_id)
        beside = self._file.sibling(f"{match_id}_info.csv") if plain else None
        if beside is not None:
            return read_info(*beside)
        notes.append("there is no _info.csv beside it: result, toss and ids are not known")
        return None

    def _dates(self, text: str, notes: list[str]) -> tuple[datetime.date, ...]:
        if not text:
            return ()
        day_first = True
        if is_rewritten(text):
            if self._asked is None:
                self._asked = (_day_first(self._file),)
            (told,) = self._asked
            day_first = told is not False
            order = "day first" if day_first else "month first"
            why = "a guess" if told is None else "as other dates in the file show"
            notes.append(
                f"start_date is {shown(text)}, as a spreadsheet writes it: read {order}, {why}"
            )
        date = date_from(text, day_first=day_first)
        if date is None:
            raise self.table.wrong(f"start_date is {shown(text)}, not YYYY-MM-DD")
        return (date,)


class BallRows:
    """Rows of one match on their way to a match, of CSV2 and of the original CSV.

    Args:
        draft: what is known without the rows; ``info`` is put into it.
        pick: from a row to its fields in the order of `_OF_A_BALL`.
        wrong: makes the error that names the row's line.
    """

    def __init__(
        self,
        draft: MatchDraft,
        info: Csv2Info | None,
        pick: Callable[[list[str]], Sequence[str]],
        wrong: WrongHere,
    ) -> None:
        self.draft = draft
        self._info = info
        self._pick = pick
        self._wrong = wrong
        self._teams: dict[str, None] = {}
        self._innings: InningsDraft | None = None
        self._innings_as_written: tuple[str, str, str] | None = None
        if info is not None:
            info.fill(draft)
            draft.people = People(info.registry)

    def add(self, row: list[str]) -> None:
        """Append the delivery of one row."""
        (
            number, label, batting, bowling, striker, non_striker, bowler, bat, extra,
            wides, noballs, byes, legbyes, penalty,
            actual, non_boundary, kind, out, other_kind, other_out, *fielders,
        ) = self._pick(row)  # fmt: skip
        innings = self._innings
        if innings is None or (number, batting, bowling) != self._innings_as_written:
            innings = self._start_innings(number, batting, bowling)
        if len(innings.deliveries) == MOST_DELIVERIES:
            raise self._wrong(f"innings {innings.number} is longer than {MOST_DELIVERIES} balls")
        label = label.strip()
        over = over_of(label, "ball", self._wrong)
        if actual:
            over_of(actual, "actual_delivery", self._wrong)
        extras: dict[str, int] = {}
        total = 0
        if extra not in _BLANK or wides or noballs or byes or legbyes or penalty:
            total = runs_in(extra, "extras", self._wrong)
            extras = self._extras((wides, noballs, byes, legbyes, penalty), total)
        people = self.draft.people
        try:
            players = people[striker], people[non_striker], people[bowler]
        except TypeError:
            raise self._blank(striker=striker, non_striker=non_striker, bowler=bowler) from None
        wickets: tuple[Wicket, ...] = ()
        if kind or out or other_kind or other_out:
            wickets = (
                *self._wicket("", kind, out, [name for name in fielders if name]),
                *self._wicket("other_", other_kind, other_out, ()),
            )
        innings.add(
            over,
            *players,
            0 if bat == "0" else runs_in(bat, "runs_off_bat", self._wrong),
            total,
            extras,
            wickets,
            label,
            actual.strip() or None,
            bool(non_boundary) and non_boundary.strip().lower() == "true",
        )

    def _extras(self, by_kind: Sequence[str], total: int) -> dict[str, int]:
        extras = {
            name: runs
            for name, text in zip(EXTRA_KINDS, by_kind, strict=True)
            if (runs := runs_in(text, name, self._wrong))
        }
        if sum(extras.values()) != total:
            raise self._wrong(
                f"extras is {total}, but wides, noballs, byes, legbyes and penalty "
                f"add up to {sum(extras.values())}"
            )
        return extras

    def _start_innings(self, text: str, batting: str, bowling: str) -> InningsDraft:
        number = innings_number(text.strip(), MOST_INNINGS, self._wrong)
        for team, column in ((batting, "batting_team"), (bowling, "bowling_team")):
            if not team.strip():
                raise self._wrong(f"{column} is blank")
        current = self._innings
        if current is not None and current.number == number:
            current.check_teams(batting, bowling, self._wrong)
            return current
        if current is not None and number < current.number:
            raise self._wrong(f"innings {number} comes after innings {current.number}")
        self._teams.update({batting: None, bowling: None})
        innings = InningsDraft(number=number, batting_team=batting, bowling_team=bowling)
        self.draft.innings.append(innings)
        self._innings = innings
        self._innings_as_written = (text, batting, bowling)
        return innings

    def _blank(self, **names: str) -> MatchFileError:
        column = next(column for column, name in names.items() if not name.strip())
        return self._wrong(f"{column} is blank")

    def _wicket(
        self, prefix: str, kind: str, out: str, fielders: Sequence[str]
    ) -> tuple[Wicket, ...]:
        """The wicket of the columns that begin so, if one fell."""
        kind = kind.strip()
        if not kind and out.strip():
            raise self._wrong(f"{prefix}player_dismissed is set, and {prefix}wicket_type is blank")
        if not kind:
            return ()
        if not out.strip():
            raise self._wrong(f"{prefix}wicket_type is {shown(kind)}, and no one is out")
        return (Wicket(kind, self.draft.people[out], tuple(fielders)),)

    def finished(self) -> Match:
        """The match of the rows added."""
        draft = self.draft
        if not draft.teams:
            draft.teams = tuple(self._teams)
        if self._info is not None:
            self._info.mark(draft.innings, draft.balls_per_over or 6)
        return draft.finished()
