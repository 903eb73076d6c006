"""Time steps as labels for the attention of forecasting models.

``t`` is the first forecast step, and ``t-1`` is the last known step. The label of a patch gives its
first and last step, such as ``t-16..t-9``::

    with attnlens.record(model, adapters=ForecastAttention()) as recording:
        model(x)
    with_steps(recording, model)[site].sel(query="t+1", key="t-3")
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from torch import Tensor, nn

from attnlens.errors import RecordingError
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.recording import Recording

_FUSION: Final = "InterpretableMultiHeadAttention"
_SPARSE: Final = "InformerProbSparseAttention"

ACTIVE: Final = (
    "each head computes attention only for the queries that the head ranks as most active"
)

Span = tuple[int, int]
Labels = dict[str, tuple[str, ...]]


class ForecastAttention:
    """An adapter for forecasting models that compute attention in their own code.

    The adapter covers the heads of pytorch-forecasting's temporal fusion transformer (Lim et al.
    2021) and the sparse attention of Hugging Face's Informer (Zhou et al. 2021). PatchTST and the
    TimeSeriesTransformer need no adapter.
    """

    def matches(self, module: nn.Module) -> bool:
        """Whether the module is supported."""
        return type(module).__name__ in (_FUSION, _SPARSE)

    def records(self, module: nn.Module, args: Any, kwargs: Any, output: Any) -> Tensor:
        """Return the weights ``(batch, head, query, key)``, after dropout in training mode."""
        del args, kwargs
        weights: Tensor = output[1]
        return weights.transpose(1, 2) if type(module).__name__ == _FUSION else weights


def steps(past: int, ahead: int = 0) -> tuple[str, ...]:
    """Return the labels of steps: ``steps(2, 2)`` is ``("t-2", "t-1", "t", "t+1")``."""
    return tuple(_step_label((step, step)) for step in range(-past, ahead))


def patches(context: int, length: int, stride: int) -> tuple[str, ...]:
    """Return labels of patches of the last ``context`` steps. The last patch ends at ``t-1``."""
    starts = range(-length, -context - 1, -stride)
    return tuple(_step_label((start, start + length - 1)) for start in reversed(starts))


def with_steps(recording: Recording, model: nn.Module) -> Recording:
    """Return a copy of the recording with time steps as axis labels.

    Supported models are PatchTST, TimeSeriesTransformer and Informer of transformers, and the
    temporal fusion transformer of pytorch-forecasting. For another model, use `steps` and
    `Recording.labelled`.

    Raises:
        RecordingError: the model is not supported, or the time steps of a record are unknown.
    """
    config: Any = getattr(model, "config", None)
    kind = getattr(config, "model_type", "")
    if any(type(module).__name__ == _FUSION for module in model.modules()):
        kind = _FUSION
    if kind not in _LABELS:
        raise RecordingError(
            f"the time steps of {type(model).__name__} are unknown; the known models "
            "are PatchTST, TimeSeriesTransformer, Informer and the temporal fusion "
            "transformer; for another model use recording.labelled(key=steps(past, "
            "ahead))"
        )
    labelled = []
    for record in recording.records():
        if record.rows is not None:
            raise RecordingError(
                f"{record.site}: only some queries were recorded, so their time steps are "
                "unknown; record without rows= and select with sel(query=...)"
            )
        labels = _LABELS[kind](record, model, config)
        notes = [ACTIVE] if "active 1" in labels["query"] else []
        if kind in ("time_series_transformer", "informer"):
            lags = ", ".join(map(str, config.lags_sequence))
            notes.append(f"the token of each step contains the values from {lags} steps earlier")
        record = record.replaced(notes=(*record.notes, *notes))
        labelled.append(record.labelled(**labels))
    return Recording(labelled)


def _of_fusion(record: AttentionRecord, model: nn.Module, config: Any) -> Labels:
    """Queries are forecast steps, and keys are known and forecast steps."""
    del model, config
    *_, queries, keys = record.sizes
    n_known = keys - queries
    if record.keys is None and not bool(record.weights[..., n_known - 1].any(2).any(1).all()):
        raise RecordingError(
            f"{record.site}: the series of the batch have different lengths and are "
            "padded, so a position is not the same step in every series; record series "
            "of equal length together"
        )
    return {"query": steps(0, queries), "key": steps(n_known, queries)}


def _of_steps(record: AttentionRecord, model: nn.Module, config: Any) -> Labels:
    """Label an encoder with known steps, and a decoder with steps from ``t`` on."""
    *_, queries, keys = record.sizes
    *above, _, number, attention = record.site.split(".")
    if not above:
        raise RecordingError(f"{record.site}: record the whole model, not its encoder or decoder")
    decodes, crosses = above[-1] == "decoder", attention == "encoder_attn"
    spans = [(step, step) for step in range(-config.context_length, 0)]
    for _ in range(config.encoder_layers - 1 if crosses else int(number)):
        if getattr(config, "distil", False):
            spans = list(_distilled(spans))
    known_labels = tuple(map(_step_label, spans))
    query = steps(0, queries) if decodes else known_labels
    if type(dict(model.named_modules()).get(record.site)).__name__ == _SPARSE:
        query = tuple(f"active {index + 1}" for index in range(queries))
    return {"query": query, "key": steps(0, keys) if decodes and not crosses else known_labels}


def _of_patches(record: AttentionRecord, model: nn.Module, config: Any) -> Labels:
    """PatchTST connects either the patches of one channel or different channels."""
    del model
    names = patches(config.context_length, config.patch_length, config.patch_stride)
    names = ("class", *names) if config.use_cls_token else names
    channels = tuple(f"channel {index}" for index in range(config.num_input_channels))
    inner, outer = names, channels
    if config.channel_attention and record.call % 2:
        inner, outer = channels, names
    series = range(record.sizes[0] // len(outer))
    batch = tuple(f"series {number}, {name}" for number in series for name in outer)
    return {"batch": batch, "query": inner, "key": inner}


def _distilled(spans: list[Span]) -> Iterator[Span]:
    """Yield the spans of the positions after Informer's convolution and pooling.

    Every second position is kept. The new spans include two more positions on each side. The spans
    do not show that the circular convolution also connects the first and last positions.
    """
    last = len(spans) - 1
    for index in range(0, len(spans), 2):
        yield spans[max(0, index - 2)][0], spans[min(last, index + 2)][1]


def _step_label(span: Span) -> str:
    first, last = (f"t{step:+d}" if step else "t" for step in span)
    return first if first == last else f"{first}..{last}"


_LABELS: Final = {
    "patchtst": _of_patches,
    "time_series_transformer": _of_steps,
    "informer": _of_steps,
    _FUSION: _of_fusion,
}
