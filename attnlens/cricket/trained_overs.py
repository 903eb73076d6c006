"""A trained encoder-decoder: the network, what it knows of earlier matches, and its card."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from attnlens.cricket.card import checked_card
from attnlens.cricket.over_features import CONTEXT_FEATURES, PAST_FEATURES, RATED
from attnlens.cricket.over_tokens import TOKENS
from attnlens.cricket.seen import from_tensor
from attnlens.cricket.trained import Trained, base_of, known_tensors, ratings_of
from attnlens.errors import CheckpointError
from attnlens.models.checkpoint import checkpoint_kind, read_checkpoint, write_checkpoint
from attnlens.models.cricket import OverModel, OverSizes
from attnlens.models.shipped import OVERS, named_checkpoint

KIND: Final = "cricket"
FORMAT: Final = 1
MOST_RUNS: Final = 8
"""Runs of one delivery are counted up to here."""


@dataclass
class TrainedOvers(Trained):
    """Everything needed to write the next over."""

    model: OverModel

    @property
    def token_runs(self) -> NDArray[np.float64]:
        """How often a token's delivery brought 0, 1, ... runs in training, ``(24, 9)``.

        A token does not tell all runs (see `attnlens.cricket.over_tokens`), so what is simulated
        draws them from here. Rows sum to 1.
        """
        return np.array(self.card["token_runs"], dtype=float)


def writes_overs(model: str | os.PathLike[str] | None) -> bool:
    """Whether a checkpoint, by name or file, is an encoder-decoder of overs."""
    if model is None:
        return False
    try:
        return checkpoint_kind(named_checkpoint(model)[1]) == KIND
    except CheckpointError:
        return False  # whoever reads it will say what is wrong


def save_overs(path: str | os.PathLike[str], trained: TrainedOvers) -> None:
    """Write an encoder-decoder to one safetensors file."""
    tensors: dict[str, Tensor] = {
        f"model.{name}": value for name, value in trained.model.state_dict().items()
    }
    until = trained.ratings.until
    about = {
        "kind": KIND,
        "format": FORMAT,
        "tokens": list(TOKENS),
        "past_features": list(PAST_FEATURES),
        "context_features": list(CONTEXT_FEATURES),
        "sizes": trained.model.sizes.to_dict(),
        "ratings_until": None if until is None else until.isoformat(),
        "card": trained.card,
    }
    write_checkpoint(path, tensors | known_tensors(trained), about)


def load_overs(model: str | os.PathLike[str] | None = None) -> TrainedOvers:
    """An encoder-decoder by name (``cricket``) or file; the bundled one by default.

    Raises:
        CheckpointError: the file is missing, damaged, or of another kind or version.
    """
    name, path = named_checkpoint(OVERS if model is None else model)
    checkpoint = read_checkpoint(path, KIND)
    about, tensors = checkpoint.about, checkpoint.tensors
    told = [about.get(key) for key in ("format", "tokens", "past_features", "context_features")]
    if told != [FORMAT, list(TOKENS), list(PAST_FEATURES), list(CONTEXT_FEATURES)]:
        newer = isinstance(told[0], int) and told[0] > FORMAT
        raise CheckpointError(
            f"has format {told[0]}, this attnlens reads {FORMAT}"
            if told[0] != FORMAT
            else "was trained on other features",
            path=path,
            remedy="update attnlens" if newer else "train it again",
        )
    try:
        sizes = OverSizes.from_dict(about["sizes"])
        wanted = (len(PAST_FEATURES), len(CONTEXT_FEATURES), len(TOKENS))
        if (sizes.features, sizes.context, sizes.tokens) != wanted:
            raise ValueError("its sizes are not those of its features")
        weights = {
            name.removeprefix("model."): value
            for name, value in tensors.items()
            if name.startswith("model.")
        }
        if sum(value.numel() for value in weights.values()) != sizes.parameters:
            raise ValueError("its sizes are not those of its weights")
        network = OverModel(sizes)
        network.load_state_dict(weights)
        trained = TrainedOvers(
            name,
            checkpoint.sha256,
            network.eval(),
            base_of(tensors),
            ratings_of(tensors, about["ratings_until"], RATED),
            checked_card(about["card"]),
            seen=from_tensor(tensors["seen"]) if "seen" in tensors else None,
        )
        runs = trained.token_runs
        if runs.shape != (len(TOKENS), MOST_RUNS + 1) or not np.allclose(runs.sum(1), 1):
            raise ValueError("what its tokens bring is told in another shape")
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"is damaged ({' '.join(str(error).split())[:120]})", path=path, remedy="train it again"
        ) from error
    return trained
