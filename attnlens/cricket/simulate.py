"""T20 matches from a generator whose dependencies are known.

Every delivery is drawn from logits over the outcome classes: a base for the
phase of the innings, the skills of the two players, and what `Coefficients`
adds for things that happened on earlier balls. `planted_balls` says which
earlier balls those were, so a model trained on such matches can be asked
whether it looks there.

All people, teams and places are invented.
"""

from __future__ import annotations

import datetime
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, TypeVar

from attnlens.cricket.match import Delivery, Facts, Match, Player, Wicket
from attnlens.cricket.outcomes import OUTCOMES
from attnlens.cricket.readers.assembly import MatchDraft
from attnlens.cricket.readers.csv2_writer import write_csv2
from attnlens.cricket.readers.deliveries import InningsDraft
from attnlens.cricket.simulated_causes import (
    BALLS_PER_OVER,
    OVERS,
    Coefficients,
    planted_balls,
    situation_of,
    write_planted,
)
from attnlens.cricket.simulated_league import COMPETITION, TEAMS, VENUES

__all__ = ["Coefficients", "planted_balls", "simulate_match", "write_csv2", "write_planted"]

Choice = TypeVar("Choice")

OVERS_PER_BOWLER: Final = 4
WICKETS: Final = 10

_FIRST_DAY = datetime.date(2024, 1, 1)
_DAYS = 3650


_DIRECTIONS: Final[Mapping[str, Mapping[str, float]]] = {
    "settled": {"4": 1.0, "6": 1.0, "W": -1.0},
    "bowler_hit": {"4": 1.0, "6": 1.0, "wd": 1.0},
    "wicket_fallen": {"0": 1.0, "4": -1.0, "6": -1.0},
    "free_hit": {"6": 1.0, "W": -3.0},
    "chase": {"6": 1.0, "4": 0.5, "W": 1.0, "0": -0.5},
}

# Shares of the outcome classes by phase, in the order of OUTCOMES, for a new batter
# and nothing planted. With the default coefficients added on top, a match comes out
# near professional T20 cricket.
_POWERPLAY_OVERS = 6
_DEATH_FROM = 15
_SHARES = {
    "powerplay": (0.42, 0.30, 0.050, 0.006, 0.102, 0.0005, 0.026, 0.047, 0.034, 0.005, 0.018),
    "middle": (0.31, 0.43, 0.070, 0.004, 0.058, 0.0005, 0.023, 0.055, 0.027, 0.005, 0.016),
    "death": (0.23, 0.39, 0.090, 0.005, 0.078, 0.0005, 0.042, 0.095, 0.032, 0.007, 0.018),
}


_KINDS = {
    "caught": 0.585,
    "bowled": 0.18,
    "lbw": 0.085,
    "run out": 0.08,
    "stumped": 0.03,
    "caught and bowled": 0.035,
    "hit wicket": 0.005,
}
_WIDE_RUNS = {1: 0.91, 2: 0.04, 5: 0.05}
_NO_BALL_BAT_RUNS = {0: 0.45, 1: 0.3, 2: 0.05, 4: 0.12, 6: 0.08}
_BYE_RUNS = {1: 0.8, 2: 0.08, 4: 0.12}
_LEG_BYE_SHARE = 0.75
_STUMPED_OFF_WIDE = 0.2
_RUN_COMPLETED_BEFORE_RUN_OUT = 0.4


@dataclass(frozen=True)
class _Skill:
    """Log-odds that a player adds: runs, boundaries, wickets, wides."""

    scoring: float
    boundaries: float
    wickets: float
    wides: float


class _Side:
    """A team: eleven players in batting order, the last six of whom bowl."""

    def __init__(self, name: str, names: Sequence[str]) -> None:
        self.name = name
        self.players = tuple(Player(person, _digest(person)[:8]) for person in names)
        self.bowlers = self.players[5:]
        self.keeper = self.players[3]
        self.batting = {
            player: _batting(player, place) for place, player in enumerate(self.players)
        }
        self.bowling = {player: _bowling(player) for player in self.bowlers}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _batting(player: Player, place: int) -> _Skill:
    rng = Random(int(_digest(f"batting {player.name}")[:12], 16))
    weakness = max(0, place - 5) / 5
    return _Skill(
        scoring=rng.gauss(0.05, 0.15) - 0.4 * weakness,
        boundaries=rng.gauss(0.05, 0.25) - 0.5 * weakness,
        wickets=rng.gauss(-0.1, 0.2) + 0.7 * weakness,
        wides=0.0,
    )


