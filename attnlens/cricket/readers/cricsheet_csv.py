"""Read tables of deliveries, and Cricsheet's two CSV formats: CSV2 and the original CSV 1.x.

CSV2 ("Ashwin") has 22 or 27 columns: https://www.cricsheet.org/format/csv_ashwin/ (2.3.0). A
companion ``_info.csv`` in the same folder may contain further facts about the match.

Every row of the original CSV begins with ``version``, ``info`` or ``ball``:
https://cricsheet.org/format/csv_original/ (1.8.0). A ball row has 16 fields, or 21 fields since
version 1.8.0. A ball row can contain only one wicket.
"""

from __future__ import annotations

import csv
import datetime
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby
from operator import itemgetter
from typing import BinaryIO, Protocol

from attnlens.cricket.errors import ImpossibleMatchError, MatchFileError
from attnlens.cricket.match.match import Match, Wicket
from attnlens.cricket.match.scan import Stated
from attnlens.cricket.readers.assembly import (
    MAX_BALLS_AN_INNINGS,
    MAX_INNINGS,
    InningsDraft,
    MatchDraft,
)
from attnlens.cricket.readers.cricsheet_json import InfoRows, facts_of, read_info
from attnlens.cricket.readers.files import DocumentFormat, MatchFile, Refused
from attnlens.cricket.readers.text import (
    EXTRA_KINDS,
    JsonObject,
    WrongHere,
    date_from,
    day_comes_first,
    decode_text,
    is_rewritten,
    number_in,
    over_of,
    quoted,
    runs_in,
)

_MAX_LINE_BYTES = 2**20
_MAX_COLUMNS = 1000
_MAX_IDS_LISTED = 5
_BLANK_BYTES = b" \t\r\n\xef\xbb\xbf"

Row = list[str] | MatchFileError
"""A row, or an error that describes what is wrong with the row."""


class MatchBuilder(Protocol):
    """A builder that receives the rows of one match."""

    def add(self, row: list[str]) -> None: ...

    def build(self) -> Match: ...


BeginMatch = Callable[["Table", str, list[str]], MatchBuilder]
"""Creates the builder of a match from the table, the match's id and the match's first row."""


@dataclass(frozen=True)
class TableFormat:
    """A format of tables with a header. All rows of a match must be adjacent.

    Attributes:
        recognized_by: a combination of columns that only this format has.
        required: the columns that every file of this format must have.
        id_column: the column that holds the match id.
        reader: returns the `BeginMatch` function for a file.
    """

    recognized_by: frozenset[str]
    required: Sequence[str]
    id_column: str
    reader: Callable[[MatchFile], BeginMatch]

    def recognises(self, file: MatchFile) -> bool:
        return self.recognized_by <= set(header_of(file))

    def matches(
        self, file: MatchFile, refused: Refused | None = None
    ) -> Generator[Match, None, None]:
        """Yield the matches of the table, or only the match with the id ``file.selected_id``.

        Args:
            refused: called with the error of an unreadable match. By default, the error is raised.
        """
        begin, selected = self.reader(file), file.selected_id
        match_ids: dict[str | None, None] = {}
        with closing(Table(file, self.required)) as table:
            for match_id, rows in groupby(table.by_match(self.id_column), key=itemgetter(0)):
                if selected is None or match_id == selected:
                    try:
                        match = _build(begin, table, rows, match_id in match_ids)
                    except MatchFileError as error:
                        if refused is None:
                            raise
                        refused(error)
                    else:
                        yield match
                    if selected is not None:
                        return
                match_ids[match_id] = None
        if not match_ids:
            raise file.wrong("has a header but no deliveries")
        if selected is not None:
            names = [name for name in match_ids if name is not None]
            more = ", ..." if len(names) > _MAX_IDS_LISTED else ""
            remedy = f"the file has {', '.join(names[:_MAX_IDS_LISTED])}{more}"
            raise file.wrong(f"has no match {quoted(selected)}", remedy)


Format = DocumentFormat | TableFormat
"""A file format: an object that recognises files of the format and reads their matches."""


def _build(
    begin: BeginMatch, table: Table, rows: Iterator[tuple[str | None, Row]], seen_before: bool
) -> Match:
    builder, lines = None, []
    for match_id, row in rows:
        if isinstance(row, MatchFileError):
            raise row
        if builder is None:
            if seen_before:
                raise table.wrong(
                    f"the rows of match {quoted(match_id)} are interrupted by rows of another match"
                )
            builder = begin(table, str(match_id), row)
        builder.add(row)
        lines.append(table.line)
    assert builder is not None, "a group has a row"
    try:
        return builder.build()
    except ImpossibleMatchError as error:
        raise error.at(lines[(error.doubt.position or 1) - 1]) from None


