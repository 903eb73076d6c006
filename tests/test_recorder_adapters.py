"""Attention of modules that compute it by hand, and the seam that interventions use."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from attention_cases import Calls, reference, tensors
from torch import Tensor, nn

from attnlens.errors import IncompleteRecordingError, NothingRecordedError, RecordingError
from attnlens.recording import Adapter, SoftmaxAdapter, record


class ByHand(nn.Module):
    """Attention with a softmax of its own, called in one of several ways."""

    def __init__(self, way: str = "method") -> None:
        super().__init__()
        self.way = way
        self.soft = nn.Softmax(dim=-1)

    def forward(self, q: Tensor) -> tuple[Tensor, Tensor]:
        logits = q @ q.transpose(-1, -2) / q.shape[-1] ** 0.5
        gate = torch.softmax(q.sum((1, 2)), -1)  # no attention: of two dimensions
        weights = {
            "method": lambda: logits.softmax(-1),
            "torch": lambda: torch.softmax(logits, dim=-1),
            "functional": lambda: nn.functional.softmax(logits, dim=3),
            "module": lambda: self.soft(logits),
        }[self.way]()
        return weights @ q * gate[:, None, None], weights


class Model(nn.Module):
    def __init__(self, way: str = "method") -> None:
        super().__init__()
        self.blocks = nn.ModuleList([ByHand(way), ByHand(way)])
        self.other = Calls()

    def forward(self, q: Tensor) -> Tensor:
        for block in self.blocks:
            q = q + block(q)[0]
        result: Tensor = self.other(q, q, q)
        return result


class OfByHand:
    def matches(self, module: nn.Module) -> bool:
        return isinstance(module, ByHand)

    def records(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> Tensor | None:
        del module, args, kwargs
        weights: Tensor = output[1]
        return weights


def test_an_adapter_speaks_for_its_modules() -> None:
    assert isinstance(OfByHand(), Adapter)
    model = Model()
    (q,) = tensors(2, 3, 5, 8)
    plain = model(q)
    with record(model, adapters=[OfByHand()], expected=3) as recording:
        output = model(q)
    assert torch.equal(plain, output)
    assert list(recording) == ["blocks.0", "blocks.1", "other"]
    assert abs(recording["blocks.0"].weights.numpy() - reference(q, q)).max() < 2e-5
    with record(model, adapters=OfByHand(), rows=-1, include="blocks.*") as recording:
        model(q)
    assert [entry.shape for entry in recording.records()] == [(2, 3, 1, 5)] * 2
    assert [len(module._forward_hooks) for module in model.modules()] == [0] * 7


def test_an_adapter_that_gives_no_weights() -> None:
    model = Model()

    class Wrong(OfByHand):
        def records(self, *_: Any) -> Tensor | None:
            return torch.ones(5, 8)

    told = r"blocks.0: an adapter gave \(5, 8\); weights have four dimensions"
    with pytest.raises(RecordingError, match=told), record(model, adapters=Wrong()):
        model(*tensors(2, 3, 5, 8))


@pytest.mark.parametrize("way", ["method", "torch", "functional", "module"])
def test_softmaxes_of_named_modules(way: str) -> None:
    model = Model(way)
    (q,) = tensors(2, 3, 5, 8)
    plain = model(q)
    with record(model, adapters=SoftmaxAdapter("blocks.*"), expected=3) as recording:
        output = model(q)
        assert abs(recording["blocks.0"].weights.numpy() - reference(q, q)).max() < 2e-5
    assert torch.equal(plain, output)
    assert list(recording) == ["blocks.0", "blocks.1", "other"]
    some = {"adapters": SoftmaxAdapter("blocks.1"), "expected": 2, "top_k": 2}
    with (
        pytest.raises(IncompleteRecordingError, match=r"blocks\.0: a softmax of shape"),
        record(model, **some),
    ):
        model(q)
    with record(model, include=["blocks.1", "other"], **some) as recording:
        model(q)
    assert list(recording) == ["blocks.1", "other"]
    assert recording["blocks.1"].keys is not None


def test_an_adapter_that_matches_nothing() -> None:
    with (
        pytest.raises(NothingRecordedError, match=r"OfByHand matches no module; modules: Calls"),
        record(Calls(), adapters=OfByHand()),
    ):
        pass
    with (
        pytest.raises(NothingRecordedError, match=r"SoftmaxAdapter\(attn\.\*\) matches no module"),
        record(Model(), adapters=SoftmaxAdapter("attn.*")),
    ):
        pass