def _bowling(player: Player) -> _Skill:
    rng = Random(int(_digest(f"bowling {player.name}")[:12], 16))
    return _Skill(
        scoring=rng.gauss(0, 0.1),
        boundaries=rng.gauss(0, 0.2),
        wickets=rng.gauss(0, 0.2),
        wides=rng.gauss(0, 0.3),
    )


def simulate_match(seed: int, *, coefficients: Coefficients | None = None) -> Match:
    """One T20 match of the invented league; the same seed gives the same match.

    The league's players and their skills are the same for every seed. Matches
    are dated one day apart, in the order of their seeds.
    """
    size = coefficients or Coefficients()
    rng = Random(seed)
    names = _shuffled(rng, list(TEAMS))[:2]
    first, second = (_Side(name, TEAMS[name]) for name in names)
    winner_bats = rng.random() < 0.45
    toss = Facts(
        winner=first.name if winner_bats else second.name,
        decision="bat" if winner_bats else "field",
    )
    date = _FIRST_DAY + datetime.timedelta(days=seed % _DAYS)
    venue, city = _pick(rng, dict.fromkeys(VENUES, 1.0))
    batted_first = _innings(rng, 1, first, second, None, size)
    target = batted_first.total + 1
    batted_second = _innings(rng, 2, second, first, target, size)
    draft = MatchDraft(
        match_id=f"simulated-{seed}",
        source=f"simulated with seed {seed}",
        match_type="T20",
        gender="male",
        dates=(date,),
        season=str(date.year),
        event=Facts(name=COMPETITION, match_number=seed % _DAYS + 1),
        venue=venue,
        city=city,
        teams=(first.name, second.name),
        toss=toss,
        outcome=_result(first, second, batted_first, batted_second),
        overs=OVERS,
        balls_per_over=BALLS_PER_OVER,
        innings=[batted_first, batted_second],
    )
    return draft.finished()


def _result(first: _Side, second: _Side, one: InningsDraft, two: InningsDraft) -> Facts:
    if two.total > one.total:
        return Facts(winner=second.name, by={"wickets": WICKETS - _fallen(two)})
    if two.total < one.total:
        return Facts(winner=first.name, by={"runs": one.total - two.total})
    return Facts(result="tie")


def _fallen(innings: InningsDraft) -> int:
    return sum(wicket.counts for ball in innings.deliveries for wicket in ball.wickets)


def _innings(
    rng: Random,
    number: int,
    batting: _Side,
    bowling: _Side,
    target: int | None,
    size: Coefficients,
) -> InningsDraft:
    draft = InningsDraft(
        number=number,
        batting_team=batting.name,
        bowling_team=bowling.name,
        super_over=False,
        target=target,
        target_balls=None if target is None else OVERS * BALLS_PER_OVER,
        declared=False,
    )
    order = iter(batting.players)
    striker, non_striker = next(order), next(order)
    bowled: dict[Player, int] = dict.fromkeys(bowling.bowlers, 0)
    bowler: Player | None = None
    for over in range(OVERS):
        bowler = _next_bowler(rng, bowled, bowler, OVERS - over - 1)
        bowled[bowler] += 1
        legal = 0
        while legal < BALLS_PER_OVER:
            situation = situation_of(draft.deliveries, striker, bowler, target, size)
            outcome = _draw(
                rng, over, batting.batting[striker], bowling.bowling[bowler], situation.amounts
            )
            free_hit = bool(situation.balls["free_hit"])
            event = _event(rng, outcome, striker, non_striker, bowler, bowling, free_hit)
            draft.add(over, striker, non_striker, bowler, **event)
            ball = draft.deliveries[-1]
            legal += ball.is_legal
            if _fallen(draft) == WICKETS or (target is not None and draft.total >= target):
                return draft
            if _ran(ball) % 2:
                striker, non_striker = non_striker, striker
            for wicket in ball.wickets:
                remaining = non_striker if wicket.player_out == striker else striker
                incoming = next(order)
                takes_strike = wicket.kind != "run out" or rng.random() < 0.5
                striker, non_striker = (
                    (incoming, remaining) if takes_strike else (remaining, incoming)
                )
        striker, non_striker = non_striker, striker
    return draft


