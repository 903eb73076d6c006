"""What people type and what comes back."""

from __future__ import annotations

import csv
import json
import math
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pandas
import pytest
from command_line import COLUMNS, OUTCOMES, SCALES, Here, run_process
from numerics import near_documents

import attnlens
from attnlens.cricket.predictor.tensors import free_hits

ECHO = (
    "innings 1, delivery 47 of 128 | label 7.2 | legal ball 7.2 (44th) | 52/1 | "
    "Pita Falekaono to Callum Wetherspring"
)


def explained(here: Here, match: Path | str, *arguments: str | Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(here.good("explain", match, "--json", *arguments))
    return data


@pytest.fixture(scope="module")
def whole(sample_match_path: Path) -> dict[str, Any]:
    """Ball 47 of the sample match, with its evidence, as Python has it."""
    return attnlens.explain(sample_match_path, ball=47).to_dict()


def test_a_process_elsewhere_prints_the_same_bytes_each_time(
    tmp_path: Path, sample_match_path: Path, whole: dict[str, Any]
) -> None:
    asked = ("explain", sample_match_path, "--ball", "47", "--json")
    first = run_process(tmp_path, *asked, PYTHONHASHSEED="1")
    second = run_process(tmp_path, *asked, PYTHONHASHSEED="2")
    assert first == second
    assert (first.status, first.err) == (0, "")
    near_documents(json.loads(first.out), whole)  # with as many threads as that process likes
    assert list(tmp_path.iterdir()) == []


def test_the_explanation_fits_the_schema_that_is_printed(
    attnlens_here: Here, whole: dict[str, Any]
) -> None:
    schema = json.loads(attnlens_here.good("schema"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert [error.message for error in validator.iter_errors(whole)] == []
    assert [error.message for error in validator.iter_errors({**whole, "flags": 3})] != []


@pytest.mark.parametrize("scale", SCALES)
def test_every_scale_has_its_page_and_its_heat_map(
    attnlens_here: Here, sample_match_path: Path, whole: dict[str, Any], scale: str
) -> None:
    asked = ("explain", sample_match_path, "--ball", "47", "--scale", scale)
    heatmap = json.loads(attnlens_here.good(*asked, "--format", "heatmap"))
    assert heatmap == {"temporal_attention": whole["across_balls"][scale]}
    assert f"What each head looked at ({scale} scale" in attnlens_here.good(*asked, "--no-evidence")
    if scale == "medium":  # which is shown where no scale is named
        assert json.loads(attnlens_here.good(*asked[:4], "--format", "heatmap")) == heatmap
        assert heatmap["temporal_attention"]["sequence_range"] == [12, 47]
        summary = attnlens_here.good(*asked[:4], "--format", "summary")
        none = "Nothing to summarise: among 35 past balls no pattern of attention stands out."
        assert summary == f"{whole['summary'] or none}\n"


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html"])
def test_a_file_holds_what_stdout_would(
    attnlens_here: Here, sample_match_path: Path, form: str
) -> None:
    asked = ("explain", sample_match_path, "--ball", "47", "--no-evidence", "--format", form)
    printed = attnlens_here.good(*asked)
    assert attnlens_here.good(*asked, "--out", "answer") == ""
    assert Path("answer").read_text(encoding="utf-8") == printed
    assert attnlens_here.files() == ["answer"]


def test_all_writes_one_line_for_each_delivery(
    attnlens_here: Here, sample_match_path: Path, whole: dict[str, Any]
) -> None:
    shutil.copy(sample_match_path.with_name("match_info.csv"), "some_info.csv")
    rows = sample_match_path.read_text(encoding="utf-8").splitlines(keepends=True)
    Path("some.csv").write_text("".join([*rows[:49], *rows[126:128]]), encoding="utf-8")
    asked = ("explain", "some.csv", "--all", "--no-evidence", "--innings", "1")
    lines = [json.loads(line) for line in attnlens_here.good(*asked).splitlines()]
    assert [line["ball"]["index"] for line in lines] == list(range(1, 49))
    assert {line["ball"]["innings"] for line in lines} == {1}
    near_documents(lines[46]["prediction"], whole["prediction"])
    assert lines[0]["summary"].startswith("No attention on past balls: ")
    assert attnlens_here.files() == ["some.csv", "some_info.csv"]


def test_python_and_the_command_line_agree(
    attnlens_here: Here, sample_match_path: Path, whole: dict[str, Any]
) -> None:
    assert explained(attnlens_here, sample_match_path, "--ball", "47") == whole
    table = attnlens.predict(sample_match_path)
    attnlens_here.good("predict", sample_match_path, "--out", "balls.csv")
    text = dict.fromkeys(("match_id", "label", "actual"), str)
    pandas.testing.assert_frame_equal(
        pandas.read_csv("balls.csv", dtype=text), table, check_dtype=False, rtol=1e-12
    )


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_predict_gives_a_row_for_each_delivery(
    attnlens_here: Here, sample_match_path: Path, whole: dict[str, Any]
) -> None:
    printed = attnlens_here.good("predict", sample_match_path)
    rows = rows_of(printed)
    assert list(rows[0]) == COLUMNS
    match = attnlens.read_match(sample_match_path)
    deliveries = [(side.number, ball) for side in match.innings for ball in side.deliveries]
    assert [
        (row["innings"], row["index"], row["label"], row["batter"], row["bowler"], row["actual"])
        for row in rows
    ] == [
        (str(n), str(d.index), d.label, d.batter.name, d.bowler.name, d.outcome)
        for n, d in deliveries
    ]
    for row in rows:
        assert math.fsum(float(row[f"p_{outcome}"]) for outcome in OUTCOMES) == pytest.approx(
            1, abs=1e-5
        )
    for side in match.innings:
        free = [row["free_hit"] for row in rows if row["innings"] == str(side.number)]
        assert free == [str(int(flag)) for flag in free_hits(side.deliveries)]
    assert "1" in {row["free_hit"] for row in rows}
    told = {row["outcome"]: row["probability"] for row in whole["prediction"]["outcomes"]}
    for outcome, probability in told.items():
        assert float(rows[46][f"p_{outcome}"]) == pytest.approx(probability, abs=1e-5)

    attnlens_here.good("predict", sample_match_path, "--out", "balls.csv")
    attnlens_here.good("predict", sample_match_path, "--out", "balls.parquet")
    assert Path("balls.csv").read_text(encoding="utf-8") == printed
    table = pandas.read_parquet("balls.parquet")
    assert list(table.columns) == COLUMNS
    assert table["label"].tolist() == [row["label"] for row in rows]
    assert table["p_W"].tolist() == [float(row["p_W"]) for row in rows]
    assert attnlens_here.files() == ["balls.csv", "balls.parquet"]


def test_predict_reads_many_files(attnlens_here: Here) -> None:
    names = [f"{seed}.csv" for seed in (3, 4)]
    for seed, name in zip((3, 4), names, strict=True):
        attnlens_here.good("lab", "simulate", "--seed", seed, "--out", name)
    together = rows_of(attnlens_here.good("predict", *names))
    matches = [attnlens.read_match(name).match_id for name in names]
    assert list(dict.fromkeys(row["match_id"] for row in together)) == matches
    assert rows_of(attnlens_here.good("predict", ".")) == together


def test_predict_skips_what_cannot_be_read_when_told_to(
    attnlens_here: Here, sample_match_path: Path
) -> None:
    spoilt = sample_match_path.with_name("malformed.csv")
    answer = attnlens_here("predict", spoilt, sample_match_path, "--on-error", "skip")
    assert answer.status == 0
    assert answer.out == attnlens_here.good("predict", sample_match_path)
    assert answer.err.splitlines()[0] == "attnlens: skipped 1 file:"
    assert "malformed.csv:61:" in answer.err.splitlines()[1]


def test_without_a_ball_the_one_that_moved_the_match_most_is_explained(
    attnlens_here: Here, sample_match_path: Path
) -> None:
    told = json.loads(attnlens_here.good("story", sample_match_path, "--no-evidence", "--json"))
    most = max(told["ledger"], key=lambda entry: abs(entry["points"]))
    answer = attnlens_here("explain", sample_match_path, "--no-evidence", "--json")
    ball = json.loads(answer.out)["ball"]
    assert (ball["innings"], ball["index"]) == (most["innings"], most["index"])
    assert answer.err.startswith(
        f"attnlens: no --ball was given, so one was chosen: ball {most['innings']}:"
    )
    assert answer.err.count("\n") == 1
    of_first = [entry for entry in told["ledger"] if entry["innings"] == 1]
    most = max(of_first, key=lambda entry: abs(entry["points"]))
    by_python = attnlens.explain(sample_match_path, innings=1, evidence=False)
    assert by_python.ball.index == most["index"]


@pytest.mark.parametrize("command", ["explain", "story", "over"])
def test_ascii_pages_have_the_same_shape(
    attnlens_here: Here, sample_match_path: Path, command: str
) -> None:
    attnlens_here.patch.setenv("COLUMNS", "80")
    asked = {"explain": ("--ball", "47"), "story": ("--no-evidence",), "over": ("--over", "12")}
    page = attnlens_here.good(command, sample_match_path, *asked[command])
    plain = attnlens_here.good(command, sample_match_path, *asked[command], "--ascii")
    assert plain.isascii()
    assert not page.isascii()
    assert [len(line) for line in plain.splitlines()] == [len(line) for line in page.splitlines()]
