"""Many balls at once, for what heads do on the whole: a sample, and what a model says of it.

A few balls of each sampled innings are queries of one pass over all balls of that innings.
What heads looked at in such a pass is `attnlens.cricket.head_looks`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.cricket.batch import training_batch
from attnlens.cricket.tensors import Encoded
from attnlens.models.predictor import FullModel
from attnlens.models.relations import Balls
from attnlens.models.temporal import SCALES

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]
Hook = Callable[[int], AbstractContextManager[Any]]

INNINGS_AT_ONCE: Final = 32
BALLS_EACH: Final = 2
"""Balls to sample per innings, on average: more innings say more than more balls of one."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadSample:
    """Sampled balls, in batches.

    Attributes:
        batches: the predictor's inputs, a few queries per innings.
        asked: which queries are sampled balls and not padding, per batch
            ``(innings, query)``.
        outcomes: what happened ``(row,)``.
        matches: each row's match.
    """

    batches: tuple[dict[str, Any], ...]
    asked: tuple[Tensor, ...]
    outcomes: Integers
    matches: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.outcomes)


def sample_balls(
    innings: Sequence[Encoded], balls: int, seed: int, *, before: int = SCALES["medium"]
) -> list[tuple[Encoded, list[int]]]:
    """Balls to ask about, with at least ``before`` balls before them: innings and positions.

    About `BALLS_EACH` per innings where there are innings enough, none twice; fewer than
    ``balls`` only where there are no more.
    """
    generator = np.random.default_rng(seed)
    long_enough = [one for one in innings if len(one.arrays) > before]
    order = generator.permutation(len(long_enough))
    pool: list[tuple[int, int]] = []
    for taken, number in enumerate(order.tolist(), 1):
        outcome = long_enough[number].arrays.outcome
        pool += [(number, place) for place in range(before, len(outcome)) if outcome[place] >= 0]
        if len(pool) >= balls and taken * BALLS_EACH >= balls:
            break
    picks = generator.permutation(len(pool))[:balls]
    chosen: dict[int, list[int]] = {}
    for number, place in sorted(pool[pick] for pick in picks.tolist()):
        chosen.setdefault(number, []).append(place)
    return [(long_enough[number], places) for number, places in chosen.items()]


def batches_of(chosen: Sequence[tuple[Encoded, list[int]]]) -> HeadSample:
    """The sampled balls as inputs, innings of like length together."""
    ordered = sorted(chosen, key=lambda one: len(one[0].arrays))
    batches, asked, outcomes, matches = [], [], [], []
    for start in range(0, len(ordered), INNINGS_AT_ONCE):
        part = ordered[start : start + INNINGS_AT_ONCE]
        whole, outcome = training_batch([one.arrays for one, _ in part])
        most = max(len(places) for _, places in part)
        rows = torch.tensor([[*places, *places[:1] * (most - len(places))] for _, places in part])
        real = torch.tensor([[n < len(places) for n in range(most)] for _, places in part])
        sequence = whole["sequence"]
        batches.append(
            {
                "graph_data": of_each(whole["graph_data"], rows),
                "sequence": {
                    **sequence,
                    "now": of_each(sequence["now"], rows),
                    "visible": of_each(sequence["visible"], rows),
                },
            }
        )
        asked.append(real)
        outcomes.append(of_each(outcome, rows)[real].numpy())
        matches += [one.match_id for one, places in part for _ in places]
    told = np.concatenate(outcomes) if outcomes else np.zeros(0, np.int64)
    return HeadSample(tuple(batches), tuple(asked), told, tuple(matches))


def of_each(value: Any, rows: Tensor) -> Any:
    """The same structure with rows of its own from each innings.

    Args:
        value: tensors ``(innings, ball, ...)``, in dicts or as `Balls`.
        rows: ``(innings, query)``.
    """
    if isinstance(value, Tensor):
        return value[torch.arange(len(rows))[:, None], rows]
    if isinstance(value, dict):
        return {name: of_each(member, rows) for name, member in value.items()}
    if isinstance(value, Balls):
        named = {name: getattr(value, name) for name in Balls.__slots__}
        return Balls(**{name: of_each(member, rows) for name, member in named.items()})
    return value


def untouched(_: int) -> AbstractContextManager[Any]:
    """No intervention."""
    return nullcontext()


@dataclass(frozen=True, slots=True, eq=False)
class PastTold:
    """What the past balls of a batch tell, which no intervention on a head changes.

    Attributes:
        key: their vectors ``(innings, ball, hidden_dim)``.
        summaries: of the overs ``(innings, over, hidden_dim)``.
    """

    key: Tensor
    summaries: Tensor


def past_told(model: FullModel, sample: HeadSample) -> list[PastTold]:
    """Worked out once for all passes over the sample."""
    told = []
    with torch.no_grad():
        for batch in sample.batches:
            sequence = batch["sequence"]
            key = model.past(sequence)
            shared = sequence["shared"][:, None]
            summaries = model.temporal.over_summaries(
                key, sequence["balls"], shared, sequence["overs"]
            )
            told.append(PastTold(key, summaries[:, 0]))
    return told


def probabilities(
    model: FullModel, sample: HeadSample, told: Sequence[PastTold], hook: Hook = untouched
) -> Floats:
    """Outcome probabilities of every sampled ball, ``(row, outcome)``.

    Args:
        told: `past_told` of the same model and sample.
        hook: the intervention to run batch ``n`` under.
    """
    found = []
    for number, (batch, asked) in enumerate(zip(sample.batches, sample.asked, strict=True)):
        past = told[number]
        with torch.no_grad(), hook(number):
            logits = model.predict(batch, key=past.key, summaries=past.summaries).logits
        found.append(logits[asked].double().softmax(-1).numpy())
    return np.concatenate(found) if found else np.zeros((0, model.sizes.outcomes))
