"""What is impossible in a match, or hard to believe: a table of rules, each a small function.

A file can be written without a fault and tell of a match that nobody played: an over is missing,
a batter bowls to himself, an innings stands there twice. What a rule finds is told in the notes of
the match; where no answer about the match could be right, the match is refused.

An over is found wrong only where the Laws of Cricket leave no room. So these pass: two bowlers in
an over (one was hurt), strike that is kept or lost once (a short run), an over of five or seven
balls where the file says that the umpires miscounted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from attnlens.cricket.match import frame
from attnlens.cricket.match.match import UNKNOWN_PLAYER, Delivery, Doubt, Innings, Match
from attnlens.cricket.match.outcomes import NOT_THE_BOWLERS
from attnlens.cricket.match.sides import (
    ALL_OUT,
    MOST_OFF_THE_BAT,
    UNKNOWN,
    Case,
    Finding,
    Over,
    Side,
    Stated,
)

RESULT: Final = "result"
"""The kind of doubt where the balls and the stated result cannot both be right."""

_SHARE_OF_A_BOWLER = 5
_SUPER_OVER_WICKETS = 2
_HUNDRED = 5
_OVERS_TOLD = 4
_MOST_OF_A_KIND = 5
_SAID = attrgetter("label", "batter", "non_striker", "bowler", "runs_total", "wickets")

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
        for who in sorted(side.batters.keys() & side.bowlers.keys()):
            squads = case.match.players.values()
            if sum(who in names for names in squads) > 1:
                continue  # two of one name: they may well meet
            for ball in side.innings.deliveries:
                if ball.bowler.name == who in (ball.batter.name, ball.non_striker.name):
                    yield Finding(f"{who} bats and bowls on one ball", side.innings, ball)
                    break


def _by_team(side: Side) -> tuple[tuple[str, dict[str, Delivery]], ...]:
    innings = side.innings
    return (innings.batting_team, side.batters), (innings.bowling_team, side.bowlers)


def _both_sides(case: Case) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    named = set()
    for side in case.sides:
        for team, players in _by_team(side):
            for who, ball in players.items():
                if seen.setdefault(who, team) != team and who not in named:
                    named.add(who)
                    what = f"{who} plays for both sides, or two have one name"
                    yield Finding(what, side.innings, ball)


def _squads(case: Case) -> Iterator[Finding]:
    squads = {team: frozenset(names) for team, names in case.match.players.items() if names}
    named: set[str] = set()
    for side in case.sides if squads else ():
        innings = side.innings
        for team, players in _by_team(side):
            for who in sorted(players.keys() - squads.get(team, players.keys()) - named):
                named.add(who)
                yield Finding(f"{who} is not in the squad of {team}", innings, players[who])
        batting = squads.get(innings.batting_team, frozenset())
        only_bat = batting - squads.get(innings.bowling_team, batting)
        for ball in side.fallen if only_bat else ():
            for wicket in ball.wickets:
                for name in only_bat.intersection(wicket.fielders):
                    yield Finding(f"{name} fields for the other side", innings, ball)


def _twice(case: Case) -> Iterator[Finding]:
    seen: dict[tuple[int, int], Side] = {}
    for side in case.sides:
        balls = side.innings.deliveries
        earlier = seen.setdefault((len(balls), side.total), side)
        if earlier is side or len(balls) < side.innings.balls_per_over:
            continue
        if [_SAID(ball) for ball in balls] == [_SAID(ball) for ball in earlier.innings.deliveries]:
            yield Finding(f"every ball is as in innings {earlier.innings.number}", *_start(side))


def _turns(case: Case) -> Iterator[Finding]:
    """Whose turn it is to bat."""
    most = 1 if case.stated.limited else 2
    times: dict[str, int] = {}
    for side in case.main:
        team = side.innings.batting_team
        times[team] = times.get(team, 0) + 1
        if times[team] > most:
            turns = "once" if most == 1 else "twice"
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
                again = any(one.number == number and one is not over for one in side.overs)
                says = "comes back after another over" if again else f"comes after over {last}"
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
    told = ", ".join(f"over {over.number} has {over.legal}" for over in odd[:_OVERS_TOLD])
    more = f" and {len(odd) - _OVERS_TOLD} more overs" if len(odd) > _OVERS_TOLD else ""
    return f"{told} legal balls{more}, not {usual} (overs as the file labels them)", odd


def may_be_miscounted(side: Side, odd: list[Over]) -> bool:
    """Whether it is one over, by one ball: as umpires miscount in one of seventy innings."""
    return len(odd) == 1 and abs(odd[0].legal - side.innings.balls_per_over) == 1


def _over_lengths(case: Case) -> Iterator[Finding]:
    for side in case.sides:
        miscounted = case.stated.miscounted
        known = miscounted.get(side.innings.number, ()) if miscounted else ()
        words, odd = over_lengths(side, known)
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
                for who in over.bowlers:
                    if who in last.bowlers and who != UNKNOWN and over.number > last.number:
                        yield Finding(f"{who} bowls two overs running", innings, over.first)
            last = over


def _spells(case: Case) -> Iterator[Finding]:
    """A bowler may bowl a fifth of the overs."""
    overs = case.match.overs
    if overs is None or not case.stated.limited:
        return
    for side in case.main:
        innings = side.innings
        share = -(-overs // _SHARE_OF_A_BOWLER)
        most = share * innings.balls_per_over + side.surplus
        bowled: dict[str, int] = {}
        for over in side.overs:
            if len(over.bowlers) == 1:
                bowled[over.bowlers[0]] = bowled.get(over.bowlers[0], 0) + over.legal
        for who, balls in bowled.items():
            if balls > most and who != UNKNOWN:
                yield Finding(f"{who} bowls {balls} balls, and {share} overs are the most", innings)


def _out_again(case: Case) -> Iterator[Finding]:
    for side in case.sides:
        balls, out = side.innings.deliveries, set[str]()
        changed = {before.index for before, _ in side.pairs if before is not None}
        for ball in side.fallen:
            for wicket in ball.wickets:
                who = wicket.player_out.name
                if who in out:
                    yield Finding(f"{who} is out a second time", side.innings, ball)
                if not wicket.counts or who == UNKNOWN:
                    continue
                out.add(who)
                later = side.batters.get(who, ball)
                if later.index > ball.index:
                    yield Finding(f"{who} bats after being out", side.innings, later)
                elif ball.index not in changed and who in _pair(ball) and ball is not balls[-1]:
                    yield Finding(f"{who} stays after being out", side.innings, balls[ball.index])


def _pair(ball: Delivery) -> tuple[str, str]:
    return ball.batter.name, ball.non_striker.name


def _gone(case: Case) -> Iterator[Finding]:
    """Who bats no more was out or retired, or was hurt and came back when somebody else went.

    Of those who come back many files do not say that they had gone.
    """
    for side in case.sides:
        for place, (before, ball) in enumerate(side.pairs):
            if before is None:
                continue
            left = [wicket.player_out.name for wicket in before.wickets]
            for who in _pair(before):
                if who in left or who in _pair(ball) or who == UNKNOWN:
                    continue
                again = next((was for was, now in side.pairs[place:] if who in _pair(now)), None)
                if again is None or not again.wickets:
                    yield Finding(f"{who} bats no more and was not out", side.innings, ball)


def _ends(case: Case) -> Iterator[Finding]:
    if case.match.balls_per_over == _HUNDRED:
        return  # two overs come from one end, or one
    for side in case.sides:
        for ball in side.turned:
            what = f"{ball.batter} faces, and by the balls around it {ball.non_striker} would"
            yield Finding(what, side.innings, ball)


def _wickets(case: Case) -> Iterator[Finding]:
    for side in case.sides:
        for ball in side.fallen:
            for what in _impossible_wickets(ball):
                yield Finding(what, side.innings, ball)
        if side.wickets > ALL_OUT:
            yield Finding(f"has {side.wickets} wickets", side.innings)
        elif side.wickets == ALL_OUT and side.innings.deliveries[-1].wickets_before == ALL_OUT:
            yield Finding("goes on after ten wickets", side.innings, side.innings.deliveries[-1])


def _impossible_wickets(ball: Delivery) -> Iterator[str]:
    credited, pair = 0, _pair(ball)
    for wicket in ball.wickets:
        kind, who = wicket.kind, wicket.player_out.name
        is_the_bowlers = kind not in NOT_THE_BOWLERS
        credited += is_the_bowlers
        if who not in pair:
            if kind not in _FROM_ANYWHERE and UNKNOWN not in pair:
                yield f"{who} is out and was not at the crease"
        elif is_the_bowlers and who != pair[0]:
            yield f"{who} is out {kind} and did not face the ball"
        for extra, name, possible in _OFF_AN_EXTRA if ball.runs_extras else ():
            if extra in ball.extras and kind not in possible:
                yield f"{who} is out {kind} off a {name}"
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
        for number, (what, innings, ball, over) in enumerate(self.find(case)):
            if number == _MOST_OF_A_KIND:
                return
            place = None if innings is None else innings.number
            if ball is None:
                yield Doubt(self.kind, what, place, over, None, self.refused)
                continue
            before = case.match.innings[: case.match.innings.index(innings)] if innings else ()
            position = sum(len(one.deliveries) for one in before) + ball.index
            yield Doubt(self.kind, what, place, ball.over, ball.label, self.refused, position)


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
    Rule("dates", "the dates are possible", frame.dates),
    Rule("names", "who won the match or the toss played, and the toss was followed", frame.names),
    Rule("after-the-end", "a chase ends when the target is reached", frame.after_the_end),
    Rule(
        "ended-early",
        "an innings ends with its overs, its wickets or the target",
        frame.ended_early,
    ),
    Rule("target", "the target is one more than innings 1 made", frame.target),
    Rule(RESULT, "the result follows from the balls", frame.result),
)
"""Everything that is looked for, refusals first."""
