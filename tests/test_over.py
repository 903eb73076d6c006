"""The next over: what hiding past balls does, what is drawn, and the answer's fields."""

from __future__ import annotations

import dataclasses
from functools import lru_cache

import numpy as np
import pytest
import torch
from numerics import near_effect
from overs import SIZES, no_runs, small_overs
from small_predictors import simulated

from attnlens.cricket.over.encoder_decoder import Choice
from attnlens.cricket.over.features import TOKEN_INDEX, encode_overs, over_batch
from attnlens.cricket.over.next_over import (
    Limits,
    TrainedOvers,
    find_over,
    next_over,
    samples_of,
    simulate_overs,
)
from attnlens.errors import InputError

MATCH = simulated(6)


@lru_cache
def trained() -> TrainedOvers:
    return small_overs()


def test_a_hidden_ball_is_as_if_it_were_padding() -> None:
    """Effects from the model itself, with padding where the ball was."""
    model = trained()
    data = next_over(find_over(MATCH, 9), model).to_dict()
    arrays = encode_overs(MATCH, MATCH.innings[0], model.ratings, model.base, over=9)
    batch = over_batch([(arrays, 0)], SIZES)
    tokens = [TOKEN_INDEX[word] for word in data["cross_attention"]["tokens"]]
    given = torch.tensor([[1, *tokens[:-1]]])

    def chances(padded: torch.Tensor, first: int = 0) -> np.ndarray:
        parts = batch.history[:, first:], padded[:, first:], batch.context, given
        with torch.no_grad():
            return model.model(*parts)[0].double().softmax(-1).numpy()

    full = chances(batch.padded)
    balls = batch.history.shape[1]
    for ball in (0, 7, balls - 1):
        padded = batch.padded.clone()
        padded[0, ball] = True
        # The oldest may be taken out altogether: the places of the others stay.
        for without in [chances(padded), *([chances(padded, 1)] if ball == 0 else [])]:
            for place in range(len(tokens)):
                nats = (full[place] * np.log(full[place] / without[place])).sum()
                near_effect(data["cross_attention"]["effects_nats"][place][ball], nats)


def test_the_answer_has_the_designs_fields_and_adds_up() -> None:
    question = find_over(MATCH, 12)
    data = next_over(question, trained(), samples=50, seed=3).to_dict()
    assert (data["innings"], data["over"], data["bowled"]) == (1, 12, True)
    assert {"token", "probability"} <= set(data["tokens"][0])
    assert len(data["actual"]) == len(question.balls)
    cross, places = data["cross_attention"], len(data["tokens"])
    assert np.shape(cross["weights"]) == (places, SIZES.history)
    assert np.shape(cross["by_head"]) == (SIZES.heads, places, SIZES.history)
    assert len(cross["labels"]) == SIZES.history
    np.testing.assert_allclose(np.sum(cross["weights"], 1), 1, atol=1e-4)
    np.testing.assert_allclose(np.mean(cross["by_head"], 0), cross["weights"], atol=1e-5)
    assert [ball["index"] for ball in cross["balls"]] == list(
        range(question.before - SIZES.history + 1, question.before + 1)
    )
    assert data["samples"]["count"] == 50
    other = next_over(question, trained(), samples=50, seed=4, evidence=False).to_dict()
    assert other["samples"] != data["samples"]
    assert other["tokens"] == data["tokens"]
    assert other["cross_attention"]["effects_nats"] is None
    drawn = [
        next_over(question, trained(), seed=seed, choice=Choice(False), evidence=False).tokens
        for seed in (1, 1, 2, 3)
    ]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2] or drawn[0] != drawn[3]


def test_the_first_over_looks_at_nothing() -> None:
    data = next_over(find_over(MATCH, 0), trained()).to_dict()
    assert data["tokens"]
    cross = data["cross_attention"]
    assert (cross["padded"], cross["effects_nats"]) == (SIZES.history, None)
    assert set(cross["labels"]) == {None}
    assert np.abs(cross["weights"]).sum() == 0
    assert "no_history" in {flag["flag"] for flag in data["flags"]}


def test_overs_are_found_by_every_name() -> None:
    last = MATCH.innings[1].deliveries[-1].over
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

    def came(words: str, limits: Limits) -> tuple[int, int, bool]:
        """Runs, wickets, and whether the over came to an end."""
        tokens = np.array([[TOKEN_INDEX[word] for word in words.split()]])
        drawn = simulate_overs(tokens, table, limits, np.random.default_rng(0))
        return int(drawn.runs[0]), int(drawn.wickets[0]), bool(drawn.finished[0])

    assert came("4 1 6 4 1 1 <end>", Limits(5, 10)) == (5, 0, True)
    assert came("W 4 W W 6 6", Limits(None, 2)) == (4, 2, True)
    assert came("1 wd 1 1 1 1 6 <end>", Limits(None, 10, 5)) == (5, 0, True)
    assert came("1 1 wd 1", Limits(None, 10)) == (3, 0, False)
    side = MATCH.innings[1]
    assert side.target is not None
    assert Limits.of(side, side.target - 3, 8) == Limits(3, 2)
    # Files of shortened matches can have a target that was passed long before the end.
    assert Limits.of(side, side.target, 8) == Limits(None, 2)


def test_a_distribution_adds_up_and_its_runs_are_those_of_training() -> None:
    table = no_runs()
    table[TOKEN_INDEX["lb"], :5] = 0, 0.5, 0.2, 0, 0.3
    rows = np.full((20_000, 1), TOKEN_INDEX["lb"])
    drawn = simulate_overs(rows, table, Limits(None, 10), np.random.default_rng(1))
    share = np.bincount(drawn.runs, minlength=5) / len(drawn)
    np.testing.assert_allclose(share, table[TOKEN_INDEX["lb"], :5], atol=0.015)
    told = dataclasses.asdict(samples_of(drawn, seed=1))
    for name in ("runs", "wickets"):
        shares = [row["share"] for row in told[name]["shares"]]
        assert sum(shares) == pytest.approx(1, abs=1e-5)
        mean = sum(n * share for n, share in enumerate(shares))
        assert told[name]["mean"] == pytest.approx(mean, abs=1e-4)
    assert told["unfinished"] == 1.0


def test_a_temperature_that_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="temperature nan"):
        next_over(find_over(MATCH, 3), trained(), choice=Choice(False, float("nan")))
