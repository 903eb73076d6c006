"""What each method says of past balls, against independent computations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from numerics import near
from small_predictors import small_predictor, with_hidden
from torch import Tensor, nn

from attnlens.attention.heads import keys_hidden
from attnlens.cricket.explain.reading import (
    SITES,
    Paths,
    attention_at,
    captured_activations,
    head_effects,
    head_shares,
    keys_of,
    observed_modules,
    predict_paths,
    read_ball,
    size_of,
)
from attnlens.cricket.lab.attention_faithfulness import (
    METHODS,
    attributions,
    class_log_odds,
    signed_attributions,
)
from attnlens.cricket.lab.simulator import simulate_match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.predictor.predictor import FullModel, Prediction
from attnlens.cricket.predictor.relations import Batch
from attnlens.cricket.predictor.scales import SCALES
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import BallWindow, training_batch, window_for

ATTENTION_BASED = ("attention", "content_only", "value_norm", "rollout", "uniform")
INDEX = 62


@pytest.fixture(scope="module")
def predictor() -> TrainedPredictor:
    return small_predictor()


@pytest.fixture(scope="module")
def window(predictor: TrainedPredictor) -> BallWindow:
    return window_for(simulate_match(11), BallReference(1, INDEX), predictor)


def predicted(predictor: TrainedPredictor, batch: Batch) -> tuple[Prediction, Paths]:
    with torch.no_grad():
        return predict_paths(predictor.model, batch)


def moves_of(model: FullModel, batch: Batch) -> dict[str, np.ndarray[Any, Any]]:
    """How much hiding the past from each head moves a prediction, by scale ``(query, head)``."""
    with torch.no_grad():
        full = model.predict(batch)
        logits = full.logits[0].double()
        probs, moves = logits.softmax(-1), {}
        for scale, weights in full.scales.items():
            probe, rows = model.get_submodule(f"{SITES[scale]}.probe"), []
            for head in range(weights.shape[1]):
                # Where an over is read anew for every query, each is a row of its own.
                past = torch.ones(1, 1, weights.shape[-1] - 1)
                with keys_hidden(probe, head, past):
                    change = model.predict(batch).logits[0].double() - logits
                mean = (probs * change).sum(-1, keepdim=True)
                rows.append((probs * (change - mean) ** 2).sum(-1).sqrt())
            moves[scale] = torch.stack(rows, -1).numpy()
    return moves


@pytest.mark.parametrize("index", [2, 7, 38, INDEX, 100])
def test_a_head_carries_what_hiding_its_past_does(predictor: TrainedPredictor, index: int) -> None:
    batch = window_for(simulate_match(11), BallReference(1, index), predictor).batch
    _, paths = predicted(predictor, batch)
    moves = moves_of(predictor.model, batch)
    total = sum(part.sum() for part in moves.values())
    assert total > 0.01
    for scale, part in moves.items():
        near_scale = {"atol": 1e-5, "err_msg": scale}
        np.testing.assert_allclose(paths.carries[scale], part[0] / total, **near_scale)
    assert sum(part.sum() for part in paths.carries.values()) == pytest.approx(1)


def test_every_ball_of_an_innings_at_once_carries_the_same(
    predictor: TrainedPredictor, window: BallWindow
) -> None:
    batch, _ = training_batch([window.arrays])
    model = predictor.model
    with torch.no_grad(), captured_activations(model, *observed_modules()) as captured:
        prediction = model.predict(batch)
        effects = head_effects(model, prediction, captured)
    carries = head_shares(prediction.logits[0].double().softmax(-1).numpy(), effects)
    moves = moves_of(model, batch)
    total = sum(part.sum(-1, keepdims=True) for part in moves.values())
    for scale, part in moves.items():
        assert not carries[scale][0].any()  # the first ball has no past
        np.testing.assert_allclose(carries[scale][1:], part[1:] / total[1:], atol=2e-5)


def test_attention_is_what_an_explanation_calls_it(
    predictor: TrainedPredictor, window: BallWindow
) -> None:
    found = attributions(predictor.model, window.batch)["attention"]
    assert found.shape == (INDEX - 1,)
    near(found, read_ball(predictor, window).total, of=torch.float32)


@pytest.mark.parametrize("index", [2, 38, 100])
def test_attention_of_past_balls_sums_to_one(predictor: TrainedPredictor, index: int) -> None:
    """Each head shares out what it adds: as its attention, an over among its balls; or as hiding
    each ball alone takes from its count."""
    batch = window_for(simulate_match(11), BallReference(1, index), predictor).batch
    prediction, paths = predicted(predictor, batch)
    over, now = batch["sequence"]["balls"].over[0], batch["sequence"]["now"].over[0, 0]
    parts = np.zeros((index - 1, len(paths.probs)))
    for scale, weights in prediction.scales.items():
        for head, row in enumerate(weights[0, :, 0, :-1].double().numpy()):
            takes = row
            if scale == "whole":
                takes = np.array([math.log(1 / (1 - weight)) for weight in row])
            total = math.log(1 / (1 - row.sum())) if scale == "whole" else row.sum()
            for key, share in enumerate(takes / (total or 1)):
                adds = share * paths.head_effects[scale][head]
                if scale == "long":
                    balls = np.flatnonzero((over == key) & (over < now))
                    parts[balls] += adds / max(len(balls), 1)
                else:
                    parts[len(parts) - len(row) + key] += adds
    variance = [np.cov(part, aweights=paths.probs, ddof=0) for part in parts]
    expected = np.sqrt(np.maximum(variance, 0))
    np.testing.assert_allclose(paths.attention(), expected / expected.sum(), atol=1e-9)
    assert paths.attention().sum() == pytest.approx(1)
    for outcome in (0, 4, 6):
        odds = [
            part[outcome]
            - np.delete(part, outcome)
            @ np.delete(paths.probs, outcome)
            / (1 - paths.probs[outcome])
            for part in parts
        ]
        np.testing.assert_allclose(paths.signed_attention(outcome), odds, atol=1e-9)


def test_rollout_is_a_product_of_attention_with_half_of_every_residual(
    predictor: TrainedPredictor, window: BallWindow
) -> None:
    prediction, paths = predicted(predictor, window.batch)
    count = INDEX - 1
    # One vector of shares over the past balls and "elsewhere" for everything computed.
    elsewhere = np.eye(count + 1)[-1]
    over = window.batch["sequence"]["balls"].over[0].tolist()
    fused = paths.gates["within_ball"] * elsewhere
    for scale in SCALES:
        weights = prediction.scales[scale][0, :, 0].double().mean(0).numpy()
        looked = weights[-1] * elsewhere
        for key, weight in enumerate(weights[:-1]):
            if scale == "long":
                inside = [place for place in range(count) if over[place] == key]
            else:
                inside = [count - (len(weights) - 1) + key]
            for place in inside:
                looked = looked + weight / len(inside) * np.eye(count + 1)[place]
        # What the scale ``whole`` counted is all that it passes on.
        passed = looked if scale == "whole" else (looked + elsewhere) / 2
        fused = fused + paths.gates[scale] * passed
    assert fused.sum() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(paths.rollout(), fused[:-1], atol=1e-9)


def test_content_only_is_attention_where_no_bias_is_built_in(window: BallWindow) -> None:
    predictor = small_predictor(seed=8)
    biased = attributions(predictor.model, window.batch)
    assert np.abs(biased["attention"] - biased["content_only"]).max() > 0.01
    with torch.no_grad():
        for site in SITES.values():
            attention_at(predictor.model, site).bias.zero_()
            if (null := attention_at(predictor.model, site).null) is not None:
                null.zero_()
    plain = attributions(predictor.model, window.batch)
    np.testing.assert_allclose(plain["attention"], plain["content_only"], atol=1e-6)


def test_value_norm_is_the_length_of_what_each_ball_adds(
    predictor: TrainedPredictor, window: BallWindow
) -> None:
    model, batch = predictor.model, window.batch
    with captured_activations(model, *SITES.values()) as heard:
        _, paths = predicted(predictor, batch)
    keys = keys_of(heard)
    expected = np.zeros(INDEX - 1)
    for scale, site in SITES.items():
        attention = attention_at(model, site)
        output = attention.to_output.weight.detach().double()
        told, asked = keys[site][0].double(), heard[site][0][0][0, 0].double()
        added = torch.zeros(len(told), len(output), dtype=torch.double)
        rest = torch.zeros(len(output), dtype=torch.double)
        width = output.shape[1] // attention.num_heads
        for head in range(attention.num_heads):
            rows = slice(head * width, (head + 1) * width)
            columns = output[:, rows]
            shares = torch.from_numpy(paths.scales[scale][head])
            own = float(paths.own[scale][head])
            if attention.to_value is None:  # minus the logarithm of the weight on nothing
                added += shares[:, None] * columns[:, 0]
                rest -= math.log(own) * columns[:, 0]
                continue
            value = attention.to_value.weight.detach().double()[rows]
            added += shares[:, None] * (told @ value.T @ columns.T)
            rest += own * (columns @ (value @ asked))
        # All that the attention puts out: of heads that count, how little is left for nothing.
        puts_out = rest if attention.to_value is None else added.sum(0) + rest
        np.testing.assert_allclose(
            puts_out.numpy(), heard[site][1][0][0, 0].double().numpy(), atol=1e-5
        )
        reaching = paths.gates[scale] * added
        expected += paths.over_balls(scale, reaching.norm(dim=1).numpy())
    found = attributions(model, batch)["value_norm"]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("place", [20, 60])
def test_gradient_times_input_is_the_slope_of_growing_a_ball(
    predictor: TrainedPredictor, window: BallWindow, place: int
) -> None:
    model = predictor.model
    found = attributions(model, window.batch)["gradient_x_input"]

    def grown(factor: float, outcome: int) -> float:
        def hook(_: nn.Module, __: tuple[Any, ...], output: Tensor) -> Tensor:
            changed = output.clone()
            changed[:, place] *= factor
            return changed

        handle = model.past_norm.register_forward_hook(hook)
        try:
            with torch.no_grad():
                return float(class_log_odds(model(window.batch)[0, 0].double(), outcome))
        finally:
            handle.remove()

    step = 0.02

    def slope(outcome: int) -> float:
        return (grown(1 + step, outcome) - grown(1 - step, outcome)) / (2 * step)

    with torch.no_grad():
        likeliest = int(model(window.batch)[0, 0].argmax())
    assert found[place] == pytest.approx(abs(slope(likeliest)), rel=0.03, abs=2e-5)
    signed = signed_attributions(model, window.batch, 5)["gradient_x_input"]
    assert signed[place] == pytest.approx(slope(5), rel=0.03, abs=2e-5)


def test_recency_and_uniform_are_what_they_are_called(
    predictor: TrainedPredictor, window: BallWindow
) -> None:
    found = attributions(predictor.model, window.batch)
    assert (-found["recency"]).tolist() == list(range(INDEX - 1, 0, -1))
    prediction, paths = predicted(predictor, window.batch)
    over = window.batch["sequence"]["balls"].over[0].numpy()
    parts = np.zeros((INDEX - 1, len(paths.probs)))
    for scale, effects in paths.head_effects.items():
        for head, row in enumerate(prediction.scales[scale][0, :, 0, :-1].double().numpy()):
            keys, paid = np.flatnonzero(row), float(row.sum())
            part = 1 / max(len(keys), 1)
            if scale == "whole" and paid:
                part = math.log(1 - paid * part) / math.log(1 - paid)
            for key in keys:
                inside = np.flatnonzero(over == key)
                inside = inside if scale == "long" else [INDEX - 1 - len(row) + key]
                parts[inside] += effects[head] * part / len(inside)
    expected = size_of(paths.probs, parts)
    expected /= expected.sum()
    np.testing.assert_allclose(found["uniform"], expected, rtol=1e-6)


def test_a_hidden_ball_gets_nothing(predictor: TrainedPredictor, window: BallWindow) -> None:
    hidden = [3, 30, 57, 60]
    found = attributions(predictor.model, with_hidden(window.batch, hidden))
    assert set(found) == {*METHODS} - {"structure"}
    for method in (*ATTENTION_BASED, "gradient_x_input", "kl_jacobian"):
        assert found[method][hidden].tolist() == [0] * len(hidden), method
        assert (found[method] > 0).sum() > 40, method


def test_asking_leaves_the_model_as_it_was(predictor: TrainedPredictor, window: BallWindow) -> None:
    model = predictor.model
    hooks = ("_forward_hooks", "_forward_pre_hooks")
    with torch.no_grad():
        before = model(window.batch)
    attributions(model, window.batch)
    broken = {**window.batch, "sequence": {**window.batch["sequence"], "visible": None}}
    with pytest.raises((AttributeError, TypeError)):
        attributions(model, broken)
    assert [m for m in model.modules() for name in hooks if getattr(m, name)] == []
    assert all(parameter.grad is None for parameter in model.parameters())
    with torch.no_grad():
        assert torch.equal(model(window.batch), before)
