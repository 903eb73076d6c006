"""Serving the app: threads and connections are bounded, and every answer carries its policy.

Nothing is loaded from elsewhere, nothing inline runs but Dash's own scripts by their hash, and
only addresses that the server was started for are answered, so that no other site's name can be
pointed at it. Requests from pages of other sites are refused before any work; other sites may
link to a page here, and no more.
"""

from __future__ import annotations

import errno
import ipaddress
import logging
import socket
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from dash import Dash
from flask import Request, Response, request
from waitress import create_server

from attnlens.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from waitress.server import TcpWSGIServer

_OWN_HEADER: Final = "X-Attnlens"
"""A header that no other site's form can send; requests that change something need it."""

_PAGE_ENDPOINTS: Final = ("/", "/<path:path>")
"""Dash's endpoints of the page itself, which is the same for every address and costs nothing."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on ``host``."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def protect(app: Dash, host: str) -> None:
    """Add a policy to every answer. Call it after all callbacks are registered."""
    scripts = " ".join(
        f"'{digest}'" if digest.startswith("sha") else digest for digest in app.csp_hashes()
    )
    policy = (
        f"default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; "
        "connect-src 'self'; frame-src 'self'; object-src 'none'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'self'"
    )
    any_name = not is_loopback(host)

    def refuse_foreign() -> Response | None:
        if not any_name and not is_loopback(_host_name(request)):
            return Response("attnlens: this name is not served\n", 403, mimetype="text/plain")
        if _from_elsewhere(request) and request.endpoint not in _PAGE_ENDPOINTS:
            return Response("attnlens: not for other sites\n", 403, mimetype="text/plain")
        return None

    def add_headers(response: Response) -> Response:
        response.headers.setdefault("Content-Security-Policy", policy)
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers["Permissions-Policy"] = "camera=(), geolocation=(), microphone=()"
        return response

    app.server.before_request(refuse_foreign)
    app.server.after_request(add_headers)


def _host_name(incoming: Request) -> str:
    """The server's name in the request, without the port."""
    host = incoming.host
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _from_elsewhere(incoming: Request) -> bool:
    """Whether another site's page sent it, by headers that browsers set and pages cannot.

    Another port of this machine is another site. To an address without TLS that is not this
    machine browsers send no ``Sec-Fetch-Site``, but mostly ``Origin`` or ``Referer``.
    """
    site = incoming.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = incoming.headers.get("Origin") or incoming.headers.get("Referer")
    return origin is not None and urlsplit(origin).netloc.lower() != incoming.host.lower()


def from_our_page(incoming: Request) -> bool:
    """Whether one of the dashboard's own pages sent it."""
    return incoming.headers.get(_OWN_HEADER) == "1"


THREADS: Final = 48
"""Most of them wait for the one thread that runs the model."""
_MAX_CONNECTIONS: Final = 1000
_IDLE_SECONDS: Final = 30
"""After which an idle connection is closed."""
MAX_BODY_BYTES: Final = 32_000_000
"""Of a request: of an uploaded file. Larger ones are refused by the size in their head, unread."""


class LowerCaseHost:
    """An app that sees host names in lower case."""

    def __init__(self, app: WSGIApplication) -> None:
        self.app = app

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        environ["HTTP_HOST"] = environ.get("HTTP_HOST", "").lower()
        return self.app(environ, start)


def listen(app: Dash, host: str, port: int) -> TcpWSGIServer:
    """A server bound to its port; its ``run`` serves.

    Raises:
        InputError: the port is taken, or the address is not this machine's.
    """
    # waitress logs a line whenever a request waits for a thread.
    logging.getLogger("waitress").setLevel(logging.ERROR)
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        in_use = error.errno == errno.EADDRINUSE
        raise InputError(
            f"port {port} of {host} is taken"
            if in_use
            else f"cannot listen on {host} port {port} ({error.strerror or error})",
            remedy="give another with --port" if in_use else "give another --host or --port",
        ) from None
    return create_server(
        LowerCaseHost(app.server),
        sockets=[listener],
        threads=THREADS,
        connection_limit=_MAX_CONNECTIONS,
        channel_timeout=_IDLE_SECONDS,
        cleanup_interval=10,
        max_request_body_size=MAX_BODY_BYTES + 1,
        # Above 0, waitress reports whether the client has disconnected.
        channel_request_lookahead=1,
        asyncore_use_poll=True,
        ident=None,
    )
