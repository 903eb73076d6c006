"""The reference model tiny: its equations, its task, and what its attention means."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import attnlens
from attnlens.errors import CheckpointError
from attnlens.reference.tiny import (
    TinyTransformer,
    answers,
    load_tiny,
    partners,
    save_tiny,
    train_tiny,
)

EXACT = 1e-6
Array = np.ndarray[Any, Any]
Tokens = st.lists(st.integers(0, 9), min_size=5, max_size=5)


def by_numpy(model: TinyTransformer, tokens: list[int]) -> dict[str, Array]:
    """The equations of the design, in double precision."""
    w = {name: value.detach().double().numpy() for name, value in model.named_parameters()}
    h0 = w["E"][tokens]
    q, k, v = (h0 @ w[f"attention.W_{letter}"] for letter in "QKV")
    s = q @ k.T / math.sqrt(5)
    a = np.exp(s - s.max(1, keepdims=True))
    a /= a.sum(1, keepdims=True)
    h_attn = (a @ v) @ w["attention.W_O"]
    x = h0 + h_attn
    normed = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    h1 = normed * w["norm.weight"] + w["norm.bias"]
    inner = h1 @ w["W_1"]
    erf = np.vectorize(math.erf)
    h_ff = (inner * 0.5 * (1 + erf(inner / math.sqrt(2)))) @ w["W_2"]
    h2 = h1 + h_ff
    logits = h2 @ w["W_out"]
    return {
        "h_0": h0, "Q": q, "K": k, "V": v, "S": s, "A": a, "h_attn": h_attn, "h_1": h1,
        "h_ff": h_ff, "h_2": h2, "logits": logits, "y": logits.argmax(1),
    }  # fmt: skip


def test_it_has_260_parameters_as_the_design_counts_them() -> None:
    model = TinyTransformer()
    assert sum(one.numel() for one in model.parameters()) == 260
    assert 10 * 5 + 4 * 25 + 10 + 2 * 25 + 50 == 260
    biases = [name for name, _ in model.named_parameters() if "bias" in name]
    assert biases == ["norm.bias"], "no biases outside the norm"


@pytest.mark.parametrize("trained", [False, True])
@settings(max_examples=20, deadline=None)
@given(tokens=Tokens)
def test_every_traced_number_is_that_of_an_independent_forward_pass(
    trained: bool, tokens: list[int]
) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        model = load_tiny() if trained else TinyTransformer()
    trace = attnlens.trace(model, torch.tensor([tokens]), batched=True)
    expected = by_numpy(model, tokens)
    assert [step.symbol for step in trace.steps] == list(expected)
    for symbol, value in expected.items():
        # At the size of starting weights an absolute difference of 1e-6 is one of rounding.
        size = max(1.0, float(np.abs(value).max()))
        np.testing.assert_allclose(trace[symbol].numpy(), value, atol=EXACT * size)


def test_partners_are_answered_and_nothing_else() -> None:
    tokens = torch.tensor([[3, 6, 4, 4, 5], [0, 0, 0, 0, 0]])
    assert answers(tokens).tolist() == [[6, 3, 5, 5, 4], [0, 0, 0, 0, 0]]
    assert partners(tokens)[0, 2].tolist() == [False, False, False, False, True]


def test_training_is_the_same_for_the_same_seed_and_learns() -> None:
    state = torch.get_rng_state()
    one, other = train_tiny(seed=3, steps=30), train_tiny(seed=3, steps=30)
    assert torch.equal(torch.get_rng_state(), state), "the caller's random numbers are left alone"
    for mine, its in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, its)
    different = train_tiny(seed=4, steps=30)
    assert not torch.equal(one.E, different.E)
    tokens = torch.randint(10, (500, 5), generator=torch.Generator().manual_seed(1))
    right = one(tokens).argmax(-1) == answers(tokens)
    assert right.float().mean() > 0.3  # far above the tenth of guessing


def test_a_checkpoint_is_read_back_and_a_damaged_one_refused(tmp_path: Path) -> None:
    model = TinyTransformer(vocabulary=7, width=6, context=3, d_ff=11, heads=2)
    path = tmp_path / "odd.safetensors"
    save_tiny(path, model, {"task": "none"})
    read = load_tiny(path)
    assert read.sizes == model.sizes
    tokens = torch.tensor([[0, 6, 2]])
    assert torch.equal(read(tokens), model.eval()(tokens))
    path.write_bytes(path.read_bytes().replace(b'\\"d_ff\\": 11', b'\\"d_ff\\": 12'))
    with pytest.raises(CheckpointError, match="is damaged"):
        load_tiny(path)
