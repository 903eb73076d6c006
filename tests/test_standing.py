"""The scorebook before a ball, what a story is about, and parts from what is usual."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from attnlens.cricket.explain.reading import subject_outcome
from attnlens.cricket.lab.simulator import simulate_match
from attnlens.cricket.match.ledger import phase_before, scorebook_before
from attnlens.cricket.match.match import OUTCOME_INDEX, OUTCOMES, Player, Wicket
from attnlens.evidence.shapley import contributions

MATCH = simulate_match(3)


def test_a_hat_trick_ball_is_the_third_of_the_bowlers_own() -> None:
    innings = MATCH.innings[0]
    bowler = innings.deliveries[0].bowler
    own = [ball for ball in innings.deliveries if ball.bowler == bowler][:4]
    for kind, said in (("bowled", True), ("run out", False)):
        out = Wicket(kind, Player("Somebody"))
        taken = {ball.index: ball._replace(wickets=(out,)) for ball in own[1:3]}
        balls = tuple(taken.get(ball.index, ball) for ball in innings.deliveries)
        changed = dataclasses.replace(innings, deliveries=balls)
        assert scorebook_before(changed, balls[own[3].index - 1]).hat_trick == said
        assert not scorebook_before(changed, balls[own[2].index - 1]).hat_trick


def test_only_twenty_over_cricket_has_phases() -> None:
    innings = MATCH.innings[0]
    balls = [innings.deliveries[0], innings.deliveries[60], innings.deliveries[-1]]
    phases = [phase_before(MATCH, innings, ball) for ball in balls]
    assert phases == ["powerplay", "middle overs", "death overs"]
    one_day = dataclasses.replace(MATCH, overs=50, innings=(innings,))
    assert phase_before(one_day, innings, balls[0]) is None
    assert phase_before(MATCH, dataclasses.replace(innings, super_over=True), balls[0]) is None


def test_a_story_is_about_what_is_furthest_from_usual_and_felt() -> None:
    usual = np.full(11, 0.02)
    usual[[OUTCOME_INDEX["0"], OUTCOME_INDEX["1"]]] = 0.41
    full = usual.copy()
    full[OUTCOME_INDEX["6"]] += 0.02
    full[OUTCOME_INDEX["0"]] -= 0.02
    assert subject_outcome(full, usual, None) == "6"
    # Five times likelier, and of no weight; nor are extras, unless by much.
    full[OUTCOME_INDEX["5"]] += 0.002
    full[OUTCOME_INDEX["wd"]] += 0.04
    assert subject_outcome(full, usual, None) == "6"
    full[OUTCOME_INDEX["wd"]] += 0.04
    assert subject_outcome(full, usual, None) == "wd"


def test_a_bowled_ball_is_about_what_came_unless_something_is_far_from_usual() -> None:
    usual = np.full(11, 0.02)
    usual[[OUTCOME_INDEX["0"], OUTCOME_INDEX["1"]]] = 0.41
    full = usual.copy()
    full[OUTCOME_INDEX["6"]] += 0.0195
    full[OUTCOME_INDEX["0"]] -= 0.0195
    came = {name: subject_outcome(full, usual, name) for name in OUTCOMES}
    # A six is noticeably, but not twice as likely; of two runs or a wide people do not talk.
    assert [came[name] for name in "W4601"] == [*"W4601"]
    assert {came[name] for name in ("2", "3", "5", "wd", "nb", "bye")} == {"1"}
    full[OUTCOME_INDEX["6"]] += 0.01
    far = {name: subject_outcome(full, usual, name) for name in OUTCOMES}
    assert far == dict.fromkeys(OUTCOMES, "6") | {"W": "W", "4": "4"}


@given(st.integers(0, 1000))
def test_some_outcome_is_always_the_storys(seed: int) -> None:
    full, usual = np.random.default_rng(seed).dirichlet(np.ones(11), 2)
    about = subject_outcome(full, usual, None)
    assert about in OUTCOMES
    assert subject_outcome(usual, usual, None) in OUTCOMES


@given(st.integers(0, 1000), st.integers(1, 5))
def test_parts_beyond_a_group_sum_to_all(seed: int, groups: int) -> None:
    worth = np.random.default_rng(seed).random((2**groups, 3))

    def predict(masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        rows: NDArray[np.float64] = worth[masks @ (1 << np.arange(groups))]
        return rows

    named = {f"g{number}": [number] for number in range(groups)} | {"none": []}
    found = contributions(predict, named, range(groups))
    alone, parts = found.beyond("g0")
    np.testing.assert_allclose(alone, worth[1])
    np.testing.assert_allclose(alone + parts.sum(0), found.full)
    assert not parts[0].any()
    assert not parts[-1].any()
