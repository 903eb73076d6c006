"""The app: the frame of every page, its scripts, and which page an address means."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Final

from dash import ClientsideFunction, Dash, Input, Output, dcc, html
from flask import Flask, Response, request

from attnlens.render.page import template_text

from .answer_queue import AnswerQueue
from .library import Functions, Matches, Recordings
from .pages import (
    Page,
    ball_page,
    heads_page,
    home_page,
    hyphenated,
    loading,
    not_found_page,
    recording_page,
    recordings_page,
    story_page,
)
from .routes import FILES, add_routes, compress_text
from .serving import protect

_INDEX: Final = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}
<title>{%title%}</title>
{%favicon%}
{%css%}
</head>
<body>
<noscript>attnlens draws its pages with scripts of its own; please allow them. The same is in
<code>attnlens explain</code>.</noscript>
{%app_entry%}
<footer>{%config%}{%scripts%}{%renderer%}</footer>
</body>
</html>
"""

_REMOVED_PAGES: Final = {
    "compare": "The Compare page is gone. What if, on the page of a ball, shows a ball before and "
    "after a change.",
    "recordings": "The dashboard no longer compares recordings: load both with "
    "attnlens.load_recording and subtract their weights.",
    "models": "The models pages are gone: attnlens describe MODEL --format html and attnlens trace "
    "MODEL INPUT --format html write a model's equations and numbers as a page.",
    "corpus": "The dashboard has no corpus pages any more: read the corpus's Parquet files with "
    "DuckDB or pandas.",
}
"""Pages of earlier versions, and what is there instead."""


def create_app(
    functions: Functions,
    matches: Matches,
    recordings: Recordings,
    *,
    host: str = "127.0.0.1",
    public: bool = False,
) -> Dash:
    """The dashboard, ready to be served.

    Args:
        host: what it will listen on; unless it is loopback, any host name is answered.
        public: whether uploads are refused.
    """
    app = Dash(
        __name__,
        title="attnlens",
        update_title="",
        index_string=_INDEX,
        suppress_callback_exceptions=True,
        health_endpoint="health",
        # The files in assets are served as one script.
        assets_ignore=r".*\.js$",
        meta_tags=[
            {"name": "viewport", "content": "width=device-width, initial-scale=1"},
            {"name": "color-scheme", "content": "light dark"},
            {"name": "attnlens-model", "content": functions.models[0]},
        ],
    )
    app.layout = frame(public=public, heads=functions.heads is not None)
    server: Flask = app.server
    add_scripts(app, server)
    add_routes(app, functions, matches, recordings, AnswerQueue(), public=public)

    # A change of ball keeps the page; only another page is requested from the server.
    app.clientside_callback(  # type: ignore[no-untyped-call]  # of dash
        ClientsideFunction("attnlens_dash", "page_key"),
        Output("page-key", "data"),
        Input("url", "pathname"),
    )
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("attnlens_dash", "draw"),
        Output("drawn", "data"),
        Input("page-data", "data"),
    )

    @app.callback(Output("page", "children"), Input("page-key", "data"))
    def draw_page(key: str | None) -> Page:
        return page_of(key or "", functions, matches, recordings, public)[0]

    @server.after_request
    def set_page_status(response: Response) -> Response:
        """Answer 404 or 410 where the app's page says that nothing is there."""
        if request.endpoint == "/<path:path>" and request.method == "GET":
            key = page_key(request.path)
            response.status_code = page_of(key, functions, matches, recordings, public)[1]
        return response

    protect(app, host)
    server.after_request(compress_text)
    return app


def page_key(path: str) -> str:
    """The page that an address means, as `keyOf` of frame.js: one for all balls of a match."""
    kind, *rest = [part for part in path.split("/") if part] or [""]
    if kind == "match" and rest:
        return f"{'ball' if len(rest) > 1 else 'story'}/{rest[0]}"
    return "/".join([kind, *(rest[:1] if kind == "recording" else rest)])


