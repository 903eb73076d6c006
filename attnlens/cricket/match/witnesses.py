"""Check what a file states about its match, such as the date, the officials and the result."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from itertools import pairwise
from typing import Any, Final

from attnlens.cricket.match.competition import (
    ALL_OUT,
    MENS_COMPETITIONS,
    ONE_DAY_TYPES,
    OVERS_BY_TYPE,
    TWENTY_OVER_TYPES,
    UNLIMITED_TYPES,
)
from attnlens.cricket.match.ledger import outcome_words
from attnlens.cricket.match.match import AGREES, DERIVED
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
from attnlens.errors import count

_NUMBERED_TYPES = frozenset({"T20", "ODI", "Test"})
"""Match types in which every international has a number. An IT20 is not an official T20I."""

_MAX_DAYS = {True: 3, False: 12}
"""A match may end this many days after it starts. The key is true if overs are limited."""

_FIRST_DAYS: Final = {
    "T20": datetime.date(2003, 6, 13),
    "IT20": datetime.date(2003, 6, 13),
    "ODI": datetime.date(1971, 1, 5),
}
"""The date of the first match of each type."""

_SEASON = re.compile(r"([0-9]{4})(?:/([0-9]{2,4}))?")
_SEASON_MONTHS = {False: range(1, 13), True: range(7, 20)}
"""Months from January of the season's first year. The key is true for a season of two years."""

_MIN_OVERS = 3
"""If the innings have fewer complete overs, the length of an over is not inferred."""

_SQUAD_SIZES = range(10, 15)
_IDS = re.compile(r"[0-9a-f]{8}(?: [0-9a-f]{8})*")
_OF_MEN = re.compile(r"\bMen\b")

RESULT: Final = "result"
"""The kind of doubt about a stated result that the balls contradict."""

_METHODS = RAIN_RULES | {"Awarded", "Lost fewer wickets", "1st innings score"}
_RESULTS = frozenset({"tie", "draw", "no result"})
_POWERPLAY_TYPES = frozenset({"mandatory", "batting", "fielding"})
_MAX_POWERPLAY_OVERS = {(20, 6): 6, (20, 5): 5}
"""Maps (overs for each side, balls in an over) to the largest number of powerplay overs."""

_LABEL = re.compile(r"([0-9]{1,3})\.([0-9]{1,2})")
_MIN_PENALTY, _MAX_PENALTY = 5, 30

WITNESSES: Final = Witnesses()


@WITNESSES.of("toss", "toss.uncontested")
@WITNESSES.of(
    "", "venue", "city", "event.match_number", "event.group", "event.stage", "event.sub_name"
)
def _never(_case: Case, _value: Any, _part: str) -> Answer:
    return False


@WITNESSES.of("file", "meta.data_version")
def _data_version(case: Case, value: Any, _part: str) -> Answer:
    stated = case.stated
    version = tuple(map(int, value.split(".")[:2]))
    if stated.actual_delivery_since is None or not any(i.deliveries for i in case.match.innings):
        return False
    if stated.has_actual_delivery and version < stated.actual_delivery_since:
        return f"the file states version {value}, but has actual_delivery"
    if stated.exact and not stated.has_actual_delivery and version == stated.actual_delivery_since:
        return f"the file states version {value}, but lacks actual_delivery"
    if stated.exact and version < (1, 1) and "uncontested" in case.match.toss:
        return f"the file states version {value}, but has toss.uncontested of version 1.1"
    return True


@WITNESSES.of("dates", "meta.created")
def _created(case: Case, value: Any, _part: str) -> Answer:
    created, last = datetime.date.fromisoformat(value), max(case.match.dates, default=None)
    if last is not None and created < last - datetime.timedelta(days=1):
        return f"the file was made on {created}, before the match was played on {last}"
    return f"the file was made on {created}, in the future" if created > _tomorrow() else False


@WITNESSES.of("file", "match_id")
def _match_id(case: Case, value: Any, _part: str) -> Answer:
    return compared(value, case.match.match_id, f"the info file belongs to match {value}", AGREES)