def header_of(file: MatchFile) -> list[str]:
    """Return the column names in a file's first line, without checking that the line is CSV."""
    line = file.head.lstrip(_BLANK_BYTES).partition(b"\n")[0]
    return [name.strip().strip('"') for name in line.decode("utf-8", "replace").split(",")]


def _lines(stream: BinaryIO) -> Iterator[str]:
    encoding = "utf-8-sig"
    # Without the limit, a file without line breaks would be read into memory as one line.
    while line := stream.readline(_MAX_LINE_BYTES):
        yield line.decode(encoding)
        encoding = "utf-8"


class Table:
    """A table with a header, read row by row.

    Raises:
        MatchFileError: the table is empty or not UTF-8, or a column is missing or occurs twice.
    """

    def __init__(self, file: MatchFile, required: Iterable[str]) -> None:
        self.display = file.display
        self.stem = file.stem
        self._file = file
        if not file.head.strip(_BLANK_BYTES):
            raise file.wrong("the file is empty")
        self._stream = file.open()
        self._reader = csv.reader(_lines(self._stream), strict=True)
        try:
            self._read_header(required)
        except BaseException:
            self.close()
            raise

    def _read_header(self, required: Iterable[str]) -> None:
        try:
            first = next((row for row in self._reader if row), [])
        except csv.Error as error:
            if "new-line character" in str(error):
                ends = "save the file with LF or CRLF line ends"
                raise self.wrong("each line ends with only a carriage return", ends) from None
            raise self.wrong(f"this line is not CSV: {error}") from None
        except UnicodeDecodeError:
            raise self._not_text() from None
        self.header = [name.strip() for name in first]
        if len(first) > _MAX_COLUMNS:
            raise self.wrong(f"the header has {len(first)} columns; the line may lack a line break")
        missing = [name for name in required if name not in self.header]
        if missing:
            raise self.wrong(f"columns are missing: {', '.join(missing)}")
        twice = {name for name in self.header if name and self.header.count(name) > 1}
        if twice:
            raise self.wrong(f"a column appears twice: {', '.join(sorted(twice))}")

    @property
    def line(self) -> int:
        """The number of the line on which the last row ends."""
        return self._reader.line_num

    def wrong(self, problem: str, remedy: str | None = None) -> MatchFileError:
        return self._file.wrong(problem, remedy, self.line)

    def _not_text(self) -> MatchFileError:
        try:
            decode_text(self._file.data, self.display)
        except MatchFileError as error:
            return error
        return self._file.wrong("not UTF-8 text", "save it as UTF-8")

    def rows(self) -> Iterator[Row]:
        """Yield each row, or the error that describes what is wrong with the row.

        Each row ends with an additional blank field. `picker` returns this field for missing
        columns.
        """
        width = len(self.header)
        while True:
            try:
                fields = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield self.wrong(f"this line is not CSV: {error}")
                continue
            except UnicodeDecodeError:
                raise self._not_text() from None
            if len(fields) == width:
                fields.append("")
                yield fields
            elif fields:
                cut = "the file may be cut short; fetch it again" if len(fields) < width else None
                yield self.wrong(f"this row has {len(fields)} fields instead of {width}", cut)

    def by_match(self, id_column: str) -> Iterator[tuple[str | None, Row]]:
        """Yield each row with the id of its match.

        A damaged row gets the id of the previous row. A blank id is replaced by the file's stem.
        """
        position = self.position(id_column)
        raw = match_id = None
        for row in self.rows():
            if not isinstance(row, MatchFileError) and row[position] != raw:
                raw = row[position]
                match_id = raw.strip() or self.stem
            yield match_id, row

    def position(self, column: str) -> int:
        """Return the index of a column in a row, or of the blank field if the column is missing."""
        return self.header.index(column) if column in self.header else len(self.header)

    def picker(self, columns: Sequence[str]) -> Callable[[list[str]], tuple[str, ...]]:
        """Return a function that picks columns from a row. A missing column has a blank value."""
        return itemgetter(*(self.position(column) for column in columns))

    def close(self) -> None:
        self._stream.close()


_REQUIRED = (
    "innings", "ball", "batting_team", "bowling_team", "striker", "non_striker", "bowler",
    "runs_off_bat", "extras", *EXTRA_KINDS,
)  # fmt: skip
_OF_A_BALL = (
    *_REQUIRED, "actual_delivery", "non_boundary", "wicket_type", "player_dismissed",
    "other_wicket_type", "other_player_dismissed", "fielder_1", "fielder_2", "fielder_3",
)  # fmt: skip
"""The fields of a ball, as named in Cricsheet's CSV2."""

