"""Ratings as they stood on the day of a match, from a collection of earlier matches."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from attnlens.cricket.match import Match
from attnlens.cricket.outcomes import OUTCOME_INDEX
from attnlens.cricket.ratings import Floats, Ratings
from attnlens.cricket.tensors import base_inputs, scoreboard
from attnlens.cricket.trained import Trained

T = TypeVar("T", bound=Trained)


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """What the balls of one match teach, small enough to keep thousands."""

    day: datetime.date
    match_id: str
    rows: NDArray[np.int64]
    base: Floats
    outcomes: NDArray[np.int64]


class Timeline(Generic[T]):
    """A predictor's ratings on any date.

    A match later than the predictor's own ratings gets those, brought up to date with the
    history in between; an earlier match gets ratings made from the history alone, so that
    nothing later than the match speaks.
    """

    def __init__(self, predictor: T, history: Iterable[Match]) -> None:
        self._predictor = predictor
        self._names = copy.deepcopy(predictor.ratings)
        self._lessons: list[Lesson] = []
        for match in history:
            if not match.dates:
                continue
            for side in match.innings:
                if not side.deliveries or side.super_over:
                    continue
                self._lessons.append(
                    Lesson(
                        max(match.dates),
                        match.match_id,
                        self._names.learning_rows(match, side),
                        predictor.base.log_probabilities(base_inputs(scoreboard(match, side))),
                        np.array([OUTCOME_INDEX[b.outcome] for b in side.deliveries], np.int64),
                    )
                )
        self._lessons.sort(key=lambda lesson: (lesson.day, lesson.match_id))
        self._now: Ratings | None = None
        self._next = 0
        self._started: str | None = None

    def predictor_for(self, match: Match) -> T:
        """The predictor with the ratings of the day before ``match``.

        Cheapest when matches come in order of date. A match without a date gets the
        predictor as it is.
        """
        day = match.date
        if day is None:
            return self._predictor
        until = self._predictor.ratings.until
        start = "scratch" if until is not None and day <= until else "checkpoint"
        ratings = self._now
        behind = ratings is not None and ratings.until is not None and ratings.until >= day
        if ratings is None or start != self._started or behind:
            ratings = self._begin(start)
        self._advance(ratings, day)
        return replace(self._predictor, ratings=_as_they_stand(ratings))

    def at_the_end(self) -> T:
        """The predictor with ratings that have learnt every later match of the history."""
        ratings = self._begin("checkpoint")
        self._advance(ratings, datetime.date.max)
        return replace(self._predictor, ratings=_as_they_stand(ratings))

    def _begin(self, start: str) -> Ratings:
        ratings = copy.deepcopy(self._names)
        if start == "scratch":
            for table in ratings.tables.values():
                table.rating[:] = 0
                table.precision[:] = table.kind.deviation**-2
                table.balls[:] = 0
            ratings.until = None
        self._next = 0
        while (
            ratings.until is not None
            and self._next < len(self._lessons)
            and self._lessons[self._next].day <= ratings.until
        ):
            self._next += 1
        self._now, self._started = ratings, start
        return ratings

    def _advance(self, ratings: Ratings, day: datetime.date) -> None:
        lessons = self._lessons
        while self._next < len(lessons) and lessons[self._next].day < day:
            date = lessons[self._next].day
            end = self._next
            while end < len(lessons) and lessons[end].day == date:
                end += 1
            today = lessons[self._next : end]
            ratings.learn(
                np.concatenate([lesson.rows for lesson in today]),
                np.concatenate([lesson.base for lesson in today]),
                np.concatenate([lesson.outcomes for lesson in today]),
            )
            ratings.until = date
            self._next = end


def _as_they_stand(ratings: Ratings) -> Ratings:
    """A copy that later days do not change."""
    tables = {
        name: replace(
            table,
            keys=dict(table.keys),
            rating=table.rating.copy(),
            precision=table.precision.copy(),
            balls=table.balls.copy(),
        )
        for name, table in ratings.tables.items()
    }
    return replace(ratings, tables=tables, aliases=dict(ratings.aliases))
