"""Small encoder-decoders of overs that were never trained, and overs to ask them about."""

from __future__ import annotations

import numpy as np
import torch
from small_predictors import stirred

from attnlens.cricket.lab.fit import fit_base, rated
from attnlens.cricket.lab.simulator import simulate_match
from attnlens.cricket.match.match import Innings, Match
from attnlens.cricket.over.encoder_decoder import OverModel, OverSizes
from attnlens.cricket.over.features import (
    CONTEXT_FEATURES,
    PAST_FEATURES,
    RATED,
    TOKENS,
    encode_overs,
)
from attnlens.cricket.over.next_over import MAX_RUNS, TrainedOvers, token_runs
from attnlens.cricket.predictor.ratings import Ratings

SIZES = OverSizes(
    history=23,
    features=len(PAST_FEATURES),
    d=14,
    heads=3,
    d_k=5,
    ff=11,
    context=len(CONTEXT_FEATURES),
    tokens=len(TOKENS),
    length=9,
)
"""Primes where they are free, so that no two axes can be taken for each other."""


def small_model(seed: int = 3, sizes: OverSizes = SIZES) -> OverModel:
    """A network, never trained, with nothing at zero."""
    torch.manual_seed(seed)
    model = OverModel(sizes)
    stirred(model, seed)
    return model


def small_overs(seed: int = 3, sizes: OverSizes = SIZES, matches: int = 6) -> TrainedOvers:
    """An encoder-decoder with a base model and ratings from a few invented matches."""
    history = [simulate_match(number) for number in range(matches)]
    base = fit_base(history, seed=seed)
    ratings = Ratings(kinds=RATED)

    def encode(match: Match, side: Innings) -> object:
        return encode_overs(match, side, ratings, base)

    list(rated(history, ratings, encode))
    card = {
        "trained_from": "2024-01-01",
        "trained_until": "2024-01-06",
        "weights_until": "2024-01-05",
        "match_types": ["T20"],
        "gender": "male",
        "token_runs": token_runs(history).tolist(),
    }
    return TrainedOvers("small", "ab12", small_model(seed, sizes), base, ratings, card)


def inputs(
    batch: int = 2, balls: int = 7, places: int = 5, sizes: OverSizes = SIZES, seed: int = 1
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """History, padding, context and tokens; the second over has a shorter past."""
    generator = torch.Generator().manual_seed(seed)
    history = torch.randn(batch, balls, sizes.features, generator=generator)
    padded = torch.zeros(batch, balls, dtype=torch.bool)
    padded[1:, : balls // 2] = True
    context = torch.randn(batch, sizes.context, generator=generator)
    tokens = torch.randint(3, sizes.tokens, (batch, places), generator=generator)
    tokens[:, 0] = 1
    return history, padded, context, tokens


def no_runs() -> np.ndarray:
    """Tokens that bring nothing."""
    table = np.zeros((len(TOKENS), MAX_RUNS + 1))
    table[:, 0] = 1
    return table
