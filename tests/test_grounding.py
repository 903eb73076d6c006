"""Does a text say what the facts say? Any JSON or CSV, three answers, and what cannot be read."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import HANG, REPOSITORY, Here, clean_environment, run_process
from explanation_cases import explanation
from hostile import save_hostile
from hypothesis import given, settings
from hypothesis import strategies as st

import attnlens
from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.words.facts import OUTCOME_WORDS, resolve
from attnlens.errors import InputError

PASSAGES = REPOSITORY / "tests" / "passages"
RIVERS = (PASSAGES / "rivers.csv").read_text("utf-8")
BAKERY: dict[str, Any] = json.loads((PASSAGES / "bakery.json").read_text("utf-8"))
TOWNS = "town,people,mayor\nTarn,4100,Lee Marsh\nAsh,3800,Eve Holt\n"
FACTS: dict[str, Any] = {"RIVERS": RIVERS, "BAKERY": BAKERY, "TOWNS": TOWNS}
STATEMENTS: dict[str, Any] = json.loads((PASSAGES / "statements.json").read_text("utf-8"))
"""Statements about these facts, or about a ball, and the answer to each."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, sample_match_path: Path) -> dict[str, Any]:
    """Ball 47 of the match that comes along."""
    folder = tmp_path_factory.mktemp("explained")
    done = run_process(folder, "explain", sample_match_path, "--ball", "47", "--json")
    told: dict[str, Any] = json.loads(done.out)
    return told


def answer(facts: object, text: str) -> str:
    """The answer to a text of one statement."""
    (one,) = attnlens.check_grounding(facts, text).statements
    return one.answer


@pytest.mark.parametrize("case", STATEMENTS["any"], ids=lambda case: case["text"])
def test_what_is_read(case: dict[str, Any]) -> None:
    facts = case["facts"]
    named = FACTS.get(facts, facts) if isinstance(facts, str) else facts
    assert answer(named, case["text"]) == case["answer"]


def test_a_chance_told_as_that_of_another_outcome(data: dict[str, Any]) -> None:
    chance = {one["outcome"]: one["probability"] for one in data["prediction"]["outcomes"]}
    for outcome, other in (("1", "W"), ("0", "wd"), ("4", "1")):
        words = OUTCOME_WORDS[outcome]
        assert answer(data, f"The chance of {words} is {chance[outcome]:.1%}.") == "borne out"
        assert answer(data, f"The chance of {words} is {chance[other]:.1%}.") == "not borne out"


@pytest.mark.parametrize("case", STATEMENTS["ball"], ids=lambda case: case["text"])
def test_what_is_said_of_a_ball(data: dict[str, Any], case: dict[str, str]) -> None:
    ball, match, chance = data["ball"], data["match"], data["win_probability"]
    words = {
        **{role: ball[role] for role in ("batter", "bowler", "score", "wickets")},
        "runs": ball["standing"]["batter_runs"],
        "balls": ball["standing"]["batter_balls"],
        "batting": match["batting_team"],
        "bowling": match["bowling_team"],
        **{"before": f"{chance['before']:.1%}", "after": f"{chance['happened']:.1%}"},
    }
    assert answer(data, case["text"].format(**words)) == case["answer"]


@given(st.integers(13, 9999), st.integers(13, 9999))
@settings(max_examples=100, deadline=None)
def test_a_number_is_borne_out_by_its_own_row_alone(people: int, other: int) -> None:
    rows = [{"town": "Tarn", "people": people}, {"town": "Ash", "people": 10_000}]
    expected = "borne out" if people == other else "not borne out"
    assert answer(rows, f"Tarn has {other:,} people.") == expected


def test_what_is_wrong_is_told_with_what_the_facts_hold() -> None:
    checked = attnlens.check_grounding(BAKERY, "What a year. Waste at Quayside is 4.8%.")
    assert checked.to_dict() == {
        "coverage": {"read": 1, "of": 2},
        "statements": [
            {
                "text": "What a year.",
                "answer": "not read",
                "what": "the statement has no number or name that can be compared",
                "nearest": None,
                "pointer": None,
            },
            {
                "text": "Waste at Quayside is 4.8%.",
                "answer": "not borne out",
                "what": 'number "4.8%"',
                "nearest": "7.1%",
                "pointer": "/branches/1/waste_share",
            },
        ],
    }


