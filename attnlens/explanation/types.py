"""The explanation as typed, frozen data, and the JSON Schema that follows from it.

Each class lists its keys in the order in which they are written. Keys that only
some heads have (``bowler``, ``batsman``, ``top_overs``) make classes of their
own, so that on every other head they are absent, not null.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationError,
    model_validator,
)

from attnlens.errors import InputError

SCHEMA_VERSION = "1.0"
SCHEMA_ID = f"urn:attnlens:explanation:{SCHEMA_VERSION}"

Outcome = Literal["0", "1", "2", "3", "4", "5", "6", "W", "wd", "nb", "bye"]
OUTCOMES: tuple[Outcome, ...] = ("0", "1", "2", "3", "4", "5", "6", "W", "wd", "nb", "bye")

Integer = Annotated[int, Field(strict=True)]
Ball = Annotated[int, Field(strict=True, ge=1)]
Count = Annotated[int, Field(strict=True, ge=0)]
Flag = Annotated[bool, Field(strict=True)]
Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
HeadKey = Annotated[str, StringConstraints(pattern=r"^head_[0-9]+_[a-z][a-z_]*$")]
Scale = Literal["micro", "short", "medium", "long"]
SCALES: tuple[Scale, ...] = ("micro", "short", "medium", "long")


class _Plain(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        # Without it, fields with defaults would be missing from "required".
        json_schema_serialization_defaults_required=True,
        protected_namespaces=(),
    )


class Model(_Plain):
    """Which weights answered, and what they had seen."""

    name: str
    sha256: str
    trained_from: str | None
    trained_until: str | None
    ratings_until: str | None
    match_types: tuple[str, ...]


class MatchFacts(_Plain):
    """The match, as the file tells it."""

    match_id: str
    match_type: str | None
    gender: str | None
    dates: tuple[str, ...]
    season: str | None
    event: str | None
    venue: str | None
    city: str | None
    teams: tuple[str, ...]
    batting_team: str
    bowling_team: str
    result: str | None
    notes: tuple[str, ...]


class BallFacts(_Plain):
    """The ball explained and the scoreboard as it stood before it was bowled."""

    innings: Ball
    index: Ball
    deliveries: Count
    over: Count
    label: str | None
    actual_delivery: str | None
    legal_number: Count | None
    is_legal: Flag | None
    batter: str
    non_striker: str
    bowler: str
    score: Integer
    wickets: Count
    target: Integer | None
    balls_left: Integer | None
    runs_required: Integer | None
    required_rate: Finite | None
    run_rate: Finite | None
    free_hit: Flag | None
    super_over: Flag
    echo: str


class OutcomeProbability(_Plain):
    outcome: Outcome
    probability: Share
    baseline: Share


class OutcomePoints(_Plain):
    """A change of one outcome's probability, in percentage points."""

    outcome: Outcome
    points: Finite


