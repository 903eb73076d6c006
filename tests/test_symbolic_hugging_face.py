"""`describe` and `trace` of the transformers library's models, made from a configuration."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import attnlens
from attnlens.symbolic import Value

transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

IDS = torch.tensor([[3, 1, 4, 1, 5, 9]])
WORDS = {"vocab_size": 50, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
PLACES = {"max_position_embeddings": 20, **WORDS}
LAYER = {"num_hidden_layers": 1, "hidden_size": 32, "num_attention_heads": 4}
SMALL = {**LAYER, "intermediate_size": 40, **PLACES}
SHARED = {"num_key_value_heads": 2, **SMALL}
STACK = {"layers": 1, "attention_heads": 4, "ffn_dim": 40}
BOTH = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in STACK.items()}

CAUSAL: dict[str, dict[str, Any]] = {
    "GPT2": {"n_layer": 1, "n_embd": 32, "n_head": 4, "n_positions": 20, **WORDS},
    "Llama": SHARED,
    "GPTNeoX": SMALL,
    "OPT": {"ffn_dim": 40, "word_embed_proj_dim": 32, **LAYER, **PLACES},
    "Bloom": {"n_layer": 1, "hidden_size": 32, "n_head": 4, **WORDS},
    "Gemma": {"head_dim": 8, **SHARED},
}

T5 = {"d_model": 32, "num_layers": 1, "num_heads": 4, "d_kv": 8, "d_ff": 40}
TWO_STACKS: dict[str, dict[str, Any]] = {
    "T5": {"decoder_start_token_id": 0, **T5, **WORDS},
    "Bart": {"d_model": 32, "decoder_start_token_id": 1, **BOTH, **PLACES},
}


def made(name: str) -> tuple[Any, tuple[Any, ...]]:
    """A small model with a cache, and what it is called with."""
    sizes = CAUSAL.get(name) or TWO_STACKS[name]
    config = getattr(transformers, f"{name}Config")(**sizes)
    kind = "ForCausalLM" if name in CAUSAL else "ForConditionalGeneration"
    model = {"GPT2": "GPT2LMHeadModel"}.get(name, f"{name}{kind}")
    torch.manual_seed(0)
    inputs = (IDS,) if name in CAUSAL else (IDS, None, IDS[:, :4].flip(1))
    return getattr(transformers, model)(config).eval(), inputs


def largest(value: Tensor) -> float:
    """The largest finite number, for what a difference is to be measured by; at least 1."""
    return max(1.0, float(value[value.isfinite()].double().abs().max()))


def of_attention(steps: tuple[Value, ...]) -> list[Value]:
    return [one for one in steps if one.description == "attention"]


@pytest.mark.parametrize("name", [*CAUSAL, *TWO_STACKS])
def test_a_model_with_a_cache_is_traced_and_every_equation_holds(name: str) -> None:
    model, inputs = made(name)
    trace = attnlens.trace(model, *inputs)
    with torch.no_grad():
        assert torch.equal(trace.output[0], model(*inputs)[0])
    assert len(trace.steps) > 8
    assert trace.unchecked == ()
    for one in trace.steps:
        assert one.difference is not None
        assert one.difference < 1e-5 * largest(one.values), one.text
    assert trace.steps[-1].values.shape == trace.output[0].shape


def test_the_attention_of_gpt2_is_told_as_it_is_on_paper() -> None:
    model, inputs = made("GPT2")
    told = {one.symbol: one.text for one in attnlens.describe(model, *inputs).equations}
    assert told["S_i"] == "S_i = h_c_attn[…, 0:32]_i h_c_attn[…, 32:64]_iᵀ / √8"
    assert told["A_i"] == "A_i = softmax(S_i; later hidden)"
    assert not any("concat(," in text or "concat()" in text for text in told.values())


def test_heads_that_share_keys_are_told_step_by_step() -> None:
    model, inputs = made("Llama")
    (weights,) = of_attention(attnlens.trace(model, *inputs).steps)
    assert weights.text == "A_i = softmax(S_i; later hidden)"
    assert weights.values.shape == (4, 1, 6, 6)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        (expected,) = model(*inputs, output_attentions=True).attentions
    torch.testing.assert_close(weights.values.movedim(0, 1), expected)
    notation = attnlens.describe(model, *inputs).notation
    assert any("1 to 2 or 4" in line and "several" in line for line in notation)
