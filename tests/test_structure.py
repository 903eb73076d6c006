"""Structure alone: trees that see no attention, fitted on the balls of other matches."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import pytest
from small_predictors import arrays_of, simulated, small_predictor

from attnlens.cricket.lab.attention_faithfulness import (
    StructureError,
    structure_of,
    structure_scores,
)
from attnlens.evidence.faithfulness import spearman

pytest.importorskip("lightgbm")

Rows = list[np.ndarray]


@pytest.fixture(scope="module")
def balls() -> tuple[Rows, Rows, list[str]]:
    """Balls of six matches, and effects that follow from structure but for some noise."""
    predictor, generator = small_predictor(), np.random.default_rng(2)
    structures, effects, matches = [], [], []
    for seed in range(6):
        arrays = arrays_of(predictor, simulated(seed))
        for position in range(40, len(arrays), 8):
            seen = structure_of(arrays, position)
            distance, batter, bowler, outcome = seen.T
            sizes = np.exp(-distance / 60 + batter - 0.5 * bowler + 0.8 * (outcome == 6))
            structures.append(seen)
            effects.append(0.001 * sizes * generator.lognormal(0, 0.2, position))
            matches.append(f"match {seed}")
    return structures, effects, matches


def test_columns_are_distance_players_and_outcome() -> None:
    predictor, match = small_predictor(), simulated(1)
    deliveries = match.innings[0].deliveries
    arrays = arrays_of(predictor, match)
    for ball, row in zip(deliveries[:50], structure_of(arrays, 50), strict=True):
        same = ball.batter == deliveries[50].batter, ball.bowler == deliveries[50].bowler
        assert row.tolist() == [51 - ball.index, *same, arrays.outcome[ball.index - 1]]


def test_trees_find_what_structure_tells(balls: tuple[Rows, Rows, list[str]]) -> None:
    structures, effects, matches = balls
    scores = structure_scores(structures, effects, matches, 5)
    agreement = [spearman(*pair) for pair in zip(scores, effects, strict=True)]
    recency = [
        spearman(-seen[:, 0], sizes) for seen, sizes in zip(structures, effects, strict=True)
    ]
    assert np.mean(agreement) > 0.9 > 0.1 + np.mean(recency)


def test_no_ball_is_scored_by_its_own_match(balls: tuple[Rows, Rows, list[str]]) -> None:
    structures, effects, matches = balls

    def scores(sizes: Sequence[np.ndarray]) -> Rows:
        return structure_scores(structures, sizes, matches, 5)

    changed = [
        size[::-1] if match == "match 3" else size
        for size, match in zip(effects, matches, strict=True)
    ]
    moved = [
        not np.array_equal(*pair) for pair in zip(scores(effects), scores(changed), strict=True)
    ]
    assert not any(flag for flag, match in zip(moved, matches, strict=True) if match == "match 3")
    assert any(moved)


def test_what_cannot_be_fitted_is_said(
    balls: tuple[Rows, Rows, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    structures, effects, matches = balls
    with pytest.raises(StructureError, match="from one match"):
        structure_scores(structures[:3], effects[:3], matches[:3], 5)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(StructureError, match="lightgbm is not installed"):
        structure_scores(structures, effects, matches, 5)
