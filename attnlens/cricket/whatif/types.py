"""The answer to a "what if" as typed, frozen data.

Each class lists its keys in the order in which they are written.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from attnlens.cricket.explain.attention_types import (
    Ball,
    Document,
    Finite,
    Flag,
    Plain,
    Positive,
    Share,
    Text,
)
from attnlens.cricket.explain.types import (
    BallFacts,
    MatchFacts,
    Model,
    Sentence,
    TopChange,
    in_order,
)
from attnlens.cricket.match.outcomes import Outcome

ChangeKind = Literal["bowler", "batter", "non_striker", "target", "ball"]


class Change(Plain):
    """One thing that is different.

    ``ball`` and ``label`` are those of a past ball; ``before`` and ``after`` are names,
    outcomes or a target as text; ``follows`` tells what was not asked for but follows.
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


class WhatIfCaution(Plain):
    """Something a reader should know before trusting the figures; `whatif.flags` makes them."""

    flag: Text
    text: Text


class WhatIf(Document):
    """What the model would have expected of one ball, had something been different.

    ``before`` and ``after`` are who plays the ball, and the scoreboard before it; ``actual`` is
    what happened, null for a ball not yet bowled. Plain JSON types all through; `to_json` and
    `from_json` are exact inverses.
    """

    noun: ClassVar[str] = "an answer to a what-if"
    remedy: ClassVar[str] = "write one with `attnlens whatif --format json`"

    schema_version: Literal["1.0"]
    model: Model
    match: MatchFacts
    changes: Annotated[tuple[Change, ...], Field(min_length=1)]
    before: BallFacts
    after: BallFacts
    actual: Outcome | None
    outcomes: Annotated[tuple[OutcomeChange, ...], AfterValidator(in_order)]
    top_change: TopChange
    effect_nats: Positive
    flags: tuple[WhatIfCaution, ...]
    narrative: tuple[Sentence, ...]
