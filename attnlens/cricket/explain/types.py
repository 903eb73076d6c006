"""The explanation as typed, frozen data, and the JSON Schema that follows from it.

Each class lists its keys in the order in which they are written.
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
    """``earned`` is the name a head has earned, null where it has none; ``sees`` the relation of
    the only past balls that it may look at, null where it may look at all of its scale.

    ``carries`` is its part of what hiding the past from one head at a time does to this ball; over
    the heads of all scales it sums to 1. Both are null in documents of schema 1.0. On the scale
    ``whole`` ``self_attention`` is on nothing.
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


# Fields come in the order of the bases from last to first.
class HeadAttention(_WholeRow, _TopBalls, _Pattern):
    """One head's row of attention, from the current ball to the past."""


class BowlerHead(HeadAttention, _WholeRow, _TopBalls, _NamesBowler, _Pattern):
    """A head that started on the bowler's earlier balls."""


class BatsmanHead(HeadAttention, _WholeRow, _TopBalls, _NamesBatsman, _Pattern):
    """A head that started on the batter's earlier balls."""


class LongHead(HeadAttention, _WholeRow, _TopOvers, _TopBalls, _Pattern):
    """A head over summaries of earlier overs."""


class LongBowlerHead(LongHead, _WholeRow, _TopOvers, _TopBalls, _NamesBowler, _Pattern):
    """A head over earlier overs that started on the bowler's."""


class LongBatsmanHead(LongHead, _WholeRow, _TopOvers, _TopBalls, _NamesBatsman, _Pattern):
    """A head over earlier overs that started on the batter's."""


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
    """The mean over heads, each past ball counted once, under the first that fits."""

    last_over: Share
    same_bowler: Share
    same_batsman: Share
    boundaries: Share
    other: Share


class RelationShare(Plain):
    """The share of past attention on one relation, and the share that uniform attention gives."""

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

    scale: Literal["micro", "short", "medium", "whole"]
    attention_by_head: Annotated[dict[HeadKey, AnyHead], _ONLY_HEADS]


class LongHeatMap(_HeatMap):
    """Where attention went among earlier overs; an over's weight is split over its balls."""

    scale: Literal["long"]
    attention_by_head: Annotated[dict[HeadKey, AnyLongHead], _ONLY_HEADS]


class AcrossBalls(Plain):
    micro: HeatMap
    short: HeatMap
    medium: HeatMap
    long: LongHeatMap
    whole: HeatMap | None

    def scales(self) -> dict[str, HeatMap | LongHeatMap]:
        """The heat maps by scale; a document of schema 1.0 has none of ``whole``."""
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
    """Something a reader should know before trusting the figures."""

    flag: Text
    text: Text


class Caution(Remark):
    """Something a reader should know before trusting the figures."""

    flag: FlagName


class Model(Plain):
    """Which weights answered, and what they had seen."""

    name: Text
    sha256: Text
    trained_from: Text | None
    trained_until: Text | None
    ratings_until: Text | None
    match_types: tuple[Text, ...]


