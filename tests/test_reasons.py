"""Reasons that come true: the parts are those of pages, the slope the likeliest, the table read."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Here
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from small_predictors import arrays_of, simulated, small_predictor

from attnlens.cricket.explain.claims import contributions_of
from attnlens.cricket.explain.explain_ball import explain_ball
from attnlens.cricket.explain.reading import scoreboard_baseline
from attnlens.cricket.explain.types import Explanation
from attnlens.cricket.lab.reasons_evaluation import log_odds_of_each, parts_from_usual, slope_of
from attnlens.cricket.lab.simulator import simulate_match
from attnlens.cricket.match.naming import BallReference
from attnlens.cricket.pages.ball_page import BallLabels, reason_lines, reasons_for
from attnlens.cricket.pages.parts import contributions_to
from attnlens.cricket.predictor.trained import load_predictor
from attnlens.cricket.predictor.window import cut_window
from attnlens.cricket.words.clauses import explanation_clauses
from attnlens.cricket.words.narrative import narrate

EXAMPLE = Path(__file__).with_name("explanation_example.json")

REASONS = [
    *("scoreboard", "venue and teams", "striker's record", "bowler's record", "this over"),
    *("this bowler to this batter", "this bowler's earlier balls", "this batter's earlier balls"),
    *("other recent balls", "earlier balls"),
]


@pytest.mark.parametrize("index", [1, 40, 90])
def test_parts_are_those_of_pages_on_the_scale_of_log_odds(index: int) -> None:
    predictor, match = small_predictor(), simulated(7)
    window = cut_window(match, match.innings[0], arrays_of(predictor, match), index)
    parts, odds = parts_from_usual(predictor, window)
    shared = contributions_of(predictor, window)
    in_odds = dataclasses.replace(shared, values=log_odds_of_each(shared.values))
    board, beyond = in_odds.beyond("scoreboard")
    usual = log_odds_of_each(scoreboard_baseline(window))
    expected = dict(zip(shared.groups, beyond, strict=True)) | {"scoreboard": board - usual}
    assert list(parts) == REASONS
    for group, part in parts.items():
        np.testing.assert_allclose(part, expected[group], atol=1e-5)
    np.testing.assert_allclose(usual + sum(parts.values()), odds, atol=1e-9)
    np.testing.assert_allclose(odds, log_odds_of_each(shared.full), atol=1e-5)
    # As large as the tolerance several hundred times over.
    assert max(np.abs(part).max() for part in parts.values()) > 5e-3


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.floats(-1, 2))
def test_the_slope_is_the_likeliest_and_resampled_by_match(seed: int, true: float) -> None:
    generator = np.random.default_rng(seed)
    match = np.repeat(np.arange(30), 40)
    part = generator.normal(0, 0.8, len(match)) * generator.integers(0, 2, len(match))
    rest = generator.normal(-1, 0.5, len(match))
    came = generator.random(len(match)) < 1 / (1 + np.exp(-(rest + true * part)))

    def loss(slope: float, times: np.ndarray) -> float:
        odds = rest + slope * part
        return float((times * (np.logaddexp(0, odds) - came * odds)).sum())

    estimate = slope_of(came, part, rest + part, match)
    assert estimate is not None
    slope, ends = estimate
    assert ends is not None
    once = np.ones(len(match))
    due = minimize_scalar(loss, args=(once,), bounds=(-9, 9), method="bounded").x
    assert slope == pytest.approx(due, abs=1e-4)
    draws = [
        minimize_scalar(loss, args=(times[match],), bounds=(-9, 9), method="bounded").x
        for times in generator.multinomial(30, np.full(30, 1 / 30), size=60)
    ]
    spread = np.std(draws)
    assert (ends[1] - ends[0]) / 3.92 == pytest.approx(spread, rel=0.45)
    assert ends[0] < slope < ends[1]


def test_a_part_of_nothing_and_a_single_match_have_no_interval() -> None:
    zeros, came = np.zeros(8), np.arange(8) % 2 == 0
    match = np.zeros(8, np.int64)
    assert slope_of(came, zeros, zeros, match) is None
    estimate = slope_of(came, np.linspace(-1, 1, 8), zeros, match)
    assert estimate is not None
    assert estimate[1] is None


def words_of(season: Path) -> tuple[str | Path, ...]:
    model = season / "small.safetensors"
    return "lab", "evaluate", season / "later.zip", "--model", model, "--reasons", "--balls", "20"


def test_the_command_measures_and_an_explanation_quotes_it(
    season: Path, attnlens_here: Here
) -> None:
    model, beside = season / "small.safetensors", season / "small.calibration.json"
    whole = ("lab", "evaluate", season / "later.zip", "--model", model, "--baselines", "none")
    refusal = attnlens_here.refused(*words_of(season), "--calibration-out", beside)
    assert "is not a calibration file to which slopes can be added" in refusal
    attnlens_here.good(*whole, "--calibration-out", beside)
    text = attnlens_here.good(*words_of(season), "--calibration-out", beside, "--json")
    document = json.loads(text)
    rows = document["rows"]
    assert [
        row["reason"] for row in rows if (row["kind"], row["outcome"]) == ("all", "stacked")
    ] == (REASONS)
    assert {row["outcome"] for row in rows} == {"stacked", "0", "1", "4", "6", "W"}
    assert document["balls"] == 20
    for row in rows:
        assert set(row) == {"reason", "kind", "outcome", "slope", "interval", "balls"}
        assert 0 < row["balls"] <= 20

    predictor = load_predictor(model)
    explanation = explain_ball(simulate_match(7), BallReference(1, 40), predictor)
    slopes = {row["reason"]: row for row in rows[:: len(REASONS)]}
    stacked = {row["reason"]: row for row in rows if row["outcome"] == "stacked"}
    assert slopes
    for contribution in explanation.contributions:
        measured = contribution.comes_true
        assert measured is not None
        row = stacked[contribution.group]
        assert (measured.slope, [measured.low, measured.high]) == (row["slope"], row["interval"])
        low, high = row["interval"]
        assert contribution.holds == (low <= 1 <= high)
    other = dataclasses.replace(predictor, calibration=None)
    unmeasured = explain_ball(simulate_match(7), BallReference(1, 40), other)
    assert {contribution.comes_true for contribution in unmeasured.contributions} == {None}


def test_the_page_has_80_columns(season: Path, attnlens_here: Here) -> None:
    attnlens_here.patch.setenv("COLUMNS", "80")
    page = attnlens_here.good(*words_of(season))
    assert max(map(len, page.splitlines())) <= 80
    for part in ("this batter's earlier balls", "by outcome", "20 balls of 3 matches"):
        assert part in page


def test_one_evaluation_at_a_time(season: Path, attnlens_here: Here) -> None:
    refusal = attnlens_here.refused(*words_of(season), "--win")
    assert "--win and --reasons exclude each other" in refusal
    refusal = attnlens_here.refused("lab", "evaluate", season / "later.zip", "--balls", "3")
    assert "--balls works only with --reasons" in refusal


def explanation_with(slope: dict[str, float] | None, group: str) -> Explanation:
    """The example, one of whose groups does much and came as ``slope`` says."""
    data = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    at = [entry["outcome"] for entry in data["prediction"]["outcomes"]].index(
        data["prediction"]["subject"]
    )
    for contribution in data["contributions"]:
        contribution["comes_true"] = None
        if contribution["group"] == group:
            contribution["comes_true"] = slope
            contribution["from_usual"][at]["points"] = 7.25
    return Explanation.from_dict(data)


@pytest.mark.parametrize(
    ("slope", "words"),
    [
        (None, ""),
        ({"slope": 0.45, "low": -0.1, "high": 1.02}, ""),
        ({"slope": 0.45, "low": 0.05, "high": 0.85}, " (45% of such points came true)"),
        ({"slope": 1.39, "low": 1.01, "high": 1.71}, " (such points came 1.4 times as large)"),
        ({"slope": -0.3, "low": -0.9, "high": 0.2}, " (such points did not come true)"),
    ],
)
def test_a_reason_that_does_not_come_as_said_says_so_and_is_none(
    slope: dict[str, float] | None, words: str
) -> None:
    explanation = explanation_with(slope, "other recent balls")
    text = f"7.2 points for other recent balls{words}"
    assert text in " ".join(sentence.text for sentence in narrate(explanation))
    clauses = [clause.text for clause in explanation_clauses(explanation)]
    assert any(f"for other recent balls{words}." in clause for clause in clauses)
    reasons = dict(reasons_for(explanation, BallLabels(explanation), 0.05))
    assert ("other recent balls" in reasons) == (not words)
    below = reason_lines(explanation, BallLabels(explanation), 0.05)
    line = f"other recent balls: +7.2, included in all else{words}"
    assert (line in below) == bool(words)
    subject = explanation.prediction.subject
    total = sum(points for _, _, points in contributions_to(explanation, subject))
    assert sum(reasons.values()) == pytest.approx(total, abs=0.05)
