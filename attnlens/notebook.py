"""What Jupyter shows of an explanation and of a recording: their own pages, in a frame.

The frame keeps the page's style and policy to itself, and lets it reach neither the notebook nor
the network.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnlens.records import Recording

HEIGHT = 640
"""Pixels; the page scrolls inside."""

MOST_CELLS = 400_000
"""Cells of heat maps that a notebook keeps of one recording; larger ones are shown coarser."""


def explanation_html(data: Mapping[str, Any]) -> str:
    """The page of an explanation, as ``explain --format html`` writes it."""
    from attnlens.render.html import render_html

    return _framed(render_html(data), "An explanation", scripts=False)


def recording_html(recording: Recording) -> str:
    """Every heat map of a recording, as ``attnlens view`` shows it; a line where there is none."""
    from attnlens.analysis.views import maps_data
    from attnlens.errors import InputError
    from attnlens.render.recording_html import render_page

    try:
        data = maps_data(recording, most_cells=MOST_CELLS)
    except InputError as error:
        return f"<p>{html.escape(str(error))}</p>"
    if not data["records"]:
        return f"<pre>{html.escape(repr(recording))}</pre>"
    return _framed(render_page(data, name="recording"), "A recording", scripts=True)


def _framed(page: str, title: str, *, scripts: bool) -> str:
    allowed = "allow-scripts" if scripts else ""
    return (
        f'<iframe title="{title}" sandbox="{allowed}" srcdoc="{html.escape(page)}" '
        f'style="width:100%;height:{HEIGHT}px;border:0"></iframe>'
    )
