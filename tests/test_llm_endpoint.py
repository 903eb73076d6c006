"""Asking a chat endpoint over real HTTP: streams, retries, time-outs, answers that are none."""

from __future__ import annotations

import pytest
from chat_server import (
    Act,
    answers,
    event,
    hangs_up,
    keeps_silent,
    refuses,
    sends,
    serving,
    streams,
)
from syrupy.assertion import SnapshotAssertion

from attnlens.errors import EndpointError, InputError
from attnlens.llm.endpoint import MAX_ANSWER_CHARACTERS, Endpoint, ask

MESSAGES = [{"role": "user", "content": "Tell ball 7.2 — “plainly”."}]
KEY = "sk-a-key-nobody-may-see"


def endpoint(url: str, **more: object) -> Endpoint:
    settings: dict[str, object] = {"timeout": 5.0, **more}
    return Endpoint(url, "small", **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1, 400])
def test_an_answer_comes_in_pieces_and_whole(size: int) -> None:
    text = "A four is at 17%.\nÀ quatre — naïve ☃\n"
    with serving(streams(text, size=size)) as server:
        answer = ask(endpoint(server.url, key=KEY), MESSAGES, max_tokens=50)
    assert (answer.text, answer.finish_reason, answer.cut) == (text, "stop", False)
    (request,) = server.requests
    assert request == {"model": "small", "messages": MESSAGES, "stream": True, "max_tokens": 50}
    assert server.paths == ["/v1/chat/completions"]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert server.headers[0]["Content-Type"] == "application/json"


def test_an_answer_that_is_too_long_is_cut() -> None:
    with serving(sends(event("x" * 300_000))) as server:
        answer = ask(endpoint(server.url), MESSAGES)
    assert (len(answer.text), answer.cut) == (MAX_ANSWER_CHARACTERS, True)


def test_a_server_that_does_not_stream_is_understood() -> None:
    with serving(answers("whole")) as server:
        assert ask(endpoint(server.url), MESSAGES).text == "whole"


def failure(act: Act, **more: object) -> str:
    """What is said of an answer that is none; it is asked for once."""
    with serving(act) as server:
        with pytest.raises(EndpointError) as caught:
            ask(endpoint(server.url, key=KEY, **more), MESSAGES)
        text = str(caught.value)
        assert KEY not in text
        assert "\n" not in text
        assert text.startswith(f"{server.url}: ")
        assert len(server.requests) == 1
        return text.removeprefix(f"{server.url}: ")


QUICK = {"timeout": 0.3}
FAILURES: dict[str, tuple[Act, dict[str, float]]] = {
    "503": (refuses(503, "overloaded"), {}),
    "401": (refuses(401, f"Incorrect API key provided: {KEY}."), {}),
    "400": (refuses(400, "a\nb\tc"), {}),
    "hangs up": (hangs_up, {}),
    "silence": (keeps_silent(2.0), QUICK),
    "cut stream": (streams("A four is", done=False), {}),
    "cut response": (sends(event("A four"), length=4000), {}),
    "slow": (streams("slow", size=1, pause=1.0), QUICK),
    "page": (sends("<html>\n<p>Welcome\n</html>\n", kind="text/html; charset=utf-8"), {}),
    **{
        f"events: {raw[:60]!r}": (sends(raw), {})
        for raw in (
            "data: {\n\n",
            "data: []\n\n",
            'data: {"choices": "x"}\n\n',
            'data: {"error": {"message": "no\\nluck"}}\n\n',
            "",
            "data: [DONE]\n\n",
            "data: " + "x" * 1_100_000,
        )
    },
    **{
        f"document: {raw}": (sends(raw, kind="application/json"), {})
        for raw in ("no", '{"choices": [{"message": {"content": null}}]}')
    },
}


def test_failures_are_one_line(snapshot: SnapshotAssertion) -> None:
    messages = {name: failure(act, **more) for name, (act, more) in FAILURES.items()}
    with serving(streams("stolen")) as thief:
        redirect = refuses(307, Location=f"{thief.url}/chat/completions")
        messages["redirect"] = failure(redirect)
        assert thief.requests == []
    assert messages == snapshot


@pytest.mark.parametrize(
    "url", ["", "ftp://x/v1", "http://a b/v1", "https://h/v1?x=1", "http://h:99999"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="--base-url"):
        endpoint(url)


def test_a_name_or_a_key_where_they_may_not_be() -> None:
    with pytest.raises(InputError, match="contains a user name or a password") as caught:
        endpoint("https://me:secret@host/v1")
    assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match="the API key contains characters"):
        endpoint("https://host/v1", key="a\nX-Header: b")
    assert KEY not in repr(endpoint("https://host/v1", key=KEY))


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://host/v1", True),
        ("http://127.0.0.1:1/v1", True),
        ("http://host/v1", False),
    ],
)
def test_a_key_is_sent_in_the_open_to_this_machine_only(url: str, sent: bool) -> None:
    assert endpoint(url, key=KEY).sends_key is sent
