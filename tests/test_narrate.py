"""``attnlens narrate``: a model's words over real HTTP, streamed, checked, marked or refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from chat_server import keeps_silent, refuses, serving, streams
from command_line import Here, run_process
from hostile import save_hostile

KEY = "sk-a-key-nobody-may-see"
FALSE = "The chance of a single is 93%, and Jasprit Bumrah is bowling."


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory, sample_match_path: Path) -> dict[str, Any]:
    """The explanation that a model is asked to put into words."""
    folder = tmp_path_factory.mktemp("explained")
    done = run_process(folder, "explain", sample_match_path, "--ball", "47", "--json")
    assert done.status == 0
    data: dict[str, Any] = json.loads(done.out)
    return data


@pytest.fixture(scope="module")
def true(explained: dict[str, Any]) -> str:
    return " ".join(sentence["text"] for sentence in explained["narrative"])


def narrate(here: Here, match: Path, url: str, *more: str) -> tuple[int, str, str]:
    answer = here("narrate", match, "--ball", 47, "--base-url", url, "--llm-model", "small", *more)
    return answer.status, answer.out, answer.err


def test_a_true_answer_is_shown_as_it_is(
    attnlens_here: Here, sample_match_path: Path, true: str
) -> None:
    attnlens_here.patch.setenv("OPENAI_API_KEY", KEY)
    with serving(streams(true, size=11)) as server:
        status, out, err = narrate(attnlens_here, sample_match_path, server.url)
    assert (status, out, err) == (0, f"{true}\n", "")
    (request,) = server.requests
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert '"bowler":"Ewan Thistlemoor"' in request["messages"][1]["content"]
    assert (request["model"], request["stream"]) == ("small", True)
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_what_is_not_borne_out_is_marked(
    attnlens_here: Here, sample_match_path: Path, true: str
) -> None:
    with serving(streams(f"{true} {FALSE}")) as server:
        status, out, err = narrate(attnlens_here, sample_match_path, server.url)
    assert (status, err) == (0, "")
    told, _, marks = out.partition("\n\nNot borne out:\n")
    assert told == f"{true} {FALSE}"
    assert marks.startswith(f"  ✗ {FALSE}\n")
    assert 'number "93%"; name "Jasprit Bumrah"; the facts hold ' in marks
    assert marks.count("✗") == 1


def test_strict_shows_all_of_it_or_nothing(
    attnlens_here: Here, sample_match_path: Path, true: str
) -> None:
    with serving(streams(true)) as server:
        assert narrate(attnlens_here, sample_match_path, server.url, "--strict")[:2] == (
            0,
            f"{true}\n",
        )
    with serving(streams(f"{true} {FALSE}")) as server:
        status, out, err = narrate(attnlens_here, sample_match_path, server.url, "--strict")
    assert (status, out) == (1, "")
    assert all(line.startswith("attnlens: not borne out: ") for line in err.splitlines())
    assert "93%" in err


def test_what_a_model_writes_cannot_drive_the_terminal(
    attnlens_here: Here, sample_match_path: Path
) -> None:
    with serving(
        streams("\x1b]0;owned\x07A \x1b[31msingle\u202e it\u200b is.\nNext.\r", size=500)
    ) as server:
        status, out, _ = narrate(attnlens_here, sample_match_path, server.url, "--no-evidence")
    assert status == 0
    assert out.startswith("A single it is.\nNext.\n")
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f\u200b\u202e]", out) is None


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
    told = json.loads(attnlens_here.good("explain", match, "--ball", 47, "--json"))
    text = " ".join(sentence["text"] for sentence in told["narrative"])
    with serving(streams(text)) as server:
        status, out, err = narrate(attnlens_here, match, server.url, "--strict")
    assert (status, err) == (0, "")
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f\u200b\u202e]", out) is None
    content = server.requests[0]["messages"][1]["content"]
    (tag,) = re.findall(r"^<(data-[0-9a-f]{16})>$", content, re.MULTILINE)
    fenced = content.split(f"<{tag}>\n")[1].split(f"\n</{tag}>")[0]
    assert re.search(r"[<>&]", fenced) is None
    assert json.loads(fenced)["ball"]["delivery"] == 47
