"""What hiding a past ball does in other innings: a table, kept, and no part of the forecast."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from small_predictors import arrays_of, simulated, small_predictor

from attnlens.cricket.explain.ablation import under_masks
from attnlens.cricket.lab.fit import (
    HidingEffects,
    effect_tables,
    hiding_effects,
    store_hiding_effects,
)
from attnlens.cricket.lab.held_out import EncodedInnings
from attnlens.cricket.lab.sampling import sample
from attnlens.cricket.predictor.predictor import EFFECT_LEVELS, PLACES, places
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


def test_the_forecast_does_not_know_of_them() -> None:
    model = copy.deepcopy(PREDICTOR.model)
    batch, _ = training_batch([INNINGS[0].arrays])
    with torch.no_grad():
        before = model(batch)
        model.usual_effects.mul_(torch.rand(PLACES)[:, None])
        model.effect_quantiles.add_(1)
        assert torch.equal(model(batch), before)


def test_an_effect_is_what_hiding_the_ball_takes_from_each_outcome(hidden: HidingEffects) -> None:
    number, position = sample(INNINGS, 40, 3)[0]
    batch = window_batch(INNINGS[number].arrays, position)
    masks = np.ones((2, position), bool)
    masks[1, -1] = False
    full, without = under_masks(PREDICTOR.model, batch, masks)
    odds = np.log(full / (1 - full)) - np.log(without / (1 - without))
    np.testing.assert_allclose(hidden.changes[:-1, 0, -1], odds, atol=1e-6)
    nats = float((full * np.log(full / without)).sum())
    assert hidden.changes[-1, 0, -1] == pytest.approx(nats, abs=1e-9)
    assert set(hidden.signs.tolist()) <= {-1.0, 1.0}


def test_without_a_long_innings_there_is_no_table() -> None:
    assert hiding_effects(PREDICTOR.model, [], balls=5, seed=1) is None
    model = copy.deepcopy(PREDICTOR.model)
    before = model.usual_effects.clone()
    store_hiding_effects(model, [], balls=5, seed=1)
    assert torch.equal(model.usual_effects, before)


def test_the_same_seed_hides_the_same_balls() -> None:
    one, other = (hiding_effects(PREDICTOR.model, INNINGS, balls=3, seed=3) for _ in range(2))
    for field in dataclasses.fields(HidingEffects):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


def test_what_is_usual_is_the_mean_of_a_place_leaning_to_its_distance(
    hidden: HidingEffects,
) -> None:
    usual, quantiles = effect_tables(hidden)
    assert usual.shape == (13, PLACES, 2)
    assert quantiles.shape == (13, len(EFFECT_LEVELS))
    assert (np.diff(quantiles) >= 0).all()
    # The ball before is the only one of its band: its effects are in the first four places.
    everywhere = hidden.changes.reshape(12, -1)
    last = hidden.changes[:, :, -1]
    for place in range(4):
        own = last[:, hidden.places[:, -1] == place]
        for power, expected in ((1, usual[:12, place, 0]), (2, (usual[:12, place] ** 2).sum(-1))):
            band = (last**power).sum(1) + 30 * (everywhere**power).mean(1)
            mixed = (own**power).sum(1) + 30 * band / (last.shape[1] + 30)
            np.testing.assert_allclose(expected, mixed / (own.shape[1] + 30), rtol=1e-6)
    assert (usual[..., 1] > 0).all()


def test_a_subjects_row_is_of_what_pages_claim(hidden: HidingEffects) -> None:
    usual, quantiles = effect_tables(hidden)
    rows = np.arange(len(hidden.subjects))
    sizes = usual[hidden.subjects[:, None], hidden.places, 1]
    claimed = hidden.signs[:, None] * hidden.changes[hidden.subjects, rows] / sizes
    mean, deviation = np.moveaxis(usual[-1][hidden.places], -1, 0)
    standardised = (claimed - mean) / deviation
    np.testing.assert_allclose(quantiles[-1], np.quantile(standardised, EFFECT_LEVELS), rtol=1e-6)


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
    store_hiding_effects(made.model, INNINGS, balls=10, seed=1)
    assert made.model.effect_quantiles.any()
    save_predictor(tmp_path / "p.safetensors", made)
    kept = load_predictor(tmp_path / "p.safetensors").model
    assert torch.equal(kept.effect_quantiles, made.model.effect_quantiles)
    assert torch.equal(kept.usual_effects, made.model.usual_effects)
