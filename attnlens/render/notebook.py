"""A recording as one HTML page, and the frame around every page that Jupyter shows.

The page has a script of its own. The frame keeps the page's style and policy to itself, and lets
it reach neither the notebook nor the network.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import compress
from typing import TYPE_CHECKING, Any, Final

from attnlens.render.page import inert, render_page, render_part
from attnlens.render.safe import each_text, on_one_line

if TYPE_CHECKING:
    from attnlens.recording.attention_record import AttentionRecord
    from attnlens.recording.recording import Recording

_HEIGHT: Final = 640
"""Pixels; the page scrolls inside."""

_NUMBER: Final = re.compile(r"(?<![^.])\d+(?![^.])")
"""A number between the dots of a site."""

WIDTH: Final = 100
"""Columns of what is printed."""

_MAX_MAP_BYTES: Final = 700_000
"""Of heat maps that a notebook keeps of one recording; larger ones are told less finely."""
_MAX_MAP_CELLS: Final = 1_000_000
"""Their cells; larger ones are shown coarser."""


def frame_page(page: str, title: str, *, scripts: bool = False) -> str:
    """A whole page for a notebook's cell."""
    cell = render_part("frame.html", page=page, title=title, scripts=scripts, height=_HEIGHT)
    # On one line, for whoever sets it among lines of Markdown.
    return cell.replace("\n", "&#10;")


def preformatted(text: str) -> str:
    return render_part("frame.html", text=text)


def recording_html(recording: Recording) -> str:
    """Every heat map of a recording, as ``attnlens view`` shows it; a line where there is none."""
    from attnlens.attention.views import maps_data
    from attnlens.errors import InputError

    try:
        data = maps_data(recording, most_cells=_MAX_MAP_CELLS, most_bytes=_MAX_MAP_BYTES)
    except InputError as error:
        return preformatted(str(error))
    if not data["records"]:
        return preformatted(repr(recording))
    return frame_page(render_recording_page(data, name="recording"), "A recording", scripts=True)


def record_html(record: AttentionRecord) -> str:
    """The heat maps of one record, as those of a recording that holds no other."""
    from attnlens.recording.recording import Recording

    return recording_html(Recording([record]))


def render_recording_page(data: Mapping[str, Any], *, name: str) -> str:
    """The page.

    Args:
        data: ``notes`` and ``records``, as `attnlens.attention.views.maps_data` tells them.
        name: what to call the recording.
    """
    records = data["records"]
    calls = Counter(record["site"] for record in records)
    names: dict[tuple[str, ...], int] = {}
    layers = layers_of(calls)
    stored = [_stored(record, names) for record in records]
    for record, entry in zip(records, stored, strict=True):
        group, layer = layers[record["site"]]
        if not layer and calls[record["site"]] > 1:
            layer = f"call {record['call']}"
        entry |= {"calls": calls[record["site"]], "group": group, "layer": layer}
    return render_page(
        "recording.html",
        title=f"{on_one_line(name)}: attention",
        styles=("recording.css",),
        scripts=("heat_maps.js", "recording.js"),
        name=on_one_line(name),
        notes=each_text(data["notes"], on_one_line),
        records=each_text(records, on_one_line),
        calls=calls,
        data=inert(
            {
                **{key: data[key] for key in ("levels", "bend", "sink")},
                "names": list(names),
                "records": stored,
            }
        ),
    )


def layers_of(sites: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Of each site, once named, the group it is in and which of that it is.

    ``h.0.attn`` and ``h.11.attn`` are ``0`` and ``11`` of ``h.*.attn``.
    """
    alike: dict[str, list[str]] = {}
    for site in sites:
        alike.setdefault(_NUMBER.sub("*", site), []).append(site)
    layers = {}
    for like, members in alike.items():
        numbers = [_NUMBER.findall(site) for site in members]
        several = [len(set(among)) > 1 for among in zip(*numbers, strict=True)]
        for site, own in zip(members, numbers, strict=True):
            group = like if len(members) > 1 else site
            layers[site] = group, ".".join(compress(own, several))
    return layers


def _stored(record: Mapping[str, Any], names: dict[tuple[str, ...], int]) -> dict[str, Any]:
    """What the script is given of a record; lists of names stand once in ``names``."""
    packed = base64.b64encode(record["packed"]).decode("ascii")
    axes = [{"name": axis["name"], "size": axis["size"]} for axis in record["axes"]]
    numbers = {
        name: names.setdefault(tuple(record[name]), len(names)) for name in ("queries", "keys")
    }
    labelled = record["axes"][-1]["labels"] is not None
    return {**record, **numbers, "axes": axes, "labelled": labelled, "packed": packed}
