"""A recording as one HTML page that needs nothing else: no network, no server, no other file.

Without its script the page tells every site and shows the first heat map; with it, any site,
batch and head. The script's hash is in the page's security policy, so nothing else can run,
and every name is written as text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import pairwise
from typing import Any, Final

from attnlens.words import count

STRONGEST: Final = 8
"""Strongest keys of a row in a packed map."""
FULL_SCALE: Final = 65_535
STILL_ROWS: Final = 200
"""Rows of the table that is there without the script."""


def render_page(data: Mapping[str, Any], *, name: str) -> str:
    """The page.

    Args:
        data: ``notes`` and ``records``, as `attnlens.analysis.views.maps_data` tells them.
        name: what to call the recording.
    """
    records = data["records"]
    calls: dict[str, int] = {}
    for record in records:
        calls[record["site"]] = calls.get(record["site"], 0) + 1
    stored = [
        {
            **{part: value for part, value in record.items() if part != "maps"},
            "axes": [{"name": axis["name"], "size": axis["size"]} for axis in record["axes"]],
            "calls": calls[record["site"]],
            "maps": [
                {**one, "packed": base64.b64encode(one["packed"]).decode("ascii")}
                for one in record["maps"]
            ],
        }
        for record in records
    ]
    script = _resource("recording_page.js")
    allowed = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    )
    sites = count(len(calls), "site")
    notes = "".join(f'<p class="note">{_text(note)}</p>\n' for note in data["notes"])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(name)}: attention</title>\n"
        f"<style>\n{_resource('recording_page.css')}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{_text(name)}</h1>\n"
        f'<p class="quiet">{sites}, {count(len(records), "call")} of attention. Weights are '
        "shares of what each query pays; where attention goes is not yet why a model answers as "
        "it does.</p>\n"
        f'{notes}<p class="note" id="trouble" hidden></p>\n</header>\n'
        f"{_sites_table(records, calls)}"
        f'<main id="view">\n{_still(records[0]) if records else "<p>Nothing to show.</p>"}</main>\n'
        f'<script type="application/json" id="data">{_inert({"records": stored})}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _sites_table(records: Sequence[Mapping[str, Any]], calls: Mapping[str, int]) -> str:
    rows = []
    for number, record in enumerate(records):
        site = record["site"] or "(the model itself)"
        call = f", call {record['call']}" if calls[record["site"]] > 1 else ""
        sizes = ", ".join(f"{axis['name']} {axis['size']}" for axis in record["axes"])
        rows.append(
            f'<tr><td data-record="{number}">{_text(site + call)}</td>'
            f"<td>{_text(record['kept'])}</td><td>{_text(sizes)}</td></tr>\n"
        )
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Sites">\n<table id="sites">\n'
        "<thead><tr><th>site</th><th>kept</th><th>sizes</th></tr></thead>\n"
        f"<tbody>\n{''.join(rows)}</tbody>\n</table>\n</div>\n"
    )


def _still(record: Mapping[str, Any]) -> str:
    """The first heat map, as a picture and a table."""
    rows, columns = record["rows"], record["columns"]
    told = record["maps"][0]
    cells, low, high, places, paid = unpacked_map(told["packed"], len(rows), len(columns))
    names = [axis["name"] for axis in record["axes"]]
    row_name, key_name = (names[-2] if len(names) > 1 else "row"), names[-1]
    lead = ", ".join(
        f"{name} {value}" for name, value in zip(names[:-2], told["lead"], strict=True)
    )
    picture = base64.b64encode(_picture(cells, len(rows), len(columns))).decode("ascii")
    mask = f"url(data:image/png;base64,{picture}) 0 0/100% 100%"
    notes = "".join(f'<p class="note">{_text(note)}</p>\n' for note in record["notes"])
    lines = []
    for row in range(min(len(rows), STILL_ROWS)):
        best: list[str] = []
        for at in range(row * STRONGEST, (row + 1) * STRONGEST):
            query, key = places[2 * at : 2 * at + 2]
            if key < 0 or len(best) == 4:
                break
            source = f" (from {record['queries'][query]})" if record["block"][0] > 1 else ""
            best.append(f"“{record['keys'][key]}”{source} {paid[at]:.3f}")
        lines.append(
            f"<tr><td>{_text(rows[row] or '0')}</td><td>{_spread(low[row], high[row])}</td>"
            f"<td>{_text(', '.join(best))}</td></tr>\n"
        )
    more = len(rows) - STILL_ROWS
    left = f'<p class="quiet">{count(more, "more row")} with the script.</p>\n' if more > 0 else ""
    title = record["site"] or "(the model itself)"
    return (
        f"<h2>{_text(title)}{', ' if lead else ''}{_text(lead)}</h2>\n{notes}"
        f'<figure><div class="picture"><div role="img" aria-label="Heat map, {_text(row_name)} '
        f'down, {_text(key_name)} across" style="aspect-ratio:{len(columns)}/{len(rows)};'
        f'-webkit-mask:{mask};mask:{mask}"></div></div>\n'
        f"<figcaption>{_text(row_name)} down, {_text(key_name)} across; darkest "
        f"{told['top']:.4f}. Square roots of the weights are drawn.</figcaption></figure>\n"
        '<div class="scroll tall" tabindex="0" role="region" aria-label="Rows">\n<table>\n'
        f"<thead><tr><th>{_text(row_name)}</th><th>entropy</th>"
        f"<th>strongest {_text(key_name)}s</th></tr></thead>\n"
        f"<tbody>\n{''.join(lines)}</tbody>\n</table>\n</div>\n{left}"
    )


def unpacked_map(
    packed: bytes, rows: int, columns: int
) -> tuple[
    tuple[int, ...], tuple[float, ...], tuple[float, ...], tuple[int, ...], tuple[float, ...]
]:
    """Cells, lower and upper entropies, places (query, key) and weights of the strongest."""
    raw = zlib.decompress(packed)
    padding = -(rows * columns * 2) % 4
    strong = rows * STRONGEST
    layout = f"<{rows * columns}H{padding}x{2 * rows}f{2 * strong}i{strong}f"
    values = struct.unpack(layout, raw)
    ends = [0, rows * columns]
    for size in (rows, rows, 2 * strong, strong):
        ends.append(ends[-1] + size)
    cells, low, high, places, paid = (values[a:b] for a, b in pairwise(ends))
    return cells, low, high, places, paid


def _spread(low: float, high: float) -> str:
    if math.isnan(low):
        return "pays nothing"
    if high - low < 0.001:
        return f"{low:.3f} nats, as {math.exp(low):.1f} keys paid alike"
    return f"{low:.3f} to {high:.3f} nats"


def _picture(cells: Sequence[int], rows: int, columns: int) -> bytes:
    """A PNG whose opacity is the square root of each cell, so that the page's colour shows."""
    lines = bytearray()
    for row in range(rows):
        lines.append(0)  # no filter
        for share in cells[row * columns : (row + 1) * columns]:
            lines += bytes((0, round(255 * math.sqrt(share / FULL_SCALE))))

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", columns, rows, 8, 4, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(lines), 6))
        + chunk(b"IEND", b"")
    )


def _inert(value: Any) -> str:
    """JSON that no label can end early: ``</script>`` and ``<!--`` cannot stand in it."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _text(value: str) -> str:
    """Escaped, on one line, without characters that would turn the reading direction."""
    shown = "".join(c if c.isprintable() else "�" for c in " ".join(value.split()))
    return html.escape(shown)


def _resource(name: str) -> str:
    return files("attnlens.render").joinpath(name).read_text(encoding="utf-8")
