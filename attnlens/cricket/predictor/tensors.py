"""Convert an innings to arrays, which describe each ball twice: as a query and as a past ball.

The **query side** contains the facts that are known before the ball. The only running totals are on
the scoreboard. The **past side** contains the facts that later balls attend to: the outcome, the
position in the innings, the players and the players' ratings. The past side of a ball contains no
information about other past balls.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from attnlens.cricket.match.competition import (
    KIND_SIZE,
    competition_of,
    kind_of_cricket,
    phase_of,
    quota_of,
    table_of,
    team_key,
)
from attnlens.cricket.match.ledger import free_hits
from attnlens.cricket.match.match import OUTCOME_INDEX, OUTCOMES, Delivery, Innings, Match, Player
from attnlens.cricket.predictor.day_tables import summary_of
from attnlens.cricket.predictor.ratings import KINDS, Ratings, softmax
from attnlens.files import Floats, Floats32, Integers

OVER_CLASSES: Final = 20
RATING_SCALE: Final = np.float32(4)
"""Ratings are multiplied by this factor before they become features."""

_RATED: Final = len(OUTCOMES) + 1
"""The number of features of a rating: one per outcome, and the number of rated balls."""

NODES: Final[dict[str, dict[str, int]]] = {
    "global": {"venue": 24, "team_context": 24, "match_importance": 5 + KIND_SIZE + _RATED},
    "match_state": {
        "score_state": 3,
        "chase_state": 5,
        "phase_state": 6 + OVER_CLASSES,
        "time_pressure": 4,
        "wicket_buffer": 3 + 10,
    },
    "actor": {"batsman_identity": 14, "bowler_identity": 13},
}
"""For each layer of the ball graph, the number of features of each node."""

TODAY_DEVIATION: Final = 0.25
"""The assumed day-to-day standard deviation of a ground's rating."""

SCOREBOARD_NODES: Final = tuple(NODES["match_state"])
_SCOREBOARD_SIZE: Final = sum(NODES["match_state"].values())
BASE_SIZE: Final = _SCOREBOARD_SIZE + KIND_SIZE
PAST_NODES: Final = ("phase_state", "batsman_identity", "bowler_identity")
"""The nodes that describe a past ball."""

PAST_OUTCOME_SIZE: Final = len(OUTCOMES) + 3
"""The number of outcome features: one-hot outcome, total runs, boundary flag, penalty flag."""


@dataclass(frozen=True, slots=True, eq=False)
class InningsArrays:
    """One innings as arrays. The first axis of each array is the delivery.

    Attributes:
        nodes: the features of each node for the query side, shape ``(n, size)``.
        phase: the `phase_state` features for the past side, shape ``(n, 26)``; the free-hit feature
            is 0.
        past_outcome: the outcome features for the past side, shape ``(n, 14)``.
        base: the log-probabilities of `BaseModel`, shape ``(n, 11)``.
        usual: the log-probabilities of `usual_of`, shape ``(n, 11)``.
        prior: log-probabilities from kind of cricket, over and innings alone, shape ``(n, 11)``.
        ratings: vectors ``striker``, ``bowler``, ``venue``, ``teams``, ``era`` and ``today``, each
            with shape ``(n, 11)``. The vector ``era`` includes the ratings of the competition.
        batter, non_striker, bowler: the players' numbers within the innings.
        outcome: the class number of each ball's outcome; -1 for a ball without an outcome.
        met: for ``striker``, ``bowler`` and ``venue``, whether the rating is based on at least one
            ball, shape ``(n,)``.
    """

    nodes: dict[str, Floats32]
    phase: Floats32
    past_outcome: Floats32
    base: Floats32
    usual: Floats32
    prior: Floats32
    ratings: dict[str, Floats32]
    batter: Integers
    non_striker: Integers
    bowler: Integers
    over: Integers
    ball_in_over: Integers
    index: Integers
    outcome: Integers
    wicket: NDArray[np.bool_]
    boundary: NDArray[np.bool_]
    met: dict[str, NDArray[np.bool_]]

    def __len__(self) -> int:
        return len(self.index)


