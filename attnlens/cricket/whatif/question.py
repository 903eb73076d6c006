"""What a "what if" asks to be different, and how that is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attnlens.errors import InputError

LAST = "last"
"""In a list of changes: the ball before the one asked about."""

WICKET = "W"

LONGEST_TARGET = 40
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
        unseen: take a name that nobody has as a player without a record.

    Raises:
        InputError: nothing is different, or the target is no number of runs.
    """

    bowler: str | None = None
    batter: str | None = None
    target: int | None = None
    balls: tuple[tuple[str, str], ...] = ()
    unseen: bool = False

    def __post_init__(self) -> None:
        if not self.balls and (self.bowler, self.batter, self.target) == (None, None, None):
            raise InputError(
                "nothing is asked to be different",
                remedy="give --bowler, --batter, --target, --change BALL=OUTCOME or "
                "--wicket-last-ball",
            )
        if self.target is not None and self.target < 1:
            raise InputError(f"target {self.target} is no number of runs", remedy="give 1 or more")


def ball_and_outcome(text: str) -> tuple[str, str]:
    """``43=6`` as a ball's name and an outcome.

    Raises:
        InputError: it is not written so.
    """
    name, sign, outcome = text.rpartition("=")
    if not (sign and name.strip() and outcome.strip()):
        raise InputError(
            f"{text!r} is no change of a ball", remedy="write BALL=OUTCOME, such as 43=6 or 7.1=0"
        )
    return name.strip(), outcome.strip()


def question_of(
    *,
    bowler: str | None,
    batter: str | None,
    target: int | None,
    changes: Sequence[str],
    wicket_last_ball: bool,
    settings: Sequence[str],
    unseen: bool,
) -> Question:
    """A question from what is written on a command line.

    Args:
        changes: ``43=6``, a ball and its outcome each.
        settings: ``bowler=NAME``, ``batter=NAME``, ``target=N``, ``ball:43=0`` or ``last=W``.

    Raises:
        InputError: something is not written so, or is given twice.
    """
    balls = [ball_and_outcome(change) for change in changes]
    if wicket_last_ball:
        balls.append((LAST, WICKET))
    named: dict[str, str | None] = {
        "bowler": bowler,
        "batter": batter,
        "target": None if target is None else str(target),
    }
    for setting in settings:
        key, sign, value = setting.partition("=")
        key = key.strip()
        if sign and key in named:
            if named[key] is not None:
                raise InputError(f"the {key} is given twice", remedy="give one")
            named[key] = value.strip()
        elif sign and key == LAST:
            balls.append(ball_and_outcome(setting))
        elif key.startswith("ball:"):
            balls.append(ball_and_outcome(setting.removeprefix("ball:")))
        else:
            raise InputError(
                f"--set {setting!r} is not understood",
                remedy="write bowler=NAME, batter=NAME, target=N, ball:43=0 or last=W",
            )
    chased = named["target"]
    if chased is not None and not chased.removeprefix("-").isdecimal():
        raise InputError(f"target {chased!r} is no whole number", remedy="give a number of runs")
    return Question(
        named["bowler"],
        named["batter"],
        None if chased is None else int(chased),
        tuple(balls),
        unseen,
    )


def asked(asked_for: Mapping[str, object]) -> Question:
    """A page's question: ``bowler``, ``batter``, ``target`` and ``balls``.

    Raises:
        InputError: nothing is different, or not in a way that is possible.
    """
    bowler, batter = asked_for.get("bowler") or None, asked_for.get("batter") or None
    target, balls = asked_for.get("target"), asked_for.get("balls") or {}
    if not (isinstance(bowler, str | None) and isinstance(batter, str | None)):
        raise InputError("a player is asked for by name", remedy="give it as text")
    if not isinstance(balls, dict):
        raise InputError("past balls are asked for by ball", remedy='write {"46": "6"}')
    text = "" if target is None else str(target)
    if text and not (text.removeprefix("-").isascii() and text.removeprefix("-").isdigit()):
        raise InputError(f"{text[:40]!r} is no number of runs", remedy="give a whole number")
    if len(text) > LONGEST_TARGET:
        raise InputError("that target is out of reach of any side", remedy="give a smaller one")
    return Question(
        bowler=bowler,
        batter=batter,
        target=int(text) if text else None,
        balls=tuple((str(ball), str(outcome)) for ball, outcome in balls.items()),
    )
