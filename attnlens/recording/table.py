"""Records as arrays, as tables of one weight per row, and as a few lines of text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnlens.errors import RecordingError
from attnlens.words import count

if TYPE_CHECKING:
    import pandas

    from attnlens.recording.attention_record import AttentionRecord

MOST_ROWS: Final = 5_000_000
"""Rows of a table; more are made only where more are asked for."""
MOST_CELLS: Final = 250_000_000
"""Weights that are formed for an array, 1 GB in float32."""
LISTED: Final = 20
"""Sites, notes and such that a summary lists."""
WIDEST: Final = 60
"""Characters of a name in a summary."""


def kind_of(record: AttentionRecord) -> str:
    """What was kept: ``all``, ``3 rows``, ``top 16`` or ``lazy``."""
    if record.lazy is not None:
        return "lazy"
    rows = "" if record.rows is None else count(len(record.rows), "row")
    if record.keys is not None:
        return ", ".join(filter(None, (f"top {record.keys.shape[-1]}", rows)))
    return rows or "all"


def array_of(record: AttentionRecord) -> NDArray[np.floating[Any]]:
    """What `AttentionRecord.to_numpy` describes."""
    sizes = record.sizes
    if (record.lazy is not None or record.keys is not None) and math.prod(sizes) > MOST_CELLS:
        raise RecordingError(
            f"{record.site}: the whole of it would be {math.prod(sizes):,} weights; "
            "select some heads or queries first (record.sel)"
        )
    weights = _plain(record.weights)
    if record.keys is None:
        return weights
    whole = np.zeros(sizes, weights.dtype)
    # Keys of weight 0 fill rows up, and may repeat one that was kept.
    paid = np.nonzero(weights > 0)
    keys = record.keys.cpu().numpy()
    whole[(*paid[:-1], keys[paid])] = weights[paid]
    return whole


def _plain(value: Tensor) -> NDArray[np.floating[Any]]:
    """A tensor as numpy, which knows no bfloat16."""
    kept = value.detach().cpu()
    array: NDArray[np.floating[Any]] = (
        kept if kept.dtype in (torch.float32, torch.float64) else kept.float()
    ).numpy()
    return array


def table_of(records: Sequence[AttentionRecord], *, most: int = MOST_ROWS) -> pandas.DataFrame:
    """What `AttentionRecord.to_pandas` describes, of several records one after another."""
    import pandas

    rows = sum(math.prod(record.shape) for record in records)
    if rows > most:
        raise RecordingError(
            f"the table would have {rows:,} rows, more than {most:,}; select some heads or "
            f"queries first (record.sel), or ask for them with most={rows}"
        )
    repeated = {
        axis.name
        for record in records
        for axis in record.axes
        if axis.labels is not None and len(set(axis.labels)) < len(axis.labels)
    }
    tables = [_table(record, repeated) for record in records]
    parts = [name for name in ("content", "bias") if any(name in table for table in tables)]
    whole = pandas.concat(tables, ignore_index=True) if len(tables) > 1 else tables[0]
    ends = ["weight", *parts]
    return whole[[*(name for name in whole.columns if name not in ends), *ends]]


def _table(record: AttentionRecord, repeated: set[str]) -> pandas.DataFrame:
    import pandas

    names = [axis.name for axis in record.axes]
    taken = {"site", "call", "weight", "content", "bias"}
    if len(set(names)) < len(names) or taken & set(names):
        raise RecordingError(
            f"{record.site}: axes {', '.join(names)} cannot be columns of one table; "
            "they need names of their own"
        )
    weights = _plain(record.weights)
    shown = np.ones(weights.shape, np.bool_) if record.keys is None else weights > 0
    places: list[Any] = list(np.nonzero(shown))
    if record.keys is not None:
        places[-1] = record.keys.cpu().numpy()[shown].astype(np.int64)
    columns: dict[str, NDArray[Any]] = {
        "site": np.full(len(places[0]), record.site, dtype=object),
        "call": np.full(len(places[0]), record.call),
    }
    for number, (axis, index) in enumerate(zip(record.axes, places, strict=True)):
        numbers = index
        if axis.name == "query" and record.rows is not None:
            numbers = np.array(record.rows, np.int64)[index]
        columns[axis.name] = numbers
        if axis.labels is not None:
            columns[axis.name] = np.array(record.names(number), dtype=object)[index]
        if axis.name in repeated:
            columns[f"{axis.name}_position"] = numbers
    columns["weight"] = weights[shown]
    for name in ("content", "bias"):
        part = getattr(record, name)
        if part is not None:
            columns[name] = np.broadcast_to(_plain(part), shown.shape)[shown]
    return pandas.DataFrame(columns)


def record_text(record: AttentionRecord) -> str:
    """A record on one line, and its notes."""
    kind = str((record.weights if record.lazy is None else record.lazy.q).dtype)
    told = f"{kind_of(record)}, {kind.removeprefix('torch.')}, {_sizes(record)}"
    lines = [f"AttentionRecord {_short(record.site)} (call {record.call}): {told}"]
    return "\n".join(lines + _noted(record.notes))


def recording_text(sites: Mapping[str, Sequence[AttentionRecord]]) -> str:
    """A recording on one screen: every site, its calls, what was kept, its sizes, the notes."""
    records = [record for calls in sites.values() for record in calls]
    lines = [f"Recording: {count(len(sites), 'site')}, {count(len(records), 'call')}"]
    for site, calls in list(sites.items())[:LISTED]:
        told = dict.fromkeys(f"{kind_of(call)}, {_sizes(call)}" for call in calls)
        name = _short(site) or "(the model itself)"
        lines.append(f"  {name}: {count(len(calls), 'call')}, {' / '.join([*told][:2])}")
    if len(sites) > LISTED:
        lines.append(f"  … {len(sites) - LISTED} more")
    return "\n".join(lines + _noted(notes_of(records)))


def notes_of(records: Iterable[AttentionRecord]) -> tuple[str, ...]:
    """What records say of how they were come by, each thing once."""
    return tuple(dict.fromkeys(note for record in records for note in record.notes))


def _sizes(record: AttentionRecord) -> str:
    return ", ".join(
        f"{_short(axis.name)} {size}" for axis, size in zip(record.axes, record.sizes, strict=True)
    )


def _noted(notes: Sequence[str]) -> list[str]:
    lines = [f"  note: {_short(note, 400)}" for note in notes[:LISTED]]
    return lines + ([f"  … {len(notes) - LISTED} more notes"] if len(notes) > LISTED else [])


def _short(text: str, widest: int = WIDEST) -> str:
    clean = "".join(c if c.isprintable() else "�" for c in text)
    return clean if len(clean) <= widest else clean[: widest - 1] + "…"
