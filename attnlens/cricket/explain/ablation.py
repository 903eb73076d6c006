"""Asking the predictor about one ball with something taken away.

Past balls, or what was known, can be hidden from the whole model (`under_masks`,
`under_knowledge`) or from one head (`OneBall`). The fusion is linear in the scales' vectors, so a
prediction with one head changed is the intact one, plus what the change of that scale's vector
does to the logits: only the scale's own layer is worked out again, for all changes together.

A hidden ball is not there. A replaced one (`Replacement`) is, but tells of something else: what
happened on it (its outcome, runs, and the flags wicket, boundary and dot; hence its surprise too)
is drawn from the balls of all training matches that were bowled in the same over of the same
innings. Where it stood, who played it and every scoreboard stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.arrays import Floats
from attnlens.cricket.explain.reading import SITES, overheard
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.predictor.predictor import FUSED, KNOWLEDGE, FullModel, Prediction
from attnlens.cricket.predictor.relations import Balls, Batch, RelationBlock, mapped, relate, take
from attnlens.cricket.predictor.scales import SCALES
from attnlens.cricket.predictor.tensors import PAST_OUTCOME_SIZE
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
    known: dict[str, NDArray[np.bool_]],
) -> Floats:
    """Probabilities with past balls *and* groups of knowledge taken away, ``(row, outcome)``.

    A player's record that is taken away is taken from the past balls that player played in too, not
    only from the current ball. ``visible`` is ``(row, key)``, ``known`` by group of `KNOWLEDGE`
    ``(row,)``.
    """
    # Whose records are known changes the past balls: one row of the batch for each such case.
    has_striker, has_bowler = known["striker's record"], known["bowler's record"]
    cases, case = np.unique(has_striker + 2 * has_bowler, return_inverse=True)
    member = case[:, None] == np.arange(len(cases))
    place = (member.cumsum(0) - 1)[np.arange(len(case)), case]

    def by_case(flags: NDArray[np.bool_]) -> Tensor:
        rows = np.ones((len(cases), 1 + place.max(initial=0), *flags.shape[1:]), bool)
        rows[case, place] = flags
        return torch.from_numpy(rows)

    seen = by_case(visible)
    sequence: Batch = mapped(
        batch["sequence"], lambda value: value.expand(len(cases), *value.shape[1:])
    )
    graph: Batch = mapped(
        batch["graph_data"], lambda value: value.expand(*seen.shape[:2], *value.shape[2:])
    )
    graph["known"] = {group: by_case(known[group]) for group in KNOWLEDGE}
    now, past = sequence["now"], sequence["balls"]
    sequence["past"] |= {
        "striker_known": (past.batter != now.batter) | torch.from_numpy(cases % 2 == 1)[:, None],
        "bowler_known": (past.bowler != now.bowler) | torch.from_numpy(cases >= 2)[:, None],
    }
    sequence |= {"now": take(now, [0] * seen.shape[1]), "visible": seen}
    with torch.no_grad():
        logits = model({"graph_data": graph, "sequence": sequence})
    result: Floats = logits.double().softmax(-1).numpy()[case, place]
    return result


@dataclass(frozen=True, slots=True, eq=False)
class ScaleState:
    """One scale's layer as it ran on one ball.

    Attributes:
        query: what came into the layer ``(1, 1, hidden_dim)``; ``asked`` its attention.
        logits: of the past keys and of the ball itself ``(head, key + 1)``, minus infinity
            where a key is hidden; ``values`` likewise ``(head, key + 1, head width)``.
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
    """One pass over one ball, `window_batch`'s, held so that single heads can be changed."""

    def __init__(self, model: FullModel, batch: Batch) -> None:
        self.model = model
        self.batch = batch
        places = [
            f"{site}{index}" for site in SITES.values() for index in ("", ".probe", ".to_output")
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

        ``kept`` is ``(mask, key)``, keys as the scale has them (overs on the long scale). The
        head's weights on the others are renormalised; the ball itself stays.
        """
        state = self.scales[scale]
        seen = torch.cat([torch.from_numpy(kept), torch.ones(len(kept), 1, dtype=torch.bool)], 1)
        logits = state.logits[head].masked_fill(~seen, -torch.inf)
        return self.with_head(scale, head, logits.softmax(-1) @ state.values[head])

    def with_head(self, scale: str, head: int, read: Tensor) -> Floats:
        """Probabilities ``(row, outcome)`` with what one head read replaced by ``(row, head
        width)``.
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

        ``key`` is ``(row, key, hidden_dim)``, as it comes into the scale's layer, ``relations``
        ``(row, 1, key, relation)``.
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


def told_of(outcome: str) -> NDArray[np.float32]:
    """What a past ball with this outcome tells of it, as `encode_innings` would write it."""
    happened = np.zeros(PAST_OUTCOME_SIZE, np.float32)
    happened[OUTCOMES.index(outcome)] = 1
    runs = _RUNS[outcome] if outcome in _RUNS else int(outcome)
    happened[len(OUTCOMES) :] = runs / 4, outcome in ("4", "6"), 0
    return happened


class Replacement:
    """Replaces past balls of one ball, by draws from ``seed``.

    A set's first draw is the same whatever else is asked for.
    """

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
        classes = torch.from_numpy(np.stack([told_of(outcome) for outcome in OUTCOMES]))
        told = mapped(past, lambda value: value.expand(len(OUTCOMES), *value.shape[1:]))
        told["happened"] = classes[:, None].expand(len(OUTCOMES), count, -1)
        with torch.no_grad():
            return self.ball.model.past({"past": told})

    def drawn(self, places: Sequence[int], draw: int) -> NDArray[np.int64]:
        """An outcome for each of these past balls (positions on the key axis)."""
        generator = np.random.default_rng([self.seed, draw, *places])
        chance = generator.random(len(places))
        classes = (chance[:, None] > self._chances[list(places)]).sum(1)
        kept: NDArray[np.int64] = np.minimum(classes, len(OUTCOMES) - 1)
        return kept

    def rows(self, sets: Sets) -> tuple[Tensor, Balls]:
        """The past with each set of balls (indices from 1) replaced; a set again, drawn again.

        Vectors of the past balls ``(row, past, hidden_dim)``, and who they are ``(row, past)``.
        """
        before: Balls = self.ball.batch["sequence"]["balls"]
        count = len(sets)
        key = self._own.repeat(count, 1, 1)
        flags = {name: getattr(before, name).repeat(count, 1) for name in self._flags}
        times: Counter[tuple[int, ...]] = Counter()
        for row, one in enumerate(sets):
            places = [index - 1 for index in sorted(one)]
            classes = torch.from_numpy(self.drawn(places, times[one]))
            times[one] += 1
            key[row, places] = self._bank[classes, places]
            for name, table in self._flags.items():
                flags[name][row, places] = table[classes]
        who = mapped(before, lambda value: value.expand(count, *value.shape[1:]))
        return key, replace(who, **flags)

    def everywhere(self, sets: Sets) -> Floats:
        """Probabilities with balls replaced for the whole model, ``(set, outcome)``."""
        keys, balls = self.rows(sets)
        found = [np.zeros((0, len(OUTCOMES)))]
        for start in range(0, len(sets), _ROWS_AT_ONCE):
            some = slice(start, start + _ROWS_AT_ONCE)
            key = keys[some]
            batch = self._batch(len(key), mapped(balls, itemgetter(some)))
            with torch.no_grad():
                logits = self.ball.model.predict(batch, key=key).logits
            found.append(logits[:, 0].double().softmax(-1).numpy())
        return np.concatenate(found)

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

        def again(value: Tensor) -> Tensor:
            return value.expand(count, *value.shape[1:])

        sequence = self.ball.batch["sequence"]
        return {
            "graph_data": mapped(self.ball.batch["graph_data"], again),
            "sequence": {
                "now": mapped(sequence["now"], again),
                "balls": balls,
                "visible": again(sequence["visible"]),
                "overs": sequence["overs"],
            },
        }
