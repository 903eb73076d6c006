"""A recording as one HTML page, and the frame around every page that Jupyter shows.

The page has a script of its own. The frame keeps the page's style and policy to itself, and lets
it reach neither the notebook nor the network.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from attnlens.show.page import inert, render_page, render_part
from attnlens.show.safe import each_text, on_one_line

if TYPE_CHECKING:
    from attnlens.recording.recording import Recording

HEIGHT: Final = 640
"""Pixels; the page scrolls inside."""

WIDTH: Final = 100
"""Columns of what is printed."""

MOST_CELLS: Final = 400_000
"""Cells of heat maps that a notebook keeps of one recording; larger ones are shown coarser."""


def framed(page: str, title: str, *, scripts: bool = False) -> str:
    """A whole page for a notebook's cell."""
    cell = render_part("frame.html", page=page, title=title, scripts=scripts, height=HEIGHT)
    # On one line, for whoever sets it among lines of Markdown.
    return cell.replace("\n", "&#10;")


def preformatted(text: str) -> str:
    """Text in letters of one width."""
    return render_part("frame.html", text=text)


def recording_html(recording: Recording) -> str:
    """Every heat map of a recording, as ``attnlens view`` shows it; a line where there is none."""
    from attnlens.analysis.views import maps_data
    from attnlens.errors import InputError

    try:
        data = maps_data(recording, most_cells=MOST_CELLS)
    except InputError as error:
        return preformatted(str(error))
    if not data["records"]:
        return preformatted(repr(recording))
    return framed(render_recording_page(data, name="recording"), "A recording", scripts=True)


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


FORMS: Final = {"Recording": {"html": recording_html}}
