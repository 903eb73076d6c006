"""Scores of probabilities, against independent computations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, log_loss

from attnlens.cricket.lab.evaluation import reliability
from attnlens.evidence.scores import (
    Bootstrap,
    brier_scores,
    calibration_error,
    equal_bins,
    filled_bins,
    group_numbers,
    hits,
    log_losses,
)

ROWS, OUTCOMES, GROUPS = 397, 7, 11


def drawn(seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities, what happened, and the group of each row; groups of many sizes."""
    generator = np.random.default_rng(seed)
    chances = generator.dirichlet(np.full(OUTCOMES, 0.6), size=ROWS)
    actual = np.array([generator.choice(OUTCOMES, p=row) for row in chances])
    group = np.sort(generator.integers(GROUPS, size=ROWS) * generator.integers(2, size=ROWS))
    return chances, actual, group_numbers([f"match {number}" for number in group])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_means_are_those_of_scikit_learn(seed: int) -> None:
    chances, actual, _ = drawn(seed)
    labels = list(range(OUTCOMES))
    assert log_losses(chances, actual).mean() == pytest.approx(
        log_loss(actual, np.maximum(chances, 1e-12), labels=labels)
    )
    assert hits(chances, actual).mean() == accuracy_score(actual, chances.argmax(1))
    by_hand = [
        sum((p - (k == happened)) ** 2 for k, p in enumerate(row))
        for row, happened in zip(chances, actual, strict=True)
    ]
    assert brier_scores(chances, actual).tolist() == pytest.approx(by_hand)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40))
def test_calibration_error_by_going_through_the_rows(seed: int, bins: int) -> None:
    chances, actual, _ = drawn(seed)
    held: dict[int, list[tuple[float, bool]]] = {}
    for row, happened in zip(chances.tolist(), actual.tolist(), strict=True):
        confidence = max(row)
        number = next(b for b in range(bins) if confidence < (b + 1) / bins or b == bins - 1)
        held.setdefault(number, []).append((confidence, row.index(confidence) == happened))
    by_hand = sum(
        len(rows)
        / len(actual)
        * abs(np.mean([said for said, _ in rows]) - np.mean([came for _, came in rows]))
        for rows in held.values()
    )
    assert calibration_error(chances, actual, bins) == pytest.approx(by_hand, abs=1e-12)


def test_intervals_are_those_of_resampling_groups_one_by_one() -> None:
    chances, actual, group = drawn()
    values = log_losses(chances, actual)
    some = np.arange(ROWS) % 3 == 0
    below = np.random.default_rng(1).random(ROWS) + 0.5
    generator = np.random.default_rng(17)
    whole, part, ratios = [], [], []
    for _ in range(300):
        chosen = generator.integers(group.max() + 1, size=group.max() + 1)
        rows = np.concatenate([np.flatnonzero(group == number) for number in chosen])
        whole.append(values[rows].mean())
        ratios.append(values[rows].sum() / below[rows].sum())
        kept = rows[some[rows]]
        if len(kept):
            part.append(values[kept].mean())
    bootstrap = Bootstrap(group, draws=300, seed=17)
    assert bootstrap.interval(values) == pytest.approx(tuple(np.quantile(whole, [0.025, 0.975])))
    assert bootstrap.interval(values, some) == pytest.approx(
        tuple(np.quantile(part, [0.025, 0.975]))
    )
    found = bootstrap.ratio(values, below)
    assert float(found.value) == pytest.approx(values.sum() / below.sum())
    assert [found.low, found.high] == pytest.approx(np.quantile(ratios, [0.025, 0.975]))
    nothing = bootstrap.mean(np.full(ROWS, np.nan))
    assert np.isnan([nothing.value, nothing.low, nothing.high]).all()


def test_one_group_alone_has_no_interval() -> None:
    group = np.array([0, 0, 1, 1, 1])
    bootstrap = Bootstrap(group)
    values = np.arange(5.0)
    assert bootstrap.interval(values) is not None
    assert bootstrap.interval(values, group == 1) is None
    assert Bootstrap(group[:2]).interval(values[:2]) is None


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.integers(2, 12))
def test_bins_share_out_all_rows(said: list[float], bins: int) -> None:
    values = np.array(said)
    bootstrap = Bootstrap(np.arange(len(values)))
    for place in (equal_bins(values, bins), filled_bins(values, bins)):
        assert place.min() >= 0
        assert place.max() < bins
        order = np.argsort(values, kind="stable")
        assert (np.diff(place[order]) >= 0).all()
        table = reliability(values, values > 0.5, place, bootstrap)
        assert sum(one["balls"] for one in table) == len(values)
        assert sum(one["balls"] * one["predicted"] for one in table) == pytest.approx(values.sum())
        came = sum(one["balls"] * one["observed"].required_value for one in table)
        assert came == pytest.approx((values > 0.5).sum())
    assert (np.diff([one["predicted"] for one in table]) > 0).all()
