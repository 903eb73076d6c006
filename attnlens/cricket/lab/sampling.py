"""Sample balls, and predict each ball from its actual past or from a scrambled past.

In a scrambled past, the outcomes of the past balls are permuted, together with the flags for wicket
and boundary. The past balls keep their positions, players and scoreboards.
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

from attnlens.cricket.lab.figures import Estimate
from attnlens.cricket.predictor.predictor import FullModel
from attnlens.cricket.predictor.relations import Batch, mapped
from attnlens.cricket.predictor.scales import RECENT
from attnlens.cricket.predictor.tensors import Encoded, InningsArrays
from attnlens.cricket.predictor.window import balls, past_side, query_side, training_batch, truncate
from attnlens.cricket.readers import Report
from attnlens.files import Floats, Integers, Json

Hook = Callable[[int], AbstractContextManager[Any]]
E = TypeVar("E", bound=Encoded)

BEFORE: Final = RECENT + 1
"""By default, a ball can be sampled only if the innings has at least 36 earlier balls."""

_INNINGS_PER_BATCH: Final = 32
_BALLS_PER_INNINGS: Final = 2
"""The average number of balls from an innings. Further innings add more information."""

_ROWS_PER_BATCH: Final = 40


def has_outcome(encoded: Encoded, position: int) -> bool:
    """Return whether the outcome of the ball at ``position`` is known."""
    return bool(encoded.arrays.outcome[position] >= 0)


def sample(
    innings: Sequence[E],
    balls: int,
    seed: int,
    fits: Callable[[E, int], bool] = has_outcome,
    *,
    before: int = BEFORE,
) -> list[tuple[int, int]]:
    """Sample balls with equal probability.

    A sampled ball has at least ``before`` earlier balls, and satisfies ``fits``.

    Returns:
        For each ball, an index into ``innings`` and the ball's position, both counted from 0.
    """
    fitting = [
        (row, position)
        for row, encoded in enumerate(innings)
        for position in range(before, len(encoded.arrays))
        if fits(encoded, position)
    ]
    generator = np.random.default_rng(seed)
    picks = generator.choice(len(fitting), min(balls, len(fitting)), replace=False)
    return [fitting[pick] for pick in sorted(picks)]


def sample_balls(innings: Sequence[E], balls: int, seed: int) -> list[tuple[E, list[int]]]:
    """Sample balls that have at least `BEFORE` balls before them.

    Return each chosen innings with the positions of about `_BALLS_PER_INNINGS` balls. If there are
    too few innings, more balls per innings are returned. If there are fewer than ``balls`` balls,
    all balls are returned.
    """
    generator = np.random.default_rng(seed)
    long_enough = [encoded for encoded in innings if len(encoded.arrays) > BEFORE]
    order = generator.permutation(len(long_enough)).tolist()
    pool: list[tuple[int, int]] = []
    for n_innings, row in enumerate(order, 1):
        encoded = long_enough[row]
        positions = range(BEFORE, len(encoded.arrays))
        pool += [(row, position) for position in positions if has_outcome(encoded, position)]
        if len(pool) >= balls and n_innings * _BALLS_PER_INNINGS >= balls:
            break
    picks = generator.permutation(len(pool))[:balls].tolist()
    positions_of: dict[int, list[int]] = {}
    for row, position in sorted(pool[pick] for pick in picks):
        positions_of.setdefault(row, []).append(position)
    return [(long_enough[row], positions) for row, positions in positions_of.items()]


@dataclass(frozen=True, slots=True, eq=False)
class HeadSample:
    """Batches of innings. The queries of an innings are the sampled balls. A row is a sampled ball.

    Attributes:
        sampled: for each batch, a mask with shape ``(innings, query)``. The mask is true for
            sampled balls and false for padding.
        outcomes: the actual outcome of each row, with shape ``(row,)``.
        matches: the id of each row's match, with shape ``(row,)``.
        places: for each row, the innings number and the ball's position in the innings. Both are
            counted from 1.
    """

    batches: tuple[Batch, ...]
    sampled: tuple[Tensor, ...]
    outcomes: Integers
    matches: tuple[str, ...]
    places: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return len(self.outcomes)


def batches_of(chosen: Sequence[tuple[Encoded, list[int]]]) -> HeadSample:
    """Arrange sampled balls in batches of innings with similar lengths."""
    ordered = sorted(chosen, key=lambda pair: len(pair[0].arrays))
    batches, sampled = [], []
    outcomes: list[Integers] = [np.zeros(0, np.int64)]
    for start in range(0, len(ordered), _INNINGS_PER_BATCH):
        part = ordered[start : start + _INNINGS_PER_BATCH]
        batch, outcome = training_batch([encoded.arrays for encoded, _ in part])
        queries = max(len(positions) for _, positions in part)
        rows = torch.tensor([[*ps, *ps[:1] * (queries - len(ps))] for _, ps in part])
        flags = torch.tensor([[query < len(ps) for query in range(queries)] for _, ps in part])
        sequence = batch["sequence"]
        current = {name: of_each(sequence[name], rows) for name in ("now", "visible")}
        graph = of_each(batch["graph_data"], rows)
        batches.append({"graph_data": graph, "sequence": sequence | current})
        sampled.append(flags)
        outcomes.append(of_each(outcome, rows)[flags].numpy())
    matches = tuple(encoded.match_id for encoded, positions in ordered for _ in positions)
    places = tuple((encoded.innings, at + 1) for encoded, positions in ordered for at in positions)
    return HeadSample(tuple(batches), tuple(sampled), np.concatenate(outcomes), matches, places)


def of_each(value: Any, rows: Tensor) -> Any:
    """Select some balls of each innings, from every tensor in ``value``.

    The tensors have shape ``(innings, ball, ...)``. ``rows`` has shape ``(innings, query)`` and
    contains the positions of the selected balls.
    """
    return mapped(value, lambda tensor: tensor[torch.arange(len(rows))[:, None], rows])


def encoded_past(model: FullModel, sample: HeadSample) -> list[tuple[Tensor, Tensor]]:
    """Encode the past balls of each batch.

    Returns:
        For each batch, two tensors. The vectors of balls have shape ``(innings, ball,
        hidden_dim)``. The vectors of overs have shape ``(innings, over, hidden_dim)``.
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
    """Return every sampled ball's outcome probabilities, with shape ``(row, outcome)``.

    ``past`` is the result of `encoded_past` for the same model and sample. The forward pass of
    batch ``n`` runs inside the context manager ``hook(n)``.
    """
    parts = [np.zeros((0, model.sizes.outcomes))]
    for number, (batch, flags) in enumerate(zip(sample.batches, sample.sampled, strict=True)):
        key, summaries = past[number]
        with torch.no_grad(), hook(number):
            logits = model.predict(batch, key=key, summaries=summaries).logits
        parts.append(logits[flags].double().softmax(-1).numpy())
    return np.concatenate(parts)


