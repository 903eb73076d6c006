"""Controls, p-values, verdicts and Shapley values against independent computations."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlens.analysis.scores import divergence
from attnlens.analysis.shapley import shapley_values
from attnlens.claims.verdicts import (
    CHANCE,
    TOO_SMALL,
    Judged,
    benjamini_hochberg,
    draw,
    judge,
    p_value,
    pool_for,
    stratum,
)

WINDOW = tuple(range(12, 47))
DISTANCES = {ball: 47 - ball for ball in WINDOW}


def test_where_few_sets_exist_all_of_them_are_taken_once() -> None:
    pool = pool_for((3, 1), range(1, 11))
    assert pool.sets == 45
    sets = draw(pool, np.random.default_rng(1))
    assert sets == list(itertools.combinations(range(1, 11), 2))
    matched = pool_for((46, 45, 43), WINDOW, DISTANCES)
    expected = {
        tuple(sorted((*near, far)))
        for near in itertools.combinations((44, 45, 46), 2)
        for far in (41, 42, 43)
    }
    found = draw(matched, np.random.default_rng(1))
    assert len(found) == matched.sets == 9
    assert set(found) == expected


@settings(max_examples=50, deadline=None)
@given(
    window=st.integers(2, 30),
    data=st.data(),
    matched=st.booleans(),
    controls=st.integers(1, 60),
)
def test_any_pool_gives_sets_like_the_claims(
    window: int, data: st.DataObject, matched: bool, controls: int
) -> None:
    balls = range(1, window + 1)
    removed = data.draw(st.lists(st.sampled_from(balls), min_size=1, max_size=4, unique=True))
    distances = {ball: window + 1 - ball for ball in balls} if matched else None
    pool = pool_for(removed, balls, distances)
    sets = draw(pool, np.random.default_rng(3), controls)
    assert len(sets) == min(controls, pool.sets)
    assert pool.sets > controls or tuple(sorted(removed)) in sets
    for one in sets:
        assert len(set(one)) == len(removed)
        assert set(one) <= set(balls)
        if distances is not None:
            assert Counter(stratum(distances[ball]) for ball in one) == Counter(
                stratum(distances[ball]) for ball in removed
            )


def test_p_counts_the_controls_that_do_as_much() -> None:
    controls = np.array([0.1, 0.2, 0.2, 0.3])
    assert p_value(0.2, controls) == pytest.approx(4 / 5)
    assert p_value(0.3, controls) == pytest.approx(2 / 5)
    assert p_value(0.4, controls) == pytest.approx(1 / 5)
    assert p_value(0.0, controls) == 1


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=12))
def test_q_is_the_least_rate_at_which_each_is_declared(p: list[float]) -> None:
    for value, q in zip(p, benjamini_hochberg(p), strict=True):
        rates = [
            threshold * len(p) / sum(other <= threshold for other in p)
            for threshold in p
            if threshold >= value
        ]
        assert q == pytest.approx(min([1.0, *rates]))


def test_divergence_is_in_nats_and_never_negative() -> None:
    full, ablated = np.array([0.5, 0.25, 0.25]), np.array([0.25, 0.5, 0.25])
    expected = 0.5 * math.log(2) - 0.25 * math.log(2)
    assert divergence(full, np.stack([ablated, full])).tolist() == pytest.approx([expected, 0])
    nearly = full * (1 + np.array([1e-17, -1e-17, 0]))
    assert divergence(full, nearly) == 0


RANDOM = np.linspace(0.0001, 0.002, 100)


@pytest.mark.parametrize(
    ("effect", "points", "q", "verdict", "reason"),
    [
        (0.0030, 0.1, 0.05, "supported", None),
        (0.0005, 0.1, 0.01, "supported", None),
        (0.0004, -0.5, 0.01, "supported", None),
        (0.0004, 0.49, 0.01, "not better than chance", TOO_SMALL),
        (0.0030, 9.0, 0.051, "not better than chance", CHANCE),
        (0.0010, 0.1, 0.9, "not better than chance", CHANCE),
        (0.0001, 9.0, 1.0, "contradicted", "other items do more"),
    ],
)
def test_the_verdict_rule(
    effect: float, points: float, q: float, verdict: str, reason: str | None
) -> None:
    found = judge(effect, np.array([0.0, points, 0.01]), RANDOM, q)
    assert (found.verdict, found.reason) == (verdict, reason)
    assert isinstance(found, Judged)


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
