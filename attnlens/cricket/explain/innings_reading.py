"""A whole innings in one pass: what the predictor expects of every ball, and where it looks.

The numbers of one ball are those of `attnlens.cricket.explain.reading`; all balls at once cost
about as much as one. Nothing is tested here: that is `attnlens.cricket.explain.evidence`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlens.arrays import Floats32
from attnlens.cricket.explain.reading import SITES, attention_at, keys_of, overheard
from attnlens.cricket.match.match import Innings, Match
from attnlens.cricket.model.batch import training_batch
from attnlens.cricket.model.heads import SCALES
from attnlens.cricket.model.predictor import FUSED, KNOWLEDGE, FullModel, Prediction
from attnlens.cricket.model.relations import Batch
from attnlens.cricket.model.tensors import NODES, InningsArrays, encode_innings
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.cricket.model.window import one_thread
from attnlens.models.attention import hidden_softmax, unflattened
from attnlens.recorder import record
from attnlens.recording.record import AttentionRecord

VIEWS: Final[dict[str, str]] = {
    "full": "the model's weights",
    "content_only": "query times key alone",
    "bias_only": "the built-in biases alone",
    "value_norm": "weight times the length of what it carries",
}
"""Ways to look at a head, and what each shows."""


@dataclass(frozen=True, slots=True, eq=False)
class ScaleRows:
    """One scale's attention for every ball of an innings.

    Attributes:
        views: by the names of `VIEWS`, ``(head, ball, place)``. A ball scale's places are
            distances, the ball before first; the long scale's are overs from 0.
        own: weight on the ball itself ``(head, ball)``.
    """

    views: dict[str, Floats32]
    own: Floats32


@dataclass(frozen=True, slots=True, eq=False)
class InningsReading:
    """One recorded pass over an innings.

    Attributes:
        probabilities, baseline: of the outcomes ``(ball, 11)``; the baseline knows nothing.
        gates: fusion weights in the order of `FUSED` ``(ball, 5)``.
        layers: weights of the layers inside the ball ``(ball, 4)``.
        nodes: weights of the nodes, each within its layer, in the order of `NODES`
            ``(ball, 17)``.
        scales: by scale.
        total: attention over all paths, by distance, over the medium scale's window
            ``(ball, place)``.
    """

    probabilities: Floats32
    baseline: Floats32
    gates: Floats32
    layers: Floats32
    nodes: Floats32
    scales: dict[str, ScaleRows]
    total: Floats32


def read_innings(match: Match, innings: Innings, predictor: TrainedPredictor) -> InningsReading:
    """Run the predictor over every delivery of an innings and read its attention.

    Raises:
        ValueError: the innings has no delivery.
    """
    if not innings.deliveries:
        raise ValueError(f"innings {innings.number} has no delivery")
    arrays = encode_innings(match, innings, predictor.ratings, predictor.base)
    return read_encoded(arrays, predictor)


@one_thread()
def read_encoded(arrays: InningsArrays, predictor: TrainedPredictor) -> InningsReading:
    """`read_innings` of an innings that has been encoded."""
    model = predictor.model
    batch, _ = training_batch([arrays])
    with (
        torch.no_grad(),
        overheard(model, *SITES.values()) as heard,
        record(model) as recording,
    ):
        prediction = model.predict(batch)
    keys = keys_of(heard)
    with torch.no_grad():
        baseline = model.predict(_nothing_known(batch)).logits
    scales = {
        scale: _scale(model, recording[SITES[scale]], keys[SITES[scale]], scale) for scale in SCALES
    }
    return InningsReading(
        probabilities=_shares(prediction.logits),
        baseline=_shares(baseline),
        gates=_array(prediction.gates[0]),
        layers=_array(prediction.within["layers"][0]),
        nodes=_array(torch.cat([prediction.within[layer][0] for layer in NODES], -1)),
        scales=scales,
        total=_total(model, prediction, scales, arrays.over),
    )


def _array(value: Tensor) -> Floats32:
    result: Floats32 = value.detach().float().numpy()
    return result


def _shares(logits: Tensor) -> Floats32:
    return _array(logits[0].double().softmax(-1))


def _nothing_known(batch: Batch) -> Batch:
    """The batch with the past hidden and every group of knowledge taken away."""
    sequence = batch["sequence"]
    nothing = torch.zeros_like(sequence["shared"])
    return {
        "graph_data": {**batch["graph_data"], "known": dict.fromkeys(KNOWLEDGE, nothing)},
        "sequence": {
            **sequence,
            "visible": torch.zeros_like(sequence["visible"]),
            "shared": nothing,
        },
    }


def _scale(model: FullModel, entry: AttentionRecord, keys: Tensor, scale: str) -> ScaleRows:
    if entry.content is None or entry.bias is None:
        raise ValueError(f"{entry.site}: its probe does not tell query times key")
    weights = entry.weights[0]
    unseen = entry.weights == 0
    past = weights[..., :-1]
    views = {
        "full": past,
        "content_only": hidden_softmax(entry.content, unseen)[0, ..., :-1],
        "bias_only": hidden_softmax(entry.bias, unseen)[0, ..., :-1],
        "value_norm": past * _carried(model, keys, scale)[:, None, -past.shape[-1] :],
    }
    place = (lambda rows: rows) if scale == "long" else _by_distance
    return ScaleRows(
        {
            name: np.ascontiguousarray(place(_array(rows))[..., : _reach(scale, rows)])
            for name, rows in views.items()
        },
        _array(weights[..., -1]),
    )


def _reach(scale: str, rows: Tensor) -> int:
    """How many places a scale can see."""
    return rows.shape[-1] if scale == "long" else min(SCALES[scale] - 1, rows.shape[-1])


def _carried(model: FullModel, keys: Tensor, scale: str) -> Tensor:
    """Length of what each key carries through each head, ``(head, key)``."""
    attention = attention_at(model, SITES[scale])
    project = attention.to_output
    assert isinstance(project, nn.Linear)
    with torch.no_grad():
        values = unflattened(attention.to_value(keys[0]), -1, (attention.num_heads, -1))
        columns = unflattened(project.weight, -1, (attention.num_heads, -1))
        lengths: Tensor = torch.einsum("khd,ohd->hko", values, columns).norm(dim=-1)
    return lengths


def _by_distance(rows: Floats32) -> Floats32:
    """``(head, ball, key)`` as ``(head, ball, distance)``, the ball before first."""
    heads, balls, keys = rows.shape
    first = balls - keys
    told = np.zeros((heads, balls, max(balls - 1, 0)), np.float32)
    for ball in range(balls):
        seen = rows[:, ball, : max(ball - first, 0)][:, ::-1]
        told[:, ball, : seen.shape[1]] = seen
    return told


def _total(
    model: FullModel,
    prediction: Prediction,
    scales: Mapping[str, ScaleRows],
    overs: NDArray[np.int64],
) -> Floats32:
    """Every path's attention by distance, as `attnlens.cricket.explain.reading.Reading.total`."""
    gates = _array(prediction.gates[0]).astype(np.float64)
    balls = len(gates)
    reach = SCALES["medium"] - 1
    slots = model.slot_shares(prediction)[0].double()
    spread = torch.einsum("qs,sqk->qk", slots, prediction.slots[0].double()).numpy()
    inside = _by_distance(np.asarray(spread, np.float32)[None])[0]
    total = np.zeros((balls, reach))
    seen = min(reach, inside.shape[1])
    total[:, :seen] = gates[:, [FUSED.index("within_ball")]] * inside[:, :seen]
    for scale, rows in scales.items():
        mean = rows.views["full"].mean(0)
        if scale == "long":
            mean = _overs_spread(mean, overs, reach)
        width = min(reach, mean.shape[1])
        total[:, :width] += gates[:, [FUSED.index(scale)]] * mean[:, :width]
    return total.astype(np.float32)


def _overs_spread(weights: Floats32, overs: NDArray[np.int64], reach: int) -> Floats32:
    """Weights over overs ``(ball, over)`` as weights over balls by distance."""
    sizes = np.bincount(overs, minlength=weights.shape[1])
    told = np.zeros((len(overs), reach), np.float32)
    for ball, over in enumerate(overs):
        for distance in range(1, min(reach, ball) + 1):
            home = overs[ball - distance]
            if home < over:
                told[ball, distance - 1] = weights[ball, home] / sizes[home]
    return told
