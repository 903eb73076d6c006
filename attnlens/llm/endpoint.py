"""An OpenAI-compatible chat endpoint, asked with the standard library alone.

What is sent goes to the address that was given, and nowhere else: redirects are not followed, TLS
certificates are verified, and a key is sent over plain HTTP only to this machine.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any, Final

from attnlens._version import VERSION
from attnlens.errors import EndpointError, InputError
from attnlens.files import Json

REFUSALS: Final = {
    401: "refuses the key; set ATTNLENS_API_KEY",
    403: "does not allow it",
    404: "has no such model or path",
    429: "says there were too many requests",
}
ADDRESS: Final = "is it an OpenAI-compatible address, ending in /v1?"
MOST_CHARACTERS: Final = 200_000
MOST_LINE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to ask, and how patiently.

    Attributes:
        base_url: ``https://host/v1``; ``/chat/completions`` is added.
        model: the model's name there.
        key: sent as a bearer token; never shown.
        timeout: seconds without a byte after which it is given up.

    Raises:
        InputError: the address is none that can be asked.
    """

    base_url: str
    model: str
    key: str | None = field(default=None, repr=False)
    timeout: float = 60.0

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
        if not self.timeout > 0:
            raise InputError("the time-out must be above 0")

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
    **settings: Any,
) -> Iterator[str]:
    """The answer in pieces as they come (server-sent events).

    Args:
        answer: is told how the answer ended.
        settings: further keys of the request, such as ``max_tokens``.

    Raises:
        EndpointError: it cannot be asked, refuses, stops in the middle, or answers what is no
            answer; nothing is asked twice.
    """
    ended = Answer() if answer is None else answer
    length = 0
    with _asked(endpoint, messages, {"stream": True, **settings}) as response:
        kind = response.headers.get_content_type()
        if kind == "text/html":
            raise endpoint.failure("answers with a web page", ADDRESS)
        whole = kind == "application/json"  # some servers do not stream, though asked to
        for event in _all_of(response) if whole else _events(endpoint, response):
            if event == "[DONE]":
                ended.finish_reason = ended.finish_reason or "stop"
                break
            piece = _piece(endpoint, event, ended)
            length += len(piece)
            if length > MOST_CHARACTERS:
                raise endpoint.failure(f"answers more than {MOST_CHARACTERS:,} characters")
            if piece:
                yield piece
    if ended.finish_reason is None:
        problem = f"the connection was cut after {length:,} characters of the answer"
        raise endpoint.failure(problem, "ask again")
    if not length:
        raise endpoint.failure("answered nothing", "try another model")


# -- asking --------------------------------------------------------------------------------------


def _is_here(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would take the text, and the key, to where nobody asked it to go."""

    def redirect_request(self, *arguments: Any, **named: Any) -> None:  # noqa: ARG002
        return None


def _opener(endpoint: Endpoint) -> urllib.request.OpenerDirector:
    """What asks: without redirects, and without a proxy on the way to this machine."""
    handlers: list[urllib.request.BaseHandler] = [
        _NoRedirect(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
    ]
    if _is_here(urllib.parse.urlsplit(endpoint.base_url).hostname or ""):
        handlers.append(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(*handlers)


@contextmanager
def _asked(
    endpoint: Endpoint,
    messages: Sequence[Mapping[str, str]],
    settings: Json,
) -> Iterator[http.client.HTTPResponse]:
    """The response once it is a good one, what cuts it short is a failure."""
    body = {"model": endpoint.model, "messages": list(messages), **settings}
    headers = {
        "Content-Type": "application/json",
        "Accept": "text/event-stream, application/json",
        "User-Agent": f"attnlens/{VERSION}",
    }
    if endpoint.sends_key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    url = f"{endpoint.base_url.rstrip('/')}/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")
    with _opened(endpoint, request) as response:
        try:
            yield response
        except TimeoutError:
            problem = f"stopped answering for {endpoint.timeout:g} seconds"
            raise endpoint.failure(problem, "ask again") from None
        except (OSError, http.client.HTTPException):
            problem = "the connection was cut in the middle of the answer"
            raise endpoint.failure(problem, "ask again") from None


def _opened(endpoint: Endpoint, request: urllib.request.Request) -> http.client.HTTPResponse:
    try:
        response: http.client.HTTPResponse = _opener(endpoint).open(
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
    text = f"{REFUSALS.get(error.code, 'cannot answer')} (HTTP {error.code})"
    try:
        message = _message(json.loads(error.read(1 << 16)))
    except (ValueError, OSError, http.client.HTTPException):
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
    yield response.read(4 * MOST_CHARACTERS).decode("utf-8", "replace")
    yield "[DONE]"


def _events(endpoint: Endpoint, response: IO[bytes]) -> Iterator[str]:
    """The data of each event; comments and other fields are passed over."""
    data: list[str] = []
    while line := response.readline(MOST_LINE + 1):
        if len(line) > MOST_LINE:
            raise endpoint.failure("sends lines without an end")
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if text.startswith("data:"):
            data.append(text[5:].removeprefix(" "))
        elif not text and data:
            yield "\n".join(data)
            data = []
    if data:
        yield "\n".join(data)


def _piece(endpoint: Endpoint, text: str, ended: Answer) -> str:
    """The text of an event or of a whole answer; empty where it has none (usage, say).

    Raises:
        EndpointError: the answer is an error, or of another shape.
    """
    try:
        data = json.loads(text)
    except ValueError:
        shown = " ".join(text.split())[:80]
        raise endpoint.failure(f"answers what is not JSON: {shown!r}", ADDRESS) from None
    if isinstance(data, dict) and data.get("error"):
        raise endpoint.failure(f"reports an error: {_message(data)}")
    choices = data.get("choices") if isinstance(data, dict) else None
    if choices == []:
        return ""
    if not isinstance(choices, list) or not isinstance(choices[0], dict):
        raise endpoint.failure("answers JSON that is no chat completion", ADDRESS)
    reason = choices[0].get("finish_reason")
    if isinstance(reason, str):
        ended.finish_reason = reason
    said = choices[0].get("delta") or choices[0].get("message")
    content = said.get("content") if isinstance(said, dict) else None
    return content if isinstance(content, str) else ""
