"""``attnlens lab faithfulness``: what it measures on matches, and the command itself."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import Here
from small_predictors import small_predictor, with_hidden
from syrupy.assertion import SnapshotAssertion

from attnlens.cricket.explain.ablation import under_masks
from attnlens.cricket.lab.attention_faithfulness import FaithfulnessSample, measure
from attnlens.cricket.lab.figures import to_json
from attnlens.cricket.lab.held_out import EncodedInnings, HeldOut
from attnlens.cricket.lab.sampling import SCRAMBLES, permutations, sample, scrambled_probabilities
from attnlens.cricket.lab.simulator import simulate_match, write_match
from attnlens.cricket.predictor.tensors import encode_innings
from attnlens.cricket.predictor.trained import TrainedPredictor, save_predictor
from attnlens.cricket.predictor.window import window_batch
from attnlens.errors import InputError
from attnlens.evidence.faithfulness import spearman
from attnlens.evidence.scores import divergence

Floats = np.ndarray[Any, np.dtype[np.float64]]
KINDS = (
    *("spearman_last36", "comprehensiveness", "sufficiency"),
    *("deletion_auc", "insertion_auc", "sign_violation_rate"),
)
METHODS = [
    *("attention", "content_only", "value_norm", "rollout", "gradient_x_input"),
    *("kl_jacobian", "structure", "recency", "uniform", "random"),
]


@pytest.fixture(scope="module")
def predictor() -> TrainedPredictor:
    return small_predictor(matches=3)


@pytest.fixture(scope="module")
def innings(predictor: TrainedPredictor) -> list[EncodedInnings]:
    return [
        EncodedInnings(match, side, encode_innings(match, side, predictor.ratings, predictor.base))
        for match in (simulate_match(21), simulate_match(22))
        for side in match.innings
    ]


def data_of(measured: FaithfulnessSample, predictor: TrainedPredictor) -> dict[str, Any]:
    """The document as JSON has it."""
    data: dict[str, Any] = to_json(measured.document(HeldOut(predictor, (), None, 0, {})))
    return data


def asked(predictor: TrainedPredictor, batch: dict[str, Any]) -> Floats:
    with torch.no_grad():
        result: Floats = predictor.model(batch)[0, 0].double().softmax(-1).numpy()
    return result


def test_a_ball_is_measured_by_hiding_one_past_ball_at_a_time(
    predictor: TrainedPredictor, innings: list[EncodedInnings]
) -> None:
    measured = measure(predictor.model, innings, balls=3, seed=7)
    chosen = sample(innings, 3, 7)
    for number, (ball, (place, position)) in enumerate(zip(measured.balls, chosen, strict=True)):
        one = innings[place]
        batch = window_batch(one.arrays, position)
        hidings = [[], *([key] for key in range(position)), list(range(position))]
        full, *single, nothing = (asked(predictor, with_hidden(batch, keys)) for keys in hidings)
        effects = divergence(full, np.array(single))
        np.testing.assert_allclose(ball.effects, effects, rtol=0.01, atol=1e-9)
        assert effects.max() > 1e-6
        actual = one.arrays.outcome[position]
        assert ball.intact == pytest.approx(-np.log(full[actual]), abs=1e-5)
        assert ball.hide_all == pytest.approx(-np.log(nothing[actual]), abs=1e-5)
        where = (ball.match_id, ball.innings, ball.index)
        assert where == (one.match_id, one.innings, position + 1)
        expected = spearman(ball.attention[-35:], ball.effects[-35:])
        assert ball.methods["attention"]["spearman_last36"] == expected
        assert ball.methods["recency"]["partial_spearman_all"] == 0
        orders = permutations(np.random.default_rng([7, number]), position)
        mixed = scrambled_probabilities(predictor.model, one.arrays, [position], [orders])[0]
        cost = (np.log(full[actual]) - np.log(mixed[:, actual])).mean()
        assert ball.scramble_cost == pytest.approx(cost, abs=1e-5)
    data = data_of(measured, predictor)
    largest = np.mean([ball.effects.max() for ball in measured.balls])
    assert data["largest_single_ball_effect_nats"] == pytest.approx(largest)
    costs = np.mean([ball.scramble_cost for ball in measured.balls])
    assert data["scramble_cost_nats"] == pytest.approx(costs)


@pytest.mark.parametrize("position", [36, 70])
def test_scrambling_moves_outcomes_and_nothing_else(
    predictor: TrainedPredictor, innings: list[EncodedInnings], position: int
) -> None:
    arrays = innings[0].arrays
    others = [40, position, 90]
    generator = np.random.default_rng(4)
    orders = [permutations(generator, one) for one in others]
    orders[1][0] = np.arange(position)
    found = scrambled_probabilities(predictor.model, arrays, others, orders)
    assert found.shape == (3, SCRAMBLES, 11)

    for order, chances in zip(orders[1], found[1], strict=True):
        # The ball in an innings whose past outcomes really stand in that order.
        moved = {
            name: np.concatenate((values[order], values[position:]))
            for name in ("past_outcome", "wicket", "boundary")
            for values in (getattr(arrays, name),)
        }
        batch = window_batch(dataclasses.replace(arrays, **moved), position)
        np.testing.assert_allclose(chances, asked(predictor, batch), atol=1e-5)
    assert np.abs(found[1, 1] - found[1, 0]).max() > 1e-4  # ten times what may differ above
    intact = asked(predictor, window_batch(arrays, position))
    np.testing.assert_allclose(found[1, 0], intact, atol=1e-5)


def test_a_model_blind_to_the_past_shows_nothing(innings: list[EncodedInnings]) -> None:
    blind = small_predictor(seed=9, matches=2)
    with torch.no_grad():
        blind.model.to_outcome.weight.zero_()
    data = data_of(measure(blind.model, innings, balls=4, wide=6), blind)
    for name in ("largest_single_ball_effect_nats", "scramble_cost_nats", "hide_all_kl_nats"):
        assert data[name] == pytest.approx(0, abs=1e-7)
    assert data["log_loss"]["worth_of_past"] == pytest.approx(0, abs=1e-7)
    assert data["log_loss"]["wider_sample"]["scramble_cost"] == pytest.approx(0, abs=1e-6)
    assert data["methods"]["attention"]["spearman_last36"] == 0
    assert data["methods"]["attention"]["comprehensiveness"] == pytest.approx(0, abs=1e-9)
    json.dumps(data, allow_nan=False)


def test_the_wider_sample_is_of_balls_from_anywhere(
    predictor: TrainedPredictor, innings: list[EncodedInnings]
) -> None:
    wider = measure(predictor.model, innings, balls=2, wide=40).wider
    assert wider is not None
    assert wider["balls"] == 40
    chosen = sample(innings, 40, 5, before=1)
    assert min(position for _, position in chosen) < 36
    losses = np.zeros((40, 2))
    for row, (number, position) in enumerate(chosen):
        batch = window_batch(innings[number].arrays, position)
        masks = np.stack([np.ones(position, bool), np.zeros(position, bool)])
        actual = int(innings[number].arrays.outcome[position])
        losses[row] = -np.log(under_masks(predictor.model, batch, masks)[:, actual])
    for name, mean in zip(("intact", "hide_all"), losses.mean(0), strict=True):
        assert wider[name].value == pytest.approx(mean, abs=1e-5)
    with pytest.raises(InputError, match="no ball has 36 balls before it"):
        measure(predictor.model, [], balls=3)


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory, predictor: TrainedPredictor) -> Path:
    """A folder with a checkpoint and four matches, two of them before its training ended."""
    folder = tmp_path_factory.mktemp("season")
    (folder / "matches").mkdir()
    for number, match in enumerate(
        sorted((simulate_match(seed) for seed in range(30, 34)), key=lambda one: one.dates)
    ):
        write_match(match, folder / "matches" / f"{number}.csv")
        if number == 1:
            predictor.card["trained_until"] = max(match.dates).isoformat()
    save_predictor(folder / "model.safetensors", predictor)
    return folder


def words_of(season: Path) -> tuple[str | Path, ...]:
    return ("lab", "faithfulness", season / "matches", "--model", season / "model.safetensors")


def test_the_document(season: Path, attnlens_here: Here) -> None:
    more = ("--balls", "5", "--wide", "8", "--json")
    data = json.loads(attnlens_here.good(*words_of(season), *more))
    assert data["balls"] == 5
    assert data["notes"] == []
    assert data["dates"][0] > data["model"]["trained_until"]
    assert data["largest_single_ball_effect_nats"] > 0
    assert isinstance(data["scramble_cost_nats"], float)
    assert list(data["methods"]) == METHODS
    for name in METHODS:
        for kind in KINDS:
            low, high = data["methods"][name][f"{kind}_ci"]
            assert low <= data["methods"][name][kind] <= high


def test_the_page_is_one_screen(season: Path, attnlens_here: Here) -> None:
    attnlens_here.patch.setenv("COLUMNS", "100")
    words = (*words_of(season), "--balls", 4, "--wide", 4)
    page = attnlens_here.good(*words)
    assert len(page.splitlines()) < 40
    assert max(map(len, page.splitlines())) <= 100
    for part in ("4 balls of 2 matches", "minus Spearman of recency", "Spearman of uniform"):
        assert part in page
    assert page == attnlens_here.good(*words)


def test_bad_values(season: Path, attnlens_here: Here, snapshot: SnapshotAssertion) -> None:
    bad = ("--from 2000-01-01", "--from 2090-01-01", "--balls 0", "--seed -1", "--out no/page.txt")
    refusals = [attnlens_here.refused(*words_of(season), *words.split()) for words in bad]
    assert [line.replace(f"{season}/", "") for line in refusals] == snapshot
    assert attnlens_here.files() == []
