"""A scorecard, worked out ball by ball from a match.

The counting follows the Laws and the usual scorebook: a wide is not a ball faced, a no-ball
is; a bowler is charged with what is hit off him, wides and no-balls, and not with byes, leg
byes or penalties; run outs and retirements are nobody's wicket.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Final

from attnlens.cricket.match.match import Delivery, Innings, Match, Player, Wicket, plain
from attnlens.files import Json

EXTRAS: Final[tuple[tuple[str, str], ...]] = (
    ("byes", "b"),
    ("legbyes", "lb"),
    ("wides", "w"),
    ("noballs", "nb"),
    ("penalty", "pen"),
)
"""Kinds of extras and how a scorecard abbreviates them."""

_HOW_OUT: Final = {
    "caught": ("c {fielders} b {bowler}", "caught b {bowler}"),
    "caught and bowled": ("c & b {bowler}",) * 2,
    "bowled": ("b {bowler}",) * 2,
    "lbw": ("lbw b {bowler}",) * 2,
    "stumped": ("st {fielders} b {bowler}", "stumped b {bowler}"),
    "hit wicket": ("hit wicket b {bowler}",) * 2,
}
"""With and without the fielders' names; other kinds stand as they are called."""


def ground(venue: str | None, city: str | None) -> str:
    """Where a match was played: the city is not said again where the ground's name has it."""
    return ", ".join(filter(None, (venue, city if (city or "") not in (venue or "") else None)))


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

    def add(self, ball: Delivery) -> None:
        self.runs += ball.runs_batter
        self.balls += "wides" not in ball.extras
        if ball.boundary:
            self.fours += ball.runs_batter == 4
            self.sixes += ball.runs_batter == 6


@dataclass
class Bowling:
    """One bowler's line; ``legal_balls`` make the overs."""

    player: Player
    legal_balls: int = 0
    maidens: int = 0
    runs: int = 0
    wickets: int = 0
    wides: int = 0
    noballs: int = 0
    dots: int = 0
    balls_per_over: int = 6

    @property
    def overs(self) -> str:
        overs, balls = divmod(self.legal_balls, self.balls_per_over)
        return f"{overs}.{balls}"

    @property
    def economy(self) -> float | None:
        """Runs an over of the match's length; ``None`` before a legal ball."""
        balls = self.legal_balls
        return self.balls_per_over * self.runs / balls if balls else None

    def add(self, ball: Delivery) -> None:
        charged = charged_runs(ball)
        self.runs += charged
        self.legal_balls += ball.is_legal
        self.wides += ball.extras.get("wides", 0)
        self.noballs += ball.extras.get("noballs", 0)
        self.dots += ball.is_legal and charged == 0
        self.wickets += ball.bowlers_wickets


@dataclass(frozen=True)
class Fall:
    """A wicket: its number, the score after the ball, who, when and how."""

    wicket: int
    score: int
    player: str
    kind: str
    index: int
    label: str
    actual_delivery: str | None


@dataclass
class Card:
    innings: Innings
    batting: list[Batting] = field(default_factory=list)
    bowling: list[Bowling] = field(default_factory=list)
    falls: list[Fall] = field(default_factory=list)
    extras: dict[str, int] = field(default_factory=dict)


def scorecard(innings: Innings) -> Card:
    card = Card(innings, extras=dict.fromkeys((kind for kind, _ in EXTRAS), 0))
    batting: dict[str, Batting] = {}
    bowling: dict[str, Bowling] = {}
    for ball in innings.deliveries:
        for player in (ball.batter, ball.non_striker):
            line = batting.setdefault(player.key, Batting(player, len(batting) + 1))
            line.out = "not out"  # also for one who retired and is back
        batting[ball.batter.key].add(ball)
        bowler = bowling.setdefault(
            ball.bowler.key, Bowling(ball.bowler, balls_per_over=innings.balls_per_over)
        )
        bowler.add(ball)
        for kind, runs in ball.extras.items():
            card.extras[kind] += runs
        for wicket in ball.wickets:
            _leave(card, batting, ball, wicket)
    for over in maidens(innings):
        bowling[over].maidens += 1
    card.extras["penalty"] += sum(innings.penalty_runs.values())
    card.batting, card.bowling = list(batting.values()), list(bowling.values())
    return card


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
    if wicket.counts:
        number, score = len(card.falls) + 1, ball.score_before + ball.runs_total
        location = (ball.index, ball.label, ball.actual_delivery)
        card.falls.append(Fall(number, score, out.name, wicket.kind, *location))


def how_out(wicket: Wicket, bowler: Player) -> str:
    """``c Smith b Khan``, ``run out (Jones)``, ``retired hurt``."""
    fielders = "/".join(wicket.fielders)
    if wicket.kind == "run out":
        return f"run out ({fielders})" if fielders else "run out"
    if wicket.kind not in _HOW_OUT:
        return wicket.kind
    with_fielders, without = _HOW_OUT[wicket.kind]
    return (with_fielders if fielders else without).format(fielders=fielders, bowler=bowler)


def did_not_bat(match: Match, card: Card) -> list[str]:
    appeared = {line.player.name for line in card.batting}
    squad = match.players.get(card.innings.batting_team, ())
    return [name for name in squad if name not in appeared]


