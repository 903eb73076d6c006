"""Training is repeatable, goes on where it stopped, learns, and hides what it says it hides.

Then the teacher, early stopping and several processes.
"""

from __future__ import annotations

import dataclasses
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from command_line import HANG, REPOSITORY
from hypothesis import given, settings
from hypothesis import strategies as st
from small_predictors import arrays_of, log_loss, simulated, small_predictor

from attnlens.cricket.explain.ablation import under_masks
from attnlens.cricket.lab import baselines
from attnlens.cricket.lab.baseline_features import FeatureTable, feature_table
from attnlens.cricket.lab.baselines import GROWTH, out_of_fold, teach
from attnlens.cricket.lab.fit import (
    Hyperparameters,
    cricket_sizes,
    fit,
    fit_base,
    mask_at_random,
    outcome_loss,
    rate_and_encode,
)
from attnlens.cricket.lab.held_out import EncodedInnings
from attnlens.cricket.lab.training_loop import TrainedModel, TrainingLoop, WeightAverage
from attnlens.cricket.match.match import OUTCOMES
from attnlens.cricket.predictor.predictor import KNOWLEDGE, FullModel
from attnlens.cricket.predictor.ratings import Ratings
from attnlens.cricket.predictor.tensors import InningsArrays
from attnlens.cricket.predictor.window import stacked, training_batch, window_batch
from attnlens.errors import CheckpointError

PREDICTOR = small_predictor(matches=5)
INNINGS = [arrays_of(PREDICTOR, simulated(seed), side) for seed in range(4) for side in (1, 2)]
RECIPE = Hyperparameters(epochs=2, innings=4, warm_up=2, average=0.5, hide_some=0.5, forget=0.3)
SIZES = cricket_sizes(12)
PRIOR = PREDICTOR.base.everything
WAYS_OF_HIDING = ("some", "all", "player", "block", "batter", "bowler")
NO_HIDING = dict.fromkeys(
    (*(f"hide_{part}" for part in (*WAYS_OF_HIDING, "windows")), "forget", "forget_past"), 0.0
)


def trained(
    recipe: Hyperparameters = RECIPE,
    innings: list[InningsArrays] = INNINGS[:6],
    validation: list[InningsArrays] = INNINGS[6:],
    **loop: Any,
) -> TrainedModel[FullModel]:
    return fit(SIZES, PRIOR, innings, validation, recipe, loop=TrainingLoop(**loop))


def hidden(arrays: list[InningsArrays], seed: int, **shares: float) -> dict[str, Any]:
    """A batch of innings of which a recipe hid something."""
    batch, _ = training_batch(arrays)
    mask_at_random(batch, Hyperparameters(**shares), np.random.default_rng(seed))  # type: ignore[arg-type]  # only shares
    return batch


def same(first: TrainedModel[FullModel], second: TrainedModel[FullModel]) -> bool:
    weights, others = first.model.state_dict(), second.model.state_dict()
    assert weights.keys() == others.keys()
    return all(torch.equal(weights[name], others[name]) for name in weights)


class Stopped(Exception):
    """Someone pulled the plug."""


def stop_in_epoch_two(line: str) -> None:
    if line.startswith("epoch 2:"):
        raise Stopped


def test_each_seed_has_its_own_model(tmp_path: Path) -> None:
    state = tmp_path / "run.state"
    first, again = trained(), trained(state=state)
    assert not first.model.training
    assert not same(first, trained(dataclasses.replace(RECIPE, seed=6)))
    # A run that is finished is not run again.
    for other in (again, trained(state=state)):
        assert same(first, other)
        assert first.history == other.history


