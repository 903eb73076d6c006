"""A chat endpoint on this machine: a real HTTP server that answers, and misbehaves, as told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Handler = BaseHTTPRequestHandler
Act = Callable[[Handler], None]


class ChatServer:
    """Acts in turn, the last again and again; what was asked is kept."""

    def __init__(self, acts: list[Act]) -> None:
        self.acts = acts
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.url = ""


@contextmanager
def serving(*acts: Act) -> Iterator[ChatServer]:
    """A server on a free port of this machine."""
    told = ChatServer(list(acts))

    class Chat(Handler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            told.requests.append(json.loads(self.rfile.read(length)))
            told.headers.append(dict(self.headers))
            told.paths.append(self.path)
            # A reader may hang up; a traceback of that would land in another test's stderr.
            with suppress(ConnectionError):
                told.acts[min(len(told.requests), len(told.acts)) - 1](self)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Chat)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def event(text: str | None = None, reason: str | None = None) -> str:
    """One server-sent event with a piece of an answer."""
    delta = {} if text is None else {"content": text}
    data = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    return f"data: {json.dumps(data)}\n\n"


def streams(
    text: str, *, size: int = 7, done: bool = True, pause: float = 0.0, reason: str = "stop"
) -> Act:
    """Streams a text in pieces of so many characters; without ``done`` it is cut."""

    def act(handler: Handler) -> None:
        _head(handler, 200, "text/event-stream; charset=utf-8")
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        _write(handler, ": a comment that keeps the line open\r\n\r\n" + event(""))
        for piece in pieces:
            _write(handler, event(piece))
            time.sleep(pause)
        if done:
            _write(handler, event(None, reason) + "data: [DONE]\n\n")
        handler.close_connection = True

    return act


def sends(raw: str, *, kind: str = "text/event-stream", length: int | None = None) -> Act:
    """Sends just this; a ``length`` above its own promises more than comes."""

    def act(handler: Handler) -> None:
        _head(handler, 200, kind, length)
        _write(handler, raw)
        handler.close_connection = True

    return act


def refuses(status: int, message: str = "", **headers: str) -> Act:
    """Answers with a status, and a message as OpenAI writes it."""

    def act(handler: Handler) -> None:
        body = json.dumps({"error": {"message": message, "type": "x"}}).encode()
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return act


def answers(content: str) -> Act:
    """A whole answer in one piece of JSON."""
    data = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
    return sends(json.dumps(data), kind="application/json")


def hangs_up(handler: Handler) -> None:
    """Cuts the connection before a word."""
    handler.close_connection = True
    handler.connection.close()


def keeps_silent(seconds: float) -> Act:
    """Says nothing for a while."""

    def act(handler: Handler) -> None:
        time.sleep(seconds)
        hangs_up(handler)

    return act


def _head(handler: Handler, status: int, kind: str, length: int | None = None) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    if length is not None:
        handler.send_header("Content-Length", str(length))
    handler.send_header("Connection", "close")
    handler.end_headers()


def _write(handler: Handler, text: str) -> None:
    handler.wfile.write(text.encode())
    handler.wfile.flush()
