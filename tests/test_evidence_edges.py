"""Balls of which little or nothing can be claimed, and models of other shapes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import Here
from small_predictors import simulated, small_predictor, stirred

import attnlens
from attnlens.cricket.explain.explain_ball import explain_ball
from attnlens.cricket.lab.fit import cricket_sizes
from attnlens.cricket.match.match import Match
from attnlens.cricket.match.naming import BallReference, find_ball
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.predictor.predictor import FullModel
from attnlens.cricket.words.narrative import in_words
from attnlens.errors import InputError
from attnlens.evidence.verdict import ELSEWHERE, TOO_FEW_LIKE_IT, too_few

PREDICTOR = small_predictor(seed=8)
MATCH = simulated(40)


def explained(match: Match, innings: int, ball: int, **options: Any) -> dict[str, Any]:
    reference = BallReference(innings, ball)
    explanation = in_words(explain_ball(match, reference, PREDICTOR, **options))
    assert attnlens.Explanation.from_json(explanation.to_json()) == explanation
    return explanation.to_dict()


def about_balls(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in data["evidence"] if one["removed"]]


def test_the_first_ball_has_nothing_to_look_at() -> None:
    data = explained(MATCH, 1, 1)
    assert about_balls(data) == []
    assert [one["kind"] for one in data["evidence"]] == [
        "venue and teams", "striker's record", "bowler's record", "the scoreboard"
    ]  # fmt: skip
    assert [one["verdict"] for one in data["evidence"]] == ["cannot be told"] * 4
    assert data["evidence"][-1]["reason"] == TOO_FEW_LIKE_IT
    told = [line["text"] for line in data["narrative"]]
    assert "No finding can be told: no ball came before it." in told
    assert all(not group["balls"] for group in data["contributions"])


@pytest.mark.parametrize("ball", [2, 5])
def test_of_a_short_past_nothing_can_be_told(ball: int) -> None:
    data = explained(MATCH, 1, ball)
    assert about_balls(data)
    for one in about_balls(data):
        assert (one["p"], one["q"], one["replaced"], one["controls"]) == (None, None, None, 0)
        told = {"cannot be told": too_few("balls"), None: ELSEWHERE}
        assert one["reason"] == told[one["verdict"]]
    told = [line["text"] for line in data["narrative"]]
    assert f"No finding can be told: {too_few('balls')}." in told


@pytest.mark.parametrize(
    "heads",
    [
        {"micro": 1, "short": 1, "medium": 1, "long": 1},
        {"micro": 4, "short": 2, "medium": 3, "long": 6},
    ],
)
def test_a_model_with_another_number_of_heads(heads: dict[str, int]) -> None:
    torch.manual_seed(2)
    sizes = dataclasses.replace(cricket_sizes(12), heads=heads)
    model = FullModel(sizes, torch.linspace(-3, -1, len(OUTCOMES)))
    stirred(model, 2)
    other = dataclasses.replace(PREDICTOR, model=model)
    data = explain_ball(MATCH, BallReference(2, 47), other).to_dict()
    for scale, count in heads.items():
        assert len(data["across_balls"][scale]["attention_by_head"]) == count
    named = {(one["scale"], one["head"]) for one in data["evidence"] if one["kind"] == "head"}
    assert {scale for scale, _ in named} == set(heads)
    for scale, head in named:
        places = [
            one["removed_from"]
            for one in data["evidence"]
            if (one["scale"], one["head"]) == (scale, head)
        ]
        assert places == ["head"]


def test_no_such_outcome() -> None:
    with pytest.raises(InputError, match="no outcome '7'; choose one of 0 1 2 3 4 5 6 W wd nb"):
        explain_ball(MATCH, find_ball(MATCH, 3), PREDICTOR, outcome="7")


def test_one_outcome_on_the_command_line(attnlens_here: Here, sample_match_path: Path) -> None:
    asked = ("explain", sample_match_path, "--ball", "30", "--outcome", "four")
    data = json.loads(attnlens_here.good(*asked, "--json"))
    assert data["prediction"]["explained"] == "4"
    assert {one["top_change"]["outcome"] for one in data["evidence"]} == {"4"}
    assert "points of P(four) from usual" in " ".join(attnlens_here.good(*asked).split())
    assert "what moves P(4)" in " ".join(attnlens_here.good(*asked, "--full").split())
    answer = attnlens_here(*asked, "--format", "heatmap")
    assert (answer.status, answer.out) == (2, "")
    assert "which is the same for every outcome; leave --outcome out" in answer.err
