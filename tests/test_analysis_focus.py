"""Entropy and strongest keys against scipy and sums by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attnlens.attention.focus import (
    as_floats,
    entropy,
    entropy_bounds,
    strongest_keys,
)
from attnlens.errors import InputError


def attention(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(shape[-1], 0.5), size=shape[:-1])


def test_entropy_is_scipys_for_tensors_and_arrays() -> None:
    weights = attention(1, 2, 3, 5, 7)
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
    whole = attention(seed, 3, keys)
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
    with pytest.raises(InputError, match="3 weights were kept of 2 keys"):
        entropy_bounds(np.zeros(3), np.array(0.0), 2)


def test_the_strongest_keys_come_first_and_ties_by_position() -> None:
    weights = np.array([[0.1, 0.4, 0.1, 0.4], [0.7, 0.1, 0.2, 0.0]])
    found = strongest_keys(weights, 3)
    assert found.positions.tolist() == [[1, 3, 0], [0, 2, 1]]
    assert found.weights.tolist() == [[0.4, 0.4, 0.1], [0.7, 0.2, 0.1]]
    assert strongest_keys(weights, 99).positions.shape == (2, 4)
    assert strongest_keys(weights, 1).labels is None
    with pytest.raises(InputError, match="the 0 strongest keys are none; ask for 1 or more"):
        strongest_keys(weights, 0)
