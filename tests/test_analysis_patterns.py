"""Relations and likeness of heads against loops, scipy and numpy's own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlens.attention.heads import (
    duplicate_token,
    earlier_token,
    first_token,
    induction,
    relation_scores,
)
from attnlens.errors import InputError

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
    with pytest.raises(InputError, match=r"relation has shape \(5, 5\), which does not fit"):
        relation_scores(np.ones((2, 6, 6)), np.ones((5, 5)))
