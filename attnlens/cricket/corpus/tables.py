"""The tables of a corpus: every column with its type and what it tells, and how they are written.

Columns that depend on the model's scales and relations are named ``<scale>_<relation>``: the
share of the scale's past attention that went to balls of that relation, and with ``_uniform``
what uniform attention would have given. The figures of one ball are those of its explanation
(`attnlens.cricket.explain.heatmap`), of all balls of some innings from one pass of the model.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow
import pyarrow.parquet
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.cricket.explain.claims import Tested
from attnlens.cricket.match.competition import phase_of, quota_of
from attnlens.cricket.match.match import Innings, Match
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.match.scorecard import result_sentence
from attnlens.cricket.predictor.heads import SCALES, SHARES, UNSPECIALISED, head_key
from attnlens.cricket.predictor.kinds import in_training
from attnlens.cricket.predictor.predictor import FUSED, FullModel
from attnlens.cricket.predictor.ratings import PHASES
from attnlens.cricket.predictor.relations import (
    RELATIONS,
    STARTING_PATTERNS,
    Balls,
    relate,
    relate_overs,
)
from attnlens.cricket.predictor.tensors import InningsArrays
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import training_batch

Values: TypeAlias = NDArray[Any]

SHARED: Final = tuple(RELATIONS.index(name) for name in SHARES)
"""Where the relations whose shares are told stand among all."""

CELLS: Final = 8 * 140**2
"""Pairs of balls in one pass: eight innings of twenty overs, or one long one."""


@dataclass(frozen=True, slots=True, eq=False)
class ScaleMeasures:
    """One scale over the balls of one innings; NaN, or -1, where a ball had nothing to look at.

    Attributes:
        shares: of past attention by relation of `SHARES` ``(ball, head, 8)``; of all heads
            together ``mean``, and what uniform attention would give ``uniform``, ``(ball, 8)``.
        own: each head's weight on the ball itself ``(ball, head)``.
        entropy: of each head's past attention, nats ``(ball, head)``.
        visible: past balls, or earlier overs, that the scale could see ``(ball,)``.
        strongest, most: place of the past ball with the most weight, from 0, or for the long
            scale of the over, and that weight ``(ball, head)``.
    """

    shares: Values
    uniform: Values
    mean: Values
    own: Values
    entropy: Values
    visible: Values
    strongest: Values
    most: Values


@dataclass(frozen=True, slots=True, eq=False)
class InningsMeasures:
    """One innings: chances of the outcomes ``(ball, 11)``, fusion weights ``(ball, 5)``, scales."""

    chances: Values
    gates: Values
    scales: dict[str, ScaleMeasures]


def measure(model: FullModel, innings: Sequence[InningsArrays]) -> list[InningsMeasures]:
    """Ask the model about every ball of every innings, several innings in a pass.

    Which innings share a pass follows from their lengths and order alone, so that the same
    innings give the same bits on processors of one kind, whoever works on them.
    """
    by_place: dict[int, InningsMeasures] = {}
    for places in _passes([len(arrays) for arrays in innings]):
        by_place |= zip(places, _pass(model, [innings[at] for at in places]), strict=True)
    return [by_place[place] for place in range(len(innings))]


def _passes(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Innings of like length together, as many as fit in `CELLS`."""
    waiting: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: (-lengths[place], place)):
        if waiting and (len(waiting) + 1) * lengths[waiting[0]] ** 2 > CELLS:
            yield waiting
            waiting = []
        waiting.append(place)
    if waiting:
        yield waiting


def _pass(model: FullModel, innings: Sequence[InningsArrays]) -> Iterator[InningsMeasures]:
    batch = training_batch(innings)[0]
    sequence = batch["sequence"]
    with torch.no_grad():
        prediction = model.predict(batch)
        chances = prediction.logits.double().softmax(-1).numpy()
        gates = prediction.gates.numpy()
        now, visible = sequence["now"], sequence["visible"]
        table = relate(now, sequence["balls"], visible)
        scales = {
            scale: _scale(scale, prediction.scales[scale], now, visible, table) for scale in SCALES
        }
    for row, arrays in enumerate(innings):
        balls = len(arrays)
        of_innings = {
            scale: ScaleMeasures(**{name: value[row, :balls] for name, value in figures.items()})
            for scale, figures in scales.items()
        }
        yield InningsMeasures(chances[row, :balls], gates[row, :balls], of_innings)


