"""Match files to `Match` values, and earlier matches to learn from.

The short list `_FORMATS` is asked in order, and the first `Format` that recognises a file reads
it.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import islice
from operator import is_
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Match
from attnlens.cricket.readers import cricsheet_csv, cricsheet_json, kaggle
from attnlens.cricket.readers.cricsheet_csv import Format
from attnlens.cricket.readers.files import (
    MEMBER_SEPARATOR,
    Archive,
    MatchFile,
    Source,
    files_in,
    open_one,
    source_of,
)
from attnlens.cricket.readers.text import looks_like, quoted
from attnlens.errors import InputError, count

__all__ = [
    "Format",
    "describes_matches",
    "member_names",
    "read_match",
    "read_matches",
]

INFO_SUFFIX: Final = "_info.csv"

_FORMATS: Final[tuple[Format, ...]] = (
    cricsheet_json.FORMAT,
    cricsheet_csv.CSV2_FORMAT,
    cricsheet_csv.ORIGINAL_FORMAT,
    *kaggle.FORMATS,
)


def read_match(source: str | PathLike[str], *, growing: bool = False) -> Match:
    """Read the match in one file; its format is detected from its content.

    Args:
        source: a path, ``archive.zip::member``, or ``file::match_id`` of a file of several matches.
        growing: leave out a last line without an end, since the file may be half written.

    Raises:
        MatchFileError: what is wrong, and on which line.
    """
    location = source_of(source)
    file = open_one(location)
    if file.is_zip and location.member is None:
        file, *more = islice(_files(location, None), 2)
        if more:
            remedy = f"name one, such as {file.display}"
            raise MatchFileError(
                "this zip holds several match files", path=location.path, remedy=remedy
            )
    if growing:
        file = file.whole_lines()
    with closing(format_of(file).matches(file)) as matches:
        match = next(matches, None)
        second = None if file.selected_id is not None else next(matches, None)
    if match is None:
        raise file.wrong("has no match")
    if second is not None:
        raise file.wrong(
            f"holds several matches ({quoted(match.match_id)}, {quoted(second.match_id)}, ...)",
            f"name one, such as {file.display}{MEMBER_SEPARATOR}{match.match_id}, "
            "or list them with `attnlens match`",
        )
    return match


def read_matches(
    source: str | PathLike[str],
    *,
    on_error: Literal["stop", "skip"] = "stop",
    skipped: list[MatchFileError] | None = None,
) -> Iterator[Match]:
    """Yield the matches of a file, a zip or a folder (with the folders and zips in it).

    Files are read in order of name. README files, ``_info.csv``, tables of results, files of other
    kinds, and ``all_matches.csv`` beside the matches that it holds are left out.

    Args:
        on_error: ``stop`` raises at the first match that cannot be read; ``skip`` continues with
            the next one.
        skipped: receives the errors that ``skip`` passed over, one for each match or file.

    Raises:
        MatchFileError: the source cannot be opened, or while iterating, a match cannot be read.
        InputError: ``on_error`` is something else.
    """
    if on_error not in ("stop", "skip"):
        raise InputError(f"on_error is {quoted(on_error)}; it is stop or skip")
    location = source_of(source)
    if not location.is_collection:
        open_one(location)
    elif not location.path.is_dir():
        Archive(location.path)
    refused = [] if skipped is None else skipped
    return _matches(location, None if on_error == "stop" else refused)


def _matches(source: Source, refused: list[MatchFileError] | None) -> Iterator[Match]:
    """Every match; errors go to ``refused``, or are raised where there is no such list."""
    for file in _files(source, refused):
        try:
            add = None if refused is None else refused.append
            yield from format_of(file).matches(file, refused=add)
        except MatchFileError as error:
            if refused is None:
                raise
            refused.append(error)


def _files(source: Source, refused: list[MatchFileError] | None) -> Iterator[MatchFile]:
    """Every file that holds a match; ``refused`` as for `_matches`."""
    if not source.is_collection:
        yield open_one(source)
        return
    is_empty = True
    for file in files_in(source.path):
        try:
            if isinstance(file, MatchFileError):
                raise file
            if _recognized_format(file) or (file.expected and not kaggle.is_results_table(file)):
                is_empty = False
                yield file
        except MatchFileError as error:
            is_empty = False
            if refused is None:
                raise
            refused.append(error)
    if is_empty:
        raise MatchFileError("there are no match files in it", path=source.path)


def member_names(path: str | PathLike[str]) -> list[str]:
    """The names of the files in a zip or folder whose suffix is a match file's."""
    files = [file for file in files_in(Path(path)) if isinstance(file, MatchFile)]
    return [
        file.display.removeprefix(f"{path}{MEMBER_SEPARATOR}") for file in files if file.expected
    ]


