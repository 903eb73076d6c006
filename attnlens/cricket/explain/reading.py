"""Read the predictor's attention to past balls, and choose the outcome to explain."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlens.attention.heads import built_in
from attnlens.cricket.explain import types
from attnlens.cricket.match.match import OUTCOME_INDEX, OUTCOMES, Outcome
from attnlens.cricket.predictor.predictor import FUSED, FullModel, Prediction
from attnlens.cricket.predictor.relations import (
    MIN_WEIGHT,
    STARTING_PATTERNS,
    Batch,
    RelationAttention,
    RelationBlock,
)
from attnlens.cricket.predictor.scales import (
    QUESTIONS,
    SCALE_NAMES,
    SCALE_QUESTIONS,
    SHARES,
    UNNAMED,
    UNSPECIALISED,
    Scale,
    WindowBall,
    head_key,
)
from attnlens.cricket.predictor.temporal import WHOLE_RELATIONS
from attnlens.cricket.predictor.tensors import InningsArrays
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import BallWindow
from attnlens.files import Floats, Json
from attnlens.recording import record
from attnlens.recording.attention_record import AttentionRecord
from attnlens.reference.attention import unflattened
from attnlens.render.numbers import rounded

MAX_LISTED_BALLS: Final = 4
NATS_DIGITS: Final = 9
RELATION_HEADS: Final = ("same_bowler", "same_batsman")
"""Heads with these patterns list one player's balls and, in any case, the most attended ball."""


@dataclass(frozen=True, slots=True)
class ScaleAttention:
    """The attention of one scale's heads to past balls.

    In ``balls``, the oldest ball is first. ``rows`` and all later attributes have one entry for
    each head.

    Attributes:
        current: the index of the current ball.
        rows: the attention weight on each past ball.
        own: the attention weight on the current ball, or on the null key.
        carries: the head's share of the past balls' effect (`head_shares`).
        patterns: the result of `head_patterns`.
        sees: the relation to which the head is restricted, or ``None``.
        earned: the relation that describes the head's measured behaviour, or ``unspecialised``.
        bias_shares: the result of the function `bias_shares`.
        over_weights: the attention weight on each over, for the long scale only.
    """

    scale: Scale
    current: int
    balls: Sequence[WindowBall]
    rows: Sequence[Sequence[float]]
    own: Sequence[float]
    carries: Sequence[float]
    patterns: Sequence[str | None]
    sees: Sequence[str | None]
    earned: Sequence[str]
    bias_shares: Sequence[float | None]
    over_weights: Sequence[Mapping[int, float]] | None = None


def ranked(balls: Sequence[WindowBall], row: Sequence[float]) -> list[int]:
    """Return the positions of the balls, sorted by attention weight from the largest.

    Of two equal weights, the later ball is first. Weights that round to 0 are left out.
    """
    order = sorted(range(len(balls)), key=lambda at: (-row[at], -balls[at].index))
    return [at for at in order if rounded(row[at]) > 0]


def aggregate(attention: ScaleAttention) -> types.AggregateAttention:
    """Return how all heads together divide their attention among categories of past balls.

    A ball that matches several categories is counted only once.
    """
    parts = dict.fromkeys(types.AggregateAttention.model_fields, 0.0)
    for at, ball in enumerate(attention.balls):
        fitting = (name for name in RELATION_HEADS if name in ball.relations)
        part: str = next(fitting, "boundaries" if ball.boundary else "other")
        part = "last_over" if "same_over" in ball.relations else part
        parts[part] += sum(row[at] for row in attention.rows)
    total = sum(parts.values()) or 1.0
    return types.AggregateAttention(**{name: rounded(part / total) for name, part in parts.items()})


def shares(attention: ScaleAttention) -> tuple[types.RelationShare, ...]:
    """Return the share of the attention that goes to each relation, and the uniform share.

    The uniform share is the fraction of past balls that have the relation.
    """
    total = sum(sum(row) for row in attention.rows)

    def share_of(relation: str) -> types.RelationShare:
        positions = [p for p, ball in enumerate(attention.balls) if relation in ball.relations]
        uniform = len(positions) / len(attention.balls) if attention.balls else 0.0
        paid = sum(row[at] for row in attention.rows for at in positions)
        share = paid / total if total else 0.0
        return types.RelationShare(
            relation=relation,
            share=rounded(min(share, 1.0)),
            uniform=rounded(uniform),
            ratio=rounded(share / uniform) if uniform and total else None,
        )

    return tuple(map(share_of, SHARES))


