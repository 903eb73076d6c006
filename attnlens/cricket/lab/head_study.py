"""What every head does, measured on many balls, and the name it has earned by that.

A head earns the name of a relation when, over a sample of balls of many matches,

1. *it looks there*: it pays the relation's balls at least `MIN_LIFT` times what attention
   spread evenly would pay (the lower end of the 95% interval, whole matches resampled);
2. *not only because they are near*: it pays them more than its own profile over distance
   would (again the lower end; recency itself is exempt);
3. *those balls are what it uses*: hiding them from this head alone moves the prediction more
   than hiding as many other balls drawn at random from what it sees (the lower end of the
   difference in nats is above 0);
4. *it matters*: on at least `_LEAST_OFTEN` of balls (the lower end) that hiding is as large as
   a verdict asks of a single claim, 0.5 points on some outcome or 0.0005 nats.

Of several relations that pass, the name is that of the one which accounts for most of the
head's departure from uniform attention (`attnlens.attention.heads.departure`). All others
stay ``unspecialised``: a head that looks but does not matter earns nothing, whatever it
started as.

Importance is by mean ablation: what the head puts out is replaced by its mean over the
sample, and the model goes on from there. Zhang & Nanda 2023 on why the mean and not zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.arrays import Flags, Floats, Integers
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
from attnlens.cricket.explain.reading import SITES, SLOT_SITE, overheard
from attnlens.cricket.lab.figures import Figure, told
from attnlens.cricket.lab.sampling import (
    HeadSample,
    batches_of,
    encoded_past,
    probabilities,
    sample_balls,
)
from attnlens.cricket.predictor.heads import SCALES, UNSPECIALISED
from attnlens.cricket.predictor.predictor import FullModel, Prediction
from attnlens.cricket.predictor.relations import RECENCY, RELATIONS, Batch, relate
from attnlens.cricket.predictor.tensors import Encoded
from attnlens.cricket.readers.history import Report, silent
from attnlens.evidence.scores import Bootstrap, divergence, group_numbers
from attnlens.evidence.verdict import MIN_LIFT, MIN_NATS, MIN_POINTS
from attnlens.recording import record
from attnlens.recording.attention_record import AttentionRecord
from attnlens.reference.attention import hidden_softmax
from attnlens.render.numbers import DIGITS

NEAR: Final = {"micro": 2, "short": 4, "medium": 6, "long": 6}
"""A head that favours this many nearest balls is a recency head."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadAttention:
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
class RecordedPass:
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
    looks: dict[str, HeadAttention]
    gates: Floats
    means: dict[str, Tensor]
    key_shares: list[dict[str, Floats]]
    key_visible: list[dict[str, Flags]]


