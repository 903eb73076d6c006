"""What is measured of heads, each figure against a computation of its own."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from command_line import SCALES
from small_predictors import arrays_of, simulated, small_model, small_predictor

from attnlens.attention import heads as shares_of
from attnlens.cricket.explain.reading import SITES, bias_shares, scale_attention
from attnlens.cricket.lab import head_study
from attnlens.cricket.lab.head_study import RECENCY_BALLS, HeadStudy, name_head
from attnlens.cricket.lab.held_out import EncodedInnings
from attnlens.cricket.lab.sampling import encoded_past, probabilities, sample_balls
from attnlens.cricket.predictor.predictor import FullModel
from attnlens.cricket.predictor.relations import RELATIONS, RelationAttention
from attnlens.cricket.predictor.scales import WindowBall
from attnlens.cricket.predictor.window import BallWindow, cut_window
from attnlens.evidence.verdict import MIN_LIFT
from attnlens.recording import record

PREDICTOR = small_predictor()
SEED, BALLS = 7, 24
HELD_OUT = range(6, 12)


@cache
def innings() -> list[EncodedInnings]:
    """Both innings of matches that the small predictor has not met, encoded."""
    return [
        EncodedInnings(match, side, arrays_of(PREDICTOR, match, side.number))
        for match in map(simulated, HELD_OUT)
        for side in match.innings[:2]
    ]


@cache
def study() -> HeadStudy:
    return HeadStudy(PREDICTOR.model, innings(), balls=BALLS, seed=SEED)


@cache
def windows() -> list[BallWindow]:
    """The sampled balls each alone, in the order of the study's rows."""
    chosen = sample_balls(innings(), BALLS, SEED)
    return [
        cut_window(side.match, side.side, side.arrays, place + 1)
        for side, places in sorted(chosen, key=lambda pair: len(pair[0].arrays))
        for place in places
    ]


def chances(model: FullModel, window: BallWindow) -> np.ndarray[Any, Any]:
    """What the model says of the window's ball, read alone."""
    with torch.no_grad():
        result: np.ndarray[Any, Any] = model(window.batch)[0, 0].double().softmax(-1).numpy()
    return result


def attention_at(site: str, model: FullModel = PREDICTOR.model) -> RelationAttention:
    attention = model.get_submodule(site)
    assert isinstance(attention, RelationAttention)
    return attention


def flags_of(balls: list[WindowBall], near: int) -> np.ndarray[Any, Any]:
    """Which relations each ball has to the current one, ``(ball, relation)``."""
    held = np.array([[name in ball.relations for name in RELATIONS] for ball in balls], float)
    held[:, 0] = 0
    held[max(len(balls) - near, 0) :, 0] = 1
    return held


# the sample


def test_balls_are_sampled_once_each_with_enough_before_them() -> None:
    chosen = sample_balls(innings(), 50, 3)
    places = [(one.match_id, id(one), place) for one, where in chosen for place in where]
    assert len(set(places)) == len(places) == 50
    assert min(place for _, _, place in places) >= 36
    assert [where for _, where in chosen] == [where for _, where in sample_balls(innings(), 50, 3)]
    assert [w for _, w in chosen] != [w for _, w in sample_balls(innings(), 50, 4)]
    everything = sum(max(len(one.arrays) - 36, 0) for one in innings())
    assert sum(len(where) for _, where in sample_balls(innings(), 10**6, 3)) == everything
    assert sample_balls([], 50, 3) == []


def test_batched_predictions_are_those_of_one_ball_at_a_time() -> None:
    sample = study().sample
    assert len(sample) == BALLS
    found = probabilities(PREDICTOR.model, sample, encoded_past(PREDICTOR.model, sample))
    for row, window in enumerate(windows()):
        np.testing.assert_allclose(found[row], chances(PREDICTOR.model, window), atol=1e-6)
        assert sample.outcomes[row] == window.arrays.outcome[len(window.past)]
        assert sample.matches[row] == window.match.match_id


# shares and lifts


def test_shares_are_those_of_each_ball_read_alone() -> None:
    passed = study().recorded
    for row, window in enumerate(windows()):
        with record(PREDICTOR.model) as recording, torch.no_grad():
            PREDICTOR.model.predict(window.batch)
        for scale in SCALES:
            entry = recording[SITES[scale]]
            carries = np.zeros(entry.weights.shape[1])
            attention = scale_attention(PREDICTOR, window, entry, scale, carries)
            looks = passed.looks[scale]
            weights = np.array(attention.rows)
            held = flags_of(list(attention.balls), RECENCY_BALLS[scale])
            with np.errstate(invalid="ignore"):  # a head may look at nothing but the ball itself
                paid = weights @ held / weights.sum(1, keepdims=True)
            at = slice(row, row + 1)
            got = shares_of.relation_shares(looks.shares[at], looks.relations[at])[0]
            np.testing.assert_allclose(got, paid, atol=1e-6)
            even = shares_of.uniform_shares(looks.relations[at], looks.visible[at])[0]
            np.testing.assert_allclose(even, held.mean(0), atol=1e-9)
            np.testing.assert_allclose(looks.self_weight[row], attention.own, atol=1e-6)
            own = np.array(bias_shares(entry), float)
            np.testing.assert_allclose(looks.bias_share[row], own, atol=1e-5)


