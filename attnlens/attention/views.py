"""Convert a recording to plain data: sites, rows, and heat maps for a page.

Large maps are divided into blocks of cells. Each block shows its largest weight.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from attnlens.attention.focus import SINK, as_floats, entropy, entropy_bounds, looked_at, sinks
from attnlens.errors import InputError, RecordingError
from attnlens.files import Floats, Json
from attnlens.recording.attention_record import AttentionRecord, kind_of
from attnlens.recording.recording import Recording

_MAX_SIDE_CELLS: Final = 512
"""A map with at most this many queries and at most this many keys is shown in full."""
_MIN_SIDE_CELLS: Final = 16
_MAX_CELLS: Final = 40_000_000
"""The maximum number of cells on a page. Maps with more cells are divided into blocks."""
_N_STRONGEST: Final = 8
_MAX_BYTES: Final = 2_850_000
"""The maximum size of a page's packed maps, in bytes."""
_CELL_BYTES: Final = 0.26
"""The size limit of a packed cell, in bytes, on pages with over ten million cells."""
_LEVELS: Final = (65_535, 255, 127, 63)
"""The possible numbers of quantization levels. The largest number that fits is used."""
_BEND: Final = 0.1
"""The fraction of the largest weight below which the quantization is roughly linear."""
_ENTROPY_STEPS: Final = 4096
_NO_ENTROPY: Final = 65_535
_CHUNK_CELLS: Final = 1 << 23
_TOLERANCE: Final = 1e-3
_HALF_TOLERANCE: Final = 1e-2
"""The tolerances for the sum of a row, with 32-bit and with 16-bit weights."""


Picture = tuple[NDArray[np.uint16], NDArray[np.uint16]]
"""A heat map ``(key, query)``, and bounds on the entropy of each row, ``(2, query)``."""


def choose(recording: Recording, **kwargs: str | None) -> Recording:
    """Select part of a recording by ``site``, ``batch``, ``head`` and ``query``.

    Positions are selected by label, or by index if no label matches. Records without a selected
    axis are left out.

    Raises:
        InputError: a selected site or position does not exist, or no record has a selected axis.
    """
    records = list(recording.records())
    if (site := kwargs.get("site")) is not None:
        if site not in recording:
            raise InputError(
                f"no attention was recorded at {site!r}",
                remedy=f"choose one of {', '.join(recording)}",
            )
        records = list(recording.calls(site))
    for axis in ("batch", "head", "query"):
        if (word := kwargs.get(axis)) is None:
            continue
        records = [record for record in records if axis in [axis.name for axis in record.axes]]
        if not records:
            raise InputError(
                f"no record of this recording has an axis called {axis!r}",
                remedy=f"leave --{axis} out",
            )
        records = [_chosen(record, axis, word) for record in records]
    return Recording(records)


def _chosen(record: AttentionRecord, axis: str, word: str) -> AttentionRecord:
    selection: str | int = word
    if word not in record.names(record.place_of(axis)):
        with suppress(ValueError):
            selection = int(word)
    try:
        return record.sel(**{axis: selection})
    except RecordingError as error:
        raise InputError(str(error), remedy=f"choose another --{axis}") from None


def sites_data(recording: Recording) -> list[Json]:
    """Describe each record of a recording, without the weights."""
    return [
        {
            "site": record.site,
            "call": record.call,
            "kept": kind_of(record),
            "axes": [
                {"name": axis.name, "size": size, "labels": axis.labels and list(axis.labels)}
                for axis, size in zip(record.axes, record.sizes, strict=True)
            ],
            "rows": None if record.rows is None else list(record.rows),
            "notes": list(record.notes),
        }
        for record in recording.records()
    ]


def has_weights(record: AttentionRecord) -> bool:
    """Whether a record has any weights to show."""
    return bool(record.axes) and 0 not in (*record.shape, *record.sizes)


