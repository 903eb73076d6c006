"""An OpenAI-compatible chat endpoint, asked with the standard library alone.

What is sent goes to the address that was given, and nowhere else: redirects are not followed, TLS
certificates are verified, and a key is sent over plain HTTP only to this machine. What comes may be
hostile: it is bounded in time, bytes, events and nesting, and little of it is held at once.
"""

from __future__ import annotations

import http.client
import ipaddress
import itertools
import json
import re
import socket
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, Any, Final

from attnlens._version import VERSION
from attnlens.errors import EndpointError, InputError
from attnlens.files import Json

_REFUSALS: Final = {
    401: "refuses the key; set ATTNLENS_API_KEY",
    403: "does not allow it",
    404: "has no such model or path",
    429: "says there were too many requests",
}
_ADDRESS: Final = "is it an OpenAI-compatible address, ending in /v1?"
_LONGEST: Final = 86_400
"""Seconds that anybody waits for an answer."""
_CONNECTING: Final = 30.0
"""Seconds until there is a connection, however long a model may then need to begin."""

_MOST_CHARACTERS: Final = 200_000
_MOST_EVENT: Final = 1 << 20
_MOST_BYTES: Final = 64 << 20
_MOST_LINES: Final = 1_000_000
"""Of a whole answer, with the thoughts that some servers send beside the text."""

