"""The true rates of the invented players, teams and grounds.

Each effect is a row of log-odds, one per group of outcomes
(`attnlens.cricket.simulator.rates.GROUPS`), drawn once for the league from a normal
distribution with the spreads and correlations found in real matches. Draws depend on
names only, and are scaled so that the league as a whole has exactly those spreads.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from random import Random
from statistics import NormalDist, fmean, pstdev
from typing import Final

from attnlens.cricket.match.match import Player
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.simulator.rates import (
    CORRELATIONS,
    GROUPS,
    PLACES,
    SPREADS,
    TEAMS,
    VENUES,
    Row,
)

SCORING: Final = ("running", "four", "six")
SHARED_DAY: Final = 0.8
"""Share of a day's variance that is common to the groups of `SCORING`.

Effects fitted one by one are too noisy to show it. It is chosen so that innings totals
spread, and the two of a match go together, as in real matches; the check is
``python benchmarks/simulator.py compare t20s_male_json.zip``.
"""

BOWLERS: Final = 7
KEEPER: Final = 3

_NORMAL = NormalDist()


class Side:
    """A team: eleven players in batting order, the last seven of whom bowl.

    Attributes:
        batting, bowling: log-odds of the outcome classes that each player adds,
            with the team's and, for batters, the place's in the order.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.players = tuple(Player(person, identity(person)) for person in TEAMS[name])
        self.bowlers = self.players[-BOWLERS:]
        self.keeper = self.players[KEEPER]
        rates = true_rates()
        self.batting = {
            player: by_outcome(added(rates["batter", player.name], rates["batting", name], place))
            for player, place in zip(self.players, PLACES, strict=True)
        }
        self.bowling = {
            player: by_outcome(added(rates["bowler", player.name], rates["bowling", name]))
            for player in self.bowlers
        }


@cache
def side(name: str) -> Side:
    """The team of that name."""
    return Side(name)


def identity(name: str) -> str:
    """Eight hexadecimal digits, as the register of people has them."""
    return hashlib.sha256(name.encode()).hexdigest()[:8]


@cache
def true_rates() -> dict[tuple[str, str], Row]:
    """Every effect of the league, by kind (batter, bowler, batting, bowling, venue) and name."""
    everyone = [person for players in TEAMS.values() for person in players]
    bowlers = [person for players in TEAMS.values() for person in players[-BOWLERS:]]
    both = SPREADS["batting team"] + SPREADS["bowling team"]
    teams = _league("team", TEAMS, both, CORRELATIONS["team"])
    found: dict[tuple[str, str], Row] = {}
    for kind, names in (("batter", everyone), ("bowler", bowlers)):
        rows = _league(kind, names, SPREADS[kind], CORRELATIONS[kind])
        found |= {(kind, name): row for name, row in rows.items()}
    for name, row in teams.items():
        found["batting", name], found["bowling", name] = row[: len(GROUPS)], row[len(GROUPS) :]
    grounds = _league("venue", [ground for ground, _ in VENUES], SPREADS["venue"])
    found |= {("venue", name): row for name, row in grounds.items()}
    return found


def day_effect(random: Callable[[], float], block: str) -> Row:
    """What one match or one innings has of its own, from uniform random numbers."""
    common = math.sqrt(SHARED_DAY) * _normal(random())
    own = math.sqrt(1 - SHARED_DAY)
    return tuple(
        spread * (common + own * value if group in SCORING else value)
        for group, spread in zip(GROUPS, SPREADS[block], strict=True)
        for value in (_normal(random()),)
    )


def added(*rows: Row) -> Row:
    """The sum, group by group."""
    return tuple(map(sum, zip(*rows, strict=True)))


def by_outcome(row: Row) -> Row:
    """Effects on groups of outcomes as effects on `OUTCOMES`."""
    group_of = {name: value for group, value in zip(GROUPS.values(), row, strict=True)
                for name in group}  # fmt: skip
    return tuple(group_of.get(name, 0.0) for name in OUTCOMES)


def _league(
    kind: str, names: Iterable[str], spreads: Row, correlation: Sequence[Row] | None = None
) -> dict[str, Row]:
    """Rows by name, with the spreads given over these names."""
    drawn = {}
    for name in names:
        rng = Random(int(identity(f"{kind} {name}"), 16))
        normals = [_normal(rng.random()) for _ in spreads]
        drawn[name] = normals if correlation is None else _mixed(normals, correlation)
    columns = list(zip(*drawn.values(), strict=True))
    centres, widths = [fmean(column) for column in columns], [pstdev(column) for column in columns]
    return {
        name: tuple(
            spread * (value - centre) / width
            for spread, value, centre, width in zip(spreads, row, centres, widths, strict=True)
        )
        for name, row in drawn.items()
    }


def _mixed(normals: Sequence[float], correlation: Sequence[Row]) -> list[float]:
    """Independent normals made to correlate (Cholesky's factor times them)."""
    factor: list[list[float]] = []
    for i, row in enumerate(correlation):
        line: list[float] = []
        for j in range(i + 1):
            rest = row[j] - sum(line[k] * (factor[j] if j < i else line)[k] for k in range(j))
            # Rounded correlations may fall short of a matrix that has a factor.
            line.append(math.sqrt(max(rest, 1e-6)) if i == j else rest / factor[j][j])
        factor.append(line)
    return [sum(f * n for f, n in zip(line, normals, strict=False)) for line in factor]


def _normal(uniform: float) -> float:
    # random() may be 0, which has no quantile.
    return _NORMAL.inv_cdf(min(max(uniform, 1e-12), 1 - 1e-12))
