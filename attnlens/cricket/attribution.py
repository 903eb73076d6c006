"""How much each past ball is said to matter, by one method or another.

Every method gives one score per past ball of one query; the higher, the more. None is
proof: `attnlens.cricket.faithfulness` compares them with what hiding balls does.

- attention: the sum over paths of fusion gate times mean-head weight. The paths are the four
  scales and the seven slots inside the ball, whose weights count times the gate of the ball's
  own vector, the share of the slot's layer and the share of its node. An over's weight is
  split evenly over its visible balls.
- content_only: the same with each path's weights made anew from query times key alone,
  without the built-in biases.
- value_norm: the same with weights replaced by the length of what they carry,
  ``‖Σ_h weight · value · output projection‖`` (Kobayashi et al. 2020). The lengths of
  different paths are in the same width but pass different layers after.
- rollout: attention followed to the inputs (Abnar & Zuidema 2020), half of every residual
  layer's output from its input: what a scale keeps of the current ball, or pays to it, goes
  on to what the slots of the current ball read. The readout is such a layer, each slot a
  seventh of what it adds.
- gradient_x_input: the absolute value of the gradient of the log-odds of the likeliest
  outcome with respect to the past ball's vector, times that vector.
- recency: minus the distance.
- uniform: attention with each path's weights spread evenly over the balls it may see: what
  gates and windows alone would say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlens.cricket.reading import SITES, SLOT_SITE
from attnlens.errors import RecordingError
from attnlens.models.attention import hidden_softmax, unflattened
from attnlens.models.predictor import FUSED, FullModel, Prediction
from attnlens.models.relation_attention import RelationAttention
from attnlens.models.slots import SLOTS
from attnlens.models.temporal import SCALES
from attnlens.recorder import record
from attnlens.records import AttentionRecord

Floats = NDArray[np.float64]

METHODS: Final[tuple[str, ...]] = (
    "attention",
    "content_only",
    "value_norm",
    "rollout",
    "gradient_x_input",
    "recency",
    "uniform",
)
"""Every method, in the order of a table."""


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """The ways from past balls to one prediction, and how much each counts.

    Attributes:
        gates: fusion weights by the names of `FUSED`.
        scales: weights by scale ``(head, key)``, the current ball itself left out; for
            ``long`` a key is an over.
        own: weight of the current ball itself by scale ``(head,)``.
        slots: slot weights ``(slot, past)``.
        shares: what part of the ball's own vector each slot is, ``(slot,)``.
        layers: the same inside the ball by rollout, before the readout, ``(slot,)``.
        readout: whether what the slots read is added to the ball's own vector too.
        homes: the over of each past ball, -1 where ``long`` does not see it ``(past,)``.
        visible: which past balls exist for the query ``(past,)``.
    """

    gates: dict[str, float]
    scales: dict[str, Floats]
    own: dict[str, Floats]
    slots: Floats
    shares: Floats
    layers: Floats
    readout: bool
    homes: NDArray[np.int64]
    visible: NDArray[np.bool_]

    def over_balls(self, scale: str, weights: Floats) -> Floats:
        """Weights over a scale's keys ``(key,)`` as weights over past balls ``(past,)``."""
        spread = np.zeros(len(self.homes))
        if scale != "long":
            spread[len(spread) - len(weights) :] = weights
            return spread
        shown = self.homes >= 0
        sizes = np.bincount(self.homes[shown], minlength=len(weights))
        spread[shown] = weights[self.homes[shown]] / sizes[self.homes[shown]]
        return spread

    def total(self, scales: Mapping[str, Floats], slots: Floats) -> Floats:
        """Weights over keys ``(key,)`` by scale and over slots ``(slot, past)``, as one sum."""
        score: Floats = self.gates["within_ball"] * (self.shares @ slots)
        for scale, weights in scales.items():
            score = score + self.gates[scale] * self.over_balls(scale, weights)
        return score

    def attention(self) -> Floats:
        """The sum over paths of gate times mean-head weight, ``(past,)``."""
        return self.total({scale: rows.mean(0) for scale, rows in self.scales.items()}, self.slots)

    def uniform(self) -> Floats:
        """The same with every path's weights even over what it may see."""
        scales = {}
        for scale, rows in self.scales.items():
            seen = (rows > 0).any(0).astype(float)
            scales[scale] = seen / (seen.sum() + 1)
        shown = (self.slots > 0).astype(float)
        return self.total(scales, shown / np.maximum(shown.sum(1, keepdims=True), 1))

    def rollout(self) -> Floats:
        """Attention followed to the inputs through residual layers, half kept at each."""
        inside: Floats = self.layers @ self.slots
        told = 0.5 * inside + 0.5 * self.slots.mean(0) if self.readout else inside
        score: Floats = self.gates["within_ball"] * told
        for scale, rows in self.scales.items():
            looked = self.over_balls(scale, rows.mean(0))
            stayed = 0.5 + 0.5 * float(self.own[scale].mean())
            score = score + self.gates[scale] * (0.5 * looked + stayed * inside)
        return score


