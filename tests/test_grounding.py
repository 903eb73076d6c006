"""Is what a text says in an explanation? Numbers, names, ball labels and verdicts, looked up."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import Here, run_process
from explanation_cases import explanation, narrated
from hostile import save_hostile
from hypothesis import given, settings
from hypothesis import strategies as st

import attnlens
from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.words.facts import OUTCOME_WORDS, resolve
from attnlens.cricket.words.grounding import check_grounding
from attnlens.errors import InputError


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, sample_match_path: Path) -> dict[str, Any]:
    """Ball 47 of the match that comes along: a supported claim, many that are not."""
    folder = tmp_path_factory.mktemp("explained")
    done = run_process(folder, "explain", sample_match_path, "--ball", "47", "--json")
    told: dict[str, Any] = json.loads(done.out)
    # What the sentences below rest on.
    assert told["ball"]["echo"].endswith("52/1 | Ewan Thistlemoor to Anselm Duvivier-Oke")
    return told


def test_what_stands_in_the_explanation_is_found(data: dict[str, Any]) -> None:
    single = data["prediction"]["outcomes"][1]["probability"]
    points = data["contributions"][0]["points"][1]["points"]
    label = data["history"][-1]["label"]
    text = f"""
**Duvivier-Oke** faces `Thistlemoor` – the *Comets* are 52/1 after {label}.

