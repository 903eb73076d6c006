"""Constants of the simulator, fitted to real T20 internationals, and its invented league.

They are data: ``rates.json`` is written by ``python benchmarks/simulator.py fit``, whose file
describes the model. Log-odds are natural and relative to a dot ball.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Final

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

BASE: Final = _table(_RATES["base"])
"""Log-odds of the outcome classes in each over, from the first."""

SECOND_INNINGS: Final[Row] = tuple(_RATES["second_innings"])
"""What the second innings adds to `BASE`, outcome by outcome."""

STRENGTHS: Final[dict[str, float]] = _RATES["strengths"]
"""Of each cause, for one unit, on the outcome that it moves most."""

DIRECTIONS: Final[dict[str, dict[str, float]]] = _RATES["directions"]
"""What a strength of 1 adds to each outcome for one unit of the cause."""

UNIT_MEANS: Final[dict[str, Row]] = {
    cause: tuple(means) for cause, means in _RATES["unit_means"].items()
}
"""Units of each cause that are ordinary, by over: only the rest changes anything."""

PLACES: Final = _table(_RATES["places"])
"""What a place in the batting order adds to each of `GROUPS`."""

SPREADS: Final[dict[str, Row]] = {of: tuple(spreads) for of, spreads in _RATES["spreads"].items()}
"""Standard deviations of the true effects on each of `GROUPS`."""

CORRELATIONS: Final[dict[str, tuple[Row, ...]]] = {
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
