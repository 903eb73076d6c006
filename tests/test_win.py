"""Who is winning: the value of states, and what a ball does to it."""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_predictors import simulated, small_predictor

from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.explain.explain_ball import explain_ball
from attnlens.cricket.lab.simulator import write_match
from attnlens.cricket.lab.winning import dated_contests, fit_win, win_rows
from attnlens.cricket.match.ledger import match_data
from attnlens.cricket.match.match import OUTCOMES, Facts, Innings, Match, Player, Wicket
from attnlens.cricket.match.naming import find_ball, with_next_ball
from attnlens.cricket.predictor import win
from attnlens.cricket.predictor.form import Form, PreMatch
from attnlens.cricket.predictor.trained import load_predictor, save_predictor
from attnlens.cricket.predictor.win import (
    Contest,
    States,
    WinLedger,
    WinModel,
    players_added,
    win_ledger,
)
from attnlens.cricket.predictor.window import predict_match
from attnlens.cricket.readers import read_match

MATCH = simulated(40)
PREDICTOR = small_predictor()
EVEN = PreMatch(150, 0, 0)


@cache
def shipped(name: str = "bundled") -> WinModel:
    """The win model of a checkpoint that comes with the package."""
    model = load_predictor(name).win
    assert model is not None
    return model


def value(
    score: float, left: float, wickets: float, target: float = 0.0, *,
    form: PreMatch = EVEN, quota: float = 120.0, model: WinModel | None = None,
) -> float:  # fmt: skip
    """The probability of the side batting in one state."""
    model = model or shipped()
    contest = Contest(target > 0, target, quota, form)
    states = States(*(np.array([part], float) for part in (score, left, wickets)))
    return float(model.value(contest, states)[0])


forms = st.builds(PreMatch, st.floats(100, 200), st.floats(-50, 50), st.floats(-50, 50))


@settings(max_examples=60, deadline=None)
@given(forms, st.sampled_from((30, 100, 120)), st.integers(0, 300))
def test_it_rises_where_cricket_says_so(form: PreMatch, quota: int, target: int) -> None:
    """On every state that can be: at most two fours a ball more than were bowled."""
    for model in map(shipped, ("bundled", "measured")):
        contest = Contest(target > 0, float(target), float(quota), form)
        grid = np.meshgrid(
            np.arange(0, 320, 9.0), np.arange(1, quota, 4.0), np.arange(1, 10.0), indexing="ij"
        )
        score, left, wickets = (part[grid[0] <= 8 * (quota - grid[1])] for part in grid)
        now = model.value(contest, States(score, left, wickets))
        for more in (
            States(score + 1, left, wickets),
            States(score, left + 1, wickets),
            States(score, left, wickets + 1),
        ):
            assert (model.value(contest, more) >= now - 1e-4).all()


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 260), st.integers(1, 119), st.integers(1, 9), st.sampled_from((0, 90, 160, 230)),
    forms,
)  # fmt: skip
def test_nobody_has_won_before_it_is_decided(
    score: int, left: int, wickets: int, target: int, form: PreMatch
) -> None:
    found = value(score, left, wickets, target, form=form)
    if target and score >= target:
        assert found == 1
        return
    least = 1 / (1 + np.exp(win.MAX_LOG_ODDS))
    assert least * 0.999 <= found <= 1 - least * 0.999


@pytest.mark.parametrize(("left", "wickets"), [(0, 5), (40, 0), (0, 0)])
def test_a_decided_chase(left: int, wickets: int) -> None:
    # One run short of the target is a tie.
    assert [value(score, left, wickets, 160) for score in (150, 159, 160)] == [0, 0.5, 1]


