"""Serving the app: a thread for every question, nothing on stdout."""

from __future__ import annotations

import errno
import logging
import socket

from dash import Dash
from werkzeug.serving import BaseWSGIServer, make_server

from attnlens.errors import InputError


def listen(app: Dash, host: str, port: int) -> BaseWSGIServer:
    """A server that has its port and waits; ``serve_forever`` answers.

    Raises:
        InputError: the port is taken, or the address is not this machine's.
    """
    # Every request would be a line on stderr.
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((host, port))
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        raise InputError(
            f"port {port} of {host} is taken"
            if taken
            else f"cannot listen on {host} port {port} ({error.strerror or error})",
            remedy="give another with --port" if taken else "give another --host or --port",
        ) from None
    return make_server(host, port, app.server, threaded=True)
