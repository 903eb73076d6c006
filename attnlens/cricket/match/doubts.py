"""Find impossible or implausible events among the balls of a match.

Each violation of a rule is added to the match's notes. Some violations cause the match to be
refused. `reconcile` also compares the balls with the facts in the file.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, Final, NamedTuple

from attnlens.cricket.match.competition import ALL_OUT, BALLS_PER_OVER_OF_THE_HUNDRED, BOWLERS_SHARE
from attnlens.cricket.match.match import (
    AGREES,
    CONTRADICTS,
    DERIVED,
    DISMISSALS,
    NOT_THE_BOWLERS,
    UNKNOWN_PLAYER,
    UNWITNESSED,
    Delivery,
    Doubt,
    Innings,
    Match,
    StatedField,
)
from attnlens.cricket.match.scan import (
    MAX_RUNS_OFF_THE_BAT,
    Case,
    InningsScan,
    Verdict,
    changes_of,
    contradiction,
)
from attnlens.cricket.match.witnesses import WITNESSES
from attnlens.errors import count
from attnlens.files import Json

_UNKNOWN = UNKNOWN_PLAYER.name
_MAX_DOUBTS_A_RULE = 5
_SUPER_OVER_WICKETS = 2
_NEARLY_ALL_OUT = 8
"""From this number of wickets on, the remaining batters may be injured or absent."""

_FREE_HITS_SINCE = datetime.date(2016, 1, 1)
"""Since this day, a no-ball that costs one run gives a free hit in limited-overs matches."""

_BALL_RECORD = attrgetter("label", "batter", "non_striker", "bowler", "runs_total", "wickets")

_OFF_AN_EXTRA: Final = (
    ("wides", "wide", NOT_THE_BOWLERS | {"stumped", "hit wicket"}),
    ("noballs", "no-ball", NOT_THE_BOWLERS),
)
"""The possible dismissals off a wide, and off a no-ball."""

_ELEVEN: Final = 11
"""The usual size of a squad. A larger squad may include substitutes."""

_HANDLED: Final = "handled the ball"
_LAST_HANDLED: Final = datetime.date(2017, 10, 1)
"""Since this day, "handled the ball" is a case of "obstructing the field" (Laws of 2017)."""

_FROM_ANYWHERE = frozenset({"timed out", "retired out", "retired hurt", "retired not out"})
"""The possible dismissals of a player who is not at the crease."""

_FIELDERS: Final[dict[str, range]] = {
    "caught": range(1, 2), "stumped": range(1, 2), "run out": range(10),
    "obstructing the field": range(10), "caught and bowled": range(2),
}  # fmt: skip
"""Maps each dismissal to the possible numbers of fielders. Other dismissals have no fielder."""

_REVIEW_DECISIONS = frozenset({"upheld", "struck down", "technical failure"})


class Finding(NamedTuple):
    """A violation of a rule, and its location in the match."""

    problem: str
    ball: Delivery | None = None
    innings: Innings | None = None
    over: int | None = None
    field: str | None = None


class BallRule(NamedTuple):
    """A rule about the balls of a match or of an innings.

    Attributes:
        kind: the name of the rule in JSON.
        refused: whether a match that violates the rule is refused.
        of_innings: whether ``find`` takes the scan of one innings as second argument.
        find: a function that yields every violation of the rule.
    """

    kind: str
    refused: bool
    of_innings: bool
    find: Callable[..., Iterator[Finding]]


RULES: Final[list[BallRule]] = []
"""Every rule about balls. The rules that can refuse a match come first."""


def _rule(
    kind: str, *, refused: bool = False, of_innings: bool = True
) -> Callable[[Callable[..., Iterator[Finding]]], None]:
    return lambda find: RULES.append(BallRule(kind, refused, of_innings, find))


def doubts_of(case: Case) -> list[Doubt]:
    """Return at most five doubts of each kind. Doubts whose ``refused`` is true come first."""
    doubts = []
    for rule in RULES:
        if rule.of_innings:
            findings = [
                finding._replace(innings=scan.innings)
                for scan in case.scans
                for finding in rule.find(case, scan)
            ]
        else:
            findings = list(rule.find(case))
        doubts += [_doubt(rule, case.match, finding) for finding in findings[:_MAX_DOUBTS_A_RULE]]
    return doubts


def _doubt(rule: BallRule, match: Match, finding: Finding) -> Doubt:
    problem, ball, innings, over, field = finding
    number, label, position = None if innings is None else innings.number, None, None
    if ball is not None:
        before = match.innings[: match.innings.index(innings)] if innings else ()
        position = sum(len(side.deliveries) for side in before) + ball.index
        over, label = ball.over, ball.label
    return Doubt(rule.kind, problem, number, over, label, rule.refused, position, field)


def _pair(ball: Delivery) -> tuple[str, str]:
    return ball.batter.name, ball.non_striker.name


def _start(problem: str, scan: InningsScan) -> Finding:
    return Finding(problem, next(iter(scan.innings.deliveries), None), scan.innings)


@_rule("both-ends", refused=True)
def _both_ends(_case: Case, scan: InningsScan) -> Iterator[Finding]:
    for _, ball in scan.pairs:
        if ball.batter == ball.non_striker != UNKNOWN_PLAYER:
            yield Finding(f"{ball.batter} is at both ends", ball)


@_rule("to-himself", refused=True)
def _to_himself(case: Case, scan: InningsScan) -> Iterator[Finding]:
    for player in sorted(scan.batters.keys() & scan.bowlers.keys()):
        if sum(player in squad for squad in case.match.players.values()) > 1:
            continue  # two players with the same name may face each other
        for ball in scan.innings.deliveries:
            if ball.bowler.name == player in _pair(ball):
                yield Finding(f"{player} bats and bowls on one ball", ball)
                break


@_rule("innings-twice", refused=True, of_innings=False)
def _twice(case: Case) -> Iterator[Finding]:
    by_figures: dict[tuple[int, int], InningsScan] = {}
    for scan in case.scans:
        balls = scan.innings.deliveries
        earlier = by_figures.setdefault((len(balls), scan.total), scan)
        if earlier is scan or len(balls) < scan.innings.balls_per_over:
            continue
        if list(map(_BALL_RECORD, balls)) == list(map(_BALL_RECORD, earlier.innings.deliveries)):
            yield _start(f"every ball is the same as in innings {earlier.innings.number}", scan)


@_rule("turns", refused=True, of_innings=False)
def _turns(case: Case) -> Iterator[Finding]:
    allowed = 1 if case.limited else 2
    times: Counter[str] = Counter()
    for scan in case.main:
        team = scan.innings.batting_team
        times[team] += 1
        if times[team] > allowed:
            turns = "once" if allowed == 1 else "twice"
            yield _start(f"{team} bats again, but a side may bat only {turns}", scan)
    for first, second in zip(case.super_overs[::2], case.super_overs[1::2], strict=False):
        team = second.innings.batting_team
        if first.innings.batting_team == team:
            yield _start(f"{team} bats in both super overs", second)


@_rule("both-sides", of_innings=False)
def _both_sides(case: Case) -> Iterator[Finding]:
    team_of: dict[str, str] = {}
    reported = set()
    for scan in case.scans:
        for team, players in scan.by_team():
            for player, ball in players.items():
                if player in case.both_sides or player in reported:
                    continue
                if team_of.setdefault(player, team) != team:
                    reported.add(player)
                    problem = f"{player} plays for both sides, or two players have this name"
                    yield Finding(problem, ball, scan.innings)


@_rule("squad", of_innings=False)
def _squads(case: Case) -> Iterator[Finding]:
    squads, reported = case.squads, set[str]()
    for scan in case.scans if squads else ():
        innings = scan.innings
        for team, players in scan.by_team():
            strangers = players.keys() - squads.get(team, players.keys()) - reported
            for player in sorted(strangers - case.respelt if strangers else ()):
                reported.add(player)
                problem = f"{player} is not in the squad of {team}"
                yield Finding(problem, players[player], innings, field=f"players.{team}")


@_rule("fielders")
def _fielders(case: Case, scan: InningsScan) -> Iterator[Finding]:
    for ball in scan.wicket_balls:
        for wicket in ball.wickets:
            kind, names = wicket.kind, wicket.fielders
            number = len(names) + (ball.index in scan.unnamed)
            allowed = _FIELDERS.get(kind, range(1))
            if kind in DISMISSALS and (
                number >= allowed.stop or (case.stated.exact and number < allowed.start)
            ):
                fielders = count(number, "fielder") if number else "no fielder"
                yield Finding(
                    f"{wicket.player_out} is out {kind}, but the file lists {fielders}", ball
                )
            for name in names:
                if problem := _cannot_field(case, scan, ball, kind, name):
                    yield Finding(problem, ball)


def _cannot_field(case: Case, scan: InningsScan, ball: Delivery, kind: str, name: str) -> str:
    batting = case.squads.get(scan.innings.batting_team, frozenset())
    fielding = case.squads.get(scan.innings.bowling_team, frozenset())
    if (kind == "caught and bowled") != (name == ball.bowler.name) and kind != "run out":
        # Tables without squads write a caught-and-bowled dismissal as "caught", with the bowler as
        # fielder.
        if name == ball.bowler.name and (kind == "stumped" or (kind == "caught" and fielding)):
            return f"{name} is the bowler, but is named as the fielder for a batter out {kind}"
        if kind == "caught and bowled":
            return (
                f"{name} is not the bowler, but takes the catch of a batter who is out caught and "
                "bowled"
            )
    if name in batting and name not in fielding:
        return f"{name} fields for the other side"
    if name in _pair(ball) and name not in fielding:
        return f"{name} bats and fields on one ball"
    if name in fielding and name in scan.substitutes and len(fielding) == _ELEVEN:
        return f"{name} fields as a substitute, but is in the eleven"
    if not fielding or name in fielding:
        return ""
    if name in case.officials:
        return f"{name} fields, but is an official"
    if case.stated.exact:
        return "" if name in scan.substitutes else f"{name} fields, but is in neither squad"
    registry = case.stated.registry
    if not registry or name in registry or name in case.respelt:
        return ""
    return f"{name} fields, but is neither in a squad nor in the registry"


@_rule("over-numbers")
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
            says = "continues after another over" if returns else f"comes after over {last}"
            yield Finding(f"over {number} {says}", over.first)
        last = number


@_rule("too-long")
def _too_long(case: Case, scan: InningsScan) -> Iterator[Finding]:
    limit = case.match.overs
    if scan.innings.super_over:
        if len(scan.overs) > 1:
            yield Finding("a super over has more than one over", scan.overs[1].first)
        elif scan.wickets > _SUPER_OVER_WICKETS:
            yield Finding(f"a super over has {scan.wickets} wickets")
    elif limit is not None and case.limited:
        later = next((over for over in scan.overs if over.number >= limit), None)
        if later is not None:
            problem = f"the innings has more than the {limit} overs that are allowed"
            yield Finding(problem, later.first, field="overs")


@_rule("over-length")
def _over_lengths(case: Case, scan: InningsScan) -> Iterator[Finding]:
    words, odd = scan.odd_overs([over for over, _ in scan.innings.miscounted])
    if odd and (case.stated.exact or not scan.may_be_miscounted(odd)):
        yield Finding(words, over=odd[0].number)


@_rule("bowlers")
def _bowlers(_case: Case, scan: InningsScan) -> Iterator[Finding]:
    last = None
    for over in scan.overs:
        if len(over.bowlers) > len(set(over.bowlers)):
            yield Finding(
                f"several bowlers alternate in over {over.number}: {', '.join(over.bowlers)}",
                over=over.number,
            )
        if last is not None and scan.innings.balls_per_over != BALLS_PER_OVER_OF_THE_HUNDRED:
            for bowler in over.bowlers:
                if bowler in last.bowlers and bowler != _UNKNOWN and over.number > last.number:
                    yield Finding(f"{bowler} bowls two overs in a row", over.first)
        last = over


@_rule("spell")
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
            yield Finding(
                f"{bowler} bowls {balls} balls, more than the {share} overs that are allowed"
            )


@_rule("out-again")
def _out_again(_case: Case, scan: InningsScan) -> Iterator[Finding]:
    balls, out = scan.innings.deliveries, set[str]()
    ends_of_pairs = {before.index for before, _ in scan.pairs if before is not None}
    for ball in scan.wicket_balls:
        for wicket in ball.wickets:
            player = wicket.player_out.name
            if player in out:
                yield Finding(f"{player} is out a second time", ball)
            if player == _UNKNOWN:
                continue
            later = scan.batters.get(player, ball)
            stays = ball.index not in ends_of_pairs and player in _pair(ball)
            if not wicket.counts:
                if stays and ball is not balls[-1]:
                    yield Finding(f"{player} stays at the crease after retiring", balls[ball.index])
                continue
            out.add(player)
            if later.index > ball.index:
                yield Finding(f"{player} bats after being out", later)
            elif stays and ball is not balls[-1]:
                yield Finding(f"{player} stays at the crease after being out", balls[ball.index])


@_rule("gone")
def _gone(_case: Case, scan: InningsScan) -> Iterator[Finding]:
    # An injured batter may return when a wicket falls, and many files do not mention the injury.
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
                yield Finding(f"{player} does not bat again, but was not out", ball)


@_rule("ends")
def _ends(case: Case, scan: InningsScan) -> Iterator[Finding]:
    if case.match.balls_per_over == BALLS_PER_OVER_OF_THE_HUNDRED:
        return  # one or two successive overs come from the same end
    for ball in scan.swapped_ends:
        problem = (
            f"{ball.batter} faces, but the balls before and after imply that "
            f"{ball.non_striker} should face"
        )
        yield Finding(problem, ball)


@_rule("wicket")
def _wickets(case: Case, scan: InningsScan) -> Iterator[Finding]:
    for ball in scan.wicket_balls:
        for problem in _impossible_wickets(scan, ball, case.match.date):
            yield Finding(problem, ball)
    if scan.wickets > ALL_OUT:
        yield Finding(f"has {scan.wickets} wickets")
    elif scan.wickets == ALL_OUT and scan.innings.deliveries[-1].wickets_before == ALL_OUT:
        yield Finding("continues after ten wickets", scan.innings.deliveries[-1])


def _impossible_wickets(
    scan: InningsScan, ball: Delivery, day: datetime.date | None
) -> Iterator[str]:
    credited, pair = 0, _pair(ball)
    for wicket in ball.wickets:
        kind, player = wicket.kind, wicket.player_out.name
        is_the_bowlers = kind not in NOT_THE_BOWLERS
        credited += is_the_bowlers
        if player not in pair:
            if kind not in _FROM_ANYWHERE and _UNKNOWN not in pair:
                yield f"{player} is out, but was not at the crease"
        elif is_the_bowlers and player != pair[0]:
            yield f"{player} is out {kind}, but did not face the ball"
        for extra, name, possible in _OFF_AN_EXTRA if ball.runs_extras else ():
            if extra in ball.extras and kind not in possible:
                yield f"{player} is out {kind} off a {name}"
        if kind == "timed out" and player in scan.batters:
            yield f"{player} is timed out, but bats"
        if kind == _HANDLED and day is not None and day >= _LAST_HANDLED:
            yield f"{player} is out {kind}, which has not been a dismissal since {_LAST_HANDLED}"
        if kind not in DISMISSALS:
            yield f"{player} is out {kind}, which is not a way to be out"
        elif is_the_bowlers and (ball.runs_batter or {"byes", "legbyes"} & ball.extras.keys()):
            yield f"{player} is out {kind}, but runs are scored"
    if credited > 1:
        yield f"the bowler takes {credited} wickets with one ball"
    elif sum(wicket.kind not in _FROM_ANYWHERE for wicket in ball.wickets) > 1:
        yield "two batters are out on one ball"


@_rule("free-hit")
def _free_hits(case: Case, scan: InningsScan) -> Iterator[Finding]:
    # In leagues where a no-ball counts two runs, some no-balls are not followed by a free hit.
    first_day = case.match.date
    if not case.limited or first_day is None or first_day < _FREE_HITS_SINCE:
        return
    for no_ball in scan.unusual_runs:
        if no_ball.extras.get("noballs") != 1:
            continue
        for ball in scan.innings.deliveries[no_ball.index :]:
            for wicket in ball.wickets:
                if wicket.kind not in NOT_THE_BOWLERS:
                    yield Finding(f"{wicket.player_out} is out {wicket.kind} on a free hit", ball)
            if "wides" not in ball.extras:
                break


@_rule("labels")
def _labels(_case: Case, scan: InningsScan) -> Iterator[Finding]:
    if scan.odd_labels:
        yield Finding(scan.odd_labels)


@_rule("reviews")
def _reviews(case: Case, scan: InningsScan) -> Iterator[Finding]:
    for ball, review in scan.claims["review"]:
        for problem in _wrong_review(case, scan, ball, review):
            yield Finding(problem, ball)


def _wrong_review(case: Case, scan: InningsScan, ball: Delivery, review: Any) -> Iterator[str]:
    facts = review if isinstance(review, dict) else {}
    by, batter, umpire, decision = map(facts.get, ("by", "batter", "umpire", "decision"))
    if not all(isinstance(text, str) for text in (by, batter or "", umpire or "", decision)):
        yield "a required field of the review is missing or is not text"
        return
    innings = scan.innings
    if by not in (innings.batting_team, innings.bowling_team):
        yield f"the review was requested by {by}, which is not a side of this match"
    if batter is not None and batter not in _pair(ball):
        yield f"the review concerns {batter}, who is not at the crease"
    if umpire is not None and case.umpires and umpire not in case.umpires:
        yield f"the review names {umpire}, who is not an umpire of the match"
    if decision not in _REVIEW_DECISIONS:
        yield (f"the decision of the review is {decision}, which the format does not define")
    elif review.get("type") in (None, "wicket") and decision != "technical failure":
        stands = (decision == "upheld") == (by == innings.bowling_team)
        out = any(wicket.kind not in NOT_THE_BOWLERS for wicket in ball.wickets)
        if stands != out:
            fell = "a wicket fell" if out else "no wicket fell"
            yield f"the review by {by} was {decision}, but {fell}"


@_rule("replacements")
def _replacements(case: Case, scan: InningsScan) -> Iterator[Finding]:
    for ball, replacements in scan.claims["replacements"]:
        for problem in _wrong_replacements(case, scan, ball, replacements):
            yield Finding(problem, ball)


def _wrong_replacements(
    case: Case, scan: InningsScan, ball: Delivery, replacements: object
) -> Iterator[str]:
    for kind, change in changes_of(replacements):
        name, out, team, role = map(change.get, ("in", "out", "team", "role"))
        if name == out:
            yield f"{name} replaces himself"
        if kind == "role":
            expected = {"bowler": (ball.bowler.name,), "batter": _pair(ball)}.get(role or "", ())
            if name not in expected:
                yield f"{name} comes in as {role}, but is not the {role} on this ball"
            continue
        if team not in (scan.innings.batting_team, scan.innings.bowling_team):
            yield f"{name} replaces a player of {team}, which is not a side of this match"
        squad = case.squads.get(team or "", frozenset((name, out)))
        for player in filter(None, (name, out)):
            if player not in squad:
                yield f"{player} takes part in a replacement, but is not in the squad of {team}"
        if out is not None and _plays_on(case, scan, ball, out):
            yield f"{out} was replaced, but continues to play"


def _plays_on(case: Case, scan: InningsScan, ball: Delivery, player: str) -> bool:
    later = case.scans[case.scans.index(scan) + 1 :]
    return any(player in after.batters or player in after.bowlers for after in later) or any(
        player in (*_pair(other), other.bowler.name)
        for other in scan.innings.deliveries[ball.index - 1 :]
    )


@_rule("runs")
def _runs(_case: Case, scan: InningsScan) -> Iterator[Finding]:
    for ball in scan.unusual_runs:
        runs = ball.runs_batter
        if runs > MAX_RUNS_OFF_THE_BAT:
            yield Finding(f"{runs} runs off the bat", ball)
        kinds = set(ball.extras) - {"penalty"}
        if "wides" in kinds and (runs or len(kinds) > 1):
            yield Finding("a wide has runs other than wides", ball)
        elif kinds & {"byes", "legbyes"} and (runs or {"byes", "legbyes"} <= kinds):
            yield Finding("byes are combined with other runs", ball)
        if ball.non_boundary and runs not in (4, 6):
            yield Finding(f"non_boundary is set for {count(runs, 'run')} off the bat", ball)
        if 0 < ball.extras.get("penalty", 5) < 5:
            yield Finding(f"{ball.extras['penalty']} penalty runs", ball)


@_rule("after-the-end", of_innings=False)
def _after_the_end(case: Case) -> Iterator[Finding]:
    chases = [*(case.main[1:] if case.decided else ()), *case.super_overs]
    for chase in (scan.innings for scan in chases):
        last = chase.deliveries[-1:]
        if chase.target is not None and any(ball.score_before >= chase.target for ball in last):
            yield Finding(
                f"continues after the target of {chase.target} was reached", last[0], chase
            )


@_rule("ended-early", of_innings=False)
def _ended_early(case: Case) -> Iterator[Finding]:
    if not case.decided:
        return
    first, second = case.main
    balls = second.innings.target_balls if case.length_known else None
    full = -(-(balls or 0) // first.innings.balls_per_over)
    if not case.length_known and first.overs:
        # Both sides could face at least as many overs as the side that batted second did.
        full = len(second.overs)
    for scan in case.main:
        innings = scan.innings
        won = scan is second and case.outcome.get("winner") == innings.batting_team
        out = sum(len(ball.wickets) for ball in scan.wicket_balls)
        if won or out >= _NEARLY_ALL_OUT or not scan.overs:
            continue
        if any(wicket.kind == "retired out" for wicket in innings.deliveries[-1].wickets):
            continue  # other batters may have retired too, and tables do not record that
        if scan.cut_short or len(scan.overs) < full:
            yield Finding(
                f"ends after {innings.overs_display} overs with "
                f"{count(scan.wickets, 'wicket')} down, but nothing in the file says why",
                innings.deliveries[-1],
                innings,
            )


BALL_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("batter", "non_striker"),
        ("both-ends", "to-himself", "both-sides", "squad", "gone", "out-again", "ends"),
    ),
    "bowler": ("to-himself", "both-sides", "squad", "bowlers", "spell"),
    "label": ("over-numbers", "over-length", "too-long", "labels"),
    "actual_delivery": ("labels",),
    **dict.fromkeys(("runs.batter", "runs.extras", "runs.total"), ("runs",)),
    **dict.fromkeys(("runs.non_boundary", "extras"), ("runs",)),
    "wickets.kind": ("wicket", "free-hit"),
    "wickets.player_out": ("wicket", "out-again"),
    "wickets.fielders": ("fielders",),
    "replacements": ("replacements",),
    "review": ("reviews",),
}
"""The kinds of doubt about each field of a ball."""

_ADDS_UP = frozenset({"label", "actual_delivery", "runs.extras", "runs.total"})
"""Fields that follow from other fields of the same over."""


def _ball_statements(case: Case, kinds: set[str]) -> Iterator[StatedField]:
    """Yield one statement about each field of the balls. ``kinds``: the kinds of all doubts."""
    balls = sum([len(innings.deliveries) for innings in case.match.innings])
    wickets = fielders = all_run = 0
    for scan in case.scans:
        for ball in scan.wicket_balls:
            wickets += len(ball.wickets)
            fielders += bool(ball.wickets[0].fielders)
        all_run += sum([ball.non_boundary for ball in scan.unusual_runs])
    counts = dict.fromkeys(BALL_FIELDS, balls) | {
        "actual_delivery": balls if case.stated.has_actual_delivery else 0,
        "runs.non_boundary": all_run,
        "wickets.kind": wickets,
        "wickets.player_out": wickets,
        "wickets.fielders": fielders,
        "replacements": case.claims("replacements"),
        "review": case.claims("review"),
    }
    confirmed = AGREES if case.squads or case.decided else UNWITNESSED
    for name, against in BALL_FIELDS.items():
        if number := counts[name]:
            status, derived = (DERIVED, number) if name in _ADDS_UP else (confirmed, None)
            if kinds and not kinds.isdisjoint(against):
                status = CONTRADICTS
            yield StatedField(f"deliveries.{name}", number, derived, status)


_FLAGS = frozenset({"toss.uncontested", "super_over", "declared", "forfeited"})
"""Fields whose only valid value is ``true``."""

TWICE: Final = "twice"
"""The kind of doubt about a field for which the file states two different values."""

_PARTS = frozenset({"players", "officials", "supersubs"})
"""JSON objects whose keys are names of teams or roles."""


_Field = tuple[str, str, str, Any]
"""The field's name, the pattern, the part of the name that matches ``*``, and the value.

