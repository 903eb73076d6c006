"""A recording as one HTML page: every site, batch and head to look at, with its own script."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping
from typing import Any

from attnlens.show.page import inert, render_page
from attnlens.show.safe import each_text, on_one_line


def render_recording_page(data: Mapping[str, Any], *, name: str) -> str:
    """The page.

    Args:
        data: ``notes`` and ``records``, as `attnlens.analysis.views.maps_data` tells them.
        name: what to call the recording.
    """
    records = data["records"]
    calls = Counter(record["site"] for record in records)
    most = max((one["top"] for record in records for one in record["maps"]), default=0.0)
    return render_page(
        "recording.html",
        title=f"{on_one_line(name)}: attention",
        styles=("recording.css",),
        script="recording.js",
        name=on_one_line(name),
        notes=each_text(data["notes"], on_one_line),
        records=each_text(records, on_one_line),
        calls=calls,
        data=inert({"records": [_stored(one, calls) for one in records], "top": most}),
    )


def _stored(record: Mapping[str, Any], calls: Mapping[str, int]) -> dict[str, Any]:
    """What the script is given of a record."""
    maps = [
        {**one, "packed": base64.b64encode(one["packed"]).decode("ascii")} for one in record["maps"]
    ]
    axes = [{"name": axis["name"], "size": axis["size"]} for axis in record["axes"]]
    return {**record, "axes": axes, "calls": calls[record["site"]], "maps": maps}
