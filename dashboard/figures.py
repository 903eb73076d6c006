"""The figure that plotly draws: one heat map, filled in by the page from data it has."""

from __future__ import annotations

from typing import Final

from dash import dcc

from attnlens.render.figure import HEAT_MAP, RAMP

from .functions import Data

CONFIG: Final[dcc.Graph.Config] = {
    # Plotly's own default is a button that posts the figure to its maker.
    "showSendToCloud": False,
    "displaylogo": False,
    "responsive": True,
    "scrollZoom": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
    "toImageButtonOptions": {"format": "svg", "filename": "attnlens-head"},
}


def empty_heat_map() -> Data:
    """The heat map of a head without its numbers, as plain data for the page."""
    trace = {
        **HEAT_MAP,
        "z": [[0.0]],
        "colorscale": [[number / 4, colour] for number, colour in enumerate(RAMP)],
        "zmin": 0,
        "xgap": 0.5,
        "ygap": 0.5,
        "hovertemplate": "%{text}<extra></extra>",
        "colorbar": {"title": {"text": "share", "side": "right"}, "thickness": 10, "len": 0.9},
    }
    axis = {"showgrid": False, "zeroline": False}
    layout = {
        "margin": {"l": 56, "r": 8, "t": 8, "b": 48},
        "xaxis": {
            **axis,
            "title": {"text": "looked at"},
            "constrain": "domain",
            "tickangle": -90,
        },
        "yaxis": {
            **axis,
            "title": {"text": "when asked about"},
            "autorange": "reversed",
        },
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hoverlabel": {"align": "left"},
    }
    return {"data": [trace], "layout": layout}