@settings(max_examples=60, deadline=None)
@given(forms, st.integers(0, 300), st.sampled_from((30, 72, 100, 120)), st.booleans())
def test_a_finished_first_innings_is_the_chase_from_the_other_side(
    form: PreMatch, total: int, quota: int, all_out: bool
) -> None:
    left, wickets = (quota // 3, 0) if all_out else (0, 4)
    other = PreMatch(form.level, form.bowling, form.batting)
    chase = value(0, quota, 10, total + 1, form=other, quota=quota)
    defended = value(total, left, wickets, form=form, quota=quota)
    assert defended == pytest.approx(1 - chase, abs=1e-12)


def test_easy_and_hard_chases_differ() -> None:
    assert value(150, 12, 8, target=155) > 0.9
    assert value(60, 60, 4, target=190) < 0.1
    assert value(200, 30, 7) > 0.8
    assert value(50, 60, 3) < 0.3
    strong, weak = PreMatch(150, 20, -20), PreMatch(150, -20, 20)
    for state in ((0, 120, 10, 0), (0, 120, 10, 160), (80, 60, 6, 160)):
        assert value(*state, form=strong) > value(*state) > value(*state, form=weak)
    # A total that wins where little is scored loses where much is.
    assert value(160, 0, 5, form=PreMatch(130, 0, 0)) > 0.75
    assert value(160, 0, 5, form=PreMatch(180, 0, 0)) < 0.35


def test_projected_totals_hold_the_score_and_narrow() -> None:
    contest = Contest(False, 0.0, 120.0, EVEN)
    left = np.arange(120.0, -1, -1)
    states = States((120 - left) * 1.25, left, np.full(121, 6.0))
    projected = shipped().projected(contest, states)
    assert (projected.low <= projected.mean).all()
    assert (projected.mean <= projected.high).all()
    assert (projected.low >= states.score).all()
    width = projected.high - projected.low
    assert width[0] > 50
    assert (np.diff(width) <= 0).all()
    assert (projected.low[-1], projected.mean[-1], projected.high[-1]) == (150, 150, 150)


def forecast(side: Innings) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng(side.number)
    return generator.dirichlet(np.ones(len(OUTCOMES)), len(side.deliveries))


def chances_of(match: Match, side: Innings) -> win.WinChances:
    found = win.win_chances(PREDICTOR.win, PREDICTOR.ratings.form, match, side, forecast(side))
    assert found is not None
    return found


@pytest.mark.parametrize("number", [1, 2])
def test_nothing_moves_between_balls(number: int) -> None:
    side = MATCH.innings[number - 1]
    chances = chances_of(MATCH, side)
    assert chances.actual[:-1].tolist() == chances.before[1:].tolist()
    mean = [float(row @ after) for row, after in zip(forecast(side), chances.after, strict=True)]
    assert chances.expected == pytest.approx(mean, abs=1e-9)
    # What happened is what the class says, but for runs beside a wicket and the like.
    for place, ball in enumerate(side.deliveries):
        if ball.outcome in "0123456" and not ball.extras:
            outcome = OUTCOMES.index(ball.outcome)
            assert chances.actual[place] == pytest.approx(chances.after[place, outcome])


def test_nothing_moves_between_the_innings() -> None:
    for seed in range(30, 36):
        match = simulated(seed)
        setting, chasing = (chances_of(match, side) for side in match.innings[:2])
        assert setting.actual[-1] == pytest.approx(1 - chasing.before[0], abs=1e-12)
    # Nor where the side that bats first stops early: nobody is left to bat.
    first, chase = MATCH.innings[:2]
    short = dataclasses.replace(first, deliveries=first.deliveries[:90])
    chase = dataclasses.replace(chase, target=short.total + 1)
    match = dataclasses.replace(MATCH, innings=(short, chase))
    setting, chasing = (chances_of(match, side) for side in match.innings)
    assert setting.actual[-1] == pytest.approx(1 - chasing.before[0], abs=1e-12)


def test_the_value_does_not_know_who_plays() -> None:
    side = MATCH.innings[1]
    others = tuple(
        ball._replace(batter=ball.bowler, bowler=ball.non_striker, non_striker=ball.batter)
        for ball in side.deliveries
    )
    changed = dataclasses.replace(side, deliveries=others)
    match = dataclasses.replace(MATCH, innings=(MATCH.innings[0], changed))
    assert chances_of(match, changed).before.tolist() == chances_of(MATCH, side).before.tolist()


def test_states_follow_one_another() -> None:
    for side in MATCH.innings[:2]:
        before, then = win.states_before(side, 120.0), win.states_then(side, 120.0)
        for name in ("score", "left", "wickets"):
            assert getattr(then, name)[:-1].tolist() == getattr(before, name)[1:].tolist()
        assert then.score[-1] == side.total
        assert 10 - then.wickets[-1] == side.wickets
        for row, ball in enumerate(side.deliveries):
            state = before.score[row], 120 - before.left[row], 10 - before.wickets[row]
            assert state == (ball.score_before, ball.legal_balls_before, ball.wickets_before)


def ledger_of(match: Match, team: str) -> WinLedger | None:
    """The ledger of a team, whose points lead from its chance before the match to its result."""
    innings = [(side, chances_of(match, side)) for side in match.innings[:2]]
    ledger = win_ledger(match, innings, team)
    if ledger is not None:
        points = sum(entry.points for entry in ledger.entries)
        assert ledger.before + points == pytest.approx(ledger.result, abs=1e-9)
    return ledger


@pytest.mark.parametrize("seed", range(40, 46))
def test_a_ledger_sums_to_the_result(seed: int) -> None:
    match = simulated(seed)
    for team in match.teams:
        ledger = ledger_of(match, team)
        assert ledger is not None
        assert ledger.result == float(match.outcome["winner"] == team)
        balls = [(s.number, b.index) for s in match.innings[:2] for b in s.deliveries]
        assert [(entry.innings, entry.index) for entry in ledger.entries] == balls
        added = players_added(match, ledger)
        for side in match.teams:
            total = sum(row.added for row in added if row.side == side)
            sign = 1 if side == team else -1
            assert total == pytest.approx(sign * (ledger.result - ledger.before), abs=1e-9)


def won_by(batting_first: bool) -> Match:
    """A simulated match that the side batting first won, or the other."""
    matches = (simulated(seed) for seed in range(40, 60))
    return next(
        match
        for match in matches
        if (match.outcome.get("winner") == match.innings[0].batting_team) == batting_first
    )


def test_a_revised_target_is_a_move_of_its_own() -> None:
    played = won_by(batting_first=False)
    first, chase = played.innings[:2]
    revised = dataclasses.replace(chase, target=first.total - 20, target_balls=96)
    outcome = Facts(winner=chase.batting_team, method="D/L")
    match = dataclasses.replace(played, innings=(first, revised), outcome=outcome)
    ledger = ledger_of(match, first.batting_team)
    assert ledger is not None
    assert ledger.result == 0
    moves = [entry for entry in ledger.entries if entry.kind == "revised target"]
    assert [(move.innings, move.index) for move in moves] == [(2, 1)]
    position = ledger.entries.index(moves[0])
    reached = ledger.before + sum(entry.points for entry in ledger.entries[: position + 1])
    assert reached == pytest.approx(1 - chances_of(match, revised).before[0], abs=1e-9)


def test_an_undecided_match_has_no_ledger_and_a_tie_ends_at_a_half() -> None:
    played = won_by(batting_first=True)
    first, chase = played.innings[:2]
    short = dataclasses.replace(played, innings=(first, _cut(chase, 60)), outcome=Facts())
    assert ledger_of(short, first.batting_team) is None
    # The first innings makes as many as the chase.
    last = first.deliveries[-1]
    more = chase.total - first.total
    ball = last._replace(runs_total=last.runs_total + more, runs_batter=last.runs_batter + more)
    setting = dataclasses.replace(first, deliveries=(*first.deliveries[:-1], ball))
    level = dataclasses.replace(chase, target=chase.total + 1)
    outcome = Facts(result="tie", eliminator=first.batting_team)
    tied = dataclasses.replace(played, innings=(setting, level), outcome=outcome)
    ledger = ledger_of(tied, first.batting_team)
    assert ledger is not None
    assert ledger.result == 0.5


@pytest.mark.parametrize(("margin", "result"), [(0, 1.0), (1, None)])
def test_a_chase_that_stops_is_lost_by_its_own_margin_alone(
    margin: int, result: float | None
) -> None:
    played = won_by(batting_first=True)
    first, chase = played.innings[:2]
    short = _cut(chase, 60)
    runs = first.total - short.total + margin
    outcome = Facts(winner=first.batting_team, by=Facts(runs=runs))
    match = dataclasses.replace(played, innings=(first, short), outcome=outcome)
    ledger = ledger_of(match, first.batting_team)
    assert (None if ledger is None else ledger.result) == result


def test_of_a_run_out_the_batter_who_is_out_and_the_fielder_are_credited() -> None:
    match = won_by(batting_first=True)
    side = match.innings[0]
    ball = side.deliveries[9]
    out = Wicket("run out", ball.non_striker, ("Some Fielder",))
    changed = ball._replace(wickets=(out,), outcome="W")
    balls = (*side.deliveries[:9], changed, *side.deliveries[10:])
    first = dataclasses.replace(side, deliveries=balls)
    match = dataclasses.replace(match, innings=(first, *match.innings[1:]))
    ledger = ledger_of(match, side.batting_team)
    assert ledger is not None
    added = {(row.name, row.side): row.added for row in players_added(match, ledger)}
    assert added["Some Fielder", side.bowling_team] == -ledger.entries[9].points
    faced = [
        entry.points
        for entry, each in zip(ledger.entries, balls, strict=False)
        if (ball.non_striker if each is changed else each.batter) == ball.non_striker
    ]
    assert added[ball.non_striker.name, side.batting_team] == pytest.approx(sum(faced))


def test_an_explanation_carries_it() -> None:
    explanation = explain_ball(MATCH, find_ball(MATCH, "2:30"), PREDICTOR, evidence=False)
    chances = explanation.win_probability
    assert chances is not None
    assert chances.happened is not None
    assert chances.team == MATCH.innings[1].batting_team
    outcomes = {each.outcome: each.probability for each in explanation.prediction.outcomes}
    mean = sum(outcomes[outcome] * chance for outcome, chance in chances.after.items())
    assert chances.expected == pytest.approx(mean, abs=1e-6)
    assert chances.before == pytest.approx(chances_of(MATCH, MATCH.innings[1]).before[29])
    assert chances.projected is None
    setting = explain_ball(MATCH, find_ball(MATCH, "1:30"), PREDICTOR, evidence=False)
    assert setting.win_probability is not None
    projected, values = setting.win_probability.projected, chances_of(MATCH, MATCH.innings[0])
    assert projected is not None
    assert values.projected is not None
    for name in ("low", "mean", "high"):
        found = getattr(values.projected, name)[29]
        assert getattr(projected, name) == pytest.approx(found, abs=0.051)
    cut = dataclasses.replace(MATCH, innings=(_cut(MATCH.innings[0], 40),))
    longer = with_next_ball(cut, 1, batter=Player("Somebody New"), bowler=Player("Another One"))
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
    side, form = MATCH.innings[1], Form()
    contest = win.contest_of(MATCH, side, form)
    assert contest is not None
    assert (contest.chase, contest.target, contest.quota) == (True, float(side.target or 0), 120.0)
    for changes in ({"super_over": True}, {"target": None}, {"number": 3}):
        assert win.contest_of(MATCH, dataclasses.replace(side, **changes), form) is None
    assert win.contest_of(UNLIMITED, UNLIMITED.innings[1], form) is None
    assert next(predict_match(UNLIMITED, PREDICTOR))["win_before"] is None


def test_a_first_innings_is_as_short_as_the_chase_of_its_total() -> None:
    first, chase = MATCH.innings[:2]
    short = _cut(first, next(b.index for b in first.deliveries if b.legal_balls_before == 71))
    chase = dataclasses.replace(chase, target=short.total + 1, target_balls=72)
    match = dataclasses.replace(MATCH, innings=(short, chase))
    contest = win.contest_of(match, short, Form())
    assert contest is not None
    assert contest.quota == 72


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
    rows = win_rows(dated_contests(played, PREDICTOR.base))
    assert set(np.unique(rows["won"])) <= {0.0, 0.5, 1.0}
    assert len(rows["won"]) == sum(len(s.deliveries) for m in played for s in m.innings[:2])
    model, again = fit_win(rows), fit_win(rows)
    assert model is not None
    assert value(150, 12, 8, 155, model=model) > value(100, 12, 8, 155, model=model)
    assert value(80, 50, 6, 150, model=model) == value(80, 50, 6, 150, model=again)
    assert fit_win({}) is None


def test_a_fit_sees_no_form_of_its_own_day_or_later() -> None:
    """Other totals of the last match, and of a twin on its day, leave its rows' form as it is."""
    played = [simulated(seed) for seed in range(6)]
    last = played[-1]
    first = last.innings[0]
    ball = first.deliveries[-1]._replace(runs_total=90, runs_batter=90)
    side = dataclasses.replace(first, deliveries=(*first.deliveries[:-1], ball))
    chase = dataclasses.replace(last.innings[1], target=side.total + 1)
    other = dataclasses.replace(last, innings=(side, chase))
    twin = dataclasses.replace(other, match_id="a twin, which comes first")
    expected = win_rows(dated_contests(played, PREDICTOR.base))
    for matches in ([*played[:-1], other], [*played, twin]):
        rows = win_rows(dated_contests(matches, PREDICTOR.base))
        balls = sum(len(side.deliveries) for side in last.innings[:2])
        for name in ("level", "batting", "bowling"):
            assert rows[name][-balls:].tolist() == expected[name][-balls:].tolist()


def test_a_checkpoint_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    save_predictor(path, PREDICTOR)
    kept = load_predictor(path).win
    assert value(70, 60, 7, 150, model=kept) == value(70, 60, 7, 150, model=PREDICTOR.win)
    assert value(70, 60, 7, model=kept) == value(70, 60, 7, model=PREDICTOR.win)
    save_predictor(tmp_path / "q.safetensors", dataclasses.replace(PREDICTOR, win=None))
    assert load_predictor(tmp_path / "q.safetensors").win is None


def test_predictions_carry_it() -> None:
    rows = list(predict_match(MATCH, PREDICTOR))
    assert rows
    for row in rows:
        pairs = [(row[f"p_{outcome}"], row[f"win_{outcome}"]) for outcome in OUTCOMES]
        mean = sum(float(chance or 0) * float(after or 0) for chance, after in pairs)
        assert row["win_expected"] == pytest.approx(mean, abs=1e-6)


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
    with pytest.raises(BallNotFoundError, match="ended when its target was set"):
        with_next_ball(match, 2, batter="Abe Zed", bowler="Bo Zed")
    # Reached by the last ball, it may have been the target all along.
    reached = next(b.index for b in side.deliveries if b.score_before >= (late.target or 0)) - 1
    ended = dataclasses.replace(
        rained, innings=(first, dataclasses.replace(late, deliveries=short.deliveries[:reached]))
    )
    write_match(ended, tmp_path / f"ended.{form}")
    chase = read_match(tmp_path / f"ended.{form}").innings[1]
    assert (chase.target, chase.set_later) == (late.target, {})


def test_ledgers_of_real_matches_sum_to_the_results_of_their_files(shared_data: Path) -> None:
    """Whoever won by the raw file has 1, and no match that ended by play lacks a ledger."""
    counted = dict.fromkeys(("won", "tied", "none", "revised"), 0)
    form = Form()
    for folder in ("ipl", "hundred_men", "t20i_women", "blast", "misc_torture"):
        for path in sorted((shared_data / "formats" / "json" / folder).glob("*.json")):
            raw = json.loads(path.read_text("utf-8"))["info"]["outcome"]
            match = read_match(path)
            model, sides = shipped(), match.innings[:2]
            innings = [(side, win.innings_values(model, form, match, side)) for side in sides]
            known = [(side, values) for side, values in innings if values is not None]
            team = match.teams[0]
            ledger = win_ledger(match, known, team)
            if ledger is None:
                counted["none"] += 1
                decided = "winner" in raw and "method" not in raw and not match.doubts
                assert not decided or match.match_type not in ("T20", "IT20")
                continue
            points = [entry.points for entry in ledger.entries]
            assert ledger.before + sum(points) == pytest.approx(ledger.result, abs=1e-6)
            if "winner" in raw:
                assert ledger.result == float(raw["winner"] == team)
            else:
                assert (raw["result"], ledger.result) == ("tie", 0.5)
            counted["won" if "winner" in raw else "tied"] += 1
            counted["revised"] += any(entry.kind != "ball" for entry in ledger.entries)
            deliveries = sum(len(side.deliveries) for side in match.innings[:2])
            assert sum(entry.kind == "ball" for entry in ledger.entries) == deliveries
    assert counted == {"won": 28, "tied": 3, "none": 3, "revised": 2}


def by_hand(needed: int, left: int, wickets: int, probs: dict[str, float]) -> float:
    """The probability of winning a chase, by every way in which its balls may go."""
    if needed <= 0:
        return 1.0
    if not left or not wickets:
        return 0.5 if needed == 1 else 0.0
    total = 0.0
    for outcome, prob in probs.items():
        runs = {"W": 0, "wd": 1, "nb": 1, "bye": 1}.get(outcome)
        runs = int(outcome) if runs is None else runs
        fewer = left - (outcome not in ("wd", "nb"))
        total += prob * by_hand(needed - runs, fewer, wickets - (outcome == "W"), probs)
    return total


def test_the_last_balls_are_valued_by_every_way_in_which_they_may_go() -> None:
    probs = dict(zip(OUTCOMES, shipped().last_over[0].tolist(), strict=True))
    exact = win.finish_values(tuple(probs.values()))
    for needed in range(1, 9):
        for left, wickets in ((1, 1), (1, 6), (2, 3), (3, 1), (3, 9)):
            expected = by_hand(needed, left, wickets, probs)
            assert exact[needed, left, wickets] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("wickets", [1, 6])
def test_the_last_ball_is_worth_what_it_can_bring(wickets: int) -> None:
    probs = dict(zip(OUTCOMES, shipped().last_over[0].tolist(), strict=True))
    values = {needed: value(150 - needed, 1, wickets, 150) for needed in (1, 2, 4, 6, 7, 8, 20)}
    for needed in (1, 2, 4, 6, 7, 8):
        assert values[needed] == pytest.approx(by_hand(needed, 1, wickets, probs), abs=1e-3)
    # A six only ties with seven wanted, and more cannot come without an extra.
    assert values[7] < probs["6"]
    assert values[20] < values[8] < 0.01
