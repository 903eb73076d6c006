"""Ratings as they stood on the day of a match, or brought up to date without training again."""

from __future__ import annotations

import copy
import datetime
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from attnlens.cricket.match.match import Match
from attnlens.cricket.match.outcomes import OUTCOME_INDEX
from attnlens.cricket.predictor.ratings import Lesson, Ratings
from attnlens.cricket.predictor.trained import Trained, TrainedPredictor, once

T = TypeVar("T", bound=Trained)


class Timeline(Generic[T]):
    """A predictor's ratings on any date.

    A match later than the predictor's own ratings gets those, brought up to date with the
    history in between; an earlier match gets ratings made from the history alone, so that
    nothing later than the match speaks. Without a history (``None``) every match gets the
    predictor as it is.
    """

    def __init__(self, predictor: T, history: Iterable[Match] | None) -> None:
        self.predictor = predictor
        self._is_dated = history is not None
        self._names = copy.deepcopy(predictor.ratings) if self._is_dated else predictor.ratings
        # Of a match only what its balls teach is kept: there may be thousands.
        taught: dict[datetime.date, list[tuple[str, Lesson]]] = defaultdict(list)
        for match in once(history or ()):
            for side in match.innings if match.dates else ():
                if side.deliveries and not side.super_over:
                    lesson = (
                        self._names.entities(match, side, create=True),
                        predictor.base.of_innings(match, side),
                        np.array([OUTCOME_INDEX[b.outcome] for b in side.deliveries], np.int64),
                    )
                    taught[max(match.dates)].append((match.match_id, lesson))
        self._days = [
            (day, [lesson for _, lesson in sorted(taught[day], key=lambda one: one[0])])
            for day in sorted(taught)
        ]
        self._now: Ratings | None = None
        self._next = 0
        self._started: str | None = None

    def predictor_for(self, match: Match) -> T:
        """The predictor with the ratings of the day before ``match``.

        Cheapest when matches come in order of date. A match without a date gets the
        predictor as it is.
        """
        day = match.date
        if day is None or not self._is_dated:
            return self.predictor
        until = self.predictor.ratings.until
        start = "scratch" if until is not None and day <= until else "checkpoint"
        ratings = self._now
        behind = ratings is not None and ratings.until is not None and ratings.until >= day
        if ratings is None or start != self._started or behind:
            ratings = self._begin(start)
        self._advance(ratings, day)
        return replace(self.predictor, ratings=_as_they_stand(ratings))

    def at_the_end(self) -> T:
        """The predictor with ratings that have learnt every later match of the history."""
        ratings = self._begin("checkpoint")
        self._advance(ratings, datetime.date.max)
        return replace(self.predictor, ratings=_as_they_stand(ratings))

    def _begin(self, start: str) -> Ratings:
        ratings = copy.deepcopy(self._names)
        if start == "scratch":
            for table in ratings.tables.values():
                table.rating[:] = 0
                table.precision[:] = table.kind.deviation**-2
                table.balls[:] = 0
            ratings.until = None
        until = ratings.until
        self._next = sum(until is not None and day <= until for day, _ in self._days)
        self._now, self._started = ratings, start
        return ratings

    def _advance(self, ratings: Ratings, day: datetime.date) -> None:
        while self._next < len(self._days) and self._days[self._next][0] < day:
            ratings.learn_day(*self._days[self._next])
            self._next += 1


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


@dataclass(frozen=True, slots=True)
class Added:
    """What ratings have learnt.

    Attributes:
        matches: learnt; ``already_known``: not later than the ratings were, which teach
            nothing; ``undated``: without a date.
        dates: of the first and the last match learnt; ``days``: distinct ones.
    """

    matches: int
    dates: tuple[datetime.date | None, datetime.date | None]
    days: int
    already_known: int
    undated: int


def brought_up_to_date(
    predictor: TrainedPredictor, matches: Iterable[Match]
) -> tuple[TrainedPredictor, Added]:
    """The predictor with every later match learnt, date by date; its weights are the same.

    Only matches that ended after the ratings' last day teach anything; one that comes twice
    counts once, see `once`.

    Returns:
        the predictor, its card telling what was added; and that. Where there was nothing to
        learn, the predictor as it was.
    """
    distinct = {match.match_id: match for match in once(matches)}
    before = predictor.ratings.until or datetime.date.min
    dated = [match for match in distinct.values() if match.dates]
    later = [match for match in dated if max(match.dates) > before]
    learnt = [m for m in later if any(s.deliveries and not s.super_over for s in m.innings)]
    days = sorted({max(match.dates) for match in learnt})
    now = Timeline(predictor, learnt).at_the_end() if learnt else predictor
    added = Added(
        len(learnt),
        (days[0], days[-1]) if days else (None, None),
        len(days),
        already_known=len(dated) - len(later),
        undated=len(distinct) - len(dated),
    )
    if not learnt:
        return predictor, added
    entry = {
        "matches": added.matches,
        "from": days[0].isoformat(),
        "until": days[-1].isoformat(),
        "days": added.days,
    }
    card = {
        **predictor.card,
        "ratings_until": days[-1].isoformat(),
        "ratings_added": [*predictor.card.get("ratings_added", []), entry],
    }
    return replace(now, card=card), added