def _ran(ball: Delivery) -> int:
    """Runs that the batters ran, which is what changes their ends."""
    run = 0 if ball.boundary else ball.runs_batter
    byes = ball.extras.get("byes", 0) + ball.extras.get("legbyes", 0)
    # Byes of four, and a wide of five, went to the rope.
    run += 0 if byes == 4 else byes
    wides = ball.extras.get("wides", 0)
    return run + (wides - 1 if wides in (2, 3, 4) else 0)


def _next_bowler(
    rng: Random, bowled: Mapping[Player, int], last: Player | None, overs_after: int
) -> Player:
    """A bowler who leaves the remaining overs bowlable, stronger ones first and last."""
    weights: dict[Player, float] = {}
    for bowler, overs in bowled.items():
        if bowler == last or overs == OVERS_PER_BOWLER:
            continue
        left = {other: OVERS_PER_BOWLER - done for other, done in bowled.items()}
        left[bowler] -= 1
        # No one bowls two overs running, so each can take every other one.
        capacity = sum(
            min(count, overs_after // 2 if other == bowler else (overs_after + 1) // 2)
            for other, count in left.items()
        )
        if capacity >= overs_after:
            weights[bowler] = 1.0 + OVERS_PER_BOWLER - overs
    return _pick(rng, weights)


def _draw(
    rng: Random, over: int, batter: _Skill, bowler: _Skill, amounts: Mapping[str, float]
) -> str:
    phase = "powerplay" if over < _POWERPLAY_OVERS else "death" if over >= _DEATH_FROM else "middle"
    logits = dict(zip(OUTCOMES, (math.log(share) for share in _SHARES[phase]), strict=True))
    for name in ("1", "2", "3"):
        logits[name] += batter.scoring + bowler.scoring
    for name in ("4", "6"):
        logits[name] += batter.boundaries + bowler.boundaries
    logits["W"] += batter.wickets + bowler.wickets
    logits["wd"] += bowler.wides
    for cause, amount in amounts.items():
        for name, direction in _DIRECTIONS[cause].items():
            logits[name] += amount * direction
    return _pick(rng, {name: math.exp(logit) for name, logit in logits.items()})


def _event(
    rng: Random,
    outcome: str,
    striker: Player,
    non_striker: Player,
    bowler: Player,
    fielding: _Side,
    free_hit: bool,
) -> dict[str, Any]:
    """The runs, extras and wicket of an outcome class, as arguments of ``InningsDraft.add``."""
    runs = 0
    extras: dict[str, int] = {}
    wickets: tuple[Wicket, ...] = ()
    if outcome == "wd":
        extras = {"wides": _pick(rng, _WIDE_RUNS)}
    elif outcome == "nb":
        extras = {"noballs": 1}
        runs = _pick(rng, _NO_BALL_BAT_RUNS)
    elif outcome == "bye":
        kind = "legbyes" if rng.random() < _LEG_BYE_SHARE else "byes"
        extras = {kind: _pick(rng, _BYE_RUNS)}
    elif outcome == "W":
        kind = "run out" if free_hit else _pick(rng, _KINDS)
        out = striker
        if kind == "run out":
            runs = int(rng.random() < _RUN_COMPLETED_BEFORE_RUN_OUT)
            out = striker if rng.random() < 0.5 else non_striker
        elif kind == "stumped" and rng.random() < _STUMPED_OFF_WIDE:
            extras = {"wides": 1}
        wickets = (Wicket(kind, out, _fielders(rng, kind, bowler, fielding)),)
    else:
        runs = int(outcome)
    return {
        "runs_batter": runs,
        "runs_extras": sum(extras.values()),
        "extras": extras,
        "wickets": wickets,
    }


def _fielders(rng: Random, kind: str, bowler: Player, side: _Side) -> tuple[str, ...]:
    if kind == "stumped":
        return (side.keeper.name,)
    if kind not in ("caught", "run out"):
        return ()
    weights = {
        player.name: 3.0 if player == side.keeper else 1.0
        for player in side.players
        if player != bowler
    }
    catcher = _pick(rng, weights)
    if kind == "run out" and catcher != side.keeper.name and rng.random() < 0.5:
        return (catcher, side.keeper.name)
    return (catcher,)


def _pick(rng: Random, weights: Mapping[Choice, float]) -> Choice:
    """One key, with a chance in proportion to its weight."""
    # Only Random.random is promised to give the same numbers in every Python.
    point = rng.random() * sum(weights.values())
    for choice, weight in weights.items():
        point -= weight
        if point < 0:
            return choice
    return choice


def _shuffled(rng: Random, items: Sequence[str]) -> list[str]:
    return sorted(items, key=lambda _: rng.random())