- A single is at {single:.0%}, {100 * single:.1f} per cent or {single:.3f}.
- The venue and teams add {points:+.1f} points; {abs(points):.1f} percentage points.
- It is the 47th delivery, in the eighth over; one wicket is down. A four? Nothing here is wrong.
- K. L. Nobody's initials are not read, nor is a name that begins a sentence.
"""
    assert check_grounding(data, text.replace("K. L. Nobody's", "K. L.")) == []


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("The chance of a single is 93%.", "number", "93%"),
        ("It is at ninety-three; no, eleven per cent; no, 93 percent.", "number", "93 percent"),
        ("It lifts a single by 58.2 points.", "number", "58.2 points"),
        ("A surprise of 9.8 bits.", "number", "9.8 bits"),
        ("They are 453/1.", "number", "453"),
        ("Then Jasprit Bumrah bowls to Duvivier-Oke.", "name", "Jasprit Bumrah"),
        ("The Herons of Wessex are in.", "name", "Wessex"),
        ("It looked at ball 77.9.", "ball", "77.9"),
    ],
)
def test_what_stands_nowhere_is_listed(
    data: dict[str, Any], text: str, kind: str, words: str
) -> None:
    (entry, *_) = [one for one in check_grounding(data, text) if one.kind == kind]
    assert (entry.text, entry.sentence) == (words, text)
    if kind in ("number", "ball"):
        assert entry.nearest is not None
        assert entry.pointer is not None
        resolve(data, entry.pointer)


def test_a_verdict_is_one_that_a_claim_has() -> None:
    told = explanation(47)
    for verdict, good, bad in (
        ("supported", "That is supported, because of 7.1.", "It is not better than chance."),
        ("not better than chance", "It is no better than chance, so unsupported.", "It is proven."),
        ("contradicted", "It is contradicted.", "This is because of it."),
        ("cannot be told", "Whether it mattered cannot be told.", "It is supported."),
        (None, "It is a picture.", "Whether it mattered cannot be told."),
    ):
        for claim in told["evidence"]:
            claim["verdict"] = verdict
        assert check_grounding(told, good) == []
        (entry,) = check_grounding(told, bad)
        assert entry.kind in ("verdict", "cause")


def test_our_own_words_are_found(data: dict[str, Any]) -> None:
    text = " ".join(sentence["text"] for sentence in data["narrative"])
    assert check_grounding(data, f"{text}\n\n{data['summary']}\n{data['ball']['echo']}") == []
    for ball in (1, 2, 14, 39, 47, 60):
        for explained in (None, "6", "W"):
            told = explanation(ball)
            told["prediction"]["explained"] = explained
            told["narrative"] = narrated(told)
            text = " ".join(sentence["text"] for sentence in told["narrative"])
            assert check_grounding(told, text) == []


def test_what_can_be_given_as_an_explanation(data: dict[str, Any]) -> None:
    text = "The chance of a single is 93%."
    typed = Explanation.from_dict(data)
    answers = [attnlens.check_grounding(one, text) for one in (data, typed, typed.to_json())]
    assert answers[0] == answers[1] == answers[2] != []
    for wrong in ({}, "{}", "no", b"\xff", 3, None):
        with pytest.raises(InputError, match="not an explanation"):
            check_grounding(wrong, text)


_CASE = explanation(30)
_PIECES = [
    *OUTCOME_WORDS.values(), "42%", "5.4", "+1.2 points", "supported", "P Castellane", "three",
    ",", ";", ".", "7/2", "q 0.04", "2024-05-01", "1.7 bits", "9" * 400, "1,1,1.1.1",
]  # fmt: skip


@given(st.text(max_size=300) | st.lists(st.sampled_from(_PIECES), max_size=25).map(" ".join))
@settings(max_examples=150, deadline=None)
def test_no_text_is_too_strange(text: str) -> None:
    for entry in check_grounding(_CASE, text):
        assert entry.text in entry.sentence
        assert entry.pointer is None or resolve(_CASE, entry.pointer) is not None


def test_a_long_text_takes_no_long_time(data: dict[str, Any]) -> None:
    began = time.process_time()
    numbers = " ".join(f"{number}.5%" for number in range(20_000))
    check_grounding(data, "a" * 20_000 + " 1.1," * 3000 + "Zz " * 9000 + "(" * 5000 + numbers)
    assert time.process_time() - began < 5


# -- the command -------------------------------------------------------------------------------


def test_the_command_lists_what_is_not_there(attnlens_here: Here, data: dict[str, Any]) -> None:
    folder = attnlens_here.folder
    (folder / "e.json").write_text(json.dumps(data), "utf-8")
    (folder / "good.txt").write_text("Thistlemoor bowls at 52/1.\n", "utf-8")
    (folder / "bad.txt").write_text("A single is at 93%. So Jasprit Bumrah bowls.\n", "utf-8")
    assert "is in the explanation" in attnlens_here.good("check", "e.json", "good.txt")
    answer = attnlens_here("check", "e.json", "bad.txt")
    assert (answer.status, answer.err) == (1, "")
    assert answer.out.startswith("2 things are not in the explanation:\n\n  A single is at 93%.\n")
    assert 'number "93%" is not in the explanation; nearest: ' in answer.out
    answer = attnlens_here("check", "e.json", "bad.txt", "--json")
    told = json.loads(answer.out)
    assert (answer.status, told["grounded"]) == (1, False)
    assert [one["kind"] for one in told["unsupported"]] == ["number", "name"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none.json", "t.txt"), "none.json: no such file"),
        (("t.txt", "t.txt"), "t.txt: not an explanation:"),
        (("e.json", "bytes.txt"), "bytes.txt: is not UTF-8 text; save it as UTF-8"),
        (("-", "-"), "stdin can be one of the two"),
        (("e.json", "."), ".: is a directory"),
    ],
)
def test_what_cannot_be_checked_is_one_line(
    attnlens_here: Here, data: dict[str, Any], words: tuple[str, str], said: str
) -> None:
    (attnlens_here.folder / "e.json").write_text(json.dumps(data), "utf-8")
    (attnlens_here.folder / "t.txt").write_text("text", "utf-8")
    (attnlens_here.folder / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    answer = attnlens_here("check", *words)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err
    assert answer.err.count("\n") == 1


def test_hostile_names_are_only_names(attnlens_here: Here) -> None:
    folder = attnlens_here.folder
    save_hostile(folder / "hostile.json")
    attnlens_here.good("explain", "hostile.json", "--ball", "2:60", "--json", "--out", "e.json")
    told = json.loads((folder / "e.json").read_text("utf-8"))
    text = " ".join(sentence["text"] for sentence in told["narrative"])
    (folder / "t.txt").write_text(f"{text}\n\n{told['summary']}\n", "utf-8")
    attnlens_here.good("check", "e.json", "t.txt")
    (folder / "t.txt").write_text(f"{text} And the chance of a six is 93%.", "utf-8")
    answer = attnlens_here("check", "e.json", "t.txt")
    assert answer.status == 1
    assert answer.out.startswith("1 thing is not")
    assert not {"\u202e", "\u200b", "\x1b"} & set(answer.out)
