"""The ball not yet bowled: who is on strike, who bowls, and what the scoreboard says."""

from __future__ import annotations

from dataclasses import replace

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.match.competition import (
    ALL_OUT,
    BALLS_PER_OVER_OF_THE_HUNDRED,
    BOWLERS_SHARE,
    quota_of,
)
from attnlens.cricket.match.ledger import balls_bowled
from attnlens.cricket.match.match import Delivery, Innings, Match, Player
from attnlens.cricket.match.naming import (
    innings_numbered,
    over_ended,
    unbowled,
)
from attnlens.errors import InputError


def with_next_ball(
    match: Match, number: int, *, batter: Player | None = None, bowler: Player | None = None
) -> Match:
    """The match with the ball not yet bowled as its innings' last delivery.

    Who bats follows from the last ball: the runs that were run, and the change of ends
    after an over. Who comes in after a wicket, and who bowls the next over, no file can
    tell: they have to be named.

    Args:
        number: the innings.
        batter, bowler: who faces and bowls, where the last ball does not tell.

    Raises:
        BallNotFoundError: the innings is over, or has not begun and nobody is named.
        InputError: somebody has to be named, or may not bat or bowl.
    """
    innings = innings_numbered(match, number)
    reason = why_no_more(match, innings)
    if reason is not None:
        raise BallNotFoundError(
            f"innings {number} has no next ball: {reason}", remedy="name a ball that was bowled"
        )
    last = innings.deliveries[-1] if innings.deliveries else None
    striker, other = (None, None) if last is None else at_the_crease(innings, last)
    facing = batter or striker
    if facing is None:
        raise InputError("a new batter faces the next ball", remedy="name the batter")
    if other is None or other.key == facing.key:
        candidates = () if last is None else (last.batter, last.non_striker)
        gone = {wicket.player_out.key for wicket in last.wickets} if last else set()
        other = next((p for p in candidates if p.key != facing.key and p.key not in gone), facing)
    same_over = last is not None and not over_ended(innings, last)
    bowling = bowler or (last.bowler if last and same_over else None)
    if bowling is None:
        raise InputError("a new over begins", remedy="name the bowler")
    _refuse_impossible(innings, facing, bowling)
    ball = unbowled(innings, facing, other, bowling)
    if last is not None and not (same_over and bowling.key == last.bowler.key):
        _refuse_bowler(match, innings, ball)
    longer = replace(innings, deliveries=(*innings.deliveries, ball))
    sides = tuple(longer if side is innings else side for side in match.innings)
    return replace(match, innings=sides)


def _refuse_impossible(innings: Innings, batter: Player, bowler: Player) -> None:
    """Nobody bowls to his own side, bats for the other, or comes back after being out."""
    batted = {p.key for ball in innings.deliveries for p in (ball.batter, ball.non_striker)}
    bowled = {ball.bowler.key for ball in innings.deliveries}
    out = {w.player_out.key for ball in innings.deliveries for w in ball.wickets if w.counts}
    if batter.key in out:
        raise InputError(f"{batter} is out already", remedy="name another batter")
    if batter.key in bowled:
        raise InputError(f"{batter} bowls in this innings", remedy="name another batter")
    if bowler.key in batted or bowler.key == batter.key:
        raise InputError(f"{bowler} bats in this innings", remedy="name another bowler")


def _refuse_bowler(match: Match, innings: Innings, ball: Delivery) -> None:
    """Nobody bowls in two overs in a row, or more than a fifth of a limited innings.

    In overs of five balls the same bowler may go on for a second one.
    """
    remedy, bowler = "name another bowler", ball.bowler
    before = {past.bowler.key for past in innings.deliveries if past.over == ball.over - 1}
    if bowler.key in before and match.balls_per_over != BALLS_PER_OVER_OF_THE_HUNDRED:
        raise InputError(f"{bowler} bowled the over before", remedy=remedy)
    quota = quota_of(match, innings)
    bowled = balls_bowled(innings, bowler)
    if quota is not None and bowled >= -(-quota // BOWLERS_SHARE):
        raise InputError(f"{bowler} has bowled all that one may: {bowled} balls", remedy=remedy)


def why_over(match: Match, innings: Innings) -> str | None:
    quota = quota_of(match, innings)
    out = 2 if innings.super_over else ALL_OUT
    if innings.target is not None and innings.total >= innings.target:
        return "the target was reached"
    if innings.wickets >= out:
        return "the side is all out"
    if quota is not None and innings.legal_balls >= quota:
        return f"all {quota} balls were bowled"
    if innings.declared:
        return "it was declared"
    return None


def why_no_more(match: Match, innings: Innings) -> str | None:
    """As `why_over`; and what rain or a captain ended has ended once the next has begun."""
    reason = why_over(match, innings)
    if reason is None and innings.set_later:
        return "it had ended, for its target was set afterwards"
    later = [
        side.number for side in match.innings if side.number > innings.number and side.deliveries
    ]
    if reason is None and later:
        return f"it had ended, for innings {later[0]} came after it"
    return reason


def changed_ends(ball: Delivery) -> bool:
    """Whether an odd number of runs was run, so that the batters changed ends."""
    run = ball.runs_batter if not ball.boundary else 0
    run += ball.extras.get("byes", 0) + ball.extras.get("legbyes", 0)
    run += max(ball.extras.get("wides", 0) - 1, 0)
    crossed: bool = run % 2 == 1
    return crossed


def at_the_crease(innings: Innings, last: Delivery) -> tuple[Player | None, Player | None]:
    """Who faces the next ball and who stands at the other end, as far as the file tells.

    ``None`` stands for somebody who has yet to come in. After a wicket the one who stays
    is at the end the runs took them to; which end the new one takes is not known, so the
    new batter is taken to face unless the over has ended.
    """
    ends: list[Player | None] = [last.batter, last.non_striker]
    gone = {wicket.player_out.key for wicket in last.wickets}
    if changed_ends(last):
        ends.reverse()
    ends = [None if player is None or player.key in gone else player for player in ends]
    if gone and ends[1] is None:
        ends.reverse()
    if over_ended(innings, last):
        ends.reverse()
    return ends[0], ends[1]
