"""One ball explained: the claims, what hiding their balls does, and the whole document."""

from __future__ import annotations

import dataclasses
import importlib.resources
import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import torch
from command_line import SCALES, Here
from numerics import near_effect
from small_predictors import probabilities, simulated, small_predictor, stirred, with_hidden

import attnlens
from attnlens.cricket.errors import BallNotFoundError
from attnlens.cricket.explain.claims import BallEvidence, claims_of, gather_evidence, groups_of
from attnlens.cricket.explain.explain_ball import explain_ball
from attnlens.cricket.explain.reading import SITES, bias_shares, read_ball
from attnlens.cricket.lab.fit import cricket_sizes
from attnlens.cricket.match.match import OUTCOMES
from attnlens.cricket.match.naming import BallReference, find_ball
from attnlens.cricket.predictor.predictor import FUSED, FullModel
from attnlens.cricket.predictor.window import BallWindow, window_for
from attnlens.cricket.words.narrative import in_words
from attnlens.errors import InputError
from attnlens.evidence.claim import MODEL
from attnlens.evidence.scores import divergence
from attnlens.evidence.verdict import ELSEWHERE, TOO_FEW_LIKE_IT, too_few
from attnlens.recording import record
from attnlens.recording.attention_record import AttentionRecord
from attnlens.recording.axes import Axis

PREDICTOR = small_predictor(hidden_dim=24, seed=8)
MATCH = simulated(40)
BALLS = [(innings, ball) for innings in (1, 2) for ball in (1, 2, 13, 47, "last")]


Explained = dict[tuple[int, int | str], dict[str, Any]]


def window_of(innings: int, ball: int | str) -> BallWindow:
    return window_for(MATCH, find_ball(MATCH, ball, innings), PREDICTOR)


def gathered(innings: int, ball: int | str) -> tuple[BallWindow, BallEvidence]:
    window = window_of(innings, ball)
    return window, gather_evidence(PREDICTOR, window, read_ball(PREDICTOR, window), outcome="all")


@pytest.fixture(scope="module")
def explained() -> Explained:
    return {
        which: explain_ball(
            MATCH, find_ball(MATCH, *which[::-1]), PREDICTOR, outcome="all"
        ).to_dict()
        for which in BALLS
    }


@pytest.mark.parametrize("which", BALLS)
def test_the_document_is_valid_and_true_to_the_match(
    explained: Explained, which: tuple[int, int | str]
) -> None:
    data = explained[which]
    kept = attnlens.Explanation.model_validate(data)
    assert json.loads(kept.to_json()) == data
    shipped = importlib.resources.files("attnlens.cricket.explain").joinpath("schema.json")
    jsonschema.Draft202012Validator(json.loads(shipped.read_text("utf-8"))).validate(data)

    delivery = MATCH.innings[which[0] - 1].deliveries[data["ball"]["index"] - 1]
    if which[1] != "last":
        assert data["ball"]["index"] == which[1]
    prediction, layers = data["prediction"], data["within_ball"]["layers"]
    assert prediction["actual"] == delivery.outcome
    assert data["ball"]["label"] == delivery.label
    assert [row["outcome"] for row in prediction["outcomes"]] == list(OUTCOMES)
    for kind in ("probability", "baseline"):
        assert sum(row[kind] for row in prediction["outcomes"]) == pytest.approx(1, abs=1e-5)
    chance = {row["outcome"]: row["probability"] for row in prediction["outcomes"]}
    assert prediction["top"] == max(chance, key=lambda outcome: chance[outcome])
    surprise = -math.log2(chance[delivery.outcome])
    assert prediction["surprise_bits"] == pytest.approx(surprise, abs=1e-3)
    assert sum(data["fusion_weights"].values()) == pytest.approx(1, abs=1e-5)
    assert list(data["fusion_weights"]) == list(FUSED)
    for parts in (layers, *(layer["nodes"] for layer in layers)):
        assert sum(part["weight"] for part in parts) == pytest.approx(1, abs=1e-5)
    assert len(layers) == 3


