"""Attention equals independent computations of it, and its edge cases are decided."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_layers import give_attention

from attnlens.cricket.predictor.relations import RELATIONS, RelationAttention
from attnlens.cricket.predictor.temporal import causal
from attnlens.recording import record
from attnlens.reference import attention as parts
from attnlens.reference.attention import MultiHeadAttention, attention_weights, hidden_softmax

EXACT = 1e-6


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def softmax(logits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    shifted = np.exp(logits - logits.max(-1, keepdims=True))
    result: np.ndarray[Any, Any] = shifted / shifted.sum(-1, keepdims=True)
    return result


def test_weights_equal_torchs_own_attention() -> None:
    query, key = random(2, 3, 5, 4), random(2, 3, 7, 4, seed=1)
    hidden = random(2, 1, 5, 7, seed=2) > 1
    hidden[..., 0] = False
    bias = random(3, 5, 7, seed=3)
    allowed = bias.expand(2, 3, 5, 7).masked_fill(hidden, -math.inf)
    expected = nn.functional.scaled_dot_product_attention(
        query, key, torch.eye(7).expand(2, 3, 7, 7), attn_mask=allowed, scale=0.7
    )
    weights = attention_weights(query, key, hidden, bias, scale=0.7)
    assert weights.shape == (2, 3, 5, 7)
    torch.testing.assert_close(weights, expected, atol=EXACT, rtol=0)


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 7), st.integers(1, 4)),
    seed=st.integers(0, 10_000),
    share=st.floats(0, 1),
)
def test_rows_sum_to_one_or_to_nothing(
    sizes: tuple[int, int, int, int], seed: int, share: float
) -> None:
    batch, queries, keys, width = sizes
    generator = torch.Generator().manual_seed(seed)
    query = (30 * torch.randn(batch, queries, width, generator=generator)).requires_grad_()
    key = torch.randn(batch, keys, width, generator=generator).requires_grad_()
    hidden = torch.rand(batch, queries, keys, generator=generator) < share
    weights = attention_weights(query, key, hidden)

    assert not weights[hidden].any()
    expected = (~hidden).any(-1).float()
    torch.testing.assert_close(weights.sum(-1), expected, atol=EXACT, rtol=0)
    logits = query.detach().double() @ key.detach().double().transpose(-1, -2) / math.sqrt(width)
    for row in (~hidden).any(-1).nonzero().tolist():
        shown = ~hidden[tuple(row)]
        alone = softmax(logits[tuple(row)][shown].numpy())
        np.testing.assert_allclose(weights[tuple(row)][shown].detach(), alone, atol=1e-4)

    total = (weights * torch.randn(weights.shape, generator=generator)).sum()
    of_query, of_key = torch.autograd.grad(total, (query, key))
    assert of_query.isfinite().all()
    assert of_key.isfinite().all()
    assert not of_query[~(~hidden).any(-1)].any()


def test_a_wholly_hidden_row_is_zero_and_not_nan() -> None:
    hidden = torch.tensor([[True, True], [False, True]])
    assert hidden_softmax(torch.zeros(2, 2), hidden).tolist() == [[0, 0], [1, 0]]


def torchs(attention: RelationAttention, width: int) -> nn.MultiheadAttention:
    """torch's module with the same weights."""
    module = nn.MultiheadAttention(width, attention.num_heads, bias=False, batch_first=True)
    three = (attention.to_query, attention.to_key, attention.to_value)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat([part.weight for part in three]))
        assert isinstance(attention.to_output, nn.Linear)
        module.out_proj.weight.copy_(attention.to_output.weight)
    return module


def test_with_its_own_key_and_no_biases_it_is_causal_self_attention() -> None:
    torch.manual_seed(1)
    attention = RelationAttention(12, 3, reach=5, own=True)
    nn.init.zeros_(attention.bias)
    assert not attention.position.any()
    balls = random(2, 5, 12)
    later = torch.ones(5, 5, dtype=torch.bool).triu(1)
    expected, weights = torchs(attention, 12)(
        balls, balls, balls, attn_mask=later, average_attn_weights=False
    )
    found, row = attention(balls, balls, torch.zeros(2, 5, 5, len(RELATIONS)), causal(5))
    assert row.shape == (2, 3, 5, 6)
    torch.testing.assert_close(found, expected, atol=EXACT, rtol=0)
    whole = row[..., :-1] + torch.diag_embed(row[..., -1])
    torch.testing.assert_close(whole, weights, atol=EXACT, rtol=0)