_PARTICULARS = {"start_date": "dates", "season": "season", "venue": "venue"}
"""Maps each column with a fact about the match to a field of `MatchDraft`."""

_ACTUAL_DELIVERY_SINCE = {1: (1, 8), 2: (2, 3)}
"""The versions of the original CSV and of CSV2 that introduced ``actual_delivery``."""

_BLANK = ("", "0")


def _draft_of(match_id: str, display: str, info: InfoRows | None, major: int) -> MatchDraft:
    """Return a match with the facts of the info rows. ``major`` is the format's major version."""
    since = _ACTUAL_DELIVERY_SINCE[major]
    if info is None:
        stated = Stated(actual_delivery_since=since, method_known=False)
        return MatchDraft(match_id, display, stated=stated)
    version = ".".join(map(str, info.version))
    meta = {"data_version": version} if version else {}
    copies = dict(info.info), info.innings, dict(info.second)
    stated = Stated(meta, *copies, actual_delivery_since=since)
    return MatchDraft(match_id, display, stated=stated, **facts_of(JsonObject(info.info)))


@dataclass
class BallRows:
    """A builder that receives the rows of one match.

    Args:
        draft: the match without its balls.
        pick: returns the fields of a row in the order of `_OF_A_BALL`, and any further fielders.
        wrong: a function that creates an error with the line number of the current row.
        info: the info rows, which state the target of each innings.
        labels_count_legal: as in `InningsDraft`.
        particulars: returns the columns `_PARTICULARS` of a row; ``None`` if the format lacks them.
    """

    draft: MatchDraft
    pick: Callable[[list[str]], Sequence[str]]
    wrong: WrongHere
    info: InfoRows | None = None
    labels_count_legal: bool = False
    particulars: Callable[[list[str]], Sequence[str]] | None = None
    _particulars: Sequence[str] = field(default=(), init=False)
    _innings: InningsDraft | None = field(default=None, init=False)
    _innings_as_written: tuple[str, str, str] | None = field(default=None, init=False)

    def add(self, row: list[str]) -> None:
        (
            number, label, batting, bowling, striker, non_striker, bowler, bat, extra,
            wides, noballs, byes, legbyes, penalty,
            actual, non_boundary, kind, out, other_kind, other_out, *fielders,
        ) = self.pick(row)  # fmt: skip
        if self.particulars is not None and (stated := self.particulars(row)) != self._particulars:
            self._take_particulars(stated)
        innings = self._innings
        if innings is None or (number, batting, bowling) != self._innings_as_written:
            innings = self._start_innings(number, batting, bowling)
        if len(innings.deliveries) == MAX_BALLS_AN_INNINGS:
            raise self.wrong(
                f"innings {innings.number} is longer than {MAX_BALLS_AN_INNINGS} balls"
            )
        label = label.strip()
        over = over_of(label, "ball", self.wrong)
        if actual:
            over_of(actual, "actual_delivery", self.wrong)
        extras: dict[str, int] = {}
        total = 0
        if extra not in _BLANK or wides or noballs or byes or legbyes or penalty:
            total = runs_in(extra, "extras", self.wrong)
            extras = self._extras((wides, noballs, byes, legbyes, penalty), total)
        people = self.draft.people
        try:
            players = people[striker], people[non_striker], people[bowler]
        except TypeError:
            names = {"striker": striker, "non_striker": non_striker, "bowler": bowler}
            blank = next(column for column, name in names.items() if not name.strip())
            raise self.wrong(f"{blank} is blank") from None
        wickets: tuple[Wicket, ...] = ()
        if kind or out or other_kind or other_out:
            wickets = (
                *self._wicket("", kind, out, [name for name in fielders if name]),
                *self._wicket("other_", other_kind, other_out, ()),
            )
        innings.add(
            over,
            *players,
            0 if bat == "0" else runs_in(bat, "runs_off_bat", self.wrong),
            total,
            extras,
            wickets,
            label,
            actual.strip() or None,
            bool(non_boundary) and non_boundary.strip().lower() == "true",
        )

    def _take_particulars(self, particulars: Sequence[str]) -> None:
        first = self._particulars = self._particulars or particulars
        for name, before, text in zip(_PARTICULARS.values(), first, particulars, strict=True):
            if before != text:
                self.draft.stated.second[name] = ("another row of the table", text)

    def _extras(self, by_kind: Sequence[str], total: int) -> dict[str, int]:
        extras = {
            name: runs
            for name, text in zip(EXTRA_KINDS, by_kind, strict=True)
            if (runs := runs_in(text, name, self.wrong))
        }
        if sum(extras.values()) != total:
            raise self.wrong(
                f"extras is {total}, but wides, noballs, byes, legbyes and penalty "
                f"add up to {sum(extras.values())}"
            )
        return extras

    def _start_innings(self, text: str, batting: str, bowling: str) -> InningsDraft:
        number = number_in(text, "innings", 1, MAX_INNINGS, self.wrong)
        for team, column in ((batting, "batting_team"), (bowling, "bowling_team")):
            if not team.strip():
                raise self.wrong(f"{column} is blank")
        current = self._innings
        if current is not None and current.number == number:
            raise self.wrong(
                f"{batting} bats against {bowling} during the innings of {current.batting_team}"
            )
        if current is not None and number < current.number:
            raise self.wrong(f"innings {number} comes after innings {current.number}")
        innings = InningsDraft(number, batting, bowling, labels_count_legal=self.labels_count_legal)
        self.draft.innings.append(innings)
        self._innings = innings
        self._innings_as_written = (text, batting, bowling)
        return innings

    def _wicket(
        self, prefix: str, kind: str, out: str, fielders: Sequence[str]
    ) -> tuple[Wicket, ...]:
        kind = kind.strip()
        if not kind and out.strip():
            raise self.wrong(f"{prefix}player_dismissed is set, but {prefix}wicket_type is blank")
        if not kind:
            return ()
        if not out.strip():
            raise self.wrong(
                f"{prefix}wicket_type is {quoted(kind)}, but {prefix}player_dismissed is blank"
            )
        return (Wicket(kind, self.draft.people[out], tuple(fielders)),)

    def build(self) -> Match:
        draft = self.draft
        draft.teams = draft.teams or draft.sides
        if self.info is not None:
            self.info.mark(draft.innings, draft.balls_per_over or 6)
        return draft.build()


