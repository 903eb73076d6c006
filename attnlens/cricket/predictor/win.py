"""The batting side's win probability in each state of a match, and the effect of each ball.

A logistic model computes the probability of a successful chase. In a first innings, a second model
predicts the distribution of the total, and the win probability is the mean over the possible
totals. Both models use the state of the match and the form before the match, but not the current
players. A `WinLedger` lists how much each ball changed a side's win probability.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, Self

import numpy as np
import torch
from torch import Tensor

from attnlens.cricket.match.competition import ALL_OUT, quota_of, table_of
from attnlens.cricket.match.ledger import derived_result, outcome_of
from attnlens.cricket.match.match import NOT_THE_BOWLERS, OUTCOMES, Delivery, Innings, Match
from attnlens.cricket.predictor.form import FULL_BALLS, Form, PreMatch
from attnlens.files import Flags, Floats

RUNS: Final = np.array([0, 1, 2, 3, 4, 5, 6, 0, 1, 1, 1], float)
"""The typical number of runs for each outcome in `OUTCOMES`."""

_LEGAL: Final = np.array([outcome not in ("wd", "nb") for outcome in OUTCOMES])
_FALLEN: Final = np.array([outcome == "W" for outcome in OUTCOMES], float)

LONGEST: Final = 120
"""The longest innings with a defined win probability, in legal balls."""


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """Arrays of one shape: the runs so far, the legal balls left, and the wickets in hand."""

    score: Floats
    left: Floats
    wickets: Floats

    def after(self) -> States:
        """Return the states after all outcomes. The last axis has the order of `OUTCOMES`."""
        return States(
            self.score[..., None] + RUNS,
            np.maximum(self.left[..., None] - _LEGAL, 0),
            np.maximum(self.wickets[..., None] - _FALLEN, 0),
        )

    @property
    def over(self) -> Flags:
        """Whether no balls or no wickets are left."""
        ended: Flags = (self.left == 0) | (self.wickets == 0)
        return ended


@dataclass(frozen=True, slots=True)
class Contest:
    """The target and length of an innings, and the form before the match.

    Attributes:
        target: the total needed to win; 0 in a first innings.
        quota: the maximum number of legal balls.
        kind: the index of the kind of cricket in `attnlens.cricket.match.competition.KINDS`.
    """

    chase: bool
    target: float
    quota: float
    form: PreMatch
    kind: int = 0


def contest_of(match: Match, innings: Innings, form: Form) -> Contest | None:
    """Return the `Contest` for an innings, or ``None`` if win probabilities are undefined.

    Win probabilities are defined only in the first two innings, with a limit of at most `LONGEST`
    balls. In a chase, the file must have a target that was set before the start.
    """
    if innings.super_over or innings.number > 2:
        return None
    quota = quota_of(match, innings)
    if not quota or quota > LONGEST:
        return None
    target = 0 if innings.number == 1 else None if innings.set_later else innings.target
    if target is None:
        return None
    before = form.before(match, innings)
    return Contest(innings.number == 2, float(target), float(quota), before, table_of(match))


def chase_of(match: Match) -> Innings | None:
    """Return the second innings, or ``None`` if it has no balls."""
    sides = [side for side in match.innings if side.number == 2 and not side.super_over]
    return next((side for side in sides if side.deliveries), None)


def is_revised(match: Match) -> bool:
    """Return whether the chase's target differs from the first innings' total plus one."""
    chase = chase_of(match)
    return chase is not None and chase.target != match.innings[0].total + 1


def states_before(innings: Innings, quota: float) -> States:
    """Return the state before each delivery, shape ``(deliveries,)``."""
    rows = [
        (
            ball.score_before,
            max(quota - ball.legal_balls_before, 1),
            max(ALL_OUT - ball.wickets_before, 1),
        )
        for ball in innings.deliveries
    ]
    return States(*np.array(rows, float).reshape(-1, 3).T)


def states_then(innings: Innings, quota: float) -> States:
    """Return the state after each delivery, shape ``(deliveries,)``.

    Penalty runs before the next delivery are included.
    """
    before, last = states_before(innings, quota), innings.deliveries[-1]
    final = (
        innings.total,
        max(quota - last.legal_balls_before - last.is_legal, 0),
        max(ALL_OUT - innings.wickets, 0),
    )
    columns = (before.score, before.left, before.wickets)
    return States(*(np.append(c[1:], end) for c, end in zip(columns, final, strict=True)))


def won(match: Match, team: str) -> float | None:
    """Return 1 for a win, 0 for a defeat, 0.5 for a tie; ``None`` for other or adjusted results."""
    outcome = outcome_of(match)
    if outcome.get("method"):
        return None
    if outcome.get("result") == "tie":
        return 0.5
    winner = outcome.get("winner")
    return None if winner is None else float(winner == team)


def chase_result(match: Match, chase: Innings) -> float | None:
    """Return 1 for a successful chase, 0 for a failed chase, 0.5 for a tie; ``None`` if unknown.

    A chase that stopped early counts as failed if the margin in the file agrees with the totals.
    """
    result = derived_result(match)
    if result is not None:
        return 0.5 if result.winner is None else float(result.winner == chase.batting_team)
    outcome = outcome_of(match)
    margin = outcome.get("by", {}).get("runs")
    if outcome.get("method") or margin is None or chase.target is None:
        return None
    lost = outcome.get("winner") == chase.bowling_team and margin == chase.target - 1 - chase.total
    return 0.0 if lost else None


MAX_LOG_ODDS: Final = 7.6
"""The largest absolute log-odds of an undecided match (a probability of 0.05% or 99.95%)."""

_DEVIATION: Final = 1.5
"""The standard deviation of a ball's runs, divided by the square root of the mean."""

