"""Measure what each head does on many balls, and name each head based on the measurements.

A relation, such as "same bowler", links the current ball to some of the past balls. A head is named
after a relation if four conditions hold on a sample of balls. Every condition must hold for the
lower end of the 95% interval over resampled matches.

1. *The head attends to these balls*: the weight on the balls with the relation is at least
  `MIN_LIFT` times the weight under uniform attention.
2. *Distance does not explain the weight*: the weight is higher than expected from the head's mean
  attention at each distance. This condition does not apply to ``recency``.
3. *The head uses these balls*: hiding these balls from this head changes the prediction more than
  hiding equally many random balls.
4. *The effect matters*: in at least 5% of the sampled balls, hiding has a noticeable effect. A
  noticeable effect is at least 0.5 points for some outcome, or at least 0.0005 nats.

If several relations meet the conditions, the relation with the largest departure from uniform
attention gives the name (`attnlens.attention.heads.departure`).

Some heads see only the balls with one relation. For such a head, only condition 4 is tested, by
hiding all these balls. If the condition does not hold, the head has no name.

The importance of a head is measured by mean ablation: the head's output is replaced by the mean
output over the sample (Zhang & Nanda 2023).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from attnlens.attention.heads import (
    built_in,
    columns_replaced,
    departure,
    keys_hidden,
    past_shares,
    relation_shares,
    shares_by_distance,
    uniform_shares,
)
from attnlens.cricket.explain.reading import (
    SITES,
    attention_at,
    captured_activations,
    head_patterns,
)
from attnlens.cricket.lab.figures import Estimate, add_section, add_title, finite
from attnlens.cricket.lab.held_out import HeldOut
from attnlens.cricket.lab.sampling import (
    BEFORE,
    HeadSample,
    batches_of,
    encoded_past,
    probabilities,
    sample_balls,
)
from attnlens.cricket.predictor.predictor import FUSED, FullModel, Prediction
from attnlens.cricket.predictor.relations import (
    RECENCY,
    RELATIONS,
    Batch,
    RelationAttention,
    relate,
    starting_table,
)
from attnlens.cricket.predictor.scales import (
    QUESTIONS,
    SCALE_QUESTIONS,
    SCALES,
    UNNAMED,
    UNSPECIALISED,
    WINDOWED,
    head_key,
    relation_words,
)
from attnlens.cricket.predictor.tensors import Encoded
from attnlens.cricket.predictor.window import one_thread
from attnlens.cricket.readers import Report, silent
from attnlens.errors import InputError
from attnlens.evidence.scores import Bootstrap, divergence, group_numbers
from attnlens.evidence.verdict import MIN_LIFT, MIN_NATS, MIN_POINTS
from attnlens.files import Flags, Floats, Integers, Json
from attnlens.recording import record
from attnlens.recording.attention_record import AttentionRecord
from attnlens.render.canvas import Cell, Column, Line, Page, Words, terminal_page
from attnlens.render.numbers import DIGITS, interval, percent, rounded
from attnlens.render.numbers import number as figure_text

RECENCY_BALLS: Final = {"micro": 2, "short": 4, "medium": 6, "long": 6, "whole": 6}
"""For each scale, the number of most recent balls that have the relation ``recency``."""

_MIN_BALLS: Final = 50
_MIN_SHARE_OF_BALLS: Final = 0.05
_NATS_DIGITS: Final = 9
_CONTROL_DRAWS: Final = 2


@dataclass(frozen=True, slots=True, eq=False)
class SampledAttention:
    """The attention of the heads of one scale, for all sampled balls.

    Each sampled ball is a row. The keys of a row are the balls of the innings, numbered from 0.

    Attributes:
        shares: each key's share of a head's attention to past balls, with shape ``(row, head,
            key)``. The shares of a row sum to 1, or are NaN if the head sees no key.
        self_weight: the attention weight on the current ball itself or on the null key, with shape
            ``(row, head)``.
        bias_share: the share of the logits' variance that comes from built-in biases, with shape
            ``(row, head)``.
        visible: whether each key is visible, with shape ``(row, key)``.
        relations: flags for each relation between a key and the query, with shape ``(row, key,
            relation)``. Relations are in the order of
            `attnlens.cricket.predictor.relations.RELATIONS`. The nearest `RECENCY_BALLS` keys have
            the relation ``recency``.
        distance: the distance of each key from the query, in deliveries, with shape ``(row, key)``.
    """

    shares: Floats
    self_weight: Floats
    bias_share: Floats
    visible: Flags
    relations: Floats
    distance: Integers


@dataclass(frozen=True, slots=True, eq=False)
class RecordedPass:
    """The values that were recorded in one pass over the sample.

    Attributes:
        probabilities: the outcome probabilities, with shape ``(row, outcome)``.
        looks: maps each scale to the attention of the scale's heads.
        gates: the fusion weights, with shape ``(row, source)``.
        means: maps each module path to the mean input of this module over the rows.
        key_shares: for each batch and scale, the share of a key's balls that have a relation, with
            shape ``(innings, query, key, relation)``.
        key_visible: for each batch and scale, whether each key is visible, with shape ``(innings,
            query, key)``.
    """

    probabilities: Floats
    looks: dict[str, SampledAttention]
    gates: Floats
    means: dict[str, Tensor]
    key_shares: list[dict[str, Floats]]
    key_visible: list[dict[str, Flags]]


def record_sample(model: FullModel, sample: HeadSample, inputs: Sequence[str]) -> RecordedPass:
    """Record one pass over the sample. ``inputs`` are the module paths in `RecordedPass.means`."""
    tables, gates = [], []
    parts: dict[str, list[SampledAttention]] = {scale: [] for scale in SITES}
    sums: dict[str, Tensor] = {}
    key_shares: list[dict[str, Floats]] = []
    key_visible: list[dict[str, Flags]] = []
    longest = max(batch["sequence"]["visible"].shape[-1] for batch in sample.batches)
    for batch, sampled in zip(sample.batches, sample.sampled, strict=True):
        with (
            torch.no_grad(),
            record(model) as recording,
            captured_activations(model, *inputs) as captured,
        ):
            prediction: Prediction = model.predict(batch)
        tables.append(prediction.logits[sampled].double().softmax(-1).numpy())
        gates.append(prediction.gates[sampled].double().numpy())
        for path, ((value, *_), _) in captured.items():
            total = value[sampled].double().sum(0)
            sums[path] = sums[path] + total if path in sums else total
        key_shares.append({})
        key_visible.append({})
        for scale, keys in _scale_keys(batch, recording, longest):
            parts[scale].append(keys.looks(recording[SITES[scale]], sampled.numpy()))
            key_shares[-1][scale] = np.einsum("bqkr,bqko->bqor", keys.relations, keys.split)
            key_visible[-1][scale] = keys.split.sum(2) > 0
    looks = {
        scale: SampledAttention(
            *(
                np.concatenate([getattr(part, field.name) for part in scale_parts])
                for field in fields(SampledAttention)
            )
        )
        for scale, scale_parts in parts.items()
    }
    means = {path: (total / len(sample)).float() for path, total in sums.items()}
    return RecordedPass(
        np.concatenate(tables), looks, np.concatenate(gates), means, key_shares, key_visible
    )


@dataclass(frozen=True, slots=True, eq=False)
class _ScaleKeys:
    """The keys of a scale in one batch. A key is one ball, or an over of several balls.

    The attributes ``visible``, ``relations`` and ``distance`` are as in `SampledAttention`, but
    with the axes ``(innings, query)`` instead of ``row``.

    Attributes:
        split: the share of a key's weight that each ball gets, with shape ``(innings, query, ball,
            key)``.
    """

    visible: Flags
    relations: Floats
    distance: Integers
    split: Floats

    def looks(self, entry: AttentionRecord, sampled: Flags) -> SampledAttention:
        assert entry.content is not None
        assert entry.bias is not None
        weights, content, bias = (
            part.double().numpy().transpose(0, 2, 1, 3)[sampled]
            for part in (entry.weights, entry.content, entry.bias)
        )
        # The last key is the query itself, or the null key.
        past = weights[..., :-1]
        split = self.split[sampled]
        # A restricted head does not see all the keys that other heads see.
        keys: Flags = (split.sum(1)[:, None] > 0) & (past > 0)
        return SampledAttention(
            shares=np.einsum("rho,rko->rhk", past_shares(past), split),
            self_weight=weights[..., -1],
            bias_share=built_in(bias[..., :-1], content[..., :-1], keys),
            visible=self.visible[sampled],
            relations=self.relations[sampled],
            distance=self.distance[sampled],
        )


def _scale_keys(
    batch: Batch, entries: Mapping[str, AttentionRecord], longest: int
) -> Iterator[tuple[str, _ScaleKeys]]:
    """Yield every scale and its keys, padded with invisible balls to ``longest`` balls."""
    sequence = batch["sequence"]
    current, past, visible = sequence["now"], sequence["balls"], sequence["visible"]
    length = visible.shape[-1]

    def padded(values: Tensor) -> np.ndarray[Any, Any]:
        after = [(0, longest - length if axis == 2 else 0) for axis in range(values.ndim)]
        return np.pad(values.numpy(), after)

    related = padded(relate(current, past, visible)) > 0
    distance = padded(current.index[:, :, None] - past.index[:, None, :])
    seen_balls = padded(visible)
    over = padded(past.over[:, None, :])
    for scale, site in SITES.items():
        keys = entries[site].weights.shape[-1] - 1
        if scale == "long":  # keys are overs, from over 0
            inside, key_of = seen_balls & (over < current.over[:, :, None].numpy()), over
        else:  # keys are the innings' last balls
            inside = seen_balls & (distance < SCALES[scale])
            key_of = np.arange(longest)[None, None] - (length - keys)
        member = (key_of[..., None] == np.arange(keys)) & inside[..., None]
        split = member / member.sum(2).clip(1)[:, :, None]
        relations = related & inside[..., None]
        from_the_end = inside[..., ::-1].cumsum(-1)[..., ::-1]
        relations[..., RECENCY] = inside & (from_the_end <= RECENCY_BALLS[scale])
        yield scale, _ScaleKeys(inside, relations.astype(float), distance, split)


def relation_rows(looks: SampledAttention, bootstrap: Bootstrap) -> list[list[Json]]:
    """Return each head's share and lift for each relation, as JSON values.

    A share is the fraction of a head's attention that goes to the balls with a relation.
    ``uniform`` is this share under uniform attention, and ``lift`` is the actual share divided by
    ``uniform``. ``by_distance`` has the ``share`` expected from the head's mean attention at each
    distance, and the ``lift`` over this share. `attnlens.attention.heads.departure` defines
    ``departure_nats``.
    """
    shares = relation_shares(looks.shares, looks.relations)
    at_distance = shares_by_distance(looks.shares, looks.relations, looks.visible, looks.distance)
    even = uniform_shares(looks.relations, looks.visible)
    even = np.broadcast_to(even[:, None], shares.shape)
    uniform = bootstrap.mean(np.where(np.isnan(shares), np.nan, even)).value
    share, lift = bootstrap.mean(shares), bootstrap.ratio(shares, even)
    by_distance, beyond = bootstrap.mean(at_distance).value, bootstrap.ratio(shares, at_distance)
    departures = departure(share.value, uniform)

    def row(head: int, relation: int) -> Json:
        index = head, relation
        return {
            "relation": RELATIONS[relation],
            "uniform": finite(uniform[index]),
            "share": Estimate.of(share, index),
            "lift": Estimate.of(lift, index),
            "by_distance": {
                "share": finite(by_distance[index]),
                "lift": Estimate.of(beyond, index),
            },
            "departure_nats": finite(departures[index]),
        }

    heads, relations = uniform.shape
    return [[row(head, relation) for relation in range(relations)] for head in range(heads)]


def beyond_distance(row: Json) -> bool:
    """Return whether a relation meets condition 2 of the module."""
    ends = row["by_distance"]["lift"].ci
    return row["relation"] == RELATIONS[RECENCY] or (ends is not None and bool(ends[0] > 1))


class HeadStudy:
    """The measurements of a predictor's heads on a sample of balls.

    Args:
        innings: the innings from which balls are sampled, encoded with the ratings before the match
            day.
        balls: the sample size; only balls with at least 36 balls before them are sampled.
        seed: the random seed of the sample, of the intervals and of the random control sets.
    """

    def __init__(
        self, model: FullModel, innings: Sequence[Encoded], *, balls: int, seed: int
    ) -> None:
        self.model = model
        self.seed = seed
        self.sample = batches_of(sample_balls(innings, balls, seed))
        self.past = encoded_past(model, self.sample)

    @cached_property
    def bootstrap(self) -> Bootstrap:
        return Bootstrap(group_numbers(self.sample.matches), seed=self.seed)

    @cached_property
    def recorded(self) -> RecordedPass:
        """The recorded pass over the sample. The sample must not be empty."""
        outputs = [f"{site}.to_output" for site in SITES.values()]
        return record_sample(self.model, self.sample, outputs)

    @cached_property
    def rows(self) -> dict[str, list[list[Json]]]:
        """Each scale's result of `relation_rows`."""
        looks = self.recorded.looks
        return {scale: relation_rows(look, self.bootstrap) for scale, look in looks.items()}

    def mean(self, values: Floats, digits: int = _NATS_DIGITS) -> Estimate:
        """Return the mean of ``values`` over the balls. The mean ignores NaN."""
        return Estimate.of(self.bootstrap.mean(values), digits=digits)

    def sees(self, scale: str, head: int) -> str | None:
        """Return the relation or window to which a head is restricted, or ``None``."""
        return attention_at(self.model, SITES[scale]).only[head]

    def _probabilities(self, hook: Callable[[int], AbstractContextManager[None]]) -> Floats:
        return probabilities(self.model, self.sample, self.past, hook)

    def hiding(self, scale: str, head: int, relation: int | None = None) -> Json:
        """Measure the effect of hiding a relation's balls from one head alone.

        Random control sets hide the same shares of randomly chosen keys. If ``relation`` is
        ``None``, all balls are hidden, without a control. On the scale ``long``, the keys are
        overs. An over with half of its balls hidden keeps half of its weight.

        Returns:
            a dict with these members. ``nats`` is the mean effect. ``control_nats`` is the mean
            effect of random control sets. ``margin_nats`` is the mean difference, for queries at
            which only some visible balls have the relation. ``matters`` is the share of queries
            with a noticeable effect. ``supports`` says whether conditions 3 and 4 hold (without a
            control: condition 4).
        """
        full = self.recorded.probabilities
        probe = self.model.get_submodule(f"{SITES[scale]}.probe")
        visible = [batch[scale] for batch in self.recorded.key_visible]
        shares = [keys.astype(float) for keys in visible]
        if relation is not None:
            shares = [batch[scale][..., relation] for batch in self.recorded.key_shares]

        def without(shares: Sequence[Floats]) -> Floats:
            parts = [torch.from_numpy(share).float() for share in shares]
            return self._probabilities(lambda number: keys_hidden(probe, head, parts[number]))

        hidden = without(shares)
        effect = divergence(full, hidden)
        matters = self.bootstrap.mean(large_enough(full, hidden, effect))
        enough = bool(matters.low >= _MIN_SHARE_OF_BALLS)
        result = {"nats": self.mean(effect), "matters": Estimate.of(matters), "supports": enough}
        if relation is None:
            return result
        generator = np.random.default_rng([self.seed, list(SITES).index(scale), head, relation])
        controls = [
            without([redistributed(s, v, generator) for s, v in zip(shares, visible, strict=True)])
            for _ in range(_CONTROL_DRAWS)
        ]
        control = np.mean([divergence(full, control) for control in controls], axis=0)
        # If all visible balls have the relation, or none of them, there is nothing to compare.
        in_relation, seen_keys = self._sums(shares), self._sums(visible)
        comparable = np.where((in_relation > 0) & (in_relation < seen_keys), 1.0, np.nan)
        margin = self.bootstrap.mean((effect - control) * comparable)
        return result | {
            "control_nats": self.mean(control),
            "margin_nats": Estimate.of(margin, digits=_NATS_DIGITS),
            "supports": enough and bool(margin.low > 0),
        }

    def _sums(self, keys: Sequence[Floats] | Sequence[Flags]) -> Floats:
        batches = zip(keys, self.sample.sampled, strict=True)
        return np.concatenate([part.sum(-1)[sampled.numpy()] for part, sampled in batches])

    def can_name(self, scale: str, head: int) -> bool:
        """Return whether the head attends to past balls in at least `_MIN_BALLS` sampled rows."""
        attends = np.isfinite(self.recorded.looks[scale].shares[:, head]).all(-1)
        return bool(attends.sum() >= _MIN_BALLS)

    def candidates(self, scale: str, head: int) -> list[int]:
        """Return the relations that meet conditions 1 and 2, sorted by departure, largest first."""
        rows = self.rows[scale][head]
        relations = [
            relation
            for relation, row in enumerate(rows)
            if row["lift"].ci is not None and row["lift"].ci[0] >= MIN_LIFT and beyond_distance(row)
        ]
        return sorted(relations, key=lambda relation: -(rows[relation]["departure_nats"] or 0.0))

    def importance(self, path: str, part: int, parts: int) -> Json:
        """Measure the effect of replacing a head's output by its mean.

        Args:
            path: the path of the attention module.
            part: the index of the head, counted from 0.
            parts: the number of heads in this module.

        Returns:
            a dict with these members. ``nats`` is the divergence between the predictions.
            ``log_loss_change`` is the increase of the log-loss. ``points`` is the largest change of
            an outcome's probability, in percentage points. ``matters`` is the share of balls with a
            noticeable effect.
        """
        mean = self.recorded.means[f"{path}.to_output"]
        width = len(mean) // parts
        columns = slice(part * width, (part + 1) * width)
        module = self.model.get_submodule(f"{path}.to_output")
        full = self.recorded.probabilities
        ablated = self._probabilities(lambda _: columns_replaced(module, columns, mean[columns]))
        nats = divergence(full, ablated)
        rows = np.arange(len(full)), self.sample.outcomes
        return {
            "nats": self.mean(nats),
            "log_loss_change": self.mean(np.log(full[rows]) - np.log(ablated[rows])),
            "points": self.mean(100 * np.abs(ablated - full).max(-1), DIGITS),
            "matters": self.mean(large_enough(full, ablated, nats), DIGITS),
        }


