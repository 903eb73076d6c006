"""Attention that is written by hand is found by its product with values, and changed there."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from attention_cases import Calls, module, reference, tensors, told, without
from needed import skip_without
from numpy.typing import NDArray
from torch import Tensor, nn

import attnlens
from attnlens import intervene, record
from attnlens.errors import IncompleteRecordingError, NothingRecordedError, RecordingError
from attnlens.recording import Adapter, Edges, SoftmaxAdapter
from attnlens.recording.probe import AttentionProbe

B, H, L, D = 2, 3, 5, 7
EXACT = 2e-5

Array = NDArray[np.float64]


class ByHand(nn.Module):
    """softmax(QKᵀ) V, written out; queries are keys and values too."""

    def forward(self, q: Tensor) -> Tensor:
        self.weights = torch.softmax(q @ q.transpose(-1, -2) / q.shape[-1] ** 0.5, -1)
        return self.weights @ q


class Two(nn.Module):
    """Attention by hand, then torch's."""

    def __init__(self) -> None:
        super().__init__()
        self.by_hand, self.other = ByHand(), Calls()

    def forward(self, q: Tensor) -> Tensor:
        q = q + self.by_hand(q)
        return self.other(q, q, q)


@pytest.fixture(autouse=True)
def torch_is_as_it_was() -> Any:
    yield
    assert torch.overrides._get_current_function_mode_stack() == []
    assert not torch._C._len_torch_dispatch_stack()


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
@torch.no_grad()
def test_weights_written_out_are_changed(name: str) -> None:
    edit, change = EDITS[name]
    model = ByHand()
    (q,) = tensors(B, H, L, D)
    plain = model(q)
    with (
        record(model) as around,
        intervene(model, **edit) as changed,
        record(model, expected=1, values=True, outputs=True) as within,
    ):
        output = model(q)
    assert changed == {"ByHand": 1}
    assert abs(output.numpy() - by_hand(q, change)).max() < EXACT
    for recording in (around, within):
        weights = recording["ByHand"].weights
        assert abs(weights.numpy() - change(reference(q, q))).max() < EXACT
        assert any("under an intervention" in note for note in recording.notes)
    torch.testing.assert_close(within["ByHand"].outputs, output, atol=EXACT, rtol=0)
    torch.testing.assert_close(within["ByHand"].values, q)
    assert torch.equal(model(q), plain)


def test_gradients_flow_through_changed_weights() -> None:
    (q,) = tensors(B, H, L, D)
    one, other = q.clone().requires_grad_(), q.clone().requires_grad_()
    model = ByHand()
    with intervene(model, replace=lambda weights: weights.tril() ** 2):
        model(one).sum().backward()
    ((other @ other.mT / D**0.5).softmax(-1).tril() ** 2 @ other).sum().backward()
    torch.testing.assert_close(one.grad, other.grad, atol=EXACT, rtol=0)


def test_one_head_and_many_dimensions() -> None:
    for shape in ((B, L, D), (2, 2, H, L, D)):
        model = ByHand()
        (q,) = tensors(*shape)
        four = q.unsqueeze(1) if len(shape) == 3 else q.flatten(0, 1)
        with intervene(model, hide=1), record(model) as seen:
            output = model(q)
        expected = by_hand(four, lambda w: without(w, FIRST)).reshape(shape)
        assert abs(output.numpy() - expected).max() < EXACT
        assert seen["ByHand"].shape == (*four.shape[:3], L)


def test_an_edit_for_no_named_site_reaches_both() -> None:
    model = Two()
    (q,) = tensors(B, H, L, D)
    with intervene(model, hide=1) as changed:
        output = model(q)
    assert changed == {"by_hand": 1, "other": 1}
    middle = torch.from_numpy(q.double().numpy() + by_hand(q, lambda w: without(w, FIRST)))
    assert abs(output.numpy() - by_hand(middle, lambda w: without(w, FIRST))).max() < EXACT
    with intervene(model, hide=1, sites="other") as changed:
        model(q)
    assert changed == {"other": 1}


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