@WITNESSES.of("missing", "missing")
def _missing(case: Case, value: Any, _part: str) -> Answer:
    present = {
        "player_of_match": case.stated.info.get("player_of_match"),
        "umpires": case.umpires,
        "reviews": case.claims("review"),
    }
    fields = [name for name in value if isinstance(name, str) and name in present]
    wrong = [name for name in fields if present[name]]
    return f"the file lists {joined(wrong)} as missing, but has them" if wrong else bool(fields)


@WITNESSES.of("type", "match_type")
def _match_type(case: Case, value: Any, _part: str) -> Answer:
    if value not in UNLIMITED_TYPES | OVERS_BY_TYPE.keys():
        return f"{value} is not a type of match in Cricsheet's format"
    info, team_type = case.stated.info, case.match.team_type
    if "match_type_number" in info and value not in _NUMBERED_TYPES:
        return f"the type is {value}, but matches of this type have no match_type_number"
    if team_type == "club" and value in ("IT20", "ODI", "Test"):
        return f"the type is {value}, which is for internationals, but the teams are clubs"
    if team_type == "international" and value == "MDM":
        return "the type is MDM, but the teams are internationals, so the match is a Test"
    has_number = team_type == "international" and value in _NUMBERED_TYPES
    if has_number and case.stated.names_fielders and "match_type_number" not in info:
        return f"the match is an international {value}, but the file gives no match_type_number"
    return bool(team_type or "overs" in info)


@WITNESSES.of("type", "match_type_number")
def _type_number(case: Case, value: Any, _part: str) -> Answer:
    if type(value) is not int or value < 1:
        return f"match_type_number is {value}, but must be a whole number from 1"
    if case.match.team_type == "club":
        return f"match_type_number is {value}, but club matches have no number"
    return False


@WITNESSES.of("type", "team_type")
def _team_type(case: Case, value: Any, _part: str) -> Answer:
    if value not in ("international", "club"):
        return f"team_type is {value}, but must be international or club"
    event = str(case.match.event.get("name", ""))
    derived = "club" if event in MENS_COMPETITIONS else None
    if " tour of " in event:
        derived = "international"
    if derived and derived != value:
        return contradiction(f"the teams are of type {value}, but the event is {event}", derived)
    stated = case.match.match_type in ("IT20", "ODI", "Test")
    confirmed = derived or stated or "match_type_number" in case.stated.info
    return bool(confirmed)


@WITNESSES.of("type", "gender")
def _gender(case: Case, value: Any, _part: str) -> Answer:
    if value not in ("male", "female"):
        return f"gender is {value}, but must be male or female"
    event = str(case.match.event.get("name", ""))
    derived = "female" if "women" in event.lower() else None
    men = event in MENS_COMPETITIONS or event.startswith("ICC ") or " tour of " in event
    if derived is None and (men or _OF_MEN.search(event)):
        derived = "male"
    if derived is None:
        return False
    return compared(value, derived, f"gender is {value}, but the event is {event}", AGREES)


@WITNESSES.of("overs", "overs")
def _overs(case: Case, value: Any, _part: str) -> Answer:
    match_type = case.match.match_type
    if match_type in UNLIMITED_TYPES:
        return f"the file states {value} overs a side, but a {match_type} has no limit of overs"
    if match_type in TWENTY_OVER_TYPES and value != 20:
        # A known error in Cricsheet's files, which the readers correct and note.
        slip = value == 50
        problem = f"the file states {value} overs a side, but a {match_type} has 20"
        return contradiction("" if slip else problem, 20)
    if match_type in ONE_DAY_TYPES and not 20 < value <= 60:
        return contradiction(f"the file states {value} overs a side, but a {match_type} has 50", 50)
    longest = max((len(scan.overs) for scan in case.main), default=0)
    if longest == value and any(not scan.cut_short for scan in case.main):
        return Verdict(DERIVED, longest)
    target = case.stated.innings.get(2, {}).get("target", {})
    return str(target.get("overs")) == str(value)


@WITNESSES.of("overs", "balls_per_over")
def _balls_per_over(case: Case, value: Any, _part: str) -> Answer:
    lengths = [over.legal for scan in case.scans for over in scan.overs[:-1]]
    if len(lengths) < _MIN_OVERS:
        return False
    usual = max(set(lengths), key=lengths.count)
    return compared(value, usual, f"the file states {value} balls an over, but most have {usual}")


def _tomorrow() -> datetime.date:
    return datetime.date.today() + datetime.timedelta(days=1)  # in other time zones


