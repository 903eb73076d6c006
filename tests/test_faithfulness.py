"""Removal metrics against known truths and independent computations."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlens.evidence.faithfulness import (
    HIGH_IS_FAITHFUL,
    SIZES,
    against_controls,
    area,
    descending,
    log_odds,
    partial_spearman,
    ranks,
    removal_figures,
    remove_each,
    spearman,
)

Floats = np.ndarray[Any, np.dtype[np.float64]]


class Additive:
    """Two classes; the log-odds of the first are a start plus the weights of visible parts."""

    def __init__(self, weights: list[float], start: float = 0.2) -> None:
        self.weights = np.array(weights)
        self.start = start
        self.calls = 0

    def odds(self, masks: np.ndarray[Any, np.dtype[np.bool_]]) -> Floats:
        result: Floats = self.start + masks @ self.weights
        return result

    def __call__(self, masks: np.ndarray[Any, np.dtype[np.bool_]]) -> Floats:
        self.calls += 1
        first = 1 / (1 + np.exp(-self.odds(masks)))
        return np.stack([first, 1 - first], -1)


numbers = st.floats(-3, 3).map(lambda value: round(value, 2))
vectors = st.integers(2, 12).flatmap(
    lambda size: st.tuples(*(st.lists(numbers, min_size=size, max_size=size) for _ in range(3)))
)


@settings(max_examples=60, deadline=None)
@given(vectors)
def test_spearman_is_scipys(pair: tuple[list[float], ...]) -> None:
    stats = pytest.importorskip("scipy.stats")
    one, other = np.array(pair[0]), np.array(pair[1])
    assert ranks(one).tolist() == stats.rankdata(one).tolist()
    found = spearman(one, other)
    if len(set(pair[0])) == 1 or len(set(pair[1])) == 1:
        assert found == 0
    else:
        assert found == pytest.approx(stats.spearmanr(one, other).statistic, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(vectors)
def test_partial_spearman_correlates_what_the_third_leaves(pair: tuple[list[float], ...]) -> None:
    scores, effects, given_ = (np.array(one) for one in pair)
    found = partial_spearman(scores, effects, given_)
    both, first, second = (
        spearman(one, other)
        for one, other in ((scores, effects), (scores, given_), (effects, given_))
    )
    left = (1 - first**2) * (1 - second**2)
    if left > 1e-6:
        assert found == pytest.approx((both - first * second) / math.sqrt(left), abs=1e-6)
    positive = given_ - given_.min() + 1
    assert partial_spearman(scores, effects, np.log(positive)) == pytest.approx(found)
    assert partial_spearman(positive, effects, positive) == 0


def test_partial_spearman_holds_several_fixed() -> None:
    generator = np.random.default_rng(4)
    for _ in range(20):
        far, same = np.arange(30.0), generator.integers(0, 2, 30).astype(float)
        scores = far + 8 * same + generator.normal(0, 5, 30)
        effects = scores + generator.normal(0, 9, 30)
        # By the inverse of the matrix of rank correlations.
        table = [ranks(one) for one in (scores, effects, far, same)]
        inverse = np.linalg.inv(np.corrcoef(table))
        by_hand = -inverse[0, 1] / math.sqrt(inverse[0, 0] * inverse[1, 1])
        found = partial_spearman(scores, effects, np.stack([far, same]))
        assert found == pytest.approx(by_hand, abs=1e-9)


def test_equal_scores_stand_in_random_order() -> None:
    generator = np.random.default_rng(0)
    found = {tuple(descending(np.array([1.0, 5, 1, 1]), generator).tolist()) for _ in range(200)}
    assert found == {(1, *rest) for rest in itertools.permutations((0, 2, 3))}


def test_the_area_weighs_uneven_steps() -> None:
    assert area(np.array([1.0, 3.0, 0.0]), np.array([0, 1, 4])) == pytest.approx(0.5 + 1.125)
    assert area(np.array([2.5]), np.array([0])) == 2.5


def by_hand(model: Additive, order: list[int]) -> dict[str, float]:
    """The figures of one order, one removal at a time."""
    count = len(order)

    def chances(kept: set[int]) -> Floats:
        result: Floats = model(np.array([[part in kept for part in range(count)]]))[0]
        return result

    everything = set(range(count))
    full = chances(everything)
    top = int(full.argmax())

    def level(kept: set[int]) -> float:
        return math.log(chances(kept)[top] / (1 - chances(kept)[top]))

    def fall(kept: set[int]) -> float:
        return level(everything) - level(kept)

    def nats(kept: set[int]) -> float:
        return sum(p * math.log(p / q) for p, q in zip(full, chances(kept), strict=True))

    sizes = [min(size, count) for size in SIZES]
    figures = {}
    for name, value, cost in (("", level, fall), ("_kl", nats, nats)):
        gone = [cost(everything - set(order[:size])) for size in sizes]
        kept = [cost(set(order[:size])) for size in sizes]
        figures[f"comprehensiveness{name}"] = sum(gone) / len(gone)
        figures[f"sufficiency{name}"] = sum(kept) / len(kept)
        inserted = [set(order[:step]) for step in range(count + 1)]
        deleted = [everything - parts for parts in inserted]
        for kind, sets in (("deletion", deleted), ("insertion", inserted)):
            pieces = itertools.pairwise(map(value, sets))
            figures[f"{kind}_auc{name}"] = sum((a + b) / 2 / count for a, b in pieces)
    rises = [fall(everything - {part}) < 0 for part in order]
    figures["sign_violation_rate"] = sum(sum(rises[:n]) / n for n in sizes) / len(sizes)
    return figures


weights = st.lists(numbers, min_size=1, max_size=7)


@settings(max_examples=40, deadline=None)
@given(weights, st.randoms(use_true_random=False))
def test_every_figure_is_what_removing_one_set_after_another_gives(
    planted: list[float], random: Any
) -> None:
    model = Additive(planted)
    order = list(range(len(planted)))
    random.shuffle(order)
    alone = remove_each(model, len(planted))
    model.calls = 0
    found = removal_figures(model, alone, [np.array(order), np.array(order[::-1])])
    assert model.calls == 1
    assert set(found[0]) == set(HIGH_IS_FAITHFUL)
    for figures, one in zip(found, (order, order[::-1]), strict=True):
        for name, value in by_hand(model, one).items():
            assert figures[name] == pytest.approx(value, abs=1e-6), name
    # Bringing parts back in one order is removing them in the other, seen from the end.
    assert found[0]["insertion_auc"] == pytest.approx(found[1]["deletion_auc"], abs=1e-9)
    assert found[0]["insertion_auc_kl"] == pytest.approx(found[1]["deletion_auc_kl"], abs=1e-9)
    # What parts add here does not depend on one another, so both curves mirror each other.
    ends = log_odds(alone.full, [alone.outcome]) + log_odds(alone.nothing, [alone.outcome])
    assert found[0]["deletion_auc"] + found[0]["insertion_auc"] == pytest.approx(ends, abs=1e-6)


def test_the_planted_order_is_the_most_faithful_there_is() -> None:
    model = Additive([0.1, 1.6, 0.4, 0.0, 0.8], start=-0.3)
    alone = remove_each(model, 5)
    orders = [np.array(order) for order in itertools.permutations(range(5))]
    found = removal_figures(model, alone, orders)
    truth = [tuple(order.tolist()) for order in orders].index((1, 4, 2, 0, 3))
    for name, high in HIGH_IS_FAITHFUL.items():
        values = [figures[name] for figures in found]
        assert values[truth] == pytest.approx(max(values) if high else min(values), abs=1e-12)
    assert spearman(model.weights, alone.effects) == pytest.approx(1)
    assert alone.drops == pytest.approx(model.weights, abs=1e-9)
    assert found[0]["sign_violation_rate"] == 0


def test_p_and_z_look_in_the_faithful_direction() -> None:
    controls = np.array([1.0, 2.0, 3.0, 4.0])
    for high, z, p in ((True, 2.5, 1 / 5), (False, -2.5, 5 / 5)):
        due = (pytest.approx(z / controls.std(ddof=1)), p)
        assert against_controls(5.0, controls, high=high) == due
    assert against_controls(3.0, controls, high=False)[1] == 4 / 5
    assert against_controls(1.0, np.ones(4), high=True) == (0.0, 1.0)
