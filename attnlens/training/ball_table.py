"""Every ball of many innings as one table of arrays, which the baselines' columns are made from."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attnlens.cricket.match import Delivery, Innings, Match
from attnlens.cricket.outcomes import NOT_THE_BOWLERS, OUTCOME_INDEX
from attnlens.cricket.ratings import quota_of, team_key, venue_key
from attnlens.cricket.tensors import RATING_SCALE, Encoded, InningsArrays, free_hits

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


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
