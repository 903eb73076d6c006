"""Typed data that is written as JSON: its base, and attention as such.

Heads, heat maps, and the weights of what is within the ball.

Each class lists its keys in the order in which they are written. Keys that only
some heads have (``bowler``, ``batsman``, ``top_overs``) make classes of their
own, so that on every other head they are absent, not null.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationError,
)

from attnlens.cricket.match.outcomes import Outcome
from attnlens.cricket.predictor.heads import Scale
from attnlens.errors import InputError
from attnlens.files import Json
from attnlens.render.safe import visible
from attnlens.shown import drawn

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


class Document(Plain):
    """Plain JSON types all through; `to_json` and `from_json` are exact inverses.

    Attributes:
        noun: what it is, as in "not an explanation".
        remedy: what to do about a file that is none.
    """

    noun: ClassVar[str]
    remedy: ClassVar[str]

    def to_dict(self) -> Json:
        """The same as dictionaries and lists, keys in the order in which they are written."""
        return self.model_dump(mode="json")

    def to_json(self, indent: int | None = None) -> str:
        """One JSON document; on one line without ``indent``."""
        separators = (",", ":") if indent is None else None
        return json.dumps(
            self.to_dict(),
            ensure_ascii=False,
            allow_nan=False,
            indent=indent,
            separators=separators,
        )

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Checks plain data.

        Raises:
            InputError: with the JSON pointer of the first thing that is wrong.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise cls._in_one_line(error) from None

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Reads what `to_json` wrote; raises as `from_dict`."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise cls._in_one_line(error) from None

    def __repr__(self) -> str:
        return drawn(self, "line")

    def __str__(self) -> str:
        return drawn(self, "text")

    def _repr_html_(self) -> str:
        return drawn(self, "html")

    @classmethod
    def _in_one_line(cls, error: ValidationError) -> InputError:
        errors = error.errors(include_url=False, include_context=False)
        for one in errors:
            if one["loc"] == ("schema_version",) and isinstance(one["input"], str):
                own, given = cls.model_fields["schema_version"].annotation, visible(one["input"])
                return InputError(
                    f"{cls.noun} of schema {given}; this attnlens reads {get_args(own)[0]}",
                    remedy="read it with the attnlens that wrote it, or write it anew",
                )
        first, others = errors[0], len(errors) - 1
        steps = [str(step) for step in first["loc"]]
        # After a head's key pydantic puts the kind of head it tried, which the data does not have.
        if "attention_by_head" in steps:
            kind = steps.index("attention_by_head") + 2
            del steps[kind : kind + 1]
        place = "".join(f"/{step}" for step in steps)
        said = first["msg"].removeprefix("Value error, ")
        problem = " ".join(filter(None, [f"not {cls.noun}:", place, said]))
        if others:
            problem = f"{problem} (and {others} more)"
        return InputError(problem, remedy=cls.remedy)
