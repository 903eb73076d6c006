"""The answer to a "what if" as typed, frozen data.

Each class lists its keys in the order in which they are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, Field

from attnlens.cricket.explain.json_document import JsonDocument
from attnlens.cricket.explain.types import (
    Ball,
    BallFacts,
    MatchFacts,
    Model,
    Positive,
    Remark,
    Sentence,
    TopChange,
    in_order,
)
from attnlens.cricket.match.match import Outcome
from attnlens.errors import InputError
from attnlens.evidence.result import Finite, Flag, Plain, Share, Text

SCHEMA_VERSION: Final = "1.1"

LAST: Final = "last"
"""In a list of changes: the ball before the one asked about."""

_BALL: Final = "ball:"
_PLAYED: Final = ("bowler", "batter", "target")

_LONGEST_TARGET: Final = 40
"""Signs of a number of runs that is worth reading."""


@dataclass(frozen=True, slots=True)
class WhatIfQuestion:
    """What is to be different.

    Attributes:
        bowler, batter: who bowls and who faces instead: a name, a part of one that only one
            player has, or a registry id. Where a wicket on the last ball brings somebody in,
            ``batter`` is that newcomer, at whichever end.
        target: what is chased.
        balls: past balls and their outcomes, ``(("43", "6"), ("7.1", "W"))``; ``last`` is
            the ball before the one asked about.

    Raises:
        InputError: nothing is different, or the target is not a number of runs.
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
            raise InputError(
                f"target {self.target} is not a number of runs", remedy="give 1 or more"
            )


def question_of(settings: Sequence[str]) -> WhatIfQuestion:
    """A question from ``bowler=NAME``, ``batter=NAME``, ``target=N``, ``ball:43=0``, ``last=W``.

    Raises:
        InputError: something is not written so, or is given twice.
    """
    names: dict[str, str] = {}
    balls: list[tuple[str, str]] = []
    for setting in settings:
        key, _, value = (part.strip() for part in setting.partition("="))
        ball = key.removeprefix(_BALL)
        if key in names:
            raise InputError(f"the {key} is given twice", remedy="give one")
        if value and key in _PLAYED:
            names[key] = value
        elif value and ball and (key == LAST or key.startswith(_BALL)):
            balls.append((ball, value))
        else:
            raise InputError(
                f"--set {setting!r} is not understood",
                remedy="write bowler=NAME, batter=NAME, target=N, ball:43=0 or last=W",
            )
    target = _runs(names["target"]) if "target" in names else None
    return WhatIfQuestion(names.get("bowler"), names.get("batter"), target, tuple(balls))


def _runs(text: str) -> int:
    if not (text.removeprefix("-").isascii() and text.removeprefix("-").isdigit()):
        raise InputError(
            f"target {text[:_LONGEST_TARGET]!r} is not a whole number",
            remedy="give a number of runs",
        )
    if len(text) > _LONGEST_TARGET:
        raise InputError("that target is out of reach of any side", remedy="give a smaller one")
    return int(text)


def question_of_page(page: Mapping[str, object]) -> WhatIfQuestion:
    """A page's question: ``bowler``, ``batter``, ``target`` and ``balls``, where given.

    Raises:
        InputError: nothing is different, or not in a way that is possible.
    """
    balls = page.get("balls") or {}
    if not isinstance(balls, Mapping):
        raise InputError("past balls are asked for by ball", remedy='write {"46": "6"}')
    settings = [f"{name}={page[name]}" for name in _PLAYED if page.get(name)]
    return question_of([*settings, *(f"{_BALL}{ball}={balls[ball]}" for ball in balls)])


ChangeKind = Literal["bowler", "batter", "non_striker", "target", "ball"]


class WhatIfChange(Plain):
    """One thing that is different.

    ``ball`` and ``label`` are those of a past ball; ``before`` and ``after`` are names,
    outcomes or a target as text; ``follows``: it was not asked for but follows.
    """

    kind: ChangeKind
    ball: Ball | None = None
    label: Text | None = None
    before: Text | None
    after: Text | None
    follows: Flag = False
    text: Text

    @property
    def differs(self) -> bool:
        """Whether it is not as it was."""
        return self.before != self.after


class OutcomeChange(Plain):
    """One outcome's probability before and after, and the difference in points."""

    outcome: Outcome
    before: Share
    after: Share
    points: Finite


class WhatIf(JsonDocument):
    """What the model would have expected of one ball, had something been different.

    ``before`` and ``after`` are who plays the ball, and the scoreboard before it; ``actual`` is
    what happened, null for a ball not yet bowled.
    """

    noun: ClassVar[str] = "an answer to a what-if"
    rendered_as: ClassVar[str] = "what_if"
    remedy: ClassVar[str] = "write one with `attnlens whatif --format json`"
    earlier_schemas: ClassVar[tuple[str, ...]] = ("1.0",)

    schema_version: Literal["1.1"]
    model: Model
    match: MatchFacts
    changes: Annotated[tuple[WhatIfChange, ...], Field(min_length=1)]
    before: BallFacts
    after: BallFacts
    actual: Outcome | None
    outcomes: Annotated[tuple[OutcomeChange, ...], AfterValidator(in_order)]
    top_change: TopChange
    effect_nats: Positive
    flags: tuple[Remark, ...]
    narrative: tuple[Sentence, ...]