class Csv2Reader:
    def __init__(self, file: MatchFile) -> None:
        self._file = file
        info_file = file.sibling(f"{file.stem}_info.csv")
        self._info = None if info_file is None else read_info(info_file)

    def __call__(self, table: Table, match_id: str, row: list[str]) -> BallRows:
        notes: list[str] = []
        info = self._info_of(match_id, notes)
        particulars = table.picker(tuple(_PARTICULARS))
        date, season, venue = map(str.strip, particulars(row))
        draft = _draft_of(match_id, table.display, info, 2)
        draft.notes = notes
        draft.stated.has_actual_delivery = "actual_delivery" in table.header
        dates = self._dates(table, date, notes)
        if dates and draft.dates:
            same = [day.isoformat() for day in draft.dates]
            date = "" if dates[0] == draft.dates[0] else dates[0].isoformat()
            draft.stated.second["dates"] = ("the table", [date] if date else same)
        if info is None and self._info is not None:
            draft.stated.info["match_id"] = self._info.match_id
        for name, text in (("season", season), ("venue", venue)):
            if text and name in draft.stated.info:
                draft.stated.second.setdefault(name, ("the table", text))
            elif text:
                draft.stated.info[name] = text
                setattr(draft, name, text)
        if dates and not draft.dates:
            draft.dates = dates
            draft.stated.info["dates"] = [day.isoformat() for day in dates]
        if "fielder_1" not in table.header:
            notes.append("this version of the format does not contain fielders")
        pick = table.picker(_OF_A_BALL)
        return BallRows(draft, pick, table.wrong, info, particulars=particulars)

    @cached_property
    def _day_first(self) -> bool | None:
        """Whether dates begin with the day, not the month; None if every date is ambiguous."""
        with closing(Table(self._file, _REQUIRED)) as table:
            position = table.position("start_date")
            dates = (row[position] for row in table.rows() if isinstance(row, list))
            first = next(dates, "")
            if not is_rewritten(first):
                return True
            return day_comes_first((first, *dict.fromkeys(dates)))

    def _info_of(self, match_id: str, notes: list[str]) -> InfoRows | None:
        """Return the info rows of the ``_info.csv`` named after the table or the match id."""
        info = self._info
        if info is not None:
            if info.match_id in (None, match_id):
                return info
            notes.append(f"the _info.csv file belongs to match {info.match_id}, so it was not used")
            return None
        # The match id comes from the file. A path separator in the id could lead to another folder.
        plain = not {"/", "\\"} & set(match_id)
        info_file = self._file.sibling(f"{match_id}_info.csv") if plain else None
        if info_file is not None:
            return read_info(info_file)
        notes.append(
            "there is no _info.csv file for the match, so result, toss and ids are unknown"
        )
        return None

    def _dates(self, table: Table, text: str, notes: list[str]) -> tuple[datetime.date, ...]:
        if not text:
            return ()
        day_first = True
        if is_rewritten(text):
            day_first = self._day_first is not False
            order = "day first" if day_first else "month first"
            why = (
                "which is a guess" if self._day_first is None else "as other dates in the file show"
            )
            notes.append(
                f"start_date is {quoted(text)}, which is a spreadsheet's format; the date was read "
                f"{order}, {why}"
            )
        date = date_from(text, day_first=day_first)
        if date is None:
            raise table.wrong(f"start_date is {quoted(text)}, not YYYY-MM-DD")
        return (date,)


