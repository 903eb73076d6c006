"""Build the Dash app: the frame of all pages, the scripts, and the page for each address."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from typing import Any, Final

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate
from flask import Flask, Response, request

from attnlens.render.page import template_text

from .answer_queue import AnswerQueue
from .library import Data, Functions, Matches, Recordings
from .pages import (
    ball_page,
    heads_page,
    home_page,
    hyphenated,
    not_found_page,
    recording_page,
    recordings_page,
    story_page,
)
from .routes import (
    add_match_routes,
    add_recordings,
    add_uploads,
    compress_text,
    error_response,
    search_hits,
)
from .serving import protect

_INDEX: Final = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}
<title>{%title%}</title>
{%favicon%}
{%css%}
{modules}
</head>
<body>
<noscript>This page needs JavaScript. Please allow scripts, or run
<code>attnlens explain</code> in a terminal.</noscript>
{%app_entry%}
<footer>{%config%}{%scripts%}{%renderer%}</footer>
</body>
</html>
"""

_REMOVED_PAGES: Final = {
    "compare": "To compare a ball before and after a change, use the What if form on the ball's "
    "page.",
    "recordings": "To compare two recordings, load both with attnlens.load_recording, and "
    "subtract one from the other.",
    "models": "To see a model's equations and numbers, run attnlens describe or attnlens trace.",
    "corpus": "To read a corpus, open its Parquet files with DuckDB or pandas.",
}
"""Advice for each page of earlier versions that was removed."""


def create_app(
    functions: Functions,
    matches: Matches,
    recordings: Recordings,
    *,
    host: str = "127.0.0.1",
    public: bool = False,
) -> Dash:
    """Build the dashboard's app.

    Args:
        host: the address to listen on. On a loopback address, only requests to a loopback name
            are accepted.
        public: whether uploads are refused.
    """
    folder, scripts = modules()
    app = Dash(
        __name__,
        title="attnlens",
        update_title="",
        index_string=_INDEX.replace("{modules}", _links(folder, scripts)),
        suppress_callback_exceptions=True,
        health_endpoint="health",
        assets_ignore=r".*\.js$",
        meta_tags=[
            {"name": "viewport", "content": "width=device-width, initial-scale=1"},
            {"name": "color-scheme", "content": "light dark"},
        ],
    )
    app.layout = frame(public=public, heads=functions.heads is not None)
    server: Flask = app.server
    add_match_routes(server, functions, matches, AnswerQueue())
    add_uploads(server, matches, recordings, public=public)
    add_recordings(server, recordings)

    @server.get(f"{folder}/<name>")
    def module(name: str) -> Response:
        if name not in scripts:
            return Response("there is no script of this name\n", 404, mimetype="text/plain")
        response = Response(scripts[name], mimetype="text/javascript")
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response

    @app.callback(
        Output("page", "children"),
        Output("page-key", "data"),
        Input("url", "pathname"),
        State("page-key", "data"),
    )
    def draw_page(path: str | None, current: str | None) -> tuple[html.Div, str]:
        key = page_key(path or "/")
        if key == current:
            raise PreventUpdate
        return page_of(key, functions, matches, recordings, public)[0], key

    @app.callback(
        Output("hits", "children"),
        Output("url", "href"),
        Output("find", "value"),
        Input("find", "value"),
        State("url", "pathname"),
        prevent_initial_call=True,
    )
    def find(text: str | None, path: str | None) -> tuple[list[html.Option], Any, Any]:
        key = page_key(path or "/").partition("/")[2]
        hits = search_hits(matches, functions.people, str(text or ""), key)
        chosen = next((hit for hit in hits if hit["text"] == text), None)
        if chosen is not None:
            return [], chosen["href"], ""
        return [html.Option(value=hit["text"]) for hit in hits], no_update, no_update

    @server.after_request
    def set_page_status(response: Response) -> Response:
        if request.endpoint == "/<path:path>" and request.method == "GET":
            key = page_key(request.path)
            response.status_code = page_of(key, functions, matches, recordings, public)[1]
        return response

    protect(app, host)

    @server.before_request
    def refuse_malformed() -> Response | None:
        """Answer 400 to a malformed callback request, on which Dash would fail."""
        is_other = request.endpoint != "/_dash-update-component"
        try:
            if is_other or is_call(request.get_json(silent=True), app.callback_map):
                return None
        except RecursionError:  # the body is nested too deeply
            pass
        return error_response("the request is not a callback of this page", 400)

    server.after_request(compress_text)
    return app


def is_call(body: Any, callbacks: Data) -> bool:
    """Return whether a body is a valid call of a callback, whose inputs must be strings or None."""

    def names(parts: Any) -> list[str]:
        return [f"{part['id']}.{part['property']}" for part in parts]

    try:
        json.dumps(body, ensure_ascii=False).encode()  # a lone surrogate cannot be sent back
        called, given = callbacks[body["output"]], [*body["inputs"], *body["state"]]
        return (
            body["output"] == f"..{'...'.join(names(body['outputs']))}.."
            and names(given) == names([*called["inputs"], *called["state"]])
            and all(isinstance(part.get("value"), str | None) for part in given)
            and isinstance(body["changedPropIds"], list)
            and all(isinstance(changed, str) for changed in body["changedPropIds"])
        )
    except (KeyError, TypeError, AttributeError, UnicodeEncodeError):
        return False


