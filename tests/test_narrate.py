"""``attnlens narrate``: sentences with references over real HTTP, cleared, mended or dropped."""

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
WHO = "{bowler} comes in to {batter}."
SHOWN = "Ewan Thistlemoor comes in to Anselm Duvivier-Oke."
SCORE = "The score is {score}."
FALSE = "The chance of a single is 93%."
MENDED = "The chance of a single is {p.single}."
QUICK = ("--no-evidence",)


def written(*sentences: str) -> str:
    return json.dumps({"sentences": sentences})


def narrate(here: Here, match: Path, url: str, *more: str) -> tuple[int, str, str]:
    words = ("--ball", 47, "--base-url", url, "--llm-model", "small", *more)
    answer = here("narrate", match, *words)
    return answer.status, answer.out, answer.err


def test_what_holds_is_shown_as_it_is_filled_in(
    attnlens_here: Here, sample_match_path: Path
) -> None:
    attnlens_here.patch.setenv("OPENAI_API_KEY", KEY)
    with serving(streams(written(WHO, SCORE), size=11)) as server:
        status, out, err = narrate(attnlens_here, sample_match_path, server.url)
    assert (status, out, err) == (0, f"{SHOWN}\nThe score is 52/1.\n", "")
    (request,) = server.requests
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert '"bowler":"Ewan Thistlemoor"' in request["messages"][1]["content"]
    assert (request["model"], request["stream"]) == ("small", True)
    assert (request["max_tokens"], request["temperature"]) == (1000, 0.2)
    schema = request["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["sentences"]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "answer",
    [
        f"Here it is:\n```json\n{json.dumps([WHO, SCORE], indent=1)}\n```\nI hope it helps.",
        f"<think>Perhaps {written(FALSE)}? No.</think>\n{written(WHO, SCORE)}",
        f"Thoughts that nobody opened </think>- {WHO}\n- {SCORE}",
        f"1. {WHO}\n2. {SCORE}\n",
        f"{WHO} {SCORE}",
        f"{{sentences: [{json.dumps(WHO)}, {json.dumps(SCORE)}]}}",
    ],
)
def test_sentences_are_read_from_what_models_write(
    attnlens_here: Here, sample_match_path: Path, answer: str
) -> None:
    with serving(answers(answer)) as server:
        status, out, err = narrate(attnlens_here, sample_match_path, server.url, *QUICK)
    assert (status, out, err) == (0, f"{SHOWN}\nThe score is 52/1.\n", "")
    assert len(server.requests) == 1


def test_what_fails_is_asked_for_once_more_and_takes_its_place(
    attnlens_here: Here, sample_match_path: Path
) -> None:
    with serving(streams(written(WHO, FALSE, SCORE)), answers(written(MENDED))) as server:
        status, out, err = narrate(attnlens_here, sample_match_path, server.url, *QUICK, "--strict")
    assert (status, err) == (0, "")
    assert re.fullmatch(
        rf"{SHOWN}\nThe chance of a single is [\d.]+%\.\nThe score is 52/1\.\n", out
    )
    again = server.requests[1]["messages"]
    assert [message["role"] for message in again[2:]] == ["assistant", "user"]
    assert f'- "{FALSE}": ' in again[3]["content"]
    assert '"93" is a number that no reference carries' in again[3]["content"]
    assert SCORE not in again[3]["content"]


def test_what_still_fails_is_dropped_and_told(attnlens_here: Here, sample_match_path: Path) -> None:
    for strict, expected in (((), 0), (("--strict",), 1)):
        with serving(streams(written(FALSE, WHO)), streams(written("It is so."))) as server:
            status, out, err = narrate(
                attnlens_here, sample_match_path, server.url, *QUICK, *strict
            )
        assert (status, out, len(server.requests)) == (expected, f"{SHOWN}\n", 2)
        assert err == (
            'attnlens: dropped: "It is so.": it refers to nothing, so nothing bears it out\n'
        )


def test_garbage_leaves_nothing_and_says_so(attnlens_here: Here, sample_match_path: Path) -> None:
    with serving(streams("[[[]]] {}\n\x1b[31mJasprit Bumrah is bowling \u202e")) as server:
        status, out, err = narrate(attnlens_here, sample_match_path, server.url, *QUICK)
    assert (status, out, len(server.requests)) == (1, "", 2)
    assert err.endswith("attnlens: nothing that it wrote could be borne out\n")
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", err) is None


def test_a_cut_answer_is_told(attnlens_here: Here, sample_match_path: Path) -> None:
    cut = written(WHO, SCORE)[:-8]
    with serving(streams(cut, reason="length")) as server:
        status, out, err = narrate(attnlens_here, sample_match_path, server.url, *QUICK)
    assert (status, out) == (0, f"{SHOWN}\n")
    assert err == "attnlens: an answer was cut at its most tokens; give more with --max-tokens\n"


def test_an_endpoint_without_schemas_is_asked_without(
    attnlens_here: Here, sample_match_path: Path
) -> None:
    act = (refuses(400, "response_format is not known"), answers(written(WHO, FALSE)))
    with serving(*act, answers(written(SCORE))) as server:
        status, out, err = narrate(
            attnlens_here, sample_match_path, server.url, *QUICK, "--max-tokens", "50",
            "--temperature", "0",
        )  # fmt: skip
    assert (status, out, err) == (0, f"{SHOWN}\nThe score is 52/1.\n", "")
    assert ["response_format" in asked for asked in server.requests] == [True, False, False]
    assert (server.requests[2]["max_tokens"], server.requests[2]["temperature"]) == (50, 0.0)


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
    strict = ("--strict",) if "cut" in said else ()
    attnlens_here.patch.setenv("ATTNLENS_API_KEY", KEY)
    with serving(act) as server:
        quick = ("--timeout", "0.4", "--no-evidence")
        status, out, err = narrate(attnlens_here, sample_match_path, server.url, *quick, *strict)
    assert status == 2
    assert err.startswith(f"attnlens: {server.url}: {said}")
    assert err.count("\n") == 1
    assert KEY not in out + err
    assert not strict or out == ""


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
    with serving(streams(written(WHO, "{batting_team} have {score}."))) as server:
        status, out, err = narrate(attnlens_here, match, server.url, "--strict")
    assert (status, err, out.count("\n")) == (0, "", 2)
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f\u200b\u202e]", out) is None
    content = server.requests[0]["messages"][1]["content"]
    (tag,) = re.findall(r"^<(data-[0-9a-f]{16})>$", content, re.MULTILINE)
    fenced = content.split(f"<{tag}>\n")[1].split(f"\n</{tag}>")[0]
    assert re.search(r"[<>&]", fenced) is None
    assert "bowler" in json.loads(fenced)