def note_on(balls: Sequence[WindowBall]) -> str | None:
    """Return a phrase such as ``all were boundaries``, or ``None``."""
    if len(balls) < 2:
        return None
    traits: tuple[tuple[str, Callable[[WindowBall], bool]], ...] = (
        ("all were boundaries", lambda ball: ball.boundary),
        ("all were dot balls", lambda ball: ball.runs == 0 and not ball.wicket),
        ("all in this over", lambda ball: "same_over" in ball.relations),
        ("each a wicket or next to one", lambda ball: "wicket_adjacent" in ball.relations),
    )
    return next((text for text, holds in traits if all(map(holds, balls))), None)


def heat_map(
    attention: ScaleAttention,
    *,
    bowler: str,
    batter: str,
    effects: Mapping[int, float] | None = None,
) -> types.HeatMap | types.LongHeatMap:
    """Return the heat map of one scale.

    Args:
        bowler, batter: the players of the current ball.
        effects: the effect of hiding each ball alone, in nats, by the index of the ball; ``None``
            if the effects were not measured.
    """
    balls = attention.balls
    kind = types.LongHeatMap if attention.over_weights is not None else types.HeatMap
    return kind.model_validate(
        {
            "scale": attention.scale,
            "current_ball": attention.current,
            "sequence_range": (balls[0].index if balls else attention.current, attention.current),
            "question": SCALE_QUESTIONS[attention.scale],
            "attention_by_head": {
                head_key(number, pattern): _head(attention, number, bowler, batter, effects)
                for number, pattern in enumerate(attention.patterns)
            },
            "aggregate_attention": aggregate(attention),
            "shares": shares(attention),
            "balls": [ball.index for ball in balls],
            "ball_labels": [ball.label for ball in balls],
            "ball_outcomes": [ball.outcome for ball in balls],
        }
    )


def _head(
    attention: ScaleAttention,
    number: int,
    bowler: str,
    batter: str,
    effects: Mapping[int, float] | None,
) -> Json:
    pattern, row, balls = attention.patterns[number], attention.rows[number], attention.balls
    order = ranked(balls, row)
    related = [
        at
        for at in order
        if at == order[0] or pattern not in RELATION_HEADS or pattern in balls[at].relations
    ]
    top = [balls[at] for at in related[:MAX_LISTED_BALLS]]
    earned = attention.earned[number]
    bias = attention.bias_shares[number]
    fields: Json = {
        "pattern": pattern or UNNAMED,
        "question": QUESTIONS.get(earned),
        "top_balls": [ball.index for ball in top],
        "weights": [rounded(row[at]) for at in related[:MAX_LISTED_BALLS]],
        "outcomes": [ball.outcome for ball in top],
        "labels": [ball.label for ball in top],
        "effects": [
            None if effects is None else rounded(effects[ball.index], NATS_DIGITS) for ball in top
        ],
        "top_any": [balls[at].index for at in order[:MAX_LISTED_BALLS]],
        "top_any_weights": [rounded(row[at]) for at in order[:MAX_LISTED_BALLS]],
        "self_attention": rounded(attention.own[number]),
        "past_attention": rounded(min(sum(row), 1.0)),
        "carries": rounded(attention.carries[number]),
        "sees": attention.sees[number],
        "row": [rounded(weight) for weight in row],
        "earned": None if earned == UNSPECIALISED else earned,
        "started_as": pattern,
        "note": note_on(top),
        "bias_share": None if bias is None else rounded(bias),
    }
    if attention.over_weights is not None:
        weights = attention.over_weights[number]
        overs = sorted(weights, key=lambda over: (-weights[over], -over))[:MAX_LISTED_BALLS]
        overs = [over for over in overs if rounded(weights[over]) > 0]
        fields |= {"top_overs": overs, "top_over_weights": [rounded(weights[o]) for o in overs]}
    players = {"same_bowler": {"bowler": bowler}, "same_batsman": {"batsman": batter}}
    return fields | players.get(pattern or "", {})