_MIN_RATE: Final = 0.4
_AHEAD: Final = 0.6
"""The limit of the run rate above or below the expected rate, in runs per ball."""

_RESOURCES: Final = (6, 10, 16, 25, 40)
_TYPICAL: Final = 16
_MARGINS: Final = (None, 8, 14, 25)
"""The limits on balls for each wicket in hand; ``None`` means no limit."""

MAX_TOTAL: Final = 450
"""The largest first-innings total in the model. Larger totals have the same win probability."""

N_QUANTILES: Final = 15
_LOW, _HIGH = 1, 13
"""The indices of the quantiles 0.1 and 0.9."""


def balls_available(balls: Floats, wickets: Floats, per_wicket: float) -> Floats:
    """Return a smooth minimum of ``balls`` and ``wickets * per_wicket``."""
    lasting = wickets * per_wicket
    together: Floats = balls * lasting / np.sqrt(balls**2 + lasting**2).clip(1e-6)
    return together


def run_rate(level: Floats, batting: Floats) -> Floats:
    """Return a side's expected runs per ball."""
    rate: Floats = np.maximum((level + batting) / FULL_BALLS, _MIN_RATE)
    return rate


def chase_features(
    needed: Floats, score: Floats, left: Floats, wickets: Floats, quota: Floats, target: Floats,
    level: Floats, batting: Floats, bowling: Floats,
) -> Floats:  # fmt: skip
    """Return the features for the log-odds of a successful chase, shape ``(..., features)``.

    The first `N_RISING` features never decrease when fewer runs are needed or more wickets are in
    hand. Their fitted weights are not negative.
    """
    needed, left = np.maximum(needed, 0.5), np.maximum(left, 0.5)
    rate, share = run_rate(level, batting), left / FULL_BALLS
    rising: list[Floats] = []
    for per_wicket in _MARGINS:
        balls = left if per_wicket is None else balls_available(left, wickets, per_wicket)
        margin = (rate * balls - needed) / (_DEVIATION * np.sqrt(rate * (balls + 1)))
        rising += [margin, np.tanh(margin / 2), np.tanh(margin), np.maximum(margin, 0)]
    rising += [-np.log(needed / (left * rate)), -needed / 50]
    rising += [wickets / 5, np.log(wickets + 0.5), wickets * share / 5]
    bowled = quota - left
    rising.append((score - rate * bowled) / np.sqrt(bowled + 30) / 2)
    stronger, scoring = (batting - bowling) / 20, (level - 150) / 20
    rising += [stronger * share, stronger * np.sqrt(share)]
    first_total = (target - 1) * (FULL_BALLS / quota) ** 0.85
    unusual = (first_total - level - bowling) / 20
    free = [stronger * share**2, unusual * share, unusual * share**2]
    free += [scoring * share, scoring, share, np.ones_like(share)]
    return np.stack(np.broadcast_arrays(*rising, *free), -1)


