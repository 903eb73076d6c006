"""The features from which the baselines predict a ball.

All features are known before the ball is bowled. The features include the scoreboard, counts over
the innings so far, and ratings. Other features compare earlier outcomes with the expected outcomes.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attnlens.cricket.lab.held_out import EncodedInnings
from attnlens.cricket.match.competition import quota_of, team_key, venue_key
from attnlens.cricket.match.ledger import free_hits
from attnlens.cricket.match.match import OUTCOME_INDEX, OUTCOMES, Delivery
from attnlens.cricket.predictor.ratings import softmax
from attnlens.cricket.predictor.tensors import RATING_SCALE, InningsArrays
from attnlens.files import Flags, Floats32, Integers

Doubles = NDArray[np.float64]
BallColumns = dict[str, NDArray[Any]]
"""Named arrays with shape ``(balls,)`` or ``(balls, columns)``."""

_RATED: Final = ("striker", "bowler", "venue", "batting_team", "bowling_team", "era")
_ROLES: Final = ("batter", "non_striker", "bowler")
_OF_A_BALL: Final[Mapping[str, Callable[[Delivery], int]]] = {
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


def ball_columns(encoded: Sequence[EncodedInnings]) -> BallColumns:
    """Return the columns that describe every ball of the given innings.

    The innings must be in order of date. A second innings requires the first innings of the match.
    Each outcome, such as ``wd``, has a column of flags.
    """
    people, venues, teams, matches = (defaultdict[str, int](count().__next__) for _ in range(4))
    ids: dict[str, str] = {}
    parts: list[BallColumns] = []
    for index, innings in enumerate(encoded):
        match, side = innings.match, innings.side
        balls = side.deliveries
        players = {role: [getattr(ball, role) for ball in balls] for role in _ROLES}
        for role in _ROLES:
            for player in players[role]:
                if player.id:
                    ids.setdefault(player.name, player.id)
        same = {
            "match": matches[match.match_id],
            "innings": index,
            "number": side.number,
            "began": (match.date or datetime.date.min).toordinal(),
            "ended": max(match.dates, default=datetime.date.min).toordinal(),
            "venue": venues[venue_key(match)],
            "batting_team": teams[team_key(match, side.batting_team)],
            "bowling_team": teams[team_key(match, side.bowling_team)],
            "quota": quota_of(match, side) or 0,
            "target": side.target or 0,
            "won_toss": match.toss.get("winner") == side.batting_team,
        }
        parts.append(
            {
                **{name: np.full(len(balls), value) for name, value in same.items()},
                **{
                    role: np.array([people[p.id or ids.get(p.name, p.name)] for p in in_role])
                    for role, in_role in players.items()
                },
                **{name: np.array([*map(read, balls)]) for name, read in _OF_A_BALL.items()},
                "free_hit": np.array(free_hits(balls)),
                **_encoded_columns(innings.arrays),
            }
        )
    if not parts:
        raise ValueError("a table needs at least one innings")
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    flags = {outcome: columns["outcome"] == row for row, outcome in enumerate(OUTCOMES)}
    # A player has a different key in each innings, so that sums cover only one innings.
    batter = columns["innings"] * len(people) + columns["batter"]
    return (
        columns
        | flags
        | {
            "batter in innings": batter,
            "non_striker in innings": columns["innings"] * len(people) + columns["non_striker"],
            "bowler in innings": columns["innings"] * len(people) + columns["bowler"],
            "pair in innings": batter * len(people) + columns["bowler"],
            "over in innings": columns["innings"] * 1000 + columns["over"],
        }
    )


def _encoded_columns(arrays: InningsArrays) -> BallColumns:
    nodes = arrays.nodes
    batting, bowling = nodes["team_context"][:, :12], nodes["team_context"][:, 12:]
    ratings = {
        "striker": (arrays.ratings["striker"], nodes["batsman_identity"]),
        "bowler": (arrays.ratings["bowler"], nodes["bowler_identity"]),
        "venue": (arrays.ratings["venue"], nodes["venue"]),
        "batting_team": (batting[:, :11] / RATING_SCALE, batting),
        "bowling_team": (bowling[:, :11] / RATING_SCALE, bowling),
    }
    return {
        **{
            name: getattr(arrays, name)
            for name in ("over", "ball_in_over", "boundary", "outcome", "base")
        },
        "dot": arrays.outcome == OUTCOME_INDEX["0"],
        **{f"rating {name}": rating for name, (rating, _) in ratings.items()},
        **{f"met {name}": node[:, 11] for name, (_, node) in ratings.items()},
        "rating era": arrays.ratings["era"],
        "importance": nodes["match_importance"],
        "position": nodes["batsman_identity"][:, 12] * 11,
    }


class Groups:
    """Groups of balls, with statistics over the earlier balls of the same group.

    ``key`` has shape ``(n,)``. Balls with the same key form a group, in row order.
    """

    def __init__(self, key: Integers) -> None:
        self._order = np.argsort(key, kind="stable")
        ordered = key[self._order]
        self._rows = np.arange(len(key))
        first = np.diff(ordered, prepend=ordered[0] - 1) != 0
        self._start = np.maximum.accumulate(np.where(first, self._rows, 0))

    def _back(self, ordered: NDArray[Any]) -> NDArray[Any]:
        result = np.empty_like(ordered)
        result[self._order] = ordered
        return result

    def count(self) -> Integers:
        """Return, for each ball, the number of earlier balls in the same group."""
        return self._back(self._rows - self._start)

    def sums(self, values: NDArray[Any], last: int | None = None) -> NDArray[Any]:
        """Return, for each ball, the sum of ``values`` over the earlier balls of the same group.

        The result has the same shape as ``values``. If ``last`` is given, only the most recent
        ``last`` balls are summed.
        """
        exact = np.float64 if np.issubdtype(values.dtype, np.floating) else np.int64
        running = np.zeros((len(values) + 1, *values.shape[1:]), exact)
        np.cumsum(values[self._order], axis=0, out=running[1:], dtype=exact)
        low = self._start if last is None else np.maximum(self._start, self._rows - last)
        return self._back(running[self._rows] - running[low])

    def since(self, flags: Flags) -> Integers:
        """Return, for each ball, the number of balls since the last flagged ball.

        Only balls of the same group are counted. If no earlier ball is flagged, all earlier balls
        of the group are counted.
        """
        after = np.where(flags[self._order], self._rows + 1, 0)
        latest = np.concatenate([[0], np.maximum.accumulate(after)[:-1]])
        return self._back(self._rows - np.maximum(latest, self._start))

    def earlier(self, values: NDArray[Any], steps: int = 1, fill: int = -1) -> NDArray[Any]:
        """For each ball, return the value ``steps`` balls earlier in the group, or ``fill``."""
        rows = self._rows - steps
        inside = rows >= self._start
        return self._back(np.where(inside, values[self._order][np.where(inside, rows, 0)], fill))


class Ledger:
    """Sums over earlier matches, for each entity (such as a player).

    Each argument has shape ``(n,)``. ``key`` is the entity of each ball. ``began`` and ``ended``
    are the first and the last day of each ball's match. Only matches that ended before the ball's
    match began are summed.
    """

    def __init__(self, key: Integers, began: Integers, ended: Integers) -> None:
        first = int(min(began.min(), ended.min()))
        span = int(max(began.max(), ended.max())) - first + 1
        days = key * span + (ended - first)
        self._order = np.argsort(days, kind="stable")
        ordered = days[self._order]
        self._low = np.searchsorted(ordered, key * span)
        self._high = np.searchsorted(ordered, key * span + (began - first))

    def sums(self, values: NDArray[Any]) -> Doubles:
        """Return, for each ball, the sum of ``values`` over the same entity's earlier matches.

        The result has the same shape as ``values``: ``(n,)`` or ``(n, columns)``.
        """
        running = np.zeros((len(values) + 1, *values.shape[1:]))
        np.cumsum(values[self._order], axis=0, out=running[1:])
        return running[self._high] - running[self._low]


Columns = Iterator[tuple[str, NDArray[Any]]]

_MAX_BALLS_SINCE: Final = 40

_SHRINKAGE: Final = {"striker": 80.0, "bowler": 80.0, "venue": 150.0, "pair": 60.0}
"""The number of imaginary balls with the expected outcomes that are added to each record."""

_HALF_LIFE_DAYS: Final = 365.0

_FREQUENT: Final = ("0", "1", "2", "4", "6", "W", "wd")


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTable:
    """The baselines' features for a sequence of balls.

    ``values`` has shape ``(balls, columns)``. ``outcome`` and ``match`` have shape ``(balls,)``.
    Some columns contain the outcome class of an earlier ball, or -1 if there is no such ball.
    """

    names: tuple[str, ...]
    values: Floats32
    outcome: Integers
    match: Integers

    def __len__(self) -> int:
        return len(self.outcome)

    def column(self, name: str) -> Floats32:
        return self.values[:, self.names.index(name)]

    def rows(self, chosen: NDArray[Any] | slice) -> FeatureTable:
        """Return a table that has only the chosen balls."""
        return FeatureTable(
            self.names, self.values[chosen], self.outcome[chosen], self.match[chosen]
        )


def feature_table(encoded: Sequence[EncodedInnings]) -> FeatureTable:
    """Return the features of every ball. The innings must be in order of date.

    Only earlier balls of the match, and earlier matches in ``encoded``, are used.
    """
    balls = ball_columns(encoded)
    names: list[str] = []
    columns: list[Floats32] = []
    for name, values in _columns(balls):
        table = values if values.ndim == 2 else values[:, None]
        outcomes = _FREQUENT if table.shape[1] == len(_FREQUENT) else OUTCOMES
        names += [name] if values.ndim == 1 else [f"{name} {outcome}" for outcome in outcomes]
        columns.append(table.astype(np.float32))
    values = np.concatenate(columns, axis=1)
    return FeatureTable(tuple(names), values, balls["outcome"], balls["match"])


def _columns(balls: BallColumns) -> Columns:
    """Yield each feature's name and values, with shape ``(balls,)`` or ``(balls, columns)``."""
    bowler = Groups(balls["bowler in innings"])
    yield from _scoreboard(balls)
    yield from _first_innings(balls)
    yield from _striker(balls, Groups(balls["batter in innings"]))
    yield from _stand(balls)
    yield from _bowler(balls, bowler)
    over = Groups(balls["over in innings"])
    for name, column in _OVER_SUMS.items():
        yield f"this over {name}", over.sums(balls[column])
    pair = Groups(balls["pair in innings"])
    yield "meeting balls", pair.count()
    for name, column in {"runs": "runs_batter", "dots": "dot", "boundaries": "boundary"}.items():
        yield f"meeting {name}", pair.sums(balls[column])
    yield "bowlers used", Groups(balls["innings"]).sums(bowler.count() == 0)
    for part in (_last_balls, _single_balls, _ratings, _records, _surprises):
        yield from part(balls)