SITES: Final[dict[str, str]] = {
    scale: f"temporal.scales.{scale}.layers.0.attention" for scale in SCALE_NAMES
}


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """The attention weights of each head in one prediction, and the effect of each head.

    Attributes:
        probs: the prediction, shape ``(outcome,)``.
        gates: the fusion weight for each name in `FUSED`.
        scales: for each scale, attention weights on past balls (or overs), shape ``(head, key)``.
        own: for each scale, attention weights on the current ball or null key, shape ``(head,)``.
        head_effects: for each scale, the result of `head_effects`, shape ``(head, outcome)``.
        over_of: the over of each past ball, shape ``(past,)``; -1 for a ball outside the long
            scale.
    """

    probs: Floats
    gates: dict[str, float]
    scales: dict[str, Floats]
    own: dict[str, Floats]
    head_effects: dict[str, Floats]
    over_of: NDArray[np.int64]

    @property
    def carries(self) -> dict[str, Floats]:
        """For each scale, each head's share of the sum of all effect sizes, shape ``(head,)``.

        The sum of all shares is 1, or 0 if all effects are 0.
        """
        return head_shares(self.probs, self.head_effects)

    def over_balls(self, scale: str, weights: Floats) -> Floats:
        """Convert weights over keys ``(..., key)`` to weights over past balls ``(..., past)``.

        The weight of an over is divided evenly among its visible balls.
        """
        spread = np.zeros((*weights.shape[:-1], len(self.over_of)))
        if scale != "long":
            spread[..., len(self.over_of) - weights.shape[-1] :] = weights
            return spread
        visible = self.over_of >= 0
        sizes = np.bincount(self.over_of[visible], minlength=weights.shape[-1])
        spread[..., visible] = weights[..., self.over_of[visible]] / sizes[self.over_of[visible]]
        return spread

    def through_heads(self, scales: Mapping[str, Floats]) -> Floats:
        """Return each past ball's contribution to the log-probabilities, shape ``(past, outcome)``.

        The function `past_parts` divides the effect of each head among the balls.

        Args:
            scales: for each scale, attention weights, shape ``(head, key)``.
        """
        added = np.zeros((len(self.over_of), len(self.probs)))
        for scale, rows in scales.items():
            parts = self.over_balls(scale, past_parts(scale, rows))
            added += np.einsum("hk,ho->ko", parts, self.head_effects[scale])
        return added

    def total(self, scales: Mapping[str, Floats]) -> Floats:
        """Return each past ball's share of the attention over all heads, shape ``(past,)``.

        The share is proportional to the size (`size_of`) of the ball's contribution.
        """
        return past_shares_of(size_of(self.probs, self.through_heads(scales)))

    def signed_attention(self, outcome: int) -> Floats:
        """Return each past ball's contribution to an outcome's log-odds, shape ``(past,)``."""
        added: Floats = self.through_heads(self.scales)[:, outcome] / (1 - self.probs[outcome])
        return added

    def attention(self) -> Floats:
        """Return the result of `total` for the model's attention weights, shape ``(past,)``."""
        return self.total(self.scales)

    def uniform(self) -> Floats:
        """Return the result of `total` for heads that attend uniformly to their past keys."""

        def even(rows: Floats) -> Floats:
            total: Floats = rows.sum(-1, keepdims=True)
            return past_shares_of(np.where(rows > 0, 1.0, 0.0)) * total

        return self.total({scale: even(rows) for scale, rows in self.scales.items()})

    def rollout(self) -> Floats:
        """Return the attention rollout of the past balls, shape ``(past,)``.

        On scales with a residual connection, the attention weights are halved.
        """
        score = np.zeros(len(self.over_of))
        for scale, rows in self.scales.items():
            # The scale ``whole`` has no residual connection, so its attention counts in full.
            residual = 1.0 if scale == "whole" else 0.5
            score = score + residual * self.gates[scale] * self.over_balls(scale, rows.mean(0))
        return score


def past_shares_of(rows: Floats) -> Floats:
    """Divide each row ``(..., key)`` by its sum. A row whose sum is 0 stays 0."""
    total = rows.sum(-1, keepdims=True)
    shares: Floats = np.divide(rows, total, out=np.zeros_like(rows), where=total > 0)
    return shares