N_RISING: Final = 4 * len(_MARGINS) + 8


def remaining_features(
    score: Floats, left: Floats, wickets: Floats, quota: Floats, level: Floats, batting: Floats
) -> Floats:
    """Return the features for the mean of the remaining runs, shape ``(..., features)``.

    The first `N_BRINGING` features never decrease when balls, wickets or score increase. Their
    fitted weights are not negative. If no balls or no wickets are left, every feature is 0.
    """
    bowled, rate = quota - left, run_rate(level, batting)
    ahead = ((score - rate * bowled) / (bowled + 30)).clip(-_AHEAD, _AHEAD)
    features: list[Floats] = []
    for per_wicket in _RESOURCES:
        balls = balls_available(left, wickets, per_wicket) / 60
        features += [rate * balls, rate * balls * left / FULL_BALLS, balls * (ahead + _AHEAD)]
    balls = balls_available(left, wickets, _TYPICAL) / 60
    features += [balls * (level - 150) / 30, balls * batting / 30]
    return np.stack(np.broadcast_arrays(*features), -1)


N_BRINGING: Final = 3 * len(_RESOURCES)


def variance_features(left: Floats, wickets: Floats, level: Floats, batting: Floats) -> Floats:
    """Return the features for the variance of the remaining runs, shape ``(..., features)``.

    The fitted weights are not negative.
    """
    rate = run_rate(level, batting)
    runs = [rate * balls_available(left, wickets, per_wicket) for per_wicket in (_TYPICAL, 40)]
    features = [part for each in runs for part in (each, each * left / 60)]
    return np.stack(np.broadcast_arrays(*features), -1)


@dataclass(frozen=True, slots=True, eq=False)
class TotalRange:
    """The projected total of a first innings, in runs: the mean and the central 80% interval."""

    low: Floats
    mean: Floats
    high: Floats


_STORED: Final = ("chase", "remaining", "variance", "quantiles")

FINISH: Final = 9
"""`finish_values` are also used for this number of balls at the end of a chase.

The number was tuned on chases from 11 May to 23 October 2024.
"""


@lru_cache(maxsize=8)
def finish_values(probabilities: tuple[float, ...]) -> Floats:
    """Return win probabilities of a chase in which every ball has the same outcome probabilities.

    A chase that needs more than ``6 * FINISH`` runs is assumed to be lost.

    Args:
        probabilities: the outcome probabilities of every ball, shape ``(11,)``.

    Returns:
        An array with the indices runs needed, legal balls left and wickets in hand, shape
        ``(6 * FINISH + 2, FINISH + 1, ALL_OUT + 1)``.
    """
    values = np.zeros((6 * FINISH + 2, FINISH + 1, ALL_OUT + 1))
    values[0] = 1.0
    values[1, 0, :] = values[1, :, 0] = 0.5
    for needed in range(1, 6 * FINISH + 1):
        for left in range(1, FINISH + 1):
            total = np.zeros(ALL_OUT)
            for number, prob in enumerate(probabilities):
                after, rest = max(needed - int(RUNS[number]), 0), left - int(_LEGAL[number])
                hand = values[after, rest]
                total += prob * (hand[:-1] if _FALLEN[number] else hand[1:])
            values[needed, left, 1:] = total
    return values


