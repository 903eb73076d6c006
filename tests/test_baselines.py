"""The baselines' features tell nothing of the ball itself or later, and their fits are right."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from itertools import dropwhile

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numerics import near
from small_predictors import simulated, with_delivery

from attnlens.cricket.lab.baseline_features import FeatureTable, Ledger, feature_table
from attnlens.cricket.lab.baselines import (
    GROWTH,
    BaselineError,
    Predict,
    fit_logistic,
    fit_prior,
    fit_trees,
)
from attnlens.cricket.lab.fit import fit_base, rate_and_encode
from attnlens.cricket.lab.held_out import EncodedInnings
from attnlens.cricket.match.match import OUTCOME_INDEX, Delivery, Match
from attnlens.cricket.predictor.ratings import Ratings

HISTORY = [simulated(seed) for seed in range(10)]
BASE = fit_base(HISTORY[:4], seed=1)
OF_EARLIER_DAYS = ("rating ", "met ", "record ", "form ", "expected ")
SMALL = {**GROWTH, "min_data_in_leaf": 20, "num_leaves": 7}


def encoded(matches: Sequence[Match]) -> list[EncodedInnings]:
    return rate_and_encode(matches, BASE, Ratings())


def features(matches: Sequence[Match]) -> FeatureTable:
    return feature_table(encoded(matches))


@pytest.fixture(scope="module")
def table() -> FeatureTable:
    return features(HISTORY)


def starts(matches: Sequence[Match]) -> dict[tuple[str, int], int]:
    """The row of the first ball of every innings."""
    found, at = {}, 0
    for one in encoded(matches):
        found[one.match_id, one.innings] = at
        at += len(one.arrays)
    return found


def shuffled(match: Match) -> Match:
    """The match with other runs, wickets and outcomes; scoreboard and free hits stay."""
    sides = []
    for side in match.innings:
        pairs = zip(side.deliveries, side.deliveries[::-1], strict=True)
        names = ("outcome", "runs_batter", "runs_total", "wickets")
        balls = [ball._replace(**{n: getattr(other, n) for n in names}) for ball, other in pairs]
        sides.append(dataclasses.replace(side, deliveries=tuple(balls)))
    return dataclasses.replace(match, innings=tuple(sides))


@pytest.mark.parametrize(("innings", "index"), [(1, 1), (1, 47), (2, 30), (2, 90)])
def test_a_ball_and_those_after_it_are_not_in_its_features(innings: int, index: int) -> None:
    matches = HISTORY[:4]
    match = matches[-1]
    ball = match.innings[innings - 1].deliveries[index - 1]
    other = "6" if ball.outcome != "6" else "W"
    changed = with_delivery(
        match, innings, index, outcome=other, runs_batter=6, runs_total=7, wickets=(), is_legal=True
    )
    sides = list(changed.innings[:innings])
    sides[-1] = dataclasses.replace(sides[-1], deliveries=sides[-1].deliveries[:index])
    cut = dataclasses.replace(changed, innings=tuple(sides))
    whole, short = features(matches), features([*matches[:-1], cut])
    rows = starts(matches)[match.match_id, innings] + index
    assert len(short) == rows
    assert short.outcome[-1] == OUTCOME_INDEX[other] != whole.outcome[rows - 1]
    # A shorter innings is another shape to the base model: its sums are rounded otherwise.
    near(whole.values[:rows], short.values, of=torch.float32)


def test_later_days_and_the_day_itself_are_not_in_the_ratings() -> None:
    day = HISTORY[6].dates
    matches = [*HISTORY[:7], dataclasses.replace(HISTORY[7], dates=day), *HISTORY[8:]]
    whole = features(matches)
    changed = features([*matches[:6], *map(shuffled, matches[6:])])
    order = starts(matches)
    at, after = order[matches[6].match_id, 1], order[matches[8].match_id, 1]
    assert (whole.outcome[at:] != changed.outcome[at:]).any()
    assert np.array_equal(whole.values[:at], changed.values[:at])
    known = np.array([name.startswith(OF_EARLIER_DAYS) for name in whole.names])
    assert np.array_equal(whole.values[at:after, known], changed.values[at:after, known])
    # The day after learns from both matches of that day, so the test can fail.
    assert not np.array_equal(whole.values[after:, known], changed.values[after:, known])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 2)), min_size=1))
def test_a_ledger_by_going_through_all_balls(rows: list[tuple[int, int, int]]) -> None:
    key = np.array([row[0] for row in rows])
    began = np.array([row[1] for row in rows]) + 700_000
    ended = began + np.array([row[2] for row in rows])
    values = np.arange(1.0, len(rows) + 1)
    sums = Ledger(key, began, ended).sums(values)
    assert sums.tolist() == [
        values[(key == mine) & (ended < begin)].sum()
        for mine, begin in zip(key, began, strict=True)
    ]


def test_sums_of_the_innings_by_counting(table: FeatureTable) -> None:
    """A few columns of every kind, recounted ball by ball from the match."""
    at = starts(HISTORY)
    for match in HISTORY[:3]:
        for side in match.innings:
            for place, ball in enumerate(() if side.super_over else side.deliveries):
                values = table.values[at[match.match_id, side.number] + place].tolist()
                row = dict(zip(table.names, values, strict=True))
                due = recounted(side.deliveries[:place], ball)
                assert due.items() <= row.items(), (match.match_id, side.number, ball.index)


def recounted(past: Sequence[Delivery], ball: Delivery) -> dict[str, float]:
    faced = [b for b in past if b.batter == ball.batter]
    across = [b for b in past if b.batter == ball.non_striker]
    bowled = [b for b in past if b.bowler == ball.bowler]
    overs = [b.over for b in past if b.over < ball.over]
    after_dots = list(dropwhile(lambda b: b.runs_total == 0 and b.outcome != "W", past[::-1]))
    gap = next((n for n, b in enumerate(past[::-1]) if b.boundary), len(past))
    return {
        "score": ball.score_before,
        "striker runs": sum(b.runs_batter for b in faced),
        "striker balls": sum(b.outcome != "wd" for b in faced),
        "non-striker runs": sum(b.runs_batter for b in across),
        "non-striker balls": sum(b.outcome != "wd" for b in across),
        "stand balls": sum(b.wickets_before == ball.wickets_before for b in past),
        "bowler balls": sum(b.is_legal for b in bowled),
        "bowler runs": sum(b.runs_batter for b in bowled)
        + sum(b.extras.get(kind, 0) for b in bowled for kind in ("wides", "noballs")),
        "bowler overs": len({b.over for b in bowled}),
        "bowlers used": len({b.bowler for b in past}),
        "this over runs": sum(b.runs_total for b in past if b.over == ball.over),
        "previous over": sum(b.runs_total for b in past if b.over in overs[-1:]),
        "runs last 24": sum(b.runs_total for b in past[-24:]),
        "wickets last 6": sum(b.outcome == "W" for b in past[-6:]),
        "dots in a row": len(past) - len(after_dots),
        "balls since boundary": min(gap, 40),
        "meeting balls": sum(b.bowler == ball.bowler for b in faced),
        "outcome 2 before": OUTCOME_INDEX[past[-2].outcome] if len(past) > 1 else -1,
        "striker last": OUTCOME_INDEX[faced[-1].outcome] if faced else -1,
    }


def test_records_of_earlier_days_by_counting(table: FeatureTable) -> None:
    runs: dict[str, list[int]] = {}
    balls = iter(table.column("striker runs per ball").tolist())
    for match in HISTORY:
        played = [ball for side in match.innings if not side.super_over for ball in side.deliveries]
        for ball in played:
            earlier = runs.get(ball.batter.key, [])
            due = (sum(earlier) + 1.2 * 80) / (len(earlier) + 80)
            assert next(balls) == pytest.approx(due, rel=1e-5)
        for ball in played:
            runs.setdefault(ball.batter.key, []).append(ball.runs_total)
    assert next(balls, None) is None


def split(table: FeatureTable) -> tuple[FeatureTable, FeatureTable]:
    later = table.match >= 8
    return table.rows(~later), table.rows(later)


def loss(predict: Predict, rows: FeatureTable) -> float:
    return float(-np.log(predict(rows)[np.arange(len(rows)), rows.outcome]).mean())


def test_every_baseline_gives_probabilities_and_learns(table: FeatureTable) -> None:
    train, later = split(table)
    trees = fit_trees(train, rounds=20, growth=SMALL)
    fits = {"prior": fit_prior(train), "logistic": fit_logistic(train), "trees": trees}
    for name, fitted in fits.items():
        shares = fitted(later)
        assert shares.shape == (len(later), 11)
        assert (shares > 0).all(), name
        assert shares.sum(1) == pytest.approx(np.ones(len(later)))
    losses = {name: loss(fitted, later) for name, fitted in fits.items()}
    assert losses["trees"] < losses["prior"]
    assert max(losses.values()) < np.log(11)


def test_trees_stop_where_later_balls_are_predicted_best(table: FeatureTable) -> None:
    train, later = split(table)
    best = loss(fit_trees(train, later, growth=SMALL), later)
    for rounds in (1, 20, 60):
        assert best <= loss(fit_trees(train, rounds=rounds, growth=SMALL), later)


@pytest.mark.parametrize(
    ("library", "fit"), [("sklearn.linear_model", fit_logistic), ("lightgbm", fit_trees)]
)
def test_a_missing_library_is_said(
    library: str, fit: object, table: FeatureTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(BaselineError, match="is not installed"):
        fit(table)  # type: ignore[operator]