def head_effects(model: FullModel, prediction: Prediction, captured: Captured) -> dict[str, Floats]:
    """Return heads' effects on log-probabilities for each scale, shape ``(query, head, outcome)``.

    The effect is the decrease of the logits when past balls are hidden from this head only. The
    mean decrease under the prediction is subtracted.

    Args:
        captured: the result of `captured_activations` for `observed_modules`.
    """
    probs = prediction.logits[0].double().softmax(-1)
    effects = {}
    for number, (scale, site) in enumerate(SITES.items(), 1):
        attention, block = attention_at(model, site), model.get_submodule(block_at(site))
        assert isinstance(block, RelationBlock)
        (query, *_), _ = captured[block_at(site)]
        (head_outputs,), added = captured[f"{site}.to_output"]
        query, head_outputs, added = (
            part.reshape(*prediction.logits.shape[1:2], -1) for part in (query, head_outputs, added)
        )
        per_head = unflattened(head_outputs, -1, (attention.num_heads, -1))
        without_past = torch.zeros_like(per_head)
        if attention.to_value is not None:
            own_values = attention.to_value(block.query_norm(query))
            without_past = unflattened(own_values, -1, (attention.num_heads, -1))
        projection = unflattened(attention.to_output.weight, -1, (attention.num_heads, -1))
        change = torch.einsum("qhd,ohd->qho", without_past - per_head, projection)
        if scale != "whole":
            norm = model.temporal.output_norms[scale]
            before, after = (
                norm(value + block.feed(block.feed_norm(value)))
                for value in (query + added, query[:, None] + added[:, None] + change)
            )
            change = after - before[:, None]
        logits = (prediction.gates[0, :, number, None, None] * change) @ model.to_outcome.weight.T
        logits = logits.double()
        lost = (probs[:, None] * logits).sum(-1, keepdim=True) - logits
        effects[scale] = lost.detach().numpy()
    return effects


def size_of(probs: Floats, changes: Floats) -> Floats:
    """Return the sizes ``(...)`` of changes in log-probabilities ``(..., outcome)``.

    A size is the standard deviation over outcomes, weighted by the predicted probabilities. The
    size is approximately the square root of twice the KL divergence.
    """
    centred = changes - (probs * changes).sum(-1, keepdims=True)
    sizes: Floats = np.sqrt((probs * centred**2).sum(-1))
    return sizes


