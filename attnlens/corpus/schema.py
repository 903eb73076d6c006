"""The tables of a corpus: their columns, and how they are written as Parquet.

Columns that depend on the model's scales and relations are named ``<scale>_<relation>``: the
share of the scale's past attention that went to balls of that relation, and with ``_uniform``
what uniform attention would have given.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.parquet

from attnlens.cricket.outcomes import OUTCOMES
from attnlens.explanation.heatmap import SHARES
from attnlens.models.predictor import FUSED
from attnlens.models.temporal import SCALES

SCHEMA_VERSION: Final = "1.0"
DIGITS: Final = 6
TEXT: Final = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
COUNT: Final = pyarrow.int32()
SHARE: Final = pyarrow.float32()
FIGURE: Final = pyarrow.float64()

IDENTITY: Final = {"match_id": TEXT, "innings": COUNT, "index": COUNT}

BALLS: Final = pyarrow.schema(
    {
        **IDENTITY,
        "label": TEXT,
        "batter": TEXT,
        "bowler": TEXT,
        "actual": TEXT,
        **{f"p_{outcome}": FIGURE for outcome in OUTCOMES},
        "top": TEXT,
        "surprise_bits": FIGURE,
        "entropy_bits": FIGURE,
        "date": pyarrow.date32(),
        "competition": TEXT,
        "match_type": TEXT,
        "gender": TEXT,
        "venue": TEXT,
        "batting_team": TEXT,
        "bowling_team": TEXT,
        "super_over": pyarrow.bool_(),
        "in_training": pyarrow.bool_(),
        "phase": TEXT,
        "over": COUNT,
        "legal_balls": COUNT,
        "balls_left": COUNT,
        "score": COUNT,
        "wickets": COUNT,
        "target": COUNT,
        "runs_required": COUNT,
        "batter_id": TEXT,
        "non_striker": TEXT,
        "bowler_id": TEXT,
        "batter_balls": COUNT,
        "batter_runs": COUNT,
        "runs": COUNT,
        "runs_batter": COUNT,
        **{f"fusion_{source}": SHARE for source in FUSED},
        **{f"{scale}_own": SHARE for scale in SCALES},
        **{f"{scale}_{relation}": SHARE for scale in SCALES for relation in SHARES},
        **{f"{scale}_{relation}_uniform": SHARE for scale in SCALES for relation in SHARES},
    }
)
"""One row per delivery."""

HEADS: Final = pyarrow.schema(
    {
        **IDENTITY,
        "phase": TEXT,
        "scale": TEXT,
        "head": TEXT,
        "earned": TEXT,
        **dict.fromkeys(SHARES, SHARE),
        "own": SHARE,
        "entropy": SHARE,
        "visible": COUNT,
        "strongest_index": COUNT,
        "strongest_label": TEXT,
        "strongest_over": COUNT,
        "strongest_weight": SHARE,
    }
)
"""One row per delivery, scale and head."""

EVIDENCE: Final = pyarrow.schema(
    {
        **IDENTITY,
        "phase": TEXT,
        "number": COUNT,
        "claim": pyarrow.string(),
        "kind": TEXT,
        "scale": TEXT,
        "head": TEXT,
        "removed_from": TEXT,
        "removed": pyarrow.list_(COUNT),
        "effect_nats": FIGURE,
        "outcome": TEXT,
        "points": FIGURE,
        "controls": COUNT,
        "p": FIGURE,
        "q": FIGURE,
        "verdict": TEXT,
        "reason": TEXT,
    }
)
"""One row per claim tested on a sampled delivery."""

EFFECTS: Final = pyarrow.schema(
    {
        **IDENTITY,
        "phase": TEXT,
        "past_index": COUNT,
        "distance": COUNT,
        "past_batter": TEXT,
        "past_batter_id": TEXT,
        "past_bowler": TEXT,
        "past_bowler_id": TEXT,
        "past_outcome": TEXT,
        "attention": SHARE,
        "effect_nats": FIGURE,
    }
)
"""One row per past ball of a sampled delivery: its attention, and what hiding it alone does."""

MATCHES: Final = pyarrow.schema(
    {
        "match_id": pyarrow.string(),
        "source": pyarrow.string(),
        "sha256": pyarrow.string(),
        "date": pyarrow.date32(),
        "competition": pyarrow.string(),
        "season": pyarrow.string(),
        "match_type": pyarrow.string(),
        "gender": pyarrow.string(),
        "team_1": pyarrow.string(),
        "team_2": pyarrow.string(),
        "venue": pyarrow.string(),
        "city": pyarrow.string(),
        "result": pyarrow.string(),
        "balls": COUNT,
        "in_training": pyarrow.bool_(),
    }
)
"""One row per match."""

TABLES: Final[dict[str, pyarrow.Schema]] = {
    "balls": BALLS,
    "heads": HEADS,
    "matches": MATCHES,
    "evidence": EVIDENCE,
    "effects": EFFECTS,
}
"""Every table; the last two only where evidence was asked for."""

TESTED: Final = ("evidence", "effects")

Columns = dict[str, Any]
"""Column to its values: a numpy array, or a list that may hold ``None``."""


def parquet_of(name: str, parts: Sequence[Columns]) -> bytes:
    """Some rows of a table as the bytes of a Parquet file, the same for the same rows."""
    schema = TABLES[name]
    batches = [record_batch(schema, part) for part in parts]
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


def record_batch(schema: pyarrow.Schema, columns: Columns) -> pyarrow.RecordBatch:
    """Some rows of a table, rounded."""
    return pyarrow.record_batch(
        [_array(columns[field.name], field.type) for field in schema], schema=schema
    )


def _array(values: Any, kind: pyarrow.DataType) -> pyarrow.Array:
    """A column; NaN is told as null, and figures are rounded here, once."""
    if pyarrow.types.is_floating(kind):
        figures = np.asarray(values, np.float64)
        # Adding nought takes the sign off a rounded nought.
        return pyarrow.array(np.round(figures, DIGITS) + 0.0, from_pandas=True).cast(kind)
    if isinstance(values, Coded):
        return pyarrow.DictionaryArray.from_arrays(
            pyarrow.array(values.codes, pyarrow.int32(), mask=values.codes < 0),
            pyarrow.array(values.words, pyarrow.string()),
        )
    if isinstance(kind, pyarrow.DictionaryType):
        return pyarrow.array(values, pyarrow.string()).dictionary_encode()
    return pyarrow.array(values, kind)


class Coded:
    """A column of few distinct words.

    Attributes:
        codes: the place of each row's word, -1 for none ``(rows,)``.
        words: the words, each once.
    """

    __slots__ = ("codes", "words")

    def __init__(self, codes: np.ndarray[Any, Any], words: Sequence[str]) -> None:
        self.codes = np.asarray(codes, np.int32)
        self.words = list(words)

    @classmethod
    def of(cls, values: Sequence[str | None]) -> Coded:
        """Coded in the order of first appearance."""
        numbers: dict[str, int] = {}
        codes = [
            -1 if value is None else numbers.setdefault(value, len(numbers)) for value in values
        ]
        return cls(np.array(codes, np.int32), list(numbers))

    @classmethod
    def same(cls, value: str | None, rows: int) -> Coded:
        """One word on every row."""
        words = [] if value is None else [value]
        return cls(np.full(rows, len(words) - 1, np.int32), words)

    def repeated(self, times: int) -> Coded:
        """Every row ``times`` times, one after the other."""
        return Coded(np.repeat(self.codes, times), self.words)


def described() -> Iterator[tuple[str, Mapping[str, str]]]:
    """Each table with its columns and their types, in words of SQL."""
    names = {TEXT: "varchar", COUNT: "integer", SHARE: "real", FIGURE: "double"}
    for name, schema in TABLES.items():
        yield name, {field.name: names.get(field.type, str(field.type)) for field in schema}
