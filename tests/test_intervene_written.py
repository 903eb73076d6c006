"""Attention that a model writes out as a softmax is changed like any other, or named as missed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from attention_cases import Calls, module, reference, tensors, told, without
from numpy.typing import NDArray
from torch import Tensor, nn
from torch import softmax as held

from attnlens import intervene, record
from attnlens.errors import IncompleteRecordingError, NothingRecordedError, RecordingError
from attnlens.recording import Adapter, Edges, SoftmaxAdapter
from attnlens.recording.probe import AttentionProbe

B, H, L, D = 2, 3, 5, 7
EXACT = 2e-5

Array = NDArray[np.float64]

WAYS: dict[str, Callable[[Tensor], Tensor]] = {
    "method": lambda logits: logits.softmax(-1),
    "torch": lambda logits: torch.softmax(logits, dim=-1),
    "functional": lambda logits: F.softmax(logits, dim=-1),
    "module": nn.Softmax(dim=-1),
    "held": lambda logits: held(logits, -1),
    "special": lambda logits: torch.special.softmax(logits, -1),
    "operator": lambda logits: torch.ops.aten.softmax.int(logits, -1),
}
NAMED = ["method", "torch", "functional", "module", "held"]


class ByHand(nn.Module):
    """softmax(QKᵀ) V, written out; queries are keys and values too."""

    def __init__(self, way: str = "torch") -> None:
        super().__init__()
        self.way = way

    def forward(self, q: Tensor) -> Tensor:
        self.weights = WAYS[self.way](q @ q.transpose(-1, -2) / q.shape[-1] ** 0.5)
        return self.weights @ q


class Two(nn.Module):
    """Attention by hand, then torch's."""

    def __init__(self, way: str = "torch") -> None:
        super().__init__()
        self.by_hand, self.other = ByHand(way), Calls()

    def forward(self, q: Tensor) -> Tensor:
        q = q + self.by_hand(q)
        return self.other(q, q, q)


@pytest.fixture(autouse=True)
def torch_is_as_it_was() -> Any:
    before = F.softmax, torch.softmax, Tensor.softmax
    yield
    for now, then in zip((F.softmax, torch.softmax, Tensor.softmax), before, strict=True):
        assert now is then
    assert "softmax" not in vars(Tensor)
    assert torch.overrides._get_current_function_mode_stack() == []


def by_hand(q: Tensor, change: Callable[[Array], Array]) -> Array:
    """The same in float64 with numpy, weights changed."""
    return change(reference(q, q)) @ q.double().numpy()


FIRST = np.arange(L) == 1
EDGE = np.zeros((B, H, L, L), dtype=bool)
EDGE[1, 2, -1, [0, 3]] = True
EVEN = np.full((L, L), 1 / L)
EDITS: dict[str, tuple[dict[str, Any], Callable[[Array], Array]]] = {
    "hide a key": ({"hide": 1}, lambda w: without(w, FIRST)),
    "hide edges": (
        {"hide": Edges(batch=1, head=2, query=-1, key=[0, 3])},
        lambda w: without(w, EDGE),
    ),
    "hide all": ({"hide": slice(None)}, lambda w: w * 0),
    "scale": ({"scale": 0.25, "keys": 1}, lambda w: np.where(FIRST, w * 0.25, w)),
    "replace": ({"replace": torch.from_numpy(EVEN).float()[None]}, lambda w: EVEN + w * 0),
    "replace by a function": ({"replace": lambda w: w.flip(-1)}, lambda w: w[..., ::-1]),
}


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("way", WAYS)
def test_weights_written_out_are_changed(way: str, name: str) -> None:
    edit, change = EDITS[name]
    model = ByHand(way)
    (q,) = tensors(B, H, L, D)
    plain = model(q)
    adapter = SoftmaxAdapter("ByHand")
    with (
        record(model, adapters=adapter) as around,
        intervene(model, adapters=adapter, **edit) as changed,
        record(model, adapters=[adapter], expected=1) as within,
    ):
        output = model(q)
    assert changed == {"ByHand": 1}
    assert abs(output.numpy() - by_hand(q, change)).max() < EXACT
    for recording in (around, within):
        weights = recording["ByHand"].weights
        assert abs(weights.numpy() - change(reference(q, q))).max() < EXACT
        assert any("under an intervention" in note for note in recording.notes)
    assert torch.equal(model(q), plain)