If the pattern has no ``*``, the third item is the last key of the name.
"""


def _add_leaves(fields: list[_Field], prefix: str, pattern: str, part: str, node: Json) -> None:
    """Add the non-empty fields of a JSON object, and of the objects inside it, to ``fields``."""
    for key, value in node.items():
        if value is None or value == "":
            continue
        at = pattern + key
        if at in WITNESSES or not isinstance(value, dict):
            fields.append((prefix + key, at, part or key, value))
        elif key in _PARTS:
            at += ".*"
            fields += [(f"{prefix}{key}.{name}", at, name, each) for name, each in value.items()]
        else:
            _add_leaves(fields, f"{prefix}{key}.", f"{at}.", part, value)


def _stated_fields(case: Case) -> list[_Field]:
    stated, fields = case.stated, list[_Field]()
    _add_leaves(fields, "meta.", "meta.", "", stated.meta)
    _add_leaves(fields, "", "", "", stated.info)
    for number, innings in stated.innings.items():
        _add_leaves(fields, f"innings.{number}.", "innings.*.", str(number), innings)
    return fields


def _judge(case: Case, pattern: str, part: str, value: Any) -> tuple[str, Verdict]:
    """Return the kind of doubt for a contradiction, and the verdict on the value."""
    if pattern not in WITNESSES:
        return "", Verdict(UNWITNESSED)
    kind, check = WITNESSES[pattern]
    flag = pattern.removeprefix("innings.*.")
    try:
        answer = check(case, value, part)
        if flag in _FLAGS and value is not True:
            answer = f"{flag} is {value}, but must be true"
    except StopIteration:
        answer = "the file states a fact about an innings, but does not contain the innings"
    except (TypeError, ValueError, KeyError, AttributeError, IndexError):
        answer = f"{pattern.rpartition('.')[2]} does not have the required form"
    if isinstance(answer, str):
        answer = contradiction(answer)
    elif isinstance(answer, bool):
        answer = Verdict(AGREES if answer else UNWITNESSED)
    return kind, answer


def reconcile(case: Case) -> tuple[tuple[Doubt, ...], tuple[StatedField, ...]]:
    """Return the doubts about a match, and the status of every stated field.

    If the match is refused, the first doubt is the reason, and no status is returned.
    """
    doubts = doubts_of(case)
    if doubts and doubts[0].refused:
        return tuple(doubts), ()
    in_doubt = {doubt.field for doubt in doubts}
    statements: list[StatedField] = []
    problems: set[tuple[int | None, str]] = set()
    for field, pattern, part, value in _stated_fields(case):
        kind, (status, derived, problem, over) = _judge(case, pattern, part, value)
        if field in case.stated.second and status != CONTRADICTS:
            source, other = case.stated.second[field]
            status = AGREES
            if value != other:
                kind, status, derived = TWICE, CONTRADICTS, other
                first, second = (
                    ", ".join(map(str, each)) if isinstance(each, list | tuple) else str(each)
                    for each in (value, other)
                )
                problem = f"{field} is {first} in the file, but {second} in {source}"
        if problem:
            number = int(field.split(".")[1]) if field.startswith("innings.") else None
            if (number, problem) not in problems:
                problems.add((number, problem))
                doubts.append(Doubt(kind, problem, number, over, field=field))
        if field in in_doubt:
            status = CONTRADICTS
        statements.append(StatedField(field, value, derived, status))
    statements += _ball_statements(case, {doubt.kind for doubt in doubts})
    statements += _unstated(case)
    return tuple(doubts), tuple(statements)


def _unstated(case: Case) -> Iterator[StatedField]:
    """Yield the missing fields whose values follow from the balls."""
    if not case.stated.method_known:
        return
    no_rain = case.outcome.get("method") is None
    target = case.stated.innings.get(2, {}).get("target") or {}
    if case.has_two_sides and no_rain and target.get("runs") is None:
        yield StatedField("innings.2.target.runs", None, case.main[0].total + 1, DERIVED)
    play = case.play
    if play is not None and play.winner and not case.outcome:
        yield StatedField("outcome.winner", None, play.winner, DERIVED)
        for unit, value in play.by.items():
            yield StatedField(f"outcome.by.{unit}", None, value, DERIVED)
