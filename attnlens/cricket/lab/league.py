"""The invented league, and the constants of the simulator.

The constants in ``rates.json`` were fitted to real T20 internationals. ``docs/predictor.md``
describes the fitted model. Log-odds compare an outcome with a dot ball, and use the natural
logarithm.

Each player, team and ground has an effect on the outcomes. An effect is a row with one log-odds
value for each group of outcomes (`GROUPS`). The rows are drawn from a normal distribution with the
standard deviations and correlations of real matches. The random numbers depend only on the names,
so the rows are the same in every match.

Matches can also follow planted rules. By a planted rule, particular past balls change the log-odds
of some outcomes. In these matches, all players, grounds and days are alike, and the true effect of
every past ball is known.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import takewhile
from random import Random
from statistics import NormalDist
from typing import Final

import numpy as np

from attnlens.cricket.match.match import OUTCOME_INDEX, OUTCOMES, Delivery, Player
from attnlens.files import Json

Row = Sequence[float]


def _read(name: str) -> Json:
    return dict(json.loads(files(__package__).joinpath(name).read_text(encoding="utf-8")))


RATES: Final = _read("rates.json")
"""The fitted constants. Rows of log-odds are in the order of the outcome classes.

- ``base``: the log-odds of the outcomes in each over.
- ``second_innings``: the log-odds that are added in a second innings.
- ``strengths``: for each cause, the effect of one unit on the most affected outcome.
- ``directions``: for each cause, the effect on each outcome at strength 1.
- ``unit_means``: for each cause and over, the average number of units.
- ``places``: the effect of each batting position on each of ``groups``.
- ``spreads``: the standard deviations of the true effects on each group.
- ``correlations``: the correlations of the true effects on each group.

The other constants are the frequencies of further details, such as the kind of wicket.
"""

_LEAGUE: Final = _read("league.json")
GROUPS: Final[dict[str, list[str]]] = RATES["groups"]
"""The groups of outcomes. A player, team, ground or day has the same effect on all outcomes of a
group."""

COMPETITION: Final[str] = _LEAGUE["competition"]
TEAMS: Final[dict[str, list[str]]] = _LEAGUE["teams"]
"""The eleven players of each team, in batting order. The last seven players may bowl. The fourth
player keeps wicket."""

VENUES: Final[tuple[tuple[str, str], ...]] = tuple(_LEAGUE["venues"].items())
"""The grounds and their towns."""

_SCORING_GROUPS: Final = ("running", "four", "six")
_SHARED_DAY: Final = 0.8
"""The share of a day effect's variance that is common to `_SCORING_GROUPS`. This share reproduces
the standard deviation and the correlation of the innings totals in real matches."""

_BOWLERS: Final = 7
_KEEPER: Final = 3
_NORMAL: Final = NormalDist()


class TeamRates:
    """The players of a team, and their effects on the log-odds of the outcome classes.

    Attributes:
        batting: each batter's effect, including the effects of the team and of the batting
            position.
        bowling: each bowler's effect, including the effect of the team.
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


team_rates: Final = cache(TeamRates)


def identity(name: str) -> str:
    """Return an id for a name, with eight hexadecimal digits like the ids of Cricsheet."""
    return hashlib.sha256(name.encode()).hexdigest()[:8]


@cache
def true_rates() -> dict[tuple[str, str], Row]:
    """Return the effects of all players, teams and grounds. The keys are ``(kind, name)``.

    The kinds are ``batter`` and ``bowler`` for players, ``batting`` and ``bowling`` for teams, and
    ``venue`` for grounds.
    """
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
    """Draw the effect of one match or one innings. ``random`` returns uniform random numbers."""
    common = math.sqrt(_SHARED_DAY) * _normal(random())
    own = math.sqrt(1 - _SHARED_DAY)
    return tuple(
        spread * (common + own * value if group in _SCORING_GROUPS else value)
        for group, spread in zip(GROUPS, RATES["spreads"][block], strict=True)
        for value in (_normal(random()),)
    )


def added(*rows: Row) -> Row:
    """Return the sum of several rows, element by element."""
    return tuple(map(sum, zip(*rows, strict=True)))


def by_outcome(row: Row) -> Row:
    """Convert a row of effects on `GROUPS` to a row of effects on `OUTCOMES`."""
    group_of = {name: value for group, value in zip(GROUPS.values(), row, strict=True)
                for name in group}  # fmt: skip
    return tuple(group_of.get(name, 0.0) for name in OUTCOMES)


