"""The check of cross-attention: what is hidden, what is replaced, what the verdicts rest on."""

from __future__ import annotations

import dataclasses
from dataclasses import asdict
from functools import lru_cache

import numpy as np
import pytest
import torch
from numerics import near, near_effect
from overs import SIZES, no_runs, small_overs
from small_predictors import simulated

import attnlens
from attnlens.analysis.scores import divergence
from attnlens.cricket.overs.encoder_decoder import Choice
from attnlens.cricket.overs.evidence import (
    HAPPENED,
    SITE,
    OneOver,
    claims_of_over,
    gather_over,
)
from attnlens.cricket.overs.features import PAST_FEATURES, encode_overs, over_batch
from attnlens.cricket.overs.over import next_over
from attnlens.cricket.overs.question import find_over
from attnlens.cricket.overs.samples import Limits, brought, samples_of
from attnlens.cricket.overs.tokens import TOKEN_INDEX
from attnlens.cricket.overs.trained import TrainedOvers
from attnlens.errors import InputError

MATCH = simulated(6)


@lru_cache
def trained() -> TrainedOvers:
    return small_overs()


@pytest.fixture(scope="module")
def one() -> OneOver:
    model = trained()
    arrays = encode_overs(MATCH, MATCH.innings[0], model.ratings, model.base)
    return OneOver.of(model.model, over_batch([(arrays, 9)], SIZES), arrays, 9, seed=1)


def masks(one: OneOver, count: int = 3) -> np.ndarray:
    generator = np.random.default_rng(0)
    visible = generator.random((count, one.balls)) < 0.7
    visible[0] = True
    return visible


def test_balls_hidden_from_the_model_are_as_if_they_were_padding(one: OneOver) -> None:
    visible = masks(one)
    told = one.under_masks(visible)
    batch = one.batch
    for row, kept in enumerate(visible):
        # Taken out of the past altogether, where they were the oldest: the places stay.
        with torch.no_grad():
            logits = one.model(
                batch.history, torch.from_numpy(~kept)[None], batch.context, batch.given
            )
        near(told[row], logits[0].double().softmax(-1), of=torch.float32)
    oldest = np.ones((1, one.balls), bool)
    oldest[0, :5] = False
    with torch.no_grad():
        shorter = one.model(batch.history[:, 5:], batch.padded[:, 5:], batch.context, batch.given)
    np.testing.assert_allclose(
        one.under_masks(oldest)[0], shorter[0].double().softmax(-1).numpy(), atol=1e-6
    )


def test_balls_hidden_from_a_head_leave_every_other_head_alone(one: OneOver) -> None:
    visible = masks(one)
    hidden = torch.from_numpy(~visible[1])
    batch, model = one.batch, one.model
    told = one.under_head(2, visible)
    np.testing.assert_allclose(told[0], one.under_masks(visible[:1])[0], atol=1e-6)

    # By hand: the head's weights of the visible balls, scaled up to sum to 1.
    memory = model.remember(batch.history, batch.padded, batch.context)
    decoder = model.decoder
    with torch.no_grad():
        y_0 = decoder.placed(batch.given, batch.context)
        y_1 = decoder.after(y_0, decoder.self_attention(y_0))
        queries = (y_1 @ decoder.cross_attention.W_Q).view(-1, SIZES.heads, SIZES.d_k)
        logits = torch.einsum("qhd,hkd->hqk", queries, memory.keys[0]) / SIZES.d_k**0.5
        logits[2, :, hidden] = -torch.inf
        mixed = torch.einsum("hqk,hkd->qhd", logits.softmax(-1), memory.values[0])
        y_2 = decoder.norm_2(y_1[0] + mixed.flatten(1) @ decoder.cross_attention.W_O)
        y_3 = decoder.norm_3(y_2 + decoder.feed_forward(y_2))
        expected = (y_3 @ decoder.W_out + decoder.b).double().softmax(-1).numpy()
    np.testing.assert_allclose(told[1], expected, atol=1e-6)
    assert np.abs(told[1] - told[0]).max() > 1e-5


def test_a_replaced_ball_tells_of_something_else_and_stays_where_it_was(one: OneOver) -> None:
    names = list(PAST_FEATURES)
    bank = one._bank.numpy()
    kept = [n for n in range(len(names)) if n not in HAPPENED]
    own = one.batch.history[0].numpy()
    np.testing.assert_array_equal(bank[:, :, kept], np.repeat(own[None, :, kept], 11, 0))
    six = dict(zip(names, bank[6].T, strict=True))
    assert (six["six"] == 1).all()
    assert (six["dot"] == 0).all()
    np.testing.assert_allclose(six["runs_batter"], 1.0)
    np.testing.assert_allclose(six["surprise"], -one.expected[:, 6] / 3)
    wide = dict(zip(names, bank[8].T, strict=True))
    assert (wide["wide"] == 1).all()
    np.testing.assert_allclose(wide["runs_extras"], 0.25)

    sets = [(3, 5), (3, 5), (7,)]
    told = one.replaced(sets)
    assert told.shape == (3, one.places, 24)
    np.testing.assert_array_equal(told, one.replaced(sets))
    assert np.abs(told[0] - told[1]).max() > 0
    # Each is a row that the model could have been given.
    full = one.under_masks(np.ones((1, one.balls), bool))
    assert np.abs(told[2] - full[0]).max() > 0


