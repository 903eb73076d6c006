"""``attnlens lab ratings``: what is learnt, and what stays."""

from __future__ import annotations

import csv
import datetime
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import OUTCOMES, Here
from safetensors.torch import load_file
from small_predictors import simulated, small_predictor

from attnlens.cricket.lab.simulator import write_match
from attnlens.cricket.predictor.trained import load_predictor, save_predictor, update_ratings

KNOWN, LATER = range(4, 6), range(6, 12)
"""Matches the small predictor's ratings know already, and later ones; a day apart."""

LAST = simulated(LATER[-1])
SIXTEEN_BITS = 5e-4
"""How far probabilities may be apart where ratings went through a file's sixteen bits."""


PREDICTOR = small_predictor()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint ``small.safetensors`` and ``matches`` to learn from."""
    folder = tmp_path_factory.mktemp("ratings")
    save_predictor(folder / "small.safetensors", PREDICTOR)
    (folder / "matches").mkdir()
    for seed in (*KNOWN, *LATER):
        write_match(simulated(seed), folder / "matches" / f"{seed}.json")
    return folder


def rows_of(text: str) -> np.ndarray[Any, Any]:
    """The probabilities that ``predict`` printed, ``(ball, outcome)``."""
    rows = csv.DictReader(io.StringIO(text))
    return np.array([[float(row[f"p_{outcome}"]) for outcome in OUTCOMES] for row in rows])


def test_ratings_then_predict_is_predict_with_history(folder: Path, attnlens_here: Here) -> None:
    attnlens_here.patch.chdir(folder)
    eve = LAST.dates[-1] - datetime.timedelta(days=1)
    earlier = [f"matches/{seed}.json" for seed in (*KNOWN, *LATER[:-1])]
    words = ("--model", "small.safetensors", "--out", "eve.safetensors", "--json")
    data = json.loads(attnlens_here.good("lab", "ratings", *earlier, *words))
    learnt = list(map(simulated, LATER[:-1]))
    passed = data["matches"], data["already_known"], data["undated"]
    assert passed == (len(learnt), len(KNOWN), 0)
    assert data["dates"] == [str(learnt[0].dates[0]), str(eve)]
    assert (data["ratings_until"], data["days"]) == (str(eve), len(learnt))

    match = f"matches/{LATER[-1]}.json"
    updated = attnlens_here("predict", match, "--model", "eve.safetensors")
    asked = ("predict", match, "--model", "small.safetensors")
    dated, plain = attnlens_here(*asked, "--history", "matches"), attnlens_here(*asked)
    np.testing.assert_allclose(rows_of(updated.out), rows_of(dated.out), atol=SIXTEEN_BITS, rtol=0)
    assert np.abs(rows_of(updated.out) - rows_of(plain.out)).max() > 4 * SIXTEEN_BITS


def test_weights_stay_bit_for_bit_and_the_card_says_what_was_added(
    folder: Path, tmp_path: Path, attnlens_here: Here
) -> None:
    attnlens_here.patch.chdir(folder)
    out = tmp_path / "new.safetensors"
    words = ("lab", "ratings", "matches", "--model", "small.safetensors", "--out", out)
    page = attnlens_here.good(*words)
    assert page.startswith(f"wrote {out}: ratings until {LAST.dates[-1]} (before: 2024-01-06), ")
    assert f"{len(LATER)} matches added" in page
    before, after = load_file(folder / "small.safetensors"), load_file(out)
    assert set(before) == set(after)
    same = {name for name in before if not name.startswith("ratings.")}
    assert len(same) > 50
    assert [name for name in sorted(same) if not torch.equal(before[name], after[name])] == []
    striker = "ratings.striker.rating"
    count = len(before[striker])
    assert not torch.equal(before[striker], after[striker][:count])

    card = load_predictor(out).card
    old = PREDICTOR.card
    assert {name: card[name] for name in old} == old
    assert card["ratings_until"] == str(LAST.dates[-1])
    assert [one["matches"] for one in card["ratings_added"]] == [len(LATER)]


def test_two_steps_are_one() -> None:
    matches = [simulated(seed) for seed in LATER]
    whole, _ = update_ratings(PREDICTOR, reversed(matches))
    half, first = update_ratings(PREDICTOR, matches[:3])
    both, second = update_ratings(half, [*matches, *matches])
    assert (first.matches, second.matches, second.already_known) == (3, 3, 3)
    assert [one["matches"] for one in both.card["ratings_added"]] == [3, 3]
    for name, table in whole.ratings.tables.items():
        other = both.ratings.tables[name]
        for key, row in table.keys.items():
            np.testing.assert_array_equal(table.rating[row], other.rating[other.keys[key]])
    # What it was made from has learnt nothing by it.
    assert PREDICTOR.ratings.until == datetime.date(2024, 1, 6)


def test_nothing_newer_writes_nothing_and_says_so(folder: Path, attnlens_here: Here) -> None:
    match, small = folder / "matches" / f"{KNOWN[0]}.json", folder / "small.safetensors"
    asked = ("lab", "ratings", match, "--model", small, "--out", "none.safetensors")
    done = attnlens_here(*asked)
    assert (done.status, done.err) == (1, "")
    assert done.out.startswith("SRC holds no match after 2024-01-06, so no file was written")
    told = json.loads(attnlens_here(*asked, "--json").out)
    assert (told["matches"], told["dates"], told["sha256"]) == (0, [None, None], None)
    assert told["already_known"] == 1
    assert attnlens_here.files() == []


def test_bad_values(folder: Path, attnlens_here: Here) -> None:
    attnlens_here.patch.chdir(folder)
    for source, out, complaint in (
        ("nowhere", "x.safetensors", "nowhere"),
        ("matches", "no/x.safetensors", "its folder does not exist"),
    ):
        words = ("lab", "ratings", source, "--out", out, "--model", "small.safetensors")
        assert complaint in attnlens_here.refused(*words)
        assert not (folder / out).exists()
