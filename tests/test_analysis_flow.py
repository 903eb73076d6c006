"""Rollout against products of whole matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnlens.attention.flow import rollout
from attnlens.errors import InputError


def attention(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), size=shape[:-1])


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
    with pytest.raises(InputError, match="no layers to roll out"):
        rollout([])
    with pytest.raises(InputError, match=r"layer 1 has shape \(2, 3, 5\); rollout needs self-att"):
        rollout([square, attention(1, 2, 3, 5)])