def _in_order(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    if tuple(entry.outcome for entry in entries) != OUTCOMES:
        raise ValueError(f"list all outcomes once, in the order {' '.join(OUTCOMES)}")
    return entries


def _in_order_or_empty(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    return _in_order(entries) if entries else entries


EveryOutcome = Annotated[tuple[OutcomePoints, ...], AfterValidator(_in_order)]
EveryOutcomeOrNone = Annotated[tuple[OutcomePoints, ...], AfterValidator(_in_order_or_empty)]


class Prediction(_Plain):
    """What the model expects, beside the baseline that knows nothing of this ball."""

    outcomes: Annotated[tuple[OutcomeProbability, ...], AfterValidator(_in_order)]
    top: Outcome
    actual: Outcome | None
    surprise_bits: Positive | None


class Contribution(_Plain):
    """What one group of inputs adds to each outcome (Shapley values)."""

    group: str
    points: EveryOutcome


class Node(_Plain):
    node: str
    weight: Share
    visible: Count | None


class Layer(_Plain):
    layer: Literal["global", "match_state", "actor", "dynamics"]
    weight: Share
    nodes: tuple[Node, ...]


class WithinBall(_Plain):
    layers: tuple[Layer, ...]


class _Pattern(_Plain):
    pattern: str
    question: str | None


class _NamesBowler(_Plain):
    bowler: str


class _NamesBatsman(_Plain):
    batsman: str


class _TopBalls(_Plain):
    top_balls: Annotated[tuple[Ball, ...], Field(max_length=4)]
    weights: tuple[Share, ...]
    outcomes: tuple[Outcome, ...]
    labels: tuple[str, ...]
    effects: tuple[Finite | None, ...]


class _TopOvers(_Plain):
    top_overs: tuple[Count, ...]
    top_over_weights: tuple[Share, ...]


class _WholeRow(_Plain):
    top_any: Annotated[tuple[Ball, ...], Field(max_length=4)]
    top_any_weights: tuple[Share, ...]
    self_attention: Share
    past_attention: Share
    row: tuple[Share, ...]
    earned: str
    note: str | None
    bias_share: Share | None


# Fields come in the order of the bases from last to first.
class Head(_WholeRow, _TopBalls, _Pattern):
    """One head's row of attention, from the current ball to the past."""

    @model_validator(mode="after")
    def _parallel(self) -> Self:
        _same_lengths(self, "top_balls", "weights", "outcomes", "labels", "effects")
        _same_lengths(self, "top_any", "top_any_weights")
        return self


class BowlerHead(Head, _WholeRow, _TopBalls, _NamesBowler, _Pattern):
    """A head that started on the bowler's earlier balls."""


class BatsmanHead(Head, _WholeRow, _TopBalls, _NamesBatsman, _Pattern):
    """A head that started on the batter's earlier balls."""


class LongHead(Head, _WholeRow, _TopOvers, _TopBalls, _Pattern):
    """A head over summaries of earlier overs."""

    @model_validator(mode="after")
    def _parallel_overs(self) -> Self:
        _same_lengths(self, "top_overs", "top_over_weights")
        return self


class LongBowlerHead(LongHead, _WholeRow, _TopOvers, _TopBalls, _NamesBowler, _Pattern):
    """A head over earlier overs that started on the bowler's."""


class LongBatsmanHead(LongHead, _WholeRow, _TopOvers, _TopBalls, _NamesBatsman, _Pattern):
    """A head over earlier overs that started on the batter's."""


def _same_lengths(holder: BaseModel, first: str, *others: str) -> None:
    length = len(getattr(holder, first))
    for other in others:
        if len(getattr(holder, other)) != length:
            raise ValueError(
                f"{other} has {len(getattr(holder, other))} entries, {first} has {length}"
            )


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


class AggregateAttention(_Plain):
    """The mean over heads, each past ball counted once, under the first that fits."""

    last_over: Share
    same_bowler: Share
    same_batsman: Share
    boundaries: Share
    other: Share


class RelationShare(_Plain):
    """The share of past attention on one relation beside what uniform attention gives."""

    relation: str
    share: Share
    uniform: Share
    ratio: Positive | None


class _HeatMap(_Plain):
    current_ball: Ball
    sequence_range: tuple[Integer, Integer]
    question: str
    attention_by_head: dict[HeadKey, Any]
    aggregate_attention: AggregateAttention
    shares: tuple[RelationShare, ...]
    balls: tuple[Ball, ...]

    @model_validator(mode="after")
    def _rows_cover_the_balls(self) -> Self:
        for name, head in self.attention_by_head.items():
            if len(head.row) != len(self.balls):
                raise ValueError(
                    f"{name}: row has {len(head.row)} entries, balls has {len(self.balls)}"
                )
        return self


class _BallScale(_Plain):
    scale: Literal["micro", "short", "medium"]


class _OverScale(_Plain):
    scale: Literal["long"]


# Without it the schema would let any other key through beside the heads.
_ONLY_HEADS = Field(json_schema_extra={"additionalProperties": False})


class HeatMap(_HeatMap, _BallScale):
    """Where attention went among the balls of a window."""

    attention_by_head: Annotated[dict[HeadKey, AnyHead], _ONLY_HEADS]


class LongHeatMap(_HeatMap, _OverScale):
    """Where attention went among earlier overs; an over's weight is split over its balls."""

    attention_by_head: Annotated[dict[HeadKey, AnyLongHead], _ONLY_HEADS]


class HeatmapDocument(_Plain):
    """What ``--format heatmap`` prints."""

    temporal_attention: Annotated[HeatMap | LongHeatMap, Field(discriminator="scale")]


class AcrossBalls(_Plain):
    micro: HeatMap
    short: HeatMap
    medium: HeatMap
    long: LongHeatMap

    @model_validator(mode="after")
    def _named_for_their_scale(self) -> Self:
        for scale in SCALES:
            if getattr(self, scale).scale != scale:
                raise ValueError(f"{scale} holds the scale {getattr(self, scale).scale}")
        return self


class FusionWeights(_Plain):
    within_ball: Share
    micro: Share
    short: Share
    medium: Share
    long: Share


class PastBall(_Plain):
    """A ball before this one: what happened, and what it does to the prediction."""

    index: Ball
    label: str
    over: Count
    batter: str
    bowler: str
    outcome: Outcome
    runs: Integer
    runs_batter: Integer
    boundary: Flag
    wicket: Flag
    attention: Positive
    effect_nats: Finite | None
    changes: EveryOutcomeOrNone


class TopChange(_Plain):
    """The outcome that moves most: points, and its probability before and after."""

    outcome: Outcome
    points: Finite
    before: Share
    after: Share


class Evidence(_Plain):
    """A claim, the intervention that tests it, and the verdict."""

    claim: str
    scale: Scale | None
    head: HeadKey | None
    kind: Literal["head", "this over", "boundaries"]
    removed: tuple[Ball, ...]
    removed_from: Literal["model", "head"]
    effect_nats: Finite
    changes: EveryOutcome
    top_change: TopChange
    control: Literal["random sets of the same size", "random sets with the same distances"]
    controls: Count
    control_median_nats: Finite | None
    p: Share | None
    q: Share | None
    verdict: Literal["supported", "not better than chance", "contradicted"] | None
    reason: str | None


FlagName = Literal[
    "short_history",
    "no_history",
    "unseen_batter",
    "unseen_bowler",
    "unseen_non_striker",
    "unseen_venue",
    "super_over",
    "reduced_match",
    "in_training",
    "ratings_from_later",
    "other_format",
    "other_gender",
    "other_balls_per_over",
    "no_target",
    "evidence_skipped",
]


class Caution(_Plain):
    """Something a reader should know before trusting the figures."""

    flag: FlagName
    text: str


class Fact(_Plain):
    """A number or a name in a sentence, and where in the explanation it comes from."""

    text: str
    pointer: str


class Sentence(_Plain):
    text: str
    facts: tuple[Fact, ...]


class Explanation(_Plain):
    """Why the model expects what it expects of one ball, with what was tested.

    Plain JSON types all through; `to_json` and `from_json` are exact inverses.
    """

    schema_version: Literal["1.0"]
    model: Model
    match: MatchFacts
    ball: BallFacts
    prediction: Prediction
    contributions: Annotated[tuple[Contribution, ...], Field(max_length=10)]
    within_ball: WithinBall
    across_balls: AcrossBalls
    fusion_weights: FusionWeights
    history: tuple[PastBall, ...]
    evidence: tuple[Evidence, ...]
    flags: tuple[Caution, ...]
    summary: str
    narrative: tuple[Sentence, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as dictionaries and lists, keys in the order of the schema."""
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
    def from_dict(cls, data: Any) -> Explanation:
        """Checks plain data.

        Raises:
            InputError: with the JSON pointer of the first thing that is wrong.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise _in_one_line(error) from None

    @classmethod
    def from_json(cls, text: str | bytes) -> Explanation:
        """Reads what `to_json` wrote.

        Raises:
            InputError: not JSON, or not an explanation; it names the JSON
                pointer of the first thing that is wrong.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise _in_one_line(error) from None


def _in_one_line(error: ValidationError) -> InputError:
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    first, others = errors[0], len(errors) - 1
    place = "".join(f"/{step}" for step in first["loc"])
    problem = " ".join(filter(None, ["not an explanation:", place, first["msg"]]))
    if others:
        problem = f"{problem} (and {others} more)"
    return InputError(
        problem, remedy="write one with `attnlens explain --format json`, check with `schema`"
    )


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of an explanation."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        **Explanation.model_json_schema(mode="serialization"),
    }
