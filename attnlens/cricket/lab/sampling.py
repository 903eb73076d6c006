"""Many balls at once: samples of them, what a model says of them, and of their past in disorder.

For what heads do on the whole a few balls of each sampled innings are queries of one pass over all
balls of that innings; what heads looked at in such a pass is `attnlens.cricket.lab.head_study`.

Scrambled: what happened on each past ball (and with it the flags wicket, boundary and dot) is
permuted among all past balls of a query; where each ball stood, who played it, and every
scoreboard stay as they were. A query's permutation moves its own past only, so no later ball's
outcome is ever told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.arrays import Floats, Integers
from attnlens.cricket.lab.figures import Figure
from attnlens.cricket.predictor.heads import RECENT
from attnlens.cricket.predictor.predictor import FullModel
from attnlens.cricket.predictor.relations import Batch, mapped
from attnlens.cricket.predictor.tensors import Encoded, InningsArrays
from attnlens.cricket.predictor.window import balls, past_side, query_side, training_batch, truncate
from attnlens.cricket.readers.history import Report

Hook = Callable[[int], AbstractContextManager[Any]]
E = TypeVar("E", bound=Encoded)

BEFORE: Final = RECENT + 1
"""A sampled ball has at least this many before it."""

_INNINGS_AT_ONCE: Final = 32
_BALLS_EACH: Final = 2
"""Balls to sample per innings, on average: more innings say more than more balls of one."""

_TOLD: Final[tuple[str, ...]] = ("wicket", "boundary", "dot")
"""The flags of a past ball that are part of its outcome."""

_ROWS_AT_ONCE: Final = 40


def happened(encoded: Encoded, position: int) -> bool:
    """Whether it is known what came of a ball."""
    return bool(encoded.arrays.outcome[position] >= 0)


def sample(
    innings: Sequence[E],
    balls: int,
    seed: int,
    fits: Callable[[E, int], bool] = happened,
    *,
    before: int = BEFORE,
) -> list[tuple[int, int]]:
    """Balls with so many ``before`` them, drawn evenly: innings and position, from 0."""
    fitting = [
        (number, position)
        for number, one in enumerate(innings)
        for position in range(before, len(one.arrays))
        if fits(one, position)
    ]
    generator = np.random.default_rng(seed)
    picks = generator.choice(len(fitting), min(balls, len(fitting)), replace=False)
    return [fitting[pick] for pick in sorted(picks)]


def sample_balls(innings: Sequence[E], balls: int, seed: int) -> list[tuple[E, list[int]]]:
    """Balls to ask about, with at least `BEFORE` before them: innings and positions.

    About `_BALLS_EACH` per innings where there are innings enough, none twice; fewer than
    ``balls`` only where there are no more.
    """
    generator = np.random.default_rng(seed)
    long_enough = [one for one in innings if len(one.arrays) > BEFORE]
    order = generator.permutation(len(long_enough))
    pool: list[tuple[int, int]] = []
    for index, number in enumerate(order.tolist(), 1):
        one = long_enough[number]
        pool += [(number, at) for at in range(BEFORE, len(one.arrays)) if happened(one, at)]
        if len(pool) >= balls and index * _BALLS_EACH >= balls:
            break
    picks = generator.permutation(len(pool))[:balls]
    chosen: dict[int, list[int]] = {}
    for number, place in sorted(pool[pick] for pick in picks.tolist()):
        chosen.setdefault(number, []).append(place)
    return [(long_enough[number], places) for number, places in chosen.items()]


@dataclass(frozen=True, slots=True, eq=False)
class HeadSample:
    """Sampled balls, in batches of a few queries per innings.

    Attributes:
        asked: which queries are sampled balls and not padding, per batch ``(innings, query)``.
        outcomes, matches: what happened, and in which match ``(row,)``.
    """

    batches: tuple[Batch, ...]
    asked: tuple[Tensor, ...]
    outcomes: Integers
    matches: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.outcomes)


def batches_of(chosen: Sequence[tuple[Encoded, list[int]]]) -> HeadSample:
    """The sampled balls as inputs, innings of like length together."""
    ordered = sorted(chosen, key=lambda one: len(one[0].arrays))
    batches, asked, matches = [], [], []
    outcomes: list[Integers] = [np.zeros(0, np.int64)]
    for start in range(0, len(ordered), _INNINGS_AT_ONCE):
        part = ordered[start : start + _INNINGS_AT_ONCE]
        whole, outcome = training_batch([one.arrays for one, _ in part])
        most = max(len(places) for _, places in part)
        rows = torch.tensor([[*places, *places[:1] * (most - len(places))] for _, places in part])
        real = torch.tensor([[n < len(places) for n in range(most)] for _, places in part])
        sequence = whole["sequence"]
        now = {name: of_each(sequence[name], rows) for name in ("now", "visible")}
        graph = of_each(whole["graph_data"], rows)
        batches.append({"graph_data": graph, "sequence": sequence | now})
        asked.append(real)
        outcomes.append(of_each(outcome, rows)[real].numpy())
        matches += [one.match_id for one, places in part for _ in places]
    return HeadSample(tuple(batches), tuple(asked), np.concatenate(outcomes), tuple(matches))


def of_each(value: Any, rows: Tensor) -> Any:
    """The same structure of tensors ``(innings, ball, ...)``, with rows of each innings' own.

    ``rows`` is ``(innings, query)``.
    """
    return mapped(value, lambda tensor: tensor[torch.arange(len(rows))[:, None], rows])


def encoded_past(model: FullModel, sample: HeadSample) -> list[tuple[Tensor, Tensor]]:
    """What the past balls of each batch tell, which no intervention on a head changes.

    Vectors of the balls ``(innings, ball, hidden_dim)`` and of the overs ``(innings, over,
    hidden_dim)``, worked out once for all passes over the sample.
    """
    parts = []
    with torch.no_grad():
        for batch in sample.batches:
            sequence = batch["sequence"]
            key = model.past(sequence)
            shared = sequence["shared"][:, None]
            summaries = model.temporal.over_summaries(
                key, sequence["balls"], shared, sequence["overs"]
            )
            parts.append((key, summaries[:, 0]))
    return parts


def probabilities(
    model: FullModel,
    sample: HeadSample,
    past: Sequence[tuple[Tensor, Tensor]],
    hook: Hook = lambda _: nullcontext(),
) -> Floats:
    """Outcome probabilities of every sampled ball, ``(row, outcome)``.

    ``past`` is `encoded_past` of the same model and sample; batch ``n`` runs under ``hook(n)``.
    """
    parts = [np.zeros((0, model.sizes.outcomes))]
    for number, (batch, asked) in enumerate(zip(sample.batches, sample.asked, strict=True)):
        key, summaries = past[number]
        with torch.no_grad(), hook(number):
            logits = model.predict(batch, key=key, summaries=summaries).logits
        parts.append(logits[asked].double().softmax(-1).numpy())
    return np.concatenate(parts)


def log_chances(model: FullModel, arrays: InningsArrays, *, past: bool = True) -> Floats:
    """Log-probabilities of every ball of an innings ``(ball, outcome)``; or without any past."""
    batch, _ = training_batch([arrays])
    sequence = batch["sequence"]
    if not past:
        hidden = {name: torch.zeros_like(sequence[name]) for name in ("visible", "shared")}
        sequence = sequence | hidden
    with torch.no_grad():
        logits = model({"graph_data": batch["graph_data"], "sequence": sequence})
    logs: Floats = logits[0].double().log_softmax(-1).numpy()
    return logs


def scrambled_probabilities(
    model: FullModel, arrays: InningsArrays, positions: Sequence[int], orders: Sequence[Integers]
) -> Floats:
    """Probabilities ``(ball, order, outcome)`` of balls whose past outcomes stand in other orders.

    Args:
        positions: the balls, from 0, each with a past.
        orders: one ``(order, position)`` per ball, as many orders for each: past ball ``j``
            is told the outcome of past ball ``orders[j]``.
    """
    each = len(orders[0]) if len(orders) else 0
    step = max(1, _ROWS_AT_ONCE // max(each, 1))
    parts = [np.zeros((0, each, model.sizes.outcomes))]
    for start in range(0, len(positions), step):
        some = slice(start, start + step)
        with torch.no_grad():
            logits = model(scrambled(arrays, positions[some], orders[some]))
        parts.append(logits[:, 0].double().softmax(-1).numpy().reshape(-1, each, logits.shape[-1]))
    return np.concatenate(parts)


def scrambled(arrays: InningsArrays, positions: Sequence[int], orders: Sequence[Integers]) -> Batch:
    """The predictor's batch: one row with one query per ball and order, in that order."""
    length = max(positions) + 1
    head = [truncate(arrays, length)]
    who = balls(head, length)
    each = [len(order) for order in orders]
    # Beyond a ball's own past the order does not matter: nothing there is visible to it.
    order = torch.arange(length - 1).repeat(sum(each), 1)
    visible = torch.zeros(sum(each), 1, length - 1, dtype=torch.bool)
    row = 0
    for position, one in zip(positions, orders, strict=True):
        order[row : row + len(one), :position] = torch.from_numpy(one)
        visible[row : row + len(one), :, :position] = True
        row += len(one)
    asked = torch.from_numpy(np.repeat(np.asarray(positions), each))

    def past_rows(value: Tensor) -> Tensor:
        """The past balls, once per row: ``(1, length, ...) -> (row, length - 1, ...)``."""
        return value[:, :-1].expand(row, length - 1, *value.shape[2:])

    def query_rows(value: Tensor) -> Tensor:
        """The balls asked about, a row each: ``(1, length, ...) -> (row, 1, ...)``."""
        return value[0, asked][:, None]

    past = mapped(past_side(head, length), past_rows)
    past["happened"] = past["happened"].gather(
        1, order[..., None].expand(-1, -1, past["happened"].shape[-1])
    )
    before = mapped(who, past_rows)
    flags = {name: getattr(before, name).gather(1, order) for name in _TOLD}
    return {
        "graph_data": mapped(query_side(head, length), query_rows),
        "sequence": {
            "now": mapped(who, query_rows),
            "balls": replace(before, **flags),
            "past": past,
            "visible": visible,
            "overs": max(int(who.over.max()) + 1, 1),
        },
    }


