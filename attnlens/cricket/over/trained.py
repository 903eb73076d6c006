"""A trained encoder-decoder: the network, what it knows of earlier matches, and its card."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from attnlens.cricket.over.encoder_decoder import OverModel, OverSizes
from attnlens.cricket.over.features import CONTEXT_FEATURES, PAST_FEATURES, RATED
from attnlens.cricket.over.tokens import TOKENS
from attnlens.cricket.predictor.shipped import OVERS, named_checkpoint
from attnlens.cricket.predictor.trained import (
    Trained,
    check_format,
    damage_told,
    knowledge_of,
    network_of,
    save_trained,
)
from attnlens.reference.checkpoint import read_checkpoint

KIND: Final = "cricket"
FORMAT: Final = 1
NAMES: Final = {
    "tokens": list(TOKENS),
    "past_features": list(PAST_FEATURES),
    "context_features": list(CONTEXT_FEATURES),
}


MOST_RUNS: Final = 8
"""Runs of one delivery are counted up to here."""


@dataclass
class TrainedOvers(Trained):
    """Everything needed to write the next over."""

    model: OverModel

    @property
    def token_runs(self) -> NDArray[np.float64]:
        """How often a token's delivery brought 0, 1, ... runs in training, ``(24, 9)``.

        A token does not tell all runs (see `attnlens.cricket.over.tokens`), so what is simulated
        draws them from here. Rows sum to 1.
        """
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
        """What an encoder-decoder's file and card say."""
        until = trained.ratings.until
        return cls(
            name=trained.name,
            sha256=trained.sha256,
            trained_from=trained.card.get("trained_from"),
            trained_until=trained.card.get("trained_until"),
            ratings_until=None if until is None else until.isoformat(),
            sizes=trained.model.sizes,
        )


def save_overs(path: str | os.PathLike[str], trained: TrainedOvers) -> None:
    """Write an encoder-decoder to one safetensors file."""
    save_trained(
        path, trained, {"kind": KIND, "format": FORMAT, **NAMES}, trained.model.sizes.to_dict()
    )


def load_overs(model: str | os.PathLike[str] | None = None) -> TrainedOvers:
    """An encoder-decoder by name (``cricket``) or file; the bundled one by default.

    Raises:
        CheckpointError: the file is missing, damaged, or of another kind or version.
    """
    name, path = named_checkpoint(OVERS if model is None else model)
    checkpoint = read_checkpoint(path, KIND)
    about, tensors = checkpoint.about, checkpoint.tensors
    check_format(about, FORMAT, NAMES, path)
    with damage_told(path):
        sizes = OverSizes.from_dict(about["sizes"])
        wanted = (len(PAST_FEATURES), len(CONTEXT_FEATURES), len(TOKENS))
        if (sizes.features, sizes.context, sizes.tokens) != wanted:
            raise ValueError("its sizes are not those of its features")
        weights = network_of(tensors)
        if sum(value.numel() for value in weights.values()) != sizes.parameters:
            raise ValueError("its sizes are not those of its weights")
        network = OverModel(sizes)
        network.load_state_dict(weights)
        trained = TrainedOvers(name=name, model=network.eval(), **knowledge_of(checkpoint, RATED))
        runs = trained.token_runs
        if runs.shape != (len(TOKENS), MOST_RUNS + 1) or not np.allclose(runs.sum(1), 1):
            raise ValueError("what its tokens bring is told in another shape")
    return trained
