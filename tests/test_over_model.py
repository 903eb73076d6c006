"""The reference model ``cricket``: its equations against torch's own modules, and decoding."""

from __future__ import annotations

import math

import pytest
import torch
from overs import SIZES, inputs, small_model
from torch import Tensor, nn
from torch_layers import give_attention, give_feed_forward

import attnlens
from attnlens.cricket.over.encoder_decoder import (
    END,
    PAD,
    START,
    Choice,
    OverModel,
    OverSizes,
    decode,
)
from attnlens.recording.probe import steps_told_to

# Torch's layers know heads that share the width between them, so here d = heads * d_k.
SHARED = OverSizes(
    history=13, features=5, d=12, heads=3, d_k=4, ff=17, context=7, tokens=24, length=6
)


def waves(length: int, width: int) -> Tensor:
    table = torch.zeros(length, width)
    for k in range(length):
        for i in range(width // 2):
            table[k, 2 * i] = math.sin(k / 10_000 ** (2 * i / width))
            table[k, 2 * i + 1] = math.cos(k / 10_000 ** (2 * i / width))
    return table


@torch.no_grad()
def by_torch(
    model: OverModel, history: Tensor, padded: Tensor, context: Tensor, tokens: Tensor
) -> Tensor:
    """The same logits from torch's own encoder and decoder layers."""
    sizes = model.sizes
    options = {"dropout": 0.0, "batch_first": True}
    encoder = nn.TransformerEncoderLayer(sizes.d, sizes.heads, sizes.ff, **options).eval()
    decoder = nn.TransformerDecoderLayer(sizes.d, sizes.heads, sizes.ff, **options).eval()
    give_attention(encoder.self_attn, model.encoder.attention)
    give_feed_forward(encoder, model.encoder.feed_forward)
    give_attention(decoder.self_attn, model.decoder.self_attention)
    give_attention(decoder.multihead_attn, model.decoder.cross_attention)
    give_feed_forward(decoder, model.decoder.feed_forward)
    for theirs, own in (
        (encoder.norm1, model.encoder.norm_1),
        (encoder.norm2, model.encoder.norm_2),
        (decoder.norm1, model.decoder.norm_1),
        (decoder.norm2, model.decoder.norm_2),
        (decoder.norm3, model.decoder.norm_3),
    ):
        theirs.load_state_dict(own.state_dict())
    balls, places = history.shape[1], tokens.shape[1]
    at = waves(sizes.history, sizes.d)[sizes.history - balls :]
    x = nn.functional.linear(history, model.encoder.W_in.T) * math.sqrt(sizes.d) + at
    memory = encoder(x, src_key_padding_mask=padded)
    y = nn.functional.embedding(tokens, model.decoder.E) * math.sqrt(sizes.d)
    y = y + waves(sizes.length, sizes.d)[:places]
    y[:, 0] += nn.functional.linear(context, model.decoder.W_ctx.T)
    causal = nn.Transformer.generate_square_subsequent_mask(places)
    y = decoder(y, memory, tgt_mask=causal, memory_key_padding_mask=padded, tgt_is_causal=True)
    return nn.functional.linear(y, model.decoder.W_out.T, model.decoder.b)


@pytest.mark.parametrize("balls", [1, 6, 13])
def test_the_logits_are_those_of_torchs_own_layers(balls: int) -> None:
    model = small_model(sizes=SHARED)
    told = inputs(3, balls, 6, SHARED)
    with torch.no_grad():
        own = model(*told)
    assert own.shape == (3, 6, 24)
    theirs = by_torch(model, *told)
    torch.testing.assert_close(own, theirs, atol=1e-6, rtol=1e-6)
    assert float(own.std()) > 0.1


def test_the_reference_configuration_is_the_default() -> None:
    sizes = OverSizes()
    assert (sizes.history, sizes.features, sizes.context, sizes.tokens) == (128, 18, 20, 24)
    assert (sizes.d, sizes.heads, sizes.d_k, sizes.ff, sizes.length) == (512, 8, 64, 2048, 6)
    assert sizes.dropout == 0.1
    model = OverModel()
    # Three attentions of four matrices, two feed-forwards, five norms, five matrices, one bias.
    attentions, feed_forwards = 3 * 4 * 512 * 8 * 64, 2 * (2 * 512 * 2048 + 2048 + 512)
    expected = attentions + feed_forwards + 5 * 2 * 512 + 512 * (18 + 24 + 20 + 24) + 24
    counted = sum(parameter.numel() for parameter in model.parameters())
    assert counted == expected == sizes.parameters == 7_394_328
    biases = [name for name, _ in model.named_parameters() if name.rpartition(".")[2][0] == "b"]
    inner = [f"{part}.feed_forward.b_{n}" for part in ("decoder", "encoder") for n in (1, 2)]
    assert sorted(name for name in biases if "norm" not in name) == ["decoder.b", *inner]


def test_padding_on_the_left_changes_nothing() -> None:
    model = small_model()
    history, padded, context, tokens = inputs(balls=7)
    longer = torch.cat([torch.randn(2, 4, SIZES.features), history], 1)
    more = torch.cat([torch.ones(2, 4, dtype=torch.bool), padded], 1)
    with torch.no_grad():
        plain = model(history, padded, context, tokens)
        other = model(longer, more, context, tokens)
    torch.testing.assert_close(plain, other, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("balls", [0, 4])
def test_a_past_of_no_balls_is_looked_at_with_zeros(balls: int) -> None:
    model = small_model()
    history, _, context, tokens = inputs(2, balls)
    padded = torch.ones(2, balls, dtype=torch.bool)
    found: dict[str, Tensor] = {}
    with torch.no_grad():
        if balls:
            with attnlens.record(model) as recording:
                model(history, padded, context, tokens)
            for site in ("encoder.attention", "decoder.cross_attention"):
                assert recording[site].weights.abs().sum() == 0
        with steps_told_to(lambda symbol, value, *_: found.setdefault(symbol, value)):
            logits = model(history, padded, context, tokens)
        alone = model.decoder.norm_2(found["Y_1"])
    torch.testing.assert_close(found["Y_2"], alone)
    assert bool(logits.isfinite().all())


def test_greedy_takes_the_likeliest_token_until_the_end() -> None:
    model = small_model(seed=8)
    parts = inputs()[:3]
    with torch.no_grad():
        decoded = decode(model, *parts, Choice())
        for row in range(2):
            tokens = [START]
            for place in range(SIZES.length):
                one_row = (part[row : row + 1] for part in parts)
                logits = model(*one_row, torch.tensor([tokens]))[0, -1]
                logits[[PAD, START]] = -math.inf
                token = int(logits.argmax())
                assert int(decoded[row, place]) == token
                if token == END:
                    padding = [PAD] * (SIZES.length - place - 1)
                    assert decoded[row, place + 1 :].tolist() == padding
                    break
                tokens.append(token)


def test_what_is_drawn_follows_temperature_and_top_k() -> None:
    model = small_model()
    parts = inputs()[:3]
    with torch.no_grad():
        logits = model(*parts, torch.full((2, 1), START))[:, 0].double()
    logits[:, [PAD, START]] = -math.inf

    def drawn(seed: int, samples: int = 300, **options: float) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        choice = Choice(greedy=False, **options)
        tokens = decode(model, *parts, choice, samples=samples, generator=generator)
        return tokens[:, 0].view(2, samples)

    for temperature in (0.5, 1.0, 3.0):
        expected = (logits / temperature).softmax(-1)
        found = drawn(1, 4000, temperature=temperature)
        share = torch.stack([(found == token).double().mean(1) for token in range(24)], 1)
        assert float((share - expected).abs().max()) < 0.035
    few = drawn(2, top_k=3)
    for row in range(2):
        assert set(few[row].tolist()) == set(logits[row].topk(3).indices.tolist())
    assert bool((drawn(3, temperature=0.01) == logits.argmax(-1, keepdim=True)).all())
    assert torch.equal(drawn(4), drawn(4))
    assert not torch.equal(drawn(4), drawn(5))