def test_shares_that_no_queries_and_keys_gave_are_told_until_they_are_named() -> None:
    def forward(it: Any, x: Tensor) -> Tensor:
        """Learnt summaries of a sequence, or a soft choice of tokens for experts: who knows?"""
        shares = it.score(x).softmax(1)
        return torch.bmm(shares.mT, it.inner(x, x, x))

    (x,) = tensors(B, L, D)
    model = module("Summary", forward, score=nn.Linear(D, 4), inner=Calls())
    with record(model, expected=1) as recording:
        model(x)
    (note,) = recording.notes
    assert (
        "not recorded: Summary: weights of shape (2, 4, 5) were multiplied with another tensor"
        in note
    )
    with told("Summary: weights of shape (2, 4, 5)"), intervene(model, hide=1):
        model(x)
    adapter = SoftmaxAdapter("Summary")
    with record(model, adapters=adapter) as recording:
        model(x)
    shares = model.score(x).softmax(1).mT
    torch.testing.assert_close(recording["Summary"].weights[:, 0], shares)
    with intervene(model, hide=1, adapters=adapter) as changed:
        output = model(x)
    assert changed == {"inner": 1, "Summary": 1}
    inner = torch.from_numpy(
        without(reference(x[:, None], x[:, None]), FIRST)[:, 0] @ x.double().numpy()
    )
    expected = without(shares.detach().double().numpy(), FIRST) @ inner.numpy()
    assert abs(output.detach().numpy() - expected).max() < EXACT


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
        (
            SoftmaxAdapter("blocks.*"),
            "SoftmaxAdapter(blocks.*) matches no module; the modules are Two, ",
        ),
        (lambda *_: None, "give SoftmaxAdapter(sites): other adapters read a module's output"),
        (None, "key 9 is out of range"),
    ):
        with told(text), intervene(model, hide=9, adapters=adapter):
            model(q)
        hooks = [(it._forward_hooks, it._forward_pre_hooks) for it in model.modules()]
        assert not any(map(any, hooks))
    for adapter, name in ((OfByHand(), "OfByHand"), (SoftmaxAdapter("a.*"), "SoftmaxAdapter(a.*)")):
        text = f"{name} matches no module; the modules are Calls"
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

    def __init__(self) -> None:
        super().__init__()
        self.blocks, self.other = nn.ModuleList([ByHand(), ByHand()]), Calls()

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
    text = r"blocks.0: an adapter returned \(5, 8\); return weights with four dimensions"
    with pytest.raises(RecordingError, match=text), record(model, adapters=OfByHand()):
        model(q)


class Model(nn.Module):
    """Attention by hand of one head, and beside it attention that is known."""

    def __init__(self, beside: str, batched: bool) -> None:
        super().__init__()
        self.mixer, self.beside, self.batched = ByHand(), beside, batched
        self.known = nn.MultiheadAttention(8, 2, batch_first=True).eval()
        self.probe = AttentionProbe()

    def forward(self, x: Tensor) -> Tensor:
        x = x + (self.mixer(x) if self.batched else torch.stack(list(map(self.mixer, x))))
        if self.beside == "probe":
            weights: Tensor = self.probe(torch.softmax(x @ x.transpose(-1, -2), -1).unsqueeze(1))
            return weights[:, 0] @ x
        if self.beside == "sdpa":
            return F.scaled_dot_product_attention(x, x, x)
        return self.known(x, x, x)[0]


SITES = {"module": "known", "sdpa": "Model", "probe": "probe"}


@pytest.mark.parametrize("beside", SITES)
@pytest.mark.parametrize("batched", [True, False])
@torch.no_grad()
def test_attention_beside_attention(batched: bool, beside: str, tmp_path: Path) -> None:
    model, site = Model(beside, batched), SITES[beside]
    (x,) = tensors(2, 5, 8)
    with record(model, to=tmp_path / "folder") as recording:
        model(x)
    mixed = torch.cat([one.weights for one in recording.calls("mixer")])
    assert abs(mixed.numpy() - reference(x[:, None], x[:, None])).max() < EXACT
    assert set(recording) == {"mixer", site}
    assert len(attnlens.load_recording(tmp_path / "folder").records()) == len(recording.records())
    with intervene(model, hide=1) as changed:
        model(x)
    assert changed == {"mixer": 1 if batched else 2, site: 1}


def test_weights_that_do_not_pass_a_probe_are_recorded_too() -> None:
    def forward(both: Any, x: Tensor) -> Tensor:
        x = torch.softmax(x @ x.transpose(-1, -2), -1) @ x
        return both.probe(torch.softmax(x @ x.transpose(-1, -2), -1)) @ x

    model = module("Both", forward, probe=AttentionProbe(("batch", "query", "key")))
    with record(model) as recording:
        model(*tensors(2, 5, 8))
    assert list(recording) == ["Both", "probe"]