@pytest.mark.parametrize("validation", [INNINGS[6:], []], ids=["validated", "not validated"])
def test_a_run_that_stopped_goes_on_to_the_same_weights(
    tmp_path: Path, validation: list[InningsArrays]
) -> None:
    state = tmp_path / "run.state"
    whole = trained(validation=validation)
    with pytest.raises(Stopped):
        trained(validation=validation, state=state, report=stop_in_epoch_two)
    assert len(torch.load(state, weights_only=True)["history"]) == 1
    torch.manual_seed(99)
    resumed = trained(validation=validation, state=state)
    assert same(resumed, whole)
    assert resumed.history == whole.history
    assert [row["epoch"] for row in resumed.history] == [1, 2]
    assert list(tmp_path.iterdir()) == [state]


def test_a_state_of_another_run_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "run.state"
    short = dataclasses.replace(RECIPE, epochs=1)
    trained(short, INNINGS[:2], [], state=state)

    def refused(recipe: Hyperparameters, mark: str = "") -> str:
        with pytest.raises(CheckpointError) as caught:
            trained(recipe, INNINGS[:2], [], state=state, mark=mark)
        return str(caught.value)

    message = (
        f"{state}: contains a training run with other settings, matches, sizes or teacher; remove "
        "the file, or name another file"
    )
    assert refused(dataclasses.replace(short, learning_rate=1e-3)) == message
    assert refused(short, mark="other matches") == message
    good, parts = state.read_bytes(), torch.load(state, weights_only=True)
    damaged = (
        f"{state}: is not the saved state of a training run; remove the file, or name another file"
    )
    needed = ("best_model", "optimiser", "schedule", "average", "steps", "best", "history", "run")
    for name in needed:
        torch.save({key: value for key, value in parts.items() if key != name}, state)
        assert refused(short) == damaged
    for data in (good[:3000], good[:-200], b"", b"notes\n", bytes(3000)):
        state.write_bytes(data)
        assert refused(short) == damaged


def test_training_learns() -> None:
    untrained = FullModel(SIZES, torch.from_numpy(PRIOR))
    recipe = dataclasses.replace(RECIPE, epochs=6, hide_some=0.0, forget=0.0, learning_rate=5e-3)
    fitted = trained(recipe, INNINGS, [])
    losses = [row["train"] for row in fitted.history]
    assert len(losses) == 6
    assert losses[-1] < losses[0] - 0.01
    assert log_loss(fitted.model, INNINGS) < log_loss(untrained, INNINGS) - 0.02


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_hiding_only_hides(seed: int) -> None:
    whole, _ = training_batch(INNINGS[:3])
    shares = {"hide_some": 0.3, "hide_all": 0.2, "hide_player": 0.25, "hide_block": 0.25}
    batch = hidden(INNINGS[:3], seed, **{**NO_HIDING, **shares, "forget": 0.5, "forget_past": 0.04})
    sequence, before = batch["sequence"], whole["sequence"]
    assert not (sequence["visible"] & ~before["visible"]).any()
    assert not (sequence["shared"] & ~before["shared"]).any()
    # One choice per innings: a ball is hidden from every query and from the summaries, or none.
    assert torch.equal(sequence["visible"], before["visible"] & sequence["shared"][:, None, :])
    for name in before["past"]:
        torch.testing.assert_close(sequence["past"][name], before["past"][name], atol=0, rtol=0)
    known = batch["graph_data"]["known"]
    assert set(known) == set(KNOWLEDGE)
    for flags in known.values():
        assert (flags.shape, flags.dtype) == (before["shared"].shape, torch.bool)


def hidden_by(**shares: float) -> list[Any]:
    """Which balls of 64 innings a recipe keeps."""
    batch = hidden([INNINGS[0]] * 64, 2, **NO_HIDING | shares)
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
        assert any(
            len(gone := set(players[~row].tolist())) == 1 and gone.isdisjoint(players[row].tolist())
            for players in (INNINGS[0].batter, INNINGS[0].bowler)
        )
    for row in hidden_by(hide_block=1.0):
        gone = np.flatnonzero(~row)
        assert 1 <= len(gone) < 40
        assert gone[-1] - gone[0] == len(gone) - 1
    assert 20 < sum(not row.any() for row in hidden_by(hide_all=0.5)) < 44


