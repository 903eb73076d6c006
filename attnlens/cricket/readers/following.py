"""A match file that somebody is still writing: what is new since it was last read."""

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

_MAX_BALLS_CORRECTED = 6
"""Balls that a correction may remove; a file that loses more is damaged."""


@dataclass(frozen=True, slots=True)
class News:
    """A match as it stands, and what is new.

    Attributes:
        bowled: the new balls, in order.
        corrected: whether an earlier ball has changed.
        another: whether this is another match than before, so that all its balls are new.
    """

    match: Match
    bowled: tuple[BallReference, ...]
    corrected: bool
    another: bool = False

    @property
    def innings(self) -> int:
        """The innings in play: the last one with a ball."""
        return next(side.number for side in reversed(self.match.innings) if side.deliveries)


class Growing:
    """A match file that grows, or is replaced by a longer one.

    Args:
        source: the file, or ``archive.zip::member``.
        clock: seconds, from any origin.
        match: as it was read already, for `newer`. It stays where the file is deleted, cannot be
            read, loses balls or holds another match.

    Attributes:
        error: why the file could not be read the last time.
        settled: whether the file has not changed for `SETTLED` seconds.
        as_of: when ``match`` was read, in seconds since 1970; at first, when the file was written.
        trouble: why the file of a settled state differs from ``match``, in one line, or ``None``.
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
        """What is new; ``None`` where nothing is, or the file cannot be read yet.

        A writer may be half way through a line or a document. A last line without an end is left
        for the next call, and a file that cannot be read is tried again when it has changed or has
        settled.
        """
        time_now, signature = self._clock(), _signature(self.source)
        if signature != self._signature:
            self._signature, self._changed_at, self.settled = signature, time_now, False
        elif self.settled or time_now - self._changed_at < SETTLED:
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

    def _news(self, match: Match) -> News | None:
        balls, before = _balls(match), {} if self._latest is None else _balls(self._latest)
        if not balls and before:
            self.error = MatchFileError("holds no ball any more", path=self.source)
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
        """The match where it continues the one before and has changed since the last call."""
        news, previous, name = self.poll(), self.match, os.path.basename(self.source)
        if news is not None:
            self._refusal = None if previous is None else _refusal(previous, news.match)
        problem = None
        if self.settled and not self.is_there:
            problem = f"{name}: is not there any more"
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
    """Time, size and number of the file on disk; of a zip's member, of the zip."""
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
        return f"holds another match now ({' v '.join(after.teams) or after.match_id}{day})"
    were, are = (sum(len(side.deliveries) for side in match.innings) for match in (before, after))
    if are < were - _MAX_BALLS_CORRECTED:
        return f"holds {are} balls, where there were {were}"
    return None
