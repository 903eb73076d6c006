"""Matches played by rules tell their causes exactly, and what is asked of a model is sound."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from command_line import Here
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest
from sklearn.metrics import roc_auc_score
from small_predictors import small_model

from attnlens.cricket.explain.ablation import under_masks
from attnlens.cricket.lab import planted_truth
from attnlens.cricket.lab.fit import fit_base
from attnlens.cricket.lab.league import RULES, RuledBall, ruled_ball
from attnlens.cricket.lab.planted_truth import (
    SOURCES,
    FirstClaim,
    RuledInnings,
    Share,
    evenness,
    share_of,
    with_shuffled_heads,
)
from attnlens.cricket.lab.simulator import Simulated, simulate
from attnlens.cricket.match.match import OUTCOMES, Delivery, Facts
from attnlens.cricket.predictor.ratings import Ratings
from attnlens.cricket.predictor.trained import TrainedPredictor
from attnlens.cricket.predictor.window import window_batch
from attnlens.evidence.faithfulness import auc
from attnlens.evidence.scores import divergence

BY_NAME = {rule.name: rule for rule in RULES}


@cache
def ruled(seed: int) -> Simulated:
    return simulate(seed, rules=RULES)


def pairs(made: Simulated) -> list[tuple[RuledBall, tuple[Delivery, ...], Delivery]]:
    """Each ball's truth, the deliveries before it, and itself."""
    sides = [side.deliveries for side in made.match.innings]
    balls = [(side[: ball.index - 1], ball) for side in sides for ball in side]
    return [(truth, past, ball) for truth, (past, ball) in zip(made.ruled, balls, strict=True)]


SINGLE = {"runs_batter": 1, "runs_extras": 0, "runs_total": 1, "extras": Facts(), "wickets": ()}
"""Nothing that a rule counts."""


@pytest.fixture(scope="module")
def predictor() -> TrainedPredictor:
    """Never trained, with nothing at zero; its base knows the league."""
    base = fit_base([ruled(seed).match for seed in range(4)], seed=3)
    return TrainedPredictor("small", "", small_model(12), base, Ratings(), {"epochs": []})


@pytest.fixture(scope="module")
def innings(predictor: TrainedPredictor) -> list[RuledInnings]:
    return planted_truth.ruled_innings([ruled(seed) for seed in range(3)], predictor.base)


# The truth


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 3), st.integers(1, 239), st.data())
def test_only_a_planted_ball_changes_the_true_probabilities(
    seed: int, number: int, data: st.DataObject
) -> None:
    every = pairs(ruled(seed))
    truth, past, ball = every[min(number, len(every) - 1)]
    if not past:
        return
    decoys = sorted(set(range(1, len(past) + 1)) - truth.planted)
    if decoys:
        some = frozenset(data.draw(st.sets(st.sampled_from(decoys), min_size=1)))
        assert truth.probabilities(some) == truth.probabilities()
        assert truth.effect(some) == 0.0
    for planted in truth.planted:
        assert truth.probabilities(frozenset((planted,))) != truth.probabilities()
        assert truth.effects()[planted] > 0
    # Not by the bookkeeping of the truth, but by playing the ball again after another past.
    changed = data.draw(st.sets(st.sampled_from(range(1, len(past) + 1)), max_size=6))
    others = [b._replace(**SINGLE, outcome="1") if b.index in changed else b for b in past]
    again = ruled_ball(truth.innings, others, ball.batter, ball.bowler, truth.without_rules)
    assert again.probabilities() == pytest.approx(
        truth.probabilities(frozenset(changed)), abs=1e-12
    )
    assert set(truth.effects()) == truth.planted


