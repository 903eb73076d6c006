"""Interventions on torch's modules, probes, flex attention and Hugging Face models."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from attention_cases import encoder, tensors, told
from torch import Tensor, nn

from attnlens import intervene, record
from attnlens.cricket.predictor.temporal import causal
from attnlens.errors import InterventionError
from attnlens.recording import Edges
from attnlens.recording.probe import AttentionProbe

Change = Callable[[Tensor], Tensor]
EXACT = {"atol": 2e-5, "rtol": 0}

FIRST = torch.arange(5) == 1


def without(weights: Tensor, hidden: Tensor) -> Tensor:
    """By hand: weights with cells at 0, and what is left of each such row made to sum to 1."""
    left = weights * ~hidden
    total = left.sum(-1, keepdim=True)
    whole = torch.where(total > 0, left / total, 0.0)
    return torch.where(hidden.expand(weights.shape).any(-1, keepdim=True), whole, weights)


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
    result: Tensor = module.out_proj(mixed.transpose(1, 2).flatten(2))
    return result


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
            ({"hide": [1]}, lambda weights: without(weights, FIRST)),
            ({"scale": 0.5, "heads": 1}, lambda w: w * torch.tensor([1, 0.5]).view(2, 1, 1)),
        ):
            with intervene(module, **edit), record(module, expected=1) as recording:
                output, told = module(
                    x, x, x, need_weights=needed, average_attn_weights=False, **named
                )
            torch.testing.assert_close(output, multi_head(module, x, change, hidden), **EXACT)
            seen = recording["MultiheadAttention"].weights
            if needed:
                torch.testing.assert_close(told.detach(), seen, **EXACT)
            with record(module) as plain:
                module(x, x, x, need_weights=needed, **named)
            before = plain["MultiheadAttention"].weights
            torch.testing.assert_close(seen, change(before), **EXACT)


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
            lambda weights: without(weights, cells),
            padding[:, None, None] if padded else None,
        )
        value = layer.norm1(x + mixed)
        expected = layer.norm2(value + layer.linear2(layer.linear1(value).relu()))
    assert changed == {"layers.0.self_attn": 1}
    real = ~padding if padded else torch.ones(2, 5, dtype=torch.bool)
    torch.testing.assert_close(output[real], expected[real], **EXACT)
    rest = real.clone()
    rest[:, 2] = False
    torch.testing.assert_close(output[rest], plain[rest], atol=1e-6, rtol=0)
    assert (output - plain)[:, 2].abs().max() > 1e-4


class Probed(nn.Module):
    """Attention written by hand, told through a probe."""

    def __init__(self, axes: tuple[str, ...] = ("batch", "head", "query", "key")) -> None:
        super().__init__()
        self.probe = AttentionProbe(axes)

    def forward(self, weights: Tensor) -> Tensor:
        result: Tensor = self.probe(weights) * 10
        return result


def test_probes() -> None:
    model = Probed()
    weights = tensors(2, 3, 4, 5)[0].softmax(-1)
    with record(model) as around, intervene(model, hide=1, heads=0), record(model) as within:
        output = model(weights)
    cells = FIRST & torch.tensor([True, False, False]).view(3, 1, 1)
    expected = without(weights, cells)
    torch.testing.assert_close(output, expected * 10)
    for recording in (around, within):
        torch.testing.assert_close(recording["probe"].weights, expected)
    with intervene(model, scale=2.0), intervene(model, replace=lambda w: w + 1):
        torch.testing.assert_close(model(weights), (2 * weights + 1) * 10)
    assert torch.equal(model(weights), weights * 10)


def test_probes_of_other_axes_are_left_alone() -> None:
    model = nn.ModuleDict({"balls": Probed(), "nodes": Probed(("batch", "query", "node"))})
    keys, nodes = tensors(2, 3, 4, 5)[0].softmax(-1), tensors(2, 4, 6)[0].softmax(-1)
    with intervene(model, hide=1) as changed:
        model["balls"](keys)
        assert torch.equal(model["nodes"](nodes), nodes * 10)
    assert changed == {"balls": 1}
    with (
        told("nodes: its axes (batch, query, node) are not"),
        intervene(model, hide=5, sites="nodes"),
    ):
        model["nodes"](nodes)


IDS = torch.tensor([[3, 1, 4, 1, 5], [2, 6, 5, 3, 5]])
SIZES: dict[str, dict[str, Any]] = {
    "GPT2": {"n_layer": 2, "n_embd": 32, "n_head": 4, "vocab_size": 50},
    "Llama": {
        "num_hidden_layers": 2,
        "num_key_value_heads": 2,
        "hidden_size": 32,
        "num_attention_heads": 4,
        "intermediate_size": 40,
        "max_position_embeddings": 20,
        "vocab_size": 50,
    },
}


def made(name: str, how: str) -> Any:
    transformers = pytest.importorskip("transformers")
    config = getattr(transformers, f"{name}Config")(**SIZES[name])
    config._attn_implementation = how
    torch.manual_seed(0)
    return getattr(transformers, f"{name}Model")(config).eval()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("how", ["eager", "sdpa"])
@pytest.mark.parametrize("name", SIZES)
def test_hugging_face_models(name: str, how: str) -> None:
    model, others = made(name, how), made(name, "eager")
    site = {"GPT2": "h.1.attn", "Llama": "layers.1.self_attn"}[name]
    head = torch.tensor([False, False, True, False]).view(4, 1, 1)
    uniform = causal(5).triu(1).logical_not().float()
    uniform = uniform / uniform.sum(-1, keepdim=True)
    with torch.no_grad(), record(model) as recording:
        plain = model(input_ids=IDS)[0]
    before = recording[site].weights
    for edit, change in (
        ({"hide": [1], "heads": 2}, lambda w: without(w, FIRST & head)),
        ({"scale": 0.5, "keys": 1}, lambda w: torch.where(FIRST, w * 0.5, w)),
        ({"replace": uniform[None, None]}, lambda w: uniform.expand(w.shape)),
    ):
        with (
            torch.no_grad(),
            intervene(model, sites=site, **edit) as changed,
            record(model) as recording,
        ):
            output = model(input_ids=IDS)[0]
        assert changed == {site: 1}
        torch.testing.assert_close(recording[site].weights, change(before), **EXACT)
        # The other way to attend, its weights replaced by these.
        with torch.no_grad(), intervene(others, replace={site: change(before)}):
            torch.testing.assert_close(output, others(input_ids=IDS)[0], **EXACT)
    with torch.no_grad():
        assert torch.equal(model(input_ids=IDS)[0], plain)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_generation_and_hidden_positions() -> None:
    transformers = pytest.importorskip("transformers")
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**SIZES["GPT2"])).eval()
    with torch.no_grad(), intervene(model, hide=1), record(model) as recording:
        model.generate(IDS, max_new_tokens=3, do_sample=False, pad_token_id=0)
    entries = recording.calls("transformer.h.0.attn")
    assert [entry.shape[-1] for entry in entries] == [5, 6, 7]
    assert not any(entry.weights[..., 1].any() for entry in entries)
    with (
        pytest.raises(InterventionError, match=r"hide= has a number of keys that some calls"),
        torch.no_grad(),
        intervene(model, hide=FIRST),
    ):
        model.generate(IDS, max_new_tokens=3, do_sample=False, pad_token_id=0)
