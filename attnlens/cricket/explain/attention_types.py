"""Attention as typed data: heads, heat maps, and the weights of what is within the ball.

Each class lists its keys in the order in which they are written. Keys that only
some heads have (``bowler``, ``batsman``, ``top_overs``) make classes of their
own, so that on every other head they are absent, not null.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
)

from attnlens.cricket.match.outcomes import Outcome
from attnlens.cricket.model.heads import Scale

Integer = Annotated[int, Field(strict=True)]
Ball = Annotated[int, Field(strict=True, ge=1)]
Count = Annotated[int, Field(strict=True, ge=0)]
Flag = Annotated[bool, Field(strict=True)]
Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]


def _writable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair cannot be written as text") from None
    return text


Text = Annotated[str, AfterValidator(_writable)]
HeadKey = Annotated[str, StringConstraints(pattern=r"^head_[0-9]+_[a-z][a-z_]*$")]


class Plain(BaseModel):
    """Frozen, and closed to any key that is not listed."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        # Without it, fields with defaults would be missing from "required".
        json_schema_serialization_defaults_required=True,
        protected_namespaces=(),
    )


class Node(Plain):
    node: Text
    weight: Share
    visible: Count | None


class Layer(Plain):
    layer: Literal["global", "match_state", "actor", "dynamics"]
    weight: Share
    nodes: tuple[Node, ...]


class WithinBall(Plain):
    layers: tuple[Layer, ...]


class _Pattern(Plain):
    pattern: Text
    question: Text | None


class _NamesBowler(Plain):
    bowler: Text


class _NamesBatsman(Plain):
    batsman: Text


class _TopBalls(Plain):
    top_balls: Annotated[tuple[Ball, ...], Field(max_length=4)]
    weights: tuple[Share, ...]
    outcomes: tuple[Outcome, ...]
    labels: tuple[Text, ...]
    effects: tuple[Finite | None, ...]


class _TopOvers(Plain):
    top_overs: tuple[Count, ...]
    top_over_weights: tuple[Share, ...]


class _WholeRow(Plain):
    """``earned`` is the name a head has earned, null where it has none."""

    top_any: Annotated[tuple[Ball, ...], Field(max_length=4)]
    top_any_weights: tuple[Share, ...]
    self_attention: Share
    past_attention: Share
    row: tuple[Share, ...]
    earned: Text | None
    started_as: Text | None
    note: Text | None
    bias_share: Share | None


# Fields come in the order of the bases from last to first.
class Head(_WholeRow, _TopBalls, _Pattern):
    """One head's row of attention, from the current ball to the past."""


class BowlerHead(Head, _WholeRow, _TopBalls, _NamesBowler, _Pattern):
    """A head that started on the bowler's earlier balls."""


class BatsmanHead(Head, _WholeRow, _TopBalls, _NamesBatsman, _Pattern):
    """A head that started on the batter's earlier balls."""


class LongHead(Head, _WholeRow, _TopOvers, _TopBalls, _Pattern):
    """A head over summaries of earlier overs."""


class LongBowlerHead(LongHead, _WholeRow, _TopOvers, _TopBalls, _NamesBowler, _Pattern):
    """A head over earlier overs that started on the bowler's."""


class LongBatsmanHead(LongHead, _WholeRow, _TopOvers, _TopBalls, _NamesBatsman, _Pattern):
    """A head over earlier overs that started on the batter's."""


def _kind_of_head(head: Any) -> str:
    keys = head if isinstance(head, dict) else type(head).model_fields
    return "bowler" if "bowler" in keys else "batsman" if "batsman" in keys else "plain"


AnyHead = Annotated[
    Annotated[Head, Tag("plain")]
    | Annotated[BowlerHead, Tag("bowler")]
    | Annotated[BatsmanHead, Tag("batsman")],
    Discriminator(_kind_of_head),
]
AnyLongHead = Annotated[
    Annotated[LongHead, Tag("plain")]
    | Annotated[LongBowlerHead, Tag("bowler")]
    | Annotated[LongBatsmanHead, Tag("batsman")],
    Discriminator(_kind_of_head),
]


class AggregateAttention(Plain):
    """The mean over heads, each past ball counted once, under the first that fits."""

    last_over: Share
    same_bowler: Share
    same_batsman: Share
    boundaries: Share
    other: Share


class RelationShare(Plain):
    """The share of past attention on one relation beside what uniform attention gives."""

    relation: Text
    share: Share
    uniform: Share
    ratio: Positive | None


class _HeatMap(Plain):
    scale: Scale
    current_ball: Ball
    sequence_range: tuple[Integer, Integer]
    question: Text
    attention_by_head: dict[HeadKey, Any]
    aggregate_attention: AggregateAttention
    shares: tuple[RelationShare, ...]
    balls: tuple[Ball, ...]
    ball_labels: tuple[Text, ...]
    ball_outcomes: tuple[Outcome, ...]


# Without it the schema would let any other key through beside the heads.
_ONLY_HEADS = Field(json_schema_extra={"additionalProperties": False})


class HeatMap(_HeatMap):
    """Where attention went among the balls of a window."""

    scale: Literal["micro", "short", "medium"]
    attention_by_head: Annotated[dict[HeadKey, AnyHead], _ONLY_HEADS]


class LongHeatMap(_HeatMap):
    """Where attention went among earlier overs; an over's weight is split over its balls."""

    scale: Literal["long"]
    attention_by_head: Annotated[dict[HeadKey, AnyLongHead], _ONLY_HEADS]


class HeatmapDocument(Plain):
    """What ``--format heatmap`` prints."""

    temporal_attention: Annotated[HeatMap | LongHeatMap, Field(discriminator="scale")]


class AcrossBalls(Plain):
    micro: HeatMap
    short: HeatMap
    medium: HeatMap
    long: LongHeatMap


class FusionWeights(Plain):
    within_ball: Share
    micro: Share
    short: Share
    medium: Share
    long: Share