def test_one_head_and_many_dimensions() -> None:
    adapter = SoftmaxAdapter("ByHand")
    for shape in ((B, L, D), (2, 2, H, L, D)):
        model = ByHand()
        (q,) = tensors(*shape)
        four = q.unsqueeze(1) if len(shape) == 3 else q.flatten(0, 1)
        with intervene(model, hide=1, adapters=adapter), record(model, adapters=adapter) as seen:
            output = model(q)
        expected = by_hand(four, lambda w: without(w, FIRST)).reshape(shape)
        assert abs(output.numpy() - expected).max() < EXACT
        assert seen["ByHand"].shape == (*four.shape[:3], L)


def test_an_edit_for_no_named_site_reaches_both_or_says_which_it_missed() -> None:
    model = Two()
    (q,) = tensors(B, H, L, D)
    with (
        told(
            "attention ran that cannot be changed: by_hand: a softmax of shape (2, 3, 5, 5), which "
            "nothing says is attention laid out (batch, head, query, key); if it is attention, "
            "give adapters=SoftmaxAdapter('by_hand') to have it as it is, or pass the weights "
            "through an AttentionProbe; if not, leave it out with sites="
        ),
        intervene(model, hide=1),
    ):
        model(q)
    with intervene(model, hide=1, adapters=SoftmaxAdapter("by_hand")) as changed:
        output = model(q)
    assert changed == {"by_hand": 1, "other": 1}
    middle = torch.from_numpy(q.double().numpy() + by_hand(q, lambda w: without(w, FIRST)))
    assert abs(output.numpy() - by_hand(middle, lambda w: without(w, FIRST))).max() < EXACT
    with intervene(model, hide=1, sites="other") as changed:
        model(q)
    assert changed == {"other": 1}
    with told("by_hand: a softmax of shape"), intervene(model, hide=1, sites="by_hand"):
        model(q)


@pytest.mark.parametrize("way", NAMED)
def test_a_recording_names_the_softmaxes_it_missed(way: str) -> None:
    model = Two(way)
    (q,) = tensors(B, H, L, D)
    text = r"by_hand: a softmax of shape \(2, 3, 5, 5\), .* leave it out with include="
    with pytest.raises(IncompleteRecordingError, match=text), record(model):
        model(q)
    with record(model, include="other", expected=1):
        model(q)
    text = r"nothing was recorded of ByHand: ByHand: a softmax of shape"
    with pytest.raises(NothingRecordedError, match=text), record(model.by_hand):
        model.by_hand(q)


def test_softmaxes_that_are_no_attention_are_let_be() -> None:
    def forward(it: Any, q: Tensor) -> Tensor:
        over_heads = q.softmax(1)  # of four dimensions, but not over the last
        classes = torch.softmax(q[:, 0], -1)  # of three
        total = it.attention(q, q, q) * over_heads + classes[:, None] + F.log_softmax(q, -1)
        return total * q.sum((1, 2)).softmax(-1)[:, None, None]

    model = module("Gates", forward, attention=Calls())
    (q,) = tensors(B, H, L, D)
    with record(model, expected=1), intervene(model, hide=0) as changed:
        model(q)
    assert changed == {"attention": 1}


def test_what_is_multiplied_with_tells_attention_of_one_head_from_shares_of_classes() -> None:
    def forward(it: Any, x: Tensor) -> Tensor:
        """Weights of one head that no product of queries and keys gave."""
        weights = it.score(x).softmax(-1)
        return torch.bmm(weights, it.inner(x, x, x))

    (x,) = tensors(B, L, D)
    additive = module("Additive", forward, score=nn.Linear(D, L), inner=Calls())
    with told("Additive: a softmax of shape (2, 5, 5)"), intervene(additive, hide=1):
        additive(x)
    # Shares of classes at the end, as of a language model with tied embeddings.
    words = nn.Parameter(torch.ones(9, D))
    model = module(
        "Head", lambda it, x: torch.softmax(it.inner(x, x, x) @ words.T, -1), inner=Calls()
    )
    with record(model, expected=1), intervene(model, hide=1) as changed:
        model(x)
    assert changed == {"inner": 1}


