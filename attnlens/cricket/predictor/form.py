"""Estimate each match's scoring level and both sides' form from earlier matches.

The method is a Kalman filter over innings totals (Kalman 1960, "A new approach to linear filtering
and prediction problems"). A total in `FULL_BALLS` balls is modelled as level + attack - defence +
noise. The level is the sum of a term for the kind of cricket, a term for the competition and a term
for the ground. Attack is a side's strength in batting, and defence its strength in bowling.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import torch
from torch import Tensor

from attnlens.cricket.match.competition import (
    ALL_OUT,
    INTERNATIONALS,
    KINDS,
    competition_of,
    table_of,
    team_key,
    venue_key,
)
from attnlens.cricket.match.match import Innings, Match
from attnlens.cricket.predictor.day_tables import (
    InningsSummary,
    MatchSummary,
    text_tensor,
    words_of,
)
from attnlens.files import Floats, Integers

FULL_BALLS: Final = 120
"""Totals are scaled to this number of balls."""

_MIN_BALLS: Final = 90
_SCALING: Final = 0.85
"""The exponent of the scaling: below 1, because sides score faster in short innings."""

_NOISE: Final = 900.0
"""The variance of a total's noise, in runs squared."""

_FIRST_LEVELS: Final = (150.0, 153.0, 120.0, 138.0)
"""The prior level of each kind of cricket in `KINDS`, in runs."""

_CHASE_SHORTFALL: Final = 3.0
"""The mean first-innings total minus the mean chase total, in runs."""

_FINISH_RATE: Final = 1.2
_BALLS_PER_WICKET: Final = 12
"""Assumptions for the unused balls of a successful chase.

The run rate is `_FINISH_RATE` times the level's rate. Each wicket in hand lasts for at most
`_BALLS_PER_WICKET` balls.
"""


@dataclass(frozen=True, slots=True)
class Drift:
    """The initial variance, and its increase per match and per day, in runs squared."""

    first: float
    per_match: float
    per_day: float = 0.0


_KIND: Final = Drift(400, 0.1)
_COMPETITION: Final = Drift(100, 0.4, 0.03)
_VENUE: Final = Drift(60, 0.2)
_INTERNATIONAL_SIDE: Final = Drift(400, 40, 0.5)
_CLUB_SIDE: Final = Drift(120, 0.6)
_ATTACK_WITH_DEFENCE: Final = 0.5
"""The correlation between a side's attack and its defence."""

_LEVEL_SHAPE: Final = np.array([[1.0, 0.0], [0.0, 0.0]])
_SIDE_SHAPE: Final = np.array([[1.0, _ATTACK_WITH_DEFENCE], [_ATTACK_WITH_DEFENCE, 1.0]])


@dataclass(frozen=True, slots=True)
class PreMatch:
    """The expected runs in `FULL_BALLS` balls, before the match starts.

    Attributes:
        level: the expected total of an average side against an average side, in this competition
            and at this ground.
        batting: the batting side's expected runs above the level, against this opponent.
        bowling: the bowling side's expected runs above the level, in its own innings.
    """

    level: float
    batting: float
    bowling: float


Entity = tuple[str, Drift]
"""The key of a table row, and the row's drift."""