def paths_of(model: FullModel, batch: Mapping[str, Any], prediction: Prediction) -> Paths:
    """The paths of one pass over one query."""
    sequence = batch["sequence"]
    visible = sequence["visible"][0, 0].numpy()
    over, now = sequence["balls"].over[0].numpy(), int(sequence["now"].over[0, 0])
    rows = {scale: prediction.scales[scale][0, :, 0].detach().double().numpy() for scale in SCALES}
    layer_shares = prediction.within["layers"][0, 0].detach().double().numpy()
    number = {name: place for place, name in enumerate(SLOTS)}
    shares = model.slot_shares(prediction)[0, 0].detach().double().numpy()
    rolled = np.zeros(len(SLOTS))
    below = np.zeros(len(SLOTS))
    first = True
    for share, (layer, nodes) in zip(layer_shares, model.within_ball.graph.items(), strict=True):
        weights = prediction.within[layer][0, 0].detach().double().numpy()
        direct = np.zeros(len(SLOTS))
        for node, weight in zip(nodes, weights, strict=True):
            if node in number:
                direct[number[node]] = weight
        # The first layer has none above it; each later one adds its nodes to the one above.
        below = direct if first else 0.5 * direct + 0.5 * below
        rolled += share * below
        first = False
    return Paths(
        gates=dict(zip(FUSED, prediction.gates[0, 0].detach().double().tolist(), strict=True)),
        scales={scale: weights[:, :-1] for scale, weights in rows.items()},
        own={scale: weights[:, -1] for scale, weights in rows.items()},
        slots=prediction.slots[0, :, 0].detach().double().numpy(),
        shares=shares,
        layers=rolled,
        readout=model.readout is not None,
        homes=np.where(visible & (over < now), over, -1),
        visible=visible,
    )


def attributions(
    model: FullModel, batch: dict[str, Any], methods: Sequence[str] = METHODS
) -> dict[str, Floats]:
    """Scores of every past ball ``(past,)`` by method, from one pass.

    Args:
        batch: `window_batch`'s, one row and one query.

    Raises:
        ValueError: a method that is not one of `METHODS`.
    """
    unknown = sorted(set(methods) - set(METHODS))
    if unknown:
        raise ValueError(f"unknown method {unknown[0]!r}; known: {', '.join(METHODS)}")
    vectors: list[Tensor] = []
    keys: dict[str, Tensor] = {}
    recording: Mapping[str, AttentionRecord] = {}
    with ExitStack() as stack:
        if "gradient_x_input" in methods:
            vectors = stack.enter_context(past_vectors(model))
        else:
            stack.enter_context(torch.no_grad())
        if "value_norm" in methods:
            keys = stack.enter_context(attended_keys(model))
        if "content_only" in methods:
            recording = stack.enter_context(record(model))
        prediction = model.predict(batch)
    paths = paths_of(model, batch, prediction)
    scores: dict[str, Floats] = {}
    for method in methods:
        if method == "attention":
            scores[method] = paths.attention()
        elif method == "content_only":
            scores[method] = _content_only(paths, recording)
        elif method == "value_norm":
            scores[method] = _value_norm(model, paths, keys)
        elif method == "rollout":
            scores[method] = paths.rollout()
        elif method == "gradient_x_input":
            slope = torch.autograd.grad(likeliest_log_odds(prediction.logits[0, 0]), vectors)
            scores[method] = gradient_times(slope[0], vectors[0])
        elif method == "uniform":
            scores[method] = paths.uniform()
        else:
            scores[method] = -np.arange(len(paths.homes), 0, -1, dtype=float)
    return scores


def likeliest_log_odds(logits: Tensor) -> Tensor:
    """Log-odds of the likeliest class, from logits ``(class,)``."""
    top = int(logits.argmax())
    rest = torch.cat([logits[:top], logits[top + 1 :]])
    return logits[top] - rest.logsumexp(0)


def gradient_times(slope: Tensor, vectors: Tensor) -> Floats:
    """``|Σ gradient · vector|`` of each past ball, both ``(1, past, width)``."""
    result: Floats = (slope * vectors)[0].detach().double().sum(-1).abs().numpy()
    return result


@contextmanager
def past_vectors(model: FullModel) -> Iterator[list[Tensor]]:
    """The past balls' vectors of the passes inside, as leaves that gradients reach.

    ``(1, past, width)`` each. What made them is cut off, so a gradient counts every use of a
    past ball and stops there.
    """
    found: list[Tensor] = []

    def hook(_: nn.Module, __: tuple[Any, ...], output: Tensor) -> Tensor:
        found.append(output.detach().requires_grad_())
        return found[-1]

    handle = model.past_norm.register_forward_hook(hook)
    try:
        yield found
    finally:
        handle.remove()


@contextmanager
def attended_keys(model: FullModel) -> Iterator[dict[str, Tensor]]:
    """What each relation attention reads, ``(1, key, width)`` by site, of the pass inside."""
    found: dict[str, Tensor] = {}

    def hook_for(site: str) -> Any:
        def hook(_: nn.Module, arguments: tuple[Any, ...]) -> None:
            found[site] = arguments[1].detach()

        return hook

    handles = [
        attention_at(model, site).register_forward_pre_hook(hook_for(site))
        for site in (SLOT_SITE, *SITES.values())
    ]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def attention_at(model: FullModel, site: str) -> RelationAttention:
    """The relation attention of that name."""
    module = model.get_submodule(site)
    assert isinstance(module, RelationAttention)
    return module


def _content_only(paths: Paths, recording: Mapping[str, AttentionRecord]) -> Floats:
    def anew(site: str) -> Floats:
        """Weights from content alone, hidden where the model's own are 0."""
        entry = recording[site]
        if entry.content is None:
            raise RecordingError(f"{site}: its probe does not tell query times key")
        weights: Floats = (
            hidden_softmax(entry.content, entry.weights == 0)[0, :, 0].double().numpy()
        )
        return weights

    scales = {scale: anew(SITES[scale])[:, :-1].mean(0) for scale in paths.scales}
    # The slots may have one key more, "nothing".
    return paths.total(scales, anew(SLOT_SITE)[:, : len(paths.homes)])


def _value_norm(model: FullModel, paths: Paths, keys: Mapping[str, Tensor]) -> Floats:
    def values(site: str) -> Tensor:
        """``(head, key, head width)``."""
        attention = attention_at(model, site)
        told = unflattened(attention.to_value(keys[site])[0], -1, (attention.num_heads, -1))
        return told.transpose(0, 1).detach().double()

    scales = {}
    for scale, weights in paths.scales.items():
        carried = torch.from_numpy(weights)[..., None] * values(SITES[scale])
        project = attention_at(model, SITES[scale]).to_output
        assert isinstance(project, nn.Linear)
        output = project.weight.detach().double()
        scales[scale] = (carried.transpose(0, 1).flatten(1) @ output.T).norm(dim=-1).numpy()
    lengths = np.zeros_like(paths.slots)
    for number, (name, value) in enumerate(zip(SLOTS, values(SLOT_SITE), strict=True)):
        # The last column of a slot's projection is for how many balls it saw.
        to_node = model.slots.to_node[name]
        assert isinstance(to_node, nn.Linear)
        projection = to_node.weight[:, :-1].detach().double()
        lengths[number] = (value @ projection.T).norm(dim=-1).numpy()
        if model.readout is not None:
            # Two ways for one weight: its length is their mean by what each counts.
            width, share = value.shape[-1], paths.shares[number]
            columns = model.readout.weight[:, number * width : (number + 1) * width]
            direct = (value @ columns.detach().double().T).norm(dim=-1).numpy()
            by_readout = 1 / len(paths.slots)
            lengths[number] = ((share - by_readout) * lengths[number] + by_readout * direct) / share
    return paths.total(scales, paths.slots * lengths)
