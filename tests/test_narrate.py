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

KEY = "sk-a-key-nobody-may-see"
SCORE = "The score is 52 for 1."
RATE = "The run rate is 7.3 an over."
QUICK = ("--no-evidence",)
FALLBACK = "attnlens: the answer names no sentence; this is attnlens's own narrative\n"


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


def test_unknown_ids_are_dropped_and_reported(attnlens_here: Here, sample_match_path: Path) -> None:
    for strict, status in (((), 0), (("--strict",), 1)):
        with serving(answers("fact2, fact2, fact999, fact4: so it goes.")) as server:
            told = narrate(attnlens_here, sample_match_path, server.url, *QUICK, *strict)
        assert told[:2] == (status, [SCORE, RATE])
        assert told[2].startswith("attnlens: dropped 'fact999': there is no such id; nearest: fact")
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "answer",
    ["[[[]]] {}\n\x1b[31mJasprit Bumrah is bowling \u202e", chosen("x"), chosen("caution1")],
)
def test_our_own_narrative_stands_in_for_an_answer_without_a_sentence(
    attnlens_here: Here, sample_match_path: Path, answer: str
) -> None:
    shown = attnlens_here("explain", sample_match_path, "--ball", 47, *QUICK, "--json")
    narrative = [sentence["text"] for sentence in json.loads(shown.out)["narrative"]]
    for strict, expected in (((), 0), (("--strict",), 1)):
        with serving(streams(answer)) as server:
            told = narrate(attnlens_here, sample_match_path, server.url, *QUICK, *strict)
        assert told[:2] == (expected, narrative)
        assert told[2].endswith(FALLBACK)
        assert re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", told[2]) is None
        assert len(server.requests) == 1


def test_a_cut_answer_is_reported(attnlens_here: Here, sample_match_path: Path) -> None:
    with serving(streams(chosen("fact2", "fact4")[:-3], reason="length")) as server:
        told = narrate(attnlens_here, sample_match_path, server.url, *QUICK)
    cut = "attnlens: the answer was cut at its most tokens; give more with --max-tokens\n"
    assert told == (0, [SCORE, RATE], cut)


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


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (refuses(401, f"Incorrect API key provided: {KEY}"), "refuses the key"),
        (streams("A single", done=False), "the connection was cut after 8 characters"),
        (keeps_silent(2.0), "did not answer within 0.4 seconds"),
    ],
)
def test_what_goes_wrong_is_one_line(
    attnlens_here: Here, sample_match_path: Path, act: Any, said: str
) -> None:
    attnlens_here.patch.setenv("ATTNLENS_API_KEY", KEY)
    with serving(act) as server:
        quick = ("--timeout", "0.4", "--no-evidence")
        status, out, err = narrate(attnlens_here, sample_match_path, server.url, *quick)
    assert status == 2
    assert err.startswith(f"attnlens: {server.url}: {said}")
    assert err.count("\n") == 1
    assert KEY not in err
    assert out == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--ball", "47", "--llm-model", "m"), "--base-url is missing"),
        (("--ball", "47", "--base-url", "http://localhost:1/v1"), "--llm-model is missing"),
        (("--ball", "47", "--base-url", "x", "--llm-model", "m"), "is not an address"),
        (("--ball", "47", "--base-url", "http://localhost:1/v1", "--llm-model", "m",
          "--temperature", "3"), "--temperature is from 0 to 2"),
        (("--ball", "47", "--api-key", "k"), "unrecognized arguments: --api-key k"),
    ],
)  # fmt: skip
def test_what_has_to_be_said(
    attnlens_here: Here, sample_match_path: Path, words: tuple[str, ...], said: str
) -> None:
    answer = attnlens_here("narrate", sample_match_path, *words)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err
    assert answer.err.count("\n") == 1


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