class MatchFacts(Plain):
    """The match, as its file describes it."""

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
    """The scorebook before the ball: figures of who bats and bowls, partnership, balls before.

    ``bowler_overs`` is written ``3.2``, of five balls in The Hundred; a partnership's balls are
    those faced; ``latest`` are the last six balls, oldest first, as a
    scorebook has them; ``hat_trick``: a wicket would be the bowler's third in three balls.
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
    """What the ball brought.

    ``out``, ``how`` and ``fielders``: who was out, the kind of dismissal, and who took part in it.
    """

    runs: Integer
    runs_batter: Integer
    out: Text | None
    how: Text | None
    fielders: tuple[Text, ...] = ()


class BallFacts(Plain):
    """The ball explained and the scoreboard as it stood before it was bowled.

    Rates are runs an over, of ``balls_per_over`` balls.
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
    """The probability of one outcome.

    ``baseline``: with nothing known of this ball. ``usual``: its recent frequency in this
    competition at such a scoreboard, whoever plays.
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
    """Entries of all outcomes, in their order.

    Raises:
        ValueError: they are not.
    """
    if tuple(entry.outcome for entry in entries) != OUTCOMES:
        raise ValueError(f"list all outcomes once, in the order {' '.join(OUTCOMES)}")
    return entries


EveryOutcome = Annotated[tuple[OutcomePoints, ...], AfterValidator(in_order)]


class CallsLikeThis(Plain):
    """Balls with about the same probability of an outcome, and how often it happened.

    ``predicted`` is their mean probability, ``happened`` how often it came true, with the 95%
    interval over resampled matches (null where they come from one match).
    """

    outcome: Outcome
    predicted: Share
    happened: Share
    happened_ci: tuple[Share, Share] | None
    balls: Count


class Calibration(Plain):
    """How often calls like these came true, on matches that ``checkpoint`` had not seen.

    ``checkpoint`` is the one whose calls were counted: the model's own name, or that of the one
    it stands for. ``matches``, ``balls``, ``first`` and ``last`` day tell on what.
    """

    checkpoint: Text
    matches: Count
    balls: Count
    first: Text | None
    last: Text | None
    outcomes: Annotated[tuple[CallsLikeThis, ...], AfterValidator(in_order)]


class BallPrediction(Plain):
    """What the model expects, and the baseline that knows nothing of this ball.

    ``explained`` is the outcome that was asked about, ``subject`` the one that the explanation is
    about (`attnlens.cricket.explain.reading.subject_outcome`). ``story_times`` is how many times as
    likely as usual that is.
    ``calibration`` is null where the checkpoint carries no such table.
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
    """Runs that a first innings may come to: the mean, and the range of the middle 80%."""

    low: Finite
    mean: Finite
    high: Finite


class WinProbability(Plain):
    """The probability that the side batting wins the match.

    ``before`` is the value of the state before the ball, ``after`` each outcome that of the state
    it leads to; neither knows who bats or bowls. ``expected`` is the mean of ``after`` over the
    forecast; null in documents of attnlens 0.2, whose ``before`` was that mean. ``happened`` is the
    probability after what happened; null if nothing has yet. ``projected``: the total before the
    ball; null in a chase.
    """

    team: Text
    before: Share
    expected: Share | None = None
    after: dict[Outcome, Share]
    happened: Share | None
    projected: ProjectedTotal | None = None


class BallContribution(Plain):
    """What one past ball adds to each outcome: the prediction minus that without it."""

    index: Ball
    points: EveryOutcome


class ComesTrue(Plain):
    """The slope of what came on what such a reason says (1: as it says), and its 95% interval."""

    slope: Finite
    low: Finite
    high: Finite


class Contribution(Plain):
    """What one group of inputs adds to each outcome (Shapley values).

    ``points`` are from the baseline; ``from_usual`` from what is usual at this scoreboard in this
    competition of late, so that the scoreboard's part is what the network makes of it beside that.
    Both sum to the difference.
    ``when`` it was known. ``balls``: the group's balls that do most by themselves, the
    greatest first. Each is taken away alone, so they need not sum to the group's points.
    ``comes_true``: null where the checkpoint carries no such measurement.
    """

    group: Text
    points: EveryOutcome
    when: Literal["before the match", "in the match"]
    from_usual: EveryOutcome
    balls: Annotated[tuple[BallContribution, ...], Field(max_length=3)]
    comes_true: ComesTrue | None = None

    @property
    def holds(self) -> bool:
        """Whether such points come as said, as far as is known."""
        return self.comes_true is None or self.comes_true.low <= 1 <= self.comes_true.high


Role = Literal["batter", "bowler"]


class OutcomeCount(Plain):
    """How often an outcome came, and its share of the deliveries."""

    outcome: Outcome
    count: Count
    share: Share


class PlayerRecord(Plain):
    """What the rating of the batter or the bowler rests on: his deliveries in earlier matches.

    ``deliveries`` faced or bowled, wides and no-balls among them, to ``last_day``; ``outcomes``
    of those deliveries, where a wicket is anybody's. A player never met has no record.
    """

    role: Role
    player: Text
    deliveries: Count
    last_day: Text
    outcomes: Annotated[tuple[OutcomeCount, ...], AfterValidator(in_order)]