_OVER_SUMS: Final = {
    "runs": "runs_total",
    "boundaries": "boundary",
    "wides": "wd",
    "no-balls": "nb",
    "wickets": "W",
    "dots": "dot",
    "legal balls": "legal",
}
_MATCH_FEATURES: Final = (
    *("world", "tournament", "year", "batting known", "bowling known"),
    *("women", "club", "five-ball overs"),
    *(f"level {outcome}" for outcome in OUTCOMES),
    "level known",
)


def _scoreboard(balls: BallColumns) -> Columns:
    legal, score, quota, target = (
        balls[name] for name in ("legal_before", "score", "quota", "target")
    )
    limited, chasing = quota > 0, target > 0
    left = np.where(limited, np.maximum(quota - legal, 1), 0)
    rate = _run_rate(balls)
    required = np.where(chasing, np.maximum(target - score, 0), 0)
    required_rate = np.where(
        chasing & limited, np.minimum(6 * required / np.maximum(left, 1), 36), 0
    )
    share = legal / np.where(limited, quota, 120)
    wickets_left = np.maximum(10 - balls["wickets"], 1)
    yield "second innings", balls["number"] % 2 == 0
    yield "over", balls["over"]
    yield "ball in over", balls["ball_in_over"]
    yield "legal balls", legal
    yield "balls left", left
    yield "quota", quota
    yield "share of the innings", share
    yield "powerplay", share < 0.3
    yield "middle", (share >= 0.3) & (share < 0.75)
    yield "death", share >= 0.75
    yield "score", score
    yield "wickets", balls["wickets"]
    yield "run rate", rate
    yield "target", target
    yield "required", required
    yield "required rate", required_rate
    yield "required over rate", np.where(chasing, required_rate - rate, 0)
    yield "required per ball and wicket", required_rate / wickets_left
    yield "balls per wicket left", left / wickets_left
    yield "projected", score + left * rate / 6
    yield "free hit", balls["free_hit"]
    yield "won the toss", balls["won_toss"]
    for number, name in enumerate(_MATCH_FEATURES):
        yield f"match {name}", balls["importance"][:, number]