def describes_matches(path: str | PathLike[str]) -> bool:
    """Whether a file holds matches, or facts about matches in files beside it."""
    if str(path).endswith(INFO_SUFFIX):
        return True
    with suppress(MatchFileError):
        location = Source(Path(path))
        entries = files_in(location.path) if location.is_collection else [open_one(location)]
        files = (file for file in entries if isinstance(file, MatchFile))
        return any(kaggle.is_results_table(file) or _recognized_format(file) for file in files)
    return False


def _recognized_format(file: MatchFile) -> Format | None:
    return next((form for form in _FORMATS if form.recognises(file)), None)


def format_of(file: MatchFile) -> Format:
    form = _recognized_format(file)
    if form is not None:
        return form
    if kaggle.is_results_table(file):
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


File: TypeAlias = str | os.PathLike[str]
Report: TypeAlias = Callable[[str], None]


def silent(_: str) -> None: ...


def warn_caller(text: str) -> None:
    warnings.warn(text, stacklevel=2)


def matches_to_learn(
    sources: Sequence[File],
    skipped: list[MatchFileError],
    report: Report = silent,
    progress_text: str = "reading the history: {} matches",
) -> Iterator[Match]:
    """Every match that ratings can learn from.

    Args:
        skipped: receives the errors of files that cannot be read.
        report: receives ``progress_text`` with the number of matches, and an empty text at the end.

    Raises:
        InputError: the sources hold no match.
    """
    number = 0
    for source in sources:
        for match in read_matches(source, on_error="skip", skipped=skipped):
            number += 1
            if number % 20 == 0:
                report(progress_text.format(number))
            yield match
    report("")
    if not number:
        reason = f" ({skipped[0].problem})" if skipped else ""
        raise InputError(
            f"holds no match to learn from{reason}",
            path=os.fspath(sources[0]),
            remedy="give match files, a folder or a zip of them",
        )


class History:
    """Earlier matches, read when they are first needed. An iterator is read once and cached.

    Args:
        source: matches, or a file, a folder or a zip to read them from.
        report: receives lines of progress.
        tell: receives a warning about files that cannot be read.
        sources: several files, folders and zips, in place of ``source``.

    Attributes:
        skipped: the errors of files that could not be read.
    """

    def __init__(
        self,
        source: Iterable[Match] | File = (),
        report: Report = silent,
        tell: Report = warn_caller,
        *,
        sources: Sequence[File] = (),
    ) -> None:
        self.path = source if isinstance(source, str | os.PathLike) else None
        self.skipped: list[MatchFileError] = []
        self._sources = list(sources) or ([] if self.path is None else [self.path])
        self._tell = tell
        self._source: Any = source
        self._matches: Any = source
        if self.path is None and isinstance(source, Collection):
            # A list may change later: this is what it held.
            self._matches = tuple(source)
        self._report = report
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Match]:
        """Every match.

        Raises:
            InputError: there is none, or an iterator was used up before.
        """
        if self._sources:
            return self._read()
        with self._lock:
            if isinstance(self._matches, Iterator):
                self._matches = tuple(self._matches)
                if not self._matches:
                    raise InputError(
                        "the history holds no match, or was read to its end before",
                        remedy="give a list of matches, or what reads them anew",
                    )
        return iter(self._matches)

    def _read(self) -> Iterator[Match]:
        self.skipped = []
        yield from matches_to_learn(self._sources, self.skipped, self._report)
        if self.skipped:
            lost = f"{count(len(self.skipped), 'file')} of the history cannot be read"
            self._tell(f"{lost}, and taught nothing, such as {self.skipped[0]}")

    def is_same(self, source: Iterable[Match] | File) -> bool:
        """Whether a source is this one: the same object, the same file or the same matches."""
        if self.path is not None:
            return source == self.path
        if isinstance(self._source, Collection) and isinstance(source, Collection):
            matches = tuple(self._matches)
            return len(source) == len(matches) and all(map(is_, source, matches))
        return source is self._source
