"""What heads looked at on many balls, from one recorded pass over a sample.

Keys are put on one axis for all: the balls of the innings, in order. On the long scale,
whose keys are overs, an over's weight is split evenly over its balls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from attnlens.arrays import Flags, Floats, Integers
from attnlens.attention.heads import built_in, past_shares
from attnlens.cricket.explain.reading import SITES, overheard
from attnlens.cricket.lab.sampling import HeadSample
from attnlens.cricket.predictor.heads import SCALES
from attnlens.cricket.predictor.predictor import FullModel, Prediction
from attnlens.cricket.predictor.relations import RECENCY, Batch, relate
from attnlens.recording import record
from attnlens.recording.attention_record import AttentionRecord
from attnlens.reference.attention import hidden_softmax

NEAR: Final = {"micro": 2, "short": 4, "medium": 6, "long": 6}
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
        own: weight on the current ball itself ``(row, head)``.
        bias_share: how much of the preference is built in ``(row, head)``.
        visible: ``(row, key)``.
        held: which relations a key has to the query, 0 or 1, ``(row, key, relation)`` in the
            order of `attnlens.cricket.predictor.relations.RELATIONS`; recency is being among the
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
        gates: fusion weights ``(row, source)``.
        means: mean over rows of what some modules were given, by module path.
        key_shares: how much of each key of a scale has each relation, by batch and scale,
            ``(innings, query, key, relation)``; for hiding keys from one head.
        key_visible: likewise which keys the scale's heads could see, ``(innings, query, key)``.
    """

    probabilities: Floats
    looks: dict[str, Looks]
    gates: Floats
    means: dict[str, Tensor]
    key_shares: list[dict[str, Floats]]
    key_visible: list[dict[str, Flags]]


def pass_over(model: FullModel, sample: HeadSample, inputs: Sequence[str]) -> Passed:
    """One recorded pass; ``inputs`` are paths of modules whose mean input is wanted."""
    found, gates = [], []
    parts: dict[str, list[Looks]] = {scale: [] for scale in SITES}
    sums: dict[str, Tensor] = {}
    key_shares, key_visible = [], []
    longest = max(batch["sequence"]["visible"].shape[-1] for batch in sample.batches)
    for batch, asked in zip(sample.batches, sample.asked, strict=True):
        with torch.no_grad(), record(model) as recording, overheard(model, *inputs) as heard:
            prediction: Prediction = model.predict(batch)
        found.append(prediction.logits[asked].double().softmax(-1).numpy())
        gates.append(prediction.gates[asked].double().numpy())
        for path, ((value, *_), _) in heard.items():
            total = value[asked].double().sum(0)
            sums[path] = sums[path] + total if path in sums else total
        shares: dict[str, Floats] = {}
        visible: dict[str, Flags] = {}
        for scale, keys in _scale_keys(batch, recording, longest):
            parts[scale].append(keys.looks(recording[SITES[scale]], asked.numpy()))
            shares[scale] = np.einsum("bqkr,bqko->bqor", keys.held, keys.split)
            visible[scale] = keys.split.sum(2) > 0
        key_shares.append(shares)
        key_visible.append(visible)
    return Passed(
        np.concatenate(found),
        {scale: _joined(looks) for scale, looks in parts.items()},
        np.concatenate(gates),
        {path: (total / len(sample)).float() for path, total in sums.items()},
        key_shares,
        key_visible,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Keys:
    """How a scale's keys stand to the balls of the innings, for one batch.

    Attributes:
        visible, held, distance: as in `Looks` with ``(innings, query)`` for ``row``.
        split: how much of a key's weight each ball has ``(innings, query, ball, key)``.
    """

    visible: Flags
    held: Floats
    distance: Integers
    split: Floats

    def looks(self, entry: AttentionRecord, asked: Flags) -> Looks:
        """The sampled balls' rows."""
        assert entry.content is not None
        assert entry.bias is not None
        weights, content, bias = (
            part.double().numpy().transpose(0, 2, 1, 3)[asked]
            for part in (entry.weights, entry.content, entry.bias)
        )
        # The last key is the query itself.
        own, weights = weights[..., -1], weights[..., :-1]
        content, bias = content[..., :-1], bias[..., :-1]
        split = self.split[asked]
        # A head may be kept from keys that the others see.
        keys: Flags = (split.sum(1)[:, None] > 0) & (weights > 0)

        def balls(shares: Floats) -> Floats:
            """Of weights over keys the shares of past balls, ``(row, head, ball)``."""
            result: Floats = np.einsum("rho,rko->rhk", past_shares(shares), split)
            return result

        def alone(logits: Floats) -> Floats:
            """The weights that part of the logits would give by itself."""
            hidden = torch.from_numpy(~keys)
            return hidden_softmax(torch.from_numpy(logits), hidden).numpy()

        return Looks(
            full=balls(weights),
            bias_only=balls(alone(bias)),
            content_only=balls(alone(content)),
            own=own,
            bias_share=built_in(bias, content, keys),
            visible=self.visible[asked],
            held=self.held[asked],
            distance=self.distance[asked],
        )


def _scale_keys(
    batch: Batch, entries: Mapping[str, AttentionRecord], longest: int
) -> Iterator[tuple[str, _Keys]]:
    """The keys of every scale; balls beyond the innings' end, up to ``longest``, are not seen."""
    sequence = batch["sequence"]
    now, past, visible = sequence["now"], sequence["balls"], sequence["visible"]
    length = visible.shape[-1]

    def lengthened(values: Tensor) -> np.ndarray[Any, Any]:
        """With blanks at the end of the axis of balls, the third."""
        after = [(0, longest - length if axis == 2 else 0) for axis in range(values.ndim)]
        return np.pad(values.numpy(), after)

    relations = lengthened(relate(now, past, visible))
    distance = lengthened(now.index[:, :, None] - past.index[:, None, :])
    seen = lengthened(visible)
    over = lengthened(past.over[:, None, :])
    earlier = seen & (over < now.over[:, :, None].numpy())
    for scale, site in SITES.items():
        keys = entries[site].weights.shape[-1] - 1
        if scale == "long":  # keys are overs, from over 0
            inside, key_of = earlier, over
        else:  # keys are the innings' last balls
            inside = seen & (distance < SCALES[scale])
            key_of = np.arange(longest)[None, None] - (length - keys)
        member = (key_of[..., None] == np.arange(keys)) & inside[..., None]
        split = member / member.sum(2).clip(1)[:, :, None]
        held = _held(relations, inside, NEAR[scale])
        yield scale, _Keys(inside, held, distance, split)


def _held(relations: Floats, visible: Flags, near: int) -> Floats:
    """Flags of every relation among the visible balls, ``(innings, query, ball, relation)``."""
    held = (relations > 0) & visible[..., None]
    from_the_end = visible[..., ::-1].cumsum(-1)[..., ::-1]
    held[..., RECENCY] = visible & (from_the_end <= near)
    return held.astype(float)


def _joined(parts: Sequence[Looks]) -> Looks:
    """One after the other."""
    return Looks(
        *(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(Looks))
    )