def test_claims_name_the_balls_with_most_weight(one: OneOver) -> None:
    generator = np.random.default_rng(5)
    weights = generator.dirichlet(np.full(one.balls, 0.3), (SIZES.heads, one.places))
    labels = [f"b{n}" for n in range(one.balls)]
    words = [f"t{n}" for n in range(one.places)]
    told = claims_of_over(weights, words, labels)
    assert len(told) == one.places * (1 + SIZES.heads)
    for claim in told:
        row = weights[:, claim.token].mean(0)
        if claim.head is not None:
            row = weights[claim.head, claim.token]
        assert set(claim.removed) == set(np.argsort(-row)[:4].tolist())
        assert claim.share == pytest.approx(row[list(claim.removed)].sum())
        assert claim.lift == pytest.approx(claim.share * one.balls / 4)
        assert all(labels[ball] in claim.text for ball in claim.removed)
    assert claims_of_over(np.zeros((2, 3, 0)), ["a", "b", "c"], []) == []


def test_verdicts_rest_on_effects_that_can_be_measured_again(one: OneOver) -> None:
    with torch.no_grad(), attnlens.record(one.model) as recording:
        one.model(one.batch.history, one.batch.padded, one.batch.context, one.batch.given)
    weights = recording[SITE].weights[0].double().numpy()
    labels = [str(n) for n in range(one.balls)]
    claims = claims_of_over(weights, ["x"] * one.places, labels)
    found = gather_over(one, claims)
    assert [tested.claim for tested in found.tested] == claims
    everything = np.ones(one.balls, bool)
    full = one.under_masks(everything[None])[0]
    for place in (0, one.places - 1):
        for ball in (0, one.balls - 1):
            alone = everything.copy()
            alone[ball] = False
            effect = divergence(full[place], one.under_masks(alone[None])[0, place])
            near_effect(found.singles[place, ball], effect)
    for tested in found.tested:
        without = everything.copy()
        without[list(tested.claim.removed)] = False
        head = tested.claim.head
        told = (
            one.under_masks(without[None]) if head is None else one.under_head(head, without[None])
        )[0, tested.claim.token]
        own = full if head is None else one.under_head(head, everything[None])[0]
        effect = divergence(own[tested.claim.token], told)
        near_effect(tested.effect, effect)
        if tested.p is not None:
            assert len(tested.controls) in (199, 198, 999, 998)
            assert tested.p == (1 + (tested.controls >= tested.effect).sum()) / (
                len(tested.controls) + 1
            )
            assert tested.q is not None
            assert tested.q >= tested.p
        else:
            assert tested.judged.verdict is None
    # What the same sets do to all tokens is asked about once.
    assert found.spent["model"] <= 1 + one.balls + one.places + 999 + 10


def test_an_over_that_looked_at_everything_alike_claims_nothing() -> None:
    model = small_overs()
    with torch.no_grad():
        model.model.decoder.cross_attention.W_Q.zero_()
    data = next_over(find_over(MATCH, 9), model).to_dict()
    assert data["evidence"]
    assert {claim["verdict"] for claim in data["evidence"]} == {None}
    reasons = {claim["reason"] for claim in data["evidence"]}
    assert reasons == {"the head looks at them hardly more than at others"}
    assert data["agreement"]["spearman"] == {"attention": None, "recency": None}


def test_the_answer_has_the_designs_fields_and_adds_up() -> None:
    question = find_over(MATCH, 12)
    data = next_over(question, trained(), samples=50, seed=3).to_dict()
    assert (data["innings"], data["over"], data["bowled"]) == (1, 12, True)
    assert {"token", "probability"} <= set(data["tokens"][0])
    assert len(data["actual"]) == len(question.balls)
    cross = data["cross_attention"]
    places = len(data["tokens"])
    assert np.shape(cross["weights"]) == (places, SIZES.history)
    assert np.shape(cross["by_head"]) == (SIZES.heads, places, SIZES.history)
    assert len(cross["labels"]) == SIZES.history
    np.testing.assert_allclose(np.sum(cross["weights"], 1), 1, atol=1e-4)
    np.testing.assert_allclose(np.mean(cross["by_head"], 0), cross["weights"], atol=1e-5)
    assert [ball["index"] for ball in cross["balls"]] == list(
        range(question.before - SIZES.history + 1, question.before + 1)
    )
    assert data["samples"]["count"] == 50
    again = next_over(question, trained(), samples=50, seed=3).to_dict()
    assert again == data
    other = next_over(question, trained(), samples=50, seed=4, evidence=False).to_dict()
    assert other["samples"] != data["samples"]
    assert other["tokens"] == data["tokens"]
    drawn = [
        next_over(question, trained(), seed=seed, choice=Choice(False), evidence=False).tokens
        for seed in (1, 1, 2, 3)
    ]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2] or drawn[0] != drawn[3]


