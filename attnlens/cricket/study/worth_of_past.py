"""What the past of many balls is worth: their log-loss with it, without it, and scrambled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from attnlens.arrays import Floats
from attnlens.cricket.model.predictor import FullModel
from attnlens.cricket.model.tensors import Encoded
from attnlens.cricket.readers.history import Report
from attnlens.cricket.study.figures import Figure
from attnlens.cricket.study.sampling import log_chances, sample, under_scrambling

SCRAMBLES: Final = 5


@dataclass(frozen=True, slots=True)
class WiderSample:
    """Log-losses of more balls, of any place in an innings that has a past."""

    balls: int
    intact: Figure
    hide_all: Figure
    worth_of_past: Figure
    scramble_cost: Figure


def wider_sample(
    model: FullModel, innings: Sequence[Encoded], balls: int, seed: int, report: Report
) -> WiderSample:
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
        mixed = under_scrambling(model, one.arrays, positions, orders)
        scrambled = -np.log(mixed[np.arange(len(positions)), :, actual]).mean(-1)
        parts.append(np.stack([intact, hidden, hidden - intact, scrambled - intact]))
        matches += [one.match_id] * len(positions)
    table = np.concatenate(parts, axis=1)
    return WiderSample(len(matches), *(Figure.mean(row, matches, seed) for row in table))


def permutations(generator: np.random.Generator, count: int) -> NDArray[np.int64]:
    """`SCRAMBLES` random orders of ``count`` past balls, ``(SCRAMBLES, count)``."""
    return np.stack([generator.permutation(count) for _ in range(SCRAMBLES)])
