"""What an outcome class leaves open: runs in extras, how a wicket fell, who took the catch."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Final, TypeVar

from attnlens.cricket.match.match import Player, Wicket
from attnlens.cricket.simulator import league

Choice = TypeVar("Choice")

KINDS: Final = ("caught", "bowled", "lbw", "run out", "stumped", "caught and bowled", "hit wicket")
"""Dismissals that happen here; the rarest of the real ones do not."""

MOST_OFF_A_WIDE: Final = 5
FOUR: Final = 4

_KEEPER_CATCHES = 3.0
DISMISSAL_SHARES: Final = {kind: league.DISMISSALS[kind] for kind in KINDS}
WIDES: Final = {runs: share for runs, share in league.WIDE_RUNS.items() if runs <= MOST_OFF_A_WIDE}
NO_BALLS: Final = {runs: share for runs, share in league.NO_BALL_BAT_RUNS.items() if runs <= 6}
BYES: Final = {runs: share for runs, share in league.BYE_RUNS.items() if runs <= FOUR}
LEG_BYES: Final = {runs: share for runs, share in league.LEG_BYE_RUNS.items() if runs <= FOUR}


Event = tuple[int, int, dict[str, int], tuple[Wicket, ...]]
"""Runs of the batter and in extras, extras by kind, wickets: as ``InningsDraft.add`` has them."""


def event_of(
    rng: Random,
    outcome: str,
    striker: Player,
    non_striker: Player,
    bowler: Player,
    fielding: league.Side,
    free_hit: bool,
) -> Event:
    """One way in which an outcome class can happen.

    Args:
        free_hit: only a run out is possible.
    """
    runs = 0
    extras: dict[str, int] = {}
    wickets: tuple[Wicket, ...] = ()
    if outcome == "wd":
        extras = {"wides": pick(rng, WIDES)}
    elif outcome == "nb":
        extras = {"noballs": 1}
        runs = pick(rng, NO_BALLS)
    elif outcome == "bye":
        if rng.random() < league.LEG_BYE:
            extras = {"legbyes": pick(rng, LEG_BYES)}
        else:
            extras = {"byes": pick(rng, BYES)}
    elif outcome == "W":
        kind = "run out" if free_hit else pick(rng, DISMISSAL_SHARES)
        out = striker
        if kind == "run out":
            runs = pick(rng, league.RUN_OUT_RUNS)
            out = striker if rng.random() < league.RUN_OUT_STRIKER else non_striker
        elif kind == "stumped" and rng.random() < league.STUMPED_OFF_WIDE:
            extras = {"wides": 1}
        wickets = (Wicket(kind, out, _fielders(rng, kind, bowler, fielding)),)
    else:
        runs = int(outcome)
    return runs, sum(extras.values()), extras, wickets


def _fielders(rng: Random, kind: str, bowler: Player, side: league.Side) -> tuple[str, ...]:
    if kind == "stumped":
        return (side.keeper.name,)
    if kind not in ("caught", "run out"):
        return ()
    weights = {
        player.name: _KEEPER_CATCHES if player == side.keeper else 1.0
        for player in side.players
        if player != bowler
    }
    fielder = pick(rng, weights)
    if kind == "run out" and fielder != side.keeper.name and rng.random() < league.TWO_FIELDERS:
        return (fielder, side.keeper.name)
    return (fielder,)


def pick(rng: Random, weights: Mapping[Choice, float]) -> Choice:
    """One key, with a chance in proportion to its weight."""
    # Only Random.random is promised to give the same numbers in every Python.
    point = rng.random() * sum(weights.values())
    for choice, weight in weights.items():
        point -= weight
        if point < 0:
            return choice
    return choice
