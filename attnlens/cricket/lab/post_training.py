"""What is fitted after the network and beside it: what hiding a past ball does usually.

Hiding a ball says something of the ball only beside what hiding a ball in its place does usually.
It is no part of the forecast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import torch

from attnlens.cricket.explain.ablation import under_masks
from attnlens.cricket.explain.reading import chosen_subject
from attnlens.cricket.lab.sampling import sample
from attnlens.cricket.match.match import OUTCOME_INDEX, OUTCOMES
from attnlens.cricket.predictor.predictor import (
    DISTANCES,
    EFFECT_LEVELS,
    PLACES,
    FullModel,
    places,
)
from attnlens.cricket.predictor.scales import RECENT
from attnlens.cricket.predictor.tensors import Encoded
from attnlens.cricket.predictor.window import one_thread, window_batch
from attnlens.evidence.faithfulness import remove_each
from attnlens.evidence.scores import log_odds
from attnlens.files import Floats, Integers

_LEAST_VARIANCE: Final = 1e-18
_SHRINKAGE: Final = 30.0
"""Balls at a distance, whoever played them, that each place's mean is mixed with."""


@dataclass(frozen=True, slots=True, eq=False)
class HidingEffects:
    """What hiding each of the last balls before a sample of balls does.

    Attributes:
        changes: what each outcome's log-odds lose, then the nats ``(outcome + 1, ball, past)``.
        places: where each past ball stands ``(ball, past)``.
        subjects, signs: what a page about the ball is about, as a number, and 1 where claims say
            that balls raise it, -1 where they lower it ``(ball,)``.
    """

    changes: Floats
    places: Integers
    subjects: Integers
    signs: Floats


@one_thread()
def hiding_effects(
    model: FullModel, innings: Sequence[Encoded], *, balls: int, seed: int
) -> HidingEffects | None:
    """Hide every past ball of a sample, one at a time; ``None`` where no innings is long enough."""
    changes: list[Floats] = []
    where: list[Integers] = []
    subjects: list[int] = []
    signs: list[float] = []
    for number, position in sample(innings, balls, seed):
        arrays = innings[number].arrays
        batch = window_batch(arrays, position)
        removed = remove_each(partial(under_masks, model, batch), position)
        full, singles = removed.full, removed.singles[-RECENT:]
        odds = [
            log_odds(full, [outcome]) - log_odds(singles, [outcome]) for outcome in range(len(full))
        ]
        changes.append(np.stack([*odds, removed.effects[-RECENT:]]))
        usual = np.exp(arrays.usual[position].astype(float))
        outcome = int(arrays.outcome[position])
        subject, lowers = chosen_subject(full, usual, OUTCOMES[outcome] if outcome >= 0 else None)
        subjects.append(OUTCOME_INDEX[subject])
        signs.append(-1.0 if lowers else 1.0)
        past = slice(position - RECENT, position)
        where.append(
            places(
                np.arange(RECENT, 0, -1),
                arrays.batter[past] == arrays.batter[position],
                arrays.bowler[past] == arrays.bowler[position],
            )
        )
    if not changes:
        return None
    return HidingEffects(np.stack(changes, 1), np.stack(where), np.array(subjects), np.array(signs))


def store_hiding_effects(
    model: FullModel, innings: Sequence[Encoded], *, balls: int, seed: int
) -> None:
    """Put what hiding the balls before a sample of ``balls`` shows into the model's buffers."""
    hidden = hiding_effects(model, innings, balls=balls, seed=seed)
    if hidden is None:
        return
    usual, quantiles = effect_tables(hidden)
    model.usual_effects.copy_(torch.from_numpy(usual))
    model.effect_quantiles.copy_(torch.from_numpy(quantiles))


def effect_tables(hidden: HidingEffects) -> tuple[Floats, Floats]:
    """`FullModel.usual_effects` and ``effect_quantiles`` of a sample."""
    usual, standardised = _standardised(hidden.changes, hidden.places)
    # Of a page's subject, as its claims say: in deviations of that outcome at that place.
    rows = np.arange(len(hidden.subjects))
    deviation = usual[hidden.subjects[:, None], hidden.places, 1]
    claimed = hidden.signs[:, None] * hidden.changes[hidden.subjects, rows] / deviation
    usual_claimed, of_claimed = _standardised(claimed[None], hidden.places)
    quantiles = np.quantile(np.concatenate([standardised, of_claimed]), EFFECT_LEVELS, axis=1).T
    return np.concatenate([usual, usual_claimed]), quantiles


def _standardised(changes: Floats, places_of: Integers) -> tuple[Floats, Floats]:
    """Mean and standard deviation of kinds of changes ``(kind, ball, past)`` by place.

    Places with few balls lean to their distance, and distances with few to all balls.

    Returns:
        ``(kind, place, 2)``, and every change as so many deviations ``(kind, ball * past)``.
    """
    where = places_of.ravel()
    kinds = len(changes)
    values = changes.reshape(kinds, -1)
    count = np.bincount(where, minlength=PLACES)
    moments = []
    for power in (values, values**2):
        total = np.stack([np.bincount(where, row, minlength=PLACES) for row in power])
        everywhere = power.mean(1)[:, None, None]
        by_distance, balls = (
            part.reshape(*part.shape[:-1], len(DISTANCES), -1).sum(-1, keepdims=True)
            for part in (total, count)
        )
        by_distance = (by_distance + _SHRINKAGE * everywhere) / (balls + _SHRINKAGE)
        each = total.reshape(kinds, len(DISTANCES), -1) + _SHRINKAGE * by_distance
        moments.append((each / (count.reshape(len(DISTANCES), -1) + _SHRINKAGE)).reshape(kinds, -1))
    mean, square = moments
    deviation = np.sqrt(np.maximum(square - mean**2, _LEAST_VARIANCE))
    return np.stack([mean, deviation], -1), (values - mean[:, where]) / deviation[:, where]
