"""What pages are made of: panels, places to bring a file, what a page hands to its script."""

from __future__ import annotations

from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from .functions import Data

Page = list[Component | None]


def marked(**named: str) -> dict[str, Any]:
    """Attributes with a hyphen in their names: ``aria_label`` is ``aria-label``."""
    return {name.replace("_", "-"): value for name, value in named.items()}


def loading(text: str) -> html.P:
    return html.P(text, className="loading")


def panel(
    name: str,
    title: str,
    *children: Component | None,
    lead: str = "",
    files: bool = True,
    beside: Component | None = None,
    seen: bool = True,
) -> html.Section:
    """A part of a page with its heading, and a place for what can be taken away.

    Args:
        beside: stands in line with the heading.
        seen: whether the heading is; where it is not, it is still read aloud.
    """
    return html.Section(
        [
            html.Div(
                [
                    html.H2(title, id=f"{name}-title", className=None if seen else "unseen"),
                    html.P(lead, className="lead") if lead else None,
                    beside,
                    html.Div(id=f"{name}-tools", className="panel-tools") if files else None,
                ],
                className="panel-head",
            ),
            *children,
        ],
        id=name,
        className="panel",
        **marked(aria_labelledby=f"{name}-title"),
    )


def plot(name: str, title: str, *above: Component | None) -> html.Section:
    """A panel with a drawing, which the page's script makes."""
    return panel(name, title, *above, html.Div(id=f"{name}-plot", className="plot"))


def columns(kind: str, *children: Component) -> html.Div:
    """Side by side where the window is wide."""
    return html.Div(list(children), className=f"columns {kind}")


def drop(kind: str, what: str) -> html.Div:
    """A place to bring a file; the page's script wires it."""
    return html.Div(
        [
            html.Button(f"Open {what}", className="drop-button", **marked(data_upload=kind)),
            html.Span("or drop it here", className="quiet"),
            html.P("", className="drop-said", role="alert"),
        ],
        className="drop",
        **marked(data_drop=kind),
    )


def store(page: str, data: Data) -> dcc.Store:
    return dcc.Store(id="page-data", data={"page": page, **data})


def lost(text: str) -> Page:
    """Where an address leads nowhere."""
    return [
        html.Div(
            [
                html.H1("Nothing is here"),
                html.P(text, className="lead"),
                dcc.Link("To the matches", href="/", className="button"),
            ],
            className="hero",
        ),
        store("lost", {}),
    ]