class Encoded(Protocol):
    """The arrays of one innings, with the match id and the innings number."""

    @property
    def match_id(self) -> str: ...
    @property
    def innings(self) -> int: ...
    @property
    def arrays(self) -> InningsArrays: ...


@dataclass(frozen=True, slots=True, eq=False)
class BaseModel:
    """A network and tables that predict outcomes from the scoreboard and the kind of cricket.

    Attributes:
        weights: alternating matrices ``(in, out)`` and biases ``(out,)``; tanh between the layers.
        prior: log-probabilities by kind of cricket, innings and over, ``(TABLES, 2, 20, 11)``.
        everything: the logarithm of each outcome's overall frequency, shape ``(11,)``.
    """

    weights: tuple[Floats32, ...]
    prior: Floats32
    everything: Floats32

    @property
    def last_over(self) -> Floats:
        """Outcome probabilities in the last over of a chase, shape ``(TABLES, 11)``."""
        odds = np.exp(self.prior[:, 1, -1].astype(np.float64))
        probabilities: Floats = odds / odds.sum(-1, keepdims=True)
        return probabilities

    def log_probabilities(self, scoreboard: Floats32) -> Floats32:
        """Return the log-probabilities, shape ``(n, 11)``, for rows of `base_inputs`."""
        value = scoreboard
        last = len(self.weights) // 2 - 1
        for layer in range(last + 1):
            value = value @ self.weights[2 * layer] + self.weights[2 * layer + 1]
            value = np.tanh(value) if layer < last else value
        shifted = value - value.max(-1, keepdims=True)
        logs: Floats32 = (shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))).astype(
            np.float32
        )
        return logs

    def of_innings(self, match: Match, innings: Innings) -> Floats32:
        """Return the log-probabilities of every delivery, shape ``(n, 11)``."""
        if not innings.deliveries:
            return np.zeros((0, len(self.everything)), np.float32)
        return self.log_probabilities(base_inputs(match, scoreboard(match, innings)))


def balls_in_over(deliveries: Sequence[Delivery]) -> list[int]:
    """Number the deliveries of each over, starting with 1. Wides and no-balls are counted."""
    n_met: Counter[int] = Counter()
    numbers = []
    for ball in deliveries:
        n_met[ball.over] += 1
        numbers.append(n_met[ball.over])
    return numbers


def batting_positions(deliveries: tuple[Delivery, ...]) -> list[int]:
    """For each delivery, return the striker's place in the order of appearance, counted from 1."""
    order: dict[str, int] = {}
    for ball in deliveries:
        for player in (ball.batter, ball.non_striker):
            order.setdefault(player.key, len(order) + 1)
    return [order[ball.batter.key] for ball in deliveries]