def _run_rate(balls: BallColumns) -> Doubles:
    return np.asarray(6 * balls["score"] / np.maximum(balls["legal_before"], 6))


def _first_innings(balls: BallColumns) -> Columns:
    match, innings = Groups(balls["match"]), Groups(balls["innings"])
    n_balls = match.count() - innings.count()
    for name, column in {"runs": "runs_total", "wickets": "W", "boundaries": "boundary"}.items():
        total = match.sums(balls[column]) - innings.sums(balls[column])
        per_ball = total / np.maximum(n_balls, 1)
        yield f"earlier innings {name} per ball", per_ball
        if name == "runs":
            gap = np.where(n_balls > 0, _run_rate(balls) - 6 * per_ball, 0)
            yield "run rate over earlier innings", gap


def _striker(balls: BallColumns, striker: Groups) -> Columns:
    runs, n_balls = striker.sums(balls["runs_batter"]), striker.sums(~balls["wd"])
    yield "position", balls["position"]
    yield "striker runs", runs
    yield "striker balls", n_balls
    yield "striker rate", (runs + 12) / (n_balls + 10)
    yield "striker boundary", striker.sums(balls["boundary"])
    yield "striker dot", striker.sums(balls["dot"])
    yield "striker sixes", striker.sums(balls["6"])
    yield "striker dots in a row", striker.since(~balls["dot"])
    yield "striker balls since boundary", _capped(striker.since(balls["boundary"]))
    yield "striker runs last 6", striker.sums(balls["runs_batter"], 6)
    yield "striker runs last 12", striker.sums(balls["runs_batter"], 12)
    yield "striker last", striker.earlier(balls["outcome"])
    yield "striker last but one", striker.earlier(balls["outcome"], 2)
    yield "striker new", n_balls == 0


