"""Teachers, early stopping, several processes: what a run can be given beside the matches."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from small_predictors import arrays_of, simulated, small_predictor, with_delivery

from attnlens.cricket.match.outcomes import OUTCOMES
from attnlens.cricket.model.batch import training_batch
from attnlens.cricket.model.ratings import Ratings
from attnlens.cricket.model.trained import load_predictor, save_predictor
from attnlens.cricket.simulator.simulate import simulate_match
from attnlens.cricket.study.held_out import EncodedInnings
from attnlens.cricket.training import teachers
from attnlens.cricket.training.dataset import fit_base, rate_and_encode
from attnlens.cricket.training.fit import Recipe, cricket_sizes, fit, log_loss, loss_of, taught_by
from attnlens.cricket.training.teachers import TREES, asked, check_teachers, question_of, teach
from attnlens.errors import AttnlensError, CheckpointError

REPOSITORY = Path(__file__).resolve().parent.parent
PREDICTOR = small_predictor(matches=5)
INNINGS = [arrays_of(PREDICTOR, simulated(seed), side) for seed in range(4) for side in (1, 2)]
RECIPE = Recipe(epochs=3, innings=4, warm_up=2, average=0.5, hide_some=0.2, forget=0.1)
SIZES = cricket_sizes(12)
PRIOR = PREDICTOR.base.everything


def answers(shares: np.ndarray) -> list[np.ndarray]:
    return [np.tile(shares.astype(np.float32), (len(one), 1)) for one in INNINGS]


def test_the_loss_of_a_taught_ball_by_hand() -> None:
    model = PREDICTOR.model
    arrays = INNINGS[:2]
    batch, outcome = training_batch(arrays)
    generator = np.random.default_rng(3)
    said = [
        generator.dirichlet(np.ones(len(OUTCOMES)), len(one)).astype(np.float32) for one in arrays
    ]
    with torch.no_grad():
        loss = loss_of(model, batch, outcome, taught_by(said, outcome.shape[1]), 0.3)
        logs = [model(training_batch([one])[0])[0].log_softmax(-1).double() for one in arrays]
    by_hand = 0.0
    for log, one, told in zip(logs, arrays, said, strict=True):
        for ball in range(len(one)):
            by_hand -= 0.7 * float(log[ball, one.outcome[ball]])
            by_hand -= 0.3 * float((log[ball].numpy() * told[ball]).sum())
    assert float(loss) == pytest.approx(by_hand, rel=1e-5)


def test_a_teacher_is_learnt_from() -> None:
    """Where the teacher alone counts, the model comes to say what it says, not what happened."""
    shares = np.linspace(1, 3, len(OUTCOMES))
    shares /= shares.sum()
    recipe = dataclasses.replace(RECIPE, epochs=8, teacher=1.0, learning_rate=0.02)
    taught = fit(SIZES, PRIOR, INNINGS, [], recipe, teacher=answers(shares)).model
    alone = fit(SIZES, PRIOR, INNINGS, [], recipe).model

    def distance(model: torch.nn.Module) -> float:
        return float(np.abs(asked(model, INNINGS) - shares).sum(-1).mean())

    assert distance(taught) < distance(alone) / 2
    assert log_loss(alone, INNINGS) < log_loss(taught, INNINGS)


def test_asked_keeps_the_order_of_the_innings() -> None:
    told = asked(PREDICTOR.model, INNINGS, size=3)
    assert told.shape == (sum(map(len, INNINGS)), len(OUTCOMES))
    start = 0
    for one in INNINGS:
        with torch.no_grad():
            alone = PREDICTOR.model(training_batch([one])[0])[0].softmax(-1).numpy()
        np.testing.assert_allclose(told[start : start + len(one)], alone, atol=1e-6)
        start += len(one)


def test_a_run_goes_on_with_its_own_matches_sizes_and_teacher_alone(tmp_path: Path) -> None:
    state = tmp_path / "run.state"
    recipe = dataclasses.replace(RECIPE, epochs=1)
    shares = np.full(len(OUTCOMES), 1 / len(OUTCOMES))
    fit(SIZES, PRIOR, INNINGS[:4], INNINGS[4:], recipe, teacher=answers(shares)[:4], state=state)
    other = answers(np.roll(shares * np.arange(len(OUTCOMES)), 1))[:4]
    for sizes, learn, check, teacher in (
        (SIZES, INNINGS[:4], INNINGS[4:], None),
        (SIZES, INNINGS[:4], INNINGS[4:], other),
        (SIZES, INNINGS[:4], INNINGS[5:], answers(shares)[:4]),
        (SIZES, INNINGS[:4][::-1], INNINGS[4:], answers(shares)[:4]),
        (dataclasses.replace(SIZES, dropout=0.3), INNINGS[:4], INNINGS[4:], answers(shares)[:4]),
    ):
        with pytest.raises(CheckpointError, match="other matches, sizes or teachers was begun"):
            fit(sizes, PRIOR, learn, check, recipe, teacher=teacher, state=state)
    again = fit(
        SIZES, PRIOR, INNINGS[:4], INNINGS[4:], recipe, teacher=answers(shares)[:4], state=state
    )
    assert len(again.history) == 1


def test_a_run_stops_when_validation_gets_no_better(tmp_path: Path) -> None:
    # One innings learnt by heart soon does harm to the others.
    recipe = dataclasses.replace(
        RECIPE, epochs=40, learning_rate=0.03, hide_some=0.0, forget=0.0, patience=2
    )
    said: list[str] = []
    state = tmp_path / "run.state"
    fitted = fit(SIZES, PRIOR, INNINGS[:1], INNINGS[4:], recipe, report=said.append, state=state)
    losses = [row["validation"] for row in fitted.history]
    assert 2 < len(losses) < 40
    assert int(np.argmin(losses)) == len(losses) - 3
    assert said[-1] == "no better for 2 epochs: stopped"
    assert log_loss(fitted.model, INNINGS[4:]) == pytest.approx(min(losses), abs=1e-6)
    again = fit(SIZES, PRIOR, INNINGS[:1], INNINGS[4:], recipe, state=state)
    assert again.history == fitted.history
    # Without validation nothing says when to stop.
    free = dataclasses.replace(recipe, epochs=6, patience=1)
    assert len(fit(SIZES, PRIOR, INNINGS[:1], [], free).history) == 6


@pytest.fixture(scope="module")
def season() -> tuple[list, list[EncodedInnings]]:
    matches = [simulate_match(seed) for seed in range(12)]
    base = fit_base(matches, seed=5)
    return matches, rate_and_encode(matches, base, Ratings())


def test_trees_are_asked_about_matches_they_did_not_see(
    season: tuple[list, list[EncodedInnings]], tmp_path: Path
) -> None:
    pytest.importorskip("lightgbm")
    learning = season[1][:16]
    keep = tmp_path / "said"
    told = teach([TREES], learning, seed=5, keep=keep)
    assert [len(one) for one in told] == [len(one.arrays) for one in learning]
    stacked = np.concatenate(told)
    np.testing.assert_allclose(stacked.sum(-1), 1, atol=1e-5)
    # Trees that had seen these few balls would know them by heart.
    outcome = np.concatenate([one.arrays.outcome for one in learning])
    assert -np.log(stacked[np.arange(len(outcome)), outcome]).mean() > 1.2
    # What was kept is taken for the same question and not for another one.
    before = keep.stat().st_mtime_ns
    again = teach([TREES], learning, seed=5, keep=keep)
    assert all(np.array_equal(one, other) for one, other in zip(told, again, strict=True))
    assert keep.stat().st_mtime_ns == before
    said: list[str] = []
    teach([TREES], learning, seed=6, keep=keep, report=said.append)
    line = f"{keep} answers another question (matches, settings or versions): asking anew"
    assert said[:2] == [line, f"asking the teacher {TREES}"]
    assert keep.stat().st_mtime_ns > before
    keep.write_bytes(keep.read_bytes()[:99])
    with pytest.raises(CheckpointError, match="is not what a teacher said; remove it"):
        check_teachers([TREES], keep)
    with pytest.raises(CheckpointError, match="is not what a teacher said; remove it"):
        teach([TREES], learning, seed=5, keep=keep)


def test_a_question_is_another_with_other_balls_dates_seeds_and_versions(
    season: tuple[list, list[EncodedInnings]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("lightgbm")
    matches, innings = season

    def question(played: list, seed: int = 5, count: int = 16) -> str:
        by_id = {match.match_id: match for match in played}
        chosen = [dataclasses.replace(one, match=by_id[one.match_id]) for one in innings[:count]]
        return question_of([TREES], chosen, seed=seed)

    first = question(matches)
    assert question(matches) == first
    bowler = matches[0].innings[0].deliveries[9].batter
    others = [
        question([with_delivery(matches[0], 1, 5, bowler=bowler), *matches[1:]]),
        question([with_delivery(matches[0], 1, 5, runs_total=5), *matches[1:]]),
        question(matches, seed=6),
        question(matches, count=14),
    ]
    monkeypatch.setattr(teachers, "version", lambda _: "0.0")  # of LightGBM
    others.append(question(matches))
    monkeypatch.setattr(teachers, "TEACHER", dataclasses.replace(teachers.TEACHER, leaves=7))
    others.append(question(matches))
    monkeypatch.setattr(teachers, "FOLDS", 4)
    others.append(question(matches))
    monkeypatch.setattr(teachers, "SHRINKAGE", {**teachers.SHRINKAGE, "pair": 61.0})
    others.append(question(matches))
    assert len({first, *others}) == 9


def test_a_checkpoint_can_teach_and_several_teachers_are_averaged(
    season: tuple[list, list[EncodedInnings]], tmp_path: Path
) -> None:
    innings = season[1]
    paths = []
    for seed in (3, 4):
        paths.append(str(tmp_path / f"{seed}.safetensors"))
        save_predictor(paths[-1], small_predictor(seed=seed, matches=3))

    def said(names: list[str]) -> np.ndarray:
        return np.concatenate(teach(names, innings[:4], seed=5))

    both = said(paths)
    np.testing.assert_allclose(both, (said(paths[:1]) + said(paths[1:])) / 2, atol=1e-6)
    arrays = [one.arrays for one in innings[:4]]
    np.testing.assert_allclose(
        said(paths[:1]), asked(load_predictor(paths[0]).model, arrays), atol=1e-6
    )
    with pytest.raises(AttnlensError, match="nowhere"):
        check_teachers([str(tmp_path / "nowhere.safetensors")])


WORKER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import torch
from test_training_taught import INNINGS, PRIOR, RECIPE, SIZES
from attnlens.cricket.training.fit import fit
from attnlens.cricket.training.processes import processes
torch.set_num_threads(1)
among = processes()
import dataclasses
recipe = dataclasses.replace(RECIPE, hide_some=0, hide_all=0, hide_player=0, hide_block=0,
                             forget=0, forget_past=0)
sizes = dataclasses.replace(SIZES, dropout=0.0)
fitted = fit(sizes, PRIOR, INNINGS[:6], INNINGS[6:], recipe, among=among)
torch.save([fitted.model.state_dict(), fitted.history], f"{sys.argv[1]}.{among.rank}")
among.close()
"""


