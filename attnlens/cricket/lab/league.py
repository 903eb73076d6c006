"""The invented league, and the constants of the simulator, fitted to real T20 internationals.

Constants are data: ``docs/predictor.md`` has the model that ``rates.json`` was fitted by. Log-odds
are natural and relative to a dot ball.

A player's, team's or ground's effect is a row of log-odds, one per group of outcomes (`GROUPS`),
drawn once for the league from a normal distribution with the spreads and correlations found in
real matches. Draws depend on names only, and are scaled so that the league as a whole has
exactly those spreads.

Matches can also be played by planted rules: strong, exactly known dependencies on particular past
balls. In such matches nothing else differs: players, grounds and days are alike, so the true effect
of every past ball on every later one can be computed. The first ball that a rule counts adds its
whole strength to the log-odds of the outcomes it moves, and each further ball adds half as much as
the one before.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from random import Random
from statistics import NormalDist, fmean, pstdev
from typing import Final

from attnlens.cricket.match.match import OUTCOME_INDEX, OUTCOMES, Delivery, Player
from attnlens.files import Json

Row = Sequence[float]


def _read(name: str) -> Json:
    return dict(json.loads(files(__package__).joinpath(name).read_text(encoding="utf-8")))


RATES: Final = _read("rates.json")
"""The fitted constants; log-odds are of the outcome classes, in their order.

``base``: by over; ``second_innings``: added to it. ``strengths`` of each cause, for one unit, on
the outcome that it moves most, and ``directions``: what a strength of 1 adds to each outcome;
``unit_means``: units of each cause that are ordinary, by over. ``places``: what a position in the
batting order adds to each of ``groups``. ``spreads`` and ``correlations`` of the true effects on
each group. The others are shares of what an outcome class leaves open: runs, how a wicket fell, who
was out.
"""

_LEAGUE: Final = _read("league.json")
GROUPS: Final[dict[str, list[str]]] = RATES["groups"]
"""Outcomes that players, teams, grounds and days move together."""

COMPETITION: Final[str] = _LEAGUE["competition"]
TEAMS: Final[dict[str, list[str]]] = _LEAGUE["teams"]
"""Elevens in batting order; the last seven of each may bowl, and the fourth keeps wicket."""

VENUES: Final[tuple[tuple[str, str], ...]] = tuple(_LEAGUE["venues"].items())
"""Grounds and their towns."""

_SCORING_GROUPS: Final = ("running", "four", "six")
_SHARED_DAY: Final = 0.8
"""Share of a day's variance that is common to `_SCORING_GROUPS`.

Effects fitted one by one are too noisy to show it. It is chosen so that innings totals
spread, and the two of a match go together, as in real matches.
"""

_BOWLERS: Final = 7
_KEEPER: Final = 3
_NORMAL: Final = NormalDist()


class TeamRates:
    """A team: eleven players in batting order, the last seven of whom bowl.

    Attributes:
        batting, bowling: log-odds of the outcome classes that each player adds,
            with the team's and, for batters, the position's in the order.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.players = tuple(Player(person, identity(person)) for person in TEAMS[name])
        self.bowlers = self.players[-_BOWLERS:]
        self.keeper = self.players[_KEEPER]
        rates = true_rates()
        self.batting = {
            player: by_outcome(
                added(rates["batter", player.name], rates["batting", name], position)
            )
            for player, position in zip(self.players, RATES["places"], strict=True)
        }
        self.bowling = {
            player: by_outcome(added(rates["bowler", player.name], rates["bowling", name]))
            for player in self.bowlers
        }


@cache
def team_rates(name: str) -> TeamRates:
    return TeamRates(name)


def identity(name: str) -> str:
    """Eight hexadecimal digits, as the register of people has them."""
    return hashlib.sha256(name.encode()).hexdigest()[:8]


@cache
def true_rates() -> dict[tuple[str, str], Row]:
    """Every effect of the league, by kind (batter, bowler, batting, bowling, venue) and name."""
    everyone = [person for players in TEAMS.values() for person in players]
    bowlers = [person for players in TEAMS.values() for person in players[-_BOWLERS:]]
    spreads, correlations = RATES["spreads"], RATES["correlations"]
    rates: dict[tuple[str, str], Row] = {}
    for kind, names in (
        ("batter", everyone),
        ("bowler", bowlers),
        ("venue", [ground for ground, _ in VENUES]),
    ):
        rows = _draw_effects(kind, names, spreads[kind], correlations.get(kind))
        rates |= {(kind, name): row for name, row in rows.items()}
    both = spreads["batting team"] + spreads["bowling team"]
    for name, row in _draw_effects("team", TEAMS, both, correlations["team"]).items():
        rates["batting", name], rates["bowling", name] = row[: len(GROUPS)], row[len(GROUPS) :]
    return rates


