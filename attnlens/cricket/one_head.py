"""Changing what one head sees of a ball, with the rest of the model as it was.

The fusion is linear in the scales' vectors, so a prediction with one head changed is the
intact one, plus what the change of that scale's vector does to the logits. Only the scale's
own layer is worked out again, for all changes together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlens.models.attention import split_heads
from attnlens.models.predictor import FUSED, FullModel, Prediction
from attnlens.models.relation_attention import RelationAttention, RelationBlock
from attnlens.models.temporal import SCALES

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ScaleState:
    """One scale's layer as it ran on one ball.

    Attributes:
        block: the layer.
        query: what came into the layer ``(1, 1, hidden_dim)``.
        asked: the arguments of its attention.
        logits: of the past keys and of the ball itself ``(head, key + 1)``, minus infinity
            where a key is hidden.
        values: what each key carries ``(head, key + 1, head width)``.
        mixed: what the heads read, side by side ``(1, 1, width)``.
        vector: the scale's vector ``(hidden_dim,)``.
    """

    block: RelationBlock
    query: Tensor
    asked: tuple[Any, ...]
    logits: Tensor
    values: Tensor
    mixed: Tensor
    vector: Tensor

    @property
    def keys(self) -> int:
        """Keys before the ball itself."""
        return self.logits.shape[1] - 1


class OneBall:
    """One pass over one ball, held so that single heads can be changed.

    Args:
        batch: `window_batch`'s, one row and one query.
    """

    def __init__(self, model: FullModel, batch: dict[str, Any]) -> None:
        self.model = model
        self.batch = batch
        with _watched(model) as seen, torch.no_grad():
            self.prediction: Prediction = model.predict(batch)
            self.scales = {scale: self._state(scale, seen[scale]) for scale in SCALES}
        self.logits = self.prediction.logits[0, 0]

    def _state(self, scale: str, seen: dict[str, Any]) -> ScaleState:
        block = layer(self.model, scale)
        query, key, *_ = seen["asked"]
        own = block.attention
        carried = torch.cat([key, query], 1)
        weights, content, bias = seen["told"]
        logits = (content + bias)[0, :, 0].masked_fill(weights[0, :, 0] == 0, -torch.inf)
        value = seen["output"].reshape(-1)
        return ScaleState(
            block=block,
            query=seen["query"].reshape(1, 1, -1),
            asked=seen["asked"],
            logits=logits,
            values=split_heads(own.to_value(carried), own.num_heads)[0],
            mixed=seen["mixed"].reshape(1, 1, -1),
            vector=self._normed(scale, value),
        )

    def _normed(self, scale: str, value: Tensor) -> Tensor:
        result: Tensor = self.model.temporal.output_norms[scale](value)
        return result

    def under_masks(self, scale: str, head: int, kept: NDArray[np.bool_]) -> Floats:
        """Probabilities with keys hidden from one head only, ``(mask, outcome)``.

        Args:
            kept: ``(mask, key)``, keys as the scale has them (overs on the long scale). The
                head's weights on the others are renormalised; the ball itself stays.
        """
        state = self.scales[scale]
        seen = torch.cat([torch.from_numpy(kept), torch.ones(len(kept), 1, dtype=torch.bool)], 1)
        logits = state.logits[head].masked_fill(~seen, -torch.inf)
        return self.with_head(scale, head, logits.softmax(-1) @ state.values[head])

    def with_head(self, scale: str, head: int, read: Tensor) -> Floats:
        """Probabilities with what one head read replaced, ``(row, outcome)``.

        Args:
            read: ``(row, head width)``.
        """
        state, block = self.scales[scale], self.scales[scale].block
        width = read.shape[-1]
        mixed = state.mixed.repeat(1, len(read), 1)
        mixed[0, :, head * width : (head + 1) * width] = read
        with torch.no_grad():
            value = state.query + block.attention.to_output(mixed)
            value = value + block.feed(block.feed_norm(value))
            change = self._normed(scale, value)[0] - state.vector
            gate = self.prediction.gates[0, 0, FUSED.index(scale)]
            moved = (gate * change) @ self.model.to_outcome.weight.T
        result: Floats = (self.logits + moved).double().softmax(-1).numpy()
        return result

    def read_by(self, scale: str, head: int, key: Tensor, relations: Tensor) -> Tensor:
        """What a head reads of other keys with the ball's own question, ``(row, head width)``.

        Args:
            key: ``(row, key, hidden_dim)``, as they come into the scale's layer.
            relations: ``(row, 1, key, relation)``.
        """
        state = self.scales[scale]
        query, _, _, hidden, distance = state.asked
        rows = len(key)
        heard: list[Tensor] = []
        attention = state.block.attention
        handle = attention.to_output.register_forward_pre_hook(
            lambda _, inputs: heard.append(inputs[0])
        )
        try:
            with torch.no_grad():
                attention(
                    query.expand(rows, 1, -1),
                    state.block.query_norm(key),
                    relations,
                    hidden,
                    distance.expand(rows, 1, -1),
                )
        finally:
            handle.remove()
        width = attention.to_value.out_features // attention.num_heads
        return heard[0][:, 0, head * width : (head + 1) * width]


def layer(model: FullModel, scale: str) -> RelationBlock:
    """The one layer of a scale."""
    block = model.temporal.encoder(scale).layers[0]
    assert isinstance(block, RelationBlock)
    return block


@contextmanager
def _watched(model: FullModel) -> Iterator[dict[str, dict[str, Any]]]:
    """What goes through each scale's layer while the model runs."""
    seen: dict[str, dict[str, Any]] = {scale: {} for scale in SCALES}
    handles: list[Any] = []

    def watch(scale: str) -> Sequence[Any]:
        block = layer(model, scale)
        attention: RelationAttention = block.attention
        told = seen[scale]

        def of_block(_: nn.Module, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
            told.update(query=inputs[0], output=output[0])

        def of_attention(_: nn.Module, inputs: tuple[Any, ...]) -> None:
            told.update(asked=inputs)

        def of_probe(_: nn.Module, inputs: tuple[Any, ...], __: Tensor) -> None:
            told.update(told=inputs)

        def of_output(_: nn.Module, inputs: tuple[Any, ...]) -> None:
            told.update(mixed=inputs[0])

        return (
            block.register_forward_hook(of_block),
            attention.register_forward_pre_hook(of_attention),
            attention.probe.register_forward_hook(of_probe),
            attention.to_output.register_forward_pre_hook(of_output),
        )

    for scale in SCALES:
        handles += watch(scale)
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()
