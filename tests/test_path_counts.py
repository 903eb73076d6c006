"""What each path counts in attention over all paths: fitted, kept, and no part of the forecast."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import torch
from small_predictors import arrays_of, simulated, small_predictor

from attnlens.cricket.explain.reading import paths_of
from attnlens.cricket.model.batch import training_batch, window_batch
from attnlens.cricket.model.predictor import PATHS, FullModel
from attnlens.cricket.model.trained import load_predictor, save_predictor
from attnlens.cricket.study.faithfulness import measure
from attnlens.cricket.study.held_out import EncodedInnings
from attnlens.cricket.training.paths import fit_path_counts

PREDICTOR = small_predictor()
INNINGS = [
    EncodedInnings(match, side, arrays_of(PREDICTOR, match, side.number))
    for match in map(simulated, (40, 41, 42))
    for side in match.innings[:2]
]


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
        assert torch.equal(model(batch), before)


def test_fitted_they_order_balls_more_as_hiding_them_does() -> None:
    model = copy.deepcopy(PREDICTOR.model)
    plain = agreement(model)
    counts = fit_path_counts(model, INNINGS, balls=40, seed=3)
    assert torch.equal(counts, fit_path_counts(model, INNINGS, balls=40, seed=3))
    assert counts.shape == (len(PATHS),)
    assert (counts > 0).all()
    assert abs(float(counts.mean()) - 1) < 1e-5
    model.path_counts.copy_(counts)
    fitted = agreement(model)
    assert fitted > plain - 0.005  # an untrained model's paths say about the same already
    model.path_counts.copy_(counts**-3)
    assert agreement(model) < fitted - 0.02


def agreement(model: FullModel) -> float:
    """Mean rank agreement with effects, on the balls of another seed."""
    measured = measure(model, INNINGS, balls=25, seed=8)
    return float(np.mean([one.methods["attention"]["spearman_last36"] for one in measured.balls]))


def test_without_a_long_innings_every_path_counts_alike() -> None:
    assert fit_path_counts(PREDICTOR.model, [], balls=5, seed=1).tolist() == [1.0] * len(PATHS)


def test_a_checkpoint_keeps_them(tmp_path: Path) -> None:
    made = copy.deepcopy(PREDICTOR)
    made.model.path_counts.copy_(torch.linspace(0.5, 1.5, len(PATHS)))
    save_predictor(tmp_path / "p.safetensors", made)
    kept = load_predictor(tmp_path / "p.safetensors").model.path_counts
    assert torch.equal(kept, made.model.path_counts)
