"""``attnlens text``: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
from command_line import REPOSITORY, Here, run_process
from syrupy.assertion import SnapshotAssertion
from text_cases import toy_model, toy_rows, write_csv

import attnlens
from attnlens.reference.text import explain_text
from attnlens.reference.text_model import (
    HeldOutRule,
    TextModel,
    TextRecipe,
    TextSizes,
    answer_accuracy,
    read_pairs,
)

SAMPLE = REPOSITORY / "sample_data" / "commentary.csv"
SENTENCE = (
    "Farrokhpur over the wicket, a little short outside off, and Okonjara slashes it past "
    "backward point, looked like four, Suvarenko hauls it in, two."
)


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small checkpoint."""
    folder = tmp_path_factory.getbasetemp()
    path = folder / "toy.safetensors"
    toy_model(folder).save(path)
    return path


# Training


def test_training_says_how_far_it_is_and_what_came_of_it(
    attnlens_here: Here, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    write_csv(tmp_path / "pairs.csv", toy_rows(150))
    words = ("lab", "text-train", "pairs.csv", "--epochs", "3", "--width", "16", "--heads", "2")
    words += ("--d-ff", "16", "--seed", "7", "--leading", "1", "--out")
    done = run_process(tmp_path, *words, "one.safetensors")
    assert (done.status, done.out) == (0, "")
    lines = done.err.splitlines()
    assert [re.sub(r" *[\d.]+", " N", line) for line in lines] == snapshot
    assert attnlens_here.files() == ["one.safetensors", "pairs.csv"]
    assert attnlens_here(*words, "two.safetensors").status == 0  # another process, another folder
    files = [(tmp_path / f"{name}.safetensors").read_bytes() for name in ("one", "two")]
    assert files[0] == files[1]
    about = TextModel.load(tmp_path / "one.safetensors").metadata
    chosen = about["recipe"]["seed"], about["rule"]["leading"], about["sizes"]["width"]
    assert chosen == (7, 1, 16)


# The model that comes along


def test_the_bundled_model_knows_its_held_out_sentences() -> None:
    model = TextModel.load()
    kept = model.metadata["rule"]
    rule = HeldOutRule(kept["share"], kept["leading"], frozenset(kept["combinations"]))
    _, *asked = rule.split(read_pairs(SAMPLE).pairs)
    least = {"held_out": (400, 0.96), "new_combinations": (200, 0.9)}
    weights = REPOSITORY / "attnlens" / "weights"
    card = (weights / "README.md").read_text(encoding="utf-8")
    for (name, (count, share)), pairs in zip(least.items(), asked, strict=True):
        found, told = answer_accuracy(model, pairs), model.metadata["figures"][name]
        assert len(pairs) == told["pairs"] > count
        assert found.exact == pytest.approx(told["exact"], abs=0.005)
        assert found.tokens == pytest.approx(told["tokens"], abs=0.005)
        assert (found.exact or 0) > share
        assert f"{found.exact:.1%}" in card
    assert (weights / "seq2seq.safetensors").stat().st_size < 1_000_000
    assert model.sha256 in card


def test_the_recipe_told_is_the_recipe_of_the_checkpoint() -> None:
    card = (REPOSITORY / "attnlens/weights/README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^attnlens lab text-train (.*)$", card, re.M)
    about = TextModel.load().metadata
    told = dict(re.findall(r"--([\w-]+) (\S+)", command))
    assert told.pop("out") == "seq2seq.safetensors"
    assert told == {"leading": str(about["rule"]["leading"])}
    assert about["recipe"] == dataclasses.asdict(TextRecipe())
    assert dataclasses.asdict(TextSizes()).items() <= about["sizes"].items()
    assert about["data"]["sha256"] == read_pairs(SAMPLE).sha256


# Explaining


def test_an_explanation_reads_from_top_to_bottom(attnlens_here: Here) -> None:
    out = attnlens_here.good("text", "explain", "seq2seq", SENTENCE)
    assert re.search(r"^output +farrokhpur okonjara 2 point cut$", out, re.M)
    for token in ("farrokhpur", "okonjara", "2", "point", "cut"):
        assert re.search(rf"^  {token} +>?[\d.]+% ", out, re.M), token
    assert out.count("hidden from cross-attention ") >= 5
    assert out.count("replaced by <unk> ") >= 5
    assert re.search(r"✓ larger|– no larger", out)
    assert "\x1b" not in out
    for width in (60, 100):
        attnlens_here.patch.setenv("COLUMNS", str(width))
        lines = attnlens_here.good("text", "explain", "seq2seq", SENTENCE).splitlines()
        assert max(map(len, lines)) <= width
        assert "…" not in " ".join(lines) or width < 100


def test_json_is_what_python_gives(attnlens_here: Here, toy: Path) -> None:
    text = toy_rows()[3][0]
    data = json.loads(attnlens_here.good("text", "explain", toy, text, "--json"))
    assert data == explain_text(TextModel.load(toy), text).to_dict()


def test_unknown_words_are_said(attnlens_here: Here, toy: Path) -> None:
    out = attnlens_here.good(
        "text", "explain", toy, "Please take the \x1bgoogly\x07 box, friend", "--no-evidence"
    )
    assert "! 'googly' is not in the vocabulary: read as <unk>" in out
    assert "\x1b" not in out
    assert "hidden from" not in out


def test_what_was_recorded_opens_in_view(attnlens_here: Here, toy: Path) -> None:
    attnlens_here.good("text", "explain", toy, toy_rows()[3][0], "--record", "r.safetensors")
    recording = attnlens.load_recording(attnlens_here.folder / "r.safetensors")
    kinds = [site.split(".")[-1] for site in recording]
    assert kinds == ["self_attention", "self_attention", "cross_attention"]
    page = attnlens_here.good("view", "r.safetensors", "--json")
    assert "decoder.0.cross_attention" in page
    assert "take" in page


# Bad input


BAD_WORDS = [
    f"text explain seq2seq {'ball_' * 99}",
    "text explain bad.csv a",
    "text explain seq2seq a --out p --record p",
    "text",
    "lab text-train bad.csv --out m",
    "lab text-train few.csv --out m",
    "lab text-train few.csv --out few.csv",
    "lab text-train few.csv --out m --columns a",
    "lab text-train few.csv --out m --separator ;;",
]


def test_bad_input_is_one_line(attnlens_here: Here, snapshot: SnapshotAssertion) -> None:
    (attnlens_here.folder / "bad.csv").write_text("a\nx\n", encoding="utf-8")
    (attnlens_here.folder / "few.csv").write_text("a,b\nx,y\n", encoding="utf-8")
    refusals = [
        attnlens_here.refused(*(word.replace("_", " ") for word in words.split()))
        for words in BAD_WORDS
    ]
    assert refusals == snapshot
    assert all("; " in line for line in refusals)
    assert attnlens_here.files() == ["bad.csv", "few.csv"]


def test_the_picture_holds_the_weights(attnlens_here: Here, toy: Path) -> None:
    """Every weight of half a per cent or more stands in its row and column."""
    data = explain_text(TextModel.load(toy), toy_rows()[3][0])
    out = attnlens_here.good("text", "explain", toy, toy_rows()[3][0])
    block = out.split("of a token's attention\n")[1].split("\n\n")[0].splitlines()[1:]
    weights = np.array([token.cross_attention for token in data.output.tokens]).T
    for row, line in zip(weights, block, strict=True):
        shown = [int(found) for found in re.findall(r"(\d+)%", line)]
        assert shown == [round(100 * weight) for weight in row if weight >= 0.005]
