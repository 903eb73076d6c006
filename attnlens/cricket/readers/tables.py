"""Tables of deliveries: rows by column name, grouped into matches, read as a stream."""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import BinaryIO, Protocol

from attnlens.cricket.match import Match
from attnlens.cricket.readers.files import MatchFile
from attnlens.cricket.readers.text import decoded, shown
from attnlens.errors import MatchFileError

Refused = Callable[[MatchFileError], None]
"""Receives the error of one match of a table, so that reading goes on with the next."""

_LONGEST_LINE = 2**20
_MOST_COLUMNS = 1000
_MATCHES_TOLD = 5
_BLANK = b" \t\r\n\xef\xbb\xbf"


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


class MatchBuilder(Protocol):
    """A match that grows row by row."""

    def add(self, row: list[str]) -> None: ...

    def finished(self) -> Match: ...


def header_of(file: MatchFile) -> list[str]:
    """The names in a file's first line, as far as it is a line of CSV."""
    line = file.head.lstrip(_BLANK).partition(b"\n")[0]
    return [name.strip().strip('"') for name in line.decode("utf-8", "replace").split(",")]


class Table:
    """A file with a header, read from the top or from where a part begins.

    Raises:
        MatchFileError: it is empty, not UTF-8, or a column is missing or comes twice.
    """

    def __init__(self, file: MatchFile, required: Iterable[str], part: Part | None = None) -> None:
        self.display = file.display
        self.stem = file.stem
        self._file = file
        if not file.head.strip(_BLANK):
            raise MatchFileError("the file is empty", path=file.display)
        self._lines_before = 0
        self._open(file.open())
        try:
            self._read_header(required)
            if part is not None and part.offset is not None:
                self.close()
                stream = file.open()
                stream.seek(part.offset)
                self._open(stream)
                self._lines_before = part.line
        except BaseException:
            self.close()
            raise

    def _open(self, stream: BinaryIO) -> None:
        self._text = text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="\n")
        # A line without an end would be held whole, however long it is.
        self._reader = csv.reader(iter(lambda: text.readline(_LONGEST_LINE), ""), strict=True)

    def _read_header(self, required: Iterable[str]) -> None:
        try:
            first = next((row for row in self._reader if row), [])
        except csv.Error as error:
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
        return self._lines_before + self._reader.line_num

    def wrong(self, problem: str, remedy: str | None = None) -> MatchFileError:
        """An error about the last row read."""
        return MatchFileError(problem, path=self.display, line=self.line, remedy=remedy)

    def _not_text(self) -> MatchFileError:
        try:
            decoded(self._file.data, self.display)
        except MatchFileError as error:
            return error
        return MatchFileError("not UTF-8 text", path=self.display, remedy="save it as UTF-8")

    def rows(self) -> Iterator[list[str] | MatchFileError]:
        """Rows as long as the header and one blank field more; or what is wrong with one.

        The blank field is what `picker` takes for columns that are not there.
        """
        reader = self._reader
        width = len(self.header)
        while True:
            try:
                for fields in reader:
                    if len(fields) == width:
                        fields.append("")
                        yield fields
                    elif fields:
                        yield self._wrong_width(len(fields), width)
                return
            except csv.Error as error:
                yield self.wrong(f"this line is not CSV: {error}")
            except UnicodeDecodeError:
                raise self._not_text() from None

    def _wrong_width(self, found: int, width: int) -> MatchFileError:
        if found < width:
            return self.wrong(
                f"this row has {found} of {width} fields",
                "the file may be cut short; get it again",
            )
        return self.wrong(f"this row has {found} fields, the header {width}")

    def position(self, column: str) -> int:
        """Where a column stands in a row; that of the blank field where it is missing."""
        return self.header.index(column) if column in self.header else len(self.header)

    def picker(self, columns: Sequence[str]) -> Callable[[list[str]], tuple[str, ...]]:
        """A function from a row to its fields in these columns, blank where one is missing."""
        return itemgetter(*(self.position(column) for column in columns))

    def close(self) -> None:
        """Close the file."""
        self._text.close()