@WITNESSES.of("dates", "dates")
def _dates(case: Case, _value: Any, _part: str) -> Answer:
    match, dates = case.match, case.match.dates
    if not dates:
        return False
    first, last = dates[0], dates[-1]
    if list(dates) != sorted(set(dates)):
        return "the dates are not in order, or one date is repeated"
    if (last - first).days > _MAX_DAYS[case.limited]:
        return f"the match lasts from {first} to {last}, which is too long"
    if last > _tomorrow():
        return f"the date of the match is {last}, which is in the future"
    first_ever = _FIRST_DAYS.get(match.match_type or "", first)
    if first < first_ever:
        return f"the date is {first}, but the first {match.match_type} was played on {first_ever}"
    return bool(match.season)


@WITNESSES.of("dates", "season")
def _season(case: Case, _value: Any, _part: str) -> Answer:
    match = case.match
    season = _SEASON.fullmatch(match.season or "")
    if season is None:
        return f"the season is {match.season}, which is neither one year nor two years"
    year, second = int(season[1]), season[2]
    if second is not None and int(second) % 100 != (year + 1) % 100:
        return f"the season is {match.season}, but the second year must follow the first year"
    if not match.dates:
        return False
    first = match.dates[0]
    month = 12 * (first.year - year) + first.month
    if month not in _SEASON_MONTHS[second is not None] and case.limited:
        return f"the date of the match is {first}, but the season is {match.season}"
    return True


@WITNESSES.of("event", "event.name")
def _event(case: Case, value: Any, _part: str) -> Answer:
    if not isinstance(value, str) or " tour of " not in value:
        return False
    if any(team.removesuffix(" Women") in value for team in case.match.teams):
        return True
    return f"the event is {value}, but {' and '.join(case.match.teams)} played"


@WITNESSES.of("teams", "teams")
def _teams(case: Case, value: Any, _part: str) -> Answer:
    if len(set(value)) != 2 or len(value) != 2:
        return f"the teams are {', '.join(value)}, but a match has two teams"
    squads = case.stated.info.get("players", {})
    batting = {innings.batting_team for innings in case.match.innings}
    if strangers := (set(squads) | batting) - set(value):
        return f"the teams are {', '.join(value)}, but {joined(strangers)} also appears in the file"
    return bool(squads or len(batting) == 2)


@WITNESSES.of("squad", "players.*")
def _squad(case: Case, value: Any, team: str) -> Answer:
    names = list(value)
    if case.match.teams and team not in case.match.teams:
        return f"{team} has a squad, but did not play"
    if len(set(names)) != len(names):
        twice = {name for name in names if names.count(name) > 1}
        return f"{joined(twice)} is listed twice in the squad of {team}"
    if len(names) not in _SQUAD_SIZES:
        return f"the squad of {team} has {count(len(names), 'player')}"
    for side, squad in case.squads.items():
        both = squad.intersection(names) - case.both_sides if side != team else ()
        if both:
            return f"{joined(both)} is in both squads"
    return bool(case.players_of.get(team))


@WITNESSES.of("officials", "officials.*")
def _officials(case: Case, value: Any, role: str) -> Answer:
    names = list(value)
    if playing := case.everybody.intersection(names):
        return f"{joined(playing)} is an official, but plays"
    twice = [name for name in names if case.officials.count(name) > 1]
    if twice:
        return f"{joined(set(twice))} is listed twice as an official"
    if role == "umpires" and len(names) > 3:
        return f"there are {len(names)} umpires"
    registry = case.stated.registry
    if not registry:
        return False
    if strangers := set(names) - registry.keys():
        return f"{joined(strangers)} is an official, but is not in the registry"
    return True


@WITNESSES.of("registry", "registry.people")
def _registry(case: Case, value: Any, _part: str) -> Answer:
    if not value:
        return False
    if not _IDS.fullmatch(" ".join(value.values())):
        wrong = [name for name, identity in value.items() if not _IDS.fullmatch(identity)]
        return f"the id of {joined(wrong)} is not eight hexadecimal digits"
    if len(set(value.values())) < len(value):
        shared = Counter(value.values()).most_common(1)[0][0]
        names = [name for name, identity in value.items() if identity == shared]
        return f"{joined(names)} have the same id in the registry"
    strangers = case.everybody.difference(value)
    if not case.squads:
        return False
    strangers = strangers.difference(case.respelt) if strangers else strangers
    if strangers:
        return f"{joined(strangers)} takes part, but is not in the registry"
    idle = set(value).difference(case.everybody, case.officials)
    # In an unfinished match, a player who has not appeared yet may still field.
    if idle and case.stated.names_fielders and case.has_two_sides and case.outcome:
        return f"{joined(idle)} is in the registry, but appears nowhere else in the file"
    return True


