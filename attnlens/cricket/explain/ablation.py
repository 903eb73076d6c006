"""Asking the predictor about one ball with something hidden or replaced.

The fusion is linear in the scales' vectors, so a prediction with one head changed is the intact one
plus what the change of that scale's vector does to the logits. A replaced ball keeps its place, its
players and the scoreboard; what happened on it is drawn from the balls of the same over of the same
innings in all training matches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import itemgetter
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.cricket.explain.reading import SITES, captured_activations
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.predictor.predictor import FUSED, KNOWLEDGE, FullModel, Prediction
from attnlens.cricket.predictor.relations import Balls, Batch, RelationBlock, mapped, relate, take
from attnlens.cricket.predictor.scales import SCALES
from attnlens.cricket.predictor.tensors import PAST_OUTCOME_SIZE
from attnlens.files import Floats
from attnlens.reference.attention import split_heads

_MASKS_AT_ONCE: Final = 1024
_ROWS_AT_ONCE: Final = 96

_RUNS: Final = {"W": 0, "wd": 1, "nb": 1, "bye": 1}
"""What a drawn outcome is taken to have brought; a digit is its own runs."""

Sets = Sequence[tuple[int, ...]]


def ask(model: FullModel, graph: Batch, sequence: dict[str, Any]) -> Floats:
    """Outcome probabilities of one row of a batch, ``(query, outcome)``."""
    with torch.no_grad():
        logits = model({"graph_data": graph, "sequence": sequence})
    result: Floats = logits[0].double().softmax(-1).numpy()
    return result


def under_masks(model: FullModel, batch: Batch, visible: NDArray[np.bool_]) -> Floats:
    """Outcome probabilities of one ball, `window_batch`'s, under many masks, ``(mask, outcome)``.

    ``visible`` says which past balls exist, ``(mask, key)``. What is not visible is hidden from
    every scale and every slot.
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
    """Probabilities with past balls *and* groups of knowledge taken away, ``(row, outcome)``.

    A player's record that is taken away is taken from the past balls that player played in too, not
    only from the current ball. ``visible`` is ``(row, key)``, ``knowledge`` by group ``(row,)``.
    """
    # Whose records are known changes the past balls: one row of the batch for each such case.
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
    """One scale's layer as it ran on one ball.

    ``query`` is ``(1, 1, hidden_dim)``; ``logits`` ``(head, key + 1)``, the ball itself last, minus
    infinity where a key is hidden; ``values`` ``(head, key + 1, head width)``; ``head_outputs``
    ``(1, 1, width)``; ``vector`` ``(hidden_dim,)``.
    """

    block: RelationBlock
    query: Tensor
    attention_inputs: tuple[Any, ...]
    logits: Tensor
    values: Tensor
    head_outputs: Tensor
    vector: Tensor

    @property
    def keys(self) -> int:
        return self.logits.shape[1] - 1


