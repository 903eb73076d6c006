"""What the predictor promises: a hidden ball does not exist, and the future is not told."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_predictors import (
    arrays_of,
    probabilities,
    simulated,
    small_predictor,
    told_otherwise,
    with_delivery,
    with_hidden,
)
from torch import Tensor

from attnlens.cricket.explain.ablation import under_knowledge, under_masks
from attnlens.cricket.match.match import Facts, Match, Wicket
from attnlens.cricket.predictor.predictor import KNOWLEDGE, Prediction
from attnlens.cricket.predictor.relations import RELATIONS, Balls, mapped, relate, relate_overs
from attnlens.cricket.predictor.temporal import SLOTS, slot_masks
from attnlens.cricket.predictor.tensors import InningsArrays
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import training_batch, truncate, window_batch

POSITION = 61
PREDICTOR, FEWER_MATCHES = small_predictor(), small_predictor(matches=2)
MATCH = simulated(11)
ARRAYS = arrays_of(PREDICTOR, MATCH)
RINGER = MATCH.innings[1].deliveries[0].non_striker


def everything(result: Prediction) -> dict[str, Tensor]:
    """All that one pass returns, by name."""
    return {
        "logits": result.logits,
        "gates": result.gates,
        "slots": result.slots,
        "slot_counts": result.slot_counts,
        **{f"scale {name}": value for name, value in result.scales.items()},
        **{f"within {name}": value for name, value in result.within.items()},
    }


def run(batch: dict[str, Any], predictor: TrainedPredictor = PREDICTOR) -> dict[str, Tensor]:
    with torch.no_grad():
        return everything(predictor.model.predict(batch))


def differing(one: dict[str, Tensor], other: dict[str, Tensor]) -> set[str]:
    assert one.keys() == other.keys()
    return {name for name in one if not torch.equal(one[name], other[name])}


@pytest.mark.parametrize("keys", [[POSITION - 4], [POSITION - 50], [*range(0, POSITION, 2)]])
def test_a_hidden_ball_tells_nothing_to_any_ball_of_a_whole_innings(keys: list[int]) -> None:
    batch, _ = training_batch([ARRAYS])
    # The changed balls stay who they are as current balls.
    hidden = with_hidden(batch, keys)
    assert not differing(run(hidden), run(told_otherwise(hidden, keys)))
    assert "logits" in differing(run(batch), run(told_otherwise(batch, keys)))


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_set_of_hidden_balls_tells_anything(data: st.DataObject) -> None:
    match = simulated(data.draw(st.integers(20, 23)))
    arrays = arrays_of(FEWER_MATCHES, match, data.draw(st.integers(1, 2)))
    position = data.draw(st.integers(1, len(arrays) - 1))
    keys = data.draw(st.lists(st.integers(0, position - 1), min_size=1, unique=True))
    seed = data.draw(st.integers(0, 99))
    batch = window_batch(arrays, position)
    # The same change is felt where the balls are visible: the test can fail.
    for given_batch, felt in ((batch, True), (with_hidden(batch, keys), False)):
        other = told_otherwise(given_batch, keys, seed)
        assert felt == bool(differing(*(run(one, FEWER_MATCHES) for one in (given_batch, other))))


@pytest.mark.parametrize("index", [1, 30, POSITION - 3])
def test_a_hidden_ball_of_the_file_tells_nothing(index: int) -> None:
    """A no-ball for six by another bowler: the ball after it was a free hit, a chance of runs."""

    def outputs(one: Match, hide: list[int]) -> dict[str, Tensor]:
        return run(with_hidden(window_batch(arrays_of(PREDICTOR, one), POSITION), hide))

    six = {"outcome": "nb", "runs_batter": 6, "runs_extras": 1, "runs_total": 7}
    by_other = {"extras": Facts(noballs=1), "wickets": (), "bowler": RINGER}
    other = with_delivery(MATCH, 1, index, **six, **by_other)
    assert not differing(outputs(MATCH, [index - 1]), outputs(other, [index - 1]))
    assert "logits" in differing(outputs(MATCH, []), outputs(other, []))


def test_relations_are_over_visible_balls_only() -> None:
    flags = torch.zeros(1, 6, dtype=torch.bool)
    wicket, boundary = flags.clone(), flags.clone()
    wicket[0, 1] = True
    boundary[0, [3, 5]] = True
    number = torch.arange(6)[None]
    past = Balls(number, number // 3, number % 3 + 1, number, number, number % 2, wicket, boundary)
    past = dataclasses.replace(past, dot=~boundary, last_in_over=number % 3 == 2)
    one = torch.full((1, 1), 6)
    now = Balls(one, one // 3, one % 3 + 1, one % 2, one, one % 2)
    visible = torch.ones(1, 3, 6, dtype=torch.bool)
    visible[0, 1, 1] = False
    visible[0, 2, 5] = False
    many = mapped(now, lambda tensor: tensor.expand(1, 3))
    table = relate(many, past, visible)

    expected = {
        (0, "recency"): [-6, -5, -4, -3, -2, -1],
        (0, "wicket_adjacent"): [1, 1, 1, 0, 0, 0],
        (0, "boundary_cluster"): [0, 0, 0, 1, 0, 1],
        (0, "boundary"): [0, 0, 0, 1, 0, 1],
        (0, "same_bowler"): [1, 0, 1, 0, 1, 0],
        (0, "same_batsman"): [1, 0, 0, 0, 0, 0],
        (0, "same_matchup"): [1, 0, 0, 0, 0, 0],
        (0, "same_over"): [0, 0, 0, 0, 0, 0],
        (0, "over_boundary"): [1, 0, 1, 1, 0, 1],
        (1, "recency"): [-6, 0, -4, -3, -2, -1],
        (1, "wicket_adjacent"): [0, 0, 0, 0, 0, 0],
        (2, "boundary_cluster"): [0, 0, 0, 0, 0, 0],
        (2, "boundary"): [0, 0, 0, 1, 0, 0],
    }
    for (query, relation), row in expected.items():
        assert table[0, query, :, RELATIONS.index(relation)].tolist() == row, (query, relation)

    membership = torch.nn.functional.one_hot(past.over, 2).float()
    overs = relate_overs(table, visible, membership, many.over)
    assert overs[0, :, :, RELATIONS.index("recency")].tolist() == [[-2, -1]] * 3
    by_over = overs[0, :, :, RELATIONS.index("same_bowler")]
    torch.testing.assert_close(by_over[0], torch.tensor([2 / 3, 1 / 3]))
    torch.testing.assert_close(by_over[1], torch.tensor([1.0, 1 / 3]))


def test_slots_read_the_balls_they_are_named_after() -> None:
    sequence = window_batch(ARRAYS, POSITION)["sequence"]
    masks = slot_masks(sequence["now"], sequence["balls"], sequence["visible"])[0, :, 0]
    back = POSITION - np.arange(POSITION)
    batter = ARRAYS.batter[:POSITION] == ARRAYS.batter[POSITION]
    bowler = ARRAYS.bowler[:POSITION] == ARRAYS.bowler[POSITION]
    ends = zip(ARRAYS.batter.tolist(), ARRAYS.non_striker.tolist(), strict=True)
    pairs = [set(both) for both in ends]
    expected = {
        "batsman_state": batter,
        "bowler_state": bowler,
        "partnership": np.array([pair == pairs[POSITION] for pair in pairs[:POSITION]]),
        "batting_momentum": back <= 12,
        "bowling_momentum": bowler & (back <= 24),
        "pressure_index": back <= 24,
        "dot_ball_pressure": ARRAYS.dot[:POSITION] & (back <= 12),
    }
    for number, name in enumerate(SLOTS):
        assert masks[number].tolist() == expected[name].tolist(), name


def test_with_all_the_past_hidden_it_is_an_innings_that_starts_here() -> None:
    batch = window_batch(ARRAYS, POSITION)
    nothing = run(with_hidden(batch, list(range(POSITION))))

    def tail(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: part[POSITION:] for key, part in value.items()}
        return value[POSITION:]

    cut = InningsArrays(**{name: tail(getattr(ARRAYS, name)) for name in InningsArrays.__slots__})
    alone = run(window_batch(cut, 0))
    for name in ("logits", "gates"):
        torch.testing.assert_close(nothing[name], alone[name], atol=1e-6, rtol=0)
    assert not nothing["slots"].any()
    assert not nothing["slot_counts"].any()
    for scale in ("micro", "short", "medium", "long"):
        assert not nothing[f"scale {scale}"][..., :-1].any()
        assert (nothing[f"scale {scale}"][..., -1] == 1).all()
    assert not torch.allclose(nothing["logits"], run(batch)["logits"], atol=1e-3)


def from_ball_on(match: Match, index: int) -> list[tuple[str, Match]]:
    """The match with other things happening on ball ``index`` and after it."""
    side = match.innings[0]
    ball = side.deliveries[index - 1]
    six = {"outcome": "6", "runs_batter": 6, "runs_total": 6, "runs_extras": 0}
    out = {"outcome": "W", "wickets": (Wicket("bowled", ball.batter),), "runs_total": 0}
    wide = {"outcome": "wd", "extras": Facts(wides=5), "runs_extras": 5, "is_legal": False}
    swapped = {"bowler": ball.batter, "batter": ball.bowler, "over": 40}
    changes = [(index, six), (index, out), (index, wide)]
    changes += [(index + 1, out), (index + 1, wide), (index + 1, swapped)]
    cut = dataclasses.replace(side, deliveries=side.deliveries[:index])
    return [
        *((f"{at}: {change}", with_delivery(match, 1, at, **change)) for at, change in changes),
        ("nothing after it", dataclasses.replace(match, innings=(cut,))),
        ("another result", dataclasses.replace(match, outcome=Facts(winner="Nobody"))),
        ("no second innings", dataclasses.replace(match, innings=match.innings[:1])),
    ]


@pytest.mark.parametrize("index", [1, 2, 37, 80])
def test_nothing_from_the_ball_on_reaches_its_prediction(index: int) -> None:
    def outputs(one: Match) -> dict[str, Tensor]:
        return run(window_batch(arrays_of(PREDICTOR, one), index - 1))

    def in_one_pass(one: Match) -> np.ndarray[Any, Any]:
        batch, _ = training_batch([arrays_of(PREDICTOR, one)])
        return probabilities(PREDICTOR.model, batch)[0, :index]

    plain, whole = outputs(MATCH), in_one_pass(MATCH)
    for name, other in from_ball_on(MATCH, index):
        found = outputs(other)
        if len(other.innings[0].deliveries) == len(MATCH.innings[0].deliveries):
            assert not differing(plain, found), name
        # A shorter file makes smaller matrix products, which round differently.
        torch.testing.assert_close(plain["logits"], found["logits"], atol=1e-6, rtol=0)
        np.testing.assert_allclose(in_one_pass(other), whole, atol=1e-6, err_msg=name)
    if index > 1:
        earlier = with_delivery(MATCH, 1, index - 1, over=0, label="x", bowler=RINGER)
        assert "logits" in differing(plain, outputs(earlier))


@pytest.mark.parametrize("innings", [1, 2])
def test_one_ball_at_a_time_equals_the_whole_innings(innings: int) -> None:
    arrays = arrays_of(PREDICTOR, MATCH, innings)
    whole = probabilities(PREDICTOR.model, training_batch([arrays])[0])[0]
    for position in (0, 1, 5, 6, 12, 36, 59, len(arrays) - 1):
        alone = probabilities(PREDICTOR.model, window_batch(arrays, position))[0, 0]
        np.testing.assert_allclose(alone, whole[position], atol=1e-5)
        assert abs(alone.sum() - 1) < 1e-12
    assert np.ptp(whole, axis=0).max() > 0.01


def test_padding_in_a_batch_changes_nothing() -> None:
    several = [ARRAYS, arrays_of(PREDICTOR, MATCH, 2), truncate(ARRAYS, 9)]
    together, outcomes = training_batch(several)
    found = probabilities(PREDICTOR.model, together)
    assert found.shape == (3, max(map(len, several)), 11)
    for row, arrays in enumerate(several):
        alone = probabilities(PREDICTOR.model, training_batch([arrays])[0])[0]
        np.testing.assert_allclose(found[row, : len(arrays)], alone, atol=1e-6)
        assert outcomes[row].tolist() == [*arrays.outcome, *[-1] * (found.shape[1] - len(arrays))]


def test_a_record_is_forgotten_wherever_it_is_told() -> None:
    """What a player's ratings say moves nothing once that player's record is taken away."""
    batch = window_batch(ARRAYS, POSITION)
    flags = {group: np.array([group != "bowler's record", True]) for group in KNOWLEDGE}
    visible = np.ones((2, POSITION), bool)
    other = copy.deepcopy(ARRAYS)
    his = ARRAYS.bowler == ARRAYS.bowler[POSITION]
    other.ratings["bowler"][his] += 1
    other.nodes["bowler_identity"][his] += 1
    plain, changed = (
        under_knowledge(PREDICTOR.model, one, visible, flags)
        for one in (batch, window_batch(other, POSITION))
    )
    assert np.array_equal(plain[0], changed[0])
    assert not np.allclose(plain[1], changed[1], atol=1e-3)
    full = under_masks(PREDICTOR.model, batch, visible[:1])
    np.testing.assert_allclose(plain[1], full[0], atol=1e-6)
