"""A match file shown while somebody writes it: as it last was good, and what is wrong since."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from attnlens.cricket.following import SETTLED, Growing
from attnlens.cricket.match import Match
from attnlens.errors import InputError

TAKEN_BACK: Final = 6
"""So many balls may be missing of those that were there: a correction. More is a damaged file."""


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
    _missing_since: float | None = None

    def __post_init__(self) -> None:
        self._growing = Growing(self.source, self.clock)
        self._growing.begin(self.match)
        path = self.source if os.path.exists(self.source) else self.source.partition("::")[0]
        self.as_of = os.path.getmtime(path) if os.path.exists(path) else time.time()

    def newer(self) -> Match | None:
        """The match where it is good and has changed since it was last asked."""
        news = self._growing.poll()
        if news is not None:
            self._refused = _refusal(self.match, news.match)
        self._judge()
        if news is None or self._refused is not None or news.match == self.match:
            return None
        self.match, self.as_of = news.match, time.time()
        return self.match

    def _judge(self) -> None:
        """Say what is wrong once it has been so for a while, and until it is not so any more."""
        name, there = os.path.basename(self.source), self._growing.is_there
        if there:
            self._missing_since = None
        elif self._missing_since is None:
            self._missing_since = self.clock()
        if self._missing_since is not None:
            if self.clock() - self._missing_since >= SETTLED:
                self.trouble = f"{name}: is not there any more"
        elif self._growing.trouble is None and self._refused is None:
            self.trouble = None
        elif self._growing.settled:
            error = self._growing.trouble
            self.trouble = (
                f"{name}: {self._refused}" if error is None else _without_folder(error, name)
            )


def _without_folder(error: InputError, name: str) -> str:
    """An error's line with the file's name alone: who looks may be on another machine."""
    problem, remedy = error.problem, error.remedy
    folder = os.path.dirname(error.path or "")
    if folder:
        problem = problem.replace(folder + os.sep, "")
        remedy = None if remedy is None else remedy.replace(folder + os.sep, "")
    return str(InputError(problem, path=name, line=error.line, remedy=remedy))


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
