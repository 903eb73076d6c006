"""The classes of a what-if question and of its answer.

All classes are frozen. The keys of a JSON object have the same order as the fields of its class.
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
"""In a list of changes, the name of the ball before the predicted ball."""

_BALL: Final = "ball:"
_PLAYED: Final = ("bowler", "batter", "target")

_LONGEST_TARGET: Final = 40


@dataclass(frozen=True, slots=True)
class WhatIfQuestion:
    """The changes of a what-if question.

    Attributes:
        bowler, batter: the new player: a name, a unique part of a name, or a registry id. If the
            previous ball becomes a wicket, ``batter`` is the next batter, even at the non-striker's
            end.
        target: the target of the chase.
        balls: past balls and their new outcomes, such as ``(("43", "6"), ("7.1", "W"))``. The name
            ``last`` stands for the ball before the predicted ball.

    Raises:
        InputError: the question changes nothing, or the target is below 1.
    """

    bowler: str | None = None
    batter: str | None = None
    target: int | None = None
    balls: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.balls and (self.bowler, self.batter, self.target) == (None, None, None):
            raise InputError(
                "no change was given",
                remedy="give another bowler, batter or target, or other outcomes of past balls",
            )
        if self.target is not None and self.target < 1:
            raise InputError(
                f"target {self.target} is not a positive number", remedy="give 1 or more"
            )


def question_of(settings: Sequence[str]) -> WhatIfQuestion:
    """Build the question from a list of settings.

    Args:
        settings: texts such as ``bowler=NAME``, ``batter=NAME``, ``target=N``, ``ball:43=0`` or
            ``last=W``.

    Raises:
        InputError: a setting is malformed, a player or the target is repeated, or the question is
            invalid.
    """
    names: dict[str, str] = {}
    balls: list[tuple[str, str]] = []
    for setting in settings:
        key, _, value = (part.strip() for part in setting.partition("="))
        ball = key.removeprefix(_BALL)
        if key in names:
            raise InputError(f"the {key} is given twice", remedy=f"give only one {key}")
        if value and key in _PLAYED:
            names[key] = value
        elif value and ball and (key == LAST or key.startswith(_BALL)):
            balls.append((ball, value))
        else:
            raise InputError(
                f"--set {setting!r} is not a valid change",
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
        raise InputError(
            "the target is too large for any side to reach", remedy="give a smaller target"
        )
    return int(text)


def question_of_page(page: Mapping[str, object]) -> WhatIfQuestion:
    """Build the question from a web page's request.

    Args:
        page: a mapping with the optional keys ``bowler``, ``batter``, ``target`` and ``balls``.

    Raises:
        InputError: the question changes nothing, or a value is invalid.
    """
    balls = page.get("balls") or {}
    if not isinstance(balls, Mapping):
        raise InputError(
            "the value of `balls` is not an object that maps balls to outcomes",
            remedy='write {"46": "6"}',
        )
    settings = [f"{name}={page[name]}" for name in _PLAYED if page.get(name)]
    return question_of([*settings, *(f"{_BALL}{ball}={balls[ball]}" for ball in balls)])


ChangeKind = Literal["bowler", "batter", "non_striker", "target", "ball"]


class WhatIfChange(Plain):
    """A difference between the recorded match and the changed match.

    Attributes:
        ball, label: for a past ball with a new outcome, the index and the label of the ball.
        before, after: the name, outcome or target before and after the change, as text.
        follows: true if the change was not requested but follows from a requested change.
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
        """Whether ``after`` differs from ``before``."""
        return self.before != self.after


class OutcomeChange(Plain):
    """One outcome's probability before and after the changes, and the difference in points."""

    outcome: Outcome
    before: Share
    after: Share
    points: Finite


class WhatIf(JsonDocument):
    """The prediction for one ball, before and after the changes of a what-if question.

    Attributes:
        before, after: the players and the scoreboard of the ball, before and after the changes.
        actual: the actual outcome. Null if the ball has not been bowled.
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