def head_shares(probs: Floats, effects: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return each head's share of the sum of all effect sizes, shape ``(..., head)`` per scale.

    Args:
        probs: the prediction, shape ``(..., outcome)``.
        effects: the result of `head_effects`, shape ``(..., head, outcome)``.
    """
    sizes = {scale: size_of(probs[..., None, :], each) for scale, each in effects.items()}
    shares = past_shares_of(np.concatenate([*sizes.values()], -1))
    ends = np.cumsum([size.shape[-1] for size in sizes.values()])[:-1]
    return dict(zip(sizes, np.split(shares, ends, -1), strict=True))


def observed_modules() -> list[str]:
    """Return the names of the modules whose activations `head_effects` needs."""
    return [name for site in SITES.values() for name in (block_at(site), f"{site}.to_output")]


def block_at(site: str) -> str:
    """Return the name of the encoder layer that contains the attention site."""
    return site.removesuffix(".attention")


def predict_paths(model: FullModel, batch: Batch) -> tuple[Prediction, Paths]:
    """Run one forward pass for one ball, and return the prediction and its `Paths`."""
    with captured_activations(model, *observed_modules()) as captured:
        prediction = model.predict(batch)
        with torch.no_grad():
            effects = head_effects(model, prediction, captured)
    sequence = batch["sequence"]
    visible = sequence["visible"][0, 0].numpy()
    over, current_over = sequence["balls"].over[0].numpy(), int(sequence["now"].over[0, 0])
    rows = {
        scale: weights[0, :, 0].detach().double().numpy()
        for scale, weights in prediction.scales.items()
    }
    paths = Paths(
        probs=prediction.logits[0, 0].detach().double().softmax(-1).numpy(),
        gates=dict(zip(FUSED, prediction.gates[0, 0].detach().double().tolist(), strict=True)),
        scales={scale: weights[:, :-1] for scale, weights in rows.items()},
        own={scale: weights[:, -1] for scale, weights in rows.items()},
        head_effects={scale: each[0] for scale, each in effects.items()},
        over_of=np.where(visible & (over < current_over), over, -1),
    )
    return prediction, paths


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The prediction and the attention of one forward pass for one ball.

    Attributes:
        probabilities: the outcome probabilities, shape ``(11,)``.
        total: each past ball's share of the attention over all heads, shape ``(past,)``.
    """

    probabilities: Floats
    prediction: Prediction
    scales: dict[str, ScaleAttention]
    total: Floats


def read_ball(predictor: TrainedPredictor, window: BallWindow) -> Reading:
    """Run the predictor on a ball, and return the prediction and the attention."""
    with record(predictor.model) as recording, torch.no_grad():
        prediction, paths = predict_paths(predictor.model, window.batch)
    return Reading(
        probabilities=prediction.logits[0, 0].double().softmax(-1).numpy(),
        prediction=prediction,
        scales={
            scale: scale_attention(
                predictor, window, recording[SITES[scale]], scale, paths.carries[scale]
            )
            for scale in SCALE_NAMES
        },
        total=paths.attention(),
    )


def scale_attention(
    predictor: TrainedPredictor,
    window: BallWindow,
    entry: AttentionRecord,
    scale: Scale,
    carries: Floats,
) -> ScaleAttention:
    """Return the attention of one scale to the past balls as plain numbers."""
    weights = entry.weights[0, :, 0].double().numpy()
    heads, keys = weights.shape[0], weights.shape[1] - 1
    balls = window.past[len(window.past) - keys :]
    rows, over_weights = weights[:, :-1], None
    if scale == "long":
        balls = tuple(ball for ball in window.past if ball.over < window.delivery.over)
        overs = np.array([ball.over for ball in balls], dtype=int)
        sizes = np.bincount(overs, minlength=keys)
        over_weights = [
            {over: float(row[over]) for over in range(keys) if sizes[over]} for row in weights
        ]
        rows = weights[:, overs] / sizes[overs]
    return ScaleAttention(
        scale=scale,
        current=window.delivery.index,
        balls=balls,
        rows=rows.tolist(),
        own=weights[:, -1].tolist(),
        carries=carries.tolist(),
        patterns=head_patterns(scale, heads),
        sees=attention_at(predictor.model, SITES[scale]).only,
        earned=predictor.earned(scale),
        bias_shares=bias_shares(entry),
        over_weights=over_weights,
    )


def head_patterns(scale: str, heads: int) -> list[str | None]:
    """Return the starting pattern of each head: the name of a relation, or ``None``.

    Training starts with a bias of the head towards balls with this relation. A head of the scale
    ``whole`` sees only balls with this relation.
    """
    patterns = WHOLE_RELATIONS if scale == "whole" else STARTING_PATTERNS
    return [*patterns, *[None] * heads][:heads]


def bias_shares(entry: AttentionRecord) -> list[float | None]:
    """Return, for each head, the share of the logits' variance that comes from built-in biases.

    Only the logits of past balls are used (see `built_in`). The share is ``None`` if these logits
    do not vary or were not recorded.
    """
    if entry.content is None or entry.bias is None or entry.weights.shape[-1] < 3:
        return [None] * entry.weights.shape[1]
    weights, content, bias = (
        part[0, :, 0, :-1].double().numpy() for part in (entry.weights, entry.content, entry.bias)
    )
    shares = built_in(bias, content, weights > 0).tolist()
    return [None if math.isnan(share) else share for share in shares]


def past_parts(scale: str, rows: Floats) -> Floats:
    """Divide each head's output among past balls, according to the weights ``(..., key)``.

    For most heads, a ball's share is its share of the attention to past balls. On the scale
    ``whole``, the share of a ball with weight w is log(1 - w) / log(weight on the null key). The
    sum of these shares is at most 1.
    """
    if scale != "whole":
        return past_shares_of(rows)

    def count(weights: Floats) -> Floats:
        result: Floats = -np.log(np.maximum(1 - weights, MIN_WEIGHT))
        return result

    total = count(rows.sum(-1, keepdims=True))
    parts: Floats = np.divide(count(rows), total, out=np.zeros_like(rows), where=total > 0)
    return parts


Captured: TypeAlias = dict[str, tuple[Any, Any]]
"""Maps the path of each module to the module's inputs and output."""


@contextmanager
def captured_activations(model: nn.Module, *names: str) -> Iterator[Captured]:
    """Record the inputs and the output of each named submodule's last call."""
    captured: Captured = {}

    def listen(name: str) -> Any:
        def hook(_: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            captured[name] = inputs, output

        return model.get_submodule(name).register_forward_hook(hook)

    handles = [listen(name) for name in names]
    try:
        yield captured
    finally:
        for handle in handles:
            handle.remove()


def keys_of(activations: Captured) -> dict[str, Tensor]:
    """Return the key vectors of the attention at each site, shape ``(1, key, width)``."""
    return {site: inputs[1].detach() for site, (inputs, _) in activations.items()}


def attention_at(model: FullModel, site: str) -> RelationAttention:
    module = model.get_submodule(site)
    assert isinstance(module, RelationAttention)
    return module


ALL: Final = "all"
"""The argument ``outcome`` for an explanation of the whole distribution."""

TALKED_OF: Final = frozenset({"0", "1", "4", "6", "W"})
MIN_NOTICEABLE, MIN_NOTICEABLE_RARE = 0.015, 0.05
"""Smallest noticeable differences from the usual probability: in `TALKED_OF`, and elsewhere."""


def scoreboard_baseline(window: BallWindow) -> Floats:
    """Return the usual probabilities for the scoreboard and the competition, shape ``(11,)``.

    The players have no influence. See `attnlens.cricket.predictor.tensors.usual_of`.
    """
    return usual_probabilities(window.arrays, window.delivery.index - 1)


def usual_probabilities(arrays: InningsArrays, position: int) -> Floats:
    """Return the usual probabilities for one ball of an encoded innings. Positions start at 0."""
    logs = arrays.usual[position].astype(float)
    probs: Floats = np.exp(logs - np.logaddexp.reduce(logs))
    return probs


def subject_of(
    window: BallWindow, full: Floats, outcome: str | None = None
) -> tuple[Outcome | None, bool]:
    """Return the result of `chosen_subject`, or ``(None, False)`` if ``outcome`` is `ALL`."""
    if outcome == ALL:
        return None, False
    return chosen_subject(full, scoreboard_baseline(window), window.delivery.outcome, outcome)


def chosen_subject(
    full: Floats, usual: Floats, actual: str | None, outcome: str | None = None
) -> tuple[Outcome, bool]:
    """Return the explained outcome, and whether it is noticeably less likely than usual.

    If the outcome is less likely, the claims say that balls lower the outcome's probability.

    Args:
        full, usual: the predicted and the usual probabilities, each of shape ``(11,)``.
        actual: the actual outcome; empty or ``None`` if the ball has not been bowled.
        outcome: the requested outcome; by default, the result of `subject_outcome`.
    """
    if outcome is None:
        subject = subject_outcome(full, usual, actual)
    else:
        subject = OUTCOMES[OUTCOME_INDEX[outcome]]
    at = OUTCOME_INDEX[subject]
    noticeable = MIN_NOTICEABLE if subject in TALKED_OF else MIN_NOTICEABLE_RARE
    return subject, bool(usual[at] - full[at] >= noticeable)


FAR_RATIO: Final = 2.0
"""A probability is far from usual if it differs by at least this factor, up or down."""

ALWAYS_SUBJECTS: Final = frozenset({"4", "6", "W"})
"""An actual outcome in this set is explained by default."""


def subject_outcome(full: Floats, usual: Floats, actual: str | None) -> Outcome:
    """Return the outcome that an explanation is about by default.

    For a ball that was bowled, take the first outcome whose condition is true:

    - the actual outcome, if it was a wicket, a four or a six;
    - the outcome farthest from usual (by ratio, up or down), among the outcomes with a ratio of at
      least two and a noticeable difference;
    - the actual outcome, if it was a dot or a single;
    - the most likely outcome among dot, single, four, six and wicket.

    For a ball that has not been bowled, take the outcome farthest from usual among those with a
    noticeable difference. If no difference is noticeable, take the outcome in `TALKED_OF` with the
    largest difference. With a smaller `FAR_RATIO`, the choice depends more on whether the match
    file gives the venue (measured on matches of 11 May to 23 October 2024).

    Args:
        full, usual: the predicted and the usual probabilities, each of shape ``(11,)``.
        actual: the actual outcome; empty or ``None`` if the ball has not been bowled.
    """
    if actual in ALWAYS_SUBJECTS:
        return OUTCOMES[OUTCOME_INDEX[actual]]
    apart = np.abs(full - usual)
    talked_of = np.array([name in TALKED_OF for name in OUTCOMES])
    times = np.abs(np.log(np.maximum(full, 1e-9) / np.maximum(usual, 1e-9)))
    candidates = apart >= np.where(talked_of, MIN_NOTICEABLE, MIN_NOTICEABLE_RARE)
    fallback = apart * talked_of
    if actual:
        candidates &= times >= math.log(FAR_RATIO)
        came = np.array([name == actual for name in OUTCOMES])
        fallback = talked_of * (full + came)
    return OUTCOMES[int((candidates * times if candidates.any() else fallback).argmax())]
