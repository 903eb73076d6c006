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
from attnlens.cricket.match.ledger import match_data
from attnlens.cricket.match.match import Facts, Innings
from attnlens.cricket.match.naming import find_ball
from attnlens.cricket.match.next_ball import with_next_ball
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.predictor import win
from attnlens.cricket.predictor.trained import load_predictor, save_predictor
from attnlens.cricket.predictor.win import Contest, States, Strength, WinModel
from attnlens.cricket.predictor.window import predict_match
from attnlens.cricket.readers import read_match
from attnlens.cricket.readers.writers import write_match

MATCH = simulated(40)
PREDICTOR = small_predictor()
SHIPPED = load_predictor()
EVEN = Strength(1.25, 0.05, 1.25, 0.05)


def value(
    score: float, left: float, wickets: float, target: float = 0.0,
    strength: Strength = EVEN, model: WinModel | None = SHIPPED.win,
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
    better = dataclasses.replace(EVEN, runs=1.4)
    for model in (PREDICTOR.win, SHIPPED.win):
        now = value(*state, model=model)
        # Single precision, and in a first innings a sum over totals.
        assert value(score + 1, left, wickets, target, model=model) >= now - 1e-5
        assert value(score, left, wickets + 1, target, model=model) >= now - 1e-5
        least = now - (1e-5 if target else 2e-3)
        assert value(score, left + 1, wickets, target, model=model) >= least
        assert value(*state, better, model) >= now - 1e-5


@settings(max_examples=100, deadline=None)
@given(states)
def test_nobody_has_won_before_it_is_decided(state: tuple[int, int, int, int]) -> None:
    score, _, _, target = state
    if target and score >= target:
        assert value(*state) == 1
        return
    least = 1 / (1 + np.exp(win.MAX_LOG_ODDS))
    assert least * 0.999 <= value(*state) <= 1 - least * 0.999


@pytest.mark.parametrize(("left", "wickets"), [(0, 5), (40, 0), (0, 0)])
def test_a_decided_chase(left: int, wickets: int) -> None:
    # One run short of the target is a tie.
    assert [value(score, left, wickets, 160) for score in (150, 159, 160)] == [0, 0.5, 1]


def test_a_finished_first_innings_is_the_chase_from_the_other_side() -> None:
    for score in (80, 150, 220):
        for left, wickets in ((0, 4), (13, 0)):
            chase = value(0, 120, 10, score + 1)
            assert value(score, left, wickets) == pytest.approx(1 - chase, abs=1e-5)


def test_easy_and_hard_chases_differ() -> None:
    assert value(150, 12, 8, target=155) > 0.9
    assert value(60, 60, 4, target=190) < 0.1
    assert value(200, 30, 7) > 0.8
    assert value(50, 60, 3) < 0.3


@pytest.mark.parametrize("number", [1, 2])
def test_before_a_ball_is_the_mean_of_what_comes_after(number: int) -> None:
    side, arrays = MATCH.innings[number - 1], arrays_of(PREDICTOR, MATCH, number)
    chances = np.random.default_rng(3).dirichlet(np.ones(len(OUTCOMES)), len(arrays))
    strength = win.strength_of(MATCH, side, arrays, PREDICTOR)
    found = win.win_chances(PREDICTOR.win, MATCH, side, strength, chances)
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
        before, then = win.states_before(side, 120.0), win.states_then(side, 120.0)
        for name in ("score", "left", "wickets"):
            assert getattr(then, name)[:-1].tolist() == getattr(before, name)[1:].tolist()
        assert then.score[-1] == side.total
        assert 10 - then.wickets[-1] == side.wickets


def test_an_explanation_carries_it() -> None:
    explanation = explain_ball(MATCH, find_ball(MATCH, "2:30"), PREDICTOR, evidence=False)
    chances = explanation.win_probability
    assert chances is not None
    assert chances.happened is not None
    assert chances.team == MATCH.innings[1].batting_team
    outcomes = {each.outcome: each.probability for each in explanation.prediction.outcomes}
    mean = sum(outcomes[outcome] * chance for outcome, chance in chances.after.items())
    assert chances.before == pytest.approx(mean, abs=1e-6)
    cut = dataclasses.replace(MATCH, innings=(_cut(MATCH.innings[0], 40),))
    longer = with_next_ball(cut, 1, batter="Somebody New", bowler="Another One")
    unbowled = explain_ball(longer, find_ball(longer, "last"), PREDICTOR, evidence=False)
    assert unbowled.win_probability is not None
    assert unbowled.win_probability.happened is None


def _cut(side: Innings, balls: int) -> Innings:
    return dataclasses.replace(side, deliveries=side.deliveries[:balls])


UNLIMITED = dataclasses.replace(
    MATCH,
    match_type="Test",
    overs=None,
    innings=tuple(dataclasses.replace(side, target_balls=None) for side in MATCH.innings),
)


def test_nothing_is_said_where_the_rules_do_not_say() -> None:
    side = MATCH.innings[1]
    assert win.contest_of(MATCH, side) == Contest(True, float(side.target or 0), 120.0)
    for changes in ({"super_over": True}, {"target": None}, {"number": 3}):
        assert win.contest_of(MATCH, dataclasses.replace(side, **changes)) is None
    assert win.contest_of(UNLIMITED, UNLIMITED.innings[1]) is None
    assert next(predict_match(UNLIMITED, PREDICTOR))["win_before"] is None


def test_winners_are_those_of_the_state() -> None:
    first, second = MATCH.teams
    outcomes: list[tuple[dict[str, object], str, float | None]] = [
        ({"winner": first, "by": {"runs": 3}}, first, 1),
        ({"winner": first}, second, 0),
        ({"result": "tie", "eliminator": first}, first, 0.5),
        ({"winner": first, "method": "D/L"}, first, None),
        ({"result": "no result"}, first, None),
    ]
    for outcome, team, points in outcomes:
        assert win.won(dataclasses.replace(MATCH, outcome=Facts(outcome)), team) == points


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
    assert value(150, 12, 8, 155, model=model) > value(100, 12, 8, 155, model=model)
    again = fit_win(rows, seed=1)
    assert value(80, 50, 6, 150, model=model) == value(80, 50, 6, 150, model=again)


def test_a_checkpoint_keeps_it(tmp_path: Path) -> None:
    save_predictor(tmp_path / "p.safetensors", PREDICTOR)
    kept = load_predictor(tmp_path / "p.safetensors").win
    assert value(70, 60, 7, 150, model=kept) == value(70, 60, 7, 150, model=PREDICTOR.win)
    save_predictor(tmp_path / "q.safetensors", dataclasses.replace(PREDICTOR, win=None))
    assert load_predictor(tmp_path / "q.safetensors").win is None


def test_predictions_carry_it() -> None:
    rows = list(predict_match(MATCH, PREDICTOR))
    assert rows
    for row in rows:
        pairs = [(row[f"p_{outcome}"], row[f"win_{outcome}"]) for outcome in OUTCOMES]
        mean = sum(float(chance or 0) * float(after or 0) for chance, after in pairs)
        assert row["win_before"] == pytest.approx(mean, abs=1e-6)


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