@pytest.mark.parametrize("which", BALLS)
def test_heat_maps_hold_the_recorded_weights(
    explained: Explained, which: tuple[int, int | str]
) -> None:
    window = window_of(*which)
    with record(PREDICTOR.model) as recording, torch.no_grad():
        PREDICTOR.model(window.batch)
    index = window.delivery.index
    for scale in SCALES:
        entry = recording[SITES[scale]]
        found = explained[which]["across_balls"][scale]
        for number, head in enumerate(found["attention_by_head"].values()):
            row = entry.weights[0, number, 0].double().tolist()
            assert head["self_attention"] == pytest.approx(row[-1], abs=1e-6)
            assert head["past_attention"] == pytest.approx(sum(row[:-1]), abs=1e-6)
            if scale == "long":
                overs = [ball.over for ball in window.past if ball.over < window.delivery.over]
                shares = [row[over] / overs.count(over) for over in overs]
                top = sorted(row[:-1], reverse=True)[: len(head["top_overs"])]
                assert head["row"] == pytest.approx(shares, abs=1e-6)
                assert head["top_over_weights"] == pytest.approx(top, abs=1e-6)
            else:
                assert head["row"] == pytest.approx(row[:-1], abs=1e-6)
            held = dict(zip(found["balls"], head["row"], strict=True))
            assert [held[ball] for ball in head["top_balls"]] == head["weights"]
        reach = {"micro": 5, "short": 11, "medium": 35}.get(scale)
        if reach is not None:
            assert found["balls"] == list(range(max(1, index - reach), index))
        parts = sum(found["aggregate_attention"].values())
        assert parts == pytest.approx(1 if found["balls"] else 0, abs=1e-5)


def test_effects_are_what_hiding_the_balls_does() -> None:
    window, found = gathered(2, 47)
    model, batch = PREDICTOR.model, window.batch

    def hidden(balls: tuple[int, ...]) -> np.ndarray[Any, Any]:
        return probabilities(model, with_hidden(batch, [ball - 1 for ball in balls]))[0, 0]

    full = probabilities(model, batch)[0, 0]
    np.testing.assert_allclose(found.leave_one_out.full, full, atol=1e-6)
    for index in (1, 20, 40, 46):
        after = hidden((index,))
        np.testing.assert_allclose(found.leave_one_out.loo_probs[index], after, atol=1e-6)
        near_effect(found.leave_one_out.effects[index], float(divergence(full, after)))
    for tested in found.tests:
        if tested.removed_from != "model" or not tested.claim.removed:
            continue
        after = hidden(tested.claim.removed)
        np.testing.assert_allclose(tested.probabilities, after, atol=1e-6)
        np.testing.assert_allclose(tested.points, 100 * (after - full), atol=1e-4)
        near_effect(tested.effect, divergence(full, after))


def test_claims_are_of_what_a_reader_would_name() -> None:
    window = window_of(1, 50)
    reading = read_ball(PREDICTOR, window)
    claims = claims_of(window, reading.scales, reading.total)
    by_kind = {claim.kind: claim for claim in claims if claim.site == MODEL}
    past, now = MATCH.innings[0].deliveries[14:49], window.delivery
    attended = sorted(past, key=lambda ball: -reading.total[ball.index - 1])
    boundaries = [ball.index for ball in past if ball.boundary]
    assert by_kind["attended most"].removed == (attended[0].index,)
    assert by_kind["attended most"].first
    for kind, balls in {
        "attended": sorted(ball.index for ball in attended[:4]),
        "this over": [ball.index for ball in past if ball.over == now.over],
        "this bowler": [ball.index for ball in past if ball.bowler == now.bowler],
        "this batter": [ball.index for ball in past if ball.batter == now.batter],
        "boundaries": boundaries[-4:],
        "last balls": [46, 47, 48, 49],
    }.items():
        claim = by_kind.pop(kind, None)
        assert (() if claim is None else claim.removed) == tuple(balls)
        assert claim is None or claim.window == tuple(range(15, 50))
    assert list(by_kind) == ["attended most"]
    places = [claim.site for claim in claims if claim.kind == "head"]
    carrying = {
        f"{scale}/{number}"
        for scale, attention in reading.scales.items()
        for number, share in enumerate(attention.carries)
        if share >= 0.05 and any(attention.rows[number])
    }
    assert set(places) == carrying
    assert len(places) == len(carrying) > 2