def _draw_effects(
    kind: str, names: Collection[str], spreads: Row, correlation: Sequence[Row] | None
) -> dict[str, Row]:
    """Draw a row of effects for each name, with standard deviations of exactly ``spreads``."""
    generators = [Random(int(identity(f"{kind} {name}"), 16)) for name in names]
    rows = np.array([[_normal(rng.random()) for _ in spreads] for rng in generators])
    if correlation is not None:
        rows = rows @ np.linalg.cholesky(correlation).T
    scaled = np.array(spreads) * (rows - rows.mean(0)) / rows.std(0)
    return dict(zip(names, map(tuple, scaled.tolist()), strict=True))


def _normal(uniform: float) -> float:
    # random() may return 0, and the normal quantile of 0 is not finite.
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
"""The causes that depend on particular past balls."""

_CHASING: Final = ("chase", "out_of_reach")

_SCOREBOARD: Final = (*_CHASING, "wickets_down")

CAUSES: Final = PAST_BALLS + _SCOREBOARD

_SETTLED_BALLS: Final = 20
_WINDOW: Final = 6
_CHASE_STEP: Final = 4.0

_DIRECTIONS: Final = {
    cause: tuple((OUTCOME_INDEX[name], size) for name, size in RATES["directions"][cause].items())
    for cause in CAUSES
}


class Past:
    """The past balls of an innings, as the causes of the next ball's outcome.

    ``target`` is the number of runs that a chase needs to win, or ``None`` in a first innings.
    ``balls`` is the largest number of legal balls in the innings.
    """

    def __init__(self, target: int | None, balls: int = OVERS * BALLS_PER_OVER) -> None:
        self._target, self._balls = target, balls
        self._past: list[Delivery] = []
        self._faced: defaultdict[Player, list[Delivery]] = defaultdict(list)
        self._bowled: defaultdict[Player, list[Delivery]] = defaultdict(list)
        self._free_hit = False

    def add(self, ball: Delivery) -> None:
        """Add a ball that was bowled."""
        self._past.append(ball)
        self._bowled[ball.bowler].append(ball)
        if "wides" not in ball.extras:
            self._faced[ball.batter].append(ball)
        # After a wide, the next ball is still a free hit.
        self._free_hit = "noballs" in ball.extras or (self._free_hit and not ball.is_legal)

    def units(self, batter: Player, bowler: Player) -> dict[str, float]:
        """Return the number of units of each cause for the next ball; 0 without an effect."""
        past, faced = self._past, self._faced[batter]
        spell = self._bowled[bowler][-_WINDOW:]
        wides = sum("wides" in ball.extras for ball in spell)
        fallen = any(wicket.counts for ball in past[-_WINDOW:] for wicket in ball.wickets)
        dots = sum(1 for _ in takewhile(lambda ball: ball.outcome == "0", reversed(past)))
        score = legal = wickets = 0
        if past:
            last = past[-1]
            score = last.score_before + last.runs_total
            legal = last.legal_balls_before + last.is_legal
            wickets = last.wickets_before + sum(wicket.counts for wicket in last.wickets)
        chase = out_of_reach = 0.0
        if self._target is not None:
            balls_left = max(self._balls - legal, 1)
            required = BALLS_PER_OVER * (self._target - score) / balls_left
            chase = min(max((required - 8.0) / _CHASE_STEP, -1.0), 1.5)
            out_of_reach = min(max((required - 14.0) / _CHASE_STEP, 0.0), 3.0)
        return {
            "settled": min(len(faced) / _SETTLED_BALLS, 1.0),
            "batter_hit": _hits(faced[-_WINDOW:]),
            "bowler_hit": _hits(spell),
            "bowler_wide": float(min(wides, 2)),
            "dots": float(min(dots, 6)),
            "wicket_fallen": float(fallen),
            "free_hit": float(self._free_hit),
            "chase": chase,
            "out_of_reach": out_of_reach,
            "wickets_down": float(wickets),
        }


def _hits(balls: Iterable[Delivery]) -> float:
    return float(min(sum(ball.boundary for ball in balls), 3))