def test_lifts_are_ratios_of_means_over_balls() -> None:
    looks = study().recorded.looks["medium"]
    for head, relation in itertools.product(range(6), range(len(RELATIONS))):
        looked = [row for row in range(BALLS) if not np.isnan(looks.shares[row, head]).any()]
        held = {row: np.flatnonzero(looks.relations[row, :, relation]) for row in looked}
        paid = [sum(looks.shares[row, head, k] for k in held[row]) for row in looked]
        even = [len(held[row]) / looks.visible[row].sum() for row in looked]
        found = study().rows["medium"][head][relation]
        if sum(even):
            assert found["lift"].value == pytest.approx(sum(paid) / sum(even), abs=1e-6)
            assert found["share"].value == pytest.approx(np.mean(paid), abs=1e-6)
        else:
            assert found["lift"].value is None


def test_shares_by_distance_know_nothing_but_distance() -> None:
    generator = np.random.default_rng(3)
    distance = np.tile(np.arange(5, 0, -1), (40, 1))
    visible = np.ones((40, 5), bool)
    profile = np.array([0.05, 0.1, 0.15, 0.3, 0.4])
    held = generator.random((40, 5, 3)) < 0.4
    by_distance = np.tile(profile, (40, 1, 1))
    # A head that also doubles what has the relation pays it more than its distances say.
    doubled = shares_of.past_shares(by_distance * (1 + held[:, None, :, 0]))
    (paid, expected), (more, by_place) = (
        (
            shares_of.relation_shares(shares, held.astype(float)),
            shares_of.shares_by_distance(shares, held.astype(float), visible, distance),
        )
        for shares in (by_distance, doubled)
    )
    np.testing.assert_allclose(paid, expected)
    assert more[..., 0].mean() / by_place[..., 0].mean() > 1.2


# importance


def outputs_of(site: str) -> np.ndarray[Any, Any]:
    """What the heads of a site put out for each sampled ball, worked out from its weights."""
    seen: list[torch.Tensor] = []
    hook = attention_at(site).to_output.register_forward_pre_hook(lambda _, i: seen.append(i[0]))
    for window in windows():
        chances(PREDICTOR.model, window)
    hook.remove()
    assert len(seen) == BALLS
    return np.stack([output.reshape(-1).double().numpy() for output in seen])


@pytest.mark.parametrize(
    ("scale", "head"), [("micro", 1), ("medium", 4), ("long", 0), ("whole", 3)]
)
def test_mean_ablation_is_a_layer_that_no_longer_hears_the_head(scale: str, head: int) -> None:
    heads = PREDICTOR.model.sizes.heads[scale]
    outputs = outputs_of(SITES[scale])
    width = outputs.shape[1] // heads
    columns = slice(head * width, (head + 1) * width)
    # The same as a hook, written as weights: the head's columns cut, its mean as a bias.
    model = small_model()
    attention = attention_at(SITES[scale], model)
    heard = attention.to_output
    assert isinstance(heard, torch.nn.Linear)
    mean = torch.from_numpy(outputs.mean(0)).float()
    deaf = torch.nn.Linear(heard.in_features, heard.out_features)
    with torch.no_grad():
        deaf.weight.copy_(heard.weight)
        deaf.weight[:, columns] = 0
        deaf.bias.copy_(heard.weight[:, columns] @ mean[columns])
    attention.to_output = deaf
    nats, rise, points = [], [], []
    for window in windows():
        full, without = chances(PREDICTOR.model, window), chances(model, window)
        actual = window.arrays.outcome[len(window.past)]
        nats.append((full * np.log(full / without)).sum())
        rise.append(np.log(full[actual] / without[actual]))
        points.append(100 * np.abs(full - without).max())
    found = study().importance(SITES[scale], head, heads)
    assert found["nats"].value == pytest.approx(np.mean(nats), rel=1e-3, abs=1e-10)
    assert found["log_loss_change"].value == pytest.approx(np.mean(rise), rel=1e-3, abs=1e-7)
    assert found["points"].value == pytest.approx(np.mean(points), rel=1e-3)
    assert np.mean(nats) > 1e-9


