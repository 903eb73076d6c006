"""Checkpoints, sources and settings that cannot be used: one line, status 2, nothing written."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import Here
from small_predictors import small_predictor
from syrupy.assertion import SnapshotAssertion

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


DAMAGE: dict[str, Change] = {
    "later format": metadata(format=2),
    "card is a list": metadata(card=["a"]),
    "weight is NaN": no_number("model.gate.weight"),
    "rating is NaN": no_number("ratings.venue.rating"),
    "a rating is missing": shorter("ratings.striker.rating"),
    "a count of a rating is missing": shorter("ratings.venue.balls"),
    "base.prior": shorter("base.prior"),
    "base.everything": shorter("base.everything"),
    "base.5": shorter("base.5"),
    "trained_until": card(trained_until="soon"),
    "match_types": card(match_types=3),
    "balls_per_over": card(balls_per_over={}),
    "earned": card(earned={"medium": 4}),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_checkpoint(
    checkpoint: Checkpoint, attnlens_here: Here, name: str, snapshot: SnapshotAssertion
) -> None:
    tensors, facts = dict(checkpoint.tensors), json.loads(json.dumps(checkpoint.metadata))
    DAMAGE[name](tensors, facts)
    write_checkpoint("x.safetensors", tensors, facts)
    words = ("lab", "ratings", "matches", "--out", "new", "--model", "x.safetensors")
    (error,) = attnlens_here.refusals(words)
    # What torch says of a shape depends on its release.
    assert (re.sub(r"\(.*\)", "()", error) if name == "base.5" else error) == snapshot


def test_pipes_and_histories_without_a_match(
    attnlens_here: Here, snapshot: SnapshotAssertion
) -> None:
    os.mkfifo("pipe")
    attnlens_here.good("lab", "simulate", "--out", "match.json")
    Path("cut.json").write_text(Path("match.json").read_text(encoding="utf-8")[:900], "utf-8")
    zipfile.ZipFile("empty.zip", "w").close()
    before = attnlens_here.files()
    history = ("predict", "match.json", "--out", "o.csv", "--history")
    messages = attnlens_here.refusals(
        ("lab", "ratings", "matches", "--out", "new", "--model", "pipe"),
        (*history, "cut.json"),
        (*history, "empty.zip"),
    )
    assert [re.sub(r"(JSON: ).*", r"\1", message) for message in messages] == snapshot
    assert attnlens_here.files() == before


def test_a_run_that_diverges_writes_no_checkpoint(attnlens_here: Here) -> None:
    matches = attnlens_here.matches(3)
    before = attnlens_here.files()
    answer = attnlens_here(
        "lab", "train", matches, "--out", "mine.safetensors",
        "--epochs", 3, "--hidden-dim", 12, "--threads", 1, "--set", "innings=1",
        "--set", "warm_up=0", "--set", "learning_rate=1e9", "--set", "average=0",
    )  # fmt: skip
    assert answer.status == 2
    assert answer.err.splitlines()[-1] == (
        "attnlens: the loss of epoch 1 is not finite: the run has diverged; "
        "lower --set learning_rate"
    )
    assert attnlens_here.files() == before


REFUSED: tuple[tuple[str, ...], ...] = (
    ("--threads", "100000000"),
    ("--hidden-dim", "1000000000"),
    ("--set", "heads.micro=5000"),
    ("--out", ""),
    ("--out", "a" * 300),
    ("--state", "/proc/run.state"),
    ("--train-until", "2023-01-01"),
    ("--validate-until", "2023-01-01"),
    ("--train-until", "2030-01-01"),
    ("--train-until", "2024-01-03", "--validate-until", "2024-01-02"),
)


def test_a_training_that_cannot_be(attnlens_here: Here, snapshot: SnapshotAssertion) -> None:
    words = ("lab", "train", attnlens_here.matches(3), "--out", "mine.safetensors")
    before = attnlens_here.files()
    messages = attnlens_here.refusals(*((*words, *more) for more in REFUSED))
    # What the system says of /proc depends on the user.
    assert [re.sub(r"(/proc.*?) \(.*?\)", r"\1", message) for message in messages] == snapshot
    assert attnlens_here.files() == before
