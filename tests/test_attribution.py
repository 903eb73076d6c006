"""What each method says of past balls, against independent computations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from numerics import near
from small_predictors import small_predictor, with_hidden
from torch import Tensor, nn

from attnlens.cricket.explain.reading import (
    SITES,
    SLOT_SITE,
    Paths,
    attention_at,
    captured_activations,
    keys_of,
    paths_of,
    read_ball,
)
from attnlens.cricket.lab.attention_faithfulness import (
    METHODS,
    attributions,
    likeliest_log_odds,
)
from attnlens.cricket.lab.simulator import simulate_match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.predictor.predictor import FullModel, Prediction
from attnlens.cricket.predictor.scales import SCALES
from attnlens.cricket.predictor.temporal import SLOTS
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import BallWindow, window_for

ATTENTION_BASED = ("attention", "content_only", "value_norm", "rollout", "uniform")
INDEX = 62


@pytest.fixture(scope="module")
def predictor() -> TrainedPredictor:
    return small_predictor()


@pytest.fixture(scope="module")
def window(predictor: TrainedPredictor) -> BallWindow:
    return window_for(simulate_match(11), BallReference(1, INDEX), predictor)


def predicted(predictor: TrainedPredictor, batch: dict[str, Any]) -> tuple[Prediction, Paths]:
    with torch.no_grad():
        prediction = predictor.model.predict(batch)
    return prediction, paths_of(predictor.model, batch, prediction)


def test_attention_is_what_an_explanation_calls_it(
    predictor: TrainedPredictor, window: BallWindow
) -> None:
    found = attributions(predictor.model, window.batch)["attention"]
    assert found.shape == (INDEX - 1,)
    near(found, read_ball(predictor, window).total, of=torch.float32)


@pytest.mark.parametrize("index", [2, 38, 100])
def test_all_paths_together_are_one(predictor: TrainedPredictor, index: int) -> None:
    """Past balls, the current ball itself and nodes that read no past share out all there is."""
    batch = window_for(simulate_match(11), BallReference(1, index), predictor).batch
    _, paths = predicted(predictor, batch)
    own = sum(paths.gates[scale] * paths.own[scale].mean() for scale in SCALES)
    read = float((paths.shares * paths.slots.sum(1)).sum())
    rest = own + paths.gates["within_ball"] * (1 - read)
    assert paths.attention().sum() + rest == pytest.approx(1, abs=1e-6)
    assert (paths.attention() >= 0).all()


def test_rollout_is_a_product_of_attention_with_half_of_every_residual(
    predictor: TrainedPredictor, window: BallWindow
) -> None:
    prediction, paths = predicted(predictor, window.batch)
    count = INDEX - 1
    # One vector of shares over the past balls and "elsewhere" for everything computed.
    elsewhere = np.eye(count + 1)[-1]
    slots = {}
    for number, name in enumerate(SLOTS):
        row = prediction.slots[0, number, 0].double().numpy()
        slots[name] = np.append(row, 1 - row.sum())
    above, answers = None, []
    for layer, nodes in predictor.model.within_ball.graph.items():
        weights = prediction.within[layer][0, 0].double().tolist()
        mixed = sum(
            weight * slots.get(node, elsewhere) for node, weight in zip(nodes, weights, strict=True)
        )
        above = mixed if above is None else (mixed + above) / 2
        answers.append(above)
    shares = prediction.within["layers"][0, 0].double().numpy()
    ball = shares @ np.stack(answers)
    # The readout adds what the slots read, each a seventh, to the ball's own vector.
    told = (ball + np.mean(list(slots.values()), axis=0)) / 2
    fused = paths.gates["within_ball"] * told
    over = window.batch["sequence"]["balls"].over[0].tolist()
    for scale in SCALES:
        weights = prediction.scales[scale][0, :, 0].double().mean(0).numpy()
        looked = weights[-1] * ball
        for key, weight in enumerate(weights[:-1]):
            if scale == "long":
                inside = [place for place in range(count) if over[place] == key]
            else:
                inside = [count - (len(weights) - 1) + key]
            for place in inside:
                looked = looked + weight / len(inside) * np.eye(count + 1)[place]
        fused = fused + paths.gates[scale] * (looked + ball) / 2
    assert fused.sum() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(paths.rollout(), fused[:-1], atol=1e-9)


def without_biases(model: FullModel) -> Iterator[Tensor]:
    for site in (SLOT_SITE, *SITES.values()):
        bias = model.get_submodule(site).bias
        assert isinstance(bias, Tensor)
        yield bias
    if model.slots.attention.null is not None:
        yield model.slots.attention.null


def test_content_only_is_attention_where_no_bias_is_built_in(window: BallWindow) -> None:
    predictor = small_predictor(seed=8)
    biased = attributions(predictor.model, window.batch)
    assert np.abs(biased["attention"] - biased["content_only"]).max() > 0.01
    with torch.no_grad():
        for bias in without_biases(predictor.model):
            bias.zero_()
    plain = attributions(predictor.model, window.batch)
    np.testing.assert_allclose(plain["attention"], plain["content_only"], atol=1e-6)


def test_value_norm_is_the_length_of_what_each_ball_adds(
    predictor: TrainedPredictor, window: BallWindow
) -> None:
    model, batch = predictor.model, window.batch
    with captured_activations(model, SLOT_SITE, *SITES.values()) as heard:
        _, paths = predicted(predictor, batch)
    keys = keys_of(heard)
    expected = np.zeros(INDEX - 1)
    for scale, site in SITES.items():
        attention = attention_at(model, site)
        heads = attention.num_heads
        value = attention.to_value.weight.detach().double()
        output = attention.to_output.weight.detach().double()
        width = len(value) // heads
        told = keys[site][0].double()
        asked = heard[site][0][0][0, 0].double()
        added = torch.zeros(len(told), len(output), dtype=torch.double)
        own = torch.zeros(len(output), dtype=torch.double)
        for head in range(heads):
            columns = slice(head * width, (head + 1) * width)
            for key in range(len(told)):
                share = float(paths.scales[scale][head, key])
                added[key] += share * (output[:, columns] @ (value[columns] @ told[key]))
            own += float(paths.own[scale][head]) * (output[:, columns] @ (value[columns] @ asked))
        # What balls and the current ball add is all that the attention puts out.
        np.testing.assert_allclose(
            (added.sum(0) + own).numpy(), heard[site][1][0][0, 0].double().numpy(), atol=1e-5
        )
        lengths = added.norm(dim=1).numpy()
        expected += paths.gates[scale] * paths.over_balls(scale, lengths)
    values = attention_at(model, SLOT_SITE).to_value.weight.detach().double()
    width = len(values) // len(SLOTS)
    for number, name in enumerate(SLOTS):
        project = model.slots.to_node[name].weight.detach().double()[:, :width]
        columns = slice(number * width, (number + 1) * width)
        assert model.readout is not None
        direct = model.readout.weight.detach().double()[:, columns]
        by_node = paths.shares[number] - 1 / len(SLOTS)
        for place in range(INDEX - 1):
            vector = values[columns] @ keys[SLOT_SITE][0, place].double()
            length = by_node * float((project @ vector).norm())
            length += float((direct @ vector).norm()) / len(SLOTS)
            expected[place] += paths.gates["within_ball"] * paths.slots[number, place] * length
    found = attributions(model, batch)["value_norm"]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("place", [20, 60])
def test_gradient_times_input_is_the_slope_of_growing_a_ball(
    predictor: TrainedPredictor, window: BallWindow, place: int
) -> None:
    model = predictor.model
    found = attributions(model, window.batch)["gradient_x_input"]

    def grown(factor: float) -> float:
        def hook(_: nn.Module, __: tuple[Any, ...], output: Tensor) -> Tensor:
            changed = output.clone()
            changed[:, place] *= factor
            return changed

        handle = model.past_norm.register_forward_hook(hook)
        try:
            with torch.no_grad():
                return float(likeliest_log_odds(model(window.batch)[0, 0].double()))
        finally:
            handle.remove()

    step = 0.02
    slope = (grown(1 + step) - grown(1 - step)) / (2 * step)
    assert found[place] == pytest.approx(abs(slope), rel=0.03, abs=2e-5)


def test_recency_and_uniform_are_what_they_are_called(
    predictor: TrainedPredictor, window: BallWindow
) -> None:
    found = attributions(predictor.model, window.batch)
    assert (-found["recency"]).tolist() == list(range(INDEX - 1, 0, -1))
    _, paths = predicted(predictor, window.batch)
    batch = window.batch["sequence"]
    over, now = batch["balls"].over[0].numpy(), int(batch["now"].over[0, 0])
    expected = np.zeros(INDEX - 1)
    for scale, reach in SCALES.items():
        if scale == "long":
            for place in np.flatnonzero(over < now):
                size = int((over == over[place]).sum())
                expected[place] += paths.gates[scale] / (now + 1) / size
        else:
            expected[-(reach - 1) :] += paths.gates[scale] / reach
    for number in range(len(SLOTS)):
        seen = paths.slots[number] > 0
        if seen.any():
            expected[seen] += paths.gates["within_ball"] * paths.shares[number] / seen.sum()
    np.testing.assert_allclose(found["uniform"], expected, rtol=1e-6)


def test_a_hidden_ball_gets_nothing(predictor: TrainedPredictor, window: BallWindow) -> None:
    hidden = [3, 30, 57, 60]
    found = attributions(predictor.model, with_hidden(window.batch, hidden))
    assert set(found) == set(METHODS)
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
