"""Serving the app: a bounded number of threads and connections, nothing on stdout."""

from __future__ import annotations

import errno
import logging
import socket
from typing import TYPE_CHECKING, Final

from waitress import create_server

from attnlens.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from dash import Dash
    from waitress.server import TcpWSGIServer

THREADS: Final = 48
"""Questions at once; most of them wait for the one thread that asks the model."""
CONNECTIONS: Final = 1000
SILENCE: Final = 30
"""Seconds after which a connection that says nothing is closed."""
MOST_BODY: Final = 64_000_000
"""Bytes of a question that are read at all; the app itself refuses less, in its own words."""


class Hosted:
    """An app that is asked under names without regard to case, as names of hosts are."""

    def __init__(self, app: WSGIApplication) -> None:
        self.app = app

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        environ["HTTP_HOST"] = environ.get("HTTP_HOST", "").lower()
        return self.app(environ, start)


def listen(app: Dash, host: str, port: int) -> TcpWSGIServer:
    """A server that has its port and waits; ``run`` answers.

    Raises:
        InputError: the port is taken, or the address is not this machine's.
    """
    # A thread that is waited for would be a line on stderr.
    logging.getLogger("waitress").setLevel(logging.ERROR)
    place = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind((host, port))
        place.listen(128)
    except OSError as error:
        place.close()
        taken = error.errno == errno.EADDRINUSE
        raise InputError(
            f"port {port} of {host} is taken"
            if taken
            else f"cannot listen on {host} port {port} ({error.strerror or error})",
            remedy="give another with --port" if taken else "give another --host or --port",
        ) from None
    return create_server(
        Hosted(app.server),
        sockets=[place],
        threads=THREADS,
        connection_limit=CONNECTIONS,
        channel_timeout=SILENCE,
        cleanup_interval=10,
        max_request_body_size=MOST_BODY,
        # With more than 0 it tells whether who asked has gone.
        channel_request_lookahead=1,
        asyncore_use_poll=True,
        ident=None,
    )