def test_what_torch_does_not_see_is_named() -> None:
    def by_numpy(it: Any, x: Tensor) -> Tensor:
        return torch.from_numpy(by_hand(it.inner(x).detach(), lambda w: w)).float()

    def in_a_thread(it: Any, x: Tensor) -> Tensor:
        outputs: list[Tensor] = []
        thread = threading.Thread(target=lambda: outputs.append(it.mixer(x)))
        thread.start()
        thread.join()
        return outputs[0]

    hidden = module("NumpyAttention", by_numpy, inner=nn.Linear(D, D))
    threaded = module("Threaded", in_a_thread, mixer=ByHand())
    (q,) = tensors(B, H, L, D)
    for part, text in (
        (
            hidden,
            "0: attention of Sequential ran, but the product of its weights and values was not",
        ),
        (threaded, "0.mixer: attention ran outside the thread"),
    ):
        model = nn.Sequential(part, ByHand())
        with pytest.raises(IncompleteRecordingError, match=re.escape(text)), record(model):
            model(q)
        with told(text), intervene(model, hide=1):
            model(q)
        with record(model, include="1", expected=1):
            model(q)


def test_exponentials_that_are_divided_after_the_product_are_refused() -> None:
    def forward(_: Any, q: Tensor) -> Tensor:
        exponentials = (q @ q.mT).exp()
        return (exponentials @ q) / exponentials.sum(-1, keepdim=True)

    model = nn.Sequential(module("Late", forward), ByHand())
    (q,) = tensors(B, H, L, D)
    text = "0: exponentials of shape (6, 5, 5) were multiplied with values before they were divided"
    with pytest.raises(IncompleteRecordingError, match=re.escape(text)), record(model):
        model(q)
    with told(text), intervene(model, hide=1):
        model(q)


def test_gates_and_experts_are_notes() -> None:
    def mixture(it: Any, x: Tensor) -> Tensor:
        outputs = torch.stack([expert(x) for expert in it.experts], -2)
        return (it.router(x).softmax(-1).unsqueeze(-2) @ outputs).squeeze(-2)

    def gate(it: Any, x: Tensor) -> Tensor:
        return x * it.inner(x).softmax(-1)

    experts = nn.ModuleList([nn.Linear(D, D) for _ in range(4)])
    parts = {"router": nn.Linear(D, 4), "experts": experts}
    model = nn.Sequential(
        module("Mixture", mixture, **parts),
        module("GatedAttention", gate, inner=nn.Linear(D, D)),
        ByHand(),
    )
    (x,) = tensors(B, L, D)
    with record(model) as recording:
        model(x)
    assert list(recording) == ["2"]
    assert "not recorded: 1: attention of Sequential ran, but the product" in repr(recording)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "options", [{}, {"attn_hard": True}, {"attn_cog_signed": True}, {"attn_sparse_topk": 3},
                {"attn_pre_talking_heads": True, "attn_post_talking_heads": True},
                {"attn_selective": True}, {"attn_add_zero_kv": True}, {"attn_laser": True}],
)  # fmt: skip
@torch.no_grad()
def test_x_transformers(options: dict[str, Any]) -> None:
    skip_without("x_transformers")
    import x_transformers

    torch.manual_seed(0)
    layers = x_transformers.Decoder(dim=32, depth=2, heads=4, **options)
    sizes = {"num_tokens": 9, "max_seq_len": 8}
    model = x_transformers.TransformerWrapper(**sizes, attn_layers=layers).eval()
    ids = torch.tensor([[1, 5, 2, 8, 8, 3]])
    plain, inside = model(ids, return_intermediates=True)
    with record(model, expected=2, values=True, outputs=True) as recording:
        assert torch.equal(model(ids), plain)
    for entry, own in zip(recording.records(), inside.attn_intermediates, strict=True):
        torch.testing.assert_close(entry.weights @ entry.values, entry.outputs)
        assert torch.equal(entry.weights, own.post_softmax_attn)
        assert not entry.notes
    with intervene(model, outputs=recording):
        torch.testing.assert_close(model(ids), plain)


def test_an_operator_that_cannot_be_followed_does_not_stop_the_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: Any) -> None:
        raise IndexError("no such axis")

    model, (q,) = ByHand(), tensors(B, H, L, D)
    plain = model(q)
    monkeypatch.setattr("attnlens.recording.follower.Follower._softmax", broken)
    text = re.escape(
        "_softmax could not be followed (IndexError: no such axis); please report this"
    )
    outputs = []
    with pytest.raises(RecordingError, match=text), record(model):
        outputs.append(model(q))
    assert torch.equal(outputs[0], plain)


def test_weights_times_values_are_what_heads_give(monkeypatch: pytest.MonkeyPatch) -> None:
    model, (q,) = ByHand(), tensors(B, H, L, D)
    with record(model, values=True, outputs=True):
        model(q)
    whole = attnlens.recording.calls.Product.call

    def flipped(*told: Any) -> Any:
        call = whole(*told)
        return replace(call, weights=call.weights.flip(-1))

    monkeypatch.setattr(attnlens.recording.calls.Product, "call", flipped)
    text = "ByHand: weights times values differ from the outputs of the heads"
    with pytest.raises(RecordingError, match=text), record(model, values=True, outputs=True):
        model(q)