def card_data(match: Match, card: Card) -> Json:
    innings = card.innings
    rate = innings.balls_per_over * innings.total / max(innings.legal_balls, 1)
    batting = "out runs balls fours sixes strike_rate"
    bowling = "overs legal_balls maidens runs wickets economy wides noballs dots"
    return {
        "innings": innings.number,
        **_figures(innings, "batting_team bowling_team super_over total wickets"),
        "overs": innings.overs_display,
        "legal_balls": innings.legal_balls,
        "deliveries": len(innings.deliveries),
        "run_rate": round(rate, 2) if innings.legal_balls else None,
        **_figures(innings, "target target_balls set_later declared penalty_runs"),
        "extras": {"total": sum(card.extras.values()), **card.extras},
        "batting": [
            {"position": line.position, **_player_data(line.player), **_figures(line, batting)}
            for line in card.batting
        ],
        "did_not_bat": did_not_bat(match, card),
        "bowling": [
            {**_player_data(line.player), **_figures(line, bowling)} for line in card.bowling
        ],
        "fall_of_wickets": [asdict(fall) for fall in card.falls],
    }


def result_sentence(match: Match) -> str | None:
    """``India won by 11 runs``; ``None`` where the file does not say."""
    outcome = match.outcome
    winner, result = outcome.get("winner"), outcome.get("result")
    how = f" ({outcome['method']})" if outcome.get("method") else ""
    if winner is None:
        for decider, means in (("eliminator", "the super over"), ("bowl_out", "a bowl-out")):
            if outcome.get(decider):
                how = f", {outcome[decider]} won {means}{how}"
                break
        return None if result is None else f"{result}{how}"
    by = outcome.get("by") or {}
    parts = ["an innings"] if "innings" in by else []
    for unit in ("runs", "wickets"):
        if unit in by:
            parts.append(f"{by[unit]} {unit[:-1] if by[unit] == 1 else unit}")
    margin = f" by {' and '.join(parts)}" if parts else ""
    return f"{winner} won{margin}{how}"


def match_data(match: Match) -> Json:
    return {
        **_figures(match, "match_id match_type gender"),
        "dates": [day.isoformat() for day in match.dates],
        **_figures(match, "season event venue city teams players toss outcome"),
        **_figures(match, "overs balls_per_over"),
        "innings": [card_data(match, scorecard(innings)) for innings in match.innings],
        **_figures(match, "source notes"),
    }


def _player_data(player: Player) -> Json:
    return {"player": player.name, "id": player.id}


def _figures(of: object, names: str) -> Json:
    """Attributes by their names, which stand apart by spaces; rates to two places."""
    values = {name: plain(getattr(of, name)) for name in names.split()}
    return {name: round(v, 2) if isinstance(v, float) else v for name, v in values.items()}


_RECENT_BALLS: Final = 6
"""How many of the balls before are told."""


@dataclass(frozen=True, slots=True)
class ScorebookEntry:
    """The scorebook before a delivery.

    Attributes:
        batting, bowling: the lines of who faces and who bowls.
        partnership_runs, partnership_balls: since the last wicket; extras count as runs, and
            every delivery as a ball.
        over_runs: the runs of this over so far.
        latest: the last balls, oldest first, as `ball_sign` writes them.
        hat_trick: whether a wicket would be the bowler's third with three balls running.
    """

    batting: Batting
    bowling: Bowling
    partnership_runs: int
    partnership_balls: int
    over_runs: int
    latest: tuple[str, ...]
    hat_trick: bool


def standing_before(innings: Innings, ball: Delivery) -> ScorebookEntry:
    """Where the innings stands before one of its deliveries."""
    before = innings.deliveries[: ball.index - 1]
    batting = Batting(ball.batter, 0)
    bowling = Bowling(ball.bowler, balls_per_over=innings.balls_per_over)
    runs = balls = over = 0
    for past in before:
        if past.batter.key == ball.batter.key:
            batting.add(past)
        if past.bowler.key == ball.bowler.key:
            bowling.add(past)
        runs, balls = runs + past.runs_total, balls + 1
        if any(wicket.counts for wicket in past.wickets):
            runs = balls = 0
        over += past.runs_total * (past.over == ball.over)
    own = [past for past in before if past.bowler.key == ball.bowler.key][-2:]
    return ScorebookEntry(
        batting,
        bowling,
        runs,
        balls,
        over,
        tuple(ball_sign(past) for past in before[-_RECENT_BALLS:]),
        len(own) == 2 and all(past.bowlers_wickets for past in own),
    )


def ball_sign(ball: Delivery) -> str:
    """A past ball as a scorebook has it: ``4``, ``0``, ``W``, ``1W``, ``wd``, ``nb4``, ``2lb``."""
    runs = ball.runs_total
    if any(wicket.counts for wicket in ball.wickets):
        return "W" if not runs else f"{runs}W"
    if "wides" in ball.extras:
        return "wd" if runs == 1 else f"{runs}wd"
    if "noballs" in ball.extras:
        return "nb" if runs == 1 else f"nb{runs - 1}"
    if "legbyes" in ball.extras:
        return f"{runs}lb"
    if "byes" in ball.extras:
        return f"{runs}b"
    return str(runs)
