"""Read match files as `Match` objects, and read earlier matches for updates of the ratings."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from operator import is_
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Delivery, Match
from attnlens.cricket.match.naming import BallReference
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

INFO_SUFFIX: Final = "_info.csv"

_FORMATS: Final[tuple[Format, ...]] = (
    cricsheet_json.FORMAT,
    cricsheet_csv.CSV2_FORMAT,
    cricsheet_csv.ORIGINAL_FORMAT,
    *kaggle.FORMATS,
)


def read_match(source: str | PathLike[str], *, growing: bool = False) -> Match:
    """Read the match in one file. The format is detected from the content of the file.

    Args:
        source: a path, ``archive.zip::member``, or ``file::match_id`` in a file of several matches.
        growing: whether to ignore a last line without a line break, which may be unfinished.

    Raises:
        MatchFileError: the file cannot be read, holds no match, or holds several matches.
    """
    location = source_of(source)
    file = open_one(location)
    if file.is_zip and location.member is None:
        file, *more = islice(_files(location, None), 2)
        if more:
            remedy = f"choose one file, such as {file.display}"
            raise MatchFileError(
                "this zip holds several match files", path=location.path, remedy=remedy
            )
    if growing:
        file = file.whole_lines()
    with closing(format_of(file).matches(file)) as matches:
        match = next(matches, None)
        second = None if file.selected_id is not None else next(matches, None)
    if match is None:
        raise file.wrong("contains no match")
    if second is not None:
        raise file.wrong(
            f"contains several matches ({quoted(match.match_id)}, {quoted(second.match_id)}, ...)",
            f"choose one match, such as {file.display}{MEMBER_SEPARATOR}{match.match_id}; "
            "`attnlens match` lists them",
        )
    return match


def read_matches(
    source: str | PathLike[str],
    *,
    on_error: Literal["stop", "skip"] = "stop",
    skipped: list[MatchFileError] | None = None,
) -> Iterator[Match]:
    """Yield the matches of a file, a zip or a folder. Folders and zips in the folder are read too.

    Files are read in the order of their names. README files, ``_info.csv`` files and tables of
    results are ignored. ``all_matches.csv`` is ignored if its folder also holds one file per match.
    A file of an unknown format is ignored unless its extension is ``.json`` or ``.csv``.

    Args:
        on_error: ``stop`` raises at the first match that cannot be read; ``skip`` continues.
        skipped: a list to which ``skip`` adds one error for each match or file that cannot be read.

    Raises:
        MatchFileError: the source cannot be opened, or (with ``stop``) a match cannot be read.
        InputError: ``on_error`` is neither ``stop`` nor ``skip``.
    """
    if on_error not in ("stop", "skip"):
        raise InputError(f"on_error is {quoted(on_error)}, but must be stop or skip")
    location = source_of(source)
    if not location.is_collection:
        open_one(location)
    elif not location.path.is_dir():
        Archive(location.path)
    refused = [] if skipped is None else skipped
    return _matches(location, None if on_error == "stop" else refused)


def _matches(source: Source, refused: list[MatchFileError] | None) -> Iterator[Match]:
    for file in _files(source, refused):
        try:
            add = None if refused is None else refused.append
            yield from format_of(file).matches(file, refused=add)
        except MatchFileError as error:
            if refused is None:
                raise
            refused.append(error)


def _files(source: Source, refused: list[MatchFileError] | None) -> Iterator[MatchFile]:
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
        raise MatchFileError("there are no match files in this folder or zip", path=source.path)


def member_names(path: str | PathLike[str]) -> list[str]:
    """Return the names of the JSON and CSV files in a zip or folder, except ``_info.csv`` files."""
    files = [file for file in files_in(Path(path)) if isinstance(file, MatchFile)]
    return [
        file.display.removeprefix(f"{path}{MEMBER_SEPARATOR}") for file in files if file.expected
    ]


def describes_matches(path: str | PathLike[str]) -> bool:
    """Return whether a path leads to matches, to a table of results or to an ``_info.csv``."""
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
        problem = (
            "this table contains only the results; the balls are in the deliveries file next to it"
        )
        raise file.wrong(problem, "give the deliveries file")
    start = file.data[: 2**20] if file.size < 2**24 else file.head
    raise file.wrong(
        f"{looks_like(start, file.display)}, not a match file",
        "give Cricsheet JSON or CSV, or a Kaggle IPL deliveries file",
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
    """Yield every match in the sources, for example to update ratings.

    Args:
        skipped: a list to which the errors of unreadable files are added.
        report: receives a message after every 20 matches, and an empty string at the end.
        progress_text: the message, in which ``{}`` is replaced by the number of matches.

    Raises:
        InputError: the sources hold no match that can be read.
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
            f"contains no match that can update the ratings{reason}",
            path=os.fspath(sources[0]),
            remedy="give match files, or a folder or zip with match files",
        )