@dataclass(frozen=True, slots=True, eq=False)
class WinModel:
    """A model of the win probability in every state of a limited-overs match.

    Attributes:
        chase: the weights of `chase_features`.
        remaining, variance: the weights of `remaining_features` and `variance_features`.
        quantiles: `N_QUANTILES` quantiles of the standardised error of a projected total.
        last_over: for each kind of cricket, the outcome probabilities in the last over of a chase,
            shape ``(kinds, 11)``.
    """

    chase: Floats
    remaining: Floats
    variance: Floats
    quantiles: Floats
    last_over: Floats | None = None

    def value(self, contest: Contest, states: States) -> Floats:
        """Return the batting side's win probability; 0 or 1 only if the match is decided."""
        if not contest.chase:
            return self._setting(contest, states)
        needed = contest.target - states.score
        values = self._chasing(contest, needed, states)
        if self.last_over is not None:
            # A maximum over all smaller numbers of balls left cannot fall with more balls left.
            exact = finish_values(tuple(self.last_over[contest.kind].tolist()))
            fewer = (
                self._finishing(contest, needed, states, left, exact)
                for left in range(1, FINISH + 1)
            )
            best = np.maximum.reduce(list(fewer))
            values = np.where(states.left > FINISH, np.maximum(values, best), best)
        lowest = 1 / (1 + np.exp(MAX_LOG_ODDS))
        values = values.clip(lowest, 1 - lowest)
        values = np.where(states.over, 0.5 * (needed == 1), values)
        return np.where(needed <= 0, 1.0, values)

    def projected(self, contest: Contest, states: States) -> TotalRange:
        """Return the projected total of a first innings."""
        mean, deviation = self._remaining(contest, states)
        low, high = (
            states.score + np.maximum(mean + deviation * self.quantiles[at], 0)
            for at in (_LOW, _HIGH)
        )
        return TotalRange(low, states.score + mean, high)

    def _chasing(self, contest: Contest, needed: Floats, states: States) -> Floats:
        form = contest.form
        constants = contest.quota, needed + states.score, form.level, form.batting, form.bowling
        features = chase_features(
            needed, states.score, states.left, states.wickets, *map(np.asarray, constants)
        )
        log_odds = (features @ self.chase).clip(-MAX_LOG_ODDS, MAX_LOG_ODDS)
        values: Floats = 1 / (1 + np.exp(-log_odds))
        return values

    def _finishing(
        self, contest: Contest, needed: Floats, states: States, left: int, exact: Floats
    ) -> Floats:
        """Return win probabilities of a chase if at most ``left`` balls remain."""
        balls = np.minimum(states.left, left)
        at = (needed.clip(0, len(exact) - 1), balls, states.wickets)
        share = ((FINISH + 1 - balls) / FINISH).clip(0, 1)
        fitted = self._chasing(contest, needed, States(states.score, balls, states.wickets))
        values: Floats = fitted + share * (exact[tuple(part.astype(int) for part in at)] - fitted)
        return values

    def _remaining(self, contest: Contest, states: States) -> tuple[Floats, Floats]:
        form = np.asarray(contest.form.level), np.asarray(contest.form.batting)
        left, wickets = states.left, states.wickets
        quota = np.asarray(contest.quota)
        features = remaining_features(states.score, left, wickets, quota, *form)
        variance = variance_features(left, wickets, *form) @ self.variance
        return np.maximum(features @ self.remaining, 0), np.sqrt(np.maximum(variance, 0))

    def _setting(self, contest: Contest, states: States) -> Floats:
        """Return the win probability of the side batting first."""
        totals = np.arange(MAX_TOTAL + 1.0)
        form = contest.form
        chased = Contest(True, 0.0, contest.quota, PreMatch(form.level, form.bowling, form.batting))
        start = (np.zeros(1), np.array([contest.quota]), np.array([float(ALL_OUT)]))
        defended = 1 - self._chasing(chased, totals + 1, States(*start))
        mean, deviation = self._remaining(contest, states)
        values = np.zeros(mean.shape)
        for quantile in self.quantiles:
            total = states.score + np.maximum(mean + deviation * quantile, 0)
            values += np.interp(total, totals, defended)
        return values / len(self.quantiles)

    def to_tensors(self) -> dict[str, Tensor]:
        return {name: torch.from_numpy(getattr(self, name)) for name in _STORED}

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Tensor], last_over: Floats | None = None
    ) -> Self | None:
        """Build the model from the result of `to_tensors`; ``None`` if a tensor is missing.

        Raises:
            ValueError: the tensors are damaged.
        """
        if not set(_STORED) <= set(tensors):
            return None
        arrays = {name: tensors[name].numpy().astype(np.float64) for name in _STORED}
        ones = np.ones(1)
        sizes = {
            "chase": chase_features(*[ones] * 9).shape[-1],
            "remaining": remaining_features(*[ones] * 6).shape[-1],
            "variance": variance_features(*[ones] * 4).shape[-1],
            "quantiles": N_QUANTILES,
        }
        if any(arrays[name].shape != (size,) for name, size in sizes.items()):
            raise ValueError("the weights of its win model have the wrong shape")
        return cls(**arrays, last_over=last_over)