def _capped(balls_since: Integers, limit: int = _MAX_BALLS_SINCE) -> Integers:
    return np.minimum(balls_since, limit)


def _stand(balls: BallColumns) -> Columns:
    # The sums for the non-striker are over the balls that he has faced as the batter.
    both = Groups(
        np.stack([balls["batter in innings"], balls["non_striker in innings"]], 1).ravel()
    )
    for name, values in (("runs", balls["runs_batter"]), ("balls", ~balls["wd"])):
        faced = np.stack([values, np.zeros_like(values)], 1).ravel()
        yield f"non-striker {name}", both.sums(faced)[1::2]
    stand = Groups(balls["innings"] * 12 + np.minimum(balls["wickets"], 11))
    yield "stand runs", stand.sums(balls["runs_total"])
    yield "stand balls", stand.count()


def _bowler(balls: BallColumns, bowler: Groups) -> Columns:
    legal, conceded = bowler.sums(balls["legal"]), bowler.sums(balls["bowlers_runs"])
    yield "bowler balls", legal
    yield "bowler runs", conceded
    yield "bowler economy", (conceded + 30) / (legal + 24)
    yield "bowler wickets", bowler.sums(balls["bowlers_wicket"])
    yield "bowler dots", bowler.sums(balls["dot"])
    yield "bowler boundaries", bowler.sums(balls["boundary"])
    yield "bowler wides", bowler.sums(balls["wd"])
    yield "bowler dots in a row", bowler.since(~balls["dot"])
    yield "bowler balls since boundary", _capped(bowler.since(balls["boundary"]))
    yield "bowler runs last 6", bowler.sums(balls["bowlers_runs"], 6)
    yield "bowler runs last 12", bowler.sums(balls["bowlers_runs"], 12)
    yield "bowler last", bowler.earlier(balls["outcome"])
    rows, limit = np.arange(len(legal)), _MAX_BALLS_SINCE * 3
    yield "bowler balls since his last", _capped(rows - bowler.earlier(rows, fill=-limit), limit)
    yield "bowler overs", bowler.sums(bowler.earlier(balls["over"]) != balls["over"])


def _last_balls(balls: BallColumns) -> Columns:
    innings = Groups(balls["innings"])
    for name, column, lengths in (
        ("runs", "runs_total", (6, 12)),
        ("dots", "dot", (6, 12)),
        ("boundaries", "boundary", (6, 12)),
        ("wickets", "W", (6, 12)),
        ("wides", "wd", (6, 12)),
        ("runs", "runs_total", (24, 36)),
        ("wickets", "W", (18, 24)),
    ):
        for last in lengths:
            yield f"{name} last {last}", innings.sums(balls[column], last)
    yield "dots in a row", innings.since(~balls["dot"])
    for name, column in {"boundary": "boundary", "wicket": "W", "six": "6"}.items():
        yield f"balls since {name}", _capped(innings.since(balls[column]))
    for outcome in ("wd", "nb", "6", "4", "bye"):
        yield f"innings {outcome}", innings.sums(balls[outcome])