_THOUGHTS: Final = re.compile(
    r"<think(?:ing)?>.*?(?:</think(?:ing)?>|$)|^(?:(?!<think).)*</think(?:ing)?>", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to ask, and how patiently.

    Attributes:
        base_url: ``https://host/v1``; ``/chat/completions`` is added.
        model: the model's name there.
        key: sent as a bearer token; never shown.
        timeout: seconds without a byte after which it is given up; a model on one's own machine
            may need some minutes before the first.
        deadline: seconds after which it is given up, whatever comes.

    Raises:
        InputError: the address is none that can be asked.
    """

    base_url: str
    model: str
    key: str | None = field(default=None, repr=False)
    timeout: float = 300.0
    deadline: float = 900.0

    def __post_init__(self) -> None:
        try:
            parts = urllib.parse.urlsplit(self.base_url)
            port = parts.port
        except ValueError:
            raise self._unusable("is not an address") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
            raise self._unusable("is not an address")
        if parts.username or parts.password:
            raise InputError(
                "--base-url holds a name or a password",
                remedy="leave it out, and set ATTNLENS_API_KEY",
            )
        if parts.query or parts.fragment or any(c.isspace() for c in self.base_url):
            raise self._unusable("has more than a path")
        if self.key is not None and (not self.key.isprintable() or not self.key.isascii()):
            raise InputError("the key has signs that no key has", remedy="set it again")
        if not (0 < self.timeout <= _LONGEST and 0 < self.deadline <= _LONGEST):
            raise InputError(f"a time-out and a deadline are from 0 to {_LONGEST:,} seconds")

    def until(self) -> float:
        """When what is asked from now on must be over, by `time.monotonic`."""
        return time.monotonic() + self.deadline

    def _unusable(self, problem: str) -> InputError:
        return InputError(
            f"--base-url {self.base_url!r} {problem}",
            remedy="give one such as https://host/v1 or http://localhost:11434/v1",
        )

    @property
    def sends_key(self) -> bool:
        """Whether the key goes along: over TLS, or to this machine."""
        parts = urllib.parse.urlsplit(self.base_url)
        return self.key is not None and (parts.scheme == "https" or _is_here(parts.hostname or ""))

    def failure(self, problem: str, remedy: str | None = None) -> EndpointError:
        """What went wrong there, without the key, which some servers repeat."""
        if self.key:
            problem = problem.replace(self.key, "[key]")
        return EndpointError(problem, path=self.base_url.rstrip("/"), remedy=remedy)


@dataclass(slots=True)
class Answer:
    """How an answer ended: ``stop``, or ``length`` where it was cut at its most tokens."""

    finish_reason: str | None = None


def stream(
    endpoint: Endpoint,
    messages: Sequence[Mapping[str, str]],
    *,
    answer: Answer | None = None,
    until: float | None = None,
    **settings: Any,
) -> Iterator[str]:
    """The answer in pieces as they come (server-sent events).

    Args:
        answer: is told how the answer ended.
        until: when it must be over, where several answers share a deadline.
        settings: further keys of the request, such as ``max_tokens``.

    Raises:
        EndpointError: it cannot be asked, refuses, stops in the middle, or answers what is no
            answer; nothing is asked twice.
    """
    ending = Answer() if answer is None else answer
    length = 0
    cut = _Cut(endpoint.until() if until is None else until)
    with _in_time(endpoint, cut), _response(endpoint, messages, settings, cut) as response:
        kind = response.headers.get_content_type()
        if kind == "text/html":
            raise endpoint.failure("answers with a web page", _ADDRESS)
        complete = kind == "application/json"  # some servers do not stream, though asked to
        for event in _all_of(response) if complete else _events(endpoint, response):
            if event == "[DONE]":
                ending.finish_reason = ending.finish_reason or "stop"
                break
            piece = _piece(endpoint, event, ending)
            length += len(piece)
            if cut.done:
                raise endpoint.failure("takes too long")
            if length > _MOST_CHARACTERS:
                raise endpoint.failure(f"answers more than {_MOST_CHARACTERS:,} characters")
            if piece:
                yield piece
        if ending.finish_reason is None:
            problem = f"the connection was cut after {length:,} characters of the answer"
            raise endpoint.failure(problem, "ask again")
        if not length:
            raise endpoint.failure("answered nothing", "try another model")


def without_thoughts(text: str) -> str:
    """An answer without what a model thought aloud before it, or was thinking when it was cut."""
    return _THOUGHTS.sub("", text)


# -- asking --------------------------------------------------------------------------------------


def _is_here(host: str) -> bool:
    # Names below localhost are not looked up on this machine by every system.
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Cut:
    """Shuts a connection when its time is over, whatever is waited for there.

    A time-out counts from byte to byte, so a server that sends one now and then would never end.

    Args:
        until: when, by `time.monotonic`.
    """

    def __init__(self, until: float) -> None:
        self.done = False
        self._until = until
        self._watched: list[socket.socket] = []
        self._timer = threading.Timer(self.left, self._shut)
        self._timer.daemon = True
        self._timer.start()

    @property
    def left(self) -> float:
        """Seconds; never none, which sockets take for no limit."""
        return max(self._until - time.monotonic(), 0.001)

    def watch(self, connection: socket.socket) -> None:
        """Shut it too; by a handle of our own, since TLS takes over the one that is given."""
        self._watched.append(connection.dup())
        if self.done:
            self._shut()

    def end(self) -> None:
        """Shut nothing any more."""
        self._timer.cancel()
        for connection in self._watched:
            connection.close()

    def _shut(self) -> None:
        self.done = True
        for connection in self._watched:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def _in_time(endpoint: Endpoint, cut: _Cut) -> Iterator[None]:
    """Whatever fails once the time is over fails for that reason."""
    try:
        yield
    except EndpointError:
        if not cut.done:
            raise
        problem = f"did not end within {endpoint.deadline:g} seconds"
        raise endpoint.failure(problem, "give it longer, or ask for less") from None
    finally:
        cut.end()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would take the text, and the key, to where nobody asked it to go."""

    def redirect_request(self, *arguments: Any, **keywords: Any) -> None:  # noqa: ARG002
        return None


def _opener(endpoint: Endpoint, cut: _Cut) -> urllib.request.OpenerDirector:
    """What asks: within its time, without redirects, without a proxy to this machine."""

    class Plain(http.client.HTTPConnection):
        def connect(self) -> None:
            self.timeout = min(_CONNECTING, endpoint.timeout, cut.left)
            try:
                super().connect()
            except TimeoutError:
                raise OSError(f"no connection within {self.timeout:.3g} seconds") from None
            self.sock.settimeout(endpoint.timeout)
            cut.watch(self.sock)

    class Secure(http.client.HTTPSConnection, Plain):
        """Watched before the two agree on keys."""

    class Handler(urllib.request.HTTPSHandler, urllib.request.HTTPHandler):
        def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
            return self.do_open(Secure, request, context=ssl.create_default_context())

        def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
            return self.do_open(Plain, request)

    handlers: list[urllib.request.BaseHandler] = [_NoRedirect(), Handler()]
    if _is_here(urllib.parse.urlsplit(endpoint.base_url).hostname or ""):
        handlers.append(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(*handlers)


@contextmanager
def _response(
    endpoint: Endpoint,
    messages: Sequence[Mapping[str, str]],
    settings: Json,
    cut: _Cut,
) -> Iterator[http.client.HTTPResponse]:
    """The response once it is a good one, what cuts it short is a failure."""
    body = {"model": endpoint.model, "messages": list(messages), "stream": True, **settings}
    headers = {
        "Content-Type": "application/json",
        "Accept": "text/event-stream, application/json",
        "User-Agent": f"attnlens/{VERSION}",
    }
    if endpoint.sends_key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    url = f"{endpoint.base_url.rstrip('/')}/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")
    with _opened(endpoint, request, cut) as response:
        try:
            yield response
        except TimeoutError:
            problem = f"stopped answering for {endpoint.timeout:g} seconds"
            raise endpoint.failure(problem, "ask again") from None
        except (OSError, http.client.HTTPException):
            problem = "the connection was cut in the middle of the answer"
            raise endpoint.failure(problem, "ask again") from None


def _opened(
    endpoint: Endpoint, request: urllib.request.Request, cut: _Cut
) -> http.client.HTTPResponse:
    try:
        response: http.client.HTTPResponse = _opener(endpoint, cut).open(
            request, timeout=endpoint.timeout
        )
    except urllib.error.HTTPError as error:
        with error:
            refusal = endpoint.failure(_refusal(error))
            refusal.status = error.code
            raise refusal from None
    except (http.client.HTTPException, OSError) as error:
        raise endpoint.failure(_no_response(endpoint, error)) from None
    return response


def _refusal(error: urllib.error.HTTPError) -> str:
    """A status that is not 200, with what the server says of it."""
    if 300 <= error.code < 400:
        return f"sends us elsewhere (HTTP {error.code}), which is not followed"
    text = f"{_REFUSALS.get(error.code, 'cannot answer')} (HTTP {error.code})"
    try:
        message = _message(json.loads(error.read(1 << 16)))
    except (ValueError, RecursionError, OSError, http.client.HTTPException):
        message = ""
    return f"{text}: {message}" if message else text


def _message(data: Any) -> str:
    """What a server says of an error, on one line; empty where it says nothing."""
    error = data.get("error", data) if isinstance(data, dict) else data
    message = error.get("message") if isinstance(error, dict) else error
    return " ".join(message.split())[:200] if isinstance(message, str) else ""


def _no_response(endpoint: Endpoint, error: BaseException) -> str:
    """Why there is no response."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, ssl.SSLError):
        return "its certificate cannot be verified, or TLS fails"
    if isinstance(reason, TimeoutError):
        return f"did not answer within {endpoint.timeout:g} seconds"
    if isinstance(reason, ConnectionRefusedError):
        return "nothing answers there (connection refused)"
    if isinstance(reason, http.client.RemoteDisconnected | ConnectionError):
        return "cut the connection before it answered"
    if isinstance(reason, http.client.HTTPException):
        return "answers what is not HTTP"
    return f"cannot be reached ({getattr(reason, 'strerror', None) or reason})"


# -- reading what comes --------------------------------------------------------------------------


def _all_of(response: IO[bytes]) -> Iterator[str]:
    """A whole answer as the one event that there is, and its end."""
    yield response.read(4 * _MOST_CHARACTERS).decode("utf-8", "replace")
    yield "[DONE]"


def _events(endpoint: Endpoint, response: IO[bytes]) -> Iterator[str]:
    """The data of each event; comments and other fields are passed over."""
    data: list[str] = []
    of_event = of_all = 0
    for number in itertools.count():
        line = response.readline(_MOST_EVENT + 1)
        of_event, of_all = of_event + len(line), of_all + len(line)
        if of_event > _MOST_EVENT:
            raise endpoint.failure("sends an event without an end")
        if of_all > _MOST_BYTES or number > _MOST_LINES:
            raise endpoint.failure("sends more than any answer has")
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if text.startswith("data:"):
            data.append(text[5:].removeprefix(" "))
        elif not text:
            if data:
                yield "\n".join(data)
            data, of_event = [], 0
        if not line:
            return


def _piece(endpoint: Endpoint, text: str, ending: Answer) -> str:
    """The text of an event or of a whole answer; empty where it has none (usage, say).

    Raises:
        EndpointError: the answer is an error, or of another shape.
    """
    try:
        data = json.loads(text)
    except RecursionError:
        raise endpoint.failure("answers JSON that is nested too deeply") from None
    except ValueError:
        excerpt = " ".join(text.split())[:80]
        raise endpoint.failure(f"answers what is not JSON: {excerpt!r}", _ADDRESS) from None
    if isinstance(data, dict) and data.get("error"):
        raise endpoint.failure(f"reports an error: {_message(data)}")
    choices = data.get("choices") if isinstance(data, dict) else None
    if choices == []:
        return ""
    if not isinstance(choices, list) or not isinstance(choices[0], dict):
        raise endpoint.failure("answers JSON that is no chat completion", _ADDRESS)
    reason = choices[0].get("finish_reason")
    if isinstance(reason, str):
        ending.finish_reason = reason
    message = choices[0].get("delta") or choices[0].get("message")
    content = message.get("content") if isinstance(message, dict) else None
    # Half of a sign, as JSON can write one, cannot be shown.
    return content.encode(errors="replace").decode() if isinstance(content, str) else ""
