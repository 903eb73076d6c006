"""Contributions to a ball: exact, of the right balls and knowledge, and told by time and ball."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from small_predictors import probabilities, simulated, small_predictor, with_hidden

from attnlens.cricket.explain.ablation import under_knowledge
from attnlens.cricket.explain.claims import baseline_only, contributions_of, groups_of
from attnlens.cricket.explain.explain_ball import explain_ball
from attnlens.cricket.match.match import OUTCOMES
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.predictor.predictor import KNOWLEDGE
from attnlens.cricket.predictor.window import window_for

Floats = NDArray[np.float64]
PREDICTOR = small_predictor(seed=8)
MATCHES = [simulated(seed) for seed in (40, 41)]
BALL = BallReference(2, 60)
LEFT_OUT = 3


@settings(max_examples=5, deadline=None)
@given(which=st.integers(0, 1), innings=st.integers(1, 2), place=st.floats(0, 1))
def test_contributions_sum_to_what_changed(which: int, innings: int, place: float) -> None:
    match = MATCHES[which]
    count = len(match.innings[innings - 1].deliveries)
    window = window_for(match, BallReference(innings, 1 + int(place * (count - 1))), PREDICTOR)
    shared = contributions_of(PREDICTOR, window)
    baseline, names, table = shared.baseline, shared.groups, shared.table
    full = probabilities(PREDICTOR.model, window.batch)[0, 0]
    assert len(names) == len(table) == 10
    np.testing.assert_allclose(table.sum(0), full - baseline, atol=1e-6)
    np.testing.assert_allclose(table.sum(1), 0, atol=1e-6)
    np.testing.assert_allclose(baseline, baseline_only(PREDICTOR, window), atol=1e-6)


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return explain_ball(MATCHES[0], BALL, PREDICTOR, outcome="all").to_dict()


def test_the_greatest_balls_of_a_group_are_told_with_what_each_adds() -> None:
    data = explain_ball(MATCHES[0], BALL, PREDICTOR).to_dict()
    window = window_for(MATCHES[0], BALL, PREDICTOR)
    full = probabilities(PREDICTOR.model, window.batch)[0, 0]
    effects = {row["index"]: row["effect_nats"] for row in data["past_balls"]}
    members = groups_of(window)
    listed = 0
    for group in data["contributions"]:
        indices = [ball["index"] for ball in group["balls"]]
        inside = [window.past[place].index for place in members.get(group["group"], [])]
        assert len(indices) == min(LEFT_OUT, len(inside))
        assert set(indices) <= set(inside) & set(effects)
        known = [effects[index] for index in inside if index in effects]
        assert not known or effects[indices[0]] == max(known)
        for ball in group["balls"]:
            listed += 1
            without = probabilities(PREDICTOR.model, with_hidden(window.batch, [ball["index"] - 1]))
            found = [entry["points"] for entry in ball["points"]]
            np.testing.assert_allclose(found, 100 * (full - without[0, 0]), atol=1e-4)
    assert listed >= 6


def test_one_outcome_has_its_own_answer(whole: dict[str, Any]) -> None:
    four = explain_ball(MATCHES[0], BALL, PREDICTOR, outcome="4").to_dict()
    place = OUTCOMES.index("4")
    assert (whole["prediction"]["explained"], four["prediction"]["explained"]) == (None, "4")
    assert four["prediction"]["outcomes"] == whole["prediction"]["outcomes"]
    before = four["prediction"]["outcomes"][place]["probability"]
    for one, other in zip(four["evidence"], whole["evidence"], strict=True):
        # The claim that boundaries raise the probability of another is about four and six.
        assert one["claim"] == other["claim"].removesuffix(" raise the probability of another")
        assert one["removed"] == other["removed"]
        assert one["changes"] == other["changes"]
        top = one["top_change"]
        assert (top["outcome"], top["before"]) == ("4", before)
        after = top["after"]
        nats = before * np.log(before / after) + (1 - before) * np.log((1 - before) / (1 - after))
        assert one["effect_nats"] == pytest.approx(nats, abs=2e-7, rel=0.02)
        log_odds = np.log(before / (1 - before)) - np.log(after / (1 - after))
        assert one["effect_log_odds"] == pytest.approx(log_odds, abs=2e-4)
        assert one["effect_nats"] <= other["effect_nats"] + 1e-9
        if one["verdict"] == "supported":
            assert one["effect_nats"] >= 0.0005 or abs(one["changes"][place]["points"]) >= 0.5
    for one, other in zip(four["contributions"], whole["contributions"], strict=True):
        assert (one["group"], one["points"]) == (other["group"], other["points"])


def test_every_group_is_hidden_by_its_own_items() -> None:
    """What the parts are worked out from; `test_claims.py` compares them with Captum's."""
    window = window_for(MATCHES[0], BALL, PREDICTOR)
    shared, members = contributions_of(PREDICTOR, window), groups_of(window)
    assert len(shared.played) > 8
    for number, group in enumerate(shared.played):
        visible = np.array([at not in members.get(group, ()) for at in range(len(window.past))])
        knowledge = {name: np.array([name != group]) for name in KNOWLEDGE}
        without = under_knowledge(PREDICTOR.model, window.batch, visible[None], knowledge)[0]
        np.testing.assert_allclose(shared.values[-1 - 2**number], without, atol=1e-6)
        assert np.abs(without - shared.full).max() > 1e-5
