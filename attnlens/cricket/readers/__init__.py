"""Match files to `Match` values.

The short list `FORMATS` is asked in order, and the first `Format` that recognises a file reads
it.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import ExitStack, closing
from os import PathLike
from pathlib import Path
from typing import Final, Literal

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Match
from attnlens.cricket.readers import (
    cricsheet_csv2,
    cricsheet_json,
    cricsheet_original,
    kaggle_results,
)
from attnlens.cricket.readers.archives import MEMBER_SEPARATOR, Shelf
from attnlens.cricket.readers.files import (
    MAX_BYTES,
    MatchFile,
    Source,
    files_in,
    is_collection,
    open_one,
    source_of,
    whole_lines,
)
from attnlens.cricket.readers.kaggle_layouts import LAYOUTS as KAGGLE_LAYOUTS
from attnlens.cricket.readers.tables import Format, Part
from attnlens.cricket.readers.text import looks_like, shown
from attnlens.errors import InputError

__all__ = [
    "FORMATS",
    "Format",
    "MatchShelf",
    "match_files",
    "read_match",
    "read_matches",
    "tells_of_matches",
]

INFO: Final = "_info.csv"
_MOST_TRIED = 16


FORMATS: Final[tuple[Format, ...]] = (
    cricsheet_json,
    cricsheet_csv2,
    cricsheet_original,
    *KAGGLE_LAYOUTS,
)


def read_match(source: str | PathLike[str], *, growing: bool = False) -> Match:
    """The match in one file.

    Args:
        source: a path, or ``archive.zip::member``; where a file holds several
            matches, ``file::match_id``. The format is told by content.
        growing: whether somebody may be writing it: a last line without an end is left out.

    Raises:
        MatchFileError: what is wrong, and on which line where there is one.
    """
    named = source_of(source)
    with closing(Shelf()) as shelf:
        file = _only_file(named, shelf) if is_collection(named) else open_one(named, shelf)
        if growing:
            file = whole_lines(file)
        # A table that is not read to its end is closed, whatever holds the generator.
        with closing(format_of(file).matches(file)) as found:
            match = next(found, None)
            second = None if file.wanted is not None else next(found, None)
        if match is None:
            raise MatchFileError("has no match", path=file.display)
        if second is not None:
            raise MatchFileError(
                f"holds several matches ({shown(match.match_id)}, {shown(second.match_id)}, ...)",
                path=file.display,
                remedy=f"name one, such as {file.display}{MEMBER_SEPARATOR}{match.match_id}, "
                "or list them with `attnlens match`",
            )
        return match


def read_matches(
    source: str | PathLike[str],
    *,
    on_error: Literal["stop", "skip"] = "stop",
    skipped: list[MatchFileError] | None = None,
    order: Literal["file", "date"] = "file",
) -> Iterator[Match]:
    """The matches of a file, a folder (with the folders and zips in it) or a zip, one at a time.

    README files, ``_info.csv``, tables of results, files that promise no match,
    and ``all_matches.csv`` beside the matches it holds are passed over. One match
    is held at a time, whatever the order; by date, dates are read first and
    matches then.

    Args:
        on_error: ``stop`` raises at the first match that cannot be read; ``skip``
            goes on with the next one.
        skipped: receives the errors that ``skip`` passed over, one for each match
            or file: how many there are and why.
        order: ``file``, by the files' names and as they stand in a file; or
            ``date``, by first day and then as in ``file``, without a date last.

    Raises:
        MatchFileError: at once, where the source itself cannot be opened; while
            iterating, where a match in it cannot be read.
        InputError: ``on_error`` or ``order`` is something else.
    """
    if on_error not in ("stop", "skip"):
        raise InputError(f"on_error is {shown(on_error)}; it is stop or skip")
    if order not in ("file", "date"):
        raise InputError(f"order is {shown(order)}; it is file or date")
    named = source_of(source)
    kept = [] if skipped is None else skipped
    reading = _Reading(named, None if on_error == "stop" else kept)
    if not is_collection(named):
        open_one(named, reading.shelf)
    elif not named.path.is_dir():
        reading.shelf.archive(named.path, named.inner, MAX_BYTES)
    return reading.by_date() if order == "date" else reading.in_file_order()


def match_files(source: str | PathLike[str], skipped: list[MatchFileError]) -> Iterator[MatchFile]:
    """The files of a source that hold matches, as `read_matches` takes them, not read yet.

    Args:
        skipped: receives the errors of files that hold none though they promise to.

    Raises:
        MatchFileError: the source itself cannot be opened.
    """
    reading = _Reading(source_of(source), skipped)
    with closing(reading.shelf):
        yield from reading.files()


class MatchShelf:
    """Single matches out of many files, one after the other; what is opened is kept open."""

    def __init__(self) -> None:
        self._shelf = Shelf()
        self._keep = ExitStack()
        self._table: tuple[str, Format, MatchFile, dict[str, Part]] | None = None

    def match(self, path: str, match_id: str | None = None) -> Match:
        """The match in a file, or that of an id in a file of several.

        Raises:
            MatchFileError: it cannot be read.
        """
        if match_id is not None:
            form, file, parts = self._opened(path)
            found = form.matches(file, parts.get(match_id, Part(match_id)))
        else:
            file = open_one(source_of(path), self._shelf)
            found = format_of(file).matches(file)
        with closing(found):
            match = next(found, None)
        if match is None:
            raise MatchFileError("has no match", path=path)
        return match

    def _opened(self, path: str) -> tuple[Format, MatchFile, dict[str, Part]]:
        """A table of several matches, and where each begins; the last one is kept."""
        if self._table is None or self._table[0] != path:
            self._keep.close()
            file = open_one(source_of(path), self._shelf)
            form = format_of(file)
            parts = {part.match_id: part for part in form.parts(file)}
            self._table = (path, form, file.spooled(self._keep), parts)
        return self._table[1:]

    def close(self) -> None:
        """Close every file and zip."""
        self._keep.close()
        self._shelf.close()


def tells_of_matches(path: str | PathLike[str]) -> bool:
    """Whether a file holds matches, or facts about matches in files beside it."""
    named = Source(Path(path), (), None)
    if named.path.name.endswith(INFO):
        return True
    try:
        if is_collection(named):
            return next(read_matches(path, on_error="skip"), None) is not None
        with closing(Shelf()) as shelf:
            file = open_one(named, shelf)
            return kaggle_results.recognises(file) or any(form.recognises(file) for form in FORMATS)
    except MatchFileError:
        return False


class _Reading:
    """One pass over a source; ``skipped`` is ``None`` where errors stop it."""

    def __init__(self, source: Source, skipped: list[MatchFileError] | None) -> None:
        self.shelf = Shelf()
        self._source = source
        self._skipped = skipped
        self._refused = None if skipped is None else skipped.append

    def in_file_order(self) -> Iterator[Match]:
        with closing(self.shelf):
            for file in self.files():
                try:
                    yield from format_of(file).matches(file, refused=self._refused)
                except MatchFileError as error:
                    self._meet(error)

    def by_date(self) -> Iterator[Match]:
        with closing(self.shelf), ExitStack() as keep:
            waiting = list(self._waiting(keep))
            # Of equal dates the order of the files stays.
            waiting.sort(key=lambda entry: entry[0])
            for _, file, part in waiting:
                try:
                    yield from format_of(file).matches(file, part, self._refused)
                except MatchFileError as error:
                    self._meet(error)
                finally:
                    file.forget()

    def _waiting(self, keep: ExitStack) -> Iterator[tuple[datetime.date, MatchFile, Part | None]]:
        """Each match's date, its file, and its part of a file of several."""
        for file in self.files():
            try:
                parts = list(format_of(file).parts(file))
                file.forget()
                opened = file.spooled(keep) if len(parts) > 1 else file
            except MatchFileError as error:
                self._meet(error)
                continue
            for part in parts:
                if file.wanted is None or part.match_id == file.wanted:
                    date = part.date or datetime.date.max
                    yield date, opened, part if len(parts) > 1 else None

    def files(self) -> Iterator[MatchFile]:
        """Every file that holds a match."""
        if not is_collection(self._source):
            yield open_one(self._source, self.shelf)
            return
        seen_any = False
        for file in files_in(self._source, self.shelf):
            try:
                if isinstance(file, MatchFileError):
                    raise file
                if _is_bystander(file):
                    continue
            except MatchFileError as error:
                seen_any = True
                self._meet(error)
                continue
            seen_any = True
            yield file
        if not seen_any:
            raise MatchFileError("there are no match files in it", path=self._source.text)

    def _meet(self, error: MatchFileError) -> None:
        if self._skipped is None:
            raise error
        self._skipped.append(error)


