"""Where a "what if" leaves what the rules allow or what the model has seen: told, or refused."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from attnlens.cricket.explain.particulars import flags_of
from attnlens.cricket.match.competition import quota_of
from attnlens.cricket.match.match import Innings, Match
from attnlens.cricket.predictor.kinds import mid_over
from attnlens.cricket.predictor.trained import TrainedPredictor, sides_of
from attnlens.cricket.predictor.window import BallWindow
from attnlens.cricket.whatif.retelling import Retold, disturbs
from attnlens.cricket.whatif.types import WhatIfCaution
from attnlens.errors import InputError

NEW_BATTER: Final = "a new batter"
UNNAMED_BOWLER: Final = "an unnamed bowler"
UNNAMED: Final = {NEW_BATTER: "unnamed_batter", UNNAMED_BOWLER: "unnamed_bowler"}
"""Stand-ins for people no file can tell; they have no record."""

BOWLERS_SHARE: Final = 5
"""A bowler may bowl at most a fifth of the overs."""

MOST_A_BALL: Final = 6
LARGEST_TARGET: Final = 1500
"""Without a limit of balls: well past what any side was ever set."""


def refuse_target(match: Match, innings: Innings, target: int) -> None:
    """A target that nobody could be set is no question: the model would answer anything.

    Raises:
        InputError: the side does not bat last, or would need more than six runs off every
            ball, extras left aside.
    """
    quota = quota_of(match, innings)
    chases = innings.number == 4 if quota is None else innings.number % 2 == 0
    if not chases and innings.target is None:
        raise InputError(f"innings {innings.number} chases nothing", remedy="leave the target out")
    most = LARGEST_TARGET if quota is None else MOST_A_BALL * quota
    if target > most:
        within = "" if quota is None else f" off {quota} balls"
        raise InputError(
            f"a target of {target}{within} is out of reach of any side",
            remedy=f"give at most {most}",
        )


def what_if_flags(
    before: BallWindow,
    after: BallWindow,
    balls: Sequence[Retold],
    predictor: TrainedPredictor,
    *,
    history: bool,
) -> tuple[WhatIfCaution, ...]:
    """Cautions, each a name and a sentence: those of the answer, then the usual ones.

    Args:
        before, after: the ball as it was and as it is told now.
        balls: the past balls that are told otherwise.
        history: whether the ratings were brought to the match's date by its own history.
    """
    found = []
    was, now = before.delivery, after.delivery
    for player, old in ((now.bowler, was.bowler), (now.batter, was.batter)):
        away = player.key != old.key and player.name not in UNNAMED
        if away and not sides_of(before.match, player):
            found.append(("not_in_match", f"{player} is not known to be in this match"))
    found += _against_the_rules(before, after)
    for ball in balls:
        if disturbs(ball, before.delivery):
            text = (
                f"what followed ball {ball.before.index} ({ball.before.label}) stays as recorded, "
                "batters too, though others would have faced it, or an over had other balls"
            )
            found.append(("as_recorded", text))
    for window in (after, before):
        usual = flags_of(window, predictor, evidence=True, history=history)
        found += [_unnamed(caution.flag, caution.text) for caution in usual]
    return tuple(WhatIfCaution(flag=name, text=text) for name, text in dict.fromkeys(found))


def _against_the_rules(before: BallWindow, after: BallWindow) -> Iterator[tuple[str, str]]:
    """What the rules forbid the one who bowls or faces now."""
    was, now = before.delivery, after.delivery
    balls = after.innings.deliveries[: now.index - 1]
    out = {wicket.player_out.key for ball in balls for wicket in ball.wickets if wicket.counts}
    if now.batter.key != was.batter.key and now.batter.key in out:
        yield "already_out", f"{now.batter} is out already"
    if now.bowler.key == was.bowler.key:
        return
    quota, size = quota_of(after.match, after.innings), after.innings.balls_per_over
    bowled = [ball for ball in balls if ball.bowler.key == now.bowler.key]
    if quota is not None and not after.innings.super_over:
        overs = math.ceil(quota / size / BOWLERS_SHARE)
        if sum(ball.is_legal for ball in bowled) >= overs * size:
            yield "bowler_quota", f"{now.bowler} has bowled all {overs} overs allowed"
    if any(ball.over == now.over - 1 for ball in bowled):
        yield (
            "bowled_last_over",
            f"{now.bowler} bowled in the over before: nobody bowls two in a row",
        )
    yield from mid_over(after.innings, now)


def _unnamed(flag: str, text: str) -> tuple[str, str]:
    for name, instead in UNNAMED.items():
        if flag in ("unseen_batter", "unseen_bowler") and name in text:
            role = "faces" if name == NEW_BATTER else "bowls"
            return instead, f"nobody is named who {role}: a player without a record is taken"
    return flag, text
