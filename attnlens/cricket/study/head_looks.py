"""What heads looked at on many balls, from one recorded pass over a sample.

Keys are put on one axis for all: the balls of the innings, in order. On the long scale,
whose keys are overs, an over's weight is split evenly over its balls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from attnlens.analysis.heads import past_shares, softmax_shares, tensors_seen
from attnlens.arrays import Flags, Floats, Integers
from attnlens.cricket.explain.reading import SITES, SLOT_SITE
from attnlens.cricket.model.heads import SCALES
from attnlens.cricket.model.predictor import FullModel, Prediction
from attnlens.cricket.model.relations import RECENCY, Batch, relate
from attnlens.cricket.model.within_ball import SLOTS, slot_masks
from attnlens.cricket.study.sampling import HeadSample
from attnlens.recorder import record
from attnlens.recording.record import AttentionRecord

NEAR: Final = {"micro": 2, "short": 4, "medium": 6, "long": 6, "slots": 6}
"""A head that favours this many nearest balls is a recency head."""


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """What some heads looked at, over all sampled balls (the rows).

    A key is a ball of the row's innings, by its place from 0. Shares sum to 1 over the keys
    that a row's heads could see, and are NaN in rows where they could see none.

    Attributes:
        full: shares of past attention ``(row, head, key)``.
        bias_only: what the built-in biases alone would give, same shape.
        content_only: what query times key (and place) alone would give, same shape.
        own: weight on the current ball itself, or on nothing ``(row, head)``.
        bias_share: how much of the preference is built in ``(row, head)``.
        visible: ``(row, key)``.
        held: which relations a key has to the query, 0 or 1, ``(row, key, relation)`` in the
            order of `attnlens.cricket.model.relations.RELATIONS`; recency is being among the
            `NEAR` nearest.
        distance: deliveries back ``(row, key)``.
    """

    full: Floats
    bias_only: Floats
    content_only: Floats
    own: Floats
    bias_share: Floats
    visible: Flags
    held: Floats
    distance: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Passed:
    """What one pass over the sample left behind.

    Attributes:
        probabilities: ``(row, outcome)``.
        looks: by scale, and by slot under ``slots.<name>``.
        gates: fusion weights ``(row, source)``.
        means: mean over rows of what some modules were given or gave, by module path.
        key_shares: how much of each key of a site has each relation, by batch and site,
            ``(innings, query, key, relation)``; for hiding keys from one head.
        key_visible: likewise which keys the site's heads could see, ``(innings, query, key)``.
    """

    probabilities: Floats
    looks: dict[str, Looks]
    gates: Floats
    means: dict[str, Tensor]
    key_shares: list[dict[str, Floats]]
    key_visible: list[dict[str, Flags]]


def pass_over(
    model: FullModel, sample: HeadSample, inputs: Sequence[str], outputs: Sequence[str]
) -> Passed:
    """One recorded pass.

    Args:
        inputs, outputs: paths of modules whose mean input or output is wanted.
    """
    found, gates = [], []
    parts: dict[str, list[Looks]] = {}
    sums: dict[str, Tensor] = {}
    key_shares, key_visible = [], []
    given = {path: model.get_submodule(path) for path in inputs}
    gave = {path: model.get_submodule(path) for path in outputs}
    for batch, asked in zip(sample.batches, sample.asked, strict=True):
        with torch.no_grad(), record(model) as recording, tensors_seen(given, gave) as seen:
            prediction: Prediction = model.predict(batch)
        found.append(prediction.logits[asked].double().softmax(-1).numpy())
        gates.append(prediction.gates[asked].double().numpy())
        for path, value in seen.items():
            total = value[asked].double().sum(0)
            sums[path] = sums[path] + total if path in sums else total
        shares: dict[str, Floats] = {}
        visible: dict[str, Flags] = {}
        for name, entry, view in _views(batch, recording):
            parts.setdefault(name, []).append(view.looks(entry, asked.numpy()))
            shares[name], visible[name] = view.key_shares, view.key_visible
        key_shares.append(shares)
        key_visible.append(visible)
    rows = max(len(sample), 1)
    return Passed(
        np.concatenate(found),
        {name: _joined(looks) for name, looks in parts.items()},
        np.concatenate(gates),
        {path: (total / rows).float() for path, total in sums.items()},
        key_shares,
        key_visible,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """How one site's keys stand to the balls of the innings, for one batch.

    Attributes:
        heads: which heads of the site these are.
        visible, held, distance: as in `Looks` with ``(innings, query)`` for ``row``.
        spread: from the site's keys to balls, ``(innings, query, key) -> (…, ball)``, each
            key's value split evenly over its balls.
        key_shares, key_visible: as in `Passed`.
        own: whether the last key is no past ball (the query itself, or nothing).
    """

    heads: slice
    visible: Flags
    held: Floats
    distance: Integers
    spread: Callable[[Floats], Floats]
    key_shares: Floats
    key_visible: Flags
    own: bool

    def looks(self, entry: AttentionRecord, asked: Flags) -> Looks:
        """The sampled balls' rows."""
        assert entry.content is not None
        assert entry.bias is not None
        weights, content, bias = (
            part.double().numpy()[:, self.heads].transpose(0, 2, 1, 3)
            for part in (entry.weights, entry.content, entry.bias)
        )
        own = weights[..., -1] if self.own else np.zeros(weights.shape[:-1])
        if self.own:
            weights, content, bias = weights[..., :-1], content[..., :-1], bias[..., :-1]
        keys = self.key_visible[asked]
        kept = np.flatnonzero(asked.ravel())

        def balls(shares: Floats) -> Floats:
            """``(row, head, key) -> (row, head, ball)``."""
            blank = np.zeros((asked.size, *shares.shape[1:]))
            blank[kept] = shares
            whole = blank.reshape(*asked.shape, *shares.shape[1:])
            return self.spread(whole)[asked]

        return Looks(
            full=balls(past_shares(weights[asked])),
            bias_only=balls(softmax_shares(bias[asked], keys)),
            content_only=balls(softmax_shares(content[asked], keys)),
            own=own[asked],
            bias_share=built_in(bias[asked], content[asked], keys),
            visible=self.visible[asked],
            held=self.held[asked],
            distance=self.distance[asked],
        )


