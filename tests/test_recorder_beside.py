"""Attention written by hand beside attention that is known: told by a note, or an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from attention_cases import Calls, module, reference, tensors, told
from needed import skip_without
from torch import Tensor, nn

import attnlens
from attnlens import AttentionProbe, SoftmaxAdapter, intervene, record
from attnlens.errors import IncompleteRecordingError


def into(logits: Tensor) -> Tensor:
    out = torch.empty_like(logits)
    torch.softmax(logits, -1, out=out)
    return out


def divided(logits: Tensor) -> Tensor:
    shares = (logits - logits.amax(-1, keepdim=True)).exp()
    return shares / shares.sum(-1, keepdim=True)


WAYS: dict[str, Callable[[Tensor], Tensor]] = {
    "plain": lambda logits: torch.softmax(logits, -1),
    "special": lambda logits: torch.special.softmax(logits, -1),
    "out": into,
    "other axis": lambda logits: logits.transpose(-1, -2).softmax(-2).transpose(-1, -2),
    "divided": divided,
    "exp": lambda logits: torch.exp(logits) / torch.exp(logits).sum(-1, keepdim=True),
    "log": lambda logits: F.log_softmax(logits, -1).exp(),
}
SURE = ("plain", "special", "out")


class Mixer(nn.Module):
    """Attention by hand, of a shape that its name does not tell."""

    def __init__(self, way: str, batched: bool = True) -> None:
        super().__init__()
        self.way, self.batched = way, batched

    def forward(self, x: Tensor) -> Tensor:
        if not self.batched:
            return torch.stack([WAYS[self.way](one @ one.T) @ one for one in x])
        return WAYS[self.way](x @ x.transpose(-1, -2)) @ x


class Model(nn.Module):
    """Beside it, attention that is known."""

    def __init__(self, mixer: nn.Module, beside: str) -> None:
        super().__init__()
        self.mixer, self.beside = mixer, beside
        self.known = nn.MultiheadAttention(8, 2, batch_first=True).eval()
        self.probe = AttentionProbe()

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.mixer(x)
        if self.beside == "probe":
            weights: Tensor = self.probe(torch.softmax(x @ x.transpose(-1, -2), -1).unsqueeze(1))
            return weights[:, 0] @ x
        if self.beside == "sdpa":
            return F.scaled_dot_product_attention(x, x, x)
        return self.known(x, x, x)[0]


SITES = {"module": "known", "sdpa": "Model", "probe": "probe"}
(X,) = tensors(2, 5, 8)


@pytest.mark.parametrize("beside", SITES)
@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_what_stands_beside_is_told(way: str, batched: bool, beside: str, tmp_path: Path) -> None:
    model = Model(Mixer(way, batched), beside)
    site = SITES[beside]
    text = f"mixer: {'exponentials' if way in ('divided', 'exp', 'log') else 'a softmax'} of shape"
    if batched and way in SURE:
        with pytest.raises(IncompleteRecordingError, match=text), record(model):
            model(X)
    else:
        with record(model) as recording:
            model(X)
        assert f"note: not recorded: {text}" in repr(recording)
        recording.save(tmp_path / "r.safetensors")
        assert text in repr(attnlens.load_recording(tmp_path / "r.safetensors"))
        with record(model, to=tmp_path / "folder"):
            model(X)
        assert text in repr(attnlens.load_recording(tmp_path / "folder"))
    with told(text), intervene(model, hide=1):
        model(X)
    # The remedies that are named help.
    with intervene(model, hide=1, sites=site) as changed:
        model(X)
    assert changed == {site: 1}
    with record(model, include=site) as recording:
        model(X)
    assert not any("mixer" in note for note in recording.notes)


def test_a_softmax_over_the_last_axis_but_one_is_turned() -> None:
    def forward(_: Any, q: Tensor) -> Tensor:
        return (q @ q.transpose(-1, -2) / 2).softmax(-2).transpose(-1, -2) @ q

    (q,) = tensors(2, 3, 5, 4)
    model, adapter = module("Turned", forward), SoftmaxAdapter("Turned")
    with record(model, adapters=adapter) as recording:
        model(q)
    assert abs(recording["Turned"].weights.numpy() - reference(q, q)).max() < 2e-5
    with intervene(model, hide=0, adapters=adapter), record(model, adapters=adapter) as recording:
        output = model(q)
    weights = recording["Turned"].weights
    assert not weights[..., 0].any()
    torch.testing.assert_close(output, weights @ q, atol=2e-5, rtol=0)
    text = r"over axis 2, .*SoftmaxAdapter"
    with pytest.raises(attnlens.AttnlensError, match=text), record(model):
        model(q)


def test_probes_speak_for_as_many_softmaxes_as_there_were() -> None:
    def forward(both: Any, x: Tensor) -> Tensor:
        x = torch.softmax(x @ x.transpose(-1, -2), -1) @ x
        return both.probe(torch.softmax(x @ x.transpose(-1, -2), -1)) @ x

    # Two softmaxes, of which one passes the probe.
    model = module("Both", forward, probe=AttentionProbe(("batch", "query", "key")))
    told_of = pytest.raises(IncompleteRecordingError, match="Both: a softmax of shape")
    with told_of, record(model):
        model(X)


class CausalSelfAttention(nn.Module):
    """As many write it."""

    def __init__(self, heads: int = 2) -> None:
        super().__init__()
        self.n_head, self.c_attn = heads, nn.Linear(8, 24)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (one.unflatten(-1, (2, 4)).transpose(1, 2) for one in self.c_attn(x).split(8, -1))
        return (F.softmax(q @ k.transpose(-2, -1) / 2, -1) @ v).transpose(1, 2).flatten(2)


@torch.no_grad()
def test_four_dimensions_in_a_module_named_like_attention() -> None:
    model = nn.Sequential(CausalSelfAttention(), CausalSelfAttention())
    with record(model) as recording, intervene(model, hide=3) as changed:
        model(X)
    assert changed == {"0": 1, "1": 1}
    with record(model[0], outputs=True) as recording:
        output = model[0](X)
    record_of_it = recording["CausalSelfAttention"]
    q, k, _ = (one.unflatten(-1, (2, 4)).transpose(1, 2) for one in model[0].c_attn(X).split(8, -1))
    assert abs(record_of_it.weights.numpy() - reference(q, k)).max() < 2e-5
    assert "note: a softmax of four dimensions in a module named like attention" in repr(recording)
    assert torch.equal(record_of_it.outputs.transpose(1, 2).flatten(2), output)
    # The second dimension is not what the module calls its heads.
    wrong = CausalSelfAttention(heads=3)
    with told("CausalSelfAttention: a softmax of shape (2, 2, 5, 5)"), intervene(wrong, hide=0):
        wrong(X)


def test_mixtures_that_are_no_attention_can_be_left_out() -> None:
    def forward(_: Any, x: Tensor) -> Tensor:
        """Mixes by shares of four dimensions, without a product of matrices."""
        shares = x.unflatten(-1, (4, 2)).unsqueeze(-2).expand(-1, -1, -1, 4, -1).sum(-1)
        return x * shares.softmax(-1).sum((-1, -2)).unsqueeze(-1)

    streams = module("Streams", forward)
    model = Model(streams, "sdpa")
    with record(model, expected=1) as recording:
        model(X)
    assert "note: not recorded: mixer: a softmax of shape (2, 5, 4, 4)" in repr(recording)
    with told("mixer: a softmax of shape (2, 5, 4, 4)"), intervene(model, hide=1):
        model(X)
    with intervene(model, hide=1, sites="Model") as changed:
        model(X)
    assert changed == {"Model": 1}
    with record(model := nn.ModuleList([Calls(), streams])) as recording:
        model[0](*tensors(1, 2, 3, 4, many=3))
    assert not recording.notes  # it did not run


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@torch.no_grad()
def test_x_transformers() -> None:
    skip_without("x_transformers")
    import x_transformers

    torch.manual_seed(0)
    layers = x_transformers.Decoder(dim=32, depth=2, heads=4, attn_kv_heads=2)
    sizes = {"num_tokens": 9, "max_seq_len": 8}
    model = x_transformers.TransformerWrapper(**sizes, attn_layers=layers).eval()
    ids = torch.tensor([[1, 5, 2, 8, 8, 3]])
    plain, inside = model(ids, return_intermediates=True)
    with record(model, expected=2, outputs=True) as recording:
        assert torch.equal(model(ids), plain)
    for entry, own in zip(recording.records(), inside.attn_intermediates, strict=True):
        assert torch.equal(entry.weights, own.post_softmax_attn)
        assert entry.outputs is not None
    with intervene(model, outputs=recording):
        torch.testing.assert_close(model(ids), plain)


def test_attention_that_tells_of_itself_is_told_of_once() -> None:
    """Named like attention, with a probe, and a gate beside it."""
    gate = nn.Parameter(torch.ones(8, 2))

    def forward(it: Any, x: Tensor) -> Tensor:
        gates = torch.softmax((x @ gate).flatten(0, 1), -1).view(*x.shape[:2], 2)
        q, k, v = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in it.parts(x).split(8, -1))
        weights = it.probe(torch.softmax(q @ k.transpose(-1, -2), -1))
        return (weights @ v).transpose(1, 2).flatten(2) * gates.repeat_interleave(4, -1)

    parts = {"parts": nn.Linear(8, 24), "probe": AttentionProbe()}
    model = nn.Sequential(module("Attention", forward, **parts))
    with record(model, expected=1) as recording, intervene(model, hide=1) as changed:
        model(X)
    assert list(recording) == list(changed) == ["0"]
    assert not any("named like attention" in note for note in recording.notes)


def test_a_gate_named_like_attention_is_told_and_not_recorded() -> None:
    gate = module(
        "GatedAttention", lambda it, x: x * it.attn_layer(x).softmax(-1), attn_layer=nn.Linear(5, 5)
    )
    model = nn.ModuleDict({"gate": gate, "attention": nn.MultiheadAttention(5, 1)})
    x = torch.randn(2, 3, 4, 5)
    with torch.no_grad(), record(model) as recording:
        y = model["gate"](x)[0, 0]
        model["attention"](y, y, y)
    assert list(recording) == ["attention"]
    assert "not recorded: gate: a softmax of shape (2, 3, 4, 5)" in repr(recording)