def scoreboard(match: Match, innings: Innings) -> dict[str, Floats32]:
    """Return the features of the match-state nodes, each with shape ``(deliveries, size)``."""
    quota, target, balls = quota_of(match, innings), innings.target, innings.deliveries
    fields = ("legal_balls_before", "score_before", "wickets_before", "over")
    legal, score, wickets, over = (
        np.array([getattr(ball, name) for ball in balls], float) for name in fields
    )
    zero = np.zeros(len(balls))
    left = np.maximum(quota - legal, 1) if quota else zero
    rate = 6 * score / np.maximum(legal, 6)
    chasing = zero + (target is not None)
    required = zero if target is None else np.maximum(target - score, 0)
    required_rate = np.minimum(6 * required / left, 36) if quota else zero
    over_class = np.minimum(20 * legal // quota if quota else zero + 10, OVER_CLASSES - 1)
    columns = {
        "score_state": [score / 100 - 0.8, rate / 8 - 1, np.log1p(score) / 5],
        "chase_state": [
            chasing,
            required / 100,
            required_rate / 10,
            chasing * (required_rate - rate) / 10,
            chasing * (required <= 12),
        ],
        "phase_state": [
            zero + (innings.number % 2 == 0),
            zero + innings.super_over,
            legal / 60 - 1 if quota else zero,
            np.minimum(balls_in_over(balls), 8) / 6,
            over / 20,
            zero + free_hits(balls),
            *np.eye(OVER_CLASSES)[over_class.astype(int)].T,
        ],
        "time_pressure": [
            left / 120,
            left / quota if quota else zero,
            zero + (left <= 12),
            zero + bool(quota),
        ],
        "wicket_buffer": [
            wickets / 10,
            np.minimum(left / np.maximum(10 - wickets, 1), 60) / 20,
            wickets * 10 / np.maximum(legal, 12),
            *np.eye(10)[np.minimum(wickets, 9).astype(int)].T,
        ],
    }
    return {name: np.stack(values, 1).astype(np.float32) for name, values in columns.items()}


def base_inputs(match: Match, nodes: dict[str, Floats32]) -> Floats32:
    """Return the scoreboard and the kind of cricket, shape ``(n, BASE_SIZE)``."""
    board = [nodes[name] for name in SCOREBOARD_NODES]
    kind = np.tile(np.array(kind_of_cricket(match), np.float32), (len(board[0]), 1))
    return np.concatenate([*board, kind], axis=1)


def match_importance(match: Match, innings: Innings, ratings: Ratings) -> list[float]:
    """Return the features of the node ``match_importance``, which are the same for every ball."""
    event = str(match.event.get("name", "")).lower()
    year = match.date.year + match.date.timetuple().tm_yday / 366 if match.date else 2020.0
    experience = []
    for team in (innings.batting_team, innings.bowling_team):
        entity = np.array([ratings.tables["batting_team"].row(team_key(match, team))])
        experience.append(float(ratings.tables["batting_team"].look_up(entity)[1][0]))
    competitions = ratings.tables["competition"]
    level, balls = competitions.look_up(np.array([competitions.row(competition_of(match))]))
    return [
        float("world" in event),
        float(bool(event) and " tour of " not in event and "world" not in event),
        (min(year, 2026.0) - 2015) / 10,
        *(math.log1p(balls) / 10 for balls in experience),
        *kind_of_cricket(match),
        *(RATING_SCALE * level[0]).tolist(),
        math.log1p(float(balls[0])) / 6,
    ]


def rate_today(
    match: Match, innings: Innings, ratings: Ratings, base: BaseModel
) -> tuple[Floats32, int]:
    """Return the rating ``today``, shape ``(11,)``, and the number of balls in earlier innings.

    The rating is one Newton step from zero (see `attnlens.cricket.predictor.ratings`).
    """
    surprise = np.zeros(len(OUTCOMES), np.float32)
    information = np.full(len(OUTCOMES), TODAY_DEVIATION**-2, np.float32)
    balls = 0
    for side in match.innings:
        if side.number >= innings.number or side.super_over or not side.deliveries:
            continue
        parts = ratings.parts(ratings.entities(match, side))
        logits = base.of_innings(match, side)
        expected = softmax(logits + sum(parts[kind.name] for kind in KINDS))
        outcome = np.array([OUTCOME_INDEX.get(ball.outcome, -1) for ball in side.deliveries])
        bowled = outcome >= 0
        expected = expected[bowled]
        surprise += np.bincount(outcome[bowled], minlength=len(OUTCOMES)) - expected.sum(0)
        information += (expected * (1 - expected)).sum(0)
        balls += int(bowled.sum())
    return surprise / information, balls


def usual_of(match: Match, innings: Innings, base: Floats32, ratings: Ratings) -> Floats32:
    """Return the log-probabilities of outcomes for average players, shape ``(n, 11)``.

    Recent outcomes in the competition correct ``base``, the log-probabilities of `BaseModel`.
    """
    quota = quota_of(match, innings)
    phases = [phase_of(ball.legal_balls_before, quota) for ball in innings.deliveries]
    ratios = ratings.levels.log_ratios(summary_of(match, ()))[np.array(phases, np.int64)]
    logits = base + ratios
    usual: Floats32 = (logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)).astype(
        np.float32
    )
    return usual


