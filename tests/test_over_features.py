"""What the encoder-decoder is told: nothing of the over itself, and what the names say."""

from __future__ import annotations

import dataclasses
from collections import Counter
from functools import lru_cache
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from overs import SIZES, small_overs
from small_predictors import simulated

from attnlens.cricket.match.match import OUTCOMES, Innings, Match, Player
from attnlens.cricket.match.naming import at_the_crease
from attnlens.cricket.over.features import (
    CONTEXT_FEATURES,
    PAST_FEATURES,
    TOKEN_INDEX,
    OverArrays,
    encode_overs,
    over_batch,
    overs_of,
    token_of,
)
from attnlens.cricket.over.next_over import TrainedOvers, find_over
from attnlens.cricket.readers import read_match

NAMES = list(PAST_FEATURES)
CONTEXT = list(CONTEXT_FEATURES)


@lru_cache
def trained() -> TrainedOvers:
    return small_overs()


def arrays_of(match: Match, innings: int = 1, over: int | None = None) -> OverArrays:
    side = next(side for side in match.innings if side.number == innings)
    return encode_overs(match, side, trained().ratings, trained().base, over=over)


def with_side(match: Match, side: Innings) -> Match:
    sides = tuple(side if one.number == side.number else one for one in match.innings)
    return dataclasses.replace(match, innings=sides)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2), innings=st.sampled_from([1, 2]), over=st.integers(0, 19))
def test_nothing_from_the_overs_first_ball_on_is_told(seed: int, innings: int, over: int) -> None:
    random = Random(seed)
    match = simulated(seed)
    side = match.innings[innings - 1]
    overs = overs_of(side)
    if over not in overs:
        return
    start = overs[over][0].index - 1
    other = simulated(seed + 10).innings[innings - 1]
    stranger = Player("Nobody Known", "ffffffff")
    later = [
        random.choice(other.deliveries)._replace(
            **{name: getattr(ball, name) for name in ("index", "over", "label")},
            batter=stranger,
            bowler=stranger,
            score_before=random.randrange(300),
            wickets_before=random.randrange(10),
            legal_balls_before=random.randrange(120),
        )
        for ball in side.deliveries[start:]
    ]
    features = []
    for balls in ((), tuple(later), side.deliveries[start:]):
        one = dataclasses.replace(side, deliveries=(*side.deliveries[:start], *balls))
        if balls:
            arrays = arrays_of(with_side(match, one), innings)
            row = arrays.over.tolist().index(over)
            features.append((arrays.history(row, SIZES.history), arrays.context[row]))
        if one.deliveries:
            arrays = arrays_of(with_side(match, one), innings, over)
            assert len(arrays) == 1
            features.append((arrays.history(0, SIZES.history), arrays.context[0]))
    for history, context in features[1:]:
        # Rows of matrices of other heights are rounded otherwise.
        np.testing.assert_allclose(history, features[0][0], atol=2e-6)
        np.testing.assert_allclose(context, features[0][1], atol=2e-6)


def test_a_past_ball_is_told_as_its_features_names_say() -> None:
    match = simulated(5)
    side = match.innings[0]
    arrays = arrays_of(match)
    row = 14
    start = int(arrays.start[row])
    past = side.deliveries[:start]
    history = arrays.history(row, 500)
    assert history.shape == (len(past), 18)
    told = dict(zip(NAMES, history.T, strict=True))
    last = past[-1]
    facing, other = at_the_crease(dataclasses.replace(side, deliveries=past), last)
    bowled = Counter(ball.bowler.key for ball in past if ball.is_legal)
    for at, ball in enumerate(past):
        expected = {
            "innings_used": ball.legal_balls_before / 120,
            "overs_ago": (14 - ball.over) / 20,
            "runs_batter": min(ball.runs_batter, 8) / 6,
            "runs_extras": min(ball.runs_extras, 8) / 4,
            "dot": ball.runs_total == 0 and ball.outcome != "W",
            "four": ball.runs_batter == 4,
            "six": ball.runs_batter == 6,
            "wicket": ball.outcome == "W",
            "wide": ball.outcome == "wd",
            "bye": ball.outcome == "bye",
            "next_striker": facing is not None and ball.batter.key == facing.key,
            "next_partner": other is not None and ball.batter.key == other.key,
            "last_bowler": ball.bowler.key == last.bowler.key,
            "bowled_out": min(bowled[ball.bowler.key] / 24, 1),
        }
        for name, value in expected.items():
            assert told[name][at] == pytest.approx(float(value), abs=1e-6), (name, at)
    chances = np.exp(arrays.base[:start].astype(float))
    place = [OUTCOMES.index(ball.outcome) for ball in past]
    surprise = -np.log(chances[range(start), place]) / 3
    np.testing.assert_allclose(told["surprise"], surprise, atol=1e-5)
    runs = chances @ [0, 1, 2, 3, 4, 5, 6, 0, 1, 1, 1]
    above = [min(ball.runs_total, 8) for ball in past] - runs
    np.testing.assert_allclose(told["runs_above"], above / 4, atol=1e-5)
    # The model sees as many as it can hold, the last ones.
    np.testing.assert_array_equal(arrays.history(row, 10), history[-10:])


