"""The answer to a "what if" as typed, frozen data.

Each class lists its keys in the order in which they are written.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, Field

from attnlens.cricket.explain.attention_types import (
    Ball,
    Count,
    Finite,
    Flag,
    Integer,
    Plain,
    Positive,
    Share,
    Text,
)
from attnlens.cricket.explain.document import Document
from attnlens.cricket.explain.types import EveryOutcome, Model, Sentence, TopChange
from attnlens.cricket.match.outcomes import OUTCOMES, Outcome

SCHEMA_VERSION: Final = "1.0"

ChangeKind = Literal["bowler", "batter", "non_striker", "target", "ball"]


class WhatIfMatch(Plain):
    """The match, as the file tells it."""

    match_id: Text
    match_type: Text | None
    gender: Text | None
    dates: tuple[Text, ...]
    venue: Text | None
    teams: tuple[Text, ...]
    batting_team: Text
    bowling_team: Text


class WhatIfBall(Plain):
    """The ball asked about; ``actual`` is null for one not yet bowled."""

    innings: Ball
    index: Ball
    label: Text
    super_over: Flag
    actual: Outcome | None


class Change(Plain):
    """One thing that is different.

    ``ball`` and ``label`` are those of a past ball; ``before`` and ``after`` are names,
    outcomes or a target as text; ``follows`` tells what was not asked for but follows.
    """

    kind: ChangeKind
    ball: Ball | None
    label: Text | None
    before: Text | None
    after: Text | None
    follows: Flag
    text: Text

    @property
    def differs(self) -> bool:
        """Whether it is not as it was."""
        return self.before != self.after


class State(Plain):
    """Who plays the ball, and the scoreboard before it."""

    batter: Text
    non_striker: Text
    bowler: Text
    score: Integer
    wickets: Count
    legal_balls: Count
    target: Integer | None
    balls_left: Count | None
    runs_required: Count | None
    required_rate: Finite | None
    free_hit: Flag
    echo: Text


class OutcomeChange(Plain):
    """One outcome's probability before and after, and the difference in points."""

    outcome: Outcome
    before: Share
    after: Share
    points: Finite


def _in_order(entries: tuple[OutcomeChange, ...]) -> tuple[OutcomeChange, ...]:
    if tuple(entry.outcome for entry in entries) != OUTCOMES:
        raise ValueError(f"list all outcomes once, in the order {' '.join(OUTCOMES)}")
    return entries


class Part(Plain):
    """What one path does when all else is held, in points and in nats."""

    points: EveryOutcome
    effect_nats: Positive


class Remainder(Plain):
    """What two paths do beyond what each does alone, in points."""

    points: EveryOutcome


class Parts(Plain):
    """How the change of past balls reached the prediction.

    Attributes:
        balls: the past balls that changed.
        others: who plays and the target; null where nothing of that was asked.
        attention: the balls tell their new outcomes, every scoreboard held as it was.
        scoreboard: score, wickets and legal balls follow, the balls tell what they told.
        together: what is left of the difference, so that the four sum to it.
    """

    balls: Annotated[tuple[Ball, ...], Field(min_length=1)]
    others: Part | None
    attention: Part
    scoreboard: Part
    together: Remainder


class WhatIfCaution(Plain):
    """Something a reader should know before trusting the figures; `whatif.flags` makes them."""

    flag: Text
    text: Text


class WhatIf(Document):
    """What the model would have expected of one ball, had something been different.

    Plain JSON types all through; `to_json` and `from_json` are exact inverses.
    """

    noun: ClassVar[str] = "an answer to a what-if"
    remedy: ClassVar[str] = "write one with `attnlens whatif --format json`"

    schema_version: Literal["1.0"]
    model: Model
    match: WhatIfMatch
    ball: WhatIfBall
    changes: Annotated[tuple[Change, ...], Field(min_length=1)]
    before: State
    after: State
    outcomes: Annotated[tuple[OutcomeChange, ...], AfterValidator(_in_order)]
    top_change: TopChange
    effect_nats: Positive
    parts: Parts | None
    flags: tuple[WhatIfCaution, ...]
    narrative: tuple[Sentence, ...]