def built_in(bias: Floats, content: Floats, visible: Flags) -> Floats:
    """The biases' part of the variance of the logits over visible keys, ``(row, head)``.

    NaN where fewer than two keys are visible, or nothing varies; as
    `attnlens.cricket.explain.reading.bias_shares` says of one ball.
    """
    count = visible.sum(-1)[:, None]

    def variance(logits: Floats) -> Floats:
        seen = np.where(visible[:, None], logits, 0.0)
        mean = seen.sum(-1) / count.clip(1)
        off = np.where(visible[:, None], logits - mean[..., None], 0.0)
        result: Floats = (off * off).sum(-1)
        return result

    told, other = variance(bias), variance(content)
    total = told + other
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((count >= 2) & (total > 0), told / total, np.nan)


def _views(
    batch: Batch, entries: Mapping[str, AttentionRecord]
) -> Iterator[tuple[str, AttentionRecord, _View]]:
    sequence = batch["sequence"]
    now, past, visible = sequence["now"], sequence["balls"], sequence["visible"]
    relations = relate(now, past, visible).double().numpy()
    distance = (now.index[:, :, None] - past.index[:, None, :]).numpy()
    seen = visible.numpy()
    for scale, site in SITES.items():
        entry = entries[site]
        if scale == "long":
            over = past.over[:, None, :].numpy()
            earlier = seen & (over < now.over[:, :, None].numpy())
            yield scale, entry, _over_view(earlier, relations, distance, over, entry)
        else:
            inside = seen & (distance < SCALES[scale])
            keys = entry.weights.shape[-1] - 1
            yield scale, entry, _ball_view(scale, inside, relations, distance, keys, own=True)
    slots = slot_masks(now, past, visible).numpy()
    entry = entries[SLOT_SITE]
    # A slot may have one key more, for looking at nothing.
    nothing = entry.weights.shape[-1] > visible.shape[-1]
    for number, slot in enumerate(SLOTS):
        view = _ball_view(
            "slots",
            slots[:, number],
            relations,
            distance,
            entry.weights.shape[-1] - nothing,
            own=nothing,
            heads=slice(number, number + 1),
        )
        yield f"slots.{slot}", entry, view


def _held(relations: Floats, visible: Flags, near: int) -> Floats:
    """Flags of every relation among the visible balls, ``(innings, query, ball, relation)``."""
    held = (relations > 0) & visible[..., None]
    from_the_end = visible[..., ::-1].cumsum(-1)[..., ::-1]
    held[..., RECENCY] = visible & (from_the_end <= near)
    return held.astype(float)


def _ball_view(
    name: str,
    visible: Flags,
    relations: Floats,
    distance: Integers,
    keys: int,
    *,
    own: bool,
    heads: slice = slice(None),
) -> _View:
    """Keys are the innings' last ``keys`` balls."""
    length = visible.shape[-1]
    held = _held(relations, visible, NEAR[name])

    def spread(values: Floats) -> Floats:
        padding = [(0, 0)] * (values.ndim - 1)
        return np.pad(values, [*padding, (length - keys, 0)])

    first = length - keys
    return _View(
        heads, visible, held, distance, spread, held[:, :, first:], visible[:, :, first:], own
    )


def _over_view(
    visible: Flags, relations: Floats, distance: Integers, over: Integers, entry: AttentionRecord
) -> _View:
    """Keys are overs, from over 0."""
    overs = entry.weights.shape[-1] - 1
    held = _held(relations, visible, NEAR["long"])
    member = (over[..., None] == np.arange(overs)) & visible[..., None]
    sizes = member.sum(2)
    part = member / sizes.clip(1)[:, :, None]
    shares: Floats = np.einsum("bqkr,bqko->bqor", held, part)

    def spread(values: Floats) -> Floats:
        result: Floats = np.einsum("bqho,bqko->bqhk", values, part)
        return result

    return _View(slice(None), visible, held, distance, spread, shares, sizes > 0, True)


def _joined(parts: Sequence[Looks]) -> Looks:
    """One after the other, the key axes padded at the end with balls that nothing sees."""
    length = max(part.visible.shape[1] for part in parts)

    def padded(name: str, axis: int | None) -> Any:
        arrays = [getattr(part, name) for part in parts]
        if axis is not None:
            arrays = [
                np.pad(
                    array,
                    [
                        (0, length - size if number == axis else 0)
                        for number, size in enumerate(array.shape)
                    ],
                )
                for array in arrays
            ]
        return np.concatenate(arrays)

    axes = {"full": 2, "bias_only": 2, "content_only": 2, "own": None, "bias_share": None}
    axes |= {"visible": 1, "held": 1, "distance": 1}
    joined = {name: padded(name, axis) for name, axis in axes.items()}
    for name in ("full", "bias_only", "content_only"):
        # Where nothing could be seen the padding must not look like a share of zero.
        blank = np.isnan(joined[name]).any(-1, keepdims=True)
        joined[name] = np.where(blank, np.nan, joined[name])
    return Looks(**joined)
