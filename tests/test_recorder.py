"""Recording sees everything, changes nothing, and says so when it saw nothing."""

from __future__ import annotations

import pytest
import torch
from small_predictors import arrays_of, small_model, small_predictor
from torch import Tensor, nn

from attnlens.cricket.model.batch import training_batch
from attnlens.cricket.model.relation_attention import RelationAttention
from attnlens.cricket.model.temporal import causal
from attnlens.cricket.simulator.simulate import simulate_match
from attnlens.errors import AttnlensError, NothingRecordedError, RecordingError
from attnlens.recorder import record
from attnlens.recording.axes import Axis
from attnlens.recording.probe import AttentionProbe
from attnlens.recording.record import AttentionRecord
from attnlens.recording.recording import Recording


class Looker(nn.Module):
    """One head that looks at three keys; the caller chooses how the probe is told."""

    def __init__(self, by_name: bool = False) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.tensor([[[[0.0, 1.0, 2.0]]]]))
        self.probe = AttentionProbe()
        self.by_name = by_name

    def forward(self, times: float) -> Tensor:
        content = self.logits * times
        bias = torch.full_like(content, 0.5)
        weights = (content + bias).softmax(-1)
        if self.by_name:
            seen: Tensor = self.probe(weights, content=content, bias=bias)
        else:
            seen = self.probe(weights, content, bias)
        return (seen * torch.tensor([1.0, 10.0, 100.0])).sum()


class Pair(nn.Module):
    """A module that runs twice, and one that runs once."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Looker(), Looker()

    def forward(self) -> Tensor:
        result: Tensor = self.first(1.0) + self.second(2.0) + self.first(3.0)
        return result


def hooks(model: nn.Module) -> int:
    return sum(
        len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()
    )


def test_the_predictor_computes_the_same_bits_while_recorded() -> None:
    predictor = small_predictor(matches=1)
    batch, outcome = training_batch([arrays_of(predictor, simulate_match(8))])

    def run(model: nn.Module) -> tuple[Tensor, list[Tensor]]:
        model.train()
        torch.manual_seed(4)
        logits = model(batch)
        loss = nn.functional.cross_entropy(logits[0], outcome[0])
        model.zero_grad()
        torch.autograd.backward(loss)
        gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        return logits.detach(), gradients

    model = small_model()
    plain, plain_gradients = run(model)
    with record(model) as recording:
        seen, seen_gradients = run(model)
    assert torch.equal(plain, seen)
    assert len(plain_gradients) == len(seen_gradients)
    assert all(map(torch.equal, plain_gradients, seen_gradients))
    assert {
        *(f"temporal.scales.{s}.layers.0.attention" for s in ("micro", "short", "medium", "long")),
        "slots.attention",
        "fusion_probe",
    } <= set(recording)
    assert hooks(model) == 0


def test_what_is_recorded_is_what_the_model_used() -> None:
    attention = RelationAttention(12, 2)
    balls = torch.randn(1, 5, 12)
    with record(attention) as recording:
        _, weights = attention(balls, balls, torch.zeros(1, 5, 5, 9), causal(5))
    (site,) = recording
    entry = recording[site]
    assert torch.equal(entry.weights, weights)
    assert entry.content is not None
    assert entry.bias is not None
    shown = ~torch.cat([causal(5), torch.zeros(5, 1, dtype=torch.bool)], -1)
    again = (entry.content + entry.bias).masked_fill(~shown, -torch.inf).softmax(-1)
    torch.testing.assert_close(entry.weights, again)
    assert not entry.weights.requires_grad


def test_a_record_does_not_change_when_the_tensor_does() -> None:
    probe = AttentionProbe(("key",))
    weights = torch.tensor([0.25, 0.75])
    with record(probe) as recording:
        probe(weights)
    weights.zero_()
    assert recording["AttentionProbe"].weights.tolist() == [0.25, 0.75]


@pytest.mark.parametrize("by_name", [False, True])
def test_content_and_bias_are_seen_however_they_are_passed(by_name: bool) -> None:
    model = Looker(by_name)
    with record(model) as recording:
        model(2.0)
    entry = recording["probe"]
    assert entry.content is not None
    assert entry.bias is not None
    assert entry.content.flatten().tolist() == [0, 2, 4]
    assert entry.bias.flatten().tolist() == [0.5, 0.5, 0.5]


def test_several_calls_of_one_module_are_kept_apart() -> None:
    model = Pair()
    with record(model) as recording:
        model()
    assert list(recording) == ["first", "second"]
    assert len(recording) == 2
    first, third = recording.calls("first")
    assert [first.call, third.call] == [0, 1]
    assert torch.equal(first.weights[0, 0, 0], torch.tensor([0.0, 1.0, 2.0]).softmax(-1))
    assert torch.equal(third.weights[0, 0, 0], torch.tensor([0.0, 3.0, 6.0]).softmax(-1))
    assert recording["second"].call == 0
    assert "first" in recording
    assert "third" not in recording
    with pytest.raises(RecordingError, match=r"first ran 2 times; use recording.calls\('first'\)"):
        recording["first"]
    with pytest.raises(RecordingError, match="no attention recorded at 'x'; recorded: first, sec"):
        recording.calls("x")


def test_silence_is_a_failure() -> None:
    model = Looker()
    with (
        pytest.raises(NothingRecordedError, match="none of the 1 attention modules ran"),
        record(model),
    ):
        pass
    with (
        pytest.raises(NothingRecordedError, match="no attention of Linear ran"),
        record(nn.Linear(2, 2)),
    ):
        pass
    with pytest.raises(NothingRecordedError, match="nothing to save"):
        Recording().save("nowhere.safetensors")
    assert issubclass(NothingRecordedError, AttnlensError)


def test_axes_that_do_not_fit_are_refused() -> None:
    weights = torch.zeros(2, 5, 6)
    with pytest.raises(RecordingError) as caught:
        AttentionRecord("enc.0", 0, weights, (Axis("head"), Axis("ball", tuple("abcdf"))))
    assert str(caught.value) == "enc.0: axes say (head=?, ball=5), weights have shape (2, 5, 6)"
    entry = AttentionRecord("enc.0", 0, weights, (Axis("head"), Axis("query"), Axis("key")))
    named = entry.labelled(query=list("vwxyz"))
    assert named.axes == (Axis("head"), Axis("query", tuple("vwxyz")), Axis("key"))
    with pytest.raises(RecordingError, match=r"axes say \(head=\?, query=\?, key=2\)"):
        entry.labelled(key=["a", "b"])
    with pytest.raises(RecordingError, match="no axis 'ball'; axes: head, query, key"):
        entry.labelled(ball=["a"])