@pytest.mark.parametrize("which", [(1, 1), (1, 2), (1, 13), (2, 47), (2, "last")])
def test_a_head_is_told_by_what_it_does_alone_and_its_share(
    explained: Explained, which: tuple[int, int | str]
) -> None:
    data = explained[which]
    assert {claim["effect_log_odds"] for claim in data["evidence"]} == {None}, "of all outcomes"
    heads = {
        (scale, name): head["top_any"]
        for scale in SCALES
        for name, head in data["across_balls"][scale]["attention_by_head"].items()
        if head["carries"] >= 0.05
    }
    balls = {row["index"]: row for row in data["past_balls"]}
    told = {}
    for one in data["evidence"]:
        of_head = one["kind"] == "head"
        assert of_head == (one["removed_from"] == "head") == (one["share"] is not None)
        assert of_head == (one["head"] is not None)
        assert one["reference"] == (one["kind"] == "last balls")
        assert len(one["single_effects"]) == len(one["removed"]) or one["scale"] == "long"
        assert all(balls[ball]["label"] in one["claim"] for ball in one["removed"])
        assert (one["verdict"] in (None, "cannot be told")) or one["p"] is not None
        if one["share"] is not None and one["share"] < 0.1:
            assert one["verdict"] in (None, "cannot be told")
        moved = {row["outcome"]: row["points"] for row in one["changes"]}
        top = one["top_change"]
        about = ("4", "6") if one["kind"] == "boundaries" else moved
        assert abs(moved[top["outcome"]]) == max(abs(moved[outcome]) for outcome in about)
        assert 100 * (top["after"] - top["before"]) == pytest.approx(top["points"], abs=2e-4)
        if one["kind"] == "head":
            told[one["scale"], one["head"]] = one["removed"]
    for (scale, name), listed in heads.items():
        if scale == "long" and listed:
            # An over is one summary to the head: it is hidden whole.
            over = balls[listed[0]]["over"]
            removed = told.pop((scale, name))
            assert sorted(removed) == [b["index"] for b in data["past_balls"] if b["over"] == over]
    short = {key: listed for key, listed in heads.items() if key[0] != "long"}
    # In its relation or not.
    assert told == {name: listed for name, listed in short.items() if listed}


@pytest.mark.parametrize("index", [1, 30, 50, 70, 90, 110])
def test_every_past_ball_is_in_one_group(index: int) -> None:
    window = window_of(1, index)
    now = window.delivery

    def group_of(place: int) -> str:
        ball = MATCH.innings[0].deliveries[place]
        if ball.over == now.over:
            return "this over"
        if ball.bowler == now.bowler:
            same_batter = ball.batter == now.batter
            return "this bowler to this batter" if same_batter else "this bowler's earlier balls"
        if ball.batter == now.batter:
            return "this batter's earlier balls"
        return "other recent balls" if now.index - ball.index <= 35 else "earlier balls"

    groups = groups_of(window)
    assert len(groups) == 6
    assert sum(map(len, groups.values())) == index - 1
    for name, places in groups.items():
        assert [group_of(place) for place in places] == [name] * len(places)
        assert places == sorted(places)


def test_without_evidence_nothing_is_claimed(explained: Explained) -> None:
    for (innings, ball), tested in explained.items():
        reference = find_ball(MATCH, ball, innings)
        told = explain_ball(MATCH, reference, PREDICTOR, evidence=False).to_dict()
        attnlens.Explanation.model_validate(told)
        assert (told["evidence"], told["contributions"]) == ([], [])
        assert "evidence_skipped" in {one["flag"] for one in told["flags"]}
        assert "evidence_skipped" not in {one["flag"] for one in tested["flags"]}
        assert told["across_balls"].keys() == tested["across_balls"].keys()
        rows, others = (data["prediction"]["outcomes"] for data in (told, tested))
        for name in ("probability", "baseline"):
            expected = [row[name] for row in others]
            assert [row[name] for row in rows] == pytest.approx(expected, abs=2e-6)


def test_how_much_of_a_preference_is_built_in() -> None:
    content = torch.tensor([0.0, 2.0, 4.0, 9.0]).expand(1, 3, 1, 4).clone()
    bias = torch.tensor([[1.0, 2.0, 3.0, 9.0], [5, 5, 5, 9], [0, 2, 4, 9]]).reshape(1, 3, 1, 4)
    weights = torch.full((1, 3, 1, 4), 0.25)
    axes = tuple(Axis(name) for name in ("batch", "head", "query", "key"))
    entry = AttentionRecord("a", 0, weights, axes, content, bias)
    assert bias_shares(entry) == pytest.approx([1 / 5, 0, 1 / 2])
    weights[..., :2] = 0
    assert bias_shares(AttentionRecord("a", 0, weights, axes, content, bias)) == [None] * 3
    assert bias_shares(AttentionRecord("a", 0, weights, axes)) == [None] * 3