def encode_innings(
    match: Match, innings: Innings, ratings: Ratings, base: BaseModel
) -> InningsArrays:
    """Return the arrays for every delivery of an innings."""
    deliveries = innings.deliveries
    count = len(deliveries)
    nodes = scoreboard(match, innings)
    parts = ratings.parts(ratings.entities(match, innings))

    striker = parts["striker"] + parts["striker_phase"]
    bowler = parts["bowler"] + parts["bowler_phase"]
    venue = parts["venue"] + parts["venue_innings"]
    teams = parts["batting_team"] + parts["bowling_team"]
    today, today_balls = rate_today(match, innings, ratings, base)

    def with_count(rating: Floats32, kind: str) -> Floats32:
        return np.hstack([RATING_SCALE * rating, np.log1p(parts[f"{kind}_balls"])[:, None] / 6])

    venue_today = np.full((count, _RATED), np.log1p(np.float32(today_balls)) / 6, np.float32)
    venue_today[:, :-1] = RATING_SCALE * today
    nodes["venue"] = np.hstack([with_count(venue, "venue"), venue_today])
    sides = ("batting_team", "bowling_team")
    nodes["team_context"] = np.hstack([with_count(parts[team], team) for team in sides])
    importance = np.array(match_importance(match, innings, ratings), np.float32)
    nodes["match_importance"] = np.tile(importance, (count, 1))
    position = np.array(batting_positions(deliveries), np.float32)[:, None]
    is_new = {
        role: (parts[f"{role}_balls"] == 0).astype(np.float32)[:, None]
        for role in ("striker", "bowler")
    }
    identity = with_count(striker, "striker")
    nodes["batsman_identity"] = np.hstack([identity, position / 11, is_new["striker"]])
    nodes["bowler_identity"] = np.hstack([with_count(bowler, "bowler"), is_new["bowler"]])
    phase = nodes["phase_state"].copy()
    phase[:, 5] = 0

    over_class = phase[:, 6:].argmax(1) if count else np.zeros(0, np.int64)
    prior = base.prior[table_of(match), (innings.number + 1) % 2, over_class]
    outcome = np.array([OUTCOME_INDEX.get(ball.outcome, -1) for ball in deliveries], np.int64)
    expected = base.log_probabilities(base_inputs(match, nodes))
    numbers: dict[str, int] = {}

    def number_of(player: Player) -> int:
        return numbers.setdefault(ratings.player_key(player), len(numbers))

    return InningsArrays(
        nodes=nodes,
        phase=phase,
        past_outcome=_past_outcome(deliveries, outcome),
        base=expected,
        usual=usual_of(match, innings, expected, ratings),
        prior=prior,
        ratings={
            "striker": striker,
            "bowler": bowler,
            "venue": venue,
            "teams": teams,
            "era": parts["era"] + parts["competition"] + parts["competition_phase"],
            "today": np.tile(today, (count, 1)),
        },
        **{
            role: np.array([number_of(getattr(ball, role)) for ball in deliveries], np.int64)
            for role in ("batter", "non_striker", "bowler")
        },
        over=np.array([ball.over for ball in deliveries], np.int64),
        ball_in_over=np.array(balls_in_over(deliveries), np.int64),
        index=np.array([ball.index for ball in deliveries], np.int64),
        outcome=outcome,
        wicket=np.array([ball.outcome == "W" for ball in deliveries], bool),
        boundary=np.array([ball.boundary for ball in deliveries], bool),
        met={name: parts[f"{name}_balls"] > 0 for name in ("striker", "bowler", "venue")},
    )


def _past_outcome(deliveries: Sequence[Delivery], outcome: Integers) -> Floats32:
    features = np.zeros((len(deliveries), PAST_OUTCOME_SIZE), np.float32)
    bowled = np.flatnonzero(outcome >= 0)
    features[bowled, outcome[bowled]] = 1
    for number, ball in enumerate(deliveries):
        features[number, len(OUTCOMES) :] = (
            min(ball.runs_total, 8) / 4,
            ball.boundary,
            "penalty" in ball.extras,
        )
    return features
