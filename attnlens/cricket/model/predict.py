"""Predictions for every delivery of a match, as rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import torch

from attnlens.cricket.match.match import Match
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.model.batch import training_batch
from attnlens.cricket.model.tensors import encode_innings
from attnlens.cricket.model.trained import TrainedPredictor
from attnlens.cricket.model.window import one_thread

DIGITS: Final = 6

COLUMNS: Final[tuple[str, ...]] = (
    "match_id",
    "innings",
    "index",
    "label",
    "batter",
    "bowler",
    "actual",
    *(f"p_{outcome}" for outcome in OUTCOMES),
)
"""The columns of a prediction, in order."""


Row: TypeAlias = dict[str, str | int | float]
"""A delivery by `COLUMNS`."""


def predict_match(match: Match, predictor: TrainedPredictor) -> Iterator[Row]:
    """One row per delivery, innings by innings, in file order.

    The prediction for a ball uses the balls before it and what is known before it is
    bowled; its own outcome stands beside, in ``actual``.
    """
    for innings in match.innings:
        if not innings.deliveries:
            continue
        arrays = encode_innings(match, innings, predictor.ratings, predictor.base)
        batch, _ = training_batch([arrays])
        with one_thread(), torch.no_grad():
            chances = predictor.model(batch)[0].double().softmax(-1).tolist()
        for ball, row in zip(innings.deliveries, chances, strict=True):
            yield {
                "match_id": match.match_id,
                "innings": innings.number,
                "index": ball.index,
                "label": ball.label,
                "batter": ball.batter.name,
                "bowler": ball.bowler.name,
                "actual": ball.outcome,
                **{
                    f"p_{outcome}": round(chance, DIGITS)
                    for outcome, chance in zip(OUTCOMES, row, strict=True)
                },
            }