@pytest.mark.parametrize("seed", range(3))
def test_the_rules_count_what_their_texts_say(seed: int) -> None:
    seen = dict.fromkeys(BY_NAME, 0)
    for truth, past, ball in pairs(ruled(seed)):
        mine = [b for b in past if b.bowler == ball.bowler]
        faced = [b for b in mine if b.batter == ball.batter]
        dots = len(mine) > 1 and {b.outcome for b in mine[-2:]} == {"0"}
        expected = {
            "has_hit": [b.index for b in faced if b.runs_batter in (4, 6)],
            "two_dots": [b.index for b in mine[-2:] if dots],
            "wicket": [b.index for b in past[-6:] if b.wickets],
        }
        causes = {name: balls for name, balls in expected.items() if balls}
        assert {name: list(balls) for name, balls in truth.balls.items()} == causes
        for name in truth.balls:
            seen[name] += 1
        logs = dict(zip(OUTCOMES, np.log(truth.without_rules), strict=True))
        units = {
            "has_hit": sum(0.5**k for k in range(len(expected["has_hit"]))),
            "two_dots": len(expected["two_dots"]) / 2,
            "wicket": sum(0.5**k for k in range(len(expected["wicket"]))),
        }
        for name, rule in BY_NAME.items():
            for outcome in rule.moves:
                logs[outcome] += rule.strength * (units[name] - rule.ordinary)
        shares = np.exp(list(logs.values()))
        assert truth.probabilities() == pytest.approx(shares / shares.sum(), abs=1e-12)
    assert min(seen.values()) > 5


def test_what_happens_is_drawn_from_the_true_probabilities() -> None:
    every = [pair for seed in range(25) for pair in pairs(ruled(seed))]
    for name, rule in BY_NAME.items():
        active = [(truth, ball) for truth, _, ball in every if name in truth.balls]
        moved = [OUTCOMES.index(outcome) for outcome in rule.moves]
        shares = np.array([truth.probabilities() for truth, _ in active])[:, moved].sum(1)
        came = sum(ball.outcome in rule.moves for _, ball in active)
        spread = math.sqrt((shares * (1 - shares)).sum())
        assert abs(came - shares.sum()) < 4 * spread
        # And not from those without the rules: they are far off.
        plain = np.array([truth.without_rules for truth, _ in active])[:, moved].sum()
        assert abs(shares.sum() - plain) > 2 * spread


# The area under the curve


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=40))
def test_the_area_is_that_of_scikit_learn(rows: list[tuple[int, bool]]) -> None:
    scores = np.array([score for score, _ in rows], float)
    hits = np.array([hit for _, hit in rows])
    found = auc(scores, hits)
    if hits.all() or not hits.any():
        assert found is None
    else:
        assert found == pytest.approx(roc_auc_score(hits, scores), abs=1e-12)


# What is asked of a model


def test_every_method_points_as_scikit_learn_says(
    predictor: TrainedPredictor, innings: list[RuledInnings]
) -> None:
    for place, position in planted_truth.ruled_sample(innings, 2, 1):
        side = innings[place]
        alone = planted_truth.remove_past(predictor.model, side, position)
        more = {"hiding": alone.effects}
        found = planted_truth.point(predictor, side, position, np.random.default_rng(1), more)
        planted = np.isin(np.arange(position) + 1, list(side.ruled[position].planted))
        recency = np.arange(position, dtype=float)
        assert found["recency"]["all"] == pytest.approx(roc_auc_score(planted, recency))
        batch = window_batch(side.arrays, position)
        masks = np.concatenate([np.ones((1, position), bool), ~np.eye(position, dtype=bool)])
        full, *hidden = under_masks(predictor.model, batch, masks)
        effects = [divergence(full, without) for without in hidden]
        assert found["hiding"]["all"] == pytest.approx(roc_auc_score(planted, effects))
        late = slice(-35, None)
        if planted[late].any():
            area = roc_auc_score(planted[late], recency[late])
            assert found["recency"]["last36"] == pytest.approx(area)


def test_a_model_that_is_the_scoreboard_has_learnt_nothing(
    predictor: TrainedPredictor, innings: list[RuledInnings]
) -> None:
    found = planted_truth.compare_with_truth(predictor, innings, 5)
    losses = found["expected_log_loss"]
    every = [ball for one in innings for ball in one.ruled]
    entropy = [-sum(p * math.log(p) for p in ball.probabilities()) for ball in every]
    assert losses["truth"].mean == pytest.approx(np.mean(entropy), abs=1e-9)
    assert found["balls"] == len(every)
    # Nothing is below the entropy (Gibbs).
    assert min(losses[name].mean for name in losses) == losses["truth"].mean


