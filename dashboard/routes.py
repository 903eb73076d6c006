"""What the page fetches: plain data by address, files to take away, and what somebody brings."""

from __future__ import annotations

import gzip
import html
import json
import re
from typing import Final

from dash import Dash
from flask import Flask, Response, request

from .functions import Functions
from .library import Matches, Recordings
from .match_routes import add_match_routes
from .replies import GONE, answered, problem, sent
from .security import from_our_page
from .work import Answers

MOST_UPLOAD: Final = 32_000_000
"""Bytes of a file that somebody brings."""
MOST_QUESTION: Final = 1_000_000
"""Bytes of anything else that is sent."""
MAPS: Final = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.S)
POLICY: Final = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')


def add_routes(
    app: Dash,
    functions: Functions,
    matches: Matches,
    recordings: Recordings,
    answers: Answers,
    *,
    public: bool,
) -> None:
    """Every address but the pages' own."""
    server = app.server
    add_match_routes(server, functions, matches, answers)
    _add_upload(server, matches, recordings, public=public)
    _add_recordings(server, recordings)


def _add_upload(server: Flask, matches: Matches, recordings: Recordings, *, public: bool) -> None:
    server.config["MAX_CONTENT_LENGTH"] = MOST_QUESTION

    @server.post("/upload/<kind>")
    @answered
    def upload(kind: str) -> Response:
        if public:
            return problem("this dashboard is read-only: nothing can be uploaded", 403)
        if not from_our_page(request) or kind not in ("match", "recording"):
            return problem("only the dashboard's own pages may upload", 403)
        if request.content_length is None:  # it would be cut where it is too large
            return problem("the file's size has to be told", 411)
        request.max_content_length = MOST_UPLOAD
        library = recordings if kind == "recording" else matches
        name, content = request.args.get("name", kind), request.get_data()
        shown = library.upload(name, content)
        said = {"key": shown.key, "about": shown.about}
        return Response(json.dumps(said, ensure_ascii=False), mimetype="application/json")

    @server.errorhandler(413)
    def too_large(_: Exception) -> Response:
        most = request.max_content_length or MOST_QUESTION
        return problem(f"what is sent is larger than {most // 1_000_000} MB", 413)


def _add_recordings(server: Flask, recordings: Recordings) -> None:
    @server.get("/page/<key>")
    def recording_page(key: str) -> Response:
        shown = recordings.get(key)
        if shown is None:
            return Response(f"this recording {GONE}\n", 404, mimetype="text/plain")
        policy = POLICY.search(shown.value)
        assert policy is not None, "a page of a recording has a policy of its own"
        response = Response(shown.value, mimetype="text/html")
        response.headers["Content-Security-Policy"] = (
            f"{html.unescape(policy[1])}; frame-ancestors 'self'"
        )
        return response

    @server.get("/maps/<key>.json")
    def recording_maps(key: str) -> Response:
        shown = recordings.get(key)
        if shown is None:
            return problem(f"the recording {key} {GONE}", 404)
        data = MAPS.search(shown.value)
        assert data is not None, "a page of a recording holds its maps"
        return sent(gzip.compress(data[1].encode(), 1))