def rows_data(record: AttentionRecord, count: int = _N_STRONGEST) -> list[Json]:
    """For every row of a record, return the entropy in nats and the strongest keys.

    The entropy is ``None`` for a row of zeros and for every row of a top-k record.
    """
    *names, keys = (record.names(index) for index in range(len(record.axes)))
    leads = _leads(record)
    rows = record.rows if _has_queries(record) else None
    rows_by_number = {}
    for start, weights, low, high in _measured(record):
        for at in np.ndindex(low.shape):
            number = (at[0], start + at[1])
            has_entropy = math.isfinite(low[at]) and math.isfinite(high[at])
            bounds = [float(low[at]), float(high[at])] if has_entropy else None
            row = weights[at]
            rows_by_number[number] = {
                "site": record.site,
                "call": record.call,
                **{
                    axis.name: labels[index]
                    for axis, labels, index in zip(
                        record.axes, names, (*leads[at[0]], number[1]), strict=False
                    )
                },
                "position": number[1] if rows is None else rows[number[1]],
                "entropy_nats": bounds[0] if bounds and record.keys is None else None,
                "entropy_bounds": bounds,
                "strongest": [
                    {"key": keys[key], "position": int(key), "weight": float(row[key])}
                    for key in np.argsort(-row, kind="stable")[:count]
                    if 0 < row[key] < math.inf
                ],
            }
    return [rows_by_number[number] for number in sorted(rows_by_number)]


