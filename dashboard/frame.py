"""What is on every page: the menu, the address, and where things are said aloud."""

from __future__ import annotations

from dash import dcc, html

from .parts import loading, marked


def frame(*, public: bool, heads: bool) -> html.Div:
    """What is on every page."""
    links = [
        ("/", "Matches"),
        ("/recordings", "Recordings"),
    ]
    if heads:
        links.insert(1, ("/heads", "Heads"))
    return html.Div(
        [
            html.A("Skip to the content", href="#page", className="skip"),
            html.Header(
                [
                    dcc.Link(
                        [html.Span(className="logo", **marked(aria_hidden="true")), "attnlens"],
                        href="/",
                        className="brand",
                    ),
                    html.Nav(
                        [dcc.Link(text, href=href) for href, text in links],
                        **marked(aria_label="Pages"),
                    ),
                    html.Div(id="find", className="find"),
                    html.Div(
                        [
                            html.Span("read-only", className="chip") if public else None,
                            html.Button("?", id="keys-button", **marked(aria_label="Keyboard")),
                            html.Button("theme", id="theme-button"),
                        ],
                        className="tools",
                    ),
                ],
                className="top",
            ),
            dcc.Location(id="url", refresh=False),
            dcc.Store(id="page-key"),
            dcc.Store(id="drawn"),
            html.Main(id="page", tabIndex="-1", children=loading("opening")),
            html.Div(id="say", className="unseen", role="status", **marked(aria_live="polite")),
            html.Div(id="toast", **marked(aria_hidden="true")),
        ],
        id="frame",
    )
