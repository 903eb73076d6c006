"""Attention of modules that compute it by hand, and the seam that interventions use."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from attention_cases import Calls, encoder, reference, tensors
from torch import Tensor, nn

from attnlens.errors import IncompleteRecordingError, NothingRecordedError, RecordingError
from attnlens.recorder import Adapter, SoftmaxAdapter, record
from attnlens.recorder.interception import AttentionCall, Listener
from attnlens.recorder.patches import intercepting


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


def test_softmaxes_end_with_the_block_after_an_exception_too() -> None:
    class Fails(ByHand):
        def forward(self, q: Tensor) -> tuple[Tensor, Tensor]:
            super().forward(q)
            raise KeyError("ours")

    model = Fails()
    with pytest.raises(KeyError), record(model, adapters=SoftmaxAdapter("*")):
        model(*tensors(2, 3, 5, 8))
    assert torch.overrides._get_current_function_mode_stack() == []
    assert not model._forward_hooks
    assert not model._forward_pre_hooks


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


class Hide(Listener):
    """Hides one key from everyone."""

    changes = True

    def __init__(self, model: nn.Module, key: int) -> None:
        super().__init__(model)
        self.key = key
        self.calls: list[AttentionCall] = []

    def attention(self, call: AttentionCall) -> AttentionCall:
        self.calls.append(call)
        assert call.k is not None
        seen = torch.arange(call.k.shape[2]) != self.key
        return call.with_changes(mask=seen if call.mask is None else call.mask & seen)


@pytest.mark.parametrize("recorder_first", [True, False])
def test_a_recording_shows_what_an_intervention_made_of_a_call(recorder_first: bool) -> None:
    model = Calls()
    (q,) = tensors(2, 3, 5, 8)
    seen = (torch.arange(5) != 1).expand(5, 5)
    hide = Hide(model, 1)
    blocks = [lambda: record(model), lambda: intercepting(hide)]
    first, second = blocks if recorder_first else reversed(blocks)
    with first() as one, second() as two:
        output = model(q, q, q)
    recording = one if recorder_first else two
    assert torch.equal(output, model(q, q, q, seen))
    assert abs(recording["Calls"].weights.numpy() - reference(q, q, seen)).max() < 2e-5
    assert [(call.site, call.number, call.kind) for call in hide.calls] == [("Calls", 0, "sdpa")]


def test_changes_reach_the_fused_encoder_and_gradients_flow() -> None:
    model = encoder(1)
    (x,) = tensors(2, 5, 12)
    seen = (torch.arange(5) != 1).expand(5, 5)
    plain = model(x, ~seen)
    with intercepting(Hide(model, 1)):
        with torch.no_grad():
            torch.testing.assert_close(model(x), plain.detach(), atol=1e-6, rtol=0)
        learning = x.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(model(learning).square().sum(), learning)
    learning = x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(model(learning, ~seen).square().sum(), learning)
    torch.testing.assert_close(gradient, expected, atol=1e-5, rtol=0)