def _scale(
    scale: str, weights: Tensor, now: Balls, visible: Tensor, table: Tensor
) -> dict[str, Values]:
    """`ScaleMeasures` of a batch, by name.

    ``weights`` are ``(batch, head, query, key + 1)``, the query itself last; ``table`` holds every
    relation ``(batch, query, key, relation)``.
    """
    past, own = weights[..., :-1], weights[..., -1]
    near = now.index[:, :, None] - now.index[:, None, :] < SCALES[scale]
    seen = visible & (now.over[:, None] < now.over[..., None] if scale == "long" else near)
    keys, even = seen.sum(-1), seen.to(table.dtype)
    held = table.movedim(-1, 1)[:, SHARED]
    uniform = torch.einsum("bqk,bnqk->bqn", even / even.sum(-1, keepdim=True), held)
    if scale == "long":
        membership = (now.over[..., None] == torch.arange(past.shape[-1])).to(past.dtype)
        keys = (torch.einsum("bqk,bko->bqo", seen.to(past.dtype), membership) > 0).sum(-1)
        held = relate_overs(table, seen, membership, now.over).movedim(-1, 1)[:, SHARED]
    shares = past / past.sum(-1, keepdim=True)  # NaN where there is nothing to look at
    together = past.sum(1)
    most, strongest = own.new_zeros(own.shape), torch.full_like(own, -1, dtype=torch.int64)
    if past.shape[-1]:
        # Of equal weights the later ball's counts.
        most, place = past.flip(-1).max(-1)
        strongest = torch.where(most > 0, past.shape[-1] - 1 - place, -1)
    figures = {
        "shares": torch.einsum("bhqk,bnqk->bqhn", shares, held),
        "uniform": uniform,
        "mean": torch.einsum("bqk,bnqk->bqn", together / together.sum(-1, keepdim=True), held),
        "own": own.transpose(1, 2),
        "entropy": torch.special.entr(shares).sum(-1).transpose(1, 2),
        "visible": keys,
        "strongest": strongest.transpose(1, 2),
        "most": most.transpose(1, 2),
    }
    return {name: value.numpy() for name, value in figures.items()}


SCHEMA_VERSION: Final = "1.0"
DIGITS: Final = 6
TEXT: Final = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
WORDS: Final = pyarrow.string()
COUNT: Final = pyarrow.int32()
SHARE: Final = pyarrow.float32()
FIGURE: Final = pyarrow.float64()
DATE: Final = pyarrow.date32()
FLAG: Final = pyarrow.bool_()

Columns: TypeAlias = dict[str, tuple[pyarrow.DataType, Any]]
"""Some rows of a table: each column's type and its values."""

PATTERNS: Final = dict(enumerate(STARTING_PATTERNS))

OUTCOME_NAMES: Final = np.array([*OUTCOMES, None], object)
"""By number; -1 is none."""


@dataclass(frozen=True, eq=False)
class Side:
    """One innings with a ball bowled, and the predictor with the ratings it is explained with."""

    match: Match
    innings: Innings
    arrays: InningsArrays
    predictor: TrainedPredictor

    @property
    def phases(self) -> list[str]:
        quota = quota_of(self.match, self.innings)
        balls = self.innings.deliveries
        return [PHASES[phase_of(ball.legal_balls_before, quota)] for ball in balls]

    def same(self, value: object) -> list[Any]:
        return [value] * len(self.innings.deliveries)

    def of_balls(self, name: str) -> list[Any]:
        """What `Delivery` tells under a name, of every ball."""
        return [getattr(ball, name) for ball in self.innings.deliveries]


def ball_columns(side: Side, measures: InningsMeasures) -> Columns:
    """The rows of ``balls``: one per delivery of an innings."""
    balls = side.innings.deliveries
    return {
        "match_id": (TEXT, side.same(side.match.match_id)),
        "innings": (COUNT, side.same(side.innings.number)),
        "index": (COUNT, side.arrays.index),
        "label": (TEXT, side.of_balls("label")),
        "batter": (TEXT, [ball.batter.name for ball in balls]),
        "bowler": (TEXT, [ball.bowler.name for ball in balls]),
        **_expected(side.arrays.outcome, measures.chances),
        **_situation(side),
        **_looked(measures),
    }


def _expected(happened: Values, chances: Values) -> Columns:
    """What came and what was expected; a surprise is NaN where nothing came."""
    bits = np.log2(np.maximum(chances, np.finfo(np.float64).tiny))
    surprise = np.where(happened >= 0, -bits[np.arange(len(happened)), happened], np.nan)
    return {
        "actual": (TEXT, OUTCOME_NAMES[happened]),
        **{f"p_{name}": (FIGURE, chances[:, place]) for place, name in enumerate(OUTCOMES)},
        "top": (TEXT, OUTCOME_NAMES[chances.argmax(1)]),
        "surprise_bits": (FIGURE, surprise),
        "entropy_bits": (FIGURE, -(chances * bits).sum(1)),
    }


