"""What slots read: nothing as a choice, the readout, blocks of queries, today's innings."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_predictors import arrays_of, simulated, small_predictor

from attnlens.cricket.match.match import Innings
from attnlens.cricket.match.outcomes import OUTCOME_INDEX, OUTCOMES
from attnlens.cricket.predictor.predictor import BLOCK
from attnlens.cricket.predictor.ratings import KINDS
from attnlens.cricket.predictor.relations import RELATIONS, RelationAttention
from attnlens.cricket.predictor.tensors import (
    TODAY_DEVIATION,
    encode_innings,
    rate_today,
)
from attnlens.cricket.predictor.window import training_batch

PREDICTOR = small_predictor()
MATCH = simulated(11)


@settings(max_examples=40, deadline=None)
@given(
    balls=st.integers(1, 30),
    hidden=st.integers(0, 29),
    null=st.floats(-3, 4, allow_nan=False),
)
def test_even_attention_with_nothing_is_a_shrunk_mean(balls: int, hidden: int, null: float) -> None:
    """n balls get n / (n + e^null) of the attention: the mean of their values, shrunk to 0."""
    hidden = min(hidden, balls)
    attention = RelationAttention(8, 2, own=False, project=False, null=null)
    with torch.no_grad():
        attention.to_query.weight.zero_()
        attention.bias.zero_()
    generator = torch.Generator().manual_seed(balls)
    key = torch.randn(1, balls, 8, generator=generator)
    mask = torch.zeros(1, 1, 1, balls, dtype=torch.bool)
    mask[..., :hidden] = True
    relations = torch.zeros(1, 1, balls, len(RELATIONS))
    with torch.no_grad():
        mixed, weights = attention(key[:, :1], key, relations, mask)
    seen = balls - hidden
    share = seen / (seen + math.exp(null))
    assert weights.shape == (1, 2, 1, balls + 1)
    torch.testing.assert_close(
        weights[..., -1], torch.full((1, 2, 1), 1 - share), atol=1e-6, rtol=0
    )
    values = (key @ attention.to_value.weight.T)[0, hidden:].detach()
    mean = values.mean(0) if seen else torch.zeros(8)
    torch.testing.assert_close(mixed[0, 0], share * mean, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("length", [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 7])
def test_queries_in_blocks_give_the_numbers_of_one_pass(length: int) -> None:
    side = dataclasses.replace(MATCH.innings[0], deliveries=MATCH.innings[0].deliveries[:length])
    encoded = encode_innings(MATCH, side, PREDICTOR.ratings, PREDICTOR.base)
    batch, _ = training_batch([encoded])
    with torch.no_grad():
        whole = PREDICTOR.model.predict(batch).logits
        torch.testing.assert_close(PREDICTOR.model(batch), whole, atol=1e-5, rtol=0)


def test_todays_rating_is_one_newton_step_by_hand() -> None:
    side = MATCH.innings[0]
    today, balls = rate_today(MATCH, MATCH.innings[1], PREDICTOR.ratings, PREDICTOR.base)
    assert balls == len(side.deliveries)
    parts = PREDICTOR.ratings.parts(PREDICTOR.ratings.entities(MATCH, side))
    logits = PREDICTOR.base.of_innings(MATCH, side).astype(float)
    logits = logits + sum(parts[kind.name].astype(float) for kind in KINDS)
    gained = np.zeros(len(OUTCOMES))
    known = np.full(len(OUTCOMES), 1 / TODAY_DEVIATION**2)
    for ball, row in zip(side.deliveries, logits, strict=True):
        expected = np.exp(row - np.logaddexp.reduce(row))
        gained -= expected
        gained[OUTCOME_INDEX[ball.outcome]] += 1
        known += expected * (1 - expected)
    np.testing.assert_allclose(today, gained / known, rtol=2e-4, atol=2e-5)
    assert np.abs(today).max() > 0.01


def test_today_tells_earlier_innings_alone() -> None:
    """Of the first innings nothing, of the second what the first one did, and no super over."""
    assert not arrays_of(PREDICTOR, MATCH, 1).ratings["today"].any()
    second = arrays_of(PREDICTOR, MATCH, 2).ratings["today"]
    assert second.any()
    assert (second == second[0]).all()
    first, chase = MATCH.innings

    def today(*innings: Innings) -> tuple[np.ndarray[Any, Any], float]:
        match = dataclasses.replace(MATCH, innings=innings)
        return rate_today(match, innings[1], PREDICTOR.ratings, PREDICTOR.base)

    shorter = dataclasses.replace(chase, deliveries=chase.deliveries[:10])
    np.testing.assert_array_equal(today(first, shorter)[0], today(first, chase)[0])
    rating, balls = today(dataclasses.replace(first, super_over=True), chase)
    assert balls == 0
    assert not rating.any()