@pytest.mark.parametrize("player", ["batter", "bowler"])
def test_each_ball_loses_its_own_players_balls(player: Literal["batter", "bowler"]) -> None:
    model, innings = PREDICTOR.model, INNINGS[0]
    who = getattr(innings, player)
    with torch.no_grad():
        batch = hidden(INNINGS[:2], 1, **NO_HIDING | {f"hide_{player}": 1.0})
        together = model(batch)[0].softmax(-1).double().numpy()
    for position in (1, 20, len(innings) - 1):
        kept = who[:position] != who[position]
        alone = under_masks(model, window_batch(innings, position), kept[None])
        np.testing.assert_allclose(together[position], alone[0], atol=2e-6)
    assert model(hidden(INNINGS[:6] * 4, 1, hide_batter=0.2, hide_bowler=0.2)).isfinite().all()


def test_the_moving_average_by_hand() -> None:
    layer = torch.nn.Linear(1, 1, bias=False)
    average = WeightAverage(layer, 0.5)
    for value in (1.0, 3.0, 7.0):
        torch.nn.init.constant_(layer.weight, value)
        average.update(layer)
    average.copy_to(layer)
    expected = (0.125 * 1 + 0.25 * 3 + 0.5 * 7) / (1 - 0.125)
    assert layer.weight.item() == pytest.approx(expected)


# The teacher, early stopping, several processes


def test_the_loss_with_a_teacher_by_hand() -> None:
    arrays = INNINGS[:2]
    batch, outcome = training_batch(arrays)
    draw = np.random.default_rng(3)
    lessons = [draw.dirichlet(np.ones(len(OUTCOMES)), len(a)).astype(np.float32) for a in arrays]
    with torch.no_grad():
        taught = stacked(lessons, outcome.shape[1])
        loss = outcome_loss(PREDICTOR.model, batch, outcome, taught, 0.3)
        logs = [PREDICTOR.model(training_batch([a])[0])[0].log_softmax(-1).double() for a in arrays]
    by_hand = 0.0
    for log, innings, lesson in zip(logs, arrays, lessons, strict=True):
        for ball in range(len(innings)):
            by_hand -= 0.7 * float(log[ball, innings.outcome[ball]])
            by_hand -= 0.3 * float((log[ball].numpy() * lesson[ball]).sum())
    assert float(loss) == pytest.approx(by_hand, rel=1e-5)


def test_a_run_stops_when_validation_gets_no_better(tmp_path: Path) -> None:
    # One innings learnt by heart soon does harm to the others.
    recipe = dataclasses.replace(
        RECIPE, epochs=40, learning_rate=0.03, hide_some=0.0, forget=0.0, patience=2
    )
    lines: list[str] = []
    state = tmp_path / "run.state"
    fitted = trained(recipe, INNINGS[:1], INNINGS[4:6], state=state, report=lines.append)
    losses = [row["validation"] for row in fitted.history]
    assert 2 < len(losses) < 40
    assert int(np.argmin(losses)) == len(losses) - 3
    assert lines[-1] == "stopped, because the validation loss did not improve for 2 epochs"
    assert log_loss(fitted.model, INNINGS[4:6]) == pytest.approx(min(losses), abs=1e-6)
    assert trained(recipe, INNINGS[:1], INNINGS[4:6], state=state).history == fitted.history
    # Without validation nothing says when to stop.
    free = dataclasses.replace(recipe, epochs=6, patience=1)
    assert len(trained(free, INNINGS[:1], []).history) == 6


def encoded(matches: int) -> list[EncodedInnings]:
    played = [simulated(seed) for seed in range(matches)]
    return rate_and_encode(played, fit_base(played, seed=5), Ratings())


