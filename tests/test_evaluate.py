"""`attnlens lab evaluate`: the figures against independent ones, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import OUTCOMES, Here
from match_files import written
from sklearn.metrics import log_loss
from small_predictors import small_predictor

from attnlens.cricket.lab import baselines, evaluation
from attnlens.cricket.lab.simulator import save_simulated
from attnlens.cricket.match.match import OUTCOME_INDEX
from attnlens.cricket.predictor.tensors import encode_innings
from attnlens.cricket.predictor.trained import Timeline, load_predictor, save_predictor
from attnlens.cricket.readers import read_matches

TRAINED = 6
LATER = (6, 7, 8, 9)
SUPER_OVERS = 38  # a simulated match that a super over decided
FIGURES = {"log_loss", "log_loss_ci", "brier", "ece", "accuracy"}
BASELINES = ["prior", "logistic", "boosted_trees"]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small checkpoint, the matches it was trained on, later ones, and one with super overs."""
    folder = tmp_path_factory.mktemp("evaluate")
    save_predictor(folder / "small.safetensors", small_predictor(matches=TRAINED))
    save_simulated(folder / "trained.zip", range(TRAINED), file_format="json")
    save_simulated(folder / "later.zip", LATER, file_format="json")
    save_simulated(folder / "all.zip", [*range(TRAINED), *LATER], file_format="json")
    save_simulated(folder / "tied.json", [SUPER_OVERS])
    return folder


Evaluate = Callable[..., str]


@pytest.fixture
def evaluate(sources: Path, attnlens_here: Here) -> Evaluate:
    """The command with the small checkpoint, of which nothing is complained."""

    def page(*words: str | Path) -> str:
        return attnlens_here.good("lab", "evaluate", *words, *model_of(sources))

    return page


def model_of(sources: Path) -> tuple[str, Path]:
    return "--model", sources / "small.safetensors"


def predicted(here: Here, sources: Path, *words: str | Path) -> list[dict[str, str]]:
    """What `predict` says of the balls, super overs left out."""
    more = (*model_of(sources), "--history", sources / "all.zip")
    rows = csv.DictReader(io.StringIO(here.good("predict", *words, *more)))
    return [row for row in rows if int(row["innings"]) <= 2]


def chances_of(rows: Sequence[dict[str, str]]) -> np.ndarray:
    table = np.array([[float(row[f"p_{outcome}"]) for outcome in OUTCOMES] for row in rows])
    return table / table.sum(1, keepdims=True)


def balls_of(*files: Path) -> list[str]:
    """The outcomes of all balls but those of super overs."""
    matches = [match for file in files for match in read_matches(file)]
    sides = [side for match in matches for side in match.innings if not side.super_over]
    return [ball.outcome for side in sides for ball in side.deliveries]