def _situation(side: Side) -> Columns:
    """How things stood before each ball, and the runs it brought."""
    match, innings, balls = side.match, side.innings, side.innings.deliveries
    quota = quota_of(match, innings)
    legal = np.array(side.of_balls("legal_balls_before"))
    score = np.array(side.of_balls("score_before"))

    def short_of(whole: int | None, had: Values) -> Values | list[None]:
        """What is left of a whole, where there is one."""
        return side.same(None) if whole is None else np.maximum(whole - had, 0)

    return {
        "date": (DATE, side.same(match.date)),
        "competition": (TEXT, side.same(_competition(match))),
        "match_type": (TEXT, side.same(match.match_type)),
        "gender": (TEXT, side.same(match.gender)),
        "venue": (TEXT, side.same(match.venue)),
        "batting_team": (TEXT, side.same(innings.batting_team)),
        "bowling_team": (TEXT, side.same(innings.bowling_team)),
        "super_over": (FLAG, side.same(innings.super_over)),
        "in_training": (FLAG, side.same(in_training(match, side.predictor) is not None)),
        "phase": (TEXT, side.phases),
        "over": (COUNT, side.arrays.over),
        "legal_balls": (COUNT, legal),
        "balls_left": (COUNT, short_of(quota, legal)),
        "score": (COUNT, score),
        "wickets": (COUNT, side.of_balls("wickets_before")),
        "target": (COUNT, side.same(innings.target)),
        "runs_required": (COUNT, short_of(innings.target, score)),
        "batter_id": (TEXT, [ball.batter.id for ball in balls]),
        "non_striker": (TEXT, [ball.non_striker.name for ball in balls]),
        "bowler_id": (TEXT, [ball.bowler.id for ball in balls]),
        "runs": (COUNT, side.of_balls("runs_total")),
        "runs_batter": (COUNT, side.of_balls("runs_batter")),
    }


def _looked(measures: InningsMeasures) -> Columns:
    """Fusion weights, and where each scale looked."""
    scales = measures.scales
    shares = [(scale, name, at) for scale in SCALES for at, name in enumerate(SHARES)]
    return {
        **{f"fusion_{name}": (SHARE, measures.gates[:, at]) for at, name in enumerate(FUSED)},
        **{f"{scale}_own": (SHARE, scales[scale].own.mean(1)) for scale in SCALES},
        **{f"{scale}_{name}": (SHARE, scales[scale].mean[:, at]) for scale, name, at in shares},
        **{
            f"{scale}_{name}_uniform": (SHARE, scales[scale].uniform[:, at])
            for scale, name, at in shares
        },
    }


def head_columns(side: Side, measures: InningsMeasures) -> Columns:
    """The rows of ``heads``: one per delivery, scale and head, each scale's heads in order."""
    heads = [
        (scale, head_key(number, PATTERNS.get(number)), None if earned == UNSPECIALISED else earned)
        for scale in SCALES
        for number, earned in enumerate(side.predictor.earned(scale))
    ]
    labels = np.array([*side.of_balls("label"), None], object)

    def each_ball(values: Values | Sequence[Any]) -> Values:
        return np.repeat(np.asarray(values), len(heads))

    def each_head(values: Sequence[str | None]) -> Values:
        return np.tile(np.array(values, object), len(side.arrays))

    def of(name: str) -> Values:
        """A figure that each head has, ``(rows, ...)``."""
        by_ball = np.concatenate([getattr(measures.scales[s], name) for s in SCALES], axis=1)
        return by_ball.reshape(-1, *by_ball.shape[2:])

    scales, keys, earned = map(list, zip(*heads, strict=True))
    shares, strongest = of("shares"), of("strongest").astype(np.int64)
    some = strongest >= 0
    ball = np.where(some & (each_head(scales) != "long"), strongest, -1)
    over = np.where(ball >= 0, side.arrays.over[ball], strongest)
    visible = np.stack([measures.scales[scale].visible for scale, _, _ in heads], 1).ravel()
    return {
        "match_id": (TEXT, each_ball(side.same(side.match.match_id))),
        "innings": (COUNT, each_ball(side.same(side.innings.number))),
        "index": (COUNT, each_ball(side.arrays.index)),
        "phase": (TEXT, each_ball(side.phases)),
        "scale": (TEXT, each_head(scales)),
        "head": (TEXT, each_head(keys)),
        "earned": (TEXT, each_head(earned)),
        **{relation: (SHARE, shares[:, place]) for place, relation in enumerate(SHARES)},
        "own": (SHARE, of("own")),
        "entropy": (SHARE, np.where(some, of("entropy"), np.nan)),
        "visible": (COUNT, visible),
        "strongest_index": (COUNT, np.ma.masked_array(ball + 1, ball < 0)),
        "strongest_label": (TEXT, labels[ball]),
        "strongest_over": (COUNT, np.ma.masked_array(over, ~some)),
        "strongest_weight": (SHARE, np.where(some, of("most"), np.nan)),
    }