def test_logits_are_content_and_position_and_the_table_of_biases() -> None:
    torch.manual_seed(2)
    heads, width, reach = 3, 4, 5
    attention = RelationAttention(12, heads, reach=reach)
    nn.init.normal_(attention.position)
    nn.init.normal_(attention.bias)
    query, key = random(1, 2, 12), random(1, 7, 12, seed=1)
    relations = random(1, 2, 7, len(RELATIONS), seed=3)
    distance = torch.tensor([[[7, 6, 5, 4, 3, 2, 1], [8, 7, 6, 5, 4, 3, 2]]])
    hidden = torch.zeros(1, 1, 2, 7, dtype=torch.bool)
    with torch.no_grad():
        _, weights = attention(query, key, relations, hidden, distance)
        q = attention.to_query(query)[0].reshape(2, heads, width).numpy()
        k = attention.to_key(key)[0].reshape(7, heads, width).numpy()
        own = attention.to_key(query)[0].reshape(2, heads, width).numpy()
    position, table = attention.position.detach().numpy(), attention.bias.detach().numpy()
    for head in range(heads):
        for row in range(2):
            logits = [
                q[row, head] @ (k[ball, head] + position[head, min(back, reach) - 1]) / 2
                + table[head] @ relations[0, row, ball].numpy()
                for ball, back in enumerate(distance[0, row].tolist())
            ]
            logits.append(q[row, head] @ own[row, head] / 2)
            np.testing.assert_allclose(weights[0, head, row], softmax(np.array(logits)), atol=EXACT)


@given(heads=st.integers(1, 4), queries=st.integers(1, 6), keys=st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_multi_head_attention_equals_torchs(heads: int, queries: int, keys: int) -> None:
    torch.manual_seed(heads)
    ours = MultiHeadAttention(12, heads)
    theirs = nn.MultiheadAttention(12, heads, bias=False, batch_first=True)
    with torch.no_grad():
        give_attention(theirs, ours)
    x, context = random(2, queries, 12), random(2, keys, 12, seed=1)
    bias = random(queries, keys, seed=2)
    expected, weights = theirs(x, context, context, attn_mask=bias, average_attn_weights=False)
    with record(ours) as recording:
        output = ours(x, context, bias=bias)
    torch.testing.assert_close(output, expected, atol=EXACT, rtol=0)
    torch.testing.assert_close(recording["probe"].weights, weights, atol=EXACT, rtol=0)


def test_causal_attention_equals_torchs_and_its_rows_can_be_worked_out_one_by_one() -> None:
    torch.manual_seed(0)
    module = MultiHeadAttention(8, 2, d_k=3, d_v=5, causal=True, project=False)
    x = random(2, 6, 8)
    keys, values = module.keys_and_values(x)
    queries = parts.split_heads(x @ module.W_Q, 2)
    expected = nn.functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
    torch.testing.assert_close(module(x), parts.join_heads(expected), atol=EXACT, rtol=0)
    rows = [
        module.attend(queries[:, :, i : i + 1], keys[:, :, : i + 1], values[:, :, : i + 1])
        for i in range(6)
    ]
    torch.testing.assert_close(torch.cat(rows, 1), module(x), atol=EXACT, rtol=0)


def test_multi_head_attention_equals_numpy() -> None:
    torch.manual_seed(1)
    module = MultiHeadAttention(6, 2, d_k=4, d_v=3, d_context=5)
    x, context = random(3, 6), random(4, 5, seed=1)
    w_q, w_k, w_v, w_o = (p.detach().numpy() for p in module.parameters())
    heads = []
    for h in range(2):
        q, k = x.numpy() @ w_q[:, 4 * h : 4 * h + 4], context.numpy() @ w_k[:, 4 * h : 4 * h + 4]
        v = context.numpy() @ w_v[:, 3 * h : 3 * h + 3]
        heads.append(softmax(q @ k.T / 2) @ v)
    expected = np.concatenate(heads, -1) @ w_o
    np.testing.assert_allclose(module(x, context).detach().numpy(), expected, atol=EXACT)


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ValueError, match="a width of 8 is not divisible by 3 heads; give d_k"):
        MultiHeadAttention(8, 3)
