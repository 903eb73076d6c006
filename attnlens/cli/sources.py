"""The matches that options name: to bring ratings up to date, and to judge a model on."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from attnlens.cli.output import progress, say

if TYPE_CHECKING:
    from pathlib import Path

    from attnlens.cricket.match.match import Match
    from attnlens.cricket.match.naming import BallReference
    from attnlens.cricket.session import Session


def session_of(options: argparse.Namespace, cache: Path | None = None) -> Session:
    """What answers by ``--model`` and ``--history``.

    Args:
        cache: a folder in which explanations are kept.
    """
    from attnlens.cricket.session import Session

    return Session(options.model, options.history, cache=cache, report=progress, tell=say)


def ball_of(session: Session, options: argparse.Namespace) -> tuple[Match, BallReference]:
    """The match and the ball that ``MATCH``, ``--ball`` and ``--innings`` name.

    A name that can mean two balls is told on stderr.

    Raises:
        AttnlensError: the file cannot be read, or has no such ball.
    """
    from attnlens.cricket.match.naming import balls_of

    match = session.read(options.match)
    with balls_of(options.match):
        reference = session.find(match, options.ball, options.innings)
        tell_names(match, {options.ball: reference})
        batter, bowler = getattr(options, "batter", None), getattr(options, "bowler", None)
        return session.ball(match, reference, batter=batter, bowler=bowler)


def tell_names(match: Match, balls: Mapping[str, BallReference]) -> None:
    """Which ball each name means, on stderr, where it can mean two."""
    from attnlens.cricket.match.naming import hint

    for name, ball in balls.items():
        note = hint(match, name, ball)
        if note:
            say(note)
