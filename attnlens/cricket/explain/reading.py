"""What the predictor did with a ball, as numbers: its attention, and the outcome of its story."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlens.attention.heads import built_in
from attnlens.cricket.explain import types
from attnlens.cricket.match.outcomes import OUTCOME_INDEX, OUTCOMES, Outcome
from attnlens.cricket.predictor.predictor import FUSED, FullModel, Prediction
from attnlens.cricket.predictor.relations import STARTING_PATTERNS, Batch, RelationAttention
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
from attnlens.cricket.predictor.temporal import SLOTS
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import BallWindow
from attnlens.files import Floats
from attnlens.recording import record
from attnlens.recording.attention_record import AttentionRecord
from attnlens.render.numbers import rounded

MAX_LISTED_BALLS: Final = 4
"""Balls that are listed of a head."""

NATS_DIGITS: Final = 9
"""Decimals of effects, in nats."""

RELATION_HEADS: Final = ("same_bowler", "same_batsman")
"""What heads start as that list the ball they looked at most, and balls of their own player."""


@dataclass(frozen=True, slots=True)
class ScaleAttention:
    """What one scale paid attention to, of past ``balls``, oldest first.

    Attributes:
        rows: one per head: the weight of each ball; ``own``: its weight on the current ball itself.
        patterns: what each head started as, ``None`` for a free head.
        earned: the name each head has earned, or ``unspecialised``.
        bias_shares: how much of each head's preference among balls is built-in bias.
        over_weights: for the long scale, per head the weight of each over.
    """

    scale: Scale
    current: int
    balls: Sequence[WindowBall]
    rows: Sequence[Sequence[float]]
    own: Sequence[float]
    patterns: Sequence[str | None]
    earned: Sequence[str]
    bias_shares: Sequence[float | None]
    over_weights: Sequence[Mapping[int, float]] | None = None


def ranked(balls: Sequence[WindowBall], row: Sequence[float]) -> list[int]:
    """Positions by weight, the later ball first where two weigh the same; none of weight 0."""
    order = sorted(range(len(balls)), key=lambda at: (-row[at], -balls[at].index))
    return [at for at in order if rounded(row[at]) > 0]


def aggregate(attention: ScaleAttention) -> types.AggregateAttention:
    """The mean over heads, renormalised over past balls, each ball under the first that fits."""
    parts = dict.fromkeys(types.AggregateAttention.model_fields, 0.0)
    for at, ball in enumerate(attention.balls):
        fitting = (name for name in RELATION_HEADS if name in ball.relations)
        part: str = next(fitting, "boundaries" if ball.boundary else "other")
        part = "last_over" if "same_over" in ball.relations else part
        parts[part] += sum(row[at] for row in attention.rows)
    total = sum(parts.values()) or 1.0
    return types.AggregateAttention(**{name: rounded(part / total) for name, part in parts.items()})


def shares(attention: ScaleAttention) -> tuple[types.RelationShare, ...]:
    """Each relation's share of past attention beside what uniform attention would give."""
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
    """What all listed balls have in common, if there are at least two and they do."""
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
    """The inner heat map of what the heads of one scale looked at.

    ``bowler`` and ``batter`` are of the current ball. ``effects`` are nats that hiding a ball alone
    does, by its index; ``None`` where they were not measured.
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
) -> types.HeadAttention:
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
    fields = {
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
        "row": [rounded(weight) for weight in row],
        "earned": None if earned == UNSPECIALISED else earned,
        "started_as": pattern,
        "note": note_on(top),
        "bias_share": None if bias is None else rounded(bias),
    }
    kinds: tuple[type[types.HeadAttention], ...]
    kinds = types.HeadAttention, types.BowlerHead, types.BatsmanHead
    if attention.over_weights is not None:
        kinds = types.LongHead, types.LongBowlerHead, types.LongBatsmanHead
        weights = attention.over_weights[number]
        overs = sorted(weights, key=lambda over: (-weights[over], -over))[:MAX_LISTED_BALLS]
        overs = [over for over in overs if rounded(weights[over]) > 0]
        fields |= {"top_overs": overs, "top_over_weights": [rounded(weights[o]) for o in overs]}
    if pattern == "same_bowler":
        return kinds[1].model_validate(fields | {"bowler": bowler})
    if pattern == "same_batsman":
        return kinds[2].model_validate(fields | {"batsman": batter})
    return kinds[0].model_validate(fields)


SITES: Final[dict[str, str]] = {
    scale: f"temporal.scales.{scale}.layers.0.attention" for scale in SCALE_NAMES
}
"""Where each scale's attention is recorded."""