def large_enough(full: Floats, ablated: Floats, nats: Floats) -> Floats:
    """Return 1 for each row whose change is large enough for a claim, and 0 for other rows."""
    points = 100 * np.abs(ablated - full).max(-1)
    large: Floats = ((nats >= MIN_NATS) | (points >= MIN_POINTS)).astype(float)
    return large


def redistributed(shares: Floats, visible: Flags, generator: np.random.Generator) -> Floats:
    """For each query, randomly permute the shares among the visible keys.

    ``shares``, ``visible`` and the result have shape ``(innings, query, key)``.
    """
    # ``order`` lists the visible keys first, in random order. Their shares are then given to the
    # visible keys in the original order.
    order = np.where(visible, generator.random(shares.shape), 2.0).argsort(-1)
    targets = np.where(visible, 0, 1).argsort(-1, kind="stable")
    result = np.zeros_like(shares)
    np.put_along_axis(result, targets, np.take_along_axis(shares, order, -1), -1)
    return result


@dataclass(frozen=True, slots=True, eq=False)
class HeadName:
    """A head's name, and the results of `HeadStudy.hiding` that led to the name.

    ``tests`` has the result for each tested relation of an unrestricted head. ``all_hidden`` has
    the result for a restricted head.
    """

    earned: str
    tests: dict[int, Json] = field(default_factory=dict)
    all_hidden: Json | None = None