def test_the_match_is_told_as_its_features_names_say() -> None:
    match = simulated(5)
    side = match.innings[1]
    arrays = arrays_of(match, 2)
    assert side.target is not None
    for row, (over, balls) in enumerate(overs_of(side).items()):
        told = dict(zip(CONTEXT, arrays.context[row].tolist(), strict=True))
        ball = balls[0]
        left = 120 - ball.legal_balls_before
        needed = side.target - ball.score_before
        expected = {
            "second": 1,
            "over": over / 20,
            "balls_left": left / 120,
            "over_length": 1,
            "score": ball.score_before / 100 - 0.8,
            "wickets": ball.wickets_before / 10,
            "required": needed / 100,
            "required_rate": min(6 * needed / left, 36) / 10,
            "powerplay": float(over < 6),
            "death": float(over >= 15),
        }
        assert {name: told[name] for name in expected} == pytest.approx(expected, abs=1e-5)
        assert -1 < told["expected_runs"] < 1
        assert 0 < told["expected_wickets"] < 1.5
    assert dict(zip(CONTEXT, arrays.context[0], strict=True))["new_batters"] == 1


def test_tokens_are_given_and_wanted_one_place_apart() -> None:
    match = simulated(2)
    arrays = arrays_of(match)
    batch = over_batch([(arrays, row) for row in range(len(arrays))], SIZES)
    for row, balls in enumerate(overs_of(match.innings[0]).values()):
        wanted = [*(TOKEN_INDEX[token_of(ball)] for ball in balls), 2][: SIZES.length]
        padding = [0] * (batch.targets.shape[1] - len(wanted))
        assert batch.targets[row].tolist() == [*wanted, *padding]
        assert batch.inputs[row, : len(wanted)].tolist() == [1, *wanted[:-1]]


def test_innings_of_every_kind_can_be_told(shared_data: Path) -> None:
    """A super over, chases cut short, a Test, overs of five balls, an over of seven."""
    archive, folder = shared_data / "t20s_male_json.zip", shared_data / "formats" / "json"
    odd = ("1289044", "412684", "423788", "1462882")
    paths = [f"{archive}::{name}.json" for name in odd]
    paths += map(str, sorted(folder.glob("hundred*/*.json"))[:1])
    paths += [str(folder / "test_men" / "225258.json")]
    shortened = False
    for match in map(read_match, paths):
        for side in match.innings:
            if not side.deliveries:
                continue
            arrays = arrays_of(match, side.number)
            for row in range(len(arrays)):
                history = arrays.history(row, 128)
                assert len(history) == min(int(arrays.start[row]), 128)
                assert np.isfinite(history).all()
            assert np.isfinite(arrays.context).all()
            told = dict(zip(CONTEXT, arrays.context.T, strict=True))
            assert (told["super_over"] == side.super_over).all()
            shortened |= bool((told["over_length"] < 0.5).any())
            last = find_over(match, f"{side.number}:last")
            assert last.before == int(arrays.start[-1])
    assert shortened