def test_trees_are_asked_about_matches_they_did_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(baselines, "_ROUNDS", 4)
    learning = encoded(10)[:16]
    lines: list[str] = []
    answers = teach(learning, seed=5, threads=1, loop=TrainingLoop(report=lines.append))
    assert [len(answer) for answer in answers] == [len(innings.arrays) for innings in learning]
    assert lines[0] == "fitting the teacher boosted_trees"
    table = feature_table(learning)

    def asked(table: FeatureTable) -> np.ndarray:
        return out_of_fold(table, {**GROWTH, "min_data_in_leaf": 20}, 5)

    before = asked(table)
    assert before.sum(1) == pytest.approx(np.ones(len(table)), abs=1e-5)
    # Other outcomes in one match move other folds' predictions, never its own.
    mine = table.match == 3
    turned = table.outcome.copy()
    turned[mine] = turned[mine][::-1]
    after = asked(dataclasses.replace(table, outcome=turned))
    assert np.array_equal(before[mine], after[mine])
    assert not np.array_equal(before[~mine], after[~mine])


def test_a_run_that_goes_on_need_not_ask_the_teacher_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(baselines, "_ROUNDS", 2)
    learning = encoded(6)
    lines: list[str] = []
    loop = TrainingLoop(tmp_path / "run.state", mark="a" * 64, report=lines.append)
    first, again = (teach(learning, seed=5, threads=1, loop=loop) for _ in range(2))
    assert all(map(np.array_equal, first, again))
    # Other matches or another seed are another question.
    teach(learning, seed=6, threads=1, loop=loop)
    teach(learning, seed=5, threads=1, loop=dataclasses.replace(loop, mark="b" * 64))
    teach(learning[:10], seed=5, threads=1, loop=loop)
    assert [line.startswith("fitting") for line in lines] == [True, False, True, True, True]


WORKER = """
import pickle
import sys
import torch
from attnlens.cricket.lab.fit import fit
from attnlens.cricket.lab.training_loop import TrainingLoop, processes
from attnlens.errors import InputError
torch.set_num_threads(1)
with open("run.pickle", "rb") as file:
    arguments = pickle.load(file)
among = processes()
def give_up():
    raise InputError("it gave up")
told = among.from_first(lambda: arguments[1] + 7)
try:
    among.from_first(give_up)
except InputError as error:
    complaint = str(error)
fitted = fit(*arguments, loop=TrainingLoop(among=among))
torch.save([fitted.model.state_dict(), fitted.history, torch.from_numpy(told), complaint],
           f"of.{among.rank}")
among.close()
"""


def test_two_processes_are_the_same_optimisation_as_a_single_process(tmp_path: Path) -> None:
    """With nothing random but the order of innings, torchrun changes no more than rounding."""
    (tmp_path / "worker.py").write_text(WORKER, encoding="utf-8")
    recipe = dataclasses.replace(RECIPE, epochs=3, **NO_HIDING)
    sizes = dataclasses.replace(SIZES, dropout=0.0)
    arguments = (sizes, PRIOR, INNINGS[:6], INNINGS[6:], recipe)
    (tmp_path / "run.pickle").write_bytes(pickle.dumps(arguments))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*torchrun, "--nproc-per-node=2", "worker.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    alone = fit(*arguments)
    (first, history, value, complaint), (second, _, same_value, other_complaint) = (
        torch.load(tmp_path / f"of.{rank}", weights_only=True) for rank in range(2)
    )
    for name, weights in alone.model.state_dict().items():
        assert torch.equal(first[name], second[name]), name
        torch.testing.assert_close(first[name], weights, atol=2e-4, rtol=2e-3, msg=name)
    for mine, other in zip(alone.history, history, strict=True):
        assert mine == pytest.approx(other, rel=1e-4)
    # What the first process makes, all have; where it gives up, the other does not wait for ever.
    assert torch.equal(value, same_value)
    assert torch.equal(value, torch.from_numpy(PRIOR + 7))
    assert complaint == "it gave up"
    assert other_complaint == "the first process failed; see its error message"
