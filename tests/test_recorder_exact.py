"""What is recorded is softmax(QKᵀ), worked out here in another way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from attention_cases import MASKS, SIZES, Calls, added, encoder, reference, seen_keys, tensors
from torch import Tensor, nn
from torch.nn.attention.bias import causal_lower_right, causal_upper_left

from attnlens.recording import record
from attnlens.recording.attention_record import AttentionRecord

EXACT = 2e-5
B, H, L, S, D = SIZES


def check(expected: Any, *inputs: Any, **named: Any) -> AttentionRecord:
    """Records a call of torch's function: its weights are those, its output is as it was."""
    model = Calls()
    with record(model, expected=1) as recording:
        output = model(*inputs, **named)
    entry = recording["Calls"]
    assert np.abs(entry.weights.double().numpy() - expected).max() <= EXACT
    assert torch.equal(output, F.scaled_dot_product_attention(*inputs, **named))
    return entry


@pytest.mark.parametrize("scale", [None, 0.7, -0.2])
@pytest.mark.parametrize("name", MASKS)
def test_masks_and_scales(name: str, scale: float | None) -> None:
    (q,), (k, v) = tensors(B, H, L, D), tensors(B, H, S, D, seed=1, many=2)
    mask = MASKS[name]
    expected = reference(q, k, mask, scale=scale)
    entry = check(expected, q, k, v, mask, scale=scale)
    if name == "added both":
        again = (entry.content + entry.bias).softmax(-1).double().numpy()
        assert np.abs(again - expected).max() <= EXACT


@pytest.mark.parametrize(
    ("lead", "key_lead"),
    [((4,), (4,)), ((2, 3), (2, 3)), ((2, 3, 5), (2, 3, 5)), ((1, 3), (2, 3)), ((2, 3), (2, 1))],
)
@pytest.mark.parametrize("causal", [False, True])
def test_shapes_of_batches(lead: tuple[int, ...], key_lead: tuple[int, ...], causal: bool) -> None:
    (q,), (k, v) = tensors(*lead, L, D), tensors(*key_lead, S, D, seed=1, many=2)
    whole = torch.broadcast_shapes(lead, key_lead)
    heads = 1 if len(whole) == 1 else whole[-1]
    spread = [part.expand(*whole, *part.shape[-2:]) for part in (q, k)]
    four = [part.reshape(-1, heads, *part.shape[-2:]) for part in spread]
    check(reference(*four, causal=causal), q, k, v, is_causal=causal)


@pytest.mark.parametrize("heads", [(6, 1), (6, 2), (6, 3), (6, 6)])
@pytest.mark.parametrize("masked", [False, True])
def test_grouped_heads(heads: tuple[int, int], masked: bool) -> None:
    (q,), (k, v) = tensors(B, heads[0], L, D), tensors(B, heads[1], S, D, seed=1, many=2)
    mask = seen_keys(B, 1, L, S) if masked else None
    check(reference(q, k, mask), q, k, v, mask, enable_gqa=True)


@pytest.mark.parametrize("kind", [causal_lower_right, causal_upper_left])
@pytest.mark.parametrize("keys", [L, S])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_causal_biases_of_torch(kind: Any, keys: int) -> None:
    (q,), (k, v) = tensors(B, H, L, D), tensors(B, H, keys, D, seed=1, many=2)
    shift = keys - L if kind is causal_lower_right else 0
    seen = torch.ones(L, keys, dtype=torch.bool).tril(shift)
    check(reference(q, k, seen), q, k, v, kind(L, keys))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_precisions(dtype: torch.dtype) -> None:
    q, k, v = (part.to(dtype) for part in tensors(B, H, L, D, many=3))
    weights = check(reference(q, k), q, k, v).weights
    assert weights.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)


def test_autocast_computes_from_what_the_kernel_gets() -> None:
    q, k, v = tensors(B, H, L, 64, many=3)
    model = Calls()
    with record(model) as recording, torch.autocast("cpu", torch.bfloat16):
        output = model(q, k, v)
    weights = recording["Calls"].weights.double().numpy()
    rounded = reference(q.bfloat16(), k.bfloat16())
    assert output.dtype == torch.bfloat16
    assert np.abs(weights - rounded).max() <= EXACT
    assert np.abs(weights - reference(q, k)).max() > 1e-4


def test_dropout_shows_and_a_note_says_so() -> None:
    q, k, v = tensors(B, H, L, D, many=3)
    model = Calls()
    torch.manual_seed(8)
    plain, after = model(q, k, v, None, 0.5), torch.rand(3)
    torch.manual_seed(8)
    with record(model) as recording:
        output = model(q, k, v, None, 0.5)
    assert torch.equal(torch.rand(3), after)
    assert torch.equal(plain, output)
    weights = recording["Calls"].weights
    torch.testing.assert_close(weights @ v, output, atol=EXACT, rtol=0)
    kept = weights.numpy() > 0
    assert 0.3 < kept.mean() < 0.7
    assert np.abs(weights.numpy() - 2 * reference(q, k) * kept).max() <= EXACT
    assert any("after dropout" in note for note in recording.notes)


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize(
    "masks",
    [
        {},
        {"key_padding_mask": torch.tensor([[False] * 5 + [True] * 2] * 2)},
        {"attn_mask": torch.ones(7, 7, dtype=torch.bool).triu(1)},
        {"attn_mask": added(7, 7)},
        {"attn_mask": added(4, 7, 7)},
    ],
)
def test_multi_head_attention_tells_what_need_weights_tells(
    grad: bool, average: bool, masks: dict[str, Tensor]
) -> None:
    torch.manual_seed(3)
    module = nn.MultiheadAttention(12, 2, batch_first=True).eval()
    (x,) = tensors(2, 7, 12)
    with torch.set_grad_enabled(grad):
        plain, averaged = module(x, x, x, average_attn_weights=average, **masks)
        _, each = module(x, x, x, average_attn_weights=False, **masks)
        with record(module, expected=1) as asked:
            output, told = module(x, x, x, average_attn_weights=average, **masks)
        with record(module, expected=1) as unasked:
            silent, nothing = module(x, x, x, need_weights=False, **masks)
    assert nothing is None
    assert torch.equal(told, averaged)
    for recording in (asked, unasked):
        weights = recording["MultiheadAttention"].weights
        torch.testing.assert_close(weights, each.detach(), atol=EXACT, rtol=0)
    assert torch.equal(output, plain)
    (entry,), (other,) = asked.records(), unasked.records()
    assert entry.content is entry.bias is None
    # Where torch is not asked for weights, it gives its kernel the mask.
    added_to = "attn_mask" in masks and masks["attn_mask"].is_floating_point()
    assert (other.bias is not None) == added_to
    torch.testing.assert_close(silent, plain, atol=1e-6, rtol=0)