SLOT_SITE: Final = "slots.attention"


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """The ways from past balls to one prediction, and how much each counts.

    Attributes:
        gates: fusion weights by the names of `FUSED`.
        scales: weights by scale ``(head, key)``; for ``long`` a key is an over.
        own: the weight on the current ball itself by scale ``(head,)``.
        slots: slot weights ``(slot, past)``.
        shares, layers: each slot's part of the ball's own vector ``(slot,)``, and by rollout.
        readout: whether what the slots read is added to the ball's own vector too.
        over_of: the over of each past ball, -1 where ``long`` does not see it ``(past,)``.
        counts: how much the attention of each of `PATHS` says, ``(path,)``.
    """

    gates: dict[str, float]
    scales: dict[str, Floats]
    own: dict[str, Floats]
    slots: Floats
    shares: Floats
    layers: Floats
    readout: bool
    over_of: NDArray[np.int64]
    counts: Floats

    def over_balls(self, scale: str, weights: Floats) -> Floats:
        """Weights over a scale's keys ``(..., key)`` as weights over past balls ``(..., past)``.

        An over's weight is split evenly over its visible balls.
        """
        spread = np.zeros((*weights.shape[:-1], len(self.over_of)))
        if scale != "long":
            spread[..., len(self.over_of) - weights.shape[-1] :] = weights
            return spread
        visible = self.over_of >= 0
        sizes = np.bincount(self.over_of[visible], minlength=weights.shape[-1])
        spread[..., visible] = weights[..., self.over_of[visible]] / sizes[self.over_of[visible]]
        return spread

    def each(self, scales: Mapping[str, Floats], slots: Floats) -> Floats:
        """Weights over keys ``(key,)`` by scale and over slots ``(slot, past)``, times what the
        prediction takes of each of `PATHS`: ``(path, past)``.
        """
        rows = [self.gates[scale] * self.over_balls(scale, scales[scale]) for scale in SCALE_NAMES]
        within: Floats = self.gates["within_ball"] * self.shares[:, None] * slots
        return np.concatenate([np.stack(rows), within])

    def total(self, scales: Mapping[str, Floats], slots: Floats) -> Floats:
        """The same as one sum, each path counted by what its attention says, ``(past,)``."""
        score: Floats = self.counts @ self.each(scales, slots)
        return score

    def attention_each(self) -> Floats:
        """The mean-head weight of each path, times what the prediction takes of it."""
        return self.each({scale: rows.mean(0) for scale, rows in self.scales.items()}, self.slots)

    def attention(self) -> Floats:
        """Attention over all paths, ``(past,)``."""
        score: Floats = self.counts @ self.attention_each()
        return score

    def uniform(self) -> Floats:
        """The same with every path's weights even over what it may see."""
        scales = {}
        for scale, rows in self.scales.items():
            visible = (rows > 0).any(0).astype(float)
            scales[scale] = visible / (visible.sum() + 1)
        visible_slots = (self.slots > 0).astype(float)
        return self.total(
            scales, visible_slots / np.maximum(visible_slots.sum(1, keepdims=True), 1)
        )

    def rollout(self) -> Floats:
        """Attention followed to the inputs through residual layers, half kept at each."""
        inside: Floats = self.layers @ self.slots
        within = 0.5 * inside + 0.5 * self.slots.mean(0) if self.readout else inside
        score: Floats = self.gates["within_ball"] * within
        for scale, rows in self.scales.items():
            attended = self.over_balls(scale, rows.mean(0))
            stayed = 0.5 + 0.5 * float(self.own[scale].mean())
            score = score + self.gates[scale] * (0.5 * attended + stayed * inside)
        return score


def paths_of(model: FullModel, batch: Batch, prediction: Prediction) -> Paths:
    """The paths of one pass over one query."""
    sequence = batch["sequence"]
    visible = sequence["visible"][0, 0].numpy()
    over, current_over = sequence["balls"].over[0].numpy(), int(sequence["now"].over[0, 0])
    rows = {
        scale: weights[0, :, 0].detach().double().numpy()
        for scale, weights in prediction.scales.items()
    }
    return Paths(
        gates=dict(zip(FUSED, prediction.gates[0, 0].detach().double().tolist(), strict=True)),
        scales={scale: weights[:, :-1] for scale, weights in rows.items()},
        own={scale: weights[:, -1] for scale, weights in rows.items()},
        slots=prediction.slots[0, :, 0].detach().double().numpy(),
        shares=model.slot_shares(prediction)[0, 0].detach().double().numpy(),
        layers=_rolled(model, prediction),
        readout=model.readout is not None,
        over_of=np.where(visible & (over < current_over), over, -1),
        counts=model.path_counts.double().numpy(),
    )


def _rolled(model: FullModel, prediction: Prediction) -> Floats:
    """What part of the ball's own vector each slot is by rollout ``(slot,)``."""
    rolled, below = np.zeros(len(SLOTS)), None
    shares = prediction.within["layers"][0, 0].tolist()
    for share, (layer, nodes) in zip(shares, model.within_ball.graph.items(), strict=True):
        weights = dict(zip(nodes, prediction.within[layer][0, 0].tolist(), strict=True))
        direct = np.array([weights.get(slot, 0.0) for slot in SLOTS])
        # The first layer has none above it; each later one adds its nodes to the one above.
        below = direct if below is None else 0.5 * direct + 0.5 * below
        rolled += share * below
    return rolled


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """One recorded pass over one ball.

    ``probabilities`` are of the outcomes, ``(11,)``; ``total`` is each past ball's attention over
    all paths, ``(past,)``.
    """

    probabilities: Floats
    prediction: Prediction
    scales: dict[str, ScaleAttention]
    total: Floats


