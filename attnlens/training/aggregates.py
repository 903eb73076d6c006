"""What a ball's scoreboard and the earlier balls of its innings add up to, for the baselines.

The predictor is not fed such sums: it reads past balls by attention. The boosted trees it is
compared with get all of them. Every column of a ball's row is known before it is bowled.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from attnlens.cricket.match import Delivery, Innings, Match
from attnlens.cricket.outcomes import NOT_THE_BOWLERS, OUTCOME_INDEX
from attnlens.cricket.ratings import quota_of, team_key, venue_key
from attnlens.cricket.tensors import RATING_SCALE, InningsArrays, free_hits

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Columns = Iterator[tuple[str, NDArray[Any]]]

WIDEST_GAP: Final = 40
"""Balls since something are counted up to here: what is longer ago is long ago."""


class Encoded(Protocol):
    """One innings of a match, encoded with the ratings of the day before it."""

    @property
    def match_id(self) -> str: ...
    @property
    def innings(self) -> int: ...
    @property
    def arrays(self) -> InningsArrays: ...


@dataclass(frozen=True, slots=True, eq=False)
class BallTable:
    """Every ball of many innings, in order; arrays ``(balls,)``, some ``(balls, 11)``.

    Attributes:
        match, innings: numbers that grow with the rows.
        began, ended: the match's first and last day, as ordinals.
        batter, non_striker, bowler, venue, batting_team, bowling_team: numbers over all
            matches.
        quota: legal balls the side may face, 0 where there is no limit.
        target: runs needed to win, 0 where there is none.
        bowlers_runs: runs that count against the bowler.
        bowlers_wicket: whether a wicket is the bowler's.
        base: log-probabilities from the scoreboard alone ``(balls, 11)``.
        ratings: rating vectors of striker, bowler, venue, batting team, bowling team and
            era, each ``(balls, 11)``.
        met: balls the ratings have seen of each of those but the era ``(balls,)``.
        importance: the features of `match_importance` ``(balls, 5)``.
        position: the striker's place in the batting order.
    """

    match: Integers
    innings: Integers
    number: Integers
    began: Integers
    ended: Integers
    batter: Integers
    non_striker: Integers
    bowler: Integers
    venue: Integers
    batting_team: Integers
    bowling_team: Integers
    quota: Integers
    target: Integers
    won_toss: Flags
    over: Integers
    ball_in_over: Integers
    legal: Flags
    free_hit: Flags
    runs_batter: Integers
    runs_total: Integers
    bowlers_runs: Integers
    bowlers_wicket: Flags
    boundary: Flags
    dot: Flags
    score: Integers
    wickets: Integers
    legal_before: Integers
    outcome: Integers
    base: Floats
    ratings: dict[str, Floats]
    met: dict[str, Floats]
    importance: Floats
    position: Floats

    def __len__(self) -> int:
        return len(self.outcome)

    def was(self, outcome: str) -> Flags:
        """Whether each ball was that outcome."""
        flags: Flags = self.outcome == OUTCOME_INDEX[outcome]
        return flags


def ball_table(matches: Iterable[Match], encoded: Sequence[Encoded]) -> BallTable:
    """Innings as one table.

    Args:
        matches: those the innings are of, in any order; more do no harm.
        encoded: innings in order of date, so that the rows are. Both innings of a match
            have to be there for the second to know of the first.
    """
    by_id = {match.match_id: match for match in matches}
    people, places, sides = _Numbers(), _Numbers(), _Numbers()
    ids: dict[str, str] = {}
    match_numbers = _Numbers()
    parts: list[dict[str, NDArray[Any]]] = []
    for place, one in enumerate(encoded):
        match = by_id[one.match_id]
        innings = next(side for side in match.innings if side.number == one.innings)
        balls = innings.deliveries
        for ball in balls:
            for player in (ball.batter, ball.non_striker, ball.bowler):
                if player.id:
                    ids.setdefault(player.name, player.id)

        def who(role: str, balls: tuple[Delivery, ...] = balls) -> Integers:
            players = [getattr(ball, role) for ball in balls]
            return np.array([people[p.id or ids.get(p.name, p.name)] for p in players], np.int64)

        same = {
            "match": match_numbers[match.match_id],
            "innings": place,
            "number": innings.number,
            "began": (match.date or datetime.date.min).toordinal(),
            "ended": max(match.dates, default=datetime.date.min).toordinal(),
            "venue": places[venue_key(match)],
            "batting_team": sides[team_key(match, innings.batting_team)],
            "bowling_team": sides[team_key(match, innings.bowling_team)],
            "quota": quota_of(match, innings) or 0,
            "target": innings.target or 0,
        }
        won = match.toss.get("winner") == innings.batting_team
        parts.append(
            {
                **{name: np.full(len(balls), value, np.int64) for name, value in same.items()},
                "won_toss": np.full(len(balls), won),
                **{role: who(role) for role in ("batter", "non_striker", "bowler")},
                **_deliveries(innings),
                **_encoded(one.arrays),
            }
        )
    if not parts:
        raise ValueError("a table needs at least one innings")
    flat = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    ratings = {name: flat.pop(f"rating {name}") for name in RATED}
    met = {name: flat.pop(f"met {name}") for name in RATED if name != "era"}
    return BallTable(**flat, ratings=ratings, met=met)


RATED: Final = ("striker", "bowler", "venue", "batting_team", "bowling_team", "era")


class _Numbers(dict[str, int]):
    """A number for every name, in order of first asking."""

    def __missing__(self, name: str) -> int:
        return self.setdefault(name, len(self))


def _deliveries(innings: Innings) -> dict[str, NDArray[Any]]:
    balls = innings.deliveries
    extras = [ball.extras for ball in balls]
    against = [
        ball.runs_batter + extra.get("wides", 0) + extra.get("noballs", 0)
        for ball, extra in zip(balls, extras, strict=True)
    ]
    took = [any(w.kind not in NOT_THE_BOWLERS for w in ball.wickets) for ball in balls]
    whole = {
        "runs_batter": "runs_batter",
        "runs_total": "runs_total",
        "score": "score_before",
        "wickets": "wickets_before",
        "legal_before": "legal_balls_before",
    }
    return {
        **{
            name: np.array([getattr(ball, field) for ball in balls], np.int64)
            for name, field in whole.items()
        },
        "bowlers_runs": np.array(against, np.int64),
        "bowlers_wicket": np.array(took, bool),
        "legal": np.array([ball.is_legal for ball in balls], bool),
        "free_hit": np.array(free_hits(balls), bool),
    }


def _encoded(arrays: InningsArrays) -> dict[str, NDArray[Any]]:
    nodes = arrays.nodes
    batting, bowling = nodes["team_context"][:, :12], nodes["team_context"][:, 12:]
    counted = {
        "striker": nodes["batsman_identity"][:, 11],
        "bowler": nodes["bowler_identity"][:, 11],
        "venue": nodes["venue"][:, 11],
        "batting_team": batting[:, 11],
        "bowling_team": bowling[:, 11],
    }
    return {
        **{
            name: getattr(arrays, name)
            for name in ("over", "ball_in_over", "boundary", "dot", "outcome", "base")
        },
        **{f"rating {name}": arrays.ratings[name] for name in ("striker", "bowler", "venue")},
        "rating batting_team": batting[:, :11] / RATING_SCALE,
        "rating bowling_team": bowling[:, :11] / RATING_SCALE,
        "rating era": arrays.ratings["era"],
        **{f"met {name}": value for name, value in counted.items()},
        "importance": nodes["match_importance"],
        "position": nodes["batsman_identity"][:, 12] * 11,
    }


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
    wide, no_ball = balls.was("wd"), balls.was("nb")
    faced = (~wide).astype(np.int64)

    striker = Groups(innings + balls.batter)
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

    bowler = Groups(innings + balls.bowler)
    bowled, against = bowler.sums(balls.legal.astype(np.int64)), bowler.sums(balls.bowlers_runs)
    yield "bowler balls", bowled
    yield "bowler runs", against
    yield "bowler economy", (against + 30) / (bowled + 24)
    yield "bowler wickets", bowler.sums(balls.bowlers_wicket.astype(np.int64))
    for name, flags in (("dots", balls.dot), ("boundaries", balls.boundary), ("wides", wide)):
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

    over = Groups(balls.innings * 1000 + balls.over)
    now: dict[str, NDArray[Any]] = {
        "runs": balls.runs_total,
        "boundaries": balls.boundary,
        "wides": wide,
        "no-balls": no_ball,
        "wickets": balls.was("W"),
        "dots": balls.dot,
        "legal balls": balls.legal,
    }
    for name, values in now.items():
        yield f"this over {name}", over.sums(values.astype(np.int64))

    meeting = Groups((innings + balls.batter) * people + balls.bowler)
    yield "meeting balls", meeting.count()
    yield "meeting runs", meeting.sums(balls.runs_batter)
    yield "meeting dots", meeting.sums(balls.dot.astype(np.int64))
    yield "meeting boundaries", meeting.sums(balls.boundary.astype(np.int64))
    first_bowler = Groups(balls.innings)
    new = (bowler.count() == 0).astype(np.int64)
    yield "bowlers used", first_bowler.sums(new)


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
