"""Send requests to an OpenAI-compatible chat endpoint.

Redirects are not followed, and TLS certificates are verified. A key is sent over plain HTTP only to
this machine. The time, bytes, lines and nesting of an answer are limited, because answers may be
hostile.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
import ssl
import time
import urllib.parse
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from attnlens._version import VERSION
from attnlens.errors import EndpointError, InputError
from attnlens.files import Json
from attnlens.llm.clause_bank import MAX_IDS, Clause, ids_in

MAX_ANSWER_CHARACTERS: Final = 20_000
_MAX_DOCUMENT_BYTES, _MAX_REFUSAL_BYTES = 800_000, 1 << 16
_MAX_EVENT_BYTES, _MAX_STREAM_BYTES, _MAX_STREAM_LINES = 1 << 20, 64 << 20, 1_000_000
"""Limits on a streamed answer, which may also contain the model's reasoning."""

_MAX_WAIT_SECONDS: Final = 86_400
_MAX_CONNECT_SECONDS: Final = 30.0
_ADDRESS_REMEDY: Final = "check that the address is OpenAI-compatible and ends in /v1"
_REFUSES_SCHEMA: Final = frozenset({400, 415, 422, 501})
"""HTTP statuses after which the request is sent again without a schema."""

_ABOUT_SCHEMA: Final = re.compile(r"format|schema|grammar|json", re.IGNORECASE)
"""An HTTP 500 error with one of these words may mean that the server supports no schema."""

