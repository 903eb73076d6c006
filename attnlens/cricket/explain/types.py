"""The classes of an explanation, and its JSON Schema.

All classes are frozen. The keys of a JSON object have the same order as the fields of its class.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    TypeAlias,
)

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    model_validator,
)

from attnlens.cricket.explain.json_document import JsonDocument, upgraded
from attnlens.cricket.match.match import OUTCOMES, Outcome
from attnlens.cricket.predictor.scales import Scale
from attnlens.evidence.result import ClaimResult, Count, Finite, Flag, Plain, Share, Text
from attnlens.files import Json

if TYPE_CHECKING:
    from attnlens.llm.clause_bank import Clause


Integer = Annotated[int, Field(strict=True)]
Ball = Annotated[int, Field(strict=True, ge=1)]
Positive = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
HeadKey = Annotated[str, StringConstraints(pattern=r"^head_[0-9]+_[a-z][a-z0-9_]*$")]


class GraphNode(Plain):
    node: Text
    weight: Share


class Layer(Plain):
    layer: Text
    weight: Share
    nodes: tuple[GraphNode, ...]


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
    """The fields about one head's attention to all past balls.

    Attributes:
        self_attention: the attention weight on the current ball, or (on the scale ``whole``) on the
            null key.
        carries: the head's share of the past balls' total effect. The shares of all heads sum to 1.
            Null in schema 1.0.
        sees: the relation to which the head is restricted, such as ``same_bowler``. Null if the
            head may attend to every ball of its scale. Also null in documents of schema 1.0.
        earned: the relation that describes the head's measured behaviour, or null.
    """

    top_any: Annotated[tuple[Ball, ...], Field(max_length=4)]
    top_any_weights: tuple[Share, ...]
    self_attention: Share
    past_attention: Share
    carries: Share | None
    sees: Text | None
    row: tuple[Share, ...]
    earned: Text | None
    started_as: Text | None
    note: Text | None
    bias_share: Share | None


# The bases are in this order because pydantic lists the fields of the last base first.
class HeadAttention(_WholeRow, _TopBalls, _Pattern):
    """One head's attention from the current ball to the past balls."""


class BowlerHead(HeadAttention, _WholeRow, _TopBalls, _NamesBowler, _Pattern):
    """A head with the pattern ``same_bowler``, and the name of the bowler."""


class BatsmanHead(HeadAttention, _WholeRow, _TopBalls, _NamesBatsman, _Pattern):
    """A head with the pattern ``same_batsman``, and the name of the batter."""


class LongHead(HeadAttention, _WholeRow, _TopOvers, _TopBalls, _Pattern):
    """One head's attention from the current ball to summaries of earlier overs."""


class LongBowlerHead(LongHead, _WholeRow, _TopOvers, _TopBalls, _NamesBowler, _Pattern):
    """A long-scale head with the pattern ``same_bowler``, and the name of the bowler."""


class LongBatsmanHead(LongHead, _WholeRow, _TopOvers, _TopBalls, _NamesBatsman, _Pattern):
    """A long-scale head with the pattern ``same_batsman``, and the name of the batter."""


def _kind_of_head(head: Any) -> str:
    keys = head if isinstance(head, dict) else type(head).model_fields
    return "bowler" if "bowler" in keys else "batsman" if "batsman" in keys else "plain"


