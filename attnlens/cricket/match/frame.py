"""Rules about what frames the balls of a match: its dates, toss, target, end and result."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Final

from attnlens.cricket.match.sides import ALL_OUT, Case, Finding
from attnlens.words import count

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
    named = [("toss", toss.get("winner"))]
    named += [("match", match.outcome.get(key)) for key in ("winner", "eliminator", "bowl_out")]
    for what, name in named:
        if name is not None and teams and name not in teams:
            yield Finding(f"{name} won the {what} and did not play")
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
        known = case.stated.penalties_known
        caution = "" if known else "; penalty runs may be missing from this format"
        yield Finding(
            f"the stated result ({stated}) does not follow from the balls ({scores}); "
            f"both are told as the file has them{caution}"
        )
