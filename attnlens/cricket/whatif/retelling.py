"""A past ball told with another outcome, and what follows from it.

The score, wickets and legal balls before every later ball follow, and who faces the ball after it.
All else that was recorded since stays: `disturbs` says where that could not have been.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.match.match import Delivery, Facts, Innings, Match, Player, Wicket
from attnlens.cricket.match.naming import find_ball, innings_numbered
from attnlens.cricket.match.next_ball import changed_ends, why_over
from attnlens.cricket.match.outcomes import OUTCOMES, classify
from attnlens.cricket.predictor.tensors import free_hits
from attnlens.cricket.whatif.question import LAST
from attnlens.errors import InputError

PLAIN: Final[dict[str, tuple[int, dict[str, int]]]] = {
    **{str(runs): (runs, {}) for runs in range(7)},
    "W": (0, {}),
    "wd": (0, {"wides": 1}),
    "nb": (0, {"noballs": 1}),
    "bye": (0, {"legbyes": 1}),
}
"""The plainest ball of each outcome: runs off the bat, and extras. A four and a six go to the
rope, a wicket is the striker's and costs no run, a wide and a no-ball cost one run, and a bye
is one leg bye."""


@dataclass(frozen=True, slots=True)
class Retold:
    """A past ball, as it was and as it is told now; the same where nothing changes."""

    before: Delivery
    after: Delivery


def retold_balls(
    match: Match, number: int, index: int, asked: Sequence[tuple[str, str]]
) -> list[Retold]:
    """The balls that are told otherwise, in the order of the innings.

    Args:
        number, index: the ball asked about, which has to be in the match.
        asked: pairs of a ball's name (as `find_ball` reads it, or ``last`` for the ball
            before the one asked about) and an outcome.

    Raises:
        InputError: no such ball or outcome, or a ball that was not bowled before the one asked
            about.
    """
    innings = innings_numbered(match, number)
    current = innings.deliveries[index - 1]
    chosen: dict[int, str] = {}
    for name, outcome in asked:
        place = _place(match, innings, current, name)
        wanted = _outcome(outcome, name)
        if chosen.setdefault(place, wanted) != wanted:
            raise InputError(
                f"ball {place} is changed to {chosen[place]} and to {wanted}",
                remedy="change a ball once",
            )
    free = free_hits(innings.deliveries)
    balls = [innings.deliveries[place - 1] for place in sorted(chosen)]
    return [
        Retold(ball, retold(ball, chosen[ball.index], free_hit=free[ball.index - 1]))
        for ball in balls
    ]


def _place(match: Match, innings: Innings, current: Delivery, name: str) -> int:
    if name.strip().lower() == LAST:
        if current.index == 1:
            raise BallNotFoundError(
                f"no ball was bowled before the first of innings {innings.number}",
                remedy="ask about a later ball, or leave the change out",
            )
        return current.index - 1
    reference = find_ball(match, name, None if ":" in name else innings.number)
    if reference.innings != innings.number:
        raise InputError(
            f"{name} is in innings {reference.innings}, and the ball asked about in innings "
            f"{innings.number}",
            remedy="change balls of the same innings; the target is what is chased",
        )
    if reference.index >= current.index:
        told = "is the ball asked about" if reference.index == current.index else "comes after it"
        raise InputError(
            f"ball {name} {told} (delivery {current.index}, label {current.label})",
            remedy="change a ball that was bowled before it",
        )
    return reference.index


def _outcome(written: str, name: str) -> str:
    known = {outcome.lower(): outcome for outcome in OUTCOMES}
    found = known.get(written.strip().lower())
    if found is None:
        raise InputError(
            f"{written!r} is no outcome for ball {name}", remedy=f"use one of {' '.join(OUTCOMES)}"
        )
    return found


def retold(ball: Delivery, outcome: str, *, free_hit: bool = False) -> Delivery:
    """The ball with an outcome in its plainest form; the ball itself where it had that one.

    Penalty runs and whoever retired on the ball stay. The score before it is left as it is.

    Args:
        free_hit: on a free hit a batter can only be run out.
    """
    if ball.outcome == outcome:
        return ball
    runs, extras = PLAIN[outcome]
    if "penalty" in ball.extras:
        extras = {**extras, "penalty": ball.extras["penalty"]}
    wickets = tuple(wicket for wicket in ball.wickets if not wicket.counts)
    if outcome == "W":
        wickets = (*wickets, Wicket("run out" if free_hit else "bowled", ball.batter))
    extra = sum(extras.values())
    return ball._replace(
        is_legal=outcome not in ("wd", "nb"),
        runs_batter=runs,
        runs_extras=extra,
        runs_total=runs + extra,
        extras=Facts(extras),
        wickets=wickets,
        outcome=classify(
            runs_batter=runs,
            wides=extras.get("wides", 0),
            noballs=extras.get("noballs", 0),
            byes=extras.get("byes", 0),
            legbyes=extras.get("legbyes", 0),
            counted_wicket=outcome == "W",
        ),
        non_boundary=False,
    )


def disturbs(ball: Retold, current: Delivery) -> bool:
    """Whether what was recorded after a ball could not have been, had it gone as it is told now.

    Other batters would have faced the balls since, or an over would have had another number of
    balls. Of the last ball only the ball asked about follows, and who faces that is worked out.
    """
    was, now = ball.before, ball.after
    if was.is_legal != now.is_legal and was.over != current.over:
        return True
    moved = changed_ends(was) != changed_ends(now) or (was.outcome == "W") != (now.outcome == "W")
    return moved and was.index < current.index - 1


def scored_again(
    deliveries: Sequence[Delivery], told: Mapping[int, Delivery]
) -> tuple[Delivery, ...]:
    """The deliveries as ``told`` has them, each with the scoreboard before it as it follows."""
    runs, wickets, legal, in_over = 0, 0, 0, 0
    over, found = -1, []
    for ball in deliveries:
        if ball.over != over:
            over, in_over = ball.over, 0
        new = told.get(ball.index, ball)
        found.append(
            new._replace(
                score_before=ball.score_before + runs,
                wickets_before=ball.wickets_before + wickets,
                legal_balls_before=ball.legal_balls_before + legal,
                actual_delivery=_shifted(ball.actual_delivery, in_over),
            )
        )
        runs += new.runs_total - ball.runs_total
        wickets += sum(w.counts for w in new.wickets) - sum(w.counts for w in ball.wickets)
        legal += new.is_legal - ball.is_legal
        in_over += new.is_legal - ball.is_legal
    return tuple(found)


def _shifted(actual: str | None, balls: int) -> str | None:
    if actual is None or not balls:
        return actual
    over, _, place = actual.partition(".")
    return f"{over}.{int(place) + balls}"


@dataclass(frozen=True, slots=True)
class Crease:
    """Who faces the ball asked about, and who stands at the other end.

    ``None`` stands for a new batter; ``out`` is who made room for them.
    """

    striker: Player | None
    other: Player | None
    out: Player | None = None


def crease_after(current: Delivery, told: Sequence[Retold]) -> Crease:
    """Who is in for the ball asked about, as it follows from a change of the ball before it."""
    last = next((one for one in told if one.before.index == current.index - 1), None)
    if last is None or last.before is last.after:
        return Crease(current.batter, current.non_striker)
    ball, over_ended = last.after, current.over != last.after.over
    if ball.outcome == "W":
        # No run was made: the new batter is where the other one was.
        stays, newcomer = ball.non_striker, None
        ends = (stays, newcomer) if over_ended else (newcomer, stays)
        return Crease(striker=ends[0], other=ends[1], out=ball.batter)
    if last.before.outcome == "W":
        swapped = changed_ends(ball) != over_ended
        pair = (ball.non_striker, ball.batter) if swapped else (ball.batter, ball.non_striker)
        return Crease(*pair)
    if changed_ends(ball) != changed_ends(last.before):
        # Against the file, not the rules: a run that was short has been counted already.
        return Crease(current.non_striker, current.batter)
    return Crease(current.batter, current.non_striker)


def refuse_finished(match: Match, before: Innings, after: Innings, index: int) -> None:
    """The ball asked about has to come before the innings is over.

    Args:
        before, after: the innings as recorded and as it is told now.

    Raises:
        InputError: nothing more would have been bowled, though it was.
    """
    reason = why_over(match, _until(after, index))
    if reason is not None and why_over(match, _until(before, index)) is None:
        raise InputError(
            f"then ball {index} would not have been bowled: {reason}",
            remedy="change less, or ask about an earlier ball",
        )


def _until(innings: Innings, index: int) -> Innings:
    """The innings as it stood before a ball."""
    before = Facts(pre=innings.penalty_runs.get("pre", 0))
    return replace(
        innings,
        deliveries=innings.deliveries[: index - 1],
        penalty_runs=before,
        declared=None,
    )