@WITNESSES.of("squad", "player_of_match")
def _player_of_match(case: Case, value: Any, _part: str) -> Answer:
    if not case.squads:
        return False
    if strangers := set(value) - case.everybody:
        return f"{joined(strangers)} is player of the match, but is in neither squad"
    if case.outcome.get("result") == "no result":
        return f"{joined(value)} is player of the match, but the match has no result"
    return len(value) <= 2 or f"{len(value)} players are named as player of the match"


@WITNESSES.of("squad", "supersubs.*")
def _supersubs(case: Case, value: Any, team: str) -> Answer:
    if team not in case.match.teams:
        return f"{team} has a supersub, but did not play"
    if not case.squads:
        return False
    if value not in case.squads.get(team, ()):
        return f"{value} is the supersub of {team}, but is not in the squad"
    return True


@WITNESSES.of("result", "bowl_out")
def _bowl_out_balls(case: Case, value: Any, _part: str) -> Answer:
    if "bowl_out" not in case.outcome:
        return "the file has a bowl-out, but does not name the winner of the bowl-out"
    return bool([attempt["outcome"] for attempt in value])


@WITNESSES.of("toss", "toss.winner", "toss.decision")
def _toss(case: Case, value: Any, _part: str) -> Answer:
    match, toss = case.match, case.match.toss
    winner, decision = toss.get("winner"), toss.get("decision")
    if value == decision and decision not in ("bat", "field"):
        return f"the toss decision is {decision}, but must be bat or field"
    if winner is not None and match.teams and winner not in match.teams:
        return f"{winner} won the toss, but did not play"
    if case.stated.names_fielders and (winner is None or decision is None):
        return "the winner or the decision of the toss is missing"
    if not match.innings or winner not in match.teams or decision is None:
        return False
    bats = match.innings[0].batting_team
    if decision == ("field" if bats == winner else "bat"):
        return f"{winner} won the toss and chose to {decision}, but {bats} bats first"
    return True


def _scores(case: Case) -> str:
    return ", ".join(
        f"{scan.innings.batting_team} {scan.total}/{scan.wickets}" for scan in case.main
    )


def _by_balls(case: Case, value: Any, derived: Any) -> Verdict:
    if value == derived:
        return Verdict(DERIVED, value)
    caution = "" if case.stated.exact else "; this format may lack penalty runs"
    stated, scores = outcome_words(case.match.outcome), _scores(case)
    return contradiction(
        f"the stated result, {stated}, does not follow from the balls ({scores}){caution}", derived
    )


def _played_out(case: Case) -> str | None:
    """Return a problem if the stated result requires two innings, but the file contains fewer."""
    match, outcome = case.match, case.outcome
    if outcome.get("method") not in (None, *RAIN_RULES):
        return None
    batted = [scan for scan in case.main if scan.overs]
    if case.limited and len(batted) < 2:
        missing = "a second innings" if batted else "an innings"
        stated = outcome_words(match.outcome)
        return f"the stated result is {stated}, but the balls do not show {missing}"
    return None


@WITNESSES.of(RESULT, "outcome.winner")
def _winner(case: Case, value: Any, _part: str) -> Answer:
    match, outcome = case.match, case.outcome
    if match.teams and value not in match.teams:
        return f"{value} won the match, but did not play"
    for key in ("result", "eliminator", "bowl_out"):
        if key in outcome:
            return f"the file states the winner {value}, but also the {key} {outcome[key]}"
    if problem := _played_out(case):
        return problem
    if case.super_overs:
        return f"{value} won, but there is a super over, which is played only after a tie"
    if not case.limited:
        return _long_match(case, value)
    play, by = case.play, outcome.get("by", {})
    if play is None:
        return False
    if _ahead_of_rain(play, value, outcome):
        return _is_final(play) and _by_balls(case, value, play.winner or value)
    if play.winner is not None:
        return _by_balls(case, value, play.winner)
    if play.result is not None or play.second.total == play.to_beat:
        return _by_balls(case, value, None)
    if outcome.get("method") is None:
        # The chase ended early, so only the side that batted first can have won.
        won = by and value == play.first.innings.batting_team
        return False if won else _by_balls(case, value, None)
    return "wickets" in by and _by_balls(case, value, None)


