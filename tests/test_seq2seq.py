"""The encoder-decoder: its positions, its blocks against torch's own, padding, decoding."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_layers import give_attention, give_feed_forward

import attnlens
from attnlens.reference.transformer import (
    BOS,
    EOS,
    PAD,
    Seq2Seq,
    Seq2SeqSizes,
    sinusoids,
)

SIZES = Seq2SeqSizes(31, 17, 11, 7, width=12, heads=3, d_ff=20)


def model_of(**changes: object) -> Seq2Seq:
    sizes = {name: getattr(SIZES, name) for name in SIZES.__dataclass_fields__}
    torch.manual_seed(3)
    return Seq2Seq(Seq2SeqSizes(**{**sizes, **changes})).double().eval()  # type: ignore[arg-type]


def inputs() -> tuple[Tensor, Tensor]:
    """Sources (5, 11) and targets (5, 7), some of them padded."""
    random = torch.Generator().manual_seed(4)
    source = torch.randint(4, 31, (5, 11), generator=random)
    target = torch.randint(4, 17, (5, 7), generator=random)
    target[:, 0] = BOS
    for row, (long, short) in enumerate(((11, 7), (6, 7), (11, 3), (1, 1), (9, 5))):
        source[row, long:] = PAD
        target[row, short:] = PAD
    return source, target


@given(
    length=st.integers(0, 40),
    width=st.integers(1, 33),
    base=st.sampled_from([10.0, 100.0, 10_000.0]),
)
@settings(max_examples=60, deadline=None)
def test_positions_are_the_waves_of_the_equation(length: int, width: int, base: float) -> None:
    expected = np.zeros((length, width))
    for place in range(length):
        for column in range(width):
            angle = place / base ** (2 * (column // 2) / width)
            expected[place, column] = np.cos(angle) if column % 2 else np.sin(angle)
    found = sinusoids(length, width, base)
    assert found.dtype == torch.get_default_dtype()
    assert found.shape == (length, width)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


def _moved(model: nn.Module) -> None:
    """Biases, gammas and betas that are not where they begin."""
    for number, one in enumerate(model.parameters()):
        if one.dim() == 1:
            one += 0.1 * torch.randn(one.shape, generator=torch.Generator().manual_seed(number))


@torch.no_grad()
def test_the_model_is_torchs_own_layers_put_together() -> None:
    model = model_of(encoder_layers=2, decoder_layers=2)
    _moved(model)
    source, target = inputs()
    places = sinusoids(11, 12).double()
    hidden, begun = source == PAD, target == PAD
    memory = model.E_source[source] + places
    for block in model.encoder:
        theirs = nn.TransformerEncoderLayer(12, 3, 20, dropout=0.0, batch_first=True).double()
        give_attention(theirs.self_attn, block.self_attention)
        give_feed_forward(theirs, block.feed_forward)
        theirs.norm1.load_state_dict(block.add_attention.norm.state_dict())
        theirs.norm2.load_state_dict(block.add_feed_forward.norm.state_dict())
        memory = theirs(memory, src_key_padding_mask=hidden)
    x = model.E_target[target] + places[:7]
    later = torch.ones(7, 7, dtype=torch.bool).triu(1)
    for block in model.decoder:
        layer = nn.TransformerDecoderLayer(12, 3, 20, dropout=0.0, batch_first=True).double()
        give_attention(layer.self_attn, block.self_attention)
        give_attention(layer.multihead_attn, block.cross_attention)
        give_feed_forward(layer, block.feed_forward)
        layer.norm1.load_state_dict(block.add_self.norm.state_dict())
        layer.norm2.load_state_dict(block.add_cross.norm.state_dict())
        layer.norm3.load_state_dict(block.add_feed_forward.norm.state_dict())
        masks = {"tgt_key_padding_mask": begun, "memory_key_padding_mask": hidden}
        x = layer(x, memory, tgt_mask=later, **masks)
    expected = x @ model.W_out + model.b_out
    torch.testing.assert_close(model(source, target), expected, atol=1e-6, rtol=0)


@torch.no_grad()
def test_padding_is_hidden_everywhere() -> None:
    model = model_of(encoder_layers=2, decoder_layers=2)
    source, target = inputs()
    full = model(source, target)
    with attnlens.record(model) as recording:
        model(source, target)
    for record in recording.records():
        keys = target if ".self" in record.site and "decoder" in record.site else source
        assert not record.weights.masked_select((keys == PAD)[:, None, None, :]).any(), record.site
    model.E_source[PAD] = 1e6
    model.E_target[PAD] = -1e6
    real = target != PAD
    torch.testing.assert_close(model(source, target)[real], full[real], atol=0, rtol=0)
    for row in range(5):
        alone = model(source[row : row + 1, : (source[row] != PAD).sum()], target[row : row + 1])
        torch.testing.assert_close(alone[0][real[row]], full[row][real[row]], atol=1e-9, rtol=0)


@torch.no_grad()
def test_what_is_written_is_the_likeliest_token_each_time() -> None:
    model = model_of(encoder_layers=2, decoder_layers=3)
    source, _ = inputs()
    written = model.generate(source)
    begun = torch.full((5, 1), BOS)
    done = torch.zeros(5, dtype=torch.bool)
    for place in range(written.tokens.shape[1]):
        shares = model(source, begun)[:, -1].softmax(-1)
        best = shares.clone()
        best[:, [PAD, BOS]] = -1
        token = torch.where(done, PAD, best.argmax(-1))
        assert token.tolist() == written.tokens[:, place].tolist()
        live = ~done
        torch.testing.assert_close(
            written.probabilities[live, place], shares[live], atol=1e-9, rtol=0
        )
        done |= token == EOS
        begun = torch.cat((begun, token[:, None]), 1)
    assert written.tokens.shape[1] == 7 or bool(done.all())
    assert not (written.tokens == BOS).any()


@torch.no_grad()
def test_an_answer_stops_at_its_end() -> None:
    model = model_of()
    model.b_out[EOS] = 1e3
    written = model.generate(inputs()[0])
    assert written.tokens.tolist() == [[EOS]] * 5
    model.b_out[EOS] = -1e3


def test_an_output_matrix_only_where_values_have_another_width() -> None:
    plain, wide = model_of(), model_of(d_k=5, d_v=7)
    for block in (plain.encoder[0], plain.decoder[0]):
        assert block.self_attention.W_O is None
    assert wide.decoder[0].cross_attention.W_O.shape == (21, 12)
    assert wide(*inputs()).shape == (5, 7, 17)