def _single_balls(balls: BallColumns) -> Columns:
    innings, over = Groups(balls["innings"]), Groups(balls["over in innings"])
    for steps in (1, 2, 3):
        yield f"outcome {steps} before", innings.earlier(balls["outcome"], steps)
    yield "same striker", innings.earlier(balls["batter"]) == balls["batter"]
    yield "same bowler", innings.earlier(balls["bowler"]) == balls["bowler"]

    # The runs of the previous over are the sum up to its end minus the sum up to its start.
    at_start = innings.sums(balls["runs_total"]) - over.sums(balls["runs_total"])
    first = over.count() == 0
    starts = Groups(np.where(first, balls["innings"], -1 - np.arange(len(first))))
    before = np.where(first, at_start - starts.earlier(at_start, fill=0), 0)
    yield "previous over", over.sums(before * first) + before


def _ratings(balls: BallColumns) -> Columns:
    yield "expected", np.log(np.maximum(_expected(balls), 1e-9))
    for name in _RATED:
        yield f"rating {name}", balls[f"rating {name}"]
    for name in _RATED[:-1]:
        yield f"met {name}", balls[f"met {name}"]


def _records(balls: BallColumns) -> Columns:
    began, ended = balls["began"], balls["ended"]
    outcomes = np.eye(len(OUTCOMES), dtype=np.float32)[balls["outcome"]]
    expected = softmax(balls["base"])
    keys = {
        "striker": balls["batter"],
        "bowler": balls["bowler"],
        "venue": balls["venue"],
        "pair": balls["batter"] * (int(balls["bowler"].max()) + 1) + balls["bowler"],
    }
    # The weight of a ball doubles with each year. The sums are divided by the weight of the current
    # day, so that older balls count less.
    weight = np.exp2((ended - ended.min()) / _HALF_LIFE_DAYS)
    current = np.exp2((began - ended.min()) / _HALF_LIFE_DAYS)
    for name, key in keys.items():
        shrink = _SHRINKAGE[name]
        ledger = Ledger(key, began, ended)
        n_balls = ledger.sums(np.ones(len(key)))
        record = _log_ratio(ledger.sums(outcomes), ledger.sums(expected), n_balls, shrink)
        yield f"record {name}", record
        if name == "pair":
            yield "met pair", np.log1p(n_balls)
            continue
        for column, values, prior in (
            ("runs", balls["runs_total"], 1.2),
            ("wickets", balls["W"], 0.05),
        ):
            rate = (ledger.sums(values) + prior * shrink) / (n_balls + shrink)
            yield f"{name} {column} per ball", rate
        if name == "venue":
            continue
        recent = ledger.sums(weight[:, None] * outcomes) / current[:, None]
        due = ledger.sums(weight[:, None] * expected) / current[:, None]
        yield f"form {name}", _log_ratio(recent, due, ledger.sums(weight) / current, shrink / 2)


def _surprises(balls: BallColumns) -> Columns:
    surprise = -_expected(balls)
    surprise[np.arange(len(surprise)), balls["outcome"]] += 1
    frequent = [OUTCOMES.index(outcome) for outcome in _FREQUENT]
    surprise = surprise[:, frequent].astype(np.float64)
    innings, match = Groups(balls["innings"]), Groups(balls["match"])
    for last, shrink in ((12, 12), (36, 30)):
        n_balls = np.minimum(innings.count(), last)[:, None]
        yield f"surprise last {last}", innings.sums(surprise, last) / (n_balls + shrink)
    for name, groups, shrink in (
        ("innings", innings, 60),
        ("match", match, 120),
        ("striker", Groups(balls["batter in innings"]), 20),
        ("bowler", Groups(balls["bowler in innings"]), 20),
    ):
        yield f"surprise {name}", groups.sums(surprise) / (groups.count() + shrink)[:, None]
    before = match.count() - innings.count()
    earlier = match.sums(surprise) - innings.sums(surprise)
    yield "surprise earlier innings", earlier / (before + 60)[:, None]


def _expected(balls: BallColumns) -> Floats32:
    logits = balls["base"] + sum(balls[f"rating {name}"] for name in _RATED)
    return softmax(np.asarray(logits, np.float32))


def _log_ratio(actual: Doubles, due: Doubles, n_balls: Doubles, shrink: float) -> Doubles:
    """Return the log ratio of actual to expected counts, with ``shrink`` imaginary balls added."""
    rate = actual / np.maximum(due, 1e-9)
    number = n_balls[:, None]
    return np.asarray(np.log((number * rate + shrink) / (number + shrink)))
