"""A thousand damaged real files give a match or a plain error, in bounded time and memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def test_a_thousand_damaged_files(shared_data: Path) -> None:
    found = subprocess.run(
        [
            sys.executable,
            str(REPOSITORY / "benchmarks" / "fuzz_readers.py"),
            str(shared_data),
            "--mutants=1000",
            "--seed=7",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    counts = re.search(r"^all +(\d+) +(\d+)$", found.stdout, re.MULTILINE)
    assert counts is not None
    read, refused = int(counts[1]), int(counts[2])
    assert read + refused == 1000
    # Neither everything let through nor everything refused would show anything.
    assert read > 200
    assert refused > 200
    assert "\nbroken: 0\n" in found.stdout


def test_without_real_matches_a_test_fails_where_they_are_required(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    env = {**os.environ, "ATTNLENS_SHARED_DATA": str(tmp_path), "ATTNLENS_REQUIRE_DATA": "1"}
    found = subprocess.run(
        [*words, "-k", "thousand"], capture_output=True, text=True, check=False, env=env
    )
    assert found.returncode == 1, found.stdout
    assert "real matches are not here: looked for" in found.stdout