def test_heads_are_shuffled_and_nothing_else(predictor: TrainedPredictor) -> None:
    before = predictor.model.state_dict()
    after = with_shuffled_heads(predictor, 3).state_dict()
    changed = {name for name, value in before.items() if not torch.equal(after[name], value)}
    assert {name.split(".")[-2] for name in changed} == {"to_query", "to_key"}
    assert all(name.startswith("temporal.") for name in changed)
    for name in changed:
        assert torch.equal(before[name].flatten().sort()[0], after[name].flatten().sort()[0])


def test_lists_of_chance_are_seldom_supported_and_the_best_one_surely(
    predictor: TrainedPredictor, innings: list[RuledInnings]
) -> None:
    lists, firsts = planted_truth.lists_and_first_claims(predictor, innings, balls=8, seed=4)
    shares = planted_truth.verdict_shares(lists, firsts, 5)
    every = [one for one in lists if one.source == "random"]
    random = [one for one in every if not one.planted]
    assert len(every) > len(random) > 40
    # 2 of some 80 would be expected at most; lists of one ball go together.
    assert sum(one.verdict == "supported" for one in random) <= 6
    assert shares["sources"]["random"]["supported"].claims == len(random)
    surely = shares["sources"]["oracle"]["surely"]
    # Where they are four of the few balls to a batter, no list of as many can be that rare.
    assert surely.share >= 0.7
    assert surely.claims == 8 == len(firsts)
    assert shares["uniform"]["p"] == evenness([one.p for one in every])["p"]
    assert {one.source for one in lists} <= set(SOURCES)
    for one in lists:
        assert one.removed == tuple(sorted(set(one.removed)))


def test_evenness_is_scipys() -> None:
    for values in (np.random.default_rng(1).random(400), np.random.default_rng(2).beta(1, 2, 400)):
        found, expected = evenness(values.tolist()), kstest(values, "uniform", method="asymp")
        assert found["distance"] == pytest.approx(expected.statistic)
        assert found["p"] == pytest.approx(expected.pvalue, abs=1e-6)


def test_a_share_of_none_has_an_interval() -> None:
    def share(*verdicts: str) -> Share:
        claims = [FirstClaim(str(n), False, 0.0, True, each) for n, each in enumerate(verdicts)]
        return share_of(claims, "supported", 5)

    none, some = share(*["contradicted"] * 40), share(*["contradicted", *["supported"] * 3] * 10)
    assert none.ci is not None
    assert some.ci is not None
    assert (none.share, none.claims, none.ci[0]) == (0.0, 40, 0.0)
    assert 0.05 < none.ci[1] < 0.12
    assert some.ci[0] < some.share == 0.75 < some.ci[1]


# The command

SMALL = ("--quick", "--matches", "3", "--epochs", "1", "--balls", "2", "--claims", "1")


def test_the_command_runs_from_end_to_end(attnlens_here: Here) -> None:
    answer = attnlens_here("lab", "planted", *SMALL, "--json", "--out", "planted.json")
    assert (answer.status, answer.out) == (0, ""), answer.err
    data = json.loads(Path("planted.json").read_text(encoding="utf-8"))
    assert data["plan"]["matches"] == 3
    assert [rule["name"] for rule in data["rules"]] == list(BY_NAME)
    assert data["pointing"]["balls"] == 2
    assert set(data["verdicts"]["sources"]) == set(SOURCES)
    page = planted_truth.render_planted(data)
    means = [
        f"{data['pointing']['methods'][m]['all']['mean']:.3f}" for m in ("attention", "random")
    ]
    for words in ("value norm", "has hit, decoys", "Target: at most 5% false alarms", *means):
        assert words in page


def test_bad_values_are_said_at_once(attnlens_here: Here) -> None:
    bad = attnlens_here.refused("lab", "planted", "--seed", "-1")
    assert "'-1' is not a number from 0 to 999999" in bad
    bad = attnlens_here.refused("lab", "planted", "--out", "nowhere/p.json")
    assert "its folder does not exist" in bad
    assert attnlens_here.files() == []
