"""A trained encoder-decoder, and the overs that it samples with their runs and wickets.

A token does not give all runs: they are sampled from how often such a delivery brought 0, 1, ... in
training. The innings ends where its rules end it, with the target reached or nobody left to bat.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from attnlens.cricket.match.competition import ALL_OUT
from attnlens.cricket.match.match import Innings, Match
from attnlens.cricket.over.encoder_decoder import OverModel, OverSizes
from attnlens.cricket.over.features import (
    CONTEXT_FEATURES,
    PAST_FEATURES,
    RATED,
    SPECIAL,
    TOKEN_INDEX,
    TOKENS,
    fewer_balls,
    legal,
    token_of,
)
from attnlens.cricket.predictor.calibration import OVERS, named_checkpoint
from attnlens.cricket.predictor.trained import (
    Trained,
    checked_checkpoint,
    knowledge_of,
    save_trained,
    tensors_under,
)
from attnlens.files import Floats, Integers
from attnlens.reference.checkpoint import read_checkpoint
from attnlens.render.numbers import rounded

_KIND: Final = "cricket"
_FORMAT: Final = 1
_NAMES: Final = {
    "tokens": list(TOKENS),
    "past_features": list(PAST_FEATURES),
    "context_features": list(CONTEXT_FEATURES),
}


MAX_RUNS: Final = 8


@dataclass
class TrainedOvers(Trained):
    """Everything needed to write the next over."""

    model: OverModel

    @property
    def token_runs(self) -> NDArray[np.float64]:
        """How often a token's delivery brought 0, 1, ... runs in training, ``(24, 9)``."""
        return np.array(self.card["token_runs"], dtype=float)


@dataclass(frozen=True, slots=True, kw_only=True)
class OverWriter:
    """The checkpoint that answered; its days as in its card."""

    name: str
    sha256: str
    trained_from: str | None
    trained_until: str | None
    ratings_until: str | None
    sizes: OverSizes

    @classmethod
    def of(cls, trained: TrainedOvers) -> OverWriter:
        until = trained.ratings.until
        return cls(
            name=trained.name,
            sha256=trained.sha256,
            **{name: trained.card.get(name) for name in ("trained_from", "trained_until")},
            ratings_until=None if until is None else until.isoformat(),
            sizes=trained.model.sizes,
        )


def save_overs(path: str | os.PathLike[str], trained: TrainedOvers) -> None:
    """Write an encoder-decoder to one safetensors file."""
    save_trained(
        path, trained, {"kind": _KIND, "format": _FORMAT, **_NAMES}, trained.model.sizes.to_dict()
    )


def load_overs(model: str | os.PathLike[str] | None = None) -> TrainedOvers:
    """An encoder-decoder by name (``cricket``) or file; the bundled one by default.

    Raises:
        CheckpointError: the file is missing, damaged, or of another kind or version.
    """
    name, path = named_checkpoint(OVERS if model is None else model)
    checkpoint = read_checkpoint(path, _KIND)
    metadata = checkpoint.metadata
    with checked_checkpoint(metadata, _FORMAT, _NAMES, path):
        sizes = OverSizes.from_dict(metadata["sizes"])
        expected_sizes = (len(PAST_FEATURES), len(CONTEXT_FEATURES), len(TOKENS))
        if (sizes.features, sizes.context, sizes.tokens) != expected_sizes:
            raise ValueError("its sizes are not those of its features")
        weights = tensors_under("model.", checkpoint.tensors)
        if sum(value.numel() for value in weights.values()) != sizes.parameters:
            raise ValueError("its sizes are not those of its weights")
        network = OverModel(sizes)
        network.load_state_dict(weights)
        trained = TrainedOvers(name=name, model=network.eval(), **knowledge_of(checkpoint, RATED))
        runs = trained.token_runs
        if runs.shape != (len(TOKENS), MAX_RUNS + 1) or not np.allclose(runs.sum(1), 1):
            raise ValueError("what its tokens bring is told in another shape")
    return trained


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends an innings inside an over.

    Attributes:
        runs: needed to reach the target; ``wickets``: left; ``balls``: legal, if fewer than six.
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


