"""Is a text borne out by an explanation? Sentences that are, and the same ones spoilt."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import REPOSITORY, Here, clean_environment, run_process
from explanation_cases import explanation
from hostile import save_hostile
from hypothesis import given, settings
from hypothesis import strategies as st

import attnlens
from attnlens.errors import InputError
from attnlens.explanation.facts import OUTCOME_WORDS, resolve
from attnlens.explanation.grounding import Checker, check_grounding
from attnlens.explanation.narrative import narrate
from attnlens.explanation.types import Explanation


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, sample_match_path: Path) -> dict[str, Any]:
    """Ball 47 of the match that comes along: a supported claim, many that are not."""
    folder = tmp_path_factory.mktemp("explained")
    done = run_process(folder, "explain", sample_match_path, "--ball", "47", "--json")
    told: dict[str, Any] = json.loads(done.out)
    # What the sentences below rest on.
    assert told["ball"]["echo"].endswith("52/1 | Ewan Thistlemoor to Anselm Duvivier-Oke")
    assert round(told["prediction"]["outcomes"][1]["probability"], 3) == 0.418
    return told


@pytest.fixture(scope="module")
def checker(data: dict[str, Any]) -> Checker:
    return Checker(data)


TRUE = (
    "Ewan Thistlemoor to Anselm Duvivier-Oke at 52/1.",
    "Thistlemoor to Duvivier-Oke, 52 for 1.",
    "The model gives a single a 42% chance, against a baseline of 30%.",
    "P(1) is 41.8%, up from 30%.",
    "A single is the likeliest outcome.",
    "A dot ball, at 28%, is less likely than usual.",
    "It looked at balls 4.5, 4.3, 3.6 and 3.1; removing them lowers the chance of a single from "
    "42% to 40%, which is supported.",
    "Because of balls 4.5, 4.3, 3.6 and 3.1 a single is likelier.",
    "It focused on 7.1, 6.6, 6.5 and 6.4, but hiding them lowers the chance of a dot ball from 28% "
    "to 26%, which is not better than chance.",
    "Boundaries came off two of the four balls 7.1, 6.6, 6.5 and 6.4.",
    "This batter's earlier balls lift a single by 8.2 points.",
    "The venue and teams take 1.5 points away from a single.",
    "The ball brought a dot ball, a surprise of 1.8 bits.",
    "Junichi Harrowgate bowled a six to Callum Wetherspring at ball 6.6.",
    "There was a four at 6.5 and a wicket at 2.3.",
    "It is the 47th delivery, the 44th legal ball, in the eighth over.",
    "77 balls are left and the run rate is 7.26.",
    "Of its attention to recent balls, 49% went to this batter's balls; even attention would "
    "give 34%.",
    "**Duvivier-Oke** faces `Thistlemoor` – the *Comets* are 52/1.",
    "",
    "Nothing here can be wrong.",
    # In words that no list holds: no reading of them is found fault with that holds.
    "A single at 42%, where a ball without any context would get 30%.",
    "Nothing is likelier here than a single, which has 42%.",
    "Blot out balls 4.5, 4.3, 3.6 and 3.1 and a single reads 40%, not 42%: supported.",
    "If we pretend balls 4.5, 4.3, 3.6 and 3.1 never happened, a single ends up at 40%, not 42%.",
    "Call it a two-in-five chance of a single.",
    "Par for a single is 30%. Today's figure: 42%.",
    "1. A single: 42%\n2. A dot ball: 28%",
    "6.6: Junichi Harrowgate to Callum Wetherspring, a six.",
    "The run rate stands at 7.26 after 52/1.",
    "Thistlemoor with the ball, Duvivier-Oke waiting.",
    "These stories should be read as pictures rather than causes.",
)
FALSE = (
    ("Ewan Thistlemoor to Callum Wetherspring.", "name", "Anselm Duvivier-Oke"),
    ("Anselm Duvivier-Oke to Ewan Thistlemoor at 52/1.", "name", "Ewan Thistlemoor"),
    ("Jasprit Bumrah bowls to Duvivier-Oke.", "name", None),
    ("Thistlemoor to Duvivier-Oke at 53/1.", "number", "52/1"),
    ("Thistlemoor to Duvivier-Oke at 52/2.", "number", "52/1"),
    ("The Herons are 52/1.", "name", "Copperfield Comets"),
    ("The model gives a single a 43% chance.", "number", "42%"),
    ("The model gives a four a 42% chance.", "number", "7%"),
    ("P(4) is 0.42%.", "number", "7.45%"),
    ("The model gives a single 30%, against a baseline of 42%.", "number", "42%"),
    ("A dot ball is the likeliest outcome.", "outcome", "a single"),
    ("A dot ball, at 28%, is more likely than usual.", "direction", "-10.7 points"),
    ("Removing balls 4.5, 4.3, 3.6 and 3.1 raises the chance of a single from 42% to 40%.",
     "direction", None),
    ("Removing balls 4.5, 4.3, 3.6 and 3.1 lowers the chance of a single to 39%.", "number", "40%"),
    ("It looked at balls 4.5, 4.3, 3.6 and 3.1, which is not better than chance.", "verdict",
     "supported"),
    ("It focused on 7.1, 6.6, 6.5 and 6.4, and this is supported.", "verdict",
     "not better than chance"),
    ("It focused on 7.1, 6.6, 6.5 and 6.4, which proves it.", "verdict", "not better than chance"),
    ("Because of balls 7.1, 6.6, 6.5 and 6.4 a dot ball is likelier.", "cause",
     "not better than chance"),
    ("It looked at balls 4.5, 4.3, 3.6 and 2.1.", "ball", "3.1"),
    ("It looked at balls 4.5, 4.5, 3.6 and 3.1.", "ball", None),
    ("It looked at ball 7.9.", "ball", "7.1"),
    ("Boundaries came off three of the four balls 7.1, 6.6, 6.5 and 6.4.", "count", "2"),
    ("This batter's earlier balls lift a single by 8.3 points.", "number", "8.2 points"),
    ("This batter's earlier balls lower a single by 8.2 points.", "direction", "+8.2 points"),
    ("The scoreboard lifts a single by 8.2 points.", "number", "3.4 points"),
    ("This batter's earlier balls lift a single by 8.2%.", "number", None),
    ("The ball brought a four.", "outcome", "a dot ball"),
    ("It was a wicket in the end.", "outcome", "a dot ball"),
    ("A surprise of 1.8 nats.", "number", None),
    ("There was a wicket at 6.5.", "outcome", "a four"),
    ("There was a four at ball 7.1.", "outcome", "a dot ball"),
    ("Junichi Harrowgate bowled a six to Anselm Duvivier-Oke at ball 6.6.", "name", None),
    ("It is the 48th delivery.", "number", "47"),
    ("78 balls are left.", "number", "77"),
    ("The target is 180.", "number", None),
    ("This happened on 3 May 2024.", "number", None),
    ("Two wickets are down.", "count", "1"),
    ("Of its attention to recent balls, 59% went to this batter's balls.", "number", None),
    ("A single at 42%, where a ball without any context would get 35%.", "number", None),
    ("Duvivier-Oke with the ball, Thistlemoor waiting.", "name", None),
    ("Harrowgate bowls this one to Duvivier-Oke at 52/1.", "name", "Ewan Thistlemoor"),
    ("The Comets' Thistlemoor against Duvivier-Oke.", "name", None),
    ("It dwelt on 7.1, 6.6, 6.5 and 6.4; of these four, three went to the boundary.", "count", "2"),
    ("Hiding all six of balls 4.5, 4.3, 3.6 and 3.1 lowers a single to 40%.", "count", "4"),
    ("A single is a one-in-five chance.", "number", "42%"),
    ("6.6: Junichi Harrowgate to Callum Wetherspring, a four.", "outcome", "a six"),
    ("1.8 bits of surprise greeted a wicket.", "outcome", "a dot ball"),
    ("Chances of a single have slipped to 42%.", "direction", None),
    ("A lower-than-usual probability of a single, 42% versus 30%, marks this ball.", "direction",
     None),
    ("The Comets are 52 for two.", "number", "52/1"),
)  # fmt: skip


@pytest.mark.parametrize("text", TRUE)
def test_true_sentences_are_borne_out(checker: Checker, text: str) -> None:
    assert checker.check(text) == []


@pytest.mark.parametrize(("text", "kind", "nearest"), FALSE)
def test_false_sentences_are_found(
    checker: Checker, data: dict[str, Any], text: str, kind: str, nearest: str | None
) -> None:
    found = checker.check(text)
    fitting = [one for one in found if one.kind == kind]
    assert fitting, found
    assert fitting[0].text in text or kind in ("ball", "outcome", "direction")
    assert fitting[0].sentence == text
    if nearest is not None:
        assert fitting[0].nearest == nearest
    for one in found:
        if one.pointer is not None:
            resolve(data, one.pointer)  # every pointer leads somewhere


def test_the_same_number_counts_only_where_its_words_put_it(checker: Checker) -> None:
    assert checker.check("A single is at 42%.") == []
    for wrong in ("A wide is at 42%.", "A wicket has 42%.", "P(6) = 42%."):
        assert [one.text for one in checker.check(wrong)] == ["42%"]


def test_our_own_words_are_borne_out(checker: Checker, data: dict[str, Any]) -> None:
    text = " ".join(sentence["text"] for sentence in data["narrative"])
    assert checker.check(f"{text}\n\n{data['summary']}") == []
    assert checker.check(data["ball"]["echo"]) == []
    for flag in data["flags"]:
        assert checker.check(flag["text"][0].upper() + flag["text"][1:] + ".") == []


@pytest.mark.parametrize("ball", [1, 2, 3, 7, 14, 23, 31, 39, 47, 60])
@pytest.mark.parametrize("explained", [None, "6", "W"])
def test_every_narrative_is_borne_out(ball: int, explained: str | None) -> None:
    told = explanation(ball)
    told["prediction"]["explained"] = explained
    told["narrative"] = narrate(told)
    text = " ".join(sentence["text"] for sentence in told["narrative"])
    assert check_grounding(told, text) == []


def test_each_number_of_our_own_words_is_missed_when_it_changes(
    checker: Checker, data: dict[str, Any]
) -> None:
    texts = [sentence["text"] for sentence in data["narrative"]]
    tried = 0
    for place, sentence in enumerate(data["narrative"]):
        for fact in sentence["facts"]:
            number = re.fullmatch(r"([+-]?)(\d+)(\.\d+)?%?", fact["text"])
            if number is None or "label" in fact["pointer"]:
                continue
            wrong = fact["text"].replace(number[2], str(int(number[2]) + 3), 1)
            spoilt = sentence["text"].replace(fact["text"], wrong, 1)
            found = checker.check(" ".join([*texts[:place], spoilt, *texts[place + 1 :]]))
            assert found, spoilt
            tried += 1
    assert tried >= 8


@pytest.mark.parametrize("role", ["bowler", "batter"])
def test_short_forms_of_a_name_are_known_where_they_are_one_players(role: str) -> None:
    told = explanation(60)
    told["ball"]["batter"] = "KL Rahul"
    for row in told["history"][:2]:
        row["batter"] = "R Varela"
    for row in told["history"][2:4]:
        row["batter"] = "T Varela"
    name = told["ball"][role]
    first, last = name.split()
    for form in (
        name,
        last,
        f"{first[0]} {last}",
        f"{first[0]}. {last}",
        ". ".join(first) + f". {last}",
    ):
        assert [
            one for one in check_grounding(told, f"So it is {form}.") if one.kind == "name"
        ] == []
    found = check_grounding(told, "So Varela played.")
    assert [(one.kind, one.problem) for one in found] == [("name", "more than one has this name")]
    assert check_grounding(told, "So T Varela played.") == []


def test_what_can_be_given_as_an_explanation(data: dict[str, Any]) -> None:
    text = "The model gives a single a 43% chance."
    typed = Explanation.from_dict(data)
    answers = [check_grounding(one, text) for one in (data, typed, typed.to_json())]
    assert answers[0] == answers[1] == answers[2] != []
    assert attnlens.check_grounding(typed, text) == answers[0]
    for wrong in ({}, "{}", "no", b"\xff", 3, None):
        with pytest.raises(InputError, match="not an explanation"):
            check_grounding(wrong, text)


def test_untested_explanations_bear_no_verdict() -> None:
    told = explanation(47)
    told["evidence"], told["contributions"] = [], []
    told["narrative"] = narrate(told)
    text = " ".join(sentence["text"] for sentence in told["narrative"])
    assert check_grounding(told, text) == []
    for wrong in ("It looked at the last over, and this is supported.", "That is because of 9.1."):
        assert check_grounding(told, wrong)


@given(st.text(max_size=300))
@settings(max_examples=150, deadline=None)
def test_no_text_is_too_strange(text: str) -> None:
    checker = Checker(_CASE)
    for one in checker.check(text):
        assert one.sentence
        assert one.text


_CASE = explanation(30)
_PIECES = [
    *OUTCOME_WORDS.values(), "42%", "5.4", "to", "from", "+1.2 points", "supported", "because",
    "hiding", "ball", "P Castellane", "R Varela", ",", ";", ".", "and", "of the", "three", "7/2",
    "q 0.04", "raises", "lowers", "looked at", "not better than chance", "2024-05-01", "last over",
    "medium scale", "head 2", "1.7 bits", "in the end", "baseline", "attention",
]  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=25))
@settings(max_examples=150, deadline=None)
def test_no_order_of_our_own_words_is_too_strange(pieces: list[str]) -> None:
    checker = Checker(_CASE)
    for one in checker.check(" ".join(pieces)):
        if one.pointer:
            resolve(_CASE, one.pointer)


def test_a_long_text_takes_no_long_time(checker: Checker) -> None:
    import time

    began = time.process_time()
    checker.check("a" * 20_000 + " 1.1," * 3000 + " of the" * 3000 + "(" * 5000)
    assert time.process_time() - began < 5


# -- the command -------------------------------------------------------------------------------


def test_the_command_tells_what_is_wrong(attnlens_here: Here, data: dict[str, Any]) -> None:
    folder = attnlens_here.folder
    (folder / "e.json").write_text(json.dumps(data), "utf-8")
    (folder / "good.txt").write_text("A single is at 42%.\n", "utf-8")
    (folder / "bad.txt").write_text("A single is at 43%. Jasprit Bumrah bowls.\n", "utf-8")
    out = attnlens_here.good("check", "e.json", "good.txt")
    assert out == "Everything in the text is in the explanation.\n"
    answer = attnlens_here("check", "e.json", "bad.txt")
    assert (answer.status, answer.err) == (1, "")
    assert answer.out.startswith("2 things are not in the explanation:\n\n  A single is at 43%.\n")
    assert (
        'number "43%" is not what this is; nearest: 42% (/prediction/outcomes/1/prob' in answer.out
    )
    answer = attnlens_here("check", "e.json", "bad.txt", "--json")
    told = json.loads(answer.out)
    assert (answer.status, told["grounded"]) == (1, False)
    assert [one["kind"] for one in told["unsupported"]] == ["number", "name"]
    assert told["unsupported"][0]["nearest"] == "42%"
    attnlens_here("check", "e.json", "bad.txt", "--json", "--out", "found.json")
    assert json.loads((folder / "found.json").read_text("utf-8")) == told
    assert json.loads(attnlens_here.good("check", "e.json", "good.txt", "--json")) == {
        "grounded": True,
        "unsupported": [],
    }


def test_the_text_comes_from_a_pipe(tmp_path: Path, data: dict[str, Any]) -> None:
    (tmp_path / "e.json").write_text(json.dumps(data), "utf-8")
    words = [sys.executable, "-m", "attnlens", "check", "e.json", "-"]
    for text, status in (("A single is at 42%.", 0), ("A single is at 43%.", 1)):
        done = subprocess.run(
            words, input=text.encode(), cwd=tmp_path, env=clean_environment(), capture_output=True,
            check=False, timeout=120,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (status, b"")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none.json", "t.txt"), "none.json: cannot be read (No such file or directory)"),
        (("e.json", "none.txt"), "none.txt: cannot be read (No such file or directory)"),
        (("t.txt", "t.txt"), "t.txt: not an explanation:"),
        (("e.json", "bytes.txt"), "bytes.txt: is not UTF-8 text; save it as UTF-8"),
        (("-", "-"), "stdin can be one of the two"),
        (("e.json", "."), ".: cannot be read"),
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


@pytest.mark.parametrize("ball", ["1", "40", "2:60"])
def test_hostile_names_are_only_names(attnlens_here: Here, ball: str) -> None:
    folder = attnlens_here.folder
    save_hostile(folder / "hostile.json")
    attnlens_here.good("explain", "hostile.json", "--ball", ball, "--json", "--out", "e.json")
    told = json.loads((folder / "e.json").read_text("utf-8"))
    text = " ".join(sentence["text"] for sentence in told["narrative"])
    (folder / "t.txt").write_text(f"{text}\n\n{told['summary']}\n", "utf-8")
    attnlens_here.good("check", "e.json", "t.txt")
    (folder / "t.txt").write_text(f"{text} And the chance of a six is 93%.", "utf-8")
    answer = attnlens_here("check", "e.json", "t.txt")
    assert answer.status == 1
    assert answer.out.startswith("1 thing is not")
    assert not {"\u202e", "\u200b", "\x1b"} & set(answer.out)


def test_the_benchmark_of_true_and_spoilt_sentences(
    tmp_path: Path, sample_match_path: Path
) -> None:
    def run(name: str, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, REPOSITORY / "benchmarks" / name, *words],
            env=clean_environment(), capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    sample = str(tmp_path / "sampled.jsonl")
    run("sample_explanations.py", str(sample_match_path), "--balls", "12", "--out", sample)
    assert "0 with something not in the explanation" in run("grounding.py", sample, "--own")
    assert "longer than 2,000 tokens by the bound: 0" in run("prompt_tokens.py", sample)
    for which, least in (("tuned", 0.97), ("second passages", 0.92)):
        told = run("grounding.py", sample, "--balls", "12", "--only", which)
        figures = re.search(r"recall ([\d.]+) +precision ([\d.]+)", told)
        assert figures is not None
        assert float(figures[1]) >= least
        assert float(figures[2]) >= least
