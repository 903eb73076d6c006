"""A match as the rules that doubt look at it: each innings looked through while it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from attnlens.cricket.match.match import UNKNOWN_PLAYER, Delivery, Innings, Match, Player

UNKNOWN: Final = UNKNOWN_PLAYER.name

ALL_OUT: Final = 10
MOST_OFF_THE_BAT: Final = 7
"""The most runs off the bat of one ball that are not doubted; eight have been run, rarely."""


class Finding(NamedTuple):
    """What a rule found, and where."""

    what: str
    innings: Innings | None = None
    ball: Delivery | None = None
    over: int | None = None


@dataclass(slots=True)
class Over:
    """An over as it was bowled: its first ball, its legal balls, and its bowlers in turn."""

    number: int
    first: Delivery
    bowlers: list[str]
    legal: int = 0


class Side:
    """An innings as the rules look at it. Players are known by name.

    It is looked through while it is read, once for all rules: whoever adds a ball says of most
    only who should face the next, and calls `changed` where somebody else does, or bowls.

    Attributes:
        innings: its value, once it is finished.
        overs: as they were bowled.
        pairs: the first ball of every pair of batters, and the ball before it.
        turned: balls on which the batters stand at each other's end, by the ball before and the
            ball after.
        telling: balls with extras, or with more runs off the bat than can be.
        fallen: balls with wickets.
        batters, bowlers: who batted and bowled, with the first ball of the last pair and the first
            over of each.
        total, wickets: at the end.
        cut_short: whether it ended before its last over did.
        surplus: legal balls that were bowled in overs after these were complete.
        faces, other, bowler: who should face the next ball, stand at the other end and bowl it;
            nobody bowls where an over begins.
        unsure: the last ball of which that is not known.
    """

    __slots__ = (
        "_balls",
        "_wrong",
        "batters",
        "bowler",
        "bowlers",
        "cut_short",
        "faces",
        "fallen",
        "innings",
        "other",
        "overs",
        "pairs",
        "surplus",
        "telling",
        "total",
        "turned",
        "unsure",
        "wickets",
    )

    innings: Innings

    def __init__(self, balls: list[Delivery]) -> None:
        self._balls = balls
        self.overs: list[Over] = []
        self.pairs: list[tuple[Delivery | None, Delivery]] = []
        self.turned: list[Delivery] = []
        self.telling: list[Delivery] = []
        self.fallen: list[Delivery] = []
        self.batters: dict[str, Delivery] = {}
        self.bowlers: dict[str, Delivery] = {}
        self.total = self.wickets = self.surplus = 0
        self.cut_short = False
        self.faces: Player | None = None
        self.other: Player | None = None
        self.bowler: Player | None = None
        self.unsure = 1
        self._wrong = 0

    def changed(self, ball: Delivery) -> None:
        """Take in a ball that is not by, to and beside those who were expected."""
        batter, away, bowler, index = ball.batter, ball.non_striker, ball.bowler, ball.index
        if self.bowler is None:
            self.overs.append(Over(ball.over, ball, [bowler.name]))
            self.faces, self.other = self.other, self.faces
        elif bowler.name != self.overs[-1].bowlers[-1]:
            self.overs[-1].bowlers.append(bowler.name)
        self.bowler = bowler
        if batter is self.other and away is self.faces:
            if index != self.unsure:
                if self._wrong == index - 1:
                    self.turned.append(self._balls[index - 2])
                self._wrong = index
        elif batter is not self.faces or away is not self.other:
            self.pairs.append((self._balls[index - 2] if index > 1 else None, ball))

    def tells(self, ball: Delivery) -> int:
        """Take in a ball with extras or a wicket; how many times the batters crossed."""
        if ball.wickets:
            self.fallen.append(ball)
            self.unsure = ball.index + 1
        if ball.runs_extras or ball.runs_batter > MOST_OFF_THE_BAT:
            self.telling.append(ball)
            # In some leagues a no-ball is two runs, of which none is run.
            if "penalty" in ball.extras or ball.extras.get("noballs", 0) > 1:
                self.unsure = ball.index + 1
        # Of wides and no-balls one is not run.
        return ball.runs_total - (not ball.is_legal)

    def finish(self, innings: Innings) -> None:
        """Work out what follows from the overs and pairs."""
        self.innings, overs = innings, self.overs
        self.total = sum(innings.penalty_runs.values())
        if not overs:
            return
        last, usual = innings.deliveries[-1], innings.balls_per_over
        self.total = last.score_before + last.runs_total + innings.penalty_runs.get("post", 0)
        self.wickets = last.wickets_before + sum(wicket.counts for wicket in last.wickets)
        ends = [over.first.legal_balls_before for over in overs[1:]]
        for over, end in zip(overs, (*ends, last.legal_balls_before + last.is_legal), strict=True):
            over.legal = end - over.first.legal_balls_before
            self.surplus += max(over.legal - usual, 0)
            for who in over.bowlers:
                self.bowlers.setdefault(who, over.first)
        self.cut_short = overs[-1].legal < usual
        for _, ball in self.pairs:
            self.batters[ball.batter.name] = self.batters[ball.non_striker.name] = ball
        self.batters.pop(UNKNOWN, None)
        self.bowlers.pop(UNKNOWN, None)


@dataclass(frozen=True, slots=True)
class Stated:
    """What a file or its format says of a match besides the match.

    Attributes:
        limited: whether each side was to bat once.
        miscounted: by innings, the overs in which the file says that the umpires miscounted;
            ``None`` where its format cannot.
        penalties_known: whether it has penalty runs outside a delivery.
        length_known: whether it says how many balls the chase could have.
    """

    limited: bool = True
    miscounted: Mapping[int, frozenset[int]] | None = field(default_factory=dict)
    penalties_known: bool = True
    length_known: bool = True


@dataclass(frozen=True, slots=True)
class Case:
    """A match as the rules look at it; ``main`` are its sides without super overs."""

    match: Match
    stated: Stated
    sides: list[Side]
    main: list[Side]