def test_multi_head_attention_in_its_other_forms() -> None:
    (x,), (y,) = tensors(7, 12), tensors(5, 8, seed=2)
    forms = {
        "no batch": (nn.MultiheadAttention(12, 3), (x, x, x)),
        "other widths": (nn.MultiheadAttention(12, 3, kdim=8, vdim=8), (x, y, y)),
        "bias": (nn.MultiheadAttention(12, 3, add_bias_kv=True, add_zero_attn=True), (x, x, x)),
    }
    for name, (module, inputs) in forms.items():
        for needed in (True, False):
            with record(module) as recording:
                output, _ = module(*inputs, need_weights=needed)
            plain, weights = module(*inputs, average_attn_weights=False)
            got = recording["MultiheadAttention"].weights[0]
            torch.testing.assert_close(got, weights.detach(), atol=EXACT, rtol=0, msg=name)
            torch.testing.assert_close(output, plain, atol=1e-6, rtol=0)


def by_hand(layer: Any, x: Tensor, seen: Tensor | None = None) -> np.ndarray:
    """Weights of an encoder layer's self-attention from its projections."""
    attention = layer.self_attn
    normed = layer.norm1(x) if layer.norm_first else x
    joined = F.linear(normed, attention.in_proj_weight, attention.in_proj_bias)
    q, k, _ = joined.unflatten(-1, (3, attention.num_heads, -1)).permute(2, 0, 3, 1, 4)
    return reference(q, k, seen)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("options", [{}, {"norm_first": True}, {"activation": "gelu"}])
@pytest.mark.parametrize("mode", [{}, {"rows": [0, 3]}, {"top_k": 2}, {"lazy": True}])
def test_the_fused_encoder(padded: bool, options: dict[str, Any], mode: dict[str, Any]) -> None:
    model = encoder(**options)
    (x,) = tensors(3, 6, 12)
    hidden = torch.zeros(3, 6, dtype=torch.bool)
    hidden[0, 4:] = hidden[1, 5:] = hidden[2, 5:] = True
    named = {"src_key_padding_mask": hidden} if padded else {}
    with torch.no_grad():
        plain = model(x, **named)
        with record(model, expected=2, **mode) as recording:
            output = model(x, **named)
    nested = padded and not options.get("norm_first")
    assert torch.equal(output, plain)
    first = recording["layers.0.self_attn"]
    seen = ~hidden[:, None, None, :] if padded else None
    if nested and seen is not None:
        seen = seen & ~hidden[:, None, :, None]
    expected = by_hand(model.layers[0], x, seen)
    if "rows" in mode:
        expected = expected[:, :, [0, 3]]
    if "top_k" in mode:
        expected = np.take_along_axis(expected, first.keys.long().numpy(), -1)
    assert np.abs(first.weights.numpy() - expected).max() <= EXACT


def test_two_recordings_of_one_fused_encoder_keep_weights_of_their_own() -> None:
    model = encoder()
    (x,) = tensors(3, 6, 12)
    with torch.no_grad():
        plain = model(x)
        with record(model) as first, record(model, rows=-1) as second, record(model) as third:
            output = model(x)
        with record(model) as whole, record(model, lazy=True) as lazy:
            beside = model(x)
    assert torch.equal(output, plain)
    assert torch.equal(beside, plain)
    for site in first:
        kept = first[site].weights.clone()
        assert torch.equal(second[site].weights, kept[:, :, -1:])
        torch.testing.assert_close(whole[site].weights, kept, atol=EXACT, rtol=0)
        torch.testing.assert_close(lazy[site].weights, kept, atol=EXACT, rtol=0)
        first[site].weights.zero_()
        assert torch.equal(third[site].weights, kept)


def test_a_row_that_sees_nothing_is_nan_in_the_fused_encoder_and_stays_so() -> None:
    model = encoder(1)
    (x,) = tensors(2, 4, 12)
    hidden = torch.ones(4, 4, dtype=torch.bool).triu(1)
    hidden[1] = True
    with torch.no_grad():
        plain = model(x, hidden)
        for mode in ({}, {"top_k": 2}, {"rows": -1}):
            with record(model, **mode) as recording:
                output = model(x, hidden)
            assert torch.equal(output.isnan(), plain.isnan())
            assert not recording["layers.0.self_attn"].weights.isnan().any()
