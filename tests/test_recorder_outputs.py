"""Values and what heads give: recorded as the model has them, patched as by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from attention_cases import Calls, encoder, module, tensors, told
from refused import refused
from torch import Tensor, nn

import attnlens
from attnlens import AttentionProbe, SoftmaxAdapter, intervene, record
from attnlens.errors import InputError, InterventionError

HEADS, WIDTH, CLOSE = 4, 3, {"atol": 1e-6, "rtol": 0}
MIXES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "*": lambda w, v: (w.unsqueeze(-1) * v.unsqueeze(2)).sum(-2),
    "@": lambda w, v: w @ v,
    "bmm": lambda w, v: torch.bmm(w.flatten(0, 1), v.flatten(0, 1)).unflatten(0, w.shape[:2]),
    "einsum": lambda w, v: torch.einsum("b h i j, b h j d -> b i h d", w, v).transpose(1, 2),
    "turned": lambda w, v: torch.einsum("jbhd,bhij->ibhd", v.permute(2, 0, 1, 3), w).permute(
        1, 2, 0, 3
    ),
}


class Layer(nn.Module):
    """Causal attention and what comes around it, its product with values made in some way."""

    def __init__(self, way: str, key_heads: int = HEADS) -> None:
        super().__init__()
        self.way, self.shared = way, HEADS // key_heads
        self.q, self.out = (nn.Linear(HEADS * WIDTH, HEADS * WIDTH) for _ in range(2))
        self.k, self.v = (nn.Linear(HEADS * WIDTH, key_heads * WIDTH) for _ in range(2))
        self.drop, self.probe = nn.Dropout(0.1), AttentionProbe() if way == "probe" else None

    def parts(self, x: Tensor) -> tuple[Tensor, ...]:
        split = [one(x).unflatten(-1, (-1, WIDTH)).transpose(1, 2) for one in (self.q, self.k)]
        return *split, self.v(x).unflatten(-1, (-1, WIDTH)).transpose(1, 2)

    def weights(self, x: Tensor) -> Tensor:
        q, k, _ = self.parts(x)
        logits = q @ k.repeat_interleave(self.shared, 1).transpose(-1, -2) / math.sqrt(WIDTH)
        logits = logits + torch.full(logits.shape[-2:], -math.inf).triu(1)
        return torch.softmax(logits, -1).to(x.dtype)

    def joined(self, x: Tensor, heads: Tensor) -> Tensor:
        return x + self.out(heads.transpose(1, 2).flatten(2))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.parts(x)
        if self.way == "sdpa":
            return self.joined(
                x, F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            )
        weights = self.weights(x)
        if self.probe is not None:
            weights = self.probe(weights)
        mix = MIXES.get(self.way, MIXES["@"])
        return self.joined(x, mix(self.drop(weights), v.repeat_interleave(self.shared, 1)))


def two(way: str, key_heads: int = HEADS) -> tuple[nn.Sequential, dict[str, Any]]:
    torch.manual_seed(1)
    model = nn.Sequential(Layer(way, key_heads), Layer(way, key_heads)).eval()
    options = {"adapters": SoftmaxAdapter(["0", "1"])} if way in MIXES else {}
    return model, options


X, Y = tensors(2, 5, HEADS * WIDTH, many=2)


@torch.no_grad()
@pytest.mark.parametrize("key_heads", [HEADS, 2])
@pytest.mark.parametrize("way", ["sdpa", "probe", *MIXES])
def test_values_and_outputs_are_those_of_the_forward_written_out(way: str, key_heads: int) -> None:
    model, options = two(way, key_heads)
    plain = model(X)
    projected: list[Tensor] = []
    handle = model[1].out.register_forward_pre_hook(lambda _, given: projected.append(given[0]))
    with record(model, values=True, outputs=True, **options) as recording:
        output = model(X)
    handle.remove()
    assert torch.equal(output, plain)
    last = recording[list(recording)[1]]
    assert torch.equal(last.outputs.transpose(1, 2).flatten(2), projected[0])
    middle = model[0](X)
    values = model[1].parts(middle)[2].repeat_interleave(HEADS // key_heads, 1)
    torch.testing.assert_close(last.values, values, **CLOSE)
    torch.testing.assert_close(last.outputs, model[1].weights(middle) @ values, **CLOSE)


@torch.no_grad()
@pytest.mark.parametrize("way", ["sdpa", "probe", *MIXES])
def test_activations_of_another_run_and_means(way: str) -> None:
    model, options = two(way, 2)
    with record(model, values=True, outputs=True, **options) as other:
        expected = model(Y)
    with record(model, values=True, outputs=True, **options) as own:
        plain = model(X)
    first, last = other
    middle = model[0](X)
    # All of the first layer's heads, and what passes them by, are the other run.
    with intervene(model, outputs=other, **options) as changed:
        output = model(X)
    by_hand = model[1].joined(model[0].joined(X, other[first].outputs), other[last].outputs)
    torch.testing.assert_close(output, by_hand, **CLOSE)
    torch.testing.assert_close(output - X, expected - Y, **CLOSE)
    assert changed == {first: 1, last: 1}
    # One head, some positions.
    with intervene(model, outputs={last: other[last]}, heads=2, queries=[0, -1], **options):
        output = model(X)
    heads = own[last].outputs.clone()
    heads[:, 2, [0, -1]] = other[last].outputs[:, 2, [0, -1]]
    torch.testing.assert_close(output, model[1].joined(middle, heads), **CLOSE)
    # Mean ablation, as a function and as a tensor.
    mean = own[last].outputs.mean((0, 2), keepdim=True)
    for given in (lambda heads: heads.mean((0, 2), keepdim=True), mean, mean.numpy()):
        with intervene(model, outputs=given, sites=last, heads=1, **options):
            output = model(X)
        heads = own[last].outputs.clone()
        heads[:, 1] = mean[:, 1]
        torch.testing.assert_close(output, model[1].joined(middle, heads), **CLOSE)
    # Values of two keys in one head, of one row; a recording shows what was made.
    edit: dict[str, Any] = {"values": lambda v: v * 0, "heads": 3, "keys": [0, 2], "batch": 1}
    with (
        record(model, values=True, outputs=True, **options) as around,
        intervene(model, sites=last, **edit, **options),
    ):
        output = model(X)
    values = own[last].values.clone()
    values[1, 3, [0, 2]] = 0
    heads = model[1].weights(middle) @ values
    torch.testing.assert_close(output, model[1].joined(middle, heads), **CLOSE)
    torch.testing.assert_close(around[last].values, values, **CLOSE)
    torch.testing.assert_close(around[last].outputs, heads, **CLOSE)
    assert any("under an intervention" in note for note in around[last].notes)
    assert torch.equal(model(X), plain)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("options", [{}, {"lazy": True}, {"top_k": 2}])
def test_torchs_encoder_and_its_fused_kernels(grad: bool, options: dict[str, Any]) -> None:
    model = encoder(2)
    (x,) = tensors(2, 5, 12)
    padding = torch.zeros(2, 5, dtype=torch.bool)
    padding[1, 3:] = True
    layer = model.layers[0]
    for named in ({}, {"src_key_padding_mask": padding}):
        with torch.set_grad_enabled(grad):
            plain = model(x, **named)
            with record(model, values=True, outputs=True, **options) as recording:
                assert torch.equal(model(x, **named), plain)
            entry = recording["layers.0.self_attn"]
            joined = F.linear(x, layer.self_attn.in_proj_weight, layer.self_attn.in_proj_bias)
            q, k, v = joined.unflatten(-1, (3, 2, -1)).permute(2, 0, 3, 1, 4)
            seen = ~padding[:, None, None] if named else None
            heads = F.scaled_dot_product_attention(q, k, v, seen)
            real = ~padding if named else torch.ones(2, 5, dtype=torch.bool)
            places = real[:, None, :, None].expand(v.shape)
            torch.testing.assert_close(entry.values[places], v[places], **CLOSE)
            torch.testing.assert_close(entry.outputs[places], heads[places], **CLOSE)
            for edit in ({"outputs": recording}, {"values": recording}):
                with intervene(model, **edit):
                    torch.testing.assert_close(model(x, **named)[real], plain[real], **CLOSE)
            with intervene(model, outputs=torch.zeros(1, 1, 1, 1), sites="layers.0.*"):
                output = model(x, **named)
            mixed = layer.self_attn.out_proj.bias
            value = layer.norm1(x + mixed)
            value = layer.norm2(value + layer.linear2(layer.linear1(value).relu()))
            expected = model.layers[1](value, **named)
            torch.testing.assert_close(output[real], expected[real], atol=2e-6, rtol=0)


def test_gradients_flow_through_what_was_put_there() -> None:
    model, options = two("@")
    gate = torch.ones(1, HEADS, 1, 1, requires_grad=True)
    for name in ("outputs", "values"):
        edit: dict[str, Any] = {name: lambda part: part * gate}
        with intervene(model, sites="1", **edit, **options):
            (found,) = torch.autograd.grad(model(X).square().sum(), gate)
        middle = model[0](X)
        heads = model[1].weights(middle) @ model[1].parts(middle)[2] * gate
        (expected,) = torch.autograd.grad(model[1].joined(middle, heads).square().sum(), gate)
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_parts_and_files_keep_them(tmp_path: Path) -> None:
    model, options = two("@")
    with record(model, values=True, outputs=True, rows=[1, -1], **options) as recording:
        model(X)
    whole = recording["0"]
    assert (whole.outputs.shape, whole.values.shape) == ((2, HEADS, 2, 3), (2, HEADS, 5, 3))
    part = whole.sel(head=[0, 2], query=-1, key=slice(1, 3), batch=1)
    assert torch.equal(part.outputs, whole.outputs[1:, [0, 2], 1:])
    assert torch.equal(part.values, whole.values[1:, [0, 2], 1:3])
    recording.save(tmp_path / "r.safetensors")
    with record(model, values=True, outputs=True, to=tmp_path / "folder", rows=[1, -1], **options):
        model(X)
    for saved in ("r.safetensors", "folder"):
        back = attnlens.load_recording(tmp_path / saved)["0"]
        assert torch.equal(back.outputs, whole.outputs)
        assert torch.equal(back.values, whole.values)
    attnlens.load_recording(tmp_path / "folder").save(tmp_path / "again.safetensors")
    wrong = attnlens.recording.recording.Recording([whole.replaced(values=whole.values[:, :1])])
    wrong.save(tmp_path / "wrong.safetensors")
    with pytest.raises(InputError, match="values or outputs do not fit"):
        attnlens.load_recording(tmp_path / "wrong.safetensors")


def twice(layer: Any, x: Tensor) -> Tensor:
    """Weights are multiplied with two things."""
    weights, v = layer.weights(x), layer.parts(x)[2]
    return layer.joined(x, weights @ v + weights @ (2 * v))


def test_weights_that_are_multiplied_twice() -> None:
    model = type("Other", (Layer,), {"forward": twice})("@").eval()
    with record(model, values=True, outputs=True, expected=1) as recording:
        model(X)
    assert "values and outputs come from the first product" in repr(recording)
    error = told("multiplied with several tensors")
    with error, intervene(model, outputs=lambda heads: heads * 0):
        model(X)
    with intervene(model, hide=1) as changed:
        model(X)
    assert changed == {"Other": 1}


def test_other_products_are_let_be() -> None:
    """After attention, products in a transform, of a sparse tensor, and of nested ones."""

    def forward(other: Any, x: Tensor) -> Tensor:
        x = torch.vmap(lambda one: one @ other.w)(other.attention(x))
        x = torch.stack([torch.eye(5).to_sparse() @ one for one in x])
        parts = [torch.nested.nested_tensor(list(one)) for one in (x, other.w.expand(2, -1, -1))]
        return torch.matmul(*parts).to_padded_tensor(0.0)

    torch.manual_seed(0)
    parts = {"attention": Layer("@"), "w": nn.Parameter(torch.randn(12, 12))}
    model = module("Other", forward, **parts).eval()
    plain, adapter = model(X), SoftmaxAdapter("attention")
    with record(model, outputs=True, values=True, adapters=adapter) as recording:
        assert torch.equal(model(X), plain)
    assert recording["attention"].outputs is not None


def test_what_cannot_be(snapshot: Any) -> None:
    model, _ = two("sdpa")
    with record(model) as bare:
        model(X)

    def run(**options: Any) -> None:
        with intervene(model, **options):
            model(X)

    wrong: list[dict[str, Any]] = [
        {"outputs": 3}, {"outputs": bare}, {"outputs": torch.zeros(7)}, {"outputs": lambda _: None},
        {"outputs": torch.zeros(1), "keys": 1}, {"values": torch.zeros(1), "queries": 1},
        {"values": torch.zeros(1), "renormalise": True}, {"values": torch.zeros(1), "keys": 9},
        {"values": torch.zeros(1), "hide": 1}, {"values": torch.zeros(1), "sites": "x"},
    ]  # fmt: skip
    assert [refused(InterventionError, run, **options) for options in wrong] == snapshot


def test_outputs_may_be_kept_without_values() -> None:
    q, k, v = tensors(1, 2, 3, 4, many=3)
    with record(model := Calls(), outputs=True) as recording:
        output = model(q, k, v)
    assert torch.equal(recording["Calls"].outputs, output)
    assert recording["Calls"].values is None
