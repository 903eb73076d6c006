"""Models of the transformers library, made from a configuration, as they are used."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from attention_cases import without
from needed import skip_without
from torch import Tensor, nn

from attnlens.errors import IncompleteRecordingError, InterventionError
from attnlens.recording import intervene, record

skip_without("transformers")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

IDS = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])
LEFT_PADDED = torch.tensor([[0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]])
SMALL = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 40}
PLACES = {"max_position_embeddings": 20, "vocab_size": 50}


def made(name: str, how: str, kind: str = "Model", **sizes: Any) -> Any:
    import transformers

    config = getattr(transformers, f"{name}Config")(**sizes)
    config._attn_implementation = how
    torch.manual_seed(0)
    return getattr(transformers, f"{name}{kind}")(config).eval()


MODELS: dict[str, tuple[dict[str, Any], dict[str, Tensor]]] = {
    "GPT2": ({"n_layer": 2, "n_embd": 32, "n_head": 4, "vocab_size": 50}, {"input_ids": IDS}),
    "Llama": (
        {"num_hidden_layers": 2, "num_key_value_heads": 2, **SMALL, **PLACES},
        {"input_ids": IDS, "attention_mask": LEFT_PADDED},
    ),
    "Mistral": (
        {"num_hidden_layers": 2, "num_key_value_heads": 2, "sliding_window": 3, **SMALL, **PLACES},
        {"input_ids": IDS, "attention_mask": LEFT_PADDED},
    ),
    "Bert": (
        {"num_hidden_layers": 2, **SMALL, **PLACES},
        {"input_ids": IDS, "attention_mask": LEFT_PADDED.flip(1)},
    ),
    "T5": (
        {"num_layers": 2, "d_model": 32, "num_heads": 4, "d_kv": 8, "d_ff": 40, "vocab_size": 50},
        {"input_ids": IDS, "decoder_input_ids": IDS[:, :4]},
    ),
    "Whisper": (
        {
            "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 40,
            "encoder_attention_heads": 4, "decoder_attention_heads": 4, "decoder_ffn_dim": 40,
            "vocab_size": 50, "num_mel_bins": 8, "max_source_positions": 10,
            "max_target_positions": 10, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
            "decoder_start_token_id": 1,
        },
        {
            "input_features": torch.linspace(-1, 1, 320).view(2, 8, 20).sin(),
            "decoder_input_ids": IDS[:, :4],
        },
    ),
}  # fmt: skip


def asked(model: nn.Module, inputs: dict[str, Tensor]) -> list[Tensor]:
    """The weights that the library itself returns, in the order of its layers."""
    with torch.no_grad():
        told = model(**inputs, output_attentions=True)
    if "attentions" in told:
        return list(told["attentions"])
    decoder = zip(told["decoder_attentions"], told["cross_attentions"], strict=True)
    return [*told["encoder_attentions"], *(weights for pair in decoder for weights in pair)]


@pytest.mark.parametrize("how", ["eager", "sdpa"])
@pytest.mark.parametrize("name", MODELS)
def test_weights_are_those_the_library_returns(name: str, how: str) -> None:
    sizes, inputs = MODELS[name]
    expected = asked(made(name, "eager", **sizes), inputs)
    model = made(name, how, **sizes)
    with torch.no_grad():
        plain = model(**inputs)[0]
        with record(model, expected=len(expected)) as recording:
            output = model(**inputs)[0]
    assert torch.equal(plain, output)
    real = inputs.get("attention_mask", torch.ones(2, 6)).bool() if "input_ids" in inputs else None
    for entry, weights in zip(recording.records(), expected, strict=True):
        got = entry.weights
        assert entry.shape == tuple(weights.shape)
        if real is not None and weights.shape[2] == 6:
            # What padding looks at is left open: kernels differ there.
            got, weights = (part.masked_fill(~real[:, None, :, None], 0) for part in (got, weights))
        torch.testing.assert_close(got, weights, atol=2e-5, rtol=0)


@pytest.mark.parametrize("how", ["eager", "sdpa"])
@pytest.mark.parametrize(("name", "site"), [("GPT2", "h.1.attn"), ("Llama", "layers.1.self_attn")])
@torch.no_grad()
def test_changed_weights(name: str, how: str, site: str) -> None:
    sizes = MODELS[name][0]
    model, others = made(name, how, **sizes), made(name, "eager", **sizes)
    key = torch.arange(6) == 1
    head = torch.tensor([False, False, True, False]).view(4, 1, 1)
    uniform = torch.ones(6, 6).tril()
    uniform = uniform / uniform.sum(-1, keepdim=True)
    with record(model) as recording:
        plain = model(IDS)[0]
    before = recording[site].weights
    hidden = torch.from_numpy(without(before.double().numpy(), (key & head).numpy())).float()
    for edit, expected in (
        ({"hide": [1], "heads": 2}, hidden),
        ({"scale": 0.5, "keys": 1}, torch.where(key, before * 0.5, before)),
        ({"replace": uniform[None, None]}, uniform.expand(before.shape)),
    ):
        with intervene(model, sites=site, **edit) as changed, record(model) as recording:
            output = model(IDS)[0]
        assert changed == {site: 1}
        torch.testing.assert_close(recording[site].weights, expected, atol=2e-5, rtol=0)
        # The other way to attend, its weights replaced by these.
        with intervene(others, replace={site: expected}):
            torch.testing.assert_close(output, others(IDS)[0], atol=2e-5, rtol=0)
    assert torch.equal(model(IDS)[0], plain)


def test_biases_of_t5_stand_apart() -> None:
    sizes, inputs = MODELS["T5"]
    model = made("T5", "sdpa", **sizes)
    with torch.no_grad(), record(model, rows=[0, -1]) as recording:
        model(**inputs)
    entry = recording["encoder.block.1.layer.0.SelfAttention"]
    torch.testing.assert_close((entry.content + entry.bias).softmax(-1), entry.weights)


def test_generation_gives_a_record_per_step() -> None:
    model = made("GPT2", "sdpa", "LMHeadModel", **MODELS["GPT2"][0])
    steps = {"max_new_tokens": 3, "do_sample": False, "pad_token_id": 0}
    with record(model, rows=-1) as recording:
        model.generate(IDS, **steps)
    shapes = [entry.shape for entry in recording.calls("transformer.h.0.attn")]
    assert shapes == [(2, 4, 1, 6), (2, 4, 1, 7), (2, 4, 1, 8)]
    with intervene(model, hide=1), record(model) as recording:
        model.generate(IDS, **steps)
    entries = recording.calls("transformer.h.0.attn")
    assert [entry.shape[-1] for entry in entries] == [6, 7, 8]
    assert not any(entry.weights[..., 1].any() for entry in entries)
    told = r"the tensor of hide= has a wrong number of keys for some calls"
    with pytest.raises(InterventionError, match=told), intervene(model, hide=torch.arange(6) == 1):
        model.generate(IDS, **steps)


@pytest.mark.parametrize("options", [{"num_beams": 2}, {"cache_implementation": "static"}])
def test_steps_of_a_generation_are_rows_of_one_run(options: dict[str, Any]) -> None:
    sizes = {**MODELS["Llama"][0], "pad_token_id": 0}
    models = {how: made("Llama", how, "ForCausalLM", **sizes) for how in ("eager", "sdpa")}
    site = "model.layers.1.self_attn"
    asked = {"attention_mask": LEFT_PADDED, "max_new_tokens": 4, "do_sample": False, **options}
    plain = models["sdpa"].generate(IDS, **asked)
    found, texts = {}, {}
    for how, model in models.items():
        with record(model) as recording:
            texts[how] = model.generate(IDS, **asked)
        found[how] = recording.calls(site)
        if options.get("num_beams", 1) == 1:
            with intervene(model, hide=3, heads=2), record(model) as recording:
                model.generate(IDS, **asked)
            found[f"{how}, edited"] = recording.calls(site)
    assert torch.equal(texts["sdpa"], plain)
    assert torch.equal(texts["eager"], plain)
    for edited in ("", ", edited") if len(found) > 2 else ("",):
        pairs = list(zip(found[f"sdpa{edited}"], found[f"eager{edited}"], strict=True))
        assert len(pairs) == 4
        for step, (one, other) in enumerate(pairs):
            assert one.shape == other.shape
            assert one.shape[1:3] == (4, 1 if step else 6)
            got, weights = one.weights, other.weights
            if not step:
                beams = len(got) // 2
                real = LEFT_PADDED.repeat_interleave(beams, 0).bool()[:, None, :, None]
                got, weights = got * real, weights * real
            torch.testing.assert_close(got, weights, atol=2e-5, rtol=0)
            if edited:
                assert not got[:, 2, :, 3].any()
                assert got[:, 1, -1, 3].all()


def test_a_sink_takes_its_share() -> None:
    sizes = {**SMALL, **PLACES, "num_hidden_layers": 1, "num_key_value_heads": 2, "head_dim": 8}
    experts = {"num_local_experts": 2, "num_experts_per_tok": 1}
    model = made("GptOss", "eager", **sizes, **experts)
    (told,) = asked(model, {"input_ids": IDS})
    with torch.no_grad(), record(model, expected=1, values=True, outputs=True) as recording:
        model(IDS)
    (entry,) = recording.records()
    torch.testing.assert_close(entry.weights @ entry.values, entry.outputs, atol=2e-5, rtol=0)
    # The sink, a key that is no token, has no value: its share is missing from the rows.
    torch.testing.assert_close(entry.weights, told, atol=2e-5, rtol=0)
    assert (entry.weights.sum(-1) < 1).all()


def test_a_kernel_that_cannot_be_seen_is_named() -> None:
    import transformers

    sizes, inputs = MODELS["GPT2"]
    model = made("GPT2", "sdpa", **sizes)
    hidden = model.h[1].attn

    def opaque(module: Any, query: Tensor, key: Tensor, value: Tensor, *_: Any, **__: Any) -> Any:
        del module, key, value
        return query.transpose(1, 2), None

    transformers.AttentionInterface.register("opaque", opaque)
    hidden.config = transformers.GPT2Config(**sizes)
    hidden.config._attn_implementation = "opaque"
    told = (
        "h.1.attn: attention of GPT2Model ran, but the product of its weights and values was not "
        "seen (computed by 'opaque'?); if the attention has weights, load the model with "
        "attn_implementation='sdpa' or 'eager'"
    )
    with pytest.raises(IncompleteRecordingError, match=re.escape(told)), record(model):
        model(**inputs)


BLOCKS = {"block_size": 4, "vocab_size": 50, "max_position_embeddings": 128}
LONG = (torch.arange(64) % 40 + 3)[None]


def test_attention_of_blocks() -> None:
    sizes = {**SMALL, **BLOCKS, "num_hidden_layers": 1, "num_random_blocks": 2}
    model, site = made("BigBird", "eager", **sizes), "encoder.layer.0.attention.self"
    with record(model, values=True, outputs=True) as recording:
        model(LONG)
    assert len(recording.calls(site)) > 1
    whole = [entry for entry in recording.calls(site) if entry.values is not None]
    assert len(whole) > 1
    for entry in whole:
        torch.testing.assert_close(entry.weights @ entry.values, entry.outputs)


@pytest.mark.parametrize("how", ["eager", "sdpa"])
@pytest.mark.parametrize("name", ["GPT2", "Llama", "T5", "Whisper"])
def test_what_heads_give_is_what_is_projected(name: str, how: str) -> None:
    sizes, inputs = MODELS[name]
    model = made(name, how, **sizes)
    projected: list[Tensor] = []
    handles = [
        module.register_forward_pre_hook(lambda _, given: projected.append(given[0].clone()))
        for module in model.modules()
        if isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"
    ]
    with torch.no_grad():
        with record(model, values=True, outputs=True) as recording:
            plain = model(**inputs)[0]
        for handle in handles:
            handle.remove()
        for entry in recording.records():
            joined = entry.outputs.transpose(1, 2).flatten(2)
            alike = [one for one in projected if one.shape == joined.shape]
            assert any(torch.equal(one, joined) for one in alike)
            mixed = entry.weights @ entry.values
            torch.testing.assert_close(mixed, entry.outputs, atol=2e-5, rtol=0)
        with intervene(model, outputs=recording) as changed:
            torch.testing.assert_close(model(**inputs)[0], plain)
        assert list(changed.values()) == [1] * len(recording)


def test_what_mixes_beside_attention_is_told() -> None:
    convolved = made("ConvBert", "eager", num_hidden_layers=1, embedding_size=32, **SMALL, **PLACES)
    site = "encoder.layer.0.attention.self"
    with torch.no_grad(), record(convolved, values=True, outputs=True) as recording:
        convolved(IDS)
    # Attention, and a convolution whose kernel is worked out for every position.
    attention, kernel = sorted(recording.calls(site), key=lambda entry: -entry.shape[2])
    assert attention.shape == (2, 2, 6, 6)
    assert kernel.shape[3] == 9
