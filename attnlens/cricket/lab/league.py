"""The invented league, and the constants of the simulator, fitted to real T20 internationals.

Constants are data: ``docs/predictor.md`` has the model that ``rates.json`` was fitted by. Log-odds
are natural and relative to a dot ball.

A player's, team's or ground's effect is a row of log-odds, one per group of outcomes (`GROUPS`),
drawn once for the league from a normal distribution with the spreads and correlations found in
real matches. Draws depend on names only, and are scaled so that the league as a whole has
exactly those spreads.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from random import Random
from statistics import NormalDist, fmean, pstdev
from typing import Final

from attnlens.cricket.match.match import Delivery, Player
from attnlens.cricket.match.outcomes import OUTCOME_INDEX, OUTCOMES
from attnlens.files import Json

Row = tuple[float, ...]


def _read(name: str) -> Json:
    return dict(json.loads(files(__package__).joinpath(name).read_text(encoding="utf-8")))


def _table(rows: Iterable[Iterable[float]]) -> tuple[Row, ...]:
    return tuple(tuple(row) for row in rows)


def _by_runs(shares: Mapping[str, float]) -> dict[int, float]:
    return {int(runs): share for runs, share in shares.items()}


_RATES: Final = _read("rates.json")
_LEAGUE: Final = _read("league.json")

GROUPS: Final[dict[str, tuple[str, ...]]] = {
    group: tuple(names) for group, names in _RATES["groups"].items()
}
"""Outcomes that players, teams, grounds and days move together."""

_BASE: Final = _table(_RATES["base"])
"""Log-odds of the outcome classes in each over, from the first."""

_SECOND_INNINGS: Final[Row] = tuple(_RATES["second_innings"])
"""What the second innings adds to `_BASE`, outcome by outcome."""

STRENGTHS: Final[dict[str, float]] = _RATES["strengths"]
"""Of each cause, for one unit, on the outcome that it moves most."""

DIRECTIONS: Final[dict[str, dict[str, float]]] = _RATES["directions"]
"""What a strength of 1 adds to each outcome for one unit of the cause."""

_UNIT_MEANS: Final[dict[str, Row]] = {
    cause: tuple(means) for cause, means in _RATES["unit_means"].items()
}
"""Units of each cause that are ordinary, by over: only the rest changes anything."""

_PLACES: Final = _table(_RATES["places"])
"""What a place in the batting order adds to each of `GROUPS`."""

_SPREADS: Final[dict[str, Row]] = {of: tuple(spreads) for of, spreads in _RATES["spreads"].items()}
"""Standard deviations of the true effects on each of `GROUPS`."""

_CORRELATIONS: Final[dict[str, tuple[Row, ...]]] = {
    of: _table(rows) for of, rows in _RATES["correlations"].items()
}
"""Between the effects of one player, or of one team, batting and then bowling."""

WIDE_RUNS: Final = _by_runs(_RATES["wide_runs"])
NO_BALL_BAT_RUNS: Final = _by_runs(_RATES["no_ball_bat_runs"])
BYE_RUNS: Final = _by_runs(_RATES["bye_runs"])
LEG_BYE_RUNS: Final = _by_runs(_RATES["leg_bye_runs"])
RUN_OUT_RUNS: Final = _by_runs(_RATES["run_out_runs"])
DISMISSALS: Final[dict[str, float]] = _RATES["dismissals"]
LEG_BYE: Final[float] = _RATES["leg_bye"]
STUMPED_OFF_WIDE: Final[float] = _RATES["stumped_off_wide"]
RUN_OUT_STRIKER: Final[float] = _RATES["run_out_striker"]
TWO_FIELDERS: Final[float] = _RATES["two_fielders"]
"""Shares of what an outcome class leaves open: runs, how a wicket fell, who was out."""

COMPETITION: Final[str] = _LEAGUE["competition"]

TEAMS: Final[dict[str, tuple[str, ...]]] = {
    team: tuple(players) for team, players in _LEAGUE["teams"].items()
}
"""Elevens in batting order; the last seven of each may bowl, and the fourth keeps wicket."""

VENUES: Final[tuple[tuple[str, str], ...]] = tuple(_LEAGUE["venues"].items())
"""Grounds and their towns."""

_SCORING: Final = ("running", "four", "six")
_SHARED_DAY: Final = 0.8
"""Share of a day's variance that is common to the groups of `_SCORING`.

