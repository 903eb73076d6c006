"""What every answer of the server says of itself, and which questions it does not take.

Nothing is loaded from elsewhere, nothing inline runs but Dash's own scripts by their hash, and
only addresses that the server was started for are answered, so that no other site's name can be
pointed at it. What the page of another site asks for is refused before any work: it may link to
a page here, and no more.
"""

from __future__ import annotations

import ipaddress
from typing import Final
from urllib.parse import urlsplit

from dash import Dash
from flask import Request, Response, request

ASKED: Final = "X-Attnlens"
"""A header that no other site's form can send; whatever changes something needs it."""

SHELL: Final = ("/", "/<path:path>")
"""Dash's names of the page that is the same for every address, and costs nothing."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def protect(app: Dash, host: str) -> None:
    """Policies on every answer; to be called when all callbacks are there."""
    scripts = " ".join(f"'{one}'" if one.startswith("sha") else one for one in app.csp_hashes())
    policy = (
        f"default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; "
        "connect-src 'self'; frame-src 'self'; object-src 'none'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'self'"
    )
    anywhere = not is_loopback(host)

    def only_here() -> Response | None:
        if not anywhere and not is_loopback(_name_of(request)):
            return Response("attnlens: this name is not served\n", 403, mimetype="text/plain")
        if _from_elsewhere(request) and request.endpoint not in SHELL:
            return Response("attnlens: not for other sites\n", 403, mimetype="text/plain")
        return None

    def say(response: Response) -> Response:
        response.headers.setdefault("Content-Security-Policy", policy)
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers["Permissions-Policy"] = "camera=(), geolocation=(), microphone=()"
        return response

    app.server.before_request(only_here)
    app.server.after_request(say)


def _name_of(asked: Request) -> str:
    """The name of the server as the browser has it, without the port."""
    host = asked.host
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _from_elsewhere(asked: Request) -> bool:
    """Whether another site's page asks, by what browsers say of it and pages cannot change.

    Another port of this machine is another site. To an address without TLS that is not this
    machine browsers send no ``Sec-Fetch-Site``, but mostly where they come from.
    """
    site = asked.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site not in ("same-origin", "none")
    came_from = asked.headers.get("Origin") or asked.headers.get("Referer")
    return came_from is not None and urlsplit(came_from).netloc.lower() != asked.host.lower()


def from_our_page(asked: Request) -> bool:
    """Whether a question comes from a page of ours."""
    return asked.headers.get(ASKED) == "1"
