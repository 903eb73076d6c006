"""Slopes in head gates against finite differences of real gates."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attnlens.analysis.importance import gradient_importance
from attnlens.errors import InputError, NothingRecordedError


class Attention(nn.Module):
    """Self-attention with an output projection, and a gate on every head."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.mix = nn.Linear(width, 3 * width)
        self.join = nn.Linear(width, width)
        self.gates = torch.ones(heads, dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        split = self.mix(x).reshape(batch, length, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        weights = (query @ key.transpose(-1, -2)).softmax(-1)
        heads = weights @ value * self.gates[:, None, None]
        result: Tensor = self.join(heads.transpose(1, 2).reshape(batch, length, width))
        return result


class Stack(nn.Module):
    """Two layers, the second of which runs twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Attention(12, 3), Attention(12, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.first(x)
        x = x + self.second(x)
        return (x + self.second(x))[:, -1].sin()


@pytest.fixture
def model() -> Stack:
    torch.manual_seed(1)
    return Stack().double()


def by_gates(model: Stack, layer: Attention, x: Tensor) -> np.ndarray:
    """The mean size over examples of the central difference in each gate."""
    slopes = []
    for head in range(layer.heads):
        ends = []
        for step in (1e-6, -1e-6):
            layer.gates[head] = 1 + step
            with torch.no_grad():
                ends.append(model(x).sum(-1))
            layer.gates[head] = 1
        slopes.append(((ends[0] - ends[1]) / 2e-6).abs().mean())
    return torch.stack(slopes).numpy()


def test_slopes_are_those_of_real_gates(model: Stack) -> None:
    x = torch.randn(5, 7, 12, dtype=torch.float64)
    layers = {"first": model.first, "second": model.second}
    found = gradient_importance(
        lambda: model(x).sum(),
        joins={name: (layer.join, layer.heads) for name, layer in layers.items()},
        normalised=False,
    )
    for name, layer in layers.items():
        expected = by_gates(model, layer, x)
        np.testing.assert_allclose(found[name], expected, rtol=1e-5)
    assert list(found) == ["first", "second"]
    joins = {name: (one.join, one.heads) for name, one in layers.items()}
    sizes = gradient_importance(lambda: model(x).sum(), joins).values()
    lengths = [np.linalg.norm(one) for one in sizes]
    assert lengths == pytest.approx([1, 1])


def test_the_model_is_left_as_it_was(model: Stack) -> None:
    x = torch.randn(2, 3, 12, dtype=torch.float64)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    before = model(x)
    with torch.no_grad():
        gradient_importance(lambda: model(x).sum(), joins={"a": (model.first.join, 3)})
    assert torch.equal(model(x), before)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
    with pytest.raises(ZeroDivisionError):
        gradient_importance(lambda: model(x).sum() / (1 // 0), joins={"a": (model.first.join, 3)})
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_what_cannot_be_measured_is_refused(model: Stack) -> None:
    x = torch.randn(2, 3, 12, dtype=torch.float64)
    joins = {"first": (model.first.join, 3)}
    with pytest.raises(InputError, match="no module to watch; give joins"):
        gradient_importance(lambda: model(x).sum(), {})
    with pytest.raises(InputError, match=r"the loss has shape \(2, 12\); give its sum"):
        gradient_importance(lambda: model(x), joins)
    with pytest.raises(NothingRecordedError, match="'idle' did not run"):
        gradient_importance(lambda: model(x).sum(), {**joins, "idle": (nn.Linear(2, 2), 1)})
    with pytest.raises(NothingRecordedError, match="the loss does not depend on 'first'"):
        gradient_importance(lambda: model(x).detach().sum(), joins)
    with pytest.raises(InputError, match=r"'first': input of shape \(2, 3, 12\) is not 5 heads"):
        gradient_importance(lambda: model(x).sum(), {"first": (model.first.join, 5)})