def name_heads(
    study: HeadStudy, *, thorough: bool = True, report: Report = silent
) -> dict[str, list[HeadName]]:
    """Return the names of the heads of each scale. ``thorough`` is passed to `name_head`."""
    names: dict[str, list[HeadName]] = {}
    for scale, heads in study.model.sizes.heads.items():
        report(f"names of heads: {scale}")
        names[scale] = [name_head(study, scale, head, thorough=thorough) for head in range(heads)]
    return names


def name_head(study: HeadStudy, scale: str, head: int, *, thorough: bool = True) -> HeadName:
    """Return the name of one head.

    If ``thorough`` is false, the tests stop at the first relation that passes. The name is the
    same.
    """
    if not len(study.sample) or not study.can_name(scale, head):
        return HeadName(UNSPECIALISED)
    sees = study.sees(scale, head)
    if sees is not None:
        test = study.hiding(scale, head)
        return HeadName(sees if test["supports"] else UNSPECIALISED, all_hidden=test)
    tests: dict[int, Json] = {}
    supported: list[str] = []
    for relation in study.candidates(scale, head):
        if supported and not thorough:
            break
        tests[relation] = study.hiding(scale, head, relation)
        supported += [RELATIONS[relation]] * tests[relation]["supports"]
    return HeadName(supported[0] if supported else UNSPECIALISED, tests)


