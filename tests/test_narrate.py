"""``attnlens narrate``: a language model chooses sentences over real HTTP."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from chat_server import answers, keeps_silent, refuses, serving, streams
from command_line import Here
from hostile import save_hostile
from syrupy.assertion import SnapshotAssertion

KEY = "sk-a-key-nobody-may-see"
SCORE = "The score is 52 for 2."
RATE = "The run rate is 6.9 an over."
QUICK = ("--no-evidence",)


def chosen(*ids: str) -> str:
    return json.dumps({"ids": ids})


def narrate(here: Here, match: Path, url: str, *more: str) -> tuple[int, list[str], str]:
    """The exit status, the lines of stdout without cautions, and stderr."""
    words = ("--ball", 47, "--base-url", url, "--llm-model", "small", *more)
    answer = here("narrate", match, *words)
    lines = answer.out.splitlines()
    cautions = [line for line in lines if line.startswith("Caution: ")]
    assert bool(cautions) == bool(lines), "cautions are always printed"
    return answer.status, [line for line in lines if line not in cautions], answer.err


def test_chosen_sentences_are_printed_in_the_models_order(
    attnlens_here: Here, sample_match_path: Path
) -> None:
    attnlens_here.patch.setenv("OPENAI_API_KEY", KEY)
    with serving(streams(chosen("fact4", "fact2"), size=11)) as server:
        told = narrate(attnlens_here, sample_match_path, server.url, "--strict")
    assert told == (0, [RATE, SCORE], "")
    (request,) = server.requests
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert f'"fact2":"{SCORE}"' in request["messages"][1]["content"]
    assert (request["model"], request["stream"]) == ("small", True)
    assert (request["max_tokens"], request["temperature"]) == (1000, 0.2)
    ids = request["response_format"]["json_schema"]["schema"]["properties"]["ids"]
    assert {"fact2", "claim1", "caution1"} < set(ids["items"]["enum"])
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


FALLEN_BACK = (
    "[[[]]] {}\n\x1b[31mJasprit Bumrah is bowling \u202e",
    chosen("x"),
    chosen("caution1"),
)


def test_what_no_sentence_has_is_dropped_and_reported(
    attnlens_here: Here, sample_match_path: Path, snapshot: SnapshotAssertion
) -> None:
    explained = attnlens_here.good("explain", sample_match_path, "--ball", 47, *QUICK, "--json")
    narrative = [sentence["text"] for sentence in json.loads(explained)["narrative"]]
    errors = {}
    for answer in ("fact2, fact2, fact999, fact4: so it goes.", *FALLEN_BACK):
        lines = narrative if answer in FALLEN_BACK else [SCORE, RATE]
        for strict, expected in (((), 0), (("--strict",), 1)):
            with serving(streams(answer)) as server:
                *printed, error = narrate(
                    attnlens_here, sample_match_path, server.url, *QUICK, *strict
                )
            assert printed == [expected, lines]
            assert re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", error) is None
            assert errors.setdefault(ascii(answer), error) == error
            assert len(server.requests) == 1
    assert errors == snapshot


def test_a_cut_answer_is_reported(attnlens_here: Here, sample_match_path: Path) -> None:
    with serving(streams(chosen("fact2", "fact4")[:-3], reason="length")) as server:
        narration = narrate(attnlens_here, sample_match_path, server.url, *QUICK)
    cut = "attnlens: the answer was cut off at the token limit; raise --max-tokens\n"
    assert narration == (0, [SCORE, RATE], cut)


def test_an_endpoint_without_schemas_is_asked_again_without(
    attnlens_here: Here, sample_match_path: Path
) -> None:
    act = (refuses(400, "response_format is not known"), answers(chosen("fact2")))
    with serving(*act) as server:
        told = narrate(
            attnlens_here, sample_match_path, server.url, *QUICK, "--max-tokens", "50",
            "--temperature", "0",
        )  # fmt: skip
    assert told == (0, [SCORE], "")
    assert ["response_format" in asked for asked in server.requests] == [True, False]
    assert (server.requests[1]["max_tokens"], server.requests[1]["temperature"]) == (50, 0.0)


def test_a_refusal_is_one_line(attnlens_here: Here, sample_match_path: Path) -> None:
    """Every failure has its line in test_llm_endpoint.py."""
    attnlens_here.patch.setenv("ATTNLENS_API_KEY", KEY)
    with serving(refuses(401, f"Incorrect API key provided: {KEY}")) as server:
        words = ("--ball", 47, "--base-url", server.url, "--llm-model", "small", *QUICK)
        error = attnlens_here.refused("narrate", sample_match_path, *words)
    assert error.startswith(f"attnlens: {server.url}: rejects the API key")
    assert KEY not in error


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (keeps_silent(2.0), "did not answer within 0.4 seconds"),
        (streams("fact2, fact4", done=False), "the connection was closed after"),
        (streams(""), "sent an empty answer"),
    ],
)
def test_without_an_answer_our_own_narrative_is_printed(
    attnlens_here: Here, sample_match_path: Path, act: Any, message: str
) -> None:
    explained = attnlens_here.good("explain", sample_match_path, "--ball", 47, *QUICK, "--json")
    own = [sentence["text"] for sentence in json.loads(explained)["narrative"]]
    for strict, expected in (((), 0), (("--strict",), 1)):
        with serving(act) as server:
            status, lines, error = narrate(
                attnlens_here, sample_match_path, server.url, *QUICK, "--timeout", "0.4", *strict
            )
        assert (status, lines) == (expected, own)
        assert error.startswith(f"attnlens: {server.url}: {message}")
        assert error.endswith("attnlens prints its own narrative instead\n")
        assert error.count("\n") == 1


def test_bad_options_are_one_line(
    attnlens_here: Here, sample_match_path: Path, snapshot: SnapshotAssertion
) -> None:
    words = ("narrate", sample_match_path, "--ball", "47")
    url = ("--base-url", "http://localhost:1/v1")
    messages = attnlens_here.refusals(
        (*words, "--llm-model", "m"),
        (*words, *url),
        (*words, "--base-url", "x", "--llm-model", "m"),
        (*words, *url, "--llm-model", "m", "--temperature", "3"),
        (*words, "--api-key", "k"),
    )
    assert messages == snapshot


def test_hostile_names_are_only_names(attnlens_here: Here) -> None:
    match = attnlens_here.folder / "hostile.json"
    save_hostile(match)
    with serving(streams(chosen("fact2", "fact5"))) as server:
        status, out, err = narrate(attnlens_here, match, server.url, "--strict")
    assert (status, err, len(out)) == (0, "", 2)
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f\u200b\u202e]", "".join(out)) is None
    content = server.requests[0]["messages"][1]["content"]
    (tag,) = re.findall(r"^<(data-[0-9a-f]{16})>$", content, re.MULTILINE)
    fenced = content.split(f"<{tag}>\n")[1].split(f"\n</{tag}>")[0]
    assert re.search(r"[<>&]", fenced) is None
    assert "fact5" in json.loads(fenced)
