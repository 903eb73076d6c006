"""What each path counts in attention over all paths, and what hiding a ball does usually.

Both fitted, kept, and no part of the forecast.
"""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from small_predictors import arrays_of, simulated, small_predictor

from attnlens.cricket.explain.reading import paths_of
from attnlens.cricket.lab.held_out import EncodedInnings
from attnlens.cricket.lab.post_training import (
    HidingEffects,
    hiding_effects,
    path_counts,
    usual_effects,
)
from attnlens.cricket.predictor.predictor import PATHS, PLACES, places
from attnlens.cricket.predictor.trained import load_predictor, save_predictor
from attnlens.cricket.predictor.window import training_batch, window_batch

PREDICTOR = small_predictor()
INNINGS = [
    EncodedInnings(match, side, arrays_of(PREDICTOR, match, side.number))
    for match in map(simulated, (40, 41, 42))
    for side in match.innings[:2]
]


@pytest.fixture(scope="module")
def hidden() -> HidingEffects:
    effects = hiding_effects(PREDICTOR.model, INNINGS, balls=40, seed=3)
    assert effects is not None
    return effects


def test_attention_is_the_sum_of_paths_as_they_count() -> None:
    model = copy.deepcopy(PREDICTOR.model)
    batch = window_batch(INNINGS[0].arrays, 60)
    with torch.no_grad():
        prediction = model.predict(batch)
        plain = paths_of(model, batch, prediction)
        assert plain.counts.tolist() == [1.0] * len(PATHS)
        each = plain.attention_each()
        assert each.shape == (len(PATHS), 60)
        np.testing.assert_allclose(plain.attention(), each.sum(0))
        model.path_counts.copy_(torch.arange(len(PATHS)))
        counted = paths_of(model, batch, prediction)
    np.testing.assert_allclose(counted.attention(), np.arange(len(PATHS)) @ each)


def test_the_forecast_does_not_know_of_them() -> None:
    model = copy.deepcopy(PREDICTOR.model)
    batch, _ = training_batch([INNINGS[0].arrays])
    with torch.no_grad():
        before = model(batch)
        model.path_counts.mul_(torch.rand(len(PATHS)))
        model.usual_effects.mul_(torch.rand(PLACES))
        assert torch.equal(model(batch), before)


def test_fitted_they_order_balls_more_as_hiding_them_does(hidden: HidingEffects) -> None:
    counts = path_counts(hidden)
    assert torch.equal(counts, path_counts(hidden))
    assert counts.shape == (len(PATHS),)
    assert (counts > 0).all()
    assert abs(float(counts.mean()) - 1) < 1e-5
    # On the balls of another seed.
    others = hiding_effects(PREDICTOR.model, INNINGS, balls=25, seed=8)
    fitted = agreement(counts, others)
    # An untrained model's paths say about the same already.
    assert fitted > agreement(torch.ones(len(PATHS)), others) - 0.005
    assert agreement(counts**-3, others) < fitted - 0.02


def agreement(counts: torch.Tensor, hidden: HidingEffects) -> float:
    """Mean rank agreement of attention with what hiding the last 36 balls does."""
    attention = np.einsum("p,bpk->bk", counts.double(), hidden.ways)
    pairs = zip(attention, hidden.effects, strict=True)
    return float(np.mean([spearmanr(*pair).statistic for pair in pairs]))


def test_without_a_long_innings_every_path_counts_alike() -> None:
    assert hiding_effects(PREDICTOR.model, [], balls=5, seed=1) is None
    assert path_counts(None).tolist() == [1.0] * len(PATHS)
    assert usual_effects(None).tolist() == [1.0] * PLACES


def test_the_same_seed_hides_the_same_balls() -> None:
    one, other = (hiding_effects(PREDICTOR.model, INNINGS, balls=3, seed=3) for _ in range(2))
    for field in dataclasses.fields(HidingEffects):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


def test_what_is_usual_is_the_mean_of_a_place_leaning_to_its_distance(
    hidden: HidingEffects,
) -> None:
    usual = usual_effects(hidden).double().numpy()
    # The ball before is the only one of its band: its effects are in the first four places.
    for place in range(4):
        own = hidden.effects[:, -1][hidden.places[:, -1] == place]
        mixed = (own.sum() + 30 * hidden.effects[:, -1].mean()) / (len(own) + 30)
        assert abs(usual[place] - mixed) < 1e-6 * mixed
    assert (usual > 0).all()
    assert set(np.unique(hidden.places)) <= set(range(PLACES))


def test_places_tell_distance_and_players_apart() -> None:
    same, other = np.array([True]), np.array([False])
    distances = np.arange(1, 60)
    bands = places(distances, np.zeros(59, bool), np.zeros(59, bool))
    assert (np.diff(bands) >= 0).all()
    assert bands[[0, 1, 2, 3, 4, 5]].tolist() == [0, 4, 8, 12, 12, 16]
    assert bands[-1] == PLACES - 4
    told = {int(places(np.array([7]), a, b)[0]) for a in (same, other) for b in (same, other)}
    assert len(told) == 4


def test_a_checkpoint_keeps_them(tmp_path: Path) -> None:
    made = copy.deepcopy(PREDICTOR)
    made.model.path_counts.copy_(torch.linspace(0.5, 1.5, len(PATHS)))
    made.model.usual_effects.copy_(torch.linspace(0.1, 0.2, PLACES))
    save_predictor(tmp_path / "p.safetensors", made)
    kept = load_predictor(tmp_path / "p.safetensors").model
    assert torch.equal(kept.path_counts, made.model.path_counts)
    assert torch.equal(kept.usual_effects, made.model.usual_effects)