def log_probabilities(model: FullModel, arrays: InningsArrays, *, past: bool = True) -> Floats:
    """Return the log-probabilities of an innings, with shape ``(ball, outcome)``.

    If ``past`` is false, all past balls are hidden.
    """
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
    """Predict balls from scrambled pasts. The result has shape ``(ball, order, outcome)``.

    Args:
        positions: the positions of the balls in the innings, counted from 0; each ball must have
            past balls.
        orders: for each ball, permutations of the past balls, with shape ``(order, past)``. Every
            ball has the same number of permutations. In a permutation ``order``, past ball ``j``
            gets the outcome of past ball ``order[j]``.
    """
    each = len(orders[0]) if len(orders) else 0
    step = max(1, _ROWS_PER_BATCH // max(each, 1))
    parts = [np.zeros((0, each, model.sizes.outcomes))]
    for start in range(0, len(positions), step):
        part = slice(start, start + step)
        with torch.no_grad():
            logits = model(scrambled(arrays, positions[part], orders[part]))
        parts.append(logits[:, 0].double().softmax(-1).numpy().reshape(-1, each, logits.shape[-1]))
    return np.concatenate(parts)


def scrambled(arrays: InningsArrays, positions: Sequence[int], orders: Sequence[Integers]) -> Batch:
    """Build the batch for `scrambled_probabilities`.

    The batch has one row for each permutation of each ball. The ball is the only query of its row.
    """
    length = max(positions) + 1
    innings = [truncate(arrays, length)]
    ball_columns = balls(innings, length)
    query = np.repeat(np.asarray(positions), [len(order) for order in orders])
    rows = len(query)
    # A row may have balls that are not in the ball's own past. They are not visible, so their order
    # does not matter.
    order = np.tile(np.arange(length - 1), (rows, 1))
    row = 0
    for position, ball_orders in zip(positions, orders, strict=True):
        order[row : row + len(ball_orders), :position] = ball_orders
        row += len(ball_orders)
    source = torch.from_numpy(order)
    visible = torch.from_numpy(np.arange(length - 1) < query[:, None])[:, None]
    queries = torch.from_numpy(query)

    def past_rows(value: Tensor) -> Tensor:
        return value[:, :-1].expand(rows, length - 1, *value.shape[2:])

    def query_rows(value: Tensor) -> Tensor:
        return value[0, queries][:, None]

    past = mapped(past_side(innings, length), past_rows)
    past["happened"] = past["happened"].gather(
        1, source[..., None].expand(-1, -1, past["happened"].shape[-1])
    )
    before = mapped(ball_columns, past_rows)
    flags = {name: getattr(before, name).gather(1, source) for name in ("wicket", "boundary")}
    return {
        "graph_data": mapped(query_side(innings, length), query_rows),
        "sequence": {
            "now": mapped(ball_columns, query_rows),
            "balls": replace(before, **flags),
            "past": past,
            "visible": visible,
            "overs": max(int(ball_columns.over.max()) + 1, 1),
        },
    }


SCRAMBLES: Final = 5


def wider_sample(
    model: FullModel, innings: Sequence[Encoded], balls: int, seed: int, report: Report
) -> Json:
    """Measure the log-loss on a sample of balls, with and without the past balls.

    Return four means: the log-loss with the past, the log-loss with all past balls hidden, the
    increase from hiding, and the increase from scrambling the past.
    """
    positions_of: dict[int, list[int]] = {}
    for row, position in sample(innings, balls, seed, before=1):
        positions_of.setdefault(row, []).append(position)
    parts: list[Floats] = []
    matches: list[str] = []
    for number, (row, positions) in enumerate(positions_of.items()):
        report(f"log-losses with and without the past: innings {number + 1} of {len(positions_of)}")
        arrays = innings[row].arrays
        actual = arrays.outcome[positions]
        intact, hidden = (
            -log_probabilities(model, arrays, past=past)[positions, actual]
            for past in (True, False)
        )
        generator = np.random.default_rng([seed, row])
        orders = [permutations(generator, position) for position in positions]
        permuted = scrambled_probabilities(model, arrays, positions, orders)
        scrambled = -np.log(permuted[np.arange(len(positions)), :, actual]).mean(-1)
        parts.append(np.stack([intact, hidden, hidden - intact, scrambled - intact]))
        matches += [innings[row].match_id] * len(positions)
    table = np.concatenate(parts, axis=1)
    names = ("intact", "hide_all", "worth_of_past", "scramble_cost")
    figures = (Estimate.mean(column, matches, seed) for column in table)
    return {"balls": len(matches), **dict(zip(names, figures, strict=True))}


def permutations(generator: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Return random permutations of ``count`` past balls, with shape ``(SCRAMBLES, count)``."""
    return np.stack([generator.permutation(count) for _ in range(SCRAMBLES)])
