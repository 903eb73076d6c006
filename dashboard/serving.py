"""Serve the app with limits on threads and connections, and with a security policy.

Pages load nothing from other servers. The only inline scripts are Dash's, which the policy allows
by their hashes. Against DNS rebinding, a server on a loopback address refuses requests to other
host names. Other sites can link to a page, but their other requests are refused.
"""

from __future__ import annotations

import errno
import ipaddress
import json
import logging
import socket
from http import HTTPStatus
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import urlsplit
from weakref import WeakSet

from dash import Dash
from flask import Request, Response, request
from waitress import create_server
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.utilities import Error

from attnlens.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from waitress.server import TcpWSGIServer

_OWN_HEADER: Final = "X-Attnlens"
"""Uploads and questions need this header, which no HTML form on another site can send."""

_PAGE_ENDPOINTS: Final = ("/", "/<path:path>")
"""Dash's endpoints for pages, whose HTML is the same at every address and is not computed."""


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server that listens on ``host``."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def protect(app: Dash, host: str) -> None:
    """Refuse requests from other sites, and add a security policy to every response.

    Register all callbacks first, because the policy contains the hashes of the callbacks' scripts.
    """
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
            return Response(
                "attnlens: this server does not serve the host name of the request\n",
                403,
                mimetype="text/plain",
            )
        if _from_elsewhere(request) and request.endpoint not in _PAGE_ENDPOINTS:
            return Response(
                "attnlens: requests from other sites are refused\n", 403, mimetype="text/plain"
            )
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
    host = incoming.host
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _from_elsewhere(incoming: Request) -> bool:
    """Return whether the browser's headers say that a page of another site sent the request.

    Another port of this machine counts as another site. Over plain HTTP, browsers send
    ``Sec-Fetch-Site`` only to servers on the same machine.
    """
    site = incoming.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = incoming.headers.get("Origin") or incoming.headers.get("Referer")
    return origin is not None and urlsplit(origin).netloc.lower() != incoming.host.lower()


def from_our_page(incoming: Request) -> bool:
    """Return whether one of the dashboard's pages sent the request."""
    return incoming.headers.get(_OWN_HEADER) == "1"


THREADS: Final = 48
"""The number of server threads. Most threads wait for the thread that runs the model."""
_MAX_CONNECTIONS: Final = 1000
_IDLE_SECONDS: Final = 30
"""The time after which an idle connection is closed."""
MAX_BODY_BYTES: Final = 32_000_000
"""The largest size of an uploaded file."""
MAX_REQUEST_BYTES: Final = 1_000_000
"""The largest body of a request that is not an upload."""
MAX_ARRIVING_BYTES: Final = 4 * MAX_BODY_BYTES
"""The largest total size of the bodies of all requests that are in progress."""


class _Refusal(Error):  # type: ignore[misc]  # waitress has no types
    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.code, self.reason = status.value, status.phrase

    def to_response(self, ident: str | None = None) -> tuple[str, list[tuple[str, str]], bytes]:
        del ident
        headers = [("Content-Type", "application/json")]
        return f"{self.code} {self.reason}", headers, json.dumps({"error": self.body}).encode()


class BoundedParser(HTTPRequestParser):  # type: ignore[misc]
    """A request parser that refuses large bodies without receiving them."""

    max_upload_bytes: ClassVar[int] = MAX_BODY_BYTES
    arriving: ClassVar[WeakSet[BoundedParser]] = WeakSet()
    """The requests whose bodies are being received or read."""
    error: Error | None
    completed: bool

    def received(self, data: bytes) -> int:
        is_header = self.body_rcv is None
        consumed: int = super().received(data)
        if self.body_rcv is not None and (refusal := self._refusal(is_header)):
            self.error, self.completed = refusal, True
        if self.error is not None:
            # Waitress would answer "100 Continue", and then receive the body of a refused request.
            self.expect_continue = False
        return consumed

    def close(self) -> None:
        # The garbage collector may keep this object for a while.
        self.body_bytes_received = 0
        super().close()

    def _refusal(self, is_header: bool) -> Error | None:
        if is_header:
            if self.chunked:
                text = "a request must state the size of its body"
                return _Refusal(HTTPStatus.LENGTH_REQUIRED, text)
            uploads = self.path.startswith("/upload/") and self.headers.get("X_ATTNLENS") == "1"
            limit = self.max_upload_bytes if uploads else MAX_REQUEST_BYTES
            if self.content_length > limit:
                text = f"the body is larger than {limit // 1_000_000} MB"
                return _Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
            self.arriving.add(self)
        if sum(parser.body_bytes_received for parser in self.arriving) > MAX_ARRIVING_BYTES:
            text = "too many requests are being received; try again"
            return _Refusal(HTTPStatus.SERVICE_UNAVAILABLE, text)
        return None


class _Channel(HTTPChannel):  # type: ignore[misc]
    parser_class = BoundedParser


class LowerCaseHost:
    """A WSGI app that calls another app with the host name in lower case."""

    def __init__(self, app: WSGIApplication) -> None:
        self.app = app

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        environ["HTTP_HOST"] = environ.get("HTTP_HOST", "").lower()
        return self.app(environ, start)


def listen(app: Dash, host: str, port: int, *, public: bool = False) -> TcpWSGIServer:
    """Return a server that is bound to its port. Call the server's ``run`` method to serve.

    Raises:
        InputError: the port is in use, or the address does not belong to this machine.
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
            f"port {port} of {host} is already in use"
            if in_use
            else f"cannot listen on {host} port {port} ({error.strerror or error})",
            remedy="give another --port" if in_use else "give another --host or --port",
        ) from None
    server = create_server(
        LowerCaseHost(app.server),
        sockets=[listener],
        threads=THREADS,
        connection_limit=_MAX_CONNECTIONS,
        channel_timeout=_IDLE_SECONDS,
        cleanup_interval=10,
        # If this is above 0, waitress reports whether the client has disconnected.
        channel_request_lookahead=1,
        asyncore_use_poll=True,
        ident=None,
    )
    if public:
        BoundedParser.max_upload_bytes = MAX_REQUEST_BYTES
    server.channel_class = _Channel
    return server