def test_our_own_words_are_never_contradicted(data: dict[str, Any]) -> None:
    for told in (data, *map(explanation, (1, 14, 39, 47, 60))):
        text = " ".join(sentence["text"] for sentence in told["narrative"])
        checked = attnlens.check_grounding(told, f"{text}\n\n{told['ball']['echo']}")
        assert checked.faults == []
        assert told is not data or checked.read >= 5


def test_drivel_and_other_languages_are_not_read(data: dict[str, Any]) -> None:
    other = json.loads((PASSAGES / "other.json").read_text("utf-8"))
    for text in (*other["drivel"], *other["languages"], "", "## A heading\n\n---\n"):
        for facts in (data, RIVERS, BAKERY):
            checked = attnlens.check_grounding(facts, text)
            answers = {statement.answer for statement in checked.statements}
            assert answers <= {"not read", "not in the data"}


def test_what_can_be_given_as_facts(data: dict[str, Any]) -> None:
    text = "The chance of a single is 93%."
    typed = Explanation.from_dict(data)
    answers = [attnlens.check_grounding(one, text) for one in (data, typed, typed.to_json())]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0].faults


@pytest.mark.parametrize(
    ("message", "sources"),
    {
        "contains no facts": ({}, "{}", [], 3, None, b"\xff\xfe"),
        "is neither JSON nor CSV": ("no", "", "{1: 2}", "a,b\n" + "9" * 5000 + ",1"),
        "has no header": ("1,2\n3,4",),
        "nested too deeply": ("[" * 100_000,),
        "more than 300,000 values": (list(range(400_000)), "[" + "1," * 2_000_000 + "1]"),
    }.items(),
)
def test_what_holds_no_facts(message: str, sources: tuple[object, ...]) -> None:
    for facts in sources:
        with pytest.raises(InputError, match=message):
            attnlens.check_grounding(facts, "Tarn has 4,100 people.")


_CASE = explanation(30)
_PIECES = [
    *OUTCOME_WORDS.values(), "42%", "5.4", "+1.2 points", "supported", "P Castellane", "three",
    ",", ";", ".", "7/2", "q 0.04", "2024-05-01", "1.7 bits", "9" * 400, "1,1,1.1.1", "because",
    "S Adeyemi to R Varela", "ball 77.9", "about half", "\u202e", "(", "it",
]  # fmt: skip


@given(st.text(max_size=300) | st.lists(st.sampled_from(_PIECES), max_size=25).map(" ".join))
@settings(max_examples=100, deadline=None)
def test_no_text_is_too_strange(text: str) -> None:
    checked = attnlens.check_grounding(_CASE, text)
    assert 0 <= checked.read <= len(checked.statements)
    for one in checked.statements:
        assert one.text.strip()
        assert one.pointer is None or resolve(_CASE, one.pointer) is not None


_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=12,
)


@given(_VALUES, st.sampled_from(["A is 3.", "The level at Tarn is 12% because of it.", "x: 1, 2"]))
@settings(max_examples=100, deadline=None)
def test_no_facts_are_too_strange(facts: object, text: str) -> None:
    with contextlib.suppress(InputError):
        checked = attnlens.check_grounding(facts, text)
        assert checked.read <= len(checked.statements) <= 2


