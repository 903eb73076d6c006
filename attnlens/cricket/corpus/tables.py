"""The tables of a corpus: every column with its type and what it tells, and how they are written.

Columns that depend on the model's scales and relations are named ``<scale>_<relation>``: the
share of the scale's past attention that went to balls of that relation, and with ``_uniform``
what uniform attention would have given.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow
import pyarrow.parquet

from attnlens.cricket.corpus.sides import ClaimRow, HeadRows, MatchFacts, PastRow, Side
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.match.scorecard import result_sentence
from attnlens.cricket.model.heads import SCALES, SHARES
from attnlens.cricket.model.predictor import FUSED

SCHEMA_VERSION: Final = "1.0"
DIGITS: Final = 6
TEXT: Final = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
WORDS: Final = pyarrow.string()
COUNT: Final = pyarrow.int32()
SHARE: Final = pyarrow.float32()
FIGURE: Final = pyarrow.float64()
DATE: Final = pyarrow.date32()
FLAG: Final = pyarrow.bool_()

Column: TypeAlias = tuple[pyarrow.DataType, Callable[[Any], Any]]
"""A type, and what makes the column: from the whole of `Side` or `HeadRows`, else row by row."""

Table: TypeAlias = Mapping[str, Column]


def _chance(place: int, side: Side) -> Any:
    return side.measures.chances[:, place]


def _gate(place: int, side: Side) -> Any:
    return side.measures.gates[:, place]


def _mean(scale: str, place: int, side: Side) -> Any:
    return side.measures.scales[scale].mean[:, place]


def _uniform(scale: str, place: int, side: Side) -> Any:
    return side.measures.scales[scale].uniform[:, place]


def _own(scale: str, side: Side) -> Any:
    return side.measures.scales[scale].own.mean(1)


def _share(place: int, heads: HeadRows) -> Any:
    return heads.of("shares")[:, place]


BY_RELATION: Final = [
    (scale, relation, place) for scale in SCALES for place, relation in enumerate(SHARES)
]

BALLS: Final[Table] = {
    "match_id": (TEXT, lambda side: side.same(side.match.match_id)),
    "innings": (COUNT, lambda side: side.same(side.innings.number)),
    "index": (COUNT, lambda side: side.arrays.index),
    "label": (TEXT, lambda side: [ball.label for ball in side.balls]),
    "batter": (TEXT, lambda side: [ball.batter.name for ball in side.balls]),
    "bowler": (TEXT, lambda side: [ball.bowler.name for ball in side.balls]),
    "actual": (TEXT, lambda side: side.outcomes(side.arrays.outcome)),
    **{f"p_{outcome}": (FIGURE, partial(_chance, place)) for place, outcome in enumerate(OUTCOMES)},
    "top": (TEXT, lambda side: side.outcomes(side.measures.chances.argmax(1))),
    "surprise_bits": (FIGURE, lambda side: side.surprise),
    "entropy_bits": (FIGURE, lambda side: -(side.measures.chances * side.bits).sum(1)),
    "date": (DATE, lambda side: side.same(side.match.date)),
    "competition": (TEXT, lambda side: side.same(side.competition)),
    "match_type": (TEXT, lambda side: side.same(side.match.match_type)),
    "gender": (TEXT, lambda side: side.same(side.match.gender)),
    "venue": (TEXT, lambda side: side.same(side.match.venue)),
    "batting_team": (TEXT, lambda side: side.same(side.innings.batting_team)),
    "bowling_team": (TEXT, lambda side: side.same(side.innings.bowling_team)),
    "super_over": (FLAG, lambda side: side.same(side.innings.super_over)),
    "in_training": (FLAG, lambda side: side.same(side.in_training)),
    "phase": (TEXT, lambda side: side.phases),
    "over": (COUNT, lambda side: side.arrays.over),
    "legal_balls": (COUNT, lambda side: side.legal),
    "balls_left": (COUNT, lambda side: side.short_of(side.quota, side.legal)),
    "score": (COUNT, lambda side: side.score),
    "wickets": (COUNT, lambda side: [ball.wickets_before for ball in side.balls]),
    "target": (COUNT, lambda side: side.same(side.innings.target)),
    "runs_required": (COUNT, lambda side: side.short_of(side.innings.target, side.score)),
    "batter_id": (TEXT, lambda side: [ball.batter.id for ball in side.balls]),
    "non_striker": (TEXT, lambda side: [ball.non_striker.name for ball in side.balls]),
    "bowler_id": (TEXT, lambda side: [ball.bowler.id for ball in side.balls]),
    "batter_balls": (COUNT, lambda side: side.faced_and_made[0]),
    "batter_runs": (COUNT, lambda side: side.faced_and_made[1]),
    "runs": (COUNT, lambda side: [ball.runs_total for ball in side.balls]),
    "runs_batter": (COUNT, lambda side: [ball.runs_batter for ball in side.balls]),
    **{f"fusion_{source}": (SHARE, partial(_gate, place)) for place, source in enumerate(FUSED)},
    **{f"{scale}_own": (SHARE, partial(_own, scale)) for scale in SCALES},
    **{f"{s}_{relation}": (SHARE, partial(_mean, s, place)) for s, relation, place in BY_RELATION},
    **{
        f"{scale}_{relation}_uniform": (SHARE, partial(_uniform, scale, place))
        for scale, relation, place in BY_RELATION
    },
}
"""One row per delivery; columns are made from a `Side`."""

HEADS: Final[Table] = {
    "match_id": (TEXT, lambda heads: heads.each_ball(heads.side.same(heads.side.match.match_id))),
    "innings": (COUNT, lambda heads: heads.each_ball(heads.side.same(heads.side.innings.number))),
    "index": (COUNT, lambda heads: heads.each_ball(heads.side.arrays.index)),
    "phase": (TEXT, lambda heads: heads.each_ball(heads.side.phases)),
    "scale": (TEXT, lambda heads: heads.each_head(heads.scales)),
    "head": (TEXT, lambda heads: heads.each_head(heads.keys)),
    "earned": (TEXT, lambda heads: heads.each_head(heads.earned)),
    **{relation: (SHARE, partial(_share, place)) for place, relation in enumerate(SHARES)},
    "own": (SHARE, lambda heads: heads.of("own")),
    "entropy": (SHARE, lambda heads: np.where(heads.some, heads.of("entropy"), np.nan)),
    "visible": (COUNT, lambda heads: heads.visible),
    "strongest_index": (COUNT, lambda heads: heads.strongest_index),
    "strongest_label": (TEXT, lambda heads: heads.strongest_labels),
    "strongest_over": (COUNT, lambda heads: heads.strongest_over),
    "strongest_weight": (SHARE, lambda heads: np.where(heads.some, heads.of("most"), np.nan)),
}
"""One row per delivery, scale and head; columns are made from `HeadRows`."""

ASKED: Final[Table] = {
    "match_id": (TEXT, lambda row: row.side.match.match_id),
    "innings": (COUNT, lambda row: row.side.innings.number),
    "index": (COUNT, lambda row: row.index),
    "phase": (TEXT, lambda row: row.side.phases[row.index - 1]),
}
"""Which sampled delivery a row of the next two tables is about."""

EVIDENCE: Final[Table] = {
    **ASKED,
    "number": (COUNT, lambda row: row.number),
    "claim": (WORDS, lambda row: row.claim.text),
    "kind": (TEXT, lambda row: row.claim.kind),
    "scale": (TEXT, lambda row: row.claim.scale),
    "head": (TEXT, lambda row: row.claim.head),
    "removed_from": (TEXT, lambda row: row.tested.removed_from),
    "removed": (pyarrow.list_(COUNT), lambda row: list(row.claim.removed)),
    "effect_nats": (FIGURE, lambda row: row.tested.effect),
    "outcome": (TEXT, lambda row: OUTCOMES[row.moved]),
    "points": (FIGURE, lambda row: row.tested.points[row.moved]),
    "controls": (COUNT, lambda row: len(row.tested.controls)),
    "p": (FIGURE, lambda row: row.tested.p),
    "q": (FIGURE, lambda row: row.tested.q),
    "verdict": (TEXT, lambda row: row.tested.judged.verdict),
    "reason": (TEXT, lambda row: row.tested.judged.reason),
}
"""One row per claim tested on a sampled delivery: a `ClaimRow`."""

EFFECTS: Final[Table] = {
    **ASKED,
    "past_index": (COUNT, lambda row: row.past.index),
    "distance": (COUNT, lambda row: row.index - row.past.index),
    "past_batter": (TEXT, lambda row: row.past.batter.name),
    "past_batter_id": (TEXT, lambda row: row.past.batter.id),
    "past_bowler": (TEXT, lambda row: row.past.bowler.name),
    "past_bowler_id": (TEXT, lambda row: row.past.bowler.id),
    "past_outcome": (TEXT, lambda row: row.past.outcome or None),
    "attention": (SHARE, lambda row: row.attention),
    "effect_nats": (FIGURE, lambda row: row.effect),
}
"""One row per past ball of a sampled delivery: `PastRow`, what hiding it alone does."""

MATCHES: Final[Table] = {
    "match_id": (WORDS, lambda row: row.match.match_id),
    "source": (WORDS, lambda row: row.source),
    "sha256": (WORDS, lambda row: row.sha256),
    "date": (DATE, lambda row: row.match.date),
    "competition": (WORDS, lambda row: row.competition),
    "season": (WORDS, lambda row: row.match.season),
    "match_type": (WORDS, lambda row: row.match.match_type),
    "gender": (WORDS, lambda row: row.match.gender),
    "team_1": (WORDS, lambda row: row.team(0)),
    "team_2": (WORDS, lambda row: row.team(1)),
    "venue": (WORDS, lambda row: row.match.venue),
    "city": (WORDS, lambda row: row.match.city),
    "result": (WORDS, lambda row: result_sentence(row.match)),
    "balls": (COUNT, lambda row: sum(len(one.deliveries) for one in row.match.innings)),
    "in_training": (FLAG, lambda row: row.in_training),
}
"""One row per match: `MatchFacts`."""

TABLES: Final[Mapping[str, Table]] = {
    "balls": BALLS,
    "heads": HEADS,
    "matches": MATCHES,
    "evidence": EVIDENCE,
    "effects": EFFECTS,
}
"""Every table; the last two only where evidence was asked for."""

TESTED: Final = ("evidence", "effects")


def schema_of(table: Table) -> pyarrow.Schema:
    """Its columns as Parquet has them."""
    return pyarrow.schema({name: kind for name, (kind, _) in table.items()})


def batch_of(table: Table, source: Side | HeadRows) -> pyarrow.RecordBatch:
    """The rows of one innings in ``balls`` or ``heads``."""
    arrays = [_array(make(source), kind) for kind, make in table.values()]
    return pyarrow.record_batch(arrays, schema=schema_of(table))


def batch_of_rows(
    table: Table, rows: Iterable[MatchFacts | ClaimRow | PastRow]
) -> pyarrow.RecordBatch:
    """Some rows of one of the other tables."""
    kept = list(rows)
    arrays = [_array([make(row) for row in kept], kind) for kind, make in table.values()]
    return pyarrow.record_batch(arrays, schema=schema_of(table))


def _array(values: Any, kind: pyarrow.DataType) -> pyarrow.Array:
    """A column; NaN is told as null, and figures are rounded here, once."""
    if pyarrow.types.is_floating(kind):
        figures = np.asarray(values, np.float64)
        # Adding nought takes the sign off a rounded nought.
        return pyarrow.array(np.round(figures, DIGITS) + 0.0, from_pandas=True).cast(kind)
    if pyarrow.types.is_dictionary(kind):
        return pyarrow.array(values, pyarrow.string()).dictionary_encode()
    return pyarrow.array(values, kind)


def parquet_of(name: str, batches: Sequence[pyarrow.RecordBatch]) -> bytes:
    """Some rows of a table as the bytes of a Parquet file, the same for the same rows."""
    schema = schema_of(TABLES[name])
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