@one_thread()
def head_report(held: HeldOut, *, balls: int = 500, seed: int = 5, report: Report = silent) -> Json:
    """Return the JSON result of ``attnlens lab heads``: what every head does on a sample of balls.

    Raises:
        InputError: no ball has 36 balls before it.
    """
    study = HeadStudy(held.predictor.model, list(held.innings(report)), balls=balls, seed=seed)
    if not len(study.sample):
        raise InputError(
            f"no ball has {BEFORE} balls before it in its innings", remedy="give longer innings"
        )
    names = name_heads(study, report=report)
    scales: list[Json] = []
    for scale in SITES:
        report(f"importance of heads: {scale}")
        gate = study.recorded.gates[:, FUSED.index(scale)].mean()
        scales.append(
            {
                "scale": scale,
                "question": SCALE_QUESTIONS[scale],
                "window": SCALES[scale] if scale in WINDOWED else None,
                "unit": "overs" if scale == "long" else "balls",
                "weight": finite(gate),
                "heads": [
                    _head(study, scale, number, names[scale]) for number in range(len(names[scale]))
                ],
            }
        )
    importances = [head["importance"] for scale in scales for head in scale["heads"]]
    importances.sort(key=lambda importance: -(importance["nats"].value or 0.0))
    for rank, importance in enumerate(importances, 1):
        importance["rank"] = rank
    return {
        "model": held.checkpoint,
        "dates": held.dates,
        "notes": held.notes,
        "seed": seed,
        "balls": len(study.sample),
        "matches": len(set(study.sample.matches)),
        "relations": list(RELATIONS),
        "nearest": RECENCY_BALLS,
        "scales": scales,
    }


