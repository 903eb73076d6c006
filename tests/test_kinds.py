"""One rule says whether a match is of the kind a predictor was trained on."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

import pytest
from small_predictors import small_predictor

from attnlens.cricket.evaluate import evaluation, judge
from attnlens.cricket.flags import flags_of
from attnlens.cricket.held_out import HeldOut
from attnlens.cricket.kinds import differences, kind_card, kinds_unlike, like_training
from attnlens.cricket.match import Match
from attnlens.cricket.naming import BallReference
from attnlens.cricket.ratings_update import brought_up_to_date
from attnlens.cricket.simulate import simulate_match
from attnlens.cricket.trained import TrainedPredictor
from attnlens.cricket.window import window_for

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
    assert like_training(match, model) == (not flags)
    window = window_for(match, BallReference(1, 20), model)
    flagged = {one["flag"]: one["text"] for one in flags_of(window, model, evidence=True)}
    assert {name: text for name, text in flagged.items() if name in KINDS} == told
    kinds = {kind: 1} if kind else {}
    assert kinds_unlike([match], model) == kinds
    assert brought_up_to_date(model, [match])[1].other == kinds
    held = HeldOut(model, (match,), None, 0, {match.match_id: match})
    figures = evaluation(held, judge(held), {}, draws=10)
    assert figures["outside_training"]["kinds"] == kinds
    assert figures["outside_training"]["matches"] == len(kinds)


def test_a_match_of_another_kind_is_not_said_to_be_in_the_training() -> None:
    model = predictor(trained_from="2024-01-01", trained_until="2024-12-31")
    for changes, wanted in (({}, True), ({"balls_per_over": 5}, False), ({"overs": 10}, False)):
        window = window_for(dataclasses.replace(MATCH, **changes), BallReference(1, 20), model)
        names = {one["flag"] for one in flags_of(window, model, evidence=True)}
        assert ("in_training" in names) == wanted


def test_the_card_of_a_training_knows_its_own_matches() -> None:
    matches = [MATCH, dataclasses.replace(MATCH, gender="female", overs=10, balls_per_over=5)]
    card = kind_card(matches)
    assert card == {
        "match_types": ["T20"],
        "gender": None,
        "overs": [10, 20],
        "balls_per_over": [5, 6],
        "teams": sorted(MATCH.teams),
    }
    made = dataclasses.replace(small_predictor(matches=3), card=card)
    assert all(like_training(match, made) for match in matches)
    ten = dataclasses.replace(made, card=kind_card(matches[1:]))
    assert dict(differences(MATCH, ten)) == {
        "other_format": "trained on matches of 10 overs a side, this is one of 20: "
        "take the figures as a sketch",
        "other_gender": "trained on female cricket, this match is male",
        "other_balls_per_over": "overs of 6 balls, the training data has 5",
    }
