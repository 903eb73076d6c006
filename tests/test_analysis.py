"""Divergence and Shapley values against independent computations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlens.evidence.scores import divergence
from attnlens.evidence.shapley import shapley_values


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
    np.testing.assert_allclose(
        shapley_values(values + other), found + shapley_values(other), atol=1e-12
    )
