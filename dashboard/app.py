"""The app: pages by address, made of what it is handed."""

from __future__ import annotations

from typing import Final

from dash import ClientsideFunction, Dash, Input, Output, dcc
from flask import Flask, Response, request

from .figures import CONFIG, empty_heat_map
from .frame import frame
from .functions import Functions
from .heads_page import heads_page
from .library import Matches, Recordings
from .match_pages import ball_page, home, story_page
from .parts import Page, lost
from .recording_pages import (
    compare_recordings_page,
    recording_page,
    recordings_page,
)
from .replies import compress
from .routes import add_routes
from .scripts import add_scripts
from .security import protect
from .work import Answers

INDEX: Final = """<!DOCTYPE html>
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

REMOVED: Final = {
    "compare": "The Compare page is gone. What if, on the page of a ball, shows a ball before and "
    "after a change.",
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
        host: what it will listen on; another than loopback is answered under any name.
        public: nothing can be uploaded.
    """
    app = Dash(
        __name__,
        title="attnlens",
        update_title="",
        index_string=INDEX,
        suppress_callback_exceptions=True,
        health_endpoint="health",
        # One script, made of the files in assets: `attnlens.dashboard.scripts`.
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
    add_routes(app, functions, matches, recordings, Answers(), public=public)

    # A change of ball leaves the page as it is: only another page is asked of the server.
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
    def show(key: str | None) -> Page:
        return page_of(key or "", functions, matches, recordings, public)[0]

    @app.callback(
        Output("head-figure", "children"),
        Input("head-wanted", "data"),
        prevent_initial_call=True,
    )
    def enlarge(wanted: str | None) -> Page:
        """Plotly is large: it is loaded when the first head is enlarged."""
        if not wanted:
            return []
        return [dcc.Graph(id="head-graph", figure=empty_heat_map(), config=CONFIG)]

    @server.after_request
    def missed(response: Response) -> Response:
        """The page of an address that leads nowhere is the app's, which says so; with 404."""
        if request.endpoint == "/<path:path>" and request.method == "GET":
            key = page_key(request.path)
            response.status_code = page_of(key, functions, matches, recordings, public)[1]
        return response

    protect(app, host)
    server.after_request(compress)
    return app


def page_key(path: str) -> str:
    """What page an address means, as the page's own script has it: one for all balls of a match."""
    kind, *rest = [part for part in path.split("/") if part] or [""]
    if kind == "match" and rest:
        return f"{'ball' if len(rest) > 1 else 'story'}/{rest[0]}"
    return "/".join([kind, *(rest[:1] if kind == "recording" else rest)])


def page_of(
    key: str, functions: Functions, matches: Matches, recordings: Recordings, public: bool
) -> tuple[Page, int]:
    """The page of an address, and its status; ``ball/NAME`` for every ball of that match."""
    kind, _, name = key.partition("/")
    if key == "":
        return home(matches, public=public), 200
    if key == "heads" and functions.heads is not None:
        return heads_page(functions.heads), 200
    if key == "recordings":
        return recordings_page(recordings, public=public), 200
    if key == "recordings/compare":
        return compare_recordings_page(recordings), 200
    if kind in ("story", "ball"):
        shown = matches.get(name)
        if shown is None:
            return lost(
                "This match is not open (any more). What was uploaded is kept only for a while: "
                "bring the file again."
            ), 404
        if kind == "story":
            return story_page(shown, functions.models), 200
        if any(one["balls"] for one in shown.about["innings"]):
            return ball_page(shown, functions.models, functions.texts), 200
        return lost("No ball was bowled in this match."), 404
    if kind == "recording":
        recording = recordings.get(name)
        if recording is not None:
            return recording_page(recording), 200
        return lost("This recording is not open (any more)."), 404
    if kind in REMOVED:
        return lost(REMOVED[kind]), 410
    return lost("There is no such page."), 404
