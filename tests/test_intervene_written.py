"""Attention that a model writes out as a softmax is changed like any other, or named as missed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from attention_cases import Calls, reference, tensors, told, without
from numpy.typing import NDArray
from torch import Tensor, nn
from torch import softmax as held

from attnlens import intervene, record
from attnlens.errors import IncompleteRecordingError, NothingRecordedError
from attnlens.recording import Edges, SoftmaxAdapter
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
        weights = WAYS[self.way](q @ q.transpose(-1, -2) / q.shape[-1] ** 0.5)
        return weights @ q


class Two(nn.Module):
    """Attention by hand, then torch's."""

    def __init__(self, way: str = "torch") -> None:
        super().__init__()
        self.by_hand, self.other = ByHand(way), Calls()

    def forward(self, q: Tensor) -> Tensor:
        q = q + self.by_hand(q)
        result: Tensor = self.other(q, q, q)
        return result


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
    changed: Array = change(reference(q, q)) @ q.double().numpy()
    return changed


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
    class Gates(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = Calls()

        def forward(self, q: Tensor) -> Tensor:
            over_heads = q.softmax(1)  # of four dimensions, but not over the last
            classes = torch.softmax(q[:, 0], -1)  # of three
            log = F.log_softmax(q, -1)
            total = self.attention(q, q, q) * over_heads + classes[:, None] + log
            return total * q.sum((1, 2)).softmax(-1)[:, None, None]

    model = Gates()
    (q,) = tensors(B, H, L, D)
    with record(model, expected=1), intervene(model, hide=0) as changed:
        model(q)
    assert changed == {"attention": 1}


class Additive(nn.Module):
    """Weights of one head that no product of queries and keys gave."""

    def __init__(self) -> None:
        super().__init__()
        self.score, self.inner = nn.Linear(D, L), Calls()

    def forward(self, x: Tensor) -> Tensor:
        weights = self.score(x).softmax(-1)
        return torch.bmm(weights, self.inner(x, x, x))


class Head(nn.Module):
    """Shares of classes at the end, as of a language model with tied embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.words = Calls(), nn.Parameter(torch.ones(9, D))

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.inner(x, x, x) @ self.words.T, -1)


def test_what_is_multiplied_with_tells_attention_of_one_head_from_shares_of_classes() -> None:
    (x,) = tensors(B, L, D)
    with told("Additive: a softmax of shape (2, 5, 5)"), intervene(model := Additive(), hide=1):
        model(x)
    with record(model := Head(), expected=1), intervene(model, hide=1) as changed:
        model(x)
    assert changed == {"inner": 1}


def test_weights_that_pass_a_probe_are_told_of_once() -> None:
    class Probed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.probes = nn.ModuleList([AttentionProbe(), AttentionProbe()])

        def forward(self, q: Tensor) -> Tensor:
            for probe in self.probes:
                q = probe(torch.softmax(q @ q.transpose(-1, -2), -1)) @ q
            return q

    (q,) = tensors(B, H, L, D)
    for model, sites in (
        (Probed(), ["probes.0", "probes.1"]),
        (nn.Sequential(Probed()), ["0.probes.0", "0.probes.1"]),
    ):
        with record(model, expected=2) as recording, intervene(model, hide=1) as changed:
            model(q)
        assert list(recording) == list(changed) == sites


def test_adapters_that_cannot_be() -> None:
    model = Two()
    (q,) = tensors(B, H, L, D)
    with (
        told("SoftmaxAdapter(blocks.*) matches no module; modules: Two, by_hand, other"),
        intervene(model, hide=1, adapters=SoftmaxAdapter("blocks.*")),
    ):
        model(q)
    with (
        told("give SoftmaxAdapter(sites): other adapters read what a module gives"),
        intervene(model, hide=1, adapters=lambda *_: None),  # type: ignore[arg-type]
    ):
        model(q)
    assert not any(module._forward_hooks for module in model.modules())
    with told("key 9 is out of range"), intervene(model, hide=9, adapters=SoftmaxAdapter("*")):
        model(q)
    assert not any(module._forward_pre_hooks for module in model.modules())
