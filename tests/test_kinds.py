"""One rule says whether a match is of the kind a predictor was trained on."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

import pytest
from small_predictors import small_predictor

from attnlens.cricket.explain.explain_ball import flags_of
from attnlens.cricket.lab.evaluation import BaselineForecasts, evaluation, judge
from attnlens.cricket.lab.held_out import HeldOut
from attnlens.cricket.lab.simulator import simulate_match
from attnlens.cricket.match.match import Innings, Match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.predictor.kinds import differences, kinds_unlike
from attnlens.cricket.predictor.trained import Timeline, TrainedPredictor
from attnlens.cricket.predictor.window import window_for

MATCH = dataclasses.replace(simulate_match(9), dates=(datetime.date(2024, 2, 1),))
KINDS = {"other_format", "other_gender", "other_teams", "other_balls_per_over"}


def predictor(**card: Any) -> TrainedPredictor:
    made = small_predictor(matches=3)
    return dataclasses.replace(made, card={**made.card, "teams": list(MATCH.teams), **card})


CASES: list[tuple[dict[str, Any], dict[str, Any], set[str], str]] = [
    ({}, {}, set(), ""),
    ({"gender": "female"}, {}, {"other_gender"}, "T20 female"),
    ({"gender": None}, {}, set(), ""),
    ({"match_type": "ODI", "overs": 50}, {}, {"other_format"}, "ODI male"),
    ({"match_type": None}, {}, set(), ""),
    ({"overs": 10}, {}, {"other_format"}, "T20 male of 10 overs"),
    ({"overs": 10}, {"overs": [10, 20]}, set(), ""),
    ({"overs": None}, {}, set(), ""),
    ({"balls_per_over": 5}, {}, {"other_balls_per_over"}, "T20 male of 5 balls an over"),
    ({"balls_per_over": 5}, {"balls_per_over": [5]}, set(), ""),
    ({}, {"balls_per_over": [5]}, {"other_balls_per_over"}, "T20 male of 6 balls an over"),
    ({"teams": ("Here", "There")}, {}, {"other_teams"}, "T20 male of other teams"),
    ({"teams": ("Here", "There")}, {"teams": []}, set(), ""),
    ({"teams": ("Here", "There")}, {"competitions": 5}, set(), ""),
    ({"teams": ("Here", MATCH.teams[0])}, {}, set(), ""),
    ({"match_type": "Test", "overs": None}, {"match_types": [], "gender": None}, set(), ""),
    (
        {"gender": "female", "balls_per_over": 5, "teams": ("Here", "There")},
        {},
        {"other_gender", "other_balls_per_over", "other_teams"},
        "T20 female of 5 balls an over of other teams",
    ),
]


@pytest.mark.parametrize(("changes", "card", "flags", "kind"), CASES)
def test_flags_figures_and_new_ratings_agree(
    changes: dict[str, Any], card: dict[str, Any], flags: set[str], kind: str
) -> None:
    match: Match = dataclasses.replace(MATCH, **changes)
    model = predictor(**card)
    told = dict(differences(match, model))
    assert set(told) == flags
    window = window_for(match, BallReference(1, 20), model)
    flagged = {one.flag: one.text for one in flags_of(window, model, evidence=True)}
    assert {name: text for name, text in flagged.items() if name in KINDS} == told
    kinds = {kind: 1} if kind else {}
    assert kinds_unlike([match], model) == kinds
    held = HeldOut(model, (match,), None, 0, {match.match_id: match})
    document = evaluation(held, judge(held), BaselineForecasts({}, {}, fitted_on=0))
    assert document["outside_training"]["kinds"] == kinds
    assert document["outside_training"]["matches"] == len(kinds)


def test_a_match_of_another_kind_is_not_said_to_be_in_the_training() -> None:
    model = predictor(trained_from="2024-01-01", trained_until="2024-12-31")
    for changes, wanted in (({}, True), ({"balls_per_over": 5}, False), ({"overs": 10}, False)):
        window = window_for(dataclasses.replace(MATCH, **changes), BallReference(1, 20), model)
        names = {one.flag for one in flags_of(window, model, evidence=True)}
        assert ("in_training" in names) == wanted


def test_a_first_innings_that_rain_ended_is_flagged() -> None:
    model = predictor()
    first, second = MATCH.innings[:2]
    down = [ball.wickets_before for ball in first.deliveries]
    place = next(place for place in range(60, 0, -1) if down[place] < 6)
    cut = dataclasses.replace(first, deliveries=first.deliveries[:place])

    def flags(*innings: Innings) -> list[str]:
        match = dataclasses.replace(MATCH, innings=innings)
        window = window_for(match, BallReference(1, 20), model)
        told = flags_of(window, model, evidence=True)
        return [one.text for one in told if one.flag == "reduced_match"]

    assert flags(cut, second) == [f"this innings was cut short after {cut.overs_display} overs"]
    assert flags(cut) == []  # it may go on
    assert flags(first, second) == []


@pytest.mark.parametrize(("age", "is_stale"), [(119, False), (120, False), (121, True)])
def test_ratings_are_stale_after_120_days(age: int, is_stale: bool) -> None:
    made = predictor()
    assert made.ratings.until is not None
    day = made.ratings.until + datetime.timedelta(days=age)
    match = dataclasses.replace(MATCH, dates=(day,))
    window = window_for(match, BallReference(1, 20), made)
    texts = {flag.flag: flag.text for flag in flags_of(window, made, evidence=True)}
    assert ("stale_ratings" in texts) == is_stale
    if is_stale:
        assert texts["stale_ratings"] == (
            f"the ratings of players and competitions are from {made.ratings.until}, {age} "
            "days before this match; to update the ratings, give the matches since then as history"
        )
        history = [dataclasses.replace(simulate_match(8), dates=(day - datetime.timedelta(1),))]
        dated = Timeline(made, history).predictor_for(match)
        window = window_for(match, BallReference(1, 20), dated)
        flags = {flag.flag for flag in flags_of(window, dated, evidence=True, history=True)}
        assert "stale_ratings" not in flags