class PastBall(Plain):
    """A ball before this one: what happened, where the model looked, and what hiding it does.

    ``attention`` is its share of attention over all heads, each by what it adds; over
    the past balls it sums to 1. The effects are of the page's subject, positive where the ball
    raises it: the log-odds and the percentage points that hiding the ball takes away;
    ``effect_nats`` is how far that moves the tested distribution. ``rarity`` is the share of balls
    of other innings, alike in distance and in who played, whose effect is at least as large, of
    either sign. All are null without evidence.
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
    """The explained outcome, else the one that moves most: before, after, points.

    For a claim about boundaries without an explained outcome it is four or six.
    """

    outcome: Outcome
    points: Finite
    before: Share
    after: Share


class ReplacedOutcomes(Plain):
    """The same balls with what was expected of them instead of what happened on them.

    ``effect_log_odds`` and ``effect_nats`` as of `Evidence`; ``p`` against other sets of as many
    balls whose outcomes are replaced.
    """

    effect_nats: Finite
    effect_log_odds: Finite | None
    p: Share | None


class ControlRange(Plain):
    """The outcome's probability with other sets hidden: 2.5%, 50% and 97.5% of those drawn."""

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
"""What p compares with; the last two in documents of schema 1.0 alone."""


Direction = Literal["raise", "lower"]


class Evidence(ClaimResult):
    """A claim, the intervention that tests it, and the verdict.

    ``removed`` is empty where the claim is about what was known, not about past balls;
    ``single_effects`` are those of hiding each of them alone: the log-odds that it takes from the
    outcome (positive: the ball raises it), or nats; ``opposing`` is how many of them push the other
    way than all together. ``share`` is a head's part of
    the effect that hiding the same balls from the whole model has; null for claims about the
    model. ``outcome`` is what the effect is measured on, null for the whole distribution;
    ``direction`` what the claim says that its balls do to the chance of it.
    ``statistic`` is what p compares: the sum of what each ball does alone, as standard deviations
    from what hiding a ball does whose distance and players are alike, in other innings; of what was
    known, the change itself. ``statistic_quantiles`` are those of what chance would have
    named, as the quantiles below.
    ``reference`` marks the claim that any reader would guess, the last balls. Controls are other
    sets: ``control_quantiles_nats`` are the 5th, 25th, 50th, 75th and 95th percentiles of their
    single effects summed, ``controls`` what hiding some of them leaves of the outcome's
    probability. On the long scale a head's keys are overs: ``single_effects`` is then one, the
    over's. ``replaced`` is the second test of a supported claim about past balls, with what
    happened on them replaced; ``about`` is ``happened`` where that holds too, else ``played``.
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
        """As `attnlens.cricket.explain.claims.BallClaim.family`."""
        return "page"


class Fact(Plain):
    """A number or a name in a sentence, and where in the explanation it comes from."""

    text: Text
    pointer: Text


class Sentence(Plain):
    text: Text
    facts: tuple[Fact, ...]


class Explanation(JsonDocument):
    """Why the model expects what it expects of one ball, with what was tested.

    Plain JSON types all through; `to_json` and `from_json` are exact inverses.
    """

    noun: ClassVar[str] = "an explanation"
    rendered_as: ClassVar[str] = "explanation"
    remedy: ClassVar[str] = "write one with `attnlens explain --format json`, check with `schema`"

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
            return {**data, "schema_version": SCHEMA_VERSION}  # what is wrong is said of its fields

    def clauses(self) -> tuple[Clause, ...]:
        """Sentences about the ball, each with an id for `attnlens.render_text`.

        They are the narrative, the ball's facts, the claims with their verdicts, and the cautions.
        """
        clauses: tuple[Clause, ...] = resolve_name(
            "attnlens.cricket.words.clauses:explanation_clauses"
        )(self)
        return clauses


def json_schema() -> Json:
    """The JSON Schema (draft 2020-12) of an explanation."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": _SCHEMA_ID,
        **Explanation.model_json_schema(mode="serialization"),
    }