def _head(study: HeadStudy, scale: str, number: int, names: Sequence[HeadName]) -> Json:
    """Return one head's figures. ``sees`` and ``hiding`` are null for an unrestricted head."""
    name, looks = names[number], study.recorded.looks[scale]
    pattern = head_patterns(scale, len(names))[number]
    attention = study.model.get_submodule(SITES[scale])
    assert isinstance(attention, RelationAttention)
    biases = zip(
        RELATIONS,
        attention.bias[number].detach().double().tolist(),
        (starting_table(len(names)) * attention.own)[number].tolist(),
        strict=True,
    )
    return {
        "head": head_key(number, pattern),
        "number": number,
        "pattern": pattern or UNNAMED,
        "sees": study.sees(scale, number),
        "earned": name.earned,
        "question": QUESTIONS[
            (pattern or UNNAMED) if name.earned == UNSPECIALISED else name.earned
        ],
        "biases": [
            {"relation": relation, "value": rounded(value), "start": rounded(start)}
            for relation, value, start in biases
        ],
        "bias_share": Estimate.of(study.bootstrap.mean(looks.bias_share[:, number])),
        "self_attention": Estimate.of(study.bootstrap.mean(looks.self_weight[:, number])),
        "relations": [
            {**row, "hiding": name.tests.get(column)}
            for column, row in enumerate(study.rows[scale][number])
        ],
        "hiding": name.all_hidden,
        "mean_by_distance": _mean_by_distance(looks, number),
        "strongest": _strongest(study, looks, number),
        "importance": study.importance(SITES[scale], number, len(names)),
    }