def test_weights_that_pass_a_probe_are_told_of_once() -> None:
    def forward(it: Any, q: Tensor) -> Tensor:
        for probe in it.probes:
            q = probe(torch.softmax(q @ q.transpose(-1, -2), -1)) @ q
        return q

    (q,) = tensors(B, H, L, D)
    probed = module("Probed", forward, probes=nn.ModuleList([AttentionProbe(), AttentionProbe()]))
    for model, sites in (
        (probed, ["probes.0", "probes.1"]),
        (nn.Sequential(probed), ["0.probes.0", "0.probes.1"]),
    ):
        with record(model, expected=2) as recording, intervene(model, hide=1) as changed:
            model(q)
        assert list(recording) == list(changed) == sites


def test_adapters_that_cannot_be() -> None:
    model = Two()
    (q,) = tensors(B, H, L, D)
    for adapter, text in (
        (SoftmaxAdapter("blocks.*"), "SoftmaxAdapter(blocks.*) matches no module; modules: Two, "),
        (lambda *_: None, "give SoftmaxAdapter(sites): other adapters read what a module gives"),
        (SoftmaxAdapter("*"), "key 9 is out of range"),
    ):
        with told(text), intervene(model, hide=9, adapters=adapter):
            model(q)
        hooks = [(it._forward_hooks, it._forward_pre_hooks) for it in model.modules()]
        assert not any(map(any, hooks))
    for adapter, name in ((OfByHand(), "OfByHand"), (SoftmaxAdapter("a.*"), "SoftmaxAdapter(a.*)")):
        text = f"{name} matches no module; modules: Calls"
        missing = pytest.raises(NothingRecordedError, match=re.escape(text))
        with missing, record(Calls(), adapters=adapter):
            pass


class OfByHand:
    """Tells the weights that a `ByHand` kept."""

    def matches(self, module: nn.Module) -> bool:
        return isinstance(module, ByHand)

    def records(self, module: nn.Module, args: Any, kwargs: Any, output: Any) -> Tensor | None:
        del args, kwargs, output
        return getattr(module, "give", module.weights)


class Blocks(nn.Module):
    """Attention by hand that keeps its weights, twice; then torch's."""

    def __init__(self, way: str = "method") -> None:
        super().__init__()
        self.blocks, self.other = nn.ModuleList([ByHand(way), ByHand(way)]), Calls()

    def forward(self, q: Tensor) -> Tensor:
        for block in self.blocks:
            q = q + block(q) * torch.softmax(q.sum((1, 2)), -1)[:, None, None]
        return self.other(q, q, q)


def test_an_adapter_speaks_for_its_modules() -> None:
    assert isinstance(OfByHand(), Adapter)
    model = Blocks()
    (q,) = tensors(B, H, L, D)
    plain = model(q)
    with record(model, adapters=[OfByHand()], expected=3) as recording:
        assert torch.equal(model(q), plain)
    assert list(recording) == ["blocks.0", "blocks.1", "other"]
    assert abs(recording["blocks.0"].weights.numpy() - reference(q, q)).max() < EXACT
    with record(model, adapters=OfByHand(), rows=-1, include="blocks.*") as recording:
        model(q)
    assert [entry.shape for entry in recording.records()] == [(B, H, 1, L)] * 2
    assert not any(module._forward_hooks for module in model.modules())
    model.blocks[0].give = torch.ones(5, 8)
    text = r"blocks.0: an adapter gave \(5, 8\); weights have four dimensions"
    with pytest.raises(RecordingError, match=text), record(model, adapters=OfByHand()):
        model(q)


@pytest.mark.parametrize("way", NAMED)
def test_softmaxes_of_named_modules(way: str) -> None:
    model = Blocks(way)
    (q,) = tensors(B, H, L, D)
    plain = model(q)
    with record(model, adapters=SoftmaxAdapter("blocks.*"), expected=3) as recording:
        assert torch.equal(model(q), plain)
    assert abs(recording["blocks.0"].weights.numpy() - reference(q, q)).max() < EXACT
    assert list(recording) == ["blocks.0", "blocks.1", "other"]
    some = {"adapters": SoftmaxAdapter("blocks.1"), "expected": 2, "top_k": 2}
    text = r"blocks\.0: a softmax of shape"
    with pytest.raises(IncompleteRecordingError, match=text), record(model, **some):
        model(q)
    with record(model, include=["blocks.1", "other"], **some) as recording:
        model(q)
    assert list(recording) == ["blocks.1", "other"]
    assert recording["blocks.1"].keys is not None