class OutcomeProbabilities:
    """The outcome probabilities of every possible ball in one innings.

    If ``past_counts`` is false, particular past balls have no effect. ``background`` is the effect
    of the ground, the day and the innings on the log-odds of each outcome.
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
        """Return the probabilities of `OUTCOMES` for one ball.

        ``batter`` and ``bowler`` are effects from `TeamRates`. ``units`` is the result of
        `Past.units`.
        """
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


def _hits_by_batter(past: Sequence[Delivery], batter: Player, bowler: Player) -> tuple[int, ...]:
    met = (ball for ball in past if (ball.batter, ball.bowler) == (batter, bowler))
    return tuple(ball.index for ball in met if ball.boundary)


def _two_dots(past: Sequence[Delivery], _: Player, bowler: Player) -> tuple[int, ...]:
    last = [ball for ball in past if ball.bowler == bowler][-2:]
    dots = len(last) == 2 and all(ball.outcome == "0" for ball in last)
    return tuple(ball.index for ball in last) if dots else ()


def _recent_wickets(past: Sequence[Delivery], _: Player, __: Player) -> tuple[int, ...]:
    return tuple(ball.index for ball in past[-_RECENT_BALLS:] if ball.outcome == "W")


@dataclass(frozen=True)
class PlantedRule:
    """A rule by which particular past balls change the probabilities of the next ball.

    Attributes:
        event: returns whether a ball has the rule's event, such as a boundary.
        counted: returns the positions of the balls that the rule counts, from the past balls, the
            batter and the bowler.
        together: whether the counted balls form one unit, without effect if any of the balls is
            hidden.
        moves: the outcomes whose log-odds the rule changes.
        strength: the change of these log-odds for one unit.
        ordinary: the average number of units, subtracted to keep innings totals realistic.
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
        """Return the number of units of the rule. Hidden balls have no effect.

        The first visible ball adds one unit. Each further ball adds half as much as the ball
        before. Balls that count ``together`` add one unit in all.
        """
        n_visible = sum(ball not in hidden for ball in balls)
        if self.together:
            return float(bool(balls) and n_visible == len(balls))
        return 2.0 * (1.0 - 0.5**n_visible)


RULES: Final[tuple[PlantedRule, ...]] = (
    PlantedRule(
        "has_hit",
        "each four or six that this batter has hit off this bowler makes another likelier",
        lambda ball: ball.boundary,
        _hits_by_batter,
        together=False,
        moves=("4", "6"),
        strength=1.2,
        ordinary=0.5,
    ),
    PlantedRule(
        "two_dots",
        "this bowler's last two deliveries were both dots: a wicket is likelier",
        lambda ball: ball.outcome == "0",
        _two_dots,
        together=True,
        moves=("W",),
        strength=1.8,
        ordinary=0.1,
    ),
    PlantedRule(
        "wicket",
        f"each wicket among the last {_RECENT_BALLS} deliveries makes a four or six less likely",
        lambda ball: ball.outcome == "W",
        _recent_wickets,
        together=False,
        moves=("4", "6"),
        strength=-1.5,
        ordinary=0.25,
    ),
)
"""The planted rules, in the order of the table's rows."""


@dataclass(frozen=True)
class RuledBall:
    """The effect of the rules on one simulated ball.

    Attributes:
        without_rules: the outcome probabilities that the ball would have without any rule.
        balls: maps each rule to the positions of the past balls that the rule counts. Rules without
            counted balls are left out.
    """

    innings: int
    index: int
    without_rules: tuple[float, ...]
    balls: Mapping[str, tuple[int, ...]]
    rules: tuple[PlantedRule, ...] = RULES

    @property
    def planted(self) -> frozenset[int]:
        """The positions of the planted balls: the past balls on which this ball truly depends."""
        return frozenset(ball for balls in self.balls.values() for ball in balls)

    def probabilities(self, hidden: Set[int] = frozenset()) -> tuple[float, ...]:
        """Return the true probabilities of this ball with some past balls hidden.

        The rules ignore hidden balls, and no other balls take their place.
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
        """Return the true effect of hiding some past balls, in nats.

        The effect is ``KL(true ‖ true without the balls)``, and exactly 0 if no planted ball is
        hidden.
        """
        if not hidden & self.planted:
            return 0.0
        pairs = zip(self.probabilities(), self.probabilities(hidden), strict=True)
        return max(sum(p * math.log(p / q) for p, q in pairs), 0.0)

    def effects(self) -> dict[int, float]:
        """Return the true effect of hiding each planted ball alone. The keys are positions."""
        return {ball: self.effect(frozenset((ball,))) for ball in sorted(self.planted)}


def ruled_ball(
    innings: int,
    past: Sequence[Delivery],
    batter: Player,
    bowler: Player,
    without_rules: tuple[float, ...],
    rules: tuple[PlantedRule, ...] = RULES,
) -> RuledBall:
    """Return the effect of the rules on the ball that follows ``past``.

    ``without_rules`` has the outcome probabilities without any rule.
    """
    counted = {rule.name: rule.counted(past, batter, bowler) for rule in rules}
    return RuledBall(
        innings,
        len(past) + 1,
        without_rules,
        {name: balls for name, balls in counted.items() if balls},
        rules,
    )
