"""Match files to `Match` values.

A format is one file with ``recognises(file)``, ``matches(file, part, refused)``
and ``parts(file)``; the short list `FORMATS` is asked in order and the first that
recognises a file reads it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Final, Literal, Protocol

from attnlens.cricket.match import Match
from attnlens.cricket.readers import (
    cricsheet_csv2,
    cricsheet_json,
    cricsheet_original,
    kaggle_2008_2019,
    kaggle_2008_2024,
    kaggle_2025,
    kaggle_matches,
)
from attnlens.cricket.readers.archives import MEMBER_SEPARATOR, Shelf
from attnlens.cricket.readers.files import (
    MAX_BYTES,
    Candidate,
    MatchFile,
    Source,
    candidates,
    is_collection,
    open_one,
    source_of,
    whole_lines,
)
from attnlens.cricket.readers.tables import Part, Refused
from attnlens.cricket.readers.text import looks_like, shown
from attnlens.errors import InputError, MatchFileError

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


class _Matches(Protocol):
    def __call__(
        self, file: MatchFile, part: Part | None = None, refused: Refused | None = None
    ) -> Generator[Match, None, None]: ...


@dataclass(frozen=True)
class Format:
    """A way to write matches down: how to know it and how to read it.

    Attributes:
        matches: every match of a file, or the one that a part or ``file.wanted``
            names; what is wrong with one of several goes to ``refused`` where given.
        parts: the matches of a file by id and date, without reading them.
    """

    name: str
    recognises: Callable[[MatchFile], bool]
    matches: _Matches
    parts: Callable[[MatchFile], Iterator[Part]]


FORMATS = tuple(
    Format(name, module.recognises, module.matches, module.parts)
    for name, module in (
        ("Cricsheet JSON", cricsheet_json),
        ("Cricsheet CSV2", cricsheet_csv2),
        ("Cricsheet original CSV", cricsheet_original),
        ("Kaggle IPL 2008-2019", kaggle_2008_2019),
        ("Kaggle IPL 2008-2024", kaggle_2008_2024),
        ("Kaggle IPL 2025", kaggle_2025),
    )
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
            return kaggle_matches.recognises(file) or any(form.recognises(file) for form in FORMATS)
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
            for _, matches in waiting:
                try:
                    yield from matches()
                except MatchFileError as error:
                    self._meet(error)

    def _waiting(
        self, keep: ExitStack
    ) -> Iterator[tuple[datetime.date, Callable[[], Iterator[Match]]]]:
        for file in self.files():
            try:
                form = format_of(file)
                parts = list(form.parts(file))
                file.forget()
                opened = file.spooled(keep) if len(parts) > 1 else file
            except MatchFileError as error:
                self._meet(error)
                continue
            for part in parts:
                if file.wanted is None or part.match_id == file.wanted:
                    only = part if len(parts) > 1 else None
                    yield part.date or datetime.date.max, self._later(form, opened, only)

    def _later(
        self, form: Format, file: MatchFile, part: Part | None
    ) -> Callable[[], Iterator[Match]]:
        def matches() -> Iterator[Match]:
            try:
                yield from form.matches(file, part, self._refused)
            finally:
                file.forget()

        return matches

    def files(self) -> Iterator[MatchFile]:
        """Every file that holds a match."""
        if not is_collection(self._source):
            yield open_one(self._source, self.shelf)
            return
        seen_any = False
        for candidate in candidates(self._source, self.shelf):
            try:
                file = candidate.open()
                if _is_bystander(file, candidate):
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


def _is_bystander(file: MatchFile, candidate: Candidate) -> bool:
    if any(form.recognises(file) for form in FORMATS):
        return False
    return not candidate.expected or kaggle_matches.recognises(file)


def _only_file(source: Source, shelf: Shelf) -> MatchFile:
    """The one match file of a zip.

    Raises:
        MatchFileError: it has none or several.
    """
    if not source.inner and source.path.is_dir():
        return open_one(source, shelf)
    members = [candidate for candidate in candidates(source, shelf) if candidate.expected]
    if 1 < len(members) <= _MOST_TRIED:
        members = [one for one in members if not _is_bystander(one.open(), one)]
    if not members:
        raise MatchFileError("this zip holds no match files (.json, .csv)", path=source.text)
    if len(members) > 1:
        raise MatchFileError(
            f"this zip holds {len(members)} match files",
            path=source.text,
            remedy=f"name one, such as {members[0].display}",
        )
    return members[0].open()


def format_of(file: MatchFile) -> Format:
    """The format of a file.

    Raises:
        MatchFileError: it is none that is read; what it looks like instead.
    """
    for form in FORMATS:
        if form.recognises(file):
            return form
    if kaggle_matches.recognises(file):
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