def _is_bystander(file: MatchFile) -> bool:
    if any(form.recognises(file) for form in FORMATS):
        return False
    return not file.expected or kaggle_results.recognises(file)


def _only_file(source: Source, shelf: Shelf) -> MatchFile:
    """The one match file of a zip.

    Raises:
        MatchFileError: it has none or several.
    """
    if not source.inner and source.path.is_dir():
        return open_one(source, shelf)
    found = list(files_in(source, shelf))
    files = [file for file in found if isinstance(file, MatchFile) and file.expected]
    if len(files) <= _MOST_TRIED:
        for error in found:
            if isinstance(error, MatchFileError):
                raise error
        files = [file for file in files if len(files) == 1 or not _is_bystander(file)]
    if not files:
        raise MatchFileError("this zip holds no match files (.json, .csv)", path=source.text)
    if len(files) > 1:
        raise MatchFileError(
            f"this zip holds {len(files)} match files",
            path=source.text,
            remedy=f"name one, such as {files[0].display}",
        )
    return files[0]


def format_of(file: MatchFile) -> Format:
    """The format of a file.

    Raises:
        MatchFileError: it is none that is read; what it looks like instead.
    """
    for form in FORMATS:
        if form.recognises(file):
            return form
    if kaggle_results.recognises(file):
        raise MatchFileError(
            "this table has the results; the balls are in the deliveries file beside it",
            path=file.display,
            remedy="give that file",
        )
    raise MatchFileError(
        f"{looks_like(file.data[: 2**20] if file.size < 2**24 else file.head, file.display)}, "
        "not a match file",
        path=file.display,
        remedy="give Cricsheet JSON or CSV, or a Kaggle IPL deliveries file",
    )
