"""Tables of deliveries: rows by column name, grouped into matches, read as a stream."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import BinaryIO, Protocol

from attnlens.cricket.errors import ImpossibleMatchError, MatchFileError
from attnlens.cricket.match.match import Match
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.text import decoded, quoted

Refused = Callable[[MatchFileError], None]
"""Receives the error of one match of a table, so that reading goes on with the next."""

_LONGEST_LINE = 2**20
_MOST_COLUMNS = 1000
_MATCHES_TOLD = 5
_BLANK = b" \t\r\n\xef\xbb\xbf"

Row = list[str] | MatchFileError
"""A row, or what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One match of a file: its id and date, and where its rows begin.

    Attributes:
        offset: the byte at which its first row begins; ``None`` where it must be looked for.
        line: the lines before that row.
    """

    match_id: str
    date: datetime.date | None = None
    offset: int | None = None
    line: int = 0


@dataclass(frozen=True)
class DocumentFormat:
    """A format whose files hold one match each.

    Attributes:
        recognises: whether a file is written so.
        match: the match of a file.
        date: its first day, without reading the match.
    """

    recognises: Callable[[MatchFile], bool]
    match: Callable[[MatchFile], Match]
    date: Callable[[MatchFile], datetime.date | None]

    def parts(self, file: MatchFile) -> Iterator[Part]:
        """The one match of the file."""
        yield Part(file.stem, self.date(file))

    def matches(
        self,
        file: MatchFile,
        part: Part | None = None,  # noqa: ARG002  # as of tables
        refused: Refused | None = None,  # noqa: ARG002  # one match: its error is the file's
    ) -> Generator[Match, None, None]:
        """The one match of the file.

        Raises:
            MatchFileError: what is wrong with it.
        """
        yield self.match(file)


class MatchBuilder(Protocol):
    """A match that grows row by row."""

    def add(self, row: list[str]) -> None:
        """Take in its next row."""

    def finished(self) -> Match:
        """The match of the rows added."""


class TableReader(Protocol):
    """What is known of the tables of a format, and beside one of them."""

    def begin(self, table: Table, match_id: str, row: list[str]) -> MatchBuilder:
        """A builder for the match that begins in this row."""

    def date_of(self, table: Table, match_id: str, row: list[str]) -> datetime.date | None:
        """The date of the match that begins in this row, where it can be told."""


@dataclass(frozen=True)
class TableFormat:
    """A format whose files are tables with a header, in which a match's rows stand together.

    Attributes:
        telling: the columns by which it is known.
        required: those that it cannot do without.
        id_column: that with the id of a row's match.
        reader: makes the reader of one file.
    """

    telling: frozenset[str]
    required: Sequence[str]
    id_column: str
    reader: Callable[[MatchFile], TableReader]

    def recognises(self, file: MatchFile) -> bool:
        """Whether the first line has the columns that only this format has."""
        return self.telling <= set(header_of(file))

    def parts(self, file: MatchFile) -> Iterator[Part]:
        """Where each match of the table begins, and its date."""
        reader = self.reader(file)
        with closing(Table(file, (), errors="replace")) as table:
            for match_id, rows in groupby(table.by_match(self.id_column), key=itemgetter(0)):
                _, row = next(rows)
                if match_id is not None and not isinstance(row, MatchFileError):
                    date = reader.date_of(table, match_id, row)
                    yield Part(match_id, date, table.offset, table.lines_before)

    def matches(
        self, file: MatchFile, part: Part | None = None, refused: Refused | None = None
    ) -> Generator[Match, None, None]:
        """The matches of the table, or the one that a part or ``file.selected_id`` names.

        Args:
            refused: receives what is wrong with one of several; without it, it is raised.

        Raises:
            MatchFileError: with the line that is wrong.
        """
        reader = self.reader(file)
        match_id_wanted = file.selected_id if part is None else part.match_id
        match_ids: dict[str | None, None] = {}
        with closing(Table(file, self.required, part)) as table:
            for match_id, rows in groupby(table.by_match(self.id_column), key=itemgetter(0)):
                if match_id_wanted is None or match_id == match_id_wanted:
                    try:
                        match = _built(reader, table, rows, match_id in match_ids)
                    except MatchFileError as error:
                        problem = error
                        if isinstance(error, ImpossibleMatchError):
                            problem = error.at(self._line_of(file, match_id, error.doubt.position))
                        if refused is None:
                            raise problem from None
                        refused(problem)
                    else:
                        yield match
                    if match_id_wanted is not None:
                        return
                elif part is not None and part.offset is not None:
                    break
                match_ids[match_id] = None
        if not match_ids:
            raise file.wrong("has a header and no deliveries")
        if match_id_wanted is not None:
            names = [name for name in match_ids if name is not None]
            more = ", ..." if len(names) > _MATCHES_TOLD else ""
            remedy = f"it has {', '.join(names[:_MATCHES_TOLD])}{more}"
            raise file.wrong(f"has no match {quoted(match_id_wanted)}", remedy)

    def _line_of(self, file: MatchFile, match_id: str | None, row: int | None) -> int | None:
        """The line of a match's row, from 1; its first where none is named."""
        left = row or 1
        with closing(Table(file, (), errors="replace")) as table:
            for row_match_id, _ in table.by_match(self.id_column):
                left -= row_match_id == match_id
                if not left:
                    return table.line
        return None


Format = DocumentFormat | TableFormat
"""A way to write matches down: how to know it and how to read it."""


