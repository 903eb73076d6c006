"""How much of what hiding past balls does is told by structure alone, without any attention.

Boosted trees (LightGBM) see of each past ball how far back it was, whether the same batter faced
and the same bowler bowled, and what happened, and predict the size of the effect of hiding it. The
balls of one match are scored by trees that were fitted on balls of other matches. What a score from
the model's inside knows beyond this is what it tells of this ball's model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from attnlens.cricket.predictor.tensors import InningsArrays
from attnlens.errors import AttnlensError
from attnlens.evidence.scores import group_numbers
from attnlens.files import Floats

STRUCTURE: Final = "structure"
"""The method's name beside those of attention."""

_FOLDS: Final = 5
_ROUNDS: Final = 150
_OUTCOME_COLUMN: Final = 3
_PARAMETERS: Final = {
    "objective": "regression",
    "learning_rate": 0.08,
    "num_leaves": 31,
    "min_data_in_leaf": 50,
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "verbose": -1,
}
_MIN_EFFECT: Final = 1e-9
"""Nats that are added before the logarithm: smaller effects are noise."""


class StructureError(AttnlensError):
    """The trees cannot be fitted here, and why."""


def structure_of(arrays: InningsArrays, position: int) -> Floats:
    """Distance, same batter, same bowler and outcome of the balls before one, ``(position, 4)``."""
    past = slice(0, position)
    columns = [
        np.arange(position, 0, -1),
        arrays.batter[past] == arrays.batter[position],
        arrays.bowler[past] == arrays.bowler[position],
        arrays.outcome[past],
    ]
    return np.stack(columns, 1).astype(np.float64)


def structure_scores(
    structures: Sequence[Floats], effects: Sequence[Floats], matches: Sequence[str], seed: int
) -> list[Floats]:
    """Predicted effects of hiding the past balls of each of several balls, on a log scale.

    Args:
        structures: `structure_of` each ball; ``effects``: nats of each of its past balls,
            ``(past,)``.
        matches: the match of each ball.

    Raises:
        StructureError: LightGBM is not installed, or all balls are of one match.
    """
    try:
        import lightgbm
    except (ImportError, OSError):  # a library it needs from the system may be missing
        raise StructureError("lightgbm is not installed") from None
    match = group_numbers(matches)
    count = int(match.max()) + 1
    if count < 2:
        raise StructureError("all balls are of one match")
    fold = (np.random.default_rng(seed).permutation(count) % min(_FOLDS, count))[match]
    scores: list[Floats] = [np.zeros(0)] * len(structures)
    for number in np.unique(fold):
        training_balls = np.flatnonzero(fold != number).tolist()
        features = np.concatenate([structures[ball] for ball in training_balls])
        sizes = np.log(np.concatenate([effects[ball] for ball in training_balls]) + _MIN_EFFECT)
        data = lightgbm.Dataset(
            features, sizes, categorical_feature=[_OUTCOME_COLUMN], params=_PARAMETERS
        )
        trees = lightgbm.train(_PARAMETERS | {"seed": seed}, data, _ROUNDS)
        for ball in np.flatnonzero(fold == number).tolist():
            scores[ball] = np.asarray(trees.predict(structures[ball]), float)
    return scores
