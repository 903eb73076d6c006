"""A match file that somebody is still writing: what has come since it was last read, and how
it last was good."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Delivery, Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.readers import read_match

SETTLED: Final = 2.0
"""Seconds without a change after which a last line without an end is taken as it stands."""

_TAKEN_BACK: Final = 6
"""So many balls may be missing of those that were there: a correction. More is a damaged file."""

Signature = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class News:
    """A match as it stands, and what is new.

    Attributes:
        bowled: the balls that were not there before, in their order.
        corrected: whether a ball that was there before reads otherwise now.
        another: whether this is another match than was there before: all its balls are new.
    """

    match: Match
    bowled: tuple[BallReference, ...]
    corrected: bool
    another: bool = False

    @property
    def innings(self) -> int:
        """The innings in play: the last one with a ball."""
        return next(side.number for side in reversed(self.match.innings) if side.deliveries)


@dataclass(slots=True)
class Growing:
    """A match file that grows, or is replaced by a longer one.

    Args:
        source: the file, or ``archive.zip::member``.
        clock: seconds, from any beginning.
        match: as it was read already, where `newer` is to be asked. A file that is deleted,
            cannot be read, holds fewer balls than before or another match leaves it as it was.

    Attributes:
        error: why the file could not be read the last time it was tried; ``None`` where it was.
        settled: whether the file has been left alone, so that what is wrong with it will stay so.
        as_of: when ``match`` was read, in seconds since 1970; at first, when the file was written.
        trouble: why the file is not as ``match`` is, in one line; ``None`` where it is, or may soon
            be: it was left alone for less than `SETTLED` seconds.
    """

    source: str
    clock: Callable[[], float] = time.monotonic
    match: Match | None = None
    error: MatchFileError | None = None
    settled: bool = False
    as_of: float = 0.0
    trouble: str | None = None
    _last_signature: Signature | None = None
    _since: float = 0.0
    _read: Match | None = None
    _refused: str | None = None

    def __post_init__(self) -> None:
        if self.match is not None:
            self._read, self._since, self._last_signature = (
                self.match,
                self.clock(),
                _signature(self.source),
            )
            self.as_of = (
                time.time() if self._last_signature is None else self._last_signature[0] / 1e9
            )

    def poll(self) -> News | None:
        """What is new; ``None`` where nothing is, or what there is cannot be read yet.

        A writer may be half way through a line or a document: a last line without an end is left
        for the next time, and a file that cannot be read is tried again when it has changed or
        has been left alone for `SETTLED` seconds.
        """
        time_now, signature = self.clock(), _signature(self.source)
        if signature != self._last_signature:
            self._last_signature, self._since, self.settled = signature, time_now, False
        elif self.settled or time_now - self._since < SETTLED:
            return None
        else:
            self.settled = True
        if signature is None:
            # It is being replaced, or is gone if it stays so.
            if self.settled:
                self.error = MatchFileError("no such file", path=self.source)
            return None
        try:
            match = read_match(self.source, growing=not self.settled)
        except MatchFileError as error:
            self.error = error
            return None
        if _signature(self.source) != signature:
            return None  # written to meanwhile
        self.error = None
        return self._news(match)

    @property
    def is_there(self) -> bool:
        """Whether there is a file at all."""
        return _signature(self.source) is not None

    def _news(self, match: Match) -> News | None:
        balls, before = _balls(match), {} if self._read is None else _balls(self._read)
        if not balls and before:
            self.error = MatchFileError("holds no ball any more", path=self.source)
        another = self._read is not None and self._read.match_id != match.match_id
        if another:
            before = {}
        if not balls or balls == before:
            return None
        bowled = tuple(reference for reference in balls if reference not in before)
        corrected = any(balls.get(reference) != ball for reference, ball in before.items())
        self._read = match
        return News(match, bowled, corrected, another)

    def newer(self) -> Match | None:
        """The match where it is good and has changed since it was last asked."""
        news, previous = self.poll(), self.match
        if news is not None:
            self._refused = None if previous is None else _refusal(previous, news.match)
        wrong, name = None, os.path.basename(self.source)
        if self.settled and not self.is_there:
            wrong = f"{name}: is not there any more"
        elif self.error is not None:
            wrong = self.error.without_folder()
        elif self._refused is not None:
            wrong = f"{name}: {self._refused}"
        # Said once it has been so for a while, and until it is not so any more.
        if wrong is None or self.settled:
            self.trouble = wrong
        if news is None or self._refused is not None or news.match == previous:
            return None
        self.match, self.as_of = news.match, time.time()
        return self.match


def _balls(match: Match) -> dict[BallReference, Delivery]:
    return {
        BallReference(side.number, ball.index): ball
        for side in match.innings
        for ball in side.deliveries
    }


def _signature(source: str) -> Signature | None:
    """What changes when the file on disk does: of a zip's member, the zip."""
    try:
        status = os.stat(source if os.path.exists(source) else source.partition("::")[0])
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _refusal(before: Match, after: Match) -> str | None:
    """Why a match that was read is not the one that was followed, gone on."""
    same = before.match_id == after.match_id and (
        None in (before.date, after.date) or before.date == after.date
    )
    if same and before.innings and after.innings:
        same = before.innings[0].batting_team == after.innings[0].batting_team
    if not same:
        when = "" if after.date is None else f", {after.date.isoformat()}"
        return f"holds another match now ({' v '.join(after.teams) or after.match_id}{when})"
    were, are = (sum(len(side.deliveries) for side in match.innings) for match in (before, after))
    if are < were - _TAKEN_BACK:
        return f"holds {are} balls, where there were {were}"
    return None