class OneBall:
    """One pass over one ball, `window_batch`'s, held so that single heads can be changed."""

    def __init__(self, model: FullModel, batch: Batch) -> None:
        self.model = model
        self.batch = batch
        modules = [
            f"{site}{suffix}" for site in SITES.values() for suffix in ("", ".probe", ".to_output")
        ]
        blocks = [_block_at(site) for site in SITES.values()]
        with captured_activations(model, *modules, *blocks) as activations, torch.no_grad():
            self.prediction: Prediction = model.predict(batch)
            self.scales = {scale: self._state(scale, activations) for scale in SCALES}
        self.logits = self.prediction.logits[0, 0]

    def _state(self, scale: str, activations: Mapping[str, tuple[Any, Any]]) -> ScaleState:
        site = SITES[scale]
        block = self.model.get_submodule(_block_at(site))
        assert isinstance(block, RelationBlock)
        own = block.attention
        attention_inputs, _ = activations[site]
        (query, *_), (output, *_) = activations[_block_at(site)]
        (weights, content, bias), _ = activations[f"{site}.probe"]
        (head_outputs,), _ = activations[f"{site}.to_output"]
        past_and_own = torch.cat([attention_inputs[1], attention_inputs[0]], 1)
        return ScaleState(
            block=block,
            query=query.reshape(1, 1, -1),
            attention_inputs=attention_inputs,
            logits=(content + bias)[0, :, 0].masked_fill(weights[0, :, 0] == 0, -torch.inf),
            values=split_heads(own.to_value(past_and_own), own.num_heads)[0],
            head_outputs=head_outputs.reshape(1, 1, -1),
            vector=self._normed(scale, output.reshape(-1)),
        )

    def _normed(self, scale: str, value: Tensor) -> Tensor:
        result: Tensor = self.model.temporal.output_norms[scale](value)
        return result

    def under_masks(self, scale: str, head: int, visible: NDArray[np.bool_]) -> Floats:
        """Probabilities with keys hidden from one head only, ``(mask, outcome)``.

        ``visible`` is ``(mask, key)``, keys as the scale has them (overs on the long scale). The
        head's weights on the others are renormalised; the ball itself stays.
        """
        state = self.scales[scale]
        own = torch.ones(len(visible), 1, dtype=torch.bool)
        unhidden = torch.cat([torch.from_numpy(visible), own], 1)
        logits = state.logits[head].masked_fill(~unhidden, -torch.inf)
        return self.with_head(scale, head, logits.softmax(-1) @ state.values[head])

    def with_head(self, scale: str, head: int, read: Tensor) -> Floats:
        """Probabilities ``(row, outcome)`` with what one head read replaced by ``(row, head
        width)``.
        """
        state, block = self.scales[scale], self.scales[scale].block
        width = read.shape[-1]
        head_outputs = state.head_outputs.repeat(1, len(read), 1)
        head_outputs[0, :, head * width : (head + 1) * width] = read
        with torch.no_grad():
            value = state.query + block.attention.to_output(head_outputs)
            value = value + block.feed(block.feed_norm(value))
            change = self._normed(scale, value)[0] - state.vector
            gate = self.prediction.gates[0, 0, FUSED.index(scale)]
            moved = (gate * change) @ self.model.to_outcome.weight.T
        result: Floats = (self.logits + moved).double().softmax(-1).numpy()
        return result

    def read_by(self, scale: str, head: int, key: Tensor, relations: Tensor) -> Tensor:
        """What a head reads of other keys with the ball's own question, ``(row, head width)``.

        ``key`` is ``(row, key, hidden_dim)``, as it comes into the scale's layer, ``relations``
        ``(row, 1, key, relation)``.
        """
        state = self.scales[scale]
        query, _, _, hidden, distance = state.attention_inputs
        attention, rows = state.block.attention, len(key)
        with captured_activations(attention, "to_output") as activations, torch.no_grad():
            attention(
                query.expand(rows, 1, -1),
                state.block.query_norm(key),
                relations,
                hidden,
                distance.expand(rows, 1, -1),
            )
        (head_outputs,), _ = activations["to_output"]
        width = attention.to_value.out_features // attention.num_heads
        read: Tensor = head_outputs[:, 0, head * width : (head + 1) * width]
        return read


def _block_at(site: str) -> str:
    return site.removesuffix(".attention")


def outcome_features(outcome: str) -> NDArray[np.float32]:
    """The features of a past ball with this outcome, as `encode_innings` would write them."""
    features = np.zeros(PAST_OUTCOME_SIZE, np.float32)
    features[OUTCOMES.index(outcome)] = 1
    runs = _RUNS[outcome] if outcome in _RUNS else int(outcome)
    features[len(OUTCOMES) :] = runs / 4, outcome in ("4", "6"), 0
    return features


def _repeated(count: int, value: Tensor) -> Tensor:
    return value.expand(count, *value.shape[1:])