_DISTANCES: Final = 24
"""The largest distance, in balls, at which the mean attention is reported."""
_STRONGEST: Final = 5


def _mean_by_distance(looks: SampledAttention, head: int) -> list[float | None]:
    shares = looks.shares[:, head]
    attends = np.isfinite(shares).all(-1)
    rows = [
        np.where(looks.distance[attends] == back, shares[attends], 0.0).sum(-1)
        for back in range(1, _DISTANCES + 1)
    ]
    return [finite(row.mean()) if len(row) else None for row in rows]


def _strongest(study: HeadStudy, looks: SampledAttention, head: int) -> list[Json]:
    shares = np.nan_to_num(looks.shares[:, head])
    largest = shares.max(-1)
    rows: list[Json] = []
    for row in np.argsort(-largest, kind="stable")[:_STRONGEST].tolist():
        if largest[row] > 0:
            innings, ball = study.sample.places[row]
            past = ball - int(looks.distance[row, shares[row].argmax()])
            match = study.sample.matches[row]
            where = {"match_id": match, "innings": innings, "ball": ball, "looked_at": past}
            rows.append({**where, "share": rounded(largest[row])})
    return rows


_FAVOURED_LIFT: Final = 1.25
"""The lower end of a lift's interval must reach this value for a relation to be listed."""

