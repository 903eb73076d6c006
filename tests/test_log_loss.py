"""The figures of benchmarks/log_loss.py, on predictions whose figures are known by hand."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import COLUMNS, OUTCOMES, REPOSITORY

SCRIPT = REPOSITORY / "benchmarks" / "log_loss.py"


def write(path: Path, rows: list[tuple[str, str, float]]) -> None:
    """Rows of match, what happened, and the probability of a dot; a single has the rest."""
    lines = [",".join(COLUMNS)]
    for number, (match, actual, dot) in enumerate(rows, 1):
        chances = {**dict.fromkeys(OUTCOMES, 0.0), "0": dot, "1": 1 - dot}
        values = [match, "1", str(number), f"0.{number}", "A", "B", actual]
        lines.append(",".join([*values, *(str(chances[outcome]) for outcome in OUTCOMES)]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )


def figures(line: str) -> dict[str, float]:
    return {name: float(value) for name, value in re.findall(r"([a-z_]+) (-?[0-9.]+)", line)}


def test_figures_worked_out_by_hand(tmp_path: Path) -> None:
    write(tmp_path / "test.csv", [("m1", "0", 0.8), ("m1", "1", 0.8), ("m2", "0", 0.6)])
    write(tmp_path / "train.csv", [("m0", "0", 0.5)] * 3 + [("m0", "1", 0.5)])
    done = run(tmp_path / "test.csv", "--prior-from", tmp_path / "train.csv", "--draws", "200")
    assert (done.returncode, done.stderr) == (0, "")
    model, prior, gained, counts = done.stdout.splitlines()
    assert figures(model) == pytest.approx(
        {
            "log_loss": (math.log(1 / 0.8) + math.log(1 / 0.2) + math.log(1 / 0.6)) / 3,
            "brier": (2 * 0.2**2 + 2 * 0.8**2 + 2 * 0.4**2) / 3,
            "accuracy": 2 / 3,
            # Two balls at 0.8, one right; one at 0.6, right.
            "ece": (abs(1 - 1.6) + abs(1 - 0.6)) / 3,
        },
        abs=6e-6,
    )
    assert figures(prior)["log_loss"] == pytest.approx(
        (2 * math.log(4 / 3) + math.log(4)) / 3, abs=6e-6
    )
    assert figures(gained.partition(":")[2])["log_loss"] == pytest.approx(
        figures(prior)["log_loss"] - figures(model)["log_loss"], abs=2e-5
    )
    assert counts == "3 balls of 2 matches"
    # Resampling whole matches can give nothing lower than the easier one alone.
    low, high = re.findall(r"\[(-?[0-9.]+), (-?[0-9.]+)\]", model)[0]
    one, two = (math.log(1 / 0.8) + math.log(1 / 0.2)) / 2, math.log(1 / 0.6)
    assert [float(low), float(high)] == pytest.approx([min(one, two), max(one, two)], abs=6e-6)


def test_what_is_no_file_of_predictions_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    write(tmp_path / "none.csv", [])
    for name, told in (
        ("nowhere.csv", "no such file"),
        ("other.csv", "no column match_id"),
        ("none.csv", "holds no ball"),
    ):
        done = run(tmp_path / name)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"log_loss: {tmp_path / name}: {told}")
        assert done.stderr.count("\n") == 1