def day_effect(random: Callable[[], float], block: str) -> Row:
    """What one match or one innings has of its own, from uniform random numbers."""
    common = math.sqrt(_SHARED_DAY) * _normal(random())
    own = math.sqrt(1 - _SHARED_DAY)
    return tuple(
        spread * (common + own * value if group in _SCORING_GROUPS else value)
        for group, spread in zip(GROUPS, RATES["spreads"][block], strict=True)
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


def _draw_effects(
    kind: str, names: Iterable[str], spreads: Row, correlation: Sequence[Row] | None
) -> dict[str, Row]:
    """Rows by name, with the spreads given over these names."""
    normals_of = {}
    for name in names:
        rng = Random(int(identity(f"{kind} {name}"), 16))
        normals = [_normal(rng.random()) for _ in spreads]
        normals_of[name] = normals if correlation is None else _correlated(normals, correlation)
    columns = list(zip(*normals_of.values(), strict=True))
    centres, widths = [fmean(column) for column in columns], [pstdev(column) for column in columns]
    return {
        name: tuple(
            spread * (value - centre) / width
            for spread, value, centre, width in zip(spreads, row, centres, widths, strict=True)
        )
        for name, row in normals_of.items()
    }


def _correlated(normals: Sequence[float], correlation: Sequence[Row]) -> list[float]:
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
_CHASE_STEP: Final = 4.0

_DIRECTIONS: Final = {
    cause: tuple((OUTCOME_INDEX[name], size) for name, size in RATES["directions"][cause].items())
    for cause in CAUSES
}


class Past:
    """The deliveries of an innings so far, as the causes see them.

    In a chase there is a ``target`` of runs to win; ``balls`` are the legal ones the side has in
    all.
    """

    def __init__(self, target: int | None, balls: int = OVERS * BALLS_PER_OVER) -> None:
        self._target, self._balls = target, balls
        self._faced: Counter[Player] = Counter()
        recent = partial(deque[Delivery], maxlen=_WINDOW)
        self._batters: defaultdict[Player, deque[Delivery]] = defaultdict(recent)
        self._bowlers: defaultdict[Player, deque[Delivery]] = defaultdict(recent)
        self._recent = recent()
        self._dots = self._score = self._legal = self._wickets = 0
        self._free_hit = False

    def add(self, ball: Delivery) -> None:
        """Take in the next delivery."""
        wide = "wides" in ball.extras
        if not wide:
            self._faced[ball.batter] += 1
            self._batters[ball.batter].append(ball)
        self._bowlers[ball.bowler].append(ball)
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
        spell = self._bowlers[bowler]
        wides = sum("wides" in ball.extras for ball in spell)
        fallen = any(wicket.counts for ball in self._recent for wicket in ball.wickets)
        chase = out_of_reach = 0.0
        if self._target is not None:
            balls_left = max(self._balls - self._legal, 1)
            required = BALLS_PER_OVER * (self._target - self._score) / balls_left
            chase = min(max((required - 8.0) / _CHASE_STEP, -1.0), 1.5)
            out_of_reach = min(max((required - 14.0) / _CHASE_STEP, 0.0), 3.0)
        return {
            "settled": min(self._faced[batter] / _SETTLED_BALLS, 1.0),
            "batter_hit": _hits(self._batters[batter]),
            "bowler_hit": _hits(spell),
            "bowler_wide": float(min(wides, 2)),
            "dots": float(min(self._dots, 6)),
            "wicket_fallen": float(fallen),
            "free_hit": float(self._free_hit),
            "chase": chase,
            "out_of_reach": out_of_reach,
            "wickets_down": float(self._wickets),
        }


def _hits(balls: Iterable[Delivery]) -> float:
    return float(min(sum(ball.boundary for ball in balls), 3))


class OutcomeProbabilities:
    """Outcome probabilities for the balls of one innings.

    Where ``past_counts`` is false, only the scoreboard of `CAUSES` has an effect. ``background`` is
    what ground, day and innings add to the log-odds, one per outcome.
    """

    def __init__(self, past_counts: bool, background: Row, chasing: bool) -> None:
        self._strengths = {
            cause: RATES["strengths"][cause] if past_counts or cause in _SCOREBOARD else 0.0
            for cause in CAUSES
        }
        self._overs = []
        for over, row in enumerate(RATES["base"]):
            logits = [
                base + (second if chasing else 0.0) + extra
                for base, second, extra in zip(
                    row, RATES["second_innings"], background, strict=True
                )
            ]
            for cause, strength in self._strengths.items():
                if chasing or cause not in _CHASING:
                    _add(logits, cause, -strength * RATES["unit_means"][cause][over])
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


_RECENT_BALLS: Final = 6


Counted = Callable[[Sequence[Delivery], Player, Player], tuple[int, ...]]


def _is_hit(ball: Delivery) -> bool:
    return ball.boundary


def _is_dot(ball: Delivery) -> bool:
    return ball.outcome == "0"


def _is_wicket(ball: Delivery) -> bool:
    return ball.outcome == "W"


def _hits_by_batter(past: Sequence[Delivery], batter: Player, bowler: Player) -> tuple[int, ...]:
    met = (ball for ball in past if (ball.batter, ball.bowler) == (batter, bowler))
    return tuple(ball.index for ball in met if _is_hit(ball))


def _two_dots(past: Sequence[Delivery], _: Player, bowler: Player) -> tuple[int, ...]:
    last = [ball for ball in past if ball.bowler == bowler][-2:]
    return tuple(ball.index for ball in last) if len(last) == 2 and all(map(_is_dot, last)) else ()


def _recent_wickets(past: Sequence[Delivery], _: Player, __: Player) -> tuple[int, ...]:
    return tuple(ball.index for ball in past[-_RECENT_BALLS:] if _is_wicket(ball))


@dataclass(frozen=True)
class PlantedRule:
    """One way in which past balls change the next.

    Attributes:
        event: what must have happened on a ball for it to be counted; there are as a rule
            other such balls, which it does not count.
        counted: the past balls it counts, by position in the innings, for past, batter and
            bowler; ``together``: only all together, as one.
        moves, strength: the outcomes whose log-odds it changes, and by how much, for one ball.
        ordinary: the units there commonly are; counting from them keeps totals ordinary.
    """

    name: str
    text: str
    event: Callable[[Delivery], bool]
    counted: Counted
    together: bool
    moves: tuple[str, ...]
    strength: float
    ordinary: float

    def units(self, balls: Collection[int], hidden: Set[int]) -> float:
        """How much of the rule there is, from the balls it counts less the hidden ones."""
        n_visible = sum(ball not in hidden for ball in balls)
        if self.together:
            return float(bool(balls) and n_visible == len(balls))
        return 2.0 * (1.0 - 0.5**n_visible)


RULES: Final[tuple[PlantedRule, ...]] = (
    PlantedRule(
        "has_hit",
        "each four or six that this batter has hit off this bowler makes another likelier",
        _is_hit,
        _hits_by_batter,
        together=False,
        moves=("4", "6"),
        strength=1.2,
        ordinary=0.5,
    ),
    PlantedRule(
        "two_dots",
        "this bowler's last two deliveries were both dots: a wicket is likelier",
        _is_dot,
        _two_dots,
        together=True,
        moves=("W",),
        strength=1.8,
        ordinary=0.1,
    ),
    PlantedRule(
        "wicket",
        f"each wicket among the last {_RECENT_BALLS} deliveries makes a four or six less likely",
        _is_wicket,
        _recent_wickets,
        together=False,
        moves=("4", "6"),
        strength=-1.5,
        ordinary=0.25,
    ),
)
"""The planted rules, in the order of a table."""


@dataclass(frozen=True)
class RuledBall:
    """What the rules did to one simulated ball.

    ``balls`` are the past balls that each rule counts, by position in the innings; rules that count
    none are left out. ``without_rules`` are outcome probabilities if there were no rules.
    """

    innings: int
    index: int
    without_rules: tuple[float, ...]
    balls: Mapping[str, tuple[int, ...]]
    rules: tuple[PlantedRule, ...] = RULES

    @property
    def planted(self) -> frozenset[int]:
        """Every past ball that this ball truly depends on."""
        return frozenset(ball for balls in self.balls.values() for ball in balls)

    def probabilities(self, hidden: Set[int] = frozenset()) -> tuple[float, ...]:
        """The true probabilities, as if what happened on the hidden balls had not.

        A hidden ball keeps its place: it still stands among the last deliveries.
        """
        shares = list(self.without_rules)
        for rule in self.rules:
            units = rule.units(self.balls.get(rule.name, ()), hidden) - rule.ordinary
            factor = math.exp(rule.strength * units)
            for name in rule.moves:
                shares[OUTCOME_INDEX[name]] *= factor
        total = sum(shares)
        return tuple(share / total for share in shares)

    def effect(self, hidden: Set[int]) -> float:
        """``KL(true ‖ true without the hidden balls)``, nats; 0 exactly where none is planted."""
        if not hidden & self.planted:
            return 0.0
        pairs = zip(self.probabilities(), self.probabilities(hidden), strict=True)
        return max(sum(p * math.log(p / q) for p, q in pairs), 0.0)

    def effects(self) -> dict[int, float]:
        """The effect of each planted ball alone, by its position; every other ball's is 0."""
        return {ball: self.effect(frozenset((ball,))) for ball in sorted(self.planted)}


def rules_times(strength: float) -> tuple[PlantedRule, ...]:
    """`RULES`, each as many times as strong."""
    return tuple(replace(rule, strength=strength * rule.strength) for rule in RULES)


def ruled_ball(
    innings: int,
    past: Sequence[Delivery],
    batter: Player,
    bowler: Player,
    without_rules: tuple[float, ...],
    rules: tuple[PlantedRule, ...] = RULES,
) -> RuledBall:
    """The next ball after ``past`` by the rules, which change the probabilities that are given."""
    counted = {rule.name: rule.counted(past, batter, bowler) for rule in rules}
    return RuledBall(
        innings,
        len(past) + 1,
        without_rules,
        {name: balls for name, balls in counted.items() if balls},
        rules,
    )