_MIN_BIAS: Final = 0.05
_MAX_BIASES: Final = 4

_HEAD_COLUMNS: Final = (
    Words("head", min_width=7),
    Words("earned name", min_width=16),
    Words("sees", min_width=13, style="quiet"),
    Column("bias"),
    Column("self"),
    Column("moves", min_width=6),
    Column("matters"),
    Column("KL", min_width=6),
    Column("rank", min_width=5),
)
_LEGEND: Final = (
    "sees: the balls that the head can attend to. A head that sees only the balls of one relation "
    "is named after the relation if hiding the balls matters. Otherwise the head has no name",
    "bias: the share of the attention logits' variance that comes from learnt biases",
    "self: the attention weight on the current ball (scale whole: on the null key, i.e. no ball)",
    "x1.50 [1.40, 1.60]: the attention is 1.5 times uniform attention, with a 95% interval over "
    "resampled matches",
    "hidden: how often hiding a relation's balls from this head alone matters. 'no' means that "
    "hiding the balls matters too rarely, or has no larger effect than hiding random balls",
    "The last four columns show the effects of replacing the head's output by its mean. moves: the "
    "largest change of an outcome, in points. matters: how often the replacement matters. KL: the "
    "divergence in thousandths of a nat. rank: the head's rank by KL",
    "Hiding or replacing matters on a ball if an outcome changes by at least half a point, or if "
    "the KL divergence is at least 0.0005 nats",
)