def page_key(path: str) -> str:
    """Return the key of the page for an address. All balls of a match have the same key."""
    kind, *rest = [part for part in path.split("/") if part] or [""]
    if kind == "match" and rest:
        return f"{'ball' if len(rest) > 1 else 'story'}/{rest[0]}"
    return "/".join([kind, *(rest[:1] if kind == "recording" else rest)])


def page_of(
    key: str, functions: Functions, matches: Matches, recordings: Recordings, public: bool
) -> tuple[html.Div, int]:
    """Return the page for a key, and the HTTP status of the page."""
    kind, _, name = key.partition("/")
    if key == "":
        return home_page(matches, public=public), 200
    if kind == "heads" and functions.heads is not None and name in ("", *functions.heads):
        return heads_page(name), 200
    if key == "recordings":
        return recordings_page(recordings, public=public), 200
    if kind in ("story", "ball"):
        item = matches.get(name)
        if item is None:
            return not_found_page(
                "This match is not open. Uploaded files are kept only for a limited time. Upload "
                "the file again."
            ), 404
        if kind == "story":
            return story_page(item, functions.models), 200
        if any(innings["balls"] for innings in item.summary["innings"]):
            return ball_page(item, functions.models), 200
        return not_found_page("No ball was bowled in this match."), 404
    if kind == "recording":
        recording = recordings.get(name)
        if recording is not None:
            return recording_page(recording), 200
        return not_found_page("This recording is not open. Upload the file again."), 404
    if kind in _REMOVED_PAGES:
        return not_found_page(_REMOVED_PAGES[kind]), 410
    return not_found_page("This page does not exist."), 404


_KEYS: Final = {
    "← →": "previous and next ball",
    "⇧ ← →": "six balls back or forward",
    "Home End": "first and last ball",
    "Space": "play and stop",
    "[ ]": "previous and next innings",
    "h": "enlarge the next head; Esc closes it",
    "c": "all claims and their tests",
    "Arrows in a heat map": "choose the cell whose weight is shown",
    "?": "this list",
}


def frame(*, public: bool, heads: bool) -> html.Div:
    """Build the parts of every page, such as the menu."""
    links = {"/": "Matches", "/heads": "Heads", "/recordings": "Recordings"}
    if not heads:
        del links["/heads"]
    logo = html.Span(className="logo", **hyphenated(aria_hidden="true"))
    find = dcc.Input(
        id="find", type="search", list="hits", placeholder="a player or a match", autoComplete="off"
    )
    tools = [
        html.Span("read-only", className="quiet") if public else None,
        html.Button("?", id="keys-button", type="button", **hyphenated(aria_label="Keyboard")),
        html.Button("◐", id="theme-button", type="button", **hyphenated(aria_label="Theme")),
    ]
    keys = [part for key, does in _KEYS.items() for part in (html.Dt(html.Kbd(key)), html.Dd(does))]
    return html.Div(
        [
            html.A("Skip to the content", href="#page", className="skip"),
            html.Header(
                [
                    dcc.Link([logo, "attnlens"], href="/", className="brand"),
                    html.Nav(
                        [dcc.Link(text, href=href) for href, text in links.items()],
                        **hyphenated(aria_label="Pages"),
                    ),
                    html.Label([html.Span("Find", className="unseen"), find], className="find"),
                    html.Datalist(id="hits"),
                    html.Div(tools, className="tools"),
                ],
                className="top",
            ),
            dcc.Location(id="url", refresh="callback-nav"),
            dcc.Store(id="page-key"),
            html.Main(html.P("opening", className="loading"), id="page", tabIndex="-1"),
            html.Dialog(
                [
                    html.H2("Keyboard"),
                    html.Dl(keys),
                    html.Button("Close", id="keys-close", type="button"),
                ],
                id="keys",
                **hyphenated(aria_label="Keyboard"),
            ),
            html.Div(id="say", className="unseen", role="status", **hyphenated(aria_live="polite")),
            html.Div(id="toast", **hyphenated(aria_hidden="true")),
            html.Div(id="pointed", **hyphenated(aria_hidden="true")),
        ],
        id="frame",
    )


def modules() -> tuple[str, Data]:
    """Return the URL of the scripts' folder, and a mapping from script names to texts.

    The folder's name is a hash of the texts, so browsers can cache each URL permanently.
    """
    assets = [*(files("attnlens.dashboard") / "assets").iterdir()]
    texts = {file.name: file.read_text("utf-8") for file in assets if file.name.endswith(".js")}
    # Pages of recordings use the same script to draw heat maps.
    texts["heat_maps.js"] = template_text("heat_maps.js")
    digest = hashlib.sha256("".join(text for _, text in sorted(texts.items())).encode())
    return f"/scripts-{digest.hexdigest()[:12]}", texts


def _links(folder: str, names: Data) -> str:
    """Return HTML that loads the main script and the imported scripts in parallel."""
    preloaded = [f'<link rel="modulepreload" href="{folder}/{name}">' for name in sorted(names)]
    return "\n".join([*preloaded, f'<script type="module" src="{folder}/main.js"></script>'])