def maps_data(
    recording: Recording, *, most_cells: int = _MAX_CELLS, most_bytes: int = _MAX_BYTES
) -> Json:
    """Return all heat maps of a recording, divided into blocks if they do not fit on a page.

    Returns:
        a dictionary. The weight of a cell is ``top * bend * ((1 + 1 / bend) ** (cell / levels) -
        1)``.

        - ``notes``: a note if records without weights were left out; otherwise empty.
        - ``levels`` and ``bend``: the parameters of the quantization.
        - ``sink``: the definition of a sink in words.
        - ``records``: a list of records, with the fields of `sites_data` and the fields below.

        - ``block``: the number of queries and of keys per cell.
        - ``queries`` and ``keys``: the labels.
        - ``maps``: for each batch and head, the labels (``lead``), the largest weight (``top``),
          the columns with a sink (``sinks``), and the largest weight outside sinks (``rest``).
        - ``packed``: the maps one after another, compressed with zlib. A map has its cells column
          by column, with one byte per cell, or two if ``levels`` is above 255. A zero byte is added
          to an odd number of bytes. The lower and then the upper entropy bounds of the map's rows
          follow, with two bytes each, in units of 1/`_ENTROPY_STEPS` nats. `_NO_ENTROPY` marks a
          row of zeros.

    Raises:
        InputError: the maps do not fit on a page, even at their smallest size.
    """
    records = [record for record in recording.records() if has_weights(record)]
    side = _fitting(records, most_cells)
    notes = []
    if empty := len(recording.records()) - len(records):
        notes.append(f"{empty} records contain no weights and are left out")
    entries: list[Json] = []
    record_pictures: list[list[Picture]] = []
    for record, entry in zip(records, sites_data(Recording(records)), strict=True):
        *_, queries, keys = ("",), *map(record.names, range(len(record.axes)))
        tall, wide = (math.ceil(len(names) / side) for names in (queries, keys))
        if tall * wide > 1:
            entry["notes"].append(
                f"{len(queries)} by {len(keys)} cells are drawn as "
                f"{-(-len(queries) // tall)} by {-(-len(keys) // wide)}: each drawn cell "
                f"shows the largest weight of {tall} by {wide} cells, and each drawn row "
                "has the mean entropy of the rows that it replaces"
            )
        if record.keys is not None:
            entry["notes"].append(
                f"only the {record.keys.shape[-1]} largest weights of each row were "
                "recorded; the other cells are blank, and only bounds of the entropies are "
                "known"
            )
        maps, pictures, check = _maps(record, tall, wide)
        entry["notes"] += check.notes()
        entry |= {"block": [tall, wide], "queries": list(queries), "keys": list(keys)}
        entries.append(entry | {"maps": maps})
        record_pictures.append(pictures)
    cells = sum(picture[0].size for pictures in record_pictures for picture in pictures)
    byte_limit = max(most_bytes, int(_CELL_BYTES * cells))
    levels, packed = _packed(record_pictures, byte_limit)
    if sum(map(len, packed)) * 4 > byte_limit * 3:
        with suppress(InputError):  # maps of the smallest size cannot be reduced
            return maps_data(recording, most_cells=cells // 2, most_bytes=most_bytes)
    for entry, content in zip(entries, packed, strict=True):
        entry["packed"] = content
    return {"notes": notes, "levels": levels, "bend": _BEND, "sink": SINK, "records": entries}


def _packed(records: Sequence[Sequence[Picture]], byte_limit: int) -> tuple[int, list[bytes]]:
    for levels in _LEVELS:
        packed: list[bytes] = []
        room = byte_limit * 3 // 4  # base64 uses four letters for three bytes
        for pictures in records:
            parts = []
            for cells, entropies in pictures:
                small = np.rint(cells * (levels / _LEVELS[0]))
                raw = small.astype("<u2" if levels > 255 else "u1").tobytes()
                parts += [raw, b"\0" * (len(raw) % 2), entropies.astype("<u2").tobytes()]
            packed.append(zlib.compress(b"".join(parts), 6))
            room -= len(packed[-1])
            if room < 0 and levels != _LEVELS[-1]:
                break
        else:
            break
    return levels, packed


def _fitting(records: Sequence[AttentionRecord], max_cells: int) -> int:
    side = _MAX_SIDE_CELLS
    while side >= _MIN_SIDE_CELLS:
        cells = sum(
            len(_leads(record))
            * math.prod(math.ceil(size / math.ceil(size / side)) for size in _sides(record))
            for record in records
        )
        if cells <= max_cells:
            return side
        side //= 2
    raise InputError(
        f"{sum(len(_leads(record)) for record in records)} heat maps do not fit on one page",
        remedy="select fewer heat maps with --site, --head or --batch",
    )


def _sides(record: AttentionRecord) -> tuple[int, int]:
    sizes = record.sizes
    return (sizes[-2] if len(sizes) > 1 else 1), sizes[-1]


def _leads(record: AttentionRecord) -> list[tuple[int, ...]]:
    return list(np.ndindex(record.sizes[:-2]))


def _has_queries(record: AttentionRecord) -> bool:
    return len(record.axes) > 1 and record.axes[-2].name == "query"


class _WeightCheck:
    """Counts rows with negative, infinite or NaN weights, and rows whose sum is not 1."""

    def __init__(self, record: AttentionRecord) -> None:
        self._sums_to_one = record.axes[-1].name == "key"
        half = record.weights.dtype in (torch.float16, torch.bfloat16)
        self._tolerance = _HALF_TOLERANCE if half and record.lazy is None else _TOLERANCE
        self._residual = None if record.residual is None else as_floats(record.residual)
        self.rows = 0
        self.counts = dict.fromkeys(("NaN", "infinite", "negative"), 0)
        self.sums: list[float] = []
        self.wrong_sums = 0

    def add(self, start: int, weights: NDArray[np.float32]) -> None:
        """Check weights ``(map, row, key)``; ``start`` is the index of the first row."""
        held: NDArray[Any] = weights
        if self._residual is not None:
            rest = self._residual.reshape(len(weights), -1)[:, start : start + weights.shape[1]]
            # By rounding, the residual can be slightly below 0.
            rest = np.where(np.abs(rest) < self._tolerance, np.abs(rest), rest)
            held = np.concatenate([weights, rest[..., None]], -1)
        kinds = zip(self.counts, (np.isnan(held), np.isinf(held), held < 0), strict=True)
        for kind, wrong in kinds:
            self.counts[kind] += int(wrong.any(-1).sum())
        self.rows += math.prod(weights.shape[:2])
        if not self._sums_to_one:
            return
        sums = held.sum(-1, dtype=np.float64)
        wrong = np.isfinite(sums) & (np.abs(sums - 1) > self._tolerance) & (sums != 0)
        if wrong.any():
            self.wrong_sums += int(wrong.sum())
            self.sums += [float(sums[wrong].min()), float(sums[wrong].max())]

    def notes(self) -> list[str]:
        """Return one sentence for each kind of fault."""
        notes = [
            f"{number} of {self.rows} rows contain {kind} weights, which are drawn as 0"
            for kind, number in self.counts.items()
            if number
        ]
        if self.wrong_sums:
            low, high = min(self.sums), max(self.sums)
            notes.append(
                f"{self.wrong_sums} of {self.rows} rows of weights have sums from {low:.3g} "
                f"to {high:.3g} instead of 1"
            )
        return notes


def weight_notes(record: AttentionRecord) -> list[str]:
    """Return a sentence for each kind of fault in a record's weights.

    A row of zeros is valid. Sums may differ from 1 by up to 1% (16-bit weights) or 0.1%.
    """
    check = _WeightCheck(record)
    for start, weights, _, _ in _measured(record):
        check.add(start, weights)
    return check.notes()


def _maps(
    record: AttentionRecord, tall: int, wide: int
) -> tuple[list[Json], list[Picture], _WeightCheck]:
    queries, keys = _sides(record)
    count = len(_leads(record))
    rows, columns = -(-queries // tall), -(-keys // wide)
    cells = np.zeros((count, rows, columns), np.float32)
    bounds = np.full((2, count, rows), np.nan, np.float32)
    paid = np.zeros((3, count, keys))
    widths = np.arange(0, keys, wide)
    check = _WeightCheck(record)
    for start, weights, low, high in _measured(record, tall):
        check.add(start, weights)
        bad = ~(weights >= 0) | np.isinf(weights)
        block = np.where(bad, 0.0, weights)
        heights = np.arange(0, block.shape[1], tall)
        at = slice(start // tall, start // tall + len(heights))
        cells[:, at] = np.maximum.reduceat(np.maximum.reduceat(block, heights, 1), widths, 2)
        for which, values in enumerate((low, high)):
            valid = ~np.isnan(values)
            among = np.add.reduceat(valid.astype(float), heights, 1)
            total = np.add.reduceat(np.where(valid, values, 0.0), heights, 1)
            bounds[which, :, at] = np.where(among > 0, total / np.maximum(among, 1), np.nan)
        paid += looked_at(block, every_key=record.keys is not None)
    flags = sinks(*paid) & _has_queries(record)
    flags = np.logical_or.reduceat(flags, widths, 1)
    leads = [record.names(index) for index in range(max(0, len(record.axes) - 2))]
    maps: list[Json] = [
        {
            "lead": [names[position] for names, position in zip(leads, lead, strict=True)],
            "top": float(cells[number].max(initial=0.0)),
            "rest": float(np.where(flags[number], 0.0, cells[number]).max(initial=0.0)),
            "sinks": np.flatnonzero(flags[number]).tolist(),
        }
        for number, lead in enumerate(_leads(record))
    ]
    return maps, _pictures(cells, bounds), check


def _pictures(cells: NDArray[np.float32], bounds: NDArray[np.float32]) -> list[Picture]:
    """Quantize weights ``(map, query, key)`` and bounds of entropies ``(2, map, query)``."""
    tops = cells.max((1, 2), keepdims=True)
    shares = cells / np.where(tops > 0, tops, 1.0)
    bent = np.rint(np.log1p(shares / _BEND) * (_LEVELS[0] / math.log1p(1 / _BEND)))
    nats = np.rint(bounds * _ENTROPY_STEPS).clip(0, _NO_ENTROPY - 1)
    nats = np.where(np.isnan(bounds), _NO_ENTROPY, nats)
    columns, entropies = bent.transpose(0, 2, 1), nats.swapaxes(0, 1)
    return list(zip(columns.astype(np.uint16), entropies.astype(np.uint16), strict=True))


def _measured(
    record: AttentionRecord, multiple: int = 1
) -> Iterator[tuple[int, NDArray[np.float32], Floats, Floats]]:
    """Yield blocks of rows: the first index, the weights ``(map, row, key)`` and two bounds.

    The number of rows in a block is a multiple of ``multiple``, except in the last block.
    """
    queries, keys = _sides(record)
    maps = len(_leads(record))
    step = max(1, _CHUNK_CELLS // max(1, maps * keys * multiple)) * multiple
    top_weights = None
    if record.keys is not None:
        top_weights = record.to_numpy().reshape(maps, queries, keys)
        shares = as_floats(record.weights)
        rest = np.maximum(1 - shares.sum(-1), 0) if record.residual is None else record.residual
        low, high = (
            entropy_bound.reshape(maps, queries)
            for entropy_bound in entropy_bounds(shares, rest, keys)
        )
    for start in range(0, queries, step):
        rows = slice(start, min(start + step, queries))
        if top_weights is not None:
            yield start, top_weights[:, rows].astype(np.float32), low[:, rows], high[:, rows]
            continue
        if record.lazy is not None:
            some = as_floats(record.lazy.weights(rows)).reshape(maps, -1, keys)
        else:
            some = as_floats(record.weights.reshape(maps, queries, keys)[:, rows])
        nats = entropy(some)
        yield start, some.astype(np.float32), nats, nats