@terminal_page(max_width=110)
def render_heads(page: Page, document: Json) -> None:
    """Write the result of `head_report` to a terminal page."""
    add_title(page, document, "what the heads of {name} do, over {sample}")
    for scale in document["scales"]:
        _add_scale(page, scale)
    for line in _LEGEND:
        page.paragraph(line, "quiet")


def _percent(figure: Estimate) -> str:
    return "" if figure.value is None else percent(figure.value)


def _importance_cells(part: Json) -> list[Cell]:
    importance = part["importance"]
    nats = importance["nats"].value
    return [
        figure_text(importance["points"].value),
        _percent(importance["matters"]),
        figure_text(None if nats is None else 1000 * nats),
        str(importance["rank"]),
    ]


def _add_scale(page: Page, scale: Json) -> None:
    heads = scale["heads"]
    weight = "" if scale["weight"] is None else percent(scale["weight"])
    window = f"; the last {scale['window']} {scale['unit']}" if scale["window"] else ""
    title = f"{scale['scale']}: {scale['question']}{window}; weight {weight} in the prediction"
    rows: list[list[Cell]] = [
        [
            f"head {head['number']}",
            (
                relation_words(head["earned"]),
                "quiet" if head["earned"] == UNSPECIALISED else "supported",
            ),
            f"{relation_words(head['sees'])} only" if head["sees"] else "all",
            _percent(head["bias_share"]),
            _percent(head["self_attention"]),
            *_importance_cells(head),
        ]
        for head in heads
    ]

    def below(row: int) -> None:
        _add_relations(page, heads[row])
        _add_biases(page, heads[row]["biases"])

    add_section(page, title, _HEAD_COLUMNS, rows, below=below)


def _add_relations(page: Page, head: Json) -> None:
    if head["sees"]:
        if head["hiding"]:
            matters = _percent(head["hiding"]["matters"])
            text = f"hiding all balls from this head matters on {matters} of the sampled balls"
            page.paragraph(text, "quiet", indent=6)
        return
    favoured = [
        row for row in head["relations"] if row["lift"].ci and row["lift"].ci[0] >= _FAVOURED_LIFT
    ]
    if not favoured:
        page.paragraph("no relation gets much more than uniform attention", "quiet", indent=6)
        return
    items: list[Line] = []
    for row in sorted(favoured, key=lambda row: -(row["departure_nats"] or 0.0)):
        lift, test = row["lift"], row["hiding"]
        text = f"{relation_words(row['relation'])} x{lift.value:.2f} {interval(lift.ci, 2)}"
        if test is not None:
            text += f" hidden: {_percent(test['matters'])}{'' if test['supports'] else ' no'}"
        elif not beyond_distance(row):
            text += " (explained by distance alone)"
        mark = ";" if len(items) < len(favoured) - 1 else ""
        style = "name" if row["relation"] == head["earned"] else "quiet"
        items.append([(text + mark, style)])
    page.flow(items, indent=6, gap=1)


def _add_biases(page: Page, biases: Sequence[Json]) -> None:
    rows = [row for row in biases if row["start"] or abs(row["value"]) >= _MIN_BIAS]
    rows.sort(key=lambda row: (-abs(row["start"]), -abs(row["value"])))
    words = [
        f"{relation_words(row['relation'])} {row['value']:+.2f}"
        + (f" (started at {row['start']:+.2f})" if row["start"] else "")
        for row in rows[:_MAX_BIASES]
    ]
    page.paragraph(f"learnt biases: {', '.join(words) or 'none'}", "quiet", indent=6)
