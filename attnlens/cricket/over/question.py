"""Which over is asked about, and how the match stands as it begins."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.match.match import Delivery, Innings, Match
from attnlens.cricket.match.naming import (
    innings_meant,
    innings_numbered,
    ordinal,
    over_ended,
    unbowled,
)
from attnlens.cricket.match.next_ball import why_no_more
from attnlens.cricket.over.tokens import overs_of

GRAMMAR: Final = "12 (as the file labels it, from 0), last, next, or 2:12"
NAMED: Final = f"an over is named {GRAMMAR}"
_NAME: Final = re.compile(r"(?:([0-9]{1,3}):)?([0-9]{1,4}|last|next)")


@dataclass(frozen=True, slots=True, eq=False)
class OverQuestion:
    """One over of an innings, and what came before it.

    Attributes:
        over: its label.
        balls: its deliveries; none where it is not bowled yet.
        before: how many deliveries of the innings came before it.
        start: the ball that follows those, with the scoreboard it is bowled at.
        finished: whether the over came to its end in the file.
    """

    match: Match
    innings: Innings
    over: int
    balls: tuple[Delivery, ...]
    before: int
    start: Delivery
    finished: bool

    @property
    def bowled(self) -> bool:
        """Whether a ball of it was."""
        return bool(self.balls)

    @property
    def past(self) -> tuple[Delivery, ...]:
        """The innings' deliveries before it."""
        return self.innings.deliveries[: self.before]

    @property
    def echo(self) -> str:
        """The line that says which over was meant."""
        start, count = self.start, len(self.innings.deliveries)
        heading = f"innings {self.innings.number}"
        if self.innings.super_over:
            heading += " (super over)"
        parts = [f"{heading}, over {self.over} (the {ordinal(self.over + 1)})"]
        if self.bowled:
            last = self.before + len(self.balls)
            parts.append(f"deliveries {self.before + 1} to {last} of {count}")
        else:
            parts.append("not yet bowled" + (f", after delivery {count}" if count else ""))
        parts.append(f"{start.score_before}/{start.wickets_before}")
        if self.innings.target is not None:
            parts.append(f"target {self.innings.target}")
        return " | ".join(parts)


def find_over(match: Match, over: int | str, innings: int | None = None) -> OverQuestion:
    """The over that a name means.

    Args:
        over: its label in the file, from 0; ``last``; ``next``, the over not yet bowled (the
            label after the last one is the same); ``2:12`` names the innings too.
        innings: where the name does not say; 1 when ``None``, for ``next`` the one in play.

    Raises:
        BallNotFoundError: there is no such over or innings, the name is not understood, or the
            over before has not ended.
    """
    text = str(over).strip().lower()
    name = None if isinstance(over, bool) else _NAME.fullmatch(text)
    if name is None:
        raise BallNotFoundError(f"over {text!r} is not understood", remedy=f"write {GRAMMAR}")
    if name[1] is not None:
        if innings not in (None, int(name[1])):
            raise BallNotFoundError(
                f"over {text!r} names innings {name[1]}, and innings is {innings}"
            )
        innings = int(name[1])
    chosen = innings_numbered(match, innings_meant(match, name[2]) if innings is None else innings)
    overs = overs_of(chosen)
    if not overs and name[2] not in ("next", "0"):
        raise BallNotFoundError(
            f"innings {chosen.number} has no deliveries yet", remedy="ask for its over 0"
        )
    labels = list(overs) or [-1]
    wanted = {"last": labels[-1], "next": labels[-1] + 1}.get(name[2])
    label = int(name[2]) if wanted is None else wanted
    if label in overs:
        balls = overs[label]
        before = balls[0].index - 1
        ended = over_ended(chosen, balls[-1]) or label != labels[-1]
        finished = ended or why_no_more(match, chosen) is not None
        return OverQuestion(
            match, chosen, label, balls, before, _start(chosen, before, label), finished
        )
    if label != labels[-1] + 1:
        raise BallNotFoundError(
            f"there is no over {label}: innings {chosen.number} has overs {labels[0]} to "
            f"{labels[-1]}",
            remedy=NAMED,
        )
    _refuse_next(match, chosen, label)
    count = len(chosen.deliveries)
    return OverQuestion(match, chosen, label, (), count, _start(chosen, count, label), False)


def _refuse_next(match: Match, innings: Innings, label: int) -> None:
    """The over not yet bowled follows one that has ended, in an innings that has not."""
    reason = why_no_more(match, innings)
    if reason is not None:
        raise BallNotFoundError(
            f"innings {innings.number} has no over {label}: {reason}",
            remedy="name an over that was bowled",
        )
    if innings.deliveries and not over_ended(innings, innings.deliveries[-1]):
        raise BallNotFoundError(
            f"over {label} cannot be foretold while over {label - 1} is under way",
            remedy=f"ask for over {label - 1}",
        )


def _start(innings: Innings, before: int, over: int) -> Delivery:
    """The over's first ball as it would be known before it: where and at what score."""
    so_far = replace(innings, deliveries=innings.deliveries[:before])
    return unbowled(so_far)._replace(over=over)
