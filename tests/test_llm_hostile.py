"""A server that means harm, on real sockets: it costs little memory, and ends at a deadline."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest
from chat_server import Act, Handler, event, refuses, sends, serving, streams
from command_line import HANG, clean_environment

from attnlens.errors import EndpointError
from attnlens.llm.clause_bank import Clause
from attnlens.llm.endpoint import Endpoint, ask, chosen_ids

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="only Linux tells a process's memory there"
)
DEADLINE = 1.0
BANK = [Clause("sentence1", "It is so.")]
PATIENCE = 50.0
"""Seconds of a deadline that a busy machine does not reach before another bound ends the answer."""

ASKS = """import sys
from attnlens.errors import EndpointError
from attnlens.llm.endpoint import Endpoint, ask
def peak():
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) / 1024
before, said = peak(), "answered"
try:
    ask(Endpoint(sys.argv[1], "m", timeout=20.0, deadline=float(sys.argv[2])), [])
except EndpointError as error:
    said = error.problem
print(peak() - before, said, sep="|")
"""
HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


def writes(head: str, pieces: Callable[[], Iterator[str]]) -> Act:
    """Sends raw bytes until nobody takes them."""

    def act(handler: Handler) -> None:
        handler.close_connection = True
        with suppress(OSError):
            handler.wfile.write(head.encode())
            for piece in pieces():
                handler.wfile.write(piece.encode())
                handler.wfile.flush()

    return act


def drip(text: str) -> Callable[[], Iterator[str]]:
    """A sign now and then, never so late that a time-out would end it."""

    def pieces() -> Iterator[str]:
        while True:
            for sign in text:
                time.sleep(0.05)
                yield sign

    return pieces


def flood(text: str) -> Callable[[], Iterator[str]]:
    """As fast as it is taken."""

    def pieces() -> Iterator[str]:
        block = text * (1 + (1 << 16) // len(text))
        while True:
            yield block

    return pieces


NOTHING = f"data: {json.dumps({'choices': []})}\n\n"
ENDED = "did not complete its answer within {:g} seconds"
REFUSES = HEAD.replace("200 OK", "500 No")
HOSTILE = {
    "a drip of headers": (writes(HEAD, drip("X-A: b\r\n")), ENDED),
    "a drip of comments": (writes(HEAD + "\r\n", drip(": wait\n")), ENDED),
    "a drip of empty events": (writes(HEAD + "\r\n", drip(NOTHING)), ENDED),
    "a drip after a refusal": (writes(REFUSES + "\r\n", drip("{")), ENDED),
    "continue, for ever": (writes("", drip("HTTP/1.1 100 Continue\r\n\r\n")), ENDED),
    "events without end": (writes(HEAD + "\r\n", flood(NOTHING)), "sends a longer answer"),
    "an event without end": (
        writes(HEAD + "\r\n", flood("data: a\n")),
        "sends an event that does not end",
    ),
    "a line without end": (writes(HEAD + "\r\n", flood("x")), "sends an event that does not end"),
    "empty lines without end": (writes(HEAD + "\r\n", flood("\n")), "sends a longer answer"),
    "a header without end": (writes(HEAD + "X: ", flood("a")), "does not answer in HTTP"),
    "headers without end": (writes(HEAD, flood("X-A: b\r\n")), "does not answer in HTTP"),
    "a document without end": (
        writes(HEAD.replace("text/event-stream", "application/json") + "\r\n", flood("[")),
        "answers with JSON that is nested too deeply",
    ),
    "nesting": (sends(f"data: {'[' * 900_000}\n\n"), "answers with JSON that is nested too deeply"),
    "nesting in a refusal": (writes(REFUSES + "\r\n", lambda: iter(["[" * 60_000])), "cannot"),
}


def asked(url: str, deadline: float) -> tuple[float, str]:
    """The megabytes that a process needs to ask there, and what it reports."""
    words = [sys.executable, "-c", ASKS, url, str(deadline)]
    done = subprocess.run(
        words, env=clean_environment(), capture_output=True, text=True, timeout=HANG, check=False
    )
    assert done.returncode == 0, done.stderr
    megabytes, message = done.stdout.strip().split("|")
    return float(megabytes), message


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_server_costs_little(name: str) -> None:
    act, expected = HOSTILE[name]
    # A drip has no other end than the deadline.
    deadline = DEADLINE if expected == ENDED else PATIENCE
    while True:
        with serving(act) as server:
            megabytes, message = asked(server.url, deadline)
            requests = len(server.requests)
        # On a busy machine the deadline may pass before the server reads the request.
        if requests or deadline >= PATIENCE:
            break
        deadline *= 2
    assert requests == 1
    assert message.startswith(expected.format(deadline))
    assert megabytes < 50


def test_a_drip_before_keys_are_agreed_on_ends_in_time() -> None:
    def drips(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.sendall(b"\x16\x03\x03\x40\x00")  # a record of TLS, 16 kB long
            for _ in range(200):
                time.sleep(0.05)
                connection.sendall(b"\x02")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drips, args=(listening,), daemon=True)
        thread.start()
        _, message = asked(f"https://127.0.0.1:{listening.getsockname()[1]}/v1", DEADLINE)
        thread.join(20)
    assert message == ENDED.format(DEADLINE)


class Counting(Endpoint):
    """Counts how often the deadline of a request is set."""

    deadlines: ClassVar[list[float]] = []

    def until(self) -> float:
        self.deadlines.append(super().until())
        return self.deadlines[-1]


def test_all_answers_of_a_narration_share_one_deadline() -> None:
    acts = (refuses(400, "no response_format here"), streams("sentence1"))
    with serving(*acts) as server:
        endpoint = Counting(server.url, "m")
        chosen_ids(endpoint, [], BANK)
        assert len(server.requests) == 2
        assert len(endpoint.deadlines) == 1
        with pytest.raises(EndpointError, match="did not complete its answer within 900 seconds"):
            ask(endpoint, [], until=time.monotonic())
        assert len(endpoint.deadlines) == 1


@pytest.mark.parametrize(("message", "tries"), [("overloaded", 1), ("unknown grammar", 2)])
def test_an_error_of_the_server_is_not_asked_again_blindly(message: str, tries: int) -> None:
    with serving(refuses(500, message)) as server:
        with pytest.raises(EndpointError, match=message):
            chosen_ids(Endpoint(server.url, "m"), [], BANK)
        assert len(server.requests) == tries


def test_half_a_sign_can_be_shown() -> None:
    with serving(sends(event("a \ud800 b", "stop") + "data: [DONE]\n\n")) as server:
        said = ask(Endpoint(server.url, "m"), []).text
    assert said == "a ? b"