def read_ball(predictor: TrainedPredictor, window: BallWindow) -> Reading:
    """Run the predictor on a ball and read its attention."""
    with record(predictor.model) as recording, torch.no_grad():
        prediction = predictor.model.predict(window.batch)
    paths = paths_of(predictor.model, window.batch, prediction)
    return Reading(
        probabilities=prediction.logits[0, 0].double().softmax(-1).numpy(),
        prediction=prediction,
        scales={
            scale: scale_attention(predictor, window, recording[SITES[scale]], scale)
            for scale in SCALE_NAMES
        },
        total=paths.attention(),
    )


def scale_attention(
    predictor: TrainedPredictor, window: BallWindow, entry: AttentionRecord, scale: Scale
) -> ScaleAttention:
    """One scale as plain numbers; an over's weight is split evenly over its balls."""
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
        patterns=[*STARTING_PATTERNS, *[None] * heads][:heads],
        earned=predictor.earned(scale),
        bias_shares=bias_shares(entry),
        over_weights=over_weights,
    )


def bias_shares(entry: AttentionRecord) -> list[float | None]:
    """How much of each head's preference among past balls is built in (`built_in`).

    ``None`` where there are fewer than two balls or nothing varies.
    """
    if entry.content is None or entry.bias is None or entry.weights.shape[-1] < 3:
        return [None] * entry.weights.shape[1]
    weights, content, bias = (
        part[0, :, 0, :-1].double().numpy() for part in (entry.weights, entry.content, entry.bias)
    )
    shares = built_in(bias, content, weights > 0).tolist()
    return [None if math.isnan(share) else share for share in shares]


@contextmanager
def captured_activations(model: nn.Module, *names: str) -> Iterator[dict[str, tuple[Any, Any]]]:
    """What goes into submodules, and what comes out, of their last call inside: by name."""
    captured: dict[str, tuple[Any, Any]] = {}

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


def keys_of(activations: Mapping[str, tuple[Any, Any]]) -> dict[str, Tensor]:
    """What each attention reads ``(1, key, width)``, by site, of `captured_activations`."""
    return {site: inputs[1].detach() for site, (inputs, _) in activations.items()}


def attention_at(model: FullModel, site: str) -> RelationAttention:
    module = model.get_submodule(site)
    assert isinstance(module, RelationAttention)
    return module


ALL: Final = "all"
"""Asks for evidence about the whole distribution."""

TALKED_OF: Final = frozenset({"0", "1", "4", "6", "W"})
"""Outcomes that people talk of."""

MIN_NOTICEABLE, MIN_NOTICEABLE_RARE = 0.015, 0.05
"""How far from usual these, and the others, must be."""


def scoreboard_baseline(window: BallWindow) -> Floats:
    """What such a scoreboard brings in the competition of late, whoever plays, ``(11,)``.

    See `attnlens.cricket.predictor.tensors.usual_of`.
    """
    logs = window.arrays.usual[window.delivery.index - 1].astype(float)
    probs: Floats = np.exp(logs - np.logaddexp.reduce(logs))
    return probs


def subject_of(
    window: BallWindow, full: Floats, outcome: str | None = None
) -> tuple[Outcome | None, bool]:
    """The outcome that evidence is about, and whether claims say that balls lower its chance.

    They do where it is noticeably less likely than usual; else they raise it. Without an
    ``outcome`` it is `subject_outcome`; of `ALL` none, which is the whole distribution. The
    prediction is ``(11,)``.
    """
    if outcome == ALL:
        return None, False
    usual = scoreboard_baseline(window)
    subject = subject_outcome(full, usual) if outcome is None else OUTCOMES[OUTCOME_INDEX[outcome]]
    at = OUTCOME_INDEX[subject]
    noticeable = MIN_NOTICEABLE if subject in TALKED_OF else MIN_NOTICEABLE_RARE
    return subject, bool(usual[at] - full[at] >= noticeable)


def subject_outcome(full: Floats, usual: Floats) -> Outcome:
    """The outcome that is most times likelier or less likely than usual, if noticeably so.

    Where none is, the one people talk of that is furthest from usual. Both are ``(11,)``.
    """
    apart = np.abs(full - usual)
    talked_of = np.array([name in TALKED_OF for name in OUTCOMES])
    noticeable = apart >= np.where(talked_of, MIN_NOTICEABLE, MIN_NOTICEABLE_RARE)
    times = np.abs(np.log(np.maximum(full, 1e-9) / np.maximum(usual, 1e-9)))
    return OUTCOMES[
        int(
            np.where(noticeable, times, 0.0).argmax()
            if noticeable.any()
            else (apart * talked_of).argmax()
        )
    ]
