"""`attnlens lab train` as its users meet it: settings, and what is refused before the work."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Here

from attnlens.cricket.predictor.temporal import HEADS
from attnlens.cricket.predictor.trained import load_predictor

QUICK = ("--hidden-dim", "12", "--epochs", "2", "--threads", "1", "--head-balls", "3")


def test_settings_reach_the_model_and_the_card(attnlens_here: Here) -> None:
    source = attnlens_here.matches(4)
    words = ("--set", "heads.medium=3", "--set", "learning_rate=0.001")
    answer = attnlens_here("lab", "train", source, "--out", "mine.safetensors", *QUICK, *words)
    assert answer.status == 0, answer.err
    assert "balls/s" not in answer.out
    predictor = load_predictor("mine.safetensors")
    assert predictor.model.sizes.heads == {**HEADS, "medium": 3}
    assert predictor.card["recipe"]["learning_rate"] == 0.001
    assert predictor.card["recipe"]["seed"] == 5
    assert [sorted(epoch) for epoch in predictor.card["epochs"]] == [
        ["epoch", "train", "validation"]
    ] * 2


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--set", "speed=3"), "there is no setting 'speed'; the settings are epochs"),
        (("--set", "dropout"), "write a setting as NAME=VALUE"),
        (("--set", "dropout=high"), "'high' is not a number"),
        (("--set", "dropout=1.5"), "dropout is between 0 and 0.9999"),
        (("--set", "epochs=2.5"), "epochs has type int"),
        (("--set", "heads.medium=0"), "heads.medium is between 1 and 4096"),
        (("--set", "heads.huge=2"), "there is no setting 'heads.huge'"),
        (("--set", "dropout=true"), "dropout has type float"),
        (("--set", "learning_rate=NaN"), "learning_rate is between"),
        (("--teacher", "nobody.safetensors"), "nobody.safetensors"),
        (("--state", "nowhere/run.state"), "its folder does not exist; create the folder first"),
        (("--threads", "-2"), "'-2' is not a number from 1 to 1024"),
        (("--head-balls", "0"), "'0' is not a number from 1 to 999999"),
        (("--epochs", "0"), "epochs is between 1 and 4096"),
        (("--device", "cuda"), "torch finds no GPU on this machine; use --device cpu"),
        (
            ("--model", "cricket", "--teacher", "boosted_trees"),
            "cannot be used with --model cricket",
        ),
        (("--model", "cricket", "--set", "smoothing=2"), "smoothing is between 0 and 1"),
        (("--model", "cricket", "--set", "tokens=9"), "there is no setting 'tokens'"),
    ],
)
def test_what_cannot_be_done_is_said_before_the_work(
    attnlens_here: Here, words: tuple[str, ...], complaint: str
) -> None:
    import torch

    if "cuda" in words and torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    source = attnlens_here.matches(1)
    before = attnlens_here.files()
    answer = attnlens_here("lab", "train", source, "--out", "mine.safetensors", *words)
    assert answer.status == 2
    assert complaint in answer.err
    assert "matches to train on" not in answer.err
    assert [line for line in answer.err.splitlines() if line.startswith("attnlens: ")]
    assert "Traceback" not in answer.err
    assert attnlens_here.files() == before


def test_a_state_that_cannot_be_gone_on_from_is_refused_before_the_work(
    attnlens_here: Here,
) -> None:
    source = attnlens_here.matches(4)
    few = attnlens_here.folder / "few"
    few.mkdir()
    for path in sorted(Path(source).iterdir())[:2]:
        (few / path.name).write_bytes(path.read_bytes())
    state = Path("run.state")
    asked = ("--out", "mine.safetensors", *QUICK, "--epochs", "1", "--state", state)
    assert attnlens_here("lab", "train", source, *asked).status == 0
    before = attnlens_here.files()
    days = ("--train-until", "2024-01-01", "--validate-until", "2024-01-01")
    for words in (
        (source, *asked, "--seed", "6"),
        (source, *asked, "--hidden-dim", "24"),
        (source, *asked, "--teacher", "boosted_trees"),
        ("few", *asked, *days),
    ):
        answer = attnlens_here("lab", "train", *words)
        assert (answer.status, answer.err.splitlines()[-1]) == (
            2,
            "attnlens: run.state: contains a training run with other settings, matches, sizes or "
            "teacher; remove the file, or name another file",
        )
        assert "fitting" not in answer.err
        assert attnlens_here.files() == before