def test_what_cannot_be_explained() -> None:
    beyond = BallReference(1, len(MATCH.innings[0].deliveries) + 1)
    with pytest.raises(BallNotFoundError, match=r"has not been bowled in this file; name a ball"):
        explain_ball(MATCH, beyond, PREDICTOR)
    with pytest.raises(
        InputError, match="'7' is not an outcome; choose one of 0 1 2 3 4 5 6 W wd nb"
    ):
        explain_ball(MATCH, find_ball(MATCH, 3), PREDICTOR, outcome="7")


def in_full(ball: int) -> dict[str, Any]:
    explanation = in_words(explain_ball(MATCH, BallReference(1, ball), PREDICTOR))
    assert attnlens.Explanation.from_json(explanation.to_json()) == explanation
    return explanation.to_dict()


def about_balls(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in data["evidence"] if one["removed"]]


def test_the_first_ball_has_nothing_to_look_at() -> None:
    data = in_full(1)
    assert about_balls(data) == []
    assert [one["kind"] for one in data["evidence"]] == [
        "venue and teams", "striker's record", "bowler's record", "the scoreboard"
    ]  # fmt: skip
    assert [one["verdict"] for one in data["evidence"]] == ["cannot be told"] * 4
    assert data["evidence"][-1]["reason"] == TOO_FEW_LIKE_IT
    told = [line["text"] for line in data["narrative"]]
    assert "No earlier ball could be hidden to test what mattered." in told
    assert all(not group["balls"] for group in data["contributions"])


@pytest.mark.parametrize("ball", [2, 5])
def test_of_a_short_past_nothing_can_be_told(ball: int) -> None:
    data = in_full(ball)
    assert about_balls(data)
    for one in about_balls(data):
        assert (one["p"], one["q"], one["replaced"]) == (None, None, None)
        told = {"cannot be told": too_few("balls"), None: ELSEWHERE}
        assert one["reason"] == told[one["verdict"]]
    told = [line["text"] for line in data["narrative"]]
    assert "but the result is unclear." in " ".join(told)


@pytest.mark.parametrize("counts", [(1, 1, 1, 1, 1), (4, 2, 3, 6, 20)])
def test_a_model_with_another_number_of_heads(counts: tuple[int, ...]) -> None:
    heads = dict(zip(SCALES, counts, strict=True))
    torch.manual_seed(2)
    sizes = dataclasses.replace(cricket_sizes(12), heads=heads)
    model = FullModel(sizes, torch.linspace(-3, -1, len(OUTCOMES)))
    stirred(model, 2)
    other = dataclasses.replace(PREDICTOR, model=model)
    data = explain_ball(MATCH, BallReference(2, 47), other).to_dict()
    for scale, count in heads.items():
        assert len(data["across_balls"][scale]["attention_by_head"]) == count
    named = {(one["scale"], one["head"]) for one in data["evidence"] if one["kind"] == "head"}
    carrying = {
        (scale, name)
        for scale, map_ in data["across_balls"].items()
        for name, head in map_["attention_by_head"].items()
        if head["carries"] >= 0.05
    }
    assert named == carrying
    assert named
    by_head = [one for one in data["evidence"] if (one["scale"], one["head"]) in named]
    assert [one["removed_from"] for one in by_head] == ["head"] * len(named)


def test_one_outcome_on_the_command_line(attnlens_here: Here, sample_match_path: Path) -> None:
    asked = ("explain", sample_match_path, "--ball", "30", "--outcome", "four")
    data = json.loads(attnlens_here.good(*asked, "--json"))
    assert data["prediction"]["explained"] == "4"
    assert {one["top_change"]["outcome"] for one in data["evidence"]} == {"4"}
    assert "Why P(four) differs from usual" in " ".join(attnlens_here.good(*asked).split())
    assert "\nWhy P(four) differs from usual (points)\n" in attnlens_here.good(*asked, "--full")
    answer = attnlens_here(*asked, "--format", "heatmap")
    assert (answer.status, answer.out) == (2, "")
    assert "which are the same for every outcome; leave --outcome out" in answer.err
