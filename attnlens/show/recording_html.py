"""A recording as one HTML page: every site, batch and head to look at, with its own script.

Without the script the page tells every site and shows the first heat map.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from attnlens.show.heat_map import Cell, Column, HeatMap, Row
from attnlens.show.page import inert, render_page
from attnlens.show.safe import each_text, on_one_line

STRONGEST: Final = 8
"""Strongest keys of a row in a packed map."""
FULL_SCALE: Final = 65_535
STILL_ROWS: Final = 200
"""Rows of the table that is there without the script."""

STILL_SIDE: Final = 48
"""Rows and columns of the heat map that is drawn without the script; of more, blocks."""

STILL_KEYS: Final = 4
"""Strongest keys of a row in the table without the script."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """One packed map.

    Attributes:
        cells: shares of the map's largest weight, `FULL_SCALE` of it at most, row by row.
        low, high: bounds of each row's entropy in nats; NaN where it pays nothing.
        places: query and key of each row's strongest, -1 where there are no more.
        paid: the weights of these.
    """

    cells: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    places: tuple[int, ...]
    paid: tuple[float, ...]


def unpacked_map(packed: bytes, rows: int, columns: int) -> Unpacked:
    """What `attnlens.analysis.views.maps_data` has packed."""
    raw = zlib.decompress(packed)
    padding = -(rows * columns * 2) % 4
    strong = rows * STRONGEST
    layout = f"<{rows * columns}H{padding}x{2 * rows}f{2 * strong}i{strong}f"
    values = struct.unpack(layout, raw)
    ends = [0, rows * columns]
    for size in (rows, rows, 2 * strong, strong):
        ends.append(ends[-1] + size)
    return Unpacked(*(values[start:end] for start, end in pairwise(ends)))


def render_recording_page(data: Mapping[str, Any], *, name: str) -> str:
    """The page.

    Args:
        data: ``notes`` and ``records``, as `attnlens.analysis.views.maps_data` tells them.
        name: what to call the recording.
    """
    records = data["records"]
    calls = Counter(record["site"] for record in records)
    most = max((one["top"] for record in records for one in record["maps"]), default=0.0)
    shown = each_text(records, on_one_line)
    return render_page(
        "recording.html",
        title=f"{on_one_line(name)}: attention",
        styles=("recording.css",),
        script="recording.js",
        name=on_one_line(name),
        notes=each_text(data["notes"], on_one_line),
        records=shown,
        calls=calls,
        still=_still(shown[0], most) if records else None,
        most=most,
        data=inert({"records": [_stored(one, calls) for one in records], "top": most}),
    )


def _stored(record: Mapping[str, Any], calls: Mapping[str, int]) -> dict[str, Any]:
    """What the script is given of a record."""
    maps = [
        {**one, "packed": base64.b64encode(one["packed"]).decode("ascii")} for one in record["maps"]
    ]
    axes = [{"name": axis["name"], "size": axis["size"]} for axis in record["axes"]]
    return {**record, "axes": axes, "calls": calls[record["site"]], "maps": maps}


@dataclass(frozen=True, slots=True)
class Still:
    """The first heat map, as a picture and as rows of a table."""

    title: str
    row_name: str
    key_name: str
    map: HeatMap
    rows: list[tuple[str, str, str]]


def _still(record: Mapping[str, Any], most: float) -> Still:
    rows, columns = record["rows"], record["columns"]
    first = record["maps"][0]
    unpacked = unpacked_map(first["packed"], len(rows), len(columns))
    names = [axis["name"] for axis in record["axes"]]
    row_name, key_name = (names[-2] if len(names) > 1 else "row"), names[-1]
    lead = [f"{name} {value}" for name, value in zip(names[:-2], first["lead"], strict=True)]
    return Still(
        title=", ".join([record["site"] or "(the model itself)", *lead]),
        row_name=row_name,
        key_name=key_name,
        map=_picture(rows, columns, unpacked.cells, first["top"], most),
        rows=[
            (name or "0", _spread(unpacked.low[at], unpacked.high[at]), _best(record, unpacked, at))
            for at, name in enumerate(rows[:STILL_ROWS])
        ],
    )


def _best(record: Mapping[str, Any], unpacked: Unpacked, row: int) -> str:
    """The strongest keys of a row, with what each is paid."""
    told = []
    for at in range(row * STRONGEST, row * STRONGEST + STILL_KEYS):
        query, key = unpacked.places[2 * at : 2 * at + 2]
        if key < 0:
            break
        source = f" (from {record['queries'][query]})" if record["block"][0] > 1 else ""
        told.append(f"“{record['keys'][key]}”{source} {unpacked.paid[at]:.3f}")
    return ", ".join(told)


def _spread(low: float, high: float) -> str:
    if math.isnan(low):
        return "pays nothing"
    if high - low < 0.001:
        return f"{low:.3f} nats, as {math.exp(low):.1f} keys paid alike"
    return f"{low:.3f} to {high:.3f} nats"


def _picture(
    rows: Sequence[str], columns: Sequence[str], cells: Sequence[int], top: float, most: float
) -> HeatMap:
    """The map; of one with more than `STILL_SIDE` rows or columns the largest of each block."""
    tall, wide = (-(-len(names) // STILL_SIDE) for names in (rows, columns))
    drawn = []
    for start in range(0, len(rows), tall):
        lines = [
            cells[at * len(columns) : (at + 1) * len(columns)]
            for at in range(start, min(start + tall, len(rows)))
        ]
        row = []
        for first in range(0, len(columns), wide):
            share = max(cell for line in lines for cell in line[first : first + wide])
            weight = top * share / FULL_SCALE
            words = f"{rows[start]}, {columns[first]}: {weight:.4f}"
            row.append(Cell.shaded(weight, most, words))
        drawn.append(Row(rows[start], row))
    return HeatMap(
        anchor="still",
        title="Heat map",
        told=f"{len(rows)} rows, {len(columns)} columns",
        columns=[Column(name) for name in columns[::wide]],
        rows=drawn,
        width=14.0,
        height=16.0,
    )
