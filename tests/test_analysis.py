"""Divergence, Shapley values and analysis of attention against independent computations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from recording_cases import (
    KEY_NAMES,
    QUERIES,
    lazy_attention,
    lazy_record,
    rows_record,
    top_record,
    whole_record,
)
from refused import refused
from scipy import stats

from attnlens.attention import entropy, entropy_bounds, relation_scores, rollout, strongest_keys
from attnlens.attention import focus as focus_module
from attnlens.attention.focus import as_floats
from attnlens.attention.heads import duplicate_token, earlier_token, first_token, induction
from attnlens.errors import InputError
from attnlens.evidence.scores import divergence
from attnlens.evidence.shapley import shapley_values
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.axes import Axis
from attnlens.recording.lazy import LazyAttention


def test_divergence_is_in_nats_and_never_negative() -> None:
    full, ablated = np.array([0.5, 0.25, 0.25]), np.array([0.25, 0.5, 0.25])
    expected = 0.5 * math.log(2) - 0.25 * math.log(2)
    assert divergence(full, np.stack([ablated, full])).tolist() == pytest.approx([expected, 0])
    nearly = full * (1 + np.array([1e-17, -1e-17, 0]))
    assert divergence(full, nearly) == 0


def by_permutation(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], groups: int
) -> list[float]:
    """The mean gain of each group over every order in which groups can arrive."""
    total = [0.0] * groups
    for order in itertools.permutations(range(groups)):
        present = 0
        for group in order:
            total[group] += values[present | 1 << group] - values[present]
            present |= 1 << group
    return [part / math.factorial(groups) for part in total]


@settings(max_examples=40, deadline=None)
@given(groups=st.integers(1, 5), seed=st.integers(0, 1000))
def test_shapley_values_are_the_mean_over_all_orders(groups: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(2**groups, 3))
    found = shapley_values(values)
    assert found.shape == (groups, 3)
    for column in range(3):
        expected = by_permutation(values[:, column], groups)
        np.testing.assert_allclose(found[:, column], expected, atol=1e-12)
    np.testing.assert_allclose(found.sum(0), values[-1] - values[0], atol=1e-12)
    # Adding two games adds their values.
    other = generator.normal(size=values.shape)
    joint = shapley_values(values + other)
    np.testing.assert_allclose(joint, found + shapley_values(other), atol=1e-12)


def attention(seed: int, *shape: int, alpha: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(shape[-1], alpha), size=shape[:-1])


def whole_rollout(layers: list[np.ndarray]) -> np.ndarray:
    """The reference: whole matrices, first layer first."""
    size = layers[0].shape[-1]
    joint = np.broadcast_to(np.eye(size), (*layers[0].shape[:-3], size, size))
    for layer in layers:
        mixed = layer.mean(-3) + np.eye(size)
        joint = mixed / mixed.sum(-1, keepdims=True) @ joint
    return joint


def test_rows_are_rows_of_the_whole_product() -> None:
    layers = [attention(seed, 2, 3, 7, 7) for seed in range(4)]
    layers[2][1, :, 4] = 0  # a query whose keys are all hidden: only its residual is left
    expected = whole_rollout(layers)
    np.testing.assert_allclose(rollout(layers), expected, atol=1e-12)
    found = rollout([torch.from_numpy(layer).float() for layer in layers], rows=[5, -1])
    assert found.shape == (2, 2, 7)
    np.testing.assert_allclose(found, expected[:, [5, 6]], atol=1e-6)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-6)


def test_heads_may_differ_in_number_and_lead_axes_are_free() -> None:
    layers = [attention(1, 2, 5, 5), attention(2, 4, 5, 5)]
    np.testing.assert_allclose(rollout(layers), whole_rollout(layers), atol=1e-12)
    assert np.array_equal(rollout(layers, rows=-1), rollout(layers)[-1:])


def test_what_cannot_be_rolled_out_is_refused() -> None:
    square = attention(1, 2, 5, 5)
    assert "no layer was given" in refused(InputError, rollout, [])
    told = "layer 1 has shape (2, 3, 5), but rollout needs self-att"
    assert told in refused(InputError, rollout, [square, attention(1, 2, 3, 5)])


def test_entropy_is_scipys_for_tensors_and_arrays() -> None:
    weights = attention(1, 2, 3, 5, 7, alpha=0.5)
    expected = stats.entropy(weights, axis=-1)
    np.testing.assert_allclose(entropy(weights), expected, atol=1e-12)
    np.testing.assert_allclose(entropy(torch.from_numpy(weights)), expected, atol=1e-12)
    half = torch.from_numpy(weights).to(torch.bfloat16).requires_grad_()
    np.testing.assert_allclose(entropy(half), expected, atol=0.03)
    assert as_floats(half).dtype == np.float64


def test_the_ends_of_entropy() -> None:
    assert entropy(np.array([0.0, 1.0, 0.0])) == 0
    assert entropy(np.full(8, 1 / 8)) == pytest.approx(math.log(8))
    nothing = np.zeros((2, 4))
    nothing[1, 0] = 1
    assert np.isnan(entropy(nothing)).tolist() == [True, False]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), keys=st.integers(2, 40), kept=st.integers(1, 40))
def test_bounds_hold_the_entropy_of_whole_rows(seed: int, keys: int, kept: int) -> None:
    kept = min(kept, keys)
    whole = attention(seed, 3, keys, alpha=0.5)
    order = np.sort(whole, -1)[:, ::-1]
    low, high = entropy_bounds(order[:, :kept], order[:, kept:].sum(-1), keys)
    true = stats.entropy(whole, axis=-1)
    assert (low <= true + 1e-9).all()
    assert (true <= high + 1e-9).all()
    if kept == keys:
        np.testing.assert_allclose(low, high, atol=1e-9)


def test_bounds_are_reached() -> None:
    # 0.4 kept; 0.6 left over: most even 6 x 0.1, least even 0.4 + 0.2.
    low, high = entropy_bounds(np.array([0.4]), np.array(0.6), 7)
    assert low == pytest.approx(stats.entropy([0.4, 0.4, 0.2]))
    assert high == pytest.approx(stats.entropy([0.4, *[0.1] * 6]))
    assert np.isnan(entropy_bounds(np.zeros(2), np.array(0.0), 7)).all()
    with pytest.raises(InputError, match="3 weights were given for 2 keys"):
        entropy_bounds(np.zeros(3), np.array(0.0), 2)


def test_the_strongest_keys_come_first_and_ties_by_position() -> None:
    weights = np.array([[0.1, 0.4, 0.1, 0.4], [0.7, 0.1, 0.2, 0.0]])
    found = strongest_keys(weights, 3)
    assert found.positions.tolist() == [[1, 3, 0], [0, 2, 1]]
    assert found.weights.tolist() == [[0.4, 0.4, 0.1], [0.7, 0.2, 0.1]]
    assert strongest_keys(weights, 99).positions.shape == (2, 4)
    assert strongest_keys(weights, 1).labels is None
    with pytest.raises(InputError, match="count=0 is not a number of keys; give 1 or more"):
        strongest_keys(weights, 0)


CAUSAL = np.tril(np.ones((6, 6), bool))


def causal_attention(seed: int, *shape: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    scores = np.exp(generator.normal(size=shape)) * np.tril(np.ones(shape[-2:]))
    return scores / scores.sum(-1, keepdims=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 4), max_size=12))
def test_the_standard_relations_are_what_they_say(tokens: list[int]) -> None:
    length = len(tokens)
    pairs = list(itertools.product(range(length), repeat=2))
    tables = {
        "previous": (earlier_token(length), [key == query - 1 for query, key in pairs]),
        "three back": (earlier_token(length, 3), [key == query - 3 for query, key in pairs]),
        "first": (first_token(length), [key == 0 < query for query, key in pairs]),
        "duplicate": (
            duplicate_token(tokens),
            [key < query and tokens[key] == tokens[query] for query, key in pairs],
        ),
        "induction": (
            induction(tokens),
            [0 < key <= query and tokens[key - 1] == tokens[query] for query, key in pairs],
        ),
    }
    for name, (found, expected) in tables.items():
        assert found.shape == (length, length), name
        assert found.ravel().tolist() == expected, name


def test_tokens_may_be_words_or_a_tensor() -> None:
    words = ["a", "b", "c", "a"]
    assert np.argwhere(induction(words)).tolist() == [[3, 1]]
    assert np.argwhere(induction(torch.tensor([5, 6, 7, 5]))).tolist() == [[3, 1]]


def test_scores_are_sums_by_hand() -> None:
    weights = causal_attention(1, 2, 3, 6, 6)
    held = duplicate_token(["x", "y", "x", "x", "z", "y"])
    found = relation_scores(torch.from_numpy(weights), held)
    queries = [2, 3, 5]
    for batch, head in itertools.product(range(2), range(3)):
        share = np.mean([weights[batch, head, q][held[q]].sum() for q in queries])
        assert found.share[batch, head] == pytest.approx(share)
    even = np.mean([1 / 3, 2 / 4, 1 / 6])
    np.testing.assert_allclose(found.even, even)
    np.testing.assert_allclose(found.lift, found.share / even)
    assert (found.queries == 3).all()


def test_even_attention_has_a_lift_of_one_and_a_pattern_scores_one() -> None:
    even = np.broadcast_to(CAUSAL / CAUSAL.sum(-1, keepdims=True), (2, 6, 6))
    np.testing.assert_allclose(relation_scores(even, first_token(6)).lift, 1)
    one_back = np.where(np.arange(6)[:, None] > 0, earlier_token(6), np.eye(6))
    assert relation_scores(one_back, earlier_token(6)).share == 1


def test_no_query_with_the_relation_is_no_score() -> None:
    found = relation_scores(causal_attention(1, 2, 6, 6), np.zeros((6, 6), bool))
    assert np.isnan(found.share).all()
    assert np.isnan(found.lift).all()
    assert (found.queries == 0).all()
    with pytest.raises(InputError, match=r"relation has shape \(5, 5\), which cannot be broadcast"):
        relation_scores(np.ones((2, 6, 6)), np.ones((5, 5)))


WHOLE = lazy_attention().weights().double().numpy()


def test_whole_rows_and_lazy_records_give_what_their_weights_give(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(focus_module, "_BLOCK_CELLS", 2 * 6 * 11 * 2)
    for record, expected in (
        (whole_record(), WHOLE),
        (lazy_record(), WHOLE),
        (rows_record(), WHOLE[:, :, [2, 6]]),
    ):
        np.testing.assert_allclose(entropy(record), entropy(expected), atol=1e-5)
        found, wanted = strongest_keys(record, 3), strongest_keys(expected, 3)
        np.testing.assert_allclose(found.weights, wanted.weights, atol=1e-6)
        paid = wanted.weights > 0
        np.testing.assert_array_equal(found.positions[paid], wanted.positions[paid])
    paid = WHOLE.sum(-1) > 0
    expected = stats.entropy(WHOLE[paid], axis=-1)
    np.testing.assert_allclose(entropy(lazy_record())[paid], expected, atol=1e-6)


def test_labels_of_a_record_name_keys() -> None:
    record = lazy_record().labelled(key=KEY_NAMES)
    found = strongest_keys(record, 2)
    at = found.positions[1, 3, 5]
    assert found.labels[1, 3, 5].tolist() == [KEY_NAMES[place] for place in at]


def test_a_top_k_record_has_bounds_and_no_whole_rows() -> None:
    top = top_record()
    assert "largest weights of each row were recorded" in refused(InputError, entropy, top)
    assert "rollout needs" in refused(InputError, rollout, [top])
    low, high = entropy_bounds(top.weights, top.residual, top.key_count)
    paid = WHOLE.sum(-1) > 0
    true = entropy(WHOLE)  # residuals are rounded to single precision
    assert (low[paid] <= true[paid] + 1e-5).all()
    assert (true[paid] <= high[paid] + 1e-5).all()


def test_relations_of_all_queries_serve_a_record_of_some() -> None:
    flags = np.zeros((QUERIES, 11), bool)
    flags[:, 3] = flags[:, 0] = True
    for relation in (flags, flags[[2, 6]]):
        found = relation_scores(rows_record(), relation)
        expected = relation_scores(WHOLE[:, :, [2, 6]], flags[[2, 6]])
        np.testing.assert_allclose(found.share, expected.share, atol=1e-6)


def test_lazy_layers_roll_out() -> None:
    torch.manual_seed(1)
    axes = tuple(map(Axis, ("batch", "head", "query", "key")))
    lazy = [
        LazyAttention(torch.randn(2, 4, 9, 5), torch.randn(2, 2, 9, 5), 0.4, causal=True)
        for _ in range(3)
    ]
    records = [AttentionRecord.of_lazy(str(n), 0, one, axes) for n, one in enumerate(lazy)]
    whole = [one.weights() for one in lazy]
    np.testing.assert_allclose(rollout(records), rollout(whole), atol=1e-6)
    np.testing.assert_allclose(rollout(records, rows=[-1]), rollout(whole)[:, -1:], atol=1e-6)