@dataclass(frozen=True, slots=True, eq=False)
class InningsValues:
    """The batting side's win probabilities in an innings.

    Attributes:
        states: the state before each delivery.
        before, actual: the win probability before and after each delivery, shape ``(n,)``.
    """

    contest: Contest
    states: States
    before: Floats
    actual: Floats


def innings_values(
    win: WinModel | None, form: Form, match: Match, innings: Innings
) -> InningsValues | None:
    """Return the win probabilities before and after every delivery; ``None`` if undefined.

    If a chase with an unrevised target follows, the first innings counts as complete after its last
    ball. After the last ball of a chase, the value is the result, if known. ``form`` should not
    include this match.
    """
    contest = contest_of(match, innings, form)
    if contest is None or win is None or not innings.deliveries:
        return None
    states, then = states_before(innings, contest.quota), states_then(innings, contest.quota)
    if not contest.chase and chase_of(match) is not None and not is_revised(match):
        then.left[-1] = 0
    actual = win.value(contest, then)
    result = chase_result(match, innings) if contest.chase else None
    if result is not None:
        actual[-1] = result
    return InningsValues(contest, states, win.value(contest, states), actual)


@dataclass(frozen=True, slots=True, eq=False)
class WinChances:
    """The batting side's win probabilities before and after every delivery of an innings.

    Attributes:
        before: the win probability before each ball, shape ``(n,)``.
        expected: the mean of ``after`` under the forecast probabilities, shape ``(n,)``.
        after: the win probability after each possible outcome, shape ``(n, 11)``.
        actual: the win probability after the actual outcome, shape ``(n,)``.
        projected: the projected total before each ball; ``None`` in a chase.
    """

    before: Floats
    expected: Floats
    after: Floats
    actual: Floats
    projected: TotalRange | None


def win_chances(
    win: WinModel | None, form: Form, match: Match, innings: Innings, forecast: Floats
) -> WinChances | None:
    """Return the win probabilities of an innings; ``None`` if undefined.

    Args:
        forecast: the outcome probabilities of every delivery, shape ``(n, 11)``.
    """
    values = innings_values(win, form, match, innings)
    if values is None or win is None:
        return None
    after = win.value(values.contest, values.states.after())
    # The probabilities of a forecast are rounded, so they may sum to slightly more than 1.
    expected = (forecast * after).sum(-1).clip(0, 1)
    is_chase = values.contest.chase
    projected = None if is_chase else win.projected(values.contest, values.states)
    return WinChances(values.before, expected, after, values.actual, projected)


