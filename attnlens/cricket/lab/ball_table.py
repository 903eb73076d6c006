"""Every ball of many innings as one table of arrays, and sums over the balls before each.

The baselines' columns are made from these.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attnlens.arrays import Flags, Floats32, Integers
from attnlens.cricket.lab.held_out import EncodedInnings
from attnlens.cricket.match.competition import quota_of
from attnlens.cricket.match.match import Delivery
from attnlens.cricket.match.outcomes import OUTCOME_INDEX
from attnlens.cricket.predictor.ratings import team_key, venue_key
from attnlens.cricket.predictor.tensors import RATING_SCALE, InningsArrays, free_hits

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class BallTable:
    """Every ball of many innings, in order; arrays ``(balls,)``, some ``(balls, 11)``.

    Attributes:
        match, innings: numbers that grow with the rows.
        began, ended: the match's first and last day, as ordinals.
        batter to bowling_team: numbers over all matches.
        quota, target: legal balls the side may face, and runs needed to win; 0 for none.
        base: log-probabilities from the scoreboard alone ``(balls, 11)``.
        ratings: rating vectors by name of `RATED`, each ``(balls, 11)``.
        met: balls the ratings have seen of each of those but the era ``(balls,)``.
        importance: the features of `match_importance` ``(balls, 20)``.
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
    base: Floats32
    ratings: dict[str, Floats32]
    met: dict[str, Floats32]
    importance: Floats32
    position: Floats32

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def people(self) -> int:
        """How many players there are."""
        return int(max(self.batter.max(), self.non_striker.max(), self.bowler.max())) + 1

    def was(self, outcome: str) -> Flags:
        """Whether each ball was that outcome."""
        flags: Flags = self.outcome == OUTCOME_INDEX[outcome]
        return flags


RATED: Final = ("striker", "bowler", "venue", "batting_team", "bowling_team", "era")
ROLES: Final = ("batter", "non_striker", "bowler")
OF_A_BALL: Final[dict[str, Callable[[Delivery], int]]] = {
    "runs_batter": lambda ball: ball.runs_batter,
    "runs_total": lambda ball: ball.runs_total,
    "bowlers_runs": lambda ball: (
        ball.runs_batter + ball.extras.get("wides", 0) + ball.extras.get("noballs", 0)
    ),
    "bowlers_wicket": lambda ball: ball.bowlers_wickets > 0,
    "legal": lambda ball: ball.is_legal,
    "score": lambda ball: ball.score_before,
    "wickets": lambda ball: ball.wickets_before,
    "legal_before": lambda ball: ball.legal_balls_before,
}


def ball_table(encoded: Sequence[EncodedInnings]) -> BallTable:
    """Innings, in order of date, as one table.

    Both innings of a match have to be there for the second to know of the first.
    """
    people, places, sides, matches = _Numbers(), _Numbers(), _Numbers(), _Numbers()
    ids: dict[str, str] = {}
    parts: list[dict[str, NDArray[Any]]] = []
    for place, one in enumerate(encoded):
        match, innings = one.match, one.side
        balls = innings.deliveries
        players = {role: [getattr(ball, role) for ball in balls] for role in ROLES}
        for role in ROLES:
            for player in players[role]:
                if player.id:
                    ids.setdefault(player.name, player.id)
        same = {
            "match": matches[match.match_id],
            "innings": place,
            "number": innings.number,
            "began": (match.date or datetime.date.min).toordinal(),
            "ended": max(match.dates, default=datetime.date.min).toordinal(),
            "venue": places[venue_key(match)],
            "batting_team": sides[team_key(match, innings.batting_team)],
            "bowling_team": sides[team_key(match, innings.bowling_team)],
            "quota": quota_of(match, innings) or 0,
            "target": innings.target or 0,
            "won_toss": match.toss.get("winner") == innings.batting_team,
        }
        parts.append(
            {
                **{name: np.full(len(balls), value) for name, value in same.items()},
                **{
                    role: np.array([people[p.id or ids.get(p.name, p.name)] for p in some])
                    for role, some in players.items()
                },
                **{name: np.array([*map(read, balls)]) for name, read in OF_A_BALL.items()},
                "free_hit": np.array(free_hits(balls)),
                **_encoded(one.arrays),
            }
        )
    if not parts:
        raise ValueError("a table needs at least one innings")
    flat = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    ratings = {name: flat.pop(f"rating {name}") for name in RATED}
    met = {name: flat.pop(f"met {name}") for name in RATED if name != "era"}
    return BallTable(**flat, ratings=ratings, met=met)


class _Numbers(dict[str, int]):
    """A number for every name, in order of first asking."""

    def __missing__(self, name: str) -> int:
        return self.setdefault(name, len(self))


def _encoded(arrays: InningsArrays) -> dict[str, NDArray[Any]]:
    """Columns that an innings' arrays have already."""
    nodes = arrays.nodes
    batting, bowling = nodes["team_context"][:, :12], nodes["team_context"][:, 12:]
    told = {
        "striker": (arrays.ratings["striker"], nodes["batsman_identity"]),
        "bowler": (arrays.ratings["bowler"], nodes["bowler_identity"]),
        "venue": (arrays.ratings["venue"], nodes["venue"]),
        "batting_team": (batting[:, :11] / RATING_SCALE, batting),
        "bowling_team": (bowling[:, :11] / RATING_SCALE, bowling),
    }
    return {
        **{
            name: getattr(arrays, name)
            for name in ("over", "ball_in_over", "boundary", "dot", "outcome", "base")
        },
        **{f"rating {name}": rating for name, (rating, _) in told.items()},
        **{f"met {name}": node[:, 11] for name, (_, node) in told.items()},
        "rating era": arrays.ratings["era"],
        "importance": nodes["match_importance"],
        "position": nodes["batsman_identity"][:, 12] * 11,
    }


class Groups:
    """Balls that share a key ``(n,)``; each knows those of its group that came before it.

    ``time`` is the order within a group where the rows are not in order already.
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
        """Sums, or counts of flags, over those before, or the ``last`` of them, same shape."""
        exact = np.float64 if np.issubdtype(values.dtype, np.floating) else np.int64
        running = np.zeros((len(values) + 1, *values.shape[1:]), exact)
        np.cumsum(values[self._order], axis=0, out=running[1:], dtype=exact)
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


class Ledger:
    """What entities, ``key`` ``(n,)``, did on earlier days.

    A ball counts for matches that ``began`` after its own had ``ended``.
    """

    def __init__(self, key: Integers, began: Integers, ended: Integers) -> None:
        first = int(min(began.min(), ended.min()))
        span = int(max(began.max(), ended.max())) - first + 1
        known = key * span + (ended - first)
        self._order = np.argsort(known, kind="stable")
        ordered = known[self._order]
        self._low = np.searchsorted(ordered, key * span)
        self._high = np.searchsorted(ordered, key * span + (began - first))

    def sums(self, values: NDArray[Any]) -> Doubles:
        """Sums over the entity's balls of earlier days, ``(n,)`` or ``(n, columns)``."""
        running = np.zeros((len(values) + 1, *values.shape[1:]))
        np.cumsum(values[self._order], axis=0, out=running[1:])
        return running[self._high] - running[self._low]
