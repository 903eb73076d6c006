"""What a "what if" asks to be different, and how that is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from attnlens.errors import InputError

LAST: Final = "last"
"""In a list of changes: the ball before the one asked about."""

BALL: Final = "ball:"
PLAYED: Final = ("bowler", "batter", "target")

LONGEST_TARGET: Final = 40
"""Signs of a number of runs that is worth reading."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be different.

    Attributes:
        bowler, batter: who bowls and who faces instead: a name, a part of one that only one
            player has, or a registry id. Where a wicket on the last ball brings somebody in,
            ``batter`` is that newcomer, at whichever end.
        target: what is chased.
        balls: past balls and their outcomes, ``(("43", "6"), ("7.1", "W"))``; ``last`` is
            the ball before the one asked about.

    Raises:
        InputError: nothing is different, or the target is no number of runs.
    """

    bowler: str | None = None
    batter: str | None = None
    target: int | None = None
    balls: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.balls and (self.bowler, self.batter, self.target) == (None, None, None):
            raise InputError(
                "nothing is asked to be different",
                remedy="give another bowler, batter or target, or past balls that went otherwise",
            )
        if self.target is not None and self.target < 1:
            raise InputError(f"target {self.target} is no number of runs", remedy="give 1 or more")


def question_of(settings: Sequence[str]) -> Question:
    """A question from ``bowler=NAME``, ``batter=NAME``, ``target=N``, ``ball:43=0``, ``last=W``.

    Raises:
        InputError: something is not written so, or is given twice.
    """
    named: dict[str, str] = {}
    balls: list[tuple[str, str]] = []
    for setting in settings:
        key, _, value = (part.strip() for part in setting.partition("="))
        ball = key.removeprefix(BALL)
        if key in named:
            raise InputError(f"the {key} is given twice", remedy="give one")
        if value and key in PLAYED:
            named[key] = value
        elif value and ball and (key == LAST or key.startswith(BALL)):
            balls.append((ball, value))
        else:
            raise InputError(
                f"--set {setting!r} is not understood",
                remedy="write bowler=NAME, batter=NAME, target=N, ball:43=0 or last=W",
            )
    target = _runs(named["target"]) if "target" in named else None
    return Question(named.get("bowler"), named.get("batter"), target, tuple(balls))


def _runs(text: str) -> int:
    if not (text.removeprefix("-").isascii() and text.removeprefix("-").isdigit()):
        raise InputError(
            f"target {text[:LONGEST_TARGET]!r} is no whole number", remedy="give a number of runs"
        )
    if len(text) > LONGEST_TARGET:
        raise InputError("that target is out of reach of any side", remedy="give a smaller one")
    return int(text)


def asked(page: Mapping[str, object]) -> Question:
    """A page's question: ``bowler``, ``batter``, ``target`` and ``balls``, where given.

    Raises:
        InputError: nothing is different, or not in a way that is possible.
    """
    balls = page.get("balls") or {}
    if not isinstance(balls, Mapping):
        raise InputError("past balls are asked for by ball", remedy='write {"46": "6"}')
    settings = [f"{name}={page[name]}" for name in PLAYED if page.get(name)]
    return question_of([*settings, *(f"{BALL}{ball}={balls[ball]}" for ball in balls)])
