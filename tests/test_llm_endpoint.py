"""Asking a chat endpoint over real HTTP: streams, retries, time-outs, answers that are none."""

from __future__ import annotations

import pytest
from chat_server import (
    answers,
    event,
    hangs_up,
    keeps_silent,
    refuses,
    sends,
    serving,
    streams,
)

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


def failure(*acts: object, **more: object) -> tuple[str, int]:
    """What is said of an answer that is none, and how often it was asked for."""
    with serving(*acts) as server:  # type: ignore[arg-type]
        with pytest.raises(EndpointError) as caught:
            ask(endpoint(server.url, key=KEY, **more), MESSAGES)
        text = str(caught.value)
        assert KEY not in text
        assert "\n" not in text
        assert text.startswith(f"{server.url}: ")
        return text.removeprefix(f"{server.url}: "), len(server.requests)


def test_what_stays_wrong_is_one_line() -> None:
    said, tries = failure(refuses(503, "overloaded"))
    assert (said, tries) == ("cannot answer (HTTP 503): overloaded", 1)
    said, tries = failure(refuses(401, f"Incorrect API key provided: {KEY}."))
    assert tries == 1
    assert said.startswith("refuses the key; set ATTNLENS_API_KEY (HTTP 401): Incorrect API key")
    assert "[key]" in said
    assert failure(refuses(400, "a\nb\tc"))[0] == "cannot answer (HTTP 400): a b c"
    said, tries = failure(hangs_up)
    assert (said, tries) == ("cut the connection before it answered", 1)
    said, tries = failure(keeps_silent(2.0), timeout=0.3)
    assert (said, tries) == ("did not answer within 0.3 seconds", 1)


def test_a_redirect_takes_the_text_nowhere() -> None:
    with serving(streams("stolen")) as thief:
        said, tries = failure(refuses(307, Location=f"{thief.url}/chat/completions"))
        assert thief.requests == []
    assert (said, tries) == ("sends us elsewhere (HTTP 307), which is not followed", 1)


def test_an_answer_that_is_cut_is_an_error_and_is_not_asked_for_again() -> None:
    said, tries = failure(streams("A four is", done=False))
    assert said == "the connection was cut after 9 characters of the answer; ask again"
    assert tries == 1
    said, _ = failure(sends(event("A four"), length=4000))
    assert said.startswith("the connection was cut")
    late = streams("slow", size=1, pause=1.0)
    assert failure(late, timeout=0.3)[0] == "stopped answering for 0.3 seconds; ask again"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("data: {\n\n", "answers what is not JSON"),
        ("data: []\n\n", "answers JSON that is no chat completion"),
        ('data: {"choices": "x"}\n\n', "answers JSON that is no chat completion"),
        ('data: {"error": {"message": "no\\nluck"}}\n\n', "reports an error: no luck"),
        ("", "the connection was cut after 0 characters"),
        ("data: [DONE]\n\n", "answered nothing"),
        ("data: " + "x" * 1_100_000, "sends an event without an end"),
    ],
)
def test_answers_that_are_none(raw: str, said: str) -> None:
    assert failure(sends(raw))[0].startswith(said)


def test_a_web_page_is_told_from_an_answer_that_was_cut() -> None:
    said, tries = failure(sends("<html>\n<p>Welcome\n</html>\n", kind="text/html; charset=utf-8"))
    assert said == "answers with a web page; is it an OpenAI-compatible address, ending in /v1?"
    assert tries == 1


def test_whole_answers_that_are_none() -> None:
    for raw, said in (
        ("no", "answers what is not JSON: 'no'"),
        ('{"choices": [{"message": {"content": null}}]}', "answered nothing"),
    ):
        assert failure(sends(raw, kind="application/json"))[0].startswith(said)


@pytest.mark.parametrize(
    "url", ["", "ftp://x/v1", "http://a b/v1", "https://h/v1?x=1", "http://h:99999"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="--base-url"):
        endpoint(url)


def test_a_name_or_a_key_where_they_may_not_be() -> None:
    with pytest.raises(InputError, match="holds a name or a password") as caught:
        endpoint("https://me:secret@host/v1")
    assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match="no key has"):
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
