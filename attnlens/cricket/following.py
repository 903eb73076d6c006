"""A match file that somebody is still writing: what has come since it was last read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from attnlens.cricket.match import Delivery, Match
from attnlens.cricket.naming import BallReference
from attnlens.cricket.readers import read_match
from attnlens.errors import MatchFileError

SETTLED: Final = 2.0
"""Seconds without a change after which a last line without an end is taken as it stands."""

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
    """

    source: str
    clock: Callable[[], float] = time.monotonic
    trouble: MatchFileError | None = None
    _seen: Signature | None = None
    _since: float = 0.0
    _settled: bool = False
    _match_id: str | None = None
    _balls: dict[BallReference, Delivery] = field(default_factory=dict)

    def poll(self) -> News | None:
        """What is new; ``None`` where nothing is, or what there is cannot be read yet.

        A writer may be half way through a line or a document: a last line without an end is left
        for the next time, and a file that cannot be read is tried again when it has changed or
        has been left alone for `SETTLED` seconds.
        """
        now, found = self.clock(), _signature(self.source)
        if found is None:
            self._missing(now)
            return None
        if found != self._seen:
            self._seen, self._since, self._settled = found, now, False
        elif self._settled or now - self._since < SETTLED:
            return None
        else:
            self._settled = True
        try:
            match = read_match(self.source, growing=not self._settled)
        except MatchFileError as error:
            self.trouble = error
            return None
        if _signature(self.source) != found:
            return None  # written to meanwhile
        self.trouble = None
        return self._news(match)

    def _missing(self, now: float) -> None:
        """It is being replaced, or is gone if it stays so."""
        if self._seen is not None:
            self._seen, self._since, self._settled = None, now, False
        elif now - self._since >= SETTLED:
            self._settled = True
            self.trouble = MatchFileError("no such file", path=self.source)

    @property
    def is_there(self) -> bool:
        """Whether there is a file at all."""
        return _signature(self.source) is not None

    @property
    def settled(self) -> bool:
        """Whether the file has been left alone, so that what is wrong with it will stay wrong."""
        return self._settled

    def begin(self, match: Match) -> None:
        """Take what has been read already for known."""
        self._match_id, self._balls = match.match_id, _balls(match)

    def _news(self, match: Match) -> News | None:
        balls = _balls(match)
        if not balls:
            if self._balls:
                self.trouble = MatchFileError("holds no ball any more", path=self.source)
            return None
        another = self._match_id not in (None, match.match_id)
        if another:
            self._balls = {}
        if balls == self._balls:
            return None
        bowled = tuple(reference for reference in balls if reference not in self._balls)
        corrected = any(balls.get(one) != ball for one, ball in self._balls.items())
        self._match_id, self._balls = match.match_id, balls
        return News(match, bowled, corrected, another)


def _balls(match: Match) -> dict[BallReference, Delivery]:
    return {
        BallReference(side.number, ball.index): ball
        for side in match.innings
        for ball in side.deliveries
    }


def _signature(source: str) -> Signature | None:
    path = source if os.path.exists(source) else source.partition("::")[0]
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino
