"""How much each past ball is said to matter, by one method or another.

Every method gives one score per past ball of one query; the higher, the more. None is
proof: `attnlens.cricket.study.faithfulness` compares them with what hiding balls does.

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

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from attnlens.arrays import Floats
from attnlens.cricket.explain.reading import (
    SITES,
    SLOT_SITE,
    Paths,
    attention_at,
    keys_of,
    overheard,
    paths_of,
)
from attnlens.cricket.model.predictor import FullModel, Prediction
from attnlens.cricket.model.relations import Batch
from attnlens.cricket.model.within_ball import SLOTS
from attnlens.errors import RecordingError
from attnlens.models.attention import hidden_softmax, unflattened
from attnlens.recorder import record
from attnlens.recording.record import AttentionRecord

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


def attributions(
    model: FullModel, batch: Batch, methods: Sequence[str] = METHODS
) -> dict[str, Floats]:
    """Scores of every past ball ``(past,)`` by method, from one pass.

    Args:
        batch: `window_batch`'s, one row and one query.
        methods: of `METHODS`.
    """
    with (
        record(model) as recording,
        overheard(model, SLOT_SITE, *SITES.values()) as heard,
        _past_vectors(model) as vectors,
    ):
        prediction = model.predict(batch)
    paths = paths_of(model, batch, prediction)
    scores: dict[str, Callable[[], Floats]] = {
        "attention": paths.attention,
        "content_only": lambda: _content_only(paths, recording),
        "value_norm": lambda: _value_norm(model, paths, keys_of(heard)),
        "rollout": paths.rollout,
        "gradient_x_input": lambda: _gradient_times_input(prediction, vectors[0]),
        "recency": lambda: -np.arange(len(paths.homes), 0, -1, dtype=float),
        "uniform": paths.uniform,
    }
    return {method: scores[method]() for method in methods}


def likeliest_log_odds(logits: Tensor) -> Tensor:
    """Log-odds of the likeliest class, from logits ``(class,)``."""
    top = int(logits.argmax())
    rest = torch.cat([logits[:top], logits[top + 1 :]])
    return logits[top] - rest.logsumexp(0)


def _gradient_times_input(prediction: Prediction, vectors: Tensor) -> Floats:
    """``|Σ gradient · vector|`` of each past ball; the vectors are ``(1, past, width)``."""
    slope = torch.autograd.grad(likeliest_log_odds(prediction.logits[0, 0]), vectors)[0]
    result: Floats = (slope * vectors)[0].detach().double().sum(-1).abs().numpy()
    return result


@contextmanager
def _past_vectors(model: FullModel) -> Iterator[list[Tensor]]:
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
        output = matrix(attention_at(model, SITES[scale]).to_output)
        scales[scale] = (carried.transpose(0, 1).flatten(1) @ output.T).norm(dim=-1).numpy()
    lengths = np.zeros_like(paths.slots)
    for number, (name, value) in enumerate(zip(SLOTS, values(SLOT_SITE), strict=True)):
        # The last column of a slot's projection is for how many balls it saw.
        projection = matrix(model.slots.to_node[name])[:, :-1]
        lengths[number] = (value @ projection.T).norm(dim=-1).numpy()
        if model.readout is not None:
            # Two ways for one weight: its length is their mean by what each counts.
            width, share = value.shape[-1], paths.shares[number]
            columns = matrix(model.readout)[:, number * width : (number + 1) * width]
            direct = (value @ columns.T).norm(dim=-1).numpy()
            by_readout = 1 / len(paths.slots)
            lengths[number] = ((share - by_readout) * lengths[number] + by_readout * direct) / share
    return paths.total(scales, paths.slots * lengths)


def matrix(module: nn.Module) -> Tensor:
    """A linear layer's weight, cut from what it was made of."""
    assert isinstance(module, nn.Linear)
    return module.weight.detach().double()