def test_the_first_over_looks_at_nothing() -> None:
    data = next_over(find_over(MATCH, 0), trained(), samples=20).to_dict()
    assert data["tokens"]
    assert data["evidence"] == []
    assert data["agreement"] is None
    cross = data["cross_attention"]
    assert cross["padded"] == SIZES.history
    assert set(cross["labels"]) == {None}
    assert np.abs(cross["weights"]).sum() == 0
    assert "no_history" in {flag["flag"] for flag in data["flags"]}


@pytest.mark.parametrize(
    ("choice", "samples", "complaint"),
    [
        (Choice(False, 0.0), 0, "a temperature of 0"),
        (Choice(False, float("nan")), 0, "a temperature of nan"),
        (Choice(False, 1.0, 0), 0, "the likeliest 0 of 24"),
        (Choice(False, 1.0, 25), 0, "the likeliest 25 of 24"),
        (Choice(), 10**9, "1000000000 overs cannot be drawn"),
    ],
)
def test_what_cannot_be_drawn_is_refused(choice: Choice, samples: int, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        next_over(find_over(MATCH, 3), trained(), choice=choice, samples=samples)


def test_overs_are_found_by_every_name() -> None:
    side = MATCH.innings[1]
    last = side.deliveries[-1].over
    assert find_over(MATCH, 4).balls == tuple(b for b in MATCH.innings[0].deliveries if b.over == 4)
    assert find_over(MATCH, "2:4").innings.number == 2
    assert find_over(MATCH, "last", 2).over == last
    question = find_over(MATCH, 4, 2)
    assert question.start.score_before == question.balls[0].score_before
    assert question.start.wickets_before == question.balls[0].wickets_before
    assert question.echo.startswith("innings 2, over 4 (the 5th) | deliveries ")


def test_drawn_overs_stop_where_the_innings_does() -> None:
    table = no_runs()
    for word, runs in (("4", 4), ("1", 1), ("6", 6)):
        table[TOKEN_INDEX[word]] = np.eye(9)[runs]

    def tokens(*words: str) -> np.ndarray:
        return np.array([[TOKEN_INDEX[word] for word in words]])

    generator = np.random.default_rng(0)
    chase = brought(tokens("4", "1", "6", "4", "1", "1", "<end>"), table, Limits(5, 10), generator)
    assert (chase.runs[0], chase.deliveries[0], bool(chase.finished[0])) == (5, 2, True)
    out = brought(tokens("W", "4", "W", "W", "6", "6"), table, Limits(None, 2), generator)
    assert (out.runs[0], out.wickets[0], out.deliveries[0]) == (4, 2, 3)
    assert bool(out.finished[0])
    side = MATCH.innings[1]
    assert side.target is not None
    assert Limits.of(side, side.target - 3, 8) == Limits(3, 2)
    # Files of shortened matches can have a target that was passed long before the end.
    assert Limits.of(side, side.target, 8) == Limits(None, 2)
    five = dataclasses.replace(side, balls_per_over=5)
    assert Limits.of(five, 0, 8) == Limits(five.target, 2, 5)
    row = tokens("1", "wd", "1", "1", "1", "1", "6", "<end>")
    drawn = brought(row, table, Limits(None, 10, 5), generator)
    assert (drawn.deliveries.tolist(), bool(drawn.finished[0])) == ([6], True)
    told = asdict(samples_of(drawn, seed=1))
    assert told["likeliest"][0]["tokens"] == ["1", "wd", "1", "1", "1", "1"]
    endless = brought(tokens("1", "1", "wd", "1"), table, Limits(None, 10), generator)
    assert (endless.runs[0], endless.deliveries[0], bool(endless.finished[0])) == (3, 4, False)


def test_a_distribution_adds_up_and_its_runs_are_those_of_training() -> None:
    table = no_runs()
    table[TOKEN_INDEX["lb"], :5] = 0, 0.5, 0.2, 0, 0.3
    table[TOKEN_INDEX["lb"], 5:] = 0
    rows = np.full((20_000, 1), TOKEN_INDEX["lb"])
    drawn = brought(rows, table, Limits(None, 10), np.random.default_rng(1))
    share = np.bincount(drawn.runs, minlength=5) / len(drawn)
    np.testing.assert_allclose(share, table[TOKEN_INDEX["lb"], :5], atol=0.015)
    told = asdict(samples_of(drawn, seed=1))
    for name in ("runs", "wickets", "deliveries"):
        shares = [row["share"] for row in told[name]["shares"]]
        assert sum(shares) == pytest.approx(1, abs=1e-5)
        assert told[name]["mean"] == pytest.approx(
            sum(n * share for n, share in enumerate(shares)), abs=1e-4
        )
    assert told["likeliest"] == [{"tokens": ["lb"], "share": 1.0}]
    assert told["unfinished"] == 1.0
