"""Compute predictions for one ball when a part of the model's input is hidden or replaced.

The fusion (the model's final layer) is linear in the output vectors of the scales. After a change
to one head, only the vector of the head's scale is computed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.cricket.explain.reading import SITES, block_at, captured_activations
from attnlens.cricket.match.match import OUTCOMES
from attnlens.cricket.predictor.predictor import FUSED, KNOWLEDGE, FullModel, Prediction
from attnlens.cricket.predictor.relations import (
    Balls,
    Batch,
    RelationBlock,
    counted,
    mapped,
    take,
)
from attnlens.cricket.predictor.scales import SCALES
from attnlens.files import Floats
from attnlens.reference.attention import split_heads

_MASKS_AT_ONCE: Final = 1024
_ROWS_AT_ONCE: Final = 96

_RUNS: Final = {
    outcome: int(outcome) if outcome.isdigit() else int(outcome != "W") for outcome in OUTCOMES
}

_OUTCOME_FLAGS: Final = ("wicket", "boundary")
Sets = Sequence[tuple[int, ...]]


def ask(model: FullModel, graph: Batch, sequence: dict[str, Any]) -> Floats:
    """Return outcome probabilities for the first row of a batch, shape ``(query, outcome)``."""
    with torch.no_grad():
        logits = model({"graph_data": graph, "sequence": sequence})
    result: Floats = logits[0].double().softmax(-1).numpy()
    return result


def under_masks(model: FullModel, batch: Batch, visible: NDArray[np.bool_]) -> Floats:
    """Return probabilities with past balls hidden from all heads, shape ``(mask, outcome)``.

    Args:
        batch: the result of `window_batch` for the ball.
        visible: true for a visible past ball, shape ``(mask, key)``.
    """
    results = []
    for start in range(0, len(visible), _MASKS_AT_ONCE):
        masks = torch.from_numpy(visible[start : start + _MASKS_AT_ONCE])[None]
        sequence = {**batch["sequence"], "visible": masks}
        sequence["now"] = take(batch["sequence"]["now"], [0] * masks.shape[1])
        results.append(ask(model, batch["graph_data"], sequence))
    return np.concatenate([np.zeros((0, model.sizes.outcomes)), *results])


def under_knowledge(
    model: FullModel,
    batch: Batch,
    visible: NDArray[np.bool_],
    knowledge: dict[str, NDArray[np.bool_]],
) -> Floats:
    """Return probabilities with past balls and other inputs hidden, shape ``(row, outcome)``.

    A player's hidden record is also left out of the vectors of the player's past balls.

    Args:
        batch: the result of `window_batch` for the ball.
        visible: true for a visible past ball, shape ``(row, key)``.
        knowledge: for each group of `KNOWLEDGE`, true where visible, shape ``(row,)``.
    """
    # The vectors of the past balls depend on which players' records are visible. Each combination
    # of visible records therefore needs its own row of the batch.
    has_striker, has_bowler = knowledge["striker's record"], knowledge["bowler's record"]
    cases, case = np.unique(has_striker + 2 * has_bowler, return_inverse=True)
    member = case[:, None] == np.arange(len(cases))
    slot = (member.cumsum(0) - 1)[np.arange(len(case)), case]

    def by_case(flags: NDArray[np.bool_]) -> Tensor:
        rows = np.ones((len(cases), 1 + slot.max(initial=0), *flags.shape[1:]), bool)
        rows[case, slot] = flags
        return torch.from_numpy(rows)

    visible_rows = by_case(visible)
    sequence: Batch = mapped(batch["sequence"], partial(_repeated, len(cases)))
    graph: Batch = mapped(
        batch["graph_data"], lambda value: value.expand(*visible_rows.shape[:2], *value.shape[2:])
    )
    graph["known"] = {group: by_case(knowledge[group]) for group in KNOWLEDGE}
    current, past = sequence["now"], sequence["balls"]
    sequence["past"] |= {
        "striker_known": (past.batter != current.batter)
        | torch.from_numpy(cases % 2 == 1)[:, None],
        "bowler_known": (past.bowler != current.bowler) | torch.from_numpy(cases >= 2)[:, None],
    }
    sequence |= {"now": take(current, [0] * visible_rows.shape[1]), "visible": visible_rows}
    with torch.no_grad():
        logits = model({"graph_data": graph, "sequence": sequence})
    result: Floats = logits.double().softmax(-1).numpy()[case, slot]
    return result


@dataclass(frozen=True, slots=True, eq=False)
class ScaleState:
    """The inputs and outputs of one scale's attention layer for one ball.

    The last key is the current ball. On the scale ``whole``, the last key is the null key.

    Attributes:
        query: ``(1, 1, hidden_dim)``.
        logits: ``(head, key + 1)``, minus infinity where a key is hidden.
        values: ``(head, key + 1, head width)``; ``None`` on the scale ``whole``.
        head_outputs: ``(1, 1, width)``.
        vector: the output of the scale, shape ``(hidden_dim,)``.
    """

    block: RelationBlock
    query: Tensor
    attention_inputs: tuple[Any, ...]
    logits: Tensor
    values: Tensor | None
    head_outputs: Tensor
    vector: Tensor

    @property
    def keys(self) -> int:
        return self.logits.shape[1] - 1


class OneBall:
    """A recorded forward pass for one ball, in which single heads can be changed.

    Args:
        batch: the result of `window_batch` for the ball.
    """

    def __init__(self, model: FullModel, batch: Batch) -> None:
        self.model = model
        self.batch = batch
        modules = [
            f"{site}{suffix}" for site in SITES.values() for suffix in ("", ".probe", ".to_output")
        ]
        blocks = [block_at(site) for site in SITES.values()]
        with captured_activations(model, *modules, *blocks) as activations, torch.no_grad():
            self.prediction: Prediction = model.predict(batch)
            self.scales = {scale: self._state(scale, activations) for scale in SCALES}
        self.logits = self.prediction.logits[0, 0]

    def _state(self, scale: str, activations: Mapping[str, tuple[Any, Any]]) -> ScaleState:
        site = SITES[scale]
        block = self.model.get_submodule(block_at(site))
        assert isinstance(block, RelationBlock)
        own = block.attention
        attention_inputs, _ = activations[site]
        (query, *_), (output, *_) = activations[block_at(site)]
        (weights, content, bias), _ = activations[f"{site}.probe"]
        (head_outputs,), _ = activations[f"{site}.to_output"]
        values = None
        if own.to_value is not None:
            keys = torch.cat([attention_inputs[1], attention_inputs[0]], 1)
            values = split_heads(own.to_value(keys), own.num_heads)[0]
        return ScaleState(
            block=block,
            query=query.reshape(1, 1, -1),
            attention_inputs=attention_inputs,
            logits=(content + bias)[0, :, 0].masked_fill(weights[0, :, 0] == 0, -torch.inf),
            values=values,
            head_outputs=head_outputs.reshape(1, 1, -1),
            vector=self._normed(scale, output.reshape(-1)),
        )

    def _normed(self, scale: str, value: Tensor) -> Tensor:
        norms = self.model.temporal.output_norms
        result: Tensor = norms[scale](value) if scale in norms else value
        return result

    def under_masks(self, scale: str, head: int, visible: NDArray[np.bool_]) -> Floats:
        """Return probabilities with keys hidden from one head, shape ``(mask, outcome)``.

        The weights on the other keys are renormalised. The last key is never hidden.

        Args:
            visible: true for a visible past ball (on the long scale, an over), shape ``(mask,
                key)``.
        """
        state = self.scales[scale]
        own = torch.ones(len(visible), 1, dtype=torch.bool)
        unhidden = torch.cat([torch.from_numpy(visible), own], 1)
        logits = state.logits[head].masked_fill(~unhidden, -torch.inf)
        weights = logits.softmax(-1)
        read = counted(weights) if state.values is None else weights @ state.values[head]
        return self.with_head(scale, head, read)

    def with_head(self, scale: str, head: int, read: Tensor) -> Floats:
        """Return probabilities with the output of one head replaced, shape ``(row, outcome)``.

        Args:
            read: the new outputs of the head, shape ``(row, head width)``.
        """
        state, block = self.scales[scale], self.scales[scale].block
        width = read.shape[-1]
        head_outputs = state.head_outputs.repeat(1, len(read), 1)
        head_outputs[0, :, head * width : (head + 1) * width] = read
        with torch.no_grad():
            added = block.attention.to_output(head_outputs)
            vector = added
            if not block.counts:
                value = state.query + added
                vector = self._normed(scale, value + block.feed(block.feed_norm(value)))
            change = vector[0] - state.vector
            fused = self.prediction.gates[0, 0, FUSED.index(scale)] * change
            moved = fused @ self.model.to_outcome.weight.T
        result: Floats = (self.logits + moved).double().softmax(-1).numpy()
        return result


def _repeated(count: int, value: Tensor) -> Tensor:
    return value.expand(count, *value.shape[1:])


class ExpectedOutcomes:
    """Predictions for one ball, with the outcomes of past balls replaced by expected outcomes.

    The expected outcomes are probabilities from the scoreboard and the players' ratings. The number
    of runs and the boundary flag become expected values. In the relations between balls, the past
    ball counts as neither a wicket nor a boundary. The position, the players and the scoreboard of
    the ball do not change.
    """

    def __init__(self, model: FullModel, batch: Batch) -> None:
        self.model = model
        self.batch = batch

    @cached_property
    def _keys(self) -> tuple[Tensor, Tensor]:
        past = self.batch["sequence"]["past"]
        with torch.no_grad():
            expected = self.model.expected_of_past(past)
            runs = torch.tensor(list(_RUNS.values()), dtype=expected.dtype)
            boundary = torch.tensor([outcome in ("4", "6") for outcome in OUTCOMES])
            more = (expected @ runs / 4, expected @ boundary.to(expected.dtype))
            outcome = torch.cat([expected, torch.stack([*more, torch.zeros_like(more[0])], -1)], -1)
            as_expected = self.model.past({"past": {**past, "happened": outcome}})
            return self.model.past({"past": past}), as_expected

    def under_masks(self, recorded: NDArray[np.bool_]) -> Floats:
        """Return the outcome probabilities, shape ``(mask, outcome)``.

        Args:
            recorded: false for a past ball whose outcome is replaced, shape ``(mask, past)``.
        """
        before: Balls = self.batch["sequence"]["balls"]
        own, expected = self._keys
        probs = [np.zeros((0, len(OUTCOMES)))]
        for start in range(0, len(recorded), _ROWS_AT_ONCE):
            mask = torch.from_numpy(recorded[start : start + _ROWS_AT_ONCE])
            repeat = partial(_repeated, len(mask))
            flags = {name: getattr(before, name) & mask for name in _OUTCOME_FLAGS}
            sequence = self.batch["sequence"]
            batch = {
                "graph_data": mapped(self.batch["graph_data"], repeat),
                "sequence": {
                    "now": mapped(sequence["now"], repeat),
                    "balls": replace(mapped(before, repeat), **flags),
                    "visible": repeat(sequence["visible"]),
                    "overs": sequence["overs"],
                },
            }
            key = torch.where(mask[..., None], own, expected)
            with torch.no_grad():
                logits = self.model.predict(batch, key=key).logits
            probs.append(logits[:, 0].double().softmax(-1).numpy())
        return np.concatenate(probs)