def _built(
    reader: TableReader, table: Table, rows: Iterator[tuple[str | None, Row]], seen_before: bool
) -> Match:
    """The match of these rows, which are read until one is wrong."""
    builder = None
    for match_id, row in rows:
        if isinstance(row, MatchFileError):
            raise row
        if builder is None:
            if seen_before:
                raise table.wrong(f"rows of match {quoted(match_id)} come back after another's")
            builder = reader.begin(table, str(match_id), row)
        builder.add(row)
    assert builder is not None, "a group has a row"
    return builder.finished()


def header_of(file: MatchFile) -> list[str]:
    """The names in a file's first line, as far as it is a line of CSV."""
    line = file.head.lstrip(_BLANK).partition(b"\n")[0]
    return [name.strip().strip('"') for name in line.decode("utf-8", "replace").split(",")]


class _Lines:
    """The lines of a stream as text, with the count of bytes they took."""

    def __init__(self, stream: BinaryIO, errors: str) -> None:
        self._stream = stream
        self._errors = errors
        self.offset = 0

    def __iter__(self) -> Iterator[str]:
        # A line without an end would be held whole, however long it is.
        while line := self._stream.readline(_LONGEST_LINE):
            encoding = "utf-8" if self.offset else "utf-8-sig"
            self.offset += len(line)
            yield line.decode(encoding, self._errors)


class Table:
    """A file with a header, read from the top or from where a part begins.

    Args:
        errors: what to do with bytes that are no text: ``strict`` or ``replace``.

    Attributes:
        offset, lines_before: the bytes and lines before the row read last.

    Raises:
        MatchFileError: it is empty, not UTF-8, or a column is missing or comes twice.
    """

    def __init__(
        self,
        file: MatchFile,
        required: Iterable[str],
        part: Part | None = None,
        errors: str = "strict",
    ) -> None:
        self.display = file.display
        self.stem = file.stem
        self._file = file
        self._errors = errors
        if not file.head.strip(_BLANK):
            raise MatchFileError("the file is empty", path=file.display)
        self._open(file.open())
        try:
            self._read_header(required)
            if part is not None and part.offset is not None:
                self.close()
                self._open(file.open(), part.offset, part.line)
        except BaseException:
            self.close()
            raise

    def _open(self, stream: BinaryIO, offset: int = 0, line: int = 0) -> None:
        if offset and stream.seekable():
            stream.seek(offset)
        # A zip's member is read up to there.
        while offset and not stream.seekable() and (skipped := stream.read(min(offset, 2**20))):
            offset -= len(skipped)
        self._stream = stream
        self._first_line = line
        self._lines = _Lines(stream, self._errors)
        self._reader = csv.reader(self._lines, strict=True)
        self.offset, self.lines_before = 0, line

    def _read_header(self, required: Iterable[str]) -> None:
        try:
            first = next((row for row in self._reader if row), [])
        except csv.Error as error:
            if "new-line character" in str(error):
                ends = "save it with lines that end in LF or CRLF"
                raise self.wrong("its lines end in a carriage return alone", ends) from None
            raise self.wrong(f"this line is not CSV: {error}") from None
        except UnicodeDecodeError:
            raise self._not_text() from None
        self.header = [name.strip() for name in first]
        if len(first) > _MOST_COLUMNS:
            raise self.wrong(f"the header has {len(first)} columns; its line may not end")
        missing = [name for name in required if name not in self.header]
        if missing:
            raise self.wrong(f"columns are missing: {', '.join(missing)}")
        twice = {name for name in self.header if name and self.header.count(name) > 1}
        if twice:
            raise self.wrong(f"a column comes twice: {', '.join(sorted(twice))}")

    @property
    def line(self) -> int:
        """The line on which the last row read ends."""
        return self._first_line + self._reader.line_num

    def wrong(self, problem: str, remedy: str | None = None) -> MatchFileError:
        """An error about the last row read."""
        return MatchFileError(problem, path=self.display, line=self.line, remedy=remedy)

    def _not_text(self) -> MatchFileError:
        try:
            decoded(self._file.data, self.display)
        except MatchFileError as error:
            return error
        return MatchFileError("not UTF-8 text", path=self.display, remedy="save it as UTF-8")

    def rows(self) -> Iterator[Row]:
        """Rows as long as the header and one blank field more; or what is wrong with one.

        The blank field is what `picker` takes for columns that are not there.
        """
        reader, lines = self._reader, self._lines
        width = len(self.header)
        while True:
            self.offset, self.lines_before = lines.offset, self.line
            try:
                fields = next(reader)
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
                cut = "the file may be cut short; get it again" if len(fields) < width else None
                yield self.wrong(f"this row has {len(fields)} fields, the header {width}", cut)

    def by_match(self, id_column: str) -> Iterator[tuple[str | None, Row]]:
        """Rows with the id of their match; a row that is wrong belongs to the match before it.

        Where there is no id, the match is called as the file is.
        """
        position = self.position(id_column)
        raw = match_id = None
        for row in self.rows():
            if not isinstance(row, MatchFileError) and row[position] != raw:
                raw = row[position]
                match_id = raw.strip() or self.stem
            yield match_id, row

    def position(self, column: str) -> int:
        """Where a column stands in a row; that of the blank field where it is missing."""
        return self.header.index(column) if column in self.header else len(self.header)

    def picker(self, columns: Sequence[str]) -> Callable[[list[str]], tuple[str, ...]]:
        """A function from a row to its fields in these columns, blank where one is missing."""
        return itemgetter(*(self.position(column) for column in columns))

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
