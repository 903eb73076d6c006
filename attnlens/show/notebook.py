"""What Jupyter shows of a recording, and the frame around every page that it shows.

The frame keeps the page's style and policy to itself, and lets it reach neither the notebook nor
the network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attnlens.show.page import render_part

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
    from attnlens.show.recording_html import render_recording_page

    try:
        data = maps_data(recording, most_cells=MOST_CELLS)
    except InputError as error:
        return preformatted(str(error))
    if not data["records"]:
        return preformatted(repr(recording))
    return framed(render_recording_page(data, name="recording"), "A recording", scripts=True)


FORMS: Final = {"Recording": {"html": recording_html}}