def test_everything_at_once(
    sources: Path, attnlens_here: Here, evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_ROUNDS", "_MAX_ROUNDS"):
        monkeypatch.setattr(baselines, name, 8)
    more = ("--history", sources / "trained.zip", "--json", "--out", "answer.json")
    assert evaluate(sources / "later.zip", sources / "tied.json", *more) == ""
    assert attnlens_here.files() == ["answer.json"]
    data = json.loads(Path("answer.json").read_text(encoding="utf-8"))
    assert (data["matches"], data["in_sample"], data["left_out"]) == (5, 0, {})
    assert data["dates"] == {"first": "2024-01-07", "last": "2024-02-08"}
    assert data["baselines_fitted_on"] == {"matches": TRAINED}
    assert list(data["baselines"]) == BASELINES == list(data["paired_difference"])
    assert re.fullmatch("[0-9a-f]{64}", data["checkpoint"]["sha256"])
    for figures in (data["model"], *data["baselines"].values()):
        assert set(figures) == FIGURES
        low, high = figures["log_loss_ci"]
        assert low < figures["log_loss"] < high
        assert 0 <= figures["ece"] <= 1
        assert 0 < figures["accuracy"] < 1
    for name, gap in data["paired_difference"].items():
        expected = data["model"]["log_loss"] - data["baselines"][name]["log_loss"]
        assert gap["log_loss"] == pytest.approx(expected, abs=2e-6)
        assert gap["log_loss_ci"][0] <= gap["log_loss"] <= gap["log_loss_ci"][1]


def test_figures_are_those_of_the_predictions(
    sources: Path, attnlens_here: Here, evaluate: Evaluate
) -> None:
    files = (sources / "later.zip", sources / "tied.json")
    more = ("--history", sources / "trained.zip", "--baselines", "none", "--json")
    data = json.loads(evaluate(*files, *more))
    rows = predicted(attnlens_here, sources, *files)
    chances = chances_of(rows)
    actual = np.array([OUTCOMES.index(row["actual"]) for row in rows])

    def loss(of: np.ndarray) -> Any:
        due = log_loss(actual[of], chances[of], labels=list(range(11)))
        return pytest.approx(due, abs=2e-5)

    balls = len(balls_of(*files))
    assert data["balls"] == len(rows) == balls
    assert data["model"]["log_loss"] == loss(actual >= 0)
    hit = np.eye(11)[actual]
    assert data["model"]["brier"] == pytest.approx(((chances - hit) ** 2).sum(1).mean(), abs=2e-5)
    accuracy = (chances.argmax(1) == actual).mean()
    assert data["model"]["accuracy"] == pytest.approx(accuracy, abs=1e-6)
    for number, outcome in enumerate(OUTCOMES):
        figures = data["by"]["outcome"][outcome]
        assert figures["balls"] == (actual == number).sum()
        assert figures["predicted"] == pytest.approx(chances[:, number].mean(), abs=2e-6)
        assert figures["observed"] == pytest.approx((actual == number).mean(), abs=1e-6)
    second = np.array([row["innings"] == "2" for row in rows])
    figures = data["by"]["innings"]["2"]
    assert (figures["balls"], figures["log_loss"]) == (second.sum(), loss(second))
    parts = [data["by"][kind].values() for kind in ("phase", "innings", "outcome", "kind")]
    for bins in (*parts, *data["reliability"].values()):
        assert sum(part["balls"] for part in bins) == balls
    likeliest = data["reliability"]["likeliest"]
    gaps = [part["balls"] * abs(part["predicted"] - part["observed"]) for part in likeliest]
    assert data["model"]["ece"] == pytest.approx(sum(gaps) / balls, abs=2e-5)


def test_who_wins_is_judged_by_the_predictions(
    sources: Path, attnlens_here: Here, evaluate: Evaluate
) -> None:
    files = (sources / "later.zip", sources / "tied.json")
    words = ("--win", "--history", sources / "trained.zip")
    data = json.loads(evaluate(*files, *words, "--json"))
    rows = [row for row in predicted(attnlens_here, sources, *files) if row["win_before"]]
    matches = {match.match_id: match for file in files for match in read_matches(file)}
    chances, came = [], []
    for row in rows:
        match = matches[row["match_id"]]
        side = match.innings[int(row["innings"]) - 1]
        winner = match.outcome.get("winner")
        tie = match.outcome.get("result") == "tie"
        if winner is not None or tie:
            chances.append(float(row["win_before"]))
            came.append(0.5 if tie else float(winner == side.batting_team))
    assert data["balls"] == len(came)
    brier = np.mean((np.array(chances) - np.array(came)) ** 2)
    every = data["kinds"]["all"]
    assert every["brier"] == pytest.approx(brier, abs=1e-6)
    assert every["brier_ci"][0] <= every["brier"] <= every["brier_ci"][1]
    assert sum(kind["balls"] for kind in data["kinds"].values()) == 2 * data["balls"]
    assert sum(level["balls"] for level in data["reliability"]) == data["balls"]
    assert every["jump"] < 1e-9
    assert every["moves"] < 1e-9
    assert set(every["differences"]) == {
        *("logistic", "logistic_ci", "boosted_trees", "boosted_trees_ci")
    }
    assert "win probabilities of small" in evaluate(*files, *words)
    more = ("--model", "x.safetensors", "--calibration-out", "y.json")
    attnlens_here.refused("lab", "evaluate", *files, *words, *more)


def test_what_is_usual_is_judged_by_the_balls(
    sources: Path, attnlens_here: Here, evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "MIN_MATCHES", 2)
    files, history = (sources / "later.zip",), (sources / "trained.zip",)
    data = json.loads(evaluate(*files, "--usual", "--history", *history, "--json"))
    matches = [match for file in (*history, *files) for match in read_matches(file)]
    timeline = Timeline(load_predictor(sources / "small.safetensors"), matches)
    usual, plain, came = [], [], []
    for match in read_matches(files[0]):
        dated = timeline.predictor_for(match)
        for side in match.innings:
            arrays = encode_innings(match, side, dated.ratings, dated.base)
            usual.append(arrays.usual)
            plain.append(dated.base.of_innings(match, side))
            came += [OUTCOME_INDEX[ball.outcome] for ball in side.deliveries]
    usual_logs, plain_logs = map(np.concatenate, (usual, plain))
    assert data["balls"] == len(came)
    losses = {
        name: -logs[np.arange(len(came)), came].mean()
        for name, logs in (("usual", usual_logs), ("scoreboard", plain_logs))
    }
    losses["difference"] = losses["usual"] - losses["scoreboard"]
    for name, loss in losses.items():
        low, high = data["log_loss"][f"{name}_ci"]
        assert data["log_loss"][name] == pytest.approx(loss, abs=2e-5)
        assert low <= loss <= high
    [competition] = data["by_competition"].values()
    for name, figures in data["all"].items():
        number = OUTCOME_INDEX[name]
        assert figures["came"] == pytest.approx(100 * np.mean(np.array(came) == number), abs=1e-5)
        expected = 100 * np.exp(usual_logs[:, number]).mean()
        assert figures["usual"] == pytest.approx(expected, abs=1e-3)
        difference = figures["usual"] - figures["came"]
        assert figures["difference"] == pytest.approx(difference, abs=2e-6)
        assert competition["outcomes"][name] == figures
    page = evaluate(*files, "--usual", "--history", *history)
    assert "usual probabilities of small" in page
    assert "usual minus observed, points" in page
    for more in (("--calibration-out", "y.json"), ("--win",)):
        attnlens_here.refused("lab", "evaluate", *files, "--usual", *more, *model_of(sources))


def test_without_training_matches_the_prior_is_the_checkpoints(
    sources: Path, attnlens_here: Here
) -> None:
    model = model_of(sources)
    answer = attnlens_here("lab", "evaluate", sources / "later.zip", *model, "--json")
    assert answer.status == 0
    complaints = answer.err.splitlines()
    assert complaints[0].startswith("attnlens: left out logistic, boosted_trees: none")
    assert complaints[1].startswith("attnlens: the prior comes from the checkpoint")
    data = json.loads(answer.out)
    assert list(data["left_out"]) == BASELINES[1:]
    assert list(data["baselines"]) == ["prior"]
    shares = np.exp(load_predictor(model[1]).base.everything.astype(float))
    actual = [OUTCOMES.index(outcome) for outcome in balls_of(sources / "later.zip")]
    assert data["baselines"]["prior"]["log_loss"] == pytest.approx(
        -np.log(shares / shares.sum())[actual].mean(), abs=1e-6
    )


def test_a_match_without_a_date_is_judged_without_fitted_baselines(
    sources: Path, attnlens_here: Here
) -> None:
    document = json.loads((sources / "tied.json").read_text(encoding="utf-8"))
    del document["info"]["dates"]
    path = written(attnlens_here.folder, document)
    words = ("lab", "evaluate", path, "--history", sources / "trained.zip", *model_of(sources))
    assert "--allow-in-sample" in attnlens_here.refused(*words)
    answer = attnlens_here(*words, "--allow-in-sample")
    assert answer.status == 0
    assert "an evaluated match has no date" in answer.err
    assert "undated to undated" in answer.out


def test_a_single_match_has_no_interval_and_no_not_a_number(
    sources: Path, evaluate: Evaluate
) -> None:
    words = (sources / "tied.json", "--baselines", "none")
    data = json.loads(evaluate(*words, "--json"))
    assert (data["matches"], data["model"]["log_loss_ci"]) == (1, None)
    figures = data["by"]["outcome"]["5"]
    assert figures.pop("predicted") > 0
    nothing = dict.fromkeys(("log_loss", "log_loss_ci", "observed_ci"))
    assert figures == {"balls": 0, "observed": 0.0, **nothing}
    page = evaluate(*words)
    assert page.startswith(f"small on {data['balls']} balls of 1 match, 2024-02-08 to 2024-02-08\n")
    assert "nan" not in page.lower()


def test_the_page_fits_where_it_is_shown(
    sources: Path, attnlens_here: Here, evaluate: Evaluate
) -> None:
    files = (sources / "later.zip", sources / "trained.zip")
    for width in ("64", "80", "100"):
        attnlens_here.patch.setenv("COLUMNS", width)
        page = evaluate(*files, "--baselines", "prior,logistic")
        assert max(map(len, page.splitlines())) <= int(width)
        assert "…" not in page
        for words in ("model minus baseline", "Brier", "ECE", "top-1"):
            assert words in page
        figures = re.findall(r"^  (model|prior|logistic) +(\d\.\d{4})", page, re.MULTILINE)
        assert sorted(name for name, _ in figures) == ["logistic", "model", "prior"]
        gaps = re.findall(r"[+-]\d\.\d{4} \[[+-]\d\.\d{4}, [+-]\d\.\d{4}\]", page)
        assert len(gaps) == 2
        assert [loss for _, loss in figures] == sorted(loss for _, loss in figures)


def test_bad_usage_is_one_line(sources: Path, attnlens_here: Here) -> None:
    later, model = sources / "later.zip", model_of(sources)
    for words, complaint in (
        (("--baselines", "trees"), "'trees' is not a baseline; use prior, logistic"),
        (("--out", "no/where.json"), "its folder does not exist"),
        (("--until", "2024-01-06"), "no match was played from 2024-01-07 on"),
        (("--from", "2025-01-01"), "no match was played between --from and --until"),
        (("--history", "nowhere.zip"), "nowhere.zip"),
    ):
        assert complaint in attnlens_here.refused("lab", "evaluate", later, *model, *words)
    assert attnlens_here.files() == []
