"""What a ball's scoreboard and the earlier balls of its innings add up to, for the baselines.

The predictor is not fed such sums: it reads past balls by attention. The boosted trees it is
compared with get all of them. Every column of a ball's row is known before it is bowled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attnlens.training.ball_table import BallTable, Flags, Integers

Doubles = NDArray[np.float64]
Columns = Iterator[tuple[str, NDArray[Any]]]

WIDEST_GAP: Final = 40
"""Balls since something are counted up to here: what is longer ago is long ago."""


class Groups:
    """Balls that share a key; each knows those of its group that came before it.

    Args:
        key: of each row ``(n,)``.
        time: the order within a group where the rows are not in order already.
    """

    def __init__(self, key: Integers, time: Integers | None = None) -> None:
        self._order = np.argsort(key, kind="stable") if time is None else np.lexsort((time, key))
        ordered = key[self._order]
        place = np.arange(len(key))
        first = np.ones(len(key), bool)
        first[1:] = ordered[1:] != ordered[:-1]
        self._place = place
        self._start = np.maximum.accumulate(np.where(first, place, 0))

    def _back(self, ordered: NDArray[Any]) -> NDArray[Any]:
        result = np.empty_like(ordered)
        result[self._order] = ordered
        return result

    def count(self) -> Integers:
        """How many came before."""
        return self._back(self._place - self._start)

    def sums(self, values: NDArray[Any], last: int | None = None) -> NDArray[Any]:
        """Sums over those before, or the ``last`` of them. ``(n,)`` or ``(n, columns)``."""
        exact = np.float64 if np.issubdtype(values.dtype, np.floating) else np.int64
        running = np.zeros((len(values) + 1, *values.shape[1:]), exact)
        np.cumsum(values[self._order], axis=0, out=running[1:])
        low = self._start if last is None else np.maximum(self._start, self._place - last)
        return self._back(running[self._place] - running[low])

    def since(self, happened: Flags) -> Integers:
        """How many came after the last one that ``happened``; all of them if none did."""
        at = np.where(happened[self._order], self._place + 1, 0)
        latest = np.concatenate([[0], np.maximum.accumulate(at)[:-1]])
        return self._back(self._place - np.maximum(latest, self._start))

    def earlier(self, values: NDArray[Any], steps: int = 1, fill: int = -1) -> NDArray[Any]:
        """The value ``steps`` before in the group, ``fill`` where there is none."""
        at = self._place - steps
        there = at >= self._start
        return self._back(np.where(there, values[self._order][np.where(there, at, 0)], fill))


def state_columns(balls: BallTable) -> Columns:
    """Scoreboard, players, and what has happened in the innings so far, column by column."""
    yield from _scoreboard(balls)
    yield from _players(balls)
    yield from _lately(balls)


def _scoreboard(balls: BallTable) -> Columns:
    legal, score = balls.legal_before, balls.score
    limited = balls.quota > 0
    left = np.where(limited, np.maximum(balls.quota - legal, 1), 0)
    rate = 6 * score / np.maximum(legal, 6)
    chasing = balls.target > 0
    required = np.where(chasing, np.maximum(balls.target - score, 0), 0)
    needed = np.where(chasing & limited, np.minimum(6 * required / np.maximum(left, 1), 36), 0)
    share = legal / np.where(limited, balls.quota, 120)
    wickets_left = np.maximum(10 - balls.wickets, 1)
    yield "second innings", balls.number % 2 == 0
    yield "over", balls.over
    yield "ball in over", balls.ball_in_over
    yield "legal balls", legal
    yield "balls left", left
    yield "quota", balls.quota
    yield "share of the innings", share
    yield "powerplay", share < 0.3
    yield "middle", (share >= 0.3) & (share < 0.75)
    yield "death", share >= 0.75
    yield "score", score
    yield "wickets", balls.wickets
    yield "run rate", rate
    yield "target", balls.target
    yield "required", required
    yield "required rate", needed
    yield "required over rate", np.where(chasing, needed - rate, 0)
    yield "required per ball and wicket", needed / wickets_left
    yield "balls per wicket left", left / wickets_left
    yield "projected", score + left * rate / 6
    yield "free hit", balls.free_hit
    yield "won the toss", balls.won_toss
    for number, name in enumerate(
        ("world", "tournament", "year", "batting known", "bowling known")
    ):
        yield f"match {name}", balls.importance[:, number]
    yield from _first_innings(balls, rate)


def _first_innings(balls: BallTable, rate: Doubles) -> Columns:
    """How the match's earlier innings went: run rate, wickets per ball, boundaries per ball."""
    so_far = Groups(balls.match)
    this = Groups(balls.innings)
    count = so_far.count() - this.count()
    over = np.maximum(count, 1)
    earlier = {
        "runs": balls.runs_total,
        "wickets": balls.was("W"),
        "boundaries": balls.boundary,
    }
    for name, values in earlier.items():
        numbers = values.astype(np.int64)
        per_ball = (so_far.sums(numbers) - this.sums(numbers)) / over
        yield f"earlier innings {name} per ball", per_ball
        if name == "runs":
            yield "run rate over earlier innings", np.where(count > 0, rate - 6 * per_ball, 0)


