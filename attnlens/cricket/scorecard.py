"""A scorecard, worked out ball by ball from a match.

The counting follows the Laws and the usual scorebook: a wide is not a ball faced, a no-ball
is; a bowler is charged with what is hit off him, wides and no-balls, and not with byes, leg
byes or penalties; run outs and retirements are nobody's wicket.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from attnlens.cricket.match import Delivery, Innings, Match, Player, Wicket
from attnlens.cricket.outcomes import NOT_THE_BOWLERS

EXTRAS: Final[tuple[tuple[str, str], ...]] = (
    ("byes", "b"),
    ("legbyes", "lb"),
    ("wides", "w"),
    ("noballs", "nb"),
    ("penalty", "pen"),
)
"""Kinds of extras and how a scorecard abbreviates them."""


@dataclass
class Batting:
    """One batter's line. ``out`` is how; ``not out`` for who stayed."""

    player: Player
    position: int
    runs: int = 0
    balls: int = 0
    fours: int = 0
    sixes: int = 0
    out: str = "not out"

    @property
    def strike_rate(self) -> float | None:
        """Runs per hundred balls; ``None`` before the first ball."""
        return 100 * self.runs / self.balls if self.balls else None


@dataclass
class Bowling:
    """One bowler's line; ``legal`` balls make the overs."""

    player: Player
    legal: int = 0
    maidens: int = 0
    runs: int = 0
    wickets: int = 0
    wides: int = 0
    noballs: int = 0
    dots: int = 0
    balls_per_over: int = 6

    @property
    def overs(self) -> str:
        """``3.2``: overs and balls."""
        return f"{self.legal // self.balls_per_over}.{self.legal % self.balls_per_over}"

    @property
    def economy(self) -> float | None:
        """Runs per over, of as many balls as the match has; ``None`` before a legal ball."""
        return self.balls_per_over * self.runs / self.legal if self.legal else None


@dataclass(frozen=True)
class Fall:
    """A wicket: its number, the score after the ball, who, when and how."""

    wicket: int
    score: int
    player: Player
    kind: str
    index: int
    label: str
    actual_delivery: str | None


@dataclass
class Partnership:
    """Two batters together, until one of them leaves; runs include extras, balls are faced."""

    wicket: int
    batters: tuple[Player, Player]
    runs: int = 0
    balls: int = 0
    unbroken: bool = True


@dataclass
class Card:
    """One innings' scorecard."""

    innings: Innings
    batting: list[Batting] = field(default_factory=list)
    bowling: list[Bowling] = field(default_factory=list)
    falls: list[Fall] = field(default_factory=list)
    partnerships: list[Partnership] = field(default_factory=list)
    extras: dict[str, int] = field(default_factory=dict)


def scorecard(innings: Innings) -> Card:
    """The scorecard of one innings."""
    card = Card(innings, extras=dict.fromkeys((kind for kind, _ in EXTRAS), 0))
    batting: dict[str, Batting] = {}
    bowling: dict[str, Bowling] = {}
    stand: Partnership | None = None
    for ball in innings.deliveries:
        for player in (ball.batter, ball.non_striker):
            line = batting.setdefault(player.key, Batting(player, len(batting) + 1))
            line.out = "not out"  # also for one who retired and is back
        stand = _stand(card, stand, ball)
        _bat(batting[ball.batter.key], ball)
        bowler = bowling.setdefault(
            ball.bowler.key, Bowling(ball.bowler, balls_per_over=innings.balls_per_over)
        )
        _bowl(bowler, ball)
        for kind, runs in ball.extras.items():
            card.extras[kind] += runs
        stand.runs += ball.runs_total
        stand.balls += "wides" not in ball.extras
        for wicket in ball.wickets:
            _leave(card, batting, ball, wicket)
            if wicket.player_out.key in {player.key for player in stand.batters}:
                stand.unbroken = False
    for over in maidens(innings):
        bowling[over].maidens += 1
    card.extras["penalty"] += sum(innings.penalty_runs.values())
    card.batting, card.bowling = list(batting.values()), list(bowling.values())
    return card


def _stand(card: Card, stand: Partnership | None, ball: Delivery) -> Partnership:
    """The stand a ball belongs to, a new one where the two at the crease are others."""
    pair = {ball.batter.key, ball.non_striker.key}
    if stand is not None and {player.key for player in stand.batters} == pair:
        return stand
    if stand is not None:
        stand.unbroken = False
    made = Partnership(ball.wickets_before + 1, (ball.batter, ball.non_striker))
    card.partnerships.append(made)
    return made


def _bat(line: Batting, ball: Delivery) -> None:
    line.runs += ball.runs_batter
    line.balls += "wides" not in ball.extras
    if ball.boundary:
        line.fours += ball.runs_batter == 4
        line.sixes += ball.runs_batter == 6


def _bowl(line: Bowling, ball: Delivery) -> None:
    charged = charged_runs(ball)
    line.runs += charged
    line.legal += ball.is_legal
    line.wides += ball.extras.get("wides", 0)
    line.noballs += ball.extras.get("noballs", 0)
    line.dots += ball.is_legal and charged == 0
    line.wickets += sum(wicket.kind not in NOT_THE_BOWLERS for wicket in ball.wickets)