def test_hiding_takes_the_balls_from_one_head_alone() -> None:
    scale, head, relation = "short", 1, RELATIONS.index("same_batsman")
    probe = PREDICTOR.model.get_submodule(f"{SITES[scale]}.probe")
    nats = []
    for window in windows():
        held = np.array(["same_batsman" in ball.relations for ball in window.past[-11:]])

        def without(
            _: Any, __: Any, weights: torch.Tensor, held: np.ndarray[Any, Any] = held
        ) -> torch.Tensor:
            changed = weights.clone()
            row = changed[0, head, 0]
            row[:-1][torch.from_numpy(held)] = 0
            changed[0, head, 0] = row / row.sum()
            return changed

        full = chances(PREDICTOR.model, window)
        handle = probe.register_forward_hook(without)
        ablated = chances(PREDICTOR.model, window)
        handle.remove()
        nats.append((full * np.log(full / ablated)).sum())
    found = study().hiding(scale, head, relation)
    assert found["nats"].value == pytest.approx(np.mean(nats), rel=1e-3, abs=1e-10)
    assert found["nats"].value > 0


# names


def planted(value: float, scale: str = "medium", head: int = 4) -> HeadStudy:
    """A study of a head that looks at the same bowler and says this much of it, its values scaled.

    A model of its own, on 100 balls.
    """
    model = small_model()
    attention = attention_at(SITES[scale], model)
    rows = slice(head * attention.head_dim, (head + 1) * attention.head_dim)
    told = model.get_submodule(f"{SITES[scale]}.to_output").weight
    assert isinstance(told, torch.Tensor)
    with torch.no_grad():
        attention.bias[head] = 0
        attention.bias[head, RELATIONS.index("same_bowler")] = 6.0
        attention.to_query.weight[rows] = 0
        width = len(told[0]) // attention.num_heads
        told[:, head * width : (head + 1) * width] *= value
    return HeadStudy(model, innings(), balls=100, seed=SEED)


def lowest_lift(one: HeadStudy, head: int, relation: int) -> float:
    """The lower end of what a head of the medium scale pays a relation."""
    ends = one.rows["medium"][head][relation]["lift"].ci
    assert ends is not None
    return ends[0]


def test_a_head_earns_its_name_by_looking_and_by_mattering() -> None:
    found = {}
    same_bowler = RELATIONS.index("same_bowler")
    for name, one in (("loud", planted(12.0)), ("silent", planted(0.0))):
        assert lowest_lift(one, 4, same_bowler) > MIN_LIFT
        assert same_bowler in one.candidates("medium", 4)
        found[name] = name_head(one, "medium", 4)
        assert name_head(one, "medium", 4, thorough=False).earned == found[name].earned
    assert found["loud"].earned == "same_bowler"
    assert found["silent"].earned == "unspecialised"
    assert found["silent"].tests[same_bowler]["nats"].value == 0


@pytest.mark.parametrize(("scale", "head"), [("whole", 10), ("whole", 2), ("short", 2)])
def test_a_restricted_head_earns_the_name_of_what_it_sees_by_mattering(
    scale: str, head: int
) -> None:
    """It looks nowhere else by construction, at the last 24 balls, say, which are no relation."""
    for value in (12.0, 0.0):
        one = planted(value, scale, head)
        found = name_head(one, scale, head)
        assert found.tests == {}
        assert found.all_hidden is not None
        sees = one.sees(scale, head)
        assert found.earned == (sees if value else "unspecialised")
        assert (found.all_hidden["nats"].value > 0) == bool(value)


def test_a_head_that_knows_only_distance_earns_nothing_but_recency() -> None:
    one = planted(12.0)
    attention = attention_at(SITES["medium"], one.model)
    with torch.no_grad():
        attention.bias[4] = 0
        attention.bias[4, RELATIONS.index("recency")] = 0.6
        attention.position[4] = 0
    over = RELATIONS.index("same_over")
    assert lowest_lift(one, 4, over) > MIN_LIFT
    assert one.candidates("medium", 4) == [RELATIONS.index("recency")]
    assert one.rows["medium"][4][over]["by_distance"]["lift"].value == pytest.approx(1, abs=0.1)


def test_dealt_shares_stay_with_the_visible_keys() -> None:
    generator = np.random.default_rng(1)
    shares = generator.random((4, 3, 9))
    visible = generator.random((4, 3, 9)) < 0.5
    visible[0, 0] = False
    again = head_study.redistributed(
        np.where(visible, shares, 0.0), visible, np.random.default_rng(2)
    )
    assert (again[~visible] == 0).all()
    for place in itertools.product(range(4), range(3)):
        assert sorted(again[place][visible[place]]) == sorted(shares[place][visible[place]])
    assert not np.array_equal(again[visible], shares[visible])
