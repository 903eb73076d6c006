"""Changing what one head sees of a ball, with the rest of the model as it was.

The fusion is linear in the scales' vectors, so a prediction with one head changed is the
intact one, plus what the change of that scale's vector does to the logits. Only the scale's
own layer is worked out again, for all changes together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.arrays import Floats
from attnlens.cricket.explain.reading import SITES, overheard
from attnlens.cricket.model.heads import SCALES
from attnlens.cricket.model.predictor import FUSED, FullModel, Prediction
from attnlens.cricket.model.relation_attention import RelationBlock
from attnlens.cricket.model.relations import Batch
from attnlens.models.attention import split_heads


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

    def __init__(self, model: FullModel, batch: Batch) -> None:
        self.model = model
        self.batch = batch
        places = [
            f"{site}{place}" for site in SITES.values() for place in ("", ".probe", ".to_output")
        ]
        blocks = [_block_at(site) for site in SITES.values()]
        with overheard(model, *places, *blocks) as heard, torch.no_grad():
            self.prediction: Prediction = model.predict(batch)
            self.scales = {scale: self._state(scale, heard) for scale in SCALES}
        self.logits = self.prediction.logits[0, 0]

    def _state(self, scale: str, heard: Mapping[str, tuple[Any, Any]]) -> ScaleState:
        site = SITES[scale]
        block = self.model.get_submodule(_block_at(site))
        assert isinstance(block, RelationBlock)
        own = block.attention
        asked, _ = heard[site]
        (query, *_), (output, *_) = heard[_block_at(site)]
        (weights, content, bias), _ = heard[f"{site}.probe"]
        (mixed,), _ = heard[f"{site}.to_output"]
        carried = torch.cat([asked[1], asked[0]], 1)
        return ScaleState(
            block=block,
            query=query.reshape(1, 1, -1),
            asked=asked,
            logits=(content + bias)[0, :, 0].masked_fill(weights[0, :, 0] == 0, -torch.inf),
            values=split_heads(own.to_value(carried), own.num_heads)[0],
            mixed=mixed.reshape(1, 1, -1),
            vector=self._normed(scale, output.reshape(-1)),
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
        attention, rows = state.block.attention, len(key)
        with overheard(attention, "to_output") as heard, torch.no_grad():
            attention(
                query.expand(rows, 1, -1),
                state.block.query_norm(key),
                relations,
                hidden,
                distance.expand(rows, 1, -1),
            )
        (mixed,), _ = heard["to_output"]
        width = attention.to_value.out_features // attention.num_heads
        read: Tensor = mixed[:, 0, head * width : (head + 1) * width]
        return read


def _block_at(site: str) -> str:
    """The layer of a scale's attention."""
    return site.removesuffix(".attention")