def calls_during(facts: object, text: str) -> int:
    """How many functions are called, of Python and of C, while a text is checked."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        checked = attnlens.check_grounding(facts, text)
    finally:
        sys.setprofile(None)
    assert facts is _CASE or not checked.faults
    return calls


def test_work_is_in_proportion_to_the_facts_and_to_the_text() -> None:
    towns = [{"town": f"Town {n}", "people": n, "share": n / 50_000} for n in range(4000)]
    text = " ".join(f"Town {n} has {n} people." for n in range(0, 2000, 40))
    calls_during(towns, text)  # the stems of words are kept
    assert calls_during(towns, text) < 2.2 * calls_during(towns[:2000], text)
    sizes = []
    for n in (1, 2):
        numbers = " ".join(f"{number}.5%" for number in range(2500 * n))
        text = "a" * 10_000 * n + " 1.1," * 1500 * n + "Zz " * 4500 * n + "(" * 2500 * n + numbers
        sizes.append(calls_during(_CASE, text))
    assert sizes[1] < 2.2 * sizes[0]


# -- the command -------------------------------------------------------------------------------


@pytest.fixture
def here(attnlens_here: Here) -> Here:
    """A folder with facts, and texts about them."""
    for name, text in {
        "rivers.csv": RIVERS,
        "good.txt": "Alderford stands at 3.42 m.",
        "bad.md": "# Rivers\n\n- The level at Alderford is **2.87** m.\n- It was a fine day.\n",
        "drivel.txt": "What a strange evening.",
        "headless.csv": "1,2\n3,4\n",
        "empty.txt": "",
    }.items():
        (attnlens_here.folder / name).write_text(text, "utf-8")
    (attnlens_here.folder / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    return attnlens_here


def test_the_command_tells_what_is_not_borne_out(here: Here) -> None:
    assert (
        here.good("check", "rivers.csv", "good.txt")
        == "1 of 1 statements could be read, 1 borne out\n"
    )
    told = here("check", "rivers.csv", "bad.md")
    assert (told.status, told.err) == (1, "")
    assert told.out.startswith(
        "1 of 2 statements could be read, 0 borne out\n\nnot borne out: 1\n  The level at"
    )
    assert 'number "2.87"; the data has 3.42 (/0/level_m)' in told.out
    data = json.loads(here("check", "rivers.csv", "bad.md", "--json").out)
    assert data["coverage"] == {"read": 1, "of": 2}
    assert set(data["statements"][0]) == {"text", "answer", "what", "nearest", "pointer"}


def test_what_is_not_in_the_data_is_a_fault(here: Here) -> None:
    (here.folder / "sales.json").write_text('{"sales": {"2024": 120}}', "utf-8")
    (here.folder / "sales.txt").write_text("151 in 2024", "utf-8")
    told = here("check", "sales.json", "sales.txt")
    assert (told.status, told.err) == (1, "")
    assert "not in the data: 1" in told.out


def test_strict_wants_something_read(here: Here) -> None:
    assert here("check", "rivers.csv", "drivel.txt").status == 0
    for text in ("drivel.txt", "empty.txt"):
        told = here("check", "rivers.csv", text, "--strict")
        assert (told.status, told.err) == (
            1,
            "attnlens: no statement could be read, so nothing was compared\n",
        )
    assert here("check", "rivers.csv", "good.txt", "--strict").status == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none.json", "good.txt"), "none.json: no such file"),
        (("good.txt", "good.txt"), "good.txt: is neither JSON nor CSV"),
        (("headless.csv", "good.txt"), "headless.csv: has no header"),
        (("rivers.csv", "bytes.txt"), "bytes.txt: is not UTF-8 text; save it as UTF-8"),
        (("bytes.txt", "good.txt"), "bytes.txt: is not UTF-8 text; save it as UTF-8"),
        (("-", "-"), "FACTS and TEXT cannot both be read from stdin"),
        (("rivers.csv", "."), ".: is a directory"),
    ],
)
def test_what_cannot_be_checked_is_one_line(here: Here, words: tuple[str, ...], said: str) -> None:
    told = here("check", *words)
    assert (told.status, told.out) == (2, "")
    assert said in told.err
    assert told.err.count("\n") == 1


def test_foreign_json_of_50_mb_is_answered_in_bounded_memory(tmp_path: Path) -> None:
    (tmp_path / "many.json").write_text("[" + "{}," * 17_000_000 + "{}]", "utf-8")
    (tmp_path / "long.json").write_text(json.dumps({"note": "word " * 10_000_000, "n": 3}), "utf-8")
    (tmp_path / "t.txt").write_text("The n is 3.", "utf-8")
    for name, status in (("many.json", 2), ("long.json", 0)):
        done = subprocess.run(
            ["bash", "-c", f"ulimit -v 3000000; {sys.executable} -m attnlens check {name} t.txt"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=HANG,
            check=False,
            env=clean_environment(),
        )
        assert done.returncode == status, done.stderr
        assert done.stderr.count("\n") == (status == 2)


def test_hostile_names_are_only_names(attnlens_here: Here) -> None:
    folder = attnlens_here.folder
    save_hostile(folder / "hostile.json")
    attnlens_here.good("explain", "hostile.json", "--ball", "2:60", "--json", "--out", "e.json")
    told = json.loads((folder / "e.json").read_text("utf-8"))
    text = " ".join(sentence["text"] for sentence in told["narrative"])
    (folder / "t.txt").write_text(f"{text}\n\nThe chance of a six is 93%.", "utf-8")
    shown = attnlens_here("check", "e.json", "t.txt")
    assert shown.status == 1
    assert 'number "93%"; the data has' in shown.out
    assert not {"\u202e", "\u200b", "\x1b"} & set(shown.out)
