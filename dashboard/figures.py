"""The figures that plotly draws: one heat map, filled in by the page from data it has."""

from __future__ import annotations

from typing import Final

import plotly.graph_objects as go
from dash import dcc

from .functions import Data

RAMP: Final = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
"""Light to dark: told apart by lightness alone."""

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
    shares = [number / (len(RAMP) - 1) for number in range(len(RAMP))]
    figure = go.Figure(
        go.Heatmap(
            z=[[0.0]],
            colorscale=list(zip(shares, RAMP, strict=True)),
            zmin=0,
            xgap=0.5,
            ygap=0.5,
            hoverongaps=False,
            hovertemplate="%{text}<extra></extra>",
            colorbar={"title": {"text": "share", "side": "right"}, "thickness": 10, "len": 0.9},
        )
    )
    figure.update_layout(
        template="none",
        margin={"l": 56, "r": 8, "t": 8, "b": 48},
        xaxis={
            "title": {"text": "looked at"},
            "constrain": "domain",
            "showgrid": False,
            "zeroline": False,
            "tickangle": -90,
        },
        yaxis={
            "title": {"text": "when asked about"},
            "autorange": "reversed",
            "showgrid": False,
            "zeroline": False,
        },
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hoverlabel={"align": "left"},
    )
    plain: Data = figure.to_plotly_json()
    del plain["layout"]["template"]
    plain["data"] = [trace.to_plotly_json() for trace in figure.data]
    return plain
