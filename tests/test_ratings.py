"""Ratings know only what was played before, and come back from disk as they were."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from small_predictors import arrays_of, probabilities, simulated, small_predictor

from attnlens.cricket.explain.explain_ball import flags_of
from attnlens.cricket.lab.fit import fit_base, rate_and_encode
from attnlens.cricket.lab.held_out import EncodedInnings
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.predictor.ratings import KINDS, STEP, Kind, Ratings, RatingTable
from attnlens.cricket.predictor.trained import (
    Timeline,
    TrainedPredictor,
    load_predictor,
    save_predictor,
)
from attnlens.cricket.predictor.window import window_batch, window_for
from attnlens.errors import CheckpointError

HISTORY = [simulated(seed) for seed in range(8)]
BASE = fit_base(HISTORY[:4], seed=1)


def rated(matches: list[Match]) -> tuple[Ratings, list[EncodedInnings]]:
    ratings = Ratings()
    return ratings, rate_and_encode(matches, BASE, ratings)


def scrambled(match: Match) -> Match:
    """The match with its outcomes in another order."""
    order = Random(1)
    sides = []
    for side in match.innings:
        told = [ball.outcome for ball in side.deliveries]
        order.shuffle(told)
        sides.append(
            dataclasses.replace(
                side,
                deliveries=tuple(
                    ball._replace(outcome=outcome)
                    for ball, outcome in zip(side.deliveries, told, strict=True)
                ),
            )
        )
    return dataclasses.replace(match, innings=tuple(sides))


def table_of(ratings: Ratings) -> dict[str, dict[str, tuple[list[float], list[float], float]]]:
    """What the ratings say of everyone they have seen play."""
    return {
        name: {
            key: (
                table.rating[row].tolist(),
                table.precision[row].tolist(),
                float(table.balls[row]),
            )
            for key, row in sorted(table.keys.items())
            if table.balls[row]
        }
        for name, table in ratings.tables.items()
    }


def test_one_update_by_hand() -> None:
    table = RatingTable(Kind("striker", deviation=0.25, drift=0.01))
    row = table.row("Ana", create=True)
    surprise = np.zeros((3, 11), np.float32)
    information = np.full((3, 11), 0.1, np.float32)
    surprise[:, 4] = (0.9, -0.1, 0.7)
    table.learn(np.array([row, row, row]), surprise, information)
    precision = 1 / (0.25**2 + 0.01) + 0.3
    assert table.precision[row].tolist() == pytest.approx([precision] * 11)
    expected = [0.0] * 11
    expected[4] = STEP * 1.5 / precision
    assert table.rating[row].tolist() == pytest.approx(expected)
    assert table.balls[row] == 3
    assert table.row("Bea") == -1
    rating, balls = table.look_up(np.array([row, -1]))
    assert rating[1].tolist() == [0] * 11
    assert balls.tolist() == [3, 0]


def test_someone_never_met_gets_zeros_and_a_flag() -> None:
    predictor = small_predictor(matches=2)
    predictor.ratings = Ratings()
    window = window_for(HISTORY[5], BallReference(1, 20), predictor)
    flags = {one.flag for one in flags_of(window, predictor, evidence=True)}
    assert {"unseen_batter", "unseen_bowler", "unseen_venue"} <= flags
    assert all(not rating.any() for rating in window.arrays.ratings.values())
    assert not any(flags.any() for flags in window.arrays.met.values())
    assert window.arrays.nodes["batsman_identity"][:, -1].all()
    met, _ = rated(HISTORY)
    predictor.ratings = met
    known = flags_of(
        window_for(HISTORY[5], BallReference(1, 20), predictor), predictor, evidence=True
    )
    assert not {"unseen_batter", "unseen_bowler", "unseen_venue"} & {one.flag for one in known}


def test_a_match_is_rated_by_earlier_matches_only() -> None:
    day = HISTORY[4].date
    same_day = dataclasses.replace(HISTORY[5], dates=HISTORY[4].dates)
    matches = [*HISTORY[:5], same_day, *HISTORY[6:]]
    _, plain = rated(matches)
    _, other = rated([match if match.date < day else scrambled(match) for match in matches])  # type: ignore[operator]  # simulated matches have dates
    compared = 0
    for one, two in zip(plain, other, strict=True):
        assert (one.match_id, one.innings) == (two.match_id, two.innings)
        date = one.match.date
        if day is not None and date is not None and date <= day:
            compared += 1
            for name in one.arrays.ratings:
                assert np.array_equal(one.arrays.ratings[name], two.arrays.ratings[name])
            for name in one.arrays.nodes:
                assert np.array_equal(one.arrays.nodes[name], two.arrays.nodes[name])
    assert compared == 12
    assert not np.array_equal(plain[-1].arrays.ratings["era"], other[-1].arrays.ratings["era"])
    assert any(one.arrays.ratings["striker"].any() for one in plain[:12])
    assert not plain[0].arrays.ratings["striker"].any()


def timeline(until: int, history: list[Match]) -> Timeline:
    """Over a predictor whose own ratings run to the first ``until`` matches."""
    ratings, _ = rated(HISTORY[:until])
    predictor = dataclasses.replace(small_predictor(matches=1), base=BASE, ratings=ratings)
    return Timeline(predictor, history)


@pytest.mark.parametrize("until", [2, 8])
def test_a_timeline_equals_ratings_from_scratch(until: int) -> None:
    line = timeline(until, HISTORY)
    for number in (5, 7, 3, 6):
        expected, _ = rated(HISTORY[:number])
        found = line.predictor_for(HISTORY[number]).ratings
        assert table_of(found) == table_of(expected)
        assert found.until == HISTORY[number - 1].date
    assert line.predictor_for(dataclasses.replace(HISTORY[3], dates=())).ratings.until == (
        HISTORY[until - 1].date
    )


def test_a_predictor_of_one_date_stays_as_it_is_when_another_is_asked_for() -> None:
    line = timeline(8, HISTORY)
    early = line.predictor_for(HISTORY[3])
    before = table_of(early.ratings)
    line.predictor_for(HISTORY[7])
    assert table_of(early.ratings) == before
    assert early.ratings.until == HISTORY[2].date


@pytest.mark.parametrize("until", [2, 5, 8])
def test_a_history_with_the_match_in_it_does_not_leak_it(until: int) -> None:
    match = HISTORY[5]
    changed = [*HISTORY[:5], *map(scrambled, HISTORY[5:])]
    encoded = [
        arrays_of(timeline(min(until, 5) if until < 8 else 8, history).predictor_for(match), match)
        for history in (HISTORY, changed, HISTORY[:5])
    ]
    for other in encoded[1:]:
        for name, rating in encoded[0].ratings.items():
            assert np.array_equal(rating, other.ratings[name])
        for name, features in encoded[0].nodes.items():
            assert np.array_equal(features, other.nodes[name])


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TrainedPredictor]:
    predictor = small_predictor(matches=5)
    path = tmp_path_factory.mktemp("checkpoint") / "mine.safetensors"
    save_predictor(path, predictor)
    return path, predictor


def test_a_predictor_comes_back_from_disk(saved: tuple[Path, TrainedPredictor]) -> None:
    path, predictor = saved
    back = load_predictor(path)
    assert (back.name, len(back.sha256), back.card) == ("mine", 64, predictor.card)
    assert back.model.sizes == predictor.model.sizes
    assert list(back.model.within_ball.graph.items()) == list(
        predictor.model.within_ball.graph.items()
    )
    assert not back.model.training
    for name, value in predictor.model.state_dict().items():
        assert torch.equal(back.model.state_dict()[name], value)
    assert back.ratings.until == predictor.ratings.until
    assert back.ratings.aliases == predictor.ratings.aliases
    for kind in KINDS:
        old, new = predictor.ratings.tables[kind.name], back.ratings.tables[kind.name]
        rows = len(old.keys)
        assert new.keys == old.keys
        assert rows > 0
        assert np.array_equal(new.balls, old.balls[:rows])
        np.testing.assert_allclose(new.rating, old.rating[:rows], rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(new.precision, old.precision[:rows], rtol=1e-3)
    match = HISTORY[6]
    before, after = (
        probabilities(one.model, window_batch(arrays_of(one, match), 50))
        for one in (predictor, back)
    )
    np.testing.assert_allclose(before, after, atol=1e-3)
    # Ratings that were loaded go on learning, also of players they have not met.
    rate_and_encode([match], back.base, back.ratings)
    assert back.ratings.until == match.date


def one_line(path: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        load_predictor(path)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(f"{path}: ")
    return text.removeprefix(f"{path}: ")


def test_a_file_that_is_no_checkpoint_gives_one_line(
    saved: tuple[Path, TrainedPredictor], tmp_path: Path
) -> None:
    remedy = "; give a file that `attnlens lab train` wrote, or leave --model out"
    assert one_line(tmp_path / "none.safetensors") == "no such checkpoint" + remedy
    assert one_line(tmp_path) == "is a directory, not a checkpoint" + remedy
    for name, data in (
        ("cut.safetensors", saved[0].read_bytes()[:5000]),
        ("short.safetensors", saved[0].read_bytes()[:-1]),
        ("empty.safetensors", b""),
        ("text.safetensors", b"hello, this is no checkpoint\n" * 9),
    ):
        (tmp_path / name).write_bytes(data)
        assert one_line(tmp_path / name) == "is not a safetensors checkpoint" + remedy
    foreign = tmp_path / "foreign.safetensors"
    save_file({"a": torch.zeros(3)}, foreign)
    assert one_line(foreign) == "was not written by attnlens" + remedy
