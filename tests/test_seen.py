"""A checkpoint knows the matches it was trained on, and says so of them alone."""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path

import pytest
import torch
from command_line import Here
from small_predictors import simulated, small_predictor

from attnlens.cricket.explain.explain_ball import flags_of
from attnlens.cricket.lab.simulator import simulate_match
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.predictor.trained import (
    TrainedPredictor,
    identities,
    identity_of,
    load_predictor,
    save_predictor,
)
from attnlens.cricket.predictor.window import window_for
from attnlens.cricket.readers import read_match, read_matches
from attnlens.errors import CheckpointError
from attnlens.reference.checkpoint import read_checkpoint, write_checkpoint

MATCHES = [simulated(seed) for seed in range(5)]


def said(match: Match, predictor: TrainedPredictor) -> str | None:
    """What the flag ``in_training`` says."""
    window = window_for(match, BallReference(1, 20), predictor)
    flags = flags_of(window, predictor, evidence=True)
    return next((caution.text for caution in flags if caution.flag == "in_training"), None)


def test_a_match_is_itself_in_every_format(attnlens_here: Here) -> None:
    for name in ("one.csv", "one.json"):
        attnlens_here.good("lab", "simulate", "--seed", 4, "--out", name)
    one, other = read_match("one.csv"), read_match("one.json")
    assert identity_of(one) == identity_of(other) == identity_of(simulate_match(4))
    turned = tuple(f" {team.upper()} " for team in reversed(one.teams))
    assert identity_of(dataclasses.replace(one, teams=turned, venue="Elsewhere")) == identity_of(
        other
    )
    later = tuple(day + datetime.timedelta(days=1) for day in one.dates)
    others = [
        dataclasses.replace(one, dates=later),
        dataclasses.replace(one, teams=("Elsewhere", one.teams[1])),
    ]
    assert len(identities([one, *others])) == 3
    assert identity_of(dataclasses.replace(one, dates=())) is None
    assert identity_of(dataclasses.replace(one, teams=())) is None


def test_the_flag_is_for_matches_that_were_seen() -> None:
    dates = {"trained_until": "2024-01-06", "weights_until": "2024-01-02"}
    made = small_predictor(matches=3)
    made = dataclasses.replace(made, card={**made.card, **dates})
    told = dataclasses.replace(made, trained_on=identities([MATCHES[0], MATCHES[3]]))
    better = "the predictions look better than they are"
    assert said(MATCHES[0], told) == f"the model was trained on this match, so {better}"
    assert said(MATCHES[3], told) == (
        f"this match was used to choose the length of training, so {better}"
    )
    # Within the dates and of the kind, yet not among the matches.
    assert said(MATCHES[1], told) is None
    # A checkpoint that does not tell its matches has only the dates to go by.
    assert said(MATCHES[1], made) == (
        "the match was played within the model's training dates (2024-01-01 to 2024-01-06): "
        f"if the model was trained on this match, {better}"
    )
    assert said(simulate_match(9), made) is None


def test_the_matches_are_kept_in_the_file(tmp_path: Path) -> None:
    made = small_predictor(matches=2)
    path = tmp_path / "small.safetensors"
    save_predictor(path, made)
    bare = path.stat().st_size
    assert load_predictor(path).trained_on is None
    seen = identities(MATCHES)
    save_predictor(path, dataclasses.replace(made, trained_on=seen))
    assert load_predictor(path).trained_on == seen
    # Eight bytes each, and the line of the header.
    assert path.stat().st_size - bare < 8 * len(seen) + 100
    checkpoint = read_checkpoint(path, "temporal")
    for wrong in (torch.zeros(3), torch.zeros(2, 2, dtype=torch.int64)):
        write_checkpoint(path, {**checkpoint.tensors, "seen": wrong}, checkpoint.metadata)
        with pytest.raises(CheckpointError, match="training matches has the wrong shape"):
            load_predictor(path)


def test_training_tells_them(attnlens_here: Here) -> None:
    folder = attnlens_here.folder / "matches"
    folder.mkdir()
    for seed in range(4):
        attnlens_here.good("lab", "simulate", "--seed", seed, "--out", f"matches/{seed}.csv")
    small = ("--epochs", 1, "--hidden-dim", 12, "--threads", 1, "--head-balls", 1)
    days = ("--train-until", "2024-01-02", "--validate-until", "2024-01-03")
    done = attnlens_here("lab", "train", "matches", "--out", "mine.safetensors", *days, *small)
    assert done.status == 0
    mine = load_predictor("mine.safetensors")
    used = [match for match in read_matches("matches") if match.dates[0].day <= 3]
    assert mine.trained_on == identities(used)
    assert len(mine.trained_on or ()) == 3