def _players(balls: BallTable) -> Columns:
    """Striker, non-striker, stand, bowler and their meeting, in this innings."""
    people = int(max(balls.batter.max(), balls.non_striker.max(), balls.bowler.max())) + 1
    innings = balls.innings * people
    bowler = Groups(innings + balls.bowler)
    yield from _striker(balls, Groups(innings + balls.batter))
    yield from _stand(balls, innings)
    yield from _bowler(balls, bowler)
    yield from _this_over(balls)

    meeting = Groups((innings + balls.batter) * people + balls.bowler)
    yield "meeting balls", meeting.count()
    yield "meeting runs", meeting.sums(balls.runs_batter)
    yield "meeting dots", meeting.sums(balls.dot.astype(np.int64))
    yield "meeting boundaries", meeting.sums(balls.boundary.astype(np.int64))
    new = (bowler.count() == 0).astype(np.int64)
    yield "bowlers used", Groups(balls.innings).sums(new)


def _striker(balls: BallTable, striker: Groups) -> Columns:
    faced = (~balls.was("wd")).astype(np.int64)
    runs, count = striker.sums(balls.runs_batter), striker.sums(faced)
    yield "position", balls.position
    yield "striker runs", runs
    yield "striker balls", count
    yield "striker rate", (runs + 12) / (count + 10)
    for name in ("boundary", "dot"):
        yield f"striker {name}", striker.sums(getattr(balls, name).astype(np.int64))
    yield "striker sixes", striker.sums(balls.was("6").astype(np.int64))
    yield "striker dots in a row", striker.since(~balls.dot)
    yield "striker balls since boundary", np.minimum(striker.since(balls.boundary), WIDEST_GAP)
    yield "striker runs last 6", striker.sums(balls.runs_batter, 6)
    yield "striker runs last 12", striker.sums(balls.runs_batter, 12)
    yield "striker last", striker.earlier(balls.outcome)
    yield "striker last but one", striker.earlier(balls.outcome, 2)
    yield "striker new", count == 0


def _stand(balls: BallTable, innings: Integers) -> Columns:
    """The batter at the other end, and what the two have made together."""
    faced = (~balls.was("wd")).astype(np.int64)
    # The other end's figures are those of his own balls as striker, asked at this ball.
    both = Groups(
        np.concatenate([innings + balls.batter, innings + balls.non_striker]),
        np.tile(np.arange(len(balls)), 2),
    )
    nothing = np.zeros(len(balls), np.int64)
    for name, values in (("runs", balls.runs_batter), ("balls", faced)):
        yield f"non-striker {name}", both.sums(np.concatenate([values, nothing]))[len(balls) :]

    stand = Groups(balls.innings * 12 + np.minimum(balls.wickets, 11))
    yield "stand runs", stand.sums(balls.runs_total)
    yield "stand balls", stand.count()