Values = InningsValues | WinChances


@dataclass(frozen=True, slots=True)
class WinMove:
    """One change of a side's win probability.

    Attributes:
        index: the index of the delivery, counted from 1. A revised target has the index 1.
        points: the change of the win probability, from -1 to 1.
    """

    innings: int
    index: int
    kind: Literal["ball", "revised target"]
    points: float


@dataclass(frozen=True, slots=True)
class WinLedger:
    """Every change of a side's win probability, in order.

    Attributes:
        before: the win probability before the match.
        result: 1 for a win, 0 for a defeat, 0.5 for a tie.
        entries: the changes. ``before`` plus the sum of all points equals ``result``.
    """

    team: str
    before: float
    result: float
    entries: tuple[WinMove, ...]


@dataclass(frozen=True, slots=True)
class WinAdded:
    """The win probability that a player added for a side by batting, bowling and fielding."""

    name: str
    side: str
    added: float


def win_ledger(
    match: Match, innings: Sequence[tuple[Innings, Values]], team: str
) -> WinLedger | None:
    """Return the ledger of a match for one of its sides.

    Args:
        innings: the innings, each with the result of `innings_values` or `win_chances`.

    Returns:
        The ledger, or ``None`` if an innings is missing or the result of the chase is unknown.
    """
    if [side.number for side, _ in innings] != [1, 2]:
        return None
    (first, setting), (chase, chasing) = innings
    chased = chase_result(match, chase)
    if chased is None:
        return None

    def of_team(value: float, side: Innings) -> float:
        return value if side.batting_team == team else 1 - value

    value = before = of_team(float(setting.before[0]), first)
    entries: list[WinMove] = []
    for side, values in ((first, setting), (chase, chasing)):
        start = of_team(float(values.before[0]), side)
        if start != value and abs(start - value) > _ROUNDING:
            entries.append(WinMove(side.number, 1, "revised target", start - value))
            value = start
        for ball, actual in zip(side.deliveries, values.actual.tolist(), strict=True):
            after = of_team(actual, side)
            entries.append(WinMove(side.number, ball.index, "ball", after - value))
            value = after
    return WinLedger(team, before, of_team(chased, chase), tuple(entries))


_ROUNDING = 1e-9
"""Smaller differences are rounding errors."""


def players_added(match: Match, ledger: WinLedger) -> tuple[WinAdded, ...]:
    """Return the win probability that each player added, in decreasing order.

    The points of a ball go to the batter who faced the ball. The bowler gets the opposite points.
    After a wicket that is not credited to the bowler, such as a run out, the points go to the
    batter who is out. The opposite points then go to the first named fielder, or to the bowler if
    no fielder is named. No player gets the points of a revised target.
    """
    balls = {
        (side.number, ball.index): (side, ball)
        for side in match.innings
        for ball in side.deliveries
    }
    added: dict[tuple[str, str], float] = {}
    for entry in ledger.entries:
        if entry.kind != "ball":
            continue
        side, ball = balls[entry.innings, entry.index]
        sign = 1 if side.batting_team == ledger.team else -1
        batter, fielder = _credited(ball)
        batting, bowling = (batter, side.batting_team), (fielder, side.bowling_team)
        added[batting] = added.get(batting, 0) + sign * entry.points
        added[bowling] = added.get(bowling, 0) - sign * entry.points
    rows = [WinAdded(*player, points) for player, points in added.items()]
    return tuple(sorted(rows, key=lambda row: (-row.added, row.side, row.name)))


def _credited(ball: Delivery) -> tuple[str, str]:
    fielding = (out for out in ball.wickets if out.counts and out.kind in NOT_THE_BOWLERS)
    wicket = next(fielding, None)
    if wicket is None:
        return ball.batter.name, ball.bowler.name
    return wicket.player_out.name, (*wicket.fielders, ball.bowler.name)[0]
