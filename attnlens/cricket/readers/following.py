"""A match file that somebody is still writing: what has come since it was last read, and how
it last was good."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from attnlens.cricket.errors import MatchFileError
from attnlens.cricket.match.match import Delivery, Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.readers import read_match

SETTLED: Final = 2.0
"""Seconds without a change after which a last line without an end is taken as it stands."""

TAKEN_BACK: Final = 6
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
        return next(one.number for one in reversed(self.match.innings) if one.deliveries)


@dataclass(slots=True)
class Growing:
    """A match file that grows, or is replaced by a longer one.

    Args:
        source: the file, or ``archive.zip::member``.
        clock: seconds, from any beginning.

    Attributes:
        trouble: why the file could not be read the last time it was tried; ``None`` where it was.
        settled: whether the file has been left alone, so that what is wrong with it will stay so.
    """

    source: str
    clock: Callable[[], float] = time.monotonic
    trouble: MatchFileError | None = None
    settled: bool = False
    _seen: Signature | None = None
    _since: float = 0.0
    _match_id: str | None = None
    _balls: dict[BallReference, Delivery] = field(default_factory=dict)

    def poll(self) -> News | None:
        """What is new; ``None`` where nothing is, or what there is cannot be read yet.

        A writer may be half way through a line or a document: a last line without an end is left
        for the next time, and a file that cannot be read is tried again when it has changed or
        has been left alone for `SETTLED` seconds.
        """
        now, found = self.clock(), _signature(self.source)
        if found != self._seen:
            self._seen, self._since, self.settled = found, now, False
        elif self.settled or now - self._since < SETTLED:
            return None
        else:
            self.settled = True
        if found is None:
            # It is being replaced, or is gone if it stays so.
            if self.settled:
                self.trouble = MatchFileError("no such file", path=self.source)
            return None
        try:
            match = read_match(self.source, growing=not self.settled)
        except MatchFileError as error:
            self.trouble = error
            return None
        if _signature(self.source) != found:
            return None  # written to meanwhile
        self.trouble = None
        return self._news(match)

    @property
    def is_there(self) -> bool:
        """Whether there is a file at all."""
        return _signature(self.source) is not None

    def begin(self, match: Match) -> None:
        """Take what has been read already for known."""
        self._match_id, self._balls = match.match_id, _balls(match)
        self._seen, self._since = _signature(self.source), self.clock()

    def _news(self, match: Match) -> News | None:
        balls = _balls(match)
        if not balls and self._balls:
            self.trouble = MatchFileError("holds no ball any more", path=self.source)
        another = self._match_id not in (None, match.match_id)
        before = {} if another else self._balls
        if not balls or balls == before:
            return None
        bowled = tuple(reference for reference in balls if reference not in before)
        corrected = any(balls.get(one) != ball for one, ball in before.items())
        self._match_id, self._balls = match.match_id, balls
        return News(match, bowled, corrected, another)


def _balls(match: Match) -> dict[BallReference, Delivery]:
    return {
        BallReference(side.number, ball.index): ball
        for side in match.innings
        for ball in side.deliveries
    }


def _signature(source: str) -> Signature | None:
    """What changes when the file on disk does: of a zip's member, the zip."""
    try:
        about = os.stat(source if os.path.exists(source) else source.partition("::")[0])
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino


@dataclass(slots=True)
class Followed:
    """The last good state of a match file, and why the file is not in it.

    A file that is deleted, cannot be read, holds fewer balls than before or another match leaves
    ``match`` as it was. When it is good again, ``match`` follows it again.

    Args:
        source: the file, or ``archive.zip::member``.
        match: as it was read.
        clock: seconds, from any beginning.

    Attributes:
        as_of: when ``match`` was read, in seconds since 1970; at first, when the file was written.
        trouble: why the file is not as ``match`` is, in one line; ``None`` where it is, or may soon
            be: it was left alone for less than `SETTLED` seconds.
    """

    source: str
    match: Match
    clock: Callable[[], float] = time.monotonic
    as_of: float = 0.0
    trouble: str | None = None
    _growing: Growing = field(init=False)
    _refused: str | None = None

    def __post_init__(self) -> None:
        self._growing = Growing(self.source, self.clock)
        self._growing.begin(self.match)
        about = _signature(self.source)
        self.as_of = time.time() if about is None else about[0] / 1e9

    def newer(self) -> Match | None:
        """The match where it is good and has changed since it was last asked."""
        growing = self._growing
        news = growing.poll()
        if news is not None:
            self._refused = _refusal(self.match, news.match)
        wrong, name = None, os.path.basename(self.source)
        if growing.settled and not growing.is_there:
            wrong = f"{name}: is not there any more"
        elif growing.trouble is not None:
            wrong = growing.trouble.without_folder()
        elif self._refused is not None:
            wrong = f"{name}: {self._refused}"
        # Said once it has been so for a while, and until it is not so any more.
        if wrong is None or growing.settled:
            self.trouble = wrong
        if news is None or self._refused is not None or news.match == self.match:
            return None
        self.match, self.as_of = news.match, time.time()
        return self.match


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
    were, are = (sum(len(one.deliveries) for one in match.innings) for match in (before, after))
    if are < were - TAKEN_BACK:
        return f"holds {are} balls, where there were {were}"
    return None
