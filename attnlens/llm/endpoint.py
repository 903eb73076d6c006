"""An OpenAI-compatible chat endpoint, asked with the standard library alone.

What is sent goes to the address that was given, and nowhere else: redirects are not followed, TLS
certificates are verified, and a key is sent over plain HTTP only to this machine.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import random
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Final

from attnlens._version import VERSION
from attnlens.errors import EndpointError, InputError

RETRIED: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same question is asked again."""

MOST_CHARACTERS: Final = 200_000
MOST_LINE: Final = 1 << 20
LONGEST_WAIT: Final = 30.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to ask, and how patiently.

    Attributes:
        base_url: ``https://host/v1``; ``/chat/completions`` is added.
        model: the model's name there.
        key: sent as a bearer token; never shown.
        timeout: seconds without a byte after which it is given up.
        retries: how often a question is asked again.
        backoff: seconds before the first retry; each next one waits twice as long.

    Raises:
        InputError: the address is none that can be asked.
    """

    base_url: str
    model: str
    key: str | None = field(default=None, repr=False)
    timeout: float = 60.0
    retries: int = 3
    backoff: float = 1.0

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
        if not self.timeout > 0 or self.retries < 0:
            raise InputError("the time-out must be above 0 and retries not below")

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

    @property
    def shown(self) -> str:
        """The address for messages: scheme, host and path."""
        return self.base_url.rstrip("/")


@dataclass(slots=True)
class Answer:
    """How an answer ended: ``stop``, or ``length`` where it was cut at its most tokens."""

    finish_reason: str | None = None


def stream(
    endpoint: Endpoint,
    messages: Sequence[Mapping[str, Any]],
    *,
    answer: Answer | None = None,
    sleep: Callable[[float], None] = time.sleep,
    **settings: Any,
) -> Iterator[str]:
    """The answer in pieces as they come (server-sent events).

    Args:
        answer: is told how the answer ended.
        settings: further keys of the request, such as ``max_tokens``.

    Raises:
        EndpointError: it cannot be asked, refuses, stops in the middle, or answers what is no
            answer; a question is asked again only as long as nothing has come.
    """
    body = {"model": endpoint.model, "messages": list(messages), "stream": True, **settings}
    said = Answer() if answer is None else answer
    response = _asked(endpoint, body, sleep)
    length = 0
    with response:
        kind = response.headers.get_content_type()
        if kind == "application/json":
            # Some servers do not stream, though asked to.
            text = _content(endpoint, _json(endpoint, _all_of(endpoint, response)), said)
            yield text
            return
        if kind == "text/html":
            raise EndpointError(
                "answers with a web page",
                path=endpoint.shown,
                remedy="is it an OpenAI-compatible address, ending in /v1?",
            )
        for event in _events(endpoint, response):
            if event == "[DONE]":
                if said.finish_reason is None:
                    said.finish_reason = "stop"
                break
            piece = _delta(endpoint, _json(endpoint, event), said)
            length += len(piece)
            if length > MOST_CHARACTERS:
                raise EndpointError(
                    f"answers more than {MOST_CHARACTERS:,} characters", path=endpoint.shown
                )
            if piece:
                yield piece
    if said.finish_reason is None:
        raise EndpointError(
            f"the connection was cut after {length:,} characters of the answer",
            path=endpoint.shown,
            remedy="ask again",
        )
    if not length:
        raise EndpointError("answered nothing", path=endpoint.shown, remedy="try another model")


def complete(
    endpoint: Endpoint,
    messages: Sequence[Mapping[str, Any]],
    *,
    sleep: Callable[[float], None] = time.sleep,
    **settings: Any,
) -> str:
    """The whole answer at once.

    Raises:
        EndpointError: as `stream`.
    """
    body = {"model": endpoint.model, "messages": list(messages), **settings}
    with _asked(endpoint, body, sleep) as response:
        data = _json(endpoint, _all_of(endpoint, response))
    return _content(endpoint, data, Answer())


def structured(
    endpoint: Endpoint,
    messages: Sequence[Mapping[str, Any]],
    schema: Mapping[str, Any],
    *,
    name: str,
    sleep: Callable[[float], None] = time.sleep,
    **settings: Any,
) -> Any:
    """An answer that a JSON Schema asks for, as plain data; its caller validates it.

    Raises:
        EndpointError: as `stream`, or the answer is not JSON.
    """
    form = {
        "type": "json_schema",
        "json_schema": {"name": name, "schema": dict(schema), "strict": True},
    }
    text = complete(endpoint, messages, sleep=sleep, response_format=form, **settings)
    try:
        return json.loads(text)
    except ValueError:
        raise EndpointError(
            "was asked for JSON and answered something else",
            path=endpoint.shown,
            remedy="use a model that has structured output",
        ) from None


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


def _asked(
    endpoint: Endpoint, body: Mapping[str, Any], sleep: Callable[[float], None]
) -> http.client.HTTPResponse:
    """The response once it is a good one, after retries."""
    handlers: list[urllib.request.BaseHandler] = [
        _NoRedirect(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
    ]
    if _is_here(urllib.parse.urlsplit(endpoint.base_url).hostname or ""):
        handlers.append(urllib.request.ProxyHandler({}))
    opener = urllib.request.build_opener(*handlers)
    headers = {
        "Content-Type": "application/json",
        "Accept": "text/event-stream, application/json",
        "User-Agent": f"attnlens/{VERSION}",
    }
    if endpoint.sends_key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    data = json.dumps(body, ensure_ascii=True).encode()
    url = f"{endpoint.shown}/chat/completions"
    for attempt in range(endpoint.retries + 1):
        wait: float | None = None
        try:
            request = urllib.request.Request(url, data=data, headers=headers, method="POST")
            found: http.client.HTTPResponse = opener.open(request, timeout=endpoint.timeout)
            return found
        except urllib.error.HTTPError as error:
            with error:
                problem = _refusal(endpoint, error)
                wait = _asked_to_wait(error)
                again = error.code in RETRIED
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            problem, again = _failure(endpoint, error)
        if not again or attempt == endpoint.retries:
            tries = "" if attempt == 0 else f" ({attempt + 1} tries)"
            raise EndpointError(f"{problem}{tries}", path=endpoint.shown)
        pause = endpoint.backoff * 2**attempt * (1 + random.random() / 4)
        sleep(min(LONGEST_WAIT, max(pause, wait or 0.0)))
    raise AssertionError("the last try returns or raises")


def _refusal(endpoint: Endpoint, error: urllib.error.HTTPError) -> str:
    """A status that is not 200, with what the server says of it."""
    said = ""
    try:
        data = json.loads(error.read(1 << 16))
        told = data.get("error", data) if isinstance(data, dict) else {}
        message = told.get("message") if isinstance(told, dict) else told
        said = message if isinstance(message, str) else ""
    except (ValueError, OSError, http.client.HTTPException):
        pass
    said = _without_key(endpoint, " ".join(said.split())[:200])
    known = {
        401: "refuses the key; set ATTNLENS_API_KEY",
        403: "does not allow it",
        404: "has no such model or path",
        429: "says there were too many requests",
    }
    if 300 <= error.code < 400:
        return f"sends us elsewhere (HTTP {error.code}), which is not followed"
    text = f"{known.get(error.code, 'cannot answer')} (HTTP {error.code})"
    return f"{text}: {said}" if said else text


def _without_key(endpoint: Endpoint, text: str) -> str:
    """A server's words without the key, which some repeat."""
    return text.replace(endpoint.key, "[key]") if endpoint.key else text