def matches_in(
    table: Table,
    id_column: str,
    begin: Callable[[str, list[str]], MatchBuilder],
    wanted: str | None = None,
    at_offset: bool = False,
    refused: Refused | None = None,
) -> Iterator[Match]:
    """The matches of a table whose rows of one match stand together.

    Args:
        begin: makes a builder from a match's id and its first row.
        wanted: the one match to read.
        at_offset: the table stands where that match begins, and it ends there.
        refused: receives what is wrong with a match; without it, it is raised.

    Raises:
        MatchFileError: with the line that is wrong.
    """
    position = table.position(id_column)
    found = _Turn(table, begin, refused)
    seen: dict[str, None] = {}
    raw = current = None
    rows = 0
    try:
        for row in table.rows():
            rows += 1
            if isinstance(row, MatchFileError):
                if wanted is None or current == wanted:
                    found.refuse(row)
                continue
            if row[position] != raw:
                raw = row[position]
                match_id = raw.strip() or table.stem
                if match_id != current:
                    if current is not None:
                        yield from found.end()
                        if current == wanted:
                            return
                    current = match_id
                    if wanted is not None and match_id != wanted:
                        if at_offset:
                            break
                    elif match_id in seen:
                        found.refuse(
                            table.wrong(
                                f"rows of match {shown(match_id)} come back after another's"
                            )
                        )
                    else:
                        found.start(match_id, row)
                    seen[match_id] = None
            found.add(row)
        yield from found.end()
    finally:
        table.close()
    if not rows:
        raise MatchFileError("has a header and no deliveries", path=table.display)
    if wanted is not None and current != wanted:
        told = ", ".join(list(seen)[:_MATCHES_TOLD])
        more = ", ..." if len(seen) > _MATCHES_TOLD else ""
        raise MatchFileError(
            f"has no match {shown(wanted)}", path=table.display, remedy=f"it has {told}{more}"
        )


class _Turn:
    """The match whose turn it is, until something is wrong with it."""

    def __init__(
        self,
        table: Table,
        begin: Callable[[str, list[str]], MatchBuilder],
        refused: Refused | None,
    ) -> None:
        self._table = table
        self._begin = begin
        self._refused = refused
        self._builder: MatchBuilder | None = None
        self._told = False

    def start(self, match_id: str, row: list[str]) -> None:
        try:
            self._builder = self._begin(match_id, row)
        except MatchFileError as error:
            self.refuse(error)

    def add(self, row: list[str]) -> None:
        if self._builder is not None:
            try:
                self._builder.add(row)
            except MatchFileError as error:
                self.refuse(error)

    def end(self) -> Iterator[Match]:
        builder, self._builder = self._builder, None
        self._told = False
        if builder is None:
            return
        try:
            match = builder.finished()
        except MatchFileError as error:
            self.refuse(error)
            self._told = False
            return
        yield match

    def refuse(self, error: MatchFileError) -> None:
        if self._refused is None:
            raise error
        # One match is refused once, however many of its rows are wrong.
        if not self._told:
            self._refused(error)
        self._told = True
        self._builder = None


def parts_in(
    file: MatchFile,
    id_column: str,
    date_of: Callable[[Table, list[str], str], datetime.date | None],
) -> Iterator[Part]:
    """Where each match of a table begins, and its date.

    Args:
        date_of: the date from the table, a match's first row and its id.
    """
    table = Table(file, (id_column,) if id_column in header_of(file) else ())
    table.close()
    position = table.position(id_column)
    with file.open() as stream:
        counted = _Counted(stream)
        reader = csv.reader(counted)
        header_read = False
        current = None
        before = counted.offset
        lines = 0
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error:
                before, lines = counted.offset, reader.line_num
                continue
            if row and not header_read:
                header_read = True
            elif len(row) == len(table.header):
                row.append("")
                match_id = row[position].strip() or file.stem
                if match_id != current:
                    current = match_id
                    yield Part(match_id, date_of(table, row, match_id), before, lines)
            before, lines = counted.offset, reader.line_num


class _Counted:
    """Lines of a stream as text, with the count of bytes they took."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.offset = 0

    def __iter__(self) -> Iterator[str]:
        while line := self._stream.readline(_LONGEST_LINE):
            self.offset += len(line)
            yield line.decode("utf-8", "replace")
