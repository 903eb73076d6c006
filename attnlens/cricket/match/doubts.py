"""What is impossible in a match, or hard to believe: a list of rules, each a small function.

A file can be well formed and describe a match that nobody played. What a rule finds stands in the
notes of the match; where no answer about the match could be right, the match is refused. An over
is doubted only where the Laws of Cricket leave no room.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import Final, NamedTuple

from attnlens.cricket.match.competition import (
    ALL_OUT,
    BALLS_PER_OVER_OF_THE_HUNDRED,
    BOWLERS_SHARE,
)
from attnlens.cricket.match.match import UNKNOWN_PLAYER, Delivery, Doubt, Innings, Match, Player
from attnlens.cricket.match.outcomes import NOT_THE_BOWLERS
from attnlens.errors import count

MAX_RUNS_OFF_THE_BAT: Final = 7
"""More runs off the bat of one ball are doubted; eight have been run, rarely."""

_UNKNOWN = UNKNOWN_PLAYER.name
_MAX_DOUBTS_A_RULE = 5
_MAX_OVERS_LISTED = 4
_SUPER_OVER_WICKETS = 2
_NEARLY_ALL_OUT = 8
"""With so many out, those who were hurt or absent may have ended the innings."""

_MAX_DAYS = {True: 3, False: 12}
"""From the first to the last day, by whether overs are limited."""

_FIRST_DAYS: Final = {
    "T20": datetime.date(2003, 6, 13),
    "IT20": datetime.date(2003, 6, 13),
    "ODI": datetime.date(1971, 1, 5),
}
"""When the first match of a type was played."""

_SEASON = re.compile(r"([0-9]{4})(?:/([0-9]{2,4}))?")
_BALL_RECORD = attrgetter("label", "batter", "non_striker", "bowler", "runs_total", "wickets")

_OFF_AN_EXTRA: Final = (
    ("wides", "wide", NOT_THE_BOWLERS | {"stumped", "hit wicket"}),
    ("noballs", "no-ball", NOT_THE_BOWLERS),
)
"""How someone can be out off a wide and a no-ball."""

_FROM_ANYWHERE = frozenset({"timed out", "retired out", "retired hurt", "retired not out"})
"""How someone can go who was not at the crease."""


@dataclass(slots=True)
class Over:
    """An over as it was bowled: its first ball, its legal balls, and its bowlers in turn."""

    number: int
    first: Delivery
    bowlers: list[str]
    legal: int = 0


@dataclass(slots=True)
class InningsScan:
    """An innings as the rules look at it. Players are known by name.

    It grows while the innings is read: the reader sets the expected players after each ball, and
    calls `add_unexpected` for a ball with other players and `add_eventful` for one with extras, a
    wicket or many runs. That costs less than a second pass over all balls.

    Attributes:
        pairs: the first ball of every pair of batters, and the ball before it.
        swapped_ends: balls on which the batters stand at each other's end, by the ball before and
            the ball after.
        unusual_runs: balls with extras, or with more runs off the bat than are believed.
        batters, bowlers: who batted and bowled, with the first ball of the last pair and the first
            over of each.
        total, wickets: at the end.
        cut_short: whether it ended before its last over did.
        surplus: legal balls that were bowled in overs after these were complete.
        striker, non_striker, bowler: who is expected on the next ball; no bowler where an over
            begins.
        unclear_index: the last ball of which the striker does not follow from the ball before.
    """

    deliveries: list[Delivery]
    innings: Innings = field(init=False)
    overs: list[Over] = field(default_factory=list)
    pairs: list[tuple[Delivery | None, Delivery]] = field(default_factory=list)
    swapped_ends: list[Delivery] = field(default_factory=list)
    unusual_runs: list[Delivery] = field(default_factory=list)
    wicket_balls: list[Delivery] = field(default_factory=list)
    batters: dict[str, Delivery] = field(default_factory=dict)
    bowlers: dict[str, Delivery] = field(default_factory=dict)
    total: int = 0
    wickets: int = 0
    surplus: int = 0
    cut_short: bool = False
    striker: Player | None = None
    non_striker: Player | None = None
    bowler: Player | None = None
    unclear_index: int = 1
    _swapped_index: int = 0

    def add_unexpected(self, ball: Delivery) -> None:
        """Take in a ball that is not by, to and beside those who were expected."""
        batter, away, bowler, index = ball.batter, ball.non_striker, ball.bowler, ball.index
        if self.bowler is None:
            self.overs.append(Over(ball.over, ball, [bowler.name]))
            self.striker, self.non_striker = self.non_striker, self.striker
        elif bowler.name != self.overs[-1].bowlers[-1]:
            self.overs[-1].bowlers.append(bowler.name)
        self.bowler = bowler
        if batter is self.non_striker and away is self.striker:
            if index != self.unclear_index:
                if self._swapped_index == index - 1:
                    self.swapped_ends.append(self.deliveries[index - 2])
                self._swapped_index = index
        elif batter is not self.striker or away is not self.non_striker:
            self.pairs.append((self.deliveries[index - 2] if index > 1 else None, ball))

    def add_eventful(self, ball: Delivery) -> int:
        """Take in a ball with extras, a wicket or many runs; how often the batters crossed."""
        if ball.wickets:
            self.wicket_balls.append(ball)
            self.unclear_index = ball.index + 1
        if ball.runs_extras or ball.runs_batter > MAX_RUNS_OFF_THE_BAT:
            self.unusual_runs.append(ball)
            # In some leagues a no-ball is two runs, of which none is run.
            if "penalty" in ball.extras or ball.extras.get("noballs", 0) > 1:
                self.unclear_index = ball.index + 1
        # Of wides and no-balls one is not run.
        return ball.runs_total - (not ball.is_legal)

    def finish(self, innings: Innings) -> None:
        """Work out what follows from the overs and pairs."""
        self.innings, overs = innings, self.overs
        if not overs:
            return
        last, usual = innings.deliveries[-1], innings.balls_per_over
        ends = [over.first.legal_balls_before for over in overs[1:]]
        for over, end in zip(overs, (*ends, last.legal_balls_before + last.is_legal), strict=True):
            over.legal = end - over.first.legal_balls_before
            self.surplus += max(over.legal - usual, 0)
            for name in over.bowlers:
                self.bowlers.setdefault(name, over.first)
        self.cut_short = overs[-1].legal < usual
        for _, ball in self.pairs:
            self.batters[ball.batter.name] = self.batters[ball.non_striker.name] = ball
        self.batters.pop(_UNKNOWN, None)
        self.bowlers.pop(_UNKNOWN, None)

    def by_team(self) -> tuple[tuple[str, dict[str, Delivery]], ...]:
        innings = self.innings
        return (innings.batting_team, self.batters), (innings.bowling_team, self.bowlers)

    def odd_overs(self, miscounted: Collection[int] = ()) -> tuple[str, list[Over]]:
        """Overs with more or fewer legal balls than an over has, in words and as they are.

        Args:
            miscounted: overs in which the file says that the umpires miscounted.
        """
        usual = self.innings.balls_per_over
        odd = [over for over in self.overs if over.legal != usual and over.number not in miscounted]
        if odd and odd[-1] is self.overs[-1] and self.cut_short:
            odd.pop()
        lengths = ", ".join(
            f"over {over.number} has {over.legal}" for over in odd[:_MAX_OVERS_LISTED]
        )
        rest = len(odd) - _MAX_OVERS_LISTED
        more = f" and {rest} more overs" if rest > 0 else ""
        return f"{lengths} legal balls{more}, not {usual} (overs as the file labels them)", odd

    def may_be_miscounted(self, odd: list[Over]) -> bool:
        """Whether it is one over, by one ball: as umpires miscount in one of seventy innings."""
        return len(odd) == 1 and abs(odd[0].legal - self.innings.balls_per_over) == 1


@dataclass(frozen=True, slots=True)
class Case:
    """A match as the rules look at it, and what its file or format says besides.

    Attributes:
        scans: of its innings, finished.
        limited: whether each side was to bat once.
        miscounted: by innings, the overs in which the file says that the umpires miscounted;
            ``None`` where its format cannot.
        penalties_known: whether it has penalty runs outside a delivery.
        length_known: whether it says how many balls the chase could have.
    """

    match: Match
    scans: list[InningsScan]
    limited: bool
    miscounted: Mapping[int, Collection[int]] | None
    penalties_known: bool
    length_known: bool

    @property
    def main(self) -> list[InningsScan]:
        """Its innings without super overs."""
        return [scan for scan in self.scans if not scan.innings.super_over]

    @property
    def has_two_sides(self) -> bool:
        return self.limited and len(self.main) == 2

    @property
    def decided(self) -> bool:
        outcome = self.match.outcome
        ended = "by" in outcome or outcome.get("result") == "tie"
        return self.has_two_sides and ended and outcome.get("method") is None

    @property
    def target(self) -> int | None:
        """The target in the file, of two sides."""
        chase = self.main[1].innings
        target: int | None = chase.set_later.get("runs", chase.target)
        return target


class Finding(NamedTuple):
    """What a rule found, and where; a rule of each innings leaves the innings out."""

    problem: str
    ball: Delivery | None = None
    innings: Innings | None = None
    over: int | None = None


@dataclass(frozen=True, slots=True)
class MatchRule:
    """What must hold of a match.

    Attributes:
        kind: its name in JSON.
        holds: what must hold, in a sentence.
        find: where it does not.
        refused: whether a match in which it does not hold is refused.
    """

    kind: str
    holds: str
    find: Callable[[Case], Iterator[Finding]]
    refused: bool = False

    def doubts(self, case: Case) -> Iterator[Doubt]:
        """What it finds; the first few."""
        for problem, ball, innings, over in islice(self.find(case), _MAX_DOUBTS_A_RULE):
            number = None if innings is None else innings.number
            if ball is None:
                yield Doubt(self.kind, problem, number, over, None, self.refused)
                continue
            before = case.match.innings[: case.match.innings.index(innings)] if innings else ()
            position = sum(len(side.deliveries) for side in before) + ball.index
            yield Doubt(self.kind, problem, number, ball.over, ball.label, self.refused, position)


RULES: Final[list[MatchRule]] = []
"""Everything that is looked for, refusals first."""

RESULT: Final = "result"
"""The kind of doubt where the balls and the stated result cannot both be right."""

_OfMatch = Callable[[Case], Iterator[Finding]]
_OfInnings = Callable[[Case, InningsScan], Iterator[Finding]]


def doubts_of(case: Case) -> tuple[Doubt, ...]:
    """Every doubt about a match, refusals first, of each kind in the order of the balls."""
    return tuple(doubt for rule in RULES for doubt in rule.doubts(case))


def _rule(kind: str, holds: str, refused: bool = False) -> Callable[[_OfMatch], _OfMatch]:
    def add(find: _OfMatch) -> _OfMatch:
        RULES.append(MatchRule(kind, holds, find, refused))
        return find

    return add


def _innings_rule(kind: str, holds: str, refused: bool = False) -> Callable[[_OfInnings], None]:
    def add(find: _OfInnings) -> None:
        def find_in_each(case: Case) -> Iterator[Finding]:
            for scan in case.scans:
                for finding in find(case, scan):
                    yield finding._replace(innings=scan.innings)

        RULES.append(MatchRule(kind, holds, find_in_each, refused))

    return add


def _pair(ball: Delivery) -> tuple[str, str]:
    return ball.batter.name, ball.non_striker.name


def _start(problem: str, scan: InningsScan) -> Finding:
    return Finding(problem, next(iter(scan.innings.deliveries), None), scan.innings)


@_innings_rule("both-ends", "nobody bats at both ends", refused=True)
def _both_ends(_case: Case, scan: InningsScan) -> Iterator[Finding]:
    for _, ball in scan.pairs:
        if ball.batter == ball.non_striker != UNKNOWN_PLAYER:
            yield Finding(f"{ball.batter} is at both ends", ball)


@_innings_rule("to-himself", "nobody bats and bowls on one ball", refused=True)
def _to_himself(case: Case, scan: InningsScan) -> Iterator[Finding]:
    for player in sorted(scan.batters.keys() & scan.bowlers.keys()):
        if sum(player in squad for squad in case.match.players.values()) > 1:
            continue  # two of one name: they may well meet
        for ball in scan.innings.deliveries:
            if ball.bowler.name == player in _pair(ball):
                yield Finding(f"{player} bats and bowls on one ball", ball)
                break


@_rule("innings-twice", "no innings is there twice", refused=True)
def _twice(case: Case) -> Iterator[Finding]:
    by_figures: dict[tuple[int, int], InningsScan] = {}
    for scan in case.scans:
        balls = scan.innings.deliveries
        earlier = by_figures.setdefault((len(balls), scan.total), scan)
        if earlier is scan or len(balls) < scan.innings.balls_per_over:
            continue
        if list(map(_BALL_RECORD, balls)) == list(map(_BALL_RECORD, earlier.innings.deliveries)):
            yield _start(f"every ball is as in innings {earlier.innings.number}", scan)


@_rule("turns", "a side bats once, in a longer match twice", refused=True)
def _turns(case: Case) -> Iterator[Finding]:
    allowed = 1 if case.limited else 2
    times: Counter[str] = Counter()
    for scan in case.main:
        team = scan.innings.batting_team
        times[team] += 1
        if times[team] > allowed:
            turns = "once" if allowed == 1 else "twice"
            yield _start(f"{team} bats again, and a side bats {turns}", scan)
    extra = [scan for scan in case.scans if scan.innings.super_over]
    for first, second in zip(extra[::2], extra[1::2], strict=False):
        team = second.innings.batting_team
        if first.innings.batting_team == team:
            yield _start(f"{team} bats in both super overs", second)


@_rule("both-sides", "nobody plays for both sides")
def _both_sides(case: Case) -> Iterator[Finding]:
    team_of: dict[str, str] = {}
    reported = set()
    for scan in case.scans:
        for team, players in scan.by_team():
            for player, ball in players.items():
                if team_of.setdefault(player, team) != team and player not in reported:
                    reported.add(player)
                    problem = f"{player} plays for both sides, or two have one name"
                    yield Finding(problem, ball, scan.innings)


@_rule("squad", "who plays is in the squad")
def _squads(case: Case) -> Iterator[Finding]:
    squads = {team: frozenset(names) for team, names in case.match.players.items() if names}
    reported: set[str] = set()
    for scan in case.scans if squads else ():
        innings = scan.innings
        for team, players in scan.by_team():
            for player in sorted(players.keys() - squads.get(team, players.keys()) - reported):
                reported.add(player)
                yield Finding(f"{player} is not in the squad of {team}", players[player], innings)
        batting = squads.get(innings.batting_team, frozenset())
        only_bat = batting - squads.get(innings.bowling_team, batting)
        for ball in scan.wicket_balls if only_bat else ():
            for wicket in ball.wickets:
                for name in only_bat.intersection(wicket.fielders):
                    yield Finding(f"{name} fields for the other side", ball, innings)


@_innings_rule("over-numbers", "overs follow one another from 0")
def _over_numbers(_case: Case, scan: InningsScan) -> Iterator[Finding]:
    last = -1
    if scan.innings.super_over and scan.overs:
        last = scan.overs[0].number - 1
    times = Counter(over.number for over in scan.overs)
    for over in scan.overs:
        number = over.number
        if number > last + 1:
            several = number > last + 2
            gap = f"overs {last + 1} to {number - 1} are" if several else f"over {last + 1} is"
            yield Finding(f"{gap} missing", over.first)
        elif number <= last:
            returns = times[number] > 1
            says = "comes back after another over" if returns else f"comes after over {last}"
            yield Finding(f"over {number} {says}", over.first)
        last = number


@_innings_rule("too-long", "no innings is longer than the match, or a super over, allows")
def _too_long(case: Case, scan: InningsScan) -> Iterator[Finding]:
    limit = case.match.overs
    if scan.innings.super_over:
        if len(scan.overs) > 1:
            yield Finding("a super over goes on", scan.overs[1].first)
        elif scan.wickets > _SUPER_OVER_WICKETS:
            yield Finding(f"a super over has {scan.wickets} wickets")
    elif limit is not None and case.limited:
        later = next((over for over in scan.overs if over.number >= limit), None)
        if later is not None:
            yield Finding(f"goes on after {limit} overs, which was all", later.first)


@_innings_rule("over-length", "an over has its legal balls")
def _over_lengths(case: Case, scan: InningsScan) -> Iterator[Finding]:
    miscounted = case.miscounted
    words, odd = scan.odd_overs((miscounted or {}).get(scan.innings.number, ()))
    if odd and not (miscounted is None and scan.may_be_miscounted(odd)):
        yield Finding(words, over=odd[0].number)


@_innings_rule("bowlers", "nobody bowls two overs running, or by turns in one")
def _bowlers(_case: Case, scan: InningsScan) -> Iterator[Finding]:
    last = None
    for over in scan.overs:
        if len(over.bowlers) > len(set(over.bowlers)):
            yield Finding(f"is bowled by turns: {', '.join(over.bowlers)}", over=over.number)
        if last is not None and scan.innings.balls_per_over != BALLS_PER_OVER_OF_THE_HUNDRED:
            for bowler in over.bowlers:
                if bowler in last.bowlers and bowler != _UNKNOWN and over.number > last.number:
                    yield Finding(f"{bowler} bowls two overs running", over.first)
        last = over


@_innings_rule("spell", "nobody bowls more than a fifth of the overs")
def _spells(case: Case, scan: InningsScan) -> Iterator[Finding]:
    overs = case.match.overs
    if overs is None or not case.limited or scan.innings.super_over:
        return
    share = -(-overs // BOWLERS_SHARE)
    allowed = share * scan.innings.balls_per_over + scan.surplus
    bowled: Counter[str] = Counter()
    for over in scan.overs:
        if len(over.bowlers) == 1:
            bowled[over.bowlers[0]] += over.legal
    for bowler, balls in bowled.items():
        if balls > allowed and bowler != _UNKNOWN:
            yield Finding(f"{bowler} bowls {balls} balls, and {share} overs are the most")


@_innings_rule("out-again", "who is out bats no more")
def _out_again(_case: Case, scan: InningsScan) -> Iterator[Finding]:
    balls, out = scan.innings.deliveries, set[str]()
    ends_of_pairs = {before.index for before, _ in scan.pairs if before is not None}
    for ball in scan.wicket_balls:
        for wicket in ball.wickets:
            player = wicket.player_out.name
            if player in out:
                yield Finding(f"{player} is out a second time", ball)
            if not wicket.counts or player == _UNKNOWN:
                continue
            out.add(player)
            later = scan.batters.get(player, ball)
            stays = ball.index not in ends_of_pairs and player in _pair(ball)
            if later.index > ball.index:
                yield Finding(f"{player} bats after being out", later)
            elif stays and ball is not balls[-1]:
                yield Finding(f"{player} stays after being out", balls[ball.index])


@_innings_rule("gone", "who bats no more was out or retired")
def _gone(_case: Case, scan: InningsScan) -> Iterator[Finding]:
    """Somebody who was hurt may come back when another goes; many files do not mention it."""
    for row, (before, ball) in enumerate(scan.pairs):
        if before is None:
            continue
        stayed = {*(wicket.player_out.name for wicket in before.wickets), *_pair(ball), _UNKNOWN}
        for player in _pair(before):
            if player in stayed:
                continue
            returns = (was for was, later in scan.pairs[row:] if player in _pair(later))
            before_return = next(returns, None)
            if before_return is None or not before_return.wickets:
                yield Finding(f"{player} bats no more and was not out", ball)


@_innings_rule("ends", "who faces a ball follows from the runs")
def _ends(case: Case, scan: InningsScan) -> Iterator[Finding]:
    if case.match.balls_per_over == BALLS_PER_OVER_OF_THE_HUNDRED:
        return  # two overs come from one end, or one
    for ball in scan.swapped_ends:
        problem = f"{ball.batter} faces, and by the balls around it {ball.non_striker} would"
        yield Finding(problem, ball)


@_innings_rule("wicket", "a wicket can fall so on such a ball")
def _wickets(_case: Case, scan: InningsScan) -> Iterator[Finding]:
    for ball in scan.wicket_balls:
        for problem in _impossible_wickets(ball):
            yield Finding(problem, ball)
    if scan.wickets > ALL_OUT:
        yield Finding(f"has {scan.wickets} wickets")
    elif scan.wickets == ALL_OUT and scan.innings.deliveries[-1].wickets_before == ALL_OUT:
        yield Finding("goes on after ten wickets", scan.innings.deliveries[-1])


def _impossible_wickets(ball: Delivery) -> Iterator[str]:
    credited, pair = 0, _pair(ball)
    for wicket in ball.wickets:
        kind, player = wicket.kind, wicket.player_out.name
        is_the_bowlers = kind not in NOT_THE_BOWLERS
        credited += is_the_bowlers
        if player not in pair:
            if kind not in _FROM_ANYWHERE and _UNKNOWN not in pair:
                yield f"{player} is out and was not at the crease"
        elif is_the_bowlers and player != pair[0]:
            yield f"{player} is out {kind} and did not face the ball"
        for extra, name, possible in _OFF_AN_EXTRA if ball.runs_extras else ():
            if extra in ball.extras and kind not in possible:
                yield f"{player} is out {kind} off a {name}"
    if credited > 1:
        yield f"the bowler takes {credited} wickets with one ball"


@_innings_rule("runs", "runs of these kinds can come of one ball")
def _runs(_case: Case, scan: InningsScan) -> Iterator[Finding]:
    for ball in scan.unusual_runs:
        runs = ball.runs_batter
        if runs > MAX_RUNS_OFF_THE_BAT:
            yield Finding(f"{runs} runs off the bat", ball)
        kinds = set(ball.extras) - {"penalty"}
        if "wides" in kinds and (runs or len(kinds) > 1):
            yield Finding("a wide with other runs than wides", ball)
        elif kinds & {"byes", "legbyes"} and (runs or {"byes", "legbyes"} <= kinds):
            yield Finding("byes with other runs", ball)


@_rule("dates", "the dates are possible")
def _dates(case: Case) -> Iterator[Finding]:
    match = case.match
    if not match.dates:
        return
    first, last = match.dates[0], match.dates[-1]
    if list(match.dates) != sorted(set(match.dates)):
        yield Finding("the dates are not in order, or one comes twice")
    elif (last - first).days > _MAX_DAYS[case.limited]:
        yield Finding(f"it lasts from {first} to {last}")
    if last > datetime.date.today() + datetime.timedelta(days=1):  # somewhere it is tomorrow
        yield Finding(f"its date is {last}, which has not come")
    first_ever = _FIRST_DAYS.get(match.match_type or "", first)
    if first < first_ever:
        yield Finding(f"its date is {first}, and the first {match.match_type} was on {first_ever}")
    season = _SEASON.fullmatch(match.season or "")
    if season is not None:
        begins, ends = season[1], season[2] or ""
        years = {int(begins), int(begins[: 4 - len(ends)] + ends)}
        if years.isdisjoint({first.year, last.year}):
            yield Finding(f"its date is {first}, and its season {match.season}")


@_rule("names", "who won the match or the toss played, and the toss was followed")
def _names(case: Case) -> Iterator[Finding]:
    match = case.match
    teams, toss = match.teams, match.toss
    if len(set(teams)) != len(teams) or len(teams) > 2:
        yield Finding(f"its teams are {', '.join(teams)}")
    winners = [("toss", toss.get("winner"))]
    winners += [("match", match.outcome.get(key)) for key in ("winner", "eliminator", "bowl_out")]
    for contest, name in winners:
        if name is not None and teams and name not in teams:
            yield Finding(f"{name} won the {contest} and did not play")
    if match.innings and toss.get("winner") in teams:
        bats, decision = match.innings[0].batting_team, toss.get("decision")
        if decision == ("field" if bats == toss["winner"] else "bat"):
            problem = f"{toss['winner']} won the toss and chose to {decision}, and {bats} bats"
            yield Finding(problem, innings=match.innings[0])


@_rule("after-the-end", "a chase ends when the target is reached")
def _after_the_end(case: Case) -> Iterator[Finding]:
    if not case.decided:
        return
    chase = case.main[1].innings
    last = chase.deliveries[-1:]
    if chase.target is not None and any(ball.score_before >= chase.target for ball in last):
        yield Finding(f"goes on after the target of {chase.target} is reached", last[0], chase)


@_rule("ended-early", "an innings ends with its overs, its wickets or the target")
def _ended_early(case: Case) -> Iterator[Finding]:
    if not case.decided:
        return
    first, second = case.main
    balls = second.innings.target_balls if case.length_known else None
    full = -(-(balls or 0) // first.innings.balls_per_over)
    if not case.length_known and first.overs:
        # What the side that batted second could have, the other had too.
        full = len(second.overs)
    for scan in case.main:
        innings = scan.innings
        won = scan is second and case.match.outcome.get("winner") == innings.batting_team
        out = sum(len(ball.wickets) for ball in scan.wicket_balls)
        if won or out >= _NEARLY_ALL_OUT or not scan.overs:
            continue
        if scan.cut_short or len(scan.overs) < full:
            yield Finding(
                f"ends after {innings.overs_display} overs with {count(scan.wickets, 'wicket')} "
                "down, and nothing says why",
                innings.deliveries[-1],
                innings,
            )


@_rule("target", "the target is one more than innings 1 made")
def _target(case: Case) -> Iterator[Finding]:
    if case.decided and case.target not in (None, case.main[0].total + 1):
        yield Finding(
            f"the target is {case.target} in the file, and innings 1 made {case.main[0].total}: "
            "it was revised, and the file does not say how",
            innings=case.main[1].innings,
        )


@_rule(RESULT, "the result follows from the balls")
def _result(case: Case) -> Iterator[Finding]:
    if not case.has_two_sides or _result_follows(case):
        return
    outcome = case.match.outcome
    stated = str(outcome.get("result"))
    if "winner" in outcome:
        by = " and ".join(
            f"{amount} {unit.removesuffix('s') if amount == 1 else unit}"
            for unit, amount in outcome.get("by", {}).items()
        )
        stated = f"{outcome['winner']} won by {by}"
    scores = ", ".join(
        f"{scan.innings.batting_team} {scan.total}/{scan.wickets}" for scan in case.main
    )
    complete = case.penalties_known
    caution = "" if complete else "; penalty runs may be missing from this format"
    yield Finding(
        f"the stated result ({stated}) does not follow from the balls ({scores}); "
        f"both are told as the file has them{caution}"
    )


def _result_follows(case: Case) -> bool:
    """Whether it does, or cannot be judged: a rain rule moves the score to beat."""
    outcome = case.match.outcome
    first, second = case.main
    winner, margin = outcome.get("winner"), outcome.get("by", {})
    by_rule = outcome.get("method") is not None
    to_beat: int = first.total if not by_rule else (case.target or 1) - 1
    if not to_beat and by_rule:
        return True
    if outcome.get("result") == "tie":
        return second.total == to_beat
    if "runs" in margin and winner == first.innings.batting_team:
        return bool(to_beat - second.total == margin["runs"])
    if "runs" in margin:
        # A side that bats second and is ahead of the rain rule wins by runs.
        return by_rule
    won = winner == second.innings.batting_team and second.total > to_beat
    left = ALL_OUT - second.wickets
    return "wickets" not in margin or (won and left == margin["wickets"])
