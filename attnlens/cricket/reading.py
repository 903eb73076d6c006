"""What the predictor did with a ball: attention by scale, head and past ball, as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from attnlens.cricket.trained import TrainedPredictor
from attnlens.cricket.window import BallWindow
from attnlens.explanation.heatmap import ScaleAttention
from attnlens.models.predictor import FUSED, FullModel, Prediction
from attnlens.models.relation_attention import STARTING_PATTERNS
from attnlens.models.temporal import SCALES
from attnlens.recorder import record
from attnlens.records import AttentionRecord, Recording

Floats = NDArray[np.float64]

SITES: Final[dict[str, str]] = {
    scale: f"temporal.scales.{scale}.layers.0.attention" for scale in SCALES
}
"""Where each scale's attention is recorded."""

SLOT_SITE: Final = "slots.attention"


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """One recorded pass over one ball.

    Attributes:
        probabilities: of the outcomes, ``(11,)``.
        recording: every probe's weights, the key axes labelled with the balls.
        prediction: what the pass returned.
        scales: attention by scale.
        total: each past ball's attention over all paths, ``(past,)``: the sum over scales
            of gate times mean-head weight, and over slots of the ball's own gate times the
            slot's share of the ball's vector times weight.
    """

    probabilities: Floats
    recording: Recording
    prediction: Prediction
    scales: dict[str, ScaleAttention]
    total: Floats


def read_ball(predictor: TrainedPredictor, window: BallWindow) -> Reading:
    """Run the predictor on a ball and read its attention."""
    with record(predictor.model) as raw, torch.no_grad():
        prediction = predictor.model.predict(window.batch)
    recording = labelled(raw, window)
    logits = prediction.logits[0, 0].double()
    gates = dict(zip(FUSED, prediction.gates[0, 0].tolist(), strict=True))
    total = slot_attention(predictor.model, prediction) * gates["within_ball"]
    scales = {}
    for scale in SCALES:
        scales[scale], spread = scale_attention(predictor, window, recording[SITES[scale]], scale)
        total += gates[scale] * spread
    return Reading(logits.softmax(-1).numpy(), recording, prediction, scales, total)


def labelled(raw: Recording, window: BallWindow) -> Recording:
    """The recording with ball labels on its key axes, and over numbers on the long scale's."""
    named = Recording()
    labels = window.labels
    for site in raw:
        for entry in raw.calls(site):
            if entry.axes[-1].name != "key":
                named.add(entry)
                continue
            keys = entry.weights.shape[-1]
            if site == SITES["long"]:
                words = (*(f"over {number}" for number in range(keys - 1)), "this ball")
            elif site == SLOT_SITE:
                words = labels if keys == len(labels) else (*labels, "nothing")
            else:
                words = (*labels[len(labels) - (keys - 1) :], "this ball")
            named.add(entry.labelled(key=words))
    return named


def slot_attention(model: FullModel, prediction: Prediction) -> Floats:
    """Each past ball's attention through the slots inside the ball, ``(past,)``."""
    shares = model.slot_shares(prediction)[0, 0].double().numpy()
    total: Floats = shares @ prediction.slots[0, :, 0].double().numpy()
    return total


def scale_attention(
    predictor: TrainedPredictor, window: BallWindow, entry: AttentionRecord, scale: str
) -> tuple[ScaleAttention, Floats]:
    """One scale as plain numbers, and its mean-head weight on every past ball ``(past,)``."""
    weights = entry.weights[0, :, 0].double().numpy()
    heads, keys = weights.shape[0], weights.shape[1] - 1
    spread = np.zeros((heads, len(window.past)))
    over_weights = None
    if scale == "long":
        overs = np.array([ball.over for ball in window.past], dtype=int)
        shown = overs < window.delivery.over
        sizes = np.bincount(overs[shown], minlength=keys) if shown.any() else np.zeros(keys)
        for place in np.flatnonzero(shown):
            spread[:, place] = weights[:, overs[place]] / sizes[overs[place]]
        balls = [ball for ball, earlier in zip(window.past, shown, strict=True) if earlier]
        rows = spread[:, shown]
        over_weights = [
            {over: float(row[over]) for over in range(keys) if sizes[over]} for row in weights
        ]
    else:
        balls = list(window.past[len(window.past) - keys :])
        rows = weights[:, :-1]
        spread[:, len(window.past) - keys :] = rows
    patterns = [
        STARTING_PATTERNS[head] if head < len(STARTING_PATTERNS) else None for head in range(heads)
    ]
    return (
        ScaleAttention(
            scale=scale,
            current=window.delivery.index,
            balls=balls,
            rows=rows.tolist(),
            own=weights[:, -1].tolist(),
            patterns=patterns,
            earned=predictor.earned(scale),
            bias_shares=bias_shares(entry),
            over_weights=over_weights,
        ),
        spread.mean(0),
    )


def bias_shares(entry: AttentionRecord) -> list[float | None]:
    """How much of each head's preference among past balls is built in.

    The variance of the built-in biases over the visible past balls, as a share of the sum
    of that variance and the variance of content (query times key). ``None`` where there are
    fewer than two balls or nothing varies.
    """
    if entry.content is None or entry.bias is None:
        return [None] * entry.weights.shape[1]
    told: list[float | None] = []
    for head in range(entry.weights.shape[1]):
        seen = entry.weights[0, head, 0, :-1] > 0
        if int(seen.sum()) < 2:
            told.append(None)
            continue
        built_in = float(entry.bias[0, head, 0, :-1][seen].var())
        content = float(entry.content[0, head, 0, :-1][seen].var())
        told.append(built_in / (built_in + content) if built_in + content else None)
    return told
