"""Small predictors with nothing at zero, and the inputs to ask them with."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnlens.cricket.lab.fit import (
    Hyperparameters,
    InningsTrainingSet,
    cricket_sizes,
    fit_base,
    rate_and_encode,
)
from attnlens.cricket.lab.simulator import simulate_match
from attnlens.cricket.lab.winning import dated_contests, fit_win, win_rows
from attnlens.cricket.match.match import OUTCOMES, Delivery, Match
from attnlens.cricket.predictor.predictor import FullModel
from attnlens.cricket.predictor.ratings import Ratings
from attnlens.cricket.predictor.relations import Balls
from attnlens.cricket.predictor.tensors import BaseModel, InningsArrays, encode_innings
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.win import WinModel


def stirred(model: torch.nn.Module, seed: int, size: float = 0.1) -> torch.nn.Module:
    """The model with noise on every parameter, so that none that starts at zero stays there."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(size * torch.randn(parameter.shape, generator=generator))
    return model.eval()


def small_model(hidden_dim: int = 12, seed: int = 3) -> FullModel:
    """A predictor's network, never trained."""
    torch.manual_seed(seed)
    model = FullModel(cricket_sizes(hidden_dim), torch.linspace(-3, -1, len(OUTCOMES)))
    stirred(model, seed)
    return model


@cache
def simulated(seed: int) -> Match:
    """`simulate_match`, once for all tests."""
    return simulate_match(seed)


@cache
def _learned(matches: int, seed: int) -> tuple[BaseModel, Ratings, WinModel | None]:
    history = [simulated(number) for number in range(matches)]
    base, ratings = fit_base(history, seed=seed), Ratings()
    rate_and_encode(history, base, ratings)
    return base, ratings, fit_win(win_rows(dated_contests(history, base)), base.last_over)


def small_predictor(hidden_dim: int = 12, seed: int = 3, matches: int = 6) -> TrainedPredictor:
    """A predictor that was not trained, with a base model and ratings from a few matches."""
    base, ratings, win = copy.deepcopy(_learned(matches, seed))
    card = {
        "trained_from": "2024-01-01",
        "trained_until": "2024-01-06",
        "match_types": ["T20"],
        "gender": "male",
    }
    model = small_model(hidden_dim, seed)
    return TrainedPredictor("small", "ab12", model, base, ratings, card, win=win)


def arrays_of(predictor: TrainedPredictor, match: Match, innings: int = 1) -> InningsArrays:
    """One innings, encoded with the predictor's ratings."""
    return encode_innings(match, match.innings[innings - 1], predictor.ratings, predictor.base)


def told_otherwise(batch: dict[str, Any], keys: list[int], seed: int = 0) -> dict[str, Any]:
    """The batch with everything that some past balls tell replaced by something else.

    What happened, who played, ratings and flags change; the balls' places in the innings
    and every scoreboard stay.
    """
    generator = torch.Generator().manual_seed(seed)
    place = torch.tensor(keys, dtype=torch.long)

    def noisy(value: Tensor) -> Tensor:
        changed = value.clone()
        changed[:, place] += 3 * torch.randn(changed[:, place].shape, generator=generator)
        return changed

    past = batch["sequence"]["past"]
    who: Balls = batch["sequence"]["balls"]
    changes: dict[str, Tensor] = {}
    for name in ("batter", "non_striker", "bowler"):
        players = getattr(who, name).clone()
        # Onto other players of the innings, so that relations come and go.
        players[:, place] = (players[:, place] + 1) % (int(players.max()) + 1 or 1)
        changes[name] = players
    for name in ("wicket", "boundary"):
        flags = getattr(who, name).clone()
        flags[:, place] = ~flags[:, place]
        changes[name] = flags
    return {
        "graph_data": batch["graph_data"],
        "sequence": {
            **batch["sequence"],
            "balls": dataclasses.replace(who, **changes),
            "past": {
                "nodes": {name: noisy(value) for name, value in past["nodes"].items()},
                "happened": noisy(past["happened"]),
                "prior": noisy(past["prior"]),
                "ratings": {name: noisy(value) for name, value in past["ratings"].items()},
            },
        },
    }


def with_hidden(batch: dict[str, Any], keys: list[int]) -> dict[str, Any]:
    """The batch with some past balls hidden from every query."""
    sequence = dict(batch["sequence"])
    visible = sequence["visible"].clone()
    visible[..., keys] = False
    sequence["visible"] = visible
    if "shared" in sequence:
        shared = sequence["shared"].clone()
        shared[:, keys] = False
        sequence["shared"] = shared
    return {**batch, "sequence": sequence}


def with_delivery(match: Match, innings: int, index: int, **changes: Any) -> Match:
    """The match with one delivery changed and every other one as it was."""

    def changed(ball: Delivery) -> Delivery:
        return ball._replace(**changes) if ball.index == index else ball

    sides = list(match.innings)
    side = sides[innings - 1]
    sides[innings - 1] = dataclasses.replace(
        side, deliveries=tuple(changed(ball) for ball in side.deliveries)
    )
    return dataclasses.replace(match, innings=tuple(sides))


def probabilities(model: FullModel, batch: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Outcome probabilities ``(batch, query, outcome)``."""
    with torch.no_grad():
        result: np.ndarray[Any, Any] = model(batch).double().softmax(-1).numpy()
    return result


def log_loss(model: FullModel, innings: Sequence[InningsArrays]) -> float:
    """Mean negative log-probability of what happened, in nats per ball."""
    return InningsTrainingSet([], [(one, None) for one in innings], Hyperparameters()).measure(
        model
    )
