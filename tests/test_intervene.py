"""Changed attention equals attention worked out otherwise with changed weights.

Of torch's function and modules, and of probes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from attention_cases import MASKS, SIZES, Calls, encoder, module, reference, tensors, told, without
from hypothesis import given, settings
from hypothesis import strategies as st
from numerics import near
from numpy.typing import NDArray
from torch import Tensor, nn

from attnlens import intervene, record
from attnlens.recording import Edges
from attnlens.recording.probe import AttentionProbe

EXACT = 2e-5
B, H, L, S, D = SIZES

Array = NDArray[np.float64]


def cells(keys: Any, queries: Any = slice(None), heads: Any = slice(None)) -> Array:
    """By hand: true at some cells."""
    chosen = np.zeros((B, H, L, S), dtype=bool)
    for head in range(H)[heads] if isinstance(heads, slice) else heads:
        for query in range(L)[queries] if isinstance(queries, slice) else queries:
            chosen[:, head, query, keys] = True
    return chosen


NAMES = (*MASKS, "causal")


def inputs(key_heads: int = H) -> tuple[Tensor, Tensor, Tensor]:
    (q,), (k, v) = tensors(B, H, L, D), tensors(B, key_heads, S, D, seed=1, many=2)
    return q, k, v


def ran(*, name: str = "none", key_heads: int = H, **edit: Any) -> tuple[Array, Array, Array]:
    """Weights before, weights recorded under an edit, and the output under it."""
    q, k, v = inputs(key_heads)
    mask, model = MASKS.get(name), Calls()
    options = {"is_causal": name == "causal", "enable_gqa": key_heads != H, "scale": 0.7}
    with intervene(model, **edit) as changed:
        output = model(q, k, v, mask, **options)
        with record(model, expected=1) as recording:
            again = model(q, k, v, mask, **options)
    assert changed == {"Calls": 2}
    assert torch.equal(output, again)
    assert any("intervention" in note for note in recording.notes)
    assert torch.equal(
        model(q, k, v, mask, **options), F.scaled_dot_product_attention(q, k, v, mask, **options)
    )
    before = reference(q, k, mask, name == "causal", 0.7)
    return before, recording["Calls"].weights.double().numpy(), output.double().numpy()


def check(expected: Array, recorded: Array, output: Array, key_heads: int = H) -> None:
    v = inputs(key_heads)[2].double().numpy().repeat(H // key_heads, 1)
    assert np.abs(recorded - expected).max() <= EXACT
    assert np.abs(output - expected @ v).max() <= EXACT


@pytest.mark.parametrize("name", NAMES)
def test_hidden_keys(name: str) -> None:
    before, recorded, output = ran(name=name, hide=[0, -3])
    check(without(before, cells([0, 4])), recorded, output)
    before, recorded, output = ran(name=name, hide=[0, 1], heads=1, queries=[0, -1])
    check(without(before, cells([0, 1], [0, 4], [1])), recorded, output)


@pytest.mark.parametrize("name", NAMES)
def test_scaled_weights(name: str) -> None:
    before, recorded, output = ran(name=name, scale=3, keys=slice(1, 3), heads=[0, 2])
    chosen = cells([1, 2], heads=[0, 2])
    scaled = np.where(chosen, before * 3, before)
    check(scaled, recorded, output)
    _, recorded, output = ran(name=name, scale=3, keys=slice(1, 3), heads=[0, 2], renormalise=True)
    total = scaled.sum(-1, keepdims=True)
    whole = np.divide(scaled, total, out=np.zeros_like(scaled), where=total > 0)
    check(np.where(chosen.any(-1, keepdims=True), whole, before), recorded, output)


@pytest.mark.parametrize("name", NAMES)
def test_replaced_weights(name: str) -> None:
    before, recorded, output = ran(
        name=name, replace=lambda weights: weights.mean(-2, keepdim=True), queries=2
    )
    mean = np.where(np.arange(L)[:, None] == 2, before.mean(-2, keepdims=True), before)
    check(mean, recorded, output)
    (new,) = tensors(B, H, L, S, seed=9)
    _, recorded, output = ran(name=name, replace=new)
    check(new.double().numpy(), recorded, output)


@pytest.mark.parametrize("key_heads", [1, H])
@pytest.mark.parametrize("name", ["none", "causal", "seen (L, S)", "added (1, H, L, S)"])
def test_shared_heads_are_told_apart(name: str, key_heads: int) -> None:
    before, recorded, output = ran(name=name, key_heads=key_heads, hide=[2, 5], heads=-1)
    check(without(before, cells([2, 5], heads=[2])), recorded, output, key_heads)
    before, recorded, output = ran(name=name, key_heads=key_heads, scale=0.5, heads=0)
    check(before * np.array([0.5, 1, 1])[:, None, None], recorded, output, key_heads)


def test_a_row_without_any_key_is_zero() -> None:
    for name in ("none", "causal", "seen (B, H, L, S)", "added lowest number"):
        _, recorded, output = ran(name=name, hide=slice(None), queries=1)
        assert not recorded[:, :, 1].any()
        assert not output[:, :, 1].any()
        assert np.abs(recorded[:, :, 3].sum(-1) - 1).max() < 1e-5
    # Query 0 sees key 0 alone, by the lowest number as by minus infinity.
    for name in ("causal", "added -inf", "added lowest number"):
        _, recorded, output = ran(name=name, hide=0)
        assert not output[:, :, 0].any()
        assert np.abs(recorded[:, :, 1, 1] - 1).max() < 1e-6


LAID: dict[str, tuple[tuple[int, ...], tuple[Any, ...]]] = {
    "key": ((S,), (None, None, None)),
    "batch, key": ((B, S), (slice(None), None, None)),
    "batch, query, key": ((B, L, S), (slice(None), None)),
    "batch, head, query, key": ((B, H, L, S), ()),
    "1, key": ((1, S), (slice(None), None, None)),
    "batch, 1, query, key": ((B, 1, L, S), ()),
}


@pytest.mark.parametrize("name", LAID)
def test_tensors_are_laid_over_the_weights(name: str) -> None:
    shape, lift = LAID[name]
    hidden = ~(tensors(*shape, seed=11)[0] > 0.2)
    whole = np.broadcast_to(hidden.numpy()[lift], (B, H, L, S))
    before, recorded, output = ran(hide=hidden.numpy())
    check(without(before, whole), recorded, output)
    _, recorded, output = ran(hide=hidden, heads=0)
    check(without(before, whole & cells(range(S), heads=[0])), recorded, output)
    factors = torch.rand(shape)
    _, recorded, output = ran(scale=factors)
    check(before * factors.double().numpy()[lift], recorded, output)
    _, recorded, output = ran(replace=factors)
    check(np.broadcast_to(factors.double().numpy()[lift], before.shape), recorded, output)


def test_edges() -> None:
    before, recorded, output = ran(
        hide=[Edges(head=0, query=[1, 2], key=3), Edges(query=-1, key=slice(4, None))]
    )
    chosen = cells([3], [1, 2], [0]) | cells([4, 5, 6], [4])
    check(without(before, chosen), recorded, output)
    before, recorded, output = ran(hide={"Calls": Edges(batch=1, key=0)})
    chosen = cells([0])
    chosen[0] = False
    check(without(before, chosen), recorded, output)
    before, recorded, output = ran(hide={"C*": [0, 1], "*": 2})
    check(without(before, cells([0, 1, 2])), recorded, output)


def test_rows_of_the_batch() -> None:
    q, k, v = inputs()
    model = Calls()
    plain = model(q, k, v)
    with intervene(model, hide=[0], batch=-1):
        output = model(q, k, v)
    # Under a mask torch may take another kernel for the whole batch.
    near(output[0], plain[0], of=torch.float32)
    assert (output[1] - plain[1]).abs().max() > 1e-3


def test_blocks_nest_and_the_outer_one_changes_first() -> None:
    q, k, v = inputs()
    model = Calls()
    before = reference(q, k)

    def under(*edits: dict[str, Any]) -> tuple[Array, Array]:
        with intervene(model, **edits[0]), record(model) as between, intervene(model, **edits[1]):
            output = model(q, k, v)
        return between["Calls"].weights.double().numpy(), output.double().numpy()

    for edits, expected in (
        (({"hide": 0}, {"hide": [1, 2]}), without(before, cells([0, 1, 2]))),
        (({"hide": 0}, {"scale": 0.5}), without(before, cells([0])) / 2),
        (({"scale": 0.5}, {"hide": 0}), without(before, cells([0]))),
        (({"replace": torch.ones(1, S)}, {"scale": 2, "keys": 3}), np.where(cells([3]), 2.0, 1.0)),
        (
            ({"scale": 2, "keys": 3}, {"scale": 1, "keys": 1, "renormalise": True}),
            (w := np.where(cells([3]), 2 * before, before)) / w.sum(-1, keepdims=True),
        ),
    ):
        check(expected, *under(*edits))


def test_gradients_flow() -> None:
    q, k, v = (part.requires_grad_() for part in inputs())
    gates = torch.ones(1, H, 1, 1, requires_grad=True)
    model = Calls()

    def by_hand(edit: str) -> Tensor:
        weights = (q @ k.transpose(-1, -2) / D**0.5).softmax(-1)
        if edit == "hide":
            left = weights * (torch.arange(S) != 2)
            return left / left.sum(-1, keepdim=True) @ v
        return weights * gates @ v

    for edit in ({"hide": 2}, {"scale": gates}):
        with intervene(model, **edit):
            output = model(q, k, v)
        wrt = (q, k, v) if "hide" in edit else (q, k, v, gates)
        found = torch.autograd.grad(output.square().sum(), wrt)
        expected = torch.autograd.grad(by_hand(min(edit)).square().sum(), wrt)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_gradients_of_empty_rows_are_no_nan() -> None:
    q, k, v = (part.requires_grad_() for part in inputs())
    model = Calls()
    for edit in ({"hide": slice(None), "queries": 1}, {"scale": 0.0, "renormalise": True}):
        with intervene(model, **edit):
            output = model(q, k, v, MASKS["seen (B, 1, 1, S), padding"])
        for gradient in torch.autograd.grad(output.sum(), (q, k, v)):
            assert not gradient.isnan().any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_precisions(dtype: torch.dtype) -> None:
    q, k, v = (part.to(dtype) for part in inputs())
    model = Calls()
    expected = without(reference(q, k), cells([1]))
    for edit in ({"hide": 1}, {"scale": 0, "keys": 1, "renormalise": True}):
        with intervene(model, **edit), record(model) as recording:
            output = model(q, k, v)
        assert output.dtype == dtype
        assert np.abs(recording["Calls"].weights.double().numpy() - expected).max() <= EXACT
        bound = 2e-2 if dtype == torch.bfloat16 else 1e-9
        assert np.abs(output.double().numpy() - expected @ v.double().numpy()).max() <= bound
    with torch.autocast("cpu", torch.bfloat16), intervene(model, scale=1.0):
        assert model(*inputs()).dtype == torch.bfloat16


sizes = st.integers(1, 5)


@settings(max_examples=60)
@given(
    st.tuples(st.integers(1, 3), st.integers(1, 3), sizes, sizes),
    st.sampled_from(["none", "causal", "added"]),
    st.booleans(),
    st.integers(0, 2**16),
)
def test_any_hidden_cells(shape: tuple[int, ...], masked: str, weightless: bool, seed: int) -> None:
    batch, heads, queries, keys = shape
    causal = masked == "causal"
    (q,) = tensors(batch, heads, queries, 4, seed=seed)
    k, v = tensors(batch, heads, keys, 4, seed=seed + 1, many=2)
    mask = tensors(*shape, seed=seed)[0] if masked == "added" else None
    hidden = ~(tensors(batch, heads, queries, keys, seed=seed + 2)[0] > -0.25)
    model = Calls()
    before = reference(q, k, mask, causal)
    expected = without(before, hidden.numpy())
    edit: dict[str, Any] = {"hide": hidden}
    if weightless:
        edit = {"scale": (~hidden).float(), "renormalise": True}
    with intervene(model, **edit), record(model) as recording:
        output = model(q, k, v, mask, is_causal=causal)
    weights = recording["Calls"].weights.double().numpy()
    assert np.abs(weights - expected).max() <= EXACT
    assert np.abs(output.double().numpy() - expected @ v.double().numpy()).max() <= EXACT
    untouched = ~hidden.any(-1).numpy()
    assert np.abs((weights - before)[untouched]).max(initial=0) <= EXACT
    with intervene(model, scale=1):
        same = model(q, k, v, mask, is_causal=causal)
    plain = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)
    torch.testing.assert_close(same, plain, atol=1e-6, rtol=1e-5)


Change = Callable[[Tensor], Tensor]
CLOSE = {"atol": 2e-5, "rtol": 0}

SECOND_KEY = torch.arange(5) == 1


def cut(weights: Tensor, hidden: Tensor) -> Tensor:
    return torch.from_numpy(without(weights.detach().double().numpy(), hidden.numpy())).float()


def multi_head(
    module: nn.MultiheadAttention, x: Tensor, change: Change, hidden: Tensor | None = None
) -> Tensor:
    """Self-attention by hand, with its weights changed."""
    joined = F.linear(x, module.in_proj_weight, module.in_proj_bias)
    q, k, v = joined.unflatten(-1, (3, module.num_heads, -1)).permute(2, 0, 3, 1, 4)
    logits = q @ k.transpose(-1, -2) / math.sqrt(module.head_dim)
    if hidden is not None:
        logits = logits.masked_fill(hidden, -math.inf)
    mixed = change(logits.softmax(-1)) @ v
    return module.out_proj(mixed.transpose(1, 2).flatten(2))


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("needed", [True, False])
@pytest.mark.parametrize("padded", [True, False])
def test_multi_head_attention(grad: bool, needed: bool, padded: bool) -> None:
    torch.manual_seed(3)
    module = nn.MultiheadAttention(12, 2, batch_first=True).eval()
    (x,) = tensors(2, 5, 12)
    padding = torch.zeros(2, 5, dtype=torch.bool)
    padding[1, 3:] = True
    named = {"key_padding_mask": padding} if padded else {}
    hidden = padding[:, None, None] if padded else None
    with torch.set_grad_enabled(grad):
        for edit, change in (
            ({"hide": [1]}, lambda weights: cut(weights, SECOND_KEY)),
            ({"scale": 0.5, "heads": 1}, lambda w: w * torch.tensor([1, 0.5]).view(2, 1, 1)),
        ):
            with intervene(module, **edit), record(module, expected=1) as recording:
                output, own = module(
                    x, x, x, need_weights=needed, average_attn_weights=False, **named
                )
            torch.testing.assert_close(output, multi_head(module, x, change, hidden), **CLOSE)
            seen = recording["MultiheadAttention"].weights
            with record(module) as plain:
                module(x, x, x, need_weights=needed, **named)
            before = plain["MultiheadAttention"].weights
            torch.testing.assert_close(seen, change(before), **CLOSE)
            if needed:  # what the module returns stays its own
                torch.testing.assert_close(own.detach(), before, **CLOSE)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("padded", [True, False])
def test_one_edge_of_one_layer_moves_the_row_that_looked(grad: bool, padded: bool) -> None:
    model = encoder(1)
    (x,) = tensors(2, 5, 12)
    padding = torch.zeros(2, 5, dtype=torch.bool)
    padding[1, 3:] = True
    named = {"src_key_padding_mask": padding} if padded else {}
    cells = torch.zeros(2, 2, 5, 5, dtype=torch.bool)
    cells[:, 1, 2, :2] = True
    with torch.set_grad_enabled(grad):
        plain = model(x, **named)
        edges = {"layers.0.self_attn": Edges(head=1, query=2, key=[0, 1])}
        with intervene(model, hide=edges) as changed:
            output = model(x, **named)
        layer = model.layers[0]
        mixed = multi_head(
            layer.self_attn,
            x,
            lambda weights: cut(weights, cells),
            padding[:, None, None] if padded else None,
        )
        value = layer.norm1(x + mixed)
        expected = layer.norm2(value + layer.linear2(layer.linear1(value).relu()))
    assert changed == {"layers.0.self_attn": 1}
    real = ~padding if padded else torch.ones(2, 5, dtype=torch.bool)
    torch.testing.assert_close(output[real], expected[real], **CLOSE)
    rest = real.clone()
    rest[:, 2] = False
    torch.testing.assert_close(output[rest], plain[rest], atol=1e-6, rtol=0)
    assert (output - plain)[:, 2].abs().max() > 1e-4


def probed(*axes: str) -> nn.Module:
    """Attention written by hand, told through a probe."""
    probe = AttentionProbe(axes) if axes else AttentionProbe()
    return module("Probed", lambda it, weights: it.probe(weights) * 10, probe=probe)


def test_probes() -> None:
    model = probed()
    weights = tensors(2, 3, 4, 5)[0].softmax(-1)
    with record(model) as around, intervene(model, hide=1, heads=0), record(model) as within:
        output = model(weights)
    cells = SECOND_KEY & torch.tensor([True, False, False]).view(3, 1, 1)
    expected = cut(weights, cells)
    torch.testing.assert_close(output, expected * 10)
    for recording in (around, within):
        torch.testing.assert_close(recording["probe"].weights, expected)
    with intervene(model, scale=2.0), intervene(model, replace=lambda w: w + 1):
        torch.testing.assert_close(model(weights), (2 * weights + 1) * 10)
    assert torch.equal(model(weights), weights * 10)


def test_probes_of_other_axes_are_left_alone() -> None:
    model = nn.ModuleDict({"balls": probed(), "nodes": probed("batch", "query", "node")})
    keys, nodes = tensors(2, 3, 4, 5)[0].softmax(-1), tensors(2, 4, 6)[0].softmax(-1)
    with intervene(model, hide=1) as changed:
        model["balls"](keys)
        assert torch.equal(model["nodes"](nodes), nodes * 10)
    assert changed == {"balls": 1}
    text = "nodes: its axes (batch, query, node) are not"
    with told(text), intervene(model, hide=5, sites="nodes"):
        model["nodes"](nodes)