class History:
    """The earlier matches with which ratings are updated.

    Every iteration reads the files again. An iterator is read once, and its matches are kept in
    memory.

    Args:
        source: the matches, or the path of a file, folder or zip.
        report: called with progress messages.
        tell: called with a warning if some files cannot be read.
        sources: the paths of several files, folders and zips, instead of ``source``.

    Attributes:
        skipped: the errors of the files that could not be read in the latest iteration.
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
        self._report, self._tell = report, tell
        self._source: Any = source
        self._matches: Any = source
        if self.path is None and isinstance(source, Collection):
            # A copy, because the caller may change the list later.
            self._matches = tuple(source)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Match]:
        """Iterate over all matches.

        Raises:
            InputError: there is no match, or the source is an exhausted iterator.
        """
        if self._sources:
            return self._read()
        with self._lock:
            if isinstance(self._matches, Iterator):
                self._matches = tuple(self._matches)
                if not self._matches:
                    raise InputError(
                        "the history contains no match, or is an exhausted iterator",
                        remedy="give a list of matches instead of an iterator",
                    )
        return iter(self._matches)

    def _read(self) -> Iterator[Match]:
        self.skipped = []
        yield from matches_to_learn(self._sources, self.skipped, self._report)
        if self.skipped:
            lost = f"{count(len(self.skipped), 'file')} of the history could not be read"
            self._tell(f"{lost} and did not update the ratings; first error: {self.skipped[0]}")

    def is_same(self, source: Iterable[Match] | File) -> bool:
        """Return whether ``source`` is the source of this history, or holds the same matches."""
        if self.path is not None:
            return source == self.path
        if isinstance(self._source, Collection) and isinstance(source, Collection):
            matches = tuple(self._matches)
            return len(source) == len(matches) and all(map(is_, source, matches))
        return source is self._source


SETTLED: Final = 2.0
"""After this many seconds without a change, the last line of a file is treated as complete."""

_MAX_BALLS_CORRECTED = 6
"""If a file loses more balls, its new content is refused."""


@dataclass(frozen=True, slots=True)
class News:
    """The current state of a match, and the balls that were added since the last reading.

    Attributes:
        bowled: the new balls, in order.
        corrected: whether an earlier ball was changed or removed.
        another: whether the file now holds a different match, whose balls are all new.
    """

    match: Match
    bowled: tuple[BallReference, ...]
    corrected: bool
    another: bool = False

    @property
    def innings(self) -> int:
        """The last innings with a ball, counted from 1."""
        return next(side.number for side in reversed(self.match.innings) if side.deliveries)


class Growing:
    """A match file that grows or is replaced during the match.

    Args:
        source: the file, or ``archive.zip::member``.
        clock: a function that returns the time in seconds since any fixed moment.
        match: the match from an earlier reading.

    Attributes:
        error: the error of the last reading, or ``None`` if the reading succeeded.
        settled: whether the file has not changed for `SETTLED` seconds.
        as_of: when `newer` last changed ``match``, in seconds since 1970. The initial value is the
            file's modification time, or the time of creation if ``match`` was not given.
        trouble: one line that says why the settled file is not used, or ``None``.
    """

    def __init__(
        self,
        source: str,
        clock: Callable[[], float] = time.monotonic,
        match: Match | None = None,
    ) -> None:
        self.source, self.match, self._latest = source, match, match
        self.error: MatchFileError | None = None
        self.trouble: str | None = None
        self.settled = False
        self._clock = clock
        self._refusal: str | None = None
        self._signature = None if match is None else _signature(source)
        self._changed_at = clock()
        self.as_of = time.time() if self._signature is None else self._signature[0] / 1e9

    @property
    def is_there(self) -> bool:
        return _signature(self.source) is not None

    def poll(self) -> News | None:
        """Return the new state and the new balls, or ``None`` if nothing new can be read.

        A last line without a line break is left for a later call. After a failed reading, the file
        is read again when it has changed or settled.
        """
        time_now, signature = self._clock(), _signature(self.source)
        if signature != self._signature:
            self._signature, self._changed_at, self.settled = signature, time_now, False
        elif self.settled or time_now - self._changed_at < SETTLED:
            return None
        else:
            self.settled = True
        if signature is None:
            # A program may be replacing the file. If it stays missing, it was deleted.
            if self.settled:
                self.error = MatchFileError("no such file", path=self.source)
            return None
        try:
            match = read_match(self.source, growing=not self.settled)
        except MatchFileError as error:
            self.error = error
            return None
        if _signature(self.source) != signature:
            return None  # the file changed while it was read
        self.error = None
        return self._news(match)

    def _news(self, match: Match) -> News | None:
        balls, before = _balls(match), {} if self._latest is None else _balls(self._latest)
        if not balls and before:
            self.error = MatchFileError("no longer contains a ball", path=self.source)
        another = self._latest is not None and self._latest.match_id != match.match_id
        if another:
            before = {}
        if not balls or balls == before:
            return None
        bowled = tuple(reference for reference in balls if reference not in before)
        corrected = any(balls.get(reference) != ball for reference, ball in before.items())
        self._latest = match
        return News(match, bowled, corrected, another)

    def newer(self) -> Match | None:
        """Return the match if it has changed since the last call, otherwise ``None``.

        A change is refused if the file holds another match or has lost more than six balls.
        """
        news, previous, name = self.poll(), self.match, os.path.basename(self.source)
        if news is not None:
            self._refusal = None if previous is None else _refusal(previous, news.match)
        problem = None
        if self.settled and not self.is_there:
            problem = f"{name}: the file no longer exists"
        elif self.error is not None:
            problem = self.error.without_folder()
        elif self._refusal is not None:
            problem = f"{name}: {self._refusal}"
        if problem is None or self.settled:
            self.trouble = problem
        if news is None or self._refusal is not None or news.match == previous:
            return None
        self.match, self.as_of = news.match, time.time()
        return self.match


def _balls(match: Match) -> dict[BallReference, Delivery]:
    return {
        BallReference(side.number, ball.index): ball
        for side in match.innings
        for ball in side.deliveries
    }


def _signature(source: str) -> tuple[int, int, int] | None:
    """Return the modification time, size and inode of a file, or of the member's zip."""
    try:
        status = os.stat(source if os.path.exists(source) else source.partition("::")[0])
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _refusal(before: Match, after: Match) -> str | None:
    same = before.match_id == after.match_id and (
        None in (before.date, after.date) or before.date == after.date
    )
    if same and before.innings and after.innings:
        same = before.innings[0].batting_team == after.innings[0].batting_team
    if not same:
        day = "" if after.date is None else f", {after.date.isoformat()}"
        return f"now contains another match ({' v '.join(after.teams) or after.match_id}{day})"
    were, are = (sum(len(side.deliveries) for side in match.innings) for match in (before, after))
    if are < were - _MAX_BALLS_CORRECTED:
        return f"now contains {are} balls, but contained {were} balls before"
    return None
