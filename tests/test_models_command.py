"""``models``, ``describe`` and ``trace`` as commands."""

from __future__ import annotations

import json
import shutil

import pytest
from command_line import REPOSITORY, Here
from syrupy.assertion import SnapshotAssertion

from attnlens.cricket.reference_models import MODELS
from attnlens.reference.tiny import TinyTransformer, save_tiny
from attnlens.render.safe import to_ascii

MATCH = REPOSITORY / "sample_data" / "match.csv"
BAD_WORDS = [
    *("describe nix", "describe match.csv", "trace tiny 3,1,4,1,12", "trace tiny 3,1,4"),
    *("trace tiny a,b", "trace tiny ٣,1,4,1,5", "trace tiny -3,1,4,1,5"),
    *("trace attention 1,2;3", "trace attention nan,1,2,3", "trace temporal match.csv"),
    *("trace temporal match.csv --ball 999", "trace tiny 3,1,4,1,5 --out no/a"),
]


def test_the_models_are_listed(attnlens_here: Here) -> None:
    text = attnlens_here.good("models")
    told = json.loads(attnlens_here.good("models", "--json"))
    assert [one["name"] for one in told] == [entry.name for entry in MODELS]
    for one in told:
        assert one["name"] in text
        assert {"title", "source", "purpose", "input", "parameters", "sizes"} <= set(one)
    by_name = {one["name"]: one for one in told}
    assert by_name["tiny"]["parameters"] == 260
    assert by_name["attention"]["sizes"] == {"d": 4, "heads": 2, "d_k": 2, "d_v": 2}
    assert all(len(line) <= 100 for line in text.splitlines())


@pytest.mark.parametrize("name", [entry.name for entry in MODELS])
def test_every_model_is_described_in_every_form(name: str, attnlens_here: Here) -> None:
    data = json.loads(attnlens_here.good("describe", name, "--format", "json"))
    assert data["name"] == name
    assert data["equations"]
    assert data["sizes"]["parameters"] > 0
    assert data == json.loads(attnlens_here.good("describe", name, "--json"))
    text = attnlens_here.good("describe", name)
    markdown = attnlens_here.good("describe", name, "--format", "markdown")
    for equation in data["equations"]:
        assert equation["text"] in text
        assert equation["latex"] in markdown
    assert attnlens_here.good("describe", name, "--format", "latex", "--out", "a.tex") == ""
    written = (attnlens_here.folder / "a.tex").read_text(encoding="utf-8")
    assert written.startswith("\\documentclass")
    ascii_text = to_ascii(text)
    assert ascii_text.isascii()
    assert "?" not in ascii_text


def test_a_trace_in_every_form(attnlens_here: Here) -> None:
    text = attnlens_here.good("trace", "tiny", "3,6,4,4,5")
    assert "S = Q Kᵀ / √5   (5, 5)   logits" in text
    assert "All 12 equations were recomputed" in text
    told = json.loads(attnlens_here.good("trace", "tiny", "3,6,4,4,5", "--json"))
    assert [one["symbol"] for one in told["steps"]][:2] == ["h_0", "Q"]
    assert told["steps"][-1]["values"] == [6, 3, 5, 5, 4]
    assert told["labels"]["token"] == ["3", "6", "4", "4", "5"]
    assert told["retraced"]["largest_difference"] < 1e-4


def test_attention_of_rows(attnlens_here: Here) -> None:
    told = json.loads(attnlens_here.good("trace", "attention", "1,0,0,1; 0,1,0,1", "--json"))
    weights = next(one for one in told["steps"] if one["symbol"] == "A_i")
    assert weights["axes"] == ["head", "token", "token"]
    assert weights["values"][1] == [[0.5, 0.5], [0.5, 0.5]]


def test_a_ball_of_a_match_goes_through_the_predictor(attnlens_here: Here) -> None:
    told = json.loads(attnlens_here.good("trace", "temporal", MATCH, "--ball", "47", "--json"))
    assert told["about"].startswith("innings 1, delivery 47 of ")
    logits = next(one for one in told["steps"] if one["symbol"] == "logits")
    explained = json.loads(
        attnlens_here.good("explain", MATCH, "--ball", "47", "--json", "--no-evidence")
    )
    import torch

    chances = torch.tensor(logits["values"][0]).softmax(-1).tolist()
    expected = [one["probability"] for one in explained["prediction"]["outcomes"]]
    assert chances == pytest.approx(expected, abs=1e-4)


def test_the_ball_not_yet_bowled_is_traced(attnlens_here: Here) -> None:
    lines = MATCH.read_text(encoding="utf-8").splitlines(keepends=True)
    (attnlens_here.folder / "cut.csv").write_text("".join(lines[:41]), encoding="utf-8")
    told = json.loads(
        attnlens_here.good("trace", "temporal", "cut.csv", "--ball", "next", "--json")
    )
    assert told["retraced"]["equations"] == 100
    assert "not yet bowled" in told["about"]


def test_a_checkpoint_is_described_as_what_it_is(attnlens_here: Here) -> None:
    path = attnlens_here.folder / "wide.safetensors"
    save_tiny(path, TinyTransformer(vocabulary=4, width=6, context=2, d_ff=7, heads=2), {})
    told = json.loads(attnlens_here.good("describe", path, "--json"))
    assert told["sizes"]["d_ff"] == 7
    assert told["equations"][1]["text"] == "Q_i = h_0 W_Q,i"
    assert "token" in attnlens_here("trace", path, "3,4").err
    attnlens_here.good("trace", path, "3,0")
    assert json.loads(attnlens_here.good("describe", "measured", "--json"))["name"] == "temporal"


def test_bad_input_is_one_line(attnlens_here: Here, snapshot: SnapshotAssertion) -> None:
    shutil.copy(MATCH, "match.csv")
    shutil.copy(MATCH.with_name("match_info.csv"), "match_info.csv")
    before = attnlens_here.files()
    refusals = [attnlens_here.refused(*words.split()) for words in BAD_WORDS]
    assert refusals == snapshot
    assert all("; " in line and len(line) < 1000 for line in refusals)
    assert attnlens_here.files() == before


def test_rows_may_begin_with_a_minus(attnlens_here: Here) -> None:
    told = json.loads(attnlens_here.good("trace", "attention", "-1,0,0,1;0,1,0,1", "--json"))
    assert told["inputs"][0]["values"][0] == [-1, 0, 0, 1]
