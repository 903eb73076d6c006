"""Witnesses of how a match went: the result, targets, powerplays and the rest of an innings."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Any, Final

from attnlens.cricket.match.competition import ALL_OUT
from attnlens.cricket.match.ledger import outcome_words
from attnlens.cricket.match.match import DERIVED
from attnlens.cricket.match.scan import (
    RAIN_RULES,
    Answer,
    Case,
    InningsScan,
    Play,
    Verdict,
    Witnesses,
    compared,
    contradiction,
    joined,
)

RESULT: Final = "result"
"""The kind of doubt where the balls and the stated result cannot both be right."""

_METHODS = RAIN_RULES | {"Awarded", "Lost fewer wickets", "1st innings score"}
_RESULTS = frozenset({"tie", "draw", "no result"})
_POWERPLAY_TYPES = frozenset({"mandatory", "batting", "fielding"})
_MAX_POWERPLAY_OVERS = {(20, 6): 6, (20, 5): 5}
"""Overs of a powerplay, by overs a side and balls an over."""

_LABEL = re.compile(r"([0-9]{1,3})\.([0-9]{1,2})")
_MIN_PENALTY, _MAX_PENALTY = 5, 30

WITNESSES: Final = Witnesses()


# The result.


def _scores(case: Case) -> str:
    return ", ".join(
        f"{scan.innings.batting_team} {scan.total}/{scan.wickets}" for scan in case.main
    )


def _by_balls(case: Case, value: Any, derived: Any) -> Verdict:
    """Whether a part of the stated result is what the balls show."""
    if value == derived:
        return Verdict(DERIVED, value)
    caution = "" if case.stated.exact else "; penalty runs may be missing from this format"
    stated, scores = outcome_words(case.match.outcome), _scores(case)
    return contradiction(
        f"the stated result, {stated}, does not follow from the balls ({scores}){caution}", derived
    )


def _played_out(case: Case) -> str | None:
    """The problem where a side won by play and the file shows no second innings."""
    match, outcome = case.match, case.outcome
    if outcome.get("method") not in (None, *RAIN_RULES):
        return None
    batted = [scan for scan in case.main if scan.overs]
    if case.limited and len(batted) < 2:
        missing = "a second innings" if batted else "an innings"
        stated = outcome_words(match.outcome)
        return f"the stated result is {stated}, and the balls do not show {missing}"
    return None


@WITNESSES.of(RESULT, "outcome.winner")
def _winner(case: Case, value: Any, _part: str) -> Answer:
    match, outcome = case.match, case.outcome
    if match.teams and value not in match.teams:
        return f"{value} won the match and did not play"
    for key in ("result", "eliminator", "bowl_out"):
        if key in outcome:
            return f"the file states both a winner, {value}, and {key} {outcome[key]}"
    if problem := _played_out(case):
        return problem
    if case.super_overs:
        return f"{value} won, and there is a super over, which follows a tie"
    if not case.limited:
        return _long_match(case, value)
    play, by = case.play, outcome.get("by", {})
    if play is None:
        return False
    if _ahead_of_rain(play, value, outcome):
        return _ahead(case, play, play.winner or value, value)
    if play.winner is not None:
        return _by_balls(case, value, play.winner)
    if play.result is not None or play.second.total == play.to_beat:
        return _by_balls(case, value, None)
    if outcome.get("method") is None:
        # The chase stopped early: only the side that batted first can have won, by some runs.
        won = by and value == play.first.innings.batting_team
        return False if won else _by_balls(case, value, None)
    return "wickets" in by and _by_balls(case, value, None)


def _ahead_of_rain(play: Play, winner: str, outcome: Any) -> bool:
    """Whether rain ended the chase while its side was ahead, which is a win by runs."""
    chase = play.second
    return bool(
        outcome.get("method") in RAIN_RULES
        and "runs" in outcome.get("by", {})
        and winner == chase.innings.batting_team
        and chase.wickets < ALL_OUT
    )


def _ahead(case: Case, play: Play, derived: Any, value: Any) -> Answer:
    """The verdict on a winner or a margin of a side that was ahead of a rain rule.

    The target of most files is what the side was to have made by then. A few state the target of
    the whole innings, which decides nothing.
    """
    if play.second.total <= play.to_beat and not play.full:
        return False
    return _by_balls(case, value, derived)


def _long_match(case: Case, value: Any) -> Answer:
    totals = _totals(case)
    if len(totals) < 2 or case.outcome.get("method") is not None:
        return False
    ahead = max(totals, key=lambda team: totals[team])
    rest = [total for team, total in totals.items() if team != ahead]
    if totals[ahead] == max(rest):
        return _by_balls(case, value, None)
    return _by_balls(case, value, ahead)


def _totals(case: Case) -> Counter[str]:
    totals: Counter[str] = Counter()
    for scan in case.main:
        totals[scan.innings.batting_team] += scan.total
    return totals


@WITNESSES.of(
    RESULT,
    "outcome.by.runs",
    "outcome.by.wickets",
    "outcome.by.innings",
)
def _margin(case: Case, value: Any, unit: str) -> Answer:
    outcome = case.outcome
    by = outcome.get("by", {})
    if "winner" not in outcome:
        return f"the file states a margin, {value} {unit}, and no winner"
    if outcome.get("method") == "Awarded":
        return f"the match was awarded, and the file states a margin, {value} {unit}"
    if not case.limited:
        return _long_margin(case, value, unit)
    if len(by) > 1 or unit == "innings":
        return f"the file states a margin of {' and '.join(by)} in a match of one innings a side"
    if (unit == "wickets" and not 1 <= value <= ALL_OUT) or value < 1:
        return f"the file states a margin of {value} {unit}"
    play = case.play
    if play is None:
        return _played_out(case) or False
    if _ahead_of_rain(play, outcome["winner"], outcome):
        return _ahead(case, play, play.second.total - play.to_beat, value)
    if play.by:
        return _by_balls(case, value, play.by.get(unit))
    short_by = None if unit == "wickets" else play.to_beat - play.second.total
    return _by_balls(case, value, short_by)


def _long_margin(case: Case, value: Any, unit: str) -> Answer:
    totals, outcome = _totals(case), case.outcome
    winner, main = outcome["winner"], case.main
    if winner not in totals or len(totals) < 2 or outcome.get("method") is not None:
        return False
    turns = Counter(scan.innings.batting_team for scan in main)
    ahead = totals[winner] - max(total for team, total in totals.items() if team != winner)
    last = main[-1].innings.batting_team == winner
    by_innings = turns[winner] < max(turns.values()) and not last
    derived: dict[str, int] = {"runs": ahead} if by_innings or not last else {}
    if by_innings:
        derived["innings"] = 1
    if last:
        derived["wickets"] = ALL_OUT - main[-1].wickets
    return _by_balls(case, value, derived.get(unit))


@WITNESSES.of(RESULT, "outcome.result")
def _stated_draw(case: Case, value: Any, _part: str) -> Answer:
    if value not in _RESULTS:
        return f"the file states the result {value}, which is none of the format"
    if case.limited and value == "draw":
        return "the file states a draw, which a match of limited overs cannot be"
    if value == "tie":
        return _tie(case, value)
    play = case.play
    if value == "no result" and case.super_overs:
        return "the file states no result, and there is a super over"
    if value != "no result" or play is None or play.result is None:
        return False
    shows = f"{play.winner} won" if play.winner else "a tie"
    return contradiction(
        f"the file states no result, and its balls show that the match ended: {shows} "
        f"({_scores(case)})",
        shows,
    )


def _tie(case: Case, value: Any) -> Answer:
    if problem := _played_out(case):
        return problem
    if not case.limited:
        totals = _totals(case)
        return compared(len(set(totals.values())), 1, f"the file states a tie ({_scores(case)})")
    play = case.play
    if play is None:
        return False
    if play.second.total != play.to_beat:
        return _by_balls(case, value, play.winner)
    decider = _super_over_winner(case)
    if decider and not {"eliminator", "bowl_out"} & case.outcome.keys():
        return contradiction(f"{decider} won the super over, and the result is a tie", decider)
    return Verdict(DERIVED, value)


def _super_over_winner(case: Case) -> str | None:
    """The winner of the last super over by its runs; ``None`` without one, or if it was tied."""
    if len(case.super_overs) < 2:
        return None
    first, second = case.super_overs[-2:]
    if first.total == second.total:
        return None
    return (first if first.total > second.total else second).innings.batting_team


@WITNESSES.of(RESULT, "outcome.eliminator", "outcome.bowl_out")
def _decider(case: Case, value: Any, key: str) -> Answer:
    match = case.match
    means = "the super over" if key == "eliminator" else "the bowl-out"
    if match.teams and value not in match.teams:
        return f"{value} won {means} and did not play"
    if case.outcome.get("result") != "tie":
        return f"{value} won {means}, and the match was no tie"
    if key == "bowl_out":
        return f"{value} won {means}, and there is a super over" if case.super_overs else False
    if len(case.super_overs) < 2:
        return f"{value} won {means}, and the balls show none" if case.stated.exact else False
    derived = _super_over_winner(case)
    if derived is None:
        return False  # boundaries decided
    return compared(value, derived, f"{value} won {means} in the file, and {derived} by its balls")


@WITNESSES.of(RESULT, "outcome.method")
def _method(case: Case, value: Any, _part: str) -> Answer:
    if value not in _METHODS:
        return f"the file states the method {value}, which is none of the format"
    if value not in RAIN_RULES or not case.has_two_sides:
        return False
    first, second = case.main
    overs, target = case.match.overs, case.target
    full = (overs or 0) * second.innings.balls_per_over
    if target != first.total + 1 or not full or second.innings.target_balls != full:
        return target is not None
    return f"the file states the method {value}, and target and overs are those without rain"


# Innings.


def _scan_of(case: Case, number: str) -> InningsScan:
    return next(scan for scan in case.scans if scan.innings.number == int(number))


@WITNESSES.of("squad", "innings.*.team")
def _batting_team(case: Case, value: Any, number: str) -> Answer:
    batters = _scan_of(case, number).batters.keys()
    return bool(batters & case.squads.get(value, frozenset()))


@WITNESSES.of("target", "innings.*.target.runs")
def _target_runs(case: Case, value: Any, number: str) -> Answer:
    if number == "1":
        return "the first innings has a target"
    scan = _scan_of(case, number)
    if scan.innings.super_over:
        first = _scan_of(case, str(int(number) - 1))
        return compared(value, first.total + 1, f"the target of the super over is {value}")
    if number != "2" or not case.has_two_sides:
        return False
    if scan.innings.set_later and "wickets" in case.outcome.get("by", {}):
        return f"the chase goes on after the target of {value} is reached"
    made = case.main[0].total
    if value == made + 1:
        return Verdict(DERIVED, value)
    outcome = case.outcome
    if outcome.get("method") is not None or not ("winner" in outcome or "tie" in outcome.values()):
        return False
    return contradiction(
        f"the target is {value} in the file, and innings 1 made {made}: "
        "it was revised, and the file does not say how",
        made + 1,
    )


@WITNESSES.of("target", "innings.*.target.overs")
def _target_overs(case: Case, value: Any, number: str) -> Answer:
    if number == "1":
        return "the first innings has a target"
    scan, match = _scan_of(case, number), case.match
    innings = scan.innings
    if innings.super_over or not case.has_two_sides or number != "2":
        return False
    usual, words = innings.balls_per_over, f"the target is to be made in {value} overs"
    balls = innings.set_later.get("balls", innings.target_balls) or 0
    full = (match.overs or 0) * usual
    if full and balls > full:
        return contradiction(f"{words}, and a side has {match.overs}", match.overs)
    if len(scan.overs) * usual > balls + usual - 1 and not innings.set_later:
        return contradiction(f"{words}, and the chase has {len(scan.overs)}", match.overs)
    outcome = case.outcome
    settled = "winner" in outcome or outcome.get("result") == "tie"
    if not full or not settled or outcome.get("method") is not None:
        return False
    first = case.main[0]
    bowled = len(first.overs) * usual
    if balls in (full, bowled) or (first.wickets >= ALL_OUT and bowled < balls):
        return True
    first_had = f"the first side had {len(first.overs)}, and no method is stated"
    return contradiction(f"{words}, {first_had}", match.overs if bowled > balls else None)


@WITNESSES.of("powerplays", "innings.*.powerplays")
def _powerplays(case: Case, value: Any, number: str) -> Answer:
    scan = _scan_of(case, number)
    innings = scan.innings
    if not scan.overs:
        return False
    last = scan.overs[-1].number
    spans = []
    for powerplay in value:
        kind, start, end = powerplay["type"], powerplay["from"], powerplay["to"]
        if kind not in _POWERPLAY_TYPES:
            return f"a powerplay is {kind}, which is no type of one"
        begin, stop = _LABEL.fullmatch(str(start)), _LABEL.fullmatch(str(end))
        if begin is None or stop is None:
            return f"a powerplay is from {start} to {end}, which are no balls"
        first_over, first_ball = int(begin[1]), int(begin[2])
        over, ball = int(stop[1]), int(stop[2])
        length = scan.length_of(over)
        if ball == 1 and length == 10:
            ball = 10  # 5.10, which parsers of numbers write as 5.1
        span = f"a powerplay is from ball {start} to ball {end}"
        if (first_over, first_ball) > (over, ball):
            return contradiction(f"{span}, which is before it", over=over)
        if first_ball != 1:
            return contradiction(f"{span}, and begins within an over", over=first_over)
        if over < last and (ball > length or innings.balls_per_over <= ball < length):
            problem = f"{span}, and over {over} ends with ball {over}.{length}"
            return contradiction(problem, over=over)
        limit = (case.match.overs or over + 1) if case.limited else over + 1
        if over >= limit or first_over > last:
            return contradiction(f"{span}, and the innings has {last + 1} overs", over=over)
        spans.append((first_over, over))
    spans.sort()
    allowed = _MAX_POWERPLAY_OVERS.get((case.match.overs or 0, innings.balls_per_over))
    overs = max((over + 1 - first_over for first_over, over in spans), default=0)
    if allowed is not None and overs > allowed:
        return f"a powerplay has {overs} overs, and {allowed} are the most"
    if any(later[0] <= earlier[1] for earlier, later in pairwise(spans)):
        return "two powerplays overlap"
    if case.limited and not innings.super_over and spans and spans[0][0] > 1:
        return "no powerplay begins with the innings"
    return True


@WITNESSES.of("miscounted", "innings.*.miscounted_overs")
def _miscounted(case: Case, value: Any, number: str) -> Answer:
    scan = _scan_of(case, number)
    legal = {over.number: over.legal for over in scan.overs}
    umpires = case.umpires
    for over, facts in value.items():
        balls, umpire, bowled = int(facts["balls"]), facts.get("umpire"), legal.get(int(over))
        if bowled is None:
            return f"over {over} was miscounted, and the innings has no such over"
        if balls != bowled:
            problem = (
                f"over {over} was miscounted and had {balls} balls in the file, and has {bowled}"
            )
            return contradiction(problem, bowled, int(over))
        if balls == scan.innings.balls_per_over:
            return contradiction(
                f"over {over} was miscounted, and has {balls} balls", over=int(over)
            )
        if umpire is not None and umpires and umpire not in umpires:
            return contradiction(
                f"{umpire} miscounted over {over} and is no umpire", over=int(over)
            )
    return Verdict(DERIVED, {str(over): legal[int(over)] for over in value})


@WITNESSES.of("innings", "innings.*.super_over")
def _super_over(case: Case, value: Any, number: str) -> Answer:
    if value is not True:
        return f"super_over is {value}, not true"
    if int(number) < 3:
        return "it is a super over, and those follow two innings"
    totals = {scan.total for scan in case.main}
    if not case.limited or (len(totals) != 1 and case.outcome.get("method") is None):
        return f"it is a super over, and the match was no tie ({_scores(case)})"
    before = [scan.total for scan in case.super_overs[: (int(number) - 3) // 2 * 2]]
    if any(first != second for first, second in zip(before[::2], before[1::2], strict=False)):
        return "it is a super over, and the one before it was decided"
    return True


@WITNESSES.of("innings", "innings.*.absent_hurt")
def _absent(case: Case, value: Any, number: str) -> Answer:
    scan = _scan_of(case, number)
    team = scan.innings.batting_team
    if batted := set(value) & scan.batters.keys():
        return f"{joined(batted)} was absent hurt and bats"
    if strangers := set(value) - case.squads.get(team, frozenset(value)):
        return f"{joined(strangers)} was absent hurt and is not in the squad of {team}"
    gone = sum(len(ball.wickets) for ball in scan.wicket_balls)
    if gone + len(value) < ALL_OUT - 1:
        return f"{joined(value)} was absent hurt, and {gone} were out"
    return bool(case.squads)


@WITNESSES.of("innings", "innings.*.penalty_runs.pre", "innings.*.penalty_runs.post")
def _penalty_runs(case: Case, value: Any, _part: str) -> Answer:
    if value and not _MIN_PENALTY <= value <= _MAX_PENALTY:
        return f"{value} penalty runs are awarded; penalties are of 5 runs"
    return bool(case.decided and case.play is not None)


@WITNESSES.of("innings", "innings.*.declared")
def _declared(case: Case, value: Any, _number: str) -> Answer:
    if value is not True:
        return f"declared is {value}, not true"
    if case.limited:
        return "the innings was declared in a match of limited overs"
    return False


@WITNESSES.of("innings", "innings.*.forfeited")
def _forfeited(case: Case, value: Any, number: str) -> Answer:
    if value is not True:
        return f"forfeited is {value}, not true"
    if _scan_of(case, number).overs:
        return "the innings was forfeited, and it has balls"
    return True


@WITNESSES.of("totals", "innings.*.total")
def _table_score(case: Case, value: Any, number: str) -> Answer:
    """A total in a table of results beside the balls: ``165/7``."""
    scan = _scan_of(case, number)
    derived = f"{scan.total}/{scan.wickets}"
    return compared(
        value,
        derived,
        f"the balls add up to {derived}, and the table of results says {value}: "
        "balls or runs are missing or doubled in the file",
    )
