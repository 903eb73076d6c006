"""The scripts of the pages, one file for each picture, sent as one."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Final

from dash import Dash
from flask import Flask, Response

from attnlens.render.page import template_text

FIRST: Final = "core.js"
"""What the others use as they are read; their own order does not matter."""


def script() -> str:
    """All of them inside one function, so that nothing of theirs is everybody's."""
    folder = files("attnlens.dashboard") / "assets"
    names = sorted(one.name for one in folder.iterdir() if one.name.endswith(".js"))
    names.sort(key=lambda name: name != FIRST)
    # What the page of a recording unpacks its maps with; comparing two does the same.
    parts = [template_text("heat_maps.js"), '(function () {\n"use strict";']
    parts += [(folder / name).read_text("utf-8") for name in names]
    return "\n".join([*parts, "})();\n"])


def add_scripts(app: Dash, server: Flask) -> None:
    """To the app's pages; another content has another address, so it may be kept for good."""
    text = script()
    name = f"/attnlens-{hashlib.sha256(text.encode()).hexdigest()[:12]}.js"
    app.config.external_scripts.append(name)

    @server.get(name)
    def all_scripts() -> Response:
        response = Response(text, mimetype="text/javascript")
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response
