"""``attnlens lab ratings``: what is learnt, and what stays."""

from __future__ import annotations

import csv
import datetime
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import OUTCOMES, Answer, Here, run_process
from safetensors.torch import load_file
from small_predictors import simulated, small_predictor

from attnlens.cricket.lab.simulator import simulate_match
from attnlens.cricket.predictor.trained import (
    TrainedPredictor,
    brought_up_to_date,
    load_predictor,
    save_predictor,
)
from attnlens.cricket.readers.writers import write_match

KNOWN, LATER = range(4, 6), range(6, 12)
"""Matches the small predictor's ratings know already, and later ones; a day apart."""

LAST = simulated(LATER[-1])
SIXTEEN_BITS = 5e-4
"""How far probabilities may be apart where ratings went through a file's sixteen bits."""


@dataclass(frozen=True)
class Place:
    """A folder with a checkpoint ``small.safetensors`` and ``matches`` to learn from."""

    folder: Path
    predictor: TrainedPredictor

    def run(self, *words: str | Path) -> Answer:
        return run_process(self.folder, *words)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("ratings")
    predictor = small_predictor()
    save_predictor(folder / "small.safetensors", predictor)
    (folder / "matches").mkdir()
    for seed in (*KNOWN, *LATER):
        write_match(simulate_match(seed), folder / "matches" / f"{seed}.json")
    return Place(folder, predictor)


def rows_of(text: str) -> np.ndarray[Any, Any]:
    """The probabilities that ``predict`` printed, ``(ball, outcome)``."""
    rows = csv.DictReader(io.StringIO(text))
    return np.array([[float(row[f"p_{outcome}"]) for outcome in OUTCOMES] for row in rows])


def test_ratings_then_predict_is_predict_with_history(place: Place) -> None:
    eve = LAST.dates[-1] - datetime.timedelta(days=1)
    earlier = [f"matches/{seed}.json" for seed in (*KNOWN, *LATER[:-1])]
    done = place.run(
        *("lab", "ratings", *earlier, "--model", "small.safetensors", "--out", "eve.safetensors"),
        "--json",
    )
    assert (done.status, done.err) == (0, "")
    told = json.loads(done.out)
    learnt = list(map(simulate_match, LATER[:-1]))
    passed = told["matches"], told["already_known"], told["undated"]
    assert passed == (len(learnt), len(KNOWN), 0)
    assert told["dates"] == [str(learnt[0].dates[0]), str(eve)]
    assert (told["ratings_until"], told["days"]) == (str(eve), len(learnt))

    match = f"matches/{LATER[-1]}.json"
    updated = place.run("predict", match, "--model", "eve.safetensors")
    asked = ("predict", match, "--model", "small.safetensors")
    dated, plain = place.run(*asked, "--history", "matches"), place.run(*asked)
    np.testing.assert_allclose(rows_of(updated.out), rows_of(dated.out), atol=SIXTEEN_BITS, rtol=0)
    assert np.abs(rows_of(updated.out) - rows_of(plain.out)).max() > 4 * SIXTEEN_BITS


def test_weights_stay_bit_for_bit_and_the_card_says_what_was_added(
    place: Place, tmp_path: Path
) -> None:
    out = tmp_path / "new.safetensors"
    done = place.run("lab", "ratings", "matches", "--model", "small.safetensors", "--out", out)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"wrote {out}: ratings until {LAST.dates[-1]} (were 2024-01-06), ")
    assert f"{len(LATER)} matches learnt" in done.out
    before, after = load_file(place.folder / "small.safetensors"), load_file(out)
    assert set(before) == set(after)
    same = {name for name in before if not name.startswith("ratings.")}
    assert len(same) > 50
    assert [name for name in sorted(same) if not torch.equal(before[name], after[name])] == []
    striker = "ratings.striker.rating"
    count = len(before[striker])
    assert not torch.equal(before[striker], after[striker][:count])

    card = load_predictor(out).card
    old = place.predictor.card
    assert {name: card[name] for name in old} == old
    assert card["ratings_until"] == str(LAST.dates[-1])
    assert [one["matches"] for one in card["ratings_added"]] == [len(LATER)]


def test_two_steps_are_one(place: Place) -> None:
    matches = [simulate_match(seed) for seed in LATER]
    whole, _ = brought_up_to_date(place.predictor, reversed(matches))
    half, first = brought_up_to_date(place.predictor, matches[:3])
    both, second = brought_up_to_date(half, [*matches, *matches])
    assert (first.matches, second.matches, second.already_known) == (3, 3, 3)
    assert [one["matches"] for one in both.card["ratings_added"]] == [3, 3]
    for name, table in whole.ratings.tables.items():
        other = both.ratings.tables[name]
        for key, row in table.keys.items():
            np.testing.assert_array_equal(table.rating[row], other.rating[other.keys[key]])
    # What it was made from has learnt nothing by it.
    assert place.predictor.ratings.until == datetime.date(2024, 1, 6)


def test_nothing_newer_writes_nothing_and_says_so(place: Place, attnlens_here: Here) -> None:
    match, small = place.folder / "matches" / f"{KNOWN[0]}.json", place.folder / "small.safetensors"
    asked = ("lab", "ratings", match, "--model", small, "--out", "none.safetensors")
    done = attnlens_here(*asked)
    assert (done.status, done.err) == (1, "")
    assert done.out.startswith("nothing newer than 2024-01-06: no file written")
    told = json.loads(attnlens_here(*asked, "--json").out)
    assert (told["matches"], told["dates"], told["sha256"]) == (0, [None, None], None)
    assert told["already_known"] == 1
    assert attnlens_here.files() == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lab", "ratings", "nowhere", "--out", "x.safetensors"], "nowhere"),
        (["lab", "ratings", "matches", "--out", "no/x.safetensors"], "its folder does not exist"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    place: Place, attnlens_here: Here, words: list[str], said: str
) -> None:
    attnlens_here.patch.chdir(place.folder)
    answer = attnlens_here(*words, "--model", "small.safetensors")
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert not (place.folder / "x.safetensors").exists()