def _asked_to_wait(error: urllib.error.HTTPError) -> float | None:
    told = error.headers.get("Retry-After", "")
    return float(told) if told.isascii() and told.isdigit() else None


def _failure(endpoint: Endpoint, error: BaseException) -> tuple[str, bool]:
    """Why there is no response, and whether asking again may help."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, ssl.SSLError):
        return "its certificate cannot be verified, or TLS fails", False
    if isinstance(reason, TimeoutError):
        return f"did not answer within {endpoint.timeout:g} seconds", True
    if isinstance(reason, ConnectionRefusedError):
        return "nothing answers there (connection refused)", True
    if isinstance(reason, http.client.RemoteDisconnected | ConnectionError):
        return "cut the connection before it answered", True
    if isinstance(reason, http.client.HTTPException):
        return "answers what is not HTTP", False
    told = getattr(reason, "strerror", None) or str(reason)
    return f"cannot be reached ({_without_key(endpoint, told)})", True


def _all_of(endpoint: Endpoint, response: IO[bytes]) -> str:
    most = 4 * MOST_CHARACTERS
    try:
        data = response.read(most + 1)
    except (OSError, http.client.HTTPException) as error:
        raise _cut(endpoint, error) from None
    if len(data) > most:
        raise EndpointError(f"answers more than {most:,} bytes", path=endpoint.shown)
    return data.decode("utf-8", "replace")


def _cut(endpoint: Endpoint, error: BaseException) -> EndpointError:
    if isinstance(error, TimeoutError):
        problem = f"stopped answering for {endpoint.timeout:g} seconds"
    else:
        problem = "the connection was cut in the middle of the answer"
    return EndpointError(problem, path=endpoint.shown, remedy="ask again")


def _events(endpoint: Endpoint, response: IO[bytes]) -> Iterator[str]:
    """The data of each event; comments and other fields are passed over."""
    data: list[str] = []
    while True:
        try:
            line = response.readline(MOST_LINE + 1)
        except (OSError, http.client.HTTPException) as error:
            raise _cut(endpoint, error) from None
        if len(line) > MOST_LINE:
            raise EndpointError("sends lines without an end", path=endpoint.shown)
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if text.startswith("data:"):
            data.append(text[5:].removeprefix(" "))
        elif not text and data:
            yield "\n".join(data)
            data = []
        if not line:
            return


def _json(endpoint: Endpoint, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        shown = _without_key(endpoint, " ".join(text.split())[:80])
        raise EndpointError(
            f"answers what is not JSON: {shown!r}",
            path=endpoint.shown,
            remedy="is it an OpenAI-compatible address, ending in /v1?",
        ) from None


def _choice(endpoint: Endpoint, data: Any) -> Mapping[str, Any] | None:
    """The first choice of an answer; ``None`` where an event has none (usage, say).

    Raises:
        EndpointError: the answer is an error, or of another shape.
    """
    if isinstance(data, dict) and data.get("error"):
        told = data["error"]
        message = told.get("message") if isinstance(told, dict) else told
        text = _without_key(endpoint, " ".join(str(message).split())[:200])
        raise EndpointError(f"reports an error: {text}", path=endpoint.shown)
    choices = data.get("choices") if isinstance(data, dict) else None
    if choices == []:
        return None
    if not isinstance(choices, list) or not isinstance(choices[0], dict):
        raise EndpointError(
            "answers JSON that is no chat completion",
            path=endpoint.shown,
            remedy="is it an OpenAI-compatible address, ending in /v1?",
        )
    first: dict[str, Any] = choices[0]
    return first


def _delta(endpoint: Endpoint, data: Any, answer: Answer) -> str:
    choice = _choice(endpoint, data)
    if choice is None:
        return ""
    reason = choice.get("finish_reason")
    if isinstance(reason, str):
        answer.finish_reason = reason
    delta = choice.get("delta")
    content = delta.get("content") if isinstance(delta, dict) else None
    return content if isinstance(content, str) else ""


def _content(endpoint: Endpoint, data: Any, answer: Answer) -> str:
    choice = _choice(endpoint, data) or {}
    reason = choice.get("finish_reason")
    answer.finish_reason = reason if isinstance(reason, str) else "stop"
    message = choice.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, str) or not content:
        refused = message.get("refusal") if isinstance(message, dict) else None
        said = f"refuses: {refused[:200]}" if isinstance(refused, str) else "answered nothing"
        raise EndpointError(said, path=endpoint.shown, remedy="try another model")
    return content
