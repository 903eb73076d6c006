"""The tokens and the inputs of the encoder-decoder (see docs/over.md).

The sources are earlier deliveries of the innings, ratings of earlier matches, and facts that are
known before the innings (sides, ground, target). The bowler of the over and the next batter are not
among the inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.cricket.match.competition import phase_of, quota_of
from attnlens.cricket.match.match import OUTCOME_INDEX, Delivery, Innings, Match, Player
from attnlens.cricket.match.naming import at_the_crease, over_ended, unbowled
from attnlens.cricket.over.encoder_decoder import END, PAD, START, OverSizes
from attnlens.cricket.predictor.ratings import Ratings, softmax
from attnlens.cricket.predictor.tensors import BaseModel, balls_in_over, base_inputs, scoreboard
from attnlens.cricket.predictor.window import to_tensor
from attnlens.files import Floats32, Integers

SPECIAL: Final[tuple[str, ...]] = ("<pad>", "<start>", "<end>")
_MAX_WIDE_RUNS: Final = 4
_OFF_NO_BALL: Final[tuple[int, ...]] = (0, 1, 2, 3, 4, 6)

TOKENS: Final[tuple[str, ...]] = (
    *SPECIAL,
    *map(str, range(7)),
    "W",
    "wd",
    *(f"wd+{runs}" for runs in range(1, _MAX_WIDE_RUNS + 1)),
    *("nb" if not runs else f"nb+{runs}" for runs in _OFF_NO_BALL),
    "lb",
    "b",
)
"""The 24 tokens, in the order of all probability vectors."""

TOKEN_INDEX: Final[dict[str, int]] = {token: number for number, token in enumerate(TOKENS)}
_END_TOKEN: Final = SPECIAL[END]


def token_of(ball: Delivery) -> str:
    """Return the token of a delivery.

    If no token has the delivery's number of runs, the token with the most runs is used (``wd+4``).
    """
    if ball.outcome == "W":
        return "W"
    extras = ball.extras
    ran = ball.runs_total - extras.get("penalty", 0) - 1
    if extras.get("wides"):
        return "wd" if ran <= 0 else f"wd+{min(ran, _MAX_WIDE_RUNS)}"
    if extras.get("noballs"):
        if ran <= 0:
            return "nb"
        return f"nb+{ran if ran in _OFF_NO_BALL else _OFF_NO_BALL[-1]}"
    if ball.runs_batter:
        return str(min(ball.runs_batter, 6))
    if extras.get("legbyes"):
        return "lb"
    return "b" if extras.get("byes") else "0"


def legal(token: str) -> bool:
    """Return whether a ball with this token counts towards the over; ``W`` always counts."""
    return token not in SPECIAL and not token.startswith(("wd", "nb"))


def overs_of(innings: Innings) -> dict[int, tuple[Delivery, ...]]:
    """Return the deliveries of each over. The keys are the over numbers in the file."""
    overs: dict[int, tuple[Delivery, ...]] = {}
    for ball in innings.deliveries:
        overs[ball.over] = (*overs.get(ball.over, ()), ball)
    return overs


def fewer_balls(innings: Innings) -> int | None:
    """Return the number of legal balls per over, or ``None`` if an over has six or more."""
    return innings.balls_per_over if innings.balls_per_over < 6 else None


def token_words(tokens: Sequence[int], balls: int | None = None) -> list[str]:
    """Convert token numbers to strings, and stop after ``<end>`` or ``balls`` legal deliveries."""
    words: list[str] = []
    for word in (TOKENS[number] for number in tokens):
        ended = _END_TOKEN in words or (word != _END_TOKEN and sum(map(legal, words)) == balls)
        if word == SPECIAL[PAD] or ended:
            break
        words.append(word)
    return words


RATED: Final = ("striker", "venue", "batting_team", "bowling_team", "era", "competition")
"""The kinds of rating among the inputs. Bowlers are left out: the next bowler is unknown."""

PAST_FEATURES: Final[tuple[str, ...]] = (
    *("innings_used", "ball_of_over", "overs_ago", "runs_batter", "runs_extras", "dot", "four"),
    *("six", "wicket", "wide", "no_ball", "bye", "next_striker", "next_partner", "last_bowler"),
    *("bowled_out", "surprise", "runs_above"),
)
"""The 18 features of a past ball, in order (see docs/over.md)."""

CONTEXT_FEATURES: Final[tuple[str, ...]] = (
    *("second", "super_over", "over", "innings_used", "powerplay", "death", "balls_left"),
    *("over_length", "score", "run_rate", "wickets", "chasing", "required", "required_rate"),
    *("rate_gap", "expected_runs", "expected_wickets", "ground_and_sides", "batters"),
    "new_batters",
)
"""The 20 features of the match at the start of the over."""

_BY_OVER: Final = slice(12, 16)
"""The columns that depend on the forecast over, without ``overs_ago``."""

_OVERS_AGO: Final = 2
_RUNS: Final = np.array([0, 1, 2, 3, 4, 5, 6, 0, 1, 1, 1], np.float32)
"""The typical number of runs for each outcome."""

_MIN_BOWLERS: Final = 5


@dataclass(frozen=True, slots=True, eq=False)
class OverArrays:
    """Arrays that describe one innings of ``n`` balls and ``m`` overs.

    Attributes:
        past_features: the `PAST_FEATURES` of every ball, ``(n, 18)``. Features that depend on the
            forecast over are 0.
        batter, bowler: each ball's player, numbered within the innings, ``(n,)``.
        ball_over: the over number of each ball in the file, ``(n,)``.
        legal: whether each ball was legal, ``(n,)``.
        base: the log-probabilities of the outcomes from the scoreboard alone, ``(n, 11)``.
        outcome: the class number of each ball's outcome, ``(n,)``; -1 without an outcome.
        over: the over numbers in the file, ``(m,)``.
        start: the number of balls before each over, ``(m,)``.
        pair: the striker and the non-striker at the start of each over, ``(m, 2)``; -1 if unknown.
        context: the `CONTEXT_FEATURES`, ``(m, 20)``.
        tokens: the tokens of each over.
        allotment: the number of legal balls that one bowler may bowl; 0 without a limit.
    """

    past_features: Floats32
    batter: Integers
    bowler: Integers
    ball_over: Integers
    legal: NDArray[np.bool_]
    base: Floats32
    outcome: Integers
    over: Integers
    start: Integers
    pair: Integers
    context: Floats32
    tokens: tuple[tuple[int, ...], ...]
    allotment: int

    def __len__(self) -> int:
        return len(self.over)

    def history(self, row: int, max_balls: int) -> Floats32:
        """Return `PAST_FEATURES` of the last ``max_balls`` balls before an over, ``(n, 18)``.

        The oldest ball comes first.
        """
        end = int(self.start[row])
        some = slice(max(0, end - max_balls), end)
        features = self.past_features[some].copy()
        if not end:
            return features
        features[:, _OVERS_AGO] = (self.over[row] - self.ball_over[some]) / 20
        bowler = self.bowler[some]
        bowled = np.bincount(self.bowler[:end], self.legal[:end])
        used = np.minimum(bowled / self.allotment, 1) if self.allotment else np.zeros_like(bowled)
        features[:, _BY_OVER] = np.stack(
            [
                self.batter[some] == self.pair[row, 0],
                self.batter[some] == self.pair[row, 1],
                bowler == self.bowler[end - 1],
                used[bowler],
            ],
            1,
        )
        return features


def encode_overs(
    match: Match, innings: Innings, ratings: Ratings, base: BaseModel, *, over: int | None = None
) -> OverArrays:
    """Return the arrays for all overs, or for ``over`` alone. ``over`` may be in the future."""
    deliveries = innings.deliveries
    quota = quota_of(match, innings)
    numbers: dict[str, int] = {}

    def number_of(player: Player) -> int:
        return numbers.setdefault(ratings.player_key(player), len(numbers))

    expected = base.of_innings(match, innings)
    outcome = np.array([OUTCOME_INDEX.get(ball.outcome, -1) for ball in deliveries], np.int64)
    overs = overs_of(innings)
    first = {label: balls[0].index - 1 for label, balls in overs.items()}
    if over is not None:
        first = {over: first.get(over, len(deliveries))}
    batter = np.array([number_of(ball.batter) for ball in deliveries], np.int64)
    bowler = np.array([number_of(ball.bowler) for ball in deliveries], np.int64)
    pairs = [_pair(innings, start) for start in first.values()]
    return OverArrays(
        past_features=_past_features(deliveries, expected, outcome, quota),
        batter=batter,
        bowler=bowler,
        ball_over=np.array([ball.over for ball in deliveries], np.int64),
        legal=np.array([ball.is_legal for ball in deliveries], bool),
        base=expected,
        outcome=outcome,
        over=np.array(list(first), np.int64),
        start=np.array(list(first.values()), np.int64),
        pair=np.array(
            [[-1 if p is None else number_of(p) for p in pair] for pair in pairs], np.int64
        ).reshape(-1, 2),
        context=_context(match, innings, first, pairs, ratings, base),
        tokens=tuple(
            tuple(TOKEN_INDEX[token_of(ball)] for ball in overs.get(label, ())) for label in first
        ),
        allotment=0 if quota is None else -(-quota // _MIN_BOWLERS),
    )


def _past_features(
    deliveries: tuple[Delivery, ...], expected: Floats32, outcome: Integers, quota: int | None
) -> Floats32:
    runs = np.exp(expected) @ _RUNS
    rows = [
        [
            ball.legal_balls_before / quota if quota else 0.0,
            min(ball_number, 12) / 6,
            0.0,
            min(ball.runs_batter, 8) / 6,
            min(ball.runs_extras, 8) / 4,
            ball.runs_total == 0 and ball.outcome != "W",
            ball.boundary and ball.runs_batter == 4,
            ball.boundary and ball.runs_batter == 6,
            ball.outcome == "W",
            "wides" in ball.extras,
            "noballs" in ball.extras,
            "byes" in ball.extras or "legbyes" in ball.extras,
            *(0.0, 0.0, 0.0, 0.0),
            -float(chances[outcome_index]) / 3 if outcome_index >= 0 else 0.0,
            (min(ball.runs_total, 8) - float(expected_runs)) / 4,
        ]
        for ball, ball_number, chances, outcome_index, expected_runs in zip(
            deliveries, balls_in_over(deliveries), expected, outcome, runs, strict=True
        )
    ]
    return np.array(rows, np.float32).reshape(len(deliveries), len(PAST_FEATURES))


def _pair(innings: Innings, start: int) -> tuple[Player | None, Player | None]:
    """Return the striker and the non-striker for the over that starts after ``start`` balls."""
    if not start:
        return None, None
    before = replace(innings, deliveries=innings.deliveries[:start])
    last = before.deliveries[-1]
    facing, other = at_the_crease(before, last)
    # If an umpire's miscount made the over too short, at_the_crease does not swap the batters at
    # the end of the over, so the batters are swapped here.
    return (facing, other) if over_ended(before, last) else (other, facing)


def _context(
    match: Match,
    innings: Innings,
    first: dict[int, int],
    pairs: list[tuple[Player | None, Player | None]],
    ratings: Ratings,
    base: BaseModel,
) -> Floats32:
    waiting = tuple(
        unbowled(replace(innings, deliveries=innings.deliveries[:start]))._replace(over=over)
        for over, start in first.items()
    )
    board = scoreboard(match, replace(innings, deliveries=waiting))
    expected = base.log_probabilities(base_inputs(match, board))
    around = expected + ratings.of_sides(match, innings.batting_team, innings.bowling_team)
    baseline_runs, runs, wickets = _six(expected)[0], *_six(around)
    quota = quota_of(match, innings)
    rows: list[list[float]] = []
    for row, (ball, pair) in enumerate(zip(waiting, pairs, strict=True)):
        legal = ball.legal_balls_before
        left = max(quota - legal, 0) if quota else innings.balls_per_over
        phase = phase_of(legal, quota)
        batters = [player for player in pair if player is not None]
        batter_ratings = [ratings.of("striker", ratings.player_key(player)) for player in batters]
        added = [
            float(_six(around[row : row + 1] + rating)[0][0] - runs[row])
            for rating in batter_ratings
        ]
        rows.append(
            [
                *board["phase_state"][row, [0, 1, 4]],
                legal / quota if quota else 0.0,
                float(phase == 0),
                float(phase == 2),
                left / 120 if quota else 0.0,
                min(left, innings.balls_per_over) / 6,
                *board["score_state"][row, :2],
                board["wicket_buffer"][row, 0],
                *board["chase_state"][row, :4],
                *(runs[row] / 8 - 1, wickets[row], (runs[row] - baseline_runs[row]) / 4),
                sum(added) / (2 * 4),
                (2 - len(batters)) / 2,
            ]
        )
    return np.array(rows, np.float32).reshape(len(waiting), len(CONTEXT_FEATURES))


def _six(logits: Floats32) -> tuple[Floats32, Floats32]:
    """Return the expected runs and wickets in six balls for each row of logits."""
    chances = softmax(logits)
    runs: Floats32 = 6 * chances @ _RUNS
    wickets: Floats32 = 6 * chances[:, OUTCOME_INDEX["W"]]
    return runs, wickets


OverRow = tuple[OverArrays, int]
"""The arrays of an innings, and the row number of one over."""


@dataclass(frozen=True, slots=True, eq=False)
class OverBatch:
    """A batch of overs.

    Attributes:
        history: the past balls, oldest first, ``(overs, balls, features)``.
        padded: true for a position without a ball, ``(overs, balls)``.
        context: ``(overs, context)``.
        inputs: ``<start>`` and all ``targets`` except the last column, ``(overs, positions)``.
        targets: the tokens of the over, ``<end>`` and padding, ``(overs, positions)``. Overs above
            the model's maximum length are truncated.
    """

    history: Tensor
    padded: Tensor
    context: Tensor
    inputs: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.context)


def over_batch(places: Sequence[OverRow], sizes: OverSizes) -> OverBatch:
    pasts = [arrays.history(row, sizes.history) for arrays, row in places]
    balls = max(map(len, pasts))
    history = np.zeros((len(places), balls, sizes.features), np.float32)
    padded = np.ones((len(places), balls), bool)
    for number, past in enumerate(pasts):
        if len(past):
            history[number, balls - len(past) :] = past
            padded[number, balls - len(past) :] = False
    tokens = [[*arrays.tokens[row], END][: sizes.length] for arrays, row in places]
    longest = max(map(len, tokens))
    targets = torch.tensor([row + [PAD] * (longest - len(row)) for row in tokens])
    first = torch.full((len(places), 1), START)
    context = np.stack([arrays.context[row] for arrays, row in places])
    return OverBatch(
        to_tensor(history),
        to_tensor(padded),
        to_tensor(context),
        torch.cat([first, targets[:, :-1]], 1),
        targets,
    )
