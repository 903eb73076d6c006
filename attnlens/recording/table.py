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
from attnlens.recording.kept import Kept
from attnlens.words import count

if TYPE_CHECKING:
    import pandas

MOST_ROWS: Final = 5_000_000
"""Rows of a table; more are made only where more are asked for."""
MOST_CELLS: Final = 250_000_000
"""Weights that are formed for an array, 1 GB in float32."""
LISTED: Final = 20
"""Sites, notes and such that a summary lists."""
WIDEST: Final = 60
"""Characters of a name in a summary."""


def kind_of(record: Kept) -> str:
    """What was kept: ``all``, ``3 rows``, ``top 16`` or ``lazy``."""
    if record.lazy is not None:
        return "lazy"
    rows = "" if record.rows is None else count(len(record.rows), "row")
    if record.keys is not None:
        return ", ".join(filter(None, (f"top {record.keys.shape[-1]}", rows)))
    return rows or "all"


def array_of(record: Kept, *, missing: float = 0.0) -> NDArray[np.floating[Any]]:
    """What `AttentionRecord.to_numpy` describes."""
    sizes = record.sizes
    if (record.lazy is not None or record.keys is not None) and math.prod(sizes) > MOST_CELLS:
        raise RecordingError(
            f"{record.site}: the whole of it would be {math.prod(sizes):,} weights; "
            "select some heads or queries first (record.sel, record.isel)"
        )
    weights = _plain(record.weights)
    if record.keys is None:
        return weights
    whole = np.full(sizes, missing, weights.dtype)
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


def table_of(records: Sequence[Kept], *, most: int = MOST_ROWS) -> pandas.DataFrame:
    """What `AttentionRecord.to_pandas` describes, of several records one after another."""
    import pandas

    rows = sum(math.prod(record.shape) for record in records)
    if rows > most:
        raise RecordingError(
            f"the table would have {rows:,} rows, more than {most:,}; select some heads or "
            f"queries first (record.sel, record.isel), or ask for them with most={rows}"
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


def _table(record: Kept, repeated: set[str]) -> pandas.DataFrame:
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
    for number, (axis, place) in enumerate(zip(record.axes, places, strict=True)):
        numbers = place
        if axis.name == "query" and record.rows is not None:
            numbers = np.array(record.rows, np.int64)[place]
        columns[axis.name] = numbers
        if axis.labels is not None:
            columns[axis.name] = np.array(record.names(number), dtype=object)[place]
        if axis.name in repeated:
            columns[f"{axis.name}_position"] = numbers
    columns["weight"] = weights[shown]
    for name in ("content", "bias"):
        part = getattr(record, name)
        if part is not None:
            columns[name] = np.broadcast_to(_plain(part), shown.shape)[shown]
    return pandas.DataFrame(columns)


def record_text(record: Kept) -> str:
    """A record in a few lines: where, what was kept, each axis, and its notes."""
    kept = record.lazy.q if record.lazy is not None else record.weights
    kind = str(kept.dtype).removeprefix("torch.")
    lines = [
        f"AttentionRecord {_short(record.site)} (call {record.call}): {kind_of(record)}, {kind}"
    ]
    width = max((len(_short(axis.name)) for axis in record.axes), default=0)
    for place, (axis, size) in enumerate(zip(record.axes, record.sizes, strict=True)):
        told = ""
        if axis.labels is not None or (axis.name == "query" and record.rows is not None):
            names = record.names(place)
            told = "  " + _listed(names)
        lines.append(f"  {_short(axis.name):{width}} {size:>6}{told}")
    parts = [name for name in ("content", "bias") if getattr(record, name) is not None]
    if parts:
        lines.append(f"  logits told: {' and '.join(parts)}")
    return "\n".join(lines + _noted(record.notes))


def recording_text(sites: Mapping[str, Sequence[Kept]]) -> str:
    """A recording on one screen: every site, its calls, what was kept, its sizes, the notes."""
    records = [record for calls in sites.values() for record in calls]
    lines = [f"Recording: {count(len(sites), 'site')}, {count(len(records), 'call')}"]
    table = []
    for site, calls in sites.items():
        sizes = list(dict.fromkeys(_sizes(one) for one in calls))
        kinds = list(dict.fromkeys(kind_of(one) for one in calls))
        table.append(
            (
                _short(site) or "(the model itself)",
                count(len(calls), "call"),
                " / ".join(kinds[:2]) + (" / …" if len(kinds) > 2 else ""),
                " / ".join(sizes[:2]) + (" / …" if len(sizes) > 2 else ""),
            )
        )
    shown = table if len(table) <= LISTED else [*table[: LISTED - 4], *table[-3:]]
    widths = [max((len(row[at]) for row in shown), default=0) for at in range(3)]
    for number, row in enumerate(shown):
        if len(table) > LISTED and number == LISTED - 4:
            lines.append(f"  … {len(table) - len(shown)} more")
        cells = [cell.ljust(width) for cell, width in zip(row, (*widths, 0), strict=True)]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines + _noted(notes_of(records)))


def notes_of(records: Iterable[Kept]) -> tuple[str, ...]:
    """What records say of how they were come by, each thing once."""
    return tuple(dict.fromkeys(note for record in records for note in record.notes))


def _sizes(record: Kept) -> str:
    return ", ".join(
        f"{_short(axis.name)} {size}" for axis, size in zip(record.axes, record.sizes, strict=True)
    )


def _noted(notes: Sequence[str]) -> list[str]:
    lines = [f"  note: {_short(note, 200)}" for note in notes[:LISTED]]
    return lines + ([f"  … {len(notes) - LISTED} more notes"] if len(notes) > LISTED else [])


def _listed(names: Sequence[str], most: int = 6) -> str:
    told = [_short(name, 20) for name in names]
    return ", ".join(told if len(told) <= most + 1 else [*told[:most], "…", told[-1]])


def _short(text: str, widest: int = WIDEST) -> str:
    clean = "".join(c if c.isprintable() else "�" for c in text)
    return clean if len(clean) <= widest else clean[: widest - 1] + "…"
