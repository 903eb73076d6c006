"""The value of a state: the probability that the side batting wins.

A chase is valued by a small network that can only rise where cricket says so (Archer and Wang 1993,
"Application of the back propagation neural network algorithm with monotonicity constraints"); a
first innings by a normal distribution of its total, and the chase of every such total.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Final, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.cricket.match.competition import ALL_OUT, quota_of, table_of
from attnlens.cricket.match.ledger import outcome_of
from attnlens.cricket.match.match import Innings, Match
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.predictor.ratings import Ratings, softmax
from attnlens.cricket.predictor.tensors import BaseModel, InningsArrays
from attnlens.files import Floats

RUNS: Final = np.array([0, 1, 2, 3, 4, 5, 6, 0, 1, 1, 1], float)
"""Runs that each outcome brings, by `OUTCOMES`; extras as they mostly are."""

_LEGAL: Final = np.array([outcome not in ("wd", "nb") for outcome in OUTCOMES])
_FALLEN: Final = np.array([outcome == "W" for outcome in OUTCOMES], float)

LONGEST: Final = 120
"""Legal balls of the longest innings whose states have a value."""


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """States of an innings, arrays of one shape: runs so far, legal balls left, wickets in hand."""

    score: Floats
    left: Floats
    wickets: Floats

    def after(self) -> States:
        """After each outcome: one axis more at the end, of `OUTCOMES`."""
        return States(
            self.score[..., None] + RUNS,
            np.maximum(self.left[..., None] - _LEGAL, 0),
            np.maximum(self.wickets[..., None] - _FALLEN, 0),
        )


@dataclass(frozen=True, slots=True)
class Contest:
    """What an innings is played for: ``target`` runs in ``quota`` legal balls; 0 in a first
    innings.
    """

    chase: bool
    target: float
    quota: float


def contest_of(match: Match, innings: Innings) -> Contest | None:
    """What an innings is played for; ``None`` where the rules do not tell who wins how.

    That is in unlimited cricket and innings of more than `LONGEST` balls, in a super over, and in a
    chase whose target the file lacks or has from later.
    """
    quota = quota_of(match, innings)
    if not quota or quota > LONGEST or innings.super_over or innings.number > 2:
        return None
    target = 0 if innings.number == 1 else None if innings.set_later else innings.target
    if target is None:
        return None
    return Contest(chase=innings.number == 2, target=float(target), quota=float(quota))


def states_before(innings: Innings, quota: float) -> States:
    """The state before every delivery, arrays ``(deliveries,)``."""
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
    """The state that every delivery left, arrays ``(deliveries,)``."""
    rows = [
        (
            ball.score_before + ball.runs_total,
            max(quota - ball.legal_balls_before - ball.is_legal, 0),
            max(ALL_OUT - ball.wickets_before - sum(out.counts for out in ball.wickets), 0),
        )
        for ball in innings.deliveries
    ]
    return States(*np.array(rows, float).reshape(-1, 3).T)


def won(match: Match, team: str) -> float | None:
    """1 where the side won, 0 where it lost, a half after a tie; ``None`` without a result by
    play.
    """
    outcome = outcome_of(match)
    if outcome.get("method"):
        return None
    if outcome.get("result") == "tie":
        return 0.5
    winner = outcome.get("winner")
    return None if winner is None else float(winner == team)


_WIDTH: Final = 12
_CHASE_FEATURES: Final = 12
_TOTAL_FEATURES: Final = 9

MAX_LOG_ODDS: Final = 7.6
"""Log-odds are within this: before a match is decided nobody has won it (0.05% to 99.95%)."""

_RUNS_DEVIATION: Final = 1.7

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(9)


@dataclass(frozen=True, slots=True)
class Strength:
    """What sides and ground make a ball of the side that bats worth, and one of the other side."""

    runs: float
    wickets: float
    runs_other: float
    wickets_other: float


EVEN: Final = Strength(1.25, 0.05, 1.25, 0.05)


class Knowing(Protocol):
    """What has ratings and what a scoreboard expects: a trained model."""

    @property
    def ratings(self) -> Ratings: ...
    @property
    def base(self) -> BaseModel: ...


def strength_of(
    match: Match, innings: Innings, arrays: InningsArrays, predictor: Knowing
) -> Strength:
    """By the ratings of ground, competition, sides and day, which ``arrays`` of the innings
    hold.
    """
    level = np.log(np.exp(predictor.base.prior[table_of(match)]).mean((0, 1)))
    today = arrays.ratings["today"][0]

    def of(batting_side: str, bowling_side: str) -> tuple[float, float]:
        chances = softmax(
            level + today + predictor.ratings.of_sides(match, batting_side, bowling_side)
        ).astype(float)
        return float(chances @ RUNS), float(chances @ _FALLEN)

    batting, bowling = innings.batting_team, innings.bowling_team
    return Strength(*of(batting, bowling), *of(bowling, batting))


class Rising(nn.Module):
    """A network whose output rises with each input; ``(..., inputs) -> (...)``."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.randn(inputs, _WIDTH) * 0.3 - 2)
        self.place = nn.Parameter(torch.linspace(-1.5, 1.5, _WIDTH))
        self.second = nn.Parameter(torch.full((_WIDTH,), -2.0))
        self.direct = nn.Parameter(torch.full((inputs,), -2.0))
        self.level = nn.Parameter(torch.zeros(()))

    def forward(self, features: Tensor) -> Tensor:
        rising = nn.functional.softplus
        hidden = (features @ rising(self.first) + self.place).tanh()
        value: Tensor = hidden @ rising(self.second) + features @ rising(self.direct) + self.level
        return value


