"""What the predictor promises: a hidden ball does not exist, and the future is not told."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

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
from torch import Tensor, nn

from attnlens.attention.heads import keys_hidden
from attnlens.cricket.explain.ablation import under_knowledge, under_masks
from attnlens.cricket.explain.reading import SITES
from attnlens.cricket.match.match import (
    OUTCOME_INDEX,
    OUTCOMES,
    Delivery,
    Facts,
    Innings,
    Match,
    Wicket,
)
from attnlens.cricket.predictor.predictor import BLOCK, KNOWLEDGE, Prediction
from attnlens.cricket.predictor.ratings import KINDS
from attnlens.cricket.predictor.relations import (
    RELATIONS,
    Balls,
    RelationAttention,
    mapped,
    relate,
    relate_overs,
    take,
)
from attnlens.cricket.predictor.temporal import HEADS, WHOLE_RELATIONS
from attnlens.cricket.predictor.tensors import TODAY_DEVIATION, InningsArrays, rate_today
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import training_batch, truncate, window_batch
from attnlens.cricket.readers import read_match

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
    past = dataclasses.replace(past, last_in_over=number % 3 == 2)
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


@dataclass
class Stranger:
    """A delivery as no reader would make it."""

    over: int
    batter: int
    non_striker: int
    bowler: int
    outcome: str
    boundary: bool


Bowled: TypeAlias = Delivery | Stranger


def sees(name: str, now: int, key: int, balls: Sequence[Bowled], visible: set[int]) -> bool:
    """Whether a head of this relation sees delivery ``key`` when asked about delivery ``now``."""
    ball, past = balls[now], balls[key]
    pairs = [Counter((one.batter, one.non_striker)) for one in (ball, past)]
    beside = [balls[near] for near in (key - 1, key, key + 1) if near in visible]
    overs = [balls[near].over for near in (key - 1, key + 1) if near >= 0]
    return {
        "same_batsman": past.batter == ball.batter,
        "same_bowler": past.bowler == ball.bowler,
        "same_matchup": (past.batter, past.bowler) == (ball.batter, ball.bowler),
        "same_stand": pairs[0] == pairs[1],
        "last_12": now - key <= 12,
        "last_24": now - key <= 24,
        "over_boundary": key == 0 or set(overs) != {past.over},
        "wicket_adjacent": any(one.outcome == "W" for one in beside),
        "boundary": past.boundary,
    }[name]


def looked_at(innings: Sequence[Bowled], now: int, visible: set[int]) -> dict[str, list[int]]:
    """The past balls that each head of the scale ``whole`` should see, by what it is named for."""
    return {
        name: [key for key in sorted(visible) if sees(name, now, key, innings, visible)]
        for name in WHOLE_RELATIONS
    }


def seen(weights: Tensor) -> dict[str, list[int]]:
    """The past balls ``(head, key + 1)`` that have a weight, by head."""
    return {
        name: np.flatnonzero(row[:-1]).tolist()
        for name, row in zip(WHOLE_RELATIONS, weights, strict=True)
    }


STRANGERS = st.builds(
    Stranger,
    over=st.integers(0, 1),
    **{name: st.integers(0, 2) for name in ("batter", "non_striker", "bowler")},
    outcome=st.sampled_from("0W"),
    boundary=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), innings=st.lists(STRANGERS, min_size=2, max_size=40))
def test_a_head_of_the_whole_innings_sees_its_relation_alone(
    data: st.DataObject, innings: list[Stranger]
) -> None:
    """Batters that cross, a man at both ends, one over that comes back, hidden neighbours."""
    for before, ball in itertools.pairwise(innings):
        ball.over += before.over * data.draw(st.booleans())
    now = len(innings) - 1
    visible = data.draw(st.sets(st.integers(0, now - 1)))
    starts = [0, *(at for at in range(1, now + 1) if innings[at].over != innings[at - 1].over)]
    in_over = [at - max(start for start in starts if start <= at) + 1 for at in range(now + 1)]
    columns = {
        name: torch.tensor([[getattr(ball, name) for ball in innings]])
        for name in ("over", "batter", "non_striker", "bowler", "boundary")
    }
    columns["wicket"] = torch.tensor([[ball.outcome == "W" for ball in innings]])
    columns |= {"index": torch.arange(now + 1)[None], "ball_in_over": torch.tensor([in_over])}
    last = torch.tensor([[at + 1 in starts for at in range(now + 1)]])
    everybody = Balls(**columns, last_in_over=last)
    current, past = take(everybody, [now]), take(everybody, slice(0, now))
    shown = torch.tensor([[[key in visible for key in range(now)]]])
    attention = RelationAttention(4, len(WHOLE_RELATIONS), null=1.5, only=WHOLE_RELATIONS)
    with torch.no_grad():
        _, weights = attention(
            torch.ones(1, 1, 4),
            torch.ones(1, now, 4),
            relate(current, past, shown),
            ~shown[:, None],
        )
    assert seen(weights[0, :, 0]) == looked_at(innings, now, visible)
    assert (weights[..., -1] > 0).all()


@pytest.mark.parametrize("name", ["json/t20i_women/1150537.json", "csv2_22col/t20i/1462882.csv"])
def test_heads_see_their_relation_in_real_matches(shared_data: Path, name: str) -> None:
    """Penalty runs; an over of seven balls."""
    match = read_match(shared_data / "formats" / name)
    for side in match.innings[:2]:
        arrays = arrays_of(PREDICTOR, match, side.number)
        for now in {1, 13, 37, len(side.deliveries) - 1}:
            whole = run(window_batch(arrays, now))["scale whole"][0, :, 0]
            assert seen(whole) == looked_at(side.deliveries, now, set(range(now)))


@settings(max_examples=40, deadline=None)
@given(
    balls=st.integers(0, 30),
    hidden=st.integers(0, 29),
    null=st.floats(-3, 4, allow_nan=False),
)
def test_a_head_that_counts_passes_on_how_many_balls_it_saw(
    balls: int, hidden: int, null: float
) -> None:
    """n balls get n / (n + e^null) of even attention, and log(1 + n e^-null) is passed on."""
    attention = RelationAttention(8, 2, null=null)
    nn.init.zeros_(attention.to_query.weight)
    key = torch.randn(1, balls, 8, generator=torch.Generator().manual_seed(balls))
    mask = torch.zeros(1, 1, 1, balls, dtype=torch.bool)
    mask[..., :hidden] = True
    relations = torch.zeros(1, 1, balls, len(RELATIONS))
    passed: list[Tensor] = []
    attention.to_output.register_forward_pre_hook(lambda _, inputs: passed.extend(inputs))
    with torch.no_grad():
        _, weights = attention(torch.ones(1, 1, 8), key, relations, mask)
    n = max(balls - hidden, 0)
    share = n / (n + math.exp(null))
    near = partial(torch.testing.assert_close, atol=1e-5, rtol=1e-5)
    near(weights[..., -1], torch.full((1, 2, 1), 1 - share))
    count = math.log(1 + n * math.exp(-null))
    near(passed[0], torch.full((1, 1, 2), count))


@pytest.mark.parametrize("length", [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 7])
def test_queries_in_blocks_give_the_numbers_of_one_pass(length: int) -> None:
    batch, _ = training_batch([truncate(ARRAYS, length)])
    with torch.no_grad():
        blocks = PREDICTOR.model(batch)
    torch.testing.assert_close(blocks, run(batch)["logits"], atol=1e-5, rtol=0)


@pytest.mark.parametrize("position", [1, 7, POSITION, 110])
def test_the_past_reaches_the_prediction_through_heads_alone(position: int) -> None:
    """With the past hidden from every head, but from nothing else, it is as if there were none."""
    batch = window_batch(ARRAYS, position)
    full, empty = run(batch), run(with_hidden(batch, list(range(position))))["logits"]
    heads = [(scale, head) for scale, count in HEADS.items() for head in range(count)]

    def without(hidden: list[tuple[str, int]]) -> Tensor:
        with ExitStack() as stack:
            for scale, head in hidden:
                probe = PREDICTOR.model.get_submodule(f"{SITES[scale]}.probe")
                past = torch.ones_like(full[f"scale {scale}"][:, 0, :, :-1])
                stack.enter_context(keys_hidden(probe, head, past))
            return run(batch)["logits"]

    torch.testing.assert_close(without(heads), empty, atol=1e-5, rtol=0)
    assert not torch.allclose(full["logits"], empty, atol=1e-3)
    for scale, head in heads if position == POSITION else ():
        if full[f"scale {scale}"][0, head, 0, :-1].sum() < 0.01:
            continue  # it looks at nothing
        others = [one for one in heads if one != (scale, head)]
        assert not torch.allclose(without(others), empty, atol=1e-5, rtol=0), (scale, head)


def test_in_some_innings_of_training_only_the_whole_scale_sees_past_balls() -> None:
    batch, _ = training_batch([truncate(ARRAYS, 60)] * 2)
    plain = run(batch)
    batch["sequence"]["in_windows"] = torch.tensor([True, False])
    some = run(batch)
    for scale in SITES:
        weights, before = some[f"scale {scale}"], plain[f"scale {scale}"]
        torch.testing.assert_close(weights[0], before[0])
        assert bool(weights[1, ..., :-1].any()) == (scale == "whole")
    torch.testing.assert_close(some["scale whole"], plain["scale whole"])


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
    for scale in HEADS:
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


def test_todays_rating_is_one_newton_step_by_hand() -> None:
    side = MATCH.innings[0]
    today, balls = rate_today(MATCH, MATCH.innings[1], PREDICTOR.ratings, PREDICTOR.base)
    assert balls == len(side.deliveries)
    parts = PREDICTOR.ratings.parts(PREDICTOR.ratings.entities(MATCH, side))
    logits = PREDICTOR.base.of_innings(MATCH, side).astype(float)
    logits = logits + sum(parts[kind.name].astype(float) for kind in KINDS)
    gained = np.zeros(len(OUTCOMES))
    known = np.full(len(OUTCOMES), 1 / TODAY_DEVIATION**2)
    for ball, row in zip(side.deliveries, logits, strict=True):
        expected = np.exp(row - np.logaddexp.reduce(row))
        gained -= expected
        gained[OUTCOME_INDEX[ball.outcome]] += 1
        known += expected * (1 - expected)
    np.testing.assert_allclose(today, gained / known, rtol=2e-4, atol=2e-5)
    assert np.abs(today).max() > 0.01


def test_today_tells_earlier_innings_alone() -> None:
    """Of the first innings nothing, of the second what the first one did, and no super over."""
    assert not arrays_of(PREDICTOR, MATCH, 1).ratings["today"].any()
    second = arrays_of(PREDICTOR, MATCH, 2).ratings["today"]
    assert second.any()
    assert (second == second[0]).all()
    first, chase = MATCH.innings

    def today(*innings: Innings) -> tuple[np.ndarray[Any, Any], float]:
        match = dataclasses.replace(MATCH, innings=innings)
        return rate_today(match, innings[1], PREDICTOR.ratings, PREDICTOR.base)

    shorter = dataclasses.replace(chase, deliveries=chase.deliveries[:10])
    np.testing.assert_array_equal(today(first, shorter)[0], today(first, chase)[0])
    rating, balls = today(dataclasses.replace(first, super_over=True), chase)
    assert balls == 0
    assert not rating.any()