class Form:
    """The `DayTable` of the scoring levels and of the sides' form.

    Attributes:
        keys: the row of each kind of cricket, competition, ground and side.
        mean: attack and defence of a side, or a level and an unused zero, shape ``(rows, 2)``.
        covariance: the covariance of the two values, shape ``(rows, 2, 2)``.
        seen: the ordinal date of each row's last match, shape ``(rows,)``.
    """

    def __init__(self) -> None:
        self.until: datetime.date | None = None
        self.keys: dict[str, int] = {}
        self.mean: Floats = np.zeros((0, 2))
        self.covariance: Floats = np.zeros((0, 2, 2))
        self.seen: Integers = np.zeros(0, np.int64)

    def before(self, match: Match, innings: Innings) -> PreMatch:
        """Return the expected runs for an innings, based on all matches in the table."""
        kind, competition, venue = table_of(match), competition_of(match), venue_key(match)
        level = sum(self._mean(key)[0] for key, _ in _levels(kind, competition, venue))
        ours, theirs = (
            self._mean(f"side:{team_key(match, team)}")
            for team in (innings.batting_team, innings.bowling_team)
        )
        return PreMatch(float(level), float(ours[0] - theirs[1]), float(theirs[0] - ours[1]))

    def learn_day(self, day: datetime.date, matches: Sequence[MatchSummary]) -> None:
        for match in matches:
            totals = list(self._totals(match))
            if totals:
                levels = [*_levels(match.kind, match.competition, match.venue)]
                sides = {innings.batting: _side(match, innings.batting) for innings, _ in totals}
                sides |= {innings.bowling: _side(match, innings.bowling) for innings, _ in totals}
                for entity in (*levels, *sides.values()):
                    self._drift(entity, day)
            for innings, total in totals:
                keys = [key for key, _ in levels]
                keys += [sides[innings.batting][0], sides[innings.bowling][0]]
                self._update([self.keys[key] for key in keys], total)
        self.until = day

    def _mean(self, key: str) -> Floats:
        if key in self.keys:
            mean: Floats = self.mean[self.keys[key]]
            return mean
        kind, _, name = key.partition(":")
        return np.array([_FIRST_LEVELS[KINDS.index(name)] if kind == "kind" else 0.0, 0.0])

    def _totals(self, match: MatchSummary) -> Iterator[tuple[InningsSummary, float]]:
        """Yield a match's usable totals, scaled to `FULL_BALLS` balls."""
        if len(match.innings) < 2:
            return
        first, second = match.innings[:2]
        quota = first.quota or 0
        if second.target == first.runs + 1:
            quota = min(quota, second.quota or 0)
        finished = first.balls >= quota or first.wickets >= ALL_OUT
        if not _MIN_BALLS <= quota <= FULL_BALLS or not finished:
            return
        yield first, first.runs * (FULL_BALLS / quota) ** _SCALING
        quota = second.quota or 0
        if match.method or not (match.winner or match.tie):
            return
        if not _MIN_BALLS <= quota <= FULL_BALLS:
            return
        left, wickets = quota - second.balls, ALL_OUT - second.wickets
        total = float(second.runs)
        if left > 0 and wickets > 0:
            if total <= first.runs:
                return
            levels = _levels(match.kind, match.competition, match.venue)
            level = sum(self._mean(key)[0] for key, _ in levels)
            more = min(left, _BALLS_PER_WICKET * wickets)
            total += float(_FINISH_RATE * level / FULL_BALLS * more)
        yield second, total * (FULL_BALLS / quota) ** _SCALING + _CHASE_SHORTFALL

    def _drift(self, entity: Entity, day: datetime.date) -> None:
        key, drift = entity
        shape = _SIDE_SHAPE if key.startswith("side:") else _LEVEL_SHAPE
        if key not in self.keys:
            self.mean = np.concatenate([self.mean, self._mean(key)[None]])
            self.covariance = np.concatenate([self.covariance, drift.first * shape[None]])
            self.seen = np.append(self.seen, day.toordinal())
            self.keys[key] = len(self.keys)
        row = self.keys[key]
        days = day.toordinal() - self.seen[row]
        self.covariance[row] += (drift.per_match + drift.per_day * days) * shape
        self.seen[row] = day.toordinal()

    def _update(self, rows: list[int], total: float) -> None:
        """The last two of ``rows`` are the batting side and the bowling side."""
        weights = np.zeros((len(rows), 2))
        weights[:-1, 0], weights[-1, 1] = 1, -1
        shares = np.einsum("eij,ej->ei", self.covariance[rows], weights)
        surprise = total - (weights * self.mean[rows]).sum()
        variance = _NOISE + (weights * shares).sum()
        self.mean[rows] += shares * (surprise / variance)
        self.covariance[rows] -= shares[:, :, None] * shares[:, None, :] / variance

    def copy(self) -> Self:
        other = type(self)()
        other.until, other.keys = self.until, dict(self.keys)
        other.mean, other.covariance = self.mean.copy(), self.covariance.copy()
        other.seen = self.seen.copy()
        return other

    def to_tensors(self) -> dict[str, Tensor]:
        return {
            "keys": text_tensor(list(self.keys)),
            "mean": torch.from_numpy(self.mean).float(),
            "covariance": torch.from_numpy(self.covariance).float(),
            "seen": torch.from_numpy(self.seen).int(),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> Self:
        form = cls()
        form.until = datetime.date.fromordinal(int(tensors["until"]))
        keys = words_of(tensors["keys"])
        form.keys = {key: row for row, key in enumerate(keys)}
        form.mean = tensors["mean"].numpy().astype(np.float64)
        form.covariance = tensors["covariance"].numpy().astype(np.float64)
        form.seen = tensors["seen"].numpy().astype(np.int64)
        rows = len(form.keys)
        shapes = form.mean.shape, form.covariance.shape, form.seen.shape
        if len(keys) != rows or shapes != ((rows, 2), (rows, 2, 2), (rows,)):
            raise ValueError(
                "the tables of sides and competitions have shapes that do not fit together"
            )
        if (np.diagonal(form.covariance, axis1=1, axis2=2) < 0).any():
            raise ValueError("the tables of sides contain a negative variance")
        return form


def _levels(kind: int, competition: str, venue: str) -> Iterator[Entity]:
    yield f"kind:{KINDS[kind]}", _KIND
    if competition:
        yield f"competition:{competition}", _COMPETITION
    if venue:
        yield f"venue:{venue}", _VENUE


def _side(match: MatchSummary, team: str) -> Entity:
    international = KINDS[match.kind].endswith(INTERNATIONALS)
    return f"side:{team}", _INTERNATIONAL_SIDE if international else _CLUB_SIDE
