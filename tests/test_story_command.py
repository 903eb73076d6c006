"""``attnlens story`` at the command line."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from command_line import Here, run_process

import attnlens
from attnlens.cricket.explain.story_types import MatchStory


@pytest.fixture
def place(attnlens_here: Here, sample_match_path: Path) -> Here:
    for name in ("match.csv", "match_info.csv"):
        shutil.copy(sample_match_path.parent / name, attnlens_here.folder)
    return attnlens_here


def test_a_process_of_its_own_tells_the_story(place: Here) -> None:
    written = run_process(place.folder, "story", "match.csv", "--json", "--out", "s.json")
    assert (written.status, written.out, written.err) == (0, "", "")
    story = MatchStory.from_json((place.folder / "s.json").read_text("utf-8"))
    same = attnlens.story(place.folder / "match.csv")
    assert story.to_dict().keys() == same.to_dict().keys()
    assert [m.sentence for m in story.turning_points] == [m.sentence for m in same.turning_points]
    assert repr(same).startswith("<MatchStory of ")
    page = str(same)
    assert page.count("\n") <= 40
    assert page.splitlines()[0] == same.result
    for words in ("won by", "to win, %", "Where it turned", "Most surprising", "bowlers"):
        assert words in page


def test_forms_and_cards(place: Here) -> None:
    asked = ("story", "match.csv", "--no-evidence")
    place.patch.setenv("COLUMNS", "80")
    assert "won by" in place.good(*asked).splitlines()[0]
    html = place.good(*asked, "--format", "html")
    assert html.startswith("<!doctype html>")
    assert "<script" not in html
    assert place.good(*asked, "--format", "markdown")[:2] == "# "
    assert "<data-" in place.good(*asked, "--format", "prompt")
    card = place.good(*asked, "--format", "card")
    place.good(*asked, "--out", "card.svg")
    assert (place.folder / "card.svg").read_text("utf-8") == card
    assert ElementTree.fromstring(card).tag.endswith("svg")
    pytest.importorskip("matplotlib")
    place.good(*asked, "--out", "card.png")
    head = (place.folder / "card.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    size = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    assert size == (1200, 630)


def test_a_match_without_a_ball_is_told(place: Here) -> None:
    info = {"teams": ["Reds", "Blues"], "dates": ["2024-05-01"], "match_type": "T20",
            "outcome": {"result": "no result"}, "gender": "male", "balls_per_over": 6}  # fmt: skip
    (place.folder / "rain.json").write_text(json.dumps({"info": info, "innings": []}), "utf-8")
    page = place.good("story", "rain.json")
    assert page.startswith("The file says no result\n")
    assert "the file contains no ball" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("none.csv", "none.csv: no such file"),
        ("match.csv --format card --out x.pdf", "x.pdf: a card can be written only as SVG or PNG"),
        ("match.csv --out match.csv", "match.csv: is one of the matches that this command reads"),
        ("match.csv --format pdf", "invalid choice: 'pdf'"),
    ],
)
def test_bad_input_is_one_line(place: Here, words: str, message: str) -> None:
    assert message in place.refused("story", *words.split())


def test_without_matplotlib_a_png_is_refused_and_svg_is_not(
    place: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    answer = place("story", "match.csv", "--no-evidence", "--out", "card.png")
    assert answer.status == 2
    assert "needs matplotlib" in answer.err
    assert not (place.folder / "card.png").exists()
    assert place("story", "match.csv", "--no-evidence", "--out", "card.svg").status == 0