def _ahead_of_rain(play: Play, winner: str, outcome: Any) -> bool:
    """Return whether the chasing side won by runs when rain ended play."""
    chase = play.second
    return bool(
        outcome.get("method") in RAIN_RULES
        and "runs" in outcome.get("by", {})
        and winner == chase.innings.batting_team
        and chase.wickets < ALL_OUT
    )


def _is_final(play: Play) -> bool:
    """Return whether the target decides the chase. After rain, some files state the full target."""
    return play.second.total > play.to_beat or play.full


def _long_match(case: Case, value: Any) -> Answer:
    if len(case.totals) < 2 or case.outcome.get("method") is not None:
        return False
    (ahead, most), (_, fewer), *_ = case.totals.most_common()
    return _by_balls(case, value, ahead if most > fewer else None)


@WITNESSES.of(RESULT, "outcome.by.runs", "outcome.by.wickets", "outcome.by.innings")
def _margin(case: Case, value: Any, unit: str) -> Answer:
    outcome = case.outcome
    by = outcome.get("by", {})
    if "winner" not in outcome:
        return f"the file states a margin of {value} {unit}, but no winner"
    if outcome.get("method") == "Awarded":
        return f"the match was awarded, but the file states a margin of {value} {unit}"
    if not case.limited:
        return _long_margin(case, value, unit)
    if len(by) > 1 or unit == "innings":
        return f"the file states a margin of {' and '.join(by)} in a match of one innings a side"
    if (unit == "wickets" and not 1 <= value <= ALL_OUT) or value < 1:
        return f"the file states an impossible margin of {value} {unit}"
    play = case.play
    if play is None:
        return _played_out(case) or False
    if _ahead_of_rain(play, outcome["winner"], outcome):
        return _is_final(play) and _by_balls(case, value, play.second.total - play.to_beat)
    if play.by:
        return _by_balls(case, value, play.by.get(unit))
    short_by = None if unit == "wickets" else play.to_beat - play.second.total
    return _by_balls(case, value, short_by)


def _long_margin(case: Case, value: Any, unit: str) -> Answer:
    totals, outcome = case.totals, case.outcome
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
        return f"the file states the result {value}, which the format does not define"
    if case.limited and value == "draw":
        return "the file states a draw, which is impossible in a match of limited overs"
    if value == "tie":
        return _tie(case, value)
    play = case.play
    if value == "no result" and case.super_overs:
        return "the stated result is 'no result', but there is a super over"
    if value != "no result" or play is None or play.result is None:
        return False
    shows = f"{play.winner} won" if play.winner else "a tie"
    return contradiction(
        "the stated result is 'no result', but the balls show that the match ended: "
        f"{shows} ({_scores(case)})",
        shows,
    )


def _tie(case: Case, value: Any) -> Answer:
    if problem := _played_out(case):
        return problem
    if not case.limited:
        totals = set(case.totals.values())
        return compared(
            len(totals), 1, f"the file states a tie, but the totals differ ({_scores(case)})"
        )
    play = case.play
    if play is None:
        return False
    if play.second.total != play.to_beat:
        return _by_balls(case, value, play.winner)
    decider = _super_over_winner(case)
    if decider and not {"eliminator", "bowl_out"} & case.outcome.keys():
        return contradiction(
            f"{decider} won the super over, but the file states only a tie", decider
        )
    return Verdict(DERIVED, value)


def _super_over_winner(case: Case) -> str | None:
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
        return f"{value} won {means}, but did not play"
    if case.outcome.get("result") != "tie":
        return f"{value} won {means}, but the match was not a tie"
    if key == "bowl_out":
        return f"{value} won {means}, but there is a super over" if case.super_overs else False
    if len(case.super_overs) < 2:
        return f"{value} won {means}, but the balls do not show it" if case.stated.exact else False
    derived = _super_over_winner(case)
    if derived is None:
        return False  # the number of boundaries decided the match
    return compared(
        value, derived, f"the file says {value} won {means}, but the balls show that {derived} won"
    )


