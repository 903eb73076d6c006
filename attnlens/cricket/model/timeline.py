"""Ratings as they stood on the day of a match, or brought up to date without training again."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from attnlens.arrays import Floats32
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.outcomes import OUTCOME_INDEX
from attnlens.cricket.model.kinds import kinds_unlike
from attnlens.cricket.model.ratings import Ratings
from attnlens.cricket.model.tensors import base_inputs, scoreboard
from attnlens.cricket.model.trained import Trained, TrainedPredictor

T = TypeVar("T", bound=Trained)


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """What the balls of one match teach, small enough to keep thousands."""

    day: datetime.date
    match_id: str
    rows: NDArray[np.int64]
    base: Floats32
    outcomes: NDArray[np.int64]


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
        self._lessons: list[Lesson] = []
        for match in history or ():
            if not match.dates:
                continue
            for side in match.innings:
                if not side.deliveries or side.super_over:
                    continue
                self._lessons.append(
                    Lesson(
                        max(match.dates),
                        match.match_id,
                        self._names.entities(match, side, create=True),
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


@dataclass(frozen=True, slots=True)
class Added:
    """What ratings have learnt.

    Attributes:
        matches: learnt; ``known``: not later than the ratings were, which teach nothing;
            ``after``: later than the day asked for; ``undated``: without a date.
        other: learnt although unlike what the model was trained on: how many, by kind.
        first, last: days of the first and the last match learnt.
        days: distinct days.
        players, venues: that the learnt balls tell of; ``new_…``: never rated before.
    """

    matches: int
    known: int
    after: int
    undated: int
    other: dict[str, int]
    first: datetime.date | None
    last: datetime.date | None
    days: int
    players: int
    new_players: int
    venues: int
    new_venues: int


def brought_up_to_date(
    predictor: TrainedPredictor, matches: Iterable[Match], *, until: datetime.date | None = None
) -> tuple[TrainedPredictor, Added]:
    """The predictor with every later match learnt, date by date; its weights are the same.

    Only matches that ended after the ratings' last day teach anything; one that comes twice
    counts once.

    Args:
        until: leave out matches that ended after this day.

    Returns:
        the predictor, its card telling what was added; and that. Where there was nothing to
        learn, the predictor as it was.
    """
    distinct = {match.match_id: match for match in matches}
    before = predictor.ratings.until
    dated = [match for match in distinct.values() if match.dates]
    learnt, known, after = [], 0, 0
    for match in dated:
        day = max(match.dates)
        if before is not None and day <= before:
            known += 1
        elif until is not None and day > until:
            after += 1
        elif any(side.deliveries and not side.super_over for side in match.innings):
            learnt.append(match)
    learnt.sort(key=lambda match: (max(match.dates), match.match_id))
    days = [max(match.dates) for match in learnt]
    now = Timeline(predictor, learnt).at_the_end() if learnt else predictor
    players, new_players = _told_of(predictor, now, ("striker", "bowler"))
    venues, new_venues = _told_of(predictor, now, ("venue",))
    added = Added(
        matches=len(learnt),
        known=known,
        after=after,
        undated=len(distinct) - len(dated),
        other=kinds_unlike(learnt, predictor),
        first=days[0] if days else None,
        last=days[-1] if days else None,
        days=len(set(days)),
        players=players,
        new_players=new_players,
        venues=venues,
        new_venues=new_venues,
    )
    if not learnt:
        return predictor, added
    entry = {
        "matches": added.matches,
        "from": days[0].isoformat(),
        "until": days[-1].isoformat(),
        "days": added.days,
        "new_players": new_players,
        "new_venues": new_venues,
    }
    card = {
        **predictor.card,
        "ratings_until": days[-1].isoformat(),
        "ratings_added": [*predictor.card.get("ratings_added", []), entry],
    }
    return replace(now, card=card), added


def _told_of(
    before: TrainedPredictor, now: TrainedPredictor, kinds: tuple[str, ...]
) -> tuple[int, int]:
    """How many entities the balls learnt tell of, and how many of them are new."""
    learnt, met = set(), set()
    for kind in kinds:
        old, table = before.ratings.tables[kind], now.ratings.tables[kind]
        for key, row in table.keys.items():
            earlier = old.balls[old.keys[key]] if key in old.keys else 0
            if earlier:
                met.add(key)
            if table.balls[row] > earlier:
                learnt.add(key)
    return len(learnt), len(learnt - met)