@dataclass(frozen=True, slots=True, eq=False)
class SampledOvers:
    """Overs drawn, a row each, as far as the innings went; ``finished`` within the model's
    length.
    """

    runs: Integers
    wickets: Integers
    boundaries: Integers
    finished: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.runs)


def token_runs(matches: Sequence[Match]) -> NDArray[np.float64]:
    """How often the delivery of each token brought 0, 1, ... runs, ``(24, 9)``; rows sum to 1."""
    counts = np.zeros((len(TOKENS), MAX_RUNS + 1))
    for side in (side for match in matches for side in match.innings if not side.super_over):
        for ball in side.deliveries:
            counts[TOKEN_INDEX[token_of(ball)], min(ball.runs_total, MAX_RUNS)] += 1
    counts[counts.sum(1) == 0, 0] = 1
    shares: NDArray[np.float64] = counts / counts.sum(1, keepdims=True)
    return shares


def simulate_overs(
    tokens: Integers, token_runs: Floats, limits: Limits, generator: np.random.Generator
) -> SampledOvers:
    """What overs written as tokens ``(over, place)`` bring; ``<end>`` or padding ends each."""
    deliveries = tokens >= len(SPECIAL)
    edges = token_runs.cumsum(1)[tokens]
    runs = (generator.random(tokens.shape)[..., None] >= edges[..., :-1]).sum(-1) * deliveries
    wickets = (tokens == TOKEN_INDEX["W"]) & deliveries
    before_runs = runs.cumsum(1) - runs
    before_wickets = wickets.cumsum(1) - wickets
    played = deliveries & (before_wickets < limits.wickets)
    if limits.runs is not None:
        played &= before_runs < limits.runs
    if limits.balls is not None:
        counted = np.array([legal(token) for token in TOKENS], np.int64)[tokens]
        played &= counted.cumsum(1) - counted < limits.balls
    stopped = (deliveries & ~played).any(1)
    finished = (tokens == TOKEN_INDEX["<end>"]).any(1) | stopped
    boundaries = (tokens == TOKEN_INDEX["4"]) | (tokens == TOKEN_INDEX["6"])
    fell, hit = ((flags & played).sum(1) for flags in (wickets, boundaries))
    return SampledOvers((runs * played).sum(1), fell, hit, finished)


@dataclass(frozen=True, slots=True)
class SampledRuns:
    """How many runs the overs brought, and how often each number."""

    mean: float
    median: int
    from_tenth_to_ninth: list[int]
    shares: list[dict[str, float]]


@dataclass(frozen=True, slots=True)
class SampledEvents:
    """How many wickets fell in the overs, or boundaries were hit, and how often each number."""

    mean: float
    at_least_one: float
    shares: list[dict[str, float]]

    @classmethod
    def of(cls, counts: Integers, name: str) -> SampledEvents:
        return cls(rounded(counts.mean()), rounded((counts > 0).mean()), _shares(counts, name))


@dataclass(frozen=True, slots=True)
class Samples:
    """Overs that were drawn, as distributions of what they bring."""

    count: int
    seed: int
    runs: SampledRuns
    wickets: SampledEvents
    boundaries: SampledEvents
    unfinished: float


def samples_of(overs: SampledOvers, *, seed: int) -> Samples:
    low, middle, high = np.quantile(overs.runs, [0.1, 0.5, 0.9], method="inverted_cdf").tolist()
    runs = overs.runs
    tenths = [int(low), int(high)]
    return Samples(
        len(runs),
        seed,
        SampledRuns(rounded(runs.mean()), int(middle), tenths, _shares(runs, "runs")),
        SampledEvents.of(overs.wickets, "wickets"),
        SampledEvents.of(overs.boundaries, "boundaries"),
        rounded((~overs.finished).mean()),
    )


def _shares(values: Integers, name: str) -> list[dict[str, float]]:
    counts = np.bincount(values).tolist()
    return [
        {name: number, "share": rounded(count / len(values))} for number, count in enumerate(counts)
    ]