SCRAMBLES: Final = 5


@dataclass(frozen=True, slots=True)
class WiderSampleLosses:
    """Log-losses of more balls, of any place in an innings that has a past."""

    balls: int
    intact: Figure
    hide_all: Figure
    worth_of_past: Figure
    scramble_cost: Figure


def wider_sample(
    model: FullModel, innings: Sequence[Encoded], balls: int, seed: int, report: Report
) -> WiderSampleLosses:
    """Log-loss of a sample of balls with any past: with it, without it, and scrambled."""
    drawn: dict[int, list[int]] = {}
    for place, position in sample(innings, balls, seed, before=1):
        drawn.setdefault(place, []).append(position)
    parts: list[Floats] = []
    matches: list[str] = []
    for number, (place, positions) in enumerate(drawn.items()):
        report(f"log-losses with and without the past: innings {number + 1} of {len(drawn)}")
        one = innings[place]
        actual = one.arrays.outcome[positions]
        intact, hidden = (
            -log_chances(model, one.arrays, past=past)[positions, actual] for past in (True, False)
        )
        generator = np.random.default_rng([seed, place])
        orders = [permutations(generator, position) for position in positions]
        mixed = scrambled_probabilities(model, one.arrays, positions, orders)
        scrambled = -np.log(mixed[np.arange(len(positions)), :, actual]).mean(-1)
        parts.append(np.stack([intact, hidden, hidden - intact, scrambled - intact]))
        matches += [one.match_id] * len(positions)
    table = np.concatenate(parts, axis=1)
    return WiderSampleLosses(len(matches), *(Figure.mean(row, matches, seed) for row in table))


def permutations(generator: np.random.Generator, count: int) -> NDArray[np.int64]:
    """`SCRAMBLES` random orders of ``count`` past balls, ``(SCRAMBLES, count)``."""
    return np.stack([generator.permutation(count) for _ in range(SCRAMBLES)])