CSV2_FORMAT = TableFormat(
    frozenset({"innings", "ball", "runs_off_bat"}), _REQUIRED, "match_id", Csv2Reader
)


_FIELDS_OF_A_BALL = 16
_FIELDS_FROM_1_8 = 21
_VERSION = re.compile(rb'\s*(?:\xef\xbb\xbf)?"?version"?,')
_BALL_ROW = re.compile(rb'^"?ball"?,', re.MULTILINE)

_NumberedRow = tuple[int, list[str]]


def recognises(file: MatchFile) -> bool:
    head = file.head
    return _VERSION.match(head) is not None and (
        _BALL_ROW.search(head) is not None or _BALL_ROW.search(file.data) is not None
    )


def match_of(file: MatchFile) -> Match:
    rows: list[_NumberedRow] = []
    info = read_info(file, lambda row, line: _keep(rows, row, line, file))
    if info.version[:1] != (1,):
        written = ".".join(map(str, info.version)) or "missing"
        raise file.wrong(f"the version is {written}; attnlens reads the original CSV 1.x")
    match_id = info.match_id or file.stem
    file.check_selected(match_id)
    line = 0

    def wrong(problem: str) -> MatchFileError:
        return file.wrong(problem, line=line)

    draft = _draft_of(match_id, file.display, info, 1)
    draft.stated.has_actual_delivery = bool(rows) and len(rows[0][1]) == _FIELDS_FROM_1_8
    builder = BallRows(draft, lambda row: _as_csv2(row, draft.teams, wrong), wrong, info)
    for line, row in rows:  # noqa: B007  # `wrong` reads it
        builder.add(row)
    draft.notes.append("this format can contain only one wicket per ball")
    if rows and not draft.stated.has_actual_delivery:
        draft.notes.append("this version of the format does not contain fielders")
    if not draft.stated.registry:
        draft.notes.append("the file has no registry of people, so players are identified by name")
    try:
        return builder.build()
    except ImpossibleMatchError as error:
        raise error.at(rows[(error.doubt.position or 1) - 1][0]) from None


def _as_csv2(row: list[str], teams: tuple[str, ...], wrong: WrongHere) -> list[str]:
    batting = row[3]
    if batting not in teams:
        names = ", ".join(teams) or "none named"
        raise wrong(f"batting_team is {quoted(batting)}; the teams are: {names}")
    bowling = next((team for team in teams if team != batting), None)
    if bowling is None:
        raise wrong(f"the file names only one team: {batting}")
    *ball, kind, out = row[4:_FIELDS_OF_A_BALL]
    actual, non_boundary, *fielders = row[_FIELDS_OF_A_BALL:] or ("", "")
    one_wicket = [kind, out, "", ""]
    return [*row[1:4], bowling, *ball, actual.strip(), non_boundary, *one_wicket, *fielders]


def _keep(rows: list[_NumberedRow], row: list[str], line: int, file: MatchFile) -> None:
    wrong = partial(file.wrong, line=line)
    kind = row[0].strip()
    if kind == "penalty_runs":
        # The documentation of the format names this row but does not describe its fields.
        raise wrong(
            "a row of penalty runs has undocumented fields, and totals without penalty runs would "
            "be wrong",
            "give this match as JSON",
        )
    if kind != "ball":
        raise wrong(f"the row begins with {quoted(kind)}, not version, info or ball")
    if len(row) not in (_FIELDS_OF_A_BALL, _FIELDS_FROM_1_8):
        raise wrong(
            f"a ball row has {len(row)} fields, not {_FIELDS_OF_A_BALL} or {_FIELDS_FROM_1_8}",
            "the file may be cut short; fetch it again",
        )
    if len(rows) == MAX_BALLS_AN_INNINGS * 4:
        raise wrong("has more balls than a match can have")
    rows.append((line, row))


ORIGINAL_FORMAT = DocumentFormat(recognises, match_of)
