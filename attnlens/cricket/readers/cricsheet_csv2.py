"""Cricsheet CSV2 ("Ashwin"), 22 and 27 columns, and what spreadsheets made of it.

Source: https://www.cricsheet.org/format/csv_ashwin/ (2.3.0). What is not in the rows
comes from the ``_info.csv`` beside the file, where there is one.
"""

from __future__ import annotations

import datetime
from contextlib import closing
from functools import cached_property

from attnlens.cricket.readers.assembly import MatchDraft
from attnlens.cricket.readers.ball_rows import OF_A_BALL, REQUIRED, BallRows
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.info import InfoRows, facts_of, read_info
from attnlens.cricket.readers.json_values import Node
from attnlens.cricket.readers.tables import Table, TableFormat
from attnlens.cricket.readers.text import date_from, day_comes_first, is_rewritten, shown


class Csv2Reader:
    """A table of CSV2, and what is beside it."""

    def __init__(self, file: MatchFile) -> None:
        self._file = file
        beside = file.sibling(f"{file.stem}_info.csv")
        self._info = None if beside is None else read_info(*beside)

    def begin(self, table: Table, match_id: str, row: list[str]) -> BallRows:
        """A builder for the match that begins in this row."""
        notes: list[str] = []
        info = self._info_of(match_id, notes)
        date, season, venue = table.picker(("start_date", "season", "venue"))(row)
        draft = MatchDraft(
            match_id,
            table.display,
            notes=notes,
            method_known=info is not None,
            penalties_known=False,
            **facts_of(Node({} if info is None else info.info)),
        )
        draft.dates = draft.dates or self._dates(table, date.strip(), notes)
        draft.season = draft.season or season.strip() or None
        draft.venue = draft.venue or venue.strip() or None
        if "fielder_1" not in table.header:
            notes.append("fielders are not in this version of the format")
        return BallRows(draft, table.picker(OF_A_BALL), table.wrong, info)

    def date_of(self, table: Table, match_id: str, row: list[str]) -> datetime.date | None:  # noqa: ARG002  # for other formats
        """The date in the match's first row."""
        return date_from(row[table.position("start_date")], day_first=self._day_first is not False)

    @cached_property
    def _day_first(self) -> bool | None:
        """Whether dates have the day first; every row is asked where the first cannot tell."""
        with closing(Table(self._file, REQUIRED)) as table:
            position = table.position("start_date")
            dates = (row[position] for row in table.rows() if isinstance(row, list))
            first = next(dates, "")
            if not is_rewritten(first):
                return True
            return day_comes_first((first, *dict.fromkeys(dates)))

    def _info_of(self, match_id: str, notes: list[str]) -> InfoRows | None:
        """What is known of a match beside its rows, from the table's own file or the match's."""
        info = self._info
        if info is not None:
            if info.match_id in (None, match_id):
                return info
            notes.append(f"the _info.csv beside it is of match {info.match_id}: not used")
            return None
        # The id comes from the file, and must not lead to another folder.
        plain = not {"/", "\\"} & set(match_id)
        beside = self._file.sibling(f"{match_id}_info.csv") if plain else None
        if beside is not None:
            return read_info(*beside)
        notes.append("there is no _info.csv beside it: result, toss and ids are not known")
        return None

    def _dates(self, table: Table, text: str, notes: list[str]) -> tuple[datetime.date, ...]:
        """The date of a match, a note where a spreadsheet wrote it."""
        if not text:
            return ()
        day_first = True
        if is_rewritten(text):
            day_first = self._day_first is not False
            order = "day first" if day_first else "month first"
            why = "a guess" if self._day_first is None else "as other dates in the file show"
            notes.append(
                f"start_date is {shown(text)}, as a spreadsheet writes it: read {order}, {why}"
            )
        date = date_from(text, day_first=day_first)
        if date is None:
            raise table.wrong(f"start_date is {shown(text)}, not YYYY-MM-DD")
        return (date,)


FORMAT = TableFormat(
    frozenset({"innings", "ball", "runs_off_bat"}), REQUIRED, "match_id", Csv2Reader
)