Effects fitted one by one are too noisy to show it. It is chosen so that innings totals
spread, and the two of a match go together, as in real matches; the check is
``python benchmarks/simulator.py t20s_male_json.zip``.
"""

_BOWLERS: Final = 7
_KEEPER: Final = 3

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
        self.bowlers = self.players[-_BOWLERS:]
        self.keeper = self.players[_KEEPER]
        rates = true_rates()
        self.batting = {
            player: by_outcome(added(rates["batter", player.name], rates["batting", name], index))
            for player, index in zip(self.players, _PLACES, strict=True)
        }
        self.bowling = {
            player: by_outcome(added(rates["bowler", player.name], rates["bowling", name]))
            for player in self.bowlers
        }


@cache
def side(name: str) -> Side:
    return Side(name)


def identity(name: str) -> str:
    """Eight hexadecimal digits, as the register of people has them."""
    return hashlib.sha256(name.encode()).hexdigest()[:8]


@cache
def true_rates() -> dict[tuple[str, str], Row]:
    """Every effect of the league, by kind (batter, bowler, batting, bowling, venue) and name."""
    everyone = [person for players in TEAMS.values() for person in players]
    bowlers = [person for players in TEAMS.values() for person in players[-_BOWLERS:]]
    both = _SPREADS["batting team"] + _SPREADS["bowling team"]
    teams = _league("team", TEAMS, both, _CORRELATIONS["team"])
    found: dict[tuple[str, str], Row] = {}
    for kind, names in (("batter", everyone), ("bowler", bowlers)):
        rows = _league(kind, names, _SPREADS[kind], _CORRELATIONS[kind])
        found |= {(kind, name): row for name, row in rows.items()}
    for name, row in teams.items():
        found["batting", name], found["bowling", name] = row[: len(GROUPS)], row[len(GROUPS) :]
    grounds = _league("venue", [ground for ground, _ in VENUES], _SPREADS["venue"])
    found |= {("venue", name): row for name, row in grounds.items()}
    return found


def day_effect(random: Callable[[], float], block: str) -> Row:
    """What one match or one innings has of its own, from uniform random numbers."""
    common = math.sqrt(_SHARED_DAY) * _normal(random())
    own = math.sqrt(1 - _SHARED_DAY)
    return tuple(
        spread * (common + own * value if group in _SCORING else value)
        for group, spread in zip(GROUPS, _SPREADS[block], strict=True)
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


OVERS: Final = 20
BALLS_PER_OVER: Final = 6

PAST_BALLS: Final = (
    "settled",
    "batter_hit",
    "bowler_hit",
    "bowler_wide",
    "dots",
    "wicket_fallen",
    "free_hit",
)
"""Causes that are particular earlier balls."""

_CHASING: Final = ("chase", "out_of_reach")
"""Causes that only a side with a target knows."""

_SCOREBOARD: Final = (*_CHASING, "wickets_down")
"""Causes that are the state of the innings, whichever balls brought it about."""

CAUSES: Final = PAST_BALLS + _SCOREBOARD

_SETTLED_BALLS: Final = 20
_WINDOW: Final = 6
_MOST_HITS: Final = 3
_MOST_WIDES: Final = 2
_MOST_DOTS: Final = 6
_CHASE_RATE: Final = 8.0
_CHASE_STEP: Final = 4.0
_CHASE_RANGE: Final = (-1.0, 1.5)
_OUT_OF_REACH_RATE: Final = 14.0
_MOST_OUT_OF_REACH: Final = 3.0

_DIRECTIONS: Final = {
    cause: tuple((OUTCOME_INDEX[name], size) for name, size in DIRECTIONS[cause].items())
    for cause in CAUSES
}


class Past:
    """The deliveries of an innings so far, as the causes see them.

    In a chase there is a ``target`` of runs to win; ``balls`` are the legal ones the side has in
    all.
    """

    def __init__(self, target: int | None, balls: int = OVERS * BALLS_PER_OVER) -> None:
        self._target = target
        self._balls = balls
        self._faced: dict[Player, int] = {}
        self._batters: dict[Player, deque[Delivery]] = {}
        self._bowlers: dict[Player, deque[Delivery]] = {}
        self._recent: deque[Delivery] = deque(maxlen=_WINDOW)
        self._dots = 0
        self._free_hit = False
        self._score = 0
        self._legal = 0
        self._wickets = 0

    def add(self, ball: Delivery) -> None:
        """Take in the next delivery."""
        wide = "wides" in ball.extras
        if not wide:
            self._faced[ball.batter] = self._faced.get(ball.batter, 0) + 1
            self._batters.setdefault(ball.batter, deque(maxlen=_WINDOW)).append(ball)
        self._bowlers.setdefault(ball.bowler, deque(maxlen=_WINDOW)).append(ball)
        self._recent.append(ball)
        self._dots = self._dots + 1 if ball.outcome == "0" else 0
        if "noballs" in ball.extras:
            self._free_hit = True
        elif not wide:
            # A wide does not use the free hit up.
            self._free_hit = False
        self._score += ball.runs_total
        self._legal += ball.is_legal
        self._wickets += sum(wicket.counts for wicket in ball.wickets)

    def units(self, batter: Player, bowler: Player) -> dict[str, float]:
        """How much of each cause bears on the next ball; 0 where a cause is absent."""
        spell = self._bowlers.get(bowler, ())
        wides = sum("wides" in ball.extras for ball in spell)
        chase, out_of_reach = self._pressure()
        return {
            "settled": min(self._faced.get(batter, 0) / _SETTLED_BALLS, 1.0),
            "batter_hit": _hits(self._batters.get(batter, ())),
            "bowler_hit": _hits(spell),
            "bowler_wide": float(min(wides, _MOST_WIDES)),
            "dots": float(min(self._dots, _MOST_DOTS)),
            "wicket_fallen": float(
                any(wicket.counts for ball in self._recent for wicket in ball.wickets)
            ),
            "free_hit": float(self._free_hit),
            "chase": chase,
            "out_of_reach": out_of_reach,
            "wickets_down": float(self._wickets),
        }

    def _pressure(self) -> tuple[float, float]:
        if self._target is None:
            return 0.0, 0.0
        balls_left = max(self._balls - self._legal, 1)
        required = BALLS_PER_OVER * (self._target - self._score) / balls_left
        low, high = _CHASE_RANGE
        beyond = max((required - _OUT_OF_REACH_RATE) / _CHASE_STEP, 0.0)
        return (
            min(max((required - _CHASE_RATE) / _CHASE_STEP, low), high),
            min(beyond, _MOST_OUT_OF_REACH),
        )


def _hits(balls: deque[Delivery] | tuple[()]) -> float:
    return float(min(sum(ball.boundary for ball in balls), _MOST_HITS))


class OutcomeProbabilities:
    """Outcome probabilities for the balls of one innings.

    Where ``past_counts`` is false, only the scoreboard of `CAUSES` has an effect. ``background`` is
    what ground, day and innings add to the log-odds, one per outcome.
    """

    def __init__(self, past_counts: bool, background: Row, chasing: bool) -> None:
        self._strengths = {
            cause: STRENGTHS[cause] if past_counts or cause in _SCOREBOARD else 0.0
            for cause in CAUSES
        }
        self._overs = []
        for over, row in enumerate(_BASE):
            logits = [
                base + (second if chasing else 0.0) + here
                for base, second, here in zip(row, _SECOND_INNINGS, background, strict=True)
            ]
            for cause, strength in self._strengths.items():
                if chasing or cause not in _CHASING:
                    _add(logits, cause, -strength * _UNIT_MEANS[cause][over])
            self._overs.append(logits)

    def of(
        self, over: int, batter: Row, bowler: Row, units: Mapping[str, float]
    ) -> tuple[float, ...]:
        """Return the probabilities of `OUTCOMES`, from the `Past.units` of the causes."""
        logits = [sum(terms) for terms in zip(self._overs[over], batter, bowler, strict=True)]
        for cause, strength in self._strengths.items():
            if units[cause] and strength:
                _add(logits, cause, strength * units[cause])
        shares = [math.exp(logit) for logit in logits]
        total = sum(shares)
        return tuple(share / total for share in shares)


def _add(logits: list[float], cause: str, amount: float) -> None:
    for position, size in _DIRECTIONS[cause]:
        logits[position] += amount * size