class Replacement:
    """Replaces past balls of one ball, by draws from ``seed`` that depend on the set alone."""

    def __init__(self, ball: OneBall, seed: int) -> None:
        self.ball = ball
        self.seed = seed
        sequence = ball.batch["sequence"]
        past = sequence["past"]
        self._chances = past["prior"][0].double().softmax(-1).cumsum(-1).numpy()
        self._flags = {
            "wicket": torch.tensor([outcome == "W" for outcome in OUTCOMES]),
            "boundary": torch.tensor([outcome in ("4", "6") for outcome in OUTCOMES]),
            "dot": torch.tensor([outcome == "0" for outcome in OUTCOMES]),
        }

    @cached_property
    def _own(self) -> Tensor:
        """The past balls as they were, ``(1, past, hidden_dim)``."""
        with torch.no_grad():
            return self.ball.model.past(self.ball.batch["sequence"])

    @cached_property
    def _bank(self) -> Tensor:
        """The past balls with each outcome instead of their own, ``(11, past, hidden_dim)``."""
        past = self.ball.batch["sequence"]["past"]
        count = past["happened"].shape[1]
        classes = torch.from_numpy(np.stack([outcome_features(outcome) for outcome in OUTCOMES]))
        replaced = mapped(past, partial(_repeated, len(OUTCOMES)))
        replaced["happened"] = classes[:, None].expand(len(OUTCOMES), count, -1)
        with torch.no_grad():
            return self.ball.model.past({"past": replaced})

    def draw_outcomes(self, positions: Sequence[int], draw: int) -> NDArray[np.int64]:
        """An outcome for each of these past balls (positions on the key axis)."""
        generator = np.random.default_rng([self.seed, draw, *positions])
        chance = generator.random(len(positions))
        classes = (chance[:, None] > self._chances[list(positions)]).sum(1)
        outcomes: NDArray[np.int64] = np.minimum(classes, len(OUTCOMES) - 1)
        return outcomes

    def rows(self, sets: Sets) -> tuple[Tensor, Balls]:
        """The past with each set of balls (indices from 1) replaced; a set again, drawn again."""
        before: Balls = self.ball.batch["sequence"]["balls"]
        count = len(sets)
        key = self._own.repeat(count, 1, 1)
        flags = {name: getattr(before, name).repeat(count, 1) for name in self._flags}
        times: Counter[tuple[int, ...]] = Counter()
        for row, balls in enumerate(sets):
            positions = [index - 1 for index in sorted(balls)]
            classes = torch.from_numpy(self.draw_outcomes(positions, times[balls]))
            times[balls] += 1
            key[row, positions] = self._bank[classes, positions]
            for name, table in self._flags.items():
                flags[name][row, positions] = table[classes]
        players = mapped(before, partial(_repeated, count))
        return key, replace(players, **flags)

    def everywhere(self, sets: Sets) -> Floats:
        """Probabilities with balls replaced for the whole model, ``(set, outcome)``."""
        keys, balls = self.rows(sets)
        probs = [np.zeros((0, len(OUTCOMES)))]
        for start in range(0, len(sets), _ROWS_AT_ONCE):
            some = slice(start, start + _ROWS_AT_ONCE)
            key = keys[some]
            batch = self._batch(len(key), mapped(balls, itemgetter(some)))
            with torch.no_grad():
                logits = self.ball.model.predict(batch, key=key).logits
            probs.append(logits[:, 0].double().softmax(-1).numpy())
        return np.concatenate(probs)

    def for_head(self, scale: str, head: int, sets: Sets) -> Floats:
        """The same with balls replaced for one head's keys and values only.

        Not for the long scale, whose keys are overs.
        """
        key, balls = self.rows(sets)
        sequence = self._batch(len(sets), balls)["sequence"]
        table = relate(sequence["now"], balls, sequence["visible"])
        encoder = self.ball.model.temporal.encoder(scale)
        with torch.no_grad():
            placed = encoder.embed(key, balls.over, balls.ball_in_over)
        first = placed.shape[1] - self.ball.scales[scale].keys
        read = self.ball.read_by(scale, head, placed[:, first:], table[:, :, first:])
        return self.ball.with_head(scale, head, read)

    def _batch(self, count: int, balls: Balls) -> Batch:
        """The ball asked about, ``count`` times, over these pasts."""

        repeat = partial(_repeated, count)
        sequence = self.ball.batch["sequence"]
        return {
            "graph_data": mapped(self.ball.batch["graph_data"], repeat),
            "sequence": {
                "now": mapped(sequence["now"], repeat),
                "balls": balls,
                "visible": repeat(sequence["visible"]),
                "overs": sequence["overs"],
            },
        }