TAUGHT = """
import sys
from pathlib import Path
import torch
from attnlens.cricket.model.ratings import Ratings
from attnlens.cricket.simulator.simulate import simulate_match
from attnlens.errors import AttnlensError
from attnlens.cricket.training.dataset import fit_base, rate_and_encode
from attnlens.cricket.training.processes import processes
from attnlens.cricket.training.teachers import TREES, teach
torch.set_num_threads(1)
among = processes()
matches = [simulate_match(seed) for seed in range(6)]
innings = rate_and_encode(matches, fit_base(matches, seed=5), Ratings())
said = []
def ask(keep):
    return teach([TREES], innings, seed=5, keep=keep,
                 report=said.append, among=among)
keep = Path(sys.argv[1]).with_name("kept")
told = ask(keep)
complaint = ""
if among.first:
    keep.write_bytes(b"nothing")
try:
    ask(keep)
except AttnlensError as error:
    complaint = str(error)
told = [torch.from_numpy(one) for one in told]
torch.save([told, said, complaint], f"{sys.argv[1]}.{among.rank}")
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


def test_of_two_processes_one_asks_the_teacher_and_tells_the_other(tmp_path: Path) -> None:
    pytest.importorskip("lightgbm")
    worker = tmp_path / "worker.py"
    worker.write_text(TAUGHT, encoding="utf-8")
    started(worker, 2, tmp_path / "told")
    first, said, complaint = torch.load(tmp_path / "told.0", weights_only=True)
    second, silence, other_complaint = torch.load(tmp_path / "told.1", weights_only=True)
    assert said[0] == f"asking the teacher {TREES}"
    assert silence == []
    assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))
    assert all(one.sum(-1).sub(1).abs().max() < 1e-5 for one in first)
    # Where the first one gives up, the other does not wait for ever.
    assert complaint == f"{tmp_path / 'kept'}: is not what a teacher said; remove it"
    assert other_complaint == "the first process gave up; see what it said"


def test_two_processes_are_the_same_optimisation_as_one(tmp_path: Path) -> None:
    """With nothing random but the order of innings, torchrun changes no more than rounding."""
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER, encoding="utf-8")
    for count in (1, 2):
        started(worker, count, tmp_path / f"of{count}", REPOSITORY / "tests")
    alone, history = torch.load(tmp_path / "of1.0", weights_only=True)
    first, first_history = torch.load(tmp_path / "of2.0", weights_only=True)
    second, _ = torch.load(tmp_path / "of2.1", weights_only=True)
    for name, value in alone.items():
        assert torch.equal(first[name], second[name]), name
        torch.testing.assert_close(first[name], value, atol=2e-4, rtol=2e-3, msg=name)
    for one, other in zip(history, first_history, strict=True):
        assert one == pytest.approx(other, rel=1e-4)