def charged_runs(ball: Delivery) -> int:
    """What a ball costs its bowler: bat, wides and no-balls."""
    return int(ball.runs_batter + ball.extras.get("wides", 0) + ball.extras.get("noballs", 0))


def maidens(innings: Innings) -> Iterator[str]:
    """The bowler's key for every over that one bowler finished without being charged a run."""
    overs: dict[int, list[Delivery]] = {}
    for ball in innings.deliveries:
        overs.setdefault(ball.over, []).append(ball)
    last = max(overs, default=0)
    for number, balls in overs.items():
        finished = number != last or sum(b.is_legal for b in balls) >= innings.balls_per_over
        bowlers = {ball.bowler.key for ball in balls}
        if finished and len(bowlers) == 1 and not any(map(charged_runs, balls)):
            yield bowlers.pop()


def _leave(card: Card, batting: dict[str, Batting], ball: Delivery, wicket: Wicket) -> None:
    out = wicket.player_out
    # Someone can be out without having faced a ball or stood at the other end: timed out.
    line = batting.setdefault(out.key, Batting(out, len(batting) + 1))
    line.out = how_out(wicket, ball.bowler)
    if not wicket.counts:
        return
    card.falls.append(
        Fall(
            wicket=len(card.falls) + 1,
            score=ball.score_before + ball.runs_total,
            player=out,
            kind=wicket.kind,
            index=ball.index,
            label=ball.label,
            actual_delivery=ball.actual_delivery,
        )
    )


def how_out(wicket: Wicket, bowler: Player) -> str:
    """``c Smith b Khan``, ``run out (Jones)``, ``retired hurt``."""
    fielders = "/".join(wicket.fielders)
    match wicket.kind:
        case "caught":
            return f"c {fielders} b {bowler}" if fielders else f"caught b {bowler}"
        case "caught and bowled":
            return f"c & b {bowler}"
        case "bowled":
            return f"b {bowler}"
        case "lbw":
            return f"lbw b {bowler}"
        case "stumped":
            return f"st {fielders} b {bowler}" if fielders else f"stumped b {bowler}"
        case "hit wicket":
            return f"hit wicket b {bowler}"
        case "run out":
            return f"run out ({fielders})" if fielders else "run out"
        case kind:
            return kind


def did_not_bat(match: Match, card: Card) -> list[str]:
    """The rest of the squad, where the file tells the squads."""
    appeared = {line.player.name for line in card.batting}
    squad = match.players.get(card.innings.batting_team, ())
    return [name for name in squad if name not in appeared]


def card_data(match: Match, card: Card) -> dict[str, Any]:
    """A scorecard as plain data."""
    innings = card.innings
    return {
        "innings": innings.number,
        "batting_team": innings.batting_team,
        "bowling_team": innings.bowling_team,
        "super_over": innings.super_over,
        "total": innings.total,
        "wickets": innings.wickets,
        "overs": innings.overs_display,
        "legal_balls": innings.legal_balls,
        "deliveries": len(innings.deliveries),
        "run_rate": _rounded(innings.balls_per_over * innings.total / innings.legal_balls)
        if innings.legal_balls
        else None,
        "target": innings.target,
        "target_balls": innings.target_balls,
        "declared": innings.declared,
        "penalty_runs": innings.penalty_runs.plain(),
        "extras": {"total": sum(card.extras.values()), **card.extras},
        "batting": [
            {
                "position": line.position,
                "player": line.player.name,
                "id": line.player.id,
                "out": line.out,
                "runs": line.runs,
                "balls": line.balls,
                "fours": line.fours,
                "sixes": line.sixes,
                "strike_rate": _rounded(line.strike_rate),
            }
            for line in card.batting
        ],
        "did_not_bat": did_not_bat(match, card),
        "bowling": [
            {
                "player": line.player.name,
                "id": line.player.id,
                "overs": line.overs,
                "legal_balls": line.legal,
                "maidens": line.maidens,
                "runs": line.runs,
                "wickets": line.wickets,
                "economy": _rounded(line.economy),
                "wides": line.wides,
                "noballs": line.noballs,
                "dots": line.dots,
            }
            for line in card.bowling
        ],
        "fall_of_wickets": [
            {
                "wicket": fall.wicket,
                "score": fall.score,
                "player": fall.player.name,
                "kind": fall.kind,
                "index": fall.index,
                "label": fall.label,
                "actual_delivery": fall.actual_delivery,
            }
            for fall in card.falls
        ],
        "partnerships": [
            {
                "wicket": stand.wicket,
                "batters": [player.name for player in stand.batters],
                "runs": stand.runs,
                "balls": stand.balls,
                "unbroken": stand.unbroken,
            }
            for stand in card.partnerships
        ],
    }


def match_data(match: Match) -> dict[str, Any]:
    """A match and its scorecards as plain data."""
    return {
        "match_id": match.match_id,
        "match_type": match.match_type,
        "gender": match.gender,
        "dates": [day.isoformat() for day in match.dates],
        "season": match.season,
        "event": match.event.plain(),
        "venue": match.venue,
        "city": match.city,
        "teams": list(match.teams),
        "players": match.players.plain(),
        "toss": match.toss.plain(),
        "outcome": match.outcome.plain(),
        "overs": match.overs,
        "balls_per_over": match.balls_per_over,
        "innings": [card_data(match, scorecard(innings)) for innings in match.innings],
        "source": match.source,
        "notes": list(match.notes),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
