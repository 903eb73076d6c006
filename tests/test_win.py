"""Who is winning: the value of states, and what a ball does to it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_predictors import arrays_of, simulated, small_predictor

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.explain.explain_ball import explain_ball
from attnlens.cricket.lab.held_out import EncodedInnings
from attnlens.cricket.lab.post_training import fit_win, win_rows
from attnlens.cricket.match.match import Facts, Innings, Match
from attnlens.cricket.match.naming import find_ball
from attnlens.cricket.match.next_ball import with_next_ball
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.match.scorecard import match_data
from attnlens.cricket.predictor.trained import load_predictor, save_predictor
from attnlens.cricket.predictor.win import (
    MAX_LOG_ODDS,
    Contest,
    States,
    Strength,
    WinModel,
    contest_of,
    states_before,
    states_then,
    strength_of,
    win_chances,
    won,
)
from attnlens.cricket.predictor.window import predict_match
from attnlens.cricket.readers import read_match
from attnlens.cricket.readers.writers import write_match
from attnlens.files import Floats

MATCH = simulated(40)
PREDICTOR = small_predictor()
SHIPPED = load_predictor()
EVEN = Strength(1.25, 0.05, 1.25, 0.05)


def value(
    model: WinModel | None, score: float, left: float, wickets: float, target: float = 0.0,
    strength: Strength = EVEN,
) -> float:  # fmt: skip
    """The chance of the side batting in one state of a match of 20 overs."""
    assert model is not None
    contest = Contest(chase=target > 0, target=target, quota=120.0)
    states = States(*(np.array([part], float) for part in (score, left, wickets)))
    return float(model.value(contest, states, strength)[0])


states = st.tuples(
    st.integers(0, 260), st.integers(1, 119), st.integers(1, 9), st.sampled_from((0, 90, 160, 230))
)


@settings(max_examples=150, deadline=None)
@given(states)
def test_it_rises_where_cricket_says_so(state: tuple[int, int, int, int]) -> None:
    score, left, wickets, target = state
    for model in (PREDICTOR.win, SHIPPED.win):
        now = value(model, score, left, wickets, target)
        # Single precision, and in a first innings a sum over totals.
        assert value(model, score + 1, left, wickets, target) >= now - 1e-5
        assert value(model, score, left, wickets + 1, target) >= now - 1e-5
        assert value(model, score, left + 1, wickets, target) >= now - (1e-5 if target else 2e-3)
        better = dataclasses.replace(EVEN, runs=1.4)
        assert value(model, score, left, wickets, target, better) >= now - 1e-5


@settings(max_examples=100, deadline=None)
@given(states)
def test_nobody_has_won_before_it_is_decided(state: tuple[int, int, int, int]) -> None:
    score, left, wickets, target = state
    if target and score >= target:
        assert value(SHIPPED.win, score, left, wickets, target) == 1
        return
    least = 1 / (1 + np.exp(MAX_LOG_ODDS))
    assert least * 0.999 <= value(SHIPPED.win, score, left, wickets, target) <= 1 - least * 0.999


def test_a_decided_chase_is_told_as_such() -> None:
    for left, wickets in ((0, 5), (40, 0), (0, 0)):
        assert value(SHIPPED.win, 150, left, wickets, target=160) == 0
        assert value(SHIPPED.win, 159, left, wickets, target=160) == 0.5  # level: a tie
        assert value(SHIPPED.win, 160, left, wickets, target=160) == 1


def test_a_finished_first_innings_is_the_chase_from_the_other_side() -> None:
    for score in (80, 150, 220):
        for left, wickets in ((0, 4), (13, 0)):
            first = value(SHIPPED.win, score, left, wickets)
            assert first == pytest.approx(1 - value(SHIPPED.win, 0, 120, 10, score + 1), abs=1e-5)


def test_easy_and_hard_chases_are_told_apart() -> None:
    assert value(SHIPPED.win, 150, 12, 8, target=155) > 0.9
    assert value(SHIPPED.win, 60, 60, 4, target=190) < 0.1
    assert value(SHIPPED.win, 200, 30, 7) > 0.8
    assert value(SHIPPED.win, 50, 60, 3) < 0.3


@pytest.mark.parametrize("number", [1, 2])
def test_before_a_ball_is_the_mean_of_what_comes_after(number: int) -> None:
    side, arrays = MATCH.innings[number - 1], arrays_of(PREDICTOR, MATCH, number)
    chances = np.random.default_rng(3).dirichlet(np.ones(len(OUTCOMES)), len(arrays))
    strength = strength_of(MATCH, side, arrays, PREDICTOR)
    found = win_chances(PREDICTOR.win, MATCH, side, strength, chances)
    assert found is not None
    mean = [float(row @ after) for row, after in zip(chances, found.after, strict=True)]
    assert found.before == pytest.approx(mean, abs=1e-9)
    # What happened is what the class says, but for runs beside a wicket and the like.
    for place, ball in enumerate(side.deliveries):
        if ball.outcome in "0123456" and not ball.extras:
            number_of = OUTCOMES.index(ball.outcome)
            assert found.actual[place] == pytest.approx(found.after[place, number_of])


def test_states_follow_one_another() -> None:
    for side in MATCH.innings[:2]:
        before, then = states_before(side, 120.0), states_then(side, 120.0)
        for name in ("score", "left", "wickets"):
            told: Floats = getattr(then, name)
            assert told[:-1].tolist() == getattr(before, name)[1:].tolist()
        assert then.score[-1] == side.total
        assert 10 - then.wickets[-1] == side.wickets


def test_an_explanation_carries_it() -> None:
    explanation = explain_ball(MATCH, find_ball(MATCH, "2:30"), PREDICTOR, evidence=False)
    win = explanation.win_probability
    assert win is not None
    assert win.happened is not None
    assert win.team == MATCH.innings[1].batting_team
    told = {one.outcome: one.probability for one in explanation.prediction.outcomes}
    mean = sum(told[outcome] * chance for outcome, chance in win.after.items())
    assert win.before == pytest.approx(mean, abs=1e-6)
    side = MATCH.innings[0]
    cut = dataclasses.replace(MATCH, innings=(_cut(side, 40),))
    longer = with_next_ball(cut, 1, batter="Somebody New", bowler="Another One")
    unbowled = explain_ball(longer, find_ball(longer, "last"), PREDICTOR, evidence=False)
    assert unbowled.win_probability is not None
    assert unbowled.win_probability.happened is None


def _cut(side: Innings, balls: int) -> Innings:
    return dataclasses.replace(side, deliveries=side.deliveries[:balls])


def test_nothing_is_told_where_the_rules_do_not_say() -> None:
    side = MATCH.innings[1]
    assert contest_of(MATCH, side) == Contest(True, float(side.target or 0), 120.0)
    for changes in ({"super_over": True}, {"target": None}, {"number": 3}):
        assert contest_of(MATCH, dataclasses.replace(side, **changes)) is None
    unlimited = dataclasses.replace(MATCH, match_type="Test", overs=None)
    assert contest_of(unlimited, dataclasses.replace(side, target_balls=None)) is None


def test_winners_are_those_of_the_state() -> None:
    def after(**outcome: object) -> Match:
        return dataclasses.replace(MATCH, outcome=Facts(outcome))

    one, other = MATCH.teams
    assert won(after(winner=one, by={"runs": 3}), one) == 1
    assert won(after(winner=one), other) == 0
    assert won(after(result="tie", eliminator=one), one) == 0.5
    assert won(after(winner=one, method="D/L"), one) is None
    assert won(after(result="no result"), one) is None


def test_a_fit_learns_who_wins() -> None:
    played = [simulated(seed) for seed in range(12)]
    encoded = [
        EncodedInnings(match, side, arrays_of(PREDICTOR, match, side.number))
        for match in played
        for side in match.innings[:2]
    ]
    rows = win_rows(encoded)
    assert set(np.unique(rows["won"])) <= {0.0, 0.5, 1.0}
    model = fit_win(rows, seed=1)
    assert value(model, 150, 12, 8, target=155) > value(model, 100, 12, 8, target=155)
    again = fit_win(rows, seed=1)
    assert value(model, 80, 50, 6, target=150) == value(again, 80, 50, 6, target=150)


def test_a_checkpoint_keeps_it(tmp_path: Path) -> None:
    save_predictor(tmp_path / "p.safetensors", PREDICTOR)
    kept = load_predictor(tmp_path / "p.safetensors")
    assert value(kept.win, 70, 60, 7, 150) == value(PREDICTOR.win, 70, 60, 7, 150)
    without = dataclasses.replace(PREDICTOR, win=None)
    save_predictor(tmp_path / "q.safetensors", without)
    assert load_predictor(tmp_path / "q.safetensors").win is None


def test_predictions_carry_it() -> None:
    row = None
    for row in predict_match(MATCH, PREDICTOR):
        told = [(row[f"p_{outcome}"], row[f"win_{outcome}"]) for outcome in OUTCOMES]
        mean = sum(float(chance or 0) * float(win or 0) for chance, win in told)
        assert row["win_before"] == pytest.approx(mean, abs=1e-6)
    assert row is not None
    unlimited = dataclasses.replace(MATCH, match_type="Test", overs=None)
    sides = tuple(dataclasses.replace(side, target_balls=None) for side in MATCH.innings)
    first = next(predict_match(dataclasses.replace(unlimited, innings=sides), PREDICTOR))
    assert first["win_before"] is None


@pytest.mark.parametrize("form", ["json", "csv"])
def test_of_a_target_set_after_the_chase_began_nobody_wins(tmp_path: Path, form: str) -> None:
    """Rain ended the chase at ball 50, with more runs than would have been needed by then."""
    first, side = MATCH.innings
    short = _cut(side, 50)
    late = dataclasses.replace(short, target=side.deliveries[30].score_before, target_balls=50)
    outcome = Facts(winner=side.batting_team, by=Facts(runs=short.total - 5), method="D/L")
    rained = dataclasses.replace(MATCH, innings=(first, late), outcome=outcome)
    write_match(rained, tmp_path / f"rain.{form}")
    match = read_match(tmp_path / f"rain.{form}")
    chase = match.innings[1]
    assert chase.set_later == {"runs": late.target, "balls": 50}
    assert (chase.target, chase.target_balls) == (first.total + 1, 120)
    assert any("set after the chase began" in note for note in match.notes)
    assert "set_later" in match_data(match)["innings"][1]
    write_match(match, tmp_path / f"again.{form}")
    assert read_match(tmp_path / f"again.{form}").innings == match.innings
    explanation = explain_ball(match, find_ball(match, "2:45"), PREDICTOR, evidence=False)
    assert explanation.win_probability is None
    assert "target_set_later" in [caution.flag for caution in explanation.flags]
    assert explanation.ball.runs_required == first.total + 1 - chase.deliveries[44].score_before
    assert explanation.ball.balls_left == 120 - chase.deliveries[44].legal_balls_before
    rows = [row for row in predict_match(match, PREDICTOR) if row["innings"] == 2]
    assert {row["win_before"] for row in rows} == {None}
    with pytest.raises(BallNotFoundError, match="its target was set afterwards"):
        with_next_ball(match, 2, batter="Abe Zed", bowler="Bo Zed")
    # Reached by the last ball, it may have been the target all along.
    reached = next(b.index for b in side.deliveries if b.score_before >= (late.target or 0)) - 1
    ended = dataclasses.replace(
        rained, innings=(first, dataclasses.replace(late, deliveries=short.deliveries[:reached]))
    )
    write_match(ended, tmp_path / f"ended.{form}")
    chase = read_match(tmp_path / f"ended.{form}").innings[1]
    assert (chase.target, chase.set_later) == (late.target, {})