def _bowler(balls: BallTable, bowler: Groups) -> Columns:
    bowled, against = bowler.sums(balls.legal.astype(np.int64)), bowler.sums(balls.bowlers_runs)
    yield "bowler balls", bowled
    yield "bowler runs", against
    yield "bowler economy", (against + 30) / (bowled + 24)
    yield "bowler wickets", bowler.sums(balls.bowlers_wicket.astype(np.int64))
    for name, flags in (
        ("dots", balls.dot),
        ("boundaries", balls.boundary),
        ("wides", balls.was("wd")),
    ):
        yield f"bowler {name}", bowler.sums(flags.astype(np.int64))
    yield "bowler dots in a row", bowler.since(~balls.dot)
    yield "bowler balls since boundary", np.minimum(bowler.since(balls.boundary), WIDEST_GAP)
    yield "bowler runs last 6", bowler.sums(balls.bowlers_runs, 6)
    yield "bowler runs last 12", bowler.sums(balls.bowlers_runs, 12)
    yield "bowler last", bowler.earlier(balls.outcome)
    place = np.arange(len(balls))
    gap = place - bowler.earlier(place, fill=-WIDEST_GAP * 3)
    yield "bowler balls since his last", np.minimum(gap, WIDEST_GAP * 3)
    new_over = bowler.earlier(balls.over) != balls.over
    yield "bowler overs", bowler.sums(new_over.astype(np.int64))


def _this_over(balls: BallTable) -> Columns:
    over = Groups(balls.innings * 1000 + balls.over)
    now: dict[str, NDArray[Any]] = {
        "runs": balls.runs_total,
        "boundaries": balls.boundary,
        "wides": balls.was("wd"),
        "no-balls": balls.was("nb"),
        "wickets": balls.was("W"),
        "dots": balls.dot,
        "legal balls": balls.legal,
    }
    for name, values in now.items():
        yield f"this over {name}", over.sums(values.astype(np.int64))


def _lately(balls: BallTable) -> Columns:
    """The last balls of the innings, whoever played them."""
    innings = Groups(balls.innings)
    lately: dict[str, NDArray[Any]] = {
        "runs": balls.runs_total,
        "dots": balls.dot,
        "boundaries": balls.boundary,
        "wickets": balls.was("W"),
        "wides": balls.was("wd"),
    }
    for name, values in lately.items():
        for last in (6, 12):
            yield f"{name} last {last}", innings.sums(values.astype(np.int64), last)
    for last in (24, 36):
        yield f"runs last {last}", innings.sums(balls.runs_total, last)
    for last in (18, 24):
        yield f"wickets last {last}", innings.sums(balls.was("W").astype(np.int64), last)
    yield "dots in a row", innings.since(~balls.dot)
    for name, happened in (
        ("boundary", balls.boundary),
        ("wicket", balls.was("W")),
        ("six", balls.was("6")),
    ):
        yield f"balls since {name}", np.minimum(innings.since(happened), WIDEST_GAP)
    for name in ("wd", "nb", "6", "4", "bye"):
        yield f"innings {name}", innings.sums(balls.was(name).astype(np.int64))
    for steps in (1, 2, 3):
        yield f"outcome {steps} before", innings.earlier(balls.outcome, steps)
    yield "same striker", innings.earlier(balls.batter) == balls.batter
    yield "same bowler", innings.earlier(balls.bowler) == balls.bowler

    # The over before: all balls up to the last one of an earlier over, less those before it.
    total = innings.sums(balls.runs_total)
    over = Groups(balls.innings * 1000 + balls.over)
    at_start = total - over.sums(balls.runs_total)
    first = over.count() == 0
    starts = Groups(np.where(first, balls.innings, -1 - np.arange(len(balls))))
    before = np.where(first, at_start - starts.earlier(at_start, fill=0), 0)
    yield "previous over", over.sums(before * first) + before