def balls_available(balls: Tensor, wickets: Tensor, per_wicket: float) -> Tensor:
    """Balls that a side may hope to face: no more than are left, nor than its wickets last."""
    lasting = wickets * per_wicket
    together: Tensor = balls * lasting / (balls**2 + lasting**2).sqrt().clamp(min=1e-6)
    return together


def pace(score: Tensor, bowled: Tensor, runs: Tensor) -> Tensor:
    """How far ahead of what was expected an innings is so far, by what balls bring by chance."""
    ahead: Tensor = (score - runs * bowled) / (bowled + 30).sqrt() / 2
    return ahead


def stacked(features: list[Tensor]) -> Tensor:
    """Features that broadcast against each other, as a last axis."""
    shape = np.broadcast_shapes(*(tuple(feature.shape) for feature in features))
    return torch.stack([feature.expand(shape) for feature in features], -1)


class WinModel(nn.Module):
    """The value of every state of a limited-overs match.

    All arguments are tensors that broadcast against each other.
    """

    def __init__(self) -> None:
        super().__init__()
        self.chase = Rising(_CHASE_FEATURES)
        self.rest = Rising(_TOTAL_FEATURES)
        self.spread = nn.Parameter(torch.tensor([1.0, -1.0]))

    def chasing(
        self, needed: Tensor, score: Tensor, balls: Tensor, bowled: Tensor, wickets: Tensor,
        runs: Tensor, wicket_rate: Tensor,
    ) -> Tensor:  # fmt: skip
        """Log-odds of a chase: ``needed`` runs to win, more than 0, with balls and wickets left."""
        needed, balls = needed.clamp(min=0.5), balls.clamp(min=0.5)
        ahead = []
        for left in (balls, *(balls_available(balls, wickets, each) for each in (12.0, 25.0))):
            margin = (runs * left - needed) / (_RUNS_DEVIATION * (left + 1).sqrt())
            ahead += [margin / 3, (margin / 2).tanh()]
        rate = -(needed / (balls * runs)).log()
        strong, solid = 4 * runs - 5, 1 - 20 * wicket_rate
        features = [*ahead, rate, -needed / 50, wickets / 5 - 1, strong, solid]
        features.append(pace(score, bowled, runs))
        log_odds: Tensor = self.chase(stacked(features))
        return log_odds.clamp(-MAX_LOG_ODDS, MAX_LOG_ODDS)

    def remaining(
        self, score: Tensor, balls: Tensor, bowled: Tensor, wickets: Tensor, runs: Tensor,
        wicket_rate: Tensor,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Mean and deviation of the runs that a first innings still brings."""
        lasting = balls_available(balls, wickets, 25.0)
        features = [
            *(balls / 60, (balls + 1).log() / 3, wickets / 5, (wickets + 0.5).log()),
            *(balls_available(balls, wickets, 12.0) / 60, lasting / 60),
            *(4 * runs - 5, 1 - 20 * wicket_rate, pace(score, bowled, runs)),
        ]
        factor = nn.functional.softplus(self.rest(stacked(features)))
        each, shared = nn.functional.softplus(self.spread)
        return runs * lasting * factor, (lasting * (each + shared * lasting / 30)).sqrt()

    def setting(
        self, score: Tensor, balls: Tensor, bowled: Tensor, wickets: Tensor, runs: Tensor,
        wicket_rate: Tensor, runs_other: Tensor, wickets_other: Tensor,
    ) -> Tensor:  # fmt: skip
        """The chance of the side batting first, by the chases of the totals it may make."""
        mean, deviation = self.remaining(score, balls, bowled, wickets, runs, wicket_rate)
        nodes = torch.tensor(NODES, dtype=mean.dtype)
        shares = torch.tensor(WEIGHTS / WEIGHTS.sum(), dtype=mean.dtype)
        more = (mean[..., None] + deviation[..., None] * nodes).clamp(min=0)
        quota, begun = (balls + bowled)[..., None], torch.zeros(())
        log_odds = self.chasing(
            score[..., None] + more + 1, begun, quota, begun,
            torch.tensor(float(ALL_OUT)), runs_other[..., None], wickets_other[..., None],
        )  # fmt: skip
        return ((-log_odds).sigmoid() * shares).sum(-1)

    def value(self, contest: Contest, states: States, strength: Strength) -> Floats:
        """The chance of the batting side in every state, 1 and 0 only where it is decided."""
        score, left, wickets = (
            torch.from_numpy(np.asarray(part, np.float32))
            for part in (states.score, states.left, states.wickets)
        )
        strengths = [torch.tensor(part) for part in astuple(strength)]
        over = (left == 0) | (wickets == 0)
        with torch.no_grad():
            if not contest.chase:
                balls = left.masked_fill(over, 0.0)
                bowled = contest.quota - balls
                chances = self.setting(
                    score, balls, bowled, wickets, *(part.expand_as(score) for part in strengths)
                )
                return chances.double().numpy()
            needed, bowled = contest.target - score, contest.quota - left
            log_odds = self.chasing(needed, score, left, bowled, wickets, *strengths[:2])
            chances = log_odds.double().sigmoid()
            chances = torch.where(over, 0.5 * (needed == 1), chances)
            chances = torch.where(needed <= 0, 1.0, chances)
        return chances.numpy()


@dataclass(frozen=True, slots=True, eq=False)
class WinChances:
    """What every delivery of an innings means for the side that bats.

    Attributes:
        before: its probability of winning before the ball, the mean of ``after`` ``(n,)``.
        after: after each outcome ``(n, 11)``; ``actual``: after what happened ``(n,)``.
    """

    before: Floats
    after: Floats
    actual: Floats


def win_chances(
    win: WinModel | None, match: Match, innings: Innings, strength: Strength, chances: Floats
) -> WinChances | None:
    """Who is winning at every delivery; ``None`` where no value can be told.

    What a ball changes is its own doing: on average over the forecast nothing is won or lost.

    Args:
        strength: as `strength_of` finds it; ``chances``: the forecast ``(n, 11)``.
    """
    contest = contest_of(match, innings)
    if contest is None or win is None or not innings.deliveries:
        return None
    after = win.value(contest, states_before(innings, contest.quota).after(), strength)
    actual = win.value(contest, states_then(innings, contest.quota), strength)
    # A forecast told in so many decimals may sum to a little more than 1.
    return WinChances((chances * after).sum(-1).clip(0, 1), after, actual)
