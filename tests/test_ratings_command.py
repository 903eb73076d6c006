"""``attnlens ratings``: what is learnt, what stays, and what it says of a player."""

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

from attnlens.cricket.match.match import Match
from attnlens.cricket.model.timeline import brought_up_to_date
from attnlens.cricket.model.trained import TrainedPredictor, load_predictor, save_predictor
from attnlens.cricket.readers.writers import write_match
from attnlens.cricket.simulator.simulate import simulate_match

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


def people(matches: list[Match]) -> set[str]:
    """Everybody who batted at a ball or bowled one."""
    return {
        player.key
        for match in matches
        for side in match.innings
        if not side.super_over
        for ball in side.deliveries
        for player in (ball.batter, ball.bowler)
    }


def test_ratings_then_predict_is_predict_with_history(place: Place) -> None:
    eve = LAST.dates[-1] - datetime.timedelta(days=1)
    done = place.run(
        *("ratings", "matches", "--model", "small.safetensors", "--out", "eve.safetensors"),
        *("--until", str(eve), "--json"),
    )
    assert (done.status, done.err) == (0, "")
    told = json.loads(done.out)
    known, learnt = (list(map(simulate_match, some)) for some in (range(6), LATER[:-1]))
    assert {
        name: told[name] for name in ("matches", "already_known", "after_until", "undated")
    } == {
        "matches": len(learnt),
        "already_known": len(KNOWN),
        "after_until": 1,
        "undated": 0,
    }
    assert told["dates"] == [str(learnt[0].dates[0]), str(eve)]
    assert (told["ratings_until"], told["days"]) == (str(eve), len(learnt))
    assert told["players"] == len(people(learnt))
    assert told["new_players"] == len(people(learnt) - people(known))
    assert told["venues"] == len({match.venue for match in learnt})

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
    done = place.run("ratings", "matches", "--model", "small.safetensors", "--out", out)
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
    half, first = brought_up_to_date(place.predictor, matches, until=matches[2].dates[-1])
    both, second = brought_up_to_date(half, [*matches, *matches])
    assert (first.matches, second.matches, second.known) == (3, 3, 3)
    assert [one["matches"] for one in both.card["ratings_added"]] == [3, 3]
    for name, table in whole.ratings.tables.items():
        other = both.ratings.tables[name]
        for key, row in table.keys.items():
            np.testing.assert_array_equal(table.rating[row], other.rating[other.keys[key]])
    # What it was made from has learnt nothing by it.
    assert place.predictor.ratings.until == datetime.date(2024, 1, 6)


def test_nothing_newer_writes_nothing_and_says_so(place: Place, attnlens_here: Here) -> None:
    match, small = place.folder / "matches" / f"{KNOWN[0]}.json", place.folder / "small.safetensors"
    asked = ("ratings", match, "--model", small, "--out", "none.safetensors")
    done = attnlens_here(*asked)
    assert (done.status, done.err) == (1, "")
    assert done.out.startswith("nothing newer than 2024-01-06: no file written")
    told = json.loads(attnlens_here(*asked, "--json").out)
    assert (told["matches"], told["dates"], told["sha256"]) == (0, [None, None], None)
    assert told["already_known"] == 1
    assert attnlens_here.files() == []


def test_explanations_flag_ratings_from_later(place: Place, attnlens_here: Here) -> None:
    matches, small = place.folder / "matches", place.folder / "small.safetensors"
    attnlens_here.good("ratings", matches, "--model", small, "--out", "new.safetensors")
    asked = ("explain", matches / f"{LATER[0]}.json", "--ball", 40, "--no-evidence", "--json")

    def flags(*more: str | Path) -> set[str]:
        return {flag["flag"] for flag in json.loads(attnlens_here.good(*asked, *more))["flags"]}

    assert "ratings_from_later" not in flags("--model", small)
    assert "ratings_from_later" in flags("--model", "new.safetensors")
    dated = ("--model", "new.safetensors", "--history", matches)
    assert "ratings_from_later" not in flags(*dated)


def test_a_player_as_the_tables_have_them(place: Place, attnlens_here: Here) -> None:
    small = place.folder / "small.safetensors"
    predictor = load_predictor(small)
    ratings = predictor.ratings
    table = ratings.tables["striker"]
    name, key = next(
        (name, key)
        for name, key in ratings.aliases.items()
        if table.balls[table.row(key)] > 0 and table.row(key) >= 0
    )
    told = json.loads(
        attnlens_here.good("ratings", "--player", name.upper(), "--model", small, "--json")
    )
    assert (told["player"], told["key"], told["ratings_until"]) == (name, key, "2024-01-06")
    row = table.keys[key]
    assert told["striker"]["balls"] == int(table.balls[row])
    count = len(table.keys)
    middle = np.average(table.rating[:count], axis=0, weights=table.balls[:count])
    mine, usual = (
        np.exp(predictor.base.everything + rating) for rating in (table.rating[row], middle)
    )
    expected = (mine / mine.sum()) / (usual / usual.sum())
    times = [one["times"] for one in told["striker"]["outcomes"]]
    assert [one["outcome"] for one in told["striker"]["outcomes"]] == list(OUTCOMES)
    np.testing.assert_allclose(times, expected, atol=1e-5)
    phases = told["striker"]["phases"]
    assert sum(one["balls"] for one in phases) == told["striker"]["balls"]
    assert {one["phase"] for one in phases} <= {"powerplay", "middle", "death"}
    page = attnlens_here.good("ratings", "--player", name, "--model", small)
    assert page.startswith(f"{name}: what small knows, ratings until 2024-01-06")
    assert f"{told['striker']['balls']:,}" in page


def test_the_average_player_of_a_phase_is_at_one(place: Place) -> None:
    from attnlens.cricket.model.people import _phase_mean

    tables = place.predictor.ratings.tables
    whole, by_phase = tables["bowler"], tables["bowler_phase"]
    sums, balls = np.zeros(11), 0.0
    for key, row in by_phase.keys.items():
        player, phase = key.split("#")
        if phase == "1":
            n = float(by_phase.balls[row])
            sums += n * (whole.rating[whole.keys[player]] + by_phase.rating[row])
            balls += n
    np.testing.assert_allclose(_phase_mean(whole, by_phase, 1), sums / balls, atol=1e-6)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ratings", "--out", "x.safetensors"], "no matches to learn from"),
        (["ratings", "matches"], "no checkpoint to write"),
        (["ratings", "nowhere", "--out", "x.safetensors"], "nowhere"),
        (["ratings", "--player", "Nobody At All"], "no rated player is called"),
        (["ratings", "--player", "a"], "write the whole name, or the registry id"),
        (["ratings", "matches", "--player", "a"], "--player only shows"),
        (["ratings", "matches", "--out", "no/x.safetensors"], "its folder does not exist"),
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