def page_of(
    key: str, functions: Functions, matches: Matches, recordings: Recordings, public: bool
) -> tuple[Page, int]:
    """The page of a key, and its status."""
    kind, _, name = key.partition("/")
    if key == "":
        return home_page(matches, public=public), 200
    if key == "heads" and functions.heads is not None:
        return heads_page(functions.heads), 200
    if key == "recordings":
        return recordings_page(recordings, public=public), 200
    if kind in ("story", "ball"):
        item = matches.get(name)
        if item is None:
            return not_found_page(
                "This match is not open (any more). What was uploaded is kept only for a while: "
                "bring the file again."
            ), 404
        if kind == "story":
            return story_page(item, functions.models), 200
        if any(innings["balls"] for innings in item.summary["innings"]):
            return ball_page(item, functions.models, FILES), 200
        return not_found_page("No ball was bowled in this match."), 404
    if kind == "recording":
        recording = recordings.get(name)
        if recording is not None:
            return recording_page(recording), 200
        return not_found_page("This recording is not open (any more)."), 404
    if kind in _REMOVED_PAGES:
        return not_found_page(_REMOVED_PAGES[kind]), 410
    return not_found_page("There is no such page."), 404


_KEYS: Final = {
    "← →": "the ball before, the next",
    "⇧ ← →": "six balls",
    "Home End": "first and last ball",
    "Space": "play and stop",
    "[ ]": "the innings before, the next",
    "1 … 4": "scale: micro, short, medium, long",
    "v": "another view of the heads",
    "c": "the claims",
    "h": "enlarge the next head; Esc closes it",
    "Arrows in a heat map": "move the cell that is read out",
    "?": "this list",
}


def frame(*, public: bool, heads: bool) -> html.Div:
    """The menu and what is on every page."""
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
                        [html.Span(className="logo", **hyphenated(aria_hidden="true")), "attnlens"],
                        href="/",
                        className="brand",
                    ),
                    html.Nav(
                        [dcc.Link(text, href=href) for href, text in links],
                        **hyphenated(aria_label="Pages"),
                    ),
                    html.Div(id="find", className="find"),
                    html.Div(
                        [
                            html.Span("read-only", className="chip") if public else None,
                            html.Button("?", id="keys-button", **hyphenated(aria_label="Keyboard")),
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
            html.Dialog(
                [
                    html.H2("Keyboard"),
                    html.Dl(
                        [
                            part
                            for keys, action in _KEYS.items()
                            for part in (html.Dt(html.Kbd(keys)), html.Dd(action))
                        ]
                    ),
                    html.Button("Close", id="keys-close"),
                ],
                className="keys",
                **hyphenated(aria_label="Keyboard"),
            ),
            html.Div(id="say", className="unseen", role="status", **hyphenated(aria_live="polite")),
            html.Div(id="toast", **hyphenated(aria_hidden="true")),
        ],
        id="frame",
    )


_FIRST_SCRIPT: Final = "core.js"
"""Defines what the others use while they load; their own order does not matter."""


def script() -> str:
    """All scripts inside one function, so that they define nothing global."""
    folder = files("attnlens.dashboard") / "assets"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".js"))
    names.sort(key=lambda name: name != _FIRST_SCRIPT)
    # heat_maps.js is shared with the pages of recordings.
    parts = [template_text("heat_maps.js"), '(function () {\n"use strict";']
    parts += [(folder / name).read_text("utf-8") for name in names]
    return "\n".join([*parts, "})();\n"])


def add_scripts(app: Dash, server: Flask) -> None:
    """Add the script to every page. Its address is its hash, so browsers cache it for good."""
    text = script()
    name = f"/attnlens-{hashlib.sha256(text.encode()).hexdigest()[:12]}.js"
    app.config.external_scripts.append(name)

    @server.get(name)
    def serve_script() -> Response:
        response = Response(text, mimetype="text/javascript")
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response
