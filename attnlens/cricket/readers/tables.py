"""Tables of deliveries: rows by column name, grouped into matches, read as a stream."""

from __future__ import annotations

import csv
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import BinaryIO, Protocol

from attnlens.cricket.errors import ImpossibleMatchError, MatchFileError
from attnlens.cricket.match.match import Match
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.text import decode_text, quoted

Refused = Callable[[MatchFileError], None]
"""Receives the error of one match of a table, so that reading goes on with the next."""

_MAX_LINE_BYTES = 2**20
_MAX_COLUMNS = 1000
_MAX_IDS_LISTED = 5
_BLANK = b" \t\r\n\xef\xbb\xbf"

Row = list[str] | MatchFileError
"""A row, or what is wrong with it."""


@dataclass(frozen=True)
class DocumentFormat:
    """A format whose files hold one match each: how a file is known, and its match."""

    recognises: Callable[[MatchFile], bool]
    match: Callable[[MatchFile], Match]

    def matches(
        self,
        file: MatchFile,
        refused: Refused | None = None,  # noqa: ARG002  # one match: its error is the file's
    ) -> Generator[Match, None, None]:
        yield self.match(file)


class MatchBuilder(Protocol):
    """A match that grows row by row."""

    def add(self, row: list[str]) -> None: ...

    def build(self) -> Match: ...


BeginMatch = Callable[["Table", str, list[str]], MatchBuilder]
"""Makes the builder of the match of an id, which begins in a row of a table."""


@dataclass(frozen=True)
class TableFormat:
    """A format whose files are tables with a header, in which a match's rows stand together.

    Attributes:
        recognized_by: the columns that only this format has.
        required: those that it cannot do without.
        id_column: that with the id of a row's match.
        reader: what begins the matches of one file.
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
        """The matches of the table, or the one that ``file.selected_id`` names.

        Args:
            refused: receives what is wrong with one of several; without it, it is raised.
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
            raise file.wrong("has a header and no deliveries")
        if selected is not None:
            names = [name for name in match_ids if name is not None]
            more = ", ..." if len(names) > _MAX_IDS_LISTED else ""
            remedy = f"it has {', '.join(names[:_MAX_IDS_LISTED])}{more}"
            raise file.wrong(f"has no match {quoted(selected)}", remedy)


Format = DocumentFormat | TableFormat
"""A way to write matches down: how to know it and how to read it."""


def _build(
    begin: BeginMatch, table: Table, rows: Iterator[tuple[str | None, Row]], seen_before: bool
) -> Match:
    builder, lines = None, []
    for match_id, row in rows:
        if isinstance(row, MatchFileError):
            raise row
        if builder is None:
            if seen_before:
                raise table.wrong(f"rows of match {quoted(match_id)} come back after another's")
            builder = begin(table, str(match_id), row)
        builder.add(row)
        lines.append(table.line)
    assert builder is not None, "a group has a row"
    try:
        return builder.build()
    except ImpossibleMatchError as error:
        raise error.at(lines[(error.doubt.position or 1) - 1]) from None


def header_of(file: MatchFile) -> list[str]:
    """The names in a file's first line, as far as it is a line of CSV."""
    line = file.head.lstrip(_BLANK).partition(b"\n")[0]
    return [name.strip().strip('"') for name in line.decode("utf-8", "replace").split(",")]


def _lines(stream: BinaryIO) -> Iterator[str]:
    encoding = "utf-8-sig"
    # A line without an end would be held whole, however long it is.
    while line := stream.readline(_MAX_LINE_BYTES):
        yield line.decode(encoding)
        encoding = "utf-8"


class Table:
    """A file with a header, read from the top.

    Raises:
        MatchFileError: it is empty, not UTF-8, or a column is missing or comes twice.
    """

    def __init__(self, file: MatchFile, required: Iterable[str]) -> None:
        self.display = file.display
        self.stem = file.stem
        self._file = file
        if not file.head.strip(_BLANK):
            raise MatchFileError("the file is empty", path=file.display)
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
                ends = "save it with lines that end in LF or CRLF"
                raise self.wrong("its lines end in a carriage return alone", ends) from None
            raise self.wrong(f"this line is not CSV: {error}") from None
        except UnicodeDecodeError:
            raise self._not_text() from None
        self.header = [name.strip() for name in first]
        if len(first) > _MAX_COLUMNS:
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
        return self._reader.line_num

    def wrong(self, problem: str, remedy: str | None = None) -> MatchFileError:
        return MatchFileError(problem, path=self.display, line=self.line, remedy=remedy)

    def _not_text(self) -> MatchFileError:
        try:
            decode_text(self._file.data, self.display)
        except MatchFileError as error:
            return error
        return MatchFileError("not UTF-8 text", path=self.display, remedy="save it as UTF-8")

    def rows(self) -> Iterator[Row]:
        """Rows as long as the header and one blank field more; or what is wrong with one.

        The blank field is what `picker` takes for columns that are not there.
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
        self._stream.close()
