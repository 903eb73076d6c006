"""Forecasters of other libraries: their attention, with time steps as labels."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from needed import skip_without
from torch import Tensor, nn

import attnlens
from attnlens.errors import RecordingError
from attnlens.recording.time_series import ACTIVE, ForecastAttention, patches, steps, with_steps

skip_without("transformers")

CONTEXT, AHEAD, LAGS = 13, 5, [1, 3]
SMALL: dict[str, Any] = {
    "prediction_length": AHEAD,
    "context_length": CONTEXT,
    "lags_sequence": LAGS,
    "num_time_features": 1,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
}


def test_steps_and_patches() -> None:
    assert steps(2, 2) == ("t-2", "t-1", "t", "t+1")
    assert patches(17, 8, 4) == ("t-16..t-9", "t-12..t-5", "t-8..t-1")
    assert patches(4, 1, 2) == ("t-3", "t-1")


@pytest.mark.parametrize("channels_look", [False, True])
def test_patches_are_called_by_their_steps(channels_look: bool) -> None:
    import transformers

    config = transformers.PatchTSTConfig(
        num_input_channels=3,
        context_length=34,
        patch_length=8,
        patch_stride=8,
        d_model=16,
        num_attention_heads=2,
        num_hidden_layers=2,
        ffn_dim=16,
        use_cls_token=True,
        channel_attention=channels_look,
        attn_implementation="eager",
    )
    model = transformers.PatchTSTForPrediction(config).eval()
    with torch.no_grad(), attnlens.record(model) as recording:
        told = model(past_values=torch.randn(2, 34, 3), output_attentions=True)
    labelled = with_steps(recording, model)
    record = labelled.calls("model.encoder.layers.1.self_attn")[0]
    names = record.axes[-1].labels
    assert names is not None
    # What the library cuts, each value being its own step.
    held = model.model.patchifier(torch.arange(-34.0, 0).view(1, 34, 1).expand(1, 34, 3))[0, 0]
    cut = [f"t{int(one[0])}..t{int(one[-1])}" for one in held]
    assert names == ("class", *cut) == ("class", *patches(34, 8, 8))
    assert record.axes[0].labels == tuple(
        f"series {s}, channel {c}" for s in (0, 1) for c in range(3)
    )
    torch.testing.assert_close(record.weights, told.attentions[1].view_as(record.weights))
    looked = record.sel(batch="series 1, channel 2", query="class", key="t-16..t-9")
    assert looked.weights[0, :, 0, 0].equal(record.weights[5, :, 0, 3])
    if channels_look:
        other = labelled.calls("model.encoder.layers.1.self_attn")[1]
        assert other.axes[-1].labels == ("channel 0", "channel 1", "channel 2")
        assert other.names(0)[:2] == ("series 0, class", "series 0, t-32..t-25")


def forecaster(kind: str) -> tuple[Any, dict[str, Tensor]]:
    import transformers

    config = getattr(transformers, f"{kind}Config")(**SMALL)
    if kind == "Informer":
        config.sampling_factor = 2
    torch.manual_seed(0)
    model = getattr(transformers, f"{kind}ForPrediction")(config).eval()
    known = CONTEXT + max(LAGS)
    return model, {
        "past_values": torch.randn(2, known),
        "past_time_features": torch.zeros(2, known, 1),
        "past_observed_mask": torch.ones(2, known),
        "future_values": torch.randn(2, AHEAD),
        "future_time_features": torch.zeros(2, AHEAD, 1),
    }


def tokens_of(model: nn.Module, inputs: dict[str, Tensor]) -> list[Tensor]:
    """What each layer of the encoder is given, ``(step, width)`` of the first series."""
    kept: list[Tensor] = []
    hooks = [
        layer.register_forward_pre_hook(lambda _, given: kept.append(given[0][0]))
        for layer in model.get_submodule("model.encoder.layers")  # type: ignore[attr-defined]
    ]
    torch.manual_seed(1)
    with torch.no_grad():
        model(**inputs)
    for hook in hooks:
        hook.remove()
    return kept


@pytest.mark.parametrize("kind", ["TimeSeriesTransformer", "Informer"])
def test_steps_of_an_encoder_and_a_decoder(kind: str) -> None:
    model, inputs = forecaster(kind)
    adapter = ForecastAttention() if kind == "Informer" else None
    torch.manual_seed(1)
    with torch.no_grad(), attnlens.record(model, adapters=adapter, expected=4) as recording:
        output = model(**inputs)
    torch.manual_seed(1)
    with torch.no_grad():
        assert torch.equal(model(**inputs).loss, output.loss)
    labelled = with_steps(recording, model)
    cross = labelled["model.decoder.layers.0.encoder_attn"]
    first = labelled["model.encoder.layers.0.self_attn"]
    assert cross.axes[-2].labels == steps(0, AHEAD) == ("t", "t+1", "t+2", "t+3", "t+4")
    assert first.axes[-1].labels == steps(CONTEXT)
    assert "the token of each step contains the values from 1, 3 steps earlier" in first.notes
    # A value that is changed is held by the tokens that the note says.
    changed = inputs["past_values"].clone()
    changed[0, -4] += 1e-3 * changed[0, -4].sign()
    one, other = (
        tokens_of(model, inputs | {"past_values": x}) for x in (inputs["past_values"], changed)
    )
    scaled = (one[0] - other[0]).abs().amax(-1)
    assert set(scaled.topk(2).indices.tolist()) == {CONTEXT - 4 + lag for lag in LAGS}
    if kind == "Informer":
        assert first.axes[-2].labels is not None
        assert first.axes[-2].labels[0] == "active 1"
        assert ACTIVE in first.notes
        assert ACTIVE not in cross.notes


def test_what_informer_distils_is_called_by_all_it_holds() -> None:
    model, inputs = forecaster("Informer")
    with torch.no_grad(), attnlens.record(model, adapters=ForecastAttention()) as recording:
        model(**inputs)
    names = with_steps(recording, model)["model.decoder.layers.0.encoder_attn"].axes[-1].labels
    assert names is not None
    layer = model.model.encoder.conv_layers[0].eval()
    given = torch.randn(1, CONTEXT, 16, requires_grad=True)
    output = layer(given)
    assert len(names) == output.shape[1]
    for place in range(1, len(names) - 1):  # the ends are met by the circle, too
        moved = torch.autograd.grad(output[0, place].square().sum(), given, retain_graph=True)[0]
        reach = [step - CONTEXT for step in range(CONTEXT) if moved[0, step].any()]
        first, last = (int(part.removeprefix("t")) for part in names[place].split(".."))
        assert first <= min(reach) <= max(reach) <= last
        assert last - first == 4


def test_what_is_not_known_is_said() -> None:
    model = nn.TransformerEncoderLayer(8, 2, 8, batch_first=True).eval()
    with torch.no_grad(), attnlens.record(model) as recording:
        model(torch.randn(1, 3, 8))
    with pytest.raises(RecordingError, match="are unknown; the known models are PatchTST"):
        with_steps(recording, model)
    other, inputs = forecaster("TimeSeriesTransformer")
    with torch.no_grad(), attnlens.record(other, rows=-1) as part:
        other(**inputs)
    with pytest.raises(RecordingError, match="only some queries were recorded"):
        with_steps(part, other)
    encoder = other.model.encoder
    with torch.no_grad(), attnlens.record(encoder) as alone:
        encoder(
            inputs_embeds=torch.randn(
                1, CONTEXT, encoder.value_embedding.value_projection.in_features
            )
        )
    with pytest.raises(RecordingError, match="record the whole model, not its encoder"):
        with_steps(alone, encoder)


@pytest.mark.filterwarnings("ignore")  # of pytorch-forecasting, of itself
def test_the_temporal_fusion_transformer() -> None:
    skip_without("pytorch_forecasting")
    import numpy as np
    import pandas as pd
    from pytorch_forecasting import TemporalFusionTransformer, TimeSeriesDataSet

    frame = pd.DataFrame(
        {
            "time": np.tile(np.arange(30), 2),
            "series": np.repeat(["a", "b"], 30),
            "value": np.random.default_rng(0).normal(size=60),
        }
    )
    data = TimeSeriesDataSet(
        frame,
        time_idx="time",
        target="value",
        group_ids=["series"],
        min_encoder_length=4,
        max_encoder_length=7,
        max_prediction_length=3,
        time_varying_unknown_reals=["value"],
    )
    model = TemporalFusionTransformer.from_dataset(
        data, hidden_size=8, attention_head_size=2, hidden_continuous_size=4, dropout=0.0
    ).eval()
    batch, _ = next(iter(data.to_dataloader(train=False, batch_size=64)))
    whole = batch["encoder_lengths"] == 7
    assert 0 < whole.sum() < len(whole)
    full = {
        key: value[whole] if isinstance(value, Tensor) else value for key, value in batch.items()
    }
    full["target_scale"] = batch["target_scale"][whole]
    with torch.no_grad(), attnlens.record(model, adapters=ForecastAttention()) as recording:
        told = model(full)
    record = with_steps(recording, model)["multihead_attn"]
    assert record.axes[-2].labels == ("t", "t+1", "t+2")
    assert record.axes[-1].labels == steps(7, 3)
    library = torch.cat([told["encoder_attention"], told["decoder_attention"]], -1)
    torch.testing.assert_close(record.weights, library.transpose(1, 2))
    with torch.no_grad(), attnlens.record(model, adapters=ForecastAttention()) as mixed:
        model(batch)
    with pytest.raises(RecordingError, match="have different lengths and are padded"):
        with_steps(mixed, model)
