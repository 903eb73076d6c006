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
from attnlens.cricket.predictor.tensors import InningsArrays
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
        outcomes = [ball.outcome for ball in side.deliveries]
        order.shuffle(outcomes)
        pairs = zip(side.deliveries, outcomes, strict=True)
        balls = tuple(ball._replace(outcome=outcome) for ball, outcome in pairs)
        sides.append(dataclasses.replace(side, deliveries=balls))
    return dataclasses.replace(match, innings=tuple(sides))


def table_of(ratings: Ratings) -> dict[tuple[str, str], list[float]]:
    """What the ratings say of everyone they have seen play."""
    return {
        (name, key): [*table.rating[row], *table.precision[row], table.balls[row]]
        for name, table in ratings.tables.items()
        for key, row in table.keys.items()
        if table.balls[row]
    }


def same_features(one: InningsArrays, other: InningsArrays) -> None:
    for name in ("ratings", "nodes"):
        mine, theirs = getattr(one, name), getattr(other, name)
        assert all(np.array_equal(mine[key], theirs[key]) for key in mine)


def test_one_update_by_hand() -> None:
    table = RatingTable(Kind("striker", deviation=0.25, drift=0.01))
    row = table.row("Ana", create=True)
    surprise = np.zeros((3, 11), np.float32)
    surprise[:, 4] = (0.9, -0.1, 0.7)
    table.learn(np.array([row, row, row]), surprise, np.full((3, 11), 0.1, np.float32))
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
    unseen = {"unseen_batter", "unseen_bowler", "unseen_venue"}
    for ratings, flagged in ((Ratings(), unseen), (rated(HISTORY)[0], set())):
        predictor.ratings = ratings
        window = window_for(HISTORY[5], BallReference(1, 20), predictor)
        flags = {one.flag for one in flags_of(window, predictor, evidence=True)}
        assert flags & unseen == flagged
        if flagged:
            assert all(not rating.any() for rating in window.arrays.ratings.values())
            assert not any(met.any() for met in window.arrays.met.values())
            assert window.arrays.nodes["batsman_identity"][:, -1].all()


def test_a_match_is_rated_by_earlier_matches_only() -> None:
    same_day = dataclasses.replace(HISTORY[5], dates=HISTORY[4].dates)
    matches = [*HISTORY[:5], same_day, *HISTORY[6:]]
    _, plain = rated(matches)
    _, other = rated([*matches[:4], *map(scrambled, matches[4:])])
    for one, two in zip(plain, other, strict=True):
        assert (one.match_id, one.innings) == (two.match_id, two.innings)
    assert [one.match.date for one in plain[8:12]] == [HISTORY[4].date] * 4
    for one, two in zip(plain[:12], other[:12], strict=True):
        same_features(one.arrays, two.arrays)
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
    early = line.predictor_for(HISTORY[3])
    for number in (5, 7, 3, 6):
        expected, _ = rated(HISTORY[:number])
        found = line.predictor_for(HISTORY[number]).ratings
        assert table_of(found) == table_of(expected)
        assert found.until == HISTORY[number - 1].date
    undated = dataclasses.replace(HISTORY[3], dates=())
    assert line.predictor_for(undated).ratings.until == HISTORY[until - 1].date
    # A predictor of one date stays as it is when another is asked for.
    assert table_of(early.ratings) == table_of(rated(HISTORY[:3])[0])
    assert early.ratings.until == HISTORY[2].date


Saved = tuple[Path, TrainedPredictor]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    predictor = small_predictor(matches=5)
    path = tmp_path_factory.mktemp("checkpoint") / "mine.safetensors"
    save_predictor(path, predictor)
    return path, predictor


def test_a_predictor_comes_back_from_disk(saved: Saved) -> None:
    path, predictor = saved
    back = load_predictor(path)
    assert (back.name, len(back.sha256), back.card) == ("mine", 64, predictor.card)
    assert back.model.sizes == predictor.model.sizes
    graphs = [list(one.model.within_ball.graph.items()) for one in (back, predictor)]
    assert graphs[0] == graphs[1]
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


def test_a_file_that_is_no_checkpoint_gives_one_line(saved: Saved, tmp_path: Path) -> None:
    whole = saved[0].read_bytes()
    for name, data in (
        ("cut", whole[:5000]),
        ("short", whole[:-1]),
        ("empty", b""),
        ("text", b"hello, this is no checkpoint\n" * 9),
    ):
        (tmp_path / f"{name}.safetensors").write_bytes(data)
    save_file({"a": torch.zeros(3)}, tmp_path / "foreign.safetensors")
    no_checkpoint = "is not a safetensors checkpoint"
    for path, problem in (
        (tmp_path / "none.safetensors", "no such checkpoint"),
        (tmp_path, "is a directory, not a checkpoint"),
        *(
            (tmp_path / f"{name}.safetensors", no_checkpoint)
            for name in ("cut", "short", "empty", "text")
        ),
        (tmp_path / "foreign.safetensors", "was not written by attnlens"),
    ):
        with pytest.raises(CheckpointError) as caught:
            load_predictor(path)
        assert str(caught.value) == (
            f"{path}: {problem}; give a file that `attnlens lab train` wrote, or leave --model out"
        )