def record_sample(model: FullModel, sample: HeadSample, inputs: Sequence[str]) -> RecordedPass:
    """One recorded pass; ``inputs`` are paths of modules whose mean input is wanted."""
    found, gates = [], []
    parts: dict[str, list[HeadAttention]] = {scale: [] for scale in SITES}
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
    return RecordedPass(
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
        visible, held, distance: as in `HeadAttention` with ``(innings, query)`` for ``row``.
        split: how much of a key's weight each ball has ``(innings, query, ball, key)``.
    """

    visible: Flags
    held: Floats
    distance: Integers
    split: Floats

    def looks(self, entry: AttentionRecord, flags: Flags) -> HeadAttention:
        """The sampled balls' rows."""
        assert entry.content is not None
        assert entry.bias is not None
        weights, content, bias = (
            part.double().numpy().transpose(0, 2, 1, 3)[flags]
            for part in (entry.weights, entry.content, entry.bias)
        )
        # The last key is the query itself.
        own, weights = weights[..., -1], weights[..., :-1]
        content, bias = content[..., :-1], bias[..., :-1]
        split = self.split[flags]
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

        return HeadAttention(
            full=balls(weights),
            bias_only=balls(alone(bias)),
            content_only=balls(alone(content)),
            own=own,
            bias_share=built_in(bias, content, keys),
            visible=self.visible[flags],
            held=self.held[flags],
            distance=self.distance[flags],
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


def _joined(parts: Sequence[HeadAttention]) -> HeadAttention:
    """One after the other."""
    return HeadAttention(
        *(
            np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(HeadAttention)
        )
    )


_LEAST_BALLS: Final = 50
_LEAST_OFTEN: Final = 0.05
_NATS_DIGITS: Final = 9
_DRAWS: Final = 2
"""Random sets per ball that hiding a relation's balls is compared with."""


@dataclass(frozen=True, slots=True)
class Hiding:
    """What hiding a relation's balls from one head did beside random sets, over balls where it
    could.

    ``matters`` is the share of balls on which it was large enough to matter; ``supports``:
    conditions 3 and 4 are met.
    """

    nats: Figure
    control_nats: Figure
    margin_nats: Figure
    matters: Figure
    supports: bool


@dataclass(frozen=True, slots=True)
class Importance:
    """What replacing something by its mean did.

    Attributes:
        nats, log_loss_change: ``KL(full ‖ ablated)``, and the rise of the log-loss.
        points: largest change of an outcome, percentage points.
        matters: share of balls on which it was large enough to matter.
        rank: 1 for the one of its kind whose ablation moves the prediction most.
    """

    nats: Figure
    log_loss_change: Figure
    points: Figure
    matters: Figure
    rank: int = 0


@dataclass(frozen=True, slots=True)
class AttentionShare:
    """A share of past attention, and how many times what even attention would pay."""

    share: Figure
    lift: Figure


@dataclass(frozen=True, slots=True)
class ByDistance:
    """What a head's profile over distance alone would pay, and the head over that."""

    share: float | None
    lift: Figure


@dataclass(frozen=True, slots=True)
class RelationRow:
    """What a head pays to the balls of a relation: of all, and of either part of the logits alone.

    Attributes:
        uniform: what attention spread evenly would pay; ``lift`` is over that.
        departure_nats: see `attnlens.attention.heads.departure`.
        hiding: what hiding those balls did, where it was tested.
    """

    relation: str
    uniform: float | None
    share: Figure
    lift: Figure
    bias_only: AttentionShare
    content_only: AttentionShare
    by_distance: ByDistance
    departure_nats: float | None
    hiding: Hiding | None = None

    @property
    def beyond_distance(self) -> bool:
        """Whether it is paid more than its distances explain, which recency need not be."""
        ends = self.by_distance.lift.ci
        return self.relation == RELATIONS[RECENCY] or (ends is not None and ends[0] > 1)


def relation_rows(looks: HeadAttention, bootstrap: Bootstrap) -> list[list[RelationRow]]:
    """Shares and lifts of each head of a scale for each relation."""
    full = relation_shares(looks.full, looks.held)
    near = shares_by_distance(looks.full, looks.held, looks.visible, looks.distance)
    even = np.broadcast_to(uniform_shares(looks.held, looks.visible)[:, None], full.shape)
    uniform = bootstrap.mean(np.where(np.isnan(full), np.nan, even)).value
    parts = [full, *(relation_shares(x, looks.held) for x in (looks.bias_only, looks.content_only))]
    estimates = [(bootstrap.mean(part), bootstrap.ratio(part, even)) for part in parts]
    by_distance, beyond = bootstrap.mean(near).value, bootstrap.ratio(full, near)
    departures = departure(estimates[0][0].value, uniform)

    def row(at: tuple[int, int]) -> RelationRow:
        own, bias, content = (
            AttentionShare(Figure.of(share, at), Figure.of(lift, at)) for share, lift in estimates
        )
        return RelationRow(
            RELATIONS[at[1]],
            told(uniform[at]),
            own.share,
            own.lift,
            bias,
            content,
            ByDistance(told(by_distance[at]), Figure.of(beyond, at)),
            told(departures[at]),
        )

    heads, relations = uniform.shape
    return [[row((head, relation)) for relation in range(relations)] for head in range(heads)]


class HeadStudy:
    """A predictor, a sample of balls and one pass over them: what every measurement needs.

    ``innings`` are encoded with the ratings of the day before. ``balls`` of them are sampled, each
    with at least 36 before it; ``seed`` is of the sample, the intervals and the random sets.
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
    def passed(self) -> RecordedPass:
        """The pass over the sample, which must not be empty."""
        outputs = [f"{site}.to_output" for site in (*SITES.values(), SLOT_SITE)]
        return record_sample(self.model, self.sample, outputs)

    @cached_property
    def rows(self) -> dict[str, list[list[RelationRow]]]:
        """Where heads look: by scale, head and relation."""
        looks = self.passed.looks
        return {scale: relation_rows(look, self.bootstrap) for scale, look in looks.items()}

    def mean(self, values: Floats, digits: int = _NATS_DIGITS) -> Figure:
        """Over balls ``(row,)``; those that are NaN do not count."""
        return Figure.of(self.bootstrap.mean(values), digits=digits)

    def _probabilities(self, hook: Callable[[int], AbstractContextManager[None]]) -> Floats:
        """Of every sampled ball under an intervention."""
        return probabilities(self.model, self.sample, self.past, hook)

    def hiding(self, scale: str, head: int, relation: int) -> Hiding:
        """Hide a relation's balls from one head alone, and random ones for comparison.

        On the long scale, whose keys are overs, an over loses the share of its weight that
        its balls in the relation have, and the shares are dealt out again at random.
        """
        full = self.passed.probabilities
        probe = self.model.get_submodule(f"{SITES[scale]}.probe")
        taken = [shares[scale][..., relation] for shares in self.passed.key_shares]
        visible = [flags[scale] for flags in self.passed.key_visible]

        def without(shares: Sequence[Floats]) -> Floats:
            parts = [torch.from_numpy(share).float() for share in shares]
            return self._probabilities(lambda number: keys_hidden(probe, head, parts[number]))

        hidden = without(taken)
        effect = divergence(full, hidden)
        generator = np.random.default_rng([self.seed, list(SITES).index(scale), head, relation])
        controls = [
            without([redistributed(s, v, generator) for s, v in zip(taken, visible, strict=True)])
            for _ in range(_DRAWS)
        ]
        control = np.mean([divergence(full, control) for control in controls], axis=0)
        # Where none of the balls is in the relation, or all are, there is nothing to compare.
        part, whole = self._asked(taken), self._asked(visible)
        comparable = np.where((part > 0) & (part < whole), 1.0, np.nan)
        margin = self.bootstrap.mean((effect - control) * comparable)
        matters = self.bootstrap.mean(large_enough(full, hidden, effect))
        return Hiding(
            self.mean(effect),
            self.mean(control),
            Figure.of(margin, digits=_NATS_DIGITS),
            Figure.of(matters),
            bool(margin.low > 0 and matters.low >= _LEAST_OFTEN),
        )

    def _asked(self, keys: Sequence[Floats] | Sequence[Flags]) -> Floats:
        """Of every sampled ball, the sum over its keys, from ``(innings, query, key)`` each."""
        rows = zip(keys, self.sample.asked, strict=True)
        return np.concatenate([part.sum(-1)[asked.numpy()] for part, asked in rows])

    def candidates(self, scale: str, head: int) -> list[int]:
        """Relations that meet conditions 1 and 2, the most telling first."""
        seeing = np.isfinite(self.passed.looks[scale].full[:, head]).all(-1).sum()
        if seeing < _LEAST_BALLS:
            return []
        rows = self.rows[scale][head]
        found = [
            relation
            for relation, row in enumerate(rows)
            if row.lift.ci is not None and row.lift.ci[0] >= MIN_LIFT and row.beyond_distance
        ]
        return sorted(found, key=lambda relation: -(rows[relation].departure_nats or 0.0))

    def importance(self, path: str, part: int, parts: int) -> Importance:
        """Replace the output of one of the ``parts`` of the attention at ``path`` by its mean."""
        mean = self.passed.means[f"{path}.to_output"]
        width = len(mean) // parts
        columns = slice(part * width, (part + 1) * width)
        module = self.model.get_submodule(f"{path}.to_output")
        full = self.passed.probabilities
        ablated = self._probabilities(lambda _: columns_replaced(module, columns, mean[columns]))
        nats = divergence(full, ablated)
        rows = np.arange(len(full)), self.sample.outcomes
        return Importance(
            self.mean(nats),
            self.mean(np.log(full[rows]) - np.log(ablated[rows])),
            self.mean(100 * np.abs(ablated - full).max(-1), DIGITS),
            self.mean(large_enough(full, ablated, nats), DIGITS),
        )


def large_enough(full: Floats, ablated: Floats, nats: Floats) -> Floats:
    """1 where a change is as large as a verdict asks of a claim, else 0, ``(row,)``."""
    points = 100 * np.abs(ablated - full).max(-1)
    large: Floats = ((nats >= MIN_NATS) | (points >= MIN_POINTS)).astype(float)
    return large


def redistributed(
    shares: Floats, visible: NDArray[np.bool_], generator: np.random.Generator
) -> Floats:
    """Each query's shares dealt out again among the keys it sees, ``(innings, query, key)``."""
    # Visible keys first, in a random order; then theirs go to the visible keys in order.
    order = np.where(visible, generator.random(shares.shape), 2.0).argsort(-1)
    places = np.where(visible, 0, 1).argsort(-1, kind="stable")
    result = np.zeros_like(shares)
    np.put_along_axis(result, places, np.take_along_axis(shares, order, -1), -1)
    return result


@dataclass(frozen=True, slots=True, eq=False)
class HeadName:
    """A head's name, and the tests of the relations that it looks at."""

    earned: str
    tests: dict[int, Hiding]


def name_heads(
    study: HeadStudy, *, thorough: bool = True, report: Report = silent
) -> dict[str, list[HeadName]]:
    """The name of every head by scale; ``thorough`` as in `name_head`."""
    named: dict[str, list[HeadName]] = {}
    for scale, heads in study.model.sizes.heads.items():
        report(f"names of heads: {scale}")
        named[scale] = [name_head(study, scale, head, thorough=thorough) for head in range(heads)]
    return named


def name_head(study: HeadStudy, scale: str, head: int, *, thorough: bool = True) -> HeadName:
    """The name one head has earned.

    ``thorough`` tests every relation the head looks at, not only down to the first that earns its
    name; the name is the same.
    """
    tests: dict[int, Hiding] = {}
    supported: list[str] = []
    for relation in study.candidates(scale, head) if len(study.sample) else ():
        if supported and not thorough:
            break
        tests[relation] = study.hiding(scale, head, relation)
        supported += [RELATIONS[relation]] * tests[relation].supports
    return HeadName(supported[0] if supported else UNSPECIALISED, tests)