AnyHead = Annotated[
    Annotated[HeadAttention, Tag("plain")]
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
    """How all heads together divide their attention among categories of past balls.

    A ball that matches several categories is counted only in the first of these categories.
    """

    last_over: Share
    same_bowler: Share
    same_batsman: Share
    boundaries: Share
    other: Share


class RelationShare(Plain):
    """The share of the attention that goes to balls with a relation, and the uniform share."""

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


# Without this line, the schema would accept any key in place of a head's key.
_ONLY_HEADS = Field(json_schema_extra={"additionalProperties": False})


class HeatMap(_HeatMap):
    """The attention of the heads of one scale to the past balls."""

    scale: Literal["micro", "short", "medium", "whole"]
    attention_by_head: Annotated[dict[HeadKey, AnyHead], _ONLY_HEADS]


class LongHeatMap(_HeatMap):
    """The attention of the heads of the long scale to earlier overs.

    The weight of an over is divided evenly among its balls.
    """

    scale: Literal["long"]
    attention_by_head: Annotated[dict[HeadKey, AnyLongHead], _ONLY_HEADS]


class AcrossBalls(Plain):
    micro: HeatMap
    short: HeatMap
    medium: HeatMap
    long: LongHeatMap
    whole: HeatMap | None

    def scales(self) -> dict[str, HeatMap | LongHeatMap]:
        """Return the heat map of each scale. Documents of schema 1.0 lack the scale ``whole``."""
        return {name: heat_map for name, heat_map in self if heat_map is not None}


class FusionWeights(Plain):
    within_ball: Share
    micro: Share
    short: Share
    medium: Share
    long: Share
    whole: Share


SCHEMA_VERSION: Final = "2.0"
_SCHEMA_ID = f"urn:attnlens:explanation:{SCHEMA_VERSION}"


FlagName = Literal[
    "short_history",
    "no_history",
    "unseen_batter",
    "unseen_bowler",
    "unseen_venue",
    "bowler_mid_over",
    "super_over",
    "reduced_match",
    "in_training",
    "ratings_from_later",
    "stale_ratings",
    "unknown_kind",
    "not_in_match",
    "other_format",
    "other_gender",
    "other_teams",
    "other_balls_per_over",
    "no_target",
    "target_set_later",
    "doubted",
    "evidence_skipped",
]


class Remark(Plain):
    """A note about the limits of the numbers."""

    flag: Text
    text: Text


class Caution(Remark):
    """A remark with a flag from `FlagName`."""

    flag: FlagName


class Model(Plain):
    """The checkpoint that made the prediction, and the dates of its training data."""

    name: Text
    sha256: Text
    trained_from: Text | None
    trained_until: Text | None
    ratings_until: Text | None
    match_types: tuple[Text, ...]


class MatchFacts(Plain):
    """The match: its teams, place, dates and result, and notes about the match file."""

    match_id: Text
    match_type: Text | None
    gender: Text | None
    dates: tuple[Text, ...]
    season: Text | None
    event: Text | None
    venue: Text | None
    city: Text | None
    teams: tuple[Text, ...]
    batting_team: Text
    bowling_team: Text
    result: Text | None
    notes: tuple[Text, ...]


class BallStanding(Plain):
    """The scorebook before the ball.

    Attributes:
        bowler_overs: the overs that the bowler has bowled, such as ``3.2``. In The Hundred, an over
            has five balls.
        partnership_balls: the number of balls that the two batters have faced together.
        latest: the latest balls (at most six) in scorebook notation, oldest first.
        hat_trick: whether a wicket on this ball would be the bowler's third in three balls.
    """

    phase: Literal["powerplay", "middle overs", "death overs"] | None
    batter_runs: Integer
    batter_balls: Count
    bowler_overs: Text
    bowler_balls: Count | None = None
    bowler_runs: Integer
    bowler_wickets: Count
    partnership_runs: Integer
    partnership_balls: Count
    over_runs: Integer
    latest: tuple[Text, ...]
    hat_trick: Flag


class BallResult(Plain):
    """The result of the ball: the runs, the player who was out, the dismissal, and the fielders."""

    runs: Integer
    runs_batter: Integer
    out: Text | None
    how: Text | None
    fielders: tuple[Text, ...] = ()


class BallFacts(Plain):
    """The explained ball, and the scoreboard before it was bowled.

    ``run_rate`` and ``required_rate`` are runs per over. An over has ``balls_per_over`` balls.
    """

    innings: Ball
    index: Ball
    deliveries: Count
    over: Count
    label: Text | None
    actual_delivery: Text | None
    legal_number: Count | None
    is_legal: Flag | None
    batter: Text
    non_striker: Text
    bowler: Text
    score: Integer
    wickets: Count
    target: Integer | None
    balls_left: Integer | None
    runs_required: Integer | None
    required_rate: Finite | None
    run_rate: Finite | None
    free_hit: Flag | None
    super_over: Flag
    balls_per_over: Ball = 6
    echo: Text
    standing: BallStanding
    happened: BallResult | None = None


class OutcomeProbability(Plain):
    """The predicted probability of one outcome.

    Attributes:
        baseline: the prediction with every group of inputs hidden.
        usual: the probability at a similar scoreboard in recent matches of this competition,
            regardless of the players.
    """

    outcome: Outcome
    probability: Share
    baseline: Share
    usual: Share


class OutcomePoints(Plain):
    """A change of one outcome's probability, in percentage points."""

    outcome: Outcome
    points: Finite


def in_order(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the entries unchanged if they list every outcome once, in the order of `OUTCOMES`.

    Raises:
        ValueError: an outcome is missing, repeated or out of order.
    """
    if tuple(entry.outcome for entry in entries) != OUTCOMES:
        raise ValueError(f"list all outcomes once, in the order {' '.join(OUTCOMES)}")
    return entries


EveryOutcome = Annotated[tuple[OutcomePoints, ...], AfterValidator(in_order)]


class CallsLikeThis(Plain):
    """Held-out balls for which an outcome had a similar predicted probability.

    Attributes:
        predicted: the mean predicted probability of the balls.
        happened: the share of the balls on which the outcome happened.
        happened_ci: the 95% interval of ``happened``, from resampling matches. Null if all the
            balls are from one match.
    """

    outcome: Outcome
    predicted: Share
    happened: Share
    happened_ci: tuple[Share, Share] | None
    balls: Count


class Calibration(Plain):
    """How often outcomes with similar predicted probabilities happened in held-out matches.

    Attributes:
        checkpoint: the checkpoint whose calibration was measured. The model may use the calibration
            table of another checkpoint.
        matches, balls: the number of held-out matches, and the number of their balls.
        first, last: the days of the first and the last of these matches.
    """

    checkpoint: Text
    matches: Count
    balls: Count
    first: Text | None
    last: Text | None
    outcomes: Annotated[tuple[CallsLikeThis, ...], AfterValidator(in_order)]


class BallPrediction(Plain):
    """The prediction for the ball, with the usual probabilities and the baseline.

    Attributes:
        top: the most likely outcome.
        explained: the outcome that was requested, or null.
        subject: the outcome that the explanation is about
            (`attnlens.cricket.explain.reading.subject_outcome`).
        story_times: the probability of ``subject`` divided by its usual probability.
        calibration: null if the checkpoint has no calibration table, or if the table does not apply
            to the match (for example, to a super over).
    """

    outcomes: Annotated[tuple[OutcomeProbability, ...], AfterValidator(in_order)]
    top: Outcome
    explained: Outcome | None
    actual: Outcome | None
    surprise_bits: Positive | None
    calibration: Calibration | None
    subject: Outcome
    story_times: Positive


class ProjectedTotal(Plain):
    """The projected total of a first innings, in runs, with the ends of its 80% interval."""

    low: Finite
    mean: Finite
    high: Finite


class WinProbability(Plain):
    """The probability that the batting side wins the match.

    The values depend on the state of the match. The values ignore which players bat and bowl.

    Attributes:
        before: the value before the ball. In documents of attnlens 0.2, this field has the value of
            ``expected``.
        expected: the mean of ``after``, weighted by the predicted probabilities. Null in documents
            of attnlens 0.2.
        after: the value after each possible outcome.
        happened: the value after the actual outcome. Null if the ball has not been bowled.
        projected: the projected total before the ball; null in a chase.
    """

    team: Text
    before: Share
    expected: Share | None = None
    after: dict[Outcome, Share]
    happened: Share | None
    projected: ProjectedTotal | None = None


class BallContribution(Plain):
    """The percentage points that one past ball adds to the probability of each outcome.

    The points are the prediction minus the prediction with only this ball hidden.
    """

    index: Ball
    points: EveryOutcome


class ComesTrue(Plain):
    """The calibration slope of a group's contributions on held-out balls, with a 95% interval. The
    slope comes from a regression of actual outcomes on contributions. Calibrated contributions have
    a slope of 1.
    """

    slope: Finite
    low: Finite
    high: Finite


class Contribution(Plain):
    """The contribution of one group of inputs to the probability of each outcome (Shapley values).

    Attributes:
        points: the contributions relative to the baseline. The sum over all groups is the
            prediction minus the baseline.
        when: the time at which the values of the group become known.
        from_usual: the contributions relative to the usual probabilities. The sum over all groups
            is the prediction minus the usual probabilities. The scoreboard's contribution is the
            remainder.
        balls: the balls with the largest effects, largest first. Each ball is hidden alone, so the
            points of the balls need not sum to the points of the group.
        comes_true: the calibration of the group's contributions. Null if it was not measured.
    """

    group: Text
    points: EveryOutcome
    when: Literal["before the match", "in the match"]
    from_usual: EveryOutcome
    balls: Annotated[tuple[BallContribution, ...], Field(max_length=3)]
    comes_true: ComesTrue | None = None

    @property
    def holds(self) -> bool:
        """Whether the calibration interval contains 1. True if the calibration was not measured."""
        return self.comes_true is None or self.comes_true.low <= 1 <= self.comes_true.high


Role = Literal["batter", "bowler"]


class OutcomeCount(Plain):
    """The number of deliveries with one outcome, and the share of all counted deliveries."""

    outcome: Outcome
    count: Count
    share: Share


class PlayerRecord(Plain):
    """The deliveries in earlier matches from which a player's rating is computed.

    A player who is new to the model has no record.

    Attributes:
        deliveries: the number of deliveries faced or bowled, including wides and no-balls.
        last_day: the day of the last of these deliveries.
        outcomes: the number of deliveries with each outcome. Wickets of the non-striker are
            included.
    """

    role: Role
    player: Text
    deliveries: Count
    last_day: Text
    outcomes: Annotated[tuple[OutcomeCount, ...], AfterValidator(in_order)]


class PastBall(Plain):
    """A past ball: its outcome, its attention, and the effect of hiding the ball.

    The *subject* is the outcome that the explanation is about. If evidence was not requested, all
    effects are null.

    Attributes:
        attention: the ball's share of the attention over all heads. Each head is weighted by its
            effect on the prediction. The shares of all past balls sum to 1.
        effect_log_odds: the decrease of the subject's log-odds when only this ball is hidden.
        effect_points: the decrease of the subject's probability, in percentage points, when only
            this ball is hidden.
        effect_nats: the effect of hiding only this ball, as a KL divergence.
        rarity: the share of similar balls in other innings whose effect is at least as large, in
            either direction. Similar balls have a similar distance and the same relation to the
            current players.
    """

    index: Ball
    label: Text
    over: Count
    batter: Text
    bowler: Text
    outcome: Outcome
    runs: Integer
    runs_batter: Integer
    boundary: Flag
    wicket: Flag
    attention: Positive
    effect_log_odds: Finite | None
    effect_points: Finite | None
    effect_nats: Finite | None
    rarity: Share | None


class TopChange(Plain):
    """One outcome's probability before and after a change, and the difference in points.

    The outcome is the explained outcome. If the whole distribution is explained, the outcome is the
    one that changes most (for a claim about boundaries, among four and six).
    """

    outcome: Outcome
    points: Finite
    before: Share
    after: Share


class ReplacedOutcomes(Plain):
    """The effect of replacing the actual outcomes of a claim's balls by expected outcomes.

    Attributes:
        effect_nats, effect_log_odds: the effect in the units of `Evidence`.
        p: the p-value. In the control sets, the outcomes of the same number of other balls are
            replaced.
    """

    effect_nats: Finite
    effect_log_odds: Finite | None
    p: Share | None


class ControlRange(Plain):
    """Quantiles (2.5%, 50%, 97.5%) of the outcome's probability when control sets are hidden."""

    low: Share
    median: Share
    high: Share


BallAspect: TypeAlias = Literal["played", "happened"]


ClaimKind = Literal[
    "attended most",
    "attended",
    "this over",
    "this bowler",
    "this batter",
    "boundaries",
    "last balls",
    "head",
    "the scoreboard",
    "the chase",
    "striker's record",
    "bowler's record",
    "venue and teams",
]


Control = Literal[
    "balls of other innings, alike in distance and players",
    "other sets of as many balls, beyond what distance explains",
    "other sets of as many balls, beyond what distance and players explain",
    "other sets of as many balls, hidden from the same head",
    "records of other players",
    "scoreboards of earlier balls",
    "other sets of as many balls, allowing for where they stand",
    "other sets of as many balls, as many of them to this batter, allowing for where they stand",
]
"""The kinds of control sets for a p-value. Only documents of schema 1.0 use the last two."""


Direction = Literal["raise", "lower"]


class Evidence(ClaimResult):
    """A claim, the intervention that tests it, and the verdict.

    Attributes:
        reference: true for the claim about the last balls, which is shown only for comparison.
        removed: the past balls that are hidden. Empty if the claim is about another input, such as
            a player's record.
        outcome: the outcome on which the effect is measured. Null for the whole distribution.
        direction: whether the claim says that the balls raise or lower the probability of
            ``outcome``.
        single_effects: for each ball of ``removed``, how much hiding only this ball lowers the
            outcome's log-odds. A positive value means that the ball raises the outcome's
            probability. If ``outcome`` is null, the effects are in nats. For a head of the long
            scale, there is one value, for the whole over.
        opposing: the number of balls that have the opposite effect when they are hidden alone.
        share: the effect of hiding the balls from the head, divided by the effect of hiding the
            same balls from the whole model. Null for a claim about the whole model.
        control_quantiles_nats: the 5th, 25th, 50th, 75th and 95th percentiles of the control sets'
            effects. The effect of a set is the sum of its single effects.
        controls: quantiles of the probability of ``outcome`` when control sets are hidden.
        statistic: the test statistic. For past balls, the statistic is the sum of the changes when
            each ball is hidden alone. If the balls are hidden from the whole model, each change is
            standardised with the mean and the standard deviation for similar balls in other
            innings. For another input, the statistic is the change when this input is hidden.
        statistic_quantiles: the same five percentiles of the test statistics of the control sets.
        replaced: the second test of a supported claim about past balls, in which the outcomes of
            the balls are replaced.
        about: ``happened`` if the second test also supports the claim, otherwise ``played``. Null
            without a second test.
    """

    scale: Scale | None
    head: HeadKey | None
    kind: ClaimKind
    removed: tuple[Ball, ...]
    outcome: Outcome | None
    direction: Direction | None = None
    changes: EveryOutcome
    top_change: TopChange
    control: Control | None
    opposing: Count
    controls: ControlRange | None
    about: BallAspect | None
    replaced: ReplacedOutcomes | None

    @property
    def family(self) -> str:
        """Return ``page``, because the p-values of all claims of a page are corrected together."""
        return "page"


class Fact(Plain):
    """A number or a name in a sentence, with the JSON pointer to its value in the explanation."""

    text: Text
    pointer: Text


class Sentence(Plain):
    text: Text
    facts: tuple[Fact, ...]


class Explanation(JsonDocument):
    """The explanation of one ball: the prediction, the attention, and the tested claims.

    Every value has a plain JSON type. `from_json` restores exactly what `to_json` wrote.
    """

    noun: ClassVar[str] = "an explanation"
    rendered_as: ClassVar[str] = "explanation"
    remedy: ClassVar[str] = (
        "create one with `attnlens explain --format json`; `attnlens schema` prints the format"
    )

    schema_version: Literal["2.0"]
    model: Model
    match: MatchFacts
    ball: BallFacts
    prediction: BallPrediction
    win_probability: WinProbability | None = None
    contributions: Annotated[tuple[Contribution, ...], Field(max_length=10)]
    records: Annotated[tuple[PlayerRecord, ...], Field(max_length=2)] = ()
    within_ball: WithinBall
    across_balls: AcrossBalls
    fusion_weights: FusionWeights
    past_balls: tuple[PastBall, ...]
    evidence: tuple[Evidence, ...]
    flags: tuple[Caution, ...]
    summary: Text
    narrative: tuple[Sentence, ...]

    @model_validator(mode="before")
    @classmethod
    def _of_schema_1(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("schema_version") != "1.0":
            return data
        try:
            return {**upgraded(data), "schema_version": SCHEMA_VERSION}
        except (AttributeError, KeyError, TypeError):
            return {**data, "schema_version": SCHEMA_VERSION}  # else a wrong field is reported

    def clauses(self) -> tuple[Clause, ...]:
        """Return the sentences about the ball, each with an id for `attnlens.render_text`.

        The sentences are the narrative, the facts of the ball, the claims with verdicts, and the
        cautions.
        """
        clauses: tuple[Clause, ...] = resolve_name(
            "attnlens.cricket.words.clauses:explanation_clauses"
        )(self)
        return clauses


def json_schema() -> Json:
    """Return the JSON Schema (draft 2020-12) of an explanation."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": _SCHEMA_ID,
        **Explanation.model_json_schema(mode="serialization"),
    }
