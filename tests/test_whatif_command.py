"""The whatif command as people type it, and `attnlens.what_if` beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Here, run_process

import attnlens

ECHO = "innings 1, delivery 47 of 125 | label 7.4 | legal ball 7.4 (46th) | 52/2 |"


def test_a_process_prints_what_python_says(tmp_path: Path, sample_match_path: Path) -> None:
    asked = ("whatif", sample_match_path, "--ball", "47", "--set", "ball:45=2", "--json")
    first = run_process(tmp_path, *asked, PYTHONHASHSEED="1")
    second = run_process(tmp_path, *asked, PYTHONHASHSEED="2")
    assert first == second
    assert (first.status, first.err) == (0, "")
    answer = attnlens.what_if(sample_match_path, ball=47, changes={45: 2})
    assert json.loads(first.out) == answer.to_dict()
    assert attnlens.WhatIf.from_json(first.out) == answer
    assert list(tmp_path.iterdir()) == []


def test_the_page(attnlens_here: Here, sample_match_path: Path) -> None:
    wicket = ("--ball", 47, "--set", "last=W", "--set", "batter=Teodor Brannoch")
    balls = attnlens.read_match(sample_match_path).innings[0].deliveries
    single = next(ball for ball in balls[20:] if ball.outcome == "1")
    later = ("--ball", single.index + 9, "--change")
    pages = [
        " ".join(attnlens_here.good("whatif", sample_match_path, *words).split())
        for words in (wicket, (*later, f"{single.index}=6"), (*later, f"{single.index}=3"))
    ]
    assert "\x1b" not in "".join(pages)
    assert pages[0].startswith(ECHO)
    for page, words in (
        (0, "52/2 after 45 legal balls → 46/3 after 45 legal balls"),
        (0, "Teodor Brannoch faced, not Callum Wetherspring"),
        (1, f"ball {single.index} ({single.label}) was a six"),
        (1, "stay as recorded, although other"),  # a six does not change ends
    ):
        assert words in pages[page]
    assert "stay as recorded" not in pages[2]
    attnlens_here.patch.setenv("COLUMNS", "44")
    narrow = attnlens_here.good("whatif", sample_match_path, *wicket)
    assert max(map(len, narrow.splitlines())) <= 44


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ((), "no ball was named"),
        (("--ball", "47"), "no change was given; give another bowler"),
        (("--ball", "470", "--set", "target=9"), "there is no delivery 470"),
        (("--ball", "47", "--set", "bowler=No Such Man"), "nobody in the match"),
        (("--ball", "47", "--set", "bowler=Callum Wetherspring"), "plays for Copperfield Comets"),
        (("--ball", "47", "--set", "target=9", "--out", "none/here"), "its folder does not exist"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_line(
    attnlens_here: Here, sample_match_path: Path, asked: tuple[str, ...], said: str
) -> None:
    answer = attnlens_here("whatif", sample_match_path, *asked)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("attnlens: ")
    assert answer.err.count("\n") == 1
    assert said in answer.err
    assert attnlens_here.files() == []
