"""From matches to training innings: the base model, ratings date by date, and arrays."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from torch import nn

from attnlens.arrays import Floats32, Integers
from attnlens.cricket.match.competition import TABLES, table_of
from attnlens.cricket.match.match import Innings, Match
from attnlens.cricket.match.outcomes import OUTCOME_INDEX, OUTCOMES
from attnlens.cricket.model.ratings import Ratings, by_date
from attnlens.cricket.model.tensors import (
    BASE_SIZE,
    OVER_CLASSES,
    BaseModel,
    InningsArrays,
    base_inputs,
    encode_innings,
    scoreboard,
)
from attnlens.cricket.model.win import strength_of
from attnlens.cricket.overs.features import OverArrays
from attnlens.cricket.study.held_out import EncodedInnings, sides

BASE_WIDTH = 64
BASE_EPOCHS = 4
BASE_BATCH = 2048
TABLE_SMOOTHING = 200.0

Progress = Callable[[str], None]


def fit_base(matches: Sequence[Match], *, seed: int) -> BaseModel:
    """Fit what the scoreboard alone expects, on all balls of ``matches``."""
    inputs: list[Floats32] = []
    outcomes: list[int] = []
    places: list[Integers] = []
    for match in matches:
        for side in sides(match):
            nodes = scoreboard(match, side)
            inputs.append(base_inputs(match, nodes))
            outcomes.extend(OUTCOME_INDEX[ball.outcome] for ball in side.deliveries)
            over = nodes["phase_state"][:, 6:].argmax(1)
            number = table_of(match) * 2 + (side.number + 1) % 2
            places.append(number * OVER_CLASSES + over)
    x = torch.from_numpy(np.concatenate(inputs))
    y = torch.tensor(outcomes)
    everything, prior = outcome_tables(np.array(outcomes), np.concatenate(places))

    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    network = nn.Sequential(
        nn.Linear(BASE_SIZE, BASE_WIDTH),
        nn.Tanh(),
        nn.Linear(BASE_WIDTH, BASE_WIDTH),
        nn.Tanh(),
        nn.Linear(BASE_WIDTH, len(OUTCOMES)),
    )
    optimiser = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=0.02)
    steps = BASE_EPOCHS * -(-len(y) // BASE_BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=steps)
    for _ in range(BASE_EPOCHS):
        order = torch.randperm(len(y), generator=generator)
        for rows in torch.split(order, BASE_BATCH):
            loss = nn.functional.cross_entropy(network(x[rows]), y[rows])
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            schedule.step()
    weights: list[Floats32] = []
    for layer in network:
        if isinstance(layer, nn.Linear):
            weights += [layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy()]
    return BaseModel(tuple(weights), prior, everything)


def outcome_tables(outcomes: Integers, places: Integers) -> tuple[Floats32, Floats32]:
    """Log-shares over all balls ``(11,)`` and by place ``(TABLES, 2, 20, 11)``, smoothed."""
    share = np.bincount(outcomes, minlength=len(OUTCOMES)) + 1.0
    share = share / share.sum()
    counts = np.zeros((TABLES * 2 * OVER_CLASSES, len(OUTCOMES)))
    np.add.at(counts, (places, outcomes), 1)
    table = (counts + TABLE_SMOOTHING * share) / (counts.sum(1, keepdims=True) + TABLE_SMOOTHING)
    everything: Floats32 = np.log(share).astype(np.float32)
    prior: Floats32 = np.log(table).astype(np.float32).reshape(TABLES, 2, OVER_CLASSES, -1)
    return everything, prior


E = TypeVar("E", InningsArrays, OverArrays)


def rated(
    matches: Sequence[Match],
    ratings: Ratings,
    encode: Callable[[Match, Innings], E],
    *,
    progress: Progress | None = None,
) -> Iterator[tuple[Match, Innings, datetime.date, E]]:
    """Every innings encoded with the ratings of the day before; then they learn from that day.

    ``ratings`` is brought up to date in place. Days up to ``ratings.until`` are encoded
    with the ratings as they are and teach nothing.
    """
    for day, played in by_date(matches):
        known = ratings.until is not None and day <= ratings.until
        lessons = []
        for match in played:
            for side in sides(match):
                arrays = encode(match, side)
                yield match, side, day, arrays
                lessons.append((match, side, arrays))
        if known or not lessons:
            continue
        told = [
            (ratings.entities(match, side, create=True), arrays.base, arrays.outcome)
            for match, side, arrays in lessons
        ]
        ratings.learn_day(day, told)
        if progress:
            progress(f"ratings up to {day}")


@dataclass(frozen=True, slots=True)
class Known:
    """Ratings as they stand, and what the scoreboard alone expects."""

    ratings: Ratings
    base: BaseModel


def rate_and_encode(
    matches: Sequence[Match], base: BaseModel, ratings: Ratings, *, progress: Progress | None = None
) -> list[EncodedInnings]:
    """`rated` innings as the predictor takes them."""
    encode = partial(encode_innings, ratings=ratings, base=base)
    known = Known(ratings, base)
    return [
        EncodedInnings(match, side, arrays, strength_of(match, side, arrays, known))
        for match, side, _, arrays in rated(matches, ratings, encode, progress=progress)
    ]
