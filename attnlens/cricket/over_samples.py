"""Overs drawn from the encoder-decoder, and what they bring: runs, wickets, deliveries.

A token does not tell all runs (see `attnlens.cricket.over_tokens`): they are drawn from how often
such a delivery brought 0, 1, ... in training. The innings ends where its rules end it, which
the tokens alone do not: with the target reached, or with nobody left to bat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from attnlens.cricket.match import Innings
from attnlens.cricket.next_ball import ALL_OUT
from attnlens.cricket.over_tokens import SPECIAL, TOKEN_INDEX, TOKENS, legal, written
from attnlens.models.cricket import END, Choice, Memory, OverModel, decode

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SHOWN: Final = 5
"""How many of the likeliest overs are named."""

WICKET: Final = TOKEN_INDEX["W"]
USUAL: Final = 6
"""Balls of an over that count, where nothing else is played."""

COUNTED: Final = np.array([legal(token) for token in TOKENS], np.int64)
"""1 for tokens of balls that count towards the over."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends an innings inside an over.

    Attributes:
        runs: needed to reach the target; ``None`` without one.
        wickets: left.
        balls: that count, of the over, where they are fewer than the model learnt; else ``None``.
    """

    runs: int | None
    wickets: int
    balls: int | None = None

    @classmethod
    def of(cls, innings: Innings, score: int, wickets: int) -> Limits:
        """As they stand at a score; a target that was passed before is none."""
        target = innings.target
        needed = None if target is None or score >= target else target - score
        out = 2 if innings.super_over else ALL_OUT
        return cls(needed, max(out - wickets, 1), fewer_balls(innings))


def fewer_balls(innings: Innings) -> int | None:
    """The balls of an over that count, where they are fewer than six; else ``None``."""
    return innings.balls_per_over if innings.balls_per_over < USUAL else None


def within(tokens: Sequence[int], balls: int | None) -> list[int]:
    """Tokens of an over, as far as an over of so many balls goes."""
    found: list[int] = []
    for token in tokens:
        ended = balls is not None and sum(COUNTED[one] for one in found) >= balls
        if ended and token != END:
            break
        found.append(token)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Overs drawn, a row each.

    Attributes:
        tokens: numbers ``(over, place)``, as they were drawn.
        runs, wickets, deliveries: of each, as far as the innings went ``(over,)``.
        finished: whether it came to an end within the model's length ``(over,)``.
        balls: of `Limits`.
    """

    tokens: Integers
    runs: Integers
    wickets: Integers
    deliveries: Integers
    finished: NDArray[np.bool_]
    balls: int | None = None

    def __len__(self) -> int:
        return len(self.tokens)


def draw_overs(
    model: OverModel,
    memory: Memory,
    token_runs: Floats,
    limits: Limits,
    *,
    samples: int,
    seed: int,
    choice: Choice | None = None,
) -> Drawn:
    """Draw overs; the same seed gives the same ones.

    Args:
        memory: of one over.
        token_runs: see `TrainedOvers.token_runs`.
        choice: temperature and top-k; every chance as it is unless given.
    """
    generator = torch.Generator().manual_seed(seed)
    told = Choice(greedy=False) if choice is None else choice
    tokens = decode(model, memory, told, samples=samples, generator=generator)[0].numpy()
    return brought(tokens, token_runs, limits, np.random.default_rng(seed))


def brought(
    tokens: Integers, token_runs: Floats, limits: Limits, generator: np.random.Generator
) -> Drawn:
    """What overs written as tokens ``(over, place)`` bring; `END` or padding ends each."""
    deliveries = tokens >= len(SPECIAL)
    edges = token_runs.cumsum(1)[tokens]
    runs = (generator.random(tokens.shape)[..., None] >= edges[..., :-1]).sum(-1) * deliveries
    wickets = (tokens == WICKET) & deliveries
    before_runs = runs.cumsum(1) - runs
    before_wickets = wickets.cumsum(1) - wickets
    played = deliveries & (before_wickets < limits.wickets)
    if limits.runs is not None:
        played &= before_runs < limits.runs
    if limits.balls is not None:
        counted = COUNTED[tokens]
        played &= counted.cumsum(1) - counted < limits.balls
    stopped = (deliveries & ~played).any(1)
    return Drawn(
        tokens,
        (runs * played).sum(1),
        (wickets & played).sum(1),
        played.sum(1),
        (tokens == END).any(1) | stopped,
        limits.balls,
    )


def described(drawn: Drawn, *, seed: int) -> dict[str, Any]:
    """Overs drawn as plain data: distributions of runs, wickets and deliveries."""
    told = (written(within(row, drawn.balls)) for row in drawn.tokens.tolist())
    likeliest = Counter(map(tuple, told)).most_common(SHOWN)
    low, middle, high = np.quantile(drawn.runs, [0.1, 0.5, 0.9], method="inverted_cdf").tolist()
    return {
        "count": len(drawn),
        "seed": seed,
        "runs": {
            "mean": round(float(drawn.runs.mean()), 6),
            "median": int(middle),
            "from_tenth_to_ninth": [int(low), int(high)],
            "shares": _shares(drawn.runs, "runs"),
        },
        "wickets": {
            "mean": round(float(drawn.wickets.mean()), 6),
            "at_least_one": round(float((drawn.wickets > 0).mean()), 6),
            "shares": _shares(drawn.wickets, "wickets"),
        },
        "deliveries": {
            "mean": round(float(drawn.deliveries.mean()), 6),
            "shares": _shares(drawn.deliveries, "deliveries"),
        },
        "unfinished": round(float((~drawn.finished).mean()), 6),
        "likeliest": [
            {"tokens": list(tokens), "share": round(count / len(drawn), 6)}
            for tokens, count in likeliest
        ],
    }


def _shares(values: Integers, name: str) -> list[dict[str, Any]]:
    """How often each number came, from 0 to the largest."""
    counts = np.bincount(values)
    return [
        {name: number, "share": round(float(count) / len(values), 6)}
        for number, count in enumerate(counts.tolist())
    ]
