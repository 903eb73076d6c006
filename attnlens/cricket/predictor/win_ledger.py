"""The ledger of a match: what every ball did to a side's probability of winning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from attnlens.cricket.match.match import NOT_THE_BOWLERS, Delivery, Innings, Match
from attnlens.cricket.predictor.win import InningsValues, WinChances, chase_result

Values = InningsValues | WinChances


@dataclass(frozen=True, slots=True)
class WinMove:
    """What one thing did to the probability of the ledger's side, in points from -1 to 1.

    Attributes:
        index: the delivery, from 1; of a ``revised target`` the first of the chase.
    """

    innings: int
    index: int
    kind: Literal["ball", "revised target"]
    points: float


@dataclass(frozen=True, slots=True)
class WinLedger:
    """Every move of a side's probability of winning, in order.

    Attributes:
        before: its probability before the match; ``result``: 1 won, 0 lost, a half for a tie.
        entries: their points, and ``before``, sum to ``result``.
    """

    team: str
    before: float
    result: float
    entries: tuple[WinMove, ...]


@dataclass(frozen=True, slots=True)
class WinAdded:
    """Win probability that a player added for the own side, with bat and ball, -1 to 1."""

    name: str
    side: str
    added: float


def win_ledger(
    match: Match, innings: Sequence[tuple[Innings, Values]], team: str
) -> WinLedger | None:
    """The ledger of a match for one of its sides.

    Args:
        innings: both innings with the values of their states, of `innings_values` or
            `win_chances`.

    Returns:
        ``None`` where not both innings have values, or where the balls do not decide the match.
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
"""Values that differ by no more are those of the same state, computed in another order."""


def players_added(match: Match, ledger: WinLedger) -> tuple[WinAdded, ...]:
    """Win probability added by every player who took part in a ball, the most first.

    A ball's points count in full for the batter's side and with the other sign for the bowler's,
    extras as well. They go to the batter who faced it and to the bowler; of a wicket that is not
    the bowler's, such as a run out, to the batter who is out and to the first fielder that the
    file names, else to the bowler. Points of a revised target are nobody's.
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
    """The names of the batter and of the fielder or bowler whose ball it was."""
    fielding = (out for out in ball.wickets if out.counts and out.kind in NOT_THE_BOWLERS)
    wicket = next(fielding, None)
    if wicket is None:
        return ball.batter.name, ball.bowler.name
    return wicket.player_out.name, (*wicket.fielders, ball.bowler.name)[0]
