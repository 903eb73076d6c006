"""Real matches of every kind at the command line: each format, each scale, each oddity."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import OUTCOMES, SCALES, Here

from attnlens.cricket.readers import read_match

# 27 columns, then 22. Some of them are read without their _info.csv.
CSV2 = [
    ("csv2_27col/t20i/1543370.csv", False),
    ("csv2_27col/odi/1086063.csv", True),
    ("csv2_27col/test/514030.csv", True),
    ("csv2_22col/ipl/392208.csv", True),
    ("csv2_22col/hundred_men/1252666.csv", True),
    ("csv2_22col/hundred_men/1417814.csv", False),
]
ODD = {
    "1216517": "3:2",  # a double super over
    "423788": "4:last",  # a super over, and a wide with a run off the bat
    "412684": "2:47",  # a target by Duckworth-Lewis in 8.1 overs
    "1354799": "last",  # one innings, no result
    "1150537": "2:1",  # ten penalty runs before the innings began
    "1462882": "last",  # an over of seven legal balls
    "1140386": "4:47",  # a Test with penalty runs afterwards
    "225258": "3:47",  # a forfeited Test
}


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    from importlib.resources import files

    text = files("attnlens.cricket.explain").joinpath("schema.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def check_every_form(
    here: Here, validator: jsonschema.Draft202012Validator, source: str | Path, ball: str
) -> dict[str, Any]:
    """Ask for a ball as JSON and on every page; the explanation, having checked them all."""

    def ask(*words: str) -> str:
        answer = here("explain", source, "--ball", ball, *words)
        # A hint about another way to count is no complaint.
        assert (answer.status, answer.err.count("\n") <= 1) == (0, True), answer.err
        return answer.out

    data: dict[str, Any] = json.loads(ask("--json"))
    assert [error.message for error in validator.iter_errors(data)] == []
    page = " ".join(ask("--no-evidence").split())
    place, _, legal, *_ = data["ball"]["echo"].split(" | ")
    assert f"{place}, {legal}" in page
    whole = " ".join(ask("--no-evidence", "--full").split())
    assert whole.startswith(data["ball"]["echo"])
    summary = ask("--format", "summary")
    assert summary.count("\n") == 1
    assert data["summary"] in summary
    for scale in SCALES:
        inner = data["across_balls"][scale]
        assert inner["sequence_range"][1] == data["ball"]["index"] or scale == "long"
        total = sum(inner["aggregate_attention"].values())
        assert total == pytest.approx(1, abs=1e-5) or not inner["balls"]
        if scale != "whole":  # which --full shows
            assert ask("--scale", scale, "--no-evidence").startswith("innings ")
    rows = data["prediction"]["outcomes"]
    assert [row["outcome"] for row in rows] == list(OUTCOMES)
    assert sum(row["probability"] for row in rows) == pytest.approx(1, abs=1e-5)
    for row in rows:
        moved = sum(
            points["points"]
            for group in data["contributions"]
            for points in group["points"]
            if points["outcome"] == row["outcome"]
        )
        assert moved == pytest.approx(100 * (row["probability"] - row["baseline"]), abs=2e-4)
    return data


def ball_of(source: str | Path) -> str:
    first = read_match(source).innings[0]
    return "47" if len(first.deliveries) >= 47 else "last"


@pytest.mark.parametrize(("path", "with_info"), CSV2)
def test_ball_47_of_csv2_with_and_without_its_info(
    attnlens_here: Here,
    shared_data: Path,
    validator: jsonschema.Draft202012Validator,
    path: str,
    with_info: bool,
) -> None:
    source = shared_data / "formats" / path
    if not with_info:
        source = Path(shutil.copy(source, attnlens_here.folder))
    data = check_every_form(attnlens_here, validator, source, ball_of(source))
    assert data["match"]["match_id"] == source.stem
    assert (data["match"]["result"] is not None) == with_info
    flags = {flag["flag"] for flag in data["flags"]}
    kind = path.split("/")[1]
    if with_info and kind in ("odi", "test"):
        assert "other_format" in flags
    if kind == "hundred_men":  # five balls an over: the training had them
        assert not flags & {"other_balls_per_over", "other_format"}


@pytest.mark.parametrize(("match_id", "ball"), ODD.items())
def test_matches_that_break_naive_readers(
    attnlens_here: Here,
    shared_data: Path,
    validator: jsonschema.Draft202012Validator,
    match_id: str,
    ball: str,
) -> None:
    listed = json.loads((shared_data / "torture.json").read_text(encoding="utf-8"))["matches"]
    entry = next(one for one in listed if one["match_id"] == match_id and one["format"] == "json")
    data = check_every_form(attnlens_here, validator, f"{shared_data}/{entry['file']}", ball)
    assert data["ball"]["deliveries"] == entry["innings"][data["ball"]["innings"] - 1]["deliveries"]
    if len(entry["innings"]) > 2 and data["match"]["match_type"] == "T20":
        assert "super_over" in {flag["flag"] for flag in data["flags"]}