def claim_columns(
    side: Side, index: int, claims: Sequence[Tested], over_match: Sequence[float | None]
) -> Columns:
    """The rows of ``evidence``: one per claim tested on a sampled delivery.

    ``over_match`` is q of each over all claims tested on the match.
    """
    # What hiding the claim's balls moved most.
    moved = [int(np.abs(one.points).argmax()) for one in claims]
    return {
        "match_id": (TEXT, [side.match.match_id] * len(claims)),
        "innings": (COUNT, [side.innings.number] * len(claims)),
        "index": (COUNT, [index] * len(claims)),
        "phase": (TEXT, [side.phases[index - 1]] * len(claims)),
        "number": (COUNT, list(range(len(claims)))),
        "claim": (WORDS, [one.claim.text for one in claims]),
        "kind": (TEXT, [one.claim.kind for one in claims]),
        "scale": (TEXT, [one.claim.scale for one in claims]),
        "head": (TEXT, [one.claim.head for one in claims]),
        "removed_from": (TEXT, [one.removed_from for one in claims]),
        "removed": (pyarrow.list_(COUNT), [list(one.claim.removed) for one in claims]),
        "effect_nats": (FIGURE, [one.effect for one in claims]),
        "share": (SHARE, [one.share for one in claims]),
        "outcome": (TEXT, OUTCOME_NAMES[moved]),
        "points": (FIGURE, [one.points[at] for one, at in zip(claims, moved, strict=True)]),
        "controls": (COUNT, [len(one.chance) for one in claims]),
        "p": (FIGURE, [one.p for one in claims]),
        "q": (FIGURE, [one.q for one in claims]),
        "q_match": (FIGURE, over_match),
        "verdict": (TEXT, [one.judged.verdict for one in claims]),
        "reason": (TEXT, [one.judged.reason for one in claims]),
    }


def match_columns(match: Match, predictor: TrainedPredictor, source: str, sha256: str) -> Columns:
    """The row of ``matches``; ``sha256`` is of the bytes of the ``source`` that told of it."""
    teams = (*match.teams, None, None)
    row = {
        "match_id": (WORDS, match.match_id),
        "source": (WORDS, source),
        "sha256": (WORDS, sha256),
        "date": (DATE, match.date),
        "competition": (WORDS, _competition(match)),
        "season": (WORDS, match.season),
        "match_type": (WORDS, match.match_type),
        "gender": (WORDS, match.gender),
        "team_1": (WORDS, teams[0]),
        "team_2": (WORDS, teams[1]),
        "venue": (WORDS, match.venue),
        "city": (WORDS, match.city),
        "result": (WORDS, result_sentence(match)),
        "balls": (COUNT, sum(len(innings.deliveries) for innings in match.innings)),
        "in_training": (FLAG, in_training(match, predictor) is not None),
    }
    return {name: (kind, [value]) for name, (kind, value) in row.items()}


def _competition(match: Match) -> str | None:
    name = match.event.get("name")
    return None if name is None else str(name)


def parquet_of(several: Sequence[Columns]) -> bytes:
    """Some rows of a table as the bytes of a Parquet file, the same for the same rows."""
    schema = pyarrow.schema({name: kind for name, (kind, _) in several[0].items()})
    batches = [
        pyarrow.record_batch([_array(kind, values) for kind, values in rows.values()], schema)
        for rows in several
    ]
    table = pyarrow.Table.from_batches(batches, schema).unify_dictionaries().combine_chunks()
    floats = [field.name for field in schema if pyarrow.types.is_floating(field.type)]
    stream = io.BytesIO()
    pyarrow.parquet.write_table(
        table,
        stream,
        compression="zstd",
        compression_level=3,
        use_dictionary=[field.name for field in schema if field.name not in floats],
        column_encoding=dict.fromkeys(floats, "BYTE_STREAM_SPLIT"),
        store_schema=False,
    )
    return stream.getvalue()


def _array(kind: pyarrow.DataType, values: Any) -> pyarrow.Array:
    """A column; NaN is told as null, and figures are rounded here, once."""
    if pyarrow.types.is_floating(kind):
        figures = np.asarray(values, np.float64)
        # Adding nought takes the sign off a rounded nought.
        return pyarrow.array(np.round(figures, DIGITS) + 0.0, from_pandas=True).cast(kind)
    if pyarrow.types.is_dictionary(kind):
        return pyarrow.array(values, pyarrow.string()).dictionary_encode()
    return pyarrow.array(values, kind)