_REFUSALS: Final = {
    401: "rejects the API key; set ATTNLENS_API_KEY",
    403: "does not allow this request with this API key",
    404: "has no such model or path",
    429: "rejects the request because too many requests were sent",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address, model, key and time limits of a chat endpoint.

    Attributes:
        base_url: the address without ``/chat/completions``, such as ``https://host/v1``.
        model: the model's name at the endpoint.
        key: the bearer token, which is never displayed.
        timeout: seconds to wait for the next byte. A local model may need minutes for the first
            byte.
        deadline: seconds to wait for a whole answer.

    Raises:
        InputError: the address, the key or a time limit is not valid.
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
            raise self._unusable("is not a URL") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
            raise self._unusable("is not a URL")
        if parts.username or parts.password:
            raise InputError(
                "--base-url contains a user name or a password",
                remedy="remove the user name and password, and set ATTNLENS_API_KEY",
            )
        if parts.query or parts.fragment or any(c.isspace() for c in self.base_url):
            raise self._unusable("contains a query, a fragment or a space")
        if self.key is not None and (not self.key.isprintable() or not self.key.isascii()):
            raise InputError(
                "the API key contains characters that are not printable ASCII",
                remedy="set ATTNLENS_API_KEY or OPENAI_API_KEY again",
            )
        if not (0 < self.timeout <= _MAX_WAIT_SECONDS and 0 < self.deadline <= _MAX_WAIT_SECONDS):
            problem = (
                "--timeout and --deadline must be numbers above 0 and up to "
                f"{_MAX_WAIT_SECONDS:,} seconds"
            )
            raise InputError(problem)

    def until(self) -> float:
        """Return the deadline of a request that starts now, as a `time.monotonic` value."""
        return time.monotonic() + self.deadline

    def _unusable(self, problem: str) -> InputError:
        return InputError(
            f"--base-url {self.base_url!r} {problem}",
            remedy="give an address such as https://host/v1 or http://localhost:11434/v1",
        )

    @property
    def is_local(self) -> bool:
        """Whether the address is on this machine."""
        host = urllib.parse.urlsplit(self.base_url).hostname or ""
        # Some systems resolve a name such as a.localhost to another machine.
        if host == "localhost":
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    @property
    def sends_key(self) -> bool:
        """Whether requests contain the key, which is sent only over TLS or to this machine."""
        return self.key is not None and (self.base_url.startswith("https:") or self.is_local)

    def failure(self, problem: str, remedy: str | None = None) -> EndpointError:
        """Build an error without the key, because some servers repeat the key in their messages."""
        if self.key:
            problem = problem.replace(self.key, "[key]")
        return EndpointError(problem, path=self.base_url.rstrip("/"), remedy=remedy)


@dataclass(slots=True)
class Answer:
    """The text of an answer, and how the answer ended.

    Attributes:
        finish_reason: the server's reason: ``stop``, ``length`` (the token limit) or another one.
        cut: whether the answer was cut off at a limit of tokens or characters.
    """

    text: str = ""
    finish_reason: str | None = None
    cut: bool = False


def ask(
    endpoint: Endpoint,
    messages: Sequence[Mapping[str, str]],
    *,
    until: float | None = None,
    **settings: Any,
) -> Answer:
    """Send messages once, and return the first `MAX_ANSWER_CHARACTERS` characters of the answer.

    Args:
        until: the deadline as a `time.monotonic` value; by default ``endpoint.deadline`` seconds
            from now.
        settings: further keys of the request, such as ``max_tokens``.

    Raises:
        EndpointError: the endpoint cannot be reached, refuses the request, or sends an incomplete
            or invalid answer.
    """
    body = {"model": endpoint.model, "messages": list(messages), "stream": True, **settings}
    return asyncio.run(_ask(endpoint, body, endpoint.until() if until is None else until))


async def _ask(endpoint: Endpoint, body: Json, until: float) -> Answer:
    try:
        # The time-out starts again at each byte, so only the deadline stops a slow server.
        async with asyncio.timeout_at(until), _response(endpoint, body) as response:
            return await _answer(endpoint, response)
    except TimeoutError:
        problem = f"did not complete its answer within {endpoint.deadline:g} seconds"
        raise endpoint.failure(problem, "raise --deadline, or lower --max-tokens") from None


@asynccontextmanager
async def _response(endpoint: Endpoint, body: Json) -> AsyncIterator[httpx.Response]:
    headers = {
        "Accept": "text/event-stream, application/json",
        "Accept-Encoding": "identity",  # the size limits would not apply to decompressed data
        "User-Agent": f"attnlens/{VERSION}",
    }
    if endpoint.sends_key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    client = httpx.AsyncClient(
        headers=headers,
        timeout=httpx.Timeout(endpoint.timeout, connect=_MAX_CONNECT_SECONDS),
        verify=ssl.create_default_context(),
        trust_env=not endpoint.is_local,  # use no proxy for this machine
    )
    async with client:
        request = client.build_request(
            "POST", f"{endpoint.base_url.rstrip('/')}/chat/completions", json=body
        )
        try:
            response = await client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise endpoint.failure(_no_response(endpoint, error)) from None
        try:
            if response.status_code != 200:
                raise await _refusal(endpoint, response)
            yield response
        except httpx.TimeoutException:
            problem = f"sent no byte for {endpoint.timeout:g} seconds"
            raise endpoint.failure(problem, "send the request again") from None
        except httpx.HTTPError:
            problem = "closed the connection in the middle of the answer"
            raise endpoint.failure(problem, "send the request again") from None
        finally:
            await response.aclose()


async def _refusal(endpoint: Endpoint, response: httpx.Response) -> EndpointError:
    status = response.status_code
    text = f"{_REFUSALS.get(status, 'cannot answer the request')} (HTTP {status})"
    if 300 <= status < 400:
        text = f"redirects the request (HTTP {status}), and attnlens does not follow redirects"
    else:
        try:
            message = _message(json.loads(await _start_of(response, _MAX_REFUSAL_BYTES)))
        except (ValueError, RecursionError, httpx.HTTPError):
            message = ""
        text += f": {message}" if message else ""
    refusal = endpoint.failure(text)
    refusal.status = status
    return refusal


def _message(data: Any) -> str:
    error = data.get("error", data) if isinstance(data, dict) else data
    message = error.get("message") if isinstance(error, dict) else error
    return " ".join(message.split())[:200] if isinstance(message, str) else ""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _no_response(endpoint: Endpoint, error: Exception) -> str:
    if any(isinstance(cause, ssl.SSLError) for cause in _causes(error)):
        return "the server's certificate cannot be verified, or TLS failed"
    if any(isinstance(cause, ConnectionRefusedError) for cause in _causes(error)):
        return "no server listens at this address (connection refused)"
    if isinstance(error, httpx.ConnectTimeout):
        return f"cannot be reached (no connection within {_MAX_CONNECT_SECONDS:g} seconds)"
    if isinstance(error, httpx.TimeoutException):
        return f"did not answer within {endpoint.timeout:g} seconds"
    if isinstance(error, httpx.ReadError | httpx.WriteError) or "disconnected" in str(error):
        return "closed the connection before it answered"
    if isinstance(error, httpx.ProtocolError):
        return "does not answer in HTTP"
    return f"cannot be reached ({error})"


async def _answer(endpoint: Endpoint, response: httpx.Response) -> Answer:
    answer = Answer()
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind == "text/html":
        raise endpoint.failure("answers with a web page instead of JSON", _ADDRESS_REMEDY)
    # Some servers ignore the request to stream and send one JSON document.
    read = _document(response) if kind == "application/json" else _events(endpoint, response)
    async for event in read:
        if event == "[DONE]":
            answer.finish_reason = answer.finish_reason or "stop"
            break
        answer.text += _piece(endpoint, event, answer)
        if len(answer.text) > MAX_ANSWER_CHARACTERS:
            return Answer(answer.text[:MAX_ANSWER_CHARACTERS], cut=True)
    if answer.finish_reason is None:
        problem = f"the connection was closed after {len(answer.text):,} characters of the answer"
        raise endpoint.failure(problem, "send the request again")
    if not answer.text:
        raise endpoint.failure("sent an empty answer", "try another model")
    answer.cut = answer.finish_reason == "length"
    return answer


async def _start_of(response: httpx.Response, max_bytes: int) -> str:
    data = b""
    async for chunk in response.aiter_raw():
        data += chunk
        if len(data) >= max_bytes:
            break
    return data[:max_bytes].decode("utf-8", "replace")


async def _document(response: httpx.Response) -> AsyncIterator[str]:
    yield await _start_of(response, _MAX_DOCUMENT_BYTES)
    yield "[DONE]"


async def _events(endpoint: Endpoint, response: httpx.Response) -> AsyncIterator[str]:
    """Yield the ``data`` field of each server-sent event."""
    data: list[str] = []
    rest, n_bytes, n_lines, event_bytes = b"", 0, 0, 0
    async for chunk in response.aiter_raw():
        *lines, rest = (rest + chunk).split(b"\n")
        n_bytes, n_lines = n_bytes + len(chunk), n_lines + len(lines)
        for line in lines:
            text = line.decode("utf-8", "replace").rstrip("\r")
            event_bytes += len(line)
            if text.startswith("data:"):
                data.append(text[5:].removeprefix(" "))
            elif not text:
                if data:
                    yield "\n".join(data)
                data, event_bytes = [], 0
        if event_bytes + len(rest) > _MAX_EVENT_BYTES:
            raise endpoint.failure("sends an event that does not end")
        if n_bytes > _MAX_STREAM_BYTES or n_lines > _MAX_STREAM_LINES:
            raise endpoint.failure("sends a longer answer than attnlens accepts")
    if rest.startswith(b"data:"):
        data.append(rest[5:].decode("utf-8", "replace").strip())
    if data:
        yield "\n".join(data)


def _piece(endpoint: Endpoint, text: str, answer: Answer) -> str:
    """Return the text of an event or of a complete answer."""
    try:
        data = json.loads(text)
    except RecursionError:
        raise endpoint.failure("answers with JSON that is nested too deeply") from None
    except ValueError:
        excerpt = " ".join(text.split())[:80]
        problem = f"answers with text that is not JSON: {excerpt!r}"
        raise endpoint.failure(problem, _ADDRESS_REMEDY) from None
    if isinstance(data, dict) and data.get("error"):
        raise endpoint.failure(f"reports an error: {_message(data)}")
    choices = data.get("choices") if isinstance(data, dict) else None
    if choices == []:
        return ""
    if not isinstance(choices, list) or not isinstance(choices[0], dict):
        raise endpoint.failure("answers with JSON that is not a chat completion", _ADDRESS_REMEDY)
    reason = choices[0].get("finish_reason")
    if isinstance(reason, str):
        answer.finish_reason = reason
    message = choices[0].get("delta") or choices[0].get("message")
    content = message.get("content") if isinstance(message, dict) else None
    # JSON can contain half of a surrogate pair, which cannot be displayed.
    return content.encode(errors="replace").decode() if isinstance(content, str) else ""


def chosen_ids(
    endpoint: Endpoint,
    messages: Sequence[dict[str, str]],
    clauses: Sequence[Clause],
    **settings: Any,
) -> tuple[list[str], bool]:
    """Ask a language model to select clauses from a bank, and return the ids in the model's order.

    Args:
        messages: the prompt, which contains the clauses of the bank.
        settings: as in `ask`.

    Returns:
        the list of ids, which may contain unknown ids, and whether the answer was cut off.

    Raises:
        EndpointError: as in `ask`.
    """
    ids, until = [clause.id for clause in clauses], endpoint.until()
    try:
        answer = ask(endpoint, messages, until=until, response_format=_schema(ids), **settings)
    except EndpointError as error:
        unsure = error.status == 500 and _ABOUT_SCHEMA.search(error.problem)
        if not (error.status in _REFUSES_SCHEMA or unsure):
            raise
        answer = ask(endpoint, messages, until=until, **settings)
    return ids_in(answer.text, set(ids)), answer.cut


def _schema(ids: list[str]) -> Json:
    items = {"type": "array", "items": {"type": "string", "enum": ids}, "maxItems": MAX_IDS}
    schema = {
        "type": "object",
        "properties": {"ids": items},
        "required": ["ids"],
        "additionalProperties": False,
    }
    wrapped = {"name": "ids", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": wrapped}
