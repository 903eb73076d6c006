"""Checkpoints, sources and settings that cannot be used: one line, status 2, nothing written."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import Here
from small_predictors import small_predictor

from attnlens.cricket.predictor.trained import save_predictor
from attnlens.reference.checkpoint import Checkpoint, read_checkpoint, write_checkpoint

Change = Callable[[dict[str, torch.Tensor], dict[str, Any]], None]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    path = tmp_path_factory.mktemp("hostile") / "small.safetensors"
    save_predictor(path, small_predictor(matches=3))
    return read_checkpoint(path, "temporal")


def no_number(name: str) -> Change:
    return lambda tensors, _: tensors.update({name: tensors[name] * float("nan")})


def shorter(name: str) -> Change:
    return lambda tensors, _: tensors.update({name: tensors[name][:-1]})


def card(**facts: Any) -> Change:
    return lambda _, metadata: metadata["card"].update(facts)


def metadata(**facts: Any) -> Change:
    return lambda _, metadata: metadata.update(facts)


DAMAGE: list[tuple[Change, str]] = [
    (metadata(format=2), "has format 2, this attnlens reads 1; update attnlens"),
    (metadata(card=["a"]), "is damaged (its card is no table); train it again"),
    (no_number("model.gate.weight"), "is damaged (model.gate.weight holds what is no finite"),
    (no_number("ratings.venue.rating"), "is damaged (ratings.venue.rating holds what is no"),
    (shorter("ratings.striker.rating"), "is damaged (its ratings of the kind striker do not"),
    (shorter("ratings.venue.balls"), "is damaged (its ratings of the kind venue do not fit"),
    (shorter("base.prior"), "is damaged (its table of overs has another shape)"),
    (shorter("base.everything"), "is damaged (what the scoreboard expects is told in another"),
    (shorter("base.5"), "is damaged ("),
    (card(trained_until="soon"), "is damaged (Invalid isoformat string"),
    (card(match_types=3), "is damaged (its match_types are no list of the kind str)"),
    (card(balls_per_over={}), "is damaged (its balls_per_over are no list of the kind int)"),
    (card(earned={"medium": 4}), "is damaged (its earned medium are no list of the kind str)"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGE)
def test_a_checkpoint_that_cannot_be_used(
    checkpoint: Checkpoint, attnlens_here: Here, change: Change, message: str
) -> None:
    tensors, facts = dict(checkpoint.tensors), json.loads(json.dumps(checkpoint.metadata))
    change(tensors, facts)
    write_checkpoint("x.safetensors", tensors, facts)
    answer = attnlens_here("lab", "ratings", "matches", "--out", "new", "--model", "x.safetensors")
    assert answer.status == 2
    assert answer.err.startswith(f"attnlens: x.safetensors: {message}")
    assert answer.err.count("\n") == 1
    assert answer.out == ""


def test_a_pipe_is_not_waited_for(attnlens_here: Here) -> None:
    os.mkfifo("pipe")
    answer = attnlens_here("lab", "ratings", "matches", "--out", "new", "--model", "pipe")
    assert answer.status == 2
    assert answer.err.startswith("attnlens: pipe: is a device or a pipe, not a checkpoint; give ")


def test_a_history_that_tells_nothing_says_why(attnlens_here: Here) -> None:
    attnlens_here.good("lab", "simulate", "--out", "match.json")
    Path("cut.json").write_text(Path("match.json").read_text(encoding="utf-8")[:900], "utf-8")
    zipfile.ZipFile("empty.zip", "w").close()
    before = attnlens_here.files()
    for source, message in (
        ("cut.json", "cut.json: holds no match to learn from (this is not valid JSON: "),
        ("empty.zip", "empty.zip: there are no match files in it; give "),
    ):
        answer = attnlens_here("predict", "match.json", "--history", source, "--out", "o.csv")
        assert (answer.status, answer.out) == (2, "")
        assert answer.err.startswith(f"attnlens: {message}")
        assert answer.err.count("\n") == 1
    assert attnlens_here.files() == before


def test_a_run_that_diverges_writes_no_checkpoint(attnlens_here: Here) -> None:
    for seed in range(3):
        attnlens_here.good(
            "lab", "simulate", "--seed", seed, "--out", f"{seed}.json", "--format", "json"
        )
    before = attnlens_here.files()
    answer = attnlens_here(
        "lab", "train", *(f"{seed}.json" for seed in range(3)), "--out", "mine.safetensors",
        "--epochs", 3, "--hidden-dim", 12, "--threads", 1, "--set", "innings=1",
        "--set", "warm_up=0", "--set", "learning_rate=1e9", "--set", "average=0",
    )  # fmt: skip
    assert answer.status == 2
    assert answer.err.splitlines()[-1] == (
        "attnlens: the loss of epoch 1 is not finite: the run has diverged; "
        "lower --set learning_rate"
    )
    assert attnlens_here.files() == before


REFUSED: list[tuple[tuple[str, ...], str]] = [
    (("--threads", "100000000"), "'100000000' is not a number from 1 to 1024"),
    (
        ("--hidden-dim", "1000000000"),
        "--set hidden_dim=1000000000: hidden_dim is between 1 and 4096",
    ),
    (("--set", "heads.micro=5000"), "--set heads.micro=5000: heads.micro is between 1 and 4096"),
    (("--out", ""), "the name of the file to write is empty; give a file to write"),
    (("--out", "a" * 300), f"{'a' * 300}: cannot be written (File name too long); write to "),
    (("--state", "/proc/run.state"), "/proc/run.state: cannot be written ("),
    (("--train-until", "2023-01-01"), "no match up to 2023-01-01 to train on; give earlier "),
    (("--validate-until", "2023-01-01"), "no match up to 2023-01-01 to train on; give earlier "),
    (("--train-until", "2030-01-01"), "no match after 2030-01-01 to validate on; give the same"),
    (
        ("--train-until", "2024-01-03", "--validate-until", "2024-01-02"),
        "training until 2024-01-03 runs past validation until 2024-01-02; give a later ",
    ),
]


def test_a_training_that_cannot_be(attnlens_here: Here) -> None:
    (attnlens_here.folder / "matches").mkdir()
    for seed in range(3):
        attnlens_here.good("lab", "simulate", "--seed", seed, "--out", f"matches/{seed}.csv")
    before = attnlens_here.files()
    for words, message in REFUSED:
        answer = attnlens_here("lab", "train", "matches", "--out", "mine.safetensors", *words)
        assert answer.status == 2
        assert message in answer.err
        assert answer.err.startswith("attnlens: ")
        assert answer.err.count("\n") == 1
        assert attnlens_here.files() == before
