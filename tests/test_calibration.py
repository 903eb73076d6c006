"""How often calls came true: measured as told, quoted from the right weights, read cheaply."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import OUTCOMES, Here
from small_predictors import small_predictor

from attnlens.cricket.explain.explain_ball import explain_ball
from attnlens.cricket.lab.simulator import save_simulated, simulate_match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.predictor.calibration import named_checkpoint
from attnlens.cricket.predictor.trained import load_predictor, save_predictor


@pytest.fixture
def measured(season: Path, attnlens_here: Here) -> dict[str, Any]:
    out = season / "small.calibration.json"
    answer = attnlens_here(
        *("lab", "evaluate", season / "later.zip", "--model", season / "small.safetensors"),
        *("--baselines", "none", "--calibration-out", out),
    )
    assert answer.status == 0
    table: dict[str, Any] = json.loads(out.read_text("utf-8"))
    return table


def test_the_table_against_the_predictions_themselves(
    season: Path, attnlens_here: Here, measured: dict[str, Any]
) -> None:
    text = attnlens_here.good(
        *("predict", season / "later.zip", "--model", season / "small.safetensors"),
        *("--history", season / "later.zip"),
    )
    rows = [row for row in csv.DictReader(io.StringIO(text)) if int(row["innings"]) <= 2]
    assert measured["balls"] == len(rows)
    assert measured["matches"] == 3
    for outcome in OUTCOMES:
        chance = np.array([float(row[f"p_{outcome}"]) for row in rows])
        came = np.array([row["actual"] == outcome for row in rows])
        bins = measured["outcomes"][outcome]
        assert 10 <= len(bins) <= 16
        assert sum(one["balls"] for one in bins) == len(rows)
        assert sum(one["balls"] * one["happened"] for one in bins) == pytest.approx(
            came.sum(), abs=0.01
        )
        low = -1.0
        for one in bins:
            inside = (chance > low + 1e-6) & (chance <= one["most"] + 1e-6)
            assert abs(inside.sum() - one["balls"]) <= 2
            assert chance[inside].mean() == pytest.approx(one["predicted"], abs=5e-4)
            assert came[inside].mean() == pytest.approx(one["happened"], abs=2 / one["balls"])
            if one["happened_ci"] is not None:  # of balls from several matches
                assert one["happened_ci"][0] <= one["happened_ci"][1]
            low = one["most"]


def test_an_explanation_quotes_the_table_beside_its_weights(
    season: Path, measured: dict[str, Any]
) -> None:
    predictor = load_predictor(season / "small.safetensors")
    ball = BallReference(1, 40)
    data = explain_ball(simulate_match(7), ball, predictor, evidence=False).to_dict()
    told = data["prediction"]["calibration"]
    assert (told["checkpoint"], told["balls"]) == ("small", measured["balls"])
    for entry, like in zip(data["prediction"]["outcomes"], told["outcomes"], strict=True):
        bins = measured["outcomes"][entry["outcome"]]
        (found,) = [one for one in bins if one["predicted"] == like["predicted"]]
        below = [one["most"] for one in bins if one["most"] < found["most"]]
        assert entry["probability"] > max(below, default=-1) or found is bins[0]
        assert entry["probability"] <= found["most"] or found is bins[-1]


def test_a_table_of_other_weights_is_not_quoted(season: Path, measured: dict[str, Any]) -> None:
    other = season / "other.safetensors"
    save_predictor(other, small_predictor(seed=4))
    shutil.copy(season / "small.calibration.json", season / "other.calibration.json")
    assert measured["checkpoint"]["name"] == "small"
    assert load_predictor(other).calibration is None


def test_the_shipped_tables_are_of_the_measured_weights() -> None:
    measured, bundled = load_predictor("measured"), load_predictor("bundled")
    assert measured.calibration is not None
    assert measured.calibration.sha256 == measured.sha256
    assert str(measured.calibration.first) > str(measured.card["trained_until"])
    file = named_checkpoint("measured")[1].with_name("measured.calibration.json")
    assert json.loads(file.read_bytes())["in_sample"] == 0
    assert bundled.calibration == measured.calibration


@pytest.mark.parametrize(
    "text",
    [
        "not JSON",
        "[]",
        '{"kind": "calibration", "format": 2, "outcomes": {}}',
        '{"kind": "other", "format": 1}',
    ],
)
def test_a_damaged_table_is_one_line(season: Path, attnlens_here: Here, text: str) -> None:
    shutil.copy(season / "small.safetensors", "mine.safetensors")
    Path("mine.calibration.json").write_text(text, "utf-8")
    save_simulated("match.json", [7])
    refusal = attnlens_here.refused(
        "explain", "match.json", "--ball", 3, "--model", "mine.safetensors"
    )
    assert "mine.calibration.json: is " in refusal
