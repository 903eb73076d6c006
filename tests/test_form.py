"""What is known before a match: levels of competitions and grounds, attack and defence of sides."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_predictors import simulated

from attnlens.cricket.match.match import Facts, Match
from attnlens.cricket.predictor.day_tables import MatchSummary, saved_table, summary_of
from attnlens.cricket.predictor.form import FULL_BALLS, Form
from attnlens.cricket.predictor.ratings import by_date

MATCHES = [simulated(seed) for seed in range(10)]


def summary(match: Match) -> MatchSummary:
    def nothing(n: int) -> tuple[Any, Any]:
        return np.zeros((n, 11), np.float32), np.zeros(n, np.int64)

    return summary_of(match, [(s, *nothing(len(s.deliveries))) for s in match.innings])


def learnt(matches: Sequence[Match]) -> Form:
    form = Form()
    for day, played in by_date(matches):
        form.learn_day(day, [summary(match) for match in played])
    return form


def with_total(match: Match, runs: int, **changes: object) -> Match:
    """The match with a first innings that made other runs, all on its last ball."""
    first, second = match.innings[:2]
    last = first.deliveries[-1]
    more = runs - first.total
    ball = last._replace(runs_total=last.runs_total + more, runs_batter=last.runs_batter + more)
    side = dataclasses.replace(first, deliveries=(*first.deliveries[:-1], ball))
    chase = dataclasses.replace(second, target=runs + 1)
    return dataclasses.replace(match, innings=(side, chase), **changes)


def test_a_side_that_makes_more_is_expected_to_make_more() -> None:
    first = MATCHES[0].innings[0]
    usual = learnt(MATCHES[:1]).before(MATCHES[1], first)
    better = learnt([with_total(MATCHES[0], first.total + 60)]).before(MATCHES[1], first)
    assert better.batting > usual.batting
    assert better.level > usual.level
    worse = learnt([with_total(MATCHES[0], first.total - 60)]).before(MATCHES[1], first)
    assert worse.batting < usual.batting
    assert worse.level < usual.level


def test_strengths_are_those_of_the_sides_whoever_bats_first() -> None:
    form = learnt(MATCHES[:9])
    first, second = (form.before(MATCHES[9], side) for side in MATCHES[9].innings[:2])
    assert (first.level, first.batting, first.bowling) == (
        second.level,
        second.bowling,
        second.batting,
    )
    assert first.batting != 0


def test_a_first_match_moves_the_estimates_by_the_filters_gain() -> None:
    """One total, by the formulas of the filter written out, for two sides never met."""
    match = dataclasses.replace(MATCHES[0], innings=MATCHES[0].innings[:2], venue=None)
    first, second = match.innings
    # A chase without a result teaches nothing: the first innings alone is learnt.
    match = dataclasses.replace(match, outcome=Facts(result="no result"), event=Facts())
    assert second.target_balls in (None, FULL_BALLS)
    kind, side = 400.1, 120.6
    if match.team_type == "international":
        side = 440.0
    surprise = first.total - learnt([]).before(match, first).level
    gain = surprise / (900 + kind + 2 * side)
    after = learnt([match]).before(match, first)
    before = learnt([]).before(match, first)
    assert after.level - before.level == pytest.approx(gain * kind)
    assert after.batting == pytest.approx(gain * 2 * side)
    # Attack tells half of defence, and the other way round.
    assert after.bowling == pytest.approx(-gain * side)


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(6, 10)))
def test_form_sees_no_match_of_its_own_day_or_later(order: list[int]) -> None:
    """Whatever the later matches are, and in whatever order they come."""
    later = [with_total(MATCHES[number], 40 + 60 * at) for at, number in enumerate(order)]
    day = MATCHES[6].date
    assert day is not None
    form = Form()
    for date, played in by_date([*MATCHES[:6], *later]):
        if date >= day:
            break
        form.learn_day(date, [summary(match) for match in played])
    alone = learnt(MATCHES[:6])
    assert form.until == alone.until
    side = MATCHES[6].innings[0]
    assert form.before(MATCHES[6], side) == alone.before(MATCHES[6], side)


def test_a_copy_stays_as_it_is_and_comes_back_from_tensors() -> None:
    form = learnt(MATCHES[:6])
    side = MATCHES[6].innings[0]
    copy, before = form.copy(), form.before(MATCHES[6], side)
    form.learn_day(datetime.date(2030, 1, 1), [summary(MATCHES[7])])
    assert copy.before(MATCHES[6], side) == before != form.before(MATCHES[6], side)
    back = Form.from_tensors(saved_table(copy))
    assert dataclasses.astuple(back.before(MATCHES[6], side)) == pytest.approx(
        dataclasses.astuple(before), abs=1e-4
    )
    # Learning goes on from there.
    assert back.until == copy.until
    back.learn_day(datetime.date(2030, 1, 1), [summary(MATCHES[7])])
    assert back.mean == pytest.approx(form.mean, abs=1e-3)
    assert back.keys == form.keys


def test_matches_that_were_not_played_out_teach_nothing() -> None:
    match = MATCHES[0]
    first, chase = (dataclasses.replace(side, target_balls=None) for side in match.innings[:2])
    short = dataclasses.replace(chase, target_balls=60)
    cut = dataclasses.replace(first, deliveries=first.deliveries[:60])
    for changes in (
        {"innings": (first, chase), "overs": None, "match_type": "Test"},
        {"innings": (first,)},
        {"innings": (first, short)},
        {"innings": (cut, chase)},
    ):
        form = learnt([dataclasses.replace(match, **changes)])
        assert len(form.keys) == 0
        assert form.until == match.date
    assert len(learnt([dataclasses.replace(match, innings=(first, chase))]).keys) > 3


def test_damaged_tensors_are_refused() -> None:
    tensors = saved_table(learnt(MATCHES[:3]))
    with pytest.raises(ValueError, match="fit"):
        Form.from_tensors({**tensors, "mean": tensors["mean"][:-1]})
    with pytest.raises(ValueError, match="negative"):
        Form.from_tensors({**tensors, "covariance": -torch.ones_like(tensors["covariance"])})
