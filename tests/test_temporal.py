"""The public temporal classes: shapes, starting biases, causality and hidden balls."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
import torch
from small_predictors import arrays_of, simulated, small_predictor, stirred
from syrupy.assertion import SnapshotAssertion
from torch import Tensor, nn

from attnlens.cricket.lab.fit import Hyperparameters, cricket_sizes, mask_at_random
from attnlens.cricket.predictor.predictor import FUSED, FullModel
from attnlens.cricket.predictor.relations import RELATIONS, Balls, starting_table
from attnlens.cricket.predictor.scales import SCALES, WINDOWED
from attnlens.cricket.predictor.temporal import (
    HEADS,
    MultiScaleTemporalEncoder,
    SpecializedTemporalAttention,
    TemporalEncoder,
)
from attnlens.cricket.predictor.window import training_batch


def balls(batch: int, length: int, width: int, seed: int = 0) -> Tensor:
    return torch.randn(batch, length, width, generator=torch.Generator().manual_seed(seed))


def encoder(layers: int = 1, heads: int = 3, window: int = 36) -> TemporalEncoder:
    torch.manual_seed(5)
    module = TemporalEncoder(7, 12, num_heads=heads, num_layers=layers, max_seq_len=window)
    stirred(module, 5)
    return module


def read(
    module: TemporalEncoder, sequence: Tensor, mask: Tensor | None = None, first: int = 0
) -> Tensor:
    """The encoder on deliveries ``first`` and on of an innings of overs of six."""
    place = first + torch.arange(sequence.shape[1])
    with torch.no_grad():
        result: Tensor = module(sequence, place, place // 6, place % 6 + 1, mask)
    return result


def test_signatures_are_as_documented(snapshot: SnapshotAssertion) -> None:
    modules = (TemporalEncoder, SpecializedTemporalAttention, MultiScaleTemporalEncoder)
    signatures = {
        module.__name__: [str(inspect.signature(part)) for part in (module, module.forward)]
        for module in modules
    }
    scales = {scale: (SCALES[scale], HEADS[scale]) for scale in SCALES}
    assert (signatures, scales) == snapshot


def test_heads_start_as_recency_same_bowler_and_same_batsman() -> None:
    starts = {"recency": 0.1, "same_bowler": 2.0, "same_batsman": 2.0}
    expected = torch.zeros(6, len(RELATIONS))
    for head, (relation, start) in enumerate(starts.items()):
        expected[head, RELATIONS.index(relation)] = start
    assert torch.equal(starting_table(6), expected)
    assert torch.equal(starting_table(2), expected[:2])
    bias = SpecializedTemporalAttention(12).attention.bias
    assert bias.requires_grad
    assert torch.equal(bias, expected)


def test_the_specialised_heads_are_softmax_of_their_biases() -> None:
    attention = SpecializedTemporalAttention(12, num_heads=4)
    nn.init.zeros_(attention.attention.to_query.weight)
    bowler, batter = torch.tensor([0, 1, 0, 1, 1]), torch.tensor([0, 0, 1, 1, 0])
    same_bowler, same_batsman = (who[:, None] == who[None, :] for who in (bowler, batter))
    output, weights = attention(balls(2, 5, 12), same_bowler, same_batsman.expand(2, 5, 5))
    assert output.shape == (2, 5, 12)
    assert weights.shape == (2, 4, 5, 5)

    place = torch.arange(5)
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    recency = -0.1 * (place[:, None] - place[None, :])
    logits = [recency, 2.0 * same_bowler, 2.0 * same_batsman, torch.zeros(5, 5)]
    expected = torch.stack([one.masked_fill(future, -math.inf).softmax(-1) for one in logits])
    torch.testing.assert_close(weights, expected.expand(2, 4, 5, 5), atol=1e-6, rtol=0)


def test_specialised_attention_is_causal_and_its_biases_learn() -> None:
    attention = SpecializedTemporalAttention(12, num_heads=5)
    stirred(attention, 1)
    x = balls(2, 6, 12)
    who = torch.arange(6) % 2
    same = who[:, None] == who[None, :]
    before, _ = attention(x, same, same)
    changed = x.clone()
    changed[:, 4:] = 9.0
    other = same.clone()
    other[:, 4:] = ~other[:, 4:]
    after, weights = attention(changed, other, other)
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])
    assert not weights.triu(1).any()
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 5, 6))
    torch.autograd.backward(before.square().sum())
    gradient = attention.attention.bias.grad
    assert gradient is not None
    assert all(gradient[head, head] != 0 for head in range(3))


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_balls_beyond_the_window_change_nothing(layers: int) -> None:
    module = encoder(layers, window=5)
    sequence = balls(2, 14, 7)
    torch.testing.assert_close(
        read(module, sequence), read(module, sequence[:, 9:], first=9), atol=1e-6, rtol=0
    )
    edge = sequence.clone()
    edge[:, 9] += 1
    assert not torch.allclose(read(module, sequence), read(module, edge), atol=1e-4)


@pytest.mark.parametrize("layers", [1, 2])
def test_a_hidden_ball_moves_no_bit(layers: int) -> None:
    module = encoder(layers)
    sequence = balls(2, 11, 7)
    mask = torch.zeros(2, 11, dtype=torch.bool)
    mask[:, [0, 4, 9]] = True
    other = sequence.clone()
    other[:, [0, 4, 9]] = 50.0
    assert torch.equal(read(module, sequence, mask), read(module, other, mask))
    assert not torch.allclose(read(module, sequence), read(module, other))


def multi_scale(layers: int = 1, width: int = 12) -> MultiScaleTemporalEncoder:
    torch.manual_seed(6)
    module = MultiScaleTemporalEncoder(7, width, num_layers=layers)
    stirred(module, 6)
    return module


@pytest.mark.parametrize(("layers", "length"), [(1, 1), (1, 6), (2, 7), (2, 40)])
@pytest.mark.parametrize(("overs", "width"), [(0, 12), (3, 7), (60, 12)])
def test_four_scales_of_a_sequence(layers: int, length: int, overs: int, width: int) -> None:
    summaries = balls(2, overs, width, seed=1)
    with torch.no_grad():
        vector, weights = multi_scale(layers)(balls(2, length, 7), max(0, length - 3), summaries)
    assert vector.shape == (2, 12)
    assert vector.isfinite().all()
    keys = {scale: min(length, SCALES[scale]) for scale in WINDOWED} | {"long": overs + 1}
    shapes = {scale: (2, HEADS[scale], keys[scale]) for scale in WINDOWED}
    assert {scale: tuple(one.shape) for scale, one in weights.items()} == shapes
    for one in weights.values():
        torch.testing.assert_close(one.sum(-1), torch.ones(one.shape[:2]))


def test_each_scale_sees_its_own_window() -> None:
    module = multi_scale(2)
    sequence, summaries = balls(1, 50, 7), balls(1, 4, 12, seed=1)

    def scales_moved_by(place: int) -> str:
        changed = sequence.clone()
        changed[:, place] += 2
        with torch.no_grad():
            before, after = (module(one, 47, summaries)[1] for one in (sequence, changed))
        return " ".join(scale for scale in WINDOWED if not torch.equal(before[scale], after[scale]))

    places = (49, 44, 43, 38, 37, 14, 13)
    micro, short = ["micro short medium"], ["short medium"] * 2
    assert [scales_moved_by(place) for place in places] == [
        *("micro short medium long", *micro, *short, "medium", "medium", "")
    ]


@pytest.mark.parametrize("in_over", [6, 33, 64, 100])
def test_a_summary_skips_hidden_balls(in_over: int) -> None:
    """Also in a damaged file whose over never ends."""
    length = 110
    temporal = multi_scale()
    place = torch.arange(length)[None]
    who = Balls(place + 1, place // in_over, place % in_over + 1, place, place, place)
    overs = length // in_over + 1
    vectors = balls(1, length, 7)
    visible = torch.rand(1, 3, length, generator=torch.Generator().manual_seed(2)) < 0.6
    visible[0, 1] &= who.over[0] != 1
    visible[0, 2, :60] = visible[0, 0, :60]
    with torch.no_grad():
        summaries = temporal.over_summaries(vectors, who, visible, overs=overs)
        placed = temporal.encoder("long").embed(vectors, who.over, who.ball_in_over)[0]
        for query in range(3):
            for over in range(overs):
                kept = placed[visible[0, query] & (who.over[0] == over)]
                expected = torch.zeros(12)
                if len(kept):
                    expected = temporal.summarise(kept[None])[0][0, -1]
                torch.testing.assert_close(summaries[0, query, over], expected)
    assert not summaries[0, 1, 1].any()
    assert summaries[0, 0, 1].any()


def test_gradient_reaches_every_parameter_in_training() -> None:
    predictor = small_predictor()
    sides = [arrays_of(predictor, simulated(seed), side) for seed in (2, 3) for side in (1, 2)]
    batch, outcome = training_batch(sides)
    recipe = Hyperparameters(forget=0.5, forget_past=0.3)
    mask_at_random(batch, recipe, np.random.default_rng(3))
    logits = predictor.model.train()(batch).flatten(0, 1)
    loss = nn.functional.cross_entropy(logits, outcome.flatten(), ignore_index=-1)
    torch.autograd.backward(loss)
    named = {name: one for name, one in predictor.model.named_parameters() if one.numel()}
    reached = {name for name, one in named.items() if one.grad is not None and one.grad.any()}
    assert named.keys() - reached == {
        # Joins the scales where the temporal encoder is used on its own; here fusion does.
        "temporal.gate.weight",
        "temporal.gate.bias",
        # Nothing stands above the top layer.
        "within_ball.layers.global.from_above.weight",
    }
    assert all(one.grad.isfinite().all() for one in named.values() if one.grad is not None)


def test_the_full_model_returns_logits_and_its_profile() -> None:
    predictor = small_predictor(matches=1)
    arrays = arrays_of(predictor, simulated(9))
    batch, _ = training_batch([arrays])
    assert FullModel(cricket_sizes(12)).eval()(batch).shape == (1, len(arrays), 11)
    profile = predictor.model.get_full_attention_profile(batch)
    layers, fusion = profile["within_ball"]["layers"], profile["fusion_weights"]
    assert [layer["layer"] for layer in layers] == ["global", "match_state", "actor"]
    assert sum(len(layer["nodes"]) for layer in layers) == 10
    assert list(fusion) == list(FUSED)
    shares = [
        [one["weight"] for one in group]
        for group in (layers, *(layer["nodes"] for layer in layers))
    ]
    for weights in (*shares, fusion.values()):
        assert sum(weights) == pytest.approx(1, abs=1e-6)
    across = profile["across_balls"]
    assert {scale: len(rows) for scale, rows in across.items()} == HEADS
    sums = [sum(row) for rows in across.values() for row in rows]
    assert sums == pytest.approx([1] * len(sums), abs=1e-5)