@WITNESSES.of(RESULT, "outcome.method")
def _method(case: Case, value: Any, _part: str) -> Answer:
    if value not in _METHODS:
        return f"the file states the method {value}, which the format does not define"
    if value not in RAIN_RULES or not case.has_two_sides:
        return False
    first, second = case.main
    overs, target = case.match.overs, case.target
    full = (overs or 0) * second.innings.balls_per_over
    if target != first.total + 1 or not full or second.innings.target_balls != full:
        return target is not None
    return f"the file states the method {value}, but the target and the overs were not changed"


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
        return compared(
            value,
            first.total + 1,
            f"the target of the super over is {value}, not one more than the first side's score",
        )
    if number != "2" or not case.has_two_sides:
        return False
    if scan.innings.set_later and "wickets" in case.outcome.get("by", {}):
        return f"the chase continues after the target of {value} was reached"
    made = case.main[0].total
    if value == made + 1:
        return Verdict(DERIVED, value)
    outcome = case.outcome
    if outcome.get("method") is not None or not ("winner" in outcome or "tie" in outcome.values()):
        return False
    return contradiction(
        f"the stated target is {value}, but the total of innings 1 is {made}; the file does not "
        "say why the target was revised",
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
    usual, words = innings.balls_per_over, f"the target must be reached in {value} overs"
    balls = innings.set_later.get("balls", innings.target_balls) or 0
    full = (match.overs or 0) * usual
    if full and balls > full:
        return contradiction(f"{words}, but a side has {match.overs} overs", match.overs)
    if len(scan.overs) * usual > balls + usual - 1 and not innings.set_later:
        return contradiction(f"{words}, but the chase has {len(scan.overs)} overs", match.overs)
    outcome = case.outcome
    settled = "winner" in outcome or outcome.get("result") == "tie"
    if not full or not settled or outcome.get("method") is not None:
        return False
    first = case.main[0]
    bowled = len(first.overs) * usual
    if balls in (full, bowled) or (first.wickets >= ALL_OUT and bowled < balls):
        return True
    first_had = f"but the first side had {len(first.overs)}, and no method is stated"
    return contradiction(f"{words}, {first_had}", match.overs if bowled > balls else None)


@WITNESSES.of("powerplays", "innings.*.powerplays")
def _powerplays(case: Case, value: Any, number: str) -> Answer:
    scan = _scan_of(case, number)
    innings = scan.innings
    if not scan.overs:
        return False
    last = scan.overs[-1].number
    lengths = {over.number: over.length for over in reversed(scan.overs)}
    spans = []
    for powerplay in value:
        kind, start, end = powerplay["type"], powerplay["from"], powerplay["to"]
        if kind not in _POWERPLAY_TYPES:
            return f"a powerplay has the type {kind}, which the format does not define"
        begin, stop = _LABEL.fullmatch(str(start)), _LABEL.fullmatch(str(end))
        if begin is None or stop is None:
            return f"a powerplay lasts from {start} to {end}, which are not labels of balls"
        first_over, first_ball = int(begin[1]), int(begin[2])
        over, ball = int(stop[1]), int(stop[2])
        length = lengths.get(over, 0)
        if ball == 1 and length == 10:
            ball = 10  # the label 5.10, which number parsers read as 5.1
        span = f"a powerplay lasts from ball {start} to ball {end}"
        if (first_over, first_ball) > (over, ball):
            return contradiction(f"{span}, but the last ball comes before the first", over=over)
        if first_ball != 1:
            return contradiction(
                f"{span}, but does not begin at the start of an over", over=first_over
            )
        if over < last and (ball > length or innings.balls_per_over <= ball < length):
            problem = f"{span}, but over {over} ends with ball {over}.{length}"
            return contradiction(problem, over=over)
        limit = (case.match.overs or over + 1) if case.limited else over + 1
        if over >= limit or first_over > last:
            return contradiction(f"{span}, but the innings has {last + 1} overs", over=over)
        spans.append((first_over, over))
    spans.sort()
    allowed = _MAX_POWERPLAY_OVERS.get((case.match.overs or 0, innings.balls_per_over))
    overs = max((over + 1 - first_over for first_over, over in spans), default=0)
    if allowed is not None and overs > allowed:
        return f"a powerplay has {overs} overs, more than the {allowed} allowed"
    if any(later[0] <= earlier[1] for earlier, later in pairwise(spans)):
        return "two powerplays overlap"
    if case.limited and not innings.super_over and spans and spans[0][0] > 1:
        return "no powerplay begins at the start of the innings"
    return True


@WITNESSES.of("miscounted", "innings.*.miscounted_overs")
def _miscounted(case: Case, value: Any, number: str) -> Answer:
    scan = _scan_of(case, number)
    legal = {over.number: over.legal for over in scan.overs}
    umpires = case.umpires
    for over, facts in value.items():
        balls, umpire, bowled = int(facts["balls"]), facts.get("umpire"), legal.get(int(over))
        if bowled is None:
            return f"over {over} was miscounted, but the innings has no such over"
        if balls != bowled:
            problem = (
                f"the file says that over {over} was miscounted and has {balls} balls, but the "
                f"over has {bowled}"
            )
            return contradiction(problem, bowled, int(over))
        if balls == scan.innings.balls_per_over:
            return contradiction(
                f"over {over} was miscounted, but has the usual {balls} balls", over=int(over)
            )
        if umpire is not None and umpires and umpire not in umpires:
            return contradiction(
                f"{umpire} miscounted over {over}, but is not an umpire of the match",
                over=int(over),
            )
    return Verdict(DERIVED, {str(over): legal[int(over)] for over in value})


@WITNESSES.of("innings", "innings.*.super_over")
def _super_over(case: Case, _value: Any, number: str) -> Answer:
    if int(number) < 3:
        return "the innings is a super over, which can only follow two innings"
    totals = {scan.total for scan in case.main}
    if not case.limited or (len(totals) != 1 and case.outcome.get("method") is None):
        return f"the innings is a super over, but the match was not a tie ({_scores(case)})"
    before = [scan.total for scan in case.super_overs[: (int(number) - 3) // 2 * 2]]
    if any(first != second for first, second in zip(before[::2], before[1::2], strict=False)):
        return "the innings is a super over, but the previous super over decided the match"
    return True


@WITNESSES.of("innings", "innings.*.absent_hurt")
def _absent(case: Case, value: Any, number: str) -> Answer:
    scan = _scan_of(case, number)
    team = scan.innings.batting_team
    if batted := set(value) & scan.batters.keys():
        return f"{joined(batted)} was absent hurt, but bats"
    if strangers := set(value) - case.squads.get(team, frozenset(value)):
        return f"{joined(strangers)} was absent hurt, but is not in the squad of {team}"
    gone = sum(len(ball.wickets) for ball in scan.wicket_balls)
    if gone + len(value) < ALL_OUT - 1:
        return f"{joined(value)} was absent hurt, but only {gone} batters were out"
    return bool(case.squads)


@WITNESSES.of("innings", "innings.*.penalty_runs.pre", "innings.*.penalty_runs.post")
def _penalty_runs(case: Case, value: Any, _part: str) -> Answer:
    if value and not _MIN_PENALTY <= value <= _MAX_PENALTY:
        return f"{value} penalty runs are awarded, but a penalty is 5 runs"
    return bool(case.decided and case.play is not None)


@WITNESSES.of("innings", "innings.*.declared")
def _declared(case: Case, _value: Any, _number: str) -> Answer:
    return "the innings was declared in a match of limited overs" if case.limited else False


@WITNESSES.of("innings", "innings.*.forfeited")
def _forfeited(case: Case, _value: Any, number: str) -> Answer:
    return "the innings was forfeited, but has balls" if _scan_of(case, number).overs else True


@WITNESSES.of("totals", "innings.*.total")
def _table_score(case: Case, value: Any, number: str) -> Answer:
    """Check a total such as ``165/7`` in a separate table of results."""
    scan = _scan_of(case, number)
    derived = f"{scan.total}/{scan.wickets}"
    return compared(
        value,
        derived,
        f"the balls add up to {derived}, but the table of results says {value}, so "
        "balls or runs are missing or counted twice in the file",
    )
