"""The teacher, early stopping, several processes: what a run can be given beside the matches."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from small_predictors import arrays_of, log_loss, simulated, small_predictor

from attnlens.cricket.lab import baselines
from attnlens.cricket.lab.baseline_features import FeatureTable, feature_table
from attnlens.cricket.lab.baselines import GROWTH, out_of_fold, teach
from attnlens.cricket.lab.fit import (
    Hyperparameters,
    cricket_sizes,
    fit,
    fit_base,
    outcome_loss,
    rate_and_encode,
)
from attnlens.cricket.lab.training_loop import TrainingLoop
from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.predictor.ratings import Ratings
from attnlens.cricket.predictor.window import stacked, training_batch

REPOSITORY = Path(__file__).resolve().parent.parent
PREDICTOR = small_predictor(matches=5)
INNINGS = [arrays_of(PREDICTOR, simulated(seed), side) for seed in range(4) for side in (1, 2)]
RECIPE = Hyperparameters(epochs=3, innings=4, warm_up=2, average=0.5, hide_some=0.2, forget=0.1)
SIZES = cricket_sizes(12)
PRIOR = PREDICTOR.base.everything


def test_the_loss_of_a_taught_ball_by_hand() -> None:
    model = PREDICTOR.model
    arrays = INNINGS[:2]
    batch, outcome = training_batch(arrays)
    generator = np.random.default_rng(3)
    said = [
        generator.dirichlet(np.ones(len(OUTCOMES)), len(one)).astype(np.float32) for one in arrays
    ]
    with torch.no_grad():
        loss = outcome_loss(model, batch, outcome, stacked(said, outcome.shape[1]), 0.3)
        logs = [model(training_batch([one])[0])[0].log_softmax(-1).double() for one in arrays]
    by_hand = 0.0
    for log, one, told in zip(logs, arrays, said, strict=True):
        for ball in range(len(one)):
            by_hand -= 0.7 * float(log[ball, one.outcome[ball]])
            by_hand -= 0.3 * float((log[ball].numpy() * told[ball]).sum())
    assert float(loss) == pytest.approx(by_hand, rel=1e-5)


def test_a_run_stops_when_validation_gets_no_better(tmp_path: Path) -> None:
    # One innings learnt by heart soon does harm to the others.
    recipe = dataclasses.replace(
        RECIPE, epochs=40, learning_rate=0.03, hide_some=0.0, forget=0.0, patience=2
    )
    said: list[str] = []
    state = tmp_path / "run.state"
    fitted = fit(
        SIZES,
        PRIOR,
        INNINGS[:1],
        INNINGS[4:6],
        recipe,
        loop=TrainingLoop(state, report=said.append),
    )
    losses = [row["validation"] for row in fitted.history]
    assert 2 < len(losses) < 40
    assert int(np.argmin(losses)) == len(losses) - 3
    assert said[-1] == "no better for 2 epochs: stopped"
    assert log_loss(fitted.model, INNINGS[4:6]) == pytest.approx(min(losses), abs=1e-6)
    again = fit(SIZES, PRIOR, INNINGS[:1], INNINGS[4:6], recipe, loop=TrainingLoop(state))
    assert again.history == fitted.history
    # Without validation nothing says when to stop.
    free = dataclasses.replace(recipe, epochs=6, patience=1)
    assert len(fit(SIZES, PRIOR, INNINGS[:1], [], free).history) == 6


def test_trees_are_asked_about_matches_they_did_not_see(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(baselines, "_ROUNDS", 4)
    matches = [simulated(seed) for seed in range(10)]
    learning = rate_and_encode(matches, fit_base(matches, seed=5), Ratings())[:16]
    lines: list[str] = []
    told = teach(learning, seed=5, threads=1, loop=TrainingLoop(report=lines.append))
    assert [len(one) for one in told] == [len(one.arrays) for one in learning]
    assert lines[0] == "asking the teacher boosted_trees"
    table = feature_table(learning)
    growth = {**GROWTH, "min_data_in_leaf": 20}

    def asked(table: FeatureTable) -> np.ndarray:
        return out_of_fold(table, growth, 5)

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
    matches = [simulated(seed) for seed in range(6)]
    learning = rate_and_encode(matches, fit_base(matches, seed=5), Ratings())
    lines: list[str] = []
    loop = TrainingLoop(tmp_path / "run.state", mark="a" * 64, report=lines.append)
    told = teach(learning, seed=5, threads=1, loop=loop)
    again = teach(learning, seed=5, threads=1, loop=loop)
    assert all(map(np.array_equal, told, again))
    assert [line.startswith("asking") for line in lines] == [True, False]
    # Other matches or another seed are another question.
    teach(learning, seed=6, threads=1, loop=loop)
    teach(learning, seed=5, threads=1, loop=dataclasses.replace(loop, mark="b" * 64))
    teach(learning[:10], seed=5, threads=1, loop=loop)
    assert [line.startswith("asking") for line in lines[2:]] == [True, True, True]


WORKER = """
import dataclasses
import sys
sys.path.insert(0, sys.argv[2])
import torch
from test_training_taught import INNINGS, PRIOR, RECIPE, SIZES
from attnlens.cricket.lab.training_loop import TrainingLoop
from attnlens.cricket.lab.fit import fit
from attnlens.cricket.lab.training_loop import processes
from attnlens.errors import InputError
torch.set_num_threads(1)
among = processes()
def give_up():
    raise InputError("it gave up")
told = among.from_first(lambda: PRIOR + 7)
try:
    among.from_first(give_up)
except InputError as error:
    complaint = str(error)
recipe = dataclasses.replace(RECIPE, hide_some=0, hide_all=0, hide_player=0, hide_block=0,
                             hide_batter=0, hide_bowler=0, forget=0, forget_past=0)
sizes = dataclasses.replace(SIZES, dropout=0.0)
fitted = fit(sizes, PRIOR, INNINGS[:6], INNINGS[6:], recipe, loop=TrainingLoop(among=among))
torch.save([fitted.model.state_dict(), fitted.history, torch.from_numpy(told), complaint],
           f"{sys.argv[1]}.{among.rank}")
among.close()
"""


def started(worker: Path, count: int, *words: Path) -> None:
    """Run a file in several processes that torchrun starts."""
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*start, f"--nproc-per-node={count}", *map(str, (worker, *words))],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_two_processes_are_the_same_optimisation_as_one(tmp_path: Path) -> None:
    """With nothing random but the order of innings, torchrun changes no more than rounding."""
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER, encoding="utf-8")
    for count in (1, 2):
        started(worker, count, tmp_path / f"of{count}", REPOSITORY / "tests")
    alone, history, _, _ = torch.load(tmp_path / "of1.0", weights_only=True)
    first, first_history, told, complaint = torch.load(tmp_path / "of2.0", weights_only=True)
    second, _, same, other_complaint = torch.load(tmp_path / "of2.1", weights_only=True)
    for name, value in alone.items():
        assert torch.equal(first[name], second[name]), name
        torch.testing.assert_close(first[name], value, atol=2e-4, rtol=2e-3, msg=name)
    for one, other in zip(history, first_history, strict=True):
        assert one == pytest.approx(other, rel=1e-4)
    # What the first process makes, all have; where it gives up, the other does not wait for ever.
    assert torch.equal(told, same)
    assert torch.equal(told, torch.from_numpy(PRIOR + 7))
    assert (complaint, other_complaint) == (
        "it gave up",
        "the first process gave up; see what it said",
    )
