"""What is impossible in a match, or hard to believe: a table of rules, each a small function.

A file can be written without a fault and tell of a match that nobody played: an over is missing,
a batter bowls to himself, an innings stands there twice. What a rule finds is told in the notes of
the match; where no answer about the match could be right, the match is refused.

An over is found wrong only where the Laws of Cricket leave no room. So these pass: two bowlers in
an over (one was hurt), strike that is kept or lost once (a short run), an over of five or seven
balls where the file says that the umpires miscounted.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, NamedTuple

from attnlens.cricket.match.match import UNKNOWN_PLAYER, Delivery, Doubt, Innings, Match, Player
from attnlens.cricket.match.outcomes import NOT_THE_BOWLERS
from attnlens.words import count

_UNKNOWN: Final = UNKNOWN_PLAYER.name

ALL_OUT: Final = 10
MOST_OFF_THE_BAT: Final = 7
"""The most runs off the bat of one ball that are not doubted; eight have been run, rarely."""


class Finding(NamedTuple):
    """What a rule found, and where."""

    problem: str
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
            for name in over.bowlers:
                self.bowlers.setdefault(name, over.first)
        self.cut_short = overs[-1].legal < usual
        for _, ball in self.pairs:
            self.batters[ball.batter.name] = self.batters[ball.non_striker.name] = ball
        self.batters.pop(_UNKNOWN, None)
        self.bowlers.pop(_UNKNOWN, None)


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


_NEARLY_ALL_OUT = 8
"""With so many out, those who were hurt or absent may have ended the innings."""

_DAYS = {True: 3, False: 12}
"""From the first to the last day at the most, by whether overs are limited."""

_FIRST_DAYS: Final = {
    "T20": datetime.date(2003, 6, 13),
    "IT20": datetime.date(2003, 6, 13),
    "ODI": datetime.date(1971, 1, 5),
}
"""When the first match of a type was played."""

_SEASON = re.compile(r"([0-9]{4})(?:/([0-9]{2,4}))?")


def dates(case: Case) -> Iterator[Finding]:
    match = case.match
    if not match.dates:
        return
    first, last = match.dates[0], match.dates[-1]
    if list(match.dates) != sorted(set(match.dates)):
        yield Finding("the dates are not in order, or one comes twice")
    elif (last - first).days > _DAYS[case.stated.limited]:
        yield Finding(f"it lasts from {first} to {last}")
    if last > datetime.date.today() + datetime.timedelta(days=1):  # somewhere it is tomorrow
        yield Finding(f"its date is {last}, which has not come")
    begun = _FIRST_DAYS.get(match.match_type or "")
    if begun is not None and first < begun:
        yield Finding(f"its date is {first}, and the first {match.match_type} was on {begun}")
    season = _SEASON.fullmatch(match.season or "")
    if season is not None:
        begins, ends = season[1], season[2] or ""
        years = {int(begins), int(begins[: 4 - len(ends)] + ends)}
        if years.isdisjoint({first.year, last.year}):
            yield Finding(f"its date is {first}, and its season {match.season}")


def names(case: Case) -> Iterator[Finding]:
    """Who won, and who won the toss."""
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
        bats = match.innings[0].batting_team
        if {"bat": bats != toss["winner"], "field": bats == toss["winner"]}.get(
            toss.get("decision", "")
        ):
            yield Finding(
                f"{toss['winner']} won the toss and chose to {toss['decision']}, and {bats} bats",
                match.innings[0],
            )


def after_the_end(case: Case) -> Iterator[Finding]:
    """The chase of a match without rain ends where the target is reached."""
    if not _decided(case):
        return
    chase = case.main[1].innings
    last = chase.deliveries[-1:]
    if chase.target is not None and any(ball.score_before >= chase.target for ball in last):
        yield Finding(f"goes on after the target of {chase.target} is reached", chase, last[0])


def ended_early(case: Case) -> Iterator[Finding]:
    """An innings goes on until the overs, the wickets or the target are reached."""
    match = case.match
    if not _decided(case):
        return
    first, second = case.main
    usual = first.innings.balls_per_over
    balls = second.innings.target_balls if case.stated.length_known else None
    full = -(-(balls or 0) // usual)
    if not case.stated.length_known and first.overs:
        # What the side that batted second could have, the other had too.
        full = len(second.overs)
    for side in case.main:
        innings = side.innings
        done = len(side.overs)
        won = side is second and match.outcome.get("winner") == innings.batting_team
        lost = sum(len(ball.wickets) for ball in side.fallen)
        if won or lost >= _NEARLY_ALL_OUT or not side.overs:
            continue
        if side.cut_short or done < full:
            yield Finding(
                f"ends after {innings.overs_display} overs with {count(side.wickets, 'wicket')} "
                "down, and nothing says why",
                innings,
                innings.deliveries[-1],
            )


def _two_sides(case: Case) -> bool:
    return case.stated.limited and len(case.main) == 2


def _decided(case: Case) -> bool:
    """Whether two sides batted, and the result came without a rain rule."""
    outcome = case.match.outcome
    ended = "by" in outcome or outcome.get("result") == "tie"
    return _two_sides(case) and ended and outcome.get("method") is None


def target(case: Case) -> Iterator[Finding]:
    if not _decided(case):
        return
    first, second = case.main
    target = second.innings.set_later.get("runs", second.innings.target)
    if target not in (None, first.total + 1):
        yield Finding(
            f"the target is {target} in the file, and innings 1 made {first.total}: "
            "it was revised, and the file does not say how",
            second.innings,
        )


def result(case: Case) -> Iterator[Finding]:
    if not _two_sides(case):
        return
    outcome = case.match.outcome
    first, second = case.main
    winner, margin = outcome.get("winner"), outcome.get("by", {})
    # A rain rule moves the score to beat; without the target it is not known.
    by_rule = outcome.get("method") is not None
    target = second.innings.set_later.get("runs", second.innings.target)
    to_beat = first.total if not by_rule else (target or 1) - 1
    if not to_beat and by_rule:
        return
    if outcome.get("result") == "tie":
        fits = second.total == to_beat
    elif "runs" in margin and winner == first.innings.batting_team:
        fits = to_beat - second.total == margin["runs"]
    elif "runs" in margin:
        # A side that bats second and is ahead of the rain rule wins by runs.
        fits = by_rule
    else:
        won = winner == second.innings.batting_team and second.total > to_beat
        left = ALL_OUT - second.wickets
        fits = "wickets" not in margin or (won and left == margin["wickets"])
    if not fits:
        stated = str(outcome.get("result"))
        if "winner" in outcome:
            by = " and ".join(
                f"{amount} {unit.removesuffix('s') if amount == 1 else unit}"
                for unit, amount in margin.items()
            )
            stated = f"{winner} won by {by}"
        scores = ", ".join(
            f"{side.innings.batting_team} {side.total}/{side.wickets}" for side in case.main
        )
        complete = case.stated.penalties_known
        caution = "" if complete else "; penalty runs may be missing from this format"
        yield Finding(
            f"the stated result ({stated}) does not follow from the balls ({scores}); "
            f"both are told as the file has them{caution}"
        )


RESULT: Final = "result"
"""The kind of doubt where the balls and the stated result cannot both be right."""

_SHARE_OF_A_BOWLER = 5
_SUPER_OVER_WICKETS = 2
_HUNDRED = 5
_OVERS_TOLD = 4
_MOST_OF_A_KIND = 5
_BALL_RECORD = attrgetter("label", "batter", "non_striker", "bowler", "runs_total", "wickets")

_OFF_AN_EXTRA: Final = (
    ("wides", "wide", NOT_THE_BOWLERS | {"stumped", "hit wicket"}),
    ("noballs", "no-ball", NOT_THE_BOWLERS),
)
"""How someone can be out off a wide and a no-ball."""

_FROM_ANYWHERE = frozenset({"timed out", "retired out", "retired hurt", "retired not out"})
"""How someone can go who was not at the crease."""


def doubts_of(match: Match, stated: Stated, sides: list[Side]) -> tuple[Doubt, ...]:
    """Every doubt about a match, refusals first, of each kind in the order of the balls.

    Args:
        sides: its innings, finished.
    """
    main = [side for side in sides if not side.innings.super_over]
    case = Case(match, stated, sides, main)
    return tuple(doubt for rule in RULES for doubt in rule.doubts(case))


def _both_ends(case: Case) -> Iterator[Finding]:
    for side in case.sides:
        for _, ball in side.pairs:
            if ball.batter == ball.non_striker != UNKNOWN_PLAYER:
                yield Finding(f"{ball.batter} is at both ends", side.innings, ball)


def _to_himself(case: Case) -> Iterator[Finding]:
    for side in case.sides:
        for player in sorted(side.batters.keys() & side.bowlers.keys()):
            squads = case.match.players.values()
            if sum(player in names for names in squads) > 1:
                continue  # two of one name: they may well meet
            for ball in side.innings.deliveries:
                if ball.bowler.name == player in (ball.batter.name, ball.non_striker.name):
                    yield Finding(f"{player} bats and bowls on one ball", side.innings, ball)
                    break


def _by_team(side: Side) -> tuple[tuple[str, dict[str, Delivery]], ...]:
    innings = side.innings
    return (innings.batting_team, side.batters), (innings.bowling_team, side.bowlers)


def _both_sides(case: Case) -> Iterator[Finding]:
    team_of: dict[str, str] = {}
    reported = set()
    for side in case.sides:
        for team, players in _by_team(side):
            for player, ball in players.items():
                if team_of.setdefault(player, team) != team and player not in reported:
                    reported.add(player)
                    problem = f"{player} plays for both sides, or two have one name"
                    yield Finding(problem, side.innings, ball)


def _squads(case: Case) -> Iterator[Finding]:
    squads = {team: frozenset(names) for team, names in case.match.players.items() if names}
    reported: set[str] = set()
    for side in case.sides if squads else ():
        innings = side.innings
        for team, players in _by_team(side):
            for player in sorted(players.keys() - squads.get(team, players.keys()) - reported):
                reported.add(player)
                yield Finding(f"{player} is not in the squad of {team}", innings, players[player])
        batting = squads.get(innings.batting_team, frozenset())
        only_bat = batting - squads.get(innings.bowling_team, batting)
        for ball in side.fallen if only_bat else ():
            for wicket in ball.wickets:
                for name in only_bat.intersection(wicket.fielders):
                    yield Finding(f"{name} fields for the other side", innings, ball)


def _twice(case: Case) -> Iterator[Finding]:
    by_figures: dict[tuple[int, int], Side] = {}
    for side in case.sides:
        balls = side.innings.deliveries
        earlier = by_figures.setdefault((len(balls), side.total), side)
        if earlier is side or len(balls) < side.innings.balls_per_over:
            continue
        if [_BALL_RECORD(ball) for ball in balls] == [
            _BALL_RECORD(ball) for ball in earlier.innings.deliveries
        ]:
            yield Finding(f"every ball is as in innings {earlier.innings.number}", *_start(side))


def _turns(case: Case) -> Iterator[Finding]:
    """Whose turn it is to bat."""
    allowed = 1 if case.stated.limited else 2
    times: dict[str, int] = {}
    for side in case.main:
        team = side.innings.batting_team
        times[team] = times.get(team, 0) + 1
        if times[team] > allowed:
            turns = "once" if allowed == 1 else "twice"
            yield Finding(f"{team} bats again, and a side bats {turns}", *_start(side))
    extra = [side for side in case.sides if side.innings.super_over]
    for first, second in zip(extra[::2], extra[1::2], strict=False):
        if first.innings.batting_team == second.innings.batting_team:
            yield Finding(
                f"{second.innings.batting_team} bats in both super overs", *_start(second)
            )


def _start(side: Side) -> tuple[Innings, Delivery | None]:
    return side.innings, next(iter(side.innings.deliveries), None)


def _over_numbers(case: Case) -> Iterator[Finding]:
    for side in case.sides:
        last = -1
        if side.innings.super_over and side.overs:
            last = side.overs[0].number - 1
        for over in side.overs:
            number = over.number
            if number > last + 1:
                gone = f"over {last + 1} is"
                if number > last + 2:
                    gone = f"overs {last + 1} to {number - 1} are"
                yield Finding(f"{gone} missing", side.innings, over.first)
            elif number <= last:
                returns = any(
                    earlier.number == number and earlier is not over for earlier in side.overs
                )
                says = "comes back after another over" if returns else f"comes after over {last}"
                yield Finding(f"over {number} {says}", side.innings, over.first)
            last = number


def _too_long(case: Case) -> Iterator[Finding]:
    overs = case.match.overs
    for side in case.sides:
        innings = side.innings
        if innings.super_over:
            if len(side.overs) > 1:
                yield Finding("a super over goes on", innings, side.overs[1].first)
            elif side.wickets > _SUPER_OVER_WICKETS:
                yield Finding(f"a super over has {side.wickets} wickets", innings)
            continue
        if overs is not None and case.stated.limited:
            later = next((over for over in side.overs if over.number >= overs), None)
            if later is not None:
                yield Finding(f"goes on after {overs} overs, which was all", innings, later.first)


def over_lengths(side: Side, stated: Collection[int]) -> tuple[str, list[Over]]:
    """Overs with more or fewer legal balls than an over has, in words and as they are.

    Args:
        stated: overs in which the file says that the umpires miscounted.
    """
    usual = side.innings.balls_per_over
    odd = [over for over in side.overs if over.legal != usual and over.number not in stated]
    if odd and odd[-1] is side.overs[-1] and side.cut_short:
        odd.pop()
    lengths = ", ".join(f"over {over.number} has {over.legal}" for over in odd[:_OVERS_TOLD])
    more = f" and {len(odd) - _OVERS_TOLD} more overs" if len(odd) > _OVERS_TOLD else ""
    return f"{lengths} legal balls{more}, not {usual} (overs as the file labels them)", odd


def may_be_miscounted(side: Side, odd: list[Over]) -> bool:
    """Whether it is one over, by one ball: as umpires miscount in one of seventy innings."""
    return len(odd) == 1 and abs(odd[0].legal - side.innings.balls_per_over) == 1


def _over_lengths(case: Case) -> Iterator[Finding]:
    for side in case.sides:
        miscounted = case.stated.miscounted
        stated = miscounted.get(side.innings.number, ()) if miscounted else ()
        words, odd = over_lengths(side, stated)
        if odd and not (miscounted is None and may_be_miscounted(side, odd)):
            yield Finding(words, side.innings, over=odd[0].number)


def _bowlers(case: Case) -> Iterator[Finding]:
    """Nobody bowls two overs running, nor comes back in an over that another took on."""
    for side in case.sides:
        innings, last = side.innings, None
        for over in side.overs:
            if len(over.bowlers) > len(set(over.bowlers)):
                names = ", ".join(over.bowlers)
                yield Finding(f"is bowled by turns: {names}", innings, over=over.number)
            if last is not None and innings.balls_per_over != _HUNDRED:
                for bowler in over.bowlers:
                    if bowler in last.bowlers and bowler != _UNKNOWN and over.number > last.number:
                        yield Finding(f"{bowler} bowls two overs running", innings, over.first)
            last = over


def _spells(case: Case) -> Iterator[Finding]:
    """A bowler may bowl a fifth of the overs."""
    overs = case.match.overs
    if overs is None or not case.stated.limited:
        return
    for side in case.main:
        innings = side.innings
        share = -(-overs // _SHARE_OF_A_BOWLER)
        allowed = share * innings.balls_per_over + side.surplus
        bowled: dict[str, int] = {}
        for over in side.overs:
            if len(over.bowlers) == 1:
                bowled[over.bowlers[0]] = bowled.get(over.bowlers[0], 0) + over.legal
        for bowler, balls in bowled.items():
            if balls > allowed and bowler != _UNKNOWN:
                yield Finding(
                    f"{bowler} bowls {balls} balls, and {share} overs are the most", innings
                )


def _out_again(case: Case) -> Iterator[Finding]:
    for side in case.sides:
        balls, out = side.innings.deliveries, set[str]()
        changed = {before.index for before, _ in side.pairs if before is not None}
        for ball in side.fallen:
            for wicket in ball.wickets:
                player = wicket.player_out.name
                if player in out:
                    yield Finding(f"{player} is out a second time", side.innings, ball)
                if not wicket.counts or player == _UNKNOWN:
                    continue
                out.add(player)
                later = side.batters.get(player, ball)
                if later.index > ball.index:
                    yield Finding(f"{player} bats after being out", side.innings, later)
                elif ball.index not in changed and player in _pair(ball) and ball is not balls[-1]:
                    yield Finding(
                        f"{player} stays after being out", side.innings, balls[ball.index]
                    )


def _pair(ball: Delivery) -> tuple[str, str]:
    return ball.batter.name, ball.non_striker.name


def _gone(case: Case) -> Iterator[Finding]:
    """Who bats no more was out or retired, or was hurt and came back when somebody else went.

    Of those who come back many files do not say that they had gone.
    """
    for side in case.sides:
        for row, (before, ball) in enumerate(side.pairs):
            if before is None:
                continue
            left = [wicket.player_out.name for wicket in before.wickets]
            for player in _pair(before):
                if player in left or player in _pair(ball) or player == _UNKNOWN:
                    continue
                before_return = next(
                    (was for was, ball in side.pairs[row:] if player in _pair(ball)), None
                )
                if before_return is None or not before_return.wickets:
                    yield Finding(f"{player} bats no more and was not out", side.innings, ball)


def _ends(case: Case) -> Iterator[Finding]:
    if case.match.balls_per_over == _HUNDRED:
        return  # two overs come from one end, or one
    for side in case.sides:
        for ball in side.turned:
            problem = f"{ball.batter} faces, and by the balls around it {ball.non_striker} would"
            yield Finding(problem, side.innings, ball)


def _wickets(case: Case) -> Iterator[Finding]:
    for side in case.sides:
        for ball in side.fallen:
            for problem in _impossible_wickets(ball):
                yield Finding(problem, side.innings, ball)
        if side.wickets > ALL_OUT:
            yield Finding(f"has {side.wickets} wickets", side.innings)
        elif side.wickets == ALL_OUT and side.innings.deliveries[-1].wickets_before == ALL_OUT:
            yield Finding("goes on after ten wickets", side.innings, side.innings.deliveries[-1])


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


def _runs(case: Case) -> Iterator[Finding]:
    for side in case.sides:
        for ball in side.telling:
            runs = ball.runs_batter
            if runs > MOST_OFF_THE_BAT:
                yield Finding(f"{runs} runs off the bat", side.innings, ball)
            if not ball.runs_extras or (not runs and len(ball.extras) == 1):
                continue
            kinds = set(ball.extras) - {"penalty"}
            if "wides" in kinds and (runs or len(kinds) > 1):
                yield Finding("a wide with other runs than wides", side.innings, ball)
            elif kinds & {"byes", "legbyes"} and (runs or {"byes", "legbyes"} <= kinds):
                yield Finding("byes with other runs", side.innings, ball)


@dataclass(frozen=True, slots=True)
class Rule:
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
        for number, (problem, innings, ball, over) in enumerate(self.find(case)):
            if number == _MOST_OF_A_KIND:
                return
            innings_number = None if innings is None else innings.number
            if ball is None:
                yield Doubt(self.kind, problem, innings_number, over, None, self.refused)
                continue
            before = case.match.innings[: case.match.innings.index(innings)] if innings else ()
            position = sum(len(side.deliveries) for side in before) + ball.index
            yield Doubt(
                self.kind, problem, innings_number, ball.over, ball.label, self.refused, position
            )


RULES: Final = (
    Rule("both-ends", "nobody bats at both ends", _both_ends, refused=True),
    Rule("to-himself", "nobody bats and bowls on one ball", _to_himself, refused=True),
    Rule("innings-twice", "no innings is there twice", _twice, refused=True),
    Rule("turns", "a side bats once, in a longer match twice", _turns, refused=True),
    Rule("both-sides", "nobody plays for both sides", _both_sides),
    Rule("squad", "who plays is in the squad", _squads),
    Rule("over-numbers", "overs follow one another from 0", _over_numbers),
    Rule("too-long", "no innings is longer than the match, or a super over, allows", _too_long),
    Rule("over-length", "an over has its legal balls", _over_lengths),
    Rule("bowlers", "nobody bowls two overs running, or by turns in one", _bowlers),
    Rule("spell", "nobody bowls more than a fifth of the overs", _spells),
    Rule("out-again", "who is out bats no more", _out_again),
    Rule("gone", "who bats no more was out or retired", _gone),
    Rule("ends", "who faces a ball follows from the runs", _ends),
    Rule("wicket", "a wicket can fall so on such a ball", _wickets),
    Rule("runs", "runs of these kinds can come of one ball", _runs),
    Rule("dates", "the dates are possible", dates),
    Rule("names", "who won the match or the toss played, and the toss was followed", names),
    Rule("after-the-end", "a chase ends when the target is reached", after_the_end),
    Rule(
        "ended-early",
        "an innings ends with its overs, its wickets or the target",
        ended_early,
    ),
    Rule("target", "the target is one more than innings 1 made", target),
    Rule(RESULT, "the result follows from the balls", result),
)
"""Everything that is looked for, refusals first."""
