"""Training is repeatable, goes on where it stopped, learns, and hides what it says it hides."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_predictors import arrays_of, log_loss, simulated, small_predictor

from attnlens.cricket.explain.ablation import under_masks
from attnlens.cricket.lab.fit import (
    Hyperparameters,
    cricket_sizes,
    fit,
    mask_at_random,
)
from attnlens.cricket.lab.training_loop import TrainingLoop, WeightAverage
from attnlens.cricket.predictor.predictor import KNOWLEDGE, FullModel
from attnlens.cricket.predictor.window import training_batch, window_batch
from attnlens.errors import CheckpointError

PREDICTOR = small_predictor(matches=5)
INNINGS = [arrays_of(PREDICTOR, simulated(seed), side) for seed in range(4) for side in (1, 2)]
RECIPE = Hyperparameters(epochs=2, innings=4, warm_up=2, average=0.5, hide_some=0.5, forget=0.3)
SIZES = cricket_sizes(12)
PRIOR = PREDICTOR.base.everything
NO_HIDING = dict.fromkeys(
    (f"hide_{part}" for part in ("some", "all", "player", "block", "batter", "bowler")), 0.0
)


def weights(model: FullModel) -> dict[str, Any]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    assert one.keys() == other.keys()
    return all(torch.equal(one[name], other[name]) for name in one)


class Stopped(Exception):
    """Someone pulled the plug."""


def stop_in_epoch_two(line: str) -> None:
    if line.startswith("epoch 2:"):
        raise Stopped


def test_one_seed_gives_one_model(tmp_path: Path) -> None:
    state = tmp_path / "run.state"
    first = fit(SIZES, PRIOR, INNINGS[:6], INNINGS[6:], RECIPE)
    again = fit(SIZES, PRIOR, INNINGS[:6], INNINGS[6:], RECIPE, loop=TrainingLoop(state))
    assert same(weights(first.model), weights(again.model))
    assert first.history == again.history
    assert not first.model.training
    other = fit(SIZES, PRIOR, INNINGS[:6], INNINGS[6:], dataclasses.replace(RECIPE, seed=6))
    assert not same(weights(first.model), weights(other.model))
    # A run that is finished is not run again.
    done = fit(SIZES, PRIOR, INNINGS[:6], INNINGS[6:], RECIPE, loop=TrainingLoop(state))
    assert same(weights(first.model), weights(done.model))
    assert done.history == first.history


@pytest.mark.parametrize("validated", [True, False])
def test_a_run_that_stopped_goes_on_to_the_same_weights(tmp_path: Path, validated: bool) -> None:
    validation = INNINGS[6:] if validated else []
    state = tmp_path / "run.state"
    whole = fit(SIZES, PRIOR, INNINGS[:6], validation, RECIPE)
    loop = TrainingLoop(state, report=stop_in_epoch_two)
    with pytest.raises(Stopped):
        fit(SIZES, PRIOR, INNINGS[:6], validation, RECIPE, loop=loop)
    assert len(torch.load(state, weights_only=True)["history"]) == 1
    torch.manual_seed(99)
    resumed = fit(SIZES, PRIOR, INNINGS[:6], validation, RECIPE, loop=TrainingLoop(state))
    assert same(weights(resumed.model), weights(whole.model))
    assert resumed.history == whole.history
    assert [row["epoch"] for row in resumed.history] == [1, 2]
    assert list(tmp_path.iterdir()) == [state]


def test_a_state_of_another_run_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "run.state"
    short = dataclasses.replace(RECIPE, epochs=1)
    fit(SIZES, PRIOR, INNINGS[:2], [], short, loop=TrainingLoop(state))

    def refused(recipe: Hyperparameters, mark: str = "") -> str:
        with pytest.raises(CheckpointError) as caught:
            fit(SIZES, PRIOR, INNINGS[:2], [], recipe, loop=TrainingLoop(state, mark))
        assert "\n" not in str(caught.value)
        return str(caught.value)

    told = (
        f"{state}: a run with other settings, matches, sizes or teacher was begun here; remove "
        "it, or name another file"
    )
    assert refused(dataclasses.replace(short, learning_rate=1e-3)) == told
    assert refused(short, mark="other matches") == told
    good, parts = state.read_bytes(), torch.load(state, weights_only=True)
    damaged = f"{state}: is not the state of a training run; remove it"
    for name in (
        "best_model",
        "optimiser",
        "schedule",
        "average",
        "steps",
        "best",
        "history",
        "run",
    ):
        torch.save({key: value for key, value in parts.items() if key != name}, state)
        assert refused(short) == damaged
    for data in (good[:3000], good[:-200], b"", b"notes\n", bytes(3000)):
        state.write_bytes(data)
        assert refused(short) == damaged


def test_training_learns() -> None:
    untrained = FullModel(SIZES, torch.from_numpy(PRIOR))
    recipe = dataclasses.replace(RECIPE, epochs=6, hide_some=0.0, forget=0.0, learning_rate=5e-3)
    fitted = fit(SIZES, PRIOR, INNINGS, [], recipe)
    losses = [row["train"] for row in fitted.history]
    assert len(losses) == 6
    assert losses[-1] < losses[0] - 0.01
    assert log_loss(fitted.model, INNINGS) < log_loss(untrained, INNINGS) - 0.02


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_hiding_only_hides(seed: int) -> None:
    batch, _ = training_batch(INNINGS[:3])
    visible, shared = batch["sequence"]["visible"].clone(), batch["sequence"]["shared"].clone()
    past = dict(batch["sequence"]["past"])
    recipe = Hyperparameters(
        hide_some=0.3,
        hide_all=0.2,
        hide_player=0.25,
        hide_block=0.25,
        hide_batter=0,
        hide_bowler=0,
        forget=0.5,
    )
    mask_at_random(batch, recipe, np.random.default_rng(seed))
    sequence = batch["sequence"]
    assert not (sequence["visible"] & ~visible).any()
    assert not (sequence["shared"] & ~shared).any()
    # One choice per innings: a ball is hidden from every query and from the summaries, or none.
    assert torch.equal(sequence["visible"], visible & sequence["shared"][:, None, :])
    assert {name: sequence["past"][name] for name in past} == past
    known = batch["graph_data"]["known"]
    assert set(known) == set(KNOWLEDGE)
    assert all(
        flags.shape == shared.shape and flags.dtype == torch.bool for flags in known.values()
    )


def hidden_by(**shares: float) -> list[Any]:
    """Which balls of 64 innings a recipe keeps."""
    batch, _ = training_batch([INNINGS[0]] * 64)
    recipe = Hyperparameters(**{**NO_HIDING, "forget": 0.0, "forget_past": 0.0, **shares})  # type: ignore[arg-type]  # only shares
    mask_at_random(batch, recipe, np.random.default_rng(2))
    assert all(flags.all() for flags in batch["graph_data"]["known"].values())
    assert all(batch["sequence"]["past"][f"{who}_known"].all() for who in ("striker", "bowler"))
    return list(batch["sequence"]["shared"].numpy())


def test_each_way_of_hiding() -> None:
    length = len(INNINGS[0])
    assert all(row.all() for row in hidden_by())
    assert not any(row.any() for row in hidden_by(hide_all=1.0))
    some = [row.sum() / length for row in hidden_by(hide_some=1.0)]
    assert min(some) < 0.2
    assert max(some) > 0.8
    for row in hidden_by(hide_player=1.0):
        who = INNINGS[0].batter, INNINGS[0].bowler
        assert any(
            set(players[~row].tolist()).isdisjoint(players[row].tolist())
            and len(set(players[~row].tolist())) == 1
            for players in who
        )
    for row in hidden_by(hide_block=1.0):
        gone = np.flatnonzero(~row)
        assert 1 <= len(gone) < 40
        assert gone[-1] - gone[0] == len(gone) - 1
    assert 20 < sum(not row.any() for row in hidden_by(hide_all=0.5)) < 44


@pytest.mark.parametrize("player", ["batter", "bowler"])
def test_each_ball_loses_its_own_players_balls(player: Literal["batter", "bowler"]) -> None:
    model = PREDICTOR.model
    one = INNINGS[0]
    who = getattr(one, player)
    batch, _ = training_batch([one, INNINGS[1]])
    never = {f"hide_{player}": 1.0, "forget": 0.0, "forget_past": 0.0}
    mask_at_random(batch, Hyperparameters(**NO_HIDING | never), np.random.default_rng(1))  # type: ignore[arg-type]  # only shares
    with torch.no_grad():
        together = model(batch)[0].softmax(-1).double().numpy()
    for position in (1, 20, len(one) - 1):
        kept = who[:position] != who[position]
        alone = under_masks(model, window_batch(one, position), kept[None])
        np.testing.assert_allclose(together[position], alone[0], atol=2e-6)
    recipe = Hyperparameters(hide_batter=0.2, hide_bowler=0.2)
    batch, _ = training_batch(INNINGS[:6] * 4)
    mask_at_random(batch, recipe, np.random.default_rng(1))
    assert model(batch).isfinite().all()


def test_the_moving_average_by_hand() -> None:
    layer = torch.nn.Linear(1, 1, bias=False)
    average = WeightAverage(layer, 0.5)
    for value in (1.0, 3.0, 7.0):
        torch.nn.init.constant_(layer.weight, value)
        average.update(layer)
    average.copy_to(layer)
    expected = (0.125 * 1 + 0.25 * 3 + 0.5 * 7) / (1 - 0.125)
    assert layer.weight.item() == pytest.approx(expected)
