"""What Python and Jupyter show of an answer: a line, the terminal's page, its own page in a frame.

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

WIDTH = 100
"""Columns of what is printed."""

MOST_CELLS = 400_000
"""Cells of heat maps that a notebook keeps of one recording; larger ones are shown coarser."""


def explanation_line(data: Mapping[str, Any]) -> str:
    """Which ball, what is expected of it, and how its claims fared."""
    from attnlens.explanation.facts import outcome_words
    from attnlens.render.canvas import clean

    top = max(data["prediction"]["outcomes"], key=lambda one: float(one["probability"]))
    verdicts = [one["verdict"] for one in data["evidence"] if one["removed_from"] == "model"]
    tested = [verdict for verdict in verdicts if verdict is not None]
    told = f"{tested.count('supported')} of {len(tested)} tested claims supported"
    return clean(
        f"<Explanation of {data['match']['match_id']}: {data['ball']['echo']} | "
        f"{outcome_words(top['outcome'])} {top['probability']:.0%} | "
        f"{told if tested else 'no claim was tested'}>"
    )


def explanation_text(data: Mapping[str, Any]) -> str:
    """The page that ``explain`` prints."""
    from attnlens.render.terminal import render_terminal

    return render_terminal(data, width=WIDTH, color=False)


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


def what_if_line(data: Mapping[str, Any]) -> str:
    """Which ball, and what was different."""
    from attnlens.render.canvas import clean

    changes = "; ".join(change["text"] for change in data["changes"])
    return clean(f"<WhatIf of {data['match']['match_id']}: {data['before']['echo']} | {changes}>")


def what_if_text(data: Mapping[str, Any]) -> str:
    """The page that ``whatif`` prints."""
    from attnlens.render.what_if import render_what_if

    return render_what_if(data, width=WIDTH, color=False)


def what_if_html(data: Mapping[str, Any]) -> str:
    """The same, in letters of one width."""
    return f"<pre>{html.escape(what_if_text(data))}</pre>"


def trace_html(data: Mapping[str, Any]) -> str:
    """The page of a forward pass, as ``trace --html`` writes it."""
    from attnlens.render.trace_html import render_trace_html

    return _framed(render_trace_html(data), "A trace", scripts=False)


def _framed(page: str, title: str, *, scripts: bool) -> str:
    allowed = "allow-scripts" if scripts else ""
    # On one line, for whoever sets it among lines of Markdown.
    source = html.escape(page).replace("\n", "&#10;")
    return (
        f'<iframe title="{title}" sandbox="{allowed}" srcdoc="{source}" '
        f'style="width:100%;height:{HEIGHT}px;border:0"></iframe>'
    )
