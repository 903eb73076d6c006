"""Earlier matches, to bring ratings up to a date with."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import is_
from typing import Any, TypeAlias

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Match
from attnlens.cricket.readers import read_matches
from attnlens.errors import InputError, count

File: TypeAlias = str | os.PathLike[str]
Report: TypeAlias = Callable[[str], None]


def silent(_: str) -> None: ...


def warn_caller(text: str) -> None:
    """What whoever calls attnlens should know."""
    warnings.warn(text, stacklevel=2)


def matches_to_learn(
    sources: Sequence[File],
    skipped: list[MatchFileError],
    report: Report = silent,
    progress_text: str = "reading the history: {} matches",
) -> Iterator[Match]:
    """Every match that ratings can learn from.

    Args:
        skipped: takes in the files that could not be read; they are passed over.
        report: takes passing words of progress; an empty text at the end.
        progress_text: those words, with a place for the number of matches.

    Raises:
        InputError: after the last one, where there was none.
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
    """Earlier matches, read when they are first needed. What can be read only once is kept.

    Args:
        given: matches, or a file, a folder or a zip to read them from.
        report: takes passing words of progress.
        tell: takes a line about files that cannot be read, and so teach nothing.
        sources: several files, folders and zips, in place of ``given``.

    Attributes:
        skipped: the files that could not be read.
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
            InputError: a file holds none, or what can be read only once was read before.
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
        """Whether this is what is given: the same object, the same file or the same matches."""
        if self.path is not None:
            return source == self.path
        if isinstance(self._source, Collection) and isinstance(source, Collection):
            matches = tuple(self._matches)
            return len(source) == len(matches) and all(map(is_, source, matches))
        return source is self._source
