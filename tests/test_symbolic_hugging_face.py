"""`describe` and `trace` of the transformers library's models, made from a configuration."""

from __future__ import annotations

import os

import pytest
import torch
from text_models import ARCHITECTURES, small
from torch import Tensor

import attnlens
from attnlens.reference.symbolic import Value

transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore:Initializing zero-element"
)

FEW = "gpt2 codegen llama gpt_neox opt bloom gemma gpt_oss xglm qwen3_next bert t5 bart".split()  # noqa: SIM905
WHOLE = os.environ.get("ATTNLENS_ALL_ARCHITECTURES") == "1"
TYPES = [
    (kind, name) for kind, names in ARCHITECTURES.items() for name in names if WHOLE or name in FEW
]


def largest(value: Tensor) -> float:
    """The largest finite number, for what a difference is to be measured by; at least 1."""
    return max(1.0, float(value[value.isfinite()].double().abs().max()))


def of_attention(steps: tuple[Value, ...]) -> list[Value]:
    return [one for one in steps if one.description == "attention"]


@pytest.mark.parametrize(("kind", "name"), TYPES)
def test_a_language_model_is_traced_and_its_equations_hold(kind: str, name: str) -> None:
    model, inputs = small(kind, name)
    trace = attnlens.trace(model, **inputs)
    with torch.no_grad():
        assert torch.equal(trace.output[0], model(**inputs)[0])
    checked = [one for one in trace.steps if one.difference is not None]
    assert len(checked) > 8
    for one in checked:
        assert one.difference < 1e-4 * largest(one.values), one.text
    told = attnlens.describe(model, **inputs)
    if name not in ("big_bird", "bigbird_pegasus", "rwkv"):  # which change themselves when they run
        assert [one.text for one in told.equations] == [one.text for one in trace.steps]
    assert max(len(one.text) for one in told.equations) < 1000


def test_what_numpy_cannot_work_out_again_is_experts_and_recurrences_alone() -> None:
    for name in sorted({*FEW} - {"gpt_oss", "qwen3_next"}):
        (kind,) = [kind for kind, names in ARCHITECTURES.items() if name in names]
        model, inputs = small(kind, name)
        assert attnlens.trace(model, **inputs).unchecked == (), name
    model, inputs = small("causal", "gpt_oss")
    trace = attnlens.trace(model, **inputs)
    opaque = [one.text for one in trace.steps if one.difference is None]
    assert opaque
    assert all("_grouped_mm" in text or "topk" in text for text in opaque)


def test_the_attention_of_gpt2_is_told_as_it_is_on_paper() -> None:
    model, inputs = small("causal", "gpt2")
    told = {one.symbol: one.text for one in attnlens.describe(model, **inputs).equations}
    keys = "h_c_attn^(0)[…, 32:64]_iᵀ"
    assert told["S_i^(0)"] == f"S_i^(0) = h_c_attn^(0)[…, 0:32]_i {keys} / √8"
    assert told["A_i^(0)"] == "A_i^(0) = softmax(S_i^(0); later hidden)"
    assert not any("concat(," in text or "concat()" in text for text in told.values())


def test_heads_that_share_keys_are_told_step_by_step() -> None:
    model, inputs = small("causal", "llama")
    weights, _ = of_attention(attnlens.trace(model, **inputs).steps)
    assert weights.text == "A_i^(0) = softmax(S_i^(0); later hidden)"
    assert weights.values.shape == (4, 1, 6, 6)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        expected, _ = model(**inputs, output_attentions=True).attentions
    torch.testing.assert_close(weights.values.movedim(0, 1), expected)
    notation = attnlens.describe(model, **inputs).notation
    assert any(
        "1 to 2 or 4" in line and "consecutive heads use the same part" in line for line in notation
    )
