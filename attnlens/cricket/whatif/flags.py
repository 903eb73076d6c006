"""Where a "what if" leaves what the rules allow or what the model has seen: told, or refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from attnlens.cricket.explain.flags import flags_of
from attnlens.cricket.explain.particulars import chase
from attnlens.cricket.match.match import Delivery, Innings, Match, Player
from attnlens.cricket.match.quota import quota_of
from attnlens.cricket.model.people import sides_of
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.cricket.model.window import BallWindow
from attnlens.cricket.whatif.types import WhatIfCaution
from attnlens.errors import InputError

NEW_BATTER: Final = "a new batter"
UNNAMED_BOWLER: Final = "an unnamed bowler"
UNNAMED: Final = {NEW_BATTER: "unnamed_batter", UNNAMED_BOWLER: "unnamed_bowler"}
"""Stand-ins for people no file can tell; they have no record."""

BOWLERS_SHARE: Final = 5
"""A bowler may bowl at most a fifth of the overs."""

USUAL_TARGETS: Final = (2.2, 13.0)
"""Runs per over that a chase asks for at its start: in the men's T20 internationals up to
10 May 2024 (2,099 chases, revised ones included) one in 200 asked for less, one in 200 for
more. It says how strange a target is to a model of such matches."""

HIGHEST_RATE: Final = 36.0
"""The required rate at which the model's own figure for it ends."""


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
        raise InputError(f"innings {innings.number} chases nothing", remedy="leave --target out")
    most = LARGEST_TARGET if quota is None else MOST_A_BALL * quota
    if target > most:
        within = "" if quota is None else f" off {quota} balls"
        raise InputError(
            f"a target of {target}{within} is out of reach of any side",
            remedy=f"give at most {most}",
        )


def what_if_flags(
    recorded: Match,
    before: BallWindow,
    after: BallWindow,
    predictor: TrainedPredictor,
    *,
    history: bool,
) -> tuple[WhatIfCaution, ...]:
    """Cautions, each a name and a sentence: those of the answer, then the usual ones.

    Args:
        recorded: the match as its file tells it.
        before, after: the ball as it was and as it is told now.
        history: whether the ratings were brought to the match's date by its own history.
    """
    found = list(_new_flags(recorded, before, after))
    for window in (after, before):
        usual = flags_of(window, predictor, evidence=True, history=history)
        found += [_unnamed(caution.flag, caution.text) for caution in usual]
    return tuple(
        WhatIfCaution.model_validate({"flag": name, "text": text})
        for name, text in dict.fromkeys(found)
    )


def _new_flags(recorded: Match, before: BallWindow, after: BallWindow) -> Iterator[tuple[str, str]]:
    """Cautions about what is different."""
    was, now = before.delivery, after.delivery
    if now.bowler.key != was.bowler.key:
        yield from _bowler_flags(after)
    if now.batter.key != was.batter.key:
        yield from _batter_flags(after)
    for player, old in ((now.bowler, was.bowler), (now.batter, was.batter)):
        away = player.key != old.key and player.name not in UNNAMED
        if away and not sides_of(recorded, player):
            yield "not_in_match", f"{player} is not known to be in this match"
    if after.innings.target != before.innings.target:
        yield from _target_flags(after)
    if (chase(after).required_rate or 0) > HIGHEST_RATE >= (chase(before).required_rate or 0):
        yield (
            "rate_outside",
            f"more than {HIGHEST_RATE:.0f} runs an over are needed: to the model all such rates "
            "are alike",
        )


def _unnamed(flag: str, text: str) -> tuple[str, str]:
    for name, instead in UNNAMED.items():
        if flag in ("unseen_batter", "unseen_bowler") and name in text:
            role = "faces" if name == NEW_BATTER else "bowls"
            return instead, f"nobody is named who {role}: a player without a record is taken"
    return flag, text


def _earlier(window: BallWindow) -> tuple[Delivery, ...]:
    return window.innings.deliveries[: window.delivery.index - 1]


def _bowler_flags(window: BallWindow) -> Iterator[tuple[str, str]]:
    bowler, over = window.delivery.bowler, window.delivery.over
    balls = _earlier(window)
    quota = quota_of(window.match, window.innings)
    bowled = sum(ball.is_legal for ball in balls if ball.bowler.key == bowler.key)
    if quota is not None and not window.innings.super_over:
        size = window.innings.balls_per_over
        overs = math.ceil(quota / size / BOWLERS_SHARE)
        if bowled >= overs * size:
            yield "bowler_quota", f"{bowler} has bowled all {overs} overs allowed"
    this_over = [ball for ball in balls if ball.over == over]
    if this_over and this_over[-1].bowler.key != bowler.key:
        yield (
            "bowler_mid_over",
            f"{this_over[-1].bowler} bowled the over so far: bowlers change within an over only "
            "where one is hurt or taken off, which the model has hardly seen",
        )
    if any(ball.over == over - 1 and ball.bowler.key == bowler.key for ball in balls):
        yield "bowled_last_over", f"{bowler} bowled in the over before: nobody bowls two in a row"


def _batter_flags(window: BallWindow) -> Iterator[tuple[str, str]]:
    batter: Player = window.delivery.batter
    out = {w.player_out.key for ball in _earlier(window) for w in ball.wickets if w.counts}
    if batter.key in out:
        yield "already_out", f"{batter} is out already"


def _target_flags(window: BallWindow) -> Iterator[tuple[str, str]]:
    quota, target = quota_of(window.match, window.innings), window.innings.target
    if quota is None or target is None or window.innings.super_over:
        return
    rate = target * window.innings.balls_per_over / quota
    least, most = USUAL_TARGETS
    if not least <= rate <= most:
        rarely = "less" if rate < least else "more"
        yield (
            "target_outside",
            f"a target of {target} asks for {rate:.1f} runs an over from the start, {rarely} than "
            "chases that the model has learnt from",
        )
